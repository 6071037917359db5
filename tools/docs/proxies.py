"""Makes the tables of the page "Proxies"."""

from __future__ import annotations

from pathlib import Path

from tools.docs.regions import put
from validation import kept
from validation.proxies import SIZES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "middleboxes" / "proxies.md"


def cells(times_s: list[float | None]) -> str:
    """The cells of a row."""
    return " | ".join("never" if each is None else f"{each:.2f} s" for each in times_s)


def table() -> str:
    """A table for each path."""
    lines = []
    for path, proxies in kept.load("proxies")["paths"].items():
        lines += [f"The path {path}.", "", f"| proxy | {' | '.join(SIZES)} | page |", "|---|---|---|---|---|---|"]
        lines += [f"| {name} | {cells(times_s)} |" for name, times_s in proxies.items()]
        lines.append("")
    return "\n".join(lines)


def causes() -> str:
    """The time of the largest transfer on each path, with parts taken away."""
    lines = [f"| {SIZES[-1]} | clear | fades | hands over |", "|---|---|---|---|"]
    lines += [f"| {name} | {cells(times_s)} |" for name, times_s in kept.load("proxies")["causes"].items()]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """The page with its tables, by path below `docs`."""
    page = put(PAGE.read_text(encoding="utf-8"), "table", table())
    return {"middleboxes/proxies.md": put(page, "causes", causes())}

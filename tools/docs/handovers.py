"""Makes the table of the page "Handovers"."""

from __future__ import annotations

from pathlib import Path

from tools.docs.regions import put
from validation import kept

PAGE = Path(__file__).resolve().parents[2] / "docs" / "concepts" / "handovers.md"


def table() -> str:
    """A row for each kind of handover."""
    lines = ["| handover | arrived | lost | reordered | longest gap |", "|---|---:|---|---:|---:|"]
    for name, row in kept.load("handovers").items():
        lost = ", ".join(f"{count} {cause}" for cause, count in row["lost"].items()) or "none"
        lines.append(f"| {name} | {row['arrived']} | {lost} | {row['reordered']} | {row['gap_ms']} ms |")
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """The page with its table, by path below `docs`."""
    return {"concepts/handovers.md": put(PAGE.read_text(encoding="utf-8"), "table", table())}

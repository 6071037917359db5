"""Makes the table of pages behind a hub, in the guide "Load a page over GEO in your browser"."""

from __future__ import annotations

from pathlib import Path

from tools.docs.hub import interval
from tools.docs.regions import put
from validation import kept

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "browser.md"


def table() -> str:
    """Page times by way of access: simulated, and real ones with their deviation."""
    lines = ["| access | simulated | client over Linux | | Chromium | |", "|---|---:|---:|---:|---:|---:|"]
    rows: dict[str, dict[str, list[float]]] = kept.load("browser")
    for way, row in rows.items():
        ours = row["simulated_s"]
        cells = [interval(ours[:3], 1, "s")]
        for program in ("client_s", "chromium_s"):
            theirs = row[program]
            cells += [interval(theirs[:3], 1, "s"), f"{100 * (theirs[0] / ours[0] - 1):+.1f} %"]
        lines.append(f"| {way} | {' | '.join(cells)} |")
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """The page with its table, by path below `docs`."""
    return {"guides/browser.md": put(PAGE.read_text(encoding="utf-8"), "hub", table())}

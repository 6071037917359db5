"""Makes the tables of the guide "Find why pages are slow behind a hub"."""

from __future__ import annotations

from pathlib import Path

from bentpipe.formatting import write_fixed
from tools.docs.regions import put
from validation import kept
from validation.hub import METRICS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "slow-pages.md"
UNITS = {METRICS[0]: (1, "s"), METRICS[1]: (1, "s"), METRICS[2]: (1000, "ms"), METRICS[3]: (1, "%")}
"""Factor and unit of each metric."""
HEADS = {"ways": "access", "remedies": "change"}
"""First column of each table."""


def table(name: str) -> str:
    """The metrics of each case, means with intervals."""
    lines = [f"| {HEADS[name]} | page | 95 % | wait for grants | granted, not used |", "|---" * 5 + "|"]
    for case, row in kept.load("hub")[name].items():
        lines.append(f"| {case} | " + " | ".join(interval(row[metric], *UNITS[metric]) for metric in METRICS) + " |")
    return "\n".join(lines)


def interval(of: list[float], factor: float, unit: str) -> str:
    """A mean with its interval."""
    mean, low, high = (factor * value for value in of)
    places = 1 if mean >= 10 else 2
    return f"{write_fixed(mean, places)} ± {(high - low) / 2:.{places}f} {unit}"


def filled() -> str:
    """The page with these tables. `tools.docs.neighbours` adds the others."""
    page = PAGE.read_text(encoding="utf-8")
    for name in HEADS:
        page = put(page, name, table(name))
    return page

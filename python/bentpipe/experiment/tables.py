"""What the core hands over, for type checkers."""

from __future__ import annotations

from typing import TypedDict

Columns = dict[str, list[str] | tuple[str, bytes]]
"""Text, or (NumPy dtype, bytes); NaN stands for a missing value."""


class Tables(TypedDict):
    """The result of a run."""

    flows: Columns
    links: Columns
    drops: Columns
    completions: Columns
    transfers: Columns
    datagrams: Columns
    summary: Columns
    series: dict[str, Columns]
    events: Columns
    notes: list[str]

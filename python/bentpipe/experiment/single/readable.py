"""Tables of a run for readers: a few columns, with prefixes of units and significant digits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe import formatting
from bentpipe.catalog import dictionary
from bentpipe.heads import head

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

SHOWN_FLOWS = (
    "flow",
    "cc",
    "outcome",
    "goodput_bps",
    "completion_s",
    "rtt_p50_s",
    "rtt_p95_s",
    "retransmissions",
    "timeouts",
)
"""Columns in a notebook."""
SHOWN_DROPS = ("where", "flow", "cause", "packets", "bytes")
"""Columns in a report. Notebooks show the columns of other tables, too."""
SHOWN_LINKS = (
    "link",
    "utilisation",
    "carried_bps",
    "queue_p50_s",
    "queue_p95_s",
    "dropped_packets",
    "corrupted_packets",
)
SHOWN_TERMINALS = (
    "link",
    "grant_wait_mean_s",
    "grant_wait_p95_s",
    "asking_mean_s",
    "behind_mean_s",
    "turn_mean_s",
    "sending_mean_s",
    "air_mean_s",
    "granted_bps",
    "unused_share",
)
"""Columns of links in a medium."""


def readable(table: pl.DataFrame, name: str, columns: Sequence[str]) -> tuple[list[str], list[tuple[str, ...]], int]:
    """Format columns of a table with unit prefixes and significant digits.

    Return headings, rows, and the number of text columns.
    """
    units = {entry["name"]: str(entry["unit"]) for entry in dictionary()[name]}
    texts = sum(not units[column] for column in columns)
    heads, cells = [], []
    for column in columns:
        if not units[column]:
            heads.append(head(column))
            cells.append(table[column].fill_null(formatting.MISSING).to_list())
            continue
        shown, unit = formatting.column(table[column].to_list(), units[column])
        heads.append(f"{head(column)} ({unit})" if unit else head(column))
        cells.append(shown)
    return heads, list(zip(*cells, strict=True)), texts

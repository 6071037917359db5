"""Tables of a run for readers: a few columns, with prefixes of units and significant digits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe import formatting
from bentpipe.catalog import dictionary

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

SHOWN_FLOWS = {
    "flow": "flow",
    "cc": "cc",
    "outcome": "outcome",
    "goodput_bps": "goodput",
    "completion_s": "completion",
    "rtt_p50_s": "median RTT",
    "rtt_p95_s": "95 % RTT",
    "retransmissions": "retransmissions",
    "timeouts": "timeouts",
}
"""Columns in a notebook, with their headings."""
SHOWN_DROPS = {"where": "where", "flow": "flow", "cause": "cause", "packets": "packets", "bytes": "bytes"}
"""Columns in a report. Notebooks show the columns of other tables, too."""
SHOWN_LINKS = {
    "link": "link",
    "utilisation": "utilisation",
    "carried_bps": "carried",
    "queue_p50_s": "median wait",
    "queue_p95_s": "95 % wait",
    "dropped_packets": "dropped",
    "corrupted_packets": "corrupted",
}
SHOWN_TERMINALS = {
    "link": "link",
    "grant_wait_mean_s": "mean wait for grants",
    "grant_wait_p95_s": "95 % wait for grants",
    "granted_bps": "granted",
    "unused_share": "unused share",
}
"""Columns of links in a medium."""


def readable(
    table: pl.DataFrame, name: str, columns: Mapping[str, str]
) -> tuple[list[str], list[tuple[str, ...]], int]:
    """Format columns of a table with prefixes and significant digits: headings, rows, number of text columns."""
    units = {entry["name"]: str(entry["unit"]) for entry in dictionary()[name]}
    texts = sum(not units[column] for column in columns)
    heads, cells = [], []
    for column, head in columns.items():
        if not units[column]:
            heads.append(head)
            cells.append(table[column].to_list())
            continue
        shown, unit = formatting.column(table[column].to_list(), units[column])
        heads.append(f"{head} ({unit})" if unit else head)
        cells.append(shown)
    return heads, list(zip(*cells, strict=True)), texts

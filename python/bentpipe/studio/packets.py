"""Selects the packets of a flow in a short span, for its time-sequence diagram."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.experiment.single.sacks import sacks

if TYPE_CHECKING:
    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.experiment.single.sacks import Sack

KINDS = ("sent", "retransmission", "acked")
"""Events of the diagram."""
ROWS_MOST = 20_000
"""Rows of a span. A plot cannot show more."""
SEGMENT_MOST = 65_535
"""Bytes of a segment."""
TIME = pl.col("time_s").round(9)
"""To the nanosecond: further digits only take room."""
EVENTS_MOST = 30_000_000
"""Events of a run that is done again for them."""


class Packets:
    """Segments and ACKs of a run, from its events.

    If a result has no events, the scenario runs again once with events only. With the same seed, the packets are the
    same.
    """

    def __init__(self, result: RunResult) -> None:
        self.result = result
        self._sacks: dict[str, list[Sack]] = {}
        self._sacked_until = -1.0

    @cached_property
    def _events(self) -> pl.DataFrame:
        events = self.result.events
        if not events.height:
            alone = {"record.series": [], "record.rows_max": EVENTS_MOST}
            events = self.result.rerun(self.result.scenario.with_sets(alone), series="events").events
        # Texts of millions of rows take several times the memory of their numbers.
        return events.filter(pl.col("event").is_in(KINDS)).cast({"flow": pl.Categorical, "event": pl.Categorical})

    def _find_sacks(self, flow: str, start: float, end: float, near: float, until: float) -> list[list[float]]:
        """SACK blocks in a span. The capture goes up to `until`, so that later spans need no other one."""
        if end > self._sacked_until:
            self._sacks, self._sacked_until = sacks(self.result.scenario, max(end, until)), max(end, until)

        def whole(offset: int) -> float:
            # The full offset is the one near the ACKs.
            return near + (offset - near + 2**31) % 2**32 - 2**31

        # Of a subflow the capture does not tell: all have the ports of their flow.
        rows = (row for row in self._sacks.get(flow, ()) if start <= row[0] <= end)
        return [[round(time_s, 9), whole(first), whole(last)] for time_s, first, last in rows][:ROWS_MOST]

    def between(self, flow: str, start: float, end: float, until: float = 0.0) -> dict[str, Any]:
        """Rows of a span as plain data, and whether they are all of it.

        Returns
        -------
        dict
            `sent`, `retransmitted` and `sacked` (time, first byte, end), `acked` (time, first byte that is missing, and
            1 for a duplicate ACK), `lost` (time, first byte, end, cause), and `is_whole`.
        """
        span = pl.col("time_s").is_between(start, end) & (pl.col("flow") == flow)
        events = self._events.filter(span)
        losses = self.result.series("losses", flow).filter(span & (pl.col("data_bytes") > 0))
        is_whole = events.height <= ROWS_MOST
        events = events.head(ROWS_MOST)
        acked = events.filter(pl.col("event") == "acked").with_columns(
            (pl.col("value") == pl.col("value").shift(1)).fill_null(value=False).cast(pl.Int8).alias("again")
        )
        acked, losses = acked.with_columns(TIME), losses.with_columns(TIME)
        return {
            "flow": flow,
            "start": start,
            "end": end,
            "sent": _segments(events, "sent"),
            "retransmitted": _segments(events, "retransmission"),
            "sacked": self._find_sacks(flow, start, end, acked["value"][0], until) if 1 in acked["again"] else [],
            "acked": [list(row) for row in acked.select("time_s", "value", "again").iter_rows()],
            "lost": [
                [time_s, offset, offset + data, cause]
                for time_s, offset, data, cause in losses.select(
                    "time_s", "offset_bytes", "data_bytes", "cause"
                ).iter_rows()
                if offset is not None
            ],
            "is_whole": is_whole,
        }


def _segments(events: pl.DataFrame, kind: str) -> list[list[float]]:
    """Time, first byte and end. An event has no length: a segment ends where the next begins, or is of usual size."""
    rows = events.filter(pl.col("event") == kind).select(TIME, "value")
    gaps = (pl.col("value").shift(-1) - pl.col("value")).alias("gap")
    sent = events.filter(pl.col("event") == "sent").select(gaps).filter(pl.col("gap").is_between(1, SEGMENT_MOST))
    usual = sent["gap"].mode().max() if sent.height else 1
    length = pl.when(gaps.is_between(1, usual)).then(gaps).otherwise(usual)
    return [list(row) for row in rows.select("time_s", "value", (pl.col("value") + length).alias("end")).iter_rows()]

"""Notes on flows over QUIC in a run: connections closed by the idle timeout, and needless retransmissions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe.formatting import count

if TYPE_CHECKING:
    from bentpipe.experiment.single.tables import Columns

NEEDLESS_MIN = 0.05
"""Least share of needless packets that has a note."""


def describe_connections(table: Columns) -> list[str]:
    """Describe the flows in the core's table `quic` with a problem that a setting of the scenario could avoid."""
    flows = table["flow"]
    counts = (_whole(table[name]) for name in ("connections", "idle_timeouts", "declared_lost", "needless"))
    found = []
    for flow, opened, ended, lost, needless in zip(flows, *counts, strict=True):
        if ended and opened > 1:
            found.append(
                f'the idle timeout ended {ended:,} of {count(opened, "connection")} of flow "{flow}"; a longer'
                " quic.idle_timeout, or quic.keep_alive, keeps them for the next transfer"
            )
        if needless > NEEDLESS_MIN * lost:
            found.append(
                f'{needless:,} of {count(lost, "packet")} that flow "{flow}" declared lost had arrived, late or out of'
                " order; a larger quic.packet_threshold or quic.time_threshold waits for them"
            )
    return found


def _whole(column: list[str] | tuple[str, bytes]) -> list[int]:
    """Read whole numbers without NumPy, which a printed run does not load."""
    return memoryview(column[1]).cast("q").tolist() if column else []  # type: ignore[arg-type]

"""Series that the studio records and shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe.experiment.why import modes

if TYPE_CHECKING:
    from bentpipe.scenario.scenario import Scenario

VIEW = (
    *("goodput_bps", "cwnd_bytes", "ssthresh_bytes", "srtt_s", "limited_by"),
    *("queue_bytes", "carried_bps", "losses", "decisions"),
)
"""Series that the view of any run needs. `events` has a row per packet: recorded on demand."""
GRANTS = ("granted_bps", "requested_bps", "modcod")
"""Series that it shows of links in a medium."""
MODES = modes.SERIES
"""Series of the states and estimates of congestion controls."""
TIMES = ("rto_s", "flight_size_bytes")
"""Series that *why* and the division of time need besides."""


def list_view_series(scenario: Scenario) -> tuple[str, ...]:
    """Return the series that the view of a run needs."""
    view = tuple(dict.fromkeys((*VIEW, *MODES)))
    return (*view, *GRANTS) if scenario.has_media else view


def list_run_series(scenario: Scenario) -> tuple[str, ...]:
    """Return the series that a run in the studio records."""
    return (*list_view_series(scenario), *TIMES)

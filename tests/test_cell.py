"""A cell in low orbit beside the spread of pings over Starlink."""

import numpy as np
import pytest

from validation import cell, starlink

TRACE = starlink.TRACES / "leolive-ping10ms-bentpipe-victoria-2.csv.xz"


def test_turns_over_frames_spread_pings_as_starlink_does():
    """20 ms from 5 % to 95 % within slots of 15 s were measured, in three traces. Without turns, the cell has less."""
    times = np.cumsum(np.random.default_rng(1).choice([0.0105, 0.011, 0.012, 0.016, 0.02], 9_000))
    found = cell.figures(times, cell.through(times, {}))
    assert found["p95"] == pytest.approx(20, rel=0.2)
    plain = cell.figures(times, cell.through(times, {"medium.up.turn": 1, "medium.up.slots": 12}))
    assert plain["p95"] < 0.7 * found["p95"]


def test_a_held_out_trace_has_the_spread_of_the_cell():
    if not TRACE.exists():
        pytest.skip(f"no {TRACE}")
    times, rtt_ms = cell.sent(*starlink.trace(TRACE))
    found = cell.figures(times, cell.through(times, {}))
    assert found["p95"] == pytest.approx(cell.figures(times, rtt_ms)["p95"], rel=0.2)
    # Half of it is missing.
    assert found["after 1"] > 0.1

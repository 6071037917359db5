"""Bundled scenarios of Starlink beside measured pings that are not in their table of slots."""

import pytest

from validation import starlink

HELD_OUT = starlink.TRACES / "leolive-ping10ms-bentpipe-victoria-1.csv.xz"


@pytest.fixture(scope="module", params=["starlink", "victoria-seattle"])
def pings(request):
    ends, rtt, loss = starlink.pinged(request.param, 2)
    return starlink.figures(ends, rtt) | {"loss": loss}


def test_round_trips_are_those_of_2024(pings):
    """Medians of 26 ms, 95 % of 50 to 57 ms, and a spread of 20 ms inside a slot were measured."""
    assert pings["p50"] == pytest.approx(26.2, rel=0.15)
    assert 50 / 1.25 < pings["p95"] < 57 * 1.25
    assert pings["inside"] == pytest.approx(20, rel=0.25)
    assert pings["loss"] == pytest.approx(0.0036, rel=0.25)


def test_the_path_barely_moves_and_the_wait_changes_from_slot_to_slot(pings):
    """Steps of bases are 1.2 to 2.6 ms in the traces, those of medians 3.5 to 4.5 ms."""
    assert 1.2 / 1.25 < pings["base_step_p50"] < 2.6 * 1.25
    assert 3.5 / 1.25 < pings["step_p50"] < 4.5 * 1.25
    low, middle, high = pings["spread"]
    assert low < 0.7 * middle
    assert high > 1.4 * middle


def test_waits_follow_each_other_for_tenths_of_a_second(pings):
    """Measured: 0.57 to 0.70 after 13 ms, 0.33 to 0.48 after 40 ms, 0.20 to 0.31 after 0.1 s, then below 0.12."""
    after = dict(zip(starlink.LAGS, pings["correlation"], strict=True))
    assert 0.57 / 1.25 < after["13 ms"] < 0.70 * 1.25
    assert 0.33 / 1.25 < after["40 ms"] < 0.48 * 1.25
    assert 0.20 / 1.25 < after["0.1 s"] < 0.31 * 1.25
    assert after["0.3 s"] < 0.15
    assert abs(after["1 s"]) < 0.08


def test_packets_are_held_at_a_boundary(pings):
    """Pings sent within 50 ms after it take a pause longer. More replies than usual follow it."""
    assert pings["after"][2] > 2 * pings["after"][0]
    assert pings["replies"][2] < 0.5
    assert max(pings["replies"][3:5]) > 1.15


def test_held_out_traces_have_these_figures(pings):
    """Means of the traces that are not in the table; one trace alone has few slots with long paths."""
    if not HELD_OUT.exists():
        pytest.skip(f"no {HELD_OUT}")
    measured = starlink.held_out({"1": starlink.figures(*starlink.trace(HELD_OUT))})
    for column in ("p5", "p50", "p95", "p99", "p99_9", "step_p50", "base_step_p50", "inside"):
        assert pings[column] == pytest.approx(measured[column], rel=0.25), column
    for column in ("spread", "rise"):
        assert pings[column] == pytest.approx(measured[column], rel=0.25), column

"""Bundled scenarios of Starlink beside measured pings."""

import pytest

from validation import starlink

HELD_OUT = starlink.TRACES / "leolive-ping10ms-bentpipe-victoria-3.csv.xz"


@pytest.fixture(scope="module", params=["starlink", "victoria-seattle"])
def pings(request):
    ends, rtt, loss = starlink.pinged(request.param, 2)
    return starlink.figures(ends, rtt) | {"loss": loss}


def test_round_trips_are_those_of_2024(pings):
    """Medians of 26 ms, 95 % of 50 to 57 ms, and a spread of 20 ms inside a slot were measured."""
    assert pings["p50"] == pytest.approx(26.2, rel=0.15)
    assert 50 / 1.15 < pings["p95"] < 57 * 1.15
    assert pings["inside"] == pytest.approx(20, rel=0.15)
    assert 3 < pings["step_p50"] < 6
    assert 12 / 1.15 < pings["step_p95"] < 30
    assert 0.008 < pings["loss"] < 0.025


def test_packets_are_held_at_a_boundary(pings):
    """Pings sent within 50 ms after it take a pause longer. More replies than usual follow it."""
    assert pings["after"][2] > 2 * pings["after"][0]
    assert pings["replies"][2] < 0.5
    assert max(pings["replies"][3:5]) > 1.15


def test_a_held_out_trace_has_these_quantiles(pings):
    if not HELD_OUT.exists():
        pytest.skip(f"no {HELD_OUT}")
    measured = starlink.figures(*starlink.trace(HELD_OUT))
    for column in ("p5", "p50", "p95", "p99", "inside"):
        assert pings[column] == pytest.approx(measured[column], rel=0.15), column

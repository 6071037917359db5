"""Fits of recorded traces: slots of Starlink, none of OneWeb, a lower bound, and bursts of a moving terminal."""

from pathlib import Path

import pytest

import bentpipe as bp

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"needs the traces in {DATA}")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_starlink_has_slots_of_15_s_at_12_s_past_the_minute(number):
    found = bp.fit(DATA / "starlink" / f"leolive-ping10ms-bentpipe-victoria-{number}.csv.xz", held_out=False)
    numbers = found.by_name
    assert (numbers["period"].value, numbers["phase"].value) == (15.0, 12.0)
    distance = next(each for each in found.check if each.quantity == "rtt W1")
    assert distance.simulated <= 1e-4
    assert found.verdict == "agrees"


def test_oneweb_has_no_period_and_its_second_half_is_another_path():
    found = bp.fit(DATA / "oneweb" / "leolive-ping10ms-oneweb-iowa.csv.xz", check=False)
    assert found.by_name["period"].value is None
    assert found.held_out.inside <= 2
    assert "measure longer" in found.statements[-1]


def test_an_upload_that_never_filled_the_queue_is_a_lower_bound():
    found = bp.fit(DATA / "starlink" / "mmsys24-tcp-up-bentpipe-victoria.csv.xz", check=False)
    assert found.by_name["rate forward"].kind == "lower bound"


def test_a_moving_terminal_loses_bursts_of_seconds():
    path = DATA / "starlink" / "leoviz-ping10ms-mobile-20250529.csv.xz"
    found = bp.fit(path, held_out=False, check=False).losses
    assert found.kind == "gilbert-elliott"
    assert 2 <= found.mean_burst_s <= 4

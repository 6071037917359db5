"""The sky of a scenario as its runs use it."""

import json

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe.errors import ScenarioError, SkyError

SKY = """
title = "Over a shell"
duration = "2 min"
[tcp]
like = "rfc"
[sky]
over = "starlink-shell-1"
selection = "starlink"
step = "5 s"
[link.lan]
from = "user"
to = "London"
rate = "1 Gbit/s"
delay = "1 ms"
[flow.f]
from = "user"
to = "New York"
[flow.back]
from = "New York"
to = "London"
"""
EARTH_KM = (6356.7, 6378.2)


@pytest.fixture(scope="module")
def scenario():
    return bp.loads(SKY)


@pytest.fixture(scope="module")
def sky(scenario):
    return scenario.sky()


@pytest.fixture(scope="module")
def ship():
    return bp.load("ship").sky()


def delays_of_links(scenario, flow, time_s):
    """Sum the delays on the route of a flow, as in the simulator."""
    network = scenario.network()
    found = next(each for each in network["flows"] if each["flow"] == flow)
    route = found["route"]
    for later in found["routes_later"]:
        if later["time_s"] <= time_s:
            route = later["route"]
    profiles = {link["link"]: link["delay_s"] for link in network["links"]}
    return sum(np.interp(time_s, profiles[name]["times_s"], profiles[name]["values"]) for name in route)


def test_constellations_places_and_flows(sky):
    (shell,) = sky.constellations
    assert (shell.name, len(shell.satellites)) == ("starlink-shell-1", 1584)
    assert sky["starlink-shell-1"] is shell
    # In the order of the flows, which is the order of their names.
    assert sky.places["place"].to_list() == ["New York", "London"]
    assert sky.places["latitude_deg"].to_list() == pytest.approx([40.7, 51.5], abs=0.1)
    assert sky.flows == {"back": ("New York", "London"), "f": ("New York", "London")}
    assert sky.duration_s == 120
    assert sky.epoch.startswith("2000-01-01T")
    assert "1584 satellites" in repr(sky) or "1,584 satellites" in repr(sky)


def test_paths_are_those_of_the_simulator(scenario, sky):
    for row in sky.path("f").iter_rows(named=True):
        at_s = row["time_s"] + 1e-3
        on_links = delays_of_links(scenario, "f", at_s) - 1e-3
        assert row["delay_s"] == pytest.approx(on_links, rel=2e-3), row
        assert sky.find_path("f", at_s)["path"] == row["path"]
    begins, ends = sky.path("f")["time_s"].to_list(), sky.path("f")["end_s"].to_list()
    assert begins[0] == 0
    assert begins[1:] == ends[:-1]
    assert ends[-1] == 120


def test_paths_are_those_of_a_look_with_the_same_arguments(sky):
    found = bp.sky.path(*sky.flows["f"], over="starlink-shell-1", selection="starlink", duration="2 min", step="5 s")
    assert sky.delays["delay_s"].to_list() == found.instants["delay_s"].to_list()
    assert sky.delays["from_satellite"].to_list() == found.instants["from_satellite"].to_list()


def test_handovers_are_changes_of_the_satellite_of_a_place(sky):
    table = sky.handovers
    assert set(table.columns) == {"time_s", "place", "constellation", "before", "satellite"}
    assert table.height >= 4
    assert (table["before"] != table["satellite"]).all()
    # The allocation of Starlink changes at multiples of 15 s.
    assert (table["time_s"] % 15 < 1e-6).all() or ((table["time_s"] - table["time_s"][0]) % 15 < 1e-6).all()
    row = table.row(0, named=True)
    end = "from" if row["place"] == sky.flows["f"][0] else "to"
    assert sky.find_path("f", row["time_s"] + 1e-6)[f"{end}_satellite"] == row["satellite"]
    assert sky.find_path("f", row["time_s"] - 1e-6)[f"{end}_satellite"] == row["before"]


def test_keyframes_are_positions_in_the_frame_of_the_earth(sky):
    shell = sky.constellations[0]
    frames = shell.keyframes(0, 60, step_s=15)
    assert frames.time_s.tolist() == [0, 15, 30, 45, 60]
    assert frames.satellites_km.shape == (5, 1584, 3)
    heights = np.linalg.norm(frames.satellites_km, axis=2)
    assert heights.min() > 6378 + 500
    assert heights.max() < 6378 + 600
    radius = np.linalg.norm(frames.places_km, axis=2)
    assert (radius > EARTH_KM[0]).all()
    assert (radius < EARTH_KM[1]).all()
    # London is north of the equator at 0 degrees east.
    x, y, z = frames.places_km[0, 1]
    assert (x > 3000, abs(y) < 100, z > 4000) == (True, True, True)
    # Satellites move; places do not.
    assert (frames.places_km[0] == frames.places_km[-1]).all()
    assert np.linalg.norm(frames.satellites_km[1] - frames.satellites_km[0], axis=1).min() > 15 * 6


def test_keyframes_agree_with_the_map(sky):
    shell = sky.constellations[0]
    at = shell.map(at_s=30)
    frames = shell.keyframes(30, 31, step_s=1)
    latitude = np.degrees(np.arcsin(frames.satellites_km[0, :, 2] / np.linalg.norm(frames.satellites_km[0], axis=1)))
    assert latitude == pytest.approx(at.satellites["latitude_deg"].to_numpy(), abs=0.3)
    assert at.links.height == 2 * 1584
    assert set(at.in_view) == {"London", "New York"}


def test_a_window_that_is_no_multiple_of_the_step_is_covered(sky):
    frames = sky.constellations[0].keyframes(3, 10, step_s=4)
    assert frames.time_s.tolist() == [3, 7, 11]
    assert sky.constellations[0].keyframes().time_s.tolist() == [0, 120]


def test_passes_and_coverage_of_the_scenario(sky):
    shell = sky.constellations[0]
    passes = shell.passes("New York")
    alone = bp.sky.passes("New York", over="starlink-shell-1", duration="2 min")
    assert passes.table.equals(alone.table)
    assert passes.statements == alone.statements
    cover = shell.coverage(step_s=60, cell=10)
    assert cover.table.equals(bp.sky.coverage(over="starlink-shell-1", duration="2 min", step=60, cell=10).table)
    to = shell.coverage(step_s=60, to="London", cell=10)
    known = bp.sky.coverage(over="starlink-shell-1", to="London", duration="2 min", step=60, cell=10)
    assert to.cells.equals(known.cells)
    with pytest.raises(SkyError, match="Atlantis"):
        shell.coverage(to="Atlantis")


def test_several_constellations_are_used_in_turn(ship):
    assert [each.name for each in ship.constellations] == ["starlink", "geo"]
    assert len(ship["geo"].satellites) == 1
    used = ship.path("download").select("constellation", "time_s", "end_s")
    changes = used.filter(pl.col("constellation") != pl.col("constellation").shift(1))
    assert changes["constellation"].to_list() == ["geo", "starlink"]
    assert changes["time_s"].to_list() == pytest.approx([60, 112], abs=3)
    assert used["end_s"].to_list()[-1] == 180
    over_geo = ship.path("download").filter(pl.col("constellation") == "geo")
    assert over_geo["delay_s"].min() > 0.2
    moving = ship.places.filter(pl.col("moves"))["place"].to_list()
    assert moving == ["ship"]
    assert ship.places.filter(pl.col("is_gateway"))["place"].to_list() == ["Madrid"]
    frames = ship["starlink"].keyframes(0, 180, step_s=180)
    names = [place.name for place in ship["starlink"].scene.places]
    assert np.linalg.norm(np.diff(frames.places_km[:, names.index("ship")], axis=0)) == pytest.approx(1.44, abs=0.3)
    assert ship["starlink"].map(0).links.height == 0


def test_a_day_has_its_own_sky(scenario, sky):
    later = scenario.replace("sky.day", 3).sky()
    assert later.epoch != sky.epoch
    assert not later.paths.equals(sky.paths)


def test_plain_data_is_json(sky, ship):
    for found in (sky, ship):
        written = json.loads(json.dumps(found.to_dict()))
        assert written["paths"][0]["time_s"] == 0
        assert [each["over"] for each in written["constellations"]] == [each.name for each in found.constellations]


def test_a_scenario_without_a_sky_says_so():
    assert not bp.load("geo").has_sky
    with pytest.raises(ScenarioError, match="has no sky") as error:
        bp.load("geo").sky()
    assert "such as ship" in str(error.value)
    # A resolved scenario has links in place of the sky.
    with pytest.raises(ScenarioError, match="has resolved links instead"):
        bp.loads(bp.loads(SKY).resolve()).sky()


def test_unknown_names_and_windows_are_refused(sky):
    shell = sky.constellations[0]
    with pytest.raises(SkyError, match="known: starlink-shell-1"):
        sky["oneweb"]
    with pytest.raises(SkyError, match="known: New York, London"):
        shell.passes("Paris")
    with pytest.raises(SkyError, match="known: "):
        sky.path("g")
    with pytest.raises(SkyError, match="expected an end after the start"):
        shell.keyframes(10, 10)
    with pytest.raises(SkyError, match="a longer step_s"):
        shell.keyframes(0, 120, step_s=0.001)
    with pytest.raises(SkyError):
        sky.find_path("f", 121)
    with pytest.raises(SkyError):
        shell.keyframes(0, float("nan"))


def test_the_search_reports_its_progress(scenario):
    shares = []
    # Other scenarios have not left these paths.
    other = scenario.replace("duration", "37 s")
    other.sky(progress=lambda state: shares.append(state.share))
    assert shares == sorted(shares)


def test_cases_have_their_own_sky():
    cases = bp.loads(SKY + "[case.few.sky]\nover = 'iridium'\n").cases
    assert cases["few"].sky().constellations[0].name == "iridium"

"""The sky as the studio's globe has it: positions between keyframes, paths, passes and coverage are the library's."""

import json

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.errors import ScenarioError, SkyError
from bentpipe.studio import sky as studio_sky
from bentpipe.studio.sky import SkyData


@pytest.fixture(scope="module", params=["london-singapore", "ship"])
def both(request):
    scenario = bp.load(request.param)
    return scenario.sky(), SkyData.from_scenario(scenario)


def positions(data, constellation, time_s):
    """Positions as the globe computes them: along the great circle between keyframes, and turned with the Earth."""
    offset = 0
    for facts in data.facts["constellations"]:
        shape = (facts["keyframes"], len(facts["names"]), 3)
        size = int(np.prod(shape))
        if facts["name"] == constellation:
            break
        offset += size
    frames = np.frombuffer(data.frames, "<i2", size, 2 * offset).reshape(shape) * facts["scale_km"]
    frame = min(int(time_s / facts["step_s"]), len(frames) - 2)
    share = time_s / facts["step_s"] - frame
    before, after = frames[frame], frames[frame + 1]
    radius = [np.linalg.norm(each, axis=-1, keepdims=True) for each in (before, after)]
    arc = np.arccos(np.clip((before * after).sum(-1, keepdims=True) / radius[0] / radius[1], -1, 1))
    units = before / radius[0], after / radius[1]
    between = (np.sin((1 - share) * arc) * units[0] + np.sin(share * arc) * units[1]) / np.sin(arc)
    x, y, z = np.moveaxis(between * (radius[0] + share * (radius[1] - radius[0])), -1, 0)
    angle = data.facts["earth_rad_s"] * time_s
    return np.stack([x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle), z], -1)


@pytest.mark.parametrize("share", [0, 0.31, 0.5, 0.93])
def test_positions_between_keyframes_are_those_of_the_library(both, share):
    sky, data = both
    for each in sky.constellations:
        time_s = share * sky.duration_s
        known = each.keyframes(time_s, time_s + 1, 1).satellites_km[0]
        error = np.linalg.norm(positions(data, each.name, time_s) - known, axis=-1)
        assert error.max() < studio_sky.ERROR_MAX_KM


def test_an_orbit_that_is_no_circle_has_more_keyframes():
    """A Molniya orbit through its perigee."""
    from bentpipe.sky.of_scenario import Keyframes

    class Ellipse:
        duration_s = 3600.0

        def keyframes(self, start_s=0.0, end_s=0.0, step_s=1.0):
            time_s = np.arange(start_s, end_s + step_s, step_s)
            anomaly = (time_s - 1200) / 6000
            place = np.stack([26_600 * (np.cos(anomaly) - 0.7), 19_000 * np.sin(anomaly), 0 * anomaly], -1)
            turned = studio_sky.EARTH_RAD_S * time_s
            x, y, z = place.T
            fixed = np.stack([x * np.cos(turned) + y * np.sin(turned), y * np.cos(turned) - x * np.sin(turned), z], -1)
            return Keyframes(time_s, fixed[:, None], fixed[:, None])

    step_s, found = studio_sky._keyframes(Ellipse())
    assert step_s < studio_sky.STEPS_S[0]
    assert len(found) >= 3600 / step_s


def test_paths_and_handovers_are_those_of_the_library(both):
    sky, data = both
    names = [name for each in data.facts["constellations"] for name in each["names"]]
    names += [each["place"] for each in data.facts["places"]]
    for row, known in zip(data.facts["paths"], sky.paths.to_dicts(), strict=True):
        assert " > ".join(names[node] for node in row["nodes"]) == (known["path"] or "")
        assert (row["time_s"], row["end_s"], row["delay_s"]) == (known["time_s"], known["end_s"], known["delay_s"])
    assert data.facts["handovers"] == sky.handovers.to_dicts()
    for pass_ in data.facts["passes"]:
        assert 0 <= pass_["rise_s"] <= pass_["set_s"] <= sky.duration_s + 1e-6


def test_links_are_those_between_satellites():
    scenario = bp.load("london-singapore")
    (each,) = SkyData.from_scenario(scenario).facts["constellations"]
    known = {frozenset(row) for row in scenario.sky().constellations[0].map().links.rows()}
    assert {
        frozenset(each["names"][node] for node in pair) for pair in zip(*[iter(each["links"])] * 2, strict=True)
    } == known
    assert len(known) == 2 * 1584


def test_coverage_is_that_of_a_moment(both):
    sky, data = both
    for each in sky.constellations:
        found = data.coverage(each.name, 40.0)
        known = each.coverage(40.0, 41.0, 1.0, cell=found["cell_deg"])
        assert found["counts"] == known.cells["min"].to_list()
        assert max(found["counts"]) > 0


def test_delays_are_those_of_a_moment(both):
    sky, data = both
    for each, facts in zip(sky.constellations, data.facts["constellations"], strict=True):
        assert facts["places"] == [place.name for place in each.scene.places]
        for to in (None, facts["places"][0]):
            found = data.delays(each.name, 40.0, to)
            known = each.coverage(40.0, 41.0, 1.0, to=to, cell=found["cell_deg"]).cells["delay_s"]
            given = np.array(found["delays_ms"], dtype=float)
            assert given == pytest.approx(1000 * known.to_numpy(), abs=0.0051, nan_ok=True)
            assert np.isfinite(given).any()
        with pytest.raises(SkyError, match="Atlantis"):
            data.delays(each.name, 40.0, "Atlantis")


def test_a_place_that_moves_has_its_way():
    data = SkyData.from_scenario(bp.load("ship"))
    ship = next(each for each in data.facts["places"] if each["place"] == "ship")
    assert ship["way"][:2] == pytest.approx([-10.0, 43.41], abs=0.02)  # Geocentric latitude.
    assert ship["way"][-2:] == pytest.approx([-9.987, 43.42], abs=0.02)
    assert all("way" not in each for each in data.facts["places"] if not each["moves"])


def test_all_of_it_is_plain_json(both):
    json.dumps(both[1].facts, allow_nan=False)


def test_without_a_sky_it_is_refused():
    with pytest.raises(ScenarioError, match="has no sky"):
        SkyData.from_scenario(bp.load("geo"))

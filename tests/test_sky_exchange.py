"""Files for and of other tools of the sky: CZML for Cesium, ground stations and element sets of Hypatia."""

import json
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import SkyError
from bentpipe.sky.czml import make_czml
from bentpipe.sky.scenes import array

SCHEMA = Path(__file__).parent / "czml.schema.json"


@pytest.fixture(scope="module")
def look():
    return bp.sky.path("London", "New York", over="starlink-shell-1", duration="5 min", step="5 s")


@pytest.fixture(scope="module")
def packets(look):
    return make_czml(look)


def instants(text):
    return [datetime.fromisoformat(each.replace("Z", "+00:00")) for each in text.split("/")]


def test_the_file_follows_the_guide_of_czml(packets):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    jsonschema.validate(packets, json.loads(SCHEMA.read_text()))
    names = [each["id"] for each in packets]
    assert len(names) == len(set(names))
    # A line refers to objects of the file.
    for each in packets:
        for reference in each.get("polyline", {}).get("positions", {}).get("references", []):
            assert reference.removesuffix("#position").replace("\\", "") in names


def lagrange(times, values, at, degree):
    """Interpolation as Cesium does it, with the samples around the instant."""
    first = max(0, min(np.searchsorted(times, at) - (degree + 1) // 2, len(times) - degree - 1))
    chosen = range(first, first + degree + 1)
    whole = 0.0
    for one in chosen:
        weight = 1.0
        for other in chosen:
            if other != one:
                weight *= (at - times[other]) / (times[one] - times[other])
        whole = whole + weight * values[one]
    return whole


def test_satellites_are_where_the_sky_has_them(look, packets):
    """Between the samples, within 100 m of the positions that the orbit has."""
    nodes = len(look.scene.satellites) + 2
    true = array(look.scene.core.positions((0.0, 300.0, 7.0))).reshape(-1, nodes, 3) * 1000
    for number in (0, 700, 1583):
        (found,) = [each for each in packets if each["id"] == look.scene.satellites[number]]
        rows = np.array(found["position"]["cartesian"]).reshape(-1, 4)
        assert rows[-1, 0] == 300
        degree = found["position"]["interpolationDegree"]
        for index, position in enumerate(true[:, number]):
            assert np.linalg.norm(lagrange(rows[:, 0], rows[:, 1:], 7.0 * index, degree) - position) < 100


def test_links_are_shown_while_the_path_uses_them(look, packets):
    begin = instants(look.scene.instant(0.0))[0]
    shown = {each["name"]: each["polyline"]["show"] for each in packets if "polyline" in each}
    for row in look.changes.iter_rows(named=True):
        middle = row["time_s"] + row["duration_s"] / 2
        nodes = row["path"].split(" > ")
        expected = {f"{one} to {other}" for one, other in pairwise(nodes)}
        on = set()
        for name, spans in shown.items():
            for span in spans:
                start, end = ((each - begin).total_seconds() for each in instants(span["interval"]))
                if start <= middle < end and span["boolean"]:
                    on.add(name)
        assert on == expected
    # The intervals of a link cover the whole look without a gap.
    for spans in shown.values():
        assert all(one["interval"].split("/")[1] == two["interval"].split("/")[0] for one, two in pairwise(spans))


def test_the_command_writes_it_and_can_leave_out_unused_satellites(look, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["sky", "path", "London", "Paris", "--over", "iridium", "--duration", "2 min", "--czml", "path.czml"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "path.czml").read_text())[0]["id"] == "document"
    look.write_czml("used.czml", used_only=True)
    used = json.loads((tmp_path / "used.czml").read_text())
    assert len([each for each in used if "cartesian" in each.get("position", {})]) < 60
    long = bp.sky.path("London", "Paris", over="starlink-shell-1", duration="3 d", step="1 h")
    with pytest.raises(SkyError, match=r"are too many for a CZML file\n  expected a shorter duration"):
        long.write_czml("long.czml")


STATIONS = """\
0,Tokyo,35.6895,139.69171,0.0,-3954843.6,3354935.2,3700264.0
1,La Paz,-16.5,-68.15,3640,2280000.1,-5690000.2,-1800000.3
"""


def test_ground_stations_of_hypatia_are_places(tmp_path):
    file = tmp_path / "ground_stations.txt"
    file.write_text(STATIONS)
    found = bp.sky.places(file)
    assert [(each.name, each.latitude_deg, each.longitude_deg, each.height_km) for each in found] == [
        ("Tokyo", 35.6895, 139.69171, 0.0),
        # Their elevations are in metres.
        ("La Paz", -16.5, -68.15, 3.64),
    ]
    # The basic list has no positions.
    file.write_text("0,Tokyo,35.6895,139.69171,0\n")
    assert len(bp.sky.places(file)) == 1
    file.write_text("0,Tokyo,35.6895,139.69171,high\n")
    with pytest.raises(SkyError, match=r"line 1: 'high' is not an elevation\n  expected number,name,latitude"):
        bp.sky.places(file)


def element_sets(orbits, each):
    """Element sets as Hypatia writes them: circular orbits at 550 km, at the begin of 2000."""

    def sign(line):
        return line + str(sum(int(sign) if sign.isdigit() else sign == "-" for sign in line) % 10)

    lines = [f"{orbits} {each}"]
    for number in range(orbits * each):
        node, anomaly = 360 / orbits * (number // each), 360 / each * (number % each)
        one = f"1 {number + 1:05d}U 00000ABC 00001.00000000  .00000000  00000-0  00000+0 0    0"
        two = f"2 {number + 1:05d}  53.0000 {node:8.4f} 0000001   0.0000 {anomaly:8.4f} 15.19000000    0"
        lines += [f"Starlink-550 {number}", sign(one), sign(two)]
    return "\n".join(lines) + "\n"


def test_element_sets_of_hypatia_are_read_with_their_first_line(tmp_path):
    file = tmp_path / "tles.txt"
    file.write_text(element_sets(3, 4))
    found = bp.sky.path("London", "Paris", over=file, duration="1 min", step="10 s")
    assert len(found.scene.satellites) == 12
    # Without the first line, the satellites are equal.
    other = tmp_path / "plain.txt"
    other.write_text(element_sets(3, 4).partition("\n")[2])
    same = bp.sky.path("London", "Paris", over=other, duration="1 min", step="10 s")
    assert same.instants.equals(found.instants)
    file.write_text(element_sets(3, 4).replace("3 4\n", "3 5\n"))
    with pytest.raises(SkyError, match=r"12 element sets, and its first line 3 orbits of 5 satellites\n  expected 15"):
        bp.sky.path("London", "Paris", over=file, duration="1 min")


HYPATIA = Path(__file__).parents[1] / "crates" / "orbit" / "tests" / "data" / "hypatia"


def make_states(folder, changes, target=1157):
    """Write forwarding states for the ends of 1156 satellites, each with the lines that differ from those before it."""
    (folder / "tles.txt").write_text("34 34\n")
    (folder / "ground_stations.txt").write_text("0,Manila,14.6042,120.9822,0\n1,Dalian,38.913811,121.602322,0\n")
    states, before = folder / "dynamic_state_100ms_for_200s", {}
    states.mkdir()
    for time_ns, nodes in changes:
        hops = dict(pairwise(nodes))
        others = "".join(f"{node},1156,7,0,0\n" for node in nodes[1:-1])
        new = "".join(f"{node},{target},{hop},0,0\n" for node, hop in hops.items() if before.get(node) != hop)
        before |= hops
        (states / f"fstate_{time_ns}.txt").write_text(others + new)
    return states


def test_forwarding_states_of_hypatia_are_paths(tmp_path):
    """Hypatia's published path from Manila to Dalian, which the simulator's own search finds, too."""
    lines = (HYPATIA / "kuiper630_path_Manila_Dalian.csv").read_text().splitlines()[1:]
    cells = [line.split(",") for line in lines]
    # There, the list of ground stations is longer: Manila is 1173, Dalian 1241.
    number = {1173: 1156, 1241: 1157}
    changes = [(int(t), [number.get(int(n), int(n)) for n in nodes.split("-")]) for t, nodes in cells]
    found = bp.sky.forwarding(make_states(tmp_path, changes), "Manila", "Dalian")
    assert found.rows() == [(t / 1e9, nodes) for t, nodes in changes]


def test_forwarding_states_may_lead_nowhere(tmp_path):
    states = make_states(
        tmp_path, [(0, [1156, 5, 6, 1157]), (100_000_000, [1156, 5, -1]), (200_000_000, [1156, 5, 1156])]
    )
    found = bp.sky.forwarding(states, "Manila", "Dalian")
    assert found.rows() == [(0.0, [1156, 5, 6, 1157]), (0.1, None)]


def test_what_is_wrong_with_forwarding_states_is_said(tmp_path):
    states = make_states(tmp_path, [(0, [1156, 5, 1157])])
    with pytest.raises(
        SkyError, match=r"Paris is not a ground station of the network\n  expected one of Manila, Dalian"
    ):
        bp.sky.forwarding(states, "Paris", "Dalian")
    (states / "fstate_100.txt").write_text("1,2,3\n")
    with pytest.raises(SkyError, match=r"fstate_100.txt, line 1: '1,2,3' is not a forwarding state"):
        bp.sky.forwarding(states, "Manila", "Dalian")
    (tmp_path / "tles.txt").write_text("34\n")
    with pytest.raises(SkyError, match=r"tles.txt, line 1: expected the numbers of orbits"):
        bp.sky.forwarding(states, "Manila", "Dalian")
    (tmp_path / "tles.txt").write_text("34 34\n")
    with pytest.raises(SkyError, match="has no forwarding states"):
        bp.sky.forwarding(make_empty(tmp_path), "Manila", "Dalian")
    with pytest.raises(SkyError, match="cannot be read"):
        bp.sky.forwarding(tmp_path / "none", "Manila", "Dalian")


def make_empty(folder):
    """Make a folder without states beside the lists."""
    empty = folder / "empty"
    empty.mkdir()
    return empty

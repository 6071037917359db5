"""Looks at the sky: they agree with closed forms and with each other, and reject bad arguments."""

import csv
import json
import math
import re
import shlex
import signal
import threading
from importlib.resources import files
from itertools import combinations, pairwise
from pathlib import Path

import click
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import Interrupted, ScenarioError, SkyError
from bentpipe.plot import save
from bentpipe.plot.skies import _great_circle, coastlines
from bentpipe.sky import matrix
from bentpipe.sky.covering import CHARTS
from bentpipe.sky.paths import CHANGES, METRICS, SELECTIONS
from bentpipe.sky.scenes import place, seconds
from tools.docs.sky_more import differences
from validation import kept, skies
from validation import skies_more as more

ROOT = Path(__file__).resolve().parent.parent
LIGHT_KM_S = 299_792.458
EQUATOR_KM, POLE_KM, GEO_KM = 6378.137, 6356.752, 35_786.0
SHELL = "starlink-shell-1"
SETS = """\
IRIDIUM 106
1 41917U 17003A   26164.81636816  .00000002  00000+0 -64509-5 0  9992
2 41917  86.3963  89.9654 0001784  83.5618 276.5781 14.34217470492724
"""


def ran(*words):
    return CliRunner().invoke(app, ["sky", *words], env={"COLUMNS": "80"})


@pytest.fixture(scope="module")
def atlantic():
    return bp.sky.path("London", "New York", over=SHELL, duration="5 min")


@pytest.fixture(scope="module")
def long_look():
    """A look that takes longer than anybody waits, and starts at once."""

    def look(progress=None):
        return bp.sky.path("London", "Sydney", over="starlink", duration="2000 h", step="1 s", progress=progress)

    return look


# The path.


def test_the_path_over_a_geostationary_satellite_is_as_long_as_the_closed_form_says():
    found = bp.sky.path((0, 0), (0, 40), over="geo:0E", duration="10 s")
    east = math.radians(40)
    x, y = EQUATOR_KM + GEO_KM - EQUATOR_KM * math.cos(east), EQUATOR_KM * math.sin(east)
    expected = (GEO_KM + math.hypot(x, y)) / LIGHT_KM_S
    assert found.instants["delay_s"].to_numpy() == pytest.approx(expected, rel=1e-7)
    assert found.instants["hops"].to_list() == [2] * 10
    assert found.instants["from_elevation_deg"].to_numpy() == pytest.approx(90, abs=1e-3)
    slant = math.hypot(x, y)
    elevation = math.asin(((EQUATOR_KM + GEO_KM) * math.cos(east) - EQUATOR_KM) / slant)
    assert found.instants["to_elevation_deg"].to_numpy() == pytest.approx(math.degrees(elevation), abs=1e-4)


def test_no_path_is_shorter_than_light_above_the_great_circle(atlantic):
    summary = atlantic.summary
    assert atlantic.ground_km == pytest.approx(5570, rel=0.002)
    assert summary["vacuum_delay_s"] < summary["delay_s"]["min"] < summary["delay_s"]["max"] < 0.03
    assert summary["connected"] == 1
    assert summary["from_elevation_deg"]["min"] >= 25


def test_changes_say_what_the_table_says_at_each_instant(atlantic):
    joined = atlantic.instants.join_asof(atlantic.changes, on="time_s", suffix="_then")
    for name in ("hops", "from_satellite", "to_satellite"):
        assert joined[name].to_list() == joined[f"{name}_then"].to_list()
    changes = atlantic.changes
    assert len(changes) > 5
    assert changes["duration_s"].sum() == pytest.approx(300)
    first = changes["path"].str.split(" > ")
    assert first.list.get(0).unique().to_list() == ["London"]
    assert first.list.get(1).to_list() == changes["from_satellite"].to_list()
    assert (first.list.len() - 1).to_list() == changes["hops"].to_list()
    assert all(a != b for a, b in pairwise(changes["path"]))


def test_handovers_are_where_the_satellite_of_an_end_changes(atlantic):
    for end in ("from", "to"):
        satellites = atlantic.changes[f"{end}_satellite"].to_list()
        expected = [False, *(a != b for a, b in pairwise(satellites))]
        assert atlantic.changes[f"{end}_handover"].to_list() == expected
        assert atlantic.summary[f"{end}_handovers"] == sum(expected) > 0


def test_the_fewest_hops_are_no_more_than_those_of_the_shortest_delay():
    quick, short = (
        bp.sky.path("Seattle", "Singapore", over="kuiper-630", duration="20 min", step="1 min", metric=by)
        for by in ("delay", "hops")
    )
    assert (short.instants["hops"] <= quick.instants["hops"]).all()
    assert (quick.instants["delay_s"] <= short.instants["delay_s"] + 1e-12).all()
    assert short.instants["hops"].sum() < quick.instants["hops"].sum()


def test_a_path_that_is_kept_changes_less_often(atlantic):
    kept = bp.sky.path("London", "New York", over=SHELL, duration="5 min", change="broken")
    assert 1 <= len(kept.changes) < len(atlantic.changes)
    assert (kept.instants["delay_s"] >= atlantic.instants["delay_s"] - 1e-12).all()


def test_an_end_that_takes_the_highest_satellite_sees_it_higher(atlantic):
    found = bp.sky.path("London", "New York", over=SHELL, duration="30 s", selection="highest")
    best = atlantic.instants.head(30)
    assert (found.instants["from_elevation_deg"] >= best["from_elevation_deg"] - 1e-9).all()
    assert (found.instants["delay_s"] >= best["delay_s"] - 1e-12).all()


def test_disjoint_paths_share_no_satellite_and_the_first_is_hardly_longer_than_the_shortest(atlantic, tmp_path):
    found = bp.sky.path("London", "New York", over=SHELL, duration="30 s", disjoint=3)
    assert found.instants.equals(atlantic.instants.head(30))
    assert found.disjoint.columns == ["time_s", "number", "delay_s", "hops", "path"]
    for _, rows in found.disjoint.group_by("time_s"):
        inner = [name for path in rows["path"] for name in path.split(" > ")[1:-1]]
        assert len(inner) == len(set(inner)) == rows["hops"].sum() - 3
        assert rows.sort("number")["delay_s"].is_sorted()
    first = found.disjoint.filter(number=1)["delay_s"]
    assert (first >= found.instants["delay_s"] - 1e-12).all()
    summary = found.summary["disjoint"]
    assert [each["number"] for each in summary] == [1, 2, 3]
    assert summary[0]["delay_max_s"] < summary[2]["delay_max_s"]
    links = bp.sky.path("London", "New York", over=SHELL, duration="30 s", disjoint=3, apart="links")
    # Fewer are forbidden.
    assert links.disjoint["delay_s"].sum() <= found.disjoint["delay_s"].sum() + 1e-9
    assert "disjoint 3" in str([text.get_text() for text in found.plot().axes[0].get_legend().get_texts()])
    found.save(tmp_path / "look")
    assert pl.read_parquet(tmp_path / "look" / "disjoint.parquet").equals(found.disjoint)
    assert found.to_dict()["provenance"]["apart"] == "satellites"


def test_more_disjoint_paths_than_there_are_satellites_in_view_are_empty():
    found = bp.sky.path("Quito", "Nairobi", over="iridium", duration="10 s", step="5 s", disjoint=9)
    assert found.disjoint.filter(number=9)["path"].null_count() == 2
    assert (
        "There never are 9" in ran(*shlex.split("path Quito Nairobi --over iridium --duration 9s --disjoint 9")).output
    )


def test_what_is_out_of_use_is_on_no_path(atlantic):
    inner = atlantic.changes["path"][0].split(" > ")
    out = bp.sky.path("London", "New York", over=SHELL, duration="20 s", failure=[inner[2].removeprefix(f"{SHELL}-")])
    assert not out.changes["path"].str.contains(f"{inner[2]} ").any()
    link = bp.sky.path("London", "New York", over=SHELL, duration="20 s", failure=[f"{inner[2]}~{inner[1]}"])
    assert not link.changes["path"].str.contains(f"{inner[1]} > {inner[2]} ").any()
    for each in (out, link):
        assert (each.instants["delay_s"] >= atlantic.instants["delay_s"].head(20) - 1e-12).all()
        assert each.instants["delay_s"][0] > atlantic.instants["delay_s"][0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"disjoint": 0}, "expected 1 to 16 paths"),
        ({"disjoint": 2, "apart": "planes"}, "'planes' is not a value of apart"),
        ({"disjoint": 2, "selection": "highest"}, "need several satellites at each end"),
        ({"failure": ["1-99"]}, "'1-99' is not a satellite or place of this look"),
        ({"failure": ["0-1~0-2~0-3"]}, "expected one name, or the two that a link joins"),
    ],
)
def test_disjoint_paths_and_names_that_make_no_sense_are_refused(options, said):
    with pytest.raises(SkyError, match=re.escape(said)):
        bp.sky.path("London", "New York", over=SHELL, duration="5 s", **options)
    if "selection" not in options and "disjoint" in options:
        with pytest.raises(SkyError, match="use links between satellites"):
            bp.sky.path("London", "Madrid", over="oneweb", duration="5 s", gateway=["Paris"], disjoint=2)


def test_a_satellite_that_fails_in_a_run_loses_what_is_on_its_links_and_the_flow_goes_on():
    scenario = {
        "duration": "20 s",
        "sky": {"over": SHELL, "change": "broken"},
        "flow": {"bulk": {"from": "London", "to": "New York"}},
    }
    route = bp.Scenario(scenario).to_dict()["flow"]["bulk"]["route"]
    failing = [{"satellite": route[1], "from": "10.3 s", "to": "12 s"}]
    run = bp.run(scenario | {"sky": scenario["sky"] | {"failure": failing}})
    whole = bp.run(scenario)
    lost = {
        name: each.drops.filter(pl.col("cause").is_in(["handover", "route-missing"]))["packets"].sum()
        for name, each in (("failing", run), ("whole", whole))
    }
    assert lost["failing"] > lost["whole"]
    assert run.flows["delivered_bytes"][0] > 0.5 * whole.flows["delivered_bytes"][0]


def test_satellites_by_lot_change_at_the_boundaries_of_slots_only():
    found = bp.sky.path("Seattle", "Vancouver", over=SHELL, duration="2 min", selection="starlink", gateway=["Seattle"])
    handovers = found.changes.filter("to_handover")["time_s"].to_numpy()
    assert len(handovers) > 3
    # Seconds 12, 27, 42 and 57 of every minute; found to a hundredth of a step.
    assert (handovers + 3) % 15 == pytest.approx(0, abs=0.01)
    other = bp.sky.path(
        "Seattle", "Vancouver", over=SHELL, duration="2 min", selection="starlink", gateway=["Seattle"], seed=2
    )
    assert not other.changes.equals(found.changes)


def test_a_gateway_means_the_same_in_a_scenario_and_on_the_command_line():
    found = bp.sky.path("Victoria", "Lagos", over="starlink", gateway=["Lagos"], selection="starlink", duration="5 min")
    assert (found.summary["connected"], found.gaps) == (1, ())
    # The geometry alone, without measured slots.
    content, _ = bp.load("starlink-isl").written
    content = re.sub(r"\[sky.user.slots\]\n(.+\n)+", "", content)
    flow = bp.run(bp.loads(content, sets={"duration": "5 min", "sky.break_before_make": "0 s"}), progress=False).flows
    # Beside the sky there is 1 ms. Bins of 1.6 %, and the instants of pings.
    delay = found.summary["delay_s"]
    assert flow["rtt_min_s"][0] - 1e-3 == pytest.approx(2 * delay["min"], rel=0.01)
    assert flow["rtt_p95_s"][0] - 1e-3 == pytest.approx(2 * delay["p95"], rel=0.05)


def test_a_look_says_why_there_is_no_path_at_times():
    found = bp.sky.path("London", "Paris", over="oneweb", elevation_min=60, duration="1 h", step="10 s")
    share = found.summary["connected"]
    assert 0.5 < share < 1
    assert sum(gap.share for gap in found.gaps) == pytest.approx(1 - share)
    assert all(gap.why.startswith("no satellite is in view of ") and gap.help for gap in found.gaps)
    assert found.to_dict()["summary"]["gaps"][0] == vars(found.gaps[0])
    far = bp.sky.path("Rome", "Recife", over="oneweb", gateway=["Madrid"], duration="10 s")
    assert "no gateway sees a satellite that Recife sees: Madrid, the nearest, is 6," in far.gaps[0].why


def test_check_and_run_note_a_path_that_is_there_at_times(tmp_path):
    file = tmp_path / "gaps.toml"
    file.write_text(
        'duration = "1 h"\n[sky]\nover = "oneweb"\nelevation_min = "60 deg"\nstep = "10 s"\n'
        '[flow.a]\nfrom = "London"\nto = "Paris"\napp = { kind = "request-response", response = "1 kB", count = 1 }\n'
    )
    said = "# note: sky: there is a path from London to Paris 72.5 % of the time."
    done = CliRunner().invoke(app, ["check", str(file)])
    assert done.stdout.startswith(said)
    assert done.stdout.endswith(bp.check(file))
    assert bp.run(file).notes[0].startswith(said.removeprefix("# note: "))


def test_a_rule_chooses_satellites_that_reach_the_other_end():
    for over, gateways in ((SHELL, ["Madrid"]), ("starlink", []), ("oneweb", ["Madrid"])):
        for select in ("highest", "longest", "starlink"):
            found = bp.sky.path(
                "London", "Madrid", over=over, gateway=gateways, selection=select, duration="10 min", step="5 s"
            )
            assert found.summary["connected"] > 0.95, (over, select, found.gaps)


def test_satellites_without_links_need_one_that_both_see_or_a_gateway():
    alone = bp.sky.path("London", "New York", over="oneweb", duration="10 s")
    assert alone.summary["connected"] == 0
    assert alone.instants["hops"].null_count() == alone.instants["delay_s"].null_count() == 10
    by_fibre = bp.sky.path("London", "New York", over="oneweb", duration="10 s", gateway=["London", "Halifax"])
    assert by_fibre.summary["connected"] == 1
    route = by_fibre.changes["path"][0].split(" > ")
    assert (
        [each.name for each in by_fibre.scene.gateways]
        == by_fibre.to_dict()["provenance"]["gateways"]
        == ["London", "Halifax"]
    )
    assert (route[:2], route[-1], len(route)) == (["London", "Halifax"], "New York", 4)
    longer = bp.sky.path(
        "London", "New York", over="oneweb", duration="10 s", gateway=["London", "Halifax"], stretch=2.5
    )
    ground = bp.sky.path("London", "Halifax", over="oneweb", duration="1 s").ground_km
    added = longer.instants["delay_s"][0] - by_fibre.instants["delay_s"][0]
    assert added == pytest.approx(ground * 1.468 / LIGHT_KM_S, rel=0.01)


# All pairs.

HYPATIA = ROOT / "crates" / "orbit" / "tests" / "data" / "hypatia"
MANILA, DALIAN = ("Manila", "14.6042N 120.9822E"), ("Dalian", "38.913811N 121.602322E")


def test_a_matrix_says_of_each_pair_what_its_path_says():
    places = ["London", "New York", (-33.9, 151.2), "Recife"]
    given = {"over": SHELL, "duration": "2 min", "step": "10 s", "elevation_min": "30 deg"}
    found = bp.sky.paths(places, **given)
    assert found.pairs.select("from", "to").rows()[:2] == [("London", "New York"), ("London", "33.90S 151.20E")]
    assert len(found.pairs) == found.summary["pairs"] == 6
    for row, (a, b) in zip(found.pairs.to_dicts(), combinations(places, 2), strict=True):
        path = bp.sky.path(a, b, **given)
        delay = path.instants["delay_s"]
        assert [row[f"delay_{name}_s"] for name in ("min", "median", "p95", "max")] == pytest.approx(
            [delay.min(), delay.median(), delay.quantile(0.95, "linear"), delay.max()], abs=1e-9
        )
        assert (row["hops_min"], row["hops_max"]) == (path.instants["hops"].min(), path.instants["hops"].max())
        assert row["connected"] == path.summary["connected"]
        assert row["ground_km"] == pytest.approx(path.ground_km)
        series = found.series(row["to"], row["from"])
        assert series["time_s"].to_list() == path.instants["time_s"].to_list()
        assert series["delay_s"].to_numpy() == pytest.approx(delay.to_numpy(), abs=1e-9)
    with pytest.raises(SkyError, match="'Berlin' is not one of the places"):
        found.series("London", "Berlin")
    lean = bp.sky.paths(places, **given, series=False)
    assert lean.pairs.equals(found.pairs)
    with pytest.raises(SkyError, match="series=True"):
        lean.series("London", "Recife")


def test_pairs_without_a_path_are_null_and_blank():
    found = bp.sky.paths(["London", "Paris", "Sydney"], over="geo:0E", duration="2 s")
    assert found.pairs["connected"].to_list() == [1, 0, 0]
    assert found.pairs["delay_max_s"].null_count() == found.pairs["hops_max"].null_count() == 2
    (axes, _) = found.plot("connected").axes
    assert axes.images[0].get_array().mask.sum() == 3
    assert [text.get_text() for text in axes.get_yticklabels()] == ["London", "Paris", "Sydney"]
    assert np.ma.count(found.plot().axes[0].images[0].get_array()) == 2
    assert found.statements[1] == (
        "no path at any time: London to Sydney, Paris to Sydney; "
        "`bentpipe sky path London Sydney --over geo:0E` prints the reason"
    )
    alone = bp.sky.paths(["Quito", "Sydney"], over="geo:0E", duration="2 s")
    with pytest.raises(SkyError, match="no path between any two places"):
        alone.plot()
    assert "1 pair: 0 with a path all the time, 1 never" in " ".join(
        ran("matrix", "Quito", "Sydney", "--over", "geo:0E", "--duration", "2 s").stdout.split()
    )


def test_places_are_read_from_files(tmp_path):
    file = tmp_path / "places.csv"
    file.write_text("name,latitude,longitude,height_km\nShip,45,-12,\nPlane,46,-13.5,11.2\n")
    assert [(each.name, each.height_km) for each in bp.sky.places(file)] == [("Ship", 0), ("Plane", 11.2)]
    for text, said in [
        ("name,latitude,longitude,height\n", "expected name, latitude and longitude (degrees), and height_km (in km)"),
        ("", "has no columns"),
        ("name,latitude,longitude\nShip,45,\n", "line 2: the coordinates are missing"),
        ("name,latitude,longitude\nShip,nan,1\n", "line 2: expected degrees north"),
        ("name,latitude,longitude,height_km\nPlane,45,1,11000\n", "Plane: 11000 km above the ellipsoid"),
        ("name,latitude,longitude\n,4,1\n", "the place has no name"),
    ]:
        file.write_text(text)
        with pytest.raises(SkyError, match=re.escape(said)):
            bp.sky.places(file)


def test_a_matrix_is_kept_with_all_its_delays(tmp_path):
    words = ["matrix", "London", "Rome", "Cairo", "--over", SHELL, "--duration", "5 s", "--save", str(tmp_path / "out")]
    assert ran(*words, "--series", "--plot", str(tmp_path / "m.png")).exit_code == 0
    table, series = (pl.read_parquet(tmp_path / "out" / f"{name}.parquet") for name in ("pairs", "series"))
    assert len(series) == 3 * 5
    most = series.group_by("from", "to", maintain_order=True).agg(pl.col("delay_s").max())
    assert most["delay_s"].to_list() == pytest.approx(table["delay_max_s"].to_list())
    assert json.loads(ran(*words[:-2], "--json").stdout)["pairs"] == table.to_dicts()


def test_hypatias_network_is_one_line_by_command_and_in_python(tmp_path):
    with (HYPATIA / "kuiper630_rtt_Manila_Dalian.csv").open() as lines:
        rtt_ns = np.array([float(row["rtt_ns"]) for row in csv.DictReader(lines)])
    with (HYPATIA / "kuiper630_path_Manila_Dalian.csv").open() as lines:
        changes = [int(row["t_ns"]) // 100_000_000 for row in csv.DictReader(lines)]
    words = ["path", MANILA[1], DALIAN[1], "--over", "kuiper-630-hypatia", "--duration", "200 s", "--step", "100 ms"]
    shown = json.loads(ran(*words, "--json").stdout)
    assert np.abs(2e9 * np.array(shown["instants"]["delay_s"]) - rtt_ns).max() < 500
    # Hypatia looks every 100 ms.
    assert [math.ceil(change["time_s"] * 10 - 1e-6) for change in shown["changes"]] == changes
    given = {"duration": "200 s", "step": "100 ms"}
    for over in ({"over": "kuiper-630-hypatia"}, KEYS_OF_HYPATIA):
        found = bp.sky.paths([MANILA[1], DALIAN[1]], **over, **given)
        series = found.series(*[place.name for place in found.places])["delay_s"].to_numpy()
        assert np.abs(2e9 * series - rtt_ns).max() < 500
        assert found.pairs["changes"][0] == len(changes) - 1


KEYS_OF_HYPATIA = {"over": "kuiper-630", "motion": "sgp4", "mean_motion": 14.8, "range_max_km": 1260}


def test_orbits_and_reach_are_keys_of_every_look():
    low = bp.sky.map(over="kuiper-630").satellites["height_km"].mean()
    high = bp.sky.map(over="kuiper-630", mean_motion=13.0).satellites["height_km"].mean()
    # The cube root of the square of the ratio of periods.
    assert (high + 6371) / (low + 6371) == pytest.approx((14.788 / 13.0) ** (2 / 3), rel=2e-3)
    near, far = (bp.sky.passes("Quito", over="kuiper-630", range_max_km=km, duration="10 min") for km in (800, 1600))
    assert near.passes["range_max_km"].max() <= 800.1 < far.passes["range_max_km"].max() <= 1600.1
    assert near.to_dict()["provenance"]["range_max_km"] == 800
    assert near.to_dict()["provenance"]["elevation_min_deg"] is None
    wide = bp.sky.coverage(over="kuiper-630", range_max_km=1600, duration="1 min", cell=15)
    assert wide.covered > bp.sky.coverage(over="kuiper-630", range_max_km=800, duration="1 min", cell=15).covered
    still, turned = (
        bp.sky.map(over="delta:53:24/4/0:550", odd_planes=angle).satellites["latitude_deg"] for angle in (0, 30)
    )
    assert (still[:6] == turned[:6]).all()
    assert (still[6:12] - turned[6:12]).abs().max() > 10
    bent = bp.sky.path("London", "Madrid", over=SHELL, between_satellites="none", duration="10 s")
    assert bent.instants["hops"].drop_nulls().unique().to_list() == [2]


def test_gateways_on_the_ground_relay_without_fibre():
    given = {"over": "oneweb", "duration": "30 s", "gateway": ["Paris", "Vienna", "Ankara"], "elevation_min": 40}
    by_fibre, zigzag = (bp.sky.path("London", "Baghdad", relay=relay, **given) for relay in ("fibre", "ground"))
    nodes = zigzag.changes["path"].drop_nulls().str.split(" > ").to_list()
    assert nodes
    for path in nodes:
        assert all(name.startswith("oneweb-") for name in path[1::2])
        assert set(path[2:-1:2]) <= {"Paris", "Vienna", "Ankara"}
    assert any("Paris > " in path or "Vienna > Ankara" in path for path in by_fibre.changes["path"].drop_nulls())
    assert zigzag.instants["delay_s"].mean() < by_fibre.instants["delay_s"].mean()


# Passes, coverage, maps.


def test_a_pass_over_the_pole_is_as_long_as_its_closed_form():
    found = bp.sky.passes("90N 0E", over="iridium", duration="3 h")
    radius, least = EQUATOR_KM + 780, math.radians(8.2)
    # How far from the pole a satellite is seen; it comes within 3.6 degrees of it.
    reach = math.acos(POLE_KM * math.cos(least) / radius) - least
    period = 2 * math.pi * math.sqrt(radius**3 / 398_600.4418)
    expected = period / math.pi * math.acos(math.cos(reach) / math.cos(math.radians(3.6)))
    whole = found.passes.filter((pl.col("rise_s") > 0) & (pl.col("set_s") < 3 * 3600))
    assert len(whole) > 60
    assert (whole["set_s"] - whole["rise_s"]).to_numpy() == pytest.approx(expected, rel=3e-3)
    summary = found.summary
    assert summary["gap_max_s"] == 0
    assert summary["covered"] == 1
    assert summary["in_view_mean"] == pytest.approx(66 * expected / period, rel=0.02)


def test_gaps_between_passes_are_counted():
    found = bp.sky.passes("60N 0E", over="o3b", duration="1 h")
    assert (len(found.passes), found.summary["covered"], found.summary["gap_max_s"]) == (0, 0, 3600)
    few = bp.sky.passes("London", over="iridium", duration="2 h", elevation_min=30)
    inside = few.passes.select("rise_s", "set_s").to_numpy()
    seen = np.zeros(7200, dtype=bool)
    for rise, down in inside:
        seen[math.ceil(rise) : math.ceil(down)] = True
    assert few.summary["covered"] == pytest.approx(seen.mean(), abs=0.005)
    edges = np.flatnonzero(np.diff(np.concatenate(([1], seen, [1]))))
    assert few.summary["gap_max_s"] == pytest.approx(np.diff(edges)[::2].max(), abs=2)


def test_a_geostationary_satellite_covers_the_cap_of_the_closed_form():
    found = bp.sky.coverage(over="geo:30E", duration="1 s", step="1 s", cell=2)
    least = math.radians(5)
    reach = math.acos(EQUATOR_KM * math.cos(least) / (EQUATOR_KM + GEO_KM)) - least
    assert found.covered == pytest.approx((1 - math.cos(reach)) / 2, abs=0.002)
    centre = found.cells.filter(pl.col("mean") > 0)
    assert centre["longitude_deg"].mean() == pytest.approx(30, abs=1)
    assert centre["latitude_deg"].max() == pytest.approx(math.degrees(reach), abs=2)


def test_the_delay_below_a_geostationary_satellite_is_its_height_over_the_speed_of_light():
    for to, ways in ((None, 1), ((0, 30), 2)):
        found = bp.sky.coverage(over="geo:30E", duration="1 s", step="1 s", cell=4, to=to)
        below = found.cells.filter(pl.col("latitude_deg").abs() < 1e-9, (pl.col("longitude_deg") - 30).abs() < 1e-9)
        assert below["delay_s"].item() == pytest.approx(ways * GEO_KM / LIGHT_KM_S, rel=1e-5)
        assert below["delay_s"].item() == found.cells["delay_s"].min()
        # The farthest place sees the satellite at the least elevation.
        low = math.radians(5)
        farthest = math.sqrt((EQUATOR_KM + GEO_KM) ** 2 - (EQUATOR_KM * math.cos(low)) ** 2) - EQUATOR_KM * math.sin(
            low
        )
        longest = (farthest + (ways - 1) * GEO_KM) / LIGHT_KM_S
        assert found.cells["delay_s"].max() == pytest.approx(longest, rel=2e-3)
        assert found.cells.filter(pl.col("min") == 0)["delay_s"].is_null().all()


def on_ellipsoid(latitude_deg, longitude_deg):
    """Position (km) and zenith of a place, WGS 84."""
    north, east = np.radians(latitude_deg), np.radians(longitude_deg)
    squared = 1 - (POLE_KM / EQUATOR_KM) ** 2
    normal = EQUATOR_KM / np.sqrt(1 - squared * np.sin(north) ** 2)
    up = np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], axis=-1)
    return normal[..., None] * up * [1, 1, 1 - squared], up


def test_delays_over_links_between_satellites_are_those_of_a_graph():
    """The shortest paths of SciPy over positions of satellites, from a grid of cells to London."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    found = bp.sky.coverage(over="iridium", to="London", duration="1 s", step="1 s", cell=12)
    moment = bp.sky.map(over="iridium")
    # Latitude and height are those of the ellipsoid.
    latitude, longitude, height = moment.satellites.select("latitude_deg", "longitude_deg", "height_km").to_numpy().T
    surface, zenith = on_ellipsoid(latitude, longitude)
    satellites = surface + height[:, None] * zenith
    names = moment.satellites["satellite"].to_list()
    a, b = (np.array([names.index(name) for name in moment.links[:, side]]) for side in (0, 1))
    london = next(each for each in bp.sky.cities() if each["name"] == "London")
    places = [
        [london["latitude_deg"], *found.cells["latitude_deg"]],
        [london["longitude_deg"], *found.cells["longitude_deg"]],
    ]
    grounds, ups = on_ellipsoid(*map(np.array, places))
    sight = satellites[None] - grounds[:, None]
    ranges = np.linalg.norm(sight, axis=-1)
    is_seen = (sight * ups[:, None]).sum(-1) / ranges >= math.sin(math.radians(8.2))
    lengths = np.linalg.norm(satellites[a] - satellites[b], axis=-1)
    graph = coo_array((lengths, (a, b)), shape=(len(names), len(names)))
    between = dijkstra(graph, directed=False)
    from_london = np.where(is_seen[0, :, None], ranges[0, :, None] + between, np.inf).min(0)
    shortest = np.where(is_seen[1:], ranges[1:] + from_london, np.inf).min(1)
    assert found.cells["delay_s"].to_numpy() == pytest.approx(shortest / LIGHT_KM_S, rel=1e-6)


@pytest.mark.parametrize("relay", ["fibre", "ground"])
def test_delays_of_cells_over_gateways_are_those_of_paths(relay):
    about = {"over": "oneweb", "gateway": ["Bern", "Madrid"], "relay": relay, "duration": "1 s", "step": "1 s"}
    found = bp.sky.coverage(to="Oslo", cell=10, **about)
    reached = found.cells.drop_nulls("delay_s")
    assert 10 < len(reached) < 120
    for row in reached[::7].iter_rows(named=True):
        path = bp.sky.path((row["latitude_deg"], row["longitude_deg"]), "Oslo", **about)
        assert row["delay_s"] == pytest.approx(path.instants["delay_s"].item(), rel=1e-12)
    far = found.cells.filter(pl.col("latitude_deg") < -40)
    assert far["delay_s"].is_null().all()
    assert found.bands().filter(pl.col("north_deg") < -40)["delay_s"].is_null().all()


def test_coverage_without_a_path_says_so():
    found = bp.sky.coverage(over="o3b", to="Oslo", duration="1 s", step="1 s", cell=30)
    assert found.statements[1] == "There is no path to Oslo"
    with pytest.raises(SkyError, match="no path from any cell to Oslo"):
        found.plot("delay")


def test_bands_of_coverage_are_all_of_its_table():
    found = bp.sky.coverage(over="iridium", duration="2 min", cell=5)
    bands = found.bands()
    assert bands["north_deg"].to_list() == list(range(90, -90, -10))
    assert found.cells["min"].min() == bands["min"].min() >= 1
    area = [
        math.sin(math.radians(n)) - math.sin(math.radians(s)) for s, n in bands.select("south_deg", "north_deg").rows()
    ]
    mean = np.average(found.cells["mean"], weights=np.cos(np.radians(found.cells["latitude_deg"])))
    assert np.average(bands["mean"], weights=area) == pytest.approx(mean, rel=0.01)


def test_a_map_shows_the_path_of_its_instant(atlantic):
    for at_s in (0, 200):
        found = bp.sky.map(over=SHELL, ends=("London", "New York"), at=at_s)
        row = atlantic.instants.row(at_s, named=True)
        assert found.delay_s == pytest.approx(row["delay_s"], rel=1e-9)
        assert found.path["node"].to_list()[1] == row["from_satellite"]
        assert len(found.path) == row["hops"] + 1
    assert len(found.satellites) == 1584
    # Each of a delta's satellites has four links.
    assert len(found.links) == 2 * 1584
    assert found.satellites["latitude_deg"].abs().max() < 53.3


def test_a_file_of_element_sets_is_a_constellation(tmp_path):
    file = tmp_path / "one.tle"
    file.write_text(SETS)
    found = bp.sky.map(over=file)
    assert found.satellites["satellite"].to_list() == ["IRIDIUM 106"]
    assert found.satellites["height_km"][0] == pytest.approx(780, abs=25)
    assert found.scene.epoch == "2026-06-13T19:35:34.209Z"
    assert bp.sky.map(over=file, start="2026-06-13").scene.epoch == "2026-06-13T00:00:00.000Z"
    file.write_text(SETS.replace("0  9992", "0  9993"))
    with pytest.raises(SkyError, match=r"one\.tle, line 2: .*\n  bad='skip'"):
        bp.sky.map(over=file)
    file.write_text(SETS.replace("0  9992", "0  9993") + SETS)
    left = bp.sky.map(over=file, bad="skip")
    assert len(left.satellites) == 1
    assert [line for line, _ in left.scene.skipped] == [2]


# Arguments.


@pytest.mark.parametrize(
    ("given", "north", "east", "height"),
    [
        ("London", 51.5, -0.1, 0),
        ("san jose", 9.9, -84.1, 0),
        ("51.5, -0.12", 51.5, -0.12, 0),
        ("33.9S 151.2E", -33.9, 151.2, 0),
        ("-33.9 151.2 0.5km", -33.9, 151.2, 0.5),
        ("10n,20w, 11 km", 10, -20, 11),
        ((1.5, 2), 1.5, 2, 0),
        ((1.5, 2, 3), 1.5, 2, 3),
    ],
)
def test_places_are_cities_or_coordinates(given, north, east, height):
    found = place(given)
    assert (found.latitude_deg, found.longitude_deg) == pytest.approx((north, east), abs=0.05)
    assert found.height_km == height


@pytest.mark.parametrize(
    ("given", "expected"), [("90 s", 90), ("1.5min", 90), ("2 h", 7200), ("0", 0), (3, 3), ("1 ms", 0.001)]
)
def test_times_are_seconds_or_quantities(given, expected):
    assert seconds("at", given) == pytest.approx(expected)


PATH = ["path", "London", "Paris", "--over", "iridium"]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["path", "Lodnon", "Paris", "--over", "iridium"], ['place "Lodnon"', "London"]),
        (["path", "London", "London", "--over", "iridium"], ["London is both ends"]),
        (["path", "91N 0E", "Paris", "--over", "iridium"], ["91N 0E", "-90 to 90"]),
        (["path", "London", "Paris", "--over", "iridum"], ["'iridum'", "did you mean 'iridium'"]),
        (["path", "London", "Paris", "--over", "no.tle"], ["no.tle is not a constellation or a file"]),
        (["path", "London", "Paris", "--over", "."], [". cannot be read", "two-line elements"]),
        ([*PATH, "--duration", "5"], ["duration = 5", "10 min"]),
        ([*PATH, "--duration", "0 s"], ["duration = 0 s", "above 0"]),
        ([*PATH, "--step", "1 h"], ["step = 3600 s is longer than duration = 600 s"]),
        ([*PATH, "--duration", "24 h", "--step", "1 ms"], ["86400 s in steps of 0.001 s", "10,000,000"]),
        ([*PATH, "--at", "1e12 s"], ["at = 1e+12 s", "30 years"]),
        ([*PATH, "--start", "2026-13-01"], ["2026-13-01", "no month 13", "2026-06-14T12:30:00"]),
        ([*PATH, "--elevation-min", "95"], ["95 is out of range; expected -10 to 90"]),
        (["path", "London", "Paris", "--over", "delta:53:1584"], ["delta:53:1584", "delta:53:1584/72/39:550"]),
        (["path", "London", "Paris", "--over", "delta:53:10/3/0:550"], ["10/3/0", "as many in each"]),
        (["path", "London", "Paris", "--over", "star:86:66/6/2:-5"], ["star:86:66/6/2:-5", "height in km"]),
        ([*PATH, "--selection", "fastest"], ["'fastest'", "any, highest, nearest, longest, periodic, starlink"]),
        ([*PATH, "--metric", "cost"], ["'cost'", "delay, hops"]),
        ([*PATH, "--gateway", "Bern", "--gateway", "bern"], ["gateway 'Bern' is named twice"]),
        ([*PATH, "--gateway", "Bern", "--gateway", "Oslo", "--stretch", "0.5"], ["stretch = 0.5 is out of range"]),
        ([*PATH, "--plot", "x.jpg"], ["x.jpg", ".png, .svg, .pdf"]),
        ([*PATH, "--title", "x"], ["--title needs a figure"]),
        (["coverage", "--over", "iridium", "--cell", "0"], ["size of a cell", "0.25 to 90"]),
        (["coverage", "--over", "iridium", "--chart", "max"], ["'max'", "mean, min, covered, delay"]),
        (["coverage", "--over", "iridium", "--to", "Atlantis"], ["Atlantis"]),
        (["coverage", "--over", "oneweb", "--gateway", "Bern"], ["--gateway has no effect without --to"]),
        (
            ["coverage", "--over", "iridium", "--between-satellites", "grid"],
            ["--between-satellites has no effect without --to"],
        ),
        (["map", "--over", "iridium", "--from", "London"], ["--from needs the other end"]),
        (["matrix", "London", "--over", "iridium"], ["1 place: expected two or more"]),
        (["matrix", "London", "Rome", "london", "--over", "iridium"], ["London is named twice"]),
        (["matrix", "London", "Rome", "--over", "iridium", "--chart", "rate"], ["'rate'", "delay, spread, connected"]),
        (
            ["matrix", "London", "Rome", "--over", "iridium", "--series"],
            ["--series needs a folder"],
        ),
        (["matrix", "--places", "none.csv", "--over", "iridium"], ["none.csv cannot be read"]),
        (
            [*PATH, "--range-max-km", "1260", "--elevation-min", "25"],
            ["range_max_km and elevation_min exclude each other"],
        ),
        ([*PATH, "--elevation-min", "high"], ["elevation_min = high", "25 deg"]),
        ([*PATH, "--motion", "sgp5"], ["'sgp5'", "did you mean 'sgp4'"]),
        ([*PATH, "--between-satellites", "ring"], ["'ring'", "none, grid, grid-and-seam"]),
        ([*PATH, "--relay", "ground"], ["relay = ground is for gateways", "--gateway"]),
        (["path", "London", "Rome", "--over", "starlink", "--mean-motion", "15"], ["5 shells", "kuiper-630"]),
        (["path", "London", "Rome", "--over", "geo:9E", "--motion", "sgp4"], ["geo:9E has satellites with their own"]),
        (["path", "51N 0E 500 m", "Rome", "--over", "iridium"], ["heights are in km", "0.5 km in place of 500 m"]),
        (["path", "51N 0E 500", "Rome", "--over", "iridium"], ["500 km above the ellipsoid", "heights are in km"]),
        (["pth", "London"], ["'pth' is not a command of sky", "did you mean 'path'"]),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(words, parts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = ran(*words)
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    for part in parts:
        assert part in done.stderr
    assert not done.stdout
    assert list(tmp_path.iterdir()) == []


def test_constellations_and_places_are_listed_with_their_sources():
    names = {each["name"]: each for each in bp.sky.constellations()}
    assert {"iridium", "teledesic", "starlink", "oneweb", "kuiper", "telesat", "o3b", "geo"} <= names.keys()
    assert all(each["about"] and each["source"] for each in names.values())
    listed = CliRunner().invoke(app, ["list", "constellations"]).stdout
    assert all(name in listed for name in names)
    assert len(bp.sky.cities()) > 300
    assert "51.50N 0.12W" in CliRunner().invoke(app, ["list", "places"]).stdout


# Long work.


def test_progress_grows_and_can_interrupt(long_look):
    shares = []

    def watch(progress):
        shares.append(progress.share)
        assert progress.label == "London to Sydney"
        if len(shares) == 3:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="interrupted after 0 %"):
        long_look(watch)
    assert 0 < shares[0] < shares[1] < shares[2] < 1


def test_ctrl_c_ends_long_work(long_look):
    # From another thread, which runs only if the work has let go of the GIL.
    threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(Interrupted):
        long_look()


# Figures.


def test_coastlines_are_small_public_and_where_the_land_is():
    from matplotlib.path import Path as Ring

    file = files("bentpipe.plot") / "coastlines.txt"
    data = file.read_bytes()
    assert len(data) < 100_000
    assert b"public domain" in data[:300]
    rings = coastlines()
    assert all(np.abs(ring[0] - ring[-1]).max() < 0.02 for ring in rings)
    land = Ring.make_compound_path(*map(Ring, rings))
    for east, north in ((10, 50), (20, 0), (-100, 40), (135, -25), (100, 60), (-60, -10), (0, -89)):
        assert sum(Ring(ring).contains_point((east, north)) for ring in rings) % 2 == 1, (east, north)
    for east, north in ((-30, 0), (-150, 30), (80, -40), (51, 42), (18, 35), (-86, 60)):
        assert sum(Ring(ring).contains_point((east, north)) for ring in rings) % 2 == 0, (east, north)
    assert len(land.vertices) > 4000


def test_great_circles_leave_the_map_at_one_edge_and_come_back_at_the_other():
    (piece,) = _great_circle((0.0, 0.0), (40.0, 20.0))
    assert piece[[0, -1]] == pytest.approx(np.array([(0, 0), (40, 20)]), abs=1e-9)
    there, back = _great_circle((150.0, 40.0), (-150.0, 40.0))
    assert there[0] == pytest.approx((150, 40))
    assert back[-1] == pytest.approx((-150, 40))
    assert 180 <= there[-1][0] < 190
    assert -190 < back[0][0] <= -180
    # The northernmost point of the circle: tan(40°) / cos(30°) is the tangent of its latitude.
    top = math.degrees(math.atan(math.tan(math.radians(40)) / math.cos(math.radians(30))))
    assert there[:, 1].max() == pytest.approx(top, abs=0.1)


def test_equal_figures_are_equal_files(tmp_path, atlantic):
    for name in ("a.svg", "b.svg"):
        save(bp.sky.map(over="iridium", ends=("Berlin", "Tokyo")).plot(), tmp_path / name)
    text = (tmp_path / "a.svg").read_bytes()
    assert text == (tmp_path / "b.svg").read_bytes()
    axes = bp.sky.map(over="iridium", ends=("Berlin", "Tokyo")).plot(title="A", size=(5, 3)).axes[0]
    assert {text.get_text() for text in axes.texts} == {"Berlin", "Tokyo"}
    delay, hops, height = atlantic.plot().axes
    assert height.get_xlabel().endswith("; ticks: handovers") == (atlantic.changes["from_handover"].sum() > 0)
    assert delay.lines[0].get_ydata() == pytest.approx(atlantic.instants["delay_s"].to_numpy() * 1e3)
    assert hops.get_ylim()[0] == 0


@pytest.mark.parametrize("chart", CHARTS)
def test_a_map_of_coverage_shows_its_table(chart):
    found = bp.sky.coverage(over="iridium", duration="1 s", step="1 s", cell=10)
    image = found.plot(chart).axes[0].images[0].get_array()
    column, scale = {"covered": ("covered", 100), "delay": ("delay_s", 1000)}.get(chart, (chart, 1))
    assert np.ravel(image.filled()) == pytest.approx(found.cells[column].to_numpy() * scale)


# The command line.


def inner():
    with click.Context(app) as ctx:
        return app.get_command(ctx, "sky").commands


@pytest.mark.parametrize("name", ["path", "matrix", "passes", "coverage", "map"])
def test_help_of_each_look_explains_everything_in_lines_that_fit(name):
    text = ran(name, "--help").stdout
    assert max(map(len, text.partition("Examples:")[0].splitlines())) <= 80
    for parameter in inner()[name].params:
        assert parameter.help, parameter.name
        assert " ".join(parameter.help.split()[:3]) in " ".join(text.split())
    assert len(inner()[name].help.splitlines()[0]) <= 45


LOOKS = {
    "path": ["--duration", "20 s", "--step", "1 s"],
    "passes": ["--duration", "10 min"],
    "coverage": ["--cell", "15"],
    "map": [],
    "matrix": ["--duration", "20 s", "--step", "10 s"],
}


@pytest.mark.parametrize("name", LOOKS)
def test_examples_of_each_look_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cities.csv").write_text("name,latitude,longitude\nManila,14.6,121\nDalian,38.9,121.6\n")
    for example in inner()[name].examples:
        assert len(example) <= 80
        words = shlex.split(example)
        assert words[:3] == ["bentpipe", "sky", name]
        done = ran(*words[2:], *LOOKS[name])
        assert done.exit_code == 0, done.output
        if "--json" not in words and "--plot" not in words:
            assert max(map(len, done.stdout.splitlines())) <= 80


def test_tables_files_and_json_have_the_same_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["path", "London", "Tokyo", "--over", "iridium", "--duration", "30 s", "--save", "out", "--plot", "a.png"]
    shown = ran(*words)
    assert shown.exit_code == 0, shown.output
    found = json.loads(ran(*words, "--json").stdout)
    table = pl.read_parquet("out/instants.parquet")
    assert table.to_dict(as_series=False) == found["instants"]
    assert pl.read_parquet("out/changes.parquet").to_dicts() == found["changes"]
    assert json.loads((tmp_path / "out" / "provenance.json").read_text())["form"] == "bentpipe sky path"
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert f"{1e3 * found['summary']['delay_s']['median']:.2f}" in shown.stdout
    assert "London to Tokyo over iridium" in shown.stdout
    assert ran(*words, "--quiet").stdout == ""


def test_a_map_goes_to_a_place_of_its_own_unless_json_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert json.loads(ran("map", "--over", "iridium", "--json").stdout)["provenance"]["satellites"] == 66
    assert list(tmp_path.iterdir()) == []
    assert "The map is in map.png." in ran("map", "--over", "iridium").stdout
    assert [each.name for each in tmp_path.iterdir()] == ["map.png"]


def test_where_there_is_nothing_it_says_why_and_draws_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = ran("passes", "60N 0E", "--over", "o3b", "--plot", "x.png")
    assert (done.exit_code, done.stderr.splitlines()[0]) == (2, "error: no satellite passes over 60.00N 0.00E")
    assert "No satellite is in view." in done.stdout
    done = ran("path", "London", "Singapore", "--over", "geo", "--duration", "5 s", "--plot", "x.png")
    assert (done.exit_code, done.stderr.splitlines()[0]) == (2, "error: there is no path from London to Singapore")
    assert list(tmp_path.iterdir()) == []
    done = ran("path", "London", "Singapore", "--over", "geo", "--duration", "5 s")
    assert done.exit_code == 0
    text = " ".join(done.stdout.split())
    assert "There is no path. 100 % of the time without: no satellite is in view of" in text
    assert "remedy: " in text


def test_the_guide_shows_what_the_command_prints():
    page = (ROOT / "docs" / "guides" / "sky.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    (line,) = [line for line in page.splitlines() if line.startswith("bentpipe sky path") and "--plot" in line]
    words = shlex.split(line.partition(" --plot")[0])
    assert block in "\n".join(each.rstrip() for each in ran(*words[2:]).stdout.splitlines())
    names = [*SELECTIONS, *METRICS, *CHANGES, *CHARTS, *matrix.CHARTS]
    assert all(f"`{name}`" in page or f" {name}`" in page for name in names)


# The page of the documentation


def test_each_part_of_the_page_over_the_sky_can_be_measured():
    # One run of each part.
    iridium = skies.over_iridium("BEEN", skies.STARTS[0])
    assert skies.goodput_kbps(skies.with_errors(iridium | {"duration": "5 s"}, 1e-4), "500 B", 1) > 0
    for sky in skies.SKIES.values():
        scenario = skies.transfer(sky, skies.DAY[0], "sack", is_split=True) | {"duration": "3 s"}
        assert bp.run(bp.Scenario(scenario), seed=1).flows["delivered_bytes"][0] > 0
    assert bp.run(skies.timed("1 ms", 0.0, skies.PASSES[0]) | {"duration": "5 s"}, seed=1).flows["acked_bytes"][0] > 0
    for direction in more.DIRECTIONS:
        around = more.around("refwa-plus", direction, 0.01, more.STARTS[0])
        assert around["at"]
        for scenario in (around, more.still(around)):
            run = bp.run(scenario | {"duration": "5 s"}, seed=1)
            assert 0.1 < more.fairness(run.flows["delivered_bytes"].to_numpy()) <= 1
            hit = run.links.filter(pl.col("corrupted_packets") > 0)["link"].to_list()
            assert all(name.startswith("New York~") for name in hit)
    assert more.reading(1) > 0


def test_verdicts_on_the_moving_sky_follow_from_its_runs():
    rows = kept.load("sky")["refwa"]["rows"]
    found = {(each["told"], each["what"].partition(":")[0]): each["verdict"] for each in differences(rows)}
    sky, ground = more.DIRECTIONS.values()
    assert found[ground, "REFWA Plus cures it"] == found[ground, "REFWA cures it"] == "holds"
    assert found[sky, "at no cost"] == "does not hold"
    worse = [row | {"fairness": [0.1 + 0.01 * seed for seed in range(10)]} for row in rows]
    assert {each["verdict"] for each in differences(worse) if "is unfair" in each["what"]} == {"holds"}
    assert more.fairness(np.array([1.0, 1.0])) == 1
    assert more.fairness(np.array([1.0, 0.0])) == 0.5


# Budgets


RADIO = {"frequency": 12.0, "eirp": 36.0, "g_over_t": 9.0, "symbol_rate": 10e6}


def test_a_budget_adds_up_and_has_the_free_space_of_its_distance():
    found = bp.sky.budget("Singapore", over="starlink-shell-1", percent=[0.01, 0.1], **RADIO)
    for (_, _), lines in found.lines.group_by("elevation_deg", "percent"):
        value = dict(zip(lines["line"], lines["value"], strict=True))
        parts = ("EIRP", "free space", "gases", "rain", "other losses", "G/T", "warmer sky", "1/k")
        assert sum(value.get(name, 0) for name in parts) == pytest.approx(value["C/N0"])
        assert value["C/N0"] - 70 == pytest.approx(value["Es/N0"])
    # At 12 GHz: 168.84 dB over 550 km, 175.04 dB over 1123.4 km.
    loss = dict(found.lines.filter(pl.col("line") == "free space").select("elevation_deg", "value").rows())
    assert loss[90.0] == pytest.approx(-168.84, abs=0.01)
    assert loss[25.0] == pytest.approx(-175.04, abs=0.01)
    rain = found.lines.filter(pl.col("line") == "rain", pl.col("elevation_deg") == 40.0)["value"].to_list()
    assert rain[0] == 0 > rain[2] > rain[1]
    assert found.summary["rate_min_bps_dry"] == pytest.approx(4.453027 * 10e6)


def test_a_budget_that_cannot_be_says_why(tmp_path):
    with pytest.raises(SkyError, match='climate: place "Londno": not a known place; did you mean London'):
        bp.sky.budget("10N 10E", over="iridium", climate="Londno", **RADIO)
    assert bp.sky.budget("10N 10E", over="iridium", climate="Abuja", **RADIO).radio["climate"] == "Abuja"
    with pytest.raises(SkyError, match="percent: 50 is out of range"):
        bp.sky.budget("London", over="iridium", percent=50, **RADIO)
    with pytest.raises(SkyError, match="frequency_ghz"):
        bp.sky.budget("London", over="iridium", **RADIO | {"frequency": 0.1})


def test_the_command_prints_a_budget_that_fits_a_terminal(tmp_path):
    options = ("--frequency", "12", "--eirp", "36", "--gt", "9", "--plot", str(tmp_path / "budget.png"))
    done = ran("budget", "London", "--over", "starlink-shell-1", *options)
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    for text in ("Es/N0 (dB)", "Dry", "exceeded in 0.1 % of the year", "32APSK 9/10"):
        assert text in done.stdout
    assert (tmp_path / "budget.png").stat().st_size > 10_000


def test_a_scenario_that_is_long_to_read_says_how_far_it_is_and_can_be_interrupted(tmp_path):
    text = '[sky]\nover = "iridium"\n[flow.a]\nfrom = "London"\nto = "Singapore"\napp = "greedy"\n'
    (tmp_path / "day.toml").write_text('duration = "600 s"\n' + text)
    shares = []
    bp.load(tmp_path / "day.toml", progress=lambda progress: shares.append(progress.share))
    assert len(shares) > 100
    assert shares == sorted(shares)
    assert shares[-1] > 0.99

    def interrupt(progress):
        if progress.share > 0.5:
            raise KeyboardInterrupt

    # The paths of the first are kept.
    (tmp_path / "longer.toml").write_text('duration = "700 s"\n' + text)
    with pytest.raises(KeyboardInterrupt):
        bp.load(tmp_path / "longer.toml", progress=interrupt)


def test_clouds_and_scintillation_are_lines_where_they_are_asked_for():
    given = {"over": "geo:19.2E", "frequency": 20, "eirp": 55, "g_over_t": 15, "percent": [0.1, 2]}
    plain = bp.sky.budget("London", **given)
    assert not plain.lines["line"].is_in(["clouds", "scintillation"]).any()
    both = bp.sky.budget("London", **given, clouds=True, scintillation=True)

    def at(found, line, percent):
        rows = found.lines.filter((pl.col("line") == line) & pl.col("percent").eq_missing(percent))
        return rows["value"].to_numpy()

    # Dry air is dry.
    assert at(both, "clouds", None).size == 0
    assert at(both, "Es/N0", None) == pytest.approx(at(plain, "Es/N0", None))
    for percent in (0.1, 2):
        lost = at(plain, "Es/N0", percent) - at(both, "Es/N0", percent)
        warmer = at(plain, "warmer sky", percent) - at(both, "warmer sky", percent)
        assert lost == pytest.approx(-at(both, "clouds", percent) - at(both, "scintillation", percent) + warmer)
        assert (warmer > 0).all()
        assert (at(both, "clouds", percent) < 0).all()
        assert (at(both, "scintillation", percent) < 0).all()
    # Clouds are those of 5 % at most, of 1 % by the older edition; rare scintillation is deep, and large antennas
    # average it.
    assert at(both, "clouds", 0.1)[0] == at(both, "clouds", 2)[0]
    older = bp.sky.budget("London", **given, clouds=True, recommendation="P.618-13")
    assert at(older, "clouds", 0.1)[0] < at(older, "clouds", 2)[0] < at(both, "clouds", 2)[0]
    assert at(older, "gases", 0.1)[0] < at(both, "gases", 0.1)[0] < at(both, "gases", None)[0]
    wide = bp.sky.budget("London", **given, clouds=True, scintillation=True, antenna=40)
    assert at(wide, "scintillation", 0.1)[-1] > at(both, "scintillation", 0.1)[-1]
    words = shlex.split("budget London --over geo:19.2E --frequency 20 --eirp 55 --gt 15 --clouds --scintillation")
    said = ran(*words)
    assert said.exit_code == 0
    assert "clouds (dB)" in said.output
    assert "scintillation (dB)" in said.output
    assert ran(*words, "--antenna", "-1").exit_code != 0


PIPE = {"over": "geo:9E", "frequency": 14, "eirp": 44, "g_over_t": 3, "symbol_rate": 1e6}
DOWN = {"frequency": 12, "eirp": 25, "g_over_t": 9}


def test_both_ways_of_a_bent_pipe_make_one_budget():
    def values(found, percent=None):
        assert found.lines["elevation_deg"].n_unique() == 1
        rows = found.lines.filter(pl.col("percent").eq_missing(percent))
        return dict(rows.select("line", "value").iter_rows())

    both = bp.sky.budget("Lagos", **PIPE, down=DOWN)
    lines = values(both)
    up, down = lines["C/N0 up"], lines["C/N0 down"]
    together = -10 * math.log10(10 ** (-up / 10) + 10 ** (-down / 10))
    assert lines["C/N0, both ways"] == pytest.approx(together)
    assert lines["Es/N0"] == pytest.approx(together - 60)
    # Each half is the budget of its way alone.
    assert up == pytest.approx(values(bp.sky.budget("Lagos", **PIPE))["C/N0"])
    assert down == pytest.approx(values(bp.sky.budget("Lagos", **PIPE | DOWN))["C/N0"])
    # Rain is over both ends where they are one, and over the first where they are two.
    far = bp.sky.budget("Lagos", **PIPE, down=DOWN, to="Madrid")
    assert values(both, 0.1)["rain down"] < -1
    assert values(far, 0.1)["rain down"] == 0
    assert values(far, 0.1)["rain up"] == values(both, 0.1)["rain up"]
    jammed = values(bp.sky.budget("Lagos", **PIPE, down=DOWN | {"interference": 10}, interference=20))
    noises = [lines["Es/N0"], 20, 10]
    assert jammed["Es/N0"] == pytest.approx(-10 * math.log10(sum(10 ** (-each / 10) for each in noises)))
    assert jammed["C/I up"] == 20


def test_a_way_down_that_cannot_be_is_refused():
    for given, said in [
        ({"down": {"frequency": 12}}, "down: eirp, g_over_t is missing"),
        ({"down": DOWN | {"power": 3}}, "power is not a value of the downlink"),
        ({"to": "Madrid"}, "to is the end of the downlink"),
    ]:
        with pytest.raises(SkyError, match=said):
            bp.sky.budget("Lagos", **PIPE, **given)
    words = ["budget", "Lagos", "--over", "geo:9E", "--frequency", "14", "--eirp", "44", "--gt", "3"]
    said = ran(*words, "--down-eirp", "25")
    assert said.exit_code == 2
    assert "--down-frequency, --down-eirp and --down-gt" in said.stderr
    said = ran(*words, "--down-eirp", "25", "--down-frequency", "12", "--down-gt", "9", "--to", "Madrid")
    assert said.exit_code == 0
    assert "C/N0, both ways (dBHz)" in said.stdout


def test_fades_are_counted_where_the_method_holds():
    found = bp.sky.budget("Singapore", over="o3b", frequency=20, eirp=55, g_over_t=15, percent=[0.01, 0.1])
    assert set(found.fades["elevation_deg"]) == {each for each in found.bears["elevation_deg"] if each <= 60}
    assert found.bears["elevation_deg"].max() > 60
    for (_, percent), rows in found.fades.group_by("elevation_deg", "percent"):
        assert rows["duration_s"].to_list() == [1, 10, 60, 600, 3600]
        for column in ("fades_per_year", "time_share"):
            assert rows[column].is_sorted(descending=True)
        # No fade longer than a minute lasts less, all together.
        time = percent / 100 * 365.25 * 86400 * rows["time_share"][2]
        assert rows["fades_per_year"][2] * 60 < time
    low = bp.sky.budget("Singapore", over="geo:108.3E", frequency=8, eirp=55, g_over_t=15)
    assert len(low.fades) == 0
    assert len(low.to_dict()["fades"]) == 0


def test_elevations_of_a_budget_are_those_that_occur():
    def angles(place, over, **more):
        return (
            bp.sky.budget(place, over=over, **RADIO, **more)
            .bears["elevation_deg"]
            .unique(maintain_order=True)
            .to_list()
        )

    # A geostationary satellite, at the elevation of the closed form for a sphere: cos c = cos 8.05 cos 54.08.
    (only,) = angles("Recife", "geo:19.2E")
    c = math.acos(math.cos(math.radians(8.05)) * math.cos(math.radians(34.88 + 19.2)))
    assert only == pytest.approx(math.degrees(math.atan2(math.cos(c) - 6378.137 / 42164.2, math.sin(c))), abs=0.2)
    # Orbits of 53 degrees never come high over 60 degrees north: 30.5 degrees, 7 degrees of arc away.
    far = angles("60N 15E", "starlink-shell-1", climate="Oslo")
    assert far[0] == 25
    assert 30 <= far[-1] <= 32
    assert angles("Singapore", "starlink-shell-1") == [25, 40, 60, 90]
    with pytest.raises(SkyError, match=r"sees no satellite of geo:19\.2E above"):
        angles("Honolulu", "geo:19.2E")


def test_availability_is_the_curve_of_the_budget():
    given = {"over": "geo:19.2E", "frequency": 20, "eirp": 58, "g_over_t": 15, "clouds": True}
    found = bp.sky.budget("Recife", **given, percent=[0.01, 1])
    curve = found.availability
    assert (curve["percent"].min(), curve["percent"].max()) == (0.001, 5)
    assert curve["fade_db"].is_sorted(descending=True)
    assert curve["es_n0_db"].is_sorted()
    for percent, es_n0 in found.bears.drop_nulls("percent").select("percent", "es_n0_db").iter_rows():
        near = np.interp(math.log(percent), np.log(curve["percent"].to_numpy()), curve["es_n0_db"].to_numpy())
        assert near == pytest.approx(es_n0, abs=0.25)
    held = found.modcods
    assert held["es_n0_db"].is_sorted()
    shares = held["holds_percent"].to_list()
    known = [each for each in shares if each is not None]
    assert known == sorted(known, reverse=True)
    assert 95 <= known[0] <= 99.999
    # At its percentage a modulation and code has just the Es/N0 that it needs.
    row = next(row for row in held.iter_rows(named=True) if row["holds_percent"] and row["holds_percent"] < 99.9)
    at = bp.sky.budget("Recife", **given, percent=100 - row["holds_percent"]).bears.drop_nulls("percent")
    assert at["es_n0_db"][0] == pytest.approx(row["es_n0_db"], abs=0.25)
    weak = bp.sky.budget("Recife", **given | {"eirp": 20}).modcods
    assert set(weak["holds_percent"]) == {0.0}


def test_polarisation_and_the_receiver_count_in_rain():
    given = {"over": "geo:19.2E", "frequency": 20, "eirp": 55, "g_over_t": 15}

    def es_n0(**more):
        found = bp.sky.budget("Recife", **given, **more).bears
        return found.drop_nulls("percent")["es_n0_db"][0]

    horizontal, circular, vertical = (es_n0(polarisation=each) for each in ("horizontal", "circular", "vertical"))
    assert horizontal < circular < vertical
    assert es_n0(polarisation=45) == es_n0(polarisation="45") == circular == es_n0()
    # At most 275 K more than 100 K, and a satellite's receiver does not see the sky.
    assert 3 < es_n0(up=True) - es_n0(noise=100) < 5.75
    assert es_n0(up=True) - es_n0(noise=1e6) == pytest.approx(0, abs=0.01)
    for wrong, said in [
        ({"polarisation": "slanted"}, "'slanted' is not known"),
        ({"polarisation": 120}, "120 is out of range"),
        ({"recommendation": "P.618-12"}, "expected P.618-14 or P.618-13"),
        ({"noise": 0}, "noise_k"),
    ]:
        with pytest.raises(SkyError, match=said):
            bp.sky.budget("Recife", **given, **wrong)


def test_what_dvb_s2_bears_has_a_margin_and_losses():
    found = bp.sky.budget("Singapore", over="iridium", **RADIO).bears
    weak = bp.sky.budget("Singapore", over="iridium", **RADIO | {"eirp": -40.0}).bears
    assert weak["modcod"].is_null().all()
    assert weak["margin_db"].is_null().all()
    assert (found["margin_db"] >= 0).all()
    assert (found["packet_loss"] <= 1.0001e-7).all()


def test_walkers_numbers_are_a_constellation():
    name, own = (bp.sky.path("London", "Tokyo", over=over) for over in (SHELL, "delta:53:1584/72/39:550"))
    assert own.instants["delay_s"].to_list() == name.instants["delay_s"].to_list()
    star = bp.sky.passes("London", over="Star:86.4:66/6/0:780", elevation_min=8.2)
    assert len(star.scene.satellites) == 66
    assert star.scene.is_linked


def test_a_ship_goes_over_to_its_backup_and_back():
    said = "sky: Madrid to ship: over starlink 71.1 % of the time, over geo 28.9 % of the time."
    done = CliRunner().invoke(app, ["check", "ship"])
    assert said in done.stdout
    found = bp.run("ship", series=["srtt_s"])
    assert any(note.startswith(said) for note in found.notes)
    # The round trip is that of the satellite in use: about 240 ms up and down to the one above the equator, each way.
    trips = found.series("srtt_s", flow="download")
    time, srtt = (trips[name].to_numpy() for name in ("time_s", "srtt_s"))
    assert srtt[(time > 20) & (time < 59)].max() < 0.45
    assert srtt[(time > 75) & (time < 100)].min() > 0.48
    assert srtt[time > 140].max() < 0.45


def test_a_place_keeps_to_its_constellation():
    only = bp.run(bp.load("ship", {"duration": "30 s", "sky.place.ship.over": ["geo"]}))
    assert only.flows["rtt_min_s"][0] > 0.48
    with pytest.raises(ScenarioError, match=r"sky\.place\.ship\.over"):
        bp.load("ship", {"sky.place.ship.over": ["oneweb"]})

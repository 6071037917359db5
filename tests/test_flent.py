"""Tests by the names of Flent, and results as its data files."""

import gzip
import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError, ScenarioError
from bentpipe.experiment.single.flent import make_flent, write_flent
from bentpipe.scenario.named_tests import FAR_MS, with_test


@pytest.fixture(scope="module")
def rrul():
    scenario = with_test(bp.load("geo", {"duration": "35 s"}), "rrul")
    return bp.run(scenario, series="goodput_bps")


def test_rrul_has_four_flows_in_each_direction_and_pings(rrul):
    flows = rrul.scenario.to_dict()["flow"]
    assert [name for name in flows if "download" in name] == [
        f"TCP download {each}" for each in ("BE", "BK", "CS5", "EF")
    ]
    for name, flow in flows.items():
        # The terminal is the client.
        assert (flow["from"], flow["to"]) == (("server", "terminal") if "download" in name else ("terminal", "server"))
        assert flow["start"] == ("0 s" if name.startswith("Ping") else "5 s")
    assert rrul.flows.filter(rrul.flows["flow"].str.starts_with("TCP"))["goodput_bps"].min() > 0


@pytest.mark.parametrize(
    ("test", "names"),
    [
        ("tcp_1up", ["Ping (ms) ICMP", "TCP upload"]),
        ("tcp_2down", ["Ping (ms) ICMP", "TCP download::1", "TCP download::2"]),
        (
            "rtt_fair",
            [f"{word} server-{number}" for number in (1, 2, 3, 4) for word in ("Ping (ms) ICMP", "TCP download")],
        ),
    ],
)
def test_other_tests_have_their_flows(test, names):
    assert sorted(with_test(bp.load("geo"), test).flow_names) == sorted(names)


def test_the_servers_of_rtt_fair_are_apart():
    content = with_test(bp.load("geo", {"duration": "4 s"}), "rtt_fair")
    least = bp.run(content).probes.group_by("flow").min().sort("flow")["rtt_s"].to_list()
    assert [round(1e3 * (each - least[0])) for each in least] == [2 * each for each in FAR_MS]


def test_a_test_runs_over_a_sky_and_behind_pages():
    over_sky = with_test(bp.load("starlink-isl", {"duration": "7 s"}), "tcp_1down")
    assert bp.run(over_sky).flows["goodput_bps"].max() > 0
    # Pages begin at their client.
    flows = with_test(bp.load("web-on-geo"), "tcp_1down").to_dict()["flow"]
    (pages,) = [flow for flow in bp.load("web-on-geo").to_dict()["flow"].values() if flow["app"]["kind"] == "page"]
    assert flows["TCP download"]["to"] == pages["from"]


def test_settings_of_the_command_stay():
    sets = {"duration": "9 s", "tcp.cc": "reno", "link.sat.forward.rate": "7 Mbit/s"}
    found = with_test(bp.load("geo", sets), "rrul")
    assert found.duration_s == 9
    assert found.to_dict()["link"]["sat"]["forward"]["rate"] == "7 Mbit/s"


def test_a_data_file_has_the_goodputs_and_round_trips_of_the_run(rrul):
    data = make_flent(rrul, "rrul")
    assert data["version"] == 4
    assert all(len(values) == len(data["x_values"]) for values in data["results"].values())
    goodputs = dict(zip(rrul.flows["flow"], rrul.flows["goodput_bps"], strict=True))
    for name in ("TCP download BE", "TCP upload EF"):
        values = [value for value in data["results"][name] if value is not None]
        # Without values before the start, as in Flent. The sum is that of thirty seconds.
        assert data["results"][name][:25] == [None] * 25
        assert np.sum(values) * 0.2e6 == pytest.approx(goodputs[name] * 35, rel=0.05)
        assert data["metadata"]["SERIES_META"][name] == {"UNITS": "Mbits/s"}
    trips = rrul.probes["rtt_s"].drop_nulls()
    assert np.nanmean(np.array(data["results"]["Ping (ms) ICMP"], dtype=float)) == pytest.approx(
        1e3 * trips.mean(), rel=0.01
    )
    downloads = [np.array(data["results"][f"TCP download {each}"], dtype=float) for each in ("BE", "BK", "CS5", "EF")]
    total = np.array(data["results"]["TCP download sum"], dtype=float)
    assert np.nansum(np.nansum(downloads, axis=0)) == pytest.approx(np.nansum(total), abs=1e-3)


def test_our_reader_of_flent_reads_the_file(rrul, tmp_path):
    write_flent(rrul, tmp_path / "run.flent.gz")
    found = bp.fit([tmp_path / "run.flent.gz"], check=False)
    # The path has 270 ms there and back as long: 540 ms.
    (base,) = [each for each in found.numbers if "base" in each.name]
    assert base.value is not None


def test_equal_runs_have_equal_files(rrul, tmp_path):
    for name in ("a.flent.gz", "b.flent.gz"):
        write_flent(rrul, tmp_path / name)
    assert (tmp_path / "a.flent.gz").read_bytes() == (tmp_path / "b.flent.gz").read_bytes()
    assert json.loads(gzip.decompress((tmp_path / "a.flent.gz").read_bytes()))["metadata"]["NAME"] == "rrul"


def test_flent_reads_the_file(rrul, tmp_path):
    flent = os.environ.get("BENTPIPE_FLENT") or shutil.which("flent")
    if flent is None:
        pytest.skip("flent is not installed; BENTPIPE_FLENT names its command")
    write_flent(rrul, tmp_path / "run.flent.gz")
    done = subprocess.run([flent, "-i", "run.flent.gz", "-f", "summary"], capture_output=True, text=True, cwd=tmp_path)
    assert "Summary of rrul test run" in done.stdout
    assert "Ping (ms) ICMP" in done.stdout
    assert "Traceback" not in done.stderr


def test_names_and_places_are_checked(rrul, tmp_path):
    for name in ("rul", "tcp_0up", "tcp_999down"):
        with pytest.raises(ScenarioError, match="is not a test"):
            with_test(bp.load("geo"), name)
    with pytest.raises(
        BentpipeError, match=r"does not end in .flent or .flent.gz\n  expected a name such as run.flent.gz"
    ):
        write_flent(rrul, tmp_path / "run.txt")
    said = CliRunner().invoke(app, ["run", "geo", "--flent", "run.flent.gz"]).stderr
    assert "--flent needs a test\n  expected --test rrul" in said


def test_the_command_writes_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["run", "geo", "--test", "tcp_1down", "--set", "duration=8 s", "--flent", "run.flent.gz"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "run.flent.gz").exists()
    # No other command has the flows of the test.
    assert "Next:" not in done.stdout

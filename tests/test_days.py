"""Days of the sky: replications of an experiment, and their runs in a store."""

import json
import shlex

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError, ScenarioError
from bentpipe.experiment.store.store import Store

SKY = """
title = "Over a shell"
duration = "3 s"
[tcp]
like = "rfc"
[sky]
over = "starlink-shell-1"
selection = "starlink"
[flow.f]
from = "London"
to = "New York"
app = { kind = "file", size = "20 kB" }
"""
CC = ["reno", "cubic"]


def scenario(**sets):
    return bp.loads(SKY, sets)


@pytest.fixture(scope="module")
def compared():
    return bp.compare(scenario(), CC, replications=3, metric="completion")


def test_replications_have_days_and_runs_of_one_have_the_same(compared):
    assert compared.has_days
    times = [compared.values(name, "completion") for name in CC]
    assert len({round(float(value), 5) for value in times[0]}) == 3
    # Both cases meet the same day: the paths are equally long.
    assert times[0] == pytest.approx(times[1], rel=0.02)


def test_a_single_run_is_that_of_the_start_and_the_seed(compared):
    alone = bp.run(scenario(), cc="reno")
    assert compared.values("reno", "completion")[0] == alone.estimate("completion").value
    again = bp.run(scenario(**{"sky.day": 2}), cc="reno", seed=scenario().seed + 2)
    assert compared.values("reno", "completion")[2] == again.estimate("completion").value


def test_a_day_that_is_written_is_that_of_all_replications_and_the_notes_say_so(compared):
    shared = bp.compare(scenario(**{"sky.day": 0}), CC, replications=3, metric="completion")
    assert not shared.has_days
    assert shared.values("reno", "completion")[0] == compared.values("reno", "completion")[0]
    assert shared.values("reno", "completion")[1] != compared.values("reno", "completion")[1]
    assert any("share one day of the sky" in note for note in shared.notes)
    assert not any("share one day" in note for note in compared.notes)


def test_stores_name_runs_by_their_day(tmp_path):
    folder = tmp_path / "store"
    asked = {"replications": 3, "metric": "completion", "store": folder}
    first = bp.compare(scenario(), CC, **asked)
    told = []
    again = bp.compare(scenario(), CC, **asked, progress=lambda state: told.append(state.reused))
    assert told[-1] == 6
    assert again.runs.equals(first.runs)
    with Store(folder, is_read_only=True) as store:
        (*_, digests), *_ = store.find_experiment()["points"]
    assert digests == [scenario(**{"tcp.cc": "reno", "record.series": [], "sky.day": day}).digest for day in range(3)]
    assert len(set(digests)) == 3
    read = bp.Comparison.load(folder)
    assert read.runs.equals(first.runs)
    assert read.has_days
    assert read.notes == first.notes
    # Other runs: all have the same day.
    shared = bp.compare(scenario(**{"sky.day": 0}), CC, **asked)
    assert shared.runs["completion_s"][0] == first.runs["completion_s"][0]
    assert bp.Sweep.load(folder, verb="compare").runs.height == 6


def test_sweeps_and_mixes_have_days_too(tmp_path):
    swept = bp.sweep(scenario(), {"tcp.cc": CC}, replications=2, metric=["completion"])
    times = swept.values("completion")
    assert swept.has_days
    assert times[0][0] != times[0][1]
    assert times[0] == pytest.approx(times[1], rel=0.02)
    axis = bp.sweep(scenario(), {"sky.day": [0, 1]}, replications=2, metric=["completion"])
    assert not axis.has_days
    assert axis.values("completion")[1][0] != times[0][0]
    mixed = bp.mix(scenario(), CC, replications=2)
    digests = [mixed.make_scenario(k).digest for k in range(2)]
    assert mixed.has_days
    assert digests[0] != digests[1]
    mixed.save(tmp_path / "mix")
    read = bp.Mix.load(tmp_path / "mix")
    assert read.make_scenario(0).digest == digests[0]
    with pytest.raises(BentpipeError, match="another day of the sky"):
        read.make_scenario(1)


def test_a_day_without_a_path_is_refused_with_the_remedy(tmp_path):
    # One satellite is over London for minutes, but not at the same time on other days.
    def over(node):
        shell = f"planes = 1, per_plane = 1, altitude_km = 1200, inclination = 60, anomaly = 64.6, node = {node}"
        found = SKY.replace('"starlink-shell-1"', f"{{ shells = [{{ {shell} }}] }}").replace('"New York"', '"Paris"')
        return found.replace('selection = "starlink"\n', "elevation_min = '5 deg'\nbetween_satellites = 'none'\n")

    alone = bp.loads(next(text for text in map(over, range(0, 360, 10)) if is_valid(text)))
    store = tmp_path / "store"
    with pytest.raises(ScenarioError) as error:
        bp.compare(alone, CC, replications=20, store=store)
    assert "of the sky, which replication" in str(error.value)
    assert "sky.day = 0" in str(error.value)
    assert not store.exists()
    assert bp.compare(alone.replace("sky.day", 0), CC, replications=2).runs.height == 4


def is_valid(text):
    try:
        bp.loads(text)
    except ScenarioError:
        return False
    return True


def test_the_command_line_says_what_replications_cover(tmp_path):
    (tmp_path / "sky.toml").write_text(SKY, encoding="utf-8")

    def said(*more):
        done = CliRunner().invoke(app, ["compare", str(tmp_path / "sky.toml"), "--cc", "reno,cubic", "-n", "2", *more])
        assert done.exit_code == 0, done.stderr
        return " ".join(done.stdout.split())

    assert "2 replications, each on another day of the sky" in said()
    assert "note: all replications share one day of the sky" in said("--set", "sky.day=0")
    assert any("share one day" in note for note in json.loads(said("--set", "sky.day=0", "--json"))["notes"])
    assert said("--set", "sky.day=0", "--quiet") == ""


def test_commands_repeat_the_day():
    from bentpipe.experiment.common.commands import run_command

    facts = {"source": "sky.toml", "sets": [], "senders": {}}
    command = run_command(facts, {"tcp.cc": "reno", "sky.day": 2}, 7)
    assert shlex.split(command) == shlex.split("bentpipe run sky.toml --set tcp.cc=reno --set sky.day=2 --seed 7")

"""Searches over simulated runs: the same result for any number of jobs, after kill -9, and after a sweep."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.experiment.execution.workers import workers
from bentpipe.experiment.store.memory import Memory
from bentpipe.experiment.sweep import sweep
from bentpipe.tuning.blocks import Executed
from bentpipe.tuning.goal import goal
from bentpipe.tuning.planning import make_plan
from bentpipe.tuning.work import Work

SCENARIO = """
# A short path.
title = "short"
duration = "3 s"
seed = 5

[tcp]
like = "linux-6"  # the hosts

[link.l]
from = "a"
to = "b"
delay = "40 ms"
[link.l.forward]
rate = "2 Mbit/s"
queue = "1 bdp"  # the modem's
error = { kind = "packet", rate = 1e-2 }
[link.l.reverse]
rate = "1 Mbit/s"

[flow.pages]
from = "b"
to = "a"
app = { kind = "request-response", response = "20 kB", think = { kind = "exponential", mean = "50 ms" } }

[flow.film]
from = "a"
to = "b"
app = "greedy"

[tune]
objective = { "fct:pages" = 1 }
guard = { "goodput:film" = "-60 %" }
[tune.vary]
tcp.initial_window = ["10 segments", "20 segments"]
link.l.forward.queue = ["1 bdp", "4 bdp", { kind = "fq-codel", target = "10 ms", interval = "100 ms" }]
[tune.condition.slow]
link.l.forward.rate = "1 Mbit/s"
weight = 0.25
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.toml").write_text(SCENARIO)
    return tmp_path


@pytest.fixture(scope="module")
def whole():
    return bp.tune(bp.loads(SCENARIO), jobs=1)


def plain(tuning, *names):
    """The content without the names that depend on the place of the file."""
    content = {**tuning, "source": "", "folder": ""}
    return json.dumps({name: value for name, value in content.items() if name not in names})


def test_any_number_of_jobs_has_the_same_result(whole):
    assert whole.verdict == "better"
    assert "link.l.forward.queue" in whole.recommended
    assert plain(bp.tune(bp.loads(SCENARIO), jobs=4).to_dict()) == plain(whole.to_dict())


def count(store):
    try:
        with sqlite3.connect(f"file:{store}/index.sqlite?mode=ro", uri=True) as index:
            return index.execute("select count(*) from runs").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


KILLED_AFTER = (1, 6, 12, 20, 30, 45, 60, 90, 130, 180) if os.environ.get("BENTPIPE_ALL") else (1, 12, 45, 130)
"""Runs in the store when the search is killed."""


@pytest.mark.parametrize("runs", KILLED_AFTER)
def test_a_killed_search_goes_on_with_the_same_result(written, whole, runs):
    command = [sys.executable, "-m", "bentpipe", "tune", "short.toml", "--json", "--jobs", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while process.poll() is None and count("short.tune") < runs:
            time.sleep(0.002)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    before = count("short.tune")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert plain(json.loads(done.stdout)) == plain(whole.to_dict())
    assert count("short.tune") >= before


def test_runs_of_a_sweep_are_not_repeated(tmp_path, whole):
    scenario = bp.loads(SCENARIO)
    values = Work(scenario).written["axes"]
    vary = {axis["keys"][0]: [row[0] for row in axis["values"]] for axis in values}
    sweep(
        scenario,
        vary,
        replications=18,
        metric=["fct:pages", "goodput:film"],
        tables=["transfers", "completions", "flows"],
        store=tmp_path / "s",
    )
    done = count(tmp_path / "s")
    found = bp.tune(scenario, store=tmp_path / "s")
    # Every run under the condition `as written` of the search is one of the sweep's.
    searched = found.content["runs"]["search"] // 2
    assert count(tmp_path / "s") == done + searched + found.content["runs"]["confirm"]
    assert found.verdict == whole.verdict


def test_an_unfinished_transfer_lasts_until_the_end_of_the_run():
    # A response of 20 kB takes 8 s.
    found = values_of(Work(bp.loads(SCENARIO.replace('rate = "2 Mbit/s"', 'rate = "20 kbit/s"'))))
    assert 2.5 < found[0, 0, 0] <= 3


def values_of(work):
    """The metrics of the default in the first block."""
    with closing(workers(None, 1)) as place, Memory() as store:
        runner = Executed(work.scenario, work.conditions, work.goal, store, place)
        return runner("search", [(work.space.default, range(1))])[0]


def test_the_mean_of_finished_transfers_is_that_of_the_table_of_the_run():
    work = Work(bp.loads(SCENARIO))
    run = bp.run(bp.loads(SCENARIO))
    times = run.transfers.filter(run.transfers["flow"] == "pages")["duration_s"].to_numpy()
    (row,) = run.completions.filter(run.completions["flow"] == "pages").head(1).to_dicts()
    found = float(values_of(work)[0, 0, 0])
    assert row["unfinished"] == 1
    # The unfinished one counts at least as the mean.
    assert times.mean() <= found <= (times.sum() + 3) / (len(times) + 1)


def test_bytes_of_a_link_count_retransmissions():
    aim = goal("bytes:l.forward", None, "mean", 0.02)
    work = Work(bp.loads(SCENARIO, {"tune.objective": {"bytes:l.forward": 1}}))
    assert aim.measures == work.goal.measures[:1]
    assert 1.0 < values_of(work)[0, 0, 0] < 1.5


def test_a_plan_runs_no_search(written):
    plan = make_plan(bp.load("short.toml"), budget="1 min")
    assert plan.points == 6
    assert [(name, points) for name, points, _ in plan.rungs] == [("search", each) for each in (6, 4, 4, 4)]
    # Two settings on 20 seeds under two conditions; at most two keys alone and taken back, too, and 60 seeds.
    assert plan.confirming == (80, 240 + 160)
    rungs = sum(runs for _, _, runs in plan.rungs)
    assert plan.runs == (rungs + 80, rungs + 400)
    mean, slowest = plan.run_s
    assert 0 < mean <= slowest
    least, most = plan.minutes
    assert 0 < least < most
    assert not (written / "short.tune").exists()


def test_a_plan_times_the_slow_settings_too_not_only_the_default(monkeypatch):
    """Over a path with losses, the default sends little and is fast to simulate. BBR sends ten times as much."""
    clock = [0.0]

    def execute(core, *_):
        clock[0] += 10.0 if '"bbr1"' in core.to_json() else 1.0

    monkeypatch.setattr("bentpipe.tuning.work.task.execute", execute)
    monkeypatch.setattr("bentpipe.tuning.work.time.process_time", lambda: clock[0])
    monkeypatch.setattr("bentpipe.tuning.work.TIMED_S", 1e3)
    text = SCENARIO.partition("tcp.initial_window =")[0]
    scenario = bp.loads(text + 'tcp.cc = ["cubic", "bbr1", "hybla"]\ntcp.pacing = ["off", "window"]\n')
    plan = make_plan(scenario, jobs=1)
    # A third of the settings have BBR.
    assert plan.run_s == pytest.approx((4.0, 10.0), rel=0.3)
    first = plan.rungs[0][2]
    assert plan.minutes[0] == pytest.approx(plan.runs[0] * plan.run_s[0] / 60)
    rest = plan.runs[1] - first
    assert plan.minutes[1] == pytest.approx((first * plan.run_s[0] + rest * plan.run_s[1]) / 60)


def test_a_long_run_is_timed_in_part(monkeypatch):
    """A run of 300 s is stopped early, and its time follows from its share; a short one runs to its end."""
    clock, steps = [0.0], []

    def execute(core, seed, tables, is_stopped, note):
        step_s = 3.0 if '"bbr1"' in core.to_json() else 1e-4
        for done in range(1, 101):
            if is_stopped():
                return
            clock[0] += step_s
            note(done / 100)
            steps.append(step_s)

    monkeypatch.setattr("bentpipe.tuning.work.task.execute", execute)
    monkeypatch.setattr("bentpipe.tuning.work.time.process_time", lambda: clock[0])
    monkeypatch.setattr("bentpipe.tuning.work.TIMED_S", 1e3)
    text = SCENARIO.partition("tcp.initial_window =")[0]
    timed = Work(bp.loads(text + 'tcp.cc = ["cubic", "bbr1", "hybla"]\n')).timed
    assert sorted(timed) == pytest.approx([0.012, 0.012, 300.0], rel=0.01)
    assert (steps.count(1e-4), steps.count(3.0)) == (200, 2)


def test_a_plan_of_a_large_space_has_its_neighbours_and_its_budget():
    vary = {
        "tcp.cc": ["cubic", "reno", "hybla", "vegas"],
        "tcp.initial_window": ["10 segments", "20 segments", "40 segments", "80 segments"],
        "link.l.forward.queue": ["1 bdp", "2 bdp", "4 bdp", "8 bdp"],
        "link.l.reverse.queue": ["1 bdp", "2 bdp", "4 bdp", "8 bdp"],
        "tcp.pacing": ["off", "window"],
        "tcp.timestamps": [True, False],
    }
    scenario = bp.loads(SCENARIO, {f"tune.vary.{key}": values for key, values in vary.items()})
    whole, some = make_plan(scenario), make_plan(scenario, budget=1000)
    assert whole.is_sampled
    assert list(dict.fromkeys(name for name, _, _ in whole.rungs)) == ["search", "neighbours 1", "neighbours 2"]
    assert some.runs < whole.runs
    assert len(some.rungs) < len(whole.rungs)


def test_each_block_takes_the_next_draw(tmp_path):
    folder = tmp_path / "draws"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.csv").write_text(f"t_s,fwd_ms\n0,{40 + number}\n9,{40 + number}\n")
    (tmp_path / "trace.csv").write_text("t_s,fwd_ms\n0,40\n9,40\n")
    text = SCENARIO.replace('delay = "40 ms"', 'delay = { file = "trace.csv", column = "fwd_ms" }')
    text += '[tune.condition.drawn]\ndraws = "draws/*.csv"\n'
    (tmp_path / "drawn.toml").write_text(text)
    work = Work(bp.load(tmp_path / "drawn.toml"))
    drawn = work.conditions[-1]
    digests = [drawn.scenario(work.scenario._core, [], block).digest for block in range(6)]
    assert len(set(digests[:3])) == 3
    assert digests[:3] == digests[3:]
    (folder / "3.csv").write_text("t_s,other_ms\n0,1\n")
    with pytest.raises(bp.errors.BentpipeError, match="no column of a trace"):
        Work(bp.load(tmp_path / "drawn.toml"))


def test_seeds_that_confirm_are_never_those_of_the_search(tmp_path):
    bp.tune(bp.loads(SCENARIO), store=tmp_path / "s")
    with sqlite3.connect(tmp_path / "s" / "index.sqlite") as index:
        names = [name for (name,) in index.execute("select id from runs")]
    seeds = {int(name.rpartition("-")[2]) for name in names}
    assert {seed for seed in seeds if seed < 2**32} <= set(range(5, 5 + 18))
    assert min(seed for seed in seeds if seed >= 2**32) == 5 + 2**32


def test_the_page_and_the_figures_have_the_verdict(tmp_path, whole):
    pytest.importorskip("matplotlib")
    written = whole.report(tmp_path / "page")
    page = written.page.read_text()
    assert "://" not in page.replace("http://www.w3.org", "")
    assert len(page) < 2_000_000
    assert whole.statements[0].split(" in ")[0].removeprefix("Better: ") in page
    assert whole.plot("worth").axes
    with pytest.raises(bp.errors.BentpipeError, match="no front"):
        whole.plot("front")


def test_a_result_is_read_again_from_its_store(tmp_path):
    found = bp.tune(bp.loads(SCENARIO), store=tmp_path / "s")
    again = bp.Tuning.load(tmp_path / "s")
    assert again.to_dict() == found.to_dict()
    assert again.scenario.digest == found.content["recommended"]["digest"]
    # Less time is better.
    assert again.settings["change"].is_sorted()
    assert {"key", "how", "value"} <= set(again.effects.columns)


def test_changes_have_the_sign_of_the_metric_in_each_table_and_sentence():
    """More goodput is better, so the best change is above zero everywhere."""
    vary = {"link.l.forward.queue": ["4 packets", "4 bdp"]}
    text = SCENARIO.split("[tune]")[0]
    found = bp.tune(bp.loads(text.replace('queue = "1 bdp"', 'queue = "2 packets"')), vary, objective="goodput:film")
    assert found.verdict == "better"
    (row,) = found.differences.filter(pl.col("metric") == "goodput:film").iter_rows(named=True)
    change = found.content["effect"]["goodput:film"]["value"]
    assert (row["of"], row["other"], row["is_shown"]) == ("best", "default", True)
    assert 0 < row["mean_pct"] == pytest.approx(100 * change, rel=0.1)
    assert found.settings["change"].is_sorted(descending=True)
    assert found.settings["change"][0] == pytest.approx(change, rel=0.3)
    assert re.match(r"Better: \+\d", found.statements[0])
    means = {name: found.estimate(name, "goodput:film").value for name in found.names}
    assert means["best"] - means["default"] == pytest.approx(row["mean"])
    assert found.runs.height == 2 * found.content["blocks"]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("/etc/*", "leaves the folder of the scenario"),
        ("../*.csv", "leaves the folder of the scenario"),
        ("", "leaves the folder of the scenario"),
        ("none/*.csv", "has no such file"),
        ("bytes.csv", "bytes.csv cannot be read: it is not CSV in UTF-8"),
        ("long.csv", "long.csv cannot be read: it is not CSV in UTF-8"),
        ("other.csv", "other.csv has no column of a trace"),
    ],
)
def test_draws_are_files_of_the_scenario_with_its_columns(tmp_path, pattern, message):
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe,a\n")
    (tmp_path / "long.csv").write_text("x" * 200_000)
    (tmp_path / "other.csv").write_text("time_s,rtt_ms\n0,1\n")
    text = f"{SCENARIO}[tune.condition.drawn]\ndraws = {json.dumps(pattern)}\n"
    with pytest.raises(bp.errors.BentpipeError, match=message):
        Work(bp.loads(text, folder=tmp_path))

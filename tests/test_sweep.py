"""Sweeps: the same results as single runs, each run once, on any number of workers, with the requested replications."""

import json
import time

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe import _core
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError, Interrupted, RunError, ScenarioError
from bentpipe.experiment.design.design import Until, enough
from bentpipe.experiment.execution import workers
from bentpipe.experiment.single import task
from bentpipe.progress import Progress
from bentpipe.scenario import overrides
from bentpipe.statistics.estimates import estimate

PATIENCE_S = 120
"""Longest wait for an event, in seconds. No test depends on its duration."""
RATES = {"link.down.error.rate": [0.002, 0.01]}


def files(store):
    return {path.name: path.read_bytes() for path in sorted(store.glob("*.parquet"))}


@pytest.fixture
def unlucky(monkeypatch):
    """Seeds whose runs fail."""
    seeds = {4}
    run = _core.Run

    def fail(scenario, seed=None, **asked):
        if seed in seeds:
            raise RunError(f"a bug at 3.2 s with seed {seed}")
        return run(scenario, seed, **asked)

    monkeypatch.setattr(_core, "Run", fail)
    return seeds


def test_a_run_of_a_sweep_is_the_run_alone(small):
    swept = bp.sweep(small, RATES, replications=2, tables=["flows", "drops"])
    assert swept.runs["seed"].to_list() == [3, 4, 3, 4]
    for row in swept.runs.iter_rows(named=True):
        alone = bp.run(bp.load(small, {"link.down.error.rate": row["link.down.error.rate"], "seed": row["seed"]}))
        assert row["goodput_bps"] == alone.summary["goodput_bps"][0]
        for name, table in (("flows", alone.flows), ("drops", alone.drops)):
            kept = swept.read_table(name).filter(run=row["run"])
            assert kept.select(table.columns).equals(table)


def test_the_store_does_not_depend_on_the_number_of_workers_or_the_order(small, tmp_path):
    for name, jobs, rates in (("one", 1, [0.002, 0.01]), ("four", 4, [0.01, 0.002])):
        vary = {"link.down.error.rate": rates}
        bp.sweep(small, vary, replications=6, tables=["flows", "drops"], store=tmp_path / name, jobs=jobs)
    assert files(tmp_path / "one") == files(tmp_path / "four")


def test_without_a_store_nothing_is_written(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stored = bp.sweep(small, RATES, replications=3, tables=["links"], store="store")
    kept = bp.sweep(small, RATES, replications=3, tables=["links"])
    assert kept.runs.equals(stored.runs)
    assert kept.read_table("links").equals(stored.read_table("links"))
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize(
    ("wider", "new"),
    [
        ({}, 0),
        ({"vary": {"link.down.error.rate": [0.002, 0.005, 0.01]}}, 4),
        ({"replications": 7}, 6),
        # One of the two congestion controls has run before.
        ({"vary": {**RATES, "tcp.cc": ["newreno", "sack"]}}, 8),
        ({"vary": {"link.down.error.rate": [0.01]}}, 0),
        ({"tables": ["links"]}, 8),
        ({"metric": ["jain", "rtt"]}, 0),
    ],
)
def test_a_wider_grid_reuses_what_is_there(small, tmp_path, begun, wider, new):
    asked = {"vary": RATES, "replications": 4}
    bp.sweep(small, **asked, store=tmp_path / "store")
    begun.clear()
    result = bp.sweep(small, **{**asked, **wider}, store=tmp_path / "store")
    assert len(begun) == new
    assert result.missing == 0
    if len(wider.get("vary", RATES)["link.down.error.rate"]) > 1:
        # Earlier runs leave no trace.
        bp.sweep(small, **{**asked, **wider}, store=tmp_path / "other")
        assert files(tmp_path / "store") == files(tmp_path / "other")


def test_a_title_or_a_metric_makes_no_other_run_but_a_setting_does(small, tmp_path, begun):
    for sets, new in (({}, 2), ({"title": "The same"}, 0), ({"tcp.smss": "1000 B"}, 2)):
        begun.clear()
        bp.sweep(bp.load(small, sets), RATES, replications=1, store=tmp_path / "store")
        assert len(begun) == new
    assert pl.read_parquet(tmp_path / "store" / "runs.parquet").height == 4


def test_each_of_two_sweeps_in_a_store_has_its_own_result(small, tmp_path):
    first = bp.sweep(small, RATES, replications=2, store=tmp_path / "store")
    second = bp.sweep(small, {"tcp.cc": ["reno", "sack"]}, replications=3, store=tmp_path / "store")
    assert (first.runs.height, second.runs.height) == (4, 6)
    assert second.keys == ["tcp.cc"]
    assert bp.Sweep.load(tmp_path / "store").runs.equals(second.runs)
    runs = pl.read_parquet(tmp_path / "store" / "runs.parquet")
    assert runs.height == 10
    assert runs["tcp.cc"].null_count() == 4


def test_a_seed_can_be_varied_and_no_two_points_share_runs(small, begun, tmp_path):
    result = bp.sweep(small, {"seed": [1, 3]}, replications=2)
    assert sorted(begun) == [1, 2, 3, 4]
    assert result.runs["seed"].to_list() == [1, 2, 3, 4]
    assert result.points["seed"].to_list() == [1, 3]
    assert result.missing == 0
    result.table  # noqa: B018
    result.to_dict()
    with pytest.raises(
        ScenarioError, match="the points of seed 1 and 2 share runs: 2 replications have the seeds 1 to 2"
    ):
        bp.sweep(small, {"seed": [1, 2]}, replications=2, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()
    # Other congestion controls have other runs.
    together = [{"seed": [1, 2], "tcp.cc": ["reno", "sack"]}]
    assert bp.sweep(small, together=together, replications=2).runs.height == 4
    assert bp.sweep(small, {"seed": [1, 2]}, replications=1).runs.height == 2


# Adaptive stopping


def test_until_goes_on_until_the_interval_is_narrow_enough(small, tmp_path):
    vary = {"link.down.error.rate": [0, 0.01]}
    asked = {"replications": 5, "replications_max": 200, "until": {"metric": "goodput", "half_width": "5 %"}}
    result = bp.sweep(small, vary, **asked, store=tmp_path / "one", jobs=1)
    bp.sweep(small, vary, **asked, store=tmp_path / "four", jobs=4)
    assert files(tmp_path / "one") == files(tmp_path / "four")
    counts = result.points["replications"].to_list()
    assert counts[0] < counts[1]
    for count, found in zip(counts, result.estimates("goodput"), strict=True):
        assert found.replications == count
        # 5, 8, 12, 18, 27 ...: only a few checks.
        assert count in (5, 8, 12, 18, 27, 41, 62, 93, 140)
        assert (found.high - found.low) / 2 <= 0.05 * found.value
    # A second sweep has nothing to do.
    told = []
    bp.sweep(small, vary, **asked, store=tmp_path / "one", progress=lambda progress: told.append(progress))
    assert (told[-1].done, told[-1].reused) == (0, sum(counts))


def test_until_does_not_go_beyond_its_cap_and_says_so(small, tmp_path):
    asked = {"replications": 2, "replications_max": 7, "until": {"metric": "goodput", "half_width": "0.01 %"}}
    result = bp.sweep(small, RATES, metric=["retransmitted", "goodput"], **asked)
    assert result.points["replications"].to_list() == [7, 7]
    said = "the interval of goodput is still wider than ± 0.01 % at 2 of 2 {}, after at most 7 runs of each"
    assert said.format("points") in result.notes
    compared, mixed = (verb(small, ["reno", "cubic"], **asked) for verb in (bp.compare, bp.mix))
    assert said.format("congestion controls") in compared.notes
    assert said.format("cases") in mixed.notes
    compared.save(tmp_path / "saved")
    assert bp.Comparison.load(tmp_path / "saved").notes == compared.notes
    assert not any("still wider" in note for note in bp.compare(small, ["reno", "cubic"], replications=2).notes)


def test_until_gives_up_on_what_has_no_value(small):
    # Without transfers, no mean can become more precise.
    asked = {"replications": 2, "replications_max": 50, "until": {"metric": "fct", "half_width": "1 %"}}
    assert bp.sweep(small, RATES, **asked).points["replications"].to_list() == [2, 2]


def test_nineteen_of_twenty_intervals_hold_the_mean_although_it_is_looked_at_many_times():
    random = np.random.default_rng(1)
    until = Until("goodput", 0.02)
    held = []
    for _ in range(1000):
        values = random.normal(1, 0.05, 10)
        while (count := enough(values, until, 1000)) > len(values):
            values = np.concatenate([values, random.normal(1, 0.05, count - len(values))])
        found = estimate(values, 0.95)
        assert found.half_width <= 0.02 * found.mean
        held.append(found.low <= 1 <= found.high)
    # In 1000 intervals, a coverage of 94.4 % may be observed as 93 %, and one of 95 % as up to 96.4 %.
    assert 0.93 <= np.mean(held) <= 0.964


# Failures


def test_a_run_that_fails_is_listed_and_the_rest_goes_on(small, tmp_path, unlucky, begun):
    result = bp.sweep(small, RATES, replications=3, store=tmp_path / "store")
    assert result.runs["seed"].to_list() == [3, 5, 3, 5]
    assert result.missing == 2
    assert [failure["message"] for failure in result.failures] == ["a bug at 3.2 s with seed 4"] * 2
    assert sorted(json.loads(failure["parameters"])["link.down.error.rate"] for failure in result.failures) == [
        0.002,
        0.01,
    ]
    assert [found.replications for found in result.estimates("goodput")] == [2, 2]
    assert bp.Sweep.load(tmp_path / "store").failures == result.failures
    # A sweep does not have the failures of another sweep.
    assert bp.sweep(small, {"tcp.cc": ["reno"]}, replications=1, store=tmp_path / "store").failures == []
    # Only the failed run is tried again.
    begun.clear()
    unlucky.clear()
    result = bp.sweep(small, RATES, replications=3, store=tmp_path / "store")
    assert begun == [4, 4]
    assert (result.missing, result.failures) == (0, [])


def test_a_run_that_failed_is_shown_again_by_its_file(small, tmp_path, unlucky):
    store = tmp_path / "store"
    options = ["--vary", "link.down.error.rate=0.01", "--replications", "3", "--store", str(store)]
    done = CliRunner().invoke(app, ["sweep", str(small), *options])
    assert done.exit_code == 0
    (replay,) = (store / "failures").iterdir()
    text = " ".join(done.stdout.split())
    assert 'failed at {"link.down.error.rate": 0.01}: a bug at 3.2 s with seed 4' in text
    assert f"bentpipe run {replay}" in done.stdout.replace("\n", "").replace("  ", " ")
    assert "1 run missing" in done.stdout
    unlucky.clear()
    alone = bp.run(bp.load(small, {"link.down.error.rate": 0.01}), seed=4)
    done = CliRunner().invoke(app, ["run", str(replay), "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["table"] == alone.to_dict()["table"]


def test_an_error_that_is_no_failure_of_a_run_ends_the_sweep_and_keeps_what_is_done(small, tmp_path, monkeypatch):
    def execute(scenario, seed, *rest):
        if seed == 8:
            raise BentpipeError("the worker is of another version")
        return task.execute(scenario, seed, *rest)

    monkeypatch.setattr(workers, "execute", execute)
    with pytest.raises(BentpipeError, match="of another version"):
        bp.sweep(small, RATES, replications=10, store=tmp_path / "store", jobs=1)
    monkeypatch.undo()
    told = []
    bp.sweep(small, RATES, replications=10, store=tmp_path / "store", progress=lambda progress: told.append(progress))
    # The first five seeds of both points came before.
    assert told[-1].reused >= 10


# Statements


def test_the_command_says_how_far_it_came_and_what_can_be_said(small, tmp_path):
    options = ["--vary", "link.down.error.rate=0.002,0.01", "--replications", "3", "--store", str(tmp_path / "store")]
    done = CliRunner().invoke(app, ["sweep", str(small), *options])
    assert done.exit_code == 0
    assert "6 of 6 runs" in done.stderr
    for text in (
        "Two senders",
        "rate",
        "runs",
        "goodput",
        "2e-3",
        "mean, ± 95 % interval",
        "best in goodput at rate 2e-3",
    ):
        assert text in done.stdout
    done = CliRunner().invoke(app, ["sweep", str(small), *options, "--json"])
    assert "6 of 6 runs, 6 reused" in done.stderr
    assert json.loads(done.stdout) == bp.Sweep.load(tmp_path / "store").to_dict()


def test_progress_says_what_is_left():
    progress = Progress(total=100, reused=20, done=10, failed=1, running=2)
    assert progress.left == 69
    assert str(progress).startswith("31 of 100 runs, 20 reused, 2 running, 1 failed, ")
    assert str(Progress(total=5, reused=5)) == "5 of 5 runs, 5 reused"


def test_one_point_is_neither_lowest_nor_highest_and_one_sender_has_nobody_to_be_compared_with(small):
    (said,) = bp.sweep(small, {"tcp.cc": ["sack"]}, replications=3).statements
    assert said.startswith("goodput at sack: ")


def test_an_interrupt_keeps_every_run_that_has_ended(small, tmp_path, begun):
    ended = []

    def stop(progress):
        # When many runs have ended that are not yet collected.
        if progress.running and not ended:
            end_s = time.monotonic() + PATIENCE_S
            while len(begun) < 2:
                assert time.monotonic() < end_s, f"no second run was begun in {PATIENCE_S} s"
                time.sleep(0.001)
            ended.append(len(begun))
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as interrupted:
        bp.sweep(small, {"seed": list(range(20))}, replications=1, jobs=1, store=tmp_path / "s", progress=stop)
    # One thread: when a run begins, all earlier runs have ended.
    assert interrupted.value.result.runs.height >= ended[0] - 1
    assert bp.Sweep.load(tmp_path / "s").runs.height == interrupted.value.result.runs.height


def test_a_sweep_without_metrics_has_nothing_to_report(small):
    with pytest.raises(ScenarioError, match="no metric to report"):
        bp.sweep(small, RATES, metric=[])


def test_an_interval_without_width_is_no_goal(small):
    with pytest.raises(ScenarioError, match=r"^until: 0\.0 is not a share"):
        bp.sweep(small, RATES, until={"metric": "goodput", "half_width": 0})


def test_a_sweep_can_be_saved_and_read_back(small, tmp_path):
    whole = bp.sweep(small, RATES, replications=2, tables=["flows"])
    whole.save(tmp_path / "saved")
    read = bp.Sweep.load(tmp_path / "saved")
    assert read.to_dict() == whole.to_dict()
    assert read.read_table("flows").equals(whole.read_table("flows"))
    assert read.table.equals(whole.table)
    assert read.estimate(read.names[1], "goodput") == whole.estimates("goodput")[1]


def test_a_comparison_s_store_is_that_of_a_sweep(small, tmp_path):
    compared = bp.compare(small, ["reno", "sack"], replications=3, store=tmp_path / "store")
    swept = bp.sweep(small, {"tcp.cc": ["reno", "sack"]}, replications=3, store=tmp_path / "other")
    read = bp.Sweep.load(tmp_path / "store")
    assert read.runs.equals(swept.runs)
    assert read.runs["goodput_bps"].sort().equals(compared.runs["goodput_bps"].sort())


CONDITIONS = {"clear": {}, "heavy rain": {"link.down.error.rate": 0.05, "link.down.delay": "150 ms"}}


def test_conditions_are_an_axis_whose_levels_have_their_names_everywhere(small, tmp_path):
    result = bp.sweep(
        small, {"tcp.cc": ["newreno", "sack"]}, cases=CONDITIONS, replications=3, store=tmp_path / "store"
    )
    assert result.points.select("tcp.cc", "case").sort("tcp.cc", "case").rows() == [
        *(("newreno", "clear"), ("newreno", "heavy rain"), ("sack", "clear"), ("sack", "heavy rain"))
    ]
    # Each level is the scenario with its settings.
    rain = bp.sweep(bp.load(small).with_sets(CONDITIONS["heavy rain"]), {"tcp.cc": ["newreno", "sack"]}, replications=3)
    in_rain = result.runs.filter(pl.col("case") == "heavy rain").sort("run")
    assert in_rain.select("run", "goodput_bps").equals(rain.runs.sort("run").select("run", "goodput_bps"))
    assert "heavy rain" in " ".join(result.statements)
    assert bp.Sweep.load(tmp_path / "store").table.equals(result.table)
    drawn = [text.get_text() for text in result.plot().findobj(lambda each: hasattr(each, "get_text"))]
    assert any("heavy rain" in text for text in drawn)


def test_conditions_alone_are_compared_with_each_other(small):
    result = bp.sweep(small, cases=CONDITIONS, replications=5)
    assert result.keys == ["case"]
    assert result.statements[0].startswith("clear gets ")
    assert "the goodput of heavy rain" in result.statements[0]


def test_a_condition_that_sets_what_varies_is_refused(small):
    """The effective value would be invisible."""
    for vary in ({"link.down.delay": ["10 ms", "20 ms"]}, {"link.down": [{}, {}]}):
        with pytest.raises(ScenarioError, match=r"case heavy rain sets link\.down") as refused:
            bp.sweep(small, vary, cases=CONDITIONS)
        assert refused.value.problems[0].key.startswith("link.down.")


def test_conditions_on_the_command_line_are_those_of_python(small, tmp_path):
    options = ["--case", "clear:", "--case", "heavy rain: link.down.error.rate=0.05; link.down.delay=150 ms"]
    asked = [
        "sweep",
        str(small),
        "--vary",
        "tcp.cc=newreno,sack",
        "-n",
        "2",
        "--store",
        str(tmp_path / "store"),
        "--json",
    ]
    done = CliRunner().invoke(app, [*asked, *options])
    result = bp.sweep(small, {"tcp.cc": ["newreno", "sack"]}, cases=CONDITIONS, replications=2)
    assert json.loads(done.stdout)["runs"] == result.to_dict()["runs"]


@pytest.mark.parametrize(
    ("option", "read", "text"),
    [
        ("--set", overrides.pairs, "duration"),
        ("--set", overrides.pairs, "=60 s"),
        ("--case rain:", overrides.cases, "rain: duration"),
        ("--vary", overrides.read_varied, "tcp.cc"),
        ("--vary", overrides.read_varied, "tcp.cc=a; duration"),
        ("--until", lambda texts: overrides.until(texts[0]), "goodput"),
    ],
)
def test_what_is_no_key_with_a_value_is_refused_alike_by_all_options(option, read, text):
    with pytest.raises(ScenarioError) as refused:
        read([text])
    (problem,) = refused.value.problems
    assert problem.message.startswith(f"{option} ")
    assert problem.expected.startswith("expected ")


def test_a_semicolon_in_quotes_or_brackets_ends_no_setting():
    assert overrides.cases(["a: title='x; y'; tcp.dsack=true"]) == {"a": {"title": "'x; y'", "tcp.dsack": "true"}}


def test_a_key_that_varies_is_not_missing(tmp_path):
    kind, rate = "link.hop.error.kind", "link.hop.error.rate"
    links = {"hop": {"from": "a", "to": "b", "rate": "4 Mbit/s", "delay": "5 ms", "error": {"kind": "packet"}}}
    content = {"duration": "2 s", "link": links, "flow": {"f": {"from": "a", "to": "b"}}}
    found = bp.sweep(content, {rate: [0.01, 0.1]}, replications=2, jobs=1)
    links["hop"]["error"]["rate"] = 0.5
    assert found.runs.equals(bp.sweep(content, {rate: [0.01, 0.1]}, replications=2, jobs=1).runs)
    asked = ["sweep", "geo", "--set", "duration=2 s", "--set", kind.replace("hop", "sat") + "=packet", "-n", "1", "-q"]
    varied = rate.replace("hop", "sat")
    for vary in (f"{varied}=1e-3,1e-2", f"{varied}=1e-3..1e-2:2", f"{varied}=1e-3,1e-2; link.sat.delay=5 ms,6 ms"):
        said = CliRunner().invoke(app, [*asked, "--vary", vary, "--store", str(tmp_path / "kept")])
        assert said.exit_code == 0, said.output
    said = CliRunner().invoke(app, [*asked, "--vary", "link.sat.delay=5 ms,6 ms", "--store", str(tmp_path / "none")])
    assert said.exit_code == 2
    assert "link.sat.error.rate is missing" in said.output


def test_errors_of_what_goes_together_are_of_the_option():
    for vary in ("tcp.cc=reno,cubic; link.sat.delay=5 ms", "link.sat.dely=1,2; tcp.cc=reno,cubic"):
        said = CliRunner().invoke(app, ["sweep", "geo", "--vary", vary])
        assert said.exit_code == 2
        assert "--vary" in said.output
        assert "sweep.together" not in said.output

"""Comparisons: the statistics against manual calculations, and equal results for any number of threads."""

import io
import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import bentpipe as bp
from bentpipe import formatting
from bentpipe.cli import render
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError, Interrupted, ScenarioError
from bentpipe.experiment.results.comparison import Comparison
from bentpipe.metric import COLUMNS
from bentpipe.statistics.comparing import ONE_RUN
from bentpipe.statistics.correction import holm
from bentpipe.statistics.estimates import estimate


def by_hand(small, **values):
    """Make a comparison from the goodput of each case in each replication."""
    runs = [
        {"of": cc, "replication": k, "seed": 3 + k} | dict.fromkeys(COLUMNS.values(), 1.0) | {"goodput_bps": value}
        for cc, column in values.items()
        for k, value in enumerate(column)
    ]
    return Comparison(bp.load(small), tuple(values), pl.DataFrame(runs), "goodput", "1")


def test_student_interval_by_hand():
    # Mean 3, s = sqrt(2.5), t(4, 0.975) = 2.776445: 3 +- 2.776445 * sqrt(2.5 / 5).
    found = estimate(np.array([1.0, 2, 3, 4, 5]), 0.95)
    assert found.replications == 5
    assert found.mean == 3
    assert found.half_width == pytest.approx(1.963243, abs=1e-6)
    # t = 3 / sqrt(0.5) = 4.242641 with 4 degrees of freedom.
    assert found.p == pytest.approx(0.013236, abs=1e-5)


def test_with_two_values_t_is_a_cauchy_variable():
    # t(1, 0.975) = tan(0.475 pi) = 12.706205, s / sqrt(2) = 1.
    assert estimate(np.array([4.0, 6]), 0.95).half_width == pytest.approx(12.706205, abs=1e-6)
    # P(|T| > 5) = 1 - 2 atan(5) / pi.
    assert estimate(np.array([4.0, 6]), 0.95).p == pytest.approx(1 - 2 * np.arctan(5) / np.pi)


def test_missing_values_do_not_count():
    assert estimate(np.array([1, np.nan, 2, 3]), 0.95) == estimate(np.array([1.0, 2, 3]), 0.95)
    assert estimate(np.array([np.nan, 7]), 0.95)[:5] == (1, 7, None, None, 0)
    assert estimate(np.array([np.nan]), 0.95)[:5] == (0, None, None, None, 0)


def test_equal_values_have_no_spread():
    assert estimate(np.full(10, 0.1), 0.95)[:5] == (10, 0.1, 0, 0, 0)
    assert estimate(np.zeros(10), 0.95)[:5] == (10, 0, 0, 1, 0)


def test_holm_by_hand():
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, never falling.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([None, 0.6, 0.7]) == [None, 1.0, 1.0]


def test_differences_are_taken_in_pairs(small):
    # The channel makes each replication differ by 100, the cases by 1, 2 and 3. Only pairs can show the difference.
    comparison = by_hand(small, one=[100, 200, 300], other=[101, 202, 303])
    rows = comparison.differences.filter(pl.col("metric") == "goodput").to_dicts()
    assert len(rows) == 1
    assert rows[0]["mean"] == -2
    # t(2, 0.975) = 4.302653, s = 1.
    assert rows[0]["high"] - rows[0]["mean"] == pytest.approx(4.302653 / 3**0.5, abs=1e-6)
    assert rows[0]["mean_pct"] == pytest.approx(-100 * 2 / 202)


def test_statements_in_plain_words(small):
    comparison = by_hand(
        small, reno=[100, 200, 300, 400], sack=[129, 230, 330.5, 430.5], newreno=[130, 229, 329.5, 432.5]
    )
    # newreno - reno: mean 30.25 of 250, s = 1.554563. It is the second of Holm's three tests, with half of the error:
    # t(3, 0.9875) = 4.176535.
    assert comparison.statements == [
        "no difference that matters (0.0893 %) in goodput between newreno and sack",
        "newreno gets 12.1 % (±1.3 %) more goodput than reno",
    ]


def test_the_margin_of_what_is_below_is_not_negative(small):
    comparison = by_hand(small, a=[1.0, 2.0, 3.0], b=[1.0, 2.0, 3.0])
    runs = comparison.runs.with_columns(completion_s=pl.Series([4.0, 4.1, 4.2, 2.0, 2.0, 2.0]))
    comparison = Comparison(comparison.scenario, comparison.names, runs, "completion", "1")
    # 2.1 below of 4.1, s = 0.1, t(2, 0.975) = 4.302653.
    assert comparison.statements[-1] == "b is faster than a in completion: 51.2 % (±6.1 %) less time"


def test_a_metric_that_is_zero_is_compared_in_its_unit(small):
    comparison = by_hand(small, a=[0, 0, 0], b=[2000, 2000, 2000])
    assert comparison.statements[-1] == "b gets 2.00 kbit/s (±0.00 kbit/s) more goodput than a"


def test_less_is_better_for_times(small):
    comparison = by_hand(small, a=[1.0, 2.0], b=[1.0, 2.0])
    runs = comparison.runs.with_columns(completion_s=pl.Series([4.0, 4.0, 2.0, 2.0]))
    comparison = Comparison(comparison.scenario, comparison.names, runs, "completion", "1")
    assert comparison.statements[-1] == "b is faster than a in completion: 50.0 % (±0.0 %) less time"


def test_one_replication_has_no_interval_and_says_so(small):
    comparison = by_hand(small, a=[10.0], b=[8.0])
    assert comparison.statements == [
        ONE_RUN,
        "in this one run, a gets 25.0 % more goodput than b",
    ]
    assert comparison.table["low"].null_count() == comparison.table.height


def test_a_margin_that_is_small_is_not_printed_as_none():
    assert formatting.mean_and_margin(34.41763, 0.00012) == ("34.418", "0.001")
    assert formatting.mean_and_margin(262.05, 0.65) == ("262.05", "0.65")
    assert formatting.mean_and_margin(0.78, 1e-15) == ("0.7800", "0.0000")
    assert formatting.mean_and_margin(0.0, 0.0012) == ("0.0000", "0.0012")
    assert formatting.mean_and_margin(3.0, 0.0) == ("3.00", "0.00")


@given(st.floats(-10, 10), st.floats(1e-6, 10))
def test_a_value_with_an_interval_has_no_negative_zero_and_enough_digits(mean, half_width):
    by, margin = formatting.mean_and_margin(mean, half_width)
    assert float(by) != 0 or not by.startswith("-")
    # The margin is never rounded to nothing, and the mean to less than its margin.
    assert float(margin) > 0
    assert float(by) == pytest.approx(mean, abs=1.01 * max(half_width, float(margin)) / 2)


def test_nothing_random_is_said(small):
    comparison = by_hand(small, a=[10.0, 10.0], b=[8.0, 8.0])
    assert comparison.statements[0].startswith("all replications are equal")


@pytest.fixture
def comparison(small):
    return bp.compare(bp.load(small), ["reno", "tahoe"], replications=3)


def test_the_number_of_threads_does_not_matter(small):
    one, two, more = (
        bp.compare(bp.load(small), ["reno", "tahoe", "sack"], replications=4, jobs=jobs) for jobs in (1, 2, 7)
    )
    assert one.runs.equals(two.runs)
    assert one.runs.equals(more.runs)
    assert one.to_dict() == two.to_dict() == more.to_dict()


def test_a_comparison_is_made_of_runs(comparison, small):
    assert comparison.seeds == [3, 4, 5]
    assert comparison.runs["of"].to_list() == ["reno", "tahoe"] * 3
    alone = bp.run(bp.load(small, {"tcp.cc": "tahoe"}), seed=4)
    row = comparison.runs.filter((pl.col("of") == "tahoe") & (pl.col("seed") == 4)).row(0, named=True)
    assert row["goodput_bps"] == alone.summary["goodput_bps"][0]
    assert row["utilisation"] == alone.links["utilisation"].max()
    assert row["timeouts"] == alone.flows["timeouts"].sum()
    assert row["completion_s"] == alone.flows["completion_s"].drop_nulls().mean()


def test_a_flow_that_names_its_own_sender_keeps_it(small):
    scenario = bp.load(small, {"flow.file.tcp.cc": "tcpmin"})
    assert len(bp.compare(scenario, ["reno", "sack"], replications=1).runs) == 2
    with pytest.raises(ScenarioError, match="each flow has its own cc"):
        bp.compare(scenario.replace("flow.bulk.tcp.cc", "sack"), ["reno", "tahoe"])


def test_unknown_names_are_said_with_the_nearest(small):
    with pytest.raises(ScenarioError, match=r"(?s)'renoo'.*did you mean 'reno'\? known: reno, .*8 of "):
        bp.compare(bp.load(small), ["reno", "renoo"])
    with pytest.raises(ScenarioError, match="no congestion control"):
        bp.compare(bp.load(small), [])
    with pytest.raises(BentpipeError, match="did you mean 'goodput'"):
        bp.compare(bp.load(small), ["reno"], metric="godput")
    with pytest.raises(BentpipeError, match="expected 1 to 10000"):
        bp.compare(bp.load(small), ["reno"], replications=0)


def test_an_interrupted_comparison_has_the_complete_replications(small, monkeypatch):
    from bentpipe.experiment.single import measure

    finish = measure.outcome
    count = iter(range(100))

    def outcome(tables):
        # The fifth run: two replications of two cases are complete.
        if next(count) == 4:
            raise KeyboardInterrupt
        return finish(tables)

    monkeypatch.setattr(measure, "outcome", outcome)
    with pytest.raises(Interrupted, match=r"after 5 of 16 runs$") as interrupted:
        bp.compare(bp.load(small), ["reno", "tahoe"], replications=8, jobs=1)
    assert interrupted.value.result.seeds == [3, 4]


def test_an_interrupted_comparison_goes_on_from_its_store(small, tmp_path, begun):
    def stop(progress):
        if progress.done >= 5:
            raise KeyboardInterrupt

    asked = {"cc": ["reno", "tahoe"], "replications": 8, "jobs": 1, "store": tmp_path / "s"}
    with pytest.raises(Interrupted, match="which are kept"):
        bp.compare(bp.load(small), **asked, progress=stop)
    before = len(begun)
    whole = bp.compare(bp.load(small), **asked)
    # One more run may have been in progress at the stop.
    assert before >= 5
    assert len(begun) <= 17
    assert whole.runs.equals(bp.compare(bp.load(small), ["reno", "tahoe"], replications=8).runs)
    read = bp.Comparison.load(tmp_path / "s")
    assert (read.to_dict(), read.statements) == (whole.to_dict(), whole.statements)


def test_a_comparison_goes_on_until_its_intervals_are_narrow(small):
    until = {"metric": "goodput", "half_width": "2 %"}
    found = bp.compare(small, ["reno", "tahoe"], replications=5, until=until, replications_max=60)
    widths = [found.estimate(name, "goodput") for name in found.names]
    assert len(found.seeds) == 60 or all(each.half_width <= 0.02 * each.mean for each in widths)
    assert len(found.seeds) > 5
    assert found.runs["of"].value_counts()["count"].n_unique() == 1


def test_until_that_means_nothing_is_refused(small):
    wide = {"metric": "goodput", "half_width": "wide"}
    for until in ({"metric": "godput", "half_width": 0.1}, {"metric": "goodput"}, wide):
        with pytest.raises(ScenarioError, match=r"until|godput"):
            bp.compare(small, ["reno", "tahoe"], until=until)


def test_comparisons_of_the_same_runs_can_be_joined(small):
    one, two = (bp.compare(small, cc, replications=2) for cc in (["reno", "vegas"], ["tahoe", "sack"]))
    whole = bp.compare(small, ["reno", "vegas", "tahoe", "sack"], replications=2)
    assert one.join(two).runs.equals(whole.runs)
    assert one.join(two).table.equals(whole.table)
    with pytest.raises(BentpipeError, match="cannot be joined"):
        one.join(one)


def test_the_comparison_can_be_kept_and_shown(comparison, tmp_path):
    comparison.save(tmp_path / "a")
    comparison.save(tmp_path / "a")
    read = bp.Comparison.load(tmp_path / "a")
    assert read.to_dict() == comparison.to_dict()
    assert read.plot(metric="goodput")
    assert pl.read_parquet(tmp_path / "a" / "table.parquet").equals(comparison.table)
    json.dumps(comparison.to_dict(), allow_nan=False)
    assert "3 replications" in repr(comparison)
    assert "<table" in comparison._repr_html_()


def test_the_figure_has_units_and_intervals(comparison):
    figure = comparison.plot(metric="rtt")
    (axes,) = figure.axes
    assert axes.get_xlabel() == "Median round-trip time, mean over flows (ms)"
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["reno", "tahoe"]
    assert "3 replications, 95 % intervals" in figure.get_suptitle()
    with pytest.raises(BentpipeError, match="not a metric"):
        comparison.plot(metric="beauty")
    with pytest.raises(BentpipeError, match="no run has a value of fct"):
        comparison.plot(metric="fct")


def test_cases_of_a_scenario_are_compared(small, tmp_path):
    text = small.read_text() + '\n[case.plain]\n[case.small]\ntcp.initial_window = "1 segments"\n'
    scenario = bp.loads(text)
    assert list(scenario.cases) == ["plain", "small"]
    assert scenario.cases["plain"] == bp.load(small)
    comparison = bp.compare(scenario, replications=2)
    assert comparison.names == ("plain", "small")
    asked = bp.compare(
        bp.load(small), cases={"plain": {}, "small": {"tcp.initial_window": "1 segments"}}, replications=2
    )
    assert comparison.runs.equals(asked.runs)


def test_what_cannot_be_compared_is_said(small):
    with pytest.raises(ScenarioError, match="has no cases to compare"):
        bp.compare(bp.load(small))
    with pytest.raises(ScenarioError, match="cannot be compared together"):
        bp.compare(bp.load(small), "reno", cases={"a": {}})
    with pytest.raises(ScenarioError, match="not a known key"):
        bp.compare(bp.load(small), cases={"a": {"tcp.windows": "1"}})
    with pytest.raises(ScenarioError, match=r"case\.a = 3 is not a table"):
        bp.loads(small.read_text() + "\n[case]\na = 3\n")


def test_all_senders_are_compared_by_one_word(small):
    names = [choice["name"] for choice in bp.choices()["cc"]]
    comparison = bp.compare(bp.load(small, {"duration": "1 s"}), "reno,all", replications=1)
    assert comparison.names == ("reno", *(name for name in names if name != "reno"))


def test_settings_of_a_sender_are_settings_of_a_scenario(small):
    scenario = bp.load(small, {"tcp.cc": '{ kind = "cubic", beta = 0.8 }'})
    assert scenario.to_dict()["tcp"]["cc"]["beta"] == 0.8
    assert bp.loads(scenario.resolve()) == scenario
    assert scenario.digest != bp.load(small, {"tcp.cc": "cubic"}).digest
    assert "fast_convergence = true" in scenario.resolve()
    with pytest.raises(ScenarioError, match=r"tcp\.cc\.beta = 1\.5 is out of range"):
        bp.load(small, {"tcp.cc": '{ kind = "cubic", beta = 1.5 }'})
    with pytest.raises(ScenarioError, match="has no effect on cubic"):
        bp.load(small, {"tcp.cc": "cubic", "tcp.increase": "by-k"})


def parts_of(do):
    """Return the result of this many replications, and the partial results by their number of replications."""
    seen = {}

    def look(progress):
        if (part := progress.result()) is not None and part.runs.height:
            seen[part.runs.height] = part

    return do(6, look), seen


@pytest.mark.parametrize("verb", [bp.compare, bp.mix])
def test_the_result_so_far_is_that_of_the_replications_that_have_ended(small, verb):
    def do(count, progress=None):
        return verb(small, ["newreno", "sack"], replications=count, jobs=1, progress=progress)

    whole, seen = parts_of(do)
    part = seen[min(seen)]
    assert len(part.seeds) < 6
    assert part.table.equals(do(len(part.seeds)).table)
    assert seen[max(seen)].table.equals(whole.table)


def test_the_sweep_so_far_has_the_runs_that_have_ended_and_says_how_many_are_missing(small, tmp_path):
    def do(count, progress):
        vary = {"tcp.cc": ["newreno", "sack"]}
        return bp.sweep(small, vary, replications=count, jobs=1, store=tmp_path / "store", progress=progress)

    whole, seen = parts_of(do)
    part = seen[min(seen)]
    assert part.missing == 12 - part.runs.height > 0
    assert part.runs.join(whole.runs, on=whole.runs.columns, how="anti", nulls_equal=True).height == 0
    assert seen[max(seen)].table.equals(whole.table)


def test_notes_name_a_sender_that_no_buffer_bounds() -> None:
    scenario = bp.load("geo", {"tcp.like": "rfc", "duration": "2 s"})
    flood = {"flood": {"tcp.cc": {"kind": "hybla", "needs_ssthresh": False}}}
    found = bp.compare(scenario, cases={**flood, "default": {"tcp.cc": "hybla"}}, replications=1)
    notes = found.to_dict()["notes"]
    assert len(notes) == 1
    assert notes[0].startswith("hybla opens a window")
    assert list(bp.run(found.scenarios["flood"]).notes) == notes
    assert bp.compare(scenario, cc=["hybla", "sack"], replications=1).to_dict()["notes"] == []
    printed = Console(width=200, record=True, file=io.StringIO())
    printed.print(*render.comparison(found), *render.notes(found))
    assert "note: hybla opens a window" in " ".join(printed.export_text().split())


def test_a_comparison_is_one_table_and_cases_head_their_own_column():
    asked = ["compare", "reordering", "--set", "duration=10 s", "-n", "2"]
    cases = ["--case", "a:", "--case", "b: tcp.cc=bbr3"]
    plain, whole, named = (
        CliRunner().invoke(app, [*asked, *cases, *more], env={"COLUMNS": "80"}).stdout
        for more in ([], ["--all"], ["-m", "goodput,needless"])
    )
    heads = [line.split()[0] for line in plain.splitlines() if line.split()[:1] in (["case"], ["sender"])]
    assert heads == ["case"]
    assert "needless" not in plain
    assert "needless" in whole
    assert "missed" in whole
    assert "needless" in named
    assert "needs two cases or more, got a" in CliRunner().invoke(app, [*asked, "--case", "a:"]).stderr


def test_a_long_label_does_not_leave_the_figure():
    figure = bp.compare("web-on-geo", cc=["reno", "cubic"], replications=2, metric="fct").plot()
    figure.draw_without_rendering()
    label = figure.axes[0].xaxis.label.get_window_extent()
    assert label.x0 >= 0
    assert label.x1 <= figure.bbox.x1


def test_a_comparison_needs_two(small):
    """In Python, on the command line, and of cases, as in a mix."""
    for call in (
        lambda: bp.compare(small, "cubic"),
        lambda: bp.compare(small, cases={"one": {"tcp.cc": "reno"}}),
    ):
        with pytest.raises(ScenarioError, match=r"a comparison needs two .* or more, got (cubic|one)"):
            call()
    with pytest.raises(ScenarioError, match="a mix needs two"):
        bp.mix(small, "cubic")
    done = CliRunner().invoke(app, ["compare", str(small), "--cc", "cubic"])
    assert done.exit_code == 2
    assert "a comparison needs two congestion controls or more, got cubic" in done.stderr

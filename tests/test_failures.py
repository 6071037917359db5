"""A case that fails most never wins: incomplete work is counted, and bounds do not look like means."""

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from bentpipe.errors import BentpipeError, ScenarioError
from bentpipe.experiment.report import report
from bentpipe.experiment.results.comparison import Comparison
from bentpipe.experiment.results.contrasts import find_winner, ranking
from bentpipe.metric import COLUMNS, METRICS
from bentpipe.plot.maps import choose_axes
from bentpipe.statistics.comparing import differences, sentence, statement
from bentpipe.statistics.estimates import fisher
from bentpipe.statistics.judgement import Judgement
from bentpipe.statistics.samples import AtLeast, Counts, Sample, join_samples, rank_samples

COMPLETION = METRICS["completion"]
FCT = METRICS["fct"]
NAN = np.nan

# 3 MB at 2 Mbit/s take 12.5 s: some congestion controls complete in 16 s, some do not.
SCENARIO = {
    "title": "A tight deadline",
    "duration": "16 s",
    "tcp": {"like": "rfc"},
    "link": {
        "sat": {
            "from": "gw",
            "to": "term",
            "rate": "2 Mbit/s",
            "delay": "250 ms",
            "queue": "1 bdp",
            "error": {"kind": "packet", "rate": 0.003},
        }
    },
    "flow": {"d": {"from": "gw", "to": "term", "app": {"kind": "file", "size": "3 MB"}}},
}
CC = ["reno", "santa-cruz", "bbr3"]


def completed(*values, had=20.0):
    """Make a sample of completion times, with NaN for a run that did not complete within `had`."""
    array = np.array(values, dtype=float)
    return Sample(array, np.full(len(array), had), (~np.isnan(array)).astype(float), np.ones(len(array)))


def transfers(values, done, due):
    return Sample(*(np.array(each, dtype=float) for each in (values, [NAN] * len(values), done, due)))


def by_hand(metric="completion", against=None, **values):
    rows = [
        {"of": cc, "replication": k, "seed": 1 + k}
        | dict.fromkeys(COLUMNS.values(), 1.0)
        | {"completion_s": value, "completion_bound_s": 20.0 if value is None else value}
        for cc, column in values.items()
        for k, value in enumerate(column)
    ]
    schema = {"completion_s": pl.Float64}
    frame = pl.DataFrame(rows, schema_overrides=schema)
    return Comparison(bp.load("geo"), tuple(values), frame, metric, "1", Judgement(against=against))


# Statistics


def test_a_mean_of_which_some_did_not_complete_is_a_bound_over_all_of_them():
    found = completed(10, NAN, 12, NAN).estimate()
    assert isinstance(found, AtLeast)
    # (10 + 20 + 12 + 20) / 4, not (10 + 12) / 2. A bound has no interval.
    assert found == AtLeast(4, 15.5, None, None, censored=2)
    assert not isinstance(completed(10, 12).estimate(), AtLeast)
    # The median: half of the runs completed after at most 12 s and half after at least 20 s.
    assert completed(10, NAN, 12, NAN).estimate(Judgement("median")).value == 16
    assert isinstance(completed(NAN, NAN).estimate(), AtLeast)


def test_fisher_by_hand():
    # 10 of 10 against 4 of 10: C(10, 4) / C(20, 14) twice, as the other tail is equally far.
    assert fisher(10, 10, 4, 10) == pytest.approx(2 * 210 / 38760)
    assert fisher(5, 5, 0, 5) == pytest.approx(2 / 252)
    assert fisher(0, 10, 0, 10) == fisher(3, 10, 3, 10) == 1
    assert fisher(9, 10, 2, 10) == pytest.approx(fisher(2, 10, 9, 10))


def test_who_completes_less_never_comes_first():
    samples = {"lucky": completed(5, NAN, NAN), "slow": completed(19, 19, 19), "none": completed(NAN, NAN, NAN)}
    assert rank_samples(samples, COMPLETION) == ["slow", "lucky", "none"]
    # With equal shares, the time decides. Incomplete runs count with their duration.
    assert rank_samples({"a": completed(5, NAN), "b": completed(4, NAN)}, COMPLETION) == ["b", "a"]
    assert rank_samples({"a": Sample.from_values(np.array([NAN])), "b": completed(NAN)}, COMPLETION) == ["b"]


def test_a_transfer_more_or_less_at_the_end_of_a_run_is_chance_and_many_are_not():
    almost = transfers([1.0] * 8, [99] * 8, [100, 100, 100, 100, 99, 99, 99, 99])
    whole = transfers([2.0] * 8, [100] * 8, [100] * 8)
    failing = transfers([0.5] * 8, [50] * 8, [100] * 8)
    assert rank_samples({"whole": whole, "almost": almost, "failing": failing}, FCT)[-1] == "failing"
    assert rank_samples({"whole": whole, "almost": transfers([1.0] * 2, [99] * 2, [100, 100])}, FCT) == [
        "almost",
        "whole",
    ]


def test_shares_and_times_have_a_test_each_and_are_corrected_together():
    (found,) = differences([(completed(*[10.0] * 10), completed(*[NAN] * 6, *[12.0] * 4))])
    assert found.shares.p == pytest.approx(fisher(10, 10, 4, 10))
    assert found.shares[:4] == (Counts(10, 10), Counts(4, 10), 6, 0)
    # The times: four pairs that all differ by 2 s, with p = 0, so the shares are corrected last.
    assert (found.value, found.replications) == (-2, 4)
    assert found.shares.p_adjusted == pytest.approx(found.shares.p)
    assert found.p_adjusted == 0
    assert found.shares.is_shown
    (whole,) = differences([(completed(10, 11), completed(12, 13))])
    assert whole.shares is None


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (
            completed(*[10.0] * 10),
            completed(*[NAN] * 8, 5, 6),
            "a completes more often than b: in 10 of 10 replications against 2 of 10",
        ),
        (
            completed(*[NAN] * 8, 5, 6),
            completed(*[10.0] * 10),
            "a completes less often than b: in 2 of 10 replications against 10 of 10",
        ),
        (completed(NAN, NAN), completed(NAN, NAN), "neither a nor b completed any of the 2 replications"),
        (
            completed(10, 11, 12, 13),
            completed(NAN, 22.5, 22.8, 23.1),
            "no difference can be shown in how often a and b complete: in 4 of 4 replications against 3 of 4; of those "
            "that both completed (3), a is faster than b in completion: 47 % (±11 %) less time",
        ),
        # One pair is not enough for a comparison.
        (
            completed(10, NAN),
            completed(20, NAN),
            "no difference can be shown in how often a and b complete: in 1 of 2 replications against 1 of 2",
        ),
    ],
)
def test_what_is_said_of_two_senders(one, other, said):
    (found,) = differences([(one, other)])
    assert statement("a", "b", found, COMPLETION) == said


def test_what_is_said_of_transfers():
    one = transfers([1.0] * 10, [100] * 10, [100] * 10)
    (found,) = differences([(one, transfers([0.5] * 10, [50] * 10, [100] * 10))])
    text = "a finishes more of its transfers than b: 1,000 transfers against 500 of 1,000"
    assert statement("a", "b", found, FCT) == text.replace("1,000 transfers", "1,000 of 1,000 transfers")
    (found,) = differences([(one, transfers([0.5] * 10, [99] + [100] * 9, [100] * 10))])
    assert statement("a", "b", found, FCT) == (
        "a is slower than b in fct: 2.00 times (+500 ms, ±0 ms) the time (of those that finished: "
        "1,000 of 1,000 transfers against 999 of 1,000)"
    )


def test_conditions_at_which_one_fails_are_not_judged_by_its_time():
    good, bad = completed(*[10.0] * 10), completed(*[NAN] * 9, 5)
    found = differences(
        [(good, bad), (good, completed(*[12.0] * 10)), (completed(*[NAN] * 10), completed(*[NAN] * 10))]
    )
    said = sentence("a", "b", dict(zip(["low", "mid", "high"], found, strict=True)), COMPLETION)
    assert said == (
        "a completes more often than b at low; a is faster than b in completion: 16.7 % (±0.0 %) less time at mid; "
        "no replication has a "
        "completion of both at high; where not all replications completed: a 10 of 20, b 1 of 20"
    )


def test_the_best_in_truth_is_rarely_among_those_that_are_shown_to_be_worse():
    """Eight points, one slightly better: it is shown to be worse than another in at most 5 % of sweeps."""
    generator = np.random.default_rng(1)
    wrong = 0
    for _ in range(400):
        common = generator.normal(0, 1, 10)
        values = {k: Sample.from_values(10 - 0.01 * (k == 0) + common + generator.normal(0, 0.3, 10)) for k in range(8)}
        wrong += next(each.is_worse for each in ranking(values, COMPLETION) if each.point == 0)
    assert wrong / 400 <= 0.05


def test_replications_of_several_conditions_are_one_sample():
    assert join_samples([completed(1, NAN), completed(2)]).counts == Counts(2, 3)


# In results


@pytest.fixture(scope="module")
def comparison():
    return bp.compare(SCENARIO, CC, metric="completion", replications=6)


def test_the_bound_is_the_time_that_a_flow_had():
    late = {"from": "gw", "to": "term", "start": "4 s", "app": {"kind": "file", "size": "100 MB"}}
    small = {"from": "gw", "to": "term", "app": {"kind": "file", "size": "10 kB"}}
    greedy = {"from": "gw", "to": "term"}
    result = bp.run({**SCENARIO, "flow": {"late": late, "small": small, "greedy": greedy}})
    row = result.summary.row(0, named=True)
    times = dict(zip(result.flows["flow"], result.flows["completion_s"], strict=True))
    assert times["small"] is not None
    assert row["completion_mean_s"] is None
    # The greedy flow has no end, so it counts in neither.
    assert row["completion_bound_s"] == pytest.approx((12 + times["small"]) / 2)
    whole = bp.run({**SCENARIO, "flow": {"small": small}}).summary.row(0, named=True)
    assert whole["completion_bound_s"] == whole["completion_mean_s"] == pytest.approx(times["small"], rel=0.1)
    assert bp.run({**SCENARIO, "flow": {"greedy": greedy}}).summary["completion_bound_s"][0] is None


def test_tables_and_json_say_how_many_completed(comparison):
    rows = {row["of"]: row for row in comparison.table.filter(pl.col("metric") == "completion").to_dicts()}
    assert [(rows[name]["completed"], rows[name]["due"], rows[name]["is_bound"]) for name in CC] == [
        (0, 6, True),
        (0, 6, True),
        (6, 6, False),
    ]
    assert rows["reno"]["mean"] == 16
    assert rows["reno"]["low"] is None
    told = comparison.to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    pair = next(each for each in told["differences"] if each["metric"] == "completion" and each["other"] == "bbr3")
    assert (pair["of_completed"], pair["other_completed"], pair["is_completed_shown"]) == (0, 6, True)
    assert comparison.order_cases() == ["bbr3", *(name for name in comparison.order_cases() if name != "bbr3")]
    assert comparison.statements[0].startswith("bbr3 completes more often than ")
    assert "completes more often" in repr(comparison)


def test_the_terminal_says_how_many_completed():
    done = CliRunner().invoke(
        app,
        [
            *("compare", "geo", "--cc", "reno,bbr3", "--metric", "completion", "--replications", "3"),
            *("--set", "flow.transfer.app={kind='file',size='10 MB'}", "--set", "duration='6.4 s'"),
        ],
    )
    assert done.exit_code == 0, done.output
    text = " ".join(done.stdout.split())
    assert "> 6.4" in text
    assert "0 of 3" in text
    assert "in 0 of 3 replications" in text
    assert "counts with its simulated time" in text


def test_the_figure_marks_what_did_not_complete(comparison):
    figure = comparison.plot()
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "reno\n0 of 6 completed",
        "santa-cruz\n0 of 6 completed",
        "bbr3",
    ]
    # An arrow for each bound.
    assert len([text for text in axes.texts if getattr(text, "arrow_patch", None)]) == 2
    assert "open: at least this" in figure.get_suptitle()
    # No run completes, and there is still a figure.
    assert by_hand(a=[None, None], b=[None, None]).plot().axes


def test_nobody_completes_or_all_but_one():
    assert by_hand(a=[None, None], b=[None, None]).statements == [
        "all replications are equal: this scenario has no randomness",
        "neither a nor b completed any of the 2 replications",
    ]
    lonely = by_hand(a=[3.0], b=[None]).statements
    assert lonely[-1] == (
        "no difference can be shown in how often a and b complete: in 1 of 1 replications against 0 of 1"
    )


# Against


def test_every_other_one_is_compared_with_the_one_that_is_named():
    values = {"best": [5.0, 5.1, 5.2], "mine": [8.0, 8.1, 8.2], "worst": [9.0, 9.3, 9.2]}
    said = by_hand(against="mine", **values).statements
    assert [text.split(" is ")[0] for text in said] == ["best", "worst"]
    assert all(" mine in completion" in text for text in said)
    pairs = by_hand(against="mine", **values).differences.filter(pl.col("metric") == "completion")
    assert pairs.select("of", "other").rows() == [("best", "mine"), ("worst", "mine")]
    assert by_hand(**values).statements[0].startswith("best is ")


def test_a_scenario_file_says_against_whom(small):
    sweep = bp.sweep(bp.load(small, {"sweep.against": "reno"}), {"tcp.cc": ["reno", "sack"]}, replications=2)
    assert sweep.against == "reno"
    assert [(each.sender, each.other) for each in sweep.contrasts("goodput")] == [("sack", "reno")]
    assert bp.sweep(small, {"tcp.cc": ["reno", "sack"]}, replications=2).against is None


def test_against_a_name_that_is_none_of_them(small):
    with pytest.raises(ScenarioError, match="did you mean 'reno'"):
        bp.compare(small, ["reno", "sack"], against="ren")
    with pytest.raises(ScenarioError, match="did you mean 'reno'"):
        bp.sweep(small, {"tcp.cc": ["reno", "sack"]}, against="ren")
    with pytest.raises(ScenarioError, match="congestion controls and cases do not vary"):
        bp.sweep(small, {"link.down.rate": ["1 Mbit/s", "2 Mbit/s"]}, against="reno")


def test_a_sender_is_not_compared_with_itself(small):
    for senders in ("reno,reno", ["reno", "reno"]):
        with pytest.raises(ScenarioError, match="reno is given twice"):
            bp.compare(small, senders)


# Sweeps


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep") / "store"
    vary = {"tcp.cc": ["sack", "bbr3"], "link.sat.queue": ["0.5 bdp", "1 bdp"], "link.sat.error.rate": [0, 0.003]}
    bp.sweep(SCENARIO, vary, replications=6, metric=["completion", "rtt"], store=folder)
    return folder


def test_a_sweep_names_the_best_point_and_what_is_as_good(store):
    sweep = bp.Sweep.load(store)
    order = sweep.ranking("completion")
    assert order[0].counts == Counts(6, 6)
    assert order[-1].counts == Counts(0, 6)
    assert [each.is_worse for each in order[-2:]] == [True, True]
    best, worst, preferred = sweep.best("completion")
    assert best.startswith("best in completion at sack, queue 1 bdp, rate 0: 15.1")
    # At most 0.1 % apart. The five others are shown to be worse.
    assert "no difference that matters: 2 of the other 7 (bbr3, queue 1 bdp, rate 0" in best
    assert best.endswith("sack, queue 0.5 bdp, rate 0)")
    assert [each.is_as_good for each in order[1:3]] == [True, True]
    assert all(each.is_worse for each in order[3:])
    assert [row["is_as_good"] for row in sweep.to_dict()["ranking"]["completion"][:4]] == [False, True, True, False]
    assert worst.startswith("worst in completion at sack, queue ")
    assert worst.endswith("rate 3e-3: > 16.0 s (0 of 6)")
    assert preferred.startswith("best or tied in completion: ")
    told = sweep.to_dict()
    assert [row["rank"] for row in told["ranking"]["completion"]] == list(range(1, 9))
    assert {row["other_completed"] for row in told["differences"] if row["metric"] == "completion"} >= {0, None}


def test_the_other_settings_of_a_sweep_are_compared_with_the_one_that_is_named(store):
    assert {(each.sender, each.other) for each in bp.Sweep.load(store, "sack").contrasts("rtt")} == {("bbr3", "sack")}
    with pytest.raises(ScenarioError, match="did you mean 'sack'"):
        bp.Sweep.load(store, "sak")


def test_the_report_marks_what_did_not_complete_and_has_means_before_differences(store, tmp_path):
    found = report(store, tmp_path / "report", against="sack")
    html = found.page.read_text()
    assert html.count("no difference that matters</td>") == 2
    heads = [html.index(f"<h2>{title}</h2>") for title in ("Completion time", "RTT", "Means at all points")]
    assert heads == sorted(heads)
    assert html.index("Means at all points") < html.index("<h2>Ranking") < html.index("<h2>Differences</h2>")
    assert "&gt; 16.0 (0 of 6)" in html
    # Text on cells keeps its colour on a page, for any colour of the page's text.
    assert "fill: var(--c-fafafa, #fafafa)" in html
    assert "fill: var(--c-0a0a0a, #0a0a0a)" in html
    assert "count with the time that they had" in html
    assert "bentpipe report scenario.sweep --against sack" in html
    names = {path.name for path in found.figures}
    assert {"completion.svg", "completion-map.svg", "rtt-map.png"} <= names
    points = pl.read_csv(found.folder / "tables" / "points.csv")
    assert points["completion_s_completed"].to_list() == [6, 0, 6, 0, 6, 6, 6, 6]
    assert points["completion_s_is_bound"].to_list() == [False, True, False, True, False, False, False, False]
    assert "(0 of 6)" in (found.folder / "tables" / "points.tex").read_text()
    differences = pl.read_csv(found.folder / "tables" / "differences-completion.csv")
    assert differences["other"].unique().to_list() == ["sack"]
    assert differences["other_completed"].drop_nulls().to_list() == [0, 0]
    ranked = pl.read_csv(found.folder / "tables" / "ranking-completion.csv")
    assert ranked["rank"].to_list() == list(range(1, 9))


def test_a_heat_map_has_values_bounds_and_a_panel_per_sender(store):
    sweep = bp.Sweep.load(store)
    figure = sweep.plot("map", metric="completion")
    panels = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert [axes.get_title(loc="left") for axes in panels] == ["sack", "bbr3"]
    sack, bbr3 = ([text.get_text() for text in axes.texts] for axes in panels)
    assert sum(text == "> 16.0\n0 of 6" for text in sack) == 2
    assert not any(">" in text for text in bbr3)
    assert len(bbr3) == 4
    assert sum(bool(patch.get_hatch()) for patch in panels[0].patches) == 2
    with pytest.raises(BentpipeError, match="did you mean 'map'"):
        sweep.plot("maps")


def test_a_map_needs_two_axes(small):
    sweep = bp.sweep(small, {"link.down.error.rate": [0, 0.01]}, replications=1)
    assert choose_axes(sweep.points, sweep.keys, has_cases=False) is None
    with pytest.raises(BentpipeError, match="two varied keys"):
        sweep.plot("map")


def test_the_line_figure_marks_bounds(store):
    axes = bp.Sweep.load(store).plot(metric="completion").axes
    assert sum(1 for each in axes for text in each.texts if getattr(text, "arrow_patch", None)) == 2


def test_judged_by_what_was_completed_first():
    (found,) = differences([(completed(*[10.0] * 10), completed(*[NAN] * 8, 5, 6))])
    assert found.value > 0
    assert find_winner(found, COMPLETION) == 1

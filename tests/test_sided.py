"""One-sided tests and margins: equal to scipy, and carried from call and command line to sentences and reports."""

import shlex
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import bentpipe as bp
from bentpipe.errors import BentpipeError
from bentpipe.experiment.report import report
from bentpipe.metric import find_metric
from bentpipe.statistics.comparing import differences, sentence, statement
from bentpipe.statistics.judgement import DEFAULT, SIDES, STATISTICS, Judgement

GOODPUT, RTT = find_metric("goodput"), find_metric("rtt")


def judged(one, other, metric=GOODPUT, **judgement):
    asked = Judgement(against="other", **judgement)
    (found,) = differences([(np.array(one, dtype=float), np.array(other, dtype=float))], asked, metric)
    return found


def by_scipy(values, statistic):
    """Return the one-sided p of a mean or median above zero."""
    if statistic == "mean":
        return stats.ttest_1samp(values, 0, alternative="greater").pvalue
    above, below = int((values > 0).sum()), int((values < 0).sum())
    return stats.binomtest(above, above + below, alternative="greater").pvalue


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("metric", [GOODPUT, RTT], ids=["goodput", "rtt"])
def test_each_question_is_the_test_of_scipy_on_shifted_differences(statistic, metric):
    rng = np.random.default_rng(7)
    # Medians have bootstrap intervals, which take longer.
    for _ in range(40 if statistic == "mean" else 8):
        count = rng.integers(3, 30)
        other = rng.normal(100, 10, count)
        one = other + rng.normal(rng.normal(0, 5), 8, count)
        missing = rng.random(count) < 0.1
        missing[:3] = False
        one[missing] = np.nan
        amount = rng.uniform(0.5, 6)
        better = (one - other if metric.is_more_better else other - one)[~missing]
        margins = {
            f"{amount} {metric.unit}": np.full(count, amount)[~missing],
            f"{amount} %": amount / 100 * other[~missing],
        }
        for margin, shift in margins.items():
            wanted = {
                "better": by_scipy(better - shift, statistic),
                "worse": by_scipy(-better - shift, statistic),
                "not-worse": by_scipy(better + shift, statistic),
            }
            for sides, p in wanted.items():
                found = judged(one, other, metric, statistic=statistic, sides=sides, margin=margin)
                assert found.p == pytest.approx(p, rel=1e-9, abs=1e-15), (sides, margin)
                assert found.is_shown == (found.p < 0.05)
        for sides, sign in (("better", 1), ("worse", -1)):
            found = judged(one, other, metric, statistic=statistic, sides=sides, margin=None)
            assert found.p == pytest.approx(by_scipy(sign * better, statistic), rel=1e-9, abs=1e-15)


def test_a_margin_leaves_tests_for_any_difference_as_they_are():
    rng = np.random.default_rng(3)
    pairs = [(rng.normal(1, 1, 9), rng.normal(0, 1, 9)) for _ in range(5)]
    for statistic in STATISTICS:
        for margin in ("1 %", "20 %", None):
            asked = Judgement(statistic, margin=margin)
            found, every = (differences(pairs, each, GOODPUT) for each in (asked, Judgement(statistic)))
            assert [each._replace(margin=0) for each in found] == [each._replace(margin=0) for each in every]
    assert set(DEFAULT.to_dict()) == {"statistic", "confidence", "correction", "against"}
    assert Judgement.from_facts({"statistic": "mean"}) == DEFAULT


def test_an_end_of_a_one_sided_interval_decides_as_the_test_does():
    rng = np.random.default_rng(11)
    for _ in range(200):
        one, other = rng.normal(0.4, 1, 12), rng.normal(0, 1, 12)
        found = judged(one, other, sides="better", margin=None)
        assert found.is_shown == (found.low > 0)
        within = judged(one, other, sides="not-worse", margin="0.3 bit/s")
        assert within.is_shown == (within.low > -0.3)


def test_false_answers_are_as_rare_as_promised():
    """At the edge of the margin, at most one answer in twenty is a false yes."""
    rng = np.random.default_rng(5)
    for sides, true in (("not-worse", -2.0), ("better", 2.0), ("worse", -2.0)):
        other = rng.normal(100, 3, (2000, 10))
        one = other * (1 + true / 100) + rng.normal(0, 1, other.shape)
        yes = np.mean([judged(a, b, sides=sides, margin="2 %").is_shown for a, b in zip(one, other, strict=True)])
        assert 0.03 < yes < 0.07, sides


@pytest.mark.parametrize(
    ("sides", "margin", "metric", "shift", "said"),
    [
        ("not-worse", "2 %", GOODPUT, -1, "one is at most 2 % worse than other in goodput: 1.000 % (±"),
        ("not-worse", "2 %", GOODPUT, -9, "one is not shown to be at most 2 % worse than other in goodput: 9.0"),
        ("better", "2 %", GOODPUT, 9, "one is more than 2 % better than other in goodput: "),
        ("better", None, GOODPUT, 9, "one is better than other in goodput: "),
        ("worse", "5 s", RTT, 9, "one is more than 5 s worse than other in rtt: "),
        ("better", "5 s", RTT, 9, "one is not shown to be more than 5 s better than other in rtt: "),
        ("two", "5 s", RTT, 9, "one is slower than other in rtt: 9.00 % (±"),
        ("two", "5 s", RTT, 2, "no difference that matters (2.00 %) in rtt between one and other"),
        ("two", "5 %", GOODPUT, 1, "no difference that matters (1.00 %) in goodput between one and other"),
        ("two", "1 %", GOODPUT, 1, "one gets 1.000 % (±"),
        ("two", None, GOODPUT, 0.5, "one gets 0.50"),
    ],
)
def test_sentences_say_the_question_and_the_amount(sides, margin, metric, shift, said):
    other = np.array([99.0, 100, 101, 100, 99, 101])
    noise = np.array([0.1, -0.1, 0.05, -0.05, 0.02, -0.02])
    found = judged(other + shift + noise, other, metric, sides=sides, margin=margin)
    text = statement("one", "other", found, metric)
    assert text.startswith(said), text
    assert "{" not in sentence("one", "other", {"1": found, "2": found}, metric)


def test_settings_without_a_difference_that_matters_are_named_together():
    other = np.array([99.0, 100, 101, 100, 99, 101])
    pairs = [(other + shift + np.arange(6) / 50, other) for shift in (0.1, 0.3, 9)]
    names = ("1e-4", "1e-3", "1e-2")
    found = dict(zip(names, differences(pairs, Judgement(), GOODPUT), strict=True))
    assert sentence("one", "other", found, GOODPUT) == (
        "one gets 9.050 % (±0.054 %) more goodput than other at 1e-2; "
        "no difference that matters at 1e-4 and 1e-3 (at most 0.350 %)"
    )
    few = {name: each for name, each in found.items() if name != "1e-2"}
    assert sentence("one", "other", few, GOODPUT) == (
        "no difference that matters in goodput between one and other at 1e-4 and 1e-3 (at most 0.350 %)"
    )


def test_a_wide_interval_is_not_called_a_difference_that_does_not_matter():
    """It is only where the whole interval is within the margin. One run has no interval."""
    other = np.array([99.0, 100, 101, 100, 99, 101])
    wide = judged(other + np.array([3.0, -3, 2, -2, 1, -0.5]), other)
    assert statement("one", "other", wide, GOODPUT) == "no difference in goodput can be shown between one and other"
    edge = judged(other + 0.9 + np.array([0.3, -0.3, 0.2, -0.2, 0.1, -0.1]), other)
    assert edge.is_shown
    assert edge.value / edge.base < 0.01 < edge.high / edge.base
    assert statement("one", "other", edge, GOODPUT).startswith("one gets 0.90 % (±0.25 %) more goodput")
    alone = judged(other[:1] + 0.5, other[:1])
    assert statement("one", "other", alone, GOODPUT).startswith("in this one run, no difference that matters (0.505 %)")


@pytest.mark.parametrize("verb", [bp.compare, bp.mix, bp.tune, bp.twin])
def test_a_plain_number_is_no_margin(verb):
    """It would be bit/s in one verb, a share in another, and seconds for the next metric."""
    for number in (0.02, 5, "0.02"):
        given = {"geo": "geo", "cc": ["reno", "cubic"]} if verb in (bp.compare, bp.mix) else {"geo": "geo"}
        with pytest.raises(BentpipeError, match=r"margin(.|\n)*expected a share"):
            verb(given.pop("geo"), **given, margin=number)


def test_all_verbs_have_one_margin():
    """Only `twin` differs, for the reason on its page."""
    import inspect

    for verb in (bp.compare, bp.sweep, bp.mix):
        assert inspect.signature(verb).parameters["margin"].default == Judgement.margin == "1 %"
    properties = bp.schema()["$defs"]["Tune"]["properties"]
    assert properties["margin"]["default"] == Judgement.margin


def test_sentences_of_several_settings_name_those_with_a_yes():
    other = np.array([99.0, 100, 101, 100, 99, 101])
    asked = Judgement(against="other", sides="not-worse", margin="2 %")
    pairs = [(other + shift + np.arange(6) / 50, other) for shift in (-1, -9)]
    found = dict(zip(("1e-3", "1e-2"), differences(pairs, asked, GOODPUT), strict=True))
    assert sentence("one", "other", found, GOODPUT) == (
        "one is at most 2 % worse than other in goodput at 1e-3; "
        "one is not shown to be at most 2 % worse than other in goodput at 1e-2"
    )


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"sides": "both"}, "known: two, better, worse, not-worse"),
        ({"sides": "not-worse", "margin": None}, "needs a margin"),
        ({"margin": "soon"}, "expected a margin above 0"),
        ({"margin": 0}, "expected a margin above 0"),
        ({"margin": float("nan")}, "expected a margin above 0"),
        ({"margin": True}, "expected a margin above 0"),
        ({"sides": "better", "confidence": 0.4}, "expected more than 0.5"),
    ],
)
def test_what_makes_no_judgement_is_refused(asked, words):
    with pytest.raises(BentpipeError, match=words):
        Judgement(**asked)


def test_sides_need_a_baseline_and_a_margin_a_metric_of_its_unit(written):
    with pytest.raises(BentpipeError, match="needs a baseline"):
        bp.compare(written, ["reno", "sack"], sides="better")
    with pytest.raises(BentpipeError, match=r"no metric has this unit: goodput \(bit/s\)"):
        bp.compare(written, ["reno", "sack"], margin="20 ms")
    with pytest.raises(BentpipeError, match="needs a baseline"):
        bp.sweep(written, {"tcp.cc": ["reno", "sack"]}, sides="worse")
    found = bp.compare(written, ["reno", "sack"], margin="20 ms", metric="rtt,goodput", replications=3, jobs=1)
    assert "the margin 20 ms has another unit than goodput: no margin there" in found.notes


def test_comparison_report_and_command_ask_the_same(written, invoked):
    options = ["--against", "reno", "--sides", "not-worse", "--margin", "3%", "-n", "4", "-j", "1"]
    told = invoked("compare", written, "--cc", "reno,sack,veno", *options, "--store", "kept")
    called = bp.compare(
        written, ["reno", "sack", "veno"], against="reno", sides="not-worse", margin="3%", replications=4, jobs=1
    )
    assert told["statements"] == called.statements
    assert all("at most 3 % worse than reno in goodput" in each for each in called.statements)
    assert (told["provenance"]["sides"], told["provenance"]["margin"]) == ("not-worse", "3%")
    written_page = report("kept")
    assert written_page.statements[: len(called.statements)] == called.statements
    assert "at most 3 % worse than the other" in written_page.page.read_text()
    again = invoked(*shlex.split(bp.Comparison.load("kept").command())[1:])
    assert again["statements"] == told["statements"]
    assert again["differences"] == told["differences"]


def test_sweep_report_and_command_ask_the_same(written, invoked):
    vary = ["--vary", "tcp.cc=reno,sack", "--vary", "link.l.delay=10ms,90ms"]
    options = ["--against", "reno", "--sides", "better", "--statistic", "median", "-n", "6", "-j", "1"]
    told = invoked("sweep", written, *vary, *options, "--store", "kept")
    assert "better than reno in goodput" in told["statements"][0]
    assert report("kept").statements[: len(told["statements"])] == told["statements"]
    again = invoked(*shlex.split(bp.Sweep.load("kept").command())[1:], "--store", "again")
    assert (again["statements"], again["differences"]) == (told["statements"], told["differences"])


def test_the_best_and_the_ranking_are_judged_in_both_directions(written):
    vary = {"tcp.cc": ["reno", "sack", "veno"]}
    plain = bp.sweep(written, vary, against="reno", replications=4, jobs=1)
    sided = replace(plain, facts={**plain.facts, "sides": "better"})
    assert sided.ranking("goodput") == plain.ranking("goodput")
    assert sided.choices("goodput") == plain.choices("goodput")
    assert sided.contrasts("goodput") != plain.contrasts("goodput")
    assert set(SIDES) == {"two", "better", "worse", "not-worse"}

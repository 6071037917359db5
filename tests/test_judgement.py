"""One judgement: a comparison, its report, its loaded store and the command that repeats it agree."""

import json
import os
import random
import shlex
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe.errors import BentpipeError
from bentpipe.experiment.report import report
from bentpipe.experiment.results.comparison import Comparison
from bentpipe.experiment.results.swept import OfComparison
from bentpipe.statistics.comparing import differences
from bentpipe.statistics.judgement import CORRECTIONS, DEFAULT, STATISTICS, Judgement

pytestmark = pytest.mark.usefixtures("undrawn")

CASES = """
[case."two; or three"]
tcp.initial_window = "2 segments"
[case.ten]
tcp.initial_window = "10 segments"
"""
NAMES = ("newreno", "sack", "westwood", "veno")
TABLES = 40 if os.environ.get("BENTPIPE_ALL") else 16
"""Number of random comparisons. Each has a report."""
ASKED = {
    "defaults": {"cc": NAMES, "replications": 5},
    "median": {"cc": NAMES[:3], "replications": 7, "statistic": "median", "confidence": 0.8, "correction": "none"},
    "against": {"cc": NAMES[:3], "against": "sack", "correction": "bh", "confidence": 0.9, "metric": "goodput,rtt"},
    "cases": {"statistic": "median", "against": "ten", "replications": 6},
    "given cases": {"cases": {"one": {"tcp.initial_window": "1 segment"}, "plain": {}}, "confidence": 0.99},
    "until": {"cc": NAMES[:2], "replications": 3, "replications_max": 6, "until": "goodput=1%", "confidence": 0.5},
}


@pytest.fixture(scope="module")
def lossy(lossy):
    return lossy + CASES


@pytest.fixture(scope="module")
def ran(lossy):
    return bp.compare(bp.loads(lossy), NAMES, replications=6, jobs=1)


def invented(ran, rng):
    """Make a comparison with random values, some of them missing, and a random judgement."""
    values = np.random.default_rng(rng.randrange(2**32)).normal(1e6, rng.choice([0, 1e4, 2e5]), ran.sweep.runs.height)
    better = np.array([1 + 0.1 * rng.random() * NAMES.index(name) for name in ran.sweep.runs["tcp.cc"]])
    missing = np.array([rng.random() < rng.choice([0, 0.1]) for _ in values])
    goodput = pl.Series("goodput_bps", np.where(missing, np.nan, values * better)).fill_nan(None)
    judgement = Judgement(
        rng.choice(STATISTICS), rng.choice([0.5, 0.8, 0.95]), rng.choice(CORRECTIONS), rng.choice([None, *NAMES])
    )
    sweep = replace(
        ran.sweep,
        runs=ran.sweep.runs.with_columns(goodput).filter(pl.lit(rng.random() < 0.7) | (pl.col("replication") < 5)),
        facts={**ran.sweep.facts, **judgement.to_dict()},
    )
    return Comparison.from_sweep(sweep, ran.scenario, ran.scenarios)


def test_a_report_says_what_its_comparison_says(ran):
    rng = random.Random(7)
    shown = 0
    for _ in range(TABLES):
        comparison = invented(ran, rng)
        reporter = OfComparison(comparison)
        page = reporter.page()
        assert reporter.said == comparison.statements
        html = page.html()
        assert comparison.judgement.level in html
        (table,) = [each for each in reporter.tables if each.name == "differences-goodput"]
        of_goodput = comparison.differences.filter(pl.col("metric") == "goodput")
        for column in ("of", "other", "replications", "p", "p_adjusted", "is_shown", "effect"):
            assert table.data[column].to_list() == of_goodput[column].to_list(), column
        # The ranking shows only differences that the table shows.
        worse = {NAMES[each.point] for each in reporter.ranking("goodput") if each.is_worse}
        best, *_ = comparison.order_cases("goodput")
        pairs = {frozenset(row[:2]) for row in of_goodput.filter("is_shown").select("of", "other").iter_rows()}
        assert all(frozenset((best, other)) in pairs for other in worse)
        shown += len(pairs)
    assert shown >= TABLES


def arguments(asked):
    """Write the options of the command line."""
    options = []
    for name, value in asked.items():
        if name == "cases":
            sets = [f"{case}: {'; '.join(f'{k}={v}' for k, v in each.items())}" for case, each in value.items()]
            options += [part for each in sets for part in ("--case", each)]
        else:
            text = ",".join(value) if isinstance(value, tuple) else str(value)
            options += [f"--{name.replace('_', '-')}", text]
    return options


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_its_store_and_its_command_say_it_again(written, invoked, tmp_path, asked):
    said = invoked("compare", written, *arguments(asked), "--store", "kept", "--jobs", "1")
    whole = Comparison.load("kept")
    whole.save("saved")
    reported = report("kept")
    assert reported.statements[: len(said["statements"])] == said["statements"]
    for folder in ("kept", "saved"):
        again = Comparison.load(folder)
        assert again.statements == said["statements"]
        assert json.loads(json.dumps(again.differences.to_dicts())) == said["differences"]
    command = shlex.split(json.loads((reported.folder / "provenance.json").read_text())["command"])
    assert command[:2] == ["bentpipe", "compare"]
    repeated = invoked(*command[1:])
    for part in ("statements", "differences"):
        assert repeated[part] == said[part], part
    for part in (*DEFAULT.to_dict(), "replications"):
        assert repeated["provenance"][part] == said["provenance"][part], part
    assert shlex.split(whole.command()) == command


def test_a_report_can_be_against_another_one_and_its_command_says_so(written, invoked):
    invoked("compare", written, "--cc", "newreno,sack,veno", "-n", "3", "-j", "1", "--store", "kept")
    reported = report("kept", against="veno")
    command = json.loads((reported.folder / "provenance.json").read_text())["command"]
    assert invoked(*shlex.split(command)[1:])["statements"] == reported.statements
    with pytest.raises(BentpipeError, match="cubic"):
        report("kept", against="cubic")


def test_a_sweep_and_a_mix_are_judged_as_asked_and_their_commands_say_so(written, invoked):
    judged = ["--confidence", "0.8", "--correction", "none"]
    options = ["--vary", "tcp.cc=newreno,sack", "-n", "6", "-j", "1", "--statistic", "median", *judged]
    swept = invoked("sweep", written, *options, "--store", "kept")
    reported = report("kept")
    command, _, _ = json.loads((reported.folder / "provenance.json").read_text())["command"].partition(" && ")
    assert reported.statements == swept["statements"]
    assert invoked(*shlex.split(command)[1:])["statements"] == swept["statements"]
    mixed = invoked("mix", written, "--cc", "newreno,ten", "-n", "3", "-j", "1", *judged, "--store", "m")
    command = json.loads((report("m").folder / "provenance.json").read_text())["command"]
    assert " ".join(judged) in command
    assert invoked(*shlex.split(command)[1:])["statements"] == mixed["statements"]


def test_a_store_of_before_there_was_a_judgement_opens():
    assert Judgement.from_facts({"confidence": 0.8, "correction": "bh", "verb": "compare"}) == Judgement(
        "mean", 0.8, "bh"
    )
    assert Judgement.from_facts({"against": None}) == DEFAULT


def test_a_confidence_may_be_a_percentage():
    assert Judgement(confidence="90 %") == Judgement(confidence=0.9)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"statistic": "mode"}, "known: mean, median"),
        ({"correction": "bonferroni"}, "known: holm, bh, none"),
        ({"margin": "500 %"}, "expected a share below 100 %"),
        ({"confidence": 1}, "confidence: 1 is not a share"),
        ({"confidence": float("nan")}, "confidence: nan is not a share"),
    ],
)
def test_mistakes_are_said(wrong, said):
    with pytest.raises(BentpipeError, match=said):
        Judgement(**wrong)
    with pytest.raises(BentpipeError, match=said):
        bp.sweep("geo", {"tcp.cc": ["cubic", "sack"]}, **wrong)


def test_what_is_shown_depends_on_the_confidence():
    pairs = [(np.array([1.0, 2, 3, 4, 9]), np.zeros(5))]
    (p,) = [each.p for each in differences(pairs)]
    assert [differences(pairs, Judgement(confidence=1 - level))[0].is_shown for level in (p * 1.01, p * 0.99)] == [
        True,
        False,
    ]


def test_a_confidence_of_nearly_one_is_refused():
    assert Judgement(confidence=0.999999).confidence == 0.999999
    for nearly in (0.9999999999999999, "99.99999999 %"):
        with pytest.raises(BentpipeError, match=r"is too near to 1: .*\n  expected at most 0.999999"):
            Judgement(confidence=nearly)

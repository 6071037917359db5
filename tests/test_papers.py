"""The paper pack: every claim is there, verdicts follow from numbers, and the pages say what was measured."""

import csv
import importlib
import inspect
import io
import json
import math
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import bentpipe as bp
from bentpipe.catalog import choices
from bentpipe.cli import render
from bentpipe.errors import BentpipeError
from bentpipe.papers import claims, fingerprint, pages, summary, verdicts
from bentpipe.papers import lab as lab_module
from bentpipe.papers.claims import Criterion
from bentpipe.papers.lab import Finding, Lab, Possible
from bentpipe.papers.reproduce import Reproduced

ROOT = Path(__file__).resolve().parents[1]
CLAIMS = ROOT.parent / "shared" / "specs" / "claims.md"
PREFIXES = {
    "been": ("BEEN", 47),
    "hswa": ("HSWA", 35),
    "timers": ("TIMER", 39),
    "geo": ("GEO", 41),
    "refwa": ("REF", 32),
}
PAPERS = [claims.paper(name) for name in claims.names()]


def test_every_paper_has_all_its_claims_in_order():
    assert {paper.name for paper in PAPERS} == PREFIXES.keys()
    for paper in PAPERS:
        prefix, count = PREFIXES[paper.name]
        assert [claim.id for claim in paper.claims] == [f"{prefix}-{k:02}" for k in range(1, count + 1)]
    assert sum(len(paper.claims) for paper in PAPERS) == 194


@pytest.mark.skipif(not CLAIMS.is_file(), reason=f"no list of claims at {CLAIMS}")
def test_the_claims_are_those_of_the_specification():
    text = CLAIMS.read_text()
    found = set(re.findall(r"^\| ((?:BEEN|HSWA|TIMER|GEO|REF)-\d+) ", text, re.MULTILINE))
    for prefix, first, last in re.findall(r"^\| (\w+)-(\d+)\.\.(\d+) ", text, re.MULTILINE):
        found |= {f"{prefix}-{k:02}" for k in range(int(first), int(last) + 1)}
    assert found == {claim.id for paper in PAPERS for claim in paper.claims}


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_what_claims_and_figures_name_is_there(paper):
    measures = importlib.import_module(f"bentpipe.papers.{paper.name}.measures")
    topics = choices().keys()
    for claim in (part for whole in paper.claims for part in whole.parts or (whole,)):
        for name in filter(None, (claim.measure, claim.possible)):
            for reading in claim.readings:
                # As it will be called.
                inspect.signature(getattr(measures, name)).bind(None, **reading.arguments)
        assert claim.measure is not None or claim.needs, claim.id
        # What is sought under a topic that does not exist would be missing for ever.
        assert {need.partition(":")[0] for need in claim.needs} <= topics, claim.id
        assert claim.statement.endswith((".", "?")), claim.id
        assert claim.how, claim.id
        assert claim.where, claim.id
    figures = importlib.import_module(f"bentpipe.papers.{paper.name}.figures")
    assert all(callable(getattr(figures, figure.draw)) for figure in paper.figures)
    assert all(bp.load(path) for path in paper.folder.glob("*.toml") if path.stem not in ("claims", "paper"))


def test_every_claim_says_what_passes_before_it_can_be_measured():
    parts = [part for paper in PAPERS for claim in paper.claims for part in claim.parts or (claim,)]
    assert [f"{part.id} {part.part}" for part in parts if part.criterion is None] == []


def test_a_part_that_needs_a_feature_does_not_borrow_the_measure_of_another():
    whole = {"statement": "S.", "where": "W", "how": "H", "measure": "m", "passes": {"above": 0}}
    parts = [{"name": "one"}, {"name": "two", "needs": ["cc:no-such-sender"]}]
    one, two = claims._claim("X", {**whole, "parts": parts}, []).parts
    assert (one.measure, two.measure) == ("m", None)


def criterion(**passes):
    return claims._criterion("X", passes, 10.0)


def test_a_band_is_met_by_a_whole_interval_only():
    band = criterion(within="10 %")
    assert verdicts.passes(Finding(10, 9.5, 10.5, 5), band) is True
    assert verdicts.passes(Finding(10, 8.9, 10.5, 5), band) is None
    assert verdicts.passes(Finding(8, 7.5, 8.5, 5), band) is False
    assert verdicts.passes(Finding.exact(9.0), band) is True
    assert verdicts.passes(Finding.exact(11.5), band) is False


def test_what_has_no_effect_is_not_above_nothing():
    assert verdicts.passes(Finding.exact(0.0), criterion(above=0)) is False
    assert verdicts.passes(Finding.exact(1e-9), criterion(above=0)) is True
    assert verdicts.passes(Finding.exact(1.0), criterion(below=1)) is False
    assert verdicts.passes(Finding(0.0, -1.0, 1.0, 5), criterion(above=0)) is None


def test_what_is_missing_or_has_no_interval_decides_nothing():
    band = criterion(above=0)
    assert verdicts.passes(Finding.mean([5.0]), band) is None
    assert verdicts.passes(Finding.mean([5.0, 6.0, 7.0]), band) is True
    assert verdicts.passes(Finding.mean([5.0, 6.0, None]), band) is None
    assert verdicts.passes(Finding.mean([None, None]), band) is None
    assert verdicts.passes(Finding.exact(float("inf")), band) is None
    assert verdicts.passes(Finding.exact(float("nan")), band) is None


def test_a_run_that_sent_nothing_widens_a_share_by_no_more_than_it_can():
    share = importlib.import_module("bentpipe.papers.packs.been.measures").share
    sent = [42.0, 44.0] * 200
    whole, open_ = share(np.array(sent)), share(np.array([*sent, math.nan]))
    assert whole == Finding.mean(sent)
    assert open_.value == pytest.approx(43)
    # One of 401 runs can move the mean by 43 / 401 down or 57 / 401 up.
    assert whole.low - open_.low == pytest.approx(43 / 401, abs=0.15)
    assert 57 / 401 < open_.high - whole.high < 0.5
    assert verdicts.passes(open_, criterion(below=45)) is True
    assert verdicts.passes(share(np.array([math.nan, 43.0])), criterion(below=45)) is None


def test_claims_that_are_written_wrong_are_refused():
    entry = {"statement": "S.", "where": "W", "how": "H", "measure": "m", "printed": 1, "passes": {"within": "1 %"}}
    assert claims._claim("X", entry, []).criterion == Criterion(0.99, 1.01, False, "1 ± 1 %")
    for wrong in (
        {"posible": "p"},
        {"needs": ["hswa"]},
        {"measure": None},
        {"passes": {"between": [2, 1]}},
        {"passes": {"close": 1}},
        {"printed": "some", "possible": "p", "passes": {"above": 0}},
        {"by": "hand"},
    ):
        with pytest.raises(ValueError, match="X"):
            claims._claim("X", {**entry, **wrong}, [])


class Measures:
    """A paper's measures, with the value that a reading gives."""

    @staticmethod
    def measured(lab, value=None, bound=None, **others):
        return Finding.exact(value)

    @staticmethod
    def other(lab, other=None, **others):
        return Finding.exact(other)

    @staticmethod
    def scattered(lab, values):
        return Finding.mean(values)

    @staticmethod
    def bounded(lab, value, bound=None):
        return Possible(-1e9, 1e9 if bound is None else bound, f"at most {bound}")

    @staticmethod
    def bounded_by_a_packet_more(lab, value, bound):
        return Possible(0, bound, f"at most {bound}", slack=1)


@pytest.fixture
def judge(monkeypatch):
    """Judges a claim of 10 ± 1 by the values of its readings."""
    monkeypatch.setattr(importlib, "import_module", lambda name: Measures)

    def judged(*readings, **more):
        named = [{"name": f"reading {k}", **arguments} for k, arguments in enumerate(readings)]
        entry = {"statement": "S.", "where": "W", "how": "H", "printed": 10, "measure": "measured", "why": "because"}
        entry |= {"passes": {"within": 1}} | ({"readings": named} if named else {}) | more
        return verdicts.judge(PAPERS[0], claims._claim("X-1", entry, []), Lab(Path()))

    return judged


def test_verdicts_follow_from_values(judge):
    assert judge({"value": 10}).text == "reproduced"
    assert judge({"value": 5}).text == "not reproduced"
    assert judge({"value": 5}).detail == "because"
    assert judge({"value": 5}, {"value": 10}).text == "reproduced under reading reading 1"
    assert judge({"value": 10}, {"value": 5}).text == "reproduced"
    assert judge({"value": 5}, {"value": math.inf}).text == "undecided"


def test_arithmetic_goes_before_tolerance(judge):
    close = judge({"value": 9.2, "bound": 9.5}, possible="bounded")
    assert (close.text, close.detail) == ("impossible as printed", "at most 9.5. because")
    assert close.found[0].passes
    assert not close.found[0].holds
    assert judge({"value": 9.2, "bound": 9.5}, {"value": 10}, possible="bounded").text.endswith("reading 1")
    with pytest.raises(BentpipeError, match=r"measured 12\.0, but at most 11"):
        judge({"value": 12, "bound": 11}, possible="bounded")


def test_a_possible_reading_goes_before_impossible(judge):
    impossible = {"value": 9.2, "bound": 9.5}
    failed = judge(impossible, {"value": 5}, possible="bounded")
    assert failed.text == "not reproduced"
    assert failed.detail == "impossible reading 0: at most 9.5; in the possible readings: not reproduced. because"
    assert failed.shown.reading.name == "reading 1", "the impossible one comes closer, but decides nothing"
    assert judge(impossible, {"value": math.inf}, possible="bounded").text == "undecided"
    assert judge(impossible, impossible, possible="bounded").text == "impossible as printed"
    held = judge(impossible, {"value": 10}, possible="bounded")
    assert held.detail == "impossible reading 0: at most 9.5. because"


def test_a_packet_across_the_edge_of_the_time_measured_is_no_contradiction(judge):
    assert judge({"value": 11, "bound": 10.5}, possible="bounded_by_a_packet_more").text == "reproduced"
    with pytest.raises(BentpipeError, match=r"measured 11\.6"):
        judge({"value": 11.6, "bound": 10.5}, possible="bounded_by_a_packet_more")
    # What is printed has no such excuse.
    assert judge({"value": 9, "bound": 9.5}, possible="bounded_by_a_packet_more").text == "impossible as printed"


def test_what_needs_a_feature_is_open_unless_arithmetic_rules_it_out(judge):
    needs = ("cc:no-such-sender",)
    assert judge({"value": 10}, needs=needs).text == "needs no-such-sender"
    assert judge({"value": 10}, needs=needs).is_open
    assert judge({"value": 9, "bound": 9}, possible="bounded", needs=needs).text == "impossible as printed"
    assert judge({"value": 9, "bound": 9}, {"value": 9}, possible="bounded", needs=needs).text.startswith("needs")
    # A feature that is there is no excuse.
    assert judge({"value": 5}, needs=("cc:reno",)).text == "not reproduced"


BOTH = ({"name": "one"}, {"name": "two", "measure": "other"})
ONE_NEEDS = ({"name": "one"}, {"name": "two", "needs": ["middlebox:no-such-box"]})


def test_parts_are_judged_apart(judge):
    half = judge({"value": 10, "other": 5}, parts=BOTH)
    assert (half.text, half.detail) == ("in part", "holds: one; not reproduced: two. because")
    assert [(part.claim.part, part.kind) for part in half.parts] == [("one", "reproduced"), ("two", "not reproduced")]
    assert judge({"value": 10, "other": 10}, parts=BOTH).text == "reproduced"
    assert judge({"value": 5, "other": 5}, parts=BOTH).detail == "not reproduced: one, two. because"
    assert judge({"value": 5, "other": 5}, parts=BOTH).text == "not reproduced"
    assert judge({"value": math.inf, "other": math.inf}, parts=BOTH).text == "undecided"
    # It stands or falls with the worst of its parts.
    assert judge({"value": 5, "other": math.inf}, parts=BOTH).text == "not reproduced"


def test_a_part_that_needs_a_feature_hides_nothing_that_can_be_measured(judge):
    half = judge({"value": 10}, parts=ONE_NEEDS)
    assert (half.text, half.detail) == ("in part", "holds: one; needs no-such-box: two. because")
    assert judge({"value": 5}, parts=ONE_NEEDS).text == "not reproduced"
    none = judge({"value": 5}, parts=ONE_NEEDS[1:])
    assert (none.text, none.is_open) == ("needs no-such-box", True)


def test_a_claim_is_reproduced_only_where_all_its_parts_hold_in_the_same_reading(judge):
    apart = judge({"value": 10, "other": 5}, {"value": 5, "other": 10}, parts=BOTH)
    assert (apart.text, apart.detail) == (
        "in part",
        "in no reading together: one (reading 0), two (reading 1). because",
    )
    maybe = judge({"value": 10, "other": math.inf}, {"value": 5, "other": 10}, parts=BOTH)
    assert maybe.detail.startswith("not decided whether in one reading: one (reading 0), two (reading 1)")
    together = judge({"value": 10, "other": 5}, {"value": 10, "other": 10}, parts=BOTH)
    assert together.text == "reproduced under reading reading 1"
    # A part with nothing but readings of its own goes with any of the claim's.
    own = (*BOTH[:1], {"name": "two", "readings": [{"name": "a", "value": 5}, {"name": "b", "value": 10}]})
    assert judge({"value": 5}, {"value": 10}, parts=own).text == "reproduced under reading reading 1; b"
    assert judge({"value": 10}, {"value": 5}, parts=own).text == "reproduced under reading b"


def test_a_part_takes_what_it_does_not_say_from_the_claim(judge):
    parts = ({"name": "one"}, {"name": "two", "printed": 5, "statement": "T.", "passes": {"within": 0.5}})
    first, second = judge({"value": 5, "bound": 20}, possible="bounded", parts=parts).parts
    assert (first.claim.statement, first.claim.value, first.claim.possible) == ("S.", 10, "bounded")
    assert (second.claim.statement, second.claim.value, second.claim.possible) == ("T.", 5, None)
    assert (first.kind, second.kind) == ("not reproduced", "reproduced")
    with pytest.raises(ValueError, match="a part with unknown keys: where"):
        judge({"value": 5}, parts=({"name": "one", "where": "W"},))


def test_a_reason_is_shown_for_the_verdicts_that_it_was_written_for_only(judge):
    assert judge({"value": 10}).detail == ""
    why = {"not reproduced": "too little"}
    assert judge({"value": 5}, why=why).detail == "too little"
    assert judge({"value": 5}, {"value": 10}, why=why).detail == ""
    with pytest.raises(ValueError, match="unknown verdicts: wrong"):
        judge({"value": 5}, why={"wrong": "x"})


def test_a_single_run_has_an_interval_of_its_own(judge):
    found = Finding.mean([1.0, 2.0, 3.0])
    # t(2, 0.975) = 4.303, s = 1, sqrt(1 + 1/3) = 1.155.
    assert found.one_run == pytest.approx((2 - 4.303 * 1.155, 2 + 4.303 * 1.155), abs=2e-3)
    assert Finding.mean([1.0, 2.0]).one_run is None
    assert Finding.exact(1.0).one_run is None


def test_what_fits_one_run_is_said_and_changes_no_verdict(judge):
    wide, narrow = {"values": [4.0, 8.0] * 50}, {"values": [5.9, 6.1] * 50}
    shown = {"measure": "scattered", "one_run": True}
    fits, does_not = judge(wide, **shown), judge(narrow, **shown)
    assert (fits.kind, does_not.kind) == ("not reproduced", "not reproduced")
    assert (fits.found[0].fits_one_run, does_not.found[0].fits_one_run) == (True, False)
    assert judge(wide, measure="scattered").found[0].fits_one_run is None
    assert "Compatible with one run: 1.99 to 10." in "\n".join(pages.claim(fits))
    assert "Not compatible with one run: 5.8 to 6.2." in "\n".join(pages.claim(does_not))


class World(Lab):
    """A laboratory in which something is other than the paper has it."""

    def __init__(self, folder, changes):
        super().__init__(folder, jobs=1)
        self.changes = changes

    def load(self, name, sets=None, *, case=None):
        return super().load(name, {**(sets or {}), **self.changes}, case=case)


def real(id_, world=(), **altered):
    """The verdict on a claim of the pack that is altered, or whose world is."""
    paper = next(each for each in PAPERS if any(claim.id == id_ for claim in each.claims))
    readings = [claims._reading(each) for each in claims._read(paper.name, "paper.toml").get("readings", [])]
    entry = claims._read(paper.name, "claims.toml")[id_]
    with World(paper.folder, dict(world)) as lab:
        return verdicts.judge(paper, claims._claim(id_, {**entry, **altered}, readings), lab)


@pytest.mark.parametrize(
    ("id_", "kind", "altered", "other_kind"),
    [
        ("BEEN-02", "reproduced under reading", {"printed": 70}, "reproduced under reading"),
        ("BEEN-06", "reproduced", {"with": {"rates": [1e-6, 1e-3], "printed_bytes": [2240, 70]}}, "not reproduced"),
        ("BEEN-22", "in part", {"printed": 3}, "not reproduced"),
        ("GEO-10", "impossible as printed", {"value": 2.17}, "reproduced under reading"),
        ("GEO-20", "impossible as printed", {"printed": 52.46}, "reproduced"),
        ("GEO-21", "impossible as printed", {"printed": 23.78}, "reproduced"),
        ("GEO-31", "reproduced", {"value": 31}, "not reproduced"),
        ("REF-13", "needs", {"value": 80}, "impossible as printed"),
        ("REF-25", "impossible as printed", {"value": 0.1}, "reproduced"),
        ("TIMER-12", "reproduced under reading", {"printed": 0.3}, "not reproduced"),
        ("TIMER-15", "impossible as printed", {"value": 0}, "reproduced"),
    ],
)
def test_another_number_in_print_is_another_verdict(id_, kind, altered, other_kind):
    was, became = real(id_), real(id_, **altered)
    assert (was.kind, became.kind) == (kind, other_kind)
    assert (was.kind, was.reading) != (became.kind, became.reading)


@pytest.mark.parametrize(
    ("id_", "world"),
    [
        ("GEO-17", {"link.geo.delay": "135 ms"}),  # half the way
        ("GEO-31", {"tcp.ack": {"every": 2}}),
        ("GEO-03", {"tcp.ack.delay": "1 ms"}),  # nothing to save
        ("TIMER-12", {"tcp.ack.every": 1}),  # no ACK waits
        ("TIMER-37", {"link.pass.rate": "2.048 Mbit/s"}),
    ],
)
def test_in_another_world_a_claim_does_not_hold(id_, world):
    assert real(id_).kind in ("reproduced", "reproduced under reading")
    assert real(id_, world).kind == "not reproduced"


def test_tracking_does_not_hang_on_the_granularity():
    # A control that keeps its verdict: the claim names no granularity.
    assert real("TIMER-16", **{"with": {"granularity": "500 ms"}}).kind == "reproduced"


def test_an_undecided_claim_is_given_more_runs_at_full_scale_up_to_a_bound(judge, monkeypatch):
    seen = []

    def measured(lab, needed):
        seen.append(lab.scale)
        # Half as wide with each doubling.
        width = needed / lab.scale
        return Finding(10, 10 - width, 10 + width, len(lab.seeds(3, 5)))

    monkeypatch.setattr(Measures, "measured", measured)

    def decided(needed, is_full):
        seen.clear()
        named = [{"name": "as printed", "needed": needed}]
        entry = {"statement": "S.", "where": "W", "how": "H", "printed": 10, "measure": "measured", "readings": named}
        lab = Lab(Path(), is_full=is_full)
        verdict = verdicts.decide(PAPERS[0], claims._claim("X-1", {**entry, "passes": {"within": 1}}, []), lab)
        assert lab.scale == 1, "for the next claim"
        return verdict

    assert (decided(3, is_full=True).kind, seen) == ("reproduced", [1, 2, 4])
    assert decided(3, is_full=True).found[0].finding.replications == 20
    assert (decided(20, is_full=True).kind, seen) == ("undecided", [1, 2, 4])
    assert (decided(3, is_full=False).kind, seen) == ("undecided", [1])
    assert (decided(math.inf, is_full=True).kind, seen) == ("undecided", [1, 2, 4])


def test_more_runs_are_not_tried_where_they_cannot_decide(judge, monkeypatch):
    for found in (Finding.mean([10, 9, None]), Finding(10, 8, 12, 1)):
        scales = []
        monkeypatch.setattr(Measures, "measured", lambda lab, found=found, scales=scales: scales.append(lab) or found)
        entry = {"statement": "S.", "where": "W", "how": "H", "printed": 10, "measure": "measured"}
        claim = claims._claim("X-1", {**entry, "passes": {"within": 1}}, [])
        assert verdicts.decide(PAPERS[0], claim, Lab(Path(), is_full=True)).kind == "undecided"
        assert len(scales) == 1


def test_the_scale_multiplies_replications_of_sweeps_and_of_single_runs():
    paper = claims.paper("hswa")
    with Lab(paper.folder, jobs=1) as lab:
        lab.scale = 2
        sets = {"duration": "1 s"}
        assert list(lab.seeds(3, 10)) == [1, 2, 3, 4, 5, 6]
        assert len(lab.sweep("bent-pipe", sets, vary={}, replications=2).runs) == 4
        assert len(lab.sweep("bent-pipe", sets, vary={}, replications=1).runs) == 1
        assert len(lab.sweep("bent-pipe", sets, vary={}, replications=2, is_scaled=False).runs) == 2


def test_traces_are_kept_up_to_a_bound(monkeypatch):
    with Lab(claims.paper("hswa").folder) as lab:

        def trace(seed):
            return lab.run("bent-pipe", {"duration": "2 s"}, seed=seed, series=["events"])

        first, second = trace(1), trace(2)
        assert (trace(1), trace(2)) == (first, second), "kept"
        monkeypatch.setattr(lab_module, "TRACES_BYTES_MAX", lab._traces_bytes)
        trace(1)
        trace(3)
        assert trace(1) is first, "asked for last"
        assert trace(2) is not second
        assert lab._traces_bytes == sum(map(lab_module._bytes, lab._traces.values()))


def test_no_measure_has_a_number_of_runs_that_does_not_grow():
    for path in claims.FOLDER.glob("*/*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"for (seed|replication) in (\(|\[|range\((1, )?lab\.choose)", text), path


def test_readings_that_claims_share_are_taken_by_name():
    shared = [claims.Reading("one", {"a": 1}), claims.Reading("two", {"a": 2}), claims.Reading("three", {"a": 3})]
    entry = {"statement": "S.", "where": "W", "how": "H", "measure": "m", "passes": {"above": 0}, "with": {"b": 4}}

    def names(**more):
        return [each.name for each in claims._claim("X", {**entry, **more}, shared).readings]

    assert names() == ["as printed"]
    assert names(shared_readings=True) == ["one", "two", "three"]
    assert names(shared_readings="two") == ["two", "three"]
    assert names(readings=["three", {"name": "own"}]) == ["three", "own"]
    assert claims._claim("X", {**entry, "readings": ["two"]}, shared).readings[0].arguments == {"a": 2, "b": 4}
    for wrong in ({"readings": ["tow"]}, {"shared_readings": "tow"}):
        with pytest.raises(ValueError, match="X has unknown shared readings: tow"):
            claims._claim("X", {**entry, **wrong}, shared)


def reproduced(*found):
    """A paper whose claims have parts that hold, or not, in readings: ID, where, then a dict by reading per part."""
    judged = []
    for id_, where, *parts in found:
        entry = {"statement": "S.", "where": where, "how": "H", "measure": "measured", "passes": {"above": 0}}
        made = []
        for part in parts:
            named = {**entry, "readings": [{"name": name} for name in part]}
            claim = claims._claim(id_, named, [])
            each = [
                verdicts.Found(reading, Finding.exact(1), state)
                for reading, state in zip(claim.readings, part.values(), strict=True)
            ]
            states = [one.holds for one in each]
            kind = "reproduced" if states[0] else "reproduced under reading" if True in states else "not reproduced"
            made.append(verdicts.Verdict(claim, kind, "", "", tuple(each)))
        whole = made[0] if len(made) == 1 else verdicts.Verdict(made[0].claim, "in part", "", "", (), tuple(made))
        judged.append(whole)
    return Reproduced(PAPERS[0], tuple(judged), {})


def test_a_figure_holds_as_a_whole_only_in_one_reading():
    some = reproduced(
        ("X-1", "Fig. 6", {"a": True, "b": False, "c": True}),
        ("X-2", "Fig. 6", {"a": False, "b": True, "c": True}),
        ("X-3", "Section 1, Fig. 6", {"a": True, "b": True, "c": False}),
        ("X-4", "Table II", {"as printed": True}),
        ("X-5", "Table II", {"as printed": False}),
    )
    counts, *places = summary.in_words(some)
    assert counts == (
        "Of 5 claims, 3 hold in the paper's own words, 1 holds in a reading that is named, 1 does not hold."
    )
    assert places == [
        'Figure 6: 2 of 3 claims that were measured hold in one reading ("a"); it holds in no reading as a whole.',
        "Table 2: 1 of 2 claims that were measured hold.",
    ]
    whole = reproduced(*[(f"X-{k}", "Fig. 6", {"a": False, "b": True}) for k in (1, 2)], ("X-3", "Fig. 6", {"z": True}))
    assert list(summary.in_words(whole))[1] == 'Figure 6: all 3 claims that were measured hold in one reading ("b").'


def test_the_table_of_readings_has_what_was_tried():
    some = reproduced(
        ("X-1", "W", {"a": True, "b": None}),
        ("X-2", "W", {"a": True, "b": True}, {"a": False, "b": True}),
        ("X-3", "W", {"b": True, "own": True}),
        ("X-4", "W", {"as printed": True}),
        ("X-5", "W", {"b": False, "a": True}),
    )
    assert summary.by_reading(some) == (
        ["X-1", "X-2", "X-3", "X-5"],
        [("a", ["yes", "no", "", "yes"]), ("b", ["open", "yes", "yes", "no"])],
    )
    assert summary.by_reading(reproduced(("X-1", "W", {"as printed": True}))) is None


def test_bands_are_written_as_people_write_them():
    def band(unit, value=None, **passes):
        entry = {"statement": "S.", "where": "W", "how": "H", "measure": "m", "unit": unit, "passes": passes}
        return pages.band(claims._claim("X", entry | ({"value": value} if value is not None else {}), []))

    assert band("bit/s", 96.98e6, within="5 %") == "96.98 Mbit/s ± 5 %"
    assert band("bit/s", below=5e6) == "below 5 Mbit/s"
    assert band("bit/s", between=[7e6, 9e6]) == "7 to 9 Mbit/s"
    assert band("%", 47.53, within=0.03) == "47.53 % ± 0.03 points"
    assert band("s", 0.06, within=0.001) == "60 ms ± 1 ms"
    assert band("1", 1, within=0) == "1"
    assert band("1", between=[2, 2]) == "2"


def kept_verdicts(text):
    """Verdicts in the table of a page, by claim."""
    return dict(re.findall(r"^\| \[([A-Z]+-\d+)\].* \| ([^|]+) \|$", text, re.MULTILINE))


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_the_pages_in_the_documentation_are_of_what_is_here(paper):
    text = (ROOT / "docs" / "papers" / f"{paper.name}.md").read_text(encoding="utf-8")
    assert f"`{fingerprint.fingerprint(paper)}`" in text, f"stale; run: python validation/papers.py {paper.name}"
    assert f"`bentpipe reproduce {paper.name} --full`" in text
    assert kept_verdicts(text).keys() == {claim.id for claim in paper.claims}


def test_a_fingerprint_is_of_all_that_decides(tmp_path, monkeypatch):
    paper = claims.paper("geo")
    prints = {fingerprint.fingerprint(paper)}
    shutil.copytree(claims.FOLDER, tmp_path / "papers", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(claims, "FOLDER", tmp_path / "papers")
    monkeypatch.setattr(fingerprint, "FOLDER", tmp_path / "papers")
    assert fingerprint.fingerprint(paper) in prints

    def change(path):
        path.write_text(path.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")

    for name in ("geo/claims.toml", "geo/measures.py", "geo/errors.toml", "verdicts.py", "lab.py"):
        change(tmp_path / "papers" / name)
        prints.add(fingerprint.fingerprint(paper))
    change(tmp_path / "papers" / "hswa" / "claims.toml")
    change(tmp_path / "papers" / "webpage.py")
    assert fingerprint.fingerprint(paper) in prints
    monkeypatch.setattr(fingerprint, "RESULTS", -1)
    prints.add(fingerprint.fingerprint(paper))
    assert len(prints) == 7


def test_one_claim_is_measured_alone_and_nothing_written(tmp_path):
    result = bp.reproduce(only=["geo-31", "HSWA-24"], folder=tmp_path)
    assert [each.claim.id for paper in result.papers for each in paper.verdicts] == ["GEO-31", "HSWA-24"]
    assert [path.name for path in tmp_path.iterdir()] in ([], ["runs"])
    with pytest.raises(BentpipeError, match="'HSWA-99' is not a claim of these papers"):
        bp.reproduce(only=["HSWA-99"])
    with pytest.raises(BentpipeError, match="'HSWA-24' is not a claim of these papers"):
        bp.reproduce(["geo"], only=["HSWA-24"])


def test_slow_start_that_all_have_says_nothing_about_scps():
    """Reno and SACK, too, take a seventh of the run to fill the path; HSWA-06 is about more than that."""
    assert real("HSWA-06").kind == "reproduced"
    for cc in ("reno", "sack"):
        assert real("HSWA-06", **{"with": {"cc": cc, "less": "hswa"}}).kind == "not reproduced"


def test_a_mean_over_what_is_not_printed_is_neither_impossible_nor_reproduced():
    verdict = real("HSWA-18")
    assert verdict.kind == "undecided"
    states = {each.reading.name: (bool(each.contradiction), each.holds) for each in verdict.found}
    assert states["mean over 1e-8 to 1e-1"] == (True, False)
    assert states["mean over 1e-5 to 1e-2"] == (True, False)
    assert states["mean over 1e-5 to 1e-1"] == (False, None)
    assert "56 % takes 20 Mbit/s there" in next(
        each.finding.note for each in verdict.found if each.reading.name == "mean over 1e-5 to 1e-1"
    )


def test_packets_of_another_size_or_another_path_keep_windows_and_queues_of_one_product():
    from bentpipe.papers.packs.hswa import formulas, runs

    assert runs.path() == {}
    large = runs.path(segment_bytes=6000)
    assert (large["tcp.smss"], large["link.uplink.queue"]) == ("6000 B", "1061 packets")
    short = runs.settings("hswa", rate=1e-3, is_open=True, rtt_ms=50, handshake=False)
    assert short["link.uplink.delay"] == "10 ms"
    assert (short["tcp.cc"]["cwnd_lim"], short["tcp.handshake"]) == (625, False)
    # Others are published with what they are; packets and path are the same for all.
    other = runs.settings("reno", rate=1e-3, is_open=True, rtt_ms=50, recovery="rack", handshake=False)
    assert other["tcp.cc"] == "reno"
    assert other["tcp.receive_buffer"] == "625024 B"
    assert "tcp.recovery" not in other
    for rate in (1e-5, 1e-4, 1e-3):
        left = 1 / (1 + rate * formulas.packets_needed(rate) / 2)
        assert formulas.HSWA_BPS[1e-8] * left == pytest.approx(formulas.HSWA_BPS[rate])


def test_the_terminal_says_what_is_claimed_and_in_which_unit():
    result = bp.reproduce(only=["GEO-20", "HSWA-24", "HSWA-09"])
    console = Console(width=100, file=io.StringIO())
    for part in render.reproduction(result, None):
        console.print(part)
    text = " ".join(console.file.getvalue().split())
    assert "Arithmetic: what each of 15 connections has" in text, "claims are shown at length"
    rows = {cells[0]: cells[1:] for each in result.papers for v in each.verdicts for cells in pages.compared(v)}
    assert rows["HSWA-24"] == (
        "With 10 and 15 connections the average throughput of Enhanced HSWA is …",
        "7 to 9 Mbit/s",
        "6.67 Mbit/s",
        "impossible as printed",
    )
    assert rows["GEO-20"][1:3] == ("47.53 %", "52.5 %")
    assert rows["HSWA-09"][1] == "more aggressive, less aggressive; above 1"


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """Two papers, quickly: a minute. All take minutes: `BENTPIPE_PAPERS=all pytest tests/test_papers.py`."""
    folder = tmp_path_factory.mktemp("papers")
    names = [] if os.environ.get("BENTPIPE_PAPERS") == "all" else ["geo", "timers"]
    return bp.reproduce(names, folder=folder), folder


HOLDS, FAILS = {"reproduced", "reproduced under reading"}, {"not reproduced", "impossible as printed"}


def kind(text):
    """Of a verdict's text, which may name a reading or a feature."""
    return next(each for each in sorted(verdicts.KINDS, key=len, reverse=True) if text.startswith(each))


def test_quick_runs_do_not_contradict_the_pages_in_the_documentation(quick):
    result, folder = quick
    for each in result.papers:
        made = (folder / f"{each.paper.name}.md").read_text(encoding="utf-8")
        kept = kept_verdicts((ROOT / "docs" / "papers" / f"{each.paper.name}.md").read_text(encoding="utf-8"))
        assert kept_verdicts(made) == {verdict.claim.id: verdict.text for verdict in each.verdicts}
        for verdict in each.verdicts:
            both = {verdict.kind, kind(kept[verdict.claim.id])}
            assert not (both & HOLDS and both & FAILS), f"{verdict.claim.id}: {both}"


def test_where_nothing_arrives_at_all_nothing_falls_to_nothing():
    (hswa,) = bp.reproduce(only=["HSWA-14"]).papers
    (verdict,) = hswa.verdicts
    assert verdict.parts[0].holds_in[:2] == ("errors per bit", "errors per byte")
    assert not set(verdict.parts[1].holds_in) & {"errors per bit", "errors per byte"}
    assert summary.holds(verdict, "errors per bit") == "no"


def test_pages_say_what_was_measured(quick):
    result, folder = quick
    for each in result.papers:
        made = (folder / f"{each.paper.name}.md").read_text(encoding="utf-8")
        assert f"`{fingerprint.fingerprint(each.paper)}`" in made
        assert f"Of {len(each.verdicts)} claims, " in made
        assert all(made.count(f"]({each.paper.name}/{figure.name}.png)") == 1 for figure in each.figures)
        order = re.findall(r"^### (.*)$", made, re.MULTILINE)
        assert order == [verdict.claim.id for verdict in each.verdicts]
        # Scenarios are named and lead to their source.
        assert all(f"/papers/{each.paper.name}/{path.name})" in made for path in each.paper.folder.glob("*.toml"))
        assert not re.search(r"\de[+]\d", made), "a number that nobody writes so"


def test_a_reproduction_is_written_down_whole(quick):
    result, folder = quick
    with (folder / "claims.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    claimed = [claim.id for each in result.papers for claim in each.paper.claims]
    assert list(dict.fromkeys(row["claim"] for row in rows)) == claimed
    assert json.loads((folder / "claims.json").read_text())["claims"][0]["claim"] == claimed[0]
    for each in result.papers:
        assert sum(each.counts.values()) == len(each.verdicts)
        for figure in each.figures:
            assert (folder / each.paper.name / f"{figure.name}.svg").stat().st_size > 1000


def test_nothing_that_can_be_measured_is_open(quick):
    result, _ = quick
    for each in result.papers:
        for verdict in each.verdicts:
            if verdict.kind in ("not reproduced", "in part"):
                assert verdict.detail, f"{verdict.claim.id} does not say what was tried"
            for part in verdict.judged:
                # Whatever is there of what a claim needs, it is open only for the rest.
                missing = verdicts.missing(part.claim.needs)
                assert bool(part.found) or bool(missing), verdict.claim.id
                if part.kind == "needs":
                    assert part.text == f"needs {', '.join(missing)}", verdict.claim.id


def test_a_paper_that_is_not_there_is_said():
    with pytest.raises(BentpipeError, match="did you mean 'refwa'"):
        bp.reproduce(["refw"])


def test_the_command_names_the_papers_unless_it_is_all_of_them():
    assert pages.command(["geo"], is_full=False) == "bentpipe reproduce geo --quick"
    assert pages.command(claims.names(), is_full=True) == "bentpipe reproduce --full"


def test_values_are_shown_with_their_unit_and_interval():
    assert pages.value(Finding(1.9e6, 1.8e6, 2.0e6, 5), "bit/s") == "1.90 ± 0.10 Mbit/s"
    assert pages.value(Finding.exact(52.459), "%") == "52.5 %"

"""Claims, bands and verdicts from numbers, for any paper."""

import io
import math
from pathlib import Path

import pytest
from rich.console import Console

from bentpipe.cli import render
from bentpipe.errors import BentpipeError
from bentpipe.papers import claims, loading, pages, summary, verdicts
from bentpipe.papers.claims import Criterion
from bentpipe.papers.lab import Finding, Lab, Possible
from bentpipe.papers.reproduce import Reproduced, Reproduction

PAPER = claims.paper("geo")


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
    monkeypatch.setattr(loading, "module", lambda paper, name: Measures)

    def judged(*readings, **more):
        named = [{"name": f"reading {k}", **arguments} for k, arguments in enumerate(readings)]
        entry = {"statement": "S.", "where": "W", "how": "H", "printed": 10, "measure": "measured", "why": "because"}
        entry |= {"passes": {"within": 1}} | ({"readings": named} if named else {}) | more
        entry = {key: list(value) if isinstance(value, tuple) else value for key, value in entry.items()}
        return verdicts.judge(PAPER, claims._claim("X-1", entry, []), Lab(Path()))

    return judged


def test_verdicts_follow_from_values(judge):
    assert judge({"value": 10}).text == "reproduced"
    assert judge({"value": 5}).text == "not reproduced"
    assert judge({"value": 5}).detail == "because"
    assert judge({"value": 5}, {"value": 10}).text == "reproduced under 1 of 2 readings: reading 1"
    assert judge({"value": 10}, {"value": 5}).text == "reproduced"
    assert judge({"value": 5}, {"value": math.inf}).text == "undecided"


def test_what_holds_under_a_reading_says_of_how_many(judge):
    values = [{"value": value} for value in (5, 10, 5, 10)]
    found = judge(*values)
    assert found.text == "reproduced under 2 of 4 readings: reading 1"
    assert found.readings == (2, 4)
    result = Reproduced(PAPER, (found, judge(*values[:2]), judge({"value": 10})), {})
    assert result.readings == (3, 6)
    assert summary.count(result, "reproduced under a reading") == "2 (3 of 6 readings)"
    assert summary.count(result, "reproduced") == "1"
    assert "2 hold under a named reading (3 of 6 readings)" in list(summary.in_words(result))[1]
    whole = Reproduction((result,), is_full=False)
    assert "| 1 | 2 (3 of 6 readings) | 3 |" in pages.index(whole.entries)
    assert whole.to_dict()["papers"][0]["under_a_reading"] == {"held": 3, "tried": 6}
    assert {(row["readings_held"], row["readings_tried"]) for row in whole.rows()} == {(2, 4), (1, 2), (1, 1)}
    shown = Console(width=200, file=io.StringIO())
    shown.print(*render.reproduction(whole, Path("out")))
    assert "2 (3 of 6 readings)" in shown.file.getvalue()


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
    assert failed.detail == 'impossible in "reading 0": at most 9.5; not reproduced in the possible readings. because'
    assert failed.shown.reading.name == "reading 1", "the impossible one comes closer, but decides nothing"
    assert judge(impossible, {"value": math.inf}, possible="bounded").text == "undecided"
    assert judge(impossible, impossible, possible="bounded").text == "impossible as printed"
    held = judge(impossible, {"value": 10}, possible="bounded")
    assert held.detail == 'impossible in "reading 0": at most 9.5. because'


def test_a_packet_across_the_edge_of_the_time_measured_is_no_contradiction(judge):
    assert judge({"value": 11, "bound": 10.5}, possible="bounded_by_a_packet_more").text == "reproduced"
    with pytest.raises(BentpipeError, match=r"measured 11\.6"):
        judge({"value": 11.6, "bound": 10.5}, possible="bounded_by_a_packet_more")
    # The printed value has no such tolerance.
    assert judge({"value": 9, "bound": 9.5}, possible="bounded_by_a_packet_more").text == "impossible as printed"


def test_what_needs_a_feature_is_open_unless_arithmetic_rules_it_out(judge):
    needs = ("cc:no-such-sender",)
    assert judge({"value": 10}, needs=needs).text == "needs no-such-sender"
    assert judge({"value": 10}, needs=needs).is_open
    assert judge({"value": 9, "bound": 9}, possible="bounded", needs=needs).text == "impossible as printed"
    assert judge({"value": 9, "bound": 9}, {"value": 9}, possible="bounded", needs=needs).text.startswith("needs")
    # An existing feature is no excuse.
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
    # The worst part decides.
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
        "no reading has all parts: one (reading 0), two (reading 1). because",
    )
    maybe = judge({"value": 10, "other": math.inf}, {"value": 5, "other": 10}, parts=BOTH)
    assert maybe.detail.startswith("undecided whether one reading has all parts: one (reading 0), two (reading 1)")
    together = judge({"value": 10, "other": 5}, {"value": 10, "other": 10}, parts=BOTH)
    assert together.text == "reproduced under 1 of 2 readings: reading 1"
    # A part with only separate readings is compatible with any reading of the claim.
    own = (*BOTH[:1], {"name": "two", "readings": [{"name": "a", "value": 5}, {"name": "b", "value": 10}]})
    assert judge({"value": 5}, {"value": 10}, parts=own).text == "reproduced under 1 of 4 readings: reading 1; b"
    assert judge({"value": 10}, {"value": 5}, parts=own).text == "reproduced under 1 of 4 readings: b"


def test_a_part_takes_what_it_does_not_say_from_the_claim(judge):
    parts = ({"name": "one"}, {"name": "two", "printed": 5, "statement": "T.", "passes": {"within": 0.5}})
    first, second = judge({"value": 5, "bound": 20}, possible="bounded", parts=parts).parts
    assert (first.claim.statement, first.claim.value, first.claim.possible) == ("S.", 10, "bounded")
    assert (second.claim.statement, second.claim.value, second.claim.possible) == ("T.", 5, None)
    assert (first.kind, second.kind) == ("not reproduced", "reproduced")
    with pytest.raises(ValueError, match="a part of it, has unknown keys: where"):
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
        verdict = verdicts.decide(PAPER, claims._claim("X-1", {**entry, "passes": {"within": 1}}, []), lab)
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
        assert verdicts.decide(PAPER, claim, Lab(Path(), is_full=True)).kind == "undecided"
        assert len(scales) == 1


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
            kind = "reproduced" if states[0] else "reproduced under a reading" if True in states else "not reproduced"
            made.append(verdicts.Verdict(claim, kind, "", "", tuple(each)))
        whole = made[0] if len(made) == 1 else verdicts.Verdict(made[0].claim, "in part", "", "", (), tuple(made))
        judged.append(whole)
    return Reproduced(PAPER, tuple(judged), {})


def test_a_figure_holds_as_a_whole_only_in_one_reading():
    some = reproduced(
        ("X-1", "Fig. 6", {"a": True, "b": False, "c": True}),
        ("X-2", "Fig. 6", {"a": False, "b": True, "c": True}),
        ("X-3", "Section 1, Fig. 6", {"a": True, "b": True, "c": False}),
        ("X-4", "Table II", {"as printed": True}),
        ("X-5", "Table II", {"as printed": False}),
    )
    _, counts, *places = summary.in_words(some)
    assert counts == (
        "Of 5 claims, 3 hold in the paper's own words, 1 holds under a named reading (2 of 3 readings), "
        "1 does not hold."
    )
    assert places == [
        'Figure 6: 2 of 3 measured claims hold in one reading ("a"); no reading covers all of them.',
        "Table 2: 1 of 2 measured claims hold.",
    ]
    whole = reproduced(*[(f"X-{k}", "Fig. 6", {"a": False, "b": True}) for k in (1, 2)], ("X-3", "Fig. 6", {"z": True}))
    assert list(summary.in_words(whole))[2] == 'Figure 6: all 3 measured claims hold in one reading ("b").'


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


def test_values_are_shown_with_their_unit_and_interval():
    assert pages.value(Finding(1.9e6, 1.8e6, 2.0e6, 5), "bit/s") == "1.90 ± 0.10 Mbit/s"
    assert pages.value(Finding.exact(52.459), "%") == "52.5 %"

"""Agreement with ns-2, on a sample; `python -m validation.ns2` compares all of it."""

import pytest

from validation import ns2


def test_s1_utilisation_and_fairness_are_ns2s_within_0_03() -> None:
    for utilisation, jain in ns2.s1(seeds=4, rates=("1e-3", "1e-2", "1e-1")):
        assert utilisation.ours == pytest.approx(utilisation.theirs, abs=0.03), utilisation
        assert jain.ours == pytest.approx(jain.theirs, abs=0.03), jain


def test_s1_without_loss_differs_for_tahoe_only() -> None:
    # ns-2's Tahoe senders all lose and recover at the same time; see docs/validation/ns2.md.
    for utilisation, jain in ns2.s1(seeds=4, rates=("0",)):
        tolerance = 0.045 if "tahoe" in utilisation.case else 0.03
        assert utilisation.ours == pytest.approx(utilisation.theirs, abs=tolerance), utilisation
        assert jain.ours == pytest.approx(jain.theirs, abs=0.03), jain


def test_s2_without_loss_is_ns2s_within_one_percent() -> None:
    for row in ns2.s2(seeds=1, rates=("0",)):
        assert row.ours == pytest.approx(row.theirs, rel=0.01), row


def test_s3_completion_times_are_ns2s_within_a_thousandth() -> None:
    rows = list(ns2.s3())
    assert len(rows) == 125
    for row in rows:
        assert row.ours == pytest.approx(row.theirs, rel=1e-3), row


def test_s4_the_same_packets_leave_at_the_same_times() -> None:
    for trace in ns2.s4():
        assert trace.same == trace.until_timeout, trace
        if trace.case != "newreno two":
            assert trace.worst_s < 1e-3, trace

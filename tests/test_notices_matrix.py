"""Reports of errors never leave a sender with less than it has without them."""

from __future__ import annotations

import os

import pytest

from validation import kept
from validation.notices import ERRORS, EXPECTED_WORSE, FUNCTIONS, SENDERS, row

ALL = bool(os.environ.get("BENTPIPE_ALL"))
SAMPLE = [
    ("bursts", "like windows-11"),
    ("bursts", "rack"),
    ("bursts", "rack, prr, undo"),
    ("2 %", "like linux-6"),
    ("rain", "sack, status"),
    ("handovers", "newreno"),
    ("ACK loss", "like freebsd-14"),
]
REPORTS = ("none", "eten, forward", "eln")


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("errors", "sender"), [(e, s) for e in ERRORS for s in SENDERS] if ALL else SAMPLE)
def test_notices_are_never_worse_than_none(errors: str, sender: str) -> None:
    found = row(errors, sender, tuple(FUNCTIONS) if ALL else REPORTS)
    worse = [name for name, (_, is_worse) in found.items() if is_worse and (sender, name) not in EXPECTED_WORSE]
    assert not worse, found


def test_the_page_has_no_other_cell_that_is_worse() -> None:
    matrices = kept.load("notices")["matrices"]
    assert {errors: set(rows) for errors, rows in matrices.items()} == {errors: set(SENDERS) for errors in ERRORS}
    cells = [
        (s, f) for rows in matrices.values() for s, row in rows.items() for f, (_, is_worse) in row.items() if is_worse
    ]
    assert set(cells) == set(EXPECTED_WORSE)


def test_forward_reports_of_bursts_keep_what_they_report() -> None:
    """Five hosts that find losses by time, with the damage of a burst reported once each: most of the goodput stays."""
    for sender in ("rack", "like windows-11", "like linux-6"):
        found = row("bursts", sender, ("none", "eten, forward"))
        assert found["eten, forward"][0] > 1.3 * found["none"][0], (sender, found)

"""From what was measured to a verdict. Nothing here is typed in: bands, bounds and intervals decide."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.papers.lab import Finding
from bentpipe.reference import choices

if TYPE_CHECKING:
    from bentpipe.papers.claims import Claim, Criterion, Paper, Reading
    from bentpipe.papers.lab import Lab

REPRODUCED = "reproduced"
UNDER_READING = "reproduced under reading"
NOT_REPRODUCED = "not reproduced"
IMPOSSIBLE = "impossible as printed"
NEEDS = "needs"
UNDECIDED = "undecided"
"""The interval of our value reaches over the edge of what passes: more replications would decide."""


@dataclass(frozen=True)
class Found:
    """A claim's value in one reading, and whether it passes there."""

    reading: Reading
    finding: Finding
    passes: bool | None
    """None if the interval does not decide it."""


@dataclass(frozen=True)
class Verdict:
    """What came of a claim."""

    claim: Claim
    kind: str
    """One of the constants above."""
    detail: str
    """The reading, the arithmetic, or the feature that is missing."""
    found: tuple[Found, ...]

    @property
    def text(self) -> str:
        if self.kind in (UNDER_READING, NEEDS):
            return f"{self.kind} {self.detail}"
        return self.kind


def judge(paper: Paper, claim: Claim, lab: Lab) -> Verdict:
    """Measure a claim in each of its readings and compare."""
    missing = [name for name in claim.needs if not _is_there(name)]
    if missing:
        return Verdict(claim, NEEDS, ", ".join(name.partition(":")[2] for name in missing), ())
    assert claim.measure is not None, f"{claim.id} has all that it needs but no measure"
    assert claim.criterion is not None, f"{claim.id} has a measure and nothing that it must meet"
    measures = importlib.import_module(f"bentpipe.papers.{paper.name}.measures")
    found = []
    for reading in claim.readings:
        finding = getattr(measures, claim.measure)(lab, **reading.arguments)
        found.append(Found(reading, finding, passes(finding, claim.criterion)))
    why = ""
    if claim.possible is not None and claim.value is not None:
        possible = getattr(measures, claim.possible)(lab, **claim.readings[0].arguments)
        if not possible.low <= claim.value <= possible.high:
            why = possible.why
    if found[0].passes:
        return Verdict(claim, REPRODUCED, "", tuple(found))
    for each in found[1:]:
        if each.passes:
            return Verdict(claim, UNDER_READING, each.reading.name, tuple(found))
    if why:
        return Verdict(claim, IMPOSSIBLE, why, tuple(found))
    if any(each.passes is None and each.finding.value is not None for each in found):
        return Verdict(claim, UNDECIDED, "", tuple(found))
    return Verdict(claim, NOT_REPRODUCED, claim.why, tuple(found))


def passes(finding: Finding, criterion: Criterion) -> bool | None:
    """Whether a value with its whole interval lies in the band; None if only a part does."""
    if finding.value is None:
        return None
    low = finding.value if finding.low is None else finding.low
    high = finding.value if finding.high is None else finding.high
    if criterion.low <= low and high <= criterion.high:
        return True
    return False if high < criterion.low or low > criterion.high else None


def _is_there(need: str) -> bool:
    topic, _, name = need.partition(":")
    return any(entry["name"] == name for entry in choices().get(topic, []))

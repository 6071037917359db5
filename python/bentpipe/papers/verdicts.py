"""From what was measured to a verdict. Nothing here is typed in: bands, bounds and intervals decide."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.errors import BentpipeError
from bentpipe.reference import choices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.papers.claims import Claim, Criterion, Paper, Reading
    from bentpipe.papers.lab import Finding, Lab, Possible

REPRODUCED = "reproduced"
UNDER_READING = "reproduced under reading"
NOT_REPRODUCED = "not reproduced"
IMPOSSIBLE = "impossible as printed"
NEEDS = "needs"
UNDECIDED = "undecided"
"""The interval of our value reaches over the edge of what passes: more replications would decide."""
KINDS = (REPRODUCED, UNDER_READING, NOT_REPRODUCED, IMPOSSIBLE, UNDECIDED, NEEDS)


@dataclass(frozen=True)
class Found:
    """A claim's value in one reading, and whether it passes there."""

    reading: Reading
    finding: Finding
    passes: bool | None
    """None if the runs do not decide it."""


@dataclass(frozen=True)
class Verdict:
    """What came of a claim."""

    claim: Claim
    kind: str
    """One of the constants above."""
    reading: str
    """That in which it is reproduced, if not as printed."""
    detail: str
    """The arithmetic, the feature that is missing, or what was tried."""
    found: tuple[Found, ...]

    @property
    def text(self) -> str:
        """As in tables: with the reading, or with what is missing."""
        return f"{self.kind} {self.reading or self.detail}" if self.kind in (UNDER_READING, NEEDS) else self.kind

    @property
    def is_open(self) -> bool:
        """Whether it is not known yet."""
        return self.kind in (NEEDS, UNDECIDED)

    @property
    def shown(self) -> Found | None:
        """The reading that decided: that in which it is reproduced, or else the one that comes closest."""
        for each in self.found:
            if each.reading.name == self.reading:
                return each
        claimed = self.claim.value
        if self.kind == REPRODUCED or claimed is None:
            return next(iter(self.found), None)
        known = [each for each in self.found if each.finding.value is not None]
        return min(known, key=lambda each: abs((each.finding.value or 0.0) - claimed), default=None)


def judge(paper: Paper, claim: Claim, lab: Lab) -> Verdict:
    """Measure a claim in each of its readings and compare.

    The paper's own words come first. A reading in which the printed value contradicts arithmetic cannot be the one in
    which it is reproduced, however close a tolerance lets it come.
    """
    measures = importlib.import_module(f"bentpipe.papers.{paper.name}.measures")
    bounds: list[Possible | None] = [None] * len(claim.readings)
    if claim.possible is not None:
        bounds = [getattr(measures, claim.possible)(lab, **reading.arguments) for reading in claim.readings]
    contradictions = ["" if bound is None or bound.has(claim.value) else bound.why for bound in bounds]
    if missing(claim.needs):
        if all(contradictions):
            return Verdict(claim, IMPOSSIBLE, "", contradictions[0], ())
        return Verdict(claim, NEEDS, "", ", ".join(missing(claim.needs)), ())
    if claim.measure is None or claim.criterion is None:
        raise BentpipeError(f"error: {claim.id} has all that it needs, but no measure")
    found = []
    for reading, bound in zip(claim.readings, bounds, strict=True):
        finding: Finding = getattr(measures, claim.measure)(lab, **reading.arguments)
        if bound is not None and finding.value is not None and not bound.has(finding.value):
            raise BentpipeError(f"error: {claim.id} ({reading.name}): measured {finding.value}, but {bound.why}")
        found.append(Found(reading, finding, passes(finding, claim.criterion)))
    reproduced = [
        each.reading.name
        for each, contradiction in zip(found, contradictions, strict=True)
        if each.passes and not contradiction
    ]
    if reproduced and reproduced[0] == found[0].reading.name:
        return Verdict(claim, REPRODUCED, "", "", tuple(found))
    if reproduced:
        return Verdict(claim, UNDER_READING, reproduced[0], claim.why, tuple(found))
    if contradictions[0]:
        # Bounds are not always whole sentences; what follows is one.
        why = ". ".join(filter(None, (contradictions[0].removesuffix("."), claim.why)))
        return Verdict(claim, IMPOSSIBLE, "", why, tuple(found))
    if any(each.passes is None for each in found):
        return Verdict(claim, UNDECIDED, "", claim.why, tuple(found))
    return Verdict(claim, NOT_REPRODUCED, "", claim.why, tuple(found))


def passes(finding: Finding, criterion: Criterion) -> bool | None:
    """Whether a value with its whole interval lies in the band; None if only a part does, or it has no interval."""
    ends = (finding.value, finding.low, finding.high)
    if None in ends or finding.missing or not all(map(math.isfinite, ends)):  # type: ignore[arg-type]
        return None
    _, low, high = ends
    assert low is not None and high is not None, "looked at above"  # noqa: PT018
    if criterion.has(low) and criterion.has(high):
        return True
    return False if high < criterion.low or low > criterion.high or (low == high) else None


def missing(needs: Sequence[str]) -> list[str]:
    """Of these features (topic:name), the names of those that bentpipe does not have yet."""
    known = choices()
    pairs = [need.split(":", 1) for need in needs]
    return [name for topic, name in pairs if all(entry["name"] != name for entry in known.get(topic, []))]

"""Turns measurements into verdicts: bands, bounds and intervals decide, never a person."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bentpipe.catalog import choices
from bentpipe.errors import PaperError
from bentpipe.papers import loading, settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.papers.claims import Claim, Criterion, Paper, Reading
    from bentpipe.papers.falsify import Attack
    from bentpipe.papers.lab import Finding, Lab, Possible
    from bentpipe.papers.settings import Values

REPRODUCED = "reproduced"
UNDER_READING = "reproduced under a reading"
IN_PART = "in part"
"""Some parts of the claim hold; others fail, are undecided, or need a missing feature."""
NOT_REPRODUCED = "not reproduced"
IMPOSSIBLE = "impossible as printed"
"""Every reading contradicts arithmetic or physics, with any simulator."""
UNDECIDED = "undecided"
"""The measured interval crosses the edge of the band: more replications would decide."""
NEEDS = "needs"
ERROR = "error"
"""The measure failed, so the claim has no result."""
SCALE_MAX = 4
"""Largest factor on the replications of undecided claims in a full reproduction."""
KINDS = (REPRODUCED, UNDER_READING, IN_PART, NOT_REPRODUCED, IMPOSSIBLE, UNDECIDED, NEEDS, ERROR)


@dataclass(frozen=True)
class Found:
    """The measured value of a claim in one reading, and whether it passes."""

    reading: Reading
    finding: Finding
    passes: bool | None
    """None if the runs do not decide it."""
    contradiction: str = ""
    """The arithmetic that excludes the printed value in this reading, if there is one."""
    fits_one_run: bool | None = None
    """Whether single runs reach the band; None if this was not requested or is not known."""
    world: Values = field(default_factory=dict)
    """Values of settings that the runs had, and declared ones."""

    @property
    def holds(self) -> bool | None:
        """Whether the claim holds in this reading. An impossible one does not, even if its value is in the band."""
        return False if self.contradiction else self.passes


@dataclass(frozen=True)
class Verdict:
    """Verdict on a claim, or on one part of it."""

    claim: Claim
    kind: str
    """One of `KINDS`."""
    reading: str
    """Reading in which it is reproduced, if not as printed."""
    detail: str
    """The arithmetic, the missing feature, the parts that hold, or the reason."""
    found: tuple[Found, ...]
    """Values by reading; empty if the claim has parts, which have their own."""
    parts: tuple[Verdict, ...] = ()
    """Verdicts on the claim's parts, in their order."""
    attack: Attack | None = None
    """The outcome without its mechanism or condition, if it was attacked. If it has parts, each part has its own."""

    @property
    def judged(self) -> tuple[Verdict, ...]:
        """The measured verdicts: the parts, or the verdict itself without parts."""
        return self.parts or (self,)

    @property
    def text(self) -> str:
        """Text for tables: the kind, with the reading and the number of readings, or with the missing feature."""
        if self.kind == UNDER_READING:
            held, tried = self.readings
            return f"reproduced under {held} of {tried} readings: {self.reading}"
        return f"{self.kind} {self.detail}" if self.kind == NEEDS else self.kind

    @property
    def readings(self) -> tuple[int, int]:
        """Number of readings in which it holds with all its parts, and number of readings tried.

        A part with only separate readings is compatible with any reading of the claim: the numbers multiply.
        """
        if not self.parts:
            return len(self.holds_in), len(self.found)
        bound = _bound(self.claim, self.parts)
        held, tried = (len(_joint(self.claim, bound)), len(self.claim.readings)) if bound else (1, 1)
        for part in self.parts:
            if part not in bound:
                held, tried = held * len(part.holds_in), tried * len(part.found)
        return held, tried

    @property
    def joint(self) -> list[str]:
        """Readings of the claim in which all parts that share its readings hold."""
        return _joint(self.claim, _bound(self.claim, self.parts))

    @property
    def is_open(self) -> bool:
        """Whether the result is not known yet."""
        return self.kind in (NEEDS, UNDECIDED, ERROR)

    @property
    def holds_in(self) -> tuple[str, ...]:
        """Names of the readings in which it holds."""
        return tuple(each.reading.name for each in self.found if each.holds)

    @property
    def shown(self) -> Found | None:
        """The reading that decided: the one in which it is reproduced, or else the closest one."""
        for each in self.found:
            if each.reading.name == self.reading:
                return each
        claimed = self.claim.value
        if self.kind == REPRODUCED or claimed is None:
            return next(iter(self.found), None)
        known = [each for each in self.found if each.finding.value is not None]
        possible = [each for each in known if not each.contradiction]
        return min(possible or known, key=lambda each: abs((each.finding.value or 0.0) - claimed), default=None)


def settle_claim(paper: Paper, claim: Claim, lab: Lab) -> Verdict:
    """The verdict of `decide`, or an error: a measure that fails affects only its claim."""
    try:
        return decide(paper, claim, lab)
    except PaperError as error:
        return Verdict(claim, ERROR, "", str(error), ())


def decide(paper: Paper, claim: Claim, lab: Lab) -> Verdict:
    """Judge a claim; at full scale with twice and four times the replications while it is undecided.

    A claim that is still undecided then stays undecided. Quick reproductions judge once. Up to three intervals of 95 %
    cross the edge of a band by chance more often than one. The side of the edge can only be wrong if the true value is
    close to the edge.
    """
    verdict = judge(paper, claim, lab)
    try:
        while lab.is_full and lab.scale < SCALE_MAX and any(map(_wants_runs, verdict.judged)):
            lab.scale *= 2
            verdict = judge(paper, claim, lab)
    finally:
        lab.scale = 1
    return verdict


def _wants_runs(verdict: Verdict) -> bool:
    """Whether more replications may decide it. They do not if there are none, or if values are missing."""
    return verdict.kind == UNDECIDED and any(
        each.holds is None and each.finding.replications > 1 and not each.finding.missing for each in verdict.found
    )


def judge(paper: Paper, claim: Claim, lab: Lab) -> Verdict:
    """Measure a claim in each of its readings and compare.

    The literal reading is the first. A claim cannot be reproduced in a reading whose printed value contradicts
    arithmetic, even if the measured value is in the band. The claim is impossible if all readings contradict
    arithmetic. Parts have separate verdicts, and the claim is reproduced if all of them hold in the same reading.
    """
    if claim.parts:
        return _whole(claim, tuple(_judge(paper, part, lab) for part in claim.parts))
    return _judge(paper, claim, lab)


def _judge(paper: Paper, claim: Claim, lab: Lab) -> Verdict:
    bounds: list[Possible | None] = [None] * len(claim.readings)
    if claim.possible is not None:
        bounds = [loading.possible(paper, claim, each.name, lab, each.arguments) for each in claim.readings]
    contradictions = ["" if bound is None or bound.has(claim.value) else bound.why for bound in bounds]
    if missing(claim.needs):
        if all(contradictions):
            return Verdict(claim, IMPOSSIBLE, "", _detail(claim, IMPOSSIBLE, contradictions[0]), ())
        return Verdict(claim, NEEDS, "", ", ".join(missing(claim.needs)), ())
    if claim.measure is None or claim.criterion is None:
        raise PaperError(f"{_name(claim)} has no measure, and needs no missing feature")
    found = []
    for reading, bound, contradiction in zip(claim.readings, bounds, contradictions, strict=True):
        with lab.watching() as shown:
            finding = loading.measure_claim(paper, claim, reading.name, lab, reading.arguments)
        try:
            world = settings.find_values(f"{_name(claim)} ({reading.name})", reading.world, shown)
        except ValueError as error:
            raise PaperError(str(error)) from None
        if bound is not None and not bound.has(finding.value, slack=bound.slack):
            raise PaperError(f"{_name(claim)} ({reading.name}): measured {finding.value}, but {bound.why}")
        fits = _fits_one_run(claim, finding) if claim.one_run else None
        found.append(Found(reading, finding, passes(finding, claim.criterion), contradiction, fits, world))
    holding = [each.reading.name for each in found if each.holds]
    if holding:
        kind = REPRODUCED if holding[0] == claim.readings[0].name else UNDER_READING
    elif all(contradictions):
        kind = IMPOSSIBLE
    else:
        kind = UNDECIDED if any(each.holds is None for each in found) else NOT_REPRODUCED
    reading_name = holding[0] if kind == UNDER_READING else ""
    return Verdict(claim, kind, reading_name, _detail(claim, kind, contradictions[0]), tuple(found))


def _detail(claim: Claim, kind: str, contradiction: str) -> str:
    """The contradiction of the literal reading, if there is one, and the reason of this kind of verdict."""
    if contradiction and kind != IMPOSSIBLE:
        rest = "" if kind == UNDER_READING else f"; {kind} in the possible readings"
        contradiction = f'impossible in "{claim.readings[0].name}": {contradiction.removesuffix(".")}{rest}'
    # Bounds are not always whole sentences, but reasons are.
    return ". ".join(filter(None, (contradiction.removesuffix("."), claim.why.get(kind, ""))))


def _whole(claim: Claim, parts: tuple[Verdict, ...]) -> Verdict:
    """The verdict on a claim from those on its parts."""
    names = [reading.name for reading in claim.readings]
    bound = _bound(claim, parts)
    joint = _joint(claim, bound)
    if joint and all(part.holds_in for part in parts):
        own = [part.reading for part in parts if part.reading and part not in bound]
        readings = "; ".join(dict.fromkeys([*([joint[0]] if joint[0] != names[0] else []), *own]))
        kind = UNDER_READING if readings else REPRODUCED
        return Verdict(claim, kind, readings, claim.why.get(kind, ""), (), parts)
    kinds = {part.kind for part in parts}
    held = [part for part in parts if part.holds_in]
    kind = IN_PART if held else next(each for each in (NOT_REPRODUCED, IMPOSSIBLE, UNDECIDED, NEEDS) if each in kinds)
    if kind == NEEDS:
        lacking = dict.fromkeys(need for part in parts for need in missing(part.claim.needs))
        return Verdict(claim, NEEDS, "", ", ".join(lacking), (), parts)
    others: dict[str, list[str]] = {}
    for part in parts:
        if not part.holds_in:
            others.setdefault(part.text, []).append(part.claim.part)
    said = [f"{text}: {', '.join(those)}" for text, those in others.items()]
    if held and said:
        said.insert(0, "holds: " + ", ".join(_with(part, part.reading) for part in held))
    elif held:
        undecided = any(all(_may_hold(part, name) for part in bound) for name in names)
        together = "undecided whether one reading has all parts" if undecided else "no reading has all parts"
        said = [f"{together}: " + ", ".join(_with(part, " / ".join(part.holds_in)) for part in held)]
    return Verdict(claim, kind, "", ". ".join(filter(None, ("; ".join(said), claim.why.get(kind, "")))), (), parts)


def _bound(claim: Claim, parts: Sequence[Verdict]) -> list[Verdict]:
    """Parts with readings of the claim. A part with only separate readings is compatible with any of them."""
    names = {reading.name for reading in claim.readings}
    return [part for part in parts if not names.isdisjoint(each.name for each in part.claim.readings)]


def _joint(claim: Claim, bound: Sequence[Verdict]) -> list[str]:
    """Readings of the claim in which all of these parts hold."""
    names = [reading.name for reading in claim.readings]
    return [name for name in names if all(name in part.holds_in for part in bound)]


def _may_hold(part: Verdict, reading: str) -> bool:
    return any(each.reading.name == reading and each.holds is not False for each in part.found)


def _with(part: Verdict, readings: str) -> str:
    return part.claim.part + (f" ({readings})" if readings else "")


def _name(claim: Claim) -> str:
    return f"{claim.id}, {claim.part}" if claim.part else claim.id


def _fits_one_run(claim: Claim, finding: Finding) -> bool | None:
    """Whether single runs reach the band. The verdict does not use this, but the mean."""
    span = finding.one_run
    if span is None or claim.criterion is None:
        return None
    return span[0] <= claim.criterion.high and span[1] >= claim.criterion.low


def passes(finding: Finding, criterion: Criterion) -> bool | None:
    """Whether a value with its whole interval lies in the band; None if a part is outside, or it has no interval."""
    ends = (finding.value, finding.low, finding.high)
    if None in ends or finding.missing or not all(map(math.isfinite, ends)):  # type: ignore[arg-type]
        return None
    _, low, high = ends
    assert low is not None and high is not None, "checked above"  # noqa: PT018
    if criterion.has(low) and criterion.has(high):
        return True
    return False if high < criterion.low or low > criterion.high or (low == high) else None


def missing(needs: Sequence[str]) -> list[str]:
    """Of these features (topic:name), the names of those that bentpipe does not have yet."""
    known = choices()
    pairs = [need.split(":", 1) for need in needs]
    return [name for topic, name in pairs if all(entry["name"] != name for entry in known.get(topic, []))]

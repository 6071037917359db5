"""From what was measured to a verdict. Nothing here is typed in: bands, bounds and intervals decide."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.catalog import choices
from bentpipe.errors import PaperError
from bentpipe.papers import loading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.papers.claims import Claim, Criterion, Paper, Reading
    from bentpipe.papers.falsify import Attack
    from bentpipe.papers.lab import Finding, Lab, Possible

REPRODUCED = "reproduced"
UNDER_READING = "reproduced under a reading"
IN_PART = "in part"
"""Some parts of the claim hold; others fail, are undecided, or need what is not there."""
NOT_REPRODUCED = "not reproduced"
IMPOSSIBLE = "impossible as printed"
"""Every reading contradicts arithmetic or physics, whatever the simulator."""
UNDECIDED = "undecided"
"""The interval of our value reaches over the edge of what passes: more replications would decide."""
NEEDS = "needs"
ERROR = "error"
"""The measure failed: nothing is known of the claim."""
SCALE_MAX = 4
"""How many times its replications a full reproduction runs at most for what stays undecided."""
KINDS = (REPRODUCED, UNDER_READING, IN_PART, NOT_REPRODUCED, IMPOSSIBLE, UNDECIDED, NEEDS, ERROR)


@dataclass(frozen=True)
class Found:
    """A claim's value in one reading, and whether it passes there."""

    reading: Reading
    finding: Finding
    passes: bool | None
    """None if the runs do not decide it."""
    contradiction: str = ""
    """The arithmetic that rules the printed value out in this reading, if any does."""
    fits_one_run: bool | None = None
    """Whether single runs of ours reach the band of what passes; None where that was not asked or is not known."""

    @property
    def holds(self) -> bool | None:
        """Whether the claim holds in this reading: what is impossible does not, however close a band lets it come."""
        return False if self.contradiction else self.passes


@dataclass(frozen=True)
class Verdict:
    """What came of a claim, or of one part of it."""

    claim: Claim
    kind: str
    """One of `KINDS`."""
    reading: str
    """That in which it is reproduced, if not as printed."""
    detail: str
    """The arithmetic, the feature that is missing, which parts hold, or what was tried."""
    found: tuple[Found, ...]
    """By reading; empty where the claim has parts, which have theirs."""
    parts: tuple[Verdict, ...] = ()
    """Of the claim's parts, in their order."""
    attack: Attack | None = None
    """The outcome without the mechanism, if the claim was attacked. Of a claim with parts, each part has one."""

    @property
    def judged(self) -> tuple[Verdict, ...]:
        """What was measured and compared: its parts, or else itself."""
        return self.parts or (self,)

    @property
    def text(self) -> str:
        """As in tables: with the reading and how many there are, or with what is missing."""
        if self.kind == UNDER_READING:
            held, tried = self.readings
            return f"reproduced under {held} of {tried} readings: {self.reading}"
        return f"{self.kind} {self.detail}" if self.kind == NEEDS else self.kind

    @property
    def readings(self) -> tuple[int, int]:
        """In how many readings it holds with all its parts, and in how many it was tried.

        A part that has nothing but readings of its own goes with any of the claim's: they multiply.
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
        """Whether it is not known yet."""
        return self.kind in (NEEDS, UNDECIDED, ERROR)

    @property
    def holds_in(self) -> tuple[str, ...]:
        """Names of the readings in which it holds."""
        return tuple(each.reading.name for each in self.found if each.holds)

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
        possible = [each for each in known if not each.contradiction]
        return min(possible or known, key=lambda each: abs((each.finding.value or 0.0) - claimed), default=None)


def settled(paper: Paper, claim: Claim, lab: Lab) -> Verdict:
    """The verdict of `decide`, or an error: a measure that fails costs its claim and no other."""
    try:
        return decide(paper, claim, lab)
    except PaperError as error:
        return Verdict(claim, ERROR, "", str(error), ())


def decide(paper: Paper, claim: Claim, lab: Lab) -> Verdict:
    """Judge a claim; at full scale with twice and four times the replications while it is undecided.

    What is still undecided then stays so. Quick reproductions judge once. Up to three looks at intervals of 95 % find a
    band's edge crossed by chance more often than one does; which side of an edge the true value has is decided wrongly
    only where it lies close to it.
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
    """Whether more replications may decide it: what has none, or lacks values, they do not help."""
    return verdict.kind == UNDECIDED and any(
        each.holds is None and each.finding.replications > 1 and not each.finding.missing for each in verdict.found
    )


def judge(paper: Paper, claim: Claim, lab: Lab) -> Verdict:
    """Measure a claim in each of its readings and compare.

    The paper's own words come first. A reading in which the printed value contradicts arithmetic cannot be the one in
    which it is reproduced, however close a tolerance lets it come; only where all readings do is the claim impossible.
    Parts are judged apart, and the claim is reproduced where all of them hold in the same reading.
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
        raise PaperError(f"{_name(claim)} has all that it needs, but no measure")
    found = []
    for reading, bound, contradiction in zip(claim.readings, bounds, contradictions, strict=True):
        finding = loading.measured(paper, claim, reading.name, lab, reading.arguments)
        if bound is not None and not bound.has(finding.value, slack=bound.slack):
            raise PaperError(f"{_name(claim)} ({reading.name}): measured {finding.value}, but {bound.why}")
        fits = _fits_one_run(claim, finding) if claim.one_run else None
        found.append(Found(reading, finding, passes(finding, claim.criterion), contradiction, fits))
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
    """What rules the paper's own words out, if anything does, and what is to be said of this kind of verdict."""
    if contradiction and kind != IMPOSSIBLE:
        rest = "" if kind == UNDER_READING else f"; in the possible readings: {kind}"
        contradiction = f"impossible {claim.readings[0].name}: {contradiction.removesuffix('.')}{rest}"
    # Bounds are not always whole sentences; what follows is one.
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
        together = "not decided whether in one reading" if undecided else "in no reading together"
        said = [f"{together}: " + ", ".join(_with(part, " / ".join(part.holds_in)) for part in held)]
    return Verdict(claim, kind, "", ". ".join(filter(None, ("; ".join(said), claim.why.get(kind, "")))), (), parts)


def _bound(claim: Claim, parts: Sequence[Verdict]) -> list[Verdict]:
    """Parts with readings of the claim: one that has nothing but readings of its own goes with any of them."""
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
    """Whether what passes can be that of a single run; beside the verdict, which goes by the mean."""
    span = finding.one_run
    if span is None or claim.criterion is None:
        return None
    return span[0] <= claim.criterion.high and span[1] >= claim.criterion.low


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

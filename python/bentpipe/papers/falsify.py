"""Attacks claims: measures each claim that holds again without its mechanism or a condition. It should then fail.

`claims.toml` names the change in `without`, see `claims.Without`. Without its mechanism, a claim fails only if the
named cause is the cause. Without its condition, such as errors, it fails if the measure is no constant, which shows
less. The attack measures the reading that gave the verdict. Replications are those of the first look, also for verdicts
that took more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bentpipe.errors import PaperError
from bentpipe.papers import claims, loading, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bentpipe.papers.claims import Claim, Paper
    from bentpipe.papers.lab import Finding, Lab
    from bentpipe.papers.verdicts import Verdict

FAILS = "fails"
UNDECIDED = "undecided"
"""The interval crosses an edge of the band, or there is nothing to measure: the data does not show that it holds."""
HOLDS = "holds"
ERROR = "error"
"""The measure fails without it, so there is no result."""
EXEMPT = "exempt"
"""There is nothing to remove: arithmetic, a definition, or a reason that `without` gives."""
UNNAMED = "unnamed"
"""`claims.toml` names neither mechanism nor condition."""
NOT_HELD = "not held"
"""The claim does not hold, so there is nothing to attack."""
KINDS = (FAILS, UNDECIDED, HOLDS, ERROR, EXEMPT, UNNAMED, NOT_HELD)


@dataclass(frozen=True)
class Attack:
    """Outcome of a claim, or of one part of it, without its mechanism or condition."""

    kind: str
    """One of `KINDS`."""
    what: str = ""
    """The mechanism or condition."""
    of: str = claims.MECHANISM
    """One of `claims.ATTACKS`."""
    reading: str = ""
    """The reading that was measured, which gave the verdict."""
    finding: Finding | None = None
    note: str = ""
    """The reason why the claim holds without it, why there is none, or the error."""

    @property
    def is_explained(self) -> bool:
        """Whether the claim fails without its mechanism or condition, or has a reason why it does not."""
        return self.kind in (FAILS, UNDECIDED, EXEMPT, NOT_HELD) or (self.kind == HOLDS and bool(self.note))

    @property
    def text(self) -> str:
        """Short text, such as "fails without delayed ACKs"."""
        if self.kind == FAILS:
            return f"fails without {self.what}"
        if self.kind == UNDECIDED:
            value = None if self.finding is None else self.finding.value
            is_empty = value is None or math.isnan(value)
            return f"undecided without {self.what}{': nothing to measure' if is_empty else ''}"
        if self.kind == HOLDS:
            return f"holds also without {self.what}: {self.note or 'no reason is given'}"
        if self.kind == ERROR:
            return f"cannot be measured without {self.what}: {self.note.splitlines()[0]}"
        if self.kind == EXEMPT:
            return self.note
        return "names neither mechanism nor condition" if self.kind == UNNAMED else "not attacked: it does not hold"


def attack_claim(paper: Paper, verdict: Verdict, lab: Lab) -> Verdict:
    """The verdict with the attack on the claim, or on each of its parts."""
    if not verdict.parts:
        return replace(verdict, attack=_attack(paper, verdict, find_reading(verdict, verdict), lab))
    parts = (replace(part, attack=_attack(paper, part, find_reading(verdict, part), lab)) for part in verdict.parts)
    return replace(verdict, parts=tuple(parts))


def find_reading(whole: Verdict, part: Verdict) -> str:
    """The reading that gave the verdict: one in which all parts hold, or else the first in which this part holds."""
    held = part.holds_in
    joint = [name for name in whole.joint if name in held] if whole.parts else []
    return next(iter([*joint, *held]), "")


def _attack(paper: Paper, verdict: Verdict, reading: str, lab: Lab) -> Attack:
    claim, without = verdict.claim, verdict.claim.without
    if without is None or not without.changes:
        if without is not None:
            return Attack(EXEMPT, note=f"no mechanism: {without.why}")
        return Attack(UNNAMED) if claim.by == claims.RUNS else Attack(EXEMPT, note=f"by {claim.by}")
    if not reading:
        return Attack(NOT_HELD, without.what, without.kind)
    asked = next(each for each in claim.readings if each.name == reading)
    try:
        with lab.without(without.keys, without.case):
            finding = loading.measure_claim(paper, claim, reading, lab, {**asked.arguments, **without.arguments})
    except PaperError as error:
        return Attack(ERROR, without.what, without.kind, reading, note=str(error))
    assert claim.criterion is not None, "it holds, so it has a band"
    kind = {True: HOLDS, False: FAILS, None: UNDECIDED}[verdicts.passes(finding, claim.criterion)]
    return Attack(kind, without.what, without.kind, reading, finding, without.why if kind == HOLDS else "")


def survivors(found: Sequence[Verdict]) -> Iterator[tuple[Verdict, Claim, Attack]]:
    """Each claim that survives its attack, names none or cannot be attacked, with the part and its attack."""
    for verdict in found:
        for part in verdict.judged:
            if part.attack is not None and part.attack.kind in (HOLDS, ERROR, UNNAMED):
                yield verdict, part.claim, part.attack

"""Summarises the verdicts on a paper: in words, figure by figure, and reading by reading."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from bentpipe.papers import claims, falsify, settings, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bentpipe.papers.claims import Claim, Figure, Paper
    from bentpipe.papers.falsify import Attack
    from bentpipe.papers.reproduce import Reproduced
    from bentpipe.papers.verdicts import Verdict

ROWS_MIN = 3
"""Claims that must share a reading before it gets a row in the table."""
YES, NO, OPEN = "yes", "no", "open"
HOLD = (verdicts.REPRODUCED, verdicts.UNDER_READING)
_WORDS = {
    verdicts.REPRODUCED: ("holds", "hold", "in the paper's own words"),
    verdicts.UNDER_READING: ("holds", "hold", "under a named reading"),
    verdicts.IN_PART: ("holds", "hold", "in part"),
    verdicts.NOT_REPRODUCED: ("does", "do", "not hold"),
    verdicts.IMPOSSIBLE: ("cannot", "cannot", "be as printed"),
    verdicts.UNDECIDED: ("is", "are", "undecided"),
    verdicts.NEEDS: ("needs", "need", "a missing feature"),
    verdicts.ERROR: ("has", "have", "a failed measurement"),
}
"""Verb for one claim, verb for several, and the rest of the sentence."""
_ROMAN = {"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7, "VIII": 8, "IX": 9, "X": 10}


def in_words(reproduced: Reproduced) -> Iterator[str]:
    """The summary: the world, numbers of claims by verdict and by basis, and figures that hold as a whole."""
    yield headline(reproduced)
    readings = _name_readings(reproduced, verdicts.UNDER_READING)
    yield f"Of {write_counts(len(reproduced.verdicts), reproduced.counts, readings)}."
    yield from world(reproduced)
    held = [verdict for verdict in reproduced.verdicts if verdict.kind in HOLD]
    others = Counter(verdict.claim.by for verdict in held if verdict.claim.by != claims.RUNS)
    if others:
        texts = [f"{count} {'holds' if count == 1 else 'hold'} by {by}" for by, count in sorted(others.items())]
        yield f"Of the {len(held)} claims that hold in some reading, {' and '.join(texts)}."
    places: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in reproduced.verdicts:
        for place in _find_figures(verdict.claim.where):
            if any(part.found for part in verdict.judged):
                places.setdefault(place, []).append(verdict)
    for (kind, number), found in sorted(places.items()):
        if len(found) > 1:
            yield f"{kind.capitalize()} {number}: {_together(found)}"


def write_counts(total: int, counts: Mapping[str, int], readings: str = "") -> str:
    """Numbers of claims by verdict, in words; `readings` follows the number of those that need a reading.

    >>> write_counts(3, {"reproduced": 2, "not reproduced": 1})
    "3 claims, 2 hold in the paper's own words, 1 does not hold"
    """
    texts = [f"{total} claims"]
    for kind, count in counts.items():
        one, several, rest = _WORDS[kind]
        after = readings if kind == verdicts.UNDER_READING else ""
        texts.append(f"{count} {one if count == 1 else several} {rest}{after}")
    return ", ".join(texts)


def headline(reproduced: Reproduced) -> str:
    """Number of claims that hold together in one possible network, and number of claims that hold in some reading."""
    entry, count = reproduced.world, len(reproduced.verdicts)
    held = sum(verdict.kind in HOLD for verdict in reproduced.verdicts)
    if entry is None:
        return f"{held} of {count} claims hold in some reading."
    return (
        f"{len(entry.claims)} of {count} claims hold together in one possible network; {held} of {count} hold in some "
        "reading."
    )


def world(reproduced: Reproduced) -> Iterator[str]:
    """The network in which most claims hold, and the claims that hold in other networks only."""
    entry = reproduced.world
    if entry is None:
        return
    if entry.values:
        yield f"This network has {settings.in_words({name: (value,) for name, value in entry.values.items()})}."
    held = [verdict.claim.id for verdict in reproduced.verdicts if verdict.kind in HOLD]
    if others := [id_ for id_ in held if id_ not in entry.claims]:
        yield f"Only in other networks: {', '.join(others)}."


def attacks(reproduced: Reproduced) -> Iterator[str]:
    """Outcomes of the attacks, of each kind, and each claim that survives its attack."""
    if not reproduced.is_attacked:
        return
    found = [part.attack for verdict in reproduced.verdicts for part in verdict.judged if part.attack is not None]
    for of in claims.ATTACKS:
        yield from _attacks(reproduced, of, [attack for attack in found if attack.of == of])
    for whole, part, attack in falsify.survivors(reproduced.verdicts):
        yield f"{whole.claim.id}{f' ({part.part})' if part.part else ''}: {attack.text}."


def _attacks(reproduced: Reproduced, of: str, found: Sequence[Attack]) -> Iterator[str]:
    tried = [attack for attack in found if attack.finding is not None or attack.kind == falsify.ERROR]
    counts = Counter(attack.kind for attack in tried)
    several = " or parts" if any(verdict.parts for verdict in reproduced.verdicts) else ""
    outcomes = [(falsify.FAILS, "fails", "fail"), (falsify.UNDECIDED, "is undecided", "are undecided")]
    outcomes += [(falsify.HOLDS, "still holds", "still hold"), (falsify.ERROR, "has an error", "have an error")]
    texts = [f"{counts[kind]} {one if counts[kind] == 1 else more}" for kind, one, more in outcomes if counts[kind]]
    if tried:
        yield f"Of {len(tried)} claims{several} measured again without their {of}, {', '.join(texts)}."


def count(reproduced: Reproduced, kind: str) -> str:
    """Number of claims with this verdict, with the number of readings tried if they hold only under a reading."""
    return f"{reproduced.counts.get(kind, 0)}{_name_readings(reproduced, kind)}"


def _name_readings(reproduced: Reproduced, kind: str) -> str:
    held, tried = reproduced.readings
    return f" ({held} of {tried} readings)" if kind == verdicts.UNDER_READING and tried else ""


def origin(paper: Paper) -> str:
    """Authors and place of publication, if the folder of the paper has them."""
    return ". ".join(filter(None, (paper.authors.removesuffix("."), paper.published)))


def number(id_: str) -> str:
    """The part of a claim's name after the paper, or else the whole name, for the head of a column.

    >>> number("HSWA-13"), number("fast")
    ('13', 'fast')
    """
    return id_.partition("-")[2] or id_


def _together(found: Sequence[Verdict]) -> str:
    """The claims about one figure that hold in the same reading, in words."""
    names = _find_shared(found)
    # A claim without such a reading is compatible with any of them.
    bound = {verdict.claim.id for verdict in found if not set(names).isdisjoint(_readings(verdict))}
    held = {
        name: sum(
            holds(verdict, name) == YES if verdict.claim.id in bound else verdict.kind in HOLD for verdict in found
        )
        for name in names or [""]
    }
    best = max(held, key=lambda name: held[name])
    reading = f' in one reading ("{best}")' if best else ""
    if held[best] == len(found):
        return f"all {len(found)} measured claims hold{reading}."
    if not held[best]:
        return f"none of {len(found)} measured claims holds."
    rest = "; no reading covers all of them" if best else ""
    return f"{held[best]} of {len(found)} measured claims hold{reading}{rest}."


class ByReading(NamedTuple):
    """Claims by reading."""

    claims: list[str]
    rows: list[tuple[str, list[str]]]
    """Readings with a cell per claim: yes, no, open, or empty if the claim was not measured in the reading."""


def by_reading(reproduced: Reproduced) -> ByReading | None:
    """Readings that several claims share, with the claims that hold in each; None without such readings."""
    names = _find_shared(reproduced.verdicts, ROWS_MIN)
    chosen = [verdict for verdict in reproduced.verdicts if not set(names).isdisjoint(_readings(verdict))]
    if not names:
        return None
    # The literal reading of the paper is first.
    own = [reading.name for reading in reproduced.paper.readings]
    names.sort(key=lambda name: own.index(name) if name in own else len(own))
    rows = [(name, [holds(verdict, name) for verdict in chosen]) for name in names]
    return ByReading([verdict.claim.id for verdict in chosen], rows)


def holds(verdict: Verdict, reading: str) -> str:
    """Whether a claim with all its parts holds in a reading; empty if it was not measured there."""
    states = []
    for part in verdict.judged:
        tried = [each.holds for each in part.found if each.reading.name == reading]
        # A part with separate readings is compatible with any.
        states.append(tried[0] if tried else bool(part.holds_in) if part.found else None)
    if reading not in _readings(verdict):
        return ""
    return NO if False in states else OPEN if None in states else YES


def _readings(verdict: Verdict) -> list[str]:
    return list(dict.fromkeys(each.reading.name for part in verdict.judged for each in part.found))


def _find_shared(found: Sequence[Verdict], least: int = 2) -> list[str]:
    """Names of readings that at least `least` claims with several readings have, in their order."""
    counts = Counter(name for verdict in found if len(_readings(verdict)) > 1 for name in _readings(verdict))
    return [name for name, count in counts.items() if count >= least]


def figures_by_claim(paper: Paper) -> dict[Figure, Claim | None]:
    """For each figure, the first claim about this figure; None without such a claim."""
    return {
        figure: next(
            (claim for claim in paper.claims if set(_find_figures(claim.where)) & set(_find_figures(figure.name))), None
        )
        for figure in paper.figures
    }


def _find_figures(text: str) -> list[tuple[str, str]]:
    """Figures and tables that a text names, each alone: of several, the first.

    >>> _find_figures("Section IV, Fig. 3(a)"), _find_figures("tables-4-to-6"), _find_figures("Table VI, figure 2")
    ([('figure', '3a')], [('table', '4')], [('table', '6'), ('figure', '2')])
    """
    found = re.findall(r"\b(fig|table)[a-z]*\.?[ -](\d+|[IVX]+\b)(?:\(?([a-z])\b\)?)?", text, re.IGNORECASE)
    kinds = {"fig": "figure", "table": "table"}
    return [(kinds[kind.lower()], f"{_ROMAN.get(number, number)}{letter}") for kind, number, letter in found]

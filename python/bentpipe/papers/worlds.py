"""Counts the claims that hold together in one world: one choice of readings for all claims of a paper.

Readings with one name are one reading. Readings between which a claim chooses are alternatives, and alternatives that
several claims share are one choice of the world. A claim that was not tried in the chosen reading is not shown to hold.
A choice that a single claim has does not bind the others, so it counts in the best of its readings.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bentpipe.papers.verdicts import Verdict


@dataclass(frozen=True)
class World:
    """The choice of readings in which most claims hold."""

    readings: tuple[str, ...]
    """One for each choice that claims share, in the order of the claims."""
    claims: tuple[str, ...]
    """Names of the claims that hold."""

    @property
    def name(self) -> str:
        """The readings, in quotes; empty where claims share no choice."""
        return ", ".join(f'"{name}"' for name in self.readings)


def best(found: Sequence[Verdict]) -> World:
    """The world in which most claims hold; of several, that whose readings come first."""
    choices = _choices(found)
    readings: dict[int, str] = {}
    for together in _together(found, choices):
        worlds = [dict(zip(together, names, strict=True)) for names in product(*(choices[at] for at in together))]
        counts = [sum(_holds(each, choices, world, together) for each in found) for world in worlds]
        readings |= worlds[counts.index(max(counts))]
    claims = tuple(each.claim.id for each in found if _holds(each, choices, readings))
    return World(tuple(readings[at] for at in sorted(readings)), claims)


def _names(part: Verdict) -> list[str]:
    return [each.reading.name for each in part.found]


def _choices(found: Sequence[Verdict]) -> list[list[str]]:
    """The alternatives that several claims share, in the order in which claims name them."""
    groups: list[list[str]] = []
    for part in (part for verdict in found for part in verdict.judged):
        if len(_names(part)) > 1:
            met = [group for group in groups if not set(group).isdisjoint(_names(part))]
            merged = list(dict.fromkeys(name for group in (*met, _names(part)) for name in group))
            groups = [group for group in groups if group not in met]
            groups.append(merged)
    users = Counter(at for verdict in found for at in _used(verdict, groups))
    shared = [group for at, group in enumerate(groups) if users[at] > 1]
    order = [name for verdict in found for part in verdict.judged for name in _names(part)]
    return sorted(shared, key=lambda group: min(map(order.index, group)))


def _used(verdict: Verdict, choices: Sequence[Sequence[str]]) -> set[int]:
    """Which of the choices a claim depends on, with any of its parts."""
    names = {name for part in verdict.judged for name in _names(part)}
    return {at for at, group in enumerate(choices) if not names.isdisjoint(group)}


def _together(found: Sequence[Verdict], choices: Sequence[Sequence[str]]) -> list[list[int]]:
    """Choices that have to be made together, because a claim has parts in several of them."""
    groups = [{at} for at in range(len(choices))]
    for used in (_used(verdict, choices) for verdict in found):
        met = [group for group in groups if group & used]
        if len(met) > 1:
            groups = [group for group in groups if group not in met] + [set().union(*met)]
    return [sorted(group) for group in sorted(groups, key=min)]


def _holds(
    verdict: Verdict, choices: Sequence[Sequence[str]], world: Mapping[int, str], only: Iterable[int] | None = None
) -> bool:
    """Whether a claim holds in a world with all its parts. With `only`, claims without these choices do not count."""
    used = _used(verdict, choices)
    if only is not None and used.isdisjoint(only):
        return False
    for part in verdict.judged:
        at = next((at for at in used if not set(choices[at]).isdisjoint(_names(part))), None)
        if not (part.holds_in if at is None else world[at] in part.holds_in):
            return False
    return True

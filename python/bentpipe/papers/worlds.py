"""Counts the claims that hold together in one world: one choice of readings for all claims of a paper.

A world has one value for each choice that several claims share. Readings with one name are the same value, and the
readings of a claim are the values of one choice. The key `world` of a reading replaces its name: a text is the name of
another reading, a table has the values by choice, `{ senders = "three", buffer = "router" }`. A reading without a value
for a choice is compatible with all its values.

A claim holds in a world if all its parts hold there, each in at least one reading that belongs to the world. A claim
without such a reading was not tried there, so it does not hold. A choice that a single claim has binds no other claim.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bentpipe.papers.claims import Reading
    from bentpipe.papers.verdicts import Verdict

Values: TypeAlias = "Mapping[str, tuple[str, ...]]"
"""Compatible values of a reading, by choice."""
Parts: TypeAlias = "list[list[tuple[Values, bool]]]"
"""Values of a claim and whether it holds, by part and reading."""


@dataclass(frozen=True)
class World:
    """The choice of readings in which most claims hold."""

    readings: tuple[str, ...]
    """A reading for each choice that claims share, in the order of the claims."""
    claims: tuple[str, ...]
    """Names of the claims that hold."""

    @property
    def name(self) -> str:
        """The readings, in quotes; empty if claims share no choice."""
        return ", ".join(f'"{name}"' for name in self.readings)


def best(found: Sequence[Verdict]) -> World:
    """Finds the world in which most claims hold; of equal worlds, the world with the first readings."""
    by_claim = _by_claim(found)
    choices = _shared(by_claim)
    world: dict[str, str] = {}
    for together in _together(by_claim, choices):
        bound = [parts for parts in by_claim if not _choices(parts).isdisjoint(together)]
        worlds = [dict(zip(together, values, strict=True)) for values in product(*(choices[key] for key in together))]
        counts = [sum(_holds(parts, each) for parts in bound) for each in worlds]
        world |= worlds[counts.index(max(counts))]
    claims = [verdict.claim.id for verdict, parts in zip(found, by_claim, strict=True) if _holds(parts, world)]
    named = [world[key] if key in _names(found) else f"{key}: {world[key]}" for key in choices]
    return World(tuple(named), tuple(claims))


def _by_claim(found: Sequence[Verdict]) -> list[Parts]:
    groups = _groups(found)

    def values(reading: Reading) -> Values:
        if isinstance(reading.world, dict):
            return reading.world
        name = reading.world or reading.name
        return {groups[name]: (name,)} if name in groups else {}

    return [
        [[(values(each.reading), bool(each.holds)) for each in part.found] for part in verdict.judged]
        for verdict in found
    ]


def _name(reading: Reading) -> str:
    return reading.world if isinstance(reading.world, str) else reading.name


def _names(found: Sequence[Verdict]) -> set[str]:
    return {_name(each.reading) for verdict in found for part in verdict.judged for each in part.found}


def _groups(found: Sequence[Verdict]) -> dict[str, str]:
    """First name of the group of readings between which claims choose, by name of a reading."""
    groups: list[list[str]] = []
    for part in (part for verdict in found for part in verdict.judged):
        names = [_name(each.reading) for each in part.found if not isinstance(each.reading.world, dict)]
        if len(names) > 1 or any(each.reading.world for each in part.found):
            met = [group for group in groups if not set(group).isdisjoint(names)]
            groups = [group for group in groups if group not in met]
            if merged := list(dict.fromkeys(name for group in (*met, names) for name in group)):
                groups.append(merged)
    return {name: group[0] for group in groups for name in group}


def _choices(parts: Parts) -> set[str]:
    return {choice for part in parts for values, _ in part for choice in values}


def _shared(by_claim: Sequence[Parts]) -> dict[str, list[str]]:
    """Finds the choices that several claims have, with their values, both in the order of the claims."""
    users: dict[str, int] = {}
    known: dict[str, dict[str, None]] = {}
    for parts in by_claim:
        for values in (values for part in parts for values, _ in part):
            for choice, some in values.items():
                known.setdefault(choice, {}).update(dict.fromkeys(some))
        for choice in _choices(parts):
            users[choice] = users.get(choice, 0) + 1
    return {choice: list(values) for choice, values in known.items() if users[choice] > 1}


def _together(by_claim: Sequence[Parts], choices: Iterable[str]) -> list[list[str]]:
    """Choices that belong together, because one claim has several of them."""
    order = list(choices)
    groups = [{choice} for choice in order]
    for parts in by_claim:
        met = [group for group in groups if not group.isdisjoint(_choices(parts))]
        if len(met) > 1:
            groups = [group for group in groups if group not in met] + [set().union(*met)]
    return [sorted(group, key=order.index) for group in groups]


def _holds(parts: Parts, world: Mapping[str, str]) -> bool:
    """Whether a claim holds in a world. A choice without a value in the world is free."""
    return bool(parts) and all(
        any(
            holds and all(world.get(choice, some[0]) in some for choice, some in values.items())
            for values, holds in part
        )
        for part in parts
    )

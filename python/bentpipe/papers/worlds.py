"""Counts the claims that hold together in one world: one possible network, with one value for each setting.

The values of a reading are those of its runs, see `settings`. A reading without a value of a setting, because the
setting has no effect on its runs, is compatible with all values. A claim holds in a world if all its parts hold there,
each in at least one reading whose values are those of the world. A claim whose readings have other values was not
tried in the world, so it does not hold there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bentpipe.papers.settings import Setting
    from bentpipe.papers.verdicts import Verdict


@dataclass(frozen=True)
class World:
    """A possible network: the one in which most claims hold."""

    values: dict[str, str]
    """The value of each setting that matters: with another one, not all of these claims hold."""
    claims: tuple[str, ...]
    """Names of the claims that hold."""


def best(settings: Sequence[Setting], found: Sequence[Verdict]) -> World | None:
    """Find the world in which most claims hold; of equal worlds, the world with the first values.

    A paper without settings has no world: its readings have no values that could exclude each other.
    """
    if not settings:
        return None
    tried = [each.world for verdict in found for part in verdict.judged for each in part.found]
    met = {each.name: {value for world in tried for value in world.get(each.name, ())} for each in settings}
    values = {each.name: [value for value in each.values if value in met[each.name]] for each in settings}
    values = {name: some for name, some in values.items() if len(some) > 1}
    # An axis for each setting: a cell is a world.
    holds = [_holds(verdict, values) for verdict in found]
    counts = np.sum(holds, axis=0, dtype=int)
    place = np.unravel_index(int(np.argmax(counts)), counts.shape)
    all_hold = np.logical_and.reduce([held for held in holds if held[place]], axis=0) & np.ones(
        counts.shape, dtype=bool
    )
    chosen = {}
    for axis, (name, some) in enumerate(values.items()):
        if not np.moveaxis(all_hold, axis, -1)[place[:axis] + place[axis + 1 :]].all():
            chosen[name] = some[place[axis]]
    return World(chosen, tuple(each.claim.id for each, held in zip(found, holds, strict=True) if held[place]))


def _holds(verdict: Verdict, values: dict[str, list[str]]) -> NDArray[np.bool_]:
    """Whether a claim holds, for each world."""
    shape = [len(some) for some in values.values()]
    held = np.full(shape, bool(verdict.judged))
    for part in verdict.judged:
        of_part = np.zeros(shape, dtype=bool)
        for each in part.found:
            if each.holds:
                of_part |= _compatible(each.world, values)
        held &= of_part
    return held


def _compatible(world: dict[str, tuple[str, ...]], values: dict[str, list[str]]) -> NDArray[np.bool_]:
    """Whether the values of a reading are those of a world, for each world."""
    axes = [np.array([value in world.get(name, some) for value in some]) for name, some in values.items()]
    found = np.array(True)
    for axis in axes:
        found = np.logical_and.outer(found, axis)
    return found

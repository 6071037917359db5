"""Space of a search: keys with their values, and the points (combinations of values) that are different scenarios."""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from bentpipe.errors import BentpipeError, ScenarioError
from bentpipe.formatting import choice
from bentpipe.scenario.editing import steps
from bentpipe.scenario.writing import literals
from bentpipe.trials.amounts import amount, between, round_value
from bentpipe.trials.linux import Lack, find_kind, lack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from bentpipe import _core
    from bentpipe.trials.stock import Axis
    from bentpipe.tuning.conditions import Condition, Sets

WHOLE_MAX = 512
"""Most points of a space whose points are all tried."""

Positions = tuple[int, ...]
"""A value on each axis; 0 is the default."""


@dataclass(frozen=True)
class Point:
    """A setting: the changes from the default."""

    changes: tuple[tuple[str, Any], ...] = field(hash=False)
    digest: str
    positions: Positions
    lacking: str = ""
    """Reason why a stock system cannot have this setting; empty if it can."""
    implied: tuple[tuple[str, Any], ...] = field(default=(), hash=False)
    """Changes that this setting implies: a shaper for each changed queue."""

    @property
    def sets(self) -> Sets:
        """All changes as overrides of a scenario, implied changes included."""
        return literals([*self.changes, *self.implied], {})


class Space:
    """All points of a search; each is made on demand.

    Points with equal digests are one point, the one with the fewest changes. If the scenario refuses a key together
    with the others, the point lacks this key. `imply` returns the changes that a change implies.
    """

    def __init__(
        self,
        core: _core.Scenario,
        condition: Condition,
        axes: Sequence[Axis],
        *,
        is_all: bool,
        imply: Callable[[str, Any], Sequence[tuple[str, Any]]] = lambda _key, _value: (),
    ) -> None:
        self._core, self._condition, self._imply = core, condition, imply
        self._middleboxes = {
            name: {find_kind(each) for each in node.get("middlebox", [])}
            for name, node in json.loads(core.to_json()).get("node", {}).items()
        }
        self.dropped: dict[str, str] = {}
        """Keys that were dropped from some points, with the reason."""
        self._known: dict[Positions, Point | None] = {}
        self._by_digest: dict[str, Point] = {}
        self.default = self._check_point(self._try(()), ())
        self._by_digest[self.default.digest] = self.default
        self.axes = [each for axis in axes if (each := self._without_default(axis, axes, is_all=is_all)).values]
        if not self.axes:
            raise BentpipeError(
                "the space has one point\n  expected keys in [tune.vary] with other values than the file's"
            )
        self._known[(0,) * len(self.axes)] = self.default
        self.size = math.prod(1 + len(axis.values) for axis in self.axes)
        """Number of combinations, without values that a search adds."""

    def _without_default(self, axis: Axis, axes: Sequence[Axis], *, is_all: bool) -> Axis:
        values = []
        for value in axis.values:
            try:
                if self._try(((axis.key, value),), with_implied=False).digest == self.default.digest:
                    continue
            except ScenarioError as error:
                others = [(each.key, other) for each in axes if each is not axis for other in each.values]
                if not self._is_valid_with_any((axis.key, value), others):
                    if not axis.is_stock:
                        # The value is in [tune.vary] of the file, or in an option that adds to it.
                        place = f"tune.vary.{axis.key}"
                        where = f"at the value {axis.key}={choice(value)}"
                        raise error.change_problems(lambda each: replace(each, place=place), where) from None  # noqa: B023
                    self.dropped.setdefault(axis.key, error.problems[0].message)
                    continue
            lacking = self._find_lack(axis.key, value)
            if lacking is not None and not is_all:
                raise BentpipeError(
                    f'{axis.key} = {choice(value)}: {lacking.why}\n  expected {lacking.instead}, or space = "all"'
                )
            values.append(value)
        return replace(axis, values=tuple(values))

    def _find_lack(self, key: str, value: Any) -> Lack | None:
        """Find a setting of a change that a stock system lacks. Middleboxes that a node has already are no change."""
        path = steps(key)
        if path[0] == "node" and isinstance(value, list):
            value = [each for each in value if find_kind(each) not in self._middleboxes.get(path[1], ())]
        return lack(key, value)

    def _is_valid_with_any(self, change: tuple[str, Any], others: Sequence[tuple[str, Any]]) -> bool:
        """Whether the scenario accepts a change together with another one."""
        for other in others:
            try:
                self._try((other, change))
            except ScenarioError:
                continue
            return True
        return False

    @property
    def is_large(self) -> bool:
        """Whether there are too many points to try them all."""
        return self.size > WHOLE_MAX

    def whole(self) -> list[Point]:
        """Return all points, the default first."""
        ranges = (range(1 + len(axis.values)) for axis in self.axes)
        return self.points(product(*ranges))

    def points(self, many: Iterable[Positions]) -> list[Point]:
        """Return the points at these positions; equal points only once."""
        found = dict.fromkeys(point.digest for each in many if (point := self.find_point(each)) is not None)
        return [self._by_digest[digest] for digest in found]

    def find_point(self, positions: Positions) -> Point | None:
        """Return the point at these positions; None if the scenario refuses its values."""
        if positions not in self._known:
            self._known[positions] = self._make_point(positions)
        found = self._known[positions]
        # A point that was found later may be the same scenario by fewer changes.
        return found and self._by_digest[found.digest]

    def make_point(self, changes: Mapping[str, Any]) -> Point | None:
        """Return the point with these changes; None if the scenario refuses them."""
        return self.find_point(tuple(self._position(at, changes) for at in range(len(self.axes))))

    def _position(self, at: int, changes: Mapping[str, Any]) -> int:
        """Return the position of a change on its axis, which gets the value if it is a new one."""
        axis = self.axes[at]
        if axis.key not in changes:
            return 0
        value = changes[axis.key]
        if value not in axis.values:
            self.axes[at] = axis = replace(axis, values=(*axis.values, value))
        return 1 + axis.values.index(value)

    def round_point(self, point: Point) -> Point:
        """Return the point with values as the tools round them, where rounding changes a value noticeably."""
        return self.make_point({key: round_value(key, value) for key, value in point.changes}) or point

    def between(self, point: Point) -> list[Point]:
        """Return points between a point and its neighbours: a size or time is the geometric mean of both values."""
        changes, found = dict(point.changes), []
        for axis in list(self.axes):
            now = changes.get(axis.key, axis.default)
            unit, number = amount(now)[1], amount(now)[0]
            others = [(amount(each)[0], each) for each in (axis.default, *axis.values) if amount(each)[1] == unit]
            below = max((each for each in others if each[0] < number), default=None)
            above = min((each for each in others if each[0] > number), default=None)
            for other in filter(None, (below, above)):
                middle = between(now, other[1])
                if middle is not None:
                    found.append(self.make_point({**changes, axis.key: middle}))
        return list({each.digest: each for each in found if each is not None}.values())

    def find_positions(self, point: Point) -> Positions:
        """Return the positions of a point on the axes, without dropped keys."""
        changes = dict(point.changes)
        return tuple(1 + axis.values.index(changes[axis.key]) if axis.key in changes else 0 for axis in self.axes)

    def sample(self, count: int, seed: int) -> list[Point]:
        """Return a sample of points, the default first. In the sample, all values of a key are equally frequent."""
        draw = random.Random(seed)
        columns = []
        for axis in self.axes:
            size = 1 + len(axis.values)
            column = [at % size for at in range(count)]
            draw.shuffle(column)
            columns.append(column)
        return self.points([(0,) * len(self.axes), *zip(*columns, strict=True)])

    def neighbours(self, point: Point) -> list[Point]:
        """Return the points that differ in one key."""
        placed = self.find_positions(point)
        steps = (
            (*placed[:at], value, *placed[at + 1 :])
            for at, axis in enumerate(self.axes)
            for value in range(1 + len(axis.values))
            if value != placed[at]
        )
        return self.points(steps)

    def _make_point(self, positions: Positions) -> Point | None:
        changes = tuple((axis.key, axis.values[at - 1]) for axis, at in zip(self.axes, positions, strict=True) if at)
        for kept in self._fewer(changes):
            try:
                core = self._try(kept)
            except ScenarioError as error:
                self._note(kept, error)
                continue
            point = self._check_point(core, kept, positions)
            known = self._by_digest.setdefault(core.digest, point)
            if len(point.changes) < len(known.changes):
                self._by_digest[core.digest] = point
            return point
        return None

    def _fewer(self, changes: tuple[tuple[str, Any], ...]) -> Iterator[tuple[tuple[str, Any], ...]]:
        """List these changes, then those with one of them dropped, the last first."""
        yield changes
        if len(changes) > 1:
            yield from (changes[:at] + changes[at + 1 :] for at in reversed(range(len(changes))))

    def _note(self, kept: tuple[tuple[str, Any], ...], error: ScenarioError) -> None:
        problem = error.problems[0]
        key = next((key for key, _ in kept if f"{problem.key}.".startswith(f"{key}.")), "")
        if key:
            self.dropped.setdefault(key, problem.message)

    def _try(self, changes: tuple[tuple[str, Any], ...], *, with_implied: bool = True) -> _core.Scenario:
        implied = self._list_implied(changes) if with_implied else ()
        return self._condition.scenario(self._core, literals([*changes, *implied], {}))

    def _list_implied(self, changes: Iterable[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
        return tuple(each for key, value in changes for each in self._imply(key, value))

    def _check_point(
        self, core: _core.Scenario, changes: tuple[tuple[str, Any], ...], positions: Positions = ()
    ) -> Point:
        why = next((found.why for key, value in changes if (found := self._find_lack(key, value)) is not None), "")
        return Point(changes, core.digest, positions, why, self._list_implied(changes))

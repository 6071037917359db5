"""Searches by successive halving. From rung to rung, fewer points run, each with more blocks.

All points of a rung have the same blocks, so a kept point only needs new ones. Decisions depend on results in the order
of points, never on time or on the number of workers.

References
----------
Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization", AISTATS 2016. Deb et
al., "A fast and elitist multiobjective genetic algorithm: NSGA-II", IEEE Trans. Evolutionary Computation 6(2), 2002.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.tuning.guarding import breaks, holds_in_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from bentpipe.tuning.blocks import Outcomes
    from bentpipe.tuning.goal import Goal, Values
    from bentpipe.tuning.space import Point, Space

RUNGS = (1, 3, 9, 18)
"""Blocks of each rung."""
LAST_RUNG = 36
"""Blocks of one more rung if the last blocks decide between conditions."""
KEPT = 3
"""A rung keeps one point of this many."""
LEAST = 3
"""Fewest points that a rung keeps."""
LEAST_FRONT = 12
SAMPLED = 96
"""Points of a large space that are tried first."""
ROUNDS = 2
"""Rounds of neighbours of the best points in a large space."""
ATTEMPTS = 4
"""Most climbs if all points of the last rung break a guard or stall."""
BEST = 3
"""Points whose neighbours are tried."""


@dataclass(frozen=True)
class Rung:
    """A rung: blocks, points, and the points that are kept."""

    blocks: int
    points: int
    kept: int
    runs: int
    name: str = ""
    settings: list[tuple[Point, float, bool]] = field(default_factory=list, hash=False)
    """Points with their scores, and whether they are kept."""


@dataclass
class Searched:
    """Outcome of a search."""

    ranking: list[Point]
    """Points of the last rung, the best first."""
    totals: dict[str, float]
    """Score of each point in its last rung, by digest."""
    blocks: int
    """Blocks of the last rung."""
    rungs: list[Rung] = field(default_factory=list)
    first: list[tuple[Point, float]] = field(default_factory=list)
    """Points of the first rung with their scores."""
    classes: list[list[Point]] = field(default_factory=list)
    """Sets of points with equal outcomes in every run; in each set, the point with the fewest changes first."""
    front: list[Point] = field(default_factory=list)
    broken: list[Point] = field(default_factory=list)
    """Points that break a guard, the best first."""


class Race:
    """A search over points."""

    def __init__(
        self,
        space: Space,
        goal: Goal,
        shares: NDArray[np.float64],
        outcomes: Outcomes,
        budget: int | None = None,
        told: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.space, self.goal, self.shares, self.outcomes, self.told = space, goal, shares, outcomes, told
        self.default = space.default
        self.budget = budget
        self.found = Searched([], {}, 0)
        self._broken: dict[str, Point] = {}
        self._failed: set[str] = set()

    @property
    def rungs(self) -> tuple[int, ...]:
        """Blocks of each rung."""
        return RUNGS if self.goal.robust == "mean" else (*RUNGS, LAST_RUNG)

    def search(self, seed: int) -> Searched:
        """Find the best points."""
        count = SAMPLED
        if self.space.is_large or self._cost(self.space.size) > (self.budget or np.inf):
            while count > 2 * LEAST and self._cost(count) > (self.budget or np.inf):
                count //= 2
            alive = self._try_points(self.space.sample(count, seed))
            for at in range(ROUNDS):
                near = self._near(alive, has_between=at == ROUNDS - 1)
                alive = self._climb_rungs(near, self.rungs, f"neighbours {at + 1}")
        else:
            alive = self._try_points(self.space.whole())
        self.found.ranking = alive
        totals = self.found.totals
        self.found.broken = sorted(self._broken.values(), key=lambda each: (totals[each.digest], each.positions))
        self.found.front = self._front(alive) if self.goal.is_front else []
        return self.found

    def _try_points(self, points: Sequence[Point]) -> list[Point]:
        """Climb the rungs, and again without the points that failed if all the best ones failed."""
        for attempt in range(ATTEMPTS):
            alive = self._climb_rungs(points, self.rungs, f"attempt {attempt + 1}" if attempt else "")
            left = [point for point in points if point.digest not in self._failed]
            is_done = any(point is not self.default and point.digest not in self._failed for point in alive)
            if is_done or len(left) in (1, len(points)):
                break
            points = left
        return alive

    def _near(self, alive: Sequence[Point], *, has_between: bool) -> list[Point]:
        """Return the neighbours of the best points, in the last round also those between the values of a key."""
        near = {self.default.digest: self.default, **{point.digest: point for point in alive}}
        for point in alive[:BEST]:
            near |= {each.digest: each for each in self.space.neighbours(point)}
        for point in alive[:BEST] if has_between else ():
            near |= {each.digest: each for each in self.space.between(point)}
        return list(near.values())

    def _cost(self, points: int) -> int:
        return cost(points, self.rungs, len(self.shares))

    def _climb_rungs(self, points: Sequence[Point], rungs: Sequence[int], name: str = "") -> list[Point]:
        """Climb the rungs; return the kept points, the best first."""
        alive = list(points)
        for place, blocks in enumerate(rungs):
            before = self.outcomes.runs["search"]
            if place and self.budget is not None and before >= self.budget:
                break
            self.told(f"{name or 'search'}, rung {place + 1} of {len(rungs)}: {len(alive)} settings")
            everything = self.outcomes.select_blocks("search", alive, blocks)
            values = dict(zip((point.digest for point in alive), everything, strict=True))
            ranked = self._rank_points(alive, values)
            if place == 0 and not name:
                self.found.first = [(point, self.found.totals[point.digest]) for point in alive]
            kept = ranked if place == len(rungs) - 1 else self._keep_points(ranked, values)
            runs = self.outcomes.runs["search"] - before
            names = {point.digest for point in kept}
            settings = [(point, self.found.totals[point.digest], point.digest in names) for point in alive]
            self.found.rungs.append(Rung(blocks, len(alive), len(kept), runs, name, settings))
            self.found.blocks, alive = blocks, kept
        return alive

    def _rank_points(self, alive: Sequence[Point], values: dict[str, Values]) -> list[Point]:
        """Return one point of each class, the best first. Points that break a guard for certain are left out."""
        default = values[self.default.digest]
        of_classes: dict[bytes, list[Point]] = {}
        for point in alive:
            of_classes.setdefault(values[point.digest].tobytes(), []).append(point)
        firsts = []
        for members in of_classes.values():
            members.sort(key=lambda point: (len(point.changes), point.positions))
            firsts.append(members[0])
            if len(members) > 1:
                self.found.classes.append(members)
        for point in alive:
            total = self.goal.total(values[point.digest], default, self.shares)
            self.found.totals[point.digest] = total
        broken = {
            point.digest: point
            for point in firsts
            if point is not self.default and breaks(self.goal, values[point.digest], default)
        }
        self._broken |= broken
        self._failed |= {*broken, *(point.digest for point in firsts if np.isinf(self.found.totals[point.digest]))}
        possible = [point for point in firsts if point.digest not in broken]
        if self.goal.is_front:
            return self._by_rank(possible, values)
        return sorted(
            possible, key=lambda point: (self.found.totals[point.digest], len(point.changes), point.positions)
        )

    def _keep_points(self, ranked: Sequence[Point], values: dict[str, Values]) -> list[Point]:
        """Keep the best third of points of each lane, the best that hold the guards in the mean, and the default."""
        default = values[self.default.digest]
        least = LEAST_FRONT if self.goal.is_front else LEAST
        kept: dict[str, Point] = {}
        for is_stock in (True, False):
            lane = [point for point in ranked if (not point.lacking) is is_stock]
            count = max(-(-len(lane) // KEPT), least)
            holding = [point for point in lane if holds_in_mean(self.goal, values[point.digest], default)]
            kept |= {point.digest: point for point in (*lane[:count], *holding[:least])}
        kept[self.default.digest] = self.default
        return [point for point in ranked if point.digest in kept]

    def _by_rank(self, points: Sequence[Point], values: dict[str, Values]) -> list[Point]:
        """Sort points by their front, then by the distance to their neighbours on it."""
        default = values[self.default.digest]
        totals = {point.digest: self.goal.totals(values[point.digest], default, self.shares) for point in points}
        left, ranked = list(points), []
        while left:
            front = [point for point in left if not _is_dominated(point, left, totals)]
            ranked += _spread(front, totals)
            left = [point for point in left if point not in front]
        return ranked

    def _front(self, alive: Sequence[Point]) -> list[Point]:
        """Return the points of the last rung that no other is better than in every metric, and that hold the guards."""
        blocks = min(self.outcomes.have("search", point) for point in alive)
        values = dict(zip((p.digest for p in alive), self.outcomes.select_blocks("search", alive, blocks), strict=True))
        default = values[self.default.digest]
        totals = {point.digest: self.goal.totals(values[point.digest], default, self.shares) for point in alive}
        able = [
            point for point in alive if not point.lacking and holds_in_mean(self.goal, values[point.digest], default)
        ]
        return [point for point in able if not _is_dominated(point, able, totals)]


def cost(points: int, rungs: Sequence[int], conditions: int) -> int:
    """Count the runs of all rungs if the first has this many points."""
    total, have = 0, 0
    for blocks in rungs:
        total += points * (blocks - have) * conditions
        have, points = blocks, count_kept(points)
    return total


def count_kept(points: int) -> int:
    """Count the points that a rung keeps: the best third, at least three, and the default."""
    return max(-(-points // KEPT), min(points, LEAST + 1))


def _is_dominated(point: Point, others: Sequence[Point], totals: dict[str, NDArray[np.float64]]) -> bool:
    mine = totals[point.digest]
    return any(np.all(totals[other.digest] <= mine) and np.any(totals[other.digest] < mine) for other in others)


def _spread(front: Sequence[Point], totals: dict[str, NDArray[np.float64]]) -> list[Point]:
    """Sort a front: its ends first, then points with the largest distance between their neighbours."""
    distance = {point.digest: 0.0 for point in front}
    for at in range(len(totals[front[0].digest])):
        ordered = sorted(front, key=lambda point: (totals[point.digest][at], point.positions))
        ends = totals[ordered[0].digest][at], totals[ordered[-1].digest][at]
        span = ends[1] - ends[0]
        for place, point in enumerate(ordered):
            if place in (0, len(ordered) - 1):
                distance[point.digest] = np.inf
            elif span > 0 and np.isfinite(span):
                gap = totals[ordered[place + 1].digest][at] - totals[ordered[place - 1].digest][at]
                distance[point.digest] += gap / span
    return sorted(front, key=lambda point: (-distance[point.digest], point.positions))

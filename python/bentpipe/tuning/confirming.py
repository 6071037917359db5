"""Simplifies the best setting, and confirms it on seeds that the search has never used.

On the seeds that chose it, the best of many settings looks better than it is. So the search itself claims nothing. A
claim needs a test on other seeds. The probability of a wrong verdict `better` is then at most alpha, for any search.

References
----------
Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statistics 6, 1979. Berger,
"Multiparameter hypothesis testing and acceptance sampling", Technometrics 24, 1982 (the worst condition). Benjamini and
Heller, "Screening for partial conjunction hypotheses", Biometrics 64, 2008 (a quantile of conditions).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.statistics import student
from bentpipe.statistics.correction import holm
from bentpipe.tuning.goal import QUANTILE
from bentpipe.tuning.guarding import Held, breaks, held

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from bentpipe.tuning.blocks import Outcomes
    from bentpipe.tuning.goal import Goal, Values
    from bentpipe.tuning.space import Point, Space

ALPHA = 0.05
LOOKS = (20, 60)
"""Blocks after which the verdict may be reached. Each look has its part of alpha."""
PATH_MAX = 5
"""Most changes whose greedy path is shown. Each further one multiplies its runs."""
CANDIDATES = 3
"""Most settings that are confirmed, one after the other, if guards break."""
TOLERATED = 0.90
"""Level of the limit below which a change counts as superfluous."""
BETTER, AS_GOOD, UNSHOWN, GUARD, INTERRUPTED = (
    "better",
    "as good",
    "nothing better can be shown",
    "guard",
    "interrupted",
)


@dataclass(frozen=True)
class Effect:
    """A difference in a metric, as the change of its value: -0.1 is 10 % less."""

    value: float
    low: float
    high: float
    p: float | None = None

    def to_dict(self) -> dict[str, float | None]:
        """Return plain data for JSON. A missing number is None."""
        each = {"value": self.value, "low": self.low, "high": self.high, "p": self.p}
        return {name: number if number is None or np.isfinite(number) else None for name, number in each.items()}


@dataclass(frozen=True)
class Worth:
    """Worth of one change of the recommended setting."""

    key: str
    value: Any
    alone: dict[str, Effect]
    """Effect on each metric of this change, made without the others."""
    back: dict[str, Effect]
    """Effect on each metric of taking back this change, while the others stay."""
    is_for_guard: bool = False
    """Whether a guard breaks without this change."""


@dataclass
class Confirmed:
    """Outcome of a confirmation."""

    verdict: str
    point: Point
    effects: dict[str, Effect] = field(default_factory=dict)
    by_condition: dict[str, list[float]] = field(default_factory=dict)
    guards: list[Held] = field(default_factory=list)
    score: Effect | None = None
    """The effect on the objective, over all conditions."""
    smallest: float | None = None
    """Smallest change that these runs could have shown, by their number and spread."""
    blocks: int = 0
    is_random: bool = True
    worth: list[Worth] = field(default_factory=list)
    path: list[tuple[str, Effect]] = field(default_factory=list)
    """Keys of the changes, the largest gain first. Each has the score with this change and all changes before it."""
    front: list[tuple[Point, dict[str, Effect], bool]] = field(default_factory=list)
    values: tuple[Values, Values] | None = None
    """Metrics of the default and of the setting in the confirming runs, by condition, block and metric."""
    research: tuple[Point, Effect] | None = None
    """The best setting that a stock system does not have, compared with the recommended setting."""


class Confirmation:
    """Simplifies and confirms the best points of a search."""

    def __init__(
        self,
        space: Space,
        goal: Goal,
        shares: NDArray[np.float64],
        outcomes: Outcomes,
        told: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.space, self.goal, self.shares, self.outcomes, self.told = space, goal, shares, outcomes, told
        self.default = space.default

    def confirm_best(self, ranking: Sequence[Point], broken: Sequence[Point], blocks: int) -> Confirmed:
        """Confirm the best points in turn until one keeps all guards.

        If all points are `broken`, the best of them is returned to show which guard breaks.
        """
        alpha = ALPHA / (CANDIDATES if self.goal.guards else 1)
        able = [point for point in ranking if not point.lacking and point is not self.default]
        able = able or [point for point in broken if not point.lacking][:1]
        if not able:
            return Confirmed(UNSHOWN, self.default)
        tried: dict[str, Confirmed] = {}
        for best in able:
            point = self.space.round_point(self.simplify_point(best, blocks))
            if point.digest in tried:
                continue
            found = tried[point.digest] = self._judge_point(point, alpha)
            if found.verdict != GUARD or len(tried) == CANDIDATES:
                break
        first = next(iter(tried.values()))
        last = list(tried.values())[-1]
        return first if last.verdict == GUARD else last

    def simplify_point(self, best: Point, blocks: int) -> Point:
        """Take back changes that gain less than the margin, the smallest gain first. One change always stays."""
        point = best
        while len(point.changes) > 1:
            fewer = [self._without(point, key) for key, _ in point.changes]
            others = {
                each.digest: each
                for each in fewer
                if each is not None and 0 < len(each.changes) < len(point.changes) and not each.lacking
            }
            if not others:
                break
            self.told(f"simplifying: {len(point.changes)} changes")
            default, mine, *values = self.outcomes.select_blocks(
                "search", [self.default, point, *others.values()], blocks
            )
            costs = [
                (self._upper(found, mine), place)
                for place, found in enumerate(values)
                if not breaks(self.goal, found, default) and _holds(self.goal, found, default, mine)
            ]
            least, place = min(costs, default=(np.inf, 0))
            if not least < np.log1p(self.goal.margin):
                break
            point = list(others.values())[place]
        return point

    def _without(self, point: Point, key: str) -> Point | None:
        """Return the point with the default of a key."""
        return self.space.make_point({name: value for name, value in point.changes if name != key})

    def _upper(self, values: Values, of: Values) -> float:
        """Return the upper limit of the cost of a setting compared with another."""
        return max(high for _, high in self._intervals(values, of, 2 * TOLERATED - 1))

    def _intervals(self, values: Values, of: Values, level: float) -> list[tuple[float, float]]:
        """Return the intervals of the score: of the mean over conditions, or of each condition."""
        scores = self.goal.scores(values, of)
        rows = self._rows(scores)
        return [_interval(row, level) for row in rows]

    def _rows(self, scores: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        if self.goal.robust == "mean":
            return [np.asarray((scores * self.shares[:, None]).sum(axis=0))]
        return list(scores)

    def p_value(self, values: Values, default: Values, goal: Goal | None = None) -> float:
        """Return the one-sided p of the hypothesis that a setting is not better than the default."""
        rows = self._rows((goal or self.goal).scores(values, default))
        found = np.array([_p_below(row) for row in rows])
        if self.goal.robust != "q90":
            return float(found.max())
        order = np.argsort(found, kind="stable")
        needed = int((np.cumsum(self.shares[order]) >= QUANTILE - 1e-12).argmax())
        return float(min(1.0, found[order][needed] * (len(found) - needed)))

    def _judge_point(self, point: Point, alpha: float) -> Confirmed:
        each = alpha / len(LOOKS)
        found = self._examine_point(point, each, LOOKS[0])
        for blocks in LOOKS[1:]:
            is_broken = found.verdict == GUARD and self._breaks(point, LOOKS[0])
            if found.verdict in (BETTER, AS_GOOD) or is_broken or not found.is_random:
                break
            found = self._examine_point(point, each, blocks)
        return found

    def _breaks(self, point: Point, blocks: int) -> bool:
        """Whether a guard is broken for certain."""
        default, mine = self.outcomes.select_blocks("confirm", [self.default, point], blocks)
        return breaks(self.goal, mine, default)

    def _examine_point(self, point: Point, alpha: float, blocks: int) -> Confirmed:
        self.told(f"confirming on {blocks} seeds that the search did not use")
        default, mine = self.outcomes.select_blocks("confirm", [self.default, point], blocks)
        guards = held(self.goal, mine, default)
        score = self._score(mine, default)
        delta = np.log1p(self.goal.margin)
        p = self.p_value(mine, default)
        ends = self._intervals(mine, default, 1 - ALPHA)
        is_same = all(-delta < low and high < delta for low, high in ends)
        if is_same:
            verdict = AS_GOOD
        elif p > alpha:
            verdict = UNSHOWN
        else:
            verdict = BETTER if all(each.is_shown for each in guards) else GUARD
        is_random = bool(np.any(mine != mine[:, :1]) or np.any(default != default[:, :1]))
        effects, by_condition = self._effects(mine, default)
        smallest = None
        if verdict == UNSHOWN:
            smallest = float(np.expm1(max(_half(row, alpha) for row in self._rows(self.goal.scores(mine, default)))))
        return Confirmed(
            verdict, point, effects, by_condition, guards, score, smallest, blocks, is_random, values=(default, mine)
        )

    def _score(self, mine: Values, default: Values) -> Effect:
        scores = self.goal.scores(mine, default)
        value = self.goal.join_means(scores.mean(axis=1), self.shares)
        low, high = _joined_ends(self.goal, scores, self.shares)
        return Effect(float(np.expm1(value)), float(np.expm1(low)), float(np.expm1(high)), self.p_value(mine, default))

    def _effects(self, mine: Values, default: Values) -> tuple[dict[str, Effect], dict[str, list[float]]]:
        """Return the change of each metric, and its means by condition."""
        effects, by_condition = {}, {}
        for at, each in enumerate(self.goal.measures):
            rows = _changes(mine[..., at], default[..., at])
            joined = (rows * self.shares[:, None]).sum(axis=0)
            low, high = _interval(joined, 1 - ALPHA)
            effects[each.name] = Effect(*(float(np.expm1(x)) for x in (joined.mean(), low, high)))
            by_condition[each.name] = [float(np.expm1(row.mean())) for row in rows]
        return effects, by_condition

    def value_changes(self, found: Confirmed) -> None:
        """Add the worth of each change: made alone, and taken back.

        The p values of the latter are corrected by Holm.
        """
        point, blocks = found.point, LOOKS[0]
        if not point.changes:
            return
        self.told("worth of each change")
        alone = [self.space.make_point({key: value}) or self.default for key, value in point.changes]
        back = [self._without(point, key) or self.default for key, _ in point.changes]
        unique = {each.digest: each for each in (self.default, point, *alone, *back)}
        values = dict(zip(unique, self.outcomes.select_blocks("confirm", list(unique.values()), blocks), strict=True))
        default, mine = values[self.default.digest], values[point.digest]
        p = holm([self._two_sided(values[each.digest], mine) for each in back])
        for place, (key, value) in enumerate(point.changes):
            without = values[back[place].digest]
            effects = self._effects(without, mine)[0]
            first = self.goal.measures[0].name
            effects[first] = Effect(effects[first].value, effects[first].low, effects[first].high, p[place])
            is_for_guard = not all(each.is_shown for each in held(self.goal, without, default))
            found.worth.append(
                Worth(key, value, self._effects(values[alone[place].digest], default)[0], effects, is_for_guard)
            )

    def walk_path(self, found: Confirmed) -> None:
        """Add the greedy path from the default: in each step, the change that gains most."""
        left, have = dict(found.point.changes), dict[str, Any]()
        if not 1 < len(left) <= PATH_MAX:
            return
        self.told("order of the changes")
        while left:
            points = {key: self.space.make_point({**have, key: value}) or self.default for key, value in left.items()}
            default, *values = self.outcomes.select_blocks("confirm", [self.default, *points.values()], LOOKS[0])
            totals = [self.goal.total(each, default, self.shares) for each in values]
            place = int(np.argmin(totals))
            key = list(points)[place]
            found.path.append((key, self._score(values[place], default)))
            have[key] = left.pop(key)

    def _two_sided(self, values: Values, of: Values) -> float:
        (row,) = (
            self._rows(self.goal.scores(values, of))
            if self.goal.robust == "mean"
            else [np.asarray((self.goal.scores(values, of) * self.shares[:, None]).sum(axis=0))]
        )
        return min(1.0, 2 * min(_p_below(row), _p_below(-row)))

    def judge_front(self, found: Confirmed, front: Sequence[Point]) -> None:
        """Add each point of a front with its effects, and whether it is shown to be better, corrected by Holm."""
        others = [point for point in front if point is not self.default]
        if not others:
            return
        self.told(f"confirming a front of {len(others)} settings")
        default, *values = self.outcomes.select_blocks("confirm", [self.default, *others], LOOKS[0])
        count = len(self.goal.objective)
        least = [
            min(self.p_value(each, default, self.goal.select_metric(at)) for at in range(count)) * count
            for each in values
        ]
        for point, each, p in zip(others, values, holm([min(1.0, p) for p in least]), strict=True):
            found.front.append((point, self._effects(each, default)[0], p is not None and p <= ALPHA))

    def add_research(self, found: Confirmed, ranking: Sequence[Point]) -> None:
        """Add the best setting that a stock system does not have, compared with the recommended setting."""
        best = next((point for point in ranking if point.lacking), None)
        if best is None:
            return
        mine, other = self.outcomes.select_blocks("confirm", [found.point, best], LOOKS[0])
        found.research = best, self._score(other, mine)


def _holds(goal: Goal, values: Values, default: Values, before: Values) -> bool:
    """Whether each guard that held in the mean of each condition still holds."""
    pairs = zip(goal.slacks(values, default), goal.slacks(before, default), strict=True)
    return all(bool(np.all((now.mean(axis=1) >= 0) | (then.mean(axis=1) < 0))) for now, then in pairs)


def _changes(mine: NDArray[np.float64], default: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log ratios of a metric; none where both are equal, infinite where only one is missing or zero."""
    with np.errstate(all="ignore"):
        ratio = np.log(mine / default)
    is_same = (mine == default) | (np.isnan(mine) & np.isnan(default))
    return np.where(is_same, 0.0, np.where(np.isnan(ratio), np.inf, ratio))


def _p_below(row: NDArray[np.float64]) -> float:
    """Return the one-sided p of Student's t test of a mean below zero."""
    if not np.all(np.isfinite(row)):
        return 1.0
    if np.all(row == row[0]):
        return 0.0 if row[0] < 0 else 1.0
    error = float(np.std(row, ddof=1)) / math.sqrt(len(row))
    return student.cumulate(len(row) - 1, float(np.mean(row)) / error)


def _half(row: NDArray[np.float64], alpha: float) -> float:
    """Return the smallest mean that a one-sided test of this spread shows."""
    if len(row) < 2 or not np.all(np.isfinite(row)):
        return float("inf")
    return student.find_quantile(len(row) - 1, 1 - alpha) * float(np.std(row, ddof=1)) / math.sqrt(len(row))


def _interval(row: NDArray[np.float64], level: float) -> tuple[float, float]:
    """Return the interval of a mean by Student's t."""
    if len(row) < 2 or not np.all(np.isfinite(row)):
        return -np.inf, np.inf
    half = _half(row, (1 - level) / 2)
    return float(np.mean(row)) - half, float(np.mean(row)) + half


def _joined_ends(goal: Goal, scores: NDArray[np.float64], shares: NDArray[np.float64]) -> tuple[float, float]:
    """Return the interval of the joined score. Of the worst condition and of a quantile, ends are joined alike."""
    if goal.robust == "mean":
        return _interval(np.asarray((scores * shares[:, None]).sum(axis=0)), 1 - ALPHA)
    ends = np.array([_interval(row, 1 - ALPHA) for row in scores])
    return goal.join_means(ends[:, 0], shares), goal.join_means(ends[:, 1], shares)

"""Goals of a search: metrics to improve, guards that must hold, and the score of a setting.

Settings are compared with the default by log ratios in the same replication: r = ln(value / default), with the sign
changed if more is better. So r below zero is better. One replication of all conditions is a block.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import arguments
from bentpipe.errors import BentpipeError
from bentpipe.trials.measures import Measure, measure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    """Metrics of the runs of a setting: condition, block, metric."""

ROBUST = ("mean", "worst", "q90")
QUANTILE = 0.9
LEAST = {"s": 1e-6}
"""Values below this are taken as this: a delay of less than a microsecond is none."""
BEST_RATIO = -math.log(1000.0)
"""Largest improvement that counts. A default that delivers nothing would make it infinite."""
_SHARE = re.compile(r"([+-]?[\d.]+)\s*%")
_BOUND = re.compile(r"(?P<metric>[^<>=]+?)\s*(?P<sign><=|>=|=)\s*(?P<bound>.+)")


@dataclass(frozen=True)
class Guard:
    """A metric that must hold in every condition."""

    measure: Measure
    bound: float
    """Limit of the value, or of its change relative to the default."""
    is_share: bool
    text: str
    """The bound as written."""

    def __str__(self) -> str:
        return f"{self.measure.name} {'>=' if self.measure.is_more_better else '<='} {self.text}"

    def slack(self, values: Values, default: Values) -> NDArray[np.float64]:
        """Return the distance to the bound in each run, above zero if the guard holds.

        A missing value breaks the guard.
        """
        if self.is_share:
            base = np.maximum(np.abs(default), np.finfo(float).tiny)
            with np.errstate(all="ignore"):
                is_same = (default == values) | (np.isnan(default) & np.isnan(values))
                change = np.where(is_same, 0.0, values / base - 1)
        else:
            change = values
        slack = change - self.bound if self.measure.is_more_better else self.bound - change
        return np.where(np.isnan(slack), -np.inf, slack)


@dataclass(frozen=True)
class Goal:
    """The request: objective, guards, and how conditions are joined."""

    objective: tuple[tuple[Measure, float], ...]
    """Metrics with their weights, which sum up to 1."""
    guards: tuple[Guard, ...] = ()
    robust: str = "mean"
    margin: float = 0.01
    """Smallest improvement that matters."""
    is_front: bool = False
    """Whether the result is a front of compromises between the metrics of the objective."""

    @cached_property
    def measures(self) -> list[Measure]:
        """Metrics of each run, in the order of values."""
        found = [each for each, _ in self.objective] + [guard.measure for guard in self.guards]
        return list(dict.fromkeys(found))

    def ratios(self, values: Values, default: Values) -> NDArray[np.float64]:
        """Return the log ratio of each metric of the objective: condition, block, metric."""
        found = [self._ratio(each, values, default) for each, _ in self.objective]
        return np.stack(found, axis=-1)

    def _ratio(self, each: Measure, values: Values, default: Values) -> NDArray[np.float64]:
        at = self.measures.index(each)
        mine, other = (np.maximum(of[..., at], LEAST.get(each.unit, 0.0)) for of in (values, default))
        with np.errstate(all="ignore"):
            ratio = np.maximum(np.log(mine / other) * (-1 if each.is_more_better else 1), BEST_RATIO)
        # Without a value of the default there is no evidence for either.
        ratio = np.where(np.isnan(other) | (mine == other), 0.0, ratio)
        return np.where(np.isnan(mine) & ~np.isnan(other), np.inf, ratio)

    def scores(self, values: Values, default: Values) -> NDArray[np.float64]:
        """Return the weighted log ratio of each run: condition, block."""
        weights = np.array([weight for _, weight in self.objective])
        ratios = self.ratios(values, default)
        return np.asarray((ratios * weights).sum(axis=-1)) if np.all(weights) else ratios[..., 0]

    def join_means(self, by_condition: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
        """Join the means of all conditions by `robust`: their mean by shares of time, worst or 90 % quantile."""
        if self.robust == "worst":
            return float(by_condition.max())
        if self.robust == "q90":
            order = np.argsort(by_condition, kind="stable")
            reached = np.cumsum(shares[order]) >= QUANTILE - 1e-12
            return float(by_condition[order][reached.argmax()])
        return float((by_condition * shares).sum())

    def total(self, values: Values, default: Values, shares: NDArray[np.float64]) -> float:
        """Return the score of a setting."""
        return self.join_means(self.scores(values, default).mean(axis=1), shares)

    def totals(self, values: Values, default: Values, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of a setting in each metric of the objective, for a front."""
        means = self.ratios(values, default).mean(axis=1)
        return np.array([self.join_means(means[:, at], shares) for at in range(means.shape[1])])

    def slacks(self, values: Values, default: Values) -> list[NDArray[np.float64]]:
        """Return the distance to the bound of each guard: condition, block."""
        places = [self.measures.index(guard.measure) for guard in self.guards]
        return [guard.slack(values[..., at], default[..., at]) for guard, at in zip(self.guards, places, strict=True)]

    def select_metric(self, at: int) -> Goal:
        """Return the goal with one metric of the objective only."""
        return replace(self, objective=((self.objective[at][0], 1.0),), is_front=False)


def goal(objective: Any, guard: Any, robust: str, margin: float) -> Goal:
    """Check a request and make its goal.

    Raises
    ------
    BentpipeError
        A metric is unknown or cannot be an objective, or a bound is invalid.
    """
    weights, is_front = _weights(objective)
    total = sum(weights.values())
    aims = tuple((measure(name), weight / total) for name, weight in weights.items())
    for each, _ in aims:
        each.refuse_as_objective()
    guards = tuple(_guard(name, bound) for name, bound in _bounds(guard).items())
    for held in guards:
        if held.measure in dict(aims):
            raise BentpipeError(f"guard on {held.measure.name}, which is the objective\n  expected another metric")
    arguments.share("tune.margin", margin)
    if robust not in ROBUST:
        raise BentpipeError(f"robust = {robust!r}\n  expected one of {', '.join(ROBUST)}")
    return Goal(aims, guards, robust, margin, is_front)


def _weights(objective: Any) -> tuple[dict[str, float], bool]:
    if isinstance(objective, str):
        return {objective: 1.0}, False
    if not objective:
        raise BentpipeError(
            'the search has no objective\n  expected {objective}, or objective = { "fct:pages" = 1 } in [tune]',
            objective="fct:pages",
        )
    if set(objective) == {"pareto"}:
        names = objective["pareto"]
        if not isinstance(names, list) or len(names) < 2 or not all(isinstance(name, str) for name in names):
            raise BentpipeError(f"pareto = {names}\n  expected a list of two metrics or more")
        return dict.fromkeys(names, 1.0), True
    for name, weight in objective.items():
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not weight > 0:
            raise BentpipeError(f"objective {name} = {weight!r}\n  expected a weight above 0")
    return {name: float(weight) for name, weight in objective.items()}, False


def _bounds(guard: Any) -> Mapping[str, Any]:
    texts: Sequence[str] = [guard] if isinstance(guard, str) else [] if hasattr(guard, "items") else guard or ()
    if not texts:
        return guard or {}
    found = {}
    for text in texts:
        parts = _BOUND.fullmatch(text.strip())
        if parts is None:
            raise BentpipeError(f"guard {text}\n  expected a metric and its bound, such as 'goodput:film >= -15 %'")
        name = parts["metric"].strip()
        wanted = ">=" if measure(name).is_more_better else "<="
        if parts["sign"] not in ("=", wanted):
            raise BentpipeError(f"guard {text}\n  expected {name} {wanted} {parts['bound']}")
        found[name] = parts["bound"].strip()
    return found


def _guard(name: str, bound: Any) -> Guard:
    each, text = measure(name), str(bound)
    share = _SHARE.fullmatch(text.strip())
    if share:
        return Guard(each, float(share[1]) / 100, True, text.strip())
    number = bound if isinstance(bound, (int, float)) and not isinstance(bound, bool) else each.number(text)
    if number is None:
        raise BentpipeError(
            f"guard {name} = {bound!r}\n  expected a share such as '-15 %', or a value in {each.unit or 'numbers'}"
        )
    return Guard(each, float(number), False, text)

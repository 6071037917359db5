"""Judges guards: bounds on metrics that must hold in every condition, because a mean could hide a broken guard."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bentpipe.statistics import student

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bentpipe.tuning.goal import Goal, Values

CONFIDENCE = 0.95


class Held(NamedTuple):
    """A guard in one condition."""

    guard: str
    condition: int
    mean: float
    """Mean distance to the bound; above zero if the guard holds."""
    low: float
    """Lower one-sided confidence limit of `mean`."""

    @property
    def is_shown(self) -> bool:
        """Whether the guard holds with confidence."""
        return self.low >= 0


def held(goal: Goal, values: Values, default: Values, confidence: float = CONFIDENCE) -> list[Held]:
    """Judge each guard in each condition."""
    return [
        Held(str(guard), condition, float(np.mean(row)), limit(row, confidence))
        for guard, slack in zip(goal.guards, goal.slacks(values, default), strict=True)
        for condition, row in enumerate(slack)
    ]


def holds_in_mean(goal: Goal, values: Values, default: Values) -> bool:
    """Whether each guard holds in the mean of each condition."""
    return all(bool(np.all(slack.mean(axis=1) >= 0)) for slack in goal.slacks(values, default))


def breaks(goal: Goal, values: Values, default: Values) -> bool:
    """Whether a guard is broken in a condition, by more than the 95 % interval of the mean."""
    level = (1 + CONFIDENCE) / 2
    rows = (row for slack in goal.slacks(values, default) for row in slack)
    return any(np.isneginf(row).all() or (len(row) > 1 and -limit(-row, level) < 0) for row in rows)


def limit(row: NDArray[np.float64], confidence: float) -> float:
    """Return the lower one-sided limit of a mean by Student's t. If all values are equal, it is their value."""
    if not np.all(np.isfinite(row)):
        return float(np.min(row))
    if np.all(row == row[0]):
        return float(row[0])
    error = float(np.std(row, ddof=1)) / math.sqrt(len(row))
    return float(np.mean(row)) - student.find_quantile(len(row) - 1, confidence) * error

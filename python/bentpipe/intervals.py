"""Confidence intervals and tests for few replications: Student's t, and Holm's correction."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class Estimate(NamedTuple):
    """A mean over replications."""

    replications: int
    """Replications that have a value."""
    mean: float | None
    """None without any value."""
    half_width: float | None
    """Of the confidence interval; None with fewer than two values."""
    p: float | None
    """Probability of a mean at least as far from zero if it were zero in truth; None like `half_width`."""


def estimate(values: NDArray[np.float64], confidence: float) -> Estimate:
    """Mean with Student's t interval of independent, roughly normal values.

    Parameters
    ----------
    values : ndarray, shape (n,)
        One per replication; NaN where missing. For a paired comparison the differences.
    confidence : float
        Such as 0.95.

    Returns
    -------
    Estimate
        `mean ± t(n - 1, (1 + confidence) / 2) * s / sqrt(n)`, and the two-sided p of `mean / (s / sqrt(n))`.

    References
    ----------
    Student, "The probable error of a mean", Biometrika 6, 1908. Law, "Simulation Modeling and Analysis", §4.5.
    """
    values = values[~np.isnan(values)]
    count = len(values)
    if count == 0:
        return Estimate(0, None, None, None)
    mean = float(np.mean(values))
    if count == 1:
        return Estimate(1, mean, None, None)
    if np.all(values == values[0]):
        # No spread at all: nothing is random here. Said exactly, or rounding in the mean would make a tiny interval.
        mean = float(values[0])
        return Estimate(count, mean, 0.0, 1.0 if mean == 0 else 0.0)
    error = float(np.std(values, ddof=1)) / count**0.5
    half_width = float(stdtrit(count - 1, (1 + confidence) / 2)) * error
    return Estimate(count, mean, half_width, float(2 * stdtr(count - 1, -abs(mean / error))))


def holm(p: Sequence[float | None]) -> list[float | None]:
    """Adjust p values so that the chance of any false finding among all of them is kept.

    References
    ----------
    Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statistics 6, 1979.
    """
    adjusted: list[float | None] = [None] * len(p)
    known = sorted((value, index) for index, value in enumerate(p) if value is not None)
    largest = 0.0
    for rank, (value, index) in enumerate(known):
        largest = max(largest, min(1.0, value * (len(known) - rank)))
        adjusted[index] = largest
    return adjusted

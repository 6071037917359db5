"""Steady part of one long run: its mean after the warm-up, with an interval by batch means."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bentpipe.statistics.estimates import estimate
from bentpipe.statistics.warmup import cut_early, mser

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bentpipe.statistics.estimates import Estimate

    Values = NDArray[np.float64]

__all__ = ["BATCHES", "Steady", "batch_means", "levels", "steady"]


def __dir__() -> list[str]:
    return list(__all__)


BATCHES = 10
"""Schmeiser, "Batch size effects in the analysis of simulation output", Operations Research 30, 1982: more than 30 gain
no precision, and fewer than 10 lose precision. The fewest batches are the longest, which matters more for windows that
rise and fall for seconds.
"""


class Steady(NamedTuple):
    """Steady part of a time series."""

    mean: float | None
    """The mean; None without a steady part (`note` has the reason)."""
    low: float | None
    """Lower end of the interval; None with too few values."""
    high: float | None
    from_s: float | None
    """Time of the first value that counts."""
    to_s: float
    """Time of the last value."""
    removed: int
    """Values before `from_s`."""
    kept: int
    correlation: float | None
    """Correlation of each batch mean with the next. The interval is reliable if it is near zero."""
    note: str
    """Note for the reader; may be empty."""


def steady(times: Values, values: Values, *, after: float | None = None, confidence: float = 0.95) -> Steady:
    """Estimate the mean of a series after its warm-up, with an interval by batch means.

    Parameters
    ----------
    times, values : ndarray, shape (n,)
        Equally spaced values in order of time.
    after : float, optional
        End of the warm-up in seconds. By default MSER-5 finds it.
    confidence : float

    References
    ----------
    Law, "Simulation Modeling and Analysis", §9.5.3.
    """
    end = float(times[-1]) if len(times) else 0.0
    cut = mser(times, values) if after is None else cut_early(times, values, after)
    if cut.refusal:
        return Steady(None, None, None, None, end, cut.removed, cut.kept, None, cut.refusal)
    found, correlation, note = batch_means(values[cut.removed :], confidence)
    mean = cut.mean if found.half_width is None else found.mean
    return Steady(mean, found.low, found.high, cut.cut_s, end, cut.removed, cut.kept, correlation, note)


def batch_means(values: Values, confidence: float, batches: int = BATCHES) -> tuple[Estimate, float | None, str]:
    """Estimate Student's interval from means of equally long batches; long batches are nearly independent.

    Von Neumann's ratio tests the independence, one-sided at 5 %.

    Returns
    -------
    tuple
        The estimate, the correlation of neighbouring batches, and a note if the correlation is too large. A remainder
        of values at the beginning is left out. There is no interval with fewer than two values per batch.

    References
    ----------
    Law, "Simulation Modeling and Analysis", §9.5.3. Von Neumann, "Distribution of the ratio of the mean square
    successive difference to the variance", Annals of Mathematical Statistics 12, 1941; Fishman, "Grouping observations
    in digital simulation", Management Science 24, 1978 (as a test of batches).
    """
    size = len(values) // batches
    if size < 2:
        return (
            estimate(values[:0], confidence),
            None,
            f"no interval: {len(values)} values are too few for {batches} batches",
        )
    means = np.mean(values[-batches * size :].reshape(batches, size), axis=1)
    found = estimate(means, confidence)
    around = means - np.mean(means)
    squares = float(np.sum(around**2))
    if not found.half_width or squares == 0:
        return found, 0.0, ""
    correlation = float(np.sum(around[1:] * around[:-1])) / squares
    # C = 1 - Σ(x[i] - x[i+1])² / 2Σ(x[i] - mean)² has mean 0 and variance (k - 2) / (k² - 1) without correlation.
    statistic = 1 - float(np.sum(np.diff(means) ** 2)) / (2 * squares)
    is_correlated = statistic > 1.645 * ((batches - 2) / (batches**2 - 1)) ** 0.5
    note = "neighbouring batches are correlated: the interval is too narrow, make the run longer"
    return found, correlation, note if is_correlated else ""


def levels(times: Values, values: Values, interval_s: float, end_s: float) -> tuple[Values, Values]:
    """Average a stepwise constant series over equal intervals; return the end of each interval and its mean.

    Each value holds until the next one. The first interval begins at the first multiple of `interval_s` that is not
    before the first value.
    """
    first = int(np.ceil(times[0] / interval_s - 1e-9)) if len(times) else 0
    edges: Values = interval_s * np.arange(first, int(np.floor(end_s / interval_s + 1e-9)) + 1, dtype=np.float64)
    if len(times) == 0 or len(edges) < 2:
        return np.empty(0), np.empty(0)
    # Integral of the value, at each change and from there to each edge.
    areas = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(times))])
    place = np.maximum(np.searchsorted(times, edges, side="right") - 1, 0)
    integral = areas[place] + values[place] * (edges - times[place])
    return edges[1:], np.diff(integral) / interval_s

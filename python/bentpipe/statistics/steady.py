"""The steady part of one long run: its mean after the warm-up, with an interval by batch means."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bentpipe.statistics.estimates import estimate
from bentpipe.statistics.warmup import fixed, mser

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bentpipe.statistics.estimates import Estimate

    Values = NDArray[np.float64]

BATCHES = 10
"""Schmeiser, "Batch size effects in the analysis of simulation output", Operations Research 30, 1982: more than 30 gain
nothing, fewer than 10 lose. The fewest are the longest, which matters more for windows that rise and fall for seconds.
"""


class Steady(NamedTuple):
    """What a time series is in its steady part."""

    mean: float | None
    """None where no steady part was found; `note` says why."""
    low: float | None
    """The interval is None where there are too few values for it."""
    high: float | None
    from_s: float | None
    """Time of the first value that counts."""
    to_s: float
    """Time of the last value."""
    removed: int
    """Values before `from_s`."""
    kept: int
    correlation: float | None
    """Of each batch mean with the next. Near zero if the interval is to be trusted."""
    note: str
    """What the reader should know; empty if nothing."""


def steady(times: Values, values: Values, *, after: float | None = None, confidence: float = 0.95) -> Steady:
    """Mean of a series after its warm-up, with an interval by batch means.

    Parameters
    ----------
    times, values : ndarray, shape (n,)
        Equally spaced, in order of time.
    after : float, optional
        Seconds of warm-up; if not given, MSER-5 finds its end.
    confidence : float

    References
    ----------
    Law, "Simulation Modeling and Analysis", §9.5.3.
    """
    end = float(times[-1]) if len(times) else 0.0
    cut = mser(times, values) if after is None else fixed(times, values, after)
    if cut.refusal:
        return Steady(None, None, None, None, end, cut.removed, cut.kept, None, cut.refusal)
    found, correlation, note = batch_means(values[cut.removed :], confidence)
    mean = cut.mean if found.half_width is None else found.mean
    return Steady(mean, found.low, found.high, cut.cut_s, end, cut.removed, cut.kept, correlation, note)


def batch_means(values: Values, confidence: float, batches: int = BATCHES) -> tuple[Estimate, float | None, str]:
    """Student's interval of the means of equally long batches, which are nearly independent if they are long enough.

    Whether they are is tested: von Neumann's ratio at 5 %, one-sided.

    Returns
    -------
    tuple
        The estimate (what does not divide evenly is left out at the beginning; no interval with fewer than two values
        per batch), the correlation of neighbouring batches, and a note if that is too large.

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
    # C = 1 - Σ(x[i] - x[i+1])² / 2Σ(x[i] - mean)² has mean 0 and variance (k - 2) / (k² - 1) if nothing is correlated.
    statistic = 1 - float(np.sum(np.diff(means) ** 2)) / (2 * squares)
    is_correlated = statistic > 1.645 * ((batches - 2) / (batches**2 - 1)) ** 0.5
    note = "neighbouring batches are correlated: the interval is too narrow, make the run longer"
    return found, correlation, note if is_correlated else ""


def levels(times: Values, values: Values, interval_s: float, end_s: float) -> tuple[Values, Values]:
    """Means over equal intervals of a value that holds until it changes; each stands at the end of its interval.

    The first interval begins at a multiple of `interval_s`, when there is a value from its beginning on.
    """
    first = int(np.ceil(times[0] / interval_s - 1e-9)) if len(times) else 0
    edges: Values = interval_s * np.arange(first, int(np.floor(end_s / interval_s + 1e-9)) + 1, dtype=np.float64)
    if len(times) == 0 or len(edges) < 2:
        return np.empty(0), np.empty(0)
    # The integral of the value, at each change and from there to each edge.
    areas = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(times))])
    place = np.maximum(np.searchsorted(times, edges, side="right") - 1, 0)
    integral = areas[place] + values[place] * (edges - times[place])
    return edges[1:], np.diff(integral) / interval_s

"""The end of the initial transient of a time series: by MSER-5, or at a time that is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

BATCH = 5
BATCHES_MIN = 10
"""Fewer batches do not tell a transient from chance."""
BATCHES_LAST = 5
"""A mean of fewer batches than this has a small spread by luck; so the last ones are never all that is left."""


class WarmUp(NamedTuple):
    """Where a series is cut, and what follows."""

    cut_s: float | None
    """Time of the first value that counts; None if refused."""
    mean: float | None
    """Of the values from there on; None if refused."""
    removed: int
    """Values before the cut; if refused, those that would have had to go."""
    kept: int
    refusal: str
    """Why there is no cut; empty if there is one."""


def mser(times: Values, values: Values, batch: int = BATCH) -> WarmUp:
    """Cut where the mean of the rest is known best, judged by the spread of the rest over its length: MSER-5.

    The values are averaged in batches of five. Of all cuts between batches, that one is taken whose remaining k batches
    have the least sum of squares about their mean, divided by k². A least value in the second half means that the
    series never settled, or is too short to say, and is refused.

    Parameters
    ----------
    times, values : ndarray, shape (n,)
        Equally spaced, in order of time.
    batch : int
        Values per batch; 1 gives the MSER of White's paper.

    References
    ----------
    White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69, 1997. White, Cobb
    and Spratt, "A comparison of five steady-state truncation heuristics", Winter Simulation Conference 2000 (batches of
    five). Hoad, Robinson and Davies, "Automating warm-up length estimation", J. Operational Research Society 61, 2010
    (the last five batches and the second half do not count).
    """
    count = len(values) // batch
    if count < BATCHES_MIN:
        wanted = BATCHES_MIN * batch
        return WarmUp(None, None, 0, len(values), f"{len(values)} values are too few: at least {wanted} are needed")
    # From the end on, by Welford's recurrence, which neither cancels nor turns negative.
    means = np.mean(values[: count * batch].reshape(count, batch), axis=1).tolist()
    mean, squares, best, cut = 0.0, 0.0, np.inf, 0
    for length, value in enumerate(reversed(means), start=1):
        change = value - mean
        mean += change / length
        squares += change * (value - mean)
        if length >= BATCHES_LAST and squares / length**2 <= best:
            best, cut = squares / length**2, count - length
    if 2 * cut > count:
        refusal = f"it settles only in the second half ({times[cut * batch]:.4g} of {times[-1]:.4g} s), if at all"
        return WarmUp(None, None, cut * batch, len(values) - cut * batch, refusal)
    return _cut(times, values, cut * batch)


def fixed(times: Values, values: Values, after_s: float) -> WarmUp:
    """Cut at a time: values later than that count. Refused if there are none."""
    removed = int(np.searchsorted(times, after_s, side="right"))
    if removed == len(values):
        return WarmUp(None, None, removed, 0, f"there is nothing after {after_s:g} s")
    return _cut(times, values, removed)


def _cut(times: Values, values: Values, removed: int) -> WarmUp:
    rest = values[removed:]
    return WarmUp(float(times[removed]), float(np.mean(rest)), removed, len(rest), "")

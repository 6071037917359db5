"""Finds the end of the warm-up of a time series by MSER-5, or takes a given time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = ["BATCH", "BATCHES_LAST", "BATCHES_MIN", "SHARE_LAST", "WarmUp", "cut_early", "mser"]


def __dir__() -> list[str]:
    return list(__all__)


BATCH = 5
BATCHES_MIN = 10
"""Fewer batches cannot separate a transient from chance."""
BATCHES_LAST = 5
"""Fewer batches may have a small spread by luck. So at least these last batches always remain."""
SHARE_LAST = 0.25
"""At least this share of the batches always remains, too.

Simulated series have flat stretches much longer than five batches, and a flat end has no spread at all.
"""


class WarmUp(NamedTuple):
    """The cut of a series, and the values after it."""

    cut_s: float | None
    """Time of the first value that counts; None without a cut."""
    mean: float | None
    """Mean of the values after the cut; None without a cut."""
    removed: int
    """Values before the cut; without a cut, the values before the rejected cut."""
    kept: int
    refusal: str
    """Reason for the missing cut; empty if there is a cut."""


def mser(times: Values, values: Values, batch: int = BATCH) -> WarmUp:
    """Find the cut after which the mean has the smallest standard error: MSER-5.

    The values are averaged in batches of five. The cut is between batches. It minimises the sum of squares of the
    remaining k batches about their mean, divided by k². The search spans the first three quarters. A minimum in the
    second half is rejected: the series never settled, or is too short to decide.

    Parameters
    ----------
    times, values : ndarray, shape (n,)
        Equally spaced values in order of time.
    batch : int
        Values per batch; 1 gives the MSER of White's paper.

    References
    ----------
    White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69, 1997. White, Cobb
    and Spratt, "A comparison of five steady-state truncation heuristics", Winter Simulation Conference 2000 (batches of
    five). Hoad, Robinson and Davies, "Automating warm-up length estimation", J. Operational Research Society 61, 2010:
    they reject a minimum in the second half and ignore the last five batches. Here the last quarter is ignored instead,
    so that a flat end cannot win. A search of the first half alone would accept a series that changes later.
    """
    count = len(values) // batch
    if count < BATCHES_MIN:
        wanted = BATCHES_MIN * batch
        return WarmUp(None, None, 0, len(values), f"{len(values)} values are too few: at least {wanted} are needed")
    # From the end on, by Welford's recurrence, which neither cancels nor turns negative.
    means = np.mean(values[: count * batch].reshape(count, batch), axis=1).tolist()
    mean, squares, best, cut = 0.0, 0.0, np.inf, 0
    last = max(BATCHES_LAST, math.ceil(SHARE_LAST * count))
    for length, value in enumerate(reversed(means), start=1):
        change = value - mean
        mean += change / length
        squares += change * (value - mean)
        if length >= last and squares / length**2 <= best:
            best, cut = squares / length**2, count - length
    if 2 * cut >= count:
        refusal = f"it settles only in the second half ({times[cut * batch]:.4g} of {times[-1]:.4g} s), if at all"
        return WarmUp(None, None, cut * batch, len(values) - cut * batch, refusal)
    return _cut(times, values, cut * batch)


def cut_early(times: Values, values: Values, after_s: float) -> WarmUp:
    """Cut at a time, so only later values count. Refuse a cut without later values."""
    removed = int(np.searchsorted(times, after_s, side="right"))
    if removed == len(values):
        return WarmUp(None, None, removed, 0, f"there is nothing after {after_s:g} s")
    return _cut(times, values, removed)


def _cut(times: Values, values: Values, removed: int) -> WarmUp:
    rest = values[removed:]
    return WarmUp(float(times[removed]), float(np.mean(rest)), removed, len(rest), "")

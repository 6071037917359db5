"""Thins series to the columns of a plot: extremes of levels stay, integrals of rates stay."""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]


def levels(times: Values, values: Values, start: float, end: float, columns: int) -> tuple[Values, Values]:
    """Thin a level: the first, least, greatest and last value of each column (M4).

    The row before the window comes first, because a level holds until the next row.

    Parameters
    ----------
    times, values : array
        In order of time.
    start, end : float
        The window, which the columns divide evenly.
    columns : int
    """
    first, last = np.searchsorted(times, (start, end), side="left")
    last = min(last + 1, len(times))
    before = max(first - 1, 0)
    if last - before <= 4 * columns:
        return times[before:last], values[before:last]
    edges = np.searchsorted(times, np.linspace(start, end, columns + 1))
    edges[-1] = last
    kept = [before]
    for begin, stop in pairwise(edges.tolist()):
        if stop > begin:
            column = values[begin:stop]
            extremes = sorted((begin + int(column.argmin()), begin + int(column.argmax())))
            kept += [begin, *extremes, stop - 1]
    chosen = np.unique(kept)
    return times[chosen], values[chosen]


def rates(times: Values, values: Values, start: float, end: float, columns: int) -> tuple[Values, Values]:
    """Thin a rate: the mean of each column, over whole rows, so that the integral stays.

    Each row is the mean over the time since the row before it, or since 0.
    """
    first, last = np.searchsorted(times, (start, end), side="left")
    last = min(last + 1, len(times))
    if last - first <= columns:
        return times[first:last], values[first:last]
    since = np.concatenate(([times[first - 1] if first else 0.0], times[first : last - 1]))
    lengths = times[first:last] - since
    edges = np.searchsorted(times[first:last], np.linspace(start, end, columns + 1)[:-1])
    begins = np.unique(np.minimum(edges, last - first - 1))
    if begins[0] != 0:
        begins = np.concatenate(([0], begins))
    ends = np.append(begins[1:], last - first) - 1
    sums = np.add.reduceat(values[first:last] * lengths, begins)
    return times[first:last][ends], sums / np.add.reduceat(lengths, begins)


def counts(times: Values, start: float, end: float, columns: int) -> tuple[Values, Values]:
    """Count events by column; columns without any are left out. Times are the middles of columns."""
    within = times[(times >= start) & (times <= end)]
    width = (end - start) / columns
    column, count = np.unique(np.minimum((within - start) // width, columns - 1), return_counts=True)
    return start + (column + 0.5) * width, count.astype(np.float64)


def pack_points(times: Values, values: Values) -> bytes:
    """Two little-endian counters (the number of points, and 0), then times as float64 and values as float32."""
    head = struct.pack("<II", len(times), 0)
    return head + times.astype("<f8").tobytes() + values.astype("<f4").tobytes()

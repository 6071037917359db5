"""Points of the lines of a figure, computed from time series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Line = tuple[Numbers, Numbers]

RATES = 120
"""Number of intervals over which rates are averaged."""
GRID = 600
"""Number of instants at which the mean of many lines is computed."""


def line(rows: pl.DataFrame, name: str) -> Line:
    """Return times and values as recorded."""
    return rows["time_s"].to_numpy(), rows[name].to_numpy()


def held(rows: pl.DataFrame, name: str, end_s: float) -> Line:
    """Return the values of each change. The last value holds to the end."""
    times, values = line(rows, name)
    if len(times) == 0 or times[-1] >= end_s:
        return times, values
    return np.append(times, end_s), np.append(values, values[-1])


def rates(rows: pl.DataFrame, name: str, end_s: float, intervals: int = RATES) -> Line:
    """Average rates over equal, visible intervals, because data arrives in bursts.

    Each rate has the time of its interval's end.
    """
    times, values = line(rows, name)
    if len(times) <= intervals:
        return times, values
    places = np.ceil(times / end_s * intervals - 1e-9)
    ends, first = np.unique(places, return_index=True)
    return ends * end_s / intervals, np.add.reduceat(values, first) / np.diff(np.append(first, len(values)))


def mean(lines: Sequence[Line], spans: Sequence[tuple[float, float]], end_s: float, *, holds: bool) -> Line:
    """Average the lines that are in their span at each instant. A value holds until the next one, or moves to it."""
    times = np.linspace(0, end_s, GRID)
    total, count = np.zeros(GRID), np.zeros(GRID)
    for (have, values), (first, last) in zip(lines, spans, strict=True):
        place = np.searchsorted(have, times, side="right") - 1
        there = (place >= 0) & (first <= times) & (times <= last)
        total[there] += values[place[there]] if holds else np.interp(times[there], have, values)
        count[there] += 1
    return times[count > 0], total[count > 0] / count[count > 0]

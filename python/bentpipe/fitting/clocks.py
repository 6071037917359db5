"""Removes the effect of clocks: their difference and drift are in both one-way delays, with opposite signs.

If the delay of the path changes in one direction, the sum of both delays changes, too. A clock does not change the sum.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bentpipe.fitting.measured import Array

DRIFT_S = 1e-3
"""Least drift over a record that is removed."""
PARTS = 20
"""Parts of the time whose least delays show the drift."""
PART_MIN = 10
"""Least number of delays in a part."""


def find_drift(out_at_s: Array, out_s: Array, back_at_s: Array, back_s: Array) -> float:
    """Return the drift of the clock in `out_s`, seconds per second; 0 if it is too small, or a change of the path.

    `out_at_s` and `back_at_s` are the times of both series. The least delay of each series is found in each part of the
    time. The drift is the median slope of half the difference of both least delays (Theil 1950, Sen 1968).
    """
    (out_at_s, out_s), (back_at_s, back_s) = (
        (at[np.isfinite(each)], each[np.isfinite(each)]) for at, each in ((out_at_s, out_s), (back_at_s, back_s))
    )
    if min(len(out_s), len(back_s)) < 2 * PART_MIN:
        return 0.0
    begin, end = max(out_at_s.min(), back_at_s.min()), min(out_at_s.max(), back_at_s.max())
    edges = np.linspace(begin, end, PARTS + 1)
    middles, outs, backs = [], [], []
    for low, high in pairwise(edges):
        here, there = (each[(at >= low) & (at <= high)] for at, each in ((out_at_s, out_s), (back_at_s, back_s)))
        if min(len(here), len(there)) >= PART_MIN:
            middles.append((low + high) / 2)
            outs.append(float(here.min()))
            backs.append(float(there.min()))
    if len(middles) < 2:
        return 0.0
    times, ours, theirs = np.array(middles), np.array(outs), np.array(backs)
    first, second = np.triu_indices(len(times), 1)

    def slope(values: Array) -> float:
        return float(np.median((values[second] - values[first]) / (times[second] - times[first])))

    drift, path = slope((ours - theirs) / 2), slope(ours + theirs)
    return drift if abs(drift) * (end - begin) > DRIFT_S and abs(path) < abs(drift) else 0.0

"""Removes the jitter of the unloaded path from the waits of segments under load.

The wait of a segment is its wait in the queue plus the jitter of the path. Probes without load have the distribution of
the jitter. From both distributions, maximum likelihood finds the distribution of the waits in the queue (Richardson
1972, Lucy 1974).

A capture shows the jitter without probes. While a link has a queue, it sends at its rate: the bytes against their times
of arrival are a line. Segments with jitter arrive later than the line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.fitting.measured import PROBES_MIN, UNIX_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.fitting.measured import Array, Load, Probes

BINS = 200
ROUNDS = 300
WINDOW = 10
"""Intervals of a line. Slower jitter looks like a queue, and over a longer time the rate may vary."""
WINDOWS_MIN = 3
POINTS_MIN = 40
"""Least number of arrivals of a line."""
BUSY, FULL = 0.95, 0.25
"""Least share of the rate on a line, and least share of the longest wait in each of its intervals."""
USUAL = 0.95
"""Quantile of the jitter that must be above the width of a bin: smaller jitter changes no queue."""


@dataclass(frozen=True, eq=False)
class Jitter:
    """Round trips without load.

    Attributes
    ----------
    send_s, trip_s : array
        Time and round trip of each answered probe.
    """

    send_s: Array
    trip_s: Array

    def above(self, base_s: float) -> Array:
        """Return the excess of each round trip over the base."""
        return np.maximum(self.trip_s - base_s, 0.0)

    def find_longest(self, base_s: float, interval_s: float) -> Array:
        """Return the largest excess in each interval with probes."""
        places = np.floor(self.send_s / interval_s)
        begins = np.flatnonzero(np.diff(places, prepend=-np.inf))
        longest: Array = np.maximum.reduceat(self.above(base_s), begins)
        return longest


def find(probes: Probes, loads: Sequence[Load]) -> Jitter | None:
    """Find the jitter of a path without load; None if too few probes are certainly not during a transfer."""
    if not probes.is_absolute or any(load.begin_s[0] < UNIX_S for load in loads):
        return None
    quiet = ~probes.is_lost
    for load in loads:
        end_s = load.begin_s[-1] + load.interval_s[-1] + 1.0
        quiet &= (probes.send_s + 1.0 < load.begin_s[0]) | (probes.send_s > end_s)
    if quiet.sum() < PROBES_MIN:
        return None
    return Jitter(probes.send_s[quiet], probes.rtt_s[quiet])


def remove_under_load(load: Load, longest_s: Array, base_s: float, rate_bps: float) -> Array:
    """Return the longest waits of intervals of a captured transfer without the jitter of each segment.

    These are the intervals in which the queue was never empty. If there are too few of them, or too little jitter, all
    of the waits are as they are. `rate_bps` is that of the bytes of the capture, and `longest_s` are waits, too.
    """
    if load.arrived is None:
        return longest_s
    step_s, begin_s = float(load.interval_s[0]), load.begin_s
    # During a repair, no wait is known.
    is_low = longest_s < FULL * float(np.nanquantile(longest_s, USUAL))
    without: list[Array] = []
    late: list[Array] = []
    last = len(longest_s)
    while last >= WINDOW:
        first = last - WINDOW
        is_whole = begin_s[last - 1] - begin_s[first] < (WINDOW - 0.5) * step_s
        found = None
        if is_whole and not is_low[first:last].any():
            inside = slice(*np.searchsorted(load.arrived[0], (begin_s[first], begin_s[last - 1] + step_s)))
            times, carried, trips_s = (each[inside] for each in load.arrived)
            found = _find_lateness(carried, times, 8 / (BUSY * rate_bps))
        if found is None:
            last -= 1
            continue
        last = first
        places = np.minimum(((times - begin_s[first]) / step_s).astype(np.int64), WINDOW - 1)
        for values, into in ((trips_s - found - base_s, without), (found, late)):
            longest = np.full(WINDOW, -np.inf)
            np.maximum.at(longest, places, values)
            into.append(longest[np.isfinite(longest)])
    if len(without) < WINDOWS_MIN:
        return longest_s
    is_small = np.quantile(np.concatenate(late), USUAL) <= np.nanmax(longest_s) / BINS
    return longest_s if is_small else np.concatenate(without)


def _find_lateness(carried: Array, times: Array, pace_max: float) -> Array | None:
    """Return the lateness of each arrival after a line below all of them; None without a busy link.

    The line is nearest to them: a side of their convex hull (Moon et al. 1999).
    """
    if len(times) < POINTS_MIN or carried[-1] <= carried[0]:
        return None
    hull: list[int] = []
    for at in range(len(times)):
        while len(hull) > 1:
            one, two = hull[-2:]
            if (times[two] - times[one]) * (carried[at] - carried[one]) < (times[at] - times[one]) * (
                carried[two] - carried[one]
            ):
                break
            hull.pop()
        hull.append(at)
    side = int(np.clip(np.searchsorted(carried[hull], carried.mean()), 1, len(hull) - 1))
    one, two = hull[side - 1], hull[side]
    if carried[two] <= carried[one]:
        return None
    pace = float((times[two] - times[one]) / (carried[two] - carried[one]))
    late: Array = times - times[one] - pace * (carried - carried[one])
    return late if pace <= pace_max else None


def remove(waits: Array, jitter: Array) -> Array:
    """Return sorted waits without the jitter, as many as given, in the same unit."""
    known = waits[np.isfinite(waits)]
    width = float(np.max(known, initial=0.0)) / BINS
    if not width or float(np.quantile(jitter, USUAL)) <= width:
        return known
    observed = np.bincount(np.clip(known / width, 0, BINS - 1).astype(np.int64), minlength=BINS)
    # Jitter above the longest wait has no place among the waits.
    of_jitter = np.bincount(np.clip(jitter / width, 0, BINS).astype(np.int64), minlength=BINS + 1)[:BINS] / len(jitter)
    steps = np.arange(BINS)[:, None] - np.arange(BINS)[None, :]
    adds = np.where(steps >= 0, of_jitter[np.maximum(steps, 0)], 0.0)
    share = np.full(BINS, 1.0 / BINS)
    for _ in range(ROUNDS):
        mixed = adds @ share
        share = share * (adds.T @ np.divide(observed, mixed, out=np.zeros(BINS), where=mixed > 0))
        share /= share.sum()
    ranks = (np.arange(len(known)) + 0.5) / len(known)
    places = np.minimum(np.searchsorted(np.cumsum(share), ranks), BINS - 1)
    return (places + 0.5) * width

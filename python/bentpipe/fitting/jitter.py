"""Removes the jitter of the unloaded path from the waits of segments under load.

The wait of a segment is its wait in the queue plus the jitter of the path. Probes without load have the distribution of
the jitter. From both distributions, maximum likelihood finds the distribution of the waits in the queue (Richardson
1972, Lucy 1974).
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

"""Finds slots of nearly constant delay: a period with its phase, or change points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bentpipe import formatting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bentpipe.fitting.measured import Array, Probes

BIN_S = 0.5
LEVEL = 0.25
"""Quantile of the round trips in a bin that is its level."""
PERIODS_S = (5.0, 60.0)
STARLINK_S = 15.0
"""Starlink reallocates every 15 s."""
SIGNIFICANCE = 0.05
FUNDAMENTAL = 0.9
"""Least share of the largest statistic at which a shorter period is preferred: multiples of a period fit, too."""
ENOUGH_S = 300.0
"""Shortest measurement in which periods are searched unless they are known."""
PENALTY = 3.0
"""Penalty of a change point, in variances times the logarithm of the number of bins."""
ROUNDED_MAX = 0.005
"""Largest relative error of rounding: `ping` prints three digits."""
PER_BIN = 4
"""Least number of probes per bin for change points."""
PLAIN_S = 30.0
"""Length of slots for draws if the path has no period."""
BASE = 0.05
"""Quantile of the round trips that is the base delay."""
SAMPLES_MIN = 20
TRANSIENT_S = 0.3
SLOTS_MIN = 3


@dataclass(frozen=True)
class Slots:
    """Slots of a measurement.

    Attributes
    ----------
    edges_s : array
        Ends of the slots, from the first probe to the last.
    period_s, phase_s : float or None
        Period of the slots, and the first boundary after time 0, if they have one. With Unix time and a period that
        divides a minute, the phase is in seconds of the minute.
    statistic, threshold : float
        Largest statistic T over all periods, and the threshold: a period is found if T exceeds it.
    how : str
        Sentence about the search.
    """

    edges_s: Array
    period_s: float | None
    phase_s: float | None
    statistic: float
    threshold: float
    how: str

    def find_slots(self, times: Array) -> NDArray[np.intp]:
        """Return the slot of each time."""
        return np.clip(np.searchsorted(self.edges_s, times, side="right") - 1, 0, len(self.edges_s) - 2)

    @property
    def has_steps(self) -> bool:
        return len(self.edges_s) > 2


def find(probes: Probes, network: str | None = None, period_s: float | None = None) -> Slots:
    """Find the slots. With a given network or period, only this period is tested, which needs less evidence."""
    answered = ~probes.is_lost
    first, levels = _levels(probes.send_s[answered], probes.rtt_s[answered])
    begin, end = float(probes.send_s[0]), float(probes.send_s[-1])
    known_s = period_s or (STARLINK_S if network == "starlink" else None)
    is_searched = network != "none" and (known_s is not None or end - begin >= ENOUGH_S)
    if is_searched:
        periods = [known_s] if known_s else list(np.arange(PERIODS_S[0], PERIODS_S[1] + BIN_S, BIN_S))
        found, phase, statistic, threshold = _period(
            first, _scores(levels, _has_probes(probes.send_s, first, len(levels))), periods
        )
        is_given = period_s is not None
        if found is not None and (statistic > threshold or is_given):
            turns = np.arange(math.ceil((begin - phase) / found), math.ceil((end - phase) / found), dtype=np.float64)
            inner = turns * found + phase
            how = f"steps every {found:g} s at :{phase:04.1f} (T = {statistic:.1f}, found at {threshold:.2f})"
            return Slots(_edges(begin, inner, end), found, phase, statistic, threshold, how)
        how = f"no period from 5 to 60 s (T = {statistic:.1f}, found at {threshold:.2f})"
        if known_s:
            how = f"no period of {known_s:g} s (T = {statistic:.1f}, found at {threshold:.2f})"
    elif network == "none":
        statistic, threshold, how = 0.0, 0.0, "periods were not searched"
    else:
        statistic, threshold, how = 0.0, 0.0, "shorter than 5 min: too short to find a period unless it is given"
    is_dense = probes.spacing_s * PER_BIN <= BIN_S
    inner = first + BIN_S * np.array(_change_points(levels) if is_dense else [], dtype=np.float64)
    if not is_dense:
        how += f"; {probes.spacing_s:.2g} s between probes are too long for steps at irregular times"
    elif len(inner):
        how += f"; {formatting.count(len(inner), 'step')} at irregular times"
    return Slots(_edges(begin, inner, end), None, None, statistic, threshold, how)


def _edges(begin: float, inner: Array, end: float) -> Array:
    return np.concatenate([[begin], inner[(inner > begin) & (inner < end)], [end]])


def _levels(times: Array, rtt_s: Array) -> tuple[float, Array]:
    """Return the start of the first bin, and the level of each bin: a quantile of the logarithm of round trips."""
    first = math.floor(times.min() / BIN_S)
    bins = np.floor(times / BIN_S).astype(np.int64) - first
    order = np.lexsort((rtt_s, bins))
    bins, logs = bins[order], np.log(rtt_s[order])
    present, starts, counts = np.unique(bins, return_index=True, return_counts=True)
    levels = np.full(int(bins[-1]) + 1, np.nan)
    levels[present] = logs[starts + (LEVEL * (counts - 1)).astype(np.int64)]
    # A bin without an answer continues the level before it.
    last = np.maximum.accumulate(np.where(np.isnan(levels), 0, np.arange(len(levels))))
    return first * BIN_S, levels[last]


def _has_probes(send_s: Array, first: float, count: int) -> NDArray[np.bool_]:
    """Return whether a probe was sent in each bin, answered or lost."""
    found = np.zeros(count, dtype=np.bool_)
    bins = np.floor((send_s - first) / BIN_S).astype(np.int64)
    found[bins[(bins >= 0) & (bins < count)]] = True
    return found


def _period(first: float, scores: Array, periods: list[float]) -> tuple[float | None, float, float, float]:
    """Return period, phase, statistic and threshold of the period whose boundaries have the largest steps."""
    from statistics import NormalDist

    if len(scores) < 5:
        return None, 0.0, 0.0, 0.0
    offset = round(first / BIN_S)
    best: dict[float, tuple[float, float]] = {}
    tried = 0
    for period_s in periods:
        width = round(period_s / BIN_S)
        tried += width
        if len(scores) < SLOTS_MIN * width:
            continue
        phases = (np.arange(len(scores)) + 2 + offset) % width
        sums, counts = np.bincount(phases, scores, width), np.bincount(phases, minlength=width)
        statistics = sums / np.sqrt(np.maximum(counts, 1))
        at = int(np.argmax(statistics))
        best[period_s] = float(statistics[at]), at * BIN_S
    threshold = NormalDist().inv_cdf(1 - SIGNIFICANCE / tried)
    if not best:
        return None, 0.0, 0.0, threshold
    most = max(statistic for statistic, _ in best.values())
    period_s = min(each for each, (statistic, _) in best.items() if statistic >= FUNDAMENTAL * most)
    statistic, phase = best[period_s]
    return float(period_s), phase, statistic, threshold


def _scores(levels: Array, probed: NDArray[np.bool_]) -> Array:
    """Return the normal score of the step before each bin, from the third on, two bins against two."""
    after, before = levels[2:-1] + levels[3:], levels[1:-2] + levels[:-3]
    steps = np.abs(after - before) / 2
    from scipy.stats import norm, rankdata

    # Bins without a probe repeat a level, as with a ping every 2 s, so steps are ranked beside the same empty bins.
    pattern = np.convolve(probed, (1, 2, 4, 8), "valid")
    scores = np.zeros(len(steps))
    for each in np.unique(pattern):
        here = pattern == each
        # Equal steps, as of rounded pings, have equal scores.
        scores[here] = norm.ppf((rankdata(steps[here]) - 0.5) / here.sum())
    return scores


def _change_points(levels: Array) -> list[int]:
    """Return the bins before which the level changes, by optimal partitioning with pruning."""
    count = len(levels)
    changes = np.abs(np.diff(levels))
    noise = float(np.median(changes)) / (0.6745 * math.sqrt(2)) if count > 2 else 0.0
    if noise == 0:
        # Rounded pings change by one unit in the last digit, or not at all.
        noise = min(float(np.min(changes[changes > 0], initial=np.inf)) / 2, ROUNDED_MAX)
    noise = max(noise, 1e-4)
    penalty = PENALTY * noise**2 * math.log(max(count, 2))
    sums, squares = (np.concatenate([[0.0], np.cumsum(each)]) for each in (levels, levels**2))
    costs, before = np.zeros(count + 1), np.zeros(count + 1, dtype=np.int64)
    costs[0] = -penalty
    starts = np.array([0])
    for end in range(1, count + 1):
        total, length = sums[end] - sums[starts], end - starts
        fits = costs[starts] + squares[end] - squares[starts] - total**2 / length
        at = int(np.argmin(fits))
        costs[end], before[end] = fits[at] + penalty, starts[at]
        starts = np.append(starts[fits <= costs[end]], end)
    found, at = [], int(before[count])
    while at > 0:
        found.append(at)
        at = int(before[at])
    return found[::-1]


@dataclass(frozen=True)
class Levels:
    """Base delay of slots, and the behaviour at their boundaries, in seconds."""

    base_s: float
    bases_s: Array
    """Base of each slot; NaN with fewer than 20 answers."""
    step_s: float | None
    """Median step of the base between slots."""
    transient_s: float | None
    """Median round trip in the first 0.3 s of a slot, minus the median of the whole slot."""
    pause_s: float | None
    """Longest time without an answer at a boundary, median over all boundaries."""


def measure(probes: Probes, slots: Slots) -> Levels:
    """Measure the base delay of each slot, steps and transients."""
    answered = ~probes.is_lost
    times, rtt_s = probes.send_s[answered], probes.rtt_s[answered]
    places = slots.find_slots(times)
    bases, transients, pauses = [], [], []
    for slot, (begin, end) in enumerate(zip(slots.edges_s[:-1], slots.edges_s[1:], strict=True)):
        low, high = np.searchsorted(places, [slot, slot + 1])
        inside = rtt_s[low:high]
        bases.append(float(np.quantile(inside, BASE)) if len(inside) >= SAMPLES_MIN else np.nan)
        if slot == 0 or len(inside) < SAMPLES_MIN:
            continue
        early = inside[: np.searchsorted(times[low:high], begin + TRANSIENT_S)]
        if len(early) >= 3:
            transients.append(float(np.median(early) - np.median(inside)))
        arrivals = np.sort(times[max(low - 100, 0) : low + 100] + rtt_s[max(low - 100, 0) : low + 100])
        near = arrivals[(arrivals > begin - BIN_S) & (arrivals < min(begin + BIN_S, end))]
        if len(near) > 1:
            pauses.append(float(np.diff(near).max()))
    found = np.array(bases)
    steps = np.abs(np.diff(found[np.isfinite(found)]))
    return Levels(
        float(np.quantile(rtt_s, BASE)),
        found,
        float(np.median(steps)) if len(steps) else None,
        float(np.median(transients)) if transients else None,
        float(np.median(pauses)) if pauses else None,
    )

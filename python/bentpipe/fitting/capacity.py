"""Estimates the rate of a path from transfers that load it, or a lower bound if no transfer filled the queue."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import formatting
from bentpipe.fitting.losses import Value, binomial

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from bentpipe.fitting.measured import Array, Load
    from bentpipe.fitting.slots import Slots

WAITING_S, WAITING_SHARE = 3e-3, 0.05
"""An interval is a candidate if its round trip is above the base by both, in seconds and as a share."""
JOINED_S = 1.0
"""Shorter intervals of TCP are joined to this length."""
ELASTICITY = 0.4
"""Slope of goodput over the window, both as logarithms, below which the queue was full."""
CANDIDATES_MIN = 10
PER_SLOT_MIN = 3
VARIES = 0.05
"""Least relative range of the window for a slope."""
POINTS_MAX = 400
"""Largest number of points of the slope, which looks at all pairs."""
BEST = 5
"""Joined intervals of the largest mean that is a lower bound: data behind a repaired hole arrives at one time."""
MSS = 1448
UDP_LOSS = 0.01
"""Least share of lost datagrams if UDP has filled the path."""
OVERSHOOT_S = 4.0
"""Time at the start whose window reductions tell little: slow start overshoots."""
NO_WINDOW = "no window and no round trip in the file"
OF_SENDER = "with --get-server-output"
"""With `-R`, only the server of iperf3 has the sender's window."""
ELSEWHERE = 2
"""Segments that are neither in the queue nor on the path: one is being sent, and one waits for its delayed ACK."""
LESS_RARE, RARE = 0.98, 0.99
"""Quantiles of the longest waits of intervals: a delayed ACK, or a busy host, makes a few longer."""
NO_LOSS = "the queue lost no segment"
REPAIR = 3
"""Intervals from a reduction of the window on in which its dropped segments are repeated."""
FALL = 0.85
"""Share of the window that a reduction leaves at most."""


@dataclass(frozen=True)
class Capacity:
    """Rate and queue of one direction.

    Attributes
    ----------
    rate_bps : Value
        Rate with headers; for a lower bound, `high` is infinite.
    is_bound : bool
        Whether the rate is only a lower bound.
    elasticity : float or None
        Slope of goodput over the window; None if too few intervals were candidates.
    how : str
        Sentence about the estimate.
    slots : array or None
        Rate of each slot of the measurement; NaN for unknown rates.
    queue_bytes : Value or None
        Limit of the queue, if it was full.
    queue_how : str
        Sentence about the queue.
    loss : Value or None
        Share of segments that TCP retransmitted without a full queue.
    """

    rate_bps: Value
    is_bound: bool
    elasticity: float | None
    how: str
    slots: Array | None = None
    queue_bytes: Value | None = None
    queue_how: str = ""
    loss: Value | None = None

    @property
    def is_below(self) -> bool:
        """Whether the transfer was seen to stay below the rate, so that losses limit it."""
        return self.is_bound and self.elasticity is not None


def estimate(load: Load, base_s: float | None, slots: Slots | None) -> Capacity:
    """Estimate the rate and the queue from one transfer. Without probes, its least round trip is the base."""
    if load.transport == "udp":
        return _find_datagram_rate(load, slots)
    overhead = _overhead(load)
    if load.srtt_s is None or load.cwnd_bytes is None:
        return _bound(load, overhead, None, NO_WINDOW, remedy=OF_SENDER)
    fine, load = load, _coarse(load)
    assert load.srtt_s is not None, "kept"
    assert load.cwnd_bytes is not None, "kept"
    known = np.isfinite(load.srtt_s) & np.isfinite(load.cwnd_bytes) & (load.cwnd_bytes > 0) & (load.srtt_s > 0)
    known &= load.bytes > 0
    if not known.any():
        return _bound(load, overhead, None, NO_WINDOW, remedy=OF_SENDER)
    # A transfer during other hours may have had a shorter path.
    base_s = load.least_s if base_s is None else min(base_s, load.least_s)
    waiting = known & (load.srtt_s - base_s > max(WAITING_S, WAITING_SHARE * base_s))
    elasticity = _elasticity(load.cwnd_bytes[waiting], load.rate_bps[waiting])
    if elasticity is None:
        few = f"{int(waiting.sum())} intervals with a queue"
        return _bound(load, overhead, None, f"{few}, or a constant window", _find_retransmissions(load))
    if elasticity >= ELASTICITY:
        why = f"goodput grows with the window (elasticity {elasticity:.2f})"
        return _bound(load, overhead, elasticity, why, _find_retransmissions(load))
    rates = overhead * load.rate_bps[waiting]
    low, middle, high = (float(each) for each in np.quantile(rates, (0.025, 0.5, 0.975)))
    width = 1.2533 * 1.96 * float(np.std(rates)) / np.sqrt(len(rates))
    value = Value(middle, max(low, middle - width), min(high, middle + width))
    queue, queue_how = _queue(fine, value.value, base_s, overhead)
    how = f"the queue was full (elasticity {elasticity:.2f})"
    return Capacity(value, False, elasticity, how, _by_slot(load, waiting, overhead, slots), queue, queue_how)


def _coarse(load: Load) -> Load:
    """Join short intervals: a sender counts whole writes, which may be larger than its data of an interval."""
    step_s = float(np.median(load.interval_s))
    width = max(1, round(JOINED_S / step_s))
    count = len(load.bytes) // width
    if width == 1 or count == 0:
        return load

    def join(values: Array | None, how: Callable[..., Any]) -> Any:
        return None if values is None else how(values[: count * width].reshape(count, width), axis=1)

    return replace(
        load,
        begin_s=load.begin_s[: count * width : width],
        interval_s=join(load.interval_s, np.sum),
        bytes=join(load.bytes, np.sum),
        srtt_s=join(load.srtt_s, np.mean),
        cwnd_bytes=join(load.cwnd_bytes, np.mean),
        retransmits=join(load.retransmits, np.sum),
    )


def _overhead(load: Load) -> float:
    mss = load.mss or MSS
    return (mss + load.headers) / mss


def _elasticity(windows: Array, rates: Array) -> float | None:
    """Return the median slope over all pairs of intervals (Theil 1950, Sen 1968)."""
    if len(windows) < CANDIDATES_MIN or windows.max() < (1 + VARIES) * windows.min():
        return None
    taken = np.unique(np.linspace(0, len(windows) - 1, POINTS_MAX).astype(np.int64))
    windows, rates = np.log(windows[taken]), np.log(rates[taken])
    first, second = np.triu_indices(len(windows), 1)
    steps = windows[second] - windows[first]
    apart = np.abs(steps) > 1e-9
    return float(np.median((rates[second] - rates[first])[apart] / steps[apart]))


def _bound(
    load: Load,
    overhead: float,
    elasticity: float | None,
    why: str,
    loss: Value | None = None,
    remedy: str = "with -C bbr",
) -> Capacity:
    load = _coarse(load)
    width = min(BEST, len(load.bytes))
    sums = [np.convolve(each, np.ones(width), "valid") for each in (8 * load.bytes, load.interval_s)]
    most = float((overhead * sums[0] / sums[1]).max())
    how = f"lower bound: {why}; measure with iperf3 -u -b above the rate, or {remedy}"
    return Capacity(Value(most, most, np.inf), True, elasticity, how, loss=loss)


def _find_retransmissions(load: Load) -> Value | None:
    if load.retransmits is None:
        return None
    segments = int(load.bytes.sum() / (load.mss or MSS))
    again = int(np.nansum(load.retransmits))
    return binomial(min(again, segments + again), segments + again) if segments else None


def _by_slot(load: Load, chosen: NDArray[np.bool_], overhead: float, slots: Slots | None) -> Array | None:
    """Return the median rate of each slot with enough intervals."""
    if slots is None or slots.period_s is None:
        return None
    middles = load.begin_s + load.interval_s / 2
    inside = (middles >= slots.edges_s[0]) & (middles <= slots.edges_s[-1])
    places = slots.find_slots(middles)
    rates = np.full(len(slots.edges_s) - 1, np.nan)
    for slot in range(len(rates)):
        here = chosen & inside & (places == slot)
        if here.sum() >= PER_SLOT_MIN:
            rates[slot] = overhead * float(np.median(load.rate_bps[here]))
    return rates if np.isfinite(rates).any() else None


def _queue(load: Load, rate_bps: float, base_s: float, overhead: float) -> tuple[Value | None, str]:
    """Return the limit of the queue: by the window before reductions, or by the longest wait."""
    assert load.cwnd_bytes is not None, "a full queue has windows"
    assert load.srtt_s is not None, "a full queue has round trips"
    segment = (load.mss or MSS) * overhead
    repeats = np.zeros(len(load.bytes)) if load.retransmits is None else np.nan_to_num(load.retransmits)
    is_silent = load.retransmits is not None and not repeats.any()
    if load.longest_s is not None:
        return _find_queue_limit((load.longest_s - base_s) * rate_bps / 8, segment, is_silent=is_silent)
    windows = load.cwnd_bytes
    late = load.begin_s[:-1] - load.begin_s[0] >= OVERSHOOT_S
    falls = late & (windows[1:] < FALL * windows[:-1])
    # Segments that the queue dropped are in the window, and were not in the queue.
    dropped = segment * np.convolve(repeats, np.ones(REPAIR))[REPAIR - 1 :]
    held = rate_bps * base_s / 8 + ELSEWHERE * segment
    before = (windows * overhead - dropped)[:-1][falls] - held
    # A smoothed round trip lags in slow start.
    settled = load.begin_s - load.begin_s[0] >= OVERSHOOT_S
    settled = settled if settled.any() else ~settled
    waited = float(np.nanmax((load.srtt_s - base_s)[settled])) * rate_bps / 8
    best = max(float(before.max()) if len(before) else 0.0, waited)
    if best <= 0:
        return None, ""
    if not len(before) and load.retransmits is not None and not repeats[settled].any():
        return Value(best, best, np.inf), f"lower bound: longest round trip; {NO_LOSS}"
    points = [max(float(each), 0.0) for each in before] or [waited]
    how = (
        f"window at {formatting.count(len(before), 'reduction')}" if len(before) else "longest round trip; no reduction"
    )
    return Value(best, min(*points, best), max(*points, best)), how


def _find_queue_limit(waits: Array, segment: float, *, is_silent: bool) -> tuple[Value | None, str]:
    """Return the limit of the queue by the longest waits of single segments, of which each includes its own sending."""
    low, best, high = (float(each) for each in np.nanquantile(waits, (LESS_RARE, RARE, 1.0)))
    if best <= segment:
        return None, ""
    if is_silent:
        return Value(best - segment, best - segment, np.inf), f"lower bound: longest round trips of segments; {NO_LOSS}"
    return Value(best - segment, max(low - 2 * segment, 0.0), high), "longest round trips of segments"


def _find_datagram_rate(load: Load, slots: Slots | None) -> Capacity:
    """Return the rate at which datagrams arrived, if the path could not carry all."""
    assert load.packets is not None, "UDP has counts of packets"
    lost = np.zeros(len(load.packets)) if load.lost is None else np.nan_to_num(load.lost)
    arrived = np.maximum(load.packets - lost, 1)
    payload = float(np.median(load.bytes / arrived))
    overhead = (payload + load.headers) / payload if payload > 0 else 1.0
    if lost.sum() < UDP_LOSS * load.packets.sum():
        return _bound(load, overhead, None, "fewer than 1 % of the datagrams were lost")
    full = lost > 0
    rates = overhead * load.rate_bps[full]
    middle = float(np.median(rates))
    width = 1.2533 * 1.96 * float(np.std(rates)) / np.sqrt(len(rates))
    how = f"UDP above the rate: {100 * lost.sum() / load.packets.sum():.1f} % lost"
    queue, queue_how = None, ""
    if load.longest_s is not None:
        queue, queue_how = _find_queue_limit(load.longest_s * middle / 8, payload + load.headers, is_silent=False)
    by_slot = _by_slot(load, full, overhead, slots)
    return Capacity(Value(middle, middle - width, middle + width), False, None, how, by_slot, queue, queue_how)

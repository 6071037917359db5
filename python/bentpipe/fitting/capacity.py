"""Estimates the rate of a path from transfers that load it, or a lower bound if no transfer filled the queue."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import formatting
from bentpipe.fitting.jitter import remove, remove_under_load
from bentpipe.fitting.losses import Value, binomial
from bentpipe.fitting.measured import MSS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from bentpipe.fitting.jitter import Jitter
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
ENVELOPE_MAX = 1000
"""Largest number of points of the bytes that the link has carried."""
HELD = 3
"""Windows that may wait behind a hole: the sender goes on while its repair takes a round trip or two."""
INITIAL = 10
"""Segments of the initial window."""
EMPTIEST = 0.1
"""Quantile of the waits that shows whether the queue was ever empty."""
QUEUED = 0.5
"""Share of time with a queue above which BBR has filled the path."""
HEADERS_SHARE = 0.01
"""Least half width of the interval of a rate, as a share: headers and the ends of rows are not known better."""
NEAR_FULL = 0.8
"""Share of the longest wait above which the queue may drop segments."""
INTERVALS_KEPT = 10
"""Least number of intervals without a full queue that show the losses of the link."""
ALONE_S = 4.0
"""Least time without data in the other direction that shows a queue."""
UDP_LOSS = 0.01
"""Least share of lost datagrams if UDP has filled the path."""
OVERSHOOT_S = 4.0
"""Time at the start whose window reductions tell little: slow start overshoots."""
NO_TOTAL = "the rows count writes, and the file lacks the bytes of the receiver"
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
        Rate with headers, bit/s. For a lower bound, `high` is infinite.
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
        Share of segments that TCP retransmitted while the queue was not full.
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
        """Whether the transfer stayed below the rate of the path, so that losses limited it."""
        return self.is_bound and self.elasticity is not None


def estimate(load: Load, base_s: float | None, slots: Slots | None, jitter: Jitter | None = None) -> Capacity:
    """Estimate the rate and the queue from one transfer. Without probes, its least round trip is the base round trip.

    `jitter` is the jitter of the path without load.
    """
    if load.transport == "udp":
        return _find_datagram_rate(load, slots)
    overhead = _overhead(load)
    if load.block and load.received is None:
        return _bound(load, overhead, None, NO_TOTAL, remedy=OF_SENDER)
    if load.srtt_s is None or load.cwnd_bytes is None:
        return _bound(load, overhead, None, NO_WINDOW, remedy=OF_SENDER)
    alone = load.is_alone
    if not alone.all():
        # A long round trip may then be of the other direction's queue, which also delays acknowledgements.
        if load.block or load.interval_s[alone].sum() < ALONE_S:
            return _bound(load, overhead, None, "data went both ways", remedy="one direction at a time")
        load = load.cut(alone)
    fine, load = load, _coarse(load)
    assert load.srtt_s is not None, "kept"
    assert load.cwnd_bytes is not None, "kept"
    known = np.isfinite(load.srtt_s) & np.isfinite(load.cwnd_bytes) & (load.cwnd_bytes > 0) & (load.srtt_s > 0)
    if not known.any():
        return _bound(fine, overhead, None, NO_WINDOW, remedy=OF_SENDER)
    # A transfer during other hours may have had a shorter path.
    base_s = load.least_s if base_s is None else min(base_s, load.least_s)
    waiting = known & (load.srtt_s - base_s > max(WAITING_S, WAITING_SHARE * base_s))
    loss = _find_retransmissions(fine, base_s)
    share = float(waiting.sum() / known.sum())
    if load.block and _is_model(load.cc):
        # The window of BBR does not fill the queue, and rows of writes have no rates.
        elasticity, how = None, f"BBR kept a queue in {100 * share:.0f} % of the time"
        if share < QUEUED:
            return _bound(fine, overhead, None, how, loss)
    else:
        elasticity = _elasticity(load, waiting)
        emptiest = float(np.quantile((load.srtt_s - base_s)[known], EMPTIEST))
        if load.block and emptiest >= base_s:
            # A window of few segments is too coarse for a slope, but the queue was never empty.
            elasticity, how = (
                None,
                f"the round trip was above twice the base in {100 * (1 - EMPTIEST):.0f} % of the time",
            )
        elif elasticity is None:
            few = f"{int(waiting.sum())} intervals with a queue"
            return _bound(fine, overhead, None, f"{few}, or a constant window", loss)
        elif elasticity >= ELASTICITY:
            why = f"goodput grows with the window (elasticity {elasticity:.2f})"
            return _bound(fine, overhead, elasticity, why, loss)
        else:
            how = f"the queue was full (elasticity {elasticity:.2f})"
    least = overhead * _least_rate(fine)
    if load.block:
        value = _rate_of_writes(fine, base_s, overhead)
        by_slot = None
    else:
        value = _median(overhead * load.rate_bps[waiting])
        by_slot = _by_slot(load, waiting, overhead, slots)
    if value.value < least:
        # The path is at least as fast as a rate that it has carried.
        value = Value(least, (1 - HEADERS_SHARE) * least, max(value.high, (1 + HEADERS_SHARE) * least))
    queue, queue_how = _queue(fine, value.value, base_s, overhead, jitter)
    if queue is not None:
        # Waits are times, so the interval of the rate is in that of the bytes.
        is_bound = np.isinf(queue.high)
        low, high = (end / value.value for end in (value.low, value.high))
        queue = Value(queue.value * (low if is_bound else 1.0), queue.low * low, queue.high * high)
    return Capacity(value, False, elasticity, how, by_slot, queue, queue_how)


def _is_model(cc: str | None) -> bool:
    """Whether a congestion control paces by a model of the path, so that its window is not in the queue."""
    return bool(cc) and str(cc).startswith("bbr")


def _median(rates: Array) -> Value:
    """Return the median with the interval of its order statistics, which needs no distribution."""
    half = 0.98 * np.sqrt(len(rates)) / len(rates)
    low, middle, high = (float(each) for each in np.quantile(rates, (max(0.5 - half, 0), 0.5, min(0.5 + half, 1))))
    width = HEADERS_SHARE * middle
    return Value(middle, min(low, middle - width), max(high, middle + width))


def _envelope(load: Load) -> tuple[Array, Array, Array]:
    """Return times, and the least and the most bytes that the link had carried by each of them.

    Rows of the receiver have the bytes that arrived in order: a window may be behind a hole. Rows of a sender have its
    writes, which wait in its send buffer: only the receiver's total is known to have arrived.
    """
    times, counted = (np.concatenate([[0.0], np.cumsum(each)]) for each in (load.interval_s, load.bytes))
    known = load.cwnd_bytes is not None and bool(np.isfinite(load.cwnd_bytes).any())
    window = HELD * float(np.nanmax(load.cwnd_bytes)) if known and load.cwnd_bytes is not None else np.inf
    if load.received is None:
        return times, counted, np.concatenate([[0.0], counted[1:] + window])
    total, seconds = load.received
    least = np.append(np.zeros(len(counted)), total)
    return np.append(times, max(seconds, float(times[-1]))), least, np.append(counted, total + window)


def _least_rate(load: Load) -> float:
    """Return the largest rate that the link has carried for certain, over any time of a second or more."""
    times, least, most = _envelope(load)
    taken = np.unique(np.linspace(0, len(times) - 1, ENVELOPE_MAX).astype(np.int64))
    times, least, most = times[taken], least[taken], most[taken]
    spans = times[None, :] - times[:, None]
    enough = spans >= min(JOINED_S, float(times[-1]))
    rates = np.where(enough, 8 * (least[None, :] - most[:, None]) / np.where(enough, spans, 1.0), 0.0)
    return float(max(rates.max(), 0.0))


def _rate_of_writes(load: Load, base_s: float, overhead: float) -> Value:
    """Return the rate while the queue was not empty, from the receiver's total and the bytes before that time."""
    assert load.srtt_s is not None, "asked with round trips"
    assert load.cwnd_bytes is not None, "asked with windows"
    assert load.received is not None, "the reader refuses rows of writes without a total"
    waiting = load.srtt_s - base_s > max(WAITING_S, WAITING_SHARE * base_s)
    first = int(np.argmax(waiting))
    total, seconds = load.received
    begin, window = float(load.interval_s[: first + 1].sum()), float(load.cwnd_bytes[first])
    # Slow start adds each acknowledged byte to the window, and the window is under way.
    before = max(window - INITIAL * load.streams * (load.mss or MSS), 0.0), 2 * window
    ends = max(float(load.interval_s.sum()), begin + load.interval_s[-1]), max(seconds, begin + load.interval_s[-1])
    busy = float(np.mean(waiting[first:]))
    low = 8 * overhead * max(total - before[1], 0.0) / (ends[1] - begin)
    high = 8 * overhead * (total + float(load.cwnd_bytes[-1]) - before[0]) / (ends[0] - begin) / max(busy, QUEUED)
    # The queue may be empty for less than a row, and headers are not known better.
    return Value((low + high) / 2, (1 - HEADERS_SHARE) * low, (1 + HEADERS_SHARE) * high)


def is_better(one: Capacity, other: Capacity) -> bool:
    """Whether an estimate replaces another of the same direction.

    A rate replaces a lower bound, and a higher bound replaces a lower one. But a rate whose interval is below a bound
    does not replace the bound. A transfer has reached more, so the rate is from another time, or another limit applied.
    """
    if one.is_bound != other.is_bound:
        bound, rate = (one, other) if one.is_bound else (other, one)
        is_refused = rate.rate_bps.high < bound.rate_bps.value
        return one.is_bound == is_refused
    if one.is_bound:
        return one.rate_bps.value > other.rate_bps.value
    return one.rate_bps.low > other.rate_bps.high


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


def _elasticity(load: Load, waiting: NDArray[np.bool_]) -> float | None:
    """Return the slope of goodput over the window, both as logarithms; None if too few intervals decide.

    Rows of writes have equal numbers, which decide nothing. The rate of a window is the window over its round trip, so
    the slope of the round trip is what the slope of the rate lacks to 1.
    """
    assert load.srtt_s is not None, "asked with round trips"
    assert load.cwnd_bytes is not None, "asked with windows"
    if load.block:
        slope = _slope(load.cwnd_bytes[waiting], load.srtt_s[waiting])
        return None if slope is None else 1 - slope
    filled = waiting & (load.bytes > 0)
    return _slope(load.cwnd_bytes[filled], load.rate_bps[filled])


def _slope(windows: Array, rates: Array) -> float | None:
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
    most = overhead * _least_rate(load)
    how = f"lower bound: {why}; measure with iperf3 -u -b above the rate, or {remedy}"
    return Capacity(Value(most, most, np.inf), True, elasticity, how, loss=loss)


def _find_retransmissions(load: Load, base_s: float) -> Value | None:
    """Return the share of retransmitted segments, without those that a full queue has dropped.

    Slow start overshoots, and the queue drops segments when the wait is near its longest.
    """
    if load.retransmits is None or load.srtt_s is None:
        return None
    again, waits = np.nan_to_num(load.retransmits), np.nan_to_num(load.srtt_s - base_s)
    settled = load.begin_s - load.begin_s[0] >= OVERSHOOT_S
    settled = settled if settled.any() else ~settled
    longest = float(np.quantile(waits[settled], RARE))
    near = (waits >= NEAR_FULL * longest) & (longest > max(WAITING_S, WAITING_SHARE * base_s))
    # Segments that the queue dropped are repeated in the round trips after it.
    after = max(REPAIR, int(np.ceil(2 * (base_s + longest) / float(np.median(load.interval_s)))))
    overflow = np.convolve(near, np.ones(after))[: len(near)] > 0
    kept = settled & ~overflow
    if kept.sum() < INTERVALS_KEPT:
        return None
    total, count = (
        float(load.carried[0]) * float(load.interval_s[kept].sum() / load.interval_s.sum()),
        again[kept].sum(),
    )
    segments = int(total / (load.mss or MSS))
    return binomial(min(int(count), segments + int(count)), segments + int(count)) if segments else None


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


def _queue(
    load: Load, rate_bps: float, base_s: float, overhead: float, jitter: Jitter | None
) -> tuple[Value | None, str]:
    """Return the limit of the queue: by the window before reductions, or by the longest wait."""
    assert load.cwnd_bytes is not None, "a full queue has windows"
    assert load.srtt_s is not None, "a full queue has round trips"
    segment = (load.mss or MSS) * overhead
    repeats = np.zeros(len(load.bytes)) if load.retransmits is None else np.nan_to_num(load.retransmits)
    is_silent = load.retransmits is not None and not repeats.any()
    if load.longest_s is not None:
        longest_s = load.longest_s - base_s
        without = [remove_under_load(load, longest_s, base_s, rate_bps / overhead)]
        # Captures of both ends have the waits of one direction, and probes the jitter of both.
        if jitter is not None and load.ways is None:
            without.append(remove(longest_s, jitter.find_longest(base_s, float(load.interval_s[0]))))
        # Probes show slow jitter, and the segments themselves rare jitter, such as pauses of the path.
        shortest = min(without, key=lambda each: float(np.nanquantile(each, RARE)))
        return _find_queue_limit(shortest * rate_bps / 8, segment, is_silent=is_silent)
    windows = load.cwnd_bytes
    settled = load.begin_s - load.begin_s[0] >= OVERSHOOT_S
    settled = settled if settled.any() else ~settled
    # A repair makes round trips longer that no queue has: an outage, or a burst of errors.
    calm = settled & (np.convolve(repeats, np.ones(REPAIR))[: len(repeats)] == 0)
    # Smoothed round trips have the mean of the jitter.
    usual_s = base_s if jitter is None else base_s + float(np.mean(jitter.above(base_s)))
    waits = (load.srtt_s - usual_s)[calm if calm.any() else settled] * rate_bps / 8
    low, waited, high = (float(each) for each in np.nanquantile(waits, (0.9, 0.98, 1.0)))
    late = load.begin_s[:-1] - load.begin_s[0] >= OVERSHOOT_S
    falls = late & (windows[1:] < FALL * windows[:-1]) & (not _is_model(load.cc))
    # Segments that the queue dropped are in the window, and were not in the queue.
    dropped = segment * np.convolve(repeats, np.ones(REPAIR))[REPAIR - 1 :]
    held = rate_bps * usual_s / 8 + ELSEWHERE * segment
    before = np.maximum((windows * overhead - dropped)[:-1][falls] - held, 0.0)
    if not len(before):
        if waited <= 0:
            return None, ""
        if load.retransmits is not None and not repeats[settled].any():
            return Value(waited, waited, np.inf), f"lower bound: long round trips; {NO_LOSS}"
        if _is_model(load.cc):
            # BBR holds two bandwidth-delay products at most, and a queue may be longer.
            least = max(low - 2 * segment, 0.0)
            return Value(least, least, np.inf), "lower bound: long round trips outside repairs; BBR fills no queue"
        return Value(
            waited, max(low - 2 * segment, 0.0), max(high, waited + 2 * segment)
        ), "long round trips outside repairs"
    # A reduction may also follow an error: the queue was then not full, so the larger half of them counts.
    middle = float(np.quantile(before, 0.75))
    if max(middle, waited) <= 0:
        return None, ""
    ends = min(middle, waited, float(np.median(before))), max(middle, high, float(before.max()))
    how = f"window at {formatting.count(len(before), 'reduction')}, and long round trips outside repairs"
    return Value(max(middle, waited), max(ends[0] - 2 * segment, 0.0), ends[1] + 2 * segment), how


def _find_queue_limit(waits: Array, segment: float, *, is_silent: bool) -> tuple[Value | None, str]:
    """Return the limit of the queue by the longest waits of single segments, of which each includes its own sending."""
    low, best, high = (float(each) for each in np.nanquantile(waits, (LESS_RARE, RARE, 1.0)))
    if best <= segment:
        return None, ""
    if is_silent:
        return Value(best - segment, best - segment, np.inf), f"lower bound: longest round trips of segments; {NO_LOSS}"
    # One segment more may have had no room, though some was left.
    return Value(best - segment, max(low - 2 * segment, 0.0), high + segment), "longest round trips of segments"


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
    width = max(1.2533 * 1.96 * float(np.std(rates)) / np.sqrt(len(rates)), HEADERS_SHARE * middle)
    how = f"UDP above the rate: {100 * lost.sum() / load.packets.sum():.1f} % lost"
    queue, queue_how = None, ""
    if load.longest_s is not None:
        waits_s = remove_under_load(load, load.longest_s, 0.0, middle / overhead)
        queue, queue_how = _find_queue_limit(waits_s * middle / 8, payload + load.headers, is_silent=False)
    by_slot = _by_slot(load, full, overhead, slots)
    return Capacity(Value(middle, middle - width, middle + width), False, None, how, by_slot, queue, queue_how)

"""Makes traces for the scenario: the measured trace, and traces of whole slots drawn with replacement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from bentpipe.fitting.slots import PLAIN_S, SAMPLES_MIN

if TYPE_CHECKING:
    from bentpipe.fitting.measured import Array, Probes
    from bentpipe.fitting.slots import Slots

PROBE_BYTES = 84
"""Size of a probe on the link: that of `ping` by default, with headers."""
Sending = tuple[float, float]
"""Transmission time of a probe in both directions. The engine adds it, so traces are without it."""
OUTAGE_S = 10.0
"""Longest time without answers for which the delay before it is held."""
HELD_S = 1.0
"""Time for which a delay is held in longer times without answers."""
AROUND = 100
"""Answers whose median is the delay of a gap."""
POINTS_MAX = 250_000
"""Points of the traces of a scenario; the engine's limit is 300,000."""


@dataclass(frozen=True, eq=False)
class Trace:
    """Delay and rate over time.

    Attributes
    ----------
    time_s : array
        Send times of the probes since the start of the run. The first is 0.
    forward_s, reverse_s : array
        One-way delays, seconds. Without time stamps of both ends, the reverse delay is half of the least round trip.
    rate_bps : array or None
        Rate of the forward direction; None if it does not change from slot to slot.
    """

    time_s: Array
    forward_s: Array
    reverse_s: Array
    rate_bps: Array | None = None

    @property
    def rtt_s(self) -> Array:
        trips: Array = self.forward_s + self.reverse_s
        return trips

    def csv(self, columns: dict[str, Array]) -> str:
        """Write columns beside the time in microseconds or better, without rows of an equal instant."""
        kept = np.concatenate([[True], np.diff(np.round(self.time_s, 6)) > 0])
        frame = pl.DataFrame({"time_s": self.time_s, **columns}).filter(kept)
        return frame.write_csv(float_precision=6)


def replay(probes: Probes, slots: Slots, sending_s: Sending, rates_bps: Array | None = None) -> Trace:
    """Return the measured delays at the send times of their probes, from the first slot boundary on."""
    answered = ~probes.is_lost
    begin = float(slots.edges_s[1]) if slots.period_s and len(slots.edges_s) > 2 else float(probes.send_s[0])
    kept = answered & (probes.send_s >= begin)
    times = probes.send_s[kept]
    forward_s, reverse_s = split_ways(probes, sending_s)
    rates = None if rates_bps is None else fill_rates(rates_bps)[slots.find_slots(times)]
    forward_s, reverse_s, times = forward_s[kept], reverse_s[kept], times - times[0]
    gaps = np.flatnonzero(np.diff(times) > OUTAGE_S) + 1
    # The median, as the last answer before an outage is often late.
    bridges = [float(np.median(forward_s[max(at - AROUND, 0) : at])) for at in gaps]
    forward_s = np.insert(forward_s, gaps, bridges)
    reverse_s = np.insert(reverse_s, gaps, reverse_s[gaps - 1])
    rates = None if rates is None else np.insert(rates, gaps, rates[gaps - 1])
    times = np.insert(times, gaps, times[gaps - 1] + HELD_S)
    step = -(-len(times) // POINTS_MAX)
    thin = slice(None, None, step)
    return Trace(times[thin], forward_s[thin], reverse_s[thin], None if rates is None else rates[thin])


def draw(
    probes: Probes,
    slots: Slots,
    duration_s: float,
    random: np.random.Generator,
    sending_s: Sending = (0.0, 0.0),
    rates_bps: Array | None = None,
    *,
    is_other: bool = False,
) -> Trace:
    """Draw whole slots with replacement and put them one after another. A slot keeps its delays and its rate.

    With `is_other`, the draw is from another possible measurement of the path: first, as many slots as measured are
    drawn with replacement, then the trace is drawn from these. So draws differ as two measurements of the path do.
    """
    answered = ~probes.is_lost
    forward_s, reverse_s = (each[answered] for each in split_ways(probes, sending_s))
    times = probes.send_s[answered]
    # Without a period, equal slots over the whole record, so that no part of it is left out.
    count = max(round(float(times[-1] - times[0]) / PLAIN_S), 1)
    edges = slots.edges_s if slots.period_s else np.linspace(times[0], times[-1] + probes.spacing_s, count + 1)
    if slots.period_s and len(edges) > 3:
        # The first and the last slot are parts, and a draw has its steps at the times of the period.
        edges = edges[1:-1]
    elif len(edges) < 2:
        edges = np.array([times[0], times[-1] + probes.spacing_s])
    places = np.searchsorted(times, edges)
    whole = [at for at in range(len(edges) - 1) if places[at + 1] - places[at] >= SAMPLES_MIN]
    if not whole:
        whole, places, edges = [0], np.array([0, len(times)]), np.array([times[0], times[-1] + probes.spacing_s])
    if is_other:
        whole = [whole[at] for at in random.integers(len(whole), size=len(whole))]
    known = None if rates_bps is None else fill_rates(rates_bps)
    parts: list[list[Array]] = []
    at_s = 0.0
    while at_s < duration_s:
        slot = whole[int(random.integers(len(whole)))]
        inside = slice(places[slot], places[slot + 1])
        length = float(edges[slot + 1] - edges[slot])
        here = times[inside] - edges[slot] + at_s
        rate = np.full(len(here), np.nan if known is None else known[slots.find_slots(times[inside][:1])[0]])
        parts.append([here, forward_s[inside], reverse_s[inside], rate])
        at_s += length
    joined = [np.concatenate(each) for each in zip(*parts, strict=True)]
    kept = joined[0] <= duration_s
    time_s, forward_s, reverse_s, rate_bps = (each[kept] for each in joined)
    return Trace(time_s - time_s[0], forward_s, reverse_s, None if known is None else rate_bps)


def split_ways(probes: Probes, sending_s: Sending) -> tuple[Array, Array]:
    """Return both one-way delays. If their split is unknown, the forward direction gets all variation."""
    half = float(np.nanmin(probes.rtt_s)) / 2
    ways = probes.rtt_s - half, np.full(len(probes.rtt_s), half)
    if probes.forward_s is not None and probes.reverse_s is not None:
        answered = ~probes.is_lost
        if np.isfinite(probes.forward_s[answered]).all() and np.isfinite(probes.reverse_s[answered]).all():
            ways = probes.forward_s, probes.reverse_s
    forward_s, reverse_s = (np.maximum(way - each, 0.0) for way, each in zip(ways, sending_s, strict=True))
    return forward_s, reverse_s


def fill_rates(rates_bps: Array) -> Array:
    """Give slots without a rate the median rate of the other slots."""
    return np.where(np.isnan(rates_bps), np.nanmedian(rates_bps), rates_bps)

"""Explains changes of a congestion window without a loss, by the states and estimates of the congestion control."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from bentpipe import formatting
from bentpipe.catalog import unit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.statistics.curve import Curve

FALL = 0.2
"""A fall within a round trip by more than this share of the window needs a reason."""
ESTIMATES = {
    "cc_inflight_shortterm_bytes": "its bound of the data in flight since the last losses",
    "cc_inflight_longterm_bytes": "its long-term bound of the data in flight",
    "cc_bandwidth_bps": "its estimate of the bandwidth",
    "cc_min_rtt_s": "its minimum round trip",
    "cc_cwnd_gain": "the factor of its window",
}
"""Series whose falls lower a window, with words."""
SERIES = ("cc_state", "srtt_s", *ESTIMATES)
"""Series of these reasons."""
NAMES = {
    "startup": "Startup",
    "drain": "Drain",
    "probe-bw-down": "ProbeBW down",
    "probe-bw-cruise": "ProbeBW cruise",
    "probe-bw-refill": "ProbeBW refill",
    "probe-bw-up": "ProbeBW up",
    "probe-rtt": "ProbeRTT",
    "default": "default mode",
    "competitive": "competitive mode",
    "fast": "fast mode",
    "slow": "slow mode",
    "conservative-slow-start": "conservative slow start",
    "rapid-start": "rapid start",
}
"""States in words. Others keep their names."""
DELAYED = {
    "default": "in its default mode, its rate is above the target that the delay of the queue allows",
    "competitive": "in its competitive mode, its rate is above the target that the delay of the queue allows",
}
"""Reasons of falls within a state of Copa, which lowers its window for no other reason."""
QUIET = ("slow-start", "rapid-start", "avoidance")
"""States that begin with an event."""
UNKNOWN = "no recorded series explains it"
"""Reason of a fall that no series explains."""
CHANGED = 0.98
"""Ratio below which an estimate has fallen."""


REDUCING = (
    *("reduction", "ecn_reduction", "timeout", "fast_retransmit"),
    *("slow_start_exit", "established", "recovery_exit", "undo"),
)
"""Events after which a window may fall."""


@dataclass(frozen=True)
class Fall:
    """A fall of the congestion window by more than a fifth within a round trip.

    Attributes
    ----------
    time_s : float
    before, after : float
        The window before the fall, and the smallest window within the round trip, bytes.
    """

    time_s: float
    before: float
    after: float

    def __str__(self) -> str:
        old, new = (formatting.quantity(each, "B") for each in (self.before, self.after))
        return f"the congestion window falls from {old} to {new}"


def find_falls(window: Curve, rtt_s: float) -> list[Fall]:
    """Find the falls of a window that last for at least a quarter of a round trip.

    Parameters
    ----------
    window : Curve
    rtt_s : float
        Median round trip.
    """
    if not len(window.begins) or not rtt_s:
        return []
    parts = window.average(float(window.begins[0]), window.end_s, rtt_s / 4)
    least, greatest = (np.nan_to_num(each, nan=fill) for each, fill in ((parts.least, np.inf), (parts.greatest, 0.0)))
    before = np.zeros(len(least))
    for back in range(1, 5):
        before[back:] = np.maximum(before[back:], greatest[:-back])
    found: list[Fall] = []
    until_s = -np.inf
    for place in np.flatnonzero(least < (1 - FALL) * before):
        end_s = float(parts.begins[place]) + rtt_s / 4
        if float(parts.begins[place]) <= until_s:
            # The same fall goes on.
            last = found[-1]
            found[-1] = Fall(last.time_s, last.before, min(last.after, float(least[place])))
        else:
            near = window.within((end_s - 1.5 * rtt_s, end_s))
            # A window that doubles in a round trip was low before its peak, too.
            peak = int(near.values.argmax()) if len(near.values) else 0
            low = peak + np.flatnonzero(near.values[peak:] < (1 - FALL) * before[place])
            at_s = float(near.begins[low[0]]) if len(low) else end_s
            found.append(Fall(at_s, float(before[place]), float(least[place])))
        until_s = end_s + rtt_s / 2
    return found


def list_states(result: RunResult, flow: str) -> Iterator[tuple[float, str, str]]:
    """List time, name in words, and reason of each state of the congestion control of a flow."""
    rows = result.series("cc_state", flow)
    for time_s, name, why in rows.select("time_s", "name", "why").iter_rows():
        if name not in QUIET:
            yield time_s, NAMES.get(name, name), why


def find_reason(result: RunResult, flow: str, fall: Fall, rtt_s: float) -> str | None:
    """Name the cause of a fall: an estimate of the congestion control, or a wait before it.

    Returns
    -------
    str or None
        A clause; None if no recorded series explains the fall.
    """
    since_s, until_s = max(0.0, fall.time_s - 2 * rtt_s), fall.time_s + rtt_s / 8
    found: list[tuple[float, str]] = []
    for name, words in ESTIMATES.items():
        curve = result.curve(name, flow)
        old, new = curve.find_value(since_s), curve.find_value(until_s)
        if new is None:
            continue
        said = formatting.quantity(new, unit("series", name))
        if old is None and "inflight" in name:
            found.append((0.0, f"{words} is set to {said}"))
        elif old and new < CHANGED * old:
            found.append((new / old, f"{words} falls from {formatting.quantity(old, unit('series', name))} to {said}"))
    if found:
        return min(found)[1]
    limits = result.series("limited_by", flow)
    opened = limits.filter((pl.col("time_s") - fall.time_s).abs() <= rtt_s / 4, pl.col("limited_by") == 1)
    if opened.height:
        return "a new connection begins with its initial window"
    limits = limits.filter(pl.col("time_s") < fall.time_s)
    if limits.height and limits["limited_by"][-1] == 5:
        wait = formatting.quantity(fall.time_s - limits["time_s"][-1], "s")
        return f"the application had sent nothing for {wait}, so the sender starts again with a small window"
    rtt, least = (
        result.curve("srtt_s", flow).find_value(fall.time_s),
        result.curve("cc_min_rtt_s", flow).find_value(fall.time_s),
    )
    if rtt and least and rtt > least:
        told = [formatting.quantity(each, "s") for each in (rtt, rtt - least)]
        return f"its round trip of {told[0]} has {told[1]} of waiting in queues, which it shortens"
    states = result.series("cc_state", flow).filter(pl.col("time_s") <= fall.time_s)
    return DELAYED.get(states["name"][-1]) if states.height else None


def tell(
    result: RunResult, flow: str, start_s: float, end_s: float, rtt_s: float
) -> Iterator[tuple[float, str, str, dict[str, float]]]:
    """List the states, and the falls that no state or event explains: time, kind, sentence and numbers of each.

    Parameters
    ----------
    start_s, end_s : float
        Window of time.
    rtt_s : float
        Median round trip of the flow.
    """
    rtt_s = max(rtt_s, 1e-3)
    window = result.curve("cwnd_bytes", flow).within((max(0.0, start_s - 2 * rtt_s), end_s + 2 * rtt_s))
    falls = find_falls(window, rtt_s)
    states = list(list_states(result, flow))
    for begin_s, name, why in states:
        fall = next((each for each in falls if -rtt_s / 4 <= each.time_s - begin_s <= 1.5 * rtt_s), None)
        numbers = {"cwnd_before_bytes": fall.before, "cwnd_after_bytes": fall.after} if fall else {}
        if start_s <= begin_s <= end_s:
            yield begin_s, "state", f"{name}: {why}" + (f"; {fall}" if fall else ""), numbers
    events = result.series("decisions", flow).filter(pl.col("event").is_in(REDUCING))["time_s"].to_list()
    told = np.array([*(begin_s for begin_s, *_ in states), *events])
    for fall in falls:
        is_told = bool(np.any((told <= fall.time_s + rtt_s / 4) & (told >= fall.time_s - 2 * rtt_s)))
        if start_s <= fall.time_s <= end_s and not is_told:
            why = find_reason(result, flow, fall, rtt_s) or UNKNOWN
            yield (
                fall.time_s,
                "fall",
                f"{fall}: {why}",
                {"cwnd_before_bytes": fall.before, "cwnd_after_bytes": fall.after},
            )

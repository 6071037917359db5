"""Reads the JSON of `irtt client -o`: delays and losses of each direction, in nanoseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.fitting import clocks
from bentpipe.fitting.faults import show_value
from bentpipe.fitting.measured import Measured, Second, make_probes
from bentpipe.fitting.readers.opening import number

if TYPE_CHECKING:
    from bentpipe.fitting.faults import Faults
    from bentpipe.fitting.measured import Probes
    from bentpipe.fitting.readers.opening import Asked, Source

FATES = {"false": "", "true": "?", "true_up": "up", "true_down": "down", False: "", True: "?"}


def recognises(source: Source) -> bool:
    """Whether it is JSON with round trips."""
    return source.has("round_trips")


def read(source: Source, asked: Asked, faults: Faults) -> Measured:
    """Read round trips. The upstream direction is the reverse one of the path."""
    content = source.json(faults, "round_trips")
    if content is None:
        return Measured()
    trips = content["round_trips"]
    if not isinstance(trips, list):
        faults.wrong(source.name, f"round_trips is {show_value(trips)}", "expected a list")
        return Measured()
    before = faults.count
    notes: list[str] = []
    rows = [_row(f"{source.name}: round_trips[{place}]", trip, faults) for place, trip in enumerate(trips)]
    if faults.count > before or not rows:
        if not rows:
            faults.wrong(source.name, "round_trips is empty", "expected at least 100 round trips")
        return Measured()
    send_s, rtt_s, up_s, down_s = np.array([row[:4] for row in rows]).T
    fates = np.array([row[4] for row in rows])
    # A lost probe without a stamp was sent between its neighbours.
    known = np.isfinite(send_s)
    if known.sum() < 2:
        faults.wrong(source.name, "no round trip has the time of sending", "expected timestamps.client.send.wall")
        return Measured()
    places = np.arange(len(send_s))
    send_s = np.where(known, send_s, np.interp(places, places[known], send_s[known]))
    more: dict[str, Any] = {}
    if set(fates) & {"up", "down"}:
        more |= {"lost_forward": fates == "down", "lost_reverse": fates == "up"}
    if np.isfinite(up_s).any() and np.isfinite(down_s).any():
        drift = clocks.find_drift(send_s, up_s, send_s, down_s)
        if drift:
            since_s = send_s - send_s[0]
            up_s, down_s = up_s - drift * since_s, down_s + drift * since_s
            notes.append(
                f"{source.name}: the clocks drift by {1e6 * drift:.3g} ppm, "
                f"{1e3 * drift * since_s[-1]:.3g} ms during the record; removed"
            )
        offset_s = (np.nanmin(up_s) - np.nanmin(down_s)) / 2
        notes.append(
            f"{source.name}: clocks differ by {1e3 * offset_s:.3g} ms if both directions have the same minimum"
        )
        more |= {"reverse_s": up_s - offset_s, "forward_s": down_s + offset_s}
    probes = make_probes(source.name, send_s, rtt_s, faults, are_arrivals=False, notes=notes, **more)
    return Measured(probes=probes, notes=notes, seconds=_second(source.name, content, probes))


def _second(name: str, content: dict[str, Any], probes: list[Probes]) -> list[Second]:
    """Return the file's own statistics beside those of its rows."""
    stats, found = content.get("stats"), []
    for probes_ in probes:
        median = number(_find_value(stats, "rtt", "median")) / 1e9
        sent, got = (number(_find_value(stats, key)) for key in ("packets_sent", "packets_received"))
        found = [Second(name, "rtt p50", "s", float(np.nanmedian(probes_.rtt_s)), median)]
        found.append(Second(name, "loss", "1", float(probes_.is_lost.mean()), 1 - got / sent if sent else np.nan))
    return found


def _row(place: str, trip: Any, faults: Faults) -> tuple[float, float, float, float, str]:
    """Return send time, round trip, both one-way delays in seconds, and the fate."""
    if not isinstance(trip, dict):
        faults.wrong(place, show_value(trip), "expected an object")
        return (np.nan,) * 4 + ("",)
    lost = trip.get("lost")
    fate = FATES.get(lost) if isinstance(lost, (str, bool)) else None
    if fate is None:
        faults.wrong(place, f"lost is {show_value(lost)}", "expected true, false, true_up or true_down")
        return (np.nan,) * 4 + ("",)
    send_s = number(_find_value(trip, "timestamps", "client", "send", "wall")) / 1e9
    if fate:
        return send_s, np.nan, np.nan, np.nan, fate
    rtt = number(_find_value(trip, "delay", "rtt"))
    if not rtt > 0:
        faults.wrong(
            place, f"delay.rtt is {show_value(_find_value(trip, 'delay', 'rtt'))}", "expected nanoseconds above 0"
        )
    up, down = number(_find_value(trip, "delay", "send")), number(_find_value(trip, "delay", "receive"))
    return send_s, rtt / 1e9, up / 1e9, down / 1e9, ""


def _find_value(content: Any, *keys: str) -> Any:
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content

"""Reads the output of `ping`, best with `-D`: each stamp is the arrival of the answer."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.fitting.faults import show_value
from bentpipe.fitting.measured import PROBES_MIN, SEQUENCE, Measured, Second, by_number, make_probes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bentpipe.fitting.faults import Faults
    from bentpipe.fitting.measured import Array, Probes
    from bentpipe.fitting.readers.opening import Asked, Source

TIME = ("time", "temps", "Zeit", "tiempo", "tempo", "tid", "czas", "время", "時間", "时间")
"""Word of the round trip in the languages of iputils."""
ANSWER = re.compile(
    r"(?:\[(?P<stamp>[^\]]*)\] )?.*\b(?:icmp_)?seq[=:](?P<number>\d{1,9})\b"
    rf".*?\b(?:{'|'.join(TIME)})[=<](?P<value>\S+?) ?(?P<unit>[a-zµ]*)"
    r"(?P<twice> \(DUP!\))?(?: \((?:DIFFERENT ADDRESS!|truncated)\))?\s*$"
)
TRANSMITTED = re.compile(
    r"(\d{1,9}) (?:packets transmitted|paquets transmis|Pakete übertragen|paquetes transmitidos|pacchetti trasmessi),"
    r" (?P<got>\d{1,9})\b.*?(?:(?:time|temps|Zeit|tiempo|tempo) (\d{1,12}) ?ms)?\s*$"
)
# Routers with BusyBox print `seq`.
AGAIN = 20
"""Numbers up to this one are of the begin of a ping."""
JUMP_S, HOLE_S = 1.0, 60.0
"""Step back of a clock, and time without a probe, in seconds, that are named."""
HOLES_SHOWN = 3
MARK = re.compile(r"\b(?:icmp_)?seq[=:]\d")
UNITS = {"ms": 1e-3, "s": 1.0, "us": 1e-6, "µs": 1e-6, "usec": 1e-6}
LOST = re.compile(
    r"^(\[[^\]]*\] )?(From |De |Von |Desde |Da |no answer yet|Request timeout)|nreachable|Time to live exceeded"
)
"""Lines about a probe without an answer, as from a router."""


def recognises(source: Source) -> bool:
    """Whether a line of the beginning has the number of a probe."""
    return any(MARK.search(line) for line in source.head())


def read(source: Source, asked: Asked, faults: Faults) -> Measured:
    """Read answers. Missing numbers are lost probes."""
    numbers: list[int] = []
    stamps: list[float] = []
    rtts: list[float] = []
    sent, got, took_s = 0, 0, 0.0
    notes: list[str] = []
    lines = list(source.lines())
    if lines and not source.text.endswith("\n") and MARK.search(lines[-1][1]) and not _is_whole(lines[-1][1]):
        # A ping that was killed ends in the middle of a line.
        notes.append(f"{source.name}: the last line is cut; left out")
        lines.pop()
    for line, text in lines:
        if (total := TRANSMITTED.search(text)) is not None:
            sent, got, took_s = int(total[1]), int(total["got"]), float(total[3] or 0) / 1e3
        if not MARK.search(text) or LOST.search(text):
            continue
        found = ANSWER.match(text)
        place = f"{source.name}:{line}"
        if found is None:
            faults.wrong(place, f"{show_value(text)}", "expected an answer: icmp_seq=1 ttl=64 time=17.8 ms")
            continue
        if found["twice"]:
            continue
        stamp, rtt_s = _stamp(found["stamp"], place, faults), _rtt(found["value"], found["unit"], place, faults)
        numbers.append(int(found["number"]))
        stamps.append(stamp)
        rtts.append(rtt_s)
    if faults.count or not numbers:
        if not faults.count:
            faults.wrong(source.name, "no answer of a probe", "expected lines with icmp_seq=1 ttl=64 time=17.8 ms")
        return Measured()
    counted, times, round_trips = np.array(numbers), np.array(stamps), np.array(rtts)
    are_made = False
    if np.isnan(times).all():
        interval_s = asked.interval_s or (took_s / (sent - 1) if took_s and sent > 1 else 0.0)
        if interval_s <= 0:
            faults.wrong(
                source.name,
                "the answers have no time stamps",
                "expected the output of ping -D, or the time between probes (--interval 10ms, or interval in Python)",
            )
            return Measured()
        notes.append(f"{source.name}: without time stamps, probes are {interval_s:.3g} s apart (ping -D has stamps)")
        # Only their numbers have an order, so answers that overtake each other go back in no time.
        order = np.argsort(counted, kind="stable")
        counted, round_trips = counted[order], round_trips[order]
        times = counted * interval_s + round_trips
        are_made = True
    elif np.isnan(times).any():
        faults.wrong(source.name, "some answers have no time stamp", "expected the output of one ping -D")
        return Measured()
    # Several pings may be appended to one file: their numbers begin again.
    starts = [0, *(np.flatnonzero((np.diff(counted) < -AGAIN) & (counted[1:] <= AGAIN)) + 1), len(counted)]
    runs = [slice(low, high) for low, high in pairwise(starts) if not _repeats(counted[low - 1 : low + 1])]
    runs = runs if len(starts) - 1 == len(runs) else [slice(0, len(counted))]
    if len(runs) > 1:
        notes.append(f"{source.name}: {len(runs)} pings, one behind the other")
    probes: list[Probes] = []
    for run in runs:
        numbers_, arrived, trips = counted[run], times[run], round_trips[run]
        sent_s = _without_jumps(source.name, numbers_, arrived - trips, notes)
        # Checked before numbers bring the answers into order.
        given = (source.name, sent_s if are_made else sent_s + trips, trips, faults)
        if not make_probes(*given, are_arrivals=not are_made, notes=notes):
            return Measured(notes=notes)
        is_last = run is runs[-1]
        first, last = int(numbers_.min()), int(numbers_.max())
        trailing = max(0, sent - (last - first + 1)) if sent <= 1 << 16 and is_last else 0
        send_s, all_rtts = by_number(source.name, numbers_, sent_s, trips, trailing, faults)
        # A busy host prints some stamps late. Probes are sent in the order of their numbers.
        send_s = np.maximum.accumulate(send_s)
        probes += make_probes(source.name, send_s, all_rtts, faults, are_arrivals=False, notes=notes)
    seconds = []
    if sent and len(runs) == 1 and probes:
        ratio = float(probes[0].is_lost.mean())
        seconds = [Second(source.name, "loss", "1", ratio, 1 - min(got / sent, 1.0))]
    return Measured(probes=probes, notes=notes, seconds=seconds)


def _repeats(numbers: NDArray[np.int64]) -> bool:
    """Whether a number of 16 bits has begun again."""
    return len(numbers) == 2 and numbers[0] - numbers[1] > SEQUENCE // 2


def _without_jumps(source: str, numbers: NDArray[np.int64], send_s: Array, notes: list[str]) -> Array:
    """Return send times without steps back of the clock, and name all steps."""
    if len(numbers) < PROBES_MIN:
        return send_s
    steps = (np.diff(numbers) + SEQUENCE // 2) % SEQUENCE - SEQUENCE // 2
    apart = np.diff(send_s)
    if not (steps > 0).any():
        return send_s
    spacing = float(np.median(apart[steps > 0] / steps[steps > 0]))
    jumps = apart - steps * spacing
    # Late answers change places by their round trips.
    back = jumps < -max(JUMP_S, 10 * spacing)
    is_step = back & (steps > 0) & (steps < AGAIN) & (apart < 0)
    if is_step.any():
        notes.append(f"{source}: the clock goes back by {-jumps[is_step].sum():.3g} s; the times were moved")
        send_s = send_s.copy()
        send_s[1:] -= np.cumsum(np.where(is_step, jumps, 0.0))
    ahead = jumps > max(HOLE_S, 100 * spacing)
    for at in np.flatnonzero(ahead)[:HOLES_SHOWN]:
        notes.append(
            f"{source}: {jumps[at]:,.0f} s without a probe before number {numbers[at + 1]}; a pause, or a clock"
        )
    return send_s


def _is_whole(text: str) -> bool:
    found = ANSWER.match(text)
    return found is not None and found["unit"] in UNITS


def _stamp(text: str | None, place: str, faults: Faults) -> float:
    """Return a stamp of `ping -D`; NaN without one."""
    if text is None:
        return np.nan
    if not re.fullmatch(r"\d{1,12}(\.\d{1,9})?", text):
        faults.wrong(place, f"time stamp {show_value(text)}", "expected Unix time in seconds: [1734546419.041]")
        return np.nan
    return float(text)


def _rtt(text: str, unit: str, place: str, faults: Faults) -> float:
    """Return a round trip in seconds."""
    if unit not in UNITS:
        faults.wrong(
            place, f"round trip {show_value(text)} {show_value(unit)}".rstrip(), "expected a unit: time=17.8 ms"
        )
        return np.nan
    text = text.replace(",", ".")
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) or float(text) <= 0:
        faults.wrong(place, f"round trip {show_value(text)} {unit}", "expected a number above 0")
        return np.nan
    return float(text) * UNITS[unit]

"""Reads the output of `ping`, best with `-D`: each stamp is the arrival of the answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.fitting.faults import show_value
from bentpipe.fitting.measured import Measured, by_number, make_probes

if TYPE_CHECKING:
    from bentpipe.fitting.faults import Faults
    from bentpipe.fitting.readers.opening import Asked, Source

ANSWER = re.compile(
    r"(?:\[(?P<stamp>[^\]]*)\] )?.*\b(?:icmp_)?seq[=:](?P<number>\d{1,9})\b"
    r".*?\btime[=<](?P<value>\S+?) ?(?P<unit>[a-zµ]*)"
    r"(?P<twice> \(DUP!\))?(?: \((?:DIFFERENT ADDRESS!|truncated)\))?\s*$"
)
TRANSMITTED = re.compile(r"(\d{1,9}) packets transmitted,.*?(?:time (\d{1,12})ms)?\s*$")
# Routers with BusyBox print `seq`.
MARK = re.compile(r"\b(?:icmp_)?seq[=:]\d")
UNITS = {"ms": 1e-3, "s": 1.0, "us": 1e-6, "µs": 1e-6, "usec": 1e-6}
LOST = re.compile(r"^(\[[^\]]*\] )?(From |no answer yet|Request timeout)|nreachable|Time to live exceeded")
"""Lines about a probe without an answer, as from a router."""


def recognises(source: Source) -> bool:
    """Whether a line of the beginning has the number of a probe."""
    return any(MARK.search(line) for line in source.head())


def read(source: Source, asked: Asked, faults: Faults) -> Measured:
    """Read answers. Missing numbers are lost probes."""
    numbers: list[int] = []
    stamps: list[float] = []
    rtts: list[float] = []
    sent, took_s = 0, 0.0
    notes: list[str] = []
    lines = list(source.lines())
    if lines and not source.text.endswith("\n") and MARK.search(lines[-1][1]) and not _is_whole(lines[-1][1]):
        # A ping that was killed ends in the middle of a line.
        notes.append(f"{source.name}: the last line is cut; left out")
        lines.pop()
    for line, text in lines:
        if (total := TRANSMITTED.search(text)) is not None:
            sent, took_s = int(total[1]), float(total[2] or 0) / 1e3
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
    if np.isnan(times).all():
        interval_s = asked.interval_s or (took_s / (sent - 1) if took_s and sent > 1 else 0.0)
        if interval_s <= 0:
            faults.wrong(
                source.name,
                "the answers have no time stamps",
                "expected the output of ping -D, or the interval of the probes: `interval`",
            )
            return Measured()
        notes.append(f"{source.name}: without time stamps, probes are {interval_s:.3g} s apart (ping -D has stamps)")
        times = counted * interval_s + round_trips
    elif np.isnan(times).any():
        faults.wrong(source.name, "some answers have no time stamp", "expected the output of one ping -D")
        return Measured()
    # Checked before numbers bring the answers into order.
    checked = make_probes(source.name, times, round_trips, faults, are_arrivals=True, notes=notes)
    if not checked:
        return Measured(notes=notes)
    trailing = max(0, sent - (int(counted.max()) - int(counted.min()) + 1)) if sent <= 1 << 16 else 0
    send_s, all_rtts = by_number(source.name, counted, times - round_trips, round_trips, trailing, faults)
    probes = make_probes(source.name, send_s, all_rtts, faults, are_arrivals=False, notes=notes)
    return Measured(probes=probes, notes=notes)


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
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) or float(text) <= 0:
        faults.wrong(place, f"round trip {show_value(text)} {unit}", "expected a number above 0")
        return np.nan
    return float(text) * UNITS[unit]

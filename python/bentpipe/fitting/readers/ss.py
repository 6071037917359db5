"""Reads repeated `ss -tin`: a line with the Unix time, then the state of connections."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from bentpipe import formatting
from bentpipe.catalog import names
from bentpipe.fitting.faults import show_value
from bentpipe.fitting.measured import HEADERS, INTERVALS_MIN, VERSION_6, Load, Measured, in_order

if TYPE_CHECKING:
    from bentpipe.fitting.faults import Faults
    from bentpipe.fitting.readers.opening import Asked, Source

TIME = re.compile(r"\s*(\d{9,11}(?:\.\d{1,9})?)\s*$")
ENDS = re.compile(r"\s*(?:[A-Z][A-Z0-9-]*\s+)?\d+\s+\d+\s+(\S+:\S+)\s+(\S+:\S+)")
"""Addresses and ports of both ends. The numbers before them, of waiting bytes, change."""
STATE = re.compile(r"\bcwnd:\d")
FIELDS = {
    "cwnd": re.compile(r"\bcwnd:(\d{1,9})\b"),
    "mss": re.compile(r"\bmss:(\d{1,6})\b"),
    "rtt": re.compile(r"\brtt:(\d{1,9}(?:\.\d{1,9})?)/"),
    "acked": re.compile(r"\bbytes_acked:(\d{1,18})\b"),
    "retransmitted": re.compile(r"\bretrans:\d{1,9}/(\d{1,12})\b"),
}
KERNELS = {"bbr", "westwood"}
"""Names of congestion controls in the kernel that differ from those of the engine."""
NEEDED = ("cwnd", "mss", "rtt")
HOW = "expected the output of date +%s.%N and of ss -tin, in turn"


def recognises(source: Source) -> bool:
    """Whether a line of the beginning has the state of a connection."""
    return any(STATE.search(line) for line in source.head())


def read(source: Source, asked: Asked, faults: Faults) -> Measured:
    """Read the connection with the most acknowledged bytes. `ss` prints round trips in milliseconds."""
    before, known = faults.count, KERNELS.union(names("cc"))
    rows: dict[str, list[tuple[float, ...]]] = {}
    moment, connection = np.nan, ""
    senders: dict[str, str] = {}
    notes: list[str] = []
    for line, text in source.lines():
        # Only tells connections of the file apart; it is written nowhere.
        if ends := ENDS.match(text):
            connection = " ".join(ends.groups())
        if found := TIME.match(text):
            moment = float(found[1])
        elif STATE.search(text):
            if np.isnan(moment):
                faults.wrong(f"{source.name}:{line}", "no time before the state of a connection", HOW)
                break
            row = _row(f"{source.name}:{line}", text, faults)
            rows.setdefault(connection, []).append((moment, *row))
            if name := next((word for word in text.split() if word in known), ""):
                senders[connection] = name
    chosen = max(rows, key=lambda each: (rows[each][-1][4], len(rows[each])), default="")
    states = rows.get(chosen, [])
    if faults.count > before:
        return Measured()
    if len(states) <= INTERVALS_MIN:
        faults.wrong(
            source.name, formatting.count(len(states), "state") + " of a connection", f"expected above {INTERVALS_MIN}"
        )
        return Measured()
    times, cwnd, mss, rtt, acked, retransmitted = np.array(states).T
    order = in_order(times, source.name, faults, notes)
    times, cwnd, mss, rtt, acked, retransmitted = (
        each[order] for each in (times, cwnd, mss, rtt, acked, retransmitted)
    )
    steps, carried = np.diff(times), np.diff(acked)
    kept = (steps > 0) & (carried >= 0)
    if np.isnan(carried).all() or kept.sum() < INTERVALS_MIN:
        faults.wrong(source.name, "the states have no bytes_acked that grows", HOW)
        return Measured()
    if len(rows) > 1:
        notes.append(f"{source.name}: of {len(rows)} connections, the one with most acknowledged bytes")
    notes.append(f"{source.name}: the transfer is taken as {asked.direction} (`direction`)")
    load = Load(
        times[:-1][kept],
        steps[kept],
        carried[kept],
        source.name,
        asked.direction,
        srtt_s=rtt[1:][kept] * 1e-3,
        cwnd_bytes=(cwnd * mss)[1:][kept],
        retransmits=np.maximum(np.diff(retransmitted), 0)[kept],
        mss=int(np.median(mss)),
        cc=senders.get(chosen),
        headers=HEADERS["tcp"] + VERSION_6 * ("]:" in chosen and "[::ffff:" not in chosen),
    )
    return Measured(loads=[load], notes=notes)


def _row(place: str, text: str, faults: Faults) -> list[float]:
    """Return the fields of a state."""
    values = []
    for name, pattern in FIELDS.items():
        found = pattern.search(text)
        if found is None and name in NEEDED:
            faults.wrong(place, f"no valid {name} in {show_value(text)}", "expected cwnd:10, mss:1448 and rtt:50.1/2")
        missing = 0.0 if name == "retransmitted" else np.nan
        values.append(float(found[1]) if found else missing)
    return values

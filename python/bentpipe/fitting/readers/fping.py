"""Reads the output of `fping -D`. Time stamps are of the arrival of the answer, and numbers begin with 0."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.fitting.faults import show_value
from bentpipe.fitting.measured import Measured, Second, by_number, make_probes

if TYPE_CHECKING:
    from bentpipe.fitting.faults import Faults
    from bentpipe.fitting.readers.opening import Asked, Source

ROW = re.compile(
    r"(?:\[(?P<stamp>\d{1,12}(?:\.\d{1,9})?)\] )?(?P<host>\S+)\s+: \[(?P<number>\d{1,9})\], "
    r"(?:(?P<size>\d{1,6}) bytes, (?P<ms>\d{1,9}(?:\.\d{1,6})?) ms|timed out)\b.*"
)
TOTAL = re.compile(r"(?P<host>\S+)\s+: xmt/rcv/%loss = (?P<sent>\d{1,9})/(?P<got>\d{1,9})/")


def recognises(source: Source) -> bool:
    """Whether a line of the beginning has the form of an answer."""
    return any(ROW.match(line) for line in source.head())


def read(source: Source, asked: Asked, faults: Faults) -> Measured:
    """Read the answers of one host. Missing numbers are lost probes."""
    rows: dict[str, list[tuple[int, float, float]]] = {}
    totals: dict[str, tuple[int, int]] = {}
    for line, text in source.lines():
        if (total := TOTAL.match(text)) is not None:
            totals[total["host"]] = int(total["sent"]), int(total["got"])
        if (found := ROW.match(text)) is None:
            continue
        if found["ms"] is None:
            rows.setdefault(found["host"], [])
            continue
        if found["stamp"] is None:
            faults.wrong(
                f"{source.name}:{line}", f"no time stamp: {show_value(text)}", "expected fping -D -l -p 10 HOST"
            )
            return Measured()
        answer = int(found["number"]), float(found["stamp"]), float(found["ms"]) / 1e3
        rows.setdefault(found["host"], []).append(answer)
    if len(rows) > 1:
        faults.wrong(
            source.name,
            f"answers of {len(rows)} hosts",
            "expected one path: fping -D -l -p 10 HOST, a file for each host",
        )
        return Measured()
    host, answers = next(iter(rows.items()), ("", []))
    if not answers:
        faults.wrong(
            source.name, "no answer of a probe", "expected lines as of fping -D: [1732571000.23] HOST : [0], ..."
        )
        return Measured()
    numbers, stamps, trips = (np.array(column) for column in zip(*answers, strict=True))
    notes: list[str] = []
    # Checked before numbers bring the answers into order.
    if not make_probes(source.name, stamps, trips, faults, are_arrivals=True, notes=notes):
        return Measured(notes=notes)
    sent, got = totals.get(host, (0, 0))
    trailing = max(0, sent - (int(numbers.max()) + 1))
    send_s, rtt_s = by_number(source.name, numbers, stamps - trips, trips, trailing, faults)
    # A busy host prints some stamps late. Probes are sent in the order of their numbers.
    send_s = np.maximum.accumulate(send_s)
    probes = make_probes(source.name, send_s, rtt_s, faults, are_arrivals=False, notes=notes)
    seconds = [Second(source.name, "loss", "1", float(each.is_lost.mean()), 1 - got / sent) for each in probes if sent]
    return Measured(probes=probes, notes=notes, seconds=seconds)

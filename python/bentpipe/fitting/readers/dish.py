"""Reads the history of a Starlink dish: CSV with the round trip to the point of presence and used rates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.fitting.measured import Measured, make_probes
from bentpipe.fitting.readers import table
from bentpipe.fitting.readers.opening import number

if TYPE_CHECKING:
    from bentpipe.fitting.faults import Faults
    from bentpipe.fitting.readers.opening import Asked, Source

LATENCY, DROPS = "pop_ping_latency", "pop_ping_drop_rate"
HISTORY = "dishGetHistory"
"""Part of the answer of the dish, as grpcurl prints it."""


def recognises(source: Source) -> bool:
    """Whether the first line has the dish's name for the round trip, or the file is the dish's answer to a request."""
    head = next(iter(source.head(1)), "")
    return (LATENCY in head and table.recognises(source)) or source.has(HISTORY)


def read(source: Source, asked: Asked, faults: Faults) -> Measured:
    """Read round trips at their send times. Rates are left out: they are the traffic, not the capacity."""
    if source.has(HISTORY):
        return _read_history(source, faults)
    found = table.read(source, replace(asked, stamps="send"), faults)
    if found.loads:
        found.loads.clear()
        found.notes.append(f"{source.name}: rates of a dish are the used rates, not the capacity; left out")
    found.probes = [replace(each, has_losses=False) for each in found.probes]
    if DROPS in source.text[: source.text.find("\n")]:
        found.notes.append(
            f"{source.name}: a drop rate is a share of the pings of a second, so no single loss is known"
        )
    return found


def _read_history(source: Source, faults: Faults) -> Measured:
    """Read the ring of the last seconds. Its end is `current`, a count of seconds."""
    content = source.json(faults, HISTORY)
    history = None if content is None else content[HISTORY]
    if content is None or not isinstance(history, dict):
        return Measured()
    given = history.get("popPingLatencyMs")
    current = history.get("current")
    if not isinstance(given, list) or not str(current).isdigit():
        faults.wrong(source.name, "no popPingLatencyMs or no current", "expected the answer of get_history")
        return Measured()
    trips = np.roll([number(each) for each in given], -(int(str(current)) % max(len(given), 1))) / 1e3
    seconds = np.arange(len(trips), dtype=np.float64)
    # A second without an answer has 0.
    known = trips > 0
    notes = [f"{source.name}: the history of the dish has a mean per second, and no time of day"]
    probes = make_probes(
        source.name, seconds[known], trips[known], faults, are_arrivals=False, notes=notes, has_losses=False
    )
    return Measured(probes=probes, notes=notes)

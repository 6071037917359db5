"""Reads the history of a Starlink dish: CSV with the round trip to the point of presence and used rates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bentpipe.fitting.readers import table

if TYPE_CHECKING:
    from bentpipe.fitting.faults import Faults
    from bentpipe.fitting.measured import Measured
    from bentpipe.fitting.readers.opening import Asked, Source

LATENCY = "pop_ping_latency"


def recognises(source: Source) -> bool:
    """Whether the first line has the dish's name of the round trip."""
    head = next(iter(source.head(1)), "")
    return LATENCY in head and table.recognises(source)


def read(source: Source, asked: Asked, faults: Faults) -> Measured:
    """Read round trips at their send times. Rates are left out: they are the used rates."""
    found = table.read(source, replace(asked, stamps="send"), faults)
    if found.loads:
        found.loads.clear()
        found.notes.append(f"{source.name}: rates of a dish are the used rates, not the capacity; left out")
    found.probes = [replace(each, has_losses=False) for each in found.probes]
    return found

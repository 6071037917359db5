"""Readers of measurements, one module per kind of file, and the choice between them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import files
from bentpipe.catalog import unknown
from bentpipe.errors import FitError
from bentpipe.fitting.faults import show_value
from bentpipe.fitting.measured import Measured
from bentpipe.fitting.readers import dish, flent, fping, iperf3, irtt, pcap, ping, ss, summaries, table
from bentpipe.fitting.readers.opening import Source, Stream
from bentpipe.own.plugins import READERS, find_package, find_plugin, list_plugins

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from bentpipe.fitting.faults import Faults
    from bentpipe.fitting.measured import Load
    from bentpipe.fitting.readers.opening import Asked

    Reader = Callable[[Source, Asked, Faults], Measured]

TEXTS: dict[str, Any] = {
    "ping": ping,
    "fping": fping,
    "irtt": irtt,
    "flent": flent,
    "iperf3": iperf3,
    "ss": ss,
    "dish": dish,
    "csv": table,
}
"""Modules of texts by kind, in the order in which they look at a file. Each has `recognises` and `read`."""
MODULES: dict[str, Any] = {**TEXTS, "pcap": pcap}
"""Modules by kind."""
KINDS = (*MODULES,)
RATE_MAX_BPS = 10e9


def read(path: str | os.PathLike[str], kind: str | None, asked: Asked, faults: Faults) -> Measured:
    """Read one file. Faults of its content are added to `faults`."""
    if kind is not None and kind not in KINDS and (convert := find_plugin(kind, READERS)) is not None:
        return _read_with_plugin(Path(path), kind, convert, asked, faults)
    if kind is not None and kind not in KINDS:
        raise FitError(unknown(kind, "a kind of measurement", [*KINDS, *list_plugins(READERS)]))
    place = Path(path)
    try:
        with place.open("rb") as file:
            found = _read(Stream(place.name, file), kind, asked, faults)
    except OSError as error:
        faults.wrong(str(place), f"cannot be read: {files.reason(error)}", "expected a file of a measurement")
        return Measured()
    found.loads = [load for load in found.loads if _is_load(load, faults, found.notes)]
    return found


def _read_with_plugin(path: Path, kind: str, convert: Callable[[bytes], str], asked: Asked, faults: Faults) -> Measured:
    """Read a file that a package converts to CSV."""
    try:
        with path.open("rb") as file:
            source = Stream(path.name, file).whole(asked, faults)
    except OSError as error:
        faults.wrong(str(path), f"cannot be read: {files.reason(error)}", "expected a file of a measurement")
        return Measured()
    if source is None:
        return Measured()
    try:
        text = convert(source.content)
    except Exception as error:
        raise FitError(
            f"{kind} of {find_package(convert)} cannot read {path.name}: {type(error).__name__}: {error}\n"
            f"  expected a file of {kind}"
        ) from error
    if not isinstance(text, str):
        raise FitError(
            f"{kind} of {find_package(convert)} returns {type(text).__name__}\n  expected CSV, as text with a head"
        )
    found = table.read(Source(source.name, text.encode()), asked, faults)
    found.kind = kind
    return found


def _read(stream: Stream, kind: str | None, asked: Asked, faults: Faults) -> Measured:
    if kind == "pcap" or (kind is None and pcap.recognises(stream)):
        captured = pcap.read(stream, asked, faults)
        captured.kind = "pcap"
        return captured
    source = stream.whole(asked, faults)
    if source is None:
        return Measured()
    if pcap.recognises(stream):
        faults.wrong(source.name, "a packet capture", f"expected the record of {kind}; a capture has the kind pcap")
        return Measured()
    # A CSV may have any names, so it is the last.
    known = (*(each for each in TEXTS.values() if each is not table), summaries, table)
    module = TEXTS[kind] if kind else next((each for each in known if each.recognises(source)), None)
    if module is None:
        faults.wrong(
            source.name,
            f"unknown format, begins with {show_value(repr(source.content[:24].decode(errors='backslashreplace')))}",
            f"expected one of: {', '.join(KINDS)}",
        )
        return Measured()
    found: Measured = module.read(source, asked, faults)
    found.kind = next((name for name, each in TEXTS.items() if each is module), "")
    return found


def _is_load(load: Load, faults: Faults, notes: list[str]) -> bool:
    """Whether a transfer has carried data. A rate that no satellite path has is a fault."""
    mean_bps = float(8 * load.bytes.sum() / load.interval_s.sum()) if len(load.bytes) else 0.0
    if mean_bps > RATE_MAX_BPS:
        faults.wrong(
            load.source,
            f"the mean rate is {mean_bps:.3g} bit/s",
            f"expected at most {RATE_MAX_BPS / 1e9:g} Gbit/s; check the unit",
        )
    if mean_bps == 0:
        notes.append(f"{load.source}: a transfer {load.way} carried no data; left out")
    return mean_bps > 0

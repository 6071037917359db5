"""Reads CSV. The name of each column ends in its unit. For other columns, the user must give the unit."""

from __future__ import annotations

import csv
import io
import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.fitting.faults import show_value
from bentpipe.fitting.measured import HEADERS, INTERVALS_MIN, Load, Measured, by_number, in_order, make_probes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.fitting.faults import Faults
    from bentpipe.fitting.measured import Array
    from bentpipe.fitting.readers.opening import Asked, Source

TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
RATES = {"bps": 1.0, "kbps": 1e3, "mbps": 1e6, "gbps": 1e9}
RATES |= {"Bps": 8.0, "kBps": 8e3, "KBps": 8e3, "MBps": 8e6, "GBps": 8e9}
SIZES = {"bytes": 1.0, "kb": 1e3, "mb": 1e6, "kib": 1024.0, "mib": 1048576.0}
COUNTS = {"": 1.0}
MEANINGS: dict[str, tuple[tuple[str, ...], dict[str, float]]] = {
    "time": (
        ("t", "time", "t_utc", "time_utc", "utc", "timestamp", "unix", "epoch", "t_unix", "datetimestamp_utc"),
        TIMES,
    ),
    "send": (("sent", "send", "t_send", "t_sent", "send_time"), TIMES),
    "arrival": (("received", "arrival", "t_arrival", "t_received", "recv"), TIMES),
    "rtt": (("rtt", "latency", "ping", "delay", "pop_ping_latency", "round_trip"), TIMES),
    "seq": (("seq", "icmp_seq", "seqno", "sequence"), COUNTS),
    "download": (("download", "downlink", "down", "dl", "downlink_throughput"), RATES),
    "upload": (("upload", "uplink", "up", "ul", "uplink_throughput"), RATES),
    "rate": (("rate", "throughput", "goodput", "bandwidth"), RATES),
    "bytes": (("", "transferred", "sent_bytes", "size"), SIZES),
    "interval": (("interval", "duration"), TIMES),
    "srtt": (("srtt",), TIMES),
    "cwnd": (("cwnd", "snd_cwnd"), SIZES),
    "retransmits": (("retransmits", "retransmissions", "retr", "retrans"), COUNTS),
    "mss": (("mss",), SIZES),
    "lost": (("lost", "lost_packets"), COUNTS),
    "packets": (("packets",), COUNTS),
}
"""Names without their unit, and the units, of each meaning."""
DECIMAL = re.compile(r"(?<=\d),(?=\d+$)")
STAMPS = ("time", "send", "arrival")
RATED = ("download", "upload", "rate")
UNIT_EXPECTED = "expected a name with a unit, such as {0}_{1}, or the unit in `columns`: {0}={1}"
EXAMPLES = {id(TIMES): "ms", id(RATES): "mbps", id(SIZES): "bytes", id(COUNTS): ""}


def recognises(source: Source) -> bool:
    """Whether the first line has names with commas between them."""
    head = next(iter(source.head(1)), "")
    return ("," in head or ";" in head) and re.match(r"^\s*\"?[A-Za-z#]", head) is not None and not source.is_json


def read(source: Source, asked: Asked, faults: Faults) -> Measured:
    """Read probes, loads, or both, by the meanings of the columns."""
    before = faults.count
    notes: list[str] = []
    names, rows = _rows(source, faults)
    asked.seen.update(names)
    columns = meanings(source.name, names, asked.columns, faults, notes)
    if faults.count > before:
        return Measured()
    stamp = next((each for each in STAMPS if each in columns), None)
    measured = [each for each in ("rtt", "bytes", *RATED) if each in columns]
    if stamp is None or not measured:
        lacks = "a time" if stamp is None else "a measured quantity"
        faults.wrong(
            f"{source.name}:1",
            f"no column has {lacks}, among {show_value(', '.join(names))}",
            "expected t_s and rtt_ms, or t_s and download_mbps, or t_s, interval_s and bytes; see `columns`",
        )
        return Measured()
    values = {
        meaning: _column(source.name, meaning, names[place], place, factor, rows, faults)
        for meaning, (place, factor) in columns.items()
    }
    if faults.count > before:
        return Measured()
    found = Measured(notes=notes)
    if "rtt" in values:
        found.probes = _probes(source.name, stamp, values, asked, faults, notes)
    if measured != ["rtt"]:
        found.loads = _loads(source.name, values[stamp], values, asked, faults, notes)
    return found


def meanings(
    source: str, names: Sequence[str], given: Mapping[str, str], faults: Faults, notes: list[str]
) -> dict[str, tuple[int, float]]:
    """Find the column of each meaning, and the size of its unit. Columns with other names are left out."""
    found: dict[str, tuple[int, float]] = {}
    left = []
    for place, name in enumerate(names):
        meaning, factor = _meaning(source, name, given.get(name), faults)
        if meaning is None:
            left.append(name)
        elif meaning in found:
            other = names[found[meaning][0]]
            faults.wrong(
                f"{source}:1", f"two columns of {meaning}: {show_value(other)}, {show_value(name)}", "expected one"
            )
        elif factor is not None:
            found[meaning] = place, factor
    if left:
        notes.append(f"{source}: columns without a known meaning: {show_value(', '.join(left))}")
    return found


def _meaning(source: str, name: str, given: str | None, faults: Faults) -> tuple[str | None, float | None]:
    """Return the meaning of a column, and the size of its unit in seconds, bit/s or bytes."""
    plain = name.strip().lower()
    if given is not None:
        meaning, _, unit = given.rpartition(":")
        meaning = meaning or next((each for each, (stems, _) in MEANINGS.items() if plain in stems), "")
        size = _size(unit, MEANINGS[meaning][1]) if meaning in MEANINGS else None
        if size is None:
            faults.wrong(
                f"{source}:1",
                f"column {show_value(name)} is given as {show_value(given)}",
                f"expected MEANING:UNIT, such as rtt:ms; meanings: {', '.join(MEANINGS)}",
            )
            return None, None
        return meaning, size
    stem, _, ending = name.strip().rpartition("_")
    for meaning, (stems, units) in MEANINGS.items():
        if ending and stem.lower() in stems and (size := _size(ending, units)) is not None:
            return meaning, size
        if plain not in stems or not plain:
            continue
        if units is COUNTS:
            return meaning, 1.0
        if meaning in STAMPS:
            # A date has no unit. A number is refused where it is read.
            return meaning, np.nan
        unit = EXAMPLES[id(units)]
        faults.wrong(
            f"{source}:1",
            f"column {show_value(name)} has no unit",
            UNIT_EXPECTED.format(name.strip(), unit),
        )
        return meaning, None
    return None, None


def _size(unit: str, units: Mapping[str, float]) -> float | None:
    """Return the size of a unit. Capitals tell bytes from bits only where both are known: MBps and Mbps."""
    return units.get(unit, units.get(unit.lower()))


def _rows(source: Source, faults: Faults) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the names of the columns, and each row with its line."""
    # A spreadsheet of many countries writes semicolons, and decimal commas.
    head = next(iter(source.head(1)), "")
    is_other = head.count(";") > head.count(",")
    reader = csv.reader(io.StringIO(source.text), delimiter=";" if is_other else ",")
    names: list[str] = []
    rows = []
    try:
        for row in reader:
            if not row or row[0].startswith("#") or not any(cell.strip() for cell in row):
                continue
            if not names:
                names = [cell.strip() for cell in row]
            elif len(row) != len(names):
                place = f"{source.name}:{reader.line_num}"
                faults.wrong(place, f"{len(row)} values", f"expected {len(names)}, as the first line has names")
            else:
                rows.append((reader.line_num, [DECIMAL.sub(".", cell) for cell in row] if is_other else row))
    except csv.Error as error:
        faults.wrong(f"{source.name}:{reader.line_num}", f"not CSV: {error}", "expected values with commas")
    return names, rows


def _column(
    source: str,
    meaning: str,
    name: str,
    place: int,
    factor: float,
    rows: Sequence[tuple[int, Sequence[str]]],
    faults: Faults,
) -> Array:
    """Return the values of a column in seconds, bit/s or bytes; NaN for an empty cell."""
    cells = [row[place].strip() for _, row in rows]
    if np.isnan(factor):
        return _dates(source, name, cells, rows, faults)
    try:
        values = np.array([cell or "nan" for cell in cells], dtype=np.float64)
    except ValueError:
        values = np.array([_number(cell) for cell in cells])
    is_empty = np.array([not cell for cell in cells], dtype=np.bool_)
    bad = ~np.isfinite(values) & ~is_empty
    if meaning in STAMPS:
        bad |= is_empty
    elif meaning == "rtt":
        bad |= (values <= 0) & (values != -1)
        values = np.where(values == -1, np.nan, values)
    else:
        bad |= values < 0
    if meaning == "interval":
        bad |= values == 0
    expected = "a number above 0, or -1 or an empty cell for a lost probe" if meaning == "rtt" else "a finite number"
    for at in np.flatnonzero(bad):
        line = rows[int(at)][0]
        faults.wrong(
            f"{source}:{line}", f"{show_value(name)} is {show_value(cells[at]) or 'empty'}", f"expected {expected}"
        )
    scaled: Array = values * factor
    return scaled


def _number(text: str) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return np.inf


def _dates(
    source: str, name: str, cells: Sequence[str], rows: Sequence[tuple[int, Sequence[str]]], faults: Faults
) -> Array:
    """Return Unix times of dates such as 2024-04-19 16:23:00, in UTC without an offset."""
    found = np.full(len(cells), np.nan)
    if cells and np.isfinite(_number(cells[0] or "inf")):
        faults.wrong(f"{source}:1", f"column {show_value(name)} has no unit", UNIT_EXPECTED.format(name, "s"))
        return found
    for at, cell in enumerate(cells):
        try:
            moment = datetime.fromisoformat(cell.replace("Z", "+00:00"))
        except ValueError:
            faults.wrong(
                f"{source}:{rows[at][0]}",
                f"{show_value(name)} is {show_value(cell) or 'empty'}",
                f"expected a date and time, or a number in a column with a unit: {name.lower()}_s",
            )
            continue
        moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
        found[at] = moment.timestamp()
    return found


def _probes(
    source: str, stamp: str, values: Mapping[str, Array], asked: Asked, faults: Faults, notes: list[str]
) -> list[Any]:
    """Make probes. Missing sequence numbers are lost probes."""
    stamps_s, rtt_s = values[stamp], values["rtt"]
    are_arrivals = stamp == "arrival" or (stamp == "time" and asked.stamps == "arrival")
    if stamp == "time":
        notes.append(f"{source}: each time is taken as that of the {'answer' if are_arrivals else 'probe'} (`stamps`)")
    # Without numbers and without a lost probe, losses may have been left out.
    has_losses = "seq" in values or bool(np.isnan(rtt_s).any())
    whole = make_probes(source, stamps_s, rtt_s, faults, are_arrivals=are_arrivals, notes=notes, has_losses=has_losses)
    if not whole:
        return []
    if not has_losses:
        notes.append(f"{source}: no numbers and no lost probes, so the loss ratio is unknown")
    if "seq" not in values:
        return whole
    numbers = values["seq"]
    if not np.isfinite(numbers).all() or (numbers != np.floor(numbers)).any() or numbers.max(initial=0) > 2**53:
        faults.wrong(source, "the sequence has values that are not whole", "expected whole numbers from 0")
        return []
    send_s = stamps_s - np.where(np.isnan(rtt_s), 0.0, rtt_s) if are_arrivals else stamps_s
    send_s, rtt_s = by_number(source, numbers.astype(np.int64), send_s, rtt_s, 0, faults)
    return make_probes(source, send_s, rtt_s, faults, are_arrivals=False, notes=[], has_losses=True)


def _loads(
    source: str, times: Array, values: Mapping[str, Array], asked: Asked, faults: Faults, notes: list[str]
) -> list[Load]:
    """Make a load for each column of rates or bytes."""
    if len(times) < INTERVALS_MIN:
        faults.wrong(source, f"{len(times)} intervals", f"expected at least {INTERVALS_MIN}; measure longer")
        return []
    order = in_order(times, source, faults, notes)
    steps = np.diff(times[order])
    if not np.any(steps > 0):
        faults.wrong(source, "all intervals have the same time", "expected increasing times")
        return []
    interval_s = values.get("interval", np.full(len(times), np.median(steps[steps > 0])))[order]
    made = []
    ways = {"download": "forward", "upload": "reverse", "rate": asked.direction, "bytes": asked.direction}
    for name in ("bytes", *RATED):
        if name not in values:
            continue
        if name == "rate" and "bytes" in values:
            continue
        amounts = values[name][order]
        known = np.isfinite(amounts) & np.isfinite(interval_s)
        carried = amounts if name == "bytes" else amounts * interval_s / 8
        of_sender: dict[str, Any] = {
            field: values[key][order][known]
            for field, key in (
                ("srtt_s", "srtt"),
                ("cwnd_bytes", "cwnd"),
                ("retransmits", "retransmits"),
                ("lost", "lost"),
                ("packets", "packets"),
            )
            if key in values and name in ("bytes", "rate")
        }
        mss = int(np.nanmedian(values["mss"])) if "mss" in values else None
        if name in ("bytes", "rate"):
            notes.append(f"{source}: the transfer is taken as {_toward(asked.direction)} (`direction`)")
        transport = "udp" if "packets" in of_sender else "tcp"
        basics = (times[order][known], interval_s[known], carried[known])
        headers = HEADERS[transport]
        made.append(Load(*basics, source, ways[name], transport, mss=mss, headers=headers, **of_sender))
    return made


def _toward(direction: str) -> str:
    return "towards the terminal" if direction == "forward" else "from the terminal"

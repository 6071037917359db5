"""Reads data files of Flent: series on a common time axis. A missing value is missing, not a loss."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.fitting.faults import show_value
from bentpipe.fitting.measured import INTERVALS_MIN, Load, Measured, make_probes
from bentpipe.fitting.readers.opening import number

if TYPE_CHECKING:
    from bentpipe.fitting.faults import Faults
    from bentpipe.fitting.measured import Array
    from bentpipe.fitting.readers.opening import Asked, Source

UNITS = {"ms": 1e-3, "s": 1.0, "Mbits/s": 1e6, "Mbit/s": 1e6, "Kbits/s": 1e3, "bits/s": 1.0}
APART = 0.5
"""Relative difference of the medians of two series that cannot be of one host."""
PARTS = ("x_values", "results", "metadata")
TRIPS, RATES = ("ms", "s"), ("Mbits/s", "Mbit/s", "Kbits/s", "bits/s")


def recognises(source: Source) -> bool:
    """Whether it is JSON with the parts of a data file."""
    return source.has(*PARTS)


def read(source: Source, asked: Asked, faults: Faults) -> Measured:
    """Read the first series of round trips, and the sums of each direction."""
    content = source.json(faults, *PARTS)
    if content is None:
        return Measured()
    axis, results, about = content["x_values"], content["results"], content["metadata"]
    if not isinstance(axis, list) or not isinstance(results, dict) or not isinstance(about, dict):
        faults.wrong(source.name, "x_values, results or metadata has another form", "expected a data file of Flent")
        return Measured()
    before = faults.count
    times = np.array([number(each) for each in axis], dtype=np.float64)
    if not np.isfinite(times).all():
        faults.wrong(source.name, "x_values has a value that is not a number", "expected seconds")
    times = times + _start(about)
    asked.seen.update(results)
    _refuse_hosts(source.name, results, asked, faults)
    if faults.count > before:
        return Measured()
    chosen = {
        "rtt": next((name for name in results if asked.columns.get(name, "").startswith("rtt")), None)
        or _chosen(results, ("ping",), ("icmp",)),
        "forward": _chosen(results, ("download",), ("sum", "totals")),
        "reverse": _chosen(results, ("upload",), ("sum", "totals")),
    }
    if not any(chosen.values()):
        known = f"expected a series of ping, download or upload; known: {show_value(', '.join(results))}"
        faults.wrong(source.name, "no series is known", known)
    series = {
        meaning: _values(source.name, name, results[name], len(times), about, meaning, faults)
        for meaning, name in chosen.items()
        if name is not None
    }
    received = None
    for meaning, word in (("forward", "download"), ("reverse", "upload")):
        parts = [name for name in results if word in name.lower() and "::" not in name and not _is_sum(name)]
        if word == "upload":
            received = _find_received(parts, about)
        if chosen[meaning] is not None and _is_sum(str(chosen[meaning])) and parts:
            # The sum of Flent has the values that are there at an instant. Slow flows are reported seldom.
            each = [_values(source.name, name, results[name], len(times), about, meaning, faults) for name in parts]
            if faults.count == before and any(np.isnan(values).any() for values in each):
                series[meaning] = np.sum([_interpolate(times, values) for values in each], axis=0)
    if faults.count > before:
        return Measured()
    found = Measured(notes=[f"{source.name}: missing values of Flent are not losses; the loss ratio is unknown"])
    for meaning, values in series.items():
        present = np.isfinite(values)
        if meaning == "rtt":
            given = (source.name, times[present], values[present], faults)
            found.probes = make_probes(*given, are_arrivals=False, notes=found.notes, has_losses=False)
        elif present.sum() < INTERVALS_MIN:
            faults.wrong(source.name, f"{present.sum()} intervals of {meaning}", f"expected at least {INTERVALS_MIN}")
        else:
            step_s = float(np.median(np.diff(times[present])))
            lengths = np.full(int(present.sum()), step_s)
            load = Load(times[present], lengths, values[present] * step_s / 8, source.name, meaning)
            found.loads.append(replace(load, received=received if meaning == "reverse" else None))
    return found


def _find_received(parts: list[str], about: dict[str, Any]) -> tuple[float, float] | None:
    """Return the bytes that the receivers of uploads got in all, and the longest time; None if the file lacks them.

    Rows of an upload count the writes of netperf, which wait in its send buffer.
    """
    known = about.get("SERIES_META")
    described = [known.get(name) if isinstance(known, dict) else None for name in parts]
    totals = [
        (number(each.get("BYTES_RECVD")), number(each.get("ELAPSED_TIME")))
        for each in described
        if isinstance(each, dict)
    ]
    if not parts or len(totals) < len(parts) or not all(total > 0 and seconds > 0 for total, seconds in totals):
        return None
    return sum(total for total, _ in totals), max(seconds for _, seconds in totals)


def _start(about: dict[str, Any]) -> float:
    """Return the Unix time of the start; 0 if the file does not have it."""
    text = about.get("T0") or about.get("TIME")
    try:
        moment = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()


def _is_sum(name: str) -> bool:
    return any(word in name.lower() for word in ("sum", "totals", "avg"))


def _interpolate(times: Array, values: Array) -> Array:
    """Return a series with the values between those that it has."""
    known = np.isfinite(values)
    return np.interp(times, times[known], values[known]) if known.any() else np.zeros(len(times))


def _refuse_hosts(source: str, results: dict[str, Any], asked: Asked, faults: Faults) -> None:
    """Refuse round trips of several hosts, unless one of them is chosen."""
    names = [name for name in results if "ping" in name.lower() and "::" not in name and not _is_sum(name)]
    if any(asked.columns.get(name, "").startswith("rtt") for name in names):
        return
    middles = {}
    for name in names:
        values = [value for each in results[name] or () if (value := number(each)) > 0]
        if values:
            middles[name] = float(np.median(values))
    if middles and max(middles.values()) > (1 + APART) * min(middles.values()):
        shown = ", ".join(f"{name} {middle:.4g}" for name, middle in middles.items())
        faults.wrong(
            source,
            f"round trips of several hosts: {show_value(shown)}",
            f'expected one path; choose a series: --columns "{next(iter(middles))}=rtt:ms"',
        )


def _chosen(results: dict[str, Any], words: tuple[str, ...], first: tuple[str, ...]) -> str | None:
    """Choose the series with a word in its name, and one of the preferred words if there is one."""
    names = [name for name in results if any(word in name.lower() for word in words)]
    names.sort(key=lambda name: not any(word in name.lower() for word in first))
    return names[0] if names else None


def _values(
    source: str, name: str, given: Any, count: int, about: dict[str, Any], meaning: str, faults: Faults
) -> Array:
    """Return a series in seconds or bit/s; NaN for null."""
    place = f"{source}: {show_value(name)}"
    units = TRIPS if meaning == "rtt" else RATES
    described = about.get("SERIES_META")
    described = described.get(name) if isinstance(described, dict) else None
    unit = described.get("UNITS") if isinstance(described, dict) else None
    unit = unit or next((each for each in UNITS if f"({each})" in name), None)
    if unit not in units:
        faults.wrong(
            place,
            f"the unit is {show_value(unit)}" if unit else "no unit",
            f"expected metadata with UNITS: {' or '.join(units)}",
        )
        return np.array([])
    if not isinstance(given, list) or len(given) != count:
        faults.wrong(place, "another number of values than x_values", f"expected a list of {count:,}")
        return np.array([])
    values = np.array([np.nan if each is None else number(each) for each in given], dtype=np.float64)
    bad = [at for at, each in enumerate(given) if each is not None and not values[at] >= 0]
    for at in bad:
        faults.wrong(f"{place}[{at}]", show_value(given[at]), "expected a number from 0, or null")
    scaled: Array = values * UNITS[str(unit)]
    return scaled

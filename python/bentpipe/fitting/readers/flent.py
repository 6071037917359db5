"""Reads data files of Flent: series on a common time axis. A missing value is missing, not a loss."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.fitting.faults import show_value
from bentpipe.fitting.measured import INTERVALS_MIN, MSS, Load, Measured, make_probes
from bentpipe.fitting.readers.opening import number
from bentpipe.fitting.readers.summaries import PING

if TYPE_CHECKING:
    from bentpipe.fitting.faults import Faults
    from bentpipe.fitting.measured import Array
    from bentpipe.fitting.readers.opening import Asked, Source

UNITS = {"ms": 1e-3, "s": 1.0, "Mbits/s": 1e6, "Mbit/s": 1e6, "Kbits/s": 1e3, "bits/s": 1.0}
APART = 0.5
"""Relative difference of the medians of two series that cannot be of one host."""
PARTS = ("x_values", "results", "metadata")
TRIPS, RATES = ("ms", "s"), ("Mbits/s", "Mbit/s", "Kbits/s", "bits/s")
WAYS = {"forward": "download", "reverse": "upload"}
STREAM = re.compile(r"[^:]+(::\d+)?")
"""Name of a series of one stream. Other names with colons are its window, its round trip, or use of processors."""
WRITE = 16384
"""Bytes of a write of netperf, if the file does not have them."""


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
        **{way: _chosen(results, (word,), ("sum", "totals")) for way, word in WAYS.items()},
    }
    if not any(chosen.values()):
        known = f"known: {show_value(', '.join(results))}"
        faults.wrong(
            source.name, "no series is known", f"expected a series of ping, download or upload; {known}; or {PING}"
        )
    found = Measured(notes=[f"{source.name}: missing values of Flent are not losses; the loss ratio is unknown"])
    if chosen["rtt"] is not None:
        values = _values(source.name, chosen["rtt"], results[chosen["rtt"]], len(times), about, "rtt", faults)
        if faults.count == before:
            present = np.isfinite(values)
            given = (source.name, times[present], values[present], faults)
            found.probes = make_probes(*given, are_arrivals=False, notes=found.notes, has_losses=False)
    for way in WAYS:
        name = chosen[way]
        load = None if name is None else _read_load(source.name, name, way, times, results, about, faults)
        found.loads += [] if load is None else [load]
    return Measured() if faults.count > before else found


def _read_load(
    source: str, name: str, way: str, times: Array, results: dict[str, Any], about: dict[str, Any], faults: Faults
) -> Load | None:
    """Read a transfer, or the sum of several in one direction, with the windows and round trips of an upload."""
    before = faults.count
    values = _values(source, name, results[name], len(times), about, way, faults)
    parts = [each for each in results if WAYS[way] in each.lower() and STREAM.fullmatch(each) and not _is_sum(each)]
    if _is_sum(name) and parts:
        # The sum of Flent has the values that are there at an instant. Slow flows are reported seldom.
        each = [_values(source, part, results[part], len(times), about, way, faults) for part in parts]
        if faults.count == before and any(np.isnan(one).any() for one in each):
            values = np.sum([_interpolate(times, one) for one in each], axis=0)
            known = np.any(np.isfinite(each), axis=0)
            is_between = np.logical_or.accumulate(known) & np.logical_or.accumulate(known[::-1])[::-1]
            values = np.where(is_between, values, np.nan)
    if faults.count > before:
        return None
    present = np.isfinite(values)
    if present.sum() < INTERVALS_MIN:
        faults.wrong(source, f"{present.sum()} intervals of {way}", f"expected at least {INTERVALS_MIN}")
        return None
    step_s = float(np.median(np.diff(times[present])))
    described = _describe(parts[0], about) if parts else {}
    mss, block = number(described.get("TCP_MSS")), number(described.get("SEND_SIZE"))
    segment = int(mss) if mss > 0 else MSS
    trips, windows = (
        [state for part in parts if (state := _list_state(results, f"{part}::{name}", times)) is not None]
        for name in ("tcp_rtt", "tcp_cwnd")
    )
    is_known = bool(parts) and len(trips) == len(windows) == len(parts)
    is_upload = way == "reverse"
    return Load(
        times[present],
        np.full(int(present.sum()), step_s),
        values[present] * step_s / 8,
        source,
        way,
        srtt_s=1e-3 * np.mean(trips, axis=0)[present] if is_known else None,
        cwnd_bytes=segment * np.sum(windows, axis=0)[present] if is_known else None,
        mss=segment if mss > 0 else None,
        cc=str(described.get("CONG_CONTROL") or "") or None,
        streams=max(len(parts), 1),
        block=(int(block) if block > 0 else WRITE) if is_upload else 0,
        received=_find_received(parts, about, step_s * float(present.sum())) if is_upload else None,
    )


def _list_state(results: dict[str, Any], name: str, times: Array) -> Array | None:
    """Return the state of a sender at these times; None if the file lacks it."""
    given = results.get(name)
    if not isinstance(given, list) or len(given) != len(times):
        return None
    values = np.array([number(each) for each in given], dtype=np.float64)
    known = np.isfinite(values)
    return np.interp(times, times[known], values[known]) if known.any() else None


def _describe(name: str, about: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a series."""
    known = about.get("SERIES_META")
    found = known.get(name) if isinstance(known, dict) else None
    return found if isinstance(found, dict) else {}


def _find_received(parts: list[str], about: dict[str, Any], span_s: float) -> tuple[float, float] | None:
    """Return the bytes that the receivers of uploads got in all, and the longest time; None if the file lacks them.

    Rows of an upload count the writes of netperf, which wait in its send buffer. Older files have the mean only.
    """
    described = [_describe(name, about) for name in parts]
    totals = [(number(each.get("BYTES_RECVD")), number(each.get("ELAPSED_TIME"))) for each in described]
    if not all(total > 0 and seconds > 0 for total, seconds in totals):
        means = [number(each.get("MEAN_VALUE")) * UNITS.get(str(each.get("UNITS")), np.nan) for each in described]
        totals = [(mean * span_s / 8, span_s) for mean in means]
    if not parts or not all(total > 0 and seconds > 0 for total, seconds in totals):
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
    return any(word in name.lower() for word in ("sum", "totals", "avg", "fairness"))


def _interpolate(times: Array, values: Array) -> Array:
    """Return a series with the values between those that it has. A value is that of the time before it."""
    known = np.isfinite(values)
    if not known.any():
        return np.zeros(len(times))
    found: Array = np.interp(times, times[known], values[known], right=0.0)
    return found


def _refuse_hosts(source: str, results: dict[str, Any], asked: Asked, faults: Faults) -> None:
    """Refuse round trips of several hosts, unless one of them is chosen."""
    names = [name for name in results if "ping" in name.lower() and "::" not in name and not _is_sum(name)]
    if any(asked.columns.get(name, "").startswith("rtt") for name in names):
        return
    trips = {name: np.array([number(each) for each in results[name] or ()], dtype=np.float64) for name in names}
    # Probes of UDP may end at a loss, before the load: only the times at which all have an answer are compared.
    together = [each > 0 for each in trips.values() if (each > 0).any()]
    both = (
        np.logical_and.reduce(together) if len({len(each) for each in together}) == 1 else np.zeros(0, dtype=np.bool_)
    )
    middles = {
        name: float(np.median(each[both])) for name, each in trips.items() if len(each) == len(both) and both.any()
    }
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
    unit = _describe(name, about).get("UNITS")
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

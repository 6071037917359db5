"""Writes a run as a data file of Flent (format 4): goodputs and round trips on a common time axis."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import files
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from bentpipe.experiment.single.run_result import RunResult

STEP_S = 0.2
"""Distance of the values: that of Flent."""
SERIES = "goodput_bps"
ENDING = ".flent.gz"
EPOCH = "2000-01-01T00:00:00.000000Z"
"""Instant of the start of a simulated run, which has none."""


def write_flent(result: RunResult, file: str | os.PathLike[str], test: str = "rrul") -> None:
    """Write a run as a data file for Flent and for Flent's web page of figures.

    The file has the goodput of each flow over a transport, and the round trips of each flow of probes. Sums and means
    have the names that Flent gives them.

    Parameters
    ----------
    result : RunResult
        Run with the series `goodput_bps`.
    file : path
        Place of the file. Flent opens names that end in `.flent` or `.flent.gz`.
    test : str
        Name of the test, by which Flent finds its figures.

    Raises
    ------
    BentpipeError
        The name has another ending.
    """
    place = Path(file)
    if not place.name.endswith((".flent", ENDING)):
        raise BentpipeError(f"{place} does not end in .flent or {ENDING}\n  expected a name such as run{ENDING}")
    data = json.dumps(make_flent(result, test), separators=(",", ":")).encode()
    # Without the time, equal runs have equal files.
    files.replace(place, gzip.compress(data, mtime=0) if place.name.endswith(".gz") else data)


def make_flent(result: RunResult, test: str) -> dict[str, Any]:
    """Make the content of a data file."""
    axis = np.arange(0.0, result.simulated_s + STEP_S / 2, STEP_S)
    columns: dict[str, NDArray[np.float64]] = {}
    kinds = dict(zip(result.scenario.flow_names, result.scenario.flow_kinds, strict=True))
    starts = dict(zip(result.flows["flow"], result.flows["start_s"], strict=True))
    goodputs = result.series(SERIES) if SERIES in result.recorded else None
    probes = result.probes
    for flow in result.scenario.flow_names:
        if kinds[flow] == "probe":
            rows = probes.filter(probes["flow"] == flow).drop_nulls("rtt_s")
            columns[flow] = 1e3 * _average(axis, rows["sent_s"].to_numpy(), rows["rtt_s"].to_numpy())
        elif goodputs is not None:
            rows = goodputs.filter(goodputs["flow"] == flow)
            columns[flow] = 1e-6 * _average(axis, rows["time_s"].to_numpy(), rows[SERIES].to_numpy())
            # Without a value until its start, as flows of Flent.
            start_s = starts[flow]
            columns[flow][axis <= (math.inf if start_s is None else start_s)] = np.nan
    units = {name: "ms" if kinds[name] == "probe" else "Mbits/s" for name in columns}
    sums: dict[str, NDArray[np.float64]] = {}
    for word, unit in (("TCP upload", "Mbits/s"), ("TCP download", "Mbits/s"), ("Ping (ms)", "ms")):
        parts = [values for name, values in columns.items() if name.startswith(word)]
        if not parts:
            continue
        stacked = np.vstack(parts)
        known = np.isfinite(stacked).any(axis=0)
        mean, total = np.full(len(axis), np.nan), np.full(len(axis), np.nan)
        mean[known], total[known] = np.nanmean(stacked[:, known], axis=0), np.nansum(stacked[:, known], axis=0)
        sums[f"{word} avg"], units[f"{word} avg"] = mean, unit
        if unit != "ms":
            sums[f"{word} sum"], units[f"{word} sum"] = total, unit
    both = [values for name, values in sums.items() if name.endswith(" sum")]
    if both:
        sums["TCP totals"], units["TCP totals"] = np.sum(np.nan_to_num(both), axis=0), "Mbits/s"
    whole = {**columns, **sums}
    about = {
        "NAME": test,
        "TITLE": result.scenario.title,
        "TIME": EPOCH,
        "T0": EPOCH,
        "LENGTH": round(result.simulated_s),
        "TOTAL_LENGTH": round(result.simulated_s),
        "STEP_SIZE": STEP_S,
        "HOST": "simulated",
        "HOSTS": ["simulated"],
        "LOCAL_HOST": "bentpipe",
        "DATA_FILENAME": "",
        "NOTE": f"bentpipe {result.version}, seed {result.seed}",
        "SERIES_META": {name: {"UNITS": unit} for name, unit in units.items()},
    }
    results = {name: [_plain(value) for value in values] for name, values in whole.items()}
    return {
        "version": 4,
        "metadata": about,
        "x_values": [round(value, 6) for value in axis.tolist()],
        "results": results,
        "raw_values": {name: [] for name in whole},
    }


def _average(axis: NDArray[np.float64], times: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the values of the step that ends at each instant; NaN without any."""
    place = np.ceil(times / STEP_S - 1e-9).astype(int)
    inside = (place >= 0) & (place < len(axis)) & np.isfinite(values)
    count = np.bincount(place[inside], minlength=len(axis))
    total = np.bincount(place[inside], weights=values[inside], minlength=len(axis))
    return np.asarray(np.divide(total, count, out=np.full(len(axis), np.nan), where=count > 0))


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 6)

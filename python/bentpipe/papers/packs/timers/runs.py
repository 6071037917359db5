"""The runs that claims share: the orbit, the 216 combinations, traces, and the search for the smallest granularity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe.papers import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from bentpipe import RunResult
    from bentpipe.papers import Lab

    Floats = NDArray[np.float64]

RATE_BPS = 2.048e6
SMSS_BYTES, HEADER_BYTES = 1460, 40
DATA_S = 8 * (SMSS_BYTES + HEADER_BYTES) / RATE_BPS
ACK_S = 8 * HEADER_BYTES / RATE_BPS

EARTH_KM, ALTITUDE_KM, ELEVATION_MIN_DEG = 6378.137, 1350.0, 20.0
LIGHT_KM_PER_S, GRAVITY_KM3_PER_S2 = 299_792.458, 398_600.4418

LARGE, HALF, ONE = "65535 B", "3300 B", "1460 B"
"""Receive buffers: no limit, half of the bandwidth-delay product, and a segment."""
BUFFERS = (LARGE, HALF, ONE)
CONTINUOUS = {"tcp.rto.granularity": "0 s", "tcp.rto.min_ticks": 0}
"""A clock without ticks: the paper's granularity of "zero"."""
ONE_PASS = {"flow.ftp.app.size": "58 MB", "tcp.receive_buffer": HALF}
"""Half of the bandwidth-delay product takes about a pass for 58 MB."""
SENDERS = ("tcpmin", "reno")
SETTINGS = tuple(f"s{number:02d}" for number in range(1, 13))
"""Experiments 1 to 12 of the paper's Table 1."""
LOW_RATE, HIGH_RATE = 2e-8, 2e-5
ERROR_RATE = "link.pass.error.rate"

GRANULARITIES_MS = (*range(1, 61), *range(100, 190, 10), *range(190, 301), *range(310, 501, 10))
"""Granularities of the search: each millisecond near values that the paper names, every tenth elsewhere."""


PHASES = 10
"""Phases of the clock. A granularity must be free of needless retransmissions in all of them."""


def visibility_s() -> float:
    """Time of an overhead pass above 20 degrees: half the orbit's period x angle / 90 degrees."""
    elevation = np.radians(ELEVATION_MIN_DEG)
    radius_km = EARTH_KM + ALTITUDE_KM
    angle = np.arccos(EARTH_KM * np.cos(elevation) / radius_km) - elevation
    return float(2 * np.pi * np.sqrt(radius_km**3 / GRAVITY_KM3_PER_S2) * angle / np.pi)


def one_way_s(times_s: Floats, hops: int) -> Floats:
    """Propagation delay at these instants, with the next satellite after each pass (E. Lutz et al. 2000)."""
    elevation = np.radians(ELEVATION_MIN_DEG)
    radius_km = EARTH_KM + ALTITUDE_KM
    edge = np.arccos(EARTH_KM * np.cos(elevation) / radius_km) - elevation
    angle = edge * np.abs(1 - 2 * np.mod(times_s, visibility_s()) / visibility_s())
    range_km = np.sqrt(EARTH_KM**2 + radius_km**2 - 2 * EARTH_KM * radius_km * np.cos(angle))
    return np.asarray(hops * range_km / LIGHT_KM_PER_S, dtype=float)


def trace(lab: Lab, sets: dict[str, Any], series: Iterable[str], *, replication: int = 0) -> RunResult:
    """One run of `pass.toml` with time series; equal replications have the same channel."""
    return lab.run("pass", sets, seed=1 + replication, series=series)


def line(result: RunResult, name: str) -> tuple[Floats, Floats]:
    """Instants and values of a flow's series."""
    table = result.series(name, flow="ftp")
    return table["time_s"].to_numpy().astype(float), table[name].to_numpy().astype(float)


def held(times_s: Floats, values: Floats, at_s: Floats) -> Floats:
    """A series that keeps its value until the next row, at these instants."""
    places = np.searchsorted(times_s, at_s, side="right") - 1
    return np.asarray(values[np.maximum(places, 0)], dtype=float)


def file_size(lab: Lab, buffer: str) -> str:
    """The paper's 250 MB in full, a tenth of it for a buffer of a segment; in quick a fifth and a hundredth."""
    return str(lab.choose("2.5 MB", "25 MB") if buffer == ONE else lab.choose("50 MB", "250 MB"))


def minimal_sets(buffer: str, hops: int, guard: bool, min_ticks: int, rounding: str, ack_timer: str) -> dict[str, Any]:
    """The overrides of `pass.toml` in the search for the smallest granularity."""
    return {
        "tcp.cc": "tcpmin",
        "tcp.receive_buffer": buffer,
        "tcp.window_scaling": buffer == "auto",
        "link.pass.delay.pass.hops": hops,
        "tcp.rto.guard": guard,
        "tcp.rto.min_ticks": min_ticks,
        "tcp.rto.rounding": rounding,
        "tcp.ack.timer": ack_timer,
    }


def needless(
    lab: Lab,
    buffer: str,
    granularities_ms: Sequence[int],
    *,
    replications: int = 1,
    hops: int = 2,
    guard: bool = False,
    min_ticks: int = 2,
    rounding: str = "floor",
    ack_timer: str = "per-segment",
) -> dict[int, list[int]]:
    """Needless retransmissions of one file without errors for each granularity, one number per replication (phase).

    The runs have no errors and no losses, so each timeout is premature and its retransmissions are needless.
    """
    size = {ONE: lab.choose("5 MB", "25 MB"), HALF: lab.choose("58 MB", "250 MB")}.get(
        buffer, lab.choose("25 MB", "250 MB")
    )
    sets = minimal_sets(buffer, hops, guard, min_ticks, rounding, ack_timer) | {"flow.ftp.app.size": size}
    found = lab.sweep(
        "pass",
        sets,
        vary={"tcp.rto.granularity": [f"{each} ms" for each in granularities_ms]},
        replications=replications,
        tables=["flows"],
        # With more phases, another granularity would be the smallest.
        is_scaled=False,
    ).tables["flows"]
    return {
        each: found.filter(pl.col("tcp.rto.granularity") == f"{each} ms")["spurious_retransmissions"].to_list()
        for each in granularities_ms
    }


def smallest_granularity_ms(lab: Lab, buffer: str, **how: Any) -> int | None:
    """The smallest granularity, whole milliseconds up to 60, without a needless retransmission in any phase tried."""
    tried = needless(lab, buffer, GRANULARITIES_MS[:1], **how)
    if any(tried[GRANULARITIES_MS[0]]):
        tried |= needless(lab, buffer, GRANULARITIES_MS[1:60], **how)
    for each, counts in sorted(tried.items()):
        if not any(counts) and not any(needless(lab, buffer, [each], replications=PHASES, **how)[each]):
            return each
    return None


def consecutive_granularity_ms(lab: Lab, buffer: str, **how: Any) -> tuple[int | None, list[int]]:
    """The least granularity with no needless retransmission up to 500 ms, and lower ones without any."""
    tried = needless(lab, buffer, GRANULARITIES_MS, **how)
    clean = [each for each, counts in tried.items() if not any(counts)]
    bad = max((each for each in tried if each not in clean), default=0)
    above = [each for each in clean if each > bad]
    for each in above:
        if not any(needless(lab, buffer, [each], replications=PHASES, **how)[each]):
            return each, [one for one in clean if one < bad]
    return None, clean


def setting_1_ms(lab: Lab, buffer: str) -> int:
    """The granularity of experiment 1, found as in the paper: the smallest one without needless retransmissions."""
    if buffer == ONE:
        found, _ = consecutive_granularity_ms(lab, ONE)
    else:
        found = smallest_granularity_ms(lab, buffer)
    assert found is not None, f"no granularity is large enough for {buffer}"
    return found


def experiment_1(lab: Lab, buffer: str) -> dict[str, str]:
    """The override of `grid.toml` for this buffer: its granularity in experiment 1."""
    return {"case.s01.tcp.rto.granularity": f"{setting_1_ms(lab, buffer)} ms"}


def grid(lab: Lab) -> pl.DataFrame:
    """The 216 combinations and the proposed granularity: a row per run.

    Columns are `case`, `cc`, `buffer`, `error_rate`, `replication`, `completion_s`, `normalised` (completion time over
    that of the same run without errors), and the columns of the sender and its link that claims need.
    """
    return lab.once("grid", lambda: _grid(lab))


def _grid(lab: Lab) -> pl.DataFrame:
    parts = []
    for buffer in BUFFERS:
        # A setting that depends on the buffer cannot be in one grid.
        sets = {
            "flow.ftp.app.size": file_size(lab, buffer),
            **experiment_1(lab, buffer),
        }
        vary = {
            "case": [*SETTINGS, "s200"],
            "tcp.cc": SENDERS,
            "tcp.receive_buffer": [buffer],
            ERROR_RATE: [0.0, LOW_RATE, HIGH_RATE],
        }
        found = lab.sweep("grid", sets, vary=vary, replications=lab.choose(5, 10), tables=["flows"])
        parts.append(found.tables["flows"].drop("tcp.cc"))
    rows = pl.concat(parts).rename({"tcp.receive_buffer": "buffer", ERROR_RATE: "error_rate"})
    keys = ["case", "cc", "buffer", "replication"]
    clean = rows.filter(pl.col("error_rate") == 0).select(*keys, clean_s="completion_s")
    return rows.join(clean, on=keys).with_columns(normalised=pl.col("completion_s") / pl.col("clean_s"))


def mean_normalised(
    lab: Lab,
    error_rate: float,
    *,
    cc: str,
    buffer: str,
    settings: Sequence[str] = SETTINGS,
) -> Floats:
    """Time of the file over that without errors, mean over settings, one value per replication."""
    rows = grid(lab).filter(
        (pl.col("error_rate") == error_rate)
        & (pl.col("cc") == cc)
        & (pl.col("buffer") == buffer)
        & pl.col("case").is_in(settings)
    )
    means = rows.group_by("replication").agg(pl.col("normalised").mean()).sort("replication")
    return means["normalised"].to_numpy().astype(float)


def ratio(numerators: Floats, denominators: Floats, note: str = "") -> Finding:
    """Ratio of two means over paired replications, with its interval (delta method, Student's t).

    Reference: Law, "Simulation Modeling and Analysis", on ratios of means.
    """
    scale = float(np.mean(denominators))
    value = float(np.mean(numerators)) / scale
    around = Finding.mean((numerators - value * denominators) / scale)
    if around.low is None or around.high is None or around.value is None:
        return Finding(value, None, None, len(numerators), note)
    half = (around.high - around.low) / 2
    return Finding(value, value - half, value + half, len(numerators), note)


def premature(result: RunResult, hops: int = 2) -> int:
    """Timeouts that came too early: the ACK that answers the first transmission was already under way.

    It is that one if it arrives sooner after the retransmission than any round trip to the satellite takes.
    """
    floor_s = 2 * float(np.min(one_way_s(np.linspace(0, visibility_s(), 1000), hops))) + DATA_S + ACK_S
    acks = result.events.filter(pl.col("event") == "acked")
    times, offsets = acks["time_s"].to_numpy(), acks["value"].to_numpy()
    count = 0
    for time_s, missing in result.events.filter(pl.col("event") == "timeout").select("time_s", "value").iter_rows():
        first = max(np.searchsorted(times, time_s, side="right"), np.searchsorted(offsets, missing, side="right"))
        count += bool(first < len(times) and times[first] < time_s + 0.999 * floor_s)
    return count

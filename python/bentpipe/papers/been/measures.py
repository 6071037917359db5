"""What BEEN's claims are measured by: NewReno and datagrams over the Iridium stand-in, and the paper's equations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from bentpipe.papers.been.formulas import (
    HEADER_BYTES,
    PACKET_MIN_BYTES,
    PAYLOADS_BYTES,
    RATES,
    RECORDS,
    clamp,
    estimates,
    header_efficiency,
    optimum_bytes,
    probabilistic_optimum_bytes,
    smoothed,
    survival,
)
from bentpipe.papers.lab import Finding, Possible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from bentpipe.papers.lab import Lab
    from bentpipe.result import RunResult

    Sets = dict[str, str | float]

PATH = "iridium-path"
UPLINK = "uplink"
SMSS = "tcp.smss"
ERROR = "link.up.forward.error"
WINDOW_SEGMENTS = 20
CODE = {"link.up.forward.interleave": '{ span = "10 ms", codeword = "255 B", corrects = "64 B" }'}
CODE_RATE = (255 - 2 * 64) / 255
DATAGRAM_HEADER_BYTES = 28
SPACING_S = 0.01
"""Between two datagrams of the scenario, and its interval of recording."""


# NewReno over the path


def transfers(
    lab: Lab, *, rate: float, unit: str, hops: int = 1, start: str = "paper", payloads: Sequence[int] = PAYLOADS_BYTES
) -> pl.DataFrame:
    """The table `flows` of NewReno's runs at one error rate: a row per payload (`tcp.smss`) and replication.

    `hops`: links to the ground with errors; 2 is the downlink to the receiver, too. `start`: "paper" sends the first
    data at once in a window of one segment; "ns-2" opens with a SYN and begins with two segments.
    """
    sets: Sets = {f"{ERROR}.kind": unit, f"{ERROR}.rate": rate}
    if hops == 2:
        sets |= {"link.down.forward.error.kind": unit, "link.down.forward.error.rate": rate}
    if start == "ns-2":
        sets |= {"tcp.handshake": True, "tcp.initial_window": "2 segments"}
    sizes = [f"{payload} B" for payload in payloads]
    return lab.sweep(PATH, sets, vary={SMSS: sizes}, replications=lab.choose(20, 200), tables=["flows"]).tables["flows"]


def column(flows: pl.DataFrame, payload: int, name: str) -> NDArray[np.float64]:
    """One column at one payload, in the order of replications; nan where it is missing."""
    rows = flows.filter(pl.col(SMSS) == f"{payload} B").sort("replication")
    return rows[name].cast(pl.Float64).fill_null(math.nan).to_numpy()


def tcp_efficiency(
    lab: Lab, *, payload: int, rate: float, unit: str, hops: int = 1, start: str = "paper"
) -> Finding:
    """TCP efficiency in % (equation 6, RFC 6349): column `tcp_efficiency_pct`."""
    flows = transfers(lab, rate=rate, unit=unit, hops=hops, start=start)
    length = payload + HEADER_BYTES
    note = f"{column(flows, payload, 'sent_packets').mean():.0f} packets sent; one crosses with probability " + (
        f"{survival(length, rate, unit) ** hops:.3g}"
    )
    return Finding.mean(column(flows, payload, "tcp_efficiency_pct"), note)


def information_efficiency(
    lab: Lab, *, payload: int, rate: float, unit: str, hops: int = 1, start: str = "paper"
) -> Finding:
    """Information efficiency in % (equation 7): 100 x column `information_efficiency`."""
    flows = transfers(lab, rate=rate, unit=unit, hops=hops, start=start)
    length = payload + HEADER_BYTES
    e_h, e_p = header_efficiency(length), survival(length, rate, unit) ** hops
    note = f"arithmetic of one packet: {e_h:.4f} x {e_p:.4g} = {100 * e_h * e_p:.3g} %"
    return Finding.mean(100 * column(flows, payload, "information_efficiency"), note)


def smallest_step(lab: Lab, *, rates: list[float], unit: str) -> Finding:
    """How much TCP efficiency rises at least from one size to the next smaller one, in points, paired by seed."""
    steps = []
    for rate in rates:
        flows = transfers(lab, rate=rate, unit=unit)
        for larger, smaller in zip(PAYLOADS_BYTES, PAYLOADS_BYTES[1:], strict=False):
            rise = column(flows, smaller, "tcp_efficiency_pct") - column(flows, larger, "tcp_efficiency_pct")
            steps.append((rise, f"from {larger} to {smaller} B of payload at {rate:g}"))
    rise, where = min(steps, key=lambda step: step[0].mean())
    return Finding.mean(rise, where)


def best_sizes(lab: Lab, *, unit: str) -> Finding:
    """At how many of the two steps from 0.01 over 0.001 to 0.0001 the best of the five sizes grows.

    Best is the size of the highest information efficiency, in each replication; no size is where nothing arrives.
    """
    best = []
    for rate in RATES:
        flows = transfers(lab, rate=rate, unit=unit)
        table = np.array([column(flows, payload, "information_efficiency") for payload in PAYLOADS_BYTES])
        best.append(np.where(table.max(axis=0) > 0, np.array(PAYLOADS_BYTES)[table.argmax(axis=0)], np.nan))
    grows = [(after > before).astype(float) for before, after in zip(best, best[1:], strict=False)]
    usual = ", ".join(f"{np.nan_to_num(np.median(sizes)):g} B at {rate:g}" for rate, sizes in zip(RATES, best, strict=True))
    return Finding.mean(grows[0] + grows[1], f"best payload, median: {usual}")


def first_packet_times_out(lab: Lab, *, rate: float, unit: str) -> Finding:
    """Share of runs whose first packet is lost and resent by the timer, mean over packets of 240, 540 and 1540 B."""
    sets: Sets = {f"{ERROR}.kind": unit, f"{ERROR}.rate": rate}
    # The first timeout is at 3 s. Before it nothing was delivered only if the first packet was lost.
    sets |= {"duration": "3.01 s"}
    sizes = [payload for payload in PAYLOADS_BYTES if payload + HEADER_BYTES > 200]
    found = lab.sweep(
        PATH, sets, vary={SMSS: [f"{payload} B" for payload in sizes]}, replications=lab.choose(100, 1000), tables=["flows"]
    ).tables["flows"]
    is_lost = [
        (column(found, payload, "timeouts") > 0) & (column(found, payload, "delivered_bytes") == 0) for payload in sizes
    ]
    shares = ", ".join(f"{payload + HEADER_BYTES} B {lost.mean():.3f}" for payload, lost in zip(sizes, is_lost, strict=True))
    return Finding.mean(np.mean(is_lost, axis=0), shares)


# Traces


def resent_per_corrupted(lab: Lab) -> Finding:
    """Largest difference to 1500 and 100 B of what is sent again when one packet of 1540 or 140 B is corrupted, in B."""
    resent = {}
    for payload in (1500, 100):
        sets: Sets = {SMSS: f"{payload} B", ERROR: '{ kind = "arrivals", list = [200] }', "duration": "20 s"}
        resent[payload] = float(lab.run(PATH, sets).flows["retransmitted_bytes"][0])
    largest = max(abs(found - payload) for payload, found in resent.items())
    return Finding.exact(largest, ", ".join(f"{payload + 40} B: {found:g} B" for payload, found in resent.items()))


def ssthresh_after_first_timeout(lab: Lab) -> Finding:
    """Slow start threshold in segments right after a timeout with a window of one segment: the first packet is lost."""
    payload = 200
    sets: Sets = {SMSS: f"{payload} B", ERROR: '{ kind = "arrivals", list = [0] }', "duration": "20 s"}
    result = lab.run(PATH, sets, series=["events", "cwnd_bytes", "ssthresh_bytes"])
    (timeout_s, *_) = result.events.filter(pl.col("event") == "timeout")["time_s"]
    before = result.series("cwnd_bytes").filter(pl.col("time_s") < timeout_s)["cwnd_bytes"][-1] / payload
    after = result.series("ssthresh_bytes").filter(pl.col("time_s") >= timeout_s)["ssthresh_bytes"][0] / payload
    clean = lab.run(PATH, sets | {ERROR: "none"}, series=["cwnd_bytes"])
    windows = [_at(run, start_s + 1, payload) for run, start_s in ((result, timeout_s), (clean, 0.0))]
    note = f"timeout at {timeout_s:g} s with cwnd {before:g}; 1 s later cwnd {windows[0]:.1f}, without a loss {windows[1]:.1f}"
    return Finding.exact(after, note)


def _at(result: RunResult, time_s: float, payload: int) -> float:
    """Congestion window at an instant, in segments."""
    return float(result.series("cwnd_bytes").filter(pl.col("time_s") <= time_s)["cwnd_bytes"][-1]) / payload


def mean_window_ratio(lab: Lab, *, rate: float, unit: str) -> Finding:
    """Mean window with errors over that without, averaged over the five sizes; a window is at most 20 segments."""
    ratios = []
    for seed in range(1, lab.choose(2, 20) + 1):
        of_sizes = []
        for payload in PAYLOADS_BYTES:
            sets: Sets = {SMSS: f"{payload} B", f"{ERROR}.kind": unit}
            of_sizes.append(
                _mean_window(lab, sets | {f"{ERROR}.rate": rate}, payload, seed)
                / _mean_window(lab, sets | {f"{ERROR}.rate": 0}, payload, 1)
            )
        ratios.append(of_sizes)
    means = np.mean(ratios, axis=0)
    shares = ", ".join(f"{payload + HEADER_BYTES} B {mean:.2f}" for payload, mean in zip(PAYLOADS_BYTES, means, strict=True))
    return Finding.mean(np.mean(ratios, axis=1), shares)


def _mean_window(lab: Lab, sets: Sets, payload: int, seed: int) -> float:
    result = lab.run(PATH, sets, seed=seed, series=["cwnd_bytes"])
    rows = result.series("cwnd_bytes")
    windows = np.minimum(rows["cwnd_bytes"].to_numpy() / payload, WINDOW_SEGMENTS)
    lasting_s = np.diff(np.append(rows["time_s"].to_numpy(), result.simulated_s))
    return float(np.average(windows, weights=lasting_s))


def resends_lost_again(lab: Lab, *, payload: int, rate: float, unit: str) -> Finding:
    """Share of the resends that had to be repeated, by a sender that never takes losses for congestion.

    From the events `retransmission`: a resend of an offset that is followed by another one of the same offset. The
    last offset of a run is left out, its fate is not known.
    """
    sets: Sets = {SMSS: f"{payload} B", f"{ERROR}.kind": unit, f"{ERROR}.rate": rate, "tcp.verdict": "always-link-error"}
    shares = []
    for seed in range(1, lab.choose(20, 200) + 1):
        events = lab.run(PATH, sets, seed=seed, series=["events"]).events
        resent = events.filter(pl.col("event") == "retransmission")["value"].to_numpy()
        resends, repeated = len(resent), len(resent) - len(np.unique(resent))
        if resends > 0 and events["event"][-1] == "retransmission":
            resends -= 1
        shares.append(repeated / resends if resends else None)
    return Finding.mean(shares, f"a packet of {payload + 40} B is lost with {1 - survival(payload + 40, rate, unit):.4f}")


# The uplink alone


def _datagrams(length_bytes: int, rate: float, unit: str) -> Sets:
    payload = length_bytes - DATAGRAM_HEADER_BYTES
    return {
        "flow.datagrams.app.size": f"{payload} B",
        "flow.datagrams.app.rate": f"{8 * payload / SPACING_S:g} bit/s",
        f"{ERROR}.kind": unit,
        f"{ERROR}.rate": rate,
    }


def lost_packets(lab: Lab, length_bytes: int, rate: float, unit: str, seed: int) -> NDArray[np.bool_]:
    """The fate of each packet on the uplink, in order: what the satellite passes on in each interval."""
    result = lab.run(UPLINK, _datagrams(length_bytes, rate, unit), seed=seed, series=["carried_bps"])
    passed = result.series("carried_bps", link="on.forward")["carried_bps"].to_numpy() > 0
    # Nothing arrives in the first interval.
    return ~passed[1:]


def fluctuation_ratio(lab: Lab, *, length: int, rate: float, unit: str) -> Finding:
    """Standard deviation of the smoothed estimate (equation 5) over that of the estimates (equation 4), n = 10."""
    ratios, samples_std = [], []
    for seed in range(1, lab.choose(10, 50) + 1):
        samples = estimates(lost_packets(lab, length, rate, unit, seed), length)
        # The first windows still remember how the average began.
        ratios.append(smoothed(samples)[50:].std() / samples[50:].std())
        samples_std.append(samples[50:].std())
    return Finding.mean(ratios, f"single estimates: standard deviation {np.mean(samples_std):.3g} per byte")


def window_time(lab: Lab, *, records: int, length: int) -> Finding:
    """Least time in s for a window of the estimator: the uplink is sending without a pause."""
    sets = _datagrams(length, 0, "byte") | {"flow.datagrams.app.rate": "1.4 Mbit/s", "duration": "20 s"}
    result = lab.run(UPLINK, sets)
    row = result.links.filter(pl.col("link") == "up.forward").row(0, named=True)
    seconds = result.simulated_s * row["utilisation"] / row["carried_packets"]
    return Finding.exact(records * seconds, f"a window of {RECORDS}: {1e3 * RECORDS * seconds:.3g} ms")


def lost_after_lost(lab: Lab, *, payload: int, rate: float, unit: str) -> Finding:
    """Share of the lost packets that another lost one follows at once."""
    shares, gaps = [], []
    for seed in range(1, lab.choose(5, 20) + 1):
        lost = lost_packets(lab, payload + HEADER_BYTES, rate, unit, seed)
        runs = np.diff(np.flatnonzero(np.diff(np.r_[False, lost, False].astype(int))))[::2]
        shares.append(1 - len(runs) / lost.sum() if lost.sum() > 0 else None)
        gaps.append(runs.mean() if len(runs) else math.nan)
    return Finding.mean(shares, f"mean gap {np.nanmean(gaps):.3g} packets")


def coding_gain(lab: Lab, *, rate: float, unit: str) -> Finding:
    """Best information efficiency with a code of rate 1/2 over the best without, both over the paper's sizes and 80 B.

    The code is Reed-Solomon (255, 127), which corrects 64 wrong bytes; its share of the link counts.
    """
    lengths = [PACKET_MIN_BYTES, *(payload + HEADER_BYTES for payload in PAYLOADS_BYTES)]
    ratios, notes = [], ""
    for seed in range(1, lab.choose(2, 10) + 1):
        best = []
        for more, share in (({}, 1.0), (CODE, CODE_RATE)):
            efficiencies = []
            for length in lengths:
                row = lab.run(UPLINK, _datagrams(length, rate, unit) | more, seed=seed).datagrams.row(0, named=True)
                arrived = row["arrived_packets"] / (row["arrived_packets"] + row["lost_packets"])
                efficiencies.append(share * header_efficiency(length) * arrived)
            best.append((max(efficiencies), lengths[int(np.argmax(efficiencies))]))
        ratios.append(best[1][0] / best[0][0])
        notes = "; ".join(
            f"{name} {100 * value:.3g} % at {length} B" for name, (value, length) in zip(("without", "with"), best, strict=True)
        )
    return Finding.mean(ratios, notes)


def notice_ratio(lab: Lab) -> Finding:
    """Round trip from the sender to the satellite that finds the error over the one to the receiver, packets of 1540 B."""
    # One packet to each, one after the other, so that neither waits for the other.
    packet = '{ kind = "file", size = "1500 B" }'
    probe = f'{{ from = "sender", to = "sat1", start = "1 s", app = {packet} }}'
    sets: Sets = {ERROR: "none", "duration": "2 s", "flow.ftp.app": packet, "flow.probe": probe}
    rtts_s = [float(lab.run(PATH, sets).flows.filter(pl.col("flow") == name)["rtt_min_s"][0]) for name in ("probe", "ftp")]
    return Finding.exact(rtts_s[0] / rtts_s[1], f"{1e3 * rtts_s[0]:.1f} ms and {1e3 * rtts_s[1]:.1f} ms")


# Arithmetic


def optimum_is_maximum(lab: Lab) -> Finding:
    """Largest relative distance of equation 1 from the size, found by search, where (1 - H/S)(1 - P S) is largest."""
    distances = []
    for rate in (1e-3, 1e-4, 1e-5, 1e-6):
        bits = np.arange(8.0 * HEADER_BYTES, 40_000, 0.5)
        found = bits[np.argmax((1 - 8 * HEADER_BYTES / bits) * (1 - rate * bits))] / 8
        distances.append(abs(found / optimum_bytes(rate) - 1))
    return Finding.exact(max(distances), "H = 320 bit, n = 1, P = 1e-3 ... 1e-6, steps of half a bit")


def optimum_distance(lab: Lab, *, rates: list[float], printed_bytes: list[float], unit: str = "bit") -> Finding:
    """Largest difference between equation 1 and the printed sizes, in B."""
    sizes = [optimum_bytes(rate, unit) for rate in rates]
    note = ", ".join(f"sqrt(40 B / {rate:g}) = {size:.2f} B" for rate, size in zip(rates, sizes, strict=True))
    if unit == "bit":
        note = ", ".join(f"sqrt(320 bit / {rate:g}) = {size:.2f} B" for rate, size in zip(rates, sizes, strict=True))
    return Finding.exact(max(abs(size - other) for size, other in zip(sizes, printed_bytes, strict=True)), note)


def bounds_kept(lab: Lab) -> Finding:
    """Share of the packet sizes stated for 0.01 and 0.001 (80 B for each of five largest sizes) that the rule gives."""
    wanted = [clamp(optimum_bytes(rate), payload + HEADER_BYTES) for rate in RATES[:2] for payload in PAYLOADS_BYTES]
    above = [clamp(optimum_bytes(1e-6)), clamp(optimum_bytes(1e-4), 140)]
    return Finding.exact(
        float(np.mean([size == 80 for size in wanted])),
        f"22 and 70 B give 80 B; above the largest, 2236 B gives {above[0]} B, 224 B of at most 140 B gives {above[1]} B",
    )


def extremes_are_bad(lab: Lab) -> Finding:
    """Of two conditions, how many hold: a payload of 20 B is less than half of its packet; S_p at 1e-6 exceeds an MTU."""
    share = 20 / (20 + HEADER_BYTES)
    largest = optimum_bytes(1e-6)
    held = int(share < 0.5) + int(largest > 1500)
    return Finding.exact(held, f"20 / 60 = {share:.3f} (as a packet, 20 B are less than its header); {largest:.0f} B > 1500 B")


def probabilistic_over_deterministic(lab: Lab, *, unit: str, sp_is: str) -> Finding:
    """Least ratio over the three error rates of information efficiency at the probabilistic to the deterministic size.

    Both sizes within 80 and 1540 B; `sp_is`: whether the optimum is taken as the packet or as its payload.
    """
    more = HEADER_BYTES if sp_is == "payload" else 0
    ratios, notes = [], []
    for rate in RATES:
        sizes = [clamp(formula(rate, unit) + more) for formula in (optimum_bytes, probabilistic_optimum_bytes)]
        values = [header_efficiency(size) * survival(size, rate, unit) for size in sizes]
        ratios.append(values[1] / values[0])
        notes.append(f"{rate:g}: {sizes[0]} B {100 * values[0]:.3g} %, {sizes[1]} B {100 * values[1]:.3g} %")
    return Finding.exact(min(ratios), "; ".join(notes))


# What arithmetic allows


def stalled_efficiency(lab: Lab, *, payload: int, rate: float, unit: str, hops: int = 1, start: str = "paper") -> Possible:
    """TCP efficiency in % over a link that nothing crosses: first transmissions of the initial window over all sent."""
    length = payload + HEADER_BYTES
    crosses = survival(length, rate, unit)
    return Possible(
        0,
        100 * 2 / (2 + 6),
        f"per bit, a packet of {length} B crosses with (1 - {rate:g})^{8 * length} = {crosses:.1g}, so none does in 200 s; "
        "a timer that starts at 3 s and doubles up to 60 s resends six times: "
        "of at most 2 + 6 packets, 2 are first transmissions, 25 %",
    )


def smallest_packet_efficiency(lab: Lab, *, rate: float) -> Possible:
    """TCP efficiency in % of packets of 80 B with a rate per bit: no more than the share that crosses."""
    share = 100 * survival(PACKET_MIN_BYTES, rate, "bit")
    return Possible(0, share, f"per bit, of packets of 80 B (1 - {rate:g})^640 = {share:.2f} % cross")


def header_bound(lab: Lab, *, length: int) -> Possible:
    """Information efficiency in % of packets of one size: no more than the payload's share."""
    share = 100 * header_efficiency(length)
    return Possible(0, share, f"of {length} B, {HEADER_BYTES} B are header: at most {share:g} %")


def packets_before_estimate(lab: Lab) -> Possible:
    """Packets that a sender sends at the initial size: the estimate needs a window of records first (Algorithm 1)."""
    return Possible(RECORDS, math.inf, f"the first estimate follows {RECORDS} records of packets of the initial size")

"""Measures for claims about NewReno, datagrams over the fixed Iridium path, and the paper's equations."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe.papers import Finding, Possible

from .formulas import (
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
    smooth,
    survival,
)
from .notices import *  # noqa: F403 - the measures of the proposal are looked up here
from .proposal import *  # noqa: F403
from .runs import ERROR, PATH, SATPEP, SCHEMES, SMSS, column, gateways, hop_window_packets, scheme_flows, share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bentpipe import RunResult
    from bentpipe.papers import Lab

    from .runs import Sets

UPLINK = "uplink"
WINDOW_SEGMENTS = 20
CODEWORD_BYTES = 255
CORRECTS_BYTES = 64
INTERLEAVE = "link.up.forward.interleave"
CODE: Sets = {INTERLEAVE: f'{{ span = "10 ms", codeword = "{CODEWORD_BYTES} B", corrects = "{CORRECTS_BYTES} B" }}'}
INTERLEAVER: Sets = {INTERLEAVE: '{ span = "200 ms", corrects = "0 B" }'}
DATAGRAM_HEADER_BYTES = 28
PACKETS_MAX = 468_750
"""Of 80 B that 1.5 Mbit/s carry in 200 s."""
SPACING_S = 0.01
"""Time between two datagrams of the scenario, and its interval of recording."""


# NewReno over the path


def transfers(
    lab: Lab,
    *,
    payload: int,
    rate: float,
    unit: str,
    hops: int = 1,
    acks: bool = False,
    start: str = "paper",
    scheme: str = "NewReno",
) -> pl.DataFrame:
    """The table `flows` of a scheme's runs with one payload at one error rate, a row per replication, in order.

    `hops`: links to the ground with errors; 2 is the downlink to the receiver, too. `acks`: errors hit ACKs on both
    links to the ground. `start`: "paper" sends the first data at once in a window of one segment; "ns-2" opens with a
    SYN and begins with two segments.
    """
    sets: Sets = {f"{ERROR}.kind": unit, f"{ERROR}.rate": rate}
    if hops == 2:
        sets |= {"link.down.forward.error.kind": unit, "link.down.forward.error.rate": rate}
    if acks:
        for link in ("up", "down"):
            sets |= {f"link.{link}.reverse.error.kind": unit, f"link.{link}.reverse.error.rate": rate}
    if start == "ns-2":
        sets |= {"tcp.handshake": True, "tcp.initial_window": "2 segments"}
    # Runs with many errors send few packets: they scatter much and cost little. Per bit and per packet a few runs are
    # enough, since their values are far from all printed ones.
    quick = {"bit": 20, "byte": {1e-2: 100, 1e-3: 50, 1e-4: 10}[rate], "packet": 5}[unit]
    return scheme_flows(lab, scheme, sets, payload, lab.choose(quick, 10 * quick))


def tcp_efficiency(lab: Lab, *, payload: int, rate: float, unit: str, hops: int = 1, **world: Any) -> Finding:
    """TCP efficiency in % (equation 6, RFC 6349): column `tcp_efficiency_pct`."""
    flows = transfers(lab, payload=payload, rate=rate, unit=unit, hops=hops, **world)
    crosses = survival(payload + HEADER_BYTES, rate, unit) ** hops
    note = f"{column(flows, 'sent_packets').mean():.0f} packets sent; one crosses with probability {crosses:.3g}"
    return share(column(flows, "tcp_efficiency_pct"), note)


def information_efficiency(lab: Lab, *, payload: int, rate: float, unit: str, hops: int = 1, **world: Any) -> Finding:
    """Information efficiency in % (equation 7): 100 x column `information_efficiency`."""
    flows = transfers(lab, payload=payload, rate=rate, unit=unit, hops=hops, **world)
    length = payload + HEADER_BYTES
    e_h, e_p = header_efficiency(length), survival(length, rate, unit) ** hops
    note = f"arithmetic of one packet: {e_h:.4f} x {e_p:.4g} = {100 * e_h * e_p:.3g} %"
    return Finding.mean(100 * column(flows, "information_efficiency"), note)


def smallest_step(lab: Lab, *, rates: list[float], unit: str) -> Finding:
    """Least rise of TCP efficiency from one size to the next smaller one, in points, paired by seed."""
    steps = []
    for rate in rates:
        found = [
            column(transfers(lab, payload=payload, rate=rate, unit=unit), "tcp_efficiency_pct")
            for payload in PAYLOADS_BYTES
        ]
        for place in range(1, len(found)):
            larger, smaller = PAYLOADS_BYTES[place - 1 : place + 1]
            steps.append((found[place] - found[place - 1], f"from {larger} to {smaller} B of payload at {rate:g}"))
    rise, where = min(steps, key=lambda step: float(step[0].mean()))
    return Finding.mean(rise, where)


def best_sizes(lab: Lab, *, unit: str) -> Finding:
    """Number of the two steps from 0.01 over 0.001 to 0.0001 at which the best of the five sizes grows.

    The best size has the highest information efficiency in a replication. No size is best if nothing arrives.
    """
    best = []
    for rate in RATES:
        found = [transfers(lab, payload=payload, rate=rate, unit=unit) for payload in PAYLOADS_BYTES]
        table = np.array([column(flows, "information_efficiency") for flows in found])
        best.append(np.where(table.max(axis=0) > 0, np.array(PAYLOADS_BYTES)[table.argmax(axis=0)], np.nan))
    known = [sizes[~np.isnan(sizes)] for sizes in best]
    usual = ", ".join(
        f"{rate:g}: " + (f"{np.median(sizes):g} B" if len(sizes) else "none")
        for rate, sizes in zip(RATES, known, strict=True)
    )
    pairs = min(len(sizes) for sizes in best)
    high, middle, low = (sizes[:pairs] for sizes in best)
    return Finding.mean((middle > high) + 1.0 * (low > middle), f"best payload, median, at {usual}")


def first_packet_times_out(lab: Lab, *, rate: float, unit: str) -> Finding:
    """Share of runs whose timer retransmits the first packet, mean over packets of 240, 540 and 1540 B."""
    # The first timeout is at 3 s. Before it nothing was delivered only if the first packet was lost.
    sets: Sets = {f"{ERROR}.kind": unit, f"{ERROR}.rate": rate, "duration": "3.01 s"}
    shares = {}
    for payload in (1500, 500, 200):
        flows = scheme_flows(lab, "NewReno", sets, payload, lab.choose(50, 500))
        shares[payload] = (column(flows, "timeouts") > 0) & (column(flows, "delivered_bytes") == 0)
    note = ", ".join(f"{payload + HEADER_BYTES} B {lost.mean():.3f}" for payload, lost in shares.items())
    return Finding.mean(np.mean(list(shares.values()), axis=0), note)


# Traces


def resent_per_corrupted(lab: Lab) -> Finding:
    """Bytes retransmitted after one packet of 1540 or 140 B is corrupted: largest difference to 1500 and 100, in B."""
    resent = {}
    for payload in (1500, 100):
        sets: Sets = {SMSS: f"{payload} B", ERROR: '{ kind = "arrivals", list = [200] }', "duration": "20 s"}
        resent[payload] = float(lab.run(PATH, sets).flows["retransmitted_bytes"][0])
    largest = max(abs(found - payload) for payload, found in resent.items())
    return Finding.exact(largest, ", ".join(f"{payload + 40} B: {found:g} B" for payload, found in resent.items()))


def ssthresh_after_first_timeout(lab: Lab, *, scheme: str = "NewReno", of: str = "ssthresh") -> Finding:
    """Slow start threshold in segments right after a timeout with a window of one segment: the first packet is lost.

    `of`: "growth" is the window 1 s after the timeout over that 1 s after a start without a loss.
    """
    payload = 200
    sets: Sets = {SMSS: f"{payload} B", ERROR: '{ kind = "arrivals", list = [0] }', "duration": "20 s"}
    path = SCHEMES[scheme]
    if scheme in SATPEP:
        return _find_doubling(lab, path, sets | gateways(scheme, payload) | {"duration": "3 s"}, payload)
    result = lab.run(path, sets, series=["events", "cwnd_bytes", "ssthresh_bytes"])
    timeouts_s = result.events.filter(pl.col("event") == "timeout")["time_s"]
    if timeouts_s.is_empty() and of == "growth":
        return Finding(None, note="no timeout")
    if timeouts_s.is_empty():
        return Finding.exact(result.series("ssthresh_bytes")["ssthresh_bytes"][-1] / payload, "no timeout")
    timeout_s = timeouts_s[0]
    before = result.series("cwnd_bytes").filter(pl.col("time_s") < timeout_s)["cwnd_bytes"][-1] / payload
    after = result.series("ssthresh_bytes").filter(pl.col("time_s") >= timeout_s)["ssthresh_bytes"][0] / payload
    clean = lab.run(path, sets | {ERROR: "none"}, series=["cwnd_bytes"])
    windows = [_find_window(run, start_s + 1, payload) for run, start_s in ((result, timeout_s), (clean, 0.0))]
    note = f"cwnd {before:g} at the timeout, {windows[0]:.1f} after 1 s more; without a loss {windows[1]:.1f} after 1 s"
    return Finding.exact(windows[0] / windows[1] if of == "growth" else after, note)


def _find_doubling(lab: Lab, path: str, sets: Sets, payload: int) -> Finding:
    """Packets up to which SaTPEP's gateway, whose threshold is not recorded, doubles what it sends in a round trip."""
    found, notes = [], []
    for error in (sets[ERROR], "none"):
        result = lab.run(path, sets | {ERROR: error, "record.interval": "10 ms"}, series=["carried_bps"])
        sent = result.series("carried_bps", link="up.forward")["carried_bps"].to_numpy() * 0.01 / 8
        # A round trip is ten intervals. At first, the packets of a round trip fit into three.
        times = np.flatnonzero(sent)
        bursts = np.split(times, np.flatnonzero(np.diff(times) > 3) + 1)
        packets = [round(sent[burst].sum() / (payload + HEADER_BYTES)) for burst in bursts]
        rounds = [count for count in packets if count][:6]
        found.append(next((now for now, later in itertools.pairwise(rounds) if later < 2 * now), rounds[-1]))
        notes.append(", ".join(map(str, rounds)))
    return Finding.exact(found[0], f"packets in round trips: {notes[0]}; without a loss {notes[1]}")


def _find_window(result: RunResult, time_s: float, payload: int) -> float:
    """Congestion window at an instant, in segments."""
    return float(result.series("cwnd_bytes").filter(pl.col("time_s") <= time_s)["cwnd_bytes"][-1]) / payload


def mean_window_ratio(lab: Lab, *, rate: float, unit: str, scheme: str = "NewReno") -> Finding:
    """Mean window with errors over that without, averaged over the five sizes; a window is at most 20 segments."""
    ratios = []
    for seed in lab.seeds(3, 20):
        of_sizes = []
        for payload in PAYLOADS_BYTES:
            sets: Sets = {SMSS: f"{payload} B", f"{ERROR}.kind": unit}
            of_sizes.append(
                _mean_window(lab, scheme, sets | {f"{ERROR}.rate": rate}, payload, seed)
                / _mean_window(lab, scheme, sets | {f"{ERROR}.rate": 0}, payload, 1)
            )
        ratios.append(of_sizes)
    means = np.mean(ratios, axis=0)
    shares = ", ".join(
        f"{payload + HEADER_BYTES} B {mean:.2f}" for payload, mean in zip(PAYLOADS_BYTES, means, strict=True)
    )
    return Finding.mean(np.mean(ratios, axis=1), shares)


def _mean_window(lab: Lab, scheme: str, sets: Sets, payload: int, seed: int) -> float:
    if scheme in SATPEP:
        return hop_window_packets(lab.run(SCHEMES[scheme], sets | gateways(scheme, payload), seed=seed))
    result = lab.run(SCHEMES[scheme], sets, seed=seed, series=["cwnd_bytes"])
    rows = result.series("cwnd_bytes")
    windows = np.minimum(rows["cwnd_bytes"].to_numpy() / payload, WINDOW_SEGMENTS)
    lasting_s = np.diff(np.append(rows["time_s"].to_numpy(), result.simulated_s))
    return float(np.average(windows, weights=lasting_s))


def resends_lost_again(lab: Lab, *, payload: int, rate: float, unit: str) -> Finding:
    """Share of retransmissions that had to be repeated, by a sender that never takes losses for congestion.

    Counts events `retransmission` that another one of the same offset follows. The last retransmission of data that
    were never acknowledged does not count, since its fate is unknown.
    """
    sets: Sets = {
        SMSS: f"{payload} B",
        f"{ERROR}.kind": unit,
        f"{ERROR}.rate": rate,
        "tcp.verdict": "always-link-error",
    }
    shares = []
    for seed in lab.seeds(20, 200):
        events = lab.run(PATH, sets, seed=seed, series=["events"]).events
        resent, acked = (
            events.filter(pl.col("event") == event)["value"].to_numpy() for event in ("retransmission", "acked")
        )
        repeated = len(resent) - len(np.unique(resent))
        known = len(resent) - int(resent.max(initial=-1) >= acked.max(initial=0))
        shares.append(repeated / known if known else None)
    return Finding.mean(
        shares, f"a packet of {payload + 40} B is lost with {1 - survival(payload + 40, rate, unit):.4f}"
    )


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
    """The fate of each packet on the uplink, in order: packets that the satellite forwards in each interval."""
    result = lab.run(UPLINK, _datagrams(length_bytes, rate, unit), seed=seed, series=["carried_bps"])
    passed = result.series("carried_bps", link="on.forward")["carried_bps"].to_numpy() > 0
    # Nothing arrives in the first interval.
    return ~passed[1:]


def fluctuation_ratio(lab: Lab, *, length: int, rate: float, unit: str) -> Finding:
    """Standard deviation of the smoothed estimate (equation 5) over that of the estimates (equation 4), n = 10."""
    ratios, samples_std = [], []
    for seed in lab.seeds(10, 50):
        samples = estimates(lost_packets(lab, length, rate, unit, seed), length)
        # The first windows still remember how the average began.
        ratios.append(smooth(samples)[50:].std() / samples[50:].std())
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
    """Share of lost packets whose next packet is lost, too."""
    shares, gaps = [], []
    for seed in lab.seeds(5, 20):
        lost = lost_packets(lab, payload + HEADER_BYTES, rate, unit, seed)
        runs = np.diff(np.flatnonzero(np.diff(np.r_[False, lost, False].astype(int))))[::2]
        shares.append(1 - len(runs) / lost.sum() if lost.sum() > 0 else None)
        gaps.append(runs.mean() if len(runs) else math.nan)
    if np.isnan(gaps).all():
        return Finding.mean(shares, "nothing is lost")
    gap = np.format_float_positional(np.nanmean(gaps), precision=3, fractional=False, trim="-")
    return Finding.mean(shares, f"mean gap {gap} packets")


def coding_gain(lab: Lab, *, rate: float, unit: str, coded: bool = True) -> Finding:
    """Best information efficiency with a code of about rate 1/2 over the best without, each over six packet sizes.

    The sizes are the paper's five and its smallest. The code is Reed-Solomon (255, 127), which corrects 64 wrong bytes;
    its check bytes count as overhead. `coded`: false compares the link without a code with itself.
    """
    lengths = (PACKET_MIN_BYTES, *(payload + HEADER_BYTES for payload in PAYLOADS_BYTES))
    seeds = lab.seeds(5, 20)
    best = np.zeros((2, len(seeds)))
    for at, seed in enumerate(seeds):
        for length in lengths:
            checks = 2 * CORRECTS_BYTES * math.ceil(length / (CODEWORD_BYTES - 2 * CORRECTS_BYTES)) if coded else 0
            payload, sets = length - HEADER_BYTES, _datagrams(length, rate, unit)
            without_code = payload / length * _arrived_share(lab, sets, seed)
            with_code = payload / (length + checks) * _arrived_share(lab, sets | (CODE if coded else {}), seed)
            best[:, at] = np.maximum(best[:, at], (without_code, with_code))
    without, with_ = 100 * best.mean(axis=1)
    return Finding.mean(best[1] / best[0], f"without {without:.3g} %, with {with_:.3g} %")


def _arrived_share(lab: Lab, sets: Sets, seed: int) -> float:
    row = lab.run(UPLINK, sets, seed=seed).datagrams.row(0, named=True)
    return float(row["arrived_packets"] / (row["arrived_packets"] + row["lost_packets"]))


def burst_spread(lab: Lab, *, interleaved: bool = True) -> Finding:
    """Packets of 1540 B that a burst costs, interleaved over 200 ms over not interleaved, of the same bursts.

    `interleaved`: false compares the link without an interleaver with itself.
    """
    ways: tuple[Sets, Sets] = ({}, INTERLEAVER if interleaved else {})
    costs = np.array([[_lost_per_burst(lab, more, seed) for more in ways] for seed in lab.seeds(5, 20)])
    plain, interleaved = costs.mean(axis=0)
    return Finding.mean(
        costs[:, 1] / costs[:, 0], f"a burst of 10 ms costs {plain:.1f} packets, {interleaved:.1f} when interleaved"
    )


def _lost_per_burst(lab: Lab, more: Sets, seed: int) -> float:
    """Packets of 1540 B lost for each burst of 10 ms on average, one in 2 s, in which a byte in ten is wrong."""
    burst = '{ kind = "gilbert-elliott", unit = "byte", mean_good = "2 s", mean_bad = "10 ms", rate_bad = 0.1 }'
    result = lab.run(UPLINK, {ERROR: burst} | more, seed=seed)
    return float(result.datagrams["lost_packets"][0]) / (result.simulated_s / 2.01)


def notice_ratio(lab: Lab) -> Finding:
    """Round trip from the sender to the satellite that finds errors over the one to the receiver, packets of 1540 B."""
    # One packet to each, one after the other, so that neither waits for the other.
    packet = '{ kind = "file", size = "1500 B" }'
    probe = f'{{ from = "sender", to = "sat1", start = "1 s", app = {packet} }}'
    sets: Sets = {ERROR: "none", "duration": "2 s", "flow.ftp.app": packet, "flow.probe": probe}
    rtts_s = [
        float(lab.run(PATH, sets).flows.filter(pl.col("flow") == name)["rtt_min_s"][0]) for name in ("probe", "ftp")
    ]
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
        f"22 and 70 B give 80 B; 2236 B of at most 1540 give {above[0]} B, 224 B of at most 140 give {above[1]} B",
    )


def extremes_are_bad(lab: Lab) -> Finding:
    """Statements of two that hold: 20 B are less than half of their packet; S_p at 1e-6 exceeds an MTU of 1500 B."""
    share = 20 / (20 + HEADER_BYTES)
    largest = optimum_bytes(1e-6)
    held = int(share < 0.5) + int(largest > 1500)
    return Finding.exact(
        held, f"20 / 60 = {share:.3f} (as a packet, 20 B are less than its header); {largest:.0f} B > 1500 B"
    )


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


# Bounds by arithmetic


def stalled_efficiency(lab: Lab, *, payload: int, rate: float, unit: str, **_: object) -> Possible:
    """TCP efficiency in % over a link that nothing crosses: first transmissions of the initial window over all sent."""
    length = payload + HEADER_BYTES
    crosses = survival(length, rate, unit)
    if unit != "bit":
        return Possible(0, 100, "some cross, and the share of first transmissions is measured")
    return Possible(
        0,
        100 * 2 / (2 + 6),
        f"per bit, a packet of {length} B crosses with (1 - {rate:g})^{8 * length} = {crosses:.1g}, none in 200 s. "
        "The timer starts at 3 s, doubles up to 60 s and expires six times. "
        "Of at most 2 + 6 packets, 2 are first transmissions: 25 %",
    )


def smallest_packet_efficiency(lab: Lab, *, rate: float, unit: str, **_: object) -> Possible:
    """TCP efficiency in % of packets of 80 B: if hardly any cross, at most these and the last window."""
    share = 100 * survival(PACKET_MIN_BYTES, rate, unit)
    if unit != "bit":
        # Many cross, so the share of first transmissions must be measured.
        return Possible(0, 100, f"per {unit}, of packets of 80 B {share:.2f} % cross")
    # The last window may not have crossed yet. A run of 200 s sends thousands of packets.
    last = 100 * WINDOW_SEGMENTS / 10_000
    return Possible(
        0,
        share + last,
        f"per bit, of packets of 80 B (1 - {rate:g})^640 = {share:.2f} % cross; the last window {last:g} %",
    )


def header_bound(lab: Lab, *, length: int, **_: object) -> Possible:
    """Information efficiency in % of packets of one size: no more than the payload's share."""
    share = 100 * header_efficiency(length)
    return Possible(0, share, f"of {length} B, {HEADER_BYTES} B are header: at most {share:g} %")


def packets_before_estimate(lab: Lab, *, is_warm: bool, **_: object) -> Possible:
    """Packets that a sender sends at the initial size: the estimate needs a window of records first (Algorithm 1)."""
    if is_warm:
        return Possible(1, PACKETS_MAX, "the first packet has the initial size, the next may have another")
    return Possible(RECORDS, PACKETS_MAX, f"the first estimate follows {RECORDS} packets of the initial size")

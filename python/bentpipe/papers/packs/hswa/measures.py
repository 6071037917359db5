"""Measures for claims about HSWA and Enhanced HSWA, and their bounds by arithmetic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe.papers import Finding, Possible

# Claims look up measures by arithmetic here, too.
from .formulas import (  # noqa: F401
    PACKET_BYTES,
    RATE_BPS,
    UNITS_BITS,
    average_gain,
    average_gain_possible,
    distance_from_line,
    increment_possible,
    increment_without_loss,
    least_step_down,
    packets_needed,
    passed_share,
    round_trip,
    round_trip_possible,
)
from .runs import (
    ERROR_KIND,
    ERROR_RATE,
    FLAVOURS,
    RTT_MS,
    SCENARIO,
    SEGMENT_BYTES,
    bdp_segments,
    legs,
    settings,
    throughputs,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from bentpipe.papers import Lab

# --- Throughput


def throughput(
    lab: Lab,
    *,
    cc: str,
    rates: Sequence[float],
    error: str = "packet",
    connections: int = 1,
    of: str = "least",
    **reading: Any,
) -> Finding:
    """Throughput per connection in bit/s at the error rate where it is least, or most.

    Bytes that reached the receivers' TCP, headers and duplicates included, over the run's time and the number of
    connections (`flows.throughput_bps`). Of more than two error rates, quick runs have the highest.
    """
    rates = rates if len(rates) < 3 else lab.choose(rates[-1:], rates)
    curve = throughputs(lab, cc=cc, rates=rates, error=error, connections=connections, **reading)
    note = _packets_note(cc, rates, **reading) if (error, connections) == ("packet", 1) else ""
    findings = {rate: Finding.mean(values, note) for rate, values in curve.items()}
    choose = min if of == "least" else max
    return choose(findings.values(), key=lambda finding: finding.value or 0.0)


def _packets_note(
    cc: str, rates: Sequence[float], *, segment_bytes: int = SEGMENT_BYTES, rtt_ms: float = RTT_MS, **_: Any
) -> str:
    """A note with the packets per round trip, and the packets that the printed throughput needs."""
    if cc != "hswa" or len(rates) > 1 or not 1e-5 <= rates[0] <= 1e-3:
        return ""
    held = bdp_segments(segment_bytes, rtt_ms)
    needed = f"{packets_needed(rates[0]):.0f}"
    return f"A round trip holds {held} packets; with a step per ACK the printed value takes {needed}."


def throughput_ratio(
    lab: Lab,
    *,
    cc: str,
    rate: float,
    to_rate: float,
    connections: int = 1,
    to_connections: int = 1,
    **reading: Any,
) -> Finding:
    """Throughput per connection at a packet error rate over that at another, pairs of equal seeds."""
    # Pairs need equal numbers of runs.
    reading["replications"] = lab.choose(4 if max(rate, to_rate) >= 1e-4 else 2, 10)
    values = throughputs(lab, cc=cc, rates=[rate], connections=connections, **reading)[rate]
    others = throughputs(lab, cc=cc, rates=[to_rate], connections=to_connections, **reading)[to_rate]
    note = f"{np.mean(values) / 1e6:.1f} of {np.mean(others) / 1e6:.1f} Mbit/s"
    return Finding.mean(values / others, note)


def falls_with_three(lab: Lab, **reading: Any) -> Finding:
    """Largest distance in bit/s of three differences of averages of three connections from the claimed differences.

    The claim: from 1e-3 to 1e-2 Enhanced HSWA loses 5 Mbit/s and HSWA 20. At 1e-3 both are equal. Seeds are paired.
    """
    both = [throughputs(lab, cc=cc, rates=[1e-3, 1e-2], connections=3, **reading) for cc in ("enhanced-hswa", "hswa")]
    enhanced, hswa = (curve[1e-3] - curve[1e-2] for curve in both)
    ahead = both[0][1e-3] - both[1][1e-3]
    note = (
        f"Enhanced HSWA loses {np.mean(enhanced) / 1e6:.1f} Mbit/s, HSWA {np.mean(hswa) / 1e6:.1f}; at 1e-3 Enhanced "
        f"HSWA has {np.mean(ahead) / 1e6:+.1f} more"
    )
    distances = [abs(enhanced - 5e6), abs(hswa - 20e6), abs(ahead)]
    return max((Finding.mean(each, note) for each in distances), key=lambda finding: finding.value or 0.0)


def best_step(lab: Lab, *, others: Sequence[float], of: str = "best", **reading: Any) -> Finding:
    """HSWA's mean throughput with A = 10 over that with the best other A, or the worst, pairs of equal seeds.

    Means over packet error rates of 1e-5 to 1e-2 with equal weight; quick runs have 1e-4 and 1e-3, and 5 and 20 for A.
    """
    rates = lab.choose((1e-4, 1e-3), (1e-5, 1e-4, 1e-3, 1e-2))
    others = lab.choose((5.0, 20.0), others)
    means = {}
    for a in (10.0, *others):
        curve = throughputs(lab, cc="hswa", rates=rates, more={"a": a}, **reading)
        means[a] = np.mean(list(curve.values()), axis=0)
    choose = max if of == "best" else min
    other = choose(others, key=lambda a: float(means[a].mean()))
    listed = ", ".join(f"A = {a:g}: {mean.mean() / 1e6:.1f}" for a, mean in sorted(means.items()))
    return Finding.mean(means[10.0] / means[other], f"Mbit/s with {listed}")


def least_lead(lab: Lab, *, cc: str, over: Sequence[str], rates: Sequence[float], **reading: Any) -> Finding:
    """Throughput over that of another sender, pairs of equal seeds, for the sender and error rate where it is least."""
    findings = []
    for rate in rates:
        # Pairs need equal numbers of runs.
        count = lab.choose(4 if rate >= 1e-4 else 2, 10)
        own = throughputs(lab, cc=cc, rates=[rate], replications=count, **reading)[rate]
        for other in over:
            theirs = throughputs(lab, cc=other, rates=[rate], replications=count, **reading)[rate]
            findings.append(Finding.mean(own / theirs, f"{other} at {rate:g}"))
    return min(findings, key=lambda finding: finding.value or 0.0)


def large_windows_only(lab: Lab, *, cc: str) -> Finding:
    """Conditions of two that hold: as fast as SACK with small windows, and faster with large ones."""
    count = lab.choose(8, 20)
    ratios = {}
    for rate in (1e-1, 1e-5):
        own, other = (throughputs(lab, cc=name, rates=[rate], replications=count)[rate] for name in (cc, "sack"))
        ratios[rate] = Finding.mean(own / other)
    small, large = ratios.values()
    is_equal = min(small.low or 0, 2 - (small.high or 0)) >= 0.98
    is_faster = (large.low or 0) > 1.05
    note = f"{small.value:.3f} times SACK's throughput at 1e-1, {large.value:.2f} times at 1e-5"
    return Finding.exact(is_equal + is_faster, note)


def better_constants(lab: Lab) -> Finding:
    """Scalable TCP's goodput at 1e-4 with its own constants over that with the best of a grid, equal seeds.

    The inverse has no upper bound, and a few seeds would decide it.
    """
    kinds = [
        {"kind": "scalable", "increase": increase, "decrease": decrease}
        for increase in (0.01, 0.02, 0.05, 0.1)
        for decrease in (0.125, 0.05)
    ]
    sets = {ERROR_KIND: "packet", ERROR_RATE: 1e-4}
    runs = lab.sweep(SCENARIO, sets, vary={"tcp.cc": kinds}, replications=lab.choose(8, 20)).runs
    each = runs.group_by("tcp.cc", maintain_order=True).agg(pl.col("goodput_bps"))
    own, *others = (np.array(values) for values in each["goodput_bps"])
    best = max(range(len(others)), key=lambda at: float(others[at].mean()))
    kind = kinds[best + 1]
    note = f"best with an increase of {kind['increase']} and a decrease of {kind['decrease']}"
    return Finding.mean(own / others[best], note)


def ceiling(lab: Lab, *, rates: Sequence[float], error: str = "packet", of: str = "least", **_: Any) -> Possible:
    """Largest throughput in bit/s for any congestion control: packets of a full link that the channel leaves whole."""
    shares = [passed_share(rate, error) for rate in rates]
    place = shares.index(min(shares) if of == "least" else max(shares))
    high = RATE_BPS * shares[place]
    power = f"(1 - {rates[place]:g})^{8 * PACKET_BYTES // UNITS_BITS[error]}"
    return Possible(
        0.0,
        high,
        f"with {rates[place]:g} per {error} the channel passes at most 100 Mbit/s x {power} = {high / 1e6:.4g} Mbit/s",
        # The largest packet of any reading, across an edge of the 50 s.
        slack=8 * 6040 / 50,
    )


# --- Other congestion controls


def _goodput_over_priority(lab: Lab, sets: Mapping[str, Any]) -> NDArray[np.float64]:
    runs = lab.sweep("priority", sets, vary={}, replications=lab.choose(3, 10))
    return np.asarray(runs.runs.sort("replication")["goodput_bps"].to_numpy(), dtype=float)


def one_hop_without_priority(lab: Lab) -> Finding:
    """Goodput of Peach with a plain queue at the satellite's link over that with priority at all hops, equal seeds."""
    all_hops = _goodput_over_priority(lab, {"tcp.cc": "peach"})
    plain = _goodput_over_priority(lab, {"tcp.cc": "peach", "link.sat.forward.queue": "50 packets"})
    return Finding.mean(plain / all_hops, f"{np.mean(plain) / 1e6:.2f} of {np.mean(all_hops) / 1e6:.2f} Mbit/s")


def dummies_do_no_harm(lab: Lab) -> Finding:
    """Conditions of two that hold: dummies do not slow data; if the receiver does not know dummies, Peach is Reno.

    The first: goodput with Peach is at least that with NewReno, less 2 %, with priority at all hops. The second: with
    equal seeds the goodput of each run is that of Reno with the same recovery.
    """
    recovery = {"tcp.recovery": "newreno"}
    peach, newreno, reno = (
        _goodput_over_priority(lab, {"tcp.cc": cc, **recovery}) for cc in ("peach", "newreno", "reno")
    )
    blind = _goodput_over_priority(lab, {"tcp.cc": {"kind": "peach", "receiver_knows": False}, **recovery})
    lead = Finding.mean(peach / newreno)
    note = (
        f"{lead.value:.2f} times NewReno's goodput; with a receiver that does not know dummies at most "
        f"{100 * np.max(np.abs(blind / reno - 1)):.2g} % from Reno's"
    )
    return Finding.exact(int((lead.low or 0) >= 0.98) + int(np.allclose(blind, reno, rtol=1e-12)), note)


def expanding_period(lab: Lab) -> Finding:
    """Swift's window expanding period over the round trip, mean over the recoveries of a run; see HSWA-05.

    The period is from the end of recovery to the ACK of the last segment sent before it, in units of the median round
    trip. A run without a finished recovery has no such period and gives no value.
    """
    ratios = []
    seeds = lab.seeds(3, 10)
    for seed in seeds:
        sets = {"tcp.cc": "swift", ERROR_KIND: "packet", ERROR_RATE: 1e-4, "duration": "20 s"}
        result = lab.run(SCENARIO, sets, seed=seed, series=["events"])
        lengths = []
        sent, end_s, until = 0, None, 0
        for time_s, event, value in result.events.select("time_s", "event", "value").iter_rows():
            if event == "sent":
                sent = max(sent, value + SEGMENT_BYTES)
            elif event == "recovery_exit":
                # Packets that this ACK releases are not sent yet.
                end_s, until = time_s, sent
            elif event in ("fast_retransmit", "timeout"):
                end_s = None
            elif event == "acked" and end_s is not None and value >= until:
                lengths.append(time_s - end_s)
                end_s = None
        rtt_s = float(result.flows["rtt_p50_s"][0])
        if lengths:
            ratios.append(float(np.mean(lengths)) / rtt_s)
    return Finding.mean(ratios, f"in {len(ratios)} of {len(seeds)} runs")


def time_below_product(lab: Lab, *, cc: str, less: str) -> Finding:
    """Share of 50 s without errors in which the window is below the bandwidth-delay product, less that of another."""
    shares = [_share_below_product(lab, each) for each in (cc, less)]
    return Finding.exact(shares[0] - shares[1], f"{100 * shares[0]:.1f} % less {100 * shares[1]:.1f} % with {less}")


def _share_below_product(lab: Lab, cc: str) -> float:
    # The error rate that is given, not that of the link, which has none.
    windows = lab.run(SCENARIO, settings(cc, rate=1e-8), series=["cwnd_bytes"]).series("cwnd_bytes")
    times_s = np.append(windows["time_s"].to_numpy(), 50.0)
    is_below = windows["cwnd_bytes"].to_numpy() < SEGMENT_BYTES * bdp_segments()
    return float(np.sum(np.diff(times_s) * is_below) + times_s[0]) / 50.0


# --- Paths and windows


def window_law(lab: Lab) -> Finding:
    """Largest deviation of goodput x round trip / window from 1, in the steady state without losses.

    The round trip is that of propagation. The window is the advertised one, which the congestion window has reached.
    """
    worst, where = 0.0, ""
    for rtt_ms in (30, 50, 510):
        for segments in (16, 256):
            sets = legs(rtt_ms) | {"tcp.receive_buffer": f"{segments} segments"}
            # Whole round trips: a window comes in one burst.
            begin_s, end_s = 20 * rtt_ms / 1000, 60 * rtt_ms / 1000
            begin, end = (
                _goodputs(lab, sets | {"duration": f"{s:g} s"}, replications=1)[0] * s for s in (begin_s, end_s)
            )
            ratio = (end - begin) / 40 / (8 * SEGMENT_BYTES * segments)
            if abs(ratio - 1) >= abs(worst):
                worst, where = ratio - 1, f"{segments} segments and {rtt_ms} ms"
    return Finding.exact(worst, f"with {where}")


def long_slow_start(lab: Lab) -> Finding:
    """Time of NewReno until the window holds 125 segments at a round trip of 10 ms over that at 510 ms.

    125 segments are the bandwidth-delay product of 10 ms. The time starts with the open connection.
    """
    # The same window on both paths: otherwise the ratio would be below 1 even if delays had no effect.
    times = {rtt_ms: _time_to_window_s(lab, rtt_ms, 125) for rtt_ms in (10, 510)}
    filled_s = _time_to_window_s(lab, 510, 6375)
    note = (
        f"125 segments are reached in {times[510]:.2f} s at 510 ms and {times[10]:.3f} s at 10 ms, the 6375 that "
        f"fill the longer path in {filled_s:.2f} s"
    )
    return Finding.exact(times[10] / times[510], note)


def needless_reductions(lab: Lab) -> Finding:
    """Goodput of NewReno in 20 s at 510 ms with 1e-4 of the packets corrupted over that if losses reduce no window.

    It does not count if a queue overflowed, since the reduction would then be needed.
    """
    sets = {"tcp.cc": "newreno", "duration": "20 s", ERROR_RATE: 1e-4}
    verdicts = ["always-congestion", "always-link-error"]
    runs = lab.sweep(SCENARIO, sets, vary={"tcp.verdict": verdicts}, replications=lab.choose(4, 10), tables=["links"])
    of_reducing = pl.col("tcp.verdict") == verdicts[0]
    if runs.tables["links"].filter(of_reducing)["dropped_packets"].sum():
        return Finding(None, note="queues overflowed: not all reductions were for errors")
    hit, held = (
        runs.runs.filter(which).sort("replication")["goodput_bps"].to_numpy() for which in (of_reducing, ~of_reducing)
    )
    note = f"{np.mean(hit) / 1e6:.2f} Mbit/s, without reductions {np.mean(held) / 1e6:.2f} Mbit/s"
    return Finding.mean(hit / held, note)


def _time_to_window_s(lab: Lab, rtt_ms: int, segments: int) -> float:
    """Time from the open connection until the window has this many segments, from an initial window of one."""
    sets = legs(rtt_ms) | {"tcp.cc": "newreno", "tcp.initial_window": "1 segment", "duration": "8 s"}
    result = lab.run(SCENARIO, sets, series=["cwnd_bytes", "events"])
    opened_s = result.events.filter(pl.col("event") == "established")["time_s"][0]
    reached = result.series("cwnd_bytes").filter(pl.col("cwnd_bytes") >= SEGMENT_BYTES * segments)
    return float(reached["time_s"][0] - opened_s)


def time_in_recovery(lab: Lab, *, rate: float, to_rate: float, **reading: Any) -> Finding:
    """Share of the time that HSWA spends in loss recovery or after a timeout at a packet error rate, less at another.

    Recovery lasts from fast retransmit or timeout until the ACK of all data sent before it.
    """
    shares = {
        each: [_repairing_share(lab, each, seed, **reading) for seed in lab.seeds(3, 10)] for each in (rate, to_rate)
    }
    note = ", ".join(f"{100 * np.mean(share):.0f} % at {each:g}" for each, share in shares.items())
    return Finding.mean(np.subtract(shares[rate], shares[to_rate]), note)


def _repairing_share(lab: Lab, rate: float, seed: int, *, error: str, **reading: Any) -> float:
    sets = {ERROR_KIND: error, ERROR_RATE: rate, "duration": "20 s", **settings("hswa", rate=rate, **reading)}
    segment_bytes = reading.get("segment_bytes", SEGMENT_BYTES)
    events = lab.run(SCENARIO, sets, seed=seed, series=["events"]).events
    known = events.filter(pl.col("event").is_in(["sent", "acked", "fast_retransmit", "timeout"]))
    sent, recover, since_s, repaired_s = 0, 0, None, 0.0
    for time_s, event, value in known.select("time_s", "event", "value").iter_rows():
        if event == "sent":
            sent = max(sent, value + segment_bytes)
        elif event == "acked":
            if since_s is not None and value >= recover:
                repaired_s, since_s = repaired_s + time_s - since_s, None
        else:
            recover, since_s = sent, time_s if since_s is None else since_s
    return (repaired_s + (20.0 - since_s if since_s is not None else 0.0)) / 20.0


def throughput_without_reactions(lab: Lab, *, rate: float, to_rate: float, **reading: Any) -> Finding:
    """HSWA's throughput at a packet error rate over that at another, if losses change no window; equal seeds."""
    shares = {}
    for each in (rate, to_rate):
        sets = {ERROR_KIND: reading["error"], ERROR_RATE: each, "duration": "20 s", "tcp.verdict": "always-link-error"}
        sets |= settings("hswa", rate=each, **{key: value for key, value in reading.items() if key != "error"})
        shares[each] = _goodputs(lab, sets, lab.choose(3, 10))
    note = ", ".join(f"{np.mean(share) / 1e6:.1f} Mbit/s at {each:g}" for each, share in shares.items())
    return Finding.mean(shares[rate] / shares[to_rate], note)


def adjustments_without_loss(lab: Lab, *, rate: float = 0.0, counts: str = "changes", cc: str = "hswa") -> Finding:
    """Increment of eq. 3.1 in segments without a loss, or reductions of the window without a loss (`counts`)."""
    if counts == "changes":
        return increment_without_loss(lab, rate=rate)
    found = _cuts(lab, cc)
    return Finding.exact(found, f"{found} in 20 s")


def adjustments_possible(lab: Lab, *, rate: float = 0.0, counts: str = "changes", **_: Any) -> Possible:
    """Range of changes of the window by eq. 3.1. Reductions are measured."""
    if counts == "changes":
        return increment_possible(lab, rate=rate)
    return Possible(0.0, math.inf, "eq. 3.1 does not reduce the window")


def cuts_without_loss(lab: Lab, **reading: Any) -> Finding:
    """Reductions of the window that no loss and no timeout precedes, Enhanced HSWA's less HSWA's; three connections.

    Series `cwnd_bytes`, without errors on the link; a loss precedes if recovery or the slow start after a timeout began
    within the second before.
    """
    # Nothing is random here.
    enhanced, hswa = (_cuts(lab, cc, **reading) for cc in ("enhanced-hswa", "hswa"))
    return Finding.exact(enhanced - hswa, f"{enhanced} of Enhanced HSWA and {hswa} of HSWA in 20 s")


def _cuts(lab: Lab, cc: str, **reading: Any) -> int:
    sets = {"flow.transfer.count": 3, "duration": "20 s", **settings(cc, rate=1e-6, **reading)}
    result = lab.run(SCENARIO, sets, series=["cwnd_bytes", "events"])
    losses = result.events.filter(pl.col("event").is_in(["fast_retransmit", "timeout"]))
    windows = result.series("cwnd_bytes")
    cuts = 0
    for flow in windows["flow"].unique():
        own = windows.filter(pl.col("flow") == flow)
        falls_s = own.filter(pl.col("cwnd_bytes").diff() < 0)["time_s"].to_numpy()
        lost_s = losses.filter(pl.col("flow") == flow)["time_s"].to_numpy()
        before = np.searchsorted(lost_s, falls_s, side="right")
        last_s = np.concatenate([[-math.inf], lost_s])[before]
        cuts += int(np.sum(falls_s - last_s > 1.0))
    return cuts


def share_of_errors(lab: Lab, *, window: str, connections: int = 1) -> Finding:
    """Share of bit errors in all lost packets (table `links`), the existing senders together."""
    sets: dict[str, Any] = {
        "duration": "20 s",
        ERROR_RATE: 1e-4,
        "tcp.receive_buffer": window,
        "flow.transfer.count": connections,
    }
    if window == "unlimited":
        # Otherwise slow start would end at the bandwidth-delay product.
        sets["tcp.initial_ssthresh"] = "unlimited"
    runs = lab.sweep(SCENARIO, sets, vary={"tcp.cc": list(FLAVOURS)}, replications=lab.choose(4, 10), tables=["links"])
    links = runs.tables["links"]
    lost = links.group_by("replication").agg(pl.col("corrupted_packets", "dropped_packets").sum()).sort("replication")
    errors, overflowed = lost["corrupted_packets"].to_numpy(), lost["dropped_packets"].to_numpy()
    # Without losses there is no share.
    shares = [
        error / (error + other) if error + other else None for error, other in zip(errors, overflowed, strict=True)
    ]
    note = f"in all, {errors.sum()} packets were corrupted and {overflowed.sum()} overflowed a queue"
    return Finding.mean(shares, note)


def residual_loss(
    lab: Lab, *, span: str, rates: Sequence[float], is_burst: bool = False, is_coded: bool = True
) -> Finding:
    """Share of datagrams lost behind the code over the share lost without it, the largest over the error rates.

    The datagrams (table `datagrams`) leave at 10 Mbit/s and have the size of the paper's packets. In bursts of 1 ms on
    average, about every 50 ms, each bit is wrong with the given probability, else none.
    """
    findings = []
    for rate in rates:
        error: dict[str, Any] = {"kind": "bit", "rate": rate}
        if is_burst:
            error = {"kind": "gilbert-elliott", "unit": "bit", "mean_good": "50 ms", "mean_bad": "1 ms"}
            error["rate_bad"] = rate
        plain = _lost_shares(lab, {"error": error})
        coded = _lost_shares(lab, {"error": error, **({"interleave": {"span": span}} if is_coded else {})})
        note = f"{100 * np.mean(plain):.3g} % lost without the code, {100 * np.mean(coded):.3g} % behind it"
        findings.append(Finding.mean(coded / plain, f"at {rate:g} per bit: {note}"))
    # A missing value must not hide behind the others.
    return max(findings, key=lambda finding: math.inf if finding.value is None else finding.value)


def residual_loss_of_arq(
    lab: Lab, *, retransmissions: int, rate: float = 1e-5, combining: str | None = None
) -> Finding:
    """Share of datagrams lost on a link that retransmits over the share lost on a link that does not.

    The satellite processes packets, since a bent pipe keeps none to retransmit. With `combining`, both links have the
    code of rate 1/2, and the link that retransmits decodes a packet from all of its copies.
    """
    channel: dict[str, Any] = {"error": {"kind": "bit", "rate": rate}}
    on_board = {"node.GEO.kind": "processing"}
    arq: dict[str, Any] = {"retransmissions": retransmissions}
    if combining is not None:
        channel["coding"] = {"kind": "convolutional"}
        arq["combining"] = combining
    plain = _lost_shares(lab, channel, on_board)
    # A link that does not retransmit has no such setting.
    repaired = _lost_shares(lab, {**channel, **({"arq": arq} if retransmissions else {})}, on_board)
    note = f"{100 * np.mean(plain):.3g} % lost without, {100 * np.mean(repaired):.3g} % if the link retransmits"
    return Finding.mean(repaired / plain, note)


def _lost_shares(lab: Lab, channel: Mapping[str, Any], more: Mapping[str, Any] | None = None) -> NDArray[np.float64]:
    sets = {
        **(more or {}),
        "duration": "5 s",
        "link.downlink.forward": channel,
        # 28 B of headers make the packets of 1040 B.
        "flow.transfer.app": {"kind": "cbr", "rate": "10 Mbit/s", "size": "1012 B"},
    }
    runs = lab.sweep(SCENARIO, sets, vary={}, replications=lab.choose(3, 10), tables=["datagrams"])
    datagrams = runs.tables["datagrams"].sort("replication")
    lost, arrived = (datagrams[name].to_numpy() for name in ("lost_packets", "arrived_packets"))
    # Only packets whose fate is known: the code delays, so more packets are in flight when the run ends.
    return np.asarray(lost / (lost + arrived), dtype=float)


def _goodputs(lab: Lab, sets: Mapping[str, Any], replications: int) -> NDArray[np.float64]:
    runs = lab.sweep(SCENARIO, sets, vary={}, replications=replications)
    return runs.runs.sort("replication")["goodput_bps"].to_numpy()


# --- Proxies

# At the earth station in front of the satellite. A round trip of data fits twice: one is under way, one waits.
_SPOOF = {"kind": "spoof", "buffer": "13 MB", "window": "6375 kB"}
# Losses behind the proxy are errors, and the proxy takes them for errors: the purpose of splitting.
_SPLIT = {"kind": "split", "buffer": "13 MB", "listener": {"verdict": "always-link-error"}}


def early_ack_time(lab: Lab) -> Finding:
    """Time until 1 MB has arrived with a proxy that acknowledges early over that without, pairs of equal seeds."""
    sets = {"flow.transfer.app": {"kind": "file", "size": "1 MB"}}
    times = [
        _flows(lab, {**sets, **proxy}, lab.choose(2, 10))["completion_rx_s"].to_numpy()
        for proxy in ({"node.ES1.middlebox": [_SPOOF]}, {})
    ]
    note = f"{np.mean(times[0]):.2f} s with the proxy, {np.mean(times[1]):.2f} s without"
    return Finding.mean(times[0] / times[1], note)


def split_goodput(lab: Lab) -> Finding:
    """Goodput in 50 s at a packet error rate of 1e-4 with a splitting proxy over that without, pairs of equal seeds.

    Towards the satellite the proxy takes losses for errors: it knows that the queue of its link does not overflow.
    """
    sets = {ERROR_KIND: "packet", ERROR_RATE: 1e-4}
    goodputs = [
        _goodputs(lab, {**sets, **proxy}, lab.choose(20, 100)) for proxy in ({"node.ES1.middlebox": [_SPLIT]}, {})
    ]
    note = " and ".join(f"{np.mean(each) / 1e6:.1f} Mbit/s" for each in goodputs) + " without the proxy"
    return Finding.mean(goodputs[0] / goodputs[1], note)


def split_lost_bytes(lab: Lab) -> Finding:
    """Bytes acknowledged to the sender less those that reached the receiver, when the proxy stops after 10 s of 20."""
    proxy = {**_SPLIT, "fails_at": "10 s"}
    sets = {"duration": "20 s", "node.ES1.middlebox": [proxy]}
    flows = _flows(lab, sets, lab.choose(2, 10))
    lost = (flows["acked_bytes"] - flows["delivered_bytes"]).to_numpy()
    return Finding.mean(lost.astype(float), "")


def _flows(lab: Lab, sets: Mapping[str, Any], replications: int) -> pl.DataFrame:
    runs = lab.sweep(SCENARIO, sets, vary={}, replications=replications, tables=["flows"])
    return runs.tables["flows"].sort("replication")

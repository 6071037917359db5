"""Measures for claims about the proposal: BEEN over the fixed Iridium path, beside NewReno and SaTPEP."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe.papers import Finding

from .formulas import HEADER_BYTES, PACKET_MIN_BYTES, PAYLOADS_BYTES
from .runs import ERROR, SATPEP, SCHEMES, SMSS, column, gateways, hop_window_packets, scheme_flows, share

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from bentpipe import RunResult
    from bentpipe.papers import Lab

    from .runs import Sets

    Pair: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]

__all__ = [
    "before_first_ack",
    "efficiency_spread",
    "first_packet_of_second",
    "goodput_by_largest",
    "growth_above_threshold",
    "growth_per_round",
    "inflations",
    "largest_ratio",
    "median_packet",
    "notices_alone",
    "orders_that_hold",
    "packets_above_smallest",
    "proposal_efficiency",
    "proposal_information",
    "scheme_spread",
    "sizes_below_optimum",
    "smallest_ratio",
    "timeouts_per_run",
    "window_ratio",
]

METRICS = ("throughput_bps", "goodput_bps", "delivered_bytes")
"""Metrics of the paper's comparison."""
DURATION_S = 200
LINK_BPS = 1.5e6
ALIVE = 0.01
"""Least share of the link's rate that the proposal delivers in a network in which schemes are compared."""
WINDOW_PACKETS = 20
"""Largest number of packets in flight, and the threshold of slow start."""
ROUNDS = 4
"""Round trips of slow start from one packet to sixteen, of at most twenty."""


def world(
    *,
    rate: float,
    unit: str = "byte",
    cwnd_unit: str = "packets",
    gives: str = "payload",
    resend: str = "whole",
    **more: str | float,
) -> Sets:
    """The errors of a reading, and the settings of the proposal, which estimates in the unit of the errors.

    `resend`: "whole", a reported segment leaves at once in pieces of the current size, or "packet", one piece does.
    """
    sets: Sets = {f"{ERROR}.kind": unit, f"{ERROR}.rate": rate}
    if unit == "bit":
        sets["node.gateway.middlebox"] = '[{ kind = "been", role = "gateway", mle_unit = "bit" }]'
    if resend != "whole":
        sets["tcp.report_resend"] = resend
    return sets | {"tcp.cwnd_unit": cwnd_unit, "tcp.packet_size.gives": gives, **more}


def one_size(sets: Sets) -> Sets:
    """The overrides, with packets that keep their size."""
    return {key: value for key, value in sets.items() if "packet_size" not in key} | {"tcp.packet_size": "fixed"}


def select_flows(lab: Lab, scheme: str, payload: int, sets: Sets) -> pl.DataFrame:
    """Runs of a scheme, paired with those of other schemes, which take no settings of the proposal."""
    if scheme != "BEEN":
        sets = {key: value for key, value in sets.items() if key.startswith(ERROR)}
    return scheme_flows(lab, scheme, sets, payload, lab.choose(10, 100))


def table(lab: Lab, scheme: str, name: str, sets: Sets) -> NDArray[np.float64]:
    """One column, a row per initial size and a column per replication."""
    return np.array([column(select_flows(lab, scheme, payload, sets), name) for payload in PAYLOADS_BYTES])


def by_size(values: NDArray[np.float64], digits: int = 1) -> str:
    """Means for each initial packet, for notes."""
    means = np.nanmean(values, axis=1)
    return ", ".join(
        f"{payload + HEADER_BYTES} B {mean:.{digits}f}" for payload, mean in zip(PAYLOADS_BYTES, means, strict=True)
    )


# Efficiency


def proposal_efficiency(lab: Lab, **reading: Any) -> Finding:
    """TCP efficiency of BEEN in %, mean over the five initial sizes."""
    values = table(lab, "BEEN", "tcp_efficiency_pct", world(**reading))
    return share(np.asarray(values.mean(axis=0)), by_size(values))


def proposal_information(lab: Lab, *, length: int | None = None, **reading: Any) -> Finding:
    """Information efficiency of BEEN in %, mean over the five initial sizes.

    `length`: the packet size of the reading; 80 B: the optimum is taken as the packet.
    """
    if length is not None:
        reading["gives"] = "packet" if length == PACKET_MIN_BYTES else "payload"
    values = 100 * table(lab, "BEEN", "information_efficiency", world(**reading))
    return Finding.mean(values.mean(axis=0), by_size(values))


def efficiency_spread(lab: Lab, **reading: Any) -> Finding:
    """Difference of the mean efficiencies of BEEN between initial sizes: 1 - smallest / largest.

    The larger value of TCP and information efficiency.
    """
    sets = world(**reading)
    found: list[NDArray[np.float64]] = []
    notes = []
    if note := dead(table(lab, "BEEN", "goodput_bps", sets)):
        return Finding(None, note=note)
    for name, factor in (("tcp_efficiency_pct", 1), ("information_efficiency", 100)):
        values = factor * table(lab, "BEEN", name, sets)
        means = values.mean(axis=1)
        # Positive, since something arrives and nothing is counted twice.
        found.append(1 - quotient(values[means.argmin()], values[means.argmax()], 1.0))
        notes.append(by_size(values, 2))
    largest = max(found, key=lambda values: float(np.mean(values)))
    return Finding.mean(largest, "; ".join(notes))


def scheme_spread(lab: Lab, *, others: list[str], than: float | None = None, **reading: Any) -> Finding:
    """Largest difference of TCP efficiency between two schemes over the five initial sizes, in points.

    `than`: the difference at this error rate is subtracted, so that less than 0 is closer than there.
    """
    spread, means = _spread(lab, ["BEEN", *others], world(**reading))
    if than is None:
        return Finding.mean(spread, means)
    other, _ = _spread(lab, ["BEEN", *others], world(**{**reading, "rate": than}))
    return Finding.mean(spread - other, f"{np.nanmean(spread):.1f} points; at {than:g} {np.nanmean(other):.1f} points")


def _spread(lab: Lab, schemes: list[str], sets: Sets) -> tuple[NDArray[np.float64], str]:
    values = np.array([table(lab, scheme, "tcp_efficiency_pct", sets) for scheme in schemes])
    means = "; ".join(f"{scheme}: {by_size(each)}" for scheme, each in zip(schemes, values, strict=True))
    return (values.max(axis=0) - values.min(axis=0)).max(axis=0), means


# Orders


def quotient(mine: NDArray[np.float64], its: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """Ratio of the means of paired runs: values whose mean is this ratio and whose spread gives its interval.

    The ratio is linearised at the means, so runs in which nothing arrives count as well. If nothing of the second
    arrives in any run, `least` in one of them takes its place. If nothing of either arrives, there is no ratio (nan).
    """
    if not its.any():
        return len(its) * mine / least if mine.any() else np.full_like(mine, math.nan)
    ratio = mine.mean() / its.mean()
    values: NDArray[np.float64] = ratio + (mine - ratio * its) / its.mean()
    return values


def dead(goodputs_bps: NDArray[np.float64]) -> str:
    """Note on a network that carries hardly anything: nothing can be compared there. Empty for other networks."""
    mean_bps = float(goodputs_bps.mean())
    if mean_bps >= ALIVE * LINK_BPS:
        return ""
    return f"a dead network: BEEN delivers {mean_bps:.3g} bit/s of {LINK_BPS / 1e6:g} Mbit/s"


def one_packet(metric: str, payload: int) -> float:
    """Value of a metric if one packet arrives in a run."""
    return float(payload) if metric == "delivered_bytes" else 8 * payload / DURATION_S


def compare_schemes(lab: Lab, others: list[str], payloads: list[int], sets: Sets) -> list[tuple[Pair, float, str]]:
    """Values of BEEN and of each other scheme by size and metric, that of one packet, and a note of their means."""
    found = []
    for payload in payloads:
        been = select_flows(lab, "BEEN", payload, sets)
        for scheme in others:
            other = select_flows(lab, scheme, payload, sets)
            for metric in METRICS:
                mine, its = column(been, metric), column(other, metric)
                means = f"BEEN {mine.mean():.4g}, {scheme} {its.mean():.4g}"
                note = f"{metric}, {payload + HEADER_BYTES} B: {means}"
                found.append(((mine, its), one_packet(metric, payload), note))
    return found


def smallest_ratio(lab: Lab, *, others: list[str], payloads: list[int] | None = None, **reading: Any) -> Finding:
    """Smallest ratio of the means of BEEN to those of the others over sizes and metrics."""
    return _extreme_ratio(lab, others, payloads, reading, is_largest=False)


def largest_ratio(lab: Lab, *, others: list[str], payloads: list[int] | None = None, **reading: Any) -> Finding:
    """Largest ratio of the means of the others to those of BEEN over sizes and metrics."""
    return _extreme_ratio(lab, others, payloads, reading, is_largest=True)


def _extreme_ratio(
    lab: Lab, others: list[str], payloads: list[int] | None, reading: dict[str, Any], *, is_largest: bool
) -> Finding:
    sets, payloads = world(**reading), payloads or list(PAYLOADS_BYTES)
    if note := dead(
        np.array([column(select_flows(lab, "BEEN", payload, sets), "goodput_bps") for payload in payloads])
    ):
        return Finding(None, note=note)
    found = compare_schemes(lab, others, payloads, sets)
    each = [
        (quotient(its, mine, least) if is_largest else quotient(mine, its, least), note)
        for (mine, its), least, note in found
    ]
    return extreme(each, is_largest=is_largest)


def extreme(each: list[tuple[NDArray[np.float64], str]], *, is_largest: bool) -> Finding:
    """The largest or smallest mean of several ratios; none if one of them is of nothing to nothing."""
    if lost := [note for values, note in each if np.isnan(values).all()]:
        return Finding(None, note=f"nothing to compare: {lost[0]}")
    values, where = (max if is_largest else min)(each, key=lambda pair: float(pair[0].mean()))
    return Finding.mean(values, where)


def orders_that_hold(lab: Lab, *, others: list[str], **reading: Any) -> Finding:
    """Share of the orders BEEN-13, -20, -30 and -37 that hold: their intervals on the right side."""
    # The upper end for the first two, the lower end for the others.
    ends = [
        largest_ratio(lab, others=others, rate=1e-2, **reading).high,
        largest_ratio(lab, others=["NewReno"], payloads=[50], rate=1e-2, **reading).high,
        smallest_ratio(lab, others=others, payloads=[50], rate=1e-3, **reading).low,
        smallest_ratio(lab, others=others, rate=1e-4, **reading).low,
    ]
    poor, lower, higher, highest = (math.nan if end is None else end for end in ends)
    holds = [poor < 0.5, lower < 1, higher > 1, highest > 1]
    names = ("BEEN-13", "BEEN-20", "BEEN-30", "BEEN-37")
    note = ", ".join(f"{name} {'holds' if held else 'fails'}" for name, held in zip(names, holds, strict=True))
    return Finding.exact(float(np.mean(holds)), note)


def goodput_by_largest(lab: Lab, **reading: Any) -> Finding:
    """Goodput of BEEN with packets of 90 B at most over that with 140 B at most."""
    small, large = (
        column(select_flows(lab, "BEEN", payload, world(**reading)), "goodput_bps") for payload in (50, 100)
    )
    least = one_packet("goodput_bps", 100)
    return Finding.mean(quotient(small, large, least), f"{small.mean():.0f} and {large.mean():.0f} bit/s")


def notices_alone(lab: Lab, *, payload: int, **reading: Any) -> Finding:
    """Goodput of BEEN with packets of one size over that of NewReno with the same."""
    sets = world(**reading)
    been = column(select_flows(lab, "BEEN", payload, one_size(sets)), "goodput_bps")
    newreno = column(select_flows(lab, "NewReno", payload, sets), "goodput_bps")
    least = one_packet("goodput_bps", payload)
    return Finding.mean(quotient(been, newreno, least), f"{been.mean():.4g} and {newreno.mean():.4g} bit/s")


def sizes_below_optimum(lab: Lab, *, schemes: list[str], **reading: Any) -> Finding:
    """Largest ratio of the goodput with packets of 240, 140 or 90 B to that with 540 B, over the schemes."""
    found = []
    for scheme in schemes:
        large = column(select_flows(lab, scheme, 500, world(**reading)), "goodput_bps")
        for payload in (200, 100, 50):
            small = column(select_flows(lab, scheme, payload, world(**reading)), "goodput_bps")
            least = one_packet("goodput_bps", 500)
            found.append((quotient(small, large, least), f"{scheme}, {payload + HEADER_BYTES} B"))
    return extreme(found, is_largest=True)


def timeouts_per_run(lab: Lab, **reading: Any) -> Finding:
    """Timeouts of BEEN in a run, mean over the five initial sizes."""
    values = table(lab, "BEEN", "timeouts", world(**reading))
    return Finding.mean(values.mean(axis=0), by_size(values, 2))


# Traces


def trace(lab: Lab, payload: int, sets: Sets, seed: int | None = None, scheme: str = "BEEN") -> RunResult:
    """One run of a scheme with its events and windows."""
    if scheme != "BEEN":
        sets = {key: value for key, value in sets.items() if key.startswith(ERROR)}
    if scheme in SATPEP:
        sets = sets | gateways(scheme, payload)
    series = ["events", "cwnd_bytes", "ssthresh_bytes", "flight_size_bytes"]
    return lab.run(SCHEMES[scheme], sets | {SMSS: f"{payload} B"}, seed=seed, series=series)


def events(result: RunResult, *names: str) -> pl.DataFrame:
    """Events of the flow `ftp`, in order."""
    return result.events.filter(pl.col("event").is_in(names) & (pl.col("flow") == "ftp"))


def sample_series(result: RunResult, name: str, times_s: NDArray[np.floating[Any]], side: str) -> NDArray[np.float64]:
    """A series that is recorded when it changes, right before (`left`) or after (`right`) these instants."""
    rows = result.series(name)
    place = np.searchsorted(rows["time_s"].to_numpy(), times_s, side="left" if side == "left" else "right") - 1
    values = rows[name].cast(pl.Float64).to_numpy()
    if len(values) == 0:
        return np.full(len(place), math.nan)
    return np.where(place >= 0, values[np.maximum(place, 0)], math.nan)


def packets_above_smallest(lab: Lab, *, is_warm: bool, **reading: Any) -> Finding:
    """Packets of more than 80 B at the start of a connection, mean over the five initial sizes.

    The start ends at the first packet whose offset is not a multiple of the initial payload.
    """
    prior: Sets = {"node.gateway.middlebox": '[{ kind = "been", role = "gateway", prior = 0.01 }]'} if is_warm else {}
    counts = []
    for seed in lab.seeds(10, 100):
        of_sizes = []
        for payload in PAYLOADS_BYTES:
            result = trace(lab, payload, world(**reading) | prior | {"duration": "20 s"}, seed)
            sent = events(result, "sent", "retransmission")
            times_s, offsets = sent["time_s"].to_numpy(), sent["value"].to_numpy()
            first_s = times_s[offsets % payload != 0].min(initial=math.inf)
            of_sizes.append((times_s < first_s).sum())
        counts.append(of_sizes)
    return Finding.mean(np.mean(counts, axis=1), by_size(np.array(counts, dtype=float).T))


def sent_sizes(result: RunResult) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Time at which each new segment except the last left, and its payload in B."""
    sent = events(result, "sent")
    return sent["time_s"].to_numpy()[:-1], np.diff(sent["value"].to_numpy()).astype(float)


def median_packet(lab: Lab, **reading: Any) -> Finding:
    """Median size of the new packets that BEEN sends, over the five initial sizes, in B."""
    medians = []
    for seed in lab.seeds(3, 20):
        results = [trace(lab, payload, world(**reading), seed) for payload in PAYLOADS_BYTES]
        medians.append(float(np.median(np.concatenate([sent_sizes(result)[1] for result in results]))) + HEADER_BYTES)
    return Finding.mean(medians)


def before_first_ack(lab: Lab) -> Finding:
    """Timeouts before the first ACK in runs whose first packet is corrupted, most over the five initial sizes."""
    counts, resent_ms = [], []
    for payload in PAYLOADS_BYTES:
        sets: Sets = {ERROR: '{ kind = "arrivals", list = [0] }', "duration": "20 s"}
        result = trace(lab, payload, sets)
        acked_s = events(result, "acked")["time_s"].min()
        counts.append(events(result, "timeout").filter(pl.col("time_s") < acked_s).height)
        resent_ms.append(1e3 * float(events(result, "retransmission")["time_s"].to_numpy().min(initial=math.inf)))
    return Finding.exact(max(counts), f"retransmitted after {min(resent_ms):.1f} to {max(resent_ms):.1f} ms")


def inflations(lab: Lab, *, payload: int, **reading: Any) -> Finding:
    """Share of recoveries with more data in flight than the window, which then keeps its value, and grows.

    The series of the window does not contain the inflation; data in flight beyond the window shows it. Recoveries with
    20 packets or more do not count, as the receiver's window lets no more out. Few others are left, so a value comes
    from four runs.
    """
    sets = one_size(world(**reading))
    groups: list[list[bool]] = []
    for number, seed in enumerate(lab.seeds(20, 100)):
        result = trace(lab, payload, sets, seed)
        ends_s = events(result, "recovery_exit")["time_s"].to_numpy()
        begins_s = np.append(0.0, ends_s)[:-1]
        flight = result.series("flight_size_bytes")
        if number % 4 == 0:
            groups.append([])
        for begin_s, end_s, next_s in zip(begins_s, ends_s, np.append(ends_s, result.simulated_s)[1:], strict=True):
            before, after, later = (
                float(sample_series(result, "cwnd_bytes", np.array([at_s]), side)[0])
                for at_s, side in ((end_s, "left"), (end_s, "right"), (next_s, "left"))
            )
            if before >= WINDOW_PACKETS * payload:
                continue
            inside = flight.filter(pl.col("time_s").is_between(begin_s, end_s))["flight_size_bytes"].to_numpy()
            groups[-1].append(
                bool(inside.max(initial=0) > before and before <= after <= before + payload and later > before)
            )
    shares = [float(np.mean(held)) if held else None for held in groups]
    return Finding.mean(shares, f"{sum(map(len, groups))} recoveries")


def windows_packets(result: RunResult, times_s: NDArray[np.floating[Any]], payload: int) -> NDArray[np.float64]:
    """Window at these instants in packets of the size that was then sent."""
    at_s, sizes = sent_sizes(result)
    place = np.searchsorted(at_s, times_s, side="right") - 1
    size = np.where(place >= 0, sizes[np.maximum(place, 0)], payload) if len(sizes) else np.full(len(times_s), payload)
    return sample_series(result, "cwnd_bytes", times_s, "right") / size


def window_ratio(lab: Lab, *, others: list[str], **reading: Any) -> Finding:
    """Mean window of BEEN in packets over the larger one of the others, mean over the five initial sizes."""
    sets, found, goodputs_bps = world(**reading), [], []
    for seed in lab.seeds(3, 20):
        of_sizes = []
        for payload in PAYLOADS_BYTES:
            means = []
            for scheme in ["BEEN", *others]:
                result = trace(lab, payload, sets, seed, scheme)
                if scheme == "BEEN":
                    goodputs_bps.append(float(result.flows["goodput_bps"][0]))
                if scheme in SATPEP:
                    means.append(hop_window_packets(result))
                    continue
                times_s = np.arange(0.05, result.simulated_s, 0.1)
                means.append(float(np.nanmean(windows_packets(result, times_s, payload))))
            of_sizes.append(means[0] / max(means[1:]))
        found.append(of_sizes)
    if note := dead(np.array(goodputs_bps)):
        return Finding(None, note=note)
    return Finding.mean(np.mean(found, axis=1), by_size(np.array(found).T, 2))


def growth_per_round(lab: Lab, *, payload: int, **reading: Any) -> Finding:
    """Growth factor of BEEN's window in a round trip of slow start, from one packet to sixteen.

    A round trip is the smallest one seen.
    """
    factors = []
    for seed in lab.seeds(40, 200):
        result = trace(lab, payload, world(**reading) | {"duration": "20 s"}, seed)
        rtt_s = float(result.flows["rtt_min_s"][0])
        # Packets of a round arrive within the next one.
        windows = windows_packets(result, rtt_s * (np.arange(ROUNDS + 1) + 0.5), payload)
        factors.append((windows[-1] / windows[0]) ** (1 / ROUNDS))
    return Finding.mean(factors, f"after {ROUNDS} round trips {windows[-1]:.1f} packets in the last run")


def growth_above_threshold(lab: Lab, *, payload: int, **reading: Any) -> Finding:
    """Growth of BEEN's window in packets while as many packets are acknowledged as it holds, after slow start.

    Round trips with a window of 20 packets or more, in which no loss is repaired and the packet size stays the same.
    """
    steps, counts = [], 0
    for seed in lab.seeds(10, 50):
        result = trace(lab, payload, world(**reading) | {"duration": "20 s"}, seed)
        rtt_s = float(result.flows["rtt_min_s"][0])
        times_s = rtt_s * (np.arange(int(result.simulated_s / rtt_s) - 1) + 0.5)
        windows = windows_packets(result, times_s, payload)
        repairs_s = events(result, "error_report", "retransmission", "fast_retransmit", "recovery_exit")["time_s"]
        acked_s = events(result, "acked")["time_s"]
        sent_s, sizes = sent_sizes(result)
        of_run = []
        for begin_s, end_s, before, after in zip(times_s, times_s[1:], windows, windows[1:], strict=False):
            # A packet sent before a round may be repaired in it.
            is_quiet = not repairs_s.is_between(begin_s - 1.5 * rtt_s, end_s).any()
            sent = sizes[(sent_s > begin_s - rtt_s) & (sent_s <= end_s)]
            if is_quiet and before >= WINDOW_PACKETS and len(set(sent)) == 1:
                acked = acked_s.is_between(begin_s, end_s, closed="right").sum()
                of_run.append((after - before) * (before + after) / 2 / acked if acked else 0.0)
        counts += len(of_run)
        steps.append(float(np.mean(of_run)) if of_run else None)
    return Finding.mean(steps, f"{counts} round trips")


def first_packet_of_second(lab: Lab, *, payload: int, **reading: Any) -> Finding:
    """First packet of a connection that opens at 100 s beside another one behind the same gateway, in B."""
    second = '{ from = "sender", to = "receiver", start = "100 s", app = { kind = "file", size = "2 kB" } }'
    sizes = []
    for seed in lab.seeds(3, 20):
        result = trace(lab, payload, world(**reading) | {"flow.second": second, "duration": "120 s"}, seed)
        sent = result.events.filter((pl.col("event") == "sent") & (pl.col("flow") == "second"))["value"].to_numpy()
        if len(sent) < 2:
            return Finding(None, note="the second connection sends one packet, which does not arrive")
        sizes.append(float(sent[1] - sent[0]) + HEADER_BYTES)
    return Finding.exact(max(sizes)) if len(set(sizes)) == 1 else Finding.mean(sizes)

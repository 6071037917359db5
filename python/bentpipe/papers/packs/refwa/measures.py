"""Measures for claims about recovery, utilisation and fairness. `feedback.py` has those about feedback."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from bentpipe.papers import Finding, Possible

from .feedback import (
    SHORT,
    advantage,
    bulk_queue,
    cost_of_tolerance,
    cure_of_different_rtts,
    detection,
    fairest,
    feedback_proportion,
    feedback_sum,
    held_window,
    keys_beside_the_sender,
    largest_share,
    rule_kept,
    share_of_overflows,
    time_to_follow,
    timeout_ratio,
    utilisation_percent,
    utilisation_ratio,
    window_after_error,
)
from .runs import (
    CAPACITY_BPS,
    FLOWS,
    RATE,
    SMSS_BYTES,
    as_case,
    extreme,
    one_hit,
    only,
    runs,
    sweep,
    values,
    wire_per_payload,
    world_sets,
)

__all__ = [
    "advantage",
    "bulk_queue",
    "cost_of_tolerance",
    "cure_of_different_rtts",
    "detection",
    "fairest",
    "feedback_proportion",
    "feedback_sum",
    "held_window",
    "keys_beside_the_sender",
    "largest_share",
    "rule_kept",
    "share_of_overflows",
    "time_to_follow",
    "timeout_ratio",
    "utilisation_percent",
    "utilisation_ratio",
    "window_after_error",
]

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bentpipe import RunResult
    from bentpipe.papers import Lab

# Recovery.


def round_trips_per_loss(
    lab: Lab, *, timer: str = "impatient", sender: str = "newreno", at_once: bool = False, paced: bool = True
) -> Finding:
    """Round trips from fast retransmit until all data sent before it are acknowledged, for 1 to 8 losses.

    The count is per lost packet, or in total if all packets are retransmitted `at_once`, paced or in one burst. By
    RFC 6582 §3.2, recovery ends when `recover` is acknowledged. The unit is the smallest round-trip time of a single
    flow. The result is the ratio farthest from 1.
    """
    ratios, timeouts = {}, {}
    for losses in range(1, 9):
        # Well after the window is full; the SYN and the ACK after it are packets too.
        hit = [300 + 2 * loss for loss in range(losses)]
        found = lab.run(
            "bottleneck",
            {
                **as_case(lab, sender),
                **({} if paced else {"tcp.feedback": {"kind": "refwa-plus", "bulk_paced": False}}),
                **only(1),
                "tcp.recovery.timer": timer,
                "tcp.window_scaling": False,
                "tcp.receive_buffer": "32 segments",
                "flow.f.start": "0 s",
                "link.isl1.forward.error": {"kind": "arrivals", "list": hit},
                "duration": "20 s",
            },
            series=["events"],
        )
        flow = found.flows.row(0, named=True)
        ratios[losses] = _recovery_s(found.events) / flow["rtt_min_s"] / (1 if at_once else losses)
        timeouts[losses] = flow["timeouts"]
    farthest = max(ratios.values(), key=lambda ratio: abs(ratio - 1))
    listed = ", ".join(
        f"{losses}: {ratio:.2f}" + (" with a timeout" if timeouts[losses] else "") for losses, ratio in ratios.items()
    )
    return Finding.exact(farthest, f"round trips per loss by number of losses: {listed}")


def _recovery_s(events: pl.DataFrame) -> float:
    began = events.filter(pl.col("event") == "fast_retransmit")["time_s"].min()
    sent = events.filter((pl.col("event") == "sent") & (pl.col("time_s") <= began))["value"].max()
    # The offset of the last segment sent: an ACK of this segment is above it.
    ended = events.filter((pl.col("event") == "acked") & (pl.col("value") > sent))["time_s"].min()
    assert isinstance(began, float)
    assert isinstance(ended, float)
    return ended - began


# Figure 3.


def best_utilisation(lab: Lab, *, rate: float, senders: Sequence[str], **world: str) -> Finding:
    """Utilisation (1), the larger of both senders' values."""
    table = runs(lab, [rate], senders, world)
    return extreme({s: values(table, "utilisation_share", sender=s, rate=rate) for s in senders}, largest=True)


def fall_of_fairness(lab: Lab, *, low: float, high: float, senders: Sequence[str], **world: str) -> Finding:
    """F at the lower loss rate less F at the higher, paired, the smaller of the senders'.

    F is missing in a run that delivers nothing.
    """
    table = runs(lab, [low, high], senders, world)
    falls = {s: values(table, "jain", sender=s, rate=low) - values(table, "jain", sender=s, rate=high) for s in senders}
    return extreme(falls, largest=False)


def fairness_at_low_loss(lab: Lab, *, sender: str, **world: str) -> Finding:
    """F (1) over the run, mean over loss rates of 1e-5, 1e-4 and 1e-3; in the note, F within spans of 10 s at 1e-4."""
    rates = [1e-5, 1e-4, 1e-3]
    table = runs(lab, rates, [sender], world)
    used = np.mean([values(table, "utilisation_share", sender=sender, rate=rate) for rate in rates])
    fairness = np.mean([values(table, "jain", sender=sender, rate=rate) for rate in rates], axis=0)
    soon = "" if world else f", F within 10 s {_fairness_of_spans(lab, sender, rate=1e-4, span_s=10):.3f}"
    return Finding.mean(fairness, note=f"utilisation {used:.3f}{soon}")


def _fairness_of_spans(lab: Lab, sender: str, rate: float, span_s: int) -> float:
    """Mean F of the data delivered in each of two spans of `span_s` after 20 s.

    Seeds are equal, so the longer run contains the shorter one.
    """
    delivered = _read_delivered(lab, sender, rate, [20 + span_s * k for k in (0, 1, 2)])
    return float(np.mean([jain(span) for of_run in delivered for span in np.diff(of_run, axis=0)]))


def _read_delivered(lab: Lab, sender: str, rate: float, until_s: Sequence[int]) -> NDArray[np.float64]:
    """Bytes delivered until each instant: replication, instant, flow."""
    ends = [f"{end} s" for end in until_s]
    flows = sweep(lab, [sender], rate, vary={"duration": ends}, tables=("flows",)).tables["flows"]
    order = flows.sort("replication", maintain_order=True)
    by_end = [order.filter(pl.col("duration") == end)["delivered_bytes"].to_numpy().reshape(-1, FLOWS) for end in ends]
    return np.stack(by_end, axis=1).astype(np.float64)


def jain(goodputs: NDArray[np.float64]) -> float:
    """The paper's eq. 2 for equal shares, which cancel."""
    return float(goodputs.sum() ** 2 / (len(goodputs) * (goodputs**2).sum()))


def fairness_bounds(lab: Lab) -> Finding:
    """Values of F, of three, that lie between zero and one: one flow has all, two differ, all have the same.

    The first value is the column `jain` of a run in which one of ten flows sends and nine start after its end.
    """
    waiting = {"from": "s1", "to": "r1", "count": FLOWS - 1, "app": "greedy", "start": "20 s"}
    found = lab.sweep(
        "bottleneck",
        {**only(1), "duration": "10 s", "flow.f.start": "0 s", "flow.waiting": waiting},
        vary={"case": ["newreno"]},
        replications=1,
    )
    indices = [float(found.runs["jain"][0]), jain(np.array([1.0, 3.0])), jain(np.ones(FLOWS))]
    listed = ", ".join(f"{each:.3g}" for each in indices)
    note = (
        f"F = {listed}; (sum x)^2 lies between sum x^2 and N sum x^2, so that F is at least 1/N = {1 / FLOWS:g} for ten"
    )
    return Finding.exact(sum(0 <= each <= 1 for each in indices), note)


def surviving_share(_lab: Lab, *, rate: float, links: int = 1, **_scheme: object) -> Possible:
    """Share of packets that survive these links in %: each packet is delivered once at most."""
    high = 100 * (1 - rate) ** links
    return Possible(0, high, f"(1 - {rate:g})^{links} = {high:.0f} % of the packets arrive")


def cost_of_a_wrong_estimate(lab: Lab, *, rate: float) -> Finding:
    """Utilisation or F (1) that WestwoodNR loses with half or twice its estimate, paired: the largest of four."""
    found = {}
    for factor in (1.0, 0.5, 2.0):
        cc = {"kind": "westwood-nr", "estimate_factor": factor}
        found[factor] = sweep(lab, ["westwood-nr"], rate, sets={"case.westwood-nr.tcp.cc": cc}).runs
    losses = {}
    for column, name in (("utilisation_share", "utilisation"), ("jain", "F")):
        for factor in (0.5, 2.0):
            one, other = (values(found[f], column, sender="westwood-nr", rate=rate) for f in (1.0, factor))
            losses[f"{name} with {factor:g} times"] = one - other
    return extreme(losses, largest=True)


# Reasons why other schemes are slower.


def usual_ssthresh(lab: Lab, *, rate: float, senders: Sequence[str], **world: str) -> Finding:
    """Median of the threshold in segments over flows and four instants of each run, the larger of the senders'.

    Column `ssthresh_end_bytes` of runs that end at 30, 60, 90, 120 s; equal seeds, so each contains the one before.
    """
    instants = [f"{30 * k} s" for k in range(1, 5)]
    found = sweep(lab, senders, rate, world, vary={"duration": instants}, count=lab.choose(4, 20), tables=("flows",))
    smss = SMSS_BYTES[world.get("packet", "payload")]
    known = found.tables["flows"].drop_nulls("ssthresh_end_bytes")
    medians = known.group_by("sender", "replication").agg(packets=pl.col("ssthresh_end_bytes").median() / smss)
    ends = {s: known.filter(pl.col("sender") == s)["ssthresh_end_bytes"].to_numpy() for s in senders}
    small = {s: np.mean(sizes <= 4 * smss) for s, sizes in ends.items() if len(sizes)}
    found_medians = {s: medians.filter(pl.col("sender") == s)["packets"].to_numpy() for s in senders}
    largest = extreme(found_medians, largest=True, digits=1)
    listed = ", ".join(f"{s} {100 * share:.0f} %" for s, share in small.items()) or "no sender has a threshold"
    return Finding(largest.value, largest.low, largest.high, largest.replications, f"at most 4 packets: {listed}")


IDLE_S = 0.2
"""A longer gap between a sender's packets is idle waiting: longer than a round trip, no longer than any timeout."""


def idle_by_backoff(lab: Lab, *, rate: float, senders: Sequence[str], **world: str) -> Finding:
    """Share of the flows' time in gaps of more than 0.2 s between packets, with backoff less without, paired.

    Uses events `sent` and `retransmission`, from the first SYN to the end of the run; the smaller of the senders'.
    """
    shares, listed = {}, []
    for sender in senders:
        case = sender + ("-today" if world.get("stack") == "today" else "")
        sets = {**as_case(lab, case), **world_sets("bottleneck", rate, **world), RATE: rate}
        idle, used = {}, {}
        for on in (True, False):
            runs_ = [
                lab.run("bottleneck", {**sets, **SHORT, "tcp.rto.backoff": on}, seed=seed, series=["events"])
                for seed in lab.seeds(3, 20)
            ]
            idle[on] = np.array([_idle_share(run) for run in runs_])
            payload_bps = np.mean([run.summary["goodput_bps"][0] for run in runs_])
            used[on] = payload_bps * wire_per_payload(world) / CAPACITY_BPS
        shares[sender] = idle[True] - idle[False]
        listed.append(
            f"{sender} idle {idle[True].mean():.2f} and {idle[False].mean():.2f} of the time, "
            f"utilisation {used[True]:.4f} and {used[False]:.4f}"
        )
    least = extreme(shares, largest=False)
    return Finding(least.value, least.low, least.high, least.replications, f"with and without: {'; '.join(listed)}")


def _idle_share(found: RunResult) -> float:
    """Share of all flows' time in gaps between packets that are longer than `IDLE_S`."""
    packets = found.events.filter(pl.col("event").is_in(["sent", "retransmission"])).select("flow", "time_s")
    opened = found.flows.select("flow", time_s="start_s")
    ended = found.flows.select("flow", time_s=pl.lit(found.simulated_s))
    gap = pl.col("time_s").sort().diff()
    gaps = pl.concat([opened, packets, ended]).group_by("flow").agg(idle_s=gap.filter(gap > IDLE_S).sum())
    return float(gaps["idle_s"].sum()) / (FLOWS * found.simulated_s)


def share_of_the_one_hit(lab: Lab, *, sender: str = "newreno", **world: str) -> Finding:
    """Goodput of a flow that loses a packet in 5000 on its own uplink, over the mean of nine that lose none.

    Uses the table of flows, runs of 300 s. All else is equal, so without those losses the ratio would be 1 on average.
    """
    waiting = world_sets("bottleneck", 0, **world).get("link.up.queue", "187 packets")
    apart = {**one_hit(waiting), "duration": "300 s"}
    found = sweep(lab, [sender], 0, world, sets=apart, tables=("flows", "drops"))
    flows = found.tables["flows"].with_columns(is_hit=pl.col("flow") == "hit")
    mean = flows.group_by("replication", "is_hit").agg(pl.col("goodput_bps", "timeouts").mean())
    one, rest = (mean.filter(pl.col("is_hit") == wanted).sort("replication") for wanted in (True, False))
    timeouts = [np.mean(each["timeouts"].to_numpy()) for each in (one, rest)]
    drops = found.tables["drops"]
    errors = drops.filter(pl.col("cause") == "bit-error")["packets"].sum() / len(one)
    note = f"{errors:.1f} errors per run; timeouts per flow {timeouts[0]:.1f}, of the rest {timeouts[1]:.1f}"
    return Finding.mean((one["goodput_bps"] / rest["goodput_bps"]).to_list(), note)


# Other paths and traffic.


def fairness_of_different_rtts(lab: Lab, **world: str) -> Finding:
    """F (1) of ten NewReno flows with round trips from 80 to 240 ms and no errors."""
    found = sweep(lab, ["newreno"], 0, world, file="rtts", tables=("flows",))
    flows = found.tables["flows"].with_columns(rtt=pl.col("flow").str.extract(r"f(\d+)-"))
    mean = flows.group_by("rtt").agg(pl.col("goodput_bps").mean() / 1e6).sort(pl.col("rtt").cast(pl.Int64))
    listed = ", ".join(f"{rtt} ms {goodput:.2f}" for rtt, goodput in mean.iter_rows())
    return Finding.mean(values(found.runs, "jain", sender="newreno", rate=0), note=f"mean goodput, Mbit/s: {listed}")


GUESTS = {
    "from": "s{n}",
    "to": "r{n}",
    "count": FLOWS,
    "app": {
        "kind": "bulk",
        "size": {"kind": "exponential", "mean": "500 kB"},
        "pause": {"kind": "exponential", "mean": "20 s"},
        "reconnect": True,
    },
}
"""Traffic that comes and goes: files on new connections from the same hosts."""


def largest_change(lab: Lab, *, quantities: Sequence[str], senders: Sequence[str]) -> Finding:
    """Largest mean change, by sender and loss rate, from the case of equal round trips and steady traffic.

    Compares utilisation and F with different round trips, and F of the ten greedy flows while others come and go.
    Utilisation with the others is not compared: more senders use more of a lossy link.
    """
    rates = [1e-4, 1e-2, 0.1]
    equal = runs(lab, rates, senders)
    varied = {rate: sweep(lab, senders, rate, file="rtts").runs for rate in rates}
    changes = {}
    for sender in senders:
        for rate in rates:
            at = f"of {sender} at {rate:g}"

            def change(column: str, sender: str = sender, rate: float = rate) -> NDArray[np.float64]:
                tables = (equal, varied[rate])
                before, after = (values(table, column, sender=sender, rate=rate) for table in tables)
                return after - before

            if "utilisation" in quantities:
                changes[f"utilisation {at}, RTTs"] = change("utilisation_share")
            if "fairness" in quantities:
                changes[f"F {at}, RTTs"] = change("jain")
                steady = values(equal, "jain", sender=sender, rate=rate)
                changes[f"F {at}, guests"] = _fairness_with_guests(lab, sender, rate) - steady
    largest = max(changes, key=lambda name: abs(float(np.mean(changes[name]))))
    return Finding.mean(changes[largest], note=largest)


def _fairness_with_guests(lab: Lab, sender: str, rate: float) -> NDArray[np.float64]:
    flows = sweep(lab, [sender], rate, sets={"flow.guest": GUESTS}, tables=("flows",)).tables["flows"]
    greedy = flows.filter(pl.col("flow").str.starts_with("f")).group_by("replication").agg("goodput_bps")
    return np.array([jain(np.array(goodputs)) for goodputs in greedy.sort("replication")["goodput_bps"]])

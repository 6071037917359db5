"""Measures for claims about REFWA's feedback and about REFWA Plus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe.papers import Finding

from .runs import (
    BUFFER_BYTES,
    FLOWS,
    PATH_BYTES,
    RATE,
    SHARE_BPS,
    SMSS_BYTES,
    extreme,
    one_hit,
    only,
    runs,
    scheme_sets,
    sweep,
    values,
    wire_per_payload,
    world_sets,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from bentpipe import RunResult
    from bentpipe.papers import Lab

PLUS = "refwa-plus"
FEEDBACK = "receive_window_bytes"
SMSS = SMSS_BYTES["payload"]
SHORT = {"duration": "60 s"}
"""Settings of runs with traces."""


# Figure 3.


def advantage(
    lab: Lab,
    *,
    column: str,
    sender: str,
    others: Sequence[str],
    rates: Sequence[float],
    relative: bool = False,
    **scheme: Any,
) -> Finding:
    """Smallest paired difference (1) of a sender to others over loss rates, or how much more it has, in %."""
    column = {"utilisation": "utilisation_share", "F": "jain"}[column]
    table = runs(lab, rates, [sender, *others], scheme=scheme)
    found = {}
    for rate in rates:
        own = values(table, column, sender=sender, rate=rate)
        for other in others:
            theirs = values(table, column, sender=other, rate=rate)
            found[f"{other} at {rate:g}"] = 100 * (own / theirs - 1) if relative else own - theirs
    return extreme(found, largest=False)


def fairest(lab: Lab, *, rates: Sequence[float]) -> Finding:
    """Smallest paired difference of F of REFWA or REFWA Plus to that of the other three."""
    table = runs(lab, rates, ["reno", "newreno", "westwood-nr", "refwa", PLUS])
    found = {}
    for rate in rates:
        for own in ("refwa", PLUS):
            for other in ("reno", "newreno", "westwood-nr"):
                pair = [values(table, "jain", sender=sender, rate=rate) for sender in (own, other)]
                found[f"{own} to {other} at {rate:g}"] = pair[0] - pair[1]
    return extreme(found, largest=False, digits=4)


def utilisation_ratio(lab: Lab, *, sender: str, other: str, rates: Sequence[float]) -> Finding:
    """Utilisation of one sender over that of another, paired, at the loss rate where it is farthest from 1."""
    table = runs(lab, rates, [sender, other])
    ratios = {
        rate: values(table, "utilisation_share", sender=sender, rate=rate)
        / values(table, "utilisation_share", sender=other, rate=rate)
        for rate in rates
    }
    farthest = max(ratios, key=lambda rate: abs(float(ratios[rate].mean()) - 1))
    return Finding.mean(ratios[farthest], ", ".join(f"{rate:g}: {ratio.mean():.4f}" for rate, ratio in ratios.items()))


def utilisation_percent(lab: Lab, *, rate: float, links: int = 1, sender: str = PLUS, **scheme: Any) -> Finding:
    """Utilisation in %. `links`: number of links on the path that lose packets."""
    lossy = {"link.isl2.error": {"kind": "packet", "rate": rate}} if links > 1 else {}
    lossy |= {f"link.{name}.forward.error": {"kind": "packet", "rate": rate} for name in ("up", "down") if links > 1}
    table = sweep(lab, [sender], rate, sets={**lossy, **scheme_sets(**scheme)}).runs
    return Finding.mean(100 * values(table, "utilisation_share", sender=sender, rate=rate))


def share_of_overflows(lab: Lab, *, senders: Sequence[str], rates: Sequence[float], **world: str) -> Finding:
    """Share of a run's lost packets that found a queue full, of the sender and loss rate where it is smallest."""
    full = pl.col("packets").filter(pl.col("cause") == "queue-overflow").sum()
    found = {}
    for rate in rates:
        drops = sweep(lab, senders, rate, world, tables=("drops",)).tables["drops"]
        shares = drops.group_by("sender", "replication").agg(share=full / pl.col("packets").sum())
        for sender in senders:
            of_sender = shares.filter(pl.col("sender") == sender)["share"]
            found[f"{sender} at {rate:g}"] = of_sender.to_numpy().astype(np.float64)
    return extreme(found, largest=False)


# Traces: a row of a series is written when the value changes.


def _trace(
    lab: Lab, sender: str, sets: Mapping[str, Any], seed: int | None = None, file: str = "bottleneck"
) -> RunResult:
    series = ["events", "cwnd_bytes", "ssthresh_bytes", FEEDBACK]
    return lab.run(file, sets, case=sender, seed=seed, series=series)


def _read_flow(found: RunResult, series: str, flow: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Instants and values of a series of one flow; the last value of each instant."""
    rows = found.series(series).filter(pl.col("flow") == flow).group_by("time_s", maintain_order=True).last()
    return rows["time_s"].to_numpy(), rows[series].to_numpy().astype(np.float64)


def _sample_track(
    track: tuple[NDArray[np.float64], NDArray[np.float64]], instants: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The value at each instant; NaN before the first."""
    times, found = track
    place = np.searchsorted(times, instants, side="right") - 1
    return np.where(place >= 0, found[np.maximum(place, 0)], np.nan)


def _instants(found: RunResult, flow: str, event: str) -> NDArray[np.float64]:
    return found.events.filter((pl.col("flow") == flow) & (pl.col("event") == event))["time_s"].to_numpy()


def _flows(found: RunResult) -> list[str]:
    return found.flows["flow"].to_list()


def _find_judgements(found: RunResult, flow: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Instants at which a flow found losses by duplicate ACKs, and whether it took them for link errors."""
    losses = _instants(found, flow, "fast_retransmit")
    return losses, np.isin(losses, _instants(found, flow, "link_error"))


def rule_kept(lab: Lab) -> Finding:
    """Share of losses found by duplicate ACKs whose verdict follows eq. 1, for link errors and for congestion.

    Applies the rule to the series of windows: the window of the last ACK before the loss, and that of the third
    duplicate. Ten flows join ten others, so that feedback falls, at loss rates of 0 and 1e-2 with small buffers.
    """
    right, causes = [], {True: 0, False: 0}
    joining = {"flow.late": {"from": "s{n}", "to": "r{n}", "count": FLOWS, "app": "greedy", "start": "20 s"}}
    for rate in (0.0, 1e-2):
        sets = {**world_sets("bottleneck", rate, buffer="link"), **joining, **SHORT, RATE: rate}
        found = _trace(lab, PLUS, sets)
        for flow in _flows(found):
            windows, normal = _read_flow(found, FEEDBACK, flow), _normal_acks(found, flow)
            losses, judged = _find_judgements(found, flow)
            for at, is_error in zip(losses, judged, strict=True):
                before = normal[normal < at]
                if len(before) == 0:
                    continue
                rule = _sample_track(windows, before[-1:])[0] <= _sample_track(windows, np.array([at]))[0]
                right.append(rule == is_error)
                causes[bool(is_error)] += 1
    return Finding.exact(
        float(np.mean(right)), f"{causes[True]} losses taken for errors, {causes[False]} for congestion"
    )


def _normal_acks(found: RunResult, flow: str) -> NDArray[np.float64]:
    """Instants of ACKs that advance outside recovery."""
    rows = found.events.filter(pl.col("flow") == flow)
    normal, highest, until, sent = [], -1, -1, 0
    for time, event, value in rows.select("time_s", "event", "value").iter_rows():
        if event in ("sent", "retransmission"):
            sent = max(sent, value)
        elif event in ("fast_retransmit", "timeout"):
            until = sent
        elif event == "acked" and value > highest:
            highest = value
            if value > until + SMSS:
                normal.append(time)
    return np.array(normal)


def window_after_error(lab: Lab) -> Finding:
    """Window, and threshold, over feedback after each loss that duplicate ACKs showed and that was taken for an error.

    At a loss rate of 1e-2; of the two means the one farther from 1. If no loss is taken for an error, no window is set
    to the feedback: 0.
    """
    found = _trace(lab, PLUS, {**SHORT, RATE: 1e-2})
    ratios: dict[str, list[float]] = {"cwnd_bytes": [], "ssthresh_bytes": []}
    for flow in _flows(found):
        losses, judged = _find_judgements(found, flow)
        feedback = _sample_track(_read_flow(found, FEEDBACK, flow), losses[judged])
        for series, of_series in ratios.items():
            of_series += list(_sample_track(_read_flow(found, series, flow), losses[judged]) / feedback)
    if not ratios["cwnd_bytes"]:
        return Finding.exact(0.0, "no loss is taken for a link error")
    means = {series: float(np.mean(of_series)) for series, of_series in ratios.items()}
    farthest = max(means.values(), key=lambda mean: abs(mean - 1))
    return Finding.exact(farthest, f"{len(ratios['cwnd_bytes'])} losses; window {means['cwnd_bytes']:.3f}")


def timeout_ratio(lab: Lab) -> Finding:
    """Ratio of consecutive waits for the timer in an outage of 3 s, the one farthest from 1.

    The sender takes the losses for link errors.
    """
    down = {"spans": [["20 s", "23 s"]]}
    sets = {"duration": "30 s", "flow.f.start": "0 s", "link.isl1.forward.outage": down, **only(1)}
    times = _instants(_trace(lab, PLUS, sets), "f1", "timeout")
    waits = np.diff(times[(times > 20) & (times < 23.5)])
    ratios = waits[1:] / waits[:-1]
    return Finding.exact(float(max(ratios, key=lambda ratio: abs(ratio - 1))), f"{len(ratios)} pairs of waits")


def held_window(lab: Lab, *, rate: float, **scheme: Any) -> Finding:
    """Share of time in which the smaller of congestion window and feedback is within a packet of the feedback.

    A congestion window above the feedback is not used: the receiver's window holds the sender. From 10 s on.
    """
    grid = np.arange(10, 60, 0.01)
    shares = []
    for seed in lab.seeds(4, 20):
        found = _trace(lab, PLUS, {**SHORT, **scheme_sets(**scheme), RATE: rate}, seed)
        held = [
            _sample_track(_read_flow(found, "cwnd_bytes", flow), grid)
            >= _sample_track(_read_flow(found, FEEDBACK, flow), grid) - SMSS
            for flow in _flows(found)
        ]
        shares.append(float(np.mean(held)))
    return Finding.mean(shares)


# Verdicts on losses: the columns of `flows` compare them with the cause of each loss.

_UNSEEN = pl.col("errors_taken_for_congestion")


def detection(lab: Lab, *, rate: float, quantity: str, **scheme: Any) -> Finding:
    """Number of ten flows that take none of their link errors for congestion, or the correlation with goodput.

    The correlation is between goodput and the share of lost packets taken for link errors. At this rate almost all
    losses are link errors.
    """
    flows = sweep(lab, [PLUS], rate, sets=scheme_sets(**scheme), tables=("flows",)).tables["flows"]
    # A sender without losses recognises all of them.
    seen = (1 - _UNSEEN / pl.col("link_losses")).fill_nan(1.0).alias("seen")
    by_run = flows.with_columns(seen).group_by("replication", maintain_order=True)
    found = by_run.agg(
        flows=(_UNSEEN == 0).sum(), correlation=pl.corr("seen", "goodput_bps"), seen=pl.col("seen").mean()
    )
    recognised = float(found["seen"].to_numpy().mean())
    overflows = flows["congestion_losses"].sum()
    return Finding.mean(
        found[quantity].to_list(), f"share recognised {recognised:.3f}; {overflows} packets overflowed in all"
    )


def cost_of_tolerance(lab: Lab, *, quantity: str, counted: str = "half") -> Finding:
    """Effect of a tolerance of 0.2: paired differences.

    "unseen": share of link errors taken for congestion at a loss rate of 0.1, without tolerance less with it. "false":
    share of congestion taken for errors, with tolerance less without, on small buffers without errors while flows join.
    """
    guests = {
        "from": "s{n}",
        "to": "r{n}",
        "count": FLOWS,
        "start": {"uniform": ["20 s", "40 s"]},
        "app": "greedy",
    }
    is_unseen = quantity == "unseen"
    rate = 0.1 if is_unseen else 0.0
    sets = dict(SHORT) if is_unseen else {**SHORT, **world_sets("bottleneck", 0, buffer="link"), "flow.guest": guests}
    taken, lost = (
        (_UNSEEN, "link_losses") if is_unseen else (pl.col("congestion_taken_for_errors"), "congestion_losses")
    )
    shares = {}
    for tolerance in lab.choose((0.0, 0.05, 0.2), (0.0, 0.01, 0.05, 0.1, 0.2)):
        changed = {**sets, **scheme_sets(tolerance=tolerance, counted=counted)}
        flows = sweep(lab, [PLUS], rate, sets=changed, tables=("flows",)).tables["flows"]
        by_run = flows.group_by("replication", maintain_order=True).agg(share=taken.sum() / pl.col(lost).sum())
        shares[tolerance] = by_run["share"].to_numpy().astype(np.float64)
    change = shares[0.0] - shares[0.2] if is_unseen else shares[0.2] - shares[0.0]
    listed = ", ".join(
        f"{tolerance:g}: {np.nanmean(of):.4f}" for tolerance, of in shares.items() if np.isfinite(of).any()
    )
    # A run without losses by congestion has no share.
    return Finding.mean(change[np.isfinite(change)].tolist(), f"shares by tolerance {listed}")


# Feedback by the satellites.


def feedback_sum(lab: Lab, *, product: str = "path", counted: str = "half") -> Finding:
    """Sum of the windows fed back over the bandwidth-delay product, mean over a run from 20 s on.

    Round trips of 80 to 240 ms. `product`: "path", capacity times mean round trip, or "free", which adds the free part
    of half of the buffer. `counted`: the share of its buffer that REFWA counts.
    """
    found, told, grid = _fed_back(lab, counted)
    waiting = found.series("queue_bytes", link="isl1.forward").filter(pl.col("time_s") >= grid[0])["queue_bytes"]
    # An empty queue has no row.
    queue = float(waiting.to_numpy().mean()) if len(waiting) else 0.0
    size = PATH_BYTES + (BUFFER_BYTES["path"] / 2 - queue if product == "free" else 0.0)
    ratio = float(np.sum(list(told.values()), axis=0).mean()) / size
    return Finding.exact(ratio, f"mean queue {queue:.0f} B, product {size:.0f} B")


def feedback_proportion(lab: Lab) -> Finding:
    """Window fed back over round trip, of the flows of 240 ms over those of 80 ms, mean over a run from 20 s on."""
    _, told, _ = _fed_back(lab, "half")

    def per_round_trip(rtt: int) -> float:
        return float(np.mean([track / rtt for flow, track in told.items() if flow.startswith(f"f{rtt}-")]))

    return Finding.exact(per_round_trip(240) / per_round_trip(80))


def _fed_back(lab: Lab, counted: str) -> tuple[RunResult, dict[str, NDArray[np.float64]], NDArray[np.float64]]:
    """A run of REFWA with different round trips, the windows fed back to each flow, and their instants."""
    found = lab.run("rtts", {**SHORT, **scheme_sets(counted=counted)}, case="refwa", series=[FEEDBACK, "queue_bytes"])
    grid = np.arange(20, 60, 0.01)
    return found, {flow: _sample_track(_read_flow(found, FEEDBACK, flow), grid) for flow in _flows(found)}, grid


def time_to_follow(lab: Lab, *, quantity: str) -> Finding:
    """Time (s) until feedback follows ten flows that join ten others at 30 s, or its ratio after they left.

    Feedback has followed if the first flow's window is within a tenth of its settled value. If feedback does not fall,
    the time is that to the end of the run. The flows leave after 4 MB each. The ratio is of 5 s after the last left.
    """
    guests = {"from": "s{n}", "to": "r{n}", "count": FLOWS, "app": {"kind": "file", "size": "4 MB"}, "start": "30 s"}
    found = _trace(lab, "refwa", {"flow.guest": guests})
    track = _read_flow(found, FEEDBACK, "f1")
    settled = float(_sample_track(track, np.arange(35, 60, 0.1)).mean())
    if quantity == "time":
        times, windows = track
        before = _sample_track(track, np.array([29.9]))[0]
        fallen = times[(times > 30) & (windows < 1.1 * settled)] if settled < before else times[:0]
        followed = float(fallen[0]) if len(fallen) else found.simulated_s
        return Finding.exact(followed - 30, f"from {before:.0f} B to {settled:.0f} B")
    guest_flows = found.flows.filter(pl.col("flow").str.starts_with("guest"))
    gone = float(np.nanmax(guest_flows["completion_s"].to_numpy())) + 30
    later = _sample_track(track, np.array([gone + 5]))[0]
    return Finding.exact(
        float(later) / settled, f"the last left at {gone:.1f} s; {settled:.0f} B before, {later:.0f} B after"
    )


def bulk_queue(lab: Lab, *, rate: float) -> Finding:
    """Largest queue (B) of the bottleneck with bulk retransmission in one burst less that with pacing, paired."""
    found = {}
    for paced in (False, True):
        plus = {f"case.{PLUS}.tcp.feedback": {"kind": PLUS, "bulk_paced": paced}}
        links = sweep(lab, [PLUS], rate, sets=plus, tables=("links",)).tables["links"]
        rows = links.filter(pl.col("link") == "isl1.forward").sort("replication")
        found[paced] = rows["queue_max_bytes"].to_numpy().astype(np.float64)
    return Finding.mean(found[False] - found[True], f"{found[False].mean():.0f} B and {found[True].mean():.0f} B")


def cure_of_different_rtts(lab: Lab, *, every_s: int) -> Finding:
    """F of flows under REFWA less that of NewReno's, paired.

    Groups of two change round trips of 80 to 240 ms with one another at handovers.
    """
    order = (80, 120, 160, 200, 240)
    sets = {}
    for place, group in enumerate(order):
        points = [
            [f"{step * every_s} s", f"{(order[(place + step) % len(order)] - 80) // 2} ms"]
            for step in range(len(order))
        ]
        sets[f"link.up{group}.delay"] = {"points": points, "every": f"{len(order) * every_s} s"}
    fair = {}
    for sender in ("newreno", "refwa"):
        found = sweep(lab, [sender], 0, sets=sets, file="rtts").runs
        fair[sender] = values(found, "jain", sender=sender, rate=0)
    still = values(sweep(lab, ["newreno"], 0, file="rtts").runs, "jain", sender="newreno", rate=0)
    note = (
        f"REFWA {fair['refwa'].mean():.3f}, NewReno {fair['newreno'].mean():.3f}, without handovers {still.mean():.3f}"
    )
    return Finding.mean(fair["refwa"] - fair["newreno"], note)


SPAN_S = 5


def largest_share(lab: Lab, *, counted: str, sender: str = "refwa") -> Finding:
    """Largest goodput of any flow over a span of 5 s, as a multiple of its fair share, from 20 s on.

    One flow of ten loses one packet in 5000 on its own uplink: the others could take its unused share.
    """
    sets = {**scheme_sets(counted=counted), **one_hit(), "duration": "100 s", "record.interval": f"{SPAN_S} s"}
    largest, means = [], []
    for seed in lab.seeds(4, 20):
        rates = lab.run("bottleneck", sets, case=sender, seed=seed, series=["goodput_bps"]).series("goodput_bps")
        shares = rates.filter(pl.col("time_s") > 20)["goodput_bps"].to_numpy() * wire_per_payload({}) / SHARE_BPS
        largest.append(float(shares.max()))
        means.append(shares.mean())
    return Finding.mean(largest, f"mean {np.mean(means):.3f}")


def keys_beside_the_sender(lab: Lab) -> Finding:
    """Tables other than the sender's `tcp` in which the cases of REFWA Plus and REFWA differ."""
    cases = {name: lab.load("bottleneck").cases[name].to_dict() for name in ("refwa", PLUS)}
    tables = set(cases["refwa"]) | set(cases[PLUS])
    differing = [name for name in tables if cases["refwa"].get(name) != cases[PLUS].get(name)]
    return Finding.exact(sum(name != "tcp" for name in differing), f"they differ in {', '.join(differing)}")

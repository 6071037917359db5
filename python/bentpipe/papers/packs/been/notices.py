"""Measures of the error notices: time to the retransmission, windows after a loss, the gateway's own estimate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe.papers import Finding

from .formulas import HEADER_BYTES, WEIGHT
from .runs import ERROR, SCHEMES, SMSS

if TYPE_CHECKING:
    from bentpipe import RunResult
    from bentpipe.papers import Lab

    from .runs import Sets

__all__ = ["estimate_fluctuation", "fall_after_loss", "retransmission_delay"]

BEEN = SCHEMES["BEEN"]
FORWARD: Sets = {
    "node.gateway": "{ }",
    "node.sat1.middlebox": '[{ kind = "eten", notice = "forward" }]',
    "node.receiver.middlebox": '[{ kind = "eten", role = "receiver" }]',
}
"""Notices that go forward: the satellite marks the next packet of the flow, and the receiver echoes the mark."""
SILENT: Sets = {"tcp.error_reports": "ignore"}
WATCHED = ["decisions", "losses", "cwnd_bytes", "ssthresh_bytes"]
ROUND_TRIP_S = 0.101
"""Propagation of the path, there and back."""
LOST_PACKET = 200
"""Number of the packet that is corrupted: slow start is over, and ACKs space the packets."""


def retransmission_delay(lab: Lab, *, payload: int, beside: str) -> Finding:
    """Time from a loss to its retransmission with BEEN over that with another notice, of one corrupted packet.

    `beside`: "forward", a notice by the receiver, or "none", a sender that finds the loss by duplicate ACKs.
    """
    loss: Sets = {
        SMSS: f"{payload} B",
        "tcp.packet_size": "fixed",
        ERROR: f'{{ kind = "arrivals", list = [{LOST_PACKET}] }}',
        "duration": "10 s",
    }
    others = {"forward": FORWARD, "none": SILENT}[beside]
    mine, its = (_delay_s(lab, loss | more) for more in ({}, others))
    return Finding.exact(mine / its, f"{1e3 * mine:.1f} ms and {1e3 * its:.1f} ms after the loss")


def _delay_s(lab: Lab, sets: Sets) -> float:
    """Time from the first loss of a run to the retransmission of its data; infinite without one."""
    result = lab.run(BEEN, sets, series=["events", "losses"])
    lost = result.series("losses").row(0, named=True)
    again = result.events.filter(
        (pl.col("event") == "retransmission")
        & (pl.col("value") == lost["offset_bytes"])
        & (pl.col("time_s") > lost["time_s"])
    )
    return float(again["time_s"].to_numpy().min(initial=math.inf)) - float(lost["time_s"])


def fall_after_loss(lab: Lab, *, payload: int, rounds: int, **reading: Any) -> Finding:
    """Largest fall of window or threshold within some round trips after a corruption, in segments.

    Packets have one size, so that a window in bytes changes only where its number of packets does.
    """
    rate, unit = reading["rate"], reading.get("unit", "byte")
    sets: Sets = {SMSS: f"{payload} B", "tcp.packet_size": "fixed", f"{ERROR}.rate": rate, f"{ERROR}.kind": unit}
    falls: dict[str, list[float]] = {"with": [], "without": []}
    counts = {"losses": 0, "reports": 0}
    for seed in lab.seeds(3, 20):
        for name, more in (("with", {}), ("without", SILENT)):
            result = lab.run(
                BEEN, sets | more, seed=seed, series=["decisions", "losses", "cwnd_bytes", "ssthresh_bytes"]
            )
            falls[name].append(_largest_fall(result, rounds) / payload)
            if name == "with":
                counts["losses"] += len(result.series("losses"))
                counts["reports"] += result.series("decisions").filter(pl.col("event") == "error_report").height
    note = f"{counts['losses']} losses, {counts['reports']} reports; with reports ignored {max(falls['without']):.3g}"
    return Finding.exact(max(falls["with"]), note)


def _largest_fall(result: RunResult, rounds: int) -> float:
    """Largest difference in B between the window, or threshold, at a loss and its least value in the time after it."""
    # Nothing may arrive, and then nothing is timed.
    span_s = rounds * float(result.flows["rtt_min_s"][0] or ROUND_TRIP_S)
    losses_s = result.series("losses")["time_s"].to_numpy()
    largest = 0.0
    for name in ("cwnd_bytes", "ssthresh_bytes"):
        rows = result.series(name)
        times_s, values = rows["time_s"].to_numpy(), rows[name].cast(pl.Float64).to_numpy()
        # The last value up to a loss is the first of its span.
        first = np.maximum(np.searchsorted(times_s, losses_s, side="right") - 1, 0)
        last = np.searchsorted(times_s, losses_s + span_s, side="right")
        for begin, end in zip(first, last, strict=True):
            largest = max(largest, float(values[begin] - values[begin : max(end, begin + 1)].min()))
    return largest


def estimate_fluctuation(lab: Lab, *, length: int, rate: float) -> Finding:
    """Standard deviation of the gateway's estimate with the weight of the paper over that with a weight of 1.

    The first connection feeds the estimator with packets of one length. The estimate is read from the packet sizes of a
    second connection with one packet per round trip: equation 1 solved for the error rate per byte. Its largest packet
    is small enough to arrive.
    """
    packet_size = '{ kind = "optimum", gives = "payload", unit = "byte", min = "48 B", max = "540 B" }'
    gauge = f'{{ smss = "500 B", receive_buffer = "1 segments", packet_size = {packet_size} }}'
    sets: Sets = {
        SMSS: f"{length - HEADER_BYTES} B",
        "tcp.packet_size": "fixed",
        "tcp.receive_buffer": "100 segments",
        f"{ERROR}.kind": "byte",
        f"{ERROR}.rate": rate,
        "flow.gauge": f'{{ from = "sender", to = "receiver", app = "greedy", tcp = {gauge} }}',
        "duration": "100 s",
    }
    ratios, single = [], []
    for seed in lab.seeds(5, 50):
        spread = []
        for weight in (WEIGHT, 1.0):
            gateway: Sets = {"node.gateway.middlebox": f'[{{ kind = "been", role = "gateway", beta = {weight} }}]'}
            result = lab.run(BEEN, sets | gateway, seed=seed, series=["events"])
            sent = result.events.filter((pl.col("flow") == "gauge") & (pl.col("event") == "sent"))
            payloads = np.diff(sent["value"].to_numpy())[sent["time_s"].to_numpy()[:-1] > 10].astype(float)
            spread.append(float((HEADER_BYTES / payloads**2).std()))
        # Without a change of the estimate there is no ratio.
        ratios.append(spread[0] / spread[1] if spread[1] > 0 else None)
        single.append(spread[1])
    return Finding.mean(ratios, f"single estimates: standard deviation {np.mean(single):.3g} per byte")

"""Runs of the bent pipe: what a reading makes of senders, packets and path, and the throughput that follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from .formulas import LANS_RTT_S, RATE_BPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from bentpipe.papers import Lab

SCENARIO = "bent-pipe"
FLAVOURS = ("reno", "newreno", "sack")
"""Reno's window with each way to recover: whose losses are counted."""
PROPOSED = ("hswa", "enhanced-hswa")
"""The congestion controls that are given the error rate: the paper's two."""

ERROR_KIND = "link.downlink.forward.error.kind"
ERROR_RATE = "link.downlink.forward.error.rate"

SEGMENT_BYTES = 1000
HEADER_BYTES = 40
RTT_MS = 510
"""Of the scenario's file."""


def settings(
    cc: str,
    *,
    rate: float,
    per: str = "rtt",
    is_open: bool = False,
    from_start: bool = False,
    recovery: str | None = None,
    delta: float | None = None,
    segment_bytes: int = SEGMENT_BYTES,
    rtt_ms: float = RTT_MS,
    handshake: bool = True,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What a reading makes of a congestion control and of the path, by dotted key.

    The paper's two are given the error rate as it is printed, and `per` what their increment is added. `is_open`: the
    window of one bandwidth-delay product is the sender's, not the receiver's. `from_start`: the rule takes the place of
    slow start. `delta`: by which share a round trip of Enhanced HSWA exceeds the mean when it counts as congestion. The
    others keep what they were published with; packets and path (`path`) are those of the reading.
    """
    sets = path(segment_bytes, rtt_ms)
    if not handshake:
        sets["tcp.handshake"] = False
    if cc == "scps-vegas":
        return sets | {"tcp.cc": {"kind": "scps", "congestion": "vegas"}}
    if cc not in PROPOSED:
        return sets | {"tcp.cc": cc}
    kind: dict[str, Any] = {"kind": cc, "error_rate": rate, "per": per, **(more or {})}
    if is_open:
        # The receiver holds what arrives beyond a hole, and the timer waits a second at least (RFC 6298).
        sets |= {
            "tcp.receive_buffer": "unlimited",
            "tcp.rto": {"initial": "3 s", "min": "1 s", "granularity": "10 ms"},
        }
        kind["cwnd_lim"] = bdp_segments(segment_bytes, rtt_ms)
    if from_start:
        kind["from_start"] = True
    if recovery is not None:
        sets["tcp.recovery"] = recovery
    if delta is not None and cc == "enhanced-hswa":
        kind["delta"] = delta
    return sets | {"tcp.cc": kind}


def path(segment_bytes: int = SEGMENT_BYTES, rtt_ms: float = RTT_MS) -> dict[str, Any]:
    """What differs from the file with other packets, or another round trip: windows and queues stay one BDP."""
    if (segment_bytes, rtt_ms) == (SEGMENT_BYTES, RTT_MS):
        return {}
    segments = bdp_segments(segment_bytes, rtt_ms)
    # Units of 128 B, as in the file.
    window = -(-segments * segment_bytes // 128) * 128
    sets = legs(rtt_ms) | {
        "tcp.smss": f"{segment_bytes} B",
        "tcp.receive_buffer": f"{window} B",
        "tcp.initial_ssthresh": f"{segments} segments",
    }
    return sets | {f"link.{link}.queue": f"{segments - 1} packets" for link in ("lan1", "uplink", "downlink", "lan2")}


def bdp_segments(segment_bytes: int = SEGMENT_BYTES, rtt_ms: float = RTT_MS) -> int:
    """Segments that a round trip at the full rate holds."""
    return int(RATE_BPS * rtt_ms / 1000 / 8 / segment_bytes)


def legs(rtt_ms: float) -> dict[str, Any]:
    """Delays of the satellite's legs, so that the whole path has this round trip."""
    leg_ms = (rtt_ms - 1000 * LANS_RTT_S) / 4
    return {f"link.{leg}.delay": f"{leg_ms:g} ms" for leg in ("uplink", "downlink")}


def throughputs(
    lab: Lab,
    *,
    cc: str,
    rates: Iterable[float],
    error: str = "packet",
    connections: int = 1,
    seconds: int = 50,
    replications: int | None = None,
    segment_bytes: int = SEGMENT_BYTES,
    **reading: Any,
) -> dict[float, NDArray[np.float64]]:
    """Throughput per connection in bit/s by error rate, a value per replication in the order of their seeds."""
    rates = list(rates)
    # The paper's two are set for each error rate, so that it is no axis of a sweep.
    groups = [[rate] for rate in rates] if cc in PROPOSED else [rates]
    found: dict[float, NDArray[np.float64]] = {}
    for group in groups:
        sets = {
            ERROR_KIND: error,
            "flow.transfer.count": connections,
            **settings(cc, rate=group[0], segment_bytes=segment_bytes, **reading),
        }
        if seconds != 50:
            sets["duration"] = f"{seconds} s"
        # Runs that are almost without losses take the longest, and are almost equal.
        count = replications or lab.choose(4 if cc in PROPOSED and group[0] >= 1e-4 else 2, 10)
        runs = lab.sweep(SCENARIO, sets, vary={ERROR_RATE: group}, replications=count, tables=["flows"])
        sums = runs.tables["flows"].group_by(ERROR_RATE, "replication").agg(pl.col("throughput_bps").sum())
        for rate in group:
            each = sums.filter(pl.col(ERROR_RATE) == rate).sort("replication")["throughput_bps"].to_numpy()
            # The table counts payload.
            found[rate] = (1 + HEADER_BYTES / segment_bytes) * each / connections
    return found

"""Runs over the bent pipe: the overrides of a reading for congestion control, packets and path, and throughputs."""

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
"""Reno's window with each loss recovery. Their losses are counted."""
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
    """The overrides of a reading for a congestion control and the path, by dotted key.

    The paper's two controls take the printed error rate and `per`, the unit of their increment. `is_open`: the window
    of one bandwidth-delay product is the sender's, not the receiver's. `from_start`: the rule replaces slow start.
    `delta`: a round trip of Enhanced HSWA counts as congestion if it exceeds the mean by this share. Other controls
    keep their published constants. Packets and path (`path`) are those of the reading.
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
        # The receiver holds data beyond a hole, and the timer waits at least a second (RFC 6298).
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
    """The overrides for other packets or another round trip: windows and queues stay one BDP."""
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
    # The paper's two controls have settings for each error rate, so the rate cannot be an axis of a sweep.
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
        # Runs with almost no losses take the longest, and are almost equal.
        count = replications or lab.choose(4 if cc in PROPOSED and group[0] >= 1e-4 else 2, 10)
        runs = lab.sweep(SCENARIO, sets, vary={ERROR_RATE: group}, replications=count, tables=["flows"])
        sums = runs.tables["flows"].group_by(ERROR_RATE, "replication").agg(pl.col("throughput_bps").sum())
        for rate in group:
            each = sums.filter(pl.col(ERROR_RATE) == rate).sort("replication")["throughput_bps"].to_numpy()
            # The table counts payload.
            found[rate] = (1 + HEADER_BYTES / segment_bytes) * each / connections
    return found

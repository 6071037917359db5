"""Runs for the measures of BEEN: the schemes, each a scenario over the same path, and tables of runs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from bentpipe.papers import Finding

from .formulas import HEADER_BYTES

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from bentpipe import RunResult
    from bentpipe.papers import Lab

    Sets: TypeAlias = dict[str, str | float]

PATH = "iridium-path"
SATPEP = {"SaTPEP": "slow_start = true, nack_probe = false,", "SaTPEP of its abstract": ""}
"""Keys of SaTPEP as the paper seems to use it, and of SaTPEP by its abstract."""
SCHEMES = {"NewReno": PATH, "BEEN": "iridium-been"} | dict.fromkeys(SATPEP, "iridium-satpep")
"""The compared schemes and their scenarios."""
ROOM = "64 kB"
"""More data than the path between the gateways ever holds."""
HOP_RTT_S = 0.0968
SMSS = "tcp.smss"
ERROR = "link.up.forward.error"


def gateways(scheme: str, payload: int) -> Sets:
    """SaTPEP's gateways. As the paper seems to use it, a window is at most 20 packets, as in the other schemes.

    The buffer of the first gateway has this limit. The second buffer is larger, so that packets are whole.
    """
    room = f"{20 * payload} B" if SATPEP[scheme] else ROOM
    sets: Sets = {SMSS: f"{payload} B"}
    for node, buffer in (("gateway", room), ("gateway2", ROOM)):
        pep = f'[{{ kind = "satpep", rate = "1.5 Mbit/s", rtt = "97 ms", {SATPEP[scheme]} buffer = "{buffer}" }}]'
        sets[f"node.{node}.middlebox"] = pep
    return sets


def scheme_flows(lab: Lab, scheme: str, sets: Sets, payload: int, replications: int) -> pl.DataFrame:
    """The table `flows` of a scheme's runs with one initial size, a row per replication, in order.

    SaTPEP's sender loses nothing, so SaTPEP's efficiencies are those of its hop: the delivered shares of the payload
    and of all bytes sent there.
    """
    is_split = scheme in SATPEP
    if is_split:
        sets = sets | gateways(scheme, payload)
    vary, tables = {SMSS: [f"{payload} B"]}, ["flows", "links"] if is_split else ["flows"]
    found = lab.sweep(SCHEMES[scheme], sets, vary=vary, replications=replications, tables=tables).tables
    flows = found["flows"].sort("replication")
    if not is_split:
        return flows
    hop = found["links"].filter(pl.col("link") == "up.forward").sort("replication")
    delivered, size = column(flows, "delivered_bytes"), column(hop, "carried_bytes")
    sent = size - HEADER_BYTES * column(hop, "carried_packets")
    # Without sent bytes there is no share.
    efficiency = 100 * np.where(sent > 0, delivered / np.maximum(sent, 1), np.nan)
    return flows.with_columns(
        pl.Series("tcp_efficiency_pct", efficiency), pl.Series("information_efficiency", delivered / size)
    )


def hop_window_packets(result: RunResult) -> float:
    """Mean window of SaTPEP in packets: packets in flight between its gateways (Little's law)."""
    row = result.links.filter(pl.col("link") == "up.forward").row(0, named=True)
    packet_s = result.simulated_s * row["utilisation"] / row["carried_packets"]
    # Transmission times up and down.
    rtt_s = HOP_RTT_S + row["queue_mean_s"] + 2 * packet_s
    return float(row["carried_packets"] / result.simulated_s * rtt_s)


def column(flows: pl.DataFrame, name: str) -> NDArray[np.float64]:
    """One column of numbers, nan for missing ones."""
    values: NDArray[np.float64] = flows[name].cast(pl.Float64).fill_null(math.nan).to_numpy()
    return values


def share(percents: NDArray[np.float64], note: str = "") -> Finding:
    """Mean of a share in %. A run in which nothing was sent has none; its interval allows for any from 0 to 100."""
    least, most = (Finding.mean(np.nan_to_num(percents, nan=end)) for end in (0.0, 100.0))
    return replace(Finding.mean(percents, note), low=least.low, high=most.high, missing=0)

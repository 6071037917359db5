"""What the measures of BEEN share: the schemes, each a scenario over the same path, and tables of runs."""

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
"""SaTPEP as the paper seems to have had it, and as far as its abstract goes."""
SCHEMES = {"NewReno": PATH, "BEEN": "iridium-been"} | dict.fromkeys(SATPEP, "iridium-satpep")
"""What the paper compares, and the scenario of each."""
ROOM = "64 kB"
"""More than is ever on the way between the gateways."""
HOP_RTT_S = 0.0968
SMSS = "tcp.smss"
ERROR = "link.up.forward.error"


def gateways(scheme: str, payload: int) -> Sets:
    """SaTPEP's gateways. As the paper seems to have had it a window is at most 20 packets, as those of the others.

    That is what the first gateway takes; the other has room for more, so that packets are whole.
    """
    room = f"{20 * payload} B" if SATPEP[scheme] else ROOM
    sets: Sets = {SMSS: f"{payload} B"}
    for node, buffer in (("gateway", room), ("gateway2", ROOM)):
        pep = f'[{{ kind = "satpep", rate = "1.5 Mbit/s", rtt = "97 ms", {SATPEP[scheme]} buffer = "{buffer}" }}]'
        sets[f"node.{node}.middlebox"] = pep
    return sets


def scheme_flows(lab: Lab, scheme: str, sets: Sets, payload: int, replications: int) -> pl.DataFrame:
    """The table `flows` of a scheme's runs with one initial size, a row per replication, in order.

    SaTPEP's efficiencies are those of its hop, for its sender loses nothing: what was delivered of the payload, and of
    all bytes, that it sent there.
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
    # Of nothing sent there is no share.
    efficiency = 100 * np.where(sent > 0, delivered / np.maximum(sent, 1), np.nan)
    return flows.with_columns(
        pl.Series("tcp_efficiency_pct", efficiency), pl.Series("information_efficiency", delivered / size)
    )


def hop_window_packets(result: RunResult) -> float:
    """Mean window of SaTPEP in packets: what it has on the way between its gateways (Little's law)."""
    row = result.links.filter(pl.col("link") == "up.forward").row(0, named=True)
    packet_s = result.simulated_s * row["utilisation"] / row["carried_packets"]
    # Sent up and down.
    rtt_s = HOP_RTT_S + row["queue_mean_s"] + 2 * packet_s
    return float(row["carried_packets"] / result.simulated_s * rtt_s)


def column(flows: pl.DataFrame, name: str) -> NDArray[np.float64]:
    """One column of numbers, nan where there is none."""
    values: NDArray[np.float64] = flows[name].cast(pl.Float64).fill_null(math.nan).to_numpy()
    return values


def share(percents: NDArray[np.float64], note: str = "") -> Finding:
    """Mean of a share in %. A run in which nothing was sent has none; its interval allows for any from 0 to 100."""
    least, most = (Finding.mean(np.nan_to_num(percents, nan=end)) for end in (0.0, 100.0))
    return replace(Finding.mean(percents, note), low=least.low, high=most.high, missing=0)

"""The quantities that a twin compares: their names, margins, and counters of the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Margin:
    """Least difference that matters: a share of the simulated value, and a minimum in its unit."""

    share: float
    least: float = 0.0

    def convert(self, simulated: float) -> float:
        """In the unit of the quantity."""
        return max(self.share * abs(simulated), self.least)


FEW = Margin(0.10, least=3)
"""Of counts: a difference of three never matters."""


@dataclass(frozen=True)
class Quantity:
    """One compared quantity.

    Attributes
    ----------
    name : str
        Column of `Twin.runs`. For a counter also the column of `RunResult.flows` with the simulated count.
    short : str
        Name for `margin`, and in tables of metrics.
    words : str
    margin : Margin
    unit : str
        Empty for counts.
    counters : tuple of str
        Counters of the kernel (`TcpExt` in /proc/net/netstat) whose sum is the count on the emulated side. Empty for
        quantities from packets or from samples of the connection.
    at_receiver : bool
        Whether the counters are those of the receiving host.
    is_of_packets : bool
        Whether it counts packets. One loss episode may take many packets, so such counts scatter more than Poisson
        counts.
    """

    name: str
    short: str
    words: str
    margin: Margin
    unit: str = ""
    counters: tuple[str, ...] = ()
    at_receiver: bool = False
    is_of_packets: bool = False

    @property
    def is_of_events(self) -> bool:
        """Whether it counts events of the connection, such as timeouts."""
        return bool(self.counters) and not self.is_of_packets


UNDOS = ("TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo")
REORDERINGS = ("TCPSACKReorder", "TCPTSReorder", "TCPRenoReorder")
DUPLICATES = ("TCPDSACKOldSent", "TCPDSACKOfoSent")
"""Segments that brought the receiver nothing new, each reported by a D-SACK."""
QUANTITIES = (
    Quantity("goodput_bps", "goodput", "goodput", Margin(0.10), "bit/s"),
    Quantity("cwnd_mean_bytes", "cwnd", "mean window", Margin(0.15), "B"),
    Quantity("cwnd_first_loss_bytes", "first-loss", "largest window before the first loss", Margin(0.15), "B"),
    Quantity("srtt_p50_s", "srtt", "median round trip", Margin(0.10, least=0.001), "s"),
    Quantity("srtt_p95_s", "srtt-p95", "95 % round trip", Margin(0.10, least=0.001), "s"),
    Quantity("drops", "lost", "lost data packets", FEW, is_of_packets=True),
    Quantity("retransmissions", "retransmissions", "retransmissions", FEW, is_of_packets=True),
    Quantity(
        *("lost_retransmissions", "lost-retransmissions", "lost retransmissions", FEW),
        counters=("TCPLostRetransmit",),
        is_of_packets=True,
    ),
    Quantity(
        *("spurious_retransmissions", "spurious-retransmissions", "spurious retransmissions", FEW),
        counters=DUPLICATES,
        at_receiver=True,
        is_of_packets=True,
    ),
    Quantity(
        *("fast_retransmits", "recoveries", "fast recoveries", FEW), counters=("TCPSackRecovery", "TCPRenoRecovery")
    ),
    Quantity("timeouts", "timeouts", "timeouts", FEW, counters=("TCPTimeouts",)),
    Quantity("undos", "spurious-reductions", "spurious reductions", FEW, counters=UNDOS),
    Quantity("timeout_undos", "spurious-timeouts", "spurious timeouts", FEW, counters=("TCPLossUndo",)),
    Quantity("reorderings", "reorderings", "reorderings", FEW, counters=REORDERINGS),
    Quantity("tail_loss_probes", "probes", "tail loss probes", FEW, counters=("TCPLossProbes",)),
    Quantity("probe_repairs", "probe-repairs", "losses that probes repaired", FEW, counters=("TCPLossProbeRecovery",)),
)
"""In the order of the table of a twin."""
OF_PATHS = (
    Quantity("opener_share", "share", "share of the data over the first subflow", Margin(0.10, least=0.05), "1"),
    Quantity("reinjected_bytes", "reinjected", "data given to a second subflow", Margin(0.10, least=100_000), "B"),
)
"""Of connections over several paths, too."""
BY_NAME = {each.name: each for each in (*QUANTITIES, *OF_PATHS)}
SHORT_NAMES = {each.short: each.name for each in BY_NAME.values()}
"""Columns of the quantities by their names for `margin`."""


def count_kernel(sender: Mapping[str, int], receiver: Mapping[str, int], kernel: Mapping[str, str]) -> dict[str, float]:
    """Counts of an emulated run, from the counters of both hosts.

    If the receiver sends no D-SACKs (`tcp_dsack`), it counts no duplicates, and that quantity is missing.
    """
    counted = (each for each in QUANTITIES if each.counters)
    if kernel.get("tcp_dsack") == "0":
        counted = (each for each in counted if each.counters != DUPLICATES)
    hosts = {False: sender, True: receiver}
    return {
        each.name: float(sum(hosts[each.at_receiver].get(counter, 0) for counter in each.counters)) for each in counted
    }


def count_simulation(flow: Mapping[str, Any]) -> dict[str, float]:
    """Counts of a simulated run, from the row of its flow."""
    return {each.name: float(flow[each.name]) for each in QUANTITIES if each.counters}

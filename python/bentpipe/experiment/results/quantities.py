"""Quantities of each case in a mix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError
from bentpipe.metric import find_metric, find_resolution, find_span, list_single_metrics

if TYPE_CHECKING:
    from bentpipe.metric import Metric


@dataclass(frozen=True)
class Quantity:
    """A quantity of a case in a mix."""

    name: str
    column: str
    unit: str
    meaning: str

    @property
    def span(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return find_span(self.column, self.unit)

    @property
    def resolution(self) -> float:
        """Half of the width of a bin as a share of the value, for quantiles of histograms; otherwise 0."""
        return find_resolution(self.column)


QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        Quantity("goodput", "goodput_bps", "bit/s", "Sum over its flows"),
        Quantity("share", "share", "1", "Share of the goodput of all flows in the mix"),
        Quantity(
            "own", "own_bps", "bit/s", "Goodput of equally many flows if all have this congestion control or case"
        ),
        Quantity("retransmitted", "retransmitted_pct", "%", "Share of sent bytes that were retransmissions"),
        Quantity("timeouts", "timeouts", "1", "Retransmission timeouts of its flows"),
        Quantity("rtt", "rtt_p50_s", "s", "Median round-trip time, mean over its flows"),
    )
}
OF_SENDER = ("flows", "completions", "drops")
"""Tables with metrics over the flows of a case in a mix."""


def quantity(name: str) -> Quantity | Metric:
    """Find one of `QUANTITIES`, or a metric of flows, taken over the flows of each case: `tcp_efficiency`, `fct:web`.

    Raises
    ------
    BentpipeError
        Unknown name.
    """
    base, _, of = name.partition(":")
    if name in QUANTITIES:
        return QUANTITIES[name]
    found = list_single_metrics().get(base)
    if found is None or found.source is None or found.source.table not in OF_SENDER:
        known = [
            each.name
            for each in list_single_metrics().values()
            if each.source is not None and each.source.table in OF_SENDER
        ]
        raise BentpipeError(unknown(base, "a quantity of a case in a mix", dict.fromkeys([*QUANTITIES, *known])))
    if found.is_completion and not of:
        raise BentpipeError(f"{name} needs a flow: some flows of this scenario never end\n  expected {name}:FLOW")
    return find_metric(name) if of else found

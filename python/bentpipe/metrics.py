"""What senders are compared by: one number per run."""

from __future__ import annotations

from dataclasses import dataclass

from bentpipe.errors import BentpipeError
from bentpipe.reference import unknown


@dataclass(frozen=True)
class Metric:
    """One way to judge a run."""

    name: str
    column: str
    """Name in tables."""
    unit: str
    is_more_better: bool
    meaning: str


METRICS = {
    metric.name: metric
    for metric in (
        Metric("goodput", "goodput_bps", "bit/s", True, "Sum of the flows' goodput"),
        Metric("utilisation", "utilisation", "1", True, "Utilisation of the busiest link"),
        Metric("jain", "jain", "1", True, "Jain's fairness index of goodput"),
        Metric("completion", "completion_s", "s", False, "Mean completion time of transfers"),
        Metric("resent", "retransmitted_pct", "%", False, "Share of sent bytes that were retransmissions"),
        Metric("timeouts", "timeouts", "1", False, "Retransmission timeouts of all flows"),
        Metric("rtt", "rtt_p50_s", "s", False, "Median round-trip time, mean over flows"),
    )
}


def named(name: str) -> Metric:
    """The metric of this name."""
    if name not in METRICS:
        raise BentpipeError("error: " + unknown(name, "a metric", METRICS))
    return METRICS[name]

"""What senders are compared by: one number per run, and what is kept besides to say what it is of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe import formatting
from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Metric:
    """One way to judge a run."""

    name: str
    column: str
    """Name in tables."""
    unit: str
    is_more_better: bool
    meaning: str

    @property
    def title(self) -> str:
        """For headings."""
        return _TITLES.get(self.name, self.name.capitalize())


_TITLES = {
    "jain": "Fairness (Jain)",
    "resent": "Retransmitted",
    "rtt": "RTT",
    "fct": "Flow completion time",
    "fct_p95": "Flow completion time, 95 % quantile",
    "unfinished": "Not finished",
    "needless": "Needless reductions",
    "unheeded": "Congestion taken for errors",
}

METRICS = {
    metric.name: metric
    for metric in (
        Metric("goodput", "goodput_bps", "bit/s", True, "Sum of the flows' goodput"),
        Metric("utilisation", "utilisation", "1", True, "Utilisation of the busiest link"),
        Metric("jain", "jain", "1", True, "Jain's fairness index of goodput"),
        Metric("completion", "completion_s", "s", False, "Mean completion time of transfers"),
        Metric("resent", "retransmitted_pct", "%", False, "Share of sent bytes that were retransmissions"),
        Metric("timeouts", "timeouts", "1", False, "Retransmission timeouts of all flows"),
        Metric("lost", "lost_packets", "1", False, "Packets lost, whatever the cause"),
        Metric("rtt", "rtt_p50_s", "s", False, "Median round-trip time, mean over flows"),
        Metric("fct", "transfer_mean_s", "s", False, "Mean time of transfers, of flows that make several"),
        Metric("fct_p95", "transfer_p95_s", "s", False, "95 % quantile of the time of transfers"),
        Metric("slowdown", "slowdown_mean", "1", False, "Mean time of transfers over the least that the path allows"),
        Metric(
            "needless", "needless_reductions", "1", False, "Reductions for errors of links, or where nothing was lost"
        ),
        Metric("unheeded", "unheeded_losses", "1", False, "Packets lost to congestion that were taken for errors"),
        Metric("unfinished", "transfers_unfinished", "1", False, "Transfers under way at the end, or failed"),
    )
}

SENDERS = ("tcp.cc", "case")
"""Keys whose values are compared with each other where they vary in a sweep; the other keys are the conditions."""

BESIDE = {"completion_bound": "completion_bound_s", "finished": "transfers_finished"}
"""What tables of runs have besides the metrics, by name the column: what the mean completion time is at least where not
every transfer completed, and how many transfers the times of transfers are of."""
COLUMNS = {metric.name: metric.column for metric in METRICS.values()} | BESIDE

TRANSFERS = ("fct", "fct_p95", "slowdown", "unfinished")
"""The metrics of flows that make several transfers; there is none of them in a run without such flows."""


VERDICTS = ("needless", "unheeded")
"""The metrics of what senders took their losses for."""


def named(name: str) -> Metric:
    """The metric of this name."""
    if name not in METRICS:
        raise BentpipeError(unknown(name, "a metric", METRICS))
    return METRICS[name]


def named_point(row: Mapping[str, Any], keys: Sequence[str], shown: Sequence[str] | None = None) -> str:
    """A point as people say it: `sack, queue 1 bdp, rate 1e-3`; only some of its keys if these are given."""
    return ", ".join(
        formatting.setting(row[key])
        if key in SENDERS
        else f"{formatting.short_key(key, keys)} {formatting.setting(row[key])}"
        for key in (keys if shown is None else shown)
    )

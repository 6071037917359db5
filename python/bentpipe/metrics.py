"""What senders are compared by: one number per run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.errors import BentpipeError
from bentpipe.reference import unknown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bentpipe._core import Columns, Tables


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


@dataclass(frozen=True)
class Outcome:
    """What a comparison keeps of a run."""

    values: dict[str, float]
    """By name of the metric; NaN where missing."""
    completion_s: NDArray[np.float64]
    """Per flow; NaN where not completed."""


def outcome(tables: Tables) -> Outcome:
    """The metrics of one run, but for the completion time, which needs all runs (see `completion`)."""
    flows, links, summary = tables["flows"], tables["links"], tables["summary"]
    sent = _numbers(flows, "sent_bytes").sum()
    rtt = _numbers(flows, "rtt_p50_s")
    rtt = rtt[~np.isnan(rtt)]
    utilisation = _numbers(links, "utilisation")
    return Outcome(
        values={
            "goodput": float(_numbers(summary, "goodput_bps")[0]),
            "utilisation": float(utilisation.max()) if len(utilisation) else np.nan,
            "jain": float(_numbers(summary, "jain")[0]),
            "resent": float(100 * _numbers(flows, "retransmitted_bytes").sum() / sent) if sent else np.nan,
            "timeouts": float(_numbers(flows, "timeouts").sum()),
            "rtt": float(rtt.mean()) if len(rtt) else np.nan,
        },
        completion_s=_numbers(flows, "completion_s"),
    )


def completion(outcomes: list[Outcome]) -> list[float]:
    """Mean completion time of each run over the transfers, which are the flows that completed in at least one run.

    NaN for a run in which one of these did not complete: leaving that flow out would praise a sender for failing.
    """
    times = np.array([outcome.completion_s for outcome in outcomes])
    is_transfer = ~np.isnan(times).all(axis=0)
    if not is_transfer.any():
        return [np.nan] * len(outcomes)
    return [float(mean) for mean in times[:, is_transfer].mean(axis=1)]


def _numbers(columns: Columns, name: str) -> NDArray[np.float64]:
    values = columns[name]
    if isinstance(values, list):
        raise TypeError(f"{name} is text")
    dtype, content = values
    return np.frombuffer(content, dtype=dtype).astype(np.float64)

"""The metrics of a run, computed from the core's tables. Apart from `metrics`, whose names are needed without NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bentpipe._tables import Columns, Tables


@dataclass(frozen=True)
class Outcome:
    """What a comparison keeps of a run."""

    values: dict[str, float]
    """By name of the metric; NaN where missing."""
    completion_s: NDArray[np.float64]
    """Per flow; NaN where not completed."""


def outcome(tables: Tables) -> Outcome:
    """The metrics of one run. Where senders are compared, `completion` says which transfers count."""
    flows, links, summary = tables["flows"], tables["links"], tables["summary"]
    sent = numbers(flows, "sent_bytes").sum()
    rtt = numbers(flows, "rtt_p50_s")
    rtt = rtt[~np.isnan(rtt)]
    utilisation = numbers(links, "utilisation")
    unfinished = float(numbers(summary, "transfers_unfinished")[0] + numbers(summary, "transfers_failed")[0])
    return Outcome(
        values={
            "goodput": float(numbers(summary, "goodput_bps")[0]),
            "utilisation": float(utilisation.max()) if len(utilisation) else np.nan,
            "jain": float(numbers(summary, "jain")[0]),
            "completion": float(numbers(summary, "completion_mean_s")[0]),
            "resent": float(100 * numbers(flows, "retransmitted_bytes").sum() / sent) if sent else np.nan,
            "timeouts": float(numbers(flows, "timeouts").sum()),
            "lost": float(numbers(summary, "lost_packets")[0]),
            "rtt": float(rtt.mean()) if len(rtt) else np.nan,
            "fct": float(numbers(summary, "transfer_mean_s")[0]),
            "fct_p95": float(numbers(summary, "transfer_p95_s")[0]),
            "slowdown": float(numbers(summary, "slowdown_mean")[0]),
            "unfinished": unfinished if len(numbers(tables["completions"], "transfers")) else np.nan,
        },
        completion_s=numbers(flows, "completion_s"),
    )


def completion(outcomes: list[Outcome]) -> list[float]:
    """Mean completion time of each run over the transfers, which are the flows that completed in at least one run.

    NaN for a run in which one of these did not complete: leaving that flow out would praise a sender for failing.
    """
    flows = max((len(outcome.completion_s) for outcome in outcomes), default=0)
    is_transfer = np.zeros(flows, dtype=bool)
    for outcome in outcomes:
        # Cases may differ in how many flows they have.
        is_transfer[: len(outcome.completion_s)] |= ~np.isnan(outcome.completion_s)
    own = [outcome.completion_s[is_transfer[: len(outcome.completion_s)]] for outcome in outcomes]
    return [float(times.mean()) if len(times) else np.nan for times in own]


def numbers(columns: Columns, name: str) -> NDArray[np.float64]:
    """A column; NaN where missing."""
    values = columns[name]
    if isinstance(values, list):
        raise TypeError(f"{name} is text")
    dtype, content = values
    return np.frombuffer(content, dtype=dtype).astype(np.float64)

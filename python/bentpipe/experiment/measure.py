"""The metrics of a run, computed from the core's tables. Apart from `metrics`, whose names are needed without NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bentpipe.experiment.tables import Columns, Tables


def outcome(tables: Tables) -> dict[str, float]:
    """What is kept of one run, by the names of `metrics.COLUMNS`; NaN where missing."""
    flows, links, summary = tables["flows"], tables["links"], tables["summary"]
    sent = numbers(flows, "sent_bytes").sum()
    rtt = numbers(flows, "rtt_p50_s")
    rtt = rtt[~np.isnan(rtt)]
    utilisation = numbers(links, "utilisation")
    unfinished = float(numbers(summary, "transfers_unfinished")[0] + numbers(summary, "transfers_failed")[0])
    has_transfers = len(numbers(tables["completions"], "transfers")) > 0
    return {
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
        "needless": float((numbers(flows, "spurious_reductions") + numbers(flows, "error_reductions")).sum()),
        "unheeded": float(numbers(flows, "congestion_taken_for_errors").sum()),
        "unfinished": unfinished if has_transfers else np.nan,
        "completion_bound": float(numbers(summary, "completion_bound_s")[0]),
        "finished": float(numbers(summary, "transfers")[0]) if has_transfers else np.nan,
    }


def numbers(columns: Columns, name: str) -> NDArray[np.float64]:
    """A column; NaN where missing."""
    values = columns[name]
    if isinstance(values, list):
        raise TypeError(f"{name} is text")
    dtype, content = values
    return np.frombuffer(content, dtype=dtype).astype(np.float64)

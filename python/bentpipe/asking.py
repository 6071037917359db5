"""What may be asked of a comparison. Needs no statistics, so that mistakes are said at once and before any output."""

from __future__ import annotations

from bentpipe import metrics
from bentpipe.errors import BentpipeError
from bentpipe.reference import unknown

STATISTICS = ("mean", "median")
CORRECTIONS = ("holm", "bh", "none")
REPLICATIONS_MAX = 10_000
"""More would not make intervals narrower in a way that matters, and is certainly a slip of the finger."""


def checked(
    *,
    metric: str,
    replications: int = 1,
    jobs: int | None = None,
    confidence: float = 0.95,
    statistic: str = "mean",
    correction: str = "holm",
) -> None:
    """Whether all of this makes sense."""
    metrics.named(metric)
    if statistic not in STATISTICS:
        raise BentpipeError("error: " + unknown(statistic, "a statistic", STATISTICS))
    if correction not in CORRECTIONS:
        raise BentpipeError("error: " + unknown(correction, "a correction", CORRECTIONS))
    if not 1 <= replications <= REPLICATIONS_MAX:
        raise BentpipeError(f"error: {replications} replications\n  expected 1 to {REPLICATIONS_MAX}")
    if jobs is not None and jobs < 1:
        raise BentpipeError(f"error: {jobs} jobs\n  expected at least 1")
    if not 0 < confidence < 1:
        raise BentpipeError(f"error: a confidence of {confidence}\n  expected more than 0 and less than 1, like 0.95")

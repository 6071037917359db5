"""Ratios to a baseline in pairs of equal seeds, with the reason for each missing ratio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe.errors import BentpipeError, Word
from bentpipe.statistics.estimates import ratio_of_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bentpipe.metric import Metric
    from bentpipe.statistics.estimates import Interval
    from bentpipe.statistics.samples import Sample

RATIOS = {
    "metric": pl.String,
    "of": pl.String,
    "other": pl.String,
    "replications": pl.Int64,
    **dict.fromkeys(("ratio", "low", "high"), pl.Float64),
    "note": pl.String,
}
"""Columns of a table of `ratio_row`."""


def ratio(metric: Metric, samples: Mapping[str, Sample], sender: str, other: str, confidence: float) -> Interval:
    """Divide a metric of one case by that of another, replication by replication.

    Raises
    ------
    BentpipeError
        Not everything was completed, so only survivors would count; or a value is not above 0.
    """
    for name in (sender, other):
        sample = samples[name]
        if np.any(np.isnan(sample.values) & ~np.isnan(sample.bounds)):
            raise BentpipeError(
                f"no ratio of {metric.name}: {name} completed {sample.counts}\n"
                "  expected all to complete: a ratio of completed replications only would favour failures"
            )
        least = np.nanmin(sample.values) if not np.isnan(sample.values).all() else np.nan
        if least <= 0:
            often = f"{int(np.sum(sample.values <= 0))} of {len(sample.values)} replications"
            raise BentpipeError(
                f"no ratio of {metric.name}: it is not above 0 for {name} in {often}\n"
                "  expected values above 0; use the differences"
            )
    return ratio_of_pairs(samples[sender].values, samples[other].values, confidence)


def ratio_row(
    metric: Metric, samples: Mapping[str, Sample], sender: str, other: str, confidence: float
) -> dict[str, Any]:
    """Make a row of the ratio as plain data, in which `note` gives the reason for a missing ratio."""
    row: dict[str, Any] = {"metric": metric.name, "of": sender, "other": other}
    try:
        found = ratio(metric, samples, sender, other, confidence)
    except BentpipeError as error:
        note = str(error).partition("\n")[0].removeprefix("")
        return row | {"replications": 0, "ratio": None, "low": None, "high": None, "note": note}
    return row | {
        "replications": found.replications,
        "ratio": found.value,
        "low": found.low,
        "high": found.high,
        "note": None,
    }


def ratio_rows(metric: Metric, samples: Mapping[str, Sample], other: str, confidence: float) -> list[dict[str, Any]]:
    """Make a row for each case except `other`; no row for a metric without values."""
    if not any(sample.is_there for sample in samples.values()):
        return []
    return [ratio_row(metric, samples, name, other, confidence) for name in samples if name != other]


def baseline(against: str | None) -> str:
    """Return the baseline of ratios.

    Raises
    ------
    BentpipeError
        There is no baseline.
    """
    if against is None:
        raise BentpipeError("a ratio needs a baseline\n  expected {against}", against=Word("NAME"))
    return against

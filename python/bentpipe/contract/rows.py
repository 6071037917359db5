"""The rows of the tables of all results, made without Polars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from bentpipe.statistics.samples import AtLeast

if TYPE_CHECKING:
    from bentpipe.statistics.comparing import Difference
    from bentpipe.statistics.estimates import Estimate, Interval
    from bentpipe.statistics.judgement import Judgement
    from bentpipe.statistics.samples import Counts, Sample


class Measured(Protocol):
    """A metric, or another quantity with a name."""

    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def span(self) -> tuple[float, float]: ...
    @property
    def resolution(self) -> float: ...


def table_row(of: str, metric: Measured, sample: Sample, judgement: Judgement) -> dict[str, Any]:
    """Make the row of one name and metric."""
    found = estimate_row(sample.estimate(judgement, metric), sample.counts, judgement)
    return {"of": of, "metric": metric.name, "unit": metric.unit, **found}


def estimate_row(found: Estimate | Interval, counts: Counts, judgement: Judgement) -> dict[str, Any]:
    """Make the columns of an estimate, with its counts."""
    return {
        judgement.statistic: found.value,
        "low": found.low,
        "high": found.high,
        "replications": found.replications,
        "completed": counts.done,
        "due": counts.due,
        "is_bound": isinstance(found, AtLeast),
    }


def difference_row(metric: Measured, of: str, other: str, found: Difference) -> dict[str, Any]:
    """Make the row of one difference, `of` minus `other`."""
    return {"metric": metric.name, "unit": metric.unit, "of": of, "other": other, **found.to_dict()}

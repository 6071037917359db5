"""Samples with incomplete runs or transfers: completed counts, and lower bounds of the missing values.

A run that did not complete has no completion time, but a lower bound is known: the duration of the run. Such values
are right-censored. A mean of only the other values would favour a case that fails, so it is never given. Instead, the
result is a lower bound over all values, with the number of completed runs.

References
----------
Kaplan and Meier, "Nonparametric estimation from incomplete observations", J. Am. Statistical Association 53, 1958.
Royston and Parmar, "Restricted mean survival time", BMC Medical Research Methodology 13, 2013. Their estimate is the
mean of the times, each limited to the time that it was observed. Here, this mean is the bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import numpy as np

from bentpipe.metric import find_metric
from bentpipe.statistics.estimates import Estimate, Interval, estimate, limit_interval, median, sign_test
from bentpipe.statistics.judgement import DEFAULT, Judgement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from bentpipe.metric import Metric

    Values = NDArray[np.float64]

__all__ = [
    "ESTIMATORS",
    "NAMED_MAX",
    "AtLeast",
    "Counts",
    "Sample",
    "bound",
    "has_transfers",
    "join_samples",
    "not_whole",
    "rank_samples",
]


def __dir__() -> list[str]:
    return list(__all__)


K = TypeVar("K")
ESTIMATORS: dict[str, Callable[[Values, float], Estimate | Interval]] = {"mean": estimate, "median": median}
"""Estimators by the names in `judgement.STATISTICS`."""
NAMED_MAX = 8
"""Maximum number of cases that a note names."""


class Ranged(Protocol):
    """A metric, or another quantity, with its possible values."""

    @property
    def span(self) -> tuple[float, float]: ...
    @property
    def resolution(self) -> float: ...


class AtLeast(Estimate):
    """A lower bound of a mean or median, because only lower bounds of some values are known. It has no interval."""

    __slots__ = ()


class Counts(NamedTuple):
    """Completed runs or transfers, over all replications."""

    done: int
    due: int

    @property
    def censored(self) -> int:
        """Number of incomplete runs or transfers."""
        return self.due - self.done

    @property
    def is_whole(self) -> bool:
        """Whether everything was completed."""
        return self.done == self.due

    def __str__(self) -> str:
        """Write the counts: `4 of 10`."""
        return f"{self.done:,} of {self.due:,}"


class Sample(NamedTuple):
    """A metric in each replication; all arrays have the shape (replications,)."""

    values: Values
    """The values; NaN where there is no value."""
    bounds: Values
    """Lower bounds of missing values; NaN where no bound is known."""
    done: Values
    """Completed work: 1 or 0 if a replication as a whole completes, otherwise the number of completed transfers."""
    due: Values
    """Work that should have completed: 1, or the number of transfers."""

    @classmethod
    def from_values(cls, values: Values) -> Sample:
        """Make a sample of complete values."""
        done = (~np.isnan(values)).astype(np.float64)
        return cls(values, np.full(len(values), np.nan), done, done)

    @classmethod
    def from_columns(cls, metric: str | Metric, columns: Mapping[str, Values]) -> Sample:
        """Make the sample of a metric from columns of runs.

        Parameters
        ----------
        metric : str or Metric
        columns : mapping
            Values by the name of the column: the columns of `Metric.columns`, and `replication`, which is NaN where a
            run is missing.
        """
        what = find_metric(metric) if isinstance(metric, str) else metric
        values = columns[what.column]
        bounds = np.full(len(values), np.nan)
        done = (~np.isnan(values)).astype(np.float64)
        due = (~np.isnan(columns["replication"])).astype(np.float64)
        if what.is_completion:
            bounds = columns[what.bound]
            # Without a flow that ends, nothing can complete.
            due = np.maximum(done, ~np.isnan(bounds))
        elif what.has_transfers:
            done = np.nan_to_num(columns[what.finished_column])
            due = done + np.nan_to_num(columns[what.unfinished_column])
        elif what.base == "unfinished":
            due = done
        return cls(values, bounds, done, due)

    @property
    def counts(self) -> Counts:
        """Count over all replications."""
        return Counts(int(self.done.sum()), int(self.due.sum()))

    @property
    def shares(self) -> Values:
        """Return the completed share of each replication; NaN if nothing was due."""
        with np.errstate(invalid="ignore"):
            return self.done / np.where(self.due > 0, self.due, np.nan)

    @property
    def is_there(self) -> bool:
        """Whether there is a value or a bound."""
        return bool((~np.isnan(self.values) | ~np.isnan(self.bounds)).any())

    def first(self, count: int) -> Sample:
        """Return the first replications."""
        return Sample(*(array[:count] for array in self))

    def estimate(self, judgement: Judgement = DEFAULT, of: Ranged | None = None) -> Estimate | Interval:
        """Estimate the mean or median; return a bound if missing values have lower bounds.

        The interval stays within the possible values of the metric `of`. For quantiles from histograms, its half width
        is at least half a bin.
        """
        held, censored = np.isnan(self.values) & ~np.isnan(self.bounds), self.counts.censored
        estimator = ESTIMATORS[judgement.statistic]
        if not held.any():
            whole = estimator(self.values, judgement.confidence)._replace(censored=censored)
            return whole if of is None else limit_interval(whole, of.span, of.resolution)
        found = estimator(np.where(held, self.bounds, self.values), judgement.confidence)
        return AtLeast(found.replications, found.value, None, None, censored)


def join_samples(samples: list[Sample]) -> Sample:
    """Join the replications of several conditions into one sample."""
    return Sample(*(np.concatenate(arrays) for arrays in zip(*samples, strict=True)))


def rank_samples(samples: Mapping[K, Sample], metric: Metric, judgement: Judgement = DEFAULT) -> list[K]:
    """Order the cases or points that have data, best first. Every table, sentence and figure uses this order.

    The completed share decides first, then the value; for a censored value, its bound counts. So the case that fails
    most never comes first. Whether a transfer near the end of a run completes is chance. So for transfers, a smaller
    share decides only if a sign test over the replications shows the difference.
    """
    there = {name: sample for name, sample in samples.items() if sample.is_there}
    whole = {
        name: each.done / each.due if each.due else 1.0 for name, each in ((n, s.counts) for n, s in there.items())
    }
    if has_transfers(metric) and there:
        most = there[max(whole, key=lambda name: whole[name])]
        top = max(whole.values())
        whole = {name: whole[name] if _is_behind(sample, most, judgement) else top for name, sample in there.items()}
    sign = -1 if metric.is_more_better else 1
    value = {name: sample.estimate(judgement).value or 0.0 for name, sample in there.items()}
    return sorted(there, key=lambda name: (-whole[name], sign * value[name]))


def _is_behind(sample: Sample, most: Sample, judgement: Judgement) -> bool:
    count = min(len(sample.values), len(most.values))
    apart = sample.first(count).shares - most.first(count).shares
    return bool(np.nansum(apart) < 0 and judgement.is_shown(sign_test(apart)))


def has_transfers(metric: Metric) -> bool:
    """Whether a metric covers only the finished transfers of a run."""
    return metric.has_transfers


def bound(text: str, found: Estimate | Interval) -> str:
    """Write a value as text, with the sign of a bound if it is a bound."""
    return f"> {text}" if isinstance(found, AtLeast) else text


def not_whole(metric: Metric, by_sender: Mapping[str, Counts]) -> str | None:
    """Name the cases with incomplete work: `completion: sack completed in 4 of 10 replications`; None without any."""
    held = {name: counts for name, counts in by_sender.items() if not counts.is_whole}
    if not held:
        return None
    (does, of), excluded = _HAS, "replications without a value"
    if metric.is_completion:
        does, of = _COMPLETED
    elif metric.has_transfers:
        does, of, excluded = "finished", "transfers", "unfinished transfers"
    listed = [f"{name} {counts}" for name, counts in held.items()]
    (name, first), *_ = held.items()
    listed[0] = f"{name} {does} {first} {of}"
    more = f" and {len(listed) - NAMED_MAX} more not all" if len(listed) > NAMED_MAX else ""
    text = f"{metric.name}: {', '.join(listed[:NAMED_MAX])}{more}"
    if metric.is_completion:
        return f"{text}; >: a run that did not complete counts with its simulated time, so the mean is larger"
    return f"{text}; {excluded} are excluded"


_COMPLETED = ("completed in", "replications")
_HAS = ("has a value in", "replications")

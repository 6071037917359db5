"""Samples in which something did not come to its end: what was completed, and what the missing values are at least.

A run that did not complete has no completion time, but it says something: completing takes longer than the time that it
had. Such values are right-censored. A mean over the others would praise a sender for failing, so it is never given:
what is given is a bound that counts all of them, and how many were completed.

References
----------
Kaplan and Meier, "Nonparametric estimation from incomplete observations", J. Am. Statistical Association 53, 1958.
Royston and Parmar, "Restricted mean survival time", BMC Medical Research Methodology 13, 2013: the mean of the times,
each at most as long as it was watched, which here is the bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from bentpipe.metric import named
from bentpipe.statistics.estimates import Estimate, Interval, estimate, median, sign_test
from bentpipe.statistics.judgement import DEFAULT, Judgement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from bentpipe.metric import Metric

    Values = NDArray[np.float64]

K = TypeVar("K")
ESTIMATORS: dict[str, Callable[[Values, float], Estimate | Interval]] = {"mean": estimate, "median": median}
"""By the names in `judgement.STATISTICS`."""
NAMED_MAX = 8
"""Senders that are named in a note."""


class AtLeast(Estimate):
    """A mean or median that is only known to be larger than this, as some values are; it has no interval."""

    __slots__ = ()


class Counts(NamedTuple):
    """How much was completed, over all replications."""

    done: int
    due: int

    @property
    def censored(self) -> int:
        """How much was not."""
        return self.due - self.done

    @property
    def is_whole(self) -> bool:
        """Whether all of it was."""
        return self.done == self.due

    def __str__(self) -> str:
        """Such as `4 of 10`."""
        return f"{self.done:,} of {self.due:,}"


class Sample(NamedTuple):
    """A metric in each replication; all arrays have the shape (replications,)."""

    values: Values
    """NaN where there is none."""
    bounds: Values
    """What the value is at least, where there is none; NaN where nothing is known."""
    done: Values
    """How much was completed: one or none where a replication is what completes, or a number of transfers."""
    due: Values
    """How much should have been."""

    @classmethod
    def of(cls, values: Values) -> Sample:
        """Nothing is due but the values that there are."""
        done = (~np.isnan(values)).astype(np.float64)
        return cls(values, np.full(len(values), np.nan), done, done)

    @classmethod
    def named(cls, metric: str | Metric, columns: Mapping[str, Values]) -> Sample:
        """A metric of runs.

        Parameters
        ----------
        metric : str or Metric
        columns : mapping
            By name of the column, its values: those of `Metric.columns`, and `replication`, which is NaN where a run is
            missing.
        """
        what = named(metric) if isinstance(metric, str) else metric
        values = columns[what.column]
        bounds = np.full(len(values), np.nan)
        done = (~np.isnan(values)).astype(np.float64)
        due = (~np.isnan(columns["replication"])).astype(np.float64)
        if what.is_completion:
            bounds = columns[what.bound]
            # Where no flow has an end, there is nothing to complete.
            due = np.maximum(done, ~np.isnan(bounds))
        elif what.is_of_transfers:
            done = np.nan_to_num(columns[what.finished])
            due = done + np.nan_to_num(columns[what.unfinished])
        elif what.base == "unfinished":
            due = done
        return cls(values, bounds, done, due)

    @property
    def counts(self) -> Counts:
        """Over all replications."""
        return Counts(int(self.done.sum()), int(self.due.sum()))

    @property
    def shares(self) -> Values:
        """In each replication, how much of what was due was done; NaN where nothing was."""
        with np.errstate(invalid="ignore"):
            return self.done / np.where(self.due > 0, self.due, np.nan)

    @property
    def is_there(self) -> bool:
        """Whether there is anything to say: a value, or what one is at least."""
        return bool((~np.isnan(self.values) | ~np.isnan(self.bounds)).any())

    def first(self, count: int) -> Sample:
        """The first replications."""
        return Sample(*(array[:count] for array in self))

    def estimate(self, judgement: Judgement = DEFAULT) -> Estimate | Interval:
        """Mean or median; where values are missing of which the least is known, a bound."""
        held, censored = np.isnan(self.values) & ~np.isnan(self.bounds), self.counts.censored
        estimator = ESTIMATORS[judgement.statistic]
        if not held.any():
            return estimator(self.values, judgement.confidence)._replace(censored=censored)
        found = estimator(np.where(held, self.bounds, self.values), judgement.confidence)
        return AtLeast(found.replications, found.value, None, None, censored)


def joined(samples: list[Sample]) -> Sample:
    """The replications of several conditions as one sample."""
    return Sample(*(np.concatenate(arrays) for arrays in zip(*samples, strict=True)))


def ranked(samples: Mapping[K, Sample], metric: Metric, judgement: Judgement = DEFAULT) -> list[K]:
    """The senders or points that have anything, best first: the one order that everything uses.

    First counts what was completed, then the value, where censored values count with what they are at least. So a
    sender that fails most never comes first. Whether a transfer ends just before or after the run does is chance, so
    among transfers only a smaller share that a sign test over the replications shows goes before the times.
    """
    there = {name: sample for name, sample in samples.items() if sample.is_there}
    whole = {
        name: each.done / each.due if each.due else 1.0 for name, each in ((n, s.counts) for n, s in there.items())
    }
    if is_of_transfers(metric) and there:
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


def is_of_transfers(metric: Metric) -> bool:
    """Whether it is of the transfers that finished, among many in a run."""
    return metric.is_of_transfers


def bound(text: str, found: Estimate | Interval) -> str:
    """A value as text, with the sign of a bound where it is one."""
    return f"> {text}" if isinstance(found, AtLeast) else text


def not_whole(metric: Metric, by_sender: Mapping[str, Counts]) -> str | None:
    """Who did not complete all, such as `completion: sack completed in 4 of 10 replications`; None if everyone did."""
    held = {name: counts for name, counts in by_sender.items() if not counts.is_whole}
    if not held:
        return None
    (does, of), excluded = _HAS, "replications without a value"
    if metric.is_completion:
        does, of = _COMPLETED
    elif metric.is_of_transfers:
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

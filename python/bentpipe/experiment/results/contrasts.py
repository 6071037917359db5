"""Conclusions of a sweep: comparisons of the cases at each setting of other keys, and the best point of the grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe import formatting
from bentpipe.catalog import compared_keys
from bentpipe.contract.rows import difference_row, estimate_row
from bentpipe.metric import find_metric, named_point
from bentpipe.statistics.comparing import differences, sentence, statement
from bentpipe.statistics.judgement import DEFAULT, Judgement
from bentpipe.statistics.samples import Sample, bound, join_samples, rank_samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from bentpipe.metric import Metric
    from bentpipe.statistics.comparing import Difference
    from bentpipe.statistics.estimates import Estimate, Interval
    from bentpipe.statistics.samples import Counts

LETTERS_MAX = 300
"""A longer statement about many settings is replaced by counts."""
EQUALS_MAX = 3
"""Maximum number of named points among those that are not shown to be worse than the best."""


@dataclass(frozen=True)
class Contrast:
    """A case against another case, at each combination of the other keys that both have."""

    metric: str
    sender: str
    other: str
    settings: dict[str, dict[str, Any]]
    """Values of the other keys at each condition, by the name of the condition."""
    differences: dict[str, Difference]
    """Differences by name of the condition. The name is empty if no other key varies."""

    def __str__(self) -> str:
        """Write the conclusion setting by setting, or as counts if the settings are many."""
        text = self.in_full()
        return text if len(text) <= LETTERS_MAX or len(self.differences) < 2 else self.write_counts()

    def rows(self) -> list[dict[str, Any]]:
        """Make a row of `Result.differences` for each setting."""
        metric = find_metric(self.metric)
        return [
            {**difference_row(metric, self.sender, self.other, each), **self.settings[at]}
            for at, each in self.differences.items()
        ]

    def in_full(self) -> str:
        """Write the conclusion setting by setting."""
        if not self.differences:
            return f"{self.sender} and {self.other} have no setting of the other keys in common"
        if list(self.differences) == [""]:
            return statement(self.sender, self.other, self.differences[""], find_metric(self.metric))
        return sentence(self.sender, self.other, self.differences, find_metric(self.metric))

    def write_counts(self) -> str:
        """Write the conclusion as counts of settings.

        Such as `sack against reno in goodput, of 12 settings: better at 4, worse at 0, ...`.
        """
        metric = find_metric(self.metric)
        question = next((each.question for each in self.differences.values()), None)
        if question is not None:
            shown, count = sum(bool(each.is_shown) for each in self.differences.values()), len(self.differences)
            return (
                f"{self.sender} against {self.other} in {self.metric}, of {count} settings: "
                f"{question.claim} it at {shown}, not shown at {count - shown}"
            )
        found = [find_winner(each, metric) for each in self.differences.values()]
        more, less = ("better", "worse") if metric.is_judged else ("above", "below")
        often = sum(1 for each in self.differences.values() if each.shares is not None and each.shares.is_shown)
        by = f" ({often} of these by completion)" if often else ""
        small = sum(each.is_negligible for each in self.differences.values())
        matters = f"no difference that matters at {small}, " if small else ""
        return (
            f"{self.sender} against {self.other} in {self.metric}, of {len(found)} settings: "
            f"{more} at {found.count(1)}, {less} at {found.count(-1)}{by}, {matters}"
            f"no difference can be shown at {found.count(0) - small}"
        )


def find_winner(difference: Difference, metric: Metric) -> int:
    """Return 1 if the first case is shown to be better than the other, and -1 if it is shown to be worse.

    Completed shares decide first, then values. Return 0 if no difference is shown, or none that matters. For a metric
    without a better direction, 1 means larger and -1 smaller.
    """
    shares = difference.shares
    if shares is not None and shares.is_shown:
        return 1 if shares.more > shares.less else -1
    if not difference.value or not difference.is_shown or difference.is_negligible:
        return 0
    return 1 if (difference.value > 0) == metric.is_more_better else -1


@dataclass(frozen=True)
class Ranked:
    """A point of the grid in the order from best to worst."""

    point: int
    found: Estimate | Interval
    counts: Counts
    behind: Difference | None
    """Value of the best point minus the value of this point; None for the best point itself."""
    is_worse: bool
    """Whether the data shows that this point is worse than the best. The tests of all points are corrected together."""

    @property
    def is_as_good(self) -> bool:
        """Whether the data shows that the difference from the best point is too small to matter."""
        return self.behind is not None and self.behind.is_negligible

    def to_dict(self, judgement: Judgement) -> dict[str, Any]:
        """Make a row: the estimate, and the test against the best."""
        shares = self.behind.shares if self.behind is not None else None
        return {
            **estimate_row(self.found, self.counts, judgement),
            "p_adjusted": self.behind and self.behind.p_adjusted,
            "p_completed": shares and shares.p_adjusted,
            "is_worse": self.is_worse,
            "is_as_good": self.is_as_good,
        }


def ranking(samples: Mapping[int, Sample], metric: Metric, judgement: Judgement = DEFAULT) -> list[Ranked]:
    """Order all points that have the metric, best first, each compared with the best in pairs of equal seeds.

    Any point that is not shown to be worse may be the true best. The method is multiple comparisons with the best:
    paired, two-sided tests of each other point, corrected together. The point that looks best is chosen by the same
    values. A simulation in the tests, with Holm's correction, shows that the points not shown to be worse still include
    the true best in at least 95 % of sweeps.

    References
    ----------
    Hsu, "Constrained simultaneous confidence intervals for multiple comparisons with the best", Annals of Statistics
    12, 1984.
    """
    order = rank_samples(samples, metric, judgement)
    if not order:
        return []
    best, *rest = order
    found = differences([pair_samples(samples[best], samples[point]) for point in rest], judgement.usual, metric)
    return rank_points(order, samples, [None, *found], metric, judgement)


def rank_points(
    order: Sequence[int],
    samples: Mapping[int, Sample],
    behind: Sequence[Difference | None],
    metric: Metric,
    judgement: Judgement,
) -> list[Ranked]:
    """Make the ranking of points in this order, each with the difference between the best point and it."""
    return [
        Ranked(
            point,
            samples[point].estimate(judgement, metric),
            samples[point].counts,
            each,
            each is not None and find_winner(each, metric) > 0,
        )
        for point, each in zip(order, behind, strict=True)
    ]


@dataclass(frozen=True)
class Choice:
    """The best case at a setting of the other keys."""

    condition: str
    settings: dict[str, Any]
    best: str
    equals: list[str]
    """Cases that are not shown to be worse."""


class Compared:
    """The samples of a grid by case and condition.

    Parameters
    ----------
    points : polars.DataFrame
        A row per point, as `Sweep.points`.
    keys : sequence of str
        Varied keys.
    samples : mapping
        Samples by point.
    metric : Metric
    judgement : Judgement
    """

    def __init__(
        self,
        points: pl.DataFrame,
        keys: Sequence[str],
        samples: Mapping[int, Sample],
        metric: Metric,
        judgement: Judgement,
    ) -> None:
        self.metric, self.judgement = metric, judgement
        self.sender = find_sender_key(points, keys)
        self.settings: dict[str, dict[str, Any]] = {}
        self.samples: dict[str, dict[str, Sample]] = {}
        if self.sender is None:
            return
        others = find_conditions(points, keys, self.sender)
        for row, condition in zip(points.iter_rows(named=True), conditions(points, others), strict=True):
            self.settings[condition] = {key: row[key] for key in others}
            self.samples.setdefault(row[self.sender], {})[condition] = samples[row["point"]]

    def contrasts(self) -> list[Contrast]:
        """Compare the best case with each other case, or each other case with the baseline; corrected together."""
        against, whole = (
            self.judgement.against,
            {name: join_samples([*each.values()]) for name, each in self.samples.items()},
        )
        order = rank_samples(whole, self.metric, self.judgement)
        if against is not None and against not in order:
            return []
        contrasted = [(other, against) for other in order if other != against] if against else []
        contrasted = contrasted or [(order[0], other) for other in order[1:]]
        pairs = [(one, other, at) for one, other in contrasted for at in self.samples[one] if at in self.samples[other]]
        found = differences(
            [pair_samples(self.samples[one][at], self.samples[other][at]) for one, other, at in pairs],
            self.judgement,
            self.metric,
        )
        by_pair: dict[tuple[str, str], dict[str, Difference]] = {pair: {} for pair in contrasted}
        for (one, other, at), difference in zip(pairs, found, strict=True):
            by_pair[one, other][at] = difference
        return [
            Contrast(self.metric.name, *pair, {at: self.settings[at] for at in by_condition}, by_condition)
            for pair, by_condition in by_pair.items()
        ]

    def choices(self) -> list[Choice]:
        """Find the best case at each setting and the cases that are not shown to be worse; corrected together."""
        there = {at: {name: each[at] for name, each in self.samples.items() if at in each} for at in self.settings}
        orders = {at: rank_samples(samples, self.metric, self.judgement) for at, samples in there.items()}
        pairs = [(at, order[0], other) for at, order in orders.items() for other in order[1:]]
        found = differences(
            [pair_samples(self.samples[best][at], self.samples[other][at]) for at, best, other in pairs],
            self.judgement.usual,
            self.metric,
        )
        equals: dict[str, list[str]] = {}
        for (at, _, other), difference in zip(pairs, found, strict=True):
            if find_winner(difference, self.metric) <= 0:
                equals.setdefault(at, []).append(other)
        return [Choice(at, self.settings[at], order[0], equals.get(at, [])) for at, order in orders.items() if order]


def count_preferred(choices: Sequence[Choice], metric: Metric) -> str:
    """Count the settings where each case is best or not shown to be worse, most frequent first."""
    names = [name for choice in choices for name in (choice.best, *choice.equals)]
    order = sorted(dict.fromkeys(names), key=lambda name: -names.count(name))
    best, *others = (f"{name} in {names.count(name)}" for name in order)
    said = ", ".join([f"{best} of {formatting.count(len(choices), 'setting')}", *others])
    return f"{metric.ends[0]} or tied in {metric.name}: {said}"


def name_best(order: Sequence[Ranked], points: pl.DataFrame, keys: Sequence[str], metric: Metric) -> Iterator[str]:
    """Name the best point, the points that are as good, the points not shown to be worse, and the worst point."""
    rows = {row["point"]: row for row in points.iter_rows(named=True)}
    best, *rest = order
    first, last = metric.ends
    behind = "worse" if metric.is_judged else "smaller"

    def name_point(each: Ranked) -> str:
        of = "" if each.counts.is_whole else f" ({each.counts})"
        return f"{named_point(rows[each.point], keys)}: {amount(each.found, metric)}{of}"

    if not rest:
        yield f"{metric.name} at {name_point(best)}"
        return
    text = f"{first} in {metric.name} at {name_point(best)}"
    equals = [each for each in rest if not each.is_worse]
    if best.found.replications == 1:
        yield f"{text}; one run cannot show that the others are {behind}"
    elif not equals:
        yield f"{text}; {'the other is' if len(rest) == 1 else 'all others are'} shown to be {behind}"
    else:
        as_good = [each for each in equals if each.is_as_good]
        unclear = [each for each in equals if not each.is_as_good]
        for verdict, which in (("no difference that matters", as_good), (f"not shown to be {behind}", unclear)):
            if not which:
                continue
            names = "; ".join(named_point(rows[each.point], keys) for each in which[:EQUALS_MAX])
            more = f"; and {len(which) - EQUALS_MAX} more" if len(which) > EQUALS_MAX else ""
            of = f"{len(which)} of the other {len(rest)} ({names}{more})" if len(rest) > 1 else names
            text += f"; {verdict}: {of}"
        yield text
    yield f"{last} in {metric.name} at {name_point(rest[-1])}"


def amount(found: Estimate | Interval, metric: Metric) -> str:
    """Write a mean with its margin and unit: `6.31 ± 0.20 s`, `> 18.4 s`."""
    divisor, unit = formatting.scale([found.value], metric.unit)
    half = None if found.low is None or found.high is None else (found.high - found.low) / 2 / divisor
    mean, margin = formatting.mean_and_margin((found.value or 0) / divisor, half)
    return bound(f"{mean} {unit}" if margin is None else f"{mean} ± {margin} {unit}", found).rstrip()


def find_sender_key(points: pl.DataFrame, keys: Sequence[str]) -> str | None:
    """Return the key whose values are compared with each other."""
    return next((key for key in compared_keys() if key in keys and points[key].n_unique() > 1), None)


def find_conditions(points: pl.DataFrame, keys: Sequence[str], sender: str) -> list[str]:
    """Return the keys of the conditions under which cases are compared.

    A key that varies together with the case belongs to the case.
    """
    count = points[sender].n_unique()
    return [key for key in keys if key != sender and points.select(sender, key).n_unique() > count]


def labels(points: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    """Name each point of a grid in plain words; names are unique."""
    names: list[str] = []
    # Numbers for people have six digits. If two of them look equal, all digits are written.
    for text in (formatting.setting, str):
        names = [named_point({key: text(row[key]) for key in keys}, keys) for row in points.iter_rows(named=True)]
        if len(set(names)) == len(names):
            break
    return names


def conditions(points: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    """Name the values of these keys for each point. Different values have different names."""
    rows = [tuple(row[key] for key in keys) for row in points.iter_rows(named=True)]
    names: list[str] = []
    # Numbers for people have six digits. If two of them look equal, all digits are written.
    for text in (formatting.setting, str):
        names = [
            ", ".join(
                text(value) if len(keys) == 1 else f"{formatting.short_key(key, keys)} {text(value)}"
                for key, value in zip(keys, row, strict=True)
            )
            for row in rows
        ]
        if len(set(names)) == len(set(rows)):
            break
    return names


def pair_samples(one: Sample, other: Sample) -> tuple[Sample, Sample]:
    """Return the replications that both samples have."""
    count = min(len(one.values), len(other.values))
    return one.first(count), other.first(count)

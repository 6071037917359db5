"""Two samples with equal seeds: what differs, how sure that is, how large it is, and how to say it in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bentpipe import human
from bentpipe.statistics import correction as corrections
from bentpipe.statistics.effects import Effect, cliff, hedges_paired
from bentpipe.statistics.estimates import Estimate, Interval, estimate, median

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from bentpipe.metrics import Metric

    Values = NDArray[np.float64]

ESTIMATORS: dict[str, Callable[[Values, float], Estimate | Interval]] = {"mean": estimate, "median": median}
"""By the names in `asking.STATISTICS`."""
_MIDDLES: dict[str, Callable[[Values], np.floating]] = {"mean": np.mean, "median": np.median}

RANGE_MIN = 3
"""As many neighbouring conditions are named by the first and the last."""


class Difference(NamedTuple):
    """A paired difference `one - other`."""

    statistic: str
    """`mean` or `median`: what `value` is of the differences."""
    replications: int
    """Pairs with both values."""
    value: float | None
    """In the unit of the samples; None without any pair."""
    low: float | None
    """Of the interval; None, like `high`, with too few pairs."""
    high: float | None
    base: float
    """What percentages are of: the mean or median of `other` over the same pairs, without its sign."""
    p: float | None
    """Of this difference alone."""
    p_adjusted: float | None
    """Corrected for all differences that were asked for together."""
    effect: Effect
    """Hedges' g_z for means, Cliff's delta for medians."""
    is_shown: bool | None
    """Whether `p_adjusted` is below 1 - confidence; None without a test."""

    def percent(self, value: float | None) -> float | None:
        """A value, low or high, in percent of the base; None if that is zero."""
        return None if value is None or self.base == 0 else 100 * value / self.base


def differences(
    pairs: Iterable[tuple[Values, Values]],
    *,
    statistic: str = "mean",
    correction: str = "holm",
    confidence: float = 0.95,
) -> list[Difference]:
    """Compare each pair of samples, and correct for all of them.

    Parameters
    ----------
    pairs : iterable of (one, other)
        Each an ndarray of shape (n,) with one value per replication, NaN where missing; replication k has the same seed
        in both, so that what the seed does to both cancels (common random numbers; Law, "Simulation Modeling and
        Analysis", §11.2).
    statistic : str
        `mean` (Student's paired t) or `median` (sign test, bootstrap interval) of the differences.
    correction : str
        `holm`, `bh` or `none`.
    confidence : float
        Of each interval, and of what is shown.
    """
    found = []
    for one, other in pairs:
        apart = one - other
        paired = ~np.isnan(apart)
        base = abs(float(_MIDDLES[statistic](other[paired]))) if paired.any() else 0.0
        effect = hedges_paired(one, other) if statistic == "mean" else cliff(one[paired], other[paired])
        found.append((ESTIMATORS[statistic](apart, confidence), base, effect))
    adjusted = corrections.adjusted([each.p for each, _, _ in found], correction)
    return [
        Difference(
            statistic,
            each.replications,
            each.value,
            each.low,
            each.high,
            base,
            each.p,
            p,
            effect,
            None if p is None else p < 1 - confidence,
        )
        for (each, base, effect), p in zip(found, adjusted, strict=True)
    ]


def statement(sender: str, other: str, difference: Difference, metric: Metric) -> str:
    """What can be said of one difference, such as `sack is 12.1 % (±1.0 %) above reno in goodput`."""
    if difference.value is None:
        return f"{sender} and {other} cannot be compared: no replication has a {metric.name} of both"
    what = _what(metric, difference)
    if not _is_said(difference):
        return f"no difference in {what} can be shown between {sender} and {other}"
    return f"{sender} is {_amount(difference, metric)} {_where(difference)} {other} in {what}"


def sentence(
    sender: str, other: str, by_condition: Mapping[str, Difference], metric: Metric, *, preposition: str = "at"
) -> str:
    """What can be said of the differences under several conditions, in one sentence.

    Such as `westwood is 31 % (±4 %) above newreno in goodput at 1e-2; no difference can be shown at 1e-5 and 1e-4`.
    Conditions of which the same can be said are named together; neighbours that begin with a digit as a range.

    Parameters
    ----------
    by_condition : mapping
        Differences by the name of the condition, in order. Correct for all of them: take them from one call of
        `differences`.
    preposition : str
        Between an outcome and its conditions.
    """
    order = list(by_condition)
    said = {name: each for name, each in by_condition.items() if _is_said(each)}
    unknown = [name for name, each in by_condition.items() if each.value is None]
    equal = [name for name in order if name not in said and name not in unknown]
    if len(unknown) == len(order):
        return f"{sender} and {other} cannot be compared: no replication has a {metric.name} of both"
    what = _what(metric, next(iter(by_condition.values())))

    clauses: list[str] = []
    for where in dict.fromkeys(map(_where, said.values())):
        amounts: dict[str, list[str]] = {}
        for name, each in said.items():
            if _where(each) == where:
                amounts.setdefault(_amount(each, metric), []).append(name)
        (first, names), *more = amounts.items()
        subject = f"{sender} is {first} {where} {other} in {what}" if not clauses else f"{first} {where}"
        rest = [f"{amount} {preposition} {_conditions(names, order)}" for amount, names in more]
        clauses.append(_listed([f"{subject} {preposition} {_conditions(names, order)}", *rest]))
    if equal:
        between = "" if clauses else f" between {sender} and {other}"
        subject = "no difference" if clauses else f"no difference in {what}"
        clauses.append(f"{subject} can be shown{between} {preposition} {_conditions(equal, order)}")
    if unknown:
        clauses.append(f"no replication has a {metric.name} of both {preposition} {_conditions(unknown, order)}")
    return "; ".join(clauses)


def _is_said(difference: Difference) -> bool:
    return difference.value is not None and difference.value != 0 and difference.is_shown is not False


def _where(difference: Difference) -> str:
    return "above" if (difference.value or 0) > 0 else "below"


def _what(metric: Metric, difference: Difference) -> str:
    return metric.name if difference.statistic == "mean" else f"{metric.name} ({difference.statistic})"


def _amount(difference: Difference, metric: Metric) -> str:
    """Such as `31.2 % (±4.1 %)`, or for medians `31.2 % (28.0 to 36.1 %)`; in the metric's unit if the base is zero."""
    if difference.base != 0:
        divisor, unit = difference.base / 100, " %"
    else:
        divisor, text = human.scale([difference.value], metric.unit)
        unit = f" {text}".rstrip()
    sign = -1 if _where(difference) == "below" else 1
    value, low, high = (
        None if each is None else sign * each / divisor for each in (difference.value, difference.low, difference.high)
    )
    assert value is not None, "asked only where there is a value"
    by, margin = human.mean_and_margin(value, None if low is None or high is None else abs(high - low) / 2)
    if low is None or high is None or margin is None:
        why = "one run, no interval" if difference.replications == 1 else "too few runs for an interval"
    elif difference.statistic == "mean" or low == high:
        why = f"±{margin}{unit}"
    else:
        digits = len(by.partition(".")[2])
        why = f"{min(low, high):.{digits}f} to {max(low, high):.{digits}f}{unit}"
    return f"{by}{unit} ({why})"


def _conditions(names: Sequence[str], order: Sequence[str]) -> str:
    """`1e-5`, `1e-5 and 1e-3`, `1e-6 to 1e-4`."""
    runs: list[list[str]] = []
    for name in names:
        if runs and order.index(name) == order.index(runs[-1][-1]) + 1:
            runs[-1].append(name)
        else:
            runs.append([name])
    parts: list[str] = []
    for run in runs:
        is_range = len(run) >= RANGE_MIN and all(name[:1].isdigit() for name in run)
        parts += [f"{run[0]} to {run[-1]}"] if is_range else run
    return _listed(parts)


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))

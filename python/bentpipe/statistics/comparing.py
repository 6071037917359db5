"""Differences between two samples with equal seeds: values, intervals, effect sizes and sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bentpipe import formatting
from bentpipe.statistics import correction as corrections
from bentpipe.statistics import sided
from bentpipe.statistics.effects import Effect, cliff, hedges_paired
from bentpipe.statistics.estimates import fisher, limit_interval, sign_test
from bentpipe.statistics.judgement import DEFAULT, Judgement
from bentpipe.statistics.samples import ESTIMATORS, Counts, Sample, has_transfers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from bentpipe.metric import Metric
    from bentpipe.statistics.estimates import Estimate, Interval
    from bentpipe.statistics.judgement import Question

    Values = NDArray[np.float64]

__all__ = ["ONE_RUN", "RANGE_MIN", "TIMES_FROM_PCT", "Difference", "Shares", "differences", "sentence", "statement"]


def __dir__() -> list[str]:
    return list(__all__)


_MIDDLES: dict[str, Callable[[Values], np.floating]] = {"mean": np.mean, "median": np.median}

TIMES_FROM_PCT = 100
"""Statements give a factor from this difference on, in percent."""
NAMED_MAX = 4
"""Maximum number of conditions that a statement names. More are counted."""
RANGE_MIN = 3
"""Minimum number of neighbouring conditions that are named as a range."""
ONE_RUN = "one replication shows no difference, as any may be chance: intervals need 2 or more (10 by default)"
"""Statement about one replication."""


class Shares(NamedTuple):
    """Counts of replications in which one case completed more than the other, if not everything was completed."""

    one: Counts
    other: Counts
    more: int
    """Replications in which the first case completed more than the other."""
    less: int
    """Replications in which the first case completed less. In all other replications, both completed the same."""
    p: float
    """p value of an exact test.

    If a replication as a whole completes or not, it is Fisher's test. For transfers, it is the sign test of `more`
    against `less`, because the transfers of one run depend on each other.
    """
    p_adjusted: float | None
    """p value after the correction for all tests of the same request."""
    is_shown: bool
    """Whether `p_adjusted` is below 1 - confidence."""


class Difference(NamedTuple):
    """A paired difference `one - other`, over the pairs in which both cases have a value."""

    statistic: str
    """The statistic of the differences: `mean` or `median`."""
    replications: int
    """Pairs with both values."""
    value: float | None
    """Difference in the unit of the samples; None without any pair."""
    low: float | None
    """Lower end of the interval, not corrected for other differences; None, like `high`, with too few pairs.

    If no value of the samples is negative, it is at least `-base`.
    """
    high: float | None
    base: float
    """Base of percentages: the absolute mean or median of `other` over the same pairs."""
    p: float | None
    """p value, not corrected for other differences."""
    p_adjusted: float | None
    """p value corrected for all differences of the same request."""
    effect: Effect
    """Hedges' g_z for means, Cliff's delta for medians."""
    is_shown: bool | None
    """Whether `p_adjusted` is below 1 - confidence; None without a test."""
    shares: Shares | None = None
    """Completed shares; None if everything was completed."""
    question: Question | None = None
    """The question of the test; None for the usual question: is there a difference?"""
    corrected: tuple[float | None, float | None] = (None, None)
    """The interval with the same correction as `p_adjusted`. It excludes zero if and only if `is_shown`."""
    margin: float = 0.0
    """The smallest difference that matters, in the unit of the samples; 0 if every difference does."""

    @property
    def is_negligible(self) -> bool:
        """Whether the difference is too small to matter: the whole interval is within the margin.

        Without an interval, the value must be within the margin. False if the difference is exactly zero.
        """
        ends = (self.low, self.high) if self.low is not None and self.high is not None else (self.value,)
        return bool(self.value) and all(end is not None and abs(end) < self.margin for end in ends)

    def percent(self, value: float | None) -> float | None:
        """Convert a value, low or high, to percent of the base; None if the base is zero."""
        return None if value is None or self.base == 0 else 100 * value / self.base

    def to_dict(self) -> dict[str, Any]:
        """Return a row of a table."""
        return {
            "replications": self.replications,
            self.statistic: self.value,
            "low": self.low,
            "high": self.high,
            f"{self.statistic}_pct": self.percent(self.value),
            "low_pct": self.percent(self.low),
            "high_pct": self.percent(self.high),
            "effect": self.effect.value,
            "magnitude": self.effect.magnitude,
            "p": self.p,
            "p_adjusted": self.p_adjusted,
            "is_shown": self.is_shown,
            "of_completed": self.shares and self.shares.one.done,
            "other_completed": self.shares and self.shares.other.done,
            "more_often": self.shares and self.shares.more,
            "less_often": self.shares and self.shares.less,
            "p_completed": self.shares and self.shares.p_adjusted,
            "is_completed_shown": self.shares and self.shares.is_shown,
        }


def differences(
    pairs: Iterable[tuple[Values | Sample, Values | Sample]],
    judgement: Judgement = DEFAULT,
    metric: Metric | None = None,
) -> list[Difference]:
    """Compare each pair of samples, and correct for all of them.

    If a case did not complete everything, there are two questions: which case completed more, and which case was faster
    in replications that both completed. Each question has its test, and both count in the correction.

    Parameters
    ----------
    pairs : iterable of (one, other)
        Each a `Sample`, or an ndarray of shape (n,) with one value per replication, NaN where missing. Replication k
        has the same seed in both, so effects of the seed cancel (common random numbers; Law, "Simulation
        Modeling and Analysis", §11.2).
    judgement : Judgement
        For the mean, the test is Student's paired t. For the median, it is the sign test, with bootstrap intervals.
    metric : Metric, optional
        The metric of the values. A judgement with sides needs it to know the better direction, and a margin with a
        unit applies to metrics of this unit.
    """
    samples = [tuple(each if isinstance(each, Sample) else Sample.from_values(each) for each in pair) for pair in pairs]
    statistic, found, question = judgement.statistic, [], judgement.question(metric)
    confidence = judgement.confidence if question is None else judgement.interval
    resolution = 0.0 if metric is None else metric.resolution
    for first, second in samples:
        one, other = first.values, second.values
        apart = one - other
        paired = ~np.isnan(apart)
        base = abs(float(_MIDDLES[statistic](other[paired]))) if paired.any() else 0.0
        effect = hedges_paired(one, other) if statistic == "mean" else cliff(one[paired], other[paired])
        each = ESTIMATORS[statistic](apart, confidence)
        if question is not None and each.p is not None:
            each = each._replace(p=sided.p_value(one, other, statistic, question))
        elif each.p is not None and resolution > 0 and abs(each.value or 0) <= resolution * base:
            # A difference within a bin is no difference.
            each = each._replace(p=1.0)
        is_positive = bool(np.all(one[paired] >= 0) and np.all(other[paired] >= 0))
        span = (-base if is_positive else -np.inf, np.inf)
        found.append((apart, each, base, effect, span))
    shares = [_shares(first, second) for first, second in samples]
    tests = [*(each.p for _, each, *_ in found), *(each.p for each in shares if each is not None)]
    adjusted = iter(corrections.adjust_p(tests, judgement.correction))

    def limits(values: Values, base: float, span: tuple[float, float], confidence: float) -> Estimate | Interval:
        whole = ESTIMATORS[statistic](values, confidence)
        # Half a bin of the base, as a share of the difference.
        return limit_interval(whole, span, resolution * base / abs(whole.value) if whole.value else 0.0)

    whole = []
    for (apart, each, base, effect, span), p in zip(found, adjusted):  # noqa: B905 - the rest are those of the shares
        alone = limits(apart, base, span, confidence)
        level = 1 - (1 - confidence) * corrections.part(each.p, p, len(tests))
        corrected = alone if level == confidence else limits(apart, base, span, level)
        whole.append(
            Difference(
                statistic,
                each.replications,
                each.value,
                alone.low,
                alone.high,
                base,
                each.p,
                p,
                effect,
                judgement.is_shown(p),
                question=question,
                corrected=(corrected.low, corrected.high),
                margin=judgement.matters(base, metric) if question is None else 0.0,
            )
        )
    return [
        difference if share is None else difference._replace(shares=_correct_shares(share, next(adjusted), judgement))
        for difference, share in zip(whole, shares, strict=True)
    ]


def _shares(one: Sample, other: Sample) -> Shares | None:
    both = (one.due > 0) & (other.due > 0)
    first, second = (Counts(int(sample.done[both].sum()), int(sample.due[both].sum())) for sample in (one, other))
    if first.is_whole and second.is_whole:
        return None
    apart = one.shares - other.shares
    more, less = int(np.sum(apart > 0)), int(np.sum(apart < 0))
    is_single = max(one.due.max(), other.due.max()) <= 1
    p = fisher(*first, *second) if is_single else sign_test(apart)
    return Shares(first, second, more, less, p, None, is_shown=False)


def _correct_shares(shares: Shares, p: float | None, judgement: Judgement) -> Shares:
    return shares._replace(p_adjusted=p, is_shown=bool(judgement.is_shown(p)))


def statement(sender: str, other: str, difference: Difference, metric: Metric) -> str:
    """Describe one difference in a sentence, such as `sack gets 12.1 % (±1.0 %) more goodput than reno`.

    If a case did not complete everything, the sentence first names the case that completed more. If the data does not
    show this, the sentence describes the difference over transfers or runs that both completed.
    """
    if difference.shares is not None:
        return _statement_of_shares(sender, other, difference, difference.shares, metric)
    if difference.value is None:
        return f"{sender} and {other} cannot be compared: no replication has a {metric.name} of both"
    what = _what(metric, difference)
    if difference.question is not None and difference.is_shown is not None:
        return _answer(sender, other, difference, difference.question, metric)
    if difference.is_negligible:
        said = f"no difference that matters ({_size(difference, metric)}) in {what} between {sender} and {other}"
    elif not _is_said(difference):
        return f"no difference in {what} can be shown between {sender} and {other}"
    else:
        first, _ = _choose_words(metric, _where(difference))
        said = first.format(sender=sender, other=other, what=what, amount=_amount(difference, metric))
    return f"in this one run, {said}" if difference.replications == 1 else said


def _answer(sender: str, other: str, difference: Difference, question: Question, metric: Metric) -> str:
    """Answer a one-sided question, such as `sack is at most 2 % worse than reno in goodput: ...`."""
    what = _what(metric, difference)
    by = (
        f": {_choose_words(metric, _where(difference))[1].rpartition(': ')[2]}"
        if difference.value
        else ": both are equal"
    )
    by = by.format(amount=_amount(difference, metric)) if difference.value else by
    verb = "is" if difference.is_shown else "is not shown to be"
    return f"{sender} {verb} {question.claim} {other} in {what}{by}"


def _answers(
    sender: str,
    other: str,
    by_condition: Mapping[str, Difference],
    question: Question,
    metric: Metric,
    preposition: str,
) -> list[str]:
    """Answer a one-sided question for several conditions."""
    order, what = list(by_condition), _what(metric, next(iter(by_condition.values())))
    found = []
    for verb, is_shown in (("is", True), ("is not shown to be", False)):
        if names := [name for name, each in by_condition.items() if bool(each.is_shown) == is_shown]:
            found.append(
                f"{sender} {verb} {question.claim} {other} in {what} {preposition} {_conditions(names, order)}"
            )
    return found


def _statement_of_shares(sender: str, other: str, difference: Difference, shares: Shares, metric: Metric) -> str:
    does, many = _does(metric), has_transfers(metric)
    of = "transfers" if many else "replications"
    against = f"{'' if many else 'in '}{shares.one} {of} against {shares.other}"
    if shares.is_shown:
        how = "more" if shares.more > shares.less else "less"
        return f"{sender} {does.format(how)} than {other}: {against}"
    if shares.one.done == shares.other.done == 0:
        return f"neither {sender} nor {other} completed any of the {max(shares.one.due, shares.other.due)} {of}"
    times = statement(sender, other, difference._replace(shares=None), metric)
    if many:
        return f"{times} (of those that finished: {against})"
    verb = "complete" if metric.is_completion else f"have a {metric.name}"
    text = f"no difference can be shown in how often {sender} and {other} {verb}: {against}"
    if difference.is_shown is None:
        return text
    return f"{text}; of those that both completed ({difference.replications}), {times}"


def _does(metric: Metric) -> str:
    """Name the quantity that a case does more or less of than another."""
    if has_transfers(metric):
        return "finishes {} of its transfers"
    return "completes {} often" if metric.is_completion else f"has a {metric.name} {{}} often"


def sentence(
    sender: str, other: str, by_condition: Mapping[str, Difference], metric: Metric, *, preposition: str = "at"
) -> str:
    """Describe the differences under several conditions in one sentence.

    For example `westwood gets 31 % (±4 %) more goodput than newreno at 1e-2; no difference can be shown at 1e-5 and
    1e-4`. Conditions with the same outcome are named together. Neighbours that begin with a digit are named as a range.

    Parameters
    ----------
    by_condition : mapping
        Differences by the name of the condition, in order. Correct for all of them: take them from one call of
        `differences`.
    preposition : str
        Preposition between an outcome and its conditions.
    """
    order = list(by_condition)
    # Conditions where a case completes more often are not judged by times.
    often = {name: each.shares for name, each in by_condition.items() if each.shares and each.shares.is_shown}
    timed = {name: each for name, each in by_condition.items() if name not in often}
    said = {name: each for name, each in timed.items() if _is_said(each)}
    unknown = [name for name, each in timed.items() if each.value is None]
    small = [name for name, each in timed.items() if each.is_negligible]
    equal = [name for name in timed if name not in said and name not in unknown and name not in small]
    held = [each.shares for each in by_condition.values() if each.shares is not None]
    if len(unknown) == len(order) and not held:
        return f"{sender} and {other} cannot be compared: no replication has a {metric.name} of both"
    what = _what(metric, next(iter(by_condition.values())))

    times: list[str] = []
    tested = {name: each for name, each in timed.items() if each.question is not None and each.is_shown is not None}
    question = next((each.question for each in tested.values()), None)
    if question is not None:
        times += _answers(sender, other, tested, question, metric, preposition)
        said = {name: each for name, each in said.items() if name not in tested}
        equal = [name for name in equal if name not in tested]
    for where in dict.fromkeys(map(_where, said.values())):
        amounts: dict[str, list[str]] = {}
        for name, each in said.items():
            if _where(each) == where:
                amounts.setdefault(_amount(each, metric), []).append(name)
        (amount, names), *more = amounts.items()
        first, further = _choose_words(metric, where)
        subject = (further if times else first).format(sender=sender, other=other, what=what, amount=amount)
        if not times and next(iter(said.values())).replications == 1:
            subject = f"in one run each, {subject}"
        rest = [f"{amount} {preposition} {_conditions(names, order)}" for amount, names in more]
        times.append(_join_parts([f"{subject} {preposition} {_conditions(names, order)}", *rest]))
    if small:
        between = "" if times else f" between {sender} and {other}"
        subject = "no difference that matters" if times else f"no difference that matters in {what}"
        largest = max((timed[name] for name in small), key=lambda each: abs(each.percent(each.value) or 0))
        size = f"{'at most ' if len(small) > 1 else ''}{_size(largest, metric)}"
        times.append(f"{subject}{between} {preposition} {_conditions(small, order)} ({size})")
    if equal:
        between = "" if times else f" between {sender} and {other}"
        subject = "no difference" if times else f"no difference in {what}"
        times.append(f"{subject} can be shown{between} {preposition} {_conditions(equal, order, every='any')}")
    if unknown:
        times.append(f"no replication has a {metric.name} of both {preposition} {_conditions(unknown, order)}")
    first_of_all = [_often(sender, other, how, often, order, metric, preposition) for how in ("more", "less")]
    return "; ".join([*filter(None, first_of_all), *times, *_held(sender, other, held, metric)])


def _held(sender: str, other: str, held: Sequence[Shares], metric: Metric) -> Iterator[str]:
    """Describe the completed shares, for cases that did not complete everything."""
    if held:
        one, every = (
            Counts(sum(each.done for each in counts), sum(each.due for each in counts))
            for counts in ([each.one for each in held], [each.other for each in held])
        )
        of = "transfers finished" if has_transfers(metric) else "replications completed"
        yield f"where not all {of}: {sender} {one}, {other} {every}"


def _often(
    sender: str,
    other: str,
    how: str,
    often: Mapping[str, Shares],
    order: Sequence[str],
    metric: Metric,
    preposition: str,
) -> str:
    names = [name for name, each in often.items() if (each.more > each.less) == (how == "more")]
    if not names:
        return ""
    return f"{sender} {_does(metric).format(how)} than {other} {preposition} {_conditions(names, order)}"


def _is_said(difference: Difference) -> bool:
    # In a single run any difference may be chance, which is noted once. If the other case did not complete, there is no
    # comparison.
    is_alone = difference.is_shown is None and difference.shares is not None
    is_small = difference.is_negligible and difference.question is None
    return bool(difference.value) and difference.is_shown is not False and not is_alone and not is_small


def _size(difference: Difference, metric: Metric) -> str:
    """Write a difference without its direction and its interval: `0.0058 %`."""
    divisor, unit = (
        (difference.base / 100, " %") if difference.base != 0 else _scale_difference(difference, metric.unit)
    )
    return f"{formatting.mean_and_margin(abs(difference.value or 0) / divisor, None)[0]}{unit}"


def _where(difference: Difference) -> str:
    """Choose the direction: `less`, `more`, or `times` for a factor."""
    if (difference.value or 0) <= 0:
        return "less"
    return "times" if (difference.percent(difference.value) or 0) >= TIMES_FROM_PCT else "more"


def _choose_words(metric: Metric, where: str) -> tuple[str, str]:
    """Choose the words of a first difference, and of further differences after it.

    Times are faster or slower, with the share of the time. Without it, `50 % faster` may mean half or two thirds of the
    time.
    """
    if metric.unit == "s" and metric.is_judged:
        how, amount = {
            "more": ("slower", "{amount} more time"),
            "less": ("faster", "{amount} less time"),
            "times": ("slower", "{amount} the time"),
        }[where]
        return f"{{sender}} is {how} than {{other}} in {{what}}: {amount}", f"{how}: {amount}"
    if metric.unit == "bit/s":
        more = (f"{{sender}} gets {{amount}} {where} {{what}} than {{other}}", f"{{amount}} {where}")
        times = ("{sender} gets {amount} the {what} of {other}", "{amount} as much")
        return times if where == "times" else more
    if where == "times":
        return "{sender} is at {amount} that of {other} in {what}", "{amount} as much"
    word = "above" if where == "more" else "below"
    return f"{{sender}} is {{amount}} {word} {{other}} in {{what}}", f"{{amount}} {word}"


def _what(metric: Metric, difference: Difference) -> str:
    return metric.name if difference.statistic == "mean" else f"{metric.name} ({difference.statistic})"


def _amount(difference: Difference, metric: Metric) -> str:
    """Write an amount with its interval.

    `31.2 % (±4.1 %)`, `3.1 times (+1.23 Mbit/s, ±0.04 Mbit/s)`, or for medians `31.2 % (28.0 to 36.1 %)`.

    It is in the metric's unit if the base is zero.
    """
    where = _where(difference)
    if where == "times":
        # The interval of the difference. An interval of the factor would leave out the uncertainty of the base.
        factor = 1 + (difference.value or 0) / difference.base
        digits = 2 if factor < 10 else 1 if factor < 100 else 0
        more = ", ".join(filter(None, _interval(difference, *_scale_difference(difference, metric.unit))))
        return f"{factor:.{digits}f} times (+{more})"
    divisor, unit = (
        (difference.base / 100, " %") if difference.base != 0 else _scale_difference(difference, metric.unit)
    )
    value, interval = _interval(difference, divisor, unit, -1 if where == "less" else 1)
    return f"{value} ({interval})" if interval else value


def _scale_difference(difference: Difference, unit: str) -> tuple[float, str]:
    divisor, text = formatting.scale([difference.value], unit)
    return divisor, f" {text}".rstrip()


def _interval(difference: Difference, divisor: float, unit: str, sign: int = 1) -> tuple[str, str]:
    """Write a difference over a divisor, and its corrected interval, which agrees with the sentence.

    A single run has no interval: the sentence names the run.
    """
    ends = difference.corrected if None not in difference.corrected else (difference.low, difference.high)
    value, low, high = (None if each is None else sign * each / divisor for each in (difference.value, *ends))
    assert value is not None, "asked only where there is a value"
    by, margin = formatting.mean_and_margin(value, None if low is None or high is None else abs(high - low) / 2)
    if low is None or high is None or margin is None:
        why = "" if difference.replications == 1 else "too few runs for an interval"
    elif low == high or math.isclose(high - value, value - low, rel_tol=1e-6, abs_tol=1e-9 * abs(value)):
        why = f"±{margin}{unit}"
    else:
        digits = len(by.partition(".")[2])
        why = " to ".join(formatting.write_fixed(end, digits) for end in sorted((low, high))) + unit
    return f"{by}{unit}", why


def _conditions(names: Sequence[str], order: Sequence[str], every: str = "each") -> str:
    """Join names of conditions: `1e-5`, `1e-5 and 1e-3`, `1e-6 to 1e-4`, `each of the 9 settings`.

    >>> nine = [f"rate {rate}, queue {queue}" for rate in "abc" for queue in "xyz"]
    >>> _conditions(nine, nine, every="any"), _conditions(nine[1:], nine)
    ('any of the 9 settings', '8 of the 9 settings, all but rate a, queue x')
    >>> _conditions(nine[3:], nine)
    '6 of the 9 settings'
    """
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
    if len(parts) <= NAMED_MAX:
        return _join_parts(parts)
    rest = [name for name in order if name not in names]
    if not rest:
        return f"{every} of the {len(order)} settings"
    return f"{len(names)} of the {len(order)} settings" + (f", all but {rest[0]}" if len(rest) == 1 else "")


def _join_parts(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))

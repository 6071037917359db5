"""Estimates with intervals from few replications: means by Student's t, medians and ratios by the bootstrap."""

from __future__ import annotations

import math
import warnings
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bentpipe.statistics import student

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = [
    "AT_ONCE",
    "RESAMPLES",
    "SEED",
    "Estimate",
    "Interval",
    "estimate",
    "fisher",
    "least",
    "median",
    "ratio_of_means",
    "ratio_of_medians",
    "ratio_of_pairs",
    "ratio_of_quantiles",
    "sign_test",
]


def __dir__() -> list[str]:
    return list(__all__)


RESAMPLES = 9999
SEED = 1
"""Seed of the resampling. It is fixed: equal values have equal intervals, in any order of requests."""
AT_ONCE = 2_000_000
"""Number of values resampled in one step, which bounds the memory."""


class Estimate(NamedTuple):
    """A mean over replications, in the middle of its interval."""

    replications: int
    """Replications that have a value."""
    mean: float | None
    """The mean; None without any value."""
    half_width: float | None
    """Half width of the confidence interval; None with fewer than two values."""
    p: float | None
    """Probability of a mean at least as far from zero, if the true mean is zero; None like `half_width`."""
    censored: int = 0
    """Transfers without an end or value; or replications, if a run is the unit that completes.

    The mean is over the others. If this is an `AtLeast`, it is below the true mean.
    """
    span: tuple[float, float] = (-math.inf, math.inf)
    """Possible values: 0 to 1 for a share. The interval ends at them, as the true mean is among them."""
    unit: str = ""
    """Unit of the mean: `bit/s`, `s`, `B`, `%`, `1` (a count or ratio), or empty if it is not known."""

    def __str__(self) -> str:
        return _text(self)

    def __format__(self, spec: str) -> str:
        """Format the value in its base unit (`f"{found:.3g}"`), or without a specification as `str`."""
        return _format(self, spec)

    def _repr_html_(self) -> str:
        return _html(self)

    @property
    def value(self) -> float | None:
        """The mean."""
        return self.mean

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        if self.mean is None or self.half_width is None:
            return None
        return max(self.mean - self.half_width, min(self.span[0], self.mean))

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        if self.mean is None or self.half_width is None:
            return None
        return min(self.mean + self.half_width, max(self.span[1], self.mean))


class Interval(NamedTuple):
    """A value over replications, with an interval that may be asymmetric."""

    replications: int
    """Replications, or pairs, with a value. For two independent samples, the smaller number."""
    value: float | None
    """The value; None if it does not exist."""
    low: float | None
    """Lower end; None, like `high`, if the values allow no interval: too few (see `least`), or a ratio to a possible
    zero.
    """
    high: float | None
    p: float | None
    """Probability of such values if the true median is zero; None for ratios of means or medians."""
    censored: int = 0
    """Incomplete transfers or replications, as in `Estimate`."""
    unit: str = ""
    """Unit of the value, as in `Estimate`."""

    def __str__(self) -> str:
        return _text(self)

    def __format__(self, spec: str) -> str:
        """Format the value in its base unit (`f"{found:.3g}"`), or without a specification as `str`."""
        return _format(self, spec)

    def _repr_html_(self) -> str:
        return _html(self)


def _format(found: Estimate | Interval, spec: str) -> str:
    """Format a value.

    >>> found = Estimate(10, 18071619.2, 200e3, 0.0, unit="bit/s")
    >>> f"{found:.4g}; {found}"
    '1.807e+07; 18.1 Mbit/s (17.9 Mbit/s to 18.3 Mbit/s, 10 runs)'
    """
    from bentpipe.formatting import MISSING

    if not spec:
        return _text(found)
    return MISSING if found.value is None else format(found.value, spec)


def _html(found: Estimate | Interval) -> str:
    """Write the text for a notebook, with the value in bold.

    >>> Estimate(1, 18071619.2, None, None, unit="bit/s")._repr_html_()
    '<b>18.1 Mbit/s</b> (1 run)'
    """
    from html import escape

    value, bracket, rest = _text(found).partition(" (")
    return f"<b>{escape(value)}</b>{escape(bracket + rest)}"


def _text(found: Estimate | Interval) -> str:
    """Write a value with its unit, interval and number of replications.

    >>> str(Estimate(1, 18071619.2, None, None, unit="bit/s"))
    '18.1 Mbit/s (1 run)'
    >>> str(Estimate(10, 18071619.2, 200e3, 0.0, unit="bit/s"))
    '18.1 Mbit/s (17.9 Mbit/s to 18.3 Mbit/s, 10 runs)'
    """
    from bentpipe.formatting import quantity

    value, *ends = (quantity(each, found.unit) for each in (found.value, found.low, found.high))
    interval = f"{ends[0]} to {ends[1]}, " if found.low is not None and found.high is not None else ""
    return f"{value} ({interval}{found.replications} {'run' if found.replications == 1 else 'runs'})"


def estimate(values: Values, confidence: float) -> Estimate:
    """Estimate the mean of independent, roughly normal values, with Student's t interval.

    Parameters
    ----------
    values : ndarray, shape (n,)
        One per replication; NaN where missing. For a paired comparison the differences.
    confidence : float
        Such as 0.95.

    Returns
    -------
    Estimate
        `mean ± t(n - 1, (1 + confidence) / 2) * s / sqrt(n)`, and the two-sided p of `mean / (s / sqrt(n))`.

    References
    ----------
    Student, "The probable error of a mean", Biometrika 6, 1908. Law, "Simulation Modeling and Analysis", §4.5.
    """
    values = values[~np.isnan(values)]
    count = len(values)
    if count == 0:
        return Estimate(0, None, None, None)
    mean = float(np.mean(values))
    if count == 1:
        return Estimate(1, mean, None, None)
    if np.all(values == values[0]):
        # No spread at all: the values are not random. Rounding in a computed mean would make a tiny interval.
        mean = float(values[0])
        return Estimate(count, mean, 0.0, 1.0 if mean == 0 else 0.0)
    error = float(np.std(values, ddof=1)) / count**0.5
    half_width = student.find_quantile(count - 1, (1 + confidence) / 2) * error
    return Estimate(count, mean, half_width, 2 * student.cumulate(count - 1, -abs(mean / error)))


def limit_interval(found: Estimate | Interval, span: tuple[float, float], resolution: float) -> Estimate | Interval:
    """Limit an interval to the possible values, and widen it to the resolution of the values.

    The part of an interval outside of the possible values never contains the true value, so the confidence stays, and
    the interval agrees with the test of the same confidence.

    Parameters
    ----------
    found : Estimate or Interval
    span : tuple of float
        Smallest and largest possible value.
    resolution : float
        Half of the width of a bin, as a share of the value: quantiles of histograms are not more certain.
    """
    if found.value is None:
        return found
    least = resolution * abs(found.value)
    if isinstance(found, Estimate):
        half_width = None if found.half_width is None else max(found.half_width, least)
        return found._replace(half_width=half_width, span=span)
    if found.low is None or found.high is None:
        return found
    low, high = min(found.low, found.value - least), max(found.high, found.value + least)
    return found._replace(low=max(low, min(span[0], found.value)), high=min(high, max(span[1], found.value)))


def median(values: Values, confidence: float) -> Interval:
    """Estimate the median of independent values of any distribution, with a bootstrap interval.

    Parameters
    ----------
    values : ndarray, shape (n,)
        One per replication; NaN where missing. For a paired comparison the differences.
    confidence : float
        Such as 0.95.

    Returns
    -------
    Interval
        Its p is from the two-sided sign test, which needs only independence.

    References
    ----------
    See `sign_test` and `_bootstrap_interval`.
    """
    values = values[~np.isnan(values)]
    count = len(values)
    if count == 0:
        return Interval(0, None, None, None, None)
    value = float(np.median(values))
    if count == 1:
        return Interval(1, value, None, None, None)
    if np.all(values == values[0]):
        # As in `estimate`.
        return Interval(count, value, value, value, 1.0 if value == 0 else 0.0)
    low, high = _bootstrap_interval((values,), np.median, value, confidence)
    return Interval(count, value, low, high, sign_test(values))


def ratio_of_means(one: Values, other: Values, confidence: float, *, is_paired: bool = True) -> Interval:
    """Estimate `mean(one) / mean(other)` with a bootstrap interval.

    Few pairs have an interval from the logarithm of the ratio, whose error is that of the pairs' relative differences
    (delta method) with Student's t. It stays above 0.

    Parameters
    ----------
    one, other : ndarray, shape (n,) each, or (n,) and (m,) if not paired
        One value per replication; NaN where missing.
    confidence : float
        Such as 0.95.
    is_paired : bool
        Whether replication k had the same seed in both. Then whole pairs are resampled, and only whole pairs count.

    Returns
    -------
    Interval
        It has no p: use a test of the differences. It has no value if `mean(other)` is zero. It has no interval if the
        values of `other` have different signs: the ratio then has no bounds.
    """
    return _ratio(one, other, np.mean, confidence, is_paired)


def ratio_of_medians(one: Values, other: Values, confidence: float, *, is_paired: bool = True) -> Interval:
    """Estimate `median(one) / median(other)`, otherwise like `ratio_of_means`."""
    return _ratio(one, other, np.median, confidence, is_paired)


def ratio_of_quantiles(one: Values, other: Values, share: float, confidence: float) -> Interval:
    """Estimate the ratio of two quantiles of pairs, otherwise like `ratio_of_means`. `share` is 0.95 for 95 %."""
    return _ratio(one, other, partial(np.quantile, q=share), confidence, is_paired=True)


def ratio_of_pairs(one: Values, other: Values, confidence: float) -> Interval:
    """Estimate the geometric mean of the pairs' ratios `one / other`, with Student's interval.

    The interval is from the mean of the logarithms. So the ratio of the other to the first is the inverse.

    Parameters
    ----------
    one, other : ndarray, shape (n,)
        Values above 0; replication k has the same seed in both. NaN where missing: only whole pairs count.
    confidence : float
        Such as 0.95.

    References
    ----------
    Fleming and Wallace, "How not to lie with statistics: the correct way to summarize benchmark results",
    Communications of the ACM 29, 1986.
    """
    found = estimate(np.log(one) - np.log(other), confidence)
    value, low, high = (None if each is None else math.exp(each) for each in (found.mean, found.low, found.high))
    return Interval(found.replications, value, low, high, found.p)


def least(confidence: float) -> int:
    """Return the least number of values for which a bootstrap interval can have this confidence.

    Such an interval hardly leaves the range of the values. All n values are on one side of the median with probability
    2^(1 - n). Fewer values get no interval, and the sign test shows no difference.

    >>> least(0.95)
    6
    """
    return math.ceil(1 - math.log2(1 - confidence))


def sign_test(values: Values) -> float:
    """Return the two-sided p of the number of values on one side of zero, if both sides are equally likely.

    Zeros do not count.

    References
    ----------
    Dixon and Mood, "The statistical sign test", J. Am. Statistical Association 41, 1946.
    """
    above, below = int(np.sum(values > 0)), int(np.sum(values < 0))
    return min(1.0, 2 * student.cumulate_signs(min(above, below), above + below)) if above + below else 1.0


def fisher(done: int, due: int, other_done: int, other_due: int) -> float:
    """Return the two-sided p of Fisher's exact test: shares at least this far apart, if the true shares are equal.

    The test assumes independent samples. If replication k has the same seed in both, the shares mostly rise and fall
    together, and the true p is smaller. Unlike a test of the pairs, it can show a difference with five replications.

    References
    ----------
    Fisher, "The logic of inductive inference", J. Royal Statistical Society 98, 1935.

    >>> round(fisher(10, 10, 4, 10), 4)
    0.0108
    """

    def log_choose(n: int, k: int) -> float:
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    total = done + other_done
    counts = range(max(0, total - other_due), min(due, total) + 1)
    logs = np.array([log_choose(due, count) + log_choose(other_due, total - count) for count in counts])
    chances = np.exp(logs - logs.max())
    # Equal chances may differ by rounding.
    far = chances <= chances[done - counts[0]] * (1 + 1e-7)
    return min(1.0, float(chances[far].sum() / chances.sum()))


def _ratio(one: Values, other: Values, middle: Callable[..., Values], confidence: float, is_paired: bool) -> Interval:
    if is_paired:
        whole = ~np.isnan(one - other)
        one, other = one[whole], other[whole]
    else:
        one, other = one[~np.isnan(one)], other[~np.isnan(other)]
    count = min(len(one), len(other))
    base = float(middle(other)) if count else 0.0
    if base == 0:
        return Interval(count, None, None, None, None)
    value = float(middle(one)) / base
    if count == 1 or not (np.all(other > 0) or np.all(other < 0)):
        return Interval(count, value, None, None, None)
    is_fixed = np.all(one / other == one[0] / other[0]) if is_paired else np.ptp(one) == np.ptp(other) == 0
    if is_fixed:
        return Interval(count, value, value, value, None)

    def quotient(one: Values, other: Values, axis: int = -1) -> Values:
        return middle(one, axis=axis) / middle(other, axis=axis)

    if is_paired and middle is np.mean and count < least(confidence) and value > 0:
        apart = one / np.mean(one) - other / base
        error = float(np.std(apart, ddof=1)) / count**0.5
        width = math.exp(student.find_quantile(count - 1, (1 + confidence) / 2) * error)
        return Interval(count, value, value / width, value * width, None)
    low, high = _bootstrap_interval((one, other), quotient, value, confidence, is_paired)
    return Interval(count, value, low, high, None)


def _bootstrap_interval(
    samples: tuple[Values, ...],
    statistic: Callable[..., Values],
    value: float,
    confidence: float,
    is_paired: bool = False,
) -> tuple[float, float] | tuple[None, None]:
    """Bias-corrected and accelerated bootstrap interval, widened for small samples.

    Resampling n values shows (n - 1)/n of their variance, without the uncertainty of the variance. For means both
    corrections are known exactly. So the quantiles are taken at Φ(-t sqrt(n / (n - 1))) instead of at -z.

    References
    ----------
    Efron, "Better bootstrap confidence intervals", J. Am. Statistical Association 82, 1987. Hesterberg, "What teachers
    should know about the bootstrap", The American Statistician 69, 2015, §4.1.1 (expanded percentile intervals).
    """
    count = min(map(len, samples))
    if count < least(confidence):
        return None, None
    from scipy.stats import bootstrap

    t = student.find_quantile(count - 1, (1 + confidence) / 2)
    level = 1 - 2 * NormalDist().cdf(-t * math.sqrt(count / (count - 1)))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = bootstrap(
            samples,
            statistic,
            paired=is_paired,
            vectorized=True,
            n_resamples=RESAMPLES,
            batch=max(1, AT_ONCE // max(map(len, samples))),
            confidence_level=level,
            method="BCa",
            rng=np.random.default_rng(SEED),
        )
        low, high = map(float, found.confidence_interval)
        if not (math.isfinite(low) and math.isfinite(high)):
            # Equal values in the middle: without any one of them the median is the same, and the acceleration is 0 / 0.
            tails = (1 - level) / 2, (1 + level) / 2
            low, high = map(float, np.quantile(found.bootstrap_distribution, tails))
    # The corrections can move an interval past the value.
    return min(low, value), max(high, value)

"""Student's t distribution, and the binomial distribution of signs. Both follow from the incomplete beta function.

They are computed here, because importing `scipy.special` takes longer than most commands.

References
----------
Abramowitz and Stegun, "Handbook of Mathematical Functions", §26.5 and §26.7. DLMF §8.17(v), the continued fraction.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

__all__ = ["cumulate", "cumulate_signs", "find_quantile"]

EXACT_MAX = 1000
"""Largest number of signs whose chances are counted. Their numbers have as many bits."""


def __dir__() -> list[str]:
    return list(__all__)


def cumulate(freedom: float, t: float) -> float:
    """Return the probability of a value of at most `t`; it is accurate in the far tails, too.

    Parameters
    ----------
    freedom : float
        Degrees of freedom, above 0.
    t : float

    Examples
    --------
    >>> round(cumulate(4, 2.776445), 6), cumulate(4, 0)
    (0.975, 0.5)
    """
    square = t * t
    tail = 0.5 * _beta(freedom / 2, 0.5, freedom / (freedom + square), square / (freedom + square))
    return tail if t < 0 else 1 - tail


def cumulate_signs(most: int, signs: int) -> float:
    """Return the probability of at most `most` positive signs among `signs`, if both signs are equally likely.

    Examples
    --------
    >>> round(cumulate_signs(1, 4), 6), cumulate_signs(4, 4)
    (0.3125, 1.0)
    """
    if signs <= EXACT_MAX:
        return sum(math.comb(signs, number) for number in range(most + 1)) / (1 << signs)
    return 1.0 if most >= signs else _beta(signs - most, most + 1, 0.5, 0.5)


@lru_cache(maxsize=1000)
def find_quantile(freedom: float, share: float) -> float:
    """Return the quantile: a share of all values is below it.

    Parameters
    ----------
    freedom : float
        Degrees of freedom, above 0.
    share : float
        Share from 0 to 1. At both ends the value is infinite.

    Examples
    --------
    >>> round(find_quantile(4, 0.975), 6), find_quantile(4, 0.5)
    (2.776445, 0.0)
    """
    if share == 0.5:
        return 0.0
    if share <= 0:
        return -math.inf
    if share > 0.5:
        return -find_quantile(freedom, 1 - share)
    # Newton's method on the logarithm of the tail, which is nearly straight, within bounds that only narrow.
    low, high = -math.inf, 0.0
    t = NormalDist().inv_cdf(share)
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    for _ in range(100):
        below = cumulate(freedom, t)
        low, high = (low, t) if below > share else (t, high)
        density = math.exp(scale - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        step = math.log(below / share) * below / density
        if abs(step) <= 1e-13 * abs(t):
            break
        t = t - step if low < t - step < high else 2 * t if low == -math.inf else (low + high) / 2
    return t


def _beta(a: float, b: float, x: float, rest: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), where `rest` is 1 - x."""
    if x <= 0 or rest <= 0:
        return float(x > 0)
    if x > (a + 1) / (a + b + 2):
        # Where the fraction converges slowly, its complement converges fast.
        return 1 - _beta(b, a, rest, x)
    log = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)
    return math.exp(log) / a / _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function, by the method of Lentz."""
    value, upper, lower = 1.0, 1.0, 0.0
    for index in range(1, 10_000):
        half = index // 2
        if index % 2:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            term = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        upper, lower = 1 + term / upper, 1 / (1 + term * lower)
        value *= upper * lower
        if abs(upper * lower - 1) < 1e-16:
            break
    return value

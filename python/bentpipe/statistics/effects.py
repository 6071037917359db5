"""Effect sizes: a difference relative to the spread of the runs, independent of the number of runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = ["COHEN", "ROMANO", "Effect", "cliff", "hedges", "hedges_paired"]


def __dir__() -> list[str]:
    return list(__all__)


COHEN = ((0.2, "negligible"), (0.5, "small"), (0.8, "medium"))
"""Thresholds of Cohen, "Statistical Power Analysis for the Behavioral Sciences", 2nd edition 1988, §2.2.3.

Values above them are large.
"""
ROMANO = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"))
"""Thresholds of Cliff's delta: Romano, Kromrey, Coraggio and Skowronek, Florida Association of Institutional Research,
2006.
"""


class Effect(NamedTuple):
    """An effect size; positive if the first sample is larger."""

    kind: str
    value: float | None
    """The effect size; None if it does not exist: too few values, or a difference without any spread."""
    magnitude: str | None
    """`negligible`, `small`, `medium` or `large`; None like `value`."""


def hedges_paired(one: Values, other: Values) -> Effect:
    """Mean difference of the pairs over the standard deviation of the differences, corrected for small samples.

    This is Cohen's d_z times Hedges' factor. It measures how stable the sign of a difference is from seed to seed.
    Effects of the channel that both cases share cancel, so it is often large if `hedges` is small.

    Parameters
    ----------
    one, other : ndarray, shape (n,)
        One value per replication; NaN where missing.

    References
    ----------
    Cohen 1988, §2.3.5. Hedges, "Distribution theory for Glass's estimator of effect size", J. Educational Statistics 6,
    1981, eq. (6e).
    """
    differences = one - other
    differences = differences[~np.isnan(differences)]
    freedom = len(differences) - 1
    spread = float(np.std(differences, ddof=1)) if freedom > 0 and np.ptp(differences) > 0 else 0.0
    return _hedges("Hedges' g_z", differences, spread, freedom)


def hedges(one: Values, other: Values) -> Effect:
    """Difference of the means over the pooled standard deviation, corrected for small samples: Hedges' g.

    For unpaired samples; NaN where missing.

    References
    ----------
    Hedges 1981, eq. (6e); Hedges and Olkin, "Statistical Methods for Meta-Analysis", 1985, §5.
    """
    one, other = one[~np.isnan(one)], other[~np.isnan(other)]
    freedom = len(one) + len(other) - 2
    if min(len(one), len(other)) < 2:
        return Effect("Hedges' g", None, None)
    squares = sum(float(np.var(values)) * len(values) if np.ptp(values) > 0 else 0.0 for values in (one, other))
    return _hedges("Hedges' g", np.array([np.mean(one) - np.mean(other)]), (squares / freedom) ** 0.5, freedom)


def cliff(one: Values, other: Values) -> Effect:
    """Cliff's delta: the share of all pairs whose first value is larger, minus the share whose first value is smaller.

    It assumes no distribution. 1 means that every value of the first sample is above every value of the second. NaN is
    missing.

    References
    ----------
    Cliff, "Dominance statistics: ordinal analyses to answer ordinal questions", Psychological Bulletin 114, 1993.
    """
    one, other = one[~np.isnan(one)], np.sort(other[~np.isnan(other)])
    if min(len(one), len(other)) == 0:
        return Effect("Cliff's delta", None, None)
    below = np.searchsorted(other, one, side="left")
    above = len(other) - np.searchsorted(other, one, side="right")
    delta = float(np.sum(below - above)) / (len(one) * len(other))
    return Effect("Cliff's delta", delta, _magnitude(delta, ROMANO))


def _hedges(kind: str, differences: Values, spread: float, freedom: int) -> Effect:
    # With one degree of freedom the factor is 1 / Γ(0) = 0: two pairs give no information about a spread.
    if freedom < 2:
        return Effect(kind, None, None)
    difference = float(np.mean(differences))
    if spread == 0:
        return Effect(kind, 0.0, "negligible") if difference == 0 else Effect(kind, None, None)
    value = difference / spread * _small_sample(freedom)
    return Effect(kind, value, _magnitude(value, COHEN))


def _small_sample(freedom: int) -> float:
    """Return the factor that corrects a standardised difference: Hedges 1981, eq. (6e).

    >>> round(_small_sample(4), 6)
    0.797885
    """
    log = math.lgamma(freedom / 2) - 0.5 * math.log(freedom / 2) - math.lgamma((freedom - 1) / 2)
    return math.exp(log)


def _magnitude(value: float, words: tuple[tuple[float, str], ...]) -> str:
    return next((word for bound, word in words if abs(value) < bound), "large")

"""Number of replications that a paired difference needs."""

from __future__ import annotations

from itertools import count
from math import sqrt

from bentpipe.statistics import student

__all__ = ["LARGE", "count_replications", "least_shown"]


def __dir__() -> list[str]:
    return list(__all__)


LARGE = 1.0
"""A difference as large as its standard deviation over pairs; Cohen calls 0.8 large."""


def least_shown(replications: int, confidence: float, tests: int = 1) -> float:
    """Return the smallest mean difference that a paired t test can show, in standard deviations of the differences.

    Parameters
    ----------
    replications : int
        At least 2.
    confidence : float
    tests : int
        Number of tests that are corrected together. The result is for the test with the smallest p value, by Holm and
        Bonferroni.

    Examples
    --------
    >>> round(least_shown(2, 0.95), 2), round(least_shown(10, 0.95), 2)
    (8.98, 0.72)
    """
    quantile = student.find_quantile(replications - 1, 1 - (1 - confidence) / (2 * max(tests, 1)))
    return quantile / sqrt(replications)


def count_replications(difference: float, confidence: float, tests: int = 1) -> int:
    """Return the least number of replications that can show a difference of this size, in standard deviations.

    Examples
    --------
    >>> count_replications(LARGE, 0.95)
    7
    """
    return next(number for number in count(2) if least_shown(number, confidence, tests) <= difference)

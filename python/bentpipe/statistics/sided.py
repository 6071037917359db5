"""One-sided tests with a margin: whether a case is better by more than it, or worse by less than it.

A margin shifts the null hypothesis. A margin with a unit is subtracted from each paired difference. A margin in percent
is taken from the other case's value in each replication, so the uncertainty of that value counts.

References
----------
Piaggio, Elbourne, Pocock, Evans and Altman, "Reporting of noninferiority and equivalence randomized trials", JAMA 308,
2012. Murphy and Myors, "Testing the hypothesis that treatments have negligible effects: minimum-effect tests in the
general linear model", Journal of Applied Psychology 84, 1999.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bentpipe.statistics import student

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bentpipe.statistics.judgement import Question

    Values = NDArray[np.float64]


def p_value(one: Values, other: Values, statistic: str, question: Question) -> float:
    """Return the p value: the probability of pairs that support the claim at least as clearly, if the claim is false.

    Parameters
    ----------
    one, other : ndarray, shape (n,)
        One value per replication; NaN where missing. At least two whole pairs.
    statistic : str
        `mean`: Student's t test; `median`: the sign test.
    question : Question
    """
    margin = question.margin * np.abs(other) if question.is_share else np.full(len(other), question.margin)
    better = one - other if question.is_more_better else other - one
    whole = ~np.isnan(better)
    better, margin = better[whole], margin[whole]
    above = _mean_above if statistic == "mean" else _median_above
    if question.sides == "better":
        return above(better - margin)
    if question.sides == "worse":
        return above(-better - margin)
    return above(better + margin)


def _mean_above(values: Values) -> float:
    """Return the one-sided p of Student's t test of a mean above zero."""
    if np.all(values == values[0]):
        # No spread, as in `estimates.estimate`.
        return 0.0 if values[0] > 0 else 1.0
    error = float(np.std(values, ddof=1)) / len(values) ** 0.5
    return student.cumulate(len(values) - 1, -float(np.mean(values)) / error)


def _median_above(values: Values) -> float:
    """Return the one-sided p of the sign test of a median above zero. Zeros do not count."""
    if np.all(values == values[0]):
        return 0.0 if values[0] > 0 else 1.0
    above, below = int(np.sum(values > 0)), int(np.sum(values < 0))
    return student.cumulate_signs(below, above + below)

"""Adjusts the p values of many tests, because some of many comparisons look large by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    P = Sequence[float | None]
    """p values; None where there is no test."""

__all__ = ["adjust_p", "benjamini_hochberg", "holm"]


def __dir__() -> list[str]:
    return list(__all__)


def adjust_p(p: P, correction: str) -> list[float | None]:
    """Adjust p values by the correction of this name, one of `judgement.CORRECTIONS`."""
    return _CORRECTIONS[correction](p)


def part(p: float | None, corrected: float | None, tests: int) -> float:
    """Return the part of the accepted error that a correction leaves to one of these tests.

    An interval with this error excludes zero exactly if the corrected p value shows a difference.

    >>> part(0.01, 0.04, 4), part(0.0, 0.0, 4), part(None, None, 0)
    (0.25, 0.25, 1.0)
    """
    if p is None or corrected is None:
        return 1.0
    return p / corrected if corrected > 0 else 1 / max(tests, 1)


def holm(p: P) -> list[float | None]:
    """Adjust p values to bound the probability of any false finding among all of them.

    References
    ----------
    Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statistics 6, 1979.
    """
    adjusted: list[float | None] = [None] * len(p)
    known = sorted((value, index) for index, value in enumerate(p) if value is not None)
    largest = 0.0
    for rank, (value, index) in enumerate(known):
        largest = max(largest, min(1.0, value * (len(known) - rank)))
        adjusted[index] = largest
    return adjusted


def benjamini_hochberg(p: P) -> list[float | None]:
    """Adjust p values to bound the expected share of false findings among the findings.

    This holds for independent tests, and for many kinds of positively dependent tests.

    References
    ----------
    Benjamini and Hochberg, "Controlling the false discovery rate", J. Royal Statistical Society B 57, 1995.
    """
    from scipy.stats import false_discovery_control

    known = [value for value in p if value is not None]
    found = iter(false_discovery_control(known).tolist() if known else [])
    return [None if value is None else next(found) for value in p]


_CORRECTIONS: dict[str, Callable[[P], list[float | None]]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
    "none": list,
}

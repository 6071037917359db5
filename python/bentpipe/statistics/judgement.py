"""The judgement of differences: statistic, confidence, correction, baseline, sides and margin."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from bentpipe import _core, arguments
from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError, Word
from bentpipe.formatting import scale

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.metric import Metric

__all__ = [
    "CORRECTIONS",
    "DEFAULT",
    "MARGIN",
    "SIDES",
    "STATISTICS",
    "Correction",
    "Judgement",
    "Question",
    "Sides",
    "Statistic",
]


def __dir__() -> list[str]:
    return list(__all__)


# Needs no SciPy, so mistakes are reported immediately and before any output.
Statistic = Literal["mean", "median"]
Correction = Literal["holm", "bh", "none"]
STATISTICS = get_args(Statistic)
CORRECTIONS = get_args(Correction)
Sides = Literal["two", "better", "worse", "not-worse"]
SIDES = get_args(Sides)
CONFIDENCE_MAX = 0.999999
"""Largest confidence. Quantiles of a higher one, divided among many tests, are infinite in floating-point numbers."""
FAIR_USUAL = "10 %"
"""Largest harm to another case that is fair, if not given."""
MARGIN_USUAL = "1 %"
"""The smallest difference that matters, of every call that names none."""
MARGIN = 'a share of the other\'s value such as "2 %", or a value in the unit of the metric such as "20 ms"'


class Question(NamedTuple):
    """The question of a one-sided test in one metric."""

    sides: Sides
    is_more_better: bool
    is_judged: bool
    margin: float
    """The margin in the unit of the metric, or a share of the other's value."""
    is_share: bool
    text: str
    """The margin in words; empty without a margin."""

    @property
    def claim(self) -> str:
        """Write the claim that the test can show, before the name of the other case: `more than 2 % better than`."""
        up, down = ("better", "worse") if self.is_judged else ("larger", "smaller")
        if self.sides == "not-worse":
            return f"at most {self.text} {down} than"
        how = down if self.sides == "worse" else up
        return f"more than {self.text} {how} than" if self.text else f"{how} than"


@dataclass(frozen=True)
class Judgement:
    """The rules of an experiment that decide whether a difference is shown, in sentences, tables and reports.

    Raises
    ------
    BentpipeError
        Unknown statistic or correction, or a confidence out of bounds.
    """

    statistic: Statistic = "mean"
    """Statistic of the replications and of their paired differences."""
    confidence: float = 0.95
    """Confidence level of each interval, and of all statements together."""
    correction: Correction = "holm"
    """Correction of the p values of all differences that are judged together."""
    against: str | None = None
    """The baseline of all differences; None for the best case."""
    sides: Sides = "two"
    """`two` tests for a difference in either direction, `better` and `worse` in one direction, against the baseline.

    `not-worse` tests whether each case is worse by less than the margin.
    """
    margin: str | float | None = MARGIN_USUAL
    """The smallest difference that matters: a share of the other case's value, `2 %`, or an amount in the same unit.

    A plain number is only for metrics without a unit. With None, every difference matters.
    """

    def __post_init__(self) -> None:
        if self.statistic not in STATISTICS:
            raise BentpipeError(unknown(self.statistic, "a statistic", STATISTICS))
        if self.correction not in CORRECTIONS:
            raise BentpipeError(unknown(self.correction, "a correction", CORRECTIONS))
        object.__setattr__(self, "confidence", arguments.share("confidence", self.confidence))
        if self.confidence > CONFIDENCE_MAX:
            raise BentpipeError(
                f"{{confidence}}: {self.confidence} is too near to 1: no number of runs shows anything\n"
                f"  expected at most {CONFIDENCE_MAX}",
                confidence=None,
            )
        if self.sides not in SIDES:
            raise BentpipeError(unknown(self.sides, "a choice of sides", SIDES))
        if self.margin is not None:
            self._margin()
        if self.sides == "not-worse" and self.margin is None:
            raise BentpipeError(f"{{sides}} needs a {{margin}}\n  expected {MARGIN}", sides=self.sides, margin=None)
        if self.sides != "two" and self.confidence <= 0.5:
            raise BentpipeError(
                f"one-sided tests with a confidence of {self.confidence}\n  expected more than 0.5, like 0.95"
            )

    def check(self, metrics: Sequence[Metric]) -> None:
        """Refuse sides without a baseline, and a margin whose unit fits no metric.

        Raises
        ------
        BentpipeError
            The sides have no baseline, or the margin fits no metric.
        """
        if self.sides != "two" and self.against is None:
            raise BentpipeError(
                "{sides} needs a baseline, because the best is known only after the runs\n"
                "  expected {against}, one of those that are compared",
                sides=self.sides,
                against=Word("NAME"),
            )
        if self.margin is not None and not any(self._fits(each) for each in metrics):
            names = ", ".join(f"{each.name} ({each.unit})" for each in metrics)
            what = "has no unit, and each metric has one" if self._margin()[1] == "" else "no metric has this unit"
            raise BentpipeError(f"{{margin}}: {what}: {names}\n  expected {MARGIN}", margin=self.margin)

    def question(self, metric: Metric | None) -> Question | None:
        """Return the question of a one-sided test in a metric; None for the usual test for any difference."""
        if self.is_usual or metric is None:
            return None
        margin, text, is_share = 0.0, "", False
        if self._fits(metric):
            margin, unit = self._margin()
            is_share = unit == "%"
            text = f"{100 * margin:g} %" if is_share else _write_margin(margin, metric.unit)
        sides: Sides = "better" if self.sides == "not-worse" and not text else self.sides
        return Question(sides, metric.is_more_better, metric.is_judged, margin, is_share, text)

    def matters(self, base: float, metric: Metric | None) -> float:
        """Return the smallest difference that matters, in the unit of the metric; 0 if every difference does.

        Parameters
        ----------
        base : float
            The value of the other case, for a margin that is a share of it.
        metric : Metric or None
            A margin with a unit applies to metrics of this unit only.
        """
        if self.margin is None or not (str(self.margin).strip().endswith("%") or (metric and self._fits(metric))):
            return 0.0
        amount, unit = self._margin()
        return amount * abs(base) if unit == "%" else amount

    def notes(self, metrics: Sequence[Metric]) -> list[str]:
        """Name the metrics that the margin does not apply to, because it has another unit, as a note for the reader."""
        others = [each.name for each in metrics if self.margin is not None and not self._fits(each)]
        return (
            [f"the margin {self.margin} has another unit than {', '.join(others)}: no margin there"] if others else []
        )

    def _fits(self, metric: Metric) -> bool:
        """Whether the margin has the unit of this metric."""
        return self.margin is not None and self._margin()[1] in ("%", metric.unit)

    def _margin(self) -> tuple[float, str]:
        """Return the margin as a number and its unit: `%` of the other's value, or empty for the unit of the metric."""
        text = str(self.margin).strip()
        try:
            found: tuple[float, str] | None = float(text), ""
        except ValueError:
            found = _core.quantity(text)
        if found is None or isinstance(self.margin, bool) or not 0 < found[0] < math.inf:
            raise BentpipeError(f"margin = {self.margin!r}\n  expected a margin above 0: {MARGIN}")
        if text.endswith("%") and found[0] >= 1:
            raise BentpipeError(f"margin = {self.margin!r}\n  expected a share below 100 %: {MARGIN}")
        return found[0], "%" if text.endswith("%") else found[1]

    @property
    def is_usual(self) -> bool:
        """Whether tests are for any difference, in either direction."""
        return self.sides == "two"

    @property
    def usual(self) -> Judgement:
        """Return the same judgement with two-sided tests. They are needed if the data chooses the best case."""
        return self if self.is_usual else replace(self, sides="two")

    @property
    def interval(self) -> float:
        """Confidence level of intervals of differences.

        For one-sided tests, each end alone is a bound at `confidence`.
        """
        return self.confidence if self.sides == "two" else 2 * self.confidence - 1

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Judgement:
        """Read a judgement from the facts of a store. If an older store lacks a fact, its default applies."""
        return cls(**{each.name: facts[each.name] for each in fields(cls) if each.name in facts})

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as facts of a store; without sides and margin if they are the defaults."""
        found = asdict(self)
        return {
            name: value for name, value in found.items() if name not in ("sides", "margin") or value != _USUAL[name]
        }

    @property
    def level(self) -> str:
        """Write the confidence in words: `95 %`."""
        return f"{100 * self.confidence:g} %"

    @property
    def alpha(self) -> float:
        """Accepted probability of an error."""
        return 1 - self.confidence

    def is_shown(self, p: float | None) -> bool | None:
        """Whether a corrected p value shows a difference; None without a test."""
        return None if p is None else p < self.alpha


def _write_margin(margin: float, unit: str) -> str:
    """Write a margin in words: `20 ms`."""
    divisor, text = scale([margin], unit)
    return f"{margin / divisor:g} {text}".rstrip()


_USUAL = {"sides": Judgement.sides, "margin": Judgement.margin}
DEFAULT = Judgement()
"""The judgement of calls that choose none."""

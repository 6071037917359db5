"""The judgement of differences: statistic, confidence, correction, and baseline."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, get_args

from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Mapping

# Needs no SciPy: mistakes are reported at once and before any output.
Statistic = Literal["mean", "median"]
Correction = Literal["holm", "bh", "none"]
STATISTICS = get_args(Statistic)
CORRECTIONS = get_args(Correction)


@dataclass(frozen=True)
class Judgement:
    """Decides whether a difference is shown: one for an experiment, its sentences, tables, report and command.

    Raises
    ------
    BentpipeError
        No such statistic or correction, or a confidence out of bounds.
    """

    statistic: Statistic = "mean"
    """Of the replications and of their paired differences."""
    confidence: float = 0.95
    """Of each interval, and of all statements together."""
    correction: Correction = "holm"
    """Of the p values of all differences that are judged together."""
    against: str | None = None
    """The baseline of all differences; None for the best."""

    def __post_init__(self) -> None:
        if self.statistic not in STATISTICS:
            raise BentpipeError(unknown(self.statistic, "a statistic", STATISTICS))
        if self.correction not in CORRECTIONS:
            raise BentpipeError(unknown(self.correction, "a correction", CORRECTIONS))
        if isinstance(self.confidence, str) or not 0 < self.confidence < 1:
            raise BentpipeError(f"a confidence of {self.confidence}\n  expected more than 0 and less than 1, like 0.95")

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Judgement:
        """Read it from the facts of a store; older stores lack some, which have their defaults."""
        return cls(**{each.name: facts[each.name] for each in fields(cls) if each.name in facts})

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as facts of a store."""
        return asdict(self)

    @property
    def level(self) -> str:
        """The confidence in words: `95 %`."""
        return f"{100 * self.confidence:g} %"

    @property
    def alpha(self) -> float:
        """The chance of an error that is accepted."""
        return 1 - self.confidence

    @property
    def is_corrected(self) -> bool:
        """Whether several differences are judged together."""
        return self.correction != "none"

    def is_shown(self, p: float | None) -> bool | None:
        """Whether a corrected p value shows a difference; None without a test."""
        return None if p is None else p < self.alpha


DEFAULT = Judgement()
"""The judgement of calls that choose none."""

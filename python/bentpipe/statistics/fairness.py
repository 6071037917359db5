"""Harm between cases that share a path, and whether they are fair to each other within a margin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.formatting import MISSING, count, interval
from bentpipe.statistics.estimates import ratio_of_means

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from bentpipe.statistics.estimates import Interval

    Values = NDArray[np.float64]

MORE_MAX = 1000
"""Most additional replications that are named. A harm so close to the margin is not decided by more of them."""

FAR = 10.0
"""Harm or gain above which an end of an interval has no meaning: a run delivered next to nothing."""


@dataclass(frozen=True)
class Fairness:
    """Whether cases are fair to each other.

    The harm of a case is the share of its goodput that it loses beside the other cases. The reference is its goodput
    beside equally many flows of the same case. Harm is negative if the case gains. Cases are fair within a margin if
    the
    harm of each case is below the margin.

    Attributes
    ----------
    margin : float
        Largest harm that is fair, such as 0.1.
    harms : dict of str to (value, low, high)
        Harm of each case, with its interval, corrected for the number of cases. `low` and `high` are None with one
        replication.
    replications : int
    more : int or None
        Number of additional replications that would probably decide. None if the answer is decided already, or if more
        than `MORE_MAX` are needed.

    References
    ----------
    Ware, Mukerjee, Seshan and Sherry, "Beyond Jain's fairness index: setting the bar for the deployment of congestion
    control algorithms", HotNets 2019.
    """

    margin: float
    harms: dict[str, tuple[float, float | None, float | None]]
    replications: int
    more: int | None

    @property
    def is_fair(self) -> bool | None:
        """Whether they are fair within the margin; None if the data does not decide."""
        if any(low is not None and low > self.margin for _, low, _ in self.harms.values()):
            return False
        if self.harms and all(high is not None and high <= self.margin for _, _, high in self.harms.values()):
            return True
        return None

    @property
    def answer(self) -> str:
        """`yes`, `no` or `cannot tell`."""
        return {True: "yes", False: "no", None: "cannot tell"}[self.is_fair]

    @property
    def most(self) -> str | None:
        """Case with the largest harm; None if nothing was delivered."""
        return max(self.harms, key=lambda each: self.harms[each][0], default=None)

    @property
    def amount(self) -> str:
        """The largest harm in words: `cubic loses 28 % (-1 to 48 %) of its goodput among its own kind`."""
        if self.most is None:
            return "nothing was delivered"
        changes = "loses" if self.harms[self.most][0] >= 0 else "gains"
        amount, ends = self._ends(is_gain=changes == "gains")
        return f"{self.most} {changes} {amount} % {f'({ends} %) ' if ends else ''}of its goodput among its own kind"

    @property
    def shown(self) -> str:
        """The largest harm in per cent for a cell of a table: `28 (-1 to 48)`."""
        if self.most is None:
            return MISSING
        amount, ends = self._ends()
        return f"{amount} ({ends.replace('interval ', '')})" if ends else amount

    def _ends(self, *, is_gain: bool = False) -> tuple[str, str]:
        """Write the largest harm, or gain, and its interval in per cent."""
        value, *ends = self.harms[self.most or ""]
        sign = -1 if is_gain else 1
        bounds = [None if end is None else 100 * sign * end for end in (ends if sign > 0 else reversed(ends))]
        amount, _, text = interval(100 * sign * value, *bounds).partition(" ")
        is_far = any(end is not None and abs(end) > FAR for end in ends)
        return amount, f"interval wider than {100 * FAR:g}" if is_far else text.strip("()")

    @property
    def sentence(self) -> str:
        """The answer in words, with the largest harm."""
        within = f"fair within {100 * self.margin:.3g} %"
        if not self.harms:
            return f"{within}: not known, as nothing was delivered"
        if self.replications == 1:
            return f"{within}: cannot tell from one replication; {self.amount}"
        if self.is_fair is None:
            need = f"about {count(self.more, 'more replication')} would decide" if self.more else "too close to decide"
            return f"{within}: cannot tell from {count(self.replications, 'replication')}, {need}; {self.amount}"
        return f"{within}: {self.answer}; {self.amount}"


def judge_fairness(
    mixed: Mapping[str, tuple[Values, Values]], margin: float, confidence: float, answers: int = 1
) -> Fairness:
    """Judge the harm of each case.

    Parameters
    ----------
    mixed : mapping
        For each case, its goodput beside the other cases and its goodput beside its own kind, one value per
        replication.
    margin : float
        Largest harm that is fair, such as 0.1.
    confidence : float
        Confidence level of the answer: all cases are tested together (Bonferroni).
    answers : int
        Number of mixes whose answers must hold together with this confidence.
    """
    level = 1 - (1 - confidence) / (max(len(mixed), 1) * answers)
    harms = {}
    for name, (goodput, own) in mixed.items():
        ratio = ratio_of_means(goodput, own, level)
        if ratio.value is not None:
            harms[name] = _harm(ratio)
    replications = max((len(goodput) for goodput, _ in mixed.values()), default=0)
    found = Fairness(margin, harms, replications, None)
    if found.is_fair is None and replications > 1:
        return Fairness(margin, harms, replications, _count_more(found))
    return found


def _harm(ratio: Interval) -> tuple[float, float | None, float | None]:
    assert ratio.value is not None
    low, high = (None if end is None else 1 - end for end in (ratio.high, ratio.low))
    return 1 - ratio.value, low, high


def _count_more(found: Fairness) -> int | None:
    """Return the additional replications until each interval is on one side of the margin: widths fall as 1/sqrt(n)."""
    need = 0.0
    for value, low, high in found.harms.values():
        if low is None or high is None or not low <= found.margin < high:
            continue
        reach = (high - value) if value < found.margin else (value - low)
        distance = abs(value - found.margin)
        need = max(need, math.inf if distance == 0 else found.replications * (reach / distance) ** 2)
    more = need - found.replications
    return math.ceil(more) if 0 < more <= MORE_MAX else None

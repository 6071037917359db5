"""Times of repeated runs: quantiles with intervals, and the comparison with a baseline."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import arguments, files
from bentpipe.errors import BentpipeError
from bentpipe.statistics.estimates import Interval, ratio_of_quantiles
from bentpipe.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Runs:
    """Times of a program that ran several times, each with another seed.

    Attributes
    ----------
    seeds : list of int
        Seed of each run.
    seconds : list of float
        Time of each run.
    digest : str
        Digest of the path.
    """

    seeds: list[int]
    seconds: list[float]
    digest: str
    _baselines: Path
    _give_up: Callable[[str], None]
    is_update: bool = False

    def quantile(self, share: float, confidence: float = CONFIDENCE) -> Interval:
        """Return a quantile with its interval. If there are too few runs for an end of the interval, this end is None.

        The interval is from order statistics, and is valid for any distribution.

        References
        ----------
        Conover, "Practical nonparametric statistics", §3.2.
        """
        share = arguments.share("share", share)
        ordered = sorted(self.seconds)
        value = float(np.quantile(ordered, share))
        low, high = find_ranks(len(ordered), share, confidence)
        first, last = (None if rank is None else ordered[rank] for rank in (low, high))
        return Interval(len(ordered), value, first, last, None, unit="s")

    def check_below(self, limit_s: float, share: float = 0.95, confidence: float = CONFIDENCE) -> None:
        """Require that a quantile is below a limit.

        Raises
        ------
        AssertionError
            The whole interval is above the limit. If the limit is inside the interval, the test ends as unfit.
        """
        found = self.quantile(share, confidence)
        text = f"the {100 * share:g} % quantile is {found}, and the limit is {limit_s:g} s"
        if found.low is not None and found.low > limit_s:
            raise AssertionError(f"{text}\n  expected an interval that is not above the limit")
        if found.high is None or found.high > limit_s:
            self._give_up(f"undecided: {text}; at least {_count_least(share, confidence)} runs decide")

    def check_baseline(
        self, name: str, share: float = 0.95, margin: float | str = "10 %", confidence: float = CONFIDENCE
    ) -> Interval | None:
        """Require that a quantile is at most a margin above that of the baseline, in pairs of runs with equal seeds.

        Parameters
        ----------
        name : str
            Name in the file of baselines.
        share : float
            The quantile: 0.95 for the 95th percentile.
        margin : float or str
            Largest acceptable increase: `0.1` or `"10 %"`.
        confidence : float
            Confidence of the interval of the ratio.

        Returns
        -------
        Interval or None
            Ratio of the quantiles, new over old. None if the baseline was written.

        Raises
        ------
        AssertionError
            The whole interval is above the margin. If the margin is inside the interval, or if there is no baseline,
            the test ends as unfit.
        BentpipeError
            The baseline is of another path, or its file is damaged.
        """
        limit, share = 1 + arguments.share("margin", margin), arguments.share("share", share)
        content = self._read()
        if self.is_update:
            about = {"path": self.digest, "seeds": self.seeds, "seconds": self.seconds, "bentpipe": __version__}
            text = json.dumps({**content, name: about}, indent=2, sort_keys=True)
            files.replace_text(self._baselines, f"{text}\n")
            return None
        if name not in content:
            self._give_up(f"{self._baselines.name} has no baseline {name!r}; pytest --bentpipe-update writes it")
            return None
        with files.reading(self._baselines):
            before = content[name]
            path, old = before["path"], dict(zip(before["seeds"], map(float, before["seconds"]), strict=True))
        if path != self.digest:
            raise BentpipeError(
                f"the baseline {name!r} of {self._baselines.name} was measured over another path\n"
                "  expected the same scenario, or a new baseline"
            )
        pairs = [(new, old[seed]) for seed, new in zip(self.seeds, self.seconds, strict=True) if seed in old]
        one, other = (np.array(values) for values in zip(*pairs, strict=True)) if pairs else (np.array([]),) * 2
        found = ratio_of_quantiles(one, other, share, confidence)
        text = self._compare(name, share, limit, found)
        if found.low is not None and found.low > limit:
            raise AssertionError(text)
        if found.high is None or found.high > limit:
            self._give_up(f"undecided: {text}; more runs decide")
        return found

    def _compare(self, name: str, share: float, limit: float, found: Interval) -> str:
        ends = "too few pairs for an interval"
        if found.low is not None and found.high is not None:
            ends = f"interval {found.low:.3f} to {found.high:.3f}"
        value = "unknown" if found.value is None else f"{found.value:.3f}"
        return (
            f"the {100 * share:g} % quantile is {value} times that of the baseline {name!r}"
            f" ({ends}, {found.replications} pairs), and the limit is {limit:.3f}"
        )

    def _read(self) -> dict[str, Any]:
        if not self._baselines.exists():
            return {}
        with files.reading(self._baselines):
            content: dict[str, Any] = dict(json.loads(self._baselines.read_text(encoding="utf-8")))
        return content


def _count_least(share: float, confidence: float) -> int:
    """Return the least number of runs whose largest or smallest value is beyond a quantile with this confidence."""
    return math.ceil(math.log((1 - confidence) / 2) / math.log(max(share, 1 - share)))


def find_ranks(count: int, share: float, confidence: float) -> tuple[int | None, int | None]:
    """Return the indexes of two ordered values that enclose a quantile with this confidence, from 0.

    The number of values below the quantile is binomial. Half of the error probability is at each end. An end is None if
    there are too few values for it.

    >>> find_ranks(10, 0.5, 0.95), find_ranks(10, 0.95, 0.95), find_ranks(100, 0.95, 0.95)
    ((1, 8), (7, None), (89, 99))
    """
    tail = (1 - confidence) / 2
    chances = [
        math.exp(
            math.lgamma(count + 1)
            - math.lgamma(number + 1)
            - math.lgamma(count - number + 1)
            + number * math.log(share)
            + (count - number) * math.log(1 - share)
        )
        for number in range(count + 1)
    ]
    below = np.cumsum(chances)
    # The value of rank k is at most the quantile unless fewer than k + 1 values are below it.
    low: Sequence[int] = [rank for rank in range(count) if below[rank] <= tail]
    # It is at least the quantile if at most k values are below it.
    high: Sequence[int] = [rank for rank in range(count) if 1 - below[rank] <= tail]
    return (max(low) if low else None), (min(high) if high else None)

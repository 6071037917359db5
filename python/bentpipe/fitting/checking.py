"""Checks a fit: simulates the same measurement, and compares the second half with draws from the first half."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import formatting
from bentpipe.fitting import draws
from bentpipe.fitting.slots import PLAIN_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bentpipe.fitting.losses import Value
    from bentpipe.fitting.measured import Array, Probes, Second
    from bentpipe.fitting.slots import Slots

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
TAIL = 0.95
MIDDLE_MARGIN, TAIL_MARGIN = 0.05, 0.10
"""Relative differences that agree: of the 5 % and 50 % quantiles, and of the 95 % quantile."""
DISTANCE_MARGIN = 0.05
"""Largest W1 distance relative to the median."""
GOODPUT_MARGIN = 0.10
TOTAL_MARGIN, LOSS_MARGIN = 0.05, 0.005
"""Differences of rows and totals of one file that agree: as a share, and of loss ratios."""
DRAWN = 100
"""Draws of the held-out half, and random parts of a permutation test."""
BAND = (0.025, 0.975)
LEVEL = 0.05
"""Largest share of measurements of the same path that differ by chance, of each quantity."""
NEAR = 0.01
"""Relative distance from the band that does not matter: a constant path has a band of microseconds."""
CHANGED = 2
"""Number of quantiles inside the band at or below which the path has changed."""
SLOTS_MIN = 4
"""Slots of the first half that draws need."""


@dataclass(frozen=True)
class Checked:
    """One quantity of the measurement and of its simulation.

    Attributes
    ----------
    quantity, unit : str
    measured, simulated : float
    verdict : str
        `agrees`: the difference is within the margin. `undecided`: it is beyond the margin, but chance may explain it.
        `differs`: by chance, less than 5 % of repetitions differ as much.
    """

    quantity: str
    unit: str
    measured: float
    simulated: float
    verdict: str
    is_total: bool = False
    """Whether a file is compared with itself: `measured` is the sum of its rows, `simulated` its own total."""

    def to_dict(self) -> dict[str, Any]:
        """Return the quantity, both values and the verdict as plain data."""
        return {name: value for name, value in asdict(self).items() if name != "is_total"}


@dataclass(frozen=True)
class HeldOut:
    """Quantiles of the second half of a measurement, compared with draws from the first half.

    Attributes
    ----------
    share, measured, drawn, low, high : tuple of float
        For each quantile: its share, its value in the second half, the median of the draws, and the ends of a band. If
        the path does not change, the band contains the value in 95 % of cases.
    first : tuple of float
        Quantiles of the first half itself.
    slots : int
        Number of slots in each half.
    """

    share: tuple[float, ...]
    measured: tuple[float, ...]
    drawn: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    first: tuple[float, ...]
    slots: int

    @property
    def inside(self) -> int:
        """Number of quantiles inside the band, or too near to it for a difference that matters."""
        within = zip(self.measured, self.low, self.high, strict=True)
        return sum((1 - NEAR) * low <= value <= (1 + NEAR) * high for value, low, high in within)

    @property
    def has_changed(self) -> bool:
        """Whether the path has changed during the measurement, so that the first half does not predict the second."""
        return self.inside <= CHANGED

    @property
    def statement(self) -> str:
        """The result in words."""
        said = f"held-out half: {self.inside} of {len(self.share)} quantiles are inside the 95 % band"
        said += "; this path changed during the measurement: measure longer" if self.has_changed else ""
        return f"{said}; {self.of_tail}"

    @property
    def of_tail(self) -> str:
        """The 95 % quantile in words: the difference between both halves, and between the draws and the first half."""
        at = self.share.index(TAIL)
        second, first, drawn = self.measured[at], self.first[at], self.drawn[at]
        is_inside = self.low[at] <= second <= self.high[at]
        cause = f"as far apart as {self.slots} slots may be by chance" if is_inside else "more than by chance"
        return (
            f"p{100 * TAIL:g} {1e3 * first:.1f} ms in the first half, {1e3 * second:.1f} ms in the second"
            f" ({formatting.change(second / first - 1)}, {cause});"
            f" draws {formatting.change(drawn / first - 1)} of the first"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as plain data."""
        return {**asdict(self), "inside": self.inside}


def distance(one: Array, other: Array) -> float:
    """Return the W1 distance of two samples: the area between their distribution functions."""
    one, other = np.sort(one), np.sort(other)
    every = np.sort(np.concatenate([one, other]))
    below = [np.searchsorted(each, every[:-1], side="right") / len(each) for each in (one, other)]
    return float(np.sum(np.abs(below[0] - below[1]) * np.diff(every)))


def round_trips(measured_s: Array, simulated_s: Array) -> list[Checked]:
    """Compare the round trips of answered probes."""
    found = []
    for share, margin in ((0.05, MIDDLE_MARGIN), (0.5, MIDDLE_MARGIN), (0.95, TAIL_MARGIN)):
        ours, theirs = float(np.quantile(measured_s, share)), float(np.quantile(simulated_s, share))
        verdict = _apart(measured_s, simulated_s, partial(_compare_quantile, share), margin * ours)
        found.append(Checked(f"rtt p{100 * share:g}", "s", ours, theirs, verdict))
    middle = float(np.median(measured_s))
    verdict = _apart(measured_s, simulated_s, distance, DISTANCE_MARGIN * middle)
    return [*found, Checked("rtt W1", "s", 0.0, distance(measured_s, simulated_s), verdict)]


def _compare_quantile(share: float, one: Array, other: Array) -> float:
    return float(abs(np.quantile(one, share) - np.quantile(other, share)))


def _apart(one: Array, other: Array, measure: Callable[[Array, Array], float], margin: float) -> str:
    """Judge the difference of two samples. It differs beyond the margin, if chance is less likely than the level.

    Chance is the difference of two random parts of both samples together: a permutation test.
    """
    found = measure(one, other)
    if found <= margin:
        return "agrees"
    random, both = np.random.default_rng(1), np.concatenate([one, other])
    parts = (np.split(random.permutation(both), [len(one)]) for _ in range(DRAWN))
    as_far = sum(measure(*each) >= found for each in parts)
    return "differs" if (1 + as_far) / (1 + DRAWN) < LEVEL else "undecided"


def loss(ratio: Value, measured: int, simulated: float, count: int) -> Checked:
    """Compare the loss ratio of `measured` probes with that of a run of `count` probes.

    The run uses the measured model of loss. With equally many probes, its error equals that of the measurement. The
    variances of both add up, so the interval of the difference is wider than the measured interval.
    """
    wider = (1 + measured / max(count, 1)) ** 0.5
    low, high = (ratio.value + wider * (end - ratio.value) for end in (ratio.low, ratio.high))
    return Checked("loss", "1", ratio.value, simulated, _verdict(low <= simulated <= high))


def goodput(direction: str, measured_bps: float, simulated_bps: Sequence[float]) -> Checked:
    """Compare the goodput of a transfer with the goodputs of several runs. Their loss ratios and random losses differ.

    The measured goodput agrees if it is inside the prediction interval of the runs, which contains one more run in 95 %
    of cases.
    """
    mean, count = sum(simulated_bps) / len(simulated_bps), len(simulated_bps)
    is_close = abs(mean - measured_bps) <= GOODPUT_MARGIN * measured_bps
    width = 0.0
    if count > 1:
        from scipy.stats import t as student

        spread = float(np.std(simulated_bps, ddof=1))
        width = float(student.ppf(BAND[1], count - 1)) * spread * (1 + 1 / count) ** 0.5
    is_among = abs(mean - measured_bps) <= width
    verdict = "undecided" if is_among and not is_close else _verdict(is_close)
    return Checked(f"goodput {direction}", "bit/s", measured_bps, mean, verdict)


def twice(seconds: Sequence[Second]) -> list[Checked]:
    """Compare the sums of the rows of each file with its own totals."""
    found = []
    for each in seconds:
        if np.isfinite(each.rows) and np.isfinite(each.total):
            margin = LOSS_MARGIN if each.unit == "1" else TOTAL_MARGIN * abs(each.total)
            verdict = _verdict(abs(each.rows - each.total) <= margin)
            found.append(
                Checked(f"{each.quantity} of {each.source}", each.unit, each.rows, each.total, verdict, is_total=True)
            )
    return found


def _verdict(agrees: bool) -> str:
    return "agrees" if agrees else "differs"


def held_out(probes: Probes, slots: Slots, seed: int = 1) -> HeldOut | None:
    """Compare the second half with draws from the first; None if the first half has too few slots."""
    middle = probes.send_s[0] + probes.duration_s / 2
    first, second = probes.cut(probes.send_s <= middle), probes.cut(probes.send_s > middle)
    length = slots.period_s or PLAIN_S
    if first.duration_s < (SLOTS_MIN + 2) * length or (~second.is_lost).sum() < 100 or (~first.is_lost).sum() < 100:
        return None
    edges = slots.edges_s[slots.edges_s <= first.send_s[-1]]
    halves = type(slots)(
        np.append(edges, first.send_s[-1]), slots.period_s, slots.phase_s, slots.statistic, slots.threshold, slots.how
    )

    def sample_draws(*, is_other: bool) -> Array:
        random = np.random.default_rng(seed)
        made = (draws.draw(first, halves, second.duration_s, random, is_other=is_other) for _ in range(DRAWN))
        return np.array([np.quantile(each.rtt_s, QUANTILES) for each in made])

    # The first half is a sample, too: with draws around it, the band of a path that does not change holds 80 %.
    ours, theirs = (np.quantile(each.rtt_s[~each.is_lost], QUANTILES) for each in (second, first))
    low, high = np.quantile(sample_draws(is_other=True), BAND, axis=0)
    middles = np.median(sample_draws(is_other=False), axis=0)
    values = [tuple(map(float, each)) for each in (ours, middles, low, high, theirs)]
    return HeldOut(QUANTILES, *values, round(second.duration_s / length))  # type: ignore[call-arg, arg-type]

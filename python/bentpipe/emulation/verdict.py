"""Judges whether emulated and simulated runs agree, by quantity and in words."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe import arguments
from bentpipe.catalog import unknown
from bentpipe.emulation.quantities import BY_NAME, QUANTITIES, SHORT_NAMES
from bentpipe.errors import EmulationError
from bentpipe.statistics.judgement import Judgement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CONFIDENCE = Judgement.confidence
"""Confidence of the interval of each difference."""
PAIRS_FROM = 4
"""Least number of emulated runs that may be compared in pairs with those of their seeds: fewer show no correlation."""
MORE_MOST = 1000
"""Further runs that are looked ahead."""
RULE_OF_THREE = 3.0
"""An event with a rate of 3 / runs is missed by all of them with a probability of 5 %."""
SUM_MOST = 100_000
"""Largest sum of the emulated counts that a permutation test adds up exactly. Larger ones are in coarser units."""


@dataclass(frozen=True)
class Judged:
    """One quantity on both sides.

    Attributes
    ----------
    quantity : str
    simulated, emulated : float
        Means over the runs.
    margin : float
        The smallest difference that matters, in the unit of the quantity.
    difference : float
        Emulated minus simulated value: difference of the means, or mean difference of pairs.
    difference_low, difference_high : float or None
        Ends of the 95 % interval of the difference. It covers the spread of the runs on both sides. None with a single
        emulated run, whose spread is unknown.
    is_paired : bool
        The interval is of the differences between runs of the same seed.
    verdict : str
        `agrees`: the whole interval is within the margin. `differs`: it is not, and the interval corrected for all
        quantities excludes zero. `cannot tell`: there are too few runs for either. Counts of events differ if their
        difference exceeds the margin and chance does not explain it (see `Chance`).
    more_runs : int or None
        For `cannot tell`: number of further emulated runs that would decide, if they spread like these. None if 1000
        runs would not decide.
    """

    quantity: str
    simulated: float
    emulated: float
    margin: float
    difference: float
    difference_low: float | None
    difference_high: float | None
    is_paired: bool
    verdict: str
    more_runs: int | None = None

    @property
    def name(self) -> str:
        """In words."""
        return BY_NAME[self.quantity].words

    @property
    def sentence(self) -> str:
        """The quantity with its difference as a share, and the interval. For a counter, both counts."""
        if BY_NAME[self.quantity].counters:
            return f"{self.name} ({_count(self.emulated)} in the kernel, {_count(self.simulated)} simulated)"
        if not self.simulated:
            return self.name
        share = f"{self.difference / self.simulated:+.0%}"
        if self.difference_low is None or self.difference_high is None:
            return f"{self.name} ({share})"
        low, high = (edge / self.simulated for edge in (self.difference_low, self.difference_high))
        return f"{self.name} ({share}, 95 % interval {low:+.0%} to {high:+.0%})"

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self)

    def row(self, runs: int) -> dict[str, Any]:
        """A row of `Twin.differences`, with the number of emulated runs."""
        ends = {"mean": self.difference, "low": self.difference_low, "high": self.difference_high}
        scale = 100 / self.simulated if self.simulated else None
        shares = {f"{name}_pct": None if None in (end, scale) else end * scale for name, end in ends.items()}  # type: ignore[operator]
        quantity = BY_NAME[self.quantity]
        about = {"metric": quantity.short, "unit": quantity.unit or "1", "of": "real", "other": "simulated"}
        return {**about, "replications": runs, **ends, **shares, "is_shown": self.verdict == "differs"}


@dataclass(frozen=True)
class Chance:
    """Whether chance explains a difference between counts of events, such as timeouts.

    Counts of a few events are skewed, and those of simulated runs may all be equal. Therefore two tests must both
    reject chance. A permutation test is exact for equally distributed runs. A test of Poisson counts assumes the least
    spread that independent events have.
    """

    runs: int
    """Emulated runs."""
    simulations: int
    p: float
    """p value of the permutation test: probability of such a difference if runs are shuffled between the sides."""
    rate: float
    """Mean number of events per run, on the side with more events."""

    @classmethod
    def from_runs(cls, simulated: Sequence[float], emulated: Sequence[float]) -> Chance:
        """Tests the runs of both sides."""
        rate = max(math.fsum(side) / len(side) for side in (simulated, emulated))
        return cls(len(emulated), len(simulated), _test_permutations(simulated, emulated), rate)

    def is_excluded(self, spread: Spread, runs: int, level: float) -> bool:
        """Whether `runs` emulated runs would exclude chance at this level, if further runs are like these."""
        from scipy import stats

        simulations = max(self.simulations, runs)
        poisson = float(stats.norm.isf(level / 2)) * math.sqrt(self.rate * (1 / runs + 1 / simulations))
        if abs(spread.difference) <= poisson:
            return False
        if runs == self.runs:
            return self.p <= level
        # The least probability of a permutation test: no other shuffle has the difference.
        return 1 / math.comb(simulations + runs, runs) <= level and abs(spread.difference) > spread.half(
            runs, 1 - level
        )


@dataclass(frozen=True)
class Spread:
    """Difference of the means, and its variance for any number of emulated runs."""

    difference: float
    emulated: float
    """Variance of one emulated run."""
    simulated: float
    """Variance of one simulated run."""
    simulations: int
    paired: float | None
    """Variance of the difference of one pair, if pairs are compared."""
    least: float
    """Lower bound of the half width times the number of emulated runs, because few runs may miss a rare loss."""
    freedom: int = 0
    """Degrees of freedom of the variances, if they are not estimated from the emulated runs."""
    chance: Chance | None = None
    """For counts of events."""

    def half(self, runs: int, confidence: float) -> float:
        """Return the half width of the interval of the difference after `runs` emulated runs."""
        from scipy import stats

        variance = self.paired
        if variance is None:
            # Further emulated runs come with as many simulated ones.
            variance = self.emulated + self.simulated * runs / max(self.simulations, runs)
        # One degree of freedom less than emulated runs; the simulated runs, which are more, do not count.
        quantile = float(stats.t.ppf((1 + confidence) / 2, max(runs - 1, self.freedom)))
        return max(quantile * math.sqrt(variance / runs), self.least / runs)


def judge_means(
    quantity: str,
    simulated: Sequence[float],
    emulated: Sequence[float],
    *,
    pairs: Sequence[tuple[float, float]] = (),
    margin: float | None = None,
    together: int = len(QUANTITIES),
) -> Judged:
    """Compare the means of two sides.

    `pairs` are simulated and emulated values of the same seeds, one for each emulated run; `margin` is a share.
    `together` quantities are judged.
    """
    mean, found = math.fsum(simulated) / len(simulated), math.fsum(emulated) / len(emulated)
    usual = BY_NAME[quantity].margin
    matters = (usual if margin is None else replace(usual, share=margin)).convert(mean)
    if len(emulated) < 2:
        return Judged(quantity, mean, found, matters, found - mean, None, None, False, "cannot tell", 1)
    spread = _spread(quantity, simulated, emulated, pairs)
    return judge_summaries(quantity, mean, found, matters, spread, len(emulated), together)


def judge_summaries(
    quantity: str,
    simulated: float,
    emulated: float,
    matters: float,
    spread: Spread,
    runs: int,
    together: int,
) -> Judged:
    """Judge two means whose spread is known, and count the runs that would decide.

    It is one of `together` verdicts.
    """
    # Any of the quantities would make the twins differ: together they do so by chance in 5 % at most.
    level = (1 - CONFIDENCE) / together
    verdict, more = _outcome(spread, runs, matters, level), None
    if verdict == "cannot tell":
        more = _more(spread, runs, matters, level)
    half = spread.half(runs, CONFIDENCE)
    difference, is_paired = spread.difference, spread.paired is not None
    low, high = difference - half, difference + half
    return Judged(quantity, simulated, emulated, matters, difference, low, high, is_paired, verdict, more)


def _spread(
    quantity: str, simulated: Sequence[float], emulated: Sequence[float], pairs: Sequence[tuple[float, float]]
) -> Spread:
    runs = len(emulated)
    mean, found = math.fsum(simulated) / len(simulated), math.fsum(emulated) / runs
    both = _variance(emulated), _variance(simulated)
    least = 0.0
    if BY_NAME[quantity].is_of_events:
        # As in the test of chance, both sides have one spread; that of the emulated runs counts if they scatter more.
        freedom = runs + len(simulated) - 2
        pooled = ((runs - 1) * both[0] + (len(simulated) - 1) * both[1]) / freedom
        both = max(both[0], pooled), pooled
        chance = Chance.from_runs(simulated, emulated)
        return Spread(found - mean, *both, len(simulated), None, RULE_OF_THREE, freedom, chance)
    if BY_NAME[quantity].is_of_packets:
        # Two equal counts show no spread. Assume that of a Poisson count, or of the simulated seeds if it is less.
        both = max(both[0], min(both[1], max(mean, found))), both[1]
        least = RULE_OF_THREE
    if len(pairs) == runs >= PAIRS_FROM:
        paired = _variance([there - here for here, there in pairs])
        if paired < both[0] + both[1] * runs / len(simulated):
            difference = math.fsum(there - here for here, there in pairs) / runs
            return Spread(difference, *both, len(simulated), paired, least)
    return Spread(found - mean, *both, len(simulated), None, least)


def _test_permutations(simulated: Sequence[float], emulated: Sequence[float]) -> float:
    """Permutation test: share of all choices of as many runs as are emulated whose mean differs as much or more."""
    import numpy as np

    values, few = np.array([*emulated, *simulated]), len(emulated)
    unit = max(1.0, float(np.sort(values)[-few:].sum()) / SUM_MOST)
    counts = np.rint(values / unit).astype(int)
    most = int(np.sort(counts)[-few:].sum())
    # Choices by their number of runs and by the sum of their counts.
    ways = np.zeros((few + 1, most + 1))
    ways[0, 0] = 1
    for count in counts:
        for chosen in range(few, 0, -1):
            ways[chosen, count:] += ways[chosen - 1, : most + 1 - count]
    sums = np.arange(most + 1)
    apart = np.abs(sums / few - (counts.sum() - sums) / len(simulated))
    measured = apart[counts[:few].sum()]
    return float(ways[few, apart >= measured - 1e-9].sum() / ways[few].sum())


def _variance(values: Sequence[float]) -> float:
    if len(values) < 2:
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _outcome(spread: Spread, runs: int, matters: float, level: float) -> str:
    if abs(spread.difference) + spread.half(runs, CONFIDENCE) <= matters:
        return "agrees"
    if spread.chance is None:
        differs = abs(spread.difference) > spread.half(runs, 1 - level)
    else:
        differs = abs(spread.difference) > matters and spread.chance.is_excluded(spread, runs, level)
    return "differs" if differs else "cannot tell"


def _count(mean: float) -> str:
    return f"{mean:.1f}".removesuffix(".0")


def _more(spread: Spread, runs: int, matters: float, level: float) -> int | None:
    """The least number of further runs that decide; intervals shrink with each."""
    few, many = 0, 1
    while _outcome(spread, runs + many, matters, level) == "cannot tell":
        few, many = many, 2 * many
        if few >= MORE_MOST:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        if _outcome(spread, runs + middle, matters, level) == "cannot tell":
            few = middle
        else:
            many = middle
    return many


def whole(quantities: Sequence[Judged]) -> str:
    """Write the verdict on all quantities; without quantities, the reason for the missing verdict."""
    if not quantities:
        return "No verdict: no emulated run was trustworthy."
    differ = [each.sentence for each in quantities if each.verdict == "differs"]
    open_ones = [each for each in quantities if each.verdict == "cannot tell"]
    if not differ and not open_ones:
        return "Agrees."
    parts = [f"Differs in {', '.join(differ)}."] if differ else []
    if open_ones:
        parts += [f"Cannot tell {', '.join(each.sentence for each in open_ones)}.", _advice(open_ones)]
    return " ".join(parts)


def _advice(open_ones: Sequence[Judged]) -> str:
    more = more_runs(open_ones)
    if more is None:
        return f"More than {MORE_MOST} further emulated runs would be needed. Longer runs vary less."
    if any(each.difference_low is None for each in open_ones):
        return f"At least {more} more emulated run{'s' if more > 1 else ''}: a single one has no spread."
    return f"{more} more emulated run{'s' if more > 1 else ''} would settle it, with this spread and difference."


def judge_runs(runs: Sequence[Mapping[str, Any]], margins: Mapping[str, float]) -> list[Judged]:
    """Judge each quantity of runs with `side`, `seed` and `is_trustworthy`; empty if no emulated run was."""
    simulated = [run for run in runs if run["side"] == "simulated"]
    emulated = [run for run in runs if run["side"] == "emulated" and run["is_trustworthy"]]
    if not emulated:
        return []
    by_seed = {run["seed"]: run for run in simulated}
    judged_runs = (*simulated, *emulated)
    # Runs that an earlier version measured have no counters.
    names = [name for name in BY_NAME if all(run.get(name) is not None for run in judged_runs)]
    # Counts that are the same in all runs cannot differ by chance, so they need no correction (Tarone 1990).
    together = sum(len({run[name] for run in judged_runs}) > 1 for name in names)

    def judge_quantity(name: str) -> Judged:
        pairs = [(by_seed[run["seed"]][name], run[name]) for run in emulated if run["seed"] in by_seed]
        sides = ([run[name] for run in side] for side in (simulated, emulated))
        return judge_means(name, *sides, pairs=pairs, margin=margins.get(name), together=max(together, 1))

    return [judge_quantity(name) for name in names]


def more_runs(quantities: Sequence[Judged]) -> int | None:
    """Count further emulated runs that would decide all quantities; 0 if all are decided, None if too many."""
    numbers = [each.more_runs for each in quantities if each.verdict == "cannot tell"]
    known = [number for number in numbers if number is not None]
    return None if len(known) < len(numbers) else max(known, default=0)


def margins(written: str | Mapping[str, str] | None) -> dict[str, float]:
    """Margins by quantity, from one share for all or from shares by name or short name.

    Raises
    ------
    EmulationError
        There is no such quantity, or a margin is not a share between 0 and 100 %.
    """
    if written is None:
        return {}
    if isinstance(written, (str, int, float)):
        written = dict.fromkeys(BY_NAME, written)
    expected = "a share such as '10 %', or one for each quantity: {'goodput': '5 %'}"
    found = {}
    for name, share in arguments.mapping("margin", written, expected).items():
        quantity = SHORT_NAMES.get(name, name)
        if quantity not in BY_NAME:
            raise EmulationError(unknown(name, "a quantity of twin", SHORT_NAMES))
        found[quantity] = arguments.margin("margin", share, error=EmulationError)
    return found


def measure_run(
    windows: pl.DataFrame, trips: pl.DataFrame, losses: pl.DataFrame, *, start_s: float, end_s: float
) -> dict[str, float]:
    """Measure means and quantiles over the time of a run, and the largest window before the first loss can be known."""
    window = _levels(windows, "cwnd_bytes", start_s, end_s)
    trip = _levels(trips, "srtt_s", start_s, end_s)
    knows_s = end_s
    if losses.height:
        first_s = float(losses["time_s"][0])
        known = trips.filter(pl.col("time_s") <= first_s)["srtt_s"]
        knows_s = first_s + (float(known[-1]) if len(known) else 0.0)
    before = windows.filter(pl.col("time_s").is_between(start_s, knows_s))["cwnd_bytes"]
    return {
        "cwnd_mean_bytes": _mean(window),
        "cwnd_first_loss_bytes": float(before.max() or 0.0),  # type: ignore[arg-type]
        "srtt_p50_s": _quantile(trip, 0.5),
        "srtt_p95_s": _quantile(trip, 0.95),
        "drops": float(losses.height),
    }


def _levels(series: pl.DataFrame, name: str, start_s: float, end_s: float) -> list[tuple[float, float]]:
    """Each value with its duration."""
    times = [max(time, start_s) for time in series["time_s"].to_list()] + [end_s]
    values = series[name].to_list()
    return [
        (value, min(until, end_s) - since)
        for value, since, until in zip(values, times, times[1:], strict=False)
        if min(until, end_s) > since
    ]


def _mean(levels: Sequence[tuple[float, float]]) -> float:
    held = math.fsum(time for _, time in levels)
    return math.fsum(value * time for value, time in levels) / held if held else 0.0


def _quantile(levels: Sequence[tuple[float, float]], share: float) -> float:
    left = share * math.fsum(time for _, time in levels)
    for value, time in sorted(levels):
        left -= time
        if left <= 0:
            return value
    return 0.0


def divergence(simulated: Sequence[float], emulated: Sequence[float], round_trip_s: float) -> str:
    """Describe the first loss of one side that has no counterpart within two round trips on the other side."""
    for number, (one, other) in enumerate(zip(simulated, emulated, strict=False), 1):
        if abs(one - other) > 2 * round_trip_s:
            return f"The losses differ from number {number} on: at {one:.3f} s simulated, at {other:.3f} s emulated."
    if len(simulated) != len(emulated):
        side, longer = ("simulated", simulated) if len(simulated) > len(emulated) else ("emulated", emulated)
        number = min(len(simulated), len(emulated))
        return f"The losses differ from number {number + 1} on: {side} only, at {longer[number]:.3f} s."
    return "All losses agree in time, within two round trips." if simulated else "No data was lost on either side."

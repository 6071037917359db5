"""Plans a search before it begins: its settings, number of runs, and minutes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.experiment.execution.workers import cores
from bentpipe.tuning.confirming import LOOKS
from bentpipe.tuning.racing import BEST, LEAST, ROUNDS, SAMPLED, count_kept
from bentpipe.tuning.work import Work, count_runs

if TYPE_CHECKING:
    from bentpipe.scenario.scenario import Scenario
    from bentpipe.trials.stock import Axis
    from bentpipe.tuning.conditions import Condition
    from bentpipe.tuning.goal import Goal


@dataclass(frozen=True)
class Plan:
    """Work of a search before it begins."""

    axes: list[Axis]
    absent: dict[str, str]
    """Entries of the stock space that this search does not try, each with the reason."""
    conditions: list[Condition]
    goal: Goal
    points: int
    """Combinations of values."""
    is_sampled: bool
    rungs: list[tuple[str, int, int]]
    """Name, points and runs of each rung."""
    confirming: tuple[int, int]
    """Least and most confirming runs. The most assumes that every key changes, and that there is a second look."""
    run_s: tuple[float, float]
    """CPU seconds of a run: the mean of the timed settings, and the slowest."""
    jobs: int

    @property
    def runs(self) -> tuple[int, int]:
        """Least and most runs of all rungs and the confirmation."""
        of_rungs = sum(runs for _, _, runs in self.rungs)
        return of_rungs + self.confirming[0], of_rungs + self.confirming[1]

    @property
    def minutes(self) -> tuple[float, float]:
        """Least and most expected minutes.

        The least assumes that all runs take the mean time. The most assumes that rungs after the first keep the
        settings that send the most, so their runs take as long as the slowest.
        """
        mean, slowest = self.run_s
        least, most = self.runs
        first = self.rungs[0][2]
        return least * mean / self.jobs / 60, (first * mean + (most - first) * slowest) / self.jobs / 60

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "space": [{"key": each.key, "values": list(each.values), "reason": each.reason} for each in self.axes],
            "not_tried": self.absent,
            "conditions": [{"name": each.name, "share": each.share} for each in self.conditions],
            "points": self.points,
            "sampled": self.is_sampled,
            "rungs": [{"name": name, "points": points, "runs": runs} for name, points, runs in self.rungs],
            "confirm": list(self.confirming),
            "runs": list(self.runs),
            "run_s": list(self.run_s),
            "minutes": list(self.minutes),
        }


def make_plan(scenario: Scenario, guard: Any = None, budget: int | str | None = None, jobs: int | None = None) -> Plan:
    """Plan the search of a scenario with its `[tune]`. A few settings are timed; no other run happens."""
    work = Work(scenario, guard)
    count = jobs or cores()
    count_runs(budget, 1, count)
    timed = work.timed
    runs = work.checked_budget(count_runs(budget, float(timed.mean()), count))
    is_sampled = work.space.is_large or (runs is not None and work.cost(work.space.size) > runs)
    rungs = _climb(work, "search", _first(work, runs, is_sampled=is_sampled))
    if is_sampled:
        near = 1 + BEST * (1 + sum(len(axis.values) for axis in work.space.axes))
        for at in range(ROUNDS):
            rungs += _climb(work, f"neighbours {at + 1}", min(near, work.space.size))
    return Plan(
        work.space.axes,
        {**work.absent, **work.space.dropped},
        work.conditions,
        work.goal,
        work.space.size,
        is_sampled,
        rungs if runs is None else _within(rungs, max(runs - work.confirming, 0)),
        (2 * LOOKS[0] * len(work.conditions), work.confirming + 2 * (LOOKS[-1] - LOOKS[0]) * len(work.conditions)),
        (float(timed.mean()), float(timed.max())),
        count,
    )


def _first(work: Work, runs: int | None, *, is_sampled: bool) -> int:
    """Count the points of the first rung."""
    if not is_sampled:
        # Without combinations that are the same scenario.
        return len(work.space.whole())
    count = SAMPLED
    while runs is not None and count > 2 * LEAST and work.cost(count) > runs:
        count //= 2
    return min(count, work.space.size)


def _climb(work: Work, name: str, points: int) -> list[tuple[str, int, int]]:
    rungs, have = [], 0
    for blocks in work.rungs:
        rungs.append((name, points, points * (blocks - have) * len(work.conditions)))
        have, points = blocks, count_kept(points)
    return rungs


def _within(rungs: list[tuple[str, int, int]], budget: int) -> list[tuple[str, int, int]]:
    """Leave out rungs that begin after the budget is spent. The first of each climb always runs."""
    spent, kept = 0, []
    for place, (name, points, runs) in enumerate(rungs):
        is_first = place == 0 or rungs[place - 1][0] != name
        if is_first or spent < budget:
            kept.append((name, points, runs))
            spent += runs
    return kept

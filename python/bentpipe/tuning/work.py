"""The parts of a search, and the search itself."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.errors import BentpipeError, Interrupted, ScenarioError
from bentpipe.experiment.single import task
from bentpipe.formatting import count as counted
from bentpipe.trials.stock import Axis, stock_space
from bentpipe.tuning import sensitivity
from bentpipe.tuning.blocks import CONFIRM, Outcomes
from bentpipe.tuning.conditions import conditions
from bentpipe.tuning.confirming import INTERRUPTED, LOOKS, Confirmation, Confirmed
from bentpipe.tuning.goal import goal
from bentpipe.tuning.racing import LAST_RUNG, LEAST, RUNGS, Race, cost
from bentpipe.tuning.result import Tuning, collect_content, find_default
from bentpipe.tuning.shaping import Shaping
from bentpipe.tuning.space import Space

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from bentpipe import _core
    from bentpipe.experiment.store.store import Store
    from bentpipe.scenario.scenario import Scenario
    from bentpipe.tuning.blocks import Runner
    from bentpipe.tuning.racing import Searched

TIMED = 12
"""Settings that are timed for a plan."""
TIMED_LEAST = 4
"""Settings that are timed, at least."""
TIMED_S = 0.8
"""CPU seconds after which no further setting is timed."""
TIMED_RUN_S = 0.1
"""CPU seconds after which a timed run stops. Its whole time follows from the share that it has reached."""
REACHED_MIN = 0.02
"""Least share of a run for an estimate of its whole time."""
OVERHEAD_S = 0.002
"""CPU seconds beside each run: its scenario, and its place in the store."""
_MINUTES = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*(s|min|h)", re.ASCII)
_RUNS = re.compile(r"\d{1,12}", re.ASCII)
_SECONDS = {"s": 1, "min": 60, "h": 3600}


class Work:
    """The parts of a search, checked."""

    def __init__(self, scenario: Scenario, guard: Any = None) -> None:
        self.scenario = scenario
        text = scenario._core.tune()
        if text is None:
            raise ScenarioError("a case has no search\n  expected the scenario itself")
        self.written: dict[str, Any] = json.loads(text)
        # Guards of the command line and of calls have relations: `goodput:film >= -15 %`.
        bounds = guard if guard and not hasattr(guard, "items") else self.written["guard"]
        self.goal = goal(self.written["objective"], bounds, self.written["robust"], self.written["margin"])
        for each in self.goal.measures:
            each.check(scenario)
        self.conditions = conditions(scenario, self.written["conditions"])
        self.is_all = self.written["space"] == "all"
        self.absent: dict[str, str] = {}
        """Entries of the stock space that are not tried, with the reason."""
        self.asked_guard: list[str] = (
            [guard] if isinstance(guard, str) else [*guard] if isinstance(guard, Sequence) else []
        )
        self.asked_budget: int | str | None = None
        self._state: tuple[Searched, Confirmed, Outcomes] | None = None

    @cached_property
    def space(self) -> Space:
        """All points. Making them takes a millisecond for each."""
        axes = [
            Axis(axis["keys"][0], tuple(row[0] for row in axis["values"]), "requested") for axis in self.written["axes"]
        ]
        for axis in axes:
            if axis.key in ("seed", "case") or axis.key.startswith(("sweep.", "tune.", "case.")):
                raise ScenarioError(f"{axis.key} cannot vary: it is not a setting\n  expected keys of the scenario")
        if not axes:
            axes, self.absent = stock_space(self.scenario, is_all=self.is_all, period_s=self.written["period_s"])
        axes = [replace(axis, default=find_default(self.scenario, axis.key)) for axis in axes]
        imply = Shaping(self.scenario).list_implied
        return Space(self._core, self.conditions[0], axes, is_all=self.is_all, imply=imply)

    @cached_property
    def _core(self) -> _core.Scenario:
        return self.scenario.replace("record.series", [])._core

    @property
    def shares(self) -> NDArray[np.float64]:
        """Shares of time of the conditions."""
        return np.array([each.share for each in self.conditions])

    @property
    def rungs(self) -> tuple[int, ...]:
        """Blocks of each rung."""
        return RUNGS if self.goal.robust == "mean" else (*RUNGS, LAST_RUNG)

    def cost(self, points: int) -> int:
        """Count the runs of a search that begins with this many points."""
        return cost(points, self.rungs, len(self.conditions))

    @cached_property
    def timed(self) -> NDArray[np.float64]:
        """CPU seconds of runs of different settings, the default first.

        In a space with several congestion controls, the slowest run may take ten times as long as the default: over a
        path with losses, the settings with more goodput send more packets.
        """
        found: list[float] = []
        begin = time.process_time()
        for place, point in enumerate(self.space.sample(TIMED, self.scenario.seed)):
            chosen = self.conditions[place % len(self.conditions)].scenario(self._core, point.sets, place)
            found.append(_run_s(chosen, self.scenario.seed + place))
            if len(found) >= TIMED_LEAST and time.process_time() - begin > TIMED_S:
                break
        return np.array(found) + OVERHEAD_S

    def budget(self, asked: int | str | None, jobs: int, store: Store) -> int | None:
        """Return the number of runs of a budget.

        A store keeps this number, so that a continued search has the same budget.
        """
        if asked is None or not is_time(asked):
            return self.checked_budget(count_runs(asked, 1, jobs))
        known = store.find_note(f"budget {asked}")
        runs = known if known is not None else count_runs(asked, float(self.timed.mean()), jobs)
        store.note(f"budget {asked}", runs)
        return self.checked_budget(runs)

    def checked_budget(self, runs: int | None) -> int | None:
        """Check that a budget is large enough for rungs and a confirmation, and return it."""
        least = self.cost(2 * LEAST) + 2 * LOOKS[0] * len(self.conditions)
        if runs is not None and runs < least:
            raise BentpipeError(f"a budget of {runs} runs\n  expected at least {least}: rungs and a confirmation")
        return runs

    def search(
        self, runner: Runner, budget: int | None = None, told: Callable[[str], object] = lambda _: None
    ) -> Tuning:
        """Search, simplify and confirm."""
        outcomes = Outcomes(runner, len(self.conditions))
        left = None if budget is None else max(budget - self.confirming, self.cost(2 * LEAST))
        race = Race(self.space, self.goal, self.shares, outcomes, left, told)
        confirmation = Confirmation(self.space, self.goal, self.shares, outcomes, told)
        confirmed = Confirmed(INTERRUPTED, self.space.default)
        self._state = race.found, confirmed, outcomes
        try:
            told("the default")
            self._refuse_without_objective(outcomes)
            found = race.search(self.scenario.seed)
            ranking = sorted(found.ranking, key=lambda point: (found.totals[point.digest], point.positions))
            confirmed = confirmation.confirm_best(ranking, found.broken, found.blocks)
            confirmation.value_changes(confirmed)
            confirmation.walk_path(confirmed)
            confirmation.judge_front(confirmed, found.front)
            if self.is_all:
                confirmation.add_research(confirmed, ranking)
        except KeyboardInterrupt as interrupt:
            message = f"interrupted after {counted(sum(outcomes.runs.values()), 'run')}"
            # An interrupt between two steps has no place.
            raise Interrupted(message, self.part, where=getattr(interrupt, "where", "")) from None
        shares = sensitivity.shares(self.space, found.first)
        return Tuning(collect_content(self, found, confirmed, outcomes, shares))

    def part(self) -> Tuning | None:
        """Return the result so far of a search in progress, with its completed rungs; None before the search begins."""
        if self._state is None:
            return None
        return Tuning(collect_content(self, *self._state, None))

    @property
    def confirming(self) -> int:
        """Least number of runs of a confirmation if every key changes."""
        return (len(self.space.axes) * 2 + 2) * LOOKS[0] * len(self.conditions)

    def _refuse_without_objective(self, outcomes: Outcomes) -> None:
        (values,) = outcomes.select_blocks("search", [self.space.default], 1)
        for each, _ in self.goal.objective:
            if np.all(np.isnan(values[..., self.goal.measures.index(each)])):
                raise BentpipeError(
                    f"the default has no {each.name} in {self.scenario.duration_s:g} s\n"
                    "  expected a longer duration, or another objective"
                )

    @property
    def seeds(self) -> dict[str, int]:
        """First seeds of the search and of the confirmation."""
        return {"search": self.scenario.seed, "confirm": (self.scenario.seed + CONFIRM) % 2**64}


def _run_s(scenario: _core.Scenario, seed: int) -> float:
    """Return the CPU seconds of a run, estimated if it is long."""
    begin, reached = time.process_time(), 1.0

    def note(share: float) -> None:
        nonlocal reached
        reached = share

    def is_long() -> bool:
        return time.process_time() - begin > TIMED_RUN_S and reached >= REACHED_MIN

    task.execute(scenario, seed, (), is_long, note)
    return (time.process_time() - begin) / reached


def count_runs(budget: int | str | None, run_s: float, jobs: int) -> int | None:
    """Convert a budget to a number of runs."""
    if budget is None:
        return None
    text = str(budget).strip()
    time_ = _MINUTES.fullmatch(text)
    if _RUNS.fullmatch(text):
        return int(text)
    if time_ is None:
        raise BentpipeError(f"budget = {budget!r}\n  expected a number of runs, or a time such as 10min")
    return int(float(time_[1]) * _SECONDS[time_[2]] * jobs / max(run_s, 1e-3))


def is_time(budget: int | str) -> bool:
    return isinstance(budget, str) and _MINUTES.fullmatch(budget.strip()) is not None

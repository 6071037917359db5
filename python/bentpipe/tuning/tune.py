"""Searches for better settings of a scenario."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import forks
from bentpipe.errors import BentpipeError, Interrupted, ScenarioError
from bentpipe.experiment.execution.workers import cores, workers
from bentpipe.experiment.single import task
from bentpipe.experiment.store.memory import Memory
from bentpipe.experiment.store.store import Store
from bentpipe.progress import watched
from bentpipe.scenario.scenario import scenario_of
from bentpipe.tuning import sensitivity
from bentpipe.tuning.blocks import CONFIRM, Executed, Outcomes
from bentpipe.tuning.conditions import Condition, conditions
from bentpipe.tuning.confirming import INTERRUPTED, LOOKS, Confirmation, Confirmed
from bentpipe.tuning.goal import Goal, goal
from bentpipe.tuning.racing import LAST_RUNG, LEAST, RUNGS, SAMPLED, Race, cost
from bentpipe.tuning.result import Tuning, content_of
from bentpipe.tuning.space import Space
from bentpipe.tuning.stock import Axis, stock_space

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from bentpipe.progress import Progress, Wish
    from bentpipe.scenario.scenario import AnyScenario, Scenario
    from bentpipe.tuning.blocks import Runner

TIMED = 2
"""Runs of the default that are timed for a plan."""
_MINUTES = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*(s|min|h)", re.ASCII)
_RUNS = re.compile(r"\d{1,12}", re.ASCII)
_SECONDS = {"s": 1, "min": 60, "h": 3600}


def tune(
    scenario: AnyScenario,
    vary: Mapping[str, Any] | None = None,
    *,
    objective: str | Mapping[str, Any] | None = None,
    guard: str | Sequence[str] | Mapping[str, Any] | None = None,
    conditions: Mapping[str, Mapping[str, Any]] | None = None,
    robust: str | None = None,
    margin: str | float | None = None,
    space: str | None = None,
    budget: int | str | None = None,
    store: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    on: str | None = None,
    progress: Wish = None,
) -> Tuning:
    """Find better settings for a scenario, and confirm them on seeds that the search did not use.

    The table `[tune]` of the scenario is the default of the arguments. A search runs many settings briefly, and the
    best of them longer. Runs are kept as those of a sweep, so a search that was interrupted continues.

    Parameters
    ----------
    scenario : Scenario, dict, path or name
        Its values are the default, which every setting is compared with.
    vary : mapping, optional
        Values by dotted key, as in `sweep`, besides those of the file. Without any, a stock space for this scenario.
    objective : str or mapping, optional
        The metric to improve, such as `fct:pages`, or several metrics with their weights. For a front of compromises:
        `{"pareto": [...]}`.
    guard : str, sequence or mapping, optional
        Metrics that must hold in every condition: `{"goodput:film": "-15 %"}`, or `"goodput:film >= -15 %"`.
    conditions : mapping, optional
        Overrides by name of the condition, each with an optional `weight` and `draws`.
    robust : "mean", "worst" or "q90", optional
        Score of a setting over all conditions.
    margin : str or float, optional
        Smallest improvement that matters.
    space : "linux" or "all", optional
        Whether settings that a stock system lacks are tried, too. They are never recommended.
    budget : int or str, optional
        Number of runs of the search, or a time: `"10 min"`.
    store, seed, jobs, on, progress : optional
        See `sweep`.

    Returns
    -------
    Tuning

    Raises
    ------
    ScenarioError
        A setting or condition is invalid. Nothing ran.
    BentpipeError
        A metric, bound or budget is invalid, or no run has the objective.
    Interrupted
        Ctrl-C was pressed; the store has the finished runs.
    """
    asked = arguments(vary, objective, guard, conditions, robust, margin, space)
    own = [] if seed is None else [("seed", seed)]
    work = Work(scenario_of(scenario, [*asked, *own]), guard)
    work.space  # noqa: B018 - settings are checked before the store is made
    if budget is not None and not _is_time(budget):
        work.checked_budget(_runs(budget, 1, 1))
    forks.refuse()
    with (
        watched(progress) as watch,
        closing(workers(on, jobs)) as place,
        Memory() if store is None else Store(store) as opened,
    ):
        told = _Told(watch)
        runner = Executed(work.scenario, work.conditions, work.goal, opened, place, told)
        try:
            runs = work.budget(budget, place.count, opened)
            found = work.searched(runner, runs, told.step)
            opened.begin({**runner.facts, "tuning": found.content})
        finally:
            opened.write()
    return found


def arguments(
    vary: Mapping[str, Any] | None,
    objective: str | Mapping[str, Any] | None,
    guard: str | Sequence[str] | Mapping[str, Any] | None,
    conditions: Mapping[str, Mapping[str, Any]] | None,
    robust: str | None,
    margin: str | float | None,
    space: str | None,
) -> list[tuple[str, Any]]:
    """Convert arguments to overrides of the table `[tune]` of a scenario."""
    sets: list[tuple[str, Any]] = [(f"tune.vary.{key}", values) for key, values in (vary or {}).items()]
    for name, part in (conditions or {}).items():
        sets += [(f"tune.condition.{json.dumps(name)}.{key}", value) for key, value in part.items()]
    if objective is not None:
        sets.append(("tune.objective", {objective: 1} if isinstance(objective, str) else dict(objective)))
    if guard is not None and not isinstance(guard, (str, Sequence)):
        sets.append(("tune.guard", dict(guard)))
    plain = {"robust": robust, "margin": margin, "space": space}
    return sets + [(f"tune.{key}", value) for key, value in plain.items() if value is not None]


@dataclass(frozen=True)
class Plan:
    """Work of a search before it begins."""

    axes: list[Axis]
    conditions: list[Condition]
    goal: Goal
    points: int
    """Combinations of values."""
    is_sampled: bool
    rungs: list[tuple[int, int]]
    """Points and runs of each rung."""
    confirming: int
    """Runs that confirm, at least."""
    run_s: float
    """Seconds of a run of the default."""
    jobs: int

    @property
    def runs(self) -> int:
        """Runs of all rungs, with the confirmation."""
        return sum(runs for _, runs in self.rungs) + self.confirming

    @property
    def minutes(self) -> float:
        """Expected minutes."""
        return self.runs * self.run_s / self.jobs / 60

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "space": [{"key": each.key, "values": list(each.values), "reason": each.reason} for each in self.axes],
            "conditions": [{"name": each.name, "share": each.share} for each in self.conditions],
            "points": self.points,
            "sampled": self.is_sampled,
            "rungs": [{"points": points, "runs": runs} for points, runs in self.rungs],
            "confirm": self.confirming,
            "runs": self.runs,
            "run_s": self.run_s,
            "minutes": self.minutes,
        }


def planned(scenario: Scenario, guard: Any = None, budget: int | str | None = None, jobs: int | None = None) -> Plan:
    """Plan the search of a scenario with its `[tune]`. Two runs of the default are timed; no other run happens."""
    work = Work(scenario, guard)
    count = jobs or cores()
    _runs(budget, 1, count)
    run_s = work.run_s()
    runs = work.checked_budget(_runs(budget, run_s, count))
    whole = work.cost(work.space.size)
    is_sampled = work.space.is_large or whole > (runs or np.inf)
    points = min(work.space.size, SAMPLED) if is_sampled else work.space.size
    rungs, have = [], 0
    for blocks in work.rungs:
        rungs.append((points, points * (blocks - have) * len(work.conditions)))
        have, points = blocks, max(-(-points // 3), min(points, LEAST + 1))
    confirming = (len(work.space.axes) * 2 + 2) * LOOKS[0] * len(work.conditions)
    return Plan(
        work.space.axes, work.conditions, work.goal, work.space.size, is_sampled, rungs, confirming, run_s, count
    )


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

    @cached_property
    def space(self) -> Space:
        """All points. Making them takes a millisecond for each."""
        axes = [
            Axis(axis["keys"][0], tuple(row[0] for row in axis["values"]), "requested") for axis in self.written["axes"]
        ]
        for axis in axes:
            if axis.key in ("seed", "case") or axis.key.startswith(("sweep.", "tune.", "case.")):
                raise ScenarioError(f"{axis.key} cannot vary: it is not a setting\n  expected keys of the scenario")
        core = self.scenario.replace("record.series", [])._core
        axes = axes or stock_space(self.scenario, is_all=self.is_all)
        return Space(core, self.conditions[0], axes, is_all=self.is_all)

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

    def run_s(self) -> float:
        """Time runs of the default, in CPU seconds."""
        core = self.scenario.replace("record.series", [])._core
        begin = time.process_time()
        for block in range(TIMED):
            chosen = self.conditions[block % len(self.conditions)].scenario(core, [], block)
            task.execute(chosen, self.scenario.seed + block, ())
        return (time.process_time() - begin) / TIMED

    def budget(self, asked: int | str | None, jobs: int, store: Store) -> int | None:
        """Return the number of runs of a budget. A store keeps the number, so a continued search has the same."""
        if asked is None or not _is_time(asked):
            return self.checked_budget(_runs(asked, 1, jobs))
        known = store.noted(f"budget {asked}")
        runs = known if known is not None else _runs(asked, self.run_s(), jobs)
        store.note(f"budget {asked}", runs)
        return self.checked_budget(runs)

    def checked_budget(self, runs: int | None) -> int | None:
        """Return a budget unless it is too small for rungs and a confirmation."""
        least = self.cost(2 * LEAST) + 2 * LOOKS[0] * len(self.conditions)
        if runs is not None and runs < least:
            raise BentpipeError(f"a budget of {runs} runs\n  expected at least {least}: rungs and a confirmation")
        return runs

    def searched(
        self, runner: Runner, budget: int | None = None, told: Callable[[str], object] = lambda _: None
    ) -> Tuning:
        """Search, simplify and confirm."""
        outcomes = Outcomes(runner, len(self.conditions))
        confirming = (len(self.space.axes) * 2 + 2) * LOOKS[0] * len(self.conditions)
        left = None if budget is None else max(budget - confirming, self.cost(2 * LEAST))
        race = Race(self.space, self.goal, self.shares, outcomes, left, told)
        confirmation = Confirmation(self.space, self.goal, self.shares, outcomes, told)
        confirmed = Confirmed(INTERRUPTED, self.space.default)
        try:
            told("the default")
            self._refuse_without_objective(outcomes)
            found = race.search(self.scenario.seed)
            ranking = sorted(found.ranking, key=lambda point: (found.totals[point.digest], point.positions))
            confirmed = confirmation.confirmed(ranking, found.broken, found.blocks)
            confirmation.valued(confirmed)
            confirmation.fronted(confirmed, found.front)
            if self.is_all:
                confirmation.researched(confirmed, ranking)
        except Interrupted as interrupt:
            part = Tuning(content_of(self, race.found, confirmed, outcomes, None))
            raise Interrupted(str(interrupt), lambda: part) from None
        shares = sensitivity.shares(self.space, found.first)
        return Tuning(content_of(self, found, confirmed, outcomes, shares))

    def _refuse_without_objective(self, outcomes: Outcomes) -> None:
        (values,) = outcomes.of("search", [self.space.default], 1)
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


def _runs(budget: int | str | None, run_s: float, jobs: int) -> int | None:
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


def _is_time(budget: int | str) -> bool:
    return isinstance(budget, str) and _MINUTES.fullmatch(budget.strip()) is not None


class _Told:
    """Progress of all steps, each with its name."""

    def __init__(self, watch: Callable[[Progress], object] | None) -> None:
        self._watch, self._step = watch, ""

    def step(self, name: str) -> None:
        """Name the step that begins."""
        self._step = name

    def __call__(self, progress: Progress) -> None:
        if self._watch is not None:
            progress.doing = self._step
            self._watch(progress)

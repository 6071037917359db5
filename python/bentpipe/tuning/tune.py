"""Searches for better settings of a scenario."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from bentpipe import arguments as checked
from bentpipe import forks
from bentpipe.experiment.execution.workers import workers
from bentpipe.experiment.store.memory import Memory
from bentpipe.experiment.store.store import Store
from bentpipe.progress import choose_watch
from bentpipe.scenario.scenario import make_scenario
from bentpipe.tuning.blocks import Executed
from bentpipe.tuning.work import Work, count_runs, is_time

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from bentpipe.progress import Progress, Wish
    from bentpipe.scenario.scenario import AnyScenario
    from bentpipe.tuning.result import Tuning


def tune(
    scenario: AnyScenario,
    vary: Mapping[str, Any] | None = None,
    *,
    objective: str | Mapping[str, Any] | None = None,
    guard: str | Sequence[str] | Mapping[str, Any] | None = None,
    conditions: Mapping[str, Mapping[str, Any]] | None = None,
    robust: str | None = None,
    margin: str | None = None,
    space: str | None = None,
    budget: int | str | None = None,
    store: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    on: str | None = None,
    progress: Wish = None,
) -> Tuning:
    """Find better settings for a scenario, and confirm them on seeds that the search did not use.

    The table `[tune]` of the scenario has the defaults of the arguments. A search runs many settings a few times, and
    the best of them more often. With `store`, runs are kept as in a sweep, so an interrupted search can continue.

    Parameters
    ----------
    scenario : Scenario, dict, path or name
        Its values are the default, which every setting is compared with.
    vary : mapping, optional
        Values to try by dotted key, as in `sweep`, in addition to those of the file. If neither has values, a stock
        space for this scenario is searched.
    objective : str or mapping, optional
        The metric to improve, such as `fct:pages`, or several metrics with their weights. For a front of compromises:
        `{"pareto": [...]}`.
    guard : str, sequence or mapping, optional
        Metrics that must hold in every condition: `{"goodput:film": "-15 %"}`, or `"goodput:film >= -15 %"`.
    conditions : mapping, optional
        Conditions by name, each with its overrides, an optional `weight` and optional `draws`.
    robust : "mean", "worst" or "q90", optional
        Rule that joins the scores of all conditions: their mean, the worst one, or the 90 % quantile.
    margin : str, optional
        Smallest improvement that matters, as a share of the default's value: `2 %`. Default: 1 %, as in `compare`.
    space : "linux" or "all", optional
        `all` also tries settings that a stock Linux system does not have. They are never recommended.
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
        A metric, bound or budget is invalid, or no run has a value of the objective.
    Interrupted
        Ctrl-C was pressed; the store has the finished runs.
    """
    asked = arguments(vary, objective, guard, conditions, robust, margin, space)
    own = [] if seed is None else [("seed", seed)]
    work = Work(make_scenario(scenario, [*asked, *own]), guard)
    work.asked_budget = budget
    work.space  # noqa: B018 - settings are checked before the store is made
    if budget is not None and not is_time(budget):
        work.checked_budget(count_runs(budget, 1, 1))
    forks.refuse()
    with (
        choose_watch(progress) as watch,
        closing(workers(on, jobs)) as place,
        Memory() if store is None else Store(store) as opened,
    ):
        told = _Told(work, watch)
        runner = Executed(work.scenario, work.conditions, work.goal, opened, place, told)
        try:
            runs = work.budget(budget, place.count, opened)
            found = work.search(runner, runs, told.step)
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
    margin: str | None,
    space: str | None,
) -> list[tuple[str, Any]]:
    """Convert arguments to overrides of the table `[tune]` of a scenario."""
    vary = checked.mapping("vary", vary or {}, "a dict of values by key")
    conditions = checked.mapping("conditions", conditions or {}, "a dict of overrides by name")
    sets: list[tuple[str, Any]] = [(f"tune.vary.{key}", values) for key, values in vary.items()]
    for name, part in conditions.items():
        checked.mapping(f"conditions[{name!r}]", part, "a dict of overrides")
        sets += [(f"tune.condition.{json.dumps(name)}.{key}", value) for key, value in part.items()]
    if objective is not None:
        goals = {objective: 1} if isinstance(objective, str) else objective
        sets.append(("tune.objective", dict(checked.mapping("objective", goals, "a metric, or a dict of weights"))))
    if guard is not None and not isinstance(guard, (str, Sequence)):
        sets.append(("tune.guard", dict(checked.mapping("guard", guard, "texts, or a dict of bounds by metric"))))
    if margin is not None:
        checked.margin("margin", margin)
    plain = {"robust": robust, "margin": margin, "space": space}
    return sets + [(f"tune.{key}", value) for key, value in plain.items() if value is not None]


class _Told:
    """Progress of all steps, each with its name. The result so far has the rungs that ended."""

    def __init__(self, work: Work, watch: Callable[[Progress], object] | None) -> None:
        self._work, self._watch, self._step = work, watch, ""

    def step(self, name: str) -> None:
        """Name the step that begins."""
        self._step = name

    def __call__(self, progress: Progress) -> None:
        if self._watch is not None:
            progress.doing, progress.make_result = self._step, self._work.part
            self._watch(progress)

"""Runs of a search: blocks of replications of points under all conditions, in the store of a sweep."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from bentpipe.errors import Interrupted
from bentpipe.experiment.common.days import on_day
from bentpipe.experiment.design.design import KEPT_SCENARIOS, Design
from bentpipe.experiment.design.design import Point as RunPoint
from bentpipe.experiment.execution.execution import Execution
from bentpipe.statistics.judgement import DEFAULT
from bentpipe.trials import measures

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bentpipe import _core
    from bentpipe.experiment.execution.workers import Workers
    from bentpipe.experiment.results.sweep import Sweep
    from bentpipe.experiment.store.store import Store
    from bentpipe.progress import Progress
    from bentpipe.scenario.scenario import Scenario
    from bentpipe.tuning.conditions import Condition
    from bentpipe.tuning.goal import Goal, Values
    from bentpipe.tuning.space import Point

Phase = Literal["search", "confirm"]
CONFIRM = 2**32
"""Distance of the seeds that confirm from those of the search. No block of one is a block of the other."""
CONFIRM_DAY = 64
"""First day of the sky that confirms, after all days of a search."""


class Runner(Protocol):
    """Runs blocks of points."""

    def __call__(self, phase: Phase, wanted: Sequence[tuple[Point, range]]) -> list[Values]:
        """Return the metrics of these blocks of each point: condition, block, metric."""


class Outcomes:
    """Metrics of points so far. Missing blocks run on request."""

    def __init__(self, runner: Runner, conditions: int) -> None:
        self._runner, self._conditions = runner, conditions
        self._known: dict[tuple[Phase, str], Values] = {}
        self.runs = {"search": 0, "confirm": 0}
        """Finished runs, also of a step that was interrupted."""

    def select_blocks(self, phase: Phase, points: Sequence[Point], blocks: int) -> list[Values]:
        """Return the first blocks of each point."""
        wanted = [(point, range(self.have(phase, point), blocks)) for point in points]
        wanted = [(point, missing) for point, missing in wanted if missing]
        if wanted:
            try:
                answers = self._runner(phase, wanted)
            except Interrupted as interrupt:
                self.runs[phase] += interrupt.result.runs.height
                raise
            for (point, missing), found in zip(wanted, answers, strict=True):
                known = self._known.get((phase, point.digest))
                self._known[phase, point.digest] = found if known is None else np.concatenate([known, found], axis=1)
                self.runs[phase] += len(missing) * self._conditions
        return [self._known[phase, point.digest][:, :blocks] for point in points]

    def have(self, phase: Phase, point: Point) -> int:
        """Count the known blocks of a point."""
        known = self._known.get((phase, point.digest))
        return 0 if known is None else int(known.shape[1])


class Blocks(Design["Sweep"]):
    """Work of one step of a search: blocks of points."""

    verb = "tune"

    def __init__(
        self,
        scenario: Scenario,
        conditions: Sequence[Condition],
        goal: Goal,
        phase: Phase,
        wanted: Sequence[tuple[Point, range]],
    ) -> None:
        self.scenario, self.senders, self.phase = scenario, scenario.senders, phase
        self.conditions = conditions
        self._core = scenario.replace("record.series", [])._core
        self.seed = (scenario.seed + (CONFIRM if phase == "confirm" else 0)) % 2**64
        self.metrics = measures.list_compared(goal.measures)
        needed = (table for each in goal.measures for table in each.tables)
        self.tables = list(dict.fromkeys(needed))
        self.judgement, self.until = DEFAULT, None
        self._parts = [(point, condition, blocks) for point, blocks in wanted for condition in conditions]
        self._made = lru_cache(KEPT_SCENARIOS)(self._scenario)
        self.keys = list(dict.fromkeys([key for point, _ in wanted for key, _ in point.changes] + ["condition"]))
        self.points = [self._point(index) for index in range(len(self._parts))]
        self.replications = self.replications_max = max(len(blocks) for _, blocks in wanted)

    def counts(self) -> list[int]:
        return [len(blocks) for _, _, blocks in self._parts]

    def core(self, point: RunPoint, replication: int = 0) -> _core.Scenario:
        return on_day(self._made(point.index, self._draw(point.index, replication)), self.day(point, replication))

    def day(self, point: RunPoint, replication: int) -> int:
        first = CONFIRM_DAY if self.phase == "confirm" else 0
        return first + replication if point.has_days else 0

    def digest(self, point: RunPoint, replication: int) -> str:
        return self.core(point, replication).digest if point.varies else point.digest

    def find_replications(self, point: RunPoint) -> tuple[int, int]:
        return self._parts[point.index][2].start, 1

    def result(self, sweep: Sweep) -> Sweep:
        return sweep

    def _point(self, index: int) -> RunPoint:
        point, condition, blocks = self._parts[index]
        values = {**dict.fromkeys(self.keys), **dict(point.changes), "condition": condition.name}
        made = RunPoint.from_core(index, values, self._made(index, self._draw(index, blocks.start)))
        return replace(made, has_own=bool(condition.draws), notes=())

    def _draw(self, index: int, block: int) -> int:
        """Number of the draw of a block; those that confirm come after those of the search."""
        draws = len(self._parts[index][1].draws)
        return (block + (CONFIRM_DAY if self.phase == "confirm" else 0)) % draws if draws else 0

    def _scenario(self, index: int, draw: int) -> _core.Scenario:
        point, condition, _ = self._parts[index]
        return condition.scenario(self._core, point.sets, draw)

    def values(self, sweep: Sweep, goal: Goal) -> list[Values]:
        """Return the metrics of each requested point; NaN for runs that failed."""
        found = measures.values(sweep, goal.measures)
        of_parts = [np.full((len(blocks), found.shape[1]), np.nan) for _, _, blocks in self._parts]
        rows = zip(sweep.runs["point"], sweep.runs["replication"], found, strict=True)
        for index, replication, row in rows:
            of_parts[index][replication - self._parts[index][2].start] = row
        count = len(self.conditions)
        return [np.stack(of_parts[at : at + count]) for at in range(0, len(of_parts), count)]


class Executed:
    """Runs blocks in a store, with the workers of sweeps."""

    def __init__(
        self,
        scenario: Scenario,
        conditions: Sequence[Condition],
        goal: Goal,
        store: Store,
        place: Workers,
        progress: Callable[[Progress], object] | None = None,
    ) -> None:
        self._design: Callable[..., Blocks] = partial(Blocks, scenario, conditions, goal)
        self._goal, self._store, self._place, self._progress = goal, store, place, progress
        self.facts: dict[str, Any] = {}
        """Facts of the last step, for the store."""

    def __call__(self, phase: Phase, wanted: Sequence[tuple[Point, range]]) -> list[Values]:
        design = self._design(phase, wanted)
        sweep = Execution(design, self._progress, self._place.count).run(self._store, self._place)
        self.facts = sweep.facts
        return design.values(sweep, self._goal)

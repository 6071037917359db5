"""Runs of a mix: the cases in each order of places, in turn, and runs in which all flows have the same case."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bentpipe.experiment.common.commands import vary_key
from bentpipe.experiment.common.until import UNTIL_MAX, Until, checked_until, enough
from bentpipe.experiment.design.design import KEPT_DAYS, Design, Point
from bentpipe.experiment.results.mix import VERB, Mix, complete
from bentpipe.experiment.results.quantities import quantity
from bentpipe.statistics.judgement import FAIR_USUAL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bentpipe import _core
    from bentpipe.experiment.results.plan import Plan
    from bentpipe.experiment.results.sweep import Sweep
    from bentpipe.scenario.scenario import Scenario
    from bentpipe.statistics.judgement import Judgement

PLANS_KEPT = 4
"""Maximum number of kept plans of days of the sky. A replication needs one plan for all its runs."""


class Mixed(Design["Mix"]):
    """Runs of a mix: the cases in each order of places, in turn, and runs in which all flows have the same case."""

    verb = VERB
    cases: Mapping[str, Mapping[str, Any]]
    """Cases that are not part of the scenario."""

    def __init__(
        self,
        scenario: Scenario,
        plan: Plan,
        replications: int,
        replications_max: int | None,
        until: Mapping[str, Any] | None,
        judgement: Judgement,
        metrics: Sequence[str] = (),
        fair: str = FAIR_USUAL,
    ) -> None:
        self.scenario, self.plan, self.senders = scenario, plan, plan.classes
        self.judgement, self.fair = judgement, fair
        self.replications = replications
        self.replications_max = replications_max or (replications if until is None else max(replications, UNTIL_MAX))
        self.until = Until.from_dict(checked_until(until, quantity))
        count = len(plan.names)
        orders = [[(slot + turn) % count for slot in range(count)] for turn in range(count)]
        own = [[kind] * count for kind in range(count)]
        self.kinds = [*orders, *own]
        self._plan_of = lru_cache(PLANS_KEPT)(plan.on_day)
        self._on_day = lru_cache(KEPT_DAYS)(lambda index, day: self._plan_of(day).mix_cases(self.kinds[index])._core)
        names = [*(f"turn {turn}" for turn in range(count)), *plan.names]
        # A mix is made of the resolved scenario, which has links in place of a sky.
        (sky, *_) = members = [Point.from_core(0, {}, each._core) for each in plan.members.values()]
        notes = tuple(dict.fromkeys(note for each in members for note in each.notes))
        days = {"has_days": sky.has_days, "shares_day": sky.shares_day, "notes": notes}
        self.points = [
            replace(Point.from_core(index, {"senders": name}, self._on_day(index, 0)), **days)  # type: ignore[arg-type]
            for index, name in enumerate(names)
        ]
        self.keys, self.seed = ["senders"], scenario.seed
        self.metrics, self.asked, tables = ["goodput"], list(metrics), ["flows", "links"]
        for name in [*metrics, *([self.until.metric] if self.until else [])]:
            tables += getattr(quantity(name), "tables", ())
        self.tables = list(dict.fromkeys(tables))

    def core(self, point: Point, replication: int = 0) -> _core.Scenario:
        return self._on_day(point.index, self.day(point, replication))

    def result(self, sweep: Sweep) -> Mix | None:
        return Mix.from_sweep(sweep, self.scenario, self.plan) if complete(sweep, self.plan) else None

    def again(self, point: Point, replication: int) -> dict[str, Any] | None:
        """Return None: a mix is no scenario with overrides."""
        return None

    def name_point(self, point: Point) -> str:
        name = point.values["senders"]
        return f"the run with all flows {name}" if name in self.plan.names else "a run with all cases"

    def find_replications(self, point: Point) -> tuple[int, int]:
        turns = len(self.plan.names)
        return (point.index, turns) if point.index < turns else (0, 1)

    def counts(self) -> list[int]:
        return self._counts(self.replications)

    def _counts(self, replications: int) -> list[int]:
        """Count the runs of each point in a mix with these replications."""
        return [len(range(first, replications, step)) for first, step in map(self.find_replications, self.points)]

    def grow_counts(self, counts: Sequence[int], so_far: Callable[[], Sweep]) -> list[int]:
        if self.until is None:
            return list(counts)
        mixed = Mix.from_sweep(so_far(), self.scenario, self.plan)
        values = [mixed.values(name, self.until.metric) for name in self.plan.names]
        return self._counts(max(enough(each, self.until, self.replications_max) for each in values))

    def facts(self) -> dict[str, Any]:
        return {
            "sets": [*self.scenario.sets, (vary_key(), json.dumps(self.plan.names)), *self.sets()],
            "cases": json.loads(json.dumps(self.cases, default=str)),
            "asked": self.asked,
            "fair": self.fair,
            "plan": self.plan.facts(),
        }

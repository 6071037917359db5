"""Points of an experiment, each with its scenario and number of runs."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from bentpipe import arguments
from bentpipe.catalog import OF_OBJECTS, unknown
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common.days import on_day
from bentpipe.experiment.common.until import UNTIL_MAX, Until, checked_until, enough
from bentpipe.metric import METRICS, find_metric
from bentpipe.own.loading import unite_classes
from bentpipe.statistics.judgement import DEFAULT, Judgement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bentpipe import _core
    from bentpipe.experiment.results.sweep import Sweep
    from bentpipe.own.loading import Own
    from bentpipe.scenario.scenario import Scenario

R = TypeVar("R")

KEPT_SCENARIOS = 1024
"""Maximum number of scenarios that are kept for runs with another seed. One takes tens of kilobytes."""
KEPT_DAYS = 8
"""Maximum number of scenarios on days of the sky that are kept. One takes megabytes, and its paths are kept apart."""


@dataclass(frozen=True)
class Point:
    """A point of an experiment: a scenario that is run with several seeds."""

    index: int
    values: dict[str, Any]
    """Values that distinguish the point from the others, by key."""
    digest: str
    """Hash of all inputs of its results except the seed. If replications have different scenarios: of replication 0."""
    has_days: bool
    """Whether each replication has another day of the sky."""
    shares_day: bool
    """Whether all replications have the same day of the sky."""
    randomness: str
    """Effect of the seed: on `timing` of hosts only, on draws of `custom` classes, too, or on more (`drawn`)."""
    notes: tuple[str, ...]
    """Notes on its scenario."""
    hosts: Sequence[tuple[str, Sequence[str]]]
    """Hosts, as in `Scenario.hosts`."""
    has_own: bool = False
    """Whether each replication differs in more than the day of the sky, such as in its trace."""

    @property
    def varies(self) -> bool:
        """Whether replications have different scenarios."""
        return self.has_days or self.has_own

    @classmethod
    def from_core(cls, index: int, values: dict[str, Any], core: _core.Scenario) -> Point:
        """Make the point with this scenario."""
        shares_day = core.has_sky and not core.has_days
        return cls(
            index, values, core.digest, core.has_days, shares_day, core.randomness, tuple(core.notes), core.hosts
        )


class Design(ABC, Generic[R]):
    """Work of an experiment: points, each with several replications, and the tables kept of each run.

    A replication of a point has its own seed. It may have its own scenario, which `core` returns: another day of the
    sky, which all points of the replication share, or another trace (`Point.has_own`).

    Attributes
    ----------
    verb : str
        The function that made it.
    scenario : Scenario
    senders : mapping
        Custom classes that a run may name: congestion controls and middleboxes, by name.
    keys : list of str
        The keys of the points' values.
    points : list of Point
    seed : int
        Replication k of a point has this seed + k, and day k of a sky without a fixed day.
    replications, replications_max : int
        Runs of each point, and their maximum with `until`.
    until : Until or None
    metrics : list of str
        Reported metrics.
    tables : list of str
        Tables of each run that are kept.
    judgement : Judgement
        Decides which differences are shown.
    """

    verb: ClassVar[str]
    scenario: Scenario
    senders: Mapping[str, Own]
    keys: list[str]
    points: list[Point]
    seed: int
    replications: int
    replications_max: int
    until: Until | None
    metrics: list[str]
    tables: list[str]
    judgement: Judgement

    @abstractmethod
    def core(self, point: Point, replication: int = 0) -> _core.Scenario:
        """Return the scenario of a point for the core, in a replication of the experiment."""

    @abstractmethod
    def result(self, sweep: Sweep) -> R | None:
        """Make the result from the runs that have ended; None if they are not enough."""

    def counts(self) -> list[int]:
        """List the number of runs of each point before any run has ended."""
        return [self.replications] * len(self.points)

    def find_replications(self, point: Point) -> tuple[int, int]:
        """Return the first replication of the experiment with a run of this point, and the step to the next one."""
        return 0, 1

    def replication(self, point: Point, number: int) -> int:
        """Return the replication of the experiment that a run of a point belongs to."""
        first, step = self.find_replications(point)
        return first + number * step

    def day(self, point: Point, replication: int) -> int:
        """Return the day of the sky of a point. It is the same for all points in a replication of the experiment."""
        return replication if point.has_days else 0

    def digest(self, point: Point, replication: int) -> str:
        """Hash all inputs of a run of a point except the seed.

        Raises
        ------
        ScenarioError
            The scenario is invalid in this replication. For example, no satellite is in view on its day.
        """
        return self.core(point, replication).digest if replication and point.varies else point.digest

    def again(self, point: Point, replication: int) -> dict[str, Any] | None:
        """Return the overrides that make the scenario of a replication; None if overrides cannot make it."""
        day = self.day(point, replication)
        return None if point.has_own else {**point.values, **({"sky.day": day} if day else {})}

    def name_point(self, point: Point) -> str:
        """Name a point in an error."""
        return f"the point {', '.join(f'{key}={value}' for key, value in point.values.items())}"

    def first_seed(self, point: Point) -> int:
        """Return the seed of replication 0."""
        return self.seed

    def seeds(self, point: Point, numbers: Iterable[int]) -> list[int]:
        """Return the seeds of these runs of a point."""
        first = self.first_seed(point)
        return [(first + self.replication(point, number)) % 2**64 for number in numbers]

    def grow_counts(self, counts: Sequence[int], so_far: Callable[[], Sweep]) -> list[int]:
        """List the runs that each point needs, from the results so far. If no number grows, no more are needed.

        It is called when all requested runs have ended, and uses only these. So the numbers do not depend on timing.
        """
        if self.until is None:
            return list(counts)
        values = so_far().values(self.until.metric).values()
        return [enough(each, self.until, self.replications_max) for each in values]

    def sets(self) -> list[tuple[str, str]]:
        """Return the overrides that make a sweep repeat the same number of runs with the same seeds."""
        found = [("sweep.replications", str(self.replications))]
        if self.until is not None:
            text = f"{{metric = {json.dumps(self.until.metric)}, half_width = {self.until.half_width!r}}}"
            found += [("sweep.until", text), ("sweep.replications_max", str(self.replications_max))]
        return found

    def facts(self) -> dict[str, Any]:
        """Return facts that only this kind of experiment has, for readers of the results."""
        return {}


class Arms(Design[R]):
    """Scenarios by name, each run with the same seeds."""

    def __init__(
        self,
        scenario: Scenario,
        key: str,
        arms: Mapping[str, Scenario],
        *,
        replications: int,
        replications_max: int | None = None,
        until: Mapping[str, Any] | None = None,
        metrics: Sequence[str] = tuple(METRICS),
        tables: Sequence[str] = (),
        judgement: Judgement = DEFAULT,
    ) -> None:
        self.scenario, self.arms = scenario, dict(arms)
        self.senders = unite_classes(*(arm.senders for arm in arms.values()))
        self.keys, self.seed = [key], scenario.seed
        # Time series would only cost memory.
        self._cores = [arm.replace("record.series", [])._core for arm in arms.values()]
        self._on_day = lru_cache(KEPT_DAYS)(lambda index, day: on_day(self._cores[index], day))
        self.points = [
            Point.from_core(index, {key: name}, core)
            for index, (name, core) in enumerate(zip(arms, self._cores, strict=True))
        ]
        self.replications = replications
        self.replications_max = replications if replications_max is None else replications_max
        if until is not None and replications_max is None:
            self.replications_max = max(replications, UNTIL_MAX)
        self.until = Until.from_dict(checked_until(until))
        self.metrics, self.judgement = list(metrics), judgement
        self.tables = with_tables(tables, [*metrics, *([self.until.metric] if self.until else [])])

    def core(self, point: Point, replication: int = 0) -> _core.Scenario:
        return self._on_day(point.index, self.day(point, replication))


def with_tables(tables: Sequence[str], metrics: Sequence[str]) -> list[str]:
    """Return these tables, and the tables that the metrics need.

    Raises
    ------
    BentpipeError
        Unknown table.
    """
    tables = [tables] if isinstance(tables, str) else arguments.texts("tables", tables)
    for name in tables:
        if name not in OF_OBJECTS:
            raise BentpipeError(unknown(name, "a table of a run to keep", OF_OBJECTS))
    return list(dict.fromkeys([*tables, *(table for name in metrics for table in find_metric(name).tables)]))

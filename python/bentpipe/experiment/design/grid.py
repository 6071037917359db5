"""Sweeps: the points of a grid, each with its scenario, and arguments as values of the table `[sweep]`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

from bentpipe import formatting
from bentpipe.arguments import mapping
from bentpipe.catalog import compared_keys
from bentpipe.errors import Problem, ScenarioError
from bentpipe.experiment.common import options
from bentpipe.experiment.common.days import on_day
from bentpipe.experiment.common.until import Until
from bentpipe.experiment.design.design import KEPT_DAYS, KEPT_SCENARIOS, Design, Point, with_tables
from bentpipe.metric import find_metric
from bentpipe.scenario.overrides import case_sets, checked_names
from bentpipe.scenario.scenario import split_names
from bentpipe.statistics.judgement import DEFAULT, Judgement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bentpipe import _core
    from bentpipe.experiment.results.sweep import Sweep
    from bentpipe.scenario.scenario import Scenario


class Grid(Design["Sweep"]):
    """Work of a sweep: every combination of the varied values.

    Raises
    ------
    ScenarioError
        The metric is unknown or missing, a varied key has no influence on a run, points share runs, or `against` is not
        a varied value.
    """

    verb = "sweep"

    def __init__(
        self, scenario: Scenario, tell: Callable[[], object] = lambda: None, judgement: Judgement = DEFAULT
    ) -> None:
        self.scenario = scenario
        # Time series would only cost memory. Reading the scenario again without them takes as long as the first time.
        has_series = scenario.to_dict().get("record", {}).get("series")
        self._core = (scenario.replace("record.series", []) if has_series else scenario)._core
        text = self._core.sweep()
        written = json.loads(text) if text else {"axes": []}
        self.axes: list[tuple[list[str], list[list[Any]]]] = [
            (axis["keys"], axis["values"]) for axis in written["axes"]
        ]
        self.keys = [key for keys, _ in self.axes for key in keys]
        self.seed = scenario.seed
        self.senders = scenario.senders
        self.replications: int = written["replications"]
        self.replications_max: int = written["replications_max"]
        self.until = Until.from_dict(written["until"])
        if any(key == "sweep.replications_max" for key, _ in scenario.sets):
            options.checked_most(self.replications, self.replications_max, has_until=self.until is not None)
        self.metrics: list[str] = written["metrics"]
        self.tables: list[str] = written["tables"]
        if not self.metrics:
            raise ScenarioError("there is no metric to report\n  expected at least one, such as goodput")
        for key in self.keys:
            if key == "sweep" or key.startswith(("sweep.", "case.")):
                raise ScenarioError(
                    f"{key} cannot vary: a run does not have this key\n"
                    "  expected keys of the scenario, or case with the names of its cases"
                )
        judged = [*self.metrics, *([self.until.metric] if self.until else [])]
        for metric in judged:
            options.check_options(metric=metric)
        options.check_metrics(judged, scenario)
        self.tables = with_tables(self.tables, judged)
        self.judgement = replace(judgement, against=self._against(written["against"]))
        self.judgement.check([*map(find_metric, self.metrics)])
        self._cached = lru_cache(KEPT_SCENARIOS)(self._core.point)
        self._on_day = lru_cache(KEPT_DAYS)(lambda positions, day: on_day(self._cached(positions), day))
        self._tell = tell

    def _against(self, asked: str | None) -> str | None:
        if asked is None:
            return None
        varied = {key: [row[keys.index(key)] for row in values] for keys, values in self.axes for key in keys}
        key = next((key for key in compared_keys() if key in varied), None)
        if key is None:
            raise ScenarioError(
                f"{asked} has no cases to compare: congestion controls and cases do not vary\n"
                "  expected {vary}, or cases",
                vary={"tcp.cc": ["reno", "sack"]},
            )
        return options.find_case(asked, list(map(str, varied[key])))

    def __len__(self) -> int:
        """Number of points."""
        size = 1
        for _, values in self.axes:
            size *= len(values)
        return size

    @cached_property
    def points(self) -> list[Point]:  # type: ignore[override]
        """Every point of the grid, with its checked scenario. Checking comes before the first run.

        Raises
        ------
        ScenarioError
            All problems of the first invalid point.
        """
        found: list[Point] = []
        self._positions: list[tuple[int, ...]] = []
        for index, positions in enumerate(product(*(range(len(values)) for _, values in self.axes))):
            if index % 256 == 0:
                self._tell()
            self._positions.append(positions)
            found.append(Point.from_core(index, self._values(positions), self._point(positions)))
        if "seed" in self.keys:
            self._refuse_common_runs(found)
        return found

    def _refuse_common_runs(self, points: Sequence[Point]) -> None:
        """Refuse points with the same runs. Their means would look independent, but would not be."""
        most = self.replications if self.until is None else self.replications_max
        seeds: dict[str, list[int]] = {}
        for point in points:
            seeds.setdefault(point.digest, []).append(self.first_seed(point))
        for first in map(sorted, seeds.values()):
            near = next((pair for pair in pairwise(first) if pair[1] - pair[0] < most), None)
            if near is not None:
                raise ScenarioError(
                    f"the points of seed {near[0]} and {near[1]} share runs: {most} replications have the seeds "
                    f"{near[0]} to {near[0] + most - 1}\n"
                    f"  expected seeds that are {most} or more apart, one replication, or no seed that varies"
                )

    def core(self, point: Point, replication: int = 0) -> _core.Scenario:
        positions, day = self._positions[point.index], self.day(point, replication)
        return self._cached(positions) if day == 0 else self._on_day(positions, day)

    def result(self, sweep: Sweep) -> Sweep:
        return sweep

    def first_seed(self, point: Point) -> int:
        """Return the seed of a point's first replication. If the seed is varied, each point begins with its value."""
        return self.core(point).seed if "seed" in self.keys else self.seed

    def _values(self, positions: Sequence[int]) -> dict[str, Any]:
        rows = [values[at] for (_, values), at in zip(self.axes, positions, strict=True)]
        return dict(zip(self.keys, (value for row in rows for value in row), strict=True))

    def _point(self, positions: tuple[int, ...]) -> _core.Scenario:
        try:
            return self._cached(positions)
        except ScenarioError as error:
            where = ", ".join(f"{key}={value}" for key, value in self._values(positions).items())
            raise error.change_problems(where=f"at the point {where}") from None


@dataclass(frozen=True)
class GridPlan:
    """The work of a sweep before it begins.

    Attributes
    ----------
    points, runs : int
        Number of points of the grid, and the number of runs before `until` adds more.
    largest : str
        The point with the most events, by its varied values.
    events, memory_bytes : float
        Upper bounds of the events and the memory (bytes) of one run of `largest`.
    """

    points: int
    runs: int
    largest: str
    events: float
    memory_bytes: float

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as plain data, fit for JSON."""
        return asdict(self)

    @property
    def sentence(self) -> str:
        """The plan in words."""
        return (
            f"{formatting.count(self.points, 'point')}, {formatting.count(self.runs, 'run')}; the largest point is "
            f"{self.largest}: at most {self.events:.1e} events and {self.memory_bytes / 1e6:.0f} MB"
        )


def make_plan(grid: Grid) -> GridPlan:
    """Check all points of a sweep, and estimate their runs. Nothing runs."""
    points = grid.points
    costs = [grid.core(point).cost for point in points]
    at = max(range(len(points)), key=lambda index: costs[index])
    largest = ", ".join(f"{key}={value}" for key, value in points[at].values.items())
    return GridPlan(len(points), len(points) * grid.replications, largest, *costs[at])


def with_axes(make: Callable[[list[tuple[str, Any]]], Scenario], asked: list[tuple[str, Any]]) -> Scenario:
    """Make the scenario with these `arguments`. A varied key has its first value.

    Raises
    ------
    ScenarioError
        Another key is missing or invalid.
    """
    try:
        return make(asked)
    except ScenarioError as error:
        first = _first_values(asked)
        lacking = {each.key for each in error.problems if each.message.endswith(" is missing")} & set(first)
        if not lacking:
            raise
    return make([*asked, *((key, first[key]) for key in first if key in lacking)])


def varied_keys(scenario: Scenario) -> list[str]:
    """Return the varied keys in the table `[sweep]` of a scenario."""
    text = scenario._core.sweep()
    return [key for axis in json.loads(text)["axes"] for key in axis["keys"]] if text else []


def _first_values(asked: list[tuple[str, Any]]) -> dict[str, Any]:
    groups = [{key.removeprefix("sweep.vary."): values} for key, values in asked if key.startswith("sweep.vary.")]
    groups += [group for key, together in asked if key == "sweep.together" for group in together]
    found = {}
    for key, values in (item for group in groups for item in group.items()):
        if isinstance(values, dict):
            found[key] = values.get("from")
        elif isinstance(values, (list, tuple)) and values:
            found[key] = values[0]
    return {key: value for key, value in found.items() if value is not None}


def arguments(
    vary: Mapping[str, Any] | None = None,
    together: Sequence[Mapping[str, Any]] | None = None,
    *,
    replications: int | None = None,
    replications_max: int | None = None,
    until: Mapping[str, Any] | None = None,
    metric: str | Sequence[str] | None = None,
    tables: Sequence[str] | None = None,
    against: str | None = None,
    cases: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[tuple[str, Any]]:
    """Convert these arguments to overrides of the table `[sweep]` of a scenario.

    Raises
    ------
    ScenarioError
        One key is a part of another, or a case sets a varied key: one value would replace the other.
    """
    expected = "keys with their values: {'tcp.cc': ['newreno', 'sack']}"
    vary = dict(mapping("vary", {} if vary is None else vary, expected))
    for group in [together] if hasattr(together, "items") or isinstance(together, str) else together or ():
        mapping("together", None if group is together else group, f"a list of dicts, each of {expected}")
    mapping("cases", {} if cases is None else cases, "cases with their settings: {'NAME': {KEY: VALUE}}")
    if cases and not any("case" in group for group in (vary, *(together or ()))):
        vary["case"] = list(cases)
    keys = [key for group in (vary, *(together or ())) for key in group]
    checked_names(keys, "a key")
    checked_names(cases or (), "a case")
    for key in keys:
        whole = next((other for other in keys if key.startswith(f"{other}.")), None)
        if whole is not None:
            raise ScenarioError(
                Problem(f"{key} is part of {whole}, and both vary", key, expected="expected one of them")
            )
    sets = case_sets(cases or {})
    for name, key in ((name, key) for name, values in (cases or {}).items() for key in values):
        if any(f"{key}.".startswith(f"{other}.") or other.startswith(f"{key}.") for other in keys):
            raise ScenarioError(
                Problem(f"case {name} sets {key}, which varies", key, expected="expected a key that does not vary")
            )
    sets += [(f"sweep.vary.{key}", values) for key, values in vary.items()]
    plain = {
        "together": list(together) if together else None,
        "replications": replications,
        "replications_max": replications_max,
        "until": until,
        "metrics": None if metric is None else split_names(metric),
        "tables": tables,
        "against": against,
    }
    return sets + [(f"sweep.{key}", value) for key, value in plain.items() if value is not None]

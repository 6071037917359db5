"""Sweeps: the points of a grid, each with its scenario, and arguments as values of the table `[sweep]`."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

from bentpipe.arguments import mapping
from bentpipe.errors import Problem, ScenarioError
from bentpipe.experiment import options
from bentpipe.experiment.design import KEPT_SCENARIOS, Design, Point, Until, on_day, with_tables
from bentpipe.experiment.execution import carry_out
from bentpipe.metrics import SENDERS
from bentpipe.progress import Progress, watched
from bentpipe.scenario.overrides import case_sets, checked_names
from bentpipe.scenario.scenario import names_of, scenario_of
from bentpipe.statistics.judgement import DEFAULT, Judgement

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from bentpipe import _core
    from bentpipe.experiment.sweep import Sweep
    from bentpipe.progress import Wish
    from bentpipe.scenario.scenario import AnyScenario, Scenario
    from bentpipe.statistics.judgement import Correction, Statistic


class Grid(Design["Sweep"]):
    """What a sweep runs: every combination of the values that vary.

    Raises
    ------
    ScenarioError
        There is no such metric, or none; a key that varies has no influence on a run; points share runs; `against` is
        none of those that vary.
    """

    verb = "sweep"

    def __init__(
        self, scenario: Scenario, tell: Callable[[], object] = lambda: None, judgement: Judgement = DEFAULT
    ) -> None:
        self.scenario = scenario
        # Time series would only cost memory here.
        self._core = scenario.replace("record.series", [])._core
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
        self.until = Until.of(written["until"])
        if any(key == "sweep.replications_max" for key, _ in scenario.sets):
            options.checked_most(self.replications, self.replications_max, has_until=self.until is not None)
        self.metrics: list[str] = written["metrics"]
        self.tables: list[str] = written["tables"]
        if not self.metrics:
            raise ScenarioError("no metrics: nothing would be reported\n  expected at least one, such as goodput")
        for key in self.keys:
            if key == "sweep" or key.startswith(("sweep.", "case.")):
                raise ScenarioError(
                    f"{key} cannot vary: it is no part of a run\n"
                    "  expected keys of the scenario, or case with the names of its cases"
                )
        judged = [*self.metrics, *([self.until.metric] if self.until else [])]
        for metric in judged:
            options.checked(metric=metric)
        options.checked_of(judged, scenario)
        self.tables = with_tables(self.tables, judged)
        self.judgement = replace(judgement, against=self._against(written["against"]))
        self._cached = lru_cache(KEPT_SCENARIOS)(self._core.point)
        self._on_day = lru_cache(KEPT_SCENARIOS)(lambda positions, day: on_day(self._cached(positions), day))
        self._tell = tell

    def _against(self, asked: str | None) -> str | None:
        if asked is None:
            return None
        varied = {key: [row[keys.index(key)] for row in values] for keys, values in self.axes for key in keys}
        key = next((key for key in SENDERS if key in varied), None)
        if key is None:
            raise ScenarioError(
                f"nothing to compare with {asked}: neither congestion controls nor cases vary\n"
                "  expected --vary tcp.cc=A,B or case=A,B"
            )
        return options.one_of(asked, list(map(str, varied[key])))

    def __len__(self) -> int:
        """Number of points."""
        size = 1
        for _, values in self.axes:
            size *= len(values)
        return size

    @cached_property
    def points(self) -> list[Point]:  # type: ignore[override]
        """Every point, checked: what is wrong with one is said before anything is run.

        Raises
        ------
        ScenarioError
            All problems of the first point that makes no sense.
        """
        found: list[Point] = []
        self._positions: list[tuple[int, ...]] = []
        for index, positions in enumerate(product(*(range(len(values)) for _, values in self.axes))):
            self._positions.append(positions)
            found.append(Point.of(index, self._values(positions), self._point(positions)))
            if index % 256 == 0:
                self._tell()
        if "seed" in self.keys:
            self._refuse_common_runs(found)
        return found

    def _refuse_common_runs(self, points: Sequence[Point]) -> None:
        """Refuse points whose runs are the same: their means would not be independent, and would not look it."""
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

    def core(self, point: Point, day: int = 0) -> _core.Scenario:
        positions = self._positions[point.index]
        return self._cached(positions) if day == 0 else self._on_day(positions, day)

    def result(self, sweep: Sweep) -> Sweep:
        return sweep

    def first_seed(self, point: Point) -> int:
        """Of a point's first replication. A seed that is varied itself is where a point begins."""
        return self.core(point).seed if "seed" in self.keys else self.seed

    def _values(self, positions: Sequence[int]) -> dict[str, Any]:
        rows = [values[at] for (_, values), at in zip(self.axes, positions, strict=True)]
        return dict(zip(self.keys, (value for row in rows for value in row), strict=True))

    def _point(self, positions: tuple[int, ...]) -> _core.Scenario:
        try:
            return self._cached(positions)
        except ScenarioError as error:
            where = ", ".join(f"{key}={value}" for key, value in self._values(positions).items())
            raise ScenarioError(*error.problems, where=f"at the point {where}") from None


@options.formerly(metrics="metric")
def sweep(
    scenario: AnyScenario,
    vary: Mapping[str, Any] | None = None,
    *,
    together: Sequence[Mapping[str, Any]] | None = None,
    replications: int | None = None,
    replications_max: int | None = None,
    until: Mapping[str, Any] | None = None,
    metric: str | Sequence[str] | None = None,
    tables: Sequence[str] | None = None,
    confidence: float = Judgement.confidence,
    statistic: Statistic = Judgement.statistic,
    correction: Correction = Judgement.correction,
    against: str | None = None,
    cases: Mapping[str, Mapping[str, Any]] | None = None,
    store: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    on: str | None = None,
    progress: Wish = None,
) -> Sweep:
    """Run a scenario at every point of a grid, and keep what each run gave.

    What the arguments do not say is taken from the table `[sweep]` of the scenario. Replication k of each point has the
    scenario's seed + k, so that all points meet the same channels, and day k of a `[sky]` (`sky.day = 0`: all the same
    day). A run that is in the store already is not done again.

    Parameters
    ----------
    scenario : Scenario, dict, path or name
        As in `run`.
    vary : mapping, optional
        By dotted key, the values that it takes: a list, or a range such as
        `{"from": 1e-5, "to": 1e-1, "count": 9, "scale": "log"}`. Every value is combined with every value of the
        others.
    together : sequence of mappings, optional
        Keys whose values go together, first with first, second with second.
    replications : int, optional
        Runs of each point, each with its own seed; with `until` the fewest.
    replications_max : int, optional
        Runs of a point at most.
    until : mapping, optional
        `{"metric": "goodput", "half_width": "2 %"}`: go on with a point until the 95 % interval of the mean is below
        ± 2 % of it. The number of replications grows in fixed steps, so the result does not depend on timing.
    metric : str or sequence of str, optional
        What is reported: metrics of the whole run (`bentpipe list metrics`), or of one flow or link, such as `fct:web`
        and `queue_p95:sat.forward`.
    tables : sequence of str, optional
        Tables of each run that are kept besides: `flows`, `links`, `drops`, `completions`, `transfers`, `datagrams`.
    confidence, statistic, correction : optional
        The judgement, as in `compare`.
    against : str, optional
        One of the congestion controls or cases that vary: every other one is compared with it; the best if not given.
    cases : mapping, optional
        Conditions: by name, the values that each puts over the scenario's, as in `compare`, such as
        `{"clear": {}, "rain": {"link.sat.error.rate": 1e-4}}`. They are one more axis, `case`, whose levels have these
        names in tables, sentences and figures. Where congestion controls vary, these are compared in each case;
        otherwise, the cases are compared with each other.
    store : path, optional
        A folder; made if it is not there. Without it, nothing is kept but the result.
    jobs : int, optional
        Runs at the same time; all cores if not given.
    on : str, optional
        `local:4` or `dask://HOST:PORT`: do the runs in processes of `dask.distributed`. The results are the same.
    progress : callable or bool, optional
        Called several times a second with a `Progress`; its `result()` is the result of the runs that have ended. Or
        whether there is a bar, as for `run`.

    Returns
    -------
    Sweep

    Raises
    ------
    ScenarioError
        A point of the grid makes no sense, or there are none. Nothing was run.
    BentpipeError
        An unknown statistic or correction, a confidence out of bounds; or the store or the cluster cannot be used: what
        was finished is kept.
    Interrupted
        Ctrl-C; `result` has what was finished, and so has the store.
    """
    judgement = Judgement(statistic, confidence, correction)
    asked = arguments(
        vary,
        together,
        replications=replications,
        replications_max=replications_max,
        until=until,
        metric=metric,
        tables=tables,
        against=against,
        cases=cases,
    )
    whole = with_axes(lambda sets: scenario_of(scenario, sets), asked)
    with watched(progress) as watch:
        grid = Grid(whole, partial(watch or (lambda _: None), Progress()), judgement)
        if not grid.keys:
            raise ScenarioError(
                "nothing to vary: the grid is empty\n"
                "  expected keys with values in [sweep.vary], or --vary 'tcp.cc=newreno,sack'"
            )
        return carry_out(grid, store=store, jobs=jobs, on=on, progress=watch)


def with_axes(make: Callable[[list[tuple[str, Any]]], Scenario], asked: list[tuple[str, Any]]) -> Scenario:
    """The scenario with these `arguments`. A key that varies is not missing: it has its first value.

    Raises
    ------
    ScenarioError
        Something else is missing, or wrong.
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
    """The keys that vary in the table `[sweep]` of a scenario."""
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
    """What these say, as values over the table `[sweep]` of a scenario.

    Raises
    ------
    ScenarioError
        One key is a part of another, or a case sets a key that varies: the values of one would undo those of the other.
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
                Problem(f"{key} is a part of {whole}, and both vary", key, expected="expected one of them")
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
        "metrics": None if metric is None else names_of(metric),
        "tables": tables,
        "against": against,
    }
    return sets + [(f"sweep.{key}", value) for key, value in plain.items() if value is not None]

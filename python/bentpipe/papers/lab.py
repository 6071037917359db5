"""The laboratory of measures and figures: runs and sweeps of a paper's scenarios, each done once."""

from __future__ import annotations

import json
import math
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from bentpipe.errors import BentpipeError
from bentpipe.experiment.single.run import run
from bentpipe.papers import engine
from bentpipe.scenario.scenario import load
from bentpipe.statistics.estimates import estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from bentpipe.experiment.single.run_result import RunResult
    from bentpipe.experiment.store.store import Store
    from bentpipe.papers.settings import Setting
    from bentpipe.scenario.scenario import Scenario

T = TypeVar("T")

CONFIDENCE = 0.95
TRACES_BYTES_MAX = 150_000_000
"""Largest size of runs kept in memory for the next claim. The least recently used ones are dropped first.

The process has up to three times as much, and 300 MB more: quick reproductions stay below 1 GB.
"""
RUN_BYTES = 500_000
"""Size of a run without its time series: its scenario and its other tables."""


@dataclass(frozen=True)
class Finding:
    """A measured value with its 95 % interval, or a computed value without interval."""

    value: float | None
    """None without a measurement, such as a transfer that never ends. The note has the reason."""
    low: float | None = None
    high: float | None = None
    replications: int = 1
    note: str = ""
    """The arithmetic, or other facts about the value."""
    missing: int = 0
    """Replications without a value, such as unfinished transfers. If there are any, the claim is undecided."""

    @classmethod
    def exact(cls, value: float, note: str = "") -> Finding:
        """A computed value, or a measured one without randomness."""
        return cls(float(value), float(value), float(value), 1, note)

    @classmethod
    def mean(cls, values: Iterable[float | None], note: str = "") -> Finding:
        """Mean of one value per replication, with Student's interval. Missing values (None, NaN) are counted."""
        each = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
        found = estimate(each, CONFIDENCE)
        missing = len(each) - found.replications
        text = f"{missing} of {len(each)} runs have no such value" if missing else ""
        return cls(
            found.mean, found.low, found.high, found.replications, "; ".join(filter(None, (note, text))), missing
        )

    @property
    def one_run(self) -> tuple[float, float] | None:
        """The 95 % range of one more run: mean ± t s sqrt(1 + 1/n); None with fewer than three runs.

        Half the interval of the mean is t s / sqrt(n), so this is sqrt(n + 1) times as wide. Reference: Hahn and
        Meeker, "Statistical Intervals", on the prediction interval of a single observation.
        """
        if self.value is None or self.low is None or self.high is None or self.replications < 3:
            return None
        half = (self.high - self.low) / 2 * math.sqrt(self.replications + 1)
        return self.value - half, self.value + half


@dataclass(frozen=True)
class Possible:
    """The values that arithmetic allows, both ends included, and the arithmetic in words and numbers."""

    low: float
    high: float
    why: str
    slack: float = 0.0
    """Tolerance for measured values, such as a packet across the end of the measured time."""

    def has(self, value: float | None, slack: float = 0.0) -> bool:
        """Whether a value is possible, up to rounding and this slack."""
        slack += 1e-9 * abs(value or 0.0)
        return value is None or self.low - slack <= value <= self.high + slack


@dataclass(frozen=True)
class Runs:
    """Result of a sweep.

    Attributes
    ----------
    runs : polars.DataFrame
        One row per run: a column per varied key, `replication`, `seed`, a column per metric.
    tables : dict of polars.DataFrame
        The requested tables (`flows`, `links`, ...), with the varied keys, `replication` and `run` as first columns.
    """

    runs: pl.DataFrame
    tables: dict[str, pl.DataFrame]


class Lab:
    """Runs a paper's scenarios. The same request does not run again.

    Parameters
    ----------
    folder : path
        Folder of the paper.
    store : path, optional
        Folder for the stores of its sweeps, so that an interrupted reproduction can continue.
    is_full : bool
        Whether to use enough replications for the tolerances.
    jobs : int, optional
        Runs at the same time; all cores if not given.
    settings : sequence of Setting
        Settings of the paper, whose values in runs `watching` collects.

    Attributes
    ----------
    scale : int
        Factor on the replications of measures. It is 1 at first, and rises for undecided claims.
    """

    def __init__(
        self,
        folder: Path,
        *,
        store: Path | None = None,
        is_full: bool = False,
        jobs: int | None = None,
        settings: Sequence[Setting] = (),
    ) -> None:
        self.folder = folder
        self.store = store
        self.is_full = is_full
        self.jobs = jobs
        self.settings = settings
        self.scale = 1
        self._over: dict[str, Any] = {}
        self._case: str | None = None
        self._known: dict[str, Any] = {}
        self._traces: dict[str, RunResult] = {}
        self._traces_bytes = 0
        self._shown: dict[str, set[str]] = {}
        self._shown_by: dict[str, dict[str, set[str]]] = {}
        self._open = ExitStack()
        self._stores: dict[str, Store] = {}

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Update the stores and close them. Without this call, nothing is lost."""
        try:
            for store in self._stores.values():
                store.write()
        finally:
            self._open.close()
            self._stores.clear()

    def choose(self, quick: Any, full: Any) -> Any:
        """Return `quick` or `full`, according to the scale of the reproduction."""
        return full if self.is_full else quick

    def seeds(self, quick: int, full: int) -> range:
        """Seeds of this number of replications, times the scale, for single runs."""
        return range(1, 1 + self.scale * (full if self.is_full else quick))

    def load(self, name: str, sets: Mapping[str, Any] | None = None, *, case: str | None = None) -> Scenario:
        """Load a scenario of the paper's folder `scenarios`, by its name without `.toml`, or one of its cases.

        Raises
        ------
        ScenarioError
            The file is missing, or is not valid with these values.
        """
        held = tuple(f"{key}." for key in self._over)
        under = {key: value for key, value in (sets or {}).items() if not f"{key}.".startswith(held)}
        # Applied after the sets, so that they win if one key is a part of another.
        scenario = load(self.folder / "scenarios" / f"{name}.toml", {**under, **self._over})
        if self._over and scenario.cases:
            over = {f"case.{each}.{key}": value for each in scenario.cases for key, value in self._over.items()}
            scenario = scenario.with_sets(over)
        case = case if self._case is None else self._case
        return scenario if case is None else scenario.cases[case]

    @contextmanager
    def without(self, keys: Mapping[str, Any], case: str | None = None) -> Iterator[None]:
        """In the block, override keys of every scenario and every axis of a sweep, or take a case of it."""
        before = self._over, self._case
        self._over, self._case = dict(keys), case
        try:
            yield
        finally:
            self._over, self._case = before

    @contextmanager
    def watching(self) -> Iterator[dict[str, set[str]]]:
        """In the block, collect the values of the paper's settings in all runs, also in runs made earlier."""
        before, self._shown = self._shown, {}
        try:
            yield self._shown
        finally:
            shown, self._shown = self._shown, before
            self._show(shown)

    def _show(self, shown: Mapping[str, set[str]]) -> None:
        for name, values in shown.items():
            self._shown[name] = self._shown.get(name, set()) | values

    def _find_settings(self, scenario: Mapping[str, Any]) -> dict[str, set[str]]:
        """Values of the paper's settings in a resolved scenario."""
        return {each.name: {value} for each in self.settings if (value := each.find_value(scenario)) is not None}

    @contextmanager
    def _showing(self, key: str) -> Iterator[None]:
        """In the block, keep the values of settings for the next request of the same runs, which runs nothing."""
        if key in self._shown_by:
            self._show(self._shown_by[key])
            yield
            return
        with self.watching() as shown:
            yield
        self._shown_by[key] = shown

    def _key(self, *what: Any) -> str:
        return json.dumps([*what, self._over, self._case])

    def run(
        self,
        name: str,
        sets: Mapping[str, Any] | None = None,
        *,
        case: str | None = None,
        seed: int | None = None,
        series: Iterable[str] = (),
    ) -> RunResult:
        """Run a scenario once, with time series for traces."""
        series = list(series)
        key = self._key("run", name, dict(sets or {}), case, seed, series)
        result = self._traces.pop(key, None)
        if result is None:
            scenario = self.load(name, sets, case=case)
            result = run(scenario, seed=seed, series=series)
            if any("rows" in note for note in result.notes):
                # An event that is absent in a part of a trace proves nothing.
                raise BentpipeError(f"the trace of {name} is not complete: {'; '.join(result.notes)}")
            self._traces_bytes += _bytes(result)
            self._shown_by[key] = self._find_settings(scenario.to_dict())
        self._show(self._shown_by[key])
        self._traces[key] = result
        while self._traces_bytes > TRACES_BYTES_MAX and len(self._traces) > 1:
            self._traces_bytes -= _bytes(self._traces.pop(next(iter(self._traces))))
        return result

    def sweep(
        self,
        name: str,
        sets: Mapping[str, Any] | None = None,
        *,
        vary: Mapping[str, Iterable[Any]] | None = None,
        replications: int | None = None,
        tables: Iterable[str] = (),
        is_scaled: bool = True,
    ) -> Runs:
        """Run the sweep of a file in the paper's folder (its table `[sweep]`), or of the axes in `vary`.

        `sets` overrides the scenario, and `replications`, times the scale, overrides the file. The scale does not apply
        to a single replication (a scenario without randomness) and without `is_scaled` (if their number is the result).
        Keys are dotted; values are as in a scenario file.
        """
        if is_scaled and replications is not None and replications > 1:
            replications *= self.scale
        axes = None if vary is None else {key: list(values) for key, values in vary.items()}
        tables = list(tables)
        key = self._key("sweep", name, dict(sets or {}), axes, replications, tables)
        with self._showing(key):
            if key not in self._known:
                # These axes replace those of the file.
                over = {} if axes is None else {"sweep.vary": axes, "sweep.together": []}
                scenario = self.load(name, {**(sets or {}), **over})
                self._known[key] = Runs(
                    *engine.swept(
                        scenario,
                        self._open_store(name),
                        replications=replications,
                        tables=tables,
                        jobs=self.jobs,
                        held=self._over,
                        ran=(lambda scenario: self._show(self._find_settings(scenario))) if self.settings else None,
                    )
                )
        return cast("Runs", self._known[key])

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Return a value computed from runs once, such as a table of several sweeps. `name` identifies it."""
        key = self._key("once", name, self.scale)
        with self._showing(key):
            if key not in self._known:
                self._known[key] = make()
        return cast("T", self._known[key])

    def _open_store(self, name: str) -> Store:
        # One store for all sweeps of a scenario: opening a store takes longer than many sweeps.
        if name not in self._stores:
            store = engine.open_store(None if self.store is None else self.store / name)
            self._stores[name] = self._open.enter_context(store)
        return self._stores[name]


def _bytes(result: RunResult) -> int:
    # Also converts the core's tables to data frames, which are smaller.
    return RUN_BYTES + sum(int(table.estimated_size()) for table in (result.events, *result.recorded.values()))

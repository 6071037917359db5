"""What measures and figures of the papers work with: sweeps and runs of the paper's scenarios, each done once."""

from __future__ import annotations

import itertools
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe import _core, outcomes
from bentpipe.metrics import METRICS
from bentpipe.result import columns_frame
from bentpipe.running import advance, run
from bentpipe.scenario import Scenario, load
from bentpipe.statistics.estimates import estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from bentpipe.result import RunResult

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Finding:
    """What was measured: a value with its 95 % interval, or worked out (no interval)."""

    value: float | None
    """None where there is nothing to measure, such as a transfer that never ends; the note says why."""
    low: float | None = None
    high: float | None = None
    replications: int = 1
    note: str = ""
    """The arithmetic, or what besides the number is worth knowing."""

    @classmethod
    def exact(cls, value: float, note: str = "") -> Finding:
        """Worked out, or measured where nothing is random."""
        return cls(float(value), float(value), float(value), 1, note)

    @classmethod
    def mean(cls, values: Iterable[float | None], note: str = "") -> Finding:
        """Mean of one value per replication, with Student's interval; missing values (None, NaN) do not count."""
        found = estimate(np.array([np.nan if v is None else v for v in values], dtype=float), CONFIDENCE)
        if found.mean is None:
            return cls(None, note=note or "there is no such value in any run")
        half = found.half_width
        low, high = (found.mean - half, found.mean + half) if half is not None else (None, None)
        return cls(found.mean, low, high, found.replications, note)


@dataclass(frozen=True)
class Possible:
    """The values that arithmetic allows, both ends included, and the arithmetic in words and numbers."""

    low: float
    high: float
    why: str


@dataclass(frozen=True)
class Runs:
    """What a sweep gave.

    Attributes
    ----------
    runs : polars.DataFrame
        One row per run: `run` (its id), a column per varied key, `replication`, `seed`, a column per metric.
    tables : dict of polars.DataFrame
        Those asked for (`flows`, `links`, ...), with the columns `run`, the varied keys and `replication` in front.
    """

    runs: pl.DataFrame
    tables: dict[str, pl.DataFrame]


class Lab:
    """Runs a paper's scenarios. What was asked before is not run again."""

    def __init__(self, folder: Path, *, is_full: bool = False, jobs: int | None = None) -> None:
        self.folder = folder
        self.is_full = is_full
        self.jobs = jobs
        self._known: dict[str, Any] = {}

    def choose(self, quick: Any, full: Any) -> Any:
        """The one for `--quick` or the one for `--full`."""
        return full if self.is_full else quick

    def load(self, name: str, sets: Mapping[str, Any] = {}) -> Scenario:
        """A scenario of the paper's folder, by its name without `.toml`."""
        return load(self.folder / f"{name}.toml", sets)

    def run(
        self,
        name: str,
        sets: Mapping[str, Any] = {},
        *,
        seed: int | None = None,
        series: Iterable[str] = (),
    ) -> RunResult:
        """One run with time series, for traces."""
        key = json.dumps(["run", name, dict(sets), seed, list(series)])
        if key not in self._known:
            self._known[key] = run(self.load(name, sets), seed=seed, series=series)
        return self._known[key]

    def sweep(
        self,
        name: str,
        sets: Mapping[str, Any] = {},
        *,
        vary: Mapping[str, Iterable[Any]] | None = None,
        replications: int | None = None,
        tables: Iterable[str] = (),
    ) -> Runs:
        """The sweep of a file in the paper's folder (its table `[sweep]`), or what `vary` names instead.

        `sets` goes over the scenario; `replications` and `vary` over what the file says. Keys are dotted; values are as
        one would type them.
        """
        key = json.dumps(
            ["sweep", name, dict(sets), vary and {k: list(v) for k, v in vary.items()}, replications, list(tables)]
        )
        if key not in self._known:
            self._known[key] = self._sweep(name, sets, vary, replications, list(tables))
        return self._known[key]

    def _sweep(self, name, sets, vary, replications, wanted):  # type: ignore[no-untyped-def]
        # For the time being; `bentpipe.sweep` takes its place.
        import tomllib

        text = (self.folder / f"{name}.toml").read_text()
        content = tomllib.loads(text)
        sweep = content.pop("sweep", {})
        axes = dict(_flat(sweep.get("vary", {}))) if vary is None else {k: list(v) for k, v in vary.items()}
        count = replications or sweep.get("replications", 10)
        base = Scenario(content, folder=self.folder, sets=sets)
        tasks = []
        for values in itertools.product(*axes.values()):
            point = dict(zip(axes, values))
            chosen = {k: v for k, v in point.items() if k != "case"}
            scenario = base.cases[point["case"]] if "case" in point else base
            scenario = scenario.with_sets(chosen)
            for k in range(count):
                tasks.append((point, k, scenario, (scenario.seed + k) % 2**64))

        def work(task):  # type: ignore[no-untyped-def]
            point, k, scenario, seed = task
            simulation = _core.Run(scenario._core, seed)
            advance(simulation)
            found = simulation.finish()
            return found, outcomes.outcome(found)

        with ThreadPoolExecutor(2) as pool:
            done = list(pool.map(work, tasks))
        rows, extra = [], {table: [] for table in wanted}
        for index, ((point, k, scenario, seed), (found, outcome)) in enumerate(zip(tasks, done)):
            head = {"run": str(index), **point, "replication": k}
            completions = outcome.completion_s
            completion = float(completions.mean()) if len(completions) else None
            rows.append(
                {**head, "seed": seed}
                | {
                    m.column: (completion if m.name == "completion" else outcome.values[m.name])
                    for m in METRICS.values()
                }
            )
            for table in wanted:
                frame = columns_frame(found[table])
                extra[table].append(frame.select([pl.lit(v).alias(n) for n, v in head.items()] + [pl.all()]))
        return Runs(pl.DataFrame(rows).fill_nan(None), {t: pl.concat(f) for t, f in extra.items()})


def _flat(table: dict[str, Any], prefix: str = "") -> Iterable[tuple[str, list[Any]]]:
    for key, value in table.items():
        if isinstance(value, list):
            yield prefix + key, value
        else:
            yield from _flat(value, f"{prefix}{key}.")

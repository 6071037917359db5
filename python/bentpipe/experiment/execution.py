"""Running a sweep: what is missing is claimed, done, and kept at once."""

from __future__ import annotations

import json
import math
import time
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.cc import loading
from bentpipe.errors import Interrupted, ScenarioError, SenderError
from bentpipe.experiment import task
from bentpipe.experiment.commands import run_command
from bentpipe.experiment.contrasts import CONFIDENCE
from bentpipe.experiment.design import Grid, Point, Until, arguments
from bentpipe.experiment.memory import Memory
from bentpipe.experiment.store import Store
from bentpipe.experiment.sweep import Sweep, is_known
from bentpipe.experiment.threads import interruptible
from bentpipe.experiment.workers import workers
from bentpipe.scenario.scenario import scenario_of
from bentpipe.statistics.estimates import estimate
from bentpipe.version import __version__

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from bentpipe.experiment.workers import Finished, Workers
    from bentpipe.scenario.scenario import Scenario

AHEAD = 2
AHEAD_MAX = 128
"""Runs handed out for each worker, so that none has to wait for the next: few of long ones, more of short ones."""
GROWTH = 1.5
"""A point that is not known well enough gets so many times the replications that it has."""


@dataclass
class Progress:
    """How far a sweep is."""

    total: int = 0
    """Runs that are wanted; with `until` it grows."""
    reused: int = 0
    """Of these, runs that were in the store already."""
    done: int = 0
    """Runs that ended since the beginning, here or in another process that shares the store."""
    failed: int = 0
    running: int = 0
    began_s: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> int:
        return self.total - self.reused - self.done - self.failed

    def __str__(self) -> str:
        """Such as `1,200 of 2,000 runs, 800 reused, 4 running, 0 failed, 85 runs/s, 9 s left`."""
        elapsed_s = max(time.monotonic() - self.began_s, 1e-9)
        rate = (self.done + self.failed) / elapsed_s
        text = f"{self.total - self.left:,} of {self.total:,} runs"
        text += f", {self.reused:,} reused" if self.reused else ""
        text += f", {self.running:,} running" if self.running else ""
        text += f", {self.failed:,} failed" if self.failed else ""
        text += f", {rate:.3g} runs/s" if rate else ""
        return text + (f", {_clock(self.left / rate)} left" if rate and self.left else "")


def _clock(seconds: float) -> str:
    """Such as `9 s`, `12:30` or `3:04:05`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def sweep(
    scenario: Scenario | Mapping[str, Any] | str | os.PathLike[str],
    vary: Mapping[str, Any] | None = None,
    *,
    together: Sequence[Mapping[str, Any]] | None = None,
    replications: int | None = None,
    replications_max: int | None = None,
    until: Mapping[str, Any] | None = None,
    metrics: Sequence[str] | None = None,
    tables: Sequence[str] | None = None,
    against: str | None = None,
    store: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    on: str | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Sweep:
    """Run a scenario at every point of a grid, and keep what each run gave.

    What the arguments do not say is taken from the table `[sweep]` of the scenario. Replication k of each point has the
    scenario's seed + k, so that all points meet the same channels. A run that is in the store already is not done
    again.

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
    metrics : sequence of str, optional
        What is reported; the store has all metrics.
    tables : sequence of str, optional
        Tables of each run that are kept besides: `flows`, `links`, `drops`, `completions`, `transfers`, `datagrams`.
    against : str, optional
        One of the congestion controls or cases that vary: every other one is compared with it; the best if not given.
    store : path, optional
        A folder; made if it is not there. Without it, nothing is kept but the result.
    jobs : int, optional
        Runs at the same time; all cores if not given.
    on : str, optional
        `local:4` or `dask://HOST:PORT`: do the runs in processes of `dask.distributed`. The results are the same.
    progress : callable, optional
        Told several times a second how far it is.

    Returns
    -------
    Sweep

    Raises
    ------
    ScenarioError
        A point of the grid makes no sense, or there are none. Nothing was run.
    BentpipeError
        The store or the cluster cannot be used. What was finished is kept.
    Interrupted
        Ctrl-C; `result` has what was finished, and so has the store.
    """
    asked = arguments(
        vary,
        together,
        replications=replications,
        replications_max=replications_max,
        until=until,
        metrics=metrics,
        tables=tables,
        against=against,
    )
    grid = Grid(scenario_of(scenario).with_sets(asked))
    if not grid.keys:
        raise ScenarioError(
            "error: nothing to vary: the grid is empty\n"
            "  expected keys with values in [sweep.vary], or --vary 'tcp.cc=newreno,sack'"
        )
    return swept(grid, store, jobs, on, progress)


def swept(
    grid: Grid,
    store: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    on: str | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Sweep:
    """Run a grid; the arguments are those of `sweep`."""
    # The points are checked before there is a store: a grid that makes no sense leaves nothing behind.
    sweeping = Sweeping(grid, progress)
    with closing(workers(on, jobs)) as place, Memory() if store is None else Store(store) as opened:
        try:
            return sweeping.run(opened, place)
        finally:
            opened.write()


def enough(values: NDArray[np.float64], until: Until, replications_max: int) -> int:
    """How many replications a point is to have, by what those so far gave (NaN where there is no value).

    To look often and stop at the first interval that is narrow enough would stop too early too often. Each look comes
    after half as many runs again: with ten or more to begin with, 93 to 95 % of the final intervals hold the mean.
    """
    found = estimate(values, CONFIDENCE)
    # Without a value there is nothing to know better.
    if found.mean is None or is_known(found, until.half_width):
        return len(values)
    return max(len(values), min(math.ceil(len(values) * GROWTH), replications_max))


class Sweeping:
    """A sweep under way."""

    store: Store
    place: Workers
    check: Callable[[], None]
    """Raises `KeyboardInterrupt` after a Ctrl-C that Python ignored."""

    def __init__(self, grid: Grid, progress: Callable[[Progress], object] | None = None) -> None:
        self.grid = grid
        self.progress = Progress()
        self.tell = partial(progress or (lambda _: None), self.progress)
        self.points = grid.points(self.tell)
        self.counts = [grid.replications] * len(self.points)
        self.runs: dict[str, tuple[Point, int]] = {}
        """By name, point and seed of each run that is wanted so far."""

    def run(self, store: Store, place: Workers) -> Sweep:
        """Do what is missing in a store; its Parquet files are written by who opened it."""
        self.store, self.place = store, place
        place.begin(self.grid.senders)
        self.progress.began_s = time.monotonic()
        try:
            with interruptible() as self.check:
                self._all()
        except KeyboardInterrupt:
            # Whoever presses Ctrl-C again does not want to wait.
            with suppress(KeyboardInterrupt):
                self.place.close()
            self._keep(self.place.finished(0))
            done, total = self.progress.reused + self.progress.done, self.progress.total
            result = Sweep.of(self.store, self._facts())
            message = f"interrupted after {done:,} of {total:,} runs, which are kept"
            where = " and ".join(dict.fromkeys(self.place.interrupted))
            raise Interrupted(message, lambda: result, where=where) from None
        return Sweep.of(self.store, self._facts())

    def _all(self) -> None:
        fresh = self._runs([(point, range(self.grid.replications)) for point in self.points])
        while fresh:
            self.store.begin(self._facts())
            self._do(fresh)
            fresh = self._runs(self._unknown())

    def _runs(self, wanted: Sequence[tuple[Point, range]]) -> list[str]:
        """Names of these replications of points: first replications first, so that a part covers the whole grid."""
        ranked = [
            (k, point.index, point, seed)
            for point, replications in wanted
            for k, seed in zip(replications, self.grid.seeds(point, replications), strict=True)
        ]
        ranked.sort(key=lambda each: each[:2])
        fresh = {task.name(point.digest, seed): (point, seed) for _, _, point, seed in ranked}
        self.runs |= fresh
        return list(fresh)

    def _unknown(self) -> list[tuple[Point, range]]:
        """The next replications of points that are not known well enough yet.

        Decided when all runs so far have ended, and by them only, so that it does not depend on timing.
        """
        until = self.grid.until
        if until is None:
            return []
        more = []
        so_far = Sweep.of(self.store, {**self._facts(), "tables": []})
        for point, values in zip(self.points, so_far.values(until.metric).values(), strict=True):
            have = self.counts[point.index]
            self.counts[point.index] = enough(values, until, self.grid.replications_max)
            if self.counts[point.index] > have:
                more.append((point, range(have, self.counts[point.index])))
        return more

    def _do(self, wanted: Sequence[str]) -> None:
        missing = self.store.missing({id_: self.runs[id_][0].values for id_ in wanted}, self.grid.tables)
        self.progress.total += len(wanted)
        self.progress.reused += len(wanted) - len(missing)
        left, running, ahead = dict.fromkeys(missing), 0, AHEAD
        finished: list[Finished] = []
        while True:
            if running and len(finished) == running:
                # Workers had nothing left to do.
                ahead = min(2 * ahead, AHEAD_MAX)
            running -= len(finished)
            room = ahead * self.place.count - running
            # A transaction takes as long as a short run.
            with self.store.together():
                self._keep(finished)
                mine = self._claim(left, room) if left and room >= running else []
            for done, outcome in finished:
                if isinstance(outcome, SenderError):
                    raise self._located(outcome, done.id) from outcome.__cause__
                if isinstance(outcome, BaseException):
                    raise outcome
            for id_ in mine:
                point, seed = self.runs[id_]
                self.place.submit(task.Task(id_, seed, tuple(self.grid.tables)), partial(self.grid.core, point))
            running += len(mine)
            self.progress.running = min(running, self.place.count)
            if self.store.is_due():
                self.store.write()
            self.tell()
            if not left and not running:
                return
            self.check()
            finished = self.place.finished(running)

    def _located(self, error: SenderError, id_: str) -> SenderError:
        """With the run in which it was, and how to see it again."""
        point, seed = self.runs[id_]
        where = ", ".join(f"{key}={value}" for key, value in point.values.items())
        again = run_command(self._facts(), point.values, seed)
        return SenderError(f"{error}\n\n  at the point {where}, with seed {seed}" + (f":\n  {again}" if again else ""))

    def _claim(self, left: dict[str, None], count: int) -> list[str]:
        """Up to so many of the runs that are left; they are not left any more, nor those that another process did."""
        claimed = self.store.claim(left, count, self.grid.tables)
        for id_ in (*claimed.mine, *claimed.done, *claimed.failed):
            del left[id_]
        self.progress.done += len(claimed.done)
        self.progress.failed += len(claimed.failed)
        return claimed.mine

    def _keep(self, finished: Sequence[Finished]) -> None:
        """Commit what has ended."""
        done = [(each.id, outcome) for each, outcome in finished if isinstance(outcome, bytes)]
        failed = [(each.id, outcome.message) for each, outcome in finished if isinstance(outcome, task.Failure)]
        for id_, _ in failed:
            self._write_replay(id_)
        self.store.keep(
            [(id_, self.runs[id_][0].values, self.grid.tables, record) for id_, record in done],
            [(id_, self.runs[id_][0].values, message) for id_, message in failed],
        )
        self.progress.done += len(done)
        self.progress.failed += len(failed)

    def _write_replay(self, id_: str) -> None:
        """A scenario that shows the failure again, beside the store."""
        point, seed = self.runs[id_]
        text = json.loads(self.grid.core(point).to_json())
        self.store.keep_replay(id_, json.dumps({**text, "seed": seed}, indent=1))

    def _facts(self) -> dict[str, Any]:
        """What a reader of the store must know of the sweep."""
        grid = self.grid
        return {
            "title": grid.scenario.title,
            "source": grid.scenario.source,
            "sets": grid.scenario.sets,
            "scenario": grid.scenario.resolved(),
            "written": grid.scenario.written,
            "seed": grid.seed,
            "keys": grid.keys,
            "metrics": grid.metrics,
            "tables": grid.tables,
            "against": grid.against,
            "until": None if grid.until is None else asdict(grid.until),
            "version": __version__,
            "results": _core.RESULTS,
            "senders": {
                name: {"class": loading.where(cls), "code": loading.code_of(cls)} for name, cls in grid.senders.items()
            },
            "aside": self.store.aside(),
            "points": [
                [list(point.values.values()), point.digest, grid.first_seed(point), count]
                for point, count in zip(self.points, self.counts, strict=True)
            ],
        }

"""Executes an experiment: claims its missing runs, executes them, and keeps each as soon as it ends."""

from __future__ import annotations

import json
import logging
import shlex
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import asdict
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from bentpipe import _core, forks
from bentpipe.errors import BentpipeError, ClusterError, Interrupted, SenderError, Word
from bentpipe.experiment.common.commands import own, run_command, sweep_command
from bentpipe.experiment.common.hosts import name_hosts
from bentpipe.experiment.common.pages import name_pages
from bentpipe.experiment.execution.workers import cores, workers
from bentpipe.experiment.results import hints
from bentpipe.experiment.results.sweep import Sweep
from bentpipe.experiment.single import task
from bentpipe.experiment.single.threads import ignore_interrupts, interruptible
from bentpipe.experiment.store.memory import Memory
from bentpipe.experiment.store.store import Store
from bentpipe.progress import Progress
from bentpipe.version import __version__

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from bentpipe.experiment.design.design import Design, Point
    from bentpipe.experiment.execution.workers import Finished, Workers

R = TypeVar("R")

AHEAD = 2
AHEAD_MAX = 128
"""Runs handed out for each worker, so that no worker waits for the next: few long runs, more short runs."""


def carry_out(
    design: Design[R],
    *,
    store: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    on: str | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> R:
    """Execute the runs of a design that its store does not have yet.

    Parameters
    ----------
    design : Design
    store : path, optional
        A folder that keeps all runs; created if it does not exist. Without it, only the result exists.
    jobs : int, optional
        Number of runs at the same time. The default is all cores.
    on : str, optional
        `local:4` or `dask://HOST:PORT`: execute the runs in processes of `dask.distributed`. The results are the same.
    progress : callable, optional
        A callable that is called several times a second.

    Raises
    ------
    BentpipeError
        The store or the cluster cannot be used, or every replication has a run that failed. Finished runs are kept.
    Interrupted
        Ctrl-C was pressed; `result` and the store have the finished runs.
    """
    forks.refuse()
    # The points are checked before the store is made: an invalid design leaves no files.
    execution = Execution(design, progress, jobs)
    with closing(workers(on, jobs)) as place, Memory() if store is None else Store(store) as opened:
        try:
            sweep = execution.run(opened, place)
        finally:
            opened.write()
    found = design.result(sweep)
    if found is None:
        raise BentpipeError(f"no replication could be run as a whole\n  {sweep.failures[0]['message']}")
    return found


class Wanted(NamedTuple):
    """A requested run."""

    point: Point
    replication: int
    """Replication of the experiment."""
    seed: int


class Execution(Generic[R]):
    """An experiment in progress."""

    store: Store
    place: Workers
    check: Callable[[], None]
    """Function that raises `KeyboardInterrupt` after a Ctrl-C that Python ignored."""

    def __init__(
        self, design: Design[R], progress: Callable[[Progress], object] | None = None, jobs: int | None = None
    ) -> None:
        self.design, self.jobs = design, jobs or cores()
        self.progress = Progress(make_result=lambda: design.result(self._so_far()))
        self.notify = partial(progress or (lambda _: None), self.progress)
        self.points = design.points
        self.counts = design.counts()
        self.runs: dict[str, Wanted] = {}
        """Requested runs so far, by name."""
        self.digests: dict[tuple[int, int], str] = {}
        """Digest of each run of a point, by their numbers."""
        # Days of the sky are checked like points.
        self.fresh = self._runs([(point, range(count)) for point, count in zip(self.points, self.counts, strict=True)])

    def run(self, store: Store, place: Workers) -> Sweep:
        """Execute the missing runs of a store. Its Parquet files are written by the function that opened it."""
        self.store, self.place = store, place
        place.begin(self.design.senders)
        self.progress.began_s = monotonic()
        try:
            with interruptible() as self.check:
                self._all()
        except KeyboardInterrupt:
            # A user who presses Ctrl-C again does not want to wait.
            with suppress(KeyboardInterrupt):
                self.place.close()
            # One more Ctrl-C would lose the report of the finished runs.
            with ignore_interrupts():
                self._keep(self.place.collect_finished(0))
                done, total = self.progress.reused + self.progress.done, self.progress.total
                result = self.design.result(self._so_far())
                self.progress.make_result = lambda: result
            message = f"interrupted after {done:,} of {total:,} runs" + (", which are kept" if self.store.lasts else "")
            where = " and ".join(dict.fromkeys(self.place.stuck_places))
            raise Interrupted(message, lambda: result, where=where) from None
        except ClusterError as error:
            self._keep(self.place.collect_finished(0))
            raise self._goes_on(error) from None
        sweep = self._so_far()
        # The store will be closed.
        self.progress.make_result = lambda: self.design.result(sweep)
        return sweep

    def _all(self) -> None:
        while self.fresh:
            self.store.begin(self._facts())
            self._do(self.fresh)
            have, self.counts = self.counts, self.design.grow_counts(self.counts, self._so_far)
            self.fresh = self._runs(
                [(point, range(*counts)) for point, *counts in zip(self.points, have, self.counts, strict=True)]
            )

    def _runs(self, wanted: Sequence[tuple[Point, range]]) -> list[str]:
        """Name these runs of points. First replications come first, so that a part covers the whole experiment."""
        ranked = [
            (number, Wanted(point, self.design.replication(point, number), seed))
            for point, numbers in wanted
            for number, seed in zip(numbers, self.design.seeds(point, numbers), strict=True)
        ]
        digests = self._digests([run for _, run in ranked])
        fresh = {}
        for (number, run), digest in sorted(
            zip(ranked, digests, strict=True), key=lambda each: (each[0][1].replication, each[0][1].point.index)
        ):
            self.digests[run.point.index, number] = digest
            fresh[task.name(digest, run.seed)] = run
        self.runs |= fresh
        return list(fresh)

    def _digests(self, wanted: Sequence[Wanted]) -> list[str]:
        """Hash the inputs of runs. Paths over the sky are found on all cores; points with equal skies share them."""
        if not any(self.design.day(run.point, run.replication) for run in wanted):
            return [self.design.digest(run.point, run.replication) for run in wanted]
        found = []
        pool = ThreadPoolExecutor(self.jobs)
        try:
            # The runs of a point have different days: no two threads find the same paths.
            for digest in pool.map(lambda run: self.design.digest(run.point, run.replication), wanted):
                found.append(digest)
                self._notify_of_days(len(found) / len(wanted))
        finally:
            pool.shutdown(cancel_futures=True)
        return found

    def _notify_of_days(self, share: float) -> None:
        """Report how many days of the sky are ready, which may take longer than the runs."""
        state = self.progress
        had = state.total, state.doing, state.under_way
        state.total, state.doing, state.under_way = 1, "finding paths over the sky", share
        self.notify()
        state.total, state.doing, state.under_way = had

    def _find_randomness(self) -> str:
        """Name what replications differ in, as `Point.randomness`: the most of all points."""
        # A day of the sky may equal another day, as for a slot over the equator without rain.
        distinct = {(index, digest) for (index, _), digest in self.digests.items()}
        has_days = len(distinct) > len({index for index, _ in distinct})
        return "drawn" if has_days else max((point.randomness for point in self.points), key=hints.RANDOMNESS.index)

    def _so_far(self) -> Sweep:
        return Sweep.from_store(self.store, self._facts())

    def _do(self, wanted: Sequence[str]) -> None:
        missing = self.store.missing({id_: self.runs[id_].point.values for id_ in wanted}, self.design.tables)
        self.progress.total += len(wanted)
        self.progress.reused += len(wanted) - len(missing)
        left, running, ahead, is_waiting = dict.fromkeys(missing), 0, AHEAD, False
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
                    raise self._locate_error(outcome, done.id) from outcome.__cause__
                if isinstance(outcome, BaseException):
                    raise outcome
            for id_ in mine:
                point, replication, seed = self.runs[id_]
                work = task.Task(id_, seed, tuple(self.design.tables))
                self.place.submit(work, partial(self.design.core, point, replication))
            running += len(mine)
            self.progress.running = min(running, self.place.count)
            self.progress.under_way = self.place.under_way()
            self.notify()
            if not left and not running:
                return
            self.check()
            finished = self.place.collect_finished(running)
            is_waiting = self._say_who_lacks(is_waiting) if not finished else False

    def _say_who_lacks(self, was_said: bool) -> bool:
        """Warn once that nothing can execute runs, and name what Ctrl-C keeps. Returns whether that is so."""
        lack = self.place.lack
        if lack and not was_said:
            done, total = self.progress.reused + self.progress.done, self.progress.total
            kept = "keeps" if self.store.lasts else "ends with"
            logging.getLogger("bentpipe").warning(f"{lack}; waiting. Ctrl-C {kept} {done:,} of {total:,} runs")
        return bool(lack)

    def _goes_on(self, error: ClusterError) -> ClusterError:
        """Add the number of runs in the store, and the command that continues, to an error."""
        done, total = self.progress.reused + self.progress.done, self.progress.total
        if not isinstance(self.store, Store):
            return ClusterError(
                f"{error}: {done:,} of {total:,} runs were done, and are lost\n"
                f"  expected {{store}}, which keeps finished runs",
                store=Word("FOLDER"),
            )
        begin = sweep_command(self._facts(), has_report=False)
        command = (
            f"{begin} {shlex.join(['--store', str(self.store.folder)])}" if begin else "the same call with this store"
        )
        return ClusterError(
            f"{error}: {done:,} of {total:,} runs are kept in {self.store.folder}\n"
            f"  this continues with the kept runs, here or with another {{on}}:\n  {command}",
            on=None,
        )

    def _locate_error(self, error: SenderError, id_: str) -> SenderError:
        """Add the run, and the way to reproduce it, to an error."""
        point, replication, seed = self.runs[id_]
        values, facts = self.design.again(point, replication), self._facts()
        again = sweep_command(facts, has_report=False) if values is None else run_command(facts, values, seed)
        where = f"{self.design.name_point(point)}, with seed {seed}"
        return SenderError(f"{error}\n\n  at {where}" + (f":\n  {again}" if again else ""))

    def _claim(self, left: dict[str, None], count: int) -> list[str]:
        """Claim up to `count` of the runs in `left`.

        `left` loses them, and the runs that other processes have done.
        """
        claimed = self.store.claim(left, count, self.design.tables)
        for id_ in (*claimed.mine, *claimed.done, *claimed.failed):
            del left[id_]
        self.progress.done += len(claimed.done)
        self.progress.failed += len(claimed.failed)
        return claimed.mine

    def _keep(self, finished: Sequence[Finished]) -> None:
        """Commit runs that have ended."""
        done = [(each.id, outcome) for each, outcome in finished if isinstance(outcome, bytes)]
        failed = [(each.id, outcome.message) for each, outcome in finished if isinstance(outcome, task.Failure)]
        for id_, _ in failed:
            self._write_replay(id_)
        self.store.keep(
            [(id_, self.runs[id_].point.values, self.design.tables, record) for id_, record in done],
            [(id_, self.runs[id_].point.values, message) for id_, message in failed],
        )
        self.progress.done += len(done)
        self.progress.failed += len(failed)

    def _write_replay(self, id_: str) -> None:
        """Write a scenario that reproduces the failure beside the store."""
        point, replication, seed = self.runs[id_]
        text = json.loads(self.design.core(point, replication).to_json())
        self.store.keep_replay(id_, json.dumps({**text, "seed": seed}, indent=1))

    def _facts(self) -> dict[str, Any]:
        """Return the facts of the experiment for readers of the store."""
        design = self.design
        facts = {
            "verb": design.verb,
            "title": design.scenario.title,
            "source": design.scenario.source,
            "sets": design.scenario.sets,
            "scenario": design.scenario.resolve(),
            "written": design.scenario.written,
            "seed": design.seed,
            "keys": design.keys,
            "metrics": design.metrics,
            "tables": design.tables,
            **design.judgement.to_dict(),
            "until": None if design.until is None else asdict(design.until),
            "version": __version__,
            "results": _core.RESULTS,
            "hosts": name_hosts(point.hosts for point in self.points),
            "pages": name_pages(design.scenario.to_dict()["flow"]),
            "senders": own(design.senders),
            "aside": self.store.aside(),
            "notes": hints.list_notes(self.points, is_grid=design.verb == "sweep"),
            "randomness": self._find_randomness(),
            "shares_day": any(point.shares_day for point in self.points),
            "has_days": any(point.has_days for point in self.points),
            **design.facts(),
            "points": [
                [
                    list(point.values.values()),
                    point.digest,
                    design.first_seed(point),
                    count,
                    *design.find_replications(point),
                    # If each run has its own scenario, it has its own digest.
                    *([[self.digests[point.index, number] for number in range(count)]] if point.varies else []),
                ]
                for point, count in zip(self.points, self.counts, strict=True)
            ],
        }
        # As they are read later: without tuples, and without numbers of NumPy.
        return dict(json.loads(json.dumps(facts, default=lambda value: value.tolist())))

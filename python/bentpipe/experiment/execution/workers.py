"""Workers that execute runs: threads of this process, or a cluster of `dask.distributed`."""

from __future__ import annotations

import logging
import os
import queue
import re
import sys
import time
from asyncio import run_coroutine_threadsafe
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from functools import partial
from importlib import import_module
from numbers import Integral
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from bentpipe.errors import BentpipeError, ClusterError
from bentpipe.experiment.single.task import Failure, build, execute, execute_text
from bentpipe.experiment.single.threads import Pool, ignore_interrupts
from bentpipe.own import travel
from bentpipe.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bentpipe import _core
    from bentpipe.experiment.single.task import Task
    from bentpipe.own.loading import Own
    from bentpipe.own.travel import Plain

    Outcome: TypeAlias = bytes | Failure | BaseException | None
    """Outcome of a run; None if it was stopped before the end."""
    Finished: TypeAlias = tuple[Task, Outcome]
    Done: TypeAlias = Future[bytes | Failure | None]

POLL_S = 0.1
PROCESSES_MAX = 1024
CONNECT_S = 10
LINGER_S = 0.02
"""Wait for more runs after one has ended, in seconds. Keeping many short runs costs no more than keeping one."""


_ABOUT = (
    "[__import__('bentpipe.experiment.single.task', fromlist=['build']).build(),"
    " list(__import__('sys').version_info[:2])]"
)
"""Expression for a worker: its `build`, and its version of Python."""
DESERTED_S = 5.0
"""Time without any worker until that is reported, in seconds. Workers that are restarted are back sooner."""


class Workers(Protocol):
    """Executes runs in any order."""

    @property
    def count(self) -> int:
        """Number of runs at the same time."""

    def begin(self, senders: Mapping[str, Own]) -> None:
        """Prepare for runs that may name these custom classes."""

    def submit(self, task: Task, scenario: Callable[[], _core.Scenario]) -> None:
        """Hand out a run."""

    def collect_finished(self, running: int) -> list[Finished]:
        """Return runs that ended since the last call, after a short wait for one of `running` runs."""

    def under_way(self) -> float:
        """Finished parts of the runs of this process that continue, added up: 1.5 for three half-finished runs."""

    @property
    def lack(self) -> str:
        """Reason why no run can go on at present, with the remedy; empty without one."""

    def close(self) -> None:
        """Stop all runs and wait for them."""

    @property
    def stuck_places(self) -> list[str]:
        """Python classes that did not return when stopped, each with its hook and flow."""


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_jobs(jobs: int | None) -> None:
    """Check the number of runs at the same time.

    Raises
    ------
    BentpipeError
        Another type, or a number below 1.
    """
    if jobs is not None and not isinstance(jobs, Integral):
        raise BentpipeError(f"jobs = {jobs!r}\n  expected a whole number")
    if jobs is not None and jobs < 1:
        raise BentpipeError(f"{jobs} jobs\n  expected at least 1")


def workers(on: str | None, jobs: int | None) -> Workers:
    """Make the workers for `on` and `jobs`.

    Raises
    ------
    BentpipeError
        The place is unknown or cannot be reached, or `dask.distributed` is not installed.
    """
    check_jobs(jobs)
    if on is None:
        return Threads(jobs or cores())
    if jobs is not None:
        raise BentpipeError(
            "{jobs} with {on}\n  expected one of the two: the cluster decides the number of its workers",
            jobs=jobs,
            on=on,
        )
    local = re.fullmatch(r"local:(\d{1,9})", on)
    if local and not 1 <= int(local[1]) <= PROCESSES_MAX:
        raise BentpipeError(f"{{on}}: {int(local[1])} processes\n  expected 1 to {PROCESSES_MAX}", on=on)
    if local:
        return Cluster(None, int(local[1]))
    if on.startswith("dask://") and len(on) > len("dask://"):
        return Cluster(on.removeprefix("dask://"))
    raise BentpipeError("{on}\n  expected local:N for N processes here, or dask://HOST:PORT of a scheduler", on=on)


class _Queue:
    """Queue of runs that have ended."""

    def __init__(self) -> None:
        # SimpleQueue.get waits for ever if a short timeout passes between its two checks (CPython 3.10 and 3.11).
        self._ended: queue.Queue[tuple[Task, Done]] = queue.Queue()

    def watch(self, task: Task, future: Done) -> None:
        future.add_done_callback(lambda done: self._ended.put((task, done)))

    def _outcome(self, done: Done) -> Outcome:
        try:
            return done.result()
        except CancelledError:
            return None
        except BaseException as error:  # Raised again where the caller waits for the run.
            return error

    def collect_finished(self, running: int) -> list[Finished]:
        return [(task, self._outcome(done)) for task, done in self._take(running)]

    def _take(self, running: int) -> list[tuple[Task, Done]]:
        """Take the runs that ended since the last call, after a short wait for one of `running` runs."""
        found: list[tuple[Task, Done]] = []
        end_s = time.monotonic() + POLL_S
        while True:
            # Runs that have already ended are taken in any case.
            wait_s = max(end_s - time.monotonic(), 0) if not found or len(found) < running else 0
            try:
                found.append(self._ended.get(timeout=wait_s))
            except queue.Empty:
                break
            if len(found) == 1:
                end_s = time.monotonic() + LINGER_S
        return found


class Threads(_Queue):
    """Threads of this process: the core runs without Python's lock."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count
        self._pool = Pool(count)
        self._shares: dict[str, float] = {}

    @property
    def count(self) -> int:
        return self._count

    @property
    def lack(self) -> str:
        return ""

    def begin(self, senders: Mapping[str, Own]) -> None:
        """Do nothing: threads have the classes already."""

    def submit(self, task: Task, scenario: Callable[[], _core.Scenario]) -> None:
        self.watch(task, self._pool.submit(partial(self._work, task, scenario)))

    def close(self) -> None:
        self._pool.close()

    @property
    def stuck_places(self) -> list[str]:
        return self._pool.interrupted

    def under_way(self) -> float:
        # A copy, because the threads change it.
        return sum(self._shares.copy().values())

    def _work(self, task: Task, scenario: Callable[[], _core.Scenario]) -> bytes | Failure | None:
        if self._pool.is_stopped():
            return None
        try:
            note = partial(self._shares.__setitem__, task.id)
            return execute(scenario(), task.seed, task.tables, self._pool.is_stopped, note)
        finally:
            self._shares.pop(task.id, None)


class Cluster(_Queue):
    """Workers of `dask.distributed`: local, or of a scheduler. A worker that dies loses only its current work."""

    def __init__(self, address: str | None, count: int = 0) -> None:
        super().__init__()
        self._senders: tuple[Plain, ...] = ()
        self._address = address
        self._fetching: tuple[list[tuple[Task, Any]], list[Any], Future[list[Any]]] | None = None
        """Runs that ended, those with a result, and their results on the way here."""
        self._seen_s = time.monotonic()
        try:
            # As Any, because only parts of it have types.
            self._dask: Any = import_module("distributed")
        except ImportError:
            raise BentpipeError(
                "{on} needs dask.distributed, which is not installed\n  pip install 'bentpipe[cluster]'", on=None
            ) from None
        self._cluster: Any = None
        try:
            if address is None:
                with ignore_interrupts():
                    self._cluster = self._dask.LocalCluster(
                        n_workers=count,
                        threads_per_worker=1,
                        host="127.0.0.1",
                        # Its server always listens: on a free port, so that several can run.
                        dashboard_address="127.0.0.1:0",
                        # Its warnings about a slow event loop and similar events do not concern users of a sweep.
                        silence_logs=logging.CRITICAL + 1,
                        # A run takes the memory that it needs. Stopping the worker would not help.
                        memory_limit=0,
                    )
            self._client: Any = self._dask.Client(self._cluster or address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise BentpipeError(
                f"the scheduler at {address} does not answer\n  expected a running scheduler: dask scheduler\n  {error}"
            ) from error
        if not self._workers():
            self.close()
            raise BentpipeError(f"the scheduler at {address} has no workers\n  start some: dask worker {address}")
        try:
            self._refuse_other_versions()
        except BentpipeError:
            self.close()
            raise

    def _refuse_other_versions(self) -> None:
        """Refuse workers that cannot run simulations, or that would give other results, before any work begins."""
        here = build(), list(sys.version_info[:2])
        # A worker that cannot read its task ends, and the scheduler would wait for others for ever. So no function of
        # bentpipe is sent.
        for worker, found in self._client.run(eval, _ABOUT, on_error="return").items():
            if isinstance(found, Exception):
                raise BentpipeError(
                    f"the worker {worker} cannot run simulations: {found}\n"
                    f"  expected bentpipe {__version__} on every worker"
                )
            if found[0] != here[0]:
                raise BentpipeError(
                    f"the worker {worker} has bentpipe {found[0]}, but the sweep has {here[0]}\n"
                    "  expected the same version everywhere"
                )
            if found[1] != here[1]:
                theirs, ours = (".".join(map(str, version)) for version in (found[1], here[1]))
                logging.getLogger("bentpipe").warning(
                    f"the worker {worker} has Python {theirs}, and this process has Python {ours};"
                    " it may not be able to read custom classes of a notebook"
                )

    @property
    def count(self) -> int:
        return max(1, sum(int(worker["nthreads"]) for worker in self._workers()))

    @property
    def lack(self) -> str:
        now_s = time.monotonic()
        if self._workers():
            self._seen_s = now_s
        if now_s - self._seen_s < DESERTED_S:
            return ""
        if self._cluster is not None:
            return "no local process is left"
        return f"no worker is left at the scheduler {self._address} (dask worker {self._address} starts one)"

    def _gone(self) -> ClusterError:
        return ClusterError("the scheduler is gone" if self._cluster is None else "the local processes are gone")

    def begin(self, senders: Mapping[str, Own]) -> None:
        """Send the classes: other processes read their source, or get them by value."""
        self._senders = travel.sent(senders)

    def submit(self, task: Task, scenario: Callable[[], _core.Scenario]) -> None:
        if self._client.status != "running":
            raise self._gone()
        future = self._client.submit(
            execute_text,
            scenario().to_json(),
            task.seed,
            task.tables,
            build(),
            self._senders,
            # The name of a run is its key, so that two clients of a scheduler share it.
            key=f"bentpipe-{'-'.join((task.id, *task.tables))}",
        )
        self.watch(task, future)

    def under_way(self) -> float:
        # Other processes report only finished runs.
        return 0.0

    def close(self) -> None:
        if self._fetching is not None:
            self._fetching[2].cancel()
        # Without a wait for a scheduler that has disappeared.
        with suppress(OSError, TimeoutError):
            self._client.close(timeout=CONNECT_S if self._client.status == "running" else 0)
        if self._cluster is not None:
            self._cluster.close()

    @property
    def stuck_places(self) -> list[str]:
        # Processes are ended in any state.
        return []

    def _workers(self) -> list[dict[str, Any]]:
        try:
            return list(self._client.scheduler_info(n_workers=-1)["workers"].values())
        except (KeyError, OSError):
            # The client knows no runs after its scheduler disappeared.
            raise self._gone() from None

    def collect_finished(self, running: int) -> list[Finished]:
        if self._fetching is None:
            found: list[tuple[Task, Any]] = self._take(running)
            whole = [future for _, future in found if future.status == "finished"]
            if not whole:
                return self._take_outcomes(found, {})
            # In one step: fetching one takes longer than a short run.
            gathering = self._client.gather(whole, asynchronous=True)
            self._fetching = found, whole, run_coroutine_threadsafe(gathering, self._client.loop.asyncio_loop)
        found, whole, gathered = self._fetching
        # Results of a worker that died are awaited from another worker, perhaps for ever. The caller must not wait.
        if not wait([gathered], timeout=POLL_S).done:
            return []
        self._fetching = None
        try:
            fetched = {future.key: result for future, result in zip(whole, gathered.result(), strict=True)}
        except (Exception, CancelledError) as error:
            # One failed meanwhile, and has that state, or its worker died while the result was on the way.
            if not isinstance(error, OSError) and all(future.status == "finished" for future in whole):
                raise
            fetched = {}
        return self._take_outcomes(found, fetched)

    def _take_outcomes(self, found: list[tuple[Task, Any]], fetched: dict[str, Outcome]) -> list[Finished]:
        """Return the outcomes that are known. A run whose result was lost with its worker is waited for once more."""
        known: list[Finished] = []
        for task, future in found:
            if future.key in fetched:
                known.append((task, fetched[future.key]))
            elif future.status in ("error", "cancelled"):
                known.append((task, self._outcome(future)))
            else:
                self.watch(task, future)
        return known

    def _outcome(self, done: Done) -> Outcome:
        if done.cancelled():
            return self._gone()
        outcome = super()._outcome(done)
        if isinstance(outcome, self._dask.KilledWorker):
            return Failure(f"its workers died: {outcome}")
        if isinstance(outcome, Exception) and not isinstance(outcome, BentpipeError):
            return BentpipeError(
                f"a worker cannot run simulations: {type(outcome).__name__}: {outcome}\n"
                f"  expected bentpipe {__version__} on every worker"
            )
        return outcome

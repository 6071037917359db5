"""Where runs are done: threads of this process, or a cluster that `dask.distributed` reaches."""

from __future__ import annotations

import logging
import os
import queue
import re
import time
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from importlib import import_module
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import bentpipe
from bentpipe.errors import BentpipeError
from bentpipe.sweeps.tasks import Failure, execute, execute_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from bentpipe import _core
    from bentpipe.sweeps.tasks import Task

    Finished: TypeAlias = tuple[Task, bytes | Failure | BaseException | None]

POLL_S = 0.1
CONNECT_S = 10
LINGER_S = 0.02
"""How long to wait for more after one has ended: to keep many short runs at once costs no more than one."""


class Workers(Protocol):
    """Does runs, in whatever order."""

    @property
    def count(self) -> int:
        """Runs at the same time."""

    def submit(self, task: Task, scenario: Callable[[], _core.Scenario]) -> None:
        """Hand out a run."""

    def finished(self, running: int) -> list[Finished]:
        """Runs that have ended since the last call, after waiting for one for a moment; so many can be expected."""

    def close(self) -> None:
        """Stop what is running and wait for it."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers(on: str | None, jobs: int | None) -> Workers:
    """What `--on` and `--jobs` ask for.

    Raises
    ------
    BentpipeError
        There is no such place, it cannot be reached, or `dask.distributed` is not installed.
    """
    if on is None:
        return Threads(jobs or cores())
    if jobs is not None:
        raise BentpipeError(
            f"error: --jobs {jobs} with --on {on}\n  expected one of them: the cluster knows its workers"
        )
    local = re.fullmatch(r"local:(\d+)", on)
    if local and 1 <= int(local[1]) <= 1024:
        return Cluster(None, int(local[1]))
    if on.startswith("dask://") and len(on) > len("dask://"):
        return Cluster(on.removeprefix("dask://"))
    raise BentpipeError(
        f"error: --on {on}\n  expected local:N for N processes here, or dask://HOST:PORT of a scheduler"
    )


class _Queue:
    """What has ended."""

    def __init__(self) -> None:
        self._ended: queue.SimpleQueue[Finished] = queue.SimpleQueue()

    def watch(self, task: Task, future: Future[bytes | Failure | None]) -> None:
        def end(done: Future[bytes | Failure | None]) -> None:
            self._ended.put((task, self._outcome(done)))

        future.add_done_callback(end)

    def _outcome(self, done: Future[bytes | Failure | None]) -> bytes | Failure | BaseException | None:
        try:
            return done.result()
        except CancelledError:
            return None
        except BaseException as error:  # It is raised again where somebody waits for the run.
            return error

    def finished(self, running: int) -> list[Finished]:
        found = []
        try:
            found.append(self._ended.get(timeout=POLL_S))
            end_s = time.monotonic() + LINGER_S
            while len(found) < running:
                found.append(self._ended.get(timeout=max(end_s - time.monotonic(), 0)))
        except queue.Empty:
            pass
        return found


class Threads(_Queue):
    """Threads of this process: the core runs without Python's lock."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count
        self._stop = Event()
        self._pool = ThreadPoolExecutor(count)

    @property
    def count(self) -> int:
        return self._count

    def submit(self, task: Task, scenario: Callable[[], _core.Scenario]) -> None:
        self.watch(task, self._pool.submit(self._work, task, scenario))

    def close(self) -> None:
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)

    def _work(self, task: Task, scenario: Callable[[], _core.Scenario]) -> bytes | Failure | None:
        if self._stop.is_set():
            return None
        return execute(scenario(), task.seed, task.tables, self._stop.is_set)


class Cluster(_Queue):
    """Workers of `dask.distributed`: here, or where a scheduler listens. A worker that dies costs what it was doing."""

    def __init__(self, address: str | None, count: int = 0) -> None:
        super().__init__()
        try:
            # As any, because only parts of it have types.
            self._dask: Any = import_module("distributed")
        except ImportError:
            raise BentpipeError(
                "error: --on needs dask.distributed, which is not installed\n  pip install 'bentpipe[cluster]'"
            ) from None
        self._cluster: Any = None
        try:
            if address is None:
                self._cluster = self._dask.LocalCluster(
                    n_workers=count,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address=None,
                    # Its complaints about a slow event loop and the like are no business of who runs a sweep.
                    silence_logs=logging.CRITICAL,
                    # A run takes the memory that it takes; to stop the worker would not help it.
                    memory_limit=0,
                )
            self._client: Any = self._dask.Client(self._cluster or address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise BentpipeError(
                f"error: there is no scheduler at {address}\n  expected one that runs: dask scheduler\n  {error}"
            ) from error
        if not self._workers():
            self.close()
            raise BentpipeError(
                f"error: the scheduler at {address} has no workers\n  start some: dask worker {address}"
            )

    @property
    def count(self) -> int:
        return max(1, sum(int(worker["nthreads"]) for worker in self._workers()))

    def submit(self, task: Task, scenario: Callable[[], _core.Scenario]) -> None:
        future = self._client.submit(
            execute_text,
            scenario().to_json(),
            task.seed,
            task.tables,
            bentpipe.__version__,
            # The name of a run is its key, so that two clients of a scheduler share it.
            key=f"bentpipe-{'-'.join((task.id, *task.tables))}",
        )
        self.watch(task, future)

    def close(self) -> None:
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def _workers(self) -> list[dict[str, Any]]:
        return list(self._client.scheduler_info(n_workers=-1)["workers"].values())

    def _outcome(self, done: Future[bytes | Failure | None]) -> bytes | Failure | BaseException | None:
        if done.cancelled():
            return BentpipeError("error: the cluster is gone\n  every run that was finished is kept; start again")
        outcome = super()._outcome(done)
        if isinstance(outcome, self._dask.KilledWorker):
            return Failure(f"the workers that did it died: {outcome}")
        if isinstance(outcome, Exception) and not isinstance(outcome, BentpipeError):
            return BentpipeError(
                f"error: a worker cannot do runs: {type(outcome).__name__}: {outcome}\n"
                f"  expected bentpipe {bentpipe.__version__} on every worker"
            )
        return outcome

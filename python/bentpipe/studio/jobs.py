"""Jobs of the studio: runs and experiments in worker processes, in the order in which pages ask for them.

Jobs belong to the server. A page subscribes; when it closes, its jobs go on, and a page that is opened later sees them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable, Mapping

LINE_MAX = 64 << 20
"""Bytes of one answer of a worker: that of a large grid."""
WAITING_MAX = 4
"""Jobs of one page that wait."""
KEPT_MAX = 30
"""Jobs that have ended and are still listed."""
GRACE_S = 3.0
"""Seconds from `stop` to the end by force: a custom class may never return."""
SAVE_S = 120.0
"""Seconds to save the part of a run that was stopped."""
KILLED = 9
"""Number of SIGKILL, which not every system has."""
ENDED = ("done", "stopped", "failed")


@dataclass
class Job:
    """One job, from the request to its result."""

    number: int
    kind: str
    """`run`, `compare`, `sweep`, `tune` or `fit`."""
    title: str
    page: str
    """The page that asked for it."""
    request: dict[str, Any]
    state: str = "waiting"
    """`waiting`, then `running`, and at last `done`, `stopped` or `failed`."""
    progress: dict[str, Any] = field(default_factory=dict)
    partial: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    error: str = ""
    problems: list[dict[str, Any]] = field(default_factory=list)
    began_s: float = 0.0
    is_told_to_stop: bool = False
    is_saving: bool = False
    """Whether it has stopped, and is saving its partial result."""
    first_progress_s: float | None = None
    """Seconds from the request to the first progress."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.state in ENDED

    @property
    def run(self) -> str | None:
        """Name of its run, if it is one and has been saved."""
        return (self.result or {}).get("run")

    def to_dict(self) -> dict[str, Any]:
        """The state as plain data."""
        names = ("number", "kind", "title", "state", "progress", "error", "run", "first_progress_s")
        return {name: getattr(self, name) for name in names}


class Jobs:
    """The queue of jobs of a server. All of it happens in the event loop.

    Parameters
    ----------
    most : int, optional
        Jobs at the same time; by default as many as there are cores.
    command : sequence of str, optional
        The command of a worker.
    """

    def __init__(self, most: int | None = None, command: tuple[str, ...] | None = None) -> None:
        self.most = most or os.cpu_count() or 1
        self._command = command or (sys.executable, "-m", "bentpipe.studio.worker")
        self._numbers = count(1)
        self._jobs: deque[Job] = deque()
        self._processes: dict[int, Process] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._subscribers: dict[object, Callable[[Job], object]] = {}
        self._is_closed = False

    def submit(self, kind: str, title: str, request: Mapping[str, Any], page: str = "") -> Job:
        """Put a job into the queue.

        Raises
        ------
        BentpipeError
            The page has too many jobs that wait.
        """
        waiting = [job for job in self._jobs if job.state == "waiting" and job.page == page]
        if len(waiting) >= WAITING_MAX:
            raise BentpipeError(
                f"{WAITING_MAX} jobs of this page wait already\n  stop one of them, or wait for its end"
            )
        job = Job(next(self._numbers), kind, title, page, {**request, "kind": kind}, began_s=time.monotonic())
        self._jobs.append(job)
        self._forget()
        self._start_next()
        self._tell(job)
        return job

    def list_jobs(self) -> list[Job]:
        """All jobs, the newest first."""
        return list(reversed(self._jobs))

    def open(self) -> list[Job]:
        """Jobs that have not ended, in order."""
        return [job for job in self._jobs if not job.is_over]

    def subscribe(self, listener: Callable[[Job], object]) -> Callable[[], None]:
        """Call a function at each change of a job; returns the function that ends this."""
        key = object()
        self._subscribers[key] = listener
        return lambda: self._subscribers.pop(key, None) and None

    def stop(self, job: Job) -> None:
        """End a job early; a run is kept up to then."""
        if job.state == "waiting":
            job.state = "stopped"
            self._tell(job)
        elif job.is_told_to_stop:
            return
        elif job.state == "running" and (process := self._processes.get(job.number)) is not None:
            job.is_told_to_stop = True
            self._tell(job)
            assert process.stdin is not None
            with contextlib.suppress(ConnectionError, RuntimeError):
                process.stdin.write(b"stop\n")
            self._later(self._end(job, process))

    async def close(self) -> None:
        """End all workers. No further job starts."""
        self._is_closed = True
        for process in self._processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start_next(self) -> None:
        if self._is_closed:
            return
        running = sum(job.state == "running" for job in self._jobs)
        for job in [job for job in self._jobs if job.state == "waiting"][: max(0, self.most - running)]:
            job.state = "running"
            self._later(self._carry_out(job))

    def _later(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, job: Job) -> None:
        state = "failed"
        try:
            state = await self._run_worker(job)
        except OSError as error:
            job.error = f"no worker can be started: {error.strerror or error}"
        except (ValueError, asyncio.LimitOverrunError):
            job.error = "the worker gave an answer that makes no sense"
        finally:
            self._processes.pop(job.number, None)
            job.state = state
            self._start_next()
            self._tell(job)

    async def _run_worker(self, job: Job) -> str:
        """Let a worker do a job, and return the state at its end."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, stderr=pipe, limit=LINE_MAX, start_new_session=True
        )
        self._processes[job.number] = process
        if self._is_closed:
            process.kill()
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        errors = asyncio.ensure_future(_tail(process.stderr))
        state = ""
        try:
            with contextlib.suppress(ConnectionError):
                process.stdin.write(json.dumps(job.request).encode() + b"\n")
                await process.stdin.drain()
            async for line in process.stdout:
                if not line.endswith(b"\n"):
                    break  # It was killed within an answer.
                state = self._hear(job, json.loads(line)) or state
            code, said = await process.wait(), await errors
        finally:
            await _end_worker(process, process.stdout, errors)
        if state:
            return state
        if job.is_told_to_stop:
            job.error = "it did not stop by itself and was ended: nothing of it is kept"
            return "stopped"
        job.error = _why(code, said)
        return "failed"

    def _hear(self, job: Job, answer: dict[str, Any]) -> str:
        """Take one answer of the worker; the last one gives the state at the end."""
        if "done" in answer:
            job.result = answer["done"]
            return "stopped" if job.result.get("stop") == "interrupted" else "done"
        if "failed" in answer:
            job.error, job.problems = answer["failed"], answer.get("problems", [])
            return "stopped" if answer.get("is_stopped") else "failed"
        if "progress" in answer:
            job.progress = answer["progress"]
            if job.first_progress_s is None:
                job.first_progress_s = time.monotonic() - job.began_s
        job.partial = answer.get("partial", job.partial)
        job.is_saving = answer.get("is_saving", job.is_saving)
        self._tell(job)
        return ""

    async def _end(self, job: Job, process: Process) -> None:
        """End a worker by force that does not stop by itself."""
        for patience_s in (GRACE_S, SAVE_S):
            try:
                await asyncio.wait_for(process.wait(), patience_s)
            except asyncio.TimeoutError:
                if job.is_saving:
                    continue
            break
        with contextlib.suppress(ProcessLookupError):
            process.kill()

    def _tell(self, job: Job) -> None:
        for listener in list(self._subscribers.values()):
            listener(job)

    def _forget(self) -> None:
        ended = [job for job in self._jobs if job.is_over]
        for job in ended[: max(0, len(ended) - KEPT_MAX)]:
            self._jobs.remove(job)


async def _end_worker(process: Process, answers: asyncio.StreamReader, errors: asyncio.Future[str]) -> None:
    """End a worker by force if it still runs, and read its pipes to their ends: they stay open otherwise."""
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(asyncio.gather(answers.read(), errors, process.wait()), GRACE_S)


async def _tail(stream: asyncio.StreamReader, most: int = 4000) -> str:
    """The end of the error output of a worker."""
    text = b""
    while chunk := await stream.read(4096):
        text = (text + chunk)[-most:]
    return text.decode("utf-8", "replace").strip()


def _why(code: int, errors: str) -> str:
    """Why a worker ended without an answer."""
    if code == -KILLED:
        return "the worker was killed (SIGKILL): by someone, or by the system for lack of memory\n  run again"
    if code < 0:
        return f"the worker crashed ({signal.Signals(-code).name})\n  run again; if it happens again, report it"
    last = errors.splitlines()[-1] if errors else "it gave no reason"
    return f"the worker ended with status {code}: {last}"

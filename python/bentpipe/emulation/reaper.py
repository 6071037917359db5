"""The first process of the programs' process namespace. It reaps orphans, and tests which walls the system allows.

Programs see only one another and this process. It has the limits of a program and does nothing. If it ends, all
programs end.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import signal
from typing import TYPE_CHECKING

from bentpipe.emulation import signals

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bentpipe import _core

PROCESSES = "processes"
"""The wall that is a process namespace."""


class Reaper:
    """The process, and the walls around all programs."""

    def __init__(self, emulation: _core.Emulation, walls: list[str], process: int | None) -> None:
        self.emulation = emulation
        self.walls = walls
        self.missing: list[str] = []
        self.process = process

    @classmethod
    def start(cls, emulation: _core.Emulation, wanted: Sequence[str]) -> Reaper:
        """Start the process behind the wanted walls, and find those that the system allows.

        Raises
        ------
        RuntimeError
            The system does not allow another limit of programs, or the process was killed.
        """
        has_processes = PROCESSES in wanted and emulation.separate_processes()
        report, given = os.pipe()
        with signals.hold_back():
            process = os.fork()
            if not process:
                try:
                    _reap(emulation, [wall for wall in wanted if wall != PROCESSES or has_processes], given)
                finally:
                    os._exit(0)
        os.close(given)
        if has_processes:
            emulation.take_processes()
        with os.fdopen(report, "rb") as file:
            text = file.read()
        found = marshal.loads(text) if text else "a process of the emulation was killed\n  run it again"
        if isinstance(found, str):
            raise RuntimeError(found)
        if PROCESSES in found:
            return cls(emulation, found, process)
        # Containers that hide parts of /proc forbid another one. Without it, programs would not find themselves there.
        cls(emulation, found, process).stop()
        return cls(emulation, found, None)

    @contextlib.contextmanager
    def children(self) -> Iterator[None]:
        """Start children as programs, meanwhile."""
        if self.process is None:
            yield
            return
        self.emulation.place_children(True)
        try:
            yield
        finally:
            self.emulation.place_children(False)

    def stop(self) -> None:
        """End the process and all programs. The caller has waited for its own children among them."""
        if self.process is not None:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)


def _reap(emulation: _core.Emulation, wanted: list[str], given: int) -> None:
    # From now on, signals of a terminal do not reach it, and the kernel removes orphans.
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)
    signals.release()
    try:
        found: list[str] | str = emulation.enter_as_program(0, wanted)
    except Exception as error:
        found = str(error) or repr(error)
    os.write(given, marshal.dumps(found))
    # Programs must not find devices of hosts here.
    os.closerange(0, os.sysconf("SC_OPEN_MAX"))
    if isinstance(found, list) and PROCESSES in found:
        while True:
            signal.pause()

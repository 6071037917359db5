"""Measures how late programs get a processor, with a process beside them that sleeps and records its late wake-ups.

The emulator may have real-time priority, so it may be on time although programs are late.
"""

from __future__ import annotations

import os
import signal
import time

from bentpipe.emulation import signals

SLEEP_S = 0.01
STEP_S = 0.00025
"""Lateness is counted in steps of this size."""
STEPS = 4000
"""The last step counts all later wake-ups."""


class Wakes:
    """A process that sleeps and wakes, with the scheduling of programs at hosts."""

    def __init__(self, process: int, report: int) -> None:
        self.process = process
        self.report = report

    @classmethod
    def start(cls) -> Wakes:
        """Start the process. The caller has one thread."""
        report, given = os.pipe()
        with signals.hold_back():
            process = os.fork()
            if not process:
                try:
                    _sleep_and_wake(given)
                finally:
                    os._exit(0)
        os.close(given)
        return cls(process, report)

    def stop(self) -> list[int]:
        """End the process and return its counts of late wake-ups by step; empty if it was killed."""
        os.kill(self.process, signal.SIGTERM)
        with os.fdopen(self.report, "rb") as report:
            text = report.read()
        os.waitpid(self.process, 0)
        return [int(count) for count in text.split()]


class _EndError(Exception):
    pass


def _end(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _EndError


def _sleep_and_wake(given: int) -> None:
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    counts = [0] * STEPS
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, _end)
        signals.release()
        while True:
            due_s = time.monotonic() + SLEEP_S
            time.sleep(SLEEP_S)
            counts[min(int((time.monotonic() - due_s) / STEP_S), STEPS - 1)] += 1
    except _EndError:
        os.write(given, " ".join(map(str, counts)).encode("ascii"))


def later_than(counts: list[int], limit_s: float) -> int:
    """Counts the wake-ups later than a limit."""
    return sum(counts[max(round(limit_s / STEP_S), 1) :])

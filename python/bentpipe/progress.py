"""How far the work is: one class for every verb, for terminals, notebooks and pages alike."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Progress:
    """How far an experiment is. The same object is passed each time, and changes."""

    total: int = 0
    """Runs that are wanted; with `until` it grows."""
    reused: int = 0
    """Of these, runs that were in the store already."""
    done: int = 0
    """Runs that ended since the beginning, here or in another process that shares the store."""
    failed: int = 0
    running: int = 0
    under_way: float = 0.0
    """Of runs that go on in this process, how much is done, in runs."""
    simulated_s: float | None = None
    """Of a single run, the simulated time that it has reached."""
    doing: str = ""
    """What is at hand: of `reproduce`, whose runs are claims and figures, one of them."""
    began_s: float = field(default_factory=time.monotonic)
    make_result: Callable[[], Any] = field(default=lambda: None, repr=False)

    def result(self) -> Any:
        """What the runs that have ended give, as the verb returns it at the end: a `Sweep`, `Comparison` or `Mix`.

        It is made when asked for, which takes as long as it does at the end. Ask within the callable that was passed as
        `progress`, in its thread. None as long as there is nothing: a comparison or mix needs a replication that all
        have finished; a single run and `reproduce` have no part of a result.
        """
        return self.make_result()

    @property
    def left(self) -> int:
        """Runs that are wanted and have not ended."""
        return self.total - self.reused - self.done - self.failed

    @property
    def share(self) -> float:
        """How much of the work is done, 0 to 1."""
        return min((self.total - self.left + self.under_way) / self.total, 1.0) if self.total else 0.0

    @property
    def left_s(self) -> float | None:
        """How long the rest will take, by what has been done since the beginning; None if nothing has."""
        done = self.done + self.failed + self.under_way
        elapsed_s = time.monotonic() - self.began_s
        return elapsed_s / done * (self.left - self.under_way) if done > 0 else None

    @property
    def label(self) -> str:
        """Such as `1,200 of 2,000 runs, 800 reused, 4 running, 85 runs/s`; for a single run, the simulated time."""
        if self.doing:
            return self.doing if self.total == 1 else f"{self.doing}, {self.done + 1} of {self.total}"
        if self.simulated_s is not None:
            return f"simulated {self.simulated_s:.4g} s"
        elapsed_s = max(time.monotonic() - self.began_s, 1e-9)
        rate = (self.done + self.failed) / elapsed_s
        text = f"{self.total - self.left:,} of {self.total:,} runs"
        text += f", {self.reused:,} reused" if self.reused else ""
        text += f", {self.running:,} running" if self.running else ""
        text += f", {self.failed:,} failed" if self.failed else ""
        return text + (f", {rate:.3g} runs/s" if rate else "")

    def __str__(self) -> str:
        """The label, and the time that is left."""
        left_s = self.left_s
        return self.label + (f", {clock(left_s)} left" if left_s and self.left else "")


def clock(seconds: float) -> str:
    """Such as `9 s`, `12:30` or `3:04:05`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def watch(progress: Callable[[Progress], object] | bool | None) -> Callable[[Progress], object] | None:
    """The callable for `progress`: itself, a line on the error output for True, else None."""
    if isinstance(progress, bool):
        return _Line() if progress else None
    return progress


class _Line:
    """A line on the error output that each call overwrites, in terminals and notebooks."""

    def __init__(self) -> None:
        self._width = 0

    def __call__(self, progress: Progress) -> None:
        left_s = progress.left_s
        left = "" if left_s is None else f", {clock(left_s)} left"
        text = f"{progress.label}, {progress.share:.0%}{left}"
        # What a longer one before has left is written over.
        print(f"\r{text:<{self._width}}", end="\n" if progress.share >= 1 else "", file=sys.stderr, flush=True)
        self._width = len(text)

"""How far a command is, on the terminal's error output."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from rich.progress import Progress as RichProgress

APPEARS_AFTER_S = 1
"""A bar for shorter work would only flicker."""


class Progress(Protocol):
    """What an experiment reports while it runs."""

    @property
    def done(self) -> int: ...

    @property
    def total(self) -> int: ...

    @property
    def share(self) -> float:
        """How much of the work is done, 0 to 1."""

    @property
    def label(self) -> str:
        """What is being done."""

    @property
    def left_s(self) -> float | None:
        """How long the rest will take."""


class Bar:
    """A bar on a terminal for work that takes more than a second. It is passed as `progress`.

    Parameters
    ----------
    begun : callable, optional
        Called once, when the work is under way: what was asked for has been checked by then.
    is_quiet : bool
        Show nothing.
    is_summed_up : bool
        Print a line at the end that says what was done, also without a terminal.
    """

    def __init__(
        self, begun: Callable[[], object] | None = None, *, is_quiet: bool = False, is_summed_up: bool = False
    ) -> None:
        self._begun = begun
        self._is_shown = not is_quiet and sys.stderr.isatty()
        self._is_summed_up = is_summed_up and not is_quiet
        self._bar: RichProgress | None = None
        self._last: Progress | None = None
        self._began_s = monotonic()

    def __enter__(self) -> Bar:
        return self

    def __call__(self, *told: Any) -> None:
        progress = self._last = _progress(*told, began_s=self._began_s)
        if self._begun is not None and progress.share > 0:
            begun, self._begun = self._begun, None
            begun()
        if not self._is_shown or monotonic() - self._began_s < APPEARS_AFTER_S:
            return
        if self._bar is None:
            self._bar = _bar()
            self._bar.add_task("", total=1.0, left="")
            self._bar.start()
        left_s = progress.left_s
        left = "" if left_s is None else f"{_clock(left_s)} left"
        self._bar.update(self._bar.task_ids[0], description=progress.label, completed=progress.share, left=left)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self._is_summed_up and self._last is not None and self._last.total:
            print(f"{self._last.label} in {monotonic() - self._began_s:.3g} s", file=sys.stderr)


def _bar() -> RichProgress:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[left]}"))
    return RichProgress(*columns, console=Console(stderr=True), transient=True)


def _clock(seconds: float) -> str:
    """Such as `9 s`, `12:30` or `3:04:05`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


class _Step(NamedTuple):
    """A `Progress` of what reports a share alone."""

    label: str
    share: float
    left_s: float | None
    done: int = 0
    total: int = 0


def _progress(*told: Any, began_s: float) -> Progress:
    """What an experiment reports as a `Progress`: some report a share, and what it is of."""
    first, share = told[0], told[-1]
    if isinstance(share, float):
        left_s = (monotonic() - began_s) * (1 - share) / share if share > 0 else None
        return _Step(first if len(told) > 1 else "simulating", share, left_s)
    if hasattr(first, "share"):
        reported: Progress = first
        return reported
    share = 1 - first.left / first.total if first.total else 0.0
    return _Step(str(first), share, None, first.total - first.left, first.total)

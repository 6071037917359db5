"""Progress of work: one class for every verb, and bars that show it on terminals and in notebooks."""

from __future__ import annotations

import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from bentpipe import terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from types import TracebackType

    from rich.progress import Progress as RichProgress

APPEARS_AFTER_S = 1.0
"""Shortest duration of work that gets a bar, in seconds. A bar for shorter work would only flicker."""
EVERY_S = 0.2
"""Interval between changes of a bar in a notebook, in seconds. Each change is a message to the page."""


@dataclass
class Progress:
    """The state of an experiment. Every call of `progress` receives the same object with new values."""

    total: int = 0
    """Requested runs. The number grows with `until`."""
    reused: int = 0
    """Requested runs that were already in the store."""
    done: int = 0
    """Runs that ended since the beginning, here or in another process that shares the store."""
    failed: int = 0
    running: int = 0
    under_way: float = 0.0
    """Finished parts of the runs of this process that continue, added up: 1.5 for three half-finished runs."""
    simulated_s: float | None = None
    """Simulated time of a single run so far, in seconds."""
    doing: str = ""
    """The current claim or figure of `reproduce`. `total` and `done` then count claims and figures, not runs."""
    began_s: float = field(default_factory=time.monotonic)
    make_result: Callable[[], Any] = field(default=lambda: None, repr=False)

    def result(self) -> Any:
        """The result so far, as the verb returns it at the end: a `RunResult`, `Sweep`, `Comparison` or `Mix`.

        Each call makes a new result, which takes as long as making the final one. The work continues unchanged. Call
        this method only within the callable that was passed as `progress`, in the same thread. For a single run, the
        result has the tables and series up to `simulated_s`, and `stop` is `interrupted`. A comparison or mix has no
        result before all cases have finished a replication. `reproduce` has no partial result.
        """
        return self.make_result()

    @property
    def left(self) -> int:
        """Number of requested runs that have not ended."""
        return self.total - self.reused - self.done - self.failed

    @property
    def share(self) -> float:
        """Finished share of the work, 0 to 1."""
        return min((self.total - self.left + self.under_way) / self.total, 1.0) if self.total else 0.0

    @property
    def left_s(self) -> float | None:
        """Estimated remaining time in seconds, from the work done since the beginning; None before any work is done."""
        done = self.done + self.failed + self.under_way
        elapsed_s = time.monotonic() - self.began_s
        return elapsed_s / done * (self.left - self.under_way) if done > 0 else None

    @property
    def label(self) -> str:
        """Write the state of the work.

        Example: `1,200 of 2,000 runs, 800 reused, 4 running, 85 runs/s`. For a single run, it is the simulated time.
        """
        if self.doing:
            return (
                self.doing
                if self.total == 1
                else f"{self.doing}, {min(self.total - self.left + 1, self.total)} of {self.total}"
            )
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
        """Write the label and the remaining time."""
        left_s = self.left_s
        return self.label + (f", {clock(left_s)} left" if left_s and self.left else "")


def clock(seconds: float) -> str:
    """Write a duration: `9 s`, `12:30` or `3:04:05`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


Watch = Callable[[Progress], object]
"""A callable that receives the state of the work several times a second."""
Wish = Watch | bool | None
"""Values of the parameter `progress`."""


def choose_watch(wish: Wish) -> AbstractContextManager[Watch | None]:
    """Choose the callable that a verb calls with its progress: the given callable, a bar, or none.

    Parameters
    ----------
    wish : callable, bool or None
        True shows a bar, in a notebook or on the terminal; False shows none. None shows a bar in a notebook, if the
        work takes more than a second and is not a part of larger work.
    """
    if callable(wish):
        return _open(nullcontext(wish))
    if wish not in (None, True, False):
        raise TypeError(f"progress is {wish!r}: expected True, False, or a callable that takes a Progress")
    if is_notebook() and (wish or (wish is None and not _Open.count)):
        return _open(NotebookBar(0.0 if wish else APPEARS_AFTER_S))
    return _open(TerminalBar(0.0) if wish else nullcontext())


@contextmanager
def telling(watch: Watch | None, doing: str) -> Iterator[None]:
    """Show the name of a step while it lasts, if there is a bar. The core does not report progress within the step."""
    # Only the user's thread calls the user's callable.
    if watch is None or not getattr(watch, "is_bar", False):
        yield
        return
    state, is_done = Progress(total=1, doing=doing), threading.Event()

    def tell() -> None:
        while not is_done.wait(EVERY_S):
            watch(state)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        is_done.set()
        teller.join()


class _Open:
    """Work that has begun and not ended."""

    count = 0


@contextmanager
def _open(bar: AbstractContextManager[Watch | None]) -> Iterator[Watch | None]:
    with bar as watch:
        _Open.count += 1
        try:
            yield watch
        finally:
            _Open.count -= 1


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    # A notebook has loaded IPython.
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class Bar(ABC):
    """A bar for long work: a context that is called with a `Progress`."""

    is_bar = True
    """Only the caller's thread calls other callables."""
    every_s = 0.0
    """Least interval between changes, in seconds."""

    def __init__(self, appears_after_s: float) -> None:
        self._next_s = time.monotonic() + appears_after_s

    def __enter__(self) -> Watch:
        return self

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() >= self._next_s:
            self.show(progress)
            self._next_s = time.monotonic() + self.every_s

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.hide()

    @abstractmethod
    def show(self, progress: Progress) -> None:
        """Show the progress."""

    @abstractmethod
    def hide(self) -> None:
        """Remove the bar."""


class TerminalBar(Bar):
    """A bar on the error output, if that is a terminal."""

    _bar: RichProgress | None = None

    def show(self, progress: Progress) -> None:
        if self._bar is None:
            self._bar = _rich()
            self._bar.add_task("", total=1.0, left="")
            self._bar.start()
        left_s = progress.left_s
        left = "" if left_s is None else f"{clock(left_s)} left"
        label = terminal.visible(progress.label)
        self._bar.update(self._bar.task_ids[0], description=label, completed=progress.share, left=left)

    def hide(self) -> None:
        if self._bar is not None:
            self._bar.stop()


class NotebookBar(Bar):
    """A bar below the cell of a notebook."""

    every_s = EVERY_S
    _shown: Any = None
    """IPython's handle of the bar on the page."""

    def show(self, progress: Progress) -> None:
        self._put_html(f'<progress value="{progress.share:.4f}"></progress> {escape(str(progress))}')

    def hide(self) -> None:
        if self._shown is not None:
            self._put_html("")

    def _put_html(self, html: str) -> None:
        from IPython.display import HTML, display

        if self._shown is None:
            self._shown = display(HTML(html), display_id=True)
        else:
            self._shown.update(HTML(html))


def _rich() -> RichProgress:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as RichProgress

    label = TextColumn("{task.description}", markup=False)
    columns = (label, BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[left]}"))
    # Labels contain names of scenarios, so they are made visible.
    console = Console(file=terminal.as_it_is(sys.stderr))
    if not console.is_terminal:
        # Otherwise older versions of Rich print a new line for a disabled bar.
        console.is_interactive = True
    return RichProgress(*columns, console=console, transient=True, disable=not console.is_terminal)

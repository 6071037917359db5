"""How far a command is, on the terminal's error output."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bentpipe.progress import Progress


@contextmanager
def sharing(what: str, begun: Callable[[], object] = lambda: None) -> Iterator[Callable[[Any], object]]:
    """A bar, if there is a terminal, for work that takes more than a second. `begun` is called when it is under way."""
    if not sys.stderr.isatty():
        yield lambda _: begun()
        return
    from time import monotonic

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=1.0)
    begin = monotonic()

    def tell(progress: Any) -> None:
        begun()
        if not bar.live.is_started and monotonic() - begin > 1:
            bar.start()
        bar.update(task, completed=progress.share)

    try:
        yield tell
    finally:
        bar.stop()


@contextmanager
def counting() -> Iterator[Callable[[Progress], object] | None]:
    """How many runs are done, on the terminal's error output; without a terminal, one line at the end."""
    from time import monotonic

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    bar = Progress(TextColumn("{task.description}"), BarColumn(), console=Console(stderr=True), transient=True)
    task = bar.add_task("preparing", total=None)
    begin, last = monotonic(), None

    def tell(progress: Any) -> None:
        nonlocal last
        last = progress
        if not sys.stderr.isatty():
            return
        if not bar.live.is_started and monotonic() - begin > 1:
            bar.start()
        if progress.total:
            bar.update(task, description=str(progress), total=progress.total, completed=progress.total - progress.left)

    try:
        yield tell
    finally:
        if bar.live.is_started:
            bar.stop()
        if last is not None and last.total:
            print(f"{last} in {monotonic() - begin:.3g} s", file=sys.stderr)


@contextmanager
def doing() -> Iterator[Callable[[str, float], object]]:
    """What is being done and how far it is, on the terminal's error output, if there is one."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda what, share: bar.update(task, description=what, completed=share)

"""Forked processes: a process cannot make tables if its parent made tables before the fork.

Polars, which makes tables, has threads. A fork copies the process without its threads, so a child would wait for them
for ever. Polars cannot start them again. Such a child gets an error with the remedy, and does not hang.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from bentpipe.errors import BentpipeError

TASKS = Path("/proc/self/task")
THREADS = re.compile(r"polars-[0-9]+\n")
"""Names of the threads that Polars starts on demand; any may be the first that runs and has its name.

Threads that Polars has from the start are not needed.
"""


class _State:
    had_threads = False
    """Whether this process had the threads at its last fork."""
    is_broken = False
    """Whether threads were lost."""


def refuse() -> None:
    """Raise an error in a process that cannot make tables any more.

    Raises
    ------
    BentpipeError
        The parent process made tables before the fork.
    """
    if _State.is_broken:
        raise BentpipeError(
            "this process was forked after bentpipe or Polars had started threads, which a fork does not copy\n"
            '  start workers with multiprocessing.get_context("spawn"), or before the first run;'
            " compare and sweep use all cores without them"
        )


def _look() -> None:
    _State.had_threads = _State.is_broken or ("polars" in sys.modules and _has_threads())


def _has_threads() -> bool:
    """Whether Polars has started its threads. On systems that do not list threads: whether Polars is loaded."""
    return not TASKS.exists() or any(THREADS.fullmatch(_name(task)) for task in TASKS.iterdir())


def _name(task: Path) -> str:
    """Name of a thread, with the end of its line; nothing if the thread has ended."""
    try:
        return (task / "comm").read_text(encoding="utf-8")
    except OSError:
        return ""


def _begin() -> None:
    _State.is_broken = _State.had_threads


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_look, after_in_child=_begin)

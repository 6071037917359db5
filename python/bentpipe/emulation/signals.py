"""Holds signals back around a fork, so that the child never runs a handler of its parent."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ENDS = (signal.SIGINT, signal.SIGTERM)
"""Signals that ask for the end."""


@contextlib.contextmanager
def hold_back() -> Iterator[None]:
    """Hold `ENDS` back in this process, and in its children until they call `release`.

    A terminal also sends signals to a child that has just been forked. In the child, Python would call the parent's
    handler, even during Python's own work after the fork. Python would then print the error that the handler raises.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def release() -> None:
    """Let `ENDS` through. A child has its own handlers before it calls this."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)

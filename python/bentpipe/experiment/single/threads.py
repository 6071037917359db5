"""Threads that execute runs. Only the main thread receives signals such as Ctrl-C, so it stops the other threads."""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from bentpipe.errors import SenderError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from types import FrameType

    T = TypeVar("T")

GRACE_S = 0.5
"""Time in seconds for runs to stop by themselves, before congestion controls in Python are interrupted."""
POLL_S = 0.1
_NAME = "bentpipe-run"


class Pool:
    """A thread pool for runs. Work must return soon after `is_stopped` is true.

    A congestion control in Python may never return control. So `close` raises `KeyboardInterrupt` in threads that have
    not stopped by themselves. This ends a loop in Python, but not a call of another library, such as `time.sleep`.
    Another Ctrl-C stops waiting for such calls.
    """

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix=_NAME)
        self._stop = threading.Event()
        self._is_closed = False
        self._at_work: set[threading.Thread] = set()
        self._ended = threading.Condition()
        self.interrupted: list[str] = []
        """Places of interrupted congestion controls, such as `MyIdea.on_ack, flow bulk`."""

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Execute work in one of the threads."""
        return self._pool.submit(self._do, work)

    def is_stopped(self) -> bool:
        """Whether work should return."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Request all work to return."""
        self._stop.set()

    def close(self) -> None:
        """Stop all work and wait until it has ended. A second call, after Ctrl-C in the first, does not wait."""
        if self._is_closed:
            return
        self._is_closed = True
        self.stop()
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._ended:
            self._ended.wait_for(lambda: not self._at_work, GRACE_S)
            left = list(self._at_work)
            # Under the lock, and once per thread: a thread that has finished its work must not be interrupted.
            for thread in left:
                ident = ctypes.c_ulong(thread.ident or 0)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(KeyboardInterrupt))
        for thread in left:
            # Repeatedly: in some libraries an endless wait continues after a signal.
            while thread.is_alive():
                thread.join(POLL_S)
        self._pool.shutdown()

    def _do(self, work: Callable[[], T]) -> T:
        thread = threading.current_thread()
        with self._ended:
            self._at_work.add(thread)
        try:
            return work()
        except KeyboardInterrupt as interrupt:
            # A congestion control that raised the interrupt gives its place. Only `close` interrupts them.
            if str(interrupt) and not self._is_closed:
                raise raised_by_sender(interrupt) from interrupt
            self.interrupted += filter(None, [str(interrupt)])
            raise
        finally:
            with self._ended:
                self._at_work.discard(thread)
                self._ended.notify_all()


def raised_by_sender(interrupt: KeyboardInterrupt) -> SenderError:
    """Return the error for a `KeyboardInterrupt` that a congestion control raised itself, without Ctrl-C or a stop."""
    return SenderError(f"{interrupt}: it raised KeyboardInterrupt\n  expected another exception")


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Lose no Ctrl-C: it raises `KeyboardInterrupt` immediately, in the yielded function, or at the end.

    Python ignores an exception in a callback of the garbage collector or in `__del__`, so the work would continue.
    Call the yielded function to raise it. It has no effect outside the main thread, or if Ctrl-C is ignored or has a
    custom handler.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: None
        return
    is_interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal is_interrupted
        is_interrupted = True
        signal.default_int_handler(number, frame)

    def check() -> None:
        if is_interrupted:
            raise KeyboardInterrupt

    def report(ignored: sys.UnraisableHookArgs) -> None:
        # Other exceptions are ignored elsewhere.
        if not issubclass(ignored.exc_type, KeyboardInterrupt):
            report_before(ignored)

    report_before, sys.unraisablehook = sys.unraisablehook, report
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield check
        check()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = report_before


@contextmanager
def ignore_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C within, and let processes that start within ignore it. No effect outside of the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def is_anyone_left() -> bool:
    """Whether a thread still works and does not stop: the end of the process would wait for it for ever."""
    return any(thread.name.startswith(_NAME) for thread in threading.enumerate())

"""Threads that do runs, and how they are stopped: signals such as Ctrl-C are heard by the main thread only."""

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
"""How long runs may take to stop by themselves, before congestion controls in Python are interrupted."""
POLL_S = 0.1
_NAME = "bentpipe-run"


class Pool:
    """A thread pool for runs. Work must return soon after `is_stopped` says so.

    A congestion control in Python may never give control back. So `close` raises `KeyboardInterrupt` in what has not
    stopped by itself. That ends a loop in Python, but no call of another library, such as `time.sleep`; whoever presses
    Ctrl-C again need not wait for these.
    """

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix=_NAME)
        self._stop = threading.Event()
        self._is_closed = False
        self._at_work: set[threading.Thread] = set()
        self._ended = threading.Condition()
        self.interrupted: list[str] = []
        """Where congestion controls were that had to be interrupted, such as `MyIdea.on_ack, flow bulk`."""

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Have it done by one of the threads."""
        return self._pool.submit(self._do, work)

    def is_stopped(self) -> bool:
        """Whether work is to return."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask all work to return."""
        self._stop.set()

    def close(self) -> None:
        """Stop all work and wait until it has ended; a second call, after Ctrl-C in the first, does not wait."""
        if self._is_closed:
            return
        self._is_closed = True
        self.stop()
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._ended:
            self._ended.wait_for(lambda: not self._at_work, GRACE_S)
            left = list(self._at_work)
            # Under the lock, and each once: a thread must not be interrupted when it is no longer at work.
            for thread in left:
                ident = ctypes.c_ulong(thread.ident or 0)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(KeyboardInterrupt))
        for thread in left:
            # Again and again: some libraries let a wait without end go on after a signal.
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
            # One that a congestion control raised says where; only `close` interrupts them.
            if str(interrupt) and not self._is_closed:
                raise raised_by_sender(interrupt) from interrupt
            self.interrupted += filter(None, [str(interrupt)])
            raise
        finally:
            with self._ended:
                self._at_work.discard(thread)
                self._ended.notify_all()


def raised_by_sender(interrupt: KeyboardInterrupt) -> SenderError:
    """Where no signal is heard and nobody asked to stop, a congestion control did it."""
    return SenderError(f"{interrupt}: it raised KeyboardInterrupt\n  expected another exception")


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Lose no Ctrl-C within: `KeyboardInterrupt` is raised as usual, and by the function given here, and at the end.

    Python ignores what is raised in a callback of the garbage collector or in `__del__`, and the work would go on.
    Outside of the main thread, and where Ctrl-C is ignored or has another handler than Python's, nothing changes.
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
        # It is not ignored here.
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


def is_anyone_left() -> bool:
    """Whether a thread is still at work that does not stop. The process would wait for it for ever."""
    return any(thread.name.startswith(_NAME) for thread in threading.enumerate())

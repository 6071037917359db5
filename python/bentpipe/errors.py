"""What can go wrong, for callers who want to catch it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class BentpipeError(Exception):
    """Base of all errors that bentpipe raises on purpose; its text is meant for people."""


class ScenarioError(BentpipeError, ValueError):
    """A scenario, or a request about one, makes no sense. The text lists all problems, with their places."""


class NetworkError(BentpipeError, ValueError):
    """An open network was asked for what it cannot do, such as a packet in its past. It has not changed."""


class RunError(BentpipeError, RuntimeError):
    """A simulation failed: a bug in bentpipe. The text says how to see it again."""


class SenderError(BentpipeError, RuntimeError):
    """A congestion control in Python failed, and the run with it. The text has the simulated time and the traceback."""


class PaperError(BentpipeError, ValueError):
    """A paper's folder makes no sense, or a measure of it failed. The text has the file, the claim and the remedy."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended the work early; the text says how far it was, and in which congestion control in Python, if in one.

    Attributes
    ----------
    result : RunResult, Comparison or None
        What was finished until then; None if nothing was.
    """

    def __init__(self, message: str, make_result: Callable[[], Any] = lambda: None, *, where: str = "") -> None:
        super().__init__(f"{message}, in {where}" if where else message)
        self._make_result = make_result

    @cached_property
    def result(self) -> Any:
        # Made when asked for: who pressed Ctrl-C should not wait for tables.
        return self._make_result()

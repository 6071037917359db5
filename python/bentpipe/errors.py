"""What can go wrong, for callers who want to catch it."""

from __future__ import annotations

from typing import Any


class BentpipeError(Exception):
    """Base of all errors that bentpipe raises on purpose; its text is meant for people."""


class ScenarioError(BentpipeError, ValueError):
    """A scenario, or a request about one, makes no sense. The text lists all problems, with their places."""


class RunError(BentpipeError, RuntimeError):
    """A simulation failed: a bug in bentpipe. The text says how to see it again."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended the work early.

    Attributes
    ----------
    result : RunResult, Comparison or None
        What was finished until then; None if nothing was.
    """

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result

"""What can go wrong, for callers who want to catch it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bentpipe.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Callable

SHOWN_MAX = 50
"""Problems in the text of an error; the rest are counted."""


class BentpipeError(Exception):
    """Base of all errors that bentpipe raises on purpose; its text is for people.

    The command line writes `error:` before it. Hidden characters of names and values are numbers in it.
    """

    def __str__(self) -> str:
        return visible(super().__str__())


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a scenario.

    Attributes
    ----------
    message : str
        What is wrong, with the key and its value.
    key : str
        The dotted key concerned, such as `link.sat.rate`; empty where the whole is.
    value : str, int, float, bool or None
        What stands at the key; None if nothing does, or a table or a list. Long text is cut.
    expected : str
        What would have been right, in words; may be empty.
    known : tuple of str
        The names that would have been right, where it must be one of them.
    suggestion : str
        What was probably meant: a name, a value or a line such as `app = { kind = "file", size = ... }`; may be empty.
    place : str
        For messages: `FILE:LINE:COLUMN`, or the option of the command line, `--set KEY`; empty for values of Python.
    file : str or None
        Path or name of the text, if the problem stands in one. So do the four numbers.
    line, column, end_line, end_column : int or None
        Its first character, and the one behind its last; both count from 1. Lines of more than 1000 bytes are counted
        in bytes.
    severity : "error" or "warning"
        Whether the scenario cannot be run, or can, and this is a note or hint on it (`Scenario.warnings`).
    """

    message: str
    key: str = ""
    value: str | float | bool | None = None
    expected: str = ""
    known: tuple[str, ...] = ()
    suggestion: str = ""
    place: str = ""
    file: str | None = None
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    severity: str = "error"

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, fit for JSON."""
        return {**asdict(self), "known": list(self.known)}

    def __str__(self) -> str:
        meant = self.suggestion if " = " in self.suggestion else f'"{self.suggestion}"'
        more = [
            *([f"known: {', '.join(self.known)}"] if self.known else []),
            *([self.expected] if self.expected else []),
            *([f"did you mean {meant}?"] if self.suggestion else []),
        ]
        place = f"{self.message:<65}  {self.place}" if self.place else self.message
        return f"{place}\n  {'; '.join(more)}" if more else place


class ScenarioError(BentpipeError, ValueError):
    """A scenario, or a request about one, makes no sense. The text lists all problems, with their places.

    Parameters
    ----------
    *what : Problem or str
        What is wrong; of a text, the first line is the message, and the rest what is expected.
    where : str
        What all of it is about, as a last line.

    Attributes
    ----------
    problems : tuple of Problem
        Everything that is wrong, in the order of the file; at least one.
    """

    def __init__(self, *what: Problem | str, where: str = "") -> None:
        super().__init__(*what)
        self.problems = tuple(each if isinstance(each, Problem) else _problem(each) for each in what)
        self.where = where

    def __str__(self) -> str:
        return self.text()

    def text(self, begin: str = "") -> str:
        """All problems, each after this beginning, and how many they are."""
        count = len(self.problems)
        lines = [f"{begin}{problem}" for problem in self.problems[:SHOWN_MAX]]
        lines += [f"... and {count - SHOWN_MAX} more"] if count > SHOWN_MAX else []
        lines += [f"{count} problems; nothing was run"] if count > 1 else []
        return visible("\n".join([*lines, *([f"  {self.where}"] if self.where else [])]))


def _problem(text: str) -> Problem:
    message, _, expected = text.partition("\n")
    return Problem(message, expected=expected.strip())


class SkyError(BentpipeError, ValueError):
    """A place, constellation, file of element sets or number of a sky makes no sense. The text says which and why."""


class NetworkError(BentpipeError, ValueError):
    """An open network was asked for what it cannot do, such as a packet in its past. It has not changed."""


class EmulationError(BentpipeError, RuntimeError):
    """Real programs could not be run over a scenario: the system does not allow it, or one did not start."""


class RunError(BentpipeError, RuntimeError):
    """A simulation failed: a bug in bentpipe. The text says how to see it again."""


class SenderError(BentpipeError, RuntimeError):
    """A congestion control, or a function of the network, in Python failed, and the run with it.

    The text has the simulated time and the traceback.
    """


class ClusterError(BentpipeError, RuntimeError):
    """The cluster of a sweep is gone. Finished runs are in the store, and the text has the command that continues."""


class PaperError(BentpipeError, ValueError):
    """A paper's folder makes no sense, or a measure of it failed. The text has the file, the claim and the remedy."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended the work early; the text says how far it was, and in which class in Python, if in one.

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

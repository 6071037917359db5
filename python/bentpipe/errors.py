"""Errors and interrupts that callers can catch."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from bentpipe.terminal import visible

__all__ = [
    "BentpipeError",
    "ClusterError",
    "EmulationError",
    "FitError",
    "Interrupted",
    "NetworkError",
    "PaperError",
    "Problem",
    "RunError",
    "ScenarioError",
    "SenderError",
    "SkyError",
]


def __dir__() -> list[str]:
    return list(__all__)


KNOWN_MAX = 8
"""Maximum number of known names that an error lists: the nearest."""
SHOWN_MAX = 50
"""Maximum number of problems that the text of an error lists. The rest are counted."""

Spelling = Callable[[str, Any, str], str]
"""Spells a parameter from its name, its value (None for only the name) and the sign between them."""


class Word(str):
    """A placeholder for a value in the text of an error, printed as it is: `NAME`."""

    __slots__ = ()


def argument(name: str, value: Any, sign: str = "=") -> str:
    """Spell a parameter as in a call: `jobs=2`, `against=NAME`, or only its name."""
    if value is None:
        return name
    return f"{name}{sign}{value if isinstance(value, Word) else repr(value)}"


def spell_text(text: str, asked: Mapping[str, Any], spelling: Spelling) -> str:
    """Replace `{name}` and `{name = }` in a text by the parameter.

    >>> spell_text("{jobs} with {on}; {n = }", {"jobs": 2, "on": Word("WHERE"), "n": 3}, argument)
    'jobs=2 with on=WHERE; n = 3'
    """

    def spell_match(found: re.Match[str]) -> str:
        name, sign = found.groups()
        return spelling(name, asked[name], sign or "=")

    names = "|".join(map(re.escape, asked))
    # In one pass: a value may contain braces, too.
    return re.sub(rf"\{{({names})( = )?\}}", spell_match, text) if asked else text


def expected_names(name: str, known: Sequence[str], hint: str = "", command: str = "") -> str:
    """Write the expectation of a name: the hint, then the known names, or those that are near to a wrong one.

    >>> expected_names("renoo", ["reno", "sack"], "'reno'")
    "did you mean 'reno'? known: reno, sack"
    >>> expected_names("12", [f"n{number}" for number in range(20)], command="bentpipe list cc")
    'known: n12, n2, n1, n19, n18, n17, n16, n15 (8 of 20, all: bentpipe list cc)'
    """
    listed = ", ".join(known) or "none"
    if len(known) > KNOWN_MAX:
        near = get_close_matches(name, known, n=KNOWN_MAX, cutoff=0.3)
        if not hint or not near:
            near = [*near, *(each for each in known if each not in near)][:KNOWN_MAX]
        listed = f"{', '.join(near)} ({len(near)} of {len(known)}{f', all: {command}' if command else ''})"
    return f"did you mean {hint}? known: {listed}" if hint else f"known: {listed}"


class BentpipeError(Exception):
    """Base of all errors that bentpipe raises on purpose. Its text is for people.

    The command line writes `error:` before the text. In names and values, hidden characters are written as numbers.

    Parameters
    ----------
    *parts
        Text, with `{name}` in the place of a parameter of the call.
    **asked
        The value of each of these parameters. The text for callers has `name=value`, or only `name` if the value is
        None. The text of the command line has the option.
    """

    def __init__(self, *parts: object, **asked: Any) -> None:
        super().__init__(*parts)
        self.asked = asked

    def __str__(self) -> str:
        return self.text()

    def text(self, begin: str = "", spelling: Spelling = argument) -> str:
        """Return the text after a beginning, with parameters in a spelling."""
        return visible(begin + spell_text(super().__str__(), self.asked, spelling))


TOPICS = ("app", "cc", "ecn", "error", "middlebox", "pacing", "queue", "recovery", "scheduler", "verdict")
"""Keys whose values `bentpipe list KEY` explains."""


@dataclass(frozen=True)
class Problem:
    """One problem of a scenario.

    Attributes
    ----------
    message : str
        The fault, with its key and value.
    key : str
        The dotted key, such as `link.sat.rate`; empty if the problem concerns the whole scenario.
    value : str, int, float, bool or None
        The value of the key; None for a missing value, a table or a list. Long text is cut.
    expected : str
        Description of valid values; may be empty.
    known : tuple of str
        The valid names, if the value must be one of them.
    suggestion : str
        The value that was probably intended: a name, a value or a line such as `app = { kind = "file", size = ... }`;
        may be empty.
    place : str
        Place in messages: `FILE:LINE:COLUMN`, or the option of the command line, `--set KEY`. The text for callers has
        the parameter instead: `sets["KEY"]`.
    file : str or None
        Path or name of the text that contains the problem. None, like the four numbers, if no text contains it.
    line, column, end_line, end_column : int or None
        The first character, and the character after the last; all count from 1. Columns of lines above 1000 bytes are
        counted in bytes.
    severity : "error" or "warning"
        `error` if the scenario cannot run; `warning` for notes and hints (`Scenario.warnings`).
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
        """Return all attributes as plain data, fit for JSON."""
        return {**asdict(self), "known": list(self.known)}

    def __str__(self) -> str:
        return self.text()

    def text(self, spelling: Spelling = argument) -> str:
        """Return the message, its place, and the expected values."""
        more = [self._expectation(), *([self.expected] if self.expected else [])]
        more = [each for each in more if each]
        where = _in_call(self.place) if spelling is argument else self.place
        place = f"{self.message:<65}  {where}" if where else self.message
        return f"{place}\n  {'; '.join(more).replace('?; ', '? ')}" if more else place

    def _expectation(self) -> str:
        """Write the hint and the known names."""
        meant = ""
        if self.suggestion:
            meant = self.suggestion if " = " in self.suggestion else f'"{self.suggestion}"'
        if not self.known:
            return f"did you mean {meant}?" if meant else ""
        last = self.key.removesuffix(".kind").rpartition(".")[2]
        command = f"bentpipe list {last}" if last in TOPICS else "bentpipe schema"
        return expected_names(str(self.value or last), self.known, meant, command)


_OPTION = re.compile(r"--(set|vary|over|until)\b(?: (.+))?")
_PARAMETERS = {"set": "sets", "vary": "vary", "over": "vary", "until": "until"}


def _in_call(place: str) -> str:
    """Name the place of a problem for Python callers, by the parameter of the option."""
    found = _OPTION.fullmatch(place)
    if found is None:
        return place
    return _PARAMETERS[found[1]] + (f'["{found[2]}"]' if found[2] else "")


class ScenarioError(BentpipeError, ValueError):
    """An invalid scenario, or an invalid request about a scenario. The text lists all problems with their places.

    Parameters
    ----------
    *what : Problem or str
        The problem. If it is a text, its first line is the message, and the rest is the expectation.
    where : str
        The subject of all problems, as a last line.
    **asked
        Parameters that the text names, as for `BentpipeError`.

    Attributes
    ----------
    problems : tuple of Problem
        All problems in the order of the file; at least one.
    """

    def __init__(self, *what: Problem | str, where: str = "", **asked: Any) -> None:
        super().__init__(*what, **asked)
        self.problems = self._problems(argument)
        self.where = where

    def _problems(self, spelling: Spelling) -> tuple[Problem, ...]:
        return tuple(
            replace(
                each,
                message=spell_text(each.message, self.asked, spelling),
                expected=spell_text(each.expected, self.asked, spelling),
            )
            for each in map(_problem, self.args)
        )

    def change_problems(
        self, change: Callable[[Problem], Problem] = lambda each: each, where: str | None = None
    ) -> ScenarioError:
        """Return the error with each problem changed, or with another last line. Its parameters stay."""
        problems = map(change, map(_problem, self.args))
        return ScenarioError(*problems, where=self.where if where is None else where, **self.asked)

    def text(self, begin: str = "", spelling: Spelling = argument) -> str:
        """Return all problems, each after this beginning, and their number."""
        count = len(self.problems)
        lines = [f"{begin}{problem.text(spelling)}" for problem in self._problems(spelling)[:SHOWN_MAX]]
        lines += [f"... and {count - SHOWN_MAX} more"] if count > SHOWN_MAX else []
        lines += [f"{count} problems; nothing was run"] if count > 1 else []
        return visible("\n".join([*lines, *([f"  {self.where}"] if self.where else [])]))


def _problem(what: Problem | str) -> Problem:
    if isinstance(what, Problem):
        return what
    message, _, expected = what.partition("\n")
    return Problem(message, expected=expected.strip())


class SkyError(BentpipeError, ValueError):
    """An invalid place, constellation, file of element sets or number of a sky.

    The text gives the value and the reason.
    """


class FitError(BentpipeError, ValueError):
    """An invalid measurement, or an invalid request about one. The text lists all problems with their places."""


class NetworkError(BentpipeError, ValueError):
    """An impossible request to an open network, such as a packet in its past. The network has not changed."""


class EmulationError(BentpipeError, RuntimeError):
    """Real programs could not run over a scenario: the system forbids it, or a program did not start."""


class RunError(BentpipeError, RuntimeError):
    """A simulation failed: a bug in bentpipe. The text explains how to reproduce it."""


class SenderError(BentpipeError, RuntimeError):
    """A congestion control or middlebox in Python failed, and the run with it.

    The text has the simulated time and the traceback.
    """


class ClusterError(BentpipeError, RuntimeError):
    """The cluster of a sweep has disappeared.

    Finished runs are in the store, and the text has the command that continues.
    """


class PaperError(BentpipeError, ValueError):
    """A paper's folder is invalid, or a measure of the paper failed.

    The text has the file, the claim and the remedy.
    """


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended the work early. The text has the progress, and the Python class that was running, if any.

    Attributes
    ----------
    result : RunResult, Comparison or None
        The finished part of the work; None without any.
    where : str
        The Python class that was running; may be empty.
    """

    def __init__(self, message: str, make_result: Callable[[], Any] = lambda: None, *, where: str = "") -> None:
        super().__init__(f"{message}, in {where}" if where else message)
        self.where = where
        self._make_result = make_result

    @cached_property
    def result(self) -> Any:
        # Made on demand: a user who pressed Ctrl-C should not wait for tables.
        return self._make_result()

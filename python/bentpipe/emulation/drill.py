"""`bentpipe drill`: conformance scripts, as they are and through the codec of real packets."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bentpipe import _core
from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError
from bentpipe.files import reason

ENDING = ".script"


@dataclass(frozen=True)
class Difference:
    """Where a connection first did not do what a script asks for.

    Attributes
    ----------
    title : str
        The case: the section that it is about, and what that asks for.
    line : int
        Line of the script, from 1.
    text : str
        What stands in it.
    what : str
        What was expected, and what came.
    """

    title: str
    line: int
    text: str
    what: str


@dataclass(frozen=True)
class Drilled:
    """What a script found.

    Attributes
    ----------
    script : str
        Its name, or the path that was given.
    cases : int
        Situations in it.
    core : tuple of Difference
        Cases in which the connection differs, given segments as values.
    codec : tuple of Difference
        The same where each segment is made into an IPv4 packet, with options and checksums, and read again.
    """

    script: str
    cases: int
    core: tuple[Difference, ...]
    codec: tuple[Difference, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing differs."""
        return not self.core and not self.codec

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {**asdict(self), "holds": self.holds}


def shipped() -> dict[str, str]:
    """By name without ending, the text of each script that comes with bentpipe."""
    return {name.removesuffix(ENDING): text for name, text in _core.conformance_scripts()}


def drill(script: str) -> Drilled:
    """Run a script: a name such as `rfc5681`, or the path of a file.

    Raises
    ------
    BentpipeError
        There is no such script, or it cannot be read; the text has the line.
    """
    text = _text(script)
    lines = text.split("\n")
    found: list[tuple[Difference, ...]] = []
    cases = 0
    for through_codec in (False, True):
        try:
            outcomes = _core.drill(text, through_codec)
        except ValueError as error:
            raise BentpipeError(_unreadable(script, lines, *error.args)) from None
        cases = len(outcomes)
        differences = (
            Difference(title, difference[0], lines[difference[0] - 1].strip(), difference[1])
            for title, difference in outcomes
            if difference is not None
        )
        found.append(tuple(differences))
    if not cases:
        raise BentpipeError(f"{script}: no case in it\n  expected one that begins with a line: = RFC 9293 §3.5  TITLE")
    return Drilled(script, cases, *found)


def _text(script: str) -> str:
    known = shipped()
    name = script.removesuffix(ENDING)
    if name in known and not Path(script).is_file():
        return known[name]
    try:
        return Path(script).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BentpipeError(unknown(script, "a script or a file", known)) from None
    except UnicodeDecodeError:
        raise BentpipeError(f"{script}: not a text in UTF-8") from None
    except OSError as error:
        raise BentpipeError(f"{script}: {reason(error)}") from None
    except ValueError:
        raise BentpipeError(unknown(script, "a script or a file", known)) from None


def _unreadable(script: str, lines: list[str], number: int, what: str) -> str:
    """With the line, and a mark below what is wrong in it."""
    line = lines[number - 1].rstrip("\r")
    # What is wrong stands at the end of the sentence.
    word = what.rpartition(": ")[2]
    at = max(line.find(word), 0) if word else 0
    before = "".join("\t" if letter == "\t" else " " for letter in line[:at])
    return f"{script}:{number}:{at + 1}: {what}\n  {line}\n  {before}^"

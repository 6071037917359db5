"""`bentpipe drill`: runs conformance scripts with segments as values, as encoded packets, and on the kernel's TCP."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _core, arguments
from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError, EmulationError
from bentpipe.files import reason

if TYPE_CHECKING:
    from collections.abc import Iterable

ENDING = ".script"
PACKETDRILL = ".pkt"
"""Ending of scripts in packetdrill's language."""
SHELL_FILE = re.compile(r"[\w./-]+\.sh\b")
LONGEST_FILE = 1 << 16
"""Largest shell file that is read, bytes."""
DEEPEST = 3
"""Longest chain of shell files that name shell files."""

Script = tuple[str, "dict[str, str] | None"]
"""Text of a script. In packetdrill's language also the shell files that it names, by their names in the script."""


@dataclass(frozen=True)
class Difference:
    """First mismatch between a connection and a script.

    Attributes
    ----------
    title : str
        The case: RFC section and requirement.
    line : int
        Line of the script, from 1.
    text : str
        Text of the line.
    what : str
        Expected and actual segment.
    way : str or None
        For the kernel: a known deviation of Linux that explains the difference. With this deviation, bentpipe's TCP
        differs in the same line.
    """

    title: str
    line: int
    text: str
    what: str
    way: str | None = None


@dataclass(frozen=True)
class Kernel:
    """Result of a script on the TCP of the running kernel.

    Attributes
    ----------
    holds : int
        Cases that hold as written.
    noted : int
        Cases that hold if the notes of the script on deviations of Linux are taken into account.
    differences : tuple of Difference
        Cases in which the kernel differs.
    not_applicable : dict
        Requirements that the kernel lacks, with the number of cases that need them.
    """

    holds: int
    noted: int
    differences: tuple[Difference, ...]
    not_applicable: dict[str, int]


@dataclass(frozen=True)
class Drilled:
    """Result of a script.

    Attributes
    ----------
    script : str
        Its name, or the path that was given.
    cases : int
        Number of cases (situations) in the script.
    core : tuple of Difference
        Cases in which bentpipe's TCP differs if segments are passed as values.
    codec : tuple of Difference
        Cases in which bentpipe's TCP differs if each segment is encoded as an IPv4 packet, with options and checksums,
        and decoded again.
    kernel : Kernel or None
        Result on the kernel's TCP, if requested.
    """

    script: str
    cases: int
    core: tuple[Difference, ...]
    codec: tuple[Difference, ...]
    kernel: Kernel | None = None

    @property
    def holds(self) -> bool:
        """Whether all cases hold."""
        return not (self.core or self.codec or (self.kernel and self.kernel.differences))

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as plain data, fit for JSON."""
        return {**asdict(self), "holds": self.holds}


def read_bundled() -> dict[str, str]:
    """Texts of the bundled scripts, by name without ending."""
    return {name.removesuffix(ENDING): text for name, text in _core.conformance_scripts()}


def drill(
    scripts: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (), *, kernel: bool = False
) -> list[Drilled]:
    """Run conformance scripts on bentpipe's TCP, as `bentpipe drill` does.

    Each script runs twice: with segments as values, and with segments encoded as packets and decoded again.

    Parameters
    ----------
    scripts : str, path or iterable of these
        Names such as `rfc5681`, or files. A file whose name ends in `.pkt` is in packetdrill's language. Default: all
        bundled scripts.
    kernel : bool
        Whether they also run on the TCP of this machine's kernel, in real time.

    Returns
    -------
    list of Drilled
        One for each script, in order. `holds` is true if nothing differs.

    Raises
    ------
    BentpipeError
        There is no such script, or it cannot be read; the text has the line.
    EmulationError
        The system does not allow scripts on its kernel. The text names a remedy.

    Examples
    --------
    >>> import bentpipe as bp
    >>> [(each.script, each.holds) for each in bp.drill(["rfc3042", "rfc5681"])]
    [('rfc3042', True), ('rfc5681', True)]
    """
    asked = [scripts] if isinstance(scripts, (str, os.PathLike)) else list(scripts)
    found = [run_script(str(arguments.path("scripts", each))) for each in asked or read_bundled()]
    return on_kernel(found) if kernel else found


def run_script(script: str) -> Drilled:
    """Run one script on bentpipe's TCP.

    Raises
    ------
    BentpipeError
        There is no such script, or it cannot be read; the text has the line.
    """
    text, files = _script(script)
    lines = text.split("\n")
    found: list[tuple[Difference, ...]] = []
    cases = 0
    for through_codec in (False, True):
        try:
            outcomes = _core.drill((text, files), through_codec)
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
        raise BentpipeError(f"{script} has no case\n  expected a case that begins with a line: = RFC 9293 §3.5  TITLE")
    core, codec = found
    return Drilled(script, cases, core, codec)


def on_kernel(found: Iterable[Drilled]) -> list[Drilled]:
    """Also run scripts, which were read before, on the TCP of this machine's kernel, in real time.

    Raises
    ------
    EmulationError
        The system does not allow it. The text names a remedy.
    """
    if not hasattr(_core, "kernel_drill"):
        raise EmulationError(f"this system is {sys.platform}\n  expected Linux for the drill on the kernel")
    from bentpipe.emulation.launch import make_report

    found = list(found)
    scripts = [_script(each.script) for each in found]
    drilled = make_report({"parent": os.getpid(), "scripts": scripts})["drilled"]
    return [
        replace(each, kernel=_read_kernel(text, cases))
        for each, (text, _), cases in zip(found, scripts, drilled, strict=True)
    ]


def _read_kernel(text: str, cases: list[tuple[str, str, int | None, str, str | None]]) -> Kernel:
    lines = text.split("\n")
    count = Counter(verdict for _, verdict, *_ in cases)
    differences = (
        Difference(title, line, lines[line - 1].strip(), what, way)
        for title, _, line, what, way in cases
        if line is not None
    )
    missing = Counter(what for _, verdict, _, what, _ in cases if verdict == "not applicable")
    return Kernel(count["holds"], count["noted"], tuple(differences), dict(missing.most_common()))


def _script(script: str) -> Script:
    text = _text(script)
    return text, (_shell_files(text, Path(script).parent) if script.endswith(PACKETDRILL) else None)


def _shell_files(text: str, folder: Path, depth: int = 0) -> dict[str, str]:
    """Texts of the shell files that a script names. They are read for their settings, and never executed."""
    found: dict[str, str] = {}
    for name in SHELL_FILE.findall(text) if depth < DEEPEST else ():
        path = folder / name
        if path.is_file() and path.stat().st_size <= LONGEST_FILE:
            found[name] = path.read_text(encoding="utf-8", errors="replace")
            found |= _shell_files(found[name], path.parent, depth + 1)
    return found


def _text(script: str) -> str:
    known = read_bundled()
    name = script.removesuffix(ENDING)
    if name in known and not Path(script).is_file():
        return known[name]
    try:
        return Path(script).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BentpipeError(unknown(script, "a script or a file", known)) from None
    except UnicodeDecodeError:
        raise BentpipeError(f"{script} is not text in UTF-8\n  expected a conformance script") from None
    except OSError as error:
        raise BentpipeError(f"{script}: {reason(error)}") from None
    except ValueError:
        raise BentpipeError(unknown(script, "a script or a file", known)) from None


def _unreadable(script: str, lines: list[str], number: int, what: str) -> str:
    """Formats an error with its line and a mark below the fault."""
    line = lines[number - 1].rstrip("\r")
    # The fault is at the end of the sentence.
    word = what.rpartition(": ")[2]
    at = max(line.find(word), 0) if word else 0
    before = "".join("\t" if letter == "\t" else " " for letter in line[:at])
    return f"{script}:{number}:{at + 1}: {what}\n  {line}\n  {before}^"

"""Errors for people: the line of the scenario that a problem is in, with a caret under its place."""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.cli.printing import style_text
from bentpipe.errors import BentpipeError, Word, argument
from bentpipe.terminal import HIDDEN, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLACE = re.compile(r" {2,}(?P<file>\S.*):(?P<line>\d+):(?P<column>\d+)$")
BEFORE = 40
WIDTH = 72
"""Letters of a line that are shown, and of these, how many before the caret at most."""


def describe_error(error: BaseException, is_coloured: bool = False) -> str:
    """The text of an error, in which an excerpt of the scenario follows each place."""
    # Length of a problem in letters, by its place.
    lengths = {
        (problem.file, problem.line, problem.column): problem.end_column - problem.column
        for problem in getattr(error, "problems", ())
        if problem.line is not None and problem.end_line == problem.line
    }
    read: dict[str, list[str]] = {}
    lines = []
    for line in _text(error).split("\n"):
        place = _PLACE.search(line)
        lines.append(_colour_line(line, place) if is_coloured else visible(line))
        if place is None:
            continue
        file, row, column = place["file"], int(place["line"]), int(place["column"])
        if text := _line(file, row, read):
            lines += _excerpt(text, row, column, lengths.get((file, row, column), 1), is_coloured)
    return "\n".join(lines)


def _text(error: BaseException) -> str:
    if not isinstance(error, BentpipeError):
        return str(error) or "interrupted"
    # The command has named its options.
    return error.text("error: ", partial(_option, getattr(error, "options", {})))


def _option(options: Mapping[str, str], name: str, value: Any, sign: str) -> str:
    """Spells a parameter as an option, or as in a call if the command has no such option."""
    if name not in options:
        return argument(name, value, sign)
    return options[name] if value is None or value is True else f"{options[name]} {_spell_value(value)}"


def _spell_value(value: Any) -> str:
    """Spells a value for the command line: `reno,sack`, `'prr: tcp.reduction=prr'`, `tcp.cc=reno,sack`."""
    if isinstance(value, Word):
        return value.strip("'\"")
    if isinstance(value, dict):
        ((name, inner),) = value.items()
        if isinstance(inner, dict):
            return shlex.quote(f"{name}: {'; '.join(f'{key}={each}' for key, each in inner.items())}")
        return shlex.quote(f"{name}={','.join(inner)}")
    return shlex.quote(",".join(value) if isinstance(value, list) else str(value))


def _colour_line(line: str, place: re.Match[str] | None) -> str:
    """Colours an error: `error` red, the advice dim."""
    end = len(line) if place is None else place.start()
    text, rest = line[:end], line[end:]
    if text.startswith("error:"):
        text = style_text("error:", fg="red", bold=True) + style_text(text.removeprefix("error:"), bold=True)
    return text + (style_text(rest, fg="cyan") if rest else "")


def _line(file: str, row: int, read: dict[str, list[str]]) -> str:
    """Reads a line of a scenario file; empty for the standard input."""
    if file not in read:
        try:
            path = Path(file)
            read[file] = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
        except (OSError, ValueError):
            # The error itself is still worth printing.
            read[file] = []
    return read[file][row - 1].rstrip("\r") if 0 < row <= len(read[file]) else ""


def _excerpt(text: str, row: int, column: int, length: int, is_coloured: bool) -> list[str]:
    """Cuts a line around a column, counted from 1, with carets under `length` letters, at least one."""
    first = max(0, column - 1 - BEFORE) if len(text) > WIDTH else 0
    # A tab or a hidden character would move the caret.
    shown = HIDDEN.sub("\N{REPLACEMENT CHARACTER}", text[first : first + WIDTH].replace("\t", " "))
    gutter, carets = f"  {row} | ", "^" * max(1, min(length, len(shown) - (column - 1 - first)))
    if is_coloured:
        gutter, carets = style_text(gutter, fg="blue"), style_text(carets, fg="red", bold=True)
    return [gutter + shown, " " * len(f"  {row} ") + "| " + " " * (column - 1 - first) + carets]

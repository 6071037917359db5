"""Splits a shell script into commands, and replaces its variables. It never runs anything.

It knows quotes, comments, variables with defaults, arithmetic, functions, and the first word of a `for` loop. Both
branches of an `if` are read. The output of a command is unknown: its value becomes the mark `UNKNOWN` with its text.
"""

from __future__ import annotations

import ast
import operator
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

UNKNOWN = "\ufffc"
"""Mark on both sides of the text of a value that only a shell can know."""
_NAME = re.compile(r"[A-Za-z_]\w*|\d+|[@*#?!-]")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_FUNCTION = re.compile(r"[\w:.-]+")
_PREFIXES = {
    "then",
    "else",
    "do",
    "{",
    "!",
    "sudo",
    "doas",
    "env",
    "exec",
    "nohup",
    "time",
    "if",
    "elif",
    "while",
    "eval",
}
"""Words before a command, which then follows."""
_DECLARATIONS = {"local", "export", "readonly", "declare", "typeset"}
_DEPTH_MAX = 20
"""Levels of calls, above which a function calls itself."""
_COMMANDS_MAX = 20_000
"""Most commands of a script, with those of called functions: two calls in each of some functions are many."""
_VALUE_MAX = 4096
"""Most letters of a variable, which may be made of others."""
_OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda one, other: int(one / other),
    ast.Mod: operator.mod,
}


@dataclass
class _Word:
    """A word as written: parts of plain text, and of text in which variables are replaced."""

    parts: list[tuple[str, bool, bool]] = field(default_factory=list)
    """Text, whether variables are replaced in it, and whether it is quoted."""

    @property
    def plain(self) -> str:
        return "".join(text for text, _, _ in self.parts)


@dataclass
class _Raw:
    """A command before its variables are replaced."""

    line: int
    words: list[_Word]
    end: str
    """Sign that ends it."""


@dataclass(frozen=True)
class Command:
    """A command with its words.

    Attributes
    ----------
    line : int
        Line of the text, from 1.
    words : tuple of str
        The words, without `sudo` and other prefixes.
    """

    line: int
    words: tuple[str, ...]


def read_commands(text: str, arguments: Sequence[str] = (), values: Mapping[str, str] | None = None) -> list[Command]:
    """Split a script into the commands that it may run, in order.

    Parameters
    ----------
    text : str
        The script.
    arguments : sequence of str
        Its arguments: `$1`, `$2`.
    values : mapping, optional
        Values of variables, which assignments in the script do not replace.

    Raises
    ------
    BentpipeError
        A quote has no end.
    """
    reader = _Reader(dict(values or {}))
    reader.run(_split(text), [*arguments])
    return reader.found


def _split(text: str) -> list[_Raw]:
    """Split the text into commands at the signs of a shell."""
    found: list[_Raw] = []
    words: list[_Word] = []
    word: _Word | None = None
    place, line, begin = 0, 1, 1

    def add(part: str, *, is_open: bool = False, is_quoted: bool = False) -> None:
        nonlocal word, begin
        if word is None:
            word = _Word()
            begin = line if not words else begin
            words.append(word)
        word.parts.append((part, is_open, is_quoted))

    def end(sign: str) -> None:
        nonlocal words, word
        found.append(_Raw(begin if words else line, words, sign))
        words, word = [], None

    while place < len(text):
        sign = text[place]
        if sign == "\\":
            if text[place + 1 : place + 2] != "\n":
                add(text[place + 1 : place + 2], is_quoted=True)
            line += text[place + 1 : place + 2] == "\n"
            place += 2
            continue
        if sign in "'\"":
            close = place + 1
            while close < len(text) and text[close] != sign:
                close += 2 if sign == '"' and text[close] == "\\" else 1
            if close >= len(text):
                raise BentpipeError(f"line {line}: a quote {sign} has no end\n  expected another {sign}")
            inside = text[place + 1 : close]
            add(re.sub(r'\\(["\\$`\n])', r"\1", inside) if sign == '"' else inside, is_open=sign == '"', is_quoted=True)
            line += inside.count("\n")
            place = close + 1
            continue
        if sign == "$" or sign == "`":
            whole = _find_expansion(text, place)
            add(whole, is_open=True)
            line += whole.count("\n")
            place += len(whole)
            continue
        if sign == "#" and word is None:
            place = text.find("\n", place) if "\n" in text[place:] else len(text)
            continue
        if sign in "\n;&|()":
            end(sign)
            line += sign == "\n"
        elif sign in "<>":
            # The number of a stream belongs to the redirection, and so does the next word.
            if word is not None and word.plain.isdigit():
                words.pop()
            rest = re.compile(r"[<>]+&?[ \t]*(?:\$\{?\w+\}?|[^\s;&|()]*)").match(text, place)
            place = rest.end() if rest else place + 1
            word = None
            continue
        elif sign.isspace():
            word = None
        else:
            add(sign)
        place += 1
    end("\n")
    return [part for each in found if each.words or each.end in "()" for part in _split_header(each)]


def _split_header(raw: _Raw) -> list[_Raw]:
    """Separate `function NAME` from the body that follows in the same command."""
    begin = [word.plain for word in raw.words[:3]]
    if begin[:1] == ["function"] and begin[2:] == ["{"]:
        return [_Raw(raw.line, raw.words[:2], "\n"), _Raw(raw.line, raw.words[2:], raw.end)]
    return [raw]


def _find_expansion(text: str, place: int) -> str:
    """Return the text of `$NAME`, `${...}`, `$(...)` or a command between back ticks."""
    if text[place] == "`":
        close = text.find("`", place + 1)
        return text[place : close + 1] if close > 0 else text[place]
    after = text[place + 1 : place + 2]
    if after in ("{", "("):
        depth, end = 0, place + 1
        pair = "{}" if after == "{" else "()"
        while end < len(text):
            depth += (text[end] == pair[0]) - (text[end] == pair[1])
            end += 1
            if depth == 0:
                break
        return text[place:end]
    name = _NAME.match(text, place + 1)
    # `$10` is `$1` and a zero.
    found = name[0][:1] if name and name[0].isdigit() else name[0] if name else ""
    return f"${found}"


class _Reader:
    """Goes through commands, keeps variables and functions, and collects commands."""

    def __init__(self, given: dict[str, str]) -> None:
        self.found: list[Command] = []
        self._given = given
        self._values = dict(given)
        self._functions: dict[str, list[_Raw]] = {}
        self._depth = 0
        self._done = 0

    def run(self, commands: list[_Raw], arguments: list[str]) -> None:
        place = 0
        while place < len(commands):
            raw = commands[place]
            if body := _function(commands, place):
                name, first, after = body
                self._functions[name] = commands[first:after]
                place = after
                continue
            place += 1
            self._do(raw, arguments)

    def _do(self, raw: _Raw, arguments: list[str]) -> None:
        self._done += 1
        if self._done > _COMMANDS_MAX:
            raise BentpipeError(
                f"line {raw.line}: the script has more than {_COMMANDS_MAX} commands, with those of its functions\n"
                "  expected functions that end"
            )
        words = [each for word in raw.words for each in self._expand(word, arguments)]
        while words and (words[0] in _PREFIXES or words[0].startswith("-")):
            # `sudo -E`, `env -i`.
            words = words[1:]
        if words and words[0] == "for" and len(words) > 3 and words[2] == "in":
            self._set(words[1], words[3])
            return
        if words and words[0] == "shift":
            count = re.fullmatch("[0-9]{1,9}", words[1]) if len(words) > 1 else None
            del arguments[: int(count[0]) if count else 1]
            return
        if words and words[0] in _DECLARATIONS:
            words = [word for word in words[1:] if not word.startswith("-")]
            words = [word for word in words if "=" in word]
        while words and (assignment := _ASSIGNMENT.fullmatch(words[0])):
            self._set(*assignment.groups())
            words = words[1:]
        if words and words[0] in self._functions and self._depth < _DEPTH_MAX:
            self._depth += 1
            self.run(self._functions[words[0]], words[1:])
            self._depth -= 1
        elif words:
            self.found.append(Command(raw.line, tuple(words)))

    def _set(self, name: str, value: str) -> None:
        if len(value) > _VALUE_MAX:
            raise BentpipeError(f"{name} has more than {_VALUE_MAX} letters\n  expected a shorter value")
        if name not in self._given:
            self._values[name] = value

    def _expand(self, word: _Word, arguments: list[str]) -> list[str]:
        """Replace variables. A value without quotes is split at spaces, as a shell does."""
        whole = ""
        is_first = not word.parts or not _ASSIGNMENT.match(word.plain)
        for text, is_open, is_quoted in word.parts:
            value = self._replace(text, arguments) if is_open else text
            # A space that separates words, unlike those in quotes.
            whole += re.sub(r"\s+", "\0", value) if is_open and not is_quoted and is_first else value
        parts = whole.split("\0")
        is_kept = any(is_quoted for _, _, is_quoted in word.parts)
        return [part for part in parts if part or is_kept]

    def _replace(self, text: str, arguments: list[str]) -> str:
        found, place = "", 0
        while place < len(text):
            if text[place] in "$`":
                whole = _find_expansion(text, place)
                found += self._value(whole, arguments) if len(whole) > 1 else whole
                place += max(1, len(whole))
            else:
                found += text[place]
                place += 1
        return found

    def _value(self, whole: str, arguments: list[str]) -> str:
        if whole.startswith("$((") and whole.endswith("))"):
            return self._compute(whole[3:-2], arguments)
        if whole.startswith(("$(", "`")):
            # Without spaces, it stays one word.
            first = "".join(whole.strip("$()`").split(maxsplit=1)[:1])
            return f"{UNKNOWN}$({first}...){UNKNOWN}"
        inside = whole[2:-1] if whole.startswith("${") else whole[1:]
        parts = re.fullmatch(r"(\w+|[@*#])(?:(:?[-=?])(.*))?", inside, re.DOTALL)
        if parts is None:
            return f"{UNKNOWN}{whole}{UNKNOWN}"
        name, sign, other = parts.groups()
        value = self._look_up(name, arguments)
        if value is not None and not (sign and sign.startswith(":") and not value):
            return value
        if sign and sign[-1] in "-=":
            value = self._replace(other.strip("\"'"), arguments)
            if sign[-1] == "=":
                self._set(name, value)
            return value
        return f"{UNKNOWN}{whole}{UNKNOWN}"

    def _look_up(self, name: str, arguments: list[str]) -> str | None:
        if name in ("@", "*"):
            return " ".join(arguments)
        if name == "#":
            return str(len(arguments))
        if name.isdigit():
            return arguments[int(name) - 1] if 0 < int(name) <= len(arguments) else None
        return self._values.get(name)

    def _compute(self, text: str, arguments: list[str]) -> str:
        """Compute arithmetic of whole numbers."""
        names = re.sub(r"(?<![\w$}])([A-Za-z_]\w*)", r"$\1", text)
        try:
            return str(_evaluate(ast.parse(self._replace(names, arguments).strip(), mode="eval").body))
        except (SyntaxError, ValueError, ZeroDivisionError, RecursionError):
            return f"{UNKNOWN}$(({text})){UNKNOWN}"


def _evaluate(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_evaluate(node.left), _evaluate(node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand)
    raise ValueError(node)


def _function(commands: list[_Raw], place: int) -> tuple[str, int, int] | None:
    """Return the name of a function that is defined here, and the bounds of its body; None for other commands."""
    words = [word.plain for word in commands[place].words]
    named = words[1:2] if words[:1] == ["function"] else words
    if len(named) != 1 or not _FUNCTION.fullmatch(named[0]):
        return None
    has_parentheses = commands[place].end == "("
    first = place + 1
    while has_parentheses and first < len(commands) and not commands[first].words:
        first += 1
    if not has_parentheses and words[:1] != ["function"]:
        return None
    if first >= len(commands) or [word.plain for word in commands[first].words][:1] != ["{"]:
        return None
    depth = 0
    for after in range(first, len(commands)):
        begins = [word.plain for word in commands[after].words]
        depth += begins[:1] == ["{"]
        depth -= begins[:1] == ["}"]
        if depth == 0:
            return named[0], first, after + 1
    return None

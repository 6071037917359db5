"""Collects messages from Rust sources: literals in the arguments of functions that report, and other sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tools.docs.messages.message import ERROR, TEXT, Message

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
    |(?P<raw>b?r(?P<hashes>\#*)".*?"(?P=hashes))
    |(?P<string>b?"(?:[^"\\]|\\.)*")
    |(?P<char>'(?:[^'\\\n]|\\(?:u\{[^}]*\}|x..|.))')
    |(?P<word>'?[A-Za-z_][A-Za-z_0-9]*!?)
    |(?P<number>\d[\w.]*)
    |(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<mark>=>|->|::|\.\.=?|[^\s])""",
    re.DOTALL | re.VERBOSE,
)
REPORTS = {
    "value": "{key} = {value} ",
    "suggest": "{key} = {value} ",
    "key": "{key} ",
    "say": "{key} ",
    "wrong": "",
    "positive": "{key} = {value} ",
    "unless": "{key} = {value} ",
    "add": "",
    "new": "",
    "alone": "",
    "new_err": "",
}
"""Functions that report errors, with the text before the fact."""
PLACES = {"wrong", "add", "new", "alone"}
"""Functions whose arguments before the fact are a place or a path."""
SILENT = {
    *("assert!", "assert_eq!", "assert_ne!", "debug_assert!", "debug_assert_eq!", "panic!", "unreachable!", "expect"),
    *("settings!", "kinds!", "words!", "amounts!", "either!", "table!", "series!", "registry!", "each!", "concat!"),
    *("row", "row_for", "include_str!", "starts_with", "contains", "within"),
}
"""Macros and functions with texts for programmers, declarations of keys and columns, and sources of defaults."""
NO_MESSAGES = re.compile(
    r"(^|/)(dictionary|testbench|swarm|tests)/|/(tests|suite|naive|fuzz|generate|presets|trials|groups|like)\.rs$"
)
WORDS_OF_A_TEXT = 2
QUOTE = '"'
COMMON = {"to_string", "into", "join", "clone", "as_str", "iter", "len", "unwrap", "format", "to_owned", "quoted"}
"""Methods that do not name a value."""


@dataclass
class _Group:
    """Tokens between brackets: words, literals (with a quote before them) and groups.

    `name` is the word before the bracket, and `owner` the word before that.
    """

    name: str = ""
    opening: str = ""
    owner: str = ""
    items: list[str | _Group] = field(default_factory=list)


def of_rust(file: str, source: str) -> list[Message]:
    """Return the messages of a file, in their order."""
    if NO_MESSAGES.search(file):
        return []
    reader = _Reader(file)
    reader.read(_tree(source.split("\n#[cfg(test)]\nmod tests {")[0]))
    return reader.done()


def _tree(source: str) -> _Group:
    root = _Group()
    path = [root]
    for found in TOKEN.finditer(source):
        kind, token = found.lastgroup, found[0]
        if found["comment"] or found["char"]:
            continue
        items = path[-1].items
        if kind == "open":
            words = [item if isinstance(item, str) else "" for item in items[-3:]]
            before = words[-1] if words else ""
            is_attribute = token == "[" and before in {"#", "!"}
            name = "#" if is_attribute else before if re.match(r"[A-Za-z_]", before) else ""
            owner = words[0] if len(words) == 3 and words[1] in {".", "::"} else ""
            group = _Group(name, token, owner)
            items.append(group)
            path.append(group)
        elif kind == "close":
            if len(path) > 1:
                path.pop()
        elif found["raw"] is not None or found["string"]:
            items.append('"' + _plain(token))
        else:
            items.append(token)
    return root


def _plain(token: str) -> str:
    """The text of a literal."""
    text = token[token.index('"') + 1 : token.rindex('"')]
    if "r" in token[: token.index('"')]:
        return text
    text = re.sub(r"\\\n\s*", "", text)
    return text.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")


class _Reader:
    """Walks over the tokens of a file; remembers texts of variables until a report uses them."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.function = ""
        self.found: list[Message] = []
        self.locals: dict[str, list[Message]] = {}

    def done(self) -> list[Message]:
        """All messages. A text that is a part of another one is left out."""
        whole = {each.text for each in self.found if each.kind == ERROR}
        return [each for each in self.found if each.kind == ERROR or not any(each.text in text for text in whole)]

    def read(self, group: _Group) -> None:
        """Read the tokens of a group."""
        before: str | _Group = ""
        variable = ""
        for place, item in enumerate(group.items):
            if isinstance(item, str) and before == "fn":
                self.function, self.locals = item, {}
            if before == "let" and isinstance(item, str):
                variable = item if item != "mut" else str(group.items[place + 1])
                self.locals.pop(variable, None)
            if item == ";":
                variable = ""
            count = len(self.found)
            if isinstance(item, _Group):
                if item.name in SILENT or item.name == "#":
                    pass
                elif item.name in REPORTS and item.opening == "(" and self._is_report(item):
                    self._report(item)
                else:
                    self.read(item)
            elif item.startswith('"') and is_prose(item[1:]):
                text = _filled(item[1:], group)
                self.found.append(Message(self.file, self.function, TEXT, text, group.name))
            if variable and (new := [each for each in self.found[count:] if each.kind == TEXT]):
                self.locals.setdefault(variable, []).extend(new)
            before = item

    def _is_report(self, call: _Group) -> bool:
        if call.name == "new":
            return call.owner in {"SkyError", "Wrong", "Problem"}
        return call.name != "add" or call.owner == "findings"

    def _report(self, call: _Group) -> None:
        """Add the message of a function that reports: the fact, and a line for the remedy."""
        parts = list(_arguments(call))
        if call.name in PLACES and len(parts) > 2:
            parts = parts[2 if call.owner == "Problem" or call.name in {"add", "alone"} else 1 :]
        if call.name in {"value", "suggest", "key", "say", "positive"}:
            parts = parts[1:]
        if call.name == "unless":
            parts = parts[2:]
        lines = [line for part in parts[:2] if (line := self._line(part))]
        if not any(" " in line or line.startswith("{") for line in lines) or "|" in lines[0][:1]:
            return
        if call.owner in {"SkyError", "Wrong"}:
            lines = [": ".join(lines)]
        text = REPORTS[call.name] + "\n".join(lines)
        if re.search(r"[a-z]{2,} [a-z]", re.sub(r"\{[^}]*\}", "", text)):
            self.found.append(Message(self.file, self.function, ERROR, text, call.name))

    def _line(self, part: list[str | _Group]) -> str:
        """The text of an argument."""
        texts = list(dict.fromkeys(_literals(part)))
        if texts:
            return texts[0] if len(texts) == 1 else f"[{'|'.join(texts)}]"
        if not part or all(item in ("&", "*", QUOTE) for item in part):
            return ""
        name = _last_word(part)
        if len([item for item in part if item not in ("&", "*", ".")]) <= 2 and name in self.locals:
            texts = list(dict.fromkeys(each.text for each in self.locals[name]))
            return texts[0] if len(texts) == 1 else f"[{'|'.join(texts)}]"
        return "{" + name + "}"


def _arguments(call: _Group) -> Iterator[list[str | _Group]]:
    part: list[str | _Group] = []
    for item in call.items:
        if item == ",":
            yield part
            part = []
        else:
            part.append(item)
    if part:
        yield part


def _literals(part: list[str | _Group], group: _Group | None = None) -> Iterator[str]:
    """The texts in an argument, with placeholders filled from their macro."""
    for item in part:
        if isinstance(item, _Group):
            if item.name not in SILENT and item.name != "join":
                yield from _literals(item.items, item)
        elif item.startswith('"') and len(item) > 1:
            yield _filled(item[1:], group)


def _filled(text: str, macro: _Group | None) -> str:
    """Replace `{}` by the last word of the argument, and formats in placeholders."""
    values: Iterator[str] = iter(())
    if macro is not None and macro.name.endswith("!"):
        parts = [part for part in _arguments(macro) if not (len(part) == 1 and str(part[0]).startswith('"'))]
        values = iter([_last_word(part) for part in parts])
    text = text.replace("{{", "\0").replace("}}", "\1")
    text = re.sub(r"\{(?::[^}]*)?\}", lambda _: "{" + next(values, "value") + "}", text)
    text = re.sub(r"\{(\w+):[^}]*\}", r"{\1}", text)
    return text.replace("\0", "{").replace("\1", "}")


def _last_word(part: list[str | _Group]) -> str:
    """A name for a value: the last word that is not a method of all values."""
    words = [item for item in part if isinstance(item, str) and re.match(r"[A-Za-z_]\w*$", item)]
    words = [word for word in words if word not in COMMON]
    if words:
        return words[-1].strip("_") or "value"
    inside = [item for item in part if isinstance(item, _Group)]
    return _last_word(inside[0].items) if inside else "value"


def is_prose(text: str) -> bool:
    """Whether a literal outside of a report is a text for people."""
    if "\n[" in text or re.search(r"</?\w|^\W*#|^\||^\w+ = |127\.0|\w = \"", text):
        return False
    plain = re.sub(r"\{[^{}]*\}", "", text)
    return " " in plain.strip() and len(re.findall(r"[a-z]{2,}", plain)) >= WORDS_OF_A_TEXT

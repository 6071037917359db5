"""Collects messages from Python sources: errors, texts of results, help of the command line."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from tools.docs.messages.message import ERROR, HELP, TEXT, Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    Function = ast.FunctionDef | ast.AsyncFunctionDef

# Calls with strings for programs: statements of SQL, patterns, styles, examples of commands.
SILENT = re.compile(
    r"(^|\.)(execute\w*|TypeVar|getLogger|compile|sub|search|findall|fullmatch|loads|encode|annotate|legend"
    r"|startswith|endswith|command)$"
)
HELPERS = {"unknown", "_wrong", "_failure", "_no_effect", "_make_error", "BadParameter", "error"}
"""Functions that make errors of their arguments, beside the classes."""
HELP_CALLS = re.compile(r"(^|\.)(option|argument|version_option|place|cc|one_cc|case|replications)$")
CODE = re.compile(r"</?\w|^\W*(from|import|select|insert|create) \w|json_each|^ ?\w+=\"|^\(\?|\\b|\w\[\w+[],]")
# A text of a result with fewer words is a label.
WORDS_OF_A_TEXT = 3
# Calls that show their argument.
TRANSPARENT = {"str", "repr", "quote", "join", "count", "Path", "float"}


def of_python(file: str, source: str) -> list[Message]:
    """Return the messages of a file, in their order."""
    return list(_Reader(file).of(ast.parse(source)))


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.is_cli = "/cli/" in file
        self.locals: dict[str, list[ast.expr]] = {}
        self.used: set[ast.AST] = set()

    def of(self, node: ast.AST, function: str = "", call: str = "") -> Iterator[Message]:
        """Messages below a node, which is in a function and among the arguments of a call."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from self._of_function(node)
            return
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if SILENT.search(name):
                return
            if is_error(name):
                yield from self._of_error(node, name.rsplit(".", 1)[-1], function)
                return
            call = name
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            text = self.shown(node)
            if isinstance(text, str) and node not in self.used and is_prose(text):
                kind = HELP if self.is_cli and HELP_CALLS.search(call) else TEXT
                yield Message(self.file, function, kind, text, "")
            return
        for child in ast.iter_child_nodes(node):
            if not is_docstring(child):
                yield from self.of(child, function, call)

    def _of_function(self, node: Function) -> Iterator[Message]:
        for each in node.decorator_list:
            yield from self.of(each, node.name)
        is_command = any("command" in ast.unparse(each) for each in node.decorator_list)
        if self.is_cli and is_command and (document := ast.get_docstring(node)):
            yield Message(self.file, node.name, HELP, document.split("\f")[0].strip(), "")
        outer, self.locals = self.locals, assigned(node)
        found = []
        for each in (*node.args.defaults, *node.body):
            if not is_docstring(each):
                found += list(self.of(each, node.name))
        self.locals = outer
        used = {each.text for each in found if each.kind == ERROR}
        yield from (each for each in found if each.kind == ERROR or not any(each.text in text for text in used))

    def _of_error(self, node: ast.Call, name: str, function: str) -> Iterator[Message]:
        """One message of the arguments, and those of errors within."""
        inner = [each for each in node.args if isinstance(each, ast.Call) and is_error(ast.unparse(each.func))]
        given = [each for each in node.args if each not in inner and not isinstance(each, (ast.Starred, ast.Lambda))]
        keywords = {each.arg: each.value for each in node.keywords}
        if name == "unknown":
            yield Message(self.file, function, ERROR, self.unknown(node), name)
        elif name == "Problem":
            fact = keywords.get("message", given[0] if given else None)
            more = [self.shown(keywords[key]) for key in ("expected", "known", "suggestion") if key in keywords]
            more += [self.shown(each) for each in given[3:4]]
            yield Message(self.file, function, ERROR, "\n".join([self.shown(fact) if fact else "", *more]), name)
        elif name in HELPERS:
            texts = [self.shown(each) for each in [*given, *keywords.values()]]
            if lines := [text for text in texts if " " in re.sub(r"\{[^}]*\}", "", text)]:
                yield Message(self.file, function, ERROR, "\n".join(lines), name)
        elif given and (text := self.shown(given[0])):
            yield Message(self.file, function, ERROR, text, name)
        for value in inner:
            yield from self.of(value, function)

    def unknown(self, node: ast.Call) -> str:
        """The text of `catalog.unknown`."""
        return "{name} is not " + self.shown(node.args[1]) + "\nknown: {known}"

    def shown(self, node: ast.AST) -> str:
        """A part of a message: its text, alternatives as [A|B], or the name of a value as {name}."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else ""
        if isinstance(node, ast.JoinedStr):
            return "".join(self.shown(part) for part in node.values)
        if isinstance(node, ast.FormattedValue):
            return self.shown(node.value)
        if isinstance(node, ast.IfExp):
            return alternatives([self.shown(node.body), self.shown(node.orelse)])
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self.shown(node.left) + self.shown(node.right)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rsplit(".", 1)[-1] == "unknown":
            return self.unknown(node)
        if isinstance(node, ast.Name) and node.id in self.locals:
            values = self.locals.pop(node.id)
            text = alternatives([self.shown(value) for value in values])
            self.locals[node.id] = values
            return text
        return "{" + placeholder(node) + "}"


def assigned(function: Function) -> dict[str, list[ast.expr]]:
    """Return the texts that a function gives to its variables."""
    found: dict[str, list[ast.expr]] = defaultdict(list)
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = node.value
            texts = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
            if any(isinstance(each, ast.JoinedStr) or is_text(each) for each in texts):
                found[node.targets[0].id].append(value)
    return found


def alternatives(texts: list[str]) -> str:
    """Several texts as [A|B], or the only one."""
    known = list(dict.fromkeys(texts))
    return known[0] if len(known) == 1 else f"[{'|'.join(known)}]"


def is_error(name: str) -> bool:
    """Whether a call of this name makes an error."""
    short = name.rsplit(".", 1)[-1]
    is_class = short.endswith("Error") and short.lstrip("_")[:1].isupper()
    return short in HELPERS or short in {"Problem", "Interrupted"} or is_class


def is_text(node: ast.AST) -> bool:
    """Whether a node is a literal text."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def is_docstring(node: ast.AST) -> bool:
    """Whether a node is a text as a statement."""
    return isinstance(node, ast.Expr) and is_text(node.value)


def placeholder(node: ast.AST) -> str:
    """A name for a value: the last word of its expression."""
    if isinstance(node, ast.Name):
        return node.id.strip("_")
    if isinstance(node, ast.Attribute):
        return node.attr.strip("_")
    if isinstance(node, ast.Subscript) and is_text(node.slice):
        return str(node.slice.value)  # type: ignore[attr-defined]
    if isinstance(node, ast.Call):
        name = placeholder(node.func)
        return placeholder(node.args[0]) if name in TRANSPARENT and node.args else name
    inside = next((each for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute))), None)
    return placeholder(inside) if inside is not None else "value"


def is_prose(text: str) -> bool:
    """Whether a literal outside of an error is a text for people."""
    is_code = re.search(
        r"</?\w|^\W*(from|import|select|insert|create) \w|json_each|^ ?\w+=\"|^\(\?|\\b|\w\[\w+[],]", text
    )
    if len(text.splitlines()) > 6 or is_code:
        return False
    plain = re.sub(r"\{[^{}]*\}", "", text)
    return " " in plain.strip() and len(re.findall(r"[a-z]{2,}", plain)) >= WORDS_OF_A_TEXT

"""Changes a value in the text of a scenario. Comments, order and spaces stay."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from bentpipe.errors import Problem, ScenarioError

if TYPE_CHECKING:
    from tomlkit.items import Item

_OF_NAMES = ("case", "flow", "link", "node")
"""Tables whose keys are names: an empty entry of these is not the same as none."""
_STEP = re.compile(r'"([^"]+)"|([^".]+)')


def edit_text(text: str, key: str, literal: str) -> str:
    """Return TOML text with another value at a dotted key.

    Parameters
    ----------
    text : str
        TOML text; it may be an invalid scenario.
    key : str
        Dotted key, such as `link.sat.rate`. Entries of lists count from 0: `at.0.time`. Missing tables are added.
    literal : str
        Value as after `--set KEY=`: a value of TOML, or text.

    Raises
    ------
    ScenarioError
        The text is not TOML, the key is not a dotted key, or it leads into a single value.
    """
    document, path = _parse_text(text, key)
    node: Any = document
    for place, step in enumerate(path):
        is_last = place == len(path) - 1
        try:
            name: str | int = int(step) if isinstance(node, list) else step
            if is_last:
                node[name] = _value(literal)
            elif isinstance(node, dict) and name not in node:
                node[name] = tomlkit.table(is_super_table=place < len(path) - 2)
            node = node[name]
        except (LookupError, TypeError, ValueError, TOMLKitError) as error:
            below = ".".join(path[:place])
            expected = f"expected {below} to be set as a whole" if below else ""
            raise ScenarioError(
                Problem(f"{key} cannot be set: {step} is not in {below}", key, expected=expected)
            ) from error
    return tomlkit.dumps(document)


def remove_key(text: str, key: str) -> str:
    """Return TOML text without a dotted key and without the tables that are then empty; unchanged without the key.

    Raises
    ------
    ScenarioError
        The text is not TOML, or the key is not a dotted key.
    """
    document, path = _parse_text(text, key)
    nodes: list[Any] = [document]
    for step in path[:-1]:
        node = nodes[-1]
        found = node[int(step)] if isinstance(node, list) and step.isdigit() else None
        if isinstance(node, dict) and step in node:
            found = node[step]
        if not isinstance(found, (dict, list)):
            return text
        nodes.append(found)
    if not isinstance(nodes[-1], dict) or path[-1] not in nodes[-1]:
        return text
    del nodes[-1][path[-1]]
    for depth in range(len(path) - 1, 0, -1):
        is_entry = path[0] in _OF_NAMES and depth <= 2
        if is_entry or len(nodes[depth]) or not isinstance(nodes[depth - 1], dict):
            break
        del nodes[depth - 1][path[depth - 1]]
    return tomlkit.dumps(document)


def repair_text(text: str, problem: Problem) -> str | None:
    """Return the text with the suggestion of a problem put in; None if the problem has no suggestion or no place.

    A suggestion is the name of a key or of a value. A value keeps its quotes.
    """
    start, end = offsets(text, problem)
    if not problem.suggestion or " = " in problem.suggestion or start == end:
        return None
    quote = text[start] if text[start] in "\"'" else ""
    return f"{text[:start]}{quote}{problem.suggestion}{quote}{text[end:]}"


def offsets(text: str, problem: Problem) -> tuple[int, int]:
    """Return begin and end of a problem in its text, as indexes of characters; both 0 without a place."""
    if None in (problem.line, problem.column, problem.end_line, problem.end_column):
        return 0, 0
    starts = [0]
    # As the core counts lines; other signs that Python splits at are letters of a line.
    for line in text.split("\n")[:-1]:
        starts.append(starts[-1] + len(line) + 1)

    def index(line: int | None, column: int | None) -> int:
        assert line is not None
        assert column is not None
        return min(starts[min(line, len(starts)) - 1] + column - 1, len(text))

    return index(problem.line, problem.column), index(problem.end_line, problem.end_column)


def _parse_text(text: str, key: str) -> tuple[tomlkit.TOMLDocument, list[str]]:
    """The text as a document, and a dotted key as a path."""
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise ScenarioError(Problem(f"not TOML: {error}", key=key)) from error
    path = steps(key)
    if not path or ".".join(path) != key.replace('"', ""):
        problem = Problem(f"{key!r} is not a path of keys", key=key, expected="expected one like link.sat.rate")
        raise ScenarioError(problem)
    return document, path


def steps(key: str) -> list[str]:
    """Split a dotted key.

    >>> steps('link."a.b".rate')
    ['link', 'a.b', 'rate']
    """
    return [quoted or bare.strip() for quoted, bare in _STEP.findall(key)]


def _value(literal: str) -> Item:
    """Read a value of TOML, or else return the text. Dates are text, as in all scenarios."""
    try:
        value = tomlkit.value(literal)
    except (TOMLKitError, ValueError):
        return tomlkit.string(literal)
    is_date = hasattr(value, "isoformat")
    return tomlkit.string(literal) if is_date else value

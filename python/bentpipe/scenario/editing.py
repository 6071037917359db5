"""Changes a value in the text of a scenario. Comments, order and spaces stay."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from bentpipe.errors import Problem, ScenarioError

if TYPE_CHECKING:
    from tomlkit.items import Item

_STEP = re.compile(r'"([^"]+)"|([^".]+)')


def edited(text: str, key: str, literal: str) -> str:
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
        The text is not TOML, or the key is not a path or leads below a single value.
    """
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise ScenarioError(Problem(f"not TOML: {error}", key=key)) from error
    path = [quoted or bare.strip() for quoted, bare in _STEP.findall(key)]
    if not path or ".".join(path) != key.replace('"', ""):
        raise ScenarioError(
            Problem(f"{key!r} is not a path of keys", key=key, expected="expected one like link.sat.rate")
        )
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


def _value(literal: str) -> Item:
    """Read a value of TOML, or else return the text. Dates are text, as in all scenarios."""
    try:
        value = tomlkit.value(literal)
    except (TOMLKitError, ValueError):
        return tomlkit.string(literal)
    is_date = hasattr(value, "isoformat")
    return tomlkit.string(literal) if is_date else value

"""The fields of the form: keys of the schema for the tables, links and flows of a scenario, with their values."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import tomlkit
from tomlkit.exceptions import TOMLKitError

from bentpipe.catalog import schema

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bentpipe.scenario.scenario import Scenario

DEPTH_MAX = 5
"""Of nested tables that have fields; deeper ones are edited as text."""
NAMED = ("link", "flow", "node")
"""Tables with an entry per name: each entry is a group."""
AS_TEXT = ("case", "sweep", "at", "forwarding")
"""Tables of the experiment and of the timeline are edited as text."""


class Choice(NamedTuple):
    """One value of a field that has a fixed set of them."""

    value: str
    meaning: str


@dataclass(frozen=True)
class Field:
    """One key of the form."""

    key: str
    """The dotted key, as after `--set`."""
    name: str
    """Name of the field within its group."""
    meaning: str
    value: str
    """The value as it is written in the text; empty if the text does not have it."""
    default: str
    """The default, which applies if the text has no value."""
    choices: tuple[Choice, ...] = ()
    examples: tuple[str, ...] = ()

    def matches(self, words: str) -> bool:
        """Whether the key or its meaning has all words of a search."""
        text = f"{self.key} {self.meaning}".lower()
        return all(word in text for word in words.lower().split())

    def rank(self, words: str) -> tuple[int, int]:
        """Rank among matching fields: first equal names, then names with this beginning, other keys, and meanings."""
        key, asked = self.key.lower(), words.lower().split()
        name = key.rpartition(".")[2]
        tests = (
            any(word in (key, name) for word in asked),
            any(name.startswith(word) for word in asked),
            all(word in key for word in asked),
            True,
        )
        return tests.index(True), key.count(".")


class Group(NamedTuple):
    """The fields of a table, or of one link, flow or node."""

    title: str
    fields: tuple[Field, ...]

    @property
    def in_order(self) -> list[Field]:
        """The fields that the text sets, then the others."""
        return sorted(self.fields, key=lambda field: not field.value)


def groups(text: str, scenario: Scenario | None) -> list[Group]:
    """The groups of a form, in the order of the schema; none if the text is not TOML.

    Parameters
    ----------
    text : str
        It need not be a valid scenario.
    scenario : Scenario or None
        The last valid one, whose resolved values are the defaults.
    """
    try:
        written = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return []
    resolved = {} if scenario is None else scenario.to_dict()
    root = _schema()
    host = (resolved.get("tcp") or {}).get("like", "")
    found = []
    for part in root["x-groups"]:
        for key in part["keys"]:
            if key in AS_TEXT:
                continue
            node, values, defaults = root["properties"][key], written.get(key), resolved.get(key)
            if key in NAMED:
                entry = _follow_reference(node["additionalProperties"])
                names = dict.fromkeys([*(values or {}), *(defaults or {} if key == "node" else {})])
                for name in names:
                    inside = (defaults or {}).get(name)
                    if key == "flow":
                        # The table of all flows has the defaults of each flow.
                        own = (inside or {}).get("tcp") or {}
                        inside = {**(inside or {}), "tcp": {**resolved.get("tcp", {}), **own}}
                    prefix = f"{key}.{_quote_name(name)}"
                    like = (inside or {}).get("tcp", {}).get("like", host) if key == "flow" else host
                    inner = _fields(entry, prefix, "", values and values.get(name), inside, like)
                    found.append(Group(f"{key} {name}", tuple(inner)))
            elif _follow_reference(node).get("properties"):
                found.append(Group(key, tuple(_fields(_follow_reference(node), key, "", values, defaults, host))))
    alone = {key: node for key, node in root["properties"].items() if not _follow_reference(node).get("properties")}
    keys = [key for key in alone if key not in (*NAMED, *AS_TEXT)]
    first = tuple(_field(alone[key], key, key, written.get(key), resolved.get(key), host) for key in keys)
    return [Group("scenario", first), *found]


@cache
def _schema() -> dict[str, Any]:
    return schema()


def _fields(
    node: Mapping[str, Any], prefix: str, name: str, written: Any, resolved: Any, host: str, depth: int = 0
) -> Iterator[Field]:
    for key, raw in node.get("properties", {}).items():
        inside, dotted = _follow_reference(raw), f"{prefix}.{_quote_name(key)}"
        shown = f"{name}.{key}" if name else key
        value = written.get(key) if isinstance(written, dict) else None
        default = resolved.get(key) if isinstance(resolved, dict) else None
        if "properties" in inside:
            if depth < DEPTH_MAX:
                yield from _fields(inside, dotted, shown, value, default, host, depth + 1)
            continue
        yield _field(raw, dotted, shown, value, default, host)
        branch = _branch(inside, default if value is None else value, default)
        if branch is not None and depth < DEPTH_MAX:
            rest = {each: about for each, about in branch["properties"].items() if each != "kind"}
            yield from _fields({"properties": rest}, dotted, shown, value, default, host, depth + 1)


def _field(raw: Mapping[str, Any], key: str, name: str, value: Any, resolved: Any, host: str) -> Field:
    node = _follow_reference(raw)
    choices = tuple({choice.value: choice for choice in reversed([*_choices(node)])}.values())[::-1]
    default = _default(node, host, value, resolved)
    origin = default.get("x-origin")
    meaning = node.get("description", "") + (f" Source of the default: {origin}." if origin else "")
    return Field(
        key, name, meaning, written_as(value), written_as(default.get("default")), choices, tuple(_examples(node))
    )


def _default(node: Mapping[str, Any], host: str, value: Any, resolved: Any) -> Mapping[str, Any]:
    """Return the value that runs with its source, or the declared default of the host if the text sets the key."""
    of_host = node.get("x-defaults", {}).get(host, node)
    if resolved is None or (value is not None and "default" in of_host):
        return dict(of_host)
    declared = (of_host, *of_host.get("otherwise", ()))
    # A value of another table, such as `[tcp]` for a flow, is no declared default and has no source here.
    found: Mapping[str, Any] = next(
        (one for one in declared if written_as(one.get("default")) == written_as(resolved)), {}
    )
    return {**found, "default": resolved}


def _choices(node: Mapping[str, Any]) -> Iterator[Choice]:
    if node.get("type") == "boolean":
        yield from (Choice("true", "yes"), Choice("false", "no"))
    for one in node.get("oneOf", ()):
        const = one.get("const", one.get("properties", {}).get("kind", {}).get("const"))
        if isinstance(const, str):
            yield Choice(const, one.get("description", ""))


def _examples(node: Mapping[str, Any]) -> Iterator[str]:
    for each in (node, *map(_follow_reference, node.get("anyOf", ()))):
        yield from map(str, each.get("examples", ()))
        yield from (choice.value for choice in _choices(each))


def _branch(node: Mapping[str, Any], value: Any, default: Any) -> Mapping[str, Any] | None:
    """The table of the kind that holds, if the kinds are tables."""
    kind = value.get("kind") if isinstance(value, dict) else value
    if kind is None and isinstance(default, dict):
        kind = default.get("kind")
    for one in node.get("oneOf", ()):
        if kind is not None and one.get("properties", {}).get("kind", {}).get("const") == kind:
            return dict(one)
    return None


def _follow_reference(node: Mapping[str, Any]) -> dict[str, Any]:
    """A node of the schema with its reference followed. Values beside the reference go over its own."""
    found = dict(node)
    while "$ref" in found:
        name = found.pop("$ref").rpartition("/")[2]
        found = {**_schema()["$defs"][name], **found}
    return found


def written_as(value: Any) -> str:
    """A value as it is typed into a field: texts without quotes, tables by their kind, lists and numbers as TOML."""
    if value is None:
        return ""
    if isinstance(value, dict):
        kind = value.get("kind")
        return kind if isinstance(kind, str) else _inline(value)
    if isinstance(value, str):
        return f'"{value}"' if _is_value(value) else value
    if isinstance(value, bool):
        return "true" if value else "false"
    return _inline(value)


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        table.update(value)
        return str(table.as_string())
    return str(tomlkit.item(value).as_string()).replace("\n", " ")


def _is_value(text: str) -> bool:
    """Whether a text would be read as something else than a text."""
    try:
        return not isinstance(tomlkit.value(text), str)
    except (TOMLKitError, ValueError):
        return False


def _quote_name(name: str) -> str:
    return f'"{name}"' if "." in name else name

"""Finds the settings in which two scenarios differ."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bentpipe.scenario.scenario import Scenario

UNIMPORTANT = ("title", "record", "report", "case")
"""Tables and keys that change no simulation."""


class Difference(NamedTuple):
    """A key with its values in two scenarios; None if a scenario has no such key.

    It is written if a text or an override has it; other differences are of defaults that follow from those.
    """

    key: str
    one: str | None
    other: str | None
    is_written: bool


def find_differences(one: Scenario, other: Scenario) -> list[Difference]:
    """Find the settings that differ, with all defaults, in the order of the scenarios.

    A choice such as a congestion control is one difference, not one for each of its parameters. Defaults that follow
    from it come last.
    """
    written = {*_list_written(one), *_list_written(other)}
    found = [
        Difference(key, here, there, _is_written(key, written))
        for key, (here, there) in _compare_tables(one.to_dict(), other.to_dict())
    ]
    return sorted(found, key=lambda each: not each.is_written)


def _compare_tables(
    one: Mapping[str, Any], other: Mapping[str, Any], place: str = ""
) -> Iterator[tuple[str, tuple[str | None, str | None]]]:
    for name in dict.fromkeys((*one, *other)):
        key = f"{place}.{name}" if place else name
        values = one.get(name), other.get(name)
        if values[0] == values[1] or key in UNIMPORTANT:
            continue
        tables = [value for value in values if isinstance(value, dict)]
        if len(tables) == 2 and tables[0].get("kind") == tables[1].get("kind"):
            yield from _compare_tables(tables[0], tables[1], key)
        else:
            yield key, (_write(values[0]), _write(values[1]))


def _write(value: Any) -> str | None:
    if isinstance(value, dict):
        # A link or a flow has no kind: there is one, or none.
        return str(value.get("kind", "there"))
    return {True: "true", False: "false"}.get(value, str(value)) if value is not None else None


def _list_written(scenario: Scenario) -> Iterator[str]:
    """Keys of the text and of the overrides."""
    text, form = scenario.written
    yield from _list_keys(json.loads(text) if form == "json" else tomllib.loads(text))
    yield from (key for key, _ in scenario.sets)


def _list_keys(table: Mapping[str, Any], place: str = "") -> Iterator[str]:
    for name, value in table.items():
        key = f"{place}.{name}" if place else name
        if isinstance(value, dict):
            yield from _list_keys(value, key)
        else:
            yield key


def _is_written(key: str, written: set[str]) -> bool:
    return any(each == key or each.startswith(f"{key}.") or key.startswith(f"{each}.") for each in written)

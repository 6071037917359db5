"""What there is to choose from and what the columns mean, as the core knows it."""

from __future__ import annotations

import json
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

from bentpipe import _core

if TYPE_CHECKING:
    from collections.abc import Iterable


def schema() -> dict[str, Any]:
    """JSON Schema of the scenario file, for editors and forms.

    `x-origin` is the source of a default, `x-quantity` the kind of amount of a text with a unit: time, rate, size and
    so on. `x-groups` of a large table has its keys in titled groups, in the order of a form.

    Returns
    -------
    dict
        A new one for each call.
    """
    return dict(json.loads(_core.schema()))


@cache
def cc_keys() -> tuple[str, ...]:
    """Keys of a scenario that name the congestion control of all flows, such as `tcp.cc`: one per transport."""
    content = schema()
    kinds = {each.get("$ref", "").rpartition("/")[2]: name for name, each in content["properties"].items()}
    return tuple(
        f"{kinds[kind]}.{key}"
        for kind in kinds
        for key, each in content["$defs"].get(kind, {}).get("properties", {}).items()
        if each.get("$ref") == "#/$defs/Cc"
    )


def compared_keys() -> tuple[str, ...]:
    """Keys whose values are compared with each other where they vary in a sweep; other keys are the conditions."""
    return (*cc_keys(), "case")


def choices() -> dict[str, list[dict[str, str]]]:
    """What can be named in a scenario.

    Returns
    -------
    dict
        Topic (`cc`, `recovery`, `verdict`, `ecn`, `pacing`, `queue`, `error`, `app`, `middlebox`) to a list of dicts
        with `name`, `summary` (one line) and `doc`, all that is said about it in Markdown: for a congestion control its
        source, its equations and, by headings, when it helps; for others what they are and each of their keys.
    """
    return dict(json.loads(_core.choices()))


@cache
def dictionary() -> dict[str, list[dict[str, Any]]]:
    """Every column of every table and every series: dicts with `name`, `unit` and `meaning` (do not change them).

    Returns
    -------
    dict
        Table (`flows`, `links`, `drops`, `completions`, `transfers`, `datagrams`, `summary`, `series`, `events`,
        `losses`, `critical_path`, `path_parts`, `causes`) to its columns in order. The units are `s`, `B`, `bit/s`,
        `%`, `1` (a ratio or count) or empty (text).
        Series also have `entity` (`flow` or `link`) and `sampled`.
    """
    return dict(json.loads(_core.dictionary()))


RENAMED = {
    "undone": "undos",
    "mark_reductions": "ecn_reductions",
    "mark_reduction": "ecn_reduction",
}
"""Columns and events that had other names before, and what they are called now."""


def unit(table: str, column: str) -> str:
    """Unit of a column; `KeyError` if there is no such column, with the nearest name."""
    units = {entry["name"]: str(entry["unit"]) for entry in dictionary()[table]}
    if column not in units:
        raise KeyError(unknown(column, f"a column of {table}", units))
    return units[column]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is nearest to a name; None if none is near."""
    # Names of senders are written in all manners elsewhere: CUBIC, BBRv3.
    by_letters = {each.lower(): each for each in known}
    found = get_close_matches(RENAMED.get(str(name), str(name)).lower(), by_letters, n=1, cutoff=0.5)
    return by_letters[found[0]] if found else None


def unknown(name: str, what: str, known: Iterable[str]) -> str:
    """The text for a name that is not known: all known ones and the nearest."""
    known = list(known)
    meant = nearest(name, known)
    hint = f"; did you mean {meant!r}?" if meant else ""
    return f"{name!r} is not {what}\n  known: {', '.join(known) or 'none'}{hint}"

"""Catalogue of choices and of the meanings of columns, from the core."""

from __future__ import annotations

import json
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.errors import expected_names

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["cc_keys", "choices", "compared_keys", "dictionary", "names", "nearest", "schema", "unit", "unknown"]


def __dir__() -> list[str]:
    return list(__all__)


OF_OBJECTS = (
    "flows",
    "subflows",
    "links",
    "drops",
    "completions",
    "transfers",
    "datagrams",
    "probes",
    "quic",
    "media",
    "terminals",
    "modcods",
)
"""Tables whose rows are objects of a run."""


def schema() -> dict[str, Any]:
    """JSON Schema of the scenario file, for editors and forms.

    `default` is the default of a file that does not set `tcp.like`, and `x-origin` is the source of that default.
    `x-defaults` has a `default` and its `x-origin` for each value of `tcp.like`, in a file that sets no other key. If
    another key selects the default, `when` is the condition, and `otherwise` lists the other defaults by precedence.
    `x-quantity` is the kind of a quantity: time, rate, size and others. `x-groups` has the keys of a large table in
    titled groups, in the order of a form.

    Returns
    -------
    dict
        A new dict for each call.
    """
    return dict(json.loads(_core.schema()))


QUIC_CC = "quic.cc"
"""Key of a scenario for the congestion control of all flows over QUIC."""


@cache
def cc_keys() -> tuple[str, ...]:
    """Return the keys of a scenario for the congestion control of all flows, such as `tcp.cc`. QUIC has `QUIC_CC`."""
    content = schema()
    kinds = {each.get("$ref", "").rpartition("/")[2]: name for name, each in content["properties"].items()}
    return tuple(
        f"{kinds[kind]}.{key}"
        for kind in kinds
        for key, each in content["$defs"].get(kind, {}).get("properties", {}).items()
        if each.get("$ref") == "#/$defs/Cc"
    )


def compared_keys() -> tuple[str, ...]:
    """Return the keys whose varied values a sweep compares with each other. Other keys are the conditions."""
    return (*cc_keys(), "case")


def choices() -> dict[str, list[dict[str, str]]]:
    """Return the names that a scenario can use, with their documentation.

    Returns
    -------
    dict
        Topic (`cc`, `recovery`, `verdict`, `ecn`, `pacing`, `queue`, `error`, `app`, `middlebox`, `scheduler`) to a
        list of dicts with `name`, `summary` (one line) and `doc` (Markdown). The `doc` of a congestion control has its
        source, equations and use. Other topics have a description and their keys.
    """
    return dict(json.loads(_core.choices()))


@cache
def names(topic: str) -> tuple[str, ...]:
    """Return the names of a topic of `choices`, such as `cc`, faster than `choices`, which also makes all texts."""
    return tuple(choice["name"] for choice in choices()[topic])


@cache
def dictionary() -> dict[str, list[dict[str, Any]]]:
    """Return every column of all tables and series: dicts with `name`, `unit` and `meaning` (do not change them).

    Returns
    -------
    dict
        Table (`flows`, `subflows`, `links`, `drops`, `completions`, `transfers`, `datagrams`, `probes`, `quic`,
        `media`, `terminals`, `modcods`, `summary`, `series`, `events`, `losses`, `critical_path`, `path_parts`,
        `causes`) to its columns in order. The units are `s`, `B`, `bit/s`, `%`, `1` (a ratio or count) or empty (text).
        Series also have `entity` (`flow` or `link`) and `sampled`.
    """
    return dict(json.loads(_core.dictionary()))


def unit(table: str, column: str) -> str:
    """Return the unit of a column. For an unknown column, raise `KeyError` with the nearest name."""
    units = {entry["name"]: str(entry["unit"]) for entry in dictionary()[table]}
    if column not in units:
        raise KeyError(unknown(column, f"a column of {table}", units))
    return units[column]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is nearest to a name; None if none is near."""
    # Other sources write names of congestion controls in many ways: CUBIC, BBRv3.
    by_letters = {each.lower(): each for each in known}
    found = get_close_matches(str(name).lower(), by_letters, n=1, cutoff=0.5)
    return by_letters[found[0]] if found else None


LISTED = {
    "a congestion control": "cc",
    "a metric": "metrics",
    "a metric of a flow or link": "metrics",
    "a series that was recorded": "series",
    "a bundled scenario": "scenarios",
    "a file or a bundled scenario": "scenarios",
    "a paper": "papers",
}
"""Topics of `bentpipe list` that have all names, by the words for such a name in errors."""


def unknown(name: str, what: str, known: Iterable[str]) -> str:
    """Write the text for an unknown name: the nearest name, and known ones."""
    known = [*dict.fromkeys(known)]
    meant = nearest(name, known)
    command = f"bentpipe list {LISTED[what]}" if what in LISTED else ""
    return f"{name!r} is not {what}\n  {expected_names(str(name), known, repr(meant) if meant else '', command)}"

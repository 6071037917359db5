"""Converts Python values to those of a scenario: as JSON, and as text that a user would type."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING, Any

from bentpipe.errors import Problem, ScenarioError
from bentpipe.own import loading
from bentpipe.own.middlebox import Middlebox

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from bentpipe.own.loading import Own

    Sets: TypeAlias = "Mapping[str, Any] | Iterable[tuple[str, Any]]"
    Senders = dict[str, Own]

DEEPEST = 100
"""Levels of a dict. The core reads 127; how many Python can write depends on the libraries that were imported."""


def to_json(content: Mapping[str, Any], senders: Senders) -> str:
    """Convert the content of a scenario to JSON. Classes become their names, and are put into `senders`."""
    _check_depth(content, "this dict")
    _check_numbers(content, "")
    try:
        return json.dumps(content, allow_nan=False, default=lambda value: _convert_value(value, senders))
    except (TypeError, ValueError) as error:
        raise ScenarioError(f"this dict cannot be a scenario: {error}") from error


def literals(sets: Sets, senders: Senders) -> list[tuple[str, str]]:
    """Convert values to text. Classes become their names, and are put into `senders`."""
    try:
        pairs = [(key, value) for key, value in (sets.items() if hasattr(sets, "items") else sets)]
    except (TypeError, ValueError):
        raise ScenarioError(f"sets = {sets!r}\n  expected a dict, or pairs of a key and a value") from None
    wrong = [key for key, _ in pairs if not isinstance(key, str)]
    if wrong:
        raise ScenarioError(f"{wrong[0]!r} is not a key of a scenario\n  expected text, such as 'link.sat.rate'")
    return [
        (
            readable(key),
            readable(_literal(key, _list_middleboxes(key, _with_classes(key, _shallow(key, value))), senders)),
        )
        for key, value in pairs
    ]


def _shallow(key: str, value: Any) -> Any:
    """Convert a value as `_plain`, if it has no more levels than a scenario can have."""
    try:
        plain = _plain(value)
    except RecursionError:
        raise _too_deep(key) from None
    _check_depth(plain, key)
    return plain


def _check_depth(value: Any, name: str) -> None:
    """Refuse a value of more levels than a scenario can have, or a value that contains itself."""
    level = [value]
    for _ in range(DEEPEST):
        parts = [part for each in level for part in _parts(each)]
        # Each once: the parts of a value that contains itself twice would double with each level.
        level = list({id(part): part for part in parts}.values())
        if not level:
            return
    raise _too_deep(name)


def _check_numbers(value: Any, key: str) -> None:
    """Refuse numbers that a scenario cannot hold, with their key. The value is no deeper than a scenario can be."""
    if isinstance(value, dict):
        for name, item in value.items():
            _check_numbers(item, f"{key}.{name}" if key else str(name))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _check_numbers(item, f"{key}[{index}]")
    elif hasattr(value, "tolist"):
        plain = value.tolist()
        if type(plain) is not type(value):
            _check_numbers(plain, key)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ScenarioError(
            Problem(f"{key} = {float(value)} is not a number", key=key, expected="expected a finite number")
        )


def _parts(value: Any) -> Iterable[Any]:
    """Return the values inside a dict or a list."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()


def _too_deep(name: str) -> ScenarioError:
    return ScenarioError(f"{name} is nested too deep for a scenario\n  expected at most {DEEPEST} levels of tables")


def readable(text: str) -> str:
    """Convert text of the command line or of a file name to Unicode. Bytes unknown to the locale are read as UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError as error:
        letter = ascii(text[error.start])
        raise ScenarioError(
            f"{letter} (letter {error.start + 1} of a text) is not Unicode\n  expected text in UTF-8"
        ) from error


def _plain(value: Any) -> Any:
    """Convert numbers and arrays of NumPy to numbers and lists, other iterables to lists, dates to text."""
    if isinstance(value, date):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "items") and not isinstance(value, type):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, type)):
        return [_plain(item) for item in value]
    return value


def _with_classes(key: str, value: Any) -> Any:
    """Replace `FILE.py:CLASS` by the class, if the key takes one. Values of scenario files are never replaced."""
    if key == "sweep.together" and isinstance(value, (list, tuple)):
        return [{inner: _with_classes(inner, each) for inner, each in group.items()} for group in value]
    base = loading.find_base(key)
    if base is None:
        return value
    if base is Middlebox:
        value = _read_list(value)
    if isinstance(value, (list, tuple)):
        return [_with_classes(key, each) for each in value]
    # The points of a grid are checked late, and a middlebox needs a table. Other names that packages may have are
    # looked up when the core does not know them.
    may_be_plugin = isinstance(value, str) and (key.startswith("sweep.") or base is Middlebox)
    return loading.load_class(value, base) if may_be_plugin or loading.is_own(value) else value


def _read_list(value: Any) -> Any:
    """Read a list as typed after `--set`, if it contains a class."""
    if not isinstance(value, str) or not value.startswith("["):
        return value
    try:
        found = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value
    return found if any(map(loading.is_own, found)) else value


def _list_middleboxes(key: str, value: Any) -> Any:
    """Make middleboxes a list, even a single one."""
    return [value] if isinstance(value, type) and loading.find_base(key) is Middlebox else value


def _convert_value(value: Any, senders: Senders) -> Any:
    """Convert values that JSON cannot hold: custom classes to their names, numbers and arrays of NumPy."""
    if (plain := _plain(value)) is not value:
        return plain
    if not isinstance(value, type):
        raise TypeError(f"{value!r} cannot be a value in a scenario")
    cls = loading.load_class(value)
    assert not isinstance(cls, str), "it is a class"
    senders.update(loading.unite_classes(senders, {loading.find_name(cls): cls}))
    return loading.in_scenario(cls)


def _literal(key: str, value: Any, senders: Senders) -> str:
    """Write a value as a user would type it after `--set key=`: text unchanged, other values as TOML."""
    if isinstance(value, type):
        return str(_convert_value(value, senders))
    return value if isinstance(value, str) else _toml(key, value, senders)


def _toml(key: str, value: Any, senders: Senders) -> str:
    if hasattr(value, "items") and not isinstance(value, type):
        return (
            "{ " + ", ".join(f"{json.dumps(name)} = {_toml(key, item, senders)}" for name, item in value.items()) + " }"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(key, item, senders) for item in value) + "]"
    if isinstance(value, type):
        return _toml(key, _convert_value(value, senders), senders)
    if isinstance(value, (str, bool, int, float)):
        return json.dumps(value)
    expected = "expected text, a number, true or false, or a list or dict of these"
    raise ScenarioError(Problem(f"{key} = {value!r} cannot be a value in a scenario", key=key, expected=expected))

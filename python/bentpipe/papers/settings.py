"""Settings of a paper: the choices that it leaves open, with the values that resolved scenarios show.

`paper.toml` declares each setting once: a name, its values, and the key of a scenario that shows the value. The values
of a reading are those of the runs that its measure made. `world` in `claims.toml` declares the others: values that no
run shows, the value that counts if a claim compares several, and `any` if a setting has no effect on what is measured.

    [settings.errors]
    key = "link.up.forward.error.kind"
    values = ["bit", "byte"]
    unless = { "link.up.forward.error.rate" = 0 }
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from bentpipe.catalog import unknown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

DIRECTIONS = ("forward", "reverse")
"""Tables of a link. A resolved link without them has the same keys in both directions."""
ANY = "any"
"""Declared instead of a value: the setting has no effect on what the claim measures."""
Values: TypeAlias = "dict[str, tuple[str, ...]]"
"""Names of compatible values, by setting."""

_EXAMPLE = 'values = ["bit", "byte"], or values = { "510 ms" = "125 ms" } with the value of the key for each name'


@dataclass(frozen=True)
class Setting:
    """A choice that the paper leaves open, of which a possible network has one value."""

    name: str
    values: Mapping[str, Sequence[Any]]
    """Values of the keys in a resolved scenario, by name of the setting's value. Other values have no name."""
    keys: tuple[str, ...] = ()
    """Dotted keys that show the value, with `*` in names. A list on the way stands for its items.

    Empty if `world` alone has values.
    """
    when: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """The setting has an effect only if each of these keys has one of these values."""
    unless: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """The setting has no effect if one of these keys has one of these values."""

    def find_value(self, scenario: Mapping[str, Any]) -> str | None:
        """The first value that a resolved scenario has; None if it has none, or if the setting has no effect there."""
        if not all(_meets(scenario, key, values) for key, values in self.when.items()):
            return None
        if any(_meets(scenario, key, values) for key, values in self.unless.items()):
            return None
        each = ((name, key, values) for name, values in self.values.items() for key in self.keys)
        return next((name for name, key, values in each if _meets(scenario, key, values)), None)


def _meets(scenario: Mapping[str, Any], key: str, values: Collection[Any]) -> bool:
    return any(_equal(found, value) for found in _find_nodes(scenario, key.split(".")) for value in values)


def _equal(one: Any, other: Any) -> bool:
    # Python takes true for 1.
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _find_nodes(tree: Any, path: Sequence[str]) -> Iterator[Any]:
    if isinstance(tree, list):
        for each in tree:
            yield from _find_nodes(each, path)
    elif not path:
        yield tree
    elif isinstance(tree, dict):
        names = fnmatch.filter(tree, path[0])
        for name in names:
            yield from _find_nodes(tree[name], path[1:])
        if not names and path[0] in DIRECTIONS:
            yield from _find_nodes(tree, path[1:])


def settings(entries: Mapping[str, Any]) -> tuple[Setting, ...]:
    """Read the table `settings` of a paper.

    Raises
    ------
    ValueError
        An entry is not a setting.
    """
    return tuple(_setting(name, entry) for name, entry in entries.items())


def _setting(name: str, entry: Any) -> Setting:
    what = f"the setting {name!r}"
    if not isinstance(entry, dict) or not isinstance(entry.get("values"), (list, dict)) or not entry["values"]:
        raise ValueError(f"{what} has no values\n  expected {_EXAMPLE}")
    if others := sorted(entry.keys() - {"key", "values", "when", "unless"}):
        raise ValueError(f"{what} has unknown keys: {', '.join(others)}\n  known: key, unless, values, when")
    values = entry["values"] if isinstance(entry["values"], dict) else {each: each for each in entry["values"]}
    if not all(isinstance(each, str) for each in values):
        raise ValueError(f"{what} has values without a name\n  expected {_EXAMPLE}")
    for key in ("when", "unless"):
        if not isinstance(entry.get(key, {}), dict):
            raise ValueError(f"{what} has {key} = {entry[key]!r}\n  expected a table of dotted keys and their values")
    return Setting(
        name,
        {each: _all(value) for each, value in values.items()},
        tuple(_all(entry.get("key", []))),
        {key: _all(value) for key, value in entry.get("when", {}).items()},
        {key: _all(value) for key, value in entry.get("unless", {}).items()},
    )


def _all(entry: Any) -> list[Any]:
    return entry if isinstance(entry, list) else [entry]


def read_declared(what: str, entry: Any, known: Sequence[Setting]) -> Values:
    """Read `world` of a claim or of a reading.

    Raises
    ------
    ValueError
        It has an unknown setting or value.
    """
    if not isinstance(entry, dict):
        raise ValueError(f"{what} has world = {entry!r}\n  expected a table of settings and their values")
    by_name, found = {each.name: each for each in known}, {}
    for name, value in entry.items():
        if name not in by_name:
            raise ValueError(f"{what}, its world: {unknown(name, 'a setting of paper.toml', list(by_name))}")
        for each in _all(value):
            if each != ANY and each not in by_name[name].values:
                raise ValueError(f"{what}, its world: {unknown(str(each), f'a value of {name}', by_name[name].values)}")
        found[name] = tuple(_all(value))
    return found


def in_words(world: Mapping[str, Sequence[str]]) -> str:
    """The values of a reading.

    >>> in_words({"errors": ("byte",), "round trip": ("510 ms", "50 ms")})
    'errors: byte, round trip: 510 ms or 50 ms'
    """
    return ", ".join(f"{name}: {' or '.join(values)}" for name, values in world.items())


def find_values(what: str, declared: Values, shown: Mapping[str, set[str]]) -> Values:
    """The values of a reading: those that its runs show, and declared ones.

    Raises
    ------
    ValueError
        Runs have other values than declared ones, or several values and none is declared.
    """
    free = {name for name, values in declared.items() if ANY in values}
    found = {name: values for name, values in declared.items() if name not in free}
    for name, values in shown.items():
        if name in free:
            continue
        had = " and ".join(sorted(values))
        if not values >= set(declared.get(name, ())):
            said = " and ".join(declared[name])
            raise ValueError(f"{what}: its world has {name} = {said}, but its runs have {had}")
        if len(values) > 1 and name not in declared:
            raise ValueError(
                f"{what}: its runs have several values of {name}: {had}\n"
                f'  expected readings with one of them, or world = {{ "{name}" = ... }} with the value that counts'
            )
        found.setdefault(name, tuple(values))
    return found

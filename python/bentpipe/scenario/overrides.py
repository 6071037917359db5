"""How the command line writes overrides of a scenario, and which keys there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bentpipe.errors import ScenarioError
from bentpipe.scenario.scenario import readable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def until(text: str | None) -> dict[str, str] | None:
    """`METRIC=SHARE` of `--until`, as in the table `[sweep]`."""
    if text is None:
        return None
    metric, equals, share = text.partition("=")
    if not equals:
        raise ScenarioError(f"error: --until {text}\n  expected a metric and a share of its mean, such as goodput=2%")
    return {"metric": metric.strip(), "half_width": share.strip()}


def pairs(sets: Sequence[str], seed: int | None = None, option: str = "--set") -> list[tuple[str, Any]]:
    """`KEY=VALUE` each, of `--set` or what is like it, and the seed."""
    found: list[tuple[str, Any]] = []
    for text in sets:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ScenarioError(f"error: {option} {text}\n  expected KEY=VALUE, such as duration='60 s'")
        found.append((key.strip(), value.strip()))
    return found if seed is None else [*found, ("seed", seed)]


def cases(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """`NAME: KEY=VALUE; KEY=VALUE` each; the settings may be missing, and the name, which then is the settings."""
    found: dict[str, dict[str, Any]] = {}
    for text in map(readable, texts):
        name, colon, rest = text.partition(":")
        if not colon or "=" in name:
            name = rest = text
        settings = [part for part in map(str.strip, rest.split(";")) if part]
        if name.strip() in found or not name.strip() or not all("=" in setting for setting in settings):
            raise ScenarioError(
                f"error: --case {text}\n  expected a name and settings, each name once:"
                " 'prr: tcp.reduction=prr; tcp.dsack=true'"
            )
        found[name.strip()] = dict(pairs(settings, option=f"--case {name.strip()}:"))
    return found


class Key(NamedTuple):
    """A key of a scenario, for completion."""

    meaning: str
    values: dict[str, str]
    """The names that it takes, with what they mean; empty where it takes quantities."""


def keys(schema: Mapping[str, Any], content: Mapping[str, Any], begin: str = "") -> dict[str, Key]:
    """The dotted keys that can be set in a scenario and begin like this.

    Parameters
    ----------
    schema : mapping
        JSON Schema of scenarios.
    content : mapping
        A scenario, for the names of its links and flows; without it there are none.
    begin : str
        What the keys begin with.

    >>> schema = {"properties": {"link": {"additionalProperties": {"properties": {"rate": {"type": "string"}}}}}}
    >>> list(keys(schema, {"link": {"up": {}, "down": {}}}, "link.u"))
    ['link.up.rate']
    """
    found: dict[str, Key] = {}
    kinds = schema.get("$defs", {})

    def visit(node: Mapping[str, Any], path: str, here: Any, meaning: str, above: tuple[str, ...]) -> None:
        values: dict[str, str] = {}
        is_value = False
        for variant, inside in _variants(node, kinds, above):
            table = variant.get("properties", {})
            kind = table.get("kind", variant).get("const")
            values |= {kind: variant.get("description", "")} if isinstance(kind, str) else {}
            values |= {"true": "", "false": ""} if variant.get("type") == "boolean" else {}
            # A table with a kind can be written as the kind alone.
            is_value |= variant.get("type") != "object" or kind is not None
            names = here if isinstance(here, dict) and isinstance(variant.get("additionalProperties"), dict) else ()
            entries = [*table.items(), *((name, variant["additionalProperties"]) for name in names)]
            for name, entry in entries:
                child = f"{path}.{name}" if path else name
                if child.startswith(begin) or begin.startswith(f"{child}."):
                    there = here.get(name) if isinstance(here, dict) else None
                    visit(entry, child, there, entry.get("description", ""), inside)
        if is_value and path.startswith(begin) and path:
            known = found.get(path, Key(meaning, {}))
            found[path] = known._replace(values=known.values | values)

    visit(schema, "", content, "", ())
    return found


def _variants(
    node: Mapping[str, Any], kinds: Mapping[str, Any], above: tuple[str, ...]
) -> Iterator[tuple[Mapping[str, Any], tuple[str, ...]]]:
    """The forms that a value can have, without references, and the names that were followed to get there."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        # A scenario may stand in its own cases: to go round once is enough.
        if name not in above:
            yield from _variants(kinds[name], kinds, (*above, name))
    elif forms := node.get("oneOf", node.get("anyOf")):
        for form in forms:
            yield from _variants(form, kinds, above)
    else:
        yield node, above

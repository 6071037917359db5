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

    >>> link = {"type": "object", "properties": {"rate": {"type": "string"}}}
    >>> schema = {"properties": {"link": {"type": "object", "additionalProperties": link}}}
    >>> list(keys(schema, {"link": {"up": {}, "down": {}}}, "link.u"))
    ['link.up.rate']
    """
    found: dict[str, Key] = {}
    kinds = schema.get("$defs", {})

    def visit(node: Mapping[str, Any], path: str, here: Any, meaning: str, above: tuple[str, ...]) -> None:
        forms = list(_forms(node, kinds, above))
        if path.startswith(begin) and path and any(_is_value(form) for form, _ in forms):
            known = found.get(path, Key(meaning, {}))
            found[path] = known._replace(values=known.values | {k: v for form, _ in forms for k, v in _names(form)})
        for form, inside in forms:
            entries = [*form.get("properties", {}).items()]
            if isinstance(here, dict) and isinstance(form.get("additionalProperties"), dict):
                entries += [(name, form["additionalProperties"]) for name in here]
            for name, entry in entries:
                child = f"{path}.{name}" if path else name
                if child.startswith(begin) or begin.startswith(f"{child}."):
                    there = here.get(name) if isinstance(here, dict) else None
                    visit(entry, child, there, entry.get("description", ""), inside)

    visit(schema, "", content, "", ())
    return found


def _forms(
    node: Mapping[str, Any], kinds: Mapping[str, Any], above: tuple[str, ...]
) -> Iterator[tuple[Mapping[str, Any], tuple[str, ...]]]:
    """The forms that a value can have, without references, and the names that were followed to get there."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        # A scenario may stand in its own cases: to go round once is enough.
        if name not in above:
            yield from _forms(kinds[name], kinds, (*above, name))
    elif forms := node.get("oneOf", node.get("anyOf")):
        for form in forms:
            yield from _forms(form, kinds, above)
    else:
        yield node, above


def _kind(form: Mapping[str, Any]) -> Any:
    """The name of a form, if it has one. A table that has a kind can be written as the kind alone."""
    return form.get("properties", {}).get("kind", form).get("const")


def _is_value(form: Mapping[str, Any]) -> bool:
    return form.get("type") != "object" or _kind(form) is not None


def _names(form: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What can be written for a form, with its meaning, where that is a name."""
    if form.get("type") == "boolean":
        yield from (("true", ""), ("false", ""))
    elif isinstance(_kind(form), str):
        yield _kind(form), form.get("description", "")

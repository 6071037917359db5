"""Grammar of overrides and varied values on the command line, and the known keys.

`--set`, `--case` and `--vary` share one grammar: `KEY=VALUE`, with semicolons between several.
`node.NAME.middlebox+=VALUE` is short for `node.NAME.middlebox.append=VALUE`, and `-=` for `remove`.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from bentpipe import arguments
from bentpipe.errors import Problem, ScenarioError
from bentpipe.own.loading import is_place
from bentpipe.scenario.writing import readable
from bentpipe.terminal import HIDDEN, visible

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from bentpipe.scenario.scenario import Scenario

T = TypeVar("T")


def until(text: str | None) -> dict[str, str] | None:
    """Convert `METRIC=SHARE` of `--until` to the form of the table `[sweep]`."""
    if text is None:
        return None
    ((metric, share),) = _split_assignments([text], "--until", "a metric and a share of its mean, such as goodput=2%")
    arguments.share("until", share, error=ScenarioError)
    return {"metric": metric, "half_width": share}


def pairs(sets: Sequence[str], seed: int | None = None, tables: Collection[str] = ()) -> list[tuple[str, Any]]:
    """Split each `KEY=VALUE` of `--set`, and add the seed.

    `tables` are additional tables that the command reads: `case`, `sweep`.

    Raises
    ------
    ScenarioError
        A value would have no effect: another value replaces it, or the command does not read its table.
    """
    found: list[tuple[str, Any]] = [*_split_assignments(sets, "--set", "KEY=VALUE, such as duration='60 s'")]
    for place, (key, _) in enumerate(found):
        table = key.partition(".")[0]
        if table in _READERS and table not in tables:
            raise _no_effect(key, "this command does not read it", f"expected bentpipe {_READERS[table]}")
        if not _is_step(key) and any(_is_within(key, later) for later, _ in found[place + 1 :]):
            raise _no_effect(key, "a later --set repeats it", "expected each key once")
    if seed is not None:
        refuse_replaced(found, ["seed"], "--seed")
    return found if seed is None else [*found, ("seed", seed)]


def effective(sets: Sequence[tuple[str, T]], varied: Collection[str] = ()) -> list[tuple[str, T]]:
    """Return the values that have an effect: no later value or varied key replaces them."""
    return [
        (key, value)
        for place, (key, value) in enumerate(sets)
        if not any(_is_within(key, other) for other in varied)
        and (_is_step(key) or not any(_is_within(key, later) for later, _ in sets[place + 1 :]))
    ]


def refuse_replaced(sets: Sequence[tuple[str, Any]], keys: Collection[str], what: str) -> None:
    """Refuse values of `--set` for keys that another option or table sets in each run.

    Raises
    ------
    ScenarioError
        A value would have no effect.
    """
    for key, _ in sets:
        if any(_is_within(key, other) for other in keys if not _is_step(other)):
            raise _no_effect(key, f"{what} sets it, too", "expected only one of the two")


def common_keys(cases: Iterable[Collection[str]]) -> set[str]:
    """Return the keys that every case sets."""
    found = [set(each) for each in cases]
    return set.intersection(*found) if found else set()


def parse_text(text: str, form: str) -> dict[str, Any]:
    """Return the text of a scenario, `toml` or `json`, as plain data."""
    found: dict[str, Any] = json.loads(text) if form == "json" else tomllib.loads(text)
    return found


def case_keys(text: str, form: str) -> list[list[str]]:
    """Return the dotted keys that each case of a scenario file sets."""
    return [[*_list_paths(case)] for case in parse_text(text, form).get("case", {}).values()]


def _list_paths(table: Mapping[str, Any], path: str = "") -> Iterator[str]:
    for name, value in table.items():
        key = f"{path}{_quote_name(name)}"
        # A table with a kind replaces another table.
        if isinstance(value, dict) and value and "kind" not in value:
            yield from _list_paths(value, f"{key}.")
        else:
            yield key


def _quote_name(name: str) -> str:
    return f'"{name}"' if "." in name else name


_READERS = {"case": "compare or bentpipe mix", "sweep": "sweep", "tune": "tune"}
"""Tables that a run does not read, with the commands that read them."""


def unread(tables: Collection[str]) -> tuple[str, ...]:
    """Return the prefixes of keys in tables that a command does not read. `tables` are the tables that it reads."""
    return tuple(f"{table}." for table in _READERS if table not in tables)


def content(scenario: Scenario) -> dict[str, Any]:
    """Return the content of a scenario with the entries of its file, which may have a `count`."""
    found = scenario.to_dict()
    try:
        read = parse_text(*scenario.written)
    except ValueError:
        return found
    for table in ("link", "flow"):
        names = read.get(table, {})
        found[table] = {name: found.get(table, {}).get(name, entry) for name, entry in names.items()}
    ends = {entry[end] for table in ("link", "flow") for entry in found[table].values() for end in ("from", "to")}
    found["node"] = {**{name: {} for name in sorted(ends)}, **found.get("node", {})}
    return found


def _is_within(key: str, other: str) -> bool:
    return f"{key}.".startswith(f"{other}.")


def _is_step(key: str) -> bool:
    """Whether a key changes a list step by step, so that a later value adds to it."""
    return is_place(key) and not key.endswith(("middlebox", ".replace"))


def _no_effect(key: str, why: str, expected: str) -> ScenarioError:
    return ScenarioError(Problem(f"{key} has no effect: {why}", key, expected=expected, place=f"--set {key}"))


_SPACED = re.compile(r"""^(?:[^"'\s]|"[^"]*"|'[^']*')*\s""")
"""The beginning of a text with a space outside of quotes: no key has one."""


def cases(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read each `NAME: KEY=VALUE; KEY=VALUE`. Settings may be missing. Without a name, the settings are the name.

    >>> cases(["clear:", "rain: link.sat.delay=260 ms; tcp.dsack=true", "tcp.cc=reno"])
    {'clear': {}, 'rain': {'link.sat.delay': '260 ms', 'tcp.dsack': 'true'}, 'tcp.cc=reno': {'tcp.cc': 'reno'}}
    """
    found: dict[str, dict[str, Any]] = {}
    expected = "a name and settings, each name once: 'prr: tcp.reduction=prr; tcp.dsack=true'"
    for text in map(readable, texts):
        name, colon, rest = text.partition(":")
        if not colon or "=" in name:
            if _SPACED.search(text.partition("=")[0].strip()):
                message = f"--case {text}: no colon after the name"
                raise ScenarioError(Problem(message, value=text, expected=f"expected {expected}"))
            name = rest = text
        name = name.strip()
        if not name:
            raise ScenarioError(Problem(f"--case {text}: no name", value=text, expected=f"expected {expected}"))
        if name in found:
            message = f"--case {text}: there is a case {name} before it"
            raise ScenarioError(Problem(message, value=text, expected="expected each name once"))
        sets = _split_assignments(_split(rest, ";"), f"--case {name}:", expected)
        if twice := [key for place, (key, _) in enumerate(sets) if key in dict(sets[:place])]:
            message = f"case {name} has {twice[0]} twice"
            raise ScenarioError(Problem(message, twice[0], text, expected="expected each key once, a list for several"))
        found[name] = dict(sets)
    return found


def checked_names(names: Iterable[Any], what: str) -> None:
    """Refuse invalid names of keys or cases that were given in Python."""
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise ScenarioError(f"{name!r} is not a name of {what}\n  expected text")
        if HIDDEN.search(name):
            what = f'the name "{visible(name)}" contains a control character or a direction mark'
            raise ScenarioError(f"{what}\n  expected a line of text")


def case_sets(cases: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, Any]]:
    """Convert cases to overrides of a scenario; each replaces the case of its name.

    >>> case_sets({"clear": {}, "1.5 dB": {"link.sat.delay": "260 ms"}})
    [('case.clear', {}), ('case."1.5 dB"', {}), ('case."1.5 dB".link.sat.delay', '260 ms')]
    """
    found: list[tuple[str, Any]] = []
    for name, sets in cases.items():
        case = f"case.{_quote_name(name)}"
        found += [(case, {}), *((f"{case}.{key}", value) for key, value in sets.items())]
    return found


def read_varied(texts: Sequence[str], option: str = "--vary") -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read `KEY=VALUES`, or `KEY=VALUES; KEY=VALUES` for keys that change together; return both kinds.

    VALUES is a list with commas (`newreno,sack`), a range with the number of its values (`1e-5..1e-1:9:log`,
    `1 Mbit/s..9 Mbit/s:5`), or a list or range as in a file.

    >>> read_varied(["tcp.cc=newreno,sack", "tcp.smss=536 B,1460 B; link.l.error.rate=0,1e-3"])
    ({'tcp.cc': ['newreno', 'sack']}, [{'tcp.smss': ['536 B', '1460 B'], 'link.l.error.rate': [0, 0.001]}])
    """
    vary: dict[str, Any] = {}
    together = []
    expected = "each key once, with its values: tcp.cc=newreno,sack, or link.up.error.rate=1e-5..1e-1:9:log"
    for text in texts:
        group: dict[str, Any] = {}
        for key, values in _split_assignments(_split(text, ";") or [text], option, expected):
            if not values or key in group or key in vary:
                raise _wrong(option, text, expected, key)
            group[key] = _values(key, values, option)
        if len(group) == 1:
            vary |= group
        else:
            together.append(group)
    return vary, together


def _split_assignments(texts: Sequence[str], option: str, expected: str) -> list[tuple[str, str]]:
    """Split each `KEY=VALUE` into the key and the value as text."""
    found = []
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise _wrong(option, text, expected)
        found.append((_spelt_out(key.strip(), text), value.strip()))
    return found


def _spelt_out(key: str, text: str) -> str:
    """Return the key of `KEY+=` and `KEY-=`, with the word of the operator."""
    path = key[:-1].rstrip()
    if key.endswith(("+", "-")) and is_place(path):
        return f"{path}.{'append' if key.endswith('+') else 'remove'}"
    if key.endswith("+"):
        expected = "expected KEY=VALUE, or a list to add to: node.NAME.middlebox+=VALUE"
        raise ScenarioError(Problem(f"{path} is not a list of middleboxes", path, text, expected=expected))
    return key


def _wrong(option: str, text: str, expected: str, key: str = "") -> ScenarioError:
    return ScenarioError(Problem(f"{option} {text}", key, text, expected=f"expected {expected}"))


_RANGE = re.compile(r"(?P<from>[^,]+?)\.\.(?P<to>[^,:]+?):(?P<count>\d+)(?P<log>:log)?")
_NEARLY = re.compile(r"[-+.]?\d[^,\"']*\.\.\s*[-+.]?\d[^,]*")
"""Two numbers with two points between them: a range, even with further text."""


def _values(key: str, text: str, option: str) -> Any:
    found = _RANGE.fullmatch(text)
    if not found and _NEARLY.fullmatch(text):
        expected = "FROM..TO:COUNT, or FROM..TO:COUNT:log, like 1e-5..1e-1:9:log"
        raise ScenarioError(
            Problem(f"{option} {key}={text} is not a range", key, text, expected=f"expected {expected}")
        )
    if found:
        ends = {"from": _value(found["from"]), "to": _value(found["to"]), "count": int(found["count"])}
        return ends | ({"scale": "log"} if found["log"] else {})
    whole = _value(text)
    if isinstance(whole, list) or (isinstance(whole, dict) and {"from", "to"} <= whole.keys()):
        return whole
    return [_value(part) for part in _split(text, ",")]


def _value(text: str) -> Any:
    """Read TOML, or else return the text."""
    try:
        content = tomllib.loads(f"value = {text.strip()}\n")
    except tomllib.TOMLDecodeError:
        return text.strip()
    value = content.get("value")
    return value if len(content) == 1 and isinstance(value, (bool, int, float, str, list, dict)) else text.strip()


def _split(text: str, separator: str) -> list[str]:
    """Split at separators outside of brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        else:
            depth += (letter in "[{") - (letter in "]}")
        if letter == separator and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in map(str.strip, parts) if part]


class Key(NamedTuple):
    """A key of a scenario, for completion."""

    meaning: str
    values: dict[str, str]
    """The names of values, with their meanings; empty for quantities."""


def keys(schema: Mapping[str, Any], content: Mapping[str, Any], begin: str = "") -> dict[str, Key]:
    """List the dotted keys of a scenario that begin with a text.

    Parameters
    ----------
    schema : mapping
        JSON Schema of scenarios.
    content : mapping
        A scenario, for the names of its links and flows; may be empty.
    begin : str
        Begin of the keys.

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
    """List the forms of a value, without references, and the names of the followed references."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        # A scenario may occur in its own cases. One round is enough.
        if name not in above:
            yield from _forms(kinds[name], kinds, (*above, name))
    elif forms := node.get("oneOf", node.get("anyOf")):
        for form in forms:
            yield from _forms(form, kinds, above)
    else:
        yield node, above


def _kind(form: Mapping[str, Any]) -> Any:
    """Return the name of a form, if it has one. A table with a kind can be written as only the kind."""
    return form.get("properties", {}).get("kind", form).get("const")


def _is_value(form: Mapping[str, Any]) -> bool:
    return form.get("type") != "object" or _kind(form) is not None


def _names(form: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """List names that can be written for a form, with their meanings."""
    if form.get("type") == "boolean":
        yield from (("true", ""), ("false", ""))
    elif isinstance(_kind(form), str):
        yield _kind(form), form.get("description", "")

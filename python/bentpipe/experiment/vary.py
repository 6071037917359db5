"""How `--vary` writes values of keys: lists, ranges, and keys that go together."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from bentpipe.errors import ScenarioError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Sequence


def parsed(texts: Sequence[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """`KEY=VALUES` each, or `KEY=VALUES; KEY=VALUES` for keys that go together: what varies, and what goes together.

    VALUES is a list with commas (`newreno,sack`), a range with its number of values (`1e-5..1e-1:9:log`,
    `1 Mbit/s..9 Mbit/s:5`), or a list or range as in a file.

    >>> parsed(["tcp.cc=newreno,sack", "tcp.smss=536 B,1460 B; link.l.error.rate=0,1e-3"])
    ({'tcp.cc': ['newreno', 'sack']}, [{'tcp.smss': ['536 B', '1460 B'], 'link.l.error.rate': [0, 0.001]}])
    """
    vary: dict[str, Any] = {}
    together = []
    for text in texts:
        group: dict[str, Any] = {}
        for part in _split(text, ";"):
            key, equals, values = part.partition("=")
            if not equals or not key.strip() or not values.strip() or key.strip() in group or key.strip() in vary:
                raise ScenarioError(
                    f"error: --vary {text}\n  expected each key once, with its values: tcp.cc=newreno,sack,"
                    " or link.up.error.rate=1e-5..1e-1:9:log"
                )
            group[key.strip()] = _values(key.strip(), values.strip())
        if not group:
            raise ScenarioError(
                f"error: --vary {text!r} says nothing\n  expected a key with values: tcp.cc=newreno,sack"
            )
        if len(group) == 1:
            vary |= group
        else:
            together.append(group)
    return vary, together


_RANGE = re.compile(r"(?P<from>[^,]+?)\.\.(?P<to>[^,:]+?):(?P<count>\d+)(?P<log>:log)?")
_NEARLY = re.compile(r"[-+.]?\d[^,\"']*\.\.\s*[-+.]?\d[^,]*")
"""Two numbers with two points between them: meant as a range, whatever follows."""


def _values(key: str, text: str) -> Any:
    found = _RANGE.fullmatch(text)
    if not found and _NEARLY.fullmatch(text):
        raise ScenarioError(
            f"error: --vary {key}={text} is no range\n"
            "  expected FROM..TO:COUNT, or FROM..TO:COUNT:log, like 1e-5..1e-1:9:log"
        )
    if found:
        ends = {"from": _value(found["from"]), "to": _value(found["to"]), "count": int(found["count"])}
        return ends | ({"scale": "log"} if found["log"] else {})
    whole = _value(text)
    if isinstance(whole, list) or (isinstance(whole, dict) and {"from", "to"} <= whole.keys()):
        return whole
    return [_value(part) for part in _split(text, ",")]


def _value(text: str) -> Any:
    """As TOML, or else the text itself."""
    try:
        content = tomllib.loads(f"value = {text.strip()}\n")
    except tomllib.TOMLDecodeError:
        return text.strip()
    value = content.get("value")
    return value if len(content) == 1 and isinstance(value, (bool, int, float, str, list, dict)) else text.strip()


def _split(text: str, separator: str) -> list[str]:
    """Parts between separators that stand in no brackets and no quotes."""
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

"""Entries of a scenario's file: flows that differ only in nodes and in the numbers in their names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def find_entries(flows: Mapping[str, Any]) -> dict[str, str]:
    """Return the kind of each flow by name. Flows of one kind differ only in nodes and in the numbers in their names.

    >>> web, call = {"app": {"kind": "page"}}, {"app": {"kind": "cbr"}}
    >>> find_entries({"call": call, "web1": web, "web2": web, "u1-x": web, "u2-x": web})
    {'call': 'call', 'web1': 'web', 'web2': 'web', 'u1-x': 'u{n}-x', 'u2-x': 'u{n}-x'}
    """
    kinds: dict[str, list[str]] = {}
    for name, flow in flows.items():
        what = {key: flow.get(key) for key in ("app", "tcp", "class")}
        kinds.setdefault(re.sub(r"\d+", "{n}", name) + repr(what), []).append(name)
    found = {}
    for names in kinds.values():
        pattern = re.sub(r"\d+", "{n}", names[0])
        is_free = pattern.removesuffix("{n}") not in flows
        for name in names:
            found[name] = pattern.removesuffix("{n}") if len(names) > 1 and is_free else name
    return {name: found[name] for name in flows}

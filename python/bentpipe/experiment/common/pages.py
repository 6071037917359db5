"""Describes the sizes of the web pages that an experiment loads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe import formatting
from bentpipe.entries import find_entries

if TYPE_CHECKING:
    from collections.abc import Mapping

WEB_BYTES, WEB_REQUESTS = 2_469_888, 77
"""Medians of the model `web-2025`."""
CELLULAR_BYTES, CELLULAR_REQUESTS = 51_534, 6.6
"""Means of the model `3gpp2`."""


def name_pages(flows: Mapping[str, Any]) -> str:
    """Describe the sizes of the web pages of resolved flows; empty without pages. If sizes differ, name the entries.

    >>> app = {"kind": "page", "model": "web-2025", "page_scale": 1.0}
    >>> name_pages({"web1": {"app": app}, "web2": {"app": app}, "film": {"app": {"kind": "greedy"}}})
    '2.47 MB in 77 requests, medians of web-2025'
    >>> old = {**app, "model": "3gpp2", "page_scale": 5.0}
    >>> name_pages({"old": {"app": old}, "web": {"app": app}})
    '258 kB in 6.6 requests, means of 3gpp2 (old); 2.47 MB in 77 requests, medians of web-2025 (web)'
    """
    found: dict[str, dict[str, None]] = {}
    entries = find_entries(flows)
    for name, flow in flows.items():
        if flow["app"]["kind"] == "page":
            found.setdefault(_name_size(flow["app"]), {})[entries[name]] = None
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{size} ({', '.join(names)})" for size, names in found.items())


def _name_size(app: Mapping[str, Any]) -> str:
    """Name the size of the pages of an application.

    >>> page = {"model": "web-2025", "page_scale": 2.0}
    >>> _name_size({**page, "recorded": [{"bytes": "20 kB"}, {"bytes": "1 MB"}]})
    '2.04 MB in 2 requests, as recorded'
    >>> _name_size({**page, "main": "20000 B", "object": "100000 B", "objects": 3})
    '640 kB in 4 requests'
    >>> _name_size({**page, "object": {"kind": "exponential", "mean": "30 kB"}})
    'web-2025 with its own object, scaled by 2'
    """
    times = app["page_scale"]
    if "recorded" in app:
        objects = app["recorded"]
        return f"{_write(times * sum(_bytes(each['bytes']) for each in objects), len(objects))}, as recorded"
    given = {key: app[key] for key in ("main", "object", "objects") if key in app}
    if len(given) == 3 and all(isinstance(value, (str, int)) for value in given.values()):
        count = given["objects"]
        return _write(times * (_bytes(given["main"]) + count * _bytes(given["object"])), count + 1)
    model = app["model"]
    if given:
        scaled = "" if times == 1 else f", scaled by {times:g}"
        return f"{model} with its own {' and '.join(given)}{scaled}"
    if model == "web-2025":
        return f"{_write(times * WEB_BYTES, WEB_REQUESTS)}, medians of {model}"
    return f"{_write(times * CELLULAR_BYTES, CELLULAR_REQUESTS)}, means of {model}"


def _write(size: float, requests: float) -> str:
    return f"{formatting.quantity(float(size), 'B')} in {requests:g} requests"


def _bytes(text: str) -> float:
    from bentpipe import _core

    found = _core.quantity(text)
    assert found is not None, "a resolved scenario has sizes"
    return found[0]

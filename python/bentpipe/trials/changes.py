"""Changes that may shorten a part of the time: values of the stock space, and settings that a search leaves out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.formatting import choice, quantity
from bentpipe.scenario.editing import steps
from bentpipe.scenario.overrides import parse_text
from bentpipe.scenario.writing import literals
from bentpipe.trials.aims import DATAGRAMS
from bentpipe.trials.amounts import size
from bentpipe.trials.linux import find_kind
from bentpipe.trials.paths import WAYS, NetworkPaths
from bentpipe.trials.several_paths import vary_paths
from bentpipe.trials.stock import Axis, queue_axis, stock_space

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bentpipe.scenario.scenario import Scenario

_WINDOW = ("receive_buffer", "auto_buffer.limit", "buffers")
_SENDER = ("cc", "pacing", "slow_start")
_OWN: dict[str, tuple[str, ...]] = {
    "slow-start": ("initial_window", "slow_start", "cc", "pacing"),
    "exchange": ("initial_window", "fast_open"),
    "receive-window": _WINDOW,
    "send-buffer": ("buffers", "auto_buffer.limit"),
    "delayed-ack": ("ack.every",),
    "window": _SENDER,
    "repair": (*_SENDER, "rto.variance_min"),
    "timeout": (*_SENDER, "rto.variance_min"),
    "pacing": _SENDER,
    # The bytes themselves stay. Changes act on the start, and on losses of a window above the path.
    "transmission": (*_SENDER, *_WINDOW, "initial_window"),
}
"""Settings of the hosts that act against each part, of the flow itself."""
_FILLER = ("cc", "pacing", "receive_buffer", "auto_buffer.limit")
"""Settings of the flow that fills a queue."""
_LINKS: dict[str, tuple[str, ...]] = {
    "queue": ("queue", "access", "medium"),
    "access": ("access", "medium"),
    "slow-start": ("access", "medium", "middlebox"),
    "exchange": ("access", "medium", "middlebox"),
    "window": ("middlebox", "interleave", "coding", "acm"),
    "repair": ("queue", "middlebox", "interleave", "coding", "acm"),
    "timeout": ("queue", "middlebox", "interleave", "coding", "acm"),
    "pacing": ("middlebox",),
    "transmission": ("queue", "access", "medium", "acm"),
    "lost": ("queue", "access", "medium", "interleave", "coding", "acm"),
}
"""Settings of links, gateways and media that act against each part. `lost` is the lost packets of datagrams."""
_NAMES = {"codel": "CoDel", "fq-codel": "fq-codel", "pie": "PIE", "red": "RED", "drr": "DRR"}
FIRST_PACKETS = 100
"""Queue limit of the first class of a priority queue."""


@dataclass(frozen=True)
class Change:
    """A change of the scenario."""

    name: str
    axis: str
    """Key that the change sets. Two changes with the same axis exclude each other."""
    sets: tuple[tuple[str, str], ...]
    """Overrides by dotted key, as text."""
    subject: str = ""
    """Subject: `discipline` of a queue, `queue` (its size), `access`, `medium`, `middlebox`, ...; empty for a host."""


@dataclass(frozen=True)
class Slow:
    """A kind of flow with a part of its time."""

    kind: str
    part: str
    """A part of `why`, or `lost`."""
    where: str = ""
    filler: str = ""
    """The kind of flow that fills the queue; empty without one."""


class Changes:
    """The changes that may help the flows of a scenario."""

    def __init__(self, scenario: Scenario, entries: Mapping[str, str]) -> None:
        """Prepare them. `entries` has the kind of each flow by name."""
        self._paths = NetworkPaths(scenario)
        content = self._paths.content
        written = parse_text(*scenario.written).get("flow", {})
        # The first flow of a kind represents all. If the file has the entry, its settings go there.
        self._kinds = {kind: content["flow"][name] for name, kind in reversed([*entries.items()])}
        self._entries = {kind: entry for kind in self._kinds if (entry := _entry(kind, written))}
        self._tcp = {
            kind: f"flow.{_quote_name(self._entries[kind])}.tcp" if kind in self._entries else "tcp"
            for kind in self._kinds
        }
        self._routes: dict[str, set[str]] = {}
        for flow in self._paths.flows:
            links = self._routes.setdefault(entries.get(flow["flow"], ""), set())
            # Datagrams have no answers.
            one_way = find_kind(content["flow"][flow["flow"]].get("app", "greedy")) in ("cbr", "poisson", "on-off")
            links.update(*(flow[way] for way in (WAYS[:1] if one_way else WAYS)))
        self._axes = stock_space(scenario, is_all=False).axes

    def against(self, slow: Slow) -> Iterator[Change]:
        """List changes that may make a part smaller."""
        own = _OWN.get(slow.part, ()) if self._has_transport(slow.kind) else ()
        if own or slow.part == "queue":
            yield from self._change_paths(slow.kind)
        yield from self._change_hosts(slow.kind, own)
        if slow.part == "queue" and slow.filler and slow.filler != slow.kind and self._has_transport(slow.filler):
            yield from self._change_hosts(slow.filler, _FILLER)
        elif slow.part == "queue" and self._has_transport(slow.kind):
            yield from self._change_hosts(slow.kind, _FILLER)
        for axis in self._vary_links(slow):
            yield from _each(axis, axis.key)
        if slow.part in ("queue", "lost") and slow.where in self._paths.links:
            yield from self._priority(slow)

    def _has_transport(self, kind: str) -> bool:
        app = self._kinds[kind].get("app", "greedy") if kind in self._kinds else "port"
        return find_kind(app) not in DATAGRAMS

    def _transport(self, kind: str, key: str) -> Any:
        of: Any = self._kinds[kind].get("tcp") or self._paths.content.get("tcp", {})
        whole: Any = self._paths.content.get("tcp", {})
        for step in key.split("."):
            of, whole = ((each.get(step) if isinstance(each, dict) else None) for each in (of, whole))
        return whole if of is None else of

    def _is_free(self, kind: str, buffer: str) -> bool:
        """Whether a buffer has no fixed limit."""
        return self._transport(kind, buffer) in ("auto", None, "unlimited")

    def _change_hosts(self, kind: str, keys: Sequence[str]) -> Iterator[Change]:
        tcp = self._tcp[kind]
        stock = {axis.key.removeprefix("tcp."): axis for axis in self._axes if axis.key.startswith("tcp.")}
        more = {"fast_open": ("on",), "ack.every": (1,)}
        for key in keys:
            # The kernel of a stock host has no setting for ACKs. Fast Open saves a round trip for few applications.
            values = stock[key].values if key in stock else more.get(key, ())
            if key == "auto_buffer.limit" and self._transport(kind, "receive_buffer") != "auto":
                continue
            shown = [value for value in values if str(value) != find_kind(self._transport(kind, key))]
            yield from _each(Axis(f"{tcp}.{key}", tuple(shown)), f"{tcp}.{key}", kind)
        if "receive_buffer" in keys and "receive_buffer" not in stock and not self._is_free(kind, "receive_buffer"):
            yield from _each(Axis(f"{tcp}.receive_buffer", ("unlimited",)), f"{tcp}.receive_buffer", kind)
        if "buffers" in keys and not self._is_free(kind, "send_buffer"):
            yield from _each(Axis(f"{tcp}.send_buffer", ("unlimited",)), f"{tcp}.send_buffer", kind)

    def _change_paths(self, kind: str) -> Iterator[Change]:
        if kind in self._entries:
            entry, flow = f"flow.{_quote_name(self._entries[kind])}", self._kinds[kind]
            cc, duration = find_kind(self._transport(kind, "cc")), self._paths.content["duration"]
            for axis, sets, name in vary_paths(entry, flow, cc, duration, kind):
                yield Change(name, axis, _text(sets))

    def _vary_links(self, slow: Slow) -> Iterator[Axis]:
        wanted = _LINKS.get(slow.part, ())
        here = f"{self._paths.key(slow.where)}.queue" if slow.where in self._paths.links else ""
        queue_keys = set()
        for axis in self._axes:
            what = _what(axis.key)
            if what == "queue":
                queue_keys.add(axis.key)
            if what not in wanted or (what == "middlebox" and not self._has_transport(slow.kind)):
                continue
            if what == "queue" and here and axis.key != here:
                continue
            yield axis
        if "queue" in wanted and here and here not in queue_keys:
            yield queue_axis(self._paths, slow.where)

    def _priority(self, slow: Slow) -> Iterator[Change]:
        """Serve a flow first. A greedy flow would stop all others, so it never comes first."""
        key = self._paths.key(slow.where)
        over = [kind for kind in self._kinds if slow.where in self._routes.get(kind, ())]
        others = [kind for kind in over if kind != slow.kind]
        is_greedy = find_kind(self._kinds[slow.kind].get("app", "greedy")) == "greedy"
        if is_greedy or not others or not set(over) <= set(self._entries):
            return
        classes = [{"limit": f"{FIRST_PACKETS} packets"}, {"limit": "1 bdp"}]
        changes: list[tuple[str, Any]] = [(f"{key}.queue", {"kind": "priority", "class": classes})]
        changes += [(f"flow.{_quote_name(self._entries[kind])}.class", int(kind != slow.kind)) for kind in over]
        name = f"priority for {slow.kind} on {_place(f'{key}.queue')}"
        yield Change(name, f"{key}.queue", _text(changes), "discipline")


def _each(axis: Axis, key: str, kind: str = "") -> Iterator[Change]:
    for value in axis.values:
        is_discipline = _what(key) == "queue" and isinstance(value, dict)
        subject = "discipline" if is_discipline else _what(key)
        yield Change(named_change(key, value, kind), key, _text([(key, value)]), subject)


def _text(changes: Sequence[tuple[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Return overrides as a user would type them."""
    return tuple((key, re.sub(r'"(\w+)" = ', r"\1 = ", text)) for key, text in literals(changes, {}))


def _what(key: str) -> str:
    """Return the subject of a key of the network: `queue`, `access`, `medium`, `middlebox`, `coding` and others."""
    path = steps(key)
    if path[0] == "tcp" or "tcp" in path[2:]:
        return ""
    below = path[_find_names(path) :]
    if path[0] == "medium":
        return "acm" if "acm" in below else "medium"
    return "access" if "access" in below else path[-1]


def _find_names(path: Sequence[str]) -> int:
    """Count the steps to the name of a link, node or medium: any word may be a name, such as `access`."""
    return 3 if path[:2] == ["sky", "constellation"] else 1 if path[0] == "sky" else 2


def _place(key: str) -> str:
    """Return the link, node or medium of a key: `sat.reverse`."""
    path = steps(key)
    kinds = ("queue", "access", "middlebox", "interleave", "coding")
    ends = [at for at, step in enumerate(path) if at >= _find_names(path) and step in kinds]
    return ".".join(path[1 : ends[0]] if ends else path[1:2])


def named_change(key: str, value: Any, kind: str) -> str:
    """Name a change in words."""
    path, what, place = steps(key), _what(key), _place(key)
    if not what:
        return _name_transport(".".join(path[path.index("tcp") + 1 :]), value, kind)
    if what == "queue":
        named = _NAMES.get(find_kind(value))
        return f"{named or f'a queue of {value}'} on {place}"
    if what == "middlebox":
        kinds = [str(box.get("kind")) for box in value]
        return f"{'a proxy' if kinds[-1] == 'split' else ' and '.join(kinds)} at {place}"
    if what == "access":
        return f"{_name_access(path[-1], value)} on {place}"
    if path[0] == "medium" and path[-1] == "free":
        return f"free slots of {place} for {value}" if value != "none" else f"no free slots of {place}"
    if path[0] == "medium" and path[-1] == "random":
        return f"random access in {place}"
    return f"{' '.join(path[2:] if path[0] == 'medium' else path[-1:]).replace('_', ' ')} of {place} {choice(value)}"


def _name_access(key: str, value: Any) -> str:
    if key == "random":
        return "no random access" if value == "none" else f"random access for {value}"
    if key == "volume_based":
        return "requests by volume" if value else "no requests by volume"
    found = _core.quantity(str(value))
    rate = found[0] if found else 0.0
    if key == "constant":
        return f"a constant rate of {quantity(rate, 'bit/s')}" if rate else "no constant rate"
    return f"requests by rate up to {quantity(rate, 'bit/s')}" if rate else "no requests by rate"


def _name_transport(key: str, value: Any, kind: str) -> str:
    words = {
        "cc": f"{value} for {kind}",
        "initial_window": f"a window of {value} at first for {kind}",
        "fast_open": f"TCP Fast Open for {kind}",
        "ack.every": f"an ACK for each segment of {kind}",
        "slow_start": f"{value} slow start for {kind}",
        "pacing": f"pacing {value} for {kind}",
        "buffers": f"buffers of 64 MiB for {kind}",
        "receive_buffer": f"a receive buffer without limit for {kind}" if value == "unlimited" else "",
        "send_buffer": f"a send buffer without limit for {kind}",
        "rto.variance_min": f"a floor of {value} in the timeout of {kind}",
    }
    if key == "auto_buffer.limit" and (limit := size(value)):
        return f"buffers of {quantity(limit, 'B')} for {kind}"
    return words.get(key) or f"{key.replace('_', ' ').replace('.', ' ')} of {value} for {kind}"


def _entry(kind: str, written: Mapping[str, Any]) -> str:
    """Return the entry of the file of a kind of flow; empty without one. An entry with a count has no number."""
    group = kind.rstrip("0123456789")
    return kind if kind in written else group if "count" in written.get(group, {}) else ""


def _quote_name(name: str) -> str:
    return f'"{name}"' if "." in name else name

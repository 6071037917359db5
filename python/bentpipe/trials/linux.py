"""Settings that a stock kernel, gateway or modem has, and remedies for missing settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bentpipe.catalog import names
from bentpipe.scenario.editing import steps

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

CC = {
    **dict.fromkeys(("reno", "newreno", "sack"), "reno"),
    **{name: name for name in ("cubic", "hybla", "vegas", "veno", "illinois", "htcp", "highspeed", "scalable", "yeah")},
    "bic": "bic",
    "bbr1": "bbr",
    "westwood-plus": "westwood",
}
"""Congestion controls of a stock kernel, with their names there."""
_RELATIVES = {
    **dict.fromkeys(("bbr2", "bbr3", "leocc"), "bbr1"),
    **dict.fromkeys(("westwood", "westwood-nr"), "westwood-plus"),
    "compound": "illinois",
}
"""Congestion controls that a stock kernel lacks, with the nearest that it has. The others have `cubic`."""
QUEUES = ("drop-tail", "red", "codel", "fq-codel", "pie", "drr")
MIDDLEBOXES = ("split",)
"""Middleboxes of a stock gateway: PEPsal splits connections."""
_ANY: tuple[str, ...] = ()
TRANSPORT: dict[str, Collection[str]] = {
    **dict.fromkeys(("initial_window", "idle_restart", "timestamps", "window_scaling", "rto.variance_min"), _ANY),
    **dict.fromkeys(("receive_buffer", "send_buffer", "auto_buffer.limit", "auto_send_buffer.limit"), _ANY),
    "buffers": ("stock", "raised"),
    "cc": tuple(CC),
    "slow_start": ("standard", "hystart"),
    "pacing": ("off", "window", "rate"),
    "ecn": ("off", "classic"),
    # Newer kernels have RACK or no SACK at all.
    "recovery": ("newreno", "rack"),
    "fast_open": ("off", "on"),
}
"""Keys of a transport that a stock kernel can set, with the choices that it has. Empty: any value."""
_PARTS = {"pacing": ("rate",), "fast_open": ("cookie",), "split": ("opener", "listener")}
"""Settings within a choice that a stock system has."""
_INSTEAD = {
    "rto": "tcp.rto.variance_min",
    "rto.min": "tcp.rto.variance_min, which the kernel calls rto_min",
    "auto_buffer": "tcp.buffers or tcp.auto_buffer.limit",
    "auto_send_buffer": "tcp.buffers or tcp.auto_send_buffer.limit",
}


class Lack(NamedTuple):
    """A setting that a stock system lacks."""

    why: str
    instead: str
    """The nearest setting that it has."""


def find_kind(value: Any) -> str:
    """Return the name of a choice that is written as a name or as a table."""
    return str(value.get("kind", "")) if isinstance(value, dict) else str(value)


def find_transport_key(key: str) -> str:
    """Return the key within a transport, such as `rto.min` of `flow.f.tcp.rto.min`; empty for other keys."""
    path = steps(key)
    if path[0] == "flow" and "tcp" in path[2:]:
        path = path[path.index("tcp", 2) :]
    return ".".join(path[1:]) if path[0] == "tcp" else ""


def lack(key: str, value: Any) -> Lack | None:
    """Return why a stock kernel, gateway or modem does not have a setting, and a remedy; None if it has the setting."""
    # A key without a value, such as a gateway without a middlebox, needs nothing.
    return None if value is None else next(_lacks(key, value), None)


def _lacks(key: str, value: Any) -> Iterator[Lack]:
    path, transport = steps(key), find_transport_key(key)
    if transport and transport not in TRANSPORT:
        yield Lack(f"a stock kernel has no setting for {transport}", _INSTEAD.get(transport, "another key"))
    elif transport:
        yield from _check_choice("kernel", transport, value, TRANSPORT[transport])
    elif path[0] == "link" and path[-1] == "queue" and find_kind(value) in names("queue"):
        if find_kind(value) not in QUEUES:
            yield Lack(f"a stock gateway has no queue {find_kind(value)}", "fq-codel")
    elif path[0] == "node" and path[-1] == "middlebox":
        for each in value if isinstance(value, (list, tuple)) else [value]:
            yield from _check_choice("gateway", find_kind(each), each, MIDDLEBOXES)


def _check_choice(where: str, of: str, value: Any, known: Collection[str]) -> Iterator[Lack]:
    """Check the name of a choice and the settings within it."""
    kind = find_kind(value)
    if known and kind not in known:
        nearest = _RELATIVES.get(kind, "cubic") if of == "cc" else " or ".join(known)
        yield Lack(f"a stock {where} has no {kind if of in ('cc', kind) else f'{of} {kind}'}", nearest)
    elif isinstance(value, dict):
        parts = [name for name in value if name != "kind" and name not in _PARTS.get(of, ())]
        if parts:
            yield Lack(f"a stock {where} has no setting for {parts[0]} of {kind}", f'"{kind}"')

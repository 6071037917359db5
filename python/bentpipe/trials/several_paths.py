"""Changes of a flow over several paths: scheduler, coupling, the receive buffer of the connection, and its paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.trials.linux import find_kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SCHEDULERS = ("min-rtt", "blest", "ecf", "linger", "redundant")
COUPLINGS = ("none", "lia", "olia", "balia")
BUFFERS = ("1 bdp", "2 bdp")
"""Sum of the rates times the longest round trip, and twice that, as RFC 6182 §5.3 advises."""


RENO = ("reno", "newreno", "sack")
"""Congestion controls whose windows can be coupled."""

Sets = list[tuple[str, Any]]


def vary_paths(
    entry: str, flow: Mapping[str, Any], cc: str, duration: str, kind: str
) -> Iterator[tuple[str, Sets, str]]:
    """List changes of a flow over several paths: the axis, keys with their values, and a name for each.

    Parameters
    ----------
    entry : str
        Key of the flow: `flow.download`.
    flow : dict
        Its values.
    cc : str
        Its congestion control.
    duration : str
        Duration of the run: a subflow that joins later carries nothing.
    kind : str
        Its name in words.

    Examples
    --------
    >>> flow = {"multipath": {"scheduler": "blest", "coupling": "auto"}, "subflow": {"geo": {}, "leo": {}}}
    >>> changes = list(vary_paths("flow.f", flow, "cubic", "60 s", "f"))
    >>> changes[0]
    ('flow.f.multipath.scheduler', [('flow.f.multipath.scheduler', 'min-rtt')], 'the scheduler min-rtt for f')
    >>> changes[4][1]
    [('flow.f.multipath.coupling', 'lia'), ('flow.f.tcp.cc', 'sack')]
    >>> [name for _, _, name in changes[-2:]]
    ['leo as a backup for f', 'f without leo']
    """
    multipath: Mapping[str, Any] | None = flow.get("multipath")
    if multipath is None:
        return
    key = f"{entry}.multipath.scheduler"
    for scheduler in SCHEDULERS:
        if scheduler != find_kind(multipath.get("scheduler", "")):
            yield key, [(key, scheduler)], f"the scheduler {scheduler} for {kind}"
    key, present, can_couple = f"{entry}.multipath.coupling", multipath.get("coupling", "auto"), cc in RENO
    if present == "auto":
        present = "lia" if can_couple else "none"
    for coupling in COUPLINGS:
        needed = [] if can_couple or coupling == "none" else [(f"{entry}.tcp.cc", "sack")]
        if coupling != present:
            more = " with sack" if needed else ""
            yield key, [(key, coupling), *needed], f"the coupling {coupling}{more} for {kind}"
    key = f"{entry}.multipath.receive_buffer"
    for buffer in BUFFERS:
        if buffer != multipath.get("receive_buffer"):
            yield key, [(key, buffer)], f"a receive buffer of {buffer} for {kind}"
    for name, subflow in flow.get("subflow", {}).items():
        key = f"{entry}.subflow.{name}"
        if not subflow.get("backup"):
            yield f"{entry}.subflow", [(f"{key}.backup", True)], f"{name} as a backup for {kind}"
        yield f"{entry}.subflow", [(f"{key}.start", duration)], f"{kind} without {name}"

"""Flows of real packets between the nodes of an emulation."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.catalog import unknown
from bentpipe.errors import EmulationError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bentpipe.scenario.scenario import Scenario

HOSTS_MAX = 40
"""Largest number of nodes with programs: each pair has a flow."""


def connect_nodes(scenario: Scenario, nodes: Iterable[str]) -> Scenario:
    """Add a flow of real packets between each pair of nodes that has none. All flows of the scenario stay.

    Raises
    ------
    EmulationError
        A node is unknown, or there are too many.
    """
    names = list(dict.fromkeys(nodes))
    known = [each["node"] for each in scenario.network()["nodes"]]
    for name in names:
        if name not in known:
            raise EmulationError(unknown(name, "a node", known))
    if len(names) > HOSTS_MAX:
        raise EmulationError(f"{len(names)} nodes with programs\n  expected {HOSTS_MAX} or fewer")
    there = {frozenset((flow["from"], flow["to"])) for flow in scenario.to_dict()["flow"].values() if is_port(flow)}
    pairs = [pair for pair in combinations(names, 2) if frozenset(pair) not in there]
    # As written: the resolved scenario of a sky has changes of routes for the flows of the file only.
    text, form = scenario.written
    content: dict[str, Any] = json.loads(text) if form == "json" else tomllib.loads(text)
    content["flow"] = {
        **content["flow"],
        **{f"real {one} {other}": {"from": one, "to": other, "app": "port"} for one, other in pairs},
    }
    return scenario.with_content(content).with_sets(scenario.sets)


@dataclass(frozen=True)
class Path:
    """One path of a connection of the kernel: a flow of real packets in place of a subflow."""

    flow: str
    is_backup: bool


def list_paths(scenario: Scenario, flow: str) -> list[Path]:
    """List the paths of a flow in order of their opening; empty for a flow over one path.

    Raises
    ------
    EmulationError
        A subflow starts later than the others.
    """
    subflows = scenario.to_dict()["flow"][flow].get("subflow", {})
    for name, subflow in subflows.items():
        start = _core.quantity(subflow["start"])
        if start is not None and start[0] > 0:
            raise EmulationError(
                f"subflow {name} of {flow} starts at {subflow['start']}: the kernel opens all subflows at once\n"
                "  expected start = '0 s' of each subflow"
            )
    lanes = (each["flow"] for each in scenario.network()["subflows"] if each["subflow_of"] == flow)
    return [Path(name, subflows[name.removeprefix(f"{flow}.")]["backup"]) for name in lanes]


def with_port(scenario: Scenario, flow: str | None = None) -> tuple[Scenario, list[Path]]:
    """Copy the scenario, with a flow of real packets in place of one of its flows.

    This is the flow `flow`, or the first one if the scenario has no flow of real packets. A flow over several paths
    becomes a flow of real packets for each subflow, with the names of the subflows. These names are returned, too.

    Raises
    ------
    EmulationError
        There is no such flow, or the kernel cannot open its subflows.
    """
    content = scenario.to_dict()
    flows = content["flow"]
    if flow is None:
        if any(is_port(each) for each in flows.values()):
            return scenario, []
        flow = next(iter(flows))
    if flow not in flows:
        raise EmulationError(unknown(flow, "a flow", flows))
    paths = list_paths(scenario, flow)
    whole = flows.pop(flow)
    parts = {path.flow: whole["subflow"][path.flow.removeprefix(f"{flow}.")] for path in paths} or {flow: {}}
    kept = ("from", "to", "class", "route", "reverse_route")
    for name, part in parts.items():
        table = {**whole, **part}
        flows[name] = {**{key: table[key] for key in kept if key in table}, "app": "port"}
    return scenario.with_content(content), paths


def is_port(flow: dict[str, Any]) -> bool:
    """Whether a flow is of real packets."""
    app = flow["app"]
    kind: str = app["kind"] if isinstance(app, dict) else app
    return kind == "port"


def list_hosts(scenario: Scenario) -> list[str]:
    """List the nodes that are hosts: the ends of flows of real packets."""
    flows = [flow for flow in scenario.to_dict()["flow"].values() if is_port(flow)]
    return sorted({flow[end] for flow in flows for end in ("from", "to")})

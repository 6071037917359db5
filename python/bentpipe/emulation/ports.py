"""Flows of real packets between the nodes of an emulation."""

from __future__ import annotations

import json
import sys
from itertools import combinations
from typing import TYPE_CHECKING, Any

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


def with_port(scenario: Scenario, flow: str | None = None) -> Scenario:
    """Copy of the scenario with a port instead of a flow, if it has no port or `flow` is given.

    Raises
    ------
    EmulationError
        There is no such flow.
    """
    content = scenario.to_dict()
    flows = content["flow"]
    if flow is None:
        if any(is_port(each) for each in flows.values()):
            return scenario
        flow = next(iter(flows))
    if flow not in flows:
        raise EmulationError(unknown(flow, "a flow", flows))
    kept = ("from", "to", "class", "route", "reverse_route")
    flows[flow] = {**{key: flows[flow][key] for key in kept if key in flows[flow]}, "app": "port"}
    return scenario.with_content(content)


def is_port(flow: dict[str, Any]) -> bool:
    """Whether a flow is of real packets."""
    app = flow["app"]
    kind: str = app["kind"] if isinstance(app, dict) else app
    return kind == "port"


def list_hosts(scenario: Scenario) -> list[str]:
    """List the nodes that are hosts: the ends of flows of real packets."""
    flows = [flow for flow in scenario.to_dict()["flow"].values() if is_port(flow)]
    return sorted({flow[end] for flow in flows for end in ("from", "to")})

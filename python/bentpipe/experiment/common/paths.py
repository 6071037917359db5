"""Subflows of flows over several paths, by the names of results: `FLOW.SUBFLOW`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bentpipe.scenario.scenario import Scenario


def list_subflows(scenario: Scenario, flow: str) -> list[str]:
    """List the subflows of a flow; an empty list if the flow uses one path."""
    # Names of subflows have no dots.
    return [name for name in scenario.subflow_names if name.rpartition(".")[0] == flow]

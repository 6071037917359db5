"""Lines of a panel of flows: one for each flow, or one for each kind of flow if there are many flows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.entries import find_entries
from bentpipe.plot.style import find_place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.experiment.single.run_result import RunResult

LINES_MAX = 8
"""Maximum number of lines with different looks. More lines of one kind are a cloud."""


@dataclass(frozen=True)
class Line:
    """A line of a panel.

    Attributes
    ----------
    name : str
        A flow, a kind of flow, or a link.
    place : int
        Place among the looks of lines, the same in all panels of a figure.
    members : list of str
        The flows, or the link, that the line shows: their mean if there are several.
    """

    name: str
    place: int
    members: list[str]


def choose_lines(result: RunResult, flows: Sequence[str]) -> list[Line]:
    """Choose the lines of these flows.

    If a run has more flows than `LINES_MAX`, of several kinds, each kind has a line, because a mean over a call, a page
    and a backup means nothing. Flows of one kind differ only in nodes and in the numbers in their names.
    """
    kinds = set(find_entries(result.scenario.to_dict()["flow"]).values())
    if len(result.scenario.flow_names) > LINES_MAX and 1 < len(kinds) <= LINES_MAX:
        return group_flows(result, flows)
    places = _find_places(result)
    return [Line(flow, places[flow], [flow]) for flow in flows]


def _find_places(result: RunResult) -> dict[str, int]:
    """The places of flows: those of their congestion controls, if each flow has another one."""
    names = result.scenario.flow_names
    senders = dict(result.flows.select("flow", "cc").drop_nulls().iter_rows())
    if len({senders.get(flow, flow) for flow in names}) == len(names) == len(senders):
        return {flow: find_place(senders[flow], place) for place, flow in enumerate(names)}
    return {flow: place for place, flow in enumerate(names)}


def group_flows(result: RunResult, flows: Sequence[str]) -> list[Line]:
    """Return a line for each kind of these flows, in the order of the scenario."""
    kinds = find_entries(result.scenario.to_dict()["flow"])
    places = {kind: place for place, kind in enumerate(dict.fromkeys(kinds.values()))}
    found: dict[str, list[str]] = {}
    for flow in flows:
        found.setdefault(kinds[flow], []).append(flow)
    return [Line(kind, places[kind], found[kind]) for kind in places if kind in found]

"""Rates and delays of links over time, as series: rain with its MODCODs, passes, moving paths.

`Scenario.network` has them as profiles. A run does not record them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.catalog import unknown
from bentpipe.errors import BentpipeError
from bentpipe.experiment.common.paths import list_subflows
from bentpipe.statistics.curve import Curve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bentpipe.experiment.single.run_result import RunResult

    Values = NDArray[np.float64]

SERIES = {
    "link_rate_bps": ("rate_bps", "bit/s", "Rate of the link: it changes with rain, MODCODs and passes."),
    "link_delay_s": ("delay_s", "s", "Propagation delay of the link."),
}
"""By name: the key of `Scenario.network`, the unit, and the meaning."""
ROUTE_RATE = "route_rate_bps"
"""The least rate of the links on the route of a flow's data, a reference for its goodput."""
POINTS_MOST = 100_000
"""Points of a profile that repeats."""
BETWEEN = 8
"""Points between two of a profile that changes evenly."""


def describe_series(network: dict[str, Any]) -> list[dict[str, Any]]:
    """Describe the series that change for any link, as `RunData.described` does."""
    about = {"name": ROUTE_RATE, "of": "flow", "unit": "bit/s", "kind": "level"}
    return [about | {"meaning": "Rate of the slowest link on the route of the flow's data."}] + [
        {"name": name, "of": "link", "unit": unit, "meaning": meaning, "kind": "level"}
        for name, (key, unit, meaning) in SERIES.items()
        if any(len(link[key]["values"]) > 1 for link in network["links"])
    ]


def find_route_rate(network: dict[str, Any], result: RunResult, flow: str) -> Curve:
    """Return the rate of the slowest link on the route of a flow's data over time. Links in a medium have no rate.

    The rate of a flow over several paths is the sum over its subflows.

    Raises
    ------
    BentpipeError
        There is no such flow or subflow.
    """
    scenario = result.scenario
    known = [*scenario.flow_names, *scenario.subflow_names]
    if flow not in known:
        raise BentpipeError(unknown(flow, "a flow of this scenario", known))
    lanes = list_subflows(scenario, flow)
    life = result.find_life(flow)
    if not lanes:
        steps_of_flow = _find_slowest(network, result, flow)
        return Curve.from_rows("level", *steps_of_flow, [life] if life else [])
    found = [_find_slowest(network, result, lane, is_part=True) for lane in lanes]
    edges = np.unique(np.concatenate([times for times, _ in found]))
    rates = np.zeros(len(edges))
    for times, values in found:
        at = np.searchsorted(times, edges, side="right") - 1
        rates += np.where(at >= 0, values[at], 0.0) if len(times) else 0.0
    return Curve.from_rows("level", edges, rates, [life] if life else [])


def _find_slowest(
    network: dict[str, Any], result: RunResult, flow: str, *, is_part: bool = False
) -> tuple[Values, Values]:
    """Times and rates of the slowest link on a route. A part of a sum is 0 while it has no route."""
    routes = result.find_routes(flow)
    ends = [*(begin_s for begin_s, _ in routes[1:]), result.simulated_s]
    times, rates = [], []
    in_media = set(result.terminals["link"])
    for (begin_s, links), end_s in zip(routes, ends, strict=True):
        found = [steps(network, "link_rate_bps", link, result.simulated_s) for link in links if link not in in_media]
        edges = np.unique(np.concatenate([[begin_s], *(at[(at > begin_s) & (at < end_s)] for at, _ in found)]))
        if found and begin_s < end_s:
            here = [values[np.maximum(np.searchsorted(at, edges, side="right") - 1, 0)] for at, values in found]
            times.append(edges)
            rates.append(np.min(here, axis=0))
        elif is_part and not links:
            times.append(np.array([begin_s]))
            rates.append(np.zeros(1))
    all_times, all_rates = (np.concatenate(each) if each else np.zeros(0) for each in (times, rates))
    return all_times, all_rates


def steps(network: dict[str, Any], name: str, link: str, end_s: float) -> tuple[Values, Values]:
    """Times and values of a profile up to the end of a run.

    Raises
    ------
    BentpipeError
        There is no such link.
    """
    links = {each["link"]: each for each in network["links"]}
    if link not in links:
        raise BentpipeError(unknown(link, "a link of this scenario", links))
    profile = links[link][SERIES[name][0]]
    times, values = np.array(profile["times_s"], dtype=np.float64), np.array(profile["values"], dtype=np.float64)
    if profile["linear"] and len(times) > 1:
        fine = np.unique(np.concatenate([np.linspace(a, b, BETWEEN + 1) for a, b in pairwise(times)]))
        times, values = fine, np.interp(fine, times, values)
    if profile["period_s"] is not None:
        turns = min(int(end_s // profile["period_s"]) + 1, max(1, POINTS_MOST // len(times)))
        times = (times + profile["period_s"] * np.arange(turns)[:, None]).ravel()
        values = np.tile(values, turns)
    there = times <= end_s
    return times[there], values[there]

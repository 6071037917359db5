"""The network of a scenario for a search: routes, rates, delays, and the key of each link."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bentpipe.scenario.overrides import parse_text
from bentpipe.trials.amounts import milliseconds
from bentpipe.trials.linux import find_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bentpipe.scenario.scenario import Scenario

WAYS = ("route", "reverse_route")
STEPS_MIN_S = 2.0
"""Shortest time for which a delay holds that is a step of the path. Frames and grants are shorter."""
REALLOCATION_S = 15.0
"""Period with which Starlink selects satellites."""


class NetworkPaths:
    """The network of a scenario, as the entries of the space need it."""

    def __init__(self, scenario: Scenario) -> None:
        network = scenario.network()
        self.scenario, self.links = scenario, {link["link"]: link for link in network["links"]}
        self.content, self.written = scenario.to_dict(), parse_text(*scenario.written)
        every = (each for flow in network["flows"] for each in _over_time(flow))
        self.flows = [flow for flow in every if flow["route"] and flow["reverse_route"]]
        """Flows with their routes, an entry for each pair of routes over time."""

    def rtt_s(self, flow: dict[str, Any]) -> float:
        """Propagation round trip of a flow, from the median delay of each link.

        So a slow ping in a trace has no effect.
        """
        return sum(self._delay_s(name) for name in (*flow["route"], *flow["reverse_route"]))

    def longest_s(self, flow: dict[str, Any]) -> float:
        """Longest propagation round trip of a flow, from which a scenario computes a bandwidth-delay product."""
        return float(
            sum(max(self.links[name]["delay_s"]["values"]) for name in (*flow["route"], *flow["reverse_route"]))
        )

    def _delay_s(self, name: str) -> float:
        """Median delay of a link over its period, or over the run."""
        delay = self.links[name]["delay_s"]
        times, values = delay["times_s"], delay["values"]
        if len(values) == 1:
            return float(values[0])
        end = delay["period_s"] or max(self.scenario.duration_s, times[-1])
        spans = [after - before for before, after in pairwise([*times, end])]
        passed, half = 0.0, sum(spans) / 2
        for value, span in sorted(zip(values, spans, strict=True)):
            passed += span
            if passed >= half:
                return float(value)
        return float(max(values))

    def rate_bps(self, name: str) -> float:
        """Smallest rate of a link."""
        # A rate of zero is an outage.
        return float(min((rate for rate in self.links[name]["rate_bps"]["values"] if rate), default=0.0))

    def tightest(self, route: Sequence[str]) -> str:
        """Link with the smallest rate of a route."""
        return min(route, key=self.rate_bps)

    @property
    def period_s(self) -> float | None:
        """Period of the steps of the path: of a delay, slots, a slowly changing jitter, or satellite selection."""
        found = [link["delay_s"]["period_s"] for link in self.links.values() if link["delay_s"]["period_s"]]
        for name in self.links:
            jitter = self.direction(name).get("jitter") or []
            jitter = [jitter] if isinstance(jitter, dict) else jitter
            jitter = [*jitter, self.direction(name).get("slots") or {}]
            every = (milliseconds(each.get("every", "0 s")) / 1e3 for each in jitter)
            found += [each for each in every if each >= STEPS_MIN_S]
        sky = self.written.get("sky")
        if isinstance(sky, dict) and "starlink" in json.dumps(sky.get("selection", "")):
            found.append(REALLOCATION_S)
        return min(found, default=None)

    @property
    def longest_rtt_s(self) -> float:
        """Largest propagation round trip of all flows."""
        return max(map(self.rtt_s, self.flows), default=0.0)

    @property
    def bdp_bytes(self) -> float:
        """Largest bandwidth-delay product of all flows, in either direction."""
        routes = [(flow, flow[way]) for flow in self.flows for way in WAYS]
        return max((self.rtt_s(flow) * self.rate_bps(self.tightest(route)) / 8 for flow, route in routes), default=0.0)

    def key(self, name: str) -> str:
        """Return the key of a direction of a link: `link.sat.forward`.

        Links of a group have the key of the group, and links of a sky that of their hop: `sky.user.forward`.
        """
        link, _, direction = name.rpartition(".")
        written, group = self.written.get("link", {}), link.rstrip("0123456789")
        if link not in written and (hop := self._hop(link)):
            return f"{hop}.{direction}"
        is_grouped = link not in written and isinstance(written.get(group), dict)
        return f"link.{_quote_link(f'{group}.{direction}' if is_grouped and 'count' in written[group] else name)}"

    def _hop(self, link: str) -> str:
        """Return the key of a link of a sky: the hop of its constellation. Empty for other links."""
        sky, ends = self.written.get("sky"), link.split("~")
        if not isinstance(sky, dict) or len(ends) != 2:
            return ""
        satellites = [end for end in ends if self.is_satellite(end)]
        if not satellites:
            return "sky.fibre"
        own = sky.get("constellation", {})
        of = next((name for name in own if satellites[0] == name or satellites[0].startswith(f"{name}-")), None)
        table = "sky" if of is None else f"sky.constellation.{quoted_name(of)}"
        if len(satellites) == 2:
            return f"{table}.inter_satellite"
        # The first end of a link is on the ground.
        return f"{table}.{'feeder' if ends[0] in _list_names(sky.get('gateway')) else 'user'}"

    def is_satellite(self, node: str) -> bool:
        """Whether a node is a satellite of the sky."""
        if not isinstance(self.written.get("sky"), dict):
            return False
        sky, ground = self.written["sky"], {"from", "to"}
        places = {*sky.get("place", {}), *_list_names(sky.get("gateway"))}
        ends = (
            link.get(end, "").replace("{n}", "") for link in self.written.get("link", {}).values() for end in ground
        )
        hosts = (
            flow.get(end, "").replace("{n}", "") for flow in self.written.get("flow", {}).values() for end in ground
        )
        return node.rstrip("0123456789") not in {*places, *ends, *hosts} and node not in {*places, *ends, *hosts}

    def medium(self, name: str) -> str:
        """Return the name of a medium in the file: a medium of a sky exists once for each satellite."""
        written = self.written.get("medium", {})
        return name if name in written else next((each for each in written if name.startswith(f"{each} ")), name)

    def medium_key(self, name: str) -> str:
        """Return the key of a medium: `medium.return`."""
        return f"medium.{quoted_name(self.medium(name))}"

    def keys(self, names: Iterable[str]) -> dict[str, str]:
        """Return the first link of each key."""
        found: dict[str, str] = {}
        for name in names:
            found.setdefault(self.key(name), name)
        return found

    @property
    def names(self) -> list[str]:
        """Directions of links that flows use."""
        return sorted({name for flow in self.flows for way in WAYS for name in flow[way]})

    def around(self, route: Sequence[str], name: str) -> tuple[str | None, str | None]:
        """Return the nearest nodes before and behind a link that may have middleboxes. Hosts and satellites may not."""
        hosts = {end for flow in self.flows for end in (flow["from"], flow["to"])}
        kinds = {node: table.get("kind") for node, table in self.content.get("node", {}).items()}
        nodes = [self.links[route[0]]["from"], *(self.links[each]["to"] for each in route)]
        at = route.index(name)
        able = [
            node if node not in hosts and kinds.get(node) != "bent-pipe" and not self.is_satellite(node) else None
            for node in nodes
        ]
        return next(filter(None, reversed(able[: at + 1])), None), next(filter(None, able[at + 1 :]), None)

    def has_errors(self, name: str) -> bool:
        """Whether a direction of a link has an error model."""
        return find_kind(self.direction(name).get("error", "none")) != "none"

    def direction(self, name: str) -> dict[str, Any]:
        """Return the resolved keys of a direction of a link: `sat.forward`."""
        link, _, direction = name.rpartition(".")
        found = self.content["link"].get(link) or self.content["link"].get(name, {})
        return {**found, **found.get(direction, {})}


def _over_time(flow: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return a flow with each pair of routes that it has in the course of a run."""
    ways = {"route": "routes_later", "reverse_route": "reverse_routes_later"}
    times = sorted({0.0, *(each["time_s"] for later in ways.values() for each in flow.get(later, ()))})
    now = {way: flow[way] for way in ways}
    found = []
    for time_s in times:
        for way, later in ways.items():
            now[way] = next((each["route"] for each in flow.get(later, ()) if each["time_s"] == time_s), now[way])
        if now not in found:
            found.append(dict(now))
    yield from ({**flow, **routes} for routes in found)


def _list_names(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else list(names or ())


def _quote_link(link: str) -> str:
    """Return the part of a key for a link or one of its directions; the name of a link may have points."""
    name, point, direction = link.rpartition(".")
    name, rest = (name, f".{direction}") if direction in ("forward", "reverse") and point else (link, "")
    return quoted_name(name) + rest


def quoted_name(name: str) -> str:
    """Return a name as a part of a key."""
    return f'"{name}"' if "." in name else name

"""Settings of a stock kernel, gateway or modem, and the space to search if a scenario has no `[tune.vary]`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bentpipe.catalog import choices
from bentpipe.scenario.editing import steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bentpipe.scenario.scenario import Scenario

LINUX = {
    **dict.fromkeys(("reno", "newreno", "sack"), "reno"),
    **{name: name for name in ("cubic", "hybla", "vegas", "veno", "illinois", "htcp", "highspeed", "scalable", "yeah")},
    "bic": "bic",
    "bbr1": "bbr",
    "westwood-plus": "westwood",
}
"""Congestion controls of a stock kernel, with their names there."""
QUEUES = ("drop-tail", "red", "codel", "fq-codel", "pie", "drr")
KEYS = (
    *("cc", "initial_window", "slow_start", "pacing", "ecn", "idle_restart", "receive_buffer", "send_buffer"),
    *("rto", "timestamps", "window_scaling", "recovery", "ack", "fast_open", "auto_buffer", "auto_send_buffer"),
)
"""Keys of a transport that a stock kernel can set."""
STOCK_CC = ("cubic", "bbr1", "hybla", "westwood-plus", "reno")
PERIODIC_CC = ("leocc", "satcp")
"""Congestion controls that expect periodic handovers."""


@dataclass(frozen=True)
class Axis:
    """A key with the values to try besides the scenario's own value."""

    key: str
    values: tuple[Any, ...] = field(hash=False)
    reason: str = ""
    is_stock: bool = False
    """Whether the stock space has it. A value that the scenario refuses is then left out."""

    @property
    def what(self) -> str:
        """The key without the word of its table: `initial window`, `queue of sat.forward`."""
        table, *rest = steps(self.key)
        if table == "link":
            return f"{rest[-1].replace('_', ' ')} of {'.'.join(rest[:-1])}"
        if table in ("flow", "node"):
            of, *names = rest
            return f"{' '.join(names).removeprefix('tcp ').replace('_', ' ')} of {of}"
        return " ".join(rest).replace("_", " ") if table == "tcp" else self.key


def kind_of(value: Any) -> str:
    """Return the name of a choice that is written as a name or as a table."""
    return str(value.get("kind", "")) if isinstance(value, dict) else str(value)


def lacking(key: str, value: Any) -> str:
    """Say why a stock kernel, gateway or modem does not have a setting; empty if it has."""
    kind = kind_of(value)
    transport = key.removeprefix("tcp.") if key.startswith("tcp.") else key.partition(".tcp.")[2]
    if transport == "cc":
        return "" if kind in LINUX else f"a stock kernel has no {kind}"
    if transport:
        return "" if transport.partition(".")[0] in KEYS else f"a stock kernel has no setting for {transport}"
    if key.endswith(".queue") and kind in _names("queue") and kind not in QUEUES:
        return f"a stock gateway has no {kind}"
    return ""


def _names(topic: str) -> list[str]:
    return [each["name"] for each in choices()[topic]]


def stock_space(scenario: Scenario, *, is_all: bool) -> list[Axis]:
    """Make the space of a scenario from its hosts, queues and links, with a reason for each entry.

    `is_all` adds what exists only in research.
    """
    network = scenario.network()
    # The links of a sky exist in each run only.
    flows = [] if scenario.has_sky else network["flows"]
    links = {link["link"]: link for link in network["links"]}
    found = [*_of_hosts(scenario, links, is_all=is_all), *_of_queues(flows, links)]
    return [replace(each, is_stock=True) for each in found]


def _of_hosts(scenario: Scenario, links: dict[str, Any], *, is_all: bool) -> Iterator[Axis]:
    if not scenario.hosts:
        return
    is_periodic = any(link["delay_s"]["period_s"] is not None for link in links.values())
    research = PERIODIC_CC if is_all and is_periodic else ()
    why = "the sender decides the growth of the window and the meaning of a loss"
    cc = (*STOCK_CC, *(("bbr3",) if is_all else ()), *research)
    yield Axis("tcp.cc", cc, why + ("; the delay has periodic steps" if research else ""))
    rtt = _longest_rtt(scenario, links)
    yield Axis(
        "tcp.initial_window",
        ("10 segments", "20 segments", "40 segments"),
        f"a round trip takes {1000 * rtt:.0f} ms, and slow start needs several",
    )
    yield Axis("tcp.slow_start", ("standard", "hystart"), "an early end of slow start costs many long round trips")
    yield Axis("tcp.pacing", ("off", "window"), "bursts overflow short queues")
    if _markers(scenario):
        yield Axis("tcp.ecn", ("off", "classic"), "a queue of the path marks packets")


def _markers(scenario: Scenario) -> list[str]:
    """List the links whose queue marks packets."""
    found = []
    for name, link in scenario.to_dict()["link"].items():
        for each in (link, link.get("forward", {}), link.get("reverse", {})):
            queue = each.get("queue")
            if isinstance(queue, dict) and queue.get("ecn"):
                found.append(f"link.{name}")
    return found


def _longest_rtt(scenario: Scenario, links: dict[str, Any]) -> float:
    delays = [
        sum(max(links[name]["delay_s"]["values"]) for name in (*flow["route"], *flow["reverse_route"]))
        for flow in scenario.network()["flows"]
        if flow["route"] and flow["reverse_route"]
    ]
    return max(delays, default=0.0)


def _of_queues(flows: Sequence[dict[str, Any]], links: dict[str, Any]) -> Iterator[Axis]:
    for way in ("route", "reverse_route"):
        routes = [flow[way] for flow in flows if flow[way]]
        tightest = {min(route, key=lambda name: min(links[name]["rate_bps"]["values"])) for route in routes}
        for name in sorted(tightest):
            rtt = max(
                sum(max(links[each]["delay_s"]["values"]) for each in (*flow["route"], *flow["reverse_route"]))
                for flow in flows
                if flow[way] and name in flow[way] and flow["route"] and flow["reverse_route"]
            )
            key = f"link.{_quoted(name)}.queue"
            if way == "reverse_route" and any(name in route for route in [flow["route"] for flow in flows]):
                continue
            rate = min(links[name]["rate_bps"]["values"])
            yield Axis(key, _queues(rtt), f"it is the tightest link of its direction, {rate / 1e6:.4g} Mbit/s")


def _quoted(link: str) -> str:
    """Return the part of a key for a link or one of its directions; the name of a link may have points."""
    name, point, direction = link.rpartition(".")
    name, rest = (name, f".{direction}") if direction in ("forward", "reverse") and point else (link, "")
    return (f'"{name}"' if "." in name else name) + rest


def _queues(rtt: float) -> tuple[Any, ...]:
    target, interval = f"{max(5, 1000 * rtt / 20):.3g} ms", f"{max(100, 1000 * rtt):.4g} ms"
    marking = {"target": target, "interval": interval, "ecn": False}
    return (
        *("0.25 bdp", "0.5 bdp", "1 bdp", "2 bdp"),
        {"kind": "codel", **marking},
        {"kind": "fq-codel", **marking},
        {"kind": "pie", "target": target},
    )

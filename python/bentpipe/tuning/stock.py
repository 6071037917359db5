"""The space to search if a scenario has no `[tune.vary]`: settings of hosts, queues, links and gateways."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from bentpipe.scenario.editing import steps
from bentpipe.tuning.amounts import KIB64, ROUNDED, buffer_limit, size
from bentpipe.tuning.linux import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bentpipe.scenario.scenario import Scenario

STOCK_CC = ("cubic", "bbr1", "hybla", "westwood-plus", "reno")
RESEARCH_CC = ("bbr3",)
PERIODIC_CC = ("leocc", "satcp")
"""Congestion controls that expect periodic handovers."""
BUFFERS = (1, 2, 4)
"""Receive buffers to try, in bandwidth-delay products."""
SPANS = ("20 ms", "100 ms")
"""Depths of an interleaver."""


@dataclass(frozen=True)
class Axis:
    """A key with the values to try besides the scenario's own value."""

    key: str
    values: tuple[Any, ...] = field(hash=False)
    reason: str = ""
    is_stock: bool = False
    """Whether the stock space has it. A value that the scenario refuses is then left out."""
    default: Any = field(default=None, hash=False)
    """The scenario's own value; None if it has none."""

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


class Stock(NamedTuple):
    """The stock space of a scenario."""

    axes: list[Axis]
    absent: dict[str, str]
    """Entries that are not tried, with the reason."""


def stock_space(scenario: Scenario, *, is_all: bool) -> Stock:
    """Make the space of a scenario from its hosts, queues, links and gateways, with a reason for each entry.

    `is_all` adds what exists only in research.
    """
    network = scenario.network()
    # The links of a sky exist in each run only.
    flows = [] if scenario.has_sky else network["flows"]
    path = _Path(scenario, {link["link"]: link for link in network["links"]}, flows)
    found = [*_of_hosts(path, is_all=is_all), *_of_queues(path), *_of_gateways(path), *_of_errors(path)]
    absent = {each.key: each.reason for each in found if not each.values}
    if scenario.has_sky:
        absent["link"] = "the links of a sky exist in each run only"
    return Stock([replace(each, is_stock=True) for each in found if each.values], absent)


class _Path:
    """The network of a scenario, as the entries of the space need it."""

    def __init__(self, scenario: Scenario, links: dict[str, Any], flows: Sequence[dict[str, Any]]) -> None:
        self.scenario, self.links = scenario, links
        self.content = scenario.to_dict()
        self.flows = [flow for flow in flows if flow["route"] and flow["reverse_route"]]

    def rtt_s(self, flow: dict[str, Any]) -> float:
        """Longest propagation round trip of a flow."""
        return float(
            sum(max(self.links[name]["delay_s"]["values"]) for name in (*flow["route"], *flow["reverse_route"]))
        )

    def rate_bps(self, name: str) -> float:
        """Smallest rate of a link."""
        # A rate of zero is an outage.
        return float(min((rate for rate in self.links[name]["rate_bps"]["values"] if rate), default=0.0))

    def tightest(self, route: Sequence[str]) -> str:
        """Link with the smallest rate of a route."""
        return min(route, key=self.rate_bps)

    @property
    def longest_rtt_s(self) -> float:
        """Longest propagation round trip of all flows."""
        return max(map(self.rtt_s, self.flows), default=0.0)

    @property
    def bdp_bytes(self) -> float:
        """Largest bandwidth-delay product of all flows, in either direction."""
        routes = [(flow, flow[way]) for flow in self.flows for way in ("route", "reverse_route")]
        return max((self.rtt_s(flow) * self.rate_bps(self.tightest(route)) / 8 for flow, route in routes), default=0.0)

    def direction(self, name: str) -> dict[str, Any]:
        """Return the resolved keys of a direction of a link: `sat.forward`."""
        link, _, direction = name.rpartition(".")
        found = self.content["link"].get(link) or self.content["link"].get(name, {})
        return {**found, **found.get(direction, {})}


def _of_hosts(path: _Path, *, is_all: bool) -> Iterator[Axis]:
    if not path.scenario.hosts:
        return
    is_periodic = any(link["delay_s"]["period_s"] is not None for link in path.links.values())
    research = (*RESEARCH_CC, *(PERIODIC_CC if is_periodic else ()))
    why = "the sender decides the growth of the window and the meaning of a loss"
    cc = (*STOCK_CC, *(research if is_all else ()))
    yield Axis("tcp.cc", cc, why + ("; the delay has periodic steps" if is_all and is_periodic else ""))
    if not is_all:
        yield Axis(f"tcp.cc = {', '.join(research)}", (), 'a stock kernel lacks it; space = "all" tries it')
    if not is_periodic:
        yield Axis(f"tcp.cc = {', '.join(PERIODIC_CC)}", (), "the delay has no periodic steps")
    yield Axis(
        "tcp.initial_window",
        ("10 segments", "20 segments", "40 segments"),
        f"a round trip takes {1000 * path.longest_rtt_s:.0f} ms, and slow start needs several",
    )
    yield Axis("tcp.slow_start", ("standard", "hystart"), "an early end of slow start costs many long round trips")
    yield Axis("tcp.pacing", ("off", "window"), "bursts overflow short queues")
    marks = any(isinstance(queue, dict) and queue.get("ecn") for queue in _queues_of(path))
    yield (
        Axis("tcp.ecn", ("off", "classic"), "a queue of the path marks packets")
        if marks
        else Axis("tcp.ecn", (), "no queue of the path marks packets")
    )
    yield _buffer(path)
    yield _timeout(path)


def _queues_of(path: _Path) -> Iterator[Any]:
    for link in path.content["link"].values():
        yield from (each.get("queue") for each in (link, link.get("forward", {}), link.get("reverse", {})))


def _buffer(path: _Path) -> Axis:
    """Receive buffers around the bandwidth-delay product: a small one bounds the queue, a large one fills the path."""
    tcp, bdp = path.content.get("tcp", {}), path.bdp_bytes
    why = f"the window ends at the receive buffer, and the path holds {bdp / 1e6:.3g} MB"
    key = "tcp.auto_buffer.limit" if tcp.get("receive_buffer") == "auto" else "tcp.receive_buffer"
    if not bdp:
        return Axis(key, (), "the path has no bandwidth-delay product before a run")
    if key == "tcp.receive_buffer":
        return Axis(key, tuple(f"{count} bdp" for count in BUFFERS), why)
    # Sizes that the kernel's limit can have exactly. A little more than the present one is not another setting.
    now = size(tcp["auto_buffer"]["limit"]) or 0
    sizes = (buffer_limit(round(max(count * bdp, KIB64)), is_receive=True) // 2 for count in BUFFERS)
    tried = dict.fromkeys(f"{each} B" for each in sizes if abs(each / max(now, 1) - 1) > ROUNDED)
    return Axis(key, tuple(tried), why)


def _timeout(path: _Path) -> Axis:
    key = "tcp.rto.variance_min"
    least = str(path.content.get("tcp", {}).get("rto", {}).get("variance_min", "0 s"))
    if least == "0 s":
        return Axis(key, (), "these hosts have no floor of the timeout's variance, which a kernel's rto_min sets")
    # A smaller one has an effect only if the round trip is above the floor of the whole timeout.
    small = ("100 ms",) if path.longest_rtt_s > 0.2 else ()
    return Axis(key, (*small, "400 ms", "1 s"), "a delay that jumps by more than this causes a needless timeout")


def _of_queues(path: _Path) -> Iterator[Axis]:
    forward = {name for flow in path.flows for name in flow["route"]}
    for way in ("route", "reverse_route"):
        for name in sorted({path.tightest(flow[way]) for flow in path.flows}):
            if way == "reverse_route" and name in forward:
                continue
            rtt = max(path.rtt_s(flow) for flow in path.flows if name in flow[way])
            reason = f"it is the tightest link of its direction, {path.rate_bps(name) / 1e6:.4g} Mbit/s"
            yield Axis(f"link.{_quoted(name)}.queue", _queues(rtt), reason)


def _queues(rtt: float) -> tuple[Any, ...]:
    target, interval = f"{max(5, 1000 * rtt / 20):.3g} ms", f"{max(100, 1000 * rtt):.4g} ms"
    marking = {"target": target, "interval": interval, "ecn": False}
    return (
        *("0.25 bdp", "0.5 bdp", "1 bdp", "2 bdp"),
        {"kind": "codel", **marking},
        {"kind": "fq-codel", **marking},
        {"kind": "pie", "target": target},
    )


def _of_gateways(path: _Path) -> Iterator[Axis]:
    """Split connections at the nodes beside the tightest links. With two nodes, the search also tries both together."""
    ends = {end for flow in path.flows for end in (flow["from"], flow["to"])}
    tightest = {path.tightest(flow[way]) for flow in path.flows for way in ("route", "reverse_route")}
    nodes = {path.links[name][end] for name in tightest for end in ("from", "to")} - ends
    if not nodes:
        yield Axis("node.NAME.middlebox", (), "no node between the hosts is beside the tightest link")
    for node in sorted(nodes if path.scenario.hosts else ()):
        key = f"node.{_name(node)}.middlebox"
        boxes = path.content.get("node", {}).get(node, {}).get("middlebox", [])
        if any(box.get("kind") == "split" for box in boxes):
            yield Axis(key, (), "the node splits connections already")
        else:
            yield Axis(key, ([*boxes, {"kind": "split"}],), "a split gives each part of the path its own round trip")


def _of_errors(path: _Path) -> Iterator[Axis]:
    """Interleaver and code of the links with errors. The scenario refuses those that do not fit its error model."""
    names = sorted({name for flow in path.flows for way in ("route", "reverse_route") for name in flow[way]})
    wrong = [name for name in names if kind_of(path.direction(name).get("error", "none")) != "none"]
    if not wrong:
        yield Axis("link.NAME.interleave", (), "no link of the path has errors")
        yield Axis("link.NAME.coding", (), "no link of the path has errors")
    for name in wrong:
        key, has = f"link.{_quoted(name)}", path.direction(name)
        if not has.get("interleave"):
            spans = tuple({"span": span} for span in SPANS)
            yield Axis(f"{key}.interleave", spans, "it spreads bursts of errors, and corrects some")
        if not has.get("coding"):
            yield Axis(f"{key}.coding", ("convolutional",), "it corrects errors, for half of the rate")


def _quoted(link: str) -> str:
    """Return the part of a key for a link or one of its directions; the name of a link may have points."""
    name, point, direction = link.rpartition(".")
    name, rest = (name, f".{direction}") if direction in ("forward", "reverse") and point else (link, "")
    return _name(name) + rest


def _name(name: str) -> str:
    return f'"{name}"' if "." in name else name

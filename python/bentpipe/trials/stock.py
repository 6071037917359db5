"""The space to search if a scenario has no `[tune.vary]`: settings of hosts, queues, links, gateways and media."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from bentpipe.scenario.editing import steps
from bentpipe.trials.amounts import KIB64, ROUNDED, SHARE, buffer_limit, compute_memory, size
from bentpipe.trials.linux import find_kind
from bentpipe.trials.paths import REALLOCATION_S, WAYS, NetworkPaths, quoted_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bentpipe.scenario.scenario import Scenario

STOCK_CC = ("cubic", "bbr1", "hybla", "westwood-plus", "reno")
RESEARCH_CC = ("bbr3",)
PERIODIC_CC = ("leocc", "satcp")
"""Congestion controls that expect periodic handovers."""
BUFFERS = (1, 2, 4)
"""Receive buffers to try, in bandwidth-delay products."""
FULL = 1500
"""Bytes of a full packet."""
SPANS = ("20 ms", "100 ms")
"""Depths of an interleaver."""
SHARES = (0.25, 0.9)
"""Constant rates of a terminal to try, in equal shares of its medium."""


@dataclass(frozen=True)
class Axis:
    """A key with the values to try besides the scenario's own value."""

    key: str
    values: tuple[Any, ...] = field(hash=False)
    reason: str = ""
    is_stock: bool = False
    """Whether the axis is from the stock space. Values that the scenario refuses are then left out."""
    default: Any = field(default=None, hash=False)
    """The scenario's own value; None if it has none."""

    @property
    def what(self) -> str:
        """The key in words, without the name of its table: `initial window`, `queue of sat.forward`."""
        table, *rest = steps(self.key)
        if table == "sky":
            # `constellation.vsat.user.forward.queue`, of the links of a sky.
            table, rest = "link", [*(rest[1:] if rest[0] == "constellation" else rest)]
        # The first of the rest is a name, which may be `access`.
        if table == "link" and "access" in rest[1:]:
            return f"{rest[-1].replace('_', ' ')} access of {'.'.join(rest[: rest.index('access', 1)])}"
        if table == "medium":
            return f"{' '.join(rest[1:]).replace('_', ' ')} of {rest[0]}"
        if table in ("link", "sky"):
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


def stock_space(scenario: Scenario, *, is_all: bool, period_s: float | None = None) -> Stock:
    """Make the space of a scenario from its hosts, queues, links and gateways, with a reason for each entry.

    `is_all` adds settings that exist only in research. `period_s` is the known period of the path's steps; with None,
    it is found from the links.
    """
    path = NetworkPaths(scenario)
    found = [
        *_vary_hosts(path, period_s or path.period_s, is_all=is_all),
        *_vary_queues(path),
        *_vary_gateways(path, is_all=is_all),
        *_vary_errors(path),
        *_vary_media(path),
    ]
    found = [*{each.key: each for each in reversed(found)}.values()][::-1]
    absent = {each.key: each.reason for each in found if not each.values}
    return Stock([replace(each, is_stock=True) for each in found if each.values], absent)


def _vary_hosts(path: NetworkPaths, period_s: float | None, *, is_all: bool) -> Iterator[Axis]:
    if not path.scenario.hosts:
        return
    is_periodic = period_s is not None
    periodic = (name if period_s == REALLOCATION_S else _every(name, period_s) for name in PERIODIC_CC)
    research = (*RESEARCH_CC, *(periodic if is_periodic else ()))
    why = "the sender decides the growth of the window and the meaning of a loss"
    cc = (*STOCK_CC, *(research if is_all else ()))
    yield Axis("tcp.cc", cc, why + (f"; the path has steps every {period_s:g} s" if is_all and is_periodic else ""))
    if not is_all:
        names = ", ".join(map(find_kind, research))
        yield Axis(f"tcp.cc = {names}", (), 'a stock kernel lacks it; space = "all" tries it')
    if not is_periodic:
        yield Axis(f"tcp.cc = {', '.join(PERIODIC_CC)}", (), "the path has no periodic steps")
    yield Axis(
        "tcp.initial_window",
        ("10 segments", "20 segments", "40 segments"),
        f"a round trip takes {1000 * path.longest_rtt_s:.0f} ms, and slow start needs several",
    )
    yield Axis("tcp.slow_start", ("standard", "hystart"), "an early end of slow start costs many long round trips")
    yield Axis("tcp.pacing", ("off", "window"), "bursts overflow short queues")
    marks = any(isinstance(queue, dict) and queue.get("ecn") for queue in _list_queues(path))
    yield (
        Axis("tcp.ecn", ("off", "classic"), "a queue of the path marks packets")
        if marks
        else Axis("tcp.ecn", (), "no queue of the path marks packets")
    )
    yield from _buffers(path)
    yield _timeout(path)


def _every(name: str, period_s: float | None) -> dict[str, str]:
    """Return a congestion control that finds the instants of reallocation with this period."""
    return {"kind": name, "period": f"{period_s:g} s", "reallocation": "detected"}


def _list_queues(path: NetworkPaths) -> Iterator[Any]:
    for link in path.content["link"].values():
        yield from (each.get("queue") for each in (link, link.get("forward", {}), link.get("reverse", {})))


def _buffers(path: NetworkPaths) -> Iterator[Axis]:
    """Receive buffers around the bandwidth-delay product: a small one bounds the queue, a large one fills the path.

    A host that tunes its buffers may raise both limits, if twice the path is above them.
    """
    tcp, bdp = path.content.get("tcp", {}), path.bdp_bytes
    why = f"the window ends at the receive buffer, and the path holds {bdp / 1e6:.3g} MB"
    key = "tcp.auto_buffer.limit" if tcp.get("receive_buffer") == "auto" else "tcp.receive_buffer"
    if not bdp:
        yield Axis(key, (), "the path has no bandwidth-delay product before a run")
        return
    if key == "tcp.receive_buffer":
        is_steady = all(path.longest_s(flow) <= (1 + ROUNDED) * path.rtt_s(flow) for flow in path.flows)
        sizes_ = (f"{count} bdp" if is_steady else f"{round(count * bdp)} B" for count in BUFFERS)
        yield Axis(key, tuple(sizes_), why)
        return
    # Sizes that the kernel's limit can have exactly. A little more than the present one is not another setting.
    now = size(tcp["auto_buffer"]["limit"]) or 0
    sizes = (buffer_limit(compute_memory(round(max(count * bdp, KIB64)))) for count in BUFFERS)
    tried = dict.fromkeys(f"{each} B" for each in sizes if abs(each / max(now, 1) - 1) > ROUNDED)
    yield Axis(key, tuple(tried), why)
    sent = size(tcp["auto_send_buffer"]["limit"]) if tcp.get("send_buffer") == "auto" else None
    largest = min(now * SHARE, sent or now)
    is_short = tcp.get("buffers") == "stock" and 2 * bdp > largest
    text = f"the path holds {bdp / 1e6:.3g} MB, and the stock buffers {largest / 1e6:.3g} MB"
    yield Axis("tcp.buffers", ("raised",) if is_short else (), text)


def _timeout(path: NetworkPaths) -> Axis:
    key = "tcp.rto.variance_min"
    least = str(path.content.get("tcp", {}).get("rto", {}).get("variance_min", "0 s"))
    if least == "0 s":
        return Axis(key, (), "these hosts have no floor of the timeout's variance, which a kernel's rto_min sets")
    # A smaller one has an effect only if the round trip is above the floor of the whole timeout.
    small = ("100 ms",) if path.longest_rtt_s > 0.2 else ()
    return Axis(key, (*small, "400 ms", "1 s"), "a delay that jumps by more than this causes a needless timeout")


def _vary_queues(path: NetworkPaths) -> Iterator[Axis]:
    forward = {name for flow in path.flows for name in flow["route"]}
    for way in WAYS:
        for name in path.keys(sorted({path.tightest(flow[way]) for flow in path.flows})).values():
            if way == "route" or name not in forward:
                yield queue_axis(path, name)


def queue_axis(path: NetworkPaths, name: str) -> Axis:
    """Return sizes and disciplines for the queue of a link, with the times of the flows over it."""
    flows = [flow for flow in path.flows for way in WAYS if name in flow[way]]
    rtt, longest = (max(map(each, flows), default=0.0) for each in (path.rtt_s, path.longest_s))
    reason = f"it is the tightest link of its direction, {path.rate_bps(name) / 1e6:.4g} Mbit/s"
    # A scenario takes the largest round trip for a bdp. In a trace, that is its slowest ping.
    bdp = rtt * path.rate_bps(name) / 8 if longest > (1 + ROUNDED) * rtt else None
    return Axis(f"{path.key(name)}.queue", _queues(rtt, bdp), reason)


def _queues(rtt: float, bdp: float | None = None) -> tuple[Any, ...]:
    shares = (0.25, 0.5, 1, 2)
    sizes = [f"{share} bdp" if bdp is None else f"{max(FULL, round(share * bdp))} B" for share in shares]
    target, interval = f"{max(5, 1000 * rtt / 20):.3g} ms", f"{max(100, 1000 * rtt):.4g} ms"
    marking = {"target": target, "interval": interval, "ecn": False}
    return (
        *sizes,
        {"kind": "codel", **marking},
        {"kind": "fq-codel", **marking},
        {"kind": "pie", "target": target},
    )


def _vary_gateways(path: NetworkPaths, *, is_all: bool) -> Iterator[Axis]:
    """Middleboxes at nodes between the hosts. With two nodes, the search also tries both together."""
    beside = {
        node for flow in path.flows for way in WAYS for node in path.around(flow[way], path.tightest(flow[way])) if node
    }
    coders = _coders(path)
    if not beside:
        yield Axis("node.NAME.middlebox", (), "no node between the hosts is beside the tightest link")
    if not coders:
        yield Axis("node.NAME.middlebox = erasure", (), "no link with errors is between two nodes that can code")
    elif not is_all:
        yield Axis("node.NAME.middlebox = erasure", (), 'a stock gateway lacks it; space = "all" tries it')
        coders = {}
    splits = beside if path.scenario.hosts else set()
    for node in sorted({*splits, *coders}):
        key = f"node.{quoted_name(node)}.middlebox"
        boxes = path.content.get("node", {}).get(node, {}).get("middlebox", [])
        kinds, coder = {box.get("kind") for box in boxes}, coders.get(node)
        values, reasons = [], []
        if node in splits and "split" not in kinds:
            values.append([*boxes, {"kind": "split"}])
            reasons.append("a split gives each part of the path its own round trip")
        if coder is not None and "erasure" not in kinds:
            # A code is between the proxy and the link: packets of the proxy are coded, and decoded before the proxy.
            values += [[coder, *each] if coder["role"] == "decoder" else [*each, coder] for each in (boxes, *values)]
            reasons.append("an erasure code repairs losses without a round trip, for a tenth of the rate")
        yield Axis(key, tuple(values), "; ".join(reasons) or "the node splits connections already")


def _coders(path: NetworkPaths) -> dict[str, dict[str, str]]:
    """Return the part of an erasure code by node: an encoder before each link with errors, and a decoder behind it."""
    found: dict[str, dict[str, str]] = {}
    for flow in path.flows:
        for name in filter(path.has_errors, flow["route"]):
            before, behind = path.around(flow["route"], name)
            if before and behind:
                for node, role in ((before, "encoder"), (behind, "decoder")):
                    found.setdefault(node, {"kind": "erasure", "role": role, "direction": "to-receiver"})
    return found


def _vary_errors(path: NetworkPaths) -> Iterator[Axis]:
    """Interleaver and code of the links with errors. The scenario refuses those that do not fit its error model."""
    wrong = path.keys(name for name in path.names if path.has_errors(name))
    if not wrong:
        yield Axis("link.NAME.interleave", (), "no link of the path has errors")
        yield Axis("link.NAME.coding", (), "no link of the path has errors")
    for key, name in wrong.items():
        has = path.direction(name)
        if not has.get("interleave"):
            spans = tuple({"span": span} for span in SPANS)
            yield Axis(f"{key}.interleave", spans, "it spreads bursts of errors, and corrects some")
        if not has.get("coding"):
            yield Axis(f"{key}.coding", ("convolutional",), "it corrects errors, for half of the rate")


def _vary_media(path: NetworkPaths) -> Iterator[Axis]:
    """Settings of the media that flows use, by kind."""
    for name, medium in path.content.get("medium", {}).items():
        links = path.keys(each for each in path.names if path.direction(each).get("medium") == name)
        entries = _MEDIA.get(medium["kind"])
        if links and entries is not None:
            yield from entries(path, name, medium, links)
        else:
            why = "no flow uses it" if not links else f"the stock space has no settings for {medium['kind']}"
            yield Axis(path.medium_key(name), (), why)


def _vary_slots(path: NetworkPaths, name: str, medium: dict[str, Any], links: dict[str, str]) -> Iterator[Axis]:
    """Access categories of the terminals, owners of free slots, and random access: settings of the hub."""
    random = medium.get("random") or {}
    terminals = sum(
        path.direction(f"{link}.{way}").get("medium") == name
        for link in path.content["link"]
        for way in ("forward", "reverse")
    )
    for key, link in links.items():
        if (path.direction(link).get("access") or {}).get("class"):
            yield Axis(f"{key}.access", (), "each of its request classes has its own capacity")
            continue
        most = path.rate_bps(link)
        share = most * max(medium["carriers"] - random.get("carriers", 0), 1) / max(terminals, 1)
        constant = tuple(dict.fromkeys(f"{min(part * share, most):.0f} bit/s" for part in SHARES))
        yield Axis(
            f"{key}.access.constant",
            ("0 bit/s", *constant),
            "a constant rate needs no request, and its slots are unused in pauses",
        )
        yield Axis(
            f"{key}.access.rate_based",
            ("0 bit/s", f"{most:.0f} bit/s"),
            "a requested rate follows the load, a round trip late",
        )
        yield Axis(
            f"{key}.access.volume_based",
            (True, False),
            "a request for the bytes that wait leaves no slot unused, and costs a round trip",
        )
        yield Axis(
            f"{key}.access.random",
            ("none", "requests", "data") if random else (),
            "random access avoids the wait for the first grant" if random else "the medium has no random access",
        )
    key = path.medium_key(name)
    yield Axis(f"{key}.free", ("none", "asking", "all"), "slots that no request covers shorten the wait for grants")
    if not random:
        spare = medium["carriers"] > 1
        why = "random access avoids the wait for the first grant" if spare else "the medium has one carrier"
        yield Axis(f"{key}.random", ({"carriers": 1},) if spare else (), why)


def _vary_frames(path: NetworkPaths, name: str, medium: dict[str, Any], links: dict[str, str]) -> Iterator[Axis]:
    """Adaptation of a forward carrier, and turns of its terminals: settings of the hub."""
    key = path.medium_key(name)
    is_constant = medium.get("modcod") is not None
    why = "a margin saves frames in a fade, and costs bits of each symbol" if not is_constant else "it has one MODCOD"
    yield Axis(f"{key}.acm.margin", () if is_constant else ("0.5 dB", "1 dB", "2 dB"), why)
    yield Axis(
        f"{key}.hold",
        ("0 s", "5 ms", "15 ms", "30 ms"),
        "packets that wait for others of their MODCOD fill frames, and arrive later",
    )
    yield Axis(
        f"{key}.share", ("bits", "time"), "with turns by time, a terminal in the rain leaves the others their rate"
    )


_MEDIA: dict[str, Callable[[NetworkPaths, str, dict[str, Any], dict[str, str]], Iterator[Axis]]] = {
    "mf-tdma": _vary_slots,
    "tdm": _vary_frames,
}
"""Entries of each kind of medium: from the path, the name and the keys of the medium, and its links by key."""

"""Commands that apply settings: `sysctl`, `ip route`, `tc`, and those of a proxy, by the functions of `shell`.

The commands are never executed here. Devices and addresses are shell variables, because a scenario does not name them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe.formatting import choice
from bentpipe.metric import matching
from bentpipe.scenario.editing import steps
from bentpipe.scenario.writing import literals
from bentpipe.trials.amounts import amount, buffer_limit, compute_memory, kilobits, milliseconds, segments, size
from bentpipe.trials.linux import CC, find_kind, find_transport_key
from bentpipe.tuning.result import find_default
from bentpipe.tuning.shaping import SHARE, Shaping

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bentpipe.scenario.scenario import Scenario
    from bentpipe.tuning.shaping import Shaper

DEVICES = {
    "DEV": "the device towards the satellite",
    "PREFIX": "the prefix of the route",
}
"""Variables of the scripts."""
_PACER = 'set_root "$DEV" fq'
_SHAPER = "handle 1: htb default 10"
_PACKET = 1514
STOCK_SEGMENTS = 45
"""Segments in the first receive window of a stock kernel, which is 64 KiB."""
PROXY_PORT, PROXY_MARK, PROXY_TABLE = 5000, 1, 100
"""Port of PEPsal, and mark and table of the packets that go to it: the values of its manual."""
_BUFFERS = {
    **dict.fromkeys(("receive_buffer", "auto_buffer.limit"), ("tcp_rmem", "4096 131072", 6291456)),
    **dict.fromkeys(("send_buffer", "auto_send_buffer.limit"), ("tcp_wmem", "4096 16384", 4194304)),
}
"""Settings of buffers: name, first values and default limit of the kernel."""
_RAISED = 64 << 20
"""Limit of both buffers with `buffers = "raised"`, bytes."""
_SWITCHES = {
    "idle_restart": "tcp_slow_start_after_idle",
    "timestamps": "tcp_timestamps",
    "window_scaling": "tcp_window_scaling",
}


@dataclass(frozen=True)
class Line:
    """A shell command with its reason. The command saves the present value first, so that `undo.sh` can restore it."""

    node: str
    why: str
    do: str


@dataclass
class Script:
    """Lines by node, and notes on what no line can do."""

    lines: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    links: dict[str, list[str]] = field(default_factory=dict)
    """Links with a queue of each node."""

    def device(self, node: str, link: str) -> str:
        """Return the shell variable for the device of a link. Each link of a node has its own variable."""
        links = self.links.setdefault(node, [])
        if link not in links:
            links.append(link)
        return "DEV" if link == links[0] else f"DEV{1 + links.index(link)}"


def write_script(scenario: Scenario, changes: Mapping[str, Any]) -> Script:
    """Write the lines of each change."""
    script, shaping = Script(), Shaping(scenario)
    for key, value in changes.items():
        path, known = steps(key), len(script.lines) + len(script.notes)
        if path[0] == "link" and path[-1] == "queue":
            _queue(script, scenario, shaping, key, value)
        elif path[0] == "link" and path[-1] == "interleave":
            _interleaver(script, shaping, key, value)
        elif path[0] == "node" and path[-1] == "middlebox":
            _proxy(script, scenario, key, value)
        elif path[0] == "medium" or "access" in path[2:]:
            script.notes.append(f"`{key} = {choice(value)}`: set it at the hub, in the profile of the terminals.")
        elif find_transport_key(key):
            _transport(script, scenario, key, value, changes)
        if known == len(script.lines) + len(script.notes):
            script.notes.append(
                f"`{key} = {choice(value)}`: no command of Linux sets it, because {_find_reason(scenario, path)}."
            )
    _leave_out_pacing(script)
    return script


def _find_reason(scenario: Scenario, path: Sequence[str]) -> str:
    """Name the reason why a change has no command, and the device that has the setting."""
    if path[0] == "sky":
        return "satellites change the device behind this link; set it in the modem of the place"
    link = scenario.to_dict().get(path[0], {}).get(path[1] if len(path) > 1 else "", {})
    has_grants = any("medium" in each for each in (link, *(link.get(way, {}) for way in ("forward", "reverse"))))
    if path[0] == "link" and has_grants:
        return "its rate follows grants or frames; set it in the modem, which knows them"
    return "the key has none; set it in the device of this node or link"


def _leave_out_pacing(script: Script) -> None:
    """Leave out `fq` at nodes with a queue of a link: a device has one root, so one would replace the other."""
    shaped = {line.node for line in script.lines if line.do.endswith(_SHAPER)}
    for line in [line for line in script.lines if line.do.startswith(_PACER) and line.node in shaped]:
        script.lines.remove(line)
        script.notes.append(
            f"{line.why} at {line.node}: no command, because the queue of the link has the device. Linux paces BBR "
            "without `fq`, but no other congestion control."
        )


def _flows(scenario: Scenario, key: str) -> list[dict[str, Any]]:
    """List the flows that a transport key is for."""
    flows: list[dict[str, Any]] = scenario.network()["flows"]
    names = [flow["flow"] for flow in flows]
    named = matching(steps(key)[1], names) if key.startswith("flow.") else names
    return [flow for flow in flows if flow["flow"] in named]


def _hosts(scenario: Scenario, key: str, changes: Mapping[str, Any]) -> list[str]:
    """List the hosts that a transport key is for: both ends of its flows, and proxies, which have `[tcp]`, too."""
    hosts = {end for flow in _flows(scenario, key) for end in (flow["from"], flow["to"])}
    if not key.startswith("flow."):
        nodes = scenario.with_sets(literals(list(changes.items()), {})).to_dict().get("node", {})
        hosts |= {name for name, node in nodes.items() if _splits(node.get("middlebox", []))}
    return sorted(hosts)


def _splits(boxes: Sequence[Any]) -> bool:
    return any(find_kind(box) == "split" for box in boxes)


def _transport(script: Script, scenario: Scenario, key: str, value: Any, changes: Mapping[str, Any]) -> None:
    what = find_transport_key(key)
    of_cc = f"{key.removesuffix(what)}cc"
    # Linux has HyStart in CUBIC only.
    cc = find_kind(changes.get(of_cc, changes.get("tcp.cc", find_default(scenario, of_cc))))
    if what in _BUFFERS and amount(value)[1] == "bdp":
        value = _resolved_size(scenario, key, value)
    for host in _hosts(scenario, key, changes):
        lines = list(_lines(host, key, what, value, cc))
        script.lines += lines
        note = f"`{key} = {choice(value)}`: this kernel has no command for it."
        if not lines and note not in script.notes:
            script.notes.append(note)
    if what == "initial_window" and segments(value) > STOCK_SEGMENTS:
        script.notes.append(
            f"`{key} = {choice(value)}`: the first receive window of a stock kernel has {STOCK_SEGMENTS} segments. "
            "A larger one needs a larger second value of `net.ipv4.tcp_rmem` at the receiver."
        )
    if what == "fast_open" and find_kind(value) == "on":
        script.notes.append("Fast Open: the programs at both ends have to ask for it.")


def _resolved_size(scenario: Scenario, key: str, value: Any) -> str:
    """Return a buffer in bytes: the largest of the flows that have it."""
    content = scenario.with_sets(literals([(key, value)], {})).to_dict()
    name = find_transport_key(key)
    common = content.get("tcp", {}).get(name)
    found = [content["flow"][flow["flow"]].get("tcp", {}).get(name, common) for flow in _flows(scenario, key)]
    return f"{max((size(each) or 0 for each in found), default=0)} B"


def _lines(host: str, key: str, what: str, value: Any, cc: str) -> Iterator[Line]:
    why = f"{key} = {choice(value)}"
    if what == "cc":
        name = CC[find_kind(value)]
        if name not in ("reno", "cubic"):
            yield Line(host, f"{why}: the module", f"load {name}")
        # A route for one path only: the kernel's default serves all others.
        of_flow = key.startswith("flow.")
        yield _route(host, why, "congctl", name) if of_flow else _sysctl(host, why, "tcp_congestion_control", name)
    elif what == "initial_window":
        # No initrwnd: the kernel takes the least of it and its own window.
        yield _route(host, why, "initcwnd", segments(value))
    elif what == "slow_start" and find_kind(value) in ("standard", "hystart") and cc == "cubic":
        on = int(find_kind(value) == "hystart")
        yield Line(host, why, f"set_file /sys/module/tcp_cubic/parameters/hystart {on}")
    elif what == "pacing":
        rate = f" maxrate {kilobits(value['rate'])}kbit" if find_kind(value) == "rate" else ""
        yield Line(host, why, 'set_root "$DEV" fq_codel' if find_kind(value) == "off" else f"{_PACER}{rate}")
    elif what == "ecn":
        yield _sysctl(host, why, "tcp_ecn", int(find_kind(value) != "off"))
    elif what in _SWITCHES:
        yield _sysctl(host, why, _SWITCHES[what], int(bool(value)))
    elif what == "recovery" and find_kind(value) in ("newreno", "rack"):
        yield _sysctl(host, why, "tcp_sack", int(find_kind(value) == "rack"))
    elif what == "fast_open":
        # 1 is for clients only, which is the default; 3 is for both ends.
        yield _sysctl(host, why, "tcp_fastopen", 3 if find_kind(value) == "on" else 0)
    elif what == "rto.variance_min":
        whole = max(1, round(milliseconds(value)))
        # As `ip route show` writes it.
        yield _route(host, why, "rto_min", f"{whole / 1000:g}s" if whole >= 1000 else f"{whole}ms")
    elif what in _BUFFERS and size(value) is not None:
        bytes_ = size(value) or 0
        yield _limit(host, why, what, buffer_limit(compute_memory(bytes_) if what == "receive_buffer" else bytes_))
    elif what == "buffers":
        for each in ("auto_buffer.limit", "auto_send_buffer.limit"):
            yield _limit(host, why, each, _RAISED if value == "raised" else _BUFFERS[each][2])


def _limit(host: str, why: str, what: str, limit: int) -> Line:
    name, first, _ = _BUFFERS[what]
    return _sysctl(host, why, name, f"'{first} {limit}'")


def _sysctl(host: str, why: str, name: str, value: object) -> Line:
    return Line(host, why, f"set_sysctl net.ipv4.{name} {value}")


def _route(host: str, why: str, attribute: str, value: object) -> Line:
    return Line(host, why, f'set_route "$PREFIX" {attribute} {value}')


def _proxy(script: Script, scenario: Scenario, key: str, value: Any) -> None:
    """Write the lines of PEPsal: TCP that passes through the node goes to it."""
    node = steps(key)[1]
    if not _splits(value):
        return
    why, rule = f"{key} = {choice(value)}", f"fwmark {PROXY_MARK} lookup {PROXY_TABLE}"
    route = f"local 0.0.0.0/0 dev lo table {PROXY_TABLE}"
    # Connections to the node itself stay as they are.
    match = "PREROUTING -p tcp -m addrtype ! --dst-type LOCAL"
    target = f"TPROXY --on-port {PROXY_PORT} --tproxy-mark {PROXY_MARK}"
    start = f"pepsal -p {PROXY_PORT} >/dev/null 2>&1 & sleep 1; kill -0 $!; keep kill $!"
    script.lines += [
        Line(node, why, 'command -v pepsal >/dev/null || fail "PEPsal is not installed"'),
        Line(node, why, f"add 'ip rule del {rule}' ip rule add {rule}"),
        Line(node, why, f"add 'ip route del {route}' ip route add {route}"),
        Line(node, why, start),
        Line(node, why, "add 'iptables -t mangle -D {0}' iptables -t mangle -A {0}".format(f"{match} -j {target}")),
    ]
    script.notes.append(
        f"The proxy at {node} is PEPsal, which has to be installed there. It splits TCP over IPv4 only: QUIC, HTTP/3 "
        "and IPsec pass it by. It has the transport settings of its node."
    )
    if any(isinstance(box, dict) and {"opener", "listener"} & set(box) for box in value):
        script.notes.append(f"The proxy at {node} has separate transports: set them with the routes of {node}.")


def _interleaver(script: Script, shaping: Shaping, key: str, value: Any) -> None:
    """Note an interleaver with its numbers: only a modem or hub has it."""
    span = milliseconds(value["span"])
    for name in shaping.directions(key):
        held = span * max(shaping.links[name]["rate_bps"]["values"]) / 8000
        script.notes.append(
            f"`{key} = {choice(value)}`: set it at the modem or hub of {name}: a block of {span:g} ms, which is "
            f"{held:.0f} B at the rate of the link. It adds {2 * span:g} ms of delay."
        )


def _queue(script: Script, scenario: Scenario, shaping: Shaping, key: str, value: Any) -> None:
    """Write the lines of a queue: for both directions of a link if the key has none."""
    for name in shaping.directions(key):
        shaper = shaping.shaper(name)
        if shaper is not None:
            _write_queue(script, scenario, shaping, key, value, name, shaper)
        elif not shaping.has_medium(name):
            rates = sorted(shaping.rates[name])
            script.notes.append(
                f"`{key} = {choice(value)}`: no command, because the rate of {name} varies from {rates[0] / 1e6:g} to "
                f"{rates[-1] / 1e6:g} Mbit/s. A shaper with one rate takes a part of the link, or leaves the queue to "
                "the modem. Set this queue in the modem, or behind a shaper that follows the rate."
            )


def _write_queue(
    script: Script, scenario: Scenario, shaping: Shaping, key: str, value: Any, name: str, shaper: Shaper
) -> None:
    kind, node, why = find_kind(value), shaping.links[name]["from"], f"{key} = {choice(value)}"
    dev = f'"${script.device(node, name)}"'
    resolved = _resolved_queue(scenario, key, value, name, shaping)
    times = "".join(
        f" {word} {milliseconds(resolved[word]):g}ms"
        for word in ("target", "interval")
        if word in resolved and not (kind == "pie" and word == "interval")
    )
    ecn = "" if not isinstance(value, dict) or value.get("ecn", True) else " noecn"
    if kind in ("codel", "fq-codel"):
        leaf = f"{kind.replace('-', '_')} limit {_packets(resolved)}{times}{ecn}"
    elif kind == "pie":
        leaf = f"pie limit {_packets(resolved)}{times}"
    elif isinstance(resolved, str) or kind == "drop-tail":
        limit = resolved if isinstance(resolved, str) else resolved["limit"]
        number, _, unit = str(limit).partition(" ")
        leaf = f"pfifo limit {number}" if unit.startswith("packet") else f"bfifo limit {number}"
    else:
        script.notes.append(f"`{why}`: set it in the gateway or modem.")
        return
    bucket = f"rate {shaper.kbit_s}kbit burst {shaper.burst} cburst {shaper.burst}"
    commands = [
        f"set_root {dev} {_SHAPER}",
        f"tc class add dev {dev} parent 1: classid 1:10 htb {bucket}",
        f"tc qdisc add dev {dev} parent 1:10 handle 10: {leaf}",
    ]
    script.lines += [Line(node, why, command) for command in commands]
    script.notes.append(
        f"The queue of {name} works only where packets wait. If the modem's own queue is the bottleneck, it has no "
        f"effect. So {node} sends {shaper.kbit_s} kbit/s, {100 * SHARE:.0f} % of the link's rate. The confirmed runs "
        "have this shaper, too. It counts 14 bytes of Ethernet per packet, which the runs do not. With adaptive coding "
        "and modulation, the rate of the class must follow the modem."
    )


def _resolved_queue(scenario: Scenario, key: str, value: Any, name: str, shaping: Shaping) -> Any:
    """Return the queue behind its shaper with its limit in bytes or packets, as the core resolves it."""
    changed = scenario.with_sets(literals([(key, value), *shaping.list_implied(key, value)], {}))
    link = changed.to_dict()["link"][steps(key)[1]]
    return link.get(name.rpartition(".")[2], link)["queue"]


def _packets(queue: Any) -> int:
    number, _, unit = str(queue["limit"]).partition(" ")
    count = float(number) if unit.startswith("packet") else float(number) / _PACKET
    return max(1, round(count))

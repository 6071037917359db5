"""Writes the path of a scenario as lines of `tc`, and names what Linux cannot express."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.errors import BentpipeError
from bentpipe.scenario.scenario import make_scenario
from bentpipe.tc.scenario import FULL
from bentpipe.trials.amounts import kilobits
from bentpipe.trials.amounts import size as read_size

if TYPE_CHECKING:
    from bentpipe.scenario.scenario import AnyScenario, Scenario

_DELAY_LINE = 1000
"""Packets of a netem beyond those in their delay: its default limit."""
_BURST_S = 1e-3
"""Time of the rate that a bucket holds."""
_LACKING = {
    "medium": "a shared medium",
    "slots": "a path in slots",
    "policer": "a policer; tc has one as an action of a filter",
    "interleave": "interleaving",
    "coding": "forward error correction",
    "arq": "link-layer retransmission",
    "outage": "outages; set loss 100% at those times",
    "es_n0": "a signal",
    "mtu": "a largest packet; ip link set mtu sets it",
}
"""Keys of a link that netem lacks."""


@dataclass(frozen=True)
class Lines:
    """Lines of `tc` for a path.

    Attributes
    ----------
    text : str
        A shell script. `DEV` is the device towards the destination, and `BACK` the device of the reverse direction.
    notes : list of str
        Parts of the scenario that Linux cannot express.
    """

    text: str
    notes: list[str]


def to_tc(scenario: AnyScenario, flow: str | None = None) -> Lines:
    """Write the path of a flow as lines of `tc`.

    Parameters
    ----------
    scenario : Scenario, dict, path or name
        Scenario, as for `bentpipe.run`.
    flow : str, optional
        The flow whose path is written; by default the first.

    Raises
    ------
    BentpipeError
        There is no such flow, or it has no route at the start.
    """
    scenario = make_scenario(scenario)
    network = scenario.network()
    flows = {each["flow"]: each for each in network["flows"]}
    name = flow or next(iter(flows))
    if name not in flows:
        raise BentpipeError(f"{name!r} is not a flow\n  expected one of {', '.join(list(flows)[:8])}")
    path = flows[name]
    if not path["route"] or not path["reverse_route"]:
        raise BentpipeError(f"{name} has no route at the start\n  expected a flow with routes in both directions")
    notes: list[str] = []
    if path["routes_later"] or path["reverse_routes_later"]:
        notes.append("routes change during the run: the lines have the first path")
    for node in network["nodes"]:
        if node["middleboxes"]:
            notes.append(f"node {node['node']}: middlebox {', '.join(node['middleboxes'])}")
    if len(flows) > 1:
        notes.append(f"{len(flows) - 1} other flows, which share links with {name}")
    ways = {"DEV": path["route"], "BACK": path["reverse_route"]}
    lines: list[str] = []
    for variable, route in ways.items():
        lines += _write_way(scenario, network, variable, route, notes)
    notes = list(dict.fromkeys(notes))
    head = [
        "#!/bin/sh",
        f"# The path of {name} in {scenario.title or scenario.source}, as lines of tc.",
        f"# DEV is the device of {path['from']} towards {path['to']}, and BACK the device of {path['to']} back.",
        *(["# Linux cannot express:", *(f"# - {note}" for note in notes)] if notes else []),
        "set -eu",
    ]
    return Lines("\n".join([*head, *lines, ""]), notes)


def _write_way(
    scenario: Scenario, network: dict[str, Any], variable: str, route: list[str], notes: list[str]
) -> list[str]:
    """Write the lines of one direction: a delay with losses, and the lowest rate with its queue."""
    content = scenario.to_dict()["link"]
    links = {link["link"]: link for link in network["links"]}
    delay_s, losses, rates = 0.0, [], []
    for name in route:
        link, keys = links[name], _find_keys(content, name)
        delay_s += link["delay_s"]["values"][0]
        for key, lacking in _LACKING.items():
            if keys.get(key):
                notes.append(f"{name}: {lacking}")
        for key in ("rate_bps", "delay_s"):
            if len(link[key]["values"]) > 1 or link[key].get("linear"):
                notes.append(f"{name}: a {key.partition('_')[0]} that changes; the lines have the first value")
        if keys.get("jitter"):
            notes.append(f"{name}: jitter of packets that keep their order")
        losses += _write_loss(name, keys.get("error", "none"), notes)
        shaper = keys.get("shaper")
        rate_bps = float(links[name]["rate_bps"]["values"][0])
        rates.append((min(rate_bps, 1e3 * kilobits(shaper["rate"])) if shaper else rate_bps, name, keys))
    if len(losses) > 1:
        notes.append(f"{variable}: errors of several links; the lines have the first")
    rate_bps, name, keys = min(rates, key=lambda each: each[0])
    under_way = math.ceil(rate_bps * delay_s / 8 / FULL)
    loss = f" {losses[0]}" if losses else ""
    device = f'"${variable}"'
    lines = [
        f"# {' and '.join(route)}",
        f"tc qdisc add dev {device} root handle 1: netem delay {delay_s * 1e3:.7g}ms{loss}"
        f" limit {under_way + _DELAY_LINE}",
    ]
    if not rate_bps:
        notes.append(f"{name}: no rate at the start")
        return lines
    limit, queue = _write_queue(name, keys, rate_bps, delay_s, notes)
    burst = max(2 * FULL, round(_BURST_S * rate_bps / 8))
    shaper = keys.get("shaper")
    if shaper and rate_bps == 1e3 * kilobits(shaper["rate"]):
        burst = max(FULL, read_size(shaper["burst"]) or 0)
    bucket = f"tbf rate {rate_bps / 1e3:.10g}kbit burst {burst}b limit {limit}b"
    lines.append(f"tc qdisc add dev {device} parent 1:1 handle 10: {bucket}")
    if queue:
        lines.append(f"tc qdisc add dev {device} parent 10:1 handle 20: {queue}")
    return lines


def _find_keys(content: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the keys of a direction of a link, with those that it has from the link."""
    link, _, way = name.rpartition(".")
    whole = content.get(link, {})
    return {**{key: value for key, value in whole.items() if key not in ("forward", "reverse")}, **whole.get(way, {})}


def _write_loss(name: str, error: Any, notes: list[str]) -> list[str]:
    kind = error if isinstance(error, str) else error["kind"]
    if kind == "none":
        return []
    if kind == "packet" and not isinstance(error, str):
        return [f"{'corrupt' if error.get('effect') == 'corrupt' else 'loss'} {100 * _share(error['rate']):.6g}%"]
    if kind == "gilbert-elliott" and error.get("unit") == "packet" and str(error["mean_good"]).endswith("packets"):
        good, bad = (float(str(error[key]).split()[0]) for key in ("mean_good", "mean_bad"))
        shares = (100 / good, 100 / bad, 100 * _share(error["rate_bad"]), 100 * _share(error["rate_good"]))
        return ["loss gemodel " + " ".join(f"{share:.6g}%" for share in shares)]
    if kind == "bursts" and str(error["mean_burst"]).endswith("packets"):
        share, burst = _share(error["mean_loss"]), float(str(error["mean_burst"]).split()[0])
        return [f"loss gemodel {100 * share / (1 - share) / burst:.6g}% {100 / burst:.6g}%"]
    notes.append(f"{name}: errors of kind {kind}")
    return []


def _write_queue(name: str, keys: dict[str, Any], rate_bps: float, delay_s: float, notes: list[str]) -> tuple[int, str]:
    """Return the limit of the bucket's queue in bytes, and another queue in its place."""
    queue = keys.get("queue", "1 bdp")
    settings = queue if isinstance(queue, dict) else {"kind": "drop-tail", "limit": queue}
    limit = str(settings.get("limit", "1 bdp"))
    bdp = max(FULL, math.ceil(rate_bps * 2 * delay_s / 8))
    if limit == "unlimited":
        notes.append(f"{name}: an unlimited queue; the lines have 1 GB")
        size = 10**9
    elif limit.endswith("packets"):
        size = int(float(limit.split()[0])) * FULL
    elif limit.endswith("bdp"):
        size = max(FULL, math.ceil(float(limit.split()[0]) * bdp))
    else:
        size = read_size(limit) or bdp
    kind = settings["kind"]
    if kind == "drop-tail":
        return size, ""
    if kind not in ("codel", "fq-codel", "pie"):
        notes.append(f"{name}: a queue {kind} with its settings; the lines have drop-tail")
        return size, ""
    words = [kind.replace("-", "_"), "limit", str(max(1, size // FULL))]
    for key, option in (("target", "target"), ("interval", "interval"), ("update", "tupdate")):
        if key in settings:
            words += [option, "".join(str(settings[key]).split())]
    return size, " ".join(words)


def _share(value: Any) -> float:
    text = str(value)
    return float(text.rstrip("% ")) / 100 if text.endswith("%") else float(text)

"""Files with which an engineer applies recommended settings: `tuned.toml`, `apply.sh`, `undo.sh`, `NOTES.md`.

The files are never executed here. Each line names its node, key and reason. Names of devices and addresses are
variables of the shell, because a scenario does not know them.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe import files
from bentpipe.errors import BentpipeError
from bentpipe.formatting import choice
from bentpipe.metric import matching
from bentpipe.scenario.editing import edited, steps
from bentpipe.tuning.result import default_of
from bentpipe.tuning.sentences import settings, statements
from bentpipe.tuning.stock import LINUX, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from bentpipe.scenario.scenario import Scenario
    from bentpipe.tuning.result import Tuning

SHAPED = 0.97
"""Share of a link's rate that a gateway sends, so that the queue is in the gateway and not in the modem."""
FORM = "bentpipe settings"
DEVICES = {
    "DEV": "the device towards the satellite",
    "PREFIX": "the prefix of the route",
    "GW": "the gateway of the route",
}
"""Variables of the scripts."""
ROUTE = 'ip route change "$PREFIX" via "$GW" dev "$DEV"'
PACER = 'tc qdisc replace dev "$DEV" root fq'
_SHAPER = "root handle 1: htb default 10"
_PACKET = 1514
_WINDOWS = {"rfc6928": 10, "rfc3390": 3, "rfc5681": 3}
"""Initial windows by name, in segments of 1460 B."""
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*([a-zA-Z]*)")
_MILLISECONDS = {"ps": 1e-9, "ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "min": 6e4, "h": 3.6e6}


@dataclass(frozen=True)
class Line:
    """A shell command with its reason, and the command that takes it back."""

    node: str
    why: str
    do: str
    undo: str

    @property
    def is_route(self) -> bool:
        """Whether it changes a route."""
        return self.do.startswith(ROUTE)


@dataclass
class Script:
    """Lines by node, and notes on what no line can do."""

    lines: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    links: dict[str, list[str]] = field(default_factory=dict)
    """Links with a queue of each node."""

    def device(self, node: str, link: str) -> str:
        """Return the variable for the device of a link: each link of a node has another one."""
        links = self.links.setdefault(node, [])
        if link not in links:
            links.append(link)
        return "DEV" if link == links[0] else f"DEV{1 + links.index(link)}"


@dataclass(frozen=True)
class Applied:
    """Written files."""

    folder: Path
    files: list[Path]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"folder": str(self.folder), "files": [str(path) for path in self.files]}


def apply(tuning: Tuning, folder: Path) -> Applied:
    """Write all files into a folder, in place of older ones.

    Raises
    ------
    BentpipeError
        There is no recommended setting, or the folder cannot be written.
    """
    if not tuning.recommended:
        raise BentpipeError(
            f"the verdict is {tuning.verdict}: no setting is recommended\n  leave the settings as they are"
        )
    files.refuse_unless_free(folder)
    script = script_of(tuning.default, tuning.recommended)
    written = {
        "tuned.toml": tuned(tuning),
        "apply.sh": _shell(tuning, script, "do"),
        "undo.sh": _shell(tuning, script, "undo"),
        "NOTES.md": _notes(tuning, script),
    }

    def fill(place: Path) -> None:
        for name, text in written.items():
            (place / name).write_text(text, encoding="utf-8")
            if name.endswith(".sh"):
                (place / name).chmod(0o755)

    files.put(folder, FORM, fill, provenance={"scenario_digest": tuning.scenario.digest})
    return Applied(folder, [folder / name for name in written])


def tuned(tuning: Tuning) -> str:
    """Return the scenario with the settings, with the comments of the file.

    Overrides of the command line that are part of the result are in it, too.
    """
    scenario = tuning.scenario
    text, form = scenario.written
    if form != "toml":
        return scenario.resolved()
    for key, literal in scenario.sets:
        if not key.startswith("tune."):
            text = edited(text, key, literal)
    return text


def script_of(scenario: Scenario, changes: dict[str, Any]) -> Script:
    """Write the lines of each change."""
    script = Script()
    for key, value in changes.items():
        known = len(script.lines) + len(script.notes)
        if key.startswith("link.") and key.endswith(".queue"):
            _queue(script, scenario, key, value)
        elif key.startswith("tcp.") or ".tcp." in key:
            _transport(script, scenario, key, value, changes)
        if known == len(script.lines) + len(script.notes):
            script.notes.append(
                f"`{key} = {choice(value)}`: no command of Linux sets it; set it at the node that has it."
            )
    _leave_out_pacing(script)
    script.lines = _with_one_route(script.lines)
    return script


def _leave_out_pacing(script: Script) -> None:
    """Leave out `fq` at nodes with a queue of a link: a device has one root, so one would replace the other."""
    shaped = {line.node for line in script.lines if line.do.endswith(_SHAPER)}
    for line in [line for line in script.lines if line.do == PACER and line.node in shaped]:
        script.lines.remove(line)
        script.notes.append(
            f"{line.why} at {line.node}: no command, because the queue of the link has the device. Linux paces BBR "
            "without `fq`, but no other congestion control."
        )


def _with_one_route(lines: Sequence[Line]) -> list[Line]:
    """Join the lines that change the route of a node: each change replaces all settings of the route."""
    found: list[Line] = []
    for line in lines:
        at = next((at for at, each in enumerate(found) if each.node == line.node and each.is_route), None)
        if at is None or not line.is_route:
            found.append(line)
            continue
        first = found[at]
        do, undo = (f"{one}{two.removeprefix(ROUTE)}" for one, two in ((first.do, line.do), (first.undo, line.undo)))
        found[at] = Line(line.node, f"{first.why}; {line.why}", do, undo)
    return found


def _hosts(scenario: Scenario, key: str) -> list[str]:
    """List the hosts that a transport key is for: both ends of its flows."""
    flows = scenario.network()["flows"]
    names = [flow["flow"] for flow in flows]
    named = matching(steps(key)[1], names) if key.startswith("flow.") else names
    chosen = [flow for flow in flows if flow["flow"] in named]
    return sorted({end for flow in chosen for end in (flow["from"], flow["to"])})


def _transport(script: Script, scenario: Scenario, key: str, value: Any, changes: Mapping[str, Any]) -> None:
    path = steps(key)
    what = ".".join(path[path.index("tcp", 0 if path[0] == "tcp" else 2) + 1 :])
    before = default_of(scenario, key)
    of_cc = f"{key.removesuffix(what)}cc"
    # Linux has HyStart in CUBIC only.
    cc = kind_of(changes.get(of_cc, changes.get("tcp.cc", default_of(scenario, of_cc))))
    for host in _hosts(scenario, key):
        script.lines += list(_lines(script, host, key, what, value, before, cc))


def _lines(script: Script, host: str, key: str, what: str, value: Any, before: Any, cc: str) -> Iterator[Line]:
    why = f"{key} = {choice(value)}"
    if what == "cc":
        name, old = LINUX[kind_of(value)], LINUX.get(kind_of(before), "cubic")
        if name not in ("reno", "cubic"):
            yield Line(host, f"{why}: the module", f"modprobe tcp_{name}", "true")
        setting = "net.ipv4.tcp_congestion_control"
        if key.startswith("flow."):
            # One path only: the kernel's default serves all others.
            yield _route(host, why, f"congctl {name}", f"congctl {old}")
        else:
            yield Line(host, why, f"sysctl -w {setting}={name}", f"sysctl -w {setting}={old}")
    elif what == "initial_window":
        new, former = _segments(value), _segments(before)
        yield _route(host, why, f"initcwnd {new} initrwnd {new}", f"initcwnd {former} initrwnd {former}")
    elif what == "slow_start" and kind_of(value) in ("standard", "hystart") and cc == "cubic":
        place = "/sys/module/tcp_cubic/parameters/hystart"
        on = int(kind_of(value) == "hystart")
        yield Line(host, why, f"echo {on} > {place}", f"echo {1 - on} > {place}")
    elif what == "pacing" and kind_of(value) in ("window", "rate"):
        yield Line(host, why, PACER, 'tc qdisc del dev "$DEV" root')
    elif what == "ecn":
        on = int(kind_of(value) != "off")
        yield Line(host, why, f"sysctl -w net.ipv4.tcp_ecn={on}", "sysctl -w net.ipv4.tcp_ecn=2")
    elif what == "idle_restart":
        on = int(bool(value))
        setting = "net.ipv4.tcp_slow_start_after_idle"
        yield Line(host, why, f"sysctl -w {setting}={on}", f"sysctl -w {setting}={1 - on}")
    elif what == "rto.min":
        yield _route(host, why, f"rto_min {_milliseconds(value):g}ms", f"rto_min {_milliseconds(before):g}ms")
    elif what in ("receive_buffer", "send_buffer") and _bytes(value) is not None:
        name = "net.ipv4.tcp_rmem" if what == "receive_buffer" else "net.ipv4.tcp_wmem"
        size = _bytes(value) or 0
        # The kernel counts its overhead in the receive buffer, too.
        size = 65536 * math.ceil(size * (2 if what == "receive_buffer" else 1) / 65536)
        first, last = ("4096 131072", 6291456) if what == "receive_buffer" else ("4096 16384", 4194304)
        yield Line(host, why, f"sysctl -w {name}='{first} {size}'", f"sysctl -w {name}='{first} {last}'")
    else:
        note = f"`{key} = {choice(value)}`: this kernel has no command for it."
        if note not in script.notes:
            script.notes.append(note)


def _route(host: str, why: str, do: str, undo: str) -> Line:
    return Line(host, why, f"{ROUTE} {do}", f"{ROUTE} {undo}")


def _queue(script: Script, scenario: Scenario, key: str, value: Any) -> None:
    """Write the lines of a queue: for both directions of a link if the key has none."""
    links = {link["link"]: link for link in scenario.network()["links"]}
    for name in matching(".".join(steps(key)[1:-1]), links):
        _queue_of(script, scenario, key, value, links[name])


def _queue_of(script: Script, scenario: Scenario, key: str, value: Any, link: dict[str, Any]) -> None:
    rate = round(SHAPED * min(link["rate_bps"]["values"]) / 1000)
    kind, name, node, why = kind_of(value), link["link"], link["from"], f"{key} = {choice(value)}"
    dev = f'"${script.device(node, name)}"'
    begin = [
        f"tc qdisc replace dev {dev} {_SHAPER}",
        f"tc class replace dev {dev} parent 1: classid 1:10 htb rate {rate}kbit",
    ]
    resolved = _resolved_queue(scenario, key, value, name)
    times = "".join(
        f" {word} {_milliseconds(resolved[word]):g}ms"
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
    commands = [*begin, f"tc qdisc replace dev {dev} parent 1:10 handle 10: {leaf}"]
    script.lines += [
        Line(node, why, command, f"tc qdisc del dev {dev} root" if place == 0 else "true")
        for place, command in enumerate(commands)
    ]
    script.notes.append(
        f"The queue of {name} works only where packets wait. If the modem's own queue is the bottleneck, it has no "
        f"effect. So {node} sends {100 * SHAPED:.0f} % of the link's rate ({rate} kbit/s). With adaptive coding and "
        "modulation, the rate of the class must follow the modem."
    )


def _resolved_queue(scenario: Scenario, key: str, value: Any, name: str) -> Any:
    """Return the queue with its limit in bytes or packets, as the core resolves it."""
    from bentpipe.scenario.writing import literals

    changed = scenario.with_sets(literals([(key, value)], {}))
    link = changed.to_dict()["link"][steps(key)[1]]
    return link.get(name.rpartition(".")[2], link)["queue"]


def _packets(queue: Any) -> int:
    number, _, unit = str(queue["limit"]).partition(" ")
    count = float(number) if unit.startswith("packet") else float(number) / _PACKET
    return max(1, round(count))


def _segments(value: Any) -> int:
    """Return an initial window in segments."""
    number, unit = _amount(value)
    if unit.startswith("segment"):
        return round(number)
    return _WINDOWS.get(str(value)) or max(1, round((_bytes(value) or 14480) / 1448))


def _bytes(value: Any) -> int | None:
    number, unit = _amount(value)
    factor = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024, "MiB": 2**20, "GiB": 2**30}.get(unit)
    return None if factor is None else round(number * factor)


def _milliseconds(value: Any) -> float:
    number, unit = _amount(value)
    return number * _MILLISECONDS[unit]


def _amount(value: Any) -> tuple[float, str]:
    """Split a number and its unit, as a scenario has them: `300 ms`, `300ms`. A name has neither."""
    found = _AMOUNT.fullmatch(str(value).strip())
    return (float(found[1]), found[2]) if found else (0.0, "")


def _shell(tuning: Tuning, script: Script, which: str) -> str:
    """Write a script with a function for each node: `sh apply.sh NODE` runs the lines of one node."""
    does = "Applies" if which == "do" else "Takes back"
    head = [
        "#!/bin/sh",
        f"# {does} the settings that bentpipe tune recommends for: {_line(tuning.title)}",
        f"# Run it at each node, as root: DEV=eth0 sh {'apply' if which == 'do' else 'undo'}.sh NODE.",
        *(f"# {name} is {meaning}." for name, meaning in DEVICES.items()),
        f"# Scenario {tuning.content['scenario_digest']}, bentpipe {tuning.content['engine']['version']}",
        "set -eu",
        'case "${1:?expected the name of a node}" in',
    ]
    body = []
    for node in dict.fromkeys(line.node for line in script.lines):
        body.append(f"{_quoted(node)})")
        lines = [line for line in script.lines if line.node == node]
        # A missing variable ends the script before its first command.
        links = {script.device(node, link): link for link in script.links.get(node, [])}
        body += [f"    # {name} is the device of {_line(link)}." for name, link in links.items()]
        for name in (*DEVICES, *list(links)[1:]):
            if any(f'"${name}"' in line.do for line in lines):
                # No name of a scenario is here: the shell would expand it.
                body.append(f'    : "${{{name}:?expected {DEVICES.get(name, "the device of another link")}}}"')
        for line in lines if which == "do" else reversed(lines):
            command = line.do if which == "do" else line.undo
            if command != "true":
                body += [f"    # {_line(line.why)}", f"    {command}"]
        body.append("    ;;")
    return "\n".join([*head, *body, '*) echo "unknown node $1" >&2; exit 2 ;;', "esac", ""])


def _line(text: str) -> str:
    """Keep a text in its line of a script."""
    return " ".join(text.split())


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _notes(tuning: Tuning, script: Script) -> str:
    content = tuning.content
    lines = [
        f"# Settings for {tuning.title}",
        "",
        *(f"- {each}" for each in settings(content)),
        "",
        *statements(content),
        "",
        "## Before you apply them",
        "",
        "- The scripts are proposals: read them first. Each line names its key.",
        "- `DEV` is the device towards the satellite. `PREFIX` and `GW` are the route's prefix and gateway.",
        "- `undo.sh` sets the values of the scenario, or the defaults of the kernel. Write down your own values first.",
        "- Settings of a transport apply to new connections.",
        "- nginx and HAProxy take the settings of the route and the kernel. `sndbuf` and `rcvbuf` of `listen` fix the"
        " buffers and switch auto-tuning off. Accepted sockets have the congestion control of the listener.",
        *(f"- {note}" for note in dict.fromkeys(script.notes)),
        "",
    ]
    return "\n".join(lines)

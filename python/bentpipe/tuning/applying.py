"""Files with which an engineer applies recommended settings: `tuned.toml`, `apply.sh`, `undo.sh`, `NOTES.md`.

The files are never executed here. Each line names its node, key and reason. Names of devices and addresses are
variables of the shell, because a scenario does not know them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe import files
from bentpipe.errors import BentpipeError
from bentpipe.formatting import choice
from bentpipe.scenario.editing import edited
from bentpipe.tuning.result import default_of
from bentpipe.tuning.sentences import settings, statements
from bentpipe.tuning.stock import LINUX, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from bentpipe.scenario.scenario import Scenario
    from bentpipe.tuning.result import Tuning

SHAPED = 0.97
"""Share of a link's rate that a gateway sends, so that the queue is in the gateway and not in the modem."""
FORM = "bentpipe settings"
ROUTE = 'ip route change "$PREFIX" via "$GW" dev "$DEV"'
_PACKET = 1514


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
            _transport(script, scenario, key, value)
        if known == len(script.lines) + len(script.notes):
            script.notes.append(
                f"`{key} = {choice(value)}`: no command of Linux sets it; set it at the node that has it."
            )
    script.lines = _with_one_route(script.lines)
    return script


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
    named = key.split(".")[1] if key.startswith("flow.") else None
    chosen = [flow for flow in flows if named is None or flow["flow"].startswith(named)]
    return sorted({end for flow in chosen for end in (flow["from"], flow["to"])})


def _transport(script: Script, scenario: Scenario, key: str, value: Any) -> None:
    what = key.removeprefix("tcp.") if key.startswith("tcp.") else key.partition(".tcp.")[2]
    before = default_of(scenario, key)
    for host in _hosts(scenario, key):
        script.lines += list(_lines(script, host, key, what, value, before))


def _lines(script: Script, host: str, key: str, what: str, value: Any, before: Any) -> Iterator[Line]:
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
    elif what == "slow_start" and kind_of(value) in ("standard", "hystart"):
        place = "/sys/module/tcp_cubic/parameters/hystart"
        on = int(kind_of(value) == "hystart")
        yield Line(host, why, f"echo {on} > {place}", f"echo {1 - on} > {place}")
    elif what == "pacing" and kind_of(value) in ("window", "rate"):
        yield Line(host, why, 'tc qdisc replace dev "$DEV" root fq', 'tc qdisc del dev "$DEV" root')
    elif what == "ecn":
        on = int(kind_of(value) != "off")
        yield Line(host, why, f"sysctl -w net.ipv4.tcp_ecn={on}", "sysctl -w net.ipv4.tcp_ecn=2")
    elif what == "idle_restart":
        on = int(bool(value))
        setting = "net.ipv4.tcp_slow_start_after_idle"
        yield Line(host, why, f"sysctl -w {setting}={on}", f"sysctl -w {setting}={1 - on}")
    elif what == "rto.min":
        yield _route(host, why, f"rto_min {_milliseconds(value)}ms", f"rto_min {_milliseconds(before)}ms")
    elif what in ("receive_buffer", "send_buffer") and _bytes(value) is not None:
        name = "net.ipv4.tcp_rmem" if what == "receive_buffer" else "net.ipv4.tcp_wmem"
        size = _bytes(value) or 0
        # The kernel counts its overhead in the receive buffer, too.
        size = 65536 * math.ceil(size * (2 if what == "receive_buffer" else 1) / 65536)
        first = "4096 131072" if what == "receive_buffer" else "4096 16384"
        yield Line(host, why, f"sysctl -w {name}='{first} {size}'", f"sysctl -w {name}='{first} 6291456'")
    else:
        note = f"`{key} = {choice(value)}`: this kernel has no command for it."
        if note not in script.notes:
            script.notes.append(note)


def _route(host: str, why: str, do: str, undo: str) -> Line:
    return Line(host, why, f"{ROUTE} {do}", f"{ROUTE} {undo}")


def _queue(script: Script, scenario: Scenario, key: str, value: Any) -> None:
    name = key.removeprefix("link.").removesuffix(".queue")
    link = next(link for link in scenario.network()["links"] if link["link"] in (name, f"{name}.forward"))
    rate = round(SHAPED * min(link["rate_bps"]["values"]) / 1000)
    kind, node, why = kind_of(value), link["from"], f"{key} = {choice(value)}"
    begin = [
        'tc qdisc replace dev "$DEV" root handle 1: htb default 10',
        f'tc class replace dev "$DEV" parent 1: classid 1:10 htb rate {rate}kbit',
    ]
    resolved = _resolved_queue(scenario, key, value)
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
    commands = [*begin, f'tc qdisc replace dev "$DEV" parent 1:10 handle 10: {leaf}']
    script.lines += [
        Line(node, why, command, 'tc qdisc del dev "$DEV" root' if place == 0 else "true")
        for place, command in enumerate(commands)
    ]
    script.notes.append(
        f"The queue of {name} works only where packets wait. If the modem's own queue is the bottleneck, it has no "
        f"effect. So {node} sends {100 * SHAPED:.0f} % of the link's rate ({rate} kbit/s). With adaptive coding and "
        "modulation, the rate of the class must follow the modem."
    )


def _resolved_queue(scenario: Scenario, key: str, value: Any) -> Any:
    """Return the queue with its limit in bytes or packets, as the core resolves it."""
    from bentpipe.scenario.writing import literals

    changed = scenario.with_sets(literals([(key, value)], {}))
    steps = key.split(".")
    link = changed.to_dict()["link"][steps[1]]
    return link.get(steps[2], link)["queue"] if len(steps) > 3 else link.get("forward", link)["queue"]


def _packets(queue: Any) -> int:
    number, _, unit = str(queue["limit"]).partition(" ")
    count = float(number) if unit.startswith("packet") else float(number) / _PACKET
    return max(1, round(count))


def _segments(value: Any) -> int:
    """Return an initial window in segments."""
    number, _, unit = str(value).partition(" ")
    return round(float(number)) if unit.startswith("segment") else max(1, round((_bytes(value) or 14480) / 1448))


def _bytes(value: Any) -> int | None:
    number, _, unit = str(value).partition(" ")
    factor = {"B": 1, "kB": 1e3, "MB": 1e6, "KiB": 1024, "MiB": 2**20}.get(unit)
    return None if factor is None else round(float(number) * factor)


def _milliseconds(value: Any) -> float:
    number, _, unit = str(value).partition(" ")
    return float(number) * {"s": 1000.0, "ms": 1.0, "us": 1e-3}[unit]


def _shell(tuning: Tuning, script: Script, which: str) -> str:
    """Write a script with a function for each node: `sh apply.sh NODE` runs the lines of one node."""
    does = "Applies" if which == "do" else "Takes back"
    head = [
        "#!/bin/sh",
        f"# {does} the settings that bentpipe tune recommends for: {_line(tuning.title)}",
        "# Run it at each node, as root: sh apply.sh NODE. Set DEV (device), and for routes PREFIX and GW (gateway).",
        f"# Scenario {tuning.content['scenario_digest']}, bentpipe {tuning.content['engine']['version']}",
        "set -eu",
        'case "${1:?expected the name of a node}" in',
    ]
    body = []
    for node in dict.fromkeys(line.node for line in script.lines):
        body.append(f"{_quoted(node)})")
        lines = [line for line in script.lines if line.node == node]
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

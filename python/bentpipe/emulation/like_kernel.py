"""Makes the simulated side of a twin: the scenario with hosts like the kernel of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.catalog import unknown
from bentpipe.emulation.emulate import PRESET_SWITCHES
from bentpipe.errors import EmulationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bentpipe.scenario.scenario import Scenario

SERIES = ("cwnd_bytes", "srtt_s", "losses")
LINUX_PATHS = {
    "scheduler": "linger",
    "coupling": "none",
    "reinject": {"on": "data-timer", "opportunistic": False, "penalise": False},
}
"""Multipath TCP of Linux 6."""


def name_simulated_cc(name: str) -> str:
    """Return the simulator's name of a congestion control of the kernel."""
    from bentpipe.catalog import names

    simulated = _core.simulated_cc(name)
    known = names("cc")
    if simulated not in known:
        raise EmulationError(f"the kernel's {unknown(name, 'a congestion control of the simulator', known)}")
    return simulated


def spell_simulation(scenario: Scenario, name: str, cc: str, kernel: dict[str, str]) -> Scenario:
    """Return the scenario with hosts like this kernel: preset `linux-6`, its congestion control, and its settings."""
    content = scenario.to_dict()
    kept = ("from", "to", "class", "route", "reverse_route")
    flow = {key: value for key, value in content["flow"][name].items() if key in kept}
    content["flow"][name] = {**flow, "app": "greedy", **_spell_paths(content["flow"][name])}
    switches = {key: kernel[sysctl] != "0" for key, sysctl in PRESET_SWITCHES.items() if sysctl in kernel}
    if "subflow" in content["flow"][name]:
        # The kernel's subflows keep their windows while they wait for each other's data.
        switches["idle_restart"] = False
    named = content.get("tcp", {}).get("buffers", "stock")
    content["tcp"] = {"like": "linux-6", "buffers": named, "cc": cc, **switches, **_buffers(kernel)}
    content["record"] = {**content["record"], "series": list(SERIES)}
    return scenario.with_content(content)


def _spell_paths(flow: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of several paths, with the scheduler and the reinjection of Linux 6."""
    if "subflow" not in flow:
        return {}
    kept = ("route", "reverse_route", "class", "backup")
    subflows = {name: {key: each[key] for key in kept if key in each} for name, each in flow["subflow"].items()}
    return {"multipath": LINUX_PATHS, "subflow": subflows}


def _buffers(kernel: dict[str, str]) -> dict[str, Any]:
    """Buffers with the sizes of the kernel; the send buffer has its largest size at once."""
    buffers: dict[str, Any] = {}
    if "tcp_rmem" in kernel:
        _, start, limit = (f"{each} B" for each in kernel["tcp_rmem"].split())
        buffers |= {"receive_buffer": "auto", "auto_buffer": {"start": start, "limit": limit, "growth": "linux"}}
    if "tcp_wmem" in kernel:
        buffers["send_buffer"] = f"{kernel['tcp_wmem'].split()[2]} B"
    return buffers

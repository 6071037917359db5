"""Bentpipe's QUIC on the wire: the settings of an end, and the programs that have them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from bentpipe.catalog import unknown
from bentpipe.emulation.ports import is_port
from bentpipe.emulation.programs import find_program
from bentpipe.errors import EmulationError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bentpipe.emulation.emulate import Own
    from bentpipe.own.loading import Sender
    from bentpipe.scenario.scenario import Scenario

LINK = {"from": "a", "to": "b", "rate": "1 Mbit/s", "delay": "1 ms"}
"""A path for settings that no longer depend on one."""
KEPT = ("from", "to", "class", "route", "reverse_route", "start")


def find_settings(scenario: Scenario, flow: str | None, cc: Sender | None) -> dict[str, Any]:
    """Return a scenario of one flow with its QUIC settings: for a flow over TCP, those that it would have.

    The default of `flow` is the flow of real packets, or else the first flow.

    Raises
    ------
    EmulationError
        This build has no QUIC on the wire, or a setting has no effect there.
    ScenarioError
        The congestion control cannot control QUIC.
    """
    if not hasattr(_core, "QuicHost"):
        raise EmulationError("this build has no QUIC on the wire\n  expected Linux, and a build with the feature tls")
    if cc is not None and (not isinstance(cc, str) or ".py:" in cc):
        raise EmulationError("{cc} of a class\n  expected a name for QUIC: list cc", cc=None)
    content = scenario.to_dict()
    flows = content["flow"]
    if flow is None:
        flow = next((name for name, each in flows.items() if is_port(each)), next(iter(flows)))
    if flow not in flows:
        raise EmulationError(unknown(flow, "a flow", flows))
    about = {key: flows[flow][key] for key in KEPT if key in flows[flow]}
    # A flow over QUIC has all settings. For others they follow from the table `quic`, which only the text has.
    text, form = scenario.written
    written = json.loads(text) if form == "json" else tomllib.loads(text)
    content["flow"] = {flow: {**about, "app": "greedy", "quic": flows[flow].get("quic", {})}}
    content |= {"quic": written["quic"]} if "quic" in written else {}
    whole = scenario.with_content(content).with_sets([each for each in scenario.sets if each[0].startswith("quic.")])
    if cc is not None:
        whole = whole.with_sets([(f"flow.{flow}.quic.cc", cc)])
    quic = whole.to_dict()["flow"][flow]["quic"]
    found = {"duration": "1 s", "link": {"path": LINK}, "flow": {flow: {"from": "a", "to": "b", "quic": quic}}}
    _core.check_quic(_core.Scenario.from_json(json.dumps(found), scenario.source, [], None, []))
    return found


def make_program(settings: Mapping[str, Any], own: Own, peer: str) -> list[str]:
    """Return the command of the end that `own` describes, for the host that it is at."""
    return _program(settings, own, own.service, peer if own.connects else None, file=own.file)


def make_peer(settings: Mapping[str, Any], own: Own, host: str) -> list[str]:
    """Return the command of the other end: it reads all that `own` sends from `host`, and prints the time."""
    return _program(settings, own, "take", None if own.connects else host, is_single=True)


def _program(
    settings: Mapping[str, Any],
    own: Own,
    service: str,
    peer: str | None,
    *,
    file: str | None = None,
    is_single: bool = False,
) -> list[str]:
    task = {"settings": settings, "service": service, "file": file, "port": own.port, "peer": peer, "qlog": own.qlog}
    return [*find_program("quic"), json.dumps({**task, "single": is_single})]

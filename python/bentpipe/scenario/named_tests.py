"""Tests with the names of Flent: workloads that replace the flows of a scenario.

Flent's client is the host behind the access link, such as `terminal` of a GEO path. Data to the client are downloads.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

from bentpipe.catalog import unknown
from bentpipe.errors import ScenarioError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from bentpipe.scenario.scenario import Scenario

IDLE = "5 s"
"""Time of pings alone, before the transfers: Flent's delay."""
MARKINGS = ("BE", "BK", "CS5", "EF")
"""Names of the four flows of a direction of `rrul`."""
FAR_MS = (0, 25, 50, 100)
"""Additional one-way delays of the four servers of `rtt_fair`, ms."""
STREAMS_MAX = 100
_STREAMS = re.compile(r"tcp_(\d+)(up|down)")
NAMES = ("rrul", "rtt_fair", "rtt_fair_up", "tcp_Nup", "tcp_Ndown")
"""Tests, with N for a number of flows."""
CLIENT_SENDS = ("page", "request-response", "probe")
"""Applications whose flow begins at the client."""
PING = "Ping (ms) ICMP"


def with_test(scenario: Scenario, name: str) -> Scenario:
    """Replace the flows of a scenario by those of a test, between a client and a server.

    Flows have the names of the series in Flent's files. Pings run from the start, transfers from 5 s on.

    Parameters
    ----------
    scenario : Scenario
        Its links, nodes and transport stay.
    name : str
        `rrul`: four downloads, four uploads, and pings. `tcp_4up` and `tcp_8down`: as many flows in one direction, and
        pings. `rtt_fair` and `rtt_fair_up`: four flows to servers with 0, 25, 50 and 100 ms more one-way delay.

    Raises
    ------
    ScenarioError
        There is no such test.
    """
    # As written: the resolved scenario of a sky has changes of routes for the flows of the file.
    text, form = scenario.written
    content: dict[str, Any] = json.loads(text) if form == "json" else tomllib.loads(text)
    client, server = _find_ends(scenario)
    flows: dict[str, Any] = {PING: _ping(client, server)}
    streams = _STREAMS.fullmatch(name)
    if name == "rrul":
        for marking in MARKINGS:
            flows[f"TCP upload {marking}"] = _stream(client, server)
            flows[f"TCP download {marking}"] = _stream(server, client)
    elif streams is not None and 0 < int(streams[1]) <= STREAMS_MAX:
        count, is_up = int(streams[1]), streams[2] == "up"
        for number in range(1, count + 1):
            place = "" if count == 1 else f"::{number}"
            flows[f"TCP {'upload' if is_up else 'download'}{place}"] = (
                _stream(client, server) if is_up else _stream(server, client)
            )
    elif name in ("rtt_fair", "rtt_fair_up"):
        del flows[PING]
        for number, more_ms in enumerate(FAR_MS, 1):
            far = f"{server}-{number}"
            link = {"from": far, "to": server, "rate": "10 Gbit/s", "delay": f"{more_ms} ms", "queue": "unlimited"}
            content.setdefault("link", {})[far] = link
            flows[f"Ping (ms) ICMP {far}"] = _ping(client, far)
            is_up = name == "rtt_fair_up"
            flows[f"TCP {'upload' if is_up else 'download'} {far}"] = (
                _stream(client, far) if is_up else _stream(far, client)
            )
    else:
        raise ScenarioError(unknown(name, "a test", NAMES))
    content["flow"] = flows
    # Changes of routes name the flows of the file.
    for change in content.get("at", []):
        for key in ("install", "withdraw"):
            change.pop(key, None)
    title = scenario.title or scenario.source
    sets = [(key, value) for key, value in scenario.sets if key.partition(".")[0] not in ("flow", "title", "case")]
    return scenario.with_content({**content, "title": f"{name}: {title}"}).with_sets(sets)


def _find_ends(scenario: Scenario) -> tuple[str, str]:
    """Return client and server: the ends of the first flow of requests, else of the first flow."""
    given = list(scenario.to_dict()["flow"].values())
    asking = [flow for flow in given if flow["app"]["kind"] in CLIENT_SENDS]
    if asking:
        return asking[0]["from"], asking[0]["to"]
    return given[0]["to"], given[0]["from"]


def _ping(client: str, server: str) -> dict[str, Any]:
    return {"from": client, "to": server, "app": {"kind": "probe", "interval": "200 ms", "size": "64 B"}}


def _stream(source: str, destination: str) -> dict[str, Any]:
    return {"from": source, "to": destination, "app": "greedy", "start": IDLE}

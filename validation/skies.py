"""Makes the page "Over the sky": what the geometry changes in experiments that had stand-ins for it.

    .venv/bin/python validation/skies.py [been] [day]

Some minutes on two cores with a release build. The figures go into `docs/validation`; without a name, both parts.
"""

from __future__ import annotations

import json
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

import bentpipe as bp
from bentpipe.statistics.estimates import estimate

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "validation"
KEPT = PAGES / "sky.json"
PACK = ROOT / "python" / "bentpipe" / "papers" / "packs" / "been" / "scenarios"

# BEEN over Iridium.

SYSTEMS = {"NewReno": "iridium-path", "SaTPEP": "iridium-satpep", "BEEN": "iridium-been"}
SIZES = ["1500 B", "500 B", "200 B", "100 B", "50 B"]
RATES = [1e-2, 1e-3, 1e-4]
# Two hours and a bit apart: other satellites in other places.
STARTS = [f"2000-01-01T{at // 60:02}:{at % 60:02}:00Z" for at in range(0, 1440, 144)]
COASTS = {"gateway": (37.77, -122.42), "gateway2": (40.71, -74.01)}
IRIDIUM = {
    "over": "iridium",
    "on_board": "processing",
    "place": {name: {"latitude": at[0], "longitude": at[1]} for name, at in COASTS.items()},
    "user": {"rate": "1.5 Mbit/s", "queue": "49 packets"},
    "inter_satellite": {"rate": "25 Mbit/s", "queue": "49 packets"},
}


def stand_in(system: str) -> dict[str, Any]:
    """The scenario of the paper's pack, on its path of fixed delays."""
    scenario = tomllib.loads((PACK / f"{SYSTEMS[system]}.toml").read_text())
    del scenario["sweep"]
    return scenario


def over_iridium(system: str, start: str) -> dict[str, Any]:
    """The same where Iridium is between the gateways, without errors yet."""
    scenario = stand_in(system)
    for name in ("up", "isl1", "isl2", "isl3", "down"):
        del scenario["link"][name]
    nodes = scenario.setdefault("node", {})
    first = nodes.pop("sat1", {"kind": "processing"})
    scenario["sky"] = IRIDIUM | {"start": start, "middlebox": first.get("middlebox", [])}
    return bp.Scenario(scenario).to_dict()


def with_errors(scenario: dict[str, Any], rate: float) -> dict[str, Any]:
    """Errors on what the first gateway sends up, as in the paper; on no acknowledgement."""
    links = {name: dict(link) for name, link in scenario["link"].items()}
    for name, link in links.items():
        if name == "up" or name.startswith("gateway~"):
            link["forward"] = dict(link.get("forward", {})) | {"error": {"kind": "byte", "rate": rate}}
    return scenario | {"link": links}


def goodput_kbps(scenario: dict[str, Any], size: str, seed: int) -> float:
    """What the receiver gets, kbit/s."""
    run = bp.run(scenario, seed=seed, sets={"tcp.smss": size} if "tcp" in scenario else {})
    return run.flows["goodput_bps"].sum() / 1e3


def been() -> dict[str, Any]:
    """Goodputs of the three systems, at each size and rate, on the stand-in and over the sky."""
    rows = []
    skies = {(system, start): over_iridium(system, start) for system in SYSTEMS for start in STARTS}
    work = [
        (system, size, rate, path)
        for system in SYSTEMS
        for size in SIZES
        for rate in RATES
        for path in ("fixed", "iridium")
    ]

    def one(what: tuple[str, str, float, str]) -> dict[str, Any]:
        system, size, rate, path = what
        found = []
        for seed, start in enumerate(STARTS, 1):
            scenario = stand_in(system) if path == "fixed" else skies[system, start]
            found.append(goodput_kbps(sized(with_errors(scenario, rate), size), size, seed))
        made = estimate(found)
        return {
            "system": system,
            "size": size,
            "rate": rate,
            "path": path,
            "mean": made.mean,
            "half": made.high - made.mean,
        }

    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(one, work))
    return {"rows": rows}


def sized(scenario: dict[str, Any], size: str) -> dict[str, Any]:
    """With segments of this size: of a resolved scenario, those of its flows."""
    if "tcp" in scenario:
        return scenario | {"tcp": scenario["tcp"] | {"smss": size}}
    flows = {name: flow | {"tcp": flow["tcp"] | {"smss": size}} for name, flow in scenario["flow"].items()}
    return scenario | {"flow": flows}

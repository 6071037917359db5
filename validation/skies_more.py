"""Parts of `skies.py`: the cost of the sky, pings after a boundary, and REFWA Plus over moving satellites."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

import bentpipe as bp

CONFIDENCE = 0.95
ROOT = Path(__file__).resolve().parent.parent
REFWA = ROOT / "python" / "bentpipe" / "papers" / "packs" / "refwa" / "scenarios" / "bottleneck.toml"

# Cost of the sky.

EXAMPLE = ROOT / "target" / "release" / "examples" / "all_pairs"
BUILD = ["cargo", "build", "--release", "--package", "bentpipe-orbit", "--example", "all_pairs"]
PLANES = [8, 16, 24, 34, 50, 72, 100]
"""As many satellites in each plane: 64 to 10,000."""
CITIES = [2, 5, 10, 20, 50, 100, 200]
"""All pairs of them: 1 to 19,900."""
USUAL = (34, 100)
"""Kuiper's first shell, and 100 cities."""
STEPS, BEFORE = 220, 20
TIMES = 3
FLOWS = [1, 10, 45, 190]


def spent(cities: int, planes: int, steps: int) -> tuple[float, float]:
    """CPU seconds and largest memory in MB of routes at `steps` steps of 0.1 s, in a separate process."""
    words = [str(EXAMPLE), *(str(number) for number in (cities, steps, planes, planes))]
    largest = 0.0
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        while True:
            # `wait4` would report the largest resident set of this process, before the other one began.
            with contextlib.suppress(OSError, StopIteration):
                lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
                largest = max(largest, float(next(line for line in lines if line.startswith("VmHWM")).split()[1]))
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            if done:
                break
            time.sleep(0.02)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return usage.ru_utime + usage.ru_stime, largest / 1024


def cost() -> dict[str, Any]:
    """CPU time of a step by satellites and pairs, of a long look, and of reading scenarios; the least of some times."""
    subprocess.run(BUILD, check=True, cwd=ROOT)
    rows = []
    for planes in PLANES:
        for cities in CITIES:
            # Both include the cost of things done once.
            whole, begin = (min(spent(cities, planes, steps)[0] for _ in range(TIMES)) for steps in (STEPS, BEFORE))
            step_ms = 1e3 * (whole - begin) / (STEPS - BEFORE)
            rows.append({"satellites": planes**2, "pairs": cities * (cities - 1) // 2, "step_ms": step_ms})
    return {"rows": rows, **long_look()}


def long_look() -> dict[str, Any]:
    """The usual look over 2,000 steps, and reading scenarios."""
    long = [spent(USUAL[1], USUAL[0], 2000) for _ in range(TIMES)]
    return {
        "long_s": min(seconds for seconds, _ in long),
        "long_mb": max(mb for _, mb in long),
        "reading": [{"pairs": count, "seconds": min(reading(count) for _ in range(TIMES))} for count in FLOWS],
    }


def reading(pairs: int) -> float:
    """CPU seconds to read a scenario of a minute with this number of pairs of cities over a shell of Starlink."""
    known = [city["name"] for city in bp.sky.cities() if abs(city["latitude_deg"]) < 50]
    cities = [known[number * len(known) // 20] for number in range(20)]
    ends = [(a, b) for number, a in enumerate(cities) for b in cities[number + 1 :]][:pairs]
    assert len(ends) == pairs
    flows = {f"f{number}": {"from": a, "to": b} for number, (a, b) in enumerate(ends)}
    begin = time.process_time()
    bp.Scenario({"duration": "60 s", "sky": {"over": "starlink-shell-1"}, "flow": flows})
    return time.process_time() - begin


# After a boundary of Starlink's slots.

# Median round trips of pings (ms) by the time of sending after the boundary, and replies in this time compared with the
# usual number. Quantiles of five traces of 2024 from Victoria (Z. Zhao and J. Pan's LEO live streaming).
OFFSETS = [-0.10, -0.05, 0.0, 0.05, 0.10, 0.15, 0.20, 0.25]
WIDTH_S = 0.05
PING_S = 0.01
PAUSE_MS = 60
AFTER = {
    "duration": "1200 s",
    "sky": {
        "over": "starlink",
        "selection": "starlink",
        "gateway": ["Seattle"],
        "break_before_make": f"{PAUSE_MS} ms",
        "waiting": "kept",
        "in_flight": "delivered",
        "place": {"Victoria": {"latitude": 48.45, "longitude": -123.36}},
    },
    # Delays that are not geometry: frames, scheduling, the path on the ground.
    "link": {"rest": {"from": "Seattle", "to": "server", "rate": "1 Gbit/s", "delay": "8 ms"}},
    "flow": {"ping": {"from": "Victoria", "to": "server", "app": "port"}},
}


def pinged(scenario: dict[str, Any], every_s: float, until_s: float) -> Any:
    """When pings over the ports of flow `ping` leave and their replies arrive: a row for each that comes back."""

    def through(way: int, times: list[float]) -> list[float]:
        """When packets arrive that are sent at these times in one direction."""
        net = bp.Network(scenario)
        port = net.ports("ping")[way]
        for number, at in enumerate(times):
            net.inject(at, port, number.to_bytes(4, "big"))
        net.run_until(until_s + 1)
        arrived = {int.from_bytes(packet.data, "big"): packet.at_s for packet in net.drain()}
        return [arrived.get(number, float("nan")) for number in range(len(times))]

    # The two directions share nothing, so each is a separate run.
    sent = [every_s * number for number in range(round(until_s / every_s))]
    there = through(0, sent)
    kept = [number for number, at in enumerate(there) if at == at and at < until_s]
    order = sorted(kept, key=there.__getitem__)
    back = dict(zip(order, through(1, [there[number] for number in order]), strict=True))
    return np.array([(sent[number], back[number]) for number in kept if back[number] == back[number]])


def transient() -> dict[str, Any]:
    """Pings around the boundaries of slots over the lots of Starlink's schedule, with a pause at each handover."""
    rows = pinged(AFTER, PING_S, 1199)
    start, end = rows[:, 0], rows[:, 1]
    sent = round(1199 / PING_S)

    def offset(times: Any) -> Any:
        """Seconds after the nearest boundary: seconds 12, 27, 42 and 57 of a minute."""
        return (times - 12 + 7.5) % 15 - 7.5

    found = []
    usual = len(rows) * WIDTH_S / 15
    for low in OFFSETS:
        by_sending = (offset(start) >= low - 1e-9) & (offset(start) < low + WIDTH_S - 1e-9)
        by_arrival = (offset(end) >= low) & (offset(end) < low + WIDTH_S)
        median_ms = float(np.median(1e3 * (end - start)[by_sending]))
        found.append({"offset_s": low, "median_ms": median_ms, "replies": float(by_arrival.sum() / usual)})
    return {"rows": found, "lost": sent - len(rows), "sent": sent}


# REFWA Plus over Teledesic.

STARTS = [f"2000-01-01T{at // 60:02}:{at % 60:02}:00Z" for at in range(0, 1440, 144)]
HUB = "New York"
CITIES_AROUND = [
    "Toronto",
    "Mexico City",
    "London",
    "Moscow",
    "Lagos",
    "Tokyo",
    "Nairobi",
    "Singapore",
    "Johannesburg",
    "Sydney",
]
"""Round trips of 20 to 200 ms to the hub, over Teledesic."""
SENDERS = {"newreno": "NewReno", "refwa": "REFWA", "refwa-plus": "REFWA Plus"}
DIRECTIONS = {"down": "from ten cities, REFWA on the satellites", "up": "to ten cities, REFWA at the gateway"}
ERRORS = [0.0, 0.01]
RATE_BPS = 10e6
RATES = {"down": ("100 Mbit/s", "10 Mbit/s"), "up": ("10 Mbit/s", "100 Mbit/s")}
"""Of links to the ground, up and down: the hub's is shared."""
QUEUE = "187 packets"
"""As in the paper's pack: 10 Mbit/s times 160 ms."""
DURATION_S = 600


def around(case: str, direction: str, error: float, start: str) -> dict[str, Any]:
    """Ten flows that share the link of a place to its satellite: down to it, or up from it."""
    loaded = bp.load(REFWA)
    tables = loaded.cases[case].to_dict()
    # Hosts take the time of a packet, so that no flow is in step with the queue.
    tcp = loaded.to_dict()["tcp"] | tables["tcp"] | {"processing": "0.85 ms"}
    marking = tables.get("node", {}).get("sat1", {}).get("middlebox", [])
    shared = {"error": {"kind": "packet", "rate": error}} if error else {}
    up, down = RATES[direction]
    scenario: dict[str, Any] = {
        "duration": f"{DURATION_S} s",
        "tcp": tcp,
        "sky": {
            "over": "teledesic",
            "start": start,
            "selection": "longest",
            "user": {"queue": QUEUE, "forward": {"rate": up}, "reverse": {"rate": down}},
            "inter_satellite": {"rate": "1 Gbit/s"},
        },
        "flow": {},
    }
    if direction == "down":
        scenario["sky"]["middlebox"] = marking
        # The downlink to the hub. Acknowledgements use another downlink.
        scenario["sky"]["user"]["reverse"] |= shared
    else:
        scenario["node"] = {HUB: {"middlebox": marking}}
        scenario["sky"]["user"]["forward"] |= shared
    for city in CITIES_AROUND:
        ends = (city, HUB) if direction == "down" else (HUB, city)
        start_at = {"uniform": ["0 s", "1 s"]}
        scenario["flow"][city] = {"from": ends[0], "to": ends[1], "app": "greedy", "start": start_at}
    read = bp.Scenario(scenario).to_dict()
    # Errors hit data on the shared link alone, as in the paper.
    for name, link in read["link"].items():
        if not name.startswith(f"{HUB}~"):
            for side in ("forward", "reverse"):
                link[side] = {key: value for key, value in link.get(side, {}).items() if key != "error"}
    return read


def still(scenario: dict[str, Any]) -> dict[str, Any]:
    """The same scenario with the sky at rest, as at the start."""

    def first(keys: dict[str, Any]) -> dict[str, Any]:
        delay = keys.get("delay")
        return keys | {"delay": delay["points"][0][1]} if isinstance(delay, dict) else keys

    sides = ("forward", "reverse")
    links = {
        name: first(link) | {side: first(link[side]) for side in sides if side in link}
        for name, link in scenario["link"].items()
    }
    # Each middlebox needs packets that pass its node.
    passed = {name for flow in scenario["flow"].values() for name in flow["route"]}
    nodes = {name: node for name, node in scenario.get("node", {}).items() if name in passed}
    return {key: value for key, value in scenario.items() if key != "at"} | {"link": links, "node": nodes}


def fairness(goodputs: Any) -> float:
    """F of the paper: 1 where all have the same."""
    return float(goodputs.sum() ** 2 / (len(goodputs) * (goodputs**2).sum()))


def refwa() -> dict[str, Any]:
    """Fairness and utilisation of each sender, with the sky at rest and moving, with and without errors."""
    work = [
        (direction, error, case, sky)
        for direction in DIRECTIONS
        for error in ERRORS
        for case in SENDERS
        for sky in ("still", "moving")
    ]

    def one(what: tuple[str, float, str, str]) -> dict[str, Any]:
        direction, error, case, sky = what
        fair, used, handovers, lost = [], [], [], []
        for seed, start in enumerate(STARTS, 1):
            scenario = around(case, direction, error, start)
            handovers.append(sum("down" in at for at in scenario.get("at", [])))
            run = bp.run(still(scenario) if sky == "still" else scenario, seed=seed)
            goodputs = run.flows["goodput_bps"].fill_null(0.0).to_numpy()
            fair.append(fairness(goodputs))
            used.append(float(goodputs.sum()) * (1024 + 40) / 1024 / RATE_BPS)
            causes = run.drops.filter(run.drops["cause"].is_in(["handover", "route-missing"]))
            lost.append(float(causes["packets"].sum()))
        return {
            "direction": direction,
            "error": error,
            "sender": case,
            "sky": sky,
            "fairness": fair,
            "utilisation": used,
            "handovers": mean(handovers) if sky == "moving" else 0.0,
            "lost": mean(lost),
        }

    with ThreadPoolExecutor(2) as pool:
        return {"rows": list(pool.map(one, work))}


def cause() -> dict[str, Any]:
    """REFWA Plus until the hub's first handover and in total, with feedback from satellites."""
    rows = []
    for seed, start in enumerate(STARTS, 1):
        scenario = around("refwa-plus", "down", 0.0, start)
        left = next(at for at in scenario["at"] if any(name.startswith(f"{HUB}~") for name in at.get("down", [])))
        until_s = float(left["time"].removesuffix(" s"))
        row: dict[str, Any] = {"until_s": until_s}
        for name, seconds in (("before", until_s), ("whole", DURATION_S)):
            run = bp.run(scenario | {"duration": f"{seconds} s"}, seed=seed)
            overflows = run.drops.filter(run.drops["cause"] == "queue-overflow")
            goodputs = run.flows["goodput_bps"].fill_null(0.0).to_numpy()
            row[f"{name}_overflows"] = int(overflows["packets"].sum())
            row[f"{name}_fairness"] = fairness(goodputs)
            row[f"{name}_utilisation"] = float(goodputs.sum()) * (1024 + 40) / 1024 / RATE_BPS
        for sky in ("still", "moving"):
            scenario = around("newreno", "down", 0.0, start)
            flows = bp.run(still(scenario) if sky == "still" else scenario, seed=seed).flows.sort("goodput_bps")
            row[f"{sky}_most"] = [flows["flow"][-1], float(flows["goodput_bps"][-1]) / RATE_BPS]
        rows.append(row)
    return {"rows": rows}

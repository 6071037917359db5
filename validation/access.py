"""Measures waits for grants of datagrams, and times of transfers and pages by way of access, over `access.toml`.

    python -m validation.access          # some minutes on two cores
    python -m tools.docs access          # after that: the tables of the page "Shared access"

The numbers go into `validation/data/access.json`. The waits are from the arrival at the link to the end of the last
burst of a packet: one-way delays without the propagation.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import bentpipe as bp
from bentpipe.statistics.estimates import estimate
from validation import kept

HERE = Path(__file__).resolve().parent
CONFIDENCE = 0.95
DURATION_S = 300.0
TERMINALS = 40
PROPAGATION_S = 0.25
HEADERS = 28
"""Bytes of IPv4 and UDP, which each datagram has."""

ACCESS = "link.user.reverse.access"
RANDOM: dict[str, Any] = {"medium.up.random": {"carriers": 1}}
FREE: dict[str, Any] = {**RANDOM, "medium.up.free": "all"}
ONLY_RANDOM: dict[str, Any] = {**RANDOM, "medium.up.control_interval": "none"}
RATE = {"rate_based": "1 Mbit/s"}
VOLUME = {"volume_based": True}
WAITS: dict[str, dict[str, Any]] = {
    "rate 1 Mbit/s, control slots": {ACCESS: RATE},
    "rate 1 Mbit/s, random requests": {ACCESS: RATE, **ONLY_RANDOM},
    "volume, control slots": {ACCESS: VOLUME},
    "volume, random requests": {ACCESS: VOLUME, **ONLY_RANDOM},
    "rate 512 kbit/s and volume, random requests": {ACCESS: {"rate_based": "512 kbit/s", **VOLUME}, **ONLY_RANDOM},
    "constant 16 kbit/s and rate 1 Mbit/s, control slots": {ACCESS: {"constant": "16 kbit/s", **RATE}},
    "constant 64 kbit/s": {ACCESS: {"constant": "64 kbit/s"}},
    "volume, free to all, random requests": {ACCESS: VOLUME, **FREE, **ONLY_RANDOM},
}
WAIT_SEEDS = range(1, 4)
"""Datagrams like those of pages, from each terminal."""

USERS = 400
COPIES = {"ALOHA": 1, "CRDSA, 3 copies": 3}
"""Requests of 400 terminals in contention slots."""

CATEGORIES: dict[str, dict[str, Any]] = {
    "constant 64 kbit/s": {ACCESS: {"constant": "64 kbit/s"}},
    "rate up to 1 Mbit/s": {ACCESS: RATE, **RANDOM},
    "volume": {ACCESS: VOLUME, **RANDOM},
    "rate up to 512 kbit/s, and volume": {ACCESS: {"rate_based": "512 kbit/s", **VOLUME}, **RANDOM},
    "volume, and random access for data": {ACCESS: {**VOLUME, "random": "data"}, **RANDOM},
    "volume, free to those that ask": {ACCESS: VOLUME, **FREE, "medium.up.free": "asking"},
    "volume, free to all": {ACCESS: VOLUME, **FREE},
    "rate up to 1 Mbit/s, free to all": {ACCESS: RATE, **FREE},
}
CONTROLS = ("cubic", "bbr1")
READERS = {
    "from": "terminal{n}",
    "to": "gateway",
    "count": TERMINALS,
    "app": {"kind": "page", "model": "3gpp2", "reading": {"kind": "exponential", "mean": "10 s"}},
}
TRANSFERS: dict[str, dict[str, Any]] = {
    "download of 10 MB": {"from": "gateway", "to": "terminal1", "app": {"kind": "file", "size": "10 MB"}},
    "upload of 500 kB": {"from": "terminal1", "to": "gateway", "app": {"kind": "file", "size": "500 kB"}},
}
TRANSFER_SEEDS = range(1, 21)


def datagrams(times: list[float], size: int) -> dict[str, Any]:
    """Datagrams of `size` bytes with headers, at these times."""
    kept_times = [f"{at:.9f} s" for at in sorted(times) if at < DURATION_S - 5]
    return {"kind": "probe", "size": f"{size - HEADERS} B", "times": kept_times}


def arrivals(draws: np.random.Generator, least_s: float, mean_s: float) -> list[float]:
    """Times that are `least_s` and an exponential time apart."""
    times, at = [], 0.0
    while at < DURATION_S:
        at += least_s + draws.exponential(mean_s)
        times.append(at)
    return times


def web_like(seed: int) -> dict[str, Any]:
    """Flows of each terminal: a packet of 400 B, six of them 0.6 s later, and 600 of 40 B over 2 s from 1.2 s on."""
    draws = np.random.default_rng(seed)
    flows: dict[str, Any] = {}
    for terminal in range(1, TERMINALS + 1):
        pages = arrivals(draws, 4.0, 10.0)
        parts = {
            "first": datagrams(pages, 400),
            # A probe is known by its instant.
            "requests": datagrams([at + 0.6 + 1e-8 * n for at in pages for n in range(6)], 400),
            "acks": datagrams([at + 1.2 + n / 300 for at in pages for n in range(600)], 40),
        }
        ends = {"from": f"terminal{terminal}", "to": "gateway"}
        flows |= {f"flow.{name}{terminal}": {**ends, "app": app} for name, app in parts.items()}
    return flows


def waits(sets: dict[str, Any], seed: int) -> dict[str, float]:
    """The waits of a run of `web_like`, and the share of granted bytes without data."""
    result = bp.run(bp.load(HERE / "access.toml", {**sets, **web_like(seed)}), seed=seed)
    names = result.probes["flow"].to_list()
    found = result.probes["forward_s"].to_numpy() - PROPAGATION_S
    firsts = found[[name.startswith("first") for name in names]]
    medium = result.media.row(0, named=True)
    return {
        "first_s": float(np.nanmean(firsts)),
        "mean_s": float(np.nanmean(found)),
        "p95_s": float(np.nanquantile(found, 0.95)),
        "empty": medium["unused_bytes"] / medium["granted_bytes"],
    }


def requests(copies: int, seed: int) -> dict[str, float]:
    """Packets of 400 terminals that ask in contention slots: losses of requests, and waits."""
    draws, flows = np.random.default_rng(seed), {}
    for terminal in range(1, USERS + 1):
        app = datagrams(arrivals(draws, 1.5, 0.5), 40)
        flows[f"flow.f{terminal}"] = {"from": f"terminal{terminal}", "to": "gateway", "app": app}
    sets = {
        ACCESS: VOLUME,
        "link.user.count": USERS,
        "medium.up.random": {"carriers": 1, "copies": copies},
        "medium.up.control_interval": "none",
    }
    result = bp.run(bp.load(HERE / "access.toml", {**sets, **flows}), seed=seed)
    found = result.probes["forward_s"].to_numpy() - PROPAGATION_S
    medium = result.media.row(0, named=True)
    slots = 49 * DURATION_S / 0.0265
    return {
        "load": medium["random_bursts"] / slots,
        "lost": medium["random_lost"] / medium["random_bursts"],
        "mean_s": float(np.nanmean(found)),
        "p95_s": float(np.nanquantile(found, 0.95)),
    }


def transfers(sets: dict[str, Any], control: str, seed: int) -> dict[str, float]:
    """Times of pages of all terminals, and of a transfer of one terminal while the others read pages."""
    pages = {"tcp.cc": control, "flow.readers": READERS, "duration": "120 s"}
    scenario = bp.load(HERE / "access.toml", {**sets, **pages})
    found = {"page": bp.run(scenario, seed=seed).summary["transfer_mean_s"][0]}
    for name, flow in TRANSFERS.items():
        result = bp.run(scenario.with_sets({"flow.transfer": {**flow, "start": "20 s"}}), seed=seed)
        (row,) = result.flows.filter(result.flows["flow"] == "transfer").rows(named=True)
        found[name] = row["completion_rx_s"]
    return found


def main() -> None:
    """Measure and keep the numbers."""
    numbers: dict[str, Any] = {"waits": {}, "requests": {}, "transfers": {}}
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def each(seeds: range, act: Any, *of: Any) -> list[dict[str, float]]:
            return list(pool.map(lambda seed: act(*of, seed), seeds))

        for name, sets in WAITS.items():
            numbers["waits"][name] = means(each(WAIT_SEEDS, waits, sets))
            print(name, numbers["waits"][name], flush=True)
        for name, copies in COPIES.items():
            numbers["requests"][name] = means(each(WAIT_SEEDS, requests, copies))
            print(name, numbers["requests"][name], flush=True)
        for control in CONTROLS:
            for name, sets in CATEGORIES.items():
                found = each(TRANSFER_SEEDS, transfers, sets, control)
                numbers["transfers"][f"{control}: {name}"] = intervals(found)
                print(control, name, numbers["transfers"][f"{control}: {name}"], flush=True)
    kept.save("access", numbers)


def means(found: list[dict[str, float]]) -> dict[str, list[float]]:
    """Mean, minimum and maximum over the seeds."""
    values = {key: [each[key] for each in found] for key in found[0]}
    return {key: [float(np.mean(of)), min(of), max(of)] for key, of in values.items()}


def intervals(found: list[dict[str, float]]) -> dict[str, list[float | None]]:
    """Mean and interval over the seeds."""
    known = {key: estimate(np.array([each[key] for each in found]), CONFIDENCE) for key in found[0]}
    return {key: [of.mean, of.low, of.high] for key, of in known.items()}


if __name__ == "__main__":
    kept.begin(__doc__)
    main()

"""Measures what homes of the bundled scenario `geo-access` cost the others, and the gaps between ACKs at the gateway.

    python -m validation.neighbours          # a quarter of an hour on two cores
    python -m tools.docs neighbours          # after that: the tables of the guide "Find why pages are slow"

Three parts: capacity that the backup takes from the others, costs of the shower, and bunches of ACKs. The costs are
differences of runs with the same seed. The numbers go into `validation/data/neighbours.json`.
"""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import bentpipe as bp
from bentpipe.fitting.readers.captures import packets
from bentpipe.fitting.readers.opening import Stream
from bentpipe.statistics.estimates import estimate
from validation import kept

if TYPE_CHECKING:
    from collections.abc import Callable

CONFIDENCE = 0.95
SEEDS = range(1, 11)
SCENARIO = "geo-access"
Sets = dict[str, Any]

BACKUP_S = 100
"""The backup of the scenario takes longer in each run."""
NO_BACKUP: Sets = {"flow.backup.app.size": "1 B"}
CARRIERS = (12, 4, 3)
"""Carriers up, one of them with contention slots."""

NO_SHOWER: Sets = {"link.shower.forward.es_n0": "13 dB", "link.shower.reverse.es_n0": "9 dB"}
SHOWER_S = (120, 230)
DOWNLOAD: Sets = {
    "flow.download": {"from": "server", "to": "shower", "start": "20 s", "app": {"kind": "file", "size": "10 GB"}}
}
FULL: Sets = {"medium.down.symbol_rate": "28 Mbaud", **DOWNLOAD}
SHOWERS: dict[str, tuple[Sets, bool]] = {
    'as shipped, `share = "bits"`': ({}, True),
    'as shipped, `share = "time"`': ({"medium.down.share": "time"}, True),
    'full, `share = "bits"`': (FULL, True),
    'full, `share = "time"`': ({**FULL, "medium.down.share": "time"}, True),
    'full, `share = "bits"`, no `plan_over`': (FULL, False),
    'full, `share = "time"`, no `plan_over`': ({**FULL, "medium.down.share": "time"}, False),
}
"""Overrides, and whether the carrier has plans."""

HOME = "clear30"
ACKS: Sets = {
    "duration": "60 s",
    "flow.backup": {"from": "server", "to": HOME, "start": "20 s", "app": {"kind": "file", "size": "20 MB"}},
}
WAYS = ("as shipped", "constant", "rate", "volume", "random-data", "free")
BUNCH_S = 0.005
"""ACKs closer than this are one bunch. A burst takes 0.5 ms."""


def each(act: Callable[..., dict[str, float]], *of: Any) -> list[dict[str, float]]:
    """The numbers of all seeds."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda seed: act(*of, seed), SEEDS))


def intervals(found: list[dict[str, float]]) -> dict[str, list[float | None]]:
    """Mean and interval over the seeds."""
    known = {key: estimate(np.array([of[key] for of in found]), CONFIDENCE) for key in found[0]}
    return {key: [of.mean, of.low, of.high] for key, of in known.items()}


def page_s(result: bp.RunResult, homes: str, first_s: float = 0.0, last_s: float = np.inf) -> float:
    """Mean time of the pages of these homes that began between two instants."""
    began = pl.col("start_s").is_between(first_s, last_s)
    found = result.transfers.filter(pl.col("flow").str.starts_with(f"pages-{homes}") & began)
    return float(np.nanmean(found["duration_s"].to_numpy()))


def alone(sets: Sets, has_plans: bool = True) -> bp.Scenario:
    """The scenario without its cases, whose constant rates need many carriers."""
    parts = bp.load(SCENARIO).to_dict()
    if not has_plans:
        del parts["medium"]["up"]["plan_over"]
    return bp.Scenario(parts, sets=sets)


def backup(carriers: int, seed: int) -> dict[str, float]:
    """Granted rates and times of pages while the backup runs, and their changes by it."""
    numbers: dict[str, float] = {}
    for suffix, sets in (("", {}), ("_without", NO_BACKUP)):
        changed = {"duration": f"{BACKUP_S} s", "medium.up.carriers": carriers, **sets}
        result = bp.run(alone(changed), seed=seed)
        up = result.terminals.filter(pl.col("medium") == "up")
        is_backup = pl.col("link") == "clear30.reverse"
        numbers |= {
            f"backup_bps{suffix}": float(up.filter(is_backup)["granted_bps"].sum()),
            f"others_bps{suffix}": float(up.filter(~is_backup)["granted_bps"].sum()),
            f"page_s{suffix}": page_s(result, "clear"),
        }
    for key in ("others_bps", "page_s"):
        numbers[f"{key}_change"] = numbers[key] - numbers[f"{key}_without"]
    return numbers


def shower(sets: Sets, has_plans: bool, seed: int) -> dict[str, float]:
    """Change by the shower of times of pages that began in it, and goodput of the home's download."""
    numbers: dict[str, float] = {}
    for suffix, change in (("", {}), ("_dry", NO_SHOWER)):
        result = bp.run(alone({**sets, **change}, has_plans), seed=seed)
        numbers |= {f"{homes}_s{suffix}": page_s(result, homes, *SHOWER_S) for homes in ("clear", "edge")}
        downloads = result.flows.filter(pl.col("flow") == "download")["goodput_bps"]
        numbers[f"download_bps{suffix}"] = float(downloads.sum())
    for homes in ("clear", "edge"):
        numbers[f"{homes}_change"] = numbers[f"{homes}_s"] - numbers[f"{homes}_s_dry"]
    return numbers


def acks(way: str, seed: int) -> dict[str, float]:
    """Bunches of the ACKs of a download, at the server: the link to the gateway delays them equally."""
    scenario = bp.load(SCENARIO, ACKS)
    scenario = scenario.cases.get(way, scenario)
    times: defaultdict[bytes, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        bp.run(scenario, seed=seed, pcap=Path(folder) / "{host}.pcapng")
        with (Path(folder) / "server.pcapng").open("rb") as file:
            for at, _, stored, length in packets(Stream("server", file)):
                if length < 100:
                    times[stored[12:16]].append(at)
        with (Path(folder) / f"{HOME}.pcapng").open("rb") as file:
            # The server opens the connection of the download, the only one of this home.
            address = next(packets(Stream(HOME, file)))[2][16:20]
    of_download = np.array(times[address])
    gaps = np.diff(of_download)
    between = gaps[gaps > BUNCH_S]
    return {
        "acks": len(of_download) / (len(between) + 1),
        "gap_median_s": float(np.median(between)),
        "gap_p95_s": float(np.quantile(between, 0.95)),
        "gap_max_s": float(between.max()),
    }


def main() -> None:
    """Measure and keep the numbers."""
    numbers: dict[str, Any] = {"backup": {}, "shower": {}, "acks": {}}

    def note(part: str, name: str, found: list[dict[str, float]]) -> None:
        numbers[part][name] = intervals(found)
        print(part, name, numbers[part][name], flush=True)

    for carriers in CARRIERS:
        note("backup", f"{carriers}", each(backup, carriers))
    for name, (sets, has_plans) in SHOWERS.items():
        note("shower", name, each(shower, sets, has_plans))
    for way in WAYS:
        note("acks", way, each(acks, way))
    kept.save("neighbours", numbers)


if __name__ == "__main__":
    kept.begin(__doc__)
    main()

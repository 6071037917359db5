"""Compares the ends of slow start: when each comes, lost packets, and times of files.

    python -m validation.slow_start                  # three minutes
    python -m tools.docs slow_start --pictures       # after that: the page and its figures

The numbers go into `validation/data/slow_start.json`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import bentpipe as bp
from validation import kept

SEEDS = range(1, 11)
SIZES = ("1 MB", "10 MB", "100 MB")
PACED = {"tcp.pacing": "window"}
ENDS: dict[str, dict[str, Any]] = {
    "standard": {"tcp.slow_start": "standard"},
    "standard, paced": {"tcp.slow_start": "standard", **PACED},
    "hystart": {"tcp.slow_start": "hystart"},
    "hystart++": {"tcp.slow_start": "hystart++"},
    "search": {"tcp.slow_start": "search"},
    "search, least": {"tcp.slow_start": {"kind": "search", "look_back": "least"}},
    "search, least, stay": {"tcp.slow_start": {"kind": "search", "look_back": "least", "leave": "stay"}},
    "rapid": {"tcp.slow_start": "rapid"},
    "rapid, paced": {"tcp.slow_start": "rapid", **PACED},
    "rapid, smaller": {"tcp.slow_start": {"kind": "rapid", "bound": "smaller"}},
}
"""Settings of each end by name."""
RAIN = {"points": [["0 s", "20 Mbit/s"], ["3 s", "12 Mbit/s"], ["60 s", "20 Mbit/s"]], "every": "300 s"}
"""A fade in rain begins in slow start."""


class Path(NamedTuple):
    """A scenario with one download."""

    scenario: str
    sets: dict[str, Any]
    flow: str
    rate_bps: float
    """Rate at the start of the run."""


PATHS = {
    "GEO, 20 Mbit/s, queue of 1 BDP": Path("geo", {}, "transfer", 20e6),
    "GEO, 20 Mbit/s, queue of 5 BDP, raised buffers": Path(
        "geo", {"link.sat.forward.queue": "5 bdp", "tcp.buffers": "raised"}, "transfer", 20e6
    ),
    "GEO, 12 instead of 20 Mbit/s in rain from 3 s on": Path("geo", {"link.sat.forward.rate": RAIN}, "transfer", 20e6),
    "LEO, 100 Mbit/s, a handover every 15 s": Path("leo", {}, "transfer", 100e6),
    "Starlink as measured": Path("starlink", {}, "download", 150e6),
}


class Bare(NamedTuple):
    """A path of the packet models, with one flow that never ends."""

    rate: str
    delay: str
    """One way."""
    duration_s: float


BARE = {"GEO": Bare("20 Mbit/s", "300 ms", 15), "LEO": Bare("100 Mbit/s", "20 ms", 2)}
QUEUES_BDP = (0.5, 10.0)
"""Queues between which the least one without a loss is searched, in bandwidth-delay products."""
STEP_BDP = 0.05
EXITS: dict[str, dict[str, Any]] = {
    "search": {},
    "search, least": {"look_back": "least"},
    "search, threshold": {"threshold": 0.35},
    "search, least, threshold": {"look_back": "least", "threshold": 0.35},
}
"""Settings of SEARCH whose least queue is searched. Modules of its authors had the threshold in 2025."""


def least_queue(path: Bare, search: dict[str, Any]) -> float:
    """The least queue in which slow start ends without a loss, in bandwidth-delay products."""
    low, high = (round(bdp / STEP_BDP) for bdp in QUEUES_BDP)
    while low < high:
        middle = (low + high) // 2
        if _is_lossless(path, search, middle * STEP_BDP):
            high = middle
        else:
            low = middle + 1
    return round(low * STEP_BDP, 2)


def _is_lossless(path: Bare, search: dict[str, Any], queue_bdp: float) -> bool:
    """Whether nothing is lost until slow start has ended and the queue is empty again."""
    link = {"from": "a", "to": "b", "rate": path.rate, "delay": path.delay, "forward": {"queue": f"{queue_bdp:g} bdp"}}
    tcp = {
        "like": "rfc",
        "cc": "reno",
        "recovery": "sack",
        "byte_counting": "abc",
        "initial_window": "10 segments",
        "ack": {"every": 2},
        "receive_buffer": "40 bdp",
        "send_buffer": "40 bdp",
        "slow_start": {"kind": "search", **search},
    }
    flow = {"from": "a", "to": "b"}
    network = {"duration": f"{path.duration_s} s", "tcp": tcp, "link": {"l": link}, "flow": {"f": flow}}
    return int(bp.run(bp.Scenario(network), seed=1).links["dropped_packets"].sum()) == 0


def measure(path: Path, end: dict[str, Any]) -> dict[str, list[float | None]]:
    """Figures of one end of slow start on one path, a value per seed."""
    scenario = bp.load(path.scenario, {**path.sets, "tcp.cc": "cubic", **end})
    found: dict[str, list[float | None]] = {}
    for size in SIZES:
        file = {f"flow.{path.flow}.app": {"kind": "file", "size": size}, "duration": "300 s"}
        runs = [
            bp.run(scenario.with_sets([*file.items(), ("record.series", ["events", "losses"])]), seed=seed)
            for seed in SEEDS
        ]
        found[size] = [run.flows["completion_s"][0] for run in runs]
    # The longest file sees the end on every path.
    ends = [_end(run, path) for run in runs]
    return found | {key: [end[key] for end in ends] for key in ("time", "window", "lost")}


def _end(run: bp.RunResult, path: Path) -> dict[str, float | None]:
    """Time from the first data, window and losses at the first end of slow start. Timeouts do not count."""
    events, (flow, *_) = run.events, run.flows.iter_rows(named=True)
    exits = events.filter(events["event"] == "slow_start_exit")
    if exits.is_empty():
        return {"time": None, "window": None, "lost": None}
    first_s = float(events.filter(events["event"] == "established")["time_s"][0])
    end = exits.row(0, named=True)
    # Data that were sent in slow start are on their way for another round trip, and wait in the queue.
    over_s = end["time_s"] + 2 * flow["rtt_p95_s"]
    return {
        "time": end["time_s"] - first_s,
        "window": end["value"] * 8 / path.rate_bps / flow["rtt_min_s"],
        "lost": float((run.series("losses")["time_s"] <= over_s).sum()),
    }


def main() -> None:
    """Measure all, and keep the numbers."""
    queues = {path: {name: least_queue(bare, end) for name, end in EXITS.items()} for path, bare in BARE.items()}
    found: dict[str, Any] = {"queues": queues, "paths": {}}
    for title, path in PATHS.items():
        found["paths"][title] = {name: measure(path, end) for name, end in ENDS.items()}
        kept.save("slow_start", found)


if __name__ == "__main__":
    kept.begin(__doc__)
    main()

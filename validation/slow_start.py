"""Compares the ends of slow start: when each comes, lost packets, and times of files.

    python -m validation.slow_start         # half a minute
    python -m tools.docs slow_start         # after that: the page

The numbers go into `validation/data/slow_start.json`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import bentpipe as bp
from bentpipe.statistics.estimates import estimate
from validation import kept

SEEDS = range(1, 11)
SIZES = ("1 MB", "10 MB", "100 MB")
CONFIDENCE = 0.95
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


def measure(path: Path, end: dict[str, Any]) -> dict[str, Any]:
    """Figures of one end of slow start on one path: means over the seeds with the half widths of their intervals."""
    scenario = bp.load(path.scenario, {**path.sets, "tcp.cc": "cubic", **end})
    found: dict[str, Any] = {}
    for size in SIZES:
        file = {f"flow.{path.flow}.app": {"kind": "file", "size": size}, "duration": "300 s"}
        runs = [
            bp.run(scenario.with_sets([*file.items(), ("record.series", ["events", "losses"])]), seed=seed)
            for seed in SEEDS
        ]
        found[size] = _mean([run.flows["completion_s"][0] for run in runs])
    # The longest file sees the end on every path.
    return found | _ends(runs, path)


def _ends(runs: list[bp.RunResult], path: Path) -> dict[str, Any]:
    """Time, window and losses at the first end of slow start. Timeouts do not count."""
    times, windows, lost = [], [], []
    for run in runs:
        for event in run.events.filter(run.events["event"] == "slow_start_exit").head(1).iter_rows(named=True):
            times.append(event["time_s"])
            windows.append(event["value"] * 8 / path.rate_bps / run.flows["rtt_min_s"][0])
            # Data that were sent in slow start are on their way for another round trip, and wait in the queue.
            over_s = event["time_s"] + 2 * run.flows["rtt_p95_s"][0]
            lost.append(int((run.series("losses")["time_s"] <= over_s).sum()))
    return {"time": _mean(times), "window": _mean(windows), "lost": _mean(lost)}


def _mean(values: list[float | None]) -> tuple[float | None, float | None]:
    found = estimate(np.array([np.nan if value is None else value for value in values]), CONFIDENCE)
    return found.mean, found.half_width


def main() -> None:
    """Measure all, and keep the numbers."""
    found: dict[str, Any] = {}
    for title, path in PATHS.items():
        found[title] = {name: measure(path, end) for name, end in ENDS.items()}
        kept.save("slow_start", found)


if __name__ == "__main__":
    kept.begin(__doc__)
    main()

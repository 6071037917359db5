"""Measures careful resume over GEO: files, web pages, and paths that are not what was saved.

    python -m validation.careful_resume         # two minutes
    python -m tools.docs careful_resume         # after that: the page

The numbers go into `validation/data/careful_resume.json`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import bentpipe as bp
from bentpipe.catalog import names
from bentpipe.errors import ScenarioError
from bentpipe.statistics.estimates import estimate
from validation import kept

SEEDS = range(1, 6)
SIZES = ("1 MB", "10 MB", "100 MB")
CONFIDENCE = 0.95
LEAST = {"kind": "search", "look_back": "least"}
GIVEN = {"kind": "on", "saved": "1 bdp"}
CASES: dict[str, dict[str, Any]] = {
    "off": {},
    "on": {"tcp.careful_resume": GIVEN},
    "off, search": {"tcp.slow_start": LEAST},
    "on, search": {"tcp.careful_resume": GIVEN, "tcp.slow_start": LEAST},
    "on, threshold of 1 bdp": {"tcp.careful_resume": GIVEN, "tcp.initial_ssthresh": "1 bdp"},
    "on, auto": {"tcp.careful_resume": GIVEN, "tcp.receive_buffer": "auto"},
}
"""Overrides by case. `standard` slow start, unless a case has another one."""

SAVED = {"0.25 bdp": 0.25, "1 bdp": 1, "4 bdp": 4, "12 bdp": 12}
"""Saved windows in bandwidth-delay products of the path as it is now."""

EACH = ("off", "1 bdp", "12 bdp")
"""Saved windows that each congestion control resumes from."""

BASE = {"tcp.slow_start": "standard", "tcp.receive_buffer": "8 bdp", "tcp.send_buffer": "8 bdp"}
QUEUES = ("1 bdp", "0.25 bdp")


def _mean(values: list[float | None]) -> tuple[float | None, float | None]:
    found = estimate(np.array([np.nan if value is None else value for value in values], dtype=float), CONFIDENCE)
    return found.mean, found.half_width


def measure_file(size: str, sets: dict[str, Any]) -> dict[str, Any]:
    """Time of a file over GEO, and lost packets."""
    file = {"flow.transfer.app": {"kind": "file", "size": size}, "duration": "120 s"}
    runs = [bp.run(bp.load("geo", {**BASE, **sets, **file}), seed=seed) for seed in SEEDS]
    lost: list[float | None] = [float(run.links["dropped_packets"].sum()) for run in runs]
    return {"time": _mean([run.flows["completion_s"][0] for run in runs]), "lost": _mean(lost)}


def measure_each(cc: str) -> dict[str, Any] | None:
    """Times of 10 MB with a congestion control; none: it has no window to resume."""
    found = {}
    for saved in EACH:
        resume = {} if saved == "off" else {"tcp.careful_resume": {"kind": "on", "saved": saved}}
        try:
            found[saved] = measure_file("10 MB", {"tcp.cc": cc, **resume})
        except ScenarioError:
            return None
    return found


def measure_pages(sets: dict[str, Any]) -> dict[str, Any]:
    """Median time of a web page over GEO, whose connections follow one another."""
    scenario = bp.load("web-on-geo", {"duration": "300 s", **BASE, **sets})
    runs = [bp.run(scenario, seed=seed) for seed in SEEDS]
    of_pages = [run.completions.filter(run.completions["flow"] == "pages") for run in runs]
    return {
        "median": _mean([rows["duration_p50_s"][0] for rows in of_pages]),
        "p95": _mean([rows["duration_p95_s"][0] for rows in of_pages]),
    }


def main() -> None:
    """Measure all, and keep the numbers."""
    found: dict[str, Any] = {"files": {}, "saved": {}, "pages": {}}
    for name, sets in CASES.items():
        found["files"][name] = {size: measure_file(size, sets) for size in SIZES}
    for queue in QUEUES:
        rows: dict[str, Any] = {"off": measure_file("10 MB", {"link.sat.forward.queue": queue})}
        for saved in SAVED:
            sets = {"link.sat.forward.queue": queue, "tcp.careful_resume": {"kind": "on", "saved": saved}}
            rows[saved] = measure_file("10 MB", sets)
        found["saved"][queue] = rows
    found["each"] = {cc: measure_each(cc) for cc in names("cc")}
    kept.save("careful_resume", found)
    found["pages"] = {
        "off": measure_pages({}),
        "on": measure_pages({"tcp.careful_resume": "on"}),
        "off, sharing": measure_pages({"tcp.sharing": "on"}),
        "on, sharing": measure_pages({"tcp.careful_resume": "on", "tcp.sharing": "on"}),
    }
    kept.save("careful_resume", found)


if __name__ == "__main__":
    kept.begin(__doc__)
    main()

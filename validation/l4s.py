"""Measures L4S beside classic senders on satellite links: rates, waiting times, and the start of Prague over GEO.

    python -m validation.l4s         # three minutes
    python -m tools.docs l4s         # after that: the page

The numbers go into `validation/data/l4s.json`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import bentpipe as bp
from bentpipe.statistics.estimates import estimate
from validation import kept

SEEDS = range(1, 11)
CONFIDENCE = 0.95
ACM = {"points": [["0 s", "20 Mbit/s"], ["40 s", "12 Mbit/s"], ["80 s", "20 Mbit/s"]], "every": "120 s"}
"""A fade in rain: the modulation, and with it the rate, falls for 40 s."""

PATHS: dict[str, tuple[str, dict[str, Any]]] = {
    "LEO, 100 Mbit/s, constant delay": ("leo", {"link.sat.delay": "14 ms", "link.sat.forward.error": "none"}),
    "LEO, 100 Mbit/s, a handover every 15 s": ("leo", {}),
    "GEO, 20 Mbit/s": ("geo", {}),
    "GEO, 20 to 12 Mbit/s in rain": ("geo", {"link.sat.forward.rate": ACM}),
}
"""Bundled scenarios with overrides, by name."""

GEO_QUEUE = {"kind": "dualpi2", "max_rtt": "600 ms"}
QUEUES: dict[str, Any] = {
    "drop-tail": "1 bdp",
    "codel": "codel",
    "dualpi2": {"kind": "dualpi2"},
    "dualpi2, GEO": GEO_QUEUE,
}
"""Queues of the satellite link by name. `codel` marks."""

PAIRS = {"prague + cubic": ("prague", "cubic"), "cubic + cubic": ("cubic", "cubic")}

STARTS: dict[str, Any] = {
    "prague": "prague",
    "alpha_start = 0.25": {"kind": "prague", "alpha_start": 0.25},
    "alpha_start = 0": {"kind": "prague", "alpha_start": 0},
    'growth = "faster"': {"kind": "prague", "growth": "faster"},
    'alpha_start = 0, growth = "faster"': {"kind": "prague", "alpha_start": 0, "growth": "faster"},
    "cubic": "cubic",
}
"""Congestion controls that start alone over GEO."""


TAILS: dict[str, dict[str, Any]] = {
    "as above": {},
    "Prague without slow start": {"flow.transfer.tcp.initial_ssthresh": "40 segments"},
    "Prague starts 40 s later": {"flow.transfer.start": "40 s"},
    "CUBIC starts 40 s later": {"flow.second.start": "40 s"},
    "ten minutes": {"duration": "600 s"},
    "L4S always first": {"link.sat.forward.queue": {"classic_share": 0.0}},
}
"""Changes that show what one packet of L4S in a hundred waits for over GEO, by name."""


def _mean(values: list[float | None]) -> tuple[float | None, float | None]:
    numbers = np.array([np.nan if value is None else value for value in values], dtype=float)
    if np.isnan(numbers).all():
        return None, None
    found = estimate(numbers, CONFIDENCE)
    return found.mean, found.half_width


def measure_pair(path: str, queue: str, pair: str, change: dict[str, Any] | None = None) -> dict[str, Any]:
    """Rates and waiting times of two flows on one link. `change` overrides other keys."""
    name, sets = PATHS[path]
    ends = {"from": "server", "to": "terminal", "app": "greedy"}
    kind = {"kind": "codel", "ecn": True} if queue == "codel" else QUEUES[queue]
    first, second = PAIRS[pair]
    changes = {
        **sets,
        "duration": "120 s",
        "link.sat.forward.queue": kind,
        "flow.transfer.tcp.cc": first,
        "flow.second": {**ends, "start": "1 s", "tcp": {"cc": second, "ecn": "classic"}},
    }
    if first == "cubic":
        changes["flow.transfer.tcp.ecn"] = "classic"
    for key, value in (change or {}).items():
        changes[key] = {**changes[key], **value} if isinstance(value, dict) else value
    runs = [bp.run(bp.load(name, changes), seed=seed) for seed in SEEDS]
    links = [run.links.filter(run.links["link"] == "sat.forward").row(0, named=True) for run in runs]
    rates = [dict(zip(run.flows["flow"], run.flows["goodput_bps"], strict=True)) for run in runs]
    return {
        "first": _mean([rate["transfer"] / 1e6 for rate in rates]),
        "second": _mean([rate["second"] / 1e6 for rate in rates]),
        "wait": _mean([1e3 * link["queue_mean_s"] for link in links]),
        "wait of l4s": _mean([_ms(link["l4s_queue_mean_s"]) for link in links]),
        "p99 of l4s": _mean([_ms(link["l4s_queue_p99_s"]) for link in links]),
        "wait of classic": _mean([_ms(link["classic_queue_mean_s"]) for link in links]),
    }


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None or np.isnan(seconds) else 1e3 * seconds


def measure_start(cc: str) -> dict[str, Any]:
    """Rates of a single flow over GEO in the first five minutes, Mbit/s, and its files."""
    sets = {"duration": "300 s", "link.sat.forward.queue": GEO_QUEUE, "tcp.cc": STARTS[cc], "tcp.buffers": "raised"}
    if cc == "cubic":
        sets["tcp.ecn"] = "classic"
    run = bp.run(bp.load("geo", {**sets, "record.series": ["goodput_bps"]}), seed=1)
    goodput = run.series("goodput_bps", flow="transfer")
    times, rates = goodput["time_s"].to_numpy(), goodput["goodput_bps"].to_numpy() / 1e6
    spans = {"5 to 30 s": (5, 30), "30 to 100 s": (30, 100), "100 to 300 s": (100, 300)}
    found: dict[str, Any] = {
        name: float(rates[(times > begin) & (times <= end)].mean()) for name, (begin, end) in spans.items()
    }
    link = run.links.filter(run.links["link"] == "sat.forward").row(0, named=True)
    return found | {"wait": 1e3 * link["queue_mean_s"]}


def main() -> None:
    """Measure all, and keep the numbers."""
    found: dict[str, Any] = {"pairs": {}, "tails": {}, "starts": {}}
    for path in PATHS:
        queues = [queue for queue in QUEUES if "GEO" in path or "GEO" not in queue]
        found["pairs"][path] = {queue: {pair: measure_pair(path, queue, pair) for pair in PAIRS} for queue in queues}
        kept.save("l4s", found)
    geo = "GEO, 20 Mbit/s"
    found["tails"] = {
        name: {queue: measure_pair(geo, queue, "prague + cubic", change) for queue in ("dualpi2", "dualpi2, GEO")}
        for name, change in TAILS.items()
    }
    found["starts"] = {cc: measure_start(cc) for cc in STARTS}
    kept.save("l4s", found)


if __name__ == "__main__":
    kept.begin(__doc__)
    main()

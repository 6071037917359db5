"""Runs the test list of draft-huitema-ccwg-c4-test with every congestion control, and the order over Starlink.

    python -m validation.c4         # two minutes
    python -m tools.docs c4         # after that: the page

The numbers go into `validation/data/c4.json`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import bentpipe as bp
from bentpipe.catalog import names
from bentpipe.errors import ScenarioError
from validation import kept

SEEDS = range(1, 4)
STARLINK = ("starlink", "victoria-seattle")
"""Bundled scenarios with a download over Starlink: from measured slots, and from orbits."""
STARLINK_SEEDS = range(1, 6)


class Case(NamedTuple):
    """A path with a transfer, and perhaps a second one beside it."""

    bound_s: float
    """The bound of the draft, which was set for C4."""
    rate: Any
    rtt: Any
    queue: str
    size: str
    beside: tuple[str, str] | None = None
    """Congestion control and size of the other transfer; `same` is the tested one."""
    delay_s: float = 0
    """Start of the transfer after the other one; below 0: before it."""
    jitter_ms: float = 0
    is_seeded: bool = False
    """Whether the window of an earlier connection is known (RFC 9959)."""


def _steps(*points: tuple[str, str], every: str | None = None) -> dict[str, Any]:
    steps: dict[str, Any] = {"points": [list(point) for point in points]}
    return steps if every is None else {**steps, "every": every}


RATE_UP = _steps(("0 s", "5 Mbit/s"), ("2.5 s", "10 Mbit/s"))
DROP = _steps(("0 s", "10 Mbit/s"), ("1.5 s", "5 Mbit/s"), ("3.5 s", "10 Mbit/s"))
HOLE = _steps(("0 s", "25 Mbit/s"), ("2 s", "0 bit/s"), ("4 s", "25 Mbit/s"))
FADE = _steps(("0 s", "20 Mbit/s"), ("1 s", "2 Mbit/s"), ("3 s", "20 Mbit/s"))
SUSPENDED = _steps(("0 s", "20 Mbit/s"), ("1.8 s", "0 bit/s"), every="2 s")
SEED = {"kind": "on", "saved": "18.75 MB", "saved_rtt": "600.123 ms"}
LONGER = _steps(("0 s", "15 ms"), ("1 s", "100 ms"))

CASES = {
    "20 Mbit/s": Case(5.0, "20 Mbit/s", "40 ms", "200 kB", "10 MB"),
    "200 Mbit/s": Case(1.25, "200 Mbit/s", "20 ms", "1 MB", "20 MB"),
    "satellite": Case(7.4, "250 Mbit/s", "300 ms", "18.75 MB", "100 MB"),
    "satellite, seeded": Case(7.4, "250 Mbit/s", "300 ms", "18.75 MB", "100 MB", is_seeded=True),
    "low and up": Case(7.9, RATE_UP, "50 ms", "100 kB", "7 MB"),
    "drop and back": Case(8.15, DROP, "50 ms", "100 kB", "7 MB"),
    "black hole": Case(6.1, HOLE, "35 ms", "250 kB", "10 MB"),
    "short to long": Case(22, "10 Mbit/s", LONGER, "250 kB", "20 MB"),
    "bad Wi-Fi": Case(4.3, "10 Mbit/s", "1 ms", "312.5 kB", "4 MB", jitter_ms=7),
    "Wi-Fi fade": Case(6.2, FADE, "40 ms", "200 kB", "10 MB", jitter_ms=12),
    "Wi-Fi suspension": Case(5.4, SUSPENDED, "5 ms", "200 kB", "10 MB"),
    "two short": Case(6.7, "20 Mbit/s", "40 ms", "200 kB", "5 MB", ("same", "10 MB")),
    "short beside CUBIC": Case(6.7, "20 Mbit/s", "40 ms", "200 kB", "5 MB", ("cubic", "10 MB")),
    "short beside BBR": Case(6.7, "20 Mbit/s", "40 ms", "200 kB", "5 MB", ("bbr3", "10 MB")),
    "background first": Case(8.15, "20 Mbit/s", "40 ms", "200 kB", "5 MB", ("same", "10 MB"), 0.5),
    "two long": Case(22.8, "20 Mbit/s", "40 ms", "200 kB", "20 MB", ("same", "30 MB")),
    "long beside CUBIC": Case(22.2, "20 Mbit/s", "40 ms", "200 kB", "20 MB", ("cubic", "30 MB")),
    "long beside BBR": Case(23, "20 Mbit/s", "40 ms", "200 kB", "20 MB", ("bbr3", "30 MB")),
    "background last": Case(4.1, "50 Mbit/s", "15 ms", "500 kB", "10 MB", ("same", "20 MB"), -0.5),
    "two long, one later": Case(22.2, "10 Mbit/s", "35 ms", "100 kB", "10 MB", ("same", "15 MB"), -1),
    "long, CUBIC later": Case(22, "10 Mbit/s", "35 ms", "100 kB", "10 MB", ("cubic", "15 MB"), -1),
    "long, BBR later": Case(23, "10 Mbit/s", "35 ms", "100 kB", "10 MB", ("bbr3", "15 MB"), -1),
    "bad Wi-Fi, two": Case(13, "10 Mbit/s", "1 ms", "312.5 kB", "4 MB", ("same", "10 MB"), 1, jitter_ms=7),
    "bad Wi-Fi, CUBIC first": Case(11, "10 Mbit/s", "1 ms", "312.5 kB", "4 MB", ("cubic", "10 MB"), 1, jitter_ms=7),
    "bad Wi-Fi, BBR first": Case(13.5, "10 Mbit/s", "1 ms", "312.5 kB", "4 MB", ("bbr3", "10 MB"), 1, jitter_ms=7),
}
"""The cases of the draft. The queue is in bytes of the largest rate; the delay is one way."""

ANRW = (
    "bbr1",
    "bbr2",
    "bbr3",
    "illinois",
    "cubic",
    "reno",
    "westwood-plus",
    "vegas",
    "hybla",
    "htcp",
    "bic",
    "yeah",
    "veno",
)
"""Those of the published order over Starlink that are here, and BBR v3."""


def scenario(case: Case, cc: str) -> dict[str, Any]:
    """The network of a case."""
    forward: dict[str, Any] = {"queue": case.queue}
    if case.jitter_ms:
        forward["jitter"] = {"delay": {"kind": "exponential", "mean": f"{case.jitter_ms} ms"}, "every": "1 ms"}
    flow = {"from": "a", "to": "b", "app": {"kind": "file", "size": case.size}, "tcp": {"cc": cc}}
    flows: dict[str, Any] = {"main": {**flow, "start": f"{max(case.delay_s, 0)} s"}}
    if case.beside is not None:
        other, size = case.beside
        beside = {"kind": "file", "size": size}
        tcp = {"cc": cc if other == "same" else other}
        flows["beside"] = {**flow, "app": beside, "tcp": tcp, "start": f"{max(-case.delay_s, 0)} s"}
    hosts: dict[str, Any] = {"buffers": "raised"}
    if case.is_seeded:
        # A buffer that grows with the path would undo the jump.
        hosts = {"careful_resume": SEED, "receive_buffer": "8 bdp", "send_buffer": "8 bdp"}
    link = {"from": "a", "to": "b", "rate": case.rate, "delay": case.rtt, "forward": forward}
    return {"duration": "60 s", "tcp": hosts, "link": {"l": link}, "flow": flows}


def measure(case: Case, cc: str) -> float | None:
    """The longest time of the seeds, seconds; none: refused, or a transfer did not end in a minute."""
    try:
        network = bp.Scenario(scenario(case, cc))
    except ScenarioError:
        # A model of the path has no window to resume.
        return None
    runs = [bp.run(network, seed=seed) for seed in SEEDS]
    times = [dict(zip(run.flows["flow"], run.flows["completion_s"], strict=True))["main"] for run in runs]
    return None if None in times else max(times)


def measure_starlink(cc: str, sets: dict[str, Any]) -> dict[str, float]:
    """Mean goodput of a minute over each Starlink scenario, Mbit/s."""
    found = {}
    for name in STARLINK:
        loaded = bp.load(name, {"duration": "60 s", "tcp.cc": cc, **sets})
        goodputs = [float(bp.run(loaded, seed=seed).flows["goodput_bps"][0]) for seed in STARLINK_SEEDS]
        found[name] = sum(goodputs) / 1e6 / len(goodputs)
    return found


def main() -> None:
    """Measure all, and keep the numbers."""
    found: dict[str, Any] = {"cases": {}, "starlink": {}}
    found["starlink"] = {cc: measure_starlink(cc, {}) for cc in ANRW}
    found["starlink"]["cubic, standard"] = measure_starlink("cubic", {"tcp.slow_start": "standard"})
    kept.save("c4", found)
    for cc in names("cc"):
        found["cases"][cc] = {name: measure(case, cc) for name, case in CASES.items()}
        kept.save("c4", found)


if __name__ == "__main__":
    kept.begin(__doc__)
    main()

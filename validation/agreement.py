"""Compares the congestion controls with ns-2 and with closed forms, and measures how two flows of each share.

    python -m validation.agreement [s1] [response] [sharing]     # these parts; all of them without names
    python -m tools.docs agreement                               # after that: the pages

The numbers go into `validation/data/agreement.json`; parts that do not run keep theirs. A module in ns-2's results
without a congestion control in the registry has an empty place in the table.
"""

from __future__ import annotations

import argparse
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bentpipe as bp
from validation import kept, ns2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

HERE = Path(__file__).resolve().parent

LOSS = ("0", "1e-5", "1e-4", "1e-3", "1e-2", "3e-2", "1e-1", "3e-1")
SEEDS = 5
LARGE = 0.05
"""Least difference of utilisation that needs a cause."""

MODULES = {
    "westwood": "westwood-plus",
    "cubic": "cubic",
    "highspeed": "highspeed",
    "scalable": "scalable",
    "reno": "sack",
    "vegas": "vegas",
    "illinois": "illinois",
    "htcp": "htcp",
    "bic": "bic",
    "veno": "veno",
    "yeah": "yeah",
    "compound": "compound",
}
"""Modules of ns-2's agent `linux`, and our congestion controls with the same law."""

# Behaviour of the kernel of those modules for any congestion control. Each one is a setting.
WHOLE = {"tcp.slow_start_at_ssthresh": True, "tcp.ssthresh_rounding": "window"}
KERNEL = {**WHOLE, "tcp.recovery": "rack", "tcp.second_reduction": "off", "tcp.rto.min": "360 ms"}


@dataclass(frozen=True)
class Cause:
    """Cause of a difference from ns-2's module."""

    module: str
    text: str
    changes: dict[str, Any]
    """Overrides that make ours equal to theirs."""
    cc: dict[str, Any] = field(default_factory=dict)
    """The overrides that are settings of the congestion control."""


CAUSES = (
    Cause(
        "reno",
        "The law is the same. This is the kernel around the module, not the sender.",
        KERNEL,
    ),
    Cause(
        "westwood",
        "The module is Westwood+, ours `westwood-plus`, which takes its window from the estimate at the end of a "
        "recovery, as Linux does today. Timeouts and recoveries lower the estimate meanwhile. With the window taken at "
        "the loss (`cut`) every row is within 0.05.",
        {},
        {"cut": "at-loss"},
    ),
    Cause(
        "highspeed",
        "Below 38 segments it is Reno, so this is the kernel, not the sender: `reno` differs in the same way.",
        KERNEL,
    ),
    Cause(
        "compound",
        "Below 38 segments it is Reno, so this is the kernel, not the sender: `reno` differs in the same way.",
        KERNEL,
    ),
    Cause(
        "scalable",
        "The module has no low window. It adds a segment for min(cwnd, 50) ACKs, which is Reno's growth up to 50 "
        "segments, and takes an eighth of any window. Kelly's algorithm halves windows of up to 16 segments. All "
        "windows of this path are about as small.",
        {},
        {"increase": 0.02, "low_window": 50, "halve_low": False},
    ),
    Cause(
        "vegas",
        "The module adds a segment every other round trip. Our explanation: it compares the window that it wants with "
        "the one at the start of the round before, which the last step had not changed yet. With this and the kernel's "
        "whole segments every row is within 0.05.",
        WHOLE,
        {"adjust_every": 2},
    ),
    Cause(
        "illinois",
        "On an almost empty path, where the paper adds ten segments per round trip and gives up an eighth, ns-2's adds "
        "one at most and halves: its module takes the delay for long. At a loss rate of 0.3 it is ns-2's Reno to the "
        "last digit, at 0.01 slower than it. ns-3's Illinois has 0.881 and 0.550 where ns-2's has 0.600 and 0.320. "
        "The results do not show which of its delays is wrong.",
        {},
        {"alpha_max": 1.0, "beta_min": 0.5},
    ),
    Cause(
        "bic",
        "The module divides the ACKs that a segment costs by an estimate of segments per ACK. It begins with two and, "
        "in whole numbers, does not fall below 31/16, so that steps are nearly double with an ACK per segment. The "
        "windows of this loss rate are about as large as its low window of 14, below which a loss takes half, above a "
        "fifth: a little more growth decides which.",
        {},
        {"step_factor": 1.9375},
    ),
)


def registered() -> list[str]:
    """Names of all congestion controls."""
    return [choice["name"] for choice in bp.choices()["cc"]]


# --- S1 ---------------------------------------------------------------------------------------------------------------


def utilisations(changes: dict[str, Any], sender: str, cc: dict[str, Any], rates: Iterable[str]) -> list[float]:
    """Utilisation of `s1` at each loss rate, as a mean of the seeds."""
    scenario = bp.load(HERE / "ns2" / "s1.toml").replace("tcp.cc", {"kind": sender, **cc} if cc else sender)
    for key, value in changes.items():
        scenario = scenario.replace(key, value)
    vary = {"link.isl1.forward.error.rate": [float(rate) for rate in rates]}
    sweep = bp.sweep(scenario, vary, replications=SEEDS)
    rate_bps = 10e6
    return [
        round(float(sweep.runs.filter(sweep.runs["point"] == point)["goodput_bps"].mean()) / rate_bps, 4)  # type: ignore[arg-type]
        for point in range(len(vary["link.isl1.forward.error.rate"]))
    ]


def s1() -> dict[str, Any]:
    """Utilisation of ours and ns-2's, of ours with `CAUSES`, and of our Reno like that kernel."""
    theirs: dict[str, list[float]] = {name: [math.nan] * len(LOSS) for name in ("own sack", *MODULES)}
    for row in ns2.table("s1_ns2.csv"):
        module = "own sack" if row["agent"] == "sack" else row["agent"].removeprefix("linux:")
        is_other = module == row["agent"] or module not in theirs
        if not is_other and (row["n"], row["unit"], row["lossack"], row["psz"]) == ("10", "pkt", "0", "1024"):
            theirs[module][LOSS.index(row["p"])] = round(float(row["util_goodput_payload_mean"]), 4)
    known = registered()
    ours = {module: utilisations({}, sender, {}, LOSS) for module, sender in MODULES.items() if sender in known}
    causes = {
        cause.module: utilisations(cause.changes, MODULES[cause.module], cause.cc, LOSS)
        for cause in CAUSES
        if cause.module in ours
    }
    kernel = utilisations(KERNEL, "sack", {}, LOSS)
    return {"ns2": theirs, "ours": ours, "causes": causes, "kernel": kernel}


def large(found: dict[str, Any]) -> list[tuple[str, int]]:
    """Modules and places in `LOSS` at which the two differ by more than `LARGE`."""
    return [
        (module, at)
        for module, values in found["ours"].items()
        for at, value in enumerate(values)
        if abs(value - found["ns2"][module][at]) > LARGE
    ]


# --- Response functions -----------------------------------------------------------------------------------------------

RTT_S = 0.1


@dataclass(frozen=True)
class Law:
    """A response function: mean window in segments if one of 1/p packets is lost, at a round trip of 100 ms."""

    name: str
    formula: str
    source: str
    window: Callable[[float], float]
    cc: Any
    peak: float
    """Window at the loss over the mean."""
    rates: tuple[str, ...] = ("1e-3", "1e-4", "1e-5")


LAWS = (
    Law("Reno", "√(3/2p)", "Mathis 1997", lambda p: math.sqrt(1.5 / p), "sack", 4 / 3),
    Law(
        "CUBIC",
        "1.054 (RTT / p)^0.75",
        "RFC 9438 §5.1",
        lambda p: (0.4 * 3.7 / (4 * 0.3)) ** 0.25 * (RTT_S / p) ** 0.75,
        # The cycle of the formula neither attracts nor repels: fast convergence would take it to a smaller one.
        {"kind": "cubic", "fast_convergence": False},
        1 / (1 - 0.3 / 4),
        ("1e-4", "1e-5"),
    ),
    Law("HighSpeed", "0.12 / p^0.835", "RFC 3649 §5", lambda p: 0.12 / p**0.835, "highspeed", 4 / 3),
    Law(
        "Scalable",
        "1 / p (1 + ln(8/7) / 0.01)",
        "Kelly 2003, with the round trip that recovery takes",
        lambda p: 1 / (p * (1 + math.log(8 / 7) / 0.01)),
        "scalable",
        1.07,
    ),
)


def response(law: Law, rate: str, cycles: int = 40) -> float:
    """Mean window of the second half of a run, segments."""
    p = float(rate)
    expected = law.window(p)
    peak = expected * law.peak
    duration_s = max(60.0, cycles / p / expected * RTT_S)
    # The first loss comes when slow start has ended at the peak, the others periodically.
    losses = [int(3 * peak + k / p) + 1 for k in range(2 * cycles + int(2 * duration_s * expected * p / RTT_S))]
    scenario = bp.load(HERE / "response.toml")
    for key, value in {
        "tcp.cc": law.cc,
        "tcp.initial_ssthresh": f"{int(peak) * 1000} B",
        "duration": f"{duration_s:.0f} s",
        "link.long.forward.error": {"kind": "arrivals", "list": losses},
    }.items():
        scenario = scenario.replace(key, value)
    rates = bp.run(scenario).series("goodput_bps")["goodput_bps"].to_numpy()
    return float(rates[len(rates) // 2 :].mean()) * RTT_S / 8000


def growth(cc: str, rtt_ms: int) -> float:
    """Growth of the rate in a second without losses, segments per second."""
    # The paper's threshold: ρ times that of the reference path, 32 segments.
    segments = 32 * rtt_ms // 25 if cc == "hybla" else 32
    scenario = bp.load(HERE / "response.toml").replace("tcp.cc", cc).replace("duration", "30 s")
    scenario = scenario.replace("link.long.delay", f"{rtt_ms / 2} ms")
    scenario = scenario.replace("tcp.initial_ssthresh", f"{segments * 1000} B")
    rates = bp.run(scenario).series("goodput_bps")["goodput_bps"].to_numpy()
    return float(rates[-1] - rates[-11]) / 10 / 8000


RTTS_MS = (25, 100, 500)


def responses() -> dict[str, Any]:
    """Response functions, and the growth of Hybla and Reno."""
    return {
        "windows": {law.name: {rate: round(response(law, rate), 1) for rate in law.rates} for law in LAWS},
        "growth": {cc: [round(growth(cc, rtt_ms), 1) for rtt_ms in RTTS_MS] for cc in ("hybla", "sack")},
    }


# --- Sharing ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Route:
    """A path on which two flows share."""

    name: str
    delay: str
    rtt_ms: int
    window_s: int
    """Time of the comparison: about a hundred round trips, so that a single loss does not count."""
    duration_s: int
    """Start of the comparison, when both flows have started."""


ROUTES = (Route("LEO", "24 ms", 50, 10, 300), Route("GEO", "274 ms", 550, 60, 1200))
LATER_S = 20
FAIR = 0.95
SHARING_SEEDS = 3


@dataclass(frozen=True)
class Shared:
    """Sharing of two flows in one run."""

    settles_s: int | None
    """Time after the second flow's start until Jain's index stays at 0.95 or more, s; None if it does not."""
    fair: float
    """Share of the windows of the second half with such an index."""
    late: float
    """Jain's index of the data delivered in the second half."""


def jain(first: float, second: float) -> float:
    """Jain's index of two flows.

    >>> jain(1.0, 1.0), jain(1.0, 0.0)
    (1.0, 0.5)
    """
    squares = 2 * (first**2 + second**2)
    return (first + second) ** 2 / squares if squares else 1.0


def settled(index: list[float]) -> int | None:
    """Number of windows before all later ones are fair; None if fewer than a quarter are left.

    >>> settled([0.5, 0.96, 0.9, 0.97, 0.99]), settled([0.99, 0.99, 0.99, 0.99, 0.9])
    (3, None)
    """
    first = max((at + 1 for at, value in enumerate(index) if value < FAIR), default=0)
    return first if len(index) - first >= len(index) / 4 else None


def share(sender: str, route: Route, later_s: int, seed: int) -> Shared:
    """One run."""
    scenario = bp.load(HERE / "sharing.toml")
    start = {"uniform": [f"{later_s * 1000} ms", f"{later_s * 1000 + 500} ms"]}
    for key, value in {
        "tcp.cc": sender,
        "link.sat.delay": route.delay,
        "flow.second.start": start,
        "duration": f"{route.duration_s + later_s} s",
    }.items():
        scenario = scenario.replace(key, value)
    run = bp.run(scenario, seed=seed)
    samples = [run.series("goodput_bps", flow=flow)["goodput_bps"].to_list() for flow in ("first", "second")]
    # Windows from the second flow's start on.
    step = round(float(run.series("goodput_bps")["time_s"][0]))
    rates = [sample[later_s // step :] for sample in samples]
    each = route.window_s // step
    first, second = ([sum(rate[at : at + each]) for at in range(0, len(rate) - each + 1, each)] for rate in rates)
    index = [jain(*pair) for pair in zip(first, second, strict=True)]
    found, half = settled(index), len(index) // 2
    late = index[half:]
    return Shared(
        None if found is None else found * route.window_s,
        sum(value >= FAIR for value in late) / len(late),
        jain(sum(first[half:]), sum(second[half:])),
    )


def case(route: Route, later_s: int) -> str:
    """Name of the case in the numbers."""
    return f"{route.name}, {later_s} s"


def sharing(senders: Iterable[str]) -> dict[str, Any]:
    """Values of the seeds, by congestion control and case."""
    cases = [(route, later_s) for route in ROUTES for later_s in (0, LATER_S)]
    jobs = [(sender, *one, seed + 1) for sender in senders for one in cases for seed in range(SHARING_SEEDS)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda job: share(*job), jobs))
    table: dict[str, dict[str, Any]] = {}
    for (sender, route, later_s, _), shared in zip(jobs, found, strict=True):
        place = table.setdefault(sender, {}).setdefault(case(route, later_s), {"settles_s": [], "fair": [], "late": []})
        place["settles_s"].append(shared.settles_s)
        place["fair"].append(round(shared.fair, 2))
        place["late"].append(round(shared.late, 3))
    return table


def main() -> None:
    """Run the requested parts and keep the numbers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=["s1", "response", "sharing", []], default=[])
    parser.add_argument("--cc", nargs="*", help="for `sharing`: these senders only; the others keep their numbers")
    arguments = parser.parse_args()
    parts = arguments.parts or ["s1", "response", "sharing"]
    found = kept.load("agreement")
    if "s1" in parts:
        found["s1"] = s1()
    if "response" in parts:
        found["response"] = responses()
    if "sharing" in parts:
        known = registered()
        fresh = sharing(arguments.cc or known)
        old = found.get("sharing", {}) if arguments.cc else {}
        found["sharing"] = {sender: {**old, **fresh}[sender] for sender in known if sender in {**old, **fresh}}
    kept.save("agreement", found)


if __name__ == "__main__":
    main()

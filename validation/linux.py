"""Measures the presets `linux-6` and `linux-6-paced` on paths where a Linux 6 kernel was measured.

    python -m validation.linux        # a minute
    python -m tools.docs linux        # after that: the page

The kernel's values were measured once, through an emulator that applied the same path (20 Mbit/s, drop-tail) to real
packets. If two runs were made, both are given. The simulated half is measured here, into `validation/data/linux.json`.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import bentpipe as bp
from validation import kept

if TYPE_CHECKING:
    from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
STEP_S = 0.02
"""Interval of the samples of the kernel's window."""
SMSS_BYTES = 1448
COLUMNS = ("goodput", "mean cwnd", "max cwnd", "SRTT p50", "SRTT p95", "drops")
GEO = {"link.path.delay": "300 ms", "link.path.forward.queue": "1000 packets", "duration": "40 s"}


@dataclass(frozen=True)
class Case:
    """A flow with the kernel's values: texts in the order of `COLUMNS`, empty if there is no value."""

    name: str
    cc: str
    kernel: tuple[str, ...]
    sets: dict[str, str] = field(default_factory=dict)
    loss: float = 0
    seeds: int = 1


CASES = (
    Case("reno, 50 ms", "reno", ("19.1 to 19.15", "130", "319 to 336", "79", "98.5 to 99.5", "173 to 176")),
    Case("cubic, 50 ms", "cubic", ("19.15", "143.8", "175, 176", "85.3, 85.8", "99.6", "14, 15")),
    Case(
        "cubic, paced, 50 ms",
        "cubic",
        ("19.1", "146.8", "250", "88", "99.6", "93 to 98"),
        {"tcp.like": "linux-6-paced"},
    ),
    Case("bbr, 50 ms", "bbr1", ("18.9", "180 to 190", "254 to 262", "54.2, 55.4", "65.5", "175 to 178")),
    Case("reno, GEO", "reno", ("17.3", "1075", "4004", "615", "1201", "2004"), GEO),
    Case("cubic, GEO", "cubic", ("17.4", "1519", "2101", "1001", "1201", "145"), GEO),
    Case("bbr, GEO", "bbr1", ("16.1", "1686", "2902", "602", "1200", "1802"), GEO),
    Case("reno, 0.1 % lost", "reno", ("10.1", "", "", "51.6", "", ""), loss=1e-3, seeds=12),
    Case("cubic, 0.1 % lost", "cubic", ("10.6", "", "", "", "", ""), loss=1e-3, seeds=12),
    Case("reno, 0.5 % lost", "reno", ("4.24", "", "", "53", "", ""), loss=5e-3, seeds=12),
    Case("cubic, 0.5 % lost", "cubic", ("4.42", "", "", "", "", ""), loss=5e-3, seeds=12),
    Case("reno, 1 % lost", "reno", ("2.80 ± 0.03", "13.0", "", "52.4", "", ""), loss=1e-2, seeds=40),
    Case("cubic, 1 % lost", "cubic", ("2.67 ± 0.09", "12.4", "", "53", "", ""), loss=1e-2, seeds=40),
)


def held(result: bp.RunResult, series: str, end_s: float) -> NDArray[np.float64]:
    """The value of a series in force at each step of the clock."""
    table = result.series(series, flow="bulk")
    times, values = table["time_s"].to_numpy(), table[series].to_numpy()
    steps = np.arange(times[0], end_s, STEP_S)
    return np.asarray(values[np.searchsorted(times, steps, side="right") - 1], dtype=np.float64)


def measure(case: Case, seed: int) -> list[float]:
    """One run, in the order and the units of `COLUMNS`."""
    sets = {"tcp.cc": case.cc, "link.path.forward.error.rate": repr(case.loss), **case.sets}
    result = bp.run(bp.load(HERE / "linux.toml", sets), seed=seed)
    end_s = float(sets.get("duration", "20 s").removesuffix(" s"))
    cwnd, srtt = held(result, "cwnd_bytes", end_s) / SMSS_BYTES, held(result, "srtt_s", end_s) * 1e3
    drops = result.links.filter(result.links["link"] == "path.forward")["dropped_packets"][0]
    goodput = float(result.flows["delivered_bytes"][0]) * 8 / end_s / 1e6
    return [goodput, cwnd.mean(), cwnd.max(), *np.quantile(srtt, (0.5, 0.95)), float(drops)]


def row(case: Case) -> list[str]:
    """The simulated half of a row: means, with their standard errors where there are several runs."""
    runs = [measure(case, seed + 1) for seed in range(case.seeds)]
    digits = (2, 1, 0, 1, 1, 0)
    texts = []
    for values, places in zip(zip(*runs, strict=True), digits, strict=True):
        text = f"{statistics.fmean(values):.{places}f}"
        if len(values) > 1:
            text += f" ± {statistics.stdev(values) / math.sqrt(len(values)):.{max(places, 1)}f}"
        texts.append(text)
    return texts


def main() -> None:
    """Measure, print and keep the simulated half."""
    found = {}
    for case in CASES:
        found[case.name] = row(case)
        print(case.name, *found[case.name], sep=" | ", flush=True)
    kept.save("linux", found)


if __name__ == "__main__":
    kept.begin(__doc__)
    main()

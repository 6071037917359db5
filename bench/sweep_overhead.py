"""Measures the cost of a sweep besides the simulator: 10,000 runs of 1 ms each, from the first to the files.

    python -m bench.sweep_overhead [RUNS]

It prints two shares of the time of all cores: the time of threads in the simulator (making, advancing and finishing
runs), and the time of the same runs alone. The second is less if cores share caches and clock.
On a machine that does other work, too, look at the share of this process's own time.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any, ClassVar

import bentpipe as bp
from bentpipe import _core
from bentpipe.experiment.execution.workers import cores
from bentpipe.experiment.single.simulate import advance
from bentpipe.scenario.scenario import make_scenario
from validation import kept

SCENARIO = {
    "title": "A short run",
    "duration": "30 s",
    "link": {
        "up": {
            "from": "host",
            "to": "satellite",
            "rate": "5 Mbit/s",
            "delay": "20 ms",
            "queue": "20 packets",
            "error": {"kind": "packet", "rate": "1 %"},
        }
    },
    "flow": {"bulk": {"from": "host", "to": "satellite"}},
}
WANTED_S = 1e-3
QUEUES = [f"{size} packets" for size in (5, 10, 20, 40)]


class Timed:
    """A run of the core that adds up the time of its thread."""

    spent_s: ClassVar[list[float]] = []
    run = _core.Run

    def __init__(self, *args: Any) -> None:
        self._run = self._timed(Timed.run, *args)

    def advance(self, events: int) -> None:
        self._timed(self._run.advance, events)

    def finish(self) -> Any:
        return self._timed(self._run.finish)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)

    @staticmethod
    def _timed(call: Any, *args: Any) -> Any:
        begin_s = time.thread_time()
        try:
            return call(*args)
        finally:
            Timed.spent_s.append(time.thread_time() - begin_s)


def alone_s(scenario: bp.Scenario) -> float:
    """Time of a run in one thread, without anything around it: the mean of 200, over the queues."""
    points = [scenario.replace("link.up.queue", queue).replace("record.series", [])._core for queue in QUEUES]
    begin_s = time.thread_time()
    for seed in range(200):
        run = _core.Run(points[seed % len(points)], seed)
        advance(run)
        run.finish()
    return (time.thread_time() - begin_s) / 200


def main(runs: int) -> None:
    """Measure and print."""
    scenario = make_scenario(SCENARIO)
    for _ in range(3):
        factor = WANTED_S / alone_s(scenario)
        scenario = scenario.replace("duration", f"{scenario.duration_s * factor:.3g} s")
    each_s = alone_s(scenario)
    print(f"a run alone: {each_s * 1e3:.3f} ms ({scenario.duration_s:g} s simulated)")
    # The first sweep loads modules; runs do not pay for that.
    vary = {"link.up.queue": QUEUES}
    bp.sweep(scenario, vary, replications=1)
    _core.Run = Timed  # type: ignore[misc, assignment]
    with tempfile.TemporaryDirectory(prefix="bentpipe-") as folder:
        begin_s, used_s = time.monotonic(), time.process_time()
        bp.sweep(scenario, vary, replications=runs // len(QUEUES), store=Path(folder) / "store")
        wall_s, used_s = time.monotonic() - begin_s, time.process_time() - used_s
    there_s, all_s = sum(Timed.spent_s), cores() * wall_s
    print(f"{runs:,} runs on {cores()} cores: {wall_s:.2f} s, {runs / wall_s:,.0f} runs/s")
    print(f"in the simulator: {there_s:.2f} s, {100 * there_s / all_s:.0f} % of all cores' time")
    print(f"the runs alone: {runs * each_s:.2f} s, {100 * runs * each_s / all_s:.0f} % of all cores' time")
    print(f"of this process's own {used_s:.2f} s: {100 * there_s / used_s:.0f} % in the simulator")


if __name__ == "__main__":
    kept.begin(__doc__, "RUNS")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)

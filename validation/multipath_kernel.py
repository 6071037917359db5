"""Compares the kernel's Multipath TCP with the simulated one of Linux 6, over GEO and LEO.

    python -m validation.multipath_kernel            # measures what is missing: ten minutes; needs Linux with MPTCP
    python -m validation.multipath_kernel --again    # all of it
    python -m validation.multipath_kernel --causes   # simulated again without the causes of differences: seconds

Finished situations are stored immediately in `validation/data/multipath_kernel.json`. `python -m tools.docs
multipath-kernel` writes the page.
"""

from __future__ import annotations

import argparse
from typing import Any

import bentpipe as bp
from bentpipe.emulation import twin, verdict
from validation import kept

NAME = "multipath_kernel"
EMULATIONS = 4
REPLICATIONS = 8
CC = "cubic"
KERNEL = ("release", "cc", "tcp_rmem", "tcp_wmem")
"""Facts of the kernel that are kept."""

PATHS: dict[str, Any] = {
    "title": "GEO and LEO",
    "duration": "20 s",
    "tcp": {"like": "linux-6", "buffers": "raised"},
    "link": {
        "gateway": {"from": "server", "to": "gateway", "rate": "1 Gbit/s", "delay": "2 ms"},
        "leo": {"from": "gateway", "to": "ship", "rate": "20 Mbit/s", "delay": "18 ms", "queue": "100 kB"},
        "hub": {"from": "server", "to": "hub", "rate": "1 Gbit/s", "delay": "2 ms"},
        "geo": {"from": "hub", "to": "ship", "rate": "8 Mbit/s", "delay": "268 ms", "queue": "540 kB"},
    },
    "flow": {
        "download": {
            "from": "server",
            "to": "ship",
            "multipath": {},
            "subflow": {
                "leo": {"route": ["server", "gateway", "ship"], "reverse_route": ["ship", "gateway", "server"]},
                "vsat": {
                    "route": ["server", "hub", "ship"],
                    "reverse_route": ["ship", "hub", "server"],
                },
            },
        }
    },
}
"""The sum of the rates times the longest round trip is 1.9 MB."""
WAY = {"flow": "download.leo", "route": ["server", "gateway", "ship"], "reverse_route": ["ship", "gateway", "server"]}
LOST = [
    {"time": "7 s", "withdraw": ["download.leo"], "down": ["leo"]},
    {"time": "13 s", "up": ["leo"], "install": [WAY]},
]
SITUATIONS: dict[str, dict[str, Any]] = {
    "large buffers": {},
    "a small receive buffer": {"tcp.buffers": "stock", "tcp.auto_buffer.limit": "400 kB"},
    "LEO lost from 7 s to 13 s": {"at": LOST},
    "GEO as a backup, LEO lost from 7 s to 13 s": {"flow.download.subflow.vsat.backup": True, "at": LOST},
}
REASONS = ""
"""Causes of the differences, for the page."""
CAUSES = {"a send buffer of 700 kB": [("tcp.send_buffer", "700 kB")]}
"""Settings of the simulated sender that take a cause of differences away."""
SHOWN = ("goodput_bps", "opener_share", "reinjected_bytes", "retransmissions", "timeouts", "srtt_p50_s")
"""Quantities in the table."""


def scenario(situation: str) -> bp.Scenario:
    """Return the scenario of a situation."""
    return bp.Scenario(PATHS, sets=SITUATIONS[situation])


def measure(situation: str) -> dict[str, Any]:
    """Return the runs of both sides, and facts of the kernel."""
    found = bp.twin(scenario(situation), cc=CC, replications=REPLICATIONS, emulations=EMULATIONS)
    return {
        "kernel": {name: found.kernel[name] for name in KERNEL if name in found.kernel},
        "runs": [
            {name: float(f"{value:.6g}") if isinstance(value, float) else value for name, value in run.items()}
            for run in found.runs.to_dicts()
        ],
        "notes": list(found.notes),
    }


def simulate(situation: str, kernel: dict[str, str], sets: list[tuple[str, str]]) -> dict[str, float]:
    """Return the quantities of the simulated side with further settings. These scenarios have no chance."""
    like = twin.spell_simulation(scenario(situation), "download", CC, kernel).with_sets(sets)
    return dict(twin.describe_simulation(bp.run(like, progress=False), "download").values)


def judge(found: dict[str, Any]) -> list[verdict.Judged]:
    """Return the verdicts on the quantities of the table."""
    every = {each.quantity: each for each in verdict.judge_runs(found["runs"], {})}
    return [every[name] for name in SHOWN if name in every]


def main() -> None:
    """Measure, and print verdicts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--causes", action="store_true")
    asked = parser.parse_args()
    found = {} if asked.again else kept.load(NAME)
    if asked.causes:
        for situation, each in found.items():
            each["without"] = {words: simulate(situation, each["kernel"], sets) for words, sets in CAUSES.items()}
        kept.save(NAME, found)
        return
    for situation in SITUATIONS:
        if situation not in found:
            found[situation] = measure(situation)
            kept.save(NAME, found)
        print(situation)
        for each in judge(found[situation]):
            print(f"  {each.name}: {each.emulated:.4g} in the kernel, {each.simulated:.4g} simulated: {each.verdict}")


if __name__ == "__main__":
    main()

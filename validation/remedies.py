"""Measures REFWA Plus beside the remedies for link errors that its paper cites, and beside later ones.

    python -m validation.remedies                  # two minutes on two cores
    python -m tools.docs papers --pictures         # after that: the section of the page on REFWA Plus

The numbers go into `validation/data/remedies.json`.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import bentpipe as bp
from bentpipe.statistics.estimates import estimate
from validation import kept

ROOT = Path(__file__).resolve().parent.parent
TOPOLOGY = ROOT / "python" / "bentpipe" / "papers" / "packs" / "refwa" / "scenarios" / "bottleneck.toml"
RATES = [0.0, 1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.1, 0.2, 0.3, 0.5]
SEEDS = range(1, 11)
CONFIDENCE = 0.95
RATE_BPS = 10e6
PRIORITY = {"kind": "priority", "push_out": True, "class": [{"limit": "187 packets"}, {"limit": "187 packets"}]}
PRIORITIES = {f"link.{link}.queue": PRIORITY for link in ("up", "isl1", "isl2", "down")}
ELN = {
    "tcp.cc": "sack",
    "tcp.error_reports": "resend",
    "node.sat2.kind": "processing",
    "node.sat2.middlebox": [{"kind": "eln"}],
}

SCHEMES: dict[str, tuple[str, dict[str, Any]]] = {
    "NewReno": ("newreno", {}),
    "SACK": ("", {"tcp.cc": "sack"}),
    "WestwoodNR": ("westwood-nr", {}),
    "TCP-Peach": ("", {"tcp.cc": "peach", "tcp.receive_buffer": "400 kB", **PRIORITIES}),
    "TCP-Peach+": ("", {"tcp.cc": "peach-plus", "tcp.receive_buffer": "400 kB", **PRIORITIES}),
    "TCP Santa Cruz": ("", {"tcp.cc": "santa-cruz", "tcp.timestamps": True}),
    "WTCP": ("", {"tcp.cc": "wtcp", "tcp.timestamps": True}),
    "STP": ("", {"tcp.cc": "stp", "tcp.timestamps": True}),
    "BBR v3": ("", {"tcp.cc": "bbr3"}),
    "BBR v3, loss threshold 90 %": ("", {"tcp.cc": {"kind": "bbr3", "loss_threshold": 0.9}}),
    "SACK with ELN": ("", ELN),
    "REFWA": ("refwa", {}),
    "REFWA Plus": ("refwa-plus", {}),
}
"""Case of the paper's pack and its overrides, by name."""


def scenario(name: str) -> bp.Scenario:
    """The paper's topology with a scheme."""
    case, sets = SCHEMES[name]
    loaded = bp.load(TOPOLOGY)
    return (loaded.cases[case] if case else loaded).with_sets(sets)


def measured() -> list[dict[str, Any]]:
    """A row for each scheme and rate: mean and interval of the link's share that was goodput, and of Jain's index."""
    rows = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name in SCHEMES:
            for rate in RATES:
                told = scenario(name).with_sets({"link.isl1.forward.error.rate": rate})
                found = list(pool.map(lambda seed, told=told: bp.run(told, seed=seed).rows("summary")[0], SEEDS))
                row: dict[str, Any] = {"scheme": name, "rate": rate}
                for column, values in (
                    ("share", [100 * each["goodput_bps"] / RATE_BPS for each in found]),
                    ("jain", [each["jain"] or 0.0 for each in found]),
                ):
                    known = estimate(np.array(values), CONFIDENCE)
                    row[column] = [known.mean, known.low, known.high]
                rows.append(row)
                print(name, rate, row["share"][0])
    return rows


def main() -> None:
    """Measure and keep the numbers."""
    kept.save("remedies", measured())


if __name__ == "__main__":
    kept.begin(__doc__)
    main()

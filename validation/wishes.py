"""Measures two extensions that the papers leave to others: inputs of Enhanced HSWA, and copies of reported segments.

    python -m validation.wishes                  # some minutes on two cores
    python -m tools.docs papers --pictures       # after that: the sections of the pages on HSWA and BEEN

The numbers go into `validation/data/wishes.json`.
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
PACKS = ROOT / "python" / "bentpipe" / "papers" / "packs"
CONFIDENCE = 0.95

CONNECTIONS = [1, 3, 5, 10, 15]
ERRORS = [0.0, 1e-3, 1e-2]
SEEDS = range(1, 6)
RATE_BPS = 100e6
INPUTS: dict[str, dict[str, Any]] = {
    "none": {},
    "number": {"connections": 0},
    "queue": {"queue_target": "100 ms"},
    "losses": {"measures_errors": True},
    "all three": {"connections": 0, "queue_target": "100 ms", "measures_errors": True},
}
"""Overrides of a case, by name. `connections` becomes the number of connections that share the link."""

COPIES = [1, 2, 3]
RATES = [0.1, 0.3, 0.5, 0.7]
COPY_SEEDS = range(1, 11)


def hswa_run(arm: str, connections: int, rate: float, seed: int) -> dict[str, float]:
    """One run on the paper's bent pipe."""
    sets: dict[str, Any] = {
        "flow.transfer.count": connections,
        "flow.transfer.start": {"uniform": ["0 s", "1 s"]},
        "link.downlink.forward.error.rate": rate,
        "duration": "60 s",
    }
    given = dict(INPUTS[arm])
    if "connections" in given:
        given["connections"] = connections
    sets["tcp.cc"] = {"kind": "enhanced-hswa", "error_rate": rate, **given}
    run = bp.run(bp.load(PACKS / "hswa" / "scenarios" / "bent-pipe.toml").with_sets(sets), seed=seed)
    summary, flows = run.rows("summary")[0], run.rows("flows")
    links = {row["link"]: row for row in run.rows("links")}
    sent = sum(row["sent_bytes"] for row in flows)
    return {
        "goodput": 100 * summary["goodput_bps"] / RATE_BPS,
        "utilisation": 100 * links["downlink.forward"]["utilisation"],
        "jain": summary["jain"],
        "queue": 1e3 * links["lan1.forward"]["queue_mean_s"],
        "again": 100 * sum(row["retransmitted_bytes"] for row in flows) / sent,
    }


def been_run(copies: int, rate: float, seed: int) -> dict[str, float]:
    """One run on BEEN's path, with packets of one size."""
    sets = {
        "tcp.packet_size": "fixed",
        "tcp.smss": "460 B",
        "tcp.report_copies": copies,
        "link.up.forward.error": {"kind": "packet", "rate": rate},
        "duration": "100 s",
    }
    run = bp.run(bp.load(PACKS / "been" / "scenarios" / "iridium-been.toml").with_sets(sets), seed=seed)
    (flow,) = run.rows("flows")
    return {
        "goodput": flow["goodput_bps"] / 1e3,
        "efficiency": flow["information_efficiency"],
        "per_packet": flow["sent_packets"] / max(1.0, flow["delivered_bytes"] / 460),
        "timeouts": flow["timeouts"],
    }


def measured() -> dict[str, list[dict[str, Any]]]:
    """Rows with mean and interval of each measure."""
    rows: dict[str, list[dict[str, Any]]] = {"hswa": [], "been": []}
    plans = [
        ("hswa", hswa_run, SEEDS, [(arm, n, rate) for arm in INPUTS for n in CONNECTIONS for rate in ERRORS]),
        ("been", been_run, COPY_SEEDS, [(copies, rate) for copies in COPIES for rate in RATES]),
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, act, seeds, points in plans:
            for point in points:
                found = list(pool.map(lambda seed, act=act, point=point: act(*point, seed), seeds))
                row: dict[str, Any] = {"point": point}
                for measure in found[0]:
                    known = estimate(np.array([each[measure] for each in found]), CONFIDENCE)
                    row[measure] = [known.mean, known.low, known.high]
                rows[name].append(row)
                print(name, *point, f"{row['goodput'][0]:.4g}", flush=True)
    return rows


def main() -> None:
    """Measure and keep the numbers."""
    kept.save("wishes", measured())


if __name__ == "__main__":
    kept.begin(__doc__)
    main()

"""Compares downloads of 1 MB by bentpipe's QUIC in real time with the same downloads in virtual time.

    python -m validation.quic_twin        # eight minutes; needs Linux and private namespaces

It prints the table of QUIC on the page "bentpipe's TCP and QUIC on the wire". Each emulated download has the seed of a
simulated one. Downloads on a machine that was too busy are repeated.
"""

from __future__ import annotations

import sys
import tempfile
from typing import Any

import numpy as np

import bentpipe as bp
from bentpipe.statistics.estimates import estimate
from validation import kept

BYTES = 1_000_000
RUNS = 10
ATTEMPTS = 3
CONFIDENCE = 0.95


def make_path(delay: str, down: str, up: str, loss: float = 0.0) -> dict[str, Any]:
    """A path from `server` to `user`, which opens the connection and asks."""
    link = {
        "from": "server",
        "to": "user",
        "delay": delay,
        "forward": {"rate": down, "queue": "1 bdp", "error": {"kind": "packet", "rate": loss}},
        "reverse": {"rate": up, "queue": "1 bdp"},
    }
    app = {"kind": "request-response", "request": "7 B", "response": f"{BYTES} B", "count": 1}
    return {
        "duration": "60 s",
        "link": {"sat": link},
        "flow": {"get": {"from": "user", "to": "server", "app": app, "quic": {}}},
    }


PATHS = {
    "GEO, 10/2 Mbit/s, 300 ms one way": make_path("300 ms", "10 Mbit/s", "2 Mbit/s"),
    "LEO, 100/10 Mbit/s, 20 ms one way": make_path("20 ms", "100 Mbit/s", "10 Mbit/s"),
    "LEO, 20/2 Mbit/s, 35 ms one way, 0.1 % lost": make_path("35 ms", "20 Mbit/s", "2 Mbit/s", 0.001),
}
CONTROLS = ("cubic", "bbr3", "stack-cubic")


def simulate(path: dict[str, Any], cc: str, seed: int) -> float:
    """Return the time until `user` has read all, seconds."""
    done_s: float = bp.run(path, {"flow.get.quic.cc": cc}, seed=seed).transfers["duration_s"][0]
    return done_s


def speak(path: dict[str, Any], cc: str, seed: int) -> tuple[float, bool]:
    """Return the same time of real ends, and whether the run is trustworthy."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(BYTES))
        file.flush()
        found = bp.speak(path, send=file.name, at="user", quic=True, cc=cc, seed=seed, quiet=True)
    (reader,) = (row for row in found.spoken if row["host"] == "user")
    return reader["done_s"], found.trust.is_trustworthy


def compare(path: dict[str, Any], cc: str, runs: int = RUNS) -> list[tuple[float, float]]:
    """Return the emulated and the simulated time of each trustworthy pair."""
    pairs = []
    for seed in range(1, runs + 1):
        for _ in range(ATTEMPTS):
            real_s, is_trustworthy = speak(path, cc, seed)
            if is_trustworthy:
                pairs.append((real_s, simulate(path, cc, seed)))
                break
    return pairs


def main() -> None:
    """Print the table."""
    print("| path | cc | emulated | simulated | ratio | pairs |\n|---|---|---:|---:|---:|---:|")
    for name, path in PATHS.items():
        for cc in CONTROLS:
            pairs = compare(path, cc)
            real, simulated = (sum(each) / len(pairs) for each in zip(*pairs, strict=True))
            ratio = estimate(np.array([real_s / simulated_s for real_s, simulated_s in pairs]), CONFIDENCE)
            spread = (ratio.high - ratio.low) / 2
            row = (
                name,
                f"`{cc}`",
                f"{real:.3f} s",
                f"{simulated:.3f} s",
                f"{ratio.mean:.4f} ± {spread:.4f}",
                len(pairs),
            )
            print("|", " | ".join(map(str, row)), "|")
            sys.stdout.flush()


if __name__ == "__main__":
    kept.begin(__doc__)
    main()

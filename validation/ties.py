"""Equal senders with and without the time that hosts take, beside ns-2: three files over GEO, and small buffers.

    python -m validation.ties [--seeds N]

ns-2's values were measured with `validation/ns2/s3.tcl` (100 seeds) and `validation/ns2/s1.tcl` (30 seeds), with
`overhead_` of 0 and of 0.1 ms; its limit of 23 packets counts the one being sent.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

import bentpipe as bp

HERE = Path(__file__).resolve().parent
SENDERS = ("tahoe", "reno", "newreno", "sack")
PROCESSING = {"0": "0 s", "0 to 0.1 ms": {"uniform": ["0 s", "100 us"]}}
# Values by sender, without and with overhead_.
NS2_S3 = {
    "tahoe": ("11.22 s, 309", "14.75 s, 289"),
    "reno": ("14.02 s, 307", "15.27 s, 321"),
    "newreno": ("12.69 s, 322", "14.58 s, 323"),
    "sack": ("10.85 s, 246", "11.72 s, 203"),
}
NS2_S1 = {
    "tahoe": ("0.701", "0.743"),
    "reno": ("0.790", "0.795"),
    "newreno": ("0.817", "0.848"),
    "sack": ("0.822", "0.856"),
}


def three_files(sender: str, processing: object, seeds: int) -> str:
    """Mean completion time of three files of 1 MB that start together, and retransmissions of all."""
    counts = {f"{each}.count": 3 for each in ("link.up", "link.down", "flow.file")}
    sets = {
        **counts,
        "tcp.cc": sender,
        "tcp.processing": processing,
        "tcp.initial_window": "1 segments",
        "tcp.initial_ssthresh": "unlimited",
        "flow.file.app": {"kind": "file", "size": "1 MB"},
        "link.geo.queue": "95 packets",
        "duration": "300 s",
    }
    scenario = bp.load(HERE / "ns2" / "s3.toml", sets)
    flows = [bp.run(scenario, seed=seed + 1).flows for seed in range(seeds)]
    time_s = statistics.fmean(float(flow["completion_s"].mean()) for flow in flows)
    return f"{time_s:.2f} s, {statistics.fmean(float(flow['retransmissions'].sum()) for flow in flows):.0f}"


def small_buffers(sender: str, processing: object, seeds: int) -> str:
    """Utilisation of ten senders over three satellites with queues for 23 packets, the one being sent included."""
    queues = {f"link.{link}.queue": "22 packets" for link in ("up", "isl1", "isl2", "down")}
    scenario = bp.load(HERE / "ns2" / "s1.toml", {"tcp.cc": sender, "tcp.processing": processing, **queues})
    runs = [bp.run(scenario, seed=seed + 1).flows for seed in range(seeds)]
    return f"{statistics.fmean(float(flows['delivered_bytes'].sum()) * 8 / 120 / 10e6 for flows in runs):.3f}"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=30)
    seeds = parser.parse_args().seeds
    for title, measure, theirs in (
        ("three files of 1 MB: mean completion, retransmissions", three_files, NS2_S3),
        ("ten senders, 23 packets: utilisation", small_buffers, NS2_S1),
    ):
        print(f"| {title} | ns-2, 0 | bentpipe, 0 | ns-2, 0.1 ms | bentpipe, 0.1 ms |\n|---|---|---|---|---|")
        for sender in SENDERS:
            ours = [measure(sender, processing, seeds) for processing in PROCESSING.values()]
            print(f"| {sender} | {theirs[sender][0]} | {ours[0]} | {theirs[sender][1]} | {ours[1]} |", flush=True)
        print()


if __name__ == "__main__":
    main()

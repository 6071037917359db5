"""Compare bentpipe with results of ns-2 on the same topologies.

    python -m validation.ns2 [s1] [s2] [s3] [s4] [--seeds N]

Each comparison prints a table. docs/validation/ns2.md explains the common configuration and the remaining differences.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import bentpipe as bp

if TYPE_CHECKING:
    from collections.abc import Iterator

SENDERS = ("tahoe", "reno", "newreno", "sack")

HERE = Path(__file__).parent
"""With scenarios that are `like = "ns-2"`, and stay as they are."""

DATA = HERE / "data" / "ns2"
"""Results of ns-2; their README has the settings."""


class Row(NamedTuple):
    """One comparison: quantity, ours (mean and its standard error), theirs."""

    case: str
    ours: float
    error: float
    theirs: float


def table(name: str) -> Iterator[dict[str, str]]:
    """Rows of one of ns-2's files, without comments."""
    path = DATA / name
    with gzip.open(path, "rt") if name.endswith(".gz") else path.open() as lines:
        yield from csv.DictReader(line for line in lines if not line.startswith("#"))


def configured(scenario: bp.Scenario, sender: str, **changes: Any) -> bp.Scenario:
    """The scenario with a sender."""
    for key, value in {"tcp.cc": sender, **changes}.items():
        scenario = scenario.replace(key, value)
    return scenario


def mean(values: list[float]) -> tuple[float, float]:
    """Mean and standard error."""
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return statistics.fmean(values), error


def s1(seeds: int, rates: tuple[str, ...] | None = None) -> Iterator[tuple[Row, Row]]:
    """REFWA Plus topology, loss on data: utilisation and Jain's index."""
    scenario = bp.load(HERE / "ns2" / "s1.toml")
    for row in table("s1_ns2.csv"):
        wanted = row["agent"] in SENDERS and (row["n"], row["unit"], row["lossack"], row["psz"]) == (
            "10",
            "pkt",
            "0",
            "1024",
        )
        if not wanted or (rates and row["p"] not in rates):
            continue
        loss = {"link.isl1.forward.error": {"kind": "packet", "rate": float(row["p"])}}
        runs = [bp.run(configured(scenario, row["agent"], **loss), seed=seed + 1) for seed in range(seeds)]
        utilisation = [float(run.flows["delivered_bytes"].sum()) * 8 / 120 / 10e6 for run in runs]
        jain = [float(run.summary["jain"][0]) for run in runs]
        case = f"S1 {row['agent']} p={row['p']}"
        yield (
            Row(f"{case} utilisation", *mean(utilisation), float(row["util_goodput_payload_mean"])),
            Row(f"{case} jain", *mean(jain), float(row["jain_mean"])),
        )


def s2(seeds: int, rates: tuple[str, ...] | None = None) -> Iterator[Row]:
    """GEO bent pipe: utilisation."""
    scenario = bp.load(HERE / "ns2" / "s2.toml")
    for row in table("s2_ns2.csv"):
        if row["agent"] not in SENDERS or (rates and row["p"] not in rates):
            continue
        loss = {"link.downlink.forward.error": {"kind": "packet", "rate": float(row["p"])}}
        flows = [bp.run(configured(scenario, row["agent"], **loss), seed=seed + 1).flows for seed in range(seeds)]
        utilisation = [float(flow["delivered_bytes"][0]) * 8 / 50 / 100e6 for flow in flows]
        yield Row(f"S2 {row['agent']} p={row['p']}", *mean(utilisation), float(row["util_goodput_payload_mean"]))


def s3() -> Iterator[Row]:
    """GEO transfers: completion time in seconds; ns-2's runs show slow start without a threshold."""
    scenario = bp.load(HERE / "ns2" / "s3.toml")
    for row in table("s3_ns2.csv"):
        changes = {
            "tcp.initial_ssthresh": "unlimited",
            "tcp.initial_window": f"{row['initial_window_pkts']} segments",
            "link.geo.queue": f"{int(row['buffer_pkts']) - 1} packets",
            "flow.file.app": {"kind": "file", "size": f"{row['file_bytes']} B"},
        }
        flows = bp.run(configured(scenario, row["agent"], **changes)).flows
        case = f"S3 {row['file_bytes']} B, IW {row['initial_window_pkts']}, buffer {row['buffer_pkts']}"
        yield Row(case, float(flows["completion_s"][0]), math.nan, float(row["fct_mean_s"]))


class Trace(NamedTuple):
    """Number of equal packets at the start of two sequences."""

    case: str
    same: int
    until_timeout: int
    worst_s: float


def s4() -> Iterator[Trace]:
    """Listed drops: the packets sent, in order, with their times, up to our first timeout."""
    scenario = bp.load(HERE / "drops.toml")
    for row in table("drops_summary.csv"):
        drops = [int(index) for index in row["drop_arrival_indices"].split()]
        loss = {"link.access.forward.error": {"kind": "arrivals", "list": drops}} if drops else {}
        events = bp.run(configured(scenario, row["agent"], **loss)).events
        rows = list(zip(events["time_s"], events["event"], events["value"], strict=True))
        first_timeout = min((time for time, event, _ in rows if event == "timeout"), default=math.inf)
        ours = [
            (t, value // 1000) for t, event, value in rows if event in ("sent", "retransmission") and t < first_timeout
        ]
        theirs = [
            (float(line["time_s"]), int(line["value"]))
            for line in table(f"drops_trace_{row['agent']}.csv.gz")
            if (line["case"], line["event"]) == (row["case"], "send")
        ]
        same, worst = 0, 0.0
        for (our_time, our_packet), (their_time, their_packet) in zip(ours, theirs, strict=False):
            if our_packet != their_packet:
                break
            same += 1
            worst = max(worst, abs(our_time - their_time))
        yield Trace(f"{row['agent']} {row['case']}", same, len(ours), worst)


def show(row: Row) -> None:
    """One line of a table."""
    error = "" if math.isnan(row.error) else f" ±{1.96 * row.error:.4f}"
    difference = f"{row.ours - row.theirs:+.4f} ({row.ours / row.theirs - 1:+.1%})"
    print(f"{row.case:42} {row.ours:9.5f}{error:9} {row.theirs:9.5f} {difference}", flush=True)


def main() -> None:
    """Print the requested tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", nargs="*", choices=["s1", "s2", "s3", "s4", []], default=[])
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    cases = arguments.cases or ["s1", "s2", "s3", "s4"]
    print(f"{'case':42} {'bentpipe':18} {'ns-2':9} difference")
    if "s1" in cases:
        for utilisation, jain in s1(arguments.seeds):
            show(utilisation)
            show(jain)
    if "s2" in cases:
        for row in s2(arguments.seeds):
            show(row)
    if "s3" in cases:
        for row in s3():
            show(row)
    if "s4" in cases:
        for trace in s4():
            packets = f"{trace.same} of {trace.until_timeout}"
            print(f"S4 {trace.case:20} same packets: {packets}, times within {trace.worst_s * 1e3:.2f} ms")


if __name__ == "__main__":
    main()

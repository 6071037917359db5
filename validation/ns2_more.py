"""Compare bentpipe with ns-2 on sixteen more configurations.

    python -m validation.ns2_more [NAME ...]

prints the comparison of the stored results. `--ours` runs bentpipe again, and `--measure` runs ns-2 again (needs `ns`).
Both store the results. `python -m tools.docs ns2_more` writes the page.

Results of ns-2 are in `validation/data/ns2/more.csv`, those of bentpipe in `more_ours.csv`.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import statistics
import subprocess
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import bentpipe as bp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

HERE = Path(__file__).resolve().parent
THEIRS = HERE / "data" / "ns2" / "more.csv"
OURS = HERE / "data" / "ns2" / "more_ours.csv"
AGENTS = {"tahoe": "Tahoe", "reno": "Reno", "newreno": "Newreno", "sack": "Sack1"}
SEEDS = 30
LIMIT = 3.0
"""Least difference, in standard errors, that needs a cause."""


class Case(NamedTuple):
    """One configuration: keys of `dumbbell.tcl`, overrides of `dumbbell.toml`, and the senders compared."""

    title: str
    tcl: dict[str, str]
    sets: dict[str, Any]
    senders: str = "tahoe reno newreno sack"


def flows(count: int) -> dict[str, Any]:
    """`count` pairs of hosts, with a flow each."""
    return {f"{each}.count": count for each in ("link.near", "link.far", "flow.f")}


def pair(name: str, size: int, delay: str, count: int, *, back: bool = False) -> dict[str, Any]:
    """More pairs of hosts with flows, which may go in the opposite direction."""
    link = {"count": count, "rate": "10 Mbit/s", "queue": "9999 packets"}
    ends = (f"{name}b{{n}}", f"{name}a{{n}}") if back else (f"{name}a{{n}}", f"{name}b{{n}}")
    return {
        f"link.{name}near": {**link, "from": f"{name}a{{n}}", "to": "left", "delay": delay},
        f"link.{name}far": {**link, "from": "right", "to": f"{name}b{{n}}", "delay": "1 ms"},
        f"flow.{name}": {
            "from": ends[0],
            "to": ends[1],
            "count": count,
            "app": "greedy",
            "start": {"uniform": ["0 s", "1 s"]},
            "tcp": {"smss": f"{size} B"},
        },
    }


def datagrams(app: dict[str, Any]) -> dict[str, Any]:
    """Datagrams of 1000 B with half of the bottleneck's rate."""
    link = {"rate": "100 Mbit/s", "delay": "1 ms", "queue": "9999 packets"}
    start = {"uniform": ["0 s", "1 s"]}
    return {
        "link.source": {**link, "from": "source", "to": "left"},
        "link.target": {**link, "from": "right", "to": "target"},
        "flow.datagrams": {"from": "source", "to": "target", "app": {"size": "1000 B", **app}, "start": start},
    }


def red(*, ecn: bool) -> dict[str, Any]:
    """RED at the bottleneck."""
    queue = {"kind": "red", "limit": "59 packets", "min_th": 5, "max_th": 15, "mean_packet": "1040 B", "ecn": ecn}
    return {
        **flows(6),
        "link.m.rate": "5 Mbit/s",
        "link.m.delay": "100 ms",
        "link.m.forward.queue": queue,
        "link.m.reverse.queue": "59 packets",
        **({"tcp.ecn": "classic"} if ecn else {}),
    }


def down(*spans: tuple[float, float]) -> dict[str, Any]:
    """The bottleneck loses all packets for a time."""
    points: list[list[Any]] = [["0 s", 0]]
    for begin, end in spans:
        points += [[f"{begin} s", 1], [f"{end} s", 0]]
    error = {"kind": "profile", "points": points}
    return {"link.m.forward.error": error, "link.m.reverse.error": error}


def lost(share: float) -> dict[str, Any]:
    """Independent losses."""
    return {"kind": "packet", "rate": share}


LONG = {"link.m.delay": "100 ms"}
DELAYED = {"tcp.ack": {"every": 2, "delay": "100 ms"}}
RED = {"flows": "6", "rate": "5Mb", "delay": "100ms", "limit": "60", "queue": "RED"}
# 2056 and 1028 kbit/s of packets of 1028 B, in payload.
ON_OFF = {
    "kind": "on-off",
    "peak": "2000 kbit/s",
    "on": {"kind": "exponential", "mean": "0.5 s"},
    "off": {"kind": "exponential", "mean": "0.5 s"},
}
SPREAD = (2, 3.7, 5.1, 7.3, 8.9, 11.3, 13.9, 17.1)
"""Delays in ms that keep flows from running in step."""
CASES = {
    "two-way": Case("Data in both directions", {"opposite": "3"}, {**pair("back", 1000, "2 ms", 3, back=True)}),
    "return": Case(
        "Return link of 40 kbit/s",
        {"flows": "2", "rate": "10Mb", "back_rate": "40kb", "delay": "100ms", "limit": "100", "back_limit": "10"},
        {
            **flows(2),
            **LONG,
            "link.m.forward": {"rate": "10 Mbit/s", "queue": "99 packets"},
            "link.m.reverse": {"rate": "40 kbit/s", "queue": "9 packets"},
        },
        "reno newreno sack",
    ),
    "red": Case("RED", RED, red(ecn=False), "reno newreno sack"),
    "red-ecn": Case("RED with ECN", {**RED, "ecn": "1"}, red(ecn=True), "reno newreno sack"),
    "delayed-ack": Case(
        "Delayed ACKs",
        {"delay": "100ms", "limit": "25", "delayed_ack": "1"},
        {**LONG, **DELAYED, "link.m.queue": "24 packets"},
    ),
    "delayed-ack-loss": Case(
        "Delayed ACKs, 0.5 % loss",
        {"flows": "1", "rate": "5Mb", "delay": "100ms", "limit": "200", "delayed_ack": "1", "loss": "0.005"},
        {
            **flows(1),
            **LONG,
            **DELAYED,
            "link.m.rate": "5 Mbit/s",
            "link.m.queue": "199 packets",
            "link.m.forward.error": lost(0.005),
        },
        "reno newreno sack",
    ),
    "down-10": Case(
        "Link down for 10 s",
        {"flows": "2", "delay": "100ms", "limit": "50", "down": "50 60", "duration": "120"},
        {**flows(2), **LONG, "link.m.queue": "49 packets", "duration": "120 s", **down((50, 60))},
    ),
    "down-short": Case(
        "Link down for 0.3, 1 and 2 s",
        {"flows": "2", "limit": "50", "down": "30 30.3 60 61 90 92", "duration": "120"},
        {
            **flows(2),
            "link.m.queue": "49 packets",
            "duration": "120 s",
            **down((30, 30.3), (60, 61), (90, 92)),
        },
        "reno newreno sack",
    ),
    "bytes": Case(
        "Queue of bytes, packets of 1000 and 200 B",
        {"flows": "4", "bytes": "1", "payload": "1000 200"},
        {**flows(2), "link.m.queue": "19999 B", **pair("small", 200, "2 ms", 2)},
        "newreno sack",
    ),
    "rtt": Case(
        "Short and long round trips",
        {"flows": "4", "rate": "5Mb", "delay": "10ms", "limit": "50", "access_delay": "2ms 120ms"},
        {
            **flows(2),
            "link.m.rate": "5 Mbit/s",
            "link.m.delay": "10 ms",
            "link.m.queue": "49 packets",
            **pair("long", 1000, "120 ms", 2),
        },
        "reno newreno sack",
    ),
    "on-off": Case(
        "On-off datagrams, half the rate",
        {"flows": "2", "delay": "100ms", "limit": "30", "datagrams": "on-off"},
        {**flows(2), **LONG, "link.m.queue": "29 packets", **datagrams(ON_OFF)},
        "reno newreno sack",
    ),
    "cbr": Case(
        "Even datagrams, half the rate",
        {"flows": "2", "delay": "100ms", "limit": "30", "datagrams": "cbr"},
        {**flows(2), **LONG, "link.m.queue": "29 packets", **datagrams({"kind": "cbr", "rate": "1000 kbit/s"})},
        "reno newreno sack",
    ),
    "bursts": Case(
        "Bursts of 5 lost packets, 300 apart",
        {"flows": "1", "limit": "50"},
        {**flows(1), "link.m.queue": "49 packets"},
    ),
    "ack-loss": Case(
        "30 % of ACKs and 0.3 % of data lost",
        {"flows": "2", "delay": "100ms", "limit": "50", "loss": "0.003", "ack_loss": "0.3"},
        {
            **flows(2),
            **LONG,
            "link.m.queue": "49 packets",
            "link.m.forward.error": lost(0.003),
            "link.m.reverse.error": lost(0.3),
        },
        "reno newreno sack",
    ),
    "queue-8": Case(
        "Eight flows, queue of eight",
        {"flows": "8", "rate": "1Mb", "delay": "20ms", "limit": "8"},
        {**flows(8), "link.m.rate": "1 Mbit/s", "link.m.delay": "20 ms", "link.m.queue": "7 packets"},
    ),
    "spread": Case(
        "Eight flows of eight round trips, queue of eight",
        {
            "flows": "8",
            "rate": "1Mb",
            "delay": "20ms",
            "limit": "8",
            "access_delay": " ".join(f"{x}ms" for x in SPREAD),
        },
        {
            **flows(1),
            "link.m.rate": "1 Mbit/s",
            "link.m.delay": "20 ms",
            "link.m.queue": "7 packets",
            **{
                k: v
                for at, x in enumerate(SPREAD[1:])
                for k, v in pair(f"{'abcdefg'[at]}s", 1000, f"{x} ms", 1).items()
            },
        },
    ),
    "files": Case(
        "Files of 20 kB at exponential distances",
        {"files": "1", "rate": "5Mb", "delay": "100ms", "limit": "20", "back_limit": "10000", "duration": "130"},
        {
            **{f"{each}.count": 1 for each in ("link.near", "link.far", "flow.f")},
            **LONG,
            "duration": "130 s",
            "link.m.rate": "5 Mbit/s",
            "link.m.reverse.queue": "9999 packets",
            **{
                f"link.{side}.{key}": value
                for side in ("near", "far")
                for key, value in (("rate", "100 Mbit/s"), ("delay", "1 ms"))
            },
            "flow.f.app": {"kind": "arrivals", "size": "20000 B", "interval": "45 ms", "count": 2222},
            "flow.f.start": "0 s",
        },
        "newreno sack",
    ),
}


class Run(NamedTuple):
    """Results of one run."""

    goodput_kbps: float
    """Mean of the first group of flows; for files: mean completion time in ms."""
    second_kbps: float
    """Mean of the second group (opposite direction, small packets, long round trip); otherwise 0."""
    jain: float
    retransmissions: float
    timeouts: float


def jain(rates: list[float]) -> float:
    """Jain's index."""
    return sum(rates) ** 2 / len(rates) / sum(rate * rate for rate in rates)


def grouped(rates: list[float], name: str) -> tuple[float, float]:
    """Mean goodputs of both groups of flows, of which ns-2 has the second last or alternating."""
    if name == "two-way":
        return statistics.fmean(rates[:3]), statistics.fmean(rates[3:])
    if name in ("bytes", "rtt"):
        return statistics.fmean(rates[::2]), statistics.fmean(rates[1::2])
    return statistics.fmean(rates), 0.0


def bursts(seed: int) -> list[int]:
    """Packets that a channel with bursts drops: gaps and bursts have geometric lengths, 300 and 5 on average."""
    random = Random(seed)
    listed: list[int] = []
    at = 0
    while at < 100_000:
        at += 1 + int(math.log(1 - random.random()) / math.log(1 - 1 / 300))
        length = 1 + int(math.log(1 - random.random()) / math.log(1 - 1 / 5))
        listed += range(at, at + length)
        at += length
    return listed


def ns2(name: str, sender: str, seed: int, more: dict[str, str] | None = None) -> Run:
    """One run of ns-2."""
    options = {**CASES[name].tcl, "agent": AGENTS[sender], "seed": str(seed), **(more or {})}
    if name == "bursts":
        options["listed"] = ",".join(map(str, bursts(seed)))
    command = ["ns", str(HERE / "ns2" / "dumbbell.tcl"), *itertools.chain(*options.items())]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if name == "files":
        return Run(statistics.fmean(float(line) for line in text.split()) * 1e3, 0.0, 1.0, 0.0, 0.0)
    *rates, retransmissions, timeouts, _ = (float(word) for word in text.split())
    return Run(*grouped(rates, name), jain(rates), retransmissions, timeouts)


def ours(name: str, sender: str, seed: int, more: dict[str, Any] | None = None) -> Run:
    """One run of bentpipe."""
    sets = {**CASES[name].sets, "tcp.cc": sender, **(more or {})}
    if name == "bursts":
        # Ours has the ACK of the handshake as packet 1, ns-2 has none.
        sets["link.m.forward.error"] = {"kind": "arrivals", "list": [at + 1 for at in bursts(seed)]}
    run = bp.run(bp.load(HERE / "ns2" / "dumbbell.toml", sets), seed=seed)
    if name == "files":
        times = [time for time in run.transfers["duration_s"].to_list() if time is not None]
        return Run(statistics.fmean(times) * 1e3, 0.0, 1.0, 0.0, 0.0)
    seconds = float(CASES[name].tcl.get("duration", "200"))
    rows = [row for row in run.flows.iter_rows(named=True) if row["flow"] != "datagrams"]
    rates = [row["delivered_bytes"] * 8 / 1000 / seconds for row in rows]
    is_first = [name == "spread" or row["flow"].startswith("f") for row in rows]
    first = [rate for rate, is_one in zip(rates, is_first, strict=True) if is_one]
    second = [rate for rate, is_one in zip(rates, is_first, strict=True) if not is_one]
    return Run(
        statistics.fmean(first),
        statistics.fmean(second) if second else 0.0,
        jain(rates),
        sum(row["retransmissions"] for row in rows),
        sum(row["timeouts"] for row in rows),
    )


Key = tuple[str, str]
Runs = dict[Key, list[Run]]


def measured(one: Callable[..., Run], names: Iterable[str], seeds: int, jobs: int, more: Any = None) -> Runs:
    """Runs of each case and sender."""
    keys = [(name, sender) for name in names for sender in CASES[name].senders.split()]
    found: Runs = {}
    with ProcessPoolExecutor(jobs) as pool:
        futures = {key: [pool.submit(one, *key, seed + 1, more) for seed in range(seeds)] for key in keys}
        for key, runs in futures.items():
            found[key] = [run.result() for run in runs]
    return found


def read(path: Path) -> Runs:
    """Stored runs."""
    found: Runs = {}
    if path.exists():
        with path.open() as lines:
            for row in csv.DictReader(line for line in lines if not line.startswith("#")):
                values = (float(row[field]) for field in Run._fields)
                found.setdefault((row["case"], row["sender"]), []).append(Run(*values))
    return found


def keep(path: Path, runs: Runs) -> None:
    """Store runs, in the order of the cases."""
    order = [(name, sender) for name, case in CASES.items() for sender in case.senders.split()]
    with path.open("w") as file:
        file.write(
            "# One run per line, seeds 1, 2, ... Goodputs: means over flows. Files: mean completion time in ms\n"
        )
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["case", "sender", *Run._fields])
        for key in order:
            for run in runs.get(key, []):
                writer.writerow([*key, *(f"{value:.6g}" for value in run)])


class Difference(NamedTuple):
    """Difference in one measure."""

    measure: str
    ours: float
    theirs: float
    errors: float
    """In standard errors of the difference."""

    @property
    def share(self) -> float:
        """Difference as a share of theirs."""
        return self.ours / self.theirs - 1 if self.theirs else 0.0


def differences(mine: list[Run], theirs: list[Run]) -> Iterator[Difference]:
    """Differences in all measures of a case."""
    for at, measure in enumerate(Run._fields):
        a, b = [run[at] for run in mine], [run[at] for run in theirs]
        if not any(a) and not any(b):
            continue
        error = math.hypot(statistics.stdev(a) / math.sqrt(len(a)), statistics.stdev(b) / math.sqrt(len(b)))
        mean_a, mean_b = statistics.fmean(a), statistics.fmean(b)
        yield Difference(measure, mean_a, mean_b, (mean_a - mean_b) / error if error else 0.0)


def show(mine: Runs, theirs: Runs) -> None:
    """One line for each case and sender."""
    for key, runs in mine.items():
        cells = []
        for row in differences(runs, theirs[key]):
            digits = 3 if row.measure == "jain" else 1
            mark = "!" if abs(row.errors) > LIMIT else ""
            means = f"{row.ours:.{digits}f}/{row.theirs:.{digits}f}"
            cells.append(f"{row.measure[:8]} {means} {row.share:+.1%} {row.errors:+.1f}{mark}")
        print(f"{' '.join(key):24}", " | ".join(cells), flush=True)


NAMES = {
    "goodput_kbps": "goodput",
    "second_kbps": "goodput of the second group",
    "jain": "Jain's index",
    "retransmissions": "retransmissions",
    "timeouts": "timeouts",
}


def main() -> None:
    """Measure and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*CASES, []], default=[])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--measure", action="store_true", help="run ns-2 again")
    parser.add_argument("--ours", action="store_true", help="run bentpipe again")
    arguments = parser.parse_args()
    names = arguments.names or list(CASES)
    for is_asked, path, one in ((arguments.measure, THEIRS, ns2), (arguments.ours, OURS, ours)):
        for name in names if is_asked else []:
            keep(path, {**read(path), **measured(one, [name], arguments.seeds, arguments.jobs)})
    mine, theirs = read(OURS), read(THEIRS)
    for key, runs in mine.items():
        if key[0] in names and key in theirs:
            show({key: runs}, theirs)


if __name__ == "__main__":
    main()

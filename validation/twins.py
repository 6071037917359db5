"""Compares the TCP of this machine's kernel with the simulator: the same transfers in real time and in virtual time.

    python -m validation.twins --fresh         # measure all of it
    python -m validation.twins                 # continue: missing and undecided rows
    python -m validation.twins --minutes 5     # stop after this time; the next call continues
    python -m validation.twins --again bbr     # measure only rows with this in their names, again
    python -m tools.docs linux                 # after that: judge the kept runs, and write the page

It needs Linux, private namespaces, about 100 minutes of real time, and a quiet machine. An emulated run that is not
trustworthy is repeated, and does not count if it stays so. Each row has at least 3 emulated runs. Undecided rows get 5
more, and then as many as they need, up to 24 (`--runs`). Each finished run is stored immediately in
`validation/data/twins.json`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bentpipe as bp
from bentpipe.emulation import verdict
from bentpipe.emulation.emulate import whole

HERE = Path(__file__).resolve().parent
KEPT = HERE / "data" / "twins.json"
REPLICATIONS = 30
EMULATIONS = 3
"""Least number of emulated runs of each row."""
WORTHWHILE = 8
"""An undecided row gets this many runs. It gets more only if the number allowed is expected to decide it."""
RUNS = 24
TRIES = 3
SHORT_MARGIN = 0.05
"""The least difference between times of short transfers that matters."""

PATHS = {
    "50 ms": {"duration": "10 s", "delay": "25 ms", "queue": "83 packets"},
    "GEO": {"duration": "30 s", "delay": "300 ms", "queue": "1000 packets"},
}
SENDERS = ("reno", "cubic", "bbr")
LOSSES = (0.0, 0.001, 0.005, 0.01)
WINDOWS = (1, 2, 4, 6, 8)
"""Initial windows of GEO-15 to GEO-19, segments."""
BUFFERS = ("16 kB", "32 kB", "64 kB", "128 kB")


SEND = """
import socket, sys, time
before = time.monotonic()
with socket.socket() as peer:
    peer.connect(("client", 7000))
    peer.sendall(bytes(int(sys.argv[1])))
    peer.shutdown(socket.SHUT_WR)
    while peer.recv(1 << 16):
        pass
print(time.monotonic() - before, file=open(sys.argv[2], "w"))
"""
"""Until the receiver's close comes back: a round trip after its last byte came, as a sender counts its completion."""
TAKE = """
import socket, sys
with socket.socket() as server:
    # A buffer that the kernel does not resize: it would lift the limit of the window with it.
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * int(sys.argv[1]))
    limit = (socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, int(sys.argv[1]))
    server.setsockopt(*limit)
    server.bind(("", 7000))
    server.listen()
    while True:
        peer, _ = server.accept()
        with peer:
            # Again and again: the kernel sets its own when it learns how much memory packets take.
            while peer.recv(1 << 20):
                peer.setsockopt(*limit)
"""


@dataclass(frozen=True)
class Bulk:
    """A transfer without end: a row of `bentpipe twin`."""

    path: str
    cc: str
    loss: float

    @property
    def key(self) -> str:
        return f"{self.cc}, {self.path}, {self.loss:.1%}"

    def scenario(self) -> bp.Scenario:
        path = PATHS[self.path]
        link = {"from": "server", "to": "client", "rate": "20 Mbit/s", "delay": path["delay"], "queue": path["queue"]}
        if self.loss:
            link["forward"] = {"error": {"kind": "packet", "rate": self.loss}}
        return bp.Scenario(
            {
                "title": self.key,
                "duration": path["duration"],
                "link": {"path": link},
                "flow": {"bulk": {"from": "server", "to": "client"}},
            }
        )

    def measured(self, found: dict[str, Any], runs: int) -> dict[str, Any]:
        """The row with `runs` further emulated runs."""
        rows = found.get("runs", [])
        seeds = [row["seed"] for row in rows if row["side"] == "emulated"]
        first = max(seeds, default=0) + 1
        new = bp.twin(
            self.scenario().with_seed(first),
            cc=self.cc,
            replications=REPLICATIONS if not rows else max(runs, 2),
            emulations=runs,
            progress=lambda text: print(f"  {text}", end="\r", flush=True),
        )
        known = {(row["side"], row["seed"]) for row in rows}
        rows = rows + [rounded(row) for row in new.runs.to_dicts() if (row["side"], row["seed"]) not in known]
        notes = found.get("notes") or list(new.notes)
        return judged({"kernel": new.kernel, "notes": notes, "runs": rows})


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Round to a readable number of digits."""
    return {key: float(f"{value:.7g}") if isinstance(value, float) else value for key, value in row.items()}


def judged(found: dict[str, Any]) -> dict[str, Any]:
    """A bulk transfer with its verdict."""
    quantities = verdict.judge_runs(found["runs"], {})
    return {
        **found,
        "verdict": verdict.whole(quantities),
        "more_runs": verdict.more_runs(quantities),
        "quantities": [each.to_dict() for each in quantities],
        "trusted": sum(row["side"] == "emulated" and row["is_trustworthy"] for row in found["runs"]),
    }


@dataclass(frozen=True)
class Short:
    """A transfer of some size over GEO, with an initial window and a receiver's window: GEO-15 to GEO-19."""

    size_bytes: int
    initial_window: int
    buffer: str

    @property
    def key(self) -> str:
        return f"{self.size_bytes // 1000} kB, initial window {self.initial_window}, buffer {self.buffer}"

    @property
    def buffer_bytes(self) -> int:
        return int(self.buffer.split()[0]) * 1024

    def scenario(self, app: Any) -> bp.Scenario:
        link = {"from": "server", "to": "client", "rate": "1536 kbit/s", "delay": "265 ms", "queue": "100 packets"}
        return bp.Scenario(
            {
                "title": self.key,
                "duration": "120 s",
                "tcp": {
                    "like": "linux-6",
                    "cc": "reno",
                    "initial_window": f"{self.initial_window} segments",
                    "receive_buffer": f"{self.buffer_bytes} B",
                },
                "link": {"path": link},
                "flow": {"file": {"from": "server", "to": "client", "app": app}},
            }
        )

    def measured(self) -> dict[str, Any]:
        app = {"kind": "file", "size": f"{self.size_bytes} B"}
        simulated_s = bp.run(self.scenario(app)).flows["completion_s"][0]
        times, trusted = [], 0
        file = KEPT.with_suffix(".time")
        for _ in range(EMULATIONS * TRIES):
            found = bp.emulate(
                self.scenario("port"),
                [sys.executable, "-c", SEND, str(self.size_bytes), str(file)],
                serve=[sys.executable, "-c", TAKE, str(self.buffer_bytes)],
                at="server",
                cc="reno",
                initial_window=self.initial_window,
                quiet=True,
            )
            whole(found)
            took_s = float(file.read_text())
            file.unlink()
            if found.trust.is_trustworthy:
                trusted += 1
                times.append(took_s)
            if trusted == EMULATIONS:
                break
        if not times:
            return {"verdict": "No verdict: no emulated run was trustworthy.", "trusted": 0}
        about = {"simulated_s": simulated_s, "emulated_s": statistics.fmean(times), "times_s": times}
        return judged_short({**about, "kernel": found.kernel, "trusted": trusted})


def judged_short(found: dict[str, Any]) -> dict[str, Any]:
    """A short transfer with its verdict."""
    simulated, times = found["simulated_s"], found["times_s"]
    if len(times) < 2:
        return {**found, "verdict": "Cannot tell."}
    # The simulated transfer has no randomness.
    spread = verdict.Spread(found["emulated_s"] - simulated, statistics.variance(times), 0.0, REPLICATIONS, None, 0.0)
    each = verdict.judge_summaries(
        "completion_s", simulated, found["emulated_s"], SHORT_MARGIN * simulated, spread, len(times), 1
    )
    return {**found, "verdict": f"{each.verdict.capitalize()}."}


BULK = [Bulk(path, cc, loss) for path in PATHS for cc in SENDERS for loss in LOSSES]
SHORT = [
    *(Short(100_000, window, "64 kB") for window in WINDOWS),
    *(Short(500_000, 10, buffer) for buffer in BUFFERS),
]


def load() -> dict[str, Any]:
    """The kept rows, judged again."""
    written = json.loads(KEPT.read_text()) if KEPT.is_file() else {}
    rows = {key: unpacked(found) for key, found in written.items()}
    for row in BULK:
        if row.key in rows:
            rows[row.key] = judged(rows[row.key])
    for short in SHORT:
        if (found := rows.get(short.key)) and found.get("trusted"):
            rows[short.key] = judged_short(found)
    return rows


def save(rows: dict[str, Any]) -> None:
    """A line for each case; its runs without the names of their columns, which are the same for all."""
    lines = [f"{json.dumps(key)}: {json.dumps(packed(found), separators=(',', ':'))}" for key, found in rows.items()]
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def packed(found: dict[str, Any]) -> dict[str, Any]:
    """Drop values that follow from the runs."""
    runs = found.get("runs")
    if not isinstance(runs, list):
        return found
    kept = {key: found[key] for key in ("kernel", "notes")}
    # Runs of earlier versions have no counters.
    columns = list(dict.fromkeys(name for run in runs for name in run))
    return {**kept, "runs": {"columns": columns, "rows": [[run.get(name) for name in columns] for run in runs]}}


def unpacked(found: dict[str, Any]) -> dict[str, Any]:
    """Restore the runs that `packed` wrote."""
    runs = found.get("runs")
    if not isinstance(runs, dict):
        return found
    return {**found, "runs": [dict(zip(runs["columns"], row, strict=True)) for row in runs["rows"]]}


def wanted(found: dict[str, Any], most: int) -> int:
    """Emulated runs that a bulk transfer gets next; 0: it is decided, or the runs allowed cannot decide it."""
    if "runs" not in found:
        return EMULATIONS
    tried, trusted, more = sum(row["side"] == "emulated" for row in found["runs"]), found["trusted"], found["more_runs"]
    if trusted < EMULATIONS:
        return EMULATIONS - trusted if tried < TRIES * EMULATIONS else 0
    if more == 0 or tried >= most:
        return 0
    if trusted < WORTHWHILE:
        return 1
    return min(more, 3, most - tried) if more is not None and tried + more <= most else 0


def next_bulk(rows: dict[str, Any], most: int, only: str = "") -> tuple[Bulk, int] | None:
    """The transfer that needs the least real time to be decided, and how many runs it gets."""
    open_ones = [(row, wanted(rows.get(row.key, {}), most)) for row in BULK if only in row.key]
    open_ones = [(row, runs) for row, runs in open_ones if runs]

    def cost(each: tuple[Bulk, int]) -> tuple[bool, float]:
        found = rows.get(each[0].key, {})
        is_begun = found.get("trusted", 0) >= EMULATIONS and "runs" in found
        more = (found["more_runs"] or verdict.MORE_MOST) if is_begun else 0
        return is_begun, more * float(PATHS[each[0].path]["duration"].split()[0])

    return min(open_ones, key=cost, default=None)


def measure(minutes: float, again: str | None, most: int) -> None:
    """Measure missing rows, then the runs that decide rows."""
    rows, until = load(), time.monotonic() + 60 * minutes
    only = again or ""
    if again is not None:
        rows = {key: row for key, row in rows.items() if again not in key}
    for short in SHORT:
        if only in short.key and time.monotonic() < until and not rows.get(short.key, {}).get("trusted"):
            rows[short.key] = short.measured()
            save(rows)
            print(f"{short.key}: {rows[short.key]['verdict']}", flush=True)
    while time.monotonic() < until and (following := next_bulk(rows, most, only)):
        row, runs = following
        found = rows.get(row.key, {})
        rows[row.key] = row.measured(found if "runs" in found else {}, runs)
        save(rows)
        print(f"{row.key}, {rows[row.key]['trusted']} runs: {rows[row.key]['verdict']}", flush=True)
    if next_bulk(rows, most, only):
        print("out of time: call again for the rest")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=240.0)
    parser.add_argument("--runs", type=int, default=RUNS, help="Emulated runs of a row, at most.")
    parser.add_argument("--again", metavar="TEXT")
    parser.add_argument("--fresh", action="store_true")
    asked = parser.parse_args()
    measure(asked.minutes, "" if asked.fresh else asked.again, asked.runs)


if __name__ == "__main__":
    main()

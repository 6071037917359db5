"""Set the TCP of this machine's kernel beside the simulator: the same transfers in real time and in virtual time.

    .venv/bin/python validation/twins.py               # do what is missing, and write docs/validation/twins.md
    .venv/bin/python validation/twins.py --minutes 5   # stop after so long; the next call goes on
    .venv/bin/python validation/twins.py --again bbr   # do rows with this in their names again
    .venv/bin/python validation/twins.py --text        # write the page from what is there

It needs Linux and private namespaces, takes 20 minutes of real time, and wants a quiet machine: an emulated run that
is not trustworthy is done again, and a row without a trustworthy run stays missing. What is finished is kept in
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

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "validation" / "twins.md"
KEPT = HERE / "data" / "twins.json"
REPLICATIONS = 30
EMULATIONS = 2
TRIES = 3
AGREES = 0.05
"""How far times of short transfers may differ."""

PATHS = {
    "50 ms": {"duration": "10 s", "delay": "25 ms", "queue": "83 packets"},
    "GEO": {"duration": "30 s", "delay": "300 ms", "queue": "1000 packets"},
}
SENDERS = ("reno", "cubic", "bbr")
LOSSES = (0.0, 0.001, 0.005, 0.01)
WINDOWS = (1, 2, 4, 6, 8)
"""Initial windows of GEO-15 to GEO-19, segments."""
BUFFERS = ("16 kB", "32 kB", "64 kB", "128 kB")

QUANTITIES = {
    "goodput_bps": ("goodput, Mbit/s", 1e-6, 2),
    "cwnd_mean_bytes": ("mean window, kB", 1e-3, 0),
    "cwnd_first_loss_bytes": ("window before first loss, kB", 1e-3, 0),
    "srtt_p50_s": ("median round trip, ms", 1e3, 1),
    "srtt_p95_s": ("95 % round trip, ms", 1e3, 1),
    "drops": ("lost", 1, 0),
    "retransmissions": ("resent", 1, 0),
}

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

    def measure(self) -> dict[str, Any]:
        say = lambda text: print(f"  {text}", end="\r", flush=True)  # noqa: E731
        found = bp.twin(
            self.scenario(), cc=self.cc, replications=REPLICATIONS, emulations=EMULATIONS, progress=say
        ).to_dict()
        kept = ("verdict", "quantities", "notes", "kernel")
        trusted = sum(each["is_trustworthy"] for each in found["trust"])
        return {**{key: found[key] for key in kept}, "trusted": trusted, "runs": len(found["trust"])}


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

    def measure(self) -> dict[str, Any]:
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
            took_s = float(file.read_text())
            file.unlink()
            if found.trust.is_trustworthy:
                trusted += 1
                times.append(took_s)
            if trusted == EMULATIONS:
                break
        if not times:
            return {"verdict": "No verdict: no emulated run was trustworthy.", "trusted": 0}
        emulated_s = statistics.fmean(times)
        off = emulated_s / simulated_s - 1
        verdict = "Agrees." if abs(off) <= AGREES else f"Differs by {off:+.0%}."
        about = {"simulated_s": simulated_s, "emulated_s": emulated_s, "times_s": times, "kernel": found.kernel}
        return {"verdict": verdict, "trusted": trusted, "runs": trusted, **about}


BULK = [Bulk(path, cc, loss) for path in PATHS for cc in SENDERS for loss in LOSSES]
SHORT = [
    *(Short(100_000, window, "64 kB") for window in WINDOWS),
    *(Short(500_000, 10, buffer) for buffer in BUFFERS),
]

REASONS = {
    "reno, 50 ms, 0.0%": "The kernel's window is read every 20 ms, in which slow start goes on: its peak is missed.",
    "reno, 50 ms, 1.0%": (
        "The seeds of the two emulated runs: in one of them slow start meets no loss, and fills the queue. Simulated"
        " with these two alone the 95 % round trip is 67.9 ms, too."
    ),
    "bbr, 50 ms": "The kernel's window is read every 20 ms, in which start-up goes on: its peak is missed.",
    "bbr, GEO, 0.0%": (
        "The kernel probes the round trip twice in these 30 s, a simulated sender once or twice, as chance has it that"
        " a lower one is seen: with two probes it has 14.9 Mbit/s as well, with one 15.7."
    ),
    "bbr, GEO, 1.0%": "The receiver's window, which the simulated receiver has as large as can be.",
}
"""Why rows differ, by the beginnings of their names: causes that were taken away, and what was left then."""


def load() -> dict[str, Any]:
    return dict(json.loads(KEPT.read_text())) if KEPT.is_file() else {}


def measure(minutes: float, again: str | None) -> None:
    rows, until = load(), time.monotonic() + 60 * minutes
    if again is not None:
        rows = {key: row for key, row in rows.items() if again not in key}
    for row in [*BULK, *SHORT]:
        if rows.get(row.key, {}).get("trusted"):
            continue
        if time.monotonic() > until:
            print("out of time: call again for the rest")
            return
        rows[row.key] = row.measure()
        KEPT.write_text(json.dumps(rows, indent=1) + "\n")
        print(f"{row.key}: {rows[row.key]['verdict']}", flush=True)


def number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}"


def bulk_row(row: Bulk, found: dict[str, Any]) -> str:
    quantities = {each["quantity"]: each for each in found["quantities"]}
    cells = []
    for name, (_, factor, digits) in QUANTITIES.items():
        each = quantities[name]
        low, high, simulated, emulated = (each[key] * factor for key in ("low", "high", "simulated", "emulated"))
        interval = f" ({number(low, digits)} to {number(high, digits)})" if row.loss and name == "goodput_bps" else ""
        cells.append(f"{number(simulated, digits)}{interval} / {number(emulated, digits)}")
    verdict = found["verdict"].rstrip(".")
    return f"| {row.cc}, {row.path}, {row.loss:.1%} | {' | '.join(cells)} | {verdict[0].lower()}{verdict[1:]} |"


def page(rows: dict[str, Any]) -> str:
    bulk = [row for row in BULK if rows.get(row.key, {}).get("trusted")]
    short = [row for row in SHORT if rows.get(row.key, {}).get("trusted")]
    missing = [row.key for row in [*BULK, *SHORT] if not rows.get(row.key, {}).get("trusted")]
    release = next((rows[row.key]["kernel"]["release"] for row in bulk), "none")
    series = release.split("-")[0].rpartition(".")[0]
    heads = [head for head, _, _ in QUANTITIES.values()]
    lines = [
        "<!-- Generated by validation/twins.py; its texts are there. -->",
        "# Twins: the kernel beside the simulator",
        "",
        f"The TCP of Linux {series} did these transfers in real time over [the simulated path](../guides/emulate.md),",
        "and the simulator did the same with the preset `linux-6`. `python validation/twins.py` measures both again on",
        "your kernel; it takes 20 minutes and wants a quiet machine.",
        "[How far can I trust the simulator?](../guides/twin.md) says how the two are compared.",
        "",
        "## Bulk transfers",
        "",
        "20 Mbit/s, tail drop: 10 s over 50 ms with a queue of 83 packets, 30 s over GEO: 600 ms, 1000 packets.",
        f"Packets are lost at random. Each cell is simulated / emulated: means of {REPLICATIONS} seeds and of up to",
        f"{EMULATIONS} runs of the kernel that could be trusted, over the same losses.",
        "In parentheses stands the simulator's interval of prediction, in which the mean of so many runs lies with a",
        "probability of 95 % if kernel and simulator do the same.",
        "",
        f"| case | {' | '.join(heads)} | verdict |",
        f"|---|{'---|' * len(heads)}---|",
        *(bulk_row(row, rows[row.key]) for row in bulk),
        "",
    ]
    for row in bulk:
        found = rows[row.key]
        if found["verdict"] != "Agrees.":
            reason = next((text for key, text in REASONS.items() if row.key.startswith(key)), "")
            said = " ".join(found["notes"])
            lines += [f"**{row.key}.** {reason} {said}".replace("  ", " "), ""]
    lines += [
        "## Initial windows and buffers over GEO",
        "",
        "The time from a sender's SYN to the last acknowledgement, Reno, 1536 kbit/s, a round trip of 530 ms:",
        "100 kB with the initial windows of [GEO-15 to GEO-19](../papers/geo.md#geo-15) and a receiver's window of",
        f"64 kB, and 500 kB with other windows of the receiver. They agree within {AGREES:.0%}.",
        "",
        "| transfer | simulated, s | emulated, s | verdict |",
        "|---|---:|---:|---|",
        *(
            f"| {row.key} | {rows[row.key]['simulated_s']:.3f} | {rows[row.key]['emulated_s']:.3f} |"
            f" {rows[row.key]['verdict'].rstrip('.').lower()} |"
            for row in short
        ),
        "",
    ]
    if missing:
        lines += [f"Not measured, for want of an emulated run that could be trusted: {'; '.join(missing)}.", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--again", metavar="TEXT")
    parser.add_argument("--text", action="store_true")
    asked = parser.parse_args()
    if not asked.text:
        measure(asked.minutes, asked.again)
    PAGE.write_text(page(load()))


if __name__ == "__main__":
    main()

"""Coverage of the intervals of `bentpipe fit`: real programs over emulated paths with known truth.

    python -m validation.coverage measure FOLDER     # 26 paths of 70 s: ping, and iperf3 in both directions
    python -m validation.coverage others FOLDER      # 6 paths of 100 s: irtt, captures, and iperf3 --bidir
    python -m validation.coverage table FOLDER       # fit all of them, and count the intervals that hold the truth

`measure` needs ping and iperf3, and `others` irtt, too. They leave out paths whose folders are complete. `python -m
tools.docs fits` makes the page.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bentpipe as bp
from validation import kept

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAMS = ("ping", "iperf3", "irtt")
PINGS, TRANSFER_S = 1500, 30
JOBS = 2
MEASURING = (
    "ping -D -q -i 0.01 -c 1 server > /dev/null",
    f"ping -D -i 0.01 -c {PINGS} server > ping.txt",
    f"iperf3 -c server -R -J -i 0.1 -t {TRANSFER_S} --get-server-output > down.json",
    "sleep 2",
    f"iperf3 -c server -J -i 0.1 -t {TRANSFER_S} > up.json",
    "sleep 1",
)
OTHERS = (
    "ping -D -q -i 0.01 -c 1 server > /dev/null",
    f"irtt client -q -i 10ms -d {TRANSFER_S}s -o irtt.json server > /dev/null",
    f"iperf3 -c server -R -J -i 0.1 -t {TRANSFER_S} > plain.json",
    "sleep 2",
    f"iperf3 -c server --bidir -J -i 0.1 -t {TRANSFER_S} --get-server-output > bidir.json",
    "sleep 1",
)
SERVERS = "sh -c 'irtt server > /dev/null & exec iperf3 -s -J -i 0.1 > /dev/null'"
FILES = {
    "irtt": ("irtt.json",),
    "iperf3 --bidir": ("bidir.json",),
    "capture of the sender": ("ends-server.pcapng",),
    "captures of both ends": ("ends-server.pcapng", "ends-terminal.pcapng"),
}
"""Files of each of the other tools."""
SCENARIO = """
title = "coverage"
duration = "{duration} s"
[link.path]
from = "server"
to = "terminal"
delay = "{delay_ms} ms"
{jitter}
[link.path.forward]
rate = "{down} Mbit/s"
queue = "{down_queue} B"
error = {down_error}
[link.path.reverse]
rate = "{up} Mbit/s"
queue = "{up_queue} B"
error = {up_error}
[flow.real]
from = "server"
to = "terminal"
app = "port"
"""


@dataclass(frozen=True)
class Truth:
    """A path: rates in Mbit/s, queues in bytes, losses per packet, round trip in ms."""

    down: float
    up: float
    rtt_ms: float
    down_queue: int
    up_queue: int
    down_loss: float = 0.0
    up_loss: float = 0.0
    burst_ms: float = 0.0
    """Mean length of bursts of errors; 0: independent errors."""
    jitter_ms: float = 0.0
    cc: str = "cubic"

    @property
    def name(self) -> str:
        """A name for the folder."""
        return "-".join(f"{value}" for value in asdict(self).values())

    def error(self, loss: float) -> str:
        """Return the error model of a direction in TOML."""
        if not loss:
            return '"none"'
        if not self.burst_ms:
            return f'{{ kind = "packet", rate = {loss} }}'
        good = self.burst_ms / 1e3 * (0.5 - loss) / loss
        bursts = f'mean_good = "{good:g} s", mean_bad = "{self.burst_ms:g} ms", rate_bad = 0.5'
        return f'{{ kind = "gilbert-elliott", {bursts} }}'

    def scenario(self) -> str:
        """Return the path in TOML."""
        jitter = f'jitter = {{ delay = {{ kind = "exponential", mean = "{self.jitter_ms:g} ms" }}, every = "20 ms" }}'
        return SCENARIO.format(
            duration=4 * TRANSFER_S + PINGS / 50 + 60,
            delay_ms=self.rtt_ms / 2,
            jitter=jitter if self.jitter_ms else "",
            down=self.down,
            up=self.up,
            down_queue=self.down_queue,
            up_queue=self.up_queue,
            down_error=self.error(self.down_loss),
            up_error=self.error(self.up_loss),
        )


PATHS = (
    Truth(0.25, 0.1, 500, 15_000, 15_000),
    Truth(0.5, 0.25, 280, 20_000, 20_000),
    Truth(0.5, 0.25, 280, 20_000, 20_000, cc="bbr"),
    Truth(1, 0.5, 600, 75_000, 40_000),
    Truth(2, 1, 100, 30_000, 20_000),
    Truth(2, 1, 100, 30_000, 20_000, cc="bbr"),
    Truth(5, 2, 60, 60_000, 30_000, down_loss=0.002, up_loss=0.002),
    Truth(10, 2, 540, 675_000, 135_000),
    Truth(10, 2, 540, 675_000, 135_000, cc="bbr"),
    Truth(8, 4, 40, 60_000, 40_000, down_loss=0.01, up_loss=0.01, burst_ms=50),
    Truth(8, 4, 40, 80_000, 60_000, jitter_ms=3),
    Truth(20, 4, 50, 200_000, 50_000),
    Truth(20, 4, 50, 200_000, 50_000, cc="bbr"),
    Truth(20, 4, 100, 200_000, 50_000, down_loss=0.01, up_loss=0.01),
    Truth(50, 10, 40, 500_000, 100_000),
    Truth(50, 10, 40, 500_000, 100_000, cc="bbr"),
)
LATER = (
    Truth(0.4, 0.15, 400, 20_000, 12_000),
    Truth(0.3, 0.12, 320, 18_000, 12_000, cc="bbr"),
    Truth(1.5, 0.7, 80, 40_000, 15_000),
    Truth(3, 0.8, 550, 150_000, 60_000),
    Truth(6, 1.5, 120, 100_000, 30_000, cc="bbr"),
    Truth(7, 3, 45, 50_000, 35_000, down_loss=0.003, up_loss=0.001),
    Truth(12, 5, 70, 120_000, 60_000, jitter_ms=2),
    Truth(15, 3, 600, 1_000_000, 200_000),
    Truth(25, 6, 35, 150_000, 50_000, down_loss=0.005, up_loss=0.005, burst_ms=30),
    Truth(40, 8, 60, 300_000, 80_000, cc="bbr"),
)
"""Paths that were measured after the estimates were final."""
BY_OTHERS = (
    Truth(0.4, 0.2, 560, 30_000, 20_000),
    Truth(2, 1, 100, 30_000, 20_000, down_loss=0.002, up_loss=0.001),
    Truth(3, 1, 50, 40_000, 25_000, down_loss=0.005, up_loss=0.005, burst_ms=60),
    Truth(4, 1, 600, 300_000, 80_000),
    Truth(5, 2, 80, 60_000, 40_000, jitter_ms=2),
    Truth(8, 2, 45, 80_000, 40_000, cc="bbr"),
)
"""Paths of the other tools."""


def measure(folder: Path, paths: Sequence[Truth], commands: Sequence[str], more: Sequence[str]) -> None:
    """Measure these paths, if they have no complete folder yet."""
    needed = [name for name in PROGRAMS if name in " ".join(commands)]
    if missing := [name for name in needed if shutil.which(name) is None]:
        raise SystemExit(f"error: expected the programs {' and '.join(missing)}")
    left = [truth for truth in paths if not (folder / truth.name / "done").exists()]
    with ThreadPoolExecutor(JOBS) as pool:
        list(pool.map(lambda truth: _measure(folder / truth.name, truth, commands, more), left))


def _measure(folder: Path, truth: Truth, commands: Sequence[str], more: Sequence[str]) -> None:
    """Measure one path in a separate process: an emulation belongs to its main thread."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "path.toml").write_text(truth.scenario())
    (folder / "measure.sh").write_text("\n".join([*commands, ""]))
    asked = [sys.executable, "-m", "bentpipe", "emulate", "path.toml", "--cc", truth.cc, *more]
    asked += ["--", "sh", "-ec", f"cd {folder.resolve()} && . ./measure.sh"]
    done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=False)
    (folder / "log").write_text(done.stdout + done.stderr)
    if done.returncode == 0:
        (folder / "done").touch()
    print(f"{truth.name}: {'measured' if done.returncode == 0 else done.stderr.strip().splitlines()[-1:]}", flush=True)


def table(folder: Path) -> None:
    """Fit all measured paths, and count by quantity and tool the intervals that hold the truth."""
    rows: list[dict[str, Any]] = []
    for truth in (*PATHS, *LATER):
        rows += _judge(folder / truth.name, truth, "", ("ping.txt", "down.json", "up.json"))
    if rows:
        kept.save("coverage", rows)
    others = [
        row
        for truth in BY_OTHERS
        for tool, files in FILES.items()
        for row in _judge(folder / truth.name, truth, tool, files)
    ]
    if others:
        kept.save("coverage_others", others)
    for name in ("rate", "queue", "retransmitted", "loss"):
        mine = [row for row in (*rows, *others) if row["name"].startswith(name)]
        print(f"{name}: {sum(row['holds'] for row in mine)} of {len(mine)}")


def _judge(place: Path, truth: Truth, tool: str, files: Sequence[str]) -> list[dict[str, Any]]:
    """Fit the files of a measured path, and compare its numbers with the truth."""
    if not (place / "done").exists():
        return []
    found = bp.fit([place / name for name in files], check=False, held_out=False)
    values: dict[str, float] = {}
    for way, rate, queue, loss in (
        ("forward", truth.down, truth.down_queue, truth.down_loss),
        ("reverse", truth.up, truth.up_queue, truth.up_loss),
    ):
        values |= {f"rate {way}": 1e6 * rate, f"queue {way}": queue}
        values |= {f"{kind} {way}": loss for kind in ("retransmitted", "loss") if loss}
    rows: list[dict[str, Any]] = []
    for name, value in values.items():
        number = found.by_name.get(name)
        if number is None or number.value is None or number.kind == "assumed":
            continue
        high = number.high if number.high is not None and number.kind != "lower bound" else float("inf")
        low = number.low if number.low is not None else number.value
        rows.append(
            {
                "path": asdict(truth),
                "name": name,
                "truth": value,
                "value": number.value,
                "text": number.text,
                "kind": number.kind,
                "holds": bool(low <= value <= high),
                "is_later": truth in LATER,
                **({"tool": tool} if tool else {}),
            }
        )
        print(f"{truth.name} {tool} {name}: {number.text}, truth {value:g}: {'holds' if rows[-1]['holds'] else 'NOT'}")
    return rows


def main() -> None:
    """Measure, or make the table."""
    match sys.argv[1:]:
        case ["measure", folder]:
            measure(Path(folder), (*PATHS, *LATER), MEASURING, ["--serve", "iperf3 -s -J -i 0.1"])
        case ["others", folder]:
            measure(Path(folder), BY_OTHERS, OTHERS, ["--serve", SERVERS, "--pcap", "ends.pcapng"])
        case ["table", folder]:
            table(Path(folder))
        case _:
            raise SystemExit("error: expected python -m validation.coverage and measure, others or table, and a folder")


if __name__ == "__main__":
    kept.begin(__doc__, "COMMAND")
    main()

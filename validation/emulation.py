"""Measures the emulator: throughput beside a plain pair of devices, lateness, processor, start-up, and a busy machine.

    python -m validation.emulation
    python -m tools.docs emulation     # after that: the page

It takes five minutes and needs a release build (`make release`), `ip`, `unshare` and `nsenter`. Speed depends on the
machine and its other work. So the same two programs also measure two network namespaces joined by a pair of devices, in
turn with the emulator. The numbers go into `validation/data/emulation.json`, as the cells of the page's tables.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bentpipe as bp
from bentpipe._core import build_info
from bentpipe.emulation.emulate import find_program, whole
from validation import kept

if TYPE_CHECKING:
    from bentpipe.emulation.emulate import Emulation

Rows = list[list[str]]
ROUNDS = 3
SECONDS = 4
CC = "reno"
"""It has no HyStart, which takes ACKs that come late on a busy machine for a queue, and ends slow start."""
DEVICES = [(backend, offload) for backend in ("tun", "packet") for offload in ("on", "off")]
SLOW = (("20 Mbit/s", "83 packets"), ("80 Mbit/s", "333 packets"))
FAST = (("1 Gbit/s", "2500 packets"), ("2 Gbit/s", "5000 packets"))
"""Rates and queues of the paths whose lateness is measured."""

PLAIN = f"""
set -e
ip link set lo up
unshare --net sleep 100 & far=$!
sleep 0.3
ip link add va type veth peer name vb
ip link set vb netns $far
ip address add 10.78.0.1/24 dev va
ip link set va up
ip route replace 10.78.0.0/24 dev va scope link src 10.78.0.1 congctl {CC}
there="nsenter --net=/proc/$far/ns/net"
$there ip address add 10.78.0.2/24 dev vb
$there ip link set vb up
{sys.executable} -m bentpipe.emulation.programs bulk & server=$!
until BENTPIPE_PEER=10.78.0.1 $there {sys.executable} -m bentpipe.emulation.programs fetch {SECONDS} 2>/dev/null
do sleep 0.1; done
kill $server $far
"""


def path(rate: str, delay: str, queue: str, seconds: float) -> bp.Scenario:
    """A path between two hosts."""
    link = {"from": "server", "to": "user", "rate": rate, "delay": delay, "queue": queue}
    flow = {"from": "server", "to": "user", "app": "port"}
    return bp.Scenario({"duration": f"{seconds} s", "link": {"path": link}, "flow": {"real": flow}})


def plain_mbps() -> float:
    """Two namespaces without an emulator between them."""
    command = ["unshare", "--user", "--map-root-user", "--net", "--mount", "sh", "-c", PLAIN]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-2])


def bulk(scenario: bp.Scenario, **more: Any) -> tuple[float, Emulation]:
    """Throughput of one transfer, Mbit/s, and the program that measured it."""
    command = [*find_program("fetch"), str(SECONDS)]
    found = whole(bp.emulate(scenario, command, serve="bulk", cc=CC, quiet=True, **more))
    sender = found.connections.sort("acked_bytes").row(-1, named=True)
    return float(sender["acked_bytes"]) * 8e-6 / SECONDS, found


def throughput() -> Rows:
    """Largest rate of each kind of device."""
    scenario = path("10 Gbit/s", "10 ms", "100000 packets", SECONDS + 2)
    plain: list[float] = []
    kinds: dict[tuple[str, str], list[tuple[float, Emulation]]] = {kind: [] for kind in DEVICES}
    for _ in range(ROUNDS):
        plain.append(plain_mbps())
        for backend, offload in DEVICES:
            kinds[backend, offload].append(bulk(scenario, backend=backend, offload=offload))
    rows = [["a plain pair, no delay", f"{statistics.median(plain):.0f}", "1", "", "", ""]]
    for (backend, offload), runs in kinds.items():
        mbps = statistics.median(mbps for mbps, _ in runs)
        # Each round has its own plain pair, since the speed of the machine changes.
        share = statistics.median(mbps / beside for (mbps, _), beside in zip(runs, plain, strict=True))
        packets = statistics.median(found.trust.packets_left / SECONDS for _, found in runs)
        per_ack = statistics.median(found.trust.data_per_ack or 0 for _, found in runs)
        lost = statistics.median(found.trust.lost_outside for _, found in runs)
        numbers = [f"{mbps:.0f}", f"{share:.2f}", f"{packets:.0f}", f"{per_ack:.1f}", f"{lost:.0f}"]
        rows.append([f"{backend}, offload {offload}", *numbers])
    return rows


def lateness() -> Rows:
    """Measurements at rates of satellites, and of fast paths with the devices that users get."""
    slow = [(rate, "25 ms", queue, *kind) for rate, queue in SLOW for kind in DEVICES]
    fast = [(rate, "10 ms", queue, "tun", "on") for rate, queue in FAST]
    rows = []
    for rate, delay, queue, backend, offload in slow + fast:
        scenario = path(rate, delay, queue, SECONDS + 2)
        runs = [bulk(scenario, backend=backend, offload=offload)[1].trust for _ in range(ROUNDS)]
        found = sorted(runs, key=lambda trust: trust.late_p999_s)[ROUNDS // 2]
        cells = [
            f"{rate}, {2 * int(delay.split()[0])} ms",
            f"{backend}, offload {offload}",
            f"{found.packets_left / SECONDS:.0f}",
            *(f"{s * 1e6:.0f} µs" for s in (found.late_mean_s, found.late_p99_s, found.late_p999_s)),
            f"{found.late_packets / found.packets_left:.2%}",
            f"{found.longest_turn_s * 1e3:.1f} ms",
            f"{found.cpu_s / SECONDS:.0%}",
            f"{found.stolen_share:.1%}",
        ]
        rows.append(cells)
    return rows


def start_up() -> Rows:
    """Time from the call to its return, with a program that does nothing."""
    rows = []
    star = {f"l{n}": {"from": "a", "to": f"b{n:02}", "rate": "1 Mbit/s", "delay": "1 ms"} for n in range(49)}
    flows = {f"f{n}": {"from": "a", "to": f"b{n:02}", "app": "port"} for n in range(49)}
    many = bp.Scenario({"duration": "30 s", "link": star, "flow": flows})
    for hosts, scenario in ((2, path("20 Mbit/s", "25 ms", "83 packets", 30)), (50, many)):
        for backend in ("tun", "packet"):
            took = []
            for _ in range(5):
                start = time.monotonic()
                bp.emulate(scenario, ["true"], backend=backend)
                took.append(time.monotonic() - start)
            rows.append([str(hosts), backend, f"{statistics.median(took) * 1e3:.0f} ms"])
    return rows


def captures(folder: Path) -> Rows:
    """Their cost for a transfer that fills 1 Gbit/s, and processor time for each packet."""
    scenario = path("1 Gbit/s", "1 ms", "1000 packets", SECONDS + 2)
    runs: dict[str, list[tuple[float, float]]] = {"without": [], "with `--pcap`": []}
    for _ in range(ROUNDS):
        for (_, costs), pcap in zip(runs.items(), (None, folder / "speed.pcapng"), strict=True):
            mbps, found = bulk(scenario, pcap=pcap)
            costs.append((mbps, found.trust.cpu_s / found.trust.packets_entered * 1e6))
    for file in folder.glob("speed-*.pcapng"):
        file.unlink()
    rows = []
    for name, costs in runs.items():
        mbps, cost = (statistics.median(column) for column in zip(*costs, strict=True))
        rows.append([name, f"{mbps:.0f}", f"{cost:.1f} µs"])
    return rows


def busy() -> Rows:
    """Reports of a run on its own accuracy, alone and with loops on each processor."""
    scenario = path("20 Mbit/s", "25 ms", "83 packets", SECONDS + 2)
    rows = []
    for count in (0, 1, 4, 8):
        command = [sys.executable, "-c", "while True: pass"]
        loops = [subprocess.Popen(command) for _ in range(count * (os.cpu_count() or 1))]
        try:
            rows.append([str(count), bulk(scenario)[1].trust.sentence])
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()
    return rows


def gone_ms() -> float:
    """Time until everything is gone after the command was killed."""
    mark = f"bentpipe-{uuid.uuid4()}"
    scenario = Path(__file__).parent / "drops.toml"
    command = [sys.executable, "-m", "bentpipe", "emulate", str(scenario), "--serve", "bulk", "--", "sleep", "100"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    top = subprocess.Popen(command, env={**os.environ, "MARK": mark}, **quiet)

    def left() -> int:
        count = 0
        for file in Path("/proc").glob("[0-9]*/environ"):
            try:
                count += mark.encode() in file.read_bytes()
            except OSError:
                continue
        return count

    # The command, the front, the engine, the observer of wake-ups, and both programs.
    while left() < 6:
        time.sleep(0.05)
    start = time.monotonic()
    os.kill(top.pid, signal.SIGKILL)
    top.wait()
    while left():
        time.sleep(0.002)
    return (time.monotonic() - start) * 1e3


def main() -> None:
    """Measure and keep the numbers."""
    # Installed packages have compiled modules.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    found = {
        "release": os.uname().release.split("-")[0],
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0]),
        "rounds": ROUNDS,
        "seconds": SECONDS,
        "is_debug": build_info()["profile"] == "debug",
        "throughput": throughput(),
        "lateness": lateness(),
        "start_up": start_up(),
        "gone_ms": round(statistics.median(gone_ms() for _ in range(5))),
        "captures": captures(kept.DATA),
        "busy": busy(),
    }
    kept.save("emulation", found)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    kept.begin(__doc__)
    main()

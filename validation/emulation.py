"""Measure the emulator: throughput beside a plain pair of devices, lateness, processor, start-up, and a busy machine.

    .venv/bin/python validation/emulation.py           # print the page
    .venv/bin/python validation/emulation.py --write   # and write docs/validation/emulation.md

It takes five minutes and needs an extension as users have it (`make release`), `ip`, `unshare` and `nsenter`. Speed
depends on the machine and on what else it does, so that throughput is compared with that of two network namespaces
joined by a pair of devices, measured in turn with it by the same two programs.
"""

from __future__ import annotations

import argparse
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
from bentpipe.emulation.emulate import built_in

if TYPE_CHECKING:
    from bentpipe.emulation.emulate import Emulation

PAGE = Path(__file__).resolve().parent.parent / "docs" / "validation" / "emulation.md"
ROUNDS = 3
SECONDS = 4
CC = "reno"
"""It has no HyStart, which takes ACKs that come late on a busy machine for a queue, and ends slow start."""
DEVICES = [(backend, offload) for backend in ("tun", "packet") for offload in ("on", "off")]

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
    """Throughput of one transfer, Mbit/s, and what it was measured by."""
    command = [*built_in("fetch"), str(SECONDS)]
    found = bp.emulate(scenario, command, serve="bulk", cc=CC, quiet=True, **more)
    sender = found.connections.sort("acked_bytes").row(-1, named=True)
    return float(sender["acked_bytes"]) * 8e-6 / SECONDS, found


def throughput() -> str:
    """The largest rate that each kind of device carries."""
    scenario = path("10 Gbit/s", "10 ms", "100000 packets", SECONDS + 2)
    plain: list[float] = []
    kinds: dict[tuple[str, str], list[tuple[float, Emulation]]] = {kind: [] for kind in DEVICES}
    for _ in range(ROUNDS):
        plain.append(plain_mbps())
        for backend, offload in DEVICES:
            kinds[backend, offload].append(bulk(scenario, backend=backend, offload=offload))
    rows = [
        "| devices | Mbit/s | of plain | packets/s, both ways | segments for each ACK | lost outside |",
        "|---|---:|---:|---:|---:|---:|",
        f"| a plain pair, no delay | {statistics.median(plain):.0f} | 1 | | | |",
    ]
    for (backend, offload), runs in kinds.items():
        mbps = statistics.median(mbps for mbps, _ in runs)
        # Each round beside its own plain pair: the machine is not the same all the time.
        share = statistics.median(mbps / beside for (mbps, _), beside in zip(runs, plain, strict=True))
        packets = statistics.median(found.trust.packets_left / SECONDS for _, found in runs)
        per_ack = statistics.median(found.trust.data_per_ack or 0 for _, found in runs)
        lost = statistics.median(found.trust.lost_outside for _, found in runs)
        rows.append(
            f"| {backend}, offload {offload} | {mbps:.0f} | {share:.2f} | {packets:.0f} | {per_ack:.1f} | {lost:.0f} |"
        )
    return "\n".join(rows)


def lateness() -> str:
    """At rates that satellites have."""
    rows = [
        "| path | devices | packets/s | late: mean | 99 % | 99.9 % | over 1 ms | longest gap | processor |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for rate, queue in (("20 Mbit/s", "83 packets"), ("80 Mbit/s", "333 packets")):
        for backend, offload in DEVICES:
            runs = [
                bulk(path(rate, "25 ms", queue, SECONDS + 2), backend=backend, offload=offload)[1].trust
                for _ in range(ROUNDS)
            ]
            found = sorted(runs, key=lambda trust: trust.late_p999_s)[ROUNDS // 2]
            cells = [
                f"{rate}, 50 ms",
                f"{backend}, offload {offload}",
                f"{found.packets_left / SECONDS:.0f}",
                *(f"{s * 1e6:.0f} µs" for s in (found.late_mean_s, found.late_p99_s, found.late_p999_s)),
                f"{found.late_packets / found.packets_left:.2%}",
                f"{found.longest_turn_s * 1e3:.1f} ms",
                f"{found.cpu_s / SECONDS:.0%}",
            ]
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def start_up() -> str:
    """From the call to its return, with a program that does nothing."""
    rows = ["| hosts | devices | median of 5 |", "|---|---|---:|"]
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
            rows.append(f"| {hosts} | {backend} | {statistics.median(took) * 1e3:.0f} ms |")
    return "\n".join(rows)


def captures(folder: Path) -> str:
    """What they take from a transfer that fills 1 Gbit/s, and of the processor for each packet."""
    scenario = path("1 Gbit/s", "1 ms", "1000 packets", SECONDS + 2)
    runs: dict[str, list[tuple[float, float]]] = {"without": [], "with `--pcap`": []}
    for _ in range(ROUNDS):
        for (_, costs), pcap in zip(runs.items(), (None, folder / "speed.pcapng"), strict=True):
            mbps, found = bulk(scenario, pcap=pcap)
            costs.append((mbps, found.trust.cpu_s / found.trust.packets_entered * 1e6))
    for file in folder.glob("speed-*.pcapng"):
        file.unlink()
    rows = ["| captures | Mbit/s | processor for each packet |", "|---|---:|---:|"]
    for name, costs in runs.items():
        mbps, cost = (statistics.median(column) for column in zip(*costs, strict=True))
        rows.append(f"| {name} | {mbps:.0f} | {cost:.1f} µs |")
    return "\n".join(rows)


def busy() -> str:
    """What a run says of itself, alone and with loops on each processor."""
    scenario = path("20 Mbit/s", "25 ms", "83 packets", SECONDS + 2)
    rows = ["| loops on each processor | verdict |", "|---|---|"]
    for count in (0, 1, 4, 8):
        command = [sys.executable, "-c", "while True: pass"]
        loops = [subprocess.Popen(command) for _ in range(count * (os.cpu_count() or 1))]
        try:
            rows.append(f"| {count} | {bulk(scenario)[1].trust.sentence} |")
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()
    return "\n".join(rows)


def gone_ms() -> float:
    """How long anything is there after the command was killed."""
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

    # The command, the front, the engine, what watches how programs wake, and both programs.
    while left() < 6:
        time.sleep(0.05)
    start = time.monotonic()
    os.kill(top.pid, signal.SIGKILL)
    top.wait()
    while left():
        time.sleep(0.002)
    return (time.monotonic() - start) * 1e3


TEXT = """<!-- Generated by validation/emulation.py; its texts are there. -->
# Emulation: speed and lateness

What `bentpipe emulate` costs and how late it is, measured by `python validation/emulation.py` on Linux {release} with
{cores} processors, which other work shared: the load was {load:.0f} at the beginning. Speed is that of the machine in
that hour: read ratios. Values are medians of {rounds} runs of {seconds} s{build}.

## How much it carries

One transfer of `{cc}`, which has no HyStart to be misled by ACKs that a busy machine makes late, over 10 Gbit/s and a
round trip of 20 ms, MTU 1500, from a server in Python to a client in Python. Beside it two network namespaces joined by
a pair of devices: the same programs, no delay, and super-packets that nobody takes apart.

{throughput}

With offload a host hands over up to 44 segments at once. Each is a packet of its own on the path; neighbours that leave
it together are given to the receiver as one unit. At such rates receivers then acknowledge many segments at once, as
those of real hosts do.

## How late packets leave

One transfer that fills the path. The processor is that of the emulator, not of the programs.

{lateness}

## How long it takes to begin and to end

From `bp.emulate(..., ["true"])` to its return, the process of Python that it starts included:

{start_up}

After `kill -9` of the command nothing of it was left after {gone:.0f} ms.

## Captures

One transfer over 1 Gbit/s and a round trip of 2 ms, with captures of both hosts and without, in turn. Processor time
is that of the emulator, its threads that write included.

{captures}

## A busy machine calls itself busy

With real-time priority the emulator is on time on a machine whose programs are not. So a process beside it sleeps 10 ms
at a time, and notes how late it wakes. Where it gets the processor more than 1 ms late in more than 5 % of cases, the
run is not trustworthy. One busy loop on each processor is not yet such a machine: the kernel prefers programs that have
slept.

{busy}
"""


def main() -> None:
    """Measure, print, and write if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the page")
    arguments = parser.parse_args()
    # Who installs a package has its modules compiled.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    text = TEXT.format(
        release=os.uname().release.split("-")[0],
        cores=os.cpu_count(),
        load=os.getloadavg()[0],
        rounds=ROUNDS,
        build=", with every assertion in the code, which users do not have" * (build_info()["profile"] == "debug"),
        seconds=SECONDS,
        cc=CC,
        throughput=throughput(),
        lateness=lateness(),
        start_up=start_up(),
        gone=statistics.median(gone_ms() for _ in range(5)),
        captures=captures(PAGE.parent),
        busy=busy(),
    )
    print(text)
    if arguments.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

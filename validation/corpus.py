# ruff: noqa: E501 - outputs of tools are as long as they are.
"""Small files in the formats of tools that people use, each with its truth: read right, or refused with a command.

    python -m validation.corpus                 # reads all of them, and keeps what became of each

Formats are those of the tools' sources and manuals; fping 5.1, irtt 0.9, mtr 0.95, ping 20221126 and iperf3 3.12 were
run for comparison. `python -m tools.docs fits` makes the page.
"""

from __future__ import annotations

import gzip
import json
import lzma
import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.errors import FitError
from bentpipe.fitting import readers
from bentpipe.fitting.faults import Faults
from bentpipe.fitting.readers.opening import Asked
from validation import kept

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

COUNT, STEP_S, BASE_MS, BEGIN = 300, 0.1, 30.0, 1732571000.0
LOST = {40, 41, 150, 222}
RATE_BPS = 8e6
"""Goodput of all transfers."""
SECONDS = 30
EN = ("bytes", "from", "time", "packets transmitted", "received", "time")


@dataclass(frozen=True)
class Truth:
    """A file with its truth.

    Attributes
    ----------
    tool : str
        Tool and options, with the version where it matters.
    content : bytes
    probes, lost : int or None
        Round trips, lost ones among them; None if it has none.
    rates : mapping
        Goodput by direction, bit/s.
    command : str
        Command that the refusal names. Empty: it must be read.
    asked : mapping
        Options of the user.
    """

    tool: str
    content: bytes
    probes: int | None = None
    lost: int | None = None
    rates: Mapping[str, float] = field(default_factory=dict)
    command: str = ""
    asked: Mapping[str, Any] = field(default_factory=dict)


def trips() -> list[float]:
    """Round trips of all probes in ms, lost ones too."""
    draw = random.Random(7)
    return [BASE_MS + draw.expovariate(0.5) for _ in range(COUNT)]


def ping(
    words: tuple[str, ...] = EN,
    *,
    colon: str = ":",
    stamps: bool = True,
    first: int = 1,
    begin: float = BEGIN,
    end: bool = True,
    comma: bool = False,
    more: Callable[[int], str] = lambda _: "",
) -> str:
    """Output of iputils' ping in a language."""
    octets, of, time, sent, received, took = words
    lines = [f"PING 192.0.2.1 (192.0.2.1) 56(84) {octets}."]
    for number, trip in enumerate(trips()):
        if number not in LOST:
            stamp = f"[{begin + STEP_S * number + trip / 1e3:.6f}] " if stamps else ""
            value = f"{trip:.1f}".replace(".", "," if comma else ".")
            lines.append(f"{stamp}64 {octets} {of} 192.0.2.1{colon} icmp_seq={number + first} ttl=57 {time}={value} ms")
        lines += filter(None, [more(number)])
    if end:
        total = f"{COUNT} {sent}, {COUNT - len(LOST)} {received}, 1.3% packet loss, {took} {round(1e3 * STEP_S * (COUNT - 1))}ms"
        lines += ["", "--- 192.0.2.1 ping statistics ---", total, "rtt min/avg/max/mdev = 30.0/32.0/40.0/2.0 ms"]
    return "\n".join([*lines, ""])


def fping(host: str = "192.0.2.1", *, stamps: bool = True, totals: bool = False, timeouts: bool = False) -> str:
    """Output of fping."""
    lines = []
    for number, trip in enumerate(trips()):
        stamp = f"[{BEGIN + STEP_S * number + trip / 1e3:.5f}] " if stamps else ""
        if number in LOST:
            lines += [f"{stamp}{host} : [{number}], timed out (32.1 avg, 1% loss)"] if timeouts else []
            continue
        lines.append(f"{stamp}{host} : [{number}], 64 bytes, {trip:.1f} ms (32.1 avg, 1% loss)")
    if totals:
        lines += ["", f"{host} : xmt/rcv/%loss = {COUNT}/{COUNT - len(LOST)}/1%, min/avg/max = 30.0/32.1/40.2"]
    return "\n".join([*lines, ""])


def irtt(drift: float = 0.0, offset_s: float = 0.0) -> str:
    """JSON of irtt: nanoseconds, and clocks that may differ."""
    rows = []
    for number, trip in enumerate(trips()):
        wall = int(1e9 * (BEGIN + STEP_S * number))
        row: dict[str, Any] = {"seqno": number, "lost": "false"}
        row["timestamps"] = {"client": {"send": {"wall": wall, "monotonic": wall}}}
        if number in LOST:
            row |= {"lost": "true_down"}
        else:
            apart = int(1e9 * (offset_s + drift * STEP_S * number))
            up = int(1e6 * BASE_MS / 2)
            row["delay"] = {"rtt": int(1e6 * trip), "send": up + apart, "receive": int(1e6 * trip) - up - apart}
            row["timestamps"]["client"]["receive"] = {"wall": wall + int(1e6 * trip), "monotonic": 0}
        rows.append(row)
    middle = sorted(trip for number, trip in enumerate(trips()) if number not in LOST)[(COUNT - len(LOST)) // 2]
    stats = {"rtt": {"median": int(1e6 * middle)}, "packets_sent": COUNT, "packets_received": COUNT - len(LOST)}
    return json.dumps(
        {"version": {"irtt": "0.9.1"}, "system_info": {}, "config": {}, "stats": stats, "round_trips": rows}
    )


def rows(
    sender: bool, state: bool = True, step: float = 0.5, scale: float = 1.0, block: int = 0
) -> list[dict[str, Any]]:
    """Intervals of iperf3. With a block, bytes are whole writes."""
    found, written, counted = [], 0.0, 0.0
    for number in range(int(SECONDS / step)):
        written += scale * RATE_BPS * step / 8
        size = written - counted if not block else block * ((written + 400_000 - counted) // block)
        counted += size
        total = {"start": number * step, "end": (number + 1) * step, "seconds": step, "bytes": int(size)}
        total |= {"bits_per_second": 8 * size / step, "omitted": False, "sender": sender}
        stream = {"socket": 5, **total}
        if sender and state:
            window = 60_000 + 1_000 * (number % 30)
            stream |= {"retransmits": 0, "snd_cwnd": window, "rtt": int(8e6 * window / RATE_BPS * 1.036), "rttvar": 100}
            total |= {"retransmits": 0}
        found.append({"streams": [stream], "sum": total})
    return found


def iperf3(reverse: bool, server: bool, version: str = "iperf 3.12", **more: Any) -> dict[str, Any]:
    """JSON of iperf3: rows of the client, and those of the server if requested."""
    test = {
        "protocol": "TCP",
        "num_streams": 1,
        "blksize": 131072,
        "omit": 0,
        "duration": SECONDS,
        "reverse": int(reverse),
    }
    start = {"connected": [], "version": version, "timestamp": {"timesecs": int(BEGIN)}, "tcp_mss_default": 1448}
    total = {
        "start": 0,
        "end": SECONDS,
        "seconds": SECONDS,
        "bytes": int(RATE_BPS * SECONDS / 8),
        "sender": not reverse,
    }
    end = {"sum_sent": total, "sum_received": total, "sender_tcp_congestion": "cubic"}
    client = rows(not reverse, block=0 if reverse else 131072)
    found: dict[str, Any] = {"start": {**start, "test_start": test}, "intervals": client, "end": end}
    if server:
        found["server_output_json"] = {"start": {}, "intervals": rows(reverse), "end": {}}
    return {**found, **more}


def udp(reverse: bool) -> dict[str, Any]:
    """JSON of `iperf3 -u`: only the receiver has the lost datagrams."""
    found = iperf3(reverse, False)
    found["start"]["test_start"] |= {"protocol": "UDP", "blksize": 1448}
    for each in found["intervals"]:
        each["sum"] |= {
            "packets": 400,
            **({"lost_packets": 55, "lost_percent": 13.8, "jitter_ms": 0.1} if reverse else {}),
        }
        each["sum"]["bytes"] = int(RATE_BPS * 0.5 / 8)
    return found


def bidir() -> dict[str, Any]:
    """JSON of `iperf3 --bidir`: two sums in each interval."""
    found = iperf3(False, False, "iperf 3.16")
    for each, other in zip(found["intervals"], rows(False, scale=2), strict=True):
        each["sum_bidir_reverse"] = other["sum"]
        each["streams"] += other["streams"]
    total = {**found["end"]["sum_received"], "bytes": int(RATE_BPS * SECONDS / 4)}
    found["end"] |= {"sum_sent_bidir_reverse": total, "sum_received_bidir_reverse": total}
    return found


def stream(found: dict[str, Any]) -> str:
    """Lines of `--json-stream`."""
    events = [("start", found["start"]), *(("interval", each) for each in found["intervals"]), ("end", found["end"])]
    return "\n".join(json.dumps({"event": name, "data": data}) for name, data in events) + "\n"


def flent(hosts: int = 1, sparse: bool = False, streams: int = 0, stops: bool = False) -> str:
    """Data file of Flent. `streams` have numbers, as in `tcp_nup`. `stops`: probes of UDP that end before the load."""
    results: dict[str, list[float | None]] = {}
    for host in range(hosts):
        name = "Ping (ms) ICMP" if hosts == 1 else f"Ping (ms) ICMP{host + 1} host-{host + 1}"
        results[name] = [None if number in LOST else trip * (1 + 3 * host) for number, trip in enumerate(trips())]
    for one in range(1, 3 if sparse else 2):
        name = f"TCP upload BE{one}" if sparse else "TCP upload"
        full = RATE_BPS / 1e6 / (2 if sparse else 1)
        results[name] = [None if sparse and number % 7 else full for number in range(COUNT)]
    if sparse:
        results["TCP upload sum"] = [None if number % 7 else RATE_BPS / 1e6 / 2 for number in range(COUNT)]
    if streams:
        del results["TCP upload"]
        results["TCP upload sum"] = [RATE_BPS / 1e6 / streams] * COUNT
    for one in range(streams):
        gaps = [None if (number + one) % streams else RATE_BPS / 1e6 / streams for number in range(COUNT)]
        results[f"TCP upload::{one + 1}"] = gaps
    if stops:
        results["Ping (ms) UDP BE1"] = [trip if number < 40 else None for number, trip in enumerate(trips())]
        first = "Ping (ms) ICMP"
        results[first] = [each and each + 60 * (number >= 40) for number, each in enumerate(results[first])]
    about = {name: {"UNITS": "ms" if "Ping" in name else "Mbits/s"} for name in results}
    metadata = {"NAME": "tcp_upload", "TIME": "2024-11-25T21:43:20Z", "SERIES_META": about}
    axis = [STEP_S * number for number in range(COUNT)]
    return json.dumps({"version": 4, "metadata": metadata, "x_values": axis, "results": results, "raw_values": {}})


def table(head: str, row: Callable[[int, float], str], lost: str | None = None) -> str:
    """CSV with a row for each probe."""
    lines = [head]
    for number, trip in enumerate(trips()):
        if number not in LOST:
            lines.append(row(number, trip))
        elif lost is not None:
            lines.append(row(number, -1.0).replace("-1.00", lost).replace("-1,00", lost))
    return "\n".join([*lines, ""])


def history() -> str:
    """Answer of a dish to `get_history`, as grpcurl prints it: a ring of 900 s."""
    values = [BASE_MS + number % 5 for number in range(900)]
    values[10] = 0.0
    content = {"current": "123456", "popPingDropRate": [0.0] * 900, "popPingLatencyMs": values}
    return json.dumps({"apiVersion": "25", "dishGetHistory": {**content, "downlinkThroughputBps": [1e6] * 900}})


def ss() -> str:
    """Repeated `ss -tin` with a time before each."""
    lines = []
    for number in range(60):
        # The control connection of iperf3 is beside that of the data, and waiting bytes change.
        lines += [f"{BEGIN + 0.5 * number:.3f}", "State Recv-Q Send-Q  Local Address:Port  Peer Address:Port Process"]
        lines += ["ESTAB 0 0 192.0.2.1:5201 198.51.100.9:39999", "\t cubic rtt:50.5/2 mss:1448 cwnd:10 bytes_acked:4"]
        lines.append(f"ESTAB 0 {131072 + 1448 * number} 192.0.2.1:5201 198.51.100.9:40000")
        lines.append(
            f"\t cubic wscale:7,7 rto:250 rtt:{50 + number}.5/2 mss:1448 cwnd:{70 + number} bytes_sent:1"
            f" bytes_acked:{int(number * RATE_BPS / 16)} retrans:0/0 delivery_rate 8000000bps"
        )
    return "\n".join([*lines, ""])


READ = {"probes": COUNT, "lost": len(LOST)}
PROBES_NEEDED = "ping -D -i 0.01 -c 60000 HOST > ping.txt"
TRANSFER_NEEDED = "iperf3 -c HOST -J -i 0.1 -t 60 --get-server-output > up.json"
FR = ("octets", "de", "temps", "paquets transmis", "reçus", "temps")
DE = ("Bytes", "von", "Zeit", "Pakete übertragen", "empfangen", "Zeit")
ES = ("bytes", "desde", "tiempo", "paquetes transmitidos", "recibidos", "tiempo")
UP, DOWN = {"reverse": RATE_BPS}, {"forward": RATE_BPS}


def files() -> dict[str, Truth]:
    """Return all files by name."""
    plain, up = ping(), json.dumps(iperf3(False, False))
    stepped = ping().splitlines(keepends=True)
    middle = 1 + COUNT // 2
    moved = [_shifted(line, 1000.0) for line in stepped[middle:]]
    back = [_shifted(line, -5.0) for line in stepped[middle:]]
    macos = "\n".join(
        f"64 bytes from 192.0.2.1: icmp_seq={number} ttl=57 time={trip:.3f} ms"
        if number not in LOST
        else f"Request timeout for icmp_seq {number}"
        for number, trip in enumerate(trips())
    )
    windows = "Pinging 192.0.2.1 with 32 bytes of data:\r\n" + "".join(
        f"Reply from 192.0.2.1: bytes=32 time={trip:.0f}ms TTL=57\r\n" for trip in trips()
    )
    texts: dict[str, tuple[str, str | bytes, dict[str, Any]]] = {
        "ping-en.txt": ("ping -D (iputils)", plain, READ),
        "ping-fr.txt": ("ping -D, French", ping(FR, colon=" "), READ),
        "ping-de.txt": ("ping -D, German", ping(DE), READ),
        "ping-es.txt": ("ping -D, Spanish", ping(ES), READ),
        "ping-comma.txt": ("ping -D, decimal commas", ping(DE, comma=True), READ),
        "ping-outstanding.txt": (
            "ping -D -O",
            ping(more=lambda at: f"[{BEGIN:.6f}] no answer yet for icmp_seq={at + 1}" if at in LOST else ""),
            READ,
        ),
        "ping-twice.txt": (
            "ping -D with duplicates",
            ping(
                more=lambda at: (
                    f"[{BEGIN + STEP_S * at + 0.5:.6f}] 64 bytes from 192.0.2.1: icmp_seq={at + 1} ttl=57 time=500 ms (DUP!)"
                    if at == 5
                    else ""
                )
            ),
            READ,
        ),
        "ping-unreachable.txt": (
            "ping -D with messages of a router",
            ping(
                more=lambda at: (
                    f"[{BEGIN:.6f}] From 192.0.2.9 icmp_seq={at + 1} Destination Host Unreachable" if at in LOST else ""
                )
            ),
            READ,
        ),
        "ping-crlf.txt": ("ping -D, Windows line ends", plain.replace("\n", "\r\n"), READ),
        "ping-utf16.txt": ("ping -D > in PowerShell 5", plain.encode("utf-16"), READ),
        "ping-bom.txt": ("ping -D > in PowerShell 7", "\ufeff" + plain, READ),
        "ping.txt.gz": ("ping -D | gzip", gzip.compress(plain.encode()), READ),
        "ping.txt.xz": ("ping -D | xz", lzma.compress(plain.encode()), READ),
        "ping-cut.txt.gz": (
            "gzip, interrupted",
            gzip.compress(plain.encode())[:-400],
            {"command": "`partial` takes them"},
        ),
        "ping-killed.txt": (
            "ping -D, killed in a line",
            ping(end=False)[:-25],
            {"probes": COUNT - 1, "lost": len(LOST)},
        ),
        "ping-appended.txt": (
            "two pings, >>",
            plain + ping(begin=BEGIN + 900),
            {"probes": 2 * COUNT, "lost": 2 * len(LOST)},
        ),
        "ping-clock-back.txt": ("ping -D, clock set back by 5 s", "".join([*stepped[:middle], *back]), READ),
        "ping-hole.txt": ("ping -D, 1,000 s asleep", "".join([*stepped[:middle], *moved]), READ),
        "ping-no-stamps.txt": ("ping", ping(stamps=False), READ),
        "ping-no-stamps-killed.txt": ("ping, killed", ping(stamps=False, end=False), {"command": "ping -D"}),
        "ping-interval.txt": (
            "ping, --interval 100ms",
            ping(stamps=False, end=False),
            {**READ, "asked": {"interval_s": 0.1}},
        ),
        "ping-quiet.txt": (
            "ping -q",
            "PING 192.0.2.1\n\n300 packets transmitted, 296 received, 1% packet loss, time 29900ms\n",
            {"command": PROBES_NEEDED},
        ),
        "ping-macos.txt": ("ping of macOS", macos, {"command": "ping -D"}),
        "ping-macos-interval.txt": ("ping of macOS, --interval 100ms", macos, {**READ, "asked": {"interval_s": 0.1}}),
        "ping-busybox.txt": (
            "ping of BusyBox",
            macos.replace("icmp_seq=", "seq=").replace("Request timeout for icmp_seq", "x"),
            {"command": "ping -D"},
        ),
        "ping-windows.txt": ("ping of Windows", windows, {"command": PROBES_NEEDED}),
        "ping-windows-de.txt": (
            "ping of Windows, German",
            "".join(f"Antwort von 192.0.2.1: Bytes=32 Zeit={trip:.0f}ms TTL=57\r\n" for trip in trips()),
            {"command": PROBES_NEEDED},
        ),
        "fping.txt": ("fping -D -l -p 100", fping(), READ),
        "fping-count.txt": ("fping -D -c 300", fping(totals=True, timeouts=True), READ),
        "fping-no-stamps.txt": ("fping -l", fping(stamps=False), {"command": "fping -D -l -p 10 HOST"}),
        "fping-hosts.txt": ("fping -D, two hosts", fping() + fping("192.0.2.2"), {"command": "a file for each host"}),
        "mtr-report.txt": (
            "mtr -r",
            "Start: 2024-11-26\nHOST: here   Loss%   Snt   Last   Avg  Best  Wrst StDev\n  1.|-- 192.0.2.1  0.0%  10  1.0 1.0 1.0 1.0 0.0\n",
            {"command": PROBES_NEEDED},
        ),
        "mtr.json": (
            "mtr --json",
            json.dumps({"report": {"mtr": {"src": "h", "tests": 10}, "hubs": []}}),
            {"command": PROBES_NEEDED},
        ),
        "mtr.csv": (
            "mtr --csv",
            "Mtr_Version,Start_Time,Status,Host,Hop,Ip,Loss%,Snt, ,Last,Avg,Best,Wrst,StDev,\nMTR.0.95,1,OK,a,1,b,0.00,2,0,0.05,0.04,0.04,0.05,0.00\n",
            {"command": PROBES_NEEDED},
        ),
        "mtr-raw.txt": (
            "mtr --raw",
            "x 0 33000\nh 0 192.0.2.1\np 0 48123 33000\nx 1 33001\n",
            {"command": PROBES_NEEDED},
        ),
        "traceroute.txt": (
            "traceroute",
            "traceroute to 192.0.2.1 (192.0.2.1), 30 hops max, 60 byte packets\n 1  a  1.0 ms\n",
            {"command": PROBES_NEEDED},
        ),
        "irtt.json": ("irtt client -o", irtt(), READ),
        "irtt.json.gz": ("irtt client -o, compressed", gzip.compress(irtt().encode()), READ),
        "irtt-lens.json": ("irtt, clocks 10 s apart (LENS)", irtt(offset_s=10.47), READ),
        "irtt-drift.json": ("irtt, clocks drift by 400 ppm", irtt(drift=4e-4), READ),
        "iperf3-3.7-up.json": ("iperf3 3.7 -J", json.dumps(iperf3(False, False, "iperf 3.7")), {"rates": UP}),
        "iperf3-up-server.json": ("iperf3 -J --get-server-output", json.dumps(iperf3(False, True)), {"rates": UP}),
        "iperf3-down.json": ("iperf3 -R -J", json.dumps(iperf3(True, False)), {"rates": DOWN}),
        "iperf3-down-server.json": (
            "iperf3 -R -J --get-server-output",
            json.dumps(iperf3(True, True)),
            {"rates": DOWN},
        ),
        "iperf3-bidir.json": (
            "iperf3 3.16 -J --bidir",
            json.dumps(bidir()),
            {"rates": {"reverse": RATE_BPS, "forward": 2 * RATE_BPS}},
        ),
        "iperf3-stream.json": ("iperf3 3.17 --json-stream", stream(iperf3(False, False, "iperf 3.17")), {"rates": UP}),
        "iperf3-udp-down.json": ("iperf3 -u -R -J", json.dumps(udp(True)), {"rates": DOWN}),
        "iperf3-udp-up.json": ("iperf3 -u -J", json.dumps(udp(False)), {"command": "--get-server-output"}),
        "iperf3-interrupted.json": (
            "iperf3 -R -J, Ctrl-C",
            json.dumps(iperf3(True, False, error="interrupt - the client has terminated", end={})),
            {"rates": DOWN},
        ),
        "iperf3-interrupted-up.json": (
            "iperf3 -J, Ctrl-C",
            json.dumps(iperf3(False, False, error="interrupt - the client has terminated", end={})),
            {"command": "iperf3 --get-server-output"},
        ),
        "iperf3-refused.json": (
            "iperf3 -J, server busy",
            json.dumps({"start": {}, "error": "error - the server is busy running a test"}),
            {"command": "expected a finished test"},
        ),
        "iperf3-cut.json": ("iperf3 -J, file cut", up[: len(up) // 2], {"command": "expected a whole file"}),
        "iperf3-utf16.json": ("iperf3 -J > in PowerShell 5", up.encode("utf-16"), {"rates": UP}),
        "iperf3.txt": (
            "iperf3",
            "Connecting to host h, port 5201\n[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n[  5]   0.00-1.00   sec  1.00 MBytes  8.4 Mbits/sec    0   90 KBytes\n",
            {"command": TRANSFER_NEEDED},
        ),
        "iperf2.txt": (
            "iperf 2",
            "Client connecting to h, TCP port 5001\n[ ID] Interval       Transfer     Bandwidth\n[  3]  0.0- 1.0 sec  1.00 MBytes  8.4 Mbits/sec\n",
            {"command": TRANSFER_NEEDED},
        ),
        "ss.txt": ("date; ss -tin, repeated", ss(), {"rates": DOWN}),
        "flent-1.json": ("flent 1", flent(), {"probes": COUNT - len(LOST), "lost": 0, "rates": UP}),
        "flent-2.flent.gz": (
            "flent 2",
            gzip.compress(flent().encode()),
            {"probes": COUNT - len(LOST), "lost": 0, "rates": UP},
        ),
        "flent-hosts.flent.gz": (
            "flent rtt_fair, four hosts",
            gzip.compress(flent(4).encode()),
            {"command": "--columns"},
        ),
        "flent-sparse.flent.gz": (
            "flent, slow flows",
            gzip.compress(flent(sparse=True).encode()),
            {"probes": COUNT - len(LOST), "lost": 0, "rates": UP},
        ),
        "flent-nup.flent.gz": (
            "flent tcp_nup, numbered streams",
            gzip.compress(flent(streams=5).encode()),
            {"probes": COUNT - len(LOST), "lost": 0, "rates": UP},
        ),
        "flent-stops.flent.gz": (
            "flent rrul, probes of UDP that stop",
            gzip.compress(flent(stops=True).encode()),
            {"probes": COUNT - len(LOST), "lost": 0, "rates": UP},
        ),
        "flent-http.flent": (
            "flent http",
            flent().replace("Ping (ms) ICMP", "HTTP latency").replace("TCP upload", "Page"),
            {"command": PROBES_NEEDED},
        ),
        "dish.csv": (
            "dish_grpc_text.py bulk_history",
            table(
                "datetimestamp_utc,counter,pop_ping_drop_rate,pop_ping_latency_ms,downlink_throughput_bps",
                lambda at, trip: f"2024-11-26T21:{at // 60:02}:{at % 60:02},{at},0.0,{trip:.2f},1000000.0",
            ),
            {"probes": COUNT - len(LOST), "lost": 0},
        ),
        "dish-history.json": ("grpcurl get_history", history(), {"probes": 899, "lost": 0}),
        "speedtest.json": (
            "speedtest -f json (Ookla)",
            json.dumps({"type": "result", "ping": {"jitter": 1.0, "latency": 30.0}, "download": {"bandwidth": 1}}),
            {"command": "iperf3"},
        ),
        "speedtest-cli.json": (
            "speedtest-cli --json",
            json.dumps({"ping": 30.1, "download": 8e6, "upload": 1e6}),
            {"command": "iperf3"},
        ),
        "speedtest.txt": (
            "speedtest-cli --simple",
            "Ping: 30.1 ms\nDownload: 8.00 Mbit/s\nUpload: 1.00 Mbit/s\n",
            {"command": "iperf3"},
        ),
        "table.csv": ("CSV", table("t_s,rtt_ms", lambda at, trip: f"{STEP_S * at:.3f},{trip:.2f}", "-1"), READ),
        "semicolons.csv": (
            "CSV of a spreadsheet: semicolons, decimal commas",
            table("t_s;rtt_ms", lambda at, trip: f"{STEP_S * at:.3f};{trip:.2f}".replace(".", ","), ""),
            READ,
        ),
        "no-unit.csv": (
            "CSV without units",
            table("time,latency", lambda at, trip: f"{STEP_S * at:.3f},{trip:.2f}"),
            {"command": "latency=ms"},
        ),
        "records.parquet": ("Parquet (WetLinks)", b"PAR1" + bytes(200), {"command": "CSV file"}),
        "tcpdump.txt": (
            "tcpdump, text",
            "21:43:20.231202 IP 192.0.2.1.5201 > 198.51.100.9.40000: Flags [.], ack 1, win 501, length 0\n",
            {"command": "tcpdump -w"},
        ),
    }
    return {
        name: Truth(tool, content if isinstance(content, bytes) else content.encode(), **more)
        for name, (tool, content, more) in texts.items()
    }


def _shifted(line: str, by_s: float) -> str:
    """Move the stamp of a line."""
    stamp, bracket, rest = line[1:].partition("]")
    return f"[{float(stamp) + by_s:.6f}]{rest}" if line.startswith("[") and bracket else line


def judge(truth: Truth, name: str) -> tuple[str, str]:
    """Return `read`, `refused` or `wrong`, and a sentence."""
    faults = Faults()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(truth.content)
        found = readers.read(path, None, Asked(**truth.asked), faults)
        try:
            faults.refuse()
        except FitError as error:
            text = str(error)
            return ("refused" if truth.command and truth.command in text else "wrong"), text
    if truth.command:
        return "wrong", "read"
    count, lost = (
        (sum(each) for each in zip(*((len(p.send_s), int(p.is_lost.sum())) for p in found.probes), strict=True))
        if found.probes
        else (None, None)
    )
    if (count, lost) != (truth.probes, truth.lost):
        return "wrong", f"{count} probes, {lost} lost"
    for each in found.probes:
        least = 1e3 * float(np.nanmin(each.rtt_s))
        if not BASE_MS - 0.1 <= least <= BASE_MS + 0.3 or np.any(np.diff(each.send_s) < 0):
            return "wrong", f"least round trip {least:.2f} ms"
    rates = {load.direction: 8 * load.carried[0] / load.carried[1] for load in found.loads}
    if set(rates) != set(truth.rates) or any(abs(rates[way] / rate - 1) > 0.05 for way, rate in truth.rates.items()):
        return "wrong", f"rates {rates}"
    said = [f"{count} probes, {lost} lost"] if count else []
    return "read", ", ".join([*said, *(f"{rate / 1e6:.3g} Mbit/s {way}" for way, rate in rates.items())])


def main() -> None:
    """Read all files, and keep the outcome of each."""
    found = []
    for name, truth in files().items():
        outcome, said = judge(truth, name)
        found.append({"file": name, "tool": truth.tool, "outcome": outcome, "said": said.replace("\n", "; ")})
        print(f"{outcome:8} {name}: {said.splitlines()[-1]}")
    kept.save("corpus", found)
    print({word: sum(each["outcome"] == word for each in found) for word in ("read", "refused", "wrong")})


if __name__ == "__main__":
    kept.begin(__doc__)
    main()

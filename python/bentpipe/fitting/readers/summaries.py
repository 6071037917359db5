"""Recognises files of known tools that contain no series. Names the command that makes a readable file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bentpipe.fitting.measured import Measured

if TYPE_CHECKING:
    from bentpipe.fitting.faults import Faults
    from bentpipe.fitting.readers.opening import Asked, Source

PING, IPERF = "ping -D -i 0.01 -c 60000 HOST > ping.txt", "iperf3 -c HOST -J -i 0.1 -t 60 --get-server-output > up.json"
TOOLS: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("the text of iperf3", re.compile(r"Connecting to host |\[ ID\] Interval +Transfer +Bitrate"), IPERF),
    ("the output of iperf 2", re.compile(r"Client connecting to |\[ *ID\] Interval +Transfer +Bandwidth"), IPERF),
    ("a report of mtr", re.compile(r'"mtr": *\{|^Mtr_Version,|^HOST: .*Loss%|^x \d+ \d+$', re.MULTILINE), PING),
    (
        "the ping of Windows, which prints no times",
        re.compile(r"(bytes|Bytes|octets|byte)=\d+ \S+[=<]\d+ ?ms TTL=\d+|^Pinging .* with \d+ bytes", re.MULTILINE),
        f"{PING} in WSL, or irtt client -i 10ms -d 10m -o irtt.json HOST",
    ),
    (
        "the result of a speed test",
        re.compile(
            r'"type": *"result"|"speedtest"|"ping": *[\d{].*"(download|upload)"|^\s*(Download|Upload): +\d', re.S | re.M
        ),
        f"{PING}, then {IPERF}",
    ),
    (
        "a text of tcpdump",
        re.compile(r"^\d\d:\d\d:\d\d\.\d+ IP6? ", re.MULTILINE),
        "tcpdump -w sent.pcap -s 128 host HOST",
    ),
    ("a traceroute", re.compile(r"^(traceroute|tracepath|Tracing route) ?to? ", re.MULTILINE), PING),
    ("a summary of ping", re.compile(r"packets transmitted, \d+ (packets )?received"), f"{PING}, without -q"),
    ("a Parquet file", re.compile(r"^PAR1"), "a CSV file with the columns t_utc_s and rtt_ms"),
    (
        "an Excel workbook or another archive",
        re.compile(r"^PK\x03\x04"),
        "a CSV file with the columns t_utc_s and rtt_ms",
    ),
)
"""Tools, with a pattern of their output and the command of a file with a series."""


def recognises(source: Source) -> bool:
    """Whether it is the output of a known tool without a series."""
    return _find_tool(source) is not None


def read(source: Source, asked: Asked, faults: Faults) -> Measured:
    """Refuse the file, and name the command that makes a readable file."""
    found = _find_tool(source)
    if found is None:
        faults.wrong(source.name, "no summary of a known tool", f"expected a series: {PING}")
    else:
        faults.wrong(source.name, f"{found[0]}, without a series", f"expected the file of: {found[1]}")
    return Measured()


def _find_tool(source: Source) -> tuple[str, str] | None:
    text = source.text[: 1 << 16]
    return next(((name, command) for name, pattern, command in TOOLS if pattern.search(text)), None)

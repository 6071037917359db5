"""Reads the JSON of `iperf3 -J`: intervals of TCP or UDP, with the state of the sender."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.fitting.faults import show_value
from bentpipe.fitting.measured import HEADERS, INTERVALS_MIN, VERSION_6, Load, Measured
from bentpipe.fitting.readers.opening import number

if TYPE_CHECKING:
    from bentpipe.fitting.faults import Faults
    from bentpipe.fitting.readers.opening import Asked, Source

STREAMS_MAX = 128
"""Limit of iperf3."""
PARTS = ("start", "intervals", "end")
FIELDS = ("start", "seconds", "bytes", "retransmits", "lost_packets", "packets")


def recognises(source: Source) -> bool:
    """Whether it is JSON with the parts of a test."""
    return source.has(*PARTS) or source.has("start", "error")


def read(source: Source, asked: Asked, faults: Faults) -> Measured:
    """Read a test. The client is at the terminal; with `-R`, data goes towards it."""
    content = source.json(faults, *(() if source.has("start", "error") else PARTS))
    if content is None:
        return Measured()
    if "error" in content:
        faults.wrong(source.name, f"iperf3 failed: {show_value(content['error'])}", "expected a finished test")
        return Measured()
    start = _object(content["start"])
    test = _object(start.get("test_start"))
    transport = str(test.get("protocol", "TCP")).lower()
    if transport not in ("tcp", "udp"):
        faults.wrong(source.name, f"start.test_start.protocol is {show_value(transport)}", "expected TCP or UDP")
        return Measured()
    is_reverse = bool(test.get("reverse"))
    intervals = content["intervals"]
    server = _find_value(content, "server_output_json", "intervals")
    # Only the receiver knows which datagrams arrived, and only the sender of TCP has a window.
    if isinstance(server, list) and is_reverse == (transport == "tcp"):
        intervals = server
    before = faults.count
    rows = _rows(source.name, intervals, faults)
    if faults.count > before:
        return Measured()
    if len(rows) < INTERVALS_MIN:
        faults.wrong(source.name, f"{len(rows)} intervals", f"expected at least {INTERVALS_MIN}: iperf3 -i 0.1 -t 60")
        return Measured()
    begin, seconds, sent, retransmits, lost, packets, cwnd, srtt = np.array(rows).T
    if transport == "udp":
        if np.isnan(lost).all():
            faults.wrong(
                source.name,
                "the intervals do not have the lost datagrams",
                "expected the output of the receiver: iperf3 -u -R, or --get-server-output",
            )
            return Measured()
        retransmits = cwnd = srtt = np.full(len(rows), np.nan)
    stamp = number(_find_value(start, "timestamp", "timesecs"))
    notes = [f"{source.name}: data goes {'towards' if is_reverse else 'from'} the terminal, where the client ran"]
    if any("sum_bidir_reverse" in each for each in content["intervals"] if isinstance(each, dict)):
        notes.append(f"{source.name}: of both directions, only the client's is read")
    if "server_output_text" in content:
        notes.append(f"{source.name}: the server's output is text, which is left out; its JSON needs iperf3 -s -J")
    # The version of IP is in the form of an address, which is written nowhere.
    hosts = [_object(each) for each in start.get("connected") or [] if isinstance(start.get("connected"), list)]
    is_6 = any(":" in str(each.get("local_host")) for each in hosts)
    mss = number(start.get("tcp_mss_default", start.get("tcp_mss")))
    load = Load(
        begin + (0.0 if np.isnan(stamp) else stamp),
        seconds,
        sent,
        source.name,
        "forward" if is_reverse else "reverse",
        transport,
        srtt_s=_or_none(srtt * 1e-6),
        cwnd_bytes=_or_none(cwnd),
        retransmits=_or_none(retransmits),
        lost=_or_none(lost),
        packets=_or_none(packets),
        mss=None if np.isnan(mss) else int(mss),
        cc=str(_find_value(content, "end", "sender_tcp_congestion") or "") or None,
        headers=HEADERS[transport] + VERSION_6 * is_6,
        streams=int(np.clip(np.nan_to_num(number(test.get("num_streams")), nan=1.0), 1, STREAMS_MAX)),
    )
    return Measured(loads=[load], notes=notes)


def _rows(name: str, intervals: Any, faults: Faults) -> list[list[float]]:
    """Return the sums of all intervals but omitted ones, with the windows of all streams."""
    if not isinstance(intervals, list):
        faults.wrong(name, f"intervals is {show_value(intervals)}", "expected a list")
        return []
    rows = []
    for at, each in enumerate(intervals):
        total = _find_value(each, "sum")
        if not isinstance(total, dict):
            faults.wrong(f"{name}: intervals[{at}]", f"sum is {show_value(total)}", "expected an object")
            continue
        if total.get("omitted") is True:
            continue
        values = [number(total.get(field)) for field in FIELDS]
        for field, value, least in zip(FIELDS[:3], values, (0.0, 1e-9, 0.0), strict=False):
            if not value >= least:
                wrong = f"sum.{field} is {show_value(total.get(field))}"
                faults.wrong(f"{name}: intervals[{at}]", wrong, f"expected a number {'above' if least else 'from'} 0")
        streams = each.get("streams") if isinstance(each.get("streams"), list) else []
        windows = [number(_find_value(stream, "snd_cwnd")) for stream in streams]
        trips = [number(_find_value(stream, "rtt")) for stream in streams]
        trips = [trip for trip in trips if trip > 0]
        rows.append([*values, sum(windows) if windows else np.nan, sum(trips) / len(trips) if trips else np.nan])
    return rows


def _object(content: Any) -> dict[str, Any]:
    return content if isinstance(content, dict) else {}


def _or_none(values: Any) -> Any:
    return None if np.isnan(values).all() else values


def _find_value(content: Any, *keys: str) -> Any:
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content

"""Reads the JSON of `iperf3 -J`: intervals of TCP or UDP, with the state of the sender."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import formatting
from bentpipe.fitting.faults import show_value
from bentpipe.fitting.measured import HEADERS, INTERVALS_MIN, VERSION_6, Load, Measured, Second
from bentpipe.fitting.readers.opening import number

if TYPE_CHECKING:
    from bentpipe.fitting.faults import Faults
    from bentpipe.fitting.readers.opening import Asked, Source

STREAMS_MAX = 128
"""Limit of iperf3."""
BLOCK = 1 << 17
"""Bytes of a write of iperf3 over TCP, unless `-l` changes them."""
PARTS = ("start", "intervals", "end")
FIELDS = ("start", "seconds", "bytes", "retransmits", "lost_packets", "packets")


def recognises(source: Source) -> bool:
    """Whether it is JSON with the parts of a test."""
    return source.has(*PARTS) or source.has("start", "error") or _is_stream(source)


def _is_stream(source: Source) -> bool:
    """Whether each line is an event: `--json-stream` of iperf3 3.17 and later."""
    return source.is_json and '"event"' in next(iter(source.head(1)), "")


def _join_events(source: Source, faults: Faults) -> dict[str, Any] | None:
    """Return the events of a stream as the object that `-J` prints."""
    found: dict[str, Any] = {"start": {}, "intervals": [], "end": {}}
    for line, text in enumerate(source.text.splitlines(), 1):
        if not text.strip():
            continue
        try:
            event = json.loads(text)
            name, data = event["event"], event["data"]
        except (ValueError, KeyError, TypeError, RecursionError):
            faults.wrong(f"{source.name}:{line}", show_value(text[:80]), 'expected {"event": ..., "data": ...}')
            return None
        if name == "interval":
            found["intervals"].append(data)
        else:
            found[str(name)] = data
    return found


def read(source: Source, asked: Asked, faults: Faults) -> Measured:
    """Read a test. The client is at the terminal; with `-R`, data goes towards it, and with `--bidir` both ways."""
    if _is_stream(source):
        content = _join_events(source, faults)
    else:
        content = source.json(faults, *(() if source.has("start", "error") else PARTS))
    if content is None:
        return Measured()
    notes: list[str] = []
    if "error" in content:
        # Ctrl-C leaves all intervals until then.
        if not isinstance(content.get("intervals"), list) or len(content["intervals"]) < INTERVALS_MIN:
            faults.wrong(source.name, f"iperf3 failed: {show_value(content['error'])}", "expected a finished test")
            return Measured()
        notes.append(f"{source.name}: the test was interrupted: {show_value(content['error'])}")
    test = _object(_object(content["start"]).get("test_start"))
    transport = str(test.get("protocol", "TCP")).lower()
    if transport not in ("tcp", "udp"):
        faults.wrong(source.name, f"start.test_start.protocol is {show_value(transport)}", "expected TCP or UDP")
        return Measured()
    if "server_output_text" in content:
        notes.append(f"{source.name}: the server's output is text, which is left out; its JSON needs iperf3 -s -J")
    loads: list[Load] = []
    seconds: list[Second] = []
    if not isinstance(content["intervals"], list):
        faults.wrong(source.name, f"intervals is {show_value(content['intervals'])}", "expected a list")
        return Measured()
    is_both = any("sum_bidir_reverse" in each for each in content["intervals"] if isinstance(each, dict))
    before = faults.count
    for is_reverse in (False, True) if is_both else (bool(test.get("reverse")),):
        load = _read_direction(source.name, content, transport, faults, is_reverse=is_reverse, is_both=is_both)
        if load is not None:
            loads.append(load)
            total = _total(content, is_reverse=is_reverse and is_both)
            # Rows of UDP lack nothing, and omitted ones are in the total.
            if transport == "tcp" and not load.block and total is not None and not test.get("omit"):
                seconds.append(Second(source.name, f"bytes {load.direction}", "B", float(load.bytes.sum()), total[0]))
            way = "towards" if is_reverse else "from"
            notes.append(f"{source.name}: data goes {way} the terminal, where the client ran")
        if faults.count > before:
            return Measured()
    return Measured(loads=loads, notes=notes, seconds=seconds)


def _read_direction(
    name: str, content: dict[str, Any], transport: str, faults: Faults, *, is_reverse: bool, is_both: bool
) -> Load | None:
    """Read the rows of the receiver with the state of the sender; those of the sender alone count its writes."""
    start, before = _object(content["start"]), faults.count
    client, server = content["intervals"], _find_value(content, "server_output_json", "intervals")
    ends = {True: server, False: client} if is_reverse else {True: client, False: server}
    rows = {
        is_sender: _rows(name, ends[is_sender], faults, is_sender=is_sender if is_both else None)
        for is_sender in (False, True)
        if ends[is_sender] is client or isinstance(server, list)
    }
    if faults.count > before:
        return None
    of_sender, of_receiver = (rows.get(each, np.zeros((0, len(FIELDS) + 2))) for each in (True, False))
    is_received = len(of_receiver) >= INTERVALS_MIN
    taken = of_receiver if is_received else of_sender
    if len(taken) < INTERVALS_MIN:
        most = formatting.count(max(len(of_sender), len(of_receiver)), "interval")
        faults.wrong(name, most, f"expected at least {INTERVALS_MIN}: iperf3 -i 0.1 -t 60")
        return None
    begin, seconds, arrived, retransmits, lost, packets, cwnd, srtt = taken.T
    if transport == "udp":
        if np.isnan(lost).all():
            faults.wrong(
                name,
                "the intervals do not have the lost datagrams",
                "expected the output of the receiver: iperf3 -u -R, or --get-server-output",
            )
            return None
        retransmits = cwnd = srtt = np.full(len(taken), np.nan)
    elif is_received and len(of_sender):
        retransmits, cwnd, srtt = _state(of_sender, begin, seconds)
    received = None
    if transport == "tcp" and not is_received:
        received = _total(content, is_reverse=is_reverse and is_both)
        if received is None:
            faults.wrong(
                name,
                "the rows count the writes of the sender, not what arrived",
                "expected a finished test, or the rows of the receiver: iperf3 --get-server-output",
            )
            return None
    stamp = number(_find_value(start, "timestamp", "timesecs"))
    # The version of IP is in the form of an address, which is written nowhere.
    hosts = [_object(each) for each in start.get("connected") or [] if isinstance(start.get("connected"), list)]
    is_6 = any(":" in str(each.get("local_host")) for each in hosts)
    mss = number(start.get("tcp_mss_default", start.get("tcp_mss")))
    test = _object(start.get("test_start"))
    block = number(test.get("blksize"))
    return Load(
        begin + (0.0 if np.isnan(stamp) else stamp),
        seconds,
        arrived,
        name,
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
        block=0 if is_received or transport == "udp" else int(block if block > 0 else BLOCK),
        received=received,
    )


def _total(content: Any, *, is_reverse: bool) -> tuple[float, float] | None:
    """Return the bytes that the receiver got, and its seconds, from the end of the test."""
    ending = "_bidir_reverse" if is_reverse else ""
    total = _find_value(content, "end", f"sum_received{ending}")
    found = number(_find_value(total, "bytes")), number(_find_value(total, "seconds"))
    return found if min(found) > 0 else None


def _state(of_sender: Any, begin: Any, seconds: Any) -> tuple[Any, Any, Any]:
    """Return retransmissions, window and round trip of the sender in the rows of the receiver."""
    at, ends = of_sender[:, 0] + of_sender[:, 1] / 2, of_sender[:, 0] + of_sender[:, 1]
    middles = begin + seconds / 2

    def within(column: int) -> Any:
        known = np.isfinite(of_sender[:, column])
        return np.interp(middles, at[known], of_sender[known, column]) if known.any() else np.full(len(begin), np.nan)

    again = of_sender[:, FIELDS.index("retransmits")]
    if np.isnan(again).all():
        return np.full(len(begin), np.nan), within(-2), within(-1)
    counted = np.interp([begin, begin + seconds], ends, np.cumsum(np.nan_to_num(again)), left=0.0)
    return counted[1] - counted[0], within(-2), within(-1)


def _rows(name: str, intervals: Any, faults: Faults, *, is_sender: bool | None = None) -> Any:
    """Return the sums of all intervals but omitted ones, with the windows of all streams.

    With `--bidir`, an interval has two sums: `is_sender` takes that of the data that this end sends or receives.
    """
    rows = []
    for at, each in enumerate(intervals):
        total = _find_value(each, "sum")
        if is_sender is not None:
            both = [_find_value(each, key) for key in ("sum", "sum_bidir_reverse")]
            total = next((one for one in both if isinstance(one, dict) and bool(one.get("sender")) == is_sender), None)
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
        streams = [_object(one) for one in each["streams"]] if isinstance(each.get("streams"), list) else []
        if is_sender is not None:
            streams = [one for one in streams if bool(one.get("sender")) == is_sender]
        windows = [number(one.get("snd_cwnd")) for one in streams]
        trips = [number(one.get("rtt")) for one in streams]
        trips = [trip for trip in trips if trip > 0]
        rows.append([*values, sum(windows) if windows else np.nan, sum(trips) / len(trips) if trips else np.nan])
    return np.array(rows).reshape(-1, len(FIELDS) + 2)


def _object(content: Any) -> dict[str, Any]:
    return content if isinstance(content, dict) else {}


def _or_none(values: Any) -> Any:
    return None if np.isnan(values).all() else values


def _find_value(content: Any, *keys: str) -> Any:
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content

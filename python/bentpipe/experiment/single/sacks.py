"""Reads the SACK blocks that senders receive, from a capture of the same run.

The tables of a run have no SACK blocks. A run with the same seed has the same packets. So the scenario runs again, up
to the last instant of interest, with a capture in a temporary folder.
"""

from __future__ import annotations

import struct
import tempfile
from typing import TYPE_CHECKING

from bentpipe import _core, files, forks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bentpipe.scenario.scenario import Scenario

Sack = tuple[float, int, int]
"""Time of arrival, first byte and end of a block."""
EVENTS_AT_ONCE = 20_000
START_NS = 946_684_800 * 10**9
"""Instant 0 of a run in its captures."""
FLOW_PORT = 5001
"""Port of the first flow at its receiver; the next flows have the next ports."""
OWN_PORT = 49_152
"""Port of the first connection of a flow at its sender."""
PACKET_BLOCK = 6
"""The type of an enhanced packet block of pcapng."""
TCP, IP_HEADER, SACK = 6, 20, 5


def sacks(scenario: Scenario, until_s: float) -> dict[str, list[Sack]]:
    """The SACK blocks that arrived at the sender of each flow up to an instant.

    Blocks are offsets in the data of a connection, modulo 2**32. They are of the first connection of each flow.
    """
    forks.refuse()
    flows = scenario.to_dict()["flow"]
    ports = {FLOW_PORT + index: name for index, name in enumerate(scenario.flow_names)}
    found: dict[str, list[Sack]] = {name: [] for name in ports.values()}
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/run.pcapng"
        run = _core.Run(scenario._core, pcap=files.captures(out))
        while not run.is_done and run.simulated_s <= until_s:
            run.advance(EVENTS_AT_ONCE)
        # The end of the run closes its files.
        run.interrupt()
        run.finish()
        for host in dict.fromkeys(flows[name]["from"] for name in found):
            for port, time_s, first, end in _blocks(files.find_capture(out, host)):
                name = ports.get(port)
                if name is not None and flows[name]["from"] == host and time_s <= until_s:
                    found[name].append((time_s, first, end))
    return found


def _blocks(capture: Path) -> Iterator[tuple[int, float, int, int]]:
    """Port of the flow, time, first byte and end of each SACK block in a capture."""
    content = memoryview(capture.read_bytes())
    at = 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if kind == PACKET_BLOCK:
            high, low, size = struct.unpack_from("<III", content, at + 12)
            # A block has at least 12 bytes of options: smaller headers have none.
            packet = content[at + 28 : at + 28 + size]
            if size > IP_HEADER + 20 and packet[9] == TCP:
                port, own = struct.unpack_from(">HH", packet, IP_HEADER)
                if own == OWN_PORT:
                    time_s = ((high << 32 | low) - START_NS) / 1e9
                    for first, end in _options(packet[IP_HEADER + 20 : IP_HEADER + (packet[IP_HEADER + 12] >> 4) * 4]):
                        # Sequence number 0 is the SYN's.
                        yield port, time_s, first - 1, end - 1
        at += length


def _options(options: memoryview) -> Iterator[tuple[int, int]]:
    """The SACK blocks in the options of a TCP header."""
    at = 0
    while at < len(options) and options[at]:
        if options[at] == 1:
            at += 1
            continue
        if options[at] == SACK:
            numbers = struct.unpack_from(f">{(options[at + 1] - 2) // 4}I", options, at + 2)
            yield from zip(numbers[::2], numbers[1::2], strict=True)
        at += options[at + 1]

"""Reads the packets of a host from its capture, and finds the first difference between two hosts."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

ENHANCED_PACKET = 6
COMMENT, FLAGS = 1, 2
OUTBOUND = 2
TCP = 6
SYN = 2
WHOLE = 1 << 32
FLOW_PORT, FLOW_PORTS = 5001, 40_000
"""Ports of simulated flows, in their order (crates/io/src/simulated.rs)."""


@dataclass(frozen=True)
class Sent:
    """A segment with data that a host sent.

    Attributes
    ----------
    time_s : float
        Instant, in seconds since the first segment with data.
    offset, size : int
        Offset of its data in the connection, bytes.
    is_again : bool
        Whether these or later data had been sent before.
    fate : str
        Fate on the path: empty if the segment arrived, otherwise the comment of the capture, without its time.
    """

    time_s: float
    offset: int
    size: int
    is_again: bool
    fate: str

    @property
    def sentence(self) -> str:
        """Describes the packet, with its instant and its fate."""
        again = " again" if self.is_again else ""
        end = self.offset + self.size
        return f"bytes {self.offset} to {end}{again} at {self.time_s:.4f} s, {self.fate or 'which arrived'}"


def sent(capture: str | os.PathLike[str], flow: int | None = None) -> list[Sent]:
    """Return the data segments of the connection that sent the most, in order of time, from a capture.

    The capture may be of `run` or of `emulate`. For a simulated run, `flow` selects a flow of the scenario.
    """
    content = Path(capture).read_bytes()
    port = None if flow is None else struct.pack(">H", FLOW_PORT + flow % FLOW_PORTS)
    most: Counter[bytes] = Counter()
    for _, ends, _, size, _, _ in _segments(content):
        if port is None or port in (ends[-4:-2], ends[-2:]):
            most[ends] += size
    if not most:
        return []
    wanted = most.most_common(1)[0][0]
    found: list[Sent] = []
    start_s, base, high = 0.0, 0, 0
    for time_s, ends, sequence, size, is_syn, fate in _segments(content):
        if ends != wanted:
            continue
        if is_syn:
            base = sequence + 1
        elif size:
            if not found:
                start_s = time_s
                # A capture without the handshake begins with its first data.
                base = base or sequence
            # The nearest to the last one: numbers begin again after 4 GB.
            offset = high + (sequence - base - high + WHOLE // 2) % WHOLE - WHOLE // 2
            found.append(Sent(time_s - start_s, offset, size, offset < high, fate))
            high = max(high, offset + size)
    return found


def divergence(simulated: Sequence[Sent], emulated: Sequence[Sent]) -> str:
    """Describes the first data segment that differs between both runs, or whose fate differs."""
    for number, (one, other) in enumerate(zip(simulated, emulated, strict=False), 1):
        if (one.offset, one.size, one.fate) != (other.offset, other.size, other.fate):
            return (
                f"The packets with data differ from number {number} on: simulated {one.sentence};"
                f" emulated {other.sentence}."
            )
    shorter = min(len(simulated), len(emulated))
    if not shorter:
        return "At least one side sent no data."
    return f"The first {shorter} packets with data are the same on both sides, and have the same fate."


def _segments(content: bytes) -> Iterator[tuple[float, bytes, int, int, bool, str]]:
    """Segments of TCP that the host sent: time, addresses and ports, sequence number, bytes of data, SYN, and fate."""
    at = 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if kind == ENHANCED_PACKET:
            _, high, low, kept, whole = struct.unpack_from("<5I", content, at + 8)
            packet = content[at + 28 : at + 28 + kept]
            options = dict(_options(content[at + 28 + (kept + 3) // 4 * 4 : at + length - 4]))
            (direction,) = struct.unpack("<I", options.get(FLAGS, bytes(4)))
            header = _transport(packet)
            if direction & 3 == OUTBOUND and header is not None:
                addresses, start = header
                sequence, flags = struct.unpack_from(">I", packet, start + 4)[0], packet[start + 13]
                data = whole - start - (packet[start + 12] >> 4) * 4
                fate = options.get(COMMENT, b"").decode().rpartition(", ")
                ends = addresses + packet[start : start + 4]
                yield (high << 32 | low) * 1e-9, ends, sequence, data, bool(flags & SYN), fate[0] or fate[2]
        at += length


def _options(content: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(content):
        code, length = struct.unpack_from("<HH", content, at)
        if code == 0:
            return
        yield code, content[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4


def _transport(packet: bytes) -> tuple[bytes, int] | None:
    """Returns the addresses and the offset of the TCP header; None for another protocol."""
    if packet[0] >> 4 == 4:
        return (packet[12:20], (packet[0] & 15) * 4) if packet[9] == TCP else None
    return (packet[8:40], 40) if packet[6] == TCP else None

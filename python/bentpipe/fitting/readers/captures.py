"""Reads the two formats of captures, pcap and pcapng, record by record. A fault has the number and place of its record.

pcap: draft-ietf-opsawg-pcap. pcapng: draft-ietf-opsawg-pcapng. Both exist in both byte orders.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct, unpack_from
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bentpipe.fitting.readers.opening import Stream

    Packet = tuple[float, int, bytes, int]
    """Unix time, link type, stored bytes, and length of the whole packet."""

PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 10**6),
    b"\xa1\xb2\xc3\xd4": (">", 10**6),
    b"\x4d\x3c\xb2\xa1": ("<", 10**9),
    b"\xa1\xb2\x3c\x4d": (">", 10**9),
}
"""Byte order, and fractions of a second, by the first bytes."""
SECTION = b"\x0a\x0d\x0d\x0a"
ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
MAGICS = (*PCAP, SECTION)
STORED_MAX = 262_144
"""Largest number of stored bytes of a packet: the largest snap length of tcpdump."""
BLOCK_MAX = 1 << 24
INTERFACES_MAX = 1 << 16
INTERFACE, OLD_PACKET, SIMPLE_PACKET, PACKET = 1, 2, 3, 6
RESOLUTION, OFFSET = 9, 14
"""Options of an interface: fractions of a second, and seconds to add."""
FINEST = {0: 18, 128: 60}
"""Largest exponent of fractions, by base: 10 or 2."""
WHOLE = "expected a whole capture"


class RecordError(Exception):
    """A record that cannot be read, with its place. Records after it cannot be found."""

    def __init__(self, text: str, place: str) -> None:
        super().__init__(text)
        self.place = place


@dataclass(frozen=True)
class _Interface:
    link: int
    fractions: int
    offset_s: int


class _Cursor:
    """Takes bytes from a stream, and knows the place of its record."""

    def __init__(self, stream: Stream) -> None:
        self._pieces = stream.pieces()
        self._held = b""
        self._at = 0
        self._before = 0
        self.record = 0
        self.begin = 0

    def take(self, count: int) -> bytes:
        """Return the next bytes; fewer at the end."""
        end = self._at + count
        if end > len(self._held):
            self._fill(count)
            end = self._at + count
        found = self._held[self._at : end]
        self._at += len(found)
        return found

    def need(self, count: int) -> bytes:
        """Return the next bytes, all of them."""
        found = self.take(count)
        if len(found) < count:
            raise self.broken(f"ends after {len(found):,} of {count:,} bytes", WHOLE)
        return found

    def next(self) -> None:
        """Begin a record."""
        self.record += 1
        self.begin = self._before + self._at

    def broken(self, message: str, expected: str) -> RecordError:
        place = f"record {self.record:,} at byte {self.begin:,}" if self.record else "the file's head"
        return RecordError(f"{message}\n  {expected}", place)

    def _fill(self, count: int) -> None:
        parts, size = [self._held[self._at :]], len(self._held) - self._at
        self._before += self._at
        while size < count and (piece := next(self._pieces, None)) is not None:
            parts.append(piece)
            size += len(piece)
        self._held, self._at = b"".join(parts), 0


def packets(stream: Stream) -> Iterator[Packet]:
    """Yield the packets of a capture that have a time. Raise `RecordError` at the first wrong record."""
    cursor = _Cursor(stream)
    return _read_sections(cursor) if stream.head.startswith(SECTION) else _read_pcap(cursor)


def _read_pcap(cursor: _Cursor) -> Iterator[Packet]:
    head = cursor.need(24)
    order, fractions = PCAP[head[:4]]
    major, _, _, _, _, link = unpack_from(f"{order}HHiIII", head, 4)
    if major != 2:
        raise cursor.broken(f"version {major}", "expected version 2 of pcap")
    # The upper bits are about check sums of frames.
    link &= 0x0FFF_FFFF
    record = Struct(f"{order}IIII")
    cursor.next()
    while begin := cursor.take(16):
        if len(begin) < 16:
            raise cursor.broken(f"ends after {len(begin)} of 16 bytes", WHOLE)
        seconds, fraction, stored, length = record.unpack(begin)
        if fraction >= fractions:
            raise cursor.broken(f"a fraction of {fraction:,}", f"expected less than {fractions:,}, which are a second")
        yield seconds + fraction / fractions, link, _read_stored(cursor, stored), length
        cursor.next()


def _read_stored(cursor: _Cursor, count: int) -> bytes:
    if count > STORED_MAX:
        raise cursor.broken(f"{count:,} stored bytes of a packet", f"expected at most {STORED_MAX:,}")
    return cursor.need(count)


def _read_sections(cursor: _Cursor) -> Iterator[Packet]:
    order = "<"
    interfaces: list[_Interface] = []
    cursor.next()
    while head := cursor.take(8):
        head += cursor.need(8 - len(head))
        first = b""
        if head.startswith(SECTION):
            first = cursor.need(4)
            if first not in ORDERS:
                raise cursor.broken("a section without its byte order", "expected 1A 2B 3C 4D in one of both orders")
            order, interfaces = ORDERS[first], []
        kind, size = unpack_from(f"{order}II", head)
        if size % 4 or not 12 + len(first) <= size <= BLOCK_MAX:
            raise cursor.broken(f"a block of {size:,} bytes", f"expected a multiple of 4, from 12 to {BLOCK_MAX:,}")
        body = cursor.need(size - 12 - len(first))
        if cursor.need(4) != head[4:8]:
            raise cursor.broken("the lengths before and after a block differ", "expected equal lengths")
        if kind == INTERFACE:
            interfaces.append(_interface(cursor, order, body))
            if len(interfaces) > INTERFACES_MAX:
                raise cursor.broken("too many interfaces", f"expected at most {INTERFACES_MAX:,}")
        elif kind in (PACKET, OLD_PACKET):
            yield _packet(cursor, order, body, kind, interfaces)
        elif kind == SIMPLE_PACKET:
            raise cursor.broken("a packet without a time", "expected enhanced packets, as of tcpdump and dumpcap")
        cursor.next()


def _interface(cursor: _Cursor, order: str, body: bytes) -> _Interface:
    """Read the description of an interface: type of its links, and unit of its times."""
    if len(body) < 8:
        raise cursor.broken(f"an interface of {len(body)} bytes", "expected at least 8")
    fractions, offset_s, at = 10**6, 0, 8
    while at + 4 <= len(body):
        code, size = unpack_from(f"{order}HH", body, at)
        value = body[at + 4 : at + 4 + size]
        if code == RESOLUTION and len(value) == 1:
            base, exponent = value[0] & 128, value[0] & 127
            if exponent > FINEST[base]:
                raise cursor.broken(f"times in units of {2 if base else 10}^-{exponent} s", "expected 10^-18 s or more")
            fractions = (2 if base else 10) ** exponent
        elif code == OFFSET and len(value) == 8:
            (offset_s,) = unpack_from(f"{order}q", value)
        elif code == 0:
            break
        at += 4 + size + -size % 4
    return _Interface(unpack_from(f"{order}H", body)[0], fractions, offset_s)


def _packet(cursor: _Cursor, order: str, body: bytes, kind: int, interfaces: list[_Interface]) -> Packet:
    if len(body) < 20:
        raise cursor.broken(f"a packet of {len(body)} bytes", "expected at least 20")
    # The older form has a count of lost packets beside the interface.
    number, high, low, stored, length = unpack_from(f"{order}{'I' if kind == PACKET else 'Hxx'}IIII", body)
    if number >= len(interfaces):
        raise cursor.broken(f"interface {number}", f"expected one of the {len(interfaces)} that are described before")
    if stored > len(body) - 20:
        raise cursor.broken(f"{stored:,} stored bytes in {len(body) - 20:,}", "expected the packet inside its block")
    known = interfaces[number]
    return ((high << 32) | low) / known.fractions + known.offset_s, known.link, body[20 : 20 + stored], length

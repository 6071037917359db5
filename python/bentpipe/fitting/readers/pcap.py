"""Reads captures, pcap or pcapng: echo requests as probes, TCP and numbered datagrams as transfers.

Only headers are read. Addresses identify connections, and are never written.
"""

from __future__ import annotations

import struct
from struct import unpack_from
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.fitting.measured import (
    BACK_MAX,
    HEADERS,
    INTERVALS_MIN,
    MSS,
    PROBES_MIN,
    UNIX_MAX_S,
    Load,
    Measured,
    make_probes,
)
from bentpipe.fitting.readers.captures import MAGICS, RecordError, packets
from bentpipe.fitting.readers.senders import STEP_S, Sender
from bentpipe.fitting.readers.sights import CONTENT, Datagrams, Sights, count_header_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.fitting.faults import Faults
    from bentpipe.fitting.measured import Array
    from bentpipe.fitting.readers.opening import Asked, Stream

SIZE_MAX = 2 << 30
"""Largest size of a capture in bytes, after decompression."""
CONNECTIONS_MAX = 10_000
"""Largest number of connections that are followed; of more, the first."""
NEAR_S = 1e-3
"""Round trips below this are inside a host: a satellite is 3 ms away and back."""
SHARE_MIN = 0.05
"""Least share of the bytes of the largest connection that makes another a part of the transfer."""
MISSED_MAX = 0.01
"""Largest share of missed bytes without a note."""
EDGE = 1e-3
PAUSE_S = 1.0
"""Share of the bytes at both ends, and shortest pause, that are left out together."""
SPAN_MAX = 1_000_000
"""Largest number of intervals of a transfer: 28 hours."""
BACK_S = 1e-3
"""Times of packets of several processors go back by less."""
ETHERNET, RAW = 1, (12, 14, 101, 228, 229)
LINKS = {0: (None, 4), 108: (None, 4), 113: (14, 16), 276: (0, 20)}
"""Place of the EtherType, and length of the header, by link type: BSD loopback, and Linux's "any" in both versions."""
IP, VLAN = (b"\x08\x00", b"\x86\xdd"), (b"\x81\x00", b"\x88\xa8", b"\x91\x00")
ICMP, TCP, UDP, ICMP6 = 1, 6, 17, 58
EXTENSIONS, FRAGMENT = (0, 43, 60), 44
REQUESTS, ANSWERS = {(ICMP, 8), (ICMP6, 128)}, {(ICMP, 0), (ICMP6, 129)}
FIN, SYN, ACK = 1, 2, 16
"""Payload of a full segment, if the SYNs are not in the capture."""


def recognises(stream: Stream) -> bool:
    """Whether the first bytes are those of a capture."""
    return stream.head.startswith(MAGICS)


def read(stream: Stream, asked: Asked, faults: Faults) -> Measured:
    """Read the echo requests and the transfer of a capture."""
    stream.size_max = SIZE_MAX
    seen, notes = _Seen(Sights(stream.name) if asked.is_paired else None), list[str]()
    if not recognises(stream):
        faults.wrong(stream.name, f"begins with {stream.head[:4].hex(' ')}", "expected a capture: pcap or pcapng")
        return Measured()
    fault: tuple[str, str, str] | None = None
    try:
        for packet in packets(stream):
            seen.packet(*packet)
    except RecordError as error:
        message, _, expected = str(error).partition("\n  ")
        fault = error.place, message, expected
    if (excess := stream.excess) is not None:
        faults.wrong(stream.name, *excess)
        return Measured()
    if stream.ending and fault is None:
        fault = "the end", f"the compressed file is {stream.ending}", "expected a whole capture"
    if fault is not None and not (asked.is_partial and seen.count):
        place, message, expected = fault
        readable = f"; the first {seen.count:,} packets are readable, and `partial` takes them" if seen.count else ""
        faults.wrong(f"{stream.name}: {place}", message, f"{expected}{readable}")
        return Measured()
    if fault is not None:
        notes.append(f"{stream.name}: {fault[0]}: {fault[1]}; the {seen.count:,} packets before it are used")
    if not seen.are_times_good(stream.name, faults):
        return Measured()
    before = faults.count
    found = Measured(seen.probes(stream.name, faults, notes), seen.loads(stream.name, asked, faults, notes), notes)
    found.loads += seen.datagram_loads(stream.name, asked, notes)
    found.sights = seen.sighted
    if not found.probes and not found.loads and faults.count == before:
        fault = stream.name, seen.lack, seen.expected
        # Another capture may know what this one lacks.
        if found.sights:
            found.lacking.append(fault)
        else:
            faults.wrong(*fault)
    return found


class _Seen:
    """Echo requests and connections of a capture."""

    def __init__(self, sights: Sights | None) -> None:
        self.count = self.cut = self.others = 0
        self._sights = sights
        self.datagrams: dict[bytes, Datagrams] = {}
        self._back = 0
        self._first_s = self._last_s = 0.0
        self._links: set[int] = set()
        self._senders: dict[bytes, Sender] = {}
        self._echoes: dict[bytes, tuple[list[float], list[float]]] = {}
        """Send times and round trips, by protocol, addresses and identifier."""
        self._waiting: dict[bytes, int] = {}
        """Place of the newest request, by its key and number."""

    def packet(self, at: float, link: int, data: bytes, length: int) -> None:
        """Add a packet."""
        if not self.count:
            self._first_s = at
        elif at < self._last_s - BACK_S:
            self._back += 1
        self.count += 1
        self._last_s = at
        try:
            place = _network(link, data)
            if place < 0:
                self.others += 1
                self._links.add(link)
                return
            version = data[place] >> 4
            if version == 4:
                total, fragment = unpack_from(">HxxH", data, place + 2)
                begin, kind = place + (data[place] & 15) * 4, data[place + 9]
                source, target = data[place + 12 : place + 16], data[place + 16 : place + 20]
                # A packet that the device will cut into segments may have no length yet.
                end = place + total if total else length
                is_part = fragment & 0x1FFF != 0
            elif version == 6:
                (total,) = unpack_from(">H", data, place + 4)
                source, target = data[place + 8 : place + 24], data[place + 24 : place + 40]
                end = place + 40 + total if total else length
                begin, kind, is_part = _behind_extensions(data, place + 40, data[place + 6])
            else:
                self.others += 1
                return
            if is_part or kind not in (TCP, UDP, ICMP, ICMP6):
                self.others += 1
            elif kind == TCP:
                self._segment(at, data, (place, begin, end), source, target)
            elif kind == UDP:
                identification = unpack_from(">H", data, place + 4)[0] if version == 4 else 0
                self._datagram(at, data, begin, identification, source + target)
            else:
                self._echo(at, data, begin, kind, source, target)
        except (IndexError, struct.error):
            self.cut += 1

    def _segment(self, at: float, data: bytes, places: tuple[int, int, int], source: bytes, target: bytes) -> None:
        """Add a segment, by the places of its IP header, its TCP header and its end."""
        place, begin, end = places
        sequence, number, words, flags = unpack_from(">IIBB", data, begin + 4)
        behind = begin + (words >> 4) * 4
        size = end - behind
        if size < 0 or behind < begin + 20:
            self.others += 1
            return
        stamp = echo = mss = 0
        if data[begin + 20 : begin + 24] == b"\x01\x01\x08\x0a":
            stamp, echo = unpack_from(">II", data, begin + 24)
        elif behind > begin + 20:
            stamp, echo, mss = _options(data, begin + 20, behind)
        key = source + target + data[begin : begin + 4]
        sender = self._sender(key)
        other = self._sender(target + source + data[begin + 2 : begin + 4] + data[begin : begin + 2])
        if sender is None or other is None:
            return
        if flags & SYN:
            sender.begin(sequence)
            sender.mss = mss
        if self._sights is not None:
            names = key, target + source + data[begin + 2 : begin + 4] + data[begin : begin + 2]
            full = min(sender.mss or MSS, other.mss or MSS) - (behind - begin - 20) if sender.mss else MSS
            self._sights.segment(at, names, data[begin:behind], (sequence, size), max(full, 1), stamp)
        if size:
            sender.headers, sender.options = behind - place, behind - begin - 20
        # SYN and FIN have a number each.
        size += (flags & SYN != 0) + (flags & FIN != 0)
        if size:
            sender.sent(at, sequence, size, stamp)
        if flags & ACK:
            other.acknowledge(at, number, echo)

    def _sender(self, key: bytes) -> Sender | None:
        found = self._senders.get(key)
        if found is None and len(self._senders) < 2 * CONNECTIONS_MAX:
            found = self._senders[key] = Sender()
        return found

    def _echo(self, at: float, data: bytes, begin: int, kind: int, source: bytes, target: bytes) -> None:
        what = kind, data[begin]
        if what in REQUESTS:
            key = bytes([kind]) + source + target + data[begin + 4 : begin + 6]
            self._sight_echo(at, key, data, begin, is_answer=False)
            sent, trips = self._echoes.setdefault(key, ([], []))
            number = key + data[begin + 6 : begin + 8]
            place = self._waiting.get(number)
            # The capture may see a request at two interfaces.
            if place is None or at - sent[place] > NEAR_S:
                self._waiting[number] = len(sent)
                sent.append(at)
                trips.append(np.nan)
        elif what in ANSWERS:
            key = bytes([kind]) + target + source + data[begin + 4 : begin + 6]
            self._sight_echo(at, key, data, begin, is_answer=True)
            place = self._waiting.get(key + data[begin + 6 : begin + 8])
            if place is not None:
                sent, trips = self._echoes[key]
                if trips[place] != trips[place] and at > sent[place]:
                    trips[place] = at - sent[place]
        else:
            self.others += 1

    def _sight_echo(self, at: float, key: bytes, data: bytes, begin: int, *, is_answer: bool) -> None:
        if self._sights is not None:
            self._sights.echo(at, key, unpack_from(">H", data, begin + 6)[0], is_answer=is_answer)

    def _datagram(self, at: float, data: bytes, begin: int, identification: int, ends: bytes) -> None:
        """Add a datagram, by the place of its UDP header."""
        (length,) = unpack_from(">H", data, begin + 4)
        if length < 8:
            self.others += 1
            return
        content = data[begin + 8 : begin + min(8 + CONTENT, length)]
        key = ends + data[begin : begin + 4]
        found = self.datagrams.get(key)
        if found is None:
            if len(self.datagrams) == CONNECTIONS_MAX:
                return
            found = self.datagrams[key] = Datagrams()
        found.add(at, length - 8, identification, content)
        if self._sights is not None:
            self._sights.datagram(at, (key, b""), struct.pack(">HH", identification, length) + content, length - 8)

    @property
    def sighted(self) -> list[Sights]:
        """All packets, if another capture may be of the other end."""
        if self._sights is None:
            return []
        self._sights.begin_s, self._sights.end_s = self._first_s, self._last_s
        return [self._sights]

    @property
    def expected(self) -> str:
        """Content that a capture needs."""
        if self._numberless() is not None:
            return "expected numbers in their content, as of iperf3 -u, and 64 bytes of each packet; or TCP"
        if self.datagrams:
            return "expected the capture of the receiver, or captures of both ends"
        return f"expected {PROBES_MIN} echo requests, or {INTERVALS_MIN * STEP_S:g} s of TCP"

    def _largest(self) -> tuple[bytes, Datagrams | None]:
        return max(self.datagrams.items(), key=lambda each: len(each[1].times), default=(b"", None))

    def _numberless(self) -> Datagrams | None:
        """Return the largest series of datagrams, if nothing counts them."""
        found = self._largest()[1]
        return found if found is not None and len(found.times) >= PROBES_MIN and not found.find_counter() else None

    @property
    def lack(self) -> str:
        """Content of a capture that has too little."""
        if self.count and len(self._links) and self.others == self.count:
            return f"{self.count:,} packets without IP; link types {', '.join(map(str, sorted(self._links)))}"
        if self.cut:
            return f"{self.cut:,} of {self.count:,} packets are cut within their headers"
        if (numberless := self._numberless()) is not None:
            return f"{len(numberless.times):,} datagrams without numbers, so losses between them are unknown"
        if self.datagrams:
            count = sum(len(each.times) for each in self.datagrams.values())
            return f"{count:,} datagrams, of which none is missing, as at the sender"
        requests = sum(len(sent) for sent, _ in self._echoes.values())
        bytes_acked = sum(each.total for each in self._senders.values())
        return f"{requests:,} echo requests, and {bytes_acked:,} bytes of TCP"

    def are_times_good(self, name: str, faults: Faults) -> bool:
        """Whether the packets are in the order of time."""
        if self._back > BACK_MAX * self.count:
            faults.wrong(name, f"{self._back:,} of {self.count:,} times go back", "expected one capture, in order")
            return False
        if not 0 <= max(self._first_s, self._last_s) < UNIX_MAX_S:
            faults.wrong(name, f"a time of {self._last_s:.3g} s", "expected Unix time; check the unit")
            return False
        return True

    def probes(self, name: str, faults: Faults, notes: list[str]) -> list[Any]:
        """Return the echo requests of the host with most of them."""
        (sent, trips) = max(self._echoes.values(), key=lambda each: len(each[0]), default=([], []))
        send_s, rtt_s = np.array(sent), np.array(trips)
        if len(send_s) < PROBES_MIN:
            return []
        answered = ~np.isnan(rtt_s)
        if answered.any():
            if rtt_s[answered].min() < NEAR_S:
                least_ms = 1e3 * rtt_s[answered].min()
                notes.append(f"{name}: answers after {least_ms:.2g} ms, as at the host that answers; echoes left out")
                return []
            # The capture may have ended before their answers.
            known = send_s <= self._last_s - rtt_s[answered].max()
            send_s, rtt_s = send_s[known | answered], rtt_s[known | answered]
        if len(self._echoes) > 1:
            notes.append(f"{name}: of {len(self._echoes)} series of echo requests, the longest")
        return make_probes(name, send_s, rtt_s, faults, are_arrivals=False, notes=notes)

    def loads(self, name: str, asked: Asked, faults: Faults, notes: list[str]) -> list[Load]:
        """Return the transfer between the two hosts with most bytes."""
        totals: dict[bytes, int] = {}
        for key, each in self._senders.items():
            totals[key[:-4]] = totals.get(key[:-4], 0) + each.total
        hosts = max(totals, key=lambda key: totals[key], default=b"")
        every = [(key, each) for key, each in self._senders.items() if key[:-4] == hosts and each.total]
        if not every:
            return []
        largest = max(each.total for _, each in every)
        chosen = [(key, each) for key, each in every if each.total >= SHARE_MIN * largest]
        first, last = _busy([each for _, each in chosen])
        if last - first < INTERVALS_MIN:
            return []
        if last - first > SPAN_MAX:
            faults.wrong(
                name, f"a transfer of {(last - first) * STEP_S:,.0f} s", f"expected at most {SPAN_MAX * STEP_S:,.0f} s"
            )
            return []
        senders = [each for _, each in chosen]
        of_bytes, of_repeats, window, srtt_s, longest_s = _series(senders, first, last)
        peers = [self._senders.get(_reverse_key(key)) for key, _ in chosen]
        mss = min((_mss(each, peer) for (_, each), peer in zip(chosen, peers, strict=True)), default=0)
        least_s = min(each.least_s for each in senders)
        state: dict[str, Any] = {}
        if least_s < NEAR_S:
            notes.append(
                f"{name}: acknowledged after {1e3 * least_s:.2g} ms, as at the receiver; no window, no round trip"
            )
        elif np.isfinite(least_s):
            repeats = np.ceil(of_repeats / (mss or MSS))
            state = {"srtt_s": srtt_s, "cwnd_bytes": window, "retransmits": repeats, "trip_s": least_s}
            state |= {"longest_s": longest_s, "arrived": _join_acknowledgements(senders)}
            back_s = min((peer.least_s for peer in peers if peer is not None), default=np.inf)
            if NEAR_S <= back_s < np.inf:
                notes.append(f"{name}: captured between the ends; the round trip is that of the part behind")
        notes += self._remarks(name, senders, len(every), asked)
        begin_s: Array = STEP_S * np.arange(first, last, dtype=np.float64)
        interval_s: Array = np.full(last - first, STEP_S)
        whole = Load(
            begin_s,
            interval_s,
            of_bytes,
            name,
            asked.direction,
            mss=mss or None,
            headers=senders[0].headers or HEADERS["tcp"],
            streams=len(senders),
            opposed=self._count_back(hosts, first, last),
            **state,
        )
        return [whole]

    def _count_back(self, hosts: bytes, first: int, last: int) -> Array:
        """Return the data that the other host sent, by interval."""
        back = _reverse_key(hosts + bytes(4))[:-4]
        found = np.zeros(last - first)
        bins = (each.bins for key, each in self._senders.items() if key[:-4] == back)
        for number, content in (item for each in bins for item in each.items()):
            if first <= number < last:
                found[number - first] += content[0]
        return found

    def datagram_loads(self, name: str, asked: Asked, notes: list[str]) -> list[Load]:
        """Return the datagrams of the largest series, if their numbers show those that are missing."""
        key, largest = self._largest()
        if largest is None or len(largest.times) < PROBES_MIN:
            return []
        known = largest.find_counter()
        if known is None:
            notes.append(f"{name}: {len(largest.times):,} datagrams without numbers were left out")
            return []
        what, numbers, has = known
        begin_s, sizes, sent, lost = largest.intervals(numbers, has, STEP_S)
        if not lost.any():
            notes.append(f"{name}: no datagram is missing, as at the sender, so what arrived is unknown; left out")
            return []
        if len(begin_s) < INTERVALS_MIN:
            return []
        notes.append(f"{name}: datagrams are counted by {what}; taken as {asked.direction} (`direction`)")
        interval_s: Array = np.full(len(begin_s), STEP_S)
        headers = count_header_bytes(key)
        return [
            Load(begin_s, interval_s, sizes, name, asked.direction, "udp", lost=lost, packets=sent, headers=headers)
        ]

    def _remarks(self, name: str, senders: Sequence[Sender], count: int, asked: Asked) -> list[str]:
        """List assumptions, and packets that were left out."""
        notes = [f"{name}: the transfer is taken as {asked.direction} (`direction`)"]
        if len(self._senders) > 2 * count:
            notes.append(f"{name}: of {len(self._senders) // 2:,} connections, those with most bytes")
        if self.cut:
            notes.append(f"{name}: {self.cut:,} of {self.count:,} packets are cut within their headers")
        missed, total = sum(each.missed for each in senders), sum(each.total for each in senders)
        if missed > MISSED_MAX * total:
            notes.append(
                f"{name}: the capture misses {100 * missed / total:.0f} % of the bytes; its losses are not all known"
            )
        if copies := sum(each.copies for each in senders):
            notes.append(f"{name}: {copies:,} segments were captured twice; counted once")
        return notes


def _busy(senders: Sequence[Sender]) -> tuple[int, int]:
    """Return the intervals of the transfer, without pauses at both ends. The last interval is a part, and left out."""
    rows = sorted((at, each[0]) for sender in senders for at, each in sender.bins.items())
    numbers, carried = np.array(rows).T
    pauses = np.flatnonzero(np.diff(numbers) > PAUSE_S / STEP_S)
    first, last = np.searchsorted(np.cumsum(carried) / carried.sum(), (EDGE, 1 - EDGE))
    before, after = pauses[pauses < first], pauses[pauses >= last]
    begin = int(before[-1]) + 1 if len(before) else 0
    end = int(after[0]) if len(after) else -1
    return int(numbers[begin]), int(numbers[end])


def _series(senders: Sequence[Sender], first: int, last: int) -> tuple[Array, Array, Array, Array, Array]:
    """Return acknowledged bytes, repeated bytes, window, smoothed and longest round trip of all senders by interval."""
    carried, repeated = np.zeros(last - first), np.zeros(last - first)
    longest = np.full(last - first, np.nan)
    window, trips, known = np.zeros(last - first), np.zeros(last - first), np.zeros(last - first)
    for each in senders:
        values = np.full((last - first, 5), np.nan)
        for number, content in sorted(each.bins.items()):
            if first <= number < last:
                values[number - first] = content
            elif number < first:
                # The round trip so far, if nothing is seen in the first interval.
                values[0, 3] = content[3]
        carried += np.nan_to_num(values[:, 0])
        repeated += np.nan_to_num(values[:, 1])
        # After a recovery, the window is known again; in an interval without acknowledgements, the round trip stays.
        window += np.nan_to_num(_held(values[::-1, 2])[::-1])
        here = _held(values[:, 3])
        trips += np.nan_to_num(here)
        known += ~np.isnan(here)
        longest = np.fmax(longest, values[:, 4])
    window[window == 0] = np.nan
    mean = np.divide(trips, known, out=np.full(len(trips), np.nan), where=known > 0)
    return carried, repeated, window, mean, longest


def _join_acknowledgements(senders: Sequence[Sender]) -> tuple[Array, Array, Array]:
    """Return the times of acknowledgements of all senders, all acknowledged bytes until then, and round trips."""
    times, trips_s = (np.concatenate([getattr(each, name) for each in senders]) for name in ("acked_s", "trips_s"))
    order = np.argsort(times, kind="stable")
    steps = np.concatenate([np.diff(np.array(each.acked, dtype=np.float64), prepend=0.0) for each in senders])
    return times[order], np.cumsum(steps[order]), trips_s[order]


def _held(values: Array) -> Array:
    """Return values in which a NaN continues the value before it."""
    last = np.maximum.accumulate(np.where(np.isnan(values), 0, np.arange(len(values))))
    held: Array = values[last]
    return held


def _reverse_key(key: bytes) -> bytes:
    half = (len(key) - 4) // 2
    return key[half : 2 * half] + key[:half] + key[-2:] + key[-4:-2]


def _mss(sender: Sender, peer: Sender | None) -> int:
    """Return the payload of a full segment; 0 if the SYNs are not in the capture."""
    if peer is None or not sender.mss or not peer.mss:
        return 0
    return max(min(sender.mss, peer.mss) - sender.options, 1)


def _network(link: int, data: bytes) -> int:
    """Return the place of the IP header; -1 for other packets."""
    if link == ETHERNET:
        at = 12
        while data[at : at + 2] in VLAN and at < 24:
            at += 4
        return at + 2 if data[at : at + 2] in IP else -1
    if link in RAW:
        return 0
    kind_at, head = LINKS.get(link, (0, -1))
    return head if kind_at is None or data[kind_at : kind_at + 2] in IP else -1


def _behind_extensions(data: bytes, place: int, kind: int) -> tuple[int, int, bool]:
    """Return place and kind behind the extension headers of IPv6, and whether it is a later fragment."""
    while kind in EXTENSIONS or kind == FRAGMENT:
        if kind == FRAGMENT and unpack_from(">H", data, place + 2)[0] >> 3:
            return place, kind, True
        size = 8 if kind == FRAGMENT else (data[place + 1] + 1) * 8
        kind, place = data[place], place + size
    return place, kind, False


def _options(data: bytes, place: int, end: int) -> tuple[int, int, int]:
    """Return both time stamps and the announced MSS; 0 for those that the segment does not have."""
    stamp = echo = mss = 0
    while place < end and data[place]:
        if data[place] == 1:
            place += 1
            continue
        size = data[place + 1]
        if size < 2:
            break
        if data[place] == 2 and size == 4:
            (mss,) = unpack_from(">H", data, place + 2)
        elif data[place] == 8 and size == 10:
            stamp, echo = unpack_from(">II", data, place + 2)
        place += size
    return stamp, echo, mss

"""Keeps when a capture saw each packet, so that two captures of one connection can be compared, and numbers datagrams.

A packet is identified by the parts of its headers that no router changes. Addresses identify connections, and are never
written.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from struct import unpack_from
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.fitting.measured import HEADERS, SEQUENCE, VERSION_6

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bentpipe.fitting.measured import Array

    Numbers = NDArray[np.int64]

FLOWS_MAX = 20_000
"""Largest number of directions of connections that are kept; of more, the first."""
CONTENT = 16
"""Bytes of the content of a datagram in its identity."""
STEP_MAX = 1000
"""Largest step between the numbers of datagrams that arrive one after the other."""
IN_ORDER, BY_ONE = 0.95, 0.3
"""Least shares of steps that are small, and that are 1, of numbers that count datagrams."""


@dataclass
class Flow:
    """Packets of one direction of a connection, in the order of the capture.

    Attributes
    ----------
    times, keys, sizes : array
        Time, identity and bytes of each packet. Packets of equal identity look the same.
    back : bytes
        Name of the other direction.
    """

    back: bytes
    times: array[float] = field(default_factory=lambda: array("d"))
    keys: array[int] = field(default_factory=lambda: array("q"))
    sizes: array[int] = field(default_factory=lambda: array("L"))

    total: int = 0
    """Bytes of all packets."""

    def add(self, at: float, key: int, size: int) -> None:
        """Add a packet."""
        self.times.append(at)
        self.keys.append(key)
        self.sizes.append(size)
        self.total += size

    @property
    def by_key(self) -> dict[int, float]:
        """Time of the first packet of each identity."""
        return dict(zip(reversed(self.keys), reversed(self.times), strict=True))


@dataclass
class Sights:
    """All packets of a capture, by direction of their connection.

    Attributes
    ----------
    segments, datagrams : dict
        Directions by addresses and ports.
    requests, answers : dict
        Echo requests and their answers, by the addresses and the identifier of the requests.
    begin_s, end_s : float
        Times of the first and the last packet.
    """

    name: str
    segments: dict[bytes, Flow] = field(default_factory=dict)
    requests: dict[bytes, Flow] = field(default_factory=dict)
    answers: dict[bytes, Flow] = field(default_factory=dict)
    datagrams: dict[bytes, Flow] = field(default_factory=dict)
    begin_s: float = 0.0
    end_s: float = 0.0

    @property
    def by_kind(self) -> tuple[dict[bytes, Flow], ...]:
        """Segments, requests, answers and datagrams."""
        return self.segments, self.requests, self.answers, self.datagrams

    def segment(
        self, at: float, names: tuple[bytes, bytes], head: bytes, place: tuple[int, int], mss: int, stamp: int
    ) -> None:
        """Add a segment by its TCP header, its number and its payload.

        A host may capture many segments as one. All of them but the last are full, so they can be split again. A
        segment without data is identified by its whole header, except ports and checksum.
        """
        flow = _flow(self.segments, names)
        if flow is None:
            return
        sequence, size = place
        if not size:
            flow.add(at, hash(head[4:16] + head[20:]), 0)
            return
        for begin in range(0, size, mss):
            flow.add(at, hash((sequence + begin, stamp)), min(mss, size - begin))

    def echo(self, at: float, name: bytes, number: int, *, is_answer: bool) -> None:
        """Add an echo request or its answer."""
        flow = _flow(self.answers if is_answer else self.requests, (name, b""))
        if flow is not None:
            # Numbers repeat after 65,536.
            last = flow.keys[-1] if flow.keys else number
            flow.add(at, last + (number - last + SEQUENCE // 2) % SEQUENCE - SEQUENCE // 2, 0)

    def datagram(self, at: float, names: tuple[bytes, bytes], identity: bytes, size: int) -> None:
        """Add a datagram, by its identification, its length and the begin of its content."""
        flow = _flow(self.datagrams, names)
        if flow is not None:
            flow.add(at, hash(identity), size)


def count_header_bytes(name: bytes) -> int:
    """Return the bytes of the headers of a datagram, by the addresses and ports in the name of its direction."""
    return HEADERS["udp"] + VERSION_6 * (len(name) > 2 * 4 + 4)


def _flow(flows: dict[bytes, Flow], names: tuple[bytes, bytes]) -> Flow | None:
    found = flows.get(names[0])
    if found is None and len(flows) < FLOWS_MAX:
        found = flows[names[0]] = Flow(names[1])
    return found


class Datagrams:
    """Datagrams of one direction of a capture, and fields that may be counters.

    Attributes
    ----------
    times, sizes : array
        Time of each datagram, and bytes of its content.
    """

    PLACES = ("IP identification", "RTP", "iperf2", "iperf3")

    def __init__(self) -> None:
        self.times, self.sizes = array("d"), array("L")
        self._numbers = {name: array("q") for name in self.PLACES}

    def add(self, at: float, size: int, identification: int, content: bytes) -> None:
        """Add a datagram by the begin of its content."""
        self.times.append(at)
        self.sizes.append(size)
        numbers = self._numbers
        numbers["IP identification"].append(identification)
        is_rtp = len(content) >= 12 and content[0] >> 6 == 2
        numbers["RTP"].append(unpack_from(">H", content, 2)[0] if is_rtp else -1)
        numbers["iperf2"].append(unpack_from(">I", content)[0] if len(content) >= 4 else -1)
        # Seconds and microseconds of the sender are before the number.
        numbers["iperf3"].append(unpack_from(">I", content, 8)[0] if len(content) >= 12 else -1)

    def find_counter(self) -> tuple[str, Numbers, NDArray[np.bool_]] | None:
        """Return the name of the counter, the unwrapped numbers, and the datagrams that have such a number."""
        for name, values in self._numbers.items():
            every = np.array(values)
            # The first datagrams may open the test, and have no number.
            has = every >= 0
            numbers = every[has]
            if len(numbers) < max(2, IN_ORDER * len(every)):
                continue
            size = 1 << (32 if name.startswith("iperf") else 16)
            steps = (np.diff(numbers) + size // 2) % size - size // 2
            is_small = (np.abs(steps) <= STEP_MAX) & (steps != 0)
            if is_small.mean() >= IN_ORDER and (steps == 1).mean() >= BY_ONE:
                return name, np.concatenate([[0], np.cumsum(steps)]), has
        return None

    def intervals(self, numbers: Numbers, has: NDArray[np.bool_], step_s: float) -> tuple[Array, Array, Array, Array]:
        """Return begin, bytes, sent and lost datagrams of each interval.

        A lost datagram counts when the next one arrives.
        """
        # A late datagram is not lost, and a copy counts once.
        numbers, first = np.unique(numbers, return_index=True)
        times, sizes = np.array(self.times)[has][first], np.array(self.sizes, dtype=np.float64)[has][first]
        lost = np.concatenate([[0], np.diff(numbers) - 1])
        places = np.floor((times - times.min()) / step_s).astype(np.int64)
        # The last interval is a part.
        count = int(places.max())
        whole = (sizes, lost.astype(np.float64), np.ones(len(places)))
        sums = [np.bincount(places, each, count + 1)[:count].astype(np.float64) for each in whole]
        begin_s = times.min() + step_s * np.arange(count, dtype=np.float64)
        return begin_s, sums[0], sums[2] + sums[1], sums[1]

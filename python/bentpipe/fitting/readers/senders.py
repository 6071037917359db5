"""Follows one direction of a TCP connection in a capture: sent and repeated segments, and their acknowledgements."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from math import floor, nan

STEP_S = 0.1
"""Length of the intervals of a transfer."""
COPY_S = 1e-3
"""A segment that is repeated sooner is a copy: the capture saw it at two interfaces. No retransmission is as fast."""
WAITING_MAX = 1 << 16
"""Largest number of unacknowledged segments. Of more, the oldest are left out."""
PIECES_MAX = 64
"""Largest number of segments that one repeated segment covers: 64 KiB have 45 full ones."""
RECENT_MAX = 1024
"""Largest number of segments that may have a copy."""
ACKS_MAX = 1 << 20
"""Largest number of acknowledgements with times. Of more, the first are kept."""
GAIN = 1 / 8
"""Weight of a new round trip in the smoothed one (RFC 6298 §2)."""
ROUND = 1 << 32


class Sender:
    """Data of one end of a connection, in intervals.

    Sequence numbers are unwrapped to whole numbers. A round trip is measured from the newest segment that an
    acknowledgement covers. It counts if no segment was repeated in between (Karn's rule), or if the echoed time stamp
    is that of the first transmission (RFC 7323 §4.3).

    Attributes
    ----------
    bins : dict
        Values by number of the interval: acknowledged bytes, repeated bytes, bytes in flight (outside recoveries),
        smoothed and longest round trip. The last three are NaN if unknown.
    least_s : float
        Least round trip; infinite without any.
    acked_s, acked, trips_s : array
        Time of each acknowledgement outside recoveries, all acknowledged bytes until then, and its round trip.
    total, missed, copies : int
        Acknowledged bytes, bytes that the capture misses, and copies of segments.
    mss : int
        Announced in the SYN; 0 if it is not in the capture.
    headers, options : int
        Bytes of all headers, and of the options of TCP, in the last segment with data.
    """

    __slots__ = (
        "_ends",
        "_first",
        "_head",
        "_highest",
        "_lowest",
        "_recent",
        "_recover",
        "_repeated",
        "_srtt_s",
        "_stamps",
        "_times",
        "acked",
        "acked_s",
        "bins",
        "copies",
        "headers",
        "least_s",
        "missed",
        "mss",
        "options",
        "total",
        "trips_s",
    )

    def __init__(self) -> None:
        self.bins: dict[int, list[float]] = {}
        self.least_s = float("inf")
        self.acked_s, self.acked, self.trips_s = array("d"), array("q"), array("d")
        self.total = self.missed = self.copies = self.mss = 0
        self.headers = self.options = 0
        self._srtt_s = nan
        self._first = -1
        self._recent: dict[tuple[int, int], float] = {}
        """Times of the newest segments, by sequence number and size."""

    def begin(self, sequence: int) -> None:
        """Begin a connection, which may have the ports of an earlier one."""
        if sequence == self._first:
            return
        self._first = sequence
        self._highest = self._lowest = self._recover = sequence
        self._head = 0
        self._ends, self._times, self._stamps = array("q"), array("d"), array("Q")
        self._repeated: set[int] = set()
        """Ends of repeated segments that wait."""

    def sent(self, at: float, sequence: int, size: int, stamp: int) -> None:
        """Note a segment of `size` bytes of the sequence space."""
        if self._first < 0:
            self.begin(sequence)
        if self._is_copy(at, sequence, size):
            return
        begin = self._highest + _ahead(sequence, self._highest)
        end = begin + size
        if begin < self._highest:
            # A probe of a closed window, or a keep-alive, repeats one byte.
            if size > 1:
                self._repeat(at, begin, end, stamp)
            begin = self._highest
        if end <= self._highest:
            return
        self.missed += begin - self._highest
        self._highest = end
        self._ends.append(end)
        self._times.append(at)
        self._stamps.append(stamp)
        if len(self._ends) - self._head > WAITING_MAX:
            self._head += 1
        if self._lowest >= self._recover:
            here = self._bin(at)
            flight = end - self._lowest
            here[2] = flight if here[2] != here[2] else max(here[2], flight)

    def _is_copy(self, at: float, sequence: int, size: int) -> bool:
        segment = sequence, size
        is_copy = at - self._recent.get(segment, -COPY_S) < COPY_S
        self.copies += is_copy
        if len(self._recent) > RECENT_MAX:
            self._recent.clear()
        self._recent[segment] = at
        return is_copy

    def _repeat(self, at: float, begin: int, end: int, stamp: int) -> None:
        if self._lowest >= self._recover:
            self._recover = self._highest
        self._bin(at)[1] += min(end, self._highest) - begin
        place = bisect_right(self._ends, begin, self._head)
        last = min(place + PIECES_MAX, len(self._ends))
        while place < last and (place == 0 or self._ends[place - 1] < end):
            self._times[place], self._stamps[place] = at, stamp
            self._repeated.add(self._ends[place])
            place += 1

    def acknowledge(self, at: float, number: int, echo: int) -> None:
        """Note an acknowledgement of all bytes before a number."""
        if self._first < 0:
            return
        reached = self._highest + _ahead(number, self._highest)
        if reached <= self._lowest:
            return
        self.missed += max(reached - self._highest, 0)
        self._highest = max(self._highest, reached)
        here = self._bin(at)
        here[0] += reached - self._lowest
        self.total += reached - self._lowest
        self._lowest = reached
        newest, passed = bisect_left(self._ends, reached, self._head), bisect_right(self._ends, reached, self._head)
        if newest < len(self._ends):
            sent_s = self._times[newest]
            if self._repeated:
                is_clear = self._repeated.isdisjoint(self._ends[self._head : newest + 1])
                self._repeated.difference_update(self._ends[self._head : passed])
                if not is_clear:
                    is_first = echo != 0 and self._stamps[self._head] == echo
                    sent_s = self._times[self._head] if is_first else nan
            if at >= sent_s:
                trip_s = at - sent_s
                self.least_s = min(self.least_s, trip_s)
                is_new = self._srtt_s != self._srtt_s
                self._srtt_s = trip_s if is_new else (1 - GAIN) * self._srtt_s + GAIN * trip_s
                here[4] = trip_s if here[4] != here[4] else max(here[4], trip_s)
                if reached >= self._recover and len(self.acked) < ACKS_MAX:
                    self.acked_s.append(at)
                    self.acked.append(self.total)
                    self.trips_s.append(trip_s)
        here[3] = self._srtt_s
        self._head = passed
        if self._head > WAITING_MAX:
            del self._ends[: self._head], self._times[: self._head], self._stamps[: self._head]
            self._head = 0

    def _bin(self, at: float) -> list[float]:
        number = floor(at / STEP_S)
        found = self.bins.get(number)
        if found is None:
            found = self.bins[number] = [0.0, 0.0, nan, self._srtt_s, nan]
        return found


def _ahead(one: int, other: int) -> int:
    """Return how far a sequence number is ahead of another; numbers repeat after 2^32 (RFC 9293 §3.4)."""
    return (one - other + ROUND // 2) % ROUND - ROUND // 2

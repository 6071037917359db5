"""Compares two captures of one connection, one of each end: sent and arrived packets, and their delays.

The clocks of both ends differ. Unless the user states that they are the same, a constant offset is removed, so that
both directions have the same least delay. The sum of both delays does not depend on the clocks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.errors import FitError
from bentpipe.fitting.clocks import find_drift
from bentpipe.fitting.measured import INTERVALS_MIN, Load
from bentpipe.fitting.readers.senders import STEP_S
from bentpipe.fitting.readers.sights import count_header_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bentpipe.fitting.measured import Array, Measured, Probes
    from bentpipe.fitting.readers.sights import Flow, Sights

COPY_S = 1e-3
"""A packet that a capture sees again sooner is a copy of another interface."""
PACKETS_MIN = 100
LARGEST = 8
"""Directions of connections that are compared."""
COMMON_MIN = 0.2
"""Least share of the packets of a direction that both captures have."""
NEAR_S = 1e-3
"""Round trips between both captures below this are inside a host."""
SAME_END = "{0} and {1}: captured at the same end; the first is used"
FULL = 0.95
"""Share of the longest wait above which the queue may have dropped the next packet."""
RARE = 0.99
WAITING_S, WAITING_SHARE = 3e-3, 0.05
"""Waits below both, in seconds and as a share of the round trip, are not of a queue."""


@dataclass(frozen=True, eq=False)
class Way:
    """Packets of one direction, from the captures of both ends.

    Attributes
    ----------
    sent_s, sizes, is_lost : array
        For each packet, the time of sending by the sender's clock, its bytes, and whether it did not arrive.
    delay_s : array
        Time of arrival minus time of sending, each by the clock of its end. NaN for lost packets, and for packets of
        equal identity.
    """

    sent_s: Array
    sizes: Array
    is_lost: NDArray[np.bool_]
    delay_s: Array

    @property
    def lost(self) -> int:
        return int(self.is_lost.sum())

    @property
    def least_s(self) -> float:
        """Least delay; infinite without any."""
        return float(np.min(self.delay_s, initial=np.inf, where=np.isfinite(self.delay_s)))

    @property
    def waits_s(self) -> Array:
        """Delay of each packet above the least delay."""
        waits: Array = self.delay_s - self.least_s
        return waits

    @property
    def arrived(self) -> tuple[Array, Array, Array]:
        """Time of each arrival without the least delay, all bytes until then, and its wait."""
        known = np.isfinite(self.delay_s)
        times, waits_s = (self.sent_s + self.waits_s)[known], self.waits_s[known]
        order = np.argsort(times, kind="stable")
        return times[order], np.cumsum(self.sizes[known][order]), waits_s[order]


def join(measured: Measured, clocks: str) -> set[str]:
    """Compare the captures of both ends, and join their data. Return the names of these captures."""
    joined: set[str] = set()
    for one, other in combinations(measured.sights, 2):
        if one.end_s <= other.begin_s or other.end_s <= one.begin_s:
            continue
        # All of them: a capture may have a ping beside a transfer.
        found = [join_of(measured, one, other, clocks) for join_of in (_segments, _echoes, _datagrams)]
        joined |= {one.name, other.name} if any(found) else set()
        if not any(found):
            raise FitError(
                f"{one.name} and {other.name} overlap in time, and have no packets in common\n"
                "  expected captures of both ends of one connection; fit others one by one"
            )
    return joined


def _segments(measured: Measured, one: Sights, other: Sights, clocks: str) -> bool:
    """Join the connection with most data that both captures have."""
    names = _common(one.segments, other.segments)
    if names is None:
        return False
    flows = [
        (each.segments[name], each.segments.get(each.segments[name].back))
        for each, name in zip((one, other), names, strict=True)
    ]
    (out, back), (out_there, back_there) = flows
    if back is None or back_there is None:
        return False
    forward, reverse = _way(out, out_there), _way(back_there, back)
    sender, receiver = one, other
    trip_s = forward.least_s + reverse.least_s
    if trip_s < 0:
        # The first capture is that of the receiver.
        sender, receiver = other, one
        forward, reverse = _way(out_there, out), _way(back, back_there)
        trip_s = forward.least_s + reverse.least_s
    if not trip_s >= NEAR_S:
        measured.notes.append(SAME_END.format(one.name, other.name))
        measured.loads = [each for each in measured.loads if each.source != other.name or each.transport != "tcp"]
        return True
    both = f"{sender.name} and {receiver.name}"
    forward, reverse = _by_clocks(both, (forward, reverse), clocks, measured.notes)
    trip_s = forward.least_s + reverse.least_s
    measured.loads = [
        _load(load, forward, reverse, trip_s) if load.source == sender.name and load.transport == "tcp" else load
        for load in measured.loads
        if load.source != receiver.name or load.transport != "tcp"
    ]
    return True


def _by_clocks(both: str, ways: tuple[Way, Way], clocks: str, notes: list[str]) -> tuple[Way, Way]:
    """Return both directions without the difference of the clocks."""
    out, back = ways
    if clocks == "same":
        if min(out.least_s, back.least_s) <= 0:
            raise FitError(
                f"{both}: packets arrive before they are sent, so the clocks differ\n"
                "  expected one clock, or clocks that are apart"
            )
        return ways
    drift = find_drift(out.sent_s, out.delay_s, back.sent_s, back.delay_s)
    if drift:
        begin, end = float(out.sent_s[0]), float(out.sent_s[-1])
        out, back = (
            replace(way, delay_s=way.delay_s + sign * drift * (way.sent_s - begin))
            for way, sign in ((out, -1), (back, 1))
        )
        length = f"{1e3 * drift * (end - begin):.3g} ms during the captures"
        notes.append(f"{both}: the clocks drift by {1e6 * drift:.3g} ppm, {length}; removed")
    offset_s = (back.least_s - out.least_s) / 2
    notes.append(
        f"{both}: clocks differ by {-1e3 * offset_s:.3g} ms if both directions have the same least delay (`clocks`)"
    )
    return replace(out, delay_s=out.delay_s + offset_s), replace(back, delay_s=back.delay_s - offset_s)


def _load(load: Load, forward: Way, reverse: Way, trip_s: float) -> Load:
    """Give a transfer its losses and its waits, which need both captures."""
    waits_s, arrived = forward.waits_s, forward.arrived
    sent, lost, dropped, longest_s = _by_interval(forward, waits_s, trip_s, load.begin_s, float(load.interval_s[0]))
    return replace(
        load,
        packets=sent,
        lost=lost,
        dropped=dropped,
        trip_s=trip_s,
        longest_s=trip_s + longest_s,
        arrived=(*arrived[:2], trip_s + arrived[2]),
        ways=(forward, reverse),
    )


def _by_interval(way: Way, waits_s: Array, trip_s: float, begin_s: Array, step_s: float) -> tuple[Array, ...]:
    """Count sent, lost and dropped packets by interval, with the longest wait."""
    places = np.floor((way.sent_s - begin_s[0]) / step_s).astype(np.int64)
    inside = (places >= 0) & (places < len(begin_s))
    longest = np.full(len(begin_s), -np.inf)
    arrived = inside & np.isfinite(waits_s)
    np.maximum.at(longest, places[arrived], waits_s[arrived])
    longest[np.isinf(longest)] = np.nan
    kept = (inside, inside & way.is_lost, inside & _is_dropped(way, waits_s, trip_s))
    return *(np.bincount(places[each], minlength=len(begin_s)).astype(np.float64) for each in kept), longest


def _is_dropped(way: Way, waits_s: Array, trip_s: float) -> NDArray[np.bool_]:
    """Whether a packet was lost while the queue was nearly full, by the wait of the packet before it."""
    known = np.flatnonzero(np.isfinite(waits_s))
    none = np.zeros(len(waits_s), dtype=np.bool_)
    if not len(known):
        return none
    longest = float(np.quantile(waits_s[known], RARE))
    if longest < max(WAITING_S, WAITING_SHARE * trip_s):
        return none
    before = known[np.maximum(np.searchsorted(known, np.arange(len(waits_s))) - 1, 0)]
    found: NDArray[np.bool_] = way.is_lost & (waits_s[before] >= FULL * longest)
    return found


def _echoes(measured: Measured, one: Sights, other: Sights, clocks: str) -> bool:
    """Give echo requests the delays and losses of each direction."""
    for probes in measured.probes:
        if probes.source not in (one.name, other.name):
            continue
        here, there = (one, other) if probes.source == one.name else (other, one)
        shared = [name for name in here.requests if name in there.requests]
        name = max(shared, key=lambda each: len(here.requests[each].times), default=None)
        if name is None:
            continue
        joined = _probes(probes, here, there, name, clocks, measured.notes)
        others = [each for each in measured.probes if each.source != there.name]
        measured.probes = [joined if each is probes else each for each in others]
        return True
    return False


def _probes(probes: Probes, here: Sights, there: Sights, name: bytes, clocks: str, notes: list[str]) -> Probes:
    """Add one-way delays and the directions of losses. The host that asks is at the terminal."""
    asked = here.requests[name].by_key
    came, left = there.requests[name].by_key, there.answers[name].by_key if name in there.answers else {}
    numbers = {at: number for number, at in asked.items()}
    up_s, down_s = np.full(len(probes.send_s), np.nan), np.full(len(probes.send_s), np.nan)
    is_up, is_down = np.zeros(len(up_s), dtype=np.bool_), np.zeros(len(up_s), dtype=np.bool_)
    for place, (at, trip_s) in enumerate(zip(probes.send_s.tolist(), probes.rtt_s.tolist(), strict=True)):
        number = numbers.get(at, -1)
        if trip_s != trip_s:
            is_up[place], is_down[place] = number not in came, number in left
        elif number in came and number in left:
            up_s[place], down_s[place] = came[number] - at, at + trip_s - left[number]
    no = np.zeros(len(up_s), dtype=np.bool_)
    ways = (Way(probes.send_s, up_s, no, up_s), Way(probes.send_s, down_s, no, down_s))
    if not ways[0].least_s + ways[1].least_s >= NEAR_S:
        notes.append(SAME_END.format(here.name, there.name))
        return probes
    up, down = _by_clocks(f"{here.name} and {there.name}", ways, clocks, notes)
    return replace(probes, reverse_s=up.delay_s, forward_s=down.delay_s, lost_reverse=is_up, lost_forward=is_down)


def _datagrams(measured: Measured, one: Sights, other: Sights, clocks: str) -> bool:
    """Count the datagrams that left and did not arrive. Their delays have no known base, only their waits."""
    del clocks
    names = _common(one.datagrams, other.datagrams)
    if names is None:
        return _has_alike(measured, one, other)
    here, there = (each.datagrams[name] for each, name in zip((one, other), names, strict=True))
    ways = (_way(here, there), _way(there, here))
    sender, receiver, way = (one, other, ways[0]) if ways[0].lost >= ways[1].lost else (other, one, ways[1])
    arrived = way.sent_s + way.delay_s
    begin, end = float(np.nanmin(way.sent_s)), float(way.sent_s[-1])
    count = int((end - begin) / STEP_S)
    if count < INTERVALS_MIN:
        return False
    begin_s = begin + STEP_S * np.arange(count, dtype=np.float64)
    sent, lost, _, longest_s = _by_interval(way, way.waits_s, 0.0, begin_s, STEP_S)
    # By the time of arrival, without the difference of the clocks.
    places = np.floor((arrived - way.least_s - begin) / STEP_S)
    known = np.isfinite(places) & (places < count)
    sizes = np.bincount(places[known].astype(np.int64), way.sizes[known], count)[:count].astype(np.float64)
    known_loads = [each for each in measured.loads if each.source in (one.name, other.name) and each.transport == "udp"]
    whole = Load(
        begin_s,
        np.full(count, STEP_S),
        sizes,
        f"{sender.name} and {receiver.name}",
        measured.direction,
        "udp",
        lost=np.minimum(lost, sent),
        packets=sent,
        headers=count_header_bytes(names[0]),
        longest_s=longest_s,
        arrived=way.arrived,
    )
    measured.loads = [*(each for each in measured.loads if each not in known_loads), whole]
    return True


def _has_alike(measured: Measured, one: Sights, other: Sights) -> bool:
    """Whether both have datagrams of equal identity. Without other content, they are refused."""
    shared = [each for name, each in one.datagrams.items() if name in other.datagrams]
    count = max((len(each.times) for each in shared if len(set(each.keys)) < len(each.times) / 2), default=0)
    if count < PACKETS_MIN:
        return False
    said = f"{count:,} datagrams are alike: equal identification and content"
    if not any(load.source in (one.name, other.name) for load in measured.loads):
        raise FitError(
            f"{one.name} and {other.name}: {said}\n"
            "  expected numbers in their content, as of iperf3 -u, and 64 bytes of each packet"
        )
    measured.notes.append(f"{one.name} and {other.name}: {said}; left out")
    return True


def _common(one: Mapping[bytes, Flow], other: Mapping[bytes, Flow]) -> tuple[bytes, bytes] | None:
    """Return the names of the direction with most data that both captures have; None without one.

    A router may change addresses and ports, so directions of other names are compared, too.
    """
    mine, theirs = (sorted(each, key=lambda name: each[name].total, reverse=True)[:LARGEST] for each in (one, other))
    pairs = [(name, name) for name in mine if name in other] or [(name, that) for name in mine for that in theirs]
    for here, there in pairs:
        keys, those = np.unique(np.array(one[here].keys)), np.unique(np.array(other[there].keys))
        least = min(len(keys), len(those))
        if least >= PACKETS_MIN and len(np.intersect1d(keys, those, assume_unique=True)) >= COMMON_MIN * least:
            return here, there
    return None


def _way(sent: Flow, arrived: Flow) -> Way:
    """Compare sent packets with arrived ones, from the first packet that both captures have to the last one.

    Packets of equal identity are compared by their number. If some of them are lost, it is not known which.
    """
    (here_s, here, sizes), (there_s, there, _) = _once(sent), _once(arrived)
    _, places = np.unique(np.concatenate([here, there]), return_inverse=True)
    mine, theirs = places[: len(here)], places[len(here) :]
    counts = [np.bincount(each, minlength=int(places.max(initial=0)) + 1) for each in (mine, theirs)]
    is_whole = counts[0] == counts[1]
    orders = [np.argsort(each, kind="stable") for each in (mine, theirs)]
    kept = [order[is_whole[each[order]]] for order, each in zip(orders, (mine, theirs), strict=True)]
    delay_s = np.full(len(here), np.nan)
    delay_s[kept[0]] = there_s[kept[1]] - here_s[kept[0]]
    # Of several alike, the first are taken as lost: a repetition arrives later.
    starts = np.searchsorted(mine[orders[0]], np.arange(len(counts[0])))
    ranks = np.empty(len(here), dtype=np.int64)
    ranks[orders[0]] = np.arange(len(here)) - starts[mine[orders[0]]]
    is_lost = ranks < (counts[0] - counts[1])[mine]
    known = np.flatnonzero(np.isfinite(delay_s))
    inside = slice(int(known[0]), int(known[-1]) + 1) if len(known) else slice(0)
    return Way(here_s[inside], sizes[inside], is_lost[inside], delay_s[inside])


def _once(flow: Flow) -> tuple[Array, NDArray[np.int64], Array]:
    """Return times, identities and sizes without copies of other interfaces."""
    times, keys, sizes = (
        np.array(flow.times),
        np.array(flow.keys, dtype=np.int64),
        np.array(flow.sizes, dtype=np.float64),
    )
    order = np.argsort(keys, kind="stable")
    is_copy = np.zeros(len(keys), dtype=np.bool_)
    is_copy[order[1:]] = (np.diff(keys[order]) == 0) & (np.diff(times[order]) < COPY_S)
    return times[~is_copy], keys[~is_copy], sizes[~is_copy]

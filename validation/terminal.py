"""A model of one terminal that asks for capacity: the rules of the return link, without a network of packets.

    python -m validation.terminal        # about two minutes

It repeats the rows with requests of the first table of `validation.access`, from the rules of the page "Shared access".
Four readings of these rules can be exchanged (`Readings`). The numbers go into `validation/data/terminal.json`, and
`python -m tools.docs access` writes them into the page.

Other terminals occur only as the place of the windows in a superframe, which is drawn. Bursts are not lost.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from validation import kept

SUPERFRAME_S = 0.0265
SLOTS = 49
BURST_S = 536e-6
PAYLOAD = 108
"""A carrier of 1 Mbaud: its short bursts, and their bytes in waveform 7."""

TO_PLAN, TO_GRANT = 11, 10
ROUND = TO_PLAN + TO_GRANT
PATIENCE = ROUND + 2
"""Superframes from a request to its plan, from a plan to its superframe, and after which a request is repeated."""

PERSISTENCE, RENEWAL = 42, 21
EVALUATION_S = DRAIN_S = AHEAD_S = 0.1
EVALUATED = 4
OVERHEAD = 1.1
CONTROL_EVERY = 38
REQUEST = 3
WHOLE, PART = 2, 4
"""Bytes of a request, and those before a whole packet and before the first part of a packet."""

RATE_UNITS = (1000, 4000, 16_000, 64_000)
VOLUME_UNITS = (1, 8, 64, 512)
SEEDS = range(1, 4)
DURATION_S = 3000.0


class Access(NamedTuple):
    """Capacity of the terminal, and the way of its requests."""

    rate: int
    """Limit of the constant rate and the rate on request, bit/s."""
    volume: bool = False
    constant: int = 0
    random: bool = True
    """Requests in contention slots; otherwise in control slots."""


class Readings(NamedTuple):
    """Readings of the rules."""

    first_is_burst: bool = True
    """A new rate has one burst in its first superframe. Otherwise it has those of a whole superframe, or one."""
    grant_ends_wait: bool = True
    """A terminal waits for its next grant after a request in a contention slot. Otherwise it waits R + 2 T."""
    margin: float = 1.1
    """Factor on the arrival rate in a request for a rate."""
    counts_arrivals: bool = True
    """A volume covers what came in beyond promised rates. Otherwise only what they cannot carry within R."""


READINGS = {"bentpipe's": Readings(), "others": Readings(False, False, 1.0, False)}
"""The readings of bentpipe, and those of the separate simulation on the page."""

WAITS = {
    "rate 1 Mbit/s, control slots": Access(rate=1_000_000, random=False),
    "rate 1 Mbit/s, random requests": Access(rate=1_000_000),
    "volume, random requests": Access(rate=0, volume=True),
    "rate 512 kbit/s and volume, random requests": Access(rate=512_000, volume=True),
    "constant 16 kbit/s and rate 1 Mbit/s, control slots": Access(rate=1_000_000, constant=16_000, random=False),
}


def in_units(value: float, units: tuple[int, ...]) -> int:
    """The value rounded up to the smallest unit that needs 256 of them or fewer."""
    whole = int(np.ceil(value))
    unit = next((unit for unit in units if whole <= 256 * unit), units[-1])
    return min(-(-whole // unit), 256) * unit


@dataclass
class Controller:
    """Requests that were read, and the slots that they get."""

    access: Access
    readings: Readings
    constant_credit: float = 0.0
    rate: int = 0
    credit: float = 0.0
    rate_until: int = 0
    is_new: bool = False
    backlog: int = 0
    backlog_until: int = 0

    def read(self, at: int, rate: int | None, volume: int, is_absolute: bool) -> None:
        """Note a request."""
        if rate is not None:
            self.is_new = rate > 0 and (self.is_new or self.rate == 0)
            self.credit = self.credit if rate else 0.0
            self.rate, self.rate_until = rate, at + PERSISTENCE
        if volume:
            self.backlog = volume + (0 if is_absolute else self.backlog)
            self.backlog_until = at + PERSISTENCE

    def plan(self, at: int) -> tuple[int, int]:
        """Slots of a superframe, and those of them that answer a volume."""
        if at >= self.rate_until:
            self.rate, self.credit, self.is_new = 0, 0.0, False
        if at >= self.backlog_until:
            self.backlog = 0
        self.constant_credit += self.access.constant * SUPERFRAME_S
        slots = min(int(self.constant_credit // (8 * PAYLOAD)), SLOTS)
        self.constant_credit -= slots * 8 * PAYLOAD
        if self.rate:
            grown = self.credit + self.rate * SUPERFRAME_S
            least = 8.0 * PAYLOAD if self.is_new else 0.0
            self.credit = least if self.is_new and self.readings.first_is_burst else max(grown, least)
            self.is_new = False
            of_rate = min(int(self.credit // (8 * PAYLOAD)), SLOTS - slots)
            self.credit -= of_rate * 8 * PAYLOAD
            slots += of_rate
        of_volume = min(-(-self.backlog // PAYLOAD), SLOTS - slots)
        self.backlog = max(0, self.backlog - of_volume * PAYLOAD)
        return slots + of_volume, of_volume


@dataclass
class Terminal:
    """Requests of the terminal."""

    access: Access
    readings: Readings
    rate: int = 0
    rate_at: int = 0
    asked: int = 0
    asked_at: int = 0
    is_absolute: bool = False
    uncovered: float = -np.inf
    random_at: int | None = None
    rates: deque[int] = field(default_factory=lambda: deque([0] * ROUND, ROUND))
    arrivals: deque[int] = field(default_factory=lambda: deque([0] * EVALUATED, EVALUATED))

    def due(self, at: int, backlog: int, arrived: int) -> tuple[int | None, int]:
        """Rate and volume of the request of this superframe."""
        is_unanswered = self.random_at is not None and at >= self.random_at + PATIENCE
        if is_unanswered:
            self.random_at = None
        self.arrivals.append(arrived)
        # The rate of this superframe has been requested R ago.
        promised = (self.access.constant + self.rates[0]) / 8
        self.uncovered = max(self.uncovered - promised * SUPERFRAME_S, -promised * AHEAD_S) + OVERHEAD * arrived
        self.rates.append(0 if at >= self.rate_at + PERSISTENCE else self.rate)
        under_way = (self.access.constant * ROUND + sum(self.rates)) * SUPERFRAME_S / 8
        rate = None
        if self.access.rate:
            wanted = self.wanted(backlog, under_way)
            is_due = wanted > 0 and (is_unanswered or at >= self.rate_at + RENEWAL)
            rate = wanted if wanted != self.rate or is_due else None
        volume = 0
        if self.access.volume:
            if self.asked and at >= self.asked_at + PATIENCE:
                self.asked, self.is_absolute = 0, True
            if backlog:
                missing = int(np.ceil(OVERHEAD * backlog - 1e-9)) - self.asked
                covered = int(missing - under_way)
                if self.readings.counts_arrivals:
                    covered = max(covered, int(min(self.uncovered, missing)))
                if self.is_absolute:
                    covered = int(missing - promised * AHEAD_S)
                volume = in_units(max(covered, 0), VOLUME_UNITS)
        return rate, volume

    def wanted(self, backlog: int, under_way: float) -> int:
        """The rate that the terminal wants."""
        arriving = self.readings.margin * sum(self.arrivals) / (EVALUATED * SUPERFRAME_S)
        if backlog == arriving == 0:
            return 0
        waiting = max(OVERHEAD * backlog - arriving * EVALUATION_S - under_way, 0.0)
        limit = self.access.rate - self.access.constant
        rate = max(round(8 * (arriving + waiting / DRAIN_S) - self.access.constant), 0)
        return min(in_units(min(rate, limit), RATE_UNITS), limit)

    def sent(self, at: int, rate: int | None, volume: int, is_random: bool) -> None:
        """Note that a request has left."""
        if rate is not None:
            self.rate, self.rate_at = rate, at
            self.rates[-1] = rate
        if volume:
            self.asked, self.asked_at, self.is_absolute = self.asked + volume, at, False
            self.uncovered = 0.0
        if is_random:
            self.random_at = at
        elif self.readings.grant_ends_wait:
            self.random_at = None

    def granted(self, volume: int) -> None:
        """Note a grant."""
        self.asked = max(0, self.asked - volume)
        if self.readings.grant_ends_wait:
            self.random_at = None


def web_like(draws: np.random.Generator, duration_s: float) -> list[tuple[float, int, bool]]:
    """Instants and bytes of the packets of pages, and whether a packet is the first of its page."""
    packets, at = [], 0.0
    while at < duration_s:
        at += 4.0 + draws.exponential(10.0)
        packets.append((at, 400, True))
        packets += [(at + 0.6, 400, False)] * 6
        packets += [(at + 1.2 + n / 300, 40, False) for n in range(600)]
    return sorted(packets)


def bursts(draws: np.random.Generator, slots: int) -> list[tuple[int, int]]:
    """Slots of a superframe in order of time, and the bytes in each.

    A window that reaches the end of a carrier goes on at the start of the next. Its first burst has room for a request.
    """
    first = int(draws.integers(SLOTS))
    at = sorted((first + n) % SLOTS for n in range(slots))
    return [(slot, PAYLOAD - (REQUEST if slot - 1 not in at[:n] else 0)) for n, slot in enumerate(at)]


def run(access: Access, readings: Readings, seed: int, duration_s: float = DURATION_S) -> dict[str, float]:
    """Waits of packets until the end of their last burst, and the share of granted bytes in bursts without data."""
    draws = np.random.default_rng(seed)
    coming = deque(web_like(draws, duration_s))
    waiting: deque[list[float]] = deque()
    terminal, controller = Terminal(access, readings), Controller(access, readings)
    sent: defaultdict[int, list[tuple[int | None, int, bool]]] = defaultdict(list)
    plans: dict[int, tuple[int, int]] = {}
    waits, firsts = [], []
    granted = empty = arrived = 0

    def arrive(until: float) -> int:
        came = 0
        while coming and coming[0][0] <= until:
            at, size, is_first = coming.popleft()
            waiting.append([at, size, size, is_first])
            came += size
        return came

    for at in range(int(duration_s / SUPERFRAME_S)):
        starts = at * SUPERFRAME_S
        arrived += arrive(starts)
        for request in sent.pop(at, []):
            controller.read(at, *request)
        plans[at + TO_GRANT] = controller.plan(at)
        slots, of_volume = plans.pop(at, (0, 0))
        backlog = int(sum(packet[1] for packet in waiting))
        rate, volume = terminal.due(at, backlog, arrived)
        arrived = 0
        has_way = slots > 0 or (not access.random and at % CONTROL_EVERY == 0)
        is_random = not has_way and access.random and terminal.random_at is None
        if (rate is not None or volume) and (has_way or is_random):
            sent[at + TO_PLAN].append((rate, volume, terminal.is_absolute))
            terminal.sent(at, rate, volume, is_random)
        if slots:
            terminal.granted(of_volume * PAYLOAD)
        for slot, room in bursts(draws, slots):
            begins = starts + slot * BURST_S
            arrived += arrive(begins)
            granted, empty = granted + 1, empty + (not waiting)
            while waiting and room > PART:
                packet = waiting[0]
                is_whole = packet[1] == packet[2] and packet[1] + WHOLE <= room
                head = WHOLE if is_whole or packet[1] < packet[2] else PART
                part = min(packet[1], room - head)
                packet[1], room = packet[1] - part, int(room - part - head)
                if packet[1] == 0:
                    waits.append(begins + BURST_S - packet[0])
                    if packet[3]:
                        firsts.append(waits[-1])
                    waiting.popleft()
    return {
        "first_s": float(np.mean(firsts)),
        "mean_s": float(np.mean(waits)),
        "p95_s": float(np.quantile(waits, 0.95)),
        "empty": empty / granted,
    }


def main() -> None:
    """Compute and keep the numbers."""
    numbers: dict[str, dict[str, dict[str, float]]] = {}
    for name, access in WAITS.items():
        for label, readings in READINGS.items():
            found = [run(access, readings, seed) for seed in SEEDS]
            row = {key: float(np.mean([each[key] for each in found])) for key in found[0]}
            numbers.setdefault(name, {})[label] = row
            print(f"{name}: {label}:", {key: round(value, 3) for key, value in row.items()}, flush=True)
    kept.save("terminal", numbers)


if __name__ == "__main__":
    kept.begin(__doc__)
    main()

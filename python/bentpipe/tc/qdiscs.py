"""Options of queueing disciplines as `tc` reads them: tc-netem(8), tc-tbf(8), tc-htb(8) and others."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bentpipe.errors import BentpipeError
from bentpipe.tc.amounts import is_number, read_count, read_rate, read_share, read_size, read_time

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DISTRIBUTIONS = ("uniform", "normal", "pareto", "paretonormal")
_MTU = 1600
"""Bytes that tc adds to a burst that it computes itself."""
_TICKS_HZ = 1000
"""Timer interrupts per second with which tc computes a burst."""


@dataclass
class Qdisc:
    """A discipline, or a class of one.

    Attributes
    ----------
    unread : list of str
        Options that a scenario cannot express.
    """

    unread: list[str] = field(default_factory=list, kw_only=True)


@dataclass
class Netem(Qdisc):
    """Delay, losses and other faults: tc-netem(8).

    Attributes
    ----------
    limit : int
        Largest number of packets held. Delayed packets count, too.
    delay_s, jitter_s : float
        Delay and its variation, seconds.
    delay_correlation : float
        Weight of the previous random number in the random number of a delay.
    distribution : str
        Distribution of the variation.
    loss : tuple
        Kind of losses with its numbers: `random` (share, correlation), `state` (p13, p31, p32, p23, p14) or `gemodel`
        (p, r, 1-h, 1-k). Empty without losses.
    corrupt, duplicate, reorder : tuple of float
        Share of the packets, and correlation.
    gap : int
        At most every `gap`-th packet leaves early.
    rate_bps : float or None
        Rate, bit/s.
    overhead, cell, cell_overhead : int
        Bytes that the rate counts in addition for each packet, size of a cell (0: no cells), and bytes for each cell.
    seed : int or None
        Seed of its random numbers.
    """

    limit: int = 1000
    delay_s: float = 0.0
    jitter_s: float = 0.0
    delay_correlation: float = 0.0
    distribution: str = "uniform"
    loss: tuple[str, tuple[float, ...]] | tuple[()] = ()
    corrupt: tuple[float, float] = (0.0, 0.0)
    duplicate: tuple[float, float] = (0.0, 0.0)
    reorder: tuple[float, float] = (0.0, 0.0)
    gap: int = 0
    rate_bps: float | None = None
    overhead: int = 0
    cell: int = 0
    cell_overhead: int = 0
    seed: int | None = None


@dataclass
class Bucket(Qdisc):
    """A token bucket with its queue: tc-tbf(8), or a class of tc-htb(8).

    Attributes
    ----------
    rate_bps : float
        Rate, bit/s.
    burst : float
        Size of the bucket, bytes.
    limit : float or None
        Largest number of waiting bytes; None for the queue of its device.
    """

    rate_bps: float
    burst: float
    limit: float | None = None


@dataclass
class Waiting(Qdisc):
    """A queue without a rate, as the value of the key `queue`."""

    queue: object


@dataclass
class Classful(Qdisc):
    """A discipline of classes: `htb`, `prio` and others.

    Attributes
    ----------
    kind : str
        Its name.
    default : int or None
        Minor number of the class for packets that match no filter; None if the option is missing.
    """

    kind: str
    default: int | None = None


class _Words:
    """Words of a line, read from the left."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = deque(words)

    def __bool__(self) -> bool:
        return bool(self._words)

    def next(self, of: str = "") -> str:
        if not self._words:
            raise BentpipeError(f"{of} has no value\n  expected one after it")
        return self._words.popleft()

    def is_number_next(self) -> bool:
        return bool(self._words) and is_number(self._words[0])

    def is_next(self, *words: str) -> bool:
        return bool(self._words) and self._words[0] in words

    def numbers(self, read: Callable[[str], float], most: int) -> list[float]:
        """Read numbers until the next key, `most` of them at most."""
        found: list[float] = []
        while len(found) < most and self.is_number_next():
            found.append(read(self._words.popleft()))
        return found


def read_qdisc(kind: str, options: Sequence[str]) -> Qdisc | None:
    """Read the options of a discipline; None if a scenario cannot express this kind.

    Raises
    ------
    BentpipeError
        tc would refuse the options.
    """
    words = _Words(options)
    if kind == "netem":
        return _read_netem(words)
    if kind == "tbf":
        return _read_tbf(words)
    if kind in ("htb", "prio", "hfsc", "drr", "ets", "mq"):
        return _read_classful(kind, words)
    if kind in ("pfifo", "bfifo", "pfifo_fast", "codel", "fq_codel", "pie", "sfq", "fq"):
        return _read_waiting(kind, words)
    return None


_NETEM_KEYS: tuple[str, ...] = (
    "limit",
    "delay",
    "latency",
    "loss",
    "drop",
    "ecn",
    "reorder",
    "corrupt",
    "gap",
    "duplicate",
)
_NETEM_KEYS += ("distribution", "rate", "slot", "seed")


def _read_netem(words: _Words) -> Netem:
    found = Netem()
    while words:
        word = words.next()
        # As tc, which reads the beginning of a key, too.
        key = next((each for each in _NETEM_KEYS if each.startswith(word.lower())), "")
        if key == "limit":
            found.limit = read_count(words.next(key))
        elif key in ("delay", "latency"):
            found.delay_s = read_time(words.next(key))
            found.jitter_s = next(iter(words.numbers(read_time, 1)), 0.0)
            found.delay_correlation = next(iter(words.numbers(read_share, 1)), 0.0)
        elif key in ("loss", "drop"):
            found.loss = _read_loss(words)
        elif key in ("reorder", "corrupt", "duplicate"):
            share = read_share(words.next(key))
            setattr(found, key, (share, next(iter(words.numbers(read_share, 1)), 0.0)))
        elif key == "gap":
            found.gap = read_count(words.next(key))
        elif key == "distribution":
            found.distribution = words.next(key)
            if found.distribution not in DISTRIBUTIONS:
                found.unread.append(f"distribution {found.distribution}, read as normal")
                found.distribution = "normal"
        elif key == "rate":
            found.rate_bps = read_rate(words.next(key))
            sizes = [*map(round, words.numbers(lambda word: float(read_count(word)), 3)), 0, 0, 0]
            found.overhead, found.cell, found.cell_overhead = sizes[:3]
        elif key == "slot":
            found.unread.append(_read_slot(words))
        elif key == "ecn":
            found.unread.append("ecn")
        elif key == "seed":
            found.seed = read_count(words.next(key))
        else:
            raise BentpipeError(f"{word!r} is not an option of netem\n  expected one of {', '.join(_NETEM_KEYS)}")
    if found.reorder[0] and not found.delay_s:
        raise BentpipeError("reorder has no effect without a delay\n  expected delay TIME before it, as tc does")
    if found.reorder[0] and not found.gap:
        found.gap = 1
    return found


def _read_loss(words: _Words) -> tuple[str, tuple[float, ...]]:
    kind = words.next("loss") if words.is_next("random", "state", "gemodel") else "random"
    most = {"random": 2, "state": 5, "gemodel": 4}[kind]
    shares = words.numbers(read_share, most)
    if not shares:
        raise BentpipeError(f"loss {kind} has no share\n  expected one after it, such as 1%")
    if kind == "state":
        # Those that are missing, as in tc: one loss each, none inside a burst, none alone.
        shares += [1 - shares[0], 0.0, 1.0, 0.0][len(shares) - 1 :]
    elif kind == "gemodel":
        shares += [1 - shares[0], 1.0, 0.0][len(shares) - 1 :]
    else:
        shares += [0.0][len(shares) - 1 :]
    return kind, tuple(shares)


def _read_slot(words: _Words) -> str:
    said = ["slot"]
    if words.is_next("distribution"):
        said += [words.next(), *(words.next("slot") for _ in range(3))]
    else:
        said.append(words.next("slot"))
        if words.is_number_next():
            said.append(words.next())
    while words.is_next("packets", "bytes"):
        said += [words.next(), words.next("slot")]
    return " ".join(said)


def _read_tbf(words: _Words) -> Bucket:
    rate = burst = limit = latency = peak = None
    unread = []
    while words:
        key = words.next().lower()
        if key == "rate":
            rate = read_rate(words.next(key))
        elif key in ("burst", "buffer", "maxburst"):
            burst = read_size(words.next(key))
        elif key == "limit":
            limit = read_size(words.next(key))
        elif key == "latency":
            latency = read_time(words.next(key))
        elif key == "peakrate":
            peak = words.next(key)
            unread.append(f"peakrate {peak}")
        elif key in ("mtu", "minburst", "mpu", "overhead", "linklayer"):
            value = words.next(key)
            # Sizes of the second bucket, of the peak rate.
            if key not in ("mtu", "minburst"):
                unread.append(f"{key} {value}")
        else:
            raise BentpipeError(f"{key!r} is not an option of tbf\n  expected rate, burst, limit or latency")
    if rate is None or burst is None:
        raise BentpipeError("tbf has no rate or no burst\n  expected tbf rate RATE burst SIZE latency TIME")
    if limit is None:
        limit = rate / 8 * (latency or 0) + burst
    return Bucket(rate, burst, limit, unread=unread)


def _read_classful(kind: str, words: _Words) -> Classful:
    default = None
    while words:
        key = words.next()
        if key == "default" and words:
            # tc reads the number as hexadecimal.
            default = int(words.next().removeprefix("0x").rpartition(":")[2], 16)
    return Classful(kind, default)


def read_class(words: Sequence[str]) -> Bucket:
    """Read the options of a class of `htb`. Its rate is `ceil`, because a class may borrow up to it.

    Raises
    ------
    BentpipeError
        tc would refuse the options.
    """
    rest, values, unread = _Words(words), {}, []
    while rest:
        key = rest.next().lower()
        if key in ("rate", "ceil"):
            values[key] = read_rate(rest.next(key))
        elif key in ("burst", "buffer", "maxburst", "cburst", "cbuffer", "cmaxburst"):
            values["cburst" if key[0] == "c" else "burst"] = read_size(rest.next(key))
        elif key in ("mpu", "overhead", "linklayer"):
            unread.append(f"{key} {rest.next(key)}")
        elif rest:
            # `prio`, `quantum` and `mtu` matter between classes only.
            rest.next()
    if "rate" not in values:
        raise BentpipeError("a class of htb has no rate\n  expected htb rate RATE ceil RATE")
    ceil = values.get("ceil", values["rate"])
    least = ceil / 8 / _TICKS_HZ + _MTU
    burst = values.get("cburst", values.get("burst", least) if ceil == values["rate"] else least)
    return Bucket(ceil, max(burst, least), unread=unread)


def _read_waiting(kind: str, words: _Words) -> Waiting:
    options: dict[str, str] = {}
    flags = []
    while words:
        key = words.next()
        if words.is_number_next():
            options[key] = words.next()
        else:
            flags.append(key)
    packets = f"{read_count(options['limit'])} packets" if "limit" in options and kind != "bfifo" else None
    if kind == "bfifo":
        return Waiting(f"{round(read_size(options['limit']))} B" if "limit" in options else "1000 packets")
    if kind in ("pfifo", "pfifo_fast"):
        return Waiting(packets or "1000 packets")
    if kind in ("sfq", "fq"):
        found = Waiting({"kind": "fq-codel", "target": "1 s", "interval": "10 s", "limit": packets or "127 packets"})
        found.unread.append(f"{kind}, read as fq-codel without its drops by delay")
        return found
    queue: dict[str, object] = {"kind": kind.replace("_", "-"), "limit": packets or _AQM_LIMITS[kind]}
    for key, name in (("target", "target"), ("interval", "interval"), ("tupdate", "update")):
        if key in options:
            queue[name] = f"{read_time(options[key]) * 1e6:.10g} us"
    if "flows" in options and kind == "fq_codel":
        queue["queues"] = read_count(options["flows"])
    if "quantum" in options and kind == "fq_codel":
        queue["quantum"] = f"{round(read_size(options['quantum']))} B"
    if kind == "fq_codel" or "ecn" in flags:
        queue["ecn"] = "noecn" not in flags
    return Waiting(queue)


_AQM_LIMITS = {"codel": "1000 packets", "fq_codel": "10240 packets", "pie": "1000 packets"}

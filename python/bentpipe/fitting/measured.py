"""Plain values that all readers return: probes, intervals of load, and notes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import formatting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bentpipe.fitting.faults import Faults
    from bentpipe.fitting.pairs import Way
    from bentpipe.fitting.readers.sights import Sights

    Array = NDArray[np.float64]

RECORDS_MAX = 50_000_000
"""Largest number of probes or intervals in a measurement."""
PROBES_MIN = 100
INTERVALS_MIN = 20
TRIP_S = (1e-6, 10.0)
"""Limits of the median round trip. Outside them, the unit is wrong."""
TRIP_MAX_S = 600.0
SPAN_MAX_S = 1e6
UNIX_MAX_S = 1e10
"""Latest time. Unix time in milliseconds is above it."""
BACK_MAX = 0.01
"""Largest share of times that go back. Above it, the file is no record of one measurement."""
UNIX_S = 1e9
"""Times above this value are Unix time: September 2001 and later."""
HEADERS = {"tcp": 52, "udp": 28}
"""Bytes of IPv4, and of TCP with time stamps or UDP."""
MSS = 1448
"""Payload of a full segment in bytes, if the record does not have it."""
AROUND_S = 4.0
"""Time around an interval in which data of the other direction count: acknowledgements may pause for round trips."""
OVERLAP_S = 2.0
"""Transfers that overlap by less may have followed each other: some tools write the start in whole seconds."""
VERSION_6 = 20
"""Bytes that IPv6 has more than IPv4."""
SEQUENCE = 1 << 16
"""Numbers of echo requests repeat after this many."""


@dataclass(frozen=True, eq=False)
class Probes:
    """Round trips of probes, in the order of their send times.

    Attributes
    ----------
    send_s, rtt_s : array
        Send time and round trip; NaN if the probe was lost.
    source : str
        Name of the file.
    has_losses : bool
        Whether the record can show lost probes.
    forward_s, reverse_s : array or None
        One-way delays, if both ends have stamped the probes.
    lost_forward, lost_reverse : array or None
        Whether the probe is known to be lost in this direction.
    """

    send_s: Array
    rtt_s: Array
    source: str
    has_losses: bool = True
    forward_s: Array | None = None
    reverse_s: Array | None = None
    lost_forward: NDArray[np.bool_] | None = None
    lost_reverse: NDArray[np.bool_] | None = None

    @property
    def is_lost(self) -> NDArray[np.bool_]:
        return np.isnan(self.rtt_s)

    @property
    def is_absolute(self) -> bool:
        """Whether the times are Unix time."""
        return bool(self.send_s[0] >= UNIX_S)

    @property
    def duration_s(self) -> float:
        return float(self.send_s[-1] - self.send_s[0])

    @property
    def spacing_s(self) -> float:
        """Median time between probes."""
        return float(np.median(np.diff(self.send_s)))

    def cut(self, kept: NDArray[Any]) -> Probes:
        """Return the probes that a mask keeps."""
        per_probe = ("send_s", "rtt_s", "forward_s", "reverse_s", "lost_forward", "lost_reverse")
        values = {name: getattr(self, name) for name in per_probe}
        taken: dict[str, Any] = {name: value if value is None else value[kept] for name, value in values.items()}
        return Probes(source=self.source, has_losses=self.has_losses, **taken)


@dataclass(frozen=True, eq=False)
class Load:
    """Intervals of a transfer that loads the path.

    Attributes
    ----------
    begin_s, interval_s, bytes : array
        Start and length of each interval, and its delivered bytes.
    source : str
        Name of the file.
    direction : str
        `forward`: towards the terminal. `reverse`: from it.
    transport : str
        `tcp` or `udp`.
    srtt_s, cwnd_bytes, retransmits : array or None
        State of the TCP sender at the end of each interval; retransmissions during it.
    lost, packets : array or None
        Lost and sent datagrams of each interval; with captures of both ends, lost and sent segments.
    dropped : array or None
        Segments that were lost while the queue was nearly full.
    mss : int or None
        Payload of a full segment in bytes.
    cc : str or None
        Congestion control, if the file names it.
    streams : int
        Number of connections that the values are sums of.
    headers : int
        Bytes of headers of a segment with data, or of a datagram.
    trip_s, longest_s : float, array or None
        Least round trip of all segments, and longest round trip in each interval, if the record has single segments.
        For datagrams in captures of both ends, `longest_s` is the longest wait.
    block : int
        Bytes of a write, if the rows count the sender's writes into its send buffer. 0 if they count received bytes.
    received : pair of float or None
        If the rows count writes: all bytes that the receiver got, and the seconds until then.
    ways : pair of Way or None
        With captures of both ends: the packets in the direction of the data, and those of the acknowledgements.
    arrived : tuple of array or None
        Times at which data is known to have arrived, all bytes until then, and the delay of the newest segment. In a
        capture of the sender, these are acknowledgements outside repairs, and round trips.
    opposed : array or None
        Bytes of data in the other direction in each interval. Round trips then contain the queues of both directions.
    """

    begin_s: Array
    interval_s: Array
    bytes: Array
    source: str
    direction: str = "forward"
    transport: str = "tcp"
    srtt_s: Array | None = None
    cwnd_bytes: Array | None = None
    retransmits: Array | None = None
    lost: Array | None = None
    packets: Array | None = None
    mss: int | None = None
    cc: str | None = None
    streams: int = 1
    headers: int = HEADERS["tcp"]
    trip_s: float | None = None
    longest_s: Array | None = None
    dropped: Array | None = None
    ways: tuple[Way, Way] | None = None
    block: int = 0
    received: tuple[float, float] | None = None
    arrived: tuple[Array, Array, Array] | None = None
    opposed: Array | None = None

    @property
    def is_alone(self) -> NDArray[np.bool_]:
        """For each interval, whether the other direction carried less than a segment around that time."""
        if self.opposed is None:
            return np.ones(len(self.bytes), dtype=np.bool_)
        width = max(1, round(AROUND_S / float(np.median(self.interval_s))))
        around: Array = np.convolve(self.opposed, np.ones(min(width, len(self.opposed))), "same")
        return around < (self.mss or MSS)

    def cut(self, kept: NDArray[Any]) -> Load:
        """Return the intervals that a mask keeps."""
        names = ("begin_s", "interval_s", "bytes", "srtt_s", "cwnd_bytes", "retransmits", "lost", "packets")
        values = {name: getattr(self, name) for name in (*names, "longest_s", "dropped", "opposed")}
        taken: dict[str, Any] = {name: value if value is None else value[kept] for name, value in values.items()}
        return replace(self, **taken)

    @property
    def carried(self) -> tuple[float, float]:
        """Bytes that arrived, and the seconds in which they arrived."""
        if self.received is not None:
            return self.received
        return float(self.bytes.sum()), float(self.interval_s.sum())

    @property
    def least_s(self) -> float:
        """Least round trip: of a segment, or the least smoothed one; infinite without any."""
        if self.trip_s is not None:
            return self.trip_s
        known = np.zeros(0) if self.srtt_s is None else self.srtt_s[self.srtt_s > 0]
        return float(np.min(known, initial=np.inf))

    @property
    def way(self) -> str:
        """The direction in words."""
        return "towards the terminal" if self.direction == "forward" else "from the terminal"

    @property
    def rate_bps(self) -> Array:
        """Goodput of each interval."""
        rates: Array = 8 * self.bytes / self.interval_s
        return rates


@dataclass(frozen=True)
class Second:
    """A quantity that a file contains twice: as a sum of its rows, and as a total."""

    source: str
    quantity: str
    unit: str
    rows: float
    total: float


@dataclass(frozen=True)
class Record:
    """Content of one file in numbers.

    Attributes
    ----------
    name, kind : str
        Name of the file, and its kind, such as `ping`.
    probes, intervals, packets : int
        Probes, intervals of transfers, and packets of one of several captures.
    span_s : float
        Time from the first of them to the last, in seconds.
    notes : tuple of str
        Remarks on the file.
    """

    name: str
    kind: str
    probes: int
    intervals: int
    packets: int
    span_s: float
    notes: tuple[str, ...]

    @property
    def samples(self) -> str:
        """The numbers of samples in words."""
        counts = ((self.probes, "probe"), (self.intervals, "interval"), (self.packets, "packet"))
        return ", ".join(formatting.count(number, what) for number, what in counts if number) or "none"


@dataclass
class Measured:
    """Content of one file or several."""

    probes: list[Probes] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sights: list[Sights] = field(default_factory=list)
    """Packets of each capture, if there are several."""
    lacking: list[tuple[str, str, str]] = field(default_factory=list)
    """Captures with too little data, unless another capture is of the other end: name, fault, expectation."""
    direction: str = "forward"
    """Direction of transfers in files without one."""
    seconds: list[Second] = field(default_factory=list)
    """Quantities that the files have twice."""
    kind: str = ""
    """Kind of a single file."""
    records: list[Record] = field(default_factory=list)
    """A description of each file."""

    def add(self, other: Measured) -> None:
        """Add the content of another file."""
        self.probes += other.probes
        self.loads += other.loads
        self.notes += other.notes
        self.sights += other.sights
        self.seconds += other.seconds
        self.lacking += other.lacking

    def describe(self, name: str) -> Record:
        """Describe the content of a single file."""
        flows = [flow for each in self.sights for kind in each.by_kind for flow in kind.values()]
        spans = [
            *(each.duration_s for each in self.probes),
            *(float(each.begin_s[-1] + each.interval_s[-1] - each.begin_s[0]) for each in self.loads),
            *(each.end_s - each.begin_s for each in self.sights),
        ]
        return Record(
            name,
            self.kind,
            sum(len(each.send_s) for each in self.probes),
            sum(len(each.begin_s) for each in self.loads),
            sum(len(flow.times) for flow in flows),
            max(spans, default=0.0),
            tuple(self.notes),
        )


def oppose(loads: Sequence[Load]) -> list[Load]:
    """Return the transfers, each with the bytes of simultaneous transfers in the other direction.

    Transfers of one file have the same clock. Transfers of several files are compared if they have Unix time.
    """

    def find(load: Load) -> Load:
        others = [each for each in loads if each.direction != load.direction and _find_overlap(load, each) >= OVERLAP_S]
        if not others:
            return load
        ends = np.append(load.begin_s, load.begin_s[-1] + load.interval_s[-1])
        known = np.zeros(len(load.bytes)) if load.opposed is None else load.opposed
        return replace(load, opposed=known + sum(np.diff(_find_carried(each, ends)) for each in others))

    return [find(load) for load in loads]


def _find_overlap(one: Load, other: Load) -> float:
    """Return the seconds in which both transfers went on; 0 if their clocks cannot be compared."""
    if one.source != other.source and min(one.begin_s[0], other.begin_s[0]) < UNIX_S:
        return 0.0
    first = max(one.begin_s[0], other.begin_s[0])
    return float(min(each.begin_s[-1] + each.interval_s[-1] for each in (one, other)) - first)


def _find_carried(load: Load, times: Array) -> Array:
    """Return the bytes that a transfer has carried by these times."""
    ends = np.append(load.begin_s, load.begin_s[-1] + load.interval_s[-1])
    # Writes wait in the send buffer, and go out evenly.
    by_end = np.linspace(0.0, load.carried[0], len(ends)) if load.block else np.append(0.0, np.cumsum(load.bytes))
    carried: Array = np.interp(times, ends, by_end)
    return carried


def in_order(times: Array, source: str, faults: Faults, notes: list[str]) -> NDArray[np.intp]:
    """Return the order of these times. Refuse a file if many times go back, or if they cannot be in seconds."""
    first, last = float(times.min()), float(times.max())
    if last - first > SPAN_MAX_S or last > UNIX_MAX_S:
        faults.wrong(
            source,
            f"times reach from {first:.10g} s to {last:.10g} s",
            f"expected Unix time, or seconds since the start, over at most {SPAN_MAX_S:,.0f} s; check the unit",
        )
    back = int(np.count_nonzero(np.diff(times) < 0))
    if back > BACK_MAX * len(times):
        faults.wrong(
            source,
            f"{back:,} of {len(times):,} times go back",
            f"expected the record of one measurement, in order; at most {100 * BACK_MAX:g} % of the times may go back",
        )
    elif back:
        notes.append(f"{source}: {back:,} of {len(times):,} times go back; the rows were sorted")
    return np.argsort(times, kind="stable")


def make_probes(
    source: str, stamps_s: Array, rtt_s: Array, faults: Faults, *, are_arrivals: bool, notes: list[str], **more: Any
) -> list[Probes]:
    """Make probes from time stamps. If a stamp is of the arrival, subtract the round trip."""
    if len(stamps_s) < PROBES_MIN:
        few = formatting.count(len(stamps_s), "probe")
        faults.wrong(source, few, f"expected at least {PROBES_MIN}; measure longer")
        return []
    if np.isnan(rtt_s).all():
        faults.wrong(source, "all probes are lost", "expected some answers; check the address that was measured")
        return []
    before = faults.count
    middle, longest = float(np.nanmedian(rtt_s)), float(np.nanmax(rtt_s))
    if not TRIP_S[0] <= middle <= TRIP_S[1] or longest > TRIP_MAX_S:
        faults.wrong(
            source,
            f"round trips have a median of {middle:.3g} s, and reach {longest:.3g} s",
            f"expected a median from 1 µs to {TRIP_S[1]:g} s, and at most {TRIP_MAX_S:g} s; check the unit",
        )
    in_order(stamps_s, source, faults, notes)
    if faults.count > before:
        return []
    send_s = stamps_s - np.where(np.isnan(rtt_s), 0.0, rtt_s) if are_arrivals else stamps_s
    order = np.argsort(send_s, kind="stable")
    if send_s[order[-1]] <= send_s[order[0]]:
        faults.wrong(source, "all probes have the same time", "expected increasing times")
        return []
    return [Probes(send_s, rtt_s, source, **more).cut(order)]


def by_number(
    source: str, numbers: NDArray[np.int64], send_s: Array, rtt_s: Array, trailing: int, faults: Faults
) -> tuple[Array, Array]:
    """Add lost probes where numbers are missing, with times between those of their neighbours."""
    # Answers may change places, so only large falls are a restart at 0.
    falls = np.diff(numbers) < -SEQUENCE // 2
    whole = numbers + SEQUENCE * np.concatenate([[0], np.cumsum(falls)])
    whole, first = np.unique(whole, return_index=True)
    count = int(whole[-1] - whole[0]) + 1 + trailing
    if count > min(RECORDS_MAX, 1000 * len(whole) + SEQUENCE):
        faults.wrong(
            source,
            f"numbers of probes reach from {whole[0]} to {whole[-1]}",
            f"expected the numbers of {len(whole):,} answers; most of these probes would be lost",
        )
        return send_s, rtt_s
    every = np.arange(count) + whole[0]
    rtts = np.full(count, np.nan)
    rtts[whole - whole[0]] = rtt_s[first]
    times = np.interp(every, whole, send_s[first])
    if trailing and len(whole) > 1:
        spacing = (times[count - trailing - 1] - times[0]) / max(count - trailing - 1, 1)
        times[count - trailing :] = times[count - trailing - 1] + spacing * np.arange(1, trailing + 1)
    return times, rtts

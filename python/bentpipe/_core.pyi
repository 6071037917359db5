"""The compiled core. Not public: use `bentpipe` itself."""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, final

from typing_extensions import Self, disjoint_base

from bentpipe.errors import Problem
from bentpipe.experiment.single.tables import Tables

__all__ = [
    "RESULTS",
    "AckSample",
    "Congestion",
    "CongestionControl",
    "Delivery",
    "Init",
    "Middlebox",
    "Network",
    "Packet",
    "PacketSender",
    "PathState",
    "Repeat",
    "Run",
    "Scenario",
    "Scheduler",
    "SchedulerView",
    "Sky",
    "SkyMatrix",
    "Subflow",
    "build_info",
    "choices",
    "cities",
    "city",
    "conformance_scripts",
    "constellations",
    "dictionary",
    "drill",
    "hooks",
    "kernel_drill",
    "modcods",
    "quantity",
    "schema",
]
if sys.platform == "linux":
    __all__ += ["Emulation", "QuicHost", "check_quic", "end_with_parent", "isolate", "simulated_cc", "walls"]

RESULTS: int
"""Number of results of this simulator. Equal numbers, scenarios (by digest) and seeds have equal results."""

@final
class Init:
    """Initial values of a congestion control."""

    def __copy__(self) -> Init: ...
    def __deepcopy__(self, _memo: object) -> Init: ...
    @property
    def now_s(self) -> float:
        """Current simulated time, seconds."""

    @property
    def rtt_s(self) -> float | None:
        """Round-trip time of the handshake or an earlier connection, seconds."""

    @property
    def seed(self) -> int:
        """Seed for random choices. Two connections have different seeds."""

    @property
    def smss(self) -> int:
        """Payload of a full segment, bytes."""

    @property
    def cwnd(self) -> int:
        """Initial window, bytes."""

    @property
    def ssthresh(self) -> float:
        """Initial slow start threshold, bytes; infinite without one."""

@final
class AckSample:
    """Data of one ACK that acknowledges new data."""

    def __copy__(self) -> AckSample: ...
    def __deepcopy__(self, _memo: object) -> AckSample: ...
    @property
    def newly_acked(self) -> int:
        """Bytes that this ACK acknowledged for the first time."""

    @property
    def is_cwnd_limited(self) -> bool:
        """Whether the window limited sending, not the application or the receiver. Do not grow a window otherwise."""

    @property
    def rtt_s(self) -> float | None:
        """Seconds from sending the newest acknowledged segment to this ACK; None if the segment was retransmitted."""

    @property
    def ce_packets(self) -> int:
        """Packets that arrived with a mark (CE, RFC 3168), newly reported by this ACK; needs `takes_marks`."""

    @property
    def delivered_packets(self) -> int:
        """Packets that this ACK newly reported as arrived, marked or not; needs `takes_marks`, otherwise 0."""

@final
class PathState:
    """The sender's view of the path."""

    def __copy__(self) -> PathState: ...
    def __deepcopy__(self, _memo: object) -> PathState: ...
    @property
    def now_s(self) -> float:
        """Current simulated time, seconds."""

    @property
    def smss(self) -> int:
        """Payload of a full segment, bytes."""

    @property
    def snd_una(self) -> int:
        """Offset of the first byte not acknowledged (SND.UNA), from the first byte of data."""

    @property
    def snd_nxt(self) -> int:
        """Offset of the next new byte (SND.NXT). Data that the current ACK releases is not sent yet."""

    @property
    def flight_size(self) -> int:
        """Bytes sent and not acknowledged (RFC 5681: FlightSize)."""

    @property
    def ssthresh_base(self) -> int:
        """Base of the window reduction after a loss, bytes: FlightSize or min(cwnd, rwnd), as configured."""

    @property
    def ssthresh_unit(self) -> int:
        """Unit of ssthresh, bytes: ssthresh is a multiple of it."""

    @property
    def srtt_s(self) -> float | None:
        """Smoothed round-trip time (RFC 6298), seconds; None before the first sample."""

    @property
    def rwnd(self) -> int:
        """The receiver's advertised window, bytes."""

    @property
    def header_len(self) -> int:
        """Headers of a full segment, including IP, bytes."""

    def half(self) -> int:
        """max(base / 2, 2 SMSS), bytes: RFC 5681 eq. (4)."""

    def half_as_ssthresh(self) -> int:
        """`half` rounded down to a multiple of `ssthresh_unit`, bytes: the value that ssthresh holds."""

    def share(self, part: float) -> float:
        """Return `part` (0 to 1) of `ssthresh_base`, bytes; at least 2 SMSS (RFC 8511 §3)."""

    def as_ssthresh(self, bytes: float) -> int:
        """Round bytes down to a value that ssthresh can hold: a multiple of `ssthresh_unit`."""

@final
class Congestion:
    """Reason for a window reduction: a loss attributed to congestion, or ECN marks."""

    def __copy__(self) -> Congestion: ...
    def __deepcopy__(self, _memo: object) -> Congestion: ...
    @property
    def is_ecn(self) -> bool:
        """Whether the receiver reported ECN marks. No data is missing."""

    @property
    def beta(self) -> float | None:
        """Part of the window to keep after ECN marks, 0 to 1 (RFC 8511); None after a loss, or if not configured."""

    def left(self, after_loss: float = 0.5) -> float:
        """Return the part of the window to keep, 0 to 1: `beta`, or `after_loss` if `beta` is None."""

@final
class Delivery:
    """Data of one ACK on delivery and loss, also during recovery."""

    def __copy__(self) -> Delivery: ...
    def __deepcopy__(self, _memo: object) -> Delivery: ...
    @property
    def newly_delivered(self) -> int:
        """Bytes that this ACK first reported as arrived. Each byte counts once."""

    @property
    def delivered(self) -> int:
        """Bytes delivered so far."""

    @property
    def newly_lost(self) -> int:
        """Bytes that this ACK first showed to be lost."""

    @property
    def lost(self) -> int:
        """Bytes declared lost so far."""

    @property
    def in_flight(self) -> int:
        """Bytes in the network: sent, not delivered, not declared lost since (RFC 6675: pipe)."""

    @property
    def is_cwnd_limited(self) -> bool:
        """Whether the window limited sending, as in `AckSample`."""

    @property
    def is_repairing(self) -> bool:
        """Whether losses are being repaired, by recovery or in the slow start after a timeout."""

    @property
    def one_way_delay_s(self) -> float | None:
        """One-way delay of the newest segment by the clocks of both hosts, seconds; only with timestamps (RFC 7323)."""

    @property
    def receiver_clock_ms(self) -> int | None:
        """The receiver's clock at this ACK, milliseconds, which wraps at 2**32; only with timestamps (RFC 7323)."""

    @property
    def rate_bps(self) -> int | None:
        """Delivery rate of payload, bit/s; None if too little is known."""

    @property
    def interval_s(self) -> float | None:
        """Time over which the rate was measured, seconds."""

    @property
    def rtt_s(self) -> float | None:
        """Round-trip time of the packet of the rate sample, seconds; None if the packet was a retransmission."""

    @property
    def is_app_limited(self) -> bool:
        """Whether the application, not the path, limited sending: the rate is a lower bound."""

    @property
    def flight_before(self) -> int | None:
        """Bytes in flight when the sampled packet left, including it."""

    @property
    def prior_delivered(self) -> int | None:
        """Bytes delivered when the sampled packet left."""

    @property
    def ce_packets(self) -> int:
        """Packets that arrived with a mark (CE, RFC 3168), newly reported by this ACK; needs `takes_marks`."""

    @property
    def delivered_packets(self) -> int:
        """Packets that this ACK newly reported as arrived, marked or not; needs `takes_marks`, otherwise 0."""

@final
class Packet:
    """A packet at a node."""

    window: int | None
    """The window field of its TCP header, before scaling, 0 to 65535; None in a datagram."""

    @property
    def flow(self) -> str:
        """Name of its flow."""

    @property
    def connection(self) -> int:
        """Number of its connection, or of the datagrams of its flow; equal in both directions."""

    @property
    def is_to_sender(self) -> bool:
        """Whether it travels from the receiver of its flow to the sender, like the ACKs of a transfer."""

    @property
    def is_to_receiver(self) -> bool:
        """Whether it travels from the sender of its flow to the receiver."""

    @property
    def is_datagram(self) -> bool:
        """Whether it belongs to no connection. It then has no `seq`, `ack` and `window`."""

    @property
    def size(self) -> int:
        """Size in bytes, headers included."""

    @property
    def payload(self) -> int:
        """Payload in bytes."""

    @property
    def seq(self) -> int | None:
        """Sequence number, modulo 2**32."""

    @property
    def data_range(self) -> tuple[int, int] | None:
        """Sequence numbers of its payload, first and last plus one, modulo 2**32. None in a datagram."""

    @property
    def sender(self) -> PacketSender | None:
        """The endpoint of its connection that sent it, for `notify`; may be kept. None in a datagram."""

    @property
    def ack(self) -> int | None:
        """Acknowledgement number, modulo 2**32; None without the flag ACK."""

    @property
    def sack(self) -> list[tuple[int, int]]:
        """Ranges of sequence numbers that the receiver holds beyond `ack`, as first and last plus one (RFC 2018 §3)."""

    @property
    def is_bare_ack(self) -> bool:
        """Whether it only acknowledges."""

    @property
    def is_syn(self) -> bool:
        """Whether it opens a connection (flag SYN)."""

    @property
    def is_fin(self) -> bool:
        """Whether its sender has no more data (flag FIN)."""

    @property
    def is_rst(self) -> bool:
        """Whether it resets the connection (flag RST)."""

    @property
    def is_ect(self) -> bool:
        """Whether its sender supports ECN, marked or not (RFC 3168 §5)."""

    @property
    def is_ce(self) -> bool:
        """Whether it has the ECN mark *congestion experienced*."""

    def mark_ce(self) -> bool:
        """Set its ECN mark if its sender supports ECN; return whether it is marked."""

@final
class PacketSender:
    """Endpoint of a connection that sent a packet. Equal for all its packets, and usable as a key of dicts."""

    @property
    def flow(self) -> str:
        """Name of its flow."""

    @property
    def connection(self) -> int:
        """Number of its connection, as in `Packet.connection`."""

    def __hash__(self) -> int: ...

@final
class Subflow:
    """One path of a flow over several paths, as its scheduler sees it. Tests may make one."""

    def __new__(
        cls,
        name: str,
        index: int = 0,
        *,
        is_usable: bool = True,
        has_room: bool = True,
        can_repeat: bool = False,
        srtt_s: float = 0.1,
        rttvar_s: float = 0.0,
        cwnd: int = 14_400,
        flight_size: int = 0,
        queued: int = 0,
        smss: int = 1440,
        pacing_rate: int | None = None,
        is_starting: bool = False,
    ) -> Subflow: ...
    def __copy__(self) -> Subflow: ...
    def __deepcopy__(self, _memo: object) -> Subflow: ...
    @property
    def name(self) -> str:
        """Name in the flow, such as `leo`."""

    @property
    def index(self) -> int:
        """Place among the subflows. Subflow 0 opens the connection."""

    @property
    def is_usable(self) -> bool:
        """Whether it may carry data: open, not failed, and not a backup while others are open."""

    @property
    def is_ready(self) -> bool:
        """Whether it is usable and its congestion window and its pacing allow a segment now."""

    @property
    def can_repeat(self) -> bool:
        """Whether it is ready and could repeat data of other subflows. False unless the class has `repeats = True`."""

    def repeat(self) -> Repeat:
        """Return the choice to repeat, on this subflow, the first data that only other subflows carry."""

    @property
    def srtt_s(self) -> float:
        """Smoothed round-trip time (RFC 6298), seconds; 0 before the first sample."""

    @property
    def rttvar_s(self) -> float:
        """Variation of the round-trip time (RFC 6298: RTTVAR), seconds."""

    @property
    def srtt_min_s(self) -> float:
        """Least smoothed round-trip time so far, seconds."""

    @property
    def srtt_max_s(self) -> float:
        """Greatest smoothed round-trip time so far, seconds."""

    @property
    def cwnd(self) -> int:
        """Congestion window, bytes."""

    @property
    def flight_size(self) -> int:
        """Bytes sent and not acknowledged (RFC 5681: FlightSize)."""

    @property
    def queued(self) -> int:
        """Bytes assigned to it but not sent yet."""

    @property
    def smss(self) -> int:
        """Payload of a full segment, bytes."""

    @property
    def pacing_rate(self) -> int | None:
        """Rate at which it sends now, bit/s; None: as fast as its window allows."""

    @property
    def is_starting(self) -> bool:
        """Whether it is in its first slow start."""

@final
class Repeat:
    """Choice of a scheduler to repeat, on this subflow, the first data that only other subflows carry."""

    def __copy__(self) -> Repeat: ...
    def __deepcopy__(self, _memo: object) -> Repeat: ...
    @property
    def subflow(self) -> Subflow:
        """The subflow."""

@final
class SchedulerView:
    """A flow over several paths, as its scheduler sees it. Tests may make one."""

    def __new__(
        cls,
        subflows: Sequence[Subflow],
        *,
        now_s: float = 0.0,
        window: int = 1 << 20,
        room: int = 1 << 20,
        unsent: int = 1 << 20,
        opportunistic: int = 0,
    ) -> SchedulerView: ...
    def __copy__(self) -> SchedulerView: ...
    def __deepcopy__(self, _memo: object) -> SchedulerView: ...
    @property
    def now_s(self) -> float:
        """Current simulated time, seconds."""

    @property
    def window(self) -> int:
        """Bytes from the first unacknowledged one to the end of the receive window."""

    @property
    def room(self) -> int:
        """Bytes of new data that the receive window allows."""

    @property
    def unsent(self) -> int:
        """Bytes of new data that wait."""

    @property
    def opportunistic(self) -> int:
        """Segments reinjected so far on a faster subflow because they blocked the receive window."""

    @property
    def subflows(self) -> tuple[Subflow, ...]:
        """Its subflows. The first opens the connection."""

@disjoint_base
class Scheduler:
    """Methods and attributes of a scheduler."""

    repeats: ClassVar[bool]
    """Whether `choose` may return `Subflow.repeat()`."""

    def __new__(cls) -> Self: ...
    def choose(self, view: SchedulerView) -> Subflow | Repeat | None:
        """Return the subflow for the next segment, or None to wait. By default, it is the fastest subflow with room."""

    @property
    def flow(self) -> str:
        """Name of its flow."""

    @property
    def seed(self) -> int:
        """Seed for random choices. Two flows have different seeds."""

    def _become(self, other: Scheduler) -> None:
        """Take the state of another object."""

@disjoint_base
class Middlebox:
    """Methods and attributes of a middlebox."""

    def __new__(cls) -> Self: ...
    def on_packet(self, packet: Packet) -> None:
        """Handle a packet that passes, in either direction, including packets of the node's hosts."""

    def on_timer(self) -> None:
        """Handle the instant of `set_timer`."""

    def on_corrupted(self, packet: Packet) -> None:
        """Handle a corrupted packet. The node drops it after this hook. Its header is correct.

        Only nodes of kind `processing` check packets, and only packets that they would forward. A `bent-pipe` node
        forwards corrupted packets, and a host drops them. The packet cannot be changed, forwarded or held.
        """

    @property
    def now_s(self) -> float:
        """Current simulated time, seconds."""

    @property
    def next_change_s(self) -> float | None:
        """Time of the next scheduled change at this node, seconds, later than `now_s`; None without one.

        A change is the absence or return of a link from or to the node, or a new route through the node.
        """

    @property
    def node(self) -> str:
        """Node of the middlebox."""

    @property
    def seed(self) -> int:
        """Seed for random choices. Two middleboxes have different seeds."""

    @property
    def queue_packets(self) -> int:
        """Packets in the queue of the packet's next link, without the packet in transmission."""

    @property
    def queue_bytes(self) -> int:
        """Bytes in the queue of that link, headers included."""

    def drop(self) -> None:
        """Drop the packet; `drops` counts it as `policy`."""

    def send_back(self) -> None:
        """Send the packet back."""

    def consume(self) -> None:
        """End the packet's path here. It counts as delivered."""

    def delay(self, seconds: float) -> None:
        """Forward the packet after this time."""

    def hold(self) -> int:
        """Hold the packet here; return its handle for `release` and `discard`."""

    def release(self, handle: int) -> None:
        """Forward a held packet now."""

    def discard(self, handle: int) -> None:
        """Drop a held packet."""

    def duplicate(self) -> None:
        """Send a copy ahead of the packet. Each call adds a copy."""

    def segment_size(self, bytes: int) -> None:
        """Request segments with this payload, bytes, from the packet's sender. The request travels back on the path."""

    def notify(
        self, sender: PacketSender | Packet, ranges: Iterable[tuple[int, int]], ber: float | None = None
    ) -> None:
        """Report corrupted data to the endpoint that sent it, like BEEN and backward ETEN.

        Each range travels in its own datagram of 76 bytes, which queues and may be lost. With
        `tcp.error_reports = "resend"` the sender retransmits the ranges, and with `tcp.packet_size` it chooses its
        packet size by the error rate.

        Parameters
        ----------
        sender : PacketSender or Packet
            `packet.sender`, or a packet that this endpoint has sent.
        ranges : iterable of (int, int)
            Sequence numbers, first and last plus one, such as `[packet.data_range]`. At most 65535 bytes each; empty
            ranges are skipped.
        ber : float, optional
            The error rate of the link, 0 to 1, per byte or per bit, as in the sender's `packet_size.unit`. Without
            ranges, the report has only this rate.
        """

    def set_timer(self, at_s: float | None) -> None:
        """Call `on_timer` at this instant, seconds. A new instant replaces the earlier one. None cancels the timer."""

@disjoint_base
class CongestionControl:
    """Hooks that a class inherits: those of Reno, or those of the congestion control in `extends`."""

    cwnd: float
    ssthresh: float

    def __new__(cls, init: Init | None = None) -> Self: ...
    def _become(self, other: CongestionControl) -> None:
        """Become a copy of an object of this class."""

    def on_ack(self, ack: AckSample, path: PathState) -> None:
        """Handle an ACK of new data outside loss recovery. Reno: slow start, then a segment per window."""

    def on_congestion(self, why: Congestion, path: PathState) -> None:
        """Handle the start of a loss episode, or ECN marks, at most once per window. Reno: half of the window."""

    def on_rto(self, first: bool, path: PathState) -> None:
        """Handle a retransmission timeout; `first` is false for repeated timeouts of the same segment.

        Repeated timeouts must not lower ssthresh again (RFC 5681 §3.1). Reno: slow start from one segment.
        """

    def on_delivery(self, delivery: Delivery, path: PathState) -> None:
        """Handle an ACK that reports deliveries, in recovery or not. Called only for classes that override it."""

    def on_recovery_exit(self, path: PathState) -> None:
        """Handle the end of recovery: all data outstanding at the detection of the losses is repaired."""

    def on_resume(self, path: PathState) -> None:
        """Handle the restart of sending after a pause without outstanding data."""

    def on_error_report(self, start: int | None, end: int | None, error_rate: float | None, path: PathState) -> None:
        """Handle a node's report of a corrupted range of outstanding data, the error rate of a link, or both.

        `start` and `end` are offsets in the data, bytes, like `path.snd_una`; `end` is the last byte plus one. Both are
        None in a report without a range. `error_rate` is 0 to 1 in the unit of the estimating node, or None. The hook
        precedes the retransmission. It is also called with `tcp.error_reports = "ignore"`.
        """

    def on_smss(self, smss: int) -> None:
        """Handle a new segment size, bytes."""

    def limit_cwnd(self, max: float) -> None:
        """Limit the window to `max` bytes now, for recovery or an idle restart."""

    def set_window(self, cwnd: float, ssthresh: float) -> None:
        """Continue with exactly this window and threshold, bytes."""

    def pacing_rate(self) -> float | None:
        """Return the sending rate, bit/s, headers included; None: as in the scenario. Called after each hook."""

    def inside(self) -> dict[str, float | str | None]:
        """Return values to record, by name: the series `cc_state`, `cc_values` and others that begin with `cc_`.

        Called only if one of these series is recorded, after each step of the sender. Change nothing here: a record
        must not change the run. `state` is a text. `pacing_gain`, `cwnd_gain`, `bandwidth_bps`, `min_rtt_s`,
        `inflight_longterm_bytes`, `inflight_shortterm_bytes`, `bw_shortterm_bps`, `extra_acked_bytes` and
        `full_bw_reached` go to their own series. Any other name goes to `cc_values`; end such a name with the unit.
        A value of None ends the series of that name. With `extends`, the base class returns the values of the
        congestion control that it extends.
        """

    def undo(self, before: CongestionControl) -> None:
        """Undo a needless reduction: continue with the values of `before`, a copy from before the reaction."""

    def slow_start(self, ack: AckSample, path: PathState) -> int:
        """Apply slow start to an ACK, as configured in the scenario. With `extends` it raises TypeError.

        Returns the bytes left to congestion avoidance: 0 while slow start continues or the window is unused.
        """

    def increase(self, bytes: int, path: PathState) -> None:
        """Apply additive increase to acknowledged bytes, as configured in the scenario.

        With `extends` it raises TypeError.
        """

    def add(self, bytes: float) -> None:
        """Add bytes to the window, fractions included. The window at most doubles."""

    def reduce(self, ssthresh: float, cwnd: float) -> None:
        """Set a new threshold and window after congestion, bytes."""

    def restart(self, ssthresh: float | None = None) -> None:
        """Restart slow start from one segment after a timeout. `ssthresh`: the new threshold, bytes, if it changes."""

@final
class Scenario:
    @staticmethod
    def from_toml(
        text: str,
        source: str,
        sets: list[tuple[str, str]],
        folder: str | None = None,
        senders: list[tuple[str, str, str | None, type]] = ...,
        reached: Callable[[float], object] | None = None,
    ) -> Scenario: ...
    @staticmethod
    def from_json(
        text: str,
        source: str,
        sets: list[tuple[str, str]],
        folder: str | None = None,
        senders: list[tuple[str, str, str | None, type]] = ...,
        reached: Callable[[float], object] | None = None,
    ) -> Scenario: ...
    def to_toml(self) -> str: ...
    def to_json(self) -> str: ...
    def network(self) -> str: ...
    def cases(self) -> list[str]: ...
    def acting(self, key: str) -> list[str]:
        """Return the keys that decide in place of a key without effect; empty if the key has an effect."""

    def case(self, name: str, sets: list[tuple[str, str]]) -> Scenario: ...
    def sweep(self) -> str | None: ...
    def point(self, positions: list[int]) -> Scenario: ...
    def tune(self) -> str | None: ...
    def under(self, condition: str, sets: list[tuple[str, str]]) -> Scenario: ...
    def warnings(self) -> list[Problem]: ...
    def sky(self, reached: Callable[[float], object] | None = None) -> dict[str, Any]:
        """Return constellations, pairs of places and paths, if it `has_sky`."""

    @property
    def title(self) -> str: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def digest(self) -> str: ...
    def on_day(self, day: int) -> Scenario:
        """Return the scenario on a day of the sky, if it `has_days`."""

    @property
    def notes(self) -> list[str]: ...
    @property
    def hosts(self) -> list[tuple[str, list[str]]]: ...
    @property
    def cost(self) -> tuple[float, float]:
        """Events and bytes of a run, at most."""

    @property
    def has_sky(self) -> bool: ...
    @property
    def has_days(self) -> bool: ...
    @property
    def randomness(self) -> str: ...
    @property
    def flow_kinds(self) -> list[str]: ...
    @property
    def flow_names(self) -> list[str]: ...
    @property
    def subflow_names(self) -> list[str]: ...
    @property
    def link_names(self) -> list[str]: ...

@final
class Run:
    def __new__(
        cls, scenario: Scenario, seed: int | None = None, pcap: str | None = None, qlog: str | None = None
    ) -> Run: ...
    def advance(self, events: int) -> None: ...
    def interrupt(self) -> None: ...
    def finish(self) -> Tables: ...
    def so_far(self) -> Tables:
        """Return the tables up to now. The run does not change."""

    @property
    def is_done(self) -> bool: ...
    @property
    def progress(self) -> float: ...
    @property
    def simulated_s(self) -> float: ...

@final
class Network:
    def __new__(cls, scenario: Scenario, seed: int | None = None) -> Network: ...
    @property
    def flows(self) -> list[tuple[str, str, str]]:
        """Return name and both nodes of each flow that has ports. The first flow has ports 0 and 1, and so on."""

    def inject(self, at_s: float, port: int, size: int, header_len: int, data: bytes) -> None: ...
    def run_until(self, until_s: float, events: int) -> bool:
        """Run to an instant, with at most about `events` events; return whether the instant was reached."""

    def drain(self) -> list[tuple[float, int, float, int, bool, bytes]]: ...
    def drain_lost(self) -> list[tuple[float, int, float, str, str, int, bytes]]: ...
    def finish(self) -> Tables: ...
    @property
    def now_s(self) -> float: ...
    @property
    def next_wakeup_s(self) -> float:
        """Return the time of the next event, seconds; infinite without events."""

@final
class Emulation:
    """Hosts with a network between them in real time. Only on Linux, like all emulation.

    `pcap` has the names of files, with `{host}` for a host's name, and the captured bytes of a packet; None: all.
    """

    def __new__(
        cls,
        scenario: Scenario,
        pcap: tuple[str, int | None] | None = None,
        cc: str | None = None,
        backend: str = "auto",
        offload: str = "auto",
        initial_window: int | None = None,
        paths: Sequence[str] = ...,
    ) -> Emulation: ...
    def join_paths(self, host: int, are_backups: Sequence[bool]) -> None:
        """Let Multipath TCP of the kernel open a subflow for each further path, from the addresses of a host."""

    def multipath(self) -> dict[str, list[Any]]:
        """Return connections over several paths, sampled as in `samples`."""

    def samples(self) -> dict[str, list[Any]]: ...
    @property
    def hosts(self) -> list[str]: ...
    def speak(self, host: int, service: str, file: str | None, port: int, peer: int | None, secret: int) -> None:
        """Use the simulated TCP for a host. With `peer` it connects to that host's port, otherwise it listens."""

    def spoken(self) -> dict[str, list[Any]]: ...
    def proxied(self) -> dict[str, list[Any]]:
        """Return the connections of proxies, with the columns of `spoken`."""

    @property
    def passed(self) -> list[tuple[str, str]]:
        """Return node and kind of middleboxes that let real packets pass unchanged."""

    def enter(self, host: int) -> None:
        """Move this process to a host."""

    @staticmethod
    def separate_processes() -> bool:
        """Start later children in a new process namespace; return whether the system allows it."""

    def take_processes(self) -> None:
        """Take that namespace, after the start of its first process. Later children start outside again."""

    def place_children(self, is_within: bool) -> None:
        """Start later children in the process namespace of programs, or outside."""

    def enter_as_program(self, host: int, walls: list[str]) -> list[str]:
        """Move this process, which will become a program, to a host for ever; return the walls that are allowed."""

    def run(self, slice_s: float, process: int | None) -> str:
        """Run for some seconds, or until a process ends; return `slice`, `ended`, or `over` with the scenario."""

    def outside(self) -> dict[str, Any]: ...
    def finish(self) -> Tables: ...

@final
class QuicHost:
    """QUIC with TLS at a socket of this process. Only on Linux, and in builds with the feature `tls`.

    It listens at `port`, or connects to this port of the address `peer`. Then it begins with `request` if its service
    sends nothing. `qlog` is a folder.
    """

    def __new__(
        cls,
        scenario: Scenario,
        service: str,
        file: str | None,
        port: int,
        peer: str | None,
        request: str,
        secret: int,
        qlog: str | None = None,
    ) -> QuicHost: ...
    def run(self, slice_s: float) -> tuple[int, int]:
        """Run for some seconds; return the number of connections, and of those that are closed."""

    def close(self) -> None:
        """Close all connections; the next `run` sends the last datagrams."""

    def notes(self) -> list[str]:
        """Return notes on the qlog files: the first failure, and missing files."""

    def reports(self) -> dict[str, list[Any]]:
        """Return the connections, one column per fact."""

def check_quic(scenario: Scenario) -> None:
    """Refuse settings of QUIC that no end on the wire has."""

def end_with_parent(parent: int | None = None) -> bool:
    """End this process with its parent; return whether the parent still exists."""

def simulated_cc(name: str) -> str:
    """Return bentpipe's name of a congestion control of the kernel."""

def walls() -> list[str]:
    """List the walls around programs that a system may lack, in order."""

def isolate() -> bool:
    """Leave the namespaces of the machine; return whether real-time priority was granted."""

def schema() -> str: ...
def choices() -> str: ...
def dictionary() -> str: ...
def quantity(text: str) -> tuple[float, str] | None:
    """Read a number with a unit: `s`, `bit/s`, `B`, `m`, `deg`, `1` or another; None for other texts."""

def hooks() -> tuple[list[str], list[str], list[str]]:
    """List the methods that a congestion control, a middlebox, and a scheduler may override."""

def conformance_scripts() -> list[tuple[str, str]]:
    """List name and text of each script."""

def drill(script: tuple[str, dict[str, str] | None], through_codec: bool) -> list[tuple[str, tuple[int, str] | None]]:
    """Run the cases of a script; return the title of each, with line and text of its first difference or None.

    A script is its text, and for packetdrill's language the texts of the shell files that it names. An invalid script
    raises `ValueError` with such a pair.
    """

def kernel_drill(
    scripts: list[tuple[str, dict[str, str] | None]],
) -> list[list[tuple[str, str, int | None, str, str | None]]]:
    """Run the cases on the kernel's TCP; return title, verdict, line, text and, for a known deviation, Linux's way.

    An invalid script raises `ValueError`, as in `drill`.
    """

def build_info() -> dict[str, str]: ...

@final
class Sky:
    """Satellites, the Earth and places."""

    @staticmethod
    def preset(name: str, epoch: str | None, orbits: tuple[str | None, float | None, float | None]) -> Sky: ...
    @staticmethod
    def walker(
        name: str,
        is_star: bool,
        inclination_deg: float,
        walker: tuple[int, int, int],
        altitude_km: float,
        epoch: str | None,
        orbits: tuple[str | None, float | None, float | None],
    ) -> Sky: ...
    @staticmethod
    def slot(longitude_deg: float, epoch: str | None) -> Sky: ...
    @staticmethod
    def elements(
        content: bytes, skips: bool, epoch: str | None, span: tuple[float, float], age_max: str | None
    ) -> Sky: ...
    def with_places(
        self,
        places: Sequence[tuple[str, float, float, float, bool]],
        reach: tuple[float | None, float | None],
        between: str | None,
        fibre: float | None,
    ) -> Sky: ...
    def without(self, nodes: Sequence[int], links: Sequence[tuple[int, int]]) -> Sky: ...
    @property
    def skipped(self) -> list[tuple[int, str]]: ...
    @property
    def counts(self) -> dict[str, int]: ...
    @property
    def elements_age_s(self) -> float: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def epoch(self) -> str: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def elevation_deg(self) -> float | None: ...
    @property
    def range_max_km(self) -> float | None: ...
    @property
    def is_linked(self) -> bool: ...
    def budget(
        self,
        ways: Sequence[
            tuple[
                tuple[str, tuple[float, float, float] | None],
                tuple[float, float, float, float, float | None, float | None],
                float,
                float | None,
            ]
        ],
        symbols_per_s: float,
        altitude_km: float,
        air: tuple[bool, float | None, float, bool],
    ) -> tuple[
        list[tuple[str, float, str]],
        float,
        float,
        tuple[str, float, float, float] | None,
        list[tuple[float, float, float]],
    ]: ...
    def elevations(self) -> tuple[float, float] | None: ...
    @property
    def altitude_km(self) -> float: ...
    def instant(self, seconds: float) -> str: ...
    def path(
        self,
        span: tuple[float, float, float],
        choice: tuple[str, int, bool, bool],
        progress: Callable[[float], object] | None = None,
    ) -> dict[str, Any]: ...
    def matrix(
        self,
        pairs: Sequence[tuple[int, int]],
        span: tuple[float, float, float],
        choice: tuple[str, int, bool, bool],
        keeps: bool,
        progress: Callable[[float], object] | None = None,
    ) -> SkyMatrix: ...
    def disjoint(
        self,
        span: tuple[float, float, float],
        choice: tuple[bool, bool],
        count: int,
        by_links: bool,
        progress: Callable[[float], object] | None = None,
    ) -> list[dict[str, Any]]: ...
    def passes(
        self, span: tuple[float, float, float], progress: Callable[[float], object] | None = None, place: int = 0
    ) -> dict[str, tuple[str, bytes]]: ...
    def positions(
        self, span: tuple[float, float, float], progress: Callable[[float], object] | None = None
    ) -> tuple[str, bytes]: ...
    def coverage(
        self,
        cell_deg: float,
        span: tuple[float, float, float],
        to: int | None = None,
        progress: Callable[[float], object] | None = None,
    ) -> tuple[dict[str, tuple[str, bytes]], float]: ...
    def moment(self, at_s: float, has_path: bool) -> dict[str, Any]: ...

@final
class SkyMatrix:
    """The paths of pairs of places over time."""

    def columns(self) -> dict[str, tuple[str, bytes]]: ...
    def delay_s(self, pair: int) -> tuple[str, bytes]: ...

def constellations() -> list[tuple[str, str, str]]: ...
def cities() -> list[tuple[str, float, float]]: ...
def modcods() -> list[tuple[str, float, float]]: ...
def city(name: str) -> tuple[float, float]: ...

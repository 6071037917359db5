"""The scenario as typed dictionaries. Generated from the schema; do not edit."""

from __future__ import annotations

from typing import Dict, List, Literal, Tuple, TypedDict, Union


class CcKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["tahoe", "tcpmin", "reno", "newreno", "sack"]

_RecoveryNewrenoRequired = TypedDict(
    "_RecoveryNewrenoRequired",
    {
        "kind": Literal["newreno"],
    },
)


class RecoveryNewreno(_RecoveryNewrenoRequired, total=False):
    """Fast recovery through partial ACKs (RFC 6582).

    timer :
        Which partial ACKs restart the retransmission timer. Default: "impatient".

    exit :
        The window when recovery ends. Default: "flight-size".

    deflate :
        How far partial ACKs may deflate the window. Default: "full".

    first_loss :
        Allow fast retransmit of the very first segment, which RFC 6582 §3.2 taken literally forbids. Default: true.
    """

    timer: Literal["impatient", "slow-but-steady"]
    exit: Literal["flight-size", "ssthresh"]
    deflate: Literal["full", "to-ssthresh"]
    first_loss: bool

_RecoverySackRequired = TypedDict(
    "_RecoverySackRequired",
    {
        "kind": Literal["sack"],
    },
)


class RecoverySack(_RecoverySackRequired, total=False):
    """Selective acknowledgements (RFC 2018, RFC 6675).

    on_rto :
        What a timeout does with the information about blocks received. Default: "keep".
    """

    on_rto: Literal["keep", "discard"]


class RecoveryKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["timeout-only", "fast-retransmit", "reno"]


class VerdictKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["always-congestion", "always-link-error"]


class Rto(TypedDict, total=False):
    """The retransmission timer.

    initial :
        Timeout before the first sample, at least 1 ms. Default: "1 s".

    min :
        Lower bound. Default: "1 s".

    max :
        Upper bound, at least 1 ms. Default: "60 s".

    granularity :
        Clock granularity: samples and timeouts are whole ticks. Zero: a continuous clock. Default: "1 ms".

    phase :
        Where in a tick the clock starts; `random` is drawn for each end. Default: "random".

    guard :
        Add at least one tick to the smoothed round-trip time: SRTT + max(G, 4 RTTVAR). Default: true.

    rounding :
        How a round trip becomes a number of ticks. Default: "floor".

    min_ticks :
        Smallest timeout in ticks. Default: 1.

    sampling :
        Which ACKs give a round-trip sample when timestamps are off. Default: "per-window".

    karn :
        Take no sample from a segment that was sent again. Default: true.

    restart_on_fast_retransmit :
        Restart the timer when duplicate or selective ACKs start a retransmission; RFC 6298 §5 leaves it running, so that recovery has only what is left of it. Default: true.

    backoff :
        Double the timeout at each expiry. Default: true.

    backoff_max :
        Largest factor of the backoff. Default: 64.
    """

    initial: str
    min: str
    max: str
    granularity: str
    phase: str
    guard: bool
    rounding: Literal["floor", "plus-one"]
    min_ticks: int
    sampling: Literal["per-window", "per-ack"]
    karn: bool
    restart_on_fast_retransmit: bool
    backoff: bool
    backoff_max: int


class Ack(TypedDict, total=False):
    """When the receiver acknowledges.

    every :
        Acknowledge at every n-th full segment; 1: every segment. Default: 2.

    delay :
        Longest delay of an acknowledgement. Default: "200 ms".

    timer :
        What the delay is counted from. Default: "per-segment".

    quick :
        Acknowledge each of the first n segments of a connection at once. Default: 0.
    """

    every: int
    delay: str
    timer: Literal["per-segment", "free-running"]
    quick: int


class Tcp(TypedDict, total=False):
    """The transport of a flow.

    cc :
        Which congestion control moves the window. Default: "newreno".

    smss :
        Largest payload of a segment (SMSS), 40 B to 65415 B. Default: "1460 B".

    recovery :
        Which procedure decides what is lost and what is sent again. Without it, the one that the congestion control was published with.

    verdict :
        What a loss is taken to mean. Default: "always-congestion".

    limited_transmit :
        Send one new segment on each of the first two duplicate ACKs. Default: true.

    initial_window :
        Window at the start of data transfer. Default: "rfc6928".

    initial_ssthresh :
        Where slow start ends for the first time; at least two segments. A bdp is the smallest rate on the route times the propagation round trip. Default: "unlimited".

    cwnd_validation :
        Grow the window only while it limits sending. Default: true.

    idle_restart :
        Fall back to the restart window after an idle time of one retransmission timeout. Default: true.

    ssthresh_base :
        What is halved when the slow start threshold is set. Default: "flight-size".

    ssthresh_rounding :
        Keep the slow start threshold to the byte, or round it down to whole segments. Default: "bytes".

    grow_on_exit :
        Let the ACK that ends fast recovery also grow the window; RFC 5681 and 6582 only deflate it, ns-2 grows it. Default: false.

    give_up :
        When a connection that gets no answer is given up. Default: "100 s".

    timestamps :
        Timestamps: 12 bytes in every segment, a round-trip sample from every ACK. Default: false.

    window_scaling :
        Window scaling; without it the advertised window ends at 65535 B. Default: true.

    receive_buffer :
        The receiver's buffer, which bounds the window it advertises; at most 1073725440 B. A bdp is the smallest rate on the route times the propagation round trip. Default: "unlimited".

    handshake :
        Open with SYN and SYN-ACK. Without, the connection starts established and the first data leave at once. Default: true.

    rto :
        The retransmission timer.

    ack :
        When the receiver acknowledges.
    """

    cc: Union[CcKind, Literal["tahoe", "tcpmin", "reno", "newreno", "sack"]]
    smss: str
    recovery: Union[RecoveryNewreno, RecoverySack, RecoveryKind, Literal["timeout-only", "fast-retransmit", "reno", "newreno", "sack"]]
    verdict: Union[VerdictKind, Literal["always-congestion", "always-link-error"]]
    limited_transmit: bool
    initial_window: str
    initial_ssthresh: str
    cwnd_validation: bool
    idle_restart: bool
    ssthresh_base: Literal["flight-size", "window"]
    ssthresh_rounding: Literal["bytes", "segments"]
    grow_on_exit: bool
    give_up: str
    timestamps: bool
    window_scaling: bool
    receive_buffer: str
    handshake: bool
    rto: Rto
    ack: Ack


class MiddleboxImpairHoldTable(TypedDict):
    """A random time, drawn for each packet.

    uniform :
        Shortest and longest time, the latter excluded.
    """

    uniform: Union[Tuple[str, str], List[str]]

_MiddleboxImpairRequired = TypedDict(
    "_MiddleboxImpairRequired",
    {
        "kind": Literal["impair"],
    },
)


class MiddleboxImpair(_MiddleboxImpairRequired, total=False):
    """Duplicates and holds back packets at random.

    duplicate :
        Probability that a packet is sent twice. Default: 0.

    reorder :
        Probability that a packet is held back, so that later ones overtake it. Default: 0.

    hold :
        How long a packet is held back. Default: "0 s".

    direction :
        Which packets are touched. Default: "both".
    """

    duplicate: Union[str, float]
    reorder: Union[str, float]
    hold: Union[str, MiddleboxImpairHoldTable]
    direction: Literal["both", "to-receiver", "to-sender"]


class Node(TypedDict, total=False):
    """A place where links meet.

    kind :
        What happens to corrupted packets here. Default: "router".

    middlebox :
        Functions that see each packet passing through, in order. Default: [].
    """

    kind: Literal["router", "bent-pipe"]
    middlebox: List[Union[MiddleboxImpair, Literal["impair"]]]

_LinkRatePointsRequired = TypedDict(
    "_LinkRatePointsRequired",
    {
        "points": List[Union[Tuple[str, str], List[str]]],
    },
)


class LinkRatePoints(_LinkRatePointsRequired, total=False):
    """A bit rate that changes in steps.

    points :
        Pairs of instant and rate, increasing in time, the first at 0 s. Each holds until the next.

    every :
        Start again after this long. Without it, the last point holds.
    """

    every: str

_LinkRateFileRequired = TypedDict(
    "_LinkRateFileRequired",
    {
        "file": str,
    },
)


class LinkRateFile(_LinkRateFileRequired, total=False):
    """A bit rate that was measured.

    file :
        A file beside the scenario or in a folder there. The resolved scenario has its content as points.

    format :
        What is in it. Default: "csv".

    column :
        Name of the column to take; in `_bps`, `_kbps`, `_mbps` or `_gbps`. Not needed where there is only one beside the time.

    every :
        Start again after this long. Without it, the last value holds. A Mahimahi trace starts again by itself.
    """

    format: Literal["csv", "mahimahi"]
    column: str
    every: str

_LinkDelayPointsRequired = TypedDict(
    "_LinkDelayPointsRequired",
    {
        "points": List[Union[Tuple[str, str], List[str]]],
    },
)


class LinkDelayPoints(_LinkDelayPointsRequired, total=False):
    """A delay that changes over time.

    points :
        Pairs of instant and delay, increasing in time, the first at 0 s.

    interpolate :
        What happens between points. Default: "hold".

    every :
        Start again after this long. Without it, the last point holds.
    """

    interpolate: Literal["hold", "linear"]
    every: str

_PassRequired = TypedDict(
    "_PassRequired",
    {
        "altitude": str,
        "elevation_min": str,
    },
)


class Pass(_PassRequired, total=False):
    """A circular orbit seen from a station that it crosses overhead, Earth rotation ignored (E. Lutz et al. 2000).

    altitude :
        Altitude of the orbit above the ground, 100 km to 100,000 km.

    elevation_min :
        The satellite is used above this elevation; 0 to 89 degrees.

    hops :
        Slant ranges between the ends of the link: 1 to the satellite, 2 for up and down again. Default: 2.
    """

    hops: int

_LinkDelayPassRequired = TypedDict(
    "_LinkDelayPassRequired",
    {
        "pass": Pass,
    },
)


class LinkDelayPass(_LinkDelayPassRequired):
    """The delay to a satellite that passes overhead.

    pass :
        The orbit; at the end of each period of visibility the next satellite takes over.
    """


_LinkDelayFileRequired = TypedDict(
    "_LinkDelayFileRequired",
    {
        "file": str,
    },
)


class LinkDelayFile(_LinkDelayFileRequired, total=False):
    """A delay that was measured.

    file :
        A CSV file beside the scenario or in a folder there. The resolved scenario has its content as points.

    column :
        Name of the column to take, in `_s`, `_ms`, `_us` or `_ns`; a round trip is not halved. Not needed where there is only one beside the time.

    interpolate :
        What happens between rows. Default: "hold".

    every :
        Start again after this long. Without it, the last value holds.
    """

    column: str
    interpolate: Literal["hold", "linear"]
    every: str

_LinkQueueDropTailRequired = TypedDict(
    "_LinkQueueDropTailRequired",
    {
        "kind": Literal["drop-tail"],
    },
)


class LinkQueueDropTail(_LinkQueueDropTailRequired, total=False):
    """First in, first out; what finds it full is dropped.

    limit :
        How much may wait. Default: "1 bdp".
    """

    limit: str

_ErrorModelBitRequired = TypedDict(
    "_ErrorModelBitRequired",
    {
        "kind": Literal["bit"],
        "rate": Union[str, float],
    },
)


class ErrorModelBit(_ErrorModelBitRequired, total=False):
    """Each bit of a packet, headers included, is wrong with this probability; one is enough.

    rate :
        Bit error rate.

    effect :
        What becomes of the packets that are hit. Default: "corrupt".
    """

    effect: Literal["corrupt", "lose"]

_ErrorModelByteRequired = TypedDict(
    "_ErrorModelByteRequired",
    {
        "kind": Literal["byte"],
        "rate": Union[str, float],
    },
)


class ErrorModelByte(_ErrorModelByteRequired, total=False):
    """Each byte of a packet, headers included, is wrong with this probability (ns-2: unit byte).

    rate :
        Byte error rate.

    effect :
        What becomes of the packets that are hit. Default: "corrupt".
    """

    effect: Literal["corrupt", "lose"]

_ErrorModelPacketRequired = TypedDict(
    "_ErrorModelPacketRequired",
    {
        "kind": Literal["packet"],
        "rate": Union[str, float],
    },
)


class ErrorModelPacket(_ErrorModelPacketRequired, total=False):
    """Each packet is hit with this probability, whatever its size (ns-2's default unit).

    rate :
        Packet error rate.

    effect :
        What becomes of the packets that are hit. Default: "corrupt".
    """

    effect: Literal["corrupt", "lose"]

_ErrorModelGilbertElliottRequired = TypedDict(
    "_ErrorModelGilbertElliottRequired",
    {
        "kind": Literal["gilbert-elliott"],
        "mean_good": str,
        "mean_bad": str,
    },
)


class ErrorModelGilbertElliott(_ErrorModelGilbertElliottRequired, total=False):
    """Good and bad states that last for exponential times or geometric numbers of packets, with errors in each (Gilbert 1960, Elliott 1963).

    unit :
        What the rates count. Default: "packet".

    mean_good :
        Mean duration of the good state.

    mean_bad :
        Mean duration of the bad state, in time or in packets like that of the good one.

    rate_good :
        Error rate in the good state. Default: 0.

    rate_bad :
        Error rate in the bad state. Default: 1.

    effect :
        What becomes of the packets that are hit. Default: "corrupt".
    """

    unit: Literal["bit", "byte", "packet"]
    rate_good: Union[str, float]
    rate_bad: Union[str, float]
    effect: Literal["corrupt", "lose"]

_ErrorModelBurstsRequired = TypedDict(
    "_ErrorModelBurstsRequired",
    {
        "kind": Literal["bursts"],
        "mean_loss": Union[str, float],
        "mean_burst": str,
    },
)


class ErrorModelBursts(_ErrorModelBurstsRequired, total=False):
    """Bursts in which every packet is hit, fitted to a measured mean: a Gilbert-Elliott channel without errors in the good state.

    mean_loss :
        Share of the packets that are hit; below 1.

    mean_burst :
        Mean length of a burst, in packets (states change from packet to packet) or in time (by the clock).

    effect :
        What becomes of the packets that are hit. Default: "corrupt".
    """

    effect: Literal["corrupt", "lose"]

_ErrorModelProfileRequired = TypedDict(
    "_ErrorModelProfileRequired",
    {
        "kind": Literal["profile"],
        "points": List[Union[Tuple[str, Union[str, float]], List[str]]],
    },
)


class ErrorModelProfile(_ErrorModelProfileRequired, total=False):
    """Independent errors whose rate changes in steps: errors at set instants, such as handovers.

    unit :
        What the rates count. Default: "packet".

    points :
        Pairs of instant and error rate, increasing in time, the first at 0 s. Each holds until the next.

    every :
        Start again after this long. Without it, the last point holds.

    effect :
        What becomes of the packets that are hit. Default: "corrupt".
    """

    unit: Literal["bit", "byte", "packet"]
    every: str
    effect: Literal["corrupt", "lose"]

_ErrorModelTraceRequired = TypedDict(
    "_ErrorModelTraceRequired",
    {
        "kind": Literal["trace"],
        "file": str,
    },
)


class ErrorModelTrace(_ErrorModelTraceRequired, total=False):
    """Independent errors whose rate was measured: a profile from a CSV file.

    file :
        A file beside the scenario or in a folder there. The resolved scenario has its content as a profile.

    column :
        Name of the column to take, from 0 to 1, or in per cent if it ends in `_pct`. Not needed where there is only one beside the time.

    every :
        Start again after this long. Without it, the last value holds.

    unit :
        What the rates count. Default: "packet".

    effect :
        What becomes of the packets that are hit. Default: "corrupt".
    """

    column: str
    every: str
    unit: Literal["bit", "byte", "packet"]
    effect: Literal["corrupt", "lose"]

_ErrorModelArrivalsRequired = TypedDict(
    "_ErrorModelArrivalsRequired",
    {
        "kind": Literal["arrivals"],
        "list": List[int],
    },
)


class ErrorModelArrivals(_ErrorModelArrivalsRequired, total=False):
    """Exactly these packets: for worked examples.

    list :
        Indices of the packets that are hit, increasing; 0 is the first that the link sends.

    every :
        Start again after this many packets. Without it, the list comes once.

    effect :
        What becomes of the packets that are hit. Default: "corrupt".
    """

    every: int
    effect: Literal["corrupt", "lose"]

_ErrorModelPacketTraceRequired = TypedDict(
    "_ErrorModelPacketTraceRequired",
    {
        "kind": Literal["packet-trace"],
        "file": str,
    },
)


class ErrorModelPacketTrace(_ErrorModelPacketTraceRequired, total=False):
    """The recorded fate of each packet, from a file.

    file :
        A file beside the scenario or in a folder there. The resolved scenario has its content as arrivals.

    format :
        What is in it. Default: "outcomes".

    repeat :
        Whether the file starts again when it has ended; otherwise no more packets are hit. Default: false.

    effect :
        What becomes of the packets that are hit. Default: "corrupt".
    """

    format: Literal["outcomes", "runs"]
    repeat: bool
    effect: Literal["corrupt", "lose"]


class ErrorModelKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["none"]

_InterleaveRequired = TypedDict(
    "_InterleaveRequired",
    {
        "span": str,
    },
)


class Interleave(_InterleaveRequired, total=False):
    """A block interleaver with an error-correcting code: a burst hits many codewords a little instead of few fully, for two blocks of delay. It needs errors per bit or byte that do not count packets.

    span :
        How long a block takes to send. Errors are spread over it, and the delay grows by two of it.

    codeword :
        Length of a codeword, check bytes included; at most 255 B. Default: "255 B".

    corrects :
        Wrong bytes that a codeword survives; it has twice as many check bytes. The link's rate is that of packets, without them. Default: "16 B".
    """

    codeword: str
    corrects: str

_LinkOutageSpansRequired = TypedDict(
    "_LinkOutageSpansRequired",
    {
        "spans": List[Union[Tuple[str, str], List[str]]],
    },
)


class LinkOutageSpans(_LinkOutageSpansRequired, total=False):
    """A link is down at set times.

    spans :
        Pairs of start and end, increasing, not overlapping.

    every :
        Repeat after this long. Without it, the spans come once.

    queue :
        What happens to packets that wait when the link goes down. Default: "keep".
    """

    every: str
    queue: Literal["keep", "flush"]

_LinkOutageMeanUpRequired = TypedDict(
    "_LinkOutageMeanUpRequired",
    {
        "mean_up": str,
        "mean_down": str,
    },
)


class LinkOutageMeanUp(_LinkOutageMeanUpRequired, total=False):
    """A link is up and down for exponential times, from a random stream of its own.

    mean_up :
        Mean time up.

    mean_down :
        Mean time down.

    queue :
        What happens to packets that wait when the link goes down. Default: "keep".
    """

    queue: Literal["keep", "flush"]

_LinkOutageFileRequired = TypedDict(
    "_LinkOutageFileRequired",
    {
        "file": str,
    },
)


class LinkOutageFile(_LinkOutageFileRequired, total=False):
    """A link is down when it was in a record.

    file :
        A CSV file beside the scenario or in a folder there, whose first two columns are start and end (`start_s,end_s`), in times of the run.

    every :
        Repeat after this long. Without it, the spans come once.

    queue :
        What happens to packets that wait when the link goes down. Default: "keep".
    """

    every: str
    queue: Literal["keep", "flush"]

_DirectionRatePointsRequired = TypedDict(
    "_DirectionRatePointsRequired",
    {
        "points": List[Union[Tuple[str, str], List[str]]],
    },
)


class DirectionRatePoints(_DirectionRatePointsRequired, total=False):
    """A bit rate that changes in steps.

    points :
        Pairs of instant and rate, increasing in time, the first at 0 s. Each holds until the next.

    every :
        Start again after this long. Without it, the last point holds.
    """

    every: str

_DirectionRateFileRequired = TypedDict(
    "_DirectionRateFileRequired",
    {
        "file": str,
    },
)


class DirectionRateFile(_DirectionRateFileRequired, total=False):
    """A bit rate that was measured.

    file :
        A file beside the scenario or in a folder there. The resolved scenario has its content as points.

    format :
        What is in it. Default: "csv".

    column :
        Name of the column to take; in `_bps`, `_kbps`, `_mbps` or `_gbps`. Not needed where there is only one beside the time.

    every :
        Start again after this long. Without it, the last value holds. A Mahimahi trace starts again by itself.
    """

    format: Literal["csv", "mahimahi"]
    column: str
    every: str

_DirectionDelayPointsRequired = TypedDict(
    "_DirectionDelayPointsRequired",
    {
        "points": List[Union[Tuple[str, str], List[str]]],
    },
)


class DirectionDelayPoints(_DirectionDelayPointsRequired, total=False):
    """A delay that changes over time.

    points :
        Pairs of instant and delay, increasing in time, the first at 0 s.

    interpolate :
        What happens between points. Default: "hold".

    every :
        Start again after this long. Without it, the last point holds.
    """

    interpolate: Literal["hold", "linear"]
    every: str

_DirectionDelayPassRequired = TypedDict(
    "_DirectionDelayPassRequired",
    {
        "pass": Pass,
    },
)


class DirectionDelayPass(_DirectionDelayPassRequired):
    """The delay to a satellite that passes overhead.

    pass :
        The orbit; at the end of each period of visibility the next satellite takes over.
    """


_DirectionDelayFileRequired = TypedDict(
    "_DirectionDelayFileRequired",
    {
        "file": str,
    },
)


class DirectionDelayFile(_DirectionDelayFileRequired, total=False):
    """A delay that was measured.

    file :
        A CSV file beside the scenario or in a folder there. The resolved scenario has its content as points.

    column :
        Name of the column to take, in `_s`, `_ms`, `_us` or `_ns`; a round trip is not halved. Not needed where there is only one beside the time.

    interpolate :
        What happens between rows. Default: "hold".

    every :
        Start again after this long. Without it, the last value holds.
    """

    column: str
    interpolate: Literal["hold", "linear"]
    every: str

_DirectionQueueDropTailRequired = TypedDict(
    "_DirectionQueueDropTailRequired",
    {
        "kind": Literal["drop-tail"],
    },
)


class DirectionQueueDropTail(_DirectionQueueDropTailRequired, total=False):
    """First in, first out; what finds it full is dropped.

    limit :
        How much may wait. Default: "1 bdp".
    """

    limit: str

_DirectionOutageSpansRequired = TypedDict(
    "_DirectionOutageSpansRequired",
    {
        "spans": List[Union[Tuple[str, str], List[str]]],
    },
)


class DirectionOutageSpans(_DirectionOutageSpansRequired, total=False):
    """A link is down at set times.

    spans :
        Pairs of start and end, increasing, not overlapping.

    every :
        Repeat after this long. Without it, the spans come once.

    queue :
        What happens to packets that wait when the link goes down. Default: "keep".
    """

    every: str
    queue: Literal["keep", "flush"]

_DirectionOutageMeanUpRequired = TypedDict(
    "_DirectionOutageMeanUpRequired",
    {
        "mean_up": str,
        "mean_down": str,
    },
)


class DirectionOutageMeanUp(_DirectionOutageMeanUpRequired, total=False):
    """A link is up and down for exponential times, from a random stream of its own.

    mean_up :
        Mean time up.

    mean_down :
        Mean time down.

    queue :
        What happens to packets that wait when the link goes down. Default: "keep".
    """

    queue: Literal["keep", "flush"]

_DirectionOutageFileRequired = TypedDict(
    "_DirectionOutageFileRequired",
    {
        "file": str,
    },
)


class DirectionOutageFile(_DirectionOutageFileRequired, total=False):
    """A link is down when it was in a record.

    file :
        A CSV file beside the scenario or in a folder there, whose first two columns are start and end (`start_s,end_s`), in times of the run.

    every :
        Repeat after this long. Without it, the spans come once.

    queue :
        What happens to packets that wait when the link goes down. Default: "keep".
    """

    every: str
    queue: Literal["keep", "flush"]


class Direction(TypedDict, total=False):
    """One direction of a link: what stands here goes before the link's own keys.

    rate :
        Bit rate of this direction.

    delay :
        Propagation delay of this direction.

    queue :
        The queue of this direction.

    error :
        What corrupts packets in this direction.

    interleave :
        What spreads errors in this direction.

    outage :
        When this direction is down.
    """

    rate: Union[str, DirectionRatePoints, DirectionRateFile]
    delay: Union[str, DirectionDelayPoints, DirectionDelayPass, DirectionDelayFile]
    queue: Union[str, DirectionQueueDropTail, Literal["drop-tail"]]
    error: Union[ErrorModelBit, ErrorModelByte, ErrorModelPacket, ErrorModelGilbertElliott, ErrorModelBursts, ErrorModelProfile, ErrorModelTrace, ErrorModelArrivals, ErrorModelPacketTrace, ErrorModelKind, Literal["none"]]
    interleave: Interleave
    outage: Union[DirectionOutageSpans, DirectionOutageMeanUp, DirectionOutageFile]

_LinkRequired = TypedDict(
    "_LinkRequired",
    {
        "from": str,
        "to": str,
    },
)


class Link(_LinkRequired, total=False):
    """A link between two nodes: forward is `from` to `to`, reverse the way back.

    from :
        The node at one end. May contain `{n}` if there is a `count`.

    to :
        The node at the other end. May contain `{n}` if there is a `count`.

    count :
        Make this many links from the entry, with 1, 2, ... for `{n}` in `from`, `to` and the name (appended if it has none).

    rate :
        Bit rate, constant or over time. Required, here or for each direction.

    delay :
        Propagation delay one way, constant or over time. Required, here or for each direction.

    queue :
        The queue in front of the link. What is being sent does not count. A bdp is this link's largest rate times the largest propagation round trip of the flows that cross it; at least one full packet. Default: "1 bdp".

    error :
        What corrupts packets. Default: "none".

    interleave :
        Spreads errors over time, and corrects some. Without it, nothing does.

    outage :
        When the link carries nothing. Without it, it is never down.

    forward :
        What differs from `from` to `to`.

    reverse :
        What differs from `to` to `from`.
    """

    count: int
    rate: Union[str, LinkRatePoints, LinkRateFile]
    delay: Union[str, LinkDelayPoints, LinkDelayPass, LinkDelayFile]
    queue: Union[str, LinkQueueDropTail, Literal["drop-tail"]]
    error: Union[ErrorModelBit, ErrorModelByte, ErrorModelPacket, ErrorModelGilbertElliott, ErrorModelBursts, ErrorModelProfile, ErrorModelTrace, ErrorModelArrivals, ErrorModelPacketTrace, ErrorModelKind, Literal["none"]]
    interleave: Interleave
    outage: Union[LinkOutageSpans, LinkOutageMeanUp, LinkOutageFile]
    forward: Direction
    reverse: Direction


class AppFile(TypedDict):
    """A number of bytes, then close.

    size :
        Bytes of application data, at least 1.
    """

    kind: Literal["file"]
    size: str


class AppKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["greedy"]


class FlowStartTable(TypedDict):
    """A random instant.

    uniform :
        Earliest and latest instant, the latest excluded; drawn for each flow.
    """

    uniform: Union[Tuple[str, str], List[str]]

_FlowRequired = TypedDict(
    "_FlowRequired",
    {
        "from": str,
        "to": str,
    },
)


class Flow(_FlowRequired, total=False):
    """One connection and the application that uses it.

    from :
        The sending node. May contain `{n}` if there is a `count`.

    to :
        The receiving node. May contain `{n}` if there is a `count`.

    count :
        Make this many flows from the entry, with 1, 2, ... for `{n}` in `from`, `to`, routes and the name (appended if it has none).

    app :
        What it sends. Default: "greedy".

    start :
        When it opens. Default: "0 s".

    route :
        The way there: nodes from `from` to `to`, or names of links where two links join the same nodes. Without it, the way of shortest delay at the start of the run.

    reverse_route :
        The way back, from `to` to `from`. Without it, the way of shortest delay.

    tcp :
        What differs from `[tcp]`, key by key.
    """

    count: int
    app: Union[AppFile, AppKind, Literal["greedy"]]
    start: Union[str, FlowStartTable]
    route: List[str]
    reverse_route: List[str]
    tcp: Tcp


class Record(TypedDict, total=False):
    """Time series to keep.

    series :
        Which series are kept. Default: [].

    interval :
        Time between samples of links and of rates. Default: "100 ms".

    rows_max :
        Rows kept at most, over all series; what is beyond is counted, not kept. Default: 1000000.
    """

    series: List[Literal["cwnd_bytes", "ssthresh_bytes", "srtt_s", "rto_s", "flight_size_bytes", "goodput_bps", "queue_bytes", "queue_packets", "carried_bps", "events"]]
    interval: str
    rows_max: int

_ScenarioRequired = TypedDict(
    "_ScenarioRequired",
    {
        "duration": str,
        "link": Dict[str, Link],
        "flow": Dict[str, Flow],
    },
)


class Scenario(_ScenarioRequired, total=False):
    """A bentpipe scenario: an experiment with TCP over links that lose, delay and vary.

    title :
        One line for tables and figures. Default: "".

    duration :
        Simulated time after which the run ends; at most 200 days.

    seed :
        Seed of all random streams: the same seed gives the same channel to every sender that is compared. Default: 1.

    tcp :
        The transport at both ends of every flow; each key may be repeated for one flow under `[flow.NAME.tcp]`.

    node :
        Properties of nodes. A node exists because a link names it; a table is needed only to change it.

    link :
        The links, by name. Each carries both directions.

    flow :
        The connections, by name.

    record :
        Which time series are kept.
    """

    title: str
    seed: int
    tcp: Tcp
    node: Dict[str, Node]
    record: Record

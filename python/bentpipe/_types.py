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
    """

    duplicate: Union[str, float]
    reorder: Union[str, float]
    hold: str


class Node(TypedDict, total=False):
    """A place where links meet.

    kind :
        What happens to corrupted packets here. Default: "router".

    middlebox :
        Functions that see each packet passing through, in order. Default: [].
    """

    kind: Literal["router", "bent-pipe"]
    middlebox: List[Union[MiddleboxImpair, Literal["impair"]]]

_LinkRateTableRequired = TypedDict(
    "_LinkRateTableRequired",
    {
        "points": List[Union[Tuple[str, str], List[str]]],
    },
)


class LinkRateTable(_LinkRateTableRequired, total=False):
    """A bit rate that changes in steps.

    points :
        Pairs of instant and rate, increasing in time, the first at 0 s. Each holds until the next.

    every :
        Start again after this long. Without it, the last point holds.
    """

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


class ErrorModelBit(TypedDict):
    """Each bit of a packet, headers included, is wrong with this probability; one is enough.

    rate :
        Bit error rate.
    """

    kind: Literal["bit"]
    rate: Union[str, float]


class ErrorModelByte(TypedDict):
    """Each byte of a packet, headers included, is wrong with this probability (ns-2: unit byte).

    rate :
        Byte error rate.
    """

    kind: Literal["byte"]
    rate: Union[str, float]


class ErrorModelPacket(TypedDict):
    """Each packet is corrupted with this probability, whatever its size (ns-2's default unit).

    rate :
        Packet error rate.
    """

    kind: Literal["packet"]
    rate: Union[str, float]

_ErrorModelGilbertElliottRequired = TypedDict(
    "_ErrorModelGilbertElliottRequired",
    {
        "kind": Literal["gilbert-elliott"],
        "mean_good": str,
        "mean_bad": str,
    },
)


class ErrorModelGilbertElliott(_ErrorModelGilbertElliottRequired, total=False):
    """Good and bad states that last for exponential times, with errors in each (Gilbert 1960, Elliott 1963).

    unit :
        What the rates count. Default: "packet".

    mean_good :
        Mean duration of the good state.

    mean_bad :
        Mean duration of the bad state.

    rate_good :
        Error rate in the good state. Default: 0.

    rate_bad :
        Error rate in the bad state. Default: 1.
    """

    unit: Literal["bit", "byte", "packet"]
    rate_good: Union[str, float]
    rate_bad: Union[str, float]


class ErrorModelArrivals(TypedDict):
    """Exactly these packets: for worked examples.

    list :
        Indices of the packets that are corrupted, increasing; 0 is the first that the link sends.
    """

    kind: Literal["arrivals"]
    list: List[int]


class ErrorModelKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["none"]

_OutageRequired = TypedDict(
    "_OutageRequired",
    {
        "spans": List[Union[Tuple[str, str], List[str]]],
    },
)


class Outage(_OutageRequired, total=False):
    """When a link carries nothing.

    spans :
        Pairs of start and end, increasing, not overlapping.

    every :
        Repeat after this long. Without it, the spans come once.

    queue :
        What happens to packets that wait when the link goes down. Default: "keep".
    """

    every: str
    queue: Literal["keep", "flush"]

_DirectionRateTableRequired = TypedDict(
    "_DirectionRateTableRequired",
    {
        "points": List[Union[Tuple[str, str], List[str]]],
    },
)


class DirectionRateTable(_DirectionRateTableRequired, total=False):
    """A bit rate that changes in steps.

    points :
        Pairs of instant and rate, increasing in time, the first at 0 s. Each holds until the next.

    every :
        Start again after this long. Without it, the last point holds.
    """

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

    outage :
        When this direction is down.
    """

    rate: Union[str, DirectionRateTable]
    delay: Union[str, DirectionDelayPoints, DirectionDelayPass]
    queue: Union[str, DirectionQueueDropTail, Literal["drop-tail"]]
    error: Union[ErrorModelBit, ErrorModelByte, ErrorModelPacket, ErrorModelGilbertElliott, ErrorModelArrivals, ErrorModelKind, Literal["none"]]
    outage: Outage

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

    outage :
        When the link carries nothing. Without it, it is never down.

    forward :
        What differs from `from` to `to`.

    reverse :
        What differs from `to` to `from`.
    """

    count: int
    rate: Union[str, LinkRateTable]
    delay: Union[str, LinkDelayPoints, LinkDelayPass]
    queue: Union[str, LinkQueueDropTail, Literal["drop-tail"]]
    error: Union[ErrorModelBit, ErrorModelByte, ErrorModelPacket, ErrorModelGilbertElliott, ErrorModelArrivals, ErrorModelKind, Literal["none"]]
    outage: Outage
    forward: Direction
    reverse: Direction


class AppFile(TypedDict):
    """A number of bytes, then close.

    size :
        Bytes of application data, at least 1.
    """

    kind: Literal["file"]
    size: str


class AppBulkSizeExponential(TypedDict):
    """Exponential.

    mean :
        Mean.
    """

    kind: Literal["exponential"]
    mean: str


class AppBulkSizePareto(TypedDict):
    """Pareto: a few are very large.

    shape :
        The smaller, the heavier the tail; above 1, so that there is a mean. At 2 and below the variance is infinite.

    min :
        The least.
    """

    kind: Literal["pareto"]
    shape: float
    min: str


class AppBulkSizeBoundedPareto(TypedDict):
    """Pareto between two bounds.

    shape :
        The smaller, the heavier the tail.

    min :
        The least.

    max :
        The most.
    """

    kind: Literal["bounded-pareto"]
    shape: float
    min: str
    max: str


class AppBulkSizeLognormal(TypedDict):
    """Lognormal.

    mean :
        Mean.

    sd :
        Standard deviation.
    """

    kind: Literal["lognormal"]
    mean: str
    sd: str


class AppBulkPauseExponential(TypedDict):
    """Exponential.

    mean :
        Mean.
    """

    kind: Literal["exponential"]
    mean: str


class AppBulkPausePareto(TypedDict):
    """Pareto.

    shape :
        The smaller, the heavier the tail; above 1, so that there is a mean.

    mean :
        Mean.
    """

    kind: Literal["pareto"]
    shape: float
    mean: str

_AppBulkRequired = TypedDict(
    "_AppBulkRequired",
    {
        "kind": Literal["bulk"],
        "size": Union[str, AppBulkSizeExponential, AppBulkSizePareto, AppBulkSizeBoundedPareto, AppBulkSizeLognormal],
        "pause": Union[str, AppBulkPauseExponential, AppBulkPausePareto],
    },
)


class AppBulk(_AppBulkRequired, total=False):
    """Transfers with pauses between them, on one connection or a new one each time.

    size :
        Bytes of each transfer.

    pause :
        Time from the last byte acknowledged to the next transfer.

    count :
        Number of transfers. Without it, until the run ends.

    reconnect :
        Whether each transfer has a new connection, or all share one that is idle in the pauses. Default: false.
    """

    count: int
    reconnect: bool


class AppArrivalsSizeExponential(TypedDict):
    """Exponential.

    mean :
        Mean.
    """

    kind: Literal["exponential"]
    mean: str


class AppArrivalsSizePareto(TypedDict):
    """Pareto: a few are very large.

    shape :
        The smaller, the heavier the tail; above 1, so that there is a mean. At 2 and below the variance is infinite.

    min :
        The least.
    """

    kind: Literal["pareto"]
    shape: float
    min: str


class AppArrivalsSizeBoundedPareto(TypedDict):
    """Pareto between two bounds.

    shape :
        The smaller, the heavier the tail.

    min :
        The least.

    max :
        The most.
    """

    kind: Literal["bounded-pareto"]
    shape: float
    min: str
    max: str


class AppArrivalsSizeLognormal(TypedDict):
    """Lognormal.

    mean :
        Mean.

    sd :
        Standard deviation.
    """

    kind: Literal["lognormal"]
    mean: str
    sd: str

_AppArrivalsRequired = TypedDict(
    "_AppArrivalsRequired",
    {
        "kind": Literal["arrivals"],
        "size": Union[str, AppArrivalsSizeExponential, AppArrivalsSizePareto, AppArrivalsSizeBoundedPareto, AppArrivalsSizeLognormal],
    },
)


class AppArrivals(_AppArrivalsRequired, total=False):
    """Transfers that arrive as a Poisson process, each on a connection of its own. How often is said by `load` and `link`, or by `interval`.

    size :
        Bytes of each transfer.

    load :
        Share of the link's largest rate that first transmissions take, on average.

    link :
        The link and direction that `load` is of, such as `sat.forward`; it must be on the flow's route.

    load_headers :
        Whether `load` counts headers. Default: true.

    interval :
        Mean time between arrivals, instead of `load` and `link`.

    count :
        Number of arrivals. Without it, until the run ends.

    overload :
        Whether the arrivals may offer a link as much as it carries or more. They then pile up without limit, and every number depends on when the run ends. Default: false.
    """

    load: str
    link: str
    load_headers: bool
    interval: str
    count: int
    overload: bool


class AppRequestResponseRequestExponential(TypedDict):
    """Exponential.

    mean :
        Mean.
    """

    kind: Literal["exponential"]
    mean: str


class AppRequestResponseRequestPareto(TypedDict):
    """Pareto: a few are very large.

    shape :
        The smaller, the heavier the tail; above 1, so that there is a mean. At 2 and below the variance is infinite.

    min :
        The least.
    """

    kind: Literal["pareto"]
    shape: float
    min: str


class AppRequestResponseRequestBoundedPareto(TypedDict):
    """Pareto between two bounds.

    shape :
        The smaller, the heavier the tail.

    min :
        The least.

    max :
        The most.
    """

    kind: Literal["bounded-pareto"]
    shape: float
    min: str
    max: str


class AppRequestResponseRequestLognormal(TypedDict):
    """Lognormal.

    mean :
        Mean.

    sd :
        Standard deviation.
    """

    kind: Literal["lognormal"]
    mean: str
    sd: str


class AppRequestResponseResponseExponential(TypedDict):
    """Exponential.

    mean :
        Mean.
    """

    kind: Literal["exponential"]
    mean: str


class AppRequestResponseResponsePareto(TypedDict):
    """Pareto: a few are very large.

    shape :
        The smaller, the heavier the tail; above 1, so that there is a mean. At 2 and below the variance is infinite.

    min :
        The least.
    """

    kind: Literal["pareto"]
    shape: float
    min: str


class AppRequestResponseResponseBoundedPareto(TypedDict):
    """Pareto between two bounds.

    shape :
        The smaller, the heavier the tail.

    min :
        The least.

    max :
        The most.
    """

    kind: Literal["bounded-pareto"]
    shape: float
    min: str
    max: str


class AppRequestResponseResponseLognormal(TypedDict):
    """Lognormal.

    mean :
        Mean.

    sd :
        Standard deviation.
    """

    kind: Literal["lognormal"]
    mean: str
    sd: str


class AppRequestResponseWaitExponential(TypedDict):
    """Exponential.

    mean :
        Mean.
    """

    kind: Literal["exponential"]
    mean: str


class AppRequestResponseWaitPareto(TypedDict):
    """Pareto.

    shape :
        The smaller, the heavier the tail; above 1, so that there is a mean.

    mean :
        Mean.
    """

    kind: Literal["pareto"]
    shape: float
    mean: str


class AppRequestResponseThinkExponential(TypedDict):
    """Exponential.

    mean :
        Mean.
    """

    kind: Literal["exponential"]
    mean: str


class AppRequestResponseThinkPareto(TypedDict):
    """Pareto.

    shape :
        The smaller, the heavier the tail; above 1, so that there is a mean.

    mean :
        Mean.
    """

    kind: Literal["pareto"]
    shape: float
    mean: str

_AppRequestResponseRequired = TypedDict(
    "_AppRequestResponseRequired",
    {
        "kind": Literal["request-response"],
        "response": Union[str, AppRequestResponseResponseExponential, AppRequestResponseResponsePareto, AppRequestResponseResponseBoundedPareto, AppRequestResponseResponseLognormal],
    },
)


class AppRequestResponse(_AppRequestResponseRequired, total=False):
    """The sending node asks, the other answers, again and again. Both directions of one connection carry data.

    request :
        Bytes of each request. Default: "350 B".

    response :
        Bytes of each response.

    wait :
        Time from the last byte of a request to the response. Default: "0 s".

    think :
        Time from the last byte of a response to the next request. Default: "0 s".

    count :
        Number of exchanges. Without it, until the run ends.

    reconnect :
        Whether each exchange has a new connection, or all share one. Default: false.
    """

    request: Union[str, AppRequestResponseRequestExponential, AppRequestResponseRequestPareto, AppRequestResponseRequestBoundedPareto, AppRequestResponseRequestLognormal]
    wait: Union[str, AppRequestResponseWaitExponential, AppRequestResponseWaitPareto]
    think: Union[str, AppRequestResponseThinkExponential, AppRequestResponseThinkPareto]
    count: int
    reconnect: bool


class AppPageParseExponential(TypedDict):
    """Exponential.

    mean :
        Mean.
    """

    kind: Literal["exponential"]
    mean: str


class AppPageParsePareto(TypedDict):
    """Pareto.

    shape :
        The smaller, the heavier the tail; above 1, so that there is a mean.

    mean :
        Mean.
    """

    kind: Literal["pareto"]
    shape: float
    mean: str


class AppPageReadingExponential(TypedDict):
    """Exponential.

    mean :
        Mean.
    """

    kind: Literal["exponential"]
    mean: str


class AppPageReadingPareto(TypedDict):
    """Pareto.

    shape :
        The smaller, the heavier the tail; above 1, so that there is a mean.

    mean :
        Mean.
    """

    kind: Literal["pareto"]
    shape: float
    mean: str

_AppPageRequired = TypedDict(
    "_AppPageRequired",
    {
        "kind": Literal["page"],
    },
)


class AppPage(_AppPageRequired, total=False):
    """Pages of a main object and embedded ones, fetched by the sending node from the other over new connections for each page. Main objects are lognormal with mean 10710 B, embedded ones with mean 7758 B; on average a page has 5.6 of them.

    connections :
        Connections at the same time. Each has one object on its way and asks for the next when it is complete. Default: 6.

    multiplexed :
        Whether there is one connection instead, on which all requests go out at once and objects come in order. Default: false.

    page_scale :
        Factor of the size of all objects. Default: 1.0.

    request :
        Bytes of each request. Default: "350 B".

    tls_rtts :
        Round trips that securing a connection takes before its first request: as many exchanges of the size of a request, both ways. Default: 0.

    parse :
        Time from the main object to the requests for the embedded ones.

    reading :
        Time from the last object of a page to the next page.

    count :
        Number of pages. Without it, until the run ends.
    """

    connections: int
    multiplexed: bool
    page_scale: float
    request: str
    tls_rtts: int
    parse: Union[str, AppPageParseExponential, AppPageParsePareto]
    reading: Union[str, AppPageReadingExponential, AppPageReadingPareto]
    count: int

_AppCbrRequired = TypedDict(
    "_AppCbrRequired",
    {
        "kind": Literal["cbr"],
        "rate": str,
    },
)


class AppCbr(_AppCbrRequired, total=False):
    """Datagrams at equal distances, without congestion control. Each has 28 B of headers (IPv4 and UDP) besides its payload.

    rate :
        Payload per time.

    size :
        Payload bytes of each datagram, 1 B to 65507 B. Default: "1200 B".

    jitter :
        Each datagram is sent up to twice this much later than its turn, uniformly; at most half the distance. Default: "0 s".
    """

    size: str
    jitter: str

_AppPoissonRequired = TypedDict(
    "_AppPoissonRequired",
    {
        "kind": Literal["poisson"],
        "rate": str,
    },
)


class AppPoisson(_AppPoissonRequired, total=False):
    """Datagrams as a Poisson process, without congestion control.

    rate :
        Mean payload per time.

    size :
        Payload bytes of each datagram, 1 B to 65507 B. Default: "1200 B".
    """

    size: str


class AppOnOffOnExponential(TypedDict):
    """Exponential.

    mean :
        Mean.
    """

    kind: Literal["exponential"]
    mean: str


class AppOnOffOnPareto(TypedDict):
    """Pareto.

    shape :
        The smaller, the heavier the tail; above 1, so that there is a mean.

    mean :
        Mean.
    """

    kind: Literal["pareto"]
    shape: float
    mean: str


class AppOnOffOffExponential(TypedDict):
    """Exponential.

    mean :
        Mean.
    """

    kind: Literal["exponential"]
    mean: str


class AppOnOffOffPareto(TypedDict):
    """Pareto.

    shape :
        The smaller, the heavier the tail; above 1, so that there is a mean.

    mean :
        Mean.
    """

    kind: Literal["pareto"]
    shape: float
    mean: str

_AppOnOffRequired = TypedDict(
    "_AppOnOffRequired",
    {
        "kind": Literal["on-off"],
        "peak": str,
        "on": Union[str, AppOnOffOnExponential, AppOnOffOnPareto],
        "off": Union[str, AppOnOffOffExponential, AppOnOffOffPareto],
    },
)


class AppOnOff(_AppOnOffRequired, total=False):
    """Datagrams at equal distances in periods that alternate with silence, without congestion control. Many with Pareto periods of shape a make a self-similar sum with Hurst parameter (3 - a)/2.

    peak :
        Payload per time while on.

    size :
        Payload bytes of each datagram, 1 B to 65507 B. Default: "1200 B".

    on :
        How long it is on.

    off :
        How long it is off.
    """

    size: str


class AppKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["greedy"]

_ReaderRequired = TypedDict(
    "_ReaderRequired",
    {
        "rate": str,
    },
)


class Reader(_ReaderRequired, total=False):
    """An application that reads more slowly than data may arrive: windows close, and open again.

    rate :
        How much it reads on average, as long as there is something.

    every :
        Time between two reads; each takes what `rate` gives in this time. Default: "10 ms".
    """

    every: str


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
    """An application, and the connections or datagrams that it sends by.

    from :
        The sending node; where there are questions and answers, the one that asks. May contain `{n}` if there is a `count`.

    to :
        The receiving node. May contain `{n}` if there is a `count`.

    count :
        Make this many flows from the entry, with 1, 2, ... for `{n}` in `from`, `to`, routes and the name (appended if it has none).

    app :
        What it sends. Default: "greedy".

    reader :
        How the application that receives the data reads them. Without it, at once.

    start :
        When it begins. Default: "0 s".

    route :
        The way there: nodes from `from` to `to`, or names of links where two links join the same nodes. Without it, the way of shortest delay at the start of the run.

    reverse_route :
        The way back, from `to` to `from`. Without it, the way of shortest delay.

    tcp :
        What differs from `[tcp]`, key by key.
    """

    count: int
    app: Union[AppFile, AppBulk, AppArrivals, AppRequestResponse, AppPage, AppCbr, AppPoisson, AppOnOff, AppKind, Literal["greedy", "page"]]
    reader: Reader
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

    transfers_max :
        Rows of the table of transfers kept at most; what is beyond is counted, and the statistics are of all. Default: 100000.
    """

    series: List[Literal["cwnd_bytes", "ssthresh_bytes", "srtt_s", "rto_s", "flight_size_bytes", "goodput_bps", "queue_bytes", "queue_packets", "carried_bps", "events"]]
    interval: str
    rows_max: int
    transfers_max: int

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

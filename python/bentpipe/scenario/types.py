"""The scenario as typed dictionaries. Generated from the schema; do not edit."""

from __future__ import annotations

from typing import Dict, List, Literal, Tuple, TypedDict, Union

from .senders import CcBbr1, CcBbr2, CcBbr3, CcBic, CcCompound, CcCopa, CcCubic, CcDctcp, CcEnhancedHswa, CcHighspeed, CcHswa, CcHtcp, CcHybla, CcIllinois, CcLedbat, CcLeocc, CcPeach, CcPeachPlus, CcPrague, CcSantaCruz, CcSatcp, CcScalable, CcScps, CcStp, CcSwift, CcVegas, CcVeno, CcWestwood, CcWestwoodNr, CcWestwoodPlus, CcWtcp, CcYeah, CcKind

_RecoveryNewrenoRequired = TypedDict("_RecoveryNewrenoRequired", {"kind": Literal["newreno"]})


class RecoveryNewreno(_RecoveryNewrenoRequired, total=False):
    """Fast recovery through partial ACKs (RFC 6582).

    timer :
        Partial ACKs that restart the retransmission timer. Default: "impatient".

    exit :
        Window when recovery ends. Default: "flight-size".

    deflate :
        Limit of the deflation of the window by partial ACKs. Default: "full".

    first_loss :
        Whether to allow fast retransmit of the very first segment, which RFC 6582 §3.2 taken literally forbids. Default: true.

    burst :
        Most new segments in answer to one ACK during recovery; 0: as many as the window allows. Default: 0.
    """

    timer: Literal["impatient", "slow-but-steady"]
    exit: Literal["flight-size", "ssthresh"]
    deflate: Literal["full", "to-ssthresh", "window"]
    first_loss: bool
    burst: int

_RecoverySackRequired = TypedDict("_RecoverySackRequired", {"kind": Literal["sack"]})


class RecoverySack(_RecoverySackRequired, total=False):
    """Selective acknowledgements (RFC 2018, RFC 6675).

    on_rto :
        Fate of the information about received blocks at a timeout. Default: "keep".

    evidence :
        Evidence for a loss. Default: "rfc6675".

    counting :
        Basis of the counts of duplicate ACKs and pipe. Default: "data".

    rescue :
        Whether to retransmit the highest outstanding segment, once per recovery, if nothing else may be sent. Default: true.
    """

    on_rto: Literal["keep", "discard", "ignore"]
    evidence: Literal["rfc6675", "fack", "hole", "status"]
    counting: Literal["data", "acks"]
    rescue: bool

_RecoveryRackRequired = TypedDict("_RecoveryRackRequired", {"kind": Literal["rack"]})


class RecoveryRack(_RecoveryRackRequired, total=False):
    """Selective acknowledgements with losses found by time, and probes for the tail (RACK-TLP, RFC 8985).

    tlp :
        Whether to probe for losses at the tail before the retransmission timer expires. Default: true.

    max_ack_delay :
        Extra wait of a probe for an ACK that the receiver may delay, when one segment is in flight. Default: "200 ms".

    reenter :
        Whether another recovery, with another reduction, begins where one ends while losses that it repaired are still outstanding. Otherwise only an unrepaired loss begins one. Default: true.

    min_rtt_window :
        Memory of the smallest round-trip time. A quarter of it absorbs reordering. Default: "300 s".

    undo_shows_reordering :
        Whether a partial ACK of late data, which timestamps tell from their retransmission, shows reordering. Otherwise only data that arrive before they are retransmitted do. Default: true; false (rfc, ns-2, windows-11, freebsd-14).

    sack_echo :
        Whether the echoed timestamp also decides if SACKed data is the retransmission. While a segment is missing, a receiver echoes the timestamp of earlier data. So no SACK of a retransmission counts, and a lost retransmission may wait for the timer. Otherwise only the smallest round-trip time decides. Default: false; true (rfc, ns-2, windows-11, freebsd-14).
    """

    tlp: bool
    max_ack_delay: str
    reenter: bool
    min_rtt_window: str
    undo_shows_reordering: bool
    sack_echo: bool

_RecoverySnackRequired = TypedDict("_RecoverySnackRequired", {"kind": Literal["snack"]})


class RecoverySnack(_RecoverySnackRequired, total=False):
    """Selective negative acknowledgements: the receiver reports holes, and the sender fills them immediately (SCPS-TP, CCSDS 714.0-B).

    form :
        Content of one report. Default: "short".

    resnacks :
        Reports of the hole at the acknowledged byte before the next holes are reported. Default: 3.

    grows :
        Whether ACKs of new data grow the window during repairs, too. Default: true.

    corruption_experienced :
        Whether the receiver reports packets that arrived corrupted. The verdicts `assume-congestion` and `assume-corruption` use the reports. Default: true.

    corruption_covers :
        Losses that a report of corruption covers, for the verdict `assume-congestion`. Default: "hole".
    """

    form: Literal["short", "long"]
    resnacks: int
    grows: bool
    corruption_experienced: bool
    corruption_covers: Literal["hole", "round-trips"]


class RecoveryKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["timeout-only", "fast-retransmit", "reno"]

_BestEffortOnRequired = TypedDict("_BestEffortOnRequired", {"kind": Literal["on"]})


class BestEffortOn(_BestEffortOnRequired, total=False):
    """Best-effort transport and record boundaries of SCPS-TP (CCSDS 714.0-B): data that is missing for too long is skipped.

    wait :
        Time that the receiver waits for missing data; more than 0 s. Default: "2 s".
    """

    wait: str


class BestEffortKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["off"]


class VerdictKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["always-congestion", "always-link-error", "assume-congestion", "assume-corruption", "ceten-p", "ceten-a", "low-priority-copies"]


class Copies(TypedDict, total=False):
    """Copies of data with low priority, for the verdict `low-priority-copies`.

    every :
        Data segments for which one copy leaves. Default: 8.

    share :
        Share of the copies that must come back for a loss to be an error of the link. Default: 0.75.

    least :
        Copies in a round trip below which a loss is congestion. Default: 4.
    """

    every: int
    share: float
    least: int

_FeedbackRefwaPlusRequired = TypedDict("_FeedbackRefwaPlusRequired", {"kind": Literal["refwa-plus"]})


class FeedbackRefwaPlus(_FeedbackRefwaPlusRequired, total=False):
    """A loss was congestion if the window is smaller than before, and otherwise an error of the link (REFWA Plus, Taleb, Kato and Nemoto). The nodes on the path must write the window: middlebox `refwa`.

    tolerance :
        Largest fall of the window that does not mean congestion yet, as a share of it. Default: 0.0.

    trigger :
        ACKs that show the cause of a loss. Default: "both".

    resend :
        Data retransmitted after a link error. Default: "bulk".

    bulk_paced :
        Whether those retransmissions are spread over a round trip. Default: true.

    rto :
        Retransmission timeout while a loss is held for a link error. Default: the measured timeout. The timeout never doubles.

    rto_hold :
        Whether a timeout is judged in the same way, by the last window that arrived: send one segment until an ACK arrives, then the whole window. Default: true.
    """

    tolerance: Union[str, float]
    trigger: Literal["par", "dup", "both"]
    resend: Literal["bulk", "selective"]
    bulk_paced: bool
    rto: str
    rto_hold: bool

_FeedbackXcpRequired = TypedDict("_FeedbackXcpRequired", {"kind": Literal["xcp"]})


class FeedbackXcp(_FeedbackXcpRequired, total=False):
    """The window follows the feedback that routers write on packets, and replaces the congestion control (XCP; Katabi, Handley and Rohrs 2002). The routers must take part: middlebox `xcp`.

    loss :
        Reaction of the window to a loss. Default: "reno".

    option_bytes :
        Whether the header makes packets longer, by 12 B. Default: true.
    """

    loss: Literal["reno", "ignore"]
    option_bytes: bool

_FeedbackRcpRequired = TypedDict("_FeedbackRcpRequired", {"kind": Literal["rcp"]})


class FeedbackRcp(_FeedbackRcpRequired, total=False):
    """The sender paces at the rate that routers write on packets, and replaces the congestion control (RCP; Dukkipati 2007). The routers must take part: middlebox `rcp`.

    timeout :
        Reaction of the rate to a timeout, until the next ACK brings a rate. Default: "halve".

    option_bytes :
        Whether the header makes packets longer, by 12 B. Default: true.
    """

    timeout: Literal["halve", "keep"]
    option_bytes: bool

_ByteCountingAbcRequired = TypedDict("_ByteCountingAbcRequired", {"kind": Literal["abc"]})


class ByteCountingAbc(_ByteCountingAbcRequired, total=False):
    """Appropriate byte counting: its bytes, in slow start at most `limit` segments. At most one segment in the slow start after a timeout (RFC 3465).

    limit :
        L, segments. Default: 2.
    """

    limit: int


class ByteCountingKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["rfc5681", "per-ack", "lbc", "ubc", "ubc-pure"]

_SlowStartLimitedRequired = TypedDict("_SlowStartLimitedRequired", {"kind": Literal["limited"]})


class SlowStartLimited(_SlowStartLimitedRequired, total=False):
    """Adds half of `max_ssthresh` per round trip above that window (RFC 3742).

    max_ssthresh :
        The window (max_ssthresh), at least two segments. Default: "100 segments".
    """

    max_ssthresh: str

_SlowStartHoeRequired = TypedDict("_SlowStartHoeRequired", {"kind": Literal["hoe"]})


class SlowStartHoe(_SlowStartHoeRequired, total=False):
    """Estimates the threshold once, from the spacing of the first ACKs: their rate times the round trip (Hoe 1996).

    pairs :
        Pairs of consecutive ACKs of one round whose median counts. 1 takes the first pair, as ns-2 does. Default: 3.

    resolution :
        Spacing of ACKs up to which it shows the sender's clock, not the path. Default: "1 us".
    """

    pairs: int
    resolution: str

_SlowStartHystartRequired = TypedDict("_SlowStartHystartRequired", {"kind": Literal["hystart"]})


class SlowStartHystart(_SlowStartHystartRequired, total=False):
    """Ends when ACKs come in a long train, or late (Ha and Rhee 2008).

    low_window :
        Window below which slow start does not end. Default: "16 segments".

    detect :
        Signs that end slow start. Default: "both".

    ack_spacing :
        Largest spacing of ACKs within a train. Default: "2 ms".

    train_divisor :
        Divisor of the smallest round trip: a longer train is long. Use 1 with pacing. Default: 2.

    baseline :
        Baseline of the delay of a round. Default: "connection".

    samples :
        Samples at the start of a round whose smallest is the delay of the round. Default: 8.

    delay_divisor :
        Divisor of the round trip: ACKs are late when the delay has risen by more, within the bounds below. Default: 8.

    delay_min :
        Smallest rise of the delay that counts. Default: "4 ms".

    delay_max :
        Largest rise of the delay that is required. Default: "16 ms".
    """

    low_window: str
    detect: Literal["both", "ack-train", "delay"]
    ack_spacing: str
    train_divisor: int
    baseline: Literal["connection", "last-round"]
    samples: int
    delay_divisor: int
    delay_min: str
    delay_max: str

_SlowStartHystartPlusPlusRequired = TypedDict("_SlowStartHystartPlusPlusRequired", {"kind": Literal["hystart++"]})


class SlowStartHystartPlusPlus(_SlowStartHystartPlusPlusRequired, total=False):
    """Continues slowly for some rounds in the first slow start when ACKs come late, and returns if that was a mistake (RFC 9406).

    min_rtt_threshold :
        Smallest rise of the delay that counts (MIN_RTT_THRESH). Default: "4 ms".

    max_rtt_threshold :
        Largest rise of the delay that is required (MAX_RTT_THRESH). Default: "16 ms".

    min_rtt_divisor :
        Divisor of the round trip between these bounds: ACKs are late when the delay has risen by the quotient (MIN_RTT_DIVISOR). Default: 8.

    rtt_samples :
        Samples that a round needs (N_RTT_SAMPLE). Default: 8.

    css_growth_divisor :
        Divisor of the growth in conservative slow start (CSS_GROWTH_DIVISOR). Default: 4.

    css_rounds :
        Rounds of conservative slow start (CSS_ROUNDS). Default: 5.

    limit :
        Most segments that an ACK counts for in the first slow start (L), instead of the limit of `byte_counting`. RFC 9406 sets no limit with pacing. Default: 8.
    """

    min_rtt_threshold: str
    max_rtt_threshold: str
    min_rtt_divisor: int
    rtt_samples: int
    css_growth_divisor: int
    css_rounds: int
    limit: int

_SlowStartSearchRequired = TypedDict("_SlowStartSearchRequired", {"kind": Literal["search"]})


class SlowStartSearch(_SlowStartSearchRequired, total=False):
    """Ends the first slow start when less arrives in a window of time than was sent a round trip before (draft-chung-ccwg-search-09).

    window :
        Length of the compared windows, in round trips of the first sample. Default: 3.5.

    bins :
        Bins of a window. Default: 10.

    extra_bins :
        Bins beside the window, for round trips that grow. A longer round trip is not evaluated. Default: 15.

    threshold :
        Share of the sent bytes that must be missing. Default: 0.26.

    look_back :
        Round trip between the compared windows. Default: "latest".

    leave :
        The window after slow start. Default: "drain".

    drain_every :
        Acknowledged segments for which one segment leaves while the window falls. Default: 16.

    interpolation :
        Bin that is weighed in where the round trip is no whole number of bins. Default: "backward".

    again :
        Whether the slow start after a timeout is watched, too. Default: false.
    """

    window: float
    bins: int
    extra_bins: int
    threshold: float
    look_back: Literal["latest", "least"]
    leave: Literal["drain", "stay"]
    drain_every: int
    interpolation: Literal["backward", "forward"]
    again: bool

_SlowStartRapidRequired = TypedDict("_SlowStartRapidRequired", {"kind": Literal["rapid"]})


class SlowStartRapid(_SlowStartRapidRequired, total=False):
    """Triples the window per round trip until ACKs come late, then doubles it. After the first loss the window converges on the data that have arrived (draft-kazuho-ccwg-rapid-start). TCP needs `recovery` `rack`.

    growth :
        Growth of the window per round trip while ACKs are not late. Default: 3.0.

    tolerance :
        Rise of the delay up to which ACKs are not late. Default: "4 ms".

    factor :
        Smallest round trip times this factor is the other bound. Default: 1.1.

    bound :
        The bound that counts. Default: "larger".

    k :
        Share of a loss in the converging window that a delivery takes, too (K). Default: 0.6111.
    """

    growth: float
    tolerance: str
    factor: float
    bound: Literal["larger", "smaller"]
    k: float


class SlowStartKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["standard"]

_IncreaseConstantRateRequired = TypedDict("_IncreaseConstantRateRequired", {"kind": Literal["constant-rate"]})


class IncreaseConstantRate(_IncreaseConstantRateRequired, total=False):
    """(round trip / reference)^2 segments, so that the rate rises alike on all paths. At most one per ACK (Floyd 1991, RFC 2760 §3.6).

    reference_rtt :
        Round trip at which the increase is one segment. Default: "100 ms".
    """

    reference_rtt: str

_IncreaseByKRequired = TypedDict("_IncreaseByKRequired", {"kind": Literal["by-k"]})


class IncreaseByK(_IncreaseByKRequired, total=False):
    """`k` segments if the smoothed round trip is long, otherwise one (Henderson et al. 1998, RFC 2760 §3.6).

    k :
        Segments per round trip. Default: 4.

    above_rtt :
        Round trip above which a path is long. Default: "300 ms".
    """

    k: int
    above_rtt: str

_KeepaliveOnRequired = TypedDict("_KeepaliveOnRequired", {"kind": Literal["on"]})


class KeepaliveOn(_KeepaliveOnRequired, total=False):
    """Probes on an idle connection (RFC 9293 §3.8.4).

    idle :
        Time without a segment of the peer, and without outstanding data, before the first probe. At least 1 s. Default: "7200 s".

    interval :
        Time from a probe to the next one, or to the end of the connection. At least 1 s. Default: "75 s".

    probes :
        Unanswered probes before the connection is given up. Default: 9.

    byte :
        Whether the probe carries a byte, for a peer that does not answer empty segments. The receiver counts it as a duplicate. Default: false.
    """

    idle: str
    interval: str
    probes: int
    byte: bool


class ChallengeAcks(TypedDict, total=False):
    """Limit of challenge ACKs (RFC 5961 §7).

    limit :
        Challenge ACKs per interval. Default: 1; 10 (rfc, ns-2, windows-11, freebsd-14).

    interval :
        Length of an interval. It begins with the first challenge ACK after the last interval. Default: "500 ms"; "5 s" (rfc, ns-2, windows-11, freebsd-14).
    """

    limit: int
    interval: str


class Rto(TypedDict, total=False):
    """The retransmission timer.

    initial :
        Timeout before the first sample, at least 1 ms. Default: "1 s"; "3 s" (ns-2).

    min :
        Lower bound. Default: "200 ms"; "1 s" (rfc, windows-11).

    max :
        Upper bound, at least 1 ms. Default: "120 s"; "60 s" (rfc, ns-2, windows-11), "64 s" (freebsd-14).

    granularity :
        Clock granularity: samples and timeouts are whole ticks. Zero: a continuous clock. Default: "1 ms"; "10 ms" (ns-2).

    phase :
        Phase of the clock within a tick; `random` is drawn for each endpoint. Default: "random".

    guard :
        Whether to add at least one tick to the smoothed round-trip time: SRTT + max(G, 4 RTTVAR). Default: true.

    variance_min :
        Smallest value of the variance term, 4 RTTVAR: the timeout is at least this much above the smoothed round-trip time. Default: "200 ms"; "0 s" (rfc, ns-2, windows-11).

    variation :
        Variation of the round-trip time that the timeout contains. Default: "largest"; "mean" (rfc, ns-2, windows-11, freebsd-14).

    arithmetic :
        Numbers of the smoothed round-trip time and its variation. Default: "real"; "ticks" (ns-2).

    expires_on_tick :
        Whether the timer expires on a tick: up to one tick before the timeout is over. Default: true; false (ns-2).

    rounding :
        Conversion of a round trip to ticks. Default: "floor".

    min_ticks :
        Smallest timeout in ticks. Default: 1.

    sampling :
        ACKs that give a round-trip sample when timestamps are off. Default: "per-ack"; "per-window" (ns-2).

    sack_samples :
        Whether selective acknowledgements give samples, too, with timestamps. Otherwise the timer does not notice a queue that grows during recovery. SACKs of segments sent before the oldest one was retransmitted then also restart the timer. Default: true; false (rfc, ns-2, windows-11, freebsd-14).

    karn :
        Whether retransmitted segments give no sample. Default: true.

    restart_on_fast_retransmit :
        Whether the timer restarts when duplicate or selective ACKs start a retransmission. RFC 6298 §5 leaves it running, so that recovery has only the rest of it. Default: true.

    backoff :
        Whether the timeout doubles at each expiry. Default: true.

    backoff_max :
        Largest factor of the backoff. Default: 1000000; 64 (rfc, windows-11), 512 (ns-2, freebsd-14).

    syn_linear_timeouts :
        Expiries for a SYN that do not double the timeout, the first ones; SYN-ACKs have none. Default: 4; 0 (rfc, ns-2, windows-11, freebsd-14).

    syn_retries :
        Retransmissions of a SYN after those of `syn_linear_timeouts`. Then the connection is given up, unless `give_up` is `never`. Default: 6; 8 (rfc, ns-2, windows-11, freebsd-14).

    synack_retries :
        Retransmissions of a SYN-ACK, in the same way. Default: 5; 8 (rfc, ns-2, windows-11, freebsd-14).

    syn_reduction_after :
        Least number of retransmissions of a SYN or SYN-ACK that reduces the initial window to one segment. Default: 2; 1 (rfc, ns-2, windows-11, freebsd-14).

    persist_min :
        Least time before the first probe of a closed window. It doubles with each probe, as the timeout does. Default: "0 s"; "500 ms" (rfc, ns-2, windows-11, freebsd-14).

    persist_max :
        Longest time between two probes of a closed window. Default: "120 s"; "60 s" (rfc, ns-2, windows-11, freebsd-14).

    persist_restarts :
        Whether an ACK that leaves the window closed restarts the time to the next probe. Default: true; false (rfc, ns-2, windows-11, freebsd-14).

    forget_after :
        Doublings after which the smoothed round-trip time is forgotten, so that the next sample counts as the first; 0: never. Default: 0; 4 (ns-2).

    reduce_again :
        Whether each expiry for the same segment lowers the slow start threshold, not only the first. Default: false; true (ns-2).

    reduce_in_recovery :
        Whether an expiry in fast recovery, or after a mark of the same window, lowers the slow start threshold once more. Default: false; true (rfc, ns-2, windows-11, freebsd-14).

    whole_ack_undoes :
        Whether an expiry is undone if its first ACK acknowledges all outstanding data, with SACK in use, and part of them was sent once only. The first segment may have been lost alone, so that RFC 5682 lets this ACK decide nothing. Default: true; false (rfc, ns-2, windows-11, freebsd-14).

    duplicates :
        Treatment of duplicate ACKs after a timeout. They count for `limited_retransmit`. Default: "restart".
    """

    initial: str
    min: str
    max: str
    granularity: str
    phase: str
    guard: bool
    variance_min: str
    variation: Literal["mean", "largest"]
    arithmetic: Literal["real", "ticks"]
    expires_on_tick: bool
    rounding: Literal["floor", "plus-one"]
    min_ticks: int
    sampling: Literal["per-window", "per-ack"]
    sack_samples: bool
    karn: bool
    restart_on_fast_retransmit: bool
    backoff: bool
    backoff_max: int
    syn_linear_timeouts: int
    syn_retries: int
    synack_retries: int
    syn_reduction_after: int
    persist_min: str
    persist_max: str
    persist_restarts: bool
    forget_after: int
    reduce_again: bool
    reduce_in_recovery: bool
    whole_ack_undoes: bool
    duplicates: Literal["restart", "continue", "ignore"]


class Ack(TypedDict, total=False):
    """Acknowledgements of the receiver.

    every :
        Acknowledge every n-th segment that arrives in order, of any size; 1: every segment. RFC 5681 §4.2 asks for one ACK per at least every second full-sized segment and allows more. Two small segments are acknowledged immediately, too. Default: 2; 1 (ns-2).

    delay :
        Longest delay of an acknowledgement. Default: "40 ms"; "200 ms" (rfc, ns-2, windows-11).

    timer :
        Start of the delay. Default: "per-segment".

    quick :
        Segments that are acknowledged immediately, at the start of a connection and after a pause longer than the retransmission timeout. Default: 16; 0 (rfc, ns-2, windows-11, freebsd-14).

    slow_start :
        Acknowledgements while the sender is in slow start. Default: "delayed".

    congestion_control :
        Congestion control for ACKs: the sender finds lost or marked ACKs, and doubles the number of segments per ACK. `every` is its initial and smallest value. With ECN pure ACKs may be marked. Both ends must want it. Default: false.
    """

    every: int
    delay: str
    timer: Literal["per-segment", "free-running"]
    quick: int
    slow_start: Literal["delayed", "every"]
    congestion_control: bool

_EcnClassicRequired = TypedDict("_EcnClassicRequired", {"kind": Literal["classic"]})


class EcnClassic(_EcnClassicRequired, total=False):
    """The receiver echoes a mark until the sender confirms that it has reduced its window (RFC 3168).

    beta :
        Share of the window after a mark, 0.1 to 0.99. RFC 8511 recommends 0.8 for the window of RFC 5681. Default: the share after a loss. A congestion control that counts marks has its own reaction.
    """

    beta: float

_EcnPerSegmentRequired = TypedDict("_EcnPerSegmentRequired", {"kind": Literal["per-segment"]})


class EcnPerSegment(_EcnPerSegmentRequired, total=False):
    """The receiver reports for each segment whether it was marked (RFC 8257 §3.2). It is negotiated like the classic feedback.

    beta :
        Share of the window after a mark, 0.1 to 0.99. RFC 8511 recommends 0.8 for the window of RFC 5681. Default: the share after a loss. A congestion control that counts marks has its own reaction.
    """

    beta: float

_EcnAccurateRequired = TypedDict("_EcnAccurateRequired", {"kind": Literal["accurate"]})


class EcnAccurate(_EcnAccurateRequired, total=False):
    """The receiver counts marks in three header bits (RFC 9768, without its option).

    beta :
        Share of the window after a mark, 0.1 to 0.99. RFC 8511 recommends 0.8 for the window of RFC 5681. Default: the share after a loss. A congestion control that counts marks has its own reaction.

    ect :
        Codepoint of data: 0 is ECT(0), 1 is ECT(1), which asks for the low latency of L4S (RFC 9331). 1 needs a congestion control that counts marks, such as `prague`. Default: 1 for `prague`, otherwise 0.

    wrap :
        Marks that an ACK of more than seven packets reports, for a congestion control that counts them. Default: "most".
    """

    beta: float
    ect: int
    wrap: Literal["most", "least"]

_PacingWindowRequired = TypedDict("_PacingWindowRequired", {"kind": Literal["window"]})


class PacingWindow(_PacingWindowRequired, total=False):
    """A window per smoothed round-trip time, times a gain. Segments before the first sample are not paced (J. Kulik et al. 1999).

    gain_slow_start :
        Gain while the congestion window is below half of the slow start threshold, 0.1 to 100. Default: 2.0.

    gain :
        Gain otherwise, 0.1 to 100. Default: 1.2.

    burst :
        Data that may leave back to back after a pause. Default: "2 segments".
    """

    gain_slow_start: float
    gain: float
    burst: str

_PacingRateRequired = TypedDict("_PacingRateRequired", {"kind": Literal["rate"], "rate": str})


class PacingRate(_PacingRateRequired, total=False):
    """A fixed rate, headers included.

    rate :
        The rate; more than 0.

    burst :
        Data that may leave back to back after a pause. Default: "2 segments".
    """

    burst: str

_FastOpenOnRequired = TypedDict("_FastOpenOnRequired", {"kind": Literal["on"]})


class FastOpenOn(_FastOpenOnRequired, total=False):
    """TCP Fast Open: a SYN with the server's cookie carries data (RFC 7413).

    cookie :
        Whether the opener has the cookie when the run begins. Default: "none".
    """

    cookie: Literal["none", "cached"]

_TransactionsOnRequired = TypedDict("_TransactionsOnRequired", {"kind": Literal["on"]})


class TransactionsOn(_TransactionsOnRequired, total=False):
    """T/TCP: a SYN carries data and a FIN if the server has not seen its connection count yet (RFC 1644).

    counts :
        Whether both hosts remember a connection when the run begins. Default: "none".
    """

    counts: Literal["none", "cached"]

_SharingOnRequired = TypedDict("_SharingOnRequired", {"kind": Literal["on"]})


class SharingOn(_SharingOnRequired, total=False):
    """Values that earlier connections between the same two hosts learnt (RFC 9040).

    ssthresh :
        Whether to start with their slow start threshold. Default: true.

    rtt :
        Whether to start with a retransmission timeout from their round-trip times. Default: true.

    cwnd :
        Use of their congestion window. Default: "cautious".

    age_max :
        Age at which they are forgotten; more than 0 s. Default: "3600 s".
    """

    ssthresh: bool
    rtt: bool
    cwnd: Literal["ignore", "cautious", "full"]
    age_max: str

_CarefulResumeOnRequired = TypedDict("_CarefulResumeOnRequired", {"kind": Literal["on"]})


class CarefulResumeOn(_CarefulResumeOnRequired, total=False):
    """Careful resume: a connection begins with half of the window that an earlier connection used, paced, and proves it within a round trip or retreats (RFC 9959).

    saved :
        Window that an earlier connection used. A given one lets the first connection resume. Default: "cache".

    saved_rtt :
        Round trip of that connection. With `saved = "cache"` it is the saved one, too. Default: "path".

    max_jump :
        Limit of the window after the jump. Default: "unlimited".

    fraction :
        Share of the saved window that a connection jumps to, 0.05 to 1. More than 0.5 is against RFC 9959. Default: 0.5.

    beta :
        Share of the validated data that is the slow start threshold after a retreat, 0.5 to 1. Default: 0.5.

    lifetime :
        Age at which a saved window is forgotten; more than 0 s. Default: "3600 s".

    pipe :
        Data that validates the jump. Default: "unvalidated".
    """

    saved: str
    saved_rtt: str
    max_jump: str
    fraction: float
    beta: float
    lifetime: str
    pipe: Literal["unvalidated", "all"]

_PacketSizeOptimumRequired = TypedDict("_PacketSizeOptimumRequired", {"kind": Literal["optimum"]})


class PacketSizeOptimum(_PacketSizeOptimumRequired, total=False):
    """Size with the best information efficiency at the error rate that the network reports. `smss` before a report, and at a reported rate of 0.

    formula :
        Formula of the size. Default: "probabilistic".

    gives :
        Result of the formula. Default: "packet".

    unit :
        Unit of the reported rate: per byte or per bit. It should match the estimate of the network. Default: "byte".

    density :
        Error density n: errors per corrupted packet. Both formulas divide the rate by it. Default: 1.0.

    header :
        Header H of the formula. The headers on the wire do not follow it. Default: "40 B".

    min :
        Smallest packet, with IP and TCP headers and the options that every segment has. Default: "80 B".

    max :
        Largest packet, with IP and TCP headers and the options that every segment has (timestamps: 12 B). `smss` limits the payload as well. Default: "65535 B".
    """

    formula: Literal["deterministic", "probabilistic"]
    gives: Literal["packet", "payload"]
    unit: Literal["bit", "byte"]
    density: float
    header: str
    min: str
    max: str


class PacketSizeKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["fixed"]


class TcpProcessingTable(TypedDict):
    """Random time, drawn for each packet.

    uniform :
        Shortest and longest time, the latter excluded.
    """

    uniform: Union[Tuple[str, str], List[str]]


class AutoBuffer(TypedDict, total=False):
    """Size of a receive buffer that is `auto`.

    start :
        Initial size; at least one segment. Default: "131072 B"; "65535 B" (rfc, ns-2, windows-11), "65536 B" (freebsd-14).

    limit :
        Largest size: the buffer follows the bytes received per round trip up to this. At most 1073725440 B. Default: "6291456 B"; "4000000 B" (rfc, ns-2, windows-11), "2097152 B" (freebsd-14).

    growth :
        Growth of the buffer, and the meaning of its sizes. Default: "linux"; "twice" (rfc, ns-2, windows-11, freebsd-14).
    """

    start: str
    limit: str
    growth: Literal["twice", "linux"]


class AutoSendBuffer(TypedDict, total=False):
    """Size of a send buffer that is `auto`.

    start :
        Initial size; at least one segment. Default: "128000 B"; "64000 B" (rfc, ns-2, windows-11), "32768 B" (freebsd-14).

    limit :
        Largest size: the buffer grows to twice the congestion window up to this. Default: "4194304 B"; "4000000 B" (rfc, ns-2, windows-11), "2097152 B" (freebsd-14).
    """

    start: str
    limit: str


class Tcp(TypedDict, total=False):
    """Transport of a flow.

    like :
        Host to imitate. It provides the values of all keys that the file leaves open, each with its source. Default: "linux-6".

    buffers :
        Limits of the buffers that the host tunes itself. Default: "stock".

    cc :
        Congestion control of the connection. Default: "cubic"; "newreno" (rfc, ns-2).

    smss :
        Largest payload of a segment (SMSS), 40 B to 65415 B. `timestamps` take 12 B of it. Default: "1448 B"; "1460 B" (rfc, ns-2, windows-11).

    recovery :
        Procedure that finds lost data and retransmits it. Default: "rack"; "newreno" (rfc), {"burst":2,"deflate":"window","exit":"ssthresh","kind":"newreno"} (ns-2), "sack" (freebsd-14).

    best_effort :
        Best-effort transport of SCPS-TP: data that is missing for too long is skipped. Needs recovery `snack`. Default: "off".

    verdict :
        Interpretation of a loss. Default: `always-congestion` (RFC 5681), or the verdict that the congestion control was published with: `assume-congestion` for `scps`.

    copies :
        Copies of data with low priority, for the verdict `low-priority-copies`.

    feedback :
        Interpretation of the window that the network advertises, evaluated for a loss before the verdict. Default: "off".

    duplicate_acks :
        ACKs that count as duplicates. Default: "same-window".

    limited_transmit :
        Whether each of the first two duplicate ACKs sends one new segment. Default: true.

    limited_retransmit :
        Whether limited transmit also applies in the slow start after a timeout, where it may send a retransmission. Default: false; true (ns-2).

    early_retransmit :
        Whether fewer than three duplicate ACKs prove a loss when fewer than four segments are outstanding and nothing new can be sent. Default: false.

    reduction :
        Reduction of the window to the slow start threshold in recovery. Proportional reductions need a recovery that uses SACK. Default: "prr"; "at-once" (rfc, ns-2, windows-11).

    second_reduction :
        Reaction to a lost retransmission that recovery finds without the timer: `rack`, and `sack` with `evidence = "status"`. `snack` lowers the window once per epoch, as SCPS-TP does. Default: "after-timeout"; "rfc5681" (rfc, ns-2, windows-11, freebsd-14).

    dsack :
        Whether the first SACK block reports segments that arrived twice (DSACK, RFC 2883). RACK adapts its reordering window by DSACK (RFC 8985), so a default with recovery `rack` is true. Default: true; false (rfc, ns-2).

    spurious_detection :
        Detection of needless retransmissions by the sender. Default: "any"; "off" (rfc, ns-2, windows-11, freebsd-14).

    spurious_response :
        State that the sender restores after a needless retransmission. Default: "restore".

    initial_window :
        Window at the start of data transfer. Default: "10 segments"; "rfc6928" (rfc, windows-11), "2 segments" (ns-2).

    initial_ssthresh :
        Initial slow start threshold; at least two segments. A bdp is the smallest rate on the route times the propagation round trip. Default: "unlimited".

    byte_counting :
        Value of an ACK for the growth. Default: "ubc-pure"; "rfc5681" (rfc, ns-2, windows-11), "abc" (freebsd-14).

    slow_start :
        Growth of the window in slow start, and its end. Default: "hystart"; "standard" (rfc, ns-2, freebsd-14), {"kind":"hystart","train_divisor":1} (linux-6-paced), "hystart++" (windows-11).

    increase :
        Increase of the window per round trip in congestion avoidance. Default: "standard".

    slow_start_at_ssthresh :
        Whether a window that equals the slow start threshold, as after fast recovery, is still in slow start and grows by a segment immediately. Default: false.

    cwnd_validation :
        Validation of a congestion window that is not used. Default: "linux"; "if-used" (rfc, windows-11), "off" (ns-2, freebsd-14).

    idle_restart :
        Whether an idle time of one retransmission timeout reduces the window to the restart window (RFC 5681 §4.1). `cwnd_validation` may define the effect of an idle time instead. Default: false; true (rfc, windows-11, freebsd-14).

    ssthresh_rounding :
        Rounding of the slow start threshold: to the byte, or down to whole segments, with or without the window after a loss. Default: "window"; "bytes" (rfc, windows-11, freebsd-14), "segments" (ns-2).

    grow_on_exit :
        Whether the ACK that ends or undoes fast recovery also grows the window. RFC 5681 and 6582 only deflate it, ns-2 and Linux grow it. Default: true; false (rfc, windows-11, freebsd-14).

    ssthresh_base :
        Quantity that is halved to set the slow start threshold. Default: "window"; "flight-size" (rfc, windows-11, freebsd-14).

    give_up :
        Condition to give up a connection without answers. Default: "924 s"; "100 s" (rfc), "never" (ns-2), "5 retransmissions" (windows-11), "12 retransmissions" (freebsd-14).

    keepalive :
        Probes on an idle connection, which is given up if the peer does not answer them. Each endpoint probes. Default: "off".

    acceptable_acks :
        ACKs below SND.UNA that a segment may carry. Default: "rfc5961"; "rfc9293" (rfc, ns-2, windows-11, freebsd-14).

    challenge_acks :
        Limit of challenge ACKs: answers to resets and SYNs in the window, and to unacceptable ACKs (RFC 5961).

    timestamps :
        Timestamps: 12 bytes in every segment, a round-trip sample from every ACK. Default: true; false (rfc, ns-2, windows-11).

    window_scaling :
        Window scaling; without it the advertised window ends at 65535 B. Default: true.

    receive_buffer :
        Receive buffer, which bounds the advertised window; `auto` grows with the path. At most 1073725440 B. A bdp is the smallest rate on the route times the propagation round trip. Default: "auto"; "unlimited" (rfc, ns-2, windows-11).

    send_buffer :
        Send buffer: written data that is not acknowledged yet; `auto` grows with the congestion window. A bdp is the smallest rate on the route times the propagation round trip. Default: "auto"; "unlimited" (rfc, ns-2, windows-11).

    handshake :
        Whether the connection opens with SYN and SYN-ACK. Otherwise it starts established, and the first data leaves immediately. Default: true.

    rto :
        The retransmission timer.

    ack :
        Acknowledgements of the receiver.

    ecn :
        ECN marks: queues that can mark do so instead of dropping. Default: `off` (RFC 3168 §6.1: both ends have to agree), or the feedback that the congestion control was published with: `accurate` with ECT(1) for `prague`, `per-segment` for `dctcp`. Default: "off".

    pacing :
        Times when segments may leave, in addition to the windows. Retransmissions are paced, too. Acknowledgements are not paced. Default: "off"; "window" (linux-6-paced).

    fast_open :
        Data in the SYN. Default: "off".

    transactions :
        T/TCP: data and FIN in the SYN, by connection counts. Not with Fast Open. Default: "off".

    sharing :
        Values that a connection takes over from earlier connections. Default: "off".

    careful_resume :
        Careful resume: a jump to half of the window that an earlier connection used (RFC 9959). Not for congestion controls with a model of the path. Default: "off".

    nagle :
        Nagle's algorithm: whether small segments wait while data is outstanding. Default: false; true (windows-11, freebsd-14).

    error_reports :
        Reaction to a report of a corrupted segment. Middleboxes send such reports. Default: "ignore".

    report_copies :
        Copies per retransmission of a reported segment. It is retransmitted again when all copies were reported. With a corruption probability p, all of n copies are corrupted with p^n (multicopy retransmission). Default: 1.

    report_resend :
        Retransmission of a reported segment if segments have become smaller since it left (`packet_size`). Default: "whole".

    path_mtu :
        Reaction to a report that a segment is too large for a link. Default: "discover".

    packet_size :
        Size of segments. Default: "fixed".

    cwnd_unit :
        Unit of the window where the segment size follows reports. Default: "bytes".

    processing :
        Processing time of a packet at a receiving host, drawn for each packet. Packets of a link keep their order. A node with several flows uses the times of the flow with the longest time. Real hosts have random times; without them, equal senders run in step and each loses every n-th packet of an overflow.

    auto_buffer :
        Size of the receive buffer if `receive_buffer` is `auto`.

    auto_send_buffer :
        Size of the send buffer if `send_buffer` is `auto`.
    """

    like: Literal["rfc", "linux-6", "linux-6-paced", "ns-2", "windows-11", "freebsd-14"]
    buffers: Literal["stock", "raised"]
    cc: Union[CcBbr1, CcBbr2, CcBbr3, CcBic, CcCompound, CcCopa, CcCubic, CcDctcp, CcEnhancedHswa, CcHighspeed, CcHswa, CcHtcp, CcHybla, CcIllinois, CcLedbat, CcLeocc, CcPeach, CcPeachPlus, CcPrague, CcSantaCruz, CcSatcp, CcScalable, CcScps, CcStp, CcSwift, CcVegas, CcVeno, CcWestwood, CcWestwoodNr, CcWestwoodPlus, CcWtcp, CcYeah, CcKind, Literal["tahoe", "tcpmin", "reno", "newreno", "sack", "bbr1", "bbr2", "bbr3", "bic", "compound", "copa", "cubic", "dctcp", "enhanced-hswa", "highspeed", "hswa", "htcp", "hybla", "illinois", "ledbat", "leocc", "peach", "peach-plus", "prague", "santa-cruz", "satcp", "scalable", "scps", "stp", "swift", "vegas", "veno", "westwood", "westwood-nr", "westwood-plus", "wtcp", "yeah"]]
    smss: str
    recovery: Union[RecoveryNewreno, RecoverySack, RecoveryRack, RecoverySnack, RecoveryKind, Literal["timeout-only", "fast-retransmit", "reno", "newreno", "sack", "rack", "snack"]]
    best_effort: Union[BestEffortOn, BestEffortKind, Literal["off", "on"]]
    verdict: Union[VerdictKind, Literal["always-congestion", "always-link-error", "assume-congestion", "assume-corruption", "ceten-p", "ceten-a", "low-priority-copies"]]
    copies: Copies
    feedback: Union[FeedbackRefwaPlus, FeedbackXcp, FeedbackRcp, BestEffortKind, Literal["off", "refwa-plus", "xcp", "rcp"]]
    duplicate_acks: Literal["same-window", "any-window"]
    limited_transmit: bool
    limited_retransmit: bool
    early_retransmit: bool
    reduction: Literal["at-once", "prr", "prr-ssrb", "prr-crb"]
    second_reduction: Literal["off", "after-timeout", "rfc5681"]
    dsack: bool
    spurious_detection: Literal["off", "frto", "eifel", "dsack", "any"]
    spurious_response: Literal["rfc4015", "restore", "conservative"]
    initial_window: str
    initial_ssthresh: str
    byte_counting: Union[ByteCountingAbc, ByteCountingKind, Literal["rfc5681", "per-ack", "abc", "lbc", "ubc", "ubc-pure"]]
    slow_start: Union[SlowStartLimited, SlowStartHoe, SlowStartHystart, SlowStartHystartPlusPlus, SlowStartSearch, SlowStartRapid, SlowStartKind, Literal["standard", "limited", "hoe", "hystart", "hystart++", "search", "rapid"]]
    increase: Union[IncreaseConstantRate, IncreaseByK, SlowStartKind, Literal["standard", "constant-rate", "by-k"]]
    slow_start_at_ssthresh: bool
    cwnd_validation: Literal["off", "if-used", "rfc2861", "linux", "rfc7661"]
    idle_restart: bool
    ssthresh_rounding: Literal["bytes", "segments", "window"]
    grow_on_exit: bool
    ssthresh_base: Literal["flight-size", "window"]
    give_up: str
    keepalive: Union[KeepaliveOn, BestEffortKind, Literal["off", "on"]]
    acceptable_acks: Literal["rfc9293", "rfc5961"]
    challenge_acks: ChallengeAcks
    timestamps: bool
    window_scaling: bool
    receive_buffer: str
    send_buffer: str
    handshake: bool
    rto: Rto
    ack: Ack
    ecn: Union[EcnClassic, EcnPerSegment, EcnAccurate, BestEffortKind, Literal["off", "classic", "per-segment", "accurate"]]
    pacing: Union[PacingWindow, PacingRate, BestEffortKind, Literal["off", "window"]]
    fast_open: Union[FastOpenOn, BestEffortKind, Literal["off", "on"]]
    transactions: Union[TransactionsOn, BestEffortKind, Literal["off", "on"]]
    sharing: Union[SharingOn, BestEffortKind, Literal["off", "on"]]
    careful_resume: Union[CarefulResumeOn, BestEffortKind, Literal["off", "on"]]
    nagle: bool
    error_reports: Literal["ignore", "resend"]
    report_copies: int
    report_resend: Literal["whole", "packet"]
    path_mtu: Literal["discover", "ignore"]
    packet_size: Union[PacketSizeOptimum, PacketSizeKind, Literal["fixed", "optimum"]]
    cwnd_unit: Literal["bytes", "packets"]
    processing: Union[str, TcpProcessingTable]
    auto_buffer: AutoBuffer
    auto_send_buffer: AutoSendBuffer

_QuicCcBbr1Required = TypedDict("_QuicCcBbr1Required", {"kind": Literal["bbr1"]})


class QuicCcBbr1(_QuicCcBbr1Required, total=False):
    """Window and pace from a model of the path: bandwidth and round-trip time (BBR v1, Cardwell et al. 2016; Linux).

    quantum :
        Data that is handed down in one quantum. Default: "segment".

    policer :
        Whether it detects policers. Default: true.

    rwnd_limited_is_app_limited :
        Whether samples at the limit of the receiver's window can only raise the bandwidth. Default: false.

    leo :
        Whether the sender is notified of path reconfigurations. Losses then do not count for half a second, the least round-trip time is measured again, and the bandwidth is kept two cycles longer. Default: false.

    period :
        Time between reconfigurations; 0: no reconfigurations. Default: "15 s".

    offset :
        Time of the first reconfiguration in the simulation. Default: "0 s".
    """

    quantum: Literal["segment", "offload"]
    policer: bool
    rwnd_limited_is_app_limited: bool
    leo: bool
    period: str
    offset: str

_QuicCcBbr2Required = TypedDict("_QuicCcBbr2Required", {"kind": Literal["bbr2"]})


class QuicCcBbr2(_QuicCcBbr2Required, total=False):
    """BBR that keeps losses below 2 % (BBR v2, alpha release of 2019).

    loss_threshold :
        Share of the data in flight whose loss sets a bound. Default: 0.02.

    beta :
        Smallest share of a bound that a loss leaves. Default: 0.7.

    headroom :
        Share of the long-term bound that is left free between probes. Default: 0.15.

    up_ends :
        End of Up without losses. Default: "queue".

    quantum :
        Data that is handed down in one quantum. Default: "segment".

    rwnd_limited_is_app_limited :
        Whether samples at the limit of the receiver's window can only raise the bandwidth. Default: false.

    leo :
        Whether the sender is notified of path reconfigurations. Losses then do not count for half a second, the least round-trip time is measured again, and the bandwidth is kept two cycles longer. Default: false.

    period :
        Time between reconfigurations; 0: no reconfigurations. Default: "15 s".

    offset :
        Time of the first reconfiguration in the simulation. Default: "0 s".
    """

    loss_threshold: float
    beta: float
    headroom: float
    up_ends: Literal["queue", "plateau"]
    quantum: Literal["segment", "offload"]
    rwnd_limited_is_app_limited: bool
    leo: bool
    period: str
    offset: str

_QuicCcBbr3Required = TypedDict("_QuicCcBbr3Required", {"kind": Literal["bbr3"]})


class QuicCcBbr3(_QuicCcBbr3Required, total=False):
    """BBR of the IETF's working group: bounds on the data in flight, probes that make room first (draft-ietf-ccwg-bbr).

    profile :
        Edition of BBR v3. Default: "draft".

    loss_threshold :
        Share of the data in flight whose loss sets a bound. Default: 0.02.

    beta :
        Smallest share of a bound that a loss leaves. Default: 0.7.

    headroom :
        Share of the long-term bound that is left free between probes. Default: 0.15.

    quantum :
        Data that is handed down in one quantum. Default: "segment".

    rwnd_limited_is_app_limited :
        Whether samples at the limit of the receiver's window can only raise the bandwidth. Default: false.

    leo :
        Whether the sender is notified of path reconfigurations. Losses then do not count for half a second, the least round-trip time is measured again, and the bandwidth is kept two cycles longer. Default: false.

    period :
        Time between reconfigurations; 0: no reconfigurations. Default: "15 s".

    offset :
        Time of the first reconfiguration in the simulation. Default: "0 s".
    """

    profile: Literal["draft", "code"]
    loss_threshold: float
    beta: float
    headroom: float
    quantum: Literal["segment", "offload"]
    rwnd_limited_is_app_limited: bool
    leo: bool
    period: str
    offset: str

_QuicCcCubicRequired = TypedDict("_QuicCcCubicRequired", {"kind": Literal["cubic"]})


class QuicCcCubic(_QuicCcCubicRequired, total=False):
    """A cubic function of the time since the last loss (RFC 9438).

    c :
        Steepness of the function, C, segments/s³. Default: 0.4.

    beta :
        Share of the window after a loss, in thousandths. Default: 0.7.

    fast_convergence :
        Whether a loss below the window of the last loss lowers the plateau further, to make room for new flows. Default: true.

    reno_friendly :
        Whether the window grows at least as fast as Reno's. Default: true.

    growth :
        Unit of growth: each unit moves the window towards its target. Default: "segment".

    after_rto :
        Start of the first congestion avoidance after a timeout. Default: "rfc".

    first_growth :
        Smallest increase per round trip until the first loss, as a share of the window. Default: 0.0.
    """

    c: float
    beta: float
    fast_convergence: bool
    reno_friendly: bool
    growth: Literal["segment", "ack"]
    after_rto: Literal["rfc", "reset"]
    first_growth: float

_QuicCcHyblaRequired = TypedDict("_QuicCcHyblaRequired", {"kind": Literal["hybla"]})


class QuicCcHybla(_QuicCcHyblaRequired, total=False):
    """Reno's growth on a path of 25 ms, for paths of any length (Caini and Firrincieli 2004).

    rtt0 :
        Round-trip time of the reference path (RTT0). Default: "25 ms".

    rtt :
        Round-trip time that is compared with RTT0. Default: "minimum".

    eighths :
        Whether ρ is a multiple of 1/8. Default: false.

    exponent_max :
        The largest ρ in the exponent of slow start. Default: 16.0.

    needs_ssthresh :
        Whether slow start is the standard's without a threshold. Default: true.

    initial_window :
        The initial window. Default: "rho".

    scaled_ssthresh :
        Whether the initial threshold is multiplied by ρ. Default: false.

    rho_after_timeout :
        Whether a timeout leaves ρ segments. Otherwise it leaves one. Default: false.

    reno_after_timeout :
        Whether it grows as Reno until the data sent before a timeout is acknowledged. Default: true.
    """

    rtt0: str
    rtt: Literal["minimum", "smoothed"]
    eighths: bool
    exponent_max: float
    needs_ssthresh: bool
    initial_window: Literal["connection", "scaled", "rho"]
    scaled_ssthresh: bool
    rho_after_timeout: bool
    reno_after_timeout: bool


class QuicCcKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["tahoe", "tcpmin", "reno", "newreno", "sack", "stack-cubic", "stack-newreno", "none"]


class QuicHandshake(TypedDict, total=False):
    """Handshake of QUIC.

    flight :
        Bytes of the server's messages after its ServerHello: certificates, above all. A server sends at most three times the bytes that it has received (RFC 9000 §8.1), so a long chain costs a round trip. Default: "3000 B".

    resume :
        Session of an earlier connection that the client resumes. It is given: no connection of the run makes it. Default: "none".

    accepted :
        Whether the server accepts early data. Otherwise the client retransmits it after the handshake. Default: true.

    address_token :
        Whether the client has an address token from an earlier connection (RFC 9000 §8.1.3): the server then sends more than three times what it has received. Default: false.

    retry :
        Whether the server validates the client's address before the handshake, by a Retry packet (RFC 9000 §8.1.2). An address token does it, too. Default: false.
    """

    flight: str
    resume: Literal["none", "1-rtt", "0-rtt"]
    accepted: bool
    address_token: bool
    retry: bool

_QuicAckFrequencyOnRequired = TypedDict("_QuicAckFrequencyOnRequired", {"kind": Literal["on"]})


class QuicAckFrequencyOn(_QuicAckFrequencyOnRequired, total=False):
    """Acknowledgements that a sender asks for (draft-ietf-quic-ack-frequency-04, with the transport parameter of -08).

    every :
        Packets with data for each acknowledgement. Default: 10.

    delay :
        Longest delay of an acknowledgement. Default: "25 ms".

    reordering :
        Number of reordered packets that a receiver acknowledges immediately; 0: never. Default: 2.
    """

    every: int
    delay: str
    reordering: int

_QuicMigrationHandoverRequired = TypedDict("_QuicMigrationHandoverRequired", {"kind": Literal["handover"]})


class QuicMigrationHandover(_QuicMigrationHandoverRequired, total=False):
    """The address changes whenever a route of the flow changes: at a handover, for instance.

    change :
        Part of the address that changes. Default: "rebinding".
    """

    change: Literal["rebinding", "address"]

_QuicMigrationAtRequired = TypedDict("_QuicMigrationAtRequired", {"kind": Literal["at"], "times": List[str]})


class QuicMigrationAt(_QuicMigrationAtRequired, total=False):
    """The address changes at given times.

    times :
        Times, increasing.

    change :
        Part of the address that changes. Default: "rebinding".
    """

    change: Literal["rebinding", "address"]


class Quic(TypedDict, total=False):
    """Settings of one QUIC connection.

    cc :
        Congestion control: one of TCP's, or one of the stack. Tahoe, Reno and tcpmin by name mean their window: loss recovery is always that of QUIC. Default: "cubic".

    byte_counting :
        Value of an ACK for the growth of the window. Default: "ubc-pure".

    slow_start :
        Growth of the window in slow start, and its end besides the threshold and losses. Default: "standard".

    initial_window :
        Window at the start of a connection. Default: "10 packets".

    initial_rtt :
        Round-trip time before the first sample. It sets the first probe timeout, three times this value. Default: "333 ms".

    stream_window :
        Receive window of each stream. `auto`: three bandwidth-delay products of the path, at least 2 MB. Default: "auto".

    connection_window :
        Receive window of all streams together. `auto`: as `stream_window`. Default: "auto".

    send_window :
        Send buffer of all streams: data that is not acknowledged yet. `auto`: twice `stream_window`. Default: "auto".

    mtu :
        Payload of UDP in a full datagram, from 1200 B on. Default: "1452 B".

    packet_threshold :
        Packets acknowledged after a packet that is then lost (kPacketThreshold). Default: 3.

    time_threshold :
        Round-trip times after which an earlier packet is lost (kTimeThreshold). Default: 1.125.

    persistent_congestion :
        Probe timeouts without an ACK that are persistent congestion (kPersistentCongestionThreshold). Default: 3.

    handshake :
        The handshake.

    ack_frequency :
        Acknowledgements that both ends ask for. Default: "off".

    careful_resume :
        Careful resume: a jump to half of the window that an earlier connection used (RFC 9959). Not for congestion controls of the stack, or with a window of a model. Default: "off".

    migration :
        Changes of the client's address. Default: "off".

    send_order :
        Order of the streams of an end with data. Default: "round-robin".

    read :
        Order in which the receiver reads a stream. Default: "unordered".

    ecn :
        Whether packets ask for ECN marks. Default: true.

    idle_timeout :
        Time without packets after which a connection ends. Default: "30 s".

    keep_alive :
        Interval of pings on an idle connection. Default: "off".

    processing :
        Processing time of a packet at a receiving host, as `processing` of `[tcp]`.
    """

    cc: Union[QuicCcBbr1, QuicCcBbr2, QuicCcBbr3, CcBic, CcCompound, CcCopa, QuicCcCubic, CcDctcp, CcEnhancedHswa, CcHighspeed, CcHswa, CcHtcp, QuicCcHybla, CcIllinois, CcLedbat, CcLeocc, CcPeach, CcPeachPlus, CcPrague, CcSantaCruz, CcSatcp, CcScalable, CcScps, CcStp, CcSwift, CcVegas, CcVeno, CcWestwood, CcWestwoodNr, CcWestwoodPlus, CcWtcp, CcYeah, QuicCcKind, Literal["tahoe", "tcpmin", "reno", "newreno", "sack", "bbr1", "bbr2", "bbr3", "bic", "compound", "copa", "cubic", "dctcp", "enhanced-hswa", "highspeed", "hswa", "htcp", "hybla", "illinois", "ledbat", "leocc", "peach", "peach-plus", "prague", "santa-cruz", "satcp", "scalable", "scps", "stp", "swift", "vegas", "veno", "westwood", "westwood-nr", "westwood-plus", "wtcp", "yeah", "stack-cubic", "stack-newreno", "none"]]
    byte_counting: Union[ByteCountingAbc, ByteCountingKind, Literal["rfc5681", "per-ack", "abc", "lbc", "ubc", "ubc-pure"]]
    slow_start: Union[SlowStartLimited, SlowStartHoe, SlowStartHystart, SlowStartHystartPlusPlus, SlowStartSearch, SlowStartRapid, SlowStartKind, Literal["standard", "limited", "hoe", "hystart", "hystart++", "search", "rapid"]]
    initial_window: str
    initial_rtt: str
    stream_window: str
    connection_window: str
    send_window: str
    mtu: str
    packet_threshold: int
    time_threshold: float
    persistent_congestion: int
    handshake: QuicHandshake
    ack_frequency: Union[QuicAckFrequencyOn, BestEffortKind, Literal["off", "on"]]
    careful_resume: Union[CarefulResumeOn, BestEffortKind, Literal["off", "on"]]
    migration: Union[QuicMigrationHandover, QuicMigrationAt, BestEffortKind, Literal["off", "handover"]]
    send_order: Literal["round-robin", "in-turn"]
    read: Literal["unordered", "ordered"]
    ecn: bool
    idle_timeout: str
    keep_alive: str
    processing: Union[str, TcpProcessingTable]

_MiddleboxImpairRequired = TypedDict("_MiddleboxImpairRequired", {"kind": Literal["impair"]})


class MiddleboxImpair(_MiddleboxImpairRequired, total=False):
    """Duplicates packets and holds some at random, so that others overtake them.

    duplicate :
        Probability that a packet is duplicated. Default: 0.0.

    reorder :
        Probability that a packet is held, so that later packets overtake it. Default: 0.0.

    hold :
        Time that a packet is held. Default: "0 s".

    direction :
        Direction of the packets that are impaired. Default: "both".
    """

    duplicate: Union[str, float]
    reorder: Union[str, float]
    hold: Union[str, TcpProcessingTable]
    direction: Literal["both", "to-receiver", "to-sender"]

_MiddleboxAckFilterRequired = TypedDict("_MiddleboxAckFilterRequired", {"kind": Literal["ack-filter"]})


class MiddleboxAckFilter(_MiddleboxAckFilterRequired, total=False):
    """Removes obsolete acknowledgements from the queue in front of a slow link (RFC 3449 §5.2.1).

    direction :
        Direction of the packets that are filtered. Default: "to-sender".

    place :
        Place of an acknowledgement that has replaced earlier ones. RFC 3449 leaves it open. Default: "first".
    """

    direction: Literal["both", "to-receiver", "to-sender"]
    place: Literal["first", "last"]

_MiddleboxRefwaRequired = TypedDict("_MiddleboxRefwaRequired", {"kind": Literal["refwa"]})


class MiddleboxRefwa(_MiddleboxRefwaRequired, total=False):
    """Limits the window in returning acknowledgements to the capacity of link and path, in proportion to round trips (Taleb, Kato and Nemoto 2006).

    round_trip :
        Source of round-trip times. Default: "oracle".

    buffer :
        Share of the buffer to be used, besides the path. Default: "half".

    gamma :
        Share of its free part that is distributed per interval, 0 to 10. Default: 1.0.

    rise :
        Share of a rise that takes effect per interval. A fall takes effect immediately. Default: 0.5.

    interval :
        Shortest interval. Otherwise it is the longest round trip. Default: "100 ms".

    idle :
        Time without data after which a flow does not count. Default: "2 s".

    flows :
        Largest number of connections that it knows; 0: transparent. Default: 100000.
    """

    round_trip: Literal["oracle", "measured"]
    buffer: Literal["all", "half", "none"]
    gamma: float
    rise: Union[str, float]
    interval: str
    idle: str
    flows: int

_MiddleboxEwaRequired = TypedDict("_MiddleboxEwaRequired", {"kind": Literal["ewa"]})


class MiddleboxEwa(_MiddleboxEwaRequired, total=False):
    """Limits the window in returning acknowledgements by the free room of a queue (Kalampoukas, Varma and Ramakrishnan 2002).

    interval :
        Time between updates of the mean queue and of alpha; at least a millisecond. Default: "10 ms".

    low :
        Share of the room below which the mean queue makes alpha rise. Default: 0.2.

    high :
        Share of the room above which the mean queue makes alpha fall. Default: 0.6.

    rise :
        Increase of alpha per interval. Default: 0.125.

    fall :
        Share of alpha that is removed per interval. Default: 0.03125.

    flows :
        Largest number of connections that it knows; 0: transparent. Default: 100000.
    """

    interval: str
    low: Union[str, float]
    high: Union[str, float]
    rise: Union[str, float]
    fall: Union[str, float]
    flows: int

_MiddleboxAckReconstructRequired = TypedDict("_MiddleboxAckReconstructRequired", {"kind": Literal["ack-reconstruct"]})


class MiddleboxAckReconstruct(_MiddleboxAckReconstructRequired, total=False):
    """Replaces an acknowledgement of many segments by several, behind a filter or a slow link (RFC 3449 §5.2.3).

    direction :
        Direction of the packets that are reconstructed. Default: "to-sender".

    every :
        Segments per acknowledgement. Default: 2.

    sessions :
        Connections with reconstruction at the same time. Acknowledgements of other connections pass unchanged. Default: 100000.

    idle :
        Time without a packet after which state is discarded. Default: "60 s".
    """

    direction: Literal["both", "to-receiver", "to-sender"]
    every: int
    sessions: int
    idle: str


class Config(TypedDict, total=False):
    """Settings of one connection.

    cc :
        Congestion control of the connection. Default: "cubic"; "newreno" (rfc, ns-2).

    smss :
        Largest payload of a segment (SMSS), 40 B to 65415 B. `timestamps` take 12 B of it. Default: "1448 B"; "1460 B" (rfc, ns-2, windows-11).

    recovery :
        Procedure that finds lost data and retransmits it. Default: "rack"; "newreno" (rfc), {"burst":2,"deflate":"window","exit":"ssthresh","kind":"newreno"} (ns-2), "sack" (freebsd-14).

    best_effort :
        Best-effort transport of SCPS-TP: data that is missing for too long is skipped. Needs recovery `snack`. Default: "off".

    verdict :
        Interpretation of a loss. Default: `always-congestion` (RFC 5681), or the verdict that the congestion control was published with: `assume-congestion` for `scps`.

    copies :
        Copies of data with low priority, for the verdict `low-priority-copies`.

    feedback :
        Interpretation of the window that the network advertises, evaluated for a loss before the verdict. Default: "off".

    duplicate_acks :
        ACKs that count as duplicates. Default: "same-window".

    limited_transmit :
        Whether each of the first two duplicate ACKs sends one new segment. Default: true.

    limited_retransmit :
        Whether limited transmit also applies in the slow start after a timeout, where it may send a retransmission. Default: false; true (ns-2).

    early_retransmit :
        Whether fewer than three duplicate ACKs prove a loss when fewer than four segments are outstanding and nothing new can be sent. Default: false.

    reduction :
        Reduction of the window to the slow start threshold in recovery. Proportional reductions need a recovery that uses SACK. Default: "prr"; "at-once" (rfc, ns-2, windows-11).

    second_reduction :
        Reaction to a lost retransmission that recovery finds without the timer: `rack`, and `sack` with `evidence = "status"`. `snack` lowers the window once per epoch, as SCPS-TP does. Default: "after-timeout"; "rfc5681" (rfc, ns-2, windows-11, freebsd-14).

    dsack :
        Whether the first SACK block reports segments that arrived twice (DSACK, RFC 2883). RACK adapts its reordering window by DSACK (RFC 8985), so a default with recovery `rack` is true. Default: true; false (rfc, ns-2).

    spurious_detection :
        Detection of needless retransmissions by the sender. Default: "any"; "off" (rfc, ns-2, windows-11, freebsd-14).

    spurious_response :
        State that the sender restores after a needless retransmission. Default: "restore".

    initial_window :
        Window at the start of data transfer. Default: "10 segments"; "rfc6928" (rfc, windows-11), "2 segments" (ns-2).

    initial_ssthresh :
        Initial slow start threshold; at least two segments. A bdp is the smallest rate on the route times the propagation round trip. Default: "unlimited".

    byte_counting :
        Value of an ACK for the growth. Default: "ubc-pure"; "rfc5681" (rfc, ns-2, windows-11), "abc" (freebsd-14).

    slow_start :
        Growth of the window in slow start, and its end. Default: "hystart"; "standard" (rfc, ns-2, freebsd-14), {"kind":"hystart","train_divisor":1} (linux-6-paced), "hystart++" (windows-11).

    increase :
        Increase of the window per round trip in congestion avoidance. Default: "standard".

    slow_start_at_ssthresh :
        Whether a window that equals the slow start threshold, as after fast recovery, is still in slow start and grows by a segment immediately. Default: false.

    cwnd_validation :
        Validation of a congestion window that is not used. Default: "linux"; "if-used" (rfc, windows-11), "off" (ns-2, freebsd-14).

    idle_restart :
        Whether an idle time of one retransmission timeout reduces the window to the restart window (RFC 5681 §4.1). `cwnd_validation` may define the effect of an idle time instead. Default: false; true (rfc, windows-11, freebsd-14).

    ssthresh_rounding :
        Rounding of the slow start threshold: to the byte, or down to whole segments, with or without the window after a loss. Default: "window"; "bytes" (rfc, windows-11, freebsd-14), "segments" (ns-2).

    grow_on_exit :
        Whether the ACK that ends or undoes fast recovery also grows the window. RFC 5681 and 6582 only deflate it, ns-2 and Linux grow it. Default: true; false (rfc, windows-11, freebsd-14).

    ssthresh_base :
        Quantity that is halved to set the slow start threshold. Default: "window"; "flight-size" (rfc, windows-11, freebsd-14).

    give_up :
        Condition to give up a connection without answers. Default: "924 s"; "100 s" (rfc), "never" (ns-2), "5 retransmissions" (windows-11), "12 retransmissions" (freebsd-14).

    keepalive :
        Probes on an idle connection, which is given up if the peer does not answer them. Each endpoint probes. Default: "off".

    acceptable_acks :
        ACKs below SND.UNA that a segment may carry. Default: "rfc5961"; "rfc9293" (rfc, ns-2, windows-11, freebsd-14).

    challenge_acks :
        Limit of challenge ACKs: answers to resets and SYNs in the window, and to unacceptable ACKs (RFC 5961).

    timestamps :
        Timestamps: 12 bytes in every segment, a round-trip sample from every ACK. Default: true; false (rfc, ns-2, windows-11).

    window_scaling :
        Window scaling; without it the advertised window ends at 65535 B. Default: true.

    receive_buffer :
        Receive buffer, which bounds the advertised window; `auto` grows with the path. At most 1073725440 B. A bdp is the smallest rate on the route times the propagation round trip. Default: "unlimited".

    send_buffer :
        Send buffer: written data that is not acknowledged yet; `auto` grows with the congestion window. A bdp is the smallest rate on the route times the propagation round trip. Default: "unlimited".

    handshake :
        Whether the connection opens with SYN and SYN-ACK. Otherwise it starts established, and the first data leaves immediately. Default: true.

    rto :
        The retransmission timer.

    ack :
        Acknowledgements of the receiver.

    ecn :
        ECN marks: queues that can mark do so instead of dropping. Default: `off` (RFC 3168 §6.1: both ends have to agree), or the feedback that the congestion control was published with: `accurate` with ECT(1) for `prague`, `per-segment` for `dctcp`. Default: "off".

    pacing :
        Times when segments may leave, in addition to the windows. Retransmissions are paced, too. Acknowledgements are not paced. Default: "off"; "window" (linux-6-paced).

    fast_open :
        Data in the SYN. Default: "off".

    transactions :
        T/TCP: data and FIN in the SYN, by connection counts. Not with Fast Open. Default: "off".

    sharing :
        Values that a connection takes over from earlier connections. Default: "off".

    careful_resume :
        Careful resume: a jump to half of the window that an earlier connection used (RFC 9959). Not for congestion controls with a model of the path. Default: "off".

    nagle :
        Nagle's algorithm: whether small segments wait while data is outstanding. Default: false; true (windows-11, freebsd-14).

    error_reports :
        Reaction to a report of a corrupted segment. Middleboxes send such reports. Default: "ignore".

    report_copies :
        Copies per retransmission of a reported segment. It is retransmitted again when all copies were reported. With a corruption probability p, all of n copies are corrupted with p^n (multicopy retransmission). Default: 1.

    report_resend :
        Retransmission of a reported segment if segments have become smaller since it left (`packet_size`). Default: "whole".

    path_mtu :
        Reaction to a report that a segment is too large for a link. Default: "discover".

    packet_size :
        Size of segments. Default: "fixed".

    cwnd_unit :
        Unit of the window where the segment size follows reports. Default: "bytes".
    """

    cc: Union[CcBbr1, CcBbr2, CcBbr3, CcBic, CcCompound, CcCopa, CcCubic, CcDctcp, CcEnhancedHswa, CcHighspeed, CcHswa, CcHtcp, CcHybla, CcIllinois, CcLedbat, CcLeocc, CcPeach, CcPeachPlus, CcPrague, CcSantaCruz, CcSatcp, CcScalable, CcScps, CcStp, CcSwift, CcVegas, CcVeno, CcWestwood, CcWestwoodNr, CcWestwoodPlus, CcWtcp, CcYeah, CcKind, Literal["tahoe", "tcpmin", "reno", "newreno", "sack", "bbr1", "bbr2", "bbr3", "bic", "compound", "copa", "cubic", "dctcp", "enhanced-hswa", "highspeed", "hswa", "htcp", "hybla", "illinois", "ledbat", "leocc", "peach", "peach-plus", "prague", "santa-cruz", "satcp", "scalable", "scps", "stp", "swift", "vegas", "veno", "westwood", "westwood-nr", "westwood-plus", "wtcp", "yeah"]]
    smss: str
    recovery: Union[RecoveryNewreno, RecoverySack, RecoveryRack, RecoverySnack, RecoveryKind, Literal["timeout-only", "fast-retransmit", "reno", "newreno", "sack", "rack", "snack"]]
    best_effort: Union[BestEffortOn, BestEffortKind, Literal["off", "on"]]
    verdict: Union[VerdictKind, Literal["always-congestion", "always-link-error", "assume-congestion", "assume-corruption", "ceten-p", "ceten-a", "low-priority-copies"]]
    copies: Copies
    feedback: Union[FeedbackRefwaPlus, FeedbackXcp, FeedbackRcp, BestEffortKind, Literal["off", "refwa-plus", "xcp", "rcp"]]
    duplicate_acks: Literal["same-window", "any-window"]
    limited_transmit: bool
    limited_retransmit: bool
    early_retransmit: bool
    reduction: Literal["at-once", "prr", "prr-ssrb", "prr-crb"]
    second_reduction: Literal["off", "after-timeout", "rfc5681"]
    dsack: bool
    spurious_detection: Literal["off", "frto", "eifel", "dsack", "any"]
    spurious_response: Literal["rfc4015", "restore", "conservative"]
    initial_window: str
    initial_ssthresh: str
    byte_counting: Union[ByteCountingAbc, ByteCountingKind, Literal["rfc5681", "per-ack", "abc", "lbc", "ubc", "ubc-pure"]]
    slow_start: Union[SlowStartLimited, SlowStartHoe, SlowStartHystart, SlowStartHystartPlusPlus, SlowStartSearch, SlowStartRapid, SlowStartKind, Literal["standard", "limited", "hoe", "hystart", "hystart++", "search", "rapid"]]
    increase: Union[IncreaseConstantRate, IncreaseByK, SlowStartKind, Literal["standard", "constant-rate", "by-k"]]
    slow_start_at_ssthresh: bool
    cwnd_validation: Literal["off", "if-used", "rfc2861", "linux", "rfc7661"]
    idle_restart: bool
    ssthresh_rounding: Literal["bytes", "segments", "window"]
    grow_on_exit: bool
    ssthresh_base: Literal["flight-size", "window"]
    give_up: str
    keepalive: Union[KeepaliveOn, BestEffortKind, Literal["off", "on"]]
    acceptable_acks: Literal["rfc9293", "rfc5961"]
    challenge_acks: ChallengeAcks
    timestamps: bool
    window_scaling: bool
    receive_buffer: str
    send_buffer: str
    handshake: bool
    rto: Rto
    ack: Ack
    ecn: Union[EcnClassic, EcnPerSegment, EcnAccurate, BestEffortKind, Literal["off", "classic", "per-segment", "accurate"]]
    pacing: Union[PacingWindow, PacingRate, BestEffortKind, Literal["off", "window"]]
    fast_open: Union[FastOpenOn, BestEffortKind, Literal["off", "on"]]
    transactions: Union[TransactionsOn, BestEffortKind, Literal["off", "on"]]
    sharing: Union[SharingOn, BestEffortKind, Literal["off", "on"]]
    careful_resume: Union[CarefulResumeOn, BestEffortKind, Literal["off", "on"]]
    nagle: bool
    error_reports: Literal["ignore", "resend"]
    report_copies: int
    report_resend: Literal["whole", "packet"]
    path_mtu: Literal["discover", "ignore"]
    packet_size: Union[PacketSizeOptimum, PacketSizeKind, Literal["fixed", "optimum"]]
    cwnd_unit: Literal["bytes", "packets"]

_MiddleboxSplitRequired = TypedDict("_MiddleboxSplitRequired", {"kind": Literal["split"]})


class MiddleboxSplit(_MiddleboxSplitRequired, total=False):
    """Splits connections: two real ones back to back, each with its own transport (RFC 3135 §2.4).

    accept :
        Time when the opener is answered. Default: "early".

    buffer :
        Buffer for each direction of a connection until the other endpoint has acknowledged the data. Default: "6291456 B".

    sessions :
        Connections at the same time. The SYN of a further connection is dropped. Default: 100000.

    half_open :
        Connections among them that may be not yet open on both sides. Default: 4096.

    idle :
        Time without a packet after which state is discarded. Default: "7440 s".

    fails_at :
        Instant when all state is lost, as when the proxy restarts. Default: never.

    opener :
        Transport towards the opener. Missing keys are those of `[tcp]`.

    listener :
        Transport towards the other endpoint. Missing keys are those of `[tcp]`.
    """

    accept: Literal["early", "late"]
    buffer: str
    sessions: int
    half_open: int
    idle: str
    fails_at: str
    opener: Config
    listener: Config

_MiddleboxCacheRequired = TypedDict("_MiddleboxCacheRequired", {"kind": Literal["cache"]})


class MiddleboxCache(_MiddleboxCacheRequired, total=False):
    """Stores answers, and serves repeated requests for the same object (a cache, on board or at a gateway).

    room :
        Size of the storage for answers. Default: "1000000000 B".

    buffer :
        Buffer for each direction of a connection until the other endpoint has acknowledged the data. Default: "6291456 B".

    sessions :
        Connections at the same time. The SYN of a further connection is dropped. Default: 100000.

    idle :
        Time without a packet after which the state of a connection is discarded. Default: "7440 s".

    opener :
        Transport towards the client. Missing keys are those of `[tcp]`.

    listener :
        Transport towards the origin. Missing keys are those of `[tcp]`.
    """

    room: str
    buffer: str
    sessions: int
    idle: str
    opener: Config
    listener: Config

_MiddleboxSpoofRequired = TypedDict("_MiddleboxSpoofRequired", {"kind": Literal["spoof"]})


class MiddleboxSpoof(_MiddleboxSpoofRequired, total=False):
    """Acknowledges data early, keeps copies, and repairs losses behind it (RFC 3135 §3.1.3).

    buffer :
        Buffer for each direction of a connection until the receiver acknowledges the data. Default: "6291456 B".

    window :
        Bytes in flight from the proxy to the receiver: the bandwidth-delay product of the hop. Default: "6291456 B".

    direction :
        Direction of the data that is acknowledged early. Default: "both".

    sessions :
        Directions of connections with copies at the same time. Other data passes unchanged. Default: 100000.

    idle :
        Time without a packet after which state is discarded. Default: "7440 s".
    """

    buffer: str
    window: str
    direction: Literal["both", "to-receiver", "to-sender"]
    sessions: int
    idle: str

_MiddleboxSatpepRequired = TypedDict("_MiddleboxSatpepRequired", {"kind": Literal["satpep"], "rate": str})


class MiddleboxSatpep(_MiddleboxSatpepRequired, total=False):
    """One of two gateways that split connections and run a separate protocol between them (Velenis et al. 2002).

    rate :
        Rate of the satellite link in the direction away from this gateway.

    rtt :
        Round trip between the gateways, until it is measured. Default: "600 ms".

    interval :
        Shortest time over which the use of the link is measured. A longer round trip takes its place. Default: "200 ms".

    target :
        Share of the link that is distributed. Default: 0.95.

    slow_start :
        Whether to start with one packet, double each round trip, and start again after a timeout. Default: false.

    nack_probe :
        Whether to ask about the last packets after a round trip and 50 ms of silence, instead of waiting for the timeout. Default: true.

    buffer :
        Buffer for each direction of a connection. Default: "6291456 B".

    sessions :
        Connections at the same time. The SYN of a further connection is dropped. Default: 100000.

    idle :
        Time without a packet after which state is discarded. Default: "7440 s".

    terrestrial :
        Transport towards the host on its side. Missing keys are those of `[tcp]`.
    """

    rtt: str
    interval: str
    target: Union[str, float]
    slow_start: bool
    nack_probe: bool
    buffer: str
    sessions: int
    idle: str
    terrestrial: Config

_MiddleboxSnoopRequired = TypedDict("_MiddleboxSnoopRequired", {"kind": Literal["snoop"]})


class MiddleboxSnoop(_MiddleboxSnoopRequired, total=False):
    """Keeps copies of data in front of a lossy link, and repairs losses that duplicate acknowledgements report (Balakrishnan et al. 1995).

    buffer :
        Buffer for each direction of a connection. Data that does not fit passes without a copy. Default: "6291456 B".

    direction :
        Direction of the data that it copies. Default: "to-receiver".

    timeout_min :
        Shortest time before it retransmits a segment by timer. Default: "20 ms".

    sessions :
        Directions of connections with copies at the same time. Other data passes unchanged. Default: 100000.

    idle :
        Time without a packet after which state is discarded. Default: "7440 s".
    """

    buffer: str
    direction: Literal["both", "to-receiver", "to-sender"]
    timeout_min: str
    sessions: int
    idle: str

_MiddleboxFreezeRequired = TypedDict("_MiddleboxFreezeRequired", {"kind": Literal["freeze"]})


class MiddleboxFreeze(_MiddleboxFreezeRequired, total=False):
    """Holds data and closes senders' windows during an outage of the link, which then does not look like congestion (M-TCP; RFC 3135 §3.2.2).

    direction :
        Direction of the data that is held. Default: "to-receiver".

    buffer :
        Bytes that it holds per connection. Further bytes are lost. Default: "6291456 B".

    sessions :
        Connections that it can freeze at the same time. Packets of other connections pass unchanged. Default: 100000.

    idle :
        Time without a packet after which state is discarded. Default: "7440 s".
    """

    direction: Literal["both", "to-receiver", "to-sender"]
    buffer: str
    sessions: int
    idle: str

_MiddleboxBeenRequired = TypedDict("_MiddleboxBeenRequired", {"kind": Literal["been"], "role": Literal["satellite", "gateway"]})


class MiddleboxBeen(_MiddleboxBeenRequired, total=False):
    """Reports packets that the uplink corrupts to their source, and estimates its error rate (BEEN): a satellite or its gateway.

    role :
        Part of BEEN at this node.

    window :
        Gateway: records per estimate. Default: 10.

    scope :
        Gateway: packets that share an estimate. Default: "uplink".

    beta :
        Gateway: weight of a new estimate in the mean. Default: 0.2.

    ewma_start :
        Gateway: first value of the mean. Default: "first-sample".

    mle_unit :
        Gateway: unit of packet sizes and of the error rate. Default: "byte".

    mle_clamp :
        Gateway: whether a window without arrivals counts as a window with half a packet. Otherwise its error rate is 1. Default: false.

    cold :
        Gateway: estimate before its first window is full. Default: "literal".

    prior :
        Gateway: estimate from earlier traffic; 0: none. Default: 0.0.

    lifetime :
        Gateway: time that it remembers a packet; at most twice that. Default: "1 s".

    records :
        Satellite: records on a packet to the gateway. Default: 1.

    records_when_long :
        Satellite: records on a packet if more than eight wait. Default: 4.

    inter_satellite :
        Satellite: whether numbers stay on packets to satellites that know BEEN, which then report corruption by the links in between. Default: false.

    option_bytes :
        Whether numbers and records make packets longer, by 8 B each: on the uplink of a gateway, on the downlink of a satellite. Default: false.
    """

    window: int
    scope: Literal["uplink", "flow"]
    beta: Union[str, float]
    ewma_start: Literal["first-sample", "zero"]
    mle_unit: Literal["byte", "bit"]
    mle_clamp: bool
    cold: Literal["literal", "partial"]
    prior: Union[str, float]
    lifetime: str
    records: int
    records_when_long: int
    inter_satellite: bool
    option_bytes: bool

_MiddleboxElnRequired = TypedDict("_MiddleboxElnRequired", {"kind": Literal["eln"]})


class MiddleboxEln(_MiddleboxElnRequired, total=False):
    """Marks duplicate acknowledgements that ask for corrupted segments (ELN).

    option_bytes :
        Whether the mark makes a packet longer, by 8 B. Default: false.
    """

    option_bytes: bool

_MiddleboxEtenRequired = TypedDict("_MiddleboxEtenRequired", {"kind": Literal["eten"]})


class MiddleboxEten(_MiddleboxEtenRequired, total=False):
    """Notifies sources of corrupted packets, backward or forward, or of the probability to survive (ETEN, CETEN).

    role :
        Part of ETEN at this node. Default: "hop".

    notice :
        Notification of the source. Default: "backward".

    option_bytes :
        Whether numbers and marks make packets longer, by 8 B. Default: false.
    """

    role: Literal["hop", "receiver"]
    notice: Literal["backward", "forward", "cumulative"]
    option_bytes: bool

_MiddleboxDpsmRequired = TypedDict("_MiddleboxDpsmRequired", {"kind": Literal["dpsm"]})


class MiddleboxDpsm(_MiddleboxDpsmRequired, total=False):
    """Adapts the packet sizes of senders to the corrupted arrivals (DPSM).

    feedback :
        Packets between two decisions. Default: 8.

    up :
        Factor of the size without an error, 1 to 100. Default: 1.25.

    down :
        Factor of the size for each error, 0 to 1. Default: 0.8.

    additive :
        Whether a decision without an error adds 64 B instead of the factor. Default: false.

    min :
        The smallest payload. Default: "40 B".

    max :
        The largest payload, which is also the first: the sender's `smss`. Default: "1460 B".
    """

    feedback: int
    up: float
    down: float
    additive: bool
    min: str
    max: str

_MiddleboxXcpRequired = TypedDict("_MiddleboxXcpRequired", {"kind": Literal["xcp"]})


class MiddleboxXcp(_MiddleboxXcpRequired, total=False):
    """Sets the window change of each sender with XCP (Katabi, Handley and Rohrs 2002).

    alpha :
        Share of the free rate that is distributed per round trip. Default: 0.4.

    beta :
        Share of the standing queue that is drained. Default: 0.226.

    gamma :
        Smallest share of the traffic that is redistributed. Default: 0.1.

    first :
        Interval before the first round trip is known. Default: "100 ms".
    """

    alpha: float
    beta: float
    gamma: float
    first: str

_MiddleboxRcpRequired = TypedDict("_MiddleboxRcpRequired", {"kind": Literal["rcp"]})


class MiddleboxRcp(_MiddleboxRcpRequired, total=False):
    """Sets one rate for all senders with RCP (Dukkipati 2007).

    alpha :
        Gain of the free rate. Default: 0.4.

    beta :
        Gain of the queue. Default: 0.226.

    interval :
        Longest time between two changes of the rate. The mean round trip applies if it is shorter. Default: "10 ms".

    start :
        Share of the link's rate at the start. Default: 0.05.

    first :
        Mean round trip before the first sample. Default: "100 ms".
    """

    alpha: float
    beta: float
    interval: str
    start: Union[str, float]
    first: str

_MiddleboxErasureRequired = TypedDict("_MiddleboxErasureRequired", {"kind": Literal["erasure"], "role": Literal["encoder", "decoder"]})


class MiddleboxErasure(_MiddleboxErasureRequired, total=False):
    """One of two middleboxes with an erasure code between them: repair packets, k of n or rateless (RFC 5510, RFC 5053).

    role :
        End at this node.

    direction :
        Direction of the packets that are coded or decoded. Default: "both".

    code :
        Encoder: the code. Default: "mds".

    k :
        Encoder: packets per block. Default: 20.

    repair :
        Encoder: repair packets of a full block; 0: no coding. Default: 2.

    wait :
        Encoder: time after which an open block is closed. Default: "50 ms".

    overhead :
        Encoder: size of a repair packet beyond the largest packet of its block. Default: "8 B".

    order :
        Decoder: time when packets leave it. Default: "at-once".

    timeout :
        Decoder: time without an arrival after which a block is abandoned. Default: "500 ms".

    blocks :
        Decoder: blocks of a pair that it remembers. Default: 64.
    """

    direction: Literal["both", "to-receiver", "to-sender"]
    code: Literal["mds", "rateless"]
    k: int
    repair: int
    wait: str
    overhead: str
    order: Literal["at-once", "in-order"]
    timeout: str
    blocks: int

_MiddleboxCompressRequired = TypedDict("_MiddleboxCompressRequired", {"kind": Literal["compress"], "role": Literal["compressor", "decompressor"]})


class MiddleboxCompress(_MiddleboxCompressRequired, total=False):
    """One of two middleboxes that compress TCP headers on the links between them (RFC 1144, RFC 2507, RFC 6846).

    role :
        End at this node.

    direction :
        Direction of the packets that are compressed. Default: "both".

    scheme :
        Compression scheme, the same at both ends. Default: "vj".

    header :
        Compressor: size of a compressed header; 4 B, with `rohc` 8 B.

    contexts :
        Compressor: contexts per decompressor; 0: no compression. Default: 16.

    window :
        Compressor, with `rohc`: consecutive losses that do no damage, and full headers at the start of a context. Default: 4.

    refresh :
        Compressor, with `rohc`: time after which a header is full again without a request. Default: "5 s".

    twice :
        Decompressor, with `iphc`: whether it adds a difference once more if it does not fit. Default: true.

    again :
        Decompressor, with `iphc` and `rohc`: time between requests for a full header. Default: "500 ms".
    """

    direction: Literal["both", "to-receiver", "to-sender"]
    scheme: Literal["vj", "iphc", "rohc"]
    header: str
    contexts: int
    window: int
    refresh: str
    twice: bool
    again: str

_MiddleboxOwnRequired = TypedDict("_MiddleboxOwnRequired", {"kind": Literal["own"], "name": str})


class MiddleboxOwn(_MiddleboxOwnRequired, total=False):
    """A custom middlebox, registered by the program that runs the scenario: a class in Python, or a type in Rust.

    name :
        Name of the middlebox. The program that runs the scenario registers it: a scenario contains no code.

    code :
        Hash that distinguishes it from others of this name in a resolved scenario. Written values are ignored. Default: "".
    """

    code: str


class Node(TypedDict, total=False):
    """Node where links meet.

    kind :
        Treatment of corrupted packets by this node. Default: "router".

    middlebox :
        Middleboxes at the node, in order. Each sees every packet that passes through. Default: [].
    """

    kind: Literal["router", "bent-pipe", "processing"]
    middlebox: List[Union[MiddleboxImpair, MiddleboxAckFilter, MiddleboxRefwa, MiddleboxEwa, MiddleboxAckReconstruct, MiddleboxSplit, MiddleboxCache, MiddleboxSpoof, MiddleboxSatpep, MiddleboxSnoop, MiddleboxFreeze, MiddleboxBeen, MiddleboxEln, MiddleboxEten, MiddleboxDpsm, MiddleboxXcp, MiddleboxRcp, MiddleboxErasure, MiddleboxCompress, MiddleboxOwn, Literal["impair", "ack-filter", "refwa", "ewa", "ack-reconstruct", "split", "cache", "spoof", "snoop", "freeze", "eln", "eten", "dpsm", "xcp", "rcp"]]]

_SkyOverGeoRequired = TypedDict("_SkyOverGeoRequired", {"geo": float})


class SkyOverGeo(_SkyOverGeoRequired, total=False):
    """Geostationary satellite.

    geo :
        Longitude in degrees east. West is negative.

    inclination :
        Inclination of the orbit in degrees. An inclined satellite moves in a figure of eight once a day. Default: 0.0.
    """

    inclination: float

_SkyOverElementsRequired = TypedDict("_SkyOverElementsRequired", {"elements": str})


class SkyOverElements(_SkyOverElementsRequired, total=False):
    """Satellites of a catalogue, with SGP4.

    elements :
        File of two-line elements or OMM (JSON, CSV, XML, KVN) beside the scenario or in a folder there.

    bad :
        Treatment of invalid records, and of elements older than `elements_age_max`. Default: "refuse".
    """

    bad: Literal["refuse", "skip"]

_OwnShellRequired = TypedDict("_OwnShellRequired", {"planes": int, "per_plane": int, "inclination": float})


class OwnShell(_OwnShellRequired, total=False):
    """Shell: planes of equal orbits. In Walker's notation i: T/P/F, P is `planes`, T / P is `per_plane` and F is `phasing`.

    planes :
        Number of planes.

    per_plane :
        Satellites per plane.

    altitude_km :
        Altitude of the semi-major axis above a sphere of 6378.137 km, in km. For circular orbits, the altitude of the orbit. Required without `mean_motion`.

    mean_motion :
        Mean motion in revolutions per day, in place of the altitude.

    inclination :
        Inclination in degrees.

    pattern :
        Spread of the planes around the equator. Default: "delta".

    phasing :
        Walker's F: each plane is F 360 deg / T ahead of the plane before it. Default: 0.

    odd_planes :
        Phase of every other plane in degrees, in place of `phasing`.

    spacing :
        Distance between planes in degrees. Default: evenly spread.

    node :
        Right ascension of the ascending node of the first plane at the start, in degrees. Default: 0.0.

    anomaly :
        Mean anomaly of the first satellite at the start, in degrees. Default: 0.0.

    eccentricity :
        Eccentricity; 0 for circular orbits. Default: 0.0.

    perigee :
        Argument of the perigee in degrees. Default: 0.0.

    motion :
        Motion of the satellites. Default: "j2".
    """

    altitude_km: float
    mean_motion: float
    pattern: Literal["delta", "star"]
    phasing: int
    odd_planes: float
    spacing: float
    node: float
    anomaly: float
    eccentricity: float
    perigee: float
    motion: Literal["j2", "kepler", "sgp4"]


class SkyOverShells(TypedDict):
    """Custom constellation.

    shells :
        Shells. Defaults for their satellites: an elevation of 25 deg or more, and links by `between_satellites = "grid"`.
    """

    shells: List[OwnShell]


class ConstellationSelectionTable(TypedDict, total=False):
    """Rules for the satellite that a place uses, by kind of place. A rule chooses among the satellites that reach most of the other ends of the place's flows.

    user :
        Places other than gateways. Default: "any".

    gateway :
        Gateways. A gateway with a rule has one antenna. Default: "any".

    place :
        Single places, by name.
    """

    user: Literal["any", "highest", "nearest", "longest", "periodic", "starlink"]
    gateway: Literal["any", "highest", "nearest", "longest", "periodic", "starlink"]
    place: Dict[str, Literal["any", "highest", "nearest", "longest", "periodic", "starlink"]]


class ConstellationBetweenSatellitesTable(TypedDict, total=False):
    """Links between satellites in detail.

    pairs :
        Linked pairs of satellites, by name. Other satellites have no links. Default: +Grid. Default: [].

    offset :
        Offset of links between planes: each leads this many places ahead of the satellite with the same place in the next plane. Default: 0.

    seam :
        Whether links cross the seam of a star. Default: false.

    polar_cutoff :
        Latitude in degrees beyond which links between planes are off. 90: always on. Default: that of the constellation.

    max_km :
        Largest length of a link in km. Default: limited only by the Earth.

    above_km :
        Least altitude of the line of sight in km. 80 km clears most of the atmosphere; ns-2 has 150 km. Default: 80.0.
    """

    pairs: List[Union[Tuple[str, str], List[str]]]
    offset: int
    seam: bool
    polar_cutoff: float
    max_km: float
    above_km: float

_SkyFailureOptional = TypedDict("_SkyFailureOptional", {"from": str}, total=False)


class SkyFailure(_SkyFailureOptional, total=False):
    """Failure of a satellite, gateway or terminal with all its links, or of the link between two nodes.

    satellite :
        Name of the satellite, as in `bentpipe sky` or the links of the resolved scenario.

    gateway :
        Name of the gateway.

    terminal :
        Place whose terminal fails, with all its links to satellites. Other constellations have other terminals.

    link :
        Two nodes whose link fails: satellites or places. Default: [].

    from :
        Start of the failure. Default: "0 s".

    to :
        End of the failure. Default: the end of the run.
    """

    satellite: str
    gateway: str
    terminal: str
    link: List[str]
    to: str

_HopRatePointsRequired = TypedDict("_HopRatePointsRequired", {"points": List[Union[Tuple[str, str], List[str]]]})


class HopRatePoints(_HopRatePointsRequired, total=False):
    """Bit rate that changes in steps.

    points :
        Pairs of instant and rate, increasing in time, the first at 0 s. Each rate holds until the next instant.

    every :
        Period after which the points repeat. Default: no repetition; the last point holds.
    """

    every: str

_HopRateFileRequired = TypedDict("_HopRateFileRequired", {"file": str})


class HopRateFile(_HopRateFileRequired, total=False):
    """Measured bit rate.

    file :
        File beside the scenario or in a folder there. The resolved scenario contains its content as points.

    format :
        Format of the file. Default: "csv".

    column :
        Name of the column with the rate; it ends in `_bps`, `_kbps`, `_mbps` or `_gbps`. Default: the only column beside the time.

    every :
        Period after which the values repeat. Default: no repetition; the last value holds. A Mahimahi trace always repeats.
    """

    format: Literal["csv", "mahimahi"]
    column: str
    every: str


class ClassAccess(TypedDict, total=False):
    """Capacity of a request class.

    constant :
        Rate that the class has without asking (CRA). Default: "0 bit/s".

    rate_based :
        Limit of the rate that it has and may ask for together (CRA and RBDC). Default: "0 bit/s".

    guaranteed :
        Part of the rate asked for that a plan serves before all other requests (least RBDC). Default: "0 bit/s".

    volume_based :
        Whether it asks for the bytes that wait (VBDC). Default: false.
    """

    constant: str
    rate_based: str
    guaranteed: str
    volume_based: bool

_AccessOptional = TypedDict("_AccessOptional", {"class": List[ClassAccess]}, total=False)


class Access(_AccessOptional, total=False):
    """Capacity of a terminal in its medium.

    constant :
        Rate that the terminal has without asking (CRA). Default: "0 bit/s".

    rate_based :
        Limit of the rate that it has and may ask for together (CRA and RBDC). Default: "0 bit/s".

    guaranteed :
        Part of the rate asked for that a plan serves before all other requests (least RBDC). Default: "0 bit/s".

    volume_based :
        Whether it asks for the bytes that wait (VBDC). Default: false.

    class :
        Request classes: number 0, 1, ... Each class asks for its own packets, and a plan serves class 0 first. The queue has as many classes and decides which packet leaves. Default: one class with the keys above. Default: [].

    weight :
        Share in a phase of the plan that is short of slots, and in the turns on the forward carrier to the same terminal. Default: 1.

    random :
        Use of random access. Default: `"requests"` if the medium has random access, else `"none"`.
    """

    constant: str
    rate_based: str
    guaranteed: str
    volume_based: bool
    weight: int
    random: Literal["none", "requests", "data"]

_HopEsN0TableRequired = TypedDict("_HopEsN0TableRequired", {"points": List[Union[Tuple[str, str], List[str]]]})


class HopEsN0Table(_HopEsN0TableRequired, total=False):
    """A signal that changes in steps.

    points :
        Pairs of instant and level, increasing in time, the first at 0 s. Each holds until the next.

    every :
        Period after which the points repeat. Default: no repetition; the last point holds.
    """

    every: str

_SpreadUniformRequired = TypedDict("_SpreadUniformRequired", {"kind": Literal["uniform"], "to": str})

_SpreadUniformOptional = TypedDict("_SpreadUniformOptional", {"from": str}, total=False)


class SpreadUniform(_SpreadUniformRequired, _SpreadUniformOptional, total=False):
    """Uniform distribution: all delays of a range are equally likely.

    from :
        Shortest. Default: "0 s".

    to :
        Longest.
    """


class SpreadExponential(TypedDict):
    """Exponential distribution: many short delays and few long ones.

    mean :
        Mean.
    """

    kind: Literal["exponential"]
    mean: str


class SpreadQuantiles(TypedDict):
    """Linear interpolation between measured quantiles, without delays below the first or above the last.

    points :
        Pairs of a share of the time and the delay that is not exceeded in it, increasing: `["95 %", "12 ms"]`.
    """

    kind: Literal["quantiles"]
    points: List[Union[Tuple[Union[str, float], str], List[Union[str, float]]]]

_HopJitterTableRequired = TypedDict("_HopJitterTableRequired", {"delay": Union[SpreadUniform, SpreadExponential, SpreadQuantiles], "every": str})


class HopJitterTable(_HopJitterTableRequired, total=False):
    """Varying delay in addition to the propagation delay. A value holds for `every`, then the next one is drawn. Packets never overtake: a packet that would arrive before the one ahead of it arrives together with it.

    delay :
        Distribution of the values.

    every :
        Time for which a value holds.

    offset :
        Instant when a value ends, from the start of the run. Default: "0 s".

    correlation :
        Time after which the correlation of the normal process behind the values has fallen to 1/e; that of uniform and exponential values falls a little faster. Default: values are independent. Default: "0 s".

    both_ways :
        Whether both directions of the link have the same values, as when a path becomes longer. Otherwise each draws separately. Default: false.
    """

    offset: str
    correlation: str
    both_ways: bool

_SlotRequired = TypedDict("_SlotRequired", {"wait": List[str]})


class Slot(_SlotRequired, total=False):
    """Measured slot. Its delays are those of one direction, in addition to the delay of the link.

    base :
        Least delay. Default: "0 s".

    wait :
        Waits above the base that are not exceeded in 0, 1, 5, 25, 50, 75, 95, 99, 99.9 and 100 % of the time.

    slow :
        Share of the time with slow waits. They are the longest of the slot, and follow each other. Default: 0.0.

    loss :
        Probability that a packet is lost: the share of the time with losses. Default: 0.0.

    rate :
        Rate, as a share of that of the link. Default: 1.0.
    """

    base: str
    slow: Union[str, float]
    loss: Union[str, float]
    rate: Union[str, float]

_SlotsRequired = TypedDict("_SlotsRequired", {"every": str})


class Slots(_SlotsRequired, total=False):
    """Path in slots, as of a satellite network that assigns satellites and capacity at fixed instants. Each slot is a measured one, drawn with replacement, so its base, waits, losses and rate belong together. Both directions of a link have the same slots and waits. Packets never overtake.

    table :
        Bundled table of measured slots, in place of `rows`.

    rows :
        Measured slots. Default: [].

    every :
        Length of a slot.

    offset :
        Instant when a slot ends, from the start of the run. Default: "0 s".

    neighbours :
        Number of measured slots that keep their order: the next ones are drawn together. Neighbours are alike. Default: 4.

    hold :
        Time for which a wait holds. Default: fifteen frames of 4/3 ms. Default: "20 ms".

    correlation :
        Time after which the correlation of the process behind slow waits has fallen to 1/e. Default: "250 ms".

    burst :
        Mean time of a loss: all packets that leave in it are lost. 0 s: each packet is lost by itself. Default: "2 ms".

    base :
        Whether the base of each slot counts. Otherwise slots have their waits only, as where the length of the path follows from a sky. Default: true.
    """

    table: Literal["starlink-2024"]
    rows: List[Slot]
    offset: str
    neighbours: int
    hold: str
    correlation: str
    burst: str
    base: bool

_TokenBucketRequired = TypedDict("_TokenBucketRequired", {"rate": str, "burst": str})


class TokenBucket(_TokenBucketRequired, total=False):
    """Token bucket, full at the start: it fills at a rate, up to its size, and each packet takes as many tokens as it has bytes, without framing. Any interval then passes at most the rate times its length plus one bucket.

    rate :
        Rate of the tokens.

    burst :
        Size of the bucket: bytes that pass immediately after a pause. At least the largest packet of the flows on the link. Larger packets are dropped (`policed`).

    after :
        Volume that passes before the bucket limits packets, such as the quota of a plan. Default: "0 B".
    """

    after: str

_HopQueueDropTailRequired = TypedDict("_HopQueueDropTailRequired", {"kind": Literal["drop-tail"]})


class HopQueueDropTail(_HopQueueDropTailRequired, total=False):
    """First in, first out. Arrivals at a full queue are dropped.

    limit :
        Queue limit. Default: "1 bdp".
    """

    limit: str

_HopQueueRedRequired = TypedDict("_HopQueueRedRequired", {"kind": Literal["red"]})


class HopQueueRed(_HopQueueRedRequired, total=False):
    """Random early detection: arrivals are dropped more often, the longer the queue is on average (Floyd and Jacobson 1993).

    limit :
        Queue limit. Packets above it are dropped. Default: "1 bdp".

    min_th :
        Average length in packets above which packets are dropped. Default: 5.

    max_th :
        Average length in packets at which the probability of a drop reaches `max_p`. Default: 15.

    max_p :
        Probability of a drop when the average reaches `max_th`. Default: 0.1.

    weight :
        Weight of a new length in the moving average (`w_q`). Default: 0.002.

    gentle :
        Whether the probability rises to 1 between `max_th` and twice that. Otherwise it is 1 immediately. Default: true.

    adaptive :
        Whether `max_p` changes every 0.5 s to keep the average between the thresholds (Floyd, Gummadi and Shenker 2001). Default: false.

    wait :
        Whether no packet is dropped until 1 / p packets have passed since the last drop, as in ns-2. Otherwise drops are spread over 1 to 1 / p packets. Default: false.

    byte_mode :
        Whether the average counts bytes. Thresholds are then multiplied by `mean_packet`, and large packets are dropped more often. Default: false.

    mean_packet :
        Average size of a packet, headers included: sets the fall of the average while the link is idle, and the unit of the thresholds in byte mode. Default: "500 B".

    ecn :
        Whether ECN-capable packets are marked instead of dropped early (RFC 3168). Default: false.
    """

    limit: str
    min_th: int
    max_th: int
    max_p: Union[str, float]
    weight: Union[str, float]
    gentle: bool
    adaptive: bool
    wait: bool
    byte_mode: bool
    mean_packet: str
    ecn: bool

_HopQueueCodelRequired = TypedDict("_HopQueueCodelRequired", {"kind": Literal["codel"]})


class HopQueueCodel(_HopQueueCodelRequired, total=False):
    """Controlled delay: drops from the head of the queue when packets have waited too long for an interval (RFC 8289).

    limit :
        Queue limit. Packets above it are dropped. Default: "1 bdp".

    target :
        Target of the standing waiting time. Default on a link that asks a medium for capacity: R + 2 T, above the wait for a grant. Default: "5 ms".

    interval :
        Time that packets must wait longer than the target before a drop; about the largest round trip, which over a GEO satellite is 600 ms. Default on a link that asks a medium for capacity: the target, the propagation there and back, and the control interval. Default: "100 ms".

    ecn :
        Whether ECN-capable packets are marked instead of dropped (RFC 3168). Default: false.
    """

    limit: str
    target: str
    interval: str
    ecn: bool

_HopQueueFqCodelRequired = TypedDict("_HopQueueFqCodelRequired", {"kind": Literal["fq-codel"]})


class HopQueueFqCodel(_HopQueueFqCodelRequired, total=False):
    """Flows are hashed to queues that take turns by bytes, each under CoDel; flows that send little go first (RFC 8290).

    limit :
        Limit of all queues together. Packets above it are dropped from the longest. Default on a link that asks a medium for capacity: the bytes that the link carries in the default interval. Default: "10240 packets".

    queues :
        Number of queues. Default: 1024.

    quantum :
        Bytes that a queue sends per turn. Default: "1514 B".

    target :
        Target of the standing waiting time. Default on a link that asks a medium for capacity: R + 2 T, above the wait for a grant. Default: "5 ms".

    interval :
        Time that packets must wait longer than the target before a drop; about the largest round trip, which over a GEO satellite is 600 ms. Default on a link that asks a medium for capacity: the target, the propagation there and back, and the control interval. Default: "100 ms".

    ecn :
        Whether ECN-capable packets are marked instead of dropped (RFC 3168). Default: true.
    """

    limit: str
    queues: int
    quantum: str
    target: str
    interval: str
    ecn: bool

_HopQueuePieRequired = TypedDict("_HopQueuePieRequired", {"kind": Literal["pie"]})


class HopQueuePie(_HopQueuePieRequired, total=False):
    """Drops arrivals with a probability set by a controller of the waiting time (RFC 8033).

    limit :
        Queue limit. Packets above it are dropped. Default: "1 bdp".

    target :
        Target of the waiting time. Default on a link that asks a medium for capacity: R + 2 T, above the wait for a grant. Default: "15 ms".

    update :
        Time between updates of the probability. Default: "15 ms".

    burst :
        Time without drops after a quiet time. Default: "150 ms".

    derandomise :
        Whether drops are neither too close nor too far apart (RFC 8033 §5.4). Default: true.

    mean_packet :
        Average size of a packet, headers included. While at most two of them wait, none is dropped. Default: "1000 B".

    ecn :
        Whether ECN-capable packets are marked instead of dropped while the probability is below 0.1 (RFC 3168). Default: false.
    """

    limit: str
    target: str
    update: str
    burst: str
    derandomise: bool
    mean_packet: str
    ecn: bool

_HopQueueDualpi2Required = TypedDict("_HopQueueDualpi2Required", {"kind": Literal["dualpi2"]})


class HopQueueDualpi2(_HopQueueDualpi2Required, total=False):
    """A queue of a millisecond for L4S beside one for classic traffic, coupled so that both get similar rates (RFC 9332).

    limit :
        Limit of both queues together. Packets above it are dropped. Default: "10000 packets".

    target :
        Target of the longer waiting time of both queues. Default: "15 ms".

    update :
        Time between updates of the probability. Default: "16 ms".

    alpha :
        Weight of the distance from the target, per second. Default: 0.16015625.

    beta :
        Weight of the change of the waiting time, per second. Default: 3.19921875.

    max_rtt :
        Longest round trip, from which `target`, `update`, `alpha` and `beta` follow (RFC 9332 A.1); not with these keys. The defaults are stable up to 100 ms. A GEO satellite needs 600 ms.

    typical_rtt :
        Typical round trip, a sixth of `max_rtt`; one of the two.

    coupling :
        Marks of L4S for each unit of p', whose square is the probability of a classic drop or mark (k). Default: 2.0.

    classic_share :
        Share of the link for the C queue while both queues wait. Default: 0.1.

    native :
        Marks of L4S by the wait of the packet itself. Default: "step".

    step :
        Waiting time above which packets of L4S are marked. It should exceed a frame of the link, or the time between grants, by a millisecond. Default: "1 ms".

    step_min :
        Packets in the L queue up to which the step marks none. Default: 0.

    overload :
        Reaction to traffic that marks do not slow down. Default: "drop".

    spread :
        Whether drops and marks are evenly spread. Otherwise they are drawn. Default: false.
    """

    limit: str
    target: str
    update: str
    alpha: float
    beta: float
    max_rtt: str
    typical_rtt: str
    coupling: float
    classic_share: Union[str, float]
    native: Literal["step", "ramp"]
    step: str
    step_min: int
    overload: Literal["drop", "overflow"]
    spread: bool


class Class(TypedDict, total=False):
    """A class of a queue.

    limit :
        Queue limit of the class. Default: "1 bdp".
    """

    limit: str

_HopQueuePriorityRequired = TypedDict("_HopQueuePriorityRequired", {"kind": Literal["priority"], "class": List[Class]})


class HopQueuePriority(_HopQueuePriorityRequired, total=False):
    """Strict priority: a class is served if no packet waits in the classes before it.

    push_out :
        Whether the limit of the first class is that of all together. A packet that finds the queue full then replaces the last packet of the lowest class below its class. Default: false.

    class :
        The classes, the highest first: number 0, 1, ...
    """

    push_out: bool


class WeightedClass(TypedDict, total=False):
    """A class of a queue that shares the link by weight.

    weight :
        Share of the link, relative to the others. Default: 1.

    limit :
        Queue limit of the class. Default: "1 bdp".
    """

    weight: int
    limit: str

_HopQueueWrrRequired = TypedDict("_HopQueueWrrRequired", {"kind": Literal["wrr"], "class": List[WeightedClass]})


class HopQueueWrr(_HopQueueWrrRequired):
    """Weighted round robin: classes take turns, each with as many packets as its weight.

    class :
        The classes: number 0, 1, ...
    """

_HopQueueDrrRequired = TypedDict("_HopQueueDrrRequired", {"kind": Literal["drr"], "class": List[WeightedClass]})


class HopQueueDrr(_HopQueueDrrRequired, total=False):
    """Deficit round robin: classes take turns, each with as many bytes as its weight times the quantum (Shreedhar and Varghese 1995).

    quantum :
        Bytes per turn and unit of weight; at least the largest packet is best. Default: "1500 B".

    class :
        The classes: number 0, 1, ...
    """

    quantum: str

_ErrorModelBitRequired = TypedDict("_ErrorModelBitRequired", {"kind": Literal["bit"], "rate": Union[str, float]})


class ErrorModelBit(_ErrorModelBitRequired, total=False):
    """Independent bit errors. One wrong bit, including headers and framing, corrupts the packet.

    rate :
        Bit error rate.

    effect :
        Fate of corrupted packets. Default: "corrupt".
    """

    effect: Literal["corrupt", "lose"]

_ErrorModelByteRequired = TypedDict("_ErrorModelByteRequired", {"kind": Literal["byte"], "rate": Union[str, float]})


class ErrorModelByte(_ErrorModelByteRequired, total=False):
    """Independent byte errors. One wrong byte, including headers and framing, corrupts the packet (ns-2: unit byte).

    rate :
        Byte error rate.

    effect :
        Fate of corrupted packets. Default: "corrupt".
    """

    effect: Literal["corrupt", "lose"]

_ErrorModelPacketRequired = TypedDict("_ErrorModelPacketRequired", {"kind": Literal["packet"], "rate": Union[str, float]})


class ErrorModelPacket(_ErrorModelPacketRequired, total=False):
    """Independent packet errors, for packets of any size (ns-2's default unit).

    rate :
        Packet error rate.

    effect :
        Fate of corrupted packets. Default: "corrupt".
    """

    effect: Literal["corrupt", "lose"]

_ErrorModelGilbertElliottRequired = TypedDict("_ErrorModelGilbertElliottRequired", {"kind": Literal["gilbert-elliott"], "mean_good": str, "mean_bad": str})


class ErrorModelGilbertElliott(_ErrorModelGilbertElliottRequired, total=False):
    """Good and bad states with their own error rates. A state lasts for an exponential time or for a geometric number of packets (Gilbert 1960, Elliott 1963).

    unit :
        Unit of the error rates. Default: "packet".

    mean_good :
        Mean duration of the good state, in time or in packets.

    mean_bad :
        Mean duration of the bad state, in the same measure as `mean_good`.

    rate_good :
        Error rate in the good state. Default: 0.0.

    rate_bad :
        Error rate in the bad state. Default: 1.0.

    effect :
        Fate of corrupted packets. Default: "corrupt".
    """

    unit: Literal["bit", "byte", "packet"]
    rate_good: Union[str, float]
    rate_bad: Union[str, float]
    effect: Literal["corrupt", "lose"]

_ErrorModelBurstsRequired = TypedDict("_ErrorModelBurstsRequired", {"kind": Literal["bursts"], "mean_loss": Union[str, float], "mean_burst": str})


class ErrorModelBursts(_ErrorModelBurstsRequired, total=False):
    """Bursts that corrupt every packet, fitted to a measured mean: a Gilbert-Elliott channel without errors in the good state.

    mean_loss :
        Share of corrupted packets, below 1.

    mean_burst :
        Mean length of a burst, in packets (the state changes from packet to packet) or in time (the state changes by the clock).

    effect :
        Fate of corrupted packets. Default: "corrupt".
    """

    effect: Literal["corrupt", "lose"]

_ErrorModelProfileRequired = TypedDict("_ErrorModelProfileRequired", {"kind": Literal["profile"], "points": List[Union[Tuple[str, Union[str, float]], List[Union[str, Union[str, float]]]]]})


class ErrorModelProfile(_ErrorModelProfileRequired, total=False):
    """Independent errors whose rate changes in steps, for errors at known instants such as handovers.

    unit :
        Unit of the error rates. Default: "packet".

    points :
        Pairs of instant and error rate, increasing in time, the first at 0 s. Each rate holds until the next instant.

    every :
        Period after which the points repeat. Default: no repetition; the last point holds.

    effect :
        Fate of corrupted packets. Default: "corrupt".
    """

    unit: Literal["bit", "byte", "packet"]
    every: str
    effect: Literal["corrupt", "lose"]

_ErrorModelTraceRequired = TypedDict("_ErrorModelTraceRequired", {"kind": Literal["trace"], "file": str})


class ErrorModelTrace(_ErrorModelTraceRequired, total=False):
    """Independent errors with a measured rate: a profile from a CSV file.

    file :
        CSV file beside the scenario or in a folder there. The resolved scenario contains its content as a profile.

    column :
        Name of the column with the error rate: a share from 0 to 1, or per cent if the name ends in `_pct`. Default: the only column beside the time.

    every :
        Period after which the values repeat. Default: no repetition; the last value holds.

    unit :
        Unit of the error rates. Default: "packet".

    effect :
        Fate of corrupted packets. Default: "corrupt".
    """

    column: str
    every: str
    unit: Literal["bit", "byte", "packet"]
    effect: Literal["corrupt", "lose"]

_ErrorModelArrivalsRequired = TypedDict("_ErrorModelArrivalsRequired", {"kind": Literal["arrivals"], "list": List[int]})


class ErrorModelArrivals(_ErrorModelArrivalsRequired, total=False):
    """Listed packets, for worked examples.

    list :
        Indices of the corrupted packets, increasing. The first packet that the link sends has index 0.

    every :
        Number of packets after which the list repeats. Default: no repetition.

    effect :
        Fate of corrupted packets. Default: "corrupt".
    """

    every: int
    effect: Literal["corrupt", "lose"]

_ErrorModelPacketTraceRequired = TypedDict("_ErrorModelPacketTraceRequired", {"kind": Literal["packet-trace"], "file": str})


class ErrorModelPacketTrace(_ErrorModelPacketTraceRequired, total=False):
    """Recorded fate of each packet, from a file.

    file :
        File beside the scenario or in a folder there. The resolved scenario contains its content as arrivals.

    format :
        Format of the file. Default: "outcomes".

    repeat :
        Whether the file repeats after its end. Otherwise, no packets are corrupted after it. Default: false.

    effect :
        Fate of corrupted packets. Default: "corrupt".
    """

    format: Literal["outcomes", "runs"]
    repeat: bool
    effect: Literal["corrupt", "lose"]


class ErrorModelKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["none"]

_InterleaveRequired = TypedDict("_InterleaveRequired", {"span": str})


class Interleave(_InterleaveRequired, total=False):
    """Block interleaver with an error-correcting code: a burst hits many codewords a little instead of few fully, at the cost of two blocks of delay. It needs errors per bit or byte that do not count packets.

    span :
        Transmission time of a block. Errors are spread over it, and the delay grows by two of it.

    codeword :
        Length of a codeword, check bytes included; at most 255 B. Default: "255 B".

    corrects :
        Wrong bytes that a codeword survives. It has twice as many check bytes. The link's rate is that of packets, without them. Default: "16 B".
    """

    codeword: str
    corrects: str

_CodingConvolutionalRequired = TypedDict("_CodingConvolutionalRequired", {"kind": Literal["convolutional"]})


class CodingConvolutional(_CodingConvolutionalRequired, total=False):
    """The convolutional code of rate 1/2 and constraint length 7, decoded softly. Packets have half of the link's rate. It corrects the link's errors per bit, or those of an Eb/N0.

    eb_n0 :
        Energy per bit of packets over noise density. Default: the link's errors are those of the channel, per bit.

    burst :
        Mean number of bits in a burst of errors that the decoder leaves. Default: 5.
    """

    eb_n0: Union[str, HopEsN0Table]
    burst: int

_CodingLdpcRequired = TypedDict("_CodingLdpcRequired", {"kind": Literal["ldpc"], "eb_n0": Union[str, HopEsN0Table]})


class CodingLdpc(_CodingLdpcRequired, total=False):
    """A low-density parity-check code with blocks of 1024 bits, by a threshold and a slope. Packets have `code_rate` of the link's rate.

    eb_n0 :
        Energy per bit of packets over noise density.

    code_rate :
        Bits of packets per transmitted bit. Default: 0.5.

    threshold :
        Signal at which half of the blocks are lost. Default: "2.2 dB".

    steepness :
        Steepness of the losses around it, a in erfc(a (Eb/N0 - threshold)) / 2, per dB. Default: 3.0.
    """

    code_rate: float
    threshold: str
    steepness: float

_AcmRequired = TypedDict("_AcmRequired", {"feedback_delay": str})


class Acm(_AcmRequired, total=False):
    """Adaptation of modulation and code to the signal: down immediately, up when the signal has been strong enough for some time.

    feedback_delay :
        Age of a report of the signal when the sender uses it: about a round trip of the link.

    every :
        Time between choices. Default: the feedback delay.

    margin :
        Margin of the reported signal above a threshold. Default: "1 dB".

    hysteresis :
        Further margin to go up. Default: "0.3 dB".

    hold :
        Consecutive choices with that margin. Default: 3.
    """

    every: str
    margin: str
    hysteresis: str
    hold: int

_CodingDvbS2Required = TypedDict("_CodingDvbS2Required", {"kind": Literal["dvb-s2"], "es_n0": Union[str, HopEsN0Table]})


class CodingDvbS2(_CodingDvbS2Required, total=False):
    """DVB-S2 with normal frames, of one modulation and code (CCM) or adaptive (ACM). The link's rate counts symbols, one per written bit: 10 Mbit/s are 10 Mbaud.

    es_n0 :
        Energy per symbol over noise density.

    modcod :
        Constant modulation and code. Default: adaptive (`acm`).

    acm :
        Adaptation of modulation and code. Default: constant.

    implementation_loss :
        Needs of a real receiver beyond the ideal thresholds, often 0.5 dB to 1.7 dB. Default: "0 dB".

    losses :
        Losses as a function of the signal. Default: "step".
    """

    modcod: Literal["QPSK 1/4", "QPSK 1/3", "QPSK 2/5", "QPSK 1/2", "QPSK 3/5", "QPSK 2/3", "QPSK 3/4", "QPSK 4/5", "QPSK 5/6", "QPSK 8/9", "8PSK 3/5", "QPSK 9/10", "8PSK 2/3", "8PSK 3/4", "8PSK 5/6", "16APSK 2/3", "8PSK 8/9", "8PSK 9/10", "16APSK 3/4", "16APSK 4/5", "16APSK 5/6", "16APSK 8/9", "16APSK 9/10", "32APSK 3/4", "32APSK 4/5", "32APSK 5/6", "32APSK 8/9", "32APSK 9/10"]
    acm: Acm
    implementation_loss: str
    losses: Literal["step", "slope", "waterfall"]

_ArqRequired = TypedDict("_ArqRequired", {"retransmissions": int})


class Arq(_ArqRequired, total=False):
    """Selective repeat on the hop, below IP: a damaged packet is requested immediately, and retransmitted ahead of waiting packets. A packet that is damaged each time is given up. Reports of damage take the propagation delay and do not get lost. The queue for copies has no limit (RFC 3366).

    retransmissions :
        Largest number of retransmissions of a packet. 3 is usual on short links, 1 on links over GEO.

    order :
        Order of packets behind a retransmitted one. Default: "in-order".

    combining :
        Whether a packet is decoded from all of its copies (hybrid ARQ), which needs `coding`. Default: "none".
    """

    order: Literal["in-order", "free"]
    combining: Literal["none", "chase", "incremental"]

_FramingAal5Required = TypedDict("_FramingAal5Required", {"kind": Literal["aal5"]})


class FramingAal5(_FramingAal5Required, total=False):
    """ATM with AAL5: header, packet and a trailer of 8 B, padded to whole cells, which carry 48 B in 53 B (ITU-T I.363.5).

    header :
        LLC and SNAP in front of the packet; 0 B if a circuit carries IP only. Default: "8 B".
    """

    header: str

_FramingGseRequired = TypedDict("_FramingGseRequired", {"kind": Literal["gse"]})


class FramingGse(_FramingGseRequired, total=False):
    """GSE of DVB-S2: each packet whole behind a header of 4 B and its label (ETSI TS 102 606).

    label :
        Destination label: 6 B, 3 B, or 0 B if the packet is for all, or for the destination of the one before. Default: "6 B".
    """

    label: str

_FramingFramesRequired = TypedDict("_FramingFramesRequired", {"kind": Literal["frames"]})


class FramingFrames(_FramingFramesRequired, total=False):
    """Other framing, by its numbers.

    overhead :
        Headers and trailers of a packet. Default: "0 B".

    minimum :
        Size to which shorter packets are padded, without overhead. Default: "0 B".

    stuffed :
        Number of the 256 byte values that are sent as two bytes. Data counts as random: m bytes take m times this / 256 more, rounded up. Default: 0.

    payload :
        Payload of a cell: packet and overhead are padded to whole cells. Default: "1 B".

    cell :
        Size of a cell on the link, at least its payload. Default: "1 B".
    """

    overhead: str
    minimum: str
    stuffed: int
    payload: str
    cell: str


class FramingKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["none", "ethernet", "mpe", "hdlc"]

_MtuRequired = TypedDict("_MtuRequired", {"size": str})


class Mtu(_MtuRequired, total=False):
    """Largest packet of a link.

    size :
        Largest size, headers included.

    oversize :
        Treatment of a larger packet. Default: "report".
    """

    oversize: Literal["report", "drop", "fragment"]

_HopOutageSpansRequired = TypedDict("_HopOutageSpansRequired", {"spans": List[Union[Tuple[str, str], List[str]]]})


class HopOutageSpans(_HopOutageSpansRequired, total=False):
    """Listed outages of a link.

    spans :
        Pairs of start and end, increasing, without overlap.

    every :
        Period after which the outages repeat. Default: no repetition.

    queue :
        Treatment of packets that wait when the link goes down. Default: "keep".
    """

    every: str
    queue: Literal["keep", "flush"]

_HopOutageMeanUpRequired = TypedDict("_HopOutageMeanUpRequired", {"mean_up": str, "mean_down": str})


class HopOutageMeanUp(_HopOutageMeanUpRequired, total=False):
    """Random outages of a link, with exponential times up and down from its own random stream.

    mean_up :
        Mean time up.

    mean_down :
        Mean time down.

    queue :
        Treatment of packets that wait when the link goes down. Default: "keep".
    """

    queue: Literal["keep", "flush"]

_HopOutageFileRequired = TypedDict("_HopOutageFileRequired", {"file": str})


class HopOutageFile(_HopOutageFileRequired, total=False):
    """Recorded outages of a link.

    file :
        CSV file beside the scenario or in a folder there. Its first two columns are start and end (`start_s,end_s`), in times of the run.

    every :
        Period after which the outages repeat. Default: no repetition.

    queue :
        Treatment of packets that wait when the link goes down. Default: "keep".
    """

    every: str
    queue: Literal["keep", "flush"]

_ModemUncodedRequired = TypedDict("_ModemUncodedRequired", {"kind": Literal["uncoded"]})


class ModemUncoded(_ModemUncodedRequired, total=False):
    """No code: bits have the error probability of the modulation.

    modulation :
        Modulation of the carrier. Default: "qpsk".
    """

    modulation: Literal["bpsk", "qpsk", "8psk", "16apsk"]

_ModemLdpcRequired = TypedDict("_ModemLdpcRequired", {"kind": Literal["ldpc"]})


class ModemLdpc(_ModemLdpcRequired, total=False):
    """Low-density parity-check code with blocks of 1024 bits. Packets get `code_rate` of the link's rate.

    code_rate :
        Code rate: bits of packets per transmitted bit. Default: 0.5.

    threshold :
        Eb/N0 in dB at which half of the blocks are lost. Default: "2.2 dB".

    steepness :
        Steepness of the losses around the threshold in 1/dB: a in erfc(a (Eb/N0 - threshold)) / 2. Default: 3.0.
    """

    code_rate: float
    threshold: str
    steepness: float

_ModemDvbS2Required = TypedDict("_ModemDvbS2Required", {"kind": Literal["dvb-s2"]})


class ModemDvbS2(_ModemDvbS2Required, total=False):
    """DVB-S2 modem with the radio's `symbol_rate`.

    modcod :
        Fixed modulation and code. Default: adaptive (`acm`).

    acm :
        Adaptation of modulation and code (ACM). Default without `modcod`: reports that are 40 ms old over a low orbit and 500 ms old over a geostationary orbit.

    implementation_loss :
        Loss of a real receiver against the ideal thresholds, in dB. Default: "1 dB".

    losses :
        Block losses as a function of the signal. Default: "step".
    """

    modcod: Literal["QPSK 1/4", "QPSK 1/3", "QPSK 2/5", "QPSK 1/2", "QPSK 3/5", "QPSK 2/3", "QPSK 3/4", "QPSK 4/5", "QPSK 5/6", "QPSK 8/9", "8PSK 3/5", "QPSK 9/10", "8PSK 2/3", "8PSK 3/4", "8PSK 5/6", "16APSK 2/3", "8PSK 8/9", "8PSK 9/10", "16APSK 3/4", "16APSK 4/5", "16APSK 5/6", "16APSK 8/9", "16APSK 9/10", "32APSK 3/4", "32APSK 4/5", "32APSK 5/6", "32APSK 8/9", "32APSK 9/10"]
    acm: Acm
    implementation_loss: str
    losses: Literal["step", "slope", "waterfall"]


class ModemKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["convolutional"]

_RadioRequired = TypedDict("_RadioRequired", {"frequency_ghz": float, "eirp_dbw": float, "g_over_t_db_k": float})


class Radio(_RadioRequired, total=False):
    """Transmitter, receiver and modem of a radio link. The link's rate must be constant. With `dvb-s2`, the symbol rate replaces it. In a medium, the radio provides only `es_n0`.

    frequency_ghz :
        Carrier frequency in GHz.

    eirp_dbw :
        Effective isotropic radiated power in dBW.

    g_over_t_db_k :
        Gain of the receiver over its noise temperature (G/T) under a clear sky, in dB/K.

    noise_k :
        Noise temperature of the receiver under a clear sky, in K. On the ground it rises with rain and clouds, which make the sky warmer (ITU-R P.618-14 §3). A satellite sees the warm Earth in any weather. Default: 200.0.

    symbol_rate :
        Symbol rate of `modem = "dvb-s2"`, required there in place of a bit rate. Modulation and code define the bits per symbol.

    polarisation :
        Polarisation. Rain attenuates horizontal waves most and vertical waves least. Default: "circular".

    losses :
        Other losses of the signal in dB: pointing, polarisation, feeders. Default: "0 dB".

    c_over_i :
        Carrier-to-interference ratio in dB, for interference from other satellites, beams and polarisations. Its bandwidth is that of the symbols (of QPSK symbols with `convolutional` and `ldpc`). Default: no interference.

    antenna_m :
        Diameter of the ground antenna in m, which averages scintillation. Its efficiency is 0.5. Default: 0.6.

    modem :
        Modem: modulation and code. Required, except in a medium and on a link that contributes only its noise.
    """

    noise_k: float
    symbol_rate: str
    polarisation: Union[str, Literal["horizontal", "vertical", "circular"]]
    losses: str
    c_over_i: str
    antenna_m: float
    modem: Union[ModemUncoded, ModemLdpc, ModemDvbS2, ModemKind, Literal["uncoded", "convolutional", "ldpc", "dvb-s2"]]

_DirectionDelayPointsRequired = TypedDict("_DirectionDelayPointsRequired", {"points": List[Union[Tuple[str, str], List[str]]]})


class DirectionDelayPoints(_DirectionDelayPointsRequired, total=False):
    """Delay that changes over time.

    points :
        Pairs of instant and delay, increasing in time, the first at 0 s.

    interpolate :
        Values between points. Default: "hold".

    every :
        Period after which the points repeat. Default: no repetition; the last point holds.
    """

    interpolate: Literal["hold", "linear"]
    every: str

_PassRequired = TypedDict("_PassRequired", {"altitude": str, "elevation_min": str})


class Pass(_PassRequired, total=False):
    """Circular orbit that passes directly over a ground station, without the rotation of the Earth (E. Lutz et al. 2000).

    altitude :
        Altitude of the orbit above the ground, 100 km to 100,000 km.

    elevation_min :
        Least elevation of a satellite in use, 0 to 89 degrees.

    hops :
        Number of slant ranges between the ends of the link: 1 for a link to the satellite, 2 for a link up and down. Default: 2.
    """

    hops: int

_DirectionDelayPassRequired = TypedDict("_DirectionDelayPassRequired", {"pass": Pass})


class DirectionDelayPass(_DirectionDelayPassRequired):
    """Delay to satellites that pass overhead.

    pass :
        Orbit of the satellites. The next satellite takes over at the end of each period of visibility.
    """

_DirectionDelayFileRequired = TypedDict("_DirectionDelayFileRequired", {"file": str})


class DirectionDelayFile(_DirectionDelayFileRequired, total=False):
    """Measured delay.

    file :
        CSV file beside the scenario or in a folder there. The resolved scenario contains its content as points.

    column :
        Name of the column with the delay; it ends in `_s`, `_ms`, `_us` or `_ns`. A round trip is not halved. Default: the only column beside the time.

    interpolate :
        Values between rows. Default: "hold".

    every :
        Period after which the values repeat. Default: no repetition; the last value holds.
    """

    column: str
    interpolate: Literal["hold", "linear"]
    every: str


class Direction(TypedDict, total=False):
    """One direction of a link. Its keys override those of the link.

    rate :
        Bit rate of this direction.

    delay :
        Propagation delay of this direction.

    medium :
        Medium that the link shares. It replaces `rate`.

    access :
        Capacity of the link in its medium. In a `leo-cell`: only `weight`.

    es_n0 :
        Energy per symbol over noise density in a medium of kind `mf-tdma` or `tdm`.

    jitter :
        Variable delays besides the propagation delay. Several of them add up.

    slots :
        Slots with their own delays, losses and rate, drawn from measured ones.

    policer :
        Token bucket that drops arriving packets beyond its rate (`policed`).

    shaper :
        Token bucket that delays packets beyond its rate. They wait in the queue.

    queue :
        Queue before the link. A packet in transmission does not count against its limit. A bdp is the most that the link or its shaper carries in full packets, without framing, during the largest propagation round trip of the flows over the link. It is at least one full packet.

    error :
        Error model, which corrupts packets.

    interleave :
        Interleaving, which spreads errors over time and corrects some.

    coding :
        Forward error correction, which protects bits and takes a part of the rate.

    arq :
        Link-layer retransmission of damaged packets.

    framing :
        Bytes on the link besides the packet: headers, trailers, padding, cells. `coding` protects them, too.

    mtu :
        Largest packet that the link carries.

    outage :
        Times when the link is down.
    """

    rate: Union[str, HopRatePoints, HopRateFile]
    delay: Union[str, DirectionDelayPoints, DirectionDelayPass, DirectionDelayFile]
    medium: str
    access: Access
    es_n0: Union[str, HopEsN0Table]
    jitter: Union[HopJitterTable, List[HopJitterTable]]
    slots: Slots
    policer: TokenBucket
    shaper: TokenBucket
    queue: Union[str, HopQueueDropTail, HopQueueRed, HopQueueCodel, HopQueueFqCodel, HopQueuePie, HopQueueDualpi2, HopQueuePriority, HopQueueWrr, HopQueueDrr, Literal["drop-tail", "red", "codel", "fq-codel", "pie", "dualpi2"]]
    error: Union[ErrorModelBit, ErrorModelByte, ErrorModelPacket, ErrorModelGilbertElliott, ErrorModelBursts, ErrorModelProfile, ErrorModelTrace, ErrorModelArrivals, ErrorModelPacketTrace, ErrorModelKind, Literal["none"]]
    interleave: Interleave
    coding: Union[CodingConvolutional, CodingLdpc, CodingDvbS2, Literal["convolutional"]]
    arq: Arq
    framing: Union[FramingAal5, FramingGse, FramingFrames, FramingKind, Literal["none", "aal5", "ethernet", "gse", "mpe", "hdlc", "frames"]]
    mtu: Mtu
    outage: Union[HopOutageSpans, HopOutageMeanUp, HopOutageFile]


class Hop(TypedDict, total=False):
    """Common keys of a group of sky links: those of a link, except its ends and its delay. Outages are in addition to those that follow from geometry.

    rate :
        Bit rate, constant or variable.

    medium :
        Medium that the link shares. It replaces `rate`.

    access :
        Capacity of the link in its medium. In a `leo-cell`: only `weight`.

    es_n0 :
        Energy per symbol over noise density in a medium of kind `mf-tdma` or `tdm`.

    jitter :
        Variable delays besides the propagation delay. Several of them add up.

    slots :
        Slots with their own delays, losses and rate, drawn from measured ones.

    policer :
        Token bucket that drops arriving packets beyond its rate (`policed`).

    shaper :
        Token bucket that delays packets beyond its rate. They wait in the queue.

    queue :
        Queue before the link. A packet in transmission does not count against its limit. A bdp is the most that the link or its shaper carries in full packets, without framing, during the largest propagation round trip of the flows over the link. It is at least one full packet.

    error :
        Error model, which corrupts packets.

    interleave :
        Interleaving, which spreads errors over time and corrects some.

    coding :
        Forward error correction, which protects bits and takes a part of the rate.

    arq :
        Link-layer retransmission of damaged packets.

    framing :
        Bytes on the link besides the packet: headers, trailers, padding, cells. `coding` protects them, too.

    mtu :
        Largest packet that the link carries.

    outage :
        Times when the link is down.

    up :
        Radio of the link up, or of the direction to the second name of a link. Errors and coding follow from distance, air and rain.

    down :
        Radio of the link down, or of the direction to the first name of a link.

    forward :
        Keys of the link up, or of the direction to the second name of a link.

    reverse :
        Keys of the link down, or of the direction to the first name of a link.
    """

    rate: Union[str, HopRatePoints, HopRateFile]
    medium: str
    access: Access
    es_n0: Union[str, HopEsN0Table]
    jitter: Union[HopJitterTable, List[HopJitterTable]]
    slots: Slots
    policer: TokenBucket
    shaper: TokenBucket
    queue: Union[str, HopQueueDropTail, HopQueueRed, HopQueueCodel, HopQueueFqCodel, HopQueuePie, HopQueueDualpi2, HopQueuePriority, HopQueueWrr, HopQueueDrr, Literal["drop-tail", "red", "codel", "fq-codel", "pie", "dualpi2"]]
    error: Union[ErrorModelBit, ErrorModelByte, ErrorModelPacket, ErrorModelGilbertElliott, ErrorModelBursts, ErrorModelProfile, ErrorModelTrace, ErrorModelArrivals, ErrorModelPacketTrace, ErrorModelKind, Literal["none"]]
    interleave: Interleave
    coding: Union[CodingConvolutional, CodingLdpc, CodingDvbS2, Literal["convolutional"]]
    arq: Arq
    framing: Union[FramingAal5, FramingGse, FramingFrames, FramingKind, Literal["none", "aal5", "ethernet", "gse", "mpe", "hdlc", "frames"]]
    mtu: Mtu
    outage: Union[HopOutageSpans, HopOutageMeanUp, HopOutageFile]
    up: Radio
    down: Radio
    forward: Direction
    reverse: Direction


class Constellation(TypedDict, total=False):
    """One of several constellations. Its keys override those of `[sky]`.

    over :
        Satellites, as in `[sky]` but not a list. Default: the constellation with the name of the table.

    selection :
        Rule of a place for its satellite.

    elevation_min :
        Least elevation of satellites in use.

    range_max_km :
        Largest distance of satellites in use in km, in place of an elevation.

    motion :
        Motion of the satellites of a constellation by name.

    mean_motion :
        Revolutions per day of a constellation by name with one shell.

    odd_planes :
        Phase of every other plane of a constellation by name with one shell, degrees.

    between_satellites :
        Links between satellites.

    gateway :
        Gateways of this constellation. Fibre joins them with each other, not with gateways of other constellations.

    relay :
        Route of packets from gateway to gateway.

    make_before_break :
        Overlap at a handover between its satellites.

    break_before_make :
        Interruption at a handover between its satellites.

    failure :
        Satellites, gateways, terminals and links out of use, with their times.

    waiting :
        Treatment of packets that wait for a satellite's link to a place when the place changes to another satellite.

    in_flight :
        Treatment of packets on the way over that link.

    shared :
        Whether the places of a satellite share its rate.

    user :
        Links between places and its satellites.

    feeder :
        Links between gateways and its satellites.

    inter_satellite :
        Links between its satellites.

    fibre :
        Links between its gateways.

    payload :
        Treatment of the signal by its satellites, for links with a radio.

    on_board :
        Treatment of corrupted packets by its satellites.

    middlebox :
        Middleboxes at its satellites, in order. Each sees every packet that passes through.
    """

    over: Union[str, SkyOverGeo, SkyOverElements, SkyOverShells, List[str]]
    selection: Union[ConstellationSelectionTable, Literal["any", "highest", "nearest", "longest", "periodic", "starlink"]]
    elevation_min: str
    range_max_km: float
    motion: Literal["j2", "kepler", "sgp4"]
    mean_motion: float
    odd_planes: float
    between_satellites: Union[ConstellationBetweenSatellitesTable, Literal["none", "grid", "grid-and-seam"]]
    gateway: List[str]
    relay: Literal["fibre", "ground"]
    make_before_break: str
    break_before_make: str
    failure: List[SkyFailure]
    waiting: Literal["lost", "rerouted", "kept", "moved"]
    in_flight: Literal["lost", "delivered"]
    shared: bool
    user: Hop
    feeder: Hop
    inter_satellite: Hop
    fibre: Hop
    payload: Literal["regenerative", "transparent"]
    on_board: Literal["router", "bent-pipe", "processing"]
    middlebox: List[Union[MiddleboxImpair, MiddleboxAckFilter, MiddleboxRefwa, MiddleboxEwa, MiddleboxAckReconstruct, MiddleboxSplit, MiddleboxCache, MiddleboxSpoof, MiddleboxSatpep, MiddleboxSnoop, MiddleboxFreeze, MiddleboxBeen, MiddleboxEln, MiddleboxEten, MiddleboxDpsm, MiddleboxXcp, MiddleboxRcp, MiddleboxErasure, MiddleboxCompress, MiddleboxOwn, Literal["impair", "ack-filter", "refwa", "ewa", "ack-reconstruct", "split", "cache", "spoof", "snoop", "freeze", "eln", "eten", "dpsm", "xcp", "rcp"]]]

_RainExceededRequired = TypedDict("_RainExceededRequired", {"kind": Literal["exceeded"]})


class RainExceeded(_RainExceededRequired, total=False):
    """Constant rain that is exceeded in a given share of an average year: the rain that a link of that availability must bear.

    percent :
        Percentage of an average year in which rain exceeds this intensity. Default: 0.1.
    """

    percent: float

_RainSeriesRequired = TypedDict("_RainSeriesRequired", {"kind": Literal["series"]})


class RainSeries(_RainSeriesRequired, total=False):
    """Rain that comes and goes over each place: a log-normal process that changes by 2e-4 per second (Maseng and Bakken 1981).

    rainy_percent :
        Percentage of the year in which it rains. Default: 5.0.
    """

    rainy_percent: float

_WayPointRequired = TypedDict("_WayPointRequired", {"time": str, "latitude": float, "longitude": float})


class WayPoint(_WayPointRequired, total=False):
    """Point on the way of a ship, aircraft, vehicle or rain cell.

    time :
        Time from the start of the run.

    latitude :
        Latitude in degrees north.

    longitude :
        Longitude in degrees east.

    height_km :
        Height above the ellipsoid in km. Default: 0.0.
    """

    height_km: float


class RainCell(TypedDict):
    """Rain cell that passes over places. Its rain rate falls exponentially with the distance from the centre (EXCELL, Capsoni et al. 1987).

    rate_mm_h :
        Rain rate at the centre in mm/h.

    radius_km :
        Distance in km at which the rain rate has fallen to 1/e.

    way :
        Way of the centre, like that of a moving place.
    """

    kind: Literal["cell"]
    rate_mm_h: float
    radius_km: float
    way: List[WayPoint]

_GaugeRequired = TypedDict("_GaugeRequired", {"file": str})


class Gauge(_GaugeRequired, total=False):
    """Rain over a place: a CSV file whose first column is the time, with the start of the run in the first row. Each row holds until the next row; the last row holds to the end.

    file :
        CSV file beside the scenario or in a folder there.

    column :
        Name of the column: a rain rate if it ends in `_mm_h`, an attenuation if it ends in `_db`. A rain rate becomes attenuation by P.838-3 over the effective path of P.618-13 at that rate. Default: the only column beside the time.

    begin :
        Time in the series at which the run begins. Default: "0 s".

    every :
        Period after which the series repeats. Default: no repetition.

    frequency_ghz :
        Carrier frequency of a measured attenuation in GHz. The attenuation is scaled to other carriers (P.618-13 §2.2.1.3.1, 7 to 55 GHz). Default: every link of the place has the measured attenuation.
    """

    column: str
    begin: str
    every: str
    frequency_ghz: float


class RainFile(TypedDict):
    """Measured rain from files.

    place :
        Rain series by name of the place. Other places have no rain.
    """

    kind: Literal["file"]
    place: Dict[str, Gauge]


class Clouds(TypedDict, total=False):
    """Clouds over all places.

    percent :
        Percentage of an average year in which clouds exceed the assumed attenuation. Default: the percentage of the rain, but at least 5 % (`P.618-14` §2.5) or 1 % (`P.618-13`); without rain, 1 %.
    """

    percent: float


class Scintillation(TypedDict, total=False):
    """Scintillation over all places. The sum with rain and clouds is sqrt((rain + clouds)² + scintillation²).

    percent :
        Percentage of an average year in which scintillation exceeds the assumed fade. Default: 1.0.
    """

    percent: float

_DisjointRequired = TypedDict("_DisjointRequired", {"paths": int})


class Disjoint(_DisjointRequired, total=False):
    """Disjoint paths between the same two places with the least sum of delays (Suurballe 1974). With `change = "broken"`, all of them stay until one breaks.

    paths :
        Number of paths.

    apart :
        Elements that the paths do not share. Default: "satellites".

    flow :
        Path of a flow, by name of the flow: 1 is the shortest path at that instant. Default: the first path.
    """

    apart: Literal["satellites", "links"]
    flow: Dict[str, int]


class Position(TypedDict, total=False):
    """Position of a place: coordinates, or a way.

    latitude :
        Latitude in degrees north.

    longitude :
        Longitude in degrees east.

    height_km :
        Height above the ellipsoid in km. Default: 0.0.

    climate :
        City that provides air and rain. Default: those of the place. Those of a moving place change with each hundredth of a degree.

    over :
        Constellations of `sky.over` that the place uses. Default: all. A city needs no coordinates besides. Default: [].

    way :
        Way of a moving place: points with their times. The place moves along great circles at constant speed and waits at both ends. Default: [].
    """

    latitude: float
    longitude: float
    height_km: float
    climate: str
    over: List[str]
    way: List[WayPoint]

_SkyRequired = TypedDict("_SkyRequired", {"over": Union[str, SkyOverGeo, SkyOverElements, SkyOverShells, List[str]]})


class Sky(_SkyRequired, total=False):
    """Satellites over the scenario. Nodes with the name of a place are on the ground at that place, and flows between places go over the satellites in view. Before the run, the sky becomes links whose delays follow the geometry, and routes that change in `[[at]]`. The resolved scenario shows these.

    over :
        Satellites: the name of a constellation (`bentpipe list constellations`), a slot over the equator, a file of elements, shells, or a list of constellations. Each flow uses the first of a list that has a path.

    constellation :
        Constellations of a list in `over`, by name. A name without a table is that of a known constellation (`bentpipe list constellations`).

    back_after :
        Time for which an earlier constellation of the list must have a path before a flow returns to it. Default: "0 s".

    start :
        Start of the run in UTC: `2026-06-14T12:00:00Z` or a TOML date. Default: 2000-01-01 for a constellation; for elements, the median of their epochs (of each object the newest). Replications start at other instants (`day`).

    elements_age_max :
        Largest age of elements of a file: elements farther from any instant of the run are rejected. After 90 days, Starlink is thousands of km off its elements. Default: "90 d".

    step :
        Interval between computations of the paths. Every change is at a multiple of it. Default: "1 s".

    selection :
        Rule for the satellite that a place uses. A single word applies to all places except gateways, which use any satellite. Default: "any".

    metric :
        Criterion for the best of several paths. Default: "delay".

    change :
        Condition for a change to another path. Default: "better".

    elevation_min :
        Least elevation of satellites in use. Default: that of the constellation; 25 deg for elements, 5 deg for a slot.

    range_max_km :
        Largest distance of satellites in use in km, in place of an elevation.

    motion :
        Motion of the satellites of a constellation by name. Default: that of its source.

    mean_motion :
        Mean motion of a constellation by name with one shell in revolutions per day, in place of its altitude.

    odd_planes :
        Phase of every other plane of a constellation by name with one shell in degrees, in place of its phasing.

    between_satellites :
        Links between satellites. Default: those of the constellation.

    gateway :
        Gateways, by name of their place. Paths may leave the satellites there and continue over fibre to other gateways. Satellites with links between them still use these links. Satellites without such links are bent pipes if there are gateways: all packets go down to a gateway. A gateway at the end of a flow uses any satellite in view. Default: [].

    relay :
        Route of packets from gateway to gateway. Default: "fibre".

    stretch :
        Length of a fibre between gateways, relative to the great circle. Light takes 4.9 us per km of fibre. Default: 1.5.

    seed :
        Seed of the random choices of `selection = "starlink"` and of the rain. Another seed is another day. Replications have their own seeds (`day`). Default: 1.

    day :
        Day of the sky. Day 0 has `start` and `seed`. Day k starts at a random instant in the 24 hours after `start` and has `seed` + k. Measured rain, failures and moving places are the same on all days. Default: day 0 for a run, day k for replication k of an experiment. With the key, all replications share the day.

    rain :
        Rain on links with a `radio`. Default: "none".

    recommendation :
        Edition of ITU-R P.618, which defines the gases and clouds that come with rare rain. Default: "P.618-14".

    clouds :
        Clouds on links with a `radio`: attenuation that is exceeded in a share of an average year (ITU-R P.840-8). Default: none.

    scintillation :
        Scintillation on links with a `radio`: fade that is exceeded in a share of an average year (ITU-R P.618). Default: none.

    hop_delay :
        Delay that each satellite and gateway adds to a path when paths are compared. Default: "0 s".

    make_before_break :
        Time for which a place keeps the link to the old satellite during a handover.

    break_before_make :
        Interruption of a place during a handover between satellites. With `waiting = "kept"` or `"moved"`, packets wait for the new satellite, unless the place leaves it before the end of the interruption. Otherwise, there is no route during this time. Without this key and `make_before_break`, old and new link change at the same instant.

    failure :
        Satellites, gateways, terminals and links out of use, with their times. Paths avoid them from that instant on. Packets on their links or in their queues are lost with cause `handover`. Default: [].

    disjoint :
        Disjoint paths at the same time. Default: a single path, the best.

    waiting :
        Treatment of packets that wait for a satellite's link to a place when the place changes to another satellite. Default: they are lost at satellites with links between them. With `kept` or `rerouted`, these satellites forward the packets to the new satellite, also packets that arrive later. Bent pipes have no queue, so their packets wait at the sender on the ground. Default for bent pipes: `moved`, as `kept`; packets that wait for the link up are rerouted.

    in_flight :
        Treatment of packets on the way over that link. Default: "lost".

    shared :
        Whether the places of a satellite share its rate, up and down. Otherwise, each place has its own link. Default: false.

    place :
        Places besides the known cities (`bentpipe list places`), by name.

    user :
        Links between places and satellites. The forward direction is up. Default rates: 20 Mbit/s up, 100 Mbit/s down. In a medium, each of several satellites has its own copy.

    feeder :
        Links between gateways and satellites. The forward direction is up. Default rate: 1 Gbit/s.

    inter_satellite :
        Links between satellites. Default rate: 10 Gbit/s.

    fibre :
        Links between gateways. Default rate: 10 Gbit/s.

    payload :
        Treatment of the signal by satellites, for links with a radio. Default: "regenerative".

    on_board :
        Treatment of corrupted packets by satellites. Default: "router".

    middlebox :
        Middleboxes at every satellite, in order. Each sees every packet that passes through. Default: [].
    """

    constellation: Dict[str, Constellation]
    back_after: str
    start: str
    elements_age_max: str
    step: str
    selection: Union[ConstellationSelectionTable, Literal["any", "highest", "nearest", "longest", "periodic", "starlink"]]
    metric: Literal["delay", "hops"]
    change: Literal["better", "broken"]
    elevation_min: str
    range_max_km: float
    motion: Literal["j2", "kepler", "sgp4"]
    mean_motion: float
    odd_planes: float
    between_satellites: Union[ConstellationBetweenSatellitesTable, Literal["none", "grid", "grid-and-seam"]]
    gateway: List[str]
    relay: Literal["fibre", "ground"]
    stretch: float
    seed: int
    day: int
    rain: Union[RainExceeded, RainSeries, RainCell, RainFile, ErrorModelKind, Literal["none", "exceeded", "series"]]
    recommendation: Literal["P.618-14", "P.618-13"]
    clouds: Clouds
    scintillation: Scintillation
    hop_delay: str
    make_before_break: str
    break_before_make: str
    failure: List[SkyFailure]
    disjoint: Disjoint
    waiting: Literal["lost", "rerouted", "kept", "moved"]
    in_flight: Literal["lost", "delivered"]
    shared: bool
    place: Dict[str, Position]
    user: Hop
    feeder: Hop
    inter_satellite: Hop
    fibre: Hop
    payload: Literal["regenerative", "transparent"]
    on_board: Literal["router", "bent-pipe", "processing"]
    middlebox: List[Union[MiddleboxImpair, MiddleboxAckFilter, MiddleboxRefwa, MiddleboxEwa, MiddleboxAckReconstruct, MiddleboxSplit, MiddleboxCache, MiddleboxSpoof, MiddleboxSatpep, MiddleboxSnoop, MiddleboxFreeze, MiddleboxBeen, MiddleboxEln, MiddleboxEten, MiddleboxDpsm, MiddleboxXcp, MiddleboxRcp, MiddleboxErasure, MiddleboxCompress, MiddleboxOwn, Literal["impair", "ack-filter", "refwa", "ewa", "ack-reconstruct", "split", "cache", "spoof", "snoop", "freeze", "eln", "eten", "dpsm", "xcp", "rcp"]]]


class WaveformChoice(TypedDict, total=False):
    """Choice of the waveform by the signal: down immediately, up when the signal has been strong enough for some time.

    margin :
        Margin of the measured signal above a threshold. Default: "1 dB".

    hysteresis :
        Further margin to go up. Default: "0.3 dB".

    hold :
        Consecutive measurements with that margin. Default: 3.
    """

    margin: str
    hysteresis: str
    hold: int


class BackOff(TypedDict):
    """Random back-off: with this probability a terminal waits before it sends.

    probability :
        Probability that it waits.

    time :
        Time that it waits.
    """

    probability: Union[str, float]
    time: str


class HighLoad(TypedDict):
    """Back-off while the offered load of the last second exceeds a limit.

    load :
        Offered load, in bursts per slot.

    probability :
        Probability that a terminal waits.

    time :
        Time that it waits.
    """

    load: float
    probability: Union[str, float]
    time: str


class Repeat(TypedDict):
    """Wait before a request by random access is repeated, or before a log-on: a random number of blocks below a limit, which doubles with each loss.

    first :
        Limit after the first loss. 1: no wait, so that requests that were lost together are lost again.

    most :
        Largest limit.
    """

    first: int
    most: int


class RandomAccess(TypedDict, total=False):
    """Random access in contention slots (CRDSA): a burst is sent in several slots of a block, and the receiver removes the copies of each burst that it reads.

    carriers :
        Number of carriers with contention slots. Default: 1.

    copies :
        Copies of each burst. 1: slotted ALOHA. Default: 3.

    iterations :
        Rounds in which the receiver removes copies. Default: 16.

    per_block :
        Bursts of a terminal in a block, at most. Default: 3.

    in_a_row :
        Blocks that a terminal may use one after the other. Default: 4.

    rest :
        Blocks that it then leaves out. Default: 2.

    back_off :
        Back-off before a block.

    high_load :
        Back-off under high load.

    repeat :
        Random wait before a request is repeated.
    """

    carriers: int
    copies: int
    iterations: int
    per_block: int
    in_a_row: int
    rest: int
    back_off: BackOff
    high_load: HighLoad
    repeat: Repeat


class LogOn(TypedDict, total=False):
    """Log-on of terminals: a burst in a slot of slotted ALOHA, which the controller answers. Before, a terminal has no slots.

    slots :
        Slots of each superframe for log-on bursts. Plans have the others. Default: 4.

    at_start :
        Whether all terminals are off at the start of the run. Default: true.

    repeat :
        Random wait before each burst.

    after :
        Outage of its link after which a terminal is off. Default: "10 s".

    idle :
        Time without traffic after which a terminal logs off. Default: it stays on.

    resets :
        Instants at which the hub resets and loses all terminals, rising. Default: [].
    """

    slots: int
    at_start: bool
    repeat: Repeat
    after: str
    idle: str
    resets: List[str]

_MediumMfTdmaRequired = TypedDict("_MediumMfTdmaRequired", {"kind": Literal["mf-tdma"], "symbol_rate": str, "carriers": int, "controller": str})


class MediumMfTdma(_MediumMfTdmaRequired, total=False):
    """Time slots on several carriers, granted by a plan per superframe: the return link of DVB-RCS2.

    symbol_rate :
        Symbol rate of one carrier.

    carriers :
        Number of carriers. A terminal sends on one at a time.

    controller :
        Node that reads the requests and makes the plans. In `[sky]`, `{satellite}` is that of the medium.

    plan_over :
        Forward carrier (medium of kind `tdm`) that carries the plans. Default: plans take no capacity.

    superframe :
        Superframe: time between two plans. Default: "26.5 ms".

    bursts :
        Length of all bursts. Default: "short".

    control_delay :
        Time from a plan to the moment when it is sent. Default: "10 ms".

    control_interval :
        Time between the slots in which each terminal may send a request, rounded up to superframes. Default: "1 s".

    evaluation :
        Window over which a terminal measures the rate of its arrivals. Default: "100 ms".

    margin :
        Factor on this rate in a request. Above 1, the queue of the first round trip gets empty. Default: 1.1.

    ahead :
        Time for which promised rates count as capacity to come when a terminal asks for a volume. Default: "100 ms".

    drain :
        Time in which a request for a rate wants to empty the backlog. Default: "100 ms".

    overhead :
        Factor on the bytes asked for, since encapsulation adds to them. Default: 1.1.

    persistence :
        Life of a request at the controller. Default: "1.1 s".

    hands_over :
        Whether a terminal whose node was in another such medium before keeps its requests. Otherwise it starts without requests. Default: false.

    free :
        Owners of slots that no request covers. Default: "none".

    load_limit :
        Largest share of the slots that a plan gives. The rest stays empty. SNS3 plans 0.9. Default: 1.0.

    acm :
        Choice of the waveform by the signal.

    waveform :
        Constant waveform instead: its number, 3 to 12 for short bursts, 13 to 22 for long ones, 42 and 43 for robust ones and 44 to 49 for tiny ones. Default: adaptive (`acm`).

    losses :
        Losses of bursts as a function of the signal. Default: "step".

    random :
        Random access on some of the carriers. Default: none.

    log_on :
        Log-on of the terminals. Default: all are logged on.
    """

    plan_over: str
    superframe: str
    bursts: Literal["short", "long", "robust", "tiny"]
    control_delay: str
    control_interval: str
    evaluation: str
    margin: float
    ahead: str
    drain: str
    overhead: float
    persistence: str
    hands_over: bool
    free: Literal["none", "asking", "all"]
    load_limit: float
    acm: WaveformChoice
    waveform: int
    losses: Literal["step", "slope", "waterfall"]
    random: RandomAccess
    log_on: LogOn


class ReportedChoice(TypedDict, total=False):
    """Choice of modulation and code by reports of the signal: down immediately, up when the signal has been strong enough for some time.

    every :
        Time between two measurements of a terminal. A report leaves with the next burst or control slot, and with each request. Default: "1.1 s".

    margin :
        Margin of the reported signal above a threshold. Default: "1 dB".

    hysteresis :
        Further margin to go up. Default: "0.3 dB".

    hold :
        Consecutive reports with that margin. Default: 3.
    """

    every: str
    margin: str
    hysteresis: str
    hold: int

_MediumTdmRequired = TypedDict("_MediumTdmRequired", {"kind": Literal["tdm"], "symbol_rate": str})


class MediumTdm(_MediumTdmRequired, total=False):
    """Frames of one carrier, which terminals share in turns: the forward carrier of DVB-S2.

    symbol_rate :
        Symbol rate of the carrier.

    pilots :
        Whether frames have pilots: 36 symbols after each 16 slots of 90 symbols. Default: true.

    label :
        Label in the header of a packet or of its first part (GSE, ETSI TS 102 606-1): 0 B, 3 B or 6 B. Default: "3 B".

    share :
        Unit of the turns of terminals. Default: "bits".

    hold :
        Longest time that packets wait for others of their modulation and code to fill a frame, while the carrier has other frames to send. With 0 s each turn opens a frame, and packets of stronger terminals fill it. Default: "15 ms".

    short_frames :
        Whether little data leaves in short frames of 16,200 coded bits. They need 0.3 dB more (ETSI EN 302 307-1), so a terminal receives them if its report has the margin and 0.3 dB. With a constant `modcod`, all frames are normal. Default: true.

    acm :
        Choice of modulation and code by the reports of the terminals.

    modcod :
        Constant modulation and code instead. Default: adaptive (`acm`).

    losses :
        Losses of frames as a function of the signal. Default: "step".
    """

    pilots: bool
    label: str
    share: Literal["bits", "time"]
    hold: str
    short_frames: bool
    acm: ReportedChoice
    modcod: Literal["QPSK 1/4", "QPSK 1/3", "QPSK 2/5", "QPSK 1/2", "QPSK 3/5", "QPSK 2/3", "QPSK 3/4", "QPSK 4/5", "QPSK 5/6", "QPSK 8/9", "8PSK 3/5", "QPSK 9/10", "8PSK 2/3", "8PSK 3/4", "8PSK 5/6", "16APSK 2/3", "8PSK 8/9", "8PSK 9/10", "16APSK 3/4", "16APSK 4/5", "16APSK 5/6", "16APSK 8/9", "16APSK 9/10", "32APSK 3/4", "32APSK 4/5", "32APSK 5/6", "32APSK 8/9", "32APSK 9/10"]
    losses: Literal["step", "slope", "waterfall"]


class MediumLeoCellOthersActive(TypedDict):
    """Users that come at random instants (Poisson) and stay for exponential times.

    active :
        Mean number of users.

    holding :
        Mean stay, 1 ms or more.
    """

    active: float
    holding: str

_MediumLeoCellOthersPointsRequired = TypedDict("_MediumLeoCellOthersPointsRequired", {"points": List[Union[Tuple[str, int], List[Union[str, int]]]]})


class MediumLeoCellOthersPoints(_MediumLeoCellOthersPointsRequired, total=False):
    """Number of users that changes in steps.

    points :
        Pairs of instant and number, increasing in time, the first at 0 s. Each number holds until the next instant.

    every :
        Period after which the points repeat. Default: no repetition; the last point holds.
    """

    every: str

_MediumLeoCellOthersFileRequired = TypedDict("_MediumLeoCellOthersFileRequired", {"file": str})


class MediumLeoCellOthersFile(_MediumLeoCellOthersFileRequired, total=False):
    """Measured number of users.

    file :
        CSV file beside the scenario or in a folder there. The resolved scenario contains its content as points.

    column :
        Name of the column with the number. Default: the only column beside the time.

    every :
        Period after which the values repeat. Default: no repetition; the last value holds.
    """

    column: str
    every: str

_MediumLeoCellRequired = TypedDict("_MediumLeoCellRequired", {"kind": Literal["leo-cell"], "rate": str, "controller": str})


class MediumLeoCell(_MediumLeoCellRequired, total=False):
    """Short frames of equal slots, which the users of a satellite in low orbit take in turn. One medium per direction.

    rate :
        Bit rate of the cell.

    frame :
        Length of a frame, the time between two plans, 0.1 ms or more. Default: "1.333333333 ms".

    slots :
        Slots of a frame. Default: 12.

    turn :
        Frames from one turn of a user to its next. With 1, a user may have slots in each frame. Default: 1.

    requests :
        Frames from one request of a terminal to its next. Only for links that ask. Default: 1.

    controller :
        Node that makes the plans: the satellite, or the gateway. In `[sky]`, `{satellite}` is that of the medium.

    control_delay :
        Time from a plan to the moment when it is sent. Only for links that ask. Default: "500 us".

    hands_over :
        Whether a terminal whose node was in another such medium before keeps its requests. Otherwise it starts without requests. Only for links that ask. Default: false.

    others :
        Further users, which always have data. Default: none.
    """

    frame: str
    slots: int
    turn: int
    requests: int
    control_delay: str
    hands_over: bool
    others: Union[MediumLeoCellOthersActive, MediumLeoCellOthersPoints, MediumLeoCellOthersFile]

_LinkRequired = TypedDict("_LinkRequired", {"from": str, "to": str})


class Link(_LinkRequired, total=False):
    """Link between two nodes. The forward direction leads from `from` to `to`, the reverse direction back.

    from :
        Node at one end. May contain `{n}` if `count` is set.

    to :
        Node at the other end. May contain `{n}` if `count` is set.

    count :
        Number of links that the entry creates, with 1, 2, ... for `{n}` in `from`, `to` and the name. Names without `{n}` get the number as a suffix. Default: one link without a number.

    rate :
        Bit rate, constant or variable. Required here or in both directions, except in a medium.

    delay :
        Propagation delay of one direction, constant or variable. Required here or in both directions.

    medium :
        Medium that the link shares. It replaces `rate`. Default: none; the link has its own rate.

    access :
        Capacity of the link in its medium. In a `leo-cell`: only `weight`.

    es_n0 :
        Energy per symbol over noise density in a medium of kind `mf-tdma` or `tdm`.

    jitter :
        Variable delays besides the propagation delay. Several of them add up. Default: none.

    slots :
        Slots with their own delays, losses and rate, drawn from measured ones. Default: none.

    policer :
        Token bucket that drops arriving packets beyond its rate (`policed`). Default: none.

    shaper :
        Token bucket that delays packets beyond its rate. They wait in the queue. Default: none.

    queue :
        Queue before the link. A packet in transmission does not count against its limit. A bdp is the most that the link or its shaper carries in full packets, without framing, during the largest propagation round trip of the flows over the link. It is at least one full packet. Default: "1 bdp".

    error :
        Error model, which corrupts packets. Default: "none".

    interleave :
        Interleaving, which spreads errors over time and corrects some. Default: none.

    coding :
        Forward error correction, which protects bits and takes a part of the rate. Default: none.

    arq :
        Link-layer retransmission of damaged packets. Default: none.

    framing :
        Bytes on the link besides the packet: headers, trailers, padding, cells. `coding` protects them, too. Default: "none".

    mtu :
        Largest packet that the link carries. Default: no limit.

    outage :
        Times when the link is down. Default: none.

    forward :
        Keys of the direction from `from` to `to`.

    reverse :
        Keys of the direction from `to` to `from`.
    """

    count: int
    rate: Union[str, HopRatePoints, HopRateFile]
    delay: Union[str, DirectionDelayPoints, DirectionDelayPass, DirectionDelayFile]
    medium: str
    access: Access
    es_n0: Union[str, HopEsN0Table]
    jitter: Union[HopJitterTable, List[HopJitterTable]]
    slots: Slots
    policer: TokenBucket
    shaper: TokenBucket
    queue: Union[str, HopQueueDropTail, HopQueueRed, HopQueueCodel, HopQueueFqCodel, HopQueuePie, HopQueueDualpi2, HopQueuePriority, HopQueueWrr, HopQueueDrr, Literal["drop-tail", "red", "codel", "fq-codel", "pie", "dualpi2"]]
    error: Union[ErrorModelBit, ErrorModelByte, ErrorModelPacket, ErrorModelGilbertElliott, ErrorModelBursts, ErrorModelProfile, ErrorModelTrace, ErrorModelArrivals, ErrorModelPacketTrace, ErrorModelKind, Literal["none"]]
    interleave: Interleave
    coding: Union[CodingConvolutional, CodingLdpc, CodingDvbS2, Literal["convolutional"]]
    arq: Arq
    framing: Union[FramingAal5, FramingGse, FramingFrames, FramingKind, Literal["none", "aal5", "ethernet", "gse", "mpe", "hdlc", "frames"]]
    mtu: Mtu
    outage: Union[HopOutageSpans, HopOutageMeanUp, HopOutageFile]
    forward: Direction
    reverse: Direction


class AppFile(TypedDict):
    """One file. The connection closes after its last byte.

    size :
        Application data in bytes, at least 1.
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
    """Pareto: a few sizes are very large.

    shape :
        Shape: the tail is heavier, the smaller it is. Above 1, so that there is a mean. At 2 and below the variance is infinite.

    min :
        Smallest size.
    """

    kind: Literal["pareto"]
    shape: float
    min: str


class AppBulkSizeBoundedPareto(TypedDict):
    """Pareto between two bounds.

    shape :
        Shape: the tail is heavier, the smaller it is.

    min :
        Smallest size.

    max :
        Largest size.
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
        Shape: the tail is heavier, the smaller it is. Above 1, so that there is a mean.

    mean :
        Mean.
    """

    kind: Literal["pareto"]
    shape: float
    mean: str

_AppBulkRequired = TypedDict("_AppBulkRequired", {"kind": Literal["bulk"], "size": Union[str, AppBulkSizeExponential, AppBulkSizePareto, AppBulkSizeBoundedPareto, AppBulkSizeLognormal], "pause": Union[str, AppBulkPauseExponential, AppBulkPausePareto]})


class AppBulk(_AppBulkRequired, total=False):
    """Transfers with pauses between them, on one connection or each on a new connection.

    size :
        Bytes of each transfer.

    pause :
        Time from the last byte acknowledged to the next transfer.

    reconnect :
        Whether each transfer has a new connection. Otherwise all share one connection, which is idle in the pauses. Default: false.

    count :
        Number of transfers. Default: no limit until the run ends.
    """

    reconnect: bool
    count: int

_AppArrivalsRequired = TypedDict("_AppArrivalsRequired", {"kind": Literal["arrivals"], "size": Union[str, AppBulkSizeExponential, AppBulkSizePareto, AppBulkSizeBoundedPareto, AppBulkSizeLognormal]})


class AppArrivals(_AppArrivalsRequired, total=False):
    """Transfers that arrive as a Poisson process, each on its own connection. Either `load` and `link` or `interval` defines their rate.

    size :
        Bytes of each transfer.

    load :
        Mean share of the link's largest rate that first transmissions take.

    link :
        Link and direction to which `load` refers, such as `sat.forward`. It must be on the flow's route.

    load_headers :
        Whether `load` includes headers and the framing of the link. Default: true.

    interval :
        Mean time between arrivals, in place of `load` and `link`.

    overload :
        Whether the arrivals may offer a link as much as it carries, or more. The backlog then grows without limit, and every result depends on the duration of the run. Default: false.

    count :
        Number of arrivals. Default: no limit until the run ends.
    """

    load: str
    link: str
    load_headers: bool
    interval: str
    overload: bool
    count: int

_AppRecordsRequired = TypedDict("_AppRecordsRequired", {"kind": Literal["records"], "size": Union[str, AppBulkSizeExponential, AppBulkSizePareto, AppBulkSizeBoundedPareto, AppBulkSizeLognormal], "interval": Union[str, AppBulkPauseExponential, AppBulkPausePareto]})


class AppRecords(_AppRecordsRequired, total=False):
    """Records that the sending node writes on one connection, each at its time. The measure of a record is the time until all its bytes have arrived in order. A record is lost if best-effort transport (`tcp.best_effort`) skips a part of it.

    size :
        Bytes of each record.

    interval :
        Time from one record to the next, independent of its fate.

    count :
        Number of records. Default: no limit until the run ends.
    """

    count: int


class Catalogue(TypedDict, total=False):
    """Objects of the answering node, shared by all flows that request them: a cache on the path may have one already.

    objects :
        Number of objects. Default: 100.

    zipf :
        Exponent of Zipf's law: the kth object is requested in proportion to 1/k^zipf. 0 means equally often. Proxies saw 0.64 to 0.83 (Breslau et al. 1999). Default: objects are requested one after the other, as in a course.

    first :
        Number of the first object: flows with other numbers request other objects. Default: 1.
    """

    objects: int
    zipf: float
    first: int

_AppRequestResponseRequired = TypedDict("_AppRequestResponseRequired", {"kind": Literal["request-response"], "response": Union[str, AppBulkSizeExponential, AppBulkSizePareto, AppBulkSizeBoundedPareto, AppBulkSizeLognormal]})


class AppRequestResponse(_AppRequestResponseRequired, total=False):
    """Requests of the sending node and responses of the receiving node, in turn. Both directions of one connection carry data.

    request :
        Bytes of each request. Default: "350 B".

    response :
        Bytes of each response.

    wait :
        Time from the last byte of a request to the response. Default: "0 s".

    think :
        Time from the last byte of a response to the next request. Default: "0 s".

    reconnect :
        Whether each exchange has a new connection. Otherwise all share one. Default: false.

    catalogue :
        Objects that other flows request, too: all flows to this node share them. Default: each response is unique to its flow.

    count :
        Number of exchanges. Default: no limit until the run ends.
    """

    request: Union[str, AppBulkSizeExponential, AppBulkSizePareto, AppBulkSizeBoundedPareto, AppBulkSizeLognormal]
    wait: Union[str, AppBulkPauseExponential, AppBulkPausePareto]
    think: Union[str, AppBulkPauseExponential, AppBulkPausePareto]
    reconnect: bool
    catalogue: Catalogue
    count: int

_PageObjectRequired = TypedDict("_PageObjectRequired", {"bytes": str})


class PageObject(_PageObjectRequired, total=False):
    """Object of a recorded page.

    bytes :
        Bytes of the response, with its headers.

    host :
        Number of its host in the record, from 0. Each host has separate connections; all are at the node `to`. Default: 0.

    after :
        Number of the object that names it, in the order of the list, from 0: an earlier one. The first object is named by none. Default: 0.

    is_early :
        Whether the first bytes of that object cause the request, as markup does in browsers. Otherwise its last byte does. Default: false.

    delay :
        Time from these bytes to the request. Default: "0 s".

    wait :
        Time from the request at the server to the response. Default: "0 s".

    request :
        Bytes of the request, with its headers. Default: "350 B".
    """

    host: int
    after: int
    is_early: bool
    delay: str
    wait: str
    request: str


class AppPageRecordedTable(TypedDict):
    """File with a recorded page.

    file :
        HAR file of a browser beside the scenario or in a folder there. The resolved scenario contains its objects as a list.
    """

    file: str

_AppPageRequired = TypedDict("_AppPageRequired", {"kind": Literal["page"]})


class AppPage(_AppPageRequired, total=False):
    """Web pages: the sending node fetches a main object and embedded objects over new connections for each page. Keys without a value follow `model`: by default pages of 2025, with 77 requests and 2.47 MB in the median.

    model :
        Number, bytes, hosts and depth of objects, where other keys do not give them. A page with `main`, `object` and `objects` is given whole: one host, and the main object names all others. Default: "web-2025".

    recorded :
        Recorded page in place of a model: a file, or a list of objects. The first object is the main one. Each page of the flow is this page.

    main :
        Bytes of the main object. Default: of the model. `3gpp2` is lognormal with mean 10710 B, cut to 100 B to 2 MB. `web-2025` is lognormal with median 22 KiB, at most a quarter of the page.

    object :
        Bytes of each embedded object. Default: of the model. `3gpp2` is lognormal with mean 7758 B, cut to 50 B to 2 MB: then 7236 B. `web-2025` is a lognormal share of the page's bytes.

    objects :
        Embedded objects per page. Default: random, of the model.

    multiplexed :
        Whether one connection to each host carries all its requests together, and objects in order, as in HTTP/2. Default: true with `web-2025`, as recorded for a recorded page, and false with `3gpp2`, a page that is given whole, a catalogue or `connections`.

    page_scale :
        Factor of the size of all objects. Default: 1.0.

    request :
        Bytes of each request. Recorded objects have their own. Default: "350 B".

    tls_rtts :
        Round trips that securing a connection takes before its first request: exchanges of the size of a request, in both directions. Default: 1 with `web-2025` (TLS 1.3) and for a recorded page with TLS, and 0 with `3gpp2`, a page that is given whole, or a catalogue.

    parse :
        Time from the last byte of an object to the requests for the objects that it names.

    reading :
        Time from the last object of a page to the next page.

    connections :
        Parallel connections to each host. Each fetches one object at a time. Default: 6.

    catalogue :
        Pages that other flows request, too, with their objects: all flows to this node share them. Default: pages are unique to the flow.

    count :
        Number of pages. Default: no limit until the run ends.
    """

    model: Literal["web-2025", "3gpp2"]
    recorded: Union[List[PageObject], AppPageRecordedTable]
    main: Union[str, AppBulkSizeExponential, AppBulkSizePareto, AppBulkSizeBoundedPareto, AppBulkSizeLognormal]
    object: Union[str, AppBulkSizeExponential, AppBulkSizePareto, AppBulkSizeBoundedPareto, AppBulkSizeLognormal]
    objects: int
    multiplexed: bool
    page_scale: float
    request: str
    tls_rtts: int
    parse: Union[str, AppBulkPauseExponential, AppBulkPausePareto]
    reading: Union[str, AppBulkPauseExponential, AppBulkPausePareto]
    connections: int
    catalogue: Catalogue
    count: int

_AppCbrRequired = TypedDict("_AppCbrRequired", {"kind": Literal["cbr"], "rate": str})


class AppCbr(_AppCbrRequired, total=False):
    """Datagrams at a constant rate, without congestion control. Each has 28 B of headers (IPv4 and UDP) and its payload.

    rate :
        Payload rate.

    jitter :
        Mean delay of a datagram against the regular schedule: uniform from 0 to twice this value, at most half the distance between datagrams. Default: "0 s".

    size :
        Payload of each datagram in bytes, 1 B to 65507 B. Default: "1200 B".
    """

    jitter: str
    size: str

_AppRtpRequired = TypedDict("_AppRtpRequired", {"kind": Literal["rtp"], "rate": str})


class AppRtp(_AppRtpRequired, total=False):
    """Media at a constant rate over RTP (RFC 3550), without congestion control. Each packet has 12 B of RTP header beside the 28 B of datagrams. Packets that arrive after their playout count as late.

    rate :
        Rate of the media, without headers.

    size :
        Media bytes of each packet, 1 B to 65495 B. Seven packets of an MPEG transport stream have 1316 B. Default: "1316 B".

    playout :
        Time from the first arrival to its playout, for the delays of later packets to vary. Default: "200 ms".
    """

    size: str
    playout: str

_AppCarouselRequired = TypedDict("_AppCarouselRequired", {"kind": Literal["carousel"], "file": str, "rate": str})


class AppCarousel(_AppCarouselRequired, total=False):
    """One file in rounds at a constant rate, in blocks with packets for repair, for receivers that answer nothing (ALC, RFC 5775). A block is complete with any `block` of its packets. Each packet has 16 B of headers beside the 28 B of datagrams.

    file :
        Bytes of the file.

    rate :
        Rate of the file and of the packets for repair, without headers.

    size :
        Bytes of the file in each packet, 1 B to 65491 B. Default: "1316 B".

    block :
        Packets of a block at most, without those for repair. All blocks have nearly as many (RFC 5052 §9.1), and their packets alternate. Default: 200.

    repair :
        Packets for repair of each block. Default: 0.

    rounds :
        Times that the file is sent. Default: no limit until the run ends.
    """

    size: str
    block: int
    repair: int
    rounds: int

_AppPoissonRequired = TypedDict("_AppPoissonRequired", {"kind": Literal["poisson"], "rate": str})


class AppPoisson(_AppPoissonRequired, total=False):
    """Datagrams as a Poisson process, without congestion control.

    rate :
        Mean payload rate.

    size :
        Payload of each datagram in bytes, 1 B to 65507 B. Default: "1200 B".
    """

    size: str

_AppOnOffRequired = TypedDict("_AppOnOffRequired", {"kind": Literal["on-off"], "peak": str, "on": Union[str, AppBulkPauseExponential, AppBulkPausePareto], "off": Union[str, AppBulkPauseExponential, AppBulkPausePareto]})


class AppOnOff(_AppOnOffRequired, total=False):
    """Datagrams at a constant rate in on-periods that alternate with off-periods, without congestion control. The sum of many such flows is self-similar if the periods have a Pareto distribution: shape a gives the Hurst parameter (3 - a)/2.

    peak :
        Payload rate in on-periods.

    on :
        Duration of an on-period.

    off :
        Duration of an off-period.

    size :
        Payload of each datagram in bytes, 1 B to 65507 B. Default: "1200 B".
    """

    size: str

_AppProbeTimesTableRequired = TypedDict("_AppProbeTimesTableRequired", {"file": str})


class AppProbeTimesTable(_AppProbeTimesTableRequired, total=False):
    """Times of a measurement.

    file :
        CSV file beside the scenario or in a folder there. Its first row is the start of the flow. The resolved scenario contains its times as a list.

    column :
        Name of the column with the times; it ends in `_s`, `_ms`, `_us` or `_ns`. Default: the first column.
    """

    column: str

_AppProbeRequired = TypedDict("_AppProbeRequired", {"kind": Literal["probe"]})


class AppProbe(_AppProbeRequired, total=False):
    """Datagrams that the other end answers at once with a datagram of the same size, as of `ping` and `irtt`. They are sent at their times, without regard to answers and losses. The table `probes` has a row for each.

    interval :
        Time from one probe to the next. The first leaves at the start of the flow. Default: "1 s".

    times :
        Times of the probes after the start of the flow, in place of `interval`: a list, or a column of a file.

    size :
        Payload of each probe and of each answer in bytes, 1 B to 65507 B. Default: "56 B".

    count :
        Number of probes. Default: no limit until the run ends.
    """

    interval: str
    times: Union[List[str], AppProbeTimesTable]
    size: str
    count: int


class AppKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["greedy", "port"]

_ReaderRequired = TypedDict("_ReaderRequired", {"rate": str})


class Reader(_ReaderRequired, total=False):
    """Application that may read more slowly than data arrives: windows close, and open again.

    rate :
        Mean rate of reading while data is available.

    every :
        Time between two reads. Each read takes the data of this time at `rate`. Default: "10 ms".
    """

    every: str


class FlowStartTable(TypedDict):
    """Random instant.

    uniform :
        Earliest and latest instant, the latest excluded; drawn for each flow.
    """

    uniform: Union[Tuple[str, str], List[str]]

_SchedulerRoundRobinRequired = TypedDict("_SchedulerRoundRobinRequired", {"kind": Literal["round-robin"]})


class SchedulerRoundRobin(_SchedulerRoundRobinRequired, total=False):
    """Each subflow in turn.

    burst :
        Segments that a subflow carries before the next one. Default: 1.

    fill :
        Whether a subflow without room is skipped; otherwise all wait for it. Default: true.
    """

    burst: int
    fill: bool

_SchedulerBlestRequired = TypedDict("_SchedulerBlestRequired", {"kind": Literal["blest"]})

_SchedulerBlestOptional = TypedDict("_SchedulerBlestOptional", {"lambda": float}, total=False)


class SchedulerBlest(_SchedulerBlestRequired, _SchedulerBlestOptional, total=False):
    """Waits for the fastest subflow if a slower one would block the receive window (S. Ferlin et al. 2016).

    lambda :
        Initial factor on the data that the fastest subflow would send, 1 to 1.3. It follows the segments that were reinjected because they blocked the receive window. Default: 1.2.
    """

_SchedulerEcfRequired = TypedDict("_SchedulerEcfRequired", {"kind": Literal["ecf"]})


class SchedulerEcf(_SchedulerEcfRequired, total=False):
    """Waits for the fastest subflow if it delivers what is left earlier than a slower one (Y. Lim et al. 2017).

    beta :
        Hysteresis: while it waits, the slower subflow counts as slower by this share. Default: 0.25.
    """

    beta: float


class SchedulerKind(TypedDict):
    """A choice by its kind alone."""

    kind: Literal["min-rtt", "redundant", "linger"]


class Reinject(TypedDict, total=False):
    """Reinjection: data that one subflow carries are given to another one, too.

    on :
        Sign that a subflow does not deliver. Default: "rto".

    notice :
        Time from a change of a link until the end hears of it, with `on = "told"`. Default: "0 s".

    opportunistic :
        Whether a subflow with room carries the data that block the receive window, if they are on a slower one. Default: true.

    penalise :
        Whether that halves the window of the slower one, at most once in a round trip. Default: true.
    """

    on: Literal["rto", "told", "data-timer"]
    notice: str
    opportunistic: bool
    penalise: bool


class Rejoin(TypedDict, total=False):
    """Return of a subflow whose connection has ended: it joins again, over another connection with another port.

    retry :
        Whether it joins again after a timeout, or after a reset that may pass. Linux' kernel alone does not. Default: true.

    after :
        Time from the end of its connection, or of an attempt, to the next attempt. Default: "1 s".

    withdraw :
        Whether the end that opens the connection loses the address of a subflow while its route is interrupted, and joins again when the route is back. Needs `reinject.on = "told"`. Default: false.
    """

    retry: bool
    after: str
    withdraw: bool


class MultiConfig(TypedDict, total=False):
    """Several paths for one connection (Multipath TCP, RFC 8684).

    scheduler :
        Choice of the subflow for the next segment. Default: "min-rtt".

    coupling :
        Coupling of the windows in congestion avoidance. Default: "auto".

    receive_buffer :
        Receive buffer for the data of all subflows. RFC 6182 §5.3 advises twice the sum of the rates times the longest round trip. Default: "unlimited".

    reinject :
        Data that another subflow carries again.

    rejoin :
        Subflows whose connection has ended.
    """

    scheduler: Union[SchedulerRoundRobin, SchedulerBlest, SchedulerEcf, SchedulerKind, Literal["min-rtt", "round-robin", "redundant", "blest", "ecf", "linger"]]
    coupling: Literal["auto", "none", "lia", "olia", "balia"]
    receive_buffer: str
    reinject: Reinject
    rejoin: Rejoin

_SubflowOptional = TypedDict("_SubflowOptional", {"class": int}, total=False)


class Subflow(_SubflowOptional, total=False):
    """One path of a flow over several paths.

    route :
        Route from the flow's `from` to its `to`, in the notation of a flow's `route`. Default: the route with the shortest delay at the start of the run.

    reverse_route :
        Route back. Default: the route with the shortest delay.

    start :
        Time after the opening of the connection until it joins, once the first subflow is established. The first subflow has none. Default: "0 s".

    backup :
        Whether it carries data only while no other subflow can (RFC 8684 §3.3.8). Default: false.

    class :
        Class of its packets. Default: that of the flow.

    tcp :
        Keys of this subflow's TCP that override those of the flow.
    """

    route: List[str]
    reverse_route: List[str]
    start: str
    backup: bool
    tcp: Tcp

_FlowRequired = TypedDict("_FlowRequired", {"from": str, "to": Union[str, List[str]]})

_FlowOptional = TypedDict("_FlowOptional", {"class": int}, total=False)


class Flow(_FlowRequired, _FlowOptional, total=False):
    """Application, with its connections or datagrams.

    from :
        Sending node. For requests and responses, the node that sends the requests. May contain `{n}` if `count` is set.

    to :
        Receiving node. May contain `{n}` if `count` is set. A list of nodes receives the same datagrams: one packet on shared links and in the frames of a forward carrier, copied where routes part. Each receiver is a flow with its own results and a number.

    copy_of :
        Flow whose datagrams this flow receives, as one more receiver. Both have the same `from`, `app`, `start` and `class`, and each name of a list in `to` is such a receiver. Default: it sends its own. The resolved scenario has this key in place of a list.

    count :
        Number of flows that the entry creates, with 1, 2, ... for `{n}` in `from`, `to`, routes and the name. Names without `{n}` get the number as a suffix. Default: one flow without a number. Receivers of a list without `{n}` occur once.

    app :
        Application of the flow. Default: "greedy".

    reader :
        Reading rate of the receiving application. Default: it reads all data immediately.

    start :
        Start of the flow. Default: "0 s".

    class :
        Class of the flow's packets, in both directions, for queues with classes. With strict priority, 0 is the highest. Default: 0.

    route :
        Route from `from` to `to`: nodes, or links where several links join the same nodes. Default: the route with the shortest delay at the start of the run.

    reverse_route :
        Route back from `to` to `from`. Default: the route with the shortest delay.

    tcp :
        Keys of this flow's transport that override `[tcp]`.

    quic :
        QUIC in place of TCP, with the keys that override `[quic]`. Write `quic = {}` if there are none. Default: TCP.

    multipath :
        TCP over several paths (RFC 8684), one for each `subflow`. Write `multipath = {}` for the defaults. Default: one path.

    subflow :
        Subflows of `multipath`, by name. One with `start` 0 opens the connection: of several, the first by name with `backup = false`. `FLOW.SUBFLOW` names one in `[[at]]`, in `sky.disjoint.flow` and in results.
    """

    copy_of: str
    count: int
    app: Union[AppFile, AppBulk, AppArrivals, AppRecords, AppRequestResponse, AppPage, AppCbr, AppRtp, AppCarousel, AppPoisson, AppOnOff, AppProbe, AppKind, Literal["greedy", "page", "probe", "port"]]
    reader: Reader
    start: Union[str, FlowStartTable]
    route: List[str]
    reverse_route: List[str]
    tcp: Tcp
    quic: Quic
    multipath: MultiConfig
    subflow: Dict[str, Subflow]

_InstallRequired = TypedDict("_InstallRequired", {"flow": str})


class Install(_InstallRequired, total=False):
    """New routes of a flow. A direction without a key keeps its route.

    flow :
        Name of the flow, or `FLOW.SUBFLOW` of a flow over several paths. The name of an entry with `count` stands for all its flows.

    route :
        Route to `to`, in the notation of a flow's `route`. It may begin at any node on the path. Nodes outside the new route keep their routing entries. May contain `{n}`. A route whose first name is a link begins at `from`.

    reverse_route :
        Route back, which ends at `from`.
    """

    route: List[str]
    reverse_route: List[str]

_HandoverRequired = TypedDict("_HandoverRequired", {"from": str, "to": str})


class Handover(_HandoverRequired, total=False):
    """Handover: every route through `from` at that instant goes through `to` instead. The old links go down and the new links come up at the same instant unless `make_before_break` or `break_before_make` is set.

    from :
        Node, such as a satellite, or link, such as a beam.

    to :
        Node with links to the same neighbours, or link between the same two nodes.

    make_before_break :
        Time for which the old links stay up after the new links take over.

    break_before_make :
        Time between the end of the old links and the start of the new links. With `waiting = "lost"`, flows have no route during this time. Otherwise, packets wait for the new links.
    """

    make_before_break: str
    break_before_make: str

_AtRequired = TypedDict("_AtRequired", {"time": str})


class At(_AtRequired, total=False):
    """Changes at an instant of the run. Their order is: links come up, routes are withdrawn, routes are installed, links go down. Several tables may have the same time.

    time :
        Instant of the changes, at most 200 days. Changes after the end of the run are ignored.

    up :
        Links that come up. `LINK` stands for both directions, `LINK.forward` or `LINK.reverse` for one direction. Default: [].

    down :
        Links that go down, named as in `up`. Default: [].

    waiting :
        Treatment of packets that wait for a link of `down`, or that arrive during its outage. Default: "lost".

    in_flight :
        Treatment of packets on the way over a link of `down`. Default: "lost".

    install :
        Routes that nodes learn. Default: [].

    withdraw :
        Flows that lose their route until a new route is installed. `FLOW` stands for both directions, `FLOW.forward` or `FLOW.reverse` for one direction. The name of an entry with `count` stands for all its flows, and `FLOW.SUBFLOW` for one path of a flow over several. Default: [].

    handover :
        Handovers from one node or link to another: a short form of the changes above. Default: [].
    """

    up: List[str]
    down: List[str]
    waiting: Literal["lost", "rerouted", "kept", "moved"]
    in_flight: Literal["lost", "delivered"]
    install: List[Install]
    withdraw: List[str]
    handover: List[Handover]


class Record(TypedDict, total=False):
    """Recording of time series.

    series :
        Series to record. Default: [].

    interval :
        Time between samples of links and of rates. Default: "100 ms".

    rows_max :
        Largest number of rows per series. A full series thins itself, and a full list counts further rows. Default: 1000000.

    transfers_max :
        Largest number of rows in the table of transfers. Further rows are counted, and the statistics cover all. Default: 100000.
    """

    series: List[Literal["cwnd_bytes", "ssthresh_bytes", "srtt_s", "rto_s", "flight_size_bytes", "receive_window_bytes", "delivery_rate_bps", "limited_by", "held_bytes", "pacing_rate_bps", "delay_s", "cc_state", "cc_pacing_gain", "cc_cwnd_gain", "cc_bandwidth_bps", "cc_min_rtt_s", "cc_inflight_longterm_bytes", "cc_inflight_shortterm_bytes", "cc_bw_shortterm_bps", "cc_extra_acked_bytes", "cc_full_bw_reached", "cc_values", "goodput_bps", "queue_bytes", "queue_packets", "carried_bps", "modcod", "granted_bps", "requested_bps", "backlog_bytes", "events", "decisions", "losses", "objects", "critical_path"]]
    interval: str
    rows_max: int
    transfers_max: int


class Until(TypedDict, total=False):
    """Precision that ends the replications of a point.

    metric :
        Metric; see `bentpipe list metrics`. Default: "goodput".

    half_width :
        Largest half width of the mean's 95 % interval, as a share of the mean. Default: 0.02.
    """

    metric: str
    half_width: Union[str, float]


class Sweep(TypedDict, total=False):
    """Grid of experiments for `bentpipe sweep`: this scenario with other values of some keys, each combination several times.

    replications :
        Number of replications of each point. Replication k has the scenario's seed + k, so all points meet the same channels. With `until`, the least number. Default: 10.

    replications_max :
        Largest number of replications of a point that does not meet `until`. Default: 100.

    until :
        Precision of a point's mean that ends its replications.

    metrics :
        Metrics of the report, in this order; see `bentpipe list metrics`. The store contains all metrics. Default: ["goodput"].

    against :
        Baseline: the congestion control or case that the others are compared with. Default: the best one.

    tables :
        Tables of each run to keep, in addition to its metrics. Default: [].

    vary :
        Keys of the scenario, each with its values: a list, or a range such as `{ from = 1e-5, to = 1e-1, count = 9, scale = "log" }` or `{ from = "1 Mbit/s", to = "9 Mbit/s", step = "2 Mbit/s" }`. Every value is combined with every value of the other keys. The key `case` takes names of the scenario's cases.

    together :
        Tables like `vary` whose keys change together: first values with first values, second with second. Default: [].
    """

    replications: int
    replications_max: int
    until: Until
    metrics: List[str]
    against: str
    tables: List[Literal["flows", "subflows", "links", "drops", "completions", "transfers", "datagrams", "probes", "quic", "media", "terminals", "modcods"]]
    vary: Dict[str, object]
    together: List[Dict[str, object]]


class Tune(TypedDict, total=False):
    """Search for better settings with `bentpipe tune`. The values in the file are the default, which every setting is compared with.

    objective :
        Metrics to improve, each with its weight: `{ "fct:pages" = 1 }`. For a front of compromises: `{ pareto = ["fct:pages", "goodput:film"] }`. See `bentpipe list metrics`; `bytes:LINK` is what the link carries per delivered byte.

    guard :
        Metrics that must hold in every condition, each with its bound. A share is relative to the default: `{ "goodput:film" = "-15 %", unfinished = 0 }`.

    robust :
        Score of a setting over all conditions. Default: "mean".

    margin :
        Smallest improvement that matters, as a share of the default's value. Default: "1 %".

    space :
        Settings that may be recommended. Default: "linux".

    period :
        Known period of the steps of the path, such as the reallocation of satellites. `bentpipe fit` writes the period that it finds. Default: the period of the delay, slots, jitter or selection of satellites.

    vary :
        Keys of the scenario with the values to try, as in `[sweep.vary]`. Default: a stock space for this scenario.

    condition :
        Conditions, by name, besides the scenario as it is written. Each overrides parts of the scenario, like a case. `weight` is its share of time; without it, all conditions have the same share. `draws` names files of traces, such as `"path.data/draws/*.csv"`: each replication takes the next file.
    """

    objective: Dict[str, object]
    guard: Dict[str, object]
    robust: Literal["mean", "worst", "q90"]
    margin: str
    space: Literal["linux", "all"]
    period: str
    vary: Dict[str, object]
    condition: Dict[str, Dict[str, object]]

_ScenarioDictRequired = TypedDict("_ScenarioDictRequired", {"duration": str, "link": Dict[str, Link], "flow": Dict[str, Flow]})


class ScenarioDict(_ScenarioDictRequired, total=False):
    """A bentpipe scenario: an experiment with TCP over links with loss, delay and variation.

    title :
        Title in one line, for tables and figures. Default: "".

    duration :
        Simulated duration of the run, at most 200 days.

    seed :
        Seed of all random streams. Every compared case meets the same channel if the seed is the same. Default: 1.

    tcp :
        Transport at both ends of every flow. `[flow.NAME.tcp]` overrides each key for one flow.

    quic :
        QUIC at both ends of the flows that have a table `quic`. `[flow.NAME.quic]` overrides each key for one flow.

    node :
        Properties of nodes, by name. Nodes exist as soon as a link names them; only changed nodes need a table.

    sky :
        Satellites over the nodes that are places on Earth.

    medium :
        Media that links share, by name.

    link :
        Links, by name. Each has two directions.

    flow :
        Flows, by name.

    forwarding :
        Route of a packet if routes change while it is on the way. Default: "hop-by-hop".

    at :
        Changes during the run. Default: [].

    record :
        Time series to record.

    case :
        Cases that `bentpipe compare` compares, by name. Each overrides parts of the scenario, such as `[case.prr]` with `tcp.reduction = "prr"`.

    sweep :
        Grid of experiments for `bentpipe sweep`.

    tune :
        Search for better settings with `bentpipe tune`.
    """

    title: str
    seed: int
    tcp: Tcp
    quic: Quic
    node: Dict[str, Node]
    sky: Sky
    medium: Dict[str, Union[MediumMfTdma, MediumTdm, MediumLeoCell]]
    forwarding: Literal["hop-by-hop", "source-route"]
    at: List[At]
    record: Record
    case: Dict[str, Dict[str, object]]
    sweep: Sweep
    tune: Tune

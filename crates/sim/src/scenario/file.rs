//! The scenario file, defined once. From these structs come the JSON schema, and from the schema the check of what
//! was written, the reference page and the Python types.
//!
//! The doc comment of a field is its text in the reference. `default` and `x-origin` (where the default is from) stand
//! in the schema; the walker writes defaults into the tree before it becomes these structs, so a field with a default is
//! not an `Option`, and there is no second place where a default could differ.

use super::registered::{Cc, SeriesName, Verdict};
use super::text::{
    Angle, BitRate, Bytes, Chance, Distance, GiveUp, InitialSsthresh, InitialWindow, Phase, QueueLimit, ReceiveBuffer,
    Span,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A bentpipe scenario: an experiment with TCP over links that lose, delay and vary.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "bentpipe scenario")]
pub(super) struct File {
    /// One line for tables and figures.
    #[schemars(extend("default" = ""))]
    pub(super) title: String,
    /// Simulated time after which the run ends; at most 200 days.
    pub(super) duration: Span,
    /// Seed of all random streams: the same seed gives the same channel to every sender that is compared.
    #[schemars(extend("default" = 1))]
    pub(super) seed: u64,
    /// The transport at both ends of every flow; each key may be repeated for one flow under `[flow.NAME.tcp]`.
    #[schemars(extend("default" = {}))]
    pub(super) tcp: Tcp,
    /// Properties of nodes. A node exists because a link names it; a table is needed only to change it.
    #[schemars(extend("default" = {}))]
    pub(super) node: BTreeMap<String, Node>,
    /// The links, by name. Each carries both directions.
    pub(super) link: BTreeMap<String, Link>,
    /// The connections, by name.
    pub(super) flow: BTreeMap<String, Flow>,
    /// Which time series are kept.
    #[schemars(extend("default" = {}))]
    pub(super) record: Record,
}

/// A place where links meet.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Node {
    /// What happens to corrupted packets here.
    #[schemars(extend("default" = "router"))]
    pub(super) kind: NodeKind,
    /// Functions that see each packet passing through, in order.
    #[schemars(extend("default" = []))]
    pub(super) middlebox: Vec<Middlebox>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum NodeKind {
    /// Checks each packet and drops a corrupted one.
    Router,
    /// A repeater: passes corrupted packets on, corrupted.
    BentPipe,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Middlebox {
    /// Duplicates and holds back packets at random.
    Impair {
        /// Probability that a packet is sent twice.
        #[schemars(extend("default" = 0))]
        duplicate: Chance,
        /// Probability that a packet is held back, so that later ones overtake it.
        #[schemars(extend("default" = 0))]
        reorder: Chance,
        /// How long a packet is held back.
        #[schemars(extend("default" = "0 s"))]
        hold: Span,
    },
}

/// A link between two nodes: forward is `from` to `to`, reverse the way back.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "what stands here reaches the resolver through the directions, which inherit it")]
pub(super) struct Link {
    /// The node at one end. May contain `{n}` if there is a `count`.
    pub(super) from: String,
    /// The node at the other end. May contain `{n}` if there is a `count`.
    pub(super) to: String,
    /// Make this many links from the entry, with 1, 2, ... for `{n}` in `from`, `to` and the name (appended if it has none).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(super) count: Option<u32>,
    /// Bit rate, constant or over time. Required, here or for each direction.
    pub(super) rate: Option<RateProfile>,
    /// Propagation delay one way, constant or over time. Required, here or for each direction.
    pub(super) delay: Option<DelayProfile>,
    /// The queue in front of the link. What is being sent does not count. A bdp is this link's largest rate times the largest propagation round trip of the flows that cross it; at least one full packet.
    #[schemars(extend("default" = "1 bdp", "x-origin" = "rule of thumb, Villamizar and Song 1994"))]
    pub(super) queue: Queue,
    /// What corrupts packets.
    #[schemars(extend("default" = "none"))]
    pub(super) error: ErrorModel,
    /// When the link carries nothing. Without it, it is never down.
    pub(super) outage: Option<Outage>,
    /// What differs from `from` to `to`.
    #[schemars(extend("default" = {}))]
    pub(super) forward: Direction,
    /// What differs from `to` to `from`.
    #[schemars(extend("default" = {}))]
    pub(super) reverse: Direction,
}

/// One direction of a link: what stands here goes before the link's own keys.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Direction {
    /// Bit rate of this direction.
    pub(super) rate: Option<RateProfile>,
    /// Propagation delay of this direction.
    pub(super) delay: Option<DelayProfile>,
    /// The queue of this direction.
    pub(super) queue: Option<Queue>,
    /// What corrupts packets in this direction.
    pub(super) error: Option<ErrorModel>,
    /// When this direction is down.
    pub(super) outage: Option<Outage>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(super) enum RateProfile {
    Constant(BitRate),
    Points(RatePoints),
}

/// A bit rate that changes in steps.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RatePoints {
    /// Pairs of instant and rate, increasing in time, the first at 0 s. Each holds until the next.
    #[schemars(length(min = 1))]
    pub(super) points: Vec<(Span, BitRate)>,
    /// Start again after this long. Without it, the last point holds.
    pub(super) every: Option<Span>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(super) enum DelayProfile {
    Constant(Span),
    Points(DelayPoints),
    Pass(DelayPass),
}

/// A delay that changes over time.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DelayPoints {
    /// Pairs of instant and delay, increasing in time, the first at 0 s.
    #[schemars(length(min = 1))]
    pub(super) points: Vec<(Span, Span)>,
    /// What happens between points.
    #[schemars(extend("default" = "hold"))]
    pub(super) interpolate: Interpolate,
    /// Start again after this long. Without it, the last point holds.
    pub(super) every: Option<Span>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Interpolate {
    /// Each value holds until the next point.
    Hold,
    /// A straight line to the next point.
    Linear,
}

/// The delay to a satellite that passes overhead.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DelayPass {
    /// The orbit; at the end of each period of visibility the next satellite takes over.
    pub(super) pass: Pass,
}

/// A circular orbit seen from a station that it crosses overhead, Earth rotation ignored (E. Lutz et al. 2000).
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Pass {
    /// Altitude of the orbit above the ground, 100 km to 100,000 km.
    pub(super) altitude: Distance,
    /// The satellite is used above this elevation; 0 to 89 degrees.
    pub(super) elevation_min: Angle,
    /// Slant ranges between the ends of the link: 1 to the satellite, 2 for up and down again.
    #[schemars(extend("default" = 2), range(min = 1, max = 100))]
    pub(super) hops: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(super) enum Queue {
    Limit(QueueLimit),
    Kind(QueueKind),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(inline)]
pub(super) enum QueueKind {
    /// First in, first out; what finds it full is dropped.
    DropTail {
        /// How much may wait.
        #[schemars(extend("default" = "1 bdp"))]
        limit: QueueLimit,
    },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum ErrorModel {
    /// No errors.
    None,
    /// Each bit of a packet, headers included, is wrong with this probability; one is enough.
    Bit {
        /// Bit error rate.
        rate: Chance,
    },
    /// Each byte of a packet, headers included, is wrong with this probability (ns-2: unit byte).
    Byte {
        /// Byte error rate.
        rate: Chance,
    },
    /// Each packet is corrupted with this probability, whatever its size (ns-2's default unit).
    Packet {
        /// Packet error rate.
        rate: Chance,
    },
    /// Good and bad states that last for exponential times, with errors in each (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// What the rates count.
        #[schemars(extend("default" = "packet", "x-origin" = "ns-2"))]
        unit: ErrorUnit,
        /// Mean duration of the good state.
        mean_good: Span,
        /// Mean duration of the bad state.
        mean_bad: Span,
        /// Error rate in the good state.
        #[schemars(extend("default" = 0, "x-origin" = "Gilbert 1960"))]
        rate_good: Chance,
        /// Error rate in the bad state.
        #[schemars(extend("default" = 1, "x-origin" = "Gilbert 1960"))]
        rate_bad: Chance,
    },
    /// Exactly these packets: for worked examples.
    Arrivals {
        /// Indices of the packets that are corrupted, increasing; 0 is the first that the link sends.
        #[schemars(length(max = 1_000_000))]
        list: Vec<u64>,
    },
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ErrorUnit {
    /// Per bit, headers included.
    Bit,
    /// Per byte, headers included.
    Byte,
    /// Per packet.
    Packet,
}

/// When a link carries nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Outage {
    /// Pairs of start and end, increasing, not overlapping.
    #[schemars(length(min = 1))]
    pub(super) spans: Vec<(Span, Span)>,
    /// Repeat after this long. Without it, the spans come once.
    pub(super) every: Option<Span>,
    /// What happens to packets that wait when the link goes down.
    #[schemars(extend("default" = "keep"))]
    pub(super) queue: OutageQueue,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OutageQueue {
    /// They wait for the end of the outage.
    Keep,
    /// They are dropped.
    Flush,
}

/// One connection and the application that uses it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Flow {
    /// The sending node. May contain `{n}` if there is a `count`.
    pub(super) from: String,
    /// The receiving node. May contain `{n}` if there is a `count`.
    pub(super) to: String,
    /// Make this many flows from the entry, with 1, 2, ... for `{n}` in `from`, `to`, routes and the name (appended if it has none).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(super) count: Option<u32>,
    /// What it sends.
    #[schemars(extend("default" = "greedy"))]
    pub(super) app: App,
    /// When it opens.
    #[schemars(extend("default" = "0 s"))]
    pub(super) start: Start,
    /// The way there: nodes from `from` to `to`, or names of links where two links join the same nodes. Without it, the way of shortest delay at the start of the run.
    pub(super) route: Option<Vec<String>>,
    /// The way back, from `to` to `from`. Without it, the way of shortest delay.
    pub(super) reverse_route: Option<Vec<String>>,
    /// What differs from `[tcp]`, key by key.
    pub(super) tcp: Option<Tcp>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum App {
    /// As much as the window allows, until the run ends.
    Greedy,
    /// A number of bytes, then close.
    File {
        /// Bytes of application data, at least 1.
        size: Bytes,
    },
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(super) enum Start {
    At(Span),
    Uniform(StartUniform),
}

/// A random instant.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StartUniform {
    /// Earliest and latest instant, the latest excluded; drawn for each flow.
    pub(super) uniform: (Span, Span),
}

/// Time series to keep.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    /// Which series are kept.
    #[schemars(extend("default" = []))]
    pub(super) series: Vec<SeriesName>,
    /// Time between samples of links and of rates.
    #[schemars(extend("default" = "100 ms"))]
    pub(super) interval: Span,
    /// Rows kept at most, over all series; what is beyond is counted, not kept.
    #[schemars(extend("default" = 1_000_000), range(max = 1_000_000_000))]
    pub(super) rows_max: u64,
}

/// The transport of a flow.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Tcp {
    /// Which congestion control moves the window.
    #[schemars(extend("default" = "newreno", "x-origin" = "RFC 6582"))]
    pub(super) cc: Cc,
    /// Largest payload of a segment (SMSS), 40 B to 65415 B.
    #[schemars(extend("default" = "1460 B", "x-origin" = "RFC 9293 §3.7.1: 1500 B packets less 40 B"))]
    pub(super) smss: Bytes,
    /// Which procedure decides what is lost and what is sent again. Without it, the one that the congestion control was published with.
    pub(super) recovery: Option<Recovery>,
    /// What a loss is taken to mean.
    #[schemars(extend("default" = "always-congestion", "x-origin" = "RFC 5681"))]
    pub(super) verdict: Verdict,
    /// Send one new segment on each of the first two duplicate ACKs.
    #[schemars(extend("default" = true, "x-origin" = "RFC 3042"))]
    pub(super) limited_transmit: bool,
    /// Window at the start of data transfer.
    #[schemars(extend("default" = "rfc6928", "x-origin" = "RFC 6928 §2"))]
    pub(super) initial_window: InitialWindow,
    /// Where slow start ends for the first time; at least two segments. A bdp is the smallest rate on the route times the propagation round trip.
    #[schemars(extend("default" = "unlimited", "x-origin" = "RFC 5681 §3.1"))]
    pub(super) initial_ssthresh: InitialSsthresh,
    /// Grow the window only while it limits sending.
    #[schemars(extend("default" = true, "x-origin" = "RFC 7661"))]
    pub(super) cwnd_validation: bool,
    /// Fall back to the restart window after an idle time of one retransmission timeout.
    #[schemars(extend("default" = true, "x-origin" = "RFC 5681 §4.1"))]
    pub(super) idle_restart: bool,
    /// What is halved when the slow start threshold is set.
    #[schemars(extend("default" = "flight-size", "x-origin" = "RFC 5681 §3.1 eq. 4"))]
    pub(super) ssthresh_base: SsthreshBase,
    /// Keep the slow start threshold to the byte, or round it down to whole segments.
    #[schemars(extend("default" = "bytes", "x-origin" = "RFC 5681 §3.1; ns-2 counts segments"))]
    pub(super) ssthresh_rounding: SsthreshRounding,
    /// Let the ACK that ends fast recovery also grow the window; RFC 5681 and 6582 only deflate it, ns-2 grows it.
    #[schemars(extend("default" = false, "x-origin" = "RFC 5681 §3.2"))]
    pub(super) grow_on_exit: bool,
    /// When a connection that gets no answer is given up.
    #[schemars(extend("default" = "100 s", "x-origin" = "RFC 1122 §4.2.3.5"))]
    pub(super) give_up: GiveUp,
    /// Timestamps: 12 bytes in every segment, a round-trip sample from every ACK.
    #[schemars(extend("default" = false, "x-origin" = "the five papers do not use them"))]
    pub(super) timestamps: bool,
    /// Window scaling; without it the advertised window ends at 65535 B.
    #[schemars(extend("default" = true, "x-origin" = "RFC 7323 §2"))]
    pub(super) window_scaling: bool,
    /// The receiver's buffer, which bounds the window it advertises; at most 1073725440 B. A bdp is the smallest rate on the route times the propagation round trip.
    #[schemars(extend("default" = "unlimited", "x-origin" = "RFC 7323 §2.3"))]
    pub(super) receive_buffer: ReceiveBuffer,
    /// Open with SYN and SYN-ACK. Without, the connection starts established and the first data leave at once.
    #[schemars(extend("default" = true, "x-origin" = "RFC 9293 §3.5"))]
    pub(super) handshake: bool,
    /// The retransmission timer.
    #[schemars(extend("default" = {}))]
    pub(super) rto: Rto,
    /// When the receiver acknowledges.
    #[schemars(extend("default" = {}))]
    pub(super) ack: Ack,
}

/// The retransmission timer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rto {
    /// Timeout before the first sample, at least 1 ms.
    #[schemars(extend("default" = "1 s", "x-origin" = "RFC 6298 §2.1"))]
    pub(super) initial: Span,
    /// Lower bound.
    #[schemars(extend("default" = "1 s", "x-origin" = "RFC 6298 §2.4"))]
    pub(super) min: Span,
    /// Upper bound, at least 1 ms.
    #[schemars(extend("default" = "60 s", "x-origin" = "RFC 6298 §2.5"))]
    pub(super) max: Span,
    /// Clock granularity: samples and timeouts are whole ticks. Zero: a continuous clock.
    #[schemars(extend("default" = "1 ms", "x-origin" = "RFC 7323 §5.4"))]
    pub(super) granularity: Span,
    /// Where in a tick the clock starts; `random` is drawn for each end.
    #[schemars(extend("default" = "random", "x-origin" = "hosts are not synchronised"))]
    pub(super) phase: Phase,
    /// Add at least one tick to the smoothed round-trip time: SRTT + max(G, 4 RTTVAR).
    #[schemars(extend("default" = true, "x-origin" = "RFC 6298 §2.3"))]
    pub(super) guard: bool,
    /// How a round trip becomes a number of ticks.
    #[schemars(extend("default" = "floor", "x-origin" = "ns-2"))]
    pub(super) rounding: Rounding,
    /// Smallest timeout in ticks.
    #[schemars(extend("default" = 1, "x-origin" = "RFC 6298 §2.4 sets no tick count"), range(max = 1_000_000))]
    pub(super) min_ticks: u32,
    /// Which ACKs give a round-trip sample when timestamps are off.
    #[schemars(extend("default" = "per-window", "x-origin" = "RFC 6298 §3"))]
    pub(super) sampling: Sampling,
    /// Take no sample from a segment that was sent again.
    #[schemars(extend("default" = true, "x-origin" = "RFC 6298 §3"))]
    pub(super) karn: bool,
    /// Restart the timer when duplicate or selective ACKs start a retransmission; RFC 6298 §5 leaves it running, so that recovery has only what is left of it.
    #[schemars(extend("default" = true, "x-origin" = "Linux, ns-2"))]
    pub(super) restart_on_fast_retransmit: bool,
    /// Double the timeout at each expiry.
    #[schemars(extend("default" = true, "x-origin" = "RFC 6298 §5.5"))]
    pub(super) backoff: bool,
    /// Largest factor of the backoff.
    #[schemars(extend("default" = 64, "x-origin" = "ns-2"), range(min = 1, max = 1_000_000))]
    pub(super) backoff_max: u32,
}

/// When the receiver acknowledges.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ack {
    /// Acknowledge at every n-th full segment; 1: every segment.
    #[schemars(extend("default" = 2, "x-origin" = "RFC 5681 §4.2"), range(min = 1, max = 1_000_000))]
    pub(super) every: u32,
    /// Longest delay of an acknowledgement.
    #[schemars(extend("default" = "200 ms", "x-origin" = "within RFC 1122 §4.2.3.2; usual"))]
    pub(super) delay: Span,
    /// What the delay is counted from.
    #[schemars(extend("default" = "per-segment", "x-origin" = "RFC 5681 §4.2"))]
    pub(super) timer: AckTimer,
    /// Acknowledge each of the first n segments of a connection at once.
    #[schemars(extend("default" = 0, "x-origin" = "RFC 5681 §4.2"))]
    pub(super) quick: u32,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Recovery {
    /// Only the timer finds losses.
    TimeoutOnly,
    /// Fast retransmit, then slow start from the hole; no fast recovery.
    FastRetransmit,
    /// Fast recovery that any new ACK ends (RFC 5681).
    Reno,
    /// Fast recovery through partial ACKs (RFC 6582).
    #[serde(rename = "newreno")]
    NewReno {
        /// Which partial ACKs restart the retransmission timer.
        #[schemars(extend("default" = "impatient", "x-origin" = "RFC 6582 §4"))]
        timer: RecoveryTimer,
        /// The window when recovery ends.
        #[schemars(extend("default" = "flight-size", "x-origin" = "RFC 6582 §3.2 step 3, option 1"))]
        exit: RecoveryExit,
        /// How far partial ACKs may deflate the window.
        #[schemars(extend("default" = "full", "x-origin" = "RFC 6582 §3.2 step 3"))]
        deflate: RecoveryDeflate,
        /// Allow fast retransmit of the very first segment, which RFC 6582 §3.2 taken literally forbids.
        #[schemars(extend("default" = true, "x-origin" = "RFC 6582 §3.2 read as ns-2 does"))]
        first_loss: bool,
    },
    /// Selective acknowledgements (RFC 2018, RFC 6675).
    Sack {
        /// What a timeout does with the information about blocks received.
        #[schemars(extend("default" = "keep", "x-origin" = "RFC 6675 §5.1"))]
        on_rto: SackOnRto,
    },
}

macro_rules! words {
    ($($(#[doc = $about:literal])? $name:ident { $($(#[doc = $doc:literal])+ $word:ident,)+ })+) => {$(
        $(#[doc = $about])?
        #[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub(super) enum $name { $($(#[doc = $doc])+ $word,)+ }
    )+};
}

words! {
    RecoveryTimer {
        /// The first partial ACK only: many losses end in a timeout.
        Impatient,
        /// Every partial ACK: one loss is repaired per round trip.
        SlowButSteady,
    }
    RecoveryExit {
        /// min(ssthresh, max(FlightSize, SMSS) + SMSS).
        FlightSize,
        /// ssthresh.
        Ssthresh,
    }
    RecoveryDeflate {
        /// By all that was acknowledged.
        Full,
        /// Not below ssthresh (ns-2).
        ToSsthresh,
    }
    SackOnRto {
        /// Keep it, and skip what was received when resending (RFC 6675).
        Keep,
        /// Forget it, and go back to the first hole (RFC 2018).
        Discard,
    }
    SsthreshRounding {
        /// To the byte.
        Bytes,
        /// Down to whole segments.
        Segments,
    }
    SsthreshBase {
        /// The data outstanding (RFC 5681).
        FlightSize,
        /// The smaller of the congestion window and the advertised window (Jacobson 1988, ns-2).
        Window,
    }
    Rounding {
        /// The difference of the tick counters.
        Floor,
        /// The difference plus one (BSD).
        PlusOne,
    }
    Sampling {
        /// One segment is timed at a time.
        PerWindow,
        /// Every ACK of data that was sent once.
        PerAck,
    }
    AckTimer {
        /// From the arrival of the segment.
        PerSegment,
        /// A clock that fires at multiples of the delay, whatever arrives (BSD); its phase is drawn.
        FreeRunning,
    }
}

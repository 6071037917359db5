//! The transport as it is written.

use super::{AutoBuffer, AutoSendBuffer, ByteCounting, Ecn, FastOpen, Hold, Increase, Pacing, Sharing, SlowStart};
use crate::scenario::like::Like;
use crate::scenario::registered::{Cc, Named, Verdict};
use crate::scenario::text::{Bytes, GiveUp, InitialSsthresh, InitialWindow, Phase, ReceiveBuffer, SendBuffer, Span};
use bentpipe_tcp::{
    CwndValidation, NewRenoDeflate, NewRenoExit, NewRenoTimer, Reduction, RttSampling, SackEvidence, SackOnRto,
    SlowStartAcks, SnackForm, SpuriousDetection, SpuriousResponse, SsthreshBase, SsthreshRounding, TickRounding,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// The transport of a flow.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct Tcp {
    /// Which host it is like: what the file leaves open is as there, each value with its source.
    #[schemars(extend("default" = "rfc", "x-origin" = "the RFCs, and the sources of the keys themselves"))]
    pub(in crate::scenario) like: Named<Like>,
    /// Which congestion control moves the window.
    #[schemars(extend("default" = "newreno", "x-origin" = "RFC 6582"))]
    pub(in crate::scenario) cc: Cc,
    /// Largest payload of a segment (SMSS), 40 B to 65415 B.
    #[schemars(extend("default" = "1460 B", "x-origin" = "RFC 9293 §3.7.1: 1500 B packets less 40 B"))]
    pub(in crate::scenario) smss: Bytes,
    /// Which procedure decides what is lost and what is sent again. Without it, the one that the congestion control was published with.
    pub(in crate::scenario) recovery: Option<Recovery>,
    /// What a loss is taken to mean. Without it, `always-congestion` (RFC 5681), or what the congestion control was published with: `assume-congestion` for `scps`.
    pub(in crate::scenario) verdict: Option<Verdict>,
    /// Send one new segment on each of the first two duplicate ACKs.
    #[schemars(extend("default" = true, "x-origin" = "RFC 3042"))]
    pub(in crate::scenario) limited_transmit: bool,
    /// Limited transmit also in the slow start after a timeout, where what it sends may be a retransmission.
    #[schemars(extend("default" = false, "x-origin" = "RFC 3042 §2: new segments; ns-2: whatever is next"))]
    pub(in crate::scenario) limited_retransmit: bool,
    /// Let fewer than three duplicate ACKs prove a loss when fewer than four segments are outstanding and nothing new can be sent.
    #[schemars(extend("default" = false, "x-origin" = "RFC 5827 is an experiment; RFC 8985 replaces it"))]
    pub(in crate::scenario) early_retransmit: bool,
    /// How the window falls to the slow start threshold in recovery. In proportion needs a recovery that uses SACK.
    #[schemars(extend("default" = "at-once", "x-origin" = "RFC 5681 §3.2, RFC 6675 §5"))]
    pub(in crate::scenario) reduction: Named<Reduction>,
    /// Report segments that arrived twice in the first SACK block (DSACK).
    #[schemars(extend("default" = false, "x-origin" = "RFC 2018; RFC 2883 is an extension"))]
    pub(in crate::scenario) dsack: bool,
    /// How the sender finds out that it resent needlessly.
    #[schemars(extend("default" = "off", "x-origin" = "the five papers do not use any"))]
    pub(in crate::scenario) spurious_detection: Named<SpuriousDetection>,
    /// What it undoes then.
    #[schemars(extend("default" = "restore", "x-origin" = "Linux"))]
    pub(in crate::scenario) spurious_response: Named<SpuriousResponse>,
    /// Window at the start of data transfer.
    #[schemars(extend("default" = "rfc6928", "x-origin" = "RFC 6928 §2"))]
    pub(in crate::scenario) initial_window: InitialWindow,
    /// Where slow start ends for the first time; at least two segments. A bdp is the smallest rate on the route times the propagation round trip.
    #[schemars(extend("default" = "unlimited", "x-origin" = "RFC 5681 §3.1"))]
    pub(in crate::scenario) initial_ssthresh: InitialSsthresh,
    /// What an ACK counts for.
    #[schemars(extend("default" = "rfc5681", "x-origin" = "RFC 5681 §3.1 eq. 2 and 3"))]
    pub(in crate::scenario) byte_counting: ByteCounting,
    /// How slow start grows the window, and what ends it.
    #[schemars(extend("default" = "standard", "x-origin" = "RFC 5681 §3.1"))]
    pub(in crate::scenario) slow_start: SlowStart,
    /// How much congestion avoidance adds to the window in a round trip.
    #[schemars(extend("default" = "standard", "x-origin" = "RFC 5681 §3.1"))]
    pub(in crate::scenario) increase: Increase,
    /// Whether a window that equals the slow start threshold, as after fast recovery, is still in slow start and grows by a segment at once.
    #[schemars(extend("default" = false, "x-origin" = "RFC 5681 §3.1 allows both; Linux had true for long"))]
    pub(in crate::scenario) slow_start_at_ssthresh: bool,
    /// What becomes of a window that is not used.
    #[schemars(extend("default" = "if-used", "x-origin" = "Linux; RFC 7661 in spirit"))]
    pub(in crate::scenario) cwnd_validation: Named<CwndValidation>,
    /// Fall back to the restart window after an idle time of one retransmission timeout (RFC 5681 §4.1). Without it, true; false where `cwnd_validation` says itself what an idle time does.
    pub(in crate::scenario) idle_restart: Option<bool>,
    /// What is halved when the slow start threshold is set.
    #[schemars(extend("default" = "flight-size", "x-origin" = "RFC 5681 §3.1 eq. 4"))]
    pub(in crate::scenario) ssthresh_base: Named<SsthreshBase>,
    /// Keep the slow start threshold to the byte, or round it down to whole segments, with or without the window that a loss leaves.
    #[schemars(extend("default" = "bytes", "x-origin" = "RFC 5681 §3.1; ns-2 counts segments"))]
    pub(in crate::scenario) ssthresh_rounding: Named<SsthreshRounding>,
    /// Let the ACK that ends fast recovery also grow the window; RFC 5681 and 6582 only deflate it, ns-2 grows it.
    #[schemars(extend("default" = false, "x-origin" = "RFC 5681 §3.2"))]
    pub(in crate::scenario) grow_on_exit: bool,
    /// When a connection that gets no answer is given up.
    #[schemars(extend("default" = "100 s", "x-origin" = "RFC 1122 §4.2.3.5"))]
    pub(in crate::scenario) give_up: GiveUp,
    /// Timestamps: 12 bytes in every segment, a round-trip sample from every ACK.
    #[schemars(extend("default" = false, "x-origin" = "the five papers do not use them"))]
    pub(in crate::scenario) timestamps: bool,
    /// Window scaling; without it the advertised window ends at 65535 B.
    #[schemars(extend("default" = true, "x-origin" = "RFC 7323 §2"))]
    pub(in crate::scenario) window_scaling: bool,
    /// The receiver's buffer, which bounds the window it advertises; `auto` grows with the path. At most 1073725440 B. A bdp is the smallest rate on the route times the propagation round trip.
    #[schemars(extend("default" = "unlimited", "x-origin" = "RFC 7323 §2.3"))]
    pub(in crate::scenario) receive_buffer: ReceiveBuffer,
    /// The sender's buffer: what the application may have written that is not acknowledged yet; `auto` grows with the congestion window. A bdp is the smallest rate on the route times the propagation round trip.
    #[schemars(extend("default" = "unlimited", "x-origin" = "RFC 9293 §3.9.1 sets no limit"))]
    pub(in crate::scenario) send_buffer: SendBuffer,
    /// Open with SYN and SYN-ACK. Without, the connection starts established and the first data leave at once.
    #[schemars(extend("default" = true, "x-origin" = "RFC 9293 §3.5"))]
    pub(in crate::scenario) handshake: bool,
    /// The retransmission timer.
    #[schemars(extend("default" = {}))]
    pub(in crate::scenario) rto: Rto,
    /// When the receiver acknowledges.
    #[schemars(extend("default" = {}))]
    pub(in crate::scenario) ack: Ack,
    /// Congestion marks: queues that can mark do so instead of dropping.
    #[schemars(extend("default" = "off", "x-origin" = "RFC 3168 §6.1: both ends have to agree"))]
    pub(in crate::scenario) ecn: Ecn,
    /// When segments leave, beside what the windows allow. Retransmissions are paced too, acknowledgements are not.
    #[schemars(extend("default" = "off", "x-origin" = "RFC 5681 does not pace"))]
    pub(in crate::scenario) pacing: Pacing,
    /// Data in the SYN.
    #[schemars(extend("default" = "off", "x-origin" = "RFC 7413 is experimental"))]
    pub(in crate::scenario) fast_open: FastOpen,
    /// What a connection takes over from earlier ones.
    #[schemars(extend("default" = "off", "x-origin" = "RFC 5681: each connection probes anew"))]
    pub(in crate::scenario) sharing: Sharing,
    /// The size of the receiver's buffer if that is `auto`.
    #[schemars(extend("default" = {}))]
    pub(in crate::scenario) auto_buffer: AutoBuffer,
    /// The size of the sender's buffer if that is `auto`.
    #[schemars(extend("default" = {}))]
    pub(in crate::scenario) auto_send_buffer: AutoSendBuffer,
    /// Time that a host takes before it handles a packet that has arrived, drawn for each one; packets of a link never overtake one another. Of several flows that end at a node the one that may take longest decides. Real hosts take a random time; without it equal senders march in step, and each loses every n-th packet of an overflow.
    #[schemars(extend("default" = { "uniform": ["0 s", "100 us"] }, "x-origin" = "ns-2's overhead_ as it is usually set; hosts of today take tens of microseconds"))]
    pub(in crate::scenario) processing: Hold,
    /// Nagle's algorithm: hold small segments back while data are outstanding.
    #[schemars(extend("default" = false, "x-origin" = "bulk transfers have few small segments; RFC 9293 §3.7.4"))]
    pub(in crate::scenario) nagle: bool,
}

/// The retransmission timer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct Rto {
    /// Timeout before the first sample, at least 1 ms.
    #[schemars(extend("default" = "1 s", "x-origin" = "RFC 6298 §2.1"))]
    pub(in crate::scenario) initial: Span,
    /// Lower bound.
    #[schemars(extend("default" = "1 s", "x-origin" = "RFC 6298 §2.4"))]
    pub(in crate::scenario) min: Span,
    /// Upper bound, at least 1 ms.
    #[schemars(extend("default" = "60 s", "x-origin" = "RFC 6298 §2.5"))]
    pub(in crate::scenario) max: Span,
    /// Clock granularity: samples and timeouts are whole ticks. Zero: a continuous clock.
    #[schemars(extend("default" = "1 ms", "x-origin" = "RFC 7323 §5.4"))]
    pub(in crate::scenario) granularity: Span,
    /// Where in a tick the clock starts; `random` is drawn for each end.
    #[schemars(extend("default" = "random", "x-origin" = "hosts are not synchronised"))]
    pub(in crate::scenario) phase: Phase,
    /// Add at least one tick to the smoothed round-trip time: SRTT + max(G, 4 RTTVAR).
    #[schemars(extend("default" = true, "x-origin" = "RFC 6298 §2.3"))]
    pub(in crate::scenario) guard: bool,
    /// Least value of the variance term, 4 RTTVAR: the timeout is at least this much above the smoothed round-trip time.
    #[schemars(extend("default" = "0 s", "x-origin" = "RFC 6298 §2.3; Linux and FreeBSD: 200 ms"))]
    pub(in crate::scenario) variance_min: Span,
    /// How a round trip becomes a number of ticks.
    #[schemars(extend("default" = "floor", "x-origin" = "ns-2"))]
    pub(in crate::scenario) rounding: Named<TickRounding>,
    /// Smallest timeout in ticks.
    #[schemars(extend("default" = 1, "x-origin" = "RFC 6298 §2.4 sets no tick count"), range(max = 1_000_000))]
    pub(in crate::scenario) min_ticks: u32,
    /// Which ACKs give a round-trip sample when timestamps are off.
    #[schemars(extend("default" = "per-ack", "x-origin" = "hosts of today; RFC 6298 §3 asks for one in a round trip at least"))]
    pub(in crate::scenario) sampling: Named<RttSampling>,
    /// Take no sample from a segment that was sent again.
    #[schemars(extend("default" = true, "x-origin" = "RFC 6298 §3"))]
    pub(in crate::scenario) karn: bool,
    /// Restart the timer when duplicate or selective ACKs start a retransmission; RFC 6298 §5 leaves it running, so that recovery has only what is left of it.
    #[schemars(extend("default" = true, "x-origin" = "Linux, ns-2"))]
    pub(in crate::scenario) restart_on_fast_retransmit: bool,
    /// Double the timeout at each expiry.
    #[schemars(extend("default" = true, "x-origin" = "RFC 6298 §5.5"))]
    pub(in crate::scenario) backoff: bool,
    /// Largest factor of the backoff.
    #[schemars(extend("default" = 64, "x-origin" = "ns-2"), range(min = 1, max = 1_000_000))]
    pub(in crate::scenario) backoff_max: u32,
    /// Doublings after which the smoothed round-trip time is forgotten, so that the next sample counts as the first; 0: never.
    #[schemars(extend("default" = 0, "x-origin" = "RFC 6298 §5 allows both; BSD, ns-2: 4"), range(max = 1_000_000))]
    pub(in crate::scenario) forget_after: u32,
    /// Lower the slow start threshold each time that the timer expires for the same segment, not only the first time.
    #[schemars(extend("default" = false, "x-origin" = "RFC 5681 §3.1; ns-2: true"))]
    pub(in crate::scenario) reduce_again: bool,
}

/// When the receiver acknowledges.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct Ack {
    /// Acknowledge at every n-th full segment; 1: every segment.
    #[schemars(extend("default" = 2, "x-origin" = "RFC 5681 §4.2"), range(min = 1, max = 1_000_000))]
    pub(in crate::scenario) every: u32,
    /// Longest delay of an acknowledgement.
    #[schemars(extend("default" = "200 ms", "x-origin" = "within RFC 1122 §4.2.3.2; usual"))]
    pub(in crate::scenario) delay: Span,
    /// What the delay is counted from.
    #[schemars(extend("default" = "per-segment", "x-origin" = "RFC 5681 §4.2"))]
    pub(in crate::scenario) timer: Named<AckTimer>,
    /// Acknowledge each of the first n segments of a connection at once.
    #[schemars(extend("default" = 0, "x-origin" = "RFC 5681 §4.2"))]
    pub(in crate::scenario) quick: u32,
    /// Acknowledgements while the sender is in slow start.
    #[schemars(extend("default" = "delayed", "x-origin" = "RFC 5681 §4.2"))]
    pub(in crate::scenario) slow_start: Named<SlowStartAcks>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::scenario) enum Recovery {
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
        timer: Named<NewRenoTimer>,
        /// The window when recovery ends.
        #[schemars(extend("default" = "flight-size", "x-origin" = "RFC 6582 §3.2 step 3, option 1"))]
        exit: Named<NewRenoExit>,
        /// How far partial ACKs may deflate the window.
        #[schemars(extend("default" = "full", "x-origin" = "RFC 6582 §3.2 step 3"))]
        deflate: Named<NewRenoDeflate>,
        /// Allow fast retransmit of the very first segment, which RFC 6582 §3.2 taken literally forbids.
        #[schemars(extend("default" = true, "x-origin" = "RFC 6582 §3.2 read as ns-2 does"))]
        first_loss: bool,
        /// Most new segments sent in answer to one ACK during recovery; 0: as many as the window allows.
        #[schemars(extend("default" = 0, "x-origin" = "RFC 6582 sets no limit; ns-2: 2"), range(max = 1_000_000))]
        burst: u32,
    },
    /// Selective acknowledgements (RFC 2018, RFC 6675).
    Sack {
        /// What a timeout does with the information about blocks received.
        #[schemars(extend("default" = "keep", "x-origin" = "RFC 6675 §5.1"))]
        on_rto: Named<SackOnRto>,
        /// What proves a loss.
        #[schemars(extend("default" = "rfc6675", "x-origin" = "RFC 6675 §4"))]
        evidence: Named<SackEvidence>,
    },
    /// Selective acknowledgements with losses found by time, and probes for the tail (RACK-TLP, RFC 8985).
    Rack {
        /// Probe for losses at the tail before the retransmission timer expires.
        #[schemars(extend("default" = true, "x-origin" = "RFC 8985 §7"))]
        tlp: bool,
        /// What a probe waits for an ACK that the receiver may delay, when one segment is in flight.
        #[schemars(extend("default" = "200 ms", "x-origin" = "RFC 8985 §7.2; the usual ack.delay"))]
        max_ack_delay: Span,
        /// How long the smallest round-trip time, a quarter of which absorbs reordering, is remembered.
        #[schemars(extend("default" = "300 s", "x-origin" = "RFC 8985 §6.1; Linux"))]
        min_rtt_window: Span,
    },
    /// Selective negative acknowledgements: the receiver reports holes, and the sender fills them at once (SCPS-TP, CCSDS 714.0-B).
    Snack {
        /// What one report says.
        #[schemars(extend("default" = "short", "x-origin" = "the reference implementation has no other"))]
        form: Named<SnackForm>,
        /// How often the hole at the acknowledged byte is reported before the next ones are.
        #[schemars(extend("default" = 3, "x-origin" = "the reference implementation: RESNACK_THRESH"), range(min = 1, max = 1000))]
        resnacks: u32,
        /// Let ACKs of new data grow the window also while holes are repaired.
        #[schemars(extend("default" = true, "x-origin" = "reading: CCSDS 714.0-B has no fast recovery"))]
        grows: bool,
        /// Let the receiver tell of packets that arrived corrupted; the verdicts `assume-congestion` and `assume-corruption` listen.
        #[schemars(extend("default" = true, "x-origin" = "CCSDS 714.0-B"))]
        corruption_experienced: bool,
    },
}

bentpipe_units::words! {
    /// What the delay of an acknowledgement is counted from.
    pub(in crate::scenario) enum AckTimer {
        /// From the arrival of the segment.
        "per-segment" => PerSegment,
        /// A clock that fires at multiples of the delay, whatever arrives (BSD); its phase is drawn.
        "free-running" => FreeRunning,
    }
}

//! Facts for congestion controls and loss policies: the results of an ACK, the sender's view of the path, and the
//! reason for a reduction of the window.

use crate::keys::Growth;
use bentpipe_units::{Duration, Rate, Time};

/// Initial state of a congestion control.
#[derive(Clone, Copy, Debug)]
pub struct Init {
    /// The present.
    pub now: Time,
    /// Round-trip time from the handshake or an earlier connection.
    pub rtt: Option<Duration>,
    /// Seed of the random choices of a congestion control, different for each connection.
    pub seed: u64,
    /// Payload of a full segment, bytes.
    pub smss: u64,
    /// Initial window, bytes.
    pub cwnd: u64,
    /// Initial slow start threshold, bytes; `u64::MAX`: no threshold.
    pub ssthresh: u64,
    /// Growth of the window.
    pub growth: Growth,
    /// Whether both ends know [probe segments](crate::ProbeSegments).
    pub has_probe_segments: bool,
    /// Whether the receiver reports how many packets queues have marked: the feedback `accurate` or `per-segment`.
    pub has_mark_counts: bool,
}

impl Default for Init {
    /// Returns ten segments of 1460 bytes at the start of time, with no further knowledge.
    fn default() -> Self {
        Self {
            now: Time::ZERO,
            rtt: None,
            seed: 0,
            smss: 1460,
            cwnd: 14_600,
            ssthresh: u64::MAX,
            growth: Growth::default(),
            has_probe_segments: false,
            has_mark_counts: false,
        }
    }
}

/// Results of one ACK of new data.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSample {
    /// Bytes that this ACK acknowledged for the first time.
    pub newly_acked: u64,
    /// Whether the window, not the application or the receiver, limited sending in this or the last round, or is in use
    /// by the definition of `cwnd_validation`. A congestion control does not grow an unused window.
    pub is_cwnd_limited: bool,
    /// Time from the sending of the newest acknowledged segment to this ACK, if that segment was sent once.
    pub rtt: Option<Duration>,
    /// Packets that this ACK newly reported as arrived, and the marked ones among them.
    pub marks: Marks,
}

/// Packets that one ACK reports as arrived, and the marked ones among them. Both are 0 unless the congestion control
/// [asks for them](crate::CongestionControl::takes_marks) and the feedback counts marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Packets that arrived with a mark (CE, RFC 3168).
    pub ce_packets: u32,
    /// Packets that arrived, marked or not; packets of full size are assumed.
    pub delivered_packets: u32,
}

/// Delivery and loss by one ACK, in recovery, too. Only for congestion controls that [ask for
/// it](crate::CongestionControl::takes_deliveries).
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Bytes that this ACK newly showed as arrived: cumulatively, selectively, or one segment by a duplicate ACK
    /// without SACK. Each byte counts once.
    pub newly_delivered: u64,
    /// Bytes delivered so far.
    pub delivered: u64,
    /// Bytes that this ACK showed as lost.
    pub newly_lost: u64,
    /// Bytes declared lost so far.
    pub lost: u64,
    /// Bytes in the network: sent, and neither delivered nor declared lost since (RFC 6675: pipe).
    pub in_flight: u64,
    /// Whether the window limited sending, as in [`AckSample`].
    pub is_cwnd_limited: bool,
    /// Whether losses are being repaired, by recovery or in the slow start after a timeout.
    pub is_repairing: bool,
    /// Delivery rate; `None` if the ACK delivered no data whose transmission is known.
    pub rate: Option<RateSample>,
    /// Time from sender to receiver of the newest segment, by both clocks, whose offset is unknown. Only with
    /// timestamps (RFC 7323), in their steps of a millisecond.
    pub one_way_delay: Option<Duration>,
    /// Time when the receiver sent this ACK, by its own clock in milliseconds, whose origin is unknown and which wraps.
    /// Only with timestamps (RFC 7323: TSval).
    pub receiver_clock: Option<u32>,
    /// Round-trip time by the echoed timestamp, in steps of a millisecond, up to a millisecond too short.
    /// Retransmissions have one, too. Only with timestamps, and only from an ACK of new data (RFC 7323 §4.1).
    pub echoed_rtt: Option<Duration>,
    /// Packets that this ACK newly reported as arrived, and the marked ones among them.
    pub marks: Marks,
}

/// Sample of the delivery rate by one ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered over `interval`.
    pub delivered: u64,
    /// The longer of the times to send and to acknowledge those bytes.
    pub interval: Duration,
    /// Round-trip time of the transmission; `None` if it was sent more than once.
    pub rtt: Option<Duration>,
    /// Whether the application limited the transmission, not the path: the rate is a lower bound.
    pub is_app_limited: bool,
    /// Bytes in flight when the transmission left, itself included.
    pub flight_before: u64,
    /// Bytes declared lost since it left.
    pub lost: u64,
    /// Bytes delivered when the transmission left.
    pub prior_delivered: u64,
    /// Whether the interval is shorter than any round trip: the sample has no rate.
    pub is_too_short: bool,
}

impl RateSample {
    /// Returns the delivery rate of payload; `None` if the interval is shorter than any round trip.
    pub fn rate(&self) -> Option<Rate> {
        if self.is_too_short || self.interval == Duration::ZERO {
            return None;
        }
        let bits = u128::from(self.delivered) * 8 * u128::from(Duration::from_secs(1).as_ps());
        Some(Rate::from_bps(u64::try_from(bits / u128::from(self.interval.as_ps())).unwrap_or(u64::MAX)))
    }
}

/// A segment that was declared lost, with the state when it left. Only for congestion controls that [ask for
/// deliveries](crate::CongestionControl::takes_deliveries).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// Offset of its first byte.
    pub start: u64,
    /// Its length, bytes.
    pub len: u64,
    /// Bytes in flight when it left, itself included.
    pub flight_before: u64,
    /// Bytes declared lost since it left, itself included, without later segments that the same ACK shows as lost.
    pub lost: u64,
    /// Whether the application limited the transmission when it left, not the path.
    pub is_app_limited: bool,
    /// Bytes delivered when it left.
    pub prior_delivered: u64,
    /// Bytes delivered so far.
    pub delivered: u64,
    /// Whether selective ACKs show each lost segment. Without them only the first of several is reported.
    pub has_sack: bool,
}

/// The sender's view of the path. The connection owns it; it is read-only here.
// Field order matters. With SND.UNA beside SND.NXT, one load would take both and wait for the store of the changed one.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PathState {
    /// The present.
    pub now: Time,
    /// Payload of a full segment, bytes.
    pub smss: u64,
    /// Headers of a full segment, IP's included, bytes.
    pub header_len: u64,
    /// Offset of the first unacknowledged byte (RFC 9293: SND.UNA), from the first byte of data.
    pub snd_una: u64,
    /// Bytes sent and not acknowledged (RFC 5681: FlightSize).
    pub flight_size: u64,
    /// Quantity that a reaction to loss takes its share of: FlightSize or min(cwnd, rwnd), as configured.
    pub ssthresh_base: u64,
    /// Unit of ssthresh, bytes.
    pub ssthresh_unit: u64,
    /// Offset of the next new byte (RFC 9293: SND.NXT). Data released by this ACK is not sent yet.
    pub snd_nxt: u64,
    /// Smoothed round-trip time (RFC 6298); `None` before the first sample.
    pub srtt: Option<Duration>,
    /// The receiver's advertised window, bytes.
    pub rwnd: u64,
}

impl PathState {
    /// Returns max(base / 2, 2 SMSS): RFC 5681 eq. (4).
    pub fn half(&self) -> u64 {
        self.share(HALF)
    }

    /// Returns [`half`](Self::half), rounded as ssthresh.
    pub fn half_as_ssthresh(&self) -> u64 {
        self.as_ssthresh(self.half())
    }

    /// Returns that many thousandths of the base, at least 2 SMSS (RFC 8511 §3).
    pub fn share(&self, thousandths: u32) -> u64 {
        (self.ssthresh_base * u64::from(thousandths) / 1000).max(2 * self.smss)
    }

    /// Returns `bytes`, rounded as ssthresh.
    pub fn as_ssthresh(&self, bytes: u64) -> u64 {
        bytes - bytes % self.ssthresh_unit
    }
}

/// Sending rate of a congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Rate, headers included.
    pub rate: Rate,
    /// Payload that may leave back to back after a pause, bytes, unless the connection's pacing defines it; `None`: two
    /// segments.
    pub burst: Option<u64>,
    /// Depth of a token bucket, bytes of packets, from which ACKs draw, too. `None`: the rate is that of data, and
    /// `burst` or the connection's pacing bounds bursts. Fixed when data transfer begins.
    pub bucket: Option<u64>,
}

impl Pace {
    /// Returns a pace at this rate, with two segments back to back.
    pub const fn at(rate: Rate) -> Self {
        Self { rate, burst: None, bucket: None }
    }
}

/// Reason for a reduction of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// Duplicate or selective ACKs showed a loss that the verdict attributes to congestion.
    FastRetransmit,
    /// The receiver reported ECN marks. Nothing is missing.
    Ecn {
        /// Thousandths of the window after the reduction; `None`: as after a loss.
        beta: Option<u32>,
    },
}

/// Thousandths of the window after a loss by RFC 5681.
pub const HALF: u32 = 500;

impl Congestion {
    /// Returns the thousandths of the window after the reduction; `after_loss` are those after a loss.
    pub fn left(self, after_loss: u32) -> u32 {
        match self {
            Self::Ecn { beta: Some(beta) } => beta,
            Self::Ecn { beta: None } | Self::FastRetransmit => after_loss,
        }
    }
}

/// Effect of a congestion control on a path if no buffer bounds its window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unbounded {
    /// A clause whose subject is the congestion control.
    pub does: String,
    /// Whether probe segments have the effect: queues with priorities prevent it, and a send buffer does not bound them.
    pub is_probes: bool,
}

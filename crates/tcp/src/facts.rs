//! The facts that a congestion control and a loss policy are given: what an ACK taught, the sender's view of the path, and why
//! the window is reduced.

use crate::keys::Growth;
use bentpipe_units::{Duration, Rate, Time};

/// What a controller starts from.
#[derive(Clone, Copy, Debug)]
pub struct Init {
    /// The present.
    pub now: Time,
    /// Round-trip time that the handshake or an earlier connection showed.
    pub rtt: Option<Duration>,
    /// For what a controller chooses at random; two connections have different ones.
    pub seed: u64,
    /// Payload of a full segment, bytes.
    pub smss: u64,
    /// Initial window, bytes.
    pub cwnd: u64,
    /// Initial slow start threshold, bytes; `u64::MAX`: none.
    pub ssthresh: u64,
    /// What the window grows by.
    pub growth: Growth,
    /// Both ends know [probe segments](crate::cc::ProbeSegments).
    pub has_probe_segments: bool,
}

impl Default for Init {
    /// Ten segments of 1460 bytes at the beginning of time, nothing known.
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
        }
    }
}

/// What one ACK of new data taught.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Bytes that this ACK acknowledged for the first time.
    pub newly_acked: u64,
    /// Whether the window, not the application or the receiver, limited sending in this or the last round, or is in
    /// use as `cwnd_validation` has it. A controller does not grow a window that is not used.
    pub is_cwnd_limited: bool,
    /// Time from the sending of the newest acknowledged segment to this ACK, if that segment was sent once.
    pub rtt: Option<Duration>,
}

/// What one ACK taught of delivery and loss, also during recovery; gathered only for controllers that
/// [ask for it](crate::cc::CongestionControl::takes_deliveries).
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Bytes that this ACK showed to have arrived: cumulatively, selectively, or one segment by a duplicate ACK where there is
    /// no SACK. Each byte counts once.
    pub newly_delivered: u64,
    /// All of them so far.
    pub delivered: u64,
    /// Bytes that this ACK showed to be lost.
    pub newly_lost: u64,
    /// Bytes ever declared lost.
    pub lost: u64,
    /// Bytes in the network: sent, not delivered, not declared lost since (RFC 6675: pipe).
    pub in_flight: u64,
    /// As in [`AckSample`].
    pub is_cwnd_limited: bool,
    /// Losses are being repaired, by recovery or in the slow start after a timeout.
    pub is_repairing: bool,
    /// How fast; none if the ACK delivered nothing of which the sending is known.
    pub rate: Option<RateSample>,
    /// How long the newest segment took to the receiver by both ends' clocks, whose offset to each other is not known; only with
    /// timestamps (RFC 7323), in their steps of a millisecond.
    pub one_way_delay: Option<Duration>,
    /// When the receiver sent this ACK, by its own clock in milliseconds, whose origin is not known and which wraps; only with
    /// timestamps (RFC 7323: TSval).
    pub receiver_clock: Option<u32>,
    /// Round-trip time by the echoed timestamp, in steps of a millisecond, so that it may be up to a millisecond too short.
    /// Retransmissions have one, too. Only with timestamps, and only from an ACK of new data (RFC 7323 §4.1).
    pub echoed_rtt: Option<Duration>,
}

/// What one ACK says about the rate of delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered over `interval`.
    pub delivered: u64,
    /// The longer of the times that they took to send and to be acknowledged.
    pub interval: Duration,
    /// Round-trip time of the transmission; none if it was sent more than once.
    pub rtt: Option<Duration>,
    /// The application, not the path, limited what was sent: the rate is a lower bound.
    pub is_app_limited: bool,
    /// Bytes in flight when the transmission left, itself included.
    pub flight_before: u64,
    /// Bytes declared lost since it left.
    pub lost: u64,
    /// Bytes delivered when the transmission left.
    pub prior_delivered: u64,
    pub(crate) is_too_short: bool,
}

impl RateSample {
    /// The rate of delivery of payload; none if the interval is shorter than any round trip.
    pub fn rate(&self) -> Option<Rate> {
        if self.is_too_short || self.interval == Duration::ZERO {
            return None;
        }
        let bits = u128::from(self.delivered) * 8 * u128::from(Duration::from_secs(1).as_ps());
        Some(Rate::from_bps(u64::try_from(bits / u128::from(self.interval.as_ps())).unwrap_or(u64::MAX)))
    }
}

/// A segment that was declared lost, with what was noted when it left; only for controllers that
/// [ask for deliveries](crate::cc::CongestionControl::takes_deliveries).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// Offset of its first byte.
    pub start: u64,
    /// Its bytes.
    pub len: u64,
    /// Bytes in flight when it left, itself included.
    pub flight_before: u64,
    /// Bytes declared lost since it left, itself included, but not later segments that the same ACK shows to be lost.
    pub lost: u64,
    /// The application, not the path, limited what was sent when it left.
    pub is_app_limited: bool,
    /// Bytes delivered when it left.
    pub prior_delivered: u64,
    /// Bytes delivered so far.
    pub delivered: u64,
    /// Selective ACKs show each lost segment; without them only the first of several is reported.
    pub has_sack: bool,
}

/// The sender's view of the path; owned by the connection, read-only here.
// In this order: were SND.UNA beside SND.NXT, one load would take both, and wait for the store of the one that changed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PathState {
    /// The present.
    pub now: Time,
    /// Payload of a full segment, bytes.
    pub smss: u64,
    /// Headers of a full segment, IP's included, bytes.
    pub header_len: u64,
    /// Offset of the first byte not acknowledged (RFC 9293: SND.UNA), from the first byte of data.
    pub snd_una: u64,
    /// Bytes sent and not acknowledged (RFC 5681: FlightSize).
    pub flight_size: u64,
    /// What a reaction to loss takes its share of: FlightSize or min(cwnd, rwnd), as configured.
    pub ssthresh_base: u64,
    /// ssthresh is a whole number of these, bytes.
    pub ssthresh_unit: u64,
    /// Offset of the next new byte (RFC 9293: SND.NXT); what the ACK at hand lets go is not sent yet.
    pub snd_nxt: u64,
    /// Smoothed round-trip time (RFC 6298); none before the first sample.
    pub srtt: Option<Duration>,
    /// The receiver's advertised window, bytes.
    pub rwnd: u64,
}

impl PathState {
    /// max(base / 2, 2 SMSS): RFC 5681 eq. (4).
    pub fn half(&self) -> u64 {
        self.share(HALF)
    }

    /// [`half`](Self::half) as it is kept in ssthresh.
    pub fn half_as_ssthresh(&self) -> u64 {
        self.as_ssthresh(self.half())
    }

    /// That many thousandths of the base, at least 2 SMSS (RFC 8511 §3).
    pub fn share(&self, thousandths: u32) -> u64 {
        (self.ssthresh_base * u64::from(thousandths) / 1000).max(2 * self.smss)
    }

    /// `bytes` as they are kept in ssthresh.
    pub fn as_ssthresh(&self, bytes: u64) -> u64 {
        bytes - bytes % self.ssthresh_unit
    }
}

/// How fast a controller sends, where it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Headers included.
    pub rate: Rate,
    /// Payload that may leave back to back after a pause, bytes, where the connection's pacing does not say; none: two segments.
    pub burst: Option<u64>,
    /// The depth of a token bucket, bytes of packets, on which ACKs draw too. None: the rate is that of data, and `burst` or the
    /// connection's pacing bounds what leaves back to back.
    /// Whether there is one is settled when data transfer begins.
    pub bucket: Option<u64>,
}

impl Pace {
    /// At this rate, two segments back to back.
    pub const fn at(rate: Rate) -> Self {
        Self { rate, burst: None, bucket: None }
    }
}

/// Why the window is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// Duplicate or selective ACKs showed a loss that the verdict attributes to congestion.
    FastRetransmit,
    /// The receiver reported ECN marks. Nothing is missing.
    Ecn {
        /// Thousandths of the window that are left; none: what a loss leaves.
        beta: Option<u32>,
    },
}

/// Thousandths that RFC 5681 leaves.
pub const HALF: u32 = 500;

impl Congestion {
    /// Thousandths of the window that are left, where a loss leaves `after_loss`.
    pub fn left(self, after_loss: u32) -> u32 {
        match self {
            Self::Ecn { beta: Some(beta) } => beta,
            Self::Ecn { beta: None } | Self::FastRetransmit => after_loss,
        }
    }
}

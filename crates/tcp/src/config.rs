//! Everything that can be set about a connection. Both ends of a connection get the same configuration.
//!
//! These are resolved values: no option is left open. How a scenario file spells them, and the default of
//! each with its source, stands in `bentpipe-sim`'s scenario module.

mod ends;
mod growth;

pub use ends::*;
pub use growth::{
    ByteCounting, CwndValidation, Growth, Hoe, HyStart, HyStartBaseline, HyStartDetect, HyStartPlusPlus, Increase,
    SlowStart,
};

use crate::cc::{CcConfig, CcKind, CustomCc};
use crate::verdict::VerdictKind;
use bentpipe_units::Duration;

/// The settings of one connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Largest payload of a segment, bytes (RFC 5681: SMSS). May change later, see `Connection::set_smss`.
    pub smss: u32,
    /// Which congestion control moves the window.
    pub cc: CcConfig,
    /// One that is not in the registry, in place of it.
    pub own_cc: Option<CustomCc>,
    /// Which procedure decides what is lost and what is sent again.
    pub recovery: Recovery,
    /// What a loss is taken to mean.
    pub verdict: VerdictKind,
    /// Send one new segment on each of the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Limited transmit also in the slow start after a timeout, where what it sends may be a retransmission (ns-2).
    pub limited_retransmit: bool,
    /// Fewer duplicate ACKs suffice when fewer can come (RFC 5827).
    pub early_retransmit: bool,
    /// How the window falls in recovery.
    pub reduction: Reduction,
    /// Report duplicates to the peer (RFC 2883).
    pub dsack: bool,
    /// How a retransmission is found to have been needless.
    pub spurious_detection: SpuriousDetection,
    /// What is undone then.
    pub spurious_response: SpuriousResponse,
    /// Window at the start of data transfer.
    pub initial_window: InitialWindow,
    /// Slow start threshold at the start of data transfer.
    pub initial_ssthresh: InitialSsthresh,
    /// What the window grows by.
    pub growth: Growth,
    /// What becomes of a window that is not used.
    pub cwnd_validation: CwndValidation,
    /// Fall back to the restart window after an idle time of one RTO (RFC 5681 §4.1). Not asked where
    /// `cwnd_validation` says itself what an idle time does (RFC 2861, RFC 7661).
    pub idle_restart: bool,
    /// What FlightSize stands for when ssthresh is set.
    pub ssthresh_base: SsthreshBase,
    /// Keep ssthresh to the byte, or round it down to whole segments.
    pub ssthresh_rounding: SsthreshRounding,
    /// The ACK that ends fast recovery also grows the window (ns-2); RFC 5681 and 6582 only deflate it.
    pub grow_on_exit: bool,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// When a connection that gets no answer is given up.
    pub give_up: GiveUp,
    /// RFC 7323 timestamps: 12 bytes in every segment, an RTT sample from every ACK.
    pub timestamps: bool,
    /// RFC 7323 window scaling; without it the advertised window ends at 65,535 bytes.
    pub window_scaling: bool,
    /// The receiver's buffer, bytes: the largest window that it advertises.
    pub receive_buffer: u64,
    /// The sender's buffer, bytes: what the application may have written that is not acknowledged yet.
    pub send_buffer: u64,
    /// When the receiver acknowledges.
    pub ack: AckPolicy,
    /// Open with SYN and SYN-ACK. Without, the connection starts established and the first data leave at once.
    pub handshake: bool,
    /// Congestion marks.
    pub ecn: EcnConfig,
    /// Spreading of segments in time.
    pub pacing: Pacing,
    /// Data in the SYN.
    pub fast_open: Option<FastOpen>,
    /// What is taken over from earlier connections.
    pub sharing: Option<Sharing>,
    /// Where an auto-tuned receive buffer starts, bytes; it grows up to `receive_buffer`. None: it has that size at once.
    pub auto_buffer: Option<u64>,
    /// Where an auto-tuned send buffer starts, bytes; it grows with the congestion window, up to `send_buffer`. None: it has that
    /// size at once.
    pub auto_send_buffer: Option<u64>,
    /// Hold small segments back while data are outstanding (RFC 9293 §3.7.4).
    pub nagle: bool,
}

/// How losses are found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Duplicate ACKs mean nothing; only the timer finds losses (TCPmin, Emmelmann).
    TimeoutOnly,
    /// Fast retransmit, then slow start from the hole; no fast recovery (Tahoe).
    FastRetransmit,
    /// Fast retransmit and fast recovery that any new ACK ends (RFC 5681).
    Reno,
    /// Fast recovery through partial ACKs (RFC 6582).
    NewReno(NewReno),
    /// Selective acknowledgements (RFC 2018) with the procedure of RFC 6675.
    Sack {
        /// What a timeout does with the SACK information.
        on_rto: SackOnRto,
        /// What proves a loss.
        evidence: SackEvidence,
    },
    /// Selective acknowledgements with losses found by time (RFC 8985).
    Rack(Rack),
    /// Selective negative acknowledgements (SCPS-TP, CCSDS 714.0-B).
    Snack(Snack),
}

impl Recovery {
    /// The name in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TimeoutOnly => "timeout-only",
            Self::FastRetransmit => "fast-retransmit",
            Self::Reno => "reno",
            Self::NewReno(_) => "newreno",
            Self::Sack { .. } => "sack",
            Self::Rack(_) => "rack",
            Self::Snack(_) => "snack",
        }
    }

    /// Whether it works with selective acknowledgements, which the ends then negotiate.
    pub const fn uses_sack(self) -> bool {
        matches!(self, Self::Sack { .. } | Self::Rack(_))
    }
}

/// The readings of RFC 6582.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewReno {
    /// Restart the retransmission timer at the first partial ACK only, or at each.
    pub timer: NewRenoTimer,
    /// The window when recovery ends.
    pub exit: NewRenoExit,
    /// How far partial ACKs may deflate the window.
    pub deflate: NewRenoDeflate,
    /// Allow fast retransmit of the very first segment, for which RFC 6582 §3.2 taken literally forbids it.
    pub first_loss: bool,
    /// Most new segments sent in answer to one ACK during recovery; 0: as many as the window allows.
    pub burst: u32,
}

bentpipe_units::words! {
    /// RFC 6582 §3.2 step 3 and §4: the timer on partial ACKs.
    pub enum NewRenoTimer {
        /// The first partial ACK only: many losses end in a timeout.
        "impatient" => Impatient,
        /// Every partial ACK: one loss is repaired per round trip.
        "slow-but-steady" => SlowButSteady,
    }
}

bentpipe_units::words! {
    /// RFC 6582 §3.2 step 3, full acknowledgements.
    pub enum NewRenoExit {
        /// min(ssthresh, max(FlightSize, SMSS) + SMSS).
        "flight-size" => FlightSize,
        /// ssthresh.
        "ssthresh" => Ssthresh,
    }
}

bentpipe_units::words! {
    /// How far the window may deflate on partial ACKs.
    pub enum NewRenoDeflate {
        /// By all that was acknowledged.
        "full" => Full,
        /// Not below ssthresh.
        "to-ssthresh" => ToSsthresh,
        /// By all that was acknowledged; what exceeds the inflation comes off the congestion window for good (ns-2).
        "window" => Window,
    }
}

/// The settings of SNACK. Both ends have to offer it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snack {
    /// What one report says.
    pub form: SnackForm,
    /// How often the hole at the acknowledged byte is reported before the next ones are, 1 or more.
    pub resnacks: u32,
    /// ACKs of new data grow the window also while holes are repaired.
    pub grows: bool,
    /// The receiver tells of packets that arrived corrupted.
    pub corruption_experienced: bool,
}

impl Snack {
    /// As the reference implementation has it.
    pub const DEFAULT: Self = Self { form: SnackForm::Short, resnacks: 3, grows: true, corruption_experienced: true };
}

bentpipe_units::words! {
    /// What one SNACK reports.
    pub enum SnackForm {
        /// One hole.
        "short" => Short,
        /// One hole, and a bit for each segment beyond it, if both ends want that.
        "long" => Long,
    }
}

/// The settings of RACK-TLP (RFC 8985).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rack {
    /// Probe for losses at the tail (TLP).
    pub tlp: bool,
    /// What a probe waits for an ACK that the receiver delays, if a single segment is in flight.
    pub max_ack_delay: Duration,
    /// The smallest round-trip time is that of this last time.
    pub min_rtt_window: Duration,
}

bentpipe_units::words! {
    /// What proves that a segment was lost.
    pub enum SackEvidence {
        /// Three SACKed runs, or more than two segments of SACKed data, above it (RFC 6675 §4).
        "rfc6675" => Rfc6675,
        /// SACKed data more than three segments above it (FACK, Mathis and Mahdavi 1996).
        "fack" => Fack,
        /// Any SACKed data above it, once three duplicate ACKs have begun recovery (before RFC 3517; ns-2).
        "hole" => Hole,
    }
}

bentpipe_units::words! {
    /// How the window falls to ssthresh in recovery.
    pub enum Reduction {
        /// At once (RFC 5681, RFC 6675).
        "at-once" => AtOnce,
        /// In proportion to what is delivered (RFC 9937).
        "prr" => Prr,
        /// In proportion, with the slow start reduction bound of RFC 6937.
        "prr-ssrb" => PrrSsrb,
        /// In proportion, with the conservative reduction bound of RFC 6937.
        "prr-crb" => PrrCrb,
    }
}

bentpipe_units::words! {
    /// How a retransmission is found to have been needless.
    pub enum SpuriousDetection {
        /// Not at all.
        "off" => Off,
        /// After a timeout, by the ACKs that follow (F-RTO, RFC 5682).
        "frto" => Frto,
        /// By the timestamp that the ACK echoes (RFC 3522).
        "eifel" => Eifel,
        /// By duplicates that the receiver reports (RFC 3708).
        "dsack" => Dsack,
        /// By whichever of the three shows it first.
        "any" => Any,
    }
}

bentpipe_units::words! {
    /// What is undone when a retransmission was needless.
    pub enum SpuriousResponse {
        /// The window continues from what is outstanding, the timer becomes more patient (RFC 4015).
        "rfc4015" => Rfc4015,
        /// Window, threshold and the controller's state are as before.
        "restore" => Restore,
        /// The reduction stays; only the resending ends.
        "conservative" => Conservative,
    }
}

impl SpuriousDetection {
    /// Whether `method` is among those in use.
    pub(crate) fn uses(self, method: Self) -> bool {
        self == method || self == Self::Any
    }
}

bentpipe_units::words! {
    /// RFC 2018 §8 against RFC 6675 §5.1.
    pub enum SackOnRto {
        /// Keep it, and skip what was received when resending (RFC 6675).
        "keep" => Keep,
        /// Forget it, and go back to the first hole (RFC 2018).
        "discard" => Discard,
    }
}

/// The initial window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// This many full segments.
    Segments(u32),
    /// This many bytes.
    Bytes(u64),
    /// min(4 MSS, max(2 MSS, 4380 B)).
    Rfc3390,
    /// 2, 3 or 4 segments for MSS above 2190 B, above 1095 B, or smaller.
    Rfc5681,
    /// min(10 MSS, max(2 MSS, 14600 B)).
    Rfc6928,
}

impl InitialWindow {
    /// The window in bytes for segments of `smss` bytes.
    pub fn bytes(self, smss: u32) -> u64 {
        let smss = u64::from(smss);
        match self {
            Self::Segments(n) => u64::from(n) * smss,
            Self::Bytes(n) => n,
            Self::Rfc3390 => (4 * smss).min((2 * smss).max(4380)),
            Self::Rfc5681 if smss > 2190 => 2 * smss,
            Self::Rfc5681 if smss > 1095 => 3 * smss,
            Self::Rfc5681 => 4 * smss,
            Self::Rfc6928 => (10 * smss).min((2 * smss).max(14_600)),
        }
    }
}

/// Where slow start ends for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialSsthresh {
    /// "Arbitrarily high" (RFC 5681 §3.1).
    Unlimited,
    /// This many bytes.
    Bytes(u64),
    /// The window that the peer advertised first.
    PeerWindow,
}

bentpipe_units::words! {
    /// What is halved when ssthresh is set.
    pub enum SsthreshBase {
        /// The data outstanding (RFC 5681).
        "flight-size" => FlightSize,
        /// The smaller of the congestion window and the advertised window (Jacobson 1988, ns-2).
        "window" => Window,
    }
}

bentpipe_units::words! {
    /// The unit of ssthresh.
    pub enum SsthreshRounding {
        /// To the byte.
        "bytes" => Bytes,
        /// Down to whole segments.
        "segments" => Segments,
        /// Down to whole segments, and so the window that a loss leaves (Linux).
        "window" => Window,
    }
}

/// The retransmission timer (RFC 6298).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// Before the first sample (RFC 6298 §2.1).
    pub initial: Duration,
    /// Lower bound (RFC 6298 §2.4).
    pub min: Duration,
    /// Upper bound (RFC 6298 §2.5).
    pub max: Duration,
    /// Clock granularity G: samples and timeouts are whole ticks. Zero: a continuous clock.
    pub granularity: Duration,
    /// Where in a tick this end's clock starts; below `granularity`.
    pub phase: Duration,
    /// `SRTT + max(G, 4 RTTVAR)` (RFC 6298) or `SRTT + 4 RTTVAR`.
    pub guard: bool,
    /// Least value of the variance term, 4 RTTVAR.
    pub variance_min: Duration,
    /// How a span becomes a number of ticks.
    pub rounding: TickRounding,
    /// Smallest timeout in ticks.
    pub min_ticks: u32,
    /// Which ACKs give a sample when timestamps are off.
    pub sampling: RttSampling,
    /// Take no sample from a segment that was sent again (Karn's rule).
    pub karn: bool,
    /// Restart the timer when duplicate or selective ACKs start a retransmission (Linux, ns-2). RFC 6298 §5 leaves it
    /// running, so that recovery has only what is left of it.
    pub restart_on_fast_retransmit: bool,
    /// Double the timeout at each expiry.
    pub backoff: bool,
    /// Largest factor of the backoff.
    pub backoff_max: u32,
    /// After this many doublings SRTT and RTTVAR are taken afresh from the next sample (RFC 6298 §5, last note); 0: never.
    pub forget_after: u32,
    /// Lower ssthresh at each expiry for the same segment, not only at the first one, as RFC 5681 §3.1 asks.
    pub reduce_again: bool,
}

bentpipe_units::words! {
    /// RTT samples in ticks.
    pub enum TickRounding {
        /// The difference of the tick counters.
        "floor" => Floor,
        /// The difference plus one (BSD).
        "plus-one" => PlusOne,
    }
}

bentpipe_units::words! {
    /// How often the RTT is sampled.
    pub enum RttSampling {
        /// One segment is timed at a time.
        "per-window" => PerWindow,
        /// Every ACK of data that was sent once.
        "per-ack" => PerAck,
    }
}

/// When to abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// Try for ever.
    Never,
    /// When the timer expires after this many retransmissions of one segment.
    AfterRetransmissions(u32),
    /// When this long has passed since the first retransmission of one segment (RFC 1122 §4.2.3.5: R2).
    AfterTime(Duration),
}

/// When the receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPolicy {
    /// Acknowledge at every n-th full segment; 1: every segment.
    pub every: u32,
    /// Longest delay of an ACK.
    pub delay: Duration,
    /// What the delay is counted from.
    pub timer: DelayTimer,
    /// Acknowledge each of the first n segments of a connection at once.
    pub quick: u32,
    /// Whether the sender signals slow start, so that the receiver delays nothing meanwhile.
    pub slow_start: SlowStartAcks,
}

/// The delayed-ACK timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayTimer {
    /// Starts with the segment.
    PerSegment,
    /// Fires at multiples of the delay (BSD), shifted by `phase`.
    FreeRunning {
        /// Below the delay.
        phase: Duration,
    },
}

impl Default for Config {
    /// The standards' values; each default's source stands in the scenario reference.
    fn default() -> Self {
        Self {
            smss: 1460,
            cc: CcKind::NewReno.into(),
            own_cc: None,
            recovery: Recovery::NewReno(NewReno::default()),
            verdict: VerdictKind::AlwaysCongestion,
            limited_transmit: true,
            limited_retransmit: false,
            early_retransmit: false,
            reduction: Reduction::AtOnce,
            dsack: false,
            spurious_detection: SpuriousDetection::Off,
            spurious_response: SpuriousResponse::Restore,
            initial_window: InitialWindow::Rfc6928,
            initial_ssthresh: InitialSsthresh::Unlimited,
            growth: Growth::default(),
            cwnd_validation: CwndValidation::IfUsed,
            idle_restart: true,
            ssthresh_base: SsthreshBase::FlightSize,
            ssthresh_rounding: SsthreshRounding::Bytes,
            grow_on_exit: false,
            rto: RtoConfig::default(),
            give_up: GiveUp::AfterTime(Duration::from_secs(100)),
            timestamps: false,
            window_scaling: true,
            receive_buffer: Self::RECEIVE_BUFFER_MAX,
            send_buffer: Self::UNLIMITED,
            ack: AckPolicy::default(),
            handshake: true,
            ecn: EcnConfig::default(),
            pacing: Pacing::Off,
            fast_open: None,
            sharing: None,
            auto_buffer: None,
            auto_send_buffer: None,
            nagle: false,
        }
    }
}

impl Config {
    /// The largest window that RFC 7323 can advertise: 65,535 · 2^14 bytes.
    pub const RECEIVE_BUFFER_MAX: u64 = 65_535 << 14;
    /// A send buffer of this size holds whatever is written.
    pub const UNLIMITED: u64 = u64::MAX >> 8;
    /// The largest payload: what fits a 65,535-byte packet with full headers.
    pub const SMSS_MAX: u32 = 65_415;
}

impl Default for NewReno {
    fn default() -> Self {
        Self {
            timer: NewRenoTimer::Impatient,
            exit: NewRenoExit::FlightSize,
            deflate: NewRenoDeflate::Full,
            first_loss: true,
            burst: 0,
        }
    }
}

impl Default for Rack {
    fn default() -> Self {
        Self { tlp: true, max_ack_delay: Duration::from_millis(200), min_rtt_window: Duration::from_secs(300) }
    }
}

impl Default for RtoConfig {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
            granularity: Duration::from_millis(1),
            phase: Duration::ZERO,
            guard: true,
            variance_min: Duration::ZERO,
            rounding: TickRounding::Floor,
            min_ticks: 1,
            sampling: RttSampling::PerAck,
            karn: true,
            restart_on_fast_retransmit: true,
            backoff: true,
            backoff_max: 64,
            forget_after: 0,
            reduce_again: false,
        }
    }
}

impl Default for AckPolicy {
    fn default() -> Self {
        Self {
            every: 2,
            delay: Duration::from_millis(200),
            timer: DelayTimer::PerSegment,
            quick: 0,
            slow_start: SlowStartAcks::Delayed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::InitialWindow::{Rfc3390, Rfc5681, Rfc6928, Segments};

    /// `specs/initial-window.md`, tests.
    #[test]
    fn initial_windows_of_the_rfcs() {
        assert_eq!([Rfc3390.bytes(1460), Rfc6928.bytes(1460)], [4380, 14_600]);
        assert_eq!([Rfc3390.bytes(536), Rfc6928.bytes(536)], [2144, 5360]);
        assert_eq!([Rfc3390.bytes(1000), Rfc6928.bytes(1000)], [4000, 10_000]);
        assert_eq!(Rfc3390.bytes(2200), 4400);
        assert_eq!([Rfc5681.bytes(2200), Rfc5681.bytes(1460), Rfc5681.bytes(1000)], [4400, 4380, 4000]);
        assert_eq!(Segments(3).bytes(1000), 3000);
    }
}

//! Everything that can be set about a connection: the keys of `[tcp]`. Each is declared once, here or, where a congestion control
//! needs its type too, in `keys`. Both ends of a connection get the same configuration.

pub use crate::keys::*;

use crate::cc::{CcConfig, CcKind, CongestionControl, CustomCc, Init, Unbounded};
use crate::verdict::VerdictKind;
use bentpipe_units::settings;
use bentpipe_units::settings::{Bytes, Include, OnOff, Open};

settings! {
    /// The settings of one connection.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// Which congestion control moves the window.
        cc: CcConfig = CcKind::NewReno.into(), "RFC 6582";
        /// Largest payload of a segment (SMSS), 40 B to 65415 B.
        smss: u32 as Bytes = 1460, "RFC 9293 §3.7.1: 1500 B packets less 40 B";
        /// Which procedure decides what is lost and what is sent again. Without it, the one that the congestion control was published with.
        recovery: Recovery as Open = Recovery::NewReno(NewReno::default());
        /// Best-effort transport of SCPS-TP: what is missing for too long is skipped. With recovery `snack`.
        best_effort: Option<BestEffort> as OnOff = None, "RFC 9293 §3.8: reliable";
        /// What a loss is taken to mean. Without it, `always-congestion` (RFC 5681), or what the congestion control was published with: `assume-congestion` for `scps`.
        verdict: VerdictKind as Open = VerdictKind::AlwaysCongestion;
        /// Copies of data with low priority, for the verdict `low-priority-copies`.
        copies: Copies = Copies::default();
        /// What the window that the network advertises says of a loss, before the verdict is asked.
        feedback: Feedback = Feedback::Off, "RFC 5681 knows no feedback";
        /// Which ACKs count as duplicates.
        duplicate_acks: DuplicateAcks = DuplicateAcks::SameWindow, "RFC 5681 §2";
        /// Send one new segment on each of the first two duplicate ACKs.
        limited_transmit: bool = true, "RFC 3042";
        /// Limited transmit also in the slow start after a timeout, where what it sends may be a retransmission.
        limited_retransmit: bool = false, "RFC 3042 §2: new segments; ns-2: whatever is next";
        /// Let fewer than three duplicate ACKs prove a loss when fewer than four segments are outstanding and nothing new can be sent.
        early_retransmit: bool = false, "RFC 5827 is an experiment; RFC 8985 replaces it";
        /// How the window falls to the slow start threshold in recovery. In proportion needs a recovery that uses SACK.
        reduction: Reduction = Reduction::AtOnce, "RFC 5681 §3.2, RFC 6675 §5";
        /// Reaction to the loss of a retransmission, where the recovery finds it without the timer: `rack`, and `sack` with `evidence = "status"`. `snack` lowers the window once in an epoch, as SCPS-TP does.
        second_reduction: SecondReduction = SecondReduction::Rfc5681, "RFC 5681 §4.3";
        /// Report segments that arrived twice in the first SACK block (DSACK). Without it, true with recovery `rack` (RFC 8985 adapts its reordering window by DSACK), else false (RFC 2018; RFC 2883 is an extension).
        dsack: bool as Open = false;
        /// How the sender finds out that it resent needlessly.
        spurious_detection: SpuriousDetection = SpuriousDetection::Off, "the five papers do not use any";
        /// What it undoes then.
        spurious_response: SpuriousResponse = SpuriousResponse::Restore, "Linux";
        /// Window at the start of data transfer.
        initial_window: InitialWindow = InitialWindow::Rfc6928, "RFC 6928 §2";
        /// Where slow start ends for the first time; at least two segments. A bdp is the smallest rate on the route times the propagation round trip.
        initial_ssthresh: InitialSsthresh = InitialSsthresh::Unlimited, "RFC 5681 §3.1";
        /// What the window grows by.
        growth: Growth as Include = Growth::default();
        /// What becomes of a window that is not used.
        cwnd_validation: CwndValidation = CwndValidation::IfUsed, "Linux; RFC 7661 in spirit";
        /// Fall back to the restart window after an idle time of one retransmission timeout (RFC 5681 §4.1). Without it, true; false where `cwnd_validation` says itself what an idle time does.
        idle_restart: bool as Open = true;
        /// Keep the slow start threshold to the byte, or round it down to whole segments, with or without the window that a loss leaves.
        ssthresh_rounding: SsthreshRounding = SsthreshRounding::Bytes, "RFC 5681 §3.1; ns-2 counts segments";
        /// Let the ACK that ends fast recovery also grow the window; RFC 5681 and 6582 only deflate it, ns-2 grows it.
        grow_on_exit: bool = false, "RFC 5681 §3.2";
        /// What is halved when the slow start threshold is set.
        ssthresh_base: SsthreshBase = SsthreshBase::FlightSize, "RFC 5681 §3.1 eq. 4";
        /// When a connection that gets no answer is given up.
        give_up: GiveUp = GiveUp::AfterTime(bentpipe_units::Duration::from_secs(100)), "RFC 1122 §4.2.3.5";
        /// Probes on an idle connection, which is given up if the peer does not answer them. Each end probes.
        keepalive: Option<Keepalive> as OnOff = None, "RFC 9293 §3.8.4: off unless asked for";
        /// ACKs below SND.UNA that a segment may carry.
        acceptable_acks: AcceptableAcks = AcceptableAcks::Rfc9293, "RFC 9293 §3.10.7.4; RFC 5961 §5 is a further check";
        /// The number of challenge ACKs: answers to resets and SYNs in the window, and to ACKs that are not acceptable (RFC 5961).
        challenge_acks: ChallengeAcks = ChallengeAcks::default(), "RFC 5961 §7";
        /// Timestamps: 12 bytes in every segment, a round-trip sample from every ACK.
        timestamps: bool = false, "the five papers do not use them";
        /// Window scaling; without it the advertised window ends at 65535 B.
        window_scaling: bool = true, "RFC 7323 §2";
        /// The receiver's buffer, which bounds the window it advertises; `auto` grows with the path. At most 1073725440 B. A bdp is the smallest rate on the route times the propagation round trip.
        receive_buffer: u64 as ReceiveBuffer = Config::RECEIVE_BUFFER_MAX, "RFC 7323 §2.3";
        /// The sender's buffer: what the application may have written that is not acknowledged yet; `auto` grows with the congestion window. A bdp is the smallest rate on the route times the propagation round trip.
        send_buffer: u64 as SendBuffer = Config::UNLIMITED, "RFC 9293 §3.9.1 sets no limit";
        /// Open with SYN and SYN-ACK. Without, the connection starts established and the first data leave at once.
        handshake: bool = true, "RFC 9293 §3.5";
        /// The retransmission timer.
        rto: RtoConfig = RtoConfig::default();
        /// When the receiver acknowledges.
        ack: AckPolicy = AckPolicy::default();
        /// Congestion marks: queues that can mark do so instead of dropping.
        ecn: EcnConfig = EcnConfig::default(), "RFC 3168 §6.1: both ends have to agree";
        /// When segments leave, beside what the windows allow. Retransmissions are paced too, acknowledgements are not.
        pacing: Pacing = Pacing::Off, "RFC 5681 does not pace";
        /// Data in the SYN.
        fast_open: Option<FastOpen> as OnOff = None, "RFC 7413 is experimental";
        /// T/TCP: data and FIN in the SYN, by connection counts. Not with Fast Open.
        transactions: Option<Transactions> as OnOff = None, "RFC 1644 is historic (RFC 6247)";
        /// What a connection takes over from earlier ones.
        sharing: Option<Sharing> as OnOff = None, "RFC 5681: each connection probes anew";
        /// Nagle's algorithm: hold small segments back while data are outstanding.
        nagle: bool = false, "bulk transfers have few small segments; RFC 9293 §3.7.4";
        /// What a report of a corrupted segment leads to; functions of the network send them.
        error_reports: ErrorReports = ErrorReports::Ignore, "no standard has such reports";
        /// How often a segment that was reported is sent each time. It is sent again when all copies were reported: of n copies with the probability p of being corrupted all are with p^n (multicopy retransmission).
        report_copies: u32 = 1, [1, 8];
        /// Retransmission of a reported segment if segments have become smaller since it left (`packet_size`).
        report_resend: ReportResend = ReportResend::Whole, "a byte sequence; with `packet` one packet leaves for one, as in ns-2";
        /// What a report that a segment is too large for a link leads to.
        path_mtu: PathMtu = PathMtu::Discover, "RFC 1191; all hosts of today";
        /// The size of segments.
        packet_size: PacketSize = PacketSize::Fixed, "RFC 9293 §3.7.1";
        /// What the window is a number of where the segment size follows reports.
        cwnd_unit: CwndUnit = CwndUnit::Bytes, "RFC 5681; ns-2 counts packets";
    } with {
        /// A congestion control that is not in the registry, in place of it.
        own_cc: Option<CustomCc> = None;
        /// Where an auto-tuned receive buffer starts, bytes; it grows up to `receive_buffer`. None: it has that size at once.
        auto_buffer: Option<u64> = None;
        /// How it grows.
        buffer_growth: BufferGrowth = BufferGrowth::Twice;
        /// Where an auto-tuned send buffer starts, bytes; it grows with the congestion window, up to `send_buffer`. None: it
        /// has that size at once.
        auto_send_buffer: Option<u64> = None;
    }
}

impl Config {
    /// The settings of SNACK, or the defaults.
    pub(crate) fn snack(&self) -> Snack {
        match self.recovery {
            Recovery::Snack(snack) => snack,
            _ => Snack::default(),
        }
    }

    /// Whether notices of errors change what is sent.
    pub(crate) fn heeds_notices(&self) -> bool {
        self.error_reports != ErrorReports::Ignore || self.packet_size != PacketSize::Fixed
    }

    /// Effect of the congestion control on a path because no buffer bounds its window; none: a buffer does, or it needs no bound.
    pub fn unbounded(&self) -> Option<Unbounded> {
        let receiver_bounds = self.receive_buffer < Self::RECEIVE_BUFFER_MAX || !self.window_scaling;
        let sender_bounds = self.send_buffer < Self::UNLIMITED;
        if receiver_bounds || self.own_cc.is_some() {
            return None;
        }
        let has_threshold = !matches!(self.initial_ssthresh, InitialSsthresh::Unlimited | InitialSsthresh::PeerWindow);
        let ssthresh = if has_threshold { self.smss.into() } else { u64::MAX };
        let cc = self.cc.build(Init { smss: self.smss.into(), ssthresh, ..Init::default() });
        cc.unbounded().filter(|unbounded| unbounded.is_probes || !sender_bounds)
    }

    /// Whether the congestion control may draw from its seed. A custom one may.
    pub fn is_random(&self) -> bool {
        self.own_cc.is_some() || self.cc.build(Init { smss: self.smss.into(), ..Init::default() }).is_random()
    }

    /// The largest window that RFC 7323 can advertise.
    pub const RECEIVE_BUFFER_MAX: u64 = ReceiveBuffer::MOST;
    /// A send buffer of this size holds whatever is written.
    pub const UNLIMITED: u64 = SendBuffer::MOST;
    /// The largest payload: what fits a 65,535-byte packet with full headers.
    pub const SMSS_MAX: u32 = 65_415;
}

//! Settings of a connection: the keys of `[tcp]`. Each is declared once: here, or in `keys` if a congestion control
//! also needs its type. Both ends of a connection get the same configuration.

pub use bentpipe_cc::keys::*;

use bentpipe_cc::verdict::VerdictKind;
use bentpipe_cc::{CcConfig, CcKind, CongestionControl, CustomCc, Init, Unbounded};
use bentpipe_units::settings;
use bentpipe_units::settings::{Bytes, Include, OnOff, Open};

settings! {
    /// Settings of one connection.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// Congestion control of the connection.
        cc: CcConfig = CcKind::NewReno.into(), "RFC 6582";
        /// Largest payload of a segment (SMSS), 40 B to 65415 B. `timestamps` take 12 B of it.
        smss: u32 as Bytes = 1460, "RFC 9293 §3.7.1: 1500 B packets less 40 B";
        /// Procedure that finds lost data and retransmits it.
        recovery: Recovery as Open = Recovery::NewReno(NewReno::default());
        /// Best-effort transport of SCPS-TP: data that is missing for too long is skipped. Needs recovery `snack`.
        best_effort: Option<BestEffort> as OnOff = None, "RFC 9293 §3.8: reliable";
        /// Interpretation of a loss. Default: `always-congestion` (RFC 5681), or the verdict that the congestion
        /// control was published with: `assume-congestion` for `scps`.
        verdict: VerdictKind as Open = VerdictKind::AlwaysCongestion;
        /// Copies of data with low priority, for the verdict `low-priority-copies`.
        copies: Copies = Copies::default();
        /// Interpretation of the window that the network advertises, evaluated for a loss before the verdict.
        feedback: Feedback = Feedback::Off, "RFC 5681 has no feedback";
        /// ACKs that count as duplicates.
        duplicate_acks: DuplicateAcks = DuplicateAcks::SameWindow, "RFC 5681 §2";
        /// Whether each of the first two duplicate ACKs sends one new segment.
        limited_transmit: bool = true, "RFC 3042";
        /// Whether limited transmit also applies in the slow start after a timeout, where it may send a retransmission.
        limited_retransmit: bool = false, "RFC 3042 §2: new segments";
        /// Whether fewer than three duplicate ACKs prove a loss when fewer than four segments are outstanding and
        /// nothing new can be sent.
        early_retransmit: bool = false, "RFC 5827 is an experiment; RFC 8985 replaces it";
        /// Reduction of the window to the slow start threshold in recovery. Proportional reductions need a recovery
        /// that uses SACK.
        reduction: Reduction = Reduction::AtOnce, "RFC 5681 §3.2, RFC 6675 §5";
        /// Reaction to a lost retransmission that recovery finds without the timer: `rack`, and `sack` with `evidence =
        /// "status"`. `snack` lowers the window once per epoch, as SCPS-TP does.
        second_reduction: SecondReduction = SecondReduction::Rfc5681, "RFC 5681 §4.3";
        /// Whether the first SACK block reports segments that arrived twice (DSACK, RFC 2883). RACK adapts its
        /// reordering window by DSACK (RFC 8985), so a default with recovery `rack` is true.
        dsack: bool as Open = false;
        /// Detection of needless retransmissions by the sender.
        spurious_detection: SpuriousDetection = SpuriousDetection::Off, "the first five reproduced papers do not use it";
        /// State that the sender restores after a needless retransmission.
        spurious_response: SpuriousResponse = SpuriousResponse::Restore, "Linux";
        /// Window at the start of data transfer.
        initial_window: InitialWindow = InitialWindow::Rfc6928, "RFC 6928 §2";
        /// Initial slow start threshold; at least two segments. A bdp is the smallest rate on the route times the
        /// propagation round trip.
        initial_ssthresh: InitialSsthresh = InitialSsthresh::Unlimited, "RFC 5681 §3.1";
        /// Growth of the window.
        growth: Growth as Include = Growth::default();
        /// Validation of a congestion window that is not used.
        cwnd_validation: CwndValidation = CwndValidation::IfUsed, "Linux; RFC 7661 in spirit";
        /// Whether an idle time of one retransmission timeout reduces the window to the restart window (RFC 5681 §4.1).
        /// `cwnd_validation` may define the effect of an idle time instead.
        idle_restart: bool as Open = true;
        /// Rounding of the slow start threshold: to the byte, or down to whole segments, with or without the window
        /// after a loss.
        ssthresh_rounding: SsthreshRounding = SsthreshRounding::Bytes, "RFC 5681 §3.1";
        /// Whether the ACK that ends or undoes fast recovery also grows the window. RFC 5681 and 6582 only deflate it,
        /// ns-2 and Linux grow it.
        grow_on_exit: bool = false, "RFC 5681 §3.2";
        /// Quantity that is halved to set the slow start threshold.
        ssthresh_base: SsthreshBase = SsthreshBase::FlightSize, "RFC 5681 §3.1 eq. 4";
        /// Condition to give up a connection without answers.
        give_up: GiveUp = GiveUp::AfterTime(bentpipe_units::Duration::from_secs(100)), "RFC 1122 §4.2.3.5";
        /// Probes on an idle connection, which is given up if the peer does not answer them. Each endpoint probes.
        keepalive: Option<Keepalive> as OnOff = None, "RFC 9293 §3.8.4: off unless requested";
        /// ACKs below SND.UNA that a segment may carry.
        acceptable_acks: AcceptableAcks = AcceptableAcks::Rfc9293, "RFC 9293 §3.10.7.4; RFC 5961 §5 is a further check";
        /// Limit of challenge ACKs: answers to resets and SYNs in the window, and to unacceptable ACKs (RFC 5961).
        challenge_acks: ChallengeAcks = ChallengeAcks::default(), "RFC 5961 §7";
        /// Timestamps: 12 bytes in every segment, a round-trip sample from every ACK.
        timestamps: bool = false, "the first five reproduced papers do not use them";
        /// Window scaling; without it the advertised window ends at 65535 B.
        window_scaling: bool = true, "RFC 7323 §2";
        /// Receive buffer, which bounds the advertised window; `auto` grows with the path. At most 1073725440 B. A bdp
        /// is the smallest rate on the route times the propagation round trip.
        receive_buffer: u64 as ReceiveBuffer = Config::RECEIVE_BUFFER_MAX, "RFC 7323 §2.3";
        /// Send buffer: written data that is not acknowledged yet; `auto` grows with the congestion window. A bdp is
        /// the smallest rate on the route times the propagation round trip.
        send_buffer: u64 as SendBuffer = Config::UNLIMITED, "RFC 9293 §3.9.1 sets no limit";
        /// Whether the connection opens with SYN and SYN-ACK. Otherwise it starts established, and the first data
        /// leaves immediately.
        handshake: bool = true, "RFC 9293 §3.5";
        /// The retransmission timer.
        rto: RtoConfig = RtoConfig::default();
        /// Acknowledgements of the receiver.
        ack: AckPolicy = AckPolicy::default();
        /// ECN marks: queues that can mark do so instead of dropping.
        /// Default: `off` (RFC 3168 §6.1: both ends have to agree), or the feedback that the congestion control was
        /// published with: `accurate` with ECT(1) for `prague`, `per-segment` for `dctcp`.
        ecn: EcnConfig as Open = EcnConfig::default();
        /// Times when segments may leave, in addition to the windows. Retransmissions are paced, too. Acknowledgements
        /// are not paced.
        pacing: Pacing = Pacing::Off, "RFC 5681 does not pace";
        /// Data in the SYN.
        fast_open: Option<FastOpen> as OnOff = None, "RFC 7413 is experimental";
        /// T/TCP: data and FIN in the SYN, by connection counts. Not with Fast Open.
        transactions: Option<Transactions> as OnOff = None, "RFC 1644 is historic (RFC 6247)";
        /// Values that a connection takes over from earlier connections.
        sharing: Option<Sharing> as OnOff = None, "RFC 5681: each connection probes from scratch";
        /// Careful resume: a jump to half of the window that an earlier connection used (RFC 9959). Not for congestion
        /// controls with a model of the path.
        careful_resume: Option<CarefulResume> as OnOff = None, "RFC 5681: each connection probes from scratch";
        /// Nagle's algorithm: whether small segments wait while data is outstanding.
        nagle: bool = false, "bulk transfers have few small segments; RFC 9293 §3.7.4";
        /// Reaction to a report of a corrupted segment. Middleboxes send such reports.
        error_reports: ErrorReports = ErrorReports::Ignore, "no standard has such reports";
        /// Copies per retransmission of a reported segment. It is retransmitted again when all copies were reported.
        /// With a corruption probability p, all of n copies are corrupted with p^n (multicopy retransmission).
        report_copies: u32 = 1, [1, 8];
        /// Retransmission of a reported segment if segments have become smaller since it left (`packet_size`).
        report_resend: ReportResend = ReportResend::Whole, "a byte sequence; with `packet` one packet leaves for one, as in ns-2";
        /// Reaction to a report that a segment is too large for a link.
        path_mtu: PathMtu = PathMtu::Discover, "RFC 1191; all current hosts";
        /// Size of segments.
        packet_size: PacketSize = PacketSize::Fixed, "RFC 9293 §3.7.1";
        /// Unit of the window where the segment size follows reports.
        cwnd_unit: CwndUnit = CwndUnit::Bytes, "RFC 5681; ns-2 counts packets";
    } with {
        /// A custom congestion control that replaces `cc`.
        own_cc: Option<CustomCc> = None;
        /// Initial size of an auto-tuned receive buffer, bytes; it grows up to `receive_buffer`. `None`: that size from
        /// the start.
        auto_buffer: Option<u64> = None;
        /// Growth of that buffer.
        buffer_growth: BufferGrowth = BufferGrowth::Twice;
        /// Initial size of an auto-tuned send buffer, bytes; it grows with the congestion window, up to `send_buffer`.
        /// `None`: that size from the start.
        auto_send_buffer: Option<u64> = None;
    }
}

impl Config {
    /// Returns the settings of SNACK, or the defaults.
    pub(crate) fn snack(&self) -> Snack {
        match self.recovery {
            Recovery::Snack(snack) => snack,
            _ => Snack::default(),
        }
    }

    /// Whether error notices affect the transmission.
    pub(crate) fn heeds_notices(&self) -> bool {
        self.error_reports != ErrorReports::Ignore || self.packet_size != PacketSize::Fixed
    }

    /// Returns the effect of the congestion control on a path if no buffer bounds its window; `None`: a buffer does, or
    /// it needs no bound.
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

    /// Returns the window, segments, that the congestion control probes for at the start of a connection: the first window
    /// of the receiver, within the limit of the congestion control. `None`: its start does not depend on that window.
    pub fn probed_window(&self) -> Option<u64> {
        let cc = self.cc.build(Init { smss: self.smss.into(), ..Init::default() });
        let most = cc.probes_up_to().filter(|_| self.own_cc.is_none())?;
        Some(most.min(self.auto_buffer.unwrap_or(self.receive_buffer) / u64::from(self.smss.max(1))))
    }

    /// Whether the window of the congestion control follows from a model of the path. Custom ones have a window.
    pub fn is_model_based(&self) -> bool {
        self.own_cc.is_none() && self.cc.build(Init { smss: self.smss.into(), ..Init::default() }).is_model_based()
    }

    /// Whether the congestion control draws from its seed. Draws of a custom one are unknown, and do not count.
    pub fn is_random(&self) -> bool {
        self.own_cc.is_none() && self.cc.build(Init { smss: self.smss.into(), ..Init::default() }).is_random()
    }

    /// The largest window that RFC 7323 can advertise.
    pub const RECEIVE_BUFFER_MAX: u64 = ReceiveBuffer::MOST;
    /// Size of a send buffer that holds any amount of written data.
    pub const UNLIMITED: u64 = SendBuffer::MOST;
    /// Largest payload, for a 65,535-byte packet with full headers.
    pub const SMSS_MAX: u32 = 65_415;
}

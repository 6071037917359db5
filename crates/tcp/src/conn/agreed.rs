//! Options that both ends agreed on in their SYNs, as one value.

use crate::config::{Config, EcnFeedback, Recovery, SnackForm};
use crate::multipath::Dss;
use crate::scps::ScpsCapabilities;
use crate::segment::{CountOption, Flags, PlainSegment, Segment, SynOptions, Timestamps, ACK_RATIO_LEN, COUNT_LEN};
use bentpipe_units::Ecn;

/// RFC 9293 §3.7.1: the peer's MSS if it names none.
pub(crate) const MSS_ASSUMED: u16 = 536;
/// RFC 9768 §3.2.1: where both ends begin to count CE packets.
pub(crate) const CEP_START: u8 = 5;

/// Features that both ends offered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Agreed {
    /// Payload of a full segment.
    pub(crate) smss: u32,
    /// Timestamps (RFC 7323 §3).
    pub(crate) timestamps: bool,
    /// Selective acknowledgements (RFC 2018).
    pub(crate) sack: bool,
    /// Selective negative acknowledgements (SCPS-TP), and whether with a bit vector.
    pub(crate) snack: Option<SnackForm>,
    /// Best-effort transport and record boundaries (SCPS-TP).
    pub(crate) best_effort: bool,
    /// Congestion control for ACKs (RFC 5690).
    pub(crate) ack_ratio: bool,
    /// Data are acknowledged when the sender polls.
    pub(crate) is_polled: bool,
    /// Segments carry connection counts (RFC 1644).
    pub(crate) counts: bool,
    /// Window scaling (RFC 7323 §2), and the shifts of the peer's windows and of ours.
    pub(crate) scales: bool,
    pub(crate) snd_shift: u8,
    pub(crate) rcv_shift: u8,
    /// Bytes of the options of a segment with data that are in every header: timestamps, and that of several paths.
    option_bytes: u8,
    /// Segments need only a header, timestamps, and SACK blocks for holes. False until data can be sent.
    pub(crate) is_plain: bool,
}

impl Agreed {
    /// `config` and `smss` are ours, `peer` what its SYN or SYN-ACK said, with or without `timestamps`; `polls`: we want polls.
    pub(crate) fn new(config: &Config, smss: u32, polls: bool, peer: &SynOptions, timestamps: bool) -> Self {
        let timestamps = config.timestamps && timestamps;
        let is_polled = polls && peer.is_polled;
        // Polls replace the ratio.
        let ack_ratio = config.ack.congestion_control && peer.ack_ratio && !is_polled;
        // Full segments carry the ratio.
        let counts = config.transactions.is_some() && peer.count != CountOption::None;
        let option_bytes = if timestamps { 12 } else { 0 }
            + if ack_ratio { ACK_RATIO_LEN } else { 0 }
            + if counts { COUNT_LEN } else { 0 };
        let smss = smss.min(u32::from(peer.mss).saturating_sub(option_bytes)).max(1);
        let (scales, snd_shift, rcv_shift) = match peer.window_scale {
            // RFC 7323 §2.3: larger shifts are taken as 14.
            Some(shift) if config.window_scaling => (true, shift.min(14), window_shift(config.receive_buffer)),
            _ => (false, 0, 0),
        };
        let snack = match (config.recovery, peer.scps) {
            (Recovery::Snack(settings), Some(offered)) if offered.has(ScpsCapabilities::SNACK_SHORT) => {
                let long = settings.form == SnackForm::Long && offered.has(ScpsCapabilities::SNACK_LONG);
                Some(if long { SnackForm::Long } else { SnackForm::Short })
            }
            _ => None,
        };
        let best_effort = config.best_effort.is_some()
            && snack.is_some()
            && peer.scps.is_some_and(|offered| offered.has(ScpsCapabilities::BETS));
        let sack = config.recovery.uses_sack() && peer.sack_permitted;
        Self {
            smss,
            timestamps,
            sack,
            snack,
            best_effort,
            ack_ratio,
            is_polled,
            counts,
            scales,
            snd_shift,
            rcv_shift,
            option_bytes: if timestamps { Timestamps::LEN } else { 0 },
            is_plain: false,
        }
    }

    /// IP and TCP headers of a segment with data, bytes.
    #[inline]
    pub(crate) fn header_len(&self) -> u64 {
        u64::from(PlainSegment::HEADER_LEN + self.option_bytes)
    }

    /// The peer agreed to be a subflow too: full segments, which its `mss` bounds, carry that option.
    pub(crate) fn begin_signals(&mut self, mss: Option<u16>) {
        self.option_bytes += Dss::LEN;
        let room = |mss| u32::from(mss).saturating_sub(u32::from(self.option_bytes)).max(1);
        self.smss = mss.map_or(self.smss, |mss| self.smss.min(room(mss)));
    }
}

/// Returns the flags of a SYN that asks for ECN.
pub(crate) fn ecn_request(wanted: EcnFeedback) -> Flags {
    match wanted {
        EcnFeedback::Off => Flags::default(),
        EcnFeedback::Classic | EcnFeedback::PerSegment => Flags::ECE.with(Flags::CWR),
        EcnFeedback::Accurate => Flags::default().with_ace(0b111),
    }
}

/// Returns the feedback that the ECN flags of a SYN or SYN-ACK agree on (RFC 3168 §6.1.1, RFC 9768 §3.1.2).
pub(crate) fn agreed_feedback(wanted: EcnFeedback, segment: &Segment) -> EcnFeedback {
    let ace = segment.flags.ace();
    let is_answer = segment.flags.has(Flags::ACK);
    match (wanted, is_answer, ace) {
        (EcnFeedback::Off, ..) | (_, _, 0) => EcnFeedback::Off,
        // An old server that reflects reserved bits.
        (EcnFeedback::Accurate, true, 0b111) => EcnFeedback::Off,
        (EcnFeedback::Accurate, true, 0b001) | (EcnFeedback::Accurate, false, 0b011) => EcnFeedback::Classic,
        (EcnFeedback::Accurate, ..) => EcnFeedback::Accurate,
        // AE means nothing to RFC 3168: ECE and CWR on the SYN, ECE alone on the answer.
        (_, true, _) if ace & 0b011 == 0b001 => wanted,
        (_, false, _) if ace & 0b011 == 0b011 => wanted,
        _ => EcnFeedback::Off,
    }
}

/// RFC 9768 §3.1.2 and §3.2.2.1: how the ECN field of a SYN or SYN-ACK is fed back.
pub(crate) fn handshake_code(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// The smallest shift with which 16 bits can express `buffer` (RFC 7323 §2.3).
pub(crate) fn window_shift(buffer: u64) -> u8 {
    (0..14).find(|&shift| 65_535u64 << shift >= buffer).unwrap_or(14)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/specs/timestamps-window-scaling.md`, test 2.
    #[test]
    fn rfc7323_2_3_smallest_sufficient_shift() {
        assert_eq!([65_535, 65_536, 6_375_000, 1 << 30].map(window_shift), [0, 1, 7, 14]);
    }

    #[test]
    fn rfc5690_4_1_both_ends_have_to_want_congestion_control_for_acks() {
        let mut config = Config { smss: 1460, ..Config::default() };
        let agreed = |config: &Config, ack_ratio| {
            let agreed =
                Agreed::new(config, 1460, false, &SynOptions { mss: 1460, ack_ratio, ..SynOptions::default() }, false);
            (agreed.ack_ratio, agreed.smss)
        };
        assert_eq!(agreed(&config, true), (false, 1460));
        config.ack.congestion_control = true;
        assert_eq!([false, true].map(|ratio| agreed(&config, ratio)), [(false, 1460), (true, 1452)]);
    }
}

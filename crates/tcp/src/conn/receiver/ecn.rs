//! ECN at the receiver: which feedback of CE marks its segments carry (RFC 3168 §6.1.3, RFC 8257 §3.2, RFC 9768 §3.2).

use super::Receiver;
use crate::config::EcnFeedback;
use crate::conn::agreed::{handshake_code, CEP_START};
use crate::conn::forms::Layers;
use crate::segment::{Flags, Segment};
use bentpipe_units::Ecn;

/// RFC 9768 §3.2.2.5.1: acknowledge at every second mark.
const MARKS_PER_ACK: u32 = 2;

/// ECN at a receiver.
#[derive(Clone, Debug)]
pub(crate) struct EcnReceiver {
    /// Agreed feedback; never [`EcnFeedback::Off`].
    pub(crate) feedback: EcnFeedback,
    /// The ECN field of the SYN that arrived.
    pub(crate) syn: Ecn,
    /// Classic: CE arrived, and no CWR since. Per segment: the last one was CE.
    is_echoing: bool,
    /// Accurate: CE packets, modulo 8 (RFC 9768: r.cep), and how many of them no ACK has reported.
    cep: u8,
    unreported: u32,
    last_was_ce: bool,
    /// Accurate: the next pure ACK reports how the SYN-ACK arrived instead (RFC 9768 §3.2.2.1).
    answers_syn_ack: bool,
    /// An ACK for the data before the mark changed, which must not be merged with the next.
    pub(crate) owed: Option<Segment>,
}

/// Duty that follows from arriving data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EcnDuty {
    Nothing,
    /// Acknowledge at once.
    Acknowledge,
    /// Acknowledge the waiting data separately, with the old state; then [`EcnReceiver::turn`].
    AcknowledgeBefore,
}

impl EcnReceiver {
    /// `agreed` on with the SYN or SYN-ACK `segment`; none: without a handshake.
    pub(crate) fn new(agreed: EcnFeedback, segment: Option<&Segment>) -> Self {
        let is_answer = segment.is_some_and(|segment| segment.flags.has(Flags::ACK));
        let syn = segment.map_or(Ecn::NotEct, |segment| segment.ecn);
        let counts_answer = agreed == EcnFeedback::Accurate && is_answer;
        Self {
            feedback: agreed,
            syn,
            is_echoing: false,
            cep: CEP_START + u8::from(counts_answer && syn == Ecn::Ce),
            unreported: 0,
            last_was_ce: false,
            answers_syn_ack: counts_answer,
            owed: None,
        }
    }

    /// The flags of a segment without SYN, with the feedback in them.
    ///
    /// DEVIATION: RFC 9768 §3.2.2.1 has a client with data to send a pure ACK first, which reports how the SYN-ACK arrived.
    /// Here the data go at once: a SYN-ACK is never ECT, so there is nothing to report.
    pub(crate) fn stamp(&mut self, segment: &Segment) -> Flags {
        let flags = segment.flags;
        self.unreported = 0;
        let is_first = std::mem::take(&mut self.answers_syn_ack) && Layers::from(segment).is_pure();
        match self.feedback {
            // RFC 9768 §3.2.2.1: the pure ACK of a SYN-ACK reports how that arrived.
            EcnFeedback::Accurate if is_first => flags.with_ace(handshake_code(self.syn)),
            EcnFeedback::Accurate => flags.with_ace(self.cep),
            _ if self.is_echoing => flags.with(Flags::ECE),
            _ => flags,
        }
    }

    /// The segment that changed the mark counts from now on.
    pub(crate) fn turn(&mut self, is_ce: bool) {
        self.is_echoing = is_ce;
    }

    /// Data arrived; called before they are received.
    ///
    /// DEVIATION: RFC 9768 §3.2 counts CE packets without data as well. None is ever CE but with congestion control for ACKs, where
    /// marks of ACKs are for the other end to see.
    fn on_data(&mut self, segment: &Segment, is_in_window: bool, has_unacknowledged: bool) -> EcnDuty {
        // RFC 3168 §6.1.5, RFC 9768 §3.2: marks from outside of the window say nothing.
        let is_ce = segment.ecn == Ecn::Ce && is_in_window;
        match self.feedback {
            EcnFeedback::Classic | EcnFeedback::Off => {
                self.is_echoing &= !segment.flags.has(Flags::CWR);
                self.is_echoing |= is_ce;
                EcnDuty::Nothing
            }
            _ if !is_in_window => EcnDuty::Nothing,
            EcnFeedback::Accurate => {
                self.cep = (self.cep + u8::from(is_ce)) & 7;
                self.unreported += u32::from(is_ce);
                let is_change = is_ce && !self.last_was_ce;
                self.last_was_ce = is_ce;
                if is_change || self.unreported >= MARKS_PER_ACK {
                    EcnDuty::Acknowledge
                } else {
                    EcnDuty::Nothing
                }
            }
            // RFC 8257 §3.2: waiting data is acknowledged with its mark.
            EcnFeedback::PerSegment if self.is_echoing != is_ce && has_unacknowledged => EcnDuty::AcknowledgeBefore,
            EcnFeedback::PerSegment => {
                self.turn(is_ce);
                EcnDuty::Nothing
            }
        }
    }
}

impl Receiver {
    /// Data arrived at offset `start`; called before [`on_data`](Self::on_data).
    pub(crate) fn note_ecn(&mut self, segment: &Segment, start: u64) -> EcnDuty {
        let is_in_window = self.is_in_window(start, segment.len.into());
        let has_unacknowledged = self.has_unacknowledged();
        let Some(ecn) = self.ecn_mut() else { return EcnDuty::Nothing };
        ecn.on_data(segment, is_in_window, has_unacknowledged)
    }
}

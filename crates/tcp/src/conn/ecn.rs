//! Congestion marks: what the ends agree on, what the receiver echoes, how the sender answers (RFC 3168 §6.1,
//! RFC 8257 §3.2, RFC 9768).
//!
//! New data are sent as ECT(0); SYNs, pure ACKs, retransmissions and probes are not (RFC 3168 §6.1.4 to 6.1.6). The
//! AccECN option of RFC 9768 §3.2.3, which counts bytes as well, is not there: RFC 9768 makes it optional, and it would
//! take the place of SACK blocks.

use super::{Connection, Event};
use crate::cc::{Congestion, CongestionControl};
use crate::config::EcnFeedback;
use crate::segment::{Ecn, Flags, Options, Segment};
use crate::verdict::LossVerdict;
use bentpipe_units::Time;

/// RFC 9768 §3.2.1: where both ends begin to count.
const CEP_START: u8 = 5;
/// RFC 9768 §3.2.2.5.1: acknowledge at every second mark.
const MARKS_PER_ACK: u32 = 2;

/// What a connection with marks remembers.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    /// As agreed; never [`EcnFeedback::Off`].
    feedback: EcnFeedback,
    /// The ECN field of the SYN that arrived.
    syn: Ecn,

    // Receiver.
    /// Classic: a mark came, and no CWR since. Per segment: the last one was marked.
    is_echoing: bool,
    /// Accurate: marked packets, modulo 8 (r.cep), and how many of them no ACK has reported.
    arrived: u8,
    unreported: u32,
    last_was_marked: bool,
    /// Accurate: the next pure ACK tells how the SYN-ACK arrived instead (RFC 9768 §3.2.2.1).
    opening: bool,
    /// An ACK for what came before the mark changed.
    owed: Option<Segment>,

    // Sender.
    /// Accurate: marked packets as the receiver told (s.cep).
    told: u8,
    /// Accurate server: the next ACK is the handshake's last.
    awaits_opening: bool,
    /// The ACK that is being processed told of marks.
    is_echoed: bool,
    /// The window was reduced, for a mark or a loss, when everything below this had been sent.
    reduced_until: Option<u64>,
    /// The same, for marks only.
    marked_until: u64,
    /// The next new segment says CWR.
    cwr_pending: bool,
    sends_ect: bool,
}

impl Marks {
    fn new(feedback: EcnFeedback, syn: Ecn) -> Box<Self> {
        Box::new(Self {
            feedback,
            syn,
            is_echoing: false,
            arrived: CEP_START,
            unreported: 0,
            last_was_marked: false,
            opening: false,
            owed: None,
            told: CEP_START,
            awaits_opening: false,
            is_echoed: false,
            reduced_until: None,
            marked_until: 0,
            cwr_pending: false,
            sends_ect: true,
        })
    }

    /// The flags of a segment without SYN, with the feedback in them.
    ///
    /// DEVIATION: RFC 9768 §3.2.2.1 has a client with data to send a pure ACK first, which tells how the SYN-ACK arrived.
    /// Here the data go at once: a SYN-ACK is never ECT, so there is nothing to tell.
    fn stamp(&mut self, segment: &Segment) -> Flags {
        let flags = segment.flags;
        self.unreported = 0;
        let is_opening = std::mem::take(&mut self.opening) && is_pure(segment);
        match self.feedback {
            // RFC 9768 §3.2.2.1: the pure ACK of a SYN-ACK says how that arrived.
            EcnFeedback::Accurate if is_opening => flags.with_ace(handshake_code(self.syn)),
            EcnFeedback::Accurate => flags.with_ace(self.arrived),
            _ if self.is_echoing => flags.with(Flags::ECE),
            _ => flags,
        }
    }
}

impl Connection {
    /// The flags of a segment with the feedback of the marks that arrived.
    pub(super) fn stamp(&mut self, segment: &Segment) -> Flags {
        self.marks.as_mut().map_or(segment.flags, |marks| marks.stamp(segment))
    }

    /// The ACK that must not be merged with the next.
    pub(super) fn take_owed(&mut self) -> Option<Segment> {
        self.marks.as_mut()?.owed.take()
    }

    /// The flags by which a SYN or SYN-ACK asks for marks or agrees to them.
    pub(super) fn ecn_setup(&self, is_answer: bool) -> Flags {
        let flags = Flags::default();
        if is_answer {
            return match &self.marks {
                None => flags,
                // RFC 9768 §3.1.2, table 2.
                Some(marks) if marks.feedback == EcnFeedback::Accurate => flags.with_ace(handshake_code(marks.syn)),
                Some(_) => Flags::ECE,
            };
        }
        match self.config.ecn.feedback {
            EcnFeedback::Off => flags,
            EcnFeedback::Classic | EcnFeedback::PerSegment => Flags::ECE.with(Flags::CWR),
            EcnFeedback::Accurate => flags.with_ace(0b111),
        }
    }

    /// A SYN or SYN-ACK arrived: RFC 3168 §6.1.1, RFC 9768 §3.1.2. The first one counts.
    pub(super) fn agree_on_marks(&mut self, segment: &Segment) {
        let wanted = self.config.ecn.feedback;
        let ace = segment.flags.ace();
        let is_answer = segment.flags.has(Flags::ACK);
        let agreed = match (wanted, is_answer, ace) {
            (EcnFeedback::Off, ..) | (_, _, 0) => EcnFeedback::Off,
            // An old server that reflects reserved bits.
            (EcnFeedback::Accurate, true, 0b111) => EcnFeedback::Off,
            (EcnFeedback::Accurate, true, 0b001) | (EcnFeedback::Accurate, false, 0b011) => EcnFeedback::Classic,
            (EcnFeedback::Accurate, ..) => EcnFeedback::Accurate,
            // AE means nothing to RFC 3168: ECE and CWR on the SYN, ECE alone on the answer.
            (_, true, _) if ace & 0b011 == 0b001 => wanted,
            (_, false, _) if ace & 0b011 == 0b011 => wanted,
            _ => EcnFeedback::Off,
        };
        if agreed == EcnFeedback::Off || self.marks.is_some() {
            return;
        }
        let mut marks = Marks::new(agreed, segment.ecn);
        if agreed == EcnFeedback::Accurate {
            marks.opening = is_answer;
            marks.awaits_opening = !is_answer;
            marks.arrived += u8::from(is_answer && segment.ecn == Ecn::Ce);
        }
        self.marks = Some(marks);
    }

    /// Without handshake both ends want the same, and get it.
    pub(super) fn agree_on_marks_unasked(&mut self) {
        if self.config.ecn.feedback != EcnFeedback::Off {
            self.marks = Some(Marks::new(self.config.ecn.feedback, Ecn::NotEct));
        }
    }

    /// Data arrived, at offset `start`; called before they are received.
    ///
    /// DEVIATION: RFC 9768 §3.2 counts marked packets without data as well. None is ever marked, as only new data are ECT.
    pub(super) fn note_mark(&mut self, now: Time, segment: &Segment, start: u64) {
        let Some(marks) = &mut self.marks else { return };
        self.counters.marked_segments += u64::from(segment.ecn == Ecn::Ce);
        // RFC 3168 §6.1.5, RFC 9768 §3.2: marks from outside of the window tell nothing.
        let is_in_window = self.receiver.is_in_window(start, segment.len.into());
        let is_marked = segment.ecn == Ecn::Ce && is_in_window;
        match marks.feedback {
            EcnFeedback::Classic | EcnFeedback::Off => {
                marks.is_echoing &= !segment.flags.has(Flags::CWR);
                marks.is_echoing |= is_marked;
            }
            _ if !is_in_window => {}
            EcnFeedback::Accurate => {
                marks.arrived = (marks.arrived + u8::from(is_marked)) & 7;
                marks.unreported += u32::from(is_marked);
                let is_change = is_marked && !marks.last_was_marked;
                marks.last_was_marked = is_marked;
                if is_change || marks.unreported >= MARKS_PER_ACK {
                    self.receiver.ack_soon();
                }
            }
            EcnFeedback::PerSegment => {
                if marks.is_echoing != is_marked && self.receiver.has_unacknowledged() {
                    // RFC 8257 §3.2: what waits is acknowledged with the mark that it had.
                    let ack = self.bare_segment(now, self.iss.at(1 + self.snd_nxt), self.ack_field(), Flags::ACK);
                    if let Some(marks) = &mut self.marks {
                        marks.owed = Some(Segment { flags: marks.stamp(&ack), ..ack });
                        self.control.owed = true;
                    }
                }
                if let Some(marks) = &mut self.marks {
                    marks.is_echoing = is_marked;
                }
            }
        }
    }

    /// An ACK arrived: does it tell of marks? Called before it is processed, so that the window is reduced from what was
    /// outstanding when it came.
    #[inline(never)]
    pub(super) fn read_echo(&mut self, now: Time, segment: &Segment, ack: u64) {
        let newly = ack - self.snd_una;
        let smss = u64::from(self.smss);
        let Some(marks) = &mut self.marks else { return };
        let is_reduced = marks.reduced_until.is_some_and(|until| ack <= until);
        marks.is_echoed = match marks.feedback {
            EcnFeedback::Accurate => marks.decode(segment, newly.div_ceil(smss), is_reduced),
            _ => segment.flags.has(Flags::ECE),
        };
        if marks.is_echoed {
            let path = self.path(now);
            self.verdict.on_mark(&path);
            if !is_reduced {
                self.reduce_for_mark(now);
            }
        }
    }

    /// RFC 3168 §6.1.2: as for a loss, but nothing is missing; RFC 8511 §3: by less.
    fn reduce_for_mark(&mut self, now: Time) {
        let before = self.cc.cwnd();
        if before <= u64::from(self.smss) {
            // A window of one segment cannot be reduced: the next one waits for the timer instead.
            self.send_at = self.send_at.max(self.rtt.expiry(now, self.rtt.rto()));
        } else {
            let path = self.path(now);
            self.cc.on_congestion(Congestion::Ecn { beta: self.config.ecn.beta }, &path);
            self.cc.limit_cwnd(before);
        }
        self.counters.mark_reductions += 1;
        self.events.push_back(Event::MarkReduction(self.snd_una));
        self.note_reduction();
        if let Some(marks) = &mut self.marks {
            marks.marked_until = self.snd_nxt;
        }
    }

    /// The window was reduced, for whatever reason: marks of the same window of data ask for nothing more, and the
    /// receiver is told.
    pub(super) fn note_reduction(&mut self) {
        if let Some(marks) = &mut self.marks {
            marks.reduced_until = Some(self.snd_nxt);
            // RFC 9768 §3.1.5 has no CWR.
            marks.cwr_pending = marks.feedback != EcnFeedback::Accurate;
        }
    }

    /// Whether what was lost at `offset` had been sent when a mark reduced the window: one reduction serves both (RFC 3168
    /// §6.1.2, RFC 8511 §4.2).
    pub(super) fn has_reduced_for_mark(&self, offset: u64) -> bool {
        self.marks.as_ref().is_some_and(|marks| offset < marks.marked_until)
    }

    /// Whether the ACK that is being processed told of marks: it does not grow the window (RFC 3168 §6.1.2).
    #[inline]
    pub(super) fn is_echoed(&self) -> bool {
        self.marks.as_ref().is_some_and(|marks| marks.is_echoed)
    }

    /// New data leave: queues may mark them.
    #[inline(never)]
    pub(super) fn mark_capable(&mut self, segment: &mut Segment) {
        let Some(marks) = &mut self.marks else { return };
        if marks.sends_ect {
            segment.ecn = Ecn::Ect0;
        }
        if std::mem::take(&mut marks.cwr_pending) {
            segment.flags = segment.flags.with(Flags::CWR);
        }
    }
}

impl Marks {
    /// RFC 9768 §3.2.2: whether the receiver has counted more marks. `packets`: how many the ACK acknowledges; with
    /// `is_recovery` most of these were reported before, by duplicates.
    fn decode(&mut self, segment: &Segment, packets: u64, is_recovery: bool) -> bool {
        let ace = segment.flags.ace();
        if std::mem::take(&mut self.awaits_opening) && is_pure(segment) {
            // Table 4.
            self.sends_ect = ace != 0;
            self.told = CEP_START + u8::from(ace == handshake_code(Ecn::Ce));
            return self.told != CEP_START;
        }
        let more = ace.wrapping_sub(self.told) & 7;
        if packets == 0 && more >= 4 {
            // Nothing new acknowledged, and more than half of the cycle ahead: an older ACK that was overtaken.
            return false;
        }
        self.told = ace;
        // Appendix A.2: so many packets may have brought the counter round, and then it is taken to have come round.
        let may_have_wrapped = packets > 7 && !is_recovery;
        self.sends_ect && (more > 0 || may_have_wrapped)
    }
}

/// An ACK without data and SACK blocks.
fn is_pure(segment: &Segment) -> bool {
    segment.sequence_len() == 0 && segment.options == Options::None
}

/// RFC 9768 §3.1.2 and §3.2.2.1: how the ECN field of a SYN or SYN-ACK is fed back.
fn handshake_code(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

//! Dummy segments: flagged copies of data, of the lowest priority, that find out how much room a path has (Akyildiz,
//! Morabito and Palazzo 2001). When they leave and what their answers mean the controller says.
//!
//! A SYN with the flag says that its sender knows them; without it in the answer none are sent. The receiver answers
//! each at once with a flagged ACK. What it copies counts if it is missing, and is then acknowledged as other data are.
//! Neither a dummy nor its answer acknowledges anything, is a duplicate, or gives a round-trip time, so both leave the
//! receiver's duty to acknowledge as it is. Dummies are in no flight and wait for no pacing.

use super::Connection;
use crate::cc::CongestionControl;
use crate::segment::{Flags, Segment};
use bentpipe_units::{Seq, Time};

/// What a connection with dummy segments remembers.
#[derive(Clone, Debug, Default)]
pub(super) struct Dummies {
    inflates: bool,
    repairs: bool,
    /// The data that left last, resent or not: where they begin, and how long they are.
    last: Option<(Seq, u16)>,
    /// Offset after the last copy of what was not acknowledged.
    copied: u64,
    /// Sent and not answered; most of these are lost.
    unanswered: u64,
    /// Arrived, and to be answered.
    arrived: u64,
}

impl Connection {
    /// The flag by which a SYN or SYN-ACK says that this end knows dummies.
    pub(super) fn dummy_setup(&mut self, is_answer: bool) -> Flags {
        let is_said = if is_answer { self.dummies.is_some() } else { self.cc.probe_segments().is_some() };
        if is_said {
            Flags::DUMMY
        } else {
            Flags::default()
        }
    }

    /// The peer said that it knows dummies, or did not.
    pub(super) fn agree_on_dummies(&mut self, is_known: bool) {
        let agreed = self.cc.probe_segments().filter(|dummies| is_known && dummies.answers());
        self.dummies = agreed.map(|dummies| {
            let (inflates, repairs) = (dummies.inflates(), dummies.repairs());
            Box::new(Dummies { inflates, repairs, ..Dummies::default() })
        });
    }

    /// Whether duplicate ACKs inflate the window.
    pub(super) fn inflates(&self) -> bool {
        self.dummies.as_ref().is_none_or(|dummies| dummies.inflates)
    }

    /// Losses were found: what is missing is copied first.
    pub(super) fn copy_from_the_oldest(&mut self) {
        if let Some(dummies) = &mut self.dummies {
            dummies.copied = 0;
        }
    }

    /// Data leave.
    pub(super) fn note_for_dummies(&mut self, segment: &Segment) {
        if let (Some(dummies), true) = (&mut self.dummies, segment.len > 0) {
            dummies.last = Some((segment.data_seq(), segment.len));
        }
    }

    /// A flagged segment arrived on an open connection.
    pub(super) fn handle_dummy(&mut self, now: Time, segment: &Segment) {
        let Some(dummies) = &mut self.dummies else {
            // A reserved bit that nobody agreed on says nothing (RFC 9293 §3.1).
            self.counters.arrived_segments -= 1;
            let flags = segment.flags.without(Flags::DUMMY);
            return self.handle_segment(now, &Segment { flags, ..*segment });
        };
        if segment.len > 0 {
            dummies.arrived += 1;
            let first = self.irs.at(1);
            let start = segment.seq.offset_near(first, self.receiver.nxt());
            if first.at(start) == segment.seq && self.receiver.lacks(start, segment.len.into()) {
                self.receive_data(now, &Segment { flags: Flags::ACK, ..*segment });
                self.advance_close(now);
            }
        } else if dummies.unanswered > 0 {
            dummies.unanswered -= 1;
            let path = self.path(now);
            if let Some(dummies) = self.cc.probe_segments() {
                dummies.on_answer(&path);
            }
        }
    }

    /// An answer that is owed, or else a dummy that is due.
    pub(super) fn next_dummy(&mut self, now: Time) -> Option<Segment> {
        let dummies = self.dummies.as_mut()?;
        if dummies.arrived > 0 {
            dummies.arrived -= 1;
            let seq = self.iss.at(1 + self.snd_nxt);
            return Some(self.flagged(now, seq, 0));
        }
        let due = self.cc.probe_segments()?.due();
        if due > now {
            self.send_wakeup = self.send_wakeup.min(due);
            return None;
        }
        if !self.sends_data() {
            return None;
        }
        let (seq, len) = self.next_copy()?;
        let path = self.path(now);
        self.cc.probe_segments()?.on_sent(&path);
        self.dummies.as_mut()?.unanswered += 1;
        self.counters.dummy_segments += 1;
        Some(self.flagged(now, seq, len))
    }

    /// What the next dummy copies. None: there was nothing yet.
    fn next_copy(&mut self) -> Option<(Seq, u16)> {
        let dummies = self.dummies.as_mut()?;
        if dummies.repairs {
            if let Some(range) = self.board.unsacked_from(dummies.copied) {
                let len = (range.len - u32::from(range.has_fin)) as u16;
                dummies.copied = range.start + u64::from(range.len);
                if len > 0 {
                    return Some((self.iss.at(1 + range.start), len));
                }
            }
        }
        dummies.last
    }

    /// A flagged segment. It leaves the receiver's duty to acknowledge, and its window, as they are.
    fn flagged(&mut self, now: Time, seq: Seq, len: u16) -> Segment {
        self.counters.sent_segments += 1;
        Segment {
            seq,
            len,
            ack: self.ack_field(),
            window: (self.receiver.room() >> self.rcv_shift).min(65_535) as u16,
            flags: Flags::ACK.with(Flags::DUMMY),
            timestamps: self.has_timestamps.then(|| self.timestamps(now)),
            ..Segment::default()
        }
    }
}

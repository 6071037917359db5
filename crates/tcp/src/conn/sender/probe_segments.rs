//! Probe segments: flagged copies of data, of the lowest priority, that find out how much room a path has (the dummy
//! segments of TCP-Peach: Akyildiz, Morabito and Palazzo 2001). The congestion control decides when they leave, and
//! interprets the answers. Or one leaves for each `every` data segments, and a verdict counts the answers.
//!
//! A SYN with the flag offers them; without the flag in the answer none are sent. The receiver answers each at once
//! with a flagged ACK. The copied data counts if it is missing, and is then acknowledged like other data. Neither a
//! probe nor its answer acknowledges anything, is a duplicate, or gives a round-trip time, so both leave the receiver's
//! duty to acknowledge as it is. Probes do not count in FlightSize, and pacing does not delay them.

use super::scoreboard::Scoreboard;

/// Probe segments at a sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Probes {
    /// Whether duplicate ACKs inflate the window.
    pub(crate) inflates: bool,
    repairs: bool,
    /// The data that left last, retransmitted or not: offset and length.
    last: Option<(u64, u16)>,
    /// Offset after the last copy of unacknowledged data.
    copied: u64,
    /// Sent and not answered; most of these are lost.
    unanswered: u64,
    /// Data segments per copy for the verdict; `None`: the congestion control decides.
    every: Option<u32>,
    /// Data segments since the last one.
    since: u32,
}

impl Probes {
    pub(crate) fn new(inflates: bool, repairs: bool) -> Self {
        Self { inflates, repairs, ..Self::default() }
    }

    /// One for `every` data segments, by which the verdict tells losses apart.
    pub(crate) fn copies(every: u32) -> Self {
        Self { inflates: true, every: Some(every), ..Self::default() }
    }

    /// Whether the verdict wants them, and not the controller.
    pub(crate) fn are_copies(&self) -> bool {
        self.every.is_some()
    }

    /// Whether a copy is due for the verdict; it is not after this.
    pub(crate) fn take_due(&mut self) -> bool {
        let is_due = self.every.is_some_and(|every| self.since >= every);
        self.since -= if is_due { self.every.unwrap_or(0) } else { 0 };
        is_due
    }

    /// Losses were found: missing data is copied first.
    pub(crate) fn on_loss(&mut self) {
        self.copied = 0;
    }

    /// Data leave.
    pub(crate) fn on_sent(&mut self, start: u64, len: u16) {
        if len > 0 {
            self.last = Some((start, len));
            self.since = self.since.saturating_add(u32::from(self.every.is_some()));
        }
    }

    /// The answer to one arrived: does it count?
    pub(crate) fn on_answer(&mut self) -> bool {
        let counts = self.unanswered > 0;
        self.unanswered -= u64::from(counts);
        counts
    }

    /// Returns the offset and length of the next copy. None: there was nothing yet.
    pub(crate) fn next_copy(&mut self, board: &Scoreboard) -> Option<(u64, u16)> {
        if self.repairs {
            if let Some(range) = board.sent.unsacked_from(self.copied) {
                self.copied = range.start + u64::from(range.len);
                if range.payload() > 0 {
                    return Some((range.start, range.payload() as u16));
                }
            }
        }
        self.last
    }

    /// It left.
    pub(crate) fn on_probe_sent(&mut self) {
        self.unanswered += 1;
    }
}

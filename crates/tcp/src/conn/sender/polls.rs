//! Polls: a receiver that acknowledges no data by itself is asked what it has (STP, Henderson and Katz 1999).
//!
//! The ends agree on polls by an option of the SYN. A poll is a segment without data and with an old sequence number,
//! which any TCP answers at once, here with all that it is to know: the cumulative acknowledgement, SACK blocks, the
//! window. That is the STAT of STP. While data are outstanding a poll leaves so many times in a round trip; and at once
//! when all has left that may leave, if no other is on its way since, or nothing follows that it could wait for.

use bentpipe_units::{Duration, Time};

/// The shortest time between two polls of the timer.
const PERIOD_MIN: Duration = Duration::from_millis(1);

/// When the receiver is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Polls {
    /// In a round trip.
    per_rtt: u32,
    /// When the next one is due by the timer; never while nothing is outstanding.
    next: Time,
    /// What had been sent when the last one left.
    asked: u64,
}

impl Polls {
    pub(super) fn new(per_rtt: u32) -> Self {
        Self { per_rtt: per_rtt.max(1), next: Time::NEVER, asked: 0 }
    }
}

/// What the sender knows when all has left that may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outstanding {
    pub(super) rtt: Duration,
    /// SND.UNA, SND.NXT, and where what was offered ends.
    pub(super) una: u64,
    pub(super) nxt: u64,
    pub(super) offered: u64,
    /// More leaves when pacing allows.
    pub(super) is_paced: bool,
}

impl Polls {
    /// Nothing is outstanding.
    pub(super) fn rest(&mut self) {
        self.next = Time::NEVER;
    }

    /// Whether one leaves now; and when the next one is due.
    pub(super) fn take(&mut self, now: Time, sent: Outstanding) -> (bool, Time) {
        let period = (sent.rtt / u64::from(self.per_rtt)).max(PERIOD_MIN);
        if self.next == Time::NEVER {
            self.next = now + period;
        }
        let is_news = self.asked < sent.nxt && !sent.is_paced;
        let waits_in_vain = self.asked <= sent.una || sent.nxt >= sent.offered;
        let is_due = (is_news && waits_in_vain) || self.next <= now;
        if is_due {
            (self.next, self.asked) = (now + period, sent.nxt);
        }
        (is_due, self.next)
    }
}

//! Polls: the sender asks a receiver that acknowledges no data by itself (STP, Henderson and Katz 1999).
//!
//! The ends agree on polls by an option of the SYN. A poll is a segment without data, with an old sequence number. Any
//! TCP answers it immediately, here with the cumulative acknowledgement, SACK blocks and the window. That is the STAT
//! of STP. While data is outstanding, `per_rtt` polls leave in a round trip. Another leaves immediately when all
//! permitted data has left, unless a poll is on its way and more data will follow.

use bentpipe_units::{Duration, Time};

/// The shortest time between two polls of the timer.
const PERIOD_MIN: Duration = Duration::from_millis(1);

/// Times of the polls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Polls {
    /// In a round trip.
    per_rtt: u32,
    /// When the next one is due by the timer; never while nothing is outstanding.
    next: Time,
    /// End of the sent data when the last poll left.
    asked: u64,
}

impl Polls {
    pub(super) fn new(per_rtt: u32) -> Self {
        Self { per_rtt: per_rtt.max(1), next: Time::NEVER, asked: 0 }
    }
}

/// The sender's data when all permitted data has left.
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
    /// No data is outstanding: polls stop.
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

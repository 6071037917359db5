//! Polls: a receiver that acknowledges no data by itself is asked what it has (STP, Henderson and Katz 1999).
//!
//! The ends agree on polls by an option of the SYN. A poll is a segment without data and with an old sequence number, which any
//! TCP answers at once, here with all that it is to know: the cumulative acknowledgement, SACK blocks, the window. That is
//! the STAT of STP. While data are outstanding a poll leaves so many times in a round trip; and at once when all has left that may
//! leave, if no other is on its way since, or nothing follows that it could wait for.

use super::state::Sender;
use crate::conn::context::Context;
use crate::conn::timers::Timer;
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

impl Sender {
    #[inline]
    pub(crate) fn has_polls(&self) -> bool {
        self.polls.is_some()
    }

    /// Whether a poll leaves now, after all data that may leave.
    pub(crate) fn take_poll(&mut self, now: Time, cx: &mut Context) -> bool {
        let rtt = self.rtt.expected().unwrap_or(self.rtt.rto());
        let is_held = self.pacer.must_wait(now, &mut cx.timers);
        let Some(polls) = &mut self.polls else { return false };
        if self.board.flight_size() == 0 {
            polls.next = Time::NEVER;
            return false;
        }
        let period = (rtt / u64::from(polls.per_rtt)).max(PERIOD_MIN);
        if polls.next == Time::NEVER {
            polls.next = now + period;
        }
        let is_unanswered = polls.asked > self.space.una;
        let waits_for_nothing = self.space.nxt >= self.space.offered;
        let is_last = !is_held && polls.asked < self.space.nxt && (!is_unanswered || waits_for_nothing);
        let is_due = is_last || polls.next <= now;
        if is_due {
            (polls.next, polls.asked) = (now + period, self.space.nxt);
        }
        cx.timers.set(Timer::Pace, cx.timers.get(Timer::Pace).min(polls.next));
        is_due
    }
}

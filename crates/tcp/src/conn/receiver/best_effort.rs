//! Best-effort transport of SCPS-TP (CCSDS 714.0-B, BETS) at the receiver: data that is missing for too long is
//! skipped. The application gets the data behind it, with a mark of the gap. The cumulative acknowledgement passes the
//! gap, so the sender stops retransmitting it.
//!
//! Readings. A hole is as old as the first segment that arrived beyond it. It is skipped when it is older than
//! [`BestEffort::wait`](crate::config::BestEffort): and a segment arrives. If no new data follows, a retransmission
//! fills or skips it. The sender has no time limit.

use super::Receiver;
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// Ages of the holes.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    wait: Duration,
    /// Starts of runs beyond a hole, and their times, in order.
    began: VecDeque<(u64, Time)>,
}

/// Data that the application does not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) offset: u64,
    pub(crate) len: u64,
    /// Bytes behind the gap that it gets.
    pub(crate) delivered: u64,
}

impl Patience {
    pub(crate) fn new(wait: Duration) -> Self {
        Self { wait, began: VecDeque::new() }
    }

    /// Whether the hole at `nxt` has been there too long.
    fn is_over(&mut self, now: Time, nxt: u64) -> bool {
        while self.began.front().is_some_and(|&(left, _)| left <= nxt) {
            self.began.pop_front();
        }
        self.began.front().is_some_and(|&(_, at)| now.saturating_since(at) >= self.wait)
    }
}

impl Receiver {
    /// Best effort: data that begin at `start` arrive, and will be entered next.
    pub(crate) fn note_arrival(&mut self, now: Time, start: u64) {
        let Some(patience) = self.extras.as_mut().and_then(|extras| extras.patience.as_mut()) else { return };
        let last = self.data.runs.back().map_or(self.data.nxt, |&(_, right)| right);
        if start > last {
            patience.began.push_back((start, now));
        }
    }

    /// Best effort: the hole that has been there too long, skipped.
    pub(crate) fn skip_overdue(&mut self, now: Time) -> Option<Gap> {
        if !self.extras.as_mut()?.patience.as_mut()?.is_over(now, self.data.nxt) {
            return None;
        }
        let offset = self.data.nxt;
        let (left, right) = self.data.skip_hole()?;
        let delivered = right - left;
        self.window.on_delivered(delivered);
        self.duty.is_due = true;
        Some(Gap { offset, len: left - offset, delivered })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::AckPolicy;
    use crate::conn::timers::Timers;

    /// Segments 0, 3, 4 and 7 of 1000 B arrive: each hole has its own age.
    #[test]
    fn each_hole_is_skipped_when_it_is_too_old() {
        let mut r = Receiver::new(AckPolicy::default(), 1000, 1 << 20, None);
        r.extras_mut().patience = Some(Patience::new(Duration::from_millis(500)));
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        for (segment, ms) in [(0, 0), (3, 100), (4, 200), (7, 300)] {
            r.note_arrival(at(ms), 1000 * segment);
            r.on_data(at(ms), 1000 * segment, 1000, false, &mut Timers::stopped());
        }
        assert_eq!(r.skip_overdue(at(599)), None);
        assert_eq!(r.skip_overdue(at(600)), Some(Gap { offset: 1000, len: 2000, delivered: 2000 }));
        assert_eq!((r.ack_offset(), r.must_ack_now(), r.skip_overdue(at(600))), (5000, true, None));
        // What comes late is old.
        assert!(!r.on_data(at(700), 1000, 1000, false, &mut Timers::stopped()).is_new);
        assert_eq!(r.skip_overdue(at(799)), None);
        assert_eq!(r.skip_overdue(at(800)), Some(Gap { offset: 5000, len: 2000, delivered: 1000 }));
        assert_eq!((r.ack_offset(), r.has_holes(), r.skip_overdue(at(9000))), (8000, false, None));
    }

    /// What fills the hole in time leaves nothing to skip.
    #[test]
    fn what_is_repaired_in_time_is_no_gap() {
        let mut r = Receiver::new(AckPolicy::default(), 1000, 1 << 20, None);
        r.extras_mut().patience = Some(Patience::new(Duration::from_millis(500)));
        for start in [1000, 0] {
            r.note_arrival(Time::ZERO, start);
            r.on_data(Time::ZERO, start, 1000, false, &mut Timers::stopped());
        }
        assert_eq!((r.skip_overdue(Time::ZERO + Duration::from_secs(9)), r.ack_offset()), (None, 2000));
    }
}

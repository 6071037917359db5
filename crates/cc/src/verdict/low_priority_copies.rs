//! Loss differentiation by copies of low priority. BEEN cites it (S. Zabir and G. Kitagata 2004): copies of user data
//! with low priority show whether a path is congested. Queues drop them first, and the errors of a link do not. Source
//! not available: this is a reading of that sentence, with the numbers as settings.
//!
//! # Differences from the source
//!
//! Readings:
//!
//! - One copy leaves for `every` data segments, of the segment that left last. Retransmissions count. On the wire it is
//!   a dummy segment of TCP-Peach: both ends agree on dummies, the receiver answers each and delivers none, and queues
//!   have them in their lowest class.
//! - Answers do not identify their copy. A loss that is found now left a smoothed round trip ago. Therefore the copies
//!   of the round trip before that are compared with the answers of the last one.
//! - If a `share` of them came back, the loss is an error of the link. Otherwise, and with fewer than `least` copies,
//!   it is congestion.
//! - A timeout is congestion: if all copies and all data are lost, the cause is unknown.
//!
//! # When it helps
//!
//! It helps against losses by errors while the queue has room. Copies in a standing queue count as congestion, so the
//! window is reduced before the queue overflows.
//!
//! # When it hurts
//!
//! The copies load the path by one segment in `every`. Each hop needs a queue with priorities (`queue = "priority"`
//! with `push_out = true`). If the copies wait and are dropped like other packets, their share gives no information,
//! and losses by congestion count as errors. Errors above one minus the share count as congestion.

use super::{Loss, LossVerdict, Verdict};
use crate::facts::PathState;
use crate::keys::{Copies, Snack};
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// Times of copies and answers, for as long as a loss may need them.
#[derive(Clone, Debug, Default)]
pub struct LowPriorityCopies {
    settings: Copies,
    sent: VecDeque<Time>,
    answered: VecDeque<Time>,
}

impl LowPriorityCopies {
    fn prune(&mut self, path: &PathState) {
        let Some(srtt) = path.srtt else { return };
        for times in [&mut self.sent, &mut self.answered] {
            while times.front().is_some_and(|&at| path.now.saturating_since(at) > srtt * 3) {
                times.pop_front();
            }
        }
    }
}

/// Returns the number of `times` up to `longest` ago, and more than `shortest` ago.
fn count(times: &VecDeque<Time>, now: Time, shortest: Duration, longest: Duration) -> u64 {
    let is_counted = |at: &&Time| {
        let ago = now.saturating_since(**at);
        shortest <= ago && ago < longest
    };
    times.iter().filter(is_counted).count() as u64
}

impl LossVerdict for LowPriorityCopies {
    fn judge(&mut self, loss: &Loss, path: &PathState) -> Verdict {
        let (Some(srtt), false) = (path.srtt, loss.by_timeout) else { return Verdict::Congestion };
        let sent = count(&self.sent, path.now, srtt, srtt * 2);
        let answered = count(&self.answered, path.now, Duration::ZERO, srtt);
        let is_error =
            sent >= u64::from(self.settings.least) && 1000 * answered >= u64::from(self.settings.share) * sent;
        if is_error {
            Verdict::LinkError
        } else {
            Verdict::Congestion
        }
    }

    fn configure(&mut self, copies: Copies, _: Snack) {
        self.settings = copies;
    }

    fn copies_every(&self) -> Option<u32> {
        Some(self.settings.every)
    }

    fn on_copy(&mut self, is_answer: bool, path: &PathState) {
        self.prune(path);
        if is_answer { &mut self.answered } else { &mut self.sent }.push_back(path.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::indications::tests::at;

    /// What a loss at 1000 ms is taken for, with a round trip of 500 ms, `sent` copies from 10 ms on and `answered` of them from 510 ms on.
    fn judged(sent: u64, answered: u64, by_timeout: bool) -> Verdict {
        let mut policy = LowPriorityCopies::default();
        for n in 0..sent {
            policy.on_copy(false, &at(10 + n));
        }
        for n in 0..answered {
            policy.on_copy(true, &at(510 + n));
        }
        // Those of the last round trip are on the way.
        (600..620).for_each(|ms| policy.on_copy(false, &at(ms)));
        let loss = Loss { offset: 0, by_timeout, was_reduced: false, sent_segments: 0, retransmitted_segments: 0 };
        policy.judge(&loss, &at(1000))
    }

    /// `docs/specs/tcp-peach.md`, the reading's test: 15 of 16 back is an error, 4 of 16 congestion.
    #[test]
    fn the_share_of_copies_that_come_back_decides() {
        assert_eq!(judged(16, 15, false), Verdict::LinkError);
        assert_eq!(judged(16, 4, false), Verdict::Congestion);
        assert_eq!([judged(16, 12, false), judged(16, 11, false)], [Verdict::LinkError, Verdict::Congestion]);
        assert_eq!([judged(4, 4, false), judged(3, 3, false)], [Verdict::LinkError, Verdict::Congestion], "too few");
        assert_eq!(judged(16, 16, true), Verdict::Congestion, "a timeout");
    }

    #[test]
    fn what_is_old_is_forgotten() {
        let mut policy = LowPriorityCopies::default();
        (0..10_000).for_each(|ms| policy.on_copy(ms % 2 == 0, &at(ms)));
        assert!(policy.sent.len() <= 751 && policy.answered.len() <= 751);
    }
}

//! Loss differentiation by copies of low priority. BEEN cites it (S. Zabir and G. Kitagata 2004) as the way in which copies of user data
//! with low priority show whether a path is congested: queues drop them first, the errors of a link do not know them. The
//! primary source was not at hand: what stands here is our reading of that sentence, with the numbers as settings.
//!
//! # Readings
//!
//! - One copy leaves for `every` data segments, of the segment that left last; retransmissions count. It is a dummy segment of
//!   TCP-Peach on the wire: both ends agree on them, the receiver answers each and delivers none, queues have them in their
//!   lowest class.
//! - Answers do not say which copy they answer. A loss that is found now left a smoothed round trip ago; so the copies of
//!   the round trip before that are compared with the answers of the last one.
//! - If a `share` of them came back, the loss is an error of the link; otherwise, and with fewer than `least` copies, congestion.
//! - A timeout is congestion: where all copies and all data are lost nobody can say why.
//!
//! # On satellite paths
//!
//! **Helps:** losses by errors while the queue has room; what a standing queue holds back counts as congestion, so the window is
//! reduced before the queue overflows. **Hurts:** the copies load the path by one segment in `every`, and each hop needs a queue that
//! tells classes apart (`queue = "priority"` with `push_out = true`): where the copies wait and die like other packets, the share says
//! nothing, and losses by congestion are taken for errors. Errors above one minus the share are taken for congestion.

use super::{Loss, LossVerdict, Verdict};
use crate::facts::PathState;
use crate::keys::{Copies, Snack};
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// When copies left and answers came, for as long as a loss may ask.
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

/// How many of `times` lie up to `longest` ago, and more than `shortest` ago.
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

    /// `specs/tcp-peach.md`, the reading's test: 15 of 16 back is an error, 4 of 16 congestion.
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

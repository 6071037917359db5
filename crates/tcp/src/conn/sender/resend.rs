//! Effect of a partial ACK on a loss that the [advertised windows](super::feedback) attribute to the link, or to
//! congestion.

use super::feedback::Partial;
use super::reduce::{Cause, ReduceOutcome};
use super::scoreboard::Evidence;
use super::state::Sender;
use crate::conn::context::Context;
use crate::conn::Event;
use bentpipe_cc::CongestionControl;
use bentpipe_units::Time;

impl Sender {
    /// A part of the outstanding data is acknowledged, and losses are still being repaired; `in_recovery` by fast
    /// recovery.
    pub(super) fn judge_partial(&mut self, now: Time, in_recovery: bool, cx: &mut Context) {
        let Some(feedback) = self.extras.feedback_mut() else { return };
        let srtt = self.rtt.srtt();
        match feedback.judge_partial(now, in_recovery, self.space.rwnd, srtt.unwrap_or_default()) {
            Partial::Nothing => {}
            Partial::Congestion => {
                let path = self.path(now, cx);
                let outcome = self.window.reduce(Cause::Loss, &path, &mut self.losses, &self.board, &self.rtt, cx);
                self.losses.episode.is_reduced = outcome == ReduceOutcome::Reduced;
            }
            Partial::Error { is_new, is_judged, resends } => {
                if is_new {
                    feedback.hold_window(now, Cause::Loss, &self.space, &mut self.rtt, &mut self.window.cc, cx);
                } else if is_judged {
                    self.window.cc.set_window(self.space.rwnd, self.space.rwnd);
                }
                self.losses.episode.is_reduced = false;
                if !resends {
                    return;
                }
                let evidence = match cx.agreed.sack {
                    true => Evidence::SentAgo { now, timeout: srtt.unwrap_or_default() },
                    false => Evidence::Everything { forget_sacks: false },
                };
                self.losses.episode = self.losses.episode.begun(self.space.nxt, false);
                if !is_new {
                    // Also for data sent since the verdict.
                    cx.report(Event::NoReduction(self.space.nxt));
                }
                feedback.resend(now, evidence, &self.space, srtt, &mut self.board, &mut self.losses.episode);
            }
        }
    }
}

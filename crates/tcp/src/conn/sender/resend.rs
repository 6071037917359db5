//! Reaction of a sender to a link error that [windows](super::feedback) showed: there is no reduction, window and
//! threshold become the advertised window, and missing data is retransmitted.

use super::episode::Phase;
use super::extras::SenderExtras;
use super::feedback::WindowFeedback;
use super::reduce::{Cause, ReduceOutcome};
use super::scoreboard::Evidence;
use super::state::Sender;
use crate::config::{Resend, Trigger};
use crate::conn::context::Context;
use crate::conn::Event;
use bentpipe_cc::CongestionControl;
use bentpipe_units::Time;

impl Sender {
    pub(super) fn feedback(&self) -> Option<&WindowFeedback> {
        self.extras.as_ref()?.feedback.as_ref()
    }

    fn feedback_mut(&mut self) -> Option<&mut WindowFeedback> {
        self.extras.as_mut()?.feedback.as_mut()
    }

    /// An ACK of everything below `ack` is about to be entered.
    pub(super) fn note_window(&mut self, ack: u64) {
        let (window, una) = (self.space.rwnd, self.space.una);
        let Some(SenderExtras { feedback: Some(feedback), .. }) = self.extras.as_deref_mut() else { return };
        if ack <= una {
            return;
        }
        if self.episode.phase == Phase::Open {
            feedback.normal = Some(window);
            feedback.end();
        }
        if std::mem::take(&mut feedback.is_probing) {
            self.cc.set_window(window, window);
        }
    }

    /// Whether a loss is taken for a link error; then window and threshold are what is advertised.
    pub(super) fn is_link_error(&mut self, now: Time, cause: Cause, cx: &mut Context) -> bool {
        let window = self.space.rwnd;
        let is_error = self.feedback().is_some_and(|feedback| feedback.judges_error(cause, window));
        if is_error {
            self.hold_window(now, cause, cx);
        } else if let (Some(feedback), false) = (self.feedback_mut(), cause == Cause::Timeout) {
            feedback.end();
        }
        is_error
    }

    fn hold_window(&mut self, now: Time, cause: Cause, cx: &mut Context) {
        let (window, smss) = (self.space.rwnd, self.space.smss());
        let Some(SenderExtras { feedback: Some(feedback), .. }) = self.extras.as_deref_mut() else { return };
        let by_timeout = cause == Cause::Timeout;
        (feedback.is_error, feedback.is_probing) = (true, by_timeout);
        if by_timeout {
            feedback.resent_at = now;
        }
        self.rtt.fix(feedback.config.rto);
        self.cc.set_window(if by_timeout { smss } else { window }, window);
        cx.report(Event::LinkError(self.space.una));
        cx.report(Event::NoReduction(self.space.nxt));
    }

    /// Recovery begins with a link error. Returns whether all data is retransmitted immediately.
    pub(super) fn begin_resend(&mut self, now: Time, cx: &Context) -> bool {
        let is_bulk = self.feedback().is_some_and(|f| f.is_error && f.config.resend == Resend::Bulk);
        if is_bulk {
            let evidence = match cx.agreed.sack {
                true => Evidence::AnySackedAbove,
                false => Evidence::Everything { forget_sacks: false },
            };
            self.resend(now, evidence);
        }
        is_bulk
    }

    fn resend(&mut self, now: Time, evidence: Evidence) {
        let segments = self.board.flight_size().div_ceil(self.space.smss()).max(1);
        let srtt = self.rtt.srtt();
        self.board.mark(evidence);
        self.board.note_reduction(now);
        self.episode.enter_loss();
        let Some(SenderExtras { feedback: Some(feedback), .. }) = self.extras.as_deref_mut() else { return };
        feedback.resent_at = now;
        feedback.gap = srtt.filter(|_| feedback.config.bulk_paced).map(|srtt| srtt / segments);
    }

    /// A part of the outstanding data is acknowledged, and losses are still being repaired; `in_recovery` by fast
    /// recovery.
    pub(super) fn judge_partial(&mut self, now: Time, in_recovery: bool, cx: &mut Context) {
        let (window, srtt) = (self.space.rwnd, self.rtt.srtt().unwrap_or_default());
        let Some(feedback) = self.feedback() else { return };
        let (was_error, config) = (feedback.is_error, feedback.config);
        if !was_error && !in_recovery {
            return;
        }
        let is_judged = config.trigger != Trigger::Duplicate;
        let is_error = if is_judged { feedback.has_held(window) } else { was_error };
        let is_due = now.saturating_since(feedback.resent_at) >= srtt;
        if was_error && !is_error {
            if let Some(feedback) = self.feedback_mut() {
                feedback.end();
            }
            let outcome = self.reduce_for_congestion(now, Cause::Loss, cx);
            self.episode.is_reduced = outcome == ReduceOutcome::Reduced;
            return;
        }
        if !is_error {
            return;
        }
        if !was_error {
            self.hold_window(now, Cause::Loss, cx);
        } else if is_judged {
            self.cc.set_window(window, window);
        }
        self.episode.is_reduced = false;
        if config.resend == Resend::Bulk && (is_due || !was_error) {
            let evidence = match cx.agreed.sack {
                true => Evidence::SentAgo { now, timeout: srtt },
                false => Evidence::Everything { forget_sacks: false },
            };
            self.episode = self.episode.begun(self.space.nxt, false);
            if was_error {
                // Also for data sent since the verdict.
                cx.report(Event::NoReduction(self.space.nxt));
            }
            self.resend(now, evidence);
        }
    }

    /// The timer expired: whether the timeout doubles.
    pub(super) fn backs_off(&self, outcome: ReduceOutcome) -> bool {
        outcome != ReduceOutcome::LinkError && !self.feedback().is_some_and(|feedback| feedback.is_error)
    }
}

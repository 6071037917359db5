//! Effects of [careful resume](super::resume) and [rapid start](super::rapid) on the window.

use super::episode::Phase;
use super::reduce::{Cause, ReduceOutcome};
use super::state::Sender;
use crate::config::Pacing;
use crate::conn::context::Context;
use crate::conn::Event;
use bentpipe_cc::{CarefulResume, CongestionControl, Marks, ResumeFacts, ResumePhase, ResumeReason, Resumed};
use bentpipe_units::Time;

impl Sender {
    /// An ACK with these marks was handled. The window was `before`.
    #[inline(never)]
    pub(super) fn end_ack_with_extras(&mut self, now: Time, before: u64, marks: Marks, cx: &mut Context) {
        if marks.ce_packets > 0 {
            self.note_reduction(now, before, cx);
        }
        if let Some(resume) = self.extras.resume_mut() {
            let is_limited = self.window.usage.is_window_used(&self.window.cc);
            let arrived = resume.on_ack(self.rtt.last, is_limited, &self.space, &self.board);
            let (cwnd, ssthresh) = (self.window.cc.cwnd(), self.window.cc.ssthresh());
            if resume.knows_capacity() && self.losses.episode.phase == Phase::Selective && cwnd < ssthresh {
                // Its losses are still repaired. The window grows as in slow start, up to its threshold: that is the window with which
                // another recovery would have begun.
                self.window.cc.set_window((cwnd + arrived).min(ssthresh), ssthresh);
            }
            self.tell_resume(now, cx, |part, facts| part.on_ack(facts));
        }
        if let Some(rapid) = self.extras.rapid_mut() {
            rapid.on_ack(now, &self.space, &self.board, &mut self.window.cc);
        }
    }

    /// The window was reduced, or a link was to blame. `before`: the window, if slow start ended.
    #[cold]
    pub(super) fn end_starts(
        &mut self,
        now: Time,
        before: Option<u64>,
        cause: Cause,
        outcome: ReduceOutcome,
        cx: &mut Context,
    ) {
        let is_congestion = matches!(outcome, ReduceOutcome::Reduced | ReduceOutcome::MustWait);
        match cause {
            Cause::Timeout => self.tell_resume(now, cx, |part, _| part.on_timeout()),
            _ if !is_congestion => {}
            Cause::Mark => self.tell_resume(now, cx, |part, facts| part.on_congestion(ResumeReason::EcnCe, facts)),
            _ => self.tell_resume(now, cx, |part, facts| part.on_congestion(ResumeReason::PacketLoss, facts)),
        }
        let is_resumed = self.extras.is_window_held();
        if let (Some(rapid), ReduceOutcome::Reduced) = (self.extras.rapid_mut(), outcome) {
            let before = before.filter(|_| cause != Cause::Timeout && !is_resumed);
            let least_rtt = self.losses.detector.min_rtt();
            rapid.on_reduction(now, before, least_rtt, &self.space, &self.board, &mut self.window.cc);
        }
    }

    /// Passes an event to careful resume, and applies its answer.
    #[cold]
    pub(super) fn tell_resume(
        &mut self,
        now: Time,
        cx: &mut Context,
        event: impl FnOnce(&mut CarefulResume, &ResumeFacts) -> Option<Resumed>,
    ) {
        let Some(resume) = self.extras.resume_mut() else { return };
        let answer = resume.tell(now, &self.space, &self.board, &self.window.cc, self.rtt.srtt(), event);
        let Some(change) = answer else { return };
        if change.cwnd.is_some() || change.ssthresh.is_some() {
            let cwnd = change.cwnd.unwrap_or(self.window.cc.cwnd());
            self.window.cc.set_window(cwnd, change.ssthresh.unwrap_or(self.window.cc.ssthresh()));
        }
        // RFC 9959 §3.3: the jump is paced in any case.
        let is_jump = change.phase == ResumePhase::Unvalidated;
        self.window.is_paced = is_jump || cx.config.pacing != Pacing::Off || self.window.cc.paces();
        cx.report(Event::Resumed(change.phase, self.window.cc.cwnd()));
    }
}

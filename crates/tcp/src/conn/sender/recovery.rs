//! Detects losses, repairs them, and undoes reactions. An episode begins and ends here.

use super::ack::{Ack, AckFacts};
use super::detect::{Finding, Repair};
use super::episode::{Advance, Phase, Step, DUP_THRESH};
use super::losses::Losses;
use super::reduce::{Cause, ReduceOutcome};
use super::scoreboard::Evidence;
use super::state::Sender;
use crate::config::{SecondReduction, SpuriousResponse};
use crate::conn::context::Context;
use crate::conn::Event;
use bentpipe_cc::CongestionControl;
use bentpipe_units::Time;

impl Sender {
    /// Passes an ACK to the detector. Returns whether it showed further losses.
    pub(super) fn find(&mut self, now: Time, facts: &AckFacts, cx: &mut Context) -> bool {
        let finding = self.losses.find(now, facts, &self.space, &self.rtt, &mut self.board, cx);
        self.answer(now, finding, cx)
    }

    /// The receiver misses these ranges, as an entered ACK shows.
    pub(super) fn find_holes(&mut self, now: Time, ranges: impl Iterator<Item = (u64, u64)>, cx: &mut Context) {
        for hole in ranges {
            let (view, _) = Losses::view(&self.losses.episode, now, &self.space, &self.rtt, cx);
            let finding = self.losses.detector.find_hole(&view, hole, &mut self.board);
            let path = self.path(now, cx);
            let covers = finding.new_hole.and_then(|hole| self.window.reducer.covers(hole, &path));
            // Recovery that errors began reduces nothing: the first hole in it that is congestion begins another.
            let is_unanswered = self.losses.episode.phase == Phase::Snack && !self.losses.episode.is_reduced;
            self.answer(now, finding, cx);
            if is_unanswered && covers == Some(false) {
                self.enter_recovery(now, cx);
            }
            if self.window.cc.cwnd() < finding.window_min {
                self.window.cc.set_window(finding.window_min, self.window.cc.ssthresh());
            }
        }
    }

    /// Begin recovery if losses are proven.
    #[inline]
    pub(super) fn answer(&mut self, now: Time, finding: Finding, cx: &mut Context) -> bool {
        let may_begin = self.losses.may_begin(&finding);
        let is_lost_again = finding.is_further && self.board.take_lost_again();
        if finding.is_further {
            cx.counters.lost_retransmissions = self.board.lost_retransmissions();
        }
        if may_begin && self.losses.detector.may_begin(self.space.una, self.losses.episode.recovery_point) {
            self.enter_recovery(now, cx);
        } else if is_lost_again {
            self.answer_lost_again(now, may_begin, cx);
        }
        finding.is_further
    }

    /// RFC 5681 §4.3: the loss of a retransmission is a second sign of congestion. In fast recovery the window is reduced again, at
    /// most once for the segments that leave in a round trip; after a timeout a fast recovery begins. A model counts its losses
    /// itself.
    ///
    /// DEVIATION: RFC 5681 §4.3 lowers the window for each retransmission that is lost. With SNACK it falls once in an epoch, as SCPS-TP
    /// has it: a hole that is reported again starts no other. With `second_reduction` "after-timeout" or
    /// "off" it stays in fast recovery, as in Linux; and recovery by duplicate ACKs or by RFC 6675 cannot see such a loss before the
    /// timer expires.
    #[inline(never)]
    fn answer_lost_again(&mut self, now: Time, may_begin: bool, cx: &mut Context) {
        match (self.losses.episode.phase, cx.config.second_reduction) {
            (Phase::Loss, SecondReduction::AfterTimeout | SecondReduction::Rfc5681) if may_begin => {
                return self.enter_recovery(now, cx);
            }
            (Phase::Selective, SecondReduction::Rfc5681) if !self.window.cc.is_model_based() => {}
            _ => return,
        }
        self.board.note_reduction(now);
        if self.reduce(now, Cause::LostAgain, cx) != ReduceOutcome::Reduced {
            return;
        }
        self.losses.episode.recovery_point = Some(self.space.nxt);
        self.losses.episode.is_reduced = true;
        let arrived = self.board.delivery().bytes;
        if !self.extras.sets_window() {
            let flight = [self.board.pipe() + arrived, arrived];
            self.losses.reduce_in_proportion(flight, self.space.smss(), &self.board, &self.window.cc, &cx.config);
        }
        let lost = self.board.next_lost();
        // As when recovery began: it leaves, however full the network is.
        self.losses.episode.retransmits_first = lost.is_some() && self.losses.detector.first(&mut self.board) == lost;
        if cx.config.rto.restart_on_fast_retransmit && lost == self.board.sent.first() {
            self.rtt.arm(now, &mut cx.timers);
        }
    }

    #[inline(never)]
    fn enter_recovery(&mut self, now: Time, cx: &mut Context) {
        if self.extras.is_repaired(self.space.una, &self.board) {
            return self.inflate_only();
        }
        if let Some(probes) = self.extras.probes_mut() {
            probes.on_loss();
        }
        cx.counters.fast_retransmits += 1;
        cx.report(Event::FastRetransmit(self.space.una));
        // DEVIATION: RFC 6298 §5 restarts the timer only for new data acknowledged. Unless configured otherwise we restart it here
        // too, as Linux and ns-2 do: recovery would have only what is left of it.
        if cx.config.rto.restart_on_fast_retransmit {
            self.rtt.arm(now, &mut cx.timers);
        }
        let is_reduced = self.reduce(now, Cause::Loss, cx) != ReduceOutcome::LinkError;
        self.losses.episode = self.losses.episode.begun(self.space.nxt, is_reduced);
        self.board.begin_episode();
        self.board.note_reduction(now);
        if let (Some(feedback), false) = (self.extras.feedback_mut().filter(|f| f.resends_all()), is_reduced) {
            let evidence = match cx.agreed.sack {
                true => Evidence::AnySackedAbove,
                false => Evidence::Everything { forget_sacks: false },
            };
            let srtt = self.rtt.srtt();
            return feedback.resend(now, evidence, &self.space, srtt, &mut self.board, &mut self.losses.episode);
        }
        match self.losses.detector.repair() {
            Repair::GoBack if is_reduced => {
                self.board.mark(Evidence::Everything { forget_sacks: false });
                self.losses.episode.enter_loss();
            }
            Repair::GoBack => self.losses.episode.retransmits_first = true,
            Repair::AtOnce => self.losses.episode.enter_snack(),
            Repair::Fast => {
                let inflation = i64::from(DUP_THRESH) * self.extras.inflation(self.space.smss);
                self.losses.episode.enter_fast(self.losses.burst(), inflation);
                if inflation > 0 {
                    self.board.note_first_lost();
                }
            }
            Repair::Selective => {
                if !self.extras.sets_window() {
                    let (flight, smss) = ([self.board.flight_size(), self.board.sacked_bytes()], self.space.smss());
                    self.losses.reduce_in_proportion(flight, smss, &self.board, &self.window.cc, &cx.config);
                }
                let first = self.board.sent.first().map_or(0, |first| self.board.sent.len_of(first));
                self.losses.episode.enter_selective(self.space.una + first);
            }
        }
        self.losses.detector.on_recovery(&mut self.board, &mut cx.timers);
    }

    /// The hole was reported and already retransmitted: the window is inflated, not reduced.
    fn inflate_only(&mut self) {
        if self.losses.detector.repair() != Repair::Fast {
            return;
        }
        let point = self.extras.sent_until(self.space.una).unwrap_or(self.space.nxt);
        self.losses.episode = self.losses.episode.begun(point, false);
        self.losses
            .episode
            .enter_fast(self.losses.burst(), i64::from(DUP_THRESH) * self.extras.inflation(self.space.smss));
        self.losses.episode.retransmits_first = false;
        if let Some(notified) = self.extras.notified_mut() {
            notified.repairs_nothing = true;
        }
    }

    /// A partial ACK in such a recovery: it goes on if the next hole was reported too, else it is one of congestion from now on.
    fn check_next_hole(&mut self, now: Time, cx: &mut Context) -> bool {
        if !self.extras.repairs_nothing() {
            return false;
        }
        if self.extras.is_repaired(self.space.una, &self.board) {
            self.losses.episode.retransmits_first = false;
            return true;
        }
        self.extras.end_inflation();
        self.losses.episode.recovery_point = Some(self.space.nxt);
        self.losses.episode.is_reduced = self.reduce(now, Cause::Loss, cx) != ReduceOutcome::LinkError;
        false
    }

    /// The cumulative ACK advanced by `newly` bytes while losses are repaired: whether this ACK was part of loss recovery (so that
    /// the window does not grow) and whether the retransmission timer restarts.
    #[inline(never)]
    pub(super) fn advance(&mut self, now: Time, newly: u64, cx: &mut Context) -> Advance {
        let (newreno, inflation) = (self.losses.detector.newreno(), self.extras.inflation(self.space.smss));
        if let (Some(point), true) = (self.extras.sent_until(self.space.una), self.extras.repairs_nothing()) {
            self.losses.episode.recovery_point = Some(point);
        }
        let step = self.losses.episode.on_advance(now, self.space.una, newly, newreno, inflation);
        match step {
            Step::StaysInLoss => return Advance::OPEN,
            Step::Partial { restarts_timer, shrinks_by } => {
                let path = self.path(now, cx);
                self.window.cc.on_recovery_ack(true, &path);
                // The timer may run on where one hole is repaired per round trip; here none has to be.
                let is_repaired = self.extras.notified().is_some() && self.check_next_hole(now, cx);
                if shrinks_by > 0 && !is_repaired {
                    self.window.cc.limit_cwnd(self.window.cc.cwnd().saturating_sub(shrinks_by));
                }
                return Advance { in_recovery: true, restarts_timer: restarts_timer || is_repaired };
            }
            Step::LeavesLoss => {}
            Step::Full { deflates } => {
                if deflates && !self.window.cc.is_model_based() {
                    let smss = self.space.smss();
                    self.window.cc.limit_cwnd(self.board.flight_size().max(smss) + smss);
                }
                self.losses.episode.leave();
                self.extras.end_inflation();
            }
        }
        if let Some(undo) = &mut self.losses.undo {
            undo.on_exit(self.space.nxt);
        }
        let path = self.path(now, cx);
        self.window.cc.on_recovery_exit(&path);
        if let Step::LeavesLoss = step {
            return Advance::OPEN;
        }
        cx.report(Event::RecoveryExit(self.space.una));
        Advance { in_recovery: !cx.config.grow_on_exit, ..Advance::OPEN }
    }

    pub(super) fn reduce(&mut self, now: Time, cause: Cause, cx: &mut Context) -> ReduceOutcome {
        if let Some(feedback) = self.extras.feedback_mut() {
            if feedback.takes_for_error(now, cause, &self.space, &mut self.rtt, &mut self.window.cc, cx) {
                return ReduceOutcome::LinkError;
            }
        }
        let path = self.path(now, cx);
        let base = path.ssthresh_base.min(self.window.cc.cwnd());
        let before = (self.window.cc.cwnd() < self.window.cc.ssthresh()).then_some(base);
        let outcome = self.window.reduce(cause, &path, &mut self.losses, &self.board, &self.rtt, cx);
        if self.extras.is_some() {
            self.end_starts(now, before, cause, outcome, cx);
        }
        outcome
    }

    /// Whether an ACK shows that the last episode was spurious. Then the episode is undone.
    #[inline(never)]
    pub(super) fn undo_if_spurious(&mut self, now: Time, ack: &Ack<'_>, facts: &AckFacts, cx: &mut Context) -> bool {
        let Some(undo) = &mut self.losses.undo else { return false };
        let has_sack = cx.agreed.sack;
        let judgement = undo.judge(ack, facts, &self.space, &self.board, &cx.config, has_sack);
        if judgement.is_late {
            cx.counters.reorderings += u32::from(self.losses.detector.on_late());
        }
        if judgement.is_real {
            self.window.cc.limit_cwnd(3 * self.space.smss());
            self.losses.episode.retransmits_first = true;
            if !has_sack {
                // The duplicates do not show which of the new segments arrived: go back to the hole.
                self.board.mark(Evidence::Everything { forget_sacks: false });
            }
        }
        if !judgement.is_spurious {
            return false;
        }
        self.undo_episode(now, cx.config.spurious_response, facts.newly_acked, cx);
        true
    }

    /// The last episode is undone; `newly_acked` bytes were acknowledged by the ACK that showed it.
    fn undo_episode(&mut self, now: Time, response: SpuriousResponse, newly_acked: u64, cx: &mut Context) {
        let response = match response {
            // RFC 4015 §3.2 step 4: an ACK that reports marks keeps the reduction.
            _ if self.extras.is_echoed() => SpuriousResponse::Conservative,
            response => response,
        };
        let Some(undo) = &mut self.losses.undo else { return };
        let Some(saved) = undo.take() else { return };
        cx.counters.undos += 1;
        cx.counters.timeout_undos += u32::from(saved.is_by_timeout());
        cx.report(Event::Undo(self.space.una));
        if response != SpuriousResponse::Conservative {
            self.window.reducer.withdraw_cwr();
        }
        let room = newly_acked.min(cx.config.initial_window.bytes(self.space.smss));
        self.losses.episode = saved.restore(response, room, &mut self.board, &mut self.window.cc, undo, &cx.config);
        if self.extras.is_some() {
            self.tell_resume(now, cx, |part, _| part.on_undo());
        }
        if let Some(rapid) = self.extras.rapid_mut() {
            rapid.on_undo(self.board.lost_ever());
        }
        if self.board.flight_size() > 0 {
            self.rtt.arm(now, &mut cx.timers);
        }
    }

    /// A report came of data that was taken for lost. If nothing else was lost in this episode, its reduction is taken back: reports
    /// before it would have left the window as it was. After a timeout, the loss of data that was not retransmitted is an
    /// assumption.
    #[cold]
    pub(super) fn excuse(&mut self, now: Time, cx: &mut Context) {
        let phase = self.losses.episode.phase;
        let is_over = phase == Phase::Open || !self.losses.undo.as_ref().is_some_and(|undo| undo.is_current());
        let is_held = self.board.has_retransmitted() || phase != Phase::Loss && self.board.has_lost();
        if is_over || is_held || self.board.has_repaired() {
            return;
        }
        let (inflation, sent_until) = (self.losses.episode.inflation, self.losses.episode.recovery_point);
        self.undo_episode(now, SpuriousResponse::Restore, 0, cx);
        if phase == Phase::Fast {
            // As if the report had been in time.
            self.inflate_only();
            (self.losses.episode.inflation, self.losses.episode.recovery_point) = (inflation, sent_until);
        }
    }
}

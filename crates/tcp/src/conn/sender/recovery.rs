//! Losses: found, repaired, undone. The episode is entered here, and left.

use super::ack::{Ack, AckFacts, SackRanges};
use super::detect::{holes, Finding, Repair};
use super::episode::{Advance, Phase, Step, DUP_THRESH};
use super::prr::Prr;
use super::reduce::{Cause, ReduceOutcome, Touched};
use super::scoreboard::Evidence;
use super::state::{view, Sender};
use crate::config::{Config, GiveUp, Recovery, Reduction, SackOnRto, SecondReduction, SpuriousResponse};
use crate::conn::context::Context;
use crate::conn::timers::Timer;
use crate::conn::Event;
use bentpipe_cc::CongestionControl;
use bentpipe_units::Time;

impl Sender {
    /// Passes an ACK to the detector. Returns whether it showed further losses.
    pub(super) fn find(&mut self, now: Time, facts: &AckFacts, cx: &mut Context) -> bool {
        if !self.episode.phase.is_recovery() && self.detector.is_duplicate(facts) {
            self.episode.dupacks = self.episode.dupacks.saturating_add(1);
        }
        let (view, timers) = view(now, &self.space, &self.episode, &self.rtt, cx);
        let finding = self.detector.find(&view, facts, &mut self.board, timers);
        cx.counters.reorderings += u32::from(finding.is_reordered);
        self.answer(now, finding, cx)
    }

    /// Handles the holes that an entered ACK reports.
    pub(super) fn find_holes(&mut self, now: Time, ack: &Ack<'_>, cx: &mut Context) {
        let Some(option) = ack.scps.and_then(|scps| scps.snack) else { return };
        if cx.agreed.snack.is_none() {
            return;
        }
        for hole in holes(option, self.space.una, u64::from(cx.agreed.smss)) {
            self.find_hole(now, hole, cx);
        }
    }

    pub(super) fn find_hole(&mut self, now: Time, hole: (u64, u64), cx: &mut Context) {
        let (view, _) = view(now, &self.space, &self.episode, &self.rtt, cx);
        let finding = self.detector.find_hole(&view, hole, &mut self.board);
        let path = self.path(now, cx);
        let covers = finding.new_hole.and_then(|hole| self.reducer.covers(hole, &path));
        // Recovery that errors began reduces nothing: the first hole in it that is congestion begins another.
        let is_unanswered = self.episode.phase == Phase::Snack && !self.episode.is_reduced;
        self.answer(now, finding, cx);
        if is_unanswered && covers == Some(false) {
            self.enter_recovery(now, cx);
        }
        if self.cc.cwnd() < finding.window_min {
            self.cc.set_window(finding.window_min, self.cc.ssthresh());
        }
    }

    /// Begin recovery if losses are proven.
    #[inline]
    pub(super) fn answer(&mut self, now: Time, finding: Finding, cx: &mut Context) -> bool {
        let may_begin = finding.is_proven && !self.episode.phase.is_recovery() && !self.is_held_by_frto();
        let is_lost_again = finding.is_further && self.board.take_lost_again();
        if finding.is_further {
            cx.counters.lost_retransmissions = self.board.lost_retransmissions();
        }
        if may_begin && self.detector.may_begin(self.space.una, self.episode.recovery_point) {
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
        match (self.episode.phase, cx.config.second_reduction) {
            (Phase::Loss, SecondReduction::AfterTimeout | SecondReduction::Rfc5681) if may_begin => {
                self.enter_recovery(now, cx);
            }
            (Phase::Selective, SecondReduction::Rfc5681) if !self.cc.is_model_based() => {
                self.reduce_again(now, cx);
            }
            _ => {}
        }
    }

    fn reduce_again(&mut self, now: Time, cx: &mut Context) {
        self.board.note_reduction(now);
        if self.reduce(now, Cause::LostAgain, cx) != ReduceOutcome::Reduced {
            return;
        }
        self.episode.recovery_point = Some(self.space.nxt);
        self.episode.is_reduced = true;
        let arrived = self.board.delivery().bytes;
        self.reduce_in_proportion(self.board.pipe() + arrived, arrived, &cx.config);
        let lost = self.board.next_lost();
        // As when recovery began: it leaves, however full the network is.
        self.episode.retransmits_first = lost.is_some() && self.detector.first(&mut self.board) == lost;
        if cx.config.rto.restart_on_fast_retransmit && lost == self.board.first() {
            self.rtt.arm(now, &mut cx.timers);
        }
    }

    #[inline(never)]
    fn enter_recovery(&mut self, now: Time, cx: &mut Context) {
        if self.is_repaired() {
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
        self.episode = self.episode.begun(self.space.nxt, is_reduced);
        self.board.begin_episode();
        self.board.note_reduction(now);
        if let (Some(feedback), false) = (self.extras.feedback_mut().filter(|f| f.resends_all()), is_reduced) {
            let evidence = match cx.agreed.sack {
                true => Evidence::AnySackedAbove,
                false => Evidence::Everything { forget_sacks: false },
            };
            let srtt = self.rtt.srtt();
            return feedback.resend(now, evidence, &self.space, srtt, &mut self.board, &mut self.episode);
        }
        match self.detector.repair() {
            Repair::GoBack if is_reduced => {
                self.board.mark(Evidence::Everything { forget_sacks: false });
                self.episode.enter_loss();
            }
            Repair::GoBack => self.episode.retransmits_first = true,
            Repair::AtOnce => self.episode.enter_snack(),
            Repair::Fast => {
                let inflation = i64::from(DUP_THRESH) * self.extras.inflation(self.space.smss);
                self.episode.enter_fast(self.burst(), inflation);
                if inflation > 0 {
                    self.board.note_first_lost();
                }
            }
            Repair::Selective => {
                self.reduce_in_proportion(self.board.flight_size(), self.board.sacked_bytes(), &cx.config);
                let first = self.board.first().map_or(0, |first| self.board.len_of(first));
                self.episode.enter_selective(self.space.una + first);
            }
        }
        self.detector.on_recovery(&mut self.board, &mut cx.timers);
    }

    /// The hole was reported and already retransmitted: the window is inflated, not reduced.
    fn inflate_only(&mut self) {
        if self.detector.repair() != Repair::Fast {
            return;
        }
        let point = self.extras.sent_until(self.space.una).unwrap_or(self.space.nxt);
        self.episode = self.episode.begun(point, false);
        self.episode.enter_fast(self.burst(), i64::from(DUP_THRESH) * self.extras.inflation(self.space.smss));
        self.episode.retransmits_first = false;
        if let Some(notified) = self.extras.notified_mut() {
            notified.repairs_nothing = true;
        }
    }

    /// A partial ACK in such a recovery: it goes on if the next hole was reported too, else it is one of congestion from now on.
    fn check_next_hole(&mut self, now: Time, cx: &mut Context) -> bool {
        if !self.extras.repairs_nothing() {
            return false;
        }
        if self.is_repaired() {
            self.episode.retransmits_first = false;
            return true;
        }
        self.extras.end_inflation();
        self.episode.recovery_point = Some(self.space.nxt);
        self.episode.is_reduced = self.reduce(now, Cause::Loss, cx) != ReduceOutcome::LinkError;
        false
    }

    /// The window falls as data are delivered, not at once (RFC 9937), from `flight` on, of which `sacked` has arrived.
    fn reduce_in_proportion(&mut self, flight: u64, sacked: u64, config: &Config) {
        // RFC 9959 §3.5: a retreat has set the window already. After rapid start the window itself falls step by step.
        let is_at_once =
            config.reduction == Reduction::AtOnce || self.extras.is_window_held() || self.extras.is_converging();
        if is_at_once || !self.episode.is_reduced || self.cc.is_model_based() {
            return;
        }
        let smss = self.space.smss();
        let arrived = [sacked, self.board.delivery().bytes];
        let mut prr = Prr::new(config.reduction, self.cc.ssthresh(), flight, arrived, smss);
        prr.allow(self.board.pipe() + smss);
        self.episode.prr = Some(Box::new(prr));
    }

    /// The cumulative ACK advanced by `newly` bytes: whether this ACK was part of loss recovery (so that the window does not
    /// grow) and whether the retransmission timer restarts.
    #[inline]
    pub(super) fn advance(&mut self, now: Time, newly: u64, cx: &mut Context) -> Advance {
        self.episode.dupacks = 0;
        self.episode.limited_bytes = 0;
        if self.episode.phase == Phase::Open {
            return Advance::OPEN;
        }
        self.advance_episode(now, newly, cx)
    }

    #[inline(never)]
    fn advance_episode(&mut self, now: Time, newly: u64, cx: &mut Context) -> Advance {
        let (newreno, inflation) = (self.detector.newreno(), self.extras.inflation(self.space.smss));
        if let (Some(point), true) = (self.extras.sent_until(self.space.una), self.extras.repairs_nothing()) {
            self.episode.recovery_point = Some(point);
        }
        match self.episode.on_advance(now, self.space.una, newly, newreno, inflation) {
            Step::StaysInLoss => Advance::OPEN,
            Step::LeavesLoss => {
                self.on_exit(now, cx);
                Advance::OPEN
            }
            Step::Partial { restarts_timer, shrinks_by } => {
                self.notify_recovery_ack(now, true, cx);
                // The timer may run on where one hole is repaired per round trip; here none has to be.
                let is_repaired = self.extras.notified().is_some() && self.check_next_hole(now, cx);
                if shrinks_by > 0 && !is_repaired {
                    self.cc.limit_cwnd(self.cc.cwnd().saturating_sub(shrinks_by));
                }
                Advance { in_recovery: true, restarts_timer: restarts_timer || is_repaired }
            }
            Step::Full { deflates } => {
                if deflates && !self.cc.is_model_based() {
                    let smss = self.space.smss();
                    self.cc.limit_cwnd(self.board.flight_size().max(smss) + smss);
                }
                self.episode.leave();
                self.extras.end_inflation();
                self.on_exit(now, cx);
                cx.report(Event::RecoveryExit(self.space.una));
                Advance { in_recovery: !cx.config.grow_on_exit, ..Advance::OPEN }
            }
        }
    }

    fn on_exit(&mut self, now: Time, cx: &Context) {
        if let Some(undo) = &mut self.undo {
            undo.on_exit(self.space.nxt);
        }
        let path = self.path(now, cx);
        self.cc.on_recovery_exit(&path);
    }

    pub(super) fn reduce(&mut self, now: Time, cause: Cause, cx: &mut Context) -> ReduceOutcome {
        if let Some(feedback) = self.extras.feedback_mut() {
            if feedback.takes_for_error(now, cause, &self.space, &mut self.rtt, &mut self.cc, cx) {
                return ReduceOutcome::LinkError;
            }
        }
        let base = self.path(now, cx).ssthresh_base.min(self.cc.cwnd());
        let before = (self.cc.cwnd() < self.cc.ssthresh()).then_some(base);
        let outcome = self.reduce_for_congestion(now, cause, cx);
        if self.extras.is_some() {
            self.end_starts(now, before, cause, outcome, cx);
        }
        outcome
    }

    pub(super) fn reduce_for_congestion(&mut self, now: Time, cause: Cause, cx: &mut Context) -> ReduceOutcome {
        let path = self.path(now, cx);
        let touched = Touched {
            cc: &mut self.cc,
            usage: &mut self.usage,
            undo: self.undo.as_deref_mut(),
            episode: &self.episode,
            board: &self.board,
            rtt: &self.rtt,
        };
        self.reducer.reduce(cause, &path, touched, cx)
    }

    /// Whether there is an episode that ACKs may show to be spurious.
    #[inline]
    pub(super) fn can_undo(&self) -> bool {
        self.undo.as_ref().is_some_and(|undo| undo.has_saved())
    }

    /// Whether an ACK shows that the last episode was spurious. Then the episode is undone.
    #[inline(never)]
    pub(super) fn undo_if_spurious(&mut self, now: Time, ack: &Ack<'_>, facts: &AckFacts, cx: &mut Context) -> bool {
        let Some(undo) = &mut self.undo else { return false };
        let has_sack = cx.agreed.sack;
        let detection = cx.config.spurious_detection;
        let judgement = undo.judge(ack, facts, &self.space, &self.board, detection, has_sack);
        if judgement.is_late {
            cx.counters.reorderings += u32::from(self.detector.on_late());
        }
        if judgement.is_real {
            self.cc.limit_cwnd(3 * self.space.smss());
            self.episode.retransmits_first = true;
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
        let Some(undo) = &mut self.undo else { return };
        let Some(saved) = undo.take() else { return };
        cx.counters.undos += 1;
        cx.counters.timeout_undos += u32::from(saved.is_by_timeout());
        cx.report(Event::Undo(self.space.una));
        if response != SpuriousResponse::Conservative {
            self.reducer.withdraw_cwr();
        }
        let room = newly_acked.min(cx.config.initial_window.bytes(self.space.smss));
        self.episode = saved.restore(response, room, &mut self.board, &mut self.cc, undo, &cx.config);
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
        let phase = self.episode.phase;
        let is_over = phase == Phase::Open || !self.undo.as_ref().is_some_and(|undo| undo.is_current());
        let is_held = self.board.has_retransmitted() || phase != Phase::Loss && self.board.has_lost();
        if is_over || is_held || self.board.has_repaired() {
            return;
        }
        let (inflation, sent_until) = (self.episode.inflation, self.episode.recovery_point);
        self.undo_episode(now, SpuriousResponse::Restore, 0, cx);
        if phase == Phase::Fast {
            // As if the report had been in time.
            self.inflate_only();
            (self.episode.inflation, self.episode.recovery_point) = (inflation, sent_until);
        }
    }

    /// Returns the reports of the ACK that follows; none after a timeout, if the configuration ignores them then.
    #[inline]
    pub(crate) fn read_reports(&mut self, sacked: SackRanges, config: &Config) -> Option<SackRanges> {
        let ignores = matches!(config.recovery, Recovery::Sack { on_rto: SackOnRto::Ignore, .. });
        if ignores && self.episode.phase == Phase::Loss {
            self.detector.ignore(sacked.as_slice());
            return None;
        }
        Some(sacked)
    }

    /// Whether F-RTO holds back what the timeout declared lost.
    #[inline]
    pub(super) fn is_held_by_frto(&self) -> bool {
        self.undo.as_ref().is_some_and(|undo| undo.holds_back())
    }

    /// New segments that fast recovery may send in answer to one ACK.
    pub(super) fn burst(&self) -> u32 {
        self.detector.newreno().map_or(u32::MAX, |options| options.burst())
    }

    /// The retransmission timer expired with data outstanding. False: the connection is to be given up.
    pub(super) fn on_data_timeout(&mut self, now: Time, cx: &mut Context) -> bool {
        cx.counters.timeouts += 1;
        cx.report(Event::Timeout(self.space.una));
        if self.must_give_up(now, cx.config.give_up) {
            return false;
        }
        if let Some(probes) = self.extras.probes_mut() {
            probes.on_loss();
        }
        let outcome = self.reduce(now, Cause::Timeout, cx);
        // RFC 2018 §8: if the receiver dropped what it had reported, so do we.
        let reneged = self.board.first().is_some_and(|first| self.board.is_sacked(first));
        let keeps =
            !matches!(cx.config.recovery, Recovery::Sack { on_rto: SackOnRto::Discard | SackOnRto::Ignore, .. });
        let forgets = !keeps || reneged;
        let (view, timers) = view(now, &self.space, &self.episode, &self.rtt, cx);
        self.detector.on_timeout(&view, forgets, &mut self.board, timers);
        let duplicates = cx.config.rto.duplicates;
        self.episode = self.episode.timed_out(self.space.una, self.space.nxt, self.rtt.armed_at(), duplicates);
        self.board.begin_episode();
        self.board.note_reduction(now);
        cx.counters.lost_retransmissions = self.board.lost_retransmissions();
        self.extras.end_inflation();
        self.rtt.stop_timing();
        let is_held = self.extras.feedback().is_some_and(|feedback| feedback.is_error);
        if !is_held && outcome != ReduceOutcome::LinkError {
            self.rtt.back_off();
        }
        cx.timers.stop(Timer::Retransmit);
        true
    }

    fn must_give_up(&self, now: Time, give_up: GiveUp) -> bool {
        match give_up {
            GiveUp::Never => false,
            GiveUp::AfterRetransmissions(most) => self.board.first_retransmits() >= most,
            GiveUp::AfterTime(longest) => now.saturating_since(self.first_retransmit) >= longest,
        }
    }

    /// Returns an instant before which [`must_give_up`](Self::must_give_up) stays false. Nothing is due before `now`.
    pub(crate) fn gives_up_from(&self, now: Time, cx: &Context) -> Time {
        match cx.config.give_up {
            GiveUp::Never => Time::NEVER,
            GiveUp::AfterTime(longest) => self.first_retransmit.min(now) + longest,
            // Feedback of the network may set any timeout.
            GiveUp::AfterRetransmissions(_) if self.extras.feedback().is_some() => now,
            GiveUp::AfterRetransmissions(_) => cx.timers.get(Timer::Retransmit).min(self.rtt.least_expiry(now)),
        }
    }
}

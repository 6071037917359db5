//! Startup fills the pipe. Drain empties the queue that Startup built.

use super::{Ack, Bbr3, State, DRAIN_ROUNDS};

impl Bbr3 {
    pub(super) fn test_pipe(&mut self, ack: &Ack) {
        if !self.pipe.is_now && ack.is_round_start && !ack.is_app_limited() {
            self.pipe.on_round(ack.rate());
        }
    }

    pub(super) fn end_startup(&mut self, ack: &Ack) {
        let has_events = self.loss.events >= self.version.startup_losses;
        let without_sack = std::mem::take(&mut self.loss.without_sack);
        if ack.is_loss_round_start {
            self.loss.events = 0;
            self.loss.last_end = 0;
        }
        if self.state != State::Startup {
            return;
        }
        let is_high = ack.sample.is_some_and(|sample| {
            // Recovery has lasted a round trip.
            let is_late = self.recovery.from.is_some_and(|from| sample.prior_delivered >= from);
            ack.is_loss_round_start && is_late && has_events && self.is_too_high(sample.lost, sample.flight)
        });
        if is_high || without_sack && self.recovery.from.is_some() {
            self.recovery.undo_state = Some(State::Startup);
            self.pipe.has_been = true;
            self.bounds.long = self.bdp(1.0).max(self.loss.delivered);
        }
        if self.pipe.has_been {
            self.enter(State::Drain, ack.now);
            self.entered.drain_round = self.rounds.count;
        }
    }

    pub(super) fn end_drain(&mut self, ack: &Ack) {
        let is_late = self.version.has_drain_limit && self.rounds.count > self.entered.drain_round + DRAIN_ROUNDS;
        if self.state == State::Drain && (is_late || ack.in_flight <= self.quantised(self.bdp(1.0))) {
            self.enter_down(ack.now);
        }
    }
}

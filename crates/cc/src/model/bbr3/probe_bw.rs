//! ProbeBW, the cycle of Down, Cruise, Refill and Up.

use super::{Ack, AckPhase, Bbr3, State, COEXISTENCE_ROUNDS, PROBE_WAIT_S, UP_PACING, UP_ROUNDS_MAX};
use crate::Cwnd;
use bentpipe_units::{Duration, Time};

impl Bbr3 {
    pub(super) fn turn_cycle(&mut self, ack: &Ack) {
        if self.probing.ack_phase == AckPhase::Starting && ack.is_round_start {
            self.probing.ack_phase = AckPhase::Feedback;
        }
        if self.probing.ack_phase == AckPhase::Stopping && ack.is_round_start {
            self.probing.is_sample = false;
            self.probing.ack_phase = AckPhase::Init;
            if self.is_probing_bw() {
                if !ack.is_app_limited() && !self.reallocations.holds() {
                    self.cycle += 1;
                    self.max_bw.advance(self.cycle);
                }
                if self.probing.was_precaution && !self.probing.was_too_high {
                    return self.enter_refill_at(ack.now);
                }
            }
        }
        if let Some(sample) = ack.sample.filter(|sample| !self.is_too_high(sample.lost, sample.flight)) {
            if self.bounds.long != u64::MAX {
                self.bounds.long = self.bounds.long.max(sample.flight);
                if self.state == State::Up {
                    self.raise_bound(ack);
                }
            }
        }
        match self.state {
            State::Down if self.is_time_to_probe(ack.now) => self.enter_refill_at(ack.now),
            State::Down => {
                let of_max = self.product_or_initial(self.max_bw.get());
                if ack.in_flight <= self.with_headroom() && ack.in_flight <= self.quantised(of_max as u64) {
                    self.enter(State::Cruise, ack.now);
                }
            }
            State::Cruise if self.is_time_to_probe(ack.now) => self.enter_refill_at(ack.now),
            State::Refill if ack.is_round_start => self.enter_up(ack),
            State::Up => self.end_up(ack),
            _ => {}
        }
    }

    fn end_up(&mut self, ack: &Ack) {
        let is_done = if self.probing.was_too_high && ack.in_flight >= self.bounds.long {
            // The last probe lost too much above this bound. (`stopped_risky_probe` in released code, v2 and v3.)
            self.probing.was_precaution = true;
            true
        } else if self.version.up_ends_with_queue {
            let target = UP_PACING * self.product_or_initial(self.max_bw.get());
            let has_lasted = self.rtt.min.is_some_and(|min_rtt| ack.now.saturating_since(self.entered.at) > min_rtt);
            has_lasted && ack.in_flight > self.quantised(target as u64)
        } else if ack.is_cwnd_limited && self.cwnd >= self.bounds.long {
            self.pipe.restart(ack.rate());
            false
        } else {
            self.pipe.is_now
        };
        if !is_done {
            return;
        }
        self.probing.was_too_high = false;
        self.enter_down(ack.now);
    }

    /// Raises the bound while Up is at it: 1, 2, 4 ... segments more per round trip.
    fn raise_bound(&mut self, ack: &Ack) {
        if !ack.is_cwnd_limited || self.cwnd < self.bounds.long {
            return;
        }
        self.slope.acked += ack.newly;
        let segments = self.slope.acked / self.slope.per_segment;
        self.slope.acked -= segments * self.slope.per_segment;
        self.bounds.long = (self.bounds.long + segments.saturating_mul(self.smss)).min(Cwnd::MAX);
        if ack.is_round_start {
            self.raise_slope();
        }
    }

    pub(super) fn raise_slope(&mut self) {
        let growth = 1_u64 << self.slope.rounds;
        self.slope.rounds = (self.slope.rounds + 1).min(UP_ROUNDS_MAX);
        self.slope.per_segment = (self.cwnd / growth).max(self.smss);
    }

    pub(super) fn enter_down(&mut self, now: Time) {
        self.enter(State::Down, now);
        self.loss.has_loss = false;
        (self.loss.bw, self.loss.delivered) = (0.0, 0);
        self.slope.per_segment = u64::MAX;
        self.probing.rounds = self.probing.dice.below(2);
        self.probing.wait = Duration::from_secs_f64(PROBE_WAIT_S + self.probing.dice.uniform());
        self.probing.began_at = now;
        self.probing.ack_phase = AckPhase::Stopping;
        self.rounds.start(self.delivered);
    }

    fn enter_refill_at(&mut self, now: Time) {
        self.entered.at = now;
        self.enter_refill();
    }

    pub(super) fn enter_refill(&mut self) {
        self.state = State::Refill;
        self.forget_short();
        (self.slope.rounds, self.slope.acked) = (0, 0);
        self.probing.was_precaution = false;
        self.probing.ack_phase = AckPhase::Refilling;
        self.rounds.start(self.delivered);
    }

    fn enter_up(&mut self, ack: &Ack) {
        self.probing.is_sample = true;
        self.enter(State::Up, ack.now);
        self.probing.ack_phase = AckPhase::Starting;
        self.rounds.start(self.delivered);
        self.pipe.restart(ack.rate());
        self.raise_slope();
    }

    pub(super) fn is_time_to_probe(&self, now: Time) -> bool {
        let rounds = (self.probe_target() / self.smss).min(COEXISTENCE_ROUNDS);
        now > self.probing.began_at + self.probing.wait || self.probing.rounds >= rounds
    }

    pub(super) fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }
}

//! The steps of the model, in the order in which an ACK takes them.

use super::{
    product, Ack, AckPhase, Bbr3, Cwnd, Duration, LostSegment, State, Time, COEXISTENCE_ROUNDS, DRAIN_ROUNDS,
    EXCESS_ROUNDS, MIN_PIPE, MIN_RTT_WINDOW, PROBE_RTT, PROBE_RTT_INTERVAL, PROBE_RTT_WINDOW, PROBE_WAIT_S, UNBOUNDED,
    UP_PACING, UP_ROUNDS_MAX,
};

impl Bbr3 {
    pub(super) fn update_model(&mut self, ack: &mut Ack) {
        self.update_latest(ack);
        self.update_bounds(ack);
        let tick = if self.version.has_coarse_excess { self.rounds.count / 5 } else { self.rounds.count };
        self.aggregation.on_ack(ack.now, tick, self.bw, ack.newly, self.cwnd);
        self.test_pipe(ack);
        self.end_startup(ack);
        self.end_drain(ack);
        if self.pipe.has_been {
            self.turn_cycle(ack);
        }
        self.update_min_rtt(ack);
        if let (true, Some(sample)) = (ack.is_loss_round_start, ack.sample) {
            (self.loss.bw, self.loss.delivered) = (sample.rate, sample.delivered);
        }
        self.bw = self.max_bw.get().min(self.bounds.bw_short);
    }

    fn update_latest(&mut self, ack: &mut Ack) {
        let Some(sample) = ack.sample else { return };
        self.loss.bw = self.loss.bw.max(sample.rate);
        self.loss.delivered = self.loss.delivered.max(sample.delivered);
        if sample.prior_delivered >= self.loss.end {
            self.loss.end = self.delivered;
            ack.is_loss_round_start = true;
        }
    }

    fn update_bounds(&mut self, ack: &mut Ack) {
        ack.is_round_start = self.rounds.on_ack(ack.sample.as_ref(), self.delivered);
        self.rounds_since_probe += u64::from(ack.is_round_start);
        if let Some(sample) = ack.sample.filter(|sample| sample.is_fit_for(self.max_bw.get())) {
            self.max_bw.update(self.cycle, sample.rate);
        }
        if !ack.is_loss_round_start {
            return;
        }
        let is_looking_for_more = matches!(self.state, State::Startup | State::Refill | State::Up);
        if std::mem::take(&mut self.loss.has_loss) && !is_looking_for_more {
            let beta = self.version.settings.beta;
            let bw = if self.bounds.bw_short.is_finite() { self.bounds.bw_short } else { self.max_bw.get() };
            self.bounds.bw_short = self.loss.bw.max(beta * bw);
            let short = if self.bounds.short == u64::MAX { self.cwnd } else { self.bounds.short };
            self.bounds.short = self.loss.delivered.max((beta * short as f64) as u64);
        }
    }

    fn test_pipe(&mut self, ack: &Ack) {
        if !self.pipe.is_now && ack.is_round_start && !ack.is_app_limited() {
            self.pipe.on_round(ack.rate());
        }
    }

    fn end_startup(&mut self, ack: &Ack) {
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
            let is_late = self.recovery_from.is_some_and(|from| sample.prior_delivered >= from);
            ack.is_loss_round_start && is_late && has_events && self.is_too_high(sample.lost, sample.flight)
        });
        if is_high || without_sack && self.recovery_from.is_some() {
            self.undo_state = Some(State::Startup);
            self.pipe.has_been = true;
            self.bounds.long = self.bdp(1.0).max(self.loss.delivered);
        }
        if self.pipe.has_been {
            self.enter(State::Drain, ack.now);
            self.drain_round = self.rounds.count;
        }
    }

    fn end_drain(&mut self, ack: &Ack) {
        let is_late = self.version.has_drain_limit && self.rounds.count > self.drain_round + DRAIN_ROUNDS;
        if self.state == State::Drain && (is_late || ack.in_flight <= self.quantised(self.bdp(1.0))) {
            self.enter_down(ack.now);
        }
    }

    fn turn_cycle(&mut self, ack: &Ack) {
        if self.ack_phase == AckPhase::Starting && ack.is_round_start {
            self.ack_phase = AckPhase::Feedback;
        }
        if self.ack_phase == AckPhase::Stopping && ack.is_round_start {
            self.is_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.is_probing_bw() {
                if !ack.is_app_limited() && !self.reconfigurations.holds() {
                    self.cycle += 1;
                    self.max_bw.advance(self.cycle);
                }
                if self.was_precaution && !self.was_too_high {
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
        let is_done = if self.was_too_high && ack.in_flight >= self.bounds.long {
            // The last probe lost too much from here on. (`stopped_risky_probe` in released code, v2 and v3.)
            self.was_precaution = true;
            true
        } else if self.version.up_ends_with_queue {
            let target = UP_PACING * self.product_or_initial(self.max_bw.get());
            let has_lasted = self.min_rtt.is_some_and(|min_rtt| ack.now.saturating_since(self.state_at) > min_rtt);
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
        self.was_too_high = false;
        self.enter_down(ack.now);
    }

    /// Up at its long-term bound: 1, 2, 4 ... segments more in a round trip.
    fn raise_bound(&mut self, ack: &Ack) {
        if !ack.is_cwnd_limited || self.cwnd < self.bounds.long {
            return;
        }
        self.up_acked += ack.newly;
        let segments = self.up_acked / self.up_per_segment;
        self.up_acked -= segments * self.up_per_segment;
        self.bounds.long = (self.bounds.long + segments.saturating_mul(self.smss)).min(Cwnd::MAX);
        if ack.is_round_start {
            self.raise_slope();
        }
    }

    pub(super) fn raise_slope(&mut self) {
        let growth = 1_u64 << self.up_rounds;
        self.up_rounds = (self.up_rounds + 1).min(UP_ROUNDS_MAX);
        self.up_per_segment = (self.cwnd / growth).max(self.smss);
    }

    fn enter(&mut self, state: State, now: Time) {
        self.state = state;
        self.state_at = now;
    }

    pub(super) fn enter_down(&mut self, now: Time) {
        self.enter(State::Down, now);
        self.loss.has_loss = false;
        (self.loss.bw, self.loss.delivered) = (0.0, 0);
        self.up_per_segment = u64::MAX;
        self.rounds_since_probe = self.dice.below(self.draws, 2);
        self.probe_wait = Duration::from_secs_f64(PROBE_WAIT_S + self.dice.uniform(self.draws + 1));
        self.draws += 2;
        self.cycle_at = now;
        self.ack_phase = AckPhase::Stopping;
        self.rounds.start(self.delivered);
    }

    fn enter_refill_at(&mut self, now: Time) {
        self.state_at = now;
        self.enter_refill();
    }

    pub(super) fn enter_refill(&mut self) {
        self.state = State::Refill;
        self.forget_short();
        (self.up_rounds, self.up_acked) = (0, 0);
        self.was_precaution = false;
        self.ack_phase = AckPhase::Refilling;
        self.rounds.start(self.delivered);
    }

    fn enter_up(&mut self, ack: &Ack) {
        self.is_probe_sample = true;
        self.enter(State::Up, ack.now);
        self.ack_phase = AckPhase::Starting;
        self.rounds.start(self.delivered);
        self.pipe.restart(ack.rate());
        self.raise_slope();
    }

    fn forget_short(&mut self) {
        (self.bounds.bw_short, self.bounds.short) = (UNBOUNDED.bw_short, UNBOUNDED.short);
    }

    pub(super) fn is_time_to_probe(&self, now: Time) -> bool {
        let rounds = (self.probe_target() / self.smss).min(COEXISTENCE_ROUNDS);
        now > self.cycle_at + self.probe_wait || self.rounds_since_probe >= rounds
    }

    fn update_min_rtt(&mut self, ack: &Ack) {
        let now = ack.now;
        let has_expired = now > self.probe_min_at + PROBE_RTT_INTERVAL;
        if let Some(rtt) = ack.sample.and_then(|sample| sample.rtt) {
            if self.reconfigurations.is_first_rtt(now, rtt) {
                self.min_rtt = None;
                self.probe_min = None;
            }
            if has_expired || self.probe_min.is_none_or(|least| rtt < least) {
                self.probe_min = Some(rtt);
                self.probe_min_at = now;
            }
        }
        if let Some(least) = self.probe_min {
            if self.min_rtt.is_none_or(|min_rtt| least < min_rtt) || now > self.min_rtt_at + MIN_RTT_WINDOW {
                self.min_rtt = Some(least);
                self.min_rtt_at = self.probe_min_at;
            }
        }
        if has_expired && self.state != State::ProbeRtt && !self.is_restarting {
            self.save_cwnd();
            self.enter(State::ProbeRtt, now);
            self.probe_rtt_until = None;
            self.ack_phase = AckPhase::Stopping;
            self.rounds.start(self.delivered);
        }
        if self.state == State::ProbeRtt {
            match self.probe_rtt_until {
                None if ack.in_flight <= self.probe_rtt_window() => {
                    self.probe_rtt_until = Some(now + PROBE_RTT);
                    self.has_probed_a_round = false;
                    self.rounds.start(self.delivered);
                }
                None => {}
                Some(_) => {
                    self.has_probed_a_round |= ack.is_round_start;
                    if self.has_probed_a_round {
                        self.end_probe_rtt(now);
                    }
                }
            }
        }
        self.is_restarting &= ack.sample.is_none();
    }

    pub(super) fn end_probe_rtt(&mut self, now: Time) {
        if self.probe_rtt_until.is_none_or(|until| now <= until) {
            return;
        }
        self.probe_min_at = now;
        self.restore_cwnd();
        self.forget_short();
        if self.pipe.has_been {
            self.enter_down(now);
            self.enter(State::Cruise, now);
        } else {
            self.enter(State::Startup, now);
        }
    }

    pub(super) fn update_cwnd(&mut self, ack: &Ack) {
        let ticks = match (self.version.has_coarse_excess, self.pipe.has_been) {
            (true, _) => 2,
            (false, true) => EXCESS_ROUNDS,
            (false, false) => 1,
        };
        let excess = self.aggregation.excess(ticks) as u64;
        let most = self.quantised(self.bdp(self.window_gain()).saturating_add(excess));
        if self.pipe.has_been {
            self.cwnd = (self.cwnd + ack.newly).min(most);
        } else if self.cwnd < most || self.delivered < self.initial_window {
            self.cwnd += ack.newly;
        }
        self.cwnd = self.cwnd.max(self.min_pipe());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_window());
        }
        let bound = match self.state {
            State::Startup | State::Drain => u64::MAX,
            State::Down | State::Refill | State::Up => self.bounds.long,
            State::Cruise | State::ProbeRtt => self.with_headroom(),
        };
        self.cwnd = self.cwnd.min(bound.min(self.bounds.short).max(self.min_pipe())).min(Cwnd::MAX);
    }

    pub(super) fn note_loss(&mut self, lost: &LostSegment, now: Time) {
        if !self.loss.has_loss {
            self.loss.end = lost.delivered;
            self.undo_state = None;
        }
        self.loss.has_loss = true;
        self.loss.without_sack |= !lost.has_sack;
        let is_new =
            if self.version.counts_ranges { lost.start != self.loss.last_end } else { self.loss.last_at != Some(now) };
        self.loss.events += u32::from(is_new);
        (self.loss.last_end, self.loss.last_at) = (lost.start + lost.len, Some(now));
        let is_too_high = !lost.has_sack || self.is_too_high(lost.lost, lost.flight_before);
        if !self.is_probe_sample || !is_too_high {
            return;
        }
        // Once for each probe.
        self.was_too_high = true;
        self.is_probe_sample = false;
        if !lost.is_app_limited {
            let target = self.version.settings.beta * self.probe_target() as f64;
            self.bounds.long = self.flight_at_threshold(lost).max(target as u64).min(Cwnd::MAX);
        }
        if self.state == State::Up {
            self.undo_state = Some(State::Up);
            self.enter_down(now);
        }
    }

    /// What was in flight when losses crossed the threshold, in the middle of the segment.
    pub(super) fn flight_at_threshold(&self, lost: &LostSegment) -> u64 {
        let threshold = self.version.settings.loss_threshold;
        let before = lost.flight_before.saturating_sub(lost.len) as f64;
        let lost_before = lost.lost.saturating_sub(lost.len) as f64;
        let more = (threshold * before - lost_before) / (1.0 - threshold);
        (before + more).max(0.0) as u64
    }

    fn is_too_high(&self, lost: u64, flight: u64) -> bool {
        lost as f64 > self.version.settings.loss_threshold * flight as f64
    }

    pub(super) fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    pub(super) fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.version.startup_pacing,
            State::Drain => self.version.drain_pacing,
            State::Down => self.version.down_pacing,
            State::Up => UP_PACING,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::Drain => self.version.startup_window,
            State::Down | State::Cruise | State::Refill => 2.0,
            State::Up => self.version.up_window,
            State::ProbeRtt => PROBE_RTT_WINDOW,
        }
    }

    pub(super) fn save_cwnd(&mut self) {
        self.prior_cwnd = if self.recovery_from.is_some() || self.state == State::ProbeRtt {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    pub(super) fn min_pipe(&self) -> u64 {
        MIN_PIPE * self.smss
    }

    /// `gain` times bandwidth and round-trip time, bytes; with the initial window as long as there is none.
    pub(super) fn bdp(&self, gain: f64) -> u64 {
        // Casts saturate.
        (gain * self.product_or_initial(self.bw)) as u64
    }

    fn product_or_initial(&self, bw: f64) -> f64 {
        self.min_rtt.map_or(self.initial_window as f64, |min_rtt| product(bw, min_rtt))
    }

    /// With room for quanta and, in Up, for two segments more.
    fn quantised(&self, bytes: u64) -> u64 {
        let quanta = 3 * self.pace.quantum(self.version.settings.quantum);
        let up = if self.state == State::Up { 2 * self.smss } else { 0 };
        bytes.max(quanta).max(self.min_pipe()).saturating_add(up)
    }

    /// The most that is in flight between probes.
    pub(super) fn with_headroom(&self) -> u64 {
        let long = self.bounds.long;
        if long == u64::MAX {
            return long;
        }
        let free = ((self.version.settings.headroom * long as f64) as u64).max(self.smss);
        long.saturating_sub(free).max(self.min_pipe())
    }

    fn probe_rtt_window(&self) -> u64 {
        self.bdp(PROBE_RTT_WINDOW).max(self.min_pipe())
    }

    fn probe_target(&self) -> u64 {
        self.bdp(1.0).min(self.cwnd)
    }
}

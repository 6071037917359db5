//! Updates the model with each ACK, in this order, and derives bounds and window from it.

use super::{Ack, Bbr3, State, EXCESS_ROUNDS, MIN_PIPE, PROBE_RTT_WINDOW, UNBOUNDED, UP_PACING};
use crate::model::common::{grown, product};
use crate::{Cwnd, LostSegment};
use bentpipe_units::Time;

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
        self.probing.rounds += u64::from(ack.is_round_start);
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

    pub(super) fn enter(&mut self, state: State, now: Time) {
        self.state = state;
        self.entered.at = now;
    }

    pub(super) fn forget_short(&mut self) {
        (self.bounds.bw_short, self.bounds.short) = (UNBOUNDED.bw_short, UNBOUNDED.short);
    }

    pub(super) fn update_cwnd(&mut self, ack: &Ack) {
        let most = self.quantised(self.bdp(self.window_gain()).saturating_add(self.excess()));
        let is_new = self.delivered < self.initial_window;
        self.cwnd = grown(self.cwnd, ack.newly, most, self.pipe.has_been, is_new).max(self.min_pipe());
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

    /// Returns the room for ACKs that arrive in bursts, bytes.
    pub(super) fn excess(&self) -> u64 {
        let ticks = match (self.version.has_coarse_excess, self.pipe.has_been) {
            (true, _) => 2,
            (false, true) => EXCESS_ROUNDS,
            (false, false) => 1,
        };
        self.aggregation.excess(ticks) as u64
    }

    pub(super) fn note_loss(&mut self, lost: &LostSegment, now: Time) {
        if !self.loss.has_loss {
            self.loss.end = lost.delivered;
        }
        self.loss.has_loss = true;
        self.loss.without_sack |= !lost.has_sack;
        let is_new =
            if self.version.counts_ranges { lost.start != self.loss.last_end } else { self.loss.last_at != Some(now) };
        self.loss.events += u32::from(is_new);
        (self.loss.last_end, self.loss.last_at) = (lost.start + lost.len, Some(now));
        let is_too_high = !lost.has_sack || self.is_too_high(lost.lost, lost.flight_before);
        if !self.probing.is_sample || !is_too_high {
            return;
        }
        // Once for each probe.
        self.probing.was_too_high = true;
        self.probing.is_sample = false;
        if !lost.is_app_limited {
            let target = self.version.settings.beta * self.probe_target() as f64;
            self.bounds.long = self.flight_at_threshold(lost).max(target as u64).min(Cwnd::MAX);
        }
        if self.state == State::Up {
            self.recovery.undo_state = Some(State::Up);
            self.enter_down(now);
        }
    }

    /// Returns the bytes in flight when losses crossed the threshold, in the middle of the segment.
    pub(super) fn flight_at_threshold(&self, lost: &LostSegment) -> u64 {
        let threshold = self.version.settings.loss_threshold;
        let before = lost.flight_before.saturating_sub(lost.len) as f64;
        let lost_before = lost.lost.saturating_sub(lost.len) as f64;
        let more = (threshold * before - lost_before) / (1.0 - threshold);
        (before + more).max(0.0) as u64
    }

    pub(super) fn is_too_high(&self, lost: u64, flight: u64) -> bool {
        lost as f64 > self.version.settings.loss_threshold * flight as f64
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

    pub(super) fn window_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::Drain => self.version.startup_window,
            State::Down | State::Cruise | State::Refill => 2.0,
            State::Up => self.version.up_window,
            State::ProbeRtt => PROBE_RTT_WINDOW,
        }
    }

    pub(super) fn save_cwnd(&mut self) {
        self.prior_cwnd = if self.recovery.from.is_some() || self.state == State::ProbeRtt {
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

    /// Returns `gain` times bandwidth times round-trip time, bytes; the initial window until they are known.
    pub(super) fn bdp(&self, gain: f64) -> u64 {
        // Casts saturate.
        (gain * self.product_or_initial(self.bw)) as u64
    }

    pub(super) fn product_or_initial(&self, bw: f64) -> f64 {
        self.rtt.min.map_or(self.initial_window as f64, |min_rtt| product(bw, min_rtt))
    }

    /// Adds room for quanta and, in Up, for two more segments.
    pub(super) fn quantised(&self, bytes: u64) -> u64 {
        let quanta = 3 * self.pace.quantum(self.version.settings.quantum);
        let up = if self.state == State::Up { 2 * self.smss } else { 0 };
        bytes.max(quanta).max(self.min_pipe()).saturating_add(up)
    }

    /// Returns the limit of the data in flight between probes.
    pub(super) fn with_headroom(&self) -> u64 {
        let long = self.bounds.long;
        if long == u64::MAX {
            return long;
        }
        let free = ((self.version.settings.headroom * long as f64) as u64).max(self.smss);
        long.saturating_sub(free).max(self.min_pipe())
    }

    pub(super) fn probe_target(&self) -> u64 {
        self.bdp(1.0).min(self.cwnd)
    }
}

//! ProbeRTT and the round-trip time that it measures.

use super::{Ack, AckPhase, Bbr3, State, MIN_RTT_WINDOW, PROBE_RTT, PROBE_RTT_INTERVAL, PROBE_RTT_WINDOW};
use bentpipe_units::Time;

impl Bbr3 {
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let now = ack.now;
        let has_expired = now > self.rtt.probe_min_at + PROBE_RTT_INTERVAL;
        if let Some(rtt) = ack.sample.and_then(|sample| sample.rtt) {
            if self.reallocations.is_first_rtt(now, rtt) {
                self.rtt.min = None;
                self.rtt.probe_min = None;
            }
            if has_expired || self.rtt.probe_min.is_none_or(|least| rtt < least) {
                self.rtt.probe_min = Some(rtt);
                self.rtt.probe_min_at = now;
            }
        }
        if let Some(least) = self.rtt.probe_min {
            if self.rtt.min.is_none_or(|min_rtt| least < min_rtt) || now > self.rtt.min_at + MIN_RTT_WINDOW {
                self.rtt.min = Some(least);
                self.rtt.min_at = self.rtt.probe_min_at;
            }
        }
        if has_expired && self.state != State::ProbeRtt && !self.probe_rtt.is_restarting {
            self.save_cwnd();
            self.enter(State::ProbeRtt, now);
            self.probe_rtt.until = None;
            self.probing.ack_phase = AckPhase::Stopping;
            self.rounds.start(self.delivered);
        }
        if self.state == State::ProbeRtt {
            match self.probe_rtt.until {
                None if ack.in_flight <= self.probe_rtt_window() => {
                    self.probe_rtt.until = Some(now + PROBE_RTT);
                    self.probe_rtt.has_lasted_a_round = false;
                    self.rounds.start(self.delivered);
                }
                None => {}
                Some(_) => {
                    self.probe_rtt.has_lasted_a_round |= ack.is_round_start;
                    if self.probe_rtt.has_lasted_a_round {
                        self.end_probe_rtt(now);
                    }
                }
            }
        }
        self.probe_rtt.is_restarting &= ack.sample.is_none();
    }

    pub(super) fn end_probe_rtt(&mut self, now: Time) {
        if self.probe_rtt.until.is_none_or(|until| now <= until) {
            return;
        }
        self.rtt.probe_min_at = now;
        self.restore_cwnd();
        self.forget_short();
        if self.pipe.has_been {
            self.enter_down(now);
            self.enter(State::Cruise, now);
        } else {
            self.enter(State::Startup, now);
        }
    }

    pub(super) fn probe_rtt_window(&self) -> u64 {
        self.bdp(PROBE_RTT_WINDOW).max(self.min_pipe())
    }
}

//! What becomes of a congestion window that is not used: nothing grows it, an idle time or a loss falls back to what
//! was used (RFC 5681 §4.1, RFC 2861, RFC 7661). The default does with the rounds that every connection keeps; the
//! two RFCs that measure more do it here.

use super::recovery::Phase;
use super::{Connection, Event};
use crate::cc::CongestionControl;
use crate::config::CwndValidation;
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// RFC 7661 §5: the nonvalidated period, after which the window shrinks.
const NVP: Duration = Duration::from_secs(300);

/// Whether the window was the limit, by rounds (`specs/tcp-reno.md`, cwnd-limited).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowUsage {
    pub(super) round_end: u64,
    pub(super) limited: bool,
    pub(super) limited_before: bool,
    pub(super) flight_max: u64,
    pub(super) flight_max_before: u64,
}

/// What a connection measures beyond rounds.
#[derive(Clone, Debug)]
pub(super) enum Validation {
    Decay(Decay),
    PipeAck(PipeAck),
}

/// RFC 2861 §3.2.
#[derive(Clone, Debug, Default)]
pub(super) struct Decay {
    /// T_prev: the window was full, or was adapted, then.
    since: Time,
    /// W_used: most data outstanding since.
    used: u64,
}

/// RFC 7661 §4: how much the path was seen to carry.
#[derive(Clone, Debug, Default)]
pub(super) struct PipeAck {
    /// Bytes acknowledged in a round-trip time, and its end; those that count, the largest first.
    samples: VecDeque<(Time, u64)>,
    /// The sample being taken.
    started: Option<Time>,
    bytes: u64,
    /// There has been a sample since the start, or since the last loss (else pipeACK is undefined).
    is_defined: bool,
    last_ack: Time,
    /// Start of the nonvalidated phase.
    unvalidated: Option<Time>,
    /// In loss recovery.
    loss: Option<LossInfo>,
}

#[derive(Clone, Copy, Debug)]
struct LossInfo {
    /// max(pipeACK, LossFlightSize), if the window was not validated.
    used: Option<u64>,
    /// Bytes resent before.
    resent: u64,
}

impl Validation {
    pub(super) fn new(config: CwndValidation) -> Option<Box<Self>> {
        match config {
            CwndValidation::Off | CwndValidation::IfUsed => None,
            CwndValidation::Rfc2861 => Some(Box::new(Self::Decay(Decay::default()))),
            CwndValidation::Rfc7661 => Some(Box::new(Self::PipeAck(PipeAck::default()))),
        }
    }

    /// RFC 7661 §4.4.1: a window that is not validated is not halved; what was used is.
    pub(super) fn base_to_halve(&self, base: u64, flight_size: u64) -> u64 {
        match self {
            Self::PipeAck(pipe) if pipe.unvalidated.is_some() => pipe.volume().unwrap_or(0).max(flight_size),
            _ => base,
        }
    }
}

impl PipeAck {
    /// pipeACK; none: undefined. The sample being taken is a lower bound of what it will be.
    fn volume(&self) -> Option<u64> {
        let largest = self.samples.front().map_or(0, |&(_, bytes)| bytes);
        self.is_defined.then_some(largest.max(self.bytes))
    }

    /// RFC 7661 §4.2: one sample in a round-trip time; the largest of three round trips, or of a second, counts.
    fn on_ack(&mut self, now: Time, newly: u64, srtt: Duration) {
        self.last_ack = now;
        match self.started {
            Some(started) if now.saturating_since(started) >= srtt => {
                while self.samples.back().is_some_and(|&(_, bytes)| bytes <= self.bytes) {
                    self.samples.pop_back();
                }
                self.samples.push_back((started + srtt, self.bytes));
                self.is_defined = true;
                self.started = Some(now);
                self.bytes = 0;
            }
            Some(_) => {}
            None => self.started = Some(now),
        }
        self.bytes += newly;
        self.expire(now, srtt);
    }

    fn expire(&mut self, now: Time, srtt: Duration) {
        let period = (srtt * 3).max(Duration::from_secs(1));
        while self.samples.front().is_some_and(|&(at, _)| now.saturating_since(at) > period) {
            self.samples.pop_front();
        }
        if self.started.is_some_and(|started| now.saturating_since(started) > period + srtt) {
            self.started = None;
            self.bytes = 0;
        }
    }

    /// RFC 7661 §4.3. A window that limits sending will be validated within a round trip, so it does not leave the
    /// validated phase meanwhile: in slow start what is acknowledged lags behind half the window.
    fn judge(&mut self, cwnd: u64, is_limited: bool) {
        let is_validated = self.volume().is_none_or(|volume| 2 * volume >= cwnd);
        if is_validated || (self.unvalidated.is_none() && is_limited) {
            self.unvalidated = None;
        } else if self.unvalidated.is_none() {
            self.unvalidated = Some(self.last_ack);
        }
    }

    /// pipeACK is undefined, so that the window counts as validated.
    fn forget(&mut self) {
        let mut samples = std::mem::take(&mut self.samples);
        samples.clear();
        *self = Self { samples, last_ack: self.last_ack, ..Self::default() };
    }
}

impl Connection {
    /// An ACK of `newly` bytes: may the window grow?
    #[inline(never)]
    pub(super) fn validate(&mut self, now: Time, newly: u64) -> bool {
        let is_used = self.is_window_used();
        if self.cc.is_model_based() {
            return is_used;
        }
        let Some(mut validation) = self.validation.take() else { return is_used };
        let may_grow = match &mut *validation {
            Validation::Decay(decay) => {
                self.decay_unused(decay, now, newly);
                is_used
            }
            Validation::PipeAck(pipe) => self.validate_by_pipe_ack(pipe, now, newly),
        };
        self.validation = Some(validation);
        may_grow
    }

    /// New data follow when all is acknowledged, perhaps after an idle time.
    #[inline(never)]
    pub(super) fn resume(&mut self, now: Time) {
        let path = self.path(now);
        self.cc.on_resume(&path);
        if self.cc.is_model_based() {
            return;
        }
        let idle = now.saturating_since(self.last_sent);
        let rto = self.rtt.rto();
        let Some(mut validation) = self.validation.take() else {
            if self.config.idle_restart && idle > rto {
                // RFC 5681 §4.1: RW = min(IW, cwnd) after an RTO without sending.
                self.cc.limit_cwnd(self.config.initial_window.bytes(self.smss));
            }
            return;
        };
        match &mut *validation {
            Validation::Decay(decay) if idle >= rto => {
                // RFC 2861 §3.2: half for each timeout that passed.
                let times = idle.as_ps() / rto.as_ps().max(1);
                let halve = |cwnd: u64, _| (cwnd.min(self.rwnd) / 2).max(u64::from(self.smss));
                let cwnd = (0..times.min(64)).fold(self.cc.cwnd(), halve);
                self.shrink(cwnd);
                *decay = Decay { since: now, used: 0 };
            }
            Validation::Decay(_) => {}
            Validation::PipeAck(pipe) => {
                pipe.expire(now, self.rtt.srtt().unwrap_or(Duration::ZERO));
                pipe.judge(self.cc.cwnd(), false);
                self.end_nonvalidated_period(pipe, now);
            }
        }
        self.validation = Some(validation);
    }

    /// The window is about to be reduced, or restarted by a timeout.
    pub(super) fn before_reduction(&mut self, by_timeout: bool) {
        let cwnd = self.cc.cwnd();
        if cwnd < self.cc.ssthresh() && !self.cc.is_model_based() {
            self.events.push_back(Event::SlowStartExit(cwnd));
        }
        // After a timeout the window is one segment. A model ends its start when it knows the path.
        self.in_slow_start = by_timeout || (self.in_slow_start && self.cc.is_model_based());
        let flight_size = self.board.flight_size();
        if let Some(Validation::PipeAck(pipe)) = self.validation.as_deref_mut() {
            if by_timeout {
                pipe.forget();
            } else {
                let used = pipe.unvalidated.map(|_| pipe.volume().unwrap_or(0).max(flight_size));
                pipe.loss = Some(LossInfo { used, resent: self.counters.resent_bytes });
            }
        }
    }

    /// RFC 2861 §3.2: an application that does not fill the window for an RTO gives half of the rest back.
    fn decay_unused(&mut self, decay: &mut Decay, now: Time, newly: u64) {
        if self.usage.limited {
            *decay = Decay { since: now, used: 0 };
        } else if self.snd_nxt >= self.offered {
            decay.used = decay.used.max(self.board.flight_size() + newly);
            if now.saturating_since(decay.since) >= self.rtt.rto() {
                self.shrink((self.cc.cwnd().min(self.rwnd) + decay.used) / 2);
                *decay = Decay { since: now, used: 0 };
            }
        }
    }

    fn validate_by_pipe_ack(&mut self, pipe: &mut PipeAck, now: Time, newly: u64) -> bool {
        if self.episode.phase != Phase::Open {
            // RFC 7661 §4.4.1: not updated in recovery.
            return false;
        }
        if let Some(loss) = pipe.loss {
            if let Some(used) = loss.used {
                // RFC 7661 §4.4.1: (max(pipeACK, LossFlightSize) - R) / 2 when recovery ends.
                let resent = self.counters.resent_bytes - loss.resent;
                let cwnd = (used.saturating_sub(resent) / 2).max(u64::from(self.smss));
                self.cc.set_window(cwnd.min(self.cc.cwnd()), cwnd.max(2 * u64::from(self.smss)));
            }
            pipe.forget();
        }
        if let Some(srtt) = self.rtt.srtt() {
            pipe.on_ack(now, newly, srtt);
        }
        pipe.judge(self.cc.cwnd(), self.usage.limited || self.usage.limited_before);
        self.end_nonvalidated_period(pipe, now);
        pipe.unvalidated.is_none()
    }

    /// RFC 7661 §4.4.3.
    fn end_nonvalidated_period(&mut self, pipe: &mut PipeAck, now: Time) {
        let initial = self.config.initial_window.bytes(self.smss);
        while let Some(since) = pipe.unvalidated.filter(|&since| now.saturating_since(since) >= NVP) {
            let cwnd = self.cc.cwnd();
            if cwnd <= initial {
                pipe.unvalidated = Some(now);
                return;
            }
            self.shrink((cwnd / 2).max(initial));
            pipe.unvalidated = Some(since + NVP);
        }
    }

    /// ssthresh remembers three quarters of what the window was (RFC 2861 §3.2, RFC 7661 §4.4.3).
    fn shrink(&mut self, cwnd: u64) {
        let before = self.cc.cwnd();
        self.cc.set_window(cwnd.min(before), self.cc.ssthresh().max(before - before / 4));
    }
}

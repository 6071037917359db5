//! Validation of an unused congestion window: it does not grow, and an idle time or a loss returns it to the used part
//! (RFC 5681 §4.1, RFC 2861, RFC 7661). The default does with the rounds that every connection keeps; the two RFCs that
//! measure more do it here.

use super::rtt::Rtt;
use super::space::SendSpace;
use crate::cc::{Cc, CongestionControl};
use crate::config::{Config, CwndValidation};
use crate::conn::context::Context;
use crate::conn::Event;
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// RFC 7661 §5: the nonvalidated period, after which the window shrinks.
const NVP: Duration = Duration::from_secs(300);

/// Whether the window was the limit, by rounds (`specs/tcp-reno.md`, cwnd-limited), and further measurements.
#[derive(Clone, Debug)]
pub(crate) struct Usage {
    round_end: u64,
    pub(crate) limited: bool,
    limited_before: bool,
    flight_max: u64,
    flight_max_before: u64,
    /// At the last ACK.
    pub(crate) in_slow_start: bool,
    /// When data left last.
    pub(crate) last_sent: Time,
    /// Only where more is measured than rounds.
    validation: Option<Box<Validation>>,
}

/// Inputs of validation, besides the window.
#[derive(Clone, Copy)]
pub(crate) struct Used<'a> {
    pub(crate) now: Time,
    pub(crate) space: &'a SendSpace,
    pub(crate) flight_size: u64,
    /// Loss recovery is on.
    pub(crate) in_recovery: bool,
    pub(crate) rtt: &'a Rtt,
    pub(crate) config: &'a Config,
    /// Payload retransmitted so far.
    pub(crate) retransmitted: u64,
}

/// Measurements beyond rounds.
#[derive(Clone, Debug)]
enum Validation {
    Decay(Decay),
    PipeAck(PipeAck),
}

/// RFC 2861 §3.2.
#[derive(Clone, Debug, Default)]
struct Decay {
    /// T_prev: the window was full, or was adapted, then.
    since: Time,
    /// W_used: most data outstanding since.
    used: u64,
}

/// RFC 7661 §4: how much the path was seen to carry.
#[derive(Clone, Debug, Default)]
struct PipeAck {
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
    /// Bytes retransmitted before.
    retransmitted: u64,
}

impl Validation {
    fn new(config: CwndValidation) -> Option<Box<Self>> {
        match config {
            CwndValidation::Off | CwndValidation::IfUsed => None,
            CwndValidation::Rfc2861 => Some(Box::new(Self::Decay(Decay::default()))),
            CwndValidation::Rfc7661 => Some(Box::new(Self::PipeAck(PipeAck::default()))),
        }
    }

    /// RFC 7661 §4.4.1: of a window that is not validated, the used part is halved.
    fn base_to_halve(&self, base: u64, flight_size: u64) -> u64 {
        match self {
            Self::PipeAck(pipe) if pipe.unvalidated.is_some() => pipe.volume().unwrap_or(0).max(flight_size),
            _ => base,
        }
    }
}

impl PipeAck {
    /// pipeACK; none: undefined. The current sample is a lower bound.
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

impl Usage {
    pub(crate) fn new(config: CwndValidation) -> Self {
        Self {
            round_end: 0,
            limited: false,
            limited_before: false,
            flight_max: 0,
            flight_max_before: 0,
            in_slow_start: false,
            last_sent: Time::ZERO,
            validation: Validation::new(config),
        }
    }

    /// New data left.
    #[inline]
    pub(crate) fn on_sent(&mut self, flight_size: u64) {
        self.flight_max = self.flight_max.max(flight_size);
    }

    /// Whether the window limited sending in this round or the last, or slow start used at least half of it.
    #[inline]
    pub(crate) fn is_window_used(&mut self, space: &SendSpace, flight_size: u64, cc: &Cc) -> bool {
        if space.una >= self.round_end {
            // Asked twice of an ACK that leaves nothing outstanding, it is the same round.
            self.round_end = space.nxt.max(space.una + 1);
            self.limited_before = std::mem::take(&mut self.limited);
            self.flight_max_before = std::mem::replace(&mut self.flight_max, flight_size);
        }
        if self.limited || self.limited_before {
            return true;
        }
        let cwnd = cc.cwnd();
        cwnd < cc.ssthresh() && cwnd < 2 * self.flight_max.max(self.flight_max_before)
    }

    /// An ACK of `newly` bytes: may the window grow, by the further measurements?
    #[inline(never)]
    pub(crate) fn validate(&mut self, used: Used<'_>, newly: u64, cc: &mut Cc) -> bool {
        let is_used = self.is_window_used(used.space, used.flight_size, cc);
        if cc.is_model_based() {
            return is_used;
        }
        let limited = [self.limited, self.limited_before];
        match self.validation.as_deref_mut() {
            None => is_used,
            Some(Validation::Decay(decay)) => {
                decay.on_ack(used, newly, self.limited, cc);
                is_used
            }
            Some(Validation::PipeAck(pipe)) => pipe.validate(used, newly, limited.contains(&true), cc),
        }
    }

    /// New data follow when all is acknowledged, perhaps after an idle time.
    pub(crate) fn resume(&mut self, used: Used<'_>, cc: &mut Cc) {
        let (now, rto) = (used.now, used.rtt.rto());
        let idle = now.saturating_since(self.last_sent);
        match self.validation.as_deref_mut() {
            None => {
                if used.config.idle_restart && idle > rto {
                    // RFC 5681 §4.1: RW = min(IW, cwnd) after an RTO without sending.
                    cc.limit_cwnd(used.config.initial_window.bytes(used.space.smss));
                }
            }
            Some(Validation::Decay(decay)) if idle >= rto => {
                // RFC 2861 §3.2: half for each timeout that passed.
                let times = idle.as_ps() / rto.as_ps().max(1);
                let halve = |cwnd: u64, _| (cwnd.min(used.space.rwnd) / 2).max(used.space.smss());
                let cwnd = (0..times.min(64)).fold(cc.cwnd(), halve);
                shrink(cc, cwnd);
                *decay = Decay { since: now, used: 0 };
            }
            Some(Validation::Decay(_)) => {}
            Some(Validation::PipeAck(pipe)) => {
                pipe.expire(now, used.rtt.srtt().unwrap_or(Duration::ZERO));
                pipe.judge(cc.cwnd(), false);
                pipe.end_nonvalidated_period(used, cc);
            }
        }
    }

    /// The window is about to be reduced, or restarted by a timeout.
    pub(crate) fn before_reduction(&mut self, by_timeout: bool, cc: &Cc, flight_size: u64, cx: &mut Context) {
        let cwnd = cc.cwnd();
        if cwnd < cc.ssthresh() && !cc.is_model_based() {
            cx.report(Event::SlowStartExit(cwnd));
        }
        // After a timeout the window is one segment. A model ends its start when it knows the path.
        self.in_slow_start = by_timeout || (self.in_slow_start && cc.is_model_based());
        if let Some(Validation::PipeAck(pipe)) = self.validation.as_deref_mut() {
            if by_timeout {
                pipe.forget();
            } else {
                let used = pipe.unvalidated.map(|_| pipe.volume().unwrap_or(0).max(flight_size));
                pipe.loss = Some(LossInfo { used, retransmitted: cx.counters.retransmitted_bytes });
            }
        }
    }

    /// Returns the base of a reaction to loss, where `base` is what it would be without validation.
    #[inline]
    pub(crate) fn base_to_halve(&self, base: u64, flight_size: u64) -> u64 {
        self.validation.as_ref().map_or(base, |validation| validation.base_to_halve(base, flight_size))
    }
}

impl Decay {
    /// RFC 2861 §3.2: an application that does not fill the window for an RTO gives half of the rest back.
    fn on_ack(&mut self, used: Used<'_>, newly: u64, limited: bool, cc: &mut Cc) {
        let now = used.now;
        if limited {
            *self = Self { since: now, used: 0 };
        } else if used.space.nxt >= used.space.offered {
            self.used = self.used.max(used.flight_size + newly);
            if now.saturating_since(self.since) >= used.rtt.rto() {
                shrink(cc, (cc.cwnd().min(used.space.rwnd) + self.used) / 2);
                *self = Self { since: now, used: 0 };
            }
        }
    }
}

impl PipeAck {
    /// An ACK of `newly` bytes: may the window grow?
    fn validate(&mut self, used: Used<'_>, newly: u64, is_limited: bool, cc: &mut Cc) -> bool {
        if used.in_recovery {
            // RFC 7661 §4.4.1: not updated in recovery.
            return false;
        }
        if let Some(loss) = self.loss {
            if let Some(volume) = loss.used {
                // RFC 7661 §4.4.1: (max(pipeACK, LossFlightSize) - R) / 2 when recovery ends.
                let retransmitted = used.retransmitted - loss.retransmitted;
                let smss = used.space.smss();
                let cwnd = (volume.saturating_sub(retransmitted) / 2).max(smss);
                cc.set_window(cwnd.min(cc.cwnd()), cwnd.max(2 * smss));
            }
            self.forget();
        }
        if let Some(srtt) = used.rtt.srtt() {
            self.on_ack(used.now, newly, srtt);
        }
        self.judge(cc.cwnd(), is_limited);
        self.end_nonvalidated_period(used, cc);
        self.unvalidated.is_none()
    }

    /// RFC 7661 §4.4.3.
    fn end_nonvalidated_period(&mut self, used: Used<'_>, cc: &mut Cc) {
        let initial = used.config.initial_window.bytes(used.space.smss);
        while let Some(since) = self.unvalidated.filter(|&since| used.now.saturating_since(since) >= NVP) {
            let cwnd = cc.cwnd();
            if cwnd <= initial {
                self.unvalidated = Some(used.now);
                return;
            }
            shrink(cc, (cwnd / 2).max(initial));
            self.unvalidated = Some(since + NVP);
        }
    }
}

/// ssthresh keeps three quarters of the old window (RFC 2861 §3.2, RFC 7661 §4.4.3).
fn shrink(cc: &mut Cc, cwnd: u64) {
    let before = cc.cwnd();
    cc.set_window(cwnd.min(before), cc.ssthresh().max(before - before / 4));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc7661_4_2_pipe_ack_is_the_largest_sample_of_three_round_trips() {
        let rtt = Duration::from_millis(500);
        let mut pipe = PipeAck::default();
        let volumes = [8000, 1000, 1000, 1000, 1000, 1000].iter().enumerate().map(|(round, &newly)| {
            pipe.on_ack(Time::ZERO + rtt * round as u64, newly, rtt);
            pipe.volume()
        });
        assert_eq!(Vec::from_iter(volumes), [None, Some(8000), Some(8000), Some(8000), Some(8000), Some(1000)]);
    }
}

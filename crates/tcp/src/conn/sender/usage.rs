//! Validation of an unused congestion window: it does not grow, and an idle time or a loss returns it to the used part
//! (RFC 5681 §4.1, RFC 2861, RFC 7661). The use of the window is noted when new data leave, as in Linux and RFC 2861.
//! After an ACK of the whole window, no outstanding data would show it.

use super::rtt::Rtt;
use super::space::SendSpace;
use crate::config::{Config, CwndValidation, SsthreshRounding};
use crate::conn::context::Context;
use crate::conn::Event;
use bentpipe_cc::{Cc, CongestionControl};
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// RFC 7661 §5: the nonvalidated period, after which the window shrinks.
const NVP: Duration = Duration::from_secs(300);

/// Whether the window was the limit (`docs/specs/tcp-reno.md`, cwnd-limited), and further measurements.
#[derive(Clone, Debug)]
pub(crate) struct Usage {
    /// SND.NXT when the next two facts were noted. They hold until new data leave after its ACK.
    noted_until: u64,
    /// The window had no room for another segment.
    limited: bool,
    /// Bytes outstanding then; the most of them, if the window had room.
    flight_max: u64,
    /// At the last ACK.
    pub(crate) in_slow_start: bool,
    /// When data left last.
    pub(crate) last_sent: Time,
    validation: Validation,
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

/// Measurements besides the facts of each flight.
#[derive(Clone, Debug)]
enum Validation {
    Nothing,
    Decay(Decay),
    PipeAck(Box<PipeAck>),
}

/// RFC 2861 §3.2.
#[derive(Clone, Copy, Debug, Default)]
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

impl Used<'_> {
    /// ssthresh keeps three quarters of the old window (RFC 2861 §3.2, RFC 7661 §4.4.3). A host whose window counts segments
    /// rounds down.
    fn shrink(&self, cc: &mut Cc, cwnd: u64) {
        let unit = if self.config.ssthresh_rounding == SsthreshRounding::Window { self.space.smss() } else { 1 };
        let before = cc.cwnd();
        let kept = (before / unit / 2 + before / unit / 4) * unit;
        cc.set_window((cwnd / unit * unit).max(self.space.smss()).min(before), cc.ssthresh().max(kept));
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
        let validation = match config {
            CwndValidation::Off | CwndValidation::IfUsed | CwndValidation::Linux => Validation::Nothing,
            CwndValidation::Rfc2861 => Validation::Decay(Decay::default()),
            CwndValidation::Rfc7661 => Validation::PipeAck(Box::default()),
        };
        Self { noted_until: 0, limited: false, flight_max: 0, in_slow_start: false, last_sent: Time::ZERO, validation }
    }

    /// New data left, so that `flight` bytes are outstanding and `pipe` bytes in the network. Returns whether
    /// [`on_room`](Self::on_room) has to judge the room that is left.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, space: &SendSpace, [flight, pipe]: [u64; 2], cwnd: u64) -> bool {
        let is_full = pipe + space.smss() > cwnd;
        if is_full || space.una >= self.noted_until || (!self.limited && flight > self.flight_max) {
            (self.limited, self.flight_max, self.noted_until) = (is_full, flight, space.nxt);
        }
        let Validation::Decay(decay) = &mut self.validation else { return false };
        if self.limited {
            *decay = Decay { since: now, used: 0 };
        }
        !self.limited
    }

    /// Data wait for room in the window.
    #[inline]
    pub(crate) fn on_limited(&mut self, now: Time, space: &SendSpace, flight: u64) {
        (self.limited, self.flight_max, self.noted_until) = (true, flight, space.nxt);
        if let Validation::Decay(decay) = &mut self.validation {
            *decay = Decay { since: now, used: 0 };
        }
    }

    /// Whether the window limited the last flight, or slow start used at least half of it.
    #[inline]
    pub(crate) fn is_window_used(&self, cc: &Cc) -> bool {
        let cwnd = cc.cwnd();
        self.limited || (cwnd < cc.ssthresh() && cwnd < 2 * self.flight_max)
    }

    /// RFC 2861 §3.2: new data left, and the window has room. An application that does not fill it for a timeout's time
    /// gives half of the rest back.
    ///
    /// Linux has this rule, too (`tcp_cwnd_application_limited`), but each ACK restarts its time (`tcp_cong_avoid`), so it never
    /// acts.
    #[inline(never)]
    pub(crate) fn on_room(&mut self, used: Used<'_>, cc: &mut Cc) {
        let Validation::Decay(decay) = &mut self.validation else { return };
        if used.space.nxt < used.space.offered || cc.is_model_based() {
            return;
        }
        decay.used = decay.used.max(used.flight_size);
        if used.now.saturating_since(decay.since) >= used.rtt.rto() {
            used.shrink(cc, (cc.cwnd().min(used.space.rwnd) + decay.used) / 2);
            *decay = Decay { since: used.now, used: 0 };
        }
    }

    /// An ACK of `newly` bytes: may the window grow, by RFC 7661?
    #[inline(never)]
    pub(crate) fn validate(&mut self, used: Used<'_>, newly: u64, cc: &mut Cc) -> bool {
        match &mut self.validation {
            Validation::PipeAck(pipe) if !cc.is_model_based() => pipe.validate(used, newly, self.limited, cc),
            _ => self.is_window_used(cc),
        }
    }

    /// New data follow when all is acknowledged, perhaps after an idle time.
    pub(crate) fn resume(&mut self, used: Used<'_>, cc: &mut Cc) {
        let (now, rto) = (used.now, used.rtt.rto());
        let idle = now.saturating_since(self.last_sent);
        // RFC 5681 §4.1: RW = min(IW, cwnd).
        let restart_window = || used.config.initial_window.bytes(used.space.smss);
        // RFC 2861 §3.2: half for each timeout that passed.
        let halved = |cwnd: u64| cwnd >> (idle.as_ps() / rto.as_ps().max(1)).min(63);
        match &mut self.validation {
            Validation::Nothing if used.config.cwnd_validation == CwndValidation::Linux => {
                if idle > rto {
                    let cwnd = cc.cwnd();
                    used.shrink(cc, halved(cwnd).max(restart_window()));
                }
            }
            Validation::Nothing => {
                if used.config.idle_restart && idle > rto {
                    cc.limit_cwnd(restart_window());
                }
            }
            Validation::Decay(decay) if idle >= rto => {
                let cwnd = halved(cc.cwnd().min(used.space.rwnd));
                used.shrink(cc, cwnd);
                *decay = Decay { since: now, used: 0 };
            }
            Validation::Decay(_) => {}
            Validation::PipeAck(pipe) => {
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
        if let Validation::PipeAck(pipe) = &mut self.validation {
            if by_timeout {
                pipe.forget();
            } else {
                let used = pipe.unvalidated.map(|_| pipe.volume().unwrap_or(0).max(flight_size));
                pipe.loss = Some(LossInfo { used, retransmitted: cx.counters.retransmitted_bytes });
            }
        }
    }

    /// Returns the base of a reaction to loss, where `base` is what it would be without validation. RFC 7661 §4.4.1: of a
    /// window that is not validated, the used part is halved.
    #[inline]
    pub(crate) fn base_to_halve(&self, base: u64, flight_size: u64) -> u64 {
        match &self.validation {
            Validation::PipeAck(pipe) if pipe.unvalidated.is_some() => pipe.volume().unwrap_or(0).max(flight_size),
            _ => base,
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
            used.shrink(cc, (cwnd / 2).max(initial));
            self.unvalidated = Some(since + NVP);
        }
    }
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

//! Alternating good and bad states, for exponential times or geometric numbers of packets. They begin in their stationary
//! distribution and do not depend on the traffic. Neither law has a memory, so the first state is like all others.

use bentpipe_model::spec::MILLIONTHS;
use bentpipe_units::{Duration, Stream, Time};

/// States that last for exponential times. Looked up in order of time.
#[derive(Clone, Debug)]
pub(super) struct TimedStates {
    /// Means: good state, bad state.
    mean: [Duration; 2],
    durations: Stream,
    drawn: u64,
    is_bad: bool,
    until: Time,
    /// End of the computed states: on a slow link there may be billions of states until a packet leaves.
    end: Time,
}

impl TimedStates {
    pub(super) fn new(good: Duration, bad: Duration, mut durations: Stream, end: Time) -> Self {
        let means = [good, bad].map(Duration::as_secs_f64);
        let is_bad = durations.uniform(0) * (means[0] + means[1]) < means[1];
        let mut states = Self { mean: [good, bad], durations, drawn: 1, is_bad, until: Time::ZERO, end };
        states.until = Time::ZERO + states.duration(is_bad);
        states.drawn += 1;
        states
    }

    /// Whether the state at `at` is the bad one.
    pub(super) fn is_bad_at(&mut self, at: Time) -> bool {
        self.seek(at);
        self.is_bad
    }

    /// The number of the state that was looked up last, from 1.
    pub(super) fn number(&self) -> u64 {
        self.drawn - 1
    }

    /// The end of the state at `at`, and of the next state.
    pub(super) fn ends_from(&mut self, at: Time) -> (Time, Time) {
        self.seek(at);
        (self.until, self.until + self.duration(!self.is_bad))
    }

    /// The share of the bad state in the time from `from` to `to`.
    pub(super) fn bad_share(&mut self, from: Time, to: Time) -> f64 {
        self.seek(from);
        let (mut at, mut bad) = (from, Duration::ZERO);
        while at < to {
            let until = self.until.min(to);
            if self.is_bad {
                bad += until - at;
            }
            at = until;
            self.seek(at);
            if at > self.end {
                break;
            }
        }
        bad.as_secs_f64() / (to - from).as_secs_f64()
    }

    fn seek(&mut self, at: Time) {
        if at > self.end {
            (self.is_bad, self.until) = (false, Time::NEVER);
        }
        while self.until <= at && self.until != Time::NEVER {
            self.is_bad = !self.is_bad;
            let duration = self.duration(self.is_bad);
            self.until += duration;
            self.drawn += 1;
        }
    }

    /// The duration of the next state, if it is of this kind.
    fn duration(&mut self, is_bad: bool) -> Duration {
        let u = self.durations.uniform_positive(self.drawn);
        let mean = self.mean[usize::from(is_bad)];
        Duration::from_secs_f64(-libm::log(u) * mean.as_secs_f64()).max(Duration::from_ps(1))
    }
}

/// States that last for geometric numbers of packets, at least one: after each packet the good state ends with probability p
/// = 1 / its mean, the bad one with r.
#[derive(Clone, Debug)]
pub(super) struct SteppedStates {
    /// ln(1 - p), ln(1 - r).
    log_stay: [f64; 2],
    lengths: Stream,
    drawn: u64,
    is_bad: bool,
    /// Number of the first packet of the next state.
    until: u64,
}

impl SteppedStates {
    /// Means are in [`MILLIONTHS`] of a packet.
    pub(super) fn new(good: u64, bad: u64, mut lengths: Stream) -> Self {
        let is_bad = lengths.uniform(0) * (good as f64 + bad as f64) < bad as f64;
        let log_stay = [good, bad].map(|mean| libm::log1p(-(MILLIONTHS as f64 / mean as f64).min(1.0)));
        let mut states = Self { log_stay, lengths, drawn: 1, is_bad, until: 0 };
        states.until = states.length();
        states
    }

    /// Whether packet number `index` meets the bad state. Numbers do not decrease.
    pub(super) fn is_bad_at(&mut self, index: u64) -> bool {
        while self.until <= index {
            self.is_bad = !self.is_bad;
            self.until = self.until.saturating_add(self.length());
        }
        self.is_bad
    }

    /// Packets in the next state: 1 + floor(ln u / ln(1 - p)).
    fn length(&mut self) -> u64 {
        let u = self.lengths.uniform_positive(self.drawn);
        self.drawn += 1;
        // Saturates; p = 1 gives -x / -inf = 0.
        ((libm::log(u) / self.log_stay[usize::from(self.is_bad)]) as u64).saturating_add(1)
    }
}

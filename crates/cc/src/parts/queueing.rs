//! Measures round trips and the queued part of the window, for Vegas, Veno and YeAH.
//!
//! A round ends when an ACK passes the data that had been sent at its start. With its smallest round-trip time `rtt`
//! and the smallest ever `base`, the queued part is `cwnd (rtt - base) / rtt`.

use crate::parts::round::Round;
use crate::parts::windowed::MinRtt;
use crate::{AckSample, PathState};
use bentpipe_units::Duration;

/// Rounds of a connection, each with its smallest round-trip time.
#[derive(Clone, Debug)]
pub(crate) struct DelayRounds {
    base: MinRtt,
    round: Round,
    /// Smallest round-trip time of this round, and the number of samples.
    min: Option<Duration>,
    samples: u64,
    /// Byte whose acknowledgement begins the next round. Nothing is measured before.
    resume_at: Option<u64>,
}

/// Effect of an ACK on the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Progress {
    /// No measurement: data sent before a reduction is still under way.
    Paused,
    /// Within a round.
    Within,
    /// End of a round; `None`: it had no sample.
    End(Option<Delay>),
}

/// Measurement of a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Delay {
    /// Smallest round-trip time of the round.
    pub(crate) rtt: Duration,
    /// Smallest round-trip time of the connection, at most `rtt`.
    pub(crate) base: Duration,
    /// Number of measured round-trip times.
    pub(crate) samples: u64,
}

impl Delay {
    /// Returns the queued bytes of a window of `cwnd`.
    pub(crate) fn queued(&self, cwnd: u64) -> f64 {
        cwnd as f64 - self.target(cwnd)
    }

    /// Returns the bytes of a window of `cwnd` that are not queued.
    pub(crate) fn target(&self, cwnd: u64) -> f64 {
        // Avoids division by zero.
        cwnd as f64 * (self.base.as_ps().max(1) as f64 / self.rtt.as_ps().max(1) as f64)
    }
}

impl DelayRounds {
    /// Starts the first round with the first ACK. `base_window` is the memory of the smallest round-trip time; zero:
    /// for ever.
    pub(crate) fn new(base_window: Duration) -> Self {
        Self { base: MinRtt::new(base_window), round: Round::default(), min: None, samples: 0, resume_at: Some(0) }
    }

    /// Processes an ACK of new data.
    pub(crate) fn on_ack(&mut self, ack: &AckSample, path: &PathState) -> Progress {
        if let Some(rtt) = ack.rtt {
            self.base.sample(rtt, path.now);
        }
        if let Some(resume_at) = self.resume_at {
            if path.snd_una < resume_at {
                return Progress::Paused;
            }
            self.begin(path);
            return Progress::Within;
        }
        if let Some(rtt) = ack.rtt {
            self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
            self.samples += 1;
        }
        if !self.round.is_over(path) {
            return Progress::Within;
        }
        let delay = self.min.map(|rtt| Delay { samples: self.samples, ..self.delay(rtt) });
        self.begin(path);
        Progress::End(delay)
    }

    /// Returns the measurement for a single round-trip time.
    pub(crate) fn delay(&self, rtt: Duration) -> Delay {
        Delay { rtt, base: self.base.get().map_or(rtt, |base| base.min(rtt)), samples: 1 }
    }

    /// Returns the smallest round-trip time.
    pub(crate) fn base(&self) -> Option<Duration> {
        self.base.get()
    }

    /// Stops measuring after a reduction of the window: the data in flight was sent with another window.
    pub(crate) fn pause(&mut self, path: &PathState) {
        self.resume_at = Some(path.snd_nxt);
    }

    /// Starts a round with the next ACK, after the window was set.
    pub(crate) fn restart(&mut self) {
        self.resume_at.get_or_insert(0);
    }

    /// Measures the smallest round-trip time from scratch, because the path may have changed.
    pub(crate) fn forget_base(&mut self) {
        self.base.forget();
    }

    fn begin(&mut self, path: &PathState) {
        self.round.begin(path);
        (self.min, self.samples, self.resume_at) = (None, 0, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::ack_clock::SMSS;
    use crate::testbench::path;
    use bentpipe_units::Time;

    fn sample(rtt_ms: u64) -> AckSample {
        AckSample {
            newly_acked: SMSS,
            is_cwnd_limited: true,
            rtt: Some(Duration::from_millis(rtt_ms)),
            ..AckSample::default()
        }
    }

    fn at(snd_una: u64, snd_nxt: u64, now_ms: u64) -> PathState {
        PathState { snd_una, snd_nxt, now: Time::ZERO + Duration::from_millis(now_ms), ..path(10_000) }
    }

    #[test]
    fn a_round_ends_when_what_was_sent_at_its_start_is_passed() {
        let mut rounds = DelayRounds::new(Duration::ZERO);
        assert_eq!(rounds.on_ack(&sample(100), &at(1000, 5000, 0)), Progress::Within);
        assert_eq!(rounds.on_ack(&sample(130), &at(2000, 6000, 1)), Progress::Within);
        assert_eq!(rounds.on_ack(&sample(120), &at(5000, 9000, 2)), Progress::Within);
        let (rtt, base) = (Duration::from_millis(120), Duration::from_millis(100));
        let delay = Delay { rtt, base, samples: 3 };
        assert_eq!(rounds.on_ack(&sample(140), &at(6000, 10_000, 3)), Progress::End(Some(delay)));
        let none = AckSample { rtt: None, ..sample(0) };
        assert_eq!(rounds.on_ack(&none, &at(11_000, 20_000, 4)), Progress::End(None));
        rounds.pause(&at(11_000, 20_000, 5));
        rounds.restart();
        assert_eq!(rounds.on_ack(&sample(200), &at(19_000, 20_000, 6)), Progress::Paused);
        assert_eq!(rounds.on_ack(&sample(200), &at(20_000, 30_000, 7)), Progress::Within);
    }

    #[test]
    fn the_smallest_round_trip_time_is_that_of_the_window_and_can_be_forgotten() {
        let mut rounds = DelayRounds::new(Duration::from_secs(8));
        let mut base_at = |rtt, ms| {
            rounds.on_ack(&sample(rtt), &at(0, 0, ms));
            rounds.delay(Duration::from_secs(9)).base
        };
        assert_eq!(base_at(100, 0), Duration::from_millis(100));
        assert_eq!(base_at(120, 7900), Duration::from_millis(100));
        assert_eq!(base_at(140, 8000), Duration::from_millis(120));
        rounds.forget_base();
        assert_eq!(rounds.delay(Duration::from_millis(170)).base, Duration::from_millis(170));
    }

    #[test]
    fn no_time_at_all_is_no_queue() {
        let zero = Delay { rtt: Duration::ZERO, base: Duration::ZERO, samples: 1 };
        assert_eq!((zero.queued(1 << 40), zero.target(0)), (0.0, 0.0));
    }
}

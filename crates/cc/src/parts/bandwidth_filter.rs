//! Filters of Westwood that estimate the delivery rate of a connection from its ACKs. Enhanced HSWA uses them, too.

use bentpipe_units::{Duration, Time};

/// Time below which ACKs count as simultaneous and give one sample. Otherwise the shortest interval would dominate.
const INSTANT: Duration = Duration::from_micros(1);

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

/// The low-pass filter of Mascolo 2001: first order, made discrete by the bilinear transform (Tustin), for samples at
/// any intervals. With b = bytes / dt and α = (2τ - dt) / (2τ + dt), b̂ = α b̂ + (1 - α) (b + b of before) / 2.
///
/// While nothing arrives, a virtual sample of zero is taken every τ / m. So α is never negative, and the estimate
/// falls.
#[derive(Clone, Debug)]
pub(crate) struct Tustin {
    /// τ, s; positive.
    tau: f64,
    /// τ / m: the longest interval without a sample; `None`: no virtual samples.
    longest: Option<Duration>,
    /// Time of the last sample; `None` before the first ACK.
    at: Option<Time>,
    /// Bytes of ACKs of the same instant.
    pending: u64,
    sample: f64,
    estimate: f64,
}

impl Tustin {
    /// Creates a filter: 1 / `tau` is the cut-off frequency, `virtual_samples` is m; 0: no virtual samples.
    pub(crate) fn new(tau: Duration, virtual_samples: u64) -> Self {
        let tau = tau.max(INSTANT);
        let longest = (virtual_samples > 0).then(|| Duration::from_ps((tau.as_ps() / virtual_samples.max(1)).max(1)));
        Self { tau: seconds(tau), longest, at: None, pending: 0, sample: 0.0, estimate: 0.0 }
    }

    /// Adds the bytes of an ACK. The first ACK only starts the clock.
    #[inline]
    pub(crate) fn on_delivery(&mut self, bytes: u64, now: Time) {
        self.pass(now);
        let Some(at) = self.at else {
            self.at = Some(now);
            return;
        };
        self.pending += bytes;
        let dt = now.saturating_since(at);
        if dt >= INSTANT {
            let bytes = std::mem::take(&mut self.pending);
            self.take(bytes as f64 / seconds(dt), seconds(dt));
            self.at = Some(now);
        }
    }

    /// Adds the virtual samples until now.
    #[inline]
    pub(crate) fn pass(&mut self, now: Time) {
        if let (Some(longest), Some(at)) = (self.longest, self.at) {
            if now.saturating_since(at) > longest {
                self.idle(now, at, longest);
            }
        }
    }

    #[cold]
    fn idle(&mut self, now: Time, at: Time, longest: Duration) {
        // The last interval, up to now, belongs to the next sample.
        let samples = (now.saturating_since(at).as_ps() - 1) / longest.as_ps();
        // Bytes at the instant of the last ACK belong to the time before.
        let bytes = std::mem::take(&mut self.pending);
        self.take(bytes as f64 / seconds(longest), seconds(longest));
        if samples > 1 {
            self.take(0.0, seconds(longest));
        }
        if samples > 2 {
            // From here on both samples are zero.
            self.estimate *= libm::pow(self.alpha(seconds(longest)), (samples - 2) as f64);
        }
        self.at = Some(at + Duration::from_ps(longest.as_ps().saturating_mul(samples)));
    }

    /// Restarts the clock at the next ACK and keeps the estimate. Virtual samples, if any, cover idle times.
    pub(crate) fn resume(&mut self) {
        if self.longest.is_none() {
            (self.at, self.pending) = (None, 0);
        }
    }

    /// Returns bytes per second; `None` before the first sample.
    #[inline]
    pub(crate) fn estimate(&self) -> Option<f64> {
        (self.estimate > 0.0).then_some(self.estimate)
    }

    #[inline]
    fn take(&mut self, sample: f64, dt: f64) {
        let alpha = self.alpha(dt);
        self.estimate = alpha * self.estimate + (1.0 - alpha) * (sample + self.sample) / 2.0;
        self.sample = sample;
    }

    #[inline]
    fn alpha(&self, dt: f64) -> f64 {
        ((2.0 * self.tau - dt) / (2.0 * self.tau + dt)).max(0.0)
    }
}

bentpipe_units::words! {
    /// Smoothing of the samples of Westwood+.
    pub enum WestwoodSmoothing {
        /// Twice by 7/8. The first sample sets both.
        "linux" => Linux,
        /// 9/10 of the estimate and 1/10 of the mean of the last two samples, starting from zero, as in ns-3.
        "mean-of-two" => MeanOfTwo,
    }
}

/// One sample per round trip (Grieco and Mascolo 2004): the bytes of compressed ACKs count over the whole sample.
#[derive(Clone, Debug)]
pub(crate) struct PerRound {
    smoothing: WestwoodSmoothing,
    /// Shortest time of a sample.
    shortest: Duration,
    /// Start of the current sample; `None` before the first ACK.
    since: Option<Time>,
    bytes: u64,
    /// The last sample, or the samples smoothed once.
    sample: f64,
    estimate: f64,
}

impl PerRound {
    pub(crate) fn new(smoothing: WestwoodSmoothing, shortest: Duration) -> Self {
        Self { smoothing, shortest: shortest.max(INSTANT), since: None, bytes: 0, sample: 0.0, estimate: 0.0 }
    }

    /// Adds the bytes of an ACK; `rtt` is the round-trip time. The first ACK only starts the clock.
    #[inline]
    pub(crate) fn on_delivery(&mut self, bytes: u64, now: Time, rtt: Option<Duration>) {
        let Some(since) = self.since else {
            self.since = Some(now);
            return;
        };
        self.bytes += bytes;
        let time = now.saturating_since(since);
        if rtt.is_some_and(|rtt| time > rtt.max(self.shortest)) {
            self.take(self.bytes as f64 / seconds(time));
            (self.since, self.bytes) = (Some(now), 0);
        }
    }

    /// Returns bytes per second; `None` before the first sample.
    #[inline]
    pub(crate) fn estimate(&self) -> Option<f64> {
        (self.estimate > 0.0).then_some(self.estimate)
    }

    fn take(&mut self, sample: f64) {
        match self.smoothing {
            WestwoodSmoothing::Linux if self.estimate == 0.0 => (self.sample, self.estimate) = (sample, sample),
            WestwoodSmoothing::Linux => {
                self.sample = (7.0 * self.sample + sample) / 8.0;
                self.estimate = (7.0 * self.estimate + self.sample) / 8.0;
            }
            WestwoodSmoothing::MeanOfTwo => {
                self.estimate = 0.9 * self.estimate + 0.1 * (sample + self.sample) / 2.0;
                self.sample = sample;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: f64) -> Time {
        Time::ZERO + Duration::from_secs_f64(ms / 1000.0)
    }

    fn tustin(virtual_samples: u64) -> Tustin {
        let mut filter = Tustin::new(Duration::from_millis(500), virtual_samples);
        filter.on_delivery(1000, at(0.0));
        filter
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{found} instead of {expected}");
    }

    /// `docs/specs/westwood.md`, test 1: 1 Mbit/s from nothing, an ACK each 100 ms.
    #[test]
    fn the_filter_rises_to_a_constant_rate() {
        let mut filter = tustin(2);
        near(filter.alpha(0.1), 0.9 / 1.1);
        assert_eq!(filter.estimate(), None);
        let rises = [1, 2, 3].map(|k| {
            filter.on_delivery(12_500, at(100.0 * f64::from(k)));
            (8.0 * filter.estimate().unwrap()).round()
        });
        assert_eq!(rises, [90_909.0, 256_198.0, 391_435.0]);
    }

    /// The answer to a step, in closed form: 1 - b̂ / b is (1 + α) / 2 after the first sample, and falls by α with each; for
    /// short intervals that is exp(-t / τ).
    #[test]
    fn the_answer_to_a_step_is_that_of_the_closed_form() {
        for dt_ms in [100.0, 1.0, 0.08] {
            let mut filter = tustin(2);
            let alpha = filter.alpha(dt_ms / 1000.0);
            let bytes = (1e9 * dt_ms / 1000.0) as u64;
            for k in 1..=(2000.0 / dt_ms) as i32 {
                filter.on_delivery(bytes, at(dt_ms * f64::from(k)));
                let missing = 1.0 - filter.estimate().unwrap() / 1e9;
                // Times are whole picoseconds.
                assert!((missing - (1.0 + alpha) / 2.0 * alpha.powi(k - 1)).abs() < 1e-6, "{dt_ms} {k}");
                // The first sample counts half.
                assert!((missing - (-dt_ms / 500.0 * f64::from(k)).exp()).abs() < 0.6 * dt_ms / 500.0);
            }
        }
    }

    #[test]
    fn acks_of_the_same_instant_are_one_sample() {
        let mut filter = tustin(2);
        for ms in [99.9998, 99.9999, 100.0] {
            filter.on_delivery(1000, at(ms));
        }
        // The first of the instant closes a sample; what comes with it waits for the next.
        let alone = 1.0 / 11.0 * 1e4;
        assert!((filter.estimate().unwrap() / alone - 1.0).abs() < 1e-5);
        assert_eq!(filter.pending, 2000);
        filter.on_delivery(1000, at(200.0));
        let both = (9.0 * alone + 2.0 * (3e4 + 1e4) / 2.0) / 11.0;
        assert!((filter.estimate().unwrap() / both - 1.0).abs() < 1e-5);
    }

    /// τ / m = 250 ms, α = 0.6 for each virtual sample.
    #[test]
    fn virtual_samples_make_the_estimate_fall_while_nothing_arrives() {
        let mut filter = tustin(2);
        for k in 1..=100 {
            filter.on_delivery(100_000, at(100.0 * f64::from(k)));
        }
        let full = filter.estimate().unwrap();
        near(full.round(), 1e6);
        filter.pass(at(10_250.0));
        near(filter.estimate().unwrap(), full);
        let mut other = filter.clone();
        // 10.25, 10.5, 10.75 and 11 s; the last interval is not over.
        filter.pass(at(11_250.0));
        let first = 0.6 * full + 0.4 * 1e6 / 2.0;
        near(filter.estimate().unwrap(), first * 0.6_f64.powi(3));
        // It does not matter when one asks.
        for ms in [10_251.0, 10_300.0, 10_760.0, 10_761.0, 11_250.0] {
            other.pass(at(ms));
        }
        near(other.estimate().unwrap(), filter.estimate().unwrap());
        filter.pass(at(1e9));
        assert!(filter.estimate().is_none_or(|estimate| estimate < 1e-9));
    }

    #[test]
    fn without_virtual_samples_a_long_interval_is_one_sample() {
        let mut filter = tustin(0);
        filter.on_delivery(100_000, at(2000.0));
        // α would be negative.
        near(filter.estimate().unwrap(), 25_000.0);
        filter.resume();
        filter.on_delivery(100_000, at(9000.0));
        near(filter.estimate().unwrap(), 25_000.0);
    }

    fn per_round(smoothing: WestwoodSmoothing, rates: &[f64]) -> Vec<f64> {
        let mut filter = PerRound::new(smoothing, Duration::from_millis(50));
        rates
            .iter()
            .map(|rate| {
                filter.take(*rate);
                filter.estimate().unwrap()
            })
            .collect()
    }

    /// `docs/specs/westwood.md`, tests 2 and 3.
    #[test]
    fn westwood_plus_smooths_one_sample_for_each_round_trip() {
        let linux = per_round(WestwoodSmoothing::Linux, &[100.0, 100.0, 200.0, 200.0]);
        assert_eq!(linux, [100.0, 100.0, 101.5625, 104.296_875]);
        let mean_of_two = per_round(WestwoodSmoothing::MeanOfTwo, &[100.0, 100.0, 200.0]);
        mean_of_two.iter().zip([5.0, 14.5, 28.05]).for_each(|(found, expected)| near(*found, expected));
    }

    /// An ACK each 10 ms: 60 ms is the first instant beyond 50 ms, 110 ms beyond a round trip of 100 ms.
    #[test]
    fn a_sample_takes_a_round_trip_and_50_ms_at_least() {
        for (rtt_ms, samples) in [(20, 10), (100, 5)] {
            let mut filter = PerRound::new(WestwoodSmoothing::Linux, Duration::from_millis(50));
            let rtt = Some(Duration::from_millis(rtt_ms));
            let (mut taken, mut before) = (0, filter.since);
            for k in 0..=61 {
                filter.on_delivery(1000, at(10.0 * f64::from(k)), rtt);
                taken += i32::from(before.is_some() && filter.since != before);
                before = filter.since;
            }
            assert_eq!(taken, samples);
            near(filter.estimate().unwrap(), 100_000.0);
        }
    }
}

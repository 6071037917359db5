//! HSWA-TCP increases the window by a step that depends on the error rate of the satellite link. The step falls as the
//! round trip lengthens. Slow start and the reaction to a loss are standard TCP's.
//!
//! X. Ge, J. Liu, Y. Liu and Y. Dong, "HSWA-TCP: a new traffic control algorithm for high-speed satellite communication
//! networks", Chinese Journal of Electronics 18(4), 2009. Source not available. The equations follow R. P. Pandya and
//! A. S. Shaikh, "Enhancement of HSWA-TCP Congestion Avoidance Scheme for High Speed Satellite Communication Network"
//! (eq. 3.1).
//!
//! # How it works
//!
//! - S = -A log2 p, with A = 10 and the error rate p of the link.
//! - Unit_RTT = minRTT / 2.
//! - TD = AvgRTT - Unit_RTT, before the latest round-trip time is in the mean. BaseTD is the least TD so far.
//!
//! The window grows by the following segments, never beyond cwnd_lim:
//!
//! ```text
//! TD = BaseTD:                S
//! BaseTD < TD < 2 BaseTD:     S (1 - (TD - BaseTD) / BaseTD)
//! TD >= 2 BaseTD:             0
//! ```
//!
//! With a steady round trip, TD is half of it, and growth ends when the mean is 1.5 minRTT.
//!
//! # Differences from the source
//!
//! The paper leaves much open. Each reading is a setting:
//!
//! - `per`: the paper does not state the unit of the increment. The default is a round trip, as "increment of
//!   congestion window" suggests. An increment per ACK fits its numbers, and fills the window within a few ACKs.
//! - `third_case_from`: it prints the third case as TD >= BaseTD, against its own text.
//! - `epsilon`: two means are never quite equal.
//! - `cwnd_lim`: it does not give the largest window. By default it is the window that the receiver advertises.
//! - `from_start`: slow start is the standard's until the first loss or cwnd_lim. This setting applies the rule from
//!   the first ACK on.
//! - `avg_rtt`: the mean covers all round-trip times and hardly moves after some minutes. `"ewma"` forgets.
//! - `error_rate`: p is configured, not measured. Its unit is that of the paper's figure, which only losses per packet
//!   fit.
//!
//! Round-trip times are those of segments that were sent once, outside recovery.
//!
//! # When it helps
//!
//! HSWA suits a single connection on a fast geostationary link with rare errors. At an error rate of 1e-8, 266 segments
//! per round trip fill 100 Mbit/s after a loss in 12 round trips, where Reno takes 3200.
//!
//! # When it hurts
//!
//! - HSWA needs an oracle for the error rate. It helps less with more errors, because each error still halves the
//!   window.
//! - It hurts other flows, because the step does not depend on the number of flows on the link. With `per = "ack"` it
//!   also hurts itself: it sends bursts of hundreds of segments at the rate of the first link.
//! - Two flows of HSWA may share 50 Mbit/s as 0.3 to 45. The first flow has a mean above 1.5 times its least round-trip
//!   time, so it adds nothing and only halves. The second flow measured its least value in the queue of the first, so
//!   it adds all the time, and its queue keeps the mean of the first flow high. Without the delay in the rule (`epsilon
//!   = 1e6`), both share evenly.
//! - On low orbits the mean contains the round-trip times of other passes. After a handover to a longer path HSWA grows
//!   slower than it could. After a handover to a shorter path it does not notice a queue.

use crate::parts::loss_window::window_hooks;
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Init, PathState, Window, HALF};
use bentpipe_units::Duration;

bentpipe_units::words! {
    /// Unit per which HSWA's increment is added to the window.
    pub enum HswaPer {
        /// Per round trip: each acknowledged segment adds the increment over the window.
        "rtt" => Rtt,
        /// Per acknowledged segment.
        "ack" => Ack,
    }
}

bentpipe_units::words! {
    /// Mean of round-trip times.
    pub enum HswaMean {
        /// Arithmetic mean of all samples.
        "all" => All,
        /// Exponentially weighted, with 1/64 for each new sample.
        "ewma" => Ewma,
    }
}

settings! {
    /// Settings of HSWA.
    pub struct HswaSettings {
        /// p: error rate of the satellite link.
        error_rate: f64 = 1e-6, [0.0, 1.0], "reading: it is of the link and must be set; the paper has 1e-8 to 1e-1";
        /// Smallest error rate that counts, so that the increment is finite.
        least_error_rate: f64 = 1e-10, [1e-300, 1.0], "reading: 332 segments at most";
        /// A: segments per halving of the error rate.
        a: f64 = 10.0, [0.0, 1000.0], "Pandya and Shaikh";
        /// Unit of time or data per increment.
        per: enum HswaPer = HswaPer::Rtt, "reading: the paper does not say; its throughputs need ack";
        /// cwnd_lim: the largest window, segments; 0: the window that the receiver advertises.
        cwnd_lim: u64 = 0, [0, 1_000_000_000], "reading: the paper does not say";
        /// TD at which the increment becomes 0, as a multiple of BaseTD.
        third_case_from: f64 = 2.0, [1.0, 2.0], "Pandya and Shaikh, text below eq. 3.1; as printed 1";
        /// Largest excess of TD over BaseTD that counts as equal, as a share of BaseTD. A large value removes the delay
        /// from the rule.
        epsilon: f64 = 0.01, [0.0, 1e6], "reading: means are never quite equal";
        /// Mean of the round-trip times.
        avg_rtt: enum HswaMean = HswaMean::All, "Pandya and Shaikh";
        /// Whether the rule replaces the first slow start.
        from_start: bool = false, "reading: only congestion avoidance is HSWA's";
    }
}

/// Mean of round-trip times, as used in TD.
#[derive(Clone, Debug)]
pub(super) struct Mean {
    kind: HswaMean,
    /// The mean, ps.
    value: f64,
    samples: u64,
}

impl Mean {
    fn add(&mut self, rtt: f64) {
        self.samples += 1;
        let weight = match self.kind {
            _ if self.samples == 1 => 1.0,
            HswaMean::All => 1.0 / self.samples as f64,
            HswaMean::Ewma => 1.0 / 64.0,
        };
        self.value += weight * (rtt - self.value);
    }
}

/// Rule of eq. 3.1: the increment of HSWA and Enhanced HSWA.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// S, segments.
    s: f64,
    settings: HswaSettings,
    /// The least round-trip time, ps; infinite before the first sample.
    least: f64,
    mean: Mean,
    base_td: f64,
    /// Share of S that is added; 1 before the first sample.
    share: f64,
}

impl Rule {
    pub(super) fn new(settings: HswaSettings) -> Self {
        let p = settings.error_rate.max(settings.least_error_rate);
        Self {
            s: -settings.a * libm::log2(p),
            settings,
            least: f64::INFINITY,
            mean: Mean { kind: settings.avg_rtt, value: 0.0, samples: 0 },
            base_td: f64::INFINITY,
            share: 1.0,
        }
    }

    /// Changes p.
    pub(super) fn set_error_rate(&mut self, p: f64) {
        self.s = -self.settings.a * libm::log2(p.max(self.settings.least_error_rate));
    }

    /// Adds a round-trip time. Returns its ratio to the mean of the earlier ones, or 1 for the first.
    #[inline]
    pub(super) fn watch(&mut self, rtt: Duration) -> f64 {
        let rtt = rtt.as_ps() as f64;
        self.least = self.least.min(rtt);
        let mean = if self.mean.samples == 0 { rtt } else { self.mean.value };
        let td = mean - self.least / 2.0;
        self.base_td = self.base_td.min(td);
        let excess = (td - self.base_td) / self.base_td;
        self.share = if excess <= self.settings.epsilon {
            1.0
        } else if excess < self.settings.third_case_from - 1.0 {
            1.0 - excess
        } else {
            // Also on a path without any delay.
            0.0
        };
        self.mean.add(rtt);
        if mean > 0.0 {
            rtt / mean
        } else {
            1.0
        }
    }

    /// Returns the least round-trip time, s; `None` before the first sample.
    pub(super) fn least_s(&self) -> Option<f64> {
        self.least.is_finite().then(|| Duration::from_ps(self.least as u64).as_secs_f64())
    }

    /// Returns I: the segments to add per round trip, or per ACK, if the largest window allows.
    #[inline]
    pub(super) fn increment(&self) -> f64 {
        self.s * self.share
    }

    /// Returns the largest window, bytes.
    #[inline]
    pub(super) fn limit(&self, path: &PathState) -> u64 {
        match self.settings.cwnd_lim {
            0 => path.rwnd,
            segments => segments.saturating_mul(path.smss),
        }
    }

    /// Grows the window by an ACK of new data: by slow start, unless `is_avoiding`, otherwise by `factor` times the
    /// increment.
    #[inline]
    pub(super) fn grow(&self, window: &mut Window, ack: &AckSample, path: &PathState, is_avoiding: bool, factor: f64) {
        let (before, ssthresh, limit) = (window.cwnd(), window.ssthresh(), self.limit(path));
        let left = match (is_avoiding, ack.is_cwnd_limited) {
            (true, true) => ack.newly_acked,
            (true, false) => 0,
            (false, _) => window.slow_start(ack, path),
        };
        if left > 0 {
            let room = limit.saturating_sub(before) as f64;
            let step = (factor * self.increment() * path.smss as f64).min(room);
            let segments = left as f64 / path.smss as f64;
            let step = match self.settings.per {
                HswaPer::Ack => step * segments,
                HswaPer::Rtt => step * left as f64 / before as f64,
            };
            window.add(step.min(room));
        } else if window.cwnd() > limit.max(before) {
            // Slow start ends at the largest window.
            window.set(limit.max(before), ssthresh.min(limit));
        }
    }

    #[cfg(test)]
    pub(super) fn set_mean(&mut self, rtt: Duration) {
        self.mean.value = rtt.as_ps() as f64;
    }
}

/// HSWA on a connection: the window, and the rule of its increment.
#[derive(Clone, Debug)]
pub struct Hswa {
    window: Window,
    rule: Rule,
    /// Whether it skips slow start: nothing was lost yet.
    is_avoiding: bool,
}

impl Hswa {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: HswaSettings) -> Self {
        Self { window: Window::new(init), rule: Rule::new(settings), is_avoiding: settings.from_start }
    }
}

impl CongestionControl for Hswa {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        if let Some(rtt) = ack.rtt {
            self.rule.watch(rtt);
        }
        self.rule.grow(&mut self.window, ack, path, self.is_avoiding, 1.0);
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        self.is_avoiding = false;
        let left = path.share(why.left(HALF));
        self.window.reduce(path.as_ssthresh(left), left);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        self.is_avoiding = false;
        self.window.restart(first.then(|| path.half_as_ssthresh()));
    }

    window_hooks!(limit_cwnd, set_window, on_smss, cwnd, ssthresh, inside);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::path;

    const SMSS: u64 = 1000;

    fn ms(ms: f64) -> Duration {
        Duration::from_secs_f64(ms / 1000.0)
    }

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} instead of {expected}");
    }

    fn settings(error_rate: f64) -> HswaSettings {
        HswaSettings { error_rate, ..HswaSettings::default() }
    }

    fn hswa(segments: u64, settings: HswaSettings) -> Hswa {
        Hswa::new(Init { smss: SMSS, cwnd: segments * SMSS, ssthresh: 2 * SMSS, ..Init::default() }, settings)
    }

    fn ack(cc: &mut Hswa, rtt_ms: f64) -> f64 {
        let before = cc.cwnd();
        let rtt = (rtt_ms > 0.0).then(|| ms(rtt_ms));
        let sample = AckSample { newly_acked: SMSS, is_cwnd_limited: true, rtt, ..AckSample::default() };
        cc.on_ack(&sample, &PathState { smss: SMSS, ..path(before) });
        (cc.cwnd() - before) as f64 / SMSS as f64
    }

    /// `docs/specs/hswa-tcp.md`, test 1.
    #[test]
    fn the_step_is_ten_segments_for_each_halving_of_the_error_rate() {
        let s = |p| Rule::new(settings(p)).increment();
        near(s(1e-4), 132.877, 1e-3);
        near(s(1e-8), 265.754, 1e-3);
        near(s(0.0), 332.193, 1e-3);
        assert_eq!(s(1.0), 0.0);
        near(Rule::new(HswaSettings { a: 5.0, ..settings(1e-4) }).increment(), 66.439, 1e-3);
    }

    /// A rule with this mean after a base of 510 ms.
    fn with_mean(mean_ms: f64, settings: HswaSettings) -> f64 {
        let mut rule = Rule::new(settings);
        rule.watch(ms(510.0));
        rule.set_mean(ms(mean_ms));
        rule.watch(ms(510.0));
        rule.increment() / rule.s
    }

    /// `docs/specs/hswa-tcp.md`, test 2: TD of 255, 382.5 and 510 ms.
    #[test]
    fn the_step_falls_in_a_line_to_nothing_at_twice_the_base() {
        let shares =
            [(510.0, 1.0), (512.5, 1.0), (535.5, 0.9), (637.5, 0.5), (764.9, 0.00039), (765.0, 0.0), (1e4, 0.0)];
        for (mean_ms, share) in shares {
            near(with_mean(mean_ms, settings(1e-4)), share, 1e-5);
        }
        let printed = HswaSettings { third_case_from: 1.0, ..settings(1e-4) };
        assert_eq!([510.0, 535.5, 637.5].map(|mean_ms| with_mean(mean_ms, printed)), [1.0, 0.0, 0.0]);
        let exact = HswaSettings { epsilon: 0.0, ..settings(1e-4) };
        near(with_mean(512.55, exact), 0.99, 1e-5);
    }

    /// The round-trip time at hand counts for the next ACK; all have the same weight, or the new one 1/64.
    #[test]
    fn the_mean_is_that_of_the_round_trips_before() {
        for (avg_rtt, mean) in [(HswaMean::All, 700.0), (HswaMean::Ewma, 510.0 + 570.0 / 64.0)] {
            let mut rule = Rule::new(HswaSettings { avg_rtt, ..settings(1e-4) });
            assert_eq!([510.0, 510.0].map(|rtt| rule.watch(ms(rtt))), [1.0, 1.0]);
            near(rule.watch(ms(1080.0)), 1080.0 / 510.0, 1e-9);
            assert_eq!(rule.share, 1.0);
            let before = if avg_rtt == HswaMean::All { 700.0 } else { mean };
            near(rule.mean.value / 1e9, before, 1e-3);
            rule.watch(ms(before));
            near(rule.share, 1.0 - (before - 510.0) / 255.0, 1e-5);
        }
    }

    /// `docs/specs/hswa-tcp.md`, test 3: I = 5 where cwnd is 6370 of 6375.
    #[test]
    fn no_step_leads_beyond_the_largest_window() {
        let per_ack = HswaSettings { per: HswaPer::Ack, cwnd_lim: 6375, ..settings(1e-4) };
        let mut cc = hswa(6370, per_ack);
        assert_eq!([ack(&mut cc, 510.0), ack(&mut cc, 510.0)], [5.0, 0.0]);
        // Five segments in a round trip are 5 / 6370 for each ACK.
        let mut cc = hswa(6370, HswaSettings { per: HswaPer::Rtt, ..per_ack });
        near((0..1000).map(|_| ack(&mut cc, 510.0)).sum(), 5.0 * 1000.0 / 6370.0, 0.4);
        let mut cc = hswa(1000, HswaSettings { cwnd_lim: 0, ..per_ack });
        near(ack(&mut cc, 510.0), 132.877, 1e-3);
        // A larger one than that is left as it is.
        let mut cc = hswa(7000, per_ack);
        assert_eq!(ack(&mut cc, 510.0), 0.0);
    }

    #[test]
    fn a_round_trip_adds_the_step() {
        let mut cc = hswa(3000, settings(1e-8));
        near((0..3000).map(|_| ack(&mut cc, 510.0)).sum(), 265.754, 12.0);
    }

    #[test]
    fn slow_start_goes_up_to_the_largest_window_or_is_left_out() {
        let start = |settings| Hswa::new(Init { smss: SMSS, cwnd: 4 * SMSS, ..Init::default() }, settings);
        let mut cc = start(HswaSettings { cwnd_lim: 10, ..settings(1e-4) });
        (0..20).for_each(|_| {
            ack(&mut cc, 510.0);
        });
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10 * SMSS, 10 * SMSS));
        // One ACK never more than doubles the window.
        let from_start = HswaSettings { from_start: true, per: HswaPer::Ack, ..settings(1e-4) };
        let mut cc = start(from_start);
        let grown: Vec<_> = (0..8).map(|_| ack(&mut cc, 510.0)).collect();
        assert_eq!(grown[..6], [4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
        near(grown[7], 132.877, 1e-3);
        // After a timeout there is slow start.
        cc.on_rto(true, &PathState { smss: SMSS, ..path(cc.cwnd()) });
        assert_eq!([ack(&mut cc, 510.0), ack(&mut cc, 510.0)], [1.0, 1.0]);
    }

    #[test]
    fn losses_and_timeouts_are_renos() {
        let mut cc = hswa(100, settings(1e-4));
        let view = PathState { smss: SMSS, ..path(100 * SMSS) };
        cc.on_congestion(Congestion::FastRetransmit, &view);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (50 * SMSS, 50 * SMSS));
        cc.on_rto(true, &view);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (SMSS, 50 * SMSS));
    }

    #[test]
    fn round_trips_that_take_no_time_add_nothing() {
        let mut rule = Rule::new(settings(1e-4));
        assert_eq!([0.0, 0.0, 510.0].map(|rtt| rule.watch(ms(rtt))), [1.0, 1.0, 1.0]);
        assert_eq!(rule.increment(), 0.0);
    }
}

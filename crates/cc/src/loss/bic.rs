//! BIC searches for the window at which the last loss came. Its steps are proportional to the distance, and beyond that
//! window it leaves as carefully as it arrived. BIC was the default of Linux before CUBIC.
//!
//! L. Xu, K. Harfoush and I. Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks", INFOCOM
//! 2004, with its pseudo-code.
//!
//! # How it works
//!
//! The default has the form and the constants of the Linux module `bic`:
//!
//! ```text
//! d = (last_max - cwnd) / 4             segments added in a round trip:
//! cwnd ≤ 14                             1
//! below last_max                        d, at most 16;  0.2 if d ≤ 1
//! up to 4 above last_max                0.2
//! up to 16 · 3 above it                 (cwnd - last_max) / 3
//! beyond                                16
//! no loss yet, or none since a timeout  those, but at least 5 % of the window
//! ```
//!
//! With `form = "paper"` it jumps half of the distance in a round trip, at most `smax` and at least `smin`, and beyond
//! the maximum it begins with one segment and doubles. The paper has `smax` = 32 and `beta` = 0.875 with that.
//!
//! # Differences from the source
//!
//! - The window keeps fractions of a segment. Linux counts the ACKs for each whole segment and recomputes that count
//!   about 30 times per second.
//! - Growth counts acknowledged bytes. Linux divides by an estimate of the segments per ACK. In old modules that
//!   estimate nearly doubles the steps: `step_factor`.
//!
//! # When it helps
//!
//! BIC is fast where the window is large: 16 segments per round trip are many times Reno's one. In `s2` it has more
//! than twice the goodput of `sack` up to a loss rate of 1e-4. It fills `leo` over all handovers.
//!
//! # When it hurts
//!
//! BIC counts its steps in round trips, so a GEO flow gets next to nothing where short paths share the bottleneck. It
//! is slow where the old maximum no longer holds: the last segments before it and the first beyond it take 20 to 40
//! round trips each, 10 to 20 s over GEO. It keeps the buffer full, and takes about seven tenths of `geo` and two
//! thirds of `s1` from as many flows of `sack`. Two BIC flows that start at different times stay uneven in `geo`.

use crate::parts::loss_window::window_hooks;
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Init, PathState, Window, HALF};

bentpipe_units::words! {
    /// Form of the search.
    pub enum BicForm {
        /// Covers a quarter of the distance per round trip, with a slow last stretch on both sides of the maximum.
        "linux" => Linux,
        /// Covers half of the distance per round trip. Beyond the maximum, adds one segment, then two, four and so on.
        "paper" => Paper,
    }
}

settings! {
    /// Settings of BIC.
    pub struct BicSettings {
        /// Form of the search.
        form: enum BicForm = BicForm::Linux, "Linux";
        /// Window up to which it grows as Reno, segments.
        low_window: u64 = 14, [0, 1_000_000], "Linux; Xu 2004";
        /// Largest increase per round trip, segments.
        smax: f64 = 16.0, [0.01, 1_000_000.0], "Linux; Xu 2004: 32";
        /// Smallest increase per round trip, segments, in the paper's form.
        smin: f64 = 0.01, [0.0001, 1000.0], "Xu 2004";
        /// Divisor of the distance: the part covered per round trip, in Linux's form.
        divisor: u64 = 4, [2, 1000], "Linux (BICTCP_B)";
        /// Round trips for that many segments near the maximum, in Linux's form.
        smooth_part: u64 = 20, [1, 1000], "Linux";
        /// Whether the step is a whole number of segments, in Linux's form.
        whole_steps: bool = true, "Linux";
        /// Factor of all steps above the low window. 1.9375 is the behaviour of Linux 2.6 with an ACK for each segment:
        /// its estimate of segments per ACK starts at two and, in whole numbers, does not fall below 31/16.
        step_factor: f64 = 1.0, [0.01, 100.0], "Xu 2004";
        /// Share of the window after a loss, in thousandths.
        beta: f64 = 0.8, [0.001, 0.999], "Linux: 819/1024; Xu 2004: 0.875";
        /// Whether a loss below the window of the last loss reduces the maximum further, to make room for new flows.
        fast_convergence: bool = true, "Xu 2004";
        /// Smallest increase per round trip before the first loss, as a share of the window.
        first_growth: f64 = 0.05, [0.0, 1.0], "Linux";
        /// Whether a timeout clears the maximum.
        reset_on_rto: bool = true, "Linux";
    }
}

/// BIC on a connection: the window, and the bounds of its search.
#[derive(Clone, Debug)]
pub struct Bic {
    window: Window,
    settings: BicSettings,
    /// Window at the last loss, bytes; 0: no loss yet.
    last_max: f64,
}

impl Bic {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: BicSettings) -> Self {
        Self { window: Window::new(init), settings, last_max: 0.0 }
    }

    fn is_low(&self, path: &PathState) -> bool {
        self.window.cwnd() <= self.settings.low_window.saturating_mul(path.smss)
    }

    /// Segments to add in a round trip to a window of `cwnd`, with the maximum at `max` segments.
    fn step(&self, cwnd: f64, max: f64) -> f64 {
        let settings = &self.settings;
        let step = match settings.form {
            BicForm::Linux => self.linux_step(cwnd, max),
            BicForm::Paper if cwnd < max => ((max - cwnd) / 2.0).max(settings.smin).min(settings.smax),
            BicForm::Paper => {
                // The stage of 2^i segments in a round trip begins 2^i - 1 above the maximum.
                let mut step = 1.0;
                while step < settings.smax && 2.0 * step <= cwnd - max + 1.0 {
                    step *= 2.0;
                }
                step.min(settings.smax)
            }
        };
        if max > 0.0 {
            step
        } else {
            step.max(settings.first_growth * cwnd)
        }
    }

    fn linux_step(&self, cwnd: f64, max: f64) -> f64 {
        let BicSettings { smax, whole_steps, .. } = self.settings;
        let divisor = self.settings.divisor as f64;
        let smooth = divisor / self.settings.smooth_part as f64;
        if cwnd < max {
            let distance = (max - cwnd) / divisor;
            let distance = if whole_steps { distance.floor() } else { distance };
            if distance > smax {
                smax
            } else if distance <= 1.0 {
                smooth.min(smax)
            } else {
                distance
            }
        } else if cwnd < max + divisor {
            smooth.min(smax)
        } else if cwnd < max + smax * (divisor - 1.0) {
            (cwnd - max) / (divisor - 1.0)
        } else {
            smax
        }
    }

    /// Reacts to congestion at this window. Returns the thousandths of it that are left.
    fn decrease(&mut self, path: &PathState) -> u32 {
        let BicSettings { beta, fast_convergence, .. } = self.settings;
        let cwnd = self.window.cwnd() as f64;
        self.last_max = if fast_convergence && cwnd < self.last_max { cwnd * (1.0 + beta) / 2.0 } else { cwnd };
        if self.is_low(path) {
            HALF
        } else {
            (1000.0 * beta).round() as u32
        }
    }
}

impl CongestionControl for Bic {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        let left = self.window.slow_start(ack, path);
        if left == 0 {
            return;
        }
        if self.is_low(path) {
            return self.window.increase(left, path);
        }
        let smss = path.smss as f64;
        let cwnd = self.window.cwnd() as f64 / smss;
        let step = self.step(cwnd, self.last_max / smss) * self.settings.step_factor;
        // Never faster than slow start.
        self.window.add(left as f64 * (step / cwnd).min(1.0));
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let left = path.share(why.left(self.decrease(path)));
        self.window.reduce(path.as_ssthresh(left), left);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        let ssthresh = first.then(|| path.as_ssthresh(path.share(self.decrease(path))));
        if self.settings.reset_on_rto {
            self.last_max = 0.0;
        }
        self.window.restart(ssthresh);
    }

    window_hooks!(limit_cwnd, set_window, on_smss, cwnd, ssthresh, inside);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::path;

    const SMSS: u64 = 1000;

    fn with(segments: u64, last_max: u64, settings: BicSettings) -> Bic {
        let init = Init { smss: SMSS, cwnd: segments * SMSS, ssthresh: 2 * SMSS, ..Init::default() };
        Bic { last_max: (last_max * SMSS) as f64, ..Bic::new(init, settings) }
    }

    fn bic(segments: u64, last_max: u64) -> Bic {
        with(segments, last_max, BicSettings::default())
    }

    fn paper() -> BicSettings {
        BicSettings { form: BicForm::Paper, smax: 32.0, beta: 0.875, ..BicSettings::default() }
    }

    fn view(cc: &Bic) -> PathState {
        PathState { smss: SMSS, ..path(cc.cwnd()) }
    }

    fn ack(cc: &mut Bic) {
        let ack = AckSample { newly_acked: SMSS, is_cwnd_limited: true, rtt: None, ..AckSample::default() };
        cc.on_ack(&ack, &view(cc));
    }

    fn lose(cc: &mut Bic) {
        cc.on_congestion(Congestion::FastRetransmit, &view(cc));
    }

    fn near(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a}, expected {b}");
    }

    /// Round trips from one window to another, segments.
    fn rounds(cc: &mut Bic, until: u64) -> f64 {
        let mut rounds = 0.0;
        while cc.cwnd() < until * SMSS {
            rounds += SMSS as f64 / cc.cwnd() as f64;
            ack(cc);
        }
        rounds
    }

    /// `docs/specs/bic.md`, tests: in whole and in broken steps.
    #[test]
    fn steps_below_the_maximum() {
        for whole_steps in [true, false] {
            let settings = BicSettings { whole_steps, ..BicSettings::default() };
            let step = |cwnd| with(cwnd, 1000, settings).step(cwnd as f64, 1000.0);
            assert_eq!([800, 935, 980].map(step), [16.0, 16.0, 5.0]);
            near(step(998), 0.2, 1e-12);
            assert_eq!(step(994), if whole_steps { 0.2 } else { 1.5 });
        }
        // Each ACK adds its part.
        let mut cc = bic(800, 1000);
        (0..800).for_each(|_| ack(&mut cc));
        near(cc.cwnd() as f64, 816_000.0, 200.0);
    }

    /// 31/16 of the sixteen segments in a round trip; Reno's part stays as it is.
    #[test]
    fn steps_may_be_multiplied() {
        let settings = BicSettings { step_factor: 31.0 / 16.0, ..BicSettings::default() };
        let mut cc = with(800, 1000, settings);
        (0..800).for_each(|_| ack(&mut cc));
        near(cc.cwnd() as f64, 831_000.0, 1000.0);
        let mut cc = with(14, 1000, settings);
        ack(&mut cc);
        assert_eq!(cc.cwnd(), 14_071);
    }

    #[test]
    fn steps_beyond_the_maximum() {
        let step = |cwnd: f64| bic(1000, 1000).step(cwnd, 1000.0);
        assert_eq!([1000.0, 1003.9].map(step), [0.2; 2]);
        assert_eq!([1006.0, 1030.0, 1048.0, 5000.0].map(step), [2.0, 10.0, 16.0, 16.0]);
    }

    /// Without a maximum: a third of windows up to 48, then 16, then 5 %.
    #[test]
    fn before_the_first_loss_the_window_grows_by_a_twentieth() {
        let step = |cwnd: f64| bic(30, 0).step(cwnd, 0.0);
        assert_eq!([30.0, 100.0, 320.0, 1000.0].map(step), [10.0, 16.0, 16.0, 50.0]);
        let mut cc = bic(1000, 0);
        near(rounds(&mut cc, 2000), 2.0_f64.ln() / 0.05, 0.01);
    }

    #[test]
    fn a_loss_takes_a_fifth_and_a_second_one_lowers_the_maximum() {
        let mut cc = bic(1000, 0);
        lose(&mut cc);
        assert_eq!((cc.cwnd(), cc.ssthresh(), cc.last_max), (800_000, 800_000, 1_000_000.0));
        lose(&mut cc);
        assert_eq!(cc.cwnd(), 640_000);
        near(cc.last_max, 720_000.0, 1e-6);
        let mut cc = with(800, 1000, BicSettings { fast_convergence: false, ..BicSettings::default() });
        lose(&mut cc);
        assert_eq!(cc.last_max, 800_000.0);
        cc.on_congestion(Congestion::Ecn { beta: Some(850) }, &view(&cc));
        assert_eq!(cc.cwnd(), 544_000);
    }

    #[test]
    fn small_windows_are_renos() {
        let mut cc = bic(14, 1000);
        ack(&mut cc);
        assert_eq!(cc.cwnd(), 14_071);
        let mut cc = bic(14, 1000);
        lose(&mut cc);
        assert_eq!(cc.cwnd(), 7000);
        let mut cc = bic(15, 1000);
        ack(&mut cc);
        assert_eq!(cc.cwnd(), 16_000, "never faster than slow start");
        let mut cc = bic(15, 1000);
        lose(&mut cc);
        assert_eq!(cc.cwnd(), 12_000);
    }

    #[test]
    fn a_timeout_makes_it_forget_the_maximum_or_not() {
        for (reset_on_rto, last_max) in [(true, 0.0), (false, 1_000_000.0)] {
            let mut cc = with(1000, 1000, BicSettings { reset_on_rto, ..BicSettings::default() });
            cc.on_rto(true, &view(&cc));
            assert_eq!((cc.cwnd(), cc.ssthresh(), cc.last_max), (1000, 800_000, last_max));
            cc.on_rto(false, &view(&cc));
            assert_eq!((cc.cwnd(), cc.ssthresh(), cc.last_max), (1000, 800_000, last_max));
        }
    }

    /// 16 segments in each round trip to 64 below the maximum; 4 ln 16 to 4 below it, as the distance shrinks by a quarter
    /// in a round trip; then 20 for 4 segments. In whole steps the search ends 8 below.
    #[test]
    fn recovery_time() {
        for segments in [1000, 2000, 5000] {
            let additive = (0.2 * segments as f64 - 64.0) / 16.0;
            let mut cc = with(segments, 0, BicSettings { whole_steps: false, ..BicSettings::default() });
            lose(&mut cc);
            near(rounds(&mut cc, segments), additive + 4.0 * 16.0_f64.ln() + 20.0, 0.1);
            let mut cc = bic(segments, 0);
            lose(&mut cc);
            let search: f64 = (2..16).map(|step| 4.0 / f64::from(step)).sum();
            near(rounds(&mut cc, segments), additive + 4.0 / 16.0 + search + 40.0 - 0.25, 0.5);
        }
    }

    #[test]
    fn the_papers_form_jumps_to_the_midpoint() {
        let step = |cwnd: f64| with(1000, 1000, paper()).step(cwnd, 1000.0);
        assert_eq!([800.0, 936.0, 980.0, 998.0, 999.99].map(step), [32.0, 32.0, 10.0, 1.0, 0.01]);
        // Beyond it: slow start of its own, from 1 to 32.
        assert_eq!([1000.0, 1000.9, 1001.0, 1002.9, 1003.0, 1007.0].map(step), [1.0, 1.0, 2.0, 2.0, 4.0, 8.0]);
        assert_eq!([1030.9, 1031.0, 9000.0].map(step), [16.0, 32.0, 32.0]);
        let mut cc = with(1000, 0, paper());
        lose(&mut cc);
        assert_eq!(cc.cwnd(), 875_000);
    }

    /// (125 - 64) / 32 round trips of additive increase, 2 ln(64 / 0.02) of search, 2 for the last 0.02 segments.
    #[test]
    fn recovery_time_of_the_papers_form() {
        let mut cc = with(1000, 0, paper());
        lose(&mut cc);
        near(rounds(&mut cc, 1000), 61.0 / 32.0 + 2.0 * (64.0_f64 / 0.02).ln() + 2.0, 0.2);
    }

    #[test]
    fn extremes_do_no_harm() {
        for settings in [BicSettings::default(), paper(), BicSettings { low_window: 0, smax: 1e6, ..paper() }] {
            for (segments, last_max) in [(1, 0), (1 << 30, 0), (1, 1 << 30), (1 << 30, 1)] {
                let mut cc = with(segments, last_max, settings);
                let ack = AckSample { newly_acked: u64::MAX, is_cwnd_limited: true, rtt: None, ..AckSample::default() };
                let path = PathState { srtt: None, ..view(&cc) };
                (0..100).for_each(|_| cc.on_ack(&ack, &path));
                lose(&mut cc);
                assert!(cc.cwnd() >= SMSS);
            }
        }
    }
}

//! TCP-Illinois adapts the increase and the decrease of Reno to the queueing delay. With a short queue it adds many
//! segments per round trip and gives up little for a loss. With a long queue it grows slower than Reno and halves.
//!
//! S. Liu, T. Başar, R. Srikant, "TCP-Illinois: a loss- and delay-based congestion control algorithm for high-speed
//! networks", VALUETOOLS 2006 and Performance Evaluation 65, 2008.
//!
//! # How it works
//!
//! Losses decide when the window shrinks, the mean queueing delay da decides by how much. The curves are α = f1(da) and
//! β = f2(da). Constants, the end of a round trip by sequence number and the reset by a timeout are Linux's.
//!
//! # Differences from the source
//!
//! - Growth counts acknowledged bytes, so delayed ACKs do not slow it.
//! - The share of a loss is rounded to a thousandth.
//! - Round-trip times are ignored during the repair of a loss.
//! - da is at most dm, which matters only when an extreme is forgotten.
//!
//! # When it helps
//!
//! TCP-Illinois is fast with errors and little queueing. There it adds ten segments per round trip and gives up an
//! eighth, which gives √50 times the window of Reno at the same loss rate. In `s2` that is more than three times the
//! goodput of `sack` from a loss rate of 1e-4 on, in `s1` twice at 3e-2. In `geo`, where only the queue drops, it has
//! the goodput of `sack`, with a longer queue.
//!
//! # When it hurts
//!
//! TCP-Illinois may be slow where the delay changes for other reasons. After a handover of a low orbit to a longer
//! path, all delay looks like queueing. It then adds 0.3 segments per round trip and halves until the base is
//! forgotten. In `leo`, whose steps of 8 ms are shorter than the queue, this does not occur. It takes little more than
//! half of `geo` and of `s1` from as many flows of `sack`. Two flows of TCP-Illinois that start at different times stay
//! uneven in `geo`.

use crate::parts::loss_window::window_hooks;
use crate::parts::round::Round;
use crate::parts::windowed::{MaxRtt, MinRtt};
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Init, Insides, PathState, Window};
use bentpipe_units::Duration;

settings! {
    /// Settings of TCP-Illinois.
    pub struct IllinoisSettings {
        /// Increase with a short queue, segments per round trip.
        alpha_max: f64 = 10.0, [1.0, 1000.0], "Liu 2006";
        /// Increase at the greatest delay, segments per round trip.
        alpha_min: f64 = 0.3, [0.01, 1.0], "Liu 2006; Linux";
        /// Share of the window that a loss takes with a short queue.
        beta_min: f64 = 0.125, [0.001, 0.9], "Liu 2006";
        /// Share of the window that a loss takes near the greatest delay.
        beta_max: f64 = 0.5, [0.001, 0.9], "Liu 2006";
        /// d1: share of the greatest queueing delay up to which the increase is alpha_max.
        alpha_delay: f64 = 0.01, [0.0, 0.99], "Liu 2006";
        /// d2: share of the greatest queueing delay up to which a loss takes beta_min.
        beta_delay_low: f64 = 0.1, [0.0, 1.0], "Liu 2006";
        /// d3: share of the greatest queueing delay above which a loss takes beta_max.
        beta_delay_high: f64 = 0.8, [0.0, 1.0], "Liu 2006";
        /// θ: round trips with a short queue before the increase is alpha_max again.
        theta: u64 = 5, [1, 1000], "Liu 2006";
        /// Whether those round trips must be consecutive. Otherwise a long queue in between does not clear the count.
        in_a_row: bool = true, "Liu 2006; Linux: not";
        /// Window below which it is Reno, segments.
        low_window: u64 = 15, [1, 1_000_000], "Linux";
        /// Memory of the greatest round-trip time; 0: the whole connection. 10 s suits low orbits.
        max_rtt_window: Duration = Duration::ZERO, "Liu 2006";
        /// Memory of the least round-trip time; 0: the whole connection. 10 s suits low orbits.
        base_rtt_window: Duration = Duration::ZERO, "Liu 2006";
    }
}

/// Reno's increase and decrease.
const BASE: (f64, f64) = (1.0, 0.5);

/// Illinois on a connection: the window, and the delays that set its α and β.
#[derive(Clone, Debug)]
pub struct Illinois {
    window: Window,
    /// Segments per round trip.
    alpha: f64,
    /// Share of the window that a loss takes.
    beta: f64,
    round: Round,
    base: MinRtt,
    max: MaxRtt,
    /// Sum, ps, and count of the round-trip times of this round.
    sum: u128,
    count: u64,
    /// Whether the queue has been long since alpha was last alpha_max.
    was_long: bool,
    /// Round trips with a short queue since then.
    short: u64,
    settings: IllinoisSettings,
}

impl Illinois {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: IllinoisSettings) -> Self {
        Self {
            window: Window::new(init),
            alpha: settings.alpha_max,
            beta: settings.beta_max,
            round: Round::default(),
            base: MinRtt::new(settings.base_rtt_window),
            max: MaxRtt::new(settings.max_rtt_window),
            sum: 0,
            count: 0,
            was_long: false,
            short: 0,
            settings,
        }
    }

    fn sample(&mut self, rtt: Duration, path: &PathState) {
        self.base.sample(rtt, path.now);
        self.max.sample(rtt, path.now);
        self.sum += u128::from(rtt.as_ps());
        self.count += 1;
    }

    /// Ends a round trip: sets alpha and beta for the next.
    fn update(&mut self, path: &PathState) {
        if self.window.cwnd() < self.settings.low_window.saturating_mul(path.smss) {
            (self.alpha, self.beta) = BASE;
        } else if let (Some(base), Some(max), Some(mean)) =
            (self.base.get(), self.max.get(), self.sum.checked_div(self.count.into()))
        {
            let dm = max.saturating_sub(base).as_ps() as f64;
            let da = (mean.saturating_sub(base.as_ps().into()) as f64).min(dm);
            self.alpha = self.alpha(da, dm);
            self.beta = self.settings.beta(da, dm);
        }
        (self.sum, self.count) = (0, 0);
    }

    fn alpha(&mut self, da: f64, dm: f64) -> f64 {
        if da > self.settings.alpha_delay * dm {
            self.was_long = true;
            if self.settings.in_a_row {
                self.short = 0;
            }
            return self.settings.curve(da, dm);
        }
        if self.was_long {
            self.short += 1;
            if self.short < self.settings.theta {
                return self.alpha;
            }
            (self.was_long, self.short) = (false, 0);
        }
        self.settings.alpha_max
    }

    /// Thousandths of the window after a loss.
    fn left(&self) -> u32 {
        (1000.0 * (1.0 - self.beta)).round() as u32
    }
}

impl IllinoisSettings {
    /// Returns κ1 / (κ2 + da). κ1 = (dm - d1) αmin αmax / (αmax - αmin) and κ2 = (dm - d1) αmin / (αmax - αmin) - d1.
    /// Both are multiplied by αmax - αmin, which may be zero. Here da > d1, so dm > d1.
    fn curve(&self, da: f64, dm: f64) -> f64 {
        let d1 = self.alpha_delay * dm;
        let (least, greatest) = (self.alpha_min, self.alpha_max);
        (dm - d1) * least * greatest / ((dm - d1) * least + (da - d1) * (greatest - least))
    }

    /// Returns β, linear between d2 and d3.
    fn beta(&self, da: f64, dm: f64) -> f64 {
        let (d2, d3) = (self.beta_delay_low * dm, self.beta_delay_high * dm);
        if da <= d2 {
            self.beta_min
        } else if da >= d3 {
            self.beta_max
        } else {
            self.beta_min + (self.beta_max - self.beta_min) * (da - d2) / (d3 - d2)
        }
    }
}

impl CongestionControl for Illinois {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        if let Some(rtt) = ack.rtt {
            self.sample(rtt, path);
        }
        if self.round.is_over(path) {
            self.update(path);
        }
        let left = self.window.slow_start(ack, path);
        if left > 0 {
            // α / cwnd per segment. One ACK counts for one window at most.
            let cwnd = self.window.cwnd();
            let windows = left.min(cwnd) as f64 / cwnd as f64;
            // Never faster than slow start.
            self.window.add((self.alpha * path.smss as f64 * windows).min(left as f64));
        }
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let left = path.share(why.left(self.left()));
        self.window.reduce(path.as_ssthresh(left), left);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        self.window.restart(first.then(|| path.as_ssthresh(path.share(self.left()))));
        // A timeout shows that the delay was misread: Reno until a round trip is measured.
        (self.alpha, self.beta) = BASE;
        (self.was_long, self.short) = (false, 0);
        (self.sum, self.count) = (0, 0);
        self.round.begin(path);
    }

    fn inside(&self, insides: &mut Insides<'_>) {
        self.window.inside(insides);
        insides.min_rtt(self.base.get()).own("alpha_segments", self.alpha).own("beta", self.beta);
    }

    window_hooks!(limit_cwnd, set_window, on_smss, cwnd, ssthresh);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::path;
    use bentpipe_units::Time;

    fn illinois(segments: u64, settings: IllinoisSettings) -> Illinois {
        let init = Init { smss: 1000, cwnd: segments * 1000, ssthresh: 2000, ..Init::default() };
        Illinois::new(init, settings)
    }

    /// A connection with its clock and its sequence numbers.
    struct Run {
        cc: Illinois,
        now: Time,
        snd_una: u64,
    }

    impl Run {
        fn new(segments: u64, settings: IllinoisSettings) -> Self {
            Self { cc: illinois(segments, settings), now: Time::ZERO, snd_una: 0 }
        }

        fn view(&self) -> PathState {
            let snd_nxt = self.snd_una + self.cc.cwnd();
            PathState { now: self.now, smss: 1000, snd_una: self.snd_una, snd_nxt, ..path(self.cc.cwnd()) }
        }

        /// An ACK for each segment of a window, all with this delay. What the round taught governs the next.
        fn round(&mut self, rtt_ms: u64) {
            self.now += Duration::from_millis(rtt_ms);
            let ack = AckSample {
                newly_acked: 1000,
                is_cwnd_limited: true,
                rtt: Some(Duration::from_millis(rtt_ms)),
                ..AckSample::default()
            };
            let end = self.snd_una + self.cc.cwnd();
            while self.snd_una < end {
                let before = self.view();
                self.snd_una += 1000;
                self.cc.on_ack(&ack, &PathState { snd_una: self.snd_una, ..before });
            }
        }

        fn lose(&mut self) {
            self.cc.on_congestion(Congestion::FastRetransmit, &self.view());
        }
    }

    const DEFAULT: fn() -> IllinoisSettings = IllinoisSettings::default;

    /// `docs/specs/illinois.md`, tests: dm 100 ms.
    #[test]
    fn alpha_and_beta_by_delay() {
        let table = [(10.0, 2.538, 0.125), (50.0, 0.588, 0.3393), (100.0, 0.3, 0.5), (1.0, 10.0, 0.125)];
        for (da, alpha, beta) in table {
            let mut cc = illinois(100, DEFAULT());
            assert!((cc.alpha(da, 100.0) - alpha).abs() < 5e-4, "{da}: {}", cc.alpha(da, 100.0));
            assert!((cc.settings.beta(da, 100.0) - beta).abs() < 5e-5, "{da}");
        }
        // The paper's own form of the curve.
        let (kappa_1, kappa_2) = (99.0 * 0.3 * 10.0 / 9.7, 99.0 * 0.3 / 9.7 - 1.0);
        for da in [1.5, 20.0, 70.0] {
            assert!((DEFAULT().curve(da, 100.0) - kappa_1 / (kappa_2 + da)).abs() < 1e-9);
        }
    }

    #[test]
    fn the_delays_are_those_of_acks() {
        let mut run = Run::new(100, DEFAULT());
        run.round(100);
        run.round(200);
        run.round(150);
        run.round(150);
        run.round(150);
        assert!((run.cc.alpha - 0.588).abs() < 0.02, "{}", run.cc.alpha);
        assert!((run.cc.beta - 0.3393).abs() < 0.01, "{}", run.cc.beta);
    }

    #[test]
    fn without_queueing_ten_segments_per_round_trip_and_an_eighth_for_each_loss() {
        let mut run = Run::new(1000, DEFAULT());
        run.round(500);
        assert!((1_009_900..=1_010_000).contains(&run.cc.cwnd()), "{}", run.cc.cwnd());
        let mut run = Run::new(1000, DEFAULT());
        run.round(500);
        let before = run.cc.cwnd();
        run.lose();
        assert_eq!(run.cc.cwnd(), before * 875 / 1000);
    }

    /// AIMD with α 10 and β 1/8: the mean window is √(α (2 - β) / (2 β p)) = √(75 / p), √50 times that of Reno.
    #[test]
    fn the_response_function_without_queueing() {
        for p in [1e-3, 1e-4, 1e-5] {
            let mut run = Run::new(300, DEFAULT());
            run.round(500);
            let (mut rounds, mut sent, mut acked) = (0.0, 0.0, 0.0);
            for cycle in 0..60 {
                acked -= 1.0 / p;
                while acked < 0.0 {
                    let window = run.cc.cwnd() as f64 / 1000.0;
                    run.round(500);
                    acked += window;
                    if cycle >= 40 {
                        (rounds, sent) = (rounds + 1.0, sent + window);
                    }
                }
                run.lose();
            }
            let (mean, expected) = (sent / rounds, (75.0 / p).sqrt());
            assert!((mean / expected - 1.0).abs() < 0.04, "{p}: {mean} {expected}");
        }
    }

    #[test]
    fn small_windows_are_renos() {
        let mut run = Run::new(10, DEFAULT());
        run.round(500);
        run.round(500);
        assert!((11_700..=12_000).contains(&run.cc.cwnd()), "{}", run.cc.cwnd());
        let before = run.cc.cwnd();
        run.lose();
        assert_eq!(run.cc.cwnd(), before / 2);
    }

    /// Five short ones bring α back, one after the other or not.
    #[test]
    fn alpha_waits_for_the_queue_to_stay_short() {
        let rounds_to_greatest = |in_a_row| {
            let mut cc = illinois(100, IllinoisSettings { in_a_row, ..DEFAULT() });
            let delays = [100.0, 0.0, 0.0, 0.0, 50.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
            delays.iter().position(|da| {
                cc.alpha = cc.alpha(*da, 100.0);
                cc.alpha > 9.0
            })
        };
        assert_eq!(rounds_to_greatest(true), Some(9));
        assert_eq!(rounds_to_greatest(false), Some(6));
    }

    #[test]
    fn a_timeout_makes_it_reno_until_a_round_trip_is_measured() {
        let mut run = Run::new(100, DEFAULT());
        run.round(100);
        run.round(100);
        run.cc.on_rto(true, &run.view());
        assert_eq!((run.cc.alpha, run.cc.beta), BASE);
        assert_eq!(run.cc.cwnd(), 1000);
        assert!(run.cc.ssthresh() > 87_000, "by the β of before: {}", run.cc.ssthresh());
    }

    /// A handover from 40 ms to 60 ms: all the difference is queueing until the base is forgotten.
    #[test]
    fn after_a_handover_to_a_longer_path_it_depends_on_the_memory() {
        let alpha_after = |window| {
            let settings = IllinoisSettings { max_rtt_window: window, base_rtt_window: window, ..DEFAULT() };
            let mut run = Run::new(20, settings);
            (0..20).for_each(|_| run.round(40));
            (0..200).for_each(|_| run.round(60));
            run.cc.alpha
        };
        assert!((alpha_after(Duration::ZERO) - 0.3).abs() < 0.01);
        assert!((alpha_after(Duration::from_secs(10)) - 10.0).abs() < 0.01);
    }

    #[test]
    fn extreme_settings_and_delays_are_numbers() {
        for (alpha_delay, beta_delay_low, beta_delay_high) in [(0.0, 0.0, 0.0), (0.99, 1.0, 0.0), (0.5, 0.8, 0.8)] {
            let settings = IllinoisSettings {
                alpha_max: 1.0,
                alpha_min: 1.0,
                alpha_delay,
                beta_delay_low,
                beta_delay_high,
                ..DEFAULT()
            };
            let mut cc = illinois(100, settings);
            for (da, dm) in [(0.0, 0.0), (1.0, 1.0), (0.5, 1.0), (1e19, 1e19)] {
                assert!((cc.alpha(da, dm) - 1.0).abs() < 1e-9);
                assert!((0.125..=0.5).contains(&cc.settings.beta(da, dm)));
            }
        }
        let mut cc = illinois(100, DEFAULT());
        for rtt in [Duration::ZERO, Duration::MAX, Duration::ZERO] {
            cc.on_ack(
                &AckSample { newly_acked: u64::MAX, is_cwnd_limited: true, rtt: Some(rtt), ..AckSample::default() },
                &path(1),
            );
            cc.round = Round::default();
        }
    }
}

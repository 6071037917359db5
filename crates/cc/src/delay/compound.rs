//! Compound TCP adds a delay-based window to Reno's window. The delay-based window grows fast while there is no queue,
//! and shrinks when there is one. The sum is the window, so it is never smaller than Reno's alone.
//!
//! K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP approach for high-speed and long distance networks",
//! INFOCOM 2006, and draft-sridharan-tcpm-ctcp.
//!
//! # How it works
//!
//! The window is win = cwnd + dwnd. The delay-based part dwnd grows by α winᵏ - 1 per round trip, and shrinks by ζ diff
//! while a queue is measured. A loss reduces the window by β. The threshold γ is tuned by the queue that Reno alone
//! would have built.
//!
//! # Differences from the source
//!
//! - The ACKs of the next round trip share the increase of dwnd for a round trip, at most that amount in total.
//! - A shrinking dwnd lowers ssthresh with it if win falls below ssthresh, so slow start does not fill the queue again.
//! - While the window is not in use, dwnd neither grows nor shrinks.
//! - The share of a loss is one of the connection's reactions to loss, in thousandths.
//! - Other limits of the window take the same share of both parts.
//! - Round-trip times are ignored during the repair of a loss.
//!
//! # When it helps
//!
//! Compound is fast on long paths with little queueing. It recovers soon after random losses, as its window is
//! proportional to p^-0.8, and Reno's to p^-0.5. In `s2` it has about twice the goodput of `sack` up to a loss rate of
//! 1e-4. It takes nothing from Reno's flows: beside `sack` both have half, in `geo` and in `s1`.
//!
//! # When it hurts
//!
//! With a standing queue, dwnd is zero and Reno's window is left. In `geo` the overshoot of slow start leaves a queue
//! that lasts for minutes, and Compound equals `sack`. Below 38 segments it changes nothing. All of `s1`, and `s2` from
//! a loss rate of 1e-3 on, are in that range. If the delay varies for other reasons, as after a handover of a low orbit
//! to a longer path, dwnd is zero until the base is forgotten. In `leo` it has the goodput of `sack`.

use crate::parts::loss_window::window_hooks;
use crate::parts::round::Round;
use crate::parts::windowed::MinRtt;
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Init, Insides, PathState, Window};
use bentpipe_units::Duration;

bentpipe_units::words! {
    /// Fate of the delay-based window when the sum is below the low window.
    pub enum BelowLowWindow {
        /// Drops to zero immediately: Reno's window is left.
        "drop" => Drop,
        /// Becomes a part of Reno's window: the sum stays the same.
        "keep" => Keep,
    }
}

settings! {
    /// Settings of Compound TCP.
    pub struct CompoundSettings {
        /// α: factor of the power of the window, segments per round trip.
        alpha: f64 = 0.125, [0.0001, 10.0], "Tan 2006";
        /// Share of the window that a loss takes.
        beta: f64 = 0.5, [0.05, 0.5], "Tan 2006";
        /// k: exponent of the window in the increase.
        k: f64 = 0.75, [0.0, 1.0], "Tan 2006";
        /// ζ: segments removed for each segment queued.
        zeta: f64 = 1.0, [0.0, 10.0], "Tan 2006";
        /// γ: queued segments at which the delay-based window starts to shrink.
        gamma: f64 = 30.0, [1.0, 10_000.0], "Tan 2006";
        /// Whether γ is tuned by the queue of Reno's part before losses.
        gamma_tuning: bool = true, "draft-sridharan-tcpm-ctcp";
        /// Smallest γ of the tuning, segments.
        gamma_min: f64 = 5.0, [1.0, 10_000.0], "draft-sridharan-tcpm-ctcp";
        /// Largest γ of the tuning, segments.
        gamma_max: f64 = 30.0, [1.0, 10_000.0], "draft-sridharan-tcpm-ctcp";
        /// λ: share of its error that γ moves by.
        lambda: f64 = 0.25, [0.0, 1.0], "draft-sridharan-tcpm-ctcp";
        /// Window below which it is Reno, segments.
        low_window: u64 = 38, [1, 1_000_000], "Tan 2006; the draft: 41";
        /// Fate of the delay-based window below that.
        below_low_window: enum BelowLowWindow = BelowLowWindow::Drop, "reading of Tan 2006";
        /// Memory of the least round-trip time; 0: the whole connection. 10 s suits low orbits.
        base_rtt_window: Duration = Duration::ZERO, "Tan 2006";
    }
}

/// Samples up to which a round trip is ignored.
const SAMPLES_TOO_FEW: u32 = 2;

/// Compound on a connection: the window, whose one part is delay-based.
#[derive(Clone, Debug)]
pub struct Compound {
    /// Sum of both parts.
    window: Window,
    /// The delay-based part, bytes.
    dwnd: f64,
    /// Bytes that this round trip may still add to the delay-based part, and its total.
    pending: f64,
    increase: f64,
    round: Round,
    base: MinRtt,
    /// The least round-trip time of this round.
    least: Option<Duration>,
    samples: u32,
    /// The sum at its start, and Reno's part, bytes.
    sent: (f64, f64),
    gamma: f64,
    /// Segments that Reno alone queued in the last round trip; `None` since the last loss.
    diff_reno: Option<f64>,
    settings: CompoundSettings,
}

impl Compound {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: CompoundSettings) -> Self {
        Self {
            window: Window::new(init),
            dwnd: 0.0,
            pending: 0.0,
            increase: 0.0,
            round: Round::default(),
            base: MinRtt::new(settings.base_rtt_window),
            least: None,
            samples: 0,
            sent: (0.0, 0.0),
            gamma: settings.gamma,
            diff_reno: None,
            settings,
        }
    }

    fn win(&self) -> f64 {
        self.window.cwnd() as f64
    }

    /// Reno's part.
    fn reno(&self) -> f64 {
        (self.win() - self.dwnd).max(0.0)
    }

    /// Discards the measurements and the increase of this round trip.
    fn forget_round(&mut self) {
        (self.pending, self.increase) = (0.0, 0.0);
        (self.least, self.samples) = (None, 0);
        self.sent = (self.win(), self.reno());
    }

    /// Ends a round trip of congestion avoidance.
    fn update(&mut self, path: &PathState) {
        let smss = path.smss as f64;
        if self.win() < self.settings.low_window as f64 * smss {
            match self.settings.below_low_window {
                BelowLowWindow::Drop => self.shrink_to(0.0, path),
                BelowLowWindow::Keep => self.dwnd = 0.0,
            }
        } else if let (Some(base), Some(least), true) = (self.base.get(), self.least, self.samples > SAMPLES_TOO_FEW) {
            let queued = match least.as_ps() {
                0 => 0.0,
                least => least.saturating_sub(base.as_ps()) as f64 / least as f64 / smss,
            };
            let diff = self.sent.0 * queued;
            self.diff_reno = Some(self.sent.1 * queued);
            if diff < self.gamma {
                let segments = self.settings.alpha * libm::pow(self.win() / smss, self.settings.k) - 1.0;
                self.increase = segments.max(0.0) * smss;
            } else {
                self.shrink_to((self.dwnd - self.settings.zeta * diff * smss).max(0.0), path);
            }
        }
    }

    /// Shrinks the delay-based part to `dwnd` bytes, and the window with it.
    fn shrink_to(&mut self, dwnd: f64, path: &PathState) {
        if dwnd >= self.dwnd {
            return;
        }
        // Rounded up, and at least two segments, as after a loss.
        let win = (libm::ceil(self.reno() + dwnd) as u64).max(2 * path.smss).min(self.window.cwnd());
        self.window.set(win, self.window.ssthresh().min(win));
        self.dwnd = dwnd.min(self.win());
    }

    /// Returns the share of this ACK in the increase of the delay-based part, bytes.
    fn take(&mut self, left: u64) -> f64 {
        let share = (self.increase * left as f64 / self.sent.0.max(1.0)).min(self.pending);
        self.pending -= share;
        share
    }

    /// Adapts the parts to a window that was `before` bytes: both by the same share if it shrank, only Reno's if it
    /// grew.
    fn on_change(&mut self, before: f64) {
        if self.win() < before {
            self.dwnd *= self.win() / before;
        }
        self.dwnd = self.dwnd.min(self.win());
        self.forget_round();
    }

    fn tune(&mut self) {
        if let (Some(diff_reno), true) = (self.diff_reno.take(), self.settings.gamma_tuning) {
            let gamma = self.gamma + self.settings.lambda * (0.75 * diff_reno - self.gamma);
            // Not clamp: the settings may be in the wrong order.
            self.gamma = gamma.min(self.settings.gamma_max).max(self.settings.gamma_min);
        }
    }
}

impl CongestionControl for Compound {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        if let Some(rtt) = ack.rtt {
            self.base.sample(rtt, path.now);
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.samples = self.samples.saturating_add(1);
        }
        let in_slow_start = self.window.is_in_slow_start();
        if in_slow_start {
            self.dwnd = 0.0;
        }
        if self.round.is_over(path) {
            let increase = if ack.is_cwnd_limited && !in_slow_start {
                self.increase = 0.0;
                self.update(path);
                self.increase
            } else {
                0.0
            };
            self.forget_round();
            (self.pending, self.increase) = (increase, increase);
        }
        let left = self.window.slow_start(ack, path);
        if left == 0 {
            return;
        }
        // 1 / (cwnd + dwnd): Reno's increase of the sum.
        self.window.increase(left, path);
        if self.pending > 0.0 {
            let before = self.win();
            let share = self.take(left);
            self.window.add(share);
            // The bound of `Window::add`.
            self.dwnd += share.min(before);
        }
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let left = path.share(why.left((1000.0 * (1.0 - self.settings.beta)).round() as u32));
        let reno = self.reno() / 2.0;
        self.window.reduce(path.as_ssthresh(left), left);
        self.dwnd = (self.win() - reno).max(0.0);
        self.tune();
        self.forget_round();
        self.round.begin(path);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        self.window.restart(first.then(|| path.half_as_ssthresh()));
        self.dwnd = 0.0;
        self.forget_round();
        self.round.begin(path);
    }

    fn limit_cwnd(&mut self, max: u64) {
        let before = self.win();
        self.window.limit(max);
        self.on_change(before);
    }

    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        let before = self.win();
        self.window.set(cwnd, ssthresh);
        self.on_change(before);
    }

    fn inside(&self, insides: &mut Insides<'_>) {
        self.window.inside(insides);
        insides.min_rtt(self.base.get()).own("delay_window_bytes", self.dwnd).own("gamma_segments", self.gamma);
    }

    window_hooks!(on_smss, cwnd, ssthresh);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::NoSettings;
    use crate::testbench::path;
    use crate::Reno;
    use bentpipe_units::Time;

    const DEFAULT: fn() -> CompoundSettings = CompoundSettings::default;

    /// A connection with its clock and its sequence numbers; windows in segments.
    struct Run {
        cc: Compound,
        now: Time,
        snd_una: u64,
    }

    fn init(segments: u64) -> Init {
        Init { smss: 1000, cwnd: segments * 1000, ssthresh: 2000, ..Init::default() }
    }

    impl Run {
        /// Reno's window and the delay-based one, after a round trip of 100 ms.
        fn new(cwnd: u64, dwnd: u64, settings: CompoundSettings) -> Self {
            let mut cc = Compound::new(init(cwnd + dwnd), settings);
            cc.dwnd = (dwnd * 1000) as f64;
            cc.base.sample(Duration::from_millis(100), Time::ZERO);
            let mut run = Self { cc, now: Time::ZERO, snd_una: 0 };
            run.cc.round.begin(&run.view());
            run.cc.forget_round();
            run
        }

        fn view(&self) -> PathState {
            let snd_nxt = self.snd_una + self.cc.cwnd();
            PathState { now: self.now, smss: 1000, snd_una: self.snd_una, snd_nxt, ..path(self.cc.cwnd()) }
        }

        fn ack(&mut self, rtt_ms: u64) {
            let before = self.view();
            self.snd_una += 1000;
            let ack = AckSample {
                newly_acked: 1000,
                is_cwnd_limited: true,
                rtt: Some(Duration::from_millis(rtt_ms)),
                ..AckSample::default()
            };
            self.cc.on_ack(&ack, &PathState { snd_una: self.snd_una, ..before });
        }

        /// An ACK for each segment of a window, all with this delay. What the round taught governs the next.
        fn round(&mut self, rtt_ms: u64) {
            self.now += Duration::from_millis(rtt_ms);
            let end = self.snd_una + self.cc.cwnd();
            while self.snd_una + 1000 <= end {
                self.ack(rtt_ms);
            }
        }

        fn lose(&mut self) {
            self.cc.on_congestion(Congestion::FastRetransmit, &self.view());
        }

        /// (cwnd, dwnd), segments.
        fn parts(&self) -> (f64, f64) {
            (self.cc.reno() / 1000.0, self.cc.dwnd / 1000.0)
        }
    }

    /// cwnd 60, dwnd 40, base 100 ms: what the end of a round trip of so many ms makes of dwnd, and of what is to come.
    fn end_of_round(rtt_ms: u64) -> (f64, f64) {
        let mut run = Run::new(60, 40, DEFAULT());
        run.cc.least = Some(Duration::from_millis(rtt_ms));
        run.cc.samples = 3;
        let view = run.view();
        run.cc.update(&view);
        (run.cc.dwnd / 1000.0, run.cc.increase / 1000.0)
    }

    /// `docs/specs/compound.md`, tests 1 and 2: diff 9.09 and 37.5.
    #[test]
    fn dwnd_grows_without_a_queue_and_makes_way_to_one() {
        let (dwnd, increase) = end_of_round(110);
        assert!((dwnd - 40.0).abs() < 1e-9 && (increase - 2.953).abs() < 1e-3, "{dwnd} {increase}");
        let (dwnd, increase) = end_of_round(160);
        assert!((dwnd - 2.5).abs() < 1e-3 && increase == 0.0, "{dwnd} {increase}");
        assert_eq!(end_of_round(300), (0.0, 0.0));
    }

    /// The same, by ACKs: one round trip is measured, the next adds 2.953 segments and one for Reno.
    #[test]
    fn the_increase_is_spread_over_the_next_round_trip() {
        let mut run = Run::new(60, 40, DEFAULT());
        run.round(110);
        let (cwnd, dwnd) = run.parts();
        assert!((cwnd - 61.0).abs() < 0.01 && dwnd == 40.0, "{cwnd} {dwnd}");
        run.ack(110);
        let (_, first) = run.parts();
        let expected = libm::pow(101.0, 0.75) / 8.0 - 1.0;
        assert!((first - 40.0 - expected / 101.0).abs() < 2e-3, "{first}");
        (0..99).for_each(|_| run.ack(110));
        run.ack(110);
        let (cwnd, dwnd) = run.parts();
        assert!((dwnd - 40.0 - expected).abs() < 0.05, "{dwnd} {expected}");
        assert!((cwnd - 62.0).abs() < 0.05, "{cwnd}");
    }

    /// Test 3.
    #[test]
    fn a_loss_halves_both() {
        let mut run = Run::new(60, 40, DEFAULT());
        run.lose();
        assert_eq!((run.parts(), run.cc.ssthresh()), ((30.0, 20.0), 50_000));
        let mut run = Run::new(60, 40, CompoundSettings { beta: 0.2, ..DEFAULT() });
        run.lose();
        assert_eq!(run.parts(), (30.0, 50.0));
    }

    /// Test 4.
    #[test]
    fn gamma_follows_what_reno_alone_queues() {
        let mut run = Run::new(60, 40, DEFAULT());
        run.cc.diff_reno = Some(20.0);
        run.lose();
        assert_eq!(run.cc.gamma, 26.25);
        run.lose();
        assert_eq!(run.cc.gamma, 26.25, "nothing was measured since");
        for (diff_reno, gamma) in [(0.0, 5.0), (1000.0, 30.0)] {
            for _ in 0..20 {
                run.cc.diff_reno = Some(diff_reno);
                run.cc.tune();
            }
            assert_eq!(run.cc.gamma, gamma);
        }
        // From delays: 60 (150 - 100) / 150 = 20.
        let mut run = Run::new(60, 0, DEFAULT());
        run.round(150);
        run.ack(150);
        run.lose();
        assert!((run.cc.gamma - 26.25).abs() < 1e-9, "{}", run.cc.gamma);
    }

    /// Test 5, byte for byte.
    #[test]
    fn small_windows_are_renos() {
        let mut run = Run::new(30, 0, DEFAULT());
        let mut reno = Reno::new(init(30), NoSettings);
        for _ in 0..200 {
            let ack = AckSample { newly_acked: 1000, is_cwnd_limited: true, rtt: None, ..AckSample::default() };
            reno.on_ack(&ack, &run.view());
            run.ack(110);
            assert_eq!(run.cc.cwnd(), reno.cwnd());
        }
        run.lose();
        reno.on_congestion(Congestion::FastRetransmit, &run.view());
        assert_eq!(run.parts().1, 0.0);
    }

    #[test]
    fn below_the_low_window_dwnd_goes_or_is_renos() {
        let after = |below_low_window| {
            let mut run = Run::new(15, 15, CompoundSettings { below_low_window, ..DEFAULT() });
            run.cc.update(&run.view());
            run.parts()
        };
        assert_eq!(after(BelowLowWindow::Drop), (15.0, 0.0));
        assert_eq!(after(BelowLowWindow::Keep), (30.0, 0.0));
    }

    /// It would fill the queue again that was just left.
    #[test]
    fn a_shrinking_dwnd_does_not_begin_slow_start() {
        let mut run = Run::new(120, 80, DEFAULT());
        run.lose();
        assert_eq!((run.cc.cwnd(), run.cc.ssthresh()), (100_000, 100_000));
        // What was sent before the loss is acknowledged: two windows of now.
        (0..201).for_each(|_| run.ack(200));
        let (cwnd, dwnd) = run.parts();
        assert!((61.9..62.1).contains(&cwnd) && dwnd == 0.0, "{cwnd} {dwnd}");
        assert_eq!(run.cc.ssthresh() / 1000, 61);
        let before = run.cc.cwnd();
        run.round(200);
        assert!(run.cc.cwnd() < before + 1100, "{before} {}", run.cc.cwnd());
    }

    /// Without queueing: ∫ W dW / (α Wᵏ) from (1 - β) W to W is 1 / p, so that
    /// W = (α (2 - k) / ((1 - (1 - β)^(2 - k)) p))^(1 / (2 - k)), which goes with p^-0.8.
    #[test]
    fn the_response_function_without_queueing() {
        for p in [1e-4, 1e-5] {
            let mut run = Run::new(300, 0, DEFAULT());
            let (mut acked, mut peaks) = (0.0, Vec::new());
            for _ in 0..40 {
                acked -= 1.0 / p;
                while acked < 0.0 {
                    acked += 1.0;
                    run.ack(100);
                }
                peaks.push(run.cc.cwnd() as f64 / 1000.0);
                run.lose();
            }
            let peak = peaks[20..].iter().sum::<f64>() / 20.0;
            let expected = libm::pow(0.125 * 1.25 / ((1.0 - libm::pow(0.5, 1.25)) * p), 0.8);
            assert!((peak / expected - 1.0).abs() < 0.06, "{p}: {peak} {expected}");
        }
    }

    #[test]
    fn a_timeout_and_an_idle_time_leave_no_dwnd() {
        let mut run = Run::new(60, 40, DEFAULT());
        run.cc.on_rto(true, &run.view());
        assert_eq!((run.cc.cwnd(), run.cc.ssthresh(), run.cc.dwnd), (1000, 50_000, 0.0));
        let mut run = Run::new(60, 40, DEFAULT());
        run.lose();
        run.cc.limit_cwnd(10_000);
        assert_eq!(run.parts(), (6.0, 4.0));
        run.ack(100);
        assert_eq!(run.parts(), (11.0, 0.0), "slow start");
    }

    #[test]
    fn extreme_delays_are_no_reason_to_panic() {
        for rtt in [Duration::ZERO, Duration::MAX] {
            let mut run = Run::new(60, 40, CompoundSettings { gamma_min: 100.0, gamma_max: 1.0, ..DEFAULT() });
            for snd_una in 1..10 {
                let ack =
                    AckSample { newly_acked: u64::MAX, is_cwnd_limited: true, rtt: Some(rtt), ..AckSample::default() };
                run.cc.on_ack(&ack, &PathState { snd_una: snd_una << 60, ..run.view() });
                run.cc.dwnd = run.cc.win();
            }
            run.lose();
            assert!(run.cc.gamma.is_finite() && run.cc.dwnd.is_finite() && run.cc.cwnd() >= 1000);
        }
    }
}

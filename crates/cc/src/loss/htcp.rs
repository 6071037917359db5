//! H-TCP adds faster, the longer the last congestion is ago, so the time to fill a path hardly grows with the path.
//! After a loss it gives up the window that empties the queue, and no more.
//!
//! D. Leith, R. Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004.
//!
//! # How it works
//!
//! The paper defines the increase as a function of the time since congestion, its scaling by the round-trip time, and
//! the adaptive backoff. Where the paper leaves room, the behaviour is Linux's: the sampling of throughput, the fading
//! of the greatest round-trip time, and the restart of the time.
//!
//! # Differences from the source
//!
//! - Growth counts acknowledged bytes, so delayed ACKs do not slow it.
//! - An ACK adds at most the bytes it acknowledges. Otherwise an idle hour would make the increase larger than slow
//!   start's.
//! - Right after congestion the increase is that of Δ = 0. Linux keeps the increase of before until a segment is added.
//! - β is rounded to a thousandth.
//! - Round-trip times are ignored during the repair of a loss.
//!
//! # When it helps
//!
//! H-TCP is fast on long paths with large windows. 10 s after the last loss it adds 111 segments per round trip, or 223
//! on a geostationary path, where the time is scaled. In `geo`, where only the queue drops, it has the goodput of
//! `sack`, with a shorter queue than CUBIC. If losses come about every second, H-TCP grows no faster than Reno, but
//! gives up less for each loss. It has more goodput than `sack` in `s1` at a loss rate of 1e-2, and three to four times
//! as much in `s2`.
//!
//! # When it hurts
//!
//! H-TCP meets a full queue at its fastest, which hurts small buffers and the flows that share them. It takes nearly
//! nine tenths of `geo` and seven tenths of `s1` from as many flows of `sack`.

use crate::parts::loss_window::window_hooks;
use crate::parts::windowed::MinRtt;
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Init, Insides, PathState, Window};
use bentpipe_units::{Duration, Time};

bentpipe_units::words! {
    /// Reaction to a round-trip time that exceeds the greatest by too much.
    pub enum RttMaxRise {
        /// The greatest round-trip time rises by the largest step.
        "clip" => Clip,
        /// The sample is ignored as an outlier (Linux).
        "ignore" => Ignore,
    }
}

settings! {
    /// Settings of H-TCP.
    pub struct HtcpSettings {
        /// Δ_L: time after congestion in which it grows like Reno.
        low_speed: Duration = Duration::from_secs(1), "Leith and Shorten 2004";
        /// Whether the increase is scaled by the least round-trip time over 100 ms, within 0.1 and 2.
        rtt_scaling: bool = true, "Leith and Shorten 2004; Linux";
        /// Whether a loss takes the window that empties the queue. Otherwise a loss always takes 1 - beta_min.
        adaptive_backoff: bool = true, "Leith and Shorten 2004";
        /// Whether a loss takes 1 - beta_min after the throughput has changed.
        bandwidth_switch: bool = true, "Leith and Shorten 2004";
        /// Relative change of the throughput that counts as changed.
        bandwidth_change: f64 = 0.2, [0.0, 10.0], "Leith and Shorten 2004";
        /// Smallest share of the window after a loss.
        beta_min: f64 = 0.5, [0.1, 0.99], "Leith and Shorten 2004";
        /// Largest share of the window after a loss.
        beta_max: f64 = 0.8, [0.1, 0.99], "Leith and Shorten 2004";
        /// Least round-trip time up to which the backoff is not adaptive.
        adaptive_above: Duration = Duration::from_millis(10), "Linux";
        /// Share of the greatest queueing delay that is remembered after congestion.
        rtt_max_fade: f64 = 0.95, [0.0, 1.0], "Linux";
        /// Largest step of the greatest round-trip time for one sample.
        rtt_max_step: Duration = Duration::from_millis(20), "Linux";
        /// Reaction to a sample that exceeds that step.
        rtt_max_rise: enum RttMaxRise = RttMaxRise::Clip, "reading; Linux: ignore";
    }
}

/// Reference of the scaling: the increase is scaled by RTTmin over this time.
const RTT_REFERENCE: Duration = Duration::from_millis(100);

/// H-TCP on a connection: the window, and the time since congestion.
#[derive(Clone, Debug)]
pub struct Htcp {
    window: Window,
    /// Start of Δ; `None` before the first ACK.
    since: Option<Time>,
    /// SND.NXT at the last congestion, until it is acknowledged.
    recover: Option<u64>,
    /// Segments per round trip.
    alpha: f64,
    /// Bytes added since alpha was computed.
    added: f64,
    /// Share of the window after a loss.
    beta: f64,
    is_adaptive: bool,
    rtt_min: MinRtt,
    rtt_max: Duration,
    throughput: Throughput,
    settings: HtcpSettings,
}

/// The greatest smoothed throughput since the last congestion.
#[derive(Clone, Copy, Debug, Default)]
struct Throughput {
    /// Bytes acknowledged since then, for the next sample.
    acked: u64,
    since: Time,
    /// Bytes per ps.
    smoothed: f64,
    max: f64,
    /// The greatest throughput at the congestion before.
    max_before: f64,
}

impl Htcp {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: HtcpSettings) -> Self {
        Self {
            window: Window::new(init),
            since: None,
            recover: None,
            alpha: 1.0,
            added: 0.0,
            beta: settings.beta_min,
            is_adaptive: false,
            rtt_min: MinRtt::new(Duration::ZERO),
            rtt_max: Duration::ZERO,
            throughput: Throughput::default(),
            settings,
        }
    }

    /// Returns Δ.
    fn elapsed(&self, now: Time) -> Duration {
        self.since.map_or(Duration::ZERO, |since| now.saturating_since(since))
    }

    /// Returns α = 2 (1 - β) f, at least Reno's.
    fn alpha(&self, elapsed: Duration) -> f64 {
        let scale = match self.rtt_min.get() {
            Some(rtt) if self.settings.rtt_scaling => ratio(rtt, RTT_REFERENCE).clamp(0.1, 2.0),
            _ => 1.0,
        };
        let f = (self.settings.growth(elapsed) * scale).max(1.0);
        (2.0 * (1.0 - self.beta) * f).max(1.0)
    }

    fn sample(&mut self, rtt: Duration, now: Time) {
        self.rtt_min.sample(rtt, now);
        if self.recover.is_some() {
            return;
        }
        if self.rtt_max == Duration::ZERO {
            self.rtt_max = rtt;
        }
        let limit = self.rtt_max + self.settings.rtt_max_step;
        if rtt <= limit || self.settings.rtt_max_rise == RttMaxRise::Clip {
            self.rtt_max = self.rtt_max.max(rtt.min(limit));
        }
    }

    /// Updates the state at congestion, before the reduction.
    fn on_event(&mut self, path: &PathState) {
        let rtt_min = self.rtt_min.get().unwrap_or_default();
        let has_changed = self.throughput.has_changed(self.settings.bandwidth_change);
        if self.settings.bandwidth_switch && has_changed {
            (self.beta, self.is_adaptive) = (self.settings.beta_min, false);
        } else if !self.settings.adaptive_backoff || !self.is_adaptive || rtt_min <= self.settings.adaptive_above {
            (self.beta, self.is_adaptive) = (self.settings.beta_min, true);
        } else {
            // Not clamp: the settings may be in the wrong order.
            self.beta = ratio(rtt_min, self.rtt_max).min(self.settings.beta_max).max(self.settings.beta_min);
        }
        let queueing = self.rtt_max.saturating_sub(rtt_min).as_ps() as f64;
        self.rtt_max = rtt_min + Duration::from_ps((queueing * self.settings.rtt_max_fade) as u64);
        self.suspend(path);
    }

    /// Restarts Δ now, and again when all outstanding data is acknowledged.
    fn suspend(&mut self, path: &PathState) {
        self.recover = Some(path.snd_nxt);
        self.start(path.now);
    }

    fn start(&mut self, now: Time) {
        self.since = Some(now);
        self.alpha = self.alpha(Duration::ZERO);
        self.added = 0.0;
        self.throughput.restart(now);
    }

    /// Thousandths of the window after a loss.
    fn left(&self) -> u32 {
        (1000.0 * self.beta).round() as u32
    }
}

impl HtcpSettings {
    /// 1 + 10 (Δ - Δ_L) + ((Δ - Δ_L) / 2)², times in seconds.
    fn growth(&self, elapsed: Duration) -> f64 {
        let s = ratio(elapsed.saturating_sub(self.low_speed), Duration::from_secs(1));
        1.0 + 10.0 * s + 0.25 * s * s
    }
}

impl Throughput {
    /// Samples throughput once per window: B = 3/4 B + 1/4 sample, or the sample itself while congestion is `recent`.
    fn on_ack(&mut self, newly: u64, now: Time, cwnd: u64, rtt_min: Duration, is_recent: bool) {
        self.acked = self.acked.saturating_add(newly);
        let elapsed = now.saturating_since(self.since);
        if self.acked < cwnd || elapsed < rtt_min || elapsed == Duration::ZERO {
            return;
        }
        let sample = self.acked as f64 / elapsed.as_ps() as f64;
        if is_recent {
            (self.smoothed, self.max) = (sample, sample);
        } else {
            self.smoothed = 0.75 * self.smoothed + 0.25 * sample;
            self.max = self.max.max(self.smoothed);
        }
        self.restart(now);
    }

    fn restart(&mut self, now: Time) {
        (self.acked, self.since) = (0, now);
    }

    /// Whether the greatest throughput differs from that of the congestion before by more than this share.
    fn has_changed(&mut self, share: f64) -> bool {
        let before = core::mem::replace(&mut self.max_before, self.max);
        (self.max - before).abs() > share * before
    }
}

/// Returns `of / to`, or 1 if `to` is zero.
fn ratio(of: Duration, to: Duration) -> f64 {
    if to == Duration::ZERO {
        1.0
    } else {
        of.as_ps() as f64 / to.as_ps() as f64
    }
}

impl CongestionControl for Htcp {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        let now = path.now;
        if self.since.is_none() {
            self.start(now);
        }
        if self.recover.is_some_and(|recover| path.snd_una >= recover) {
            self.recover = None;
            self.start(now);
        }
        if let Some(rtt) = ack.rtt {
            self.sample(rtt, now);
        }
        if let (None, Some(rtt_min)) = (self.recover, self.rtt_min.get()) {
            let is_recent = self.elapsed(now) <= rtt_min.saturating_mul(3);
            self.throughput.on_ack(ack.newly_acked, now, self.window.cwnd(), rtt_min, is_recent);
        }
        let left = self.window.slow_start(ack, path);
        if left == 0 {
            return;
        }
        // α / cwnd for each segment; one ACK is worth at most a window, and never more than in slow start.
        let (cwnd, smss) = (self.window.cwnd(), path.smss as f64);
        let windows = left.min(cwnd) as f64 / cwnd as f64;
        let bytes = (self.alpha * smss * windows).min(left as f64);
        self.window.add(bytes);
        self.added += bytes;
        if self.added >= smss {
            self.added = 0.0;
            self.alpha = self.alpha(self.elapsed(now));
        }
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        self.on_event(path);
        let left = path.share(why.left(self.left()));
        self.window.reduce(path.as_ssthresh(left), left);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        if first {
            self.on_event(path);
            self.window.restart(Some(path.as_ssthresh(path.share(self.left()))));
        } else {
            self.suspend(path);
            self.window.restart(None);
        }
    }

    fn inside(&self, insides: &mut Insides<'_>) {
        self.window.inside(insides);
        insides.min_rtt(self.rtt_min.get()).own("alpha_segments", self.alpha).own("beta", self.beta);
    }

    window_hooks!(limit_cwnd, set_window, on_smss, cwnd, ssthresh);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::path;

    const DEFAULT: fn() -> HtcpSettings = HtcpSettings::default;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A connection with its clock and its sequence numbers.
    struct Run {
        cc: Htcp,
        now: Time,
        snd_una: u64,
    }

    impl Run {
        fn new(segments: u64, settings: HtcpSettings) -> Self {
            let init = Init { smss: 1000, cwnd: segments * 1000, ssthresh: 2000, ..Init::default() };
            Self { cc: Htcp::new(init, settings), now: Time::ZERO, snd_una: 0 }
        }

        fn view(&self) -> PathState {
            let snd_nxt = self.snd_una + self.cc.cwnd();
            PathState { now: self.now, smss: 1000, snd_una: self.snd_una, snd_nxt, ..path(self.cc.cwnd()) }
        }

        /// An ACK for each segment of a window, evenly over a round trip of `every`, with delays of `rtt`.
        fn round(&mut self, every: Duration, rtt: Duration) {
            let segments = self.cc.cwnd() / 1000;
            for _ in 0..segments {
                self.now += Duration::from_ps(every.as_ps() / segments);
                let before = self.view();
                self.snd_una += 1000;
                let ack =
                    AckSample { newly_acked: 1000, is_cwnd_limited: true, rtt: Some(rtt), ..AckSample::default() };
                self.cc.on_ack(&ack, &PathState { snd_una: self.snd_una, ..before });
            }
        }

        /// Reduces the window; all that was sent is acknowledged a round trip later. The share that is left.
        fn lose(&mut self, rtt: Duration) -> f64 {
            let (before, flight) = (self.cc.cwnd(), self.view().snd_nxt);
            self.cc.on_congestion(Congestion::FastRetransmit, &self.view());
            let left = self.cc.cwnd() as f64 / before as f64;
            self.now += rtt;
            self.snd_una = flight;
            let ack = AckSample { newly_acked: 1000, is_cwnd_limited: false, rtt: None, ..AckSample::default() };
            self.cc.on_ack(&ack, &self.view());
            left
        }
    }

    /// With this least round-trip time and this β, α after so many ms.
    fn alpha(rtt_ms: u64, beta: f64, elapsed_ms: u64) -> f64 {
        let mut run = Run::new(100, DEFAULT());
        run.cc.sample(ms(rtt_ms), Time::ZERO);
        run.cc.beta = beta;
        run.cc.alpha(ms(elapsed_ms))
    }

    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value} {expected}");
    }

    /// `docs/specs/htcp.md`, tests.
    #[test]
    fn the_increase_grows_with_the_time_since_congestion() {
        for (elapsed, expected) in [(0, 1.0), (500, 1.0), (1000, 1.0), (2000, 11.25), (4000, 33.25)] {
            assert_near(DEFAULT().growth(ms(elapsed)), expected);
            assert_near(alpha(100, 0.5, elapsed), expected);
            assert_near(alpha(100, 0.8, elapsed), (0.4 * expected).max(1.0));
        }
        assert_near(alpha(100, 0.8, 2000), 4.5);
    }

    /// `docs/specs/htcp.md`, tests: RTTmin 540 ms and 50 ms.
    #[test]
    fn the_increase_is_scaled_by_the_round_trip_time() {
        assert_near(alpha(540, 0.5, 2000), 22.5);
        assert_near(alpha(540, 0.5, 0), 2.0);
        assert_near(alpha(50, 0.5, 2000), 5.625);
        assert_near(alpha(1, 0.5, 2000), 1.125);
        assert_near(alpha(50, 0.5, 0), 1.0);
        let mut run = Run::new(100, HtcpSettings { rtt_scaling: false, ..DEFAULT() });
        run.cc.sample(ms(540), Time::ZERO);
        assert_near(run.cc.alpha(ms(2000)), 11.25);
    }

    /// Losses at the same throughput: after the first two, what empties the queue (`docs/specs/htcp.md`, tests: RTTmin
    /// 100 ms, RTTmax 150 ms, β 0.667). The first is a bandwidth switch, from nothing.
    fn backoffs(rtts_ms: &[u64], settings: HtcpSettings) -> Vec<f64> {
        let mut run = Run::new(1000, settings);
        let lose = |rtt_ms: &u64| {
            run.cc.set_window(1_000_000, 2000);
            for _ in 0..8 {
                run.round(ms(150), ms(100));
            }
            let top = (100..=*rtt_ms).step_by(10);
            for rtt in top {
                run.cc.set_window(1_000_000, 2000);
                run.round(ms(150), ms(rtt));
            }
            run.lose(ms(150))
        };
        rtts_ms.iter().map(lose).map(|left| (left * 1000.0).round() / 1000.0).collect()
    }

    #[test]
    fn a_loss_leaves_what_empties_the_queue() {
        assert_eq!(backoffs(&[150, 150, 150, 150], DEFAULT()), [0.5, 0.5, 0.667, 0.667]);
        assert_eq!(backoffs(&[150, 150, 110], DEFAULT()), [0.5, 0.5, 0.678], "slow fade: 100 / 147.5");
        assert_eq!(backoffs(&[110, 110, 110], DEFAULT()), [0.5, 0.5, 0.8], "at most");
        assert_eq!(backoffs(&[250, 250, 250], DEFAULT()), [0.5, 0.5, 0.5], "at least");
        assert_eq!(backoffs(&[150, 150], HtcpSettings { bandwidth_switch: false, ..DEFAULT() }), [0.5, 0.667]);
        assert_eq!(backoffs(&[150; 4], HtcpSettings { adaptive_backoff: false, ..DEFAULT() }), [0.5; 4]);
        let short = HtcpSettings { adaptive_above: ms(100), ..DEFAULT() };
        assert_eq!(backoffs(&[150; 4], short), [0.5; 4]);
    }

    #[test]
    fn a_changed_throughput_halves_the_window_and_once_more_before_it_adapts() {
        let mut run = Run::new(1000, DEFAULT());
        let mut lose = |segments: u64| {
            for rtt in [100, 110, 120, 130, 130, 130] {
                run.cc.set_window(segments * 1000, 2000);
                run.round(ms(130), ms(rtt));
            }
            run.lose(ms(130))
        };
        let left = [1000, 1000, 1000, 1100, 500, 500, 500].map(|segments| (lose(segments) * 100.0).round() as u32);
        assert_eq!(left, [50, 50, 77, 77, 50, 50, 77]);
    }

    /// From 100 ms to 150 ms at once.
    #[test]
    fn the_greatest_round_trip_time_rises_by_steps_or_not_at_all() {
        let after = |rtt_max_rise| {
            let mut run = Run::new(100, HtcpSettings { rtt_max_rise, ..DEFAULT() });
            [100, 150, 150, 150, 150].map(|rtt| {
                run.cc.sample(ms(rtt), Time::ZERO);
                run.cc.rtt_max.as_ps() / 1_000_000_000
            })
        };
        assert_eq!(after(RttMaxRise::Clip), [100, 120, 140, 150, 150]);
        assert_eq!(after(RttMaxRise::Ignore), [100; 5]);
    }

    /// ∫ α dt / RTT over 4 s of 100 ms: 10 (1 + 3 + 45 + 2.25) segments.
    #[test]
    fn the_window_after_four_seconds_without_loss() {
        let mut run = Run::new(1000, HtcpSettings { adaptive_backoff: false, ..DEFAULT() });
        run.round(ms(100), ms(100));
        run.lose(ms(100));
        let (from, start) = (run.cc.cwnd(), run.now);
        for _ in 0..40 {
            run.round(ms(100), ms(100));
        }
        let (added, elapsed) = ((run.cc.cwnd() - from) as f64 / 1000.0, run.now - start);
        assert!(elapsed.abs_diff(ms(4000)) < ms(1), "{elapsed:?}");
        assert!((added / 512.5 - 1.0).abs() < 0.04, "{added}");
    }

    #[test]
    fn the_time_starts_at_congestion_and_again_when_all_is_acknowledged() {
        let mut run = Run::new(100, DEFAULT());
        (0..20).for_each(|_| run.round(ms(250), ms(100)));
        assert!(run.cc.alpha > 40.0, "{}", run.cc.alpha);
        run.cc.on_congestion(Congestion::Ecn { beta: None }, &run.view());
        assert_near(run.cc.alpha, 1.0);
        run.round(ms(100), ms(100));
        assert!(run.cc.recover.is_some());
        (0..2).for_each(|_| run.round(ms(100), ms(100)));
        assert!(run.cc.recover.is_none());
        assert!(run.cc.elapsed(run.now) < ms(200));
    }

    #[test]
    fn an_idle_hour_does_not_make_it_faster_than_slow_start() {
        let mut run = Run::new(10, DEFAULT());
        run.round(ms(100), ms(100));
        run.now += Duration::from_secs(3600);
        for _ in 0..3 {
            let before = run.cc.cwnd();
            run.round(ms(100), ms(100));
            assert!(run.cc.cwnd() <= 2 * before, "{before} {}", run.cc.cwnd());
        }
    }

    #[test]
    fn extreme_times_and_settings_are_no_reason_to_panic() {
        let wrong_way_round = HtcpSettings { beta_min: 0.9, beta_max: 0.2, ..DEFAULT() };
        for settings in [DEFAULT(), wrong_way_round] {
            let mut run = Run::new(10, settings);
            for (now, rtt) in
                [(Time::NEVER, Duration::MAX), (Time::ZERO, Duration::ZERO), (Time::NEVER, Duration::ZERO)]
            {
                run.now = now;
                run.cc.on_congestion(Congestion::FastRetransmit, &run.view());
                let ack =
                    AckSample { newly_acked: u64::MAX, is_cwnd_limited: true, rtt: Some(rtt), ..AckSample::default() };
                let view = PathState { snd_una: u64::MAX, ..run.view() };
                (0..5).for_each(|_| run.cc.on_ack(&ack, &view));
                assert!(run.cc.alpha.is_finite() && run.cc.beta <= 0.99);
            }
        }
    }
}

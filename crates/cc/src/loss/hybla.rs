//! TCP Hybla grows on a long path at the rate of a path of 25 ms.
//!
//! C. Caini and R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International Journal of
//! Satellite Communications and Networking 22(5), 2004.
//!
//! # How it works
//!
//! With ρ = max(RTT / RTT0, 1), each ACK adds 2^ρ - 1 segments in slow start and ρ² / cwnd in congestion avoidance,
//! where Reno adds 1 and 1 / cwnd. That is ρ² segments per round trip. A loss halves the window, as in Reno. For any
//! round-trip time, the rate t seconds after the start is 2^(t / RTT0) / RTT0 up to a threshold γ, and ((t - tγ) / RTT0
//! + γ) / RTT0 after it.
//!
//! # Differences from the source
//!
//! - One ACK does not take slow start beyond the threshold.
//! - The paper finds the threshold with packet pairs. Here the connection has a threshold (`initial_ssthresh`), or
//!   `slow_start = "hoe"` finds it. Without a threshold, slow start is the standard's.
//! - Linux uses Hybla's slow start without a threshold, too (`needs_ssthresh = false`). Each ACK of a geostationary
//!   path then asks for 65,535 segments, and `hoe` estimates too late.
//! - The sender does not know ρ before the first ACK. A scaled initial window (Linux: ρ segments) or threshold
//!   therefore takes effect there and not before.
//! - Growth counts ACKs or bytes, as `byte_counting` defines for Reno. In congestion avoidance one ACK at most doubles
//!   the window, which matters below ρ segments.
//! - Until the data sent before a timeout is repaired, growth is Reno's, as in Linux.
//! - Linux's fixed point is `eighths`. The receiver's window replaces its limit of 65,535 segments.
//! - The paper asks for selective acknowledgements and pacing. Both are settings of the connection. Pacing is off by
//!   default.
//!
//! # When it helps
//!
//! Hybla suits one flow, or a proxy at the satellite link, on a long path with a known bottleneck. It accelerates from
//! the first ACK on and reaches the rate of that link in a few round trips. It recovers from random losses as fast as a
//! terrestrial flow. In `s2` it has at least ten times the goodput of `sack` at loss rates of 1e-4 and above.
//!
//! # When it hurts
//!
//! - Without a threshold (`initial_ssthresh`), the first slow start is the standard's and takes ten round trips over
//!   GEO.
//! - With `needs_ssthresh = false` and no threshold, Hybla needs a bounded window (`receive_buffer` or `send_buffer`).
//!   Otherwise a few ACKs open a window of hundreds of thousands of segments. The queue overflows, and two minutes of
//!   `geo` do not suffice to repair the losses. Pacing softens the flood and does not prevent it. The notes of a run
//!   warn of it.
//! - Hybla adds 467 segments per geostationary round trip, even if others share the link. As many flows of `sack` get
//!   next to nothing of `geo` and little of `s1`.
//! - After a change of the path, an outdated minimum round-trip time makes Hybla too cautious.

use crate::parts::loss_window::window_hooks;
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Init, Insides, PathState, Unbounded, Window, HALF};
use bentpipe_units::Duration;

bentpipe_units::words! {
    /// The round-trip time that Hybla compares with its reference.
    pub enum HyblaRtt {
        /// The least smoothed round-trip time so far, which queues do not lengthen.
        "minimum" => Minimum,
        /// The smoothed round-trip time.
        "smoothed" => Smoothed,
    }
}

bentpipe_units::words! {
    /// The window with which Hybla begins.
    pub enum HyblaWindow {
        /// The initial window of the connection.
        "connection" => Connection,
        /// The initial window of the connection times ρ, once ρ is known.
        "scaled" => Scaled,
        /// ρ segments, once ρ is known, if that exceeds the connection's initial window, as in Linux.
        "rho" => Rho,
    }
}

settings! {
    /// Settings of Hybla.
    pub struct HyblaSettings {
        /// Round-trip time of the reference path (RTT0).
        rtt0: Duration = Duration::from_millis(25), "Caini and Firrincieli 2004; Linux";
        /// Round-trip time that is compared with RTT0.
        rtt: enum HyblaRtt = HyblaRtt::Minimum, "Linux";
        /// Whether ρ is a multiple of 1/8.
        eighths: bool = false, "the paper; Linux's fixed point has eighths";
        /// The largest ρ in the exponent of slow start.
        exponent_max: f64 = 16.0, [1.0, 40.0], "Linux";
        /// Whether slow start is the standard's without a threshold.
        needs_ssthresh: bool = true, "Caini and Firrincieli 2004: packet pairs give the threshold; Linux: false";
        /// The initial window.
        initial_window: enum HyblaWindow = HyblaWindow::Rho, "Linux";
        /// Whether the initial threshold is multiplied by ρ.
        scaled_ssthresh: bool = false, "reading: it is of this path; the paper scales that of the reference path";
        /// Whether a timeout leaves ρ segments. Otherwise it leaves one.
        rho_after_timeout: bool = false, "Linux; the paper leaves ρ";
        /// Whether it grows as Reno until the data sent before a timeout is acknowledged.
        reno_after_timeout: bool = true, "Linux";
    }
}

/// Hybla on a connection: the window, and its ρ.
#[derive(Clone, Debug)]
pub struct Hybla {
    window: Window,
    settings: HyblaSettings,
    counts_bytes: bool,
    /// The round-trip time that gave ρ.
    rtt: Option<Duration>,
    rho: f64,
    /// Whether the initial window is still unchanged.
    is_fresh: bool,
    /// End of the data sent before the last timeout.
    repair_end: u64,
}

impl Hybla {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: HyblaSettings) -> Self {
        Self {
            window: Window::new(init),
            settings,
            counts_bytes: init.growth.byte_counting.counts_bytes(),
            rtt: None,
            rho: 1.0,
            is_fresh: true,
            repair_end: 0,
        }
    }

    /// Returns ρ; 1 as long as no round-trip time is known.
    #[inline]
    fn watch(&mut self, path: &PathState) {
        let Some(srtt) = path.srtt else { return };
        let rtt = match (self.settings.rtt, self.rtt) {
            (HyblaRtt::Minimum, Some(least)) => least.min(srtt),
            (HyblaRtt::Minimum, None) | (HyblaRtt::Smoothed, _) => srtt,
        };
        if self.rtt != Some(rtt) {
            self.rtt = Some(rtt);
            let ratio = rtt.as_ps() as f64 / self.settings.rtt0.as_ps() as f64;
            let ratio = if self.settings.eighths { libm::floor(8.0 * ratio) / 8.0 } else { ratio };
            // This order makes 0 / 0 (no reference) Reno.
            self.rho = ratio.max(1.0);
        }
    }

    /// Starts as the paper does, but late: at the first ACK that grows the window.
    fn begin(&mut self, path: &PathState) {
        if self.rtt.is_none() {
            return;
        }
        self.is_fresh = false;
        let (cwnd, ssthresh) = (self.window.cwnd(), self.window.ssthresh());
        // Casts saturate: an unlimited threshold stays unlimited.
        let scaled = |bytes: u64| (bytes as f64 * self.rho) as u64;
        let ssthresh = if self.settings.scaled_ssthresh { scaled(ssthresh) } else { ssthresh };
        let initial = match self.settings.initial_window {
            HyblaWindow::Connection => cwnd,
            HyblaWindow::Scaled => scaled(cwnd),
            HyblaWindow::Rho => scaled(path.smss).max(cwnd),
        };
        if (initial, ssthresh) != (cwnd, self.window.ssthresh()) {
            self.window.set(initial, ssthresh);
        }
    }

    /// Grows a window of `before`, to which slow start added `grown` bytes, by 2^ρ - 1 times that, up to the threshold.
    fn grow_by_power(&mut self, before: u64, grown: u64) {
        let ssthresh = self.window.ssthresh();
        if ssthresh == u64::MAX && self.settings.needs_ssthresh {
            return;
        }
        let factor = libm::exp2(self.rho.min(self.settings.exponent_max)) - 1.0;
        let cwnd = before.saturating_add((factor * grown as f64) as u64).min(ssthresh);
        if cwnd > self.window.cwnd() {
            self.window.set(cwnd, ssthresh);
        }
    }
}

impl CongestionControl for Hybla {
    fn unbounded(&self) -> Option<Unbounded> {
        let is_accelerated = self.window.ssthresh() == u64::MAX && !self.settings.needs_ssthresh;
        is_accelerated.then(|| Unbounded {
            does: "opens a window of tens of thousands of segments by a few ACKs on a long path".into(),
            is_probes: false,
        })
    }

    #[inline]
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        self.watch(path);
        if self.is_fresh && ack.is_cwnd_limited {
            self.begin(path);
        }
        let before = self.window.cwnd();
        let left = self.window.slow_start(ack, path);
        let is_reno = self.rho <= 1.0 || self.settings.reno_after_timeout && path.snd_una < self.repair_end;
        let cwnd = self.window.cwnd();
        if left > 0 && is_reno {
            self.window.increase(left, path);
        } else if left > 0 {
            let counted = if self.counts_bytes { left } else { path.smss };
            self.window.add(self.rho * self.rho * counted as f64 * path.smss as f64 / cwnd as f64);
        } else if cwnd > before && !is_reno {
            self.grow_by_power(before, cwnd - before);
        }
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        self.is_fresh = false;
        let left = path.share(why.left(HALF));
        self.window.reduce(path.as_ssthresh(left), left);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        self.is_fresh = false;
        self.repair_end = path.snd_nxt;
        self.window.restart(first.then(|| path.half_as_ssthresh()));
        if self.settings.rho_after_timeout {
            let ssthresh = self.window.ssthresh();
            self.window.set(((self.rho * path.smss as f64) as u64).min(ssthresh), ssthresh);
        }
    }

    fn limit_cwnd(&mut self, max: u64) {
        // A window that was limited on purpose keeps its size.
        self.is_fresh &= self.window.cwnd() <= max;
        self.window.limit(max);
    }

    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        self.is_fresh = false;
        self.window.set(cwnd, ssthresh);
    }

    fn inside(&self, insides: &mut Insides<'_>) {
        self.window.inside(insides);
        insides.own("rho", self.rho);
    }

    window_hooks!(on_smss, cwnd, ssthresh);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{ByteCounting, Growth, Hoe, SlowStart};
    use crate::testbench::path;
    use crate::Reno;

    const SMSS: u64 = 1000;
    const RTT0_S: f64 = 0.025;

    fn init(segments: u64, ssthresh: u64) -> Init {
        Init { smss: SMSS, cwnd: segments * SMSS, ssthresh: ssthresh.saturating_mul(SMSS), ..Init::default() }
    }

    /// With the initial window of the connection, so that the first ACK adds what any ACK adds.
    fn as_linux() -> HyblaSettings {
        HyblaSettings { needs_ssthresh: false, initial_window: HyblaWindow::Connection, ..HyblaSettings::default() }
    }

    fn hybla(segments: u64, ssthresh: u64) -> Hybla {
        Hybla::new(init(segments, ssthresh), as_linux())
    }

    fn view(cc: &impl CongestionControl, rtt_ms: u64) -> PathState {
        PathState { smss: SMSS, srtt: Some(Duration::from_millis(rtt_ms)), ..path(cc.cwnd()) }
    }

    fn ack(cc: &mut impl CongestionControl, rtt_ms: u64) {
        ack_bytes(cc, rtt_ms, SMSS);
    }

    fn ack_bytes(cc: &mut impl CongestionControl, rtt_ms: u64, newly_acked: u64) {
        cc.on_ack(
            &AckSample { newly_acked, is_cwnd_limited: true, rtt: None, ..AckSample::default() },
            &view(cc, rtt_ms),
        );
    }

    fn round(cc: &mut impl CongestionControl, rtt_ms: u64) {
        (0..cc.cwnd() / SMSS).for_each(|_| ack(cc, rtt_ms));
    }

    fn added(mut cc: Hybla, mut act: impl FnMut(&mut Hybla)) -> f64 {
        let before = cc.cwnd();
        act(&mut cc);
        (cc.cwnd() - before) as f64 / SMSS as f64
    }

    fn is_close(value: f64, expected: f64, share: f64) {
        assert!((value / expected - 1.0).abs() <= share, "{value} instead of {expected}");
    }

    /// `docs/specs/hybla.md`, tests.
    #[test]
    fn each_ack_adds_2_to_the_rho_minus_1_and_each_round_trip_rho_squared() {
        assert_eq!(added(hybla(10, 1000), |cc| ack(cc, 100)), 15.0);
        is_close(added(hybla(1000, 2), |cc| round(cc, 100)), 16.0, 0.01);
        is_close(added(hybla(100_000, 2), |cc| round(cc, 540)), 466.56, 0.003);
        assert_eq!(added(hybla(10, u64::MAX), |cc| ack(cc, 540)), 65_535.0);
        // By default not before there is a threshold.
        let default = HyblaSettings { initial_window: HyblaWindow::Connection, ..HyblaSettings::default() };
        assert_eq!(added(Hybla::new(init(10, u64::MAX), default), |cc| ack(cc, 540)), 1.0);
    }

    /// ρ is 1 at 20 ms, and before a round trip was measured.
    #[test]
    fn short_paths_are_renos() {
        for srtt in [None, Some(Duration::ZERO), Some(Duration::from_millis(20)), Some(Duration::from_millis(25))] {
            let (mut cc, mut reno) = (hybla(4, 60), Reno::new(init(4, 60), Default::default()));
            for _ in 0..1000 {
                let sample = AckSample { newly_acked: SMSS, is_cwnd_limited: true, rtt: srtt, ..AckSample::default() };
                cc.on_ack(&sample, &PathState { srtt, ..view(&cc, 20) });
                reno.on_ack(&sample, &PathState { srtt, ..view(&reno, 20) });
                assert_eq!(cc.cwnd(), reno.cwnd());
            }
            cc.on_congestion(Congestion::FastRetransmit, &view(&cc, 20));
            reno.on_congestion(Congestion::FastRetransmit, &view(&reno, 20));
            assert_eq!((cc.cwnd(), cc.ssthresh()), (reno.cwnd(), reno.ssthresh()));
        }
    }

    /// `docs/specs/hybla.md`, reading: never past the threshold with one ACK.
    #[test]
    fn slow_start_ends_at_the_threshold() {
        assert_eq!(added(hybla(10, 500), |cc| ack(cc, 540)), 490.0);
        assert_eq!(added(hybla(10, 20), |cc| ack(cc, 100)), 10.0);
    }

    /// From the paper's scaled start, the rate is 2^(t / RTT0) / RTT0 up to γ / RTT0, and then grows by 1 / RTT0² in a
    /// second, on every path.
    #[test]
    fn the_rate_over_time_does_not_depend_on_the_round_trip() {
        const GAMMA: u64 = 64;
        let settings = HyblaSettings { initial_window: HyblaWindow::Scaled, scaled_ssthresh: true, ..as_linux() };
        for rtt_ms in [25, 50, 75, 150] {
            let rtt_s = rtt_ms as f64 / 1000.0;
            let mut cc = Hybla::new(init(1, GAMMA), settings);
            // The round trip in which ρ is found is not the paper's.
            cc.watch(&view(&cc, rtt_ms));
            cc.begin(&view(&cc, rtt_ms));
            let mut time_s = 0.0;
            for step in 0..6 * 150 / rtt_ms {
                let expected = if time_s < 6.0 * RTT0_S {
                    libm::exp2(time_s / RTT0_S) / RTT0_S
                } else {
                    ((time_s - 6.0 * RTT0_S) / RTT0_S + GAMMA as f64) / RTT0_S
                };
                // ACKs come one by one, each with a larger window: a little less than the formula has.
                let tolerance = if step * rtt_ms <= 150 { 1e-9 } else { 0.03 };
                is_close(cc.cwnd() as f64 / SMSS as f64 / rtt_s, expected, tolerance);
                round(&mut cc, rtt_ms);
                time_s += rtt_s;
            }
        }
    }

    /// At equal loss the throughput is the same on every path; Reno's is a twentieth at 500 ms of what it is at 25 ms.
    #[test]
    fn throughput_at_equal_loss_does_not_depend_on_the_round_trip() {
        fn throughput(mut cc: impl CongestionControl, rtt_ms: u64, loss_every: u64) -> f64 {
            let (mut time_s, mut segments) = (0.0, 0.0);
            for cycle in 0..24 {
                for _ in 0..loss_every {
                    if cycle >= 12 {
                        time_s += rtt_ms as f64 / 1000.0 * SMSS as f64 / cc.cwnd() as f64;
                        segments += 1.0;
                    }
                    ack(&mut cc, rtt_ms);
                }
                cc.on_congestion(Congestion::FastRetransmit, &view(&cc, rtt_ms));
            }
            segments / time_s
        }
        for loss_every in [1000, 10_000, 100_000] {
            // Closed form of the sawtooth: sqrt(1.5 / p) / RTT0.
            let expected = libm::sqrt(1.5 * loss_every as f64) / RTT0_S;
            for rtt_ms in [25, 100, 250, 500] {
                is_close(throughput(hybla(100, 2), rtt_ms, loss_every), expected, 0.05);
            }
            let reno = Reno::new(init(100, 2), Default::default());
            is_close(throughput(reno, 500, loss_every), expected / 20.0, 0.05);
        }
    }

    #[test]
    fn queues_do_not_lengthen_the_minimum() {
        let rho = |rtt| {
            let mut cc = Hybla::new(init(100, 2), HyblaSettings { rtt, ..as_linux() });
            [100, 200, 50, 300].map(|rtt_ms| {
                ack(&mut cc, rtt_ms);
                cc.rho
            })
        };
        assert_eq!(rho(HyblaRtt::Minimum), [4.0, 4.0, 2.0, 2.0]);
        assert_eq!(rho(HyblaRtt::Smoothed), [4.0, 8.0, 2.0, 12.0]);
        let mut cc = Hybla::new(init(100, 2), HyblaSettings { eighths: true, ..as_linux() });
        ack(&mut cc, 540);
        assert_eq!(cc.rho, 21.5);
    }

    #[test]
    fn initial_windows_and_thresholds() {
        let begin = |initial_window, scaled_ssthresh, ssthresh| {
            let settings = HyblaSettings { initial_window, scaled_ssthresh, ..as_linux() };
            let mut cc = Hybla::new(init(2, ssthresh), settings);
            ack(&mut cc, 100);
            (cc.cwnd() / SMSS, cc.ssthresh() / SMSS)
        };
        assert_eq!(begin(HyblaWindow::Connection, false, 60), (17, 60));
        assert_eq!(begin(HyblaWindow::Scaled, false, 60), (23, 60));
        assert_eq!(begin(HyblaWindow::Rho, false, 60), (19, 60));
        assert_eq!(begin(HyblaWindow::Scaled, true, 60), (23, 240));
        assert_eq!(begin(HyblaWindow::Connection, true, u64::MAX), (17, u64::MAX / SMSS));
        // Not after a timeout, nor if the connection asked for less.
        let settings = HyblaSettings { initial_window: HyblaWindow::Scaled, ..as_linux() };
        let mut cc = Hybla::new(init(10, 60), settings);
        cc.limit_cwnd(SMSS);
        ack(&mut cc, 100);
        assert_eq!(cc.cwnd(), 16 * SMSS);
    }

    /// Reno until the data of before are acknowledged, then Hybla.
    #[test]
    fn timeouts() {
        let after = |settings| {
            let mut cc = Hybla::new(init(100, 60), settings);
            ack(&mut cc, 100);
            let sent = cc.cwnd();
            cc.on_rto(true, &view(&cc, 100));
            let before = cc.cwnd() / SMSS;
            ack(&mut cc, 100);
            let repairing = cc.cwnd() / SMSS;
            let sample = AckSample { newly_acked: SMSS, is_cwnd_limited: true, rtt: None, ..AckSample::default() };
            cc.on_ack(&sample, &PathState { snd_una: sent, ..view(&cc, 100) });
            [before, repairing, cc.cwnd() / SMSS]
        };
        assert_eq!(after(as_linux()), [1, 2, 17]);
        assert_eq!(after(HyblaSettings { reno_after_timeout: false, ..as_linux() }), [1, 16, 31]);
        assert_eq!(after(HyblaSettings { rho_after_timeout: true, ..as_linux() }), [4, 5, 20]);
    }

    /// Without a threshold the standard's pace, if so set; what packet pairs find ends that.
    #[test]
    fn packet_pairs_can_find_the_threshold() {
        let settings = HyblaSettings { needs_ssthresh: true, ..as_linux() };
        let growth = Growth { slow_start: SlowStart::Hoe(Hoe::default()), ..Growth::default() };
        let mut cc = Hybla::new(Init { growth, ..init(10, u64::MAX) }, settings);
        let mut snd_una = 0;
        for sent in 1..=10 {
            snd_una += SMSS;
            // A segment each millisecond on a path of 540 ms: it holds 540 segments.
            let now = bentpipe_units::Time::from_ps(1) + Duration::from_millis(540 + sent);
            let sample = AckSample {
                newly_acked: SMSS,
                is_cwnd_limited: true,
                rtt: Some(Duration::from_millis(540)),
                ..AckSample::default()
            };
            let before = cc.cwnd();
            cc.on_ack(&sample, &PathState { now, snd_una, snd_nxt: snd_una + before, ..view(&cc, 540) });
            if cc.ssthresh() == u64::MAX {
                assert_eq!(cc.cwnd(), before + SMSS);
            }
        }
        is_close(cc.ssthresh() as f64, 540_000.0, 0.01);
        is_close(cc.cwnd() as f64, 540_000.0, 0.01);
    }

    /// An ACK for each second segment: half the increase, unless bytes count.
    #[test]
    fn acks_count_or_bytes() {
        let added = |byte_counting, ssthresh| {
            let growth = Growth { byte_counting, ..Growth::default() };
            let cc = Hybla::new(Init { growth, ..init(1000, ssthresh) }, as_linux());
            added(cc, |cc| (0..500).for_each(|_| ack_bytes(cc, 100, 2 * SMSS)))
        };
        is_close(added(ByteCounting::Rfc5681, 2), 8.0, 0.01);
        is_close(added(ByteCounting::Abc { limit: 2 }, 2), 16.0, 0.01);
        assert_eq!(added(ByteCounting::Rfc5681, u64::MAX), 500.0 * 15.0);
        assert_eq!(added(ByteCounting::Abc { limit: 2 }, u64::MAX), 500.0 * 30.0);
    }

    #[test]
    fn no_reference_is_no_harm() {
        let settings = HyblaSettings { rtt0: Duration::ZERO, ..as_linux() };
        for ssthresh in [2, 1000, u64::MAX] {
            for rtt_ms in [0, 1, 1 << 20] {
                let mut cc = Hybla::new(init(10, ssthresh), settings);
                (0..100).for_each(|_| ack(&mut cc, rtt_ms));
                cc.on_rto(true, &view(&cc, rtt_ms));
                (0..100).for_each(|_| ack(&mut cc, rtt_ms));
                assert!(cc.cwnd() >= SMSS && cc.cwnd() <= crate::Cwnd::MAX);
            }
        }
    }
}

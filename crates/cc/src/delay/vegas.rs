//! Vegas derives the number of queued segments from the round-trip time, and keeps the window where two to four wait.
//!
//! L. Brakmo and L. Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", IEEE JSAC 13(8), 1995
//! (first, with S. O'Malley, SIGCOMM 1994).
//!
//! # How it works
//!
//! Once per round trip, Vegas computes the queued segments cwnd (rtt - base) / rtt. Below alpha it adds a segment,
//! above beta it removes one. Slow start ends above gamma.
//!
//! Vegas follows Linux where the paper leaves room. The thresholds are Linux's, too:
//!
//! - The smallest round-trip time of each round counts.
//! - A round with two samples or fewer grows as Reno does.
//! - The window is at least two segments after a reduction. A loss halves it.
//! - From a reduction until all data sent before it is acknowledged, it is Reno.
//!
//! # Differences from the source
//!
//! - The paper's earlier retransmission (a fine-grained timer, checked on duplicate ACKs) belongs to the connection and
//!   is not included. The smaller reduction that goes with it is a setting.
//! - An unused window stays as it is, because it gives no information about the queue.
//!
//! # When it helps
//!
//! Alone on a long path with a deep buffer, Vegas fills the path without any loss. Loss-based congestion controls
//! overflow the queue in their first slow start.
//!
//! # When it hurts
//!
//! - The queue left by slow start shrinks by one segment per round trip, so in `geo` it lasts for minutes.
//! - Vegas starves beside loss-based flows: as many flows of `sack` leave it a quarter of `s1` and next to nothing of
//!   `geo`.
//! - A handover to a longer path looks like a queue and takes most of the window, as in `leo`. `base_rtt_window` lets
//!   Vegas forget the shorter path and returns a part of the window.
//! - Random losses halve the window, like Reno's. Between them it does not grow beyond the bandwidth-delay product.

use crate::parts::loss_window::window_hooks;
use crate::parts::queueing::{Delay, DelayRounds, Progress};
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Init, Insides, PathState, Window};
use bentpipe_units::Duration;

bentpipe_units::words! {
    /// Quantity that Vegas compares with its thresholds.
    pub enum VegasDiff {
        /// Queued segments: cwnd (rtt - base) / rtt.
        "paper" => Paper,
        /// cwnd (rtt - base) / base, which is larger by rtt / base, as in Linux.
        "linux" => Linux,
    }
}

settings! {
    /// Settings of Vegas.
    pub struct VegasSettings {
        /// Queued segments below which the window grows.
        alpha: f64 = 2.0, [0.0, 10_000.0], "Linux; Brakmo 1995 has 1 to 2";
        /// Queued segments above which the window shrinks.
        beta: f64 = 4.0, [0.0, 10_000.0], "Linux; Brakmo 1995 has 3 to 4";
        /// Queued segments above which slow start ends.
        gamma: f64 = 1.0, [0.0, 10_000.0], "Brakmo 1995, Linux";
        /// Quantity that is compared with the three thresholds.
        diff: enum VegasDiff = VegasDiff::Paper, "Brakmo 1995";
        /// Round trips of slow start per doubling of the window.
        double_every: u64 = 2, [1, 16], "Brakmo 1995; Linux has 1";
        /// Round trips of congestion avoidance per change of the window.
        adjust_every: u64 = 1, [1, 16], "Brakmo 1995; 2 is how the Linux module of ns-2 behaves";
        /// Share of the window that a loss takes.
        decrease: f64 = 0.5, [0.001, 0.9], "Linux; Brakmo 1995 has 0.25 after its earlier retransmission";
        /// Memory of the smallest round-trip time; 0: the whole connection.
        base_rtt_window: Duration = Duration::ZERO, "Brakmo 1995";
    }
}

/// Samples that a round must exceed.
const FEW: u64 = 2;

/// Vegas on a connection: the window, and the measured rounds.
#[derive(Clone, Debug)]
pub struct Vegas {
    window: Window,
    rounds: DelayRounds,
    settings: VegasSettings,
    /// Completed rounds of this slow start.
    slow_rounds: u64,
    /// Completed rounds of this congestion avoidance.
    steady_rounds: u64,
}

impl Vegas {
    /// A window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: VegasSettings) -> Self {
        Self {
            window: Window::new(init),
            rounds: DelayRounds::new(settings.base_rtt_window),
            settings,
            slow_rounds: 0,
            steady_rounds: 0,
        }
    }

    fn is_in_slow_start(&self) -> bool {
        self.window.is_in_slow_start()
    }

    /// Applies slow start, in every `double_every`th round only.
    fn slow_start(&mut self, ack: &AckSample, path: &PathState) {
        // Brakmo 1995: in between the window stays, so that the comparison is valid.
        let is_its_turn = self.slow_rounds % self.settings.double_every.max(1) == 0;
        let is_cwnd_limited = ack.is_cwnd_limited && is_its_turn;
        self.window.slow_start(&AckSample { is_cwnd_limited, ..*ack }, path);
    }

    /// Returns the compared quantity, segments.
    fn diff(&self, delay: &Delay, smss: u64) -> f64 {
        let queued = delay.queued(self.window.cwnd()) / smss as f64;
        match self.settings.diff {
            VegasDiff::Paper => queued,
            VegasDiff::Linux => queued * delay.rtt.as_ps() as f64 / delay.base.as_ps().max(1) as f64,
        }
    }

    /// Reduces the window to `cwnd` bytes and ends slow start.
    fn shrink(&mut self, cwnd: u64, smss: u64) {
        let cwnd = cwnd.max(2 * smss).min(self.window.cwnd());
        let ssthresh = self.window.ssthresh().min(cwnd.saturating_sub(smss).max(2 * smss));
        self.window.set(cwnd, ssthresh);
    }

    fn slow_start_round_ends(&mut self, delay: Option<Delay>, ack: &AckSample, path: &PathState) {
        let cwnd = self.window.cwnd();
        match delay.filter(|delay| ack.is_cwnd_limited && delay.samples > FEW) {
            Some(delay) if self.diff(&delay, path.smss) > self.settings.gamma => {
                let target = (delay.target(cwnd) as u64 / path.smss + 1) * path.smss;
                self.shrink(target, path.smss);
            }
            _ => self.slow_start(ack, path),
        }
        self.slow_rounds += 1;
    }

    fn round_ends(&mut self, delay: Option<Delay>, path: &PathState) {
        let smss = path.smss;
        let is_its_turn = self.steady_rounds % self.settings.adjust_every.max(1) == 0;
        self.steady_rounds += 1;
        if !is_its_turn {
            return;
        }
        let Some(delay) = delay.filter(|delay| delay.samples > FEW) else {
            // Reno's growth in a round trip.
            return self.window.add(smss as f64);
        };
        let diff = self.diff(&delay, smss);
        if diff > self.settings.beta {
            self.shrink(self.window.cwnd().saturating_sub(smss), smss);
        } else if diff < self.settings.alpha {
            self.window.add(smss as f64);
        }
    }

    /// Thousandths of the window after a loss.
    fn left(&self) -> u32 {
        (1000.0 * (1.0 - self.settings.decrease)).round() as u32
    }

    fn pause(&mut self, path: &PathState) {
        self.rounds.pause(path);
        (self.slow_rounds, self.steady_rounds) = (0, 0);
    }
}

impl CongestionControl for Vegas {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        match self.rounds.on_ack(ack, path) {
            Progress::Paused => self.window.grow(ack, path),
            Progress::Within if self.is_in_slow_start() => self.slow_start(ack, path),
            Progress::End(delay) if self.is_in_slow_start() => self.slow_start_round_ends(delay, ack, path),
            Progress::End(delay) if ack.is_cwnd_limited => self.round_ends(delay, path),
            Progress::Within | Progress::End(_) => {}
        }
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let left = path.share(why.left(self.left()));
        self.window.reduce(path.as_ssthresh(left), left);
        self.pause(path);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        self.window.restart(first.then(|| path.half_as_ssthresh()));
        self.pause(path);
    }

    fn limit_cwnd(&mut self, max: u64) {
        if self.window.cwnd() > max {
            self.rounds.restart();
            self.slow_rounds = 0;
        }
        self.window.limit(max);
    }

    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        self.window.set(cwnd, ssthresh);
        self.rounds.restart();
        self.slow_rounds = 0;
    }

    fn inside(&self, insides: &mut Insides<'_>) {
        self.window.inside(insides);
        insides.min_rtt(self.rounds.base());
    }

    window_hooks!(on_smss, cwnd, ssthresh);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::ack_clock::{AckClock, SMSS};

    fn vegas(segments: u64, ssthresh: u64, settings: VegasSettings) -> AckClock<Vegas> {
        let init = Init { smss: SMSS, cwnd: segments * SMSS, ssthresh, ..Init::default() };
        AckClock::new(Vegas::new(init, settings), 100.0)
    }

    const AVOIDANCE: u64 = 2 * SMSS;

    fn linux() -> VegasSettings {
        VegasSettings { diff: VegasDiff::Linux, double_every: 1, ..VegasSettings::default() }
    }

    /// `docs/specs/vegas.md`, tests: 20 segments, base 100 ms.
    #[test]
    fn what_is_queued_decides_over_the_next_round() {
        let after = |settings, rtt_ms| {
            let mut sender = vegas(20, AVOIDANCE, settings);
            sender.round(rtt_ms);
            sender.segments()
        };
        let paper = VegasSettings::default();
        assert_eq!([125.0, 110.0, 130.0].map(|ms| after(paper, ms)), [20.0, 21.0, 19.0]);
        assert_eq!([125.0, 110.0, 130.0].map(|ms| after(linux(), ms)), [19.0, 20.0, 19.0]);
    }

    /// `docs/specs/vegas.md`, tests: 4.0, 1.82, 4.62 segments; in Linux 5, 2.0, 6.
    #[test]
    fn both_readings_of_the_difference() {
        let diff = |settings, rtt_ms: u64| {
            let sender = vegas(20, AVOIDANCE, settings);
            let (rtt, base) = (Duration::from_millis(rtt_ms), Duration::from_millis(100));
            (sender.cc.diff(&Delay { rtt, base, samples: 20 }, SMSS) * 100.0).round() / 100.0
        };
        assert_eq!([125, 110, 130].map(|ms| diff(VegasSettings::default(), ms)), [4.0, 1.82, 4.62]);
        assert_eq!([125, 110, 130].map(|ms| diff(linux(), ms)), [5.0, 2.0, 6.0]);
    }

    /// `docs/specs/vegas.md`, tests: slow start with 20 segments at 110 ms goes on with min(20, 18 + 1).
    #[test]
    fn slow_start_ends_at_what_the_path_holds() {
        // The ACK that begins the first round adds a segment.
        let mut sender = vegas(19, u64::MAX, VegasSettings::default());
        sender.cc.slow_rounds = 1;
        sender.round(110.0);
        assert_eq!((sender.cc.cwnd(), sender.cc.ssthresh()), (19_000, 18_000));
    }

    /// Brakmo 1995: 19, 19, 38, ..; a path of 100 segments is left at 152, with 100 + 1.
    #[test]
    fn slow_start_doubles_every_other_round_trip() {
        let course = |settings| {
            // The ACK that begins the first round adds a segment to nine, the others of the round nine more.
            let mut sender = vegas(9, u64::MAX, settings);
            [(); 8].map(|()| {
                sender.round_over(100.0, 100.0);
                sender.segments()
            })
        };
        assert_eq!(course(VegasSettings::default()), [19.0, 19.0, 38.0, 38.0, 76.0, 76.0, 152.0, 101.0]);
        // Doubled each round, the window is twice that of the measurement: 199 = 100 289 / 145, and less from then on.
        assert_eq!(course(linux())[..5], [19.0, 37.0, 73.0, 145.0, 199.0]);
    }

    /// A path of 100 segments: one more each round trip until alpha are queued, one less until only beta are.
    #[test]
    fn the_queue_stays_between_the_thresholds() {
        for (from, end, rounds) in [(20, 102.0, 82), (103, 103.0, 0), (150, 104.0, 46)] {
            let mut sender = vegas(from, AVOIDANCE, VegasSettings::default());
            (0..rounds).for_each(|_| sender.round_over(100.0, 100.0));
            assert_eq!(sender.segments(), end, "from {from}");
            (0..50).for_each(|_| sender.round_over(100.0, 100.0));
            assert_eq!(sender.segments(), end, "from {from}");
        }
    }

    #[test]
    fn the_window_may_change_every_other_round_trip_only() {
        let mut sender = vegas(20, AVOIDANCE, VegasSettings { adjust_every: 2, ..VegasSettings::default() });
        let course = [(); 6].map(|()| {
            sender.round_over(100.0, 100.0);
            sender.segments()
        });
        assert_eq!(course, [21.0, 21.0, 22.0, 22.0, 23.0, 23.0]);
    }

    /// From 100 to 130 ms without a queue: cwnd 0.3 / 1.3 > 4 down to 17 segments, on a path that would hold 130.
    #[test]
    fn a_longer_path_looks_like_a_queue_until_the_shorter_is_forgotten() {
        let after = |base_rtt_window| {
            let mut sender = vegas(100, AVOIDANCE, VegasSettings { base_rtt_window, ..VegasSettings::default() });
            (0..300).for_each(|_| sender.round(130.0));
            sender.segments()
        };
        assert_eq!(after(Duration::ZERO), 17.0);
        assert!(after(Duration::from_secs(10)) > 200.0);
    }

    #[test]
    fn two_samples_are_too_few() {
        let mut sender = vegas(2, SMSS, VegasSettings::default());
        // The third segment is sent after the second round began.
        let course = [(); 4].map(|()| {
            sender.round(900.0);
            sender.segments()
        });
        assert_eq!(course, [3.0, 4.0, 4.0, 4.0], "and three are not too few: 3.6 queued");
    }

    /// Four segments are never more than four queued; what Linux compares has no such bound.
    #[test]
    fn no_delay_takes_the_last_two_segments() {
        let least = |settings| {
            let mut sender = vegas(20, AVOIDANCE, settings);
            (0..50).fold(f64::MAX, |least, _| {
                sender.round(100_000.0);
                sender.segments().min(least)
            })
        };
        assert_eq!([VegasSettings::default(), linux()].map(least), [4.0, 2.0]);
    }

    #[test]
    fn a_loss_halves_and_is_reno_until_it_is_repaired() {
        let mut sender = vegas(40, AVOIDANCE, VegasSettings::default());
        sender.lose();
        assert_eq!((sender.cc.cwnd(), sender.cc.ssthresh()), (20_000, 20_000));
        let paper = VegasSettings { decrease: 0.25, ..VegasSettings::default() };
        let mut sender = vegas(40, AVOIDANCE, paper);
        sender.lose();
        assert_eq!(sender.cc.cwnd(), 30_000);
        let path = *sender.view();
        sender.cc.on_rto(true, &path);
        assert_eq!((sender.cc.cwnd(), sender.cc.ssthresh()), (1000, 15_000));
        sender.path.snd_una -= 10 * SMSS;
        let acked = AckSample {
            newly_acked: SMSS,
            is_cwnd_limited: true,
            rtt: Some(Duration::from_secs(9)),
            ..AckSample::default()
        };
        for _ in 0..9 {
            sender.path.snd_una += SMSS;
            sender.cc.on_ack(&acked, &sender.path);
        }
        assert_eq!(sender.cc.cwnd(), 10_000, "each ACK adds a segment, whatever the delay");
    }
}

//! The worked cases of `docs/specs/slow-start-termination.md`.

use super::*;
use crate::keys::{Growth, WindowSize};
use crate::testbench;
use crate::{Init, Window};

const SMSS: u64 = 1000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A window and the path that it is on; each ACK acknowledges whole segments.
struct Sender {
    window: Window,
    path: PathState,
    /// End of the data sent when the round began.
    end: u64,
}

impl Sender {
    fn new(slow_start: SlowStart, segments: u64) -> Self {
        let growth = Growth { slow_start, ..Growth::default() };
        let window =
            Window::new(Init { smss: SMSS, cwnd: segments * SMSS, ssthresh: u64::MAX, growth, ..Init::default() });
        Self { window, path: PathState { smss: SMSS, ..testbench::path(segments * SMSS) }, end: 0 }
    }

    /// Delivers an ACK of `segments` segments after a pause. The sender fills its window immediately.
    fn ack(&mut self, after: Duration, segments: u64, rtt: Duration) {
        self.path.now += after;
        self.path.snd_una += segments * SMSS;
        if self.path.snd_una > self.end {
            self.end = self.path.snd_nxt;
        }
        let ack =
            AckSample { newly_acked: segments * SMSS, is_cwnd_limited: true, rtt: Some(rtt), ..AckSample::default() };
        self.window.grow(&ack, &self.path);
        let whole_segments = self.window.cwnd() / SMSS * SMSS;
        self.path.snd_nxt = self.path.snd_nxt.max(self.path.snd_una + whole_segments);
    }

    /// Single ACKs, 10 ms apart, all with this delay, to the end of the round. Returns the window then.
    fn round(&mut self, rtt_ms: u64) -> f64 {
        loop {
            self.ack(ms(10), 1, ms(rtt_ms));
            if self.path.snd_una >= self.end {
                return self.cwnd();
            }
        }
    }

    fn cwnd(&self) -> f64 {
        self.window.cwnd() as f64 / SMSS as f64
    }

    fn ssthresh(&self) -> Option<u64> {
        Some(self.window.ssthresh()).filter(|&ssthresh| ssthresh != u64::MAX).map(|bytes| bytes / SMSS)
    }
}

fn hoe(pairs: u32) -> SlowStart {
    SlowStart::Hoe(Hoe { pairs, ..Hoe::default() })
}

fn hystart(change: impl FnOnce(&mut HyStart)) -> SlowStart {
    let mut config = HyStart::default();
    change(&mut config);
    SlowStart::HyStart(config)
}

const PLUS_PLUS: fn() -> SlowStart = || SlowStart::HyStartPlusPlus(HyStartPlusPlus::default());

/// Test 1: 0.5 s of segments that leave the bottleneck each 0.8 ms.
#[test]
fn hoe_rate_times_round_trip() {
    let mut s = Sender::new(hoe(1), 1);
    s.ack(ms(500), 1, ms(500));
    s.ack(ms(500), 1, ms(500));
    assert_eq!(s.ssthresh(), None);
    s.ack(Duration::from_micros(800), 1, ms(500));
    assert_eq!(s.ssthresh(), Some(625));
}

#[test]
fn hoe_median_of_three_pairs_is_not_misled_by_one() {
    for (pairs, expected) in [(1, 50_000), (3, 625)] {
        let mut s = Sender::new(hoe(pairs), 10);
        s.ack(ms(500), 1, ms(500));
        // Compressed ACKs: the second pair came too close.
        for us in [800, 10, 800, 800] {
            s.ack(Duration::from_micros(if pairs == 1 { 10 } else { us }), 1, ms(500));
        }
        assert_eq!(s.ssthresh(), Some(expected), "{pairs}");
    }
}

/// ACKs that give no estimate: across rounds, delayed by the receiver's timer, or below the clock's resolution.
#[test]
fn hoe_takes_only_pairs_that_were_sent_together() {
    let mut s = Sender::new(hoe(1), 4);
    s.ack(ms(500), 1, ms(500));
    s.ack(ms(1), 3, ms(500));
    s.ack(ms(500), 3, ms(500));
    assert_eq!(s.ssthresh(), None, "two rounds");
    s.ack(ms(200), 1, ms(700));
    s.ack(ms(0), 1, ms(700));
    assert_eq!(s.ssthresh(), None, "a timer, a clock");
    s.ack(ms(1), 1, ms(700));
    assert_eq!(s.ssthresh(), Some(500));
}

#[test]
fn hoe_estimates_once_and_not_after_a_loss() {
    let mut s = Sender::new(hoe(1), 10);
    s.ack(ms(500), 1, ms(500));
    s.window.reduce(4 * SMSS, 2 * SMSS);
    (0..4).for_each(|_| s.ack(ms(100), 1, ms(500)));
    assert_eq!(s.ssthresh(), Some(4));
}

/// Test 3: K = int(cwnd / 50).
#[test]
fn rfc3742_2_limited_slow_start() {
    for (cwnd, added) in [(250, 200), (100, 1000), (149, 500), (101, 500), (150, 333)] {
        let mut s = Sender::new(SlowStart::Limited { max_ssthresh: WindowSize::Segments(100) }, cwnd);
        s.ack(ms(500), 1, ms(500));
        assert_eq!(s.window.cwnd() - cwnd * SMSS, added, "{cwnd}");
    }
}

#[test]
fn rfc3742_2_adds_at_most_half_of_max_ssthresh_per_round_trip() {
    let mut s = Sender::new(SlowStart::Limited { max_ssthresh: WindowSize::Segments(100) }, 100);
    for _ in 0..20 {
        let before = s.cwnd();
        let added = s.round(500) - before;
        assert!((45.0..51.0).contains(&added), "{added}");
    }
}

/// Test 2.
#[test]
fn rfc9406_4_2_threshold_is_an_eighth_within_bounds() {
    let delay = DelayIncrease::new(HyStartPlusPlus::default());
    let threshold_us = [100, 40, 20, 540].map(|last| delay.threshold(ms(last)).as_ps() / 1_000_000);
    assert_eq!(threshold_us, [12_500, 5000, 4000, 16_000]);
}

/// Test 4, first half: conservative slow start, and back.
#[test]
fn rfc9406_4_2_conservative_slow_start_and_back() {
    let mut s = Sender::new(PLUS_PLUS(), 32);
    assert_eq!(s.round(100), 64.0);
    (0..7).for_each(|_| s.ack(ms(10), 1, ms(113)));
    assert_eq!(s.cwnd(), 71.0);
    s.ack(ms(10), 1, ms(113));
    assert_eq!(s.cwnd(), 72.0, "first the window is updated");
    s.ack(ms(10), 1, ms(113));
    assert_eq!(s.cwnd(), 72.25, "the eighth sample slows down");
    s.round(113);
    // The next round is faster than the first in conservative slow start: back.
    let before = s.cwnd();
    (0..9).for_each(|_| s.ack(ms(10), 1, ms(112)));
    assert_eq!(s.cwnd(), before + 8.0 * 0.25 + 1.0);
    assert_eq!(s.ssthresh(), None);
}

/// Test 4, second half: five rounds, of which the one in which it began counts as the first.
#[test]
fn rfc9406_4_2_slow_start_ends_after_five_conservative_rounds() {
    let mut s = Sender::new(PLUS_PLUS(), 16);
    s.round(100);
    for rtt in [113, 114, 115, 116, 117] {
        s.round(rtt);
        assert_eq!(s.ssthresh(), None);
    }
    let cwnd = s.window.cwnd();
    s.ack(ms(10), 1, ms(118));
    assert_eq!(s.window.ssthresh(), cwnd);
    assert!(s.window.cwnd() - cwnd < SMSS / 10, "congestion avoidance");
}

/// Test 5.
#[test]
fn rfc9406_4_2_neither_the_first_round_nor_a_round_of_seven_samples_ends_it() {
    let mut s = Sender::new(PLUS_PLUS(), 40);
    for n in 0..40 {
        s.ack(ms(10), 1, ms(100 + n));
    }
    assert_eq!(s.cwnd(), 80.0);
    let mut s = Sender::new(PLUS_PLUS(), 16);
    s.round(100);
    (0..7).for_each(|_| s.ack(ms(10), 1, ms(200)));
    assert_eq!(s.cwnd(), 39.0);
}

#[test]
fn rfc9406_4_3_an_ack_counts_for_at_most_eight_segments() {
    let mut s = Sender::new(PLUS_PLUS(), 32);
    s.ack(ms(10), 6, ms(100));
    assert_eq!(s.cwnd(), 38.0);
    s.ack(ms(10), 12, ms(100));
    assert_eq!(s.cwnd(), 46.0);
}

#[test]
fn rfc9406_4_2_a_loss_ends_it_for_good() {
    let mut s = Sender::new(PLUS_PLUS(), 32);
    s.round(100);
    s.window.reduce(1000 * SMSS, 32 * SMSS);
    s.path.snd_nxt = s.path.snd_una + 32 * SMSS;
    s.round(100);
    let before = s.cwnd();
    s.round(200);
    assert_eq!(s.cwnd(), 2.0 * before);
}

/// The path holds 50 segments; ACKs come back to back for half a round trip when the window is half of that.
#[test]
fn hystart_a_train_of_half_a_round_trip_ends_slow_start() {
    let mut s = Sender::new(hystart(|_| ()), 32);
    s.ack(ms(100), 1, ms(100));
    (0..25).for_each(|_| s.ack(ms(2), 1, ms(100)));
    assert_eq!(s.ssthresh(), None);
    s.ack(ms(2), 1, ms(100));
    assert_eq!(s.ssthresh(), Some(58));
    // A gap ends the train.
    let mut s = Sender::new(hystart(|_| ()), 64);
    s.ack(ms(100), 1, ms(100));
    s.ack(ms(3), 1, ms(100));
    (0..40).for_each(|_| s.ack(ms(2), 1, ms(100)));
    assert_eq!(s.ssthresh(), None);
    // With pacing, ACKs are spread over the round trip.
    let mut s = Sender::new(hystart(|config| config.train_divisor = 1), 64);
    s.ack(ms(100), 1, ms(100));
    (0..50).for_each(|_| s.ack(ms(2), 1, ms(100)));
    assert_eq!(s.ssthresh(), None);
    s.ack(ms(2), 1, ms(100));
    assert_eq!(s.ssthresh(), Some(115));
}

/// From the ninth sample on, the first eight count. A delay that is more than an eighth longer, within 4 and 16 ms, is
/// late.
#[test]
fn hystart_late_acks_end_slow_start() {
    for (base, late, expected) in [(100, 112, None), (100, 113, Some(40)), (20, 24, None), (540, 557, Some(40))] {
        let mut s = Sender::new(hystart(|_| ()), 16);
        s.round(base);
        (0..8).for_each(|_| s.ack(ms(10), 1, ms(late)));
        assert_eq!(s.ssthresh(), None);
        s.ack(ms(10), 1, ms(base));
        assert_eq!(s.ssthresh(), expected, "{base} {late}");
    }
}

#[test]
fn hystart_small_windows_go_on() {
    let mut s = Sender::new(hystart(|_| ()), 3);
    s.round(100);
    (0..6).for_each(|_| s.ack(ms(10), 1, ms(200)));
    assert_eq!((s.cwnd(), s.ssthresh()), (12.0, None));
}

#[test]
fn hystart_signs_and_base_are_choices() {
    let late = |change: fn(&mut HyStart)| {
        let mut s = Sender::new(hystart(change), 16);
        s.round(100);
        s.round(112);
        (0..9).for_each(|_| s.ack(ms(10), 1, ms(120)));
        s.ssthresh().is_some()
    };
    assert!(late(|_| ()));
    assert!(!late(|config| config.detect = HyStartDetect::AckTrain));
    assert!(!late(|config| config.baseline = HyStartBaseline::LastRound));
}

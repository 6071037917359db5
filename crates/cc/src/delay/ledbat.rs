//! LEDBAT keeps a fixed queueing delay, 100 ms or less, and yields to all traffic that adds more. It is meant for
//! background traffic.
//!
//! RFC 6817 §2.4.2.
//!
//! # How it works
//!
//! The least delay of the last ten minutes is the delay of the empty path. The least of the last four samples is the
//! current delay:
//!
//! ```text
//! queued = min(current) - min(base),  off = (TARGET - queued) / TARGET
//! ACK:   cwnd += GAIN off acked MSS / cwnd,  at most flight + ALLOWED_INCREASE MSS,  at least MIN_CWND MSS
//! loss:  cwnd = min(cwnd, max(cwnd / 2, MIN_CWND MSS));  timeout: 1 MSS
//! ```
//!
//! With timestamps (RFC 7323) LEDBAT measures the one-way delay, so queues of ACKs do not count. The offset of the
//! clocks cancels. A mark counts as a loss.
//!
//! # Differences from the source
//!
//! - LEDBAT measures the round-trip time if there are no timestamps. The standard has no such case.
//! - The standard allows slow start only until a delay is measured. By default there is none, and a window that
//!   restarts from one segment grows by one segment per round trip. `slow_start_until` changes that.
//! - A minute without measurements counts as one of the ten.
//! - An unused window stays as it is, as with all congestion controls here.
//!
//! # When it helps
//!
//! LEDBAT suits software updates and similar transfers beside other traffic. A loss-based flow that queues more than
//! the target gets the path to itself. The target is a queueing delay, not a share of the round trip, so it suits GEO
//! as well.
//!
//! # When it hurts
//!
//! Over GEO the growth of one segment per round trip of half a second is slow. `slow_start_until` helps there. LEDBAT
//! takes a handover to a longer path for a queue until the shorter path is forgotten, after ten minutes by default.
//! With a target of 100 ms, a path that is 60 ms longer leaves it 40 ms. Losses of the link halve its window, like
//! Reno's.

use crate::parts::loss_window::window_hooks;
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Delivery, Init, Insides, PathState, Window, HALF};
use bentpipe_units::{Duration, Time};

bentpipe_units::words! {
    /// Delay that LEDBAT measures.
    pub enum LedbatDelay {
        /// One-way delay from sender to receiver with timestamps, otherwise the round-trip time.
        "one-way" => OneWay,
        /// Round-trip time.
        "round-trip" => RoundTrip,
    }
}

settings! {
    /// Settings of LEDBAT.
    pub struct LedbatSettings {
        /// Target of the queueing delay.
        target: Duration = Duration::from_millis(100), "RFC 6817 §2.5: 100 ms or less";
        /// Gain of the window, segments per round trip with an empty queue.
        gain: f64 = 1.0, [0.001, 1.0], "RFC 6817 §2.5";
        /// Largest excess of the window over the data in flight, segments.
        allowed_increase: f64 = 1.0, [0.001, 1000.0], "RFC 6817 §2.5";
        /// Number of least delays that are kept. The smallest of them is the delay of the empty path.
        base_history: u64 = 10, [1, 60], "RFC 6817 §2.5";
        /// Period of each of them.
        base_interval: Duration = Duration::from_secs(60), "RFC 6817 §2.4.2";
        /// Number of last samples whose minimum is the current delay.
        current_filter: u64 = 4, [1, 100], "RFC 6817 §2.5";
        /// Initial window, segments, if the connection's is not smaller.
        initial_window: u64 = 2, [1, 100], "RFC 6817 §2.5";
        /// Smallest window except after a timeout, segments.
        min_window: u64 = 2, [1, 100], "RFC 6817 §2.5";
        /// Share of the target that may be queued in slow start, below the threshold; 0: no slow start.
        slow_start_until: f64 = 0.0, [0.0, 1.0], "RFC 6817 allows it only while no delay is measured";
        /// Delay that is measured.
        delay: enum LedbatDelay = LedbatDelay::OneWay, "RFC 6817 §2.2";
    }
}

/// LEDBAT on a connection: the window, and the delays that it keeps.
#[derive(Clone, Debug)]
pub struct Ledbat {
    window: Window,
    settings: LedbatSettings,
    delays: Delays,
}

impl Ledbat {
    /// Creates a window of `init.cwnd` bytes, or of `initial_window`.
    pub fn new(init: Init, settings: LedbatSettings) -> Self {
        let cwnd = init.cwnd.min(settings.initial_window * init.smss);
        let has_slow_start = settings.slow_start_until > 0.0;
        // Without slow start, no threshold may indicate it.
        let ssthresh = if has_slow_start { init.ssthresh } else { init.ssthresh.min(cwnd.max(2 * init.smss)) };
        let delays = Delays::new(init.now, &settings);
        Self { window: Window::new(Init { cwnd, ssthresh, ..init }), settings, delays }
    }

    /// Returns the queueing delay as a share of the target; `None` before the first sample.
    fn share_queued(&self) -> Option<f64> {
        let target = self.settings.target.as_ps().max(1) as f64;
        self.delays.queued().map(|ps| ps as f64 / target)
    }

    /// Applies slow start to an ACK. Returns false if slow start does not apply.
    fn slow_start(&mut self, ack: &AckSample, path: &PathState) -> bool {
        let (cwnd, ssthresh) = (self.window.cwnd(), self.window.ssthresh());
        if self.settings.slow_start_until <= 0.0 || cwnd >= ssthresh {
            return false;
        }
        if self.share_queued().unwrap_or(0.0) >= self.settings.slow_start_until {
            self.window.set(cwnd, cwnd.max(2 * path.smss));
            return false;
        }
        self.window.slow_start(ack, path);
        true
    }
}

impl CongestionControl for Ledbat {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        if let (false, Some(rtt)) = (self.delays.is_one_way, ack.rtt) {
            self.delays.sample(i64::try_from(rtt.as_ps()).unwrap_or(i64::MAX >> 1), path.now);
        }
        if !ack.is_cwnd_limited || self.slow_start(ack, path) {
            return;
        }
        let cwnd = self.window.cwnd();
        let off = 1.0 - self.share_queued().unwrap_or(0.0);
        // An ACK counts for one window at most.
        let share = (ack.newly_acked as f64 / cwnd as f64).min(1.0);
        let change = self.settings.gain * off * path.smss as f64 * share;
        if change < 0.0 {
            self.window.take(-change);
        } else {
            self.window.add(change);
        }
        let flight = path.flight_size.saturating_add(ack.newly_acked);
        let allowed = (self.settings.allowed_increase * path.smss as f64) as u64;
        self.window.limit(flight.saturating_add(allowed));
        let least = self.settings.min_window * path.smss;
        if self.window.cwnd() < least {
            self.window.set(least, self.window.ssthresh());
        }
    }

    fn takes_deliveries(&self) -> bool {
        // Only deliveries bring the one-way delay.
        self.settings.delay == LedbatDelay::OneWay
    }

    fn on_delivery(&mut self, delivery: &Delivery, path: &PathState) {
        if let (LedbatDelay::OneWay, Some(delay)) = (self.settings.delay, delivery.one_way_delay) {
            self.delays.sample_one_way(delay, path.now);
        }
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let cwnd = self.window.cwnd();
        let left = (cwnd * u64::from(why.left(HALF)) / 1000).max(self.settings.min_window * path.smss).min(cwnd);
        self.window.reduce(path.as_ssthresh(left.max(2 * path.smss)), left);
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        let half = path.as_ssthresh((self.window.cwnd() / 2).max(2 * path.smss));
        self.window.restart(first.then_some(half));
    }

    fn inside(&self, insides: &mut Insides<'_>) {
        self.window.inside(insides);
        insides.own("queueing_delay_s", self.delays.queued().map_or(f64::NAN, |ps| ps as f64 / 1e12));
    }

    window_hooks!(limit_cwnd, set_window, on_smss, cwnd, ssthresh);
}

/// Delays, in ps from the first one on, where only differences matter.
#[derive(Clone, Debug)]
struct Delays {
    /// Least delay of each interval, in a ring; `NONE` without a measurement.
    base: Box<[i64]>,
    /// The current interval, and its start.
    at: usize,
    since: Time,
    interval: Duration,
    /// The last samples, in a ring.
    current: Box<[i64]>,
    next: usize,
    is_one_way: bool,
    /// The first one-way delay, ms of both clocks.
    origin: u32,
}

const NONE: i64 = i64::MAX;
const PS_PER_MS: u64 = 1_000_000_000;

impl Delays {
    fn new(now: Time, settings: &LedbatSettings) -> Self {
        Self {
            base: vec![NONE; settings.base_history as usize].into_boxed_slice(),
            at: 0,
            since: now,
            interval: settings.base_interval.max(Duration::from_ps(1)),
            current: vec![NONE; settings.current_filter as usize].into_boxed_slice(),
            next: 0,
            is_one_way: false,
            origin: 0,
        }
    }

    fn sample(&mut self, delay: i64, now: Time) {
        let passed = now.saturating_since(self.since).as_ps() / self.interval.as_ps();
        self.since += self.interval * passed;
        for _ in 0..passed.min(self.base.len() as u64) {
            self.at = (self.at + 1) % self.base.len();
            self.base[self.at] = NONE;
        }
        self.base[self.at] = self.base[self.at].min(delay);
        self.current[self.next] = delay;
        self.next = (self.next + 1) % self.current.len();
    }

    /// Adds a one-way delay, measured by two clocks that count milliseconds in 32 bits. Either may be behind the other.
    fn sample_one_way(&mut self, delay: Duration, now: Time) {
        let ms = (delay.as_ps() / PS_PER_MS) as u32;
        if !self.is_one_way {
            self.base.fill(NONE);
            self.current.fill(NONE);
            (self.is_one_way, self.origin) = (true, ms);
        }
        let since_first = ms.wrapping_sub(self.origin) as i32;
        self.sample(i64::from(since_first) * PS_PER_MS as i64, now);
    }

    /// Returns the queueing delay, ps.
    fn queued(&self) -> Option<i64> {
        let least = |of: &[i64]| of.iter().copied().min().filter(|&least| least != NONE);
        Some((least(&self.current)? - least(&self.base)?).max(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::{path, DELIVERY};

    const SMSS: u64 = 1460;

    fn ledbat(segments: u64, settings: LedbatSettings) -> Ledbat {
        let settings = LedbatSettings { initial_window: 100, ..settings };
        Ledbat::new(Init { cwnd: segments * SMSS, ..Init::default() }, settings)
    }

    fn at(cc: &Ledbat, ms: u64) -> PathState {
        let flight = cc.cwnd() - SMSS;
        PathState { now: Time::ZERO + Duration::from_millis(ms), ..path(flight) }
    }

    /// An ACK of a segment whose round trip was `rtt_ms`; what it adds, bytes.
    fn ack(cc: &mut Ledbat, rtt_ms: u64, ms: u64) -> f64 {
        let before = cc.cwnd() as f64;
        let rtt = Some(Duration::from_millis(rtt_ms));
        cc.on_ack(&AckSample { newly_acked: SMSS, is_cwnd_limited: true, rtt, ..AckSample::default() }, &at(cc, ms));
        cc.cwnd() as f64 - before
    }

    fn delivered(one_way_ms: u64) -> Delivery {
        Delivery {
            newly_delivered: SMSS,
            delivered: SMSS,
            one_way_delay: Some(Duration::from_millis(one_way_ms)),
            ..DELIVERY
        }
    }

    /// `docs/specs/ledbat.md`, test: 40 ms queued, 1460 B acknowledged, a window of 14,600 B: +87.6 B.
    #[test]
    fn rfc6817_2_4_2_the_window_grows_by_what_is_left_of_the_target() {
        let mut cc = ledbat(10, LedbatSettings { current_filter: 1, ..LedbatSettings::default() });
        ack(&mut cc, 50, 0);
        cc.set_window(14_600, 2 * SMSS);
        assert_eq!(ack(&mut cc, 90, 1), 87.0);
        // 87.6 + 87.1 + 86.6 + 86.1 + 85.6: fractions add up.
        cc.set_window(14_600, 2 * SMSS);
        let grown = (0..5).map(|_| ack(&mut cc, 90, 2)).sum::<f64>();
        assert_eq!(grown, 432.0);
        cc.set_window(14_600, 2 * SMSS);
        assert_eq!(ack(&mut cc, 150, 3), 0.0, "on target");
        assert_eq!(ack(&mut cc, 250, 4), -146.0, "100 ms above");
    }

    #[test]
    fn rfc6817_2_4_2_the_present_delay_is_the_least_of_the_last_four() {
        let mut cc = ledbat(10, LedbatSettings::default());
        ack(&mut cc, 50, 0);
        let queued = [250, 250, 250, 250, 90].map(|ms| {
            ack(&mut cc, ms, 1);
            cc.delays.queued().unwrap() / PS_PER_MS as i64
        });
        assert_eq!(queued, [0, 0, 0, 200, 40]);
    }

    /// A path that becomes 60 ms longer is a queue of 60 ms until the shorter one is ten minutes ago.
    #[test]
    fn rfc6817_2_5_the_base_is_the_least_of_ten_minutes() {
        let mut cc = ledbat(10, LedbatSettings { current_filter: 1, ..LedbatSettings::default() });
        ack(&mut cc, 40, 59_000);
        let mut queued_at = |s: u64| {
            ack(&mut cc, 100, 1000 * s);
            cc.delays.queued().unwrap() / PS_PER_MS as i64
        };
        assert_eq!([60, 300, 599, 600].map(&mut queued_at), [60, 60, 60, 0]);
    }

    #[test]
    fn rfc6817_2_4_2_the_window_is_at_most_one_segment_above_the_flight() {
        let mut cc = ledbat(10, LedbatSettings::default());
        let view = path(3 * SMSS);
        let rtt = Some(Duration::from_millis(50));
        cc.on_ack(&AckSample { newly_acked: SMSS, is_cwnd_limited: true, rtt, ..AckSample::default() }, &view);
        assert_eq!(cc.cwnd(), 5 * SMSS);
    }

    #[test]
    fn rfc6817_2_4_2_a_loss_halves_and_two_segments_are_left() {
        let mut cc = ledbat(10, LedbatSettings::default());
        cc.on_congestion(Congestion::FastRetransmit, &path(10 * SMSS));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (5 * SMSS, 5 * SMSS));
        (0..4).for_each(|_| cc.on_congestion(Congestion::FastRetransmit, &path(SMSS)));
        assert_eq!(cc.cwnd(), 2 * SMSS);
        cc.on_rto(true, &path(2 * SMSS));
        assert_eq!(cc.cwnd(), SMSS);
        assert_eq!(ack(&mut cc, 50, 0), SMSS as f64, "the next ACK asks for MIN_CWND");
    }

    /// The clocks differ by 40 days and one of them wraps: differences stay.
    #[test]
    fn offsets_of_clocks_cancel() {
        for offset in [0u32, 12_345, u32::MAX - 20, 3_456_000_000] {
            let settings = LedbatSettings { current_filter: 1, ..LedbatSettings::default() };
            let mut cc = ledbat(10, settings);
            let queued = [50u32, 50, 90, 40, 150].map(|ms| {
                cc.on_delivery(&delivered(u64::from(offset.wrapping_add(ms))), &path(0));
                cc.delays.queued().unwrap() / PS_PER_MS as i64
            });
            assert_eq!(queued, [0, 0, 40, 0, 110], "{offset}");
        }
    }

    /// The way of the ACKs is full: only the round trip shows it.
    #[test]
    fn queues_of_acks_do_not_count_where_there_are_timestamps() {
        let after = |delay| {
            let mut cc = ledbat(10, LedbatSettings { delay, current_filter: 1, ..LedbatSettings::default() });
            for (i, rtt_ms) in [50, 350, 350, 350].into_iter().enumerate() {
                if cc.takes_deliveries() {
                    cc.on_delivery(&delivered(25), &at(&cc, i as u64));
                }
                ack(&mut cc, rtt_ms, i as u64);
            }
            cc.cwnd()
        };
        assert!(after(LedbatDelay::OneWay) > 10 * SMSS);
        assert!(after(LedbatDelay::RoundTrip) < 10 * SMSS);
    }

    #[test]
    fn the_window_begins_with_two_segments() {
        let begin = |cwnd| Ledbat::new(Init { cwnd, ..Init::default() }, LedbatSettings::default()).cwnd();
        assert_eq!([SMSS, 10 * SMSS].map(begin), [SMSS, 2 * SMSS]);
    }

    #[test]
    fn slow_start_ends_when_its_share_of_the_target_is_queued() {
        let mut cc =
            ledbat(4, LedbatSettings { slow_start_until: 0.75, current_filter: 1, ..LedbatSettings::default() });
        assert_eq!(ack(&mut cc, 50, 0), SMSS as f64);
        assert_eq!(ack(&mut cc, 124, 0), SMSS as f64);
        assert!(ack(&mut cc, 125, 0) < SMSS as f64 / 6.0);
        assert_eq!(cc.ssthresh(), 6 * SMSS);
        let mut none = ledbat(4, LedbatSettings::default());
        assert!(ack(&mut none, 50, 0) < SMSS as f64);
    }
}

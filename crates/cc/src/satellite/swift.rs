//! TCP-Swift opens the window in two round trips. It opens it again after a loss that the ACKs do not attribute to a
//! queue. Only the sender differs.
//!
//! K. F. Leung and K. L. Yeung, "TCP-Swift: an end-host enhancement scheme for TCP over satellite IP networks", ISCC
//! 2004. Only the abstract and remarks of others were available. Certain are two round trips at the start, a cause of
//! loss that the sender reads from the ACKs, and a window expanding period of one round trip after recovery. The rest
//! is a reading.
//!
//! # How it works
//!
//! ```text
//! Speedy Start       first round trip: data, one segment every RTT / rwnd; second: cwnd += 1 for each ACK;
//!                    then congestion avoidance
//! Speedy Recovery    at the third duplicate: w0 = cwnd, ssthresh = cwnd = w0 / 2; a: ACKs that came, duplicate or partial
//! window expanding   from the end of recovery to the ACK of the last segment sent in it:
//!                    each ACK: cwnd += 1 up to w0, if a >= w0 - losses - 1, less than 3 losses, RTT <= 1.25 minimum
//! ```
//!
//! # Differences from the source
//!
//! Readings:
//!
//! - Data of Speedy Start has the priority of all data, and leaves by pacing. Until its two round trips are over, or a
//!   loss or mark ends it, the window is the probed window. From then on it is the window that ACKs have shown, one
//!   segment per ACK.
//! - It probes for the receiver's window, up to `probe_max` segments. The window of a SYN is not scaled. If the first
//!   ACK shows a larger window, the two round trips start again.
//! - Slow start replaces Speedy Start after a timeout, and without a round-trip time from a handshake.
//! - A round-trip time is that of the last ACK before the loss. A window that recovery leaves without outstanding data
//!   ends its expanding period with the ACK of the next window.
//!
//! # When it helps
//!
//! On a geostationary path Swift saves the ten round trips of slow start. It recovers its window one round trip after
//! an error of the link.
//!
//! # When it hurts
//!
//! - The start is blind: only a loss ends it. A receiver's window above the bandwidth-delay product overflows the queue
//!   for all flows.
//! - After a single loss it takes its window back for any cause. Where queues overflow by one or two segments at a
//!   time, it does not yield.
//! - Its recovery is NewReno's. Beside `sack`, which repairs faster, it takes less than half.

use crate::parts::loss_window::window_hooks;
use crate::settings::settings;
use crate::{AckSample, Congestion, CongestionControl, Init, Pace, PathState, Unbounded, Window, HALF};
use bentpipe_units::{Duration, Rate, Time};

settings! {
    /// Settings of Swift.
    pub struct SwiftSettings {
        /// Largest window that Speedy Start probes for, segments. A smaller receiver's window takes precedence.
        probe_max: u64 = 1024, [1, 1_000_000], "a GEO path of 20 Mbit/s";
        /// Losses in a window that mean congestion.
        many_losses: u64 = 3, [2, 1_000_000], "reading";
        /// Multiple of the smallest round-trip time above which a round-trip time means congestion.
        rtt_rise: f64 = 1.25, [1.0, 1000.0], "reading";
        /// Whether there is a window expanding period. Otherwise recovery is Reno's.
        expand: bool = true, "Leung 2004";
    }
}

/// Duplicate ACKs that begin recovery.
const DUPLICATES: u64 = 3;

/// Bytes of IP and TCP header beside each segment, without options.
const HEADERS: u64 = 40;

/// TCP-Swift on a connection: the window, and the progress of its start or of a recovery.
#[derive(Clone, Debug)]
pub struct Swift {
    /// Window that ACKs have shown.
    window: Window,
    settings: SwiftSettings,
    start: Start,
    recovery: Option<Recovery>,
    expanding: Option<Expanding>,
    min_rtt: Option<Duration>,
    last_rtt: Option<Duration>,
}

/// Progress of Speedy Start.
#[derive(Clone, Copy, Debug)]
enum Start {
    /// No data was sent yet.
    Waiting(Duration),
    /// Probing for a window of `goal` bytes.
    Probing {
        rtt: Duration,
        goal: u64,
        /// Rate that sends it in one round trip, headers included.
        rate: Rate,
        ends: Time,
    },
    Over,
}

/// Counters of Speedy Recovery.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// Window before the recovery, bytes.
    w0: u64,
    acks: u64,
    losses: u64,
    is_delayed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Expanding {
    w0: u64,
    /// End of the period: all data below is acknowledged.
    until: u64,
}

impl Swift {
    /// Starts with one segment and Speedy Start if the round-trip time is known. Otherwise starts with `init.cwnd`
    /// bytes in slow start.
    pub fn new(init: Init, settings: SwiftSettings) -> Self {
        let mut window = Window::new(init);
        if init.rtt.is_some() {
            window.set(init.smss, u64::MAX);
        }
        let start = init.rtt.map_or(Start::Over, Start::Waiting);
        let (recovery, expanding, min_rtt, last_rtt) = (None, None, init.rtt, None);
        Self { window, settings, start, recovery, expanding, min_rtt, last_rtt }
    }

    /// Continues, prolongs or ends Speedy Start.
    fn watch_start(&mut self, path: &PathState) {
        let wanted = path.rwnd.min(self.settings.probe_max.saturating_mul(path.smss));
        match self.start {
            Start::Probing { rtt, goal, .. } if wanted > goal => self.probe(rtt, wanted, path),
            Start::Probing { ends, goal, .. } if ends <= path.now || self.window.cwnd() >= goal => self.end_start(),
            _ => {}
        }
    }

    fn probe(&mut self, rtt: Duration, goal: u64, path: &PathState) {
        let bytes = goal + goal.div_ceil(path.smss.max(1)) * HEADERS;
        let bps = u128::from(bytes) * 8 * u128::from(Duration::from_secs(1).as_ps()) / u128::from(rtt.as_ps().max(1));
        let rate = Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1));
        self.start = Start::Probing { rtt, goal, rate, ends: path.now + rtt * 2 };
    }

    /// Ends Speedy Start: congestion avoidance follows.
    fn end_start(&mut self) {
        if let Start::Probing { .. } = std::mem::replace(&mut self.start, Start::Over) {
            let cwnd = self.window.cwnd();
            self.window.set(cwnd, cwnd);
        }
    }

    /// Whether the ACKs of a recovery show a queue that lost packets.
    fn is_congestion(&self, recovery: &Recovery, path: &PathState) -> bool {
        let expected = (recovery.w0 / path.smss.max(1)).saturating_sub(recovery.losses + 1);
        recovery.acks < expected || recovery.losses >= self.settings.many_losses || recovery.is_delayed
    }
}

impl CongestionControl for Swift {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        if let Some(rtt) = ack.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
            self.last_rtt = Some(rtt);
        }
        if let Some(Expanding { w0, until }) = self.expanding {
            let cwnd = self.window.cwnd();
            if path.snd_una <= until && cwnd < w0 && ack.is_cwnd_limited {
                self.window.add(path.smss.min(w0 - cwnd) as f64);
            }
            if path.snd_una >= until || cwnd >= w0 {
                self.expanding = None;
            }
            return;
        }
        self.window.grow(ack, path);
        if !matches!(self.start, Start::Over) {
            self.watch_start(path);
        }
    }

    fn on_congestion(&mut self, why: Congestion, path: &PathState) {
        let w0 = self.window.cwnd().min(path.ssthresh_base).max(path.smss);
        let left = (w0 * u64::from(why.left(HALF)) / 1000).max(2 * path.smss);
        (self.start, self.expanding) = (Start::Over, None);
        self.window.reduce(path.as_ssthresh(left).max(2 * path.smss), left);
        if why == Congestion::FastRetransmit && self.settings.expand {
            let most = self.min_rtt.map_or(f64::MAX, |min| min.as_secs_f64() * self.settings.rtt_rise);
            let is_delayed = self.last_rtt.is_some_and(|rtt| rtt.as_secs_f64() > most);
            self.recovery = Some(Recovery { w0, acks: DUPLICATES, losses: 1, is_delayed });
        }
    }

    fn on_recovery_ack(&mut self, is_partial: bool, _: &PathState) {
        if let Some(recovery) = &mut self.recovery {
            recovery.acks += 1;
            recovery.losses += u64::from(is_partial);
        }
    }

    fn on_recovery_exit(&mut self, path: &PathState) {
        let Some(recovery) = self.recovery.take() else { return };
        if !self.is_congestion(&recovery, path) {
            let sent = if path.snd_nxt > path.snd_una { path.snd_nxt } else { path.snd_una + self.window.cwnd() };
            self.expanding = Some(Expanding { w0: recovery.w0, until: sent });
        }
    }

    fn on_rto(&mut self, first: bool, path: &PathState) {
        (self.start, self.recovery, self.expanding) = (Start::Over, None, None);
        self.window.restart(first.then(|| path.half_as_ssthresh()));
    }

    fn on_resume(&mut self, path: &PathState) {
        if let Start::Waiting(rtt) = self.start {
            let goal = path.rwnd.min(self.settings.probe_max.saturating_mul(path.smss));
            self.probe(rtt, goal, path);
        }
    }

    fn unbounded(&self) -> Option<Unbounded> {
        let most = self.settings.probe_max;
        // The user chose a smaller limit for the path.
        (most >= SwiftSettings::default().probe_max).then(|| Unbounded {
            does: format!("sends up to {most} segments in the first round trip"),
            is_probes: false,
        })
    }

    fn probes_up_to(&self) -> Option<u64> {
        Some(self.settings.probe_max)
    }

    fn limit_cwnd(&mut self, max: u64) {
        if let Start::Probing { goal, .. } = &mut self.start {
            *goal = (*goal).min(max);
        }
        self.window.limit(max);
    }

    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        (self.start, self.expanding) = (Start::Over, None);
        self.window.set(cwnd, ssthresh);
    }

    #[inline]
    fn cwnd(&self) -> u64 {
        match self.start {
            Start::Probing { goal, .. } => goal.max(self.window.cwnd()),
            _ => self.window.cwnd(),
        }
    }

    fn pacing(&self) -> Option<Pace> {
        match self.start {
            Start::Probing { rate, .. } => Some(Pace::at(rate)),
            _ => None,
        }
    }

    fn paces(&self) -> bool {
        true
    }

    window_hooks!(on_smss, ssthresh);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::path as any_path;

    const SMSS: u64 = 1000;

    fn path(ms: u64, una: u64, nxt: u64) -> PathState {
        PathState {
            now: Time::ZERO + Duration::from_millis(ms),
            smss: SMSS,
            snd_una: una * SMSS,
            snd_nxt: nxt * SMSS,
            ssthresh_base: 1 << 40,
            rwnd: 64 * SMSS,
            ..any_path(0)
        }
    }

    fn ack(swift: &mut Swift, rtt_ms: u64, path: &PathState) {
        let rtt = Some(Duration::from_millis(rtt_ms));
        swift.on_ack(&AckSample { newly_acked: SMSS, is_cwnd_limited: true, rtt, ..AckSample::default() }, path);
    }

    fn swift(settings: SwiftSettings) -> Swift {
        let rtt = Some(Duration::from_millis(550));
        Swift::new(Init { smss: SMSS, rtt, ..Init::default() }, settings)
    }

    /// In congestion avoidance with 20 segments, after this round-trip time.
    fn steady(settings: SwiftSettings, rtt_ms: u64) -> Swift {
        let mut swift = swift(settings);
        swift.set_window(20 * SMSS, 2 * SMSS);
        ack(&mut swift, rtt_ms, &path(0, 0, 20));
        swift.set_window(20 * SMSS, 2 * SMSS);
        swift
    }

    #[test]
    fn speedy_start_takes_two_round_trips() {
        let mut swift = swift(SwiftSettings::default());
        swift.limit_cwnd(65_535);
        assert_eq!(swift.cwnd(), SMSS);
        swift.on_resume(&path(0, 0, 0));
        assert_eq!(swift.cwnd(), 64 * SMSS);
        // 64 segments with their headers in a round trip.
        let rate = swift.pacing().unwrap().rate.as_bps() as f64;
        assert!((rate - 64.0 * 1040.0 * 8.0 / 0.55).abs() < 1.0, "{rate}");
        for n in 0..60 {
            ack(&mut swift, 550, &path(550 + 8 * n, n + 1, 64));
        }
        assert_eq!(swift.cwnd(), 64 * SMSS);
        ack(&mut swift, 550, &path(1100, 61, 64));
        assert_eq!((swift.cwnd(), swift.ssthresh(), swift.pacing()), (62 * SMSS, 62 * SMSS, None));
    }

    #[test]
    fn speedy_start_ends_with_what_acks_have_shown() {
        type End = fn(&mut Swift);
        let loss: End = |swift| swift.on_congestion(Congestion::FastRetransmit, &path(800, 20, 64));
        let mark: End = |swift| swift.on_congestion(Congestion::Ecn { beta: None }, &path(800, 20, 64));
        for end in [loss, mark] {
            let mut swift = swift(SwiftSettings::default());
            swift.on_resume(&path(0, 0, 0));
            (1..=19).for_each(|n| ack(&mut swift, 550, &path(550 + 8 * n, n, 64)));
            end(&mut swift);
            assert_eq!((swift.cwnd(), swift.pacing()), (10 * SMSS, None));
        }
    }

    #[test]
    fn a_window_that_proves_to_be_larger_begins_two_round_trips_again() {
        let mut swift = swift(SwiftSettings { probe_max: 200, ..SwiftSettings::default() });
        swift.on_resume(&path(0, 0, 0));
        let larger = |ms, una| PathState { rwnd: 1000 * SMSS, ..path(ms, una, 64) };
        ack(&mut swift, 550, &larger(550, 1));
        assert_eq!(swift.cwnd(), 200 * SMSS);
        ack(&mut swift, 550, &larger(1649, 2));
        assert_eq!(swift.cwnd(), 200 * SMSS);
        ack(&mut swift, 550, &larger(1650, 3));
        assert_eq!(swift.cwnd(), 4 * SMSS);
    }

    /// So many losses of 20 segments; the window after the round trip that follows recovery.
    fn after(mut swift: Swift, losses: u64) -> u64 {
        swift.on_congestion(Congestion::FastRetransmit, &path(0, 0, 20));
        assert_eq!(swift.cwnd(), 10 * SMSS);
        (0..20 - losses - 3).for_each(|_| swift.on_recovery_ack(false, &path(0, 0, 30)));
        (1..losses).for_each(|n| swift.on_recovery_ack(true, &path(0, n, 30)));
        swift.on_recovery_exit(&path(550, 20, 30));
        (21..=30).for_each(|n| ack(&mut swift, 550, &path(1000, n, n + 10)));
        swift.cwnd() / SMSS
    }

    /// `docs/specs/tcp-swift.md`, tests: w0 20, one error: 19 ACKs of the 18 that must come; then six losses.
    #[test]
    fn the_expanding_period_restores_the_window_after_an_error_and_not_after_congestion() {
        let default = SwiftSettings::default();
        assert_eq!([1, 2, 3, 6].map(|losses| after(steady(default, 550), losses)), [20, 20, 10, 10]);
        assert_eq!([687, 688].map(|rtt_ms| after(steady(default, rtt_ms), 1)), [20, 10], "RTT above 1.25 x 550 ms");
        assert_eq!(after(steady(SwiftSettings { expand: false, ..default }, 550), 1), 10);
    }

    #[test]
    fn acks_that_are_missing_tell_of_a_queue() {
        let mut swift = steady(SwiftSettings::default(), 550);
        swift.on_congestion(Congestion::FastRetransmit, &path(0, 0, 20));
        (0..14).for_each(|_| swift.on_recovery_ack(false, &path(0, 0, 20)));
        swift.on_recovery_exit(&path(550, 20, 30));
        assert!(swift.expanding.is_none(), "17 of 18");
    }

    /// HSWA-05: to the ACK of the last segment sent in recovery.
    #[test]
    fn the_expanding_period_lasts_a_round_trip() {
        let period = |last_sent| {
            let mut swift = steady(SwiftSettings::default(), 550);
            swift.on_congestion(Congestion::FastRetransmit, &path(0, 0, 20));
            (0..16).for_each(|_| swift.on_recovery_ack(false, &path(0, 0, 20)));
            swift.on_recovery_exit(&path(550, 20, last_sent));
            (21..).find(|&n| {
                ack(&mut swift, 550, &path(1000, n, n + 10));
                swift.expanding.is_none()
            })
        };
        // With nothing outstanding, the window that leaves at once.
        assert_eq!([26, 20].map(period), [Some(26), Some(30)]);
    }

    #[test]
    fn without_a_round_trip_time_and_after_a_timeout_there_is_slow_start() {
        let mut swift = Swift::new(Init { smss: SMSS, cwnd: 4 * SMSS, ..Init::default() }, SwiftSettings::default());
        swift.on_resume(&path(0, 0, 0));
        (1..=4).for_each(|n| ack(&mut swift, 550, &path(550, n, 8)));
        assert_eq!(swift.cwnd(), 8 * SMSS);
        swift.on_rto(true, &PathState { ssthresh_base: 8 * SMSS, ..path(2000, 4, 8) });
        assert_eq!((swift.cwnd(), swift.ssthresh()), (SMSS, 4 * SMSS));
    }
}

//! TCP-Swift: opens the window in two round trips, and opens it again after a loss that the ACKs do not blame on a queue. Only the
//! sender differs.
//!
//! K. F. Leung and K. L. Yeung, "TCP-Swift: an end-host enhancement scheme for TCP over satellite IP networks", ISCC 2004, of
//! which only the abstract and others' remarks were at hand: two round trips at the start, a cause of loss told from the ACKs at the sender, and
//! a window expanding period of one round trip after recovery are sure. The rest is the reading of `specs/tcp-swift.md`:
//!
//! ```text
//! Speedy Start       first round trip: data, one segment every RTT / rwnd; second: cwnd += 1 for each ACK;
//!                    then congestion avoidance
//! Speedy Recovery    at the third duplicate: w0 = cwnd, ssthresh = cwnd = w0 / 2; a: ACKs that came, duplicate or partial
//! window expanding   from the end of recovery to the ACK of the last segment sent in it:
//!                    each ACK: cwnd += 1 up to w0, if a >= w0 - losses - 1, less than 3 losses, RTT <= 1.25 minimum
//! ```
//!
//! # Readings
//!
//! - Data of Speedy Start have the priority of all data, and leave by pacing. Until its two round trips are over, or a loss or mark ends
//!   it, the window is what it probes for; from then on it is what ACKs have shown, one segment for each.
//! - It probes for the receiver's window, but for no more than `probe_max` segments. The window of a SYN is not scaled; when the first
//!   ACK tells of a larger one, the two round trips begin anew.
//! - Without a round-trip time from a handshake, and after a timeout, there is slow start.
//! - A round-trip time is that of the last ACK before the loss. A window that recovery leaves without data outstanding ends its
//!   expanding period with the ACK of the window that follows at once.
//!
//! # On satellite paths
//!
//! On a geostationary path it saves the ten round trips of slow start, and gets its window back one round trip after an error of the link.
//! The start is blind: a receiver's window above what the path holds overruns the queue for everyone, as nothing but a loss ends it.
//! After a single loss it takes its window back whatever the cause, so where queues overflow by one or two segments at
//! a time it does not yield. On shared paths that is unfair; it stands here to be measured.

use super::settings::settings;
use super::window::window_hooks;
use super::{AckSample, Congestion, CongestionControl, Init, PathState, Window, HALF};
use bentpipe_units::{Duration, Rate, Time};

settings! {
    /// Settings of Swift.
    pub struct SwiftSettings {
        /// Largest window that Speedy Start probes for, segments; the receiver's window if that is smaller.
        probe_max: u64 = 1024, [1, 1_000_000], "a GEO path of 20 Mbit/s";
        /// So many losses in a window are congestion.
        many_losses: u64 = 3, [2, 1_000_000], "reading";
        /// A round-trip time above so many times the smallest is congestion.
        rtt_rise: f64 = 1.25, [1.0, 1000.0], "reading";
        /// Whether there is a window expanding period; if not, recovery is Reno's.
        expand: bool = true, "Leung 2004";
    }
}

/// ACKs that begin recovery.
const DUPLICATES: u64 = 3;

/// Bytes of IP and TCP header beside each segment, without options.
const HEADERS: u64 = 40;

/// See the module.
#[derive(Clone, Debug)]
pub struct Swift {
    /// What ACKs have shown.
    window: Window,
    settings: SwiftSettings,
    start: Start,
    recovery: Option<Recovery>,
    expanding: Option<Expanding>,
    min_rtt: Option<Duration>,
    last_rtt: Option<Duration>,
}

/// Where Speedy Start stands.
#[derive(Clone, Copy, Debug)]
enum Start {
    /// No data were sent.
    Waiting(Duration),
    /// For a window of `goal` bytes.
    Probing {
        rtt: Duration,
        goal: u64,
        /// At which it is sent in one round trip, headers included.
        rate: Rate,
        ends: Time,
    },
    Over,
}

/// What is counted in Speedy Recovery.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// Bytes.
    w0: u64,
    acks: u64,
    losses: u64,
    is_delayed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Expanding {
    w0: u64,
    /// Ends when everything below is acknowledged.
    until: u64,
}

impl Swift {
    /// One segment if the round-trip time is known, and Speedy Start follows; else a window of `init.cwnd` bytes in slow start.
    pub fn new(init: Init, settings: SwiftSettings) -> Self {
        let mut window = Window::new(init);
        if init.rtt.is_some() {
            window.set(init.smss, u64::MAX);
        }
        let start = init.rtt.map_or(Start::Over, Start::Waiting);
        let (recovery, expanding, min_rtt, last_rtt) = (None, None, init.rtt, None);
        Self { window, settings, start, recovery, expanding, min_rtt, last_rtt }
    }

    /// Speedy Start goes on, or on for longer, or ends.
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

    /// From here on there is congestion avoidance.
    fn end_start(&mut self) {
        if let Start::Probing { .. } = std::mem::replace(&mut self.start, Start::Over) {
            let cwnd = self.window.cwnd();
            self.window.set(cwnd, cwnd);
        }
    }

    /// Whether the ACKs of a recovery tell of a queue that lost them.
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
        let left = self.window.slow_start(ack, path);
        if left > 0 {
            self.window.increase(left, path);
        }
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

    fn pacing_rate(&self) -> Option<Rate> {
        match self.start {
            Start::Probing { rate, .. } => Some(rate),
            _ => None,
        }
    }

    fn paces(&self) -> bool {
        true
    }

    window_hooks!(on_smss, ssthresh);
}

//! SEARCH (draft-chung-ccwg-search-09): slow start ends when less arrives than was sent a round trip before.
//!
//! Sums of acknowledged and of sent bytes are kept per bin of time. A window of bins is compared with the window one
//! round trip before: until the bottleneck is full, both are equal.

use crate::keys::{Search as Config, SearchInterpolation, SearchLeave, SearchLookBack};
use crate::{AckSample, PathState};
use bentpipe_units::{Duration, Time};

/// The sums of a slow start, and after it the reduction to the rate that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    config: Config,
    initial_window: u64,
    bins: Bins,
    /// Whether the first round trip is known, so that bins are filled.
    is_begun: bool,
    /// Round trips: the newest one, and the smallest one.
    latest: Option<Duration>,
    least: Option<Duration>,
    drain: Option<Drain>,
}

/// Sums of bytes at the ends of bins, in rings.
#[derive(Clone, Debug)]
struct Bins {
    /// Duration of a bin.
    each: Duration,
    /// End of the newest bin.
    end: Time,
    /// Index of the newest bin.
    newest: u64,
    acked: Box<[u64]>,
    sent: Box<[u64]>,
}

/// Reduction of the window after slow start.
#[derive(Clone, Copy, Debug)]
struct Drain {
    target: u64,
    /// Bytes acknowledged that have not released a segment.
    credit: u64,
}

/// End of slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The window stays as it is.
    Stay,
    /// The window falls to this one.
    Drain(u64),
}

impl Bins {
    fn new(config: &Config) -> Self {
        let ring = |bins: u32| vec![0; bins as usize + 1].into();
        let (acked, sent) = (ring(config.bins), ring(config.bins + config.extra_bins));
        Self { each: Duration::ZERO, end: Time::ZERO, newest: 0, acked, sent }
    }

    fn begin(&mut self, each: Duration, path: &PathState) {
        (self.each, self.end, self.newest) = (each, path.now + each, 0);
        self.acked.fill(path.snd_una);
        self.sent.fill(path.snd_nxt);
    }

    fn at(ring: &[u64], index: u64) -> u64 {
        ring[(index % ring.len() as u64) as usize]
    }

    /// Ends the bins that are over, each with the sums before this ACK but the last. Returns `None` if more were missed
    /// than a window has.
    fn advance(&mut self, window: u32, path: &PathState) -> Option<()> {
        let ended = (path.now - self.end).as_ps() / self.each.as_ps() + 1;
        if ended > u64::from(window) {
            return None;
        }
        for (ring, now) in [(&mut self.acked, path.snd_una), (&mut self.sent, path.snd_nxt)] {
            let (len, before) = (ring.len() as u64, Self::at(ring, self.newest));
            for bin in 1..=ended {
                ring[((self.newest + bin) % len) as usize] = if bin == ended { now } else { before };
            }
        }
        self.newest += ended;
        self.end += self.each * ended;
        Some(())
    }

    /// Returns the bytes acknowledged in the newest window, and those sent in the window `back` before it. `None`: no
    /// sums of that time are there.
    fn compare(&self, config: &Config, back: Duration) -> Option<(u64, f64)> {
        let window = u64::from(config.bins);
        let (whole, rest) = (back.as_ps() / self.each.as_ps(), back.as_ps() % self.each.as_ps());
        let last = self.newest.checked_sub(whole).filter(|&last| last > window)?;
        if whole >= u64::from(config.extra_bins) {
            // The round trip has grown too far.
            return None;
        }
        // A timeout may take snd_nxt back.
        let sent = |last: u64| Self::at(&self.sent, last).saturating_sub(Self::at(&self.sent, last - window)) as f64;
        let beside = match config.interpolation {
            SearchInterpolation::Backward => last - 1,
            SearchInterpolation::Forward => (last + 1).min(self.newest),
        };
        let part = rest as f64 / self.each.as_ps() as f64;
        let arrived = Self::at(&self.acked, self.newest) - Self::at(&self.acked, self.newest - window);
        Some((arrived, (1.0 - part) * sent(last) + part * sent(beside)))
    }
}

impl Search {
    pub(crate) fn new(config: Config, initial_window: u64) -> Self {
        let bins = Bins::new(&config);
        Self { config, initial_window, bins, is_begun: false, latest: None, least: None, drain: None }
    }

    /// Whether later slow starts are watched, too.
    pub(crate) fn is_repeated(&self) -> bool {
        self.config.again
    }

    /// Forgets all observations.
    pub(crate) fn reset(&mut self) {
        (self.is_begun, self.least, self.drain) = (false, None, None);
    }

    /// Evaluates an ACK in slow start. Its sums include the ACK, and exclude the data that it releases.
    pub(crate) fn watch(&mut self, ack: &AckSample, path: &PathState) -> Option<Exit> {
        if let Some(rtt) = ack.rtt {
            self.latest = Some(rtt);
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        }
        let latest = self.latest.filter(|rtt| *rtt > Duration::ZERO)?;
        if !self.is_begun {
            let each = latest.as_ps() as f64 * self.config.window / f64::from(self.config.bins);
            self.bins.begin(Duration::from_ps((each as u64).max(1)), path);
            self.is_begun = true;
            return None;
        }
        let bins = &mut self.bins;
        if path.now <= bins.end {
            return None;
        }
        if bins.advance(self.config.bins, path).is_none() {
            self.reset();
            return None;
        }
        let back = match self.config.look_back {
            SearchLookBack::Latest => latest,
            SearchLookBack::Least => self.least?,
        };
        let (arrived, sent) = bins.compare(&self.config, back)?;
        if sent <= 0.0 || sent - (arrived as f64) < self.config.threshold * sent {
            return None;
        }
        if self.config.leave == SearchLeave::Stay {
            return Some(Exit::Stay);
        }
        // Bytes that arrived in a round trip without a queue: R0 = each * bins / window.
        let round = libm::ceil(f64::from(self.config.bins) / self.config.window) as u64;
        let delivered = Bins::at(&bins.acked, bins.newest) - Bins::at(&bins.acked, bins.newest.saturating_sub(round));
        let target = delivered.max(self.initial_window);
        self.drain = Some(Drain { target, credit: 0 });
        Some(Exit::Drain(target))
    }

    /// Whether the window falls.
    pub(crate) fn is_draining(&self) -> bool {
        self.drain.is_some()
    }

    /// Returns the window after an ACK while it falls, and whether it is the last such ACK.
    pub(crate) fn drain(&mut self, ack: &AckSample, path: &PathState) -> Option<(u64, bool)> {
        let drain = self.drain.as_mut()?;
        drain.credit += ack.newly_acked;
        let each = u64::from(self.config.drain_every) * path.smss;
        let segments = drain.credit / each.max(1);
        drain.credit -= segments * each;
        let cwnd = (path.flight_size + segments * path.smss).max(drain.target);
        Some((cwnd, cwnd == drain.target))
    }
}

#[cfg(test)]
mod tests;

//! Rapid start (K. Oku and M. Welzl, draft-kazuho-ccwg-rapid-start): the window triples per round trip until ACKs come late.
//! After the first loss or mark it converges on what the path has delivered in a round trip.

use crate::keys::{RapidBound, RapidStart};
use crate::{AckSample, PathState};
use bentpipe_units::{Duration, Time};

/// Growth of the window by the delay of the last round trip.
#[derive(Clone, Debug)]
pub(crate) struct Rapid {
    config: RapidStart,
    least: Option<Duration>,
    /// Least samples of the last quarters of a round trip, the newest first.
    quarters: [Option<Duration>; 4],
    /// End of the newest quarter.
    end: Time,
}

impl Rapid {
    pub(crate) fn new(config: RapidStart) -> Self {
        Self { config, least: None, quarters: [None; 4], end: Time::ZERO }
    }

    /// Takes the sample of an ACK.
    pub(crate) fn watch(&mut self, ack: &AckSample, path: &PathState) {
        let Some(rtt) = ack.rtt else { return };
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        if path.now >= self.end {
            let quarter = (least / 4).max(Duration::from_ps(1));
            let ended = (path.now - self.end).as_ps() / quarter.as_ps() + 1;
            let moved = usize::try_from(ended).unwrap_or(4).min(4);
            self.quarters.rotate_right(moved);
            self.quarters[..moved].fill(None);
            self.end += quarter.saturating_mul(ended);
        }
        self.quarters[0] = Some(self.quarters[0].map_or(rtt, |floor| floor.min(rtt)));
    }

    /// Returns the growth of the window, in thousandths of the acknowledged bytes.
    pub(crate) fn thousandths(&self) -> u64 {
        let RapidStart { growth, tolerance, factor, bound, .. } = self.config;
        let Some(least) = self.least.filter(|&least| least >= RapidStart::LEAST_RTT) else { return 1000 };
        let scaled = Duration::from_secs_f64(least.as_secs_f64() * factor);
        let bound = match bound {
            RapidBound::Larger => (least + tolerance).max(scaled),
            RapidBound::Smaller => (least + tolerance).min(scaled),
        };
        let floor = self.quarters.iter().flatten().min();
        if floor.is_some_and(|&floor| floor <= bound) {
            (1000.0 * (growth - 1.0)).round() as u64
        } else {
            1000
        }
    }
}

/// The window after the first loss of rapid start, until each packet that was in the network has arrived or is lost.
///
/// First the window falls by so little that sending pauses while the queue drains. Each packet that arrives or is lost
/// lowers it further. At the end it is the share `beta` of the data that arrived in this round trip.
///
/// The part belongs to no transport, which gives it counts of bytes and sets the window that it returns.
#[derive(Clone, Debug)]
pub struct Convergence {
    window: f64,
    least: f64,
    per_acked: f64,
    per_lost: f64,
    /// Bytes that were in the network at the loss, and whose fate is unknown.
    left: u64,
}

impl Convergence {
    /// Begins with the step of the congestion control, from `before` to `after` bytes: their ratio is its share `beta`.
    ///
    /// `flight` bytes are in the network. `left` bytes, with the lost ones, have an unknown fate. The window begins at the
    /// flight if another limit kept it below `before`. It stays above `least`.
    pub fn new(config: RapidStart, [before, after]: [u64; 2], [flight, left]: [u64; 2], least: u64) -> Self {
        let (window, beta) = (before.min(flight) as f64, (after as f64 / before.max(1) as f64).min(1.0));
        let per_acked = config.k * (1.0 - beta);
        let silence = beta + per_acked;
        let least = (window * beta / 3.0).max(least as f64);
        Self { window: (window * silence).max(least), least, per_acked, per_lost: silence, left }
    }

    /// Takes bytes that have arrived, and bytes that were declared lost.
    pub fn pass(&mut self, acked: u64, lost: u64) {
        let lost = lost.min(self.left);
        let acked = acked.min(self.left - lost);
        self.left -= acked + lost;
        let decrease = self.per_acked * acked as f64 + self.per_lost * lost as f64;
        self.window = (self.window - decrease).max(self.least);
    }

    /// Returns the window, bytes.
    pub fn window(&self) -> u64 {
        self.window as u64
    }

    /// Whether the fate of all packets is known.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }
}

#[cfg(test)]
mod tests;

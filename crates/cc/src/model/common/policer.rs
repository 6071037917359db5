//! Detects policers. A token bucket on the path lets bursts pass and then drops all packets above its rate. Two
//! intervals of heavy loss with the same delivery rate reveal it (BBR v1 in Linux: long-term bandwidth sampling).

use bentpipe_units::Time;

/// Length of an interval, round trips: minimum and maximum.
const INTERVAL: (u64, u64) = (4, 16);
/// Lost over delivered bytes of an interval that counts: 50 / 256, about a fifth.
const LOSS: f64 = 50.0 / 256.0;
/// Relative difference up to which rates are equal. They may also differ by 4 kbit/s.
const SAME: f64 = 1.0 / 8.0;
const SAME_BYTES: f64 = 500.0;
/// Round trips in which the detected rate is used.
const USE: u64 = 48;

/// The compared intervals, and the detected rate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policer {
    is_sampling: bool,
    rounds: u64,
    since: Time,
    delivered: u64,
    lost: u64,
    /// Rate of the last interval, then of both, bytes per second; 0: unknown.
    rate: f64,
    in_use: bool,
}

/// Counters at an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    pub(crate) now: Time,
    pub(crate) is_round_start: bool,
    pub(crate) is_app_limited: bool,
    pub(crate) has_loss: bool,
    /// Bytes so far.
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
}

impl Policer {
    /// Returns the rate of a detected policer, bytes per second.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.in_use.then_some(self.rate)
    }

    /// Discards all intervals and the rate.
    pub(crate) fn reset(&mut self, totals: &Totals) {
        self.rate = 0.0;
        self.in_use = false;
        self.is_sampling = false;
        self.begin(totals);
    }

    /// Processes an ACK. Returns whether the rate has been used long enough.
    pub(crate) fn on_ack(&mut self, totals: &Totals, is_probing: bool) -> bool {
        if self.in_use {
            self.rounds += u64::from(totals.is_round_start && is_probing);
            if self.rounds >= USE {
                self.reset(totals);
                return true;
            }
            return false;
        }
        if !self.is_sampling {
            if !totals.has_loss {
                return false;
            }
            self.begin(totals);
            self.is_sampling = true;
        }
        if totals.is_app_limited {
            self.reset(totals);
            return false;
        }
        self.rounds += u64::from(totals.is_round_start);
        if self.rounds < INTERVAL.0 {
            return false;
        }
        if self.rounds > INTERVAL.1 {
            self.reset(totals);
            return false;
        }
        let delivered = totals.delivered.saturating_sub(self.delivered) as f64;
        let lost = totals.lost.saturating_sub(self.lost) as f64;
        let elapsed = totals.now.saturating_since(self.since).as_secs_f64();
        if totals.has_loss && delivered > 0.0 && lost >= LOSS * delivered && elapsed >= 0.001 {
            self.end(totals, delivered / elapsed);
        }
        false
    }

    fn end(&mut self, totals: &Totals, rate: f64) {
        if self.rate > 0.0 {
            let difference = (rate - self.rate).abs();
            if difference <= SAME * self.rate || difference <= SAME_BYTES {
                self.rate = (rate + self.rate) / 2.0;
                self.in_use = true;
                self.rounds = 0;
                return;
            }
        }
        self.rate = rate;
        self.begin(totals);
    }

    fn begin(&mut self, totals: &Totals) {
        (self.since, self.delivered, self.lost, self.rounds) = (totals.now, totals.delivered, totals.lost, 0);
    }
}

//! Times of a sender by its limits: each instant of a connection counts for one limit.

use super::loss_verdicts::{LossVerdicts, Repairs};
use crate::link::Downtime;
use bentpipe_tcp::{Connection, SendLimit};
use bentpipe_units::{Duration, Time};
use std::ops::AddAssign;

/// Times of a sender by the limit that kept it from sending more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SendTimes {
    by_limit: [Duration; SendLimit::COUNT],
    /// A link of the path was down, in either direction. Overrides all limits.
    pub(crate) outage: Duration,
    /// Part of fast recovery in which all losses were link errors.
    pub(crate) error_recovery: Duration,
    /// Part of the timeouts in which all losses were link errors.
    pub(crate) error_timeout: Duration,
}

impl SendTimes {
    /// Returns the time with this limit while the path was up.
    pub(crate) fn limited_by(&self, limit: SendLimit) -> Duration {
        self.by_limit[limit as usize]
    }

    /// Adds a `span` during which the path was down for `down`. Returns its time of repairs.
    fn add(&mut self, limit: SendLimit, span: Duration, down: Duration) -> Repairs {
        let up = span.saturating_sub(down);
        self.by_limit[limit as usize] += up;
        self.outage += down;
        match limit {
            SendLimit::Recovery => Repairs { recovery: up, ..Repairs::default() },
            SendLimit::Timeout => Repairs { timeout: up, ..Repairs::default() },
            _ => Repairs::default(),
        }
    }
}

impl AddAssign for SendTimes {
    fn add_assign(&mut self, other: Self) {
        for (sum, more) in self.by_limit.iter_mut().zip(other.by_limit) {
            *sum += more;
        }
        self.outage += other.outage;
        self.error_recovery += other.error_recovery;
        self.error_timeout += other.error_timeout;
    }
}

/// Present limit of a sender, and its times so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stopwatch {
    pub(super) limit: Option<SendLimit>,
    since: Time,
    /// Time that the path was down before `since`.
    down: Duration,
    times: SendTimes,
}

impl Stopwatch {
    /// Begins the time of another limit. Returns the time of repairs since the last change.
    #[cold]
    #[inline(never)]
    pub(super) fn turn(&mut self, now: Time, conn: &Connection, path: &mut Downtime) -> Repairs {
        let next = conn.report().send_limit();
        let mut repairs = Repairs::default();
        if let (Some(SendLimit::Timeout), Some(stalled)) = (next, conn.report().stalled_since()) {
            // The sender has waited for the timer since `stalled`. Time before `since` is counted already.
            let stalled = stalled.max(self.since);
            let down = path.look_back(stalled);
            repairs += self.count(stalled, down);
            self.limit = next;
        }
        let down = path.until(now);
        repairs += self.count(now, down);
        self.limit = next;
        repairs
    }

    /// Begins the time of another limit, of a sender over several paths. No path of it is down: others carry its data.
    pub(super) fn turn_to(&mut self, now: Time, next: Option<SendLimit>) {
        self.count(now, Duration::ZERO);
        self.limit = next;
    }

    /// Counts the time up to `now` for the present limit.
    fn count(&mut self, now: Time, down: Duration) -> Repairs {
        let repairs = self.limit.map(|limit| self.times.add(limit, now - self.since, down.saturating_sub(self.down)));
        (self.since, self.down) = (now, down);
        repairs.unwrap_or_default()
    }

    /// Returns the times up to `now` of a sender with these decisions.
    pub(super) fn times_until(&self, now: Time, path: &mut Downtime, verdicts: Option<&LossVerdicts>) -> SendTimes {
        let mut so_far = self.clone();
        // A run that is interrupted may have worked ahead of this instant.
        let now = now.max(self.since);
        let lately = if so_far.limit.is_some() { so_far.count(now, path.until(now)) } else { Repairs::default() };
        let repairs = verdicts.map(|verdicts| verdicts.repairs_of_errors(lately)).unwrap_or_default();
        SendTimes { error_recovery: repairs.recovery, error_timeout: repairs.timeout, ..so_far.times }
    }
}

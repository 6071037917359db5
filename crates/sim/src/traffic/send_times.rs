//! Where the time of a sender goes: each instant of a connection's life counts for one cause.

use crate::link::Downtime;
use bentpipe_tcp::{Connection, SendLimit};
use bentpipe_units::{Duration, Time};
use std::ops::AddAssign;

/// How long what kept a sender from sending more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SendTimes {
    by_limit: [Duration; SendLimit::COUNT],
    /// Some link of the path was down, there or back, whatever else kept the sender from sending.
    pub(crate) outage: Duration,
    /// In fast recovery from errors of links only.
    pub(crate) error_recovery: Duration,
    /// The same of what the retransmission timer showed.
    pub(crate) error_timeout: Duration,
}

impl SendTimes {
    /// Time in which the path was up.
    pub(crate) fn limited_by(&self, limit: SendLimit) -> Duration {
        self.by_limit[limit as usize]
    }

    /// `span` of which the path was down for `down`. `of_errors`: what was lost, if anything, were errors of links.
    fn add(&mut self, limit: SendLimit, span: Duration, down: Duration, of_errors: bool) {
        let up = span.saturating_sub(down);
        self.by_limit[limit as usize] += up;
        match limit {
            SendLimit::Recovery if of_errors => self.error_recovery += up,
            SendLimit::Timeout if of_errors => self.error_timeout += up,
            _ => {}
        }
        self.outage += down;
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

/// What a sender waits for now, and the times so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stopwatch {
    pub(super) limit: Option<SendLimit>,
    since: Time,
    /// For how long the path had been down until `since`.
    down: Duration,
    times: SendTimes,
}

impl Stopwatch {
    /// The sender waits for something else from now on. `of_errors`: what it has repaired were errors of links.
    #[cold]
    #[inline(never)]
    pub(super) fn turn(&mut self, now: Time, conn: &Connection, path: &mut Downtime, of_errors: bool) {
        let next = conn.send_limit();
        if let (Some(SendLimit::Timeout), Some(stalled)) = (next, conn.stalled_since()) {
            // What had looked like something else was a wait for the timer. Not further back than it lasted: what was
            // before ended in time.
            let stalled = stalled.max(self.since);
            let down = path.look_back(stalled);
            self.count(stalled, down, of_errors);
            self.limit = next;
        }
        let down = path.until(now);
        self.count(now, down, of_errors);
        self.limit = next;
    }

    /// All up to `now` counts for what the sender waited for.
    fn count(&mut self, now: Time, down: Duration, of_errors: bool) {
        if let Some(limit) = self.limit {
            self.times.add(limit, now - self.since, down.saturating_sub(self.down), of_errors);
        }
        (self.since, self.down) = (now, down);
    }

    /// The times up to `now`.
    pub(super) fn times_until(&self, now: Time, path: &mut Downtime, of_errors: bool) -> SendTimes {
        let mut so_far = self.clone();
        if so_far.limit.is_some() {
            so_far.count(now, path.until(now), of_errors);
        }
        so_far.times
    }
}

//! Where the time of a sender goes: each instant of a connection's life counts for one cause.

use super::loss_verdicts::{LossVerdicts, Repairs};
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

    /// `span` of which the path was down for `down`. Returns what of it was spent on repairs.
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
    /// The sender waits for something else from now on. Returns what it has spent on repairs meanwhile.
    #[cold]
    #[inline(never)]
    pub(super) fn turn(&mut self, now: Time, conn: &Connection, path: &mut Downtime) -> Repairs {
        let next = conn.send_limit();
        let mut repairs = Repairs::default();
        if let (Some(SendLimit::Timeout), Some(stalled)) = (next, conn.stalled_since()) {
            // What had looked like something else was a wait for the timer. Not further back than it lasted: what was
            // before ended in time.
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

    /// All up to `now` counts for what the sender waited for.
    fn count(&mut self, now: Time, down: Duration) -> Repairs {
        let repairs = self.limit.map(|limit| self.times.add(limit, now - self.since, down.saturating_sub(self.down)));
        (self.since, self.down) = (now, down);
        repairs.unwrap_or_default()
    }

    /// The times up to `now`, of a sender with these losses.
    pub(super) fn times_until(&self, now: Time, path: &mut Downtime, verdicts: Option<&LossVerdicts>) -> SendTimes {
        let mut so_far = self.clone();
        let lately = if so_far.limit.is_some() { so_far.count(now, path.until(now)) } else { Repairs::default() };
        let repairs = verdicts.map(|verdicts| verdicts.repairs_of_errors(lately)).unwrap_or_default();
        SendTimes { error_recovery: repairs.recovery, error_timeout: repairs.timeout, ..so_far.times }
    }
}

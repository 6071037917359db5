//! What one ACK delivered: the facts that RACK, PRR, F-RTO and rate samples work from.

use super::Sent;
use bentpipe_units::{Duration, Time};

/// What one ACK delivered, cumulatively or selectively; each byte counts once. Gathered only
/// [in detail](Scoreboard::set_detail).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// Bytes that it delivered.
    pub(crate) bytes: u64,
    /// The segment that was sent last of those delivered.
    pub(crate) newest: Option<Newest>,
    /// The same among those for which the ACK cannot be that of an earlier transmission (RFC 8985 §6.2 step 2).
    pub(crate) proven: Option<Newest>,
    /// Lowest start and end of what was delivered and never sent again.
    pub(crate) original_start: u64,
    pub(crate) original_end: u64,
    /// Highest end of all.
    pub(crate) end: u64,
    doubt: Doubt,
}

/// One transmission that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Newest {
    pub(crate) index: u64,
    pub(crate) sent_at: Time,
    pub(crate) end: u64,
    pub(crate) is_resent: bool,
}

/// When the ACK of a resent segment proves nothing: it came too soon, or echoes an earlier timestamp.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubt {
    pub(crate) now: Time,
    pub(crate) min_rtt: Duration,
    /// The instant that the ACK echoes, rounded down to the clock of `clock`.
    pub(crate) echo: Option<Time>,
    pub(crate) clock: Duration,
}

impl Default for Delivery {
    fn default() -> Self {
        let doubt = Doubt { now: Time::ZERO, min_rtt: Duration::ZERO, echo: None, clock: Duration::ZERO };
        Self::new(doubt)
    }
}

impl Delivery {
    pub(super) fn new(doubt: Doubt) -> Self {
        Self { bytes: 0, newest: None, proven: None, original_start: u64::MAX, original_end: u64::MAX, end: 0, doubt }
    }

    pub(super) fn note(&mut self, index: u64, sent: &Sent) {
        let (is_resent, end) = (sent.resends > 0, sent.end());
        self.bytes += u64::from(sent.len);
        self.end = self.end.max(end);
        if !is_resent {
            self.original_start = self.original_start.min(sent.start);
            self.original_end = self.original_end.min(end);
        }
        let here = Newest { index, sent_at: sent.sent_at, end, is_resent };
        let is_later = |than: Option<Newest>| than.is_none_or(|than| here.is_later(than.sent_at, than.end));
        if is_later(self.newest) {
            self.newest = Some(here);
        }
        if is_later(self.proven) && !(is_resent && self.doubt.is_in_doubt(sent.sent_at)) {
            self.proven = Some(here);
        }
    }
}

impl Newest {
    /// RFC 8985 §6.2: RACK_sent_after().
    pub(crate) fn is_later(&self, sent_at: Time, end: u64) -> bool {
        (self.sent_at, self.end) > (sent_at, end)
    }
}

impl Doubt {
    fn is_in_doubt(&self, sent_at: Time) -> bool {
        self.now - sent_at < self.min_rtt || self.echo.is_some_and(|echo| echo + self.clock <= sent_at)
    }
}

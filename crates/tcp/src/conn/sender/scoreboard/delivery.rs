//! Data that one ACK delivered: the facts for RACK, PRR, F-RTO and rate samples.

use super::Sent;
use crate::conn::clock::{instant_of, TICK};
use bentpipe_units::{Duration, Time};

/// Data that one ACK delivered, cumulatively or selectively; each byte counts once. Gathered only [in
/// detail](super::Scoreboard::set_detail).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    /// Bytes that it delivered.
    pub(crate) bytes: u64,
    /// The segment that was sent last of those delivered.
    pub(crate) newest: Option<Transmitted>,
    /// The same among those for which the ACK cannot be that of an earlier transmission (RFC 8985 §6.2 step 2).
    pub(crate) proven: Option<Transmitted>,
    /// Lowest start and highest end of delivered data that was never retransmitted.
    pub(crate) original_start: u64,
    pub(crate) original_end: u64,
    /// Highest end of all.
    pub(crate) end: u64,
    doubt: Doubt,
}

/// One transmission that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transmitted {
    pub(crate) index: u64,
    pub(crate) xmit_ts: Time,
    pub(crate) end: u64,
    pub(crate) is_retrans: bool,
}

/// When the arrival of a retransmitted segment proves nothing: its ACK came too soon, or echoes an earlier timestamp.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubt {
    pub(crate) now: Time,
    pub(crate) min_rtt: Duration,
    /// The value of our clock that the ACK echoes.
    pub(crate) echo: Option<u32>,
    /// The echo counts for SACKed segments too.
    pub(crate) has_sack_echo: bool,
}

impl Default for Delivered {
    fn default() -> Self {
        Self::NOTHING
    }
}

impl Delivered {
    pub(super) const NOTHING: Self =
        Self::new(Doubt { now: Time::ZERO, min_rtt: Duration::ZERO, echo: None, has_sack_echo: true });

    pub(super) const fn new(doubt: Doubt) -> Self {
        Self { bytes: 0, newest: None, proven: None, original_start: u64::MAX, original_end: u64::MAX, end: 0, doubt }
    }

    /// Notes a segment that the ACK delivered, cumulatively or, if it `is_sacked`, selectively.
    #[inline]
    pub(super) fn note(&mut self, index: u64, sent: &Sent, is_sacked: bool) {
        let (is_retrans, end) = (sent.retransmits > 0, sent.end());
        self.bytes += u64::from(sent.len);
        self.end = self.end.max(end);
        if !is_retrans {
            self.original_start = self.original_start.min(sent.start);
            self.original_end = self.original_end.min(end);
        }
        let here = Transmitted { index, xmit_ts: sent.xmit_ts, end, is_retrans };
        let is_later = |than: Option<Transmitted>| than.is_none_or(|than| here.is_later(than.xmit_ts, than.end));
        if is_later(self.newest) {
            self.newest = Some(here);
        }
        if is_later(self.proven) && !(is_retrans && self.doubt.is_in_doubt(sent.xmit_ts, is_sacked)) {
            self.proven = Some(here);
        }
    }
}

impl Transmitted {
    /// RFC 8985 §6.2: RACK_sent_after().
    #[inline]
    pub(crate) fn is_later(&self, xmit_ts: Time, end: u64) -> bool {
        (self.xmit_ts, self.end) > (xmit_ts, end)
    }
}

impl Doubt {
    #[cold]
    fn is_in_doubt(&self, xmit_ts: Time, is_sacked: bool) -> bool {
        let is_of_earlier = |echo| instant_of(self.now, echo) + TICK <= xmit_ts;
        let echo = self.echo.filter(|_| self.has_sack_echo || !is_sacked);
        self.now - xmit_ts < self.min_rtt || echo.is_some_and(is_of_earlier)
    }
}

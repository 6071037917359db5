//! The advertised window: free space of the buffer, in worthwhile steps.

use super::tuning::Tuning;
use crate::config::BufferGrowth;
use bentpipe_units::{Duration, Time};

/// The receive buffer and its window. Positions are offsets from the peer's first byte.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveWindow {
    smss: u64,
    buffer: u64,
    tuning: Option<Box<Tuning>>,
    /// Bytes in order that the application has not read; nothing accumulates while it reads at once.
    unread: u64,
    pub(super) reads_at_once: bool,
    /// Right edge of the window that was advertised; never moves left.
    pub(super) edge: u64,
    /// The last window advertised was 0 after scaling.
    is_closed: bool,
}

impl ReceiveWindow {
    /// A buffer of `limit` bytes. With `start`, it begins with that size and grows to the limit.
    pub(super) fn new(smss: u32, limit: u64, start: Option<(u64, BufferGrowth)>) -> Self {
        let smss = u64::from(smss);
        let tuning = start.map(|(start, growth)| Box::new(Tuning::new(start.min(limit), limit, growth, smss)));
        let buffer = tuning.as_ref().map_or(limit, |tuning| tuning.first());
        Self { smss, buffer, tuning, unread: 0, reads_at_once: true, edge: buffer, is_closed: false }
    }

    /// A window that bounds nothing.
    pub(super) fn unbounded() -> Self {
        Self::new(1, u64::MAX >> 8, None)
    }

    /// A buffer of `buffer` bytes from `nxt` on.
    pub(super) fn from(nxt: u64, buffer: u64) -> Self {
        Self { edge: nxt + buffer, ..Self::new(1, buffer, None) }
    }

    /// `bytes` became available in order.
    #[inline]
    pub(super) fn on_delivered(&mut self, bytes: u64) {
        if !self.reads_at_once {
            self.unread += bytes;
        }
    }

    /// The application takes up to `bytes`. Returns how many it got, and whether the window opens enough for an ACK.
    pub(super) fn read(&mut self, nxt: u64, bytes: u64) -> (u64, bool) {
        let taken = bytes.min(self.unread);
        self.unread -= taken;
        let opens_by = self.new_edge(nxt) - self.edge;
        let is_worthwhile = opens_by > 0 && opens_by >= (2 * self.smss).min(self.buffer / 2);
        // A peer that knows no window at all must not wait for more than there will ever be.
        (taken, is_worthwhile || (self.is_closed && self.unread == 0 && taken > 0))
    }

    #[inline]
    pub(super) fn is_tuned(&self) -> bool {
        self.tuning.is_some()
    }

    /// Adapts the size of the buffer, before data are entered that arrive on a segment whose echo left `echoed` ago. `last` is the
    /// end of the data that wait behind a gap.
    pub(super) fn tune(&mut self, now: Time, nxt: u64, last: u64, echoed: Option<Duration>) {
        if let Some(tuning) = &mut self.tuning {
            tuning.on_arrival(now, nxt, self.edge, echoed);
            tuning.tune(now, nxt - self.unread, last - nxt);
        }
    }

    /// Offers what a tuned buffer has room for, when data were entered: `beyond` bytes wait behind a gap. Returns whether
    /// the window opened.
    #[inline]
    pub(super) fn offer(&mut self, beyond: u64) -> bool {
        let Some(tuning) = &mut self.tuning else { return false };
        let opens;
        (self.buffer, opens) = tuning.offered(beyond, self.unread);
        opens
    }

    /// The window to advertise now, in units of 2^`shift` bytes.
    #[inline]
    pub(super) fn advertise(&mut self, nxt: u64, shift: u8) -> u16 {
        self.edge = self.new_edge(nxt);
        let window = ((self.edge - nxt) >> shift).min(65_535) as u16;
        self.is_closed = window == 0;
        window
    }

    /// The right edge that the buffer allows now. It moves only by worthwhile steps (RFC 9293 §3.8.6.2.2:
    /// silly window avoidance) and never to the left.
    #[inline(always)]
    fn new_edge(&self, nxt: u64) -> u64 {
        if self.reads_at_once {
            return (nxt + self.buffer).max(self.edge);
        }
        let possible = nxt + self.buffer.saturating_sub(self.unread);
        if self.unread == 0 || possible >= self.edge + self.smss.min(self.buffer / 2).max(1) {
            possible.max(self.edge)
        } else {
            self.edge
        }
    }
}

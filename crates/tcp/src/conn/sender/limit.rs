//! The limit of a sender that has sent all permitted data.

use super::episode::Phase;
use super::state::Sender;
use crate::conn::context::Context;

/// A sender's reason to wait (RFC 4898 §4, tcpEStatsPerfSndLim*, with the states of loss recovery kept apart).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendLimit {
    /// The connection opens, or is in slow start and has not lost anything yet.
    StartUp,
    /// The congestion window, or the rate of pacing.
    CongestionWindow,
    /// The window that the receiver advertises.
    ReceiveWindow,
    /// The send buffer: the application could not write more.
    SendBuffer,
    /// The application: all written data is sent.
    Application,
    /// Losses are being repaired that duplicate or selective ACKs showed.
    Recovery,
    /// Losses are being repaired that the retransmission timer showed.
    Timeout,
}

impl SendLimit {
    /// The number of limits.
    pub const COUNT: usize = Self::Timeout as usize + 1;
}

impl Sender {
    /// Returns the limit of an open connection.
    #[inline]
    pub(crate) fn limit(&self, cx: &Context) -> Option<SendLimit> {
        let space = &self.space;
        if space.is_closing && space.una >= space.offered {
            return None;
        }
        match self.episode.phase {
            Phase::Open => Some(self.limit_of_new(cx)),
            Phase::Loss if self.episode.stalled_since.is_some() => Some(SendLimit::Timeout),
            _ => Some(SendLimit::Recovery),
        }
    }

    /// Returns the limit of new data, in the order of the checks in `next_new`.
    #[inline]
    fn limit_of_new(&self, cx: &Context) -> SendLimit {
        let space = &self.space;
        let is_backlogged = self.is_backlogged();
        // The next segment of data that wait above is a full one.
        let unsent = if is_backlogged { space.smss() } else { space.next_len() };
        if space.nxt >= space.offered && !is_backlogged {
            SendLimit::Application
        } else if unsent < space.smss() && space.nxt + unsent < space.offered {
            SendLimit::SendBuffer
        } else if unsent > space.usable() {
            SendLimit::ReceiveWindow
        } else if unsent < space.smss() && self.is_held_by_nagle(space.is_closing, &cx.config) {
            SendLimit::Application
        } else if self.usage.in_slow_start && cx.counters.fast_retransmits + cx.counters.timeouts == 0 {
            SendLimit::StartUp
        } else {
            SendLimit::CongestionWindow
        }
    }
}

//! Finds the reason why a sender waits.

use super::detect::Repair;
use super::episode::Phase;
use super::space::{is_held_by_nagle, SendSpace};
use super::state::Sender;
use crate::conn::context::Context;
use bentpipe_cc::CongestionControl;
use bentpipe_units::Time;

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

    /// Returns the limit of new data, in the order of the checks in `next_new`.
    #[inline]
    fn of_new(space: &SendSpace, flight_size: u64, is_backlogged: bool, in_slow_start: bool, cx: &Context) -> Self {
        // The next segment of data that wait above is a full one.
        let unsent = if is_backlogged { space.smss() } else { space.next_len() };
        if space.nxt >= space.offered && !is_backlogged {
            Self::Application
        } else if unsent < space.smss() && space.nxt + unsent < space.offered {
            Self::SendBuffer
        } else if unsent > space.usable() {
            Self::ReceiveWindow
        } else if unsent < space.smss() && is_held_by_nagle(space.is_closing, flight_size, &cx.config) {
            Self::Application
        } else if in_slow_start && cx.counters.fast_retransmits + cx.counters.timeouts == 0 {
            Self::StartUp
        } else {
            Self::CongestionWindow
        }
    }
}

impl Sender {
    /// Returns the bytes of new data that would leave now if they were offered: the order of the checks is that of `poll`.
    pub(crate) fn room(&mut self, now: Time, cx: &mut Context) -> u64 {
        let (smss, unsent) = (self.space.smss(), self.space.offered.saturating_sub(self.space.nxt));
        if self.window.pacer.must_wait(now, &mut cx.timers) {
            return 0;
        }
        let phase = self.losses.episode.phase;
        if self.losses.detector.comes_first() && self.losses.detector.repair() != Repair::AtOnce && !phase.is_recovery()
        {
            // A tail loss probe prefers new data, in any window.
            return smss.saturating_sub(unsent);
        }
        self.losses.window_for_new(self.window.cc.cwnd(), smss, &self.board, cx).saturating_sub(unsent)
    }

    /// Data wait above: if the congestion window has no room for `len` bytes, it is what limits.
    pub(crate) fn note_limited(&mut self, now: Time, len: u64, cx: &mut Context) {
        let (smss, unsent) = (self.space.smss(), self.space.offered.saturating_sub(self.space.nxt));
        if !self.window.pacer.must_wait(now, &mut cx.timers)
            && self.losses.window_for_new(self.window.cc.cwnd(), smss, &self.board, cx) < unsent + len
        {
            self.window.usage.on_limited(now, &self.space, self.board.flight_size());
        }
    }

    /// Returns the limit of an open connection.
    #[inline]
    pub(crate) fn limit(&self, cx: &Context) -> Option<SendLimit> {
        let space = &self.space;
        if space.is_closing && space.una >= space.offered {
            return None;
        }
        match self.losses.episode.phase {
            Phase::Open => {
                let is_backlogged = self.extras.is_backlogged();
                let in_slow_start = self.window.usage.in_slow_start;
                Some(SendLimit::of_new(space, self.board.flight_size(), is_backlogged, in_slow_start, cx))
            }
            Phase::Loss if self.losses.episode.stalled_since.is_some() => Some(SendLimit::Timeout),
            _ => Some(SendLimit::Recovery),
        }
    }
}

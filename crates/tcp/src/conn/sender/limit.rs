//! The limit of a sender that has sent all permitted data.

use super::detect::Repair;
use super::episode::Phase;
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
}

impl Sender {
    /// Returns the bytes of new data that would leave now if they were offered: the order of the checks is that of `poll`.
    pub(crate) fn room(&mut self, now: Time, cx: &mut Context) -> u64 {
        let (smss, unsent) = (self.space.smss(), self.space.offered.saturating_sub(self.space.nxt));
        if self.pacer.must_wait(now, &mut cx.timers) {
            return 0;
        }
        let phase = self.episode.phase;
        if self.detector.comes_first() && self.detector.repair() != Repair::AtOnce && !phase.is_recovery() {
            // A tail loss probe prefers new data, in any window.
            return smss.saturating_sub(unsent);
        }
        self.window_for_new(cx).saturating_sub(unsent)
    }

    /// Data wait above: if the congestion window has no room for `len` bytes, it is what limits.
    pub(crate) fn note_limited(&mut self, now: Time, len: u64, cx: &mut Context) {
        let unsent = self.space.offered.saturating_sub(self.space.nxt);
        if !self.pacer.must_wait(now, &mut cx.timers) && self.window_for_new(cx) < unsent + len {
            self.on_limited(now);
        }
    }

    /// Returns what the congestion window leaves for new data.
    fn window_for_new(&self, cx: &Context) -> u64 {
        let (cwnd, smss, board, episode) = (self.cc.cwnd(), self.space.smss(), &self.board, &self.episode);
        // Retransmissions leave before.
        let first = if episode.retransmits_first { smss } else { 0 };
        let before = board.unrepaired_bytes().max(first);
        if self.detector.repair() == Repair::AtOnce {
            return cwnd.saturating_sub(self.in_flight());
        }
        match episode.phase {
            Phase::Selective => {
                let pipe = self.detector.pipe(board) + before;
                match &episode.prr {
                    Some(prr) if pipe < prr.window() => (prr.window() - pipe).max(smss),
                    Some(_) => 0,
                    // RFC 6675 §5, step C: a full segment has to fit, even if the next one is smaller.
                    None if pipe + smss > cwnd => 0,
                    None => cwnd - pipe,
                }
            }
            Phase::Fast if episode.burst_left == 0 => 0,
            Phase::Fast => {
                cwnd.saturating_add_signed(episode.inflation).max(smss).saturating_sub(board.flight_size() + first)
            }
            Phase::Loss => self.window_in_loss(&cx.config).saturating_sub(board.pipe() + before),
            Phase::Open if episode.dupacks > 0 => {
                let (flight, allowance) = self.limited_transmit(cx);
                (cwnd + allowance).saturating_sub(flight)
            }
            Phase::Open | Phase::Snack => cwnd.saturating_sub(board.pipe() + before),
        }
    }

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
        let is_backlogged = self.extras.is_backlogged();
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

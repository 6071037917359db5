//! What keeps a sender from sending more, asked when it has sent all that it may.

use super::recovery::Phase;
use super::{Connection, State};
use bentpipe_units::Time;

/// What a sender waits for (RFC 4898 §4, tcpEStatsPerfSndLim*, with the states of loss recovery told apart).
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
    /// The application: all that it wrote is sent.
    Application,
    /// Losses are being repaired that duplicate or selective ACKs showed.
    Recovery,
    /// Losses are being repaired that the retransmission timer showed.
    Timeout,
}

impl SendLimit {
    /// How many there are.
    pub const COUNT: usize = Self::Timeout as usize + 1;
}

impl Connection {
    /// What keeps this end from sending more, after [`poll_transmit`](Self::poll_transmit) has given `None`; none before it
    /// opens, and when all is acknowledged that will ever be sent.
    #[inline]
    pub fn send_limit(&self) -> Option<SendLimit> {
        if !self.state.is_synchronised() {
            let is_opening = matches!(self.state, State::SynSent | State::SynReceived);
            return is_opening.then_some(SendLimit::StartUp);
        }
        if self.is_closing && self.snd_una >= self.offered {
            return None;
        }
        if self.episode.after_rto && self.episode.stalled_since.is_some() {
            return Some(SendLimit::Timeout);
        }
        if self.episode.after_rto || self.episode.phase != Phase::Open {
            return Some(SendLimit::Recovery);
        }
        Some(self.limit_of_new())
    }

    /// What keeps new data back, in the order in which [`next_new`](Self::next_new) looks.
    #[inline]
    fn limit_of_new(&self) -> SendLimit {
        let unsent = self.data_end().saturating_sub(self.snd_nxt).min(u64::from(self.smss));
        if self.snd_nxt >= self.offered {
            SendLimit::Application
        } else if unsent < u64::from(self.smss) && self.snd_nxt + unsent < self.offered {
            SendLimit::SendBuffer
        } else if unsent > (self.snd_una + self.rwnd).saturating_sub(self.snd_nxt) {
            SendLimit::ReceiveWindow
        } else if !self.is_plain && self.is_held_back(unsent, self.is_closing) {
            SendLimit::Application
        } else if self.in_slow_start && self.counters.fast_retransmits + self.counters.timeouts == 0 {
            SendLimit::StartUp
        } else {
            SendLimit::CongestionWindow
        }
    }

    /// When the retransmission timer was started, or the last partial ACK came, before it expired; none if no losses are
    /// being repaired that it showed.
    pub fn stalled_since(&self) -> Option<Time> {
        self.episode.stalled_since
    }
}

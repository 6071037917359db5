//! The states of a connection, and their transitions.

use crate::segment::Flags;

/// RFC 9293 §3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

/// Which of the two FINs were sent and acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fins {
    /// Ours was sent.
    pub(crate) is_sent: bool,
    /// Our FIN was acknowledged.
    pub(crate) is_acked: bool,
    /// The peer's arrived, and everything before it.
    pub(crate) has_arrived: bool,
}

impl State {
    /// Both ends know both initial sequence numbers.
    #[inline]
    pub(crate) fn is_synchronised(self) -> bool {
        !matches!(self, Self::Closed | Self::Listen | Self::SynSent | Self::SynReceived)
    }

    /// The state after data, a FIN or an ACK (RFC 9293 §3.6).
    pub(crate) fn after(self, fins: Fins) -> Self {
        match (self, fins.is_sent, fins.is_acked, fins.has_arrived) {
            (Self::Established, true, false, false) => Self::FinWait1,
            (Self::Established | Self::FinWait1, true, true, false) => Self::FinWait2,
            (Self::Established, false, _, true) => Self::CloseWait,
            (Self::Established | Self::FinWait1, true, false, true) => Self::Closing,
            (Self::CloseWait, true, false, true) => Self::LastAck,
            (Self::CloseWait | Self::LastAck, true, true, true) => Self::Closed,
            (Self::Established | Self::FinWait1 | Self::FinWait2 | Self::Closing, true, true, true) => Self::TimeWait,
            (state, ..) => state,
        }
    }

    /// The peer's FIN was seen before.
    pub(crate) fn peer_has_finished(self) -> bool {
        matches!(self, Self::CloseWait | Self::LastAck | Self::Closing)
    }
}

/// Answer to a segment before both ends are synchronised, or to a later SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handshake {
    Nothing,
    /// Answer with a reset.
    Refuse,
    /// A SYN for who waits for one.
    Answer,
    /// The SYN-ACK.
    Complete,
    /// Both ends opened.
    Simultaneous,
    /// The handshake's last ACK.
    Confirm,
    /// Our SYN-ACK was lost, most probably.
    ///
    /// DEVIATION: RFC 9293 §3.10.7.4 answers a SYN that comes again with an ACK. It is answered with the SYN-ACK again, without
    /// waiting for the timer, as Linux and BSD do.
    Repeat,
    /// The handshake's last ACK was lost (RFC 5961 §4: acknowledge, change nothing).
    Acknowledge,
}

impl Handshake {
    /// `is_acceptable`: its ACK acknowledges the SYN, and only data that was sent. `is_same_syn`: it begins where the
    /// peer's SYN did.
    pub(crate) fn of(state: State, flags: Flags, is_acceptable: bool, is_same_syn: bool) -> Self {
        let (syn, ack) = (flags.has(Flags::SYN), flags.has(Flags::ACK));
        match state {
            State::Listen if ack => Self::Refuse,
            State::SynSent | State::SynReceived if ack && !is_acceptable => Self::Refuse,
            State::Listen if syn => Self::Answer,
            State::SynSent if syn && ack => Self::Complete,
            State::SynSent if syn => Self::Simultaneous,
            State::SynReceived if ack => Self::Confirm,
            State::SynReceived if syn && is_same_syn => Self::Repeat,
            state if state.is_synchronised() && syn => Self::Acknowledge,
            _ => Self::Nothing,
        }
    }
}

/// Effect of a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reset {
    Ignore,
    /// RFC 5961 §3: it lies in the window, but not at its edge.
    Challenge,
    /// RFC 9293 §3.5.3: the next SYN may come.
    Listen,
    /// RFC 9293 §3.10.7.4: by now nothing is lost.
    Close,
    Abort,
}

impl Reset {
    /// In SYN-SENT it counts if it `answers_syn`; later, its distance `ahead` of the expected number decides, with
    /// `room` bytes left in the window.
    pub(crate) fn of(state: State, may_listen: bool, answers_syn: bool, ahead: u32, room: u64) -> Self {
        match state {
            State::Closed | State::Listen => Self::Ignore,
            State::SynSent if answers_syn => Self::Abort,
            State::SynSent => Self::Ignore,
            _ if ahead > 0 && state.is_synchronised() && u64::from(ahead) < room => Self::Challenge,
            _ if ahead > 0 => Self::Ignore,
            State::SynReceived if may_listen => Self::Listen,
            State::TimeWait => Self::Close,
            _ => Self::Abort,
        }
    }
}

//! Goals of applications, and the ends of sessions where they wait.

use bentpipe_model::ids::EndpointId;
use bentpipe_model::stack::StreamNo;

/// One of the two ends of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It opens the session.
    Opener,
    /// It waits for the opener.
    Listener,
}

impl End {
    pub(super) const BOTH: [Self; 2] = [Self::Opener, Self::Listener];

    /// Returns the end of a session at an endpoint.
    pub(super) fn of(endpoint: EndpointId) -> Self {
        Self::BOTH[endpoint.side()]
    }

    /// Returns the endpoint of a connection at this end.
    pub(super) fn of_slot(self, slot: usize) -> EndpointId {
        EndpointId::both(slot)[self as usize]
    }
}

/// Data of a stream that an end has read, at a transport with several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamRead {
    pub(super) stream: StreamNo,
    /// Whether all bytes of the stream have been read.
    pub(super) is_last: bool,
}

/// Goal of an application that waits at one end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Goal {
    pub(super) what: What,
    /// Bytes since the session began.
    pub(super) bytes: u64,
}

/// Event of the bytes of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// They are acknowledged.
    Acked,
    /// They were received in order.
    Received,
    /// They were received and read.
    Read,
}

impl Goal {
    /// Waits until bytes are acknowledged.
    pub(super) fn acked(bytes: u64) -> Self {
        Self { what: What::Acked, bytes }
    }

    /// Waits until bytes are received in order.
    pub(super) fn received(bytes: u64) -> Self {
        Self { what: What::Received, bytes }
    }

    /// Waits until bytes are received and read.
    pub(super) fn read(bytes: u64) -> Self {
        Self { what: What::Read, bytes }
    }
}

/// A session as its application names it, by the transport that carries it. Only `FlowSessions` looks inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// The TCP connection in this slot.
    Tcp(usize),
    /// The connection over an engine in this slot.
    Engine(usize),
    /// The connection over several paths whose first subflow has this slot.
    Group(usize),
}

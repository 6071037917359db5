//! Actions of applications that only sessions over engines have: answers on a stream, and datagrams in a connection.

use super::engines::EngineSession;
use super::goal::{End, Goal};
use super::host::Hosts;
use super::sessions::{FlowSessions, Over};
use bentpipe_model::stack::StreamNo;

impl FlowSessions<'_> {
    /// Returns the engines of a session, and the hosts.
    ///
    /// # Panics
    /// The session is over TCP.
    pub(super) fn engine(&mut self, slot: usize) -> (&mut EngineSession, &mut Hosts) {
        let engine = self.pool.sessions[slot].engine.as_deref_mut();
        (engine.expect("a session over an engine"), self.hosts)
    }

    /// Gives the listener the answer to the request of a stream to send.
    pub(super) fn answer_stream(&mut self, session: Over, stream: StreamNo, bytes: u64) {
        self.session_mut(session).answered += bytes;
        if let Over::Engine(slot) = session {
            let now = self.now;
            self.engine(slot).0.answer_stream(now, stream, bytes);
        }
        self.drive(session, End::Listener);
    }

    /// Whether datagrams of the flow travel in a connection.
    pub(super) fn needs_connection(&self) -> bool {
        self.flows[self.id].transport.quic().is_some()
    }

    /// Opens a connection for datagrams. The opener then waits for the end of the handshake.
    pub(super) fn open_for_datagrams(&mut self) -> Over {
        let session = self.open();
        if let Over::Engine(slot) = session {
            let now = self.now;
            self.engine(slot).0.connect(now);
        }
        self.wait_at(session, End::Opener, Some(Goal::acked(0)));
        self.drive(session, End::Opener);
        session
    }

    /// Sends a datagram with this many payload bytes in a connection.
    pub(super) fn send_in(&mut self, session: Over, size: u16) {
        if let Over::Engine(slot) = session {
            let now = self.now;
            self.engine(slot).0.ends[0].engine.send_datagram(now, size);
        }
        if let Some(arrived) = &mut self.flow().arrived {
            arrived.sent += 1;
        }
        self.drive(session, End::Opener);
    }
}

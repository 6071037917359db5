//! Reports of an end: packets declared lost, for its counters, and packets and events, for its qlog.

use crate::driver::QuicEnd;
use crate::qlog::Log;
use bentpipe_model::stack::EngineState;
use bentpipe_units::Time;
use quinn_proto::Event;

impl QuicEnd {
    /// Counts the packets that the stack has declared lost.
    pub(crate) fn count_losses(&mut self) {
        let Some((_, connection)) = &self.connection else { return };
        let lost = connection.stats().path.lost_packets;
        let count = lost - std::mem::replace(&mut self.counters.declared_lost, lost);
        if count > 0 {
            self.fates.on_declared(count);
        }
    }

    /// Writes to the qlog, if there is one, with the present state.
    pub(crate) fn log(&self, write: impl FnOnce(&mut Log, EngineState)) {
        let mut facts = self.facts.lock();
        let state = facts.state;
        if let Some(log) = &mut facts.log {
            write(log, state);
        }
    }

    /// Writes the packets that the stack has noted. `datagram` has left or arrived just now; it may be empty.
    pub(crate) fn log_packets(&self, now: Time, datagram: &[u8]) {
        let notes = std::mem::take(&mut self.facts.lock().notes);
        self.log(|log, _| log.on_packets(now, datagram, &notes));
    }

    pub(crate) fn log_event(&self, now: Time, event: &Event) {
        match event {
            Event::Connected => self.log(|log, _| log.on_state(now, None)),
            Event::ConnectionLost { reason } => self.log(|log, _| log.on_state(now, Some(&reason.to_string()))),
            _ => {}
        }
    }
}

//! Transfers with pauses between them, on one connection or each on a new connection.

use super::contract::{Application, Draws};
use crate::ids::EndpointId;
use crate::record::Recorder;
use crate::spec::Bulk;
use crate::traffic::host::AppWait;
use crate::traffic::sessions::FlowSessions;
use bentpipe_units::Stream;

/// Progress of the application, with its random streams.
#[derive(Clone, Debug)]
pub(in crate::traffic) struct BulkState {
    spec: Bulk,
    index: u64,
    slot: Option<usize>,
    sizes: Stream,
    pauses: Stream,
}

impl BulkState {
    /// Ends a transfer: the next one follows after a pause.
    fn advance(&mut self, sessions: &mut FlowSessions<'_>, slot: usize, has_failed: bool) {
        let pause = self.spec.pause.draw(&mut self.pauses, self.index);
        self.index += 1;
        let is_last = self.spec.count == Some(self.index);
        if has_failed || self.spec.reconnect || is_last {
            self.slot = None;
            sessions.release(slot);
        }
        if is_last {
            sessions.finish();
        } else {
            sessions.pause(pause);
        }
    }
}

impl Application for BulkState {
    type Spec = Bulk;

    fn new(spec: Bulk, draws: &Draws<'_>) -> Self {
        Self { spec, index: 0, slot: None, sizes: draws.stream("size"), pauses: draws.stream("pause") }
    }

    fn wake(&mut self, sessions: &mut FlowSessions<'_>) {
        let size = self.spec.size.draw(&mut self.sizes, self.index);
        let slot = *self.slot.get_or_insert_with(|| sessions.open());
        sessions.begin_transfer(slot, self.index, size);
        sessions.ask(slot, size);
        let total = sessions.session(slot).asked;
        sessions.wait(slot, [AppWait::Acked(total), AppWait::Received(total)]);
        if self.spec.reconnect || self.spec.count == Some(self.index + 1) {
            sessions.end_data(slot);
        }
    }

    fn on_goal(&mut self, sessions: &mut FlowSessions<'_>, end: EndpointId, goal: AppWait, recorder: &mut Recorder) {
        let slot = end.slot();
        if sessions.is_transfer_over(slot, goal) {
            let session = sessions.session(slot);
            let (size, is_new) = (session.transfer.size, session.asked == session.transfer.size);
            let ideal = sessions.flow().path.ideal(is_new, [size, 0]);
            sessions.end_transfer(slot, Some(ideal), recorder);
            self.advance(sessions, slot, false);
        }
    }

    fn on_abort(&mut self, sessions: &mut FlowSessions<'_>, slot: usize) {
        if sessions.is_idle(slot) {
            // The connection failed in a pause, for instance. The next transfer opens another.
            self.slot = None;
            return sessions.release(slot);
        }
        sessions.flow().completions_mut().failed += 1;
        self.advance(sessions, slot, true);
    }
}

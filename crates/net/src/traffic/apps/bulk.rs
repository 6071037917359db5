//! Transfers with pauses between them, on one connection or each on a new connection.

use super::contract::{Application, Draws};
use crate::record::Recorder;
use crate::traffic::goal::{End, Goal};
use crate::traffic::sessions::{FlowSessions, Over};
use bentpipe_model::spec::Bulk;
use bentpipe_units::Stream;

/// Progress of the application, with its random streams.
#[derive(Clone, Debug)]
pub(in crate::traffic) struct BulkState {
    spec: Bulk,
    index: u64,
    session: Option<Over>,
    sizes: Stream,
    pauses: Stream,
}

impl BulkState {
    /// Ends a transfer: the next one follows after a pause.
    fn advance(&mut self, sessions: &mut FlowSessions<'_>, session: Over, has_failed: bool) {
        let pause = self.spec.pause.draw(&mut self.pauses, self.index);
        self.index += 1;
        let is_last = self.spec.count == Some(self.index);
        if has_failed || self.spec.reconnect || is_last {
            self.session = None;
            sessions.release(session);
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
        Self { spec, index: 0, session: None, sizes: draws.stream("size"), pauses: draws.stream("pause") }
    }

    fn wake(&mut self, sessions: &mut FlowSessions<'_>) {
        let size = self.spec.size.draw(&mut self.sizes, self.index);
        let session = *self.session.get_or_insert_with(|| sessions.open());
        sessions.begin_transfer(session, self.index, size);
        sessions.ask(session, size);
        let total = sessions.session(session).asked;
        sessions.wait(session, [Some(Goal::acked(total)), Some(Goal::received(total))]);
        if self.spec.reconnect || self.spec.count == Some(self.index + 1) {
            sessions.end_data(session);
        }
    }

    fn on_goal(
        &mut self,
        sessions: &mut FlowSessions<'_>,
        (session, _): (Over, End),
        goal: Goal,
        recorder: &mut Recorder,
    ) {
        if sessions.is_transfer_over(session, goal) {
            let state = sessions.session(session);
            let (size, is_new) = (state.transfer.size, state.asked == state.transfer.size);
            let ideal = sessions.flow().path.ideal(is_new, [size, 0]);
            sessions.end_transfer(session, Some(ideal), recorder);
            self.advance(sessions, session, false);
        }
    }

    fn on_abort(&mut self, sessions: &mut FlowSessions<'_>, session: Over) {
        if sessions.is_idle(session) {
            // The connection failed in a pause, for instance. The next transfer opens another.
            self.session = None;
            return sessions.release(session);
        }
        sessions.flow().completions_mut().failed += 1;
        self.advance(sessions, session, true);
    }
}

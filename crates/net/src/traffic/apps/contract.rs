//! Contract of an application.

use crate::record::Recorder;
use crate::traffic::goal::{End, Goal, StreamRead};
use crate::traffic::sessions::{FlowSessions, Over};
use bentpipe_units::Stream;

/// Application of a flow. Its type keeps its progress and its random streams. All effects go through [`FlowSessions`].
pub(in crate::traffic) trait Application {
    /// Values of its keys.
    type Spec;

    fn new(spec: Self::Spec, draws: &Draws<'_>) -> Self;

    /// Prepares the run. Without an own method, the application wakes at the start of its flow.
    fn set_up(&mut self, sessions: &mut FlowSessions<'_>) {
        sessions.wake_at(sessions.start());
    }

    /// Acts when the timer of the flow expires.
    fn wake(&mut self, _sessions: &mut FlowSessions<'_>) {}

    /// Acts when its timer at an end of a session expires.
    fn on_timer(&mut self, _sessions: &mut FlowSessions<'_>, _session: Over) {}

    /// Acts when an end of a session has reached `goal`, for which it waited.
    fn on_goal(&mut self, _sessions: &mut FlowSessions<'_>, _at: (Over, End), _goal: Goal, _recorder: &mut Recorder) {}

    /// Acts when an end of a session has read data of a stream, at a transport with several.
    fn on_stream(
        &mut self,
        _sessions: &mut FlowSessions<'_>,
        _at: (Over, End),
        _read: StreamRead,
        _recorder: &mut Recorder,
    ) {
    }

    /// Processes the failure of a session that it has not released.
    fn on_abort(&mut self, _sessions: &mut FlowSessions<'_>, _session: Over) {}

    /// Notes that best-effort transport has skipped the bytes `from..to`.
    fn on_gap(&mut self, _from: u64, _to: u64) {}

    /// Notes that the boundary of a record has arrived.
    fn on_boundary(&mut self, _offset: u64) {}
}

/// Source of the random streams of an application.
pub(in crate::traffic) struct Draws<'a> {
    pub(in crate::traffic) seed: u64,
    /// Name of the flow as a component.
    pub(in crate::traffic) component: &'a str,
    /// Name of the node that answers.
    pub(in crate::traffic) far: &'a str,
}

impl Draws<'_> {
    pub(super) fn stream(&self, purpose: &str) -> Stream {
        Stream::new(self.seed, self.component, purpose)
    }

    /// Returns a stream for properties of objects. All flows to a node share it if they share the objects.
    pub(super) fn stream_of_objects(&self, are_shared: bool, purpose: &str) -> Stream {
        match are_shared {
            true => Stream::new(self.seed, &format!("node/{}/objects", self.far), purpose),
            false => self.stream(purpose),
        }
    }
}

//! Probes as of `ping` and `irtt`: datagrams at their times, each answered at once with a datagram of its size.

use super::contract::{Application, Draws};
use crate::record::Probes;
use crate::traffic::sessions::FlowSessions;
use bentpipe_model::spec::Probing;
use bentpipe_units::Time;

/// Progress of the application.
#[derive(Clone, Debug)]
pub(in crate::traffic) struct ProbeState {
    spec: Probing,
    index: u64,
}

impl ProbeState {
    /// Sets the timer of the flow to the next probe.
    fn wait(&self, sessions: &mut FlowSessions<'_>) {
        let start = sessions.flow().start;
        sessions.wake_at(self.spec.time(self.index).map_or(Time::NEVER, |time| start + time));
    }
}

impl Application for ProbeState {
    type Spec = Probing;

    fn new(spec: Probing, _draws: &Draws<'_>) -> Self {
        Self { spec, index: 0 }
    }

    fn set_up(&mut self, sessions: &mut FlowSessions<'_>) {
        self.wait(sessions);
    }

    /// Sends a probe. Its instant is its name: its answer carries the same.
    fn wake(&mut self, sessions: &mut FlowSessions<'_>) {
        let now = sessions.now;
        if let Some(arrived) = &mut sessions.flow().arrived {
            arrived.probes.get_or_insert_with(Probes::default).on_sent(now);
        }
        self.index += 1;
        self.wait(sessions);
        sessions.send(self.spec.size);
    }
}

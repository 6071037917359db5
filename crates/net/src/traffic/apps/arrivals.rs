//! Transfers that arrive as a Poisson process, each on its own connection.

use super::contract::{Application, Draws};
use crate::record::Recorder;
use crate::traffic::goal::{End, Goal};
use crate::traffic::sessions::{FlowSessions, Over};
use bentpipe_model::spec::{Arrivals, Wait};
use bentpipe_units::{Duration, Stream, Time};

/// Progress of the application, with its random streams.
#[derive(Clone, Debug)]
pub(in crate::traffic) struct ArrivalsState {
    spec: Arrivals,
    index: u64,
    sizes: Stream,
    gaps: Stream,
}

impl ArrivalsState {
    /// Draws the time before an arrival. The process has no memory, so the first gap is like all others.
    fn gap(&mut self, index: u64) -> Duration {
        Wait::Exponential { mean: self.spec.interval }.draw(&mut self.gaps, index)
    }

    fn leave(&self, sessions: &mut FlowSessions<'_>, session: Over) {
        sessions.release(session);
        let all = sessions.flow().completions_mut();
        if self.spec.count == Some(all.begun) && all.unfinished() == 0 {
            sessions.finish();
        }
    }
}

impl Application for ArrivalsState {
    type Spec = Arrivals;

    fn new(spec: Arrivals, draws: &Draws<'_>) -> Self {
        Self { spec, index: 0, sizes: draws.stream("size"), gaps: draws.stream("gap") }
    }

    fn set_up(&mut self, sessions: &mut FlowSessions<'_>) {
        let start = sessions.flow().start;
        sessions.wake_at(start + self.gap(0));
    }

    fn wake(&mut self, sessions: &mut FlowSessions<'_>) {
        let index = self.index;
        self.index += 1;
        let size = self.spec.size.draw(&mut self.sizes, index);
        let is_last = self.spec.count == Some(self.index);
        sessions.wake_at(if is_last { Time::NEVER } else { sessions.now + self.gap(self.index) });
        let session = sessions.open();
        sessions.begin_transfer(session, index, size);
        sessions.ask(session, size);
        sessions.end_data(session);
        sessions.wait(session, [Some(Goal::acked(size)), Some(Goal::received(size))]);
    }

    fn on_goal(
        &mut self,
        sessions: &mut FlowSessions<'_>,
        (session, _): (Over, End),
        goal: Goal,
        recorder: &mut Recorder,
    ) {
        if sessions.is_transfer_over(session, goal) {
            let size = sessions.session(session).transfer.size;
            let ideal = sessions.flow().path.ideal(true, [size, 0]);
            sessions.end_transfer(session, Some(ideal), recorder);
            self.leave(sessions, session);
        }
    }

    fn on_abort(&mut self, sessions: &mut FlowSessions<'_>, session: Over) {
        sessions.flow().completions_mut().failed += 1;
        self.leave(sessions, session);
    }
}

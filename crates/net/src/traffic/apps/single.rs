//! One connection from the start of the flow: unlimited data, or one file.

use super::contract::{Application, Draws};
use crate::record::Recorder;
use crate::traffic::goal::{End, Goal, What};
use crate::traffic::sessions::{FlowSessions, Over};
use bentpipe_model::dictionary::EventKind;
use bentpipe_model::spec::App;
use bentpipe_units::Time;

/// More bytes than any run can send.
const ENDLESS: u64 = u64::MAX >> 8;

/// Application without progress: the connection has all of it. Its keys are those of the flow, so that it takes no
/// memory.
#[derive(Clone, Debug)]
pub(in crate::traffic) struct Single;

impl Single {
    /// Bytes of the file. None: unlimited data.
    fn file(sessions: &mut FlowSessions<'_>) -> Option<u64> {
        match *sessions.flow().app {
            App::File { size } => Some(size),
            _ => None,
        }
    }
}

impl Application for Single {
    type Spec = ();

    fn new((): (), _draws: &Draws<'_>) -> Self {
        Self
    }

    fn set_up(&mut self, sessions: &mut FlowSessions<'_>) {
        let session = sessions.open();
        let start = sessions.flow().start;
        sessions.set_timer(session, End::Opener, start);
        if let Some(size) = Self::file(sessions) {
            sessions.wait(session, [Some(Goal::acked(size)), Some(Goal::received(size))]);
        }
    }

    /// Opens the connection.
    fn on_timer(&mut self, sessions: &mut FlowSessions<'_>, session: Over) {
        sessions.flow().has_begun = true;
        let file = Self::file(sessions);
        sessions.begin(session, file.unwrap_or(ENDLESS), file.is_some());
    }

    fn on_goal(
        &mut self,
        sessions: &mut FlowSessions<'_>,
        (session, _): (Over, End),
        goal: Goal,
        recorder: &mut Recorder,
    ) {
        let now = sessions.now;
        let is_over = if goal.what == What::Acked {
            if recorder.wants_decisions {
                recorder.on_event(now, sessions.id, EventKind::Completed, goal.bytes);
            }
            sessions.flow().acked = now;
            !sessions.is_on_the_way(session)
        } else {
            sessions.flow().received = now;
            sessions.flow().acked != Time::NEVER
        };
        if is_over {
            // An end that works ahead of time may report the later of the two first.
            sessions.now = sessions.flow().acked.max(sessions.flow().received);
            sessions.complete();
        }
    }

    fn on_abort(&mut self, sessions: &mut FlowSessions<'_>, _session: Over) {
        sessions.fail();
    }
}

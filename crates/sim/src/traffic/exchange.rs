//! Questions and answers: the end that opened asks, the other answers after a while, the first thinks and asks again.

use super::flow::Course as Any;
use super::{Goal, Session, Task, Traffic};
use crate::record::Recorder;
use crate::spec::RequestResponse;
use bentpipe_units::{Duration, Stream, Time};

/// How far it has come.
#[derive(Clone, Debug)]
pub(super) struct Course {
    app: RequestResponse,
    index: u64,
    slot: Option<usize>,
    /// Of the request under way.
    request: u64,
    requests: Stream,
    responses: Stream,
    waits: Stream,
    thinks: Stream,
}

impl Course {
    pub(super) fn new(app: RequestResponse, seed: u64, component: &str) -> Self {
        let stream = |purpose| Stream::new(seed, component, purpose);
        Self {
            app,
            index: 0,
            slot: None,
            request: 0,
            requests: stream("request"),
            responses: stream("response"),
            waits: stream("wait"),
            thinks: stream("think"),
        }
    }

    /// From the request under way to its answer.
    fn wait(&mut self) -> Duration {
        self.app.wait.draw(&mut self.waits, self.index)
    }

    /// An exchange is over; the time until the next, if there is one.
    fn next(&mut self) -> Option<Duration> {
        let think = self.app.think.draw(&mut self.thinks, self.index);
        self.index += 1;
        (self.app.count != Some(self.index)).then_some(think)
    }
}

impl Traffic {
    pub(super) fn begin_exchange(&mut self, now: Time, flow: usize) {
        let Any::Exchange(course) = &mut self.flows[flow].course else { return };
        let index = course.index;
        let request = course.app.request.draw(&mut course.requests, index);
        let response = course.app.response.draw(&mut course.responses, index);
        course.request = request;
        let slot = course.slot.take().unwrap_or_else(|| self.open(now, flow));
        if let Any::Exchange(course) = &mut self.flows[flow].course {
            course.slot = Some(slot);
        }
        self.begin_transfer(now, slot, index, response);
        self.ask(now, slot, request);
        let Session { asked, answered, .. } = self.sessions[slot];
        self.hosts[2 * slot].goal = Goal::Read(answered + response);
        self.hosts[2 * slot + 1].goal = Goal::Received(asked);
    }

    /// All of a request has arrived.
    pub(super) fn hear_request(&mut self, now: Time, slot: usize) {
        let Any::Exchange(course) = &mut self.flows[self.sessions[slot].flow].course else { return };
        match course.wait() {
            Duration::ZERO => self.answer(slot),
            wait => self.hosts[2 * slot + 1].timer = now + wait,
        }
    }

    pub(super) fn answer(&mut self, slot: usize) {
        let session = &mut self.sessions[slot];
        if !session.is_left {
            session.answered += session.transfer.size;
            self.hosts[2 * slot + 1].conn.offer(session.transfer.size);
            self.tasks.push_back(Task::Drive(2 * slot + 1));
        }
    }

    pub(super) fn end_exchange(&mut self, now: Time, slot: usize, recorder: &mut Recorder) {
        let Session { flow, transfer, asked, .. } = self.sessions[slot];
        let state = &mut self.flows[flow];
        let Any::Exchange(course) = &mut state.course else { return };
        let is_new = asked == course.request;
        let ideal = state.path.ideal(is_new, [course.request, transfer.size]) + course.wait();
        self.end_transfer(now, slot, Some(ideal), recorder);
        self.go_on_with_exchanges(now, slot, false);
    }

    pub(super) fn fail_exchange(&mut self, now: Time, slot: usize) {
        if self.hosts[2 * slot].goal == Goal::Nothing {
            // It failed between exchanges: the next one opens a new one.
            let Any::Exchange(course) = &mut self.flows[self.sessions[slot].flow].course else { return };
            course.slot = None;
            return self.close(now, slot);
        }
        self.flows[self.sessions[slot].flow].completions_mut().failed += 1;
        self.go_on_with_exchanges(now, slot, true);
    }

    fn go_on_with_exchanges(&mut self, now: Time, slot: usize, has_failed: bool) {
        let flow = self.sessions[slot].flow;
        let Any::Exchange(course) = &mut self.flows[flow].course else { return };
        let next = course.next();
        if has_failed || course.app.reconnect || next.is_none() {
            course.slot = None;
            self.close(now, slot);
        }
        match next {
            Some(think) => self.pause(now, flow, think),
            None => self.finish(now, flow),
        }
    }
}

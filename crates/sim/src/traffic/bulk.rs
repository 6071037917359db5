//! Transfers with pauses between them, on one connection or a new one each time.

use super::flow::Course as Any;
use super::{Goal, Traffic};
use crate::record::Recorder;
use crate::spec::Bulk;
use bentpipe_units::{Duration, Stream, Time};

/// How far it has come.
#[derive(Clone, Debug)]
pub(super) struct Course {
    app: Bulk,
    index: u64,
    slot: Option<usize>,
    sizes: Stream,
    pauses: Stream,
}

impl Course {
    pub(super) fn new(app: Bulk, seed: u64, component: &str) -> Self {
        let stream = |purpose| Stream::new(seed, component, purpose);
        Self { app, index: 0, slot: None, sizes: stream("size"), pauses: stream("pause") }
    }

    /// A transfer is over; the time until the next, if there is one.
    fn next(&mut self) -> Option<Duration> {
        let pause = self.app.pause.draw(&mut self.pauses, self.index);
        self.index += 1;
        (self.app.count != Some(self.index)).then_some(pause)
    }
}

impl Traffic {
    pub(super) fn begin_bulk(&mut self, now: Time, flow: usize) {
        let Any::Bulk(course) = &mut self.flows[flow].course else { return };
        let (app, index) = (course.app, course.index);
        let size = app.size.draw(&mut course.sizes, index);
        let slot = course.slot.take().unwrap_or_else(|| self.open(now, flow));
        self.begin_transfer(now, slot, index, size);
        self.ask(now, slot, size);
        let total = self.sessions[slot].asked;
        self.hosts[2 * slot].goal = Goal::Acked(total);
        self.hosts[2 * slot + 1].goal = Goal::Received(total);
        if app.reconnect || app.count == Some(index + 1) {
            // The FIN follows the last byte.
            self.hosts[2 * slot].conn.close();
        }
        if let Any::Bulk(course) = &mut self.flows[flow].course {
            course.slot = Some(slot);
        }
    }

    pub(super) fn end_bulk(&mut self, now: Time, slot: usize, recorder: &mut Recorder) {
        let session = &self.sessions[slot];
        let is_new = session.asked == session.transfer.size;
        let ideal = self.flows[session.flow].path.ideal(is_new, [session.transfer.size, 0]);
        self.end_transfer(now, slot, Some(ideal), recorder);
        self.go_on_with_bulk(now, slot, false);
    }

    pub(super) fn fail_bulk(&mut self, now: Time, slot: usize) {
        if self.hosts[2 * slot].goal == Goal::Nothing {
            // It failed in a pause, for instance: the next transfer opens a new one.
            let Any::Bulk(course) = &mut self.flows[self.sessions[slot].flow].course else { return };
            course.slot = None;
            return self.leave(now, slot);
        }
        self.flows[self.sessions[slot].flow].completions_mut().failed += 1;
        self.go_on_with_bulk(now, slot, true);
    }

    fn go_on_with_bulk(&mut self, now: Time, slot: usize, has_failed: bool) {
        let flow = self.sessions[slot].flow;
        let Any::Bulk(course) = &mut self.flows[flow].course else { return };
        let next = course.next();
        if has_failed || course.app.reconnect || next.is_none() {
            course.slot = None;
            self.leave(now, slot);
        }
        match next {
            Some(pause) => self.pause(now, flow, pause),
            None => self.finish(now, flow),
        }
    }
}

//! Transfers that arrive as a Poisson process, whatever has become of those before, each on a connection of its own.

use super::flow::Course as Any;
use super::{Goal, Session, Traffic};
use crate::record::{Completions, Recorder};
use crate::spec::Arrivals;
use crate::spec::Wait;
use bentpipe_units::{Duration, Stream, Time};

/// How far it has come.
#[derive(Clone, Debug)]
pub(super) struct Course {
    app: Arrivals,
    index: u64,
    sizes: Stream,
    gaps: Stream,
}

impl Course {
    pub(super) fn new(app: Arrivals, seed: u64, component: &str) -> Self {
        let stream = |purpose| Stream::new(seed, component, purpose);
        Self { app, index: 0, sizes: stream("size"), gaps: stream("gap") }
    }

    /// The process has no memory: the time to the first arrival is like any other.
    pub(super) fn first_gap(&mut self) -> Duration {
        self.gap(0)
    }

    fn gap(&mut self, index: u64) -> Duration {
        Wait::Exponential { mean: self.app.interval }.draw(&mut self.gaps, index)
    }
}

impl Traffic {
    pub(super) fn begin_arrival(&mut self, now: Time, flow: usize) {
        let Any::Arrivals(course) = &mut self.flows[flow].course else { return };
        let index = course.index;
        course.index += 1;
        let size = course.app.size.draw(&mut course.sizes, index);
        let next = (course.app.count != Some(index + 1)).then(|| course.gap(index + 1));
        self.flows[flow].timer = next.map_or(Time::NEVER, |gap| now + gap);
        let slot = self.open(now, flow);
        self.begin_transfer(now, slot, index, size);
        self.ask(now, slot, size);
        self.hosts[2 * slot].conn.close();
        self.hosts[2 * slot].goal = Goal::Acked(size);
        self.hosts[2 * slot + 1].goal = Goal::Received(size);
    }

    pub(super) fn end_arrival(&mut self, now: Time, slot: usize, recorder: &mut Recorder) {
        let Session { flow, transfer, .. } = self.sessions[slot];
        let ideal = self.flows[flow].path.ideal(true, [transfer.size, 0]);
        self.end_transfer(now, slot, Some(ideal), recorder);
        self.leave(now, slot);
        self.finish_arrivals(now, flow);
    }

    pub(super) fn fail_arrival(&mut self, now: Time, slot: usize) {
        let flow = self.sessions[slot].flow;
        self.flows[flow].completions_mut().failed += 1;
        self.leave(now, slot);
        self.finish_arrivals(now, flow);
    }

    fn finish_arrivals(&mut self, now: Time, flow: usize) {
        let state = &self.flows[flow];
        let is_over = |all: &Completions| state.app.count() == Some(all.begun) && all.unfinished() == 0;
        if state.completions().is_some_and(is_over) {
            self.finish(now, flow);
        }
    }
}

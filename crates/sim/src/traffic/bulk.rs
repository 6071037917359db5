//! Transfers with pauses between them, on one connection or a new one each time.

use super::flow::AppState;
use super::{AppWait, Traffic};
use crate::ids::{EndpointId, FlowId};
use crate::record::Recorder;
use crate::spec::Bulk;
use bentpipe_units::{Duration, Stream, Time};

/// How far the application of a flow has come, with its random streams.
#[derive(Clone, Debug)]
pub(super) struct BulkState {
    spec: Bulk,
    index: u64,
    slot: Option<usize>,
    sizes: Stream,
    pauses: Stream,
}

impl BulkState {
    pub(super) fn new(spec: Bulk, seed: u64, component: &str) -> Self {
        let stream = |purpose| Stream::new(seed, component, purpose);
        Self { spec, index: 0, slot: None, sizes: stream("size"), pauses: stream("pause") }
    }

    /// A transfer is over; the time until the next, if there is one.
    fn next(&mut self) -> Option<Duration> {
        let pause = self.spec.pause.draw(&mut self.pauses, self.index);
        self.index += 1;
        (self.spec.count != Some(self.index)).then_some(pause)
    }
}

impl Traffic {
    pub(super) fn begin_bulk(&mut self, now: Time, flow: FlowId) {
        let AppState::Bulk(bulk) = &mut self.flows[flow].app_state else { return };
        let (app, index) = (bulk.spec, bulk.index);
        let size = app.size.draw(&mut bulk.sizes, index);
        let slot = bulk.slot.take().unwrap_or_else(|| self.open(now, flow));
        self.begin_transfer(now, slot, index, size);
        self.ask(now, slot, size);
        let total = self.sessions[slot].asked;
        self.hosts[EndpointId::opener(slot)].awaits = AppWait::Acked(total);
        self.hosts[EndpointId::listener(slot)].awaits = AppWait::Received(total);
        if app.reconnect || app.count == Some(index + 1) {
            // The FIN follows the last byte.
            self.hosts[EndpointId::opener(slot)].conn.close();
        }
        if let AppState::Bulk(bulk) = &mut self.flows[flow].app_state {
            bulk.slot = Some(slot);
        }
    }

    pub(super) fn end_bulk(&mut self, now: Time, slot: usize, recorder: &mut Recorder) {
        let session = &self.sessions[slot];
        let is_new = session.asked == session.transfer.size;
        let ideal = self.flows[session.flow].path.ideal(is_new, [session.transfer.size, 0]);
        self.end_transfer(now, slot, Some(ideal), recorder);
        self.next_bulk(now, slot, false);
    }

    pub(super) fn fail_bulk(&mut self, now: Time, slot: usize) {
        if self.hosts[EndpointId::opener(slot)].awaits == AppWait::Nothing {
            // It failed in a pause, for instance: the next transfer opens a new one.
            let AppState::Bulk(bulk) = &mut self.flows[self.sessions[slot].flow].app_state else { return };
            bulk.slot = None;
            return self.release(now, slot);
        }
        self.flows[self.sessions[slot].flow].completions_mut().failed += 1;
        self.next_bulk(now, slot, true);
    }

    fn next_bulk(&mut self, now: Time, slot: usize, has_failed: bool) {
        let flow = self.sessions[slot].flow;
        let AppState::Bulk(bulk) = &mut self.flows[flow].app_state else { return };
        let next = bulk.next();
        if has_failed || bulk.spec.reconnect || next.is_none() {
            bulk.slot = None;
            self.release(now, slot);
        }
        match next {
            Some(pause) => self.pause(now, flow, pause),
            None => self.finish(now, flow),
        }
    }
}

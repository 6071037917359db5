//! Requests and responses: the opener sends a request, the listener responds after a while, the opener thinks and sends
//! the next.

use super::catalogue::CatalogueState;
use super::flow::AppState;
use super::{AppWait, Session, Task, Traffic};
use crate::ids::{EndpointId, FlowId};
use crate::record::Recorder;
use crate::spec::RequestResponse;
use bentpipe_units::{Duration, Stream, Time};

/// How far the application of a flow has come, with its random streams.
#[derive(Clone, Debug)]
pub(super) struct RequestResponseState {
    spec: RequestResponse,
    index: u64,
    slot: Option<usize>,
    /// Of the request under way.
    request: u64,
    requests: Stream,
    responses: Stream,
    waits: Stream,
    thinks: Stream,
    catalogue: Option<CatalogueState>,
}

impl RequestResponseState {
    /// `far`: the node that answers.
    pub(super) fn new(spec: RequestResponse, seed: u64, component: &str, far: &str) -> Self {
        let stream = |purpose| Stream::new(seed, component, purpose);
        let catalogue = spec.catalogue.map(|catalogue| CatalogueState::new(catalogue, seed, component));
        let responses = match catalogue {
            Some(_) => Stream::new(seed, &CatalogueState::origin(far), "response"),
            None => stream("response"),
        };
        Self {
            spec,
            index: 0,
            slot: None,
            request: 0,
            requests: stream("request"),
            responses,
            waits: stream("wait"),
            thinks: stream("think"),
            catalogue,
        }
    }

    /// From the request under way to its response.
    fn wait(&mut self) -> Duration {
        self.spec.wait.draw(&mut self.waits, self.index)
    }

    /// An exchange is over; the time until the next, if there is one.
    fn next(&mut self) -> Option<Duration> {
        let think = self.spec.think.draw(&mut self.thinks, self.index);
        self.index += 1;
        (self.spec.count != Some(self.index)).then_some(think)
    }
}

impl Traffic {
    pub(super) fn begin_exchange(&mut self, now: Time, flow: FlowId) {
        let AppState::RequestResponse(exchange) = &mut self.flows[flow].app_state else { return };
        let index = exchange.index;
        let request = exchange.spec.request.draw(&mut exchange.requests, index);
        let object = exchange.catalogue.as_mut().map(|catalogue| catalogue.object(index));
        let response = exchange.spec.response.draw(&mut exchange.responses, object.unwrap_or(index));
        exchange.request = request;
        let slot = exchange.slot.take().unwrap_or_else(|| self.open(now, flow));
        if let AppState::RequestResponse(exchange) = &mut self.flows[flow].app_state {
            exchange.slot = Some(slot);
        }
        self.begin_transfer(now, slot, index, response);
        self.ask(now, slot, request);
        if let Some(object) = object {
            self.name_request(slot, [object, request, response]);
        }
        let Session { asked, answered, unseen, .. } = self.sessions[slot];
        self.hosts[EndpointId::opener(slot)].awaits = AppWait::Read(answered + response);
        self.hosts[EndpointId::listener(slot)].awaits = AppWait::Received(asked - unseen);
    }

    /// All of a request has arrived.
    pub(super) fn on_request(&mut self, now: Time, slot: usize) {
        let AppState::RequestResponse(exchange) = &mut self.flows[self.sessions[slot].flow].app_state else { return };
        match exchange.wait() {
            Duration::ZERO => self.respond(slot),
            wait => self.hosts[EndpointId::listener(slot)].timer = now + wait,
        }
    }

    pub(super) fn respond(&mut self, slot: usize) {
        let session = &mut self.sessions[slot];
        if !session.is_released {
            session.answered += session.transfer.size;
            self.hosts[EndpointId::listener(slot)].conn.offer(session.transfer.size);
            self.tasks.push_back(Task::Drive(EndpointId::listener(slot)));
        }
    }

    pub(super) fn end_exchange(&mut self, now: Time, slot: usize, recorder: &mut Recorder) {
        let Session { flow, transfer, asked, .. } = self.sessions[slot];
        let state = &mut self.flows[flow];
        let AppState::RequestResponse(exchange) = &mut state.app_state else { return };
        let is_new = asked == exchange.request;
        let ideal = state.path.ideal(is_new, [exchange.request, transfer.size]) + exchange.wait();
        self.end_transfer(now, slot, Some(ideal), recorder);
        self.next_exchange(now, slot, false);
    }

    pub(super) fn fail_exchange(&mut self, now: Time, slot: usize) {
        if self.hosts[EndpointId::opener(slot)].awaits == AppWait::Nothing {
            // It failed between exchanges: the next one opens a new one.
            let AppState::RequestResponse(exchange) = &mut self.flows[self.sessions[slot].flow].app_state else {
                return;
            };
            exchange.slot = None;
            return self.close(now, slot);
        }
        self.flows[self.sessions[slot].flow].completions_mut().failed += 1;
        self.next_exchange(now, slot, true);
    }

    fn next_exchange(&mut self, now: Time, slot: usize, has_failed: bool) {
        let flow = self.sessions[slot].flow;
        let AppState::RequestResponse(exchange) = &mut self.flows[flow].app_state else { return };
        let next = exchange.next();
        if has_failed || exchange.spec.reconnect || next.is_none() {
            exchange.slot = None;
            self.close(now, slot);
        }
        match next {
            Some(think) => self.pause(now, flow, think),
            None => self.finish(now, flow),
        }
    }
}

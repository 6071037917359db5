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
    /// Bytes of responses on this connection, that of the request under way included. Not what the listener has sent: a function
    /// may forge bytes, and each byte is read once.
    response_end: u64,
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
            response_end: 0,
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
        exchange.response_end = response + if exchange.slot.is_some() { exchange.response_end } else { 0 };
        let response_end = exchange.response_end;
        let slot = exchange.slot.take().unwrap_or_else(|| self.open(now, flow));
        if let AppState::RequestResponse(exchange) = &mut self.flows[flow].app_state {
            exchange.slot = Some(slot);
        }
        self.begin_transfer(now, slot, index, response);
        self.ask(now, slot, request);
        if let Some(object) = object {
            self.name_request(slot, [object, request, response]);
        }
        let Session { asked, unseen, .. } = self.sessions[slot];
        self.hosts[EndpointId::opener(slot)].awaits = AppWait::Read(response_end);
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

#[cfg(test)]
mod tests {
    use crate::ids::NodeId;
    use crate::middlebox::{Context, Middlebox};
    use crate::packet::Packet;
    use crate::{scenario, Network};
    use bentpipe_tcp::Segment;

    /// Answers the first data that pass, as if the host had: with more than it would.
    #[derive(Debug, Default)]
    struct Forger {
        has_answered: bool,
    }

    impl Middlebox for Forger {
        fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
            if packet.len > 0 && !self.has_answered {
                self.has_answered = true;
                let forge = |asked: Segment| Segment { seq: asked.ack, ack: asked.seq, len: 1400, ..asked };
                let forged = cx.segment(&packet).and_then(|asked| cx.answer(&packet, &forge(asked)));
                cx.emit(forged.expect("a segment of a connection"));
            }
            cx.forward(packet);
        }
    }

    /// A response that nobody sent ends one exchange, as it would at a real client, and not all that come after it at that instant.
    #[test]
    fn a_forged_response_is_read_once() {
        let text = r#"
            duration = "2 s"
            [link.l]
            from = "a"
            to = "b"
            rate = "10 Mbit/s"
            delay = "10 ms"
            [link.m]
            from = "b"
            to = "c"
            rate = "10 Mbit/s"
            delay = "200 ms"
            [flow.f]
            from = "a"
            to = "c"
            app = { kind = "request-response", request = "100 B", response = "1 kB", think = "0 s" }
        "#;
        let scenario = scenario::from_toml(text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
        let b = scenario.nodes.iter().position(|node| node.name == "b").map(NodeId::new).unwrap();
        let mut network = Network::build_with(&scenario, 1, vec![(b, Box::new(Forger::default()))]);
        assert!(network.run(100_000), "it is over");
        let result = network.finish().unwrap();
        // A round trip is 0.42 s; and what the host sends itself is acknowledged before it is sent, which it ignores.
        let transfers = result.transfers.len();
        assert!((1..=5).contains(&transfers), "{transfers}");
    }
}

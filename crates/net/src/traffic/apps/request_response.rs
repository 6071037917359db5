//! Requests and responses in turn. The listener waits before each response, and the opener before each next request.

use super::catalogue::CatalogueState;
use super::contract::{Application, Draws};
use crate::record::Recorder;
use crate::traffic::goal::{End, Goal};
use crate::traffic::sessions::{FlowSessions, Over};
use bentpipe_model::spec::RequestResponse;
use bentpipe_units::{Duration, Stream};

/// Progress of the application, with its random streams.
#[derive(Clone, Debug)]
pub(in crate::traffic) struct RequestResponseState {
    spec: RequestResponse,
    index: u64,
    session: Option<Over>,
    /// Bytes of the present request.
    request: u64,
    /// Bytes of all responses on this connection, the present one included. Bytes that the listener has sent are no
    /// measure: a middlebox may forge a response, and each byte is read once.
    response_end: u64,
    requests: Stream,
    responses: Stream,
    waits: Stream,
    thinks: Stream,
    catalogue: Option<CatalogueState>,
}

impl RequestResponseState {
    /// Draws the time from a request to its response.
    fn wait(&mut self) -> Duration {
        self.spec.wait.draw(&mut self.waits, self.index)
    }

    fn respond(sessions: &mut FlowSessions<'_>, session: Over) {
        let size = sessions.session(session).transfer.size;
        sessions.answer(session, size);
    }

    /// Ends an exchange: the next one follows after some time.
    fn advance(&mut self, sessions: &mut FlowSessions<'_>, session: Over, has_failed: bool) {
        let think = self.spec.think.draw(&mut self.thinks, self.index);
        self.index += 1;
        let is_last = self.spec.count == Some(self.index);
        if has_failed || self.spec.reconnect || is_last {
            self.session = None;
            sessions.close(session);
        }
        if is_last {
            sessions.finish();
        } else {
            sessions.pause(think);
        }
    }
}

impl Application for RequestResponseState {
    type Spec = RequestResponse;

    fn new(spec: RequestResponse, draws: &Draws<'_>) -> Self {
        Self {
            spec,
            index: 0,
            session: None,
            request: 0,
            response_end: 0,
            requests: draws.stream("request"),
            responses: draws.stream_of_objects(spec.catalogue.is_some(), "response"),
            waits: draws.stream("wait"),
            thinks: draws.stream("think"),
            catalogue: spec.catalogue.map(|catalogue| CatalogueState::new(catalogue, draws)),
        }
    }

    /// Sends a request.
    fn wake(&mut self, sessions: &mut FlowSessions<'_>) {
        let index = self.index;
        self.request = self.spec.request.draw(&mut self.requests, index);
        let object = self.catalogue.as_mut().map(|catalogue| catalogue.object(index));
        let response = self.spec.response.draw(&mut self.responses, object.unwrap_or(index));
        self.response_end = response + if self.session.is_some() { self.response_end } else { 0 };
        let session = *self.session.get_or_insert_with(|| sessions.open());
        sessions.begin_transfer(session, index, response);
        sessions.ask(session, self.request);
        if let Some(object) = object {
            sessions.name_request(session, [object, self.request, response]);
        }
        let state = sessions.session(session);
        let seen = state.asked - state.unseen;
        sessions.wait(session, [Some(Goal::read(self.response_end)), Some(Goal::received(seen))]);
    }

    /// Sends the response after a delay.
    fn on_timer(&mut self, sessions: &mut FlowSessions<'_>, session: Over) {
        Self::respond(sessions, session);
    }

    fn on_goal(
        &mut self,
        sessions: &mut FlowSessions<'_>,
        (session, end): (Over, End),
        _goal: Goal,
        recorder: &mut Recorder,
    ) {
        let wait = self.wait();
        if end == End::Opener {
            let state = sessions.session(session);
            let (is_new, response) = (state.asked == self.request, state.transfer.size);
            let ideal = sessions.flow().path.ideal(is_new, [self.request, response]) + wait;
            sessions.end_transfer(session, Some(ideal), recorder);
            self.advance(sessions, session, false);
        } else if wait == Duration::ZERO {
            Self::respond(sessions, session);
        } else {
            sessions.set_timer(session, end, sessions.now + wait);
        }
    }

    fn on_abort(&mut self, sessions: &mut FlowSessions<'_>, session: Over) {
        if sessions.is_idle(session) {
            // The connection failed between exchanges. The next one opens another.
            self.session = None;
            return sessions.close(session);
        }
        sessions.flow().completions_mut().failed += 1;
        self.advance(sessions, session, true);
    }
}

#[cfg(test)]
mod tests {
    use crate::Network;
    use bentpipe_model::ids::NodeId;
    use bentpipe_model::middlebox::{Context, Middlebox};
    use bentpipe_model::packet::Packet;
    use bentpipe_scenario as scenario;
    use bentpipe_tcp::Segment;

    /// Answers the first data for the host, with more bytes than the host would send.
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

    /// A forged response ends one exchange, as at a real client, and not the next ones at the same instant.
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
        // A round trip is 0.42 s. The host ignores ACKs of data that it has not sent yet.
        let transfers = result.transfers.len();
        assert!((1..=5).contains(&transfers), "{transfers}");
    }
}

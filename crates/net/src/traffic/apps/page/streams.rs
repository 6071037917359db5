//! Pages over a transport with streams: each object has a stream, so that none waits for another. The order of
//! the streams decides the order of the objects.

use super::PageState;
use crate::record::Recorder;
use crate::traffic::goal::{End, StreamRead};
use crate::traffic::sessions::FlowSessions;
use bentpipe_model::stack::StreamNo;
use bentpipe_units::Time;

/// A request on a stream, until its object is received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    stream: StreamNo,
    object: usize,
    /// When the server responds; `None`: the request has not arrived, or the response has begun.
    due: Option<Time>,
    /// Whether first bytes of the object have been read.
    has_begun: bool,
}

impl Exchange {
    pub(super) fn new(stream: StreamNo, object: usize) -> Self {
        Self { stream, object, due: None, has_begun: false }
    }
}

impl PageState {
    /// Receives a request at the listener of a connection.
    pub(super) fn receive_stream_request(&mut self, sessions: &mut FlowSessions<'_>, at: usize, read: StreamRead) {
        let exchanges = &mut self.connections[at].exchanges;
        let Some(exchange) = exchanges.iter_mut().find(|each| read.is_last && each.stream == read.stream) else {
            return;
        };
        exchange.due = Some(sessions.now + self.objects[exchange.object].wait);
        self.answer_streams(sessions, at);
    }

    /// Begins the responses that are due, and sets the timer for the next one.
    pub(super) fn answer_streams(&mut self, sessions: &mut FlowSessions<'_>, at: usize) {
        let connection = &mut self.connections[at];
        let mut next = Time::NEVER;
        for exchange in &mut connection.exchanges {
            match exchange.due {
                Some(due) if due > sessions.now => next = next.min(due),
                Some(_) => {
                    exchange.due = None;
                    let bytes = self.objects[exchange.object].bytes;
                    sessions.answer_stream(connection.session, exchange.stream, bytes);
                }
                None => {}
            }
        }
        if next < Time::NEVER {
            sessions.set_timer(connection.session, End::Listener, next);
        }
    }

    /// Receives data of an object at the opener of a connection.
    pub(super) fn receive_stream(
        &mut self,
        sessions: &mut FlowSessions<'_>,
        at: usize,
        read: StreamRead,
        recorder: &mut Recorder,
    ) {
        let exchanges = &mut self.connections[at].exchanges;
        let Some(place) = exchanges.iter().position(|each| each.stream == read.stream) else { return };
        let object = exchanges[place].object;
        let is_first = !std::mem::replace(&mut exchanges[place].has_begun, true);
        if read.is_last {
            exchanges.remove(place);
        }
        if is_first {
            self.times[object].first_byte = sessions.now;
            self.request_named(sessions, object, true);
        }
        if read.is_last {
            if self.record_object(sessions, object, recorder) {
                return self.end_page(sessions, recorder);
            }
            self.request_named(sessions, object, false);
        }
    }
}

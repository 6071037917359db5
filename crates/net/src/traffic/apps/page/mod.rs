//! Pages: a main object, then the objects that it names, then those that these name. Either several connections to each
//! host carry one object at a time (HTTP/1.1 without pipelining), or one connection to each host carries all requests,
//! and objects in order (HTTP/2). Over QUIC, one connection to each host carries each object on a stream (HTTP/3).

mod plan;
mod streams;

use super::catalogue::CatalogueState;
use super::contract::{Application, Draws};
use crate::record::{LoadedObject, Recorder};
use crate::traffic::goal::{End, Goal, StreamRead};
use crate::traffic::pool::TransferUnderWay;
use crate::traffic::sessions::{FlowSessions, Over};
use bentpipe_model::spec::Page;
use bentpipe_model::stack::StreamNo;
use bentpipe_units::{Stream, Time};
use plan::{index_of, Object, Plan};
use std::collections::VecDeque;
use streams::Exchange;

/// Progress of the application, with its random streams.
#[derive(Clone, Debug)]
pub(in crate::traffic) struct PageState {
    spec: Page,
    index: u64,
    /// Index of the present page, or its number in the catalogue.
    number: u64,
    start: Time,
    /// Whether a page is under way.
    is_loading: bool,
    /// Connections of the page, in the order in which they were opened.
    connections: Vec<PageConnection>,
    objects: Vec<Object>,
    /// Instants of each object.
    times: Vec<ObjectTimes>,
    /// Objects with the instants of their requests, in any order.
    due: Vec<(Time, usize)>,
    /// Objects whose host has no idle connection, in the order of their requests.
    waiting: VecDeque<usize>,
    /// Objects received, count.
    done: usize,
    bytes: u64,
    plan: Plan,
    readings: Stream,
    catalogue: Option<CatalogueState>,
}

/// Instants at which an object was needed, its request was handed to TCP, and its first byte was read.
#[derive(Clone, Copy, Debug, Default)]
struct ObjectTimes {
    due: Time,
    request: Time,
    first_byte: Time,
}

/// Use of one connection of a page.
#[derive(Clone, Debug)]
struct PageConnection {
    session: Over,
    host: u32,
    /// Exchanges before the first request.
    tls_left: u32,
    /// Objects that are requested and not yet received, in order.
    pending: VecDeque<usize>,
    /// Instants of the responses to the first of these objects: their requests have arrived.
    responses: VecDeque<Time>,
    /// Responses among them that have begun, count.
    answered: usize,
    /// Whether first bytes of the first of these objects have been read.
    has_begun: bool,
    /// Bytes of requests that the listener has received.
    asked: u64,
    /// Bytes that the opener has read.
    read: u64,
    /// Requests on streams whose objects are not received yet.
    exchanges: Vec<Exchange>,
}

impl PageConnection {
    /// Whether no object of it is under way.
    fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.exchanges.is_empty()
    }
}

impl PageState {
    fn begin_page(&mut self, sessions: &mut FlowSessions<'_>) {
        self.start = sessions.now;
        self.number = self.catalogue.as_mut().map_or(self.index, |catalogue| catalogue.object(self.index));
        self.plan.draw(&self.spec, self.index, self.number, &mut self.objects);
        self.times.clear();
        self.times.resize(self.objects.len(), ObjectTimes::default());
        (self.is_loading, self.done, self.bytes) = (true, 0, 0);
        self.times[0].due = sessions.now;
        sessions.flow().completions_mut().begun += 1;
        self.request(sessions, 0);
    }

    /// Requests an object, over a new connection if its host has none that is idle.
    fn request(&mut self, sessions: &mut FlowSessions<'_>, object: usize) {
        let host = self.objects[object].host;
        let is_multiplexed = self.spec.is_multiplexed();
        let mut of_host = self.connections.iter().enumerate().filter(|(_, each)| each.host == host);
        let count = of_host.clone().count();
        let free = of_host.find(|(_, each)| is_multiplexed || each.pending.is_empty()).map(|(at, _)| at);
        let at = match free {
            Some(at) => at,
            None if count < self.spec.connections as usize => self.open(sessions, host),
            None => return self.waiting.push_back(object),
        };
        if self.connections[at].tls_left > 0 {
            self.connections[at].pending.push_back(object);
            if self.connections[at].pending.len() == 1 {
                self.secure(sessions, at);
            }
        } else if let Some(stream) = self.ask(sessions, at, object) {
            self.connections[at].exchanges.push(Exchange::new(stream, object));
        } else {
            self.connections[at].pending.push_back(object);
            self.wait(sessions, at);
        }
    }

    /// Opens a connection to a host. Returns its place among the connections.
    fn open(&mut self, sessions: &mut FlowSessions<'_>, host: u32) -> usize {
        let (session, tls_left) = (sessions.open(), self.spec.secured_after());
        let (pending, responses) = (VecDeque::new(), VecDeque::new());
        self.connections.push(PageConnection {
            session,
            host,
            tls_left,
            pending,
            responses,
            answered: 0,
            has_begun: false,
            asked: 0,
            read: 0,
            exchanges: Vec::new(),
        });
        self.connections.len() - 1
    }

    /// Makes the next exchange that secures a connection.
    fn secure(&mut self, sessions: &mut FlowSessions<'_>, at: usize) {
        let request = self.spec.request;
        let PageConnection { session, asked, read, .. } = self.connections[at];
        sessions.ask(session, request);
        sessions.wait(session, [Some(Goal::read(read + request)), Some(Goal::received(asked + request))]);
    }

    /// Sends the request of an object. Returns its stream, if the transport has several.
    fn ask(&mut self, sessions: &mut FlowSessions<'_>, at: usize, object: usize) -> Option<StreamNo> {
        let (session, Object { request, bytes, .. }) = (self.connections[at].session, self.objects[object]);
        self.times[object].request = sessions.now;
        let stream = sessions.ask(session, request);
        if self.catalogue.is_some() {
            sessions.name_request(session, [index_of(&self.spec, self.number, object as u64), request, bytes]);
        }
        stream
    }

    /// Waits for the next object and for the next request of a connection.
    fn wait(&mut self, sessions: &mut FlowSessions<'_>, at: usize) {
        let PageConnection { session, ref pending, ref responses, asked, read, has_begun, .. } = self.connections[at];
        let object = |at: usize| pending.get(at).map(|object| self.objects[*object]);
        let opener = object(0).map(|object| Goal::read(read + if has_begun { object.bytes } else { 1 }));
        let listener = object(responses.len()).map(|object| Goal::received(asked + object.request));
        sessions.wait_for_next(session, [opener, listener]);
    }

    /// Returns the place of a connection, unless its page is over.
    fn connection(&self, session: Over) -> Option<usize> {
        self.connections.iter().position(|connection| connection.session == session)
    }

    /// Receives the next request of a connection at its listener.
    fn receive_request(&mut self, sessions: &mut FlowSessions<'_>, at: usize) {
        let connection = &mut self.connections[at];
        if connection.tls_left > 0 {
            connection.asked += self.spec.request;
            return sessions.answer(connection.session, self.spec.request);
        }
        let Some(&object) = connection.pending.get(connection.responses.len()) else { return };
        let Object { request, wait, .. } = self.objects[object];
        connection.asked += request;
        connection.responses.push_back(sessions.now + wait);
        self.wait(sessions, at);
        self.respond(sessions, at);
    }

    /// Begins the responses that are due, in the order of the requests.
    fn respond(&mut self, sessions: &mut FlowSessions<'_>, at: usize) {
        let connection = &mut self.connections[at];
        while let Some(&due) = connection.responses.get(connection.answered) {
            if due > sessions.now {
                sessions.set_timer(connection.session, End::Listener, due);
                return;
            }
            let bytes = self.objects[connection.pending[connection.answered]].bytes;
            connection.answered += 1;
            sessions.answer(connection.session, bytes);
        }
    }

    /// Receives the last byte for which the opener of a connection waits.
    fn receive(&mut self, sessions: &mut FlowSessions<'_>, at: usize, recorder: &mut Recorder) {
        let connection = &mut self.connections[at];
        if connection.tls_left > 0 {
            connection.read += self.spec.request;
            connection.tls_left -= 1;
            if connection.tls_left > 0 {
                return self.secure(sessions, at);
            }
            for n in 0..self.connections[at].pending.len() {
                self.ask(sessions, at, self.connections[at].pending[n]);
            }
            return self.wait(sessions, at);
        }
        let Some(&object) = connection.pending.front() else { return };
        if !std::mem::replace(&mut connection.has_begun, true) {
            self.times[object].first_byte = sessions.now;
            self.wait(sessions, at);
            return self.request_named(sessions, object, true);
        }
        let connection = &mut self.connections[at];
        connection.pending.pop_front();
        connection.has_begun = false;
        // A middlebox may have forged the response before the server began its own.
        connection.responses.pop_front();
        connection.answered = connection.answered.saturating_sub(1);
        let Object { bytes, host, .. } = self.objects[object];
        connection.read += bytes;
        if self.record_object(sessions, object, recorder) {
            return self.end_page(sessions, recorder);
        }
        self.wait(sessions, at);
        if let Some(next) = self.waiting.iter().position(|object| self.objects[*object].host == host) {
            let next = self.waiting.remove(next);
            next.into_iter().for_each(|next| self.request(sessions, next));
        }
        self.request_named(sessions, object, false);
    }

    /// Records an object that has been received. Returns whether the page is complete.
    fn record_object(&mut self, sessions: &FlowSessions<'_>, object: usize, recorder: &mut Recorder) -> bool {
        let Object { bytes, host, after, .. } = self.objects[object];
        let ObjectTimes { due, request, first_byte } = self.times[object];
        let (page, last_byte) = (self.index, sessions.now);
        let after = (object > 0).then_some(after);
        let loaded = LoadedObject { page, number: object, after, host, bytes, due, request, first_byte, last_byte };
        recorder.on_object(sessions.id, loaded);
        self.bytes += bytes;
        self.done += 1;
        self.done == self.objects.len()
    }

    /// Returns the objects that an object names, of those that its first bytes cause, or of those that its last does.
    fn names(&self, object: usize, is_early: bool) -> impl Iterator<Item = (usize, &Object)> {
        let named = move |(_, each): &(usize, &Object)| each.after as usize == object && each.is_early == is_early;
        self.objects.iter().enumerate().skip(1).filter(named)
    }

    /// Requests the objects that an object names, each after its delay.
    fn request_named(&mut self, sessions: &mut FlowSessions<'_>, object: usize, is_early: bool) {
        let now = sessions.now;
        let mut due = std::mem::take(&mut self.due);
        due.extend(self.names(object, is_early).map(|(at, each)| (now + each.delay, at)));
        self.due = due;
        self.request_due(sessions);
    }

    /// Requests the objects whose time has come, and sets the timer for the next ones.
    fn request_due(&mut self, sessions: &mut FlowSessions<'_>) {
        let now = sessions.now;
        let mut at = 0;
        while at < self.due.len() {
            if self.due[at].0 <= now {
                let (due, object) = self.due.remove(at);
                self.times[object].due = due;
                self.request(sessions, object);
            } else {
                at += 1;
            }
        }
        if let Some(next) = self.due.iter().map(|(at, _)| *at).min() {
            sessions.pause(next - now);
        }
    }

    fn end_page(&mut self, sessions: &mut FlowSessions<'_>, recorder: &mut Recorder) {
        let (index, size, start) = (self.index, self.bytes, self.start);
        let page = TransferUnderWay { index, size, start, ..TransferUnderWay::default() };
        sessions.record_whole(page, None, recorder);
        self.leave_page(sessions);
    }

    /// Closes all connections of the page, which is complete or has failed.
    fn leave_page(&mut self, sessions: &mut FlowSessions<'_>) {
        self.is_loading = false;
        self.due.clear();
        self.waiting.clear();
        let reading = self.spec.reading.draw(&mut self.readings, self.index);
        self.index += 1;
        self.connections.drain(..).for_each(|connection| leave(sessions, connection.session));
        if self.spec.count == Some(self.index) {
            sessions.wake_at(Time::NEVER);
            sessions.finish();
        } else {
            sessions.pause(reading);
        }
    }
}

/// Closes a connection, without further actions of the page.
fn leave(sessions: &mut FlowSessions<'_>, session: Over) {
    sessions.wait(session, [None; 2]);
    sessions.set_timer(session, End::Listener, Time::NEVER);
    sessions.close(session);
}

impl Application for PageState {
    type Spec = Page;

    fn new(spec: Page, draws: &Draws<'_>) -> Self {
        Self {
            index: 0,
            number: 0,
            start: Time::ZERO,
            is_loading: false,
            connections: Vec::new(),
            objects: Vec::new(),
            times: Vec::new(),
            due: Vec::new(),
            waiting: VecDeque::new(),
            done: 0,
            bytes: 0,
            plan: Plan::new(&spec, draws),
            readings: draws.stream("reading"),
            catalogue: spec.catalogue.map(|catalogue| CatalogueState::new(catalogue, draws)),
            spec,
        }
    }

    fn wake(&mut self, sessions: &mut FlowSessions<'_>) {
        if self.is_loading {
            self.request_due(sessions);
        } else {
            self.begin_page(sessions);
        }
    }

    /// Begins a response after its wait.
    fn on_timer(&mut self, sessions: &mut FlowSessions<'_>, session: Over) {
        if let Some(at) = self.connection(session) {
            self.respond(sessions, at);
            self.answer_streams(sessions, at);
        }
    }

    fn on_stream(
        &mut self,
        sessions: &mut FlowSessions<'_>,
        (session, end): (Over, End),
        read: StreamRead,
        recorder: &mut Recorder,
    ) {
        let Some(at) = self.connection(session) else { return };
        match end {
            End::Opener => self.receive_stream(sessions, at, read, recorder),
            End::Listener => self.receive_stream_request(sessions, at, read),
        }
    }

    fn on_goal(
        &mut self,
        sessions: &mut FlowSessions<'_>,
        (session, end): (Over, End),
        _goal: Goal,
        recorder: &mut Recorder,
    ) {
        let Some(at) = self.connection(session) else { return };
        if end == End::Opener {
            self.receive(sessions, at, recorder);
        } else {
            self.receive_request(sessions, at);
        }
    }

    fn on_abort(&mut self, sessions: &mut FlowSessions<'_>, session: Over) {
        if let Some(at) = self.connection(session).filter(|at| self.connections[*at].is_idle()) {
            // It failed between exchanges, as by an idle timeout. The next request opens another one.
            self.connections.remove(at);
            return leave(sessions, session);
        }
        sessions.flow().completions_mut().failed += 1;
        self.leave_page(sessions);
    }
}

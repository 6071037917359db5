//! Pages: a main object, then its embedded objects. Either several connections carry one object at a time (HTTP/1.1
//! without pipelining), or one connection carries all requests together, and objects in order (HTTP/2).
//!
//! The distributions are those of cellular system evaluation (3GPP2 C.R1002-0, HTTP traffic model).

use super::catalogue::CatalogueState;
use super::contract::{Application, Draws};
use crate::distribution::{pareto, Size};
use crate::ids::EndpointId;
use crate::record::Recorder;
use crate::spec::Page;
use crate::traffic::host::AppWait;
use crate::traffic::sessions::{FlowSessions, TransferUnderWay};
use bentpipe_units::{Stream, Time};

const MAIN: Size = Size::Lognormal { mean: 10_710, sd: 25_032 };
const EMBEDDED: Size = Size::Lognormal { mean: 7758, sd: 126_168 };
/// Least sizes of main and embedded objects.
const LEAST: [u64; 2] = [100, 50];
/// Largest size of an object.
const MOST: u64 = 2_000_000;

/// Number of embedded objects: truncated Pareto with this shape and least value, minus the least value.
const OBJECTS_SHAPE: f64 = 1.1;
const OBJECTS_LEAST: f64 = 2.0;
const OBJECTS_CUT: f64 = 55.0;
/// More than the objects of a page of the model, so that all objects have different indices.
const STRIDE: u64 = 64;

/// Progress of the application, with its random streams.
#[derive(Clone, Debug)]
pub(in crate::traffic) struct PageState {
    spec: Page,
    index: u64,
    /// Index of the present page, or its number in the catalogue.
    number: u64,
    start: Time,
    phase: Phase,
    /// Connections of the page, in the order in which they were opened.
    connections: Vec<PageConnection>,
    /// Embedded objects of the page, count.
    objects: u64,
    /// Next object to be requested.
    next: u64,
    /// Embedded objects received, count.
    done: u64,
    bytes: u64,
    mains: Stream,
    embedded: Stream,
    counts: Stream,
    parses: Stream,
    readings: Stream,
    catalogue: Option<CatalogueState>,
}

/// Next action of the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// A new page.
    Reading,
    /// Requests for the embedded objects.
    Parsing,
}

/// Use of one connection of a page.
#[derive(Clone, Copy, Debug)]
struct PageConnection {
    slot: usize,
    /// Objects that are requested and not yet answered, from the first to the last.
    first: u64,
    last: u64,
    /// Bytes of requests that the listener has received.
    received: u64,
    /// Exchanges before the first request.
    tls_left: u32,
}

impl PageState {
    /// Draws the bytes of an object of the present page. The main object is number 0.
    fn size(&mut self, object: u64) -> u64 {
        let among_all = self.index_of(object);
        let (given, model, stream, least, index) = match object {
            0 => (self.spec.main, MAIN, &mut self.mains, LEAST[0], self.number),
            _ => (self.spec.object, EMBEDDED, &mut self.embedded, LEAST[1], among_all),
        };
        let bytes = match given {
            Some(size) => size.draw(stream, index),
            None => model.draw(stream, index).clamp(least, MOST),
        };
        scaled(bytes, self.spec.scale)
    }

    /// Returns the index of an object among those of all pages.
    fn index_of(&self, object: u64) -> u64 {
        self.number * self.spec.objects.map_or(STRIDE, |objects| STRIDE.max(objects + 1)) + object
    }

    /// Draws the number of embedded objects of the present page.
    fn count_objects(&mut self) -> u64 {
        if let Some(objects) = self.spec.objects {
            return objects;
        }
        let u = self.counts.uniform_positive(self.number);
        let drawn = pareto(OBJECTS_SHAPE, OBJECTS_LEAST, u).min(OBJECTS_CUT) - OBJECTS_LEAST;
        libm::round(drawn) as u64
    }
}

fn scaled(bytes: u64, scale: f64) -> u64 {
    (libm::round(bytes as f64 * scale) as u64).max(1)
}

impl PageState {
    fn begin_page(&mut self, sessions: &mut FlowSessions<'_>) {
        self.start = sessions.now;
        self.number = self.catalogue.as_mut().map_or(self.index, |catalogue| catalogue.object(self.index));
        self.objects = self.count_objects();
        (self.next, self.done, self.bytes) = (1, 0, 0);
        sessions.flow().completions_mut().begun += 1;
        self.open(sessions, [0, 0]);
    }

    fn request_embedded(&mut self, sessions: &mut FlowSessions<'_>) {
        self.phase = Phase::Reading;
        let (objects, is_multiplexed) = (self.objects, self.spec.multiplexed);
        let at_once = if is_multiplexed { 1 } else { u64::from(self.spec.connections).min(objects) };
        self.next = if is_multiplexed { objects } else { at_once } + 1;
        let last = if is_multiplexed { objects } else { 1 };
        self.request(sessions, self.connections[0].slot, [1, last]);
        for object in 2..=at_once {
            self.open(sessions, [object, object]);
        }
    }

    /// Opens a connection, which requests these objects when it can.
    fn open(&mut self, sessions: &mut FlowSessions<'_>, [first, last]: [u64; 2]) {
        let slot = sessions.open();
        let tls_left = self.spec.tls_rtts;
        self.connections.push(PageConnection { slot, first, last, received: 0, tls_left });
        self.secure_or_request(sessions, slot);
    }

    /// Makes the next exchange that secures a connection. After the last one, requests its objects.
    fn secure_or_request(&mut self, sessions: &mut FlowSessions<'_>, slot: usize) {
        let Some(&mut PageConnection { first, last, tls_left, .. }) = self.connection(slot) else { return };
        if tls_left == 0 {
            return self.request(sessions, slot, [first, last]);
        }
        let request = self.spec.request;
        sessions.ask(slot, request);
        let session = sessions.session(slot);
        let (asked, answered) = (session.asked, session.answered);
        sessions.wait(slot, [AppWait::Read(answered + request), AppWait::Received(asked)]);
    }

    /// Requests these objects, all together.
    fn request(&mut self, sessions: &mut FlowSessions<'_>, slot: usize, [first, last]: [u64; 2]) {
        let request = self.spec.request;
        let bytes: u64 = (first..=last).map(|object| self.size(object)).sum();
        let Some(connection) = self.connection(slot) else { return };
        (connection.first, connection.last) = (first, last);
        let received = connection.received;
        let response_end = sessions.session(slot).answered + bytes;
        sessions.wait(slot, [AppWait::Read(response_end), AppWait::Received(received + request)]);
        sessions.ask(slot, (last - first + 1) * request);
        if self.catalogue.is_some() {
            sessions.name_request(slot, [self.index_of(first), request, bytes]);
        }
    }

    /// Returns the use of a connection, unless its page is over.
    fn connection(&mut self, slot: usize) -> Option<&mut PageConnection> {
        self.connections.iter_mut().find(|connection| connection.slot == slot)
    }

    /// Answers the next request that has arrived.
    fn answer(&mut self, sessions: &mut FlowSessions<'_>, slot: usize) {
        let request = self.spec.request;
        let Some(connection) = self.connection(slot) else { return };
        connection.received += request;
        let PageConnection { first, last, received, tls_left, .. } = *connection;
        if tls_left > 0 {
            return sessions.answer(slot, request);
        }
        if first < last {
            connection.first += 1;
            sessions.wait_at_listener(slot, AppWait::Received(received + request));
        }
        sessions.answer(slot, self.size(first));
    }

    /// Receives the last requested byte of a connection.
    fn receive(&mut self, sessions: &mut FlowSessions<'_>, slot: usize, recorder: &mut Recorder) {
        let Some(connection) = self.connection(slot) else { return };
        if connection.tls_left > 0 {
            connection.tls_left -= 1;
            return self.secure_or_request(sessions, slot);
        }
        // The listener has advanced `first` to `last`.
        let last = connection.last;
        let first = if self.spec.multiplexed && last > 0 { 1 } else { last };
        self.bytes += (first..=last).map(|object| self.size(object)).sum::<u64>();
        self.done += u64::from(last > 0) * (last - first + 1);
        if self.done == self.objects {
            return self.end_page(sessions, recorder);
        }
        if last == 0 {
            self.phase = Phase::Parsing;
            return sessions.pause(self.spec.parse.draw(&mut self.parses, self.index));
        }
        if self.next <= self.objects {
            let object = self.next;
            self.next += 1;
            self.request(sessions, slot, [object, object]);
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
        self.phase = Phase::Reading;
        let reading = self.spec.reading.draw(&mut self.readings, self.index);
        self.index += 1;
        for connection in self.connections.drain(..) {
            sessions.wait(connection.slot, [AppWait::Nothing; 2]);
            sessions.close(connection.slot);
        }
        if self.spec.count == Some(self.index) {
            sessions.finish();
        } else {
            sessions.pause(reading);
        }
    }
}

impl Application for PageState {
    type Spec = Page;

    fn new(spec: Page, draws: &Draws<'_>) -> Self {
        let of_objects = |purpose| draws.stream_of_objects(spec.catalogue.is_some(), purpose);
        Self {
            spec,
            index: 0,
            number: 0,
            start: Time::ZERO,
            phase: Phase::Reading,
            connections: Vec::new(),
            objects: 0,
            next: 0,
            done: 0,
            bytes: 0,
            mains: of_objects("main"),
            embedded: of_objects("embedded"),
            counts: of_objects("objects"),
            parses: draws.stream("parse"),
            readings: draws.stream("reading"),
            catalogue: spec.catalogue.map(|catalogue| CatalogueState::new(catalogue, draws)),
        }
    }

    fn wake(&mut self, sessions: &mut FlowSessions<'_>) {
        match self.phase {
            Phase::Reading => self.begin_page(sessions),
            Phase::Parsing => self.request_embedded(sessions),
        }
    }

    fn on_goal(&mut self, sessions: &mut FlowSessions<'_>, end: EndpointId, _goal: AppWait, recorder: &mut Recorder) {
        if end.is_opener() {
            self.receive(sessions, end.slot(), recorder);
        } else {
            self.answer(sessions, end.slot());
        }
    }

    fn on_abort(&mut self, sessions: &mut FlowSessions<'_>, _slot: usize) {
        sessions.flow().completions_mut().failed += 1;
        self.leave_page(sessions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Wait;
    use bentpipe_units::Duration;

    const FLOW: Draws<'_> = Draws { seed: 1, component: "flow/web", far: "b" };

    const MODEL: Page = Page {
        main: None,
        object: None,
        objects: None,
        connections: 6,
        multiplexed: false,
        scale: 1.0,
        request: 350,
        tls_rtts: 0,
        parse: Wait::Constant(Duration::ZERO),
        reading: Wait::Constant(Duration::ZERO),
        catalogue: None,
        count: None,
    };

    /// The means that the model is published with: 5.64 embedded objects, 10 710 B and 7758 B before they are clipped.
    #[test]
    fn pages_have_the_published_means() {
        let mut pages = PageState::new(MODEL, &FLOW);
        let (mut objects, mut mains, mut embedded, n) = (0, 0, 0, 20_000);
        for index in 0..n {
            pages.number = index;
            let count = pages.count_objects();
            assert!(count <= 53);
            objects += count;
            mains += pages.size(0);
            embedded += pages.size(1);
        }
        let mean = |sum: u64| sum as f64 / n as f64;
        assert!((mean(objects) - MODEL.objects_mean()).abs() < 0.25, "{}", mean(objects));
        assert!((mean(mains) - 10_710.0).abs() < 700.0, "{}", mean(mains));
        // The tail that is cut off at 2 MB held about a tenth of the mean.
        assert!((5000.0..8000.0).contains(&mean(embedded)), "{}", mean(embedded));
    }

    #[test]
    fn a_page_has_the_objects_that_are_given() {
        let app = Page { main: Some(Size::Fixed(500)), object: Some(Size::Fixed(20_000)), objects: Some(200), ..MODEL };
        let mut pages = PageState::new(app, &FLOW);
        pages.number = 7;
        assert_eq!((pages.count_objects(), pages.size(0), pages.size(200)), (200, 500, 20_000));
        // Draws of one page are not those of the next, also where it has many objects.
        let mut drawn = PageState::new(Page { object: Some(Size::Exponential { mean: 10_000 }), ..app }, &FLOW);
        let mut sizes: Vec<u64> = Vec::new();
        for index in 0..2 {
            drawn.number = index;
            sizes.extend((1..=200).map(|object| drawn.size(object)));
        }
        sizes.sort_unstable();
        sizes.dedup();
        assert!(sizes.len() > 380, "{}", sizes.len());
    }
}

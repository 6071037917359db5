//! Pages of objects: a main object, then those that it names, over several connections with one object each at a time
//! (HTTP/1.1 without pipelining) or over one with all requests at once (HTTP/2, objects in order). Distributions as in the
//! evaluation methodologies of cellular systems (3GPP2 C.R1002-0, HTTP traffic model).

use super::catalogue::CatalogueState;
use super::flow::AppState;
use super::{AppWait, Session, Task, Traffic};
use crate::distribution::{pareto, Size};
use crate::ids::{EndpointId, FlowId};
use crate::record::Recorder;
use crate::spec::Page;
use bentpipe_units::{Duration, Stream, Time};

const MAIN: Size = Size::Lognormal { mean: 10_710, sd: 25_032 };
const EMBEDDED: Size = Size::Lognormal { mean: 7758, sd: 126_168 };
/// Objects are not smaller (main, embedded) and not larger.
const LEAST: [u64; 2] = [100, 50];
const MOST: u64 = 2_000_000;

/// Embedded objects: Pareto with this shape and least value, cut off, less the least value.
const OBJECTS_SHAPE: f64 = 1.1;
const OBJECTS_LEAST: f64 = 2.0;
const OBJECTS_CUT: f64 = 55.0;
/// A page of the model has fewer objects than this, so that each has an index of its own.
const STRIDE: u64 = 64;

/// How far the application of a flow has come, with its random streams.
#[derive(Clone, Debug)]
pub(super) struct PageState {
    spec: Page,
    index: u64,
    /// Of the page under way: its index, or its number in the catalogue.
    number: u64,
    start: Time,
    phase: Phase,
    slots: Vec<usize>,
    /// Embedded objects of the page, the next one to be asked for, and how many have come.
    objects: u64,
    next: u64,
    done: u64,
    bytes: u64,
    mains: Stream,
    embedded: Stream,
    counts: Stream,
    parses: Stream,
    readings: Stream,
    catalogue: Option<CatalogueState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The next thing is a new page.
    Reading,
    /// The next thing is to ask for the embedded objects.
    Parsing,
}

/// What one connection of a page is used for.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageConnection {
    /// Objects asked for and not answered yet: from the first to the last.
    first: u64,
    last: u64,
    /// Bytes of requests that the other end has received.
    received: u64,
    /// Exchanges to be made before anything can be asked for.
    tls_left: u32,
}

impl PageState {
    /// `far`: the node that answers.
    pub(super) fn new(spec: Page, seed: u64, component: &str, far: &str) -> Self {
        let stream = |purpose| Stream::new(seed, component, purpose);
        let catalogue = spec.catalogue.map(|catalogue| CatalogueState::new(catalogue, seed, component));
        let origin = catalogue.as_ref().map_or_else(|| component.to_owned(), |_| CatalogueState::origin(far));
        let of_objects = |purpose| Stream::new(seed, &origin, purpose);
        Self {
            spec,
            index: 0,
            number: 0,
            start: Time::ZERO,
            phase: Phase::Reading,
            slots: Vec::new(),
            objects: 0,
            next: 0,
            done: 0,
            bytes: 0,
            mains: of_objects("main"),
            embedded: of_objects("embedded"),
            counts: of_objects("objects"),
            parses: stream("parse"),
            readings: stream("reading"),
            catalogue,
        }
    }

    /// Bytes of an object of the page under way; number 0 is the main one.
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

    /// Among the objects of all pages.
    fn index_of(&self, object: u64) -> u64 {
        self.number * self.spec.objects.map_or(STRIDE, |objects| STRIDE.max(objects + 1)) + object
    }

    /// How many embedded objects the page under way has.
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

impl Traffic {
    /// The next page begins, or the embedded objects of this one are asked for.
    pub(super) fn next_page(&mut self, now: Time, flow: FlowId) {
        let AppState::Page(pages) = &mut self.flows[flow].app_state else { return };
        if pages.phase == Phase::Parsing {
            return self.ask_for_embedded(now, flow);
        }
        pages.start = now;
        pages.number = pages.catalogue.as_mut().map_or(pages.index, |catalogue| catalogue.object(pages.index));
        pages.objects = pages.count_objects();
        (pages.next, pages.done, pages.bytes) = (1, 0, 0);
        self.flows[flow].completions_mut().begun += 1;
        self.open_for_page(now, flow, [0, 0]);
    }

    fn ask_for_embedded(&mut self, now: Time, flow: FlowId) {
        let AppState::Page(pages) = &mut self.flows[flow].app_state else { return };
        pages.phase = Phase::Reading;
        let (objects, first) = (pages.objects, pages.slots[0]);
        let at_once = if pages.spec.multiplexed { 1 } else { u64::from(pages.spec.connections).min(objects) };
        pages.next = if pages.spec.multiplexed { objects } else { at_once } + 1;
        let last = if pages.spec.multiplexed { objects } else { 1 };
        self.ask_for(now, first, [1, last]);
        for object in 2..=at_once {
            self.open_for_page(now, flow, [object, object]);
        }
    }

    /// A new connection that asks for these objects as soon as it can.
    fn open_for_page(&mut self, now: Time, flow: FlowId, [first, last]: [u64; 2]) {
        let slot = self.open(now, flow);
        let AppState::Page(pages) = &mut self.flows[flow].app_state else { return };
        pages.slots.push(slot);
        let (tls_rtts, request) = (pages.spec.tls_rtts, pages.spec.request);
        self.sessions[slot].page = Some(Box::new(PageConnection { first, last, received: 0, tls_left: tls_rtts }));
        if tls_rtts > 0 {
            self.secure(now, slot, request);
        } else {
            self.ask_for(now, slot, [first, last]);
        }
    }

    /// One exchange of those that come before the first request.
    fn secure(&mut self, now: Time, slot: usize, request: u64) {
        self.ask(now, slot, request);
        let Session { asked, answered, .. } = self.sessions[slot];
        self.hosts[EndpointId::opener(slot)].awaits = AppWait::Read(answered + request);
        self.hosts[EndpointId::listener(slot)].awaits = AppWait::Received(asked);
    }

    /// Requests for these objects, all at once.
    fn ask_for(&mut self, now: Time, slot: usize, [first, last]: [u64; 2]) {
        let AppState::Page(pages) = &mut self.flows[self.sessions[slot].flow].app_state else { return };
        let request = pages.spec.request;
        let bytes: u64 = (first..=last).map(|object| pages.size(object)).sum();
        let named = pages.catalogue.is_some().then(|| pages.index_of(first));
        let Session { answered, page: Some(page), .. } = &mut self.sessions[slot] else { return };
        (page.first, page.last) = (first, last);
        self.hosts[EndpointId::opener(slot)].awaits = AppWait::Read(*answered + bytes);
        self.hosts[EndpointId::listener(slot)].awaits = AppWait::Received(page.received + request);
        self.ask(now, slot, (last - first + 1) * request);
        if let Some(object) = named {
            self.name_request(slot, [object, request, bytes]);
        }
    }

    /// A request has arrived at the other end, which answers at once.
    pub(super) fn answer_page(&mut self, slot: usize) {
        let Session { flow, is_released, answered, page: Some(page), .. } = &mut self.sessions[slot] else { return };
        let AppState::Page(pages) = &mut self.flows[*flow].app_state else { return };
        if *is_released {
            return;
        }
        page.received += pages.spec.request;
        let mut bytes = pages.spec.request;
        let other = &mut self.hosts[EndpointId::listener(slot)];
        if page.tls_left == 0 {
            bytes = pages.size(page.first);
            if page.first < page.last {
                page.first += 1;
                other.awaits = AppWait::Received(page.received + pages.spec.request);
            }
        }
        *answered += bytes;
        other.conn.offer(bytes);
        self.tasks.push_back(Task::Drive(EndpointId::listener(slot)));
    }

    /// All that a connection was asked for has arrived.
    pub(super) fn on_objects(&mut self, now: Time, slot: usize, recorder: &mut Recorder) {
        let Session { flow, is_released, page: Some(page), .. } = &mut self.sessions[slot] else { return };
        let flow = *flow;
        let AppState::Page(pages) = &mut self.flows[flow].app_state else { return };
        if *is_released {
            return;
        }
        if page.tls_left > 0 {
            page.tls_left -= 1;
            let (first, last, request) = (page.first, page.last, pages.spec.request);
            return if page.tls_left > 0 {
                self.secure(now, slot, request)
            } else {
                self.ask_for(now, slot, [first, last])
            };
        }
        // Of several objects the other end has counted up to the last.
        let (from, to) = if pages.spec.multiplexed && page.last > 0 { (1, page.last) } else { (page.last, page.last) };
        for object in from..=to {
            pages.bytes += pages.size(object);
        }
        pages.done += u64::from(to > 0) * (to - from + 1);
        if pages.done == pages.objects {
            return self.end_page(now, flow, recorder);
        }
        if to == 0 {
            pages.phase = Phase::Parsing;
            let parse = pages.spec.parse.draw(&mut pages.parses, pages.index);
            return self.pause(now, flow, parse);
        }
        if pages.next <= pages.objects {
            let object = pages.next;
            pages.next += 1;
            self.ask_for(now, slot, [object, object]);
        }
    }

    fn end_page(&mut self, now: Time, flow: FlowId, recorder: &mut Recorder) {
        let AppState::Page(pages) = &mut self.flows[flow].app_state else { return };
        let (index, start, size) = (pages.index, pages.start, pages.bytes);
        let slot = pages.slots[0];
        self.sessions[slot].transfer = super::TransferUnderWay { index, size, start, received: None, acked: None };
        self.end_transfer(now, slot, None, recorder);
        self.close_page(now, flow);
    }

    pub(super) fn fail_page(&mut self, now: Time, slot: usize) {
        let flow = self.sessions[slot].flow;
        self.flows[flow].completions_mut().failed += 1;
        self.close_page(now, flow);
    }

    /// The page is over, complete or not: its connections are closed, and the reader reads.
    fn close_page(&mut self, now: Time, flow: FlowId) {
        let AppState::Page(pages) = &mut self.flows[flow].app_state else { return };
        let mut slots = std::mem::take(&mut pages.slots);
        pages.phase = Phase::Reading;
        let reading: Duration = pages.spec.reading.draw(&mut pages.readings, pages.index);
        pages.index += 1;
        let is_last = pages.spec.count == Some(pages.index);
        for slot in slots.drain(..) {
            self.hosts[EndpointId::opener(slot)].awaits = AppWait::Nothing;
            self.hosts[EndpointId::listener(slot)].awaits = AppWait::Nothing;
            self.close(now, slot);
        }
        if let AppState::Page(pages) = &mut self.flows[flow].app_state {
            // Given back for the next page.
            pages.slots = slots;
        }
        if is_last {
            self.finish(now, flow);
        } else {
            self.pause(now, flow, reading);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Wait;

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
        let mut pages = PageState::new(MODEL, 1, "flow/web", "b");
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
        let mut pages = PageState::new(app, 1, "flow/web", "b");
        pages.number = 7;
        assert_eq!((pages.count_objects(), pages.size(0), pages.size(200)), (200, 500, 20_000));
        // Draws of one page are not those of the next, also where it has many objects.
        let mut drawn =
            PageState::new(Page { object: Some(Size::Exponential { mean: 10_000 }), ..app }, 1, "flow/web", "b");
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

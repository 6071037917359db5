//! Pages of objects: a main object, then those that it names, over several connections with one object each at a time
//! (HTTP/1.1 without pipelining) or over one with all requests at once (HTTP/2, objects in order). Distributions as in the
//! evaluation methodologies of cellular systems (3GPP2 C.R1002-0, HTTP traffic model).

use super::flow::Course as Any;
use super::{Goal, Session, Task, Traffic};
use crate::record::Recorder;
use crate::spec::Page;
use crate::spec::{pareto, Size};
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
/// A page has fewer objects than this, so that each has an index of its own.
const STRIDE: u64 = 64;

/// How far it has come.
#[derive(Clone, Debug)]
pub(super) struct Course {
    app: Page,
    index: u64,
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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The next thing is a new page.
    Reading,
    /// The next thing is to ask for the embedded objects.
    Parsing,
}

/// What one connection of a page is used for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Errand {
    /// Objects asked for and not answered yet: from the first to the last.
    first: u64,
    last: u64,
    /// Bytes of requests that the other end has heard.
    heard: u64,
    /// Exchanges to be made before anything can be asked for.
    tls_left: u32,
}

impl Course {
    pub(super) fn new(app: Page, seed: u64, component: &str) -> Self {
        let stream = |purpose| Stream::new(seed, component, purpose);
        Self {
            app,
            index: 0,
            start: Time::ZERO,
            phase: Phase::Reading,
            slots: Vec::new(),
            objects: 0,
            next: 0,
            done: 0,
            bytes: 0,
            mains: stream("main"),
            embedded: stream("embedded"),
            counts: stream("objects"),
            parses: stream("parse"),
            readings: stream("reading"),
        }
    }

    /// Bytes of an object of the page under way; number 0 is the main one.
    fn size(&mut self, object: u64) -> u64 {
        let (bytes, least) = match object {
            0 => (MAIN.draw(&mut self.mains, self.index), LEAST[0]),
            _ => (EMBEDDED.draw(&mut self.embedded, self.index * STRIDE + object), LEAST[1]),
        };
        scaled(bytes.clamp(least, MOST), self.app.scale)
    }

    /// How many embedded objects the page under way has.
    fn count_objects(&mut self) -> u64 {
        let u = self.counts.uniform_positive(self.index);
        let drawn = pareto(OBJECTS_SHAPE, OBJECTS_LEAST, u).min(OBJECTS_CUT) - OBJECTS_LEAST;
        libm::round(drawn) as u64
    }
}

fn scaled(bytes: u64, scale: f64) -> u64 {
    (libm::round(bytes as f64 * scale) as u64).max(1)
}

impl Traffic {
    /// The next page begins, or the embedded objects of this one are asked for.
    pub(super) fn turn_page(&mut self, now: Time, flow: usize) {
        let Any::Page(course) = &mut self.flows[flow].course else { return };
        if course.phase == Phase::Parsing {
            return self.ask_for_embedded(now, flow);
        }
        course.start = now;
        course.objects = course.count_objects();
        (course.next, course.done, course.bytes) = (1, 0, 0);
        self.flows[flow].completions_mut().begun += 1;
        self.open_for_page(now, flow, [0, 0]);
    }

    fn ask_for_embedded(&mut self, now: Time, flow: usize) {
        let Any::Page(course) = &mut self.flows[flow].course else { return };
        course.phase = Phase::Reading;
        let (objects, first) = (course.objects, course.slots[0]);
        let at_once = if course.app.multiplexed { 1 } else { u64::from(course.app.connections).min(objects) };
        course.next = if course.app.multiplexed { objects } else { at_once } + 1;
        let last = if course.app.multiplexed { objects } else { 1 };
        self.ask_for(now, first, [1, last]);
        for object in 2..=at_once {
            self.open_for_page(now, flow, [object, object]);
        }
    }

    /// A new connection that asks for these objects as soon as it can.
    fn open_for_page(&mut self, now: Time, flow: usize, [first, last]: [u64; 2]) {
        let slot = self.open(now, flow);
        let Any::Page(course) = &mut self.flows[flow].course else { return };
        course.slots.push(slot);
        let (tls_rtts, request) = (course.app.tls_rtts, course.app.request);
        self.sessions[slot].page = Errand { first, last, heard: 0, tls_left: tls_rtts };
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
        self.hosts[2 * slot].goal = Goal::Read(answered + request);
        self.hosts[2 * slot + 1].goal = Goal::Received(asked);
    }

    /// Requests for these objects, all at once.
    fn ask_for(&mut self, now: Time, slot: usize, [first, last]: [u64; 2]) {
        let Any::Page(course) = &mut self.flows[self.sessions[slot].flow].course else { return };
        let request = course.app.request;
        let bytes: u64 = (first..=last).map(|object| course.size(object)).sum();
        let Session { answered, page, .. } = &mut self.sessions[slot];
        (page.first, page.last) = (first, last);
        self.hosts[2 * slot].goal = Goal::Read(*answered + bytes);
        self.hosts[2 * slot + 1].goal = Goal::Received(page.heard + request);
        self.ask(now, slot, (last - first + 1) * request);
    }

    /// A request has arrived at the other end, which answers at once.
    pub(super) fn answer_page(&mut self, slot: usize) {
        let Session { flow, is_left, answered, page, .. } = &mut self.sessions[slot];
        let Any::Page(course) = &mut self.flows[*flow].course else { return };
        if *is_left {
            return;
        }
        page.heard += course.app.request;
        let mut bytes = course.app.request;
        let other = &mut self.hosts[2 * slot + 1];
        if page.tls_left == 0 {
            bytes = course.size(page.first);
            if page.first < page.last {
                page.first += 1;
                other.goal = Goal::Received(page.heard + course.app.request);
            }
        }
        *answered += bytes;
        other.conn.offer(bytes);
        self.tasks.push_back(Task::Drive(2 * slot + 1));
    }

    /// All that a connection was asked for has come.
    pub(super) fn receive_objects(&mut self, now: Time, slot: usize, recorder: &mut Recorder) {
        let Session { flow, is_left, page, .. } = &mut self.sessions[slot];
        let flow = *flow;
        let Any::Page(course) = &mut self.flows[flow].course else { return };
        if *is_left {
            return;
        }
        if page.tls_left > 0 {
            page.tls_left -= 1;
            let (first, last, request) = (page.first, page.last, course.app.request);
            return if page.tls_left > 0 {
                self.secure(now, slot, request)
            } else {
                self.ask_for(now, slot, [first, last])
            };
        }
        // Of several objects the other end has counted up to the last.
        let (from, to) = if course.app.multiplexed && page.last > 0 { (1, page.last) } else { (page.last, page.last) };
        for object in from..=to {
            course.bytes += course.size(object);
        }
        course.done += u64::from(to > 0) * (to - from + 1);
        if course.done == course.objects {
            return self.end_page(now, flow, recorder);
        }
        if to == 0 {
            course.phase = Phase::Parsing;
            let parse = course.app.parse.draw(&mut course.parses, course.index);
            return self.pause(now, flow, parse);
        }
        if course.next <= course.objects {
            let object = course.next;
            course.next += 1;
            self.ask_for(now, slot, [object, object]);
        }
    }

    fn end_page(&mut self, now: Time, flow: usize, recorder: &mut Recorder) {
        let Any::Page(course) = &mut self.flows[flow].course else { return };
        let (index, start, size) = (course.index, course.start, course.bytes);
        let slot = course.slots[0];
        self.sessions[slot].transfer = super::Current { index, size, start, received: None };
        self.end_transfer(now, slot, None, recorder);
        self.close_page(now, flow);
    }

    pub(super) fn fail_page(&mut self, now: Time, slot: usize) {
        let flow = self.sessions[slot].flow;
        self.flows[flow].completions_mut().failed += 1;
        self.close_page(now, flow);
    }

    /// The page is over, complete or not: its connections are closed, and the reader reads.
    fn close_page(&mut self, now: Time, flow: usize) {
        let Any::Page(course) = &mut self.flows[flow].course else { return };
        let mut slots = std::mem::take(&mut course.slots);
        course.phase = Phase::Reading;
        let reading: Duration = course.app.reading.draw(&mut course.readings, course.index);
        course.index += 1;
        let is_last = course.app.count == Some(course.index);
        for slot in slots.drain(..) {
            self.hosts[2 * slot].goal = Goal::Nothing;
            self.hosts[2 * slot + 1].goal = Goal::Nothing;
            self.close(now, slot);
        }
        if let Any::Page(course) = &mut self.flows[flow].course {
            // Given back for the next page.
            course.slots = slots;
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

    /// The means that the model is published with: 5.64 embedded objects, 10 710 B and 7758 B before they are clipped.
    #[test]
    fn pages_have_the_published_means() {
        let wait = Wait::Constant(Duration::ZERO);
        let app = Page {
            connections: 6,
            multiplexed: false,
            scale: 1.0,
            request: 350,
            tls_rtts: 0,
            parse: wait,
            reading: wait,
            count: None,
        };
        let mut course = Course::new(app, 1, "flow/web");
        let (mut objects, mut mains, mut embedded, pages) = (0, 0, 0, 20_000);
        for index in 0..pages {
            course.index = index;
            let count = course.count_objects();
            assert!(count <= 53);
            objects += count;
            mains += course.size(0);
            embedded += course.size(1);
        }
        let mean = |sum: u64| sum as f64 / pages as f64;
        assert!((mean(objects) - Page::OBJECTS_MEAN).abs() < 0.25, "{}", mean(objects));
        assert!((mean(mains) - 10_710.0).abs() < 700.0, "{}", mean(mains));
        // The tail that is cut off at 2 MB held about a tenth of the mean.
        assert!((5000.0..8000.0).contains(&mean(embedded)), "{}", mean(embedded));
    }
}

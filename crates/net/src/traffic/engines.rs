//! Sessions over another transport than TCP: their [engines](bentpipe_model::stack::Engine), and the actions of their applications.
//!
//! Such a session has a slot like any other. Its hosts keep the waits and timers of the application, and their TCP connections
//! stay closed. Each request of the opener, and each transfer, is a stream; an answer goes back on the stream of its request.
//! `driving.rs` has what the network asks of them.

use super::goal::{End, Goal, What};
use super::host::Host;
use bentpipe_cc::PathLesson;
use bentpipe_model::stack::{Engine, EngineCounters, EngineEvent, EngineState, SentDatagram, StreamNo};
use bentpipe_tcp::Ecn;
use bentpipe_units::{Duration, Time};
use std::sync::Arc;

/// Both ends of a session. A copy is for tables: its ends do nothing.
#[derive(Clone, Debug)]
pub(super) struct EngineSession {
    pub(super) ends: [EngineEnd; 2],
    /// Whether the opener has begun to connect.
    is_begun: bool,
    /// Whether its application knows that it has failed.
    pub(super) has_failed: bool,
    /// The stack's reason for its failure.
    pub(super) reason: Option<Arc<str>>,
    /// Whether each end uses the path that an earlier connection saved.
    pub(super) has_saved: [bool; 2],
}

/// One end of a session.
#[derive(Debug)]
pub(crate) struct EngineEnd {
    pub(super) engine: Box<dyn Engine>,
    /// Next instant when its application acts here.
    pub(super) app_timer: Time,
    /// The stream that the next data belongs to: at the opener, the open stream; at the listener, the last ended stream.
    pub(super) stream: Option<StreamNo>,
    /// Bytes of ended streams, and of the present one.
    pub(super) received: [u64; 2],
    pub(super) established: Option<Time>,
    pub(super) first_byte: Option<Time>,
    /// Bytes of each finished stream that the peer has acknowledged.
    pub(super) acked: u64,
    pub(super) unacked: Vec<(StreamNo, u64)>,
}

/// Counters and state of an engine, which itself cannot be copied.
#[derive(Clone, Copy, Debug)]
struct Still {
    counters: EngineCounters,
    state: EngineState,
}

impl Engine for Still {
    fn handle(&mut self, _: Time, _: &[u8], _: Ecn) {}
    fn handle_wakeup(&mut self, _: Time) {}
    fn poll_transmit(&mut self, _: Time, _: &mut Vec<u8>) -> Option<SentDatagram> {
        None
    }
    fn next_wakeup(&self) -> Time {
        Time::NEVER
    }
    fn poll_event(&mut self) -> Option<EngineEvent> {
        None
    }
    fn lane_changed(&mut self, _: u8, _: Time) {}
    fn connect(&mut self, _: Time) {}
    fn open_stream(&mut self, _: Time) -> StreamNo {
        0
    }
    fn write(&mut self, _: Time, _: StreamNo, _: u64, _: bool) {}
    fn send_datagram(&mut self, _: Time, _: u16) {}
    fn close(&mut self, _: Time) {}
    fn counters(&self) -> EngineCounters {
        self.counters
    }
    fn state(&self) -> EngineState {
        self.state
    }
    fn path_lesson(&self) -> PathLesson {
        PathLesson::default()
    }
    fn take_rtt(&mut self) -> Option<Duration> {
        None
    }
}

impl Clone for EngineEnd {
    fn clone(&self) -> Self {
        let still = Still { counters: self.engine.counters(), state: self.engine.state() };
        Self { engine: Box::new(still), unacked: self.unacked.clone(), ..*self }
    }
}

impl EngineEnd {
    /// Whether the handshake is complete.
    pub(crate) fn is_established(&self) -> bool {
        self.established.is_some()
    }

    /// Returns the state of the engine.
    pub(crate) fn state(&self) -> EngineState {
        self.engine.state()
    }

    /// Whether the application has written more than has left.
    pub(crate) fn has_more(&self) -> bool {
        let counters = self.engine.counters();
        counters.offered_bytes > counters.sent_bytes
    }

    fn new(engine: Box<dyn Engine>) -> Self {
        Self {
            engine,
            app_timer: Time::NEVER,
            stream: None,
            received: [0; 2],
            established: None,
            first_byte: None,
            acked: 0,
            unacked: Vec::new(),
        }
    }

    pub(super) fn next_wakeup(&self) -> Time {
        self.engine.next_wakeup().min(self.app_timer)
    }

    pub(super) fn has_reached(&self, goal: Option<Goal>) -> bool {
        let Some(Goal { what, bytes }) = goal else { return false };
        let reached = match what {
            What::Acked => self.acked,
            What::Received | What::Read => self.received[0] + self.received[1],
        };
        reached >= bytes && self.established.is_some()
    }

    fn write(&mut self, now: Time, stream: StreamNo, bytes: u64, is_last: bool) {
        self.engine.write(now, stream, bytes, is_last);
        if is_last {
            self.unacked.push((stream, bytes));
            self.stream = None;
        }
    }
}

impl EngineSession {
    pub(super) fn new(ends: [Box<dyn Engine>; 2], has_saved: [bool; 2]) -> Self {
        Self { ends: ends.map(EngineEnd::new), is_begun: false, has_failed: false, reason: None, has_saved }
    }

    /// Opens the connection if it is not open.
    pub(super) fn connect(&mut self, now: Time) {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.ends[0].engine.connect(now);
        }
    }

    /// Offers data of the opener: a new stream, or with `is_last` the whole of one. Returns the stream.
    pub(super) fn ask(&mut self, now: Time, bytes: u64, is_last: bool) -> StreamNo {
        self.connect(now);
        let end = &mut self.ends[0];
        let stream = end.stream.unwrap_or_else(|| end.engine.open_stream(now));
        end.stream = Some(stream);
        end.write(now, stream, bytes, is_last);
        stream
    }

    /// Offers the answer to the last request that has arrived whole.
    pub(super) fn answer(&mut self, now: Time, bytes: u64) {
        if let Some(stream) = self.ends[1].stream {
            self.answer_stream(now, stream, bytes);
        }
    }

    /// Offers the answer to the request of a stream.
    pub(super) fn answer_stream(&mut self, now: Time, stream: StreamNo, bytes: u64) {
        self.ends[1].write(now, stream, bytes, true);
    }

    /// Sets the timer of the application at one end. Returns the timer of its host.
    pub(super) fn set_timer(&mut self, end: End, at: Time) -> Time {
        let end = &mut self.ends[end as usize];
        end.app_timer = at;
        end.next_wakeup()
    }

    /// Whether an end has reached the goal of its application.
    pub(super) fn has_reached(&self, end: End, goal: Option<Goal>) -> bool {
        self.ends[end as usize].has_reached(goal)
    }

    /// Closes the connection. The application ignores all later events.
    pub(super) fn close(&mut self, now: Time) {
        self.has_failed = true;
        self.ends[0].engine.close(now);
    }

    /// Returns the bytes of the flow that were read: those of each end that sends data, at the other end.
    pub(super) fn delivered(&self, hosts: [&Host; 2]) -> u64 {
        let sides = (0..2).filter(|side| hosts[*side].sends_data);
        sides.map(|side| self.ends[1 - side].engine.counters().read_bytes).sum()
    }

    /// Whether neither end acts any more.
    pub(super) fn is_at_rest(&self) -> bool {
        self.ends.iter().all(|end| end.next_wakeup() == Time::NEVER)
    }
}

/// Counters of the sessions of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct EngineTotals {
    /// Connections that were opened, and those of them that the idle timeout has ended.
    pub(crate) connections: u64,
    pub(crate) idle_timeouts: u64,
    /// Counters of the ends that send the data of the flow, and of their peers.
    pub(crate) sent: EngineCounters,
    pub(crate) received: EngineCounters,
    /// Times of the first session, since its first packet.
    pub(crate) handshake: Option<Duration>,
    pub(crate) first_byte: Option<Duration>,
    /// The stack's reason for the last failure.
    pub(crate) reason: Option<Arc<str>>,
}

impl EngineTotals {
    /// Adds a session, whose listener sends the data of the flow if it `answers`.
    pub(super) fn add(&mut self, session: &EngineSession, [opener, _]: [&Host; 2], answers: bool) {
        let counters = [0, 1].map(|side| session.ends[side].engine.counters());
        let sender = usize::from(answers);
        self.connections += u64::from(session.is_begun);
        self.idle_timeouts += counters[0].idle_timeouts.max(counters[1].idle_timeouts);
        self.sent += counters[sender];
        self.received += counters[1 - sender];
        if let Some(start) = opener.first_sent {
            let since = |at: Option<Time>| at.map(|at| at.saturating_since(start));
            self.handshake = self.handshake.or(since(session.ends[0].established));
            self.first_byte = self.first_byte.or(since(session.ends[1 - sender].first_byte));
        }
        self.reason = session.reason.clone().or(self.reason.take());
    }
}

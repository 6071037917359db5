//! Listens at the congestion control of a connection: round-trip samples, window, threshold and pace, which the stack does
//! not report. Each congestion control is wrapped, also those of the stack.

use crate::clock::Clock;
use crate::qlog::{Log, Note};
use bentpipe_cc::{Pace, PathLesson};
use bentpipe_model::stack::EngineState;
use bentpipe_units::Duration;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;
use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Most samples that wait to be taken.
const SAMPLES_MAX: usize = 1024;

/// Facts that a congestion control leaves for its connection.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) state: EngineState,
    /// Its pace; `None`: the stack's pacing applies alone.
    pub(crate) pace: Option<Pace>,
    /// Number of the last packet.
    pub(crate) number: u64,
    /// Reductions of the window.
    pub(crate) reductions: u64,
    /// Its qlog, if it has one.
    pub(crate) log: Option<Log>,
    /// Packets that are not in the qlog yet.
    pub(crate) notes: Vec<Note>,
    /// Facts for later connections over the same path.
    pub(crate) lesson: PathLesson,
    /// Samples that were not taken yet, the oldest first.
    pub(crate) rtts: VecDeque<Duration>,
}

/// Facts shared by a connection and its congestion controls, of which it has a second one after a change of address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared(Arc<Mutex<Facts>>);

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Facts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A congestion control that is listened at.
pub(crate) struct Tap {
    inner: Box<dyn Controller>,
    clock: Clock,
    facts: Shared,
    /// When the newest packet of the present ACK was sent.
    newest: Option<Instant>,
    srtt: Option<std::time::Duration>,
}

/// Makes congestion controls that are listened at.
pub(crate) struct Tapped {
    pub(crate) factory: Arc<dyn ControllerFactory + Send + Sync>,
    pub(crate) clock: Clock,
    pub(crate) facts: Shared,
}

impl ControllerFactory for Tapped {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let inner = Arc::clone(&self.factory).build(now, mtu);
        let mut tap = Tap { inner, clock: self.clock, facts: self.facts.clone(), newest: None, srtt: None };
        tap.note();
        Box::new(tap)
    }
}

impl Tap {
    /// Notes the state of the congestion control.
    fn note(&mut self) {
        let metrics = self.inner.metrics();
        let mut facts = self.facts.lock();
        facts.state.cwnd = metrics.congestion_window;
        facts.state.ssthresh = metrics.ssthresh.filter(|ssthresh| *ssthresh != u64::MAX);
        facts.state.srtt = self.srtt.map(|srtt| self.clock.span(srtt));
    }
}

impl Controller for Tap {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
        let mut facts = self.facts.lock();
        facts.number = last_packet_number;
        facts.state.in_flight += bytes;
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
        self.newest = self.newest.max(Some(sent));
        // Before the first sample the estimator has the configured value.
        self.srtt = self.srtt.map(|_| rtt.get());
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
        if let Some(sent) = self.newest.take() {
            self.srtt.get_or_insert(now - sent);
            let mut facts = self.facts.lock();
            if facts.rtts.len() < SAMPLES_MAX {
                facts.rtts.push_back(self.clock.span(now - sent));
            }
        }
        self.facts.lock().state.in_flight = in_flight;
        self.note();
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent_congestion: bool, lost_bytes: u64) {
        let before = self.inner.window();
        self.inner.on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
        let is_less = self.inner.window() < before;
        let mut facts = self.facts.lock();
        facts.reductions += u64::from(is_less);
        facts.state.in_flight = facts.state.in_flight.saturating_sub(lost_bytes);
        drop(facts);
        self.note();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { inner: self.inner.clone_box(), facts: self.facts.clone(), ..*self })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// A window that nothing changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed(pub(crate) u64);

impl ControllerFactory for Fixed {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        Box::new(*self)
    }
}

impl Controller for Fixed {
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}
    fn on_mtu_update(&mut self, _: u16) {}
    fn window(&self) -> u64 {
        self.0
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(*self)
    }
    fn initial_window(&self) -> u64 {
        self.0
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

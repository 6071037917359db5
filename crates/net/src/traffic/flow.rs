//! State of a flow during a run, and its counters.

use super::groups::MultiState;
use super::host::Host;
use super::totals::{OneSession, OwnLane, Totals};
use crate::link::Downtime;
use crate::record::{Arrived, Completions, Histogram};
use bentpipe_cc::SavedPath;
use bentpipe_model::distribution::clocks;
use bentpipe_model::ids::{EndpointId, NodeId};
use bentpipe_model::spec::{App, Flow, Reader, Transport};
use bentpipe_model::stack::{Engine, Seed};
use bentpipe_tcp::PathCache;
use bentpipe_units::{Duration, Rate, Stream, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// State of a flow, and the counters of its sessions.
#[derive(Clone, Debug)]
pub(crate) struct FlowState {
    pub(super) app: Arc<App>,
    /// Reader of its data. None: data is read when it arrives.
    pub(super) reader: Option<Box<Reader>>,
    pub(super) path: IdealPath,
    pub(super) downtime: Downtime,
    pub(super) start: Time,
    /// Next instant when the application acts.
    pub(crate) timer: Time,
    /// Transport of both endpoints.
    pub(super) transport: Transport,
    /// Facts of the sessions over engines. None for other transports.
    pub(super) engines: Option<Box<EngineFlow>>,
    /// Phases of the clocks of the opener and of the listener.
    pub(super) clocks: [[Duration; 2]; 2],
    /// Lane of its sessions and datagrams.
    pub(super) lane: OwnLane,
    /// Its paths, if it has several.
    pub(super) multi: Option<Box<MultiState>>,
    /// Nodes of the opener and of the listener.
    pub(super) ends: [NodeId; 2],
    /// Sessions so far, count.
    pub(super) opened: u64,
    /// Opener of the latest session. None after another session has taken the slot.
    pub(crate) newest: Option<EndpointId>,
    /// Counters of datagrams, and of sessions whose slots are reused. None before the first.
    totals: Option<Box<Totals>>,
    /// Completion: the sender has the last ACK and the receiver the last byte, or the last answer was received.
    pub(crate) completed: Option<Time>,
    /// Instant when the last byte was acknowledged, possibly by a proxy before it was received.
    pub(crate) acked: Time,
    /// Instant when the last byte was received.
    pub(crate) received: Time,
    pub(crate) has_begun: bool,
    pub(crate) has_failed: bool,
    pub(crate) rtts: Histogram,
    /// Statistics of its transfers, if it makes several.
    completions: Option<Box<Completions>>,
    /// Statistics of its datagrams. None if it uses connections.
    pub(super) arrived: Option<Box<Arrived>>,
    keys: StreamKeys,
}

/// Keys of the random streams of a flow.
#[derive(Clone, Copy, Debug)]
struct StreamKeys {
    /// Tie-breakers of its endpoints.
    ties: [[u64; 2]; 2],
    /// Random choices of its congestion controls.
    seeds: [u64; 2],
}

impl FlowState {
    /// `component` names its random streams.
    pub(super) fn new(
        flow: &Flow,
        component: &str,
        seed: u64,
        lane: OwnLane,
        path: IdealPath,
        downtime: Downtime,
    ) -> Self {
        let start = flow.start.drawn(&flow.name, seed);
        // A host has one clock for all its connections.
        let mut phases = Stream::new(seed, component, "clock");
        Self {
            app: Arc::clone(&flow.app),
            reader: flow.reader.map(Box::new),
            path,
            downtime,
            start,
            timer: Time::NEVER,
            transport: flow.transport.clone(),
            clocks: [0, 1].map(|draw| match flow.transport.tcp().or(flow.transport.multi().map(|multi| &multi.tcp)) {
                Some(config) => clocks(config, &mut phases, draw),
                None => [Duration::ZERO; 2],
            }),
            engines: flow
                .transport
                .quic()
                .map(|_| Box::new(EngineFlow { component: component.to_owned(), seed, passed: 0 })),
            lane,
            multi: None,
            ends: [flow.from, flow.to],
            opened: 0,
            newest: None,
            totals: None,
            completed: None,
            acked: Time::NEVER,
            received: Time::NEVER,
            has_begun: false,
            has_failed: false,
            rtts: Histogram::default(),
            completions: (!flow.app.is_single() && flow.app.has_transport()).then(Box::default),
            arrived: (!flow.app.has_transport()).then(Box::default),
            keys: StreamKeys {
                seeds: Stream::new(seed, component, "cc").key(),
                ties: ["sender", "receiver"].map(|purpose| Stream::new(0, &flow.name, purpose).key()),
            },
        }
    }

    /// Makes both ends of its session `ordinal`, if that is not over TCP.
    pub(super) fn make_engines(&self, ordinal: u64, saved: [Option<SavedPath>; 2]) -> Option<[Box<dyn Engine>; 2]> {
        let (quic, facts) = (self.transport.quic()?, self.engines.as_deref()?);
        let seed = Seed { run: facts.seed, flow: &facts.component, ordinal };
        Some(quic.engines.as_ref()?.make(quic, seed, saved))
    }

    /// Takes the saved paths that a new session over an engine may use: from its opener, and from its listener.
    pub(super) fn take_saved(
        &self,
        now: Time,
        caches: &mut BTreeMap<[NodeId; 2], PathCache>,
    ) -> [Option<SavedPath>; 2] {
        let Some(lifetime) = self.transport.quic().and_then(|quic| quic.saves_for()) else { return [None; 2] };
        let [opener, listener] = self.ends;
        [[opener, listener], [listener, opener]]
            .map(|path| caches.get_mut(&path).and_then(|cache| cache.take_saved(now, lifetime)))
    }

    /// Returns the reason for the failure of a session whose slot has been reused.
    pub(super) fn failure(&self) -> Option<&str> {
        self.totals.as_ref()?.engines.as_ref()?.reason.as_deref()
    }

    /// Adds a session to its totals.
    pub(super) fn add_to_totals(&mut self, now: Time, session: OneSession<'_>, ends: [&Host; 2]) {
        let answers = self.app.is_two_way();
        self.totals_mut().add_session(now, session, ends, answers);
    }

    /// Whether its application uses the timer of the flow.
    pub(crate) fn can_wake(&self) -> bool {
        !self.app.is_single()
    }

    /// Whether its connections share what they learn of the path with later ones.
    pub(super) fn remembers(&self) -> bool {
        self.transport.remembers()
    }

    /// Returns the statistics of its transfers. None if it makes only one.
    pub(crate) fn completions(&self) -> Option<&Completions> {
        self.completions.as_deref()
    }

    pub(super) fn completions_mut(&mut self) -> &mut Completions {
        self.completions.get_or_insert_with(Box::default)
    }

    /// Returns the slot of its latest session. None after another session has taken the slot.
    pub(crate) fn newest_slot(&self) -> Option<usize> {
        self.newest.map(EndpointId::slot)
    }

    /// Whether its packets come from outside.
    pub(crate) fn is_port(&self) -> bool {
        matches!(*self.app, App::Port)
    }

    /// Returns the nodes of an endpoint and its peer: the key of a path cache.
    pub(super) fn path_from(&self, end: EndpointId) -> [NodeId; 2] {
        [self.ends[end.side()], self.ends[end.peer().side()]]
    }

    /// Returns the tie-breaker seeds of both endpoints of a session. They depend on names and ordinals, never on slots.
    pub(crate) fn salts(&self, ordinal: u64) -> [u32; 2] {
        self.keys.ties.map(|key| match ordinal {
            0 => key[0] as u32,
            _ => Stream::with_key(key).at(ordinal) as u32,
        })
    }

    /// Returns the seeds of the congestion controls of both endpoints of a session.
    pub(super) fn seeds(&self, ordinal: u64) -> [u64; 2] {
        let mut seeds = Stream::with_key(self.keys.seeds);
        [0, 1].map(|side| seeds.at(2 * ordinal + side))
    }

    /// Returns the number of the next connection of a subflow that joins again. They are counted down from the last number, so that
    /// none is that of a session.
    pub(super) fn number_of_return(&mut self) -> u64 {
        let Some(multi) = self.multi.as_deref_mut() else { return 0 };
        multi.returns += 1;
        u64::MAX - multi.returns
    }

    /// Returns the counters of datagrams, and of sessions whose slots are reused.
    pub(crate) fn totals(&self) -> Totals {
        self.totals.as_deref().cloned().unwrap_or_default()
    }

    pub(super) fn totals_mut(&mut self) -> &mut Totals {
        self.totals.get_or_insert_with(Box::default)
    }
}

/// Facts of the sessions of a flow over engines.
#[derive(Clone, Debug)]
pub(super) struct EngineFlow {
    /// Name of the flow as a component, and the seed of the run: the source of their random numbers.
    component: String,
    seed: u64,
    /// Packets that proxies passed on unread.
    pub(super) passed: u64,
}

/// Path of a flow without queues, for its least delays.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdealPath {
    rtt: Duration,
    /// Rate of the slowest link in each direction, each link at its largest rate.
    rates: [Rate; 2],
    /// Bytes of a full packet.
    payload: u32,
    headers: u32,
    /// Round trips before the first data.
    opening_rtts: u32,
    /// Whether the data has one route.
    is_fixed: bool,
}

impl IdealPath {
    /// `rtt`: least round-trip time. `rates`: largest rate of the path in each direction. `is_fixed`: the data has one route.
    pub(super) fn of(flow: &Flow, rtt: Duration, rates: [Rate; 2], is_fixed: bool) -> Self {
        Self {
            rtt,
            is_fixed,
            rates,
            payload: flow.transport.payload(),
            headers: flow.transport.headers(),
            opening_rtts: flow.transport.opening_rtts(),
        }
    }

    /// Returns the least time until payload that has not left yet is acknowledged. Data that crosses several routes may
    /// exceed the rate of each.
    pub(super) fn least_rest(&self, bytes: u64) -> Duration {
        let sending = if self.is_fixed { self.rates[0].time_to_send(bytes) } else { Duration::ZERO };
        self.rtt + sending
    }

    /// Returns the least round-trip time.
    pub(super) fn rtt(&self) -> Duration {
        self.rtt
    }

    /// Returns the least duration of a transfer with these bytes in each direction: the handshake of a new connection,
    /// a round trip, and the transmission times at the bottlenecks.
    pub(super) fn ideal(&self, is_new: bool, bytes: [u64; 2]) -> Duration {
        let opening = if is_new { self.rtt * u64::from(self.opening_rtts) } else { Duration::ZERO };
        let sending = |side: usize| {
            let packets = bytes[side].div_ceil(self.payload.into());
            let wire = bytes[side] + packets * u64::from(self.headers);
            self.rates[side].time_to_send(wire)
        };
        opening + self.rtt + sending(0) + sending(1)
    }
}

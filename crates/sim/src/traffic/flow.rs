//! What a flow is at an instant of a run, and what it has counted.

use super::host::Host;
use super::loss_verdicts::VerdictCounts;
use super::send_times::SendTimes;
use crate::distribution::clocks;
use crate::ids::{EndpointId, NodeId};
use crate::link::Downtime;
use crate::record::{Arrived, Completions, Histogram};
use crate::spec::{App, Flow, Reader};
use bentpipe_tcp::{Config, Counters};
use bentpipe_units::{Duration, Rate, Stream, Time};
use std::sync::Arc;

/// A flow: its application, and what its sessions have counted.
#[derive(Clone, Debug)]
pub(crate) struct FlowState {
    pub(super) app: Arc<App>,
    /// How data are read, if in steps.
    pub(super) reader: Option<Box<Reader>>,
    pub(super) path: IdealPath,
    pub(super) downtime: Downtime,
    pub(super) start: Time,
    /// When the application acts next.
    pub(crate) timer: Time,
    /// The transport at both ends, shared by all flows that have the same.
    pub(super) config: Arc<Config>,
    /// Where the clocks of the end that opens start in their ticks, and those of the other.
    pub(super) clocks: [[Duration; 2]; 2],
    /// Where the route of each end begins.
    pub(super) first_hops: [u32; 2],
    pub(super) class: u8,
    /// The nodes of the end that opens and of the other.
    pub(super) ends: [NodeId; 2],
    /// Sessions so far.
    pub(super) opened: u64,
    /// The slot of the latest session; none if another session has it by now.
    pub(super) newest: Option<usize>,
    /// Of the sessions that are over and whose slots other sessions have, and of datagrams; none before the first.
    totals: Option<Box<Totals>>,
    /// All is done: the sender has the last acknowledgement and the receiver the last byte, or the last answer was received.
    pub(crate) completed: Option<Time>,
    /// The last byte was acknowledged; by a proxy perhaps, before it was received. Never: not yet.
    pub(crate) acked: Time,
    /// The last byte was received. Never: not yet.
    pub(crate) received: Time,
    pub(crate) has_begun: bool,
    pub(crate) has_failed: bool,
    pub(crate) rtts: Histogram,
    /// Its transfers, if it makes more than one.
    completions: Option<Box<Completions>>,
    /// Its datagrams, if it sends any.
    pub(super) arrived: Option<Box<Arrived>>,
    /// The keys of the streams of which the tie-breakers of its ends are made.
    ties: [[u64; 2]; 2],
    /// The same of the stream from which follows what its congestion controls choose at random.
    seeds: [u64; 2],
}

impl FlowState {
    /// A flow, whose far end is the node of this name.
    pub(super) fn new(
        flow: &Flow,
        component: &str,
        seed: u64,
        first_hops: [u32; 2],
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
            config: Arc::clone(&flow.tcp),
            clocks: [0, 1].map(|draw| clocks(&flow.tcp, &mut phases, draw)),
            first_hops,
            class: flow.class,
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
            seeds: Stream::new(seed, component, "cc").key(),
            ties: ["sender", "receiver"].map(|purpose| Stream::new(0, &flow.name, purpose).key()),
        }
    }

    /// Whether its application has a timer of its own.
    pub(crate) fn can_wake(&self) -> bool {
        !self.app.is_single()
    }

    /// Whether its connections leave something for the next ones.
    pub(super) fn remembers(&self) -> bool {
        let config = &self.config;
        config.sharing.is_some() || config.fast_open.is_some() || config.transactions.is_some()
    }

    /// What is kept of its transfers; none if it makes only one.
    pub(crate) fn completions(&self) -> Option<&Completions> {
        self.completions.as_deref()
    }

    pub(super) fn completions_mut(&mut self) -> &mut Completions {
        self.completions.get_or_insert_with(Box::default)
    }

    /// The slot of its latest connection; none if another flow's has it by now.
    pub(crate) fn newest_slot(&self) -> Option<usize> {
        self.newest
    }

    /// Whether its packets come from outside.
    pub(crate) fn is_port(&self) -> bool {
        matches!(*self.app, App::Port)
    }

    /// The path from an endpoint to its peer, as the key of its cache.
    pub(super) fn path_from(&self, end: EndpointId) -> [NodeId; 2] {
        [self.ends[end.side()], self.ends[end.peer().side()]]
    }

    /// What the tie-breakers of the two ends of a session are made of: names and ordinals, never slots.
    pub(crate) fn salts(&self, ordinal: u64) -> [u32; 2] {
        self.ties.map(|key| match ordinal {
            0 => key[0] as u32,
            _ => Stream::with_key(key).at(ordinal) as u32,
        })
    }

    /// What the congestion controls choose at random at each end of a session follows from these.
    pub(super) fn seeds(&self, ordinal: u64) -> [u64; 2] {
        let mut seeds = Stream::with_key(self.seeds);
        [0, 1].map(|side| seeds.at(2 * ordinal + side))
    }

    /// What its sessions have counted that are over and whose slots other sessions have.
    pub(crate) fn totals(&self) -> Totals {
        self.totals.as_deref().cloned().unwrap_or_default()
    }

    pub(super) fn totals_mut(&mut self) -> &mut Totals {
        self.totals.get_or_insert_with(Box::default)
    }
}

/// The path of a flow without queues: the least time that it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdealPath {
    rtt: Duration,
    /// The slowest link there and back, each at its largest rate.
    rates: [Rate; 2],
    smss: u64,
    headers: u64,
    /// Data wait for a round trip first.
    handshake: bool,
}

impl IdealPath {
    /// Of a flow whose packets take at least `rtt` there and back, at these rates at most.
    pub(super) fn of(flow: &Flow, rtt: Duration, rates: [Rate; 2]) -> Self {
        Self {
            rtt,
            rates,
            smss: u64::from(flow.tcp.smss),
            headers: Self::headers(flow),
            handshake: flow.tcp.handshake && flow.tcp.fast_open.is_none() && flow.tcp.transactions.is_none(),
        }
    }

    fn headers(flow: &Flow) -> u64 {
        40 + if flow.tcp.timestamps { 12 } else { 0 }
    }

    /// The largest packet that the flow sends.
    pub(super) fn full_packet(flow: &Flow) -> u64 {
        u64::from(flow.tcp.smss) + Self::headers(flow)
    }

    /// Round trips to open a connection, if it is new, and to be answered, and the time that sending the bytes there and
    /// back takes at the bottleneck.
    pub(super) fn ideal(&self, is_new: bool, bytes: [u64; 2]) -> Duration {
        let opening = if is_new && self.handshake { self.rtt } else { Duration::ZERO };
        let sending = |side: usize| {
            let wire = bytes[side] + bytes[side].div_ceil(self.smss) * self.headers;
            self.rates[side].time_to_send(wire)
        };
        opening + self.rtt + sending(0) + sending(1)
    }
}

/// What the sessions of a flow have counted together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// At the ends that send data.
    pub(crate) sent: Counters,
    /// At the ends that are sent data.
    pub(crate) received: Counters,
    pub(crate) acked_bytes: u64,
    pub(crate) sent_wire_bytes: u64,
    pub(crate) spurious: u64,
    pub(crate) first_sent: Option<Time>,
    pub(crate) times: SendTimes,
    /// Of the latest session.
    pub(crate) cwnd: Option<u64>,
    pub(crate) ssthresh: Option<u64>,
    pub(crate) verdicts: VerdictCounts,
    newest: Option<u64>,
}

impl Totals {
    /// Adds what a session has counted, by its two ends: the one that opened and the other.
    pub(super) fn add(&mut self, now: Time, ordinal: u64, [opener, other]: [&Host; 2]) {
        for (near, far) in [(opener, other), (other, opener)] {
            if !near.sends_data {
                continue;
            }
            self.sent += *near.conn.counters();
            self.received += *far.conn.counters();
            self.acked_bytes += near.conn.acked_bytes();
            self.sent_wire_bytes += near.sent_wire_bytes;
            self.spurious += far.spurious;
            if let Some(verdicts) = &near.verdicts {
                self.verdicts += verdicts.counts(now);
            }
            if self.newest <= Some(ordinal) {
                self.newest = Some(ordinal);
                (self.cwnd, self.ssthresh) = (Some(near.conn.cwnd()), near.conn.ssthresh());
            }
        }
        let earlier = |a: Time, b: Option<Time>| b.map_or(a, |b| a.min(b));
        self.first_sent = opener.first_sent.map(|at| earlier(at, self.first_sent)).or(self.first_sent);
    }

    /// A datagram is sent, of this size without and with its headers.
    pub(super) fn on_datagram_sent(&mut self, now: Time, payload: u64, size: u64) {
        self.first_sent.get_or_insert(now);
        self.sent.sent_segments += 1;
        self.sent.sent_bytes += payload;
        self.sent_wire_bytes += size;
    }

    pub(super) fn delivered_bytes(&self) -> u64 {
        self.received.delivered_bytes
    }
}

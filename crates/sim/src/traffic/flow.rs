//! What a flow is at an instant of a run, and what it has counted.

use super::Host;
use crate::record::Histogram;
use crate::scenario::{App, Flow, Start};
use bentpipe_tcp::{Config, Counters, DelayTimer};
use bentpipe_units::{Duration, Stream, Time};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct FlowState {
    pub(super) app: App,
    pub(super) start: Time,
    /// When the application acts next.
    pub(crate) timer: Time,
    /// The transport at the end that opens, and at the other.
    pub(super) configs: [Config; 2],
    /// Where the route of each end begins.
    pub(super) first_hops: [u32; 2],
    /// Sessions so far.
    pub(super) opened: u64,
    /// The slot of the latest session; [`usize::MAX`] if it is used otherwise by now.
    pub(super) newest: usize,
    /// Of the sessions that are over and whose slots are used otherwise.
    pub(super) totals: Totals,
    /// The last byte was acknowledged.
    pub(crate) completed: Option<Time>,
    /// The last byte was received.
    pub(crate) received: Option<Time>,
    pub(crate) has_begun: bool,
    pub(crate) has_failed: bool,
    pub(crate) rtts: Histogram,
    /// From which its ends draw their lots.
    lots: [Stream; 2],
}

impl FlowState {
    pub(super) fn new(flow: &Flow, seed: u64, first_hops: [u32; 2]) -> Self {
        let component = format!("flow/{}", flow.name);
        let start = match flow.start {
            Start::At(at) => at,
            Start::Uniform { from, to } => {
                from + Duration::from_ps(Stream::new(seed, &component, "start").below(0, (to - from).as_ps()))
            }
        };
        // A host has one clock for all its connections.
        let mut phases = Stream::new(seed, &component, "clock");
        Self {
            app: flow.app,
            start,
            timer: Time::NEVER,
            configs: [0, 1].map(|draw| config_of(flow, &mut phases, draw)),
            first_hops,
            opened: 0,
            newest: usize::MAX,
            totals: Totals::default(),
            completed: None,
            received: None,
            has_begun: false,
            has_failed: false,
            rtts: Histogram::default(),
            lots: ["sender", "receiver"].map(|purpose| Stream::new(0, &flow.name, purpose)),
        }
    }

    /// Whether its application has a timer of its own.
    pub(crate) fn can_wake(&self) -> bool {
        !matches!(self.app, App::Greedy | App::File { .. })
    }

    /// What the two ends of a session draw their lots from: names and ordinals, never places in a pool.
    pub(crate) fn salts(&mut self, ordinal: u64) -> [u32; 2] {
        self.lots.each_mut().map(|lot| match ordinal {
            0 => lot.key()[0] as u32,
            _ => lot.at(ordinal) as u32,
        })
    }
}

/// The flow's settings with the phases of this end's clocks drawn.
fn config_of(flow: &Flow, phases: &mut Stream, draw: u64) -> Config {
    let mut config = flow.tcp.clone();
    if flow.phase_drawn {
        config.rto.phase = Duration::from_ps(phases.below(2 * draw, config.rto.granularity.as_ps()));
    }
    if let DelayTimer::FreeRunning { phase } = &mut config.ack.timer {
        *phase = Duration::from_ps(phases.below(2 * draw + 1, config.ack.delay.as_ps()));
    }
    config
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
    pub(crate) needless: u64,
    pub(crate) first_sent: Option<Time>,
    /// Of the latest session.
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: Option<u64>,
    newest: Option<u64>,
}

impl Totals {
    /// Adds a session by its two ends.
    pub(super) fn add(&mut self, ordinal: u64, opener: &Host, other: &Host) {
        for (near, far) in [(opener, other), (other, opener)] {
            if !near.sends_data {
                continue;
            }
            self.sent += *near.conn.counters();
            self.received += *far.conn.counters();
            self.acked_bytes += near.conn.acked_bytes();
            self.sent_wire_bytes += near.sent_wire_bytes;
            self.needless += far.needless;
            if self.newest <= Some(ordinal) {
                self.newest = Some(ordinal);
                (self.cwnd, self.ssthresh) = (near.conn.cwnd(), near.conn.ssthresh());
            }
        }
        let earlier = |a: Time, b: Option<Time>| b.map_or(a, |b| a.min(b));
        self.first_sent = opener.first_sent.map(|at| earlier(at, self.first_sent)).or(self.first_sent);
    }

    pub(super) fn delivered_bytes(&self) -> u64 {
        self.received.delivered_bytes
    }
}

//! Parts of a run as plain values: a network can be built from them without a scenario file. They are declared with
//! their keys in scenario files, and do not depend on files.

mod app;
mod bucket;
mod cell;
mod channel;
mod coding;
mod error;
mod hints;
mod like;
mod media_notes;
mod medium;
mod multi;
mod notes;
mod pairs;
mod queue;
mod randomness;
mod receivers;
mod slots;
mod tdm;
mod timeline;
mod transport;

pub use app::*;
pub use bucket::TokenBucket;
pub use cell::{ComingUsers, LeoCell, Others, UserPoints, UserTrace, CONTROL_DELAY};
pub use channel::{
    rounds, Arq, Combining, Downtimes, Interleave, Jitter, Mtu, Order, Outage, Oversize, Profile, Spread,
};
pub use coding::{Acm, Coded, Coding, Combiner, Losses, Modcod, Signal, SignalOverTime, SignalPoints};
pub(crate) use error::BLOCK_BITS;
pub use error::{loss_in_blocks, Bursts, Effect, ErrorModel, ErrorUnit, Stay, MILLIONTHS};
pub use like::{Buffers, Like};
pub use medium::*;
pub use multi::{Multi, Subflow};
pub use pairs::{FunctionId, FunctionPair, HalfOfPair};
pub use queue::{
    Codel, Dp2Control, Dp2Native, Dp2Overload, DualPi2, FqCodel, LimitOrKind, Pie, Queue, QueueLimit, Red, Share,
};
pub use randomness::Randomness;
pub use receivers::{branches, receivers_by_flow, shared_links, Branch};
pub use slots::{of_both, Slot, SlotDraws, SlotTable, Slots, COMMON, SHARES};
pub use tdm::*;
pub use timeline::{Absence, Change, Forwarding, InFlight, RouteSince, Timeline, Waiting};
pub use transport::{full_segment, Transport};

pub use crate::distribution::{Between, Size, Wait};
pub use crate::framing::{Frames, Framing};
pub use crate::stack::{
    Quic, QuicAckFrequency, QuicCc, QuicChange, QuicHandshake, QuicInitialWindow, QuicKeepAlive, QuicMigration,
    QuicRead, QuicResume, QuicSendOrder, QuicWindow,
};

use crate::dictionary;
use crate::ids::{FlowId, LaneId, LinkId, NodeId, PathId};
use crate::middlebox::{MiddleboxConfig, Role};
use crate::stack::Engines;
use bentpipe_units::settings::{Settings, Shape, Title, Typed, Unfit, Value, Written};
use bentpipe_units::{settings, words, Duration, Rate, Stream, Time};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Longest run: time is 64 bits of picoseconds, 213 days.
pub const DURATION_MAX: Duration = Duration::from_secs(200 * 86_400);

/// A complete, valid experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// One line for tables and figures.
    pub title: String,
    /// Simulated time after which the run ends.
    pub duration: Duration,
    /// Seed of all random streams.
    pub seed: u64,
    /// Nodes, sorted by name. [`Link::from`] and similar fields are indices into this.
    pub nodes: Vec<Node>,
    /// Links, one direction each: `NAME.forward` and `NAME.reverse`, sorted by name.
    pub links: Vec<Link>,
    /// Media, sorted by name.
    pub media: Vec<Medium>,
    /// Flows, sorted by name (natural order: `f2` before `f10`).
    pub flows: Vec<Flow>,
    /// Lanes, in the order of their flows.
    pub lanes: Vec<Lane>,
    /// Changes during the run.
    pub timeline: Timeline,
    /// Time series to record.
    pub record: Record,
    /// Notes of the reader of the file, such as satellites that are left out.
    pub notes: Vec<String>,
}

impl Scenario {
    /// Whether a node has this part of BEEN.
    pub fn has_been(&self, node: NodeId, part: Role) -> bool {
        self.nodes[node].middleboxes.iter().any(|middlebox| middlebox.is_been(part))
    }

    /// Returns the nodes at the far ends of the links of `node` that have the satellite's part of BEEN, in order.
    pub fn satellites_beside(&self, node: NodeId) -> Vec<NodeId> {
        let ends = self.links.iter().filter(|link| link.from == node).map(|link| link.to);
        let satellites: BTreeSet<NodeId> = ends.filter(|&end| self.has_been(end, Role::Satellite)).collect();
        satellites.into_iter().collect()
    }

    /// Returns the route of a path at the start of the run.
    pub fn first_route(&self, path: PathId) -> &[LinkId] {
        self.lanes[path.lane()].first_route(path)
    }

    /// Returns the first and the last node of a path.
    pub fn ends(&self, path: PathId) -> [NodeId; 2] {
        let flow = &self.flows[self.lanes[path.lane()].flow];
        if path.is_back() {
            [flow.to, flow.from]
        } else {
            [flow.from, flow.to]
        }
    }

    /// Whether flows use QUIC, and no stack is known.
    pub fn needs_engines(&self) -> bool {
        self.flows.iter().filter_map(|flow| flow.transport.quic()).any(|quic| quic.engines.is_none())
    }

    /// Returns the same scenario with a stack for its flows over QUIC.
    #[must_use]
    pub fn with_engines(&self, engines: &Engines) -> Self {
        let mut scenario = self.clone();
        for flow in &mut scenario.flows {
            if let Transport::Quic(quic) = &mut flow.transport {
                Arc::make_mut(quic).engines = Some(engines.clone());
            }
        }
        scenario
    }

    /// Returns the flows with their lanes.
    pub fn users(&self) -> Users<'_> {
        Users { flows: &self.flows, lanes: &self.lanes }
    }

    /// Returns all paths, of all lanes.
    pub fn paths(&self) -> impl DoubleEndedIterator<Item = PathId> + ExactSizeIterator {
        PathId::all(2 * self.lanes.len())
    }

    /// Returns the first lane of a flow: all its packets take it if it has no other.
    pub fn lane_of(&self, flow: FlowId) -> &Lane {
        &self.lanes[self.flows[flow].lane]
    }

    /// Returns the name of a lane: that of its flow, or `FLOW.SUBFLOW`.
    pub fn lane_name(&self, lane: LaneId) -> &str {
        self.users().lane_name(lane)
    }

    /// Returns the names of the entities of series and events, the flows and then their subflows; and the entity of each lane,
    /// its flow or its subflow.
    pub fn entities(&self) -> (Vec<&str>, Vec<FlowId>) {
        let mut names: Vec<&str> = self.flows.iter().map(|flow| flow.name.as_str()).collect();
        let of_lane = |lane: &'_ Lane, names: &mut Vec<&str>| match lane.name.is_empty() {
            true => lane.flow,
            false => FlowId::new(names.len()),
        };
        let mut entities = Vec::with_capacity(self.lanes.len());
        for lane in &self.lanes {
            entities.push(of_lane(lane, &mut names));
            names.extend((!lane.name.is_empty()).then_some(lane.name.as_str()));
        }
        (names, entities)
    }

    /// Returns the lanes of a flow.
    pub fn lanes_of(&self, flow: FlowId) -> impl Iterator<Item = LaneId> + '_ {
        let first = self.flows[flow].lane.index();
        (first..self.lanes.len()).map(LaneId::new).take_while(move |lane| self.lanes[*lane].flow == flow)
    }

    /// Returns the hosts of its flows with a transport, each with its congestion controls, in the order of the flows.
    pub fn hosts(&self) -> Vec<(String, Vec<&str>)> {
        let mut found: Vec<(String, Vec<&str>)> = Vec::new();
        for flow in self.flows.iter().filter(|flow| flow.has_connections()) {
            let (cc, host) = (flow.transport.cc_name(), flow.host());
            match found.iter_mut().find(|(known, _)| *known == host) {
                Some((_, names)) if names.contains(&cc) => {}
                Some((_, names)) => names.push(cc),
                None => found.push((host, vec![cc])),
            }
        }
        found
    }

    /// Returns the node that acknowledges the data of a flow's first endpoint: its other endpoint, or the first proxy
    /// on its path.
    pub fn answers_for(&self, flow: FlowId) -> NodeId {
        let ways = self.lane_of(flow).route.iter().map(|&link| self.links[link].to);
        let has_proxy = |node: &NodeId| self.nodes[*node].middleboxes.iter().any(MiddleboxConfig::acknowledges);
        let flow = &self.flows[flow];
        let opens = flow.transport.tcp().is_some_and(|tcp| tcp.handshake);
        ways.into_iter().find(has_proxy).filter(|_| opens).unwrap_or(flow.to)
    }
}

/// A place where links meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Name in the file.
    pub name: String,
    /// Treatment of corrupted packets.
    pub kind: NodeKind,
    /// Middleboxes, which each passing packet meets in order.
    pub middleboxes: Vec<MiddleboxConfig>,
}

words! {
    /// Treatment of packets that arrive corrupted at a node.
    pub enum NodeKind {
        /// Checks each packet and drops corrupted ones.
        "router" => Router,
        /// A repeater: forwards corrupted packets, corrupted.
        "bent-pipe" => BentPipe,
        /// Reads the header of a corrupted packet, which is protected separately, shows it to its middleboxes, and
        /// drops it.
        "processing" => Processing,
    }
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// `NAME.forward` or `NAME.reverse`.
    pub name: String,
    /// The sending node.
    pub from: NodeId,
    /// The receiving node.
    pub to: NodeId,
    /// Bit rate over time. In a medium: the largest rate that the link could have alone, for estimates.
    pub rate: Profile<Rate>,
    /// Its part in a medium, which then decides when it sends.
    pub terminal: Option<Box<Terminal>>,
    /// Propagation delay over time.
    pub delay: Profile<Duration>,
    /// Varying delays in addition; shared by the instances of an entry.
    pub jitter: Option<Arc<Vec<Jitter>>>,
    /// Slots with their own delays, losses and rate; shared by the instances of an entry.
    pub slots: Option<Arc<Slots>>,
    /// Outages.
    pub outage: Option<Box<Outage>>,
    /// Token bucket that drops arriving packets beyond its rate.
    pub policer: Option<Box<TokenBucket>>,
    /// Token bucket that delays transmissions beyond its rate.
    pub shaper: Option<Box<TokenBucket>>,
    /// The queue in front of it.
    pub queue: Queue,
    /// Error model.
    pub error: ErrorModel,
    /// Effect of an error on a packet.
    pub effect: Effect,
    /// Interleaver with its error correction.
    pub interleave: Option<Box<Interleave>>,
    /// Its coding as written, if it is coded: `rate`, `delay` and `error` are those that packets meet.
    pub coded: Option<Box<Coded>>,
    /// Retransmission of damaged packets on the link.
    pub arq: Option<Arq>,
    /// Framing of packets.
    pub framing: Framing,
    /// The largest packet.
    pub mtu: Option<Mtu>,
}

impl Link {
    /// Returns the largest rate at which it serves its queue for packets of this size, in bytes of packets.
    pub fn largest_for(&self, size: u64) -> Rate {
        self.largest_over(Duration::ZERO, size)
    }

    /// Returns the size of its full packets, bytes: its MTU, or that of Ethernet.
    pub fn full_packet(&self) -> u64 {
        self.mtu.map_or(1500, |mtu| mtu.size)
    }

    /// Returns the largest mean of this rate over any time of this length.
    pub fn largest_over(&self, length: Duration, size: u64) -> Rate {
        self.bounded(self.framing.rate_of_packets(self.rate.largest_over(length), size), [&self.shaper])
    }

    /// Returns the largest rate that it sustains for a second: its own, or that of a token bucket.
    pub fn sustained(&self) -> Rate {
        self.bounded(self.rate.largest_over(Duration::from_secs(1)), [&self.shaper, &self.policer])
    }

    /// Returns the least of a rate and of those of these buckets, if they limit packets from the start.
    fn bounded<const N: usize>(&self, rate: Rate, buckets: [&Option<Box<TokenBucket>>; N]) -> Rate {
        let limits = buckets.into_iter().flatten().filter(|bucket| bucket.after == 0);
        limits.map(|bucket| bucket.rate).fold(rate, Rate::min)
    }

    /// Returns the largest delay at any time, without queueing.
    pub fn delay_max(&self) -> Duration {
        self.delay.largest() + self.interleaving_delay()
    }

    /// Returns the delay at the start of the run, without queueing.
    pub fn delay_at_start(&self) -> Duration {
        self.delay.values().next().unwrap_or(Duration::ZERO) + self.interleaving_delay()
    }

    /// Returns the delay of its interleaver.
    pub fn interleaving_delay(&self) -> Duration {
        self.interleave.as_ref().map_or(Duration::ZERO, |interleave| interleave.delay())
    }
}

impl Link {
    /// Returns a link from node 0 to node 1 with an unlimited queue and without errors.
    pub fn plain(rate: Rate, delay: Duration) -> Self {
        Self {
            name: "l.forward".to_owned(),
            from: NodeId::new(0),
            to: NodeId::new(1),
            rate: Profile::Constant(rate),
            terminal: None,
            delay: Profile::Constant(delay),
            jitter: None,
            slots: None,
            outage: None,
            policer: None,
            shaper: None,
            queue: Queue::DropTail { limit: QueueLimit::Unlimited },
            error: ErrorModel::None,
            effect: Effect::Corrupt,
            interleave: None,
            coded: None,
            arq: None,
            framing: Framing::None,
            mtu: None,
        }
    }
}

/// An application, and the connections or datagrams that it uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Name in the file. Instances of an entry with `count` are numbered.
    pub name: String,
    /// The sending node.
    pub from: NodeId,
    /// The receiving node.
    pub to: NodeId,
    /// Flow whose datagrams it receives, as one of several receivers. `None`: it sends its own.
    pub copy_of: Option<FlowId>,
    /// Application; shared by the instances of an entry.
    pub app: Arc<App>,
    /// Reading of the application at the receiver; `None`: immediately.
    pub reader: Option<Reader>,
    /// Time of its start.
    pub start: Start,
    /// Its first lane. Others follow.
    pub lane: LaneId,
    /// The transport at both ends.
    pub transport: Transport,
    /// Host whose settings filled the open keys of the file. They are all in `transport`.
    pub like: Like,
    /// Limits of its tuned buffers by name; stock without such buffers. The sizes are in `transport`.
    pub buffers: Buffers,
    /// Processing time of a packet at a host: shortest and longest, the latter excluded unless they are equal.
    pub processing: (Duration, Duration),
}

/// Flows with their lanes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Users<'a> {
    /// The flows.
    pub flows: &'a [Flow],
    /// Their lanes.
    pub lanes: &'a [Lane],
}

impl<'a> Users<'a> {
    /// Returns the name of a lane: that of its flow, or `FLOW.SUBFLOW`.
    pub fn lane_name(&self, lane: LaneId) -> &'a str {
        let Lane { flow, name, .. } = &self.lanes[lane];
        if name.is_empty() {
            &self.flows[*flow].name
        } else {
            name
        }
    }
}

/// One way of a flow there and back.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// Its flow.
    pub flow: FlowId,
    /// `FLOW.SUBFLOW`; empty in a flow without subflows.
    pub name: String,
    /// The links from the flow's `from` to its `to`, at the start of the run.
    pub route: Box<[LinkId]>,
    /// The links back.
    pub reverse_route: Box<[LinkId]>,
    /// Class in queues with classes.
    pub class: u8,
}

impl Lane {
    /// Returns the name of its subflow in its flow; empty in a flow without subflows.
    pub fn subflow(&self) -> &str {
        // Names of subflows have no dots.
        self.name.rsplit_once('.').map_or("", |(_, subflow)| subflow)
    }

    /// Returns the route of one of its paths at the start of the run.
    pub fn first_route(&self, path: PathId) -> &[LinkId] {
        if path.is_back() {
            &self.reverse_route
        } else {
            &self.route
        }
    }
}

impl Flow {
    /// Returns the values of TCP of a flow with TCP.
    ///
    /// # Panics
    ///
    /// If its transport is another.
    pub fn tcp(&self) -> &bentpipe_tcp::Config {
        self.transport.tcp().expect("a flow with TCP")
    }

    /// Whether its data travels in connections.
    pub fn has_connections(&self) -> bool {
        self.app.has_transport() || self.transport.quic().is_some()
    }

    /// Whether it has one TCP connection from its start on, which nothing else feeds.
    pub fn is_one_connection(&self) -> bool {
        self.app.is_single() && self.transport.quic().is_none() && self.transport.multi().is_none()
    }

    /// Returns the name of its hosts for people.
    fn host(&self) -> String {
        if self.transport.quic().is_some() {
            return "QUIC".to_owned();
        }
        match self.buffers {
            Buffers::Stock => self.like.title().to_owned(),
            Buffers::Raised => format!("{} (raised buffers)", self.like.title()),
        }
    }
}

/// Start of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At this instant.
    At(Time),
    /// Uniform in [from, to), from the flow's own stream.
    Uniform {
        /// Earliest instant.
        from: Time,
        /// Latest instant, excluded.
        to: Time,
    },
}

impl Start {
    /// Returns the earliest instant.
    pub(crate) fn earliest(self) -> Time {
        match self {
            Self::At(at) | Self::Uniform { from: at, .. } => at,
        }
    }

    /// Returns the start of the flow of this name.
    pub fn drawn(self, flow: &str, seed: u64) -> Time {
        match self {
            Self::At(at) => at,
            Self::Uniform { from, to } => {
                let draws = &mut Stream::new(seed, &format!("flow/{flow}"), "start");
                from + Duration::from_ps(draws.below(0, (to - from).as_ps()))
            }
        }
    }
}

settings! {
    /// Random instant.
    pub struct StartUniform {
        /// Earliest and latest instant, the latest excluded; drawn for each flow.
        uniform: (Time, Time);
    }
}

impl Typed for Start {
    fn shape() -> Shape {
        Shape::Either(vec![Time::shape(), StartUniform::shape()])
    }
    fn read(value: &Value) -> Result<Self, Unfit> {
        match value {
            Value::Table(table) => {
                let (from, to) = <StartUniform as Settings>::read(table)?.uniform;
                Ok(Self::Uniform { from, to })
            }
            at => Time::read(at).map(Self::At),
        }
    }
    fn write(&self) -> Value {
        match *self {
            Self::At(at) => at.write(),
            Self::Uniform { from, to } => Typed::write(&StartUniform { uniform: (from, to) }),
        }
    }
}

settings! {
    /// Recording of time series.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Record {
        /// Series to record.
        series: Vec<String> as SeriesNames = Vec::new();
        /// Time between samples of links and of rates.
        interval: Duration = Duration::from_millis(100);
        /// Largest number of rows per series. A full series thins itself, and a full list counts further rows.
        rows_max: u64 = 1_000_000, [0, 1_000_000_000];
        /// Largest number of rows in the table of transfers. Further rows are counted, and the statistics cover all.
        transfers_max: u64 = 100_000, [0, 1_000_000_000];
    }
}

/// Names of time series of the dictionary, or of lists of happenings.
#[derive(Clone, Copy, Debug)]
pub struct SeriesNames;

impl Written<Vec<String>> for SeriesNames {
    fn shape() -> Shape {
        let series = dictionary::SERIES.iter().map(|series| (series.column.name, series.column.meaning));
        let others = dictionary::HAPPENINGS.iter().copied().chain([dictionary::CRITICAL_PATH_SERIES]);
        let names = series.chain(others).collect();
        let title = Title { name: "Series", noun: "a time series" };
        Shape::List(Box::new(Shape::Word(title, names)), 0, None)
    }
    fn read(value: &Value) -> Result<Vec<String>, Unfit> {
        Vec::read(value)
    }
    fn write(names: &Vec<String>) -> Value {
        names.write()
    }
}

/// Returns the number of steps in a run.
pub fn ratio(run: Duration, step: Duration) -> f64 {
    run.as_ps() as f64 / step.as_ps().max(1) as f64
}

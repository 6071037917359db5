//! What a run is made of, as plain values: a network can be built from them without a scenario file. They are declared with the
//! keys that they have in one, and know nothing of files.

mod app;
mod channel;
mod coding;
mod hints;
mod notes;
mod pairs;
mod queue;
mod randomness;
mod timeline;

pub use app::{App, Arrivals, Bulk, Catalogue, Datagrams, Gaps, Page, Reader, RequestResponse, WrittenRecords};
pub use channel::{
    Arq, Combining, Downtimes, Effect, ErrorModel, ErrorUnit, Interleave, Jitter, Mtu, Order, Outage, Oversize,
    Profile, Spread, Stay, MILLIONTHS,
};
pub use coding::{Acm, Coded, Coding, Losses, Modcod, Signal, SignalPoints};
pub(crate) use coding::{Combiner, SignalOverTime};
pub(crate) use pairs::{FunctionId, FunctionPair, HalfOfPair};
pub use queue::{Codel, FqCodel, LimitOrKind, Pie, Queue, QueueLimit, Red, Share};
pub use timeline::{Absence, Change, Forwarding, InFlight, RouteSince, Timeline, Waiting};

pub use crate::distribution::{Between, Size, Wait};
pub use crate::framing::{Frames, Framing};

use crate::dictionary;
use crate::ids::{FlowId, LinkId, NodeId, PathId};
use crate::middlebox::MiddleboxConfig;
use bentpipe_tcp::Config;
use bentpipe_units::settings::{Settings, Shape, Typed, Unfit, Value, Written};
use bentpipe_units::{settings, words, Duration, Rate, Stream, Time};
use std::sync::Arc;

/// A run may not be longer: time is 64 bits of picoseconds, 213 days.
pub(crate) const DURATION_MAX: Duration = Duration::from_secs(200 * 86_400);

/// A complete, valid experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// One line for tables and figures.
    pub title: String,
    /// Simulated time after which the run ends.
    pub duration: Duration,
    /// Seed of all random streams.
    pub seed: u64,
    /// Sorted by name; [`Link::from`] and its like are indices into this.
    pub nodes: Vec<Node>,
    /// One direction each: `NAME.forward` and `NAME.reverse`, sorted by name.
    pub links: Vec<Link>,
    /// Sorted by name (natural order: `f2` before `f10`).
    pub flows: Vec<Flow>,
    /// What changes while it runs.
    pub timeline: Timeline,
    /// Which time series are kept.
    pub record: Record,
    /// Notes of the reader of the file, such as satellites that are left out.
    pub notes: Vec<String>,
}

impl Scenario {
    /// The nodes to which links lead from `node`, in order, with their functions.
    pub(crate) fn neighbours(&self, node: NodeId) -> Vec<(NodeId, &[MiddleboxConfig])> {
        let mut neighbours: Vec<_> = self.links.iter().filter(|link| link.from == node).map(|link| link.to).collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        neighbours.into_iter().map(|node| (node, &*self.nodes[node].middleboxes)).collect()
    }

    /// The route of a path at the start of the run.
    pub fn first_route(&self, path: PathId) -> &[LinkId] {
        let flow = &self.flows[path.flow()];
        if path.is_back() {
            &flow.reverse_route
        } else {
            &flow.route
        }
    }

    /// The hosts of its flows with a transport, each with the congestion controls that it has, in the order of the flows.
    pub fn hosts(&self) -> Vec<(Like, Vec<&str>)> {
        let mut found: Vec<(Like, Vec<&str>)> = Vec::new();
        for flow in self.flows.iter().filter(|flow| flow.app.has_transport()) {
            let cc = flow.tcp.own_cc.as_ref().map_or(flow.tcp.cc.kind().name(), |own| own.name());
            match found.iter_mut().find(|(like, _)| *like == flow.like) {
                Some((_, names)) if names.contains(&cc) => {}
                Some((_, names)) => names.push(cc),
                None => found.push((flow.like, vec![cc])),
            }
        }
        found
    }

    /// The node that acknowledges what a flow's first end sends: its other end, or the first proxy on its way.
    pub(crate) fn answers_for(&self, flow: FlowId) -> NodeId {
        let ways = self.first_route(PathId::there(flow)).iter().map(|&link| self.links[link].to);
        let has_proxy = |node: &NodeId| self.nodes[*node].middleboxes.iter().any(MiddleboxConfig::acknowledges);
        ways.into_iter().find(has_proxy).filter(|_| self.flows[flow].tcp.handshake).unwrap_or(self.flows[flow].to)
    }
}

/// A place where links meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// As in the file.
    pub name: String,
    /// What happens to corrupted packets here.
    pub kind: NodeKind,
    /// Functions that see each packet passing through, in order.
    pub middleboxes: Vec<MiddleboxConfig>,
}

words! {
    /// What a node does with a packet that arrives corrupted.
    pub enum NodeKind {
        /// Checks each packet and drops a corrupted one.
        "router" => Router,
        /// A repeater: passes corrupted packets on, corrupted.
        "bent-pipe" => BentPipe,
        /// Looks at the header of a corrupted packet, which is protected separately, shows it to its functions, and drops it.
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
    /// Bit rate over time.
    pub rate: Profile<Rate>,
    /// Propagation delay over time.
    pub delay: Profile<Duration>,
    /// Delays that vary, beside it; shared by the instances of an entry.
    pub jitter: Option<Arc<Vec<Jitter>>>,
    /// When the link is down.
    pub outage: Option<Outage>,
    /// The queue in front of it.
    pub queue: Queue,
    /// What corrupts packets on it.
    pub error: ErrorModel,
    /// What becomes of a packet that an error hits.
    pub effect: Effect,
    /// What spreads errors, and corrects some.
    pub interleave: Option<Interleave>,
    /// As it is written, if it is coded: `rate`, `delay` and `error` are those that packets meet.
    pub coded: Option<Box<Coded>>,
    /// What sends damaged packets again.
    pub arq: Option<Arq>,
    /// What packets occupy beside their own bytes.
    pub framing: Framing,
    /// The largest packet.
    pub mtu: Option<Mtu>,
}

impl Link {
    /// Its largest rate as packets of this size find it, counted in their own bytes.
    pub(crate) fn largest_for(&self, size: u64) -> Rate {
        self.framing.rate_of_packets(self.rate.largest(), size)
    }
}

/// An application, and the connections or datagrams that it sends by.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// As in the file; instances of an entry with `count` are numbered.
    pub name: String,
    /// The sending node.
    pub from: NodeId,
    /// The receiving node.
    pub to: NodeId,
    /// What it sends; shared by the instances of an entry.
    pub app: Arc<App>,
    /// How the application at the receiving end reads; none: at once.
    pub reader: Option<Reader>,
    /// When it opens.
    pub start: Start,
    /// Its class in queues that tell classes apart.
    pub class: u8,
    /// The links from `from` to `to`.
    pub route: Vec<LinkId>,
    /// The links back.
    pub reverse_route: Vec<LinkId>,
    /// The transport at both ends, shared by all flows that have the same; datagrams do not use it.
    pub tcp: Arc<Config>,
    /// Which host's settings filled what the file left open; they are all in `tcp`.
    pub like: Like,
    /// Time that a host takes before it handles a packet: shortest and longest, the latter excluded unless they are equal.
    pub processing: (Duration, Duration),
}

/// When a flow starts.
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
    /// When the flow of this name starts.
    pub(crate) fn drawn(self, flow: &str, seed: u64) -> Time {
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
    /// A random instant.
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
    /// Time series to keep.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Record {
        /// Which series are kept.
        series: Vec<String> as SeriesNames = Vec::new();
        /// Time between samples of links and of rates.
        interval: Duration = Duration::from_millis(100);
        /// Rows of each series kept at most; what is beyond is counted, not kept.
        rows_max: u64 = 1_000_000, [0, 1_000_000_000];
        /// Rows of the table of transfers kept at most; what is beyond is counted, and the statistics are of all.
        transfers_max: u64 = 100_000, [0, 1_000_000_000];
    }
}

/// Names of time series of the dictionary, or of lists of what happened.
#[derive(Clone, Copy, Debug)]
pub struct SeriesNames;

impl Written<Vec<String>> for SeriesNames {
    fn shape() -> Shape {
        let series = dictionary::SERIES.iter().map(|series| (series.column.name, series.column.meaning));
        let others = dictionary::HAPPENINGS.iter().copied().chain([dictionary::CRITICAL_PATH_SERIES]);
        let names = series.chain(others).collect();
        Shape::List(Box::new(Shape::Word("Series", names)), 0, None)
    }
    fn read(value: &Value) -> Result<Vec<String>, Unfit> {
        Vec::read(value)
    }
    fn write(names: &Vec<String>) -> Value {
        names.write()
    }
}

words! {
    /// Hosts that a transport can be like.
    pub enum Like {
        /// The defaults of the keys: the RFCs.
        "rfc" => Rfc,
        /// Linux 6, as a socket without pacing behaves; measured against a kernel.
        "linux-6" => Linux6,
        /// Linux 6 where sockets are paced, as with the queueing discipline fq.
        "linux-6-paced" => Linux6Paced,
        /// The senders of ns-2.35.
        "ns-2" => Ns2,
        /// Windows 11, as far as Microsoft documents it.
        "windows-11" => Windows11,
        /// FreeBSD 14, as far as its release notes, manual and source say.
        "freebsd-14" => FreeBsd14,
    }
}

impl Like {
    /// The one of a scenario that names none.
    pub const TODAYS: Self = Self::Linux6;

    /// Its usual name.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Rfc => "RFC defaults",
            Self::Linux6 => "Linux 6",
            Self::Linux6Paced => "Linux 6 with pacing",
            Self::Ns2 => "ns-2",
            Self::Windows11 => "Windows 11",
            Self::FreeBsd14 => "FreeBSD 14",
        }
    }
}

/// How often a step fits a run.
pub(crate) fn ratio(run: Duration, step: Duration) -> f64 {
    run.as_ps() as f64 / step.as_ps().max(1) as f64
}

//! A scenario: what a run is made of. `file` is what the user wrote, [`Scenario`] what it means, with every
//! default filled in and every reference checked: it cannot stand for an experiment that makes no sense.

use bentpipe_tcp::Config;
use bentpipe_units::{Duration, Rate, Time};

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
    /// Which time series are kept.
    pub record: Record,
}

/// A place where links meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// As in the file.
    pub name: String,
    /// What happens to corrupted packets here.
    pub kind: NodeKind,
    /// Functions that see each packet passing through, in order.
    pub middleboxes: Vec<crate::middlebox::MiddleboxConfig>,
}

/// What a node does with a packet that arrives corrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Checks the frame and drops it.
    Router,
    /// A repeater: passes it on, corrupted.
    BentPipe,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// `NAME.forward` or `NAME.reverse`.
    pub name: String,
    /// Index of the sending node.
    pub from: usize,
    /// Index of the receiving node.
    pub to: usize,
    /// Bit rate over time.
    pub rate: Profile<Rate>,
    /// Propagation delay over time.
    pub delay: Profile<Duration>,
    /// When the link is down.
    pub outage: Option<Outage>,
    /// The queue in front of it.
    pub queue: Queue,
    /// What corrupts packets on it.
    pub error: ErrorModel,
}

/// A value over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Profile<T> {
    /// The same for the whole run.
    Constant(T),
    /// Changes at points in time.
    Points {
        /// (instant, value), strictly increasing, the first at zero.
        points: Vec<(Time, T)>,
        /// Whether values between points are interpolated (delays only) or hold until the next.
        linear: bool,
        /// Start again after this long.
        period: Option<Duration>,
    },
}

/// When a link carries nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Outage {
    /// (start, end), increasing, not overlapping.
    pub spans: Vec<(Time, Time)>,
    /// Repeat after this long.
    pub period: Option<Duration>,
    /// Drop what waits in the queue when the link goes down, instead of keeping it.
    pub flush: bool,
}

/// A queue discipline with its limit. Packets in transmission do not count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Queue {
    /// First in, first out; what finds it full is dropped.
    DropTail(QueueLimit),
}

/// How much may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// This many packets.
    Packets(u64),
    /// This many bytes. (A limit in `bdp` of the file is resolved to bytes.)
    Bytes(u64),
    /// Everything waits.
    Unlimited,
}

/// What corrupts packets, `specs: error-models`.
#[derive(Clone, Debug, PartialEq)]
pub enum ErrorModel {
    /// Nothing.
    None,
    /// Independent errors with this probability per unit.
    Independent {
        /// What the rate counts.
        unit: ErrorUnit,
        /// Probability per unit, 0 to 1.
        rate: f64,
    },
    /// Two states with exponential durations in time; independent errors in each.
    GilbertElliott {
        /// What the rates count.
        unit: ErrorUnit,
        /// Mean duration of the good state.
        mean_good: Duration,
        /// Mean duration of the bad state.
        mean_bad: Duration,
        /// Error probability per unit in the good state.
        rate_good: f64,
        /// Error probability per unit in the bad state.
        rate_bad: f64,
    },
    /// The packets with these indices (0: the first that the link sends), increasing.
    Arrivals(Vec<u64>),
}

/// What an error rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorUnit {
    /// A packet of L bytes is hit with probability 1 - (1-r)^(8L).
    Bit,
    /// 1 - (1-r)^L.
    Byte,
    /// r.
    Packet,
}

/// One connection and the application that uses it.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// As in the file; instances of an entry with `count` are numbered.
    pub name: String,
    /// Index of the sending node.
    pub from: usize,
    /// Index of the receiving node.
    pub to: usize,
    /// What it sends.
    pub app: App,
    /// When it opens.
    pub start: Start,
    /// Indices of the links from `from` to `to`.
    pub route: Vec<usize>,
    /// Indices of the links back.
    pub reverse_route: Vec<usize>,
    /// The transport at both ends. `rto.phase` is ignored where `phase_drawn` is set.
    pub tcp: Config,
    /// Draw the phase of each end's clock (uniform in one tick) instead of taking `tcp.rto.phase`.
    pub phase_drawn: bool,
}

/// What a flow sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum App {
    /// As much as the window allows, until the run ends.
    Greedy,
    /// This many bytes, then close.
    File {
        /// Bytes of application data.
        size: u64,
    },
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

/// Time series to keep.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Record {
    /// Names from the dictionary (`cwnd_bytes`, `srtt_s`, ...), sorted.
    pub series: Vec<String>,
    /// Time between samples of links and of rates.
    pub interval: Duration,
    /// Rows kept at most, over all series; what is beyond is counted, not kept.
    pub rows_max: u64,
}

//! The tables of a scenario file that name things: links, nodes, flows, cases, grids.

use super::sweep::{Case, Sweep};
use super::{App, At, DelayProfile, Errors, Jitters, OutageKeys, RateProfile, Sky, Tcp};
use crate::middlebox::MiddleboxConfig;
use crate::spec::{
    Arq, Coding, Forwarding, Framing, Interleave, LimitOrKind, Mtu, NodeKind, Queue, QueueLimit, Reader, Record, Start,
};
use bentpipe_units::settings::Maybe;
use bentpipe_units::{settings, Duration, Time};
use std::collections::BTreeMap;

settings! {
    /// A bentpipe scenario: an experiment with TCP over links that lose, delay and vary.
    #[derive(Clone, Debug)]
    pub(crate) struct File {
        /// One line for tables and figures.
        title: String = String::new();
        /// Simulated time after which the run ends; at most 200 days.
        duration: Duration;
        /// Seed of all random streams: the same seed gives the same channel to every sender that is compared.
        seed: u64 = 1;
        /// The transport at both ends of every flow; each key may be repeated for one flow under `[flow.NAME.tcp]`.
        tcp: Tcp = Tcp::default();
        /// Properties of nodes. A node exists because a link names it; a table is needed only to change it.
        node: BTreeMap<String, Node> = BTreeMap::new();
        /// The sky over the nodes that are places on Earth.
        sky: Option<Sky>;
        /// The links, by name. Each carries both directions.
        link: BTreeMap<String, Link>;
        /// The connections, by name.
        flow: BTreeMap<String, Flow>;
        /// Which route a packet takes where routes change while it is on its way.
        forwarding: Forwarding = Forwarding::HopByHop;
        /// What changes during the run.
        at: Vec<At> = Vec::new();
        /// Which time series are kept.
        record: Record = Record::default();
        /// Alternatives that `bentpipe compare` compares, by name. Each is a part of a scenario that overrides the rest, such as `[case.prr]` with `tcp.reduction = "prr"`.
        case: BTreeMap<String, Case> = BTreeMap::new();
        /// A grid of experiments, for `bentpipe sweep`.
        sweep: Sweep = Sweep::default();
    }
}

settings! {
    /// A place where links meet.
    #[derive(Clone, Debug)]
    pub(crate) struct Node {
        /// What happens to corrupted packets here.
        kind: NodeKind = NodeKind::Router;
        /// Functions that see each packet passing through, in order.
        "middlebox" middleboxes: Vec<MiddleboxConfig> = Vec::new();
    }
}

settings! {
    /// A link between two nodes: forward is `from` to `to`, reverse the way back.
    #[derive(Clone, Debug)]
    pub(crate) struct Link {
        /// The node at one end. May contain `{n}` if there is a `count`.
        from: String;
        /// The node at the other end. May contain `{n}` if there is a `count`.
        to: String;
        /// Make this many links from the entry, with 1, 2, ... for `{n}` in `from`, `to` and the name (appended if it has none).
        count: Option<u32>, [1, 1_000_000];
        /// Bit rate, constant or over time. Required, here or for each direction.
        rate: Option<RateProfile>;
        /// Propagation delay one way, constant or over time. Required, here or for each direction.
        delay: Option<DelayProfile>;
        /// Delays that vary, beside the propagation delay; several add up. Without it, there are none.
        jitter: Option<Jitters>;
        /// The queue in front of the link. What is being sent does not count. A bdp is this link's largest rate, without what framing takes of full packets, times the largest propagation round trip of the flows that cross it; at least one full packet.
        queue: Queue as LimitOrKind = Queue::DropTail { limit: QueueLimit::ONE_BDP }, "rule of thumb, Villamizar and Song 1994";
        /// What corrupts packets.
        error: Errors = Errors::None;
        /// Spreads errors over time, and corrects some. Without it, nothing does.
        interleave: Option<Interleave>;
        /// What protects bits, at the cost of rate. Without it, nothing does.
        coding: Option<Coding>;
        /// What sends damaged packets again on this link. Without it, nothing does.
        arq: Option<Arq>;
        /// What a packet occupies beside its own bytes: headers, trailers, padding, cells. With `coding`, these are bytes that the code protects.
        framing: Framing = Framing::None;
        /// The largest packet that the link takes; any without.
        mtu: Option<Mtu>;
        /// When the link carries nothing. Without it, it is never down.
        outage: Option<OutageKeys>;
        /// What differs from `from` to `to`.
        forward: Direction = Direction::default();
        /// What differs from `to` to `from`.
        reverse: Direction = Direction::default();
    }
}

settings! {
    /// One direction of a link: a key here overrides the link's own.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Direction {
        /// Bit rate of this direction.
        rate: Option<RateProfile> = None;
        /// Propagation delay of this direction.
        delay: Option<DelayProfile> = None;
        /// Delays of this direction that vary, beside its propagation delay.
        jitter: Option<Jitters> = None;
        /// The queue of this direction.
        queue: Option<Queue> as Maybe<LimitOrKind> = None;
        /// What corrupts packets in this direction.
        error: Option<Errors> = None;
        /// What spreads errors in this direction.
        interleave: Option<Interleave> = None;
        /// What protects bits in this direction.
        coding: Option<Coding> = None;
        /// What sends damaged packets again in this direction.
        arq: Option<Arq> = None;
        /// What a packet occupies in this direction beside its own bytes.
        framing: Option<Framing> = None;
        /// The largest packet that the link takes.
        mtu: Option<Mtu> = None;
        /// When this direction is down.
        outage: Option<OutageKeys> = None;
    }
}

settings! {
    /// An application, and the connections or datagrams that it sends by.
    #[derive(Clone, Debug)]
    pub(crate) struct Flow {
        /// The sending node; where there are questions and answers, the one that asks. May contain `{n}` if there is a `count`.
        from: String;
        /// The receiving node. May contain `{n}` if there is a `count`.
        to: String;
        /// Make this many flows from the entry, with 1, 2, ... for `{n}` in `from`, `to`, routes and the name (appended if it has none).
        count: Option<u32>, [1, 1_000_000];
        /// What it sends.
        app: App = App::Greedy;
        /// How the application that receives the data reads them. Without it, at once.
        reader: Option<Reader>;
        /// When it begins.
        start: Start = Start::At(Time::ZERO);
        /// Its class in queues that tell classes apart, for packets in both directions; with strict priority 0 is the highest.
        class: u8 = 0;
        /// The way there: nodes from `from` to `to`, or names of links where two links join the same nodes. Without it, the way of shortest delay at the start of the run.
        route: Option<Vec<String>>;
        /// The way back, from `to` to `from`. Without it, the way of shortest delay.
        reverse_route: Option<Vec<String>>;
        /// What differs from `[tcp]`, key by key.
        tcp: Option<Tcp>;
    }
}

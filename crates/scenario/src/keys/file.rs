//! Tables of a scenario file with names, except links: nodes, flows, cases, sweeps.

use super::sweep::{Case, Sweep, Tune};
use super::{App, At, Link, Sky, Tcp};
use bentpipe_model::middlebox::MiddleboxConfig;
use bentpipe_model::spec::{Forwarding, MediumKind, NodeKind, Quic, Reader, Record, Start};
use bentpipe_tcp::multi::MultiConfig;
use bentpipe_units::{either, settings, Duration, Time};
use std::collections::BTreeMap;

settings! {
    /// A bentpipe scenario: an experiment with TCP over links with loss, delay and variation.
    #[derive(Clone, Debug)]
    pub(crate) struct File {
        /// Title in one line, for tables and figures.
        title: String = String::new();
        /// Simulated duration of the run, at most 200 days.
        duration: Duration;
        /// Seed of all random streams. Every compared case meets the same channel if the seed is the same.
        seed: u64 = 1;
        /// Transport at both ends of every flow. `[flow.NAME.tcp]` overrides each key for one flow.
        tcp: Tcp = Tcp::default();
        /// QUIC at both ends of the flows that have a table `quic`. `[flow.NAME.quic]` overrides each key for one flow.
        quic: Quic = Quic::default();
        /// Properties of nodes, by name. Nodes exist as soon as a link names them; only changed nodes need a table.
        node: BTreeMap<String, Node> = BTreeMap::new();
        /// Satellites over the nodes that are places on Earth.
        sky: Option<Sky>;
        /// Media that links share, by name.
        medium: BTreeMap<String, MediumKind> = BTreeMap::new();
        /// Links, by name. Each has two directions.
        link: BTreeMap<String, Link>;
        /// Flows, by name.
        flow: BTreeMap<String, Flow>;
        /// Route of a packet if routes change while it is on the way.
        forwarding: Forwarding = Forwarding::HopByHop;
        /// Changes during the run.
        at: Vec<At> = Vec::new();
        /// Time series to record.
        record: Record = Record::default();
        /// Cases that `bentpipe compare` compares, by name. Each overrides parts of the scenario, such as `[case.prr]`
        /// with `tcp.reduction = "prr"`.
        case: BTreeMap<String, Case> = BTreeMap::new();
        /// Grid of experiments for `bentpipe sweep`.
        sweep: Sweep = Sweep::default();
        /// Search for better settings with `bentpipe tune`.
        tune: Tune = Tune::default();
    }
}

settings! {
    /// Node where links meet.
    #[derive(Clone, Debug)]
    pub(crate) struct Node {
        /// Treatment of corrupted packets by this node.
        kind: NodeKind = NodeKind::Router;
        /// Middleboxes at the node, in order. Each sees every packet that passes through.
        "middlebox" middleboxes: Vec<MiddleboxConfig> = Vec::new();
    }
}

either! {
    /// Receiving nodes of a flow.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum Receivers {
        /// One node.
        One(String);
        /// Several nodes, which receive the same datagrams.
        Several(Vec<String>);
    }
}

settings! {
    /// One path of a flow over several paths.
    #[derive(Clone, Debug)]
    pub(crate) struct Subflow {
        /// Route from the flow's `from` to its `to`, in the notation of a flow's `route`. Default: the route with the
        /// shortest delay at the start of the run.
        route: Option<Vec<String>>;
        /// Route back. Default: the route with the shortest delay.
        reverse_route: Option<Vec<String>>;
        /// Time after the opening of the connection until it joins, once the first subflow is established. The first
        /// subflow has none.
        start: Duration = Duration::ZERO;
        /// Whether it carries data only while no other subflow can (RFC 8684 §3.3.8).
        backup: bool = false;
        /// Class of its packets. Default: that of the flow.
        class: Option<u8>;
        /// Keys of this subflow's TCP that override those of the flow.
        tcp: Option<Tcp>;
    }
}

settings! {
    /// Application, with its connections or datagrams.
    #[derive(Clone, Debug)]
    pub(crate) struct Flow {
        /// Sending node. For requests and responses, the node that sends the requests. May contain `{n}` if `count` is
        /// set.
        from: String;
        /// Receiving node. May contain `{n}` if `count` is set. A list of nodes receives the same datagrams: one packet on
        /// shared links and in the frames of a forward carrier, copied where routes part. Each receiver is a flow with its
        /// own results and a number.
        to: Receivers;
        /// Flow whose datagrams this flow receives, as one more receiver. Both have the same `from`, `app`, `start` and
        /// `class`, and each name of a list in `to` is such a receiver. Default: it sends its own. The resolved scenario has
        /// this key in place of a list.
        copy_of: Option<String>;
        /// Number of flows that the entry creates, with 1, 2, ... for `{n}` in `from`, `to`, routes and the name. Names
        /// without `{n}` get the number as a suffix. Default: one flow without a number. Receivers of a list without `{n}`
        /// occur once.
        count: Option<u32>, [1, 1_000_000];
        /// Application of the flow.
        app: App = App::Greedy;
        /// Reading rate of the receiving application. Default: it reads all data immediately.
        reader: Option<Reader>;
        /// Start of the flow.
        start: Start = Start::At(Time::ZERO);
        /// Class of the flow's packets, in both directions, for queues with classes. With strict priority, 0 is the
        /// highest.
        class: u8 = 0;
        /// Route from `from` to `to`: nodes, or links where several links join the same nodes. Default: the route with
        /// the shortest delay at the start of the run.
        route: Option<Vec<String>>;
        /// Route back from `to` to `from`. Default: the route with the shortest delay.
        reverse_route: Option<Vec<String>>;
        /// Keys of this flow's transport that override `[tcp]`.
        tcp: Option<Tcp>;
        /// QUIC in place of TCP, with the keys that override `[quic]`. Write `quic = {}` if there are none. Default: TCP.
        quic: Option<Quic>;
        /// TCP over several paths (RFC 8684), one for each `subflow`. Write `multipath = {}` for the defaults. Default: one
        /// path.
        multipath: Option<MultiConfig>;
        /// Subflows of `multipath`, by name. One with `start` 0 opens the connection: of several, the first by name with
        /// `backup = false`. `FLOW.SUBFLOW` names one in `[[at]]`, in `sky.disjoint.flow` and in results.
        subflow: BTreeMap<String, Subflow> = BTreeMap::new();
    }
}

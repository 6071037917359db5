//! Tests that every middlebox inherits. Each middlebox is tested on the path `a - b - c - d`, at the nodes of its
//! position, between unmodified senders:
//!
//! - Packets are conserved (otherwise the run ends with an error), and all transfers complete.
//! - State and packets of ended flows are gone.
//! - Its own packets have the class of their flow, and no false ECN marks.
//! - With settings that disable it, it changes no flow.
//! - Thousands of flows, one after the other, leave it as small as a few. `BENTPIPE_FUZZ_OPS=100000` tests a hundred
//!   thousand.

use bentpipe_sim::dictionary::Cause;
use bentpipe_sim::ids::{LaneId, NodeId};
use bentpipe_sim::middlebox::{Context, Middlebox, MiddleboxConfig};
use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::spec::Scenario;
use bentpipe_sim::{Network, Packet};
use bentpipe_tcp::Flags;
use std::sync::Arc;

/// A middlebox at its position.
struct Trial {
    /// Tables of nodes with middleboxes.
    nodes: &'static str,
    /// Tables with settings that disable it; `None`: it always acts.
    idle: Option<&'static str>,
}

macro_rules! inherited {
    ($($name:ident: $nodes:literal, $idle:expr;)+) => {
        $(mod $name {
            use super::Trial;

            const TRIAL: Trial = Trial { nodes: $nodes, idle: $idle };

            #[test]
            fn forgets_flows_that_have_ended() {
                super::forgets_flows(&TRIAL);
            }

            #[test]
            fn carries_class_and_marks() {
                super::carries(&TRIAL);
            }

            #[test]
            fn does_nothing_when_told_so() {
                super::does_nothing(&TRIAL);
            }

            #[test]
            fn bears_many_flows() {
                super::bears_many(&TRIAL);
            }
        })+
    };
}

trials!(inherited);

macro_rules! places {
    ($($name:ident: $nodes:literal, $idle:expr;)+) => {
        const PLACES: &[&str] = &[$($nodes),+];
    };
}

trials!(places);

/// A path that loses packets in queues and by errors. Connections of 30 kB cross it, one after the other, and
/// connections with repeated requests. The last flows are datagrams, so that a run continues after the last connection.
const PATH: &str = r#"
duration = "70 s"
[tcp]
like = "rfc"
give_up = "never"
[link.one]
from = "a"
to = "b"
rate = "20 Mbit/s"
delay = "5 ms"
[link.two]
from = "b"
to = "c"
rate = "4 Mbit/s"
delay = "30 ms"
queue = "12 packets"
error = { kind = "packet", rate = "1 %" }
[link.three]
from = "c"
to = "d"
rate = "20 Mbit/s"
delay = "5 ms"
[flow.f]
from = "a"
to = "d"
app = { kind = "arrivals", size = "30 kB", interval = "100 ms", count = 200 }
[flow.back]
from = "d"
to = "a"
app = { kind = "arrivals", size = "10 kB", interval = "100 ms", count = 200 }
[flow.asks]
from = "d"
to = "a"
app = { kind = "request-response", response = "3 kB", think = "50 ms", reconnect = true, count = 50, catalogue = { objects = 5 } }
[flow.goes-on]
from = "a"
to = "d"
app = { kind = "cbr", size = "100 B", rate = "64 bit/s" }
"#;

fn read(text: &str, nodes: &str, sets: &[(&str, &str)]) -> Arc<Scenario> {
    let sets: Vec<(String, String)> = sets.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let read = from_toml(&format!("{text}{nodes}\n"), "suite", &sets);
    read.unwrap_or_else(|problems| panic!("{problems}")).scenario
}

fn network(text: &str, nodes: &str, sets: &[(&str, &str)]) -> Network {
    Network::build(&read(text, nodes, sets), 1)
}

fn run(mut network: Network) -> RunResult {
    assert!(network.run(u64::MAX));
    network.finish().unwrap_or_else(|failure| panic!("{failure}"))
}

/// Checks that all transfers of both flows are complete.
fn assert_complete(result: &RunResult, count: i64) {
    assert_eq!(result.summary.whole("transfers")[0], count, "of {count} transfers");
    assert_eq!(result.summary.whole("transfers_failed")[0], 0);
}

fn forgets_flows(trial: &Trial) {
    let mut network = network(PATH, trial.nodes, &[]);
    assert!(network.run(u64::MAX));
    assert_eq!(network.kept_by_functions(), (0, 0), "flows and packets");
    assert_complete(&run(network), 450);
}

/// Checks the class of all packets against the lanes.
#[derive(Debug)]
struct Classes(Vec<u8>);

impl Middlebox for Classes {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        assert_eq!(packet.class, self.0[packet.lane().index()], "{packet:?}");
        cx.forward(packet);
    }
}

/// Tests flows with separate classes, with ECN over queues that do not mark.
fn carries(trial: &Trial) {
    let classes = [("flow.f.class", "2"), ("flow.back.class", "3"), ("flow.goes-on.class", "4")];
    let sets = [&[("tcp.ecn", "classic"), ("duration", "140 s")][..], &classes].concat();
    let scenario = read(PATH, trial.nodes, &sets);
    let classes: Vec<u8> = scenario.lanes.iter().map(|lane| lane.class).collect();
    let looks = || Box::new(Classes(classes.clone())) as Box<dyn Middlebox + Send + Sync>;
    let result = run(Network::build_with(&scenario, 1, NodeId::all(4).map(|node| (node, looks())).collect()));
    assert_complete(&result, 450);
    assert_eq!(result.flows.whole("ecn_reductions").iter().sum::<i64>(), 0, "marks that no queue made");
}

fn does_nothing(trial: &Trial) {
    let Some(idle) = trial.idle else { return };
    let (with, without) = (run(network(PATH, idle, &[])), run(network(PATH, "", &[])));
    assert_eq!(with.flows, without.flows);
    assert_eq!(with.transfers, without.transfers);
    assert_eq!(with.links, without.links);
}

/// Number of flows after which the state of the first ones is gone and a leak shows.
fn bears_many(trial: &Trial) {
    let asked = std::env::var("BENTPIPE_FUZZ_OPS").ok().and_then(|count| count.parse().ok());
    let count: i64 = asked.unwrap_or(3_000);
    let (duration, number) = (format!("{} s", count / 10 + 60), count.to_string());
    let sets = [
        ("duration", duration.as_str()),
        ("flow.f.app.size", "2 kB"),
        ("flow.back.app.size", "1 kB"),
        ("flow.f.app.count", &number),
        ("flow.back.app.count", &number),
    ];
    let mut network = network(PATH, trial.nodes, &sets);
    let mut most = 0;
    while !network.run(10_000) {
        most = most.max(network.kept_by_functions().0);
    }
    assert!(most < 300, "{most} flows were kept at once");
    assert_eq!(network.kept_by_functions(), (0, 0), "flows and packets");
    assert_complete(&run(network), 2 * count + 50);
}

/// Models a sender of a flow that is silent after the other endpoint has sent its FIN.
#[derive(Debug)]
struct FallsSilent(LaneId, bool);

impl Middlebox for FallsSilent {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let is_of_flow = packet.lane() == self.0;
        self.1 |= is_of_flow && packet.is_to_sender() && packet.header_flags().has(Flags::FIN);
        if self.1 && is_of_flow && !packet.is_to_sender() {
            cx.drop(packet, Cause::Policy);
        } else {
            cx.forward(packet);
        }
    }
}

/// An endpoint that is gone after its last acknowledgement was lost: a proxy waits for it no longer than for any
/// closing one.
#[test]
fn proxies_give_up_what_only_closes() {
    let gateway = "middlebox = [{ kind = \"satpep\", rate = \"4 Mbit/s\" }]";
    let satpep = format!("[node.b]\n{gateway}\n[node.c]\n{gateway}");
    for nodes in ["[node.b]\nmiddlebox = [{ kind = \"split\" }]", &satpep] {
        for (duration, kept) in [("200 s", true), ("400 s", false)] {
            let sets = [
                ("duration", duration),
                ("flow.f.app.count", "1"),
                ("flow.back.app.count", "1"),
                ("link.two.error", "none"),
            ];
            let scenario = read(PATH, nodes, &sets);
            let node = scenario.nodes.iter().position(|node| node.name == "a").map(NodeId::new).unwrap();
            let flow = scenario.flows.iter().position(|flow| flow.name == "f").map(LaneId::new).unwrap();
            let mut network = Network::build_with(&scenario, 1, vec![(node, Box::new(FallsSilent(flow, false)))]);
            assert!(network.run(u64::MAX));
            assert_eq!(network.kept_by_functions().0 > 0, kept, "{nodes} after {duration}");
        }
    }
}

#[test]
fn every_function_is_tried() {
    let is_tried = |name: &str| PLACES.iter().any(|nodes| nodes.contains(&format!("kind = \"{name}\"")));
    let untried = MiddleboxConfig::ALL.iter().map(|(name, _)| *name).filter(|name| !is_tried(name));
    assert_eq!(untried.collect::<Vec<_>>(), ["own"]);
}

#[test]
fn every_middlebox_documents_its_position_and_effects() {
    let silent = MiddleboxConfig::ALL.iter().map(|(name, _)| *name).filter(|name| {
        let doc = MiddleboxConfig::doc(name).unwrap();
        !["Position on the path", "When it helps", "When it hurts"]
            .iter()
            .all(|it| doc.contains(&format!("\n# {it}\n")))
    });
    assert_eq!(silent.collect::<Vec<_>>(), ["own"]);
}

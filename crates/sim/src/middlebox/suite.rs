//! The tests that every function inherits. Each is tried on the path `a - b - c - d`, at the nodes where it may stand, between
//! senders that know nothing of it:
//!
//! * packets are conserved (the run ends with an error where they are not), and all transfers complete;
//! * when flows have ended nothing of them is left, nor held;
//! * set to do nothing it changes no flow;
//! * thousands of flows, one after the other, leave it no larger than few. `BENTPIPE_FUZZ_OPS=100000` tries a hundred thousand.

use super::MiddleboxConfig;
use crate::record::RunResult;
use crate::scenario::from_toml;
use crate::Network;

/// A function at its place.
struct Trial {
    /// The tables of nodes with what stands there.
    nodes: &'static str,
    /// The same in a setting in which it does nothing; none: it always acts.
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

/// A path on which packets get lost in queues and by errors, crossed by connections of 30 kB, one after the other, and by some that ask for the same again and again. What
/// ends last are datagrams, so that a run goes on when all connections are over.
const PATH: &str = r#"
duration = "70 s"
[tcp]
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

fn network(text: &str, nodes: &str, sets: &[(&str, &str)]) -> Network {
    let sets: Vec<(String, String)> = sets.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let read = from_toml(&format!("{text}{nodes}\n"), "suite", &sets).unwrap_or_else(|problems| panic!("{problems}"));
    Network::build(&read.scenario, 1)
}

fn run(mut network: Network) -> RunResult {
    assert!(network.run(u64::MAX));
    network.finish().unwrap_or_else(|failure| panic!("{failure}"))
}

/// Whether all transfers are complete, of both flows.
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

fn does_nothing(trial: &Trial) {
    let Some(idle) = trial.idle else { return };
    let (with, without) = (run(network(PATH, idle, &[])), run(network(PATH, "", &[])));
    assert_eq!(with.flows, without.flows);
    assert_eq!(with.transfers, without.transfers);
    assert_eq!(with.links, without.links);
}

/// Enough for what was of use to few flows to be no longer there, and for a leak to show.
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

#[test]
fn every_function_says_where_it_may_stand_and_what_it_helps() {
    let silent = MiddleboxConfig::ALL.iter().map(|(name, _)| *name).filter(|name| {
        let doc = MiddleboxConfig::doc(name).unwrap();
        !["\n# Where it may stand\n", "\n# What it helps, and what it harms\n"].iter().all(|head| doc.contains(head))
    });
    assert_eq!(silent.collect::<Vec<_>>(), ["own"]);
}

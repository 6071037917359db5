//! Senders that routers tell how much to send, end to end, over a bottleneck of 10 Mbit/s on a geostationary path.

use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;

/// Round trips of 0.54 s, and for the second flow of 0.28 s; 674 kB fit the longer path.
const PATH: &str = r#"
duration = "60 s"
[tcp]
TCP
[node.sat]
middlebox = [SAT]
[link.a]
from = "one"
to = "sat"
rate = "100 Mbit/s"
delay = "140 ms"
[link.b]
from = "two"
to = "sat"
rate = "100 Mbit/s"
delay = "10 ms"
[link.down]
from = "sat"
to = "ground"
rate = "10 Mbit/s"
delay = "130 ms"
queue = "450 packets"
[flow.one]
from = "one"
to = "ground"
app = "greedy"
[flow.two]
from = "two"
to = "ground"
app = "greedy"
"#;

fn text(tcp: &str, sat: &str) -> String {
    PATH.replace("TCP", tcp).replace("SAT", sat)
}

fn run(tcp: &str, sat: &str) -> RunResult {
    let read = from_toml(&text(tcp, sat), "explicit.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let mut network = Network::build(&read.scenario, 1);
    while !network.run(1_000_000) {}
    network.finish().unwrap()
}

/// Utilisation and mean queueing delay of the bottleneck, goodput of each flow, drops.
fn figures(tcp: &str, sat: &str) -> (f64, f64, [f64; 2], i64) {
    let result = run(tcp, sat);
    let at = result.links.text("link").iter().position(|link| link == "down.forward").unwrap();
    let of = |column: &str| result.links.real(column)[at];
    let goodput = result.flows.real("goodput_bps");
    let drops = result.drops.whole("packets").iter().sum();
    (of("utilisation"), of("queue_mean_s"), [goodput[0], goodput[1]], drops)
}

#[test]
fn shows() {
    for (tcp, sat) in [
        ("feedback = \"xcp\"", "{ kind = \"xcp\" }"),
        ("feedback = { kind = \"xcp\", loss = \"ignore\" }", "{ kind = \"xcp\" }"),
        ("feedback = \"rcp\"", "{ kind = \"rcp\" }"),
        ("", "{ kind = \"ewa\" }"),
        ("", ""),
        ("feedback = \"xcp\"", ""),
    ] {
        println!("{tcp} {sat}: {:?}", std::panic::catch_unwind(|| figures(tcp, sat)));
    }
}

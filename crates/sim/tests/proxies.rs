//! Proxies (RFC 3135): the worked cases of each, and what becomes of what they cannot serve.

use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;

/// 100 kB over a geostationary hop of 540 ms from a sender whose round trip to the gateway is 20 ms, everything in [`PLAIN`] segments.
const GEO: &str = r#"
duration = "400 s"
[tcp]
processing = "0 s"
[tcp.ack]
every = 1
[link.lan]
from = "sender"
to = "gw"
rate = "1 Gbit/s"
delay = "10 ms"
[link.sat]
from = "gw"
to = "receiver"
rate = "10 Mbit/s"
delay = "270 ms"
queue = "2 MB"
[flow.f]
from = "sender"
to = "receiver"
app = { kind = "file", size = "100740 B" }
"#;

/// A window that is as large as the hop's bandwidth-delay product from the start.
const SATELLITE: &str = "listener = { initial_window = '500 segments' }";

fn run(text: &str, sets: &[(&str, &str)]) -> RunResult {
    let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let scenario = from_toml(text, "test.toml", &sets).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let mut network = Network::build(&scenario, 1);
    while !network.run(1_000_000) {}
    network.finish().unwrap()
}

fn at(text: &str, node: &str, proxies: &[&str]) -> String {
    format!("{text}[node.{node}]\nmiddlebox = [{}]\n", proxies.join(", "))
}

fn split(keys: &str) -> String {
    format!("{{ kind = \"split\", {keys} }}")
}

fn refusal(text: &str) -> String {
    from_toml(text, "test.toml", &[]).unwrap_err().to_string()
}

/// When the last byte arrived.
fn received_s(result: &RunResult) -> f64 {
    result.flows.real("completion_rx_s")[0]
}

fn close_to(value: f64, expected: f64, within: f64) {
    assert!((value - expected).abs() <= within, "{value} instead of {expected}");
}

/// pep.md, test 1.
#[test]
fn splitting_spares_slow_start_over_the_satellite() {
    let of_one = [("tcp.initial_window", "1 segments")];
    close_to(received_s(&run(GEO, &of_one)), 4.21, 0.01);
    close_to(received_s(&run(GEO, &[])), 2.01, 0.035);
    let text = at(GEO, "gw", &[&split(SATELLITE)]);
    close_to(received_s(&run(&text, &of_one)), 0.90, 0.01);
    let late = at(GEO, "gw", &[&split(&format!("accept = \"late\", {SATELLITE}"))]);
    // The opener hears after the hop's round trip, and starts slowly then.
    close_to(received_s(&run(&late, &of_one)), 0.02 + 0.54 + 6.0 * 0.02 + 0.01 + 0.27 + 0.005, 0.02);
}

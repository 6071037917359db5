//! BEEN on a path of a gateway, two satellites and a gateway: what it promises, end to end.

use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;
use bentpipe_sim::Network;

/// Packets of 540 B over an uplink that corrupts a byte in a hundred: none of that size crosses.
const PATH: &str = r#"
duration = "20 s"
[tcp]
like = "rfc"
cc = "newreno"
smss = "500 B"
initial_window = "1 segments"
handshake = false
error_reports = "resend"
packet_size = { kind = "optimum", formula = "deterministic", gives = "payload", unit = "bit" }
give_up = "never"
[node.gateway]
middlebox = [{ kind = "been", role = "gateway" }]
[node.sat1]
kind = "processing"
middlebox = [{ kind = "been", role = "satellite" }]
[node.sat2]
kind = "processing"
middlebox = [{ kind = "been", role = "satellite" }]
[link.access]
from = "sender"
to = "gateway"
rate = "100 Mbit/s"
delay = "1 ms"
[link.up]
from = "gateway"
to = "sat1"
rate = "1.5 Mbit/s"
delay = "5 ms"
[link.up.forward]
error = { kind = "byte", rate = 0.01 }
[link.isl]
from = "sat1"
to = "sat2"
rate = "25 Mbit/s"
delay = "13 ms"
[link.isl.forward]
error = { kind = "byte", rate = 0 }
[link.down]
from = "sat2"
to = "receiver"
rate = "1.5 Mbit/s"
delay = "30 ms"
[flow.f]
from = "sender"
to = "receiver"
app = "greedy"
[record]
series = ["events", "cwnd_bytes", "ssthresh_bytes"]
"#;

fn run(text: &str, seed: u64) -> RunResult {
    let scenario = from_toml(text, "been.toml", &[]).unwrap_or_else(|problems| panic!("{problems}")).scenario;
    let mut network = Network::build(&scenario, seed);
    while !network.run(1_000_000) {}
    network.finish().unwrap()
}

fn refused(text: &str) -> String {
    match from_toml(text, "been.toml", &[]) {
        Ok(_) => panic!("it is accepted"),
        Err(problems) => problems.to_string(),
    }
}

/// Time in seconds and value of the events of a kind.
fn events(result: &RunResult, kind: &str) -> Vec<(f64, i64)> {
    let rows = result.events.text("event").iter().zip(result.events.real("time_s")).zip(result.events.whole("value"));
    rows.filter(|((event, _), _)| *event == kind).map(|((_, time), value)| (*time, *value)).collect()
}

/// `docs/specs/been.md`, test 5: the first packet is corrupted, and leaves again one round trip between gateway and
/// satellite later.
#[test]
fn a_corrupted_first_packet_leaves_again_without_a_timeout() {
    let mut tried = 0;
    for seed in 0..4 {
        let result = run(PATH, seed);
        let (reports, sent) = (events(&result, "error_report"), events(&result, "retransmission"));
        if reports.first().is_none_or(|report| report.1 != 0) {
            continue;
        }
        tried += 1;
        // There and back, the time to send 540 B up and 28 B down, and processing.
        let expected = 2.0 * 0.006 + 568.0 * 8.0 / 1.5e6;
        assert!((sent[0].0 - expected).abs() < 2e-3, "{} against {expected}", sent[0].0);
        let first_ack = events(&result, "acked").first().map_or(20.0, |acked| acked.0);
        assert!(events(&result, "timeout").iter().all(|timeout| timeout.0 > first_ack));
    }
    assert!(tried >= 3, "packets of 540 B cross in four of a thousand cases");
}

/// The size follows the estimate: of bytes of which one in a hundred is corrupted packets of 80 B carry most.
#[test]
fn the_packet_size_follows_the_estimate_and_more_arrives() {
    let delivered = |text: &str| run(text, 1).flows.whole("delivered_bytes")[0];
    let whole = delivered(PATH);
    let plain = PATH.replace("error_reports = \"resend\"\n", "").replace("packet_size", "# packet_size");
    let fixed = PATH.replace("packet_size", "# packet_size");
    let silent = PATH.replace("error_reports = \"resend\"\n", "");
    let (plain, fixed, silent) = (delivered(&plain), delivered(&fixed), delivered(&silent));
    assert!(plain < 20_000, "{plain} B of packets that hardly ever cross");
    assert!(whole > 20 * plain.max(5_000), "{whole} B of all of it, {plain} B of nothing");
    assert!(
        whole > 2 * fixed && whole > 2 * silent,
        "{whole} B of both, {fixed} B of reports alone, {silent} B of sizes alone"
    );
}

/// A sender that does not heed them gains and loses nothing but what reports and records take of the links.
#[test]
fn plain_senders_work_unchanged_beside_it() {
    let plain = PATH.replace("error_reports = \"resend\"\n", "").replace("packet_size", "# packet_size");
    let plain = plain.replace("rate = 0.01", "rate = 1e-4");
    let without = plain.replace("middlebox", "# middlebox");
    let delivered = |text: &str| run(text, 1).flows.whole("delivered_bytes")[0];
    let (with, without) = (delivered(&plain), delivered(&without));
    assert!((with - without).abs() < without / 10, "{with} B, {without} B");
}

#[test]
fn losses_between_satellites_are_reported_where_that_is_asked_for() {
    let text = PATH.replace("rate = 0.01", "rate = 0").replace("rate = 0 }", "rate = 2e-4 }");
    let text = text.replacen("rate = 2e-4 }", "rate = 0 }", 1);
    let asks = text.replacen("role = \"satellite\"", "role = \"satellite\", inter_satellite = true", 1);
    let counts =
        |text: &str| (events(&run(text, 1), "error_report").len(), events(&run(text, 1), "fast_retransmit").len());
    let ((reports, reductions), (none, more)) = (counts(&asks), counts(&text));
    assert_eq!(none, 0);
    assert!(reports > 20 && more > 5, "{reports} reports, {more} fast retransmits without");
    assert!(reductions < more / 2, "{reductions} of {more}");
}

/// Options that count make packets longer on the uplink.
#[test]
fn options_take_bytes_where_that_is_asked_for() {
    let clean = PATH.replace("rate = 0.01", "rate = 0").replace("packet_size", "# packet_size");
    let counted = clean.replace("role = \"gateway\"", "role = \"gateway\", option_bytes = true");
    let per_packet = |text: &str| {
        let result = run(text, 1);
        let at = result.links.text("link").iter().position(|link| link == "up.forward").unwrap();
        result.links.whole("carried_bytes")[at] as f64 / result.links.whole("carried_packets")[at] as f64
    };
    assert!((per_packet(&counted) - per_packet(&clean) - 8.0).abs() < 0.01);
}

#[test]
fn a_new_connection_begins_with_what_its_host_was_notified_of() {
    let second = "[flow.g]\nfrom = \"sender\"\nto = \"receiver\"\nstart = \"10 s\"\napp = { kind = \"file\", size = \"2 kB\" }\n";
    let result = run(&format!("{PATH}{second}"), 1);
    let first = |flow: &str| {
        let rows = result.events.text("event").iter().zip(result.events.text("flow")).zip(result.events.whole("value"));
        let sent = rows.filter(|((event, of), _)| *event == "sent" && *of == flow).map(|(_, offset)| *offset);
        sent.take(2).last()
    };
    assert_eq!(first("f"), Some(500));
    assert!(first("g").is_some_and(|size| size < 100), "{:?}", first("g"));
}

#[test]
fn parts_of_it_are_refused_where_they_cannot_work() {
    for kind in ["bent-pipe", "router"] {
        let text = PATH.replacen("kind = \"processing\"", &format!("kind = \"{kind}\""), 1);
        let problem = refused(&text);
        assert!(problem.contains("cannot work at \"sat1\"") && problem.contains("kind = \"processing\""), "{problem}");
    }
    let misplaced = PATH.replace("[node.gateway]", "[node.sender]");
    let problem = refused(&misplaced);
    assert!(problem.contains("has no satellite with BEEN next to \"sender\""), "{problem}");
    assert!(problem.contains("expected it at a node before one: gateway"), "{problem}");
    let alone = PATH.replace("role = \"satellite\"", "role = \"gateway\"");
    assert!(refused(&alone).contains("expected { kind = \"been\", role = \"satellite\" }"));
}

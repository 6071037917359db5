//! QUIC in the simulator's network.

use bentpipe_quic::engines;
use bentpipe_sim::record::RunResult;
use bentpipe_sim::{scenario, Network};
use std::sync::Arc;

/// Runs a flow with these keys over GEO, 20/2 Mbit/s, with queues of 0.6 s of the rate.
pub(crate) fn run(flow: &str, more: &str) -> RunResult {
    run_over("", flow, more, 1)
}

/// As `run`, with these keys of the link.
pub(crate) fn run_over(link: &str, flow: &str, more: &str, seed: u64) -> RunResult {
    let text = format!(
        r#"
        duration = "300 s"
        [link.sat]
        from = "terminal"
        to = "gateway"
        delay = "300 ms"
        {link}
        forward = {{ rate = "2 Mbit/s", queue = "150 kB" }}
        reverse = {{ rate = "20 Mbit/s", queue = "1500 kB" }}
        [flow.f]
        from = "terminal"
        to = "gateway"
        {flow}
        {more}
        "#
    );
    let read = scenario::from_toml(&text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let written = read.to_toml();
    let again = scenario::from_toml(&written, "again", &[]).unwrap_or_else(|problems| panic!("{written}{problems}"));
    assert_eq!(again.digest(), read.digest(), "{written}");
    let scenario = Arc::new(read.scenario.with_engines(&engines()));
    let mut network = Network::build(&scenario, seed);
    assert!(network.run(u64::MAX));
    network.finish().unwrap()
}

const REQUEST: &str = r#"app = { kind = "request-response", request = "100 B", response = "10 MB", count = 1 }"#;

pub(crate) fn value(result: &RunResult, table: &str, column: &str) -> f64 {
    let table = match table {
        "flows" => &result.flows,
        "quic" => &result.quic,
        "transfers" => &result.transfers,
        _ => &result.links,
    };
    let whole = table.whole(column);
    if whole.is_empty() {
        table.real(column)[0]
    } else {
        whole[0] as f64
    }
}

/// The same transfer as over the small path of `controls`: 8.96 s, of which the handshake takes 0.605 s.
#[test]
fn a_download_takes_the_time_that_it_takes_without_the_network() {
    let result = run(REQUEST, "quic = { stream_window = '8 MB', connection_window = '8 MB' }");
    assert_eq!(result.flows.text("outcome"), ["completed"]);
    assert_eq!(result.flows.text("cc"), ["cubic"]);
    let done = value(&result, "flows", "completion_s");
    assert!((done / 8.96 - 1.0).abs() < 0.01, "{done}");
    let handshake = value(&result, "quic", "handshake_s");
    assert!((handshake - 0.605).abs() < 0.005, "{handshake}");
    assert!((value(&result, "quic", "first_byte_s") - 1.21).abs() < 0.01);
    // With the request, as for TCP.
    assert_eq!(value(&result, "flows", "delivered_bytes"), 10_000_100.0);
    assert!(value(&result, "quic", "declared_lost") > 1400.0);
}

/// The mean of ten seeds over QUIC and over TCP: the same congestion control, behind the adapter and behind the simulator's TCP.
#[test]
fn transports_with_one_congestion_control_take_the_same_time() {
    let mean = |transport: &str| {
        let flow = format!("{REQUEST}\n{transport}");
        let done =
            (1..=10).map(|seed| value(&run_over("", &flow, "[tcp]\nlike = 'rfc'", seed), "flows", "completion_s"));
        done.sum::<f64>() / 10.0
    };
    for (quic, tcp, within) in
        [("cc = 'bbr3'", "cc = 'bbr3'", 0.05), ("cc = 'cubic', byte_counting = 'rfc5681'", "cc = 'cubic'", 0.012)]
    {
        let quic = mean(&format!("quic = {{ {quic}, stream_window = '8 MB' }}"));
        let tcp = mean(&format!("tcp = {{ {tcp}, receive_buffer = '8 MB' }}"));
        assert!((quic / tcp - 1.0).abs() < within, "{quic} s over QUIC, {tcp} s over TCP");
    }
}

/// Each packet that was sent has arrived or was lost, with recording on, too; and equal seeds have equal results.
#[test]
fn repeated_runs_are_equal_with_recording_and_without() {
    let flow = r#"app = { kind = "file", size = "1 MB" }
        quic = {}"#;
    let error = "error = { kind = 'packet', rate = 0.01 }";
    let plain = run_over(error, flow, "", 1);
    assert_eq!(plain, run_over(error, flow, "", 1));
    let recorded = run_over(error, flow, "[record]\nseries = ['cwnd_bytes', 'srtt_s', 'goodput_bps', 'events']\n", 1);
    assert_eq!((&plain.flows, &plain.quic, &plain.links), (&recorded.flows, &recorded.quic, &recorded.links));
    assert!(recorded.series.iter().any(|(name, rows)| name == "cwnd_bytes" && rows.real("cwnd_bytes").len() > 10));
    assert_ne!(plain, run_over(error, flow, "", 2));
}

/// Full packets of the handshake and of early data at the largest `mtu`.
#[test]
fn the_largest_packets_pass() {
    let quic = "quic = { mtu = '16383 B', handshake = { flight = '100 kB', resume = '0-rtt' } }";
    let quic = [quic, "quic = { mtu = '16383 B', handshake = { flight = '100 kB' } }"];
    for quic in quic {
        let result = run(&format!("app = {{ kind = 'file', size = '2 MB' }}\n{quic}"), "");
        assert_eq!(result.flows.text("outcome"), ["completed"], "{quic}");
    }
}

/// No round trip is shorter than that of the path: 0.6 s.
#[test]
fn smoothed_round_trips_begin_with_a_sample() {
    let record = "[record]\nseries = ['srtt_s']\n";
    let result = run("app = { kind = 'file', size = '300 kB' }\nquic = {}", record);
    let (_, rows) = result.series.iter().find(|(name, _)| *name == "srtt_s").unwrap();
    let srtt = rows.real("srtt_s");
    assert!(srtt.len() > 3 && srtt.iter().all(|srtt| *srtt >= 0.6), "{srtt:?}");
}

/// RFC 9002 §7.2 and §7.6.2: two datagrams are left of the window, also where losses never end.
#[test]
fn persistent_congestion_leaves_two_datagrams() {
    let quic = "app = { kind = 'greedy' }\nquic = { cc = 'newreno', idle_timeout = '300 s' }";
    let error = "error = { kind = 'packet', rate = 0.6 }";
    let windows = (1..9).flat_map(|seed| {
        let result = run_over(error, quic, "[record]\nseries = ['cwnd_bytes']\n", seed);
        let rows = result.series.into_iter().find(|(name, _)| *name == "cwnd_bytes").unwrap().1;
        rows.real("cwnd_bytes").to_vec()
    });
    let least = windows.fold(f64::MAX, f64::min);
    assert_eq!(least, 2.0 * 1452.0);
}

/// A regular close is no failure. An idle timeout, after which the next transfer opens a connection, is no failure either.
#[test]
fn successful_flows_have_no_failure() {
    for app in [
        "kind = 'request-response', request = '100 B', response = '50 kB', think = '40 s', count = 4, reconnect = true",
        "kind = 'request-response', request = '100 B', response = '50 kB', think = '40 s', count = 4",
    ] {
        let result = run(&format!("app = {{ {app} }}\nquic = {{}}"), "");
        assert_eq!(result.flows.text("outcome"), ["completed"], "{app}");
        assert_eq!(result.quic.text("failure"), [""], "{app}");
    }
}

/// A split proxy cannot read datagrams: the result is the same to the last bit.
#[test]
fn a_proxy_on_the_path_changes_nothing() {
    let quic = "quic = {}";
    let flow = format!("{}\n{quic}", r#"app = { kind = "bulk", size = "300 kB", pause = "1 s", count = 3 }"#);
    let without = run(&flow, "");
    let with = run(&flow, "[node.gateway]\nmiddlebox = ['spoof']");
    assert_eq!(without.flows, with.flows);
    for column in ["sent_datagrams", "arrived_datagrams", "declared_lost", "acks"] {
        assert_eq!(without.quic.whole(column), with.quic.whole(column), "{column}");
    }
    // The report has the number of packets that passed: those that arrived at the node, from both ends.
    let passed = [&without, &with].map(|result| value(result, "quic", "passed"));
    let arrived = value(&with, "quic", "arrived_datagrams");
    assert!(passed[0] == 0.0 && passed[1] > arrived, "{passed:?} {arrived}");
}

/// TCP and QUIC share a link, and each kind of application runs over QUIC.
#[test]
fn applications_run_beside_tcp() {
    for app in [
        "{ kind = 'greedy' }",
        "{ kind = 'file', size = '2 MB' }",
        "{ kind = 'bulk', size = '100 kB', pause = '40 s', count = 4 }",
        "{ kind = 'bulk', size = '100 kB', pause = '1 s', reconnect = true, count = 4 }",
        "{ kind = 'arrivals', size = '20 kB', interval = '2 s', count = 50 }",
        "{ kind = 'request-response', request = '200 B', response = '50 kB', wait = '100 ms', count = 10 }",
    ] {
        let flow = format!("app = {app}\nquic = {{ cc = 'bbr3' }}");
        let tcp = format!("[flow.t]\nfrom = 'terminal'\nto = 'gateway'\napp = {app}");
        let result = run(&flow, &tcp);
        let expected = if app.contains("greedy") { "running" } else { "completed" };
        assert_eq!(result.flows.text("outcome"), [expected; 2], "{app}: {:?}", result.quic.text("failure"));
        let delivered = result.flows.whole("delivered_bytes");
        assert!(app.contains("greedy") || delivered[0] == delivered[1], "{app}: {delivered:?}");
        assert_eq!(result.quic.text("flow"), ["f"]);
        let names: Vec<String> = result.flows.text("cc").to_vec();
        assert_eq!(names[0], "bbr3");
    }
}

/// RFC 9000 §10.1: an idle timeout that an outage exceeds ends the connection, with the stack's reason.
#[test]
fn a_long_outage_ends_a_connection() {
    let outage = "outage = { spans = [['5 s', '60 s']] }";
    let result = run_over(outage, "app = { kind = 'file', size = '10 MB' }\nquic = {}", "", 1);
    assert_eq!(result.flows.text("outcome"), ["aborted"]);
    assert_eq!(result.quic.text("failure"), ["timed out"]);
}

/// Messages name the key and the possible values.
#[test]
fn impossible_keys_are_refused() {
    let refused = |flow: &str, reason: &str| {
        let text = format!(
            "duration = '1 s'\n[link.l]\nfrom = 'a'\nto = 'b'\nrate = '1 Mbit/s'\ndelay = '1 ms'\n[flow.f]\nfrom = 'a'\nto = 'b'\n{flow}"
        );
        let problems = scenario::from_toml(&text, "test", &[]).unwrap_err().to_string();
        assert!(problems.contains(reason), "{flow}: {problems}");
    };
    refused("quic = { mtu = '1000 B' }", "expected 1200 B to 16383 B");
    refused("quic = { mtu = '16384 B' }", "expected 1200 B to 16383 B");
    refused("quic = { cc = 'peach' }", "cannot control QUIC: its dummy segments are segments of TCP");
    refused("quic = { cc = 'prague' }", "cannot control QUIC: the stack does not count marks");
    refused("quic = { handshake = { flight = '10 B' } }", "expected 300 B to 100 kB");
    refused("quic = { stream_window = '0 B' }", "expected at least one packet");
    refused("quic = { send_window = '2000 GB' }", "at most 1000 GB");
    refused("quic = { stream_window = '0.1 bdp' }", "B over the path of this flow");
    refused("quic = {}\ntcp = {}", "a flow has one transport");
    refused("quic = { window = '1 MB' }", "window");
    refused("quic = { idle_timeout = '0 s' }", "expected at least 1 ms");
}

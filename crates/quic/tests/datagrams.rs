//! Unreliable datagrams (RFC 9221): calls in a connection.

use crate::network::{run, run_over, value};
use bentpipe_sim::record::RunResult;
use bentpipe_sim::scenario::from_toml;

/// 200 B every 20 ms: 80 kbit/s.
const CALL: &str = "app = { kind = 'cbr', rate = '80 kbit/s', size = '200 B' }";

fn of_call(result: &RunResult, column: &str) -> f64 {
    let whole = result.datagrams.whole(column);
    if whole.is_empty() {
        result.datagrams.real(column)[0]
    } else {
        whole[0] as f64
    }
}

/// The call begins after the handshake, and each datagram takes the path's delay: 300 ms and the time to send.
#[test]
fn a_call_has_the_delay_of_its_path() {
    let result = run(&format!("{CALL}\nquic = {{}}"), "");
    let [sent, arrived, lost] = ["sent_packets", "arrived_packets", "lost_packets"].map(|name| of_call(&result, name));
    // 300 s less a handshake of 0.6 s, at 50 a second. The last 300 ms are under way.
    assert!(
        (sent - 14_970.0).abs() < 3.0 && (sent - arrived - 15.0).abs() < 2.0 && lost == 0.0,
        "{sent} {arrived} {lost}"
    );
    let [least, most] = ["delay_min_s", "delay_p99_s"].map(|name| of_call(&result, name));
    // 200 B, 11 B of frame, packet and tag, and 28 B at 2 Mbit/s are about 1 ms. The pacer lets each leave at once.
    assert!((0.3009..0.302).contains(&least) && most < 0.31, "{least} {most}");
    assert_eq!(value(&result, "flows", "delivered_bytes"), 200.0 * arrived);
    assert_eq!(result.flows.text("cc"), ["cubic"]);
}

/// Datagrams are not retransmitted: the share of lost datagrams is that of lost packets, and the delay is that of the path.
#[test]
fn lost_datagrams_stay_lost() {
    let error = "error = { kind = 'packet', rate = 0.05 }";
    let result = run_over(error, &format!("{CALL}\nquic = {{ cc = 'none', initial_window = '1 MB' }}"), "", 1);
    let loss = of_call(&result, "loss_pct");
    // 15,000 datagrams: a standard deviation of 0.18 %.
    assert!((loss - 5.0).abs() < 0.55, "{loss}");
    assert!(of_call(&result, "delay_p99_s") < 0.32, "{}", of_call(&result, "delay_p99_s"));
    let [sent, arrived, lost] = ["sent_packets", "arrived_packets", "lost_packets"].map(|name| of_call(&result, name));
    assert!((0.0..30.0).contains(&(sent - arrived - lost)), "{sent} {arrived} {lost}");
}

/// The window counts datagrams, so that a call above the rate of its path waits in its own buffer.
#[test]
fn congestion_control_holds_datagrams_back() {
    let call = "app = { kind = 'cbr', rate = '4 Mbit/s', size = '1000 B' }";
    let alone = run(call, "");
    let held = run(&format!("{call}\nquic = {{}}"), "");
    let overflow = |result: &RunResult| result.drops.whole("packets").iter().sum::<i64>();
    assert!(overflow(&held) * 4 < overflow(&alone), "{} {}", overflow(&held), overflow(&alone));
    // The path carries half of the datagrams.
    assert!(of_call(&held, "arrived_packets") > 0.4 * of_call(&held, "sent_packets"));
}

#[test]
fn impossible_datagrams_are_refused() {
    let refused = |app: &str, to: &str, reason: &str| {
        let text = format!(
            "duration = '1 s'\n[link.l]\nfrom = 'a'\nto = 'b'\nrate = '1 Mbit/s'\ndelay = '1 ms'\n[link.m]\nfrom = 'a'\nto = 'c'\n\
             rate = '1 Mbit/s'\ndelay = '1 ms'\n[flow.g]\nfrom = 'a'\nto = 'c'\n[flow.f]\nfrom = 'a'\nto = {to}\n\
             app = {{ {app} }}\nquic = {{}}"
        );
        let problems = from_toml(&text, "test", &[]).unwrap_err().to_string();
        assert!(problems.contains(reason), "{app}: {problems}");
    };
    // 1452 B less 38 B of headers and tag.
    refused("kind = 'cbr', rate = '1 kbit/s', size = '1415 B'", "'b'", "expected 12 B to 1414 B");
    refused("kind = 'cbr', rate = '1 kbit/s', size = '11 B'", "'b'", "expected 12 B to 1414 B");
    // RTP has a header of 12 B.
    refused("kind = 'rtp', rate = '1 kbit/s', size = '1403 B'", "'b'", "expected 0 B to 1402 B");
    refused("kind = 'probe', interval = '1 s'", "'b'", "the other end answers no datagrams of QUIC");
    refused(
        "kind = 'cbr', rate = '1 kbit/s', size = '100 B'",
        "['b', 'c']",
        "cannot carry a flow to several receivers",
    );
}

/// The largest datagram that the check allows fits into a packet.
#[test]
fn the_largest_datagram_arrives() {
    let result = run("app = { kind = 'cbr', rate = '80 kbit/s', size = '1414 B' }\nquic = {}", "");
    let [sent, arrived] = ["sent_packets", "arrived_packets"].map(|name| of_call(&result, name));
    assert!(sent > 2000.0 && sent - arrived < 5.0, "{sent} {arrived}");
}

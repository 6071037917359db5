//! Four minutes one way: a request and an answer of 10 kB at 1 Mbit/s.
//!
//! The expected times and numbers of packets are those of the workbench of the Deepspace IP project (December 2025), which
//! drives an earlier version of the same stack in virtual time.

use crate::path::{transfer, Done, Path, Way};
use bentpipe_sim::spec::{Quic, QuicCc};
use bentpipe_units::Duration;

fn load(quic: Quic) -> Done {
    let path = Path { mbps: [1.0, 1.0], delay_ms: 240_000.0, queue_s: 10.0, loss: [0.0; 2], seed: 1 };
    // The workbench has datagrams of 1200 B.
    transfer(&Quic { cc: QuicCc::StackCubic, mtu: 1200, ..quic }, path, 10_000, Way::Download, 3600)
}

fn patient() -> Quic {
    Quic { idle_timeout: Duration::from_secs(1_000_000), ..Quic::default() }
}

/// RFC 9000 §10.1: the idle timeout of 30 s ends the connection before an answer can come.
#[test]
fn defaults_never_connect() {
    let done = load(Quic::default());
    assert_eq!(done.failed.as_deref(), Some("timed out"));
    // RFC 9002 §6.2: the first timeout is three times 333 ms, doubled each time: packets at 0, 1, 3, 7 and 15 s. A probe may have
    // two packets (§6.2.4).
    assert!((5..=9).contains(&done.counters[0].sent_datagrams), "{:?}", done.counters[0]);
}

/// Two round trips. With the initial round trip of the path, no packet is a needless copy.
#[test]
fn the_round_trip_of_the_path_saves_needless_packets() {
    let known = Quic { initial_rtt: Duration::from_secs(490), ..patient() };
    let mut wrong = Vec::new();
    for (quic, expected) in [(patient(), [37, 50]), (known, [13, 17])] {
        let done = load(quic);
        assert!((done.handshake - 480.0).abs() < 0.5 && (done.time() - 960.1).abs() < 0.5, "{done:?}");
        let sent = done.counters.map(|counters| counters.sent_datagrams);
        // The needless copies of the first case agree. Without them, few packets are left, and their coalescing decides.
        let within = if expected[0] > 20 { 0.9..=1.1 } else { 0.65..=1.1 };
        let is_near = |(sent, expected): (u64, u64)| within.contains(&(sent as f64 / expected as f64));
        if !sent.into_iter().zip(expected).all(is_near) {
            wrong.push(format!("{sent:?}, expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

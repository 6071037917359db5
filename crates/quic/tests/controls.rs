//! Congestion controls of the product and of the stack: 10 MB over GEO, 20/2 Mbit/s, windows of 8 MB.

use crate::path::{transfer, Done, Path, Way};
use bentpipe_cc::keys::ByteCounting;
use bentpipe_cc::{CcConfig, CcKind, HyblaSettings, HyblaWindow};
use bentpipe_sim::spec::{Quic, QuicCc, QuicInitialWindow, QuicWindow};

const MB: u64 = 1_000_000;

fn run(cc: QuicCc, byte_counting: ByteCounting, initial_window: QuicInitialWindow) -> Done {
    let window = QuicWindow::Bytes(8 * MB);
    let quic =
        Quic { cc, byte_counting, initial_window, stream_window: window, connection_window: window, ..Quic::default() };
    transfer(&quic, Path::geo(20.0, 2.0), 10 * MB, Way::Download, 200)
}

fn house(kind: CcKind) -> QuicCc {
    QuicCc::House(CcConfig::from(kind))
}

/// Hybla with the initial window of the connection. Its usual one, 24 packets over 600 ms, saves a round trip of slow start.
fn plain_hybla() -> QuicCc {
    let settings = HyblaSettings { initial_window: HyblaWindow::Connection, ..HyblaSettings::default() };
    QuicCc::House(CcConfig::Hybla(settings))
}

#[test]
fn times_are_those_of_the_specification() {
    let all = [
        ("cubic, RFC 5681", house(CcKind::Cubic), ByteCounting::Rfc5681, 11.41),
        ("cubic", house(CcKind::Cubic), ByteCounting::UbcPure, 8.92),
        ("bbr3", house(CcKind::Bbr3), ByteCounting::UbcPure, 9.94),
        ("hybla of 10 packets", plain_hybla(), ByteCounting::UbcPure, 9.13),
        ("stack-cubic", QuicCc::StackCubic, ByteCounting::UbcPure, 9.10),
        ("stack-newreno", QuicCc::StackNewReno, ByteCounting::UbcPure, 9.18),
    ];
    let mut wrong = Vec::new();
    for (name, cc, counting, expected) in all {
        // The stack's own congestion controls begin with 12,000 B.
        let initial = match cc {
            QuicCc::House(_) => QuicInitialWindow::Packets(10),
            _ => QuicInitialWindow::Bytes(12_000),
        };
        let done = run(cc, counting, initial);
        let line = format!(
            "{name}: {:.2} s, expected {expected}; lost {}, packets {}",
            done.time(),
            done.dropped[1],
            done.packets
        );
        if (done.time() / expected - 1.0).abs() > 0.02 {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

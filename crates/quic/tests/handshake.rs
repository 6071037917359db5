//! Handshakes over GEO, 300 ms each way.

use crate::path::{transfer, Done, Path, Way};
use bentpipe_sim::spec::{Quic, QuicHandshake};
use bentpipe_units::Duration;

fn open(quic: &Quic) -> Done {
    transfer(quic, Path::geo(20.0, 2.0), 1000, Way::Download, 60)
}

/// RFC 9000 §8.1: a server sends at most three times what it has received.
#[test]
fn a_long_flight_costs_a_round_trip() {
    for (flight, round_trips) in [(900, 1.0), (4000, 1.0), (7000, 2.0)] {
        let done = open(&Quic { handshake: QuicHandshake { flight, ..QuicHandshake::default() }, ..Quic::default() });
        assert!((done.handshake - 0.6 * round_trips).abs() < 0.02, "{flight} B: {}", done.handshake);
    }
}

/// A probe timeout that is shorter than the path retransmits the handshake repeatedly. Three times 333 ms are longer.
#[test]
fn an_initial_round_trip_below_the_path_costs_probes() {
    let opener = |ms| {
        let quic = Quic { initial_rtt: Duration::from_millis(ms), ..Quic::default() };
        open(&quic).packets
    };
    let (short, standard, known) = (opener(100), opener(333), opener(600));
    assert!(short >= standard + 10, "{short} {standard}");
    assert_eq!(standard, known);
}

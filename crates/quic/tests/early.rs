//! Resumed sessions, early data and address tokens: 100 kB over GEO, 20/2 Mbit/s.

use crate::path::{transfer, Done, Path, Way};
use bentpipe_sim::spec::{Quic, QuicCc, QuicHandshake, QuicInitialWindow, QuicResume};

fn load(handshake: QuicHandshake, initial_window: QuicInitialWindow) -> Done {
    let quic = Quic { cc: QuicCc::StackCubic, handshake, initial_window, ..Quic::default() };
    transfer(&quic, Path::geo(20.0, 2.0), 100_000, Way::EarlyDownload, 60)
}

const FRESH: QuicHandshake =
    QuicHandshake { flight: 900, resume: QuicResume::No, accepted: true, address_token: false, retry: false };
const EARLY: QuicHandshake = QuicHandshake { resume: QuicResume::ZeroRtt, ..FRESH };

/// The times of the specification, whose stack began with 12,000 B. It had a longer flight in a resumed session.
#[test]
fn early_data_saves_a_round_trip_with_an_address_token() {
    let window = QuicInitialWindow::Bytes(12_000);
    let token = QuicHandshake { address_token: true, ..EARLY };
    let large = QuicInitialWindow::Bytes(120_000);
    let times = [
        (FRESH, window, 3.07),
        (EARLY, window, 2.79),
        (token, window, 2.56),
        (token, large, 0.83),
        (EARLY, large, 1.54),
    ];
    let done = times.map(|(handshake, window, _)| load(handshake, window));
    for (done, (.., expected)) in done.iter().zip(times) {
        assert!((done.time() / expected - 1.0).abs() < 0.04, "{} {expected}", done.time());
    }
    assert!((done[1].first_byte - 0.606).abs() < 0.01 && (done[0].first_byte - 1.211).abs() < 0.01);
}

/// All bytes arrive once, and no later than without early data.
#[test]
fn refused_early_data_is_sent_again() {
    let window = QuicInitialWindow::Packets(10);
    let fresh = load(FRESH, window).time();
    let refused = load(QuicHandshake { accepted: false, ..EARLY }, window).time();
    assert!(refused <= 1.01 * fresh, "{refused} {fresh}");
}

/// A Retry packet costs a round trip, unless the client has a token.
#[test]
fn a_retry_costs_a_round_trip() {
    let window = QuicInitialWindow::Packets(10);
    let plain = load(FRESH, window).handshake;
    let retry = load(QuicHandshake { retry: true, ..FRESH }, window).handshake;
    let token = load(QuicHandshake { retry: true, address_token: true, ..FRESH }, window).handshake;
    assert!((retry - plain - 0.6).abs() < 0.02 && (token - plain).abs() < 0.01, "{plain} {retry} {token}");
}

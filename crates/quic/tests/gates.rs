//! Uploads of 100 MB, as in the satellite tests of picoquic: 300 ms each way.
//!
//! The bounds are ours. Doubling from ten packets to 18.75 MB, a window of 250 Mbit/s, takes 9.6 s, so 6.5 s need another
//! start. Picoquic's seeded CUBIC jumps to its whole saved window.

use crate::path::{transfer, Path, Way};
use bentpipe_cc::{CcConfig, CcKind};
use bentpipe_sim::spec::{Quic, QuicCc, QuicInitialWindow, QuicWindow};

const MB: u64 = 1_000_000;

/// Bounds in seconds. The return path of 3 Mbit/s loses a third of the ACKs. The windows of `auto` then bound the rate, windows of
/// 64 MB do not.
#[test]
fn uploads_are_within_their_bounds() {
    let seeded = QuicInitialWindow::Bdp(500_000);
    let plain = QuicInitialWindow::Packets(10);
    let (auto, wide) = (QuicWindow::Auto, QuicWindow::Bytes(64 * MB));
    let mut lines = Vec::new();
    let mut is_wrong = false;
    for (up, down, initial_window, window, bound) in [
        (250.0, 3.0, plain, auto, 12.3),
        (250.0, 3.0, plain, wide, 11.0),
        (250.0, 3.0, seeded, wide, 4.9),
        (10.0, 2.0, plain, auto, 88.0),
        (2.0, 10.0, plain, auto, 421.0),
    ] {
        let cc = QuicCc::House(CcConfig::from(CcKind::Cubic));
        let quic = Quic { cc, initial_window, stream_window: window, ..Quic::default() };
        let done = transfer(&quic, Path::geo(down, up), 100 * MB, Way::Upload, 600);
        lines.push(format!(
            "{up}/{down} {window:?} {initial_window:?}: {:.2} s, {bound}; {:?}",
            done.time(),
            done.dropped
        ));
        is_wrong |= done.time() > bound;
    }
    assert!(!is_wrong, "{lines:#?}");
}

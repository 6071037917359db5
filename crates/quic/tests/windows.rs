//! Windows of flow control, and the order of reading.

use crate::path::{transfer, Path, Way};
use bentpipe_sim::spec::{Quic, QuicCc, QuicRead, QuicWindow};

const MB: u64 = 1_000_000;

fn with_window(bytes: u64) -> Quic {
    Quic { cc: QuicCc::StackCubic, stream_window: QuicWindow::Bytes(bytes), ..Quic::default() }
}

/// One window per round trip: 1.25 MB each 0.6 s.
#[test]
fn a_small_window_bounds_the_rate() {
    let done = transfer(&with_window(1_250_000), Path::geo(250.0, 3.0), 100 * MB, Way::Download, 100);
    assert!((done.time() / 59.2 - 1.0).abs() < 0.01, "{}", done.time());
    let wide = transfer(
        &Quic { cc: QuicCc::StackCubic, ..Quic::default() },
        Path::geo(250.0, 3.0),
        100 * MB,
        Way::Download,
        100,
    );
    assert!(wide.time() < 15.0, "{}", wide.time());
}

/// The stack holds at most 1024 pieces behind gaps.
#[test]
fn many_gaps_end_an_ordered_reader() {
    let run =
        |read| transfer(&Quic { read, ..with_window(11_250_000) }, Path::geo(50.0, 10.0), 100 * MB, Way::Download, 100);
    let ordered = run(QuicRead::Ordered);
    assert!(ordered.failed.as_ref().is_some_and(|reason| reason.contains("too many gaps")), "{ordered:?}");
    let unordered = run(QuicRead::Unordered).time();
    assert!((unordered / 22.3 - 1.0).abs() < 0.02, "{unordered}");
}

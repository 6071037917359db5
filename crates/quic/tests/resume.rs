//! Careful resume: downloads over GEO, with the path that an earlier connection saved.

use crate::network::run;
use crate::path::{transfer, Done, Path, Way};
use bentpipe_cc::keys::{CarefulResume, SavedRtt, SavedWindow};
use bentpipe_sim::spec::{Quic, QuicWindow};
use bentpipe_units::Duration;

const MB: u64 = 1_000_000;

fn load(path: Path, megabytes: u64, careful_resume: Option<CarefulResume>) -> Done {
    let window = QuicWindow::Bytes(64 * MB);
    let quic = Quic { careful_resume, stream_window: window, connection_window: window, ..Quic::default() };
    transfer(&quic, path, megabytes * MB, Way::Download, 100)
}

fn saved(millionths: u64) -> Option<CarefulResume> {
    Some(CarefulResume { saved: SavedWindow::Bdp(millionths), ..CarefulResume::default() })
}

/// The times of the specification, whose windows were 8 MB at 20 Mbit/s. A saved window that is 12 times too large costs
/// losses, and is no slower than none.
#[test]
fn a_saved_path_saves_the_time_of_slow_start() {
    let (fast, slow) = (Path::geo(250.0, 3.0), Path::geo(20.0, 2.0));
    let mut wrong = Vec::new();
    for (path, megabytes, resume, expected) in [
        (fast, 100, None, 10.39),
        (slow, 10, saved(1_000_000), 6.33),
        (slow, 2, None, 5.58),
        (slow, 2, saved(1_000_000), 2.99),
    ] {
        let done = load(path, megabytes, resume);
        let line =
            format!("{megabytes} MB, {resume:?}: {:.2} s, expected {expected}; lost {}", done.time(), done.dropped[1]);
        if (done.time() / expected - 1.0).abs() > 0.03 {
            wrong.push(line);
        }
    }
    // The first data arrives at 1.2 s, the jump to 9.4 MB leaves from 1.5 s on, and from 2.7 s on the path is full: 72 MB then
    // take 2.3 s, and arrive after 0.3 s. The specification has 6.76 s, without growth while data of the jump arrives.
    let full = load(fast, 100, saved(1_000_000)).time();
    if !(5.3..6.76).contains(&full) {
        wrong.push(format!("{full:.2} s at 250 Mbit/s"));
    }
    for megabytes in [2, 10] {
        let [none, much] = [None, saved(12_000_000)].map(|resume| load(slow, megabytes, resume).time());
        if much > none {
            wrong.push(format!("{megabytes} MB: {much:.2} s with too large a window, {none:.2} s without"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// RFC 9959 §3.2: a round trip below half of the saved one is another path.
#[test]
fn a_path_with_another_round_trip_is_not_resumed() {
    let path = Path::geo(20.0, 2.0);
    let of = |rtt| saved(1_000_000).map(|resume| CarefulResume { saved_rtt: SavedRtt::Time(rtt), ..resume });
    let other = load(path, 2, of(Duration::from_millis(1300))).hash;
    assert_eq!(other, load(path, 2, None).hash);
    assert_ne!(other, load(path, 2, of(Duration::from_millis(1100))).hash);
}

/// The first connection saves the path, and the second one jumps. Without careful resume, both take the same time.
#[test]
fn a_connection_resumes_the_path_of_the_one_before() {
    let flow = "app = { kind = 'request-response', request = '100 B', response = '2 MB', think = '5 s', reconnect = true, count = 2 }";
    let times = |quic: &str| {
        let result = run(&format!("{flow}\nquic = {{ {quic} }}"), "");
        assert_eq!(result.flows.text("outcome"), ["completed"]);
        result.transfers.real("duration_s").to_vec()
    };
    let (plain, resumed) = (times(""), times("careful_resume = 'on'"));
    assert_eq!(plain[0], resumed[0]);
    assert!((plain[1] / plain[0] - 1.0).abs() < 0.05, "{plain:?}");
    // The first one ends in slow start after a round of about 460 kB. A jump to half of it saves four rounds of 0.6 s, less the
    // round trip in which it is checked and the one in which it is proven.
    assert!(resumed[1] < plain[1] - 1.2, "{plain:?} {resumed:?}");
}

/// Only congestion controls with a window that can be set.
#[test]
fn impossible_combinations_are_refused() {
    use bentpipe_sim::scenario::from_toml;
    for (quic, reason) in [
        ("cc = 'bbr3', careful_resume = 'on'", "sets a window, and cc \"bbr3\" does not let it"),
        ("cc = 'stack-cubic', careful_resume = 'on'", "sets a window, and cc \"stack-cubic\" does not let it"),
        ("cc = 'none', careful_resume = 'on'", "sets a window, and cc \"none\" does not let it"),
        ("careful_resume = { kind = 'on', saved = '0 B' }", "expected at least one segment"),
        ("careful_resume = { kind = 'on', lifetime = '0 s' }", "expected more than 0 s"),
    ] {
        let text = format!(
            "duration = '1 s'\n[link.l]\nfrom = 'a'\nto = 'b'\nrate = '1 Mbit/s'\ndelay = '1 ms'\n[flow.f]\nfrom = 'a'\nto = 'b'\nquic = {{ {quic} }}"
        );
        let problems = from_toml(&text, "test", &[]).unwrap_err().to_string();
        assert!(problems.contains(reason), "{quic}: {problems}");
    }
}

//! Changes of the client's address, and acknowledgements that a sender asks for.

use crate::path::{transfer, Done, Path, Way};
use bentpipe_sim::spec::{Quic, QuicAckFrequency, QuicCc, QuicChange, QuicMigration};
use bentpipe_units::{Duration, Time};

const MB: u64 = 1_000_000;

fn migrating(times: &[u64], change: QuicChange, bytes: u64) -> Done {
    let times: Vec<Time> = times.iter().map(|s| Time::ZERO + Duration::from_secs(*s)).collect();
    let migration = if times.is_empty() { QuicMigration::Off } else { QuicMigration::At { times, change } };
    let quic = Quic { cc: QuicCc::StackCubic, migration, ..Quic::default() };
    transfer(&quic, Path::geo(20.0, 2.0), bytes, Way::Download, 400)
}

/// 20 MB over GEO, a change at 6 s.
#[test]
fn a_new_address_costs_more_than_a_new_port() {
    let none = migrating(&[], QuicChange::Rebinding, 20 * MB);
    let port = migrating(&[6], QuicChange::Rebinding, 20 * MB);
    let host = migrating(&[6], QuicChange::Address, 20 * MB);
    assert!(none.time() < port.time() && port.time() < host.time());
    assert!((port.time() / none.time() - 14.35 / 13.57).abs() < 0.03, "{} {}", port.time(), none.time());
    assert!(port.counters[1].path_challenges >= 1 && host.counters[1].path_challenges >= 1);
}

/// A hundred changes in a hundred seconds: all bytes arrive.
#[test]
fn a_hundred_changes_are_survived() {
    let times: Vec<u64> = (2..102).collect();
    for change in [QuicChange::Rebinding, QuicChange::Address] {
        let done = migrating(&times, change, 10 * MB);
        assert!(done.done.is_some(), "{done:?}");
    }
}

/// RFC 9000 §9: no change before the handshake is confirmed, which is after 1.2 s here. Changes before are held until then.
#[test]
fn a_change_in_the_handshake_waits_for_its_end() {
    for change in [QuicChange::Rebinding, QuicChange::Address] {
        for ms in [&[0][..], &[100], &[100, 650], &[1100]] {
            let times = ms.iter().map(|ms| Time::ZERO + Duration::from_millis(*ms)).collect();
            let migration = QuicMigration::At { times, change };
            let quic = Quic { cc: QuicCc::StackCubic, migration, ..Quic::default() };
            let done = transfer(&quic, Path::geo(20.0, 2.0), MB, Way::Download, 60);
            assert!(done.done.is_some(), "{change:?} {ms:?} {done:?}");
            // An address from the start is none that changes.
            assert_eq!(done.counters[1].path_challenges > 0, ms != [0], "{change:?} {ms:?}");
        }
    }
}

/// 100 MB at 250 Mbit/s: an ACK for ten packets in place of two.
#[test]
fn acks_are_as_rare_as_asked() {
    let run = |every: Option<u32>| {
        let asked = every.map(|every| QuicAckFrequency { every, ..QuicAckFrequency::default() });
        let quic = Quic { cc: QuicCc::StackCubic, ack_frequency: asked, ..Quic::default() };
        transfer(&quic, Path::geo(250.0, 3.0), 100 * MB, Way::Download, 100)
    };
    let (usual, rare, rarer) = (run(None), run(Some(10)), run(Some(11)));
    let acks = |done: &Done| done.counters[0].acks;
    // 100 MB are 70,700 packets, so that one ACK for ten is 7,070 ACKs. Those behind a gap come at once. An ACK for eleven, a
    // threshold of ten in the extension, is below 7,000.
    assert!((7_070..7_600).contains(&acks(&rare)) && acks(&rarer) < 7_000 && acks(&usual) > 15_000);
    // Without loss: a rate below the path's, by the window.
    let window = bentpipe_sim::spec::QuicWindow::Bytes(2 * MB);
    let asked = Some(QuicAckFrequency::default());
    let quic = Quic { cc: QuicCc::StackCubic, ack_frequency: asked, stream_window: window, ..Quic::default() };
    let done = transfer(&quic, Path::geo(250.0, 3.0), 50 * MB, Way::Download, 100);
    let expected = done.counters[1].sent_datagrams as f64 / 10.0;
    assert!((acks(&done) as f64 / expected - 1.0).abs() < 0.1, "{} {expected}", acks(&done));
}

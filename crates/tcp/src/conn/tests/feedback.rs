//! Interpretation of a loss by the advertised window (`docs/specs/refwa-plus.md`).

use super::*;
use crate::config::{DuplicateAcks, Feedback, RefwaPlus, Resend, Trigger};

const PLUS: RefwaPlus = RefwaPlus {
    tolerance: 0.0,
    trigger: Trigger::Both,
    resend: Resend::Bulk,
    bulk_paced: false,
    rto: None,
    rto_hold: true,
};

/// A sender with a window of 20 segments in use, all of them told by the network.
fn sender(plus: RefwaPlus, change: impl FnOnce(&mut Config)) -> Bench {
    let mut bench = Bench::new(CcKind::NewReno, 40, |config| {
        config.feedback = Feedback::RefwaPlus(plus);
        config.duplicate_acks = DuplicateAcks::AnyWindow;
        config.window_scaling = false;
        change(config);
    });
    bench.send(1);
    bench.at(Time::ZERO + Duration::from_millis(100));
    told(&mut bench, 1, 20_000, &[]);
    assert_eq!(bench.send(60).len(), 20);
    bench.events();
    bench.at(Time::ZERO + Duration::from_millis(200));
    bench
}

/// An ACK of all segments below `ack`, in which the network has written this window. Returns the segments that leave.
fn told(bench: &mut Bench, ack: u64, window: u64, sack: &[(u64, u64)]) -> Vec<u64> {
    let mut segment = bench.peer_segment(ack * SMSS);
    let mut blocks = SackBlocks::default();
    for &(left, right) in sack {
        let wire = &bench.conn.tcb.wire;
        blocks.push(wire.ours(left * SMSS), wire.ours(right * SMSS));
    }
    segment.options = if sack.is_empty() { Options::None } else { Options::Sack(blocks) };
    let shift = bench.conn.tcb.cx.agreed.snd_shift;
    segment.window = (window >> shift) as u16;
    bench.conn.handle(bench.now, &segment);
    bench.leaving()
}

fn duplicates(bench: &mut Bench, window: u64) -> Vec<u64> {
    (0..3).flat_map(|_| told(bench, 1, window, &[])).collect()
}

fn is_error(bench: &mut Bench) -> bool {
    bench.events().iter().any(|event| matches!(event, Event::LinkError(_)))
}

fn windows(bench: &Bench) -> (u64, u64) {
    (bench.conn.cwnd(), bench.conn.ssthresh().unwrap())
}

/// Tests 1 and 4: all 20 segments again, at once.
#[test]
fn a_window_that_has_not_fallen_shows_a_link_error_and_all_is_sent_again() {
    let mut bench = sender(PLUS, |_| {});
    let resent = duplicates(&mut bench, 20_000);
    assert_eq!(resent, (1..=20).collect::<Vec<_>>());
    assert_eq!((windows(&bench), is_error(&mut bench)), ((20_000, 20_000), true));
}

/// Test 2.
#[test]
fn a_window_that_has_fallen_means_congestion_unless_the_tolerance_allows_it() {
    for (tolerance, expected) in [(0.0, false), (0.06, true)] {
        let mut bench = sender(RefwaPlus { tolerance, ..PLUS }, |_| {});
        duplicates(&mut bench, 19_000);
        assert_eq!(is_error(&mut bench), expected, "{tolerance}");
        assert_eq!(windows(&bench).1, if expected { 19_000 } else { 10_000 });
    }
}

/// Test 4 with SACK: the three that are missing.
#[test]
fn with_sack_only_holes_are_sent_again() {
    let mut bench = sender(PLUS, |config| config.recovery = losses::sack(SackOnRto::Keep));
    let mut left = told(&mut bench, 1, 20_000, &[(2, 5)]);
    left.extend(told(&mut bench, 1, 20_000, &[(9, 15), (6, 8), (2, 5)]));
    assert_eq!(left, [1, 5, 8]);
    assert!(is_error(&mut bench));
}

/// Otherwise the next reduction would count the losses as errors taken for congestion.
#[test]
fn a_link_error_is_a_decision_not_to_reduce() {
    let mut bench = sender(PLUS, |_| {});
    duplicates(&mut bench, 20_000);
    let decisions = |bench: &mut Bench| {
        let is_decision = |event: &Event| matches!(event, Event::Reduction(_) | Event::NoReduction(_));
        bench.events().into_iter().filter(is_decision).collect::<Vec<_>>()
    };
    let until = 21 * SMSS;
    assert_eq!(decisions(&mut bench), [Event::NoReduction(until)]);
    // Retransmissions in the next round trip are of the same kind, but a falling window is not.
    bench.at(bench.now + Duration::from_millis(200));
    told(&mut bench, 5, 20_000, &[]);
    assert!(matches!(decisions(&mut bench)[..], [Event::NoReduction(_)]));
    told(&mut bench, 8, 12_000, &[]);
    assert!(matches!(decisions(&mut bench)[..], [Event::Reduction(_)]));
}

/// Test 3: the timeout does not double; NewReno's does.
#[test]
fn timeouts_in_the_state_of_an_error_do_not_double() {
    for (feedback, waits) in [(true, [500, 500]), (false, [500, 1000])] {
        let rto = Some(Duration::from_millis(500)).filter(|_| feedback);
        let mut bench = sender(RefwaPlus { rto, ..PLUS }, |config| {
            config.rto = RtoConfig { min: Duration::from_millis(500), granularity: Duration::ZERO, ..config.rto };
            if !feedback {
                config.feedback = Feedback::Off;
            }
        });
        let mut expiries = vec![Time::ZERO + Duration::from_millis(100)];
        for _ in 0..2 {
            bench.wake_up();
            expiries.push(bench.now);
        }
        let found: Vec<_> = expiries.windows(2).map(|pair| (pair[1] - pair[0]).as_ps() / 1_000_000_000).collect();
        assert_eq!(found, waits);
    }
}

#[test]
fn after_a_timeout_one_segment_probes_and_its_ack_opens_the_window() {
    let mut bench = sender(PLUS, |_| {});
    assert_eq!(bench.wake_up(), [1]);
    assert_eq!(windows(&bench), (1000, 20_000));
    assert!(told(&mut bench, 2, 20_000, &[]).len() > 15);
    let mut plain = sender(RefwaPlus { rto_hold: false, ..PLUS }, |_| {});
    plain.wake_up();
    assert_eq!(windows(&plain), (1000, 10_000));
}

#[test]
fn partial_acks_judge_alone_where_asked_to() {
    let mut bench = sender(RefwaPlus { trigger: Trigger::Partial, ..PLUS }, |_| {});
    assert_eq!(duplicates(&mut bench, 20_000), [1]);
    assert_eq!((windows(&bench).1, is_error(&mut bench)), (10_000, false));
    let resent = told(&mut bench, 5, 20_000, &[]);
    assert_eq!(resent[..16], (5..=20).collect::<Vec<_>>());
    assert_eq!((windows(&bench), is_error(&mut bench)), ((20_000, 20_000), true));
    // Congestion after all.
    told(&mut bench, 8, 12_000, &[]);
    assert!(windows(&bench).1 < 20_000);
}

/// Each of them began another retransmission, until it filled half of a link.
#[test]
fn duplicates_of_what_was_sent_again_needlessly_begin_no_recovery() {
    let mut bench = sender(PLUS, |_| {});
    duplicates(&mut bench, 20_000);
    told(&mut bench, 21, 20_000, &[]);
    for _ in 0..19 {
        told(&mut bench, 21, 20_000, &[]);
    }
    assert_eq!(bench.conn.counters().fast_retransmits, 1);
}

#[test]
fn what_is_sent_again_is_spread_over_a_round_trip() {
    let mut bench = sender(RefwaPlus { bulk_paced: true, ..PLUS }, |_| {});
    assert_eq!(duplicates(&mut bench, 20_000), [1]);
    let began = bench.now;
    let paced: Vec<_> = (0..19).flat_map(|_| bench.wake_up()).collect();
    assert_eq!(paced, (2..=20).collect::<Vec<_>>());
    assert_eq!(bench.now - began, Duration::from_millis(95));
}

/// RFC 5681 §2 does not count a duplicate ACK with another window; it must on a path where nodes rewrite windows.
#[test]
fn duplicates_with_other_windows_count_where_asked_to() {
    for (counted, found) in [(DuplicateAcks::AnyWindow, 1), (DuplicateAcks::SameWindow, 0)] {
        let mut bench = sender(PLUS, |config| {
            config.feedback = Feedback::Off;
            config.duplicate_acks = counted;
        });
        for window in [19_000, 18_000, 17_000] {
            told(&mut bench, 1, window, &[]);
        }
        assert_eq!(bench.conn.counters().fast_retransmits, found);
    }
}

//! The specs' worked cases, in whole segments.

pub(super) mod bench;

mod count_acks;
mod ecn;
mod feedback;
mod growth;
mod hooks;
mod hostile_peer;
mod idle;
mod in_flight;
mod losses;
mod notices;
mod opening;
mod pacing;
mod plain;
mod polls;
mod probe_segments;
mod random;
mod rapid;
mod records;
mod requirements;
mod resume;
mod snack;
mod windows;

use super::*;
use crate::config::*;
use crate::segment::{Options, SackBlocks};
use bench::{exchange, leave, Bench, Fate, Pair, SMSS};
use bentpipe_cc::CcKind;

const NONE: [u64; 0] = [];

/// `docs/specs/tcp-reno.md`, test 1: segment 0 of ten is lost.
#[test]
fn rfc5681_3_2_fast_recovery() {
    let mut s = Bench::new(CcKind::Reno, 10, |_| ());
    assert_eq!(s.send(20), Vec::from_iter(0..10));
    assert_eq!([s.ack(0, &[]), s.ack(0, &[])], [NONE; 2]);
    assert_eq!((s.ack(0, &[]), s.ssthresh(), s.cwnd()), (vec![0], 5, 8));
    assert_eq!([s.ack(0, &[]), s.ack(0, &[])], [NONE; 2]);
    assert_eq!(s.cwnd(), 10);
    assert_eq!([(); 4].map(|()| s.ack(0, &[])), [[10], [11], [12], [13]]);
    assert_eq!((s.ack(10, &[]), s.cwnd()), (vec![14], 5));
}

/// `docs/specs/tcp-newreno.md`: segments 0 and 1 of ten are lost.
#[test]
fn rfc6582_3_2_partial_and_full_acks() {
    let mut s = Bench::new(CcKind::NewReno, 10, |_| ());
    s.send(30);
    assert_eq!(
        [(); 8].map(|()| s.ack(0, &[])),
        [vec![], vec![], vec![0], vec![], vec![], vec![10], vec![11], vec![12]]
    );
    assert_eq!((s.ssthresh(), s.cwnd()), (5, 13));
    assert_eq!((s.ack(1, &[]), s.cwnd()), (vec![1, 13], 13));
    assert_eq!([(); 3].map(|()| s.ack(1, &[])), [[14], [15], [16]]);
    assert_eq!(s.cwnd(), 16);
    s.conn.tcb.sender.space.offered = 17 * SMSS; // So that no new data hide the window.
    assert_eq!((s.ack(13, &[]), s.cwnd()), (vec![], 5));
}

#[test]
fn rfc6582_3_2_impatient_restarts_the_timer_once() {
    for (timer, restarts) in [(NewRenoTimer::Impatient, [true, false]), (NewRenoTimer::SlowButSteady, [true, true])] {
        let recovery = Recovery::NewReno(NewReno { timer, ..NewReno::default() });
        let mut s = Bench::new(CcKind::NewReno, 10, |config| config.recovery = recovery);
        s.send(30);
        (0..3).for_each(|_| drop(s.ack(0, &[])));
        let restarted = [1, 2].map(|ack| {
            let before = s.conn.tcb.sender.rtt.armed_at();
            s.now += Duration::from_millis(100);
            s.ack(ack, &[]);
            s.conn.tcb.sender.rtt.armed_at() > before
        });
        assert_eq!(restarted, restarts, "{timer:?}");
    }
}

/// Duplicates of data from before the last episode prove nothing (RFC 6582 §3.2 step 2).
#[test]
fn rfc6582_3_2_no_second_episode_below_recover() {
    let mut s = Bench::new(CcKind::NewReno, 10, |_| ());
    s.send(30);
    assert_eq!(s.time_out(), [0]);
    assert_eq!(s.ack(1, &[]), [1, 2]);
    let before = s.conn.counters().fast_retransmits;
    (0..5).for_each(|_| drop(s.ack(1, &[])));
    assert_eq!(s.conn.counters().fast_retransmits, before);
}

/// `docs/specs/tcp-tahoe-tcpmin.md`, test 2: segment 7 of 7..14 is lost; only the timer finds it.
#[test]
fn tcpmin_waits_for_the_timer() {
    let mut s = Bench::new(CcKind::TcpMin, 8, |_| ());
    assert_eq!(s.send(30), Vec::from_iter(0..8));
    assert_eq!([(); 7].map(|()| s.ack(0, &[])), [NONE; 7]);
    assert_eq!((s.time_out(), s.ssthresh(), s.cwnd()), (vec![0], 4, 1));
    assert_eq!((s.ack(8, &[]), s.cwnd()), (vec![8, 9], 2));
}

/// Test 3: Tahoe retransmits on the third duplicate.
#[test]
fn tahoe_restarts_from_the_hole() {
    let mut s = Bench::new(CcKind::Tahoe, 8, |_| ());
    s.send(30);
    assert_eq!([(); 4].map(|()| s.ack(0, &[])), [vec![], vec![], vec![0], vec![]]);
    assert_eq!((s.ssthresh(), s.cwnd()), (4, 1));
    // Go-back-N: outstanding data is retransmitted in slow start.
    assert_eq!((s.ack(1, &[]), s.cwnd()), (vec![1, 2], 2));
    assert_eq!(s.ack(8, &[]), [8, 9, 10]);
}

/// Test 1: the window doubles each round.
#[test]
fn rfc5681_3_1_slow_start_doubles() {
    let mut s = Bench::new(CcKind::Tahoe, 1, |_| ());
    let mut flight = s.send(100);
    let mut next = 0;
    let rounds: Vec<i64> = (0..4)
        .map(|_| {
            let cwnd = s.cwnd();
            flight = std::mem::take(&mut flight)
                .into_iter()
                .flat_map(|_| {
                    next += 1;
                    s.ack(next, &[])
                })
                .collect();
            cwnd
        })
        .collect();
    assert_eq!(rounds, [1, 2, 4, 8]);
}

/// `docs/specs/limited-transmit.md`.
#[test]
fn rfc3042_2_two_new_segments() {
    let mut s = Bench::new(CcKind::NewReno, 4, |config| config.limited_transmit = true);
    s.send(30);
    assert_eq!([(); 3].map(|()| s.ack(0, &[])), [[4], [5], [0]]);
    assert_eq!(s.ssthresh(), 2);
}

#[test]
fn rfc3042_2_the_receivers_window_forbids_it() {
    let mut s = Bench::new(CcKind::NewReno, 4, |config| {
        config.limited_transmit = true;
        config.receive_buffer = 4 * SMSS;
    });
    assert_eq!(s.send(30), [0, 1, 2, 3]);
    assert_eq!([(); 3].map(|()| s.ack(0, &[])), [vec![], vec![], vec![0]]);
}

/// `docs/specs/tcp-sack.md`, test 1: 0 and 3 of ten are lost.
#[test]
fn rfc6675_5_two_losses_in_one_round() {
    let mut s = Bench::new(CcKind::Sack, 10, |_| ());
    s.send(30);
    assert_eq!([s.ack(0, &[(1, 2)]), s.ack(0, &[(1, 3)])], [NONE; 2]);
    assert_eq!((s.ack(0, &[(4, 5), (1, 3)]), s.ssthresh(), s.cwnd()), (vec![0], 5, 5));
    assert_eq!(s.conn.tcb.sender.pipe(), 7 * SMSS);
    assert_eq!((s.ack(0, &[(4, 6), (1, 3)]), s.conn.tcb.sender.pipe()), (vec![], 6 * SMSS));
    assert_eq!((s.ack(0, &[(4, 7), (1, 3)]), s.conn.tcb.sender.pipe()), (vec![3], 5 * SMSS));
    assert_eq!([8, 9, 10].map(|right| s.ack(0, &[(4, right), (1, 3)])), [[10], [11], [12]]);
    assert_eq!(s.ack(3, &[(4, 10)]), [13]);
    s.ack(10, &[]);
    assert_eq!((s.cwnd(), s.conn.tcb.sender.losses.is_repairing()), (5, false));
}

/// Test 2: the last segment is lost too; the rescue retransmission spares a timeout.
#[test]
fn rfc6675_4_rescue_of_the_tail() {
    let mut s = Bench::new(CcKind::Sack, 10, |_| ());
    s.send(10);
    (2..4).for_each(|right| drop(s.ack(0, &[(1, right)])));
    assert_eq!((s.ack(0, &[(1, 4)]), s.conn.tcb.sender.pipe()), (vec![0], 7 * SMSS));
    assert_eq!([5, 6, 7].map(|right| s.ack(0, &[(1, right)])), [NONE; 3]);
    assert_eq!(s.conn.tcb.sender.pipe(), 4 * SMSS);
    (8..10).for_each(|right| assert_eq!(s.ack(0, &[(1, right)]), NONE));
    assert_eq!(s.ack(9, &[]), [9]);
    s.ack(10, &[]);
    assert_eq!((s.conn.counters().timeouts, s.conn.tcb.sender.losses.is_repairing()), (0, false));
}

/// Test 4: after a timeout nothing below HighData starts recovery.
#[test]
fn rfc6675_5_1_no_recovery_below_the_timeout() {
    let mut s = Bench::new(CcKind::Sack, 20, |_| ());
    s.send(60);
    assert_eq!(s.time_out(), [0]);
    assert_eq!(s.ack(1, &[]), [1, 2]);
    (4..9).for_each(|right| drop(s.ack(1, &[(3, right)])));
    assert_eq!(s.conn.counters().fast_retransmits, 0);
    // Retransmission skips the data that the receiver holds.
    assert_eq!(s.ack(2, &[(3, 9)]), [9, 10]);
}

#[test]
fn rfc2018_8_discard_resends_what_was_reported() {
    for (on_rto, expected) in [(SackOnRto::Keep, [1, 4]), (SackOnRto::Discard, [1, 2])] {
        let mut s = Bench::new(CcKind::Sack, 10, |config| config.recovery = losses::sack(on_rto));
        s.send(30);
        s.ack(0, &[(2, 4)]);
        assert_eq!(s.time_out(), [0]);
        assert_eq!(s.ack(1, &[]), expected, "{on_rto:?}");
    }
}

/// `docs/specs/rto.md`, test 4: the timeout doubles from 0.4 s; after six retransmissions the connection dies.
#[test]
fn give_up_after_six_retransmissions() {
    let mut s = Bench::new(CcKind::Reno, 1, |config| {
        config.give_up = GiveUp::AfterRetransmissions(6);
        config.rto.initial = Duration::from_millis(400);
    });
    s.send(1);
    let mut sent = 1;
    while s.conn.state() != State::Closed {
        s.now = s.conn.next_wakeup();
        s.conn.handle_wakeup(s.now);
        sent += s.leaving().len();
    }
    // The reset is the last segment.
    assert_eq!((s.now, sent), (Time::ZERO + Duration::from_millis(50_800), 1 + 6 + 1));
    assert_eq!(std::iter::from_fn(|| s.conn.poll()).last(), Some(Event::Aborted(0)));
}

#[test]
fn rfc1122_4_2_3_5_give_up_after_a_time() {
    let mut s = Bench::new(CcKind::Reno, 1, |config| config.give_up = GiveUp::AfterTime(Duration::from_secs(100)));
    s.send(1);
    while s.conn.state() != State::Closed {
        s.now = s.conn.next_wakeup();
        s.conn.handle_wakeup(s.now);
        s.leaving();
    }
    // 1 + 2 + 4 + ... + 32, then 60 s each (the upper bound): the first retransmission was at 1 s.
    assert_eq!(s.now, Time::ZERO + Duration::from_secs(63 + 60));
}

#[test]
fn rfc5681_4_1_idle_restart() {
    let mut s = Bench::new(CcKind::Reno, 2, |_| ());
    s.send(40);
    for ack in 1..=40 {
        s.ack(ack, &[]);
    }
    assert!(s.cwnd() > 10);
    s.now += Duration::from_secs(30);
    assert_eq!(s.send(40), [40, 41]);
}

#[test]
fn unused_windows_do_not_grow_unless_asked_to() {
    for (cwnd_validation, expected) in [(CwndValidation::IfUsed, 4), (CwndValidation::Off, 14)] {
        let mut s = Bench::new(CcKind::Reno, 4, |config| config.cwnd_validation = cwnd_validation);
        for segment in 0..10 {
            s.send(1);
            s.ack(segment + 1, &[]);
        }
        assert_eq!(s.cwnd(), expected);
    }
}

/// A loss that the verdict blames on the link is repaired without reducing the window.
#[test]
fn link_errors_leave_the_window_alone() {
    use bentpipe_cc::verdict::VerdictKind::AlwaysLinkError;
    for cc in [CcKind::Tahoe, CcKind::Reno, CcKind::NewReno, CcKind::Sack] {
        let mut s = Bench::new(cc, 10, |config| config.verdict = AlwaysLinkError);
        s.send(40);
        let sent: Vec<u64> = (2..=10).flat_map(|right| s.ack(0, &[(1, right)])).collect();
        assert!(sent.contains(&0), "{}", cc.name());
        s.ack(10, &[]);
        assert!(s.cwnd() >= 10 && s.conn.ssthresh().is_none(), "{}", cc.name());
    }
}

#[test]
fn segments_shrink_in_mid_connection() {
    let mut s = Bench::new(CcKind::Sack, 10, |_| ());
    s.send(10);
    s.ack(0, &[(1, 3)]);
    s.conn.set_smss(500);
    s.time_out();
    let (mut data, mut largest) = (Vec::new(), 0);
    for half in 1..=20 {
        let segment = Segment { ack: s.conn.tcb.wire.iss.at(1 + half * 500), ..s.peer_segment(0) };
        s.conn.handle(s.now, &segment);
        while let Some(segment) = leave(&mut s.conn, s.now) {
            largest = largest.max(segment.len);
            data.push(segment);
        }
    }
    assert_eq!((largest, s.conn.flight_size()), (500, 0));
}

/// A timeout in fast recovery halves the data of recovery in the network, not all outstanding data.
#[test]
fn a_timeout_in_recovery_does_not_raise_ssthresh() {
    for cc in [CcKind::Reno, CcKind::NewReno, CcKind::Sack] {
        let mut s = Bench::new(cc, 20, |_| ());
        s.send(200);
        for right in 2..=20 {
            s.ack(0, &[(1, right)]);
        }
        let before = s.ssthresh();
        assert_eq!(before, 10, "{}", cc.name());
        s.time_out();
        assert_eq!(s.ssthresh(), 5, "{}", cc.name());
    }
}

//! Rapid start on a connection.

use super::*;
use bentpipe_cc::keys::RapidStart;

const RTT: Duration = Duration::from_millis(600);

/// A connection with much data after three round trips without a loss: 270 segments are outstanding.
fn tripled(cc: CcKind, slow_start: SlowStart) -> Bench {
    let mut s = Bench::new(cc, 10, |config| {
        config.recovery = Recovery::Rack(Rack { tlp: false, ..Rack::default() });
        config.growth.slow_start = slow_start;
    });
    s.send(10_000);
    for round in 1..=3 {
        s.at(Time::ZERO + RTT * round);
        let space = &s.conn.tcb.sender.space;
        (space.una / SMSS + 1..=space.nxt / SMSS).for_each(|ack| drop(s.ack(ack, &[])));
    }
    s.at(Time::ZERO + RTT * 4);
    s
}

/// Each third of the outstanding segments arrives, a millisecond after the last. Returns the segments that leave after each ACK.
fn thin(s: &mut Bench) -> Vec<usize> {
    let space = &s.conn.tcb.sender.space;
    let (first, end) = (space.una / SMSS, space.nxt / SMSS);
    let arrives: Vec<u64> = (first + 2..end).step_by(3).collect();
    let after_each = arrives.iter().enumerate().map(|(number, _)| {
        let blocks: Vec<(u64, u64)> = arrives[..=number].iter().rev().take(3).map(|&n| (n, n + 1)).collect();
        s.now += Duration::from_millis(1);
        s.ack(first, &blocks).len()
    });
    after_each.collect()
}

const RAPID: fn() -> SlowStart = || SlowStart::Rapid(RapidStart::default());

/// `docs/specs/search.md`: three times the window in each round trip.
#[test]
fn the_window_triples_in_each_round_trip() {
    for (slow_start, windows) in [(RAPID(), 270), (SlowStart::Standard, 80)] {
        let s = tripled(CcKind::Sack, slow_start);
        assert_eq!((s.conn.cwnd() / SMSS, s.conn.tcb.sender.board.flight_size() / SMSS), (windows, windows));
    }
}

/// Two thirds are lost. The window becomes the controller's share of the third that arrived, and does not change after it.
#[test]
fn the_window_converges_on_what_arrived() {
    for (cc, share) in [(CcKind::Sack, 0.5), (CcKind::Cubic, 0.7)] {
        let mut s = tripled(cc, RAPID());
        let left = thin(&mut s);
        let window = s.conn.cwnd() as f64 / SMSS as f64;
        assert!((window - share * 90.0).abs() < 3.0, "{cc:?} {window}");
        assert_eq!(s.conn.ssthresh(), Some(s.conn.cwnd()));
        // The first retransmission leaves; then the queue drains for a part of the round trip.
        let pause = left.iter().skip(4).take_while(|&&segments| segments == 0).count() as f64;
        assert!(pause / 90.0 > 0.7 * (1.0 - share) && pause / 90.0 < 1.1 * (1.0 - share), "{cc:?} {left:?}");
        let sent: usize = left.iter().sum();
        assert!(sent as f64 > 0.5 * window, "{left:?}");
        assert!(left.iter().skip(4).all(|&segments| segments <= 2), "no bursts: {left:?}");
        // Retransmissions that arrive are no news.
        let (before, una) = (s.conn.cwnd(), s.conn.tcb.sender.space.una / SMSS);
        s.now += RTT;
        (1..sent as u64 / 2).for_each(|n| drop(s.ack(una + n, &[(una + 299, una + 300)])));
        assert_eq!(s.conn.cwnd(), before);
    }
}

/// A threshold ended slow start before the first loss: the loss is the controller's.
#[test]
fn a_slow_start_that_ended_by_its_threshold_is_no_rapid_start() {
    let mut s = tripled(CcKind::Sack, RAPID());
    let una = s.conn.tcb.sender.space.una / SMSS;
    let nxt = s.conn.tcb.sender.space.nxt / SMSS;
    s.conn.tcb.sender.window.cc.set_window(270 * SMSS, 100 * SMSS);
    (una + 1..=nxt).for_each(|ack| drop(s.ack(ack, &[])));
    s.now += RTT;
    let window = s.conn.cwnd() / SMSS;
    thin(&mut s);
    assert!(s.conn.cwnd() / SMSS <= window / 2 && s.conn.cwnd() / SMSS >= window / 2 - 2, "{window}");
}

/// Reordering is no loss: after an undo the window is as before, and the next loss converges.
#[test]
fn an_undone_loss_leaves_rapid_start() {
    let mut s = Bench::new(CcKind::Sack, 10, |config| {
        config.recovery = Recovery::Rack(Rack { tlp: false, ..Rack::default() });
        config.growth.slow_start = RAPID();
        config.dsack = true;
        config.spurious_detection = SpuriousDetection::Dsack;
    });
    s.send(10_000);
    s.at(Time::ZERO + RTT);
    (1..=4).for_each(|ack| drop(s.ack(ack, &[])));
    let before = s.conn.cwnd();
    s.now += Duration::from_millis(1);
    (1..=3).for_each(|more| drop(s.ack(4, &[(5, 5 + more)])));
    assert!(s.conn.cwnd() < before);
    // The late original arrives, then the copy of its retransmission is reported.
    s.ack(8, &[]);
    s.ack(8, &[(4, 5)]);
    assert!(s.is_undone());
    assert!(s.conn.cwnd() >= before, "{} {before}", s.conn.cwnd());
    s.now += RTT;
    let space = &s.conn.tcb.sender.space;
    let flight = (space.nxt - space.una) / SMSS;
    thin(&mut s);
    let window = s.conn.cwnd() as f64 / SMSS as f64;
    assert!(window < 0.3 * flight as f64, "{window} {flight}");
}

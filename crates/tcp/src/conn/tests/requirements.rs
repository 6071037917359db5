//! Requirements of RFCs that no other test holds; the page of conformance lists them all.

use super::*;

#[test]
fn rfc5681_3_1_the_handshake_grows_no_window() {
    let config = Config { initial_window: InitialWindow::Segments(3), ..Config::default() };
    let a = Connection::new(config.clone(), Role::Active, Seq::new(7));
    let b = Connection::new(config, Role::Passive, Seq::new(9));
    let mut pair = Pair::open(a, b, Duration::from_millis(50));
    loop {
        pair.transmit(&|_| Fate::Deliver);
        if !pair.step() {
            break;
        }
    }
    let window = 3 * u64::from(Config::default().smss);
    for end in [&pair.a, &pair.b] {
        assert_eq!((end.state(), end.cwnd()), (State::Established, window));
    }
}

#[test]
fn rfc5681_3_1_the_window_may_fall_with_the_segment() {
    for (cwnd_unit, window) in [(CwndUnit::Bytes, 10_000), (CwndUnit::Packets, 5000)] {
        let mut s = Bench::new(CcKind::Reno, 10, |config| config.cwnd_unit = cwnd_unit);
        assert_eq!(s.send(20), Vec::from_iter(0..10));
        let seq = s.conn.tcb.wire.ours(0);
        s.conn.notify(s.now, Notice::TooBig { seq, len: 1000, mtu: 540 });
        assert_eq!((s.conn.tcb.sender.space.smss(), s.conn.cwnd()), (500, window), "{cwnd_unit:?}");
    }
}

/// In order, twice, above a hole, into it, and old.
#[test]
fn rfc5681_4_2_one_ack_for_a_segment() {
    for every in [1, 2] {
        let mut s = Bench::new(CcKind::Reno, 10, |config| config.ack.every = every);
        let arrivals = [(0, 1000), (1000, 2000), (1000, 2000), (3000, 4000), (5000, 6000), (2000, 3000), (0, 1000)];
        let mut acks = 0;
        for (start, end) in arrivals {
            s.data(start, end, Flags::ACK);
            let left = s.leaving().len();
            assert!(left <= 1, "{start}");
            acks += left;
        }
        assert!(acks >= arrivals.len() - every as usize);
    }
}

/// The window grows by a quarter of the smallest round trip with each duplicate that is reported, and no further than SRTT.
#[test]
fn rfc8985_6_2_the_reordering_window_is_at_most_srtt() {
    let ms = Duration::from_millis;
    for (duplicates, wait) in [(1, 50), (2, 75), (3, 100), (9, 100)] {
        let mut s = Bench::new(CcKind::Sack, 10, |config| {
            config.recovery = Recovery::Rack(Rack { tlp: false, ..Rack::default() });
            config.dsack = true;
        });
        for round in 1..=duplicates {
            s.send(1);
            s.at(Time::ZERO + ms(100 * round)).ack(round, &[(round - 1, round)]);
        }
        assert_eq!(s.conn.report().srtt(), Some(ms(100)));
        s.send(2);
        let (first, sent) = (duplicates, s.now);
        s.at(sent + ms(100)).ack(first, &[(first + 1, first + 2)]);
        // Lost once a round trip and the reordering window are over.
        assert_eq!(s.conn.next_wakeup() - sent, ms(100 + wait), "{duplicates}");
    }
}

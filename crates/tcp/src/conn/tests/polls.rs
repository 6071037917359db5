//! Polls instead of ACKs of data (STP, Henderson and Katz 1999): agreement, answers of the receiver, reactions of the
//! sender.

use super::*;
use crate::segment::SynOptions;

const HALF: Duration = Duration::from_millis(250);

fn stp(cc: CcKind) -> Config {
    let (cc, recovery) = (cc.into(), cc.recovery());
    Config { smss: SMSS as u32, cc, recovery, receive_buffer: 100 * SMSS, ..Config::default() }
}

/// A transfer over a path of half a second there and back; the k-th packet of all is lost if `is_lost`. Returns both
/// ends at its end, and its duration.
fn transfer(client: Config, server: Config, segments: u64, is_lost: impl Fn(u64) -> bool) -> (Pair, Duration) {
    let a = Connection::new(client, Role::Active, Seq::new(5));
    let mut pair = Pair::open(a, Connection::new(server, Role::Passive, Seq::new(77)), HALF);
    pair.a.offer(segments * SMSS);
    pair.a.close();
    let fate = |k| if is_lost(k) { Fate::Drop } else { Fate::Deliver };
    pair.transmit(&fate);
    let mut done = Time::NEVER;
    while pair.step() {
        pair.transmit(&fate);
        if pair.b.counters().delivered_bytes == segments * SMSS {
            done = done.min(pair.now);
        }
        assert!(pair.now < Time::ZERO + Duration::from_secs(300), "it stalls");
    }
    (pair, done - Time::ZERO)
}

/// Segments with data that leave, and how many polls.
fn sent(s: &mut Bench) -> (Vec<u64>, usize) {
    let first = s.conn.tcb.wire.iss.at(1);
    let mut polls = 0;
    let mut data = Vec::new();
    while let Some(segment) = leave(&mut s.conn, s.now) {
        if segment.len == 0 {
            polls += 1;
        } else {
            data.push(u64::from(segment.seq.value().wrapping_sub(first.value())) / SMSS);
        }
    }
    (data, polls)
}

/// Reno's receiver sends an ACK for two segments: 500 for a thousand. Polled, it sends three in a round trip and one for
/// each burst that fills the window, which is at most six.
#[test]
fn acks_follow_the_round_trips_and_not_the_data() {
    let (_, plain) = transfer(stp(CcKind::Sack), stp(CcKind::Sack), 1000, |_| false);
    let acks = |segments| {
        // Timestamps show the round trip of the poll, not that of data that waited for it.
        let config = Config { timestamps: true, ..stp(CcKind::Stp) };
        let (pair, took) = transfer(config.clone(), config, segments, |_| false);
        assert_eq!(pair.a.counters().retransmitted_segments, 0);
        (pair.b.counters().sent_segments, took.as_secs_f64() / 0.5)
    };
    let (few, rounds) = acks(1000);
    assert!((3.0 * rounds - 10.0..6.0 * rounds).contains(&(few as f64)), "{few} in {rounds} round trips");
    let (more, longer) = acks(3000);
    let per_round = (more - few) as f64 / (longer - rounds);
    assert!((2.5..3.5).contains(&per_round), "{per_round} in a round trip of a hundred segments");
    let plain = plain.as_secs_f64() / 0.5;
    assert!(rounds < plain * 4.0 / 3.0, "{rounds} {plain}: data wait for a poll a third of a round trip at most");
}

#[test]
fn more_polls_get_more_answers() {
    let acks = [1, 3, 12].map(|polls| {
        let cc = bentpipe_cc::CcConfig::Stp(bentpipe_cc::StpSettings { polls, ..Default::default() });
        let config = Config { cc, ..stp(CcKind::Stp) };
        transfer(config.clone(), config, 1000, |_| false).0.b.counters().sent_segments
    });
    assert!(acks[0] < acks[1] && 2 * acks[1] < acks[2], "{acks:?}");
}

#[test]
fn both_ends_have_to_want_polls() {
    for (client, server, is_polled) in
        [(CcKind::Stp, CcKind::Stp, true), (CcKind::Stp, CcKind::Sack, false), (CcKind::Sack, CcKind::Stp, false)]
    {
        let (pair, _) = transfer(stp(client), stp(server), 1000, |_| false);
        assert_eq!([&pair.a, &pair.b].map(|end| end.tcb.cx.agreed.is_polled), [is_polled; 2]);
        let acks = pair.b.counters().sent_segments;
        assert_eq!(acks < 100, is_polled, "{acks}");
        assert_eq!(pair.b.counters().delivered_bytes, 1000 * SMSS);
        let Some(Segment { options: Options::Syn(SynOptions { is_polled: wants, .. }), .. }) = pair.first else {
            panic!("a SYN comes first");
        };
        assert_eq!(wants, client == CcKind::Stp);
    }
}

#[test]
fn the_receiver_speaks_when_polled_and_when_a_gap_opens() {
    let mut r = Bench::new(CcKind::Stp, 4, |_| ());
    let mut arrive = |start: u64, end: u64, flags: Flags| {
        r.data(start * SMSS, end * SMSS, Flags::ACK.with(flags));
        let answers = std::iter::from_fn(|| leave(&mut r.conn, r.now));
        let blocks = |segment: Segment| match segment.options {
            Options::Sack(blocks) => blocks.as_slice().len(),
            _ => 0,
        };
        answers.map(blocks).collect::<Vec<_>>()
    };
    let none = Flags::default();
    assert!((0..40).all(|i| arrive(i, i + 1, none).is_empty()));
    assert_eq!(arrive(41, 42, none), [1], "a USTAT for the gap");
    assert!((42..50).all(|i| arrive(i, i + 1, none).is_empty()), "the same gap");
    assert_eq!(arrive(53, 54, none), [2], "another");
    assert!(arrive(51, 52, none).is_empty(), "no new gap: a part of the last arrives");
    assert!(arrive(40, 41, none).is_empty(), "a gap that is filled");
    assert_eq!(arrive(3, 4, none), [2], "a duplicate");
    assert!([50, 52].iter().all(|&i| arrive(i, i + 1, none).is_empty()));
    assert_eq!(arrive(54, 55, Flags::FIN), [0]);

    let mut r = Bench::new(CcKind::Stp, 4, |_| ());
    r.data(0, SMSS, Flags::ACK);
    assert_eq!(sent(&mut r), (vec![], 0));
    let poll = Segment { seq: r.conn.tcb.wire.irs, ..r.peer_segment(0) };
    r.conn.handle(r.now, &poll);
    let stat = leave(&mut r.conn, r.now).unwrap();
    assert_eq!(stat.ack, r.conn.tcb.wire.peers(SMSS));
    // Without polls, it acknowledges by itself after a minute.
    r.data(SMSS, 2 * SMSS, Flags::ACK);
    assert_eq!(r.conn.next_wakeup(), Time::ZERO + Duration::from_secs(60));
    r.now = r.conn.next_wakeup();
    r.conn.handle_wakeup(r.now);
    assert_eq!(sent(&mut r), (vec![], 1));
}

#[test]
fn one_report_of_a_gap_is_enough() {
    for (second_reduction, is_lower) in [(SecondReduction::Off, false), (SecondReduction::Rfc5681, true)] {
        let mut s = Bench::new(CcKind::Stp, 20, |config| config.second_reduction = second_reduction);
        s.conn.offer(20 * SMSS);
        assert_eq!(sent(&mut s), (Vec::from_iter(0..20), 1));
        s.now += HALF * 2;
        // Segment 4 is lost: the USTAT comes with the fifth, and there is no other.
        let leaves = s.ack(4, &[(5, 6)]);
        assert_eq!((leaves.first(), s.conn.counters().fast_retransmits, s.cwnd()), (Some(&4), 1, 8));
        s.ack(4, &[(5, 20)]);
        let again = |s: &mut Bench, after: Duration| {
            s.now += after;
            s.conn.handle_wakeup(s.now);
            s.ack(4, &[(5, 20)]);
            s.conn.counters().retransmitted_segments
        };
        // SRTT 500 ms, RTTVAR 3/4 of 250 ms: data missing after 1.25 s was lost again.
        s.conn.tcb.sender.rtt.arm(s.now + HALF * 2, &mut s.conn.tcb.cx.timers);
        assert_eq!((again(&mut s, Duration::from_millis(1240)), s.cwnd()), (1, 8));
        assert_eq!(again(&mut s, Duration::from_millis(20)), 2);
        assert_eq!((s.conn.counters().timeouts, s.cwnd() < 8), (0, is_lower), "{second_reduction:?}");
    }
}

#[test]
fn polls_go_on_until_all_is_acknowledged() {
    let mut s = Bench::new(CcKind::Stp, 4, |_| ());
    s.conn.offer(4 * SMSS);
    assert_eq!(sent(&mut s), ((0..4).collect(), 1));
    // Nothing is known of the path: a third of the first timeout of a second.
    for _ in 0..2 {
        s.now = s.conn.next_wakeup();
        s.conn.handle_wakeup(s.now);
        assert_eq!(sent(&mut s), (vec![], 1));
    }
    s.ack(4, &[]);
    s.now = s.conn.next_wakeup();
    s.conn.handle_wakeup(s.now);
    assert_eq!((sent(&mut s), s.conn.next_wakeup()), ((vec![], 0), Time::NEVER));
}

/// The loss of any single packet, the first segment included, costs a transfer at most one timeout. It also ends if
/// every third packet is lost.
#[test]
fn lost_polls_and_reports_do_not_stall() {
    let config = || stp(CcKind::Stp);
    let (pair, plain) = transfer(config(), config(), 60, |_| false);
    let packets = pair.a.counters().sent_segments + pair.b.counters().sent_segments;
    for lost in 2..packets {
        let (pair, took) = transfer(config(), config(), 60, |k| k == lost);
        let timeouts = pair.a.counters().timeouts;
        assert!(timeouts <= 1, "packet {lost}: {timeouts} timeouts");
        assert!(took < plain + Duration::from_millis(4000), "packet {lost}: {took:?} instead of {plain:?}");
    }
    for offset in 0..3 {
        transfer(config(), config(), 60, |k| k > 1 && k % 3 == offset);
    }
}

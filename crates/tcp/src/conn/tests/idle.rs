//! Keepalive (RFC 9293 §3.8.4) and challenge ACKs (RFC 5961): `docs/specs/keepalive-misc.md`, tests.

use super::*;

fn at(seconds: f64) -> Time {
    Time::ZERO + Duration::from_micros((seconds * 1e6) as u64)
}

fn probing(idle: u64, interval: u64, probes: u32) -> Keepalive {
    let (idle, interval) = (Duration::from_secs(idle), Duration::from_secs(interval));
    Keepalive { idle, interval, probes, byte: false }
}

/// An end that sent a segment, whose ACK, the last segment of the peer, arrived at 5 s.
fn idle(keepalive: Keepalive) -> Bench {
    let mut s = Bench::new(CcKind::Reno, 10, |config| config.keepalive = Some(keepalive));
    s.at(at(4.9)).send(1);
    s.at(at(5.0)).ack(1, &[]);
    s.events();
    s
}

/// Lets time pass to the next timer. Returns its instant, and the segments that leave then.
fn next(s: &mut Bench) -> (f64, Vec<Segment>) {
    s.now = s.conn.next_wakeup();
    s.conn.handle_wakeup(s.now);
    let left = std::iter::from_fn(|| leave(&mut s.conn, s.now)).collect();
    (s.now.as_secs_f64(), left)
}

/// The probe, without data: the number of the last byte that was acknowledged.
fn is_probe(s: &Bench, left: &[Segment]) -> bool {
    let last = s.conn.tcb.wire.ours(s.conn.tcb.sender.space.nxt - 1);
    matches!(left, [probe] if probe.seq == last && probe.len == 0 && probe.flags == Flags::ACK)
}

/// Test (a).
#[test]
fn rfc9293_3_8_4_probes_without_an_answer_end_the_connection() {
    let mut s = idle(probing(60, 10, 3));
    for due in [65.0, 75.0, 85.0] {
        let (now, left) = next(&mut s);
        assert!(now == due && is_probe(&s, &left), "{now} {left:?}");
    }
    let (now, left) = next(&mut s);
    assert_eq!((now, s.conn.state(), s.conn.counters().keepalives), (95.0, State::Closed, 3));
    assert!(matches!(left[..], [reset] if reset.flags.has(Flags::RST)), "{left:?}");
    let events = s.events();
    assert_eq!(events[..3], [1, 2, 3].map(Event::Keepalive));
    assert_eq!(events[3..], [Event::PeerLost(3), Event::Aborted(SMSS)]);
    assert_eq!(s.conn.next_wakeup(), Time::NEVER);
}

/// Test (b).
#[test]
fn rfc9293_3_8_4_an_answer_starts_the_wait_again() {
    let mut s = idle(probing(60, 10, 3));
    assert_eq!([next(&mut s).0, next(&mut s).0], [65.0, 75.0]);
    s.at(at(75.6)).ack(1, &[]);
    assert_eq!(s.conn.counters().fast_retransmits, 0);
    assert_eq!([(); 3].map(|()| next(&mut s).0), [135.6, 145.6, 155.6]);
    assert_eq!((s.conn.state(), next(&mut s).0), (State::Established, 165.6));
    assert_eq!(s.conn.state(), State::Closed);
}

/// Test (c), and the default: off.
#[test]
fn rfc9293_3_8_4_by_default_a_dead_peer_is_noticed_after_more_than_two_hours() {
    assert_eq!(Config::default().keepalive, None);
    let mut s = idle(Keepalive::default());
    while s.conn.state() == State::Established {
        next(&mut s);
    }
    assert_eq!((s.now.as_secs_f64(), s.conn.counters().keepalives), (5.0 + 7875.0, 9));
    let mut off = Bench::new(CcKind::Reno, 10, |_| ());
    off.send(1);
    off.at(at(5.0)).ack(1, &[]);
    assert_eq!(off.conn.next_wakeup(), Time::NEVER, "nothing is due");
}

/// Test (d): a path that is down for 30 s in each hour. With probes 10 s apart four span more than that.
#[test]
fn rfc9293_3_8_4_a_lost_probe_ends_no_connection() {
    for (probes, lives) in [(4, true), (2, false)] {
        let mut s = idle(probing(60, 10, probes));
        while s.now < at(36_000.0) && s.conn.state() == State::Established {
            let (now, left) = next(&mut s);
            if !left.is_empty() && now % 3600.0 >= 30.0 {
                s.ack(1, &[]);
            }
        }
        assert_eq!(s.conn.state() == State::Established, lives, "{probes}");
    }
}

#[test]
fn rfc9293_3_8_4_only_an_idle_connection_is_probed() {
    let mut s = idle(probing(2, 10, 3));
    // Data are outstanding when the timer expires: the retransmission timer is responsible.
    s.at(at(6.5)).send(1);
    let (now, left) = next(&mut s);
    assert_eq!((now, left.len(), s.conn.counters().keepalives), (7.0, 0, 0));
    assert!(next(&mut s).1[0].is_retransmission);
    s.at(at(9.0)).ack(2, &[]);
    let (now, left) = next(&mut s);
    assert!(now == 11.0 && is_probe(&s, &left), "all is acknowledged since 9 s");
}

#[test]
fn rfc9293_3_8_4_a_probe_may_carry_a_byte() {
    let mut s = idle(Keepalive { byte: true, ..probing(60, 10, 3) });
    let (_, left) = next(&mut s);
    let last = s.conn.tcb.wire.ours(s.conn.tcb.sender.space.nxt - 1);
    assert_eq!((left[0].len, left[0].seq, s.conn.flight_size()), (1, last, 0));
}

/// Both ends probe, and answer: nothing is delivered twice or retransmitted.
#[test]
fn rfc9293_3_8_4_two_ends_keep_a_connection_alive() {
    for byte in [false, true] {
        let config = Config { keepalive: Some(Keepalive { byte, ..probing(60, 10, 3) }), ..Config::default() };
        let mut a = Connection::new(config.clone(), Role::Active, Seq::new(7));
        a.offer(3000);
        let b = Connection::new(config, Role::Passive, Seq::new(u32::MAX));
        let mut pair = Pair::open(a, b, Duration::from_millis(270));
        while pair.now < at(1000.0) {
            pair.transmit(&|_| Fate::Deliver);
            assert!(pair.step());
        }
        let (a, b) = (&pair.a, &pair.b);
        assert_eq!([a.state(), b.state()], [State::Established; 2]);
        assert!(a.counters().keepalives + b.counters().keepalives >= 15);
        assert_eq!((b.counters().delivered_bytes, a.counters().retransmitted_segments), (3000, 0));
        assert_eq!([a.counters().fast_retransmits, a.counters().timeouts], [0; 2]);
    }
}

/// SND.UNA, SND.NXT and the largest window of the peer, in bytes.
fn sender(iss: Seq, una: u64, nxt: u64, window: u64, change: impl FnOnce(&mut Config)) -> Bench {
    let mut config = Config { handshake: false, acceptable_acks: AcceptableAcks::Rfc5961, ..Config::default() };
    change(&mut config);
    let mut conn = Connection::new(config, Role::Passive, iss);
    conn.open(Time::ZERO);
    let space = &mut conn.tcb.sender.space;
    (space.una, space.nxt, space.offered, space.rwnd_largest, space.rwnd) = (una, nxt, una, window, window);
    Bench { conn, now: Time::ZERO }
}

/// A segment with 1000 B at `start`, and this in its ACK field. Returns the ACKs that leave.
fn arrives(s: &mut Bench, start: u64, ack: Seq) -> usize {
    let data = Segment { seq: s.conn.tcb.wire.peers(start), ack, window: 100, len: 1000, ..s.peer_segment(0) };
    s.conn.handle(s.now, &data);
    std::iter::from_fn(|| leave(&mut s.conn, s.now)).count()
}

#[test]
fn rfc5961_5_segments_with_an_ack_that_is_not_acceptable_are_dropped() {
    let judge = |mode: AcceptableAcks, acked: u64| {
        let mut s = sender(Seq::new(0), 1_000_000, 1_050_000, 65_535, |config| config.acceptable_acks = mode);
        s.conn.tcb.sender.space.offered = 1_000_000;
        let field = s.conn.tcb.wire.ours(acked);
        let acks = arrives(&mut s, 5000, field);
        let is_kept = s.conn.counters().arrived_bytes > 0;
        (is_kept, s.conn.counters().challenged, acks)
    };
    let strict = [934_465, 934_464, 1_050_001].map(|acked| judge(AcceptableAcks::Rfc5961, acked));
    // Data out of order are acknowledged, dropped segments are challenged.
    assert_eq!(strict, [(true, 0, 1), (false, 1, 1), (false, 1, 1)]);
    let lax = [934_465, 934_464, 1_050_001].map(|acked| judge(AcceptableAcks::Rfc9293, acked));
    assert_eq!(lax, [(true, 0, 1), (true, 0, 1), (false, 0, 1)]);
}

#[test]
fn rfc5961_5_the_range_wraps_and_begins_at_the_first_byte() {
    // SND.UNA has the sequence number 10.
    let refused = |una: u64, window: u64, field: u32| {
        let mut s = sender(Seq::new(9).at(0u64.wrapping_sub(una)), una, una, window, |_| ());
        assert_eq!(s.conn.tcb.wire.ours(una), Seq::new(10));
        arrives(&mut s, 5000, Seq::new(field));
        s.conn.counters().challenged
    };
    let below = |bytes: u32| 0u32.wrapping_sub(bytes);
    assert_eq!([below(90), below(91)].map(|field| refused(1_000_000, 100, field)), [0, 1]);
    // Only 50 bytes were sent: the first has the number 2^32 - 40.
    assert_eq!([below(40), below(41)].map(|field| refused(50, 100, field)), [0, 1]);
}

#[test]
fn rfc5961_7_challenge_acks_are_limited() {
    let mut s = sender(Seq::new(0), 1_000_000, 1_050_000, 65_535, |_| ());
    let field = s.conn.tcb.wire.ours(1_050_001);
    let mut left = |seconds: f64| {
        s.now = at(seconds);
        arrives(&mut s, 5000, field)
    };
    let eleven: Vec<usize> = (0..11).map(|n| left(10.0 + 0.4 * f64::from(n))).collect();
    assert_eq!((eleven.iter().sum::<usize>(), eleven[10]), (10, 0));
    assert_eq!([left(14.9), left(15.0)], [0, 1], "the next interval");
    assert_eq!(s.conn.counters().challenged, 13);
}

/// Resets in the window and SYNs have the same limit (RFC 5961 §3, §4).
#[test]
fn rfc5961_7_all_challenge_acks_count() {
    let limit = ChallengeAcks { limit: 2, ..ChallengeAcks::default() };
    let mut s = sender(Seq::new(0), 0, 0, 65_535, |config| config.challenge_acks = limit);
    let irs = s.conn.tcb.wire.irs;
    let reset = Segment { seq: irs.at(5000), flags: Flags::RST, ..Segment::default() };
    let syn = Segment { seq: irs.at(9000), flags: Flags::SYN, ..Segment::default() };
    let left = [reset, syn, reset, syn].map(|segment| {
        s.conn.handle(s.now, &segment);
        std::iter::from_fn(|| leave(&mut s.conn, s.now)).count()
    });
    assert_eq!((left, s.conn.counters().challenged), ([1, 1, 0, 0], 4));
}

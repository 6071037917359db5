//! Dummy segments (`docs/specs/tcp-peach.md`): agreement, answers, reactions of the sender.

use super::*;
use bentpipe_cc::verdict::VerdictKind;
use bentpipe_cc::{CcConfig, PeachSettings};

const DUMMY: Flags = Flags::ACK.with(Flags::DUMMY);

fn peach(cc: CcKind) -> Config {
    Config {
        smss: SMSS as u32,
        cc: cc.into(),
        recovery: cc.recovery(),
        limited_transmit: false,
        receive_buffer: 64 * SMSS,
        ..Config::default()
    }
}

/// In steady state with a window of 20 segments, all outstanding.
fn steady(cc: CcKind) -> Bench {
    let mut s = Bench::new(cc, 1, |config| config.receive_buffer = 64 * SMSS);
    s.send(1000);
    s.now += Duration::from_millis(550);
    s.ack(1, &[]);
    while s.conn.tcb.sender.window.cc.probe_segments().unwrap().due() < Time::NEVER {
        s.now = s.conn.next_wakeup();
        s.conn.handle_wakeup(s.now);
        s.leaving();
    }
    for _ in 0..63 {
        s.conn.handle(s.now, &Segment { flags: DUMMY, ..s.peer_segment(0) });
    }
    assert_eq!(s.cwnd(), 64);
    s.conn.tcb.sender.window.cc.set_window(20 * SMSS, SMSS);
    s.leaving();
    s
}

/// Segments that leave: data, and how many dummies.
fn sent(s: &mut Bench) -> (Vec<u64>, usize) {
    let first = s.conn.tcb.wire.iss.at(1);
    let mut dummies = 0;
    let data = std::iter::from_fn(|| leave(&mut s.conn, s.now))
        .filter(|segment| {
            dummies += usize::from(segment.is_dummy());
            !segment.is_dummy()
        })
        .map(|segment| u64::from(segment.seq.value().wrapping_sub(first.value())) / SMSS)
        .collect();
    (data, dummies)
}

fn duplicate(s: &mut Bench, flags: Flags) -> (Vec<u64>, usize) {
    let ack = Segment {
        seq: s.conn.tcb.wire.irs.at(1),
        ack: s.conn.tcb.wire.iss.at(1 + s.conn.tcb.sender.space.una),
        window: (s.conn.tcb.sender.space.rwnd >> s.conn.tcb.cx.agreed.snd_shift) as u16,
        flags,
        ..Segment::default()
    };
    s.conn.handle(s.now, &ack);
    sent(s)
}

/// Two ends after their handshake over a path of 550 ms there and back; none: they did not agree.
fn opened(client: Config, server: Config) -> (Connection, Connection, [bool; 2]) {
    let mut a = Connection::new(client, Role::Active, Seq::new(5));
    let mut b = Connection::new(server, Role::Passive, Seq::new(77));
    let half = Duration::from_millis(275);
    let mut now = Time::ZERO;
    a.open(now);
    b.open(now);
    let syn = leave(&mut a, now).unwrap();
    now += half;
    b.handle(now, &syn);
    let answer = leave(&mut b, now).unwrap();
    now += half;
    a.handle(now, &answer);
    (a, b, [syn, answer].map(|segment| segment.flags.has(Flags::DUMMY)))
}

#[test]
fn both_ends_say_on_their_syn_that_they_know_dummies() {
    let (reno, plain) = (peach(CcKind::Reno), peach(CcKind::Peach));
    let settings = PeachSettings { receiver_knows: false, ..PeachSettings::default() };
    let deaf = Config { cc: CcConfig::Peach(settings), ..plain.clone() };
    for (server, said) in [(plain.clone(), [true, true]), (deaf, [true, false]), (reno.clone(), [true, false])] {
        let (a, b, flags) = opened(plain.clone(), server);
        assert_eq!(
            (flags, a.tcb.sender.extras.has_probes(), b.tcb.sender.extras.has_probes()),
            (said, said[1], said[1])
        );
        assert_eq!(a.cwnd(), if said[1] { SMSS } else { a.tcb.cx.config.initial_window.bytes(1000) });
    }
    assert_eq!(opened(reno, plain).2, [false, false]);
}

/// Test 1, on a connection: data are sent once, and 63 copies of them follow, one every 8.594 ms.
#[test]
fn sudden_start_on_a_connection() {
    let (mut a, _, _) = opened(peach(CcKind::Peach), peach(CcKind::Peach));
    let begin = Time::ZERO + Duration::from_millis(550);
    let mut now = begin;
    a.offer(1000 * SMSS);
    let mut dummies = Vec::new();
    let mut data = Vec::new();
    while now < begin + Duration::from_millis(990) {
        a.handle_wakeup(now);
        while let Some(segment) = leave(&mut a, now) {
            assert_eq!(segment.seq, a.tcb.wire.iss.at(1));
            if segment.is_dummy() { &mut dummies } else { &mut data }.push((now, segment.len));
        }
        now = a.next_wakeup();
    }
    assert_eq!((dummies.len(), dummies.iter().all(|&(_, len)| len == 1000)), (63, true));
    let after_ms = |at: Time| (at - begin).as_secs_f64() * 1000.0;
    assert!((after_ms(dummies[0].0) - 8.594).abs() < 0.001 && (after_ms(dummies[62].0) - 541.4).abs() < 0.05);
    // The handshake's last ACK, with the data.
    assert_eq!((data.len(), a.counters().dummy_segments, a.flight_size()), (1, 63, SMSS));
    assert_eq!((a.counters().sent_bytes, a.counters().retransmitted_bytes), (SMSS, 0));
    // Their answers open the window, with any acknowledgement.
    for answered in 1..=70 {
        a.handle(
            now,
            &Segment { flags: DUMMY, ack: a.tcb.wire.iss.at(500), seq: a.tcb.wire.irs.at(1), ..Segment::default() },
        );
        assert_eq!(a.cwnd(), (1 + answered.min(63)) * SMSS);
    }
    assert_eq!((a.acked_bytes(), a.counters().fast_retransmits), (0, 0));
}

/// Test 2: segments 1 to 20 are outstanding, the first is lost.
#[test]
fn rapid_recovery_on_a_connection() {
    let mut s = steady(CcKind::Peach);
    assert_eq!(s.conn.flight_size(), 20 * SMSS);
    let answers = |s: &mut Bench, n: u64| {
        (0..n).for_each(|_| drop(duplicate(s, DUMMY)));
        s.conn.cwnd() / SMSS
    };
    assert_eq!([duplicate(&mut s, Flags::ACK), duplicate(&mut s, Flags::ACK)], [(vec![], 0), (vec![], 0)]);
    // Flagged ACKs are no duplicates.
    assert_eq!([(); 3].map(|()| duplicate(&mut s, DUMMY)), [const { (Vec::new(), 0) }; 3]);
    assert_eq!((duplicate(&mut s, Flags::ACK), s.conn.cwnd()), ((vec![1], 0), 10 * SMSS));
    for n in 0..16 {
        assert_eq!(duplicate(&mut s, Flags::ACK), (vec![], if n < 10 { 2 } else { 0 }), "{n}");
    }
    assert_eq!(s.ack(21, &[]), Vec::from_iter(21..31));
    assert_eq!(answers(&mut s, 10), 10);
    assert_eq!(answers(&mut s, 10), 20);
    assert_eq!(s.conn.counters().timeouts, 0);
}

/// Partial ACKs call for dummies as duplicates do, and for the next hole; the window is not cut again.
#[test]
fn two_losses_are_one_recovery() {
    let mut s = steady(CcKind::Peach);
    (0..3).for_each(|_| drop(duplicate(&mut s, Flags::ACK)));
    s.ack(8, &[]);
    assert_eq!(s.conn.counters().dummy_segments, 63 + 2);
    assert_eq!((s.cwnd(), s.conn.counters().fast_retransmits), (10, 1));
}

#[test]
fn peach_plus_copies_what_is_missing_and_nothing_that_was_sacked() {
    let mut s = steady(CcKind::PeachPlus);
    (4..7).for_each(|right| drop(s.ack(1, &[(3, right)])));
    let first = s.conn.tcb.wire.iss.at(1);
    let mut copied = Vec::new();
    for right in 7..12 {
        let mut blocks = SackBlocks::default();
        blocks.push(first.at(3 * SMSS), first.at(right * SMSS));
        let ack = Segment { options: Options::Sack(blocks), ..s.peer_segment(0) };
        s.conn.handle(s.now, &Segment { ack: first.at(SMSS), ..ack });
        while let Some(segment) = leave(&mut s.conn, s.now) {
            if segment.is_dummy() {
                copied.push(u64::from(segment.seq.value().wrapping_sub(first.value())) / SMSS);
            }
        }
    }
    // Two for each ACK, the oldest first.
    assert_eq!(copied, [1, 2, 8, 9, 10, 11, 12, 13, 14, 15]);
}

/// A receiver of data; segments of 1000 B arrive by number, with the flags given.
struct Receiving(Bench);

impl Receiving {
    fn new(every: u32) -> Self {
        Self(Bench::new(CcKind::Peach, 10, |config| {
            *config = peach(CcKind::Peach);
            config.handshake = false;
            config.ack.every = every;
        }))
    }

    /// ACKs that leave, in segments, and whether each is flagged.
    fn arrive(&mut self, number: u64, flags: Flags) -> Vec<(u64, bool)> {
        self.0.data(number * SMSS, (number + 1) * SMSS, flags);
        let conn = &mut self.0.conn;
        let first = conn.tcb.wire.peers(0);
        std::iter::from_fn(|| leave(conn, self.0.now))
            .map(|ack| (u64::from(ack.ack.value().wrapping_sub(first.value())) / SMSS, ack.is_dummy()))
            .collect()
    }
}

#[test]
fn dummies_are_answered_at_once_and_not_delivered_again() {
    let mut r = Receiving::new(2);
    assert_eq!(r.arrive(0, Flags::ACK), []);
    assert_eq!(r.arrive(0, DUMMY), [(1, true)]);
    assert_eq!(r.0.conn.counters().delivered_bytes, SMSS);
    assert_eq!((r.0.conn.counters().arrived_bytes, r.0.conn.counters().duplicate_segments), (SMSS, 0));
    // The answer was not the ACK that the data still wait for.
    assert_eq!(r.arrive(1, Flags::ACK), [(2, false)]);
    // Answers are not duplicates either: a hole is reported once for each segment of data.
    assert_eq!(r.arrive(3, Flags::ACK), [(2, false)]);
    assert_eq!(r.arrive(3, DUMMY), [(2, true)]);
}

/// The copy replaces the copied data, if that was lost.
#[test]
fn a_dummy_that_fills_a_hole_is_acknowledged_as_data_too() {
    let mut r = Receiving::new(1);
    assert_eq!(r.arrive(1, Flags::ACK), [(0, false)]);
    let mut answers = r.arrive(0, DUMMY);
    answers.sort_unstable();
    assert_eq!(answers, [(2, false), (2, true)]);
    assert_eq!(r.0.conn.counters().delivered_bytes, 2 * SMSS);
}

/// RFC 9293 §3.1: reserved bits are ignored without an agreement.
#[test]
fn without_agreement_the_flag_means_nothing() {
    let mut s = Bench::new(CcKind::Reno, 10, |_| ());
    s.send(20);
    assert!([0, 1, 2].map(|_| duplicate(&mut s, DUMMY))[2].0.contains(&0), "three duplicates");
    assert_eq!(s.conn.counters().arrived_segments, 3);
}

/// For eight data segments, one copy of the last one leaves with low priority, and its answer is counted.
#[test]
fn copies_tell_losses_apart() {
    for answered in [4, 0] {
        let mut s = Bench::new(CcKind::NewReno, 40, |config| config.verdict = VerdictKind::LowPriorityCopies);
        s.conn.offer(1000 * SMSS);
        let (data, copies) = sent(&mut s);
        assert_eq!((data.len(), copies), (40, 5), "one for eight, when all have left");
        // The first of them gives the round trip; with it come the answers, or do not.
        s.now += Duration::from_millis(500);
        for _ in 0..answered {
            s.conn.handle(s.now, &Segment { flags: DUMMY, ..s.peer_segment(0) });
        }
        s.ack(1, &[]);
        let cwnd = s.cwnd();
        for _ in 0..3 {
            duplicate(&mut s, Flags::ACK);
        }
        let is_error = s.conn.ssthresh().is_none();
        assert_eq!((is_error, s.conn.counters().fast_retransmits), (answered == 4, 1), "{answered} of 5 came back");
        assert_eq!(s.cwnd() < cwnd, answered == 0);
    }
}

//! Marks.

use super::*;
use bentpipe_cc::{AckSample, Congestion, CustomCc, Delivery, Marks, PathState, Window};
use bentpipe_units::Ecn;
use std::sync::{Arc, Mutex};

fn marking(feedback: EcnFeedback) -> impl Fn(&mut Config) {
    move |config| config.ecn = EcnConfig { feedback, ..EcnConfig::OFF }
}

impl Bench {
    /// An ACK that reports marks.
    fn echo(&mut self, ack: u64, flags: Flags) -> Vec<u64> {
        let segment = Segment {
            ack: self.conn.tcb.wire.iss.at(1 + ack * SMSS),
            flags: Flags::ACK.with(flags),
            ..self.peer_segment(0)
        };
        self.conn.handle(self.now, &segment);
        self.leaving()
    }
}

/// `docs/specs/ecn.md`, test 1: one reduction per window, to half or by RFC 8511.
#[test]
fn rfc3168_6_1_2_one_reduction_per_window() {
    for (beta, left) in [(None, 10), (Some(800), 16), (Some(850), 17)] {
        let mut s = Bench::new(CcKind::Reno, 20, |config| {
            config.ecn = EcnConfig { feedback: EcnFeedback::Classic, beta, ..EcnConfig::OFF };
        });
        s.send(100);
        s.echo(1, Flags::ECE);
        assert_eq!((s.cwnd(), s.ssthresh()), (left, left as u64));
        s.echo(2, Flags::ECE);
        s.echo(20, Flags::ECE);
        assert_eq!((s.cwnd(), s.conn.counters().ecn_reductions), (left, 1));
        s.echo(21, Flags::ECE);
        assert_eq!(s.conn.counters().ecn_reductions, 2, "the next window");
    }
}

#[test]
fn rfc3168_6_1_2_the_next_new_segment_says_cwr() {
    let mut s = Bench::new(CcKind::Reno, 4, marking(EcnFeedback::Classic));
    s.conn.offer(100 * SMSS);
    let data = |s: &mut Bench| std::iter::from_fn(|| leave(&mut s.conn, s.now)).collect::<Vec<_>>();
    assert!(data(&mut s).iter().all(|segment| segment.ecn == Ecn::Ect0 && segment.flags == Flags::ACK));
    for ack in 1..=4 {
        let flags = Flags::ACK.with(Flags::ECE);
        let segment = Segment { ack: s.conn.tcb.wire.iss.at(1 + ack * SMSS), flags, ..s.peer_segment(0) };
        s.conn.handle(s.now, &segment);
    }
    let says: Vec<bool> = data(&mut s).iter().map(|segment| segment.flags.has(Flags::CWR)).collect();
    assert_eq!(says, [true, false]);
}

/// A loss in a window that marks have reduced is repaired, and reduces nothing more (RFC 8511 §4.2).
#[test]
fn rfc3168_6_1_2_a_loss_and_a_mark_are_one_reduction() {
    let mut s = Bench::new(CcKind::NewReno, 20, marking(EcnFeedback::Classic));
    s.send(100);
    s.echo(1, Flags::ECE);
    assert_eq!(s.ssthresh(), 10);
    let resent: Vec<u64> = (0..3).flat_map(|_| s.ack(1, &[])).collect();
    assert_eq!((resent.contains(&1), s.ssthresh(), s.conn.cwnd()), (true, 10, 10 * SMSS));
    // And the other way round.
    let mut s = Bench::new(CcKind::NewReno, 20, marking(EcnFeedback::Classic));
    s.send(100);
    (0..3).for_each(|_| drop(s.ack(0, &[])));
    assert_eq!(s.ssthresh(), 10);
    s.echo(5, Flags::ECE);
    assert_eq!((s.ssthresh(), s.conn.counters().ecn_reductions), (10, 0));
}

#[test]
fn rfc3168_6_1_2_a_window_of_one_segment_waits_for_the_timer() {
    let mut s = Bench::new(CcKind::Reno, 1, marking(EcnFeedback::Classic));
    assert_eq!(s.send(10), [0]);
    s.now += Duration::from_millis(100);
    assert_eq!((s.echo(1, Flags::ECE), s.cwnd()), (vec![], 1));
    let due = s.conn.next_wakeup();
    assert_eq!(due - s.now, s.conn.report().rto());
    s.now = due;
    s.conn.handle_wakeup(due);
    assert_eq!(s.leaving(), [1]);
}

/// Two ends that were opened by hand; returns both and the flags of SYN, SYN-ACK and the last ACK.
fn open(client: EcnFeedback, server: EcnFeedback) -> (Connection, Connection, [u8; 3]) {
    open_acked(client, server, 1)
}

/// Opens a connection with an ACK for `every` segments.
fn open_acked(client: EcnFeedback, server: EcnFeedback, every: u32) -> (Connection, Connection, [u8; 3]) {
    let config = |feedback| Config {
        smss: SMSS as u32,
        ecn: EcnConfig { feedback, ..EcnConfig::OFF },
        ack: AckPolicy { every, ..AckPolicy::default() },
        ..Config::default()
    };
    open_configured(config(client), config(server))
}

fn open_configured(client: Config, server: Config) -> (Connection, Connection, [u8; 3]) {
    let mut a = Connection::new(client, Role::Active, Seq::new(100));
    let mut b = Connection::new(server, Role::Passive, Seq::new(200));
    let now = Time::ZERO;
    b.open(now);
    a.open(now);
    let syn = leave(&mut a, now).unwrap();
    b.handle(now, &syn);
    let syn_ack = leave(&mut b, now).unwrap();
    a.handle(now, &syn_ack);
    let ack = leave(&mut a, now).unwrap();
    b.handle(now, &ack);
    assert!([&syn, &syn_ack, &ack].iter().all(|segment| segment.ecn == Ecn::NotEct));
    (a, b, [&syn, &syn_ack, &ack].map(|segment| segment.flags.ace()))
}

/// RFC 3168 §6.1.1; RFC 9768 §3.1.2, table 2, and §3.2.2.1, table 3. (AE, CWR, ECE) on SYN, SYN-ACK and ACK.
#[test]
fn rfc9768_3_1_2_negotiation() {
    use EcnFeedback::{Accurate, Classic, Off, PerSegment};
    for (client, server, flags) in [
        (Classic, Classic, [0b011, 0b001, 0]),
        (Classic, Accurate, [0b011, 0b001, 0]),
        (Accurate, Accurate, [0b111, 0b010, 0b010]),
        (Accurate, Classic, [0b111, 0b001, 0]),
        (Accurate, Off, [0b111, 0, 0]),
        (Off, Accurate, [0, 0, 0]),
        (Classic, Off, [0b011, 0, 0]),
        (PerSegment, Classic, [0b011, 0b001, 0]),
    ] {
        let (mut a, b, seen) = open(client, server);
        assert_eq!(seen, flags, "{client:?} {server:?}");
        a.offer(SMSS);
        let uses = client != Off && server != Off;
        assert_eq!(leave(&mut a, Time::ZERO).unwrap().ecn == Ecn::Ect0, uses, "{client:?} {server:?}");
        assert_eq!((a.tcb.sender.extras.has_ecn(), b.tcb.receiver.ecn().is_some()), (uses, uses));
    }
}

/// Returns the answers of `b` to segment `number` of `a`.
fn arrive(b: &mut Connection, number: u64, ecn: Ecn, flags: Flags) -> Vec<Flags> {
    let segment = Segment {
        seq: b.tcb.wire.irs.at(1 + number * SMSS),
        ack: b.tcb.wire.iss.at(1),
        len: SMSS as u16,
        window: 1000,
        flags: Flags::ACK.with(flags),
        ecn,
        ..Segment::default()
    };
    b.handle(Time::ZERO, &segment);
    std::iter::from_fn(|| leave(b, Time::ZERO)).map(|ack| ack.flags).collect()
}

/// Test 2: CE on segment 5, CWR with segment 12.
#[test]
fn rfc3168_6_1_3_echo_until_cwr() {
    let (_, mut b, _) = open(EcnFeedback::Classic, EcnFeedback::Classic);
    for number in 0..16 {
        let ecn = if number == 5 { Ecn::Ce } else { Ecn::Ect0 };
        let cwr = if number == 12 { Flags::CWR } else { Flags::default() };
        let answer = arrive(&mut b, number, ecn, cwr);
        let expected = if (5..12).contains(&number) { Flags::ACK.with(Flags::ECE) } else { Flags::ACK };
        assert_eq!(answer, [expected], "{number}");
    }
    // Marked and CWR at once: a new mark.
    assert_eq!(arrive(&mut b, 16, Ecn::Ce, Flags::CWR), [Flags::ACK.with(Flags::ECE)]);
    assert_eq!(b.counters().ce_segments, 2);
}

/// RFC 8257 §3.2: each ACK reports the mark of the segments that it acknowledges.
#[test]
fn rfc8257_3_2_the_mark_of_each_segment_is_reported() {
    let (_, mut b, _) = open_acked(EcnFeedback::Classic, EcnFeedback::PerSegment, 2);
    let (plain, marked) = (Flags::ACK, Flags::ACK.with(Flags::ECE));
    let none = Flags::default();
    assert_eq!(arrive(&mut b, 0, Ecn::Ect0, none), []);
    // The first is acknowledged alone, without ECE; the marked one waits for a second.
    assert_eq!(arrive(&mut b, 1, Ecn::Ce, none), [plain]);
    assert_eq!(arrive(&mut b, 2, Ecn::Ce, none), [marked]);
    assert_eq!(arrive(&mut b, 3, Ecn::Ce, Flags::CWR), [], "CWR means nothing here");
    assert_eq!(arrive(&mut b, 4, Ecn::Ect0, none), [marked]);
    assert_eq!(arrive(&mut b, 5, Ecn::Ect0, none), [plain]);
}

/// RFC 9768 §3.2.2: the counter starts at 5, wraps at 8; the first mark and every second one are seen at once.
#[test]
fn rfc9768_3_2_2_marks_are_counted() {
    let (mut a, mut b, _) = open_acked(EcnFeedback::Accurate, EcnFeedback::Accurate, 100);
    a.offer(100 * SMSS);
    while leave(&mut a, Time::ZERO).is_some() {}
    let mut seen = Vec::new();
    for (number, ecn) in (0..).zip([Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ce, Ecn::Ect0, Ecn::Ce]) {
        seen.push(arrive(&mut b, number, ecn, Flags::default()).first().map(|flags| flags.ace()));
    }
    assert_eq!(seen, [None, Some(6), None, Some(0), None, Some(1)]);
    // The sender reduces once, and never sends CWR.
    let cwnd = a.cwnd();
    for (acked, ace) in [(2, 6), (4, 0), (6, 1)] {
        let segment = Segment {
            seq: a.tcb.wire.irs.at(1),
            ack: a.tcb.wire.iss.at(1 + acked * SMSS),
            window: 1000,
            flags: Flags::ACK.with_ace(ace),
            ..Segment::default()
        };
        a.handle(Time::ZERO, &segment);
    }
    assert_eq!((a.counters().ecn_reductions, a.cwnd() < cwnd), (1, true));
    let next = std::iter::from_fn(|| leave(&mut a, Time::ZERO)).all(|data| data.flags.ace() == 5);
    assert!(next, "the client has counted nothing");
}

/// Appendix A.2: after more than seven packets the counter may have come round.
#[test]
fn rfc9768_a_2_an_unchanged_counter_proves_little() {
    for (acked, reduces) in [(7, false), (8, true)] {
        let mut s = Bench::new(CcKind::Reno, 20, marking(EcnFeedback::Accurate));
        s.send(20);
        s.echo(acked, Flags::default().with_ace(5));
        assert_eq!(s.conn.counters().ecn_reductions > 0, reduces);
    }
    // An ACK that was overtaken has a smaller counter, which does not mean seven marks.
    let mut s = Bench::new(CcKind::Reno, 20, marking(EcnFeedback::Accurate));
    s.send(20);
    s.echo(0, Flags::default().with_ace(4));
    assert_eq!(s.conn.counters().ecn_reductions, 0);
}

/// Test 3: where data are marked, retransmissions and control segments are dropped.
#[test]
fn rfc3168_6_1_5_only_new_data_can_be_marked() {
    for feedback in [EcnFeedback::Classic, EcnFeedback::PerSegment, EcnFeedback::Accurate] {
        let config = Config {
            ecn: EcnConfig { feedback, ..EcnConfig::OFF },
            give_up: GiveUp::Never,
            rto: RtoConfig { min: Duration::from_millis(200), ..RtoConfig::default() },
            ..Config::default()
        };
        let (a, b, _) = exchange(&config, 300_000, Seq::new(1), |k| match k {
            30..90 if k % 4 == 0 => Fate::Mark,
            100 => Fate::Drop,
            _ => Fate::Deliver,
        });
        assert_eq!(b.counters().delivered_bytes, 300_000);
        assert!(b.counters().ce_segments > 0 && a.counters().ecn_reductions > 0, "{feedback:?}");
        // The queue would have marked ACKs and data. It dropped ACKs, but no data.
        assert!(a.counters().retransmitted_segments <= 2, "{feedback:?} {:?}", a.counters());
    }
}

/// An end that counts marks.
fn l4s(cc: CcKind, ecn: EcnConfig) -> Config {
    Config { smss: SMSS as u32, cc: cc.into(), recovery: cc.recovery(), ecn, ..Config::default() }
}

/// RFC 9331 §4.3: without counts of marks the flow is NewReno's, and its data are not ECN-capable.
#[test]
fn rfc9331_4_3_ect1_needs_counts_of_marks() {
    use EcnFeedback::{Accurate, Classic, Off};
    let ect0 = EcnConfig { ect: Some(0), ..EcnConfig::L4S };
    for (cc, ecn, server, expected) in [
        (CcKind::Prague, EcnConfig::L4S, Accurate, Ecn::Ect1),
        (CcKind::Prague, EcnConfig::L4S, Classic, Ecn::NotEct),
        (CcKind::Prague, EcnConfig::L4S, Off, Ecn::NotEct),
        (CcKind::Prague, ect0, Accurate, Ecn::Ect0),
        (CcKind::Dctcp, EcnConfig::PER_SEGMENT, Classic, Ecn::Ect0),
        (CcKind::Reno, EcnConfig::L4S, Accurate, Ecn::NotEct),
    ] {
        let peer =
            Config { ecn: EcnConfig { feedback: server, ..EcnConfig::OFF }, ..l4s(CcKind::Reno, EcnConfig::OFF) };
        let (mut a, _, _) = open_configured(l4s(cc, ecn), peer);
        a.offer(SMSS);
        assert_eq!(leave(&mut a, Time::ZERO).unwrap().ecn, expected, "{cc:?} {ecn:?} {server:?}");
        let counts = expected != Ecn::NotEct;
        assert_eq!(a.tcb.sender.window.cc.takes_marks(), counts && cc != CcKind::Reno, "{cc:?} {server:?}");
    }
}

/// Retransmissions wait in the same queue as data.
#[test]
fn retransmissions_are_ect1_too() {
    for (cc, config, expected) in
        [(CcKind::Prague, EcnConfig::L4S, Ecn::Ect1), (CcKind::Dctcp, EcnConfig::PER_SEGMENT, Ecn::NotEct)]
    {
        let mut s = Bench::new(cc, 20, |ends| ends.ecn = config);
        s.send(20);
        s.at(Time::ZERO + Duration::from_millis(100)).hear(0, &[(1, 10)], None);
        s.at(Time::ZERO + Duration::from_millis(200));
        s.conn.handle_wakeup(s.now);
        let again = std::iter::from_fn(|| leave(&mut s.conn, s.now)).find(|segment| segment.is_retransmission);
        assert_eq!(again.map(|segment| segment.ecn), Some(expected), "{cc:?}");
    }
}

/// Marked and delivered packets of each call.
type Counts = Vec<(u32, u32)>;

/// Reno that counts marks and never reacts to them; its notes are [in on_delivery, in on_ack].
#[derive(Clone, Debug)]
struct CountsMarks(Window, Arc<Mutex<[Counts; 2]>>);

impl CountsMarks {
    fn note(&self, hook: usize, marks: Marks) {
        self.1.lock().unwrap()[hook].push((marks.ce_packets, marks.delivered_packets));
    }
}

impl CongestionControl for CountsMarks {
    fn on_ack(&mut self, ack: &AckSample, path: &PathState) {
        self.note(1, ack.marks);
        self.0.grow(ack, path);
    }
    fn on_delivery(&mut self, delivery: &Delivery, _: &PathState) {
        self.note(0, delivery.marks);
    }
    fn on_congestion(&mut self, _: Congestion, _: &PathState) {}
    fn on_rto(&mut self, _: bool, _: &PathState) {}
    fn limit_cwnd(&mut self, max: u64) {
        self.0.limit(max);
    }
    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        self.0.set(cwnd, ssthresh);
    }
    fn on_smss(&mut self, smss: u64) {
        self.0.on_smss(smss);
    }
    fn cwnd(&self) -> u64 {
        self.0.cwnd()
    }
    fn ssthresh(&self) -> u64 {
        self.0.ssthresh()
    }
    fn takes_deliveries(&self) -> bool {
        true
    }
    fn takes_marks(&self) -> bool {
        true
    }
}

/// `docs/specs/l4s.md`, test 9, on a connection: each ACK counts its marked packets, also by SACK.
#[test]
fn acks_report_how_many_packets_were_marked() {
    let seen = |feedback, wrap| {
        let notes = Arc::<Mutex<[Vec<(u32, u32)>; 2]>>::default();
        let mut s = Bench::new(CcKind::Sack, 40, |config| {
            config.ecn = EcnConfig { feedback, wrap, ..EcnConfig::OFF };
            let notes = Arc::clone(&notes);
            config.own_cc =
                Some(CustomCc::new(move |init| Box::new(CountsMarks(Window::new(init), Arc::clone(&notes)))));
        });
        s.send(40);
        let before = s.conn.cwnd();
        let is_accurate = feedback == EcnFeedback::Accurate;
        let flags = |ace: u8, ece| match is_accurate {
            true => Flags::default().with_ace(ace),
            false if ece => Flags::ECE,
            false => Flags::default(),
        };
        s.echo(2, flags(6, true));
        s.echo(4, flags(6, false));
        // Twelve packets, whose marks have moved the counter from 6 to 1.
        s.echo(16, flags(1, true));
        assert!(s.conn.cwnd() > before, "ACKs that report marks grow the window");
        let counts = feedback != EcnFeedback::Classic;
        assert_eq!(
            s.conn.counters().ecn_reductions,
            u64::from(!counts),
            "the window is reduced for marks, or they are counted"
        );
        let notes = notes.lock().unwrap().clone();
        assert_eq!(notes[0], notes[1]);
        notes[0].clone()
    };
    use crate::config::AceWrap::{Least, Most};
    assert_eq!(seen(EcnFeedback::Accurate, Most), [(1, 2), (0, 2), (11, 12)]);
    assert_eq!(seen(EcnFeedback::Accurate, Least), [(1, 2), (0, 2), (3, 12)]);
    assert_eq!(seen(EcnFeedback::PerSegment, Most), [(2, 2), (0, 2), (12, 12)]);
    assert_eq!(seen(EcnFeedback::Classic, Most), [(0, 0); 3]);
}

/// Prague's first mark halves the window and ends slow start; more marks of this window do nothing.
#[test]
fn prague_reduces_once_per_window_of_data() {
    let mut s = Bench::new(CcKind::Prague, 20, |config| config.ecn = EcnConfig::L4S);
    s.send(100);
    s.now += Duration::from_millis(50);
    s.echo(1, Flags::default().with_ace(6));
    assert_eq!((s.cwnd(), s.ssthresh(), s.conn.counters().ecn_reductions), (10, 10, 1));
    s.echo(2, Flags::default().with_ace(7));
    s.echo(20, Flags::default().with_ace(0));
    assert_eq!((s.cwnd(), s.conn.counters().ecn_reductions), (10, 1));
    assert!(s.events().iter().any(|event| matches!(event, Event::SlowStartExit(_))), "slow start ended");
}

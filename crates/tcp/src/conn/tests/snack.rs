//! SNACK and rate control of SCPS-TP: `docs/specs/scps-tp.md`, tests.

use super::*;
use crate::scps::{BitVector, ScpsCapabilities, ScpsOptions, SnackOption};
use crate::segment::SynOptions;
use bentpipe_cc::verdict::VerdictKind;
use bentpipe_cc::{CcConfig, ScpsCongestion, ScpsSettings};
use bentpipe_units::Rate;

fn snack(change: impl FnOnce(&mut Snack)) -> Recovery {
    let mut settings = Snack::default();
    change(&mut settings);
    Recovery::Snack(settings)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A receiver, to which a test sends segments of 1000 B.
struct Receiving(Bench);

impl Receiving {
    fn new(change: impl FnOnce(&mut Snack)) -> Self {
        let mut receiving = Self(Bench::new(CcKind::Reno, 10, |config| config.recovery = snack(change)));
        receiving.data(0, 5000);
        receiving
    }

    /// Data [start, end) arrive; gives the options of the ACK.
    fn data(&mut self, start: u64, end: u64) -> Options {
        self.0.data(start, end, Flags::ACK);
        leave(&mut self.0.conn, self.0.now).map_or(Options::None, |ack| ack.options)
    }

    /// Returns the report of a hole: (offset, size).
    fn hole(&mut self, start: u64, end: u64) -> Option<(u16, u16)> {
        match self.data(start, end) {
            Options::Scps(ScpsOptions { snack, .. }) => snack.map(|snack| (snack.offset, snack.size)),
            _ => None,
        }
    }
}

#[test]
fn test_1_a_hole_is_reported_in_segments() {
    let mut r = Receiving::new(|_| ());
    let Options::Scps(options) = r.data(7000, 8000) else { panic!("nothing is reported") };
    assert_eq!(options.encode()[..8], [0x15, 6, 0, 0, 0, 2, 1, 1]);
}

#[test]
fn test_2_the_second_hole_begins_at_its_offset() {
    let mut r = Receiving::new(|snack| snack.resnacks = 1);
    assert_eq!([r.hole(7000, 8000), r.hole(10_000, 11_000)], [Some((0, 2)), Some((3, 2))]);
    assert_eq!(r.hole(11_000, 12_000), None, "each was reported");
}

#[test]
fn test_3_sizes_are_rounded_up_and_offsets_down() {
    let mut r = Receiving::new(|snack| snack.resnacks = 1);
    assert_eq!(r.hole(6500, 7500), Some((0, 2)));
    assert_eq!(r.hole(8700, 9000), Some((2, 2)));
}

#[test]
fn test_4_the_first_hole_thrice_and_the_others_once() {
    let mut r = Receiving::new(|_| ());
    // Holes at 5000, 8000 and 12,000; later data opens no other.
    assert_eq!(
        [(7000, 8000), (10_000, 12_000), (14_000, 15_000)].map(|(from, to)| r.hole(from, to)),
        [Some((0, 2)), Some((0, 2)), Some((0, 2))]
    );
    let quiet = |r: &mut Receiving, n: u64| [0, 1, 2].map(|i| r.hole(14_000 + n + i, 15_001 + n + i));
    assert_eq!(quiet(&mut r, 0), [Some((3, 2)), Some((7, 2)), None]);
    assert_eq!(quiet(&mut r, 3), [None; 3]);
    // A new gap restarts the reports; then the first is filled, and the second is first.
    assert_eq!(r.hole(17_000, 18_000), Some((0, 2)));
    assert_eq!(
        [(); 5].map(|()| r.hole(17_000, 18_000)),
        [Some((0, 2)), Some((0, 2)), Some((3, 2)), Some((7, 2)), Some((10, 2))]
    );
    assert_eq!(r.hole(17_000, 18_000), None);
    assert_eq!(r.hole(5000, 7000), Some((0, 2)));
    // Part of a gap is no gap filled.
    (0..9).for_each(|_| assert_ne!(r.hole(17_000, 18_000), Some((9, 9))));
    assert_eq!([r.hole(8000, 9000), r.hole(9000, 10_000)], [None, Some((0, 2))]);
}

#[test]
fn the_long_form_reports_all_holes_at_once() {
    let mut r = Receiving::new(|snack| snack.form = SnackForm::Long);
    let vector = |options: Options| match options {
        Options::Scps(ScpsOptions { snack: Some(snack), .. }) => {
            Some((snack.offset, snack.size, Vec::from_iter((0..snack.beyond.units()).map(|at| snack.beyond.has(at)))))
        }
        _ => None,
    };
    assert_eq!(vector(r.data(7000, 8000)), Some((0, 2, vec![true])));
    r.data(10_000, 11_000);
    let all = (0, 2, vec![true, false, false, true]);
    assert_eq!(vector(r.data(11_000, 11_500)), Some(all), "half of a unit is not there");
    assert_eq!(vector(r.data(11_000, 11_500)), None, "the vector seen of the second");
    // A hole beyond what the vector can tell has its turn.
    r.data(200_000, 400_000 - 150_000);
    let turns = [(); 4].map(|()| vector(r.data(220_000, 220_001)).map(|seen| seen.0));
    assert_eq!(turns, [Some(0), Some(0), Some(6), None]);
}

#[test]
fn corruption_is_reported_on_the_next_acks_if_wanted() {
    for wanted in [true, false] {
        let mut r = Receiving::new(|snack| snack.corruption_experienced = wanted);
        r.0.conn.handle(r.0.now, Arrived::Corrupted);
        // Each is out of order, so that each is acknowledged at once.
        let seen = [(); 5].map(|()| match r.data(8000, 9000) {
            Options::Scps(options) => options.corruption_experienced,
            _ => false,
        });
        assert_eq!(seen, [wanted, wanted, wanted, false, false]);
    }
}

impl Bench {
    /// An ACK of the segments below `ack` with these options arrives. Returns the segments that leave.
    fn ack_with(&mut self, ack: u64, options: Options) -> Vec<u64> {
        let segment = Segment {
            seq: self.conn.tcb.wire.irs.at(1),
            ack: self.conn.tcb.wire.iss.at(1 + ack * SMSS),
            window: (self.conn.tcb.sender.space.rwnd >> self.conn.tcb.cx.agreed.snd_shift) as u16,
            flags: Flags::ACK,
            options,
            ..Segment::default()
        };
        self.conn.handle(self.now, &segment);
        self.leaving()
    }

    /// An ACK that reports a hole arrives. Returns the segments that leave.
    fn snack(&mut self, ack: u64, offset: u16, size: u16) -> Vec<u64> {
        self.ack_with(ack, snacked(offset, size))
    }
}

fn snacked(offset: u16, size: u16) -> Options {
    let snack = SnackOption { offset, size, beyond: BitVector::default() };
    Options::Scps(ScpsOptions { snack: Some(snack), ..ScpsOptions::default() })
}

/// Twenty segments leave at time zero, a round trip takes 540 ms.
fn sender(change: impl FnOnce(&mut Config)) -> Bench {
    let mut s = Bench::new(CcKind::Reno, 1, |config| {
        config.recovery = snack(|_| ());
        config.initial_ssthresh = InitialSsthresh::Bytes(20_000);
        change(config);
    });
    s.conn.offer(1);
    s.conn.offer(999);
    s.leaving();
    s.now += ms(540);
    s.ack(1, &[]);
    s.conn.tcb.sender.window.cc.set_window(20_000, 20_000);
    assert_eq!(s.send(20), Vec::from_iter(1..21));
    assert_eq!(s.conn.report().srtt(), Some(ms(540)));
    s
}

#[test]
fn one_report_starts_the_repair_and_the_embargo_lasts_a_round_trip() {
    let mut s = sender(|_| ());
    assert_eq!(s.snack(1, 0, 2), [1, 2]);
    s.now += ms(200);
    assert_eq!(s.snack(1, 0, 2), NONE);
    s.now += ms(400);
    assert_eq!(s.snack(1, 0, 2), [1, 2]);
    s.now += ms(100);
    assert_eq!(s.snack(1, 1, 2), [3], "it was never retransmitted");
}

#[test]
fn many_holes_are_repaired_in_one_round_trip() {
    let mut s = sender(|_| ());
    s.conn.offer(30 * SMSS);
    let resent = [(0, 1), (3, 2), (8, 1), (11, 4), (17, 1)].map(|(offset, size)| s.snack(1, offset, size));
    assert_eq!(resent, [vec![1], vec![4, 5], vec![9], vec![12, 13, 14, 15], vec![18]]);
    assert_eq!(s.conn.counters().fast_retransmits, 1);
    s.now += ms(540);
    // The rest in the network leaves room for new data.
    let flown = s.ack(21, &[]);
    assert_eq!((flown.len(), flown[0]), (10, 21));
}

#[test]
fn test_5_one_reduction_in_an_epoch() {
    let mut s = sender(|_| ());
    s.snack(1, 4, 1);
    assert_eq!((s.cwnd(), s.ssthresh()), (10, 10));
    s.snack(1, 9, 1);
    s.now += ms(600);
    s.snack(1, 4, 1);
    s.snack(5, 5, 1);
    s.conn.offer(40 * SMSS);
    s.ack(10, &[]);
    s.ack(19, &[]);
    let reductions = |s: &Bench| s.conn.counters().fast_retransmits;
    assert_eq!((reductions(&s), s.ssthresh()), (1, 10));
    // The epoch ends with 21; a hole that was reported before starts no other, a new hole does.
    s.snack(20, 3, 1);
    s.ack(21, &[]);
    s.now += ms(600);
    s.snack(21, 2, 1);
    assert_eq!(reductions(&s), 1);
    s.snack(21, 5, 1);
    assert_eq!(reductions(&s), 2);
}

#[test]
fn the_window_is_raised_to_the_hole() {
    let mut s = sender(|_| ());
    assert_eq!(s.snack(1, 1, 15).len(), 15);
    assert_eq!((s.cwnd(), s.ssthresh()), (15, 10));
}

#[test]
fn the_third_duplicate_reports_the_first_segment() {
    let mut s = sender(|_| ());
    assert_eq!([(); 4].map(|()| s.ack(1, &[])), [vec![], vec![], vec![1], vec![]]);
    assert_eq!(s.ssthresh(), 10);
}

/// The timer retransmits segments that had arrived: their duplicates begin no epoch.
#[test]
fn duplicates_of_needless_retransmissions_report_nothing() {
    let mut s = sender(|_| ());
    s.conn.offer(40 * SMSS);
    s.time_out();
    s.ack(2, &[]);
    s.ack(21, &[]);
    let (window, before) = (s.cwnd(), s.conn.counters().fast_retransmits);
    (0..5).for_each(|_| drop(s.ack(21, &[])));
    assert_eq!((s.cwnd(), s.conn.counters().fast_retransmits), (window, before));
    // A hole that the receiver reports there does.
    s.snack(21, 0, 1);
    assert_eq!(s.conn.counters().fast_retransmits, before + 1);
}

#[test]
fn duplicates_make_room_and_acks_beyond_the_hole_take_it_back() {
    let mut s = sender(|config| config.cc = CcConfig::Scps(ScpsSettings::default()));
    s.conn.offer(40 * SMSS);
    s.snack(1, 0, 1);
    // Of twenty, nineteen are on their way, and one retransmission; the window is ten.
    let left: Vec<_> = (0..15).map(|_| s.ack(1, &[]).len()).collect();
    // The third duplicate finds the first segment under embargo, and the eleventh with the first one leaves room.
    assert_eq!(left, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
    let outstanding = s.conn.tcb.sender.space.nxt / SMSS;
    assert_eq!(outstanding, 27);
    // All up to there except the duplicates: 20 - 17.
    assert_eq!(s.ack(21, &[]).len(), 4);
}

/// Growth in an epoch is a reading, and both are there.
#[test]
fn acks_of_new_data_grow_the_window_in_an_epoch_if_wanted() {
    for (grows, expected) in [(true, 10_100), (false, 10_000)] {
        let mut s = sender(|config| config.recovery = snack(|snack| snack.grows = grows));
        s.conn.offer(40 * SMSS);
        s.snack(1, 4, 1);
        assert_eq!(s.conn.cwnd(), 10_000);
        s.ack(2, &[]);
        assert_eq!(s.conn.cwnd(), expected);
    }
}

#[test]
fn acks_that_pass_a_hole_give_no_round_trip_to_the_controller() {
    let vegas = ScpsSettings { congestion: ScpsCongestion::Vegas, ..ScpsSettings::default() };
    let mut s = sender(|config| config.cc = CcConfig::Scps(vegas));
    s.snack(1, 0, 1);
    s.now += ms(5000);
    s.conn.offer(40 * SMSS);
    s.ack(21, &[]);
    let before = s.conn.cwnd();
    s.now += ms(540);
    let next = s.conn.tcb.sender.space.nxt / SMSS;
    s.ack(next, &[]);
    assert!(s.conn.cwnd() >= before, "the queue seems to be empty");
}

fn corrupted() -> Options {
    Options::Scps(ScpsOptions { corruption_experienced: true, ..ScpsOptions::default() })
}

#[test]
fn test_6_corruption_leaves_window_and_timer_alone() {
    for (srtts, is_reduced) in [(0.5, false), (3.0, true)] {
        let indicated = |verdict: VerdictKind| {
            let mut s = sender(|config| config.verdict = verdict);
            s.ack_with(1, corrupted());
            s.now += ms((540.0 * srtts) as u64);
            assert_eq!(s.snack(1, 4, 1), [5]);
            s
        };
        let s = indicated(VerdictKind::AssumeCongestion);
        assert_eq!(s.cwnd(), if is_reduced { 10 } else { 20 }, "{srtts}");
        assert_eq!(indicated(VerdictKind::AssumeCorruption).cwnd(), 20);
        assert_eq!(indicated(VerdictKind::AlwaysCongestion).cwnd(), 10);
    }
    // The timer, too: it does not back off.
    for (verdict, cwnd, factor) in [(VerdictKind::AssumeCorruption, 20, 1), (VerdictKind::AssumeCongestion, 1, 2)] {
        let mut s = sender(|config| config.verdict = verdict);
        let rto = s.conn.report().rto();
        s.time_out();
        assert_eq!((s.cwnd(), s.conn.report().rto()), (cwnd, rto * factor));
    }
}

/// An ACK of everything below `ack` with a hole, and with a report of corruption.
fn damaged(offset: u16, size: u16) -> Options {
    let Options::Scps(options) = snacked(offset, size) else { unreachable!() };
    Options::Scps(ScpsOptions { corruption_experienced: true, ..options })
}

/// One packet of twenty arrived damaged, a full queue dropped another: the report covers the hole that came with it.
#[test]
fn a_queue_drop_is_no_damage_because_damage_was_reported() {
    for (covers, window) in [(CorruptionCovers::Hole, 10), (CorruptionCovers::RoundTrips, 20)] {
        let mut s = sender(|config| {
            config.verdict = VerdictKind::AssumeCongestion;
            config.recovery = snack(|snack| snack.corruption_covers = covers);
        });
        assert_eq!(s.ack_with(1, damaged(2, 1)), [3]);
        assert_eq!((s.cwnd(), s.conn.counters().fast_retransmits), (20, 1), "damage");
        // The receiver repeats report and hole.
        s.ack_with(1, damaged(2, 1));
        s.ack_with(1, damaged(2, 1));
        assert_eq!(s.cwnd(), 20);
        assert_eq!(s.snack(1, 6, 1), [7]);
        assert_eq!(s.cwnd(), window, "{covers:?}");
        // Once for this window of data.
        assert_eq!(s.snack(1, 9, 1), [10]);
        assert_eq!(s.cwnd(), window);
    }
}

#[test]
fn damage_in_a_window_that_was_reduced_is_no_excuse_later() {
    let mut s = sender(|config| config.verdict = VerdictKind::AssumeCongestion);
    s.conn.offer(40 * SMSS);
    s.snack(1, 2, 1);
    assert_eq!(s.cwnd(), 10);
    // The report is used up by its own hole, although nothing is judged then.
    s.ack_with(1, damaged(8, 1));
    s.now += ms(540);
    s.ack(21, &[]);
    let before = s.cwnd();
    s.snack(21, 3, 1);
    assert!(s.cwnd() < before, "congestion");
}

#[test]
fn marks_override_reports_of_corruption() {
    let mut s = sender(|config| {
        config.verdict = VerdictKind::AssumeCorruption;
        config.ecn.feedback = EcnFeedback::Classic;
    });
    let echo = Segment {
        seq: s.conn.tcb.wire.irs.at(1),
        ack: s.conn.tcb.wire.iss.at(1 + SMSS),
        window: 60_000,
        flags: Flags::ACK.with(Flags::ECE),
        ..Segment::default()
    };
    s.conn.handle(s.now, &echo);
    s.ack_with(1, corrupted());
    let marked = s.conn.cwnd();
    s.conn.offer(60 * SMSS);
    s.ack(21, &[]);
    assert!(s.conn.cwnd() >= marked);
    s.snack(21, 1, 1);
    assert!(s.conn.cwnd() < marked, "the loss is congestion");
}

/// Test 7, and the ACKs draw as well.
#[test]
fn test_7_rate_control() {
    let settings = ScpsSettings { rate: Rate::from_bps(1_000_000), ..ScpsSettings::default() };
    let mut s = Bench::new(CcKind::Reno, 20, |config| {
        config.cc = CcConfig::Scps(settings);
        config.recovery = config.cc.kind().recovery();
        config.smss = 1500;
    });
    s.now += ms(1000);
    s.conn.offer(15_000);
    assert_eq!(std::iter::from_fn(|| leave(&mut s.conn, s.now)).count(), 4);
    let waits = s.conn.next_wakeup() - s.now;
    assert_eq!(waits, Duration::from_micros(11_600));
    // Data arrive: the ACK waits too.
    let data = Segment {
        seq: s.conn.tcb.wire.irs.at(1),
        ack: s.conn.tcb.wire.iss.at(1),
        len: 1000,
        window: 1000,
        flags: Flags::ACK.with(Flags::FIN),
        ..Segment::default()
    };
    s.conn.handle(s.now, &data);
    let segment = leave(&mut s.conn, s.now);
    assert_eq!(segment, None);
    s.now += waits;
    s.conn.handle_wakeup(s.now);
    let next = leave(&mut s.conn, s.now).unwrap();
    assert_eq!((next.len, next.ack), (1500, s.conn.tcb.wire.irs.at(1002)));
}

#[test]
fn a_pure_ack_waits_for_the_bucket() {
    let settings = ScpsSettings { rate: Rate::from_bps(8000), tick: ms(1), depth: 40, ..ScpsSettings::default() };
    let mut s = Bench::new(CcKind::Reno, 20, |config| config.cc = CcConfig::Scps(settings));
    s.now += ms(1000);
    let arrive = |s: &mut Bench, at: u64| {
        let data = Segment {
            seq: s.conn.tcb.wire.irs.at(1 + at),
            ack: s.conn.tcb.wire.iss.at(1),
            len: 10,
            window: 9,
            ..Segment::default()
        };
        s.conn.handle(s.now, &Segment { flags: Flags::ACK, ..data });
        leave(&mut s.conn, s.now).is_some()
    };
    // The bucket holds 40 B, one ACK; 1 B comes in each millisecond.
    assert_eq!([10, 20, 30].map(|at| arrive(&mut s, at)), [true, false, false]);
    assert_eq!(s.conn.next_wakeup(), s.now + ms(40));
    s.now += ms(40);
    s.conn.handle_wakeup(s.now);
    assert!(leave(&mut s.conn, s.now).is_some());
}

#[test]
fn both_ends_have_to_offer_it() {
    let open = |ours: Recovery, theirs: Recovery| {
        let config = |recovery| Config { recovery, ..Config::default() };
        let mut client = Connection::new(config(ours), Role::Active, Seq::new(1));
        let mut server = Connection::new(config(theirs), Role::Passive, Seq::new(2));
        server.open(Time::ZERO);
        client.open(Time::ZERO);
        let syn = leave(&mut client, Time::ZERO).unwrap();
        server.handle(Time::ZERO, &syn);
        let answer = leave(&mut server, Time::ZERO).unwrap();
        client.handle(Time::ZERO, &answer);
        let offered = |segment: &Segment| match segment.options {
            Options::Syn(SynOptions { scps, .. }) => scps.map(|scps| scps.features),
            _ => None,
        };
        let vector = |conn: &mut Connection| conn.tcb.receiver.extras.is_some();
        ((offered(&syn), offered(&answer)), (vector(&mut client), vector(&mut server)))
    };
    let (short, long) = (ScpsCapabilities::SNACK_SHORT, ScpsCapabilities::SNACK_SHORT | ScpsCapabilities::SNACK_LONG);
    let plain = Recovery::NewReno(NewReno::default());
    let with_vector = snack(|snack| snack.form = SnackForm::Long);
    assert_eq!(open(snack(|_| ()), snack(|_| ())), ((Some(short), Some(short)), (true, true)));
    assert_eq!(open(with_vector, snack(|_| ())), ((Some(long), Some(short)), (true, true)));
    assert_eq!(open(snack(|_| ()), plain), ((Some(short), None), (false, false)));
    assert_eq!(open(plain, snack(|_| ())), ((None, None), (false, false)));
}

#[test]
fn without_the_peers_consent_it_is_newreno() {
    let mut s = Bench::new(CcKind::Reno, 10, |config| {
        config.recovery = snack(|_| ());
        config.handshake = true;
    });
    let syn = leave(&mut s.conn, s.now).unwrap();
    let answer = Segment {
        seq: Seq::new(7),
        ack: syn.seq.at(1),
        window: 65_535,
        flags: Flags::SYN.with(Flags::ACK),
        options: Options::Syn(SynOptions { mss: 1000, ..SynOptions::default() }),
        ..Segment::default()
    };
    s.conn.handle(s.now, &answer);
    s.send(30);
    assert_eq!([(); 3].map(|()| s.ack(0, &[])), [vec![], vec![], vec![0]]);
    assert!(s.ack(1, &[]).contains(&1), "a partial ACK");
}

/// Any ACK is harmless, and shows only losses of sent data.
#[test]
fn strange_reports_do_no_harm() {
    for (ack, offset, size) in [(1, 65_535, 65_535), (1, 0, 0), (1, 19, 1), (1, 20, 5), (1, 0, 65_535)] {
        let mut s = sender(|_| ());
        let sent = s.snack(ack, offset, size);
        assert!(sent.iter().all(|segment| (1..21).contains(segment)), "{sent:?}");
        s.ack(21, &[]);
        assert_eq!(s.conn.flight_size(), 0);
    }
    let mut s = sender(|_| ());
    let mut beyond = BitVector::default();
    beyond.set(191);
    let vector = SnackOption { offset: 0, size: 1, beyond };
    assert_eq!(
        s.ack_with(
            1,
            Options::Scps(ScpsOptions { snack: Some(vector), corruption_experienced: true, record_boundary: false })
        )
        .len(),
        20
    );
}

/// The hole at the front is lost twice: the next gap reports it again.
#[test]
fn a_lost_retransmission_is_retransmitted_when_it_is_reported_again() {
    let mut s = sender(|_| ());
    assert_eq!(s.snack(1, 0, 1), [1]);
    s.now += ms(540);
    assert_eq!(s.snack(1, 0, 1), [1]);
    assert_eq!(s.conn.counters().timeouts, 0);
}

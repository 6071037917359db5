//! Reactions to notices of errors: retransmission without reduction, and a segment size that follows the error rate.

use super::bench::{Bench, SMSS};
use super::*;
use crate::config::{CwndUnit, ErrorReports, PacketSize, ReportResend, SizeFormula, SizeGiven, SizeUnit};
use bentpipe_cc::Notice;

fn heeding(cc: CcKind, window: u32) -> Bench {
    Bench::new(cc, window, |config| config.error_reports = ErrorReports::Resend)
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn sized(unit: CwndUnit) -> impl FnOnce(&mut Config) {
    move |config| {
        config.cwnd_unit = unit;
        config.packet_size = PacketSize::Optimum {
            formula: SizeFormula::Deterministic,
            gives: SizeGiven::Payload,
            unit: SizeUnit::Bit,
            density: 1.0,
            header: 40,
            min: 80,
            max: 65_535,
        };
    }
}

impl Bench {
    /// Segment `segment` is reported as corrupted. Returns the segments that leave.
    fn report(&mut self, segment: u64) -> Vec<u64> {
        let seq = self.conn.tcb.wire.iss.at(1 + segment * SMSS);
        self.conn.notify(self.now, Notice::Corrupted { seq, len: SMSS as u16, error_rate: None });
        self.leaving()
    }
}

/// `docs/specs/been.md`, test 3.
#[test]
fn a_reported_segment_leaves_again_and_its_duplicates_inflate_and_deflate_the_window() {
    let mut bench = heeding(CcKind::NewReno, 8);
    assert_eq!(bench.send(100), (0..8).collect::<Vec<_>>());
    bench.now = Time::ZERO + Duration::from_millis(12);
    let ssthresh = bench.conn.ssthresh();
    assert_eq!(bench.report(0), [0]);
    assert_eq!(bench.cwnd(), 8);
    assert_eq!(
        bench.conn.next_wakeup(),
        bench.now + bench.conn.report().rto(),
        "the timer measures from the retransmission"
    );
    assert_eq!(bench.ack(0, &[]), []);
    assert_eq!(bench.ack(0, &[]), []);
    assert_eq!(bench.ack(0, &[]), [8, 9, 10], "nothing is retransmitted, the inflated window lets new segments go");
    assert_eq!((bench.cwnd(), bench.conn.ssthresh()), (11, ssthresh));
    bench.ack(8, &[]);
    assert_eq!((bench.cwnd(), bench.conn.ssthresh()), (8, ssthresh));
    assert_eq!(bench.conn.counters().retransmitted_segments, 1);
}

/// The report is there long before the duplicates: data that left in between is on its way when the hole is filled.
#[test]
fn what_was_sent_after_the_retransmission_is_no_hole() {
    let mut bench = heeding(CcKind::NewReno, 8);
    bench.send(100);
    bench.ack(1, &[]);
    bench.report(1);
    (0..3).for_each(|_| drop(bench.ack(1, &[])));
    let nxt = bench.conn.tcb.sender.space.nxt;
    assert!(nxt > 10 * SMSS);
    bench.ack(10, &[]);
    assert_eq!((bench.conn.ssthresh(), bench.conn.counters().retransmitted_segments), (None, 1));
    assert_eq!(bench.cwnd(), 9);
}

/// `docs/specs/been.md`, test 4, and the acknowledged data.
#[test]
fn reports_of_what_is_not_outstanding_are_ignored() {
    let mut bench = heeding(CcKind::NewReno, 4);
    bench.send(100);
    assert_eq!(bench.report(4), [], "SND.NXT");
    bench.ack(2, &[]);
    assert_eq!(bench.report(1), []);
    assert_eq!(bench.conn.counters().retransmitted_segments, 0);
}

/// Two of three copies are reported, and nothing happens; the third one's report brings three more. With an error rate of p none
/// of three arrives with p³.
#[test]
fn copies_leave_together_and_again_when_all_were_reported() {
    let mut bench = Bench::new(CcKind::NewReno, 4, |config| {
        (config.error_reports, config.report_copies) = (ErrorReports::Resend, 3);
    });
    bench.send(100);
    assert_eq!(bench.report(1), [1, 1, 1]);
    assert_eq!([bench.report(1), bench.report(1)], [vec![], vec![]]);
    assert_eq!(bench.report(1), [1, 1, 1]);
    assert_eq!(bench.report(2), [2, 2, 2]);
    assert_eq!((bench.cwnd(), bench.conn.counters().retransmitted_segments), (4, 9));
    bench.ack(3, &[]);
    assert_eq!(bench.report(3), [3, 3, 3]);
    assert_eq!(bench.conn.ssthresh(), None);
}

#[test]
fn each_loss_of_a_retransmission_can_be_reported() {
    let mut bench = heeding(CcKind::NewReno, 4);
    bench.send(100);
    for _ in 0..5 {
        assert_eq!(bench.report(1), [1]);
    }
    assert_eq!((bench.cwnd(), bench.conn.flight_size()), (4, 4 * SMSS));
}

/// Segments of 70 B where they had 1000 B: 15 of them, the last with 20 B.
fn cut(cc: CcKind, resend: ReportResend, window: u32) -> Bench {
    let mut bench = Bench::new(cc, window, |config| {
        sized(CwndUnit::Packets)(config);
        (config.error_reports, config.report_resend) = (ErrorReports::Resend, resend);
    });
    bench.send(100);
    bench.conn.notify(bench.now, Notice::ErrorRate(1e-3));
    bench
}

impl Bench {
    /// Offset and length of each segment that leaves.
    fn bytes_leaving(&mut self) -> Vec<(u64, u16)> {
        let first = self.conn.tcb.wire.iss.at(1);
        std::iter::from_fn(|| leave(&mut self.conn, self.now))
            .map(|segment| (segment.seq.value().wrapping_sub(first.value()).into(), segment.len))
            .collect()
    }

    fn report_bytes(&mut self, offset: u64, len: u16) -> Vec<(u64, u16)> {
        let seq = self.conn.tcb.wire.iss.at(1 + offset);
        self.conn.notify(self.now, Notice::Corrupted { seq, len, error_rate: None });
        self.bytes_leaving()
    }

    fn ack_bytes(&mut self, offset: u64) -> Vec<(u64, u16)> {
        let (seq, ack) = (self.conn.tcb.wire.irs.at(1), self.conn.tcb.wire.iss.at(1 + offset));
        let segment = Segment { seq, ack, flags: Flags::ACK, window: u16::MAX, ..Segment::default() };
        self.conn.handle(self.now, &segment);
        self.bytes_leaving()
    }
}

#[test]
fn a_reported_segment_leaves_whole_or_one_packet_for_one() {
    let mut whole = cut(CcKind::NewReno, ReportResend::Whole, 1);
    let pieces: Vec<_> = (0..15).map(|at| (67 * at, if at < 14 { 67 } else { 62 })).collect();
    assert_eq!(whole.report_bytes(0, 1000), pieces, "a window of one segment, and fifteen at one instant");
    for cc in [CcKind::NewReno, CcKind::Sack, CcKind::Tahoe] {
        let mut packet = cut(cc, ReportResend::Packet, 1);
        assert_eq!(packet.report_bytes(0, 1000), [(0, 67)]);
        assert_eq!(packet.report_bytes(0, 67), [(0, 67)], "it is reported again, and the rest waits still");
        let mut left = Vec::new();
        let mut most = 0;
        for (offset, len) in pieces.iter().take(14) {
            let now = packet.ack_bytes(offset + u64::from(*len));
            most = most.max(now.len());
            left.extend(now);
        }
        assert_eq!(left[..14], pieces[1..], "before new data");
        assert!(most <= 2, "slow start sends two segments for an ACK, not {most}");
        let counters = packet.conn.counters();
        assert_eq!(
            (packet.conn.ssthresh(), counters.retransmitted_segments, counters.retransmitted_bytes),
            (None, 16, 1067)
        );
    }
}

/// The recovery after a timeout retransmits waiting segments as all others.
#[test]
fn what_waits_behind_the_first_packet_is_repaired_once() {
    let mut bench = cut(CcKind::Sack, ReportResend::Packet, 4);
    assert_eq!(bench.report_bytes(1000, 1000), [(1000, 67)]);
    bench.now = bench.conn.next_wakeup();
    bench.conn.handle_wakeup(bench.now);
    let mut left = bench.bytes_leaving();
    while left.last().is_none_or(|last| last.0 < 4000) {
        let now = bench.ack_bytes(left.last().map_or(0, |last| last.0 + u64::from(last.1)));
        assert!(!now.is_empty(), "after {left:?}");
        left.extend(now);
    }
    let twice = left.windows(2).find(|two| two[0].0 >= two[1].0);
    assert_eq!(twice, None, "each once, in order");
}

#[test]
fn a_hole_that_nobody_reported_reduces_the_window() {
    let mut bench = heeding(CcKind::NewReno, 8);
    bench.send(100);
    bench.report(0);
    (0..3).for_each(|_| drop(bench.ack(0, &[])));
    assert_eq!(bench.conn.ssthresh(), None);
    let left = bench.ack(4, &[]);
    assert_eq!(left.first(), Some(&4), "the partial ACK shows another hole, which is retransmitted");
    assert!(bench.conn.ssthresh().is_some());
    assert!(bench.conn.cwnd() < 8 * SMSS);
    // At the third duplicate it is seen at once.
    let mut bench = heeding(CcKind::NewReno, 8);
    bench.send(100);
    (0..3).for_each(|_| drop(bench.ack(0, &[])));
    assert_eq!(bench.ssthresh(), 4);
}

#[test]
fn selective_acknowledgements_of_a_reported_hole_begin_no_recovery() {
    let mut bench = heeding(CcKind::Sack, 8);
    bench.send(100);
    assert_eq!(bench.report(0), [0]);
    for above in 2..8 {
        bench.ack(0, &[(1, above)]);
    }
    assert_eq!((bench.cwnd(), bench.conn.ssthresh()), (8, None));
    assert_eq!(bench.conn.counters().retransmitted_segments, 1);
    // Segment 3 is lost by congestion.
    bench.ack(8, &[]);
    let next = 8;
    for above in next + 2..next + 8 {
        bench.ack(next, &[(next + 1, above)]);
    }
    assert!(bench.conn.ssthresh().is_some());
}

/// Every detector that uses SACK, with timestamps or without.
fn selective() -> Vec<Recovery> {
    let (on_rto, counting, rescue) = (SackOnRto::Keep, SackCounting::Data, true);
    let sack = |evidence| Recovery::Sack { on_rto, evidence, counting, rescue };
    let rack = |reenter| Recovery::Rack(Rack { reenter, ..Rack::default() });
    let evidences = [SackEvidence::Rfc6675, SackEvidence::Fack, SackEvidence::Hole, SackEvidence::Status];
    evidences.map(sack).into_iter().chain([rack(true), rack(false)]).collect()
}

fn heeding_with(recovery: Recovery, window: u32) -> Bench {
    Bench::new(CcKind::Sack, window, |config| {
        config.error_reports = ErrorReports::Resend;
        config.limited_transmit = true;
        config.recovery = recovery;
        config.spurious_detection = SpuriousDetection::Any;
        config.reduction = Reduction::Prr;
    })
}

/// Segment 0 is reported, retransmitted, and arrives a round trip later. Segments 1 to 7 and the segments sent for them arrive
/// before it.
#[test]
fn what_was_reported_is_no_evidence_of_congestion_for_any_detector() {
    for recovery in selective() {
        let mut bench = heeding_with(recovery, 8);
        bench.send(100);
        bench.at(ms(10));
        assert_eq!(bench.report(0), [0], "{recovery:?}");
        for above in 2..=8 {
            bench.at(ms(98 + above)).ack(0, &[(1, above)]);
            bench.wake_up_until(ms(99 + above));
        }
        bench.at(ms(110)).ack(8, &[]);
        let counters = bench.conn.counters();
        assert_eq!((bench.conn.ssthresh(), counters.fast_retransmits), (None, 0), "{recovery:?}");
        assert_eq!(counters.retransmitted_segments, 1, "{recovery:?}");
        assert!(bench.cwnd() >= 8, "{recovery:?}");
    }
}

/// Forward ETEN and ELN: the same ACK brings the report and shows the hole. With pacing the retransmission waits, and
/// further ACKs come before it leaves.
#[test]
fn a_report_that_comes_with_the_ack_of_the_hole_is_in_time() {
    for recovery in selective() {
        let mut bench = heeding_with(recovery, 8);
        bench.send(100);
        bench.at(ms(100));
        let seq = bench.conn.tcb.wire.iss.at(1);
        bench.conn.notify(bench.now, Notice::Corrupted { seq, len: SMSS as u16, error_rate: None });
        let first = bench.conn.tcb.wire.iss.at(1);
        for above in 2..=8 {
            let mut blocks = SackBlocks::default();
            blocks.push(first.at(SMSS), first.at(above * SMSS));
            let segment = Segment { options: Options::Sack(blocks), ..bench.peer_segment(0) };
            bench.conn.handle(bench.now, &segment);
        }
        assert_eq!(bench.leaving()[0], 0, "{recovery:?}");
        assert_eq!((bench.conn.ssthresh(), bench.conn.counters().fast_retransmits), (None, 0), "{recovery:?}");
        assert_eq!(bench.conn.counters().retransmitted_segments, 1, "{recovery:?}");
    }
}

/// The retransmission is lost in a queue without a report: the segments that left after it arrive, and it does not.
#[test]
fn a_reported_segment_that_is_lost_again_without_a_report_is_congestion() {
    for reenter in [true, false] {
        let mut bench = heeding_with(Recovery::Rack(Rack { reenter, ..Rack::default() }), 8);
        bench.send(100);
        bench.at(ms(10));
        assert_eq!(bench.report(0), [0]);
        (2..=8).for_each(|above| drop(bench.at(ms(100)).ack(0, &[(1, above)])));
        assert_eq!(bench.conn.ssthresh(), None);
        let left = bench.at(ms(200)).ack(0, &[(1, 13)]);
        assert_eq!(left.first(), Some(&0), "it leaves again");
        assert!(bench.conn.ssthresh().is_some() && bench.conn.counters().fast_retransmits == 1);
    }
}

/// Segment 0 is reported, segment 4 is lost in a queue: that one counts, once, and the window is not reduced again for the other.
#[test]
fn a_loss_beside_a_reported_segment_counts() {
    for recovery in selective() {
        let mut bench = heeding_with(recovery, 8);
        bench.send(100);
        bench.at(ms(10)).report(0);
        (2..=4).for_each(|above| drop(bench.at(ms(100)).ack(0, &[(1, above)])));
        (6..=8).for_each(|above| drop(bench.at(ms(101)).ack(0, &[(1, 4), (5, above)])));
        bench.wake_up_until(ms(109));
        bench.at(ms(110)).ack(4, &[(5, 8)]);
        (9..=11).for_each(|above| drop(bench.at(ms(200)).ack(4, &[(5, above)])));
        bench.wake_up_until(ms(205));
        let counters = bench.conn.counters();
        assert_eq!((counters.fast_retransmits, counters.retransmitted_segments), (1, 2), "{recovery:?}");
        assert!(bench.conn.ssthresh().is_some(), "{recovery:?}");
    }
}

/// Every way to find losses before the timer.
fn early() -> Vec<Recovery> {
    let others = [Recovery::Reno, Recovery::NewReno(NewReno::default()), Recovery::Snack(Snack::default())];
    selective().into_iter().chain(others).collect()
}

impl Bench {
    /// The ACK of `from`, which shows that later segments below `to` arrived, in the words that the peers agreed on.
    fn missing(&mut self, from: u64, to: u64) -> Vec<u64> {
        match self.conn.tcb.cx.agreed.sack {
            true => self.ack(from, &[(from + 1, to)]),
            false => self.ack(from, &[]),
        }
    }
}

/// Forward notices wait for ACKs that carry them: the detector has found the loss when the report of it comes. The retransmission
/// that left a moment ago is not the damaged one.
#[test]
fn a_report_after_the_detector_takes_the_reduction_back_and_resends_nothing() {
    for recovery in early() {
        let mut bench = heeding_with(recovery, 8);
        // Segments that leave before the retransmission would be acknowledged with it.
        Arc::make_mut(&mut bench.conn.tcb.cx.config).limited_transmit = false;
        bench.send(100);
        for above in 2..=5 {
            bench.at(ms(98 + above)).missing(0, above);
        }
        let reduced = bench.conn.ssthresh();
        assert!(reduced.is_some_and(|ssthresh| ssthresh < 8 * SMSS), "{recovery:?}");
        assert!(!bench.at(ms(105)).report(0).contains(&0), "{recovery:?}");
        assert_eq!((bench.conn.ssthresh(), bench.is_undone()), (None, true), "{recovery:?}");
        for above in 6..=8 {
            bench.at(ms(100 + above)).missing(0, above);
        }
        bench.at(ms(210)).ack(8, &[]);
        let counters = bench.conn.counters();
        assert_eq!((bench.conn.ssthresh(), counters.retransmitted_segments), (None, 1), "{recovery:?}");
        assert!(bench.cwnd() >= 8, "{recovery:?}: {}", bench.cwnd());
    }
}

/// Segments 0 and 4 are lost, and the first one is reported late. The other one is congestion.
#[test]
fn a_late_report_keeps_the_reduction_if_something_else_was_lost() {
    for recovery in selective() {
        let mut bench = heeding_with(recovery, 12);
        bench.send(100);
        (2..=4).for_each(|above| drop(bench.at(ms(100)).ack(0, &[(1, above)])));
        (6..=9).for_each(|above| drop(bench.at(ms(101)).ack(0, &[(1, 4), (5, above)])));
        bench.wake_up_until(ms(104));
        let reduced = bench.conn.ssthresh();
        assert!(reduced.is_some(), "{recovery:?}");
        bench.at(ms(105)).report(0);
        assert_eq!((bench.conn.ssthresh(), bench.is_undone()), (reduced, false), "{recovery:?}");
    }
    // A loss that was repaired before the report of another one comes.
    for recovery in selective() {
        let mut bench = heeding_with(recovery, 12);
        bench.send(100);
        (2..=4).for_each(|above| drop(bench.at(ms(100)).ack(0, &[(1, above)])));
        (6..=9).for_each(|above| drop(bench.at(ms(101)).ack(0, &[(1, 4), (5, above)])));
        bench.wake_up_until(ms(104));
        bench.at(ms(201)).ack(4, &[(5, 12)]);
        bench.at(ms(202)).report(4);
        assert!(bench.conn.ssthresh().is_some() && !bench.is_undone(), "{recovery:?}");
    }
}

/// A report that comes a round trip after the retransmission is of the retransmission.
#[test]
fn a_retransmission_that_is_reported_leaves_again() {
    for recovery in early() {
        let mut bench = heeding_with(recovery, 8);
        bench.send(100);
        bench.at(ms(100)).ack(1, &[]);
        (3..=6).for_each(|above| drop(bench.at(ms(100)).missing(1, above)));
        assert!(bench.at(ms(201)).report(1).contains(&1), "{recovery:?}");
    }
}

/// The data behind the oldest segment was only assumed to be lost.
#[test]
fn a_report_after_a_timeout_takes_it_back() {
    for recovery in [Recovery::TimeoutOnly, Recovery::NewReno(NewReno::default()), Recovery::Rack(Rack::default())] {
        let mut bench = heeding_with(recovery, 8);
        bench.send(100);
        bench.time_out();
        assert_eq!(bench.cwnd(), 1, "{recovery:?}");
        let now = bench.now + Duration::from_millis(1);
        assert!(!bench.at(now).report(0).contains(&0), "{recovery:?}");
        assert_eq!((bench.cwnd(), bench.conn.ssthresh()), (8, None), "{recovery:?}");
    }
}

/// Segments 0 to 2 are lost, and the report of the first one waits for the ACK that proves the others. RACK takes what leaves at one
/// instant for sent in the order of sequence: out of order, the later ACK would look like a lost retransmission.
#[test]
fn what_leaves_at_one_instant_leaves_in_the_order_of_sequence() {
    for reported in [0, 1, 2] {
        let mut bench = heeding_with(Recovery::Rack(Rack::default()), 12);
        bench.send(100);
        bench.at(ms(100)).ack(0, &[(3, 5)]);
        let seq = bench.conn.tcb.wire.iss.at(1 + reported * SMSS);
        bench.conn.notify(bench.now, Notice::Corrupted { seq, len: SMSS as u16, error_rate: None });
        let mut left = bench.ack(0, &[(3, 10)]);
        left.retain(|segment| *segment < 12);
        assert!(left.len() >= 2 && left.is_sorted(), "{reported}: {left:?}");
    }
}

/// A tail loss probe repairs the last segment, whose report comes with the ACK of the probe.
#[test]
fn a_probe_that_repairs_reported_data_reduces_nothing() {
    let mut bench = heeding_with(Recovery::Rack(Rack::default()), 8);
    bench.send(8);
    bench.at(ms(100)).ack(7, &[]);
    assert_eq!(bench.wake_up(), [7], "the probe");
    let now = bench.now + Duration::from_millis(100);
    let seq = bench.conn.tcb.wire.iss.at(1 + 7 * SMSS);
    bench.conn.notify(now, Notice::Corrupted { seq, len: SMSS as u16, error_rate: None });
    bench.at(now).ack(8, &[]);
    bench.send(1);
    bench.ack(9, &[]);
    assert_eq!(bench.conn.ssthresh(), None);
}

/// A controller that counts losses does not count reported segments.
#[test]
fn a_reported_segment_is_no_loss_for_a_model() {
    let mut bench = heeding(CcKind::Bbr3, 8);
    bench.send(100);
    bench.at(ms(10)).report(0);
    assert_eq!((bench.conn.tcb.sender.lost_ever(), bench.conn.counters().retransmitted_segments), (0, 1));
}

#[test]
fn a_sender_that_ignores_reports_does_nothing() {
    let mut bench = Bench::new(CcKind::NewReno, 8, |_| {});
    bench.send(100);
    assert_eq!(bench.report(0), []);
    bench.conn.notify(bench.now, Notice::ErrorRate(1e-2));
    bench.conn.notify(bench.now, Notice::FirstCorrupted);
    assert_eq!((bench.leaving(), bench.conn.tcb.sender.space.smss()), (vec![], SMSS));
}

/// `docs/specs/eln-eten.md`: the first marked duplicate, at most once per round trip.
#[test]
fn a_marked_duplicate_has_the_oldest_segment_leave_once_per_round_trip() {
    let mut bench = heeding(CcKind::NewReno, 8);
    bench.send(100);
    bench.now = Time::ZERO + Duration::from_millis(100);
    bench.ack(1, &[]);
    let mark = |bench: &mut Bench, ms| {
        bench.now = Time::ZERO + Duration::from_millis(ms);
        bench.conn.notify(bench.now, Notice::FirstCorrupted);
        bench.ack(1, &[])
    };
    assert_eq!(mark(&mut bench, 110)[0], 1);
    for ms in [120, 130, 140, 209] {
        assert!(!mark(&mut bench, ms).contains(&1), "{ms}");
    }
    assert!(mark(&mut bench, 210).contains(&1));
    assert_eq!(bench.conn.ssthresh(), None);
}

/// Outstanding data is cut into pieces of the new size, and a window of packets holds as many of them.
#[test]
fn the_window_counts_bytes_or_packets_while_the_size_changes() {
    for (unit, cwnd) in [(CwndUnit::Bytes, 10 * SMSS), (CwndUnit::Packets, 10 * 70)] {
        let mut bench = Bench::new(CcKind::NewReno, 10, sized(unit));
        bench.conn.offer(2 * SMSS);
        let sent = bench.leaving().len();
        assert_eq!(sent, 2);
        bench.conn.notify(bench.now, Notice::ErrorRate(1e-3));
        let smss = bench.conn.tcb.sender.space.smss();
        assert_eq!((smss, bench.conn.cwnd()), (70, cwnd));
        bench.ack(2, &[]);
        bench.conn.offer(100 * SMSS);
        let lens: Vec<u16> =
            std::iter::from_fn(|| leave(&mut bench.conn, bench.now)).map(|segment| segment.len).collect();
        assert!(lens.iter().all(|len| *len == 70), "{lens:?}");
        bench.conn.notify(bench.now, Notice::ErrorRate(0.0));
        assert_eq!(bench.conn.tcb.sender.space.smss(), SMSS, "no error, no smaller segments");
    }
}

/// ns-2 counts the receiver's window in packets as well.
#[test]
fn a_window_of_packets_is_no_larger_than_the_receivers() {
    let mut bench = Bench::new(CcKind::NewReno, 10, |config| {
        sized(CwndUnit::Packets)(config);
        config.receive_buffer = 4 * SMSS;
    });
    bench.conn.notify(bench.now, Notice::ErrorRate(1e-3));
    bench.conn.offer(100 * SMSS);
    assert_eq!(bench.leaving().len(), 4);
    // The congestion window is not cut to it: a change of size would reduce the window.
    assert_eq!(bench.conn.cwnd(), 10 * 70);
}

#[test]
fn a_rate_that_is_known_before_sizes_the_first_segment() {
    let mut config = Config { handshake: false, smss: 1500, ..Config::default() };
    sized(CwndUnit::Bytes)(&mut config);
    let mut conn = Connection::new(config, Role::Active, Seq::new(7));
    let mut cache = PathCache::default();
    cache.error_rate = Some(1e-2);
    conn.prime(&cache, Time::ZERO);
    conn.open(Time::ZERO);
    conn.offer(10_000);
    assert_eq!(leave(&mut conn, Time::ZERO).map(|segment| segment.len), Some(40));
}

//! Recovery beyond the classic procedures: RACK-TLP, PRR, early retransmit, FACK, and undo.

use super::*;
use crate::segment::Timestamps;

/// `config` with everything of this file drawn by `dice`.
pub(super) fn varied(config: Config, dice: u32) -> Config {
    let bits = |at: u32, n: u32| dice >> at & ((1 << n) - 1);
    let evidence = if bits(0, 1) == 0 { SackEvidence::Rfc6675 } else { SackEvidence::Fack };
    let recovery = match config.recovery {
        // One of them with each evidence that is drawn before.
        Recovery::Sack { on_rto, evidence: SackEvidence::Rfc6675, counting, rescue } => {
            Recovery::Sack { on_rto, evidence, counting, rescue }
        }
        _ if bits(1, 2) == 0 => Recovery::Rack(Rack { tlp: bits(3, 1) == 0, ..Rack::default() }),
        other => other,
    };
    Config {
        recovery,
        early_retransmit: bits(4, 1) == 0,
        dsack: bits(5, 1) == 0,
        reduction: [Reduction::AtOnce, Reduction::Prr, Reduction::PrrSsrb, Reduction::PrrCrb][bits(6, 2) as usize],
        spurious_detection: [
            SpuriousDetection::Off,
            SpuriousDetection::Any,
            SpuriousDetection::Frto,
            SpuriousDetection::Dsack,
        ][bits(8, 2) as usize],
        spurious_response: [
            SpuriousResponse::Rfc4015,
            SpuriousResponse::Restore,
            SpuriousResponse::Conservative,
            SpuriousResponse::Restore,
        ][bits(10, 2) as usize],
        ..config
    }
}

pub(super) fn sack(on_rto: SackOnRto) -> Recovery {
    Recovery::Sack { on_rto, evidence: SackEvidence::Rfc6675, counting: SackCounting::Data, rescue: true }
}

fn rack(window: u32, change: impl FnOnce(&mut Config)) -> Bench {
    Bench::new(CcKind::Sack, window, |config| {
        config.recovery = Recovery::Rack(Rack::default());
        change(config);
    })
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// `docs/specs/rack-tlp.md`, tests 1 and 2: the reordering window, and none once three segments are SACKed.
#[test]
fn rfc8985_6_2_lost_by_time() {
    let path = |s: &mut Bench| {
        // One round trip of 40 ms before.
        s.send(1);
        s.at(ms(40)).ack(1, &[]);
        s.at(ms(100)).send(1);
        s.at(ms(105)).send(4);
    };
    let mut s = rack(10, |_| ());
    path(&mut s);
    assert_eq!(s.at(ms(149)).ack(1, &[(2, 3)]), NONE);
    // 100 + 44 + 40/4.
    assert_eq!(s.conn.next_wakeup(), ms(154));
    assert_eq!(s.wake_up(), [1]);

    let mut s = rack(10, |_| ());
    path(&mut s);
    assert_eq!(s.at(ms(149)).ack(1, &[(2, 5)]), [1]);
}

/// Test 3: a lost retransmission is found, and repeated, when segments sent after it arrive. RFC 5681 §4.3: with a second
/// reduction.
#[test]
fn rfc8985_6_2_lost_retransmissions_are_found() {
    for (second_reduction, ssthresh) in
        [(SecondReduction::Rfc5681, 2), (SecondReduction::AfterTimeout, 5), (SecondReduction::Off, 5)]
    {
        let mut s = rack(10, |config| config.second_reduction = second_reduction);
        assert_eq!(s.send(10).len(), 10);
        s.at(ms(100)).ack(0, &[(1, 2)]);
        s.ack(0, &[(1, 3)]);
        assert_eq!(s.ack(0, &[(1, 4)]), [0]);
        assert_eq!(s.ssthresh(), 5);
        s.at(ms(101)).send(1);
        for right in 5..=10 {
            s.ack(0, &[(1, right)]);
        }
        assert_eq!(s.conn.tcb.sender.space.nxt, 11 * SMSS, "the new segment left");
        assert_eq!(s.at(ms(201)).ack(0, &[(1, 11)]), [0]);
        assert_eq!((s.ssthresh(), s.conn.counters().fast_retransmits), (ssthresh, 1));
        assert_eq!(s.conn.counters().lost_retransmissions, 1);
    }
}

/// A second timeout declares the retransmission of the first one lost.
#[test]
fn retransmissions_that_a_timeout_declares_lost_are_counted() {
    for recovery in [Recovery::Rack(Rack { tlp: false, ..Rack::default() }), sack(SackOnRto::Discard)] {
        let mut s = Bench::new(CcKind::Sack, 10, |config| config.recovery = recovery);
        s.send(1);
        for lost in 0..3 {
            while s.conn.counters().timeouts <= lost {
                s.wake_up();
            }
            assert_eq!(u64::from(s.conn.counters().lost_retransmissions), lost, "{recovery:?}");
        }
    }
}

/// RFC 8985 §6.2 step 3: a late segment shows reordering if it was not retransmitted.
#[test]
fn rfc8985_6_2_late_segments_are_counted_as_reorderings() {
    for (sacked, reorderings) in [(3, 1), (5, 0)] {
        let mut s = rack(10, |_| ());
        s.send(10);
        // The third SACKed segment begins a recovery.
        let leaving = s.at(ms(100)).ack(0, &[(1, sacked)]);
        assert_eq!(leaving.contains(&0), reorderings == 0);
        s.at(ms(101)).ack(sacked, &[]);
        s.ack(10, &[]);
        assert_eq!(s.conn.counters().reorderings, reorderings);
    }
}

/// The first `lost` of 100 segments are lost at 0 s, which shows at 0.2 s. All others arrive. The retransmissions of the lost ones
/// are lost again in each round trip of 200 ms, which shows by new segments that left after them.
struct LostAgain {
    bench: Bench,
    lost: u64,
    arrived: u64,
}

impl LostAgain {
    fn new(cc: CcKind, lost: u64, change: impl FnOnce(&mut Config)) -> Self {
        let mut bench = Bench::new(cc, 100, |config| {
            config.recovery = Recovery::Rack(Rack { tlp: false, ..Rack::default() });
            config.rto.min = Duration::from_secs(60);
            config.rto.initial = Duration::from_secs(60);
            change(config);
        });
        bench.send(10_000);
        Self { bench, lost, arrived: lost }
    }

    /// All segments that have left by now arrive in order, except the lost ones. Returns the number of lost segments that leave in
    /// answer.
    fn round(&mut self, at: u64) -> usize {
        // Where the sender paces, they leave in the meantime.
        let mut leaving = self.bench.wake_up_until(ms(at - 100));
        let (from, until) = (self.arrived, self.bench.conn.tcb.sender.space.nxt / SMSS);
        self.bench.at(ms(at));
        leaving.extend((from..until).flat_map(|segment| self.bench.ack(0, &[(self.lost, segment + 1)])));
        let resent = leaving.into_iter().filter(|segment| *segment < self.lost).count();
        self.arrived = until;
        resent
    }

    fn reductions(&mut self) -> usize {
        self.bench.events().iter().filter(|event| matches!(event, Event::Reduction(_))).count()
    }
}

/// The loss of a retransmission halves again, each round trip once; CUBIC multiplies its window by 0.7.
#[test]
fn rfc5681_4_3_the_window_falls_again_for_a_lost_retransmission() {
    for (cc, expected) in [(CcKind::NewReno, [50, 25, 12]), (CcKind::Cubic, [70, 49, 34])] {
        for reduction in [Reduction::AtOnce, Reduction::Prr, Reduction::PrrSsrb, Reduction::PrrCrb] {
            let mut s = LostAgain::new(cc, 1, |config| config.reduction = reduction);
            let found = [200, 400, 600].map(|at| {
                assert_eq!(s.round(at), 1, "{cc:?} {reduction:?} {at}");
                s.bench.ssthresh()
            });
            assert_eq!((found, s.reductions()), (expected, 3), "{reduction:?}");
        }
    }
    let mut s = LostAgain::new(CcKind::NewReno, 1, |config| config.second_reduction = SecondReduction::Off);
    for at in [200, 400, 600] {
        s.round(at);
    }
    assert_eq!((s.bench.ssthresh(), s.reductions()), (50, 1));
}

#[test]
fn rfc5681_4_3_many_retransmissions_of_one_round_are_one_sign() {
    let mut s = LostAgain::new(CcKind::NewReno, 5, |config| config.reduction = Reduction::Prr);
    assert_eq!((s.round(200), s.reductions()), (5, 1));
    assert_eq!((s.round(400), s.reductions()), (5, 1));
    assert_eq!(s.bench.ssthresh(), 25);
}

/// Segment 0 is retransmitted at 0.2 s, segment 15 at 0.25 s, and both are lost again. That of 0 shows at 0.4 s. That of 15 shows at
/// 0.45 s, but it left before the window was reduced for the other.
#[test]
fn rfc5681_4_3_what_left_before_the_second_reduction_is_no_third_sign() {
    use bentpipe_cc::verdict::VerdictKind;
    for (verdict, reductions) in [(VerdictKind::AlwaysCongestion, [1, 0, 1, 0]), (VerdictKind::AlwaysLinkError, [0; 4])]
    {
        let mut s = rack(20, |config| config.verdict = verdict);
        s.send(200);
        let acks: [(u64, &[(u64, u64)]); 4] =
            [(200, &[(1, 12)]), (250, &[(1, 15), (16, 20)]), (400, &[(1, 15), (16, 21)]), (450, &[(1, 15), (16, 24)])];
        for ((at, sack), expected) in acks.into_iter().zip(reductions) {
            s.at(ms(at)).ack(0, sack);
            let found = s.events().iter().filter(|event| matches!(event, Event::Reduction(_))).count();
            assert_eq!(found, expected, "{verdict:?} {at} ms");
        }
        // With a window that was not reduced, the segment that shows the loss of 15 left before it.
        let lost = if verdict == VerdictKind::AlwaysCongestion { 4 } else { 3 };
        assert_eq!(s.conn.tcb.sender.lost_ever(), lost * SMSS, "{verdict:?}");
    }
}

/// A model counts what it loses itself.
#[test]
fn rfc5681_4_3_a_model_is_not_told_twice() {
    let mut s = LostAgain::new(CcKind::Bbr1, 1, |_| ());
    let found = [200, 400].map(|at| (s.round(at), s.reductions()).1);
    assert_eq!(found, [1, 0]);
}

/// After a timeout: the retransmission of 3 is lost, those of 4 to 6 arrive. Linux begins a fast recovery here.
#[test]
fn rfc5681_4_3_after_a_timeout_too() {
    for (second_reduction, expected) in
        [(SecondReduction::Rfc5681, (2, 1)), (SecondReduction::AfterTimeout, (2, 1)), (SecondReduction::Off, (10, 0))]
    {
        let mut s = rack(20, |config| {
            config.recovery = Recovery::Rack(Rack { tlp: false, ..Rack::default() });
            config.second_reduction = second_reduction;
        });
        s.send(1);
        s.at(ms(100)).ack(1, &[]);
        s.send(200);
        assert_eq!(s.time_out(), [1]);
        assert_eq!(s.ssthresh(), 10);
        let start = s.now;
        let after = |ms: u64| start + Duration::from_millis(ms);
        assert_eq!(s.at(after(100)).ack(2, &[]), [2, 3]);
        assert_eq!(s.at(after(200)).ack(3, &[]), [4, 5]);
        assert_eq!(s.at(after(210)).ack(4, &[]), [6, 7]);
        assert!(s.at(after(310)).ack(4, &[(5, 8)]).contains(&4));
        assert_eq!((s.ssthresh(), s.conn.counters().fast_retransmits), expected, "{second_reduction:?}");
    }
}

/// Segment 0 is late, segments 5, 10 and 15 of twenty are lost: recovery repairs all four. The ACK of the late one shows that its
/// retransmission was needless; of the others nothing is known, and they were lost.
#[test]
fn an_episode_with_a_late_segment_and_losses_is_one_reduction() {
    for detection in [SpuriousDetection::Eifel, SpuriousDetection::Dsack, SpuriousDetection::Any] {
        let mut s = rack(20, |config| {
            config.timestamps = true;
            config.spurious_detection = detection;
        });
        s.send(100);
        s.at(ms(100));
        let holes = [(1, 5), (6, 10), (11, 15), (16, 20)];
        (1..=4).for_each(|n| drop(s.ack_echoing(0, &holes[..n], Some(0))));
        s.wake_up_until(ms(101));
        let mut reductions = 0;
        // The late one arrives, and then its duplicate; a round trip later the others, one by one.
        let late = [(6, 10), (11, 15), (16, 20)];
        s.at(ms(103)).ack_echoing(5, &late, Some(0));
        s.at(ms(104)).ack_echoing(5, &[&[(0, 1)], &late[..]].concat(), Some(0));
        s.wake_up_until(ms(150));
        for (n, (una, sacked)) in [(10, &late[1..]), (15, &late[2..]), (20, &[])].into_iter().enumerate() {
            s.at(ms(201 + n as u64)).ack_echoing(una, sacked, Some(100));
        }
        for event in s.events() {
            assert!(!matches!(event, Event::Undo(_)), "{detection:?}");
            reductions += u64::from(matches!(event, Event::Reduction(_)));
        }
        assert_eq!(reductions, 1, "{detection:?}");
    }
}

/// RFC 8985 §6.2 step 3 counts originals that arrive before their retransmission. Linux also counts those of a partial ACK.
#[test]
fn rfc8985_6_2_an_undone_recovery_shows_reordering_if_asked_to() {
    for learns in [false, true] {
        let mut s = rack(10, |config| {
            config.recovery = Recovery::Rack(Rack { tlp: false, undo_shows_reordering: learns, ..Rack::default() });
            config.timestamps = true;
            config.spurious_detection = SpuriousDetection::Any;
        });
        s.send(10);
        assert_eq!(s.at(ms(100)).ack_echoing(0, &[(1, 4)], Some(0)), [0]);
        s.at(ms(110)).ack_echoing(4, &[], Some(0));
        s.at(ms(160)).ack_echoing(10, &[], Some(0));
        assert!(s.events().into_iter().any(|event| matches!(event, Event::Undo(_))));
        s.send(8);
        let again = s.at(ms(260)).ack_echoing(10, &[(11, 14)], Some(160));
        assert_eq!(again, if learns { vec![] } else { vec![10] });
        assert_eq!(s.conn.counters().reorderings, u32::from(learns));
    }
}

/// All four segments are late: once that is known of the last one, the episode is undone, once.
#[test]
fn an_episode_of_late_segments_is_undone_when_the_last_one_arrives() {
    let mut s = rack(20, |config| {
        config.timestamps = true;
        config.spurious_detection = SpuriousDetection::Eifel;
    });
    s.send(20);
    s.at(ms(100));
    let holes = [(1, 5), (6, 10), (11, 15), (16, 20)];
    (1..=4).for_each(|n| drop(s.ack_echoing(0, &holes[..n], Some(0))));
    for (n, (una, sacked)) in [(5, &holes[1..]), (10, &holes[2..]), (15, &holes[3..])].into_iter().enumerate() {
        s.at(ms(103 + n as u64)).ack_echoing(una, sacked, Some(0));
        assert!(!s.is_undone(), "{una}");
    }
    s.at(ms(106)).ack_echoing(20, &[], Some(0));
    let undone = s.events().iter().filter(|event| matches!(event, Event::Undo(_))).count();
    assert_eq!((undone, s.cwnd()), (1, 20));
}

/// Segment 0 is lost, then segment 20, beyond the recovery point; the ACK of the first twenty ends recovery while the
/// retransmission of 20 is on its way.
fn lost_beyond_the_recovery_point(change: impl FnOnce(&mut Config)) -> Bench {
    let mut s = rack(20, |config| {
        // The retransmission of 0 is late by a millisecond, and taken for lost again.
        config.second_reduction = SecondReduction::Off;
        change(config);
    });
    s.send(60);
    s.at(ms(100));
    let mut leaving: Vec<u64> = (2..=20).flat_map(|right| s.ack_echoing(0, &[(1, right)], Some(0))).collect();
    assert_eq!(leaving.remove(0), 0);
    assert_eq!(leaving, (20..29).collect::<Vec<_>>());
    assert!(s.at(ms(201)).ack_echoing(0, &[(1, 20), (21, 22)], Some(0)).contains(&20));
    s.at(ms(202)).ack_echoing(20, &[(21, 22)], Some(100));
    s
}

/// RFC 6675 §5 step 4 and Linux: lost data begins a recovery, retransmitted or not.
#[test]
fn rfc8985_repaired_losses_that_are_outstanding_begin_another_recovery() {
    for (reenter, recoveries) in [(true, 2), (false, 1)] {
        let s = lost_beyond_the_recovery_point(|config| {
            config.recovery = Recovery::Rack(Rack { reenter, ..Rack::default() });
        });
        assert_eq!(s.conn.counters().fast_retransmits, recoveries);
    }
}

/// The echo of an earlier recovery's retransmission is older than those of this one, and no sign that this one is
/// spurious.
#[test]
fn rfc3522_3_2_an_echo_of_an_earlier_recovery_undoes_nothing() {
    let mut s = lost_beyond_the_recovery_point(|config| {
        config.timestamps = true;
        config.spurious_detection = SpuriousDetection::Any;
        config.spurious_response = SpuriousResponse::Restore;
    });
    assert_eq!(s.conn.counters().fast_retransmits, 2);
    // Segment 22 is missing too, and then the retransmission of 20 arrives.
    assert!(s.at(ms(203)).ack_echoing(20, &[(21, 22), (23, 29)], Some(100)).contains(&22));
    s.at(ms(302)).ack_echoing(22, &[(23, 29)], Some(201));
    assert!(!s.is_undone());
}

/// A queue grows during recovery; ACKs that do not advance give a sample by their reports, if configured.
#[test]
fn rto_samples_are_taken_from_what_is_sacked_if_wanted() {
    for (sack_samples, expected) in [(true, 150), (false, 100)] {
        let mut s = rack(10, |config| {
            config.timestamps = true;
            config.rto.sack_samples = sack_samples;
        });
        s.send(1);
        s.at(ms(100)).ack_echoing(1, &[], Some(0));
        s.send(10);
        // 500 ms after they were sent: 100 + (500 - 100) / 8.
        s.at(ms(600)).ack_echoing(1, &[(2, 5)], Some(0));
        assert_eq!(s.conn.report().srtt(), Some(Duration::from_millis(expected)));
    }
}

/// The timer restarts with SACKs of segments sent before the oldest was retransmitted, not with others (Linux).
#[test]
fn rto_restarts_with_what_was_sent_before_the_oldest_segment_was_sent_again() {
    for (sack_samples, armed) in [(true, 190), (false, 101)] {
        let mut s = rack(20, |config| {
            config.timestamps = true;
            config.rto.sack_samples = sack_samples;
        });
        s.send(20);
        s.at(ms(100)).ack_echoing(0, &[(1, 3)], Some(0));
        assert_eq!(s.conn.tcb.sender.rtt.armed_at(), ms(0), "sent with the oldest");
        assert!(s.at(ms(101)).ack_echoing(0, &[(1, 5)], Some(0)).contains(&0));
        s.at(ms(190)).ack_echoing(0, &[(1, 12)], Some(0));
        assert_eq!(s.conn.tcb.sender.rtt.armed_at(), ms(armed));
    }
}

/// A retransmission of the oldest segment that is lost and found by time has the whole timeout again (Linux).
#[test]
fn rto_restarts_when_the_oldest_segment_is_retransmitted_again() {
    for (restarts, armed) in [(true, 201), (false, 0)] {
        let mut s = rack(10, |config| config.rto.restart_on_fast_retransmit = restarts);
        s.send(10);
        s.at(ms(100)).ack(0, &[(1, 4)]);
        s.at(ms(101)).send(1);
        (5..=10).for_each(|right| assert!(!s.ack(0, &[(1, right)]).contains(&0)));
        assert_eq!(s.at(ms(201)).ack(0, &[(1, 11)]), [0]);
        assert_eq!(s.conn.tcb.sender.rtt.armed_at(), ms(armed));
    }
}

/// The first retransmission of a segment that has become the oldest does not restart the timer: the partial ACK did.
#[test]
fn rto_keeps_the_time_of_a_partial_ack_when_the_next_hole_leaves_later() {
    let mut s = rack(10, |_| ());
    s.send(10);
    let first = s.at(ms(100)).ack(0, &[(2, 5)]);
    assert!(first.contains(&0) && !first.contains(&1), "{first:?}");
    s.at(ms(200)).hear(1, &[(2, 5)], None);
    assert!(s.at(ms(230)).leaving().contains(&1));
    assert_eq!(s.conn.tcb.sender.rtt.armed_at(), ms(200));
}

/// Test 4: each round with a duplicate widens the window by a quarter; sixteen recoveries without narrow it again.
#[test]
fn rfc8985_6_2_duplicates_widen_the_window() {
    let mut s = rack(10, |_| ());
    for round in 1..=4 {
        s.send(2);
        let una = 2 * round - 1;
        s.at(ms(100 * round)).ack(una, &[(una - 1, una)]);
        // A second one in the same round counts once.
        s.ack(una, &[(una - 1, una)]);
        s.ack(una + 1, &[]);
    }
    let shown = format!("{:?}", s.conn);
    assert!(shown.contains("reo_wnd_mult: 5"), "{shown}");
}

/// Test 5: the probe timeout: two round trips, longer for one segment alone, never later than the retransmission timeout.
#[test]
fn rfc8985_7_2_probe_timeout() {
    for (segments, max, expected) in [(5, 3000, 1080), (1, 3000, 1280), (5, 1000, 1000)] {
        let mut s = rack(10, |config| config.rto.max = Duration::from_millis(max));
        s.send(1);
        s.at(ms(540)).ack(1, &[]);
        s.send(segments);
        assert_eq!(s.conn.next_wakeup() - s.now, Duration::from_millis(expected));
    }
}

/// RFC 8985 §7.2: a probe does not leave later than the retransmission timer expires, by its clock of coarse ticks.
#[test]
fn rfc8985_7_2_a_probe_is_due_by_the_exact_expiry_of_the_timer() {
    let mut s = Bench::new(CcKind::Sack, 10, |config| {
        config.recovery = Recovery::Rack(Rack::default());
        config.rto = RtoConfig { granularity: Duration::from_millis(100), min: Duration::ZERO, ..config.rto };
    });
    for acked in 1..30 {
        s.send(1);
        s.now += Duration::from_millis(300);
        s.ack(acked, &[]);
    }
    s.now += Duration::from_millis(30);
    s.send(4);
    let (timers, rtt) = (&s.conn.tcb.cx.timers, &s.conn.tcb.sender.rtt);
    let (probe, expiry) = (timers.get(Timer::LossProbe), rtt.armed_expiry());
    assert!(s.now + rtt.srtt().unwrap() * 2 > expiry && timers.get(Timer::Retransmit) < expiry);
    assert_eq!(probe, expiry);
}

/// RFC 8985 §7.2: an ACK restarts the timer, and the new expiry bounds the probe.
#[test]
fn rfc8985_7_2_an_ack_restarts_the_timer_that_bounds_its_probe() {
    let mut s = rack(10, |config| config.rto.min = Duration::from_millis(200));
    s.send(1);
    s.at(ms(100)).ack(1, &[]);
    s.send(2);
    s.at(ms(200)).ack(2, &[]);
    // SRTT and four times 37.5 ms, less than two round trips and the delay of an ACK.
    assert_eq!(s.conn.next_wakeup(), ms(450));
}

/// RFC 8985 §7.3: a probe needs a sample since the one before. A retransmission that RACK can time gives one.
#[test]
fn rfc8985_7_3_after_a_timeout_the_next_tail_has_its_probe() {
    let mut s = rack(10, |_| ());
    s.send(1);
    s.at(ms(100)).ack(1, &[]);
    s.send(2);
    assert_eq!(s.wake_up(), [2]);
    assert_eq!(s.wake_up(), [1]);
    s.now += Duration::from_millis(100);
    assert_eq!(s.ack(2, &[]), [2]);
    s.now += Duration::from_millis(100);
    s.ack(3, &[]);
    assert_eq!((s.conn.counters().timeouts, s.conn.flight_size()), (1, 0));
    s.send(2);
    assert_eq!(s.conn.next_wakeup() - s.now, s.conn.report().srtt().unwrap() * 2);
    assert_eq!(s.wake_up(), [4]);
    assert_eq!(s.conn.counters().timeouts, 1);
}

/// Test 6: two segments lost at the tail are repaired without the retransmission timer.
#[test]
fn rfc8985_7_tail_losses_are_repaired() {
    let mut s = rack(10, |_| ());
    s.send(1);
    s.at(ms(100)).ack(1, &[]);
    s.send(10);
    s.at(ms(200)).ack(9, &[]);
    assert_eq!(s.conn.next_wakeup(), ms(400));
    assert_eq!(s.wake_up(), [10]);
    assert_eq!(s.at(ms(500)).ack(9, &[(10, 11)]), [9]);
    s.at(ms(600)).ack(11, &[]);
    assert_eq!((s.conn.counters().timeouts, s.conn.flight_size()), (0, 0));
    assert_eq!(s.conn.counters().tail_loss_probes, 1);
}

/// Test 7 and RFC 8985 §7.4: the loss that a probe repaired reduces the window once the ACK passes the probe, but not
/// if the receiver reports that it had both.
#[test]
fn rfc8985_7_4_a_repaired_loss_reduces_the_window() {
    for (duplicate, reduced) in [(false, true), (true, false)] {
        let mut s = rack(10, |_| ());
        s.send(1);
        s.at(ms(100)).ack(1, &[]);
        s.send(10);
        s.at(ms(200)).ack(10, &[]);
        assert_eq!(s.wake_up(), [10]);
        let report = [(10, 11)];
        s.at(ms(700)).ack(11, if duplicate { &report } else { &[] });
        assert_eq!(s.conn.ssthresh(), None);
        s.send(2);
        s.at(ms(800)).ack(13, &[]);
        assert_eq!(s.conn.ssthresh().is_some(), reduced);
        let counters = s.conn.counters();
        assert_eq!((counters.tail_loss_probes, counters.probe_repairs), (1, u32::from(reduced)));
    }
}

/// RFC 8985 §6.3: a timeout takes for lost what is overdue, not what was just sent.
#[test]
fn rfc8985_6_3_young_segments_survive_a_timeout() {
    let mut s = rack(10, |config| config.recovery = Recovery::Rack(Rack { tlp: false, ..Rack::default() }));
    s.send(1);
    s.at(ms(100)).ack(1, &[]);
    s.send(5);
    let rto = s.conn.next_wakeup();
    s.at(Time::from_ps(rto.as_ps() - Duration::from_millis(10).as_ps())).send(2);
    s.at(rto).conn.handle_wakeup(rto);
    assert_eq!(s.leaving(), [1]);
    // Two young ones and the retransmitted one.
    assert_eq!(s.conn.tcb.sender.pipe(), 3 * SMSS);
}

/// RFC 9937 test of `docs/specs/prr.md`, 1: in recovery about seven segments leave for ten that arrive, spread over
/// them.
#[test]
fn rfc9937_6_the_window_falls_in_proportion() {
    let mut s = Bench::new(CcKind::Sack, 20, |config| config.reduction = Reduction::Prr);
    s.send(60);
    let mut leaving: Vec<u64> = (2..=20).map(|right| s.ack(0, &[(1, right)]).len() as u64).collect();
    // At once: nothing for half a round trip, then one for each.
    assert_eq!(leaving.iter().sum::<u64>(), 10, "{leaving:?}");
    assert!(leaving[2..].windows(4).all(|four| four.iter().sum::<u64>() <= 3), "{leaving:?}");
    assert!(leaving.split_off(3).windows(3).all(|three| three.iter().sum::<u64>() >= 1));
    s.ack(20, &[]);
    assert_eq!(s.cwnd(), 10);
}

/// `docs/specs/limited-transmit.md`: two duplicates suffice for three segments, one for two; never with new data to
/// send.
#[test]
fn rfc5827_3_early_retransmit() {
    for cc in [CcKind::NewReno, CcKind::Sack] {
        for (segments, threshold) in [(3, 2), (2, 1)] {
            let mut s = Bench::new(cc, 10, |config| config.early_retransmit = true);
            s.send(segments);
            for dupack in 1..threshold {
                assert_eq!(s.ack(0, &[(1, 1 + dupack)]), NONE);
            }
            assert_eq!(s.ack(0, &[(1, 1 + threshold)]), [0], "{} {segments}", cc.name());
        }
        let mut s = Bench::new(cc, 3, |config| config.early_retransmit = true);
        s.send(10);
        s.ack(0, &[(1, 2)]);
        assert_eq!(s.ack(0, &[(1, 3)]), NONE);
        let mut s = Bench::new(cc, 10, |config| config.early_retransmit = true);
        s.send(1);
        assert_eq!(s.ack(0, &[]), NONE);
    }
}

/// Mathis and Mahdavi 1996: one SACK block far enough ahead proves a loss.
#[test]
fn fack_counts_distance() {
    let fack = |config: &mut Config| {
        let (on_rto, counting) = (SackOnRto::Keep, SackCounting::Data);
        config.recovery = Recovery::Sack { on_rto, evidence: SackEvidence::Fack, counting, rescue: true };
    };
    let mut s = Bench::new(CcKind::Sack, 10, fack);
    s.send(10);
    assert_eq!(s.ack(0, &[(2, 3)]), NONE);
    assert_eq!(s.ack(0, &[(2, 4)]), [0]);
}

fn with_detection(cc: CcKind, window: u32, response: SpuriousResponse) -> Bench {
    Bench::new(cc, window, |config| {
        config.spurious_detection = SpuriousDetection::Frto;
        config.spurious_response = response;
        config.initial_ssthresh = InitialSsthresh::Bytes(8 * SMSS);
    })
}

/// `docs/specs/f-rto-eifel.md`, test 1: all ten segments are late.
#[test]
fn rfc5682_2_1_a_late_round_trip_is_no_loss() {
    for (response, cwnd, ssthresh) in [
        (SpuriousResponse::Rfc4015, 11, 10),
        (SpuriousResponse::Restore, 10, 8),
        (SpuriousResponse::Conservative, 5, 5),
    ] {
        let mut s = with_detection(CcKind::NewReno, 10, response);
        s.send(30);
        assert_eq!(s.time_out(), [0]);
        assert_eq!(s.ack(1, &[]), [10, 11]);
        assert!(!s.is_undone());
        let leaving = s.ack(2, &[]);
        assert!(s.is_undone());
        assert!(leaving.iter().all(|&segment| segment >= 12), "no retransmission: {leaving:?}");
        assert_eq!((s.cwnd(), s.ssthresh()), (cwnd, ssthresh), "{response:?}");
        assert_eq!((s.conn.counters().undos, s.conn.counters().timeout_undos), (1, 1));
    }
}

/// Test 2: the loss was real.
#[test]
fn rfc5682_2_1_duplicates_mean_loss() {
    let mut s = with_detection(CcKind::NewReno, 4, SpuriousResponse::Restore);
    s.send(30);
    s.ack(0, &[]);
    assert_eq!(s.time_out(), [0]);
    assert_eq!(s.ack(2, &[]), [4, 5]);
    assert_eq!(s.ack(2, &[]), [2, 3]);
    assert!(s.cwnd() <= 3 && !s.is_undone());
}

/// Test 3: a SACK block of data that was never retransmitted decides immediately.
#[test]
fn rfc5682_3_1_sack_decides_at_once() {
    let mut s = with_detection(CcKind::Sack, 10, SpuriousResponse::Restore);
    s.send(10);
    assert_eq!(s.time_out(), [0]);
    s.ack(0, &[(3, 4)]);
    assert!(s.is_undone());
}

/// One ACK may acknowledge all outstanding data. As the second ACK it shows that the originals arrived, unless a fast recovery
/// before the timeout had retransmitted them. As the first ACK it does so only for hosts like Linux.
#[test]
fn rfc5682_3_1_an_ack_of_everything_shows_whether_originals_arrived() {
    let after_timeout = |after_recovery: bool, whole_ack_undoes: bool| {
        let mut s = Bench::new(CcKind::Sack, 10, |config| {
            config.spurious_detection = SpuriousDetection::Frto;
            config.rto.whole_ack_undoes = whole_ack_undoes;
        });
        s.send(10);
        if after_recovery {
            let resent: Vec<u64> = [5, 7, 10].iter().flat_map(|&right| s.ack(0, &[(2, right)])).collect();
            assert_eq!(resent, [0, 1]);
        }
        assert_eq!(s.time_out(), [0]);
        s
    };
    for whole_ack_undoes in [false, true] {
        for after_recovery in [false, true] {
            let mut s = after_timeout(after_recovery, whole_ack_undoes);
            assert_eq!(s.send(10), []);
            let sacked: &[(u64, u64)] = if after_recovery { &[(2, 10)] } else { &[] };
            assert_eq!(s.ack(1, sacked), [10, 11]);
            s.ack(12, &[]);
            assert_eq!(s.is_undone(), !after_recovery, "the second ACK");

            let mut s = after_timeout(after_recovery, whole_ack_undoes);
            s.ack(10, &[]);
            assert_eq!(s.is_undone(), whole_ack_undoes && !after_recovery, "the first ACK");
        }
    }
}

/// Test 6: with one segment outstanding F-RTO cannot tell.
#[test]
fn rfc5682_2_1_nothing_to_tell_at_the_tail() {
    let mut s = with_detection(CcKind::NewReno, 10, SpuriousResponse::Restore);
    s.send(1);
    s.time_out();
    s.ack(1, &[]);
    assert!(!s.is_undone());
}

/// Test 4: the echo of an earlier timestamp.
#[test]
fn rfc3522_3_an_older_echo_is_the_answer_to_the_original() {
    for (early, expected) in [(60, true), (0, false)] {
        let mut s = Bench::new(CcKind::NewReno, 10, |config| {
            config.timestamps = true;
            config.spurious_detection = SpuriousDetection::Eifel;
        });
        s.at(ms(50)).send(10);
        s.time_out();
        let stamp = (s.now.as_ps() / 1_000_000_000) as u32;
        let (seq, ack) = (s.conn.tcb.wire.irs.at(1), s.conn.tcb.wire.iss.at(1 + SMSS));
        let timestamps = Some(Timestamps { value: 0, echo: stamp - early });
        let segment = Segment { seq, ack, window: 60_000, flags: Flags::ACK, timestamps, ..Segment::default() };
        s.conn.handle(s.now, &segment);
        assert_eq!(s.is_undone(), expected);
    }
}

/// Test 5: undone when all retransmissions turned out to be needless.
#[test]
fn rfc3708_3_all_retransmissions_were_duplicates() {
    let mut s = Bench::new(CcKind::Sack, 10, |config| config.spurious_detection = SpuriousDetection::Dsack);
    s.send(10);
    let resent: Vec<u64> = [5, 7, 10].iter().flat_map(|&right| s.ack(0, &[(2, right)])).collect();
    assert_eq!(&resent[..2], [0, 1]);
    let before = s.cwnd();
    s.ack(10, &[]);
    s.ack(10, &[(0, 1)]);
    assert!(!s.is_undone());
    s.ack(10, &[(1, 2)]);
    assert!(s.is_undone() && s.cwnd() >= 10 && before < 10);
    assert_eq!((s.conn.counters().undos, s.conn.counters().timeout_undos), (1, 0));
}

/// RFC 4015 §3.3: after a spurious timeout the timer learns from the delayed round trip.
#[test]
fn rfc4015_3_3_the_timer_becomes_patient() {
    let mut s = with_detection(CcKind::NewReno, 10, SpuriousResponse::Rfc4015);
    s.send(2);
    s.at(ms(100)).ack(2, &[]);
    s.send(30);
    s.time_out();
    s.at(s.now + Duration::from_millis(900)).ack(3, &[]);
    s.ack(4, &[]);
    assert!(s.is_undone());
    let sent = s.now;
    s.at(sent + Duration::from_millis(2000)).ack(40, &[]);
    s.send(1);
    let last = s.conn.tcb.sender.space.nxt / SMSS;
    s.at(s.now + Duration::from_millis(1500)).ack(last, &[]);
    assert!(s.conn.report().rto() > Duration::from_secs(3), "{}", s.conn.report().rto());
}

/// The round-trip time for controllers and tables is that of newly delivered data, not of data that arrived long ago. A
/// retransmission makes it unknown.
#[test]
fn the_round_trip_of_a_hole_is_not_that_of_what_was_sacked_above_it() {
    let ms_of = |s: &mut Bench| s.conn.take_rtt().map(|rtt| rtt.as_ps() / 1_000_000_000);
    for (sacked, resent, expected) in [(3, NONE.to_vec(), Some(500)), (4, vec![0], None)] {
        let mut s = Bench::new(CcKind::Sack, 10, |_| ());
        s.send(1);
        s.at(ms(10)).send(3);
        assert_eq!(s.at(ms(100)).ack(0, &[(1, sacked)]), resent);
        assert_eq!(ms_of(&mut s), Some(90));
        let srtt = s.conn.report().srtt();
        // The first segment comes late: its original, or the retransmission.
        s.at(ms(500)).ack(sacked, &[]);
        assert_eq!((ms_of(&mut s), s.conn.report().srtt() == srtt), (expected, expected.is_none()));
    }
}

/// RFC 9293 §3.8.6: RACK knows of no loss, and the oldest segment probes the window all the same.
#[test]
fn rfc9293_3_8_6_a_window_that_shrank_to_nothing_is_probed_with_rack_too() {
    let mut s = rack(10, |config| config.recovery = Recovery::Rack(Rack { tlp: false, ..Rack::default() }));
    s.send(10);
    let closed = Segment { window: 0, ..s.peer_segment(SMSS) };
    s.at(ms(100)).conn.handle(ms(100), &closed);
    assert_eq!(s.leaving(), NONE);
    assert_eq!([s.wake_up(), s.wake_up()], [[1], [1]]);
}

#[test]
fn rfc2883_5_the_first_block_is_a_duplicate_if_it_is_old_or_inside_the_second() {
    let s = Bench::new(CcKind::Sack, 10, |_| ());
    let wire = &s.conn.tcb.wire;
    let duplicate = |blocks: &[(u64, u64)]| {
        let blocks = Vec::from_iter(blocks.iter().map(|&(left, right)| (wire.ours(left), wire.ours(right))));
        wire.read_sack(&blocks, 2000, 9000).dsack
    };
    assert_eq!(duplicate(&[(1000, 2000), (4000, 6000)]), Some((1000, 2000)));
    assert_eq!(duplicate(&[(4000, 5000), (4000, 6000)]), Some((4000, 5000)));
    assert_eq!([duplicate(&[(4000, 7000), (4000, 6000)]), duplicate(&[(4000, 5000)])], [None; 2]);
}

/// The timer expires after 1, 3, 7, 15 and 31 s.
#[test]
fn rfc1122_4_2_3_5_an_ack_of_new_data_restarts_the_time_to_give_up() {
    for (is_acked, states) in [(false, [State::Closed; 2]), (true, [State::Established, State::Closed])] {
        let mut s =
            Bench::new(CcKind::NewReno, 4, |config| config.give_up = GiveUp::AfterTime(Duration::from_secs(10)));
        s.send(40);
        s.wake_up_until(Time::ZERO + Duration::from_secs(8));
        if is_acked {
            s.ack(1, &[]);
        }
        let seen = [20, 40].map(|seconds| {
            s.wake_up_until(Time::ZERO + Duration::from_secs(seconds));
            s.conn.state()
        });
        assert_eq!(seen, states, "{is_acked}");
    }
}

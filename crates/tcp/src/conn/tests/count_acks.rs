//! SACK as Fall and Floyd had it in 1996 and ns-2 has it: pipe counts ACKs, reports count for one recovery.

use super::*;

fn bench(cc: CcKind, window: u32, change: impl FnOnce(&mut Config)) -> Bench {
    Bench::new(cc, window, |config| {
        (config.limited_transmit, config.limited_retransmit) = (true, true);
        change(config);
    })
}

fn by_acks(counting: SackCounting, on_rto: SackOnRto, rescue: bool) -> impl FnOnce(&mut Config) {
    move |config| {
        config.recovery = Recovery::Sack { on_rto, evidence: SackEvidence::Hole, counting, rescue };
        config.limited_transmit = false;
    }
}

/// Ten segments are outstanding, 0 and 2 are lost; the ACK of the segment above is lost too. The window falls to five.
#[test]
fn a_lost_ack_leaves_its_segment_in_pipe() {
    for (counting, leaving) in [(SackCounting::Data, [10, 11]), (SackCounting::Acks, [2, 10])] {
        let mut s = bench(CcKind::Sack, 10, by_acks(counting, SackOnRto::Keep, true));
        s.send(40);
        s.ack(0, &[(1, 2)]);
        s.ack(0, &[(3, 5), (1, 2)]);
        let mut sent = s.ack(0, &[(3, 6), (1, 2)]);
        assert_eq!(sent.remove(0), 0);
        // Of ten segments five are reported, and three ACKs have come. Each further ACK takes one off.
        for right in 7..=10 {
            sent.extend(s.ack(0, &[(3, right), (1, 2)]));
        }
        if counting == SackCounting::Data {
            assert_eq!(sent.remove(0), 2);
        }
        assert_eq!(sent[..2], leaving[..2], "{counting:?} {sent:?}");
    }
}

/// A partial ACK takes two segments off pipe: the retransmission, and the segment that was lost.
#[test]
fn a_partial_ack_takes_two_off_pipe() {
    let mut s = bench(CcKind::Sack, 10, by_acks(SackCounting::Acks, SackOnRto::Keep, true));
    s.send(40);
    let sent: Vec<_> = [4, 5, 6, 7, 8, 9, 10].iter().flat_map(|right| s.ack(0, &[(3, *right)])).collect();
    // Pipe was 7 and falls to 3 with four more ACKs; two segments leave.
    assert_eq!(sent, [0, 1, 2]);
    assert_eq!(s.ack(1, &[(3, 10)]), [10, 11]);
}

/// After a timeout, ignored reports do not prevent retransmissions of the reported segments.
#[test]
fn ignored_reports_let_all_leave_again() {
    for (on_rto, leaving) in [(SackOnRto::Keep, [1, 9]), (SackOnRto::Discard, [1, 9]), (SackOnRto::Ignore, [1, 2])] {
        let mut s = bench(CcKind::Sack, 10, by_acks(SackCounting::Acks, on_rto, true));
        s.send(40);
        s.ack(0, &[(2, 9)]);
        assert_eq!(s.time_out(), [0]);
        assert_eq!(s.ack(1, &[(2, 9)]), leaving, "{on_rto:?}");
    }
}

/// Where recovery ends, a hole above is not known yet; three duplicates have to show it.
#[test]
fn reports_count_for_one_recovery() {
    for (counting, recoveries) in [(SackCounting::Data, 2), (SackCounting::Acks, 1)] {
        let mut s = bench(CcKind::Sack, 10, by_acks(counting, SackOnRto::Keep, true));
        s.send(40);
        for right in 2..=10 {
            s.ack(0, &[(1, right)]);
        }
        // 11 and 12 have arrived, 10 has not.
        s.ack(0, &[(11, 12), (1, 10)]);
        assert!(s.conn.tcb.sender.losses.is_repairing());
        s.ack(10, &[(11, 13)]);
        assert_eq!(s.conn.counters().fast_retransmits, recoveries, "{counting:?}");
    }
}

/// RFC 6675 §4 NextSeg(), rule 4: 0 and 9 are lost, and nothing else may be sent.
#[test]
fn no_rescue() {
    for (rescue, leaving) in [(true, vec![9]), (false, vec![])] {
        let mut s = bench(CcKind::Sack, 10, by_acks(SackCounting::Data, SackOnRto::Keep, rescue));
        s.send(10);
        for right in 2..=9 {
            s.ack(0, &[(1, right)]);
        }
        assert_eq!(s.ack(9, &[]), leaving);
    }
}

/// Duplicates that come after a timeout: limited transmit answers two of them, or those that are left of two, or none.
#[test]
fn duplicates_after_a_timeout() {
    for (duplicates, leaving) in [
        (RtoDuplicates::Restart, [vec![1], vec![2], vec![]]),
        (RtoDuplicates::Continue, [vec![1], vec![], vec![]]),
        (RtoDuplicates::Ignore, [vec![], vec![], vec![]]),
    ] {
        let mut s = bench(CcKind::Tahoe, 10, |config| config.rto.duplicates = duplicates);
        s.send(40);
        s.ack(0, &[]);
        assert_eq!(s.time_out(), [0]);
        for leaving in leaving {
            assert_eq!(s.ack(0, &[]), leaving, "{duplicates:?}");
        }
        // An ACK of new data begins a new count.
        assert_eq!(s.ack(4, &[]), [4, 5]);
        assert_eq!(s.ack(4, &[]), [6]);
    }
}

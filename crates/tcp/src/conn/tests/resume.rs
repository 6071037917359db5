//! Careful resume on a connection.

use super::*;
use bentpipe_cc::{CcKind, PathLesson, ResumePhase, SavedPath};

const RTT: Duration = Duration::from_millis(600);

fn given(segments: u64) -> Option<CarefulResume> {
    let saved = SavedWindow::Bytes(segments * SMSS);
    Some(CarefulResume { saved, saved_rtt: SavedRtt::Time(RTT), ..CarefulResume::default() })
}

/// A connection after its initial window of ten segments is acknowledged, one ACK each.
fn jumped(cc: CcKind, resume: Option<CarefulResume>) -> Bench {
    let mut s = Bench::new(cc, 10, |config| config.careful_resume = resume);
    s.send(1000);
    s.at(Time::ZERO + RTT);
    (1..=10).for_each(|ack| drop(s.ack(ack, &[])));
    s
}

fn phases(s: &mut Bench) -> Vec<ResumePhase> {
    let phase = |event| if let Event::Resumed(phase, _) = event { Some(phase) } else { None };
    s.events().into_iter().filter_map(phase).collect()
}

/// Lets time pass until nothing is to be sent. Returns the segments with the time since `from`.
fn paced(s: &mut Bench, end: Time) -> Vec<(u64, Duration)> {
    let (mut sent, from) = (Vec::new(), s.now);
    while s.conn.next_wakeup() < end {
        sent.extend(s.wake_up().into_iter().map(|segment| (segment, s.now - from)));
    }
    sent
}

/// `docs/specs/careful-resume.md`: the jump is paced over a round trip, and the window stays.
#[test]
fn rfc9959_3_3_a_jump_is_paced_over_a_round_trip() {
    for cc in [CcKind::Reno, CcKind::Sack, CcKind::Cubic, CcKind::Westwood, CcKind::Hybla] {
        let mut s = jumped(cc, given(300));
        assert_eq!(phases(&mut s), [ResumePhase::Unvalidated], "{cc:?}");
        assert_eq!(s.conn.cwnd(), 150 * SMSS);
        let sent = paced(&mut s, Time::ZERO + RTT * 2);
        // 150 segments in 600 ms: one each 4 ms.
        assert!(sent.len() > 110, "{}", sent.len());
        for (number, (_, after)) in sent.iter().enumerate() {
            let least = Duration::from_millis(4) * (number as u64).saturating_sub(1);
            assert!(*after + Duration::from_micros(10) >= least, "{number}: {after}");
        }
    }
}

/// The example of RFC 9959: a loss of the jump, and its repair.
#[test]
fn rfc9959_3_5_a_loss_retreats_to_half_of_what_was_proven() {
    let mut s = jumped(CcKind::Sack, given(300));
    let first = s.conn.tcb.sender.space.nxt / SMSS;
    let before = s.conn.tcb.sender.board.flight_size() / SMSS;
    let sent = paced(&mut s, Time::ZERO + RTT * 2);
    let last = sent.last().unwrap().0;
    assert_eq!(last, first + (150 - before) - 1, "the window is full");
    s.at(Time::ZERO + RTT * 2);
    // Data in flight before, and ten segments of the jump; the next is lost.
    (11..=first + 10).for_each(|ack| drop(s.ack(ack, &[])));
    (1..=3).for_each(|more| drop(s.ack(first + 10, &[(first + 11, first + 11 + more)])));
    assert_eq!(phases(&mut s), [ResumePhase::Unvalidated, ResumePhase::Validating, ResumePhase::Retreat]);
    let pipe = before + 13;
    assert_eq!(s.conn.cwnd(), pipe * SMSS / 2);
    // Nothing grows until the whole jump has arrived; then ssthresh is half of it.
    s.now += RTT;
    for ack in [first + 20, last] {
        s.ack(ack, &[]);
        assert!(s.conn.cwnd() <= pipe * SMSS / 2);
    }
    s.ack(last + 1, &[]);
    assert_eq!(phases(&mut s), [ResumePhase::Normal]);
    assert_eq!(s.conn.ssthresh().unwrap(), 150 * SMSS / 2);
}

/// The jump was far too large: most of it is lost. All of it is known to be lost or to have arrived within a round trip, and
/// the repair is as fast as what the path took.
#[test]
fn rfc9959_3_5_a_retreat_ends_when_all_of_the_jump_is_acknowledged_or_lost() {
    let mut s = jumped(CcKind::Sack, given(1000));
    let first = s.conn.tcb.sender.space.nxt / SMSS;
    let last = paced(&mut s, Time::ZERO + RTT * 2).last().unwrap().0;
    s.at(Time::ZERO + RTT * 2);
    (11..=first).for_each(|ack| drop(s.ack(ack, &[])));
    // Each fourth segment arrives.
    let arrives: Vec<u64> = (first + 3..=last).step_by(4).collect();
    for (number, &segment) in arrives.iter().enumerate() {
        let blocks: Vec<(u64, u64)> = arrives[..=number].iter().rev().take(3).map(|&n| (n, n + 1)).collect();
        assert_eq!(blocks[0].0, segment);
        s.now += Duration::from_millis(1);
        s.ack(first, &blocks);
    }
    let window = s.conn.cwnd() / SMSS;
    // Three more beyond the end show that the last ones are lost, too.
    let seen = phases(&mut s);
    assert!(seen.contains(&ResumePhase::Retreat), "{seen:?}");
    assert!(window < 40, "{window}");
    let pipe = s.conn.ssthresh().unwrap() / SMSS;
    s.now += RTT;
    s.ack(first + 4, &[(last + 1, last + 4)]);
    s.ack(first + 8, &[(last + 1, last + 5)]);
    assert!(phases(&mut s).contains(&ResumePhase::Normal));
    let ssthresh = s.conn.ssthresh().unwrap() / SMSS;
    assert!(ssthresh > 2 * pipe, "{ssthresh} {pipe}");
    // The window grows to it while losses are repaired.
    let mut ack = first + 8;
    while s.conn.tcb.sender.losses.is_repairing() && s.conn.cwnd() / SMSS < ssthresh && ack < last {
        ack += 4;
        s.now += Duration::from_millis(1);
        s.ack(ack, &[(last + 1, last + 5)]);
    }
    assert_eq!(s.conn.cwnd() / SMSS, ssthresh);
}

/// Below the initial window nothing is gained, and nothing differs.
#[test]
fn a_saved_window_that_is_too_small_changes_nothing() {
    let sent = |resume| {
        let mut s = jumped(CcKind::Sack, resume);
        (11..60).flat_map(|ack| s.ack(ack, &[])).collect::<Vec<_>>()
    };
    assert_eq!(sent(None), sent(given(19)));
    assert_ne!(sent(None), sent(given(300)));
}

/// `docs/specs/careful-resume.md`, test 5: one user at a time, and an age.
#[test]
fn rfc9959_3_2_one_connection_uses_a_saved_path_at_a_time() {
    let config = || Config { careful_resume: Some(CarefulResume::default()), ..Config::default() };
    let open = |cache: &mut PathCache, at: u64| {
        let mut conn = Connection::new(config(), Role::Active, Seq::new(1));
        conn.take_path(cache, Time::ZERO + Duration::from_secs(at));
        (conn.life.learnt.as_ref().is_some_and(|learnt| learnt.saved.is_some()), conn)
    };
    let mut cache = PathCache::default();
    assert!(!open(&mut cache, 0).0, "nothing is known yet");
    let mut s = Bench::new(CcKind::Sack, 10, |config| config.careful_resume = Some(CarefulResume::default()));
    s.send(2000);
    let mut acked = 0;
    for round in 1..=7 {
        s.now = Time::ZERO + RTT * round;
        let until = s.conn.tcb.sender.space.nxt / SMSS;
        (acked + 1..=until).for_each(|ack| drop(s.ack(ack, &[])));
        acked = until;
    }
    s.conn.contribute(&mut cache, Time::ZERO);
    let (is_first, first) = open(&mut cache, 1);
    assert!(is_first && !open(&mut cache, 2).0, "another connection uses it");
    first.contribute(&mut cache, Time::ZERO + RTT);
    assert!(open(&mut cache.clone(), 3600).0 && !open(&mut cache.clone(), 3601).0);
}

/// A cache has one entry. The path of a later connection replaces it, and a connection that saves nothing leaves it.
#[test]
fn rfc9959_3_1_a_later_connection_replaces_what_is_saved() {
    let now = Time::ZERO + RTT;
    let saved = |bytes| Some(SavedPath { window: bytes, rtt: RTT, at: now });
    let lesson = |saved, is_deleted| PathLesson { saved, is_deleted };
    let mut cache = PathCache::default();
    let mut close = |used, lesson| {
        cache.return_saved(used, lesson);
        let mut copy = cache;
        copy.take_saved(now, RTT).map(|saved| saved.window)
    };
    assert_eq!(close(false, lesson(saved(100_000), false)), Some(100_000));
    assert_eq!(close(false, lesson(None, false)), Some(100_000));
    assert_eq!(close(false, lesson(saved(50_000), false)), Some(50_000));
    // A retreat deletes it, and the connection may have seen a better one.
    assert_eq!(close(true, lesson(None, true)), None);
    assert_eq!(close(true, lesson(saved(70_000), true)), Some(70_000));
}

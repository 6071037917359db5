use super::*;
use bentpipe_units::Duration;
use proptest::prelude::*;
use std::collections::BTreeMap;

const SMSS: u64 = 1000;

fn board(segments: u64) -> Scoreboard {
    let mut board = Scoreboard::default();
    for i in 0..segments {
        board.push(SeqRange { start: i * SMSS, len: SMSS as u32, has_fin: false }, Time::ZERO);
    }
    board
}

/// `docs/specs/tcp-sack.md`, test 3: three separate runs prove a loss although little is SACKed.
#[test]
fn rfc6675_4_is_lost_by_runs() {
    let mut board = Scoreboard::default();
    for i in 0..10 {
        board.push(SeqRange { start: i * 100, len: 100, has_fin: false }, Time::ZERO);
    }
    board.sack(200, 300, &mut Acked::default());
    board.sack(400, 500, &mut Acked::default());
    board.mark(Evidence::SackedAbove { smss: SMSS });
    assert!(!board.sent.is_lost(0));
    board.sack(600, 700, &mut Acked::default());
    board.mark(Evidence::SackedAbove { smss: SMSS });
    assert_eq!([0, 1, 3, 5, 7].map(|i| board.sent.is_lost(i)), [true, true, false, false, false]);
}

/// A recovery that is undone forgets its losses; those that were real are found by time again (RFC 8985 §6.2).
#[test]
fn what_was_lost_after_all_is_found_after_an_undo() {
    let mut board = Scoreboard::default();
    board.set_detail(true);
    for i in 0..3 {
        board.push(SeqRange { start: i * SMSS, len: SMSS as u32, has_fin: false }, Time::ZERO);
    }
    board.begin_ack(Doubt { now: Time::ZERO, min_rtt: Duration::ZERO, echo: None, has_sack_echo: true });
    board.sack(SMSS, 2 * SMSS, &mut Acked::default());
    let last = board.delivery().newest.unwrap();
    let timeout = Duration::from_millis(100);
    let evidence = Evidence::SentBefore { now: Time::ZERO + timeout, last, timeout };
    for _ in 0..2 {
        board.mark(evidence);
        assert_eq!([0, 1, 2].map(|i| board.sent.is_lost(i)), [true, false, false]);
        board.unmark_lost();
        assert!(!board.sent.is_lost(0));
    }
}

/// The definition, byte by byte as RFC 6675 gives it.
#[derive(Default)]
struct Naive {
    /// Segment number -> (sacked, lost, retransmitted).
    segments: BTreeMap<u64, (bool, bool, bool)>,
}

impl Naive {
    fn mark_lost(&mut self) {
        let sacked: Vec<u64> = self.segments.iter().filter(|(_, s)| s.0).map(|(&i, _)| i).collect();
        for (&i, segment) in &mut self.segments {
            let above: Vec<u64> = sacked.iter().copied().filter(|&j| j > i).collect();
            let runs = above.iter().filter(|&&j| !above.contains(&(j + 1))).count() as u64;
            if !segment.0 && (runs >= DUP_THRESH || above.len() as u64 * SMSS > (DUP_THRESH - 1) * SMSS) {
                segment.1 = true;
            }
        }
    }

    fn pipe(&self) -> u64 {
        let counted = self.segments.values().filter(|s| !s.0);
        counted.map(|s| SMSS * (u64::from(!s.1) + u64::from(s.2))).sum()
    }

    fn next_lost(&self) -> Option<u64> {
        let high_rxt = self.segments.iter().filter(|(_, s)| s.2).map(|(&i, _)| i + 1).max().unwrap_or(0);
        self.segments.range(high_rxt..).find(|(_, s)| !s.0 && s.1).map(|(&i, _)| i)
    }
}

#[derive(Clone, Debug)]
enum Operation {
    Send,
    Sack(u64, u64),
    Ack(u64),
    Retransmit,
    Timeout(bool),
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_definition(operations in proptest::collection::vec(prop_oneof![
        4 => Just(Operation::Send),
        4 => (0u64..20, 1u64..5).prop_map(|(from, n)| Operation::Sack(from, n)),
        2 => (0u64..4).prop_map(Operation::Ack),
        2 => Just(Operation::Retransmit),
        1 => any::<bool>().prop_map(Operation::Timeout),
    ], 1..300)) {
        let (mut board, mut naive) = (board(0), Naive::default());
        let (mut una, mut nxt) = (0u64, 0u64);
        for operation in operations {
            match operation {
                Operation::Send => {
                    board.push(SeqRange { start: nxt * SMSS, len: SMSS as u32, has_fin: false }, Time::ZERO);
                    naive.segments.insert(nxt, (false, false, false));
                    nxt += 1;
                }
                Operation::Sack(from, n) => {
                    let (from, to) = ((una + from).min(nxt), (una + from + n).min(nxt));
                    let before = naive.segments.values().filter(|s| s.0).count();
                    for (_, segment) in naive.segments.range_mut(from..to) {
                        if !segment.0 {
                            *segment = (true, false, false);
                        }
                    }
                    let news = naive.segments.values().filter(|s| s.0).count() - before;
                    prop_assert_eq!(board.sack(from * SMSS, to * SMSS, &mut Acked::default()), news as u64 * SMSS);
                    board.mark(Evidence::SackedAbove { smss: SMSS });
                    naive.mark_lost();
                }
                Operation::Ack(n) => {
                    una = (una + n).min(nxt);
                    board.ack(una * SMSS);
                    naive.segments = naive.segments.split_off(&una);
                }
                Operation::Retransmit => {
                    let next = board.next_lost();
                    prop_assert_eq!(next, naive.next_lost());
                    if let Some(index) = next {
                        board.retransmit(index, Time::ZERO, true);
                        naive.segments.get_mut(&index).unwrap().2 = true;
                    }
                }
                Operation::Timeout(forget) => {
                    board.mark(Evidence::Everything { forget_sacks: forget });
                    for segment in naive.segments.values_mut() {
                        if forget || !segment.0 {
                            *segment = (false, true, false);
                        }
                    }
                }
            }
            prop_assert_eq!(board.flight_size(), naive.segments.len() as u64 * SMSS);
            prop_assert_eq!(board.pipe(), naive.pipe());
            for (&i, segment) in &naive.segments {
                prop_assert_eq!(board.sent.is_sacked(i), segment.0);
            }
        }
    }
}

/// An operation between losses by time.
#[derive(Clone, Debug)]
enum Timed {
    Send,
    Sack(u64, u64),
    Ack(u64),
    Retransmit,
    Undo,
}

/// A segment of the definition: when it was last sent, whether it is SACKed, lost, and lost without a retransmission since.
#[derive(Clone, Copy)]
struct TimedSegment {
    sent_at: Time,
    is_sacked: bool,
    is_lost: bool,
    waits: bool,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Step 5 for each outstanding segment, whether the order of time is in a list or not.
    #[test]
    fn rfc8985_6_2_losses_by_time_agree_with_the_definition(operations in proptest::collection::vec((0u64..3, prop_oneof![
        5 => Just(Timed::Send),
        3 => (0u64..20, 1u64..5).prop_map(|(from, n)| Timed::Sack(from, n)),
        2 => (0u64..6).prop_map(Timed::Ack),
        2 => Just(Timed::Retransmit),
        1 => Just(Timed::Undo),
    ]), 1..300)) {
        let timeout = Duration::from_millis(5);
        let mut board = Scoreboard::default();
        board.set_detail(true);
        let mut naive = BTreeMap::<u64, TimedSegment>::new();
        let (mut now, mut una, mut nxt, mut last) = (Time::ZERO, 0u64, 0u64, None);
        for (ms, operation) in operations {
            now += Duration::from_millis(ms);
            board.begin_ack(Doubt { now, min_rtt: Duration::ZERO, echo: None, has_sack_echo: true });
            match operation {
                Timed::Send => {
                    board.push(SeqRange { start: nxt * SMSS, len: SMSS as u32, has_fin: false }, now);
                    naive.insert(nxt, TimedSegment { sent_at: now, is_sacked: false, is_lost: false, waits: false });
                    nxt += 1;
                }
                Timed::Sack(..) | Timed::Ack(_) => {
                    let (from, to) = match operation {
                        Timed::Sack(from, n) => ((una + from).min(nxt), (una + from + n).min(nxt)),
                        Timed::Ack(n) => (una, (una + n).min(nxt)),
                        _ => unreachable!(),
                    };
                    for (i, segment) in naive.range_mut(from..to).filter(|(_, segment)| !segment.is_sacked) {
                        last = last.max(Some((segment.sent_at, (i + 1) * SMSS)));
                        *segment = TimedSegment { is_sacked: true, is_lost: false, waits: false, ..*segment };
                    }
                    if let Timed::Ack(_) = operation {
                        una = to;
                        board.ack(una * SMSS);
                        naive = naive.split_off(&una);
                    } else {
                        board.sack(from * SMSS, to * SMSS, &mut Acked::default());
                    }
                }
                Timed::Retransmit => {
                    if let Some(index) = board.next_lost() {
                        board.retransmit(index, now, true);
                        let segment = naive.get_mut(&index).unwrap();
                        prop_assert!(segment.waits);
                        (segment.sent_at, segment.waits) = (now, false);
                    }
                }
                Timed::Undo => {
                    board.unmark_lost();
                    naive.values_mut().for_each(|segment| (segment.is_lost, segment.waits) = (false, false));
                }
            }
            let Some((xmit_ts, end)) = last else { continue };
            let last = Transmitted { index: 0, xmit_ts, end, is_retrans: false };
            let mut look_again = Time::NEVER;
            for (i, segment) in naive.iter_mut().filter(|(_, segment)| !segment.is_sacked && !segment.waits) {
                if last.is_later(segment.sent_at, (i + 1) * SMSS) {
                    let expiry = segment.sent_at + timeout;
                    if expiry <= now {
                        (segment.is_lost, segment.waits) = (true, true);
                    } else {
                        look_again = if look_again == Time::NEVER { expiry } else { look_again.max(expiry) };
                    }
                }
            }
            if board.all_left_after(last) {
                prop_assert_eq!(look_again, Time::NEVER);
            } else {
                prop_assert_eq!(board.mark(Evidence::SentBefore { now, last, timeout }).look_again, look_again);
            }
            for (&i, segment) in &naive {
                prop_assert_eq!(board.sent.is_lost(i), segment.is_lost);
            }
        }
    }
}

/// Long runs are crossed in a few steps: the work of an ACK does not grow with the window.
#[test]
fn a_window_of_100_000_segments_costs_no_more_per_ack() {
    let mut board = board(100_000);
    // Every tenth segment is lost; the receiver reports run after run, each ACK repeating the last three.
    let mut steps = Vec::new();
    for i in (0..99_990u64).step_by(10) {
        let reported = |k: u64| (i.saturating_sub(10 * k) + 1) * SMSS;
        let mut news = 0;
        for k in 0..3 {
            news += board.sack(reported(k), reported(k) + 9 * SMSS, &mut Acked::default());
        }
        board.mark(Evidence::SackedAbove { smss: SMSS });
        steps.push(news);
    }
    assert!(steps.iter().all(|&news| news == 9 * SMSS));
    // Each hop over a SACKed run of nine takes at most two links once it was crossed.
    let repaired = std::iter::from_fn(|| {
        let lost = board.next_lost()?;
        board.retransmit(lost, Time::ZERO, true);
        Some(lost)
    });
    assert_eq!(repaired.count(), 9_999);
    let longest =
        (0..board.sent.segments.len()).filter(|&i| board.sent.segments[i].has(SACKED)).map(|i| links(&board, i)).max();
    assert!(longest <= Some(9), "{longest:?}");
}

fn links(board: &Scoreboard, mut position: usize) -> usize {
    let mut n = 0;
    while board.sent.segments.get(position).is_some_and(|sent| sent.has(SACKED)) {
        position = board.sent.segments[position].skip as usize;
        n += 1;
    }
    n
}

#[test]
fn resegmenting_keeps_the_books() {
    let mut board = board(6);
    board.sack(3 * SMSS, 4 * SMSS, &mut Acked::default());
    board.resegment(300);
    assert_eq!((board.flight_size(), board.pipe()), (6 * SMSS, 5 * SMSS));
    assert_eq!(board.sent.segments.len(), 24);
    assert_eq!(board.ack(6 * SMSS).newest(), Some(Time::ZERO));
    assert_eq!((board.flight_size(), board.pipe()), (0, 0));
}

#[test]
fn segment_sizes_that_change_often_leave_no_crumbs() {
    let mut board = board(6);
    for smss in [512, 480, 512, 450, 500, 430, 470] {
        board.resegment(smss);
    }
    assert!(board.sent.segments.iter().all(|sent| sent.len >= 430 / 2), "{:?}", board.sent.segments);
}

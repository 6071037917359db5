//! Best-effort transport and record boundaries of SCPS-TP.

use super::*;
use crate::scps::ScpsOptions;

fn best_effort(config: &mut Config) {
    config.recovery = Recovery::Snack(Snack::default());
    config.best_effort = Some(BestEffort { wait: Duration::from_secs(1) });
}

fn ends_record(segment: &Segment) -> bool {
    matches!(segment.options, Options::Scps(ScpsOptions { record_boundary: true, .. }))
}

/// Lengths of the segments that leave, and whether a record ends there.
fn leaving(s: &mut Bench) -> Vec<(u16, bool)> {
    std::iter::from_fn(|| leave(&mut s.conn, s.now)).map(|segment| (segment.len, ends_record(&segment))).collect()
}

#[test]
fn segments_end_where_records_do() {
    let mut s = Bench::new(CcKind::NewReno, 20, best_effort);
    for record in [2500, 1800, 1000] {
        s.conn.offer(record);
        s.conn.end_record();
    }
    s.conn.offer(300);
    let whole = [(1000, false), (1000, false), (500, true), (1000, false), (800, true), (1000, true), (300, false)];
    assert_eq!(leaving(&mut s), whole);
    // A retransmission is flagged too.
    s.ack(2, &[]);
    s.now = s.conn.next_wakeup();
    s.conn.handle_wakeup(s.now);
    assert_eq!(leaving(&mut s), [(500, true)]);
    // Records have no effect without an agreement.
    let mut s = Bench::new(CcKind::NewReno, 20, |_| ());
    s.conn.offer(1500);
    s.conn.end_record();
    s.conn.offer(1500);
    assert_eq!(leaving(&mut s), [(1000, false); 3]);
}

/// Segment 1 of ten is lost for good: the receiver waits a second for it, and then goes on.
#[test]
fn what_is_missing_for_too_long_is_skipped() {
    let mut s = Bench::new(CcKind::NewReno, 20, best_effort);
    let start = s.now;
    let mut events = Vec::new();
    for segment in (0..10).filter(|&segment| segment != 1) {
        s.now = start + Duration::from_millis(200 * segment);
        s.data(segment * SMSS, (segment + 1) * SMSS, Flags::ACK);
        events.extend(std::iter::from_fn(|| s.conn.poll()).filter(|event| matches!(event, Event::Skipped(..))));
        // Segment 2 came at 0.4 s.
        let delivered = if segment < 7 { 1 } else { segment };
        assert_eq!(s.conn.counters().delivered_bytes, delivered * SMSS, "{segment}");
    }
    assert_eq!(events, [Event::Skipped(SMSS, 2 * SMSS)]);
    assert_eq!((s.conn.counters().skipped_bytes, s.conn.counters().delivered_bytes), (SMSS, 9 * SMSS));
    let ack = std::iter::from_fn(|| leave(&mut s.conn, s.now)).last().unwrap();
    assert_eq!(ack.ack, s.conn.tcb.wire.irs.at(1 + 10 * SMSS));
    // It is repaired after all: nothing is delivered twice.
    s.data(SMSS, 2 * SMSS, Flags::ACK);
    assert_eq!((s.conn.counters().delivered_bytes, s.conn.counters().duplicate_segments), (9 * SMSS, 1));
}

#[test]
fn the_retransmission_that_comes_last_fills_the_hole() {
    let mut s = Bench::new(CcKind::NewReno, 20, best_effort);
    s.data(SMSS, 2 * SMSS, Flags::ACK);
    s.now += Duration::from_secs(9);
    s.data(0, SMSS, Flags::ACK);
    assert_eq!((s.conn.counters().delivered_bytes, s.conn.counters().skipped_bytes), (2 * SMSS, 0));
}

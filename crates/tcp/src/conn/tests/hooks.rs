//! Notifications of a congestion control, and their times.

use super::*;
use crate::config::ErrorReports;
use bentpipe_cc::Notice;
use bentpipe_cc::{AckSample, Congestion, CongestionControl, CustomCc, Delivery, Init, LostSegment, PathState};
use std::sync::{Arc, Mutex};

/// Writes down what it is notified of, and keeps a window of ten segments.
#[derive(Clone, Debug)]
struct Notebook {
    wants: bool,
    is_model: bool,
    notes: Arc<Mutex<Vec<String>>>,
}

impl Notebook {
    fn note(&self, what: String) {
        self.notes.lock().unwrap().push(what);
    }
}

impl CongestionControl for Notebook {
    fn on_ack(&mut self, ack: &AckSample, _: &PathState) {
        self.note(format!("ack {}", ack.newly_acked / SMSS));
    }
    fn on_congestion(&mut self, _: Congestion, _: &PathState) {
        self.note("congestion".into());
    }
    fn on_rto(&mut self, _: bool, _: &PathState) {
        self.note("rto".into());
    }
    fn limit_cwnd(&mut self, _: u64) {}
    fn set_window(&mut self, _: u64, _: u64) {}
    fn on_smss(&mut self, _: u64) {}
    fn takes_deliveries(&self) -> bool {
        self.wants
    }
    fn on_delivery(&mut self, d: &Delivery, _: &PathState) {
        let (new, lost, flight) = (d.newly_delivered / SMSS, d.newly_lost / SMSS, d.in_flight / SMSS);
        let repairing = if d.is_repairing { ", repairing" } else { "" };
        self.note(format!("delivered {new} of {}, lost {lost}, in flight {flight}{repairing}", d.delivered / SMSS));
    }
    fn on_lost(&mut self, lost: &LostSegment, path: &PathState) {
        let LostSegment { start, len, flight_before, lost, prior_delivered, delivered, .. } = *lost;
        let [at, flight, lost] = [start, flight_before, lost].map(|bytes| bytes / SMSS);
        assert_eq!((len, path.header_len), (SMSS, 40));
        let (before, since) = (prior_delivered / SMSS, (delivered - prior_delivered) / SMSS);
        self.note(format!("lost {at}: of {flight}, {lost} lost and {since} delivered since {before}"));
    }
    fn on_error_report(&mut self, range: Option<(u64, u64)>, error_rate: Option<f32>, _: &PathState) {
        self.note(format!("report {range:?} {error_rate:?}"));
    }
    fn is_model_based(&self) -> bool {
        self.is_model
    }
    fn on_recovery_ack(&mut self, is_partial: bool, _: &PathState) {
        self.note(if is_partial { "partial" } else { "duplicate" }.into());
    }
    fn on_recovery_exit(&mut self, _: &PathState) {
        self.note("exit".into());
    }
    fn on_resume(&mut self, path: &PathState) {
        self.note(format!("resume at {}", path.snd_nxt / SMSS));
    }
    fn cwnd(&self) -> u64 {
        10 * SMSS
    }
    fn ssthresh(&self) -> u64 {
        2 * SMSS
    }
}

fn sender(cc: CcKind, wants: bool) -> (Bench, impl FnMut() -> Vec<String>) {
    sender_with(cc, wants, false, |_| ())
}

fn sender_with(
    cc: CcKind,
    wants: bool,
    is_model: bool,
    change: impl FnOnce(&mut Config),
) -> (Bench, impl FnMut() -> Vec<String>) {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let book = Notebook { wants, is_model, notes: Arc::clone(&notes) };
    let sender = Bench::new(cc, 10, |config| {
        change(config);
        config.own_cc = Some(CustomCc::new(move |_: Init| Box::new(book.clone())));
    });
    (sender, move || std::mem::take(&mut notes.lock().unwrap()))
}

#[test]
fn deliveries_are_notified_in_recovery_too_and_each_byte_once() {
    let (mut s, mut notes) = sender(CcKind::Sack, true);
    s.send(100);
    assert_eq!(notes(), ["resume at 0"]);
    s.ack(2, &[]);
    assert_eq!(notes(), ["delivered 2 of 2, lost 0, in flight 8", "ack 2"]);
    s.ack(2, &[(3, 6)]);
    // The segments that left for the ACK above are in flight; three were reported, one is lost.
    let lost = "lost 2: of 3, 1 lost and 5 delivered since 0";
    assert_eq!(notes(), ["congestion", lost, "delivered 3 of 5, lost 1, in flight 6, repairing"]);
    s.ack(2, &[(3, 7)]);
    assert_eq!(notes(), ["duplicate", "delivered 1 of 6, lost 0, in flight 9, repairing"]);
    s.ack(7, &[]);
    assert_eq!(notes(), ["partial", "delivered 1 of 7, lost 0, in flight 9, repairing"]);
    let next = s.conn.tcb.sender.space.nxt / SMSS;
    s.ack(next, &[]);
    let all = next - 7;
    assert_eq!(notes()[..2], ["exit".into(), format!("delivered {all} of {next}, lost 0, in flight 0")]);
}

#[test]
fn duplicate_acks_without_sack_are_a_segment_each_and_are_not_counted_again() {
    let (mut s, mut notes) = sender(CcKind::NewReno, true);
    s.send(10);
    notes();
    for total in 1..=2 {
        s.ack(0, &[]);
        assert_eq!(notes(), [format!("delivered 1 of {total}, lost 0, in flight 10")]);
    }
    s.ack(0, &[]);
    // Of the others it is not known.
    let lost = "lost 0: of 1, 1 lost and 3 delivered since 0";
    assert_eq!(notes(), ["congestion", lost, "delivered 1 of 3, lost 0, in flight 7, repairing"]);
    s.ack(10, &[]);
    assert_eq!(notes(), ["exit", "delivered 7 of 10, lost 0, in flight 0"]);
}

/// `docs/specs/westwood.md`, test 4: ACKs of 1, 1, 1 and 4 segments.
#[test]
fn two_duplicates_and_a_jump_of_three_are_four_segments_in_all() {
    let (mut s, mut notes) = sender(CcKind::NewReno, true);
    s.send(10);
    s.ack(1, &[]);
    s.ack(1, &[]);
    s.ack(1, &[]);
    s.ack(4, &[]);
    let notes = notes();
    let delivered: Vec<_> = notes.iter().filter(|line| line.starts_with("delivered")).map(|line| &line[..15]).collect();
    assert_eq!(delivered, ["delivered 1 of ", "delivered 1 of ", "delivered 1 of ", "delivered 1 of "]);
}

#[test]
fn each_ack_within_recovery_is_notified() {
    let (mut s, mut notes) = sender(CcKind::NewReno, false);
    s.send(30);
    (0..3).for_each(|_| drop(s.ack(0, &[])));
    assert_eq!(notes(), ["resume at 0", "congestion"]);
    [0, 0, 4, 4].iter().for_each(|&ack| drop(s.ack(ack, &[])));
    assert_eq!(notes(), ["duplicate", "duplicate", "partial", "duplicate"]);
    s.ack(10, &[]);
    assert_eq!(notes(), ["exit"]);
    let (mut s, mut notes) = sender(CcKind::Sack, false);
    s.send(30);
    (2..5).for_each(|right| drop(s.ack(0, &[(1, right)])));
    // The second brings no news.
    [5, 5, 6].iter().for_each(|&right| drop(s.ack(0, &[(1, right)])));
    s.ack(2, &[(3, 7)]);
    assert_eq!(notes(), ["resume at 0", "congestion", "duplicate", "duplicate", "partial"]);
}

/// With each value of `error_reports`.
#[test]
fn reports_of_errors_are_notified_as_far_as_they_are_about_what_is_outstanding() {
    for reports in [ErrorReports::Ignore, ErrorReports::Resend] {
        let (mut s, mut notes) = sender_with(CcKind::NewReno, false, false, |config| config.error_reports = reports);
        s.send(10);
        s.ack(1, &[]);
        notes();
        let first = s.conn.tcb.wire.iss.at(1);
        let mut report = |at: u64, error_rate| {
            let notice = Notice::Corrupted { seq: first.at(at * SMSS), len: SMSS as u16, error_rate };
            s.conn.notify(s.now, notice);
        };
        report(2, Some(0.5));
        report(3, None);
        report(0, None);
        report(10, None);
        report(0, Some(0.25));
        s.conn.notify(s.now, Notice::ErrorRate(0.125));
        let expected = [
            "report Some((2000, 3000)) Some(0.5)",
            "report Some((3000, 4000)) None",
            "report None Some(0.25)",
            "report None Some(0.125)",
        ];
        assert_eq!(notes(), expected);
    }
}

#[test]
fn without_asking_only_new_acks_and_losses_are_notified() {
    let (mut s, mut notes) = sender(CcKind::Sack, false);
    s.send(20);
    s.ack(2, &[]);
    s.ack(2, &[(3, 6)]);
    assert_eq!(notes(), ["resume at 0", "ack 2", "congestion"]);
    assert!(s.conn.report().rate_sample().is_none());
}

#[test]
fn a_timeout_is_over_when_all_before_it_is_repaired() {
    let (mut s, mut notes) = sender(CcKind::Sack, true);
    s.send(3);
    notes();
    s.time_out();
    let lost = [0, 1, 2].map(|k| format!("lost {k}: of {n}, {n} lost and 0 delivered since 0", n = k + 1));
    assert_eq!(notes(), [&["rto".into()], &lost[..]].concat());
    s.ack(1, &[]);
    assert_eq!(notes(), ["delivered 1 of 1, lost 3, in flight 2, repairing", "ack 1"]);
    s.ack(3, &[]);
    assert_eq!(notes(), ["exit", "delivered 2 of 3, lost 0, in flight 0", "ack 2"]);
}

/// LEDBAT begins with two segments and hears of deliveries first; the one ACK for both adds a segment.
#[test]
fn whether_the_window_is_used_does_not_depend_on_how_often_it_is_asked() {
    let mut s = Bench::new(CcKind::Ledbat, 2, |_| ());
    assert_eq!(s.send(100), [0, 1]);
    assert_eq!(s.ack(2, &[]), [2, 3, 4]);
    s.ack(5, &[]);
    assert_eq!(s.cwnd(), 4);
}

/// The first of two that are lost again: it left with the other in flight, and one loss ago.
#[test]
fn what_is_lost_again_is_notified_again() {
    let rack = CcKind::Bbr1.recovery();
    let (mut s, mut notes) = sender_with(CcKind::Sack, true, false, |config| config.recovery = rack);
    s.send(100);
    s.now += Duration::from_millis(100);
    s.ack(2, &[]);
    s.ack(2, &[(3, 6)]);
    let first = notes();
    assert!(first.contains(&"lost 2: of 3, 1 lost and 5 delivered since 0".into()), "{first:?}");
    s.now += Duration::from_millis(100);
    // Data that left after it arrives.
    s.ack(2, &[(3, 12)]);
    s.now += Duration::from_millis(400);
    s.conn.handle_wakeup(s.now);
    let again = notes();
    assert!(again.iter().any(|line| line.starts_with("lost 2: of ") && line.contains(", 1 lost and ")), "{again:?}");
}

/// Only the model moves the window of controllers that have one.
#[test]
fn models_are_left_alone() {
    for is_model in [true, false] {
        let (mut s, _) = sender_with(CcKind::Sack, true, is_model, |config| config.reduction = Reduction::Prr);
        s.send(100);
        s.ack(2, &[]);
        s.ack(2, &[(3, 6)]);
        assert_eq!(!s.conn.tcb.sender.falls_in_proportion(), is_model);
    }
}

/// RFC 8985 §7.4: a loss that a probe repaired is one reduction, after which recovery is over; a loss of the same window
/// of data is no second one.
#[test]
fn rfc8985_7_4_a_probe_that_repaired_a_loss_is_a_recovery_that_ends_at_once() {
    let rack = Recovery::Rack(Rack::default());
    let (mut s, mut notes) = sender_with(CcKind::Sack, false, false, |config| config.recovery = rack);
    s.send(1);
    s.now += Duration::from_millis(100);
    s.ack(1, &[]);
    assert_eq!(s.send(10).len(), 10);
    s.now += Duration::from_millis(100);
    s.ack(10, &[]);
    s.now = s.conn.next_wakeup();
    s.conn.handle_wakeup(s.now);
    assert_eq!((s.leaving(), s.conn.counters().timeouts), (vec![10], 0));
    assert_eq!(s.send(6), Vec::from_iter(11..17));
    notes();
    s.now += Duration::from_millis(100);
    s.ack(12, &[]);
    assert_eq!(notes(), ["congestion", "exit", "ack 2"]);
    assert_eq!((s.ack(12, &[(13, 17)]), notes()), (vec![12], vec![]));
    s.ack(17, &[]);
    assert_eq!(notes(), ["exit"]);
    // The next window of data.
    s.send(5);
    s.now += Duration::from_millis(100);
    assert_eq!((s.ack(17, &[(18, 22)]), notes()), (vec![17], vec!["resume at 17".into(), "congestion".into()]));
}

/// Data that acknowledge something are an ACK like any other; to an end that only receives they say nothing.
#[test]
fn an_ack_on_data_counts() {
    let (mut s, mut notes) = sender_with(CcKind::Sack, true, false, |_| ());
    let arrive = |s: &mut Bench, number: u64, acked: u64| {
        let wire = &s.conn.tcb.wire;
        let (seq, ack) = (wire.irs.at(1 + number * SMSS), wire.iss.at(1 + acked * SMSS));
        let segment = Segment { seq, ack, len: SMSS as u16, window: 65_535, flags: Flags::ACK, ..Segment::default() };
        s.conn.handle(s.now, &segment);
    };
    arrive(&mut s, 0, 0);
    assert!(notes().is_empty());
    s.send(4);
    s.now += Duration::from_millis(100);
    notes();
    arrive(&mut s, 1, 2);
    assert_eq!(notes().first().map(String::as_str), Some("delivered 2 of 2, lost 0, in flight 2"));
}

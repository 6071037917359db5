//! What a congestion control is told, and when.

use super::*;
use crate::cc::{AckSample, Congestion, CongestionControl, Delivery, Init, OwnCc, PathState};
use std::sync::{Arc, Mutex};

/// Writes down what it is told, and keeps a window of ten segments.
#[derive(Clone, Debug)]
struct Notebook {
    wants: bool,
    told: Arc<Mutex<Vec<String>>>,
}

impl Notebook {
    fn note(&self, what: String) {
        self.told.lock().unwrap().push(what);
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

fn sender(cc: CcKind, wants: bool) -> (Sender, impl FnMut() -> Vec<String>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let book = Notebook { wants, told: Arc::clone(&told) };
    let sender = Sender::new(cc, 10, |config| {
        config.own_cc = Some(OwnCc::new(move |_: Init| Box::new(book.clone())));
    });
    (sender, move || std::mem::take(&mut told.lock().unwrap()))
}

#[test]
fn deliveries_are_told_in_recovery_too_and_each_byte_once() {
    let (mut s, mut told) = sender(CcKind::Sack, true);
    s.send(100);
    assert_eq!(told(), ["resume at 0"]);
    s.ack(2, &[]);
    assert_eq!(told(), ["delivered 2 of 2, lost 0, in flight 8", "ack 2"]);
    s.ack(2, &[(3, 6)]);
    // The segments that left for the ACK above are in flight; three were reported, one is lost.
    assert_eq!(told(), ["congestion", "delivered 3 of 5, lost 1, in flight 6, repairing"]);
    s.ack(2, &[(3, 7)]);
    assert_eq!(told(), ["delivered 1 of 6, lost 0, in flight 9, repairing"]);
    s.ack(7, &[]);
    assert_eq!(told(), ["delivered 1 of 7, lost 0, in flight 9, repairing"]);
    let next = s.conn.snd_nxt / SMSS;
    s.ack(next, &[]);
    let all = next - 7;
    assert_eq!(told()[..2], ["exit".into(), format!("delivered {all} of {next}, lost 0, in flight 0")]);
}

#[test]
fn duplicate_acks_without_sack_are_a_segment_each_and_are_not_counted_again() {
    let (mut s, mut told) = sender(CcKind::NewReno, true);
    s.send(10);
    told();
    for total in 1..=2 {
        s.ack(0, &[]);
        assert_eq!(told(), [format!("delivered 1 of {total}, lost 0, in flight 10")]);
    }
    s.ack(0, &[]);
    assert_eq!(told(), ["congestion", "delivered 1 of 3, lost 0, in flight 10, repairing"]);
    s.ack(10, &[]);
    assert_eq!(told(), ["exit", "delivered 7 of 10, lost 0, in flight 0"]);
}

#[test]
fn who_does_not_ask_is_told_of_new_acks_and_losses_only() {
    let (mut s, mut told) = sender(CcKind::Sack, false);
    s.send(20);
    s.ack(2, &[]);
    s.ack(2, &[(3, 6)]);
    assert_eq!(told(), ["resume at 0", "ack 2", "congestion"]);
    assert!(s.conn.rate_sample().is_none());
}

#[test]
fn a_timeout_is_over_when_all_before_it_is_repaired() {
    let (mut s, mut told) = sender(CcKind::Sack, true);
    s.send(3);
    told();
    s.time_out();
    assert_eq!(told(), ["rto"]);
    s.ack(1, &[]);
    assert_eq!(told(), ["delivered 1 of 1, lost 3, in flight 2, repairing", "ack 1"]);
    s.ack(3, &[]);
    assert_eq!(told(), ["exit", "delivered 2 of 3, lost 0, in flight 0", "ack 2"]);
}

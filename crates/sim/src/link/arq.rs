//! Sending damaged packets again on the link: selective repeat below IP, in order (RFC 3366).
//!
//! A packet that arrives damaged is reported at once. After a round trip of the link the sender sends it again, ahead of what
//! waits: that takes the link for itself, and what is being sent then ends later by as much. So the sending of a copy is *booked*
//! when its packet is sent, and all that a packet will meet is known then: the link stays lazy. With the probability q that a packet
//! is damaged, q^(N+1) of them are lost, and each is sent (1 - q^(N+1)) / (1 - q) times.

use super::error::ErrorProcess;
use super::profile::{DelayCursor, RateCursor};
use crate::spec::Link;
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// The copies of a link.
#[derive(Clone, Debug)]
pub(super) struct Arq {
    rounds: Vec<Round>,
    /// Times for copies, in order, that no packet has yet been sent after.
    booked: VecDeque<Booking>,
    /// How long copies were sent while nothing else was.
    alone: Duration,
    pub(super) resent: u64,
    pub(super) resent_bytes: u64,
}

/// The copies that are sent for the first time, for the second, and so on.
#[derive(Clone, Debug)]
struct Round {
    error: ErrorProcess,
    sent: u64,
    last: Time,
}

#[derive(Clone, Copy, Debug)]
struct Booking {
    from: Time,
    to: Time,
    /// How much of it delayed a packet.
    within: Duration,
}

impl Arq {
    pub(super) fn of(spec: &Link, seed: u64, end: Time) -> Option<Self> {
        let arq = spec.arq?;
        let round = |n| Round { error: ErrorProcess::of_round(n, spec, seed, end), sent: 0, last: Time::ZERO };
        let rounds = (1..=arq.retransmissions).map(round).collect();
        Some(Self { rounds, booked: VecDeque::new(), alone: Duration::ZERO, resent: 0, resent_bytes: 0 })
    }

    /// When a packet has been sent whose sending begins at `begin`, and would end at `finish` without copies.
    pub(super) fn postpone(&mut self, begin: Time, mut finish: Time) -> Time {
        while self.booked.front().is_some_and(|booking| booking.to <= begin) {
            if let Some(Booking { from, to, within }) = self.booked.pop_front() {
                self.alone += (to - from).saturating_sub(within);
            }
        }
        for booking in &mut self.booked {
            if booking.from >= finish {
                break;
            }
            let within = booking.to - booking.from.max(begin);
            booking.within += within;
            finish += within;
        }
        finish
    }

    /// A packet was damaged whose sending ended at `sent`: when the sending of the copy ends that arrives whole, or of the last
    /// one, and whether it is damaged too.
    pub(super) fn repair(
        &mut self,
        mut sent: Time,
        size: u64,
        rate: &mut RateCursor,
        delay: &mut DelayCursor,
    ) -> (Time, bool) {
        for round in 0..self.rounds.len() {
            if sent == Time::NEVER {
                break;
            }
            let due = (sent + delay.at(sent) * 2).max(self.rounds[round].last);
            sent = book(&mut self.booked, due, |from| rate.finish(from, size));
            let round = &mut self.rounds[round];
            round.last = sent;
            round.sent += 1;
            self.resent += 1;
            self.resent_bytes += size;
            if !round.error.has_error(sent, round.sent - 1, size) {
                return (sent, false);
            }
        }
        (sent, true)
    }

    /// How long copies alone were sent up to `now`, in picoseconds.
    pub(super) fn busy_ps(&self, now: Time) -> u64 {
        let booked = |booking: &Booking| (now.min(booking.to)).saturating_since(booking.from).saturating_sub(booking.within);
        self.alone.as_ps() + self.booked.iter().map(|booking| booked(booking).as_ps()).sum::<u64>()
    }
}

/// Books the first time from `due` on in which nothing is booked. Returns its end.
fn book(booked: &mut VecDeque<Booking>, due: Time, mut finish: impl FnMut(Time) -> Time) -> Time {
    let mut from = due;
    let mut place = booked.partition_point(|booking| booking.to <= due);
    let mut to = finish(from);
    while let Some(next) = booked.get(place).filter(|next| next.from < to) {
        from = next.to;
        to = finish(from);
        place += 1;
    }
    if to != Time::NEVER {
        booked.insert(place, Booking { from, to, within: Duration::ZERO });
    }
    to
}

//! ARQ on the link: selective repeat below IP (RFC 3366).
//!
//! The receiver reports a damaged packet when it arrives. After a round trip of the link the sender retransmits it before the
//! waiting packets: the copy occupies the link, and delays the end of the current transmission. The transmission of a copy is
//! *booked* together with the packet's own, so the fate of each packet is known then and the link stays lazy. If a packet is
//! damaged with probability q, q^(N+1) of them are lost, and each is sent (1 - q^(N+1)) / (1 - q) times. If copies are
//! combined (`hybrid.rs`), q falls with each copy.

use super::error::ErrorProcess;
use super::hybrid::Hybrid;
use super::profile::{DelayCursor, RateCursor};
use bentpipe_model::spec::Link;
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// The copies of a link.
#[derive(Clone, Debug)]
pub(super) struct ArqState {
    rounds: Vec<Round>,
    hybrid: Option<Box<Hybrid>>,
    /// Booked times of copies, in order. Those that ended before the last packet began are removed.
    booked: VecDeque<Booking>,
    /// Begin and end of the last packet's transmission, and the end of the one before it.
    sending: (Time, Time),
    free_since: Time,
    /// Total time up to `free_since` in which only copies were sent.
    alone: Duration,
    pub(super) resent: u64,
    pub(super) resent_bytes: u64,
}

/// The copies of one round: first, second, and so on.
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
}

impl ArqState {
    pub(super) fn of(spec: &Link, seed: u64, end: Time) -> Option<Self> {
        let arq = spec.arq?;
        let round = |n| Round { error: ErrorProcess::of_round(n, spec, seed, end), sent: 0, last: Time::ZERO };
        let rounds = (1..=arq.retransmissions).map(round).collect();
        let hybrid = Hybrid::of(spec, arq, seed, end).map(Box::new);
        Some(Self {
            rounds,
            hybrid,
            booked: VecDeque::new(),
            sending: (Time::ZERO, Time::ZERO),
            free_since: Time::ZERO,
            alone: Duration::ZERO,
            resent: 0,
            resent_bytes: 0,
        })
    }

    /// The end of a transmission that begins at `begin`, and would end at `finish` without copies.
    pub(super) fn postpone(&self, begin: Time, mut finish: Time) -> Time {
        for booking in self.booked.iter().filter(|booking| booking.to > begin) {
            if booking.from >= finish {
                break;
            }
            finish += booking.to - booking.from.max(begin);
        }
        finish
    }

    /// Notes the transmission of a packet. It takes the time of the copies that it meets.
    pub(super) fn note_packet(&mut self, begin: Time, finish: Time) {
        self.alone += self.copies_between(self.free_since, self.sending.0);
        self.free_since = self.sending.1;
        self.sending = (begin, finish);
        while self.booked.front().is_some_and(|booking| booking.to <= self.free_since) {
            self.booked.pop_front();
        }
    }

    /// Repairs a packet that was damaged and whose transmission ended at `sent`. Returns the end of the first undamaged copy,
    /// or of the last copy, and whether that is damaged. `size` is the packet's size, then its size on the wire.
    pub(super) fn repair(
        &mut self,
        mut sent: Time,
        [size, wire]: [u64; 2],
        rate: &mut RateCursor,
        delay: &mut DelayCursor,
    ) -> (Time, bool) {
        let mut held = self.hybrid.as_mut().map_or(0.0, |hybrid| hybrid.signal(0, sent));
        for round in 0..self.rounds.len() {
            if sent == Time::NEVER {
                break;
            }
            let due = (sent + delay.at(sent) * 2).max(self.rounds[round].last);
            sent = book(&mut self.booked, due, |from| rate.finish(from, wire));
            let Round { error, sent: index, last } = &mut self.rounds[round];
            let has_error = match &mut self.hybrid {
                Some(hybrid) => hybrid.has_error(sent, (round, *index), wire, &mut held),
                None => error.has_error(sent, *index, wire),
            };
            *last = sent;
            *index += 1;
            self.resent += 1;
            self.resent_bytes += size;
            if !has_error {
                return (sent, false);
            }
        }
        (sent, true)
    }

    /// The time in which only copies were sent up to `now`, in picoseconds.
    pub(super) fn busy_ps(&self, now: Time) -> u64 {
        let (begin, finish) = self.sending;
        let before = self.copies_between(self.free_since, now.min(begin));
        (self.alone + before + self.copies_between(finish, now)).as_ps()
    }

    fn copies_between(&self, from: Time, to: Time) -> Duration {
        let parts = self.booked.iter().map(|booking| booking.to.min(to).saturating_since(booking.from.max(from)));
        parts.fold(Duration::ZERO, |sum, part| sum + part)
    }
}

/// Books the first free time from `due`. Returns its end.
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
        booked.insert(place, Booking { from, to });
    }
    to
}

#[cfg(test)]
mod tests {
    use super::super::tests::{packet, spec};
    use super::super::{LazyLink, Losses};
    use bentpipe_model::spec::{Arq, Combining, ErrorModel, ErrorUnit, Framing, Link, Order, QueueLimit};
    use bentpipe_units::{Duration, Time};

    fn link(error: ErrorModel, retransmissions: u32) -> Link {
        Link {
            error,
            arq: Some(Arq { retransmissions, order: Order::InOrder, combining: Combining::None }),
            ..spec(QueueLimit::Unlimited)
        }
    }

    /// (second, whether damaged) for each of `count` packets offered together. A transmission takes 1 s, the delay is 10 s.
    fn arrivals(spec: &Link, count: u32) -> (Vec<(f64, bool)>, LazyLink) {
        let (mut link, mut losses) = (LazyLink::new(spec, 7, Time::NEVER), Losses::new());
        for id in 0..count {
            link.accept(Time::ZERO, &packet(id, 1000), &mut losses);
        }
        let mut arrivals = Vec::new();
        while link.next_arrival() != Time::NEVER {
            let now = link.next_arrival();
            link.advance(now, &mut losses);
            // None: a sending began.
            if let Some(packet) = link.take(now) {
                arrivals.push(((now - Time::ZERO).as_secs_f64(), packet.is_damaged()));
            }
        }
        (arrivals, link)
    }

    /// The first of three ends at 1 s. Its copy begins at 21 s and arrives at 32 s; the others wait for it.
    #[test]
    fn a_damaged_packet_costs_a_round_trip_and_those_behind_wait() {
        let first = ErrorModel::Arrivals { list: vec![0], period: None };
        let (arrivals, link) = arrivals(&link(first.clone(), 1), 3);
        assert_eq!(arrivals, [(32.0, false); 3]);
        assert_eq!(link.busy_ps(Time::ZERO + Duration::from_secs(40)), Duration::from_secs(4).as_ps());
        assert_eq!(link.row("l", Time::ZERO + Duration::from_secs(40)).resent_packets, 1);
    }

    /// As before without waiting for order. Errors of the others and the load of copies stay equal.
    #[test]
    fn in_free_order_those_behind_go_on() {
        let free = |error, retransmissions| {
            let arq = Some(Arq { retransmissions, order: Order::Free, combining: Combining::None });
            Link { arq, ..link(error, retransmissions) }
        };
        let first = ErrorModel::Arrivals { list: vec![0], period: None };
        let (few, link) = arrivals(&free(first.clone(), 1), 3);
        assert_eq!(few, [(12.0, false), (13.0, false), (32.0, false)]);
        assert_eq!(link.busy_ps(Time::ZERO + Duration::from_secs(40)), Duration::from_secs(4).as_ps());
        let (many, _) = arrivals(&free(first, 1), 30);
        assert_eq!(many.iter().map(|arrival| arrival.0 as u32).collect::<Vec<_>>(), (12..=41).collect::<Vec<_>>());
        let error = ErrorModel::Independent { unit: ErrorUnit::Packet, rate: 0.1 };
        let (mut there, _) = arrivals(&free(error.clone(), 2), 20_000);
        assert!(there.windows(2).all(|pair| pair[0].0 <= pair[1].0), "as they arrive");
        let (in_order, _) = arrivals(&super::tests::link(error, 2), 20_000);
        there.retain(|arrival| arrival.1);
        assert_eq!(there.len(), in_order.iter().filter(|arrival| arrival.1).count());
    }

    /// The copy of the first occupies the link from 21 s to 22 s: the 22nd packet ends a second later.
    #[test]
    fn a_copy_takes_the_time_of_what_is_sent() {
        let first = ErrorModel::Arrivals { list: vec![0], period: None };
        let (arrivals, link) = arrivals(&link(first, 1), 30);
        assert_eq!(arrivals[20..23], [(32.0, false), (33.0, false), (34.0, false)]);
        assert_eq!(link.busy_ps(Time::ZERO + Duration::from_secs(99)), Duration::from_secs(31).as_ps());
    }

    /// The second packet begins at 21.25 s, in the copy of the first from 21 s to 22 s, and ends at 23 s.
    #[test]
    fn a_link_is_busy_once_while_a_packet_waits_for_a_copy() {
        let first = ErrorModel::Arrivals { list: vec![0], period: None };
        let (mut link, mut losses) = (LazyLink::new(&link(first, 1), 7, Time::NEVER), Losses::new());
        let ms = |ms| Time::ZERO + Duration::from_millis(ms);
        link.accept(ms(0), &packet(0, 1000), &mut losses);
        link.accept(ms(21_250), &packet(1, 1000), &mut losses);
        let busy = [21_250, 21_750, 22_500, 30_000].map(|at| link.busy_ps(ms(at)) / 1_000_000_000);
        assert_eq!(busy, [1250, 1750, 2500, 3000]);
    }

    /// In cells a transmission takes 1.166 s, for a copy too; its bytes are those of the packet.
    #[test]
    fn a_copy_is_framed_too() {
        let first = ErrorModel::Arrivals { list: vec![0], period: None };
        let framed = Link { framing: Framing::Aal5 { header: 8 }, ..link(first, 1) };
        let (arrivals, link) = arrivals(&framed, 1);
        assert_eq!(arrivals, [(32.332, false)]);
        assert_eq!(link.layer2.arq().map(|arq| arq.resent_bytes), Some(1000));
    }

    /// `docs/specs/fec-acm.md`: q 0.1, N 2: 1e-3 of the packets stay damaged, and each is sent 1.11 times.
    #[test]
    fn what_is_left_and_what_it_costs_are_as_computed() {
        let error = ErrorModel::Independent { unit: ErrorUnit::Packet, rate: 0.1 };
        let count = 200_000;
        let (arrivals, link) = arrivals(&link(error, 2), count);
        let lost = arrivals.iter().filter(|(_, is_damaged)| *is_damaged).count() as f64 / f64::from(count);
        let sends = 1.0 + link.row("l", Time::NEVER).resent_packets as f64 / f64::from(count);
        assert!((lost / 1e-3 - 1.0).abs() < 0.25, "{lost}");
        assert!((sends / 1.11 - 1.0).abs() < 2e-3, "{sends}");
        assert!(arrivals.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }
}

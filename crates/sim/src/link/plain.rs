//! Plain links: drop-tail, constant rate and delay, always up. The fate of a packet is known when it is offered: the link is
//! arithmetic. A waiting packet is in the ring like a sent one, with the instant of its arrival.

use super::queue::Limit;
use super::{FastPath, LazyLink, LinkCounters, Losses, NO_SIZE};
use crate::dictionary::Cause;
use crate::packet::Packet;
use crate::record::Histogram;
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// The additional state of a plain link.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    limit: Limit,
    /// Waiting packets, in order.
    waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
}

/// A waiting packet. The packet itself is in the ring.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    since: Time,
    start: Time,
    size: u32,
    is_corrupted: bool,
}

/// The fate of a packet on a plain link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crossing {
    /// Arrives at this instant.
    At(Time),
    /// Arrives with an error.
    Damaged(Time),
    /// Dropped: the queue is full.
    Full,
    /// Declined: the link is not plain, others are before the packet, or it arrives too late.
    No,
}

impl Plain {
    pub(super) fn new(limit: Limit) -> Self {
        Self { limit, waiting: VecDeque::new(), waiting_bytes: 0 }
    }

    /// Packets and bytes that wait.
    pub(super) fn backlog(&self) -> (usize, u64) {
        (self.waiting.len(), self.waiting_bytes)
    }

    /// Waiting packets that will have an error.
    pub(super) fn waiting_corrupted(&self) -> u64 {
        self.waiting.iter().filter(|packet| packet.is_corrupted).count() as u64
    }

    /// Removes packets whose transmission begins by `now`.
    #[inline(always)]
    pub(super) fn start_until(&mut self, now: Time, waits: &mut Histogram) {
        while let Some(&Waiting { since, start, size, .. }) = self.waiting.front() {
            if start > now {
                break;
            }
            self.waiting_bytes -= u64::from(size);
            self.waiting.pop_front();
            waits.record_span(start - since);
        }
    }

    /// Counts a packet whose transmission begins at `start`; `packet` has its size and transmission time. Returns whether
    /// there is room.
    #[inline(always)]
    fn take(
        &mut self,
        [at, start]: [Time; 2],
        packet: &FastPath,
        counters: &mut LinkCounters,
        waits: &mut Histogram,
    ) -> bool {
        self.start_until(at, waits);
        if start == at {
            waits.record_zero();
        } else {
            let bytes = self.waiting_bytes + u64::from(packet.size);
            if !self.limit.allows(self.waiting.len() + 1, bytes) {
                return false;
            }
            self.waiting_bytes = bytes;
            counters.backlog_bytes_max = counters.backlog_bytes_max.max(bytes);
            let waiting = Waiting { since: at, start, size: packet.size, is_corrupted: false };
            self.waiting.push_back(waiting);
        }
        counters.carried += 1;
        counters.carried_bytes += u64::from(packet.size);
        counters.busy_ps += packet.sending.as_ps();
        true
    }
}

impl LazyLink {
    /// The delay of a plain link without processing at its end.
    pub(crate) fn plain_delay(&self) -> Option<Duration> {
        self.plain.as_ref().filter(|_| self.processing.is_none()).map(|_| self.fast_path.delay)
    }

    /// Carries a packet of this size across an empty plain link, if it arrives by `until`. Sets its instant, next hop and errors.
    #[inline(always)]
    pub(crate) fn carry(&mut self, at: Time, size: u32, packet: &mut Packet, until: Time) -> Crossing {
        if self.ring.len() > 0 {
            return Crossing::No;
        }
        let crossing = self.book(at, size, until);
        match crossing {
            Crossing::At(arrival) => {
                mark(packet, arrival);
            }
            Crossing::Damaged(arrival) => damage(mark(packet, arrival), self.errors_erase),
            Crossing::Full => self.counters.dropped += 1,
            Crossing::No => {}
        }
        crossing
    }

    /// Accepts a packet on a plain link. Returns its arrival if it is the first on the link.
    #[inline(always)]
    pub(super) fn accept_plainly(&mut self, now: Time, packet: &Packet, losses: &mut Losses) -> Option<Time> {
        let crossing = self.book(now, packet.length(), Time::NEVER);
        let (Crossing::At(arrival) | Crossing::Damaged(arrival)) = crossing else {
            self.lose(now, *packet, Cause::QueueOverflow, losses);
            return None;
        };
        let was_empty = self.ring.len() == 0;
        let slot = self.ring.push(packet);
        mark(slot, arrival);
        if let Crossing::Damaged(_) = crossing {
            damage(slot, self.errors_erase);
        }
        was_empty.then_some(arrival)
    }

    /// Books a packet on a plain link, if it arrives by `until`. Its fate is known then.
    #[inline(always)]
    fn book(&mut self, at: Time, size: u32, until: Time) -> Crossing {
        if !self.is_free_for(at, size) {
            return self.book_with_care(at, size, until);
        }
        let finish = at + self.fast_path.sending;
        let arrival = finish + self.fast_path.delay;
        if arrival > until {
            return Crossing::No;
        }
        self.free_at = finish;
        self.fast_path.uncounted += 1;
        Crossing::At(arrival)
    }

    /// Can be sent now: idle server, same size, no random draw.
    #[inline(always)]
    fn is_free_for(&self, at: Time, size: u32) -> bool {
        size == self.fast_path.free_size && self.free_at <= at
    }

    /// As [`book`](Self::book), for packets that wait, have another size or need a random draw.
    #[inline(never)]
    fn book_with_care(&mut self, at: Time, size: u32, until: Time) -> Crossing {
        if self.plain.is_none() {
            return Crossing::No;
        }
        self.fit(size);
        let start = self.free_at.max(at);
        let finish = start + self.fast_path.sending;
        let arrival = self.arrival(finish);
        let Self { plain: Some(plain), fast_path, .. } = self else { return Crossing::No };
        if arrival > until {
            return Crossing::No;
        }
        self.counters.offered += 1;
        if !plain.take([at, start], fast_path, &mut self.counters, &mut self.waits) {
            return Crossing::Full;
        }
        (self.free_at, self.last_arrival) = (finish, arrival);
        match self.has_error(finish, size.into()) {
            true => Crossing::Damaged(arrival),
            false => Crossing::At(arrival),
        }
    }

    /// The arrival of the next packet, if its transmission ends at `finish`.
    #[inline(always)]
    fn arrival(&mut self, finish: Time) -> Time {
        let arrival = finish + self.fast_path.delay;
        match &mut self.processing {
            // Packets are processed in order.
            Some(processing) => (arrival + processing.draw(self.counters.carried)).max(self.last_arrival),
            None => arrival,
        }
    }

    /// Sets the size of the next packet.
    #[inline(always)]
    fn fit(&mut self, size: u32) {
        if size != self.fast_path.size {
            self.change_size(size);
        }
    }

    #[inline(never)]
    fn change_size(&mut self, size: u32) {
        self.settle();
        let draws_nothing = self.error.is_none() && self.processing.is_none();
        self.fast_path.size = size;
        self.fast_path.free_size = if draws_nothing { size } else { NO_SIZE };
        self.fast_path.sending = self.rate.constant(self.wire.size(size.into())).unwrap_or(Duration::MAX);
    }

    /// Counts the packets that found a plain link free.
    pub(super) fn settle(&mut self) {
        let FastPath { size, sending, uncounted, .. } = self.fast_path;
        self.fast_path.uncounted = 0;
        self.counters.offered += uncounted;
        self.counters.carried += uncounted;
        self.counters.carried_bytes += uncounted * u64::from(size);
        self.counters.busy_ps += uncounted * sending.as_ps();
        self.waits.record_zeros(uncounted);
    }

    /// Whether the last packet has an error. Its transmission ends at `finish`.
    #[inline(always)]
    fn has_error(&mut self, finish: Time, size: u64) -> bool {
        !self.error.is_none() && self.draw_error(finish, size)
    }

    #[inline(never)]
    fn draw_error(&mut self, finish: Time, size: u64) -> bool {
        let has_error = self.error.has_error(finish, self.counters.carried - 1, self.wire.size(size));
        if has_error && !self.errors_erase {
            self.counters.corrupted += 1;
            // If any packets wait, this is the last of them.
            if let Some(last) = self.plain.as_mut().and_then(|plain| plain.waiting.back_mut()) {
                last.is_corrupted = true;
            }
        }
        has_error
    }
}

/// Sets the arrival and the next hop of a packet.
#[inline(always)]
fn mark(packet: &mut Packet, arrival: Time) -> &mut Packet {
    packet.at = arrival;
    packet.next += 1;
    packet
}

/// Applies an error of the link to a packet.
fn damage(packet: &mut Packet, erases: bool) {
    match erases {
        true => packet.erase(),
        false => packet.corrupt(),
    }
}

//! Packets on plain links: books each packet when it is offered, and writes the outcome into it.

use super::lazy::LazyLink;
use super::plain::{Crossing, FastPath, NO_SIZE};
use super::queue::Losses;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::packet::Packet;
use bentpipe_units::{Duration, Time};

impl LazyLink {
    /// The delay of a plain link without processing at its end.
    pub(crate) fn plain_delay(&self) -> Option<Duration> {
        self.plain.as_ref().filter(|_| self.processing.is_none()).map(|_| self.fast_path.delay)
    }

    /// Whether it is a plain link.
    pub(crate) fn is_plain(&self) -> bool {
        self.plain.is_some()
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
            self.counters.lose(now, *packet, Cause::QueueOverflow, losses);
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
        let Self { plain: Some(plain), fast_path, levels, .. } = self else { return Crossing::No };
        if arrival > until {
            return Crossing::No;
        }
        self.counters.offered += 1;
        if !plain.take([at, start], fast_path, &mut self.counters, &mut self.waits) {
            return Crossing::Full;
        }
        if let Some(levels) = levels.as_deref_mut().filter(|_| start > at) {
            let (packets, bytes) = plain.backlog();
            levels.note((packets - 1, bytes - u64::from(size)));
            levels.note((packets, bytes));
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

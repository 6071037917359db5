//! Plain links: drop-tail, of constant rate and delay, never down. What becomes of a packet is known when it is offered: the link
//! is arithmetic, and a packet that waits is in the ring like one that is being sent, with the instant of its arrival.

use super::queue::Limit;
use super::{FastPath, LazyLink, LinkCounters, Losses, NO_SIZE};
use crate::dictionary::Cause;
use crate::packet::Packet;
use crate::record::Histogram;
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// What a plain link knows beside the parts of every link.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    limit: Limit,
    /// Packets that wait, in order.
    waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
}

/// A packet that waits. The packet itself is in the ring.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    since: Time,
    start: Time,
    size: u32,
    is_corrupted: bool,
}

/// What becomes of a packet that is to cross a plain link at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crossing {
    /// It reaches the far end then.
    At(Time),
    /// There is no room for it.
    Full,
    /// It must be offered like any other: others are before it, or it arrives too late.
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

    /// Packets that wait and will have an error.
    pub(super) fn waiting_corrupted(&self) -> u64 {
        self.waiting.iter().filter(|packet| packet.is_corrupted).count() as u64
    }

    /// Those whose sending begins by `now` wait no longer.
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

    /// The link takes a packet whose sending begins at `start`, and whose size and time are `packet`. Returns whether there is room.
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
    /// The delay of a plain link that leads to no host.
    pub(crate) fn plain_delay(&self) -> Option<Duration> {
        self.plain.as_ref().filter(|_| self.processing.is_none()).map(|_| self.fast_path.delay)
    }

    /// A packet of this size is offered at `at`, and crosses at once if it reaches the far end by `until` and follows no other that
    /// could not. Its errors are in `packet`.
    #[inline(always)]
    pub(crate) fn cross(&mut self, at: Time, size: u32, packet: &mut Packet, until: Time) -> Crossing {
        if !self.is_free_for(at, size) || self.ring.len() > 0 {
            return self.cross_with_care(at, packet, until);
        }
        let finish = at + self.fast_path.sending;
        let arrival = finish + self.fast_path.delay;
        if arrival > until {
            return Crossing::No;
        }
        self.free_at = finish;
        self.fast_path.uncounted += 1;
        packet.at = arrival;
        packet.next += 1;
        Crossing::At(arrival)
    }

    /// Whether nothing becomes of a packet of this size but that it is sent at once: it finds the server free, is as large as the last
    /// one, and no error or processing must be drawn for it.
    #[inline(always)]
    fn is_free_for(&self, at: Time, size: u32) -> bool {
        size == self.fast_path.free_size && self.free_at <= at
    }

    /// As [`cross`](Self::cross), where the packet may have to wait, is of another size, or an error may be drawn for it.
    #[inline(never)]
    fn cross_with_care(&mut self, at: Time, packet: &mut Packet, until: Time) -> Crossing {
        if self.plain.is_none() || self.ring.len() > 0 {
            return Crossing::No;
        }
        self.fit(packet.length());
        let start = self.free_at.max(at);
        let finish = start + self.fast_path.sending;
        let arrival = self.arrival(finish);
        let Self { plain: Some(plain), fast_path, .. } = self else { return Crossing::No };
        if arrival > until {
            return Crossing::No;
        }
        self.counters.offered += 1;
        if !plain.take([at, start], fast_path, &mut self.counters, &mut self.waits) {
            self.counters.dropped += 1;
            return Crossing::Full;
        }
        (self.free_at, self.last_arrival) = (finish, arrival);
        packet.at = arrival;
        packet.next += 1;
        if self.has_error(finish, packet.size()) {
            Self::damage(packet, self.errors_erase);
        }
        Crossing::At(arrival)
    }

    /// A packet is offered to a plain link. Returns when it arrives, if it is the first on the link.
    #[inline(always)]
    pub(super) fn accept_plainly(&mut self, now: Time, packet: &Packet, losses: &mut Losses) -> Option<Time> {
        if !self.is_free_for(now, packet.length()) {
            return self.accept_with_care(now, packet, losses);
        }
        self.free_at = now + self.fast_path.sending;
        self.fast_path.uncounted += 1;
        let was_empty = self.ring.len() == 0;
        let slot = self.ring.push(packet);
        slot.at = self.free_at + self.fast_path.delay;
        slot.next += 1;
        was_empty.then_some(slot.at)
    }

    /// The same, where it may have to wait, is of another size, or an error may be drawn for it.
    #[inline(never)]
    fn accept_with_care(&mut self, now: Time, packet: &Packet, losses: &mut Losses) -> Option<Time> {
        self.counters.offered += 1;
        self.fit(packet.length());
        let start = self.free_at.max(now);
        let finish = start + self.fast_path.sending;
        let arrival = self.arrival(finish);
        let Self { plain: Some(plain), fast_path, .. } = self else { return None };
        if !plain.take([now, start], fast_path, &mut self.counters, &mut self.waits) {
            self.lose(now, *packet, Cause::QueueOverflow, losses);
            return None;
        }
        (self.free_at, self.last_arrival) = (finish, arrival);
        let was_empty = self.ring.len() == 0;
        let has_error = self.has_error(finish, packet.size());
        let slot = self.ring.push(packet);
        slot.at = arrival;
        slot.next += 1;
        if has_error {
            Self::damage(slot, self.errors_erase);
        }
        was_empty.then_some(arrival)
    }

    /// When the packet that is taken next arrives, if it has been sent at `finish`.
    #[inline(always)]
    fn arrival(&mut self, finish: Time) -> Time {
        let arrival = finish + self.fast_path.delay;
        match &mut self.processing {
            // No packet is processed before the one that came before it.
            Some(processing) => (arrival + processing.draw(self.counters.carried)).max(self.last_arrival),
            None => arrival,
        }
    }

    /// The next packet is of this size.
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

    /// Whether there is an error in the packet that has just been taken and will have been sent at `finish`.
    #[inline(always)]
    fn has_error(&mut self, finish: Time, size: u64) -> bool {
        !self.error.is_none() && self.draw_error(finish, size)
    }

    #[inline(never)]
    fn draw_error(&mut self, finish: Time, size: u64) -> bool {
        let has_error = self.error.has_error(finish, self.counters.carried - 1, self.wire.size(size));
        if has_error && !self.errors_erase {
            self.counters.corrupted += 1;
            // If any packets wait, this one is the last of them.
            if let Some(last) = self.plain.as_mut().and_then(|plain| plain.waiting.back_mut()) {
                last.is_corrupted = true;
            }
        }
        has_error
    }

    /// An error does to a packet what errors do on this link.
    fn damage(packet: &mut Packet, erases: bool) {
        match erases {
            true => packet.erase(),
            false => packet.corrupt(),
        }
    }
}

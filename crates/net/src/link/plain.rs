//! Plain links: drop-tail, constant rate and delay, always up. The fate of a packet is known when it is offered: the link is
//! arithmetic. A waiting packet is in the ring like a sent one, with the instant of its arrival.

use super::counters::LinkCounters;
use super::queue::Limit;
use crate::record::Histogram;
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// The additional state of a plain link.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    limit: Limit,
    /// Waiting packets, in order.
    pub(super) waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
}

/// A waiting packet. The packet itself is in the ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    since: Time,
    start: Time,
    size: u32,
    pub(super) is_corrupted: bool,
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

/// The fast path: times for packets of the last size, on plain links and on links of constant rate and delay without errors
/// and outages. Most packets need nothing else, because most links are of these kinds and see few sizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct FastPath {
    pub(super) sending: Duration,
    pub(super) delay: Duration,
    /// Packets that found the server of a plain link free, and are not in the counters yet.
    pub(super) uncounted: u64,
    /// [`NO_SIZE`] on links of other kinds.
    pub(super) size: u32,
    /// That size on a plain link without random draws; else [`NO_SIZE`].
    pub(super) free_size: u32,
}

impl FastPath {
    pub(super) fn new() -> Self {
        Self { sending: Duration::ZERO, delay: Duration::ZERO, uncounted: 0, size: NO_SIZE, free_size: NO_SIZE }
    }
}

/// Larger than any packet.
pub(super) const NO_SIZE: u32 = u32::MAX;

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
    pub(super) fn take(
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

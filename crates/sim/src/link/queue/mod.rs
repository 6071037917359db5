//! Queues: who waits, who is turned away, who is next.
//!
//! A discipline is told of each packet that arrives and asked for one whenever the server is free, in order of time; it
//! decides from what it has seen so far, so that lazy service may ask it later than the clock says. What happens
//! at set instants, such as PIE's update, is made up for when it is next called. The packet being sent has left the
//! queue and counts in no limit.

mod codel;
mod drop_tail;
mod fq_codel;
mod pie;
mod priority;
mod red;
mod round_robin;
#[cfg(test)]
mod suite;

use super::Losses;
use crate::packet::Packet;
use crate::spec::{Link as Spec, Queue as Kind, QueueLimit};
use bentpipe_units::{Duration, Stream, Time};
use codel::Codel;
use drop_tail::DropTail;
use fq_codel::FqCodel;
use pie::Pie;
use priority::Priority;
use red::Red;
use round_robin::RoundRobin;

/// What a discipline owes its link. Every packet that it is given comes out of [`dequeue`](Self::dequeue), or goes to
/// the losses with its cause, or waits.
pub(super) trait Discipline {
    /// A packet arrives at `now`. If it waits, it is stamped with that.
    fn enqueue(&mut self, now: Time, packet: &Packet, losses: &mut Losses);

    /// The server became free at `now`: what it sends next. None, as long as nothing waits.
    fn dequeue(&mut self, now: Time, losses: &mut Losses) -> Option<Packet>;

    /// All that waits is lost: the link is down.
    fn flush(&mut self, losses: &mut Losses);

    /// Packets that wait.
    fn len(&self) -> usize;

    /// Bytes that wait, headers included.
    fn bytes(&self) -> u64;

    /// Packets marked instead of dropped, so far.
    fn marked(&self) -> u64 {
        0
    }
}

/// A queue of any discipline. Drop-tail is the one that most links have: it stands in the link itself.
#[derive(Clone, Debug)]
pub(super) enum Queue {
    DropTail(DropTail),
    Red(Box<Red>),
    Codel(Box<Codel>),
    FqCodel(Box<FqCodel>),
    Pie(Box<Pie>),
    Priority(Box<Priority>),
    RoundRobin(Box<RoundRobin>),
}

/// The same expression for a queue of each discipline.
macro_rules! each {
    ($queue:expr, $discipline:ident => $value:expr) => {
        match $queue {
            Queue::DropTail($discipline) => $value,
            Queue::Red($discipline) => $value,
            Queue::Codel($discipline) => $value,
            Queue::FqCodel($discipline) => $value,
            Queue::Pie($discipline) => $value,
            Queue::Priority($discipline) => $value,
            Queue::RoundRobin($discipline) => $value,
        }
    };
}

impl Queue {
    pub(super) fn new(link: &Spec, seed: u64) -> Self {
        let draws = || Stream::new(seed, &format!("link/{}", link.name), "queue");
        match &link.queue {
            Kind::DropTail { limit } => Self::DropTail(DropTail::new(*limit)),
            Kind::Red(spec) => Self::Red(Box::new(Red::new(spec, link.rate.largest(), draws()))),
            Kind::Codel(spec) => Self::Codel(Box::new(Codel::new(spec))),
            Kind::FqCodel(spec) => Self::FqCodel(Box::new(FqCodel::new(spec, draws()))),
            Kind::Pie(spec) => Self::Pie(Box::new(Pie::new(spec, draws()))),
            Kind::Priority { limits, push_out } => Self::Priority(Box::new(Priority::new(limits, *push_out))),
            Kind::Wrr { classes } => Self::RoundRobin(Box::new(RoundRobin::new(None, classes))),
            Kind::Drr { quantum, classes } => Self::RoundRobin(Box::new(RoundRobin::new(Some(*quantum), classes))),
        }
    }
}

impl Discipline for Queue {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: &Packet, losses: &mut Losses) {
        each!(self, queue => queue.enqueue(now, packet, losses));
    }

    #[inline]
    fn dequeue(&mut self, now: Time, losses: &mut Losses) -> Option<Packet> {
        each!(self, queue => queue.dequeue(now, losses))
    }

    fn flush(&mut self, losses: &mut Losses) {
        each!(self, queue => queue.flush(losses));
    }

    #[inline]
    fn len(&self) -> usize {
        each!(self, queue => queue.len())
    }

    #[inline]
    fn bytes(&self) -> u64 {
        each!(self, queue => queue.bytes())
    }

    fn marked(&self) -> u64 {
        each!(self, queue => queue.marked())
    }
}

/// How much may wait.
#[derive(Clone, Copy, Debug)]
struct Limit {
    packets: u64,
    bytes: u64,
}

impl Limit {
    fn new(limit: QueueLimit) -> Self {
        let (packets, bytes) = match limit {
            QueueLimit::Packets(n) => (n, u64::MAX),
            QueueLimit::Bytes(n) => (u64::MAX, n),
            // Without the flows that cross the link nobody knows what a bdp is.
            QueueLimit::Unlimited | QueueLimit::Bdp(_) => (u64::MAX, u64::MAX),
        };
        Self { packets, bytes }
    }

    #[inline]
    fn allows(&self, packets: usize, bytes: u64) -> bool {
        packets as u64 <= self.packets && bytes <= self.bytes
    }
}

/// Explicit congestion notification: what would be dropped early is marked, if that is switched on and its sender
/// understands marks (RFC 3168 §5).
#[derive(Clone, Copy, Debug)]
struct Marking {
    is_on: bool,
    marked: u64,
}

impl Marking {
    fn new(is_on: bool) -> Self {
        Self { is_on, marked: 0 }
    }

    /// Whether a mark saves the packet.
    fn mark(&mut self, packet: &mut Packet) -> bool {
        let is_marked = self.is_on && packet.mark_congestion();
        self.marked += u64::from(is_marked);
        is_marked
    }
}

/// The first instant after `now` of those that follow `next` with a distance of `step`.
fn first_after(now: Time, next: Time, step: Duration) -> Time {
    let steps = now.saturating_since(next).as_ps() / step.as_ps().max(1);
    next + step * (steps + 1)
}

//! Queues: order and drop waiting packets.
//!
//! A discipline receives each packet that arrives and gives one whenever the server is free, in order of time. It decides
//! from past arrivals only, so lazy service may call it later than the clock. Work due at set instants, such as PIE's update,
//! is done at the next call. The packet in transmission has left the queue and counts in no limit.
//!
//! A new discipline is one file here and one line in [`registry!`] below. Its keys are declared with the scenario.

mod codel;
mod drop_tail;
mod fq_codel;
mod pie;
mod priority;
mod red;
mod round_robin;
#[cfg(test)]
mod suite;

use crate::dictionary::Cause;
use crate::packet::Packet;
use crate::spec::{Link as Spec, Queue as Kind, QueueLimit};
use bentpipe_units::{Duration, Stream, Time};
use drop_tail::DropTailQueue;
use priority::PriorityQueue;
use round_robin::RoundRobinQueue;

/// Lost packets with causes. The link sets `at` to the instant of the loss.
pub(crate) type Losses = Vec<(Packet, Cause)>;

/// The contract between a discipline and its link. Every packet comes out of [`dequeue`](Self::dequeue), goes to the losses
/// with its cause, or waits.
pub(super) trait Discipline {
    /// A packet arrives at `now`. A packet that waits is stamped with `now`.
    fn enqueue(&mut self, now: Time, packet: &Packet, losses: &mut Losses);

    /// The server became free at `now`. Returns the next packet; `None` only if no packet waits.
    fn dequeue(&mut self, now: Time, losses: &mut Losses) -> Option<Packet>;

    /// Drops all waiting packets: the link is down.
    fn flush(&mut self, losses: &mut Losses);

    /// Moves the packets that `is_meant` selects to `left`, for a middlebox of the node. It may change other packets, except
    /// their size.
    fn extract(&mut self, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>);

    /// Packets that wait.
    fn len(&self) -> usize;

    /// Bytes that wait, headers included.
    fn bytes(&self) -> u64;

    /// Packets marked instead of dropped, so far.
    fn marked(&self) -> u64 {
        0
    }
}

/// The hooks of a discipline that keeps all its packets in one drop-tail queue, the field of this name.
macro_rules! kept_in {
    ($packets:ident) => {
        fn flush(&mut self, losses: &mut Losses) {
            self.$packets.flush(losses);
        }

        fn extract(&mut self, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>) {
            self.$packets.extract(is_meant, left);
        }

        fn len(&self) -> usize {
            self.$packets.len()
        }

        fn bytes(&self) -> u64 {
            self.$packets.bytes()
        }
    };
}
use kept_in;

/// Generates from the list of disciplines: the queue type of a link, its construction and its dispatch.
macro_rules! registry {
    ($link:ident, $draws:ident: $($variant:ident($queue:ty): $($kind:pat => $new:expr),+;)+) => {
        /// A queue of any discipline, dispatched without a vtable. Drop-tail is stored in the link itself, because most links
        /// have it.
        #[derive(Clone, Debug)]
        pub(super) enum AnyQueue {
            DropTail(DropTailQueue),
            $($variant(Box<$queue>),)+
        }

        impl AnyQueue {
            pub(super) fn new($link: &Spec, seed: u64) -> Self {
                let $draws = || Stream::new(seed, &format!("link/{}", $link.name), "queue");
                match &$link.queue {
                    Kind::DropTail { limit } => Self::DropTail(DropTailQueue::new(*limit)),
                    $($($kind => Self::$variant(Box::new($new)),)+)+
                }
            }
        }

        impl Discipline for AnyQueue {
            #[inline]
            fn enqueue(&mut self, now: Time, packet: &Packet, losses: &mut Losses) {
                match self {
                    Self::DropTail(queue) => queue.enqueue(now, packet, losses),
                    $(Self::$variant(queue) => queue.enqueue(now, packet, losses),)+
                }
            }

            #[inline]
            fn dequeue(&mut self, now: Time, losses: &mut Losses) -> Option<Packet> {
                match self {
                    Self::DropTail(queue) => queue.dequeue(now, losses),
                    $(Self::$variant(queue) => queue.dequeue(now, losses),)+
                }
            }

            fn flush(&mut self, losses: &mut Losses) {
                match self {
                    Self::DropTail(queue) => queue.flush(losses),
                    $(Self::$variant(queue) => queue.flush(losses),)+
                }
            }

            fn extract(&mut self, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>) {
                match self {
                    Self::DropTail(queue) => queue.extract(is_meant, left),
                    $(Self::$variant(queue) => queue.extract(is_meant, left),)+
                }
            }

            #[inline]
            fn len(&self) -> usize {
                match self {
                    Self::DropTail(queue) => queue.len(),
                    $(Self::$variant(queue) => queue.len(),)+
                }
            }

            #[inline]
            fn bytes(&self) -> u64 {
                match self {
                    Self::DropTail(queue) => queue.bytes(),
                    $(Self::$variant(queue) => queue.bytes(),)+
                }
            }

            fn marked(&self) -> u64 {
                match self {
                    Self::DropTail(queue) => queue.marked(),
                    $(Self::$variant(queue) => queue.marked(),)+
                }
            }
        }
    };
}

// One line each: the type, and its construction for each kind of queue in a scenario. `link` is the link of the scenario;
// `draws()` are the random numbers of its queue.
registry! { link, draws:
    Red(red::RedQueue): Kind::Red(spec) => red::RedQueue::new(spec, link.largest_for(spec.mean_packet.into()), draws());
    Codel(codel::CodelQueue): Kind::Codel(spec) => codel::CodelQueue::new(spec);
    FqCodel(fq_codel::FqCodelQueue): Kind::FqCodel(spec) => fq_codel::FqCodelQueue::new(spec, draws());
    Pie(pie::PieQueue): Kind::Pie(spec) => pie::PieQueue::new(spec, draws());
    Priority(PriorityQueue): Kind::Priority { limits, push_out } => PriorityQueue::new(limits, *push_out);
    RoundRobin(RoundRobinQueue):
        Kind::Wrr { classes } => RoundRobinQueue::new(None, classes),
        Kind::Drr { quantum, classes } => RoundRobinQueue::new(Some(*quantum), classes);
}

/// The limit of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    packets: u64,
    bytes: u64,
}

impl Limit {
    fn new(limit: QueueLimit) -> Self {
        let (packets, bytes) = match limit {
            QueueLimit::Packets(n) => (n, u64::MAX),
            QueueLimit::Bytes(n) => (u64::MAX, n),
            // A bdp needs the flows that cross the link: outside a scenario it is unknown.
            QueueLimit::Unlimited | QueueLimit::Bdp(_) => (u64::MAX, u64::MAX),
        };
        Self { packets, bytes }
    }

    #[inline]
    pub(super) fn allows(&self, packets: usize, bytes: u64) -> bool {
        packets as u64 <= self.packets && bytes <= self.bytes
    }
}

/// Explicit congestion notification (RFC 3168 §5): marks CE instead of an early drop, if enabled and the sender supports ECN.
#[derive(Clone, Copy, Debug)]
struct Marking {
    is_on: bool,
    marked: u64,
}

impl Marking {
    fn new(is_on: bool) -> Self {
        Self { is_on, marked: 0 }
    }

    /// Whether a mark replaces the drop.
    fn mark(&mut self, packet: &mut Packet) -> bool {
        let is_marked = self.is_on && packet.mark_ce();
        self.marked += u64::from(is_marked);
        is_marked
    }
}

/// The first instant after `now` in the series from `next` with a distance of `step`.
fn first_after(now: Time, next: Time, step: Duration) -> Time {
    let steps = now.saturating_since(next).as_ps() / step.as_ps().max(1);
    next + step * (steps + 1)
}

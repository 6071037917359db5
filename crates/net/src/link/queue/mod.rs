//! Queues: order and drop waiting packets.
//!
//! A discipline sees each arriving packet and each request of the server, in order of time. It decides by its arguments
//! and its state only, because lazy service may call it later than the instant in its arguments. It catches up on
//! periodic work, such as PIE's update, in its next call. The packet in transmission has left the queue and counts in no
//! limit.
//!
//! A new discipline is one file here and one line in [`registry!`] below. Its settings are in `spec/queue.rs`.

mod codel;
mod drop_tail;
mod dualpi2;
mod fq_codel;
mod pie;
mod priority;
mod red;
mod round_robin;
#[cfg(test)]
mod suite;

use crate::record::Histogram;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::{Link as Spec, Queue as Kind, QueueLimit};
use bentpipe_units::{Duration, Stream, Time};
use drop_tail::DropTailQueue;
use priority::PriorityQueue;
use round_robin::RoundRobinQueue;

/// Lost packets with causes. The link sets `at` to the instant of the loss.
pub(crate) type Losses = Vec<(Packet, Cause)>;

/// The contract of a discipline. Every packet given to it comes out of [`dequeue`](Self::dequeue), goes to the losses
/// with its cause, or waits.
pub(super) trait Discipline {
    /// Takes a packet that arrives at `now`. A waiting packet is stamped with `now`.
    fn enqueue(&mut self, now: Time, packet: &Packet, losses: &mut Losses);

    /// Returns the next packet for the server, which became free at `now`. Returns `None` while the queue is empty.
    fn dequeue(&mut self, now: Time, losses: &mut Losses) -> Option<Packet>;

    /// Loses all waiting packets: the link is down.
    fn flush(&mut self, losses: &mut Losses);

    /// Moves the packets for which `is_meant` returns true to `left`: a middlebox of the node takes them. `is_meant` may
    /// change the other packets, except their size.
    fn extract(&mut self, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>);

    /// Returns the number of waiting packets.
    fn len(&self) -> usize;

    /// Returns the waiting bytes, headers included.
    fn bytes(&self) -> u64;

    /// Returns the arrival of the packet that has waited longest, if the discipline knows it.
    fn oldest(&self) -> Option<Time> {
        None
    }

    /// Returns the waiting bytes of a class. A discipline without classes has class 0 alone.
    fn bytes_of(&self, class: usize) -> u64 {
        if class == 0 {
            self.bytes()
        } else {
            0
        }
    }

    /// Returns the number of packets marked instead of dropped, so far.
    fn marked(&self) -> u64 {
        0
    }

    /// Returns the counts of its queues, if one of them is for L4S.
    fn l4s(&self) -> Option<&L4sCounts> {
        None
    }
}

/// Counts of a discipline with a queue for L4S.
#[derive(Clone, Debug, Default)]
pub(crate) struct L4sCounts {
    /// Packets of the L queue that were marked by their own wait.
    pub(crate) native_marks: u64,
    /// Others that were marked.
    pub(crate) coupled_marks: u64,
    /// Waiting times of packets that left the L queue, and the C queue.
    pub(crate) waits: [Histogram; 2],
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

/// Declares all disciplines: the type of a link's queue, its construction and its dispatch.
macro_rules! registry {
    ($link:ident, $draws:ident: $($variant:ident($queue:ty): $($kind:pat => $new:expr),+;)+) => {
        /// A queue of any discipline, dispatched without a vtable. Drop-tail, the queue of most links, is not boxed.
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

        macro_rules! each {
            ($of:expr, $queue_of:ident => $does:expr) => {
                match $of {
                    AnyQueue::DropTail($queue_of) => $does,
                    $(AnyQueue::$variant($queue_of) => $does,)+
                }
            };
        }

        impl Discipline for AnyQueue {
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
            fn extract(&mut self, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>) {
                each!(self, queue => queue.extract(is_meant, left));
            }
            #[inline]
            fn len(&self) -> usize {
                each!(self, queue => queue.len())
            }
            #[inline]
            fn bytes(&self) -> u64 {
                each!(self, queue => queue.bytes())
            }
            fn oldest(&self) -> Option<Time> {
                each!(self, queue => queue.oldest())
            }
            fn bytes_of(&self, class: usize) -> u64 {
                each!(self, queue => queue.bytes_of(class))
            }
            fn marked(&self) -> u64 {
                each!(self, queue => queue.marked())
            }
            fn l4s(&self) -> Option<&L4sCounts> {
                each!(self, queue => queue.l4s())
            }
        }
    };
}

// Type of each discipline, and its construction for each kind of queue in a scenario. `link` is the link of the
// scenario, and `draws()` returns the random numbers of its queue.
registry! { link, draws:
    Red(red::RedQueue): Kind::Red(spec) => red::RedQueue::new(spec, link.largest_for(spec.mean_packet.into()), draws());
    Codel(codel::CodelQueue): Kind::Codel(spec) => codel::CodelQueue::new(spec);
    FqCodel(fq_codel::FqCodelQueue): Kind::FqCodel(spec) => fq_codel::FqCodelQueue::new(spec, draws());
    DualPi2(dualpi2::DualPi2Queue): Kind::DualPi2(spec) => dualpi2::DualPi2Queue::new(spec, link.full_packet(), draws());
    Pie(pie::PieQueue): Kind::Pie(spec) => pie::PieQueue::new(spec, draws());
    Priority(PriorityQueue): Kind::Priority { limits, push_out } => PriorityQueue::new(limits, *push_out);
    RoundRobin(RoundRobinQueue):
        Kind::Wrr { classes } => RoundRobinQueue::new(None, classes),
        Kind::Drr { quantum, classes } => RoundRobinQueue::new(Some(*quantum), classes);
}

/// Limit of the waiting packets.
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
            // A bdp is unknown without the flows over the link.
            QueueLimit::Unlimited | QueueLimit::Bdp(_) => (u64::MAX, u64::MAX),
        };
        Self { packets, bytes }
    }

    #[inline]
    pub(super) fn allows(&self, packets: usize, bytes: u64) -> bool {
        packets as u64 <= self.packets && bytes <= self.bytes
    }
}

/// Explicit congestion notification: marks a packet CE instead of dropping it early, if marking is on and its sender
/// supports ECN (RFC 3168 §5).
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

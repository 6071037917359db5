//! Classes in turn: by packets (weighted round robin) or by bytes (deficit round robin, M. Shreedhar and G. Varghese,
//! "Efficient fair queuing using deficit round robin", SIGCOMM 1995).

use super::drop_tail::DropTailQueue;
use super::Discipline;
use crate::link::Losses;
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::Share;
use bentpipe_units::Time;
use std::collections::VecDeque;

/// Classes in turn. Weighted round robin counts each packet as size 1.
#[derive(Clone, Debug)]
pub(in crate::link) struct RoundRobinQueue {
    classes: Vec<Class>,
    /// Indices of the classes with waiting packets. The first has its turn.
    active: VecDeque<usize>,
    /// Whether the first class has received its quantum.
    has_begun: bool,
    counts_bytes: bool,
    packets: usize,
    bytes: u64,
}

#[derive(Clone, Debug)]
struct Class {
    packets: DropTailQueue,
    /// Quantum: allowance for each turn.
    quantum: u64,
    /// Deficit: remaining allowance, kept for the next turn if it is too small for a packet.
    deficit: u64,
}

impl RoundRobinQueue {
    /// A class sends `quantum` bytes per turn for each unit of its weight; without a quantum, one packet.
    pub(super) fn new(quantum: Option<u32>, shares: &[Share]) -> Self {
        let unit = u64::from(quantum.unwrap_or(1));
        let class = |share: &Share| Class {
            packets: DropTailQueue::new(share.limit),
            quantum: u64::from(share.weight) * unit,
            deficit: 0,
        };
        Self {
            classes: shares.iter().map(class).collect(),
            active: VecDeque::with_capacity(shares.len()),
            has_begun: false,
            counts_bytes: quantum.is_some(),
            packets: 0,
            bytes: 0,
        }
    }
}

impl Discipline for RoundRobinQueue {
    fn enqueue(&mut self, now: Time, packet: &Packet, losses: &mut Losses) {
        let index = usize::from(packet.class).min(self.classes.len() - 1);
        let class = &mut self.classes[index].packets;
        let before = class.len();
        class.enqueue(now, packet, losses);
        if class.len() > before {
            self.packets += 1;
            self.bytes += packet.size();
            if before == 0 {
                self.active.push_back(index);
            }
        }
    }

    fn dequeue(&mut self, _: Time, _: &mut Losses) -> Option<Packet> {
        loop {
            let index = *self.active.front()?;
            let class = &mut self.classes[index];
            if !std::mem::replace(&mut self.has_begun, true) {
                class.deficit += class.quantum;
            }
            let cost = class.packets.head().map_or(0, |head| if self.counts_bytes { head.size() } else { 1 });
            if cost > class.deficit {
                self.active.rotate_left(1);
                self.has_begun = false;
                continue;
            }
            let packet = class.packets.pop()?;
            class.deficit -= cost;
            self.packets -= 1;
            self.bytes -= packet.size();
            if class.packets.len() == 0 {
                class.deficit = 0;
                self.active.pop_front();
                self.has_begun = false;
            }
            return Some(packet);
        }
    }

    fn flush(&mut self, losses: &mut Losses) {
        for class in &mut self.classes {
            class.packets.flush(losses);
            class.deficit = 0;
        }
        self.active.clear();
        self.has_begun = false;
        (self.packets, self.bytes) = (0, 0);
    }

    fn extract(&mut self, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>) {
        let first = self.active.front().copied();
        for class in &mut self.classes {
            class.packets.extract(is_meant, left);
            if class.packets.len() == 0 {
                class.deficit = 0;
            }
        }
        self.active.retain(|&class| self.classes[class].packets.len() > 0);
        self.has_begun &= self.active.front().copied() == first;
        self.packets = self.classes.iter().map(|class| class.packets.len()).sum();
        self.bytes = self.classes.iter().map(|class| class.packets.bytes()).sum();
    }

    fn len(&self) -> usize {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn oldest(&self) -> Option<Time> {
        self.classes.iter().filter_map(|class| class.packets.oldest()).min()
    }

    fn bytes_of(&self, class: usize) -> u64 {
        self.classes.get(class).map_or(0, |class| class.packets.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::super::suite::{packet, s};
    use super::*;
    use bentpipe_model::spec::QueueLimit;

    /// The class of each departing packet, when class 0 sends packets of 1500 B and class 1 of 500 B.
    fn order(quantum: Option<u32>, weights: [u32; 2], packets: usize) -> Vec<u8> {
        let shares = weights.map(|weight| Share { weight, limit: QueueLimit::Unlimited });
        let (mut queue, mut losses) = (RoundRobinQueue::new(quantum, &shares), Losses::new());
        for n in 0..100 {
            for (class, size) in [(0, 1500), (1, 500)] {
                queue.enqueue(s(0.0), &packet(class.into(), n, size).in_class(class), &mut losses);
            }
        }
        (0..packets).map(|_| queue.dequeue(s(0.0), &mut losses).unwrap().class).collect()
    }

    /// `docs/specs/aqm.md` test 6: 3000 B each after three rounds.
    #[test]
    fn deficits_make_up_for_large_packets() {
        assert_eq!(order(Some(1000), [1, 1], 8), [1, 1, 0, 1, 1, 0, 1, 1]);
    }

    #[test]
    fn bytes_are_shared_by_weight() {
        let order = order(Some(1500), [1, 3], 90);
        let sent = |class: u8| order.iter().filter(|&&of| of == class).count() * if class == 0 { 1500 } else { 500 };
        assert_eq!((sent(0), sent(1)), (9 * 1500, 9 * 4500));
    }

    #[test]
    fn packets_are_shared_by_weight() {
        assert_eq!(order(None, [1, 3], 8), [0, 1, 1, 1, 0, 1, 1, 1]);
    }

    /// An empty class loses the rest of its turn.
    #[test]
    fn an_empty_class_saves_nothing() {
        let shares = [Share { weight: 1, limit: QueueLimit::Unlimited }; 2];
        let (mut queue, mut losses) = (RoundRobinQueue::new(Some(1500), &shares), Losses::new());
        queue.enqueue(s(0.0), &packet(0, 0, 100), &mut losses);
        assert!(queue.dequeue(s(0.0), &mut losses).is_some() && queue.dequeue(s(0.0), &mut losses).is_none());
        assert_eq!((queue.classes[0].deficit, queue.active.len()), (0, 0));
    }
}

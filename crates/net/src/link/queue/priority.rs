//! Strict priority: a class is served when all higher classes are empty. A transmission is not interrupted.
//!
//! With push-out the limit of the first class is the limit of the whole queue. A packet that finds the queue full replaces
//! the last packet of the lowest class, if that is below its own, as TCP-Peach requires for dummy segments.

use super::drop_tail::DropTailQueue;
use super::{Discipline, Limit};
use crate::link::Losses;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::QueueLimit;
use bentpipe_units::Time;

/// Classes under strict priority.
#[derive(Clone, Debug)]
pub(in crate::link) struct PriorityQueue {
    /// The highest class first.
    classes: Vec<DropTailQueue>,
    /// Limit of the whole queue, with push-out.
    shared: Option<Limit>,
}

impl PriorityQueue {
    pub(super) fn new(limits: &[QueueLimit], push_out: bool) -> Self {
        let classes = limits.iter().map(|&limit| DropTailQueue::new(limit)).collect();
        Self { classes, shared: limits.first().filter(|_| push_out).map(|&limit| Limit::new(limit)) }
    }

    /// Makes room for a packet of `class` by dropping lower classes. Returns the cause of loss if that is not enough.
    fn make_room(&mut self, class: usize, packet: &Packet, limit: Limit, losses: &mut Losses) -> Result<(), Cause> {
        while !limit.allows(self.len() + 1, self.bytes() + packet.size()) {
            let lower = self.classes[class + 1..].iter_mut().rev().find_map(DropTailQueue::pop_last);
            let Some(victim) = lower else {
                let is_pushed = self.classes[..class].iter().any(|above| above.len() > 0);
                return Err(if is_pushed { Cause::PushOut } else { Cause::QueueOverflow });
            };
            losses.push((victim, Cause::PushOut));
        }
        Ok(())
    }
}

impl Discipline for PriorityQueue {
    fn enqueue(&mut self, now: Time, packet: &Packet, losses: &mut Losses) {
        let class = usize::from(packet.class).min(self.classes.len() - 1);
        if let (Some(limit), true) = (self.shared, self.classes[class].has_room_for(packet)) {
            if let Err(cause) = self.make_room(class, packet, limit, losses) {
                return losses.push((*packet, cause));
            }
        }
        self.classes[class].enqueue(now, packet, losses);
    }

    fn dequeue(&mut self, _: Time, _: &mut Losses) -> Option<Packet> {
        self.classes.iter_mut().find_map(DropTailQueue::pop)
    }

    fn flush(&mut self, losses: &mut Losses) {
        self.classes.iter_mut().for_each(|class| class.flush(losses));
    }

    fn extract(&mut self, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>) {
        self.classes.iter_mut().for_each(|class| class.extract(is_meant, left));
    }

    fn len(&self) -> usize {
        self.classes.iter().map(DropTailQueue::len).sum()
    }

    fn bytes(&self) -> u64 {
        self.classes.iter().map(DropTailQueue::bytes).sum()
    }

    fn oldest(&self) -> Option<Time> {
        self.classes.iter().filter_map(DropTailQueue::oldest).min()
    }

    fn bytes_of(&self, class: usize) -> u64 {
        self.classes.get(class).map_or(0, DropTailQueue::bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::suite::{packet, s};
    use super::*;
    use bentpipe_model::dictionary::Cause;

    #[test]
    fn the_lowest_number_goes_first_and_each_class_has_its_own_limit() {
        let (mut queue, mut losses) =
            (PriorityQueue::new(&[QueueLimit::Packets(2), QueueLimit::Bytes(2000)], false), Losses::new());
        for (n, class) in [1, 0, 1, 0, 0, 1].into_iter().enumerate() {
            queue.enqueue(s(0.0), &packet(n, 0, 1000).in_class(class), &mut losses);
        }
        let lost: Vec<_> = losses.drain(..).map(|(packet, cause)| (packet.lane().index(), cause)).collect();
        assert_eq!(lost, [(4, Cause::QueueOverflow), (5, Cause::QueueOverflow)]);
        assert_eq!((queue.len(), queue.bytes()), (4, 4000));
        let order = std::iter::from_fn(|| queue.dequeue(s(0.0), &mut losses)).map(|packet| packet.lane().index());
        assert_eq!(order.collect::<Vec<_>>(), [1, 3, 0, 2]);
    }

    /// `docs/specs/tcp-peach.md`, test 4: a limit of 10.
    #[test]
    fn a_full_queue_pushes_out_the_last_of_the_lowest_class() {
        let fate = |low: usize, class: u8| {
            let (mut queue, mut losses) = (PriorityQueue::new(&[QueueLimit::Packets(10); 3], true), Losses::new());
            for n in 0..10 {
                let is_low = n % 2 == 0 && n / 2 < low;
                let waiting = packet(n, 0, 1000).in_class(if is_low { bentpipe_model::packet::LOWEST } else { 1 });
                queue.enqueue(s(0.0), &waiting, &mut losses);
            }
            assert!(losses.is_empty());
            queue.enqueue(s(0.0), &packet(10, 0, 1000).in_class(class), &mut losses);
            assert_eq!((queue.len(), queue.bytes(), losses.len()), (10, 10_000, 1));
            (losses[0].0.lane().index(), losses[0].1)
        };
        assert_eq!(fate(2, 1), (2, Cause::PushOut));
        assert_eq!(fate(0, 1), (10, Cause::QueueOverflow));
        assert_eq!(fate(0, 0), (9, Cause::PushOut));
        assert_eq!(fate(2, 2), (10, Cause::PushOut));
    }

    #[test]
    fn classes_keep_limits_of_their_own_below_the_shared_one() {
        let limits = [QueueLimit::Bytes(9000), QueueLimit::Packets(2)];
        let (mut queue, mut losses) = (PriorityQueue::new(&limits, true), Losses::new());
        (0..3).for_each(|n| queue.enqueue(s(0.0), &packet(n, 0, 1000).in_class(1), &mut losses));
        assert_eq!((queue.len(), losses.pop().unwrap().1), (2, Cause::QueueOverflow));
        // A large packet replaces both.
        queue.enqueue(s(0.0), &packet(3, 0, 9000), &mut losses);
        let lost: Vec<_> = losses.iter().map(|(packet, _)| packet.lane().index()).collect();
        assert_eq!((queue.len(), lost), (1, vec![1, 0]));
    }
}

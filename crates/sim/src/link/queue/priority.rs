//! Strict priority: a class is served when all above it are empty. What is being sent is not interrupted.

use super::drop_tail::DropTail;
use super::Discipline;
use crate::link::Losses;
use crate::packet::Packet;
use crate::scenario::QueueLimit;
use bentpipe_units::Time;

/// See the module.
#[derive(Clone, Debug)]
pub(in crate::link) struct Priority {
    /// The highest class first.
    classes: Vec<DropTail>,
}

impl Priority {
    pub(super) fn new(limits: &[QueueLimit]) -> Self {
        Self { classes: limits.iter().map(|&limit| DropTail::new(limit)).collect() }
    }
}

impl Discipline for Priority {
    fn enqueue(&mut self, now: Time, packet: &Packet, losses: &mut Losses) {
        let class = usize::from(packet.class).min(self.classes.len() - 1);
        self.classes[class].enqueue(now, packet, losses);
    }

    fn dequeue(&mut self, _: Time, _: &mut Losses) -> Option<Packet> {
        self.classes.iter_mut().find_map(DropTail::pop)
    }

    fn flush(&mut self, losses: &mut Losses) {
        self.classes.iter_mut().for_each(|class| class.flush(losses));
    }

    fn len(&self) -> usize {
        self.classes.iter().map(DropTail::len).sum()
    }

    fn bytes(&self) -> u64 {
        self.classes.iter().map(DropTail::bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::suite::{packet, s};
    use super::*;
    use crate::record::Cause;

    #[test]
    fn the_lowest_number_goes_first_and_each_class_has_its_own_limit() {
        let (mut queue, mut losses) =
            (Priority::new(&[QueueLimit::Packets(2), QueueLimit::Bytes(2000)]), Losses::new());
        for (n, class) in [1, 0, 1, 0, 0, 1].into_iter().enumerate() {
            queue.enqueue(s(0.0), &packet(n as u32, 0, 1000).in_class(class), &mut losses);
        }
        let lost: Vec<_> = losses.drain(..).map(|(packet, cause)| (packet.flow(), cause)).collect();
        assert_eq!(lost, [(4, Cause::QueueOverflow), (5, Cause::QueueOverflow)]);
        assert_eq!((queue.len(), queue.bytes()), (4, 4000));
        let order = std::iter::from_fn(|| queue.dequeue(s(0.0), &mut losses)).map(|packet| packet.flow());
        assert_eq!(order.collect::<Vec<_>>(), [1, 3, 0, 2]);
    }
}

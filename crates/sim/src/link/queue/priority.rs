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

//! First in, first out, up to a limit. The other disciplines keep their packets in it.

use super::{Discipline, Limit};
use crate::link::ring::Ring;
use crate::link::Losses;
use bentpipe_model::dictionary::Cause;
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::QueueLimit;
use bentpipe_units::Time;

/// Packets first in, first out, up to a limit.
#[derive(Clone, Debug)]
pub(in crate::link) struct DropTailQueue {
    packets: Ring,
    bytes: u64,
    limit: Limit,
}

impl DropTailQueue {
    pub(super) fn new(limit: QueueLimit) -> Self {
        Self { packets: Ring::default(), bytes: 0, limit: Limit::new(limit) }
    }

    /// The limit of a queue.
    pub(in crate::link) fn limit(&self) -> Limit {
        self.limit
    }

    #[inline]
    pub(super) fn has_room_for(&self, packet: &Packet) -> bool {
        self.limit.allows(self.packets.len() + 1, self.bytes + packet.size())
    }

    /// Appends a packet. Returns its slot in the queue, or `None` if there is no room.
    #[inline]
    pub(in crate::link) fn push(&mut self, packet: &Packet) -> Option<&mut Packet> {
        if !self.has_room_for(packet) {
            return None;
        }
        self.bytes += packet.size();
        Some(self.packets.push(packet))
    }

    #[inline]
    pub(in crate::link) fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop()?;
        self.bytes -= packet.size();
        Some(packet)
    }

    /// The last packet.
    pub(super) fn pop_last(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_last()?;
        self.bytes -= packet.size();
        Some(packet)
    }

    /// Removes the first packet.
    pub(super) fn head(&self) -> Option<&Packet> {
        self.packets.first()
    }
}

impl Discipline for DropTailQueue {
    fn enqueue(&mut self, now: Time, packet: &Packet, losses: &mut Losses) {
        match self.push(packet) {
            Some(slot) => slot.at = now,
            None => losses.push((*packet, Cause::QueueOverflow)),
        }
    }

    fn dequeue(&mut self, _: Time, _: &mut Losses) -> Option<Packet> {
        self.pop()
    }

    fn oldest(&self) -> Option<Time> {
        self.head().map(|packet| packet.at)
    }

    fn flush(&mut self, losses: &mut Losses) {
        losses.extend(std::iter::from_fn(|| self.pop()).map(|packet| (packet, Cause::Outage)));
    }

    fn extract(&mut self, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>) {
        let before = left.len();
        self.packets.extract(is_meant, left);
        self.bytes -= left[before..].iter().map(Packet::size).sum::<u64>();
    }

    #[inline]
    fn len(&self) -> usize {
        self.packets.len()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

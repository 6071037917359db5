//! Queues: who waits, who is turned away.

use super::ring::Ring;
use crate::packet::Packet;
use crate::scenario::{Queue as Spec, QueueLimit};

/// First in, first out, up to a limit in packets or bytes. The packet being sent has left the queue.
#[derive(Clone, Debug)]
pub(super) struct DropTail {
    packets: Ring,
    bytes: u64,
    packets_max: u64,
    bytes_max: u64,
}

impl DropTail {
    pub(super) fn new(spec: &Spec) -> Self {
        let Spec::DropTail(limit) = spec;
        let (packets_max, bytes_max) = match *limit {
            QueueLimit::Packets(n) => (n, u64::MAX),
            QueueLimit::Bytes(n) => (u64::MAX, n),
            QueueLimit::Unlimited => (u64::MAX, u64::MAX),
        };
        Self { packets: Ring::default(), bytes: 0, packets_max, bytes_max }
    }

    /// The packet's place in the queue; none if it was not taken.
    #[inline]
    pub(super) fn push(&mut self, packet: &Packet) -> Option<&mut Packet> {
        let bytes = self.bytes + packet.size();
        if self.packets.len() as u64 >= self.packets_max || bytes > self.bytes_max {
            return None;
        }
        self.bytes = bytes;
        Some(self.packets.push(packet))
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop()?;
        self.bytes -= packet.size();
        Some(packet)
    }

    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }
}

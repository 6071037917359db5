//! What only some packets carry: options of a segment, bytes of a stranger, a message of a function of the network.

use super::{Packet, NO_BODY};
use crate::ids::{EndpointId, NodeId};
use bentpipe_tcp::{Options, Timestamps};
use bentpipe_units::Time;
use std::ops::Index;

/// Parts of a segment that most have not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    pub(crate) timestamps: Option<Timestamps>,
    pub(crate) options: Options,
}

/// What a packet carries that is no segment of one of our connections.
#[derive(Clone, Debug)]
pub(crate) enum Carried {
    /// It was given to a port at this instant, with these bytes; there may be none where only its size matters.
    Bytes { entered: Time, bytes: Box<[u8]> },
    /// A function of the network made it.
    Message(Message),
}

/// What middleboxes send to one another and to the ends of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// To the functions of a node on the way: whatever they have agreed on.
    ToNode(NodeId, [u64; 2]),
    /// To an end of a connection: send segments with this many payload bytes from now on.
    SegmentSize(Recipient, u32),
}

/// An end of a connection, as long as that is there: its slot may be used again while a message is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recipient {
    pub(crate) endpoint: EndpointId,
    pub(crate) owner: u32,
}

/// The rarer parts of packets, in slots that are used again. Whoever ends a packet's way returns its slot.
#[derive(Clone, Debug, Default)]
pub struct Bodies {
    /// Of segments.
    pub(crate) parts: Slab<Parts>,
    /// Of datagrams and messages.
    pub(crate) carried: Slab<Carried>,
}

impl Bodies {
    /// A packet that is sent twice needs its parts twice.
    pub(crate) fn copy_of(&mut self, packet: &Packet) -> Packet {
        let body = match packet.body {
            NO_BODY => NO_BODY,
            body if packet.is_datagram() => self.carried.insert(self.carried[body].clone()),
            body => self.parts.insert(self.parts[body]),
        };
        Packet { body, ..*packet }
    }

    /// The packet's way has ended.
    #[inline]
    pub(crate) fn release(&mut self, packet: &Packet) {
        if packet.body != NO_BODY {
            let free = if packet.is_datagram() { &mut self.carried.free } else { &mut self.parts.free };
            free.push(packet.body);
        }
    }

    /// What a datagram or message carries, if anything.
    pub(crate) fn carried(&self, packet: &Packet) -> Option<&Carried> {
        (packet.is_datagram() && packet.body != NO_BODY).then(|| &self.carried[packet.body])
    }

    /// When a datagram was sent.
    pub(crate) fn sent_at(&self, packet: &Packet) -> Time {
        match self.carried(packet) {
            Some(Carried::Bytes { entered, .. }) => *entered,
            Some(Carried::Message(_)) | None => packet.sent_at(),
        }
    }

    /// The message that a packet is, if it is one.
    pub(crate) fn message(&self, packet: &Packet) -> Option<Message> {
        match self.carried(packet)? {
            Carried::Message(message) => Some(*message),
            Carried::Bytes { .. } => None,
        }
    }

    /// When a packet was given to its port, if it was, and the bytes that it came with, which are taken out.
    pub(crate) fn take_bytes(&mut self, packet: &Packet) -> Option<(Time, Box<[u8]>)> {
        if !packet.is_datagram() || packet.body == NO_BODY {
            return None;
        }
        match &mut self.carried.slots[packet.body as usize] {
            Carried::Bytes { entered, bytes } => Some((*entered, std::mem::take(bytes))),
            Carried::Message(_) => None,
        }
    }

    /// Slots in use, for the conservation check.
    pub(crate) fn in_use(&self) -> usize {
        self.parts.in_use() + self.carried.in_use()
    }
}

/// Values in slots that are used again.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = value;
            return slot;
        }
        self.slots.push(value);
        self.slots.len() as u32 - 1
    }

    fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, slot: u32) -> &T {
        &self.slots[slot as usize]
    }
}

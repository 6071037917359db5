//! The rare parts of all packets under way, in reused slots, and the copies that erasure codes keep.

use super::header::{Packet, NO_BODY, STAMPED};
use super::parts::{Carried, Label, Load, Message, Parts};
use bentpipe_tcp::{Segment, Timestamps};
use bentpipe_units::Time;
use std::ops::Index;

/// Rare parts of packets, in reused slots. Code that ends a packet returns its slot.
#[derive(Clone, Debug, Default)]
pub struct Bodies {
    /// Timestamps of segments without other parts.
    pub(super) stamps: Slab<Timestamps>,
    /// Parts of segments.
    pub(super) parts: Slab<Parts>,
    /// Parts of datagrams and messages.
    pub(super) loads: Slab<Load>,
    pub(super) blocks: Slab<Block>,
}

impl Bodies {
    /// Keeps what a datagram or a message carries. Returns its slot, which the packet names.
    pub fn keep(&mut self, carried: Carried) -> u32 {
        self.loads.insert(carried.into())
    }

    /// Copies a packet with its parts.
    pub fn copy_of(&mut self, packet: &Packet) -> Packet {
        let body = match packet.body {
            NO_BODY => NO_BODY,
            body if !packet.is_segment() => {
                let load = self.loads[body].clone();
                self.hold_block_of(&load);
                self.loads.insert(load)
            }
            body if body & STAMPED != 0 => self.stamp(self.stamps[body & !STAMPED]),
            body => self.parts.insert(self.parts[body]),
        };
        Packet { body, ..*packet }
    }

    /// Returns the parts of a packet of a connection, if it has others than timestamps.
    #[inline]
    pub(super) fn parts(&self, packet: &Packet) -> Option<&Parts> {
        (packet.body & STAMPED == 0 && packet.is_segment()).then(|| &self.parts[packet.body])
    }

    /// Returns the timestamps of a packet of a connection, if it has no other parts.
    #[inline(always)]
    pub(super) fn only_stamp(&self, packet: &Packet) -> Option<Timestamps> {
        (packet.body & STAMPED != 0 && packet.body != NO_BODY).then(|| self.stamps[packet.body & !STAMPED])
    }

    /// Returns the label of a packet of a connection.
    #[inline]
    pub fn label(&self, packet: &Packet) -> Option<Label> {
        self.parts(packet)?.label
    }

    /// Removes the label of a packet of a connection. Returns it with the bytes that it adds to the header.
    pub(crate) fn take_label(&mut self, packet: &mut Packet) -> Option<(Label, u8)> {
        let label = self.label(packet)?;
        let parts = &mut self.parts.slots[packet.body as usize];
        let bytes = std::mem::take(&mut parts.label_len);
        parts.label = None;
        packet.header_len -= bytes;
        self.drop_plain_parts(packet);
        Some((label, bytes))
    }

    /// Replaces the label of a packet of a connection. A datagram has none.
    pub fn set_label(&mut self, packet: &mut Packet, label: Label, bytes: u8) {
        if !packet.is_segment() {
            return;
        }
        self.take_label(packet);
        let parts = self.parts_of(packet);
        parts.label = Some(label);
        parts.label_len = bytes;
        packet.header_len += bytes;
    }

    /// Returns the parts of a packet of a connection, and creates missing ones.
    pub(super) fn parts_of(&mut self, packet: &mut Packet) -> &mut Parts {
        if packet.body & STAMPED != 0 {
            let timestamps = self.only_stamp(packet);
            self.release(packet);
            packet.body = self.parts.insert(Parts::of(&Segment { timestamps, ..Segment::default() }));
        }
        &mut self.parts.slots[packet.body as usize]
    }

    /// Drops parts of a packet of a connection that are empty.
    pub(super) fn drop_plain_parts(&mut self, packet: &mut Packet) {
        if self.parts[packet.body].is_plain() {
            self.release(packet);
            packet.body = NO_BODY;
        }
    }

    /// Keeps the timestamps of a segment without other parts. Returns its body.
    #[inline]
    pub(super) fn stamp(&mut self, timestamps: Timestamps) -> u32 {
        self.stamps.insert(timestamps) | STAMPED
    }

    /// Frees the parts of a packet at its end.
    #[inline]
    pub fn release(&mut self, packet: &Packet) {
        if packet.body != NO_BODY {
            if packet.body & STAMPED != 0 {
                self.stamps.free.push(packet.body & !STAMPED);
            } else if !packet.is_segment() {
                self.release_load(packet.body);
            } else {
                self.parts.free.push(packet.body);
            }
        }
    }

    #[cold]
    fn release_load(&mut self, slot: u32) {
        if let Some(Carried::Message(Message::Repair(repair))) = self.loads[slot].carried {
            self.release_block(repair.block);
        }
        self.loads.free.push(slot);
    }

    /// Returns the contents of a datagram or message, if any.
    pub(crate) fn carried(&self, packet: &Packet) -> Option<&Carried> {
        (!packet.is_segment() && packet.body != NO_BODY).then(|| self.loads[packet.body].carried.as_ref())?
    }

    /// Returns the time when a datagram was sent.
    pub fn sent_at(&self, packet: &Packet) -> Time {
        match self.carried(packet) {
            Some(Carried::Bytes { entered, .. }) => *entered,
            Some(Carried::Message(_)) | None => packet.sent_at(),
        }
    }

    /// Returns the message in a packet, if any.
    pub fn message(&self, packet: &Packet) -> Option<Message> {
        match self.carried(packet)? {
            Carried::Message(message) => Some(*message),
            Carried::Bytes { .. } => None,
        }
    }

    /// Returns the bytes with which a packet entered its port, if any.
    pub fn bytes(&self, packet: &Packet) -> Option<&[u8]> {
        match self.carried(packet)? {
            Carried::Bytes { bytes, .. } => Some(bytes),
            Carried::Message(_) => None,
        }
    }

    /// Returns and removes the time when a packet entered its port, and its bytes, if any.
    pub fn take_bytes(&mut self, packet: &Packet) -> Option<(Time, Box<[u8]>)> {
        if packet.is_segment() || packet.body == NO_BODY {
            return None;
        }
        match &mut self.loads.slots[packet.body as usize].carried {
            Some(Carried::Bytes { entered, bytes }) => Some((*entered, std::mem::take(bytes))),
            Some(Carried::Message(_)) | None => None,
        }
    }

    /// Increments the holders of a block.
    pub(crate) fn hold_block(&mut self, slot: u32) {
        self.blocks.slots[slot as usize].holders += 1;
    }

    /// Holds the block of a repair packet.
    fn hold_block_of(&mut self, load: &Load) {
        if let Some(Carried::Message(Message::Repair(repair))) = load.carried {
            self.hold_block(repair.block);
        }
    }

    /// Decrements the holders of a block. The last one empties it.
    pub(crate) fn release_block(&mut self, slot: u32) {
        let block = &mut self.blocks.slots[slot as usize];
        block.holders -= 1;
        if block.holders == 0 {
            block.members.clear();
            self.blocks.free.push(slot);
        }
    }

    /// Returns the number of slots in use, for the conservation check.
    pub fn in_use(&self) -> usize {
        self.stamps.in_use() + self.parts.in_use() + self.loads.in_use()
    }
}

/// Copies of the packets of a block, as long as its encoder, a repair packet or the decoder holds it.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub(super) members: Vec<(Packet, Copied)>,
    pub(super) holders: u32,
}

/// Parts of a packet besides its header.
#[derive(Clone, Debug)]
pub(super) enum Copied {
    Nothing,
    Stamp(Timestamps),
    Parts(Parts),
    Load(Load),
}

/// Values in reused slots.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    pub(super) slots: Vec<T>,
    pub(super) free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = value;
            return slot;
        }
        self.grow(value)
    }

    #[cold]
    fn grow(&mut self, value: T) -> u32 {
        self.slots.push(value);
        self.slots.len() as u32 - 1
    }

    pub(super) fn in_use(&self) -> usize {
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

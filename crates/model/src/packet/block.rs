//! Blocks of an erasure code: the places of packets, and copies of its packets. A decoder restores packets from the
//! copies that it may know.

use super::body::{Block, Bodies, Copied};
use super::header::{Packet, DATAGRAM_HEADERS, NO_BODY, STAMPED, UNROUTED};
use super::parts::{Load, Member, Message, Repair};

impl Packet {
    /// Makes a repair packet of `size` bytes for the path of `packet`.
    pub(crate) fn repair(packet: &Self, repair: Repair, size: u64, bodies: &mut Bodies) -> Self {
        let mut made = Self::message(packet, Message::Repair(repair), false, bodies);
        bodies.hold_block(repair.block);
        made.len = u16::try_from(size.saturating_sub(DATAGRAM_HEADERS.into())).unwrap_or(u16::MAX);
        made
    }
}

impl Bodies {
    /// Returns the place of a packet in a block.
    pub(crate) fn member(&self, packet: &Packet) -> Option<Member> {
        match packet.body {
            NO_BODY => None,
            body if !packet.is_segment() => self.loads[body].member,
            _ => self.parts(packet)?.member,
        }
    }

    /// Returns the contents of a repair packet; `None` for other packets.
    pub(crate) fn repair(&self, packet: &Packet) -> Option<Repair> {
        match self.message(packet) {
            Some(Message::Repair(repair)) => Some(repair),
            _ => None,
        }
    }

    /// Numbers a packet.
    pub(crate) fn set_member(&mut self, packet: &mut Packet, member: Member) {
        if packet.is_segment() {
            self.parts_of(packet).member = Some(member);
        } else if packet.body == NO_BODY {
            packet.body = self.loads.insert(Load { carried: None, member: Some(member) });
        } else {
            self.loads.slots[packet.body as usize].member = Some(member);
        }
    }

    /// Removes the number from a packet.
    pub(crate) fn take_member(&mut self, packet: &mut Packet) -> Option<Member> {
        let member = self.member(packet)?;
        if packet.is_segment() {
            self.parts.slots[packet.body as usize].member = None;
            self.drop_plain_parts(packet);
        } else if self.loads[packet.body].carried.is_none() {
            self.release(packet);
            packet.body = NO_BODY;
        } else {
            self.loads.slots[packet.body as usize].member = None;
        }
        Some(member)
    }

    /// Opens a block without packets, held once.
    pub(crate) fn open_block(&mut self) -> u32 {
        let slot = self.blocks.free.pop().unwrap_or_else(|| self.blocks.insert(Block::default()));
        self.blocks.slots[slot as usize].holders = 1;
        slot
    }

    /// Copies a packet into a block, unchanged.
    pub(crate) fn copy_to_block(&mut self, slot: u32, packet: &Packet) {
        let copied = match packet.body {
            NO_BODY => Copied::Nothing,
            body if !packet.is_segment() => Copied::Load(self.loads[body].clone()),
            body if body & STAMPED != 0 => Copied::Stamp(self.stamps[body & !STAMPED]),
            body => Copied::Parts(self.parts[body]),
        };
        self.blocks.slots[slot as usize].members.push((*packet, copied));
    }

    /// Returns a packet of a block again, at a node that has not forwarded it yet.
    pub(crate) fn copy_from_block(&mut self, slot: u32, index: u16) -> Packet {
        let (packet, copied) = &self.blocks[slot].members[usize::from(index)];
        let body = match copied {
            Copied::Nothing => NO_BODY,
            Copied::Stamp(timestamps) => self.stamps.insert(*timestamps) | STAMPED,
            Copied::Parts(parts) => self.parts.insert(*parts),
            Copied::Load(load) => self.loads.insert(load.clone()),
        };
        Packet { body, next: UNROUTED, ..*packet }
    }

    /// Returns the number of held blocks.
    pub fn blocks(&self) -> usize {
        self.blocks.in_use()
    }
}

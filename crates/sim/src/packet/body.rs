//! What only some packets carry: options of a segment, bytes of a stranger, a message of a function of the network.

use super::block::{Block, Member, Repair};
use super::compressed::Compressed;
use super::{Packet, NO_BODY};
use crate::ids::{EndpointId, NodeId};
use bentpipe_tcp::{ExplicitHeader, Notice, Options, Timestamps};
use bentpipe_units::{Seq, Time};
use std::ops::Index;

/// Parts of a segment that most have not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    pub(crate) timestamps: Option<Timestamps>,
    pub(crate) options: Options,
    pub(crate) label: Option<Label>,
    /// What the label adds to the header, bytes.
    pub(crate) label_len: u8,
    /// Its place in a block of an erasure code.
    pub(crate) member: Option<Member>,
    /// What a compressor has made of its header.
    pub(crate) compressed: Option<Compressed>,
}

impl Parts {
    /// Of a segment that has nothing rare but these.
    pub(crate) fn of(timestamps: Option<Timestamps>, options: Options) -> Self {
        Self { timestamps, options, label: None, label_len: 0, member: None, compressed: None }
    }

    fn is_plain(&self) -> bool {
        let is_unmarked = self.label.is_none() && self.member.is_none() && self.compressed.is_none();
        is_unmarked && self.timestamps.is_none() && matches!(self.options, Options::None)
    }
}

/// What functions of the network write on a packet of a connection in passing: an IP option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Label {
    /// The number that a gateway has given the packet.
    Numbered {
        /// The gateway.
        by: NodeId,
        /// Its number.
        id: u32,
        /// A satellite has recorded it as having arrived.
        is_recorded: bool,
    },
    /// What became of packets that a gateway had numbered.
    Records(Records),
    /// An estimate of the error rate of a link, in the unit of whoever estimates.
    ErrorRate(f32),
    /// The chance that a packet crosses the path uncorrupted, as far as it has come.
    Survival(f32),
    /// What the receiver has read of it, on the way back.
    SurvivalEcho(f32),
    /// A segment of the connection was corrupted.
    Corrupted {
        /// Its sequence number.
        seq: Seq,
        /// Its payload, bytes.
        len: u16,
    },
    /// The same, on the way back.
    CorruptedEcho {
        /// Its sequence number.
        seq: Seq,
        /// Its payload, bytes.
        len: u16,
    },
    /// The segment that this ACK asks for was corrupted.
    LossIsCorruption,
    /// The header of XCP.
    Xcp(ExplicitHeader),
    /// The header of RCP.
    Rcp(ExplicitHeader),
}

impl Label {
    /// What it notifies the end of a connection of; none: it is for functions of the network.
    pub(crate) fn notice(self) -> Option<Notice> {
        match self {
            Self::ErrorRate(rate) => Some(Notice::ErrorRate(rate)),
            Self::SurvivalEcho(survival) => Some(Notice::Survival(survival)),
            Self::CorruptedEcho { seq, len } => Some(Notice::Corrupted { seq, len, error_rate: None }),
            Self::LossIsCorruption => Some(Notice::FirstCorrupted),
            Self::Xcp(header) | Self::Rcp(header) => Some(Notice::Explicit(header)),
            Self::Numbered { .. } | Self::Records(_) | Self::Survival(_) | Self::Corrupted { .. } => None,
        }
    }
}

/// What became of a run of packets that a gateway has numbered one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Records {
    /// The number of the first.
    pub first: u32,
    /// How many, at most [`Records::MOST`].
    pub count: u8,
    /// A bit for each that was corrupted, the first lowest.
    pub corrupted: u8,
}

impl Records {
    /// How many fit one packet.
    pub const MOST: u8 = 8;

    /// Number and fate of each: whether it was corrupted.
    pub fn iter(self) -> impl Iterator<Item = (u32, bool)> {
        (0..self.count).map(move |at| (self.first.wrapping_add(at.into()), self.corrupted >> at & 1 != 0))
    }

    /// For a message.
    pub(crate) fn to_words(self) -> [u64; 2] {
        [u64::from(self.first), u64::from(self.count) << 8 | u64::from(self.corrupted)]
    }

    /// From a message.
    pub(crate) fn of_words([first, rest]: [u64; 2]) -> Self {
        Self { first: first as u32, count: (rest >> 8) as u8, corrupted: rest as u8 }
    }
}

/// What a packet carries that is no segment of one of our connections.
#[derive(Clone, Debug)]
pub(crate) enum Carried {
    /// It was given to a port at this instant, with these bytes; there may be none where only its size matters.
    Bytes { entered: Time, bytes: Box<[u8]> },
    /// A function of the network made it.
    Message(Message),
}

/// What a datagram or message has beside its header.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) carried: Option<Carried>,
    /// Its place in a block of an erasure code.
    pub(crate) member: Option<Member>,
}

impl From<Carried> for Load {
    fn from(carried: Carried) -> Self {
        Self { carried: Some(carried), member: None }
    }
}

/// What middleboxes send to one another and to the ends of connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Message {
    /// To the functions of a node on the way: whatever they have agreed on.
    ToNode(NodeId, [u64; 2]),
    /// To an end of a connection: send segments with this many payload bytes from now on.
    SegmentSize(Recipient, u32),
    /// To an end of a connection: what became of its packets.
    Notice(Recipient, Notice),
    /// To whichever decoder it meets first.
    Repair(Repair),
}

impl Message {
    /// The end of a connection that it is for.
    pub(crate) fn recipient(self) -> Option<Recipient> {
        match self {
            Self::ToNode(..) | Self::Repair(_) => None,
            Self::SegmentSize(recipient, _) | Self::Notice(recipient, _) => Some(recipient),
        }
    }

    /// Its payload, bytes.
    pub(crate) const fn len(self) -> u16 {
        match self {
            Self::ToNode(..) | Self::SegmentSize(..) => 12,
            // Its encoder says how long it is.
            Self::Repair(_) => 0,
            // Connection, sequence number, length, estimate, time and a truncated HMAC: 48 B, 76 B with headers.
            Self::Notice(..) => 48,
        }
    }
}

/// An end of a connection, as long as that is there: its slot may be used again while a message is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recipient {
    pub(crate) endpoint: EndpointId,
    pub(crate) owner: u64,
}

/// The rarer parts of packets, in slots that are used again. Whoever ends a packet's way returns its slot.
#[derive(Clone, Debug, Default)]
pub struct Bodies {
    /// Of segments.
    pub(crate) parts: Slab<Parts>,
    /// Of datagrams and messages.
    pub(crate) loads: Slab<Load>,
    pub(super) blocks: Slab<Block>,
}

impl Bodies {
    /// A packet that is sent twice needs its parts twice.
    pub(crate) fn copy_of(&mut self, packet: &Packet) -> Packet {
        let body = match packet.body {
            NO_BODY => NO_BODY,
            body if packet.is_datagram() => {
                let load = self.loads[body].clone();
                self.hold_block_of(&load);
                self.loads.insert(load)
            }
            body => self.parts.insert(self.parts[body]),
        };
        Packet { body, ..*packet }
    }

    /// What is written on a packet of a connection.
    pub(crate) fn label(&self, packet: &Packet) -> Option<Label> {
        (packet.body != NO_BODY && !packet.is_datagram()).then(|| self.parts[packet.body].label)?
    }

    /// Takes what is written on a packet of a connection off it, with the `bytes` that this adds to the header.
    pub(crate) fn take_label(&mut self, packet: &mut Packet) -> Option<(Label, u8)> {
        let label = self.label(packet)?;
        let parts = &mut self.parts.slots[packet.body as usize];
        let bytes = std::mem::take(&mut parts.label_len);
        parts.label = None;
        packet.header_len -= bytes;
        self.drop_plain_parts(packet);
        Some((label, bytes))
    }

    /// Writes on a packet of a connection, in place of what is on it; on a datagram nothing can be written.
    pub(crate) fn set_label(&mut self, packet: &mut Packet, label: Label, bytes: u8) {
        if packet.is_datagram() {
            return;
        }
        self.take_label(packet);
        let parts = self.parts_of(packet);
        parts.label = Some(label);
        parts.label_len = bytes;
        packet.header_len += bytes;
    }

    /// The parts of a packet of a connection, which has some then.
    pub(super) fn parts_of(&mut self, packet: &mut Packet) -> &mut Parts {
        if packet.body == NO_BODY {
            packet.body = self.parts.insert(Parts::of(None, Options::None));
        }
        &mut self.parts.slots[packet.body as usize]
    }

    /// A packet of a connection needs no parts that say nothing.
    pub(super) fn drop_plain_parts(&mut self, packet: &mut Packet) {
        if self.parts[packet.body].is_plain() {
            self.release(packet);
            packet.body = NO_BODY;
        }
    }

    /// The parts of a segment that has nothing but timestamps.
    #[inline(never)]
    pub(super) fn stamp(&mut self, timestamps: Timestamps) -> u32 {
        self.parts.insert(Parts::of(Some(timestamps), Options::None))
    }

    /// The packet's way has ended.
    #[inline]
    pub(crate) fn release(&mut self, packet: &Packet) {
        if packet.body != NO_BODY {
            if packet.is_datagram() {
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

    /// What a datagram or message carries, if anything.
    pub(crate) fn carried(&self, packet: &Packet) -> Option<&Carried> {
        (packet.is_datagram() && packet.body != NO_BODY).then(|| self.loads[packet.body].carried.as_ref())?
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

    /// The bytes with which a packet was given to its port, if it was.
    pub fn bytes(&self, packet: &Packet) -> Option<&[u8]> {
        match self.carried(packet)? {
            Carried::Bytes { bytes, .. } => Some(bytes),
            Carried::Message(_) => None,
        }
    }

    /// When a packet was given to its port, if it was, and the bytes that it came with, which are taken out.
    pub(crate) fn take_bytes(&mut self, packet: &Packet) -> Option<(Time, Box<[u8]>)> {
        if !packet.is_datagram() || packet.body == NO_BODY {
            return None;
        }
        match &mut self.loads.slots[packet.body as usize].carried {
            Some(Carried::Bytes { entered, bytes }) => Some((*entered, std::mem::take(bytes))),
            Some(Carried::Message(_)) | None => None,
        }
    }

    /// Slots in use, for the conservation check.
    pub(crate) fn in_use(&self) -> usize {
        self.parts.in_use() + self.loads.in_use()
    }
}

/// Values in slots that are used again.
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
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = value;
            return slot;
        }
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

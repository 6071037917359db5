//! Rare parts of packets: options of a segment, bytes from outside, a message of a middlebox.

use super::block::{Block, Member, Repair};
use super::compressed::Compressed;
use super::{Packet, NO_BODY};
use crate::ids::{EndpointId, NodeId};
use bentpipe_tcp::{ExplicitHeader, Notice, Options, Timestamps};
use bentpipe_units::{Seq, Time};
use std::ops::Index;

/// Parts that few segments have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    pub(crate) timestamps: Option<Timestamps>,
    pub(crate) options: Options,
    pub(crate) label: Option<Label>,
    /// Bytes that the label adds to the header.
    pub(crate) label_len: u8,
    /// Place in a block of an erasure code.
    pub(crate) member: Option<Member>,
    /// Compressed header.
    pub(crate) compressed: Option<Compressed>,
}

impl Parts {
    /// Creates the parts of a segment without other rare parts.
    pub(crate) fn of(timestamps: Option<Timestamps>, options: Options) -> Self {
        Self { timestamps, options, label: None, label_len: 0, member: None, compressed: None }
    }

    fn is_plain(&self) -> bool {
        let is_unmarked = self.label.is_none() && self.member.is_none() && self.compressed.is_none();
        is_unmarked && self.timestamps.is_none() && matches!(self.options, Options::None)
    }
}

/// Label that middleboxes write on a passing packet of a connection: an IP option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Label {
    /// Number that a gateway has given the packet.
    Numbered {
        /// The gateway.
        by: NodeId,
        /// Its number.
        id: u32,
        /// Whether a satellite has recorded its arrival.
        is_recorded: bool,
    },
    /// Fates of packets that a gateway had numbered.
    Records(Records),
    /// Estimate of the error rate of a link, in the unit of the estimate.
    ErrorRate(f32),
    /// Probability that a packet crosses the path so far uncorrupted.
    Survival(f32),
    /// That probability, read by the receiver, on the return path.
    SurvivalEcho(f32),
    /// Report of a corrupted segment of the connection.
    Corrupted {
        /// Its sequence number.
        seq: Seq,
        /// Its payload, bytes.
        len: u16,
    },
    /// Report of a corrupted segment, on the return path.
    CorruptedEcho {
        /// Its sequence number.
        seq: Seq,
        /// Its payload, bytes.
        len: u16,
    },
    /// Report that the segment that this ACK asks for was corrupted.
    LossIsCorruption,
    /// The header of XCP.
    Xcp(ExplicitHeader),
    /// The header of RCP.
    Rcp(ExplicitHeader),
}

impl Label {
    /// Returns the notice for the endpoint of a connection; `None`: it is for middleboxes.
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

/// Fates of a run of packets that a gateway has numbered consecutively.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Records {
    /// Number of the first.
    pub first: u32,
    /// Number of packets, at most [`Records::MOST`].
    pub count: u8,
    /// Bit for each corrupted packet, the first lowest.
    pub corrupted: u8,
}

impl Records {
    /// Largest run in one packet.
    pub const MOST: u8 = 8;

    /// Returns number and fate of each packet: whether it was corrupted.
    pub fn iter(self) -> impl Iterator<Item = (u32, bool)> {
        (0..self.count).map(move |at| (self.first.wrapping_add(at.into()), self.corrupted >> at & 1 != 0))
    }

    /// Converts to words of a message.
    pub(crate) fn to_words(self) -> [u64; 2] {
        [u64::from(self.first), u64::from(self.count) << 8 | u64::from(self.corrupted)]
    }

    /// Converts from words of a message.
    pub(crate) fn of_words([first, rest]: [u64; 2]) -> Self {
        Self { first: first as u32, count: (rest >> 8) as u8, corrupted: rest as u8 }
    }
}

/// Contents of a packet that is not a segment of a simulated connection.
#[derive(Clone, Debug)]
pub(crate) enum Carried {
    /// Bytes from a port, given at this instant. Empty where the content does not matter.
    Bytes { entered: Time, bytes: Box<[u8]> },
    /// Message of a middlebox.
    Message(Message),
}

/// Parts of a datagram or message besides its header.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) carried: Option<Carried>,
    /// Place in a block of an erasure code.
    pub(crate) member: Option<Member>,
}

impl From<Carried> for Load {
    fn from(carried: Carried) -> Self {
        Self { carried: Some(carried), member: None }
    }
}

/// Messages between middleboxes, and to the endpoints of connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Message {
    /// To the middleboxes of a node on the path, which define the words.
    ToNode(NodeId, [u64; 2]),
    /// To an endpoint: the payload of segments from now on, bytes.
    SegmentSize(Recipient, u32),
    /// To an endpoint: the fate of its packets.
    Notice(Recipient, Notice),
    /// To the next decoder on the path.
    Repair(Repair),
}

impl Message {
    /// Returns the endpoint that it is for.
    pub(crate) fn recipient(self) -> Option<Recipient> {
        match self {
            Self::ToNode(..) | Self::Repair(_) => None,
            Self::SegmentSize(recipient, _) | Self::Notice(recipient, _) => Some(recipient),
        }
    }

    /// Returns its payload, bytes.
    pub(crate) const fn len(self) -> u16 {
        match self {
            Self::ToNode(..) | Self::SegmentSize(..) => 12,
            // Its encoder sets the length.
            Self::Repair(_) => 0,
            // Connection, sequence number, length, estimate, time and a truncated HMAC: 48 B, 76 B with headers.
            Self::Notice(..) => 48,
        }
    }
}

/// Endpoint of a connection, valid while it exists: its slot may be reused while a message is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recipient {
    pub(crate) endpoint: EndpointId,
    pub(crate) owner: u64,
}

/// Rare parts of packets, in reused slots. Code that ends a packet returns its slot.
#[derive(Clone, Debug, Default)]
pub struct Bodies {
    /// Parts of segments.
    pub(crate) parts: Slab<Parts>,
    /// Parts of datagrams and messages.
    pub(crate) loads: Slab<Load>,
    pub(super) blocks: Slab<Block>,
}

impl Bodies {
    /// Copies a packet with its parts.
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

    /// Returns the label of a packet of a connection.
    pub(crate) fn label(&self, packet: &Packet) -> Option<Label> {
        (packet.body != NO_BODY && !packet.is_datagram()).then(|| self.parts[packet.body].label)?
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

    /// Returns the parts of a packet of a connection, and creates missing ones.
    pub(super) fn parts_of(&mut self, packet: &mut Packet) -> &mut Parts {
        if packet.body == NO_BODY {
            packet.body = self.parts.insert(Parts::of(None, Options::None));
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

    /// Creates the parts of a segment with timestamps only.
    #[inline(never)]
    pub(super) fn stamp(&mut self, timestamps: Timestamps) -> u32 {
        self.parts.insert(Parts::of(Some(timestamps), Options::None))
    }

    /// Frees the parts of a packet at its end.
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

    /// Returns the contents of a datagram or message, if any.
    pub(crate) fn carried(&self, packet: &Packet) -> Option<&Carried> {
        (packet.is_datagram() && packet.body != NO_BODY).then(|| self.loads[packet.body].carried.as_ref())?
    }

    /// Returns the time when a datagram was sent.
    pub(crate) fn sent_at(&self, packet: &Packet) -> Time {
        match self.carried(packet) {
            Some(Carried::Bytes { entered, .. }) => *entered,
            Some(Carried::Message(_)) | None => packet.sent_at(),
        }
    }

    /// Returns the message in a packet, if any.
    pub(crate) fn message(&self, packet: &Packet) -> Option<Message> {
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
    pub(crate) fn take_bytes(&mut self, packet: &Packet) -> Option<(Time, Box<[u8]>)> {
        if !packet.is_datagram() || packet.body == NO_BODY {
            return None;
        }
        match &mut self.loads.slots[packet.body as usize].carried {
            Some(Carried::Bytes { entered, bytes }) => Some((*entered, std::mem::take(bytes))),
            Some(Carried::Message(_)) | None => None,
        }
    }

    /// Returns the number of slots in use, for the conservation check.
    pub(crate) fn in_use(&self) -> usize {
        self.parts.in_use() + self.loads.in_use()
    }
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

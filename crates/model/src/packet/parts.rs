//! Rare parts of packets: options of a segment, a label, bytes from outside, a message of a middlebox.

use crate::ids::{EndpointId, NodeId};
use bentpipe_tcp::{ExplicitHeader, Multipath, Notice, Options, PlainSegment, Segment, Timestamps};
use bentpipe_units::{Seq, Time};

/// Parts that few segments have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    pub(crate) timestamps: Option<Timestamps>,
    pub(crate) count: Option<u32>,
    pub(crate) ack_ratio: Option<u8>,
    pub(crate) multi: Option<Multipath>,
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
    pub(crate) fn of(segment: &Segment) -> Self {
        let Segment { timestamps, count, ack_ratio, multi, options, .. } = *segment;
        Self { timestamps, count, ack_ratio, multi, options, label: None, label_len: 0, member: None, compressed: None }
    }

    /// Returns the segment with these options.
    pub(super) fn onto(&self, plain: PlainSegment) -> Segment {
        let Self { timestamps, count, ack_ratio, multi, options, .. } = *self;
        Segment { timestamps, count, ack_ratio, multi, options, ..plain.into() }
    }

    /// Whether it has TCP options other than timestamps.
    pub(super) fn has_options(&self) -> bool {
        !matches!(self.options, Options::None)
            || self.count.is_some()
            || self.ack_ratio.is_some()
            || self.multi.is_some()
    }

    pub(super) fn is_plain(&self) -> bool {
        let is_unmarked = self.label.is_none() && self.member.is_none() && self.compressed.is_none();
        is_unmarked && self.timestamps.is_none() && !self.has_options()
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
    pub fn notice(self) -> Option<Notice> {
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
pub enum Carried {
    /// Bytes from a port, given at this instant. Empty where the content does not matter.
    Bytes {
        /// When they entered.
        entered: Time,
        /// The bytes.
        bytes: Box<[u8]>,
    },
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
pub enum Message {
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
    pub fn recipient(self) -> Option<Recipient> {
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
pub struct Recipient {
    /// The endpoint.
    pub endpoint: EndpointId,
    /// Owner of its packets while this connection exists.
    pub owner: u64,
}

/// Place of a packet in the stream from an encoder to a decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The pair of encoder and decoder.
    pub(crate) stream: u32,
    /// Number in the stream of the first packet of its block.
    pub(crate) first: u64,
    /// Its place in the block, from 0.
    pub(crate) index: u16,
}

impl Member {
    /// Returns its number in the stream.
    pub(crate) fn number(self) -> u64 {
        self.first + u64::from(self.index)
    }
}

/// Contents of a repair packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Block of the packet: stream, first number, and its place among the repair packets.
    pub(crate) member: Member,
    /// Number of packets in the block.
    pub(crate) count: u16,
    /// Whether that many packets may not be enough.
    pub(crate) is_rateless: bool,
    /// Address of the copies.
    pub(crate) block: u32,
}

/// Fields that are compressed as differences: sequence number, acknowledgement number and window.
pub type Fields = [u32; 3];

/// Data of a compressor for its decompressor, on a packet of a connection, with or without its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compressed {
    /// Node of the compressor.
    pub(crate) by: NodeId,
    /// Pair of compressor and decompressor.
    pub(crate) stream: u32,
    /// Context of the pair.
    pub(crate) context: u16,
    /// Number of the packet in its context.
    pub(crate) number: u32,
    /// Bytes that the header is shorter.
    pub(crate) saved: u8,
    /// The previous header in its context; `None`: this header is full.
    pub(crate) before: Option<Fields>,
    /// This header, as its checksum covers it.
    pub(crate) header: Fields,
    /// Consecutive packets that may be lost before it.
    pub(crate) window: u8,
}

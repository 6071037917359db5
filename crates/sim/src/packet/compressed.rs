//! Compressed headers: what one says, and how many bytes shorter it makes its packet.

use super::body::Bodies;
use super::Packet;
use crate::ids::NodeId;

/// What is compressed as differences: sequence number, acknowledgement number and window.
pub(crate) type Fields = [u32; 3];

/// What a compressor writes on a packet of a connection for its decompressor, in place of the header or beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compressed {
    /// Where the compressor is.
    pub(crate) by: NodeId,
    /// The pair of compressor and decompressor.
    pub(crate) stream: u32,
    /// Of the pair.
    pub(crate) context: u16,
    /// Of the packet in its context.
    pub(crate) number: u32,
    /// By how many bytes the header is shorter.
    pub(crate) saved: u8,
    /// The header before this one in its context; none: this one is full.
    pub(crate) before: Option<Fields>,
    /// This one, as its checksum covers it.
    pub(crate) header: Fields,
    /// How many packets in a row may be lost before it.
    pub(crate) window: u8,
}

impl Bodies {
    /// What a compressor has written on a packet.
    pub(crate) fn compressed(&self, packet: &Packet) -> Option<Compressed> {
        (packet.body != super::NO_BODY && !packet.is_datagram()).then(|| self.parts[packet.body].compressed)?
    }

    /// Compresses the header of a packet of a connection.
    pub(crate) fn set_compressed(&mut self, packet: &mut Packet, compressed: Compressed) {
        let saved = compressed.saved.min(packet.header_len);
        packet.header_len -= saved;
        self.parts_of(packet).compressed = Some(Compressed { saved, ..compressed });
    }

    /// A packet has its full header again.
    pub(crate) fn take_compressed(&mut self, packet: &mut Packet) -> Option<Compressed> {
        let compressed = self.compressed(packet)?;
        self.parts_of(packet).compressed = None;
        packet.header_len += compressed.saved;
        self.drop_plain_parts(packet);
        Some(compressed)
    }

    /// What is written on a packet adds so many bytes to its header.
    pub(crate) fn label_len(&self, packet: &Packet) -> u8 {
        self.label(packet).map_or(0, |_| self.parts[packet.body].label_len)
    }
}

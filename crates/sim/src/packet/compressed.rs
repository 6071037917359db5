//! Compressed headers: their contents, and the bytes that they save.

use super::body::Bodies;
use super::Packet;
use crate::ids::NodeId;

/// Fields that are compressed as differences: sequence number, acknowledgement number and window.
pub(crate) type Fields = [u32; 3];

/// Data of a compressor for its decompressor, on a packet of a connection, with or without its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compressed {
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

impl Bodies {
    /// Returns the data of a compressor on a packet.
    pub(crate) fn compressed(&self, packet: &Packet) -> Option<Compressed> {
        (packet.body != super::NO_BODY && !packet.is_datagram()).then(|| self.parts[packet.body].compressed)?
    }

    /// Compresses the header of a packet of a connection.
    pub(crate) fn set_compressed(&mut self, packet: &mut Packet, compressed: Compressed) {
        let saved = compressed.saved.min(packet.header_len);
        packet.header_len -= saved;
        self.parts_of(packet).compressed = Some(Compressed { saved, ..compressed });
    }

    /// Restores the full header of a packet.
    pub(crate) fn take_compressed(&mut self, packet: &mut Packet) -> Option<Compressed> {
        let compressed = self.compressed(packet)?;
        self.parts_of(packet).compressed = None;
        packet.header_len += compressed.saved;
        self.drop_plain_parts(packet);
        Some(compressed)
    }

    /// Returns the bytes that the label of a packet adds to its header.
    pub(crate) fn label_len(&self, packet: &Packet) -> u8 {
        self.label(packet).map_or(0, |_| self.parts[packet.body].label_len)
    }
}

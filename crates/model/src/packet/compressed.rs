//! Compressed headers of packets.

use super::body::Bodies;
use super::header::Packet;
use super::parts::Compressed;

impl Bodies {
    /// Returns the data of a compressor on a packet.
    pub(crate) fn compressed(&self, packet: &Packet) -> Option<Compressed> {
        self.parts(packet)?.compressed
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
        self.parts(packet).filter(|parts| parts.label.is_some()).map_or(0, |parts| parts.label_len)
    }
}

//! Compressed headers of packets.

use super::body::Bodies;
use super::header::{Packet, NO_BODY};
use super::parts::Compressed;

impl Bodies {
    /// Returns the data of a compressor on a packet.
    pub(crate) fn compressed(&self, packet: &Packet) -> Option<Compressed> {
        (packet.body != NO_BODY && !packet.is_datagram()).then(|| self.parts[packet.body].compressed)?
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

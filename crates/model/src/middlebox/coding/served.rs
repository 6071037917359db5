//! Packets for which the first of two middleboxes has a partner.

use crate::ids::PathId;
use crate::packet::Packet;

/// Marks a path without a stream.
const NONE: u32 = u32::MAX;

/// Stream of the packets of each path.
#[derive(Clone, Debug, Default)]
pub(super) struct Served(Vec<u32>);

impl Served {
    pub(super) fn add(&mut self, path: PathId, stream: u32) {
        if self.0.len() <= path.index() {
            self.0.resize(path.index() + 1, NONE);
        }
        self.0[path.index()] = stream;
    }

    /// Returns the stream; `None`: no partner follows on the packet's route.
    pub(super) fn stream(&self, packet: &Packet) -> Option<u32> {
        self.0.get(packet.path().index()).copied().filter(|&stream| stream != NONE)
    }
}

//! Which packets the first of two functions has a partner for.

use crate::ids::PathId;
use crate::packet::Packet;

/// Where a path has no stream.
const NONE: u32 = u32::MAX;

/// By path, the stream that its packets belong to.
#[derive(Clone, Debug, Default)]
pub(super) struct Served(Vec<u32>);

impl Served {
    pub(super) fn add(&mut self, path: PathId, stream: u32) {
        if self.0.len() <= path.index() {
            self.0.resize(path.index() + 1, NONE);
        }
        self.0[path.index()] = stream;
    }

    /// None: no partner follows on the way of the packet.
    pub(super) fn stream(&self, packet: &Packet) -> Option<u32> {
        self.0.get(packet.path().index()).copied().filter(|&stream| stream != NONE)
    }
}

//! What may be sent once more without being resent: the scoreboard only tells, and notes nothing.

use super::{Range, Scoreboard};

impl Scoreboard {
    /// The oldest segment that is not SACKed and begins at `offset` or above; the oldest of all if there is none.
    pub(crate) fn unsacked_from(&self, offset: u64) -> Option<Range> {
        let at = self.ring.partition_point(|sent| sent.start < offset);
        let unsacked = |from: usize| (from..self.ring.len()).find(|&i| !self.ring[i].is(super::SACKED));
        let sent = &self.ring[unsacked(at).or_else(|| unsacked(0))?];
        Some(Range { start: sent.start, len: sent.len, has_fin: sent.has_fin })
    }
}

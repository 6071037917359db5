//! Data that a probe segment may copy. The scoreboard does not record probe segments.

use super::{Ring, SeqRange, SACKED};

impl Ring {
    /// Returns the oldest unSACKed segment from `offset` on, or else the oldest of all.
    pub(crate) fn unsacked_from(&self, offset: u64) -> Option<SeqRange> {
        let at = self.segments.partition_point(|sent| sent.start < offset);
        let unsacked = |from: usize| (from..self.segments.len()).find(|&i| !self.segments[i].has(SACKED));
        let sent = &self.segments[unsacked(at).or_else(|| unsacked(0))?];
        Some(SeqRange { start: sent.start, len: sent.len, has_fin: sent.has_fin })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Scoreboard;
    use super::*;
    use bentpipe_units::Time;

    #[test]
    fn the_oldest_first_and_from_the_first_again_without_what_is_sacked() {
        let mut board = Scoreboard::default();
        assert_eq!(board.sent.unsacked_from(0), None);
        (0..5).for_each(|n| board.push(SeqRange { start: n * 1000, len: 1000, has_fin: false }, Time::ZERO));
        board.ack(1000);
        board.sack(2000, 4000, &mut Default::default());
        let from = |offset| board.sent.unsacked_from(offset).map(|range| range.start / 1000);
        assert_eq!([0, 1000, 1001, 2000, 4000, 5000].map(from), [1, 1, 4, 4, 4, 1].map(Some));
        board.sack(1000, 5000, &mut Default::default());
        assert_eq!(board.sent.unsacked_from(0), None);
    }
}

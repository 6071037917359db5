//! The segments outstanding, in the order of sequence, with the state of each. Sums over them are the scoreboard's.

use super::{Sent, SeqRange, LOST, PENDING, SACKED};
use bentpipe_units::Time;
use std::collections::VecDeque;

/// Segments that were sent and are not acknowledged. Indices count segments since the start of the connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring {
    pub(super) segments: VecDeque<Sent>,
    /// Index of the first one.
    pub(super) base: u64,
}

impl Ring {
    /// The oldest segment outstanding.
    pub(crate) fn first(&self) -> Option<u64> {
        (!self.segments.is_empty()).then_some(self.base)
    }

    /// When the oldest segment outstanding was last sent.
    pub(crate) fn first_sent_at(&self) -> Option<Time> {
        self.segments.front().map(|sent| sent.xmit_ts)
    }

    /// Whether segment `index` is believed lost.
    pub(crate) fn is_lost(&self, index: u64) -> bool {
        index >= self.base && self.segments.get((index - self.base) as usize).is_some_and(|sent| sent.has(LOST))
    }

    /// Whether segment `index` is SACKed.
    pub(crate) fn is_sacked(&self, index: u64) -> bool {
        index >= self.base && self.segments.get((index - self.base) as usize).is_some_and(|sent| sent.has(SACKED))
    }

    /// Sequence length of segment `index`.
    pub(crate) fn len_of(&self, index: u64) -> u64 {
        u64::from(self.segments[(index - self.base) as usize].len)
    }

    /// Number of retransmissions of the segment at `index` was retransmitted.
    pub(crate) fn retransmits_of(&self, index: u64) -> u16 {
        self.segments.get((index - self.base) as usize).map_or(0, |sent| sent.retransmits)
    }

    /// Number of retransmissions of the oldest outstanding segment.
    pub(crate) fn first_retransmits(&self) -> u32 {
        self.segments.front().map_or(0, |sent| u32::from(sent.retransmits))
    }

    /// The highest segment that is not SACKed (RFC 6675 NextSeg rule 4).
    pub(crate) fn highest_unsacked(&self) -> Option<u64> {
        let from_end = self.segments.iter().rev().position(|sent| !sent.has(SACKED))?;
        Some(self.next_index() - 1 - from_end as u64)
    }

    /// First segment from `index` on that is neither delivered nor declared lost, and its offset; none: all are. Segments
    /// below `index` are.
    pub(crate) fn unsettled_from(&self, index: u64) -> Option<(u64, u64)> {
        let first = index.max(self.base);
        let mut rest = (first..).zip(self.segments.iter().skip((first - self.base) as usize));
        rest.find(|(_, sent)| !sent.has(SACKED | LOST)).map(|(index, sent)| (index, sent.start))
    }

    /// Index of the segment that ends the sequence, plus one.
    pub(crate) fn next_index(&self) -> u64 {
        self.base + self.segments.len() as u64
    }

    /// End of segment `index`.
    pub(super) fn end_of(&self, index: u64) -> u64 {
        self.segments[(index - self.base) as usize].end()
    }

    /// Segment `index`, to change it.
    pub(super) fn get_mut(&mut self, index: u64) -> Option<&mut Sent> {
        self.segments.get_mut((index - self.base) as usize)
    }

    /// The first index from `index` on that is not SACKed. Shortens the chain that it followed, so that long
    /// runs are crossed in a few steps the next time.
    pub(super) fn next_unsacked(&mut self, index: u64) -> u64 {
        let mut end = index;
        while self.is_sacked(end) {
            end = self.segments[(end - self.base) as usize].skip;
        }
        let mut at = index;
        while at < end {
            at = std::mem::replace(&mut self.segments[(at - self.base) as usize].skip, end);
        }
        end
    }

    /// The first segment that ends above `offset`, with its index.
    pub(crate) fn segment_from(&self, offset: u64) -> Option<(u64, SeqRange)> {
        let at = self.segments.partition_point(|sent| sent.end() <= offset) as u64;
        (at < self.segments.len() as u64).then(|| (self.base + at, self.range_of(self.base + at)))
    }

    /// Bytes of segments in [start, end) that are not SACKed.
    pub(crate) fn unsacked_in(&self, (start, end): (u64, u64)) -> u64 {
        let from = self.segments.partition_point(|sent| sent.end() <= start);
        let within = self.segments.iter().skip(from).take_while(|sent| sent.start < end);
        within.filter(|sent| !sent.has(SACKED)).map(|sent| u64::from(sent.len)).sum()
    }

    /// Whether segment `index` was reported, and its retransmission has not left yet.
    pub(crate) fn is_pending(&self, index: u64) -> bool {
        let sent = index.checked_sub(self.base).and_then(|at| self.segments.get(at as usize));
        sent.is_some_and(|sent| sent.has(PENDING))
    }

    /// Segment `index`; of length 0 if it is not outstanding any more.
    pub(crate) fn range_of(&self, index: u64) -> SeqRange {
        let sent = index.checked_sub(self.base).and_then(|at| self.segments.get(at as usize));
        sent.map_or(SeqRange { start: 0, len: 0, has_fin: false }, |sent| SeqRange {
            start: sent.start,
            len: sent.len,
            has_fin: sent.has_fin,
        })
    }
}

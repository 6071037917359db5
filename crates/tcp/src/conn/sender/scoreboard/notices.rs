//! Which segments were declared lost, for controllers that are notified of each.

use super::{is_unrepaired, Scoreboard, SeqRange, LOST, PENDING, REPORTED, RETRANSMITTED, SACKED};

/// A segment that was declared lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LossNotice {
    pub(crate) index: u64,
    /// Bytes declared lost at any time, up to this segment.
    pub(crate) lost_ever: u64,
}

impl Scoreboard {
    /// Keep what [`take_lost`](Self::take_lost) gives from now on; in detail only.
    pub(crate) fn keep_lost(&mut self) {
        if let Some(detail) = &mut self.detail {
            detail.lost.get_or_insert_with(Vec::new);
        }
    }

    /// The segments declared lost since the last call, in the order in which they were; none if there are none. To be given back with
    /// [`give_back`](Self::give_back).
    #[inline]
    pub(crate) fn take_lost(&mut self) -> Option<Vec<LossNotice>> {
        let lost = self.detail.as_mut()?.lost.as_mut()?;
        (!lost.is_empty()).then(|| std::mem::take(lost))
    }

    /// The list that was taken, to be filled again.
    pub(crate) fn give_back(&mut self, mut list: Vec<LossNotice>) {
        list.clear();
        if let Some(lost) = self.detail.as_mut().and_then(|detail| detail.lost.as_mut()) {
            *lost = list;
        }
    }

    /// Duplicate ACKs without SACK show that the first segment is lost; of the others nothing is known.
    pub(crate) fn note_first_lost(&mut self) {
        let len = self.ring.front().map_or(0, |first| u64::from(first.len));
        self.note_lost(self.base, self.lost_ever + len);
    }

    /// Segment `index` is declared lost.
    #[inline]
    pub(super) fn note_lost(&mut self, index: u64, lost_ever: u64) {
        if let Some(lost) = self.detail.as_mut().and_then(|detail| detail.lost.as_mut()) {
            lost.push(LossNotice { index, lost_ever });
        }
    }

    /// The first segment that ends above `offset`, with its index.
    pub(crate) fn segment_from(&self, offset: u64) -> Option<(u64, SeqRange)> {
        let at = self.ring.partition_point(|sent| sent.end() <= offset) as u64;
        (at < self.ring.len() as u64).then(|| (self.base + at, self.range_of(self.base + at)))
    }

    /// Bytes of segments in [start, end) that are not SACKed.
    pub(crate) fn unsacked_in(&self, (start, end): (u64, u64)) -> u64 {
        let from = self.ring.partition_point(|sent| sent.end() <= start);
        let within = self.ring.iter().skip(from).take_while(|sent| sent.start < end);
        within.filter(|sent| !sent.has(SACKED)).map(|sent| u64::from(sent.len)).sum()
    }

    /// A node of the network has seen segment `index` corrupted: it is lost, and leaves again at once, so that pipe stays as it is. It
    /// does not count among the losses that controllers and detectors see, unless its retransmission is lost unreported. False: it
    /// arrived, or waits to be retransmitted anyway.
    pub(crate) fn declare_corrupted(&mut self, index: u64) -> bool {
        let Some(sent) = self.get_mut(index) else { return false };
        if sent.has(SACKED) || is_unrepaired(sent.bits) {
            return false;
        }
        sent.bits |= PENDING;
        if sent.has(LOST) {
            // Its retransmission was corrupted: the loss is what it was.
            return true;
        }
        let (len, enters) = (u64::from(sent.len), !sent.has(RETRANSMITTED));
        sent.bits |= LOST | RETRANSMITTED | REPORTED;
        self.lost_bytes += len;
        self.retransmitted_bytes += if enters { len } else { 0 };
        if let Some(detail) = &mut self.detail {
            detail.reported_bytes += len;
        }
        true
    }

    /// Declares all segments of [start, end) corrupted as soon as the report comes: the ACK that follows it may already show the
    /// hole.
    pub(crate) fn declare_range_corrupted(&mut self, start: u64, end: u64) {
        let first = self.ring.partition_point(|sent| sent.end() <= start);
        let last = self.ring.partition_point(|sent| sent.start < end);
        for at in first..last {
            self.declare_corrupted(self.base + at as u64);
        }
    }

    /// Segment `index`; of length 0 if it is not outstanding any more.
    pub(crate) fn range_of(&self, index: u64) -> SeqRange {
        let sent = index.checked_sub(self.base).and_then(|at| self.ring.get(at as usize));
        sent.map_or(SeqRange { start: 0, len: 0, has_fin: false }, |sent| SeqRange {
            start: sent.start,
            len: sent.len,
            has_fin: sent.has_fin,
        })
    }
}

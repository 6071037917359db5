//! Which segments were declared lost, for controllers that are notified of each.

use super::{is_unrepaired, is_unreported, Scoreboard, LOST, PENDING, REPORTED, RETRANSMITTED, SACKED};
use bentpipe_units::{Duration, Time};

/// Answer of the scoreboard to a report of corrupted data.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answered {
    /// Some of it is to be retransmitted.
    pub(crate) leaves: bool,
    /// Some of it was taken for lost before, without a report.
    pub(crate) excuses: bool,
    /// Time from its departure to the report, if it was sent once.
    pub(crate) took: Option<Duration>,
}

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
        let len = self.sent.segments.front().map_or(0, |first| u64::from(first.len));
        self.note_lost(self.sent.base, self.lost_ever + len);
    }

    /// Segment `index` is declared lost.
    #[inline]
    pub(super) fn note_lost(&mut self, index: u64, lost_ever: u64) {
        if let Some(lost) = self.detail.as_mut().and_then(|detail| detail.lost.as_mut()) {
            lost.push(LossNotice { index, lost_ever });
        }
    }

    /// A node of the network has seen the data of [start, end) corrupted, and `fastest` is the shortest time that such a report
    /// takes. Entered as soon as the report comes: the ACK that follows it may already show the hole.
    ///
    /// Segments that were not known to be lost are lost now. They leave again immediately, so that pipe stays as it is, and do not
    /// count among the losses that controllers and detectors see, unless their retransmissions are lost unreported. With `waits`,
    /// segments that wait to be retransmitted anyway stay as they are.
    pub(crate) fn report_corrupted(
        &mut self,
        (start, end): (u64, u64),
        now: Time,
        fastest: Duration,
        waits: bool,
    ) -> Answered {
        let first = self.sent.segments.partition_point(|sent| sent.end() <= start);
        let last = self.sent.segments.partition_point(|sent| sent.start < end).max(first);
        let mut answered = Answered::default();
        for at in first..last {
            let sent = &mut self.sent.segments[at];
            if sent.has(SACKED | PENDING) || waits && is_unrepaired(sent.bits) {
                continue;
            }
            let (bits, len) = (sent.bits, u64::from(sent.len));
            // A report of a transmission that left a much shorter time ago than reports take is of an earlier one. Half of that
            // time, because a smaller segment is sooner at the node that reports it.
            let is_of_last = sent.retransmits == 0 || is_unrepaired(bits) || now >= sent.xmit_ts + fastest / 2;
            if sent.retransmits == 0 {
                answered.took = Some(now - sent.xmit_ts);
            }
            answered.leaves |= is_of_last;
            sent.bits |= if is_of_last { PENDING } else { 0 };
            if is_of_last && is_unreported(bits) && bits & LOST != 0 && !is_unrepaired(bits) {
                // Its retransmission was corrupted: the loss is what it was, unless an ACK shows that the retransmission arrived.
                continue;
            }
            answered.excuses |= is_unreported(bits);
            sent.bits |= LOST | RETRANSMITTED | REPORTED;
            self.lost_bytes += if bits & LOST == 0 { len } else { 0 };
            self.retransmitted_bytes += if bits & RETRANSMITTED == 0 { len } else { 0 };
            self.unrepaired_bytes -= if is_unrepaired(bits) { len } else { 0 };
            if let (0, Some(detail)) = (bits & REPORTED, &mut self.detail) {
                detail.reported_bytes += len;
            }
        }
        answered
    }
}

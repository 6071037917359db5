//! Data that nodes of the network reported as corrupted, and that is not acknowledged.

use crate::config::Config;
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// Data that was reported as corrupted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notified {
    /// Bytes that were, and are not acknowledged; in order, apart from one another.
    ranges: Vec<Reported>,
    /// Reported ranges that must still be retransmitted, in the order of sequence.
    pub(super) due: VecDeque<(u64, u64)>,
    /// Ranges whose first segment has left; the others leave as the window permits.
    pub(super) rest: VecDeque<(u64, u64)>,
    /// Copies that are still to leave, of this segment.
    pub(super) copies: Option<(u64, u32)>,
    /// Segments with copies on their way: start, and copies that were not reported.
    pub(super) on_the_way: VecDeque<(u64, u32)>,
    /// Shortest time from the departure of a segment to its report; none before the first such report. Only segments that were
    /// sent once count.
    pub(super) fastest: Option<Duration>,
    /// When the oldest segment was last retransmitted because an ACK was marked.
    pub(super) marked_at: Option<Time>,
    /// The error rate that was reported last.
    pub(super) rate: Option<f32>,
    /// Fast recovery goes on that holes began which were all reported.
    pub(super) repairs_nothing: bool,
}

/// A range of bytes that was reported.
#[derive(Clone, Copy, Debug)]
struct Reported {
    start: u64,
    end: u64,
    /// SND.NXT when it was.
    sent_until: u64,
}

impl Notified {
    pub(crate) fn of(config: &Config) -> Option<Self> {
        config.heeds_notices().then(Self::default)
    }

    /// Returns the end of the data sent when the byte at `offset` was reported; `None` if it was not.
    pub(super) fn sent_until(&self, offset: u64) -> Option<u64> {
        let range = self.ranges[..self.ranges.partition_point(|range| range.start <= offset)].last()?;
        (offset < range.end).then_some(range.sent_until)
    }

    pub(super) fn add(&mut self, (mut start, mut end): (u64, u64), sent_until: u64) {
        let before = self.due.partition_point(|due| due.0 <= start);
        self.due.insert(before, (start, end));
        let first = self.ranges.partition_point(|range| range.end <= start);
        let last = self.ranges.partition_point(|range| range.start < end).max(first);
        for range in &self.ranges[first..last] {
            (start, end) = (start.min(range.start), end.max(range.end));
        }
        self.ranges.splice(first..last, [Reported { start, end, sent_until }]);
    }

    /// One copy of the segment that begins at `start` was reported: whether that was the last.
    pub(super) fn is_last_copy(&mut self, start: u64) -> bool {
        let Some(at) = self.on_the_way.iter().position(|(begins, _)| *begins == start) else { return true };
        self.on_the_way[at].1 -= 1;
        let is_last = self.on_the_way[at].1 == 0;
        if is_last {
            self.on_the_way.remove(at);
        }
        is_last
    }

    /// Everything below `una` is acknowledged.
    pub(super) fn forget(&mut self, una: u64) {
        self.on_the_way.retain(|(start, _)| *start >= una);
        let gone = self.ranges.partition_point(|range| range.end <= una);
        self.ranges.drain(..gone);
    }
}

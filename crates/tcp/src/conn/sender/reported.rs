//! Data that nodes of the network reported as corrupted, and that is not acknowledged.

use super::scoreboard::Scoreboard;
use crate::config::Config;
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// Data that was reported as corrupted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notified {
    /// Bytes that were, and are not acknowledged; in order, apart from one another.
    ranges: Vec<Reported>,
    /// Reported ranges that must still be retransmitted, in the order of sequence.
    due: VecDeque<(u64, u64)>,
    /// Ranges whose first segment has left; the others leave as the window permits.
    rest: VecDeque<(u64, u64)>,
    /// Copies that are still to leave, of this segment.
    copies: Option<(u64, u32)>,
    /// Segments with copies on their way: start, and copies that were not reported.
    on_the_way: VecDeque<(u64, u32)>,
    /// Shortest time from the departure of a segment to its report; none before the first such report. Only segments that were
    /// sent once count.
    pub(super) fastest: Option<Duration>,
    /// When the oldest segment was last retransmitted because an ACK was marked.
    marked_at: Option<Time>,
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

/// The next segment of the ranges whose first one has left.
pub(super) enum Rest {
    /// This one leaves: its index and its start.
    Leaves(u64, u64),
    /// The window has no room for it.
    NoRoom,
}

impl Notified {
    /// Returns the copies of a configuration.
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
    /// An ACK reports that corruption caused its hole at `una`. Whether that counts: at most once in a round trip of `srtt`.
    pub(super) fn takes_mark(&mut self, now: Time, una: u64, srtt: Option<Duration>) -> bool {
        let since = self.marked_at.map(|at| now.saturating_since(at));
        if since.zip(srtt).is_some_and(|(since, srtt)| since < srtt) {
            return false;
        }
        self.marked_at = Some(now);
        // A marked ACK speaks of all copies: the receiver has none.
        self.forget_copies(una);
        true
    }

    /// Copies of the segment that begins at `start` are not on their way: the receiver has none.
    fn forget_copies(&mut self, start: u64) {
        self.on_the_way.retain(|(begins, _)| *begins != start);
    }

    /// Segment `index`, which begins at `start`, leaves, and is to leave `copies` times in all.
    pub(super) fn begin_copies(&mut self, index: u64, start: u64, copies: u32) {
        if copies >= 2 {
            self.copies = Some((index, copies - 1));
            self.on_the_way.push_back((start, copies));
        }
    }

    /// Returns the segment whose copy leaves now, if it is still outstanding.
    pub(super) fn take_copy(&mut self, board: &Scoreboard) -> Option<u64> {
        let (index, left) = self.copies.take()?;
        if board.sent.range_of(index).len == 0 || board.sent.is_sacked(index) {
            return None;
        }
        self.copies = (left > 1).then_some((index, left - 1));
        Some(index)
    }

    /// The next reported segment that leaves regardless of the window, `una` being the first byte outstanding.
    pub(super) fn next_due(&mut self, una: u64, board: &Scoreboard) -> Option<u64> {
        loop {
            let due = self.due.front_mut()?;
            let found = board.sent.segment_from(due.0.max(una)).filter(|found| found.1.start < due.1);
            let Some((index, range)) = found else {
                self.due.pop_front();
                continue;
            };
            if board.sent.is_pending(index) {
                return Some(index);
            }
            due.0 = range.start + u64::from(range.len);
        }
    }

    /// The segment that is due, and ends at `end`, leaves. With `keeps_rest` the others of its range wait. The detectors of losses
    /// take them for segments on their way.
    pub(super) fn on_due_sent(&mut self, end: u64, keeps_rest: bool) {
        if let Some(due) = self.due.front_mut() {
            due.0 = end;
        }
        if keeps_rest {
            self.rest.extend(self.due.pop_front().filter(|(start, end)| start < end));
        }
    }

    /// A timeout retransmits the segments that wait.
    pub(super) fn forget_rest(&mut self) {
        self.rest.clear();
    }

    /// The next segment that [waits](Self::on_due_sent), if the `window` has room.
    pub(super) fn next_of_rest(&mut self, una: u64, window: u64, board: &Scoreboard) -> Option<Rest> {
        loop {
            let (start, end) = *self.rest.front()?;
            let found = board.sent.segment_from(start.max(una)).filter(|found| found.1.start < end);
            let Some((index, range)) = found else {
                self.rest.pop_front();
                continue;
            };
            let is_pending = board.sent.is_pending(index);
            if is_pending {
                let waiting: u64 = self.rest.iter().map(|range| board.sent.unsacked_in(*range)).sum();
                let in_flight = board.pipe().saturating_sub(waiting);
                if in_flight + u64::from(range.len) > window {
                    return Some(Rest::NoRoom);
                }
            }
            self.rest[0].0 = range.start + u64::from(range.len);
            if is_pending {
                return Some(Rest::Leaves(index, range.start));
            }
        }
    }
}

//! Data that arrived: in order up to RCV.NXT, and in runs beyond it.

use crate::segment::SackBlocks;
use bentpipe_units::Seq;
use std::collections::VecDeque;

/// The peer's data. Positions are offsets from its first byte.
#[derive(Clone, Debug)]
pub(crate) struct Reassembly {
    /// Next byte expected (RFC 9293: RCV.NXT).
    pub(super) nxt: u64,
    /// Runs beyond `nxt`, sorted, not touching.
    pub(super) runs: VecDeque<(u64, u64)>,
    /// Bytes of all runs.
    pub(super) beyond: u64,
    /// Left edges of the runs that changed last, the newest first.
    recent: [u64; 4],
    /// A gap opened or was filled since the last report.
    has_gap_news: bool,
    /// Data that arrived twice and was not reported yet (RFC 2883).
    pub(super) duplicate: Option<(u64, u64)>,
    /// Position after the peer's last byte, once its FIN was seen.
    pub(super) fin_at: Option<u64>,
    pub(super) is_finished: bool,
}

impl Default for Reassembly {
    fn default() -> Self {
        Self {
            nxt: 0,
            runs: VecDeque::new(),
            beyond: 0,
            recent: [u64::MAX; 4],
            has_gap_news: false,
            duplicate: None,
            fin_at: None,
            is_finished: false,
        }
    }
}

impl Reassembly {
    /// The FIN counts once everything before it arrived.
    #[inline]
    pub(super) fn finish(&mut self) {
        if self.fin_at == Some(self.nxt) {
            self.is_finished = true;
        }
    }

    /// [start, end) arrived, not all of it in order. Returns how far `nxt` moved, and whether any of it was new.
    pub(super) fn add(&mut self, start: u64, end: u64) -> (u64, bool) {
        let runs = self.runs.len();
        let is_new = self.insert(start, end);
        let before = self.nxt;
        if let Some(&(left, right)) = self.runs.front() {
            if left <= self.nxt {
                self.nxt = right;
                self.beyond -= right - left;
                self.runs.pop_front();
            }
        }
        self.has_gap_news |= self.runs.len() != runs;
        (self.nxt - before, is_new)
    }

    /// The first hole is given up. Returns the run behind it, which is in order now.
    pub(super) fn skip_hole(&mut self) -> Option<(u64, u64)> {
        let run = self.runs.pop_front()?;
        self.nxt = run.1;
        self.beyond -= run.1 - run.0;
        self.has_gap_news = true;
        self.finish();
        Some(run)
    }

    /// The first part of [start, end) that arrived before.
    pub(super) fn held(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        if start < self.nxt {
            return (start < end).then_some((start, end.min(self.nxt)));
        }
        let at = self.runs.partition_point(|&(_, right)| right <= start);
        let &(left, right) = self.runs.get(at).filter(|&&(left, _)| left < end)?;
        Some((start.max(left), end.min(right)))
    }

    /// Merge [start, end) into the runs; false if it was there already.
    fn insert(&mut self, start: u64, end: u64) -> bool {
        // First run that touches or lies beyond the new one, and first that lies wholly beyond it.
        let first = self.runs.partition_point(|&(_, right)| right < start);
        let mut last = first;
        while self.runs.get(last).is_some_and(|&(left, _)| left <= end) {
            last += 1;
        }
        let merged = if first == last {
            self.runs.insert(first, (start, end));
            self.beyond += end - start;
            (start, end)
        } else {
            if self.runs[first].0 <= start && end <= self.runs[first].1 {
                self.note(self.runs[first].0);
                return false;
            }
            let merged = (self.runs[first].0.min(start), self.runs[last - 1].1.max(end));
            let before: u64 = self.runs.range(first..last).map(|(left, right)| right - left).sum();
            self.beyond += merged.1 - merged.0 - before;
            self.runs[first] = merged;
            self.runs.drain(first + 1..last);
            merged
        };
        self.note(merged.0);
        true
    }

    fn note(&mut self, left: u64) {
        let at = self.recent.iter().position(|&edge| edge == left).unwrap_or(self.recent.len() - 1);
        self.recent[..=at].rotate_right(1);
        self.recent[0] = left;
    }

    /// Runs to report, the newest first (RFC 2018 §4); before them, data that arrived twice, if `with_duplicate`
    /// (RFC 2883 §4).
    pub(crate) fn sack_blocks(&self, first_data: Seq, max: usize, with_duplicate: bool) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let mut max = max;
        if let Some((left, right)) = self.duplicate.filter(|_| with_duplicate) {
            blocks.push(first_data.at(left), first_data.at(right));
            max -= 1;
        }
        let mut reported = [u64::MAX; 4];
        let mut count = 0;
        let mut report = |(left, right): (u64, u64)| {
            if count < max && !reported[..count].contains(&left) {
                reported[count] = left;
                count += 1;
                blocks.push(first_data.at(left), first_data.at(right));
            }
            count < max
        };
        for &edge in &self.recent {
            let at = self.runs.partition_point(|&(left, _)| left <= edge);
            if let Some(&run) = at.checked_sub(1).and_then(|i| self.runs.get(i)).filter(|run| edge < run.1) {
                report(run);
            }
        }
        // Those that changed last may be acknowledged meanwhile. Then others, as many as there is room for, the next holes first.
        self.runs.iter().take_while(|&&run| report(run)).for_each(drop);
        blocks
    }

    /// Whether a gap opened or was filled since the last call.
    pub(super) fn take_gap_news(&mut self) -> bool {
        std::mem::take(&mut self.has_gap_news)
    }

    /// Returns the first missing range, before data that begins beyond `offset`.
    pub(super) fn hole_after(&self, offset: u64) -> Option<(u64, u64)> {
        let at = self.runs.partition_point(|&(left, _)| left <= offset);
        let &(end, _) = self.runs.get(at)?;
        Some((at.checked_sub(1).map_or(self.nxt, |before| self.runs[before].1), end))
    }

    /// Returns the end of the run that contains the byte at `offset`; `offset` if it has not arrived.
    pub(super) fn reach(&self, offset: u64) -> u64 {
        if offset < self.nxt {
            return self.nxt;
        }
        let at = self.runs.partition_point(|&(_, right)| right <= offset);
        self.runs.get(at).filter(|&&(left, _)| left <= offset).map_or(offset, |&(_, right)| right)
    }

    /// Whether all of [start, end) is there, out of order.
    pub(super) fn holds(&self, start: u64, end: u64) -> bool {
        let at = self.runs.partition_point(|&(_, right)| right < end);
        self.runs.get(at).is_some_and(|&(left, _)| left <= start)
    }
}

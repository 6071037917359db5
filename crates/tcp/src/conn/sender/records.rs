//! Ends of an application's records (SCPS-TP, CCSDS 714.0-B, Record Boundary). No segment contains parts of two
//! records, and the last one of a record is flagged.

use std::collections::VecDeque;

/// Ends of records that were not acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    ends: VecDeque<u64>,
}

impl Records {
    /// A record ends at this offset.
    pub(super) fn push(&mut self, end: u64) {
        if self.ends.back().is_none_or(|&last| last < end) {
            self.ends.push_back(end);
        }
    }

    /// The first end beyond `offset`.
    pub(super) fn next_end(&self, offset: u64) -> Option<u64> {
        self.ends.get(self.ends.partition_point(|&end| end <= offset)).copied()
    }

    /// Whether a record ends at `offset`; those up to `una` are forgotten.
    pub(crate) fn has_end(&mut self, offset: u64, una: u64) -> bool {
        while self.ends.front().is_some_and(|&end| end <= una) {
            self.ends.pop_front();
        }
        self.ends.binary_search(&offset).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_found_until_they_are_acknowledged() {
        let mut records = Records::default();
        [1000, 1000, 2500, 4000].into_iter().for_each(|end| records.push(end));
        assert_eq!([0, 999, 1000, 4000].map(|at| records.next_end(at)), [Some(1000), Some(1000), Some(2500), None]);
        assert!(records.has_end(2500, 0) && !records.has_end(2400, 0) && !records.has_end(1000, 1000));
    }
}

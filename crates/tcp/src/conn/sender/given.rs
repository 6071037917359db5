//! Data that a subflow was given, in the order of the data.

use std::collections::VecDeque;

/// Ranges of data. Offsets below the first data that are not acknowledged say nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    /// Sorted, not touching.
    runs: VecDeque<(u64, u64)>,
}

impl Given {
    /// [start, end) are given.
    pub(crate) fn add(&mut self, start: u64, end: u64) {
        match self.runs.back_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => self.merge(start, end),
        }
    }

    fn merge(&mut self, start: u64, end: u64) {
        let first = self.runs.partition_point(|run| run.1 < start);
        let touching = self.runs.range(first..).take_while(|run| run.0 <= end).count();
        if touching == 0 {
            return self.runs.insert(first, (start, end));
        }
        let right = self.runs[first + touching - 1].1.max(end);
        self.runs[first] = (self.runs[first].0.min(start), right);
        self.runs.drain(first + 1..first + touching);
    }

    /// Forgets runs below `una`.
    pub(crate) fn release(&mut self, una: u64) {
        while self.runs.front().is_some_and(|run| run.1 <= una) {
            self.runs.pop_front();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.runs.clear();
    }

    /// Whether any byte of [start, end) was given.
    pub(crate) fn has_any(&self, start: u64, end: u64) -> bool {
        let at = self.runs.partition_point(|run| run.1 <= start);
        self.runs.get(at).is_some_and(|run| run.0 < end)
    }

    /// Returns the first bytes from `from` on that were not given, up to the next given one or to the end of all numbers.
    pub(crate) fn gap(&self, from: u64) -> (u64, u64) {
        let at = self.runs.partition_point(|run| run.1 <= from);
        let start = |at: usize| self.runs.get(at).map_or(u64::MAX, |run| run.0);
        if start(at) > from {
            return (from, start(at));
        }
        (self.runs[at].1, start(at + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A subflow that carries all data gets every second piece late: the work of a question does not grow with the pieces.
    #[test]
    fn pieces_that_close_gaps_are_one_run() {
        let mut given = Given::default();
        for piece in 0..10_000 {
            given.add(2000 * piece + 1000, 2000 * piece + 2000);
            assert!(given.runs.len() <= 2);
            given.add(2000 * piece, 2000 * piece + 1000);
            assert_eq!(given.runs.len(), 1);
        }
        assert_eq!(given.gap(0), (20_000_000, u64::MAX));
    }

    proptest! {
        /// As a list of all that were given says, byte by byte.
        #[test]
        fn ranges_are_those_of_their_bytes(
            pieces in prop::collection::vec((0u64..200, 1u64..20, 0u64..60), 0..60),
            extents in prop::collection::vec((0u64..240, 1u64..30), 20),
        ) {
            let (mut given, mut bytes, mut una) = (Given::default(), vec![false; 300], 0);
            for (start, len, acked) in pieces {
                given.add(start, start + len);
                (start..start + len).for_each(|byte| bytes[byte as usize] = true);
                una = una.max(acked);
                given.release(una);
                prop_assert!(given.runs.iter().zip(given.runs.iter().skip(1)).all(|(one, next)| one.1 < next.0));
            }
            for (start, len) in extents.into_iter().map(|(start, len)| (start.max(una), len)) {
                let is_given = |byte: &u64| bytes[*byte as usize];
                prop_assert_eq!(given.has_any(start, start + len), (start..start + len).any(|byte| is_given(&byte)));
                let lacking = (start..300).find(|byte| !is_given(byte)).expect("none beyond 220");
                let next = (lacking..300).find(is_given).unwrap_or(u64::MAX);
                prop_assert_eq!(given.gap(start), (lacking, next));
            }
        }
    }
}

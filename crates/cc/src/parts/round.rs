//! Counts round trips of data by sequence numbers.

use crate::PathState;

/// Current round trip of data, by sequence number.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Round {
    /// SND.NXT at its start.
    end: u64,
}

impl Round {
    /// Whether this ACK ends the round trip. If so, the next one begins.
    #[inline]
    pub(crate) fn is_over(&mut self, path: &PathState) -> bool {
        let is_over = path.snd_una > self.end;
        if is_over {
            self.begin(path);
        }
        is_over
    }

    /// Begins a round trip now.
    #[inline]
    pub(crate) fn begin(&mut self, path: &PathState) {
        self.end = path.snd_nxt;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbench::path;

    #[test]
    fn a_round_trip_is_over_when_what_was_sent_after_its_start_is_acknowledged() {
        let mut round = Round::default();
        let mut at = |snd_una, snd_nxt| round.is_over(&PathState { snd_una, snd_nxt, ..path(0) });
        assert_eq!(
            [at(1, 10), at(9, 18), at(10, 19), at(11, 20), at(20, 29), at(21, 30)].map(u8::from),
            [1, 0, 0, 1, 0, 1]
        );
    }
}

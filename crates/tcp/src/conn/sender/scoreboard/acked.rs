//! Send times of the segments that an ACK delivers, for round-trip samples.

use super::{Sent, SACKED};
use bentpipe_units::Time;

/// Data that an ACK delivers, cumulatively or selectively, for round-trip samples. Data SACKed before is not part of
/// it, because it arrived long ago.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    /// When the first and the last segment that it delivers were sent; [`Time::NEVER`]: it delivers none.
    oldest: Time,
    newest: Time,
    /// It covers a retransmitted segment: all acknowledged data may have waited for that one.
    pub(crate) is_ambiguous: bool,
}

impl Default for Acked {
    fn default() -> Self {
        Self { oldest: Time::NEVER, newest: Time::NEVER, is_ambiguous: false }
    }
}

impl Acked {
    #[inline(always)]
    pub(super) fn note(&mut self, sent: &Sent) {
        self.is_ambiguous |= sent.retransmits > 0;
        if !sent.has(SACKED) {
            // Segments come in the order of sequence, and those that were sent once in that of time.
            self.oldest = self.oldest.min(sent.xmit_ts);
            self.newest = sent.xmit_ts;
        }
    }

    /// When the first segment that it delivers was sent: the round trip that a timer has to wait for.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<Time> {
        (self.oldest != Time::NEVER).then_some(self.oldest)
    }

    /// When the last segment that it delivers was sent, if the ACK can be of no other transmission: the round trip of the path.
    #[inline]
    pub(crate) fn newest(&self) -> Option<Time> {
        (self.newest != Time::NEVER && !self.is_ambiguous).then_some(self.newest)
    }

    /// Whether a segment that was sent at `xmit_ts` is among what it delivers.
    pub(crate) fn delivers(&self, xmit_ts: Time) -> bool {
        self.newest != Time::NEVER && self.oldest <= xmit_ts && xmit_ts <= self.newest
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Scoreboard, SeqRange};
    use super::*;
    use bentpipe_units::Duration;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Four segments of 1000 bytes, 10 ms apart.
    fn four() -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..4).for_each(|i| board.push(SeqRange { start: i * 1000, len: 1000, has_fin: false }, at(10 * i)));
        board
    }

    #[test]
    fn a_plain_ack_samples_the_first_and_the_last_segment_that_it_delivers() {
        let acked = four().ack(3000);
        assert_eq!((acked.oldest(), acked.newest()), (Some(at(0)), Some(at(20))));
        assert!(acked.delivers(at(10)) && !acked.delivers(at(30)));
        assert_eq!(Acked::default().oldest(), None);
        assert!(!Acked::default().delivers(at(0)));
    }

    #[test]
    fn what_was_sacked_before_gives_no_sample() {
        let (mut board, mut acked) = (four(), Acked::default());
        board.sack(1000, 3000, &mut acked);
        assert_eq!((acked.oldest(), acked.newest()), (Some(at(10)), Some(at(20))), "news when it is SACKed");
        // The hole is filled late, by the original.
        let acked = board.ack(3000);
        assert_eq!((acked.oldest(), acked.newest()), (Some(at(0)), Some(at(0))));
    }

    #[test]
    fn an_ack_that_covers_a_retransmission_is_ambiguous() {
        let mut board = four();
        board.retransmit(0, at(500), true);
        let acked = board.ack(4000);
        assert!(acked.is_ambiguous && acked.newest().is_none(), "all of it may have waited for the first segment");
        let (mut board, mut sacked) = (four(), Acked::default());
        board.retransmit(1, at(500), true);
        board.sack(1000, 3000, &mut sacked);
        assert!(sacked.is_ambiguous && sacked.newest().is_none());
    }
}

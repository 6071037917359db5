//! Losses that the receiver reports itself.

use super::{Scoreboard, LOST, RESENT, SACKED};
use bentpipe_units::{Duration, Time};

impl Scoreboard {
    /// The receiver misses [left, right). All that lies in it, be it in part, is lost, but for what was sent again less than
    /// `embargo` ago: that may be on its way. Returns how many bytes were not known to be lost.
    pub(crate) fn report_hole(&mut self, now: Time, left: u64, right: u64, embargo: Duration) -> u64 {
        let first = self.ring.partition_point(|sent| sent.end() <= left);
        let before = self.lost_ever;
        for at in first..self.ring.len() {
            let sent = &self.ring[at];
            if sent.start >= right {
                break;
            }
            let is_waiting = sent.marks & (LOST | RESENT) == LOST;
            let is_embargoed = sent.resends > 0 && now < sent.sent_at + embargo;
            if !sent.is(SACKED) && !is_waiting && !is_embargoed {
                self.mark_lost_again(self.base + at as u64);
            }
        }
        self.lost_ever - before
    }
}

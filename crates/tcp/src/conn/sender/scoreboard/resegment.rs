//! Splits outstanding segments for a smaller segment size.

use super::{Scoreboard, Sent, SACKED};

impl Scoreboard {
    /// Split outstanding segments that are longer than `smss`, so that they can be retransmitted at the new size.
    pub(crate) fn resegment(&mut self, smss: u32) {
        if self.sent.segments.iter().all(|sent| sent.len <= smss) {
            return;
        }
        let old = std::mem::take(self);
        let (mut lost_end, mut high_rxt) = (None, None);
        self.sent.base = old.sent.base;
        for (index, sent) in (old.sent.base..).zip(old.sent.segments) {
            let here = self.sent.next_index();
            lost_end = lost_end.or((index == old.lost_end).then_some(here));
            high_rxt = high_rxt.or((index == old.high_rxt).then_some(here));
            // Even pieces: a short last one would leave in a separate packet, and the next change would cut another.
            let most = sent.len.div_ceil(sent.len.div_ceil(smss));
            let mut start = sent.start;
            while start < sent.end() {
                let len = ((sent.end() - start) as u32).min(most);
                let is_last = start + u64::from(len) == sent.end();
                let skip = self.sent.next_index() + 1;
                self.sent.segments.push_back(Sent { start, len, skip, has_fin: sent.has_fin && is_last, ..sent });
                start += u64::from(len);
            }
            if sent.has(SACKED) {
                self.sacked_end = self.sent.next_index();
            }
            if index < old.listed_end {
                self.listed_end = self.sent.next_index();
            }
        }
        self.sacked_segments = self.sent.segments.iter().filter(|sent| sent.has(SACKED)).count() as u64;
        self.unrepaired_bytes = old.unrepaired_bytes;
        self.lost_ever = old.lost_ever;
        self.is_detailed = old.is_detailed;
        self.detail = old.detail;
        self.restore_order();
        self.total_bytes = old.total_bytes;
        self.sacked_bytes = old.sacked_bytes;
        self.lost_bytes = old.lost_bytes;
        self.retransmitted_bytes = old.retransmitted_bytes;
        self.lost_end = lost_end.unwrap_or(self.sent.next_index());
        self.high_rxt = high_rxt.unwrap_or(self.sent.next_index());
        self.bytes_above = old.bytes_above;
        self.runs_above = old.runs_above;
    }
}

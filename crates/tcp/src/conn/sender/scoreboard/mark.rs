//! Lost segments: the only place that declares segments lost.

use super::{
    is_unrepaired, LossNotice, Scoreboard, Sent, Transmitted, DUP_THRESH, LOST, PENDING, RETRANSMITTED, SACKED,
};
use bentpipe_units::{Duration, Time};

/// Evidence for losses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Evidence {
    /// RFC 6675 §4, IsLost(): at least three SACKed runs, or more than two segments' worth of SACKed bytes, lie above.
    SackedAbove { smss: u64 },
    /// Anything SACKed lies above.
    AnySackedAbove,
    /// The highest SACKed byte is more than three segments above (FACK).
    Distance { smss: u64 },
    /// RFC 8985 §6.2 step 5: `last`, which has arrived, was sent later, and `timeout` (RACK.rtt + RACK.reo_wnd) has passed since
    /// its own sending.
    SentBefore { now: Time, last: Transmitted, timeout: Duration },
    /// RFC 8985 §6.3: the retransmission timer expired. The oldest segment is lost, and all that left at least
    /// `timeout` ago.
    SentAgo { now: Time, timeout: Duration },
    /// The retransmission timer expired: everything that is not SACKed is lost, retransmitted or not. With `forget_sacks` the SACK
    /// information goes too.
    Everything { forget_sacks: bool },
    /// The receiver misses [left, right). Segments that overlap it are lost, except those retransmitted less than `embargo` ago,
    /// which may be on their way.
    Reported { now: Time, left: u64, right: u64, embargo: Duration },
    /// Anything SACKed lies above; the same are excepted.
    Missing { now: Time, embargo: Duration },
}

/// Result of evidence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marked {
    /// Bytes that were not known to be lost, or were retransmitted since.
    pub(crate) bytes: u64,
    /// Time alone proves more of it at this instant, unless something arrives before.
    pub(crate) look_again: Time,
}

impl Scoreboard {
    /// Mark as lost what the evidence shows to be lost.
    pub(crate) fn mark(&mut self, evidence: Evidence) -> Marked {
        let before = self.lost_ever;
        let mut look_again = Time::NEVER;
        match evidence {
            Evidence::SackedAbove { smss } => self.mark_sacked_above(smss),
            Evidence::AnySackedAbove => self.mark_any_sacked_above(),
            Evidence::Distance { smss } => self.mark_by_distance(smss),
            Evidence::SentBefore { now, last, timeout } => look_again = self.mark_sent_before(now, last, timeout),
            Evidence::SentAgo { now, timeout } => self.mark_sent_ago(now, timeout),
            Evidence::Everything { forget_sacks } => self.mark_everything(forget_sacks),
            Evidence::Reported { now, left, right, embargo } => self.mark_reported(now, left, right, embargo),
            Evidence::Missing { now, embargo } => {
                let right = self.highest_sacked().map_or(0, Sent::end);
                self.mark_reported(now, 0, right, embargo);
            }
        }
        Marked { bytes: self.lost_ever - before, look_again }
    }

    /// If both conditions hold for a segment, they hold for all below it.
    fn mark_sacked_above(&mut self, smss: u64) {
        loop {
            self.settle_lost_end();
            let proven = self.runs_above >= DUP_THRESH || self.bytes_above > (DUP_THRESH - 1) * smss;
            if !proven || self.lost_end == self.sent.next_index() {
                return;
            }
            self.mark_lost_at(self.lost_end);
            self.lost_end += 1;
        }
    }

    fn mark_everything(&mut self, forget_sacks: bool) {
        let mut noted = self.detail.as_mut().and_then(|detail| detail.lost.as_mut());
        let (mut lost_ever, mut lost_retransmissions) = (self.lost_ever, self.lost_retransmissions);
        for (index, sent) in (self.sent.base..).zip(&mut self.sent.segments) {
            if forget_sacks || !sent.has(SACKED) {
                if let (Some(noted), false) = (&mut noted, is_unrepaired(sent.bits)) {
                    lost_ever += u64::from(sent.len);
                    noted.push(LossNotice { index, lost_ever });
                }
                lost_retransmissions += u32::from(sent.has(RETRANSMITTED));
                sent.bits = LOST;
            }
        }
        self.lost_retransmissions = lost_retransmissions;
        if forget_sacks {
            self.sacked_bytes = 0;
            self.sacked_end = 0;
            self.sacked_segments = 0;
        }
        let lost = self.total_bytes - self.sacked_bytes;
        self.lost_ever += lost - self.unrepaired_bytes;
        self.lost_bytes = lost;
        if let Some(detail) = &mut self.detail {
            detail.reported_bytes = 0;
        }
        self.unrepaired_bytes = lost;
        self.retransmitted_bytes = 0;
        self.bytes_above = 0;
        self.runs_above = 0;
        self.lost_end = self.sent.next_index();
        self.high_rxt = self.sent.base;
    }

    fn mark_any_sacked_above(&mut self) {
        loop {
            self.settle_lost_end();
            if self.lost_end >= self.sacked_end {
                return;
            }
            self.mark_lost_at(self.lost_end);
            self.lost_end += 1;
        }
    }

    fn highest_sacked(&self) -> Option<&Sent> {
        self.sacked_end.checked_sub(self.sent.base + 1).and_then(|at| self.sent.segments.get(at as usize))
    }

    fn mark_by_distance(&mut self, smss: u64) {
        let Some(fack) = self.highest_sacked().map(Sent::end) else { return };
        loop {
            self.settle_lost_end();
            let first = self.sent.segments.get((self.lost_end - self.sent.base) as usize);
            if first.is_none_or(|first| fack <= first.start + DUP_THRESH * smss) {
                return;
            }
            self.mark_lost_at(self.lost_end);
            self.lost_end += 1;
        }
    }

    /// Whether all outstanding segments certainly left after `last`, so that its arrival shows no loss.
    #[inline]
    pub(crate) fn all_left_after(&self, last: Transmitted) -> bool {
        !self.is_listed() && self.sent.segments.front().is_none_or(|first| !last.is_later(first.xmit_ts, first.end()))
    }

    /// Returns when to look again.
    fn mark_sent_before(&mut self, now: Time, last: Transmitted, timeout: Duration) -> Time {
        if self.is_listed() {
            return self.mark_in_list(now, last, timeout);
        }
        let mut index = self.sent.base;
        loop {
            index = self.sent.next_unsacked(index);
            let Some(next) = self.sent.segments.get((index - self.sent.base) as usize) else { return Time::NEVER };
            if !last.is_later(next.xmit_ts, next.end()) {
                return Time::NEVER;
            }
            if next.is_on_its_way() {
                if next.xmit_ts + timeout > now {
                    break;
                }
                self.mark_lost_again(index);
            }
            index += 1;
        }
        let earlier = self.sent.segments.partition_point(|next| next.xmit_ts <= last.xmit_ts);
        let earlier = self.sent.segments.range(..earlier).rev();
        let mut earlier = earlier.filter(|next| next.is_on_its_way() && last.is_later(next.xmit_ts, next.end()));
        earlier.next().map_or(Time::NEVER, |next| next.xmit_ts + timeout)
    }

    /// As `mark_sent_before`, while the order of time is in a list.
    #[inline(never)]
    fn mark_in_list(&mut self, now: Time, last: Transmitted, timeout: Duration) -> Time {
        let taken = self.detail.as_mut().and_then(|detail| detail.order.take());
        let Some(mut order) = taken else { return Time::NEVER };
        while let Some(&next) = order.0.front() {
            if !next.is_current(self.sent.base, &self.sent.segments) {
                order.0.pop_front();
                continue;
            }
            let is_earlier = last.is_later(next.xmit_ts, self.sent.end_of(next.index));
            if !is_earlier || next.xmit_ts + timeout > now {
                break;
            }
            self.mark_lost_again(next.index);
            order.0.pop_front();
        }
        // Without losses the rest left later.
        let has_earlier = order.0.front().is_some_and(|first| first.xmit_ts <= last.xmit_ts);
        let earlier = if has_earlier { order.0.partition_point(|next| next.xmit_ts <= last.xmit_ts) } else { 0 };
        let next = order.0.range(..earlier).rev().find(|next| {
            next.is_current(self.sent.base, &self.sent.segments)
                && last.is_later(next.xmit_ts, self.sent.end_of(next.index))
        });
        let again = next.map_or(Time::NEVER, |next| next.xmit_ts + timeout);
        if let Some(detail) = &mut self.detail {
            detail.order = Some(order);
        }
        again
    }

    fn mark_sent_ago(&mut self, now: Time, timeout: Duration) {
        for index in self.sent.base..self.sent.next_index() {
            let sent = &self.sent.segments[(index - self.sent.base) as usize];
            if !sent.has(SACKED) && (index == self.sent.base || !sent.has(PENDING) && sent.xmit_ts + timeout <= now) {
                self.mark_lost_again(index);
            }
        }
    }

    fn mark_reported(&mut self, now: Time, left: u64, right: u64, embargo: Duration) {
        let first = self.sent.segments.partition_point(|sent| sent.end() <= left);
        for at in first..self.sent.segments.len() {
            let sent = &self.sent.segments[at];
            if sent.start >= right {
                break;
            }
            let is_embargoed = sent.retransmits > 0 && now < sent.xmit_ts + embargo;
            if !sent.has(SACKED | PENDING) && !is_unrepaired(sent.bits) && !is_embargoed {
                self.mark_lost_again(self.sent.base + at as u64);
            }
        }
    }

    /// Segment `index` is lost, perhaps once more.
    fn mark_lost_again(&mut self, index: u64) {
        let sent = &mut self.sent.segments[(index - self.sent.base) as usize];
        let len = u64::from(sent.len);
        self.retransmitted_bytes -= if sent.has(RETRANSMITTED) { len } else { 0 };
        self.lost_bytes += if sent.has(LOST) { 0 } else { len };
        let is_news = !is_unrepaired(sent.bits);
        self.unrepaired_bytes += if is_news { len } else { 0 };
        self.lost_ever += if is_news { len } else { 0 };
        let (bits, xmit_ts) = (std::mem::replace(&mut sent.bits, LOST), sent.xmit_ts);
        self.lost_retransmissions += u32::from(bits & RETRANSMITTED != 0);
        if let (true, Some(detail)) = (bits & RETRANSMITTED != 0, &mut self.detail) {
            detail.is_lost_again |= xmit_ts >= detail.reduced_at;
        }
        self.forget_reported(bits, len);
        self.high_rxt = self.high_rxt.min(index);
        if is_news {
            self.note_lost(index, self.lost_ever);
        }
    }

    /// An episode begins, or the window was reduced again in it: only the loss of later retransmissions counts again.
    pub(crate) fn note_reduction(&mut self, now: Time) {
        if let Some(detail) = &mut self.detail {
            (detail.reduced_at, detail.is_lost_again) = (now, false);
        }
    }

    /// Whether a retransmission that left since the last reduction is newly known to be lost.
    pub(crate) fn take_lost_again(&mut self) -> bool {
        self.detail.as_mut().is_some_and(|detail| std::mem::take(&mut detail.is_lost_again))
    }

    fn mark_lost_at(&mut self, index: u64) {
        let sent = &mut self.sent.segments[(index - self.sent.base) as usize];
        if !sent.has(LOST) {
            let len = u64::from(sent.len);
            self.unrepaired_bytes += if sent.has(RETRANSMITTED) { 0 } else { len };
            sent.bits |= LOST;
            self.lost_bytes += len;
            self.lost_ever += len;
            self.note_lost(index, self.lost_ever);
        }
    }

    /// Moves the end of the lost data off SACKed segments.
    fn settle_lost_end(&mut self) {
        while self.sent.is_sacked(self.lost_end) {
            let len = self.sent.len_of(self.lost_end);
            self.lost_end += 1;
            self.leave_run(self.lost_end, len);
        }
    }
}

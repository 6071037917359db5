//! What was sent and is not yet acknowledged, segment by segment: the one owner of FlightSize and pipe.
//!
//! Segments stand in a ring in order of sequence. Each is marked SACKed, lost and resent at most once per
//! loss episode, so that all work is O(1) amortised per segment, plus O(log n) to find a SACK block's edge;
//! nothing is allocated once the ring has reached the size of the window.

mod acked;
mod copies;
mod delivery;
mod holes;
mod lost;
mod resegment;

pub(crate) use acked::Acked;
pub(crate) use delivery::{Delivery, Doubt, Newest};
pub(crate) use lost::Lost;

use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// RFC 6675: duplicate ACKs, or SACKed runs above a hole, that prove a loss.
pub(crate) const DUP_THRESH: u64 = 3;

const SACKED: u8 = 1;
const LOST: u8 = 2;
/// Sent again since it was last declared lost: it counts in pipe once more.
const RESENT: u8 = 4;

#[derive(Clone, Debug)]
struct Sent {
    start: u64,
    sent_at: Time,
    /// For a SACKed segment: an index to its right, with nothing but SACKed segments between.
    skip: u64,
    len: u32,
    marks: u8,
    /// How often it was sent again; saturates.
    resends: u16,
    has_fin: bool,
}

impl Sent {
    fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }
}

/// A range of sequence space to send, FIN included in its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) len: u32,
    pub(crate) has_fin: bool,
}

/// See the module. Indices count segments since the start of the connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    ring: VecDeque<Sent>,
    /// Index of the ring's first segment.
    base: u64,
    total_bytes: u64,
    sacked_bytes: u64,
    lost_bytes: u64,
    resent_bytes: u64,
    /// All unSACKed segments below this index are lost; it rests on an unSACKed segment or the end.
    frontier: u64,
    /// SACKed bytes and separate SACKed runs above the frontier.
    bytes_above: u64,
    runs_above: u64,
    /// Nothing below this index waits to be resent in this episode (RFC 6675: HighRxt).
    cursor: u64,
    /// One more than the highest SACKed index.
    sacked_end: u64,
    sacked_segments: u64,
    /// Lost and not sent again since.
    waiting_bytes: u64,
    /// Declared lost at any time, each time counted.
    lost_ever: u64,
    is_detailed: bool,
    /// What only some need; there with `is_detailed`.
    detail: Option<Box<Detail>>,
}

#[derive(Clone, Debug, Default)]
struct Detail {
    delivery: Delivery,
    /// Transmissions in the order of time, stale ones among them; kept for RACK only.
    order: Option<VecDeque<Transmission>>,
    /// Segments declared lost that nobody has taken yet; kept only for those who take them.
    lost: Option<Vec<Lost>>,
}

#[derive(Clone, Copy, Debug)]
struct Transmission {
    index: u64,
    sent_at: Time,
}

impl Scoreboard {
    /// Gather [`delivery`](Self::delivery) from now on; with `in_order_of_time` also what [`find_overdue`](Self::find_overdue) needs.
    pub(crate) fn set_detail(&mut self, in_order_of_time: bool) {
        self.is_detailed = true;
        let detail = self.detail.get_or_insert_with(Box::default);
        if in_order_of_time {
            detail.order = Some(VecDeque::new());
        }
    }

    /// An ACK arrived.
    pub(crate) fn begin_ack(&mut self, doubt: Doubt) {
        if let Some(detail) = &mut self.detail {
            detail.delivery = Delivery::new(doubt);
        }
    }

    /// What the ACK has delivered so far.
    pub(crate) fn delivery(&self) -> Delivery {
        self.detail.as_ref().map_or_else(Delivery::default, |detail| detail.delivery)
    }

    /// A new segment was sent at the end of the sequence.
    #[inline(always)]
    pub(crate) fn push(&mut self, range: Range, now: Time) {
        debug_assert!(self.ring.back().is_none_or(|last| last.end() == range.start));
        self.ring.push_back(Sent {
            start: range.start,
            sent_at: now,
            skip: 0,
            len: range.len,
            marks: 0,
            resends: 0,
            has_fin: range.has_fin,
        });
        self.total_bytes += u64::from(range.len);
        if self.is_detailed {
            self.note_transmission(self.end() - 1, now);
        }
    }

    /// RFC 8985 §6.2: transmissions are in the order of time, those of one instant in that of sequence.
    #[inline(never)]
    fn note_transmission(&mut self, index: u64, now: Time) {
        let Some(order) = self.detail.as_mut().and_then(|detail| detail.order.as_mut()) else { return };
        let later = order.iter().rev().take_while(|last| last.sent_at == now && last.index > index).count();
        order.insert(order.len() - later, Transmission { index, sent_at: now });
    }

    /// Everything below `offset` is acknowledged.
    pub(crate) fn ack(&mut self, offset: u64) -> Acked {
        let mut acked = Acked::default();
        while let Some(first) = self.ring.front_mut() {
            if first.end() > offset {
                if first.start < offset {
                    // Part of a segment: keep the rest, as if it had been sent as such.
                    let cut = (offset - first.start) as u32;
                    first.start = offset;
                    first.len -= cut;
                    let marks = first.marks;
                    if let (Some(detail), true) = (&mut self.detail, marks & SACKED == 0) {
                        detail.delivery.bytes += u64::from(cut);
                    }
                    self.forget(marks, u64::from(cut));
                    if marks & SACKED != 0 && self.base >= self.frontier {
                        self.bytes_above -= u64::from(cut);
                    }
                }
                break;
            }
            let (marks, len) = (first.marks, u64::from(first.len));
            acked.note(first);
            if self.is_detailed && marks & SACKED == 0 {
                if let Some(detail) = &mut self.detail {
                    detail.delivery.note(self.base, first);
                }
            }
            self.ring.pop_front();
            self.forget(marks, len);
            self.base += 1;
            if marks & SACKED != 0 {
                self.sacked_segments -= 1;
                if self.base > self.frontier {
                    self.leave_run(self.base, len);
                }
            }
        }
        self.frontier = self.frontier.max(self.base);
        self.cursor = self.cursor.max(self.base);
        acked
    }

    /// The receiver holds [left, right). Returns how many bytes of that are news; what they are joins `acked`.
    pub(crate) fn sack(&mut self, left: u64, right: u64, acked: &mut Acked) -> u64 {
        let mut index = self.base + self.ring.partition_point(|sent| sent.start < left) as u64;
        let is_detailed = self.is_detailed;
        let mut news = 0;
        loop {
            index = self.next_unsacked(index);
            let Some(sent) = self.get_mut(index) else { break };
            if sent.end() > right {
                break;
            }
            let (marks, len) = (sent.marks, u64::from(sent.len));
            acked.note(sent);
            sent.marks = SACKED;
            sent.skip = index + 1;
            news += len;
            if let Some(sent) = is_detailed.then(|| sent.clone()) {
                if let Some(detail) = &mut self.detail {
                    detail.delivery.note(index, &sent);
                }
            }
            self.sacked_bytes += len;
            self.sacked_segments += 1;
            self.waiting_bytes -= if is_waiting(marks) { len } else { 0 };
            self.lost_bytes -= if marks & LOST != 0 { len } else { 0 };
            self.resent_bytes -= if marks & RESENT != 0 { len } else { 0 };
            self.sacked_end = self.sacked_end.max(index + 1);
            if index >= self.frontier {
                let joins = u64::from(index > self.frontier && self.is_sacked(index - 1))
                    + u64::from(self.is_sacked(index + 1));
                self.runs_above = self.runs_above + 1 - joins;
                self.bytes_above += len;
            }
            index += 1;
        }
        news
    }

    /// Mark what RFC 6675 §4 IsLost() calls lost: at least three SACKed runs, or more than two segments' worth
    /// of SACKed bytes, lie above it. Both conditions hold for all segments below one that they hold for.
    pub(crate) fn mark_lost(&mut self, smss: u64) {
        loop {
            self.settle_frontier();
            let proven = self.runs_above >= DUP_THRESH || self.bytes_above > (DUP_THRESH - 1) * smss;
            if !proven || self.frontier == self.end() {
                return;
            }
            self.mark_lost_at(self.frontier);
            self.frontier += 1;
        }
    }

    /// The timer expired: everything that is not SACKed is lost, resent or not. With `forget_sacks` the SACK
    /// information goes too.
    pub(crate) fn mark_all_lost(&mut self, forget_sacks: bool) {
        let mut noted = self.detail.as_mut().and_then(|detail| detail.lost.as_mut());
        let mut lost_ever = self.lost_ever;
        for (index, sent) in (self.base..).zip(&mut self.ring) {
            if forget_sacks || !sent.is(SACKED) {
                if let (Some(noted), false) = (&mut noted, is_waiting(sent.marks)) {
                    lost_ever += u64::from(sent.len);
                    noted.push(Lost { index, lost_ever });
                }
                sent.marks = LOST;
            }
        }
        if forget_sacks {
            self.sacked_bytes = 0;
            self.sacked_end = 0;
            self.sacked_segments = 0;
        }
        let lost = self.total_bytes - self.sacked_bytes;
        self.lost_ever += lost - self.waiting_bytes;
        self.lost_bytes = lost;
        self.waiting_bytes = lost;
        self.resent_bytes = 0;
        self.bytes_above = 0;
        self.runs_above = 0;
        self.frontier = self.end();
        self.cursor = self.base;
    }

    /// Every loss was imagined: what is not SACKed is on its way, as before any was declared.
    pub(crate) fn unmark_lost(&mut self) {
        self.frontier = self.base;
        self.cursor = self.base;
        (self.bytes_above, self.runs_above) = (0, 0);
        (self.lost_bytes, self.waiting_bytes, self.resent_bytes) = (0, 0, 0);
        let mut in_run = false;
        for sent in &mut self.ring {
            let is_sacked = sent.is(SACKED);
            if is_sacked {
                self.bytes_above += u64::from(sent.len);
                self.runs_above += u64::from(!in_run);
            } else {
                sent.marks = 0;
            }
            in_run = is_sacked;
        }
    }

    /// Every segment below the highest SACKed one is lost.
    pub(crate) fn mark_holes_lost(&mut self) {
        loop {
            self.settle_frontier();
            if self.frontier >= self.sacked_end {
                return;
            }
            self.mark_lost_at(self.frontier);
            self.frontier += 1;
        }
    }

    /// Segments more than three segments below the highest SACKed byte are lost (FACK).
    pub(crate) fn mark_lost_by_distance(&mut self, smss: u64) {
        let highest = self.sacked_end.checked_sub(self.base + 1).and_then(|at| self.ring.get(at as usize));
        let Some(fack) = highest.map(Sent::end) else { return };
        loop {
            self.settle_frontier();
            let first = self.ring.get((self.frontier - self.base) as usize);
            if first.is_none_or(|first| fack <= first.start + DUP_THRESH * smss) {
                return;
            }
            self.mark_lost_at(self.frontier);
            self.frontier += 1;
        }
    }

    /// RFC 8985 §6.2 step 5: what was sent before `newest`, which has arrived, is lost once `patience` has passed since.
    /// Returns whether any is, and when to look again.
    pub(crate) fn find_overdue(&mut self, now: Time, newest: Newest, patience: Duration) -> (bool, Time) {
        let taken = self.detail.as_mut().and_then(|detail| detail.order.take());
        let Some(mut order) = taken else { return (false, Time::NEVER) };
        let mut found = false;
        while let Some(&next) = order.front() {
            if !self.is_current(next) {
                order.pop_front();
                continue;
            }
            let is_earlier = newest.is_later(next.sent_at, self.end_of(next.index));
            if !is_earlier || next.sent_at + patience > now {
                break;
            }
            self.mark_lost_again(next.index);
            order.pop_front();
            found = true;
        }
        let earlier = order.partition_point(|next| next.sent_at <= newest.sent_at);
        let last = order
            .iter()
            .take(earlier)
            .rev()
            .find(|next| self.is_current(**next) && newest.is_later(next.sent_at, self.end_of(next.index)));
        let again = last.map_or(Time::NEVER, |last| last.sent_at + patience);
        if let Some(detail) = &mut self.detail {
            detail.order = Some(order);
        }
        (found, again)
    }

    /// The timer expired: the oldest segment is lost, and with it what was sent at least `patience` ago (RFC 8985 §6.3).
    pub(crate) fn mark_overdue(&mut self, now: Time, patience: Duration) {
        for index in self.base..self.end() {
            let sent = &self.ring[(index - self.base) as usize];
            if !sent.is(SACKED) && (index == self.base || sent.sent_at + patience <= now) {
                self.mark_lost_again(index);
            }
        }
    }

    /// The next lost segment that was not resent yet.
    pub(crate) fn next_lost(&mut self) -> Option<u64> {
        if self.waiting_bytes == 0 {
            return None;
        }
        loop {
            self.cursor = self.next_unsacked(self.cursor);
            let sent = self.ring.get((self.cursor - self.base) as usize)?;
            if is_waiting(sent.marks) {
                return Some(self.cursor);
            }
            self.cursor += 1;
        }
    }

    /// The next segment that was neither SACKed nor resent and lies below a SACKed one, lost or not (RFC 6675
    /// NextSeg rule 3).
    pub(crate) fn next_unsacked_below_highest(&mut self) -> Option<u64> {
        self.cursor = self.next_unsacked(self.cursor);
        (self.cursor < self.sacked_end).then_some(self.cursor)
    }

    /// The highest segment that is not SACKed (RFC 6675 NextSeg rule 4).
    pub(crate) fn highest_unsacked(&self) -> Option<u64> {
        let from_end = self.ring.iter().rev().position(|sent| !sent.is(SACKED))?;
        Some(self.end() - 1 - from_end as u64)
    }

    /// The oldest segment outstanding.
    pub(crate) fn first(&self) -> Option<u64> {
        (!self.ring.is_empty()).then_some(self.base)
    }

    /// Segment `index` is sent again. With `counts` it enters pipe (and, in order, the cursor passes it).
    pub(crate) fn resend(&mut self, index: u64, now: Time, counts: bool) -> Range {
        let position = (index - self.base) as usize;
        let sent = &mut self.ring[position];
        sent.resends = sent.resends.saturating_add(1);
        sent.sent_at = now;
        self.note_transmission(index, now);
        let sent = &mut self.ring[position];
        if counts {
            if !sent.is(RESENT | SACKED) {
                self.waiting_bytes -= if is_waiting(sent.marks) { u64::from(sent.len) } else { 0 };
                sent.marks |= RESENT;
                self.resent_bytes += u64::from(sent.len);
            }
            self.cursor = self.cursor.max(index + 1);
        }
        Range { start: sent.start, len: sent.len, has_fin: sent.has_fin }
    }

    /// Sequence space sent and not acknowledged (RFC 5681: FlightSize).
    pub(crate) fn flight_size(&self) -> u64 {
        self.total_bytes
    }

    /// An estimate of what is in the network (RFC 6675 SetPipe()).
    pub(crate) fn pipe(&self) -> u64 {
        self.total_bytes - self.sacked_bytes - self.lost_bytes + self.resent_bytes
    }

    /// Whether segment `index` is believed lost.
    pub(crate) fn is_lost(&self, index: u64) -> bool {
        index >= self.base && self.ring.get((index - self.base) as usize).is_some_and(|sent| sent.is(LOST))
    }

    /// Whether segment `index` is SACKed.
    pub(crate) fn is_sacked(&self, index: u64) -> bool {
        index >= self.base && self.ring.get((index - self.base) as usize).is_some_and(|sent| sent.is(SACKED))
    }

    /// Sequence length of segment `index`.
    pub(crate) fn len_of(&self, index: u64) -> u64 {
        u64::from(self.ring[(index - self.base) as usize].len)
    }

    /// Segments SACKed and not yet acknowledged.
    pub(crate) fn sacked_segments(&self) -> u64 {
        self.sacked_segments
    }

    /// Bytes SACKed and not yet acknowledged.
    pub(crate) fn sacked_bytes(&self) -> u64 {
        self.sacked_bytes
    }

    /// Bytes believed lost, resent or not.
    pub(crate) fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// Bytes declared lost at any time, each time counted.
    pub(crate) fn lost_ever(&self) -> u64 {
        self.lost_ever
    }

    /// Whether something lost was not sent again yet.
    pub(crate) fn has_waiting(&self) -> bool {
        self.waiting_bytes > 0
    }

    /// Index of the segment that ends the sequence, plus one.
    pub(crate) fn next_index(&self) -> u64 {
        self.end()
    }

    /// How often the segment at `index` was sent again.
    pub(crate) fn resends_of(&self, index: u64) -> u16 {
        self.ring.get((index - self.base) as usize).map_or(0, |sent| sent.resends)
    }

    /// How often the oldest outstanding segment was sent again.
    pub(crate) fn first_resends(&self) -> u32 {
        self.ring.front().map_or(0, |sent| u32::from(sent.resends))
    }

    fn end(&self) -> u64 {
        self.base + self.ring.len() as u64
    }

    fn end_of(&self, index: u64) -> u64 {
        self.ring[(index - self.base) as usize].end()
    }

    /// Whether that was the last transmission of a segment that is neither delivered nor given up.
    fn is_current(&self, transmission: Transmission) -> bool {
        let position = transmission.index.checked_sub(self.base);
        let sent = position.and_then(|position| self.ring.get(position as usize));
        sent.is_some_and(|sent| sent.sent_at == transmission.sent_at && !sent.is(SACKED) && !is_waiting(sent.marks))
    }

    /// Segment `index` is lost, perhaps once more.
    fn mark_lost_again(&mut self, index: u64) {
        let sent = &mut self.ring[(index - self.base) as usize];
        let len = u64::from(sent.len);
        self.resent_bytes -= if sent.is(RESENT) { len } else { 0 };
        self.lost_bytes += if sent.is(LOST) { 0 } else { len };
        let is_news = !is_waiting(sent.marks);
        self.waiting_bytes += if is_news { len } else { 0 };
        self.lost_ever += if is_news { len } else { 0 };
        sent.marks = LOST;
        self.cursor = self.cursor.min(index);
        if is_news {
            self.note_lost(index, self.lost_ever);
        }
    }

    fn get_mut(&mut self, index: u64) -> Option<&mut Sent> {
        self.ring.get_mut((index - self.base) as usize)
    }

    fn forget(&mut self, marks: u8, len: u64) {
        self.total_bytes -= len;
        if marks != 0 {
            self.sacked_bytes -= if marks & SACKED != 0 { len } else { 0 };
            self.lost_bytes -= if marks & LOST != 0 { len } else { 0 };
            self.resent_bytes -= if marks & RESENT != 0 { len } else { 0 };
            self.waiting_bytes -= if is_waiting(marks) { len } else { 0 };
        }
    }

    /// The first index from `index` on that is not SACKed. Shortens the chain that it followed, so that long
    /// runs are crossed in a few steps the next time.
    fn next_unsacked(&mut self, index: u64) -> u64 {
        let mut end = index;
        while self.is_sacked(end) {
            end = self.ring[(end - self.base) as usize].skip;
        }
        let mut at = index;
        while at < end {
            at = std::mem::replace(&mut self.ring[(at - self.base) as usize].skip, end);
        }
        end
    }

    /// Move the frontier off SACKed segments.
    fn settle_frontier(&mut self) {
        while self.is_sacked(self.frontier) {
            let len = self.len_of(self.frontier);
            self.frontier += 1;
            self.leave_run(self.frontier, len);
        }
    }

    /// A SACKed segment, the left neighbour of `next`, is no longer above the frontier.
    fn leave_run(&mut self, next: u64, len: u64) {
        self.bytes_above -= len;
        if !self.is_sacked(next) {
            self.runs_above -= 1;
        }
    }

    fn mark_lost_at(&mut self, index: u64) {
        let sent = &mut self.ring[(index - self.base) as usize];
        if !sent.is(LOST) {
            let len = u64::from(sent.len);
            self.waiting_bytes += if sent.is(RESENT) { 0 } else { len };
            sent.marks |= LOST;
            self.lost_bytes += len;
            self.lost_ever += len;
            self.note_lost(index, self.lost_ever);
        }
    }
}

/// Lost, and not sent again since.
fn is_waiting(marks: u8) -> bool {
    marks & (LOST | RESENT) == LOST
}

#[cfg(test)]
mod tests;

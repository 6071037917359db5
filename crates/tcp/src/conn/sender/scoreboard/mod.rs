//! Segments that were sent and are not yet acknowledged: the only owner of FlightSize and pipe.
//!
//! A ring contains the segments in order of sequence. Each is marked SACKed, lost and retransmitted at most once per
//! loss episode. So all work is O(1) amortised per segment, plus O(log n) to find a SACK block's edge. Nothing is
//! allocated once the ring has reached the size of the window.

mod acked;
mod copies;
mod delivery;
mod mark;
mod notices;
mod order;
mod resegment;
mod ring;

pub(crate) use acked::Acked;
pub(crate) use delivery::{Delivered, Doubt, Transmitted};
pub(crate) use mark::Evidence;
pub(crate) use notices::LossNotice;

use bentpipe_units::Time;
use order::TimeOrder;
use ring::Ring;

/// RFC 6675: duplicate ACKs, or SACKed runs above a hole, that prove a loss.
pub(crate) const DUP_THRESH: u64 = 3;

const SACKED: u8 = 1;
const LOST: u8 = 2;
/// Retransmitted since it was last declared lost: it counts in pipe once more.
const RETRANSMITTED: u8 = 4;
/// Lost by the report of a node alone, and retransmitted for it: the loss is no evidence of congestion. Always with the two above.
const REPORTED: u8 = 8;
/// The retransmission that a report asks for has not left yet: nothing shows that it is lost.
const PENDING: u8 = 16;

#[derive(Clone, Debug)]
struct Sent {
    start: u64,
    xmit_ts: Time,
    /// For a SACKed segment: an index to its right; all segments between are SACKed.
    skip: u64,
    len: u32,
    bits: u8,
    /// Number of its retransmissions; saturates.
    retransmits: u16,
    has_fin: bool,
}

impl Sent {
    fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    fn has(&self, bit: u8) -> bool {
        self.bits & bit != 0
    }

    /// Whether its last transmission may be on its way: neither delivered nor given up.
    fn is_on_its_way(&self) -> bool {
        !self.has(SACKED | PENDING) && !is_unrepaired(self.bits)
    }
}

/// Changes by an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entered {
    /// Which of the segments tell of a round trip.
    pub(crate) acked: Acked,
    /// Bytes that it reported selectively for the first time.
    pub(crate) newly_sacked: u64,
}

/// A range of sequence space to send, FIN included in its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeqRange {
    pub(crate) start: u64,
    pub(crate) len: u32,
    pub(crate) has_fin: bool,
}

impl SeqRange {
    /// Its bytes without the FIN.
    #[inline]
    pub(crate) fn payload(self) -> u32 {
        self.len - u32::from(self.has_fin)
    }
}

/// All outstanding bytes. Indices count segments since the start of the connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    pub(super) sent: Ring,
    total_bytes: u64,
    sacked_bytes: u64,
    lost_bytes: u64,
    retransmitted_bytes: u64,
    /// All unSACKed segments below this index are lost; it rests on an unSACKed segment or the end.
    lost_end: u64,
    /// SACKed bytes and separate SACKed runs above `lost_end`.
    bytes_above: u64,
    runs_above: u64,
    /// RFC 6675, HighRxt: nothing below this index waits to be retransmitted in this episode.
    high_rxt: u64,
    /// One more than the highest SACKed index.
    sacked_end: u64,
    sacked_segments: u64,
    /// Lost and not retransmitted since.
    unrepaired_bytes: u64,
    /// Declared lost at any time, each time counted.
    lost_ever: u64,
    /// Retransmissions declared lost at any time.
    lost_retransmissions: u32,
    /// Segments from this index on left in the order of sequence. While some below it are outstanding, [`Detail::order`] lists
    /// all.
    listed_end: u64,
    is_detailed: bool,
    /// Optional parts; present with `is_detailed`.
    detail: Option<Box<Detail>>,
}

#[derive(Clone, Debug, Default)]
struct Detail {
    delivery: Delivered,
    /// Kept for RACK only.
    order: Option<TimeOrder>,
    /// Loss notifications not yet delivered to the controller; kept only for those that take them.
    lost: Option<Vec<LossNotice>>,
    /// Bytes of the segments that are lost by reports alone: part of `lost_bytes` and of `retransmitted_bytes`.
    reported_bytes: u64,
    /// When an episode began, or the window was reduced again in it.
    reduced_at: Time,
    /// A retransmission that left since then is lost.
    is_lost_again: bool,
    /// Data arrived, since the episode began, that was taken for lost without a report.
    has_repaired: bool,
}

impl Scoreboard {
    /// Gather [`delivery`](Self::delivery) from now on; with `in_order_of_time` also the order of time that
    /// [`Evidence::SentBefore`] needs.
    pub(crate) fn set_detail(&mut self, in_order_of_time: bool) {
        self.is_detailed = true;
        let detail = self.detail.get_or_insert_with(Box::default);
        if in_order_of_time {
            detail.order = Some(TimeOrder::default());
        }
    }

    /// An ACK arrived: everything below `advanced` is acknowledged, if it advances, and the receiver holds `sacked`. The one
    /// entrance for ACKs.
    #[inline(always)]
    pub(crate) fn enter(&mut self, advanced: Option<u64>, sacked: &[(u64, u64)]) -> Entered {
        let mut acked = match advanced {
            Some(offset) => self.ack(offset),
            None => Acked::default(),
        };
        let newly_sacked = if sacked.is_empty() { 0 } else { self.sack_all(sacked, &mut acked) };
        Entered { acked, newly_sacked }
    }

    #[inline(never)]
    fn sack_all(&mut self, sacked: &[(u64, u64)], acked: &mut Acked) -> u64 {
        sacked.iter().map(|&(left, right)| self.sack(left, right, acked)).sum()
    }

    /// An ACK is about to be entered, in detail.
    pub(crate) fn begin_ack(&mut self, doubt: Doubt) {
        if let Some(detail) = &mut self.detail {
            detail.delivery = Delivered::new(doubt);
        }
    }

    /// Data that the ACK delivered so far.
    #[inline]
    pub(crate) fn delivery(&self) -> &Delivered {
        self.detail.as_ref().map_or(&Delivered::NOTHING, |detail| &detail.delivery)
    }

    /// A new segment was sent at the end of the sequence.
    #[inline(always)]
    pub(crate) fn push(&mut self, range: SeqRange, now: Time) {
        debug_assert!(self.sent.segments.back().is_none_or(|last| last.end() == range.start));
        self.sent.segments.push_back(Sent {
            start: range.start,
            xmit_ts: now,
            skip: 0,
            len: range.len,
            bits: 0,
            retransmits: 0,
            has_fin: range.has_fin,
        });
        self.total_bytes += u64::from(range.len);
        if self.is_listed() {
            self.list_transmission(self.sent.next_index() - 1, now);
        }
    }

    /// Whether the order of time is in a list: a retransmitted segment may be outstanding. Otherwise it is the order of sequence.
    #[inline]
    fn is_listed(&self) -> bool {
        self.sent.base < self.listed_end
    }

    #[cold]
    #[inline(never)]
    fn list_transmission(&mut self, index: u64, now: Time) {
        if let Some(order) = self.detail.as_mut().and_then(|detail| detail.order.as_mut()) {
            order.add(index, now);
        }
    }

    /// Segment `index` is about to be retransmitted: from now on the order of time is in a list.
    fn list_retransmission(&mut self, index: u64, now: Time) {
        let is_listed = self.is_listed();
        let Some(order) = self.detail.as_mut().and_then(|detail| detail.order.as_mut()) else { return };
        if !is_listed {
            order.list(self.sent.base, &self.sent.segments);
        }
        order.add(index, now);
        self.listed_end = self.listed_end.max(index + 1);
    }

    /// Everything below `offset` is acknowledged.
    #[inline(always)]
    fn ack(&mut self, offset: u64) -> Acked {
        let mut acked = Acked::default();
        while let Some(first) = self.sent.segments.front_mut() {
            if first.end() > offset {
                if first.start < offset {
                    // Part of a segment: keep the rest, as if it had been sent as such.
                    let cut = (offset - first.start) as u32;
                    first.start = offset;
                    first.len -= cut;
                    let bits = first.bits;
                    if let (Some(detail), true) = (&mut self.detail, bits & SACKED == 0) {
                        detail.delivery.bytes += u64::from(cut);
                    }
                    self.forget(bits, u64::from(cut));
                    if bits & SACKED != 0 && self.sent.base >= self.lost_end {
                        self.bytes_above -= u64::from(cut);
                    }
                }
                break;
            }
            let (bits, len) = (first.bits, u64::from(first.len));
            acked.note(first);
            if self.is_detailed && bits & SACKED == 0 {
                if let Some(detail) = &mut self.detail {
                    detail.delivery.note(self.sent.base, first, false);
                }
            }
            self.sent.segments.pop_front();
            self.forget(bits, len);
            self.sent.base += 1;
            if bits & SACKED != 0 {
                self.sacked_segments -= 1;
                if self.sent.base > self.lost_end {
                    self.leave_run(self.sent.base, len);
                }
            }
        }
        self.lost_end = self.lost_end.max(self.sent.base);
        self.high_rxt = self.high_rxt.max(self.sent.base);
        acked
    }

    /// The receiver holds [left, right). Returns how many bytes of that were not known, and adds them to `acked`.
    fn sack(&mut self, left: u64, right: u64, acked: &mut Acked) -> u64 {
        let mut index = self.sent.base + self.sent.segments.partition_point(|sent| sent.start < left) as u64;
        let is_detailed = self.is_detailed;
        let mut newly = 0;
        loop {
            index = self.sent.next_unsacked(index);
            let Some(sent) = self.sent.get_mut(index) else { break };
            if sent.end() > right {
                break;
            }
            let (bits, len) = (sent.bits, u64::from(sent.len));
            acked.note(sent);
            sent.bits = SACKED;
            sent.skip = index + 1;
            newly += len;
            if let Some(sent) = is_detailed.then(|| sent.clone()) {
                if let Some(detail) = &mut self.detail {
                    detail.delivery.note(index, &sent, true);
                }
            }
            self.sacked_bytes += len;
            self.sacked_segments += 1;
            self.unrepaired_bytes -= if is_unrepaired(bits) { len } else { 0 };
            self.lost_bytes -= if bits & LOST != 0 { len } else { 0 };
            self.retransmitted_bytes -= if bits & RETRANSMITTED != 0 { len } else { 0 };
            self.forget_reported(bits, len);
            self.note_repaired(bits);
            self.sacked_end = self.sacked_end.max(index + 1);
            if index >= self.lost_end {
                let joins = u64::from(index > self.lost_end && self.sent.is_sacked(index - 1))
                    + u64::from(self.sent.is_sacked(index + 1));
                self.runs_above = self.runs_above + 1 - joins;
                self.bytes_above += len;
            }
            index += 1;
        }
        newly
    }

    /// The losses were spurious: all unSACKed segments are on their way again. Reported segments stay lost and
    /// retransmitted.
    pub(crate) fn unmark_lost(&mut self) {
        self.lost_end = self.sent.base;
        self.high_rxt = self.sent.base;
        (self.bytes_above, self.runs_above) = (0, 0);
        self.unrepaired_bytes = 0;
        self.lost_bytes = self.reported_bytes();
        self.retransmitted_bytes = self.lost_bytes;
        let mut in_run = false;
        for sent in &mut self.sent.segments {
            let is_sacked = sent.has(SACKED);
            if is_sacked {
                self.bytes_above += u64::from(sent.len);
                self.runs_above += u64::from(!in_run);
            } else if !sent.has(REPORTED) {
                sent.bits = 0;
            }
            in_run = is_sacked;
        }
        self.restore_order();
    }

    /// Segments that were reported or declared lost count as outstanding, as if neither had happened.
    pub(crate) fn forget_reports(&mut self) {
        if self.sacked_segments == 0 && self.lost_bytes == 0 {
            return;
        }
        for sent in self.sent.segments.iter_mut().filter(|sent| !sent.has(REPORTED)) {
            sent.bits = 0;
        }
        (self.sacked_bytes, self.sacked_segments, self.sacked_end) = (0, 0, 0);
        self.unmark_lost();
    }

    /// Segments that were declared lost left the list, and may be lost after all.
    fn restore_order(&mut self) {
        if let (true, Some(order)) = (self.is_listed(), self.detail.as_mut().and_then(|detail| detail.order.as_mut())) {
            order.list(self.sent.base, &self.sent.segments);
        }
    }

    /// The next lost segment that was not retransmitted yet.
    pub(crate) fn next_lost(&mut self) -> Option<u64> {
        if self.unrepaired_bytes == 0 {
            return None;
        }
        loop {
            self.high_rxt = self.sent.next_unsacked(self.high_rxt);
            let sent = self.sent.segments.get((self.high_rxt - self.sent.base) as usize)?;
            if is_unrepaired(sent.bits) {
                return Some(self.high_rxt);
            }
            self.high_rxt += 1;
        }
    }

    /// The next segment that was neither SACKed nor retransmitted and lies below a SACKed one, lost or not (RFC 6675
    /// NextSeg rule 3).
    pub(crate) fn next_unsacked_below_highest(&mut self) -> Option<u64> {
        self.high_rxt = self.sent.next_unsacked(self.high_rxt);
        while self.sent.segments.get((self.high_rxt - self.sent.base) as usize).is_some_and(|sent| sent.has(REPORTED)) {
            // Its retransmission is on its way.
            self.high_rxt = self.sent.next_unsacked(self.high_rxt + 1);
        }
        (self.high_rxt < self.sacked_end).then_some(self.high_rxt)
    }

    /// The segment to retransmit first if the oldest is missing; another one if a report had the oldest retransmitted.
    pub(crate) fn first_missing(&mut self) -> Option<u64> {
        match self.sent.segments.front() {
            Some(first) if first.has(REPORTED) => self.next_lost(),
            _ => self.sent.first(),
        }
    }

    /// Segment `index` is retransmitted. With `counts` it enters pipe (and, in order, HighRxt passes it).
    pub(crate) fn retransmit(&mut self, index: u64, now: Time, counts: bool) -> SeqRange {
        self.list_retransmission(index, now);
        let sent = &mut self.sent.segments[(index - self.sent.base) as usize];
        sent.retransmits = sent.retransmits.saturating_add(1);
        sent.bits &= !PENDING;
        sent.xmit_ts = now;
        if counts {
            if !sent.has(RETRANSMITTED | SACKED) {
                self.unrepaired_bytes -= if is_unrepaired(sent.bits) { u64::from(sent.len) } else { 0 };
                sent.bits |= RETRANSMITTED;
                self.retransmitted_bytes += u64::from(sent.len);
            }
            self.high_rxt = self.high_rxt.max(index + 1);
        }
        SeqRange { start: sent.start, len: sent.len, has_fin: sent.has_fin }
    }

    /// Sequence space sent and not acknowledged (RFC 5681: FlightSize).
    pub(crate) fn flight_size(&self) -> u64 {
        self.total_bytes
    }

    /// An estimate of the bytes in the network (RFC 6675 SetPipe()).
    pub(crate) fn pipe(&self) -> u64 {
        self.total_bytes - self.sacked_bytes - self.lost_bytes + self.retransmitted_bytes
    }

    /// Segments SACKed and not yet acknowledged.
    pub(crate) fn sacked_segments(&self) -> u64 {
        self.sacked_segments
    }

    /// Bytes SACKed and not yet acknowledged.
    pub(crate) fn sacked_bytes(&self) -> u64 {
        self.sacked_bytes
    }

    /// Bytes declared lost at any time, each time counted.
    pub(crate) fn lost_ever(&self) -> u64 {
        self.lost_ever
    }

    /// Retransmissions declared lost at any time.
    pub(crate) fn lost_retransmissions(&self) -> u32 {
        self.lost_retransmissions
    }

    /// Whether something lost was not retransmitted yet.
    pub(crate) fn has_unrepaired(&self) -> bool {
        self.unrepaired_bytes > 0
    }

    /// Bytes of them.
    pub(crate) fn unrepaired_bytes(&self) -> u64 {
        self.unrepaired_bytes
    }

    /// Whether retransmissions are outstanding, other than those that reports asked for.
    pub(crate) fn has_retransmitted(&self) -> bool {
        self.retransmitted_bytes > 0 && self.retransmitted_bytes > self.reported_bytes()
    }

    /// An episode begins: reports are compared with its losses.
    pub(crate) fn begin_episode(&mut self) {
        if let Some(detail) = &mut self.detail {
            detail.has_repaired = false;
        }
    }

    /// Whether data arrived in this episode that was taken for lost, and that no report has explained.
    pub(crate) fn has_repaired(&self) -> bool {
        self.detail.as_ref().is_some_and(|detail| detail.has_repaired)
    }

    /// Whether something lost has not arrived yet, retransmitted or not, for other evidence than reports.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost_bytes > 0 && self.lost_bytes > self.reported_bytes()
    }

    fn forget(&mut self, bits: u8, len: u64) {
        self.total_bytes -= len;
        if bits != 0 {
            self.sacked_bytes -= if bits & SACKED != 0 { len } else { 0 };
            self.lost_bytes -= if bits & LOST != 0 { len } else { 0 };
            self.retransmitted_bytes -= if bits & RETRANSMITTED != 0 { len } else { 0 };
            self.unrepaired_bytes -= if is_unrepaired(bits) { len } else { 0 };
            self.forget_reported(bits, len);
            self.note_repaired(bits);
        }
    }

    /// `len` bytes with these bits are no longer lost by reports alone, if they were.
    #[inline]
    fn forget_reported(&mut self, bits: u8, len: u64) {
        if let (true, Some(detail)) = (bits & REPORTED != 0, &mut self.detail) {
            detail.reported_bytes -= len;
        }
    }

    /// A segment with these bits arrived. A report of it that still waits for its answer was of an earlier transmission.
    #[inline]
    fn note_repaired(&mut self, bits: u8) {
        if let (true, Some(detail)) = (is_unreported(bits) && bits & PENDING == 0, &mut self.detail) {
            detail.has_repaired = true;
        }
    }

    /// Bytes that are lost by reports alone, and retransmitted for them.
    #[inline]
    fn reported_bytes(&self) -> u64 {
        self.detail.as_ref().map_or(0, |detail| detail.reported_bytes)
    }

    /// A SACKed segment, the left neighbour of `next`, is no longer above `lost_end`.
    fn leave_run(&mut self, next: u64, len: u64) {
        self.bytes_above -= len;
        if !self.sent.is_sacked(next) {
            self.runs_above -= 1;
        }
    }
}

/// Taken for lost, or retransmitted, without a report.
fn is_unreported(bits: u8) -> bool {
    bits & (LOST | RETRANSMITTED) != 0 && bits & REPORTED == 0
}

/// Lost, and not retransmitted since.
fn is_unrepaired(bits: u8) -> bool {
    bits & (LOST | RETRANSMITTED) == LOST
}

#[cfg(test)]
mod tests;

//! The receiving side: reassembly, when to acknowledge, which window to advertise.

use super::auto_buffer::Tuning;
use crate::config::{AckPolicy, DelayTimer};
use crate::segment::SackBlocks;
use bentpipe_units::{Duration, Seq, Time};
use std::collections::VecDeque;

/// See the module. Positions are offsets from the peer's first data byte.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    policy: AckPolicy,
    smss: u64,
    /// Next byte expected (RFC 9293: RCV.NXT).
    nxt: u64,
    /// Runs beyond `nxt`, sorted, not touching.
    runs: VecDeque<(u64, u64)>,
    /// Left edges of the runs that changed last, the newest first.
    recent: [u64; 4],
    /// Since it was asked last, a gap opened or was filled.
    has_gap_news: bool,
    /// What arrived twice and was not reported yet (RFC 2883).
    duplicate: Option<(u64, u64)>,
    /// Position after the peer's last byte, once its FIN was seen.
    fin_at: Option<u64>,
    is_finished: bool,

    buffer: u64,
    tuning: Option<Box<Tuning>>,
    /// Bytes in order that the application has not read; nothing accumulates while it reads at once.
    unread: u64,
    reads_at_once: bool,
    /// Right edge of the window that was advertised; never moves left.
    edge: u64,
    /// The window that was told last was zero, be it for the unit in which it is told.
    is_closed: bool,

    pending: u32,
    quick_left: u32,
    ack_now: bool,
    ack_by: Time,
}

/// What a segment brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Bytes that became available in order.
    pub(crate) delivered: u64,
    /// Whether any byte of it was new.
    pub(crate) is_new: bool,
}

impl Receiver {
    /// A buffer of `limit` bytes; with `start`, one that begins with that and grows to the limit.
    pub(crate) fn new(policy: AckPolicy, smss: u32, limit: u64, start: Option<u64>) -> Self {
        let buffer = start.map_or(limit, |start| start.min(limit));
        Self {
            policy,
            smss: u64::from(smss),
            nxt: 0,
            runs: VecDeque::new(),
            recent: [u64::MAX; 4],
            has_gap_news: false,
            duplicate: None,
            fin_at: None,
            is_finished: false,
            buffer,
            tuning: start.map(|_| Box::new(Tuning::new(limit))),
            unread: 0,
            reads_at_once: true,
            edge: buffer,
            is_closed: false,
            pending: 0,
            quick_left: policy.quick,
            ack_now: false,
            ack_by: Time::NEVER,
        }
    }

    /// Data [start, start + len) arrived, followed by a FIN if `fin`.
    #[inline]
    pub(crate) fn on_data(&mut self, now: Time, start: u64, len: u64, fin: bool) -> Arrival {
        let end = start + len;
        if fin && end <= self.edge {
            self.fin_at = Some(end);
        }
        if start == self.nxt && self.runs.is_empty() && end <= self.edge {
            return self.in_order(now, end, len);
        }
        self.out_of_order(start, end, fin)
    }

    #[inline(never)]
    fn out_of_order(&mut self, start: u64, end: u64, fin: bool) -> Arrival {
        // RFC 9293 §3.10.7.4: trim to the window; what is left may be nothing.
        let end = end.min(self.edge);
        self.duplicate = self.held(start, end);
        let start = start.max(self.nxt);
        if start >= end {
            let is_new = fin && start == end && !self.is_finished && self.nxt == end;
            self.finish();
            self.ack_now = true;
            return Arrival { delivered: 0, is_new };
        }
        let runs = self.runs.len();
        let is_new = self.insert(start, end);
        let before = self.nxt;
        if let Some(&(left, right)) = self.runs.front() {
            if left <= self.nxt {
                self.nxt = right;
                self.runs.pop_front();
            }
        }
        self.has_gap_news |= self.runs.len() != runs;
        let delivered = self.nxt - before;
        self.deliver(delivered);
        // RFC 5681 §4.2: out of order, or filling a gap: acknowledge at once.
        self.ack_now = true;
        Arrival { delivered, is_new }
    }

    /// The first part of [start, end) that arrived before.
    fn held(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        if start < self.nxt {
            return (start < end).then_some((start, end.min(self.nxt)));
        }
        let at = self.runs.partition_point(|&(_, right)| right <= start);
        let &(left, right) = self.runs.get(at).filter(|&&(left, _)| left < end)?;
        Some((start.max(left), end.min(right)))
    }

    /// An ACK leaves now.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self) {
        self.pending = 0;
        self.ack_now = false;
        self.ack_by = Time::NEVER;
        self.duplicate = None;
    }

    /// Time passed.
    pub(crate) fn on_wakeup(&mut self, now: Time) {
        if self.ack_by <= now {
            self.ack_now = true;
            self.ack_by = Time::NEVER;
        }
    }

    /// Something was not acceptable or asks for an answer.
    pub(crate) fn ack_soon(&mut self) {
        self.ack_now = true;
    }

    /// The application takes up to `bytes`; returns how many it got. An ACK follows if the window opens by two
    /// segments or half the buffer, as in BSD; RFC 9293 §3.8.6.2.2 says only when the window may move.
    pub(crate) fn read(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.unread);
        self.unread -= taken;
        let opens_by = self.new_edge() - self.edge;
        let is_worthwhile = opens_by > 0 && opens_by >= (2 * self.smss).min(self.buffer / 2);
        // Whoever was told of no window at all must not wait for more than there will ever be.
        if is_worthwhile || (self.is_closed && self.unread == 0 && taken > 0) {
            self.ack_now = true;
        }
        taken
    }

    /// Data arrived: is the buffer as large as it should be? `echoed`: how long ago the timestamp was sent that the
    /// segment echoes.
    pub(crate) fn tune(&mut self, now: Time, echoed: Option<Duration>) {
        if let Some(tuning) = &mut self.tuning {
            tuning.on_arrival(now, self.nxt, self.edge, echoed);
            self.buffer = tuning.buffer(now, self.nxt - self.unread, self.buffer);
        }
    }

    /// Whether any of [start, start + len) lies in the window (RFC 9293 §3.4).
    pub(crate) fn is_in_window(&self, start: u64, len: u64) -> bool {
        start < self.edge && start + len > self.nxt
    }

    /// Whether any of [start, start + len) lies in the window and has not arrived.
    pub(crate) fn lacks(&self, start: u64, len: u64) -> bool {
        let (start, end) = (start.max(self.nxt), (start + len).min(self.edge));
        start < end && self.held(start, end) != Some((start, end))
    }

    /// Whether data arrived in order that no ACK has acknowledged.
    pub(crate) fn has_unacknowledged(&self) -> bool {
        self.pending > 0
    }

    /// Whether the application takes everything as it comes (the default).
    pub(crate) fn set_reads_at_once(&mut self, reads_at_once: bool) {
        self.reads_at_once = reads_at_once;
    }

    /// Runs that are to be reported, the newest first (RFC 2018 §4); before them, what arrived twice, if `with_duplicate`
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
        for &edge in &self.recent {
            let at = self.runs.partition_point(|&(left, _)| left <= edge);
            let Some(&(left, right)) = at.checked_sub(1).and_then(|i| self.runs.get(i)) else { continue };
            if edge >= right || reported[..count].contains(&left) || count == max {
                continue;
            }
            reported[count] = left;
            count += 1;
            blocks.push(first_data.at(left), first_data.at(right));
        }
        blocks
    }

    /// Whether a gap opened or was filled since the last call.
    pub(crate) fn take_gap_news(&mut self) -> bool {
        std::mem::take(&mut self.has_gap_news)
    }

    /// What is missing first, before something that begins beyond `offset`.
    pub(crate) fn hole_after(&self, offset: u64) -> Option<(u64, u64)> {
        let at = self.runs.partition_point(|&(left, _)| left <= offset);
        let &(end, _) = self.runs.get(at)?;
        Some((at.checked_sub(1).map_or(self.nxt, |before| self.runs[before].1), end))
    }

    /// Whether all of [start, end) is there, out of order.
    pub(crate) fn holds(&self, start: u64, end: u64) -> bool {
        let at = self.runs.partition_point(|&(_, right)| right < end);
        self.runs.get(at).is_some_and(|&(left, _)| left <= start)
    }

    /// The window to advertise now, in units of 2^`shift` bytes.
    #[inline]
    pub(crate) fn window(&mut self, shift: u8) -> u16 {
        self.edge = self.new_edge();
        let told = ((self.edge - self.nxt) >> shift).min(65_535) as u16;
        self.is_closed = told == 0;
        told
    }

    #[inline]
    pub(crate) fn must_ack_now(&self) -> bool {
        self.ack_now
    }

    #[inline]
    pub(crate) fn next_wakeup(&self) -> Time {
        self.ack_by
    }

    /// Next sequence number expected, the peer's FIN included.
    #[inline]
    pub(crate) fn ack_offset(&self) -> u64 {
        self.nxt + u64::from(self.is_finished)
    }

    #[inline]
    pub(crate) fn has_holes(&self) -> bool {
        !self.runs.is_empty()
    }

    /// Whether something arrived twice since the last ACK.
    #[inline]
    pub(crate) fn has_duplicate(&self) -> bool {
        self.duplicate.is_some()
    }

    /// The peer's FIN and everything before it arrived.
    #[inline]
    pub(crate) fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// What is left of the window that was advertised.
    pub(crate) fn room(&self) -> u64 {
        self.edge - self.nxt
    }

    pub(crate) fn nxt(&self) -> u64 {
        self.nxt
    }

    #[inline]
    fn in_order(&mut self, now: Time, end: u64, len: u64) -> Arrival {
        self.nxt = end;
        self.deliver(len);
        if self.is_finished {
            self.ack_now = true;
        } else if len > 0 {
            self.count_segment(now);
        }
        Arrival { delivered: len, is_new: true }
    }

    #[inline]
    fn count_segment(&mut self, now: Time) {
        self.pending += 1;
        if self.quick_left > 0 {
            self.quick_left -= 1;
            self.ack_now = true;
        } else if self.pending >= self.policy.every {
            self.ack_now = true;
        } else if self.ack_by == Time::NEVER {
            self.ack_by = match self.policy.timer {
                DelayTimer::PerSegment => now + self.policy.delay,
                DelayTimer::FreeRunning { phase } => next_tick(now, self.policy.delay, phase),
            };
        }
    }

    #[inline]
    fn deliver(&mut self, bytes: u64) {
        if !self.reads_at_once {
            self.unread += bytes;
        }
        self.finish();
    }

    #[inline]
    fn finish(&mut self) {
        if self.fin_at == Some(self.nxt) {
            self.is_finished = true;
        }
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
            (start, end)
        } else {
            if self.runs[first].0 <= start && end <= self.runs[first].1 {
                self.note(self.runs[first].0);
                return false;
            }
            let merged = (self.runs[first].0.min(start), self.runs[last - 1].1.max(end));
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

    /// The right edge that the buffer allows now. It moves only by worthwhile steps (RFC 9293 §3.8.6.2.2:
    /// silly window avoidance) and never to the left.
    #[inline(always)]
    fn new_edge(&self) -> u64 {
        if self.reads_at_once {
            return (self.nxt + self.buffer).max(self.edge);
        }
        let possible = self.nxt + self.buffer.saturating_sub(self.unread);
        if self.unread == 0 || possible >= self.edge + self.smss.min(self.buffer / 2).max(1) {
            possible.max(self.edge)
        } else {
            self.edge
        }
    }
}

/// The next multiple of `period`, shifted by `phase`, after `now`.
fn next_tick(now: Time, period: Duration, phase: Duration) -> Time {
    let period = period.as_ps().max(1);
    let ticks = (now.as_ps() + phase.as_ps()) / period + 1;
    Time::from_ps((ticks * period).saturating_sub(phase.as_ps()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const D: u64 = 1000;

    fn receiver(every: u32) -> Receiver {
        Receiver::new(AckPolicy { every, ..AckPolicy::default() }, D as u32, 1 << 20, None)
    }

    /// Segment number `i` arrives; returns whether it is acknowledged at once, and the ACK sent.
    fn arrive(receiver: &mut Receiver, i: u64) -> Option<u64> {
        receiver.on_data(Time::ZERO, i * D, D, false);
        if !receiver.must_ack_now() {
            return None;
        }
        receiver.on_ack_sent();
        Some(receiver.ack_offset() / D)
    }

    /// `specs/delayed-ack.md`, test 3: five segments, the second missing.
    #[test]
    fn rfc5681_4_2_holes_are_acknowledged_at_once() {
        let mut r = receiver(2);
        assert_eq!([1, 3, 4, 5, 2].map(|i| arrive(&mut r, i - 1)), [None, Some(1), Some(1), Some(1), Some(5)]);
    }

    /// Test 4: an odd tail waits for the timer.
    #[test]
    fn odd_tails_wait_for_the_timer() {
        let mut r = receiver(2);
        assert_eq!([0, 1, 2].map(|i| arrive(&mut r, i)), [None, Some(2), None]);
        assert_eq!(r.next_wakeup(), Time::ZERO + Duration::from_millis(200));
        r.on_wakeup(r.next_wakeup());
        assert!(r.must_ack_now());
    }

    #[test]
    fn free_running_timers_fire_on_their_own_clock() {
        let (period, phase) = (Duration::from_millis(200), Duration::from_millis(30));
        let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        assert_eq!(next_tick(at(0), period, phase), at(170));
        assert_eq!(next_tick(at(170), period, phase), at(370));
    }

    #[test]
    fn quick_segments_are_acknowledged_one_by_one() {
        let mut r = Receiver::new(AckPolicy { quick: 2, ..AckPolicy::default() }, D as u32, 1 << 20, None);
        assert_eq!([0, 1, 2, 3].map(|i| arrive(&mut r, i)), [Some(1), Some(2), None, Some(4)]);
    }

    /// RFC 2018 §4: the newest run first, then the others by recency; at most four.
    #[test]
    fn rfc2018_4_newest_run_first() {
        let mut r = receiver(1);
        let blocks = |r: &Receiver| -> Vec<(u64, u64)> {
            let blocks = r.sack_blocks(Seq::new(0), 3, false);
            blocks.as_slice().iter().map(|b| (u64::from(b.0.value()) / D, u64::from(b.1.value()) / D)).collect()
        };
        arrive(&mut r, 5);
        assert_eq!(blocks(&r), [(5, 6)]);
        arrive(&mut r, 2);
        arrive(&mut r, 8);
        arrive(&mut r, 6);
        assert_eq!(blocks(&r), [(5, 7), (8, 9), (2, 3)]);
        arrive(&mut r, 7);
        assert_eq!(blocks(&r), [(5, 9), (2, 3)]);
        arrive(&mut r, 0);
        arrive(&mut r, 1);
        assert_eq!((r.ack_offset() / D, blocks(&r)), (3, vec![(5, 9)]));
    }

    /// RFC 2883 §4: the duplicate first, then the run that it lies in; once.
    #[test]
    fn rfc2883_4_duplicates_first() {
        let mut r = receiver(1);
        let blocks = |r: &Receiver| -> Vec<(u64, u64)> {
            let blocks = r.sack_blocks(Seq::new(0), 3, true);
            blocks.as_slice().iter().map(|b| (u64::from(b.0.value()), u64::from(b.1.value()))).collect()
        };
        r.on_data(Time::ZERO, 0, D, false);
        r.on_ack_sent();
        r.on_data(Time::ZERO, 0, D, false);
        assert_eq!(blocks(&r), [(0, 1000)]);
        r.on_data(Time::ZERO, 3 * D, D, false);
        assert_eq!(blocks(&r), [(3000, 4000)]);
        r.on_data(Time::ZERO, 3 * D, 500, false);
        assert_eq!(blocks(&r), [(3000, 3500), (3000, 4000)]);
        // Partly new: the part that is not.
        r.on_data(Time::ZERO, 2500, 1000, false);
        assert_eq!(blocks(&r), [(3000, 3500), (2500, 4000)]);
        r.on_ack_sent();
        assert_eq!(blocks(&r), [(2500, 4000)]);
        assert!(!r.has_duplicate());
    }

    #[test]
    fn windows_close_and_reopen_in_worthwhile_steps() {
        let mut r = Receiver::new(AckPolicy::default(), D as u32, 4 * D, None);
        r.set_reads_at_once(false);
        assert_eq!(r.window(0), 4000);
        for i in 0..4 {
            r.on_data(Time::ZERO, i * D, D, false);
        }
        assert_eq!(r.window(0), 0);
        // Beyond the window: nothing is taken.
        assert_eq!(r.on_data(Time::ZERO, 4 * D, D, false), Arrival { delivered: 0, is_new: false });
        r.on_ack_sent();
        assert_eq!((r.read(100), r.must_ack_now(), r.window(0)), (100, false, 0));
        // Two segments, or half the buffer, are worth an ACK of their own; one segment is told with the next.
        assert_eq!((r.read(900), r.must_ack_now()), (900, false));
        assert_eq!((r.read(1000), r.must_ack_now(), r.window(0)), (1000, true, 2000));
    }

    /// RFC 1122 §4.2.3.3: the window moves by a segment or half the buffer, whichever is less.
    #[test]
    fn rfc1122_4_2_3_3_windows_do_not_creep() {
        let mut r = Receiver::new(AckPolicy::default(), D as u32, 1200, None);
        r.set_reads_at_once(false);
        r.on_data(Time::ZERO, 0, 1200, false);
        assert_eq!((r.window(0), r.read(599), r.window(0)), (0, 599, 0));
        assert_eq!((r.read(1), r.must_ack_now(), r.window(0)), (1, true, 600));
    }

    #[test]
    fn a_fin_counts_once_all_before_it_arrived() {
        let mut r = receiver(1);
        r.on_data(Time::ZERO, D, D, true);
        assert!(!r.is_finished());
        r.on_data(Time::ZERO, 0, D, false);
        assert_eq!((r.is_finished(), r.ack_offset()), (true, 2 * D + 1));
        // Again, as after a lost ACK.
        assert!(!r.on_data(Time::ZERO, D, D, true).is_new);
        assert_eq!(r.ack_offset(), 2 * D + 1);
    }
}

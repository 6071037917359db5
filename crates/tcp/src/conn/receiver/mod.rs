//! The receiving side: reassembly, acknowledgements and their reports, and the advertised window.

mod ack_policy;
mod best_effort;
mod ecn;
mod explicit;
mod extras;
mod reassembly;
mod snack;
mod tuning;
mod window;

pub(crate) use best_effort::{Gap, Patience};
pub(crate) use ecn::{EcnDuty, EcnReceiver};
pub(crate) use extras::ReceiverExtras;
pub(crate) use snack::SnackReports;

use crate::config::AckPolicy;
use crate::config::BufferGrowth;
use crate::conn::clock::since;
use crate::conn::timers::{Timer, Timers};
use crate::segment::{Options, SackBlocks, Timestamps};
use ack_policy::AckDuty;
use bentpipe_units::{Duration, Seq, Time};
use reassembly::Reassembly;
use window::ReceiveWindow;

/// One end's receiving. Positions are offsets from the peer's first data byte.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    data: Reassembly,
    window: ReceiveWindow,
    duty: AckDuty,
    /// Parts of few connections.
    pub(crate) extras: Option<Box<ReceiverExtras>>,
}

/// Effect of a segment with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Bytes that became available in order.
    pub(crate) delivered: u64,
    /// Whether any byte of it was new.
    pub(crate) is_new: bool,
}

impl Receiver {
    /// A buffer of `limit` bytes. With `start`, it begins with that size and grows to the limit.
    pub(crate) fn new(policy: AckPolicy, smss: u32, limit: u64, start: Option<(u64, BufferGrowth)>) -> Self {
        Self {
            data: Reassembly::default(),
            window: ReceiveWindow::new(smss, limit, start),
            duty: AckDuty::new(policy),
            extras: None,
        }
    }

    /// Data [start, start + len) arrived, followed by a FIN if `fin`.
    #[inline(always)]
    pub(crate) fn on_data(&mut self, now: Time, start: u64, len: u64, fin: bool, timers: &mut Timers) -> Arrival {
        let end = start + len;
        if fin && end <= self.window.edge {
            self.data.fin_at = Some(end);
        }
        if start == self.data.nxt && self.data.runs.is_empty() && end <= self.window.edge {
            return self.in_order(now, end, len, timers);
        }
        self.out_of_order(start, end, fin)
    }

    #[inline(always)]
    fn in_order(&mut self, now: Time, end: u64, len: u64, timers: &mut Timers) -> Arrival {
        self.data.nxt = end;
        self.window.on_delivered(len);
        self.data.finish();
        if self.data.is_finished {
            self.duty.is_due = true;
        } else if len > 0 {
            self.duty.on_segment(now, timers);
        }
        Arrival { delivered: len, is_new: true }
    }

    #[inline(never)]
    fn out_of_order(&mut self, start: u64, end: u64, fin: bool) -> Arrival {
        // RFC 9293 §3.10.7.4: trim to the window; nothing may be left.
        let end = end.min(self.window.edge);
        self.data.duplicate = self.data.held(start, end);
        let start = start.max(self.data.nxt);
        if start >= end {
            let is_new = fin && start == end && !self.data.is_finished && self.data.nxt == end;
            self.data.finish();
            self.duty.is_due = true;
            return Arrival { delivered: 0, is_new };
        }
        let last = self.data.runs.back().map_or(self.data.nxt, |&(_, right)| right);
        let (delivered, is_new) = self.data.add(start, end);
        self.window.on_delivered(delivered);
        self.data.finish();
        // RFC 5681 §4.2: out of order, or filling a gap: acknowledge at once. Where the sender polls, only what it does not
        // expect: a new gap.
        self.duty.is_due |= !self.duty.is_polled || start > last || self.data.is_finished;
        Arrival { delivered, is_new }
    }

    /// The clock of delayed ACKs starts here, if it is free-running.
    pub(crate) fn set_phase(&mut self, phase: Duration) {
        self.duty.set_phase(phase);
    }

    /// The sender sets the number of segments per ACK.
    pub(crate) fn set_ack_ratio(&mut self, ratio: u8) {
        self.duty.every = u32::from(ratio).max(1);
    }

    /// The sender polls.
    pub(crate) fn await_polls(&mut self) {
        self.duty.await_polls();
    }

    /// An ACK leaves now.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self, timers: &mut Timers) {
        self.duty.on_sent(timers);
        self.data.duplicate = None;
    }

    /// Time passed.
    pub(crate) fn on_wakeup(&mut self, now: Time, timers: &mut Timers) {
        self.duty.is_due |= timers.take_expired(Timer::DelayedAck, now);
    }

    /// The ACK that is due waits as long as one may.
    pub(crate) fn delay_ack(&mut self, now: Time, timers: &mut Timers) {
        self.duty.delay(now, timers);
    }

    /// Something was not acceptable or asks for an answer.
    pub(crate) fn ack_soon(&mut self) {
        self.duty.is_due = true;
    }

    /// The application takes up to `bytes`; returns how many it got. An ACK follows if the window opens by two segments
    /// or half the buffer, as in BSD; RFC 9293 §3.8.6.2.2 states only when the window may move.
    pub(crate) fn read(&mut self, bytes: u64) -> u64 {
        let (taken, opens) = self.window.read(self.data.nxt, bytes);
        // After the FIN, no data comes for which the window could open.
        self.duty.is_due |= opens && !self.data.is_finished;
        taken
    }

    /// Whether the arrival of each segment counts for the buffer, if none has timestamps.
    pub(crate) fn is_tuned(&self) -> bool {
        self.window.is_tuned()
    }

    /// Whether segments are acknowledged one by one at the start, and after a pause.
    #[inline]
    pub(crate) fn has_quick_acks(&self) -> bool {
        self.duty.quick > 0
    }

    /// Data arrive, and the timeout is `rto`: was the pause before them long?
    #[inline]
    pub(crate) fn note_pause(&mut self, now: Time, rto: Duration) {
        self.duty.on_arrival(now, rto);
    }

    /// Data arrived with these `timestamps`: is the buffer as large as it should be?
    #[inline]
    pub(crate) fn tune(&mut self, now: Time, timestamps: Option<Timestamps>) {
        if self.window.is_tuned() {
            self.do_tune(now, timestamps);
        }
    }

    /// Data were entered: offers what a tuned buffer has room for. Linux acknowledges a segment that opens the window at once.
    #[inline]
    pub(crate) fn offer(&mut self) {
        if self.window.is_tuned() {
            self.duty.is_due |= self.window.offer(self.data.beyond) && !self.duty.is_polled;
        }
    }

    #[inline]
    fn do_tune(&mut self, now: Time, timestamps: Option<Timestamps>) {
        self.tune_by(now, timestamps.map(|timestamps| since(now, timestamps.echo)));
    }

    /// Tunes the receive buffer after a segment arrived. `echoed`: age of the timestamp that the segment echoes.
    pub(crate) fn tune_by(&mut self, now: Time, echoed: Option<Duration>) {
        let nxt = self.data.nxt;
        let last = self.data.runs.back().map_or(nxt, |&(_, right)| right);
        self.window.tune(now, nxt, last, echoed);
    }

    /// Bytes that wait behind a gap.
    pub(crate) fn beyond(&self) -> u64 {
        self.data.beyond
    }

    /// Whether any of [start, start + len) lies in the window (RFC 9293 §3.4).
    pub(crate) fn is_in_window(&self, start: u64, len: u64) -> bool {
        start < self.window.edge && start + len > self.data.nxt
    }

    /// Whether any of [start, start + len) lies in the window and has not arrived.
    pub(crate) fn lacks(&self, start: u64, len: u64) -> bool {
        let (start, end) = (start.max(self.data.nxt), (start + len).min(self.window.edge));
        start < end && self.data.held(start, end) != Some((start, end))
    }

    /// Returns the end of the run that contains the byte at `offset`; `offset` if it has not arrived.
    pub(crate) fn reach(&self, offset: u64) -> u64 {
        self.data.reach(offset)
    }

    /// Whether data arrived in order that no ACK has acknowledged.
    pub(crate) fn has_unacknowledged(&self) -> bool {
        self.duty.unacknowledged > 0
    }

    pub(crate) fn reads_at_once(&self) -> bool {
        self.window.reads_at_once
    }

    /// Whether the application takes everything as it comes (the default).
    pub(crate) fn set_reads_at_once(&mut self, reads_at_once: bool) {
        self.window.reads_at_once = reads_at_once;
    }

    /// Returns the next ACK's reports of runs beyond RCV.NXT.
    pub(crate) fn sack_blocks(&self, first_data: Seq, max: usize, with_duplicate: bool) -> SackBlocks {
        self.data.sack_blocks(first_data, max, with_duplicate)
    }

    /// Returns the next ACK's reports of missing or corrupted data, if SNACK was agreed on, in at most `room` bytes.
    #[inline(never)]
    pub(crate) fn snack_options(&mut self, room: usize) -> Options {
        match self.extras.as_deref_mut() {
            Some(ReceiverExtras { snack: Some(snack), .. }) => snack.options(&mut self.data, room),
            _ => Options::None,
        }
    }

    /// A packet of the peer arrived corrupted: the next ACKs report it, if SNACK was agreed on.
    pub(crate) fn on_corrupted(&mut self) {
        if let Some(ReceiverExtras { snack: Some(snack), .. }) = self.extras.as_deref_mut() {
            snack.on_corrupted();
        }
    }

    /// The window to advertise now, in units of 2^`shift` bytes.
    #[inline]
    pub(crate) fn window(&mut self, shift: u8) -> u16 {
        self.window.advertise(self.data.nxt, shift)
    }

    #[inline]
    pub(crate) fn must_ack_now(&self) -> bool {
        self.duty.is_due
    }

    /// Next sequence number expected, the peer's FIN included.
    #[inline]
    pub(crate) fn ack_offset(&self) -> u64 {
        self.data.nxt + u64::from(self.data.is_finished)
    }

    #[inline]
    pub(crate) fn has_holes(&self) -> bool {
        !self.data.runs.is_empty()
    }

    /// Whether something arrived twice since the last ACK.
    #[inline]
    pub(crate) fn has_duplicate(&self) -> bool {
        self.data.duplicate.is_some()
    }

    /// The peer's FIN and everything before it arrived.
    #[inline]
    pub(crate) fn is_finished(&self) -> bool {
        self.data.is_finished
    }

    /// The window is that of a multipath connection: this buffer bounds nothing.
    pub(crate) fn unbind_window(&mut self) {
        self.window = ReceiveWindow::unbounded();
    }

    /// The window is its own again, of `buffer` bytes.
    pub(crate) fn bind_window(&mut self, buffer: u64) {
        self.window = ReceiveWindow::from(self.data.nxt, buffer);
    }

    /// Returns the rest of the advertised window.
    pub(crate) fn room(&self) -> u64 {
        self.window.edge - self.data.nxt
    }

    #[inline]
    pub(crate) fn nxt(&self) -> u64 {
        self.data.nxt
    }
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
        receiver.on_data(Time::ZERO, i * D, D, false, &mut Timers::stopped());
        if !receiver.must_ack_now() {
            return None;
        }
        receiver.on_ack_sent(&mut Timers::stopped());
        Some(receiver.ack_offset() / D)
    }

    /// `docs/specs/delayed-ack.md`, test 3: five segments, the second missing.
    #[test]
    fn rfc5681_4_2_holes_are_acknowledged_at_once() {
        let mut r = receiver(2);
        assert_eq!([1, 3, 4, 5, 2].map(|i| arrive(&mut r, i - 1)), [None, Some(1), Some(1), Some(1), Some(5)]);
    }

    /// Test 4: an odd tail waits for the timer.
    #[test]
    fn odd_tails_wait_for_the_timer() {
        let mut r = receiver(2);
        let mut timers = Timers::stopped();
        r.on_data(Time::ZERO, 0, D, false, &mut timers);
        assert!(!r.must_ack_now());
        let due = Time::ZERO + Duration::from_millis(200);
        assert_eq!(timers.next(), due);
        r.on_wakeup(due, &mut timers);
        assert!(r.must_ack_now());
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
        r.on_data(Time::ZERO, 0, D, false, &mut Timers::stopped());
        r.on_ack_sent(&mut Timers::stopped());
        r.on_data(Time::ZERO, 0, D, false, &mut Timers::stopped());
        assert_eq!(blocks(&r), [(0, 1000)]);
        r.on_data(Time::ZERO, 3 * D, D, false, &mut Timers::stopped());
        assert_eq!(blocks(&r), [(3000, 4000)]);
        r.on_data(Time::ZERO, 3 * D, 500, false, &mut Timers::stopped());
        assert_eq!(blocks(&r), [(3000, 3500), (3000, 4000)]);
        // Partly new: the part that is not.
        r.on_data(Time::ZERO, 2500, 1000, false, &mut Timers::stopped());
        assert_eq!(blocks(&r), [(3000, 3500), (2500, 4000)]);
        r.on_ack_sent(&mut Timers::stopped());
        assert_eq!(blocks(&r), [(2500, 4000)]);
        assert!(!r.has_duplicate());
    }

    /// Data out of order take room in the buffer of Linux: each byte once.
    #[test]
    fn bytes_behind_a_gap_are_counted() {
        let mut r = receiver(1);
        let mut beyond = |i| {
            arrive(&mut r, i);
            let runs: u64 = r.data.runs.iter().map(|(left, right)| right - left).sum();
            assert_eq!(r.data.beyond, runs);
            r.data.beyond / D
        };
        assert_eq!([5, 2, 8, 6, 6, 7, 0, 1].map(&mut beyond), [1, 2, 3, 4, 4, 5, 5, 4]);
        assert_eq!([3, 4].map(beyond), [4, 0]);
    }

    /// A segment fills a gap behind which the whole buffer was held: the window is open again with the ACK of it.
    #[test]
    fn a_filled_gap_opens_the_window_of_a_tuned_buffer() {
        // Half of its memory is for payload.
        let tuned = Some((8 * D, crate::config::BufferGrowth::Linux));
        let mut r = Receiver::new(AckPolicy::default(), D as u32, 100 * D, tuned);
        for i in [1, 2, 3] {
            arrive(&mut r, i);
            r.offer();
        }
        assert_eq!(u64::from(r.window(0)), 4 * D, "it never moves left");
        arrive(&mut r, 0);
        r.offer();
        assert_eq!((r.data.nxt, u64::from(r.window(0))), (4 * D, 4 * D));
    }

    /// tcp_grow_window: a segment that opens the window is acknowledged at once. Measured on Linux 6.18, which acknowledged
    /// 833 of 833 segments of a growing window one by one, and then 104 pairs of 104.
    #[test]
    fn linux_acknowledges_each_segment_that_opens_the_window() {
        let tuned = Some((131_072, BufferGrowth::Linux));
        let mut r = Receiver::new(AckPolicy::default(), D as u32, 1 << 20, tuned);
        let mut next = 0;
        let mut acks = |r: &mut Receiver| {
            r.on_data(Time::ZERO, next * D, D, false, &mut Timers::stopped());
            next += 1;
            r.offer();
            let is_due = r.must_ack_now();
            if is_due {
                r.on_ack_sent(&mut Timers::stopped());
            }
            is_due
        };
        // From 65,000 B to 65,536 B, half of the buffer.
        assert_eq!([(); 5].map(|()| acks(&mut r)), [true, false, true, false, true]);
    }

    #[test]
    fn windows_close_and_reopen_in_worthwhile_steps() {
        let mut r = Receiver::new(AckPolicy::default(), D as u32, 4 * D, None);
        r.set_reads_at_once(false);
        assert_eq!(r.window(0), 4000);
        for i in 0..4 {
            r.on_data(Time::ZERO, i * D, D, false, &mut Timers::stopped());
        }
        assert_eq!(r.window(0), 0);
        // Beyond the window: nothing is taken.
        assert_eq!(
            r.on_data(Time::ZERO, 4 * D, D, false, &mut Timers::stopped()),
            Arrival { delivered: 0, is_new: false }
        );
        r.on_ack_sent(&mut Timers::stopped());
        assert_eq!((r.read(100), r.must_ack_now(), r.window(0)), (100, false, 0));
        // Two segments, or half the buffer, are worth an ACK of their own; one segment is reported with the next.
        assert_eq!((r.read(900), r.must_ack_now()), (900, false));
        assert_eq!((r.read(1000), r.must_ack_now(), r.window(0)), (1000, true, 2000));
    }

    /// RFC 1122 §4.2.3.3: the window moves by a segment or half the buffer, whichever is less.
    #[test]
    fn rfc1122_4_2_3_3_windows_do_not_creep() {
        let mut r = Receiver::new(AckPolicy::default(), D as u32, 1200, None);
        r.set_reads_at_once(false);
        r.on_data(Time::ZERO, 0, 1200, false, &mut Timers::stopped());
        assert_eq!((r.window(0), r.read(599), r.window(0)), (0, 599, 0));
        assert_eq!((r.read(1), r.must_ack_now(), r.window(0)), (1, true, 600));
    }

    /// RFC 9293 §3.10.7.4: after the FIN, no data can arrive, so no window is worth an ACK.
    #[test]
    fn a_window_that_opens_after_the_fin_is_not_reported() {
        let mut r = Receiver::new(AckPolicy::default(), D as u32, 4000, None);
        r.set_reads_at_once(false);
        for i in 0..4 {
            r.on_data(Time::ZERO, i * D, D, i == 3, &mut Timers::stopped());
        }
        r.on_ack_sent(&mut Timers::stopped());
        assert_eq!((r.is_finished(), r.window(0)), (true, 0));
        assert_eq!((r.read(4000), r.must_ack_now()), (4000, false));
    }

    #[test]
    fn a_fin_counts_once_all_before_it_arrived() {
        let mut r = receiver(1);
        r.on_data(Time::ZERO, D, D, true, &mut Timers::stopped());
        assert!(!r.is_finished());
        r.on_data(Time::ZERO, 0, D, false, &mut Timers::stopped());
        assert_eq!((r.is_finished(), r.ack_offset()), (true, 2 * D + 1));
        // Again, as after a lost ACK.
        assert!(!r.on_data(Time::ZERO, D, D, true, &mut Timers::stopped()).is_new);
        assert_eq!(r.ack_offset(), 2 * D + 1);
    }
}

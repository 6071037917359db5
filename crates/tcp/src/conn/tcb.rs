//! The transmission control block (RFC 9293 §3.3.1): parts of an open connection, and effects of data and ACKs.

use super::context::Context;
use super::events::Event;
use super::forms::Layers;
use super::receiver::{EcnDuty, Gap, Receiver, ReceiverExtras};
use super::sender::{Mapped, Sender, Window};
use super::timers::Timer;
use super::wire::{self, Wire};
use crate::cache::{Ended, Lesson};
use crate::segment::{Flags, Options, PlainSegment, Segment};
use bentpipe_cc::CongestionControl;
use bentpipe_cc::{ExplicitHeader, Notice, PathLesson};
use bentpipe_units::{Ecn, Seq, Time};

/// The parts of an open connection.
#[derive(Clone, Debug)]
pub(crate) struct Tcb {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) wire: Wire,
    pub(crate) cx: Context,
}

/// Arrivals.
impl Tcb {
    /// `ack`: offset that the segment acknowledges, not beyond what was sent.
    ///
    /// DEVIATION: RFC 9293 §3.10.7.4 drops segments that are not acceptable, with their ACK. Here, as in BSD, the ACK of a
    /// segment whose data are old counts: its acknowledgement is still valid.
    #[inline(always)]
    pub(crate) fn handle_ack(&mut self, now: Time, segment: Layers<'_>, ack: u64) {
        let Self { sender, wire, cx, .. } = self;
        if ack < sender.space.una {
            return;
        }
        let mut shared = None;
        if let Some(whole) = segment.whole.filter(|_| sender.extras.is_some()) {
            sender.extras.on_fourth(&mut sender.space, &mut cx.timers);
            shared = sender.extras.agreed_mapped_mut().map(|mapped| mapped.note_window(whole));
            if sender.extras.has_ecn() {
                sender.on_ecn_echo(now, ack, wire::read_ecn(segment), cx);
            }
            if sender.extras.has_ack_ratio() {
                let is_in_order = segment.is_pure() && !sender.losses.is_repairing();
                let (is_marked, cwnd) = (segment.plain.ecn == Ecn::Ce, sender.window.cc.cwnd());
                sender.extras.watch_acks(ack, is_in_order, is_marked, cwnd, &sender.space);
            }
        }
        let was_closed = sender.space.rwnd == 0;
        let is_same_window = match shared {
            Some(is_same_window) => is_same_window,
            None => wire.update_window(&segment.plain, ack, &mut sender.space, cx),
        };
        if was_closed {
            self.on_window_change(now);
        }
        let Self { sender, wire, cx, .. } = self;
        let sacked = match segment.options() {
            Options::Sack(blocks) if cx.agreed.sack => {
                let sacked = wire.read_sack(blocks.as_slice(), ack, sender.space.nxt);
                sender.losses.read_reports(sacked, &cx.config)
            }
            _ => None,
        };
        sender.on_ack(now, wire::read_ack(segment, ack, is_same_window, sacked.as_ref()), cx);
    }

    /// An ACK arrived while the window was closed. If it opened, the timer runs for the outstanding data again.
    #[cold]
    fn on_window_change(&mut self, now: Time) {
        let Self { sender: Sender { space, board, rtt, .. }, cx, .. } = self;
        if space.rwnd > 0 && board.flight_size() > 0 {
            rtt.fix(None);
            rtt.arm(now, &mut cx.timers);
        } else if space.rwnd == 0 && cx.config.rto.persist_restarts && cx.timers.is_running(Timer::Persist) {
            cx.timers.set(Timer::Persist, now + space.persist_delay(rtt.rto(), &cx.config.rto));
        }
    }

    /// The network notifies this end.
    pub(crate) fn notify(&mut self, now: Time, notice: Notice) {
        let Self { sender, wire, cx, .. } = self;
        match notice {
            Notice::Corrupted { seq, len, error_rate } => {
                if let Some(rate) = error_rate {
                    sender.on_error_rate(rate, cx);
                }
                let start = wire.acked_offset(seq, sender.space.una);
                let range = (start, start + u64::from(len));
                self.on_error_report(now, range, error_rate);
                self.sender.on_corrupted(now, range, &mut self.cx);
            }
            Notice::TooBig { seq, len, mtu } => {
                let start = wire.acked_offset(seq, sender.space.una);
                sender.on_too_big(now, (start, start + u64::from(len)), mtu, cx);
            }
            Notice::FirstCorrupted => {
                if let Some(range) = sender.extras.take_mark(now, &sender.space, &sender.board, &sender.rtt) {
                    self.on_error_report(now, range, None);
                    self.sender.on_corrupted(now, range, &mut self.cx);
                }
            }
            Notice::ErrorRate(rate) => {
                sender.on_error_rate(rate, cx);
                self.on_error_report(now, (0, 0), Some(rate));
            }
            Notice::Survival(survival) => sender.window.reducer.on_survival(survival),
            Notice::Explicit(header) => self.on_explicit(now, header, true),
        }
    }

    /// Passes the report of a node to the congestion control, as far as it is about outstanding data.
    #[cold]
    fn on_error_report(&mut self, now: Time, range: (u64, u64), rate: Option<f32>) {
        let range = self.sender.space.outstanding(range);
        if range.is_some() || rate.is_some() {
            let path = self.sender.path(now, &self.cx);
            self.sender.window.cc.on_error_report(range, rate, &path);
        }
    }

    /// The answer to a probe segment arrived: it counts if one is on its way.
    pub(crate) fn on_probe_answer(&mut self, now: Time) {
        if let Some(are_copies) = self.sender.extras.take_probe_answer() {
            let path = self.sender.path(now, &self.cx);
            self.sender.window.on_probe(are_copies, true, &path);
        }
    }

    /// A header of XCP or RCP has come. `has_begun`: data can be sent.
    pub(crate) fn on_explicit(&mut self, now: Time, header: ExplicitHeader, has_begun: bool) {
        let Some(ReceiverExtras { echo: Some(echo), .. }) = self.receiver.extras.as_deref_mut() else { return };
        echo.read(header);
        if !header.reverse.is_nan() {
            match has_begun {
                true => self.take_word(now, header.reverse),
                false => self.sender.extras.keep_word(header.reverse),
            }
        }
    }

    /// A router's word counts.
    pub(crate) fn take_word(&mut self, now: Time, word: f32) {
        let path = self.sender.path(now, &self.cx);
        self.sender.window.cc.on_explicit(f64::from(word), &path);
    }

    /// Returns the header for routers of a segment that leaves. `None`: [`feedback`](crate::Config::feedback) has none.
    pub(crate) fn explicit_header(&mut self, now: Time, segment: &Segment) -> Option<ExplicitHeader> {
        let echo = self.receiver.extras.as_mut()?.echo.as_mut()?;
        let header = self.sender.window.cc.explicit_header(&self.sender.path(now, &self.cx))?;
        let asks = segment.len > 0 || segment.flags.has(Flags::SYN);
        Some(echo.write(header, asks))
    }

    /// Data, a FIN, or both.
    #[inline(always)]
    pub(crate) fn receive_data(&mut self, now: Time, segment: Layers<'_>) {
        let Some(start) = self.wire.peers_offset(segment.plain.seq, self.receiver.nxt()) else {
            // From before the first byte.
            return self.receiver.ack_soon();
        };
        if let (Some(whole), false) = (segment.whole, self.cx.agreed.is_plain) {
            self.inspect(now, whole, start);
        }
        if self.receiver.has_quick_acks() {
            self.receiver.note_pause(now, self.sender.rtt.rto());
        }
        if segment.has_more() {
            self.receiver.tune(now, segment.timestamps.filter(|_| self.cx.agreed.timestamps));
        }
        let len = u64::from(segment.plain.len);
        let has_fin = segment.plain.flags.has(Flags::FIN);
        let arrival = self.receiver.on_data(now, start, len, has_fin, &mut self.cx.timers);
        if segment.has_more() {
            self.receiver.offer();
        }
        self.cx.counters.arrived_bytes += len;
        self.cx.counters.delivered_bytes += arrival.delivered;
        self.cx.counters.duplicate_segments += u64::from(len > 0 && !arrival.is_new);
    }

    /// A SYN brought this along.
    pub(crate) fn take_data_of_syn(&mut self, now: Time, len: u16, has_fin: bool) {
        let arrival = self.receiver.on_data(now, 0, len.into(), has_fin, &mut self.cx.timers);
        self.cx.counters.arrived_bytes += u64::from(len);
        self.cx.counters.delivered_bytes += arrival.delivered;
    }

    /// Reads the features in a segment with data: marks, the signal of slow start, the ACK ratio, records.
    #[inline(never)]
    fn inspect(&mut self, now: Time, segment: &Segment, start: u64) {
        let Self { sender, receiver, wire, cx } = self;
        let is_ce = segment.ecn == Ecn::Ce;
        cx.counters.ce_segments += u64::from(is_ce && receiver.ecn().is_some());
        match receiver.note_ecn(segment, start) {
            EcnDuty::Nothing => {}
            EcnDuty::Acknowledge => receiver.ack_soon(),
            EcnDuty::AcknowledgeBefore => {
                let (seq, ack) = (wire.ours(sender.space.nxt), wire.ack_field(receiver));
                let owed = wire.bare_segment(now, seq, ack, Flags::ACK, receiver, cx);
                wire.pending.owed = true;
                if let Some(ecn) = receiver.ecn_mut() {
                    ecn.owed = Some(Segment { flags: ecn.stamp(&owed), ..owed });
                    ecn.turn(is_ce);
                }
            }
        }
        if segment.flags.has(Flags::SLOW_START) {
            receiver.ack_soon();
        }
        if receiver.extras.as_ref().is_some_and(|extras| extras.patience.is_some()) {
            self.skip(now, segment, start);
        }
        let Self { receiver, cx, .. } = self;
        if let (Some(ratio), true) = (segment.ack_ratio, cx.agreed.ack_ratio) {
            receiver.set_ack_ratio(ratio);
        }
    }
}

/// Best effort.
impl Tcb {
    /// Data arrive that begin at `start`: data that has been missing for too long is skipped, unless they fill it.
    fn skip(&mut self, now: Time, segment: &Segment, start: u64) {
        let Self { receiver, cx, .. } = self;
        if matches!(segment.options, Options::Scps(options) if options.record_boundary) {
            cx.report(Event::RecordEnd(start + u64::from(segment.len)));
        }
        receiver.note_arrival(now, start);
        while start > receiver.nxt() {
            let Some(Gap { offset, len, delivered }) = receiver.skip_overdue(now) else { return };
            cx.counters.delivered_bytes += delivered;
            cx.counters.skipped_bytes += len;
            cx.report(Event::Skipped(offset, offset + len));
        }
    }

    /// The next data, no further than the record to which they belong.
    pub(crate) fn next_record_data(&mut self, now: Time) -> Option<Segment> {
        let Some(room) = self.sender.extras.room_in_record(&self.sender.space) else { return self.next_data(now) };
        let next_max = std::mem::replace(&mut self.sender.space.next_max, room);
        let segment = self.next_data(now);
        self.sender.space.next_max = next_max;
        segment
    }
}

/// Departures.
impl Tcb {
    /// Whether what leaves next has no options beside timestamps.
    #[inline(always)]
    pub(crate) fn sends_plainly(&self) -> bool {
        debug_assert!(!self.cx.agreed.is_plain || (!self.sender.extras.is_some() && self.receiver.extras.is_none()));
        self.cx.agreed.is_plain & !self.wire.pending.is_any() && !wire::has_sack(&self.receiver, &self.cx)
    }

    #[inline(always)]
    pub(crate) fn next_plain_data(&mut self, now: Time) -> Option<PlainSegment> {
        let sending = self.sender.poll(now, &mut self.cx)?;
        Some(self.wire.data_segment(sending, &mut self.receiver, &mut self.cx))
    }

    #[inline(always)]
    pub(crate) fn next_plain_ack(&mut self) -> Option<PlainSegment> {
        if !self.receiver.must_ack_now() {
            return None;
        }
        Some(self.wire.ack_segment(self.sender.space.nxt, &mut self.receiver, &mut self.cx))
    }

    #[inline(always)]
    pub(crate) fn next_data(&mut self, now: Time) -> Option<Segment> {
        let sending = self.sender.poll(now, &mut self.cx)?;
        let (timestamps, options) = self.wire.options(now, &mut self.receiver, &self.cx);
        let plain = self.wire.data_segment(sending, &mut self.receiver, &mut self.cx);
        Some(Segment { timestamps, options, ..plain.into() })
    }

    #[inline(always)]
    pub(crate) fn next_ack(&mut self, now: Time) -> Option<Segment> {
        if !self.receiver.must_ack_now() {
            return None;
        }
        let (timestamps, options) = self.wire.options(now, &mut self.receiver, &self.cx);
        let plain = self.wire.ack_segment(self.sender.space.nxt, &mut self.receiver, &mut self.cx);
        Some(Segment { timestamps, options, ..plain.into() })
    }

    /// Adds the features to a segment: connection count, feedback of marks, and with data those of the sender.
    #[inline(never)]
    pub(crate) fn add_features(&mut self, segment: &mut Segment) {
        let Self { sender, receiver, wire, cx } = self;
        if !matches!(segment.options, Options::Syn(_)) {
            segment.count = sender.extras.get().and_then(|extras| extras.count);
        }
        if let Some(ecn) = receiver.ecn_mut() {
            segment.flags = ecn.stamp(segment);
        }
        if segment.sequence_len() == 0 {
            if cx.agreed.ack_ratio && receiver.ecn().is_some() {
                // RFC 5690 §4.2: marks slow ACKs down before queues drop them.
                segment.ecn = Ecn::Ect0;
            }
        } else if sender.extras.is_some() {
            let start = wire.acked_offset(segment.seq, sender.space.una);
            let range = [start, sender.space.una];
            sender.extras.add_to_data(range, segment, &mut sender.window.reducer, &sender.window.cc, cx);
        }
        self.add_signal(segment);
    }

    /// The ACK that must not be merged with the next.
    pub(crate) fn take_owed(&mut self) -> Option<Segment> {
        let mut owed = self.receiver.ecn_mut()?.owed.take()?;
        self.add_signal(&mut owed);
        Some(owed)
    }

    /// Adds the multipath option of a subflow.
    pub(crate) fn add_signal(&mut self, segment: &mut Segment) {
        let Self { sender, receiver, wire, cx } = self;
        let (una, shift) = (sender.space.una, cx.agreed.rcv_shift);
        if let Some(mapped) = sender.extras.mapped_mut() {
            mapped.add_to(wire.acked_offset(segment.seq, una), segment, shift);
            if mapped.told.is_some() {
                // Beside data the option has no room. An ACK without data carries it soon.
                receiver.ack_soon();
            }
        }
    }

    /// Whether the receiver is to be polled now, when all has left that may leave.
    pub(crate) fn is_poll_due(&mut self, now: Time) -> bool {
        let Sender { space, board, rtt, window, extras, .. } = &mut self.sender;
        extras.take_poll(now, space, board.flight_size(), rtt, &window.pacer, &mut self.cx.timers)
    }

    /// Returns the answer to a probe segment, or else a due probe segment.
    pub(crate) fn next_probe_segment(&mut self, now: Time, sends_data: bool) -> Option<Segment> {
        let Self { sender, receiver, wire, cx } = self;
        let (start, len) = match receiver.take_probe_answer() {
            true => (sender.space.nxt, 0),
            false => sender.next_probe_segment(now, sends_data, cx)?,
        };
        // It leaves the receiver's duty to acknowledge, and its window, as they are.
        cx.counters.sent_segments += 1;
        let mut probe = Segment {
            seq: wire.ours(start),
            len,
            ack: wire.ack_field(receiver),
            window: (receiver.room() >> cx.agreed.rcv_shift).min(65_535) as u16,
            flags: Flags::ACK.with(Flags::DUMMY),
            timestamps: wire.stamp(now, cx),
            ..Segment::default()
        };
        self.add_signal(&mut probe);
        Some(probe)
    }

    /// A segment that asks for the peer's window: with an old sequence number, so that the peer must answer.
    ///
    /// DEVIATION: RFC 9293 §3.8.6.1 probes with a byte of new data, which would have to be kept apart from its segment. Linux
    /// probes as we do.
    pub(crate) fn window_probe(&mut self, now: Time) -> Segment {
        let Self { sender, receiver, wire, cx } = self;
        let seq = wire.iss.at(sender.space.una);
        let probe = wire.bare_segment(now, seq, wire.ack_field(receiver), Flags::ACK, receiver, cx);
        let has_byte = self.cx.config.keepalive.is_some_and(|keepalive| keepalive.byte) && self.is_idle();
        Segment { len: u16::from(has_byte), ..probe }
    }

    /// Whether nothing is outstanding and nothing waits to be sent.
    pub(crate) fn is_idle(&self) -> bool {
        let space = &self.sender.space;
        self.sender.board.flight_size() == 0 && space.nxt >= space.offered && (!space.is_closing || space.fin_is_sent())
    }

    /// A reset, with this sequence number.
    pub(crate) fn reset(&mut self, now: Time, seq: Seq) -> Segment {
        let Self { receiver, wire, cx, sender } = self;
        // RFC 8684 §3.5 and §3.6: of the options, only the reason.
        let multi = sender.extras.mapped().and_then(Mapped::farewell);
        Segment { multi, ..wire.bare_segment(now, seq, wire.ack_field(receiver), Flags::RST, receiver, cx) }
    }

    /// A complete segment leaves: the next one may have to wait for its time.
    #[inline(always)]
    pub(crate) fn pace(&mut self, now: Time, segment: &Segment) {
        if self.sender.window.is_paced {
            self.note_pace(now, segment.sequence_len() > 0, segment.len, segment.header_len());
        }
    }

    /// The same after a segment with data and without options beside timestamps.
    #[inline(always)]
    pub(crate) fn pace_plain(&mut self, now: Time, segment: &PlainSegment) {
        if self.sender.window.is_paced {
            self.note_pace(now, true, segment.len, self.cx.agreed.header_len() as u8);
        }
    }

    // `cold` only to spare unpaced connections registers.
    #[cold]
    #[inline(never)]
    fn note_pace(&mut self, now: Time, has_data: bool, len: u16, header_len: u8) {
        let Self { sender, cx, .. } = self;
        if has_data || sender.extras.paces_acks() {
            sender.pace(now, u64::from(len) + u64::from(header_len), cx);
        }
    }

    /// Whether data have to wait for pacing.
    #[inline(always)]
    pub(crate) fn is_held_by_pace(&mut self, now: Time) -> bool {
        self.sender.window.is_paced && self.must_wait(now)
    }

    /// Whether data have to wait for pacing or the network, and with a token bucket ACKs too.
    pub(crate) fn must_wait(&mut self, now: Time) -> bool {
        self.sender.window.pacer.must_wait(now, &mut self.cx.timers)
    }

    /// Returns measurements for later connections over this path.
    pub(crate) fn lesson(&self) -> Lesson {
        let Sender { window: Window { cc, .. }, rtt, .. } = &self.sender;
        let (cwnd, ssthresh) = (self.sender.losses.falling(cc.cwnd()), cc.ssthresh());
        let ended = match (self.sender.losses.is_repairing(), cwnd < ssthresh) {
            (true, _) => Ended::Recovery,
            (false, true) => Ended::SlowStart,
            (false, false) => Ended::CongestionAvoidance,
        };
        Lesson { ended, cwnd, ssthresh, rtt: rtt.srtt().map(|srtt| (srtt, rtt.rttvar())) }
    }

    /// Returns the facts of careful resume for later connections over this path.
    pub(crate) fn path_lesson(&self, now: Time) -> PathLesson {
        let Sender { space, window: Window { cc, .. }, extras, .. } = &self.sender;
        let initial_window = self.cx.config.initial_window.bytes(space.smss);
        let resume = extras.get().and_then(|extras| extras.resume.as_deref());
        resume.map_or(PathLesson::default(), |resume| resume.lesson(now, initial_window, space.una, cc))
    }

    pub(crate) fn stop_timers(&mut self) {
        let timers = &mut self.cx.timers;
        timers.stop(Timer::TimeWait);
        timers.stop(Timer::Retransmit);
        timers.stop(Timer::Persist);
        self.sender.losses.stop(timers);
        self.receiver.on_ack_sent(timers);
    }
}

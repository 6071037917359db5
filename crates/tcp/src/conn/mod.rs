//! A connection: its contract, and its parts.
//!
//! | part | decides |
//! |---|---|
//! | [`Life`](life) | the state (RFC 9293): opening, closing, resets, data in the SYN |
//! | [`Tcb`](tcb) | an open connection: the parts below, and the effects of data and ACKs on them |
//! | [`Receiver`](receiver) | reassembly, acknowledgements and their reports, the advertised window |
//! | [`Sender`](sender) | outstanding, lost and retransmitted data, the next data to send; its parts are listed there |
//! | [`Wire`](wire) | header fields from offsets, and offsets from header fields |
//! | [`Timers`](timers) | when to wake up: one table |
//! | [`Context`](context) | state that all parts share: configuration, agreement, timers, events, counters |
//!
//! This file has the calls of its contract, and their order; [`Report`] has the other queries. The parts do not use them.
//! Sender and receiver do not use each other: the TCB passes values between them.
//! `docs/develop/architecture.md` follows an ACK from part to part.

pub(crate) mod agreed;
pub(crate) mod clock;
mod context;
mod counters;
mod events;
mod forms;
mod life;
pub(crate) mod receiver;
mod report;
pub(crate) mod sender;
mod subflow;
mod tcb;
pub(crate) mod timers;
mod wire;

pub use counters::Counters;
pub use events::Event;
pub use forms::{Arrived, Sink};
pub use life::{Role, State};
pub use report::Report;
pub use sender::{Backlog, SendLimit, SharedWindow};

use crate::cache::PathCache;
use crate::config::Config;
use crate::segment::{Flags, PlainSegment, Segment, Timestamps};
use bentpipe_cc::CongestionControl;
use bentpipe_cc::Notice;
use bentpipe_units::{Duration, Seq, Time};
use context::Context;
use forms::Layers;
use life::Life;
use receiver::Receiver;
use sender::Sender;
use std::sync::Arc;
use tcb::Tcb;
use timers::Timer;
use wire::Wire;

/// One end of a TCP connection.
///
/// Its driver makes five calls. Arrivals go to [`handle`](Self::handle), notices of the network to [`notify`](Self::notify).
/// [`handle_wakeup`](Self::handle_wakeup) is due at [`next_wakeup`](Self::next_wakeup). After each of them, and after calls of
/// the application, repeat [`transmit`](Self::transmit) and [`poll`](Self::poll) until they return `None`. Then ask for the
/// next wake-up. `now` never decreases. Early wake-ups and extra calls are harmless.
///
/// ```
/// use bentpipe_tcp::{Config, Connection, Event, Role, Segment};
/// use bentpipe_units::{Duration, Seq, Time};
///
/// let mut client = Connection::new(Config::default(), Role::Active, Seq::new(7));
/// let mut server = Connection::new(Config::default(), Role::Passive, Seq::new(9));
/// let mut now = Time::ZERO;
/// client.offer(100_000);
/// client.close();
/// server.open(now);
/// client.open(now);
/// while server.poll() != Some(Event::PeerFinished) {
///     now += Duration::from_millis(250);
///     assert!(now < Time::ZERO + Duration::from_secs(4), "a handshake and four rounds take 2.5 s");
///     client.handle_wakeup(now);
///     while client.transmit(now, &mut |segment: Segment| server.handle(now, &segment)).is_some() {}
///     now += Duration::from_millis(250);
///     server.handle_wakeup(now);
///     while server.transmit(now, &mut |segment: Segment| client.handle(now, &segment)).is_some() {}
/// }
/// assert_eq!(server.counters().delivered_bytes, 100_000);
/// ```
#[derive(Clone, Debug)]
pub struct Connection {
    life: Life,
    tcb: Tcb,
}

/// Flags of segments that are not for an open connection, or do not speak of its data.
const SLOW_PATH: Flags = Flags::SYN.with(Flags::RST).with(Flags::DUMMY);

/// The contract with whoever drives it.
impl Connection {
    /// Something arrived from the peer: a segment, in one of its forms, or a corrupted packet.
    #[inline(always)]
    pub fn handle<'a>(&mut self, now: Time, arrived: impl Into<Arrived<'a>>) {
        match arrived.into() {
            Arrived::Plain(segment) => self.handle_plain(now, segment, None),
            Arrived::Stamped(segment, timestamps) => self.handle_stamped(now, segment, timestamps),
            Arrived::General(segment) => self.handle_general(now, segment),
            Arrived::Corrupted => self.tcb.receiver.on_corrupted(),
        }
    }

    /// Hands the next segment to send now to `sink`, and returns what that makes of it; `None`: none leaves before another
    /// call.
    #[must_use]
    #[inline(always)]
    pub fn transmit<S: Sink>(&mut self, now: Time, sink: &mut S) -> Option<S::Made> {
        let segment = self.next_segment(now)?;
        Some(match self.tcb.explicit_header(now, &segment) {
            Some(header) => sink.explicit(&segment, header, self.tcb.cx.config.feedback),
            None => sink.general(&segment),
        })
    }

    /// As [`transmit`](Self::transmit), in plain and stamped form only and at less cost, while the connection [sends
    /// plainly](Self::sends_plainly).
    #[must_use]
    #[inline(always)]
    pub fn transmit_plainly<S: Sink>(&mut self, now: Time, sink: &mut S) -> Option<S::Made> {
        debug_assert!(self.sends_plainly());
        let segment = self.next_plain(now)?;
        Some(match self.tcb.wire.stamp(now, &self.tcb.cx) {
            Some(timestamps) => sink.stamped(&segment, timestamps),
            None => sink.plain(&segment),
        })
    }

    /// Whether all segments to send now are plain or stamped. It holds until the next input.
    #[must_use]
    #[inline(always)]
    pub fn sends_plainly(&self) -> bool {
        self.tcb.sends_plainly() && self.life.sends_data()
    }

    /// A middlebox notifies this end. The notice counts as far as [`Config::error_reports`] and [`Config::packet_size`]
    /// heed that.
    pub fn notify(&mut self, now: Time, notice: Notice) {
        if self.life.state.is_synchronised() {
            self.tcb.notify(now, notice);
        } else if let Notice::ErrorRate(rate) = notice {
            self.tcb.sender.extras.prime_error_rate(rate);
        } else if let Notice::Explicit(header) = notice {
            self.tcb.on_explicit(now, header, false);
        }
    }

    /// The next thing that happened, oldest first.
    #[must_use]
    pub fn poll(&mut self) -> Option<Event> {
        self.tcb.cx.events.pop_front()
    }

    /// Time has passed, perhaps to [`next_wakeup`](Self::next_wakeup).
    pub fn handle_wakeup(&mut self, now: Time) {
        let Self { life, tcb } = self;
        let Tcb { sender, receiver, cx, .. } = tcb;
        receiver.on_wakeup(now, &mut cx.timers);
        if sender.is_detailed {
            sender.note_app_limited();
        }
        sender.on_loss_timers(now, cx);
        cx.timers.take_expired(Timer::Pace, now);
        if sender.rtt.take_expired(now, &mut cx.timers) {
            let is_open = life.state.is_synchronised();
            let goes_on = if is_open { sender.on_retransmit_timer(now, cx) } else { life.on_syn_timeout(tcb) };
            if !goes_on {
                life.abort(tcb);
            }
        }
        let Tcb { sender, wire, cx, .. } = tcb;
        if cx.timers.get(Timer::Persist) <= now {
            wire.pending.window_probe |= sender.space.on_persist_timer(now, sender.rtt.rto(), cx);
            wire.pending.window_probe |= sender.extras.repeats_third();
        }
        if sender.is_detailed {
            sender.notify_losses(now, cx);
        }
        if cx.timers.take_expired(Timer::TimeWait, now) {
            life.on_idle_timer(now, tcb);
        }
    }

    /// The next instant at which [`handle_wakeup`](Self::handle_wakeup) is due, or [`Time::NEVER`].
    #[inline]
    pub fn next_wakeup(&self) -> Time {
        self.tcb.cx.timers.next()
    }

    /// Whether that is before `until`. Asked often, this costs less.
    #[inline]
    pub fn wakes_before(&mut self, until: Time) -> bool {
        self.tcb.cx.timers.expire_before(until)
    }
}

/// Settings, and measurements for later connections.
impl Connection {
    /// A connection that has neither sent nor received anything. `iss` is the initial sequence number. Connections that are
    /// configured alike can share a configuration.
    pub fn new(config: impl Into<Arc<Config>>, role: Role, iss: Seq) -> Self {
        let cx = Context::new(config.into());
        let config = &*cx.config;
        let buffer = config.receive_buffer.min(if config.window_scaling { Config::RECEIVE_BUFFER_MAX } else { 65_535 });
        // A window below one unit of its scale could not be advertised. Linux offers a quarter of a buffer or more.
        let start = config.auto_buffer.map(|start| start.max(4 << agreed::window_shift(buffer)));
        let start = start.map(|start| (start, config.buffer_growth));
        let life = Life::new(role, config);
        let mut receiver = Receiver::new(config.ack, config.smss, buffer, start);
        receiver.begin_echo(config.feedback);
        Self { life, tcb: Tcb { sender: Sender::new(&cx), receiver, wire: Wire::new(iss), cx } }
    }

    /// Seeds the random choices of the congestion control. Give each connection its own seed.
    pub fn set_random_seed(&mut self, seed: u64) {
        self.life.random_seed = seed;
    }

    /// Sets the offsets of the host's clocks in their ticks, instead of those in the configuration: the clock of the
    /// retransmission timer, and that of delayed ACKs, if it is free-running. So connections that differ only in these
    /// share a configuration. Call this before [`open`](Self::open).
    pub fn set_clocks(&mut self, retransmission: Duration, delayed_ack: Duration) {
        self.tcb.sender.rtt.set_phase(retransmission);
        self.tcb.receiver.set_phase(delayed_ack);
    }

    /// Whether data count as read the moment they are in order (the default).
    pub fn set_reads_at_once(&mut self, reads_at_once: bool) {
        self.tcb.receiver.set_reads_at_once(reads_at_once);
    }

    /// T/TCP: the count of this connection, larger than those of all earlier ones of this host (RFC 1644 §2.1); at least 2. To be
    /// called before [`open`](Self::open).
    pub fn set_count(&mut self, count: u32) {
        if let Some(counts) = &mut self.life.counts {
            counts.set_ours(count);
        }
    }

    /// Uses segments of `smss` payload bytes from now on, also for retransmissions.
    pub fn set_smss(&mut self, smss: u32) {
        self.tcb.sender.set_smss(smss);
    }

    /// Take [`rate_sample`](Self::rate_sample)s. For measurement, and for controllers that need them.
    pub fn measure_rates(&mut self) {
        self.tcb.sender.measure_rates();
    }

    /// Begins with the measurements in `cache`, as far as [`Config::sharing`], Fast Open and T/TCP need them. Call this
    /// before [`open`](Self::open).
    pub fn prime(&mut self, cache: &PathCache, now: Time) {
        if self.life.state != State::Closed {
            return;
        }
        if let Some((srtt, rttvar)) = self.life.prime(cache, now, &self.tcb.cx.config) {
            self.tcb.sender.rtt.prime(srtt, rttvar);
        }
        if let Some(rate) = cache.error_rate {
            self.tcb.sender.extras.prime_error_rate(rate);
        }
    }

    /// Takes the path that an earlier connection saved in `cache`, before [`open`](Self::open). `contribute` returns it.
    pub fn take_path(&mut self, cache: &mut PathCache, now: Time) {
        self.life.take_path(cache, now, self.tcb.cx.config.careful_resume);
    }

    /// Leave in `cache` what this connection learnt. To be called when it ends, or before a long pause; a connection that
    /// moved less than an initial window has learnt nothing of the path.
    pub fn contribute(&self, cache: &mut PathCache, now: Time) {
        self.life.contribute(&self.tcb, cache, now);
    }
}

/// The application.
impl Connection {
    /// Start: the active end sends a SYN, the passive end waits for one. Without handshake both are established
    /// at once; the initial sequence numbers are then taken to be equal.
    pub fn open(&mut self, now: Time) {
        self.life.open(now, &mut self.tcb);
    }

    /// The application has `bytes` more to send. Nothing is taken after [`close`](Self::close).
    pub fn offer(&mut self, bytes: u64) {
        self.tcb.sender.note_app_limited();
        let space = &mut self.tcb.sender.space;
        if !space.is_closing {
            space.offered = space.offered.saturating_add(bytes).min(u64::MAX >> 8);
        }
    }

    /// A record ends with the data offered so far. Its last segment is flagged, if best effort was agreed on.
    pub fn end_record(&mut self) {
        let sender = &mut self.tcb.sender;
        sender.extras.end_record(sender.space.offered);
    }

    /// The application reads up to `bytes`; returns how many there were. Only needed after
    /// [`set_reads_at_once`](Self::set_reads_at_once)`(false)`.
    pub fn read(&mut self, bytes: u64) -> u64 {
        self.tcb.receiver.read(bytes)
    }

    /// No more data will be offered; a FIN follows the last byte.
    ///
    /// DEVIATION: RFC 9293 §3.10.4 gives up a connection that is closed in SYN-SENT. Here what was offered before is
    /// still sent, as after a half-close: flows are described in full before they open.
    pub fn close(&mut self) {
        self.tcb.sender.space.is_closing = true;
        if matches!(self.life.state, State::Listen) {
            self.life.enter(State::Closed, &mut self.tcb);
        }
    }

    /// Gives up the connection and its unacknowledged data. A peer that knows of the connection gets a reset (RFC 9293
    /// §3.10.5).
    pub fn abort(&mut self) {
        self.life.abort_by_user(&mut self.tcb);
    }
}

/// Queries, at any time.
impl Connection {
    /// Returns the state of the connection (RFC 9293 §3.3.2).
    pub fn state(&self) -> State {
        self.life.state
    }

    /// Returns the counters.
    pub fn counters(&self) -> &Counters {
        &self.tcb.cx.counters
    }

    /// Whether [`poll`](Self::poll) has something to report.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.tcb.cx.events.is_empty()
    }

    /// The congestion window, bytes, without the inflation of fast recovery; while the window falls in proportion, that.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        self.tcb.sender.losses.falling(self.tcb.sender.window.cc.cwnd())
    }

    /// The slow start threshold, bytes; none before it was first set.
    pub fn ssthresh(&self) -> Option<u64> {
        Some(self.tcb.sender.window.cc.ssthresh()).filter(|&ssthresh| ssthresh != u64::MAX)
    }

    /// Sequence space sent and not acknowledged, bytes (RFC 5681).
    pub fn flight_size(&self) -> u64 {
        self.tcb.sender.board.flight_size()
    }

    /// Takes the exact round-trip time of the last ACK of new data, without the clock's granularity. For measurement:
    /// the sender itself uses what its clock shows.
    #[inline]
    pub fn take_rtt(&mut self) -> Option<Duration> {
        self.tcb.sender.rtt.last.take()
    }

    /// Payload bytes acknowledged so far.
    #[inline]
    pub fn acked_bytes(&self) -> u64 {
        self.tcb.sender.space.una.min(self.tcb.sender.space.offered)
    }

    /// Whether a server took data whose sender has not yet completed the handshake.
    pub fn has_early_data(&self) -> bool {
        self.life.has_early_data()
    }
}

/// Arrivals, by form.
impl Connection {
    #[inline(always)]
    fn handle_plain(&mut self, now: Time, segment: PlainSegment, timestamps: Option<Timestamps>) {
        if self.life.state.is_synchronised() & self.tcb.cx.agreed.is_plain && !segment.flags.has_any(SLOW_PATH) {
            self.handle_open(now, Layers::plain(segment, timestamps));
        } else {
            self.handle_general(now, &Segment { timestamps, ..Segment::from(segment) });
        }
    }

    /// Compiled here, so that callers are not longer for it.
    #[inline(never)]
    fn handle_stamped(&mut self, now: Time, segment: PlainSegment, timestamps: Timestamps) {
        self.handle_plain(now, segment, Some(timestamps));
    }

    fn handle_general(&mut self, now: Time, segment: &Segment) {
        if !self.life.state.is_synchronised() || segment.flags.has_any(SLOW_PATH) {
            self.handle_control(now, segment);
        } else if segment.is_plain() && self.tcb.cx.agreed.is_plain {
            self.handle_open(now, Layers::plain(segment.plain(), None));
        } else {
            self.handle_with_options(now, segment);
        }
    }

    /// A segment for a connection that is not open, or that does not speak of its data.
    #[cold]
    fn handle_control(&mut self, now: Time, segment: &Segment) {
        let Self { life, tcb } = self;
        tcb.cx.counters.arrived_segments += 1;
        if let Some(rest) = life.handle_control(now, segment, tcb) {
            self.tcb.cx.counters.arrived_segments -= 1;
            return self.handle_general(now, &rest);
        }
        life.on_heard(now, tcb);
    }

    /// A segment for an open connection, if the segment or the connection is not plain.
    #[inline(never)]
    fn handle_with_options(&mut self, now: Time, segment: &Segment) {
        self.handle_open(now, segment.into());
        self.life.on_heard(now, &mut self.tcb);
    }

    /// A segment for an open connection.
    #[inline(always)]
    fn handle_open(&mut self, now: Time, segment: Layers<'_>) {
        let Self { life, tcb } = self;
        tcb.cx.counters.arrived_segments += 1;
        if let Some(count) = segment.count() {
            if life.counts.as_ref().is_some_and(|counts| counts.is_of_another(count)) {
                return;
            }
        }
        let plain = segment.plain;
        let Tcb { sender, receiver, wire, cx } = tcb;
        if !plain.flags.has(Flags::ACK) || !wire.accept_timestamps(now, segment, receiver, cx) {
            return;
        }
        let ack = wire.acked_offset(plain.ack, sender.space.una);
        if (ack < sender.space.una || sender.space.nxt < ack) && life.refuses_ack(now, plain.ack, ack, tcb) {
            return;
        }
        let Tcb { receiver, wire, .. } = tcb;
        if plain.sequence_len() > 0 {
            tcb.receive_data(now, segment);
        } else if plain.seq != wire.ack_field(receiver) && wire.is_probe(plain.seq, receiver.ack_offset()) {
            receiver.ack_soon();
        }
        tcb.handle_ack(now, segment, ack);
        if tcb.sender.space.is_closing || tcb.receiver.is_finished() {
            life.advance_close(now, tcb);
            if plain.flags.has(Flags::FIN) {
                life.on_late_fin(now, tcb);
            }
        }
    }
}

/// Departures, by form.
impl Connection {
    /// The next segment, without its timestamps, while the connection sends plainly.
    #[inline(always)]
    fn next_plain(&mut self, now: Time) -> Option<PlainSegment> {
        if self.tcb.sender.space.has_data() && !self.tcb.is_held_by_pace(now) {
            if let Some(segment) = self.tcb.next_plain_data(now) {
                self.note_departure(now, &segment);
                self.tcb.pace_plain(now, &segment);
                return Some(segment);
            }
        }
        self.tcb.next_plain_ack()
    }

    /// The next segment, with all its options.
    #[inline(always)]
    fn next_segment(&mut self, now: Time) -> Option<Segment> {
        if self.tcb.wire.pending.is_any() | !self.tcb.cx.agreed.is_plain || !self.life.sends_data() {
            return self.next_on_slow_path(now);
        }
        if self.tcb.sender.space.has_data() && !self.tcb.is_held_by_pace(now) {
            if let Some(segment) = self.tcb.next_data(now) {
                self.note_departure(now, &segment.plain());
                self.tcb.pace(now, &segment);
                return Some(segment);
            }
        }
        self.tcb.next_ack(now)
    }

    /// For connections that are not plain, waiting control segments, and states in which no data leaves.
    #[cold]
    #[inline(never)]
    fn next_on_slow_path(&mut self, now: Time) -> Option<Segment> {
        if std::mem::take(&mut self.tcb.wire.pending.owed) {
            return self.tcb.take_owed();
        }
        let mut next = self.next_control(now);
        if let Some(segment) = next.as_mut().filter(|segment| !segment.flags.has_any(SLOW_PATH)) {
            if !self.tcb.cx.agreed.is_plain {
                self.tcb.add_features(segment);
            }
            self.tcb.pace(now, segment);
        }
        next
    }

    /// Resets, SYNs, data, probe segments, window probes and polls, ACKs; in this order.
    fn next_control(&mut self, now: Time) -> Option<Segment> {
        let Self { life, tcb } = self;
        if let Some(seq) = tcb.wire.pending.rst.take() {
            return Some(tcb.reset(now, seq));
        }
        if tcb.wire.pending.syn {
            return (!life.holds_answer(tcb)).then(|| life.next_syn(now, tcb));
        }
        if !life.state.is_synchronised() && !life.has_early_data() {
            return None;
        }
        let sends_data = life.sends_data();
        if sends_data && !tcb.must_wait(now) {
            if let Some(segment) = tcb.next_record_data(now) {
                self.note_departure(now, &segment.plain());
                return Some(segment);
            }
        }
        let tcb = &mut self.tcb;
        if let Some(segment) = tcb.next_probe_segment(now, sends_data) {
            return Some(segment);
        }
        if tcb.is_poll_due(now) | std::mem::take(&mut tcb.wire.pending.window_probe) {
            return Some(tcb.window_probe(now));
        }
        if tcb.receiver.must_ack_now() && tcb.sender.extras.paces_acks() && tcb.must_wait(now) {
            return None;
        }
        tcb.next_ack(now)
    }

    #[inline(always)]
    fn note_departure(&mut self, now: Time, segment: &PlainSegment) {
        if segment.flags.has(Flags::FIN) && !segment.is_retransmission {
            self.life.advance_close(now, &mut self.tcb);
        }
    }
}

#[cfg(test)]
mod tests;

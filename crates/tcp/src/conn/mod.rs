//! A connection: what goes in, what comes out, and which part decides what.
//!
//! | part | decides |
//! |---|---|
//! | [`Life`](life) | the state (RFC 9293), what the handshake settles, data in the SYN |
//! | [`Receiver`](receiver) | reassembly, when to acknowledge, which window to advertise, what to report |
//! | [`Sender`](sender) | what is outstanding, lost, retransmitted, sent next; its parts are listed there |
//! | [`Wire`](wire) | header fields from offsets, and offsets from header fields |
//! | [`Timers`](timers) | when to wake up: one table |
//! | [`Context`](context) | what all of them see: configuration, what was agreed on, timers, events, counters |
//!
//! `impl Connection` stands in this file alone: the calls of its contract, and their order. The parts do not know it, nor one
//! another: they get values and what is theirs, and give values.
//!
//! How an ACK travels:
//!
//! 1. [`Connection::handle_segment`] (here): is it for an open connection, and acceptable? `wire.rs` turns its fields into
//!    offsets: an `Ack` (`sender/ack.rs`).
//! 2. `sender/ecn.rs`: does it report marks? Then `sender/reduce.rs` reduces the window.
//! 3. `Sender::on_ack` (`sender/mod.rs`) enters it into the scoreboard (`sender/scoreboard/`): `AckFacts`, computed once.
//! 4. `sender/rtt.rs` takes a sample.
//! 5. `sender/undo.rs`: was the last loss spurious? Then it is undone.
//! 6. `sender/episode.rs`: does it end recovery, or repair a part?
//! 7. `sender/detect/`: what does it show to be lost? A `Finding` may begin recovery (`sender/recovery.rs`), for which
//!    `sender/reduce.rs` asks the verdict and reduces the window, once for a window of data.
//! 8. `sender/notify.rs`: the controller hears of deliveries and losses; `sender/usage.rs`: may the window grow? If so the
//!    controller (`cc/`) grows it.
//! 9. `sender/rtt.rs` restarts the retransmission timer in the table (`timers.rs`).
//! 10. [`Connection::poll_transmit`] (here) asks `sender/poll.rs` what leaves now, and `wire.rs` makes a segment of it.

mod context;
mod counters;
mod events;
mod life;
mod receiver;
mod sender;
mod timers;
mod wire;

pub use counters::Counters;
pub use events::Event;
pub use life::{Role, State};
pub use sender::{RateSample, SendLimit};

use crate::cache::{Ended, Lesson, PathCache};
use crate::cc::CongestionControl;
use crate::config::{Config, EcnFeedback, GiveUp, Pacing, Recovery, SlowStartAcks, SnackForm};
use crate::segment::{Ecn, Flags, Options, Segment};
use bentpipe_units::{Duration, Rate, Seq, Time};
use context::Context;
use life::{Fins, Handshake, Life, Reset};
use receiver::{EcnDuty, EcnReceiver, Receiver, SnackReports};
use sender::{EcnSender, Sender};
use std::sync::Arc;
use timers::Timer;
use wire::Wire;

/// One end of a TCP connection.
///
/// Facts go in with [`handle_segment`](Self::handle_segment) and [`handle_wakeup`](Self::handle_wakeup) (and
/// [`offer`](Self::offer), [`close`](Self::close), [`read`](Self::read) from the application). After each of them call
/// [`poll_transmit`](Self::poll_transmit) and [`poll_event`](Self::poll_event) until they give `None`, then
/// ask [`next_wakeup`](Self::next_wakeup). `now` never decreases. Early wake-ups and extra polls are harmless.
///
/// ```
/// use bentpipe_tcp::{Config, Connection, Role};
/// use bentpipe_units::{Duration, Seq, Time};
///
/// let mut client = Connection::new(Config::default(), Role::Active, Seq::new(7));
/// let mut server = Connection::new(Config::default(), Role::Passive, Seq::new(9));
/// let mut now = Time::ZERO;
/// client.offer(100_000);
/// client.close();
/// server.open(now);
/// client.open(now);
/// while server.counters().delivered_bytes < 100_000 {
///     now += Duration::from_millis(250);
///     assert!(now < Time::ZERO + Duration::from_secs(4), "a handshake and four rounds take 2.5 s");
///     while let Some(segment) = client.poll_transmit(now) {
///         server.handle_segment(now, &segment);
///     }
///     now += Duration::from_millis(250);
///     server.handle_wakeup(now);
///     while let Some(segment) = server.poll_transmit(now) {
///         client.handle_segment(now, &segment);
///     }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Connection {
    life: Life,
    sender: Sender,
    receiver: Receiver,
    wire: Wire,
    cx: Context,
}

/// Flags of segments that are not for an open connection, or do not speak of its data.
const SLOW_PATH: Flags = Flags::SYN.with(Flags::RST).with(Flags::DUMMY);

/// What goes in.
impl Connection {
    /// A connection that has neither sent nor received anything. `iss` is the initial sequence number. Connections that are
    /// configured alike can share a configuration.
    pub fn new(config: impl Into<Arc<Config>>, role: Role, iss: Seq) -> Self {
        let cx = Context::new(config.into());
        let config = &*cx.config;
        let buffer = config.receive_buffer.min(if config.window_scaling { Config::RECEIVE_BUFFER_MAX } else { 65_535 });
        // A window below one unit of its scale could not be advertised.
        let start = config.auto_buffer.map(|start| start.max(1 << life::window_shift(buffer)));
        Self {
            life: Life::new(role, config),
            sender: Sender::new(&cx),
            receiver: Receiver::new(config.ack, config.smss, buffer, start),
            wire: Wire::new(iss),
            cx,
        }
    }

    /// Start: the active end sends a SYN, the passive end waits for one. Without handshake both are established
    /// at once; the initial sequence numbers are then taken to be equal.
    pub fn open(&mut self, now: Time) {
        if self.life.state != State::Closed || self.cx.counters.sent_segments > 0 {
            return;
        }
        if !self.cx.config.handshake {
            self.wire.set_irs(self.wire.iss);
            self.agree(None);
            // As large as the peer's buffer, which is configured alike.
            let shift = self.cx.agreed.rcv_shift;
            self.sender.space.rwnd = u64::from(self.receiver.window(shift)) << shift;
            self.establish(now, u64::MAX);
        } else if self.life.role == Role::Active {
            self.life.state = State::SynSent;
            self.wire.pending.syn = true;
        } else {
            self.life.state = State::Listen;
        }
    }

    /// A segment arrived from the peer.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment) {
        self.cx.counters.arrived_segments += 1;
        if !self.life.state.is_synchronised() || segment.flags.has_any(SLOW_PATH) {
            return self.handle_control(now, segment);
        }
        let Self { sender, receiver, wire, cx, .. } = self;
        if !segment.flags.has(Flags::ACK) || !wire.accept_timestamps(now, segment, receiver, cx) {
            return;
        }
        let ack = wire.acked_offset(segment.ack, sender.space.una);
        if ack > sender.space.nxt {
            // RFC 9293 §3.10.7.4: it acknowledges what was never sent.
            return receiver.ack_soon();
        }
        if segment.sequence_len() > 0 {
            self.receive_data(now, segment);
        } else if segment.seq != wire.ack_field(receiver) && wire.is_probe(segment.seq, receiver.ack_offset()) {
            receiver.ack_soon();
        }
        self.handle_ack(now, segment, ack);
        if self.sender.space.is_closing || self.receiver.is_finished() {
            self.advance_close(now);
            if self.life.state == State::TimeWait && segment.flags.has(Flags::FIN) {
                // The peer sent its FIN again: it has not seen our ACK (RFC 9293 §3.10.7.4).
                self.cx.timers.set(Timer::TimeWait, now + life::TIME_WAIT);
            }
        }
    }

    /// A packet of the peer arrived corrupted, and is not to be looked at; the IP or link layer says so. It is reported with the
    /// next ACKs, if that was agreed on.
    pub fn handle_corrupted(&mut self) {
        if let Some(snack) = &mut self.receiver.snack {
            snack.on_corrupted();
        }
    }

    /// Time has passed, perhaps to [`next_wakeup`](Self::next_wakeup).
    pub fn handle_wakeup(&mut self, now: Time) {
        let Self { sender, receiver, cx, .. } = self;
        receiver.on_wakeup(now, &mut cx.timers);
        sender.before_timers();
        sender.on_loss_timers(now, cx);
        cx.timers.take_expired(Timer::Pace, now);
        if sender.take_retransmit_timer(now, cx) {
            let goes_on = if self.life.state.is_synchronised() {
                sender.on_retransmit_timer(now, cx)
            } else {
                self.on_syn_timeout()
            };
            if !goes_on {
                self.abort();
            }
        }
        let Self { sender, wire, cx, .. } = self;
        if cx.timers.get(Timer::Persist) <= now {
            wire.pending.window_probe |= sender.on_persist_timer(now, cx);
        }
        sender.after_timers(now, cx);
        if cx.timers.take_expired(Timer::TimeWait, now) {
            self.enter(State::Closed);
        }
    }

    /// The application has `bytes` more to send. Nothing is taken after [`close`](Self::close).
    pub fn offer(&mut self, bytes: u64) {
        self.sender.note_app_limited();
        let space = &mut self.sender.space;
        if !space.is_closing {
            space.offered = space.offered.saturating_add(bytes).min(u64::MAX >> 8);
        }
    }

    /// The application reads up to `bytes`; returns how many there were. Only needed after
    /// [`set_reads_at_once`](Self::set_reads_at_once)`(false)`.
    pub fn read(&mut self, bytes: u64) -> u64 {
        self.receiver.read(bytes)
    }

    /// No more data will be offered; a FIN follows the last byte.
    ///
    /// DEVIATION: RFC 9293 §3.10.4 gives up a connection that is closed in SYN-SENT. Here what was offered before is
    /// still sent, as after a half-close: flows are described in full before they open.
    pub fn close(&mut self) {
        self.sender.space.is_closing = true;
        if matches!(self.life.state, State::Listen) {
            self.enter(State::Closed);
        }
    }

    /// What the congestion control may choose at random follows from `seed`; give each connection its own.
    pub fn set_random_seed(&mut self, seed: u64) {
        self.life.random_seed = seed;
    }

    /// Whether data count as read the moment they are in order (the default).
    pub fn set_reads_at_once(&mut self, reads_at_once: bool) {
        self.receiver.set_reads_at_once(reads_at_once);
    }

    /// Whether a SYN's data may be taken (the default). A server that has as many half-open connections with early data
    /// as it wants says no (RFC 7413 §5.1).
    pub fn set_takes_early_data(&mut self, takes: bool) {
        self.life.fast_open.refuses = !takes;
    }

    /// Use segments of `smss` payload bytes from now on, also for what has to be retransmitted.
    pub fn set_smss(&mut self, smss: u32) {
        self.sender.set_smss(smss);
    }

    /// Take [`rate_sample`](Self::rate_sample)s. For measurement, and for controllers that need them.
    pub fn measure_rates(&mut self) {
        self.sender.measure_rates();
    }

    /// Begin with what `cache` knows, as far as [`Config::sharing`] and Fast Open ask for it. To be called before
    /// [`open`](Self::open).
    pub fn prime(&mut self, cache: &PathCache, now: Time) {
        if self.life.state != State::Closed {
            return;
        }
        let opening = &mut self.life.fast_open;
        if let Some((cookie, mss)) = cache.cookie() {
            (opening.cookie, opening.mss) = (Some(cookie), Some(mss));
        }
        opening.is_avoided = cache.avoids_fast_open(now);
        if let Some((learnt, rtt)) = cache.recall(now, &self.cx.config) {
            *self.life.learnt = learnt;
            if let Some((srtt, rttvar)) = rtt {
                self.sender.rtt.prime(srtt, rttvar);
            }
        }
    }

    /// Leave in `cache` what this connection learnt. To be called when it ends, or before a long pause; a connection that
    /// moved less than an initial window has learnt nothing of the path.
    pub fn contribute(&self, cache: &mut PathCache, now: Time) {
        let (opening, rtt) = (&self.life.fast_open, &self.sender.rtt);
        cache.learn_opening(now, opening.granted.zip(opening.mss), opening.has_failed);
        let (cwnd, ssthresh) = (self.cwnd(), self.ssthresh().unwrap_or(u64::MAX));
        let ended = match (self.sender.is_repairing(), cwnd < ssthresh) {
            (true, _) => Ended::Recovery,
            (false, true) => Ended::SlowStart,
            (false, false) => Ended::CongestionAvoidance,
        };
        let rtt = rtt.srtt().map(|srtt| (srtt, rtt.rttvar()));
        cache.learn(now, &self.cx.config, self.acked_bytes(), Lesson { ended, cwnd, ssthresh, rtt });
    }
}

/// What comes out.
impl Connection {
    /// The next segment to send now, or `None`. Its answer may change after any other call.
    #[must_use]
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if self.wire.pending.is_any() | !self.cx.agreed.is_plain || !self.life.sends_data() {
            return self.poll_slow_path(now);
        }
        if self.sender.has_data() {
            if let Some(segment) = self.next_data(now) {
                return Some(segment);
            }
        }
        self.next_ack(now)
    }

    /// Of connections that are not plain, while a control segment waits, and in states in which no data are sent.
    #[cold]
    #[inline(never)]
    fn poll_slow_path(&mut self, now: Time) -> Option<Segment> {
        if std::mem::take(&mut self.wire.pending.owed) {
            return self.receiver.ecn.as_mut()?.owed.take();
        }
        let segment = self.next_control(now)?;
        let needs_features = !self.cx.agreed.is_plain && !segment.flags.has_any(SLOW_PATH);
        Some(if needs_features { self.with_features(now, segment) } else { segment })
    }

    /// Resets, SYNs, data, probe segments, window probes, ACKs; in this order.
    fn next_control(&mut self, now: Time) -> Option<Segment> {
        let Self { receiver, wire, cx, .. } = self;
        if let Some(seq) = wire.pending.rst.take() {
            return Some(wire.bare_segment(now, seq, wire.ack_field(receiver), Flags::RST, receiver, cx));
        }
        if wire.pending.syn {
            return Some(self.next_syn(now));
        }
        if !self.life.state.is_synchronised() && !self.life.has_early_data() {
            return None;
        }
        if self.life.sends_data() && !self.sender.pacer.must_wait(now, &mut self.cx.timers) {
            if let Some(segment) = self.next_data(now) {
                return Some(segment);
            }
        }
        if let Some(segment) = self.next_probe_segment(now) {
            return Some(segment);
        }
        let Self { sender, receiver, wire, cx, .. } = self;
        if std::mem::take(&mut wire.pending.window_probe) {
            // An old sequence number: the peer must answer with its window.
            // DEVIATION: RFC 9293 §3.8.6.1 probes with a byte of new data, which would have to be kept apart from its
            // segment. Linux probes as we do.
            let seq = wire.iss.at(sender.space.una);
            return Some(wire.bare_segment(now, seq, wire.ack_field(receiver), Flags::ACK, receiver, cx));
        }
        let may_wait = receiver.must_ack_now() && sender.cc.bucket().is_some();
        if may_wait && sender.pacer.must_wait(now, &mut cx.timers) {
            return None;
        }
        self.next_ack(now)
    }

    #[inline(always)]
    fn next_data(&mut self, now: Time) -> Option<Segment> {
        let sending = self.sender.poll(now, &mut self.cx)?;
        if sending.range.has_fin && !sending.is_retransmission {
            self.advance_close(now);
        }
        Some(self.wire.data_segment(now, sending, &mut self.receiver, &mut self.cx))
    }

    #[inline]
    fn next_ack(&mut self, now: Time) -> Option<Segment> {
        if !self.receiver.must_ack_now() {
            return None;
        }
        Some(self.wire.ack_segment(now, self.sender.space.nxt, &mut self.receiver, &mut self.cx))
    }

    fn next_syn(&mut self, now: Time) -> Segment {
        let Self { life, sender, receiver, wire, cx } = self;
        wire.pending.syn = false;
        // RFC 6298 §3: no sample if it is retransmitted, be it as SYN-ACK.
        let is_first = life.syn_retransmits == 0 && !cx.timers.is_running(Timer::Retransmit);
        sender.rtt.on_syn_sent(now, is_first);
        sender.rtt.arm(now, &mut cx.timers);
        let answers = life.state == State::SynReceived;
        let (ack, flags) =
            if answers { (wire.ack_field(receiver), Flags::ACK) } else { (Seq::new(0), Flags::default()) };
        let options = life.syn_options(&cx.config, &cx.agreed);
        let ecn = life::ecn_setup(cx.config.ecn.feedback, answers, receiver.ecn.as_deref());
        let knows_probes = if answers { sender.probes.is_some() } else { sender.cc.dummies().is_some() };
        let probes = if knows_probes { Flags::DUMMY } else { Flags::default() };
        let window = receiver.window(0);
        let flags = Flags::SYN.with(flags).with(ecn).with(probes);
        let bare = wire.bare_segment(now, wire.iss, ack, flags, receiver, cx);
        // Offered by the opener, confirmed by the other end.
        let wants_timestamps = cx.config.timestamps && (life.role == Role::Active || cx.agreed.timestamps);
        let timestamps = wants_timestamps.then(|| wire.timestamps(now));
        let mut syn = Segment { window, options: Options::Syn(options), timestamps, ..bare };
        if life.state == State::SynSent && life.fast_open.add_early_data(sender.space.offered, &mut syn) {
            cx.counters.sent_bytes += life.fast_open.sent;
            sender.on_early_data(now);
        }
        syn
    }

    /// What only some connections do to a segment: feedback of marks; with data also the signal of slow start, pacing, and
    /// permission to be marked.
    fn with_features(&mut self, now: Time, mut segment: Segment) -> Segment {
        let Self { life, sender, receiver, wire, cx } = self;
        if let Some(ecn) = &mut receiver.ecn {
            segment.flags = ecn.stamp(&segment);
        }
        let header_len = u64::from(segment.header_len());
        if segment.sequence_len() == 0 {
            if sender.cc.bucket().is_some() {
                sender.pace(now, header_len, cx);
            }
            return segment;
        }
        let start = wire.acked_offset(segment.seq, sender.space.una);
        if let Some(probes) = &mut sender.probes {
            probes.on_sent(start, segment.len);
        }
        if !segment.is_retransmission && start < life.fast_open.sent {
            // The data in the SYN were not accepted.
            segment.is_retransmission = true;
            cx.counters.resent_bytes += u64::from(segment.len);
            cx.counters.resent_segments += 1;
        }
        if segment.len > 0 && !segment.is_retransmission {
            let (sends_ect, says_cwr) = sender.take_ecn_of_new_data();
            segment.ecn = if sends_ect { Ecn::Ect0 } else { segment.ecn };
            segment.flags = if says_cwr { segment.flags.with(Flags::CWR) } else { segment.flags };
        }
        if cx.config.ack.slow_start == SlowStartAcks::Every && sender.cc.cwnd() < sender.cc.ssthresh() {
            segment.flags = segment.flags.with(Flags::SLOW_START);
        }
        sender.pace(now, u64::from(segment.len) + header_len, cx);
        segment
    }

    /// The answer to a probe segment, or else one that is due.
    fn next_probe_segment(&mut self, now: Time) -> Option<Segment> {
        let sends_data = self.life.sends_data();
        let Self { sender, receiver, wire, cx, .. } = self;
        let (start, len) = match sender.take_probe_answer() {
            true => (sender.space.nxt, 0),
            false => sender.next_probe_segment(now, sends_data, cx)?,
        };
        // It leaves the receiver's duty to acknowledge, and its window, as they are.
        cx.counters.sent_segments += 1;
        Some(Segment {
            seq: wire.ours(start),
            len,
            ack: wire.ack_field(receiver),
            window: (receiver.room() >> cx.agreed.rcv_shift).min(65_535) as u16,
            flags: Flags::ACK.with(Flags::DUMMY),
            timestamps: cx.agreed.timestamps.then(|| wire.timestamps(now)),
            ..Segment::default()
        })
    }

    /// The next instant at which [`handle_wakeup`](Self::handle_wakeup) is due, or [`Time::NEVER`].
    #[inline]
    pub fn next_wakeup(&self) -> Time {
        self.cx.timers.next()
    }

    /// Whether [`poll_event`](Self::poll_event) has something to report.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.cx.events.is_empty()
    }

    /// The next thing that happened, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.cx.events.pop_front()
    }
}

/// What a segment leads to.
impl Connection {
    /// `ack`: offset that the segment acknowledges, not beyond what was sent.
    ///
    /// DEVIATION: RFC 9293 §3.10.7.4 drops segments that are not acceptable, with their ACK. Here, as in BSD, the ACK of a
    /// segment whose data are old counts: its acknowledgement is still valid.
    #[inline]
    fn handle_ack(&mut self, now: Time, segment: &Segment, ack: u64) {
        let Self { sender, wire, cx, .. } = self;
        if ack < sender.space.una {
            return;
        }
        if sender.ecn.is_some() {
            sender.on_ecn_echo(now, ack, wire::read_ecn(segment), cx);
        }
        let is_same_window = wire.update_window(segment, ack, &mut sender.space, cx);
        match segment.options {
            Options::Sack(blocks) if cx.agreed.sack => {
                let sacked = wire.read_sack(blocks.as_slice(), ack, sender.space.nxt);
                sender.on_ack(now, wire::read_ack(segment, ack, is_same_window, Some(&sacked)), cx);
            }
            _ => sender.on_ack(now, wire::read_ack(segment, ack, is_same_window, None), cx),
        }
    }

    /// Data, a FIN, or both.
    fn receive_data(&mut self, now: Time, segment: &Segment) {
        let Some(start) = self.wire.peers_offset(segment.seq, self.receiver.nxt()) else {
            // From before the first byte.
            return self.receiver.ack_soon();
        };
        if !self.cx.agreed.is_plain {
            self.inspect(now, segment, start);
        }
        let len = u64::from(segment.len);
        let has_fin = segment.flags.has(Flags::FIN);
        let arrival = self.receiver.on_data(now, start, len, has_fin, &mut self.cx.timers);
        self.cx.counters.arrived_bytes += len;
        self.cx.counters.delivered_bytes += arrival.delivered;
        self.cx.counters.needless_segments += u64::from(len > 0 && !arrival.is_new);
    }

    /// What only some connections look for in a segment with data: marks, the signal of slow start, how fast they come.
    #[inline(never)]
    fn inspect(&mut self, now: Time, segment: &Segment, start: u64) {
        let Self { sender, receiver, wire, cx, .. } = self;
        let is_ce = segment.ecn == Ecn::Ce;
        cx.counters.marked_segments += u64::from(is_ce && receiver.ecn.is_some());
        match receiver.note_ecn(segment, start) {
            EcnDuty::Nothing => {}
            EcnDuty::Acknowledge => receiver.ack_soon(),
            EcnDuty::AcknowledgeBefore => {
                let (seq, ack) = (wire.ours(sender.space.nxt), wire.ack_field(receiver));
                let owed = wire.bare_segment(now, seq, ack, Flags::ACK, receiver, cx);
                wire.pending.owed = true;
                if let Some(ecn) = &mut receiver.ecn {
                    ecn.owed = Some(Segment { flags: ecn.stamp(&owed), ..owed });
                    ecn.turn(is_ce);
                }
            }
        }
        if segment.flags.has(Flags::SLOW_START) {
            receiver.ack_soon();
        }
        let echoed = segment.timestamps.filter(|_| cx.agreed.timestamps);
        receiver.tune(now, echoed.map(|timestamps| wire::since(now, timestamps.echo)));
    }

    /// Segments before the connection is synchronised, resets, and probe segments.
    fn handle_control(&mut self, now: Time, segment: &Segment) {
        let state = self.life.state;
        if segment.flags.has(Flags::RST) {
            return self.handle_reset(segment);
        }
        if state.is_synchronised() && segment.is_dummy() {
            return self.handle_probe_segment(now, segment);
        }
        let Self { sender, wire, .. } = self;
        let acked = wire.acked_offset(segment.ack, sender.space.una);
        // It acknowledges the SYN, and nothing beyond what early data followed it.
        let end = sender.space.nxt.max(self.life.fast_open.sent);
        let is_acceptable = wire.ours(acked) == segment.ack && (sender.space.una..=end).contains(&acked);
        match Handshake::of(state, segment.flags, is_acceptable, segment.seq == wire.irs) {
            Handshake::Nothing => {}
            // RFC 9293 §3.5.2: a reset that the peer will believe.
            //
            // DEVIATION: RFC 9293 §3.5.2 asks for one in answer to everything that arrives in CLOSED. A connection that is
            // finished here is silent: the peer's last segments would otherwise be answered by resets that a host in TIME-WAIT
            // must take for an error.
            Handshake::Refuse => wire.pending.rst = Some(segment.ack),
            Handshake::Answer => {
                self.answer_syn(segment);
                self.take_early_data(now, segment);
            }
            Handshake::Simultaneous => self.answer_syn(segment),
            Handshake::Complete => self.complete(now, segment),
            Handshake::Confirm => {
                sender.rtt.on_handshake(now);
                let window = u64::from(segment.window) << self.cx.agreed.snd_shift;
                let syn_window = std::mem::replace(&mut sender.space.rwnd, window);
                self.establish(now, syn_window);
                if segment.flags.has(Flags::SYN) {
                    self.receiver.ack_soon();
                } else {
                    self.cx.counters.arrived_segments -= 1;
                    self.handle_segment(now, segment);
                }
            }
            Handshake::Repeat => wire.pending.syn = true,
            Handshake::Acknowledge => self.receiver.ack_soon(),
        }
    }

    /// A probe segment, or the answer to one, arrived on an open connection.
    fn handle_probe_segment(&mut self, now: Time, segment: &Segment) {
        let Some(probes) = &mut self.sender.probes else {
            // A reserved bit that nobody agreed on says nothing (RFC 9293 §3.1).
            self.cx.counters.arrived_segments -= 1;
            let flags = segment.flags.without(Flags::DUMMY);
            return self.handle_segment(now, &Segment { flags, ..*segment });
        };
        if segment.len > 0 {
            probes.on_arrival();
            let start = self.wire.peers_offset(segment.seq, self.receiver.nxt());
            if start.is_some_and(|start| self.receiver.lacks(start, segment.len.into())) {
                self.receive_data(now, &Segment { flags: Flags::ACK, ..*segment });
                self.advance_close(now);
            }
        } else if probes.on_answer() {
            self.sender.on_probe_answer(now, &self.cx);
        }
    }

    fn handle_reset(&mut self, segment: &Segment) {
        let Self { life, receiver, wire, .. } = self;
        let is_syns = [0, life.fast_open.sent].map(|sent| wire.ours(sent)).contains(&segment.ack);
        let answers_syn = segment.flags.has(Flags::ACK) && is_syns;
        let ahead = segment.seq.value().wrapping_sub(wire.ack_field(receiver).value());
        match Reset::of(life.state, life.role == Role::Passive, answers_syn, ahead, receiver.room()) {
            Reset::Ignore => {}
            Reset::Challenge => receiver.ack_soon(),
            Reset::Listen => {
                self.stop_timers();
                self.wire.pending.syn = false;
                self.life.syn_retransmits = 0;
                self.sender.restart(&self.cx.config);
                self.life.state = State::Listen;
            }
            Reset::Close => {
                self.stop_timers();
                self.enter(State::Closed);
            }
            Reset::Abort => self.end_with(Event::Aborted(self.sender.space.una)),
        }
    }
}

/// Opening and closing.
impl Connection {
    fn answer_syn(&mut self, syn: &Segment) {
        self.learn_syn(syn);
        self.life.state = State::SynReceived;
        self.wire.pending.syn = true;
    }

    /// Server: with the right cookie the SYN's data are taken and sending may begin.
    fn take_early_data(&mut self, now: Time, syn: &Segment) {
        if !self.life.fast_open.on_syn(self.cx.config.fast_open, syn) {
            return;
        }
        let arrival = self.receiver.on_data(now, 0, u64::from(syn.len), false, &mut self.cx.timers);
        self.cx.counters.arrived_bytes += u64::from(syn.len);
        self.cx.counters.delivered_bytes += arrival.delivered;
        self.begin_sending(now);
    }

    /// Client: a SYN-ACK arrived. What it acknowledges beyond the SYN has arrived; the rest is sent again at once, and
    /// that is no loss (RFC 7413 §4.2.2).
    fn complete(&mut self, now: Time, segment: &Segment) {
        let acked = self.wire.acked_offset(segment.ack, 0);
        if self.wire.ours(acked) != segment.ack || acked > self.life.fast_open.sent {
            // It acknowledges what was never sent.
            return;
        }
        let space = &mut self.sender.space;
        (space.una, space.nxt) = (acked, acked);
        self.life.fast_open.on_syn_ack(segment.options);
        self.learn_syn(segment);
        self.sender.rtt.on_handshake(now);
        self.establish(now, self.sender.space.rwnd);
        self.receiver.ack_soon();
    }

    fn learn_syn(&mut self, syn: &Segment) {
        self.wire.set_irs(syn.seq);
        // The window of a SYN is not scaled (RFC 7323 §2.2).
        self.sender.space.rwnd = u64::from(syn.window);
        if let Some(timestamps) = syn.timestamps {
            self.wire.ts_recent = timestamps.value;
        }
        self.agree(Some(syn));
    }

    /// What the SYNs settled goes to those who act on it. None: without a handshake both ends want the same.
    fn agree(&mut self, syn: Option<&Segment>) {
        let Self { life, sender, receiver, cx, .. } = self;
        let ours = life.syn_options(&cx.config, &cx.agreed);
        let (agreed, feedback) = life::settle(&cx.config, sender.space.smss, ours, syn);
        cx.agreed = agreed;
        if agreed.smss != sender.space.smss {
            sender.set_smss(agreed.smss);
        }
        sender.on_agreed(syn.is_none_or(|syn| syn.flags.has(Flags::DUMMY)), cx);
        receiver.snack = match (cx.config.recovery, agreed.snack) {
            (Recovery::Snack(settings), Some(form)) => {
                Some(Box::new(SnackReports::new(settings, agreed.smss, form == SnackForm::Long)))
            }
            _ => None,
        };
        // The first SYN counts.
        if feedback != EcnFeedback::Off && receiver.ecn.is_none() {
            let is_syn = syn.is_some_and(|syn| !syn.flags.has(Flags::ACK));
            receiver.ecn = Some(Box::new(EcnReceiver::new(feedback, syn)));
            let awaits_handshake = is_syn && feedback == EcnFeedback::Accurate;
            sender.ecn = Some(Box::new(EcnSender::new(feedback, awaits_handshake)));
        }
    }

    /// `syn_window`: the window of the peer's SYN, which is not scaled; no initial window is larger.
    fn establish(&mut self, now: Time, syn_window: u64) {
        self.life.state = State::Established;
        self.cx.timers.stop(Timer::Retransmit);
        self.sender.space.rwnd_largest = self.sender.space.rwnd;
        self.begin_sending(now);
        self.sender.on_established(now, syn_window, self.life.syn_retransmits > 0, &mut self.cx);
        self.cx.report(Event::Established);
    }

    /// The window with which data transfer begins.
    fn begin_sending(&mut self, now: Time) {
        let Self { life, sender, cx, .. } = self;
        sender.begin(now, &life.learnt, life.random_seed, cx);
        let config = &cx.config;
        cx.agreed.is_plain = sender.ecn.is_none()
            && config.pacing == Pacing::Off
            && !sender.cc.paces()
            && sender.probes.is_none()
            && config.ack.slow_start == SlowStartAcks::Delayed
            && config.auto_buffer.is_none()
            && life.fast_open.sent == 0
            && !config.nagle;
    }

    /// The retransmission timer expired before the handshake was complete. False: the connection is to be given up.
    fn on_syn_timeout(&mut self) -> bool {
        let Self { life, sender, wire, cx, .. } = self;
        cx.counters.timeouts += 1;
        life.syn_retransmits += 1;
        if life.syn_retransmits > life::SYN_RETRANSMITS_MAX && cx.config.give_up != GiveUp::Never {
            return false;
        }
        life.fast_open.has_failed |= life.fast_open.sent > 0;
        sender.rtt.back_off();
        wire.pending.syn = true;
        true
    }

    /// After data, FIN or ACK: has an end finished?
    fn advance_close(&mut self, now: Time) {
        let space = &self.sender.space;
        let is_sent = space.fin_is_sent();
        let fins =
            Fins { is_sent, is_acked: is_sent && space.una > space.offered, has_arrived: self.receiver.is_finished() };
        if !fins.has_arrived && !fins.is_sent {
            return;
        }
        let (before, next) = (self.life.state, self.life.state.after(fins));
        if next == before {
            return;
        }
        if fins.has_arrived && !before.peer_has_finished() {
            self.cx.report(Event::PeerFinished);
        }
        if next == State::TimeWait {
            self.cx.timers.set(Timer::TimeWait, now + life::TIME_WAIT);
        }
        self.enter(next);
    }

    fn enter(&mut self, state: State) {
        if state == State::Closed && self.life.state != State::Closed {
            self.stop_timers();
            self.cx.report(Event::Closed);
        }
        self.life.state = state;
    }

    /// Nothing more is tried; the peer is notified.
    fn abort(&mut self) {
        let is_open = self.life.state.is_synchronised();
        self.wire.pending.rst = is_open.then(|| self.wire.ours(self.sender.space.nxt));
        self.wire.pending.syn = false;
        self.end_with(Event::Aborted(self.sender.space.una));
    }

    fn end_with(&mut self, event: Event) {
        self.stop_timers();
        self.life.state = State::Closed;
        self.cx.report(event);
    }

    fn stop_timers(&mut self) {
        let timers = &mut self.cx.timers;
        timers.stop(Timer::TimeWait);
        self.sender.stop(timers);
        self.receiver.on_ack_sent(timers);
    }
}

/// What may be asked at any time.
impl Connection {
    /// Where the connection stands (RFC 9293 §3.3.2).
    pub fn state(&self) -> State {
        self.life.state
    }

    /// What happened so far.
    pub fn counters(&self) -> &Counters {
        &self.cx.counters
    }

    /// The congestion window, bytes, without the inflation of fast recovery; while the window falls in proportion, that.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        self.sender.cwnd()
    }

    /// The slow start threshold, bytes; none before it was first set.
    pub fn ssthresh(&self) -> Option<u64> {
        Some(self.sender.cc.ssthresh()).filter(|&ssthresh| ssthresh != u64::MAX)
    }

    /// The window that the peer advertised last, bytes.
    pub fn receive_window(&self) -> u64 {
        self.sender.space.rwnd
    }

    /// Sequence space sent and not acknowledged, bytes (RFC 5681).
    pub fn flight_size(&self) -> u64 {
        self.sender.flight_size()
    }

    /// Smoothed round-trip time (RFC 6298); none before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.sender.rtt.srtt()
    }

    /// The retransmission timeout in force, backoff included.
    pub fn rto(&self) -> Duration {
        self.sender.rtt.rto()
    }

    /// The exact round-trip time that the last ACK of new data showed, whatever the clock's granularity; taken
    /// by the call. For measurement: the sender itself uses what its clock shows.
    #[inline]
    pub fn take_rtt(&mut self) -> Option<Duration> {
        self.sender.rtt.last.take()
    }

    /// What the last ACK said about the rate of delivery, if [measured](Self::measure_rates).
    pub fn rate_sample(&self) -> Option<RateSample> {
        self.sender.rate_sample()
    }

    /// The rate at which data leave now, headers included; none: as fast as the windows allow.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.sender.pacing_rate(&self.cx)
    }

    /// Payload bytes acknowledged so far.
    #[inline]
    pub fn acked_bytes(&self) -> u64 {
        self.sender.space.una.min(self.sender.space.offered)
    }

    /// Whether the handshake was completed once.
    pub fn has_been_established(&self) -> bool {
        self.life.state.is_synchronised() || self.sender.space.rwnd_largest > 0
    }

    /// Whether a server took data whose sender has not yet completed the handshake.
    pub fn has_early_data(&self) -> bool {
        self.life.has_early_data()
    }

    /// What keeps this end from sending more, after [`poll_transmit`](Self::poll_transmit) has given `None`; none before it
    /// opens, and when all is acknowledged that will ever be sent.
    #[inline]
    pub fn send_limit(&self) -> Option<SendLimit> {
        if self.life.state.is_synchronised() {
            return self.sender.limit(&self.cx);
        }
        let is_opening = matches!(self.life.state, State::SynSent | State::SynReceived);
        is_opening.then_some(SendLimit::StartUp)
    }

    /// When the retransmission timer was started, or the last partial ACK came, before it expired; none if no losses are
    /// being repaired that it showed.
    pub fn stalled_since(&self) -> Option<Time> {
        self.sender.stalled_since()
    }
}

#[cfg(test)]
mod tests;

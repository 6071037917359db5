//! A proxy that spoofs acknowledgements (RFC 3135 §3.1.3, M. Allman et al., RFC 2760 §3.1 in spirit): the connection
//! stays one, with its sequence numbers, but the proxy acknowledges data as soon as they pass, keeps a copy, and sends
//! that again itself where the receiver misses it. The receiver's acknowledgements of what was acknowledged already end
//! at the proxy.
//!
//! # Where it may stand
//!
//! Where both directions pass, in front of the long hop as seen from the sender of the data.
//!
//! # What it helps, and what it harms
//!
//! **Helps:** Slow start and recovery of the sender run over the round trip to the proxy. **Harms:** What it
//! acknowledged and the receiver never got is lost with its state (`pep_lost_bytes`), and since the sender no longer
//! sees the hop behind the proxy, `window` alone keeps the hop's queue from overflowing.
//!
//! # What it leaves alone
//!
//! SYN, FIN and RST pass from end to end; a connection whose SYN it did not see, and datagrams, it forwards unchanged.
//! What does not fit into its buffer it forwards without acknowledging it. The window that it advertises is what is
//! left of the buffer. An acknowledgement of more than the sender was given room for it forwards and does not believe
//! (RFC 5961 §5).
//!
//! ECN passes: data keep their marks, and the proxy's acknowledgements say of marks what the receiver said last. What it
//! sends again cannot be marked (RFC 3168 §6.1.5).

use super::copies::Copies;
use super::sessions::Sessions;
use super::{Context, Middlebox, Side, Way};
use crate::packet::Packet;
use bentpipe_tcp::{Flags, Options, SackBlocks, Segment, SynOptions, Timestamps};
use bentpipe_units::settings::Bytes;
use bentpipe_units::{settings, Duration, Seq, Time};

settings! {
    /// A proxy that acknowledges early.
    pub struct SpoofConfig {
        /// Bytes of each direction of a connection that it keeps until the receiver acknowledges them.
        buffer: u64 as Bytes = 6_291_456, "as `split`";
        /// Bytes that may be on their way from the proxy to the receiver: the bandwidth-delay product of the hop.
        window: u64 as Bytes = 6_291_456, "as `buffer`";
        /// Which data are acknowledged early.
        direction: Way = Way::Both;
        /// Directions of connections that it keeps copies of at once; those of others pass unchanged.
        sessions: u32 = 100_000, [1, 1_000_000];
        /// State is given up after a time without a packet.
        idle: Duration = Duration::from_secs(7440), "RFC 5382 §5";
    }
}

/// The proxy.
#[derive(Clone, Debug)]
pub struct Spoof {
    config: SpoofConfig,
    sessions: Sessions<Half>,
    lost_bytes: u64,
}

/// One direction of a connection.
#[derive(Clone, Debug)]
struct Half {
    copies: Copies,
    /// What was acknowledged early.
    next: u64,
    /// The right edge of the window that was advertised.
    edge: u64,
    /// The end of what was forwarded without a copy, and of all that the sender has sent past here.
    unkept: u64,
    sent: u64,
    /// What the opening SYN and the SYN-ACK say, when both have passed.
    agreed: Option<Agreed>,
    offer: SynOptions,
    /// Where the receiver's own data are, and its clock.
    receiver_seq: Seq,
    receiver_clock: Option<u32>,
    /// What it said last of marks: three bits of its header.
    marks: u8,
    /// Its next segment is the last one of the handshake, whose bits mean something else (RFC 9768 §3.2.2.1).
    awaits_handshake: bool,
    /// The right edge of the receiver's own window.
    receiver_edge: u64,
    /// Where its FIN is.
    fin_at: Option<u64>,
    duplicates: u32,
    /// Where local recovery ends.
    recover: u64,
    backoff: u32,
    last_packet: Time,
    /// Until then no segment without data is answered.
    answers_from: Time,
}

/// What an acknowledgement to the sender must be like.
#[derive(Clone, Copy, Debug)]
struct Agreed {
    shift: u8,
    sack: bool,
}

/// Segments without data are answered so far apart at least. A sender that takes the answer for an error answers in turn, and so on;
/// Linux has 500 ms for that (`tcp_invalid_ratelimit`), and probes of a closed window at least 200 ms apart.
const ANSWERS_APART: Duration = Duration::from_millis(200);
/// Timeouts in a row after which a receiver is taken to be gone.
const TIMEOUTS_MAX: u32 = 10;

impl Spoof {
    pub(crate) fn new(config: &SpoofConfig, _seed: u64, _component: &str) -> Self {
        Self { config: *config, sessions: Sessions::default(), lost_bytes: 0 }
    }

    /// A SYN or SYN-ACK passes.
    fn on_syn(&mut self, packet: &Packet, segment: &Segment, cx: &mut Context<'_>) {
        let Options::Syn(options) = segment.options else { return };
        let is_answer = segment.flags.has(Flags::ACK);
        // RFC 9768 §3.1.1: a SYN-ACK that agrees on counting marks; both counters begin with 5 (§3.2.1).
        let counts_marks = is_answer && matches!(segment.flags.ace(), 2 | 3 | 4 | 6);
        let marks = if counts_marks { 5 } else { 0 };
        let mut offer = options;
        if let (Some(half), true) = (self.sessions.get_mut(packet.conversation() ^ 1), is_answer) {
            // RFC 7323 §2.2: scaled only if both ends say so.
            half.agreed.get_or_insert(Agreed {
                shift: half.offer.window_scale.and(options.window_scale).unwrap_or(0),
                sack: half.offer.sack_permitted && options.sack_permitted,
            });
            (half.receiver_seq, half.receiver_clock) = (segment.seq.at(1), segment.timestamps.map(|at| at.value));
            // RFC 7323 §2.2: that of a SYN is not scaled.
            (half.receiver_edge, half.marks) = (u64::from(segment.window), marks);
            offer = half.offer;
        }
        let is_touched = self.config.direction.is_from(Side::origin_of(packet));
        let key = packet.conversation();
        let is_known = self.sessions.get_mut(key).is_some_and(|half| half.agreed.is_some());
        if !is_touched || is_known || self.sessions.len() >= self.config.sessions as usize {
            return;
        }
        // The listener's data are acknowledged as the opener would: with the scale of its SYN.
        let agreed = is_answer.then(|| Agreed {
            shift: offer.window_scale.and(options.window_scale).unwrap_or(0),
            sack: offer.sack_permitted && options.sack_permitted,
        });
        if let Some(old) = self.sessions.remove(key) {
            cx.let_go(&old.copies.from_sender);
        }
        cx.keep(packet);
        let half = Half {
            copies: Copies::new(packet, segment),
            next: 0,
            edge: 0,
            unkept: 0,
            sent: segment.len.into(),
            agreed,
            offer,
            receiver_seq: segment.ack,
            receiver_clock: segment.timestamps.map(|at| at.echo),
            marks,
            awaits_handshake: counts_marks,
            receiver_edge: if is_answer { 65_535 } else { 0 },
            fin_at: None,
            duplicates: 0,
            recover: 0,
            backoff: 0,
            last_packet: cx.now,
            answers_from: Time::ZERO,
        };
        self.sessions.insert(key, half);
    }

    fn remove(&mut self, key: u64, cx: &mut Context<'_>) {
        if let Some(half) = self.sessions.remove(key) {
            self.lost_bytes += half.next.saturating_sub(half.copies.acked);
            cx.let_go(&half.copies.from_sender);
        }
    }

    fn arm(&mut self, key: u64) {
        if let Some(half) = self.sessions.get_mut(key) {
            let due = half.timeout().unwrap_or(Time::NEVER).min(half.last_packet + self.config.idle);
            self.sessions.arm(key, due);
        }
    }
}

impl Half {
    /// Data or a FIN of the sender; returns whether the packet goes on.
    fn on_data(&mut self, segment: &Segment, config: &SpoofConfig, cx: &mut Context<'_>) -> bool {
        self.copies.note(segment);
        let start = self.copies.offset(segment.data_seq());
        let end = start + u64::from(segment.len);
        let has_fin = segment.flags.has(Flags::FIN);
        self.sent = self.sent.max(end + u64::from(has_fin));
        if end <= self.next && !has_fin {
            self.acknowledge(None, config, cx);
            return false;
        }
        if has_fin {
            self.fin_at = Some(end);
        }
        if self.unkept > self.next || self.copies.bytes() + u64::from(segment.len) > config.buffer {
            self.unkept = self.unkept.max(end);
            return true;
        }
        if self.copies.get(start).is_some() {
            self.acknowledge(None, config, cx);
            return self.copies.get(start).is_some_and(|copy| copy.sent.is_some());
        }
        let may_leave = end <= self.limit(config);
        self.copies.insert(segment, may_leave.then_some(cx.now));
        let is_in_order = start <= self.next;
        while let Some(copy) = self.copies.get(self.next).filter(|copy| copy.segment.len > 0) {
            self.next += u64::from(copy.segment.len);
        }
        if segment.len > 0 {
            self.acknowledge((!is_in_order).then_some((start, end)), config, cx);
        }
        may_leave
    }

    /// Acknowledges what is kept; `beyond`: what has come beyond that.
    fn acknowledge(&mut self, beyond: Option<(u64, u64)>, config: &SpoofConfig, cx: &mut Context<'_>) {
        let Some(Agreed { shift, sack }) = self.agreed else { return };
        let room = config.buffer.saturating_sub(self.copies.bytes()).max(self.edge.saturating_sub(self.next));
        let window = (room >> shift).min(65_535) as u16;
        self.edge = self.next + (u64::from(window) << shift);
        let mut blocks = SackBlocks::default();
        if let Some((start, mut end)) = beyond.filter(|_| sack) {
            while let Some(copy) = self.copies.get(end).filter(|copy| copy.segment.len > 0) {
                end += u64::from(copy.segment.len);
            }
            blocks.push(self.copies.seq(start), self.copies.seq(end));
        }
        let timestamps =
            self.receiver_clock.zip(self.copies.timestamp()).map(|(value, echo)| Timestamps { value, echo });
        let options = if blocks.as_slice().is_empty() { Options::None } else { Options::Sack(blocks) };
        let (seq, ack) = (self.receiver_seq, self.copies.seq(self.next));
        let flags = Flags::ACK.with_ace(self.marks);
        let segment = Segment { seq, ack, window, flags, timestamps, options, ..Segment::default() };
        if let Some(packet) = cx.answer(&self.copies.from_sender, &segment) {
            cx.emit(packet);
        }
    }

    /// An acknowledgement of the receiver; returns whether the packet goes on.
    fn on_ack(&mut self, packet: &Packet, segment: &Segment, config: &SpoofConfig, cx: &mut Context<'_>) -> bool {
        let ack = self.copies.offset(segment.ack);
        // RFC 9293 §3.10.7.4: what has no ACK says nothing, and what acknowledges more than was sent is none of the receiver's.
        if !segment.flags.has(Flags::ACK) || ack > self.sent.max(self.edge) + 1 {
            return true;
        }
        let is_handshake = std::mem::take(&mut self.awaits_handshake) && packet.is_bare_ack();
        if ack >= self.copies.acked {
            self.receiver_seq = segment.seq.at(segment.sequence_len());
            self.receiver_clock = segment.timestamps.map(|at| at.value);
            self.marks = if is_handshake { self.marks } else { segment.flags.ace() };
        }
        if let Some(agreed) = self.agreed {
            self.receiver_edge = self.receiver_edge.max(ack + (u64::from(segment.window) << agreed.shift));
        }
        let was_tight = self.edge.saturating_sub(self.next) < config.buffer / 2;
        let rtt = self.copies.srtt.unwrap_or(Duration::ZERO);
        if ack > self.copies.acked {
            self.copies.free_to(cx.now, ack, self.duplicates == 0 && self.copies.acked >= self.recover);
            (self.duplicates, self.backoff) = (0, 0);
            self.next = self.next.max(ack.min(self.fin_at.unwrap_or(ack)));
            if ack < self.recover {
                for hole in self.copies.holes(cx.now, ack + 1, rtt) {
                    self.copies.send(hole, cx);
                }
            }
        } else if packet.is_bare_ack() && self.copies.oldest().is_some_and(|copy| copy.sent.is_some()) {
            self.duplicates += 1;
            if self.duplicates == 3 && ack >= self.recover {
                self.recover = self.copies.end();
                self.copies.send(ack, cx);
            }
        }
        if let Options::Sack(blocks) = segment.options {
            // RFC 6675 §4: three segments above it show a hole to be lost.
            let above = self.copies.mark(&blocks).saturating_sub(3 * 1460);
            for hole in self.copies.holes(cx.now, above, rtt) {
                self.copies.send(hole, cx);
            }
        }
        self.send_waiting(config, cx);
        // What it has no copies of is for the sender to repair.
        let is_unkept = self.unkept > self.next && ack == self.next;
        let says_marks = is_handshake || segment.flags.has(Flags::ECE);
        let is_news = ack > self.next || is_unkept || says_marks || !packet.is_bare_ack();
        if !is_news && was_tight {
            self.acknowledge(None, config, cx);
        }
        is_news
    }

    /// Sends what waits for the hop.
    fn send_waiting(&mut self, config: &SpoofConfig, cx: &mut Context<'_>) {
        for offset in self.copies.unsent(self.copies.acked, self.limit(config)) {
            self.copies.send(offset, cx);
        }
    }

    /// How far data may leave: the hop's window, and the receiver's.
    fn limit(&self, config: &SpoofConfig) -> u64 {
        (self.copies.acked + config.window).min(self.receiver_edge + u64::from(self.fin_at == Some(self.receiver_edge)))
    }

    /// When the oldest copy is taken to be lost.
    fn timeout(&self) -> Option<Time> {
        let sent = self.copies.oldest()?.sent?;
        let span = (self.copies.srtt.unwrap_or(Duration::ZERO) * 2).max(Duration::from_secs(1));
        Some(sent + span * (1 << self.backoff.min(6)))
    }
}

impl Middlebox for Spoof {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let Some(segment) = cx.segment(&packet).filter(|_| !packet.is_damaged()) else { return cx.forward(packet) };
        let (key, back) = (packet.conversation(), packet.conversation() ^ 1);
        if segment.flags.has(Flags::SYN) {
            self.on_syn(&packet, &segment, cx);
            return cx.forward(packet);
        }
        let mut goes_on = true;
        if let Some(half) = self.sessions.get_mut(back).filter(|half| half.agreed.is_some()) {
            half.last_packet = cx.now;
            goes_on &= half.on_ack(&packet, &segment, &self.config, cx);
            if half.fin_at.is_some_and(|fin| half.copies.acked > fin) {
                self.remove(back, cx);
            }
        }
        if let Some(half) = self.sessions.get_mut(key).filter(|half| half.agreed.is_some()) {
            half.last_packet = cx.now;
            if segment.sequence_len() > 0 && !segment.is_dummy() {
                goes_on = half.on_data(&segment, &self.config, cx);
            } else {
                half.copies.note(&segment);
                if half.copies.offset(segment.seq) < half.next && half.answers_from <= cx.now {
                    // It asks whether the window is still closed (RFC 9293 §3.8.6.1).
                    half.answers_from = cx.now + ANSWERS_APART;
                    half.acknowledge(None, &self.config, cx);
                }
            }
        }
        if segment.flags.has(Flags::RST) {
            self.remove(key, cx);
            self.remove(back, cx);
        }
        if goes_on {
            cx.forward(packet);
        } else {
            cx.consume(packet);
        }
        self.arm(key);
        self.arm(back);
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        while let Some(key) = self.sessions.pop_due(cx.now) {
            let Some(half) = self.sessions.get_mut(key) else { continue };
            if half.timeout().is_some_and(|due| due <= cx.now) {
                half.backoff += 1;
                half.copies.restart();
                half.recover = half.copies.end();
                half.send_waiting(&self.config, cx);
                if half.copies.oldest().is_some_and(|copy| copy.sent.is_none()) {
                    // A closed window is probed by the data that it holds up (RFC 9293 §3.8.6.1).
                    half.copies.send(half.copies.acked, cx);
                }
            }
            if half.backoff > TIMEOUTS_MAX || half.last_packet + self.config.idle <= cx.now {
                self.remove(key, cx);
            } else {
                self.arm(key);
            }
        }
    }

    fn flows(&self) -> usize {
        self.sessions.len()
    }

    fn next_wakeup(&self) -> Time {
        self.sessions.next_wakeup()
    }

    fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }
}

//! Acknowledges data early (RFC 3135 §3.1.3, M. Allman et al., RFC 2760 §3.1 in spirit). The connection is not split.
//!
//! # How it works
//!
//! The connection keeps its sequence numbers. The proxy acknowledges passing data, keeps a copy, and retransmits it if
//! the receiver misses it. The receiver's acknowledgements of data that was acknowledged already end at the proxy.
//!
//! - SYN, FIN and RST pass from end to end. Datagrams, and connections whose SYN it did not see, pass unchanged.
//! - Data that does not fit into its buffer passes without an early acknowledgement. The advertised window is the free
//!   part of the buffer.
//! - It forwards and ignores an acknowledgement of more data than the sender had room for (RFC 5961 §5).
//! - ECN passes: data keeps its marks, and the proxy's acknowledgements repeat the receiver's last ECN flags.
//!   Retransmissions are not ECN-capable (RFC 3168 §6.1.5).
//!
//! # Position on the path
//!
//! At a node that both directions pass, in front of the long hop as seen from the sender of the data.
//!
//! # When it helps
//!
//! Slow start and recovery of the sender run over the round trip to the proxy.
//!
//! # When it hurts
//!
//! Data that it acknowledged is lost with its state if the receiver does not have it (`pep_lost_bytes`). The sender no
//! longer sees the hop behind the proxy. Only `window` keeps the hop's queue from overflowing.

use super::copies::Copies;
use super::copying::{Copying, Direction};
use crate::middlebox::{Context, Side, Way};
use crate::packet::Packet;
use bentpipe_tcp::{Flags, Options, SackBlocks, Segment, SynOptions, Timestamps};
use bentpipe_units::settings::Bytes;
use bentpipe_units::{settings, Duration, Seq, Time};

settings! {
    /// Proxy that acknowledges early.
    pub struct SpoofConfig {
        /// Buffer for each direction of a connection until the receiver acknowledges the data.
        buffer: u64 as Bytes = 6_291_456, "as `split`";
        /// Bytes in flight from the proxy to the receiver: the bandwidth-delay product of the hop.
        window: u64 as Bytes = 6_291_456, "as `buffer`";
        /// Direction of the data that is acknowledged early.
        direction: Way = Way::Both;
        /// Directions of connections with copies at the same time. Other data passes unchanged.
        sessions: u32 = 100_000, [1, 1_000_000];
        /// Time without a packet after which state is discarded.
        idle: Duration = Duration::from_secs(7440), "RFC 5382 §5";
    }
}

/// The proxy at a node.
pub type Spoof = Copying<Half>;

/// One direction of a connection.
#[derive(Clone, Debug)]
pub struct Half {
    copies: Copies,
    /// End of the data acknowledged early.
    next: u64,
    /// Right edge of the advertised window.
    edge: u64,
    /// End of the data forwarded without a copy, and of all data from the sender.
    unkept: u64,
    sent: u64,
    /// Options of the opening SYN and the SYN-ACK, when both have passed.
    agreed: Option<Agreed>,
    offer: SynOptions,
    /// Sequence number of the receiver's own data, and its clock.
    receiver_seq: Seq,
    receiver_clock: Option<u32>,
    /// Its last ECN flags: three bits of its header.
    marks: u8,
    /// Whether its next segment is the last one of the handshake, whose bits have another meaning (RFC 9768 §3.2.2.1).
    awaits_handshake: bool,
    /// Right edge of the receiver's own window.
    receiver_edge: u64,
    duplicates: u32,
    /// End of local recovery.
    recover: u64,
    /// Time until which segments without data get no answer.
    answers_from: Time,
}

/// Fields of an acknowledgement to the sender.
#[derive(Clone, Copy, Debug)]
struct Agreed {
    shift: u8,
    sack: bool,
}

/// Shortest time between answers to segments without data. A sender that takes the answer for an error answers in turn,
/// and so on. Linux has 500 ms for that (`tcp_invalid_ratelimit`), and sends probes of a closed window at least 200 ms
/// apart.
const ANSWERS_APART: Duration = Duration::from_millis(200);

impl Direction for Half {
    type Config = SpoofConfig;
    /// After these the receiver counts as gone.
    const TIMEOUTS_MAX: u32 = 10;

    fn idle(config: &SpoofConfig) -> Duration {
        config.idle
    }

    fn on_syn(spoof: &mut Spoof, packet: &Packet, segment: &Segment, cx: &mut Context<'_>) {
        let Options::Syn(options) = segment.options else { return };
        let is_answer = segment.flags.has(Flags::ACK);
        // RFC 9768 §3.1.1: a SYN-ACK that agrees on counting marks. Both counters start at 5 (§3.2.1).
        let counts_marks = is_answer && matches!(segment.flags.ace(), 2 | 3 | 4 | 6);
        let marks = if counts_marks { 5 } else { 0 };
        let mut offer = options;
        if let (Some(half), true) = (spoof.sessions.get_mut(packet.conversation() ^ 1), is_answer) {
            // RFC 7323 §2.2: scaled only if both ends offer it.
            half.agreed.get_or_insert(Agreed {
                shift: half.offer.window_scale.and(options.window_scale).unwrap_or(0),
                sack: half.offer.sack_permitted && options.sack_permitted,
            });
            (half.receiver_seq, half.receiver_clock) = (segment.seq.at(1), segment.timestamps.map(|at| at.value));
            // RFC 7323 §2.2: the window of a SYN is not scaled.
            (half.receiver_edge, half.marks) = (u64::from(segment.window), marks);
            offer = half.offer;
        }
        let is_touched = spoof.config.direction.is_from(Side::origin_of(packet));
        let is_known = spoof.sessions.get_mut(packet.conversation()).is_some_and(|half| half.agreed.is_some());
        if !is_touched || is_known || spoof.sessions.len() >= spoof.config.sessions as usize {
            return;
        }
        // The listener's data is acknowledged as the opener would: with the scale of its SYN.
        let agreed = is_answer.then(|| Agreed {
            shift: offer.window_scale.and(options.window_scale).unwrap_or(0),
            sack: offer.sack_permitted && options.sack_permitted,
        });
        let half = Self {
            copies: Copies::new(packet, segment, cx.now),
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
            duplicates: 0,
            recover: 0,
            answers_from: Time::ZERO,
        };
        spoof.begin(packet, half, cx);
    }

    fn copies(&mut self) -> &mut Copies {
        &mut self.copies
    }

    fn is_open(&self) -> bool {
        self.agreed.is_some()
    }

    fn on_data(&mut self, segment: &Segment, config: &SpoofConfig, cx: &mut Context<'_>) -> bool {
        let start = self.copies.offset(segment.data_seq());
        let end = start + u64::from(segment.len);
        let has_fin = segment.flags.has(Flags::FIN);
        self.sent = self.sent.max(end + u64::from(has_fin));
        if end <= self.next && !has_fin {
            self.acknowledge(None, config, cx);
            return false;
        }
        if has_fin {
            self.copies.fin_at = Some(end);
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

    fn on_empty(&mut self, segment: &Segment, config: &SpoofConfig, cx: &mut Context<'_>) {
        if self.copies.offset(segment.seq) < self.next && self.answers_from <= cx.now {
            // A probe of a closed window (RFC 9293 §3.8.6.1).
            self.answers_from = cx.now + ANSWERS_APART;
            self.acknowledge(None, config, cx);
        }
    }

    fn on_ack(&mut self, packet: &mut Packet, segment: &Segment, config: &SpoofConfig, cx: &mut Context<'_>) -> bool {
        let ack = self.copies.offset(segment.ack);
        // RFC 9293 §3.10.7.4: segments without ACK are ignored. An acknowledgement of more than was sent is not the
        // receiver's.
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
            (self.duplicates, self.copies.backoff) = (0, 0);
            self.next = self.next.max(ack.min(self.copies.fin_at.unwrap_or(ack)));
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
            // RFC 6675 §4: a hole is lost if three segments above it are reported.
            let above = self.copies.mark(&blocks).saturating_sub(3 * 1460);
            for hole in self.copies.holes(cx.now, above, rtt) {
                self.copies.send(hole, cx);
            }
        }
        self.send_waiting(config, cx);
        // The sender repairs data without a copy.
        let is_unkept = self.unkept > self.next && ack == self.next;
        let says_marks = is_handshake || segment.flags.has(Flags::ECE);
        let is_news = ack > self.next || is_unkept || says_marks || !packet.is_bare_ack();
        if !is_news && was_tight {
            self.acknowledge(None, config, cx);
        }
        is_news
    }

    fn timeout(&self, _: &SpoofConfig) -> Option<Time> {
        let sent = self.copies.oldest()?.sent?;
        let span = (self.copies.srtt.unwrap_or(Duration::ZERO) * 2).max(Duration::from_secs(1));
        Some(sent + span * (1 << self.copies.backoff.min(6)))
    }

    fn on_timeout(&mut self, config: &SpoofConfig, cx: &mut Context<'_>) {
        self.copies.restart();
        self.recover = self.copies.end();
        self.send_waiting(config, cx);
        if self.copies.oldest().is_some_and(|copy| copy.sent.is_none()) {
            // A closed window is probed by the data that waits for it (RFC 9293 §3.8.6.1).
            self.copies.send(self.copies.acked, cx);
        }
    }

    fn owed(&self) -> u64 {
        self.next.saturating_sub(self.copies.acked)
    }
}

impl Half {
    /// Acknowledges the kept data; `beyond`: data that arrived beyond it.
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

    /// Sends the data that waits for the hop.
    fn send_waiting(&mut self, config: &SpoofConfig, cx: &mut Context<'_>) {
        for offset in self.copies.unsent(self.copies.acked, self.limit(config)) {
            self.copies.send(offset, cx);
        }
    }

    /// Returns the end of the data that may leave, by the hop's window and the receiver's.
    fn limit(&self, config: &SpoofConfig) -> u64 {
        (self.copies.acked + config.window)
            .min(self.receiver_edge + u64::from(self.copies.fin_at == Some(self.receiver_edge)))
    }
}

//! A proxy that splits connections (RFC 3135 §2.4): two real connections back to back, one towards each end, with
//! sequence numbers, options, windows and controllers of their own. It shows each end the other one's addresses, and
//! what it has acknowledged to one end it owes to the other.
//!
//! # Where it may stand
//!
//! At any node that both directions of a flow pass; two in a row, one at each gateway, give the satellite hop a
//! connection of its own.
//!
//! # What it helps, and what it harms
//!
//! **Helps:** Slow start and recovery run over the round trip of one side instead of both, losses of one side are
//! repaired there, and each side may have a sender that suits it. **Harms:** An acknowledgement no longer says that the
//! other end has the data. Where the proxy loses its state, or one side is reset, they are gone: counted as
//! `pep_lost_bytes`.
//!
//! # What it leaves alone
//!
//! **What it does not split** it forwards unchanged: datagrams, connections without a handshake, and those whose SYN
//! passed elsewhere or before its state was lost. A SYN's data (Fast Open) it does not take: it grants no cookie, and
//! the opener sends them again once it is connected. SYNs beyond `half_open` and `sessions` it drops, as a listener
//! does whose queue is full.
//!
//! What it has taken from one side stays in its buffer until the other end has acknowledged it, and the window that it
//! advertises is what is left of that: a side that stalls stops the other. FIN and RST are passed on behind the data,
//! so that half-closed connections work.

use super::sessions::Sessions;
use super::{Context, Middlebox};
use crate::dictionary::Cause;
use crate::distribution::{clocks, with_clocks};
use crate::packet::Packet;
use bentpipe_tcp::{Config, Connection, Event, Flags, Role, Segment, State};
use bentpipe_units::settings::Bytes;
use bentpipe_units::{settings, words, Duration, Seq, Stream, Time};
use std::sync::Arc;

settings! {
    /// A proxy that splits connections.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SplitConfig {
        /// When the opener is answered.
        accept: Accept = Accept::Early, "PEPsal";
        /// Bytes that it keeps for each direction of a connection until the other end has acknowledged them.
        buffer: u64 as Bytes = 6_291_456, "Linux: the largest tcp_rmem";
        /// Connections that it keeps at once; the SYN of another is dropped.
        sessions: u32 = 100_000, [1, 1_000_000];
        /// Those of them that may not be open on both sides yet.
        half_open: u32 = 4096, [1, 1_000_000], "Linux: tcp_max_syn_backlog";
        /// State is given up after a time without a packet.
        idle: Duration = Duration::from_secs(7440), "RFC 5382 §5";
        /// All state is lost at this instant, as when the proxy restarts. Without it, never.
        fails_at: Option<Time>;
        /// Its transport towards the end that opens; what is not written here is as in `[tcp]`.
        opener: Config = Config::default();
        /// Its transport towards the other end; what is not written here is as in `[tcp]`.
        listener: Config = Config::default();
    }
}

words! {
    /// When a proxy answers the end that opens a connection.
    pub enum Accept {
        /// At once. Where the other end refuses, the opener is reset after it was told that it is connected.
        "early" => Early,
        /// Once the other end has answered: refusals are passed on exactly, at the price of a round trip to there.
        "late" => Late,
    }
}

/// What is left of a connection that both ends have closed serves late packets for this long.
const LINGER: Duration = Duration::from_secs(5);

/// The proxy.
#[derive(Debug)]
pub struct Split {
    config: SplitConfig,
    /// Of the connections towards the opener and the other end.
    transports: [Arc<Config>; 2],
    /// Initial sequence numbers and the seeds of congestion controls.
    dice: Stream,
    sessions: Sessions<Session>,
    half_open: u32,
    fails_at: Time,
    pub(crate) lost_bytes: u64,
}

/// Two connections of the proxy that stand for one.
#[derive(Debug)]
struct Session {
    /// Towards the opener, towards the other end.
    sides: [Connection; 2],
    /// Bytes of each side that were handed to the other, and those of them that the other's peer has acknowledged.
    handed: [u64; 2],
    acked: [u64; 2],
    /// A packet of the opener: addresses.
    from_opener: Packet,
    /// A SYN that waits for the other end's answer.
    waiting: Option<Segment>,
    is_half_open: bool,
    last_packet: Time,
    /// When both sides were finished.
    ended: Option<Time>,
}

/// The side towards the opener, and that towards the other end.
const OPENER: usize = 0;
const LISTENER: usize = 1;

impl Split {
    pub(crate) fn new(config: &SplitConfig, seed: u64, component: &str) -> Self {
        let mut phases = Stream::new(seed, component, "clock");
        let mut draw = 0;
        let transports = [&config.opener, &config.listener].map(|side| {
            let drawn = with_clocks(side.clone(), clocks(side, &mut phases, draw));
            draw += 1;
            Arc::new(Config {
                receive_buffer: config.buffer,
                auto_buffer: None,
                fast_open: None,
                sharing: None,
                ..drawn
            })
        });
        Self {
            transports,
            fails_at: config.fails_at.unwrap_or(Time::NEVER),
            config: config.clone(),
            dice: Stream::new(seed, component, "split"),
            sessions: Sessions::default(),
            half_open: 0,
            lost_bytes: 0,
        }
    }

    /// A connection begins, if there is room for it.
    fn begin(&mut self, key: u64, packet: Packet, syn: &Segment, cx: &mut Context<'_>) {
        if self.half_open >= self.config.half_open || self.sessions.len() >= self.config.sessions as usize {
            return cx.drop(packet, Cause::Policy);
        }
        let [mut near, mut far] = [(OPENER, Role::Passive), (LISTENER, Role::Active)].map(|(side, role)| {
            let drawn = self.dice.at(2 * key + side as u64);
            let mut conn = Connection::new(self.transports[side].clone(), role, Seq::new(drawn as u32));
            conn.set_random_seed(drawn);
            conn.set_reads_at_once(false);
            conn
        });
        far.open(cx.now);
        near.open(cx.now);
        let waiting = match self.config.accept {
            Accept::Late => Some(*syn),
            Accept::Early => {
                near.handle_segment(cx.now, syn);
                None
            }
        };
        cx.keep(&packet);
        self.half_open += 1;
        self.sessions.insert(
            key,
            Session {
                sides: [near, far],
                handed: [0; 2],
                acked: [0; 2],
                from_opener: packet,
                waiting,
                is_half_open: true,
                last_packet: cx.now,
                ended: None,
            },
        );
        cx.consume(packet);
        self.drive(key, cx);
    }

    /// Passes on what has changed, and frees what is over.
    fn drive(&mut self, key: u64, cx: &mut Context<'_>) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let lost = session.pass_on(cx);
        self.lost_bytes += lost;
        if session.is_half_open && session.is_open() {
            session.is_half_open = false;
            self.half_open -= 1;
        }
        if session.ended.is_none() && session.has_ended() {
            session.ended = Some(cx.now);
            cx.let_go(&session.from_opener);
        }
        let due = session.next_wakeup(self.config.idle);
        if due <= cx.now && session.is_over(cx.now, self.config.idle) {
            return self.remove(key, cx);
        }
        self.sessions.arm(key, due);
    }

    fn remove(&mut self, key: u64, cx: &mut Context<'_>) {
        if let Some(session) = self.sessions.remove(key) {
            self.forget(&session, cx);
        }
    }

    /// State is lost.
    fn forget(&mut self, session: &Session, cx: &mut Context<'_>) {
        self.half_open -= u32::from(session.is_half_open);
        self.lost_bytes += session.owed();
        if session.ended.is_none() {
            cx.let_go(&session.from_opener);
        }
    }
}

impl Session {
    /// Carries data, FINs and resets from side to side until nothing more follows from it; returns the bytes that it owes in vain.
    fn pass_on(&mut self, cx: &mut Context<'_>) -> u64 {
        let mut lost = 0;
        loop {
            for side in [OPENER, LISTENER] {
                self.hand_over(side);
                while let Some(event) = self.sides[side].poll_event() {
                    match event {
                        Event::PeerFinished => self.sides[1 - side].close(),
                        Event::Established if side == LISTENER => self.answer_opener(cx),
                        Event::Aborted(_) => {
                            lost += self.owed();
                            (self.handed, self.acked) = ([0; 2], [0; 2]);
                            self.abort(1 - side, cx);
                        }
                        _ => {}
                    }
                }
            }
            for side in [OPENER, LISTENER] {
                while let Some(segment) = self.sides[side].poll_transmit(cx.now) {
                    self.send(side, &segment, cx);
                }
            }
            if !self.sides.iter().any(Connection::has_events) {
                return lost;
            }
        }
    }

    /// What has come from one side is for the other; what that has seen acknowledged is out of the buffer.
    fn hand_over(&mut self, side: usize) {
        let [here, there] = match &mut self.sides {
            [near, far] if side == OPENER => [near, far],
            [near, far] => [far, near],
        };
        if here.state() == State::Closed && there.state() == State::Closed {
            return;
        }
        let arrived = here.counters().delivered_bytes;
        there.offer(arrived - self.handed[side]);
        self.handed[side] = arrived;
        let acked = there.acked_bytes();
        here.read(acked - self.acked[side]);
        self.acked[side] = acked;
    }

    /// Bytes that were acknowledged to one end and not by the other.
    fn owed(&self) -> u64 {
        self.handed.iter().sum::<u64>() - self.acked.iter().sum::<u64>()
    }

    /// The other end has answered: so may the opener be.
    fn answer_opener(&mut self, cx: &Context<'_>) {
        if let Some(syn) = self.waiting.take() {
            self.sides[OPENER].handle_segment(cx.now, &syn);
        }
    }

    /// One side is reset, since the other was.
    fn abort(&mut self, side: usize, cx: &mut Context<'_>) {
        if let Some(syn) = self.waiting.take().filter(|_| side == OPENER) {
            // RFC 9293 §3.5.2: a refusal of what was not answered yet.
            let flags = Flags::RST.with(Flags::ACK);
            let refusal = Segment { ack: syn.seq.at(1), flags, ..Segment::default() };
            self.send(OPENER, &refusal, cx);
            self.sides[OPENER].close();
        }
        self.sides[side].abort();
    }

    fn send(&self, side: usize, segment: &Segment, cx: &mut Context<'_>) {
        let towards = if side == OPENER { self.from_opener } else { self.from_opener.turned() };
        if let Some(packet) = cx.answer(&towards, segment) {
            cx.emit(packet);
        }
    }

    fn is_open(&self) -> bool {
        self.sides.iter().all(|side| !matches!(side.state(), State::Listen | State::SynSent | State::SynReceived))
    }

    fn has_ended(&self) -> bool {
        self.sides.iter().all(|side| matches!(side.state(), State::Closed | State::TimeWait))
    }

    fn next_wakeup(&self, idle: Duration) -> Time {
        match self.ended {
            Some(at) => at + LINGER,
            None => self.sides.iter().map(Connection::next_wakeup).fold(self.last_packet + idle, Time::min),
        }
    }

    fn is_over(&self, now: Time, idle: Duration) -> bool {
        match self.ended {
            Some(at) => at + LINGER <= now,
            None => self.last_packet + idle <= now,
        }
    }
}

impl Middlebox for Split {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        if cx.now >= self.fails_at {
            self.on_wakeup(cx);
        }
        let key = Sessions::<Session>::key(&packet);
        let Some(segment) = cx.segment(&packet).filter(|_| !packet.is_damaged()) else { return cx.forward(packet) };
        let opens = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK) && !packet.is_to_sender();
        match self.sessions.get_mut(key) {
            Some(session) if opens && session.ended.is_some() => {
                self.remove(key, cx);
                self.begin(key, packet, &segment, cx);
            }
            Some(session) => {
                let side = if packet.is_to_sender() { LISTENER } else { OPENER };
                session.last_packet = cx.now;
                let waits = side == OPENER && session.waiting.is_some();
                if waits && segment.flags.has(Flags::RST) {
                    session.waiting = None;
                    session.sides[OPENER].close();
                    session.sides[LISTENER].abort();
                } else if !waits {
                    session.sides[side].handle_segment(cx.now, &segment);
                }
                cx.consume(packet);
                self.drive(key, cx);
            }
            None if opens => self.begin(key, packet, &segment, cx),
            None => cx.forward(packet),
        }
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        if cx.now >= self.fails_at {
            self.fails_at = Time::NEVER;
            for session in self.sessions.take() {
                self.forget(&session, cx);
            }
        }
        while let Some(key) = self.sessions.pop_due(cx.now) {
            if let Some(session) = self.sessions.get_mut(key) {
                session.sides.iter_mut().for_each(|side| side.handle_wakeup(cx.now));
            }
            self.drive(key, cx);
        }
    }

    fn flows(&self) -> usize {
        self.sessions.len()
    }

    fn next_wakeup(&self) -> Time {
        self.sessions.next_wakeup().min(self.fails_at)
    }

    fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }
}

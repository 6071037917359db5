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
//! **Marks** of ECN it answers as the end of each side that it is, if `tcp.ecn` of that side says so: none is passed on, and one
//! side that slows down stops the other by its window. Both sides have the class of the flow.
//!
//! What it has taken from one side stays in its buffer until the other end has acknowledged it, and the window that it
//! advertises is what is left of that: a side that stalls stops the other. FIN and RST are passed on behind the data,
//! so that half-closed connections work.

use super::sessions::Sessions;
use super::splice::{Carrier, Splicer, LISTENER, OPENER};
use super::{Context, Middlebox};
use crate::dictionary::Cause;
use crate::distribution::{clocks, with_clocks};
use crate::packet::Packet;
use bentpipe_tcp::{Config, Flags, Segment};
use bentpipe_units::settings::Bytes;
use bentpipe_units::{settings, words, Duration, Stream, Time};
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

impl SplitConfig {
    /// Of the connections towards the opener and the other end, with what is drawn for them.
    #[must_use]
    pub fn transports(&self, seed: u64, component: &str) -> [Config; 2] {
        let mut phases = Stream::new(seed, component, "clock");
        let mut draw = 0;
        [&self.opener, &self.listener].map(|side| {
            let drawn = with_clocks(side.clone(), clocks(side, &mut phases, draw));
            draw += 1;
            Config { receive_buffer: self.buffer, auto_buffer: None, fast_open: None, sharing: None, ..drawn }
        })
    }
}

/// The proxy.
#[derive(Debug)]
pub struct Split<E: Carrier = Simulated> {
    transports: [Arc<Config>; 2],
    /// Initial sequence numbers and the seeds of congestion controls.
    dice: Stream,
    pub(super) sessions: Splicer<E>,
}

/// The ends of a simulated connection.
pub trait SimulatedEnds: Carrier {
    /// Those of the connection that begins with this SYN.
    fn of(syn: Packet) -> Self;

    /// Whether the connection is one for the proxy.
    fn takes(_syn: &Packet, _cx: &Context<'_>) -> bool {
        true
    }
}

/// The ends of any simulated connection: a packet of the opener has their addresses.
#[derive(Debug)]
pub struct Simulated(pub(super) Packet);

impl SimulatedEnds for Simulated {
    fn of(syn: Packet) -> Self {
        Self(syn)
    }
}

impl Carrier for Simulated {
    type Common = ();

    fn send(&mut self, side: usize, segment: &Segment, _: u64, cx: &mut Context<'_>) {
        let towards = if side == OPENER { self.0 } else { self.0.turned() };
        if let Some(packet) = cx.answer(&towards, segment) {
            cx.emit(packet);
        }
    }

    fn on_begun(&mut self, cx: &mut Context<'_>) {
        cx.keep(&self.0);
    }

    fn on_ended(&mut self, cx: &mut Context<'_>) {
        cx.let_go(&self.0);
    }
}

impl Split {
    pub(crate) fn new(config: &SplitConfig, seed: u64, component: &str) -> Self {
        Self::with(config, (), seed, component)
    }
}

impl<E: SimulatedEnds> Split<E> {
    /// With what its sessions have in common.
    pub(super) fn with(config: &SplitConfig, common: E::Common, seed: u64, component: &str) -> Self {
        Self {
            transports: config.transports(seed, component).map(Arc::new),
            dice: Stream::new(seed, component, "split"),
            sessions: Splicer::new(config, common),
        }
    }
}

impl<E: SimulatedEnds> Middlebox for Split<E> {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.sessions.fail_if_due(cx);
        let key = Sessions::<()>::key(&packet);
        let Some(segment) = cx.segment(&packet).filter(|_| !packet.is_damaged()) else { return cx.forward(packet) };
        let opens = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK) && !packet.is_to_sender();
        if self.sessions.has(key, opens) {
            let side = if packet.is_to_sender() { LISTENER } else { OPENER };
            self.sessions.handle(key, side, &segment, &[], cx);
        } else if !opens || !E::takes(&packet, cx) {
            return cx.forward(packet);
        } else if self.sessions.is_full_for(key, cx) {
            return cx.drop(packet, Cause::Policy);
        } else {
            let drawn = [OPENER, LISTENER].map(|side| self.dice.at(2 * key + side as u64));
            self.sessions.begin(key, &segment, &self.transports, drawn, E::of(packet), cx);
        }
        cx.consume(packet);
        self.sessions.drive(key, cx);
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        self.sessions.wake(cx);
    }

    fn flows(&self) -> usize {
        self.sessions.len()
    }

    fn next_wakeup(&self) -> Time {
        self.sessions.next_wakeup()
    }

    fn lost_bytes(&self) -> u64 {
        self.sessions.lost_bytes()
    }
}

//! Splits connections (RFC 3135 §2.4): two real connections back to back, one towards each endpoint.
//!
//! # How it works
//!
//! Each of the two connections has its own sequence numbers, options, windows and congestion control. The proxy shows
//! each endpoint the addresses of the other, and owes to one endpoint the data that it has acknowledged to the other.
//!
//! - Datagrams, connections without a handshake, and connections whose SYN passed elsewhere or before its state was
//!   lost are forwarded unchanged.
//! - It ignores a SYN's data (Fast Open) and grants no cookie. The opener retransmits the data once it is connected.
//! - It drops SYNs beyond `half_open` and `sessions`, like a listener with a full queue.
//! - It answers ECN marks as the endpoint of each side, if `tcp.ecn` of that side is on, and passes none on. A side
//!   that slows down stops the other by its window. Both sides have the class of the flow.
//! - Data from one side stays in its buffer until the other endpoint has acknowledged it. The advertised window is the
//!   free part of the buffer: a side that stalls stops the other.
//! - FIN and RST are passed on behind the data, so half-closed connections work.
//!
//! # Position on the path
//!
//! At any node that both directions of a flow pass. Two in a row, one at each gateway, give the satellite hop a
//! separate connection.
//!
//! # When it helps
//!
//! Slow start and recovery run over the round trip of one side instead of both. Losses of one side are repaired there.
//! Each side may have a congestion control that suits it.
//!
//! # When it hurts
//!
//! An acknowledgement no longer guarantees that the other endpoint has the data. If the proxy loses its state, or one
//! side is reset, the data is lost and counted as `pep_lost_bytes`.

use super::splice::{Carrier, Splicer, SplitConfig, LISTENER, OPENER};
use crate::dictionary::Cause;
use crate::distribution::{clocks, with_clocks};
use crate::middlebox::sessions::Sessions;
use crate::middlebox::{Context, Middlebox};
use crate::packet::Packet;
use bentpipe_tcp::{Config, Flags, Segment};
use bentpipe_units::{Stream, Time};
use std::sync::Arc;

impl SplitConfig {
    /// Returns the connections towards the opener and the other endpoint, with their random draws.
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

/// The proxy at a node.
#[derive(Debug)]
pub struct Split<E: Carrier = Simulated> {
    transports: [Arc<Config>; 2],
    /// Draws of initial sequence numbers and of the seeds of congestion controls.
    dice: Stream,
    pub(super) sessions: Splicer<E>,
}

/// Ends of a simulated connection.
pub trait SimulatedEnds: Carrier {
    /// Returns the ends of the connection that begins with this SYN.
    fn of(syn: Packet) -> Self;

    /// Whether the proxy splits the connection.
    fn takes(_syn: &Packet, _cx: &Context<'_>) -> bool {
        true
    }
}

/// Ends of any simulated connection: a packet of the opener has their addresses.
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
    /// Creates a proxy with the state that its sessions share.
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
        cx.accept(packet);
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

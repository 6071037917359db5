//! Writes the window that the free room of a queue admits into returning ACKs: explicit window adaptation (L.
//! Kalampoukas, A. Varma and K. Ramakrishnan, IEEE/ACM ToN 10(3), 2002).
//!
//! # How it works
//!
//! The node reduces the advertised window of returning ACKs to the window that the free room of the queue admits. A
//! flow may have alpha * log2(B - Q) segments, at least one, if the queue has room for B packets and Q wait. Every
//! `interval` a mean of Q moves by an eighth towards it. Below `low` of B, alpha rises by `rise`. Above `high` it falls
//! by the share `fall`. It starts at 1 and stays between 1/8 and 64.
//!
//! The window uses the connection's scale, from its SYNs. A connection whose SYNs passed elsewhere keeps its window,
//! and so does a connection beyond `flows`. The node forgets a connection with RST, after both FINs, or after five
//! minutes of silence.
//!
//! # Position on the path
//!
//! In front of the queue that fills, where data and the ACKs of the same connections pass. A queue without a limit has
//! no room to compute with, and nothing is written. The node needs readable TCP headers: encryption below TCP, and
//! QUIC, hide them from a real node.
//!
//! # When it helps
//!
//! Unmodified senders keep the queue within its room, so few packets are dropped.
//!
//! # When it hurts
//!
//! All flows get the same window for any round-trip time. Flows with a short round trip get the larger rate, which
//! REFWA was made to repair. The logarithm hardly moves until the queue is almost full. As with REFWA, senders without
//! SACK need `tcp.duplicate_acks = "any-window"`, and large scales round a window down to a small value.
//!
//! # Differences from the source
//!
//! Source not available: interval, bounds and steps are readings.

use super::seen::{origin, port, Port, Scales, FORGET};
use crate::middlebox::{Context, LinkView, Middlebox};
use crate::packet::Packet;
use bentpipe_tcp::Flags;
use bentpipe_units::settings::Chance;
use bentpipe_units::{settings, Duration, Time};
use std::collections::BTreeMap;

settings! {
    /// Window feedback from the free room of a queue.
    pub struct EwaConfig {
        /// Time between updates of the mean queue and of alpha; at least a millisecond.
        interval: Duration = Duration::from_millis(10), "reading";
        /// Share of the room below which the mean queue makes alpha rise.
        low: f64 as Chance = 0.2, "reading";
        /// Share of the room above which the mean queue makes alpha fall.
        high: f64 as Chance = 0.6, "reading";
        /// Increase of alpha per interval.
        rise: f64 as Chance = 0.125, "reading";
        /// Share of alpha that is removed per interval.
        fall: f64 as Chance = 0.03125, "reading";
        /// Largest number of connections that it knows; 0: transparent.
        flows: u32 = 100_000;
    }
}

/// Shortest interval.
const SHORTEST: Duration = Duration::from_millis(1);

/// The middlebox, with its connections and links.
#[derive(Clone, Debug)]
pub struct Ewa {
    config: EwaConfig,
    /// Connections by conversation, both directions together.
    connections: BTreeMap<u64, Conversation>,
    ports: Vec<Port<Control>>,
    next: Time,
    /// Time of the next search for silent connections.
    sweep_at: Time,
}

/// A connection; `[0]` is its opener's.
#[derive(Clone, Copy, Debug)]
struct Conversation {
    scales: Scales,
    is_closed: [bool; 2],
    /// Port through which the data of an endpoint leaves, and its largest payload.
    data: [Option<(usize, u16)>; 2],
    seen_at: Time,
}

/// Control of a link.
#[derive(Clone, Copy, Debug)]
struct Control {
    alpha: f64,
    /// Mean queue, packets.
    mean: f64,
}

impl Port<Control> {
    /// Returns room and queue in packets, by the nearer bound.
    fn room(&self, link: &LinkView) -> (f64, f64) {
        let of_bytes = link.room.1 / self.largest.max(1);
        if link.room.0 <= of_bytes {
            (link.room.0 as f64, link.queue.packets as f64)
        } else {
            (of_bytes as f64, link.queue.bytes as f64 / self.largest as f64)
        }
    }
}

impl Control {
    fn adapt(&mut self, config: &EwaConfig, room: f64, queue: f64) {
        self.mean = 7.0 / 8.0 * self.mean + queue / 8.0;
        if self.mean < config.low * room {
            self.alpha += config.rise;
        } else if self.mean > config.high * room {
            self.alpha *= 1.0 - config.fall;
        }
        self.alpha = self.alpha.clamp(1.0 / 8.0, 64.0);
    }
}

/// Returns the window that `free` packets of room admit, segments.
fn segments(alpha: f64, free: f64) -> f64 {
    if free <= 1.0 {
        1.0
    } else {
        (alpha * libm::log2(free)).max(1.0)
    }
}

impl Ewa {
    pub(crate) fn new(config: &EwaConfig, _seed: u64, _component: &str) -> Self {
        let (connections, ports) = (BTreeMap::new(), Vec::new());
        Self { config: *config, connections, ports, next: Time::NEVER, sweep_at: Time::NEVER }
    }

    /// Learns the state of a connection from a packet, and writes the window into it.
    fn read(&mut self, packet: &mut Packet, cx: &mut Context<'_>) {
        let (now, flags) = (cx.now, packet.header_flags());
        let (key, side) = origin(packet);
        if flags.has(Flags::RST) {
            self.connections.remove(&key);
            return;
        }
        let is_syn = flags.has(Flags::SYN);
        if is_syn && !self.connections.contains_key(&key) && self.connections.len() < self.config.flows as usize {
            let (scales, is_closed, data) = (Scales::default(), [false; 2], [None; 2]);
            self.connections.insert(key, Conversation { scales, is_closed, data, seen_at: now });
            if self.next == Time::NEVER {
                (self.next, self.sweep_at) = (now + self.config.interval.max(SHORTEST), now + FORGET);
            }
        }
        let leaves_by = (packet.len > 0).then(|| cx.link_of(packet)).flatten();
        let leaves_by = leaves_by.map(|link| port(&mut self.ports, link, Control { alpha: 1.0, mean: 0.0 }));
        let Some(connection) = self.connections.get_mut(&key) else { return };
        connection.seen_at = now;
        if is_syn {
            connection.scales.read(side, packet, cx);
            return;
        }
        if let Some(port) = leaves_by {
            let largest = connection.data[side].map_or(0, |(_, mss)| mss);
            connection.data[side] = Some((port, packet.len.max(largest)));
            self.ports[port].largest = self.ports[port].largest.max(packet.size());
        }
        let shift = connection.scales.shift(side);
        if let (Some((port, mss)), Some(shift), true) = (connection.data[1 - side], shift, flags.has(Flags::ACK)) {
            let port = &self.ports[port];
            let link = cx.link(port.link);
            if link.room != (u64::MAX, u64::MAX) {
                let (room, queue) = port.room(&link);
                let window = (segments(port.control.alpha, room - queue) * f64::from(mss)) as u64 >> shift;
                // Never 0, which would stop the sender.
                packet.window = packet.window.min(window.clamp(1, u64::from(u16::MAX)) as u16);
            }
        }
        connection.is_closed[side] |= flags.has(Flags::FIN);
        if connection.is_closed == [true; 2] {
            self.connections.remove(&key);
        }
    }
}

impl Middlebox for Ewa {
    fn on_packet(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        if packet.is_segment() {
            self.read(&mut packet, cx);
        }
        cx.forward(packet);
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        if cx.now < self.next {
            return;
        }
        for port in &mut self.ports {
            let link = cx.link(port.link);
            if link.room != (u64::MAX, u64::MAX) {
                let (room, queue) = port.room(&link);
                port.control.adapt(&self.config, room, queue);
            }
        }
        if cx.now >= self.sweep_at {
            self.connections.retain(|_, connection| cx.now.saturating_since(connection.seen_at) < FORGET);
            self.sweep_at = cx.now + FORGET;
        }
        let is_idle = self.connections.is_empty();
        self.next = if is_idle { Time::NEVER } else { cx.now + self.config.interval.max(SHORTEST) };
    }

    fn next_wakeup(&self) -> Time {
        self.next
    }

    fn flows(&self) -> usize {
        self.connections.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::Framing;
    use crate::ids::EndpointId;
    use crate::middlebox::{Action, Bench, QueueView};
    use crate::packet::Origin;
    use bentpipe_tcp::{Options, Segment, SynOptions};
    use bentpipe_units::Rate;

    /// The window that an ACK leaves with, in segments, where `free` of 100 packets of room are free.
    fn feedback(alpha: f64, free: usize, field: u16, has_syns: bool) -> u16 {
        const MSS: u16 = 1000;
        let queue = QueueView { packets: 100 - free, bytes: 0, is_sending: true };
        let link = LinkView {
            rate: Rate::from_bps(1_000_000),
            framing: Framing::None,
            room: (100, u64::MAX),
            queue,
            up_at: Time::ZERO,
        };
        let mut bench = Bench { link: Some(link), ..Bench::default() };
        let mut ewa = Ewa::new(&EwaConfig::default(), 1, "");
        let mut pass = |ewa: &mut Ewa, is_back: bool, segment: Segment| {
            let end = EndpointId::both(0)[usize::from(is_back)];
            let packet = Packet::new(&segment, &Origin::of(end, 0), &mut bench.bodies);
            bench.at(Time::ZERO, |cx| ewa.on_packet(packet, cx));
            match bench.out.take()[..] {
                [Action::Forward(packet)] => packet.window,
                ref other => unreachable!("{other:?}"),
            }
        };
        for is_back in [false, true] {
            let options = Options::Syn(SynOptions { mss: MSS, window_scale: Some(0), ..SynOptions::default() });
            if has_syns {
                pass(&mut ewa, is_back, Segment { flags: Flags::SYN, options, ..Segment::default() });
            }
        }
        pass(&mut ewa, false, Segment { len: MSS, flags: Flags::ACK, ..Segment::default() });
        ewa.ports[0].control.alpha = alpha;
        pass(&mut ewa, true, Segment { window: field * MSS, flags: Flags::ACK, ..Segment::default() }) / MSS
    }

    /// `docs/specs/ewa.md`, tests.
    #[test]
    fn the_window_is_the_logarithm_of_the_free_room() {
        assert_eq!(feedback(1.0, 64, 60, true), 6);
        assert_eq!(feedback(1.0, 2, 60, true), 1);
        assert_eq!(feedback(4.0, 64, 60, true), 24);
        assert_eq!(feedback(4.0, 64, 5, true), 5, "a smaller window stays");
        assert_eq!(feedback(4.0, 0, 60, true), 1, "never less than a segment");
        assert_eq!(feedback(1.0, 64, 60, false), 60, "of a connection without SYNs the scale is not known");
    }

    #[test]
    fn alpha_rises_below_a_fifth_of_the_room_and_falls_above_three_fifths() {
        let mut port = Control { alpha: 1.0, mean: 0.0 };
        let config = EwaConfig::default();
        port.adapt(&config, 100.0, 80.0);
        assert_eq!((port.mean, port.alpha), (10.0, 1.125));
        port.mean = 50.0;
        port.adapt(&config, 100.0, 50.0);
        assert_eq!(port.alpha, 1.125, "in between it stays");
        port.mean = 100.0;
        port.adapt(&config, 100.0, 100.0);
        assert_eq!(port.alpha, 1.125 * 31.0 / 32.0);
        (0..1000).for_each(|_| port.adapt(&config, 100.0, 100.0));
        assert_eq!(port.alpha, 0.125);
        (0..1000).for_each(|_| port.adapt(&config, 100.0, 0.0));
        assert_eq!(port.alpha, 64.0);
    }
}

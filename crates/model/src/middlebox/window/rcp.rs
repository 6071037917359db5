//! Sets one rate for all senders with RCP: rate control protocol (N. Dukkipati, "Rate control protocol (RCP):
//! congestion control to make flows complete quickly", Stanford 2007).
//!
//! # How it works
//!
//! The node writes the rate that each sender may use on the packets:
//!
//! ```text
//! every T = min(interval, d):   R = R (1 + (T / d) (alpha (C - y) - beta q / d) / C)
//! packet:                       rate = min(rate, R)
//! ```
//!
//! C is the link's rate, reduced by the framing for packets of the largest size so far. y is the arrival rate, q the
//! queue, and d the mean of the round trips on packets (gain 0.02). R starts at `start` of C and stays between a packet
//! per round trip (or a thousandth of C) and C. The node keeps state per link, none per flow.
//!
//! # Position on the path
//!
//! On the path of data of senders with `tcp.feedback = "rcp"`, at all nodes that feed possible bottlenecks. A
//! bottleneck without it is not noticed. Packets of unmodified senders count as traffic and pass unchanged.
//!
//! # When it helps
//!
//! A flow has its rate after one round trip on a path of any length, so short flows end soon.
//!
//! # When it hurts
//!
//! - Many flows that start together all get the rate that was right before. The queue absorbs the excess for a round
//!   trip, and needs the room.
//! - Beside senders that fill the queue hardly any rate is left. Over the LEO path below it has 1.4 Mbit/s beside a
//!   transfer with CUBIC, and 46.7 without that transfer.
//! - Every router, sender and receiver must take part.
//! - Middleboxes that write on packets themselves (BEEN, ETEN) replace its header, and a split connection does not
//!   carry it across.
//!
//! # Differences from the source
//!
//! Source not available: the equations are a reading.

use crate::ids::LinkId;
use crate::middlebox::{Context, Middlebox};
use crate::packet::{Label, Packet};
use bentpipe_units::settings::Chance;
use bentpipe_units::{settings, Duration, Time};

settings! {
    /// A rate for senders with RCP.
    pub struct RcpConfig {
        /// Gain of the free rate.
        alpha: f64 = 0.4, [0.0, 1.0], "Dukkipati 2007; 0.1 in later work";
        /// Gain of the queue.
        beta: f64 = 0.226, [0.0, 1.0], "Dukkipati 2007; 1 in later work";
        /// Longest time between two changes of the rate. The mean round trip applies if it is shorter.
        interval: Duration = Duration::from_millis(10), "reading";
        /// Share of the link's rate at the start.
        start: f64 as Chance = 0.05, "reading";
        /// Mean round trip before the first sample.
        first: Duration = Duration::from_millis(100), "reading";
    }
}

/// Weight of a packet's round trip in the mean.
const GAIN: f64 = 0.02;

/// Shortest round trip and interval, s.
const SHORTEST: f64 = 0.001;

/// A link out of the node; rates in bytes/s, times in seconds.
#[derive(Clone, Debug)]
struct Port {
    link: LinkId,
    /// The rate; `None`: no packet has arrived yet.
    rate: Option<f64>,
    mean: f64,
    arrived: f64,
    /// Largest packet, bytes.
    largest: f64,
    began: Time,
    ends: Time,
}

impl Port {
    /// Updates the mean round trip with that of a packet.
    fn note(&mut self, rtt: f64) {
        self.mean = (self.mean + GAIN * (rtt - self.mean)).max(SHORTEST);
    }

    /// Updates the rate after `over` seconds, with the arrivals in that time.
    fn renew(&mut self, config: &RcpConfig, capacity: f64, queue: f64, over: f64) {
        let Some(rate) = &mut self.rate else { return };
        let d = self.mean;
        let spare = config.alpha * (capacity - self.arrived / over) - config.beta * queue / d;
        let least = (self.largest / d).max(0.001 * capacity).min(capacity);
        *rate = (*rate * (1.0 + over / d * spare / capacity)).clamp(least, capacity);
        self.arrived = 0.0;
    }
}

/// The middlebox at a node.
#[derive(Clone, Debug)]
pub struct Rcp {
    config: RcpConfig,
    ports: Vec<Port>,
}

impl Rcp {
    pub(crate) fn new(config: &RcpConfig, _seed: u64, _component: &str) -> Self {
        Self { config: *config, ports: Vec::new() }
    }

    fn interval(&self, mean: f64) -> Duration {
        Duration::from_secs_f64(mean.min(self.config.interval.as_secs_f64()).max(SHORTEST))
    }

    fn port(&mut self, link: LinkId, now: Time) -> &mut Port {
        let at = self.ports.iter().position(|port| port.link == link).unwrap_or_else(|| {
            let mean = self.config.first.as_secs_f64().max(SHORTEST);
            let (began, ends) = (now, Time::NEVER);
            self.ports.push(Port { link, rate: None, mean, arrived: 0.0, largest: 0.0, began, ends });
            self.ports.len() - 1
        });
        if self.ports[at].ends == Time::NEVER {
            let ends = now + self.interval(self.ports[at].mean);
            (self.ports[at].began, self.ports[at].ends) = (now, ends);
        }
        &mut self.ports[at]
    }
}

impl Middlebox for Rcp {
    fn on_packet(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        let Some(link) = cx.link_of(&packet) else { return cx.forward(packet) };
        let (size, start) = (packet.size() as f64, self.config.start);
        let port = self.port(link, cx.now);
        port.arrived += size;
        port.largest = port.largest.max(size);
        let capacity = cx.link(link).bytes_per_s(port.largest as u64);
        if let Some(Label::Rcp(mut header)) = cx.label(&packet) {
            if header.rtt > 0.0 {
                port.note(f64::from(header.rtt));
            }
            // An ACK without data requests no rate.
            if header.forward > 0.0 {
                let rate = *port.rate.get_or_insert(start * capacity);
                header.forward = header.forward.min(rate as f32);
                cx.rewrite_label(&mut packet, Label::Rcp(header));
            }
        }
        cx.forward(packet);
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        for at in 0..self.ports.len() {
            let Port { link, ends, began, mean, .. } = self.ports[at];
            if cx.now < ends || ends == Time::NEVER {
                continue;
            }
            let (view, next) = (cx.link(link), cx.now + self.interval(mean));
            let over = (cx.now - began).as_secs_f64();
            let port = &mut self.ports[at];
            let (capacity, queue) = (view.bytes_per_s(port.largest as u64), view.queue.bytes as f64);
            let was_idle = port.arrived == 0.0 && queue == 0.0;
            if capacity > 0.0 {
                port.renew(&self.config, capacity, queue, over);
            }
            // The whole link is free, and stays so until the next arrival.
            let is_settled = was_idle && port.rate.is_none_or(|rate| rate >= capacity);
            (port.began, port.ends) = (cx.now, if is_settled { Time::NEVER } else { next });
        }
    }

    fn next_wakeup(&self) -> Time {
        self.ports.iter().map(|port| port.ends).min().unwrap_or(Time::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(rate: f64, arrived: f64) -> Port {
        let (began, ends) = (Time::ZERO, Time::NEVER);
        Port { link: LinkId::new(0), rate: Some(rate), mean: 0.1, arrived, largest: 1500.0, began, ends }
    }

    /// `docs/specs/xcp-rcp.md`, test 6.
    #[test]
    fn the_rate_follows_what_is_left_and_what_waits() {
        let mut port = port(1e6, 1e6 * 0.05);
        port.renew(&RcpConfig::default(), 1.25e6, 1e4, 0.05);
        assert!((port.rate.unwrap() - 1_030_960.0).abs() < 0.5, "{:?}", port.rate);
        assert_eq!(port.arrived, 0.0);
    }

    #[test]
    fn the_rate_stays_between_a_packet_in_a_round_trip_and_the_link() {
        let mut port = port(1e6, 0.0);
        (0..1000).for_each(|_| port.renew(&RcpConfig::default(), 1.25e6, 0.0, 0.01));
        assert_eq!(port.rate, Some(1.25e6));
        (0..1000).for_each(|_| port.renew(&RcpConfig::default(), 1.25e6, 1e6, 0.01));
        assert_eq!(port.rate, Some(15_000.0));
    }

    #[test]
    fn a_round_trip_moves_the_mean_by_a_fiftieth() {
        let mut port = port(1e6, 0.0);
        port.note(0.6);
        assert!((port.mean - 0.11).abs() < 1e-12);
    }
}

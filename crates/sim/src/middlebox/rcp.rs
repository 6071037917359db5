//! Rate control protocol (N. Dukkipati, "Rate control protocol (RCP): congestion control to make flows complete quickly", Stanford
//! 2007): the node tells all senders the one rate at which each of them may send.
//!
//! ```text
//! every T = min(interval, d):   R = R (1 + (T / d) (alpha (C - y) - beta q / d) / C)
//! packet:                       rate = min(rate, R)
//! ```
//!
//! C is the link's rate, or what framing leaves of it to packets of the largest size so far, y what arrived, q what
//! waits, and d the mean of the round trips on packets (gain 0.02). R begins at `start` of C and stays between a packet in
//! a round trip (or a thousandth of C) and C. No copy of the thesis was at hand, so the equations are a reading. State is
//! kept for each link out of the node, nothing for flows.
//!
//! # Where it may stand
//!
//! On the way of data of senders with `tcp.feedback = "rcp"`, at the nodes that feed links which may be the narrowest: a narrower
//! one without it is not seen. What other senders send counts as traffic and is left as it is.
//!
//! # What it helps, and what it harms
//!
//! A flow has its rate after one round trip, however long the path, so short ones end soon. Many that begin at once all get the rate
//! that was right before: the queue bears it for a round trip, and needs the room. Beside senders that fill the queue hardly anything
//! is left: over the LEO path below it has 1.4 Mbit/s beside a transfer with CUBIC, and 46.7 without that one. Every router has to
//! take part, and every sender and receiver. Functions that write on packets themselves (BEEN, ETEN) replace its header, and a split
//! connection does not carry it across.

use super::{Context, Middlebox};
use crate::ids::LinkId;
use crate::packet::{Label, Packet};
use bentpipe_units::settings::Chance;
use bentpipe_units::{settings, Duration, Time};

settings! {
    /// A rate for senders with RCP.
    pub struct RcpConfig {
        /// How much of the room that is left changes the rate.
        alpha: f64 = 0.4, [0.0, 1.0], "Dukkipati 2007; 0.1 in later work";
        /// How much the queue does.
        beta: f64 = 0.226, [0.0, 1.0], "Dukkipati 2007; 1 in later work";
        /// How often the rate changes at least; as often as the mean round trip if that is shorter.
        interval: Duration = Duration::from_millis(10), "reading";
        /// The share of the link's rate that it begins with.
        start: f64 as Chance = 0.05, "reading";
        /// The mean round trip before any is known.
        first: Duration = Duration::from_millis(100), "reading";
    }
}

/// Weight of a packet's round trip in the mean.
const GAIN: f64 = 0.02;

/// No round trip and no interval counts as shorter than a millisecond.
const SHORTEST: f64 = 0.001;

/// A link out of the node; rates in bytes/s, times in seconds.
#[derive(Clone, Debug)]
struct Port {
    link: LinkId,
    /// None: no packet came yet.
    rate: Option<f64>,
    mean: f64,
    arrived: f64,
    /// Largest packet.
    largest: f64,
    began: Time,
    ends: Time,
}

impl Port {
    /// The mean round trip follows that of a packet.
    fn note(&mut self, rtt: f64) {
        self.mean = (self.mean + GAIN * (rtt - self.mean)).max(SHORTEST);
    }

    /// `over` seconds have passed, in which what arrived did.
    fn renew(&mut self, config: &RcpConfig, capacity: f64, queue: f64, over: f64) {
        let Some(rate) = &mut self.rate else { return };
        let d = self.mean;
        let spare = config.alpha * (capacity - self.arrived / over) - config.beta * queue / d;
        let least = (self.largest / d).max(0.001 * capacity).min(capacity);
        *rate = (*rate * (1.0 + over / d * spare / capacity)).clamp(least, capacity);
        self.arrived = 0.0;
    }
}

/// The middlebox.
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
            // An ACK without data asks for no rate.
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
            // All of the link is free, and stays so until something comes.
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

    /// `specs/xcp-rcp.md`, test 6.
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

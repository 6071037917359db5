//! Sets the window changes of all senders with XCP: explicit control protocol (D. Katabi, M. Handley and C. Rohrs,
//! SIGCOMM 2002).
//!
//! # How it works
//!
//! The node writes on each packet by how many bytes its sender may change the window. XCP separates efficiency and
//! fairness. The free rate of the link and the standing queue set the total change. Window and round trip on each
//! packet set the share of its sender.
//!
//! ```text
//! every d:   phi = alpha d (C - y / d) - beta Q       h = max(0, gamma y - |phi|)
//!            xi+ = (h + max(phi, 0)) / (d sum rtt s / cwnd)     xi- = (h + max(-phi, 0)) / (d sum s)
//! packet:    feedback = min(feedback, xi+ rtt^2 s / cwnd - xi- rtt s), as long as what was to be given lasts
//! ```
//!
//! d is the mean round trip, y the arrivals in an interval, Q the smallest queue over a period. The node keeps state
//! per link, none per flow.
//!
//! # Position on the path
//!
//! On the path of data of senders with `tcp.feedback = "xcp"`, at all nodes that feed possible bottlenecks. A
//! bottleneck without it is not noticed. Packets of unmodified senders count as traffic and pass unchanged: senders
//! with XCP share the rest. The header of XCP is between IP and TCP. Encryption below TCP leaves it readable.
//!
//! # When it helps
//!
//! A long path is full after a few round trips, without loss and without a queue. Flows with different round trips get
//! the same rate.
//!
//! # When it hurts
//!
//! - Beside senders that fill the queue hardly any rate is left. Over the LEO path below it has 1.3 Mbit/s beside a
//!   transfer with CUBIC, and 46.8 without that transfer.
//! - Every router, sender and receiver must take part.
//! - Middleboxes that write on packets themselves (BEEN, ETEN) replace its header, and a split connection does not
//!   carry it across.
//!
//! # Differences from the source
//!
//! Source not available: the equations are a reading. Feedback is written as a packet enters the queue, not as it
//! leaves. The first d is a tenth of a second.

use crate::ids::LinkId;
use crate::middlebox::{Context, Middlebox, QueueView};
use crate::packet::{Label, Packet};
use bentpipe_units::{settings, Duration, Time};

settings! {
    /// Window changes for senders with XCP.
    pub struct XcpConfig {
        /// Share of the free rate that is distributed per round trip.
        alpha: f64 = 0.4, [0.0, 1.0], "Katabi 2002";
        /// Share of the standing queue that is drained.
        beta: f64 = 0.226, [0.0, 1.0], "Katabi 2002";
        /// Smallest share of the traffic that is redistributed.
        gamma: f64 = 0.1, [0.0, 1.0], "Katabi 2002";
        /// Interval before the first round trip is known.
        first: Duration = Duration::from_millis(100), "reading";
    }
}

/// Shortest and longest interval, s.
const INTERVAL: [f64; 2] = [0.001, 1.0];

/// Header of a packet, in bytes and seconds.
#[derive(Clone, Copy, Debug)]
struct Header {
    cwnd: f64,
    rtt: f64,
    feedback: f64,
}

/// A link out of the node; rates in bytes/s.
#[derive(Clone, Debug)]
struct Port {
    link: LinkId,
    /// Mean round trip, seconds, which is the interval.
    mean: f64,
    arrived: f64,
    /// Largest packet, bytes.
    largest: u64,
    /// Sums of rtt s / cwnd, of s, and of rtt times the first.
    sums: [f64; 3],
    xi: [f64; 2],
    residue: [f64; 2],
    standing: f64,
    least: f64,
    /// End of the interval, and of the period for the smallest queue.
    ends: [Time; 2],
}

impl Port {
    fn new(link: LinkId, first: f64) -> Self {
        let (sums, xi, residue) = ([0.0; 3], [0.0; 2], [0.0; 2]);
        let mean = first.clamp(INTERVAL[0], INTERVAL[1]);
        let ends = [Time::NEVER; 2];
        Self { link, mean, arrived: 0.0, largest: 0, sums, xi, residue, standing: 0.0, least: f64::INFINITY, ends }
    }

    /// Counts a packet of `size` bytes with this header.
    fn count(&mut self, size: f64, header: Header) {
        let share = header.rtt * size / header.cwnd;
        self.sums[0] += share;
        self.sums[1] += size;
        self.sums[2] += header.rtt.min(INTERVAL[1]) * share;
    }

    /// Ends the interval: computes the feedback of the next one.
    fn renew(&mut self, config: &XcpConfig, rate: f64) {
        let [rounds, bytes, weighted] = self.sums;
        if rounds > 0.0 {
            self.mean = (weighted / rounds).clamp(INTERVAL[0], INTERVAL[1]);
        }
        let d = self.mean;
        let phi = config.alpha * d * (rate - self.arrived / d) - config.beta * self.standing;
        let shuffled = (config.gamma * self.arrived - phi.abs()).max(0.0);
        self.residue = [shuffled + phi.max(0.0), shuffled + (-phi).max(0.0)];
        for (at, sum) in [rounds, bytes].into_iter().enumerate() {
            if sum > 0.0 {
                self.xi[at] = self.residue[at] / (d * sum);
            }
        }
        (self.sums, self.arrived) = ([0.0; 3], 0.0);
    }

    /// Returns the feedback of a packet.
    fn give(&mut self, size: f64, header: Header) -> f64 {
        let [more, less] = self.residue;
        let p = more.min(self.xi[0] * header.rtt * header.rtt * size / header.cwnd);
        let n = less.min(self.xi[1] * header.rtt * size);
        let (feedback, p, n) = if header.feedback >= p - n {
            (p - n, p, n)
        } else {
            // Another link allows less: the rest stays for other packets.
            let n = less.min(n + (p - n - header.feedback));
            (header.feedback, header.feedback + n, n)
        };
        self.residue = [(more - p).clamp(0.0, more), less - n];
        for (residue, xi) in self.residue.iter().zip(&mut self.xi) {
            if *residue <= 0.0 {
                *xi = 0.0;
            }
        }
        feedback
    }
}

/// The middlebox at a node.
#[derive(Clone, Debug)]
pub struct Xcp {
    config: XcpConfig,
    ports: Vec<Port>,
}

impl Xcp {
    pub(crate) fn new(config: &XcpConfig, _seed: u64, _component: &str) -> Self {
        Self { config: *config, ports: Vec::new() }
    }

    fn port(&mut self, link: LinkId, now: Time) -> &mut Port {
        let at = self.ports.iter().position(|port| port.link == link).unwrap_or_else(|| {
            self.ports.push(Port::new(link, self.config.first.as_secs_f64()));
            self.ports.len() - 1
        });
        let port = &mut self.ports[at];
        if port.ends[0] == Time::NEVER {
            port.ends = [now + Duration::from_secs_f64(port.mean), now];
        }
        port
    }
}

impl Middlebox for Xcp {
    fn on_packet(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        let Some(link) = cx.link_of(&packet) else { return cx.forward(packet) };
        let waiting = cx.link(link).queue.bytes as f64;
        let size = packet.size() as f64;
        let port = self.port(link, cx.now);
        port.arrived += size;
        port.largest = port.largest.max(packet.size());
        port.least = port.least.min(waiting);
        if let Some(Label::Xcp(mut header)) = cx.label(&packet) {
            let (cwnd, rtt) = (f64::from(header.cwnd), f64::from(header.rtt));
            // Packets without a known round trip are not counted and get no feedback.
            if rtt > 0.0 && cwnd > 0.0 {
                let read = Header { cwnd, rtt, feedback: f64::from(header.forward) };
                port.count(size, read);
                header.forward = port.give(size, read) as f32;
                cx.rewrite_label(&mut packet, Label::Xcp(header));
            }
        }
        cx.forward(packet);
    }

    fn on_departure(&mut self, link: LinkId, queue: QueueView, _cx: &mut Context<'_>) {
        if let Some(port) = self.ports.iter_mut().find(|port| port.link == link) {
            port.least = port.least.min(queue.bytes as f64);
        }
    }

    fn watches_queues(&self) -> bool {
        true
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        for port in &mut self.ports {
            let link = cx.link(port.link);
            let (rate, waiting) = (link.bytes_per_s(port.largest), link.queue.bytes as f64);
            if cx.now >= port.ends[1] && port.ends[1] != Time::NEVER {
                port.standing = port.least.min(waiting);
                port.least = waiting;
                let delay = if rate > 0.0 { waiting / rate } else { 0.0 };
                port.ends[1] = cx.now + Duration::from_secs_f64(((port.mean - delay) / 2.0).max(0.002));
            }
            if cx.now >= port.ends[0] && port.ends[0] != Time::NEVER {
                let is_idle = port.arrived == 0.0 && waiting == 0.0;
                port.renew(&self.config, rate);
                let next = cx.now + Duration::from_secs_f64(port.mean);
                port.ends = if is_idle { [Time::NEVER; 2] } else { [next, port.ends[1]] };
            }
        }
    }

    fn next_wakeup(&self) -> Time {
        self.ports.iter().flat_map(|port| port.ends).min().unwrap_or(Time::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::Framing;
    use crate::ids::EndpointId;
    use crate::middlebox::{Bench, LinkView};
    use crate::packet::Origin;
    use bentpipe_tcp::{Flags, Segment};
    use bentpipe_units::Rate;

    fn port(sums: [f64; 3], arrived: f64) -> Port {
        Port { sums, arrived, ..Port::new(LinkId::new(0), 0.1) }
    }

    fn header(cwnd: f64) -> Header {
        Header { cwnd, rtt: 0.1, feedback: 1e9 }
    }

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 1e-6 * expected.abs().max(1e-3), "{value}, expected {expected}");
    }

    /// Sums of so many packets of 1000 bytes with this window, after an interval of a tenth of a second.
    fn renewed(windows: &[(usize, f64)], rate: f64, standing: f64) -> Port {
        let mut port = Port::new(LinkId::new(0), 0.1);
        for (count, cwnd) in windows {
            for _ in 0..*count {
                port.count(1000.0, header(*cwnd));
                port.arrived += 1000.0;
            }
        }
        port.standing = standing;
        port.renew(&XcpConfig::default(), rate);
        port
    }

    /// `docs/specs/xcp-rcp.md`, tests 1 and 2.
    #[test]
    fn what_is_left_of_the_link_less_the_standing_queue_is_handed_out() {
        let mut port = renewed(&[(10, 10_000.0)], 2e5, 1e4);
        near(port.residue[0], 1740.0);
        near(port.residue[1], 0.0);
        near(port.xi[0], 174_000.0);
        let given: Vec<f64> = (0..10).map(|_| port.give(1000.0, header(10_000.0))).collect();
        given.iter().for_each(|feedback| near(*feedback, 174.0));
        near(given.iter().sum(), 1740.0);
        assert!(port.give(1000.0, header(10_000.0)) < 1e-6, "all is given");
    }

    /// Test 3.
    #[test]
    fn what_is_too_much_is_taken_back_from_each_byte() {
        let mut port = renewed(&[(10, 10_000.0)], 75_000.0, 0.0);
        near(port.residue[1], 1000.0);
        near(port.xi[1], 1.0);
        near(port.give(1000.0, header(10_000.0)), -100.0);
    }

    /// Test 4.
    #[test]
    fn a_tenth_changes_hands_from_the_fast_to_the_slow() {
        let mut one = renewed(&[(10, 10_000.0)], 1e5, 0.0);
        near(one.give(1000.0, header(10_000.0)), 0.0);
        let mut two = renewed(&[(15, 15_000.0), (5, 5000.0)], 2e5, 0.0);
        near(two.residue[0], 2000.0);
        let fast: f64 = (0..15).map(|_| two.give(1000.0, header(15_000.0))).sum();
        let slow: f64 = (0..5).map(|_| two.give(1000.0, header(5000.0))).sum();
        near(fast, -500.0);
        near(slow, 500.0);
    }

    /// Test 5.
    #[test]
    fn what_another_link_does_not_allow_is_not_spent() {
        let limited = Header { feedback: 100.0, ..header(10_000.0) };
        let begin = |less: f64| Port { xi: [174_000.0, 0.0], residue: [1740.0, less], ..port([0.0; 3], 0.0) };
        let mut with = begin(1000.0);
        near(with.give(1000.0, limited), 100.0);
        near(with.residue[0], 1566.0);
        near(with.residue[1], 926.0);
        let mut without = begin(0.0);
        near(without.give(1000.0, limited), 100.0);
        near(without.residue[0], 1640.0);
        near(without.residue[1], 0.0);
    }

    #[test]
    fn what_other_senders_send_counts_as_traffic_and_is_left_as_it_is() {
        let queue = QueueView { packets: 0, bytes: 0, is_sending: true };
        let link = LinkView {
            rate: Rate::from_bps(1_000_000),
            framing: Framing::None,
            room: (u64::MAX, u64::MAX),
            queue,
            up_at: Time::ZERO,
        };
        let mut bench = Bench { link: Some(link), ..Bench::default() };
        let segment = Segment { len: 1000, flags: Flags::ACK, ..Segment::default() };
        let packet = Packet::new(&segment, &Origin::of(EndpointId::both(0)[0], 0), &mut bench.bodies);
        let mut xcp = Xcp::new(&XcpConfig::default(), 1, "");
        bench.at(Time::ZERO, |cx| xcp.on_packet(packet, cx));
        assert_eq!((xcp.ports[0].arrived, xcp.ports[0].sums), (packet.size() as f64, [0.0; 3]));
        assert_eq!(bench.bodies.label(&packet), None);
    }
}

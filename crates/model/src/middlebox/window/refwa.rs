//! Writes windows in proportion to round-trip times into returning ACKs: explicit window feedback on board (T. Taleb,
//! N. Kato, Y. Nemoto, "REFWA", IEEE/ACM ToN 14(5), 2006).
//!
//! # How it works
//!
//! For each link out of the node, each flow gets a window in proportion to its round-trip time. All windows together
//! fill link and path. The node writes the window into the advertised window of returning ACKs, if it is the smaller
//! one.
//!
//! C is the capacity, B the buffer and q the queue. R is the round-trip time of a flow, among N flows that have sent
//! within `idle`. A flow may have R * (C / N + gamma * (B_t - q) / sum R), at least a segment. B_t is a share of B. A
//! flow whose ACK already carries less is limited elsewhere: it keeps its window, and the other flows share the rest,
//! in rates, until no other flow is limited. Windows fall immediately and rise by `rise` of the difference per
//! interval, which is the longest round trip.
//!
//! The window uses the connection's scale, from its SYNs. If the node did not see the SYNs (they took another path, or
//! there were none), it counts the data and leaves the ACKs unchanged. Connections beyond `flows` are neither counted
//! nor changed. The node forgets a connection with RST, after both FINs, or after five minutes of silence.
//!
//! # Position on the path
//!
//! At a node that data and the ACKs of the same connections pass. Elsewhere it would count flows without reporting to
//! their senders. Data leaves through the link whose capacity is shared. The node needs readable TCP headers:
//! encryption below TCP, and QUIC, hide them from a real node.
//!
//! # When it helps
//!
//! Flows with different round-trip times get the same rate. The queue settles at half of B_t, so there are hardly any
//! drops.
//!
//! # When it hurts
//!
//! - Windows are rounded down to the resolution of the scale. With the scale of a buffer of 1 GB that is 16 kB, coarse
//!   for a flow's share of a slow link. Keep `tcp.receive_buffer` near the bandwidth-delay product.
//! - A flow that pauses for less than `idle` keeps its share, which no other flow may use.
//! - Every change of the window makes an ACK that RFC 5681 §2 does not count as a duplicate. Senders without SACK need
//!   `tcp.duplicate_acks = "any-window"`.
//!
//! # Differences from the source
//!
//! The formulas are a reading: the papers state the sums and the proportion.

use super::seen::{origin, port, Port, Scales, FORGET};
use crate::middlebox::{Context, Middlebox};
use crate::packet::Packet;
use bentpipe_tcp::Flags;
use bentpipe_units::settings::{Chance, Thousandths};
use bentpipe_units::{settings, words, Duration, Time};
use std::collections::BTreeMap;

settings! {
    /// Window feedback in proportion to round-trip times.
    pub struct RefwaConfig {
        /// Source of round-trip times.
        round_trip: RoundTrips = RoundTrips::Oracle;
        /// Share of the buffer to be used, besides the path.
        buffer: Counted = Counted::Half;
        /// Share of its free part that is distributed per interval, 0 to 10.
        gamma: u32 as Thousandths = 1000, [0.0, 10.0];
        /// Share of a rise that takes effect per interval. A fall takes effect immediately.
        rise: f64 as Chance = 0.5;
        /// Shortest interval. Otherwise it is the longest round trip.
        interval: Duration = Duration::from_millis(100);
        /// Time without data after which a flow does not count.
        idle: Duration = Duration::from_secs(2);
        /// Largest number of connections that it knows; 0: transparent.
        flows: u32 = 100_000;
    }
}

words! {
    /// Source of round-trip times.
    pub enum RoundTrips {
        /// Propagation on the present paths of packets, which no real node knows.
        "oracle" => Oracle,
        /// Time from the SYN to the ACK of the SYN-ACK.
        "measured" => Measured,
    }
}

words! {
    /// Share of a buffer that counts.
    pub enum Counted {
        /// All of it: link and buffer are full.
        "all" => All,
        /// Half of it, so that a quarter waits when all flows obey.
        "half" => Half,
        /// No part of it: the queue is empty.
        "none" => None,
    }
}

/// The middlebox, with its connections and links.
#[derive(Clone, Debug)]
pub struct Refwa {
    config: RefwaConfig,
    /// Connections by conversation, both directions together.
    connections: BTreeMap<u64, Conversation>,
    ports: Vec<Port<Level>>,
    next: Time,
    last: Time,
    /// Reused at each interval.
    shares: Vec<(usize, Share)>,
}

/// A connection; `[0]` is its opener's.
#[derive(Clone, Copy, Debug)]
struct Conversation {
    scales: Scales,
    syn_at: Option<Time>,
    /// Time from the SYN to the ACK of the SYN-ACK.
    measured: Option<Duration>,
    is_closed: [bool; 2],
    flows: [Option<Flow>; 2],
    seen_at: Time,
}

/// Data of one endpoint.
#[derive(Clone, Copy, Debug)]
struct Flow {
    /// Index of the port through which it leaves.
    port: usize,
    /// One of its packets.
    packet: Packet,
    /// Largest payload, bytes.
    mss: u16,
    sent_at: Time,
    /// Round-trip time, seconds; 0: unknown.
    round_trip: f64,
    /// Window in arriving ACKs; infinite before the first.
    carried: f64,
}

/// Window per round-trip time of the flows on a link, bytes/s; infinite: no flow is reduced.
type Level = f64;

/// Demand of a flow on a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// Largest rate of the flow by the windows in its ACKs.
    pub(super) limit: f64,
    pub(super) round_trip: f64,
    pub(super) mss: f64,
}

impl Conversation {
    fn new(now: Time) -> Self {
        let (scales, flows) = (Scales::default(), [None; 2]);
        Self { scales, syn_at: None, measured: None, is_closed: [false; 2], flows, seen_at: now }
    }
}

impl Flow {
    fn window(&self, level: f64) -> f64 {
        (self.round_trip * level).max(f64::from(self.mss))
    }
}

impl Refwa {
    pub(crate) fn new(config: &RefwaConfig, _seed: u64, _component: &str) -> Self {
        Self {
            config: *config,
            connections: BTreeMap::new(),
            ports: Vec::new(),
            next: Time::NEVER,
            last: Time::ZERO,
            shares: Vec::new(),
        }
    }

    /// Learns the state of a connection from a packet, and writes the window into it.
    fn read(&mut self, packet: &mut Packet, cx: &mut Context<'_>) {
        let (now, flags) = (cx.now, packet.header_flags());
        let (key, side) = origin(packet);
        if flags.has(Flags::RST) {
            self.connections.remove(&key);
            return;
        }
        let (is_syn, has_data) = (flags.has(Flags::SYN), packet.len > 0);
        let link = if has_data { cx.link_of(packet) } else { None };
        let port = link.map(|link| port(&mut self.ports, link, f64::INFINITY));
        let most = self.config.flows as usize;
        if !self.connections.contains_key(&key) {
            if !(is_syn || port.is_some()) || self.connections.len() >= most {
                return;
            }
            self.connections.insert(key, Conversation::new(now));
        }
        let Some(connection) = self.connections.get_mut(&key) else { return };
        connection.seen_at = now;
        connection.is_closed[side] |= flags.has(Flags::FIN);
        if is_syn {
            connection.scales.read(side, packet, cx);
            connection.syn_at = if side == 0 { Some(now) } else { connection.syn_at };
            return;
        }
        if let (0, Some(at)) = (side, connection.syn_at.take_if(|_| side == 0)) {
            connection.measured = Some(now - at);
        }
        if let Some(port) = port {
            let known = connection.flows[side];
            let (mss, carried) = known.map_or((0, f64::INFINITY), |flow| (flow.mss, flow.carried));
            let round_trip = known.map_or_else(
                || seconds(round_trip(self.config.round_trip, connection.measured, packet, cx)),
                |flow| flow.round_trip,
            );
            let mss = mss.max(packet.len);
            connection.flows[side] = Some(Flow { port, packet: *packet, mss, sent_at: now, round_trip, carried });
            self.ports[port].largest = self.ports[port].largest.max(packet.size());
            if self.next > now + FORGET / 2 {
                // The first flow had no other flows to share with.
                self.next = now;
            }
        }
        let shift = connection.scales.shift(side);
        if let (Some(flow), Some(shift), true) = (&mut connection.flows[1 - side], shift, flags.has(Flags::ACK)) {
            flow.carried = f64::from(u32::from(packet.window) << shift);
            let window = flow.window(self.ports[flow.port].control);
            if window < flow.carried {
                // Never 0, which would stop the sender.
                packet.window = ((window as u64 >> shift) as u16).max(1);
            }
        }
    }

    /// Counts the flows and computes their windows, once per interval.
    fn share(&mut self, cx: &mut Context<'_>) {
        let (now, last, config) = (cx.now, self.last, self.config);
        let mut shares = std::mem::take(&mut self.shares);
        shares.clear();
        let mut longest = 0.0_f64;
        self.connections.retain(|_, connection| {
            let measured = connection.measured;
            for (flow, is_closed) in connection.flows.iter_mut().zip(connection.is_closed) {
                // After a FIN a retransmission may follow.
                *flow = flow.filter(|flow| {
                    now.saturating_since(flow.sent_at) <= config.idle && !(is_closed && flow.sent_at < last)
                });
                let Some(flow) = flow else { continue };
                flow.round_trip = seconds(round_trip(config.round_trip, measured, &flow.packet, cx));
                longest = longest.max(flow.round_trip);
                let limit = if flow.round_trip > 0.0 { flow.carried / flow.round_trip } else { f64::INFINITY };
                shares.push((flow.port, Share { limit, round_trip: flow.round_trip, mss: f64::from(flow.mss) }));
            }
            let is_over = connection.is_closed == [true; 2] && connection.seen_at < last;
            !is_over && now.saturating_since(connection.seen_at) < FORGET
        });
        shares.sort_by(|(p, a), (q, b)| p.cmp(q).then(a.limit.total_cmp(&b.limit)));
        for of_port in shares.chunk_by(|(p, _), (q, _)| p == q) {
            let port = &mut self.ports[of_port[0].0];
            let link = cx.link(port.link);
            let (packets, bytes) = link.room;
            let room = packets.saturating_mul(port.largest).min(bytes);
            let used = match config.buffer {
                _ if room == u64::MAX => 0.0,
                Counted::All => room as f64,
                Counted::Half => room as f64 / 2.0,
                Counted::None => 0.0,
            };
            let free = f64::from(config.gamma) / 1000.0 * (used - link.queue.bytes as f64);
            let level = level(link.bytes_per_s(port.largest), free, of_port.iter().map(|(_, share)| *share));
            let is_rise = level > port.control;
            port.control = if is_rise { port.control + config.rise * (level - port.control) } else { level };
        }
        self.next = match (shares.is_empty(), self.connections.is_empty()) {
            (false, _) => now + config.interval.max(Duration::from_secs_f64(longest)),
            (true, false) => now + FORGET,
            (true, true) => Time::NEVER,
        };
        if shares.is_empty() {
            self.ports.iter_mut().for_each(|port| port.control = f64::INFINITY);
        }
        (self.last, self.shares) = (now, shares);
    }
}

/// Returns the window per round-trip time, bytes/s, of flows without other limits; infinite: all flows are limited
/// elsewhere. `shares` are in order of their limits, `rate` is in bytes/s, and `free` bytes of buffer are to be filled
/// or emptied.
pub(super) fn level(rate: f64, free: f64, shares: impl Iterator<Item = Share> + Clone) -> f64 {
    let all = shares.clone();
    let (mut count, mut round_trips, mut least) = all
        .fold((0.0, 0.0, 0.0), |(count, sum, least), share| (count + 1.0, sum + share.round_trip, least + share.mss));
    let mut rate = rate;
    for share in shares {
        let buffered = if round_trips > 0.0 { free / round_trips } else { 0.0 };
        let floor = if round_trips > 0.0 { least / round_trips } else { 0.0 };
        let level = (rate / count + buffered).max(floor);
        if share.limit >= level {
            return level;
        }
        (rate, count) = ((rate - share.limit).max(0.0), count - 1.0);
        (round_trips, least) = (round_trips - share.round_trip, least - share.mss);
    }
    f64::INFINITY
}

fn round_trip(from: RoundTrips, measured: Option<Duration>, packet: &Packet, cx: &mut Context<'_>) -> Option<Duration> {
    match from {
        RoundTrips::Oracle => cx.round_trip(packet),
        RoundTrips::Measured => measured,
    }
}

fn seconds(time: Option<Duration>) -> f64 {
    time.map_or(0.0, Duration::as_secs_f64)
}

impl Middlebox for Refwa {
    fn on_packet(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        if packet.is_segment() {
            self.read(&mut packet, cx);
        }
        cx.forward(packet);
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        self.share(cx);
    }

    fn next_wakeup(&self) -> Time {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::Framing;
    use crate::ids::EndpointId;
    use crate::middlebox::{Action, Bench, LinkView, QueueView};
    use crate::packet::Origin;
    use bentpipe_tcp::{Options, Segment, SynOptions};
    use bentpipe_units::Rate;

    const SHIFT: u8 = 4;

    fn share(ms: f64, window: f64) -> Share {
        Share { limit: window / (ms / 1e3), round_trip: ms / 1e3, mss: 1024.0 }
    }

    fn windows(free: f64, mut shares: Vec<Share>) -> Vec<f64> {
        let sought = shares.clone();
        shares.sort_by(|a, b| a.limit.total_cmp(&b.limit));
        let level = level(1.25e6, free, shares.iter().copied());
        sought.iter().map(|share| (share.round_trip * level).round()).collect()
    }

    /// `docs/specs/refwa.md`, tests 1 to 3.
    #[test]
    fn windows_are_as_round_trips_and_what_others_cannot_use_is_shared_in_rates() {
        let all = |window| vec![share(80.0, f64::INFINITY), share(160.0, f64::INFINITY), share(240.0, window)];
        assert_eq!(windows(0.0, all(f64::INFINITY)), [33_333.0, 66_667.0, 100_000.0]);
        assert_eq!(windows(50_000.0, all(f64::INFINITY)), [41_667.0, 83_333.0, 125_000.0]);
        assert_eq!(windows(0.0, all(60_000.0))[..2], [40_000.0, 80_000.0]);
        let limited = vec![share(80.0, 1000.0), share(160.0, 1000.0)];
        assert_eq!(windows(0.0, limited), [f64::INFINITY; 2], "nobody is cut");
    }

    /// Test 4.
    #[test]
    fn ten_equal_flows_get_twenty_packets_and_forty_with_a_free_buffer() {
        let ten = vec![share(160.0, f64::INFINITY); 10];
        assert_eq!(windows(0.0, ten.clone())[0], 20_000.0);
        assert_eq!(windows(200_000.0, ten.clone())[0], 40_000.0);
        assert_eq!(windows(-1e6, ten)[0], 1024.0, "never less than a segment");
    }

    /// A node with a link of 10 Mbit/s, and connections of 160 ms.
    struct Node {
        refwa: Refwa,
        bench: Bench,
        now: Time,
    }

    impl Node {
        fn new(config: RefwaConfig) -> Self {
            let queue = QueueView { packets: 0, bytes: 0, is_sending: false };
            let link = LinkView {
                rate: Rate::from_bps(10_000_000),
                framing: Framing::None,
                room: (u64::MAX, u64::MAX),
                queue,
                up_at: Time::ZERO,
            };
            let round_trip = Some(Duration::from_millis(160));
            let bench = Bench { link: Some(link), round_trip, ..Bench::default() };
            Self { refwa: Refwa::new(&config, 1, "node/n/0"), bench, now: Time::ZERO }
        }

        /// The window of a packet as it leaves.
        fn pass(&mut self, flow: u32, is_back: bool, segment: Segment) -> u16 {
            let end = EndpointId::both(flow as usize)[usize::from(is_back)];
            let packet = Packet::new(&segment, &Origin::of(end, flow.into()), &mut self.bench.bodies);
            self.bench.at(self.now, |cx| self.refwa.on_packet(packet, cx));
            match self.bench.out.take()[..] {
                [Action::Forward(packet)] => packet.window,
                ref other => unreachable!("{other:?}"),
            }
        }

        fn open(&mut self, flow: u32) {
            for is_back in [false, true] {
                let options =
                    Options::Syn(SynOptions { mss: 1024, window_scale: Some(SHIFT), ..SynOptions::default() });
                self.pass(flow, is_back, Segment { flags: Flags::SYN, options, ..Segment::default() });
            }
        }

        fn data(&mut self, flow: u32, flags: Flags) {
            self.pass(flow, false, Segment { len: 1024, flags: Flags::ACK.with(flags), ..Segment::default() });
        }

        /// The window that an ACK gets, bytes.
        fn feedback(&mut self, flow: u32, flags: Flags) -> u64 {
            let ack = Segment { window: 65_535, flags: Flags::ACK.with(flags), ..Segment::default() };
            u64::from(self.pass(flow, true, ack)) << SHIFT
        }

        fn wait(&mut self, ms: u64) {
            let end = self.now + Duration::from_millis(ms);
            while self.refwa.next_wakeup() <= end {
                self.now = self.refwa.next_wakeup().max(self.now);
                self.bench.at(self.now, |cx| self.refwa.on_wakeup(cx));
            }
            self.now = end;
        }
    }

    const NONE: Flags = Flags::from_bits(0);

    #[test]
    fn windows_follow_flows_that_come_and_go_and_nothing_is_left_of_them() {
        let mut node = Node::new(RefwaConfig::default());
        (0..2).for_each(|flow| {
            node.open(flow);
            node.data(flow, NONE);
        });
        node.wait(200);
        assert_eq!(node.feedback(0, NONE), 100_000, "half of 200 kB");
        node.open(2);
        node.data(2, NONE);
        node.wait(200);
        assert_eq!(node.feedback(0, NONE), 66_656, "a third falls at once");
        // Two of them end, one each way.
        node.data(2, Flags::FIN);
        node.feedback(2, Flags::FIN);
        node.data(1, Flags::RST);
        node.wait(400);
        let risen = node.feedback(0, NONE);
        assert!((66_656..200_000).contains(&risen), "rises step by step: {risen}");
        node.data(0, NONE);
        node.wait(1900);
        assert!(node.feedback(0, NONE) > 195_000, "all of it");
        assert_eq!(node.refwa.connections.len(), 1);
        node.wait(200);
        assert_eq!(node.feedback(0, NONE), 65_535 << SHIFT, "it was idle for two seconds");
        node.wait(700_000);
        assert!(node.refwa.connections.is_empty() && node.refwa.next_wakeup() == Time::NEVER);
    }

    #[test]
    fn a_connection_whose_syn_it_did_not_see_counts_but_is_left_alone() {
        let mut node = Node::new(RefwaConfig::default());
        node.open(0);
        (0..2).for_each(|flow| node.data(flow, NONE));
        node.wait(200);
        assert_eq!((node.feedback(0, NONE), node.feedback(1, NONE)), (100_000, 65_535 << SHIFT));
    }

    #[test]
    fn round_trips_can_be_measured() {
        let mut node = Node::new(RefwaConfig { round_trip: RoundTrips::Measured, ..RefwaConfig::default() });
        node.open(0);
        node.wait(80);
        node.data(0, NONE);
        node.wait(0);
        assert_eq!(node.feedback(0, NONE), 100_000, "10 Mbit/s times 80 ms");
    }

    #[test]
    fn it_knows_a_hundred_thousand_flows_and_no_more_and_with_none_it_is_transparent() {
        let mut node = Node::new(RefwaConfig::default());
        (0..100_001).for_each(|flow| {
            node.open(flow);
            node.data(flow, NONE);
        });
        node.wait(200);
        assert_eq!(node.refwa.connections.len(), 100_000);
        assert_eq!(node.feedback(7, NONE), 1024, "a segment at least");
        assert_eq!(node.feedback(100_000, NONE), 65_535 << SHIFT);
        let mut node = Node::new(RefwaConfig { flows: 0, ..RefwaConfig::default() });
        node.open(0);
        node.data(0, NONE);
        node.wait(200);
        assert_eq!(node.feedback(0, NONE), 65_535 << SHIFT);
    }
}

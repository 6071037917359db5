//! Middleboxes for real packets: the proxy that splits connections, as bytes, and reports of packets that are too
//! large.
//!
//! The proxy is that of virtual time ([`Splicer`]): the same connections, buffers, limits and counters. Here it also
//! stores the data.

use crate::filter::Filter;
use crate::icmp;
use crate::speaker::{cc_of, on_the_wire, packet, received, Incoming, Report};
use bentpipe_sim::dictionary::Cause;
use bentpipe_sim::ids::NodeId;
use bentpipe_sim::middlebox::{Carrier, Context, Middlebox, MiddleboxConfig, Splicer, SplitConfig, LISTENER, OPENER};
use bentpipe_sim::Packet;
use bentpipe_sim::RealPackets;
use bentpipe_tcp::{Config, Connection, Flags, Segment};
use bentpipe_units::{Stream, Time};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of closed connections that are still reported.
const REPORTS_MAX: usize = 100_000;

/// Middleboxes for real packets.
#[derive(Debug)]
pub struct Functions {
    /// Largest packet of a host in bytes.
    mtu: u16,
    proxies: Mutex<Vec<(NodeId, Arc<Mutex<Proxy>>)>>,
}

impl Functions {
    /// Creates the middleboxes for hosts whose packets have at most `mtu` bytes.
    pub fn new(mtu: u16) -> Arc<Self> {
        Arc::new(Self { mtu, proxies: Mutex::default() })
    }

    /// Returns all connections of proxies, with their nodes. Closed ones are first.
    pub fn reports(&self) -> Vec<(NodeId, Report)> {
        let proxies = unpoisoned(&self.proxies);
        proxies.iter().flat_map(|(node, proxy)| unpoisoned(proxy).reports().map(|report| (*node, report))).collect()
    }

    /// Whether a middlebox passes real packets unchanged, though it acts on simulated ones.
    pub fn lets_pass(config: &MiddleboxConfig) -> bool {
        !matches!(
            config,
            // Custom middleboxes may have any effect.
            MiddleboxConfig::Split(_)
                | MiddleboxConfig::AckFilter(_)
                | MiddleboxConfig::Impair(_)
                | MiddleboxConfig::Erasure(_)
                | MiddleboxConfig::Own(_)
        )
    }
}

impl RealPackets for Functions {
    fn beside(
        &self,
        config: &MiddleboxConfig,
        node: NodeId,
        seed: u64,
        component: &str,
    ) -> Option<Box<dyn Middlebox + Send + Sync>> {
        let config = match config {
            MiddleboxConfig::Split(config) => config,
            MiddleboxConfig::AckFilter(config) => return Some(Box::new(Filter(*config))),
            _ => return None,
        };
        let proxy = Arc::new(Mutex::new(Proxy::new(config, self.mtu, seed, component)));
        unpoisoned(&self.proxies).push((node, proxy.clone()));
        Some(Box::new(Shared(proxy)))
    }

    fn too_big(&self, packet: &[u8], mtu: u64) -> Option<(Vec<u8>, u8)> {
        icmp::too_big(packet, mtu)
    }
}

/// A panic ends the run. Until then, the state is consistent.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Addresses and ports of the opener of a connection, and of its other end.
type Key = [SocketAddr; 2];

/// Proxy of a node.
#[derive(Debug)]
struct Proxy {
    mtu: u16,
    /// Settings of connections over IPv4 and IPv6, towards the opener and towards the other end.
    transports: [[Arc<Config>; 2]; 2],
    /// Initial sequence numbers and the seeds of congestion controls.
    dice: Stream,
    sessions: Splicer<Real, Key>,
    over: Arc<Mutex<Vec<Report>>>,
}

impl Proxy {
    fn new(config: &SplitConfig, mtu: u16, seed: u64, component: &str) -> Self {
        let [opener, listener] = config.transports(seed, component).map(|side| on_the_wire(&side, mtu).map(Arc::new));
        let [[v4_opener, v6_opener], [v4_listener, v6_listener]] = [opener, listener];
        Self {
            mtu,
            transports: [[v4_opener, v4_listener], [v6_opener, v6_listener]],
            dice: Stream::new(seed, component, "split"),
            sessions: Splicer::new(config, ()),
            over: Arc::default(),
        }
    }

    fn reports(&self) -> impl Iterator<Item = Report> {
        let over = unpoisoned(&self.over).clone();
        let live: Vec<Report> = self.sessions.iter().flat_map(|(sides, real)| real.reports(sides)).collect();
        over.into_iter().chain(live)
    }

    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.sessions.fail_if_due(cx);
        let is_damaged = packet.is_corrupted() || packet.is_truncated() || packet.is_erased();
        let read = cx.bytes(&packet).filter(|_| !is_damaged).and_then(received);
        let Some((from, to, segment, payload)) =
            read.map(|read| (read.from, read.to, read.segment, read.payload.to_vec()))
        else {
            return self.on_other(packet, cx);
        };
        let opens = segment.flags.has(Flags::SYN) && !segment.flags.has_any(Flags::ACK.with(Flags::RST));
        let (there, back) = ([from, to], [to, from]);
        let mut key = there;
        if self.sessions.has(there, opens) {
            self.sessions.handle(there, OPENER, &segment, &payload, cx);
        } else if self.sessions.has(back, opens) {
            key = back;
            self.sessions.handle(back, LISTENER, &segment, &payload, cx);
        } else if !opens {
            return cx.forward(packet);
        } else if self.sessions.is_full_for(there, cx) {
            return cx.drop(packet, Cause::Policy);
        } else {
            let transports = self.transports[usize::from(from.is_ipv6())].clone();
            let real = Real {
                ends: there,
                mtu: self.mtu,
                from_opener: packet,
                streams: Default::default(),
                ccs: [0, 1].map(|side| cc_of(&transports[side])),
                is_aborted: [false; 2],
                over: self.over.clone(),
            };
            let drawn = self.drawn(cx.now, there);
            self.sessions.begin(there, &segment, &transports, drawn, real, cx);
        }
        cx.consume(packet);
        self.sessions.drive(key, cx);
    }

    /// Processes reports about its own segments. Other packets pass.
    fn on_other(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let Some(about) = cx.bytes(&packet).and_then(icmp::reported) else { return cx.forward(packet) };
        let (there, back) = ([about.from, about.to], [about.to, about.from]);
        // Packets to an endpoint carry the other endpoint's address.
        let (key, side) = if self.sessions.has(there, false) { (there, LISTENER) } else { (back, OPENER) };
        if !self.sessions.has(key, false) {
            return cx.forward(packet);
        }
        self.sessions.notify(key, side, about.notice, cx);
        cx.consume(packet);
        self.sessions.drive(key, cx);
    }

    /// RFC 6528 §3: a clock of 4 us in the low half becomes the initial sequence number, with a secret of the two ends.
    fn drawn(&mut self, now: Time, [opener, listener]: Key) -> [u64; 2] {
        let clock = (now.as_ps() / 4_000_000) as u32;
        let [near, far] = Stream::new(self.dice.at(0), &format!("{opener} {listener}"), "iss").key();
        [near, far].map(|secret| u64::from((secret as u32).wrapping_add(clock)) | secret >> 32 << 32)
    }
}

/// Ends of a real connection, with the data between them.
#[derive(Debug)]
struct Real {
    ends: Key,
    mtu: u16,
    /// Addresses for new packets.
    from_opener: Packet,
    /// Data from each side that the other side has not acknowledged.
    streams: [Incoming; 2],
    ccs: [String; 2],
    is_aborted: [bool; 2],
    over: Arc<Mutex<Vec<Report>>>,
}

impl Real {
    /// Returns the addresses from the other endpoint to the endpoint on this side.
    fn towards(&self, side: usize) -> [SocketAddr; 2] {
        [self.ends[1 - side], self.ends[side]]
    }

    fn reports(&self, sides: &[Connection; 2]) -> [Report; 2] {
        [OPENER, LISTENER]
            .map(|side| Report::of(&sides[side], self.towards(side), self.ccs[side].clone(), self.is_aborted[side]))
    }
}

impl Carrier for Real {
    type Common = ();

    fn send(&mut self, side: usize, segment: &Segment, offset: u64, cx: &mut Context<'_>) {
        let payload = self.streams[1 - side].copy(offset, segment.len);
        let ends = self.towards(side);
        if let Some(made) = packet(ends, *segment, &payload, self.mtu) {
            let header_len = (made.len() - payload.len()) as u8;
            cx.emit_bytes(&self.from_opener, side == OPENER, header_len, made);
        }
    }

    fn keep(&mut self, side: usize, conn: &Connection, segment: &Segment, payload: &[u8]) {
        // Keeps only accepted data, not data beyond the window or of a rejected segment.
        if let Some((start, reach)) = conn.report().received_from(segment.data_seq()) {
            let taken = reach.saturating_sub(start).min(payload.len() as u64);
            self.streams[side].keep(start, &payload[..taken as usize]);
        }
    }

    fn release(&mut self, side: usize, bytes: u64) {
        self.streams[side].take(bytes);
    }

    fn on_aborted(&mut self, side: usize) {
        self.is_aborted[side] = true;
    }

    fn on_forgotten(&mut self, sides: &[Connection; 2]) {
        let mut over = unpoisoned(&self.over);
        if over.len() < REPORTS_MAX {
            over.extend(self.reports(sides));
        }
    }
}

/// Connections of the network, visible to its driver.
#[derive(Debug)]
struct Shared(Arc<Mutex<Proxy>>);

impl Middlebox for Shared {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        unpoisoned(&self.0).on_packet(packet, cx);
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        unpoisoned(&self.0).sessions.wake(cx);
    }

    fn next_wakeup(&self) -> Time {
        unpoisoned(&self.0).sessions.next_wakeup()
    }

    fn flows(&self) -> usize {
        unpoisoned(&self.0).sessions.len()
    }

    fn lost_bytes(&self) -> u64 {
        unpoisoned(&self.0).sessions.lost_bytes()
    }

    fn stands_for(&self) -> Option<&'static str> {
        Some("split")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speaker::{Service, Speaker};
    use crate::tests::{bytes, Shared as Taken};
    use bentpipe_sim::record::RunResult;
    use bentpipe_sim::scenario::from_toml;
    use bentpipe_sim::spec::Scenario;
    use bentpipe_sim::Network;
    use bentpipe_tcp::State;
    use bentpipe_units::Duration;

    const MTU: u16 = 1500;

    /// A gateway 5 ms from the server and 270 ms from the user, with a proxy, and errors behind it.
    fn scenario(keys: &str, proxy: &str, app: &str) -> Arc<Scenario> {
        scenario_with(keys, proxy, app, &[])
    }

    fn scenario_with(keys: &str, proxy: &str, app: &str, sets: &[(&str, &str)]) -> Arc<Scenario> {
        let text = format!(
            r#"
            duration = "100 s"
            [tcp]
            like = "rfc"
            handshake = true
            smss = "1448 B"
            processing = "0 s"
            {keys}
            [node.gateway]
            middlebox = [{{ kind = "split"{proxy} }}]
            [link.near]
            from = "server"
            to = "gateway"
            rate = "50 Mbit/s"
            delay = "5 ms"
            queue = "100 packets"
            [link.sat]
            from = "gateway"
            to = "user"
            rate = "10 Mbit/s"
            delay = "270 ms"
            queue = "400 packets"
            [link.sat.forward]
            error = {{ kind = "packet", rate = 0.005 }}
            [link.sat.reverse]
            error = {{ kind = "packet", rate = 0.005 }}
            [flow.real]
            from = "server"
            to = "user"
            app = {app}
            "#
        );
        let sets: Vec<_> = sets.iter().map(|(key, value)| (String::from(*key), String::from(*value))).collect();
        from_toml(&text, "test.toml", &sets).unwrap_or_else(|problems| panic!("{problems}")).scenario
    }

    fn ends(is_v6: bool) -> [SocketAddr; 2] {
        let end = |v4: &str, v6: &str| (if is_v6 { v6 } else { v4 }).parse().unwrap();
        [end("10.77.0.1:40000", "[fd77::1]:40000"), end("10.77.0.2:5001", "[fd77::2]:5001")]
    }

    struct Found {
        result: RunResult,
        hosts: [Speaker; 2],
        functions: Arc<Functions>,
        over: Time,
    }

    /// Runs two hosts at the ends of the path in virtual time until nothing more happens. The first one opens.
    fn talk(scenario: &Arc<Scenario>, mut hosts: [Speaker; 2], is_v6: bool) -> Found {
        let functions = Functions::new(MTU);
        let real: Arc<dyn RealPackets> = functions.clone();
        let mut network = Network::build_real(scenario, 3, &real);
        let ports = network.ports("real").unwrap();
        let [opener, listener] = ends(is_v6);
        hosts[0].connect(Time::ZERO, opener, listener);
        let (mut now, mut over) = (Time::ZERO, Time::ZERO);
        loop {
            for (host, port) in hosts.iter_mut().zip(ports) {
                host.handle_wakeup(now);
                host.transmit(now, |packet| {
                    over = now;
                    let header_len = crate::codec::Headers::of(packet).unwrap().header_len;
                    network.inject(now, port, packet.len() as u64, header_len, packet.into()).unwrap();
                });
            }
            let next = hosts.iter().map(Speaker::next_wakeup).min().unwrap().min(network.next_wakeup()).max(now);
            if next >= Time::ZERO + scenario.duration {
                network.run_until(Time::ZERO + scenario.duration);
                return Found { result: network.finish().unwrap(), hosts, functions, over };
            }
            now = next;
            network.run_until(now);
            for packet in network.drain() {
                let at = ports.iter().position(|&port| port == packet.port).unwrap();
                hosts[at].handle(now, &packet.bytes);
            }
            network.drain_taken();
            network.drain_lost();
        }
    }

    fn file(scenario: &Arc<Scenario>, sent: &Arc<[u8]>, taken: &Taken) -> [Speaker; 2] {
        let config = &scenario.flows[0].transport.tcp().unwrap();
        [
            Speaker::new(config, MTU, None, Service::Send(sent.clone()), 1),
            Speaker::new(config, MTU, Some(5001), Service::Take(Box::new(taken.clone())), 2),
        ]
    }

    /// The same scenario with simulated packets and with bytes: each link carries the same, each counter is equal. No
    /// value is drawn per connection, such as the phase of a clock.
    #[test]
    fn real_and_simulated_connections_meet_the_same_proxy() {
        for (keys, proxy) in [
            ("timestamps = true", ""),
            ("cc = \"cubic\"", ", listener = { cc = \"hybla\" }, buffer = \"60 kB\""),
            ("timestamps = true\nlimited_transmit = true", ", accept = \"late\""),
        ] {
            let found = same(|app| scenario(keys, proxy, app));
            let [near, far] = [0, 1].map(|at| found.functions.reports()[at].1.clone());
            assert_eq!(near.local, ends(false)[1]);
            assert!(far.acked_bytes > 1_000_000 && near.received_bytes > far.acked_bytes, "{keys}");
            assert!(far.counters.retransmitted_segments > 0, "{keys}");
        }
    }

    /// The reverse path has room for few of the ACKs of a full link.
    #[test]
    fn real_and_simulated_acknowledgements_meet_the_same_filter() {
        for place in ["first", "last"] {
            let filter = format!("[{{ kind = \"ack-filter\", place = \"{place}\" }}]");
            let sets = [
                ("node.gateway.middlebox", "[]"),
                ("node.user.middlebox", &filter),
                ("link.sat.reverse.rate", "30 kbit/s"),
                ("link.sat.forward.error", "{ kind = \"none\" }"),
            ];
            let found = same(|app| scenario_with("", "", app, &sets));
            let drops = &found.result.drops;
            let at = drops.text("where").iter().position(|place| place == "user");
            assert!(at.is_some_and(|at| drops.whole("packets")[at] > 1000), "{place}: {drops:?}");
        }
    }

    /// An endless transfer, simulated and with packets as bytes: each link carries the same.
    fn same(scenario: impl Fn(&str) -> Arc<Scenario>) -> Found {
        let mut network = Network::build(&scenario("\"greedy\""), 3);
        while !network.run(1 << 20) {}
        let simulated = network.finish().unwrap();
        let real = scenario("\"port\"");
        let config = &real.flows[0].transport.tcp().unwrap();
        let hosts = [
            Speaker::new(config, MTU, None, Service::Bulk, 1),
            Speaker::new(config, MTU, Some(5001), Service::Take(Box::new(Taken::default())), 2),
        ];
        let found = talk(&real, hosts, false);
        for column in ["carried_packets", "carried_bytes", "dropped_packets"] {
            let [of_real, of_simulated] = [&found.result, &simulated].map(|result| result.links.whole(column));
            assert_eq!(of_real, of_simulated, "{column}");
        }
        assert_eq!(found.result.drops.whole("packets"), simulated.drops.whole("packets"));
        let client = found.hosts[0].live().next().unwrap();
        assert_eq!(client.acked_bytes as i64, simulated.flows.whole("acked_bytes")[0]);
        found
    }

    /// At most the buffer is between the ends, for any behaviour of the far side, and all data arrives.
    #[test]
    fn a_slow_side_stops_the_other() {
        let sent = bytes(400_000);
        let real = scenario("timestamps = true", ", buffer = \"20 kB\"", "\"port\"");
        let taken = Taken::default();
        let found = talk(&real, file(&real, &sent, &taken), true);
        assert!(*taken.0.lock().unwrap() == *sent);
        let [near, far] = [0, 1].map(|at| found.functions.reports()[at].1.clone());
        assert_eq!((near.cc.as_str(), near.counters.timeouts), ("newreno", 0));
        // A window of 20 kB in each round trip of 540 ms.
        assert!(found.over > Time::ZERO + Duration::from_secs(10), "{}", found.over);
        assert_eq!(far.acked_bytes, 400_000);
    }

    #[test]
    fn a_refusal_is_passed_on() {
        for (accept, is_established) in [("early", true), ("late", false)] {
            let real = scenario("timestamps = true", &format!(", accept = \"{accept}\""), "\"port\"");
            let config = &real.flows[0].transport.tcp().unwrap();
            let hosts = [
                Speaker::new(config, MTU, None, Service::Send(bytes(1000)), 1),
                Speaker::new(config, MTU, None, Service::Echo, 2),
            ];
            let found = talk(&real, hosts, false);
            let client = found.hosts[0].reports().next().unwrap();
            assert_eq!((client.state, client.is_aborted), (State::Closed, true), "{accept}");
            let [near, far] = [0, 1].map(|at| found.functions.reports()[at].1.clone());
            assert_eq!((far.is_aborted, near.counters.delivered_bytes > 0), (true, is_established), "{accept}");
        }
    }
}

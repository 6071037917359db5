//! Captures of runs in virtual time: the packets that the hosts of a scenario send and receive.
//!
//! A simulated packet has no content, and the simulator does not represent some of its header fields. Addresses, ports
//! and identifications are made up, equal in each run. Host `n` in the order of nodes has `10.78.x.y`. A flow has a
//! port at its receiver. Each of its connections, or each of its subflows over several paths, has a port at its sender.
//! The file contains headers only. The payload counts in their lengths, and as zeros in the checksums.

use crate::codec::{fold, sum};
use crate::multipath::Keyring;
use crate::pcapng::{loss, Capture, Captures};
use crate::wire;
use bentpipe_sim::ids::NodeId;
use bentpipe_sim::spec::Scenario;
use bentpipe_sim::{ends, Fate, Sighting, Witness};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

const TCP: u8 = 6;
const UDP: u8 = 17;
/// First port of a flow's connections, at the opener (RFC 6335 §6 defines the range).
const FIRST_DYNAMIC_PORT: u32 = 49_152;
const DYNAMIC_PORTS: u32 = 16_384;
/// Port of the first flow at its receiver.
const FIRST_FLOW_PORT: u32 = 5001;
const FLOW_PORTS: u32 = 40_000;

/// Captures of all hosts of a scenario, written during the run.
pub struct SimulatedCaptures<W>(Arc<Mutex<Inner<W>>>);

impl<W> Clone for SimulatedCaptures<W> {
    /// Shared captures.
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

struct Inner<W> {
    captures: Captures<W>,
    scenario: Scenario,
    /// Host of each node.
    hosts: Vec<Option<usize>>,
    /// Keys of multipath connections.
    keyring: Keyring,
    /// Numbers of sent packets in progress with the same identity, in the order of sending.
    under_way: BTreeMap<Looks, VecDeque<u64>>,
}

/// Identity of a packet. Middleboxes may change its window and its options.
type Looks = ((usize, u32, u8), bool, Option<[u32; 2]>, u16);

impl<W> std::fmt::Debug for SimulatedCaptures<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SimulatedCaptures")
    }
}

/// Returns the nodes where flows begin or end, in order.
pub fn hosts(scenario: &Scenario) -> Vec<NodeId> {
    let mut hosts: Vec<NodeId> = scenario.flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

impl<W: Write> SimulatedCaptures<W> {
    /// Creates captures that write to one destination for each of [`hosts`], in their order.
    pub fn new(scenario: &Scenario, captures: Vec<Capture<W>>) -> Self {
        let mut places = vec![None; scenario.nodes.len()];
        for (host, node) in hosts(scenario).into_iter().enumerate() {
            places[node.index()] = Some(host);
        }
        let (captures, scenario) = (Captures::new(captures), scenario.clone());
        let (keyring, under_way) = (Keyring::default(), BTreeMap::new());
        Self(Arc::new(Mutex::new(Inner { captures, scenario, hosts: places, keyring, under_way })))
    }

    /// Writes all waiting packets.
    ///
    /// # Errors
    ///
    /// The first failure, now or before.
    pub fn finish(&self) -> io::Result<()> {
        self.inner().captures.finish().map(drop)
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner<W>> {
        // A panic cannot leave a packet half written: packets are written in one piece.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl<W: Write + Send> Witness for SimulatedCaptures<W> {
    fn on_sent(&mut self, packet: &Sighting) {
        let inner = &mut *self.inner();
        let [from, to] = ends(&inner.scenario, packet);
        let Some(host) = inner.hosts[from.index()] else { return };
        let bytes = inner.encode(packet, [from, to]);
        let number = inner.captures.sent(packet.at, host, bytes, len(packet));
        inner.under_way.entry(looks(packet)).or_default().push_back(number);
    }

    fn on_end(&mut self, packet: &Sighting, fate: Fate) {
        let inner = &mut *self.inner();
        let [from, to] = ends(&inner.scenario, packet);
        let comment = match fate {
            Fate::Arrived => String::new(),
            Fate::Taken => format!("taken by a middlebox, {:.9} s", packet.at.as_secs_f64()),
            Fate::Lost { place, cause } => loss(cause, place, packet.at),
        };
        let looks = looks(packet);
        if let Some(alike) = inner.under_way.get_mut(&looks) {
            let sent = alike.pop_front();
            if alike.is_empty() {
                inner.under_way.remove(&looks);
            }
            if let (Some(sent), Some(host)) = (sent, inner.hosts[from.index()]) {
                inner.captures.settle_number(host, sent, comment);
            }
        }
        if let (Fate::Arrived, Some(host)) = (fate, inner.hosts[to.index()]) {
            let bytes = inner.encode(packet, [from, to]);
            inner.captures.arrived(packet.at, host, bytes, len(packet));
        }
    }
}

fn looks(packet: &Sighting) -> Looks {
    let numbers = packet.segment.map(|segment| [segment.seq.value(), segment.ack.value()]);
    ((packet.flow.index(), packet.connection, packet.subflow), packet.is_back, numbers, packet.len)
}

fn len(packet: &Sighting) -> usize {
    usize::from(packet.header_len) + usize::from(packet.len)
}

fn address(node: NodeId) -> Ipv4Addr {
    let number = node.index() as u32 + 1;
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 78, 0, 0)) + number % (1 << 16))
}

impl<W> Inner<W> {
    /// Returns the headers of a packet between these nodes.
    fn encode(&mut self, packet: &Sighting, nodes: [NodeId; 2]) -> Vec<u8> {
        let flow = &self.scenario.flows[packet.flow].name;
        let multi = self.keyring.option(packet, self.scenario.seed, flow, nodes.map(address));
        encode(packet, nodes, own_port(&self.scenario, packet), &multi)
    }
}

/// Returns the port of a packet's TCP connection at its opener. The subflows of a connection over several paths have ports in
/// a row, and a subflow that joins again gets another port.
fn own_port(scenario: &Scenario, packet: &Sighting) -> u16 {
    let subflows = scenario.flows[packet.flow].transport.multi().map_or(1, |multi| multi.subflows.len() as u32);
    let number = packet.connection.wrapping_mul(subflows).wrapping_add(packet.subflow.into());
    (FIRST_DYNAMIC_PORT + number % DYNAMIC_PORTS) as u16
}

/// Returns the headers of a packet between these nodes, with this port at the opener and this multipath option.
fn encode(packet: &Sighting, nodes: [NodeId; 2], own: u16, multi: &[u8]) -> Vec<u8> {
    let flow = (FIRST_FLOW_PORT + packet.flow.index() as u32 % FLOW_PORTS) as u16;
    let ports = if packet.is_back { [flow, own] } else { [own, flow] };
    let transport = match &packet.segment {
        Some(segment) => wire::header(segment, ports, usize::from(packet.header_len).saturating_sub(40), multi),
        None => udp(packet.len, ports),
    };
    let (protocol, ecn) = packet.segment.map_or((UDP, 0), |segment| (TCP, segment.ecn.bits()));
    let total = (20 + transport.len() + usize::from(packet.len)) as u16;
    let addresses: Vec<u8> = nodes.into_iter().flat_map(|node| address(node).octets()).collect();
    // RFC 791 §3.1: version and header length, service, length, identification, don't fragment, 64 hops, protocol,
    // checksum.
    let mut bytes = vec![0x45, ecn, (total >> 8) as u8, total as u8, 0, 0, 0x40, 0, 64, protocol, 0, 0];
    bytes.extend(&addresses);
    let checksum = (!fold(sum(&bytes))).to_be_bytes();
    bytes[10..12].copy_from_slice(&checksum);
    bytes.extend(checked(transport, &addresses, protocol, packet.len));
    bytes
}

/// Returns the header with its checksum over itself, a payload of zeros, and the pseudo header (RFC 9293 §3.1,
/// RFC 768).
fn checked(mut transport: Vec<u8>, addresses: &[u8], protocol: u8, payload: u16) -> Vec<u8> {
    let len = transport.len() as u32 + u32::from(payload);
    let sum = !fold(sum(&transport) + sum(addresses) + u32::from(protocol) + len);
    // RFC 768: zero would mean no checksum.
    let sum = if protocol == UDP && sum == 0 { u16::MAX } else { sum };
    let at = if protocol == UDP { 6 } else { 16 };
    transport[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    transport
}

fn udp(payload: u16, ports: [u16; 2]) -> Vec<u8> {
    [ports[0], ports[1], 8 + payload, 0].into_iter().flat_map(u16::to_be_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{checksums_are_right, Headers};
    use bentpipe_sim::Network;
    use etherparse::{LaxSlicedPacket, TcpOptionElement, TransportSlice};

    /// Written packets of captures: time in nanoseconds, bytes, length, comment.
    type Packets = Vec<(u64, Vec<u8>, usize, String)>;

    /// Written bytes, for a test to read.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Reads blocks of packets by the draft of pcapng, independent of the writer.
    fn packets(file: &[u8]) -> Packets {
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
        let (mut at, mut found) = (0, Vec::new());
        while at < file.len() {
            let (kind, len) = (word(at), word(at + 4));
            if kind == 6 {
                let (captured, whole) = (word(at + 20), word(at + 24));
                let (mut option, end) = (at + 28 + captured.next_multiple_of(4), at + len - 4);
                let mut comment = String::new();
                while option < end && file[option] != 0 {
                    let len = usize::from(u16::from_le_bytes([file[option + 2], file[option + 3]]));
                    if file[option] == 1 {
                        comment = String::from_utf8(file[option + 4..option + 4 + len].to_vec()).unwrap();
                    }
                    option += 4 + len.next_multiple_of(4);
                }
                let ns = (word(at + 12) as u64) << 32 | word(at + 16) as u64;
                found.push((ns, file[at + 28..at + 28 + captured].to_vec(), whole, comment));
            }
            at += len;
        }
        found
    }

    fn run(text: &str) -> (Vec<Packets>, bentpipe_sim::record::RunResult) {
        let scenario = bentpipe_sim::scenario::from_toml(text, "test.toml", &[]).unwrap().scenario;
        let expected = {
            let mut network = Network::build(&scenario, 1);
            while !network.run(1000) {}
            network.finish().unwrap()
        };
        let files: Vec<Shared> = hosts(&scenario).iter().map(|_| Shared::default()).collect();
        let captures = files.iter().map(|file| Capture::new(file.clone(), "bentpipe", "host", "test"));
        let captures = SimulatedCaptures::new(&scenario, captures.collect());
        let mut network = Network::build(&scenario, 1);
        network.watch(Box::new(captures.clone()));
        while !network.run(1000) {}
        let result = network.finish().unwrap();
        captures.finish().unwrap();
        assert_eq!(result, expected, "who looks changes nothing");
        (files.iter().map(|file| packets(&file.0.lock().unwrap())).collect(), result)
    }

    const LOSSY: &str = r#"
        duration = "20 s"
        [tcp]
        like = "linux-6"
        [link.path]
        from = "a"
        to = "b"
        rate = "5 Mbit/s"
        delay = "20 ms"
        queue = "20 packets"
        error = { kind = "packet", rate = "1 %" }
        [flow.bulk]
        from = "a"
        to = "b"
        [flow.call]
        from = "b"
        to = "a"
        app = { kind = "cbr", rate = "64 kbit/s", size = "160 B" }
    "#;

    #[test]
    fn each_packet_is_in_the_file_of_its_sender_and_in_that_of_its_receiver_if_it_arrived() {
        let (files, result) = run(LOSSY);
        let lost: i64 = result.drops.whole("packets").iter().sum();
        let sent: i64 = result.flows.whole("sent_packets").iter().sum();
        let is_from = |bytes: &[u8], host: usize| bytes[15] == host as u8 + 1;
        let own = |host: usize| files[host].iter().filter(move |(_, bytes, ..)| is_from(bytes, host));
        let comments = |text: &str| (0..2).flat_map(own).filter(|packet| packet.3.starts_with(text)).count() as i64;
        assert!(lost > 20 && comments("lost: ") == lost, "{lost}, {}", comments("lost: "));
        let under_way = comments("on its way");
        let all = (own(0).count() + own(1).count()) as i64;
        let arrived = (files[0].len() + files[1].len()) as i64 - all;
        assert_eq!(all, arrived + lost + under_way);
        // The table counts segments with data and datagrams. ACKs are additional.
        assert!(all > sent, "{all} {sent}");
        // Bytes of a lost packet only arrive if they are retransmitted.
        let numbers = |bytes: &[u8]| bytes[20..32].to_vec();
        let arrived: Vec<_> =
            files[1].iter().filter(|(_, bytes, ..)| is_from(bytes, 0)).map(|p| numbers(&p.1)).collect();
        let gone = own(0).filter(|packet| packet.3.starts_with("lost: ") && packet.1[9] == TCP);
        for (_, bytes, ..) in gone {
            let again = own(0).filter(|packet| numbers(&packet.1)[..8] == numbers(bytes)[..8]).count();
            assert!(again > 1 || !arrived.contains(&numbers(bytes)));
        }
        for file in &files {
            assert!(file.windows(2).all(|pair| pair[0].0 <= pair[1].0), "in order of time");
        }
    }

    #[test]
    fn headers_are_whole_and_their_checksums_right() {
        let (files, _) = run(LOSSY);
        let mut kinds = std::collections::BTreeSet::new();
        for (_, bytes, len, _) in files.iter().flatten() {
            let headers = Headers::of(bytes).unwrap();
            assert_eq!(usize::from(headers.header_len), bytes.len(), "only headers are kept");
            let mut whole = bytes.clone();
            whole.resize(*len, 0);
            assert_eq!(checksums_are_right(&whole), Some(true));
            let packet = LaxSlicedPacket::from_ip(&whole).unwrap();
            let Some(TransportSlice::Tcp(tcp)) = packet.transport else {
                kinds.insert("datagram");
                continue;
            };
            for option in tcp.options_iterator() {
                kinds.insert(match option.unwrap() {
                    TcpOptionElement::Noop => "noop",
                    TcpOptionElement::MaximumSegmentSize(_) => "mss",
                    TcpOptionElement::WindowScale(_) => "window scale",
                    TcpOptionElement::SelectiveAcknowledgementPermitted => "sack permitted",
                    TcpOptionElement::SelectiveAcknowledgement(..) => "sack",
                    TcpOptionElement::Timestamp(..) => "timestamps",
                });
            }
        }
        let expected = ["datagram", "mss", "noop", "sack", "sack permitted", "timestamps", "window scale"];
        assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected);
    }

    /// RFC 8684 §3.2: a subflow joins with the token of the other end, which is of the key in that end's SYN-ACK.
    #[test]
    fn subflows_are_tcp_connections_of_their_own() {
        let link = |name, from, to, delay| {
            format!("[link.{name}]\nfrom = '{from}'\nto = '{to}'\nrate = '5 Mbit/s'\ndelay = '{delay} ms'\n")
        };
        let links = [link("fast", "a", "b", 20), link("up", "a", "hub", 50), link("down", "hub", "b", 50)].concat();
        let text = format!(
            "duration = '20 s'\n{links}[flow.f]\nfrom = 'a'\nto = 'b'\nmultipath = {{}}\n\
             app = {{ kind = 'arrivals', size = '100 kB', interval = '500 ms', count = 5 }}\n\
             [flow.f.subflow.fast]\nroute = ['a', 'b']\nreverse_route = ['b', 'a']\n\
             [flow.f.subflow.slow]\nroute = ['a', 'hub', 'b']\nreverse_route = ['b', 'hub', 'a']\n"
        );
        let (files, _) = run(&text);
        let port = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let (mut capable, mut joins, mut tokens) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (_, bytes, ..) in &files[0] {
            // Behind 20 B of IP: flags, options.
            let (flags, options) = (bytes[33], &bytes[40..]);
            let Some(at) = options.windows(2).position(|pair| pair == [30, 12] || pair == [30, 4]) else { continue };
            let option = &options[at..];
            match (flags & 0x12, option[2] >> 4) {
                (0x02, 0) => capable.push(port(bytes, 20)),
                (0x02, 1) => joins.push((port(bytes, 20), option[4..8].to_vec())),
                (0x12, 0) => {
                    let hash = <sha2::Sha256 as sha2::Digest>::digest(&option[4..12]);
                    tokens.insert(hash[..4].to_vec(), port(bytes, 22));
                }
                _ => {}
            }
        }
        assert_eq!((capable.len(), joins.len(), tokens.len()), (5, 5, 5));
        let mut ports: Vec<u16> = capable.iter().copied().chain(joins.iter().map(|join| join.0)).collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 10, "{ports:?}");
        for (port, token) in &joins {
            assert_eq!(tokens.get(token), Some(&(port - 1)), "the token of the connection that it joins");
        }
    }
}

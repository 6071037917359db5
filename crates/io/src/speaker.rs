//! A host with bentpipe's TCP: connections of the simulator's TCP, with their data, driven by packets and a clock.
//!
//! Like other components it receives `now` and an input, provides outputs, and returns its next wakeup. Packets for
//! other connections are answered by RFC 9293 §3.10.7.1.

use crate::codec::Headers;
use crate::icmp;
use crate::wire::{self, Received};
use bentpipe_tcp::{Config, Connection, Counters, Event, Flags, Options, Role, Segment, State};
use bentpipe_units::{Duration, Rate, Seq, Stream, Time};
use std::collections::{BTreeMap, VecDeque};
use std::convert::identity;
use std::fmt;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// TCP, as IANA numbers it.
const TCP: u8 = 6;
/// Largest number of parallel connections. Further SYNs get no answer.
const CONNECTIONS_MAX: usize = 4096;
/// Largest number of connections without a complete handshake, against floods of SYNs.
const HALF_OPEN_MAX: usize = 1024;
/// Number of closed connections that are still reported.
const REPORTS_MAX: usize = 100_000;
/// Largest amount of data that `echo` keeps for a peer that does not read its answers.
const ECHO_MAX: u64 = 4 << 20;
/// Endless data: more than any run sends.
const ENDLESS: u64 = 1 << 50;
/// Header bits of TCP: those of RFC 9293 §3.1 and RFC 9768 §3.1. Others are the simulator's own signals.
const ON_THE_WIRE: u16 = 0x1ff;

/// Service of the host on a connection.
pub enum Service {
    /// Sends zeros until the peer closes.
    Bulk,
    /// Sends these bytes, then closes.
    Send(Arc<[u8]>),
    /// Receives everything, then closes.
    Take(Box<dyn Write + Send + Sync>),
    /// Sends received data back.
    Echo,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bulk => "Bulk",
            Self::Send(_) => "Send",
            Self::Take(_) => "Take",
            Self::Echo => "Echo",
        })
    }
}

/// State of a connection, or its state at the end.
#[derive(Clone, Debug)]
pub struct Report {
    /// Address of this end.
    pub local: SocketAddr,
    /// Address of the peer.
    pub remote: SocketAddr,
    /// Its congestion control.
    pub cc: String,
    /// TCP state.
    pub state: State,
    /// Whether it was reset or given up.
    pub is_aborted: bool,
    /// Bytes that the peer acknowledged.
    pub acked_bytes: u64,
    /// Bytes that arrived in order.
    pub received_bytes: u64,
    /// Congestion window, bytes.
    pub cwnd_bytes: u64,
    /// Slow start threshold, bytes. None before it is first set.
    pub ssthresh_bytes: Option<u64>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Data sent and not acknowledged, bytes.
    pub flight_size_bytes: u64,
    /// Pacing rate.
    pub pacing: Option<Rate>,
    /// Counters, as in virtual time.
    pub counters: Counters,
}

impl Report {
    /// Returns the report of a connection between these ends.
    pub(crate) fn of(conn: &Connection, [local, remote]: [SocketAddr; 2], cc: String, is_aborted: bool) -> Self {
        Self {
            local,
            remote,
            cc,
            state: conn.state(),
            is_aborted,
            acked_bytes: conn.acked_bytes(),
            received_bytes: conn.counters().delivered_bytes,
            cwnd_bytes: conn.cwnd(),
            ssthresh_bytes: conn.ssthresh(),
            srtt: conn.report().srtt(),
            flight_size_bytes: conn.flight_size(),
            pacing: conn.report().pacing_rate(),
            counters: *conn.counters(),
        }
    }
}

/// Returns settings of connections over IPv4 and over IPv6 whose packets have at most `mtu` bytes.
pub(crate) fn on_the_wire(config: &Config, mtu: u16) -> [Config; 2] {
    let timestamps = if config.timestamps { 12 } else { 0 };
    [40, 60].map(|headers| {
        let room = u32::from(mtu) - headers - timestamps;
        Config { smss: config.smss.min(room), handshake: true, ..config.clone() }
    })
}

/// Returns the name of a congestion control.
pub(crate) fn cc_of(config: &Config) -> String {
    config.own_cc.as_ref().map_or(config.cc.kind().name(), |own| own.name()).to_owned()
}

/// Returns a segment as a packet, without SACK blocks if these and its data do not fit into `mtu` bytes.
pub(crate) fn packet([from, to]: [SocketAddr; 2], mut segment: Segment, payload: &[u8], mtu: u16) -> Option<Vec<u8>> {
    let ip = if from.is_ipv4() { 0 } else { 20 };
    let len = ip + usize::from(segment.header_len()) + usize::from(segment.len);
    // Blocks are optional (RFC 2018 §4), the limit of the path is not.
    if len > usize::from(mtu) && matches!(segment.options, Options::Sack(_)) {
        segment.options = Options::None;
    }
    wire::emit(from, to, &segment, payload)
}

/// Returns the received segment without the simulator's own signals.
pub(crate) fn received(packet: &[u8]) -> Option<Received<'_>> {
    let mut received = wire::parse(packet)?;
    let flags = &mut received.segment.flags;
    *flags = Flags::from_bits(flags.bits() & ON_THE_WIRE);
    Some(received)
}

/// Host with bentpipe's TCP.
#[derive(Debug)]
pub struct Speaker {
    /// Settings of connections over IPv4 and over IPv6, whose segments are shorter.
    configs: [Arc<Config>; 2],
    mtu: u16,
    /// Listening port. `None`: it does not listen.
    port: Option<u16>,
    service: Service,
    /// Secret for initial sequence numbers (RFC 6528 §3).
    secret: u64,
    talks: BTreeMap<(SocketAddr, SocketAddr), Talk>,
    resets: VecDeque<Vec<u8>>,
    over: Vec<Report>,
    /// Number of incomplete segments, and of segments with a wrong checksum.
    pub unreadable: u64,
}

impl Speaker {
    /// Creates a host with these TCP settings and packets of at most `mtu` bytes. It offers this service to all who
    /// connect to `port`. Initial sequence numbers follow from `secret`.
    pub fn new(config: &Config, mtu: u16, port: Option<u16>, service: Service, secret: u64) -> Self {
        let configs = on_the_wire(config, mtu).map(Arc::new);
        let talks = BTreeMap::new();
        Self { configs, mtu, port, service, secret, talks, resets: VecDeque::new(), over: Vec::new(), unreadable: 0 }
    }

    /// Opens a connection.
    pub fn connect(&mut self, now: Time, from: SocketAddr, to: SocketAddr) {
        self.begin(now, from, to, Role::Active);
    }

    /// Whether a packet is for bentpipe's TCP: a segment, or a report about one.
    pub fn is_for_us(packet: &[u8]) -> bool {
        Headers::of(packet).is_some_and(|headers| headers.protocol == TCP) || icmp::reported(packet).is_some()
    }

    /// Handles a packet [for bentpipe's TCP](Self::is_for_us).
    pub fn handle(&mut self, now: Time, packet: &[u8]) {
        let Some(received) = received(packet) else {
            let about = icmp::reported(packet);
            match about.and_then(|about| Some((self.talks.get_mut(&(about.from, about.to))?, about.notice))) {
                Some((talk, notice)) => talk.conn.notify(now, notice),
                None => self.unreadable += 1,
            }
            return;
        };
        let flags = received.segment.flags;
        let ends = (received.to, received.from);
        if !self.talks.contains_key(&ends) {
            let opens = flags.has(Flags::SYN) && !flags.has_any(Flags::ACK.with(Flags::RST));
            if !opens || self.port != Some(received.to.port()) {
                return self.refuse(&received);
            }
            let half_open = self.talks.values().filter(|talk| !talk.conn.report().has_been_established()).count();
            if self.talks.len() >= CONNECTIONS_MAX || half_open >= HALF_OPEN_MAX {
                return;
            }
            self.begin(now, received.to, received.from, Role::Passive);
        }
        if let Some(talk) = self.talks.get_mut(&ends) {
            talk.handle(now, &received, &mut self.service);
        }
    }

    /// Performs the actions due at `now`.
    pub fn handle_wakeup(&mut self, now: Time) {
        for talk in self.talks.values_mut().filter(|talk| talk.conn.next_wakeup() <= now) {
            talk.conn.handle_wakeup(now);
            talk.follow(&mut self.service);
        }
    }

    /// Returns the time of the next call of [`handle_wakeup`](Self::handle_wakeup).
    pub fn next_wakeup(&self) -> Time {
        self.talks.values().map(|talk| talk.conn.next_wakeup()).min().unwrap_or(Time::NEVER)
    }

    /// Passes all packets that may leave now to `send`.
    pub fn transmit(&mut self, now: Time, mut send: impl FnMut(&[u8])) {
        for packet in self.resets.drain(..) {
            send(&packet);
        }
        for (&(from, to), talk) in &mut self.talks {
            while let Some(segment) = talk.conn.transmit(now, &mut identity::<Segment>) {
                let payload = talk.outgoing.at(talk.conn.report().offset_of(segment.data_seq()), segment.len);
                if let Some(packet) = self::packet([from, to], segment, &payload, self.mtu) {
                    send(&packet);
                }
            }
            talk.follow(&mut self.service);
        }
        let over = self.talks.iter().filter(|(_, talk)| talk.conn.state() == State::Closed);
        for ends in over.map(|(&ends, _)| ends).collect::<Vec<_>>() {
            if let Some(talk) = self.talks.remove(&ends).filter(|_| self.over.len() < REPORTS_MAX) {
                self.over.push(talk.report(ends));
            }
        }
    }

    /// Returns all connections, closed ones first.
    pub fn reports(&self) -> impl Iterator<Item = Report> + '_ {
        self.over.iter().cloned().chain(self.live())
    }

    /// Returns the reports of connections that are not over.
    pub fn live(&self) -> impl Iterator<Item = Report> + '_ {
        self.talks.iter().map(|(&ends, talk)| talk.report(ends))
    }

    fn begin(&mut self, now: Time, own: SocketAddr, peer: SocketAddr, role: Role) {
        // RFC 6528 §3: a clock of 4 us, and a secret of the two ends.
        let [of_ends, of_conn] = Stream::new(self.secret, &format!("{own} {peer}"), "iss").key();
        let iss = Seq::new((now.as_ps() / 4_000_000) as u32).at(of_ends);
        let config = &self.configs[usize::from(matches!(own.ip(), IpAddr::V6(_)))];
        let cc = cc_of(config);
        let mut conn = Connection::new(config.clone(), role, iss);
        conn.set_random_seed(of_conn);
        conn.set_reads_at_once(false);
        let outgoing = match &self.service {
            Service::Bulk | Service::Take(_) => Outgoing::Zeros,
            Service::Send(bytes) => Outgoing::Bytes(bytes.clone()),
            Service::Echo => Outgoing::Queue(0, VecDeque::new()),
        };
        match &self.service {
            Service::Bulk => conn.offer(ENDLESS),
            Service::Send(bytes) => {
                conn.offer(bytes.len() as u64);
                conn.close();
            }
            Service::Take(_) | Service::Echo => {}
        }
        conn.open(now);
        self.talks.insert((own, peer), Talk { cc, conn, incoming: Incoming::default(), outgoing, is_aborted: false });
    }

    /// Sends a reset if there is no such connection (RFC 9293 §3.10.7.1).
    fn refuse(&mut self, received: &Received<'_>) {
        let segment = &received.segment;
        if segment.flags.has(Flags::RST) {
            return;
        }
        let reset = if segment.flags.has(Flags::ACK) {
            Segment { seq: segment.ack, flags: Flags::RST, ..Segment::default() }
        } else {
            let ack = segment.seq.at(segment.sequence_len());
            Segment { ack, flags: Flags::RST.with(Flags::ACK), ..Segment::default() }
        };
        self.resets.extend(wire::emit(received.to, received.from, &reset, &[]));
    }
}

/// Connection with its data.
#[derive(Debug)]
struct Talk {
    cc: String,
    conn: Connection,
    incoming: Incoming,
    outgoing: Outgoing,
    is_aborted: bool,
}

impl Talk {
    fn handle(&mut self, now: Time, received: &Received<'_>, service: &mut Service) {
        self.conn.handle(now, &received.segment);
        // Keeps only accepted data, not data beyond the window or of a rejected segment.
        if let Some((start, reach)) = self.conn.report().received_from(received.segment.data_seq()) {
            let taken = reach.saturating_sub(start).min(received.payload.len() as u64);
            self.incoming.keep(start, &received.payload[..taken as usize]);
        }
        self.follow(service);
    }

    /// Applies the service to the received data.
    fn follow(&mut self, service: &mut Service) {
        if let Outgoing::Queue(start, bytes) = &mut self.outgoing {
            let acked = self.conn.acked_bytes();
            bytes.drain(..(acked.saturating_sub(*start) as usize).min(bytes.len()));
            *start = acked;
        }
        let room = match &self.outgoing {
            Outgoing::Queue(_, bytes) => ECHO_MAX.saturating_sub(bytes.len() as u64),
            _ => u64::MAX,
        };
        let count = self.conn.read(room);
        for piece in self.incoming.take(count) {
            match (&mut *service, &mut self.outgoing) {
                (Service::Take(file), _) => {
                    let is_written = file.write_all(&piece).is_ok();
                    if !is_written {
                        self.conn.abort();
                    }
                }
                (_, Outgoing::Queue(_, bytes)) => {
                    bytes.extend(&piece);
                    self.conn.offer(piece.len() as u64);
                }
                _ => {}
            }
        }
        while let Some(event) = self.conn.poll() {
            match event {
                Event::PeerFinished => match service {
                    Service::Bulk => self.conn.abort(),
                    _ => self.conn.close(),
                },
                Event::Aborted(_) => self.is_aborted = true,
                _ => {}
            }
        }
        if self.conn.state() == State::Closed {
            if let Service::Take(file) = service {
                // Data that cannot be written is missing, as the size of the file shows.
                let _ = file.flush();
            }
        }
    }

    fn report(&self, (local, remote): (SocketAddr, SocketAddr)) -> Report {
        // Counted here: with `take`, the written bytes.
        let received_bytes = self.incoming.taken;
        Report { received_bytes, ..Report::of(&self.conn, [local, remote], self.cc.clone(), self.is_aborted) }
    }
}

/// Bytes of the peer that have arrived and were not read, by offset. Pieces do not overlap.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    pieces: BTreeMap<u64, Vec<u8>>,
    /// Offset up to which all data was read.
    taken: u64,
}

impl Incoming {
    /// Keeps new data. Earlier data stays.
    pub(crate) fn keep(&mut self, start: u64, bytes: &[u8]) {
        let end = start + bytes.len() as u64;
        let mut at = start.max(self.taken);
        while at < end {
            let before = self.pieces.range(..=at).next_back().map_or(0, |(&from, piece)| from + piece.len() as u64);
            if before > at {
                at = before;
                continue;
            }
            let next = self.pieces.range(at..).next().map_or(end, |(&from, _)| from.min(end));
            self.pieces.insert(at, bytes[(at - start) as usize..(next - start) as usize].to_vec());
            at = next;
        }
    }

    /// Returns a copy of unread bytes; fewer than `len` if some are missing.
    pub(crate) fn copy(&self, start: u64, len: u16) -> Vec<u8> {
        let (mut at, end) = (start, start + u64::from(len));
        let mut copy = Vec::with_capacity(len.into());
        while at < end {
            let Some((&from, piece)) = self.pieces.range(..=at).next_back() else { break };
            let Some(rest) = piece.get((at - from) as usize..).filter(|rest| !rest.is_empty()) else { break };
            let part = &rest[..rest.len().min((end - at) as usize)];
            copy.extend_from_slice(part);
            at += part.len() as u64;
        }
        copy
    }

    /// Returns the next bytes in order.
    pub(crate) fn take(&mut self, count: u64) -> Vec<Vec<u8>> {
        let until = self.taken + count;
        let mut found = Vec::new();
        while self.taken < until {
            let Some(mut piece) = self.pieces.remove(&self.taken) else { break };
            let rest = piece.split_off(piece.len().min((until - self.taken) as usize));
            self.taken += piece.len() as u64;
            if !rest.is_empty() {
                self.pieces.insert(self.taken, rest);
            }
            found.push(piece);
        }
        debug_assert_eq!(self.taken, until, "delivered data was kept");
        found
    }
}

/// Data that this end sends.
#[derive(Debug)]
enum Outgoing {
    Zeros,
    Bytes(Arc<[u8]>),
    /// Queued data from this offset on.
    Queue(u64, VecDeque<u8>),
}

impl Outgoing {
    fn at(&self, offset: u64, len: u16) -> Vec<u8> {
        let len = usize::from(len);
        match self {
            Self::Zeros => vec![0; len],
            Self::Bytes(bytes) => bytes.iter().skip(offset as usize).take(len).copied().collect(),
            Self::Queue(start, bytes) => {
                let from = offset.saturating_sub(*start) as usize;
                bytes.iter().skip(from).take(len).copied().collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{bytes, Shared};
    use bentpipe_units::Duration;
    use proptest::prelude::*;

    const MTU: u16 = 1500;

    fn ends(is_v6: bool) -> [SocketAddr; 2] {
        let end = |v4: &str, v6: &str| (if is_v6 { v6 } else { v4 }).parse().unwrap();
        [end("10.77.0.1:5001", "[fd77::1]:5001"), end("10.77.0.2:40000", "[fd77::2]:40000")]
    }

    fn config(keys: &str) -> Config {
        let text = format!(
            "duration = \"1 s\"\n[tcp]\n{keys}\n[link.l]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
             [flow.f]\nfrom = \"a\"\nto = \"b\"\n"
        );
        bentpipe_sim::scenario::from_toml(&text, "test.toml", &[]).unwrap().scenario.flows[0]
            .transport
            .tcp()
            .unwrap()
            .as_ref()
            .clone()
    }

    /// Path of 20 ms in each direction that loses, repeats and delays packets at random.
    struct Path {
        chance: Stream,
        drawn: u64,
        loss: f64,
        under_way: BTreeMap<(Time, u64), (usize, Vec<u8>)>,
        longest: usize,
    }

    impl Path {
        fn draw(&mut self) -> f64 {
            self.drawn += 1;
            self.chance.uniform(self.drawn)
        }

        fn carry(&mut self, now: Time, to: usize, packet: &[u8]) {
            self.longest = self.longest.max(packet.len());
            if self.draw() < self.loss {
                return;
            }
            for _ in 0..if self.draw() < 0.02 { 2 } else { 1 } {
                let late = if self.draw() < 0.05 { 15 } else { 0 };
                let at = now + Duration::from_millis(20 + late);
                self.drawn += 1;
                self.under_way.insert((at, self.drawn), (to, packet.to_vec()));
            }
        }
    }

    /// Connects two hosts over the path: the first opens, the second listens. Returns the largest packet.
    fn talk(hosts: &mut [Speaker; 2], is_v6: bool, loss: f64, limit_s: u64) -> usize {
        let [server, client] = ends(is_v6);
        let mut path =
            Path { chance: Stream::new(7, "path", "chance"), drawn: 0, loss, under_way: BTreeMap::new(), longest: 0 };
        hosts[0].connect(Time::ZERO, client, server);
        let mut now = Time::ZERO;
        loop {
            for (at, host) in hosts.iter_mut().enumerate() {
                host.handle_wakeup(now);
                host.transmit(now, |packet| path.carry(now, 1 - at, packet));
            }
            let next = path.under_way.first_key_value().map_or(Time::NEVER, |(&(at, _), _)| at);
            now = hosts.iter().map(Speaker::next_wakeup).min().unwrap().min(next).max(now);
            if now > Time::ZERO + Duration::from_secs(limit_s) {
                return path.longest;
            }
            while let Some(first) = path.under_way.first_entry().filter(|first| first.key().0 <= now) {
                let (to, packet) = first.remove();
                hosts[to].handle(now, &packet);
            }
        }
    }

    #[test]
    fn each_byte_arrives_through_loss_reordering_and_duplication() {
        let sent = bytes(3_000_000);
        for (is_v6, loss, keys) in [
            (false, 0.0, "like = \"rfc\""),
            (false, 0.01, "timestamps = true"),
            (true, 0.02, "like = \"linux-6\""),
            (false, 0.02, "cc = \"bbr3\""),
            (true, 0.05, "cc = \"newreno\"\nreceive_buffer = \"30 kB\""),
        ] {
            let taken = Shared::default();
            let config = config(keys);
            let mut hosts = [
                Speaker::new(&config, MTU, None, Service::Send(sent.clone()), 1),
                Speaker::new(&config, MTU, Some(5001), Service::Take(Box::new(taken.clone())), 2),
            ];
            let longest = talk(&mut hosts, is_v6, loss, 600);
            assert!(*taken.0.lock().unwrap() == *sent, "{keys}: {} bytes", taken.0.lock().unwrap().len());
            assert!(longest <= usize::from(MTU), "{longest}");
            let [client, server] = hosts.map(|host| host.reports().next().unwrap());
            assert_eq!((client.acked_bytes, server.received_bytes), (3_000_000, 3_000_000));
            assert_eq!((client.is_aborted, server.is_aborted), (false, false));
            assert!((client.counters.retransmitted_segments > 0) == (loss > 0.0), "{keys}");
        }
    }

    #[test]
    fn what_is_echoed_comes_back_though_windows_are_small() {
        let config = config("receive_buffer = \"20 kB\"");
        let taken = Shared::default();
        // A host has one service. It sends the data that another connection received to the echo, so the test requests
        // the echo itself.
        let mut echo = Speaker::new(&config, MTU, Some(5001), Service::Echo, 2);
        let [server, client] = ends(false);
        let mut conn = Connection::new(config.clone(), Role::Active, Seq::new(5));
        conn.offer(200_000);
        conn.close();
        conn.open(Time::ZERO);
        let (mut now, mut back) = (Time::ZERO, Vec::new());
        let mut incoming = Incoming::default();
        conn.set_reads_at_once(false);
        for _ in 0..20_000 {
            while let Some(segment) = conn.transmit(now, &mut identity::<Segment>) {
                let from = conn.report().offset_of(segment.data_seq());
                let payload: Vec<u8> = (from..from + u64::from(segment.len)).map(|at| (at % 251) as u8).collect();
                echo.handle(now, &wire::emit(client, server, &segment, &payload).unwrap());
            }
            now += Duration::from_millis(1);
            echo.handle_wakeup(now);
            echo.transmit(now, |packet| back.push(packet.to_vec()));
            for packet in back.drain(..) {
                let received = wire::parse(&packet).unwrap();
                conn.handle(now, &received.segment);
                if let Some((start, reach)) = conn.report().received_from(received.segment.data_seq()) {
                    let taken = reach.saturating_sub(start).min(received.payload.len() as u64);
                    incoming.keep(start, &received.payload[..taken as usize]);
                }
                let count = conn.read(u64::MAX);
                incoming.take(count).into_iter().for_each(|piece| taken.clone().write_all(&piece).unwrap());
            }
            conn.handle_wakeup(now);
        }
        let found = taken.0.lock().unwrap();
        assert_eq!(found.len(), 200_000);
        assert!(found.iter().enumerate().all(|(at, &byte)| byte == (at % 251) as u8));
        assert_eq!(conn.state(), State::TimeWait);
    }

    #[test]
    fn strangers_are_reset_and_a_flood_of_syns_takes_no_more_than_its_share() {
        let [server, client] = ends(false);
        let mut host = Speaker::new(&config(""), MTU, Some(5001), Service::Bulk, 1);
        let answer = |host: &mut Speaker, to: SocketAddr, segment: Segment| {
            let mut found = None;
            host.handle(Time::ZERO, &wire::emit(client, to, &segment, &[]).unwrap());
            host.transmit(Time::ZERO, |packet| found = wire::parse(packet).map(|received| received.segment));
            found
        };
        // RFC 9293 §3.10.7.1: with an ACK, its number. Without, the reset acknowledges the whole segment.
        let data = Segment { seq: Seq::new(9), ack: Seq::new(77), flags: Flags::ACK, ..Segment::default() };
        let reset = answer(&mut host, server, data).unwrap();
        assert_eq!((reset.flags, reset.seq), (Flags::RST, Seq::new(77)));
        let syn = Segment { seq: Seq::new(9), flags: Flags::SYN, options: Options::Syn(Default::default()), ..data };
        let elsewhere = SocketAddr::new(server.ip(), 80);
        let reset = answer(&mut host, elsewhere, syn).unwrap();
        assert_eq!((reset.flags, reset.ack), (Flags::RST.with(Flags::ACK), Seq::new(10)));
        assert_eq!(answer(&mut host, elsewhere, Segment { flags: Flags::RST, ..data }), None);
        for number in 0..10_000_u32 {
            let from = SocketAddr::new(client.ip(), 1024 + (number % 60_000) as u16);
            host.handle(Time::ZERO, &wire::emit(from, server, &syn, &[]).unwrap());
        }
        assert_eq!(host.live().count(), HALF_OPEN_MAX);
    }

    proptest! {
        #[test]
        fn pieces_in_any_order_are_read_in_order(mut cuts in proptest::collection::vec((0_usize..400, 1_usize..90), 1..60)) {
            let bytes: Vec<u8> = (0..500).map(|n| n as u8).collect();
            let mut incoming = Incoming::default();
            cuts.push((0, 500));
            for (start, len) in cuts {
                incoming.keep(start as u64, &bytes[start..(start + len).min(500)]);
            }
            let mut found = Vec::new();
            for _ in 0..5 {
                found.extend(incoming.take(100).concat());
            }
            prop_assert_eq!(found, bytes);
            prop_assert!(incoming.pieces.is_empty());
        }

        /// Segments of any content for an open connection: this side answers or not, and keeps its limits.
        #[test]
        fn no_segment_panics(
            segments in proptest::collection::vec(
                (any::<i16>(), any::<i16>(), 0_u16..0x200, any::<u16>(), 0_usize..1400,
                 proptest::collection::vec(any::<u8>(), 0..40)), 1..60),
        ) {
            let [server, client] = ends(false);
            let mut host = Speaker::new(&config("like = \"linux-6\""), MTU, Some(5001), Service::Echo, 1);
            let syn = SynOptionsFor::linux();
            let opening = Segment { seq: Seq::new(999), flags: Flags::SYN, options: Options::Syn(syn), ..Segment::default() };
            host.handle(Time::ZERO, &wire::emit(client, server, &opening, &[]).unwrap());
            let (mut now, mut iss) = (Time::ZERO, Seq::new(0));
            host.transmit(now, |packet| iss = wire::parse(packet).unwrap().segment.seq);
            let ack = Segment { seq: Seq::new(1000), ack: iss.at(1), flags: Flags::ACK, window: 500, ..Segment::default() };
            host.handle(now, &wire::emit(client, server, &ack, &[]).unwrap());
            for (seq, ack, flags, window, len, options) in segments {
                now += Duration::from_millis(30);
                let near = |from: Seq, by: i16| Seq::new(from.value().wrapping_add(by as u32));
                let segment = Segment {
                    seq: near(Seq::new(1000), seq), ack: near(iss, ack), window, len: len as u16,
                    flags: Flags::from_bits(flags), ..Segment::default()
                };
                let mut packet = wire::emit(client, server, &segment, &vec![1; len]).unwrap();
                // Options of any kind, with a header that counts them and a right checksum.
                packet = with_options(&packet, &options);
                host.handle(now, &packet);
                host.handle_wakeup(now);
                host.transmit(now, |packet| assert!(wire::parse(packet).is_some() && packet.len() <= 1500));
            }
            prop_assert!(host.live().count() <= 1);
        }
    }

    struct SynOptionsFor;

    impl SynOptionsFor {
        fn linux() -> bentpipe_tcp::SynOptions {
            bentpipe_tcp::SynOptions { mss: 1460, window_scale: Some(7), sack_permitted: true, ..Default::default() }
        }
    }

    fn with_options(packet: &[u8], options: &[u8]) -> Vec<u8> {
        let options = &options[..options.len() / 4 * 4];
        let mut tcp = [&packet[20..40], options, &packet[40..]].concat();
        tcp[12] = tcp[12] & 0x0f | (5 + options.len() as u8 / 4) << 4;
        tcp[16..18].fill(0);
        let mut ip = packet[..20].to_vec();
        let total = (20 + tcp.len()) as u16;
        ip[2..4].copy_from_slice(&total.to_be_bytes());
        ip[10..12].fill(0);
        let sum = crate::codec::sum;
        let checksum = !crate::codec::fold(sum(&tcp) + sum(&ip[12..20]) + 6 + tcp.len() as u32);
        tcp[16..18].copy_from_slice(&checksum.to_be_bytes());
        let header = !crate::codec::fold(sum(&ip));
        ip[10..12].copy_from_slice(&header.to_be_bytes());
        [ip, tcp].concat()
    }
}

//! A host with bentpipe's QUIC: connections of the simulator's QUIC with TLS, driven by datagrams and a clock.
//!
//! As [`speaker`](crate::speaker) does for TCP, it gives one service to all peers. The opener of a connection opens one stream,
//! and the service of the other end answers on each stream of its peer. Both ends name the protocol `hq-interop`.

use crate::speaker::Service;
use bentpipe_quic::{Clock, Output, QuicEnd};
use bentpipe_sim::spec::Quic;
use bentpipe_sim::stack::{Engine, EngineCounters, EngineEvent, EngineState, Seed, StreamNo};
use bentpipe_units::{Duration, Ecn, Time};
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// Largest number of parallel connections. Further ones get no answer.
const CONNECTIONS_MAX: usize = 4096;
/// Number of closed connections that are still reported.
const REPORTS_MAX: usize = 100_000;
/// Time after the last data until its reader closes: its acknowledgement may wait for 25 ms (RFC 9000 §18.2).
const LAST_ACK: Duration = Duration::from_millis(50);
/// Endless data: more than any run sends.
const ENDLESS: u64 = 1 << 50;
/// Reasons of the stack for the end of a connection that the peer closed without an error, as application or as transport.
const ORDERLY: [&str; 2] =
    ["closed by peer: 0", "aborted by peer: the connection is being closed abruptly in the absence of any error"];

/// State of a connection, or its state at the end. Times count from its first datagram.
#[derive(Clone, Debug)]
pub struct QuicReport {
    /// Address of the peer.
    pub remote: SocketAddr,
    /// Congestion control of this end.
    pub cc: String,
    /// Whether it is over.
    pub is_closed: bool,
    /// Reason of the stack or of the peer for a failure.
    pub failure: Option<String>,
    /// Time until the handshake was complete at this end.
    pub handshake: Option<Duration>,
    /// Time until the first byte of a stream was read.
    pub first_byte: Option<Duration>,
    /// Time until a stream was complete: read to its end, or acknowledged. Of the last such stream.
    pub done: Option<Duration>,
    /// Counters, as in virtual time.
    pub counters: EngineCounters,
    /// State of the congestion control.
    pub state: EngineState,
}

/// Host with bentpipe's QUIC.
pub struct QuicSpeaker {
    quic: Quic,
    clock: Clock,
    service: Service,
    /// Secret for identifiers of connections and keys of tokens.
    secret: u64,
    /// Whether it accepts connections.
    listens: bool,
    talks: BTreeMap<SocketAddr, Talk>,
    /// Number of connections so far.
    made: u64,
    over: Vec<QuicReport>,
    buffer: Vec<u8>,
    logs: Option<Logs>,
}

/// Maker of qlog files.
struct Logs {
    title: String,
    /// Opens the file of the connection with this number; `true`: of its client.
    open: Box<dyn Fn(u64, bool) -> Output + Send + Sync>,
}

impl QuicSpeaker {
    /// Creates a host with [permitted](bentpipe_quic::check_on_the_wire) settings, which gives this service.
    pub fn new(quic: Quic, clock: Clock, service: Service, listens: bool, secret: u64) -> Self {
        let (talks, over, buffer) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { quic, clock, service, secret, listens, talks, made: 0, over, buffer, logs: None }
    }

    /// Writes a qlog of each connection. `open` gets the number of a connection, and whether this end is its client.
    #[must_use]
    pub fn with_qlog(mut self, title: &str, open: impl Fn(u64, bool) -> Output + Send + Sync + 'static) -> Self {
        self.logs = Some(Logs { title: title.to_owned(), open: Box::new(open) });
        self
    }

    /// Opens a connection with a stream. `request` begins the stream if the service sends nothing.
    ///
    /// # Errors
    ///
    /// TLS does not start.
    pub fn connect(&mut self, now: Time, to: SocketAddr, request: &str) -> Result<(), String> {
        let mut talk = self.begin(now, true)?;
        talk.request = Some(request.to_owned());
        talk.end.connect(now);
        talk.follow(now, &mut self.service);
        self.talks.insert(to, talk);
        Ok(())
    }

    /// Handles a datagram.
    ///
    /// # Errors
    ///
    /// TLS does not start.
    pub fn handle(&mut self, now: Time, from: SocketAddr, payload: &[u8], ecn: Ecn) -> Result<(), String> {
        if !self.talks.contains_key(&from) {
            if !self.listens || self.talks.len() >= CONNECTIONS_MAX {
                return Ok(());
            }
            let talk = self.begin(now, false)?;
            self.talks.insert(from, talk);
        }
        if let Some(talk) = self.talks.get_mut(&from) {
            talk.end.receive(now, payload, ecn);
            talk.follow(now, &mut self.service);
        }
        Ok(())
    }

    /// Performs the actions due at `now`.
    pub fn handle_wakeup(&mut self, now: Time) {
        for talk in self.talks.values_mut().filter(|talk| talk.next_wakeup() <= now) {
            if talk.closes_at <= now {
                talk.close(now);
            }
            talk.end.handle_wakeup(now);
            talk.follow(now, &mut self.service);
        }
    }

    /// Returns the time of the next call of [`handle_wakeup`](Self::handle_wakeup).
    pub fn next_wakeup(&self) -> Time {
        self.talks.values().map(Talk::next_wakeup).min().unwrap_or(Time::NEVER)
    }

    /// Passes all datagrams that may leave now to `send`. Forgets connections that are over.
    pub fn transmit(&mut self, now: Time, mut send: impl FnMut(SocketAddr, &[u8], Ecn)) {
        for (&to, talk) in &mut self.talks {
            while let Some((payload, ecn)) = talk.end.send(now, &mut self.buffer) {
                send(to, payload, ecn);
            }
            talk.follow(now, &mut self.service);
        }
        let (over, made) = (&mut self.over, &mut self.talks);
        made.retain(|&remote, talk| {
            let is_known = talk.end.has_connection() || talk.failure.is_some();
            if talk.is_over() && is_known && over.len() < REPORTS_MAX {
                over.push(talk.report(remote));
            }
            !talk.is_over()
        });
    }

    /// Closes all connections.
    pub fn close(&mut self, now: Time) {
        self.listens = false;
        self.talks.values_mut().for_each(|talk| talk.close(now));
    }

    /// Returns all connections, closed ones first.
    pub fn reports(&self) -> impl Iterator<Item = QuicReport> + '_ {
        self.over.iter().cloned().chain(self.talks.iter().map(|(&remote, talk)| talk.report(remote)))
    }

    fn begin(&mut self, now: Time, is_client: bool) -> Result<Talk, String> {
        let seed = Seed { run: self.secret, flow: "wire", ordinal: self.made };
        self.made += 1;
        let log = self.logs.as_ref().map(|logs| ((logs.open)(seed.ordinal, is_client), logs.title.as_str()));
        Ok(Talk {
            end: QuicEnd::on_the_wire(&self.quic, seed, is_client, self.clock, log)?,
            cc: self.quic.cc.name().to_owned(),
            begun_at: now,
            request: None,
            streams: BTreeMap::new(),
            closes_at: Time::NEVER,
            closed_at: None,
            failure: None,
            handshake: None,
            first_byte: None,
            done: None,
        })
    }
}

impl fmt::Debug for QuicSpeaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuicSpeaker").field("service", &self.service).field("talks", &self.talks.len()).finish()
    }
}

/// Connection with its data.
struct Talk {
    end: QuicEnd,
    cc: String,
    begun_at: Time,
    /// First bytes of the own stream, if this end opens the connection.
    request: Option<String>,
    /// Streams that have data.
    streams: BTreeMap<StreamNo, Incoming>,
    /// When this end will close the connection.
    closes_at: Time,
    /// When the connection was closed at this end, or failed.
    closed_at: Option<Time>,
    failure: Option<String>,
    handshake: Option<Duration>,
    first_byte: Option<Duration>,
    done: Option<Duration>,
}

impl Talk {
    /// Applies the service to the events of the connection.
    fn follow(&mut self, now: Time, service: &mut Service) {
        while let Some(event) = self.end.poll_event() {
            let passed = now.saturating_since(self.begun_at);
            match event {
                EngineEvent::Established => {
                    self.handshake.get_or_insert(passed);
                    self.open(now, service);
                }
                EngineEvent::Received { stream, is_last, .. } => {
                    self.first_byte.get_or_insert(passed);
                    if is_last {
                        self.done = Some(passed);
                    }
                    self.answer(now, stream, is_last, service);
                }
                EngineEvent::Acked(_) => {
                    self.done = Some(passed);
                    if matches!(service, Service::Send(_)) && self.request.is_some() {
                        self.close(now);
                    }
                }
                EngineEvent::Failed(reason) => {
                    if !ORDERLY.contains(&reason.as_str()) {
                        self.failure.get_or_insert(reason);
                    }
                    self.closed_at.get_or_insert(now);
                }
                EngineEvent::Datagram { .. } => {}
            }
        }
    }

    /// The opener opens its stream.
    fn open(&mut self, now: Time, service: &Service) {
        let Some(request) = self.request.clone() else { return };
        let stream = self.end.open_stream(now);
        self.streams.insert(stream, Incoming::default());
        match service {
            Service::Bulk => self.end.write(now, stream, ENDLESS, false),
            Service::Send(bytes) => self.end.write_bytes(now, stream, shared(bytes), true),
            Service::Take(_) | Service::Echo => self.end.write_bytes(now, stream, request.into(), true),
        }
    }

    /// Applies the service to data of a stream, or to its end.
    fn answer(&mut self, now: Time, stream: StreamNo, is_last: bool, service: &mut Service) {
        if !self.streams.contains_key(&stream) {
            match service {
                Service::Bulk => self.end.write(now, stream, ENDLESS, false),
                Service::Send(bytes) => self.end.write_bytes(now, stream, shared(bytes), true),
                Service::Take(_) | Service::Echo => {}
            }
        }
        self.streams.entry(stream).or_default();
        while let Some(piece) = self.end.take_bytes() {
            let incoming = self.streams.entry(piece.stream).or_default();
            incoming.pieces.insert(piece.start, piece.bytes);
            for bytes in incoming.take() {
                match service {
                    Service::Take(file) => {
                        if let Err(error) = file.write_all(&bytes) {
                            self.failure = Some(format!("received data cannot be written: {error}"));
                            return self.close(now);
                        }
                    }
                    Service::Echo => self.end.write_bytes(now, piece.stream, bytes, false),
                    Service::Bulk | Service::Send(_) => {}
                }
            }
        }
        if !is_last {
            return;
        }
        if let Service::Take(file) = service {
            if let Err(error) = file.flush() {
                self.failure = Some(format!("received data cannot be written: {error}"));
            }
        }
        match (service, self.request.is_some()) {
            (Service::Take(_), true) => {
                self.closes_at = now + LAST_ACK;
            }
            (Service::Take(_) | Service::Echo, false) => self.end.write_bytes(now, stream, Bytes::new(), true),
            _ => {}
        }
    }

    fn next_wakeup(&self) -> Time {
        self.end.next_wakeup().min(self.closes_at)
    }

    fn close(&mut self, now: Time) {
        self.closes_at = Time::NEVER;
        if self.closed_at.is_none() {
            self.closed_at = Some(now);
            self.end.close(now);
        }
    }

    /// Whether nothing more comes: the first datagram opened no connection, or its end is long ago.
    fn is_over(&self) -> bool {
        !self.end.has_connection() || self.end.next_wakeup() == Time::NEVER && self.closed_at.is_some()
    }

    fn report(&self, remote: SocketAddr) -> QuicReport {
        QuicReport {
            remote,
            cc: self.cc.clone(),
            is_closed: self.closed_at.is_some(),
            failure: self.failure.clone(),
            handshake: self.handshake,
            first_byte: self.first_byte,
            done: self.done,
            counters: self.end.counters(),
            state: self.end.state(),
        }
    }
}

fn shared(bytes: &Arc<[u8]>) -> Bytes {
    Bytes::from_owner(Arc::clone(bytes))
}

/// Bytes of a stream that wait for earlier ones, by offset.
#[derive(Debug, Default)]
struct Incoming {
    pieces: BTreeMap<u64, Bytes>,
    /// Offset up to which all data was taken.
    taken: u64,
}

impl Incoming {
    /// Takes the next bytes in order.
    fn take(&mut self) -> VecDeque<Bytes> {
        let mut found = VecDeque::new();
        while let Some(bytes) = self.pieces.remove(&self.taken) {
            self.taken += bytes.len() as u64;
            found.push_back(bytes);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{bytes, Shared};
    use bentpipe_units::Stream;

    const PORTS: [u16; 2] = [40_000, 5001];

    fn end(at: usize) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, at as u8 + 1], PORTS[at]))
    }

    /// Lets a client and a server talk over a path of 20 ms that loses, repeats and reorders, for `limit_s` seconds.
    fn talk(hosts: &mut [QuicSpeaker; 2], loss: f64, limit_s: u64) {
        let (mut draws, mut number) = (Stream::new(7, "path", "fate"), 0_u64);
        let mut under_way: BTreeMap<(Time, u64), (usize, Vec<u8>, Ecn)> = BTreeMap::new();
        let mut now = Time::ZERO;
        while now < Time::ZERO + Duration::from_secs(limit_s) {
            for (at, host) in hosts.iter_mut().enumerate() {
                host.handle_wakeup(now);
                host.transmit(now, |to, payload, ecn| {
                    assert_eq!(to, end(1 - at));
                    number += 1;
                    let [fate, delay] = [0, 1].map(|each| draws.uniform(2 * number + each));
                    let copies = if fate < loss { 0 } else { 1 + u64::from(fate > 0.99) };
                    for copy in 0..copies {
                        let arrival = now + Duration::from_secs_f64(0.02 + 0.005 * delay + 0.003 * copy as f64);
                        under_way.insert((arrival, 2 * number + copy), (1 - at, payload.to_vec(), ecn));
                    }
                });
            }
            let next = under_way.first_key_value().map_or(Time::NEVER, |(&(at, _), _)| at);
            let wakeup = hosts.iter().map(QuicSpeaker::next_wakeup).min().unwrap();
            if next.min(wakeup) == Time::NEVER {
                return;
            }
            now = next.min(wakeup).max(now);
            while let Some(first) = under_way.first_entry().filter(|first| first.key().0 <= now) {
                let (at, payload, ecn) = first.remove();
                hosts[at].handle(now, end(1 - at), &payload, ecn).unwrap();
            }
        }
    }

    fn pair(services: [Service; 2]) -> [QuicSpeaker; 2] {
        let clock = Clock::new();
        let mut is_listening = false;
        services.map(|service| {
            let host = QuicSpeaker::new(Quic::default(), clock, service, is_listening, 5);
            is_listening = true;
            host
        })
    }

    #[test]
    fn each_byte_arrives_through_loss_reordering_and_duplication() {
        let sent = bytes(1_000_000);
        for loss in [0.0, 0.02, 0.1] {
            for is_upload in [true, false] {
                let taken = Shared::default();
                let mut services = [Service::Send(sent.clone()), Service::Take(Box::new(taken.clone()))];
                if !is_upload {
                    services.reverse();
                }
                let mut hosts = pair(services);
                hosts[0].connect(Time::ZERO, end(1), "GET /\r\n").unwrap();
                talk(&mut hosts, loss, 120);
                assert!(*taken.0.lock().unwrap() == *sent, "{loss} {is_upload}: {}", taken.0.lock().unwrap().len());
                let reports = hosts.map(|host| host.reports().next().unwrap());
                let sender = &reports[usize::from(!is_upload)];
                assert_eq!(sender.counters.acked_bytes, 1_000_000);
                assert!(reports.iter().all(|report| report.is_closed && report.failure.is_none()), "{reports:?}");
                assert!(sender.counters.declared_lost > 0 || loss == 0.0);
            }
        }
    }

    #[test]
    fn echoed_bytes_come_back() {
        let sent = bytes(300_000);
        // Its own data, and the answer is what it reads.
        let mut hosts = pair([Service::Send(sent.clone()), Service::Echo]);
        hosts[0].connect(Time::ZERO, end(1), "").unwrap();
        talk(&mut hosts, 0.02, 60);
        let [client, server] = hosts.map(|host| host.reports().next().unwrap());
        assert_eq!((client.counters.acked_bytes, server.counters.read_bytes), (300_000, 300_000));
    }

    #[test]
    fn strangers_get_no_connection_and_any_bytes_are_survived() {
        let mut hosts = pair([Service::Bulk, Service::Bulk]);
        let mut draws = Stream::new(1, "wire", "bytes");
        for number in 0..20_000_u64 {
            let len = draws.below(3 * number, 1300);
            let payload: Vec<u8> = (0..len).map(|at| draws.at(number * 2000 + at) as u8).collect();
            let now = Time::ZERO + Duration::from_millis(number);
            hosts[1].handle(now, end(0), &payload, Ecn::NotEct).unwrap();
            hosts[1].transmit(now, |_, _, _| {});
        }
        assert_eq!(hosts[1].reports().count(), 0);
        // A host that does not listen keeps nothing.
        hosts[0].handle(Time::ZERO, end(1), &[0xc0; 1200], Ecn::NotEct).unwrap();
        assert_eq!(hosts[0].next_wakeup(), Time::NEVER);
    }
}

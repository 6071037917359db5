//! One end of a connection: drives the stack, quinn-proto, in virtual time.
//!
//! A datagram is taken from the stack at a time, so that its pacing spaces datagrams. A pace that the congestion control
//! sets is applied here, before the stack makes a datagram. The stack's own pacing knows 1.25 windows per round trip only.
//!
//! Applications of the simulator move counts of bytes, and streams carry zeros. On the wire streams carry bytes.

use crate::clock::Clock;
use crate::content::{Reads, Sending};
use crate::fates::Fates;
use crate::gate::Gate;
use crate::migration::{address, Migration};
use crate::qlog::{Log, Output};
use crate::setup::{self, Crypto};
use crate::tap::Shared;
use bentpipe_cc::{PathLesson, SavedPath};
use bentpipe_model::spec::{Quic, QuicRead, QuicSendOrder};
use bentpipe_model::stack::{
    Engine, EngineCounters, EngineEvent, EngineState, Engines, Seed, SentDatagram, StreamNo, DATAGRAM_MIN,
};
use bentpipe_units::{Duration, Ecn, Time};
use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, Event,
    ReadError, Side, StreamEvent, StreamId, VarInt,
};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Source in front of the payload: it stands for the address in the headers of IP and UDP. A datagram to a former address of
/// the client still arrives: the links of a path decide what a handover loses.
pub(crate) const SOURCE: usize = 2;

/// One end of a QUIC connection.
pub struct QuicEnd {
    clock: Clock,
    endpoint: Endpoint,
    pub(crate) connection: Option<(ConnectionHandle, Connection)>,
    /// Whether the connection is over, and the endpoint has forgotten it (RFC 9000 §10.2).
    is_drained: bool,
    /// Settings of an opener that has not connected yet.
    client: Option<ClientConfig>,
    pub(crate) side: Side,
    pub(crate) facts: Shared,
    read: QuicRead,
    send_order: QuicSendOrder,
    ecn: bool,
    /// Number of the address that the peer last sent from.
    peer: u16,
    /// Datagrams that the endpoint answers with, outside a connection.
    answers: VecDeque<Vec<u8>>,
    /// Whether the server validates addresses before the handshake.
    retry: bool,
    /// The own address, and its changes.
    migration: Migration,
    events: VecDeque<EngineEvent>,
    pub(crate) sends: BTreeMap<StreamNo, Sending>,
    pub(crate) reads: Reads,
    streams: StreamCounts,
    /// Unreliable datagrams of the application so far.
    datagrams: u32,
    /// The pace of the congestion control.
    gate: Gate,
    wakeup: Time,
    pub(crate) counters: EngineCounters,
    /// Fates of the own packets. On the wire none is known.
    pub(crate) fates: Fates,
    scratch: Vec<u8>,
    /// Whether the client sends early data.
    has_early_data: bool,
}

/// Streams that are numbered, and those that the stack has opened.
#[derive(Clone, Copy, Debug, Default)]
struct StreamCounts {
    numbered: u64,
    opened: u64,
}

/// Returns the stack for scenarios.
pub fn engines() -> Engines {
    Engines::new(|quic, seed, saved| pair(quic, seed, saved).map(|end| Box::new(end) as Box<dyn Engine>))
}

/// Returns the stack for scenarios, with a qlog for each end. `output` gets the flow as a component, the number of the connection in
/// it, and the side: `client` or `server`.
pub fn logged_engines(output: impl Fn(&str, u64, &str) -> Output + Send + Sync + 'static) -> Engines {
    Engines::new(move |quic, seed, saved| {
        let log = |side: Side| {
            let out = output(seed.flow, seed.ordinal, if side.is_client() { "client" } else { "server" });
            Some(Log::new(out, seed.flow, seed.ordinal, side.is_client()))
        };
        logged_pair(quic, seed, saved, log).map(|end| Box::new(end) as Box<dyn Engine>)
    })
}

/// Makes both ends of a connection: the opener first. `saved`: the path from each end that an earlier connection saved.
pub fn pair(quic: &Quic, seed: Seed<'_>, saved: [Option<SavedPath>; 2]) -> [QuicEnd; 2] {
    logged_pair(quic, seed, saved, |_| None)
}

fn logged_pair(
    quic: &Quic,
    seed: Seed<'_>,
    saved: [Option<SavedPath>; 2],
    log: impl Fn(Side) -> Option<Log>,
) -> [QuicEnd; 2] {
    let clock = Clock::new();
    let fates: [Fates; 2] = Default::default();
    [Side::Client, Side::Server].map(|side| {
        let facts = Shared::default();
        facts.lock().log = log(side);
        let fates = [side, !side].map(|side| fates[side as usize].clone());
        let mut end = QuicEnd::new(
            quic,
            Crypto::null(quic.handshake, fates.clone()),
            seed,
            side,
            saved[side as usize],
            clock,
            facts,
        );
        let [own, _] = fates;
        end.fates = own;
        end
    })
}

impl QuicEnd {
    pub(crate) fn new(
        quic: &Quic,
        crypto: Crypto,
        seed: Seed<'_>,
        side: Side,
        saved: Option<SavedPath>,
        clock: Clock,
        facts: Shared,
    ) -> Self {
        let (endpoint, client) = setup::endpoint(quic, crypto, seed, side, saved, &facts, clock);
        Self {
            retry: quic.handshake.retry,
            migration: Migration::new(&quic.migration, side),
            clock,
            endpoint,
            connection: None,
            is_drained: false,
            client,
            side,
            facts,
            read: quic.read,
            send_order: quic.send_order,
            ecn: quic.ecn,
            peer: (!side) as u16,
            answers: VecDeque::new(),
            events: VecDeque::new(),
            sends: BTreeMap::new(),
            reads: Reads::default(),
            streams: StreamCounts::default(),
            datagrams: 0,
            gate: Gate::default(),
            wakeup: Time::NEVER,
            counters: EngineCounters::default(),
            fates: Fates::default(),
            scratch: Vec::new(),
            has_early_data: false,
        }
    }

    /// Processes a datagram from the address with this number.
    pub(crate) fn take_datagram(&mut self, now: Time, source: u16, payload: &[u8], ecn: Ecn) {
        self.counters.received_datagrams += 1;
        self.counters.received_bytes += payload.len() as u64;
        self.accept(now, source, payload, ecn);
        self.log_packets(now, payload);
        self.pump(now);
    }

    /// Passes a datagram on to the connection, or makes the connection of the first one.
    fn accept(&mut self, now: Time, source: u16, payload: &[u8], ecn: Ecn) {
        self.peer = source;
        let codepoint = EcnCodepoint::from_bits(ecn.bits());
        let instant = self.clock.instant(now);
        self.scratch.clear();
        let from = address(source);
        let data = BytesMut::from(payload);
        match self.endpoint.handle(instant, from, None, codepoint, data, &mut self.scratch) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => match &mut self.connection {
                Some((own, connection)) if *own == handle => connection.handle_event(event),
                _ => self.counters.unreadable += 1,
            },
            Some(DatagramEvent::NewConnection(incoming)) => {
                if self.connection.is_some() {
                    self.endpoint.ignore(incoming);
                    self.counters.unreadable += 1;
                    return;
                }
                if self.retry && !incoming.remote_address_validated() {
                    if let Ok(transmit) = self.endpoint.retry(incoming, &mut self.scratch) {
                        self.answers.push_back(self.scratch[..transmit.size].to_vec());
                    }
                    return;
                }
                match self.endpoint.accept(incoming, instant, &mut self.scratch, None) {
                    Ok(made) => self.connection = Some(made),
                    Err(error) => {
                        if let Some(transmit) = error.response {
                            self.answers.push_back(self.scratch[..transmit.size].to_vec());
                        }
                        self.events.push_back(EngineEvent::Failed(error.cause.to_string()));
                    }
                }
            }
            Some(DatagramEvent::Response(transmit)) => {
                self.answers.push_back(self.scratch[..transmit.size].to_vec());
            }
            None => self.counters.unreadable += 1,
        }
    }

    /// Carries events between connection, endpoint and application, until there are no more.
    fn pump(&mut self, now: Time) {
        self.count_losses();
        loop {
            self.open_streams();
            self.write_streams();
            let Some((handle, connection)) = &mut self.connection else { break };
            let event = connection.poll();
            let mut is_done = event.is_none();
            while let Some(event) = connection.poll_endpoint_events() {
                is_done = false;
                if self.is_drained {
                    // The endpoint has forgotten the connection.
                    continue;
                }
                self.is_drained = event.is_drained();
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            if let Some(event) = event {
                self.log_event(now, &event);
                self.on_event(event);
            }
            if is_done {
                break;
            }
        }
        self.log_packets(now, &[]);
        self.log(|log, state| log.on_metrics(now, state));
        self.rearm(now);
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Connected => {
                self.repeat_early_data();
                self.events.push_back(EngineEvent::Established);
            }
            Event::ConnectionLost { reason } => {
                self.counters.idle_timeouts += u64::from(matches!(reason, ConnectionError::TimedOut));
                self.events.push_back(EngineEvent::Failed(reason.to_string()));
            }
            Event::Stream(StreamEvent::Opened { dir }) => self.accept_streams(dir),
            Event::Stream(StreamEvent::Readable { id }) => self.read_stream(id),
            Event::Stream(StreamEvent::Finished { id }) => {
                if let Some(sending) = self.sends.remove(&id.into()) {
                    self.counters.acked_bytes += sending.taken;
                    self.events.push_back(EngineEvent::Acked(id.into()));
                }
            }
            // The next turn of the pump opens, or writes.
            Event::Stream(
                StreamEvent::Available { .. } | StreamEvent::Writable { .. } | StreamEvent::Stopped { .. },
            )
            | Event::HandshakeDataReady
            | Event::DatagramsUnblocked => {}
            Event::DatagramReceived => self.read_datagrams(),
        }
    }

    /// Retransmits early data that the server has refused: the stack has forgotten its streams.
    fn repeat_early_data(&mut self) {
        let Some((_, connection)) = &mut self.connection else { return };
        if self.side.is_server() || !self.has_early_data || connection.accepted_0rtt() {
            return;
        }
        self.fates.on_refused();
        self.streams.opened = 0;
        for sending in self.sends.values_mut() {
            (sending.taken, sending.is_finished) = (0, false);
        }
    }

    /// Changes the address of the client where that is due. The server sees it with the next datagram.
    fn migrate(&mut self, now: Time) {
        while self.may_migrate() && self.migration.take_due(now) {
            if self.migration.change() && !self.is_drained {
                if let Some((_, connection)) = &mut self.connection {
                    connection.local_address_changed();
                }
            }
        }
    }

    /// Whether the client may change its address: before it connects, and after the handshake is confirmed, not in between
    /// (RFC 9000 §9; RFC 9001 §4.1.2).
    fn may_migrate(&self) -> bool {
        self.connection.as_ref().is_none_or(|(_, connection)| connection.stats().frame_rx.handshake_done > 0)
    }

    /// Opens the streams that are numbered, as far as the peer allows.
    fn open_streams(&mut self) {
        let Some((_, connection)) = &mut self.connection else { return };
        while self.streams.opened < self.streams.numbered && connection.streams().open(Dir::Bi).is_some() {
            self.streams.opened += 1;
        }
    }

    fn accept_streams(&mut self, dir: Dir) {
        while let Some(id) = self.connection.as_mut().and_then(|(_, connection)| connection.streams().accept(dir)) {
            self.read_stream(id);
        }
    }

    /// Gives the stack as much data of each stream as its send window takes.
    fn write_streams(&mut self) {
        let Some((_, connection)) = &mut self.connection else { return };
        if connection.is_closed() {
            return;
        }
        let open = StreamId::new(self.side, Dir::Bi, self.streams.opened);
        for (&stream, sending) in &mut self.sends {
            let Some(id) = stream_id(stream, self.side, open) else { continue };
            if self.send_order == QuicSendOrder::InTurn && sending.taken == 0 {
                // RFC 9218 §10: in the order of the streams. Only a stream that has ended fails, and that has no data.
                let index = i32::try_from(id.index()).unwrap_or(i32::MAX);
                let _ = connection.send_stream(id).set_priority(-index);
            }
            while sending.taken < sending.offered {
                match connection.send_stream(id).write_chunks(&mut [sending.chunk()]) {
                    Ok(written) => sending.advance(written.bytes),
                    Err(_) => break,
                }
            }
            if sending.is_last && !sending.is_finished && sending.taken == sending.offered {
                sending.is_finished = connection.send_stream(id).finish().is_ok();
            }
        }
    }

    fn read_stream(&mut self, id: StreamId) {
        let Some((_, connection)) = &mut self.connection else { return };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(self.read == QuicRead::Ordered) else { return };
        let (mut bytes, number) = (0, StreamNo::from(id));
        let is_last = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    bytes += chunk.bytes.len() as u64;
                    self.reads.keep(number, chunk.offset, chunk.bytes);
                }
                Ok(None) => break true,
                Err(ReadError::Blocked | ReadError::Reset(_)) => break false,
            }
        };
        let _ = chunks.finalize();
        let total = self.reads.count(number, bytes, is_last);
        self.counters.read_bytes += bytes;
        if bytes > 0 || is_last {
            self.events.push_back(EngineEvent::Received { stream: number, bytes: total, is_last });
        }
    }

    fn read_datagrams(&mut self) {
        let Some((_, connection)) = &mut self.connection else { return };
        while let Some(datagram) = connection.datagrams().recv() {
            self.counters.read_bytes += datagram.len() as u64;
            // The peer is an end of this kind, but a test may send other bytes.
            let Some((sent_at, rest)) = datagram.split_first_chunk() else { continue };
            let Some((number, _)) = rest.split_first_chunk() else { continue };
            let sent_at = Time::from_ps(u64::from_be_bytes(*sent_at));
            self.events.push_back(EngineEvent::Datagram { number: u32::from_be_bytes(*number), sent_at });
        }
    }

    /// Sets the wake-up: the earliest timer of the stack, or of the pace.
    fn rearm(&mut self, now: Time) {
        if self.is_drained {
            self.wakeup = Time::NEVER;
            return;
        }
        let timer = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        // A timer of the stack may be in the past.
        self.wakeup = timer.map_or(Time::NEVER, |instant| self.clock.time(instant).max(now));
        self.wakeup = self.wakeup.min(self.gate.opens_after(now).unwrap_or(Time::NEVER));
        let change = self.migration.next();
        if change != Time::NEVER && self.may_migrate() {
            self.wakeup = self.wakeup.min(change.max(now));
        }
    }

    /// Writes source and payload, and returns the payload's length.
    fn write_datagram(&self, payload: &[u8], into: &mut Vec<u8>) -> u16 {
        into.extend(self.migration.own().to_be_bytes());
        into.extend(payload);
        u16::try_from(payload.len()).unwrap_or(u16::MAX)
    }
}

impl Engine for QuicEnd {
    fn handle(&mut self, now: Time, datagram: &[u8], ecn: Ecn) {
        match datagram.split_first_chunk::<SOURCE>() {
            Some((source, payload)) => self.take_datagram(now, u16::from_be_bytes(*source), payload, ecn),
            None => {
                self.counters.received_datagrams += 1;
                self.counters.unreadable += 1;
            }
        }
    }

    fn handle_wakeup(&mut self, now: Time) {
        self.migrate(now);
        let instant = self.clock.instant(now);
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(instant);
        }
        self.pump(now);
    }

    fn poll_transmit(&mut self, now: Time, into: &mut Vec<u8>) -> Option<SentDatagram> {
        let mut ecn = Ecn::NotEct;
        let len = if let Some(answer) = self.answers.pop_front() {
            self.write_datagram(&answer, into)
        } else {
            if self.gate.holds(now) {
                return None;
            }
            let instant = self.clock.instant(now);
            let mut payload = std::mem::take(&mut self.scratch);
            payload.clear();
            let transmit = self.connection.as_mut().and_then(|(_, c)| c.poll_transmit(instant, 1, &mut payload));
            let len = transmit.as_ref().map(|transmit| {
                if self.ecn {
                    ecn = transmit.ecn.map_or(Ecn::NotEct, |ecn| Ecn::from_bits(ecn as u8));
                }
                self.write_datagram(&payload[..transmit.size], into)
            });
            self.scratch = payload;
            let Some(len) = len else {
                self.gate.on_idle();
                self.pump(now);
                return None;
            };
            self.gate.on_sent(now, len, self.facts.lock().pace);
            len
        };
        self.counters.sent_datagrams += 1;
        self.counters.sent_bytes += u64::from(len);
        self.log_packets(now, &into[SOURCE..]);
        self.rearm(now);
        Some(SentDatagram { len, ecn, path: 0, number: self.facts.lock().number })
    }

    fn next_wakeup(&self) -> Time {
        self.wakeup
    }

    fn poll_event(&mut self) -> Option<EngineEvent> {
        self.events.pop_front()
    }

    fn lane_changed(&mut self, _: u8, now: Time) {
        self.migration.follow_handover(now);
        if self.migration.next() <= now {
            self.migrate(now);
            self.pump(now);
        }
    }

    fn connect(&mut self, now: Time) {
        let Some(client) = self.client.take() else { return };
        self.migrate(now);
        let instant = self.clock.instant(now);
        match self.endpoint.connect(instant, client, address(self.peer), "server") {
            Ok(made) => {
                self.has_early_data = made.1.has_0rtt();
                self.connection = Some(made);
            }
            Err(error) => {
                self.events.push_back(EngineEvent::Failed(error.to_string()));
            }
        }
        self.pump(now);
    }

    fn open_stream(&mut self, now: Time) -> StreamNo {
        let id = StreamId::new(self.side, Dir::Bi, self.streams.numbered);
        self.streams.numbered += 1;
        self.pump(now);
        id.into()
    }

    fn write(&mut self, now: Time, stream: StreamNo, bytes: u64, is_last: bool) {
        let sending = self.sends.entry(stream).or_default();
        sending.offered += bytes;
        sending.is_last |= is_last;
        self.counters.offered_bytes += bytes;
        self.pump(now);
    }

    fn send_datagram(&mut self, now: Time, bytes: u16) {
        let mut content = vec![0; bytes.max(DATAGRAM_MIN).into()];
        content[..8].copy_from_slice(&now.as_ps().to_be_bytes());
        content[8..12].copy_from_slice(&self.datagrams.to_be_bytes());
        self.datagrams = self.datagrams.wrapping_add(1);
        self.counters.offered_bytes += content.len() as u64;
        if let Some((_, connection)) = &mut self.connection {
            // The peer counts a refused datagram as missing.
            let _ = connection.datagrams().send(content.into(), true);
        }
        self.pump(now);
    }

    fn close(&mut self, now: Time) {
        let instant = self.clock.instant(now);
        if let Some((_, connection)) = &mut self.connection {
            connection.close(instant, VarInt::from_u32(0), Bytes::new());
        }
        self.pump(now);
    }

    fn counters(&self) -> EngineCounters {
        let reductions = self.facts.lock().reductions;
        let mut counters = EngineCounters { reductions, needless: self.fates.needless(), ..self.counters };
        if let Some((_, connection)) = &self.connection {
            let stats = connection.stats();
            counters.acks = stats.frame_tx.acks;
            counters.path_challenges = stats.frame_tx.path_challenge;
            counters.blocked = stats.frame_tx.data_blocked + stats.frame_tx.stream_data_blocked;
        }
        counters
    }

    fn state(&self) -> EngineState {
        self.facts.lock().state
    }

    fn path_lesson(&self) -> PathLesson {
        self.facts.lock().lesson
    }

    fn take_rtt(&mut self) -> Option<Duration> {
        self.facts.lock().rtts.pop_front()
    }
}

impl fmt::Debug for QuicEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuicEnd").field("side", &self.side).field("wakeup", &self.wakeup).finish_non_exhaustive()
    }
}

/// The identifier of a stream; none while the stack has not opened it. Own streams are open below `open`.
fn stream_id(stream: StreamNo, side: Side, open: StreamId) -> Option<StreamId> {
    let initiator = if stream & 1 == 0 { Side::Client } else { Side::Server };
    let dir = if stream & 2 == 0 { Dir::Bi } else { Dir::Uni };
    let id = StreamId::new(initiator, dir, stream >> 2);
    (initiator != side || id < open).then_some(id)
}

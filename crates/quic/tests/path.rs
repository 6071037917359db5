//! A path of two links: rate, delay, drop-tail queue and random loss each way; and a transfer over it.

use bentpipe_quic::{pair, QuicEnd};
use bentpipe_sim::spec::Quic;
use bentpipe_sim::stack::{Engine, EngineCounters, EngineEvent, Seed, SentDatagram, StreamNo};
use bentpipe_units::{Duration, Ecn, Rate, Stream, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::hash::{DefaultHasher, Hasher};

/// Headers of IPv4 and UDP.
const HEADERS: u64 = 28;

/// A path. Rates and queues: from the opener, and back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) mbps: [f64; 2],
    pub(crate) delay_ms: f64,
    /// Queue in seconds of the rate.
    pub(crate) queue_s: f64,
    pub(crate) loss: [f64; 2],
    pub(crate) seed: u64,
}

impl Path {
    /// A path over GEO: rates towards the client and back, Mbit/s.
    pub(crate) fn geo(down: f64, up: f64) -> Self {
        Self { mbps: [up, down], delay_ms: 300.0, queue_s: 0.6, loss: [0.0; 2], seed: 1 }
    }

    /// Round trip without queues.
    pub(crate) fn rtt(&self) -> Duration {
        Duration::from_secs_f64(2.0 * self.delay_ms / 1e3)
    }

    /// Bandwidth-delay product towards the client, bytes.
    pub(crate) fn bdp(&self) -> u64 {
        (self.mbps[1].max(self.mbps[0]) * 1e6 / 8.0 * 2.0 * self.delay_ms / 1e3) as u64
    }
}

/// One direction.
struct Link {
    rate: Rate,
    delay: Duration,
    limit: u64,
    loss: f64,
    draws: Stream,
    packets: u64,
    free_at: Time,
    /// Departures of the packets that wait or are in transmission, with their bytes.
    queue: VecDeque<(Time, u64)>,
    queued: u64,
    dropped: u64,
}

impl Link {
    /// Returns the time of arrival. None: lost.
    fn offer(&mut self, now: Time, bytes: u64) -> Option<Time> {
        while self.queue.front().is_some_and(|(at, _)| *at <= now) {
            self.queued -= self.queue.pop_front().unwrap().1;
        }
        if self.queued + bytes > self.limit {
            self.dropped += 1;
            return None;
        }
        self.free_at = self.free_at.max(now) + self.rate.time_to_send(bytes);
        self.queue.push_back((self.free_at, bytes));
        self.queued += bytes;
        self.packets += 1;
        let is_lost = self.loss > 0.0 && self.draws.uniform(self.packets) < self.loss;
        self.dropped += u64::from(is_lost);
        (!is_lost).then(|| self.free_at + self.delay)
    }
}

/// A packet in flight: in order of arrival.
type Flight = Reverse<(Time, u64, usize, Vec<u8>, u8)>;

/// Results of a transfer.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub(crate) handshake: f64,
    pub(crate) first_byte: f64,
    pub(crate) done: Option<f64>,
    pub(crate) failed: Option<String>,
    pub(crate) dropped: [u64; 2],
    pub(crate) counters: [EngineCounters; 2],
    pub(crate) packets: u64,
    pub(crate) hash: u64,
}

impl Done {
    /// Seconds until the last byte.
    pub(crate) fn time(&self) -> f64 {
        self.done.unwrap_or_else(|| panic!("{self:?}"))
    }
}

/// Both ends and the path.
pub(crate) struct World {
    pub(crate) ends: [QuicEnd; 2],
    links: [Link; 2],
    flights: BinaryHeap<Flight>,
    pub(crate) now: Time,
    sent: u64,
    hasher: DefaultHasher,
    buffer: Vec<u8>,
    pub(crate) events: VecDeque<(Time, usize, EngineEvent)>,
}

impl World {
    pub(crate) fn new(quic: &Quic, path: Path) -> Self {
        let seed = Seed { run: path.seed, flow: "f", ordinal: 0 };
        Self::between(pair(&quic.clone().over(path.bdp(), path.rtt()), seed, [None; 2]), path)
    }

    /// The path between these ends.
    pub(crate) fn between(ends: [QuicEnd; 2], path: Path) -> Self {
        let link = |side: usize| Link {
            rate: Rate::from_bps((path.mbps[side] * 1e6) as u64),
            delay: Duration::from_secs_f64(path.delay_ms / 1e3),
            limit: ((path.mbps[side] * 1e6 / 8.0 * path.queue_s) as u64).max(3000),
            loss: path.loss[side],
            draws: Stream::new(path.seed, "link", if side == 0 { "up" } else { "down" }),
            packets: 0,
            free_at: Time::ZERO,
            queue: VecDeque::new(),
            queued: 0,
            dropped: 0,
        };
        Self {
            ends,
            links: [link(0), link(1)],
            flights: BinaryHeap::new(),
            now: Time::ZERO,
            sent: 0,
            hasher: DefaultHasher::new(),
            buffer: Vec::new(),
            events: VecDeque::new(),
        }
    }

    /// Takes events, datagrams and wake-up of an end.
    pub(crate) fn settle(&mut self, side: usize) {
        loop {
            while let Some(event) = self.ends[side].poll_event() {
                self.events.push_back((self.now, side, event));
            }
            self.buffer.clear();
            let Some(sent) = self.ends[side].poll_transmit(self.now, &mut self.buffer) else { break };
            self.note(side, sent);
            let arrival = self.links[side].offer(self.now, u64::from(sent.len) + HEADERS);
            self.sent += 1;
            if let Some(at) = arrival {
                let flight = (at, self.sent, 1 - side, self.buffer.clone(), sent.ecn.bits());
                self.flights.push(Reverse(flight));
            }
        }
    }

    fn note(&mut self, side: usize, sent: SentDatagram) {
        self.hasher.write_u64(self.now.as_ps());
        self.hasher.write_usize(side);
        self.hasher.write_u16(sent.len);
        self.hasher.write(&self.buffer);
    }

    /// Advances to the next event, and returns whether an event was left.
    pub(crate) fn step(&mut self) -> bool {
        let arrival = self.flights.peek().map_or(Time::NEVER, |flight| flight.0 .0);
        let wakeups = [0, 1].map(|side| self.ends[side].next_wakeup());
        let at = arrival.min(wakeups[0]).min(wakeups[1]);
        if at == Time::NEVER {
            return false;
        }
        self.now = self.now.max(at);
        if arrival == at {
            let Reverse((_, _, side, bytes, ecn)) = self.flights.pop().unwrap();
            self.ends[side].handle(self.now, &bytes, Ecn::from_bits(ecn));
            self.settle(side);
        } else {
            let side = usize::from(wakeups[0] != at);
            self.ends[side].handle_wakeup(self.now);
            self.settle(side);
        }
        true
    }

    pub(crate) fn dropped(&self) -> [u64; 2] {
        [0, 1].map(|side| self.links[side].dropped)
    }

    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hasher.finish()
    }
}

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The opener asks when it is connected, and the peer answers.
    Download,
    /// The opener asks at once: with early data if the session allows it.
    EarlyDownload,
    /// The opener sends when it is connected.
    Upload,
}

/// Payload of a request.
const REQUEST: u64 = 100;

/// Transfers `bytes` over a path, for at most `limit_s` seconds.
pub(crate) fn transfer(quic: &Quic, path: Path, bytes: u64, way: Way, limit_s: u64) -> Done {
    transfer_in(World::new(quic, path), bytes, way, limit_s)
}

/// Transfers `bytes` between the ends of a world.
pub(crate) fn transfer_in(mut world: World, bytes: u64, way: Way, limit_s: u64) -> Done {
    world.ends[0].connect(Time::ZERO);
    if way == Way::EarlyDownload {
        let stream = world.ends[0].open_stream(Time::ZERO);
        world.ends[0].write(Time::ZERO, stream, REQUEST, true);
    }
    world.settle(0);
    let limit = Time::ZERO + Duration::from_secs(limit_s);
    let (mut handshake, mut first_byte, mut done, mut failed) = (f64::NAN, f64::NAN, None, None);
    let receiver = usize::from(way == Way::Upload);
    while done.is_none() && failed.is_none() {
        while let Some((at, side, event)) = world.events.pop_front() {
            let now = at.as_secs_f64();
            match event {
                EngineEvent::Established if side == 0 => {
                    handshake = now;
                    if way == Way::EarlyDownload {
                        continue;
                    }
                    let stream = world.ends[0].open_stream(at);
                    let size = if way == Way::Upload { bytes } else { REQUEST };
                    world.ends[0].write(at, stream, size, true);
                    world.settle(0);
                }
                EngineEvent::Received { stream, is_last, .. } if side == receiver => {
                    first_byte = first_byte.min(now);
                    if is_last {
                        assert_eq!(world.ends[side].counters().read_bytes, bytes, "stream {stream}");
                        done = Some(now);
                    }
                }
                EngineEvent::Received { stream, is_last: true, .. } => answer(&mut world, at, side, stream, bytes),
                EngineEvent::Failed(reason) => failed = Some(reason),
                _ => {}
            }
        }
        if world.now > limit || (done.is_none() && failed.is_none() && !world.step()) {
            break;
        }
    }
    Done {
        handshake,
        first_byte,
        done,
        failed,
        dropped: world.dropped(),
        counters: [0, 1].map(|side| world.ends[side].counters()),
        packets: world.sent(),
        hash: world.hash(),
    }
}

fn answer(world: &mut World, at: Time, side: usize, stream: StreamNo, bytes: u64) {
    world.ends[side].write(at, stream, bytes, true);
    world.settle(side);
}

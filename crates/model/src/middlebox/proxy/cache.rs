//! A proxy that keeps answers and serves repeated requests itself. It ends connections as `split` does (RFC 3135 §2.4),
//! one towards the client and one towards the origin, the node that has the object.
//!
//! # How it works
//!
//! The cache knows an object by its origin, its number there, and its size. An object of another size is another
//! object. It keeps whole answers up to `room`. The least recently used answer leaves first (LRU), and answers larger
//! than `room` are not kept. An answer is available when its last byte has arrived: a request in the meantime goes to
//! the origin, too. The notes of a run show the requests and bytes that it answered.
//!
//! # Position on the path
//!
//! At any node that both directions of a flow pass, on board (`kind = "processing"`) or at a gateway. It takes
//! connections of flows that request objects of a `catalogue` (`request-response` and `page`), and forwards all others
//! unchanged. Secured connections (`tls_rtts`) are unreadable, and connections with several requests at once are
//! ambiguous: such flows have no catalogue.
//!
//! # When it helps
//!
//! A repeated object comes from the cache. It arrives over the shorter path, and the links behind the cache carry only
//! the opening and closing of a connection. The first request of an object gains as with `split`.
//!
//! # When it hurts
//!
//! As with `split`, an acknowledgement no longer guarantees that the other endpoint has the data (`pep_lost_bytes`).
//! Objects do not expire here, so the cache never fetches an object again, as a real cache would.

use super::splice::{Accept, Carrier, SplitConfig, Tally, LISTENER, OPENER};
use super::split::{Simulated, SimulatedEnds, Split};
use crate::ids::NodeId;
use crate::middlebox::needs::{positive, unless, Unsuitable};
use crate::middlebox::{Context, Middlebox};
use crate::packet::{Packet, Request};
use bentpipe_tcp::{Config, Connection, Segment};
use bentpipe_units::settings::Bytes;
use bentpipe_units::{settings, Duration, Time};
use std::collections::{BTreeMap, VecDeque};

settings! {
    /// A cache.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CacheConfig {
        /// Size of the storage for answers.
        room: u64 as Bytes = 1_000_000_000;
        /// Buffer for each direction of a connection until the other endpoint has acknowledged the data.
        buffer: u64 as Bytes = 6_291_456, "Linux: the largest tcp_rmem";
        /// Connections at the same time. The SYN of a further connection is dropped.
        sessions: u32 = 100_000, [1, 1_000_000];
        /// Time without a packet after which the state of a connection is discarded.
        idle: Duration = Duration::from_secs(7440), "RFC 5382 §5";
        /// Transport towards the client. Missing keys are those of `[tcp]`.
        opener: Config = Config::default();
        /// Transport towards the origin. Missing keys are those of `[tcp]`.
        listener: Config = Config::default();
    }
}

impl CacheConfig {
    pub(in crate::middlebox) fn unsuitable(&self) -> Vec<Unsuitable> {
        let room = unless(self.room > 0, "room", "is too small", "expected more than 0 B, or { kind = \"split\" }");
        [positive("idle", self.idle), room].concat()
    }

    /// Returns the settings of its proxy.
    pub fn split(&self) -> SplitConfig {
        let Self { buffer, sessions, idle, opener, listener, .. } = self.clone();
        let accept = Accept::Early;
        SplitConfig { accept, buffer, sessions, half_open: sessions, idle, fails_at: None, opener, listener }
    }
}

/// A cache at a node.
#[derive(Debug)]
pub struct Cache(Split<Asking>);

impl Cache {
    pub(crate) fn new(config: &CacheConfig, seed: u64, component: &str) -> Self {
        Self(Split::with(&config.split(), Store::new(config), seed, component))
    }
}

impl Middlebox for Cache {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        self.0.on_packet(packet, cx);
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        self.0.on_wakeup(cx);
    }

    fn flows(&self) -> usize {
        self.0.flows()
    }

    fn next_wakeup(&self) -> Time {
        self.0.next_wakeup()
    }

    fn lost_bytes(&self) -> u64 {
        self.0.lost_bytes()
    }

    fn note(&self) -> Option<String> {
        self.0.sessions.common.note()
    }
}

/// Both connections of a cached flow, with its requests and answers.
#[derive(Debug)]
pub(super) struct Asking {
    ends: Simulated,
    /// Offset up to which the client's bytes go to the origin.
    relayed: u64,
    /// The answer under way, and the bytes that are still missing.
    fetching: Option<(Request, u64)>,
    /// Bytes given to the client and not acknowledged yet, in order, and whether they came from the origin.
    given: VecDeque<(bool, u64)>,
    /// Bytes that the client has acknowledged.
    acked: u64,
    /// Bytes of requests that the cache answered.
    unseen: u64,
}

impl SimulatedEnds for Asking {
    fn of(syn: Packet) -> Self {
        let (fetching, given) = (None, VecDeque::new());
        Self { ends: Simulated(syn), relayed: 0, fetching, given, acked: 0, unseen: 0 }
    }

    /// Whether a connection requests named objects.
    fn takes(syn: &Packet, cx: &Context<'_>) -> bool {
        cx.request(syn).is_some()
    }
}

impl Carrier for Asking {
    type Common = Store;

    fn send(&mut self, side: usize, segment: &Segment, offset: u64, cx: &mut Context<'_>) {
        self.ends.send(side, segment, offset, cx);
    }

    fn hand_over(
        &mut self,
        side: usize,
        sides: &mut [Connection; 2],
        tally: &mut Tally,
        store: &mut Store,
        cx: &mut Context<'_>,
    ) {
        if side == OPENER {
            self.ask(sides, tally, store, cx);
        } else {
            self.fetch(sides, tally, store);
        }
    }

    fn on_begun(&mut self, cx: &mut Context<'_>) {
        self.ends.on_begun(cx);
    }

    fn on_ended(&mut self, cx: &mut Context<'_>) {
        self.ends.on_ended(cx);
    }
}

impl Asking {
    /// Processes a request of the client: answers it here, or passes it to the origin. A request is read when it is
    /// complete.
    fn ask(&mut self, [near, far]: &mut [Connection; 2], tally: &mut Tally, store: &mut Store, cx: &mut Context<'_>) {
        let (arrived, handed) = (near.counters().delivered_bytes, &mut tally.handed[OPENER]);
        if arrived > self.relayed.max(*handed) {
            match cx.request(&self.ends.0) {
                Some(request) if request.asked > *handed => {
                    let is_complete = arrived >= request.asked;
                    if !is_complete && request.bytes <= store.buffer {
                        // The rest follows.
                    } else if is_complete && *handed >= self.relayed && store.ask(&request) {
                        let bytes = arrived - *handed;
                        near.read(bytes);
                        near.offer(request.size);
                        self.given.push_back((false, request.size));
                        // Neither passed on nor answered.
                        *handed += bytes;
                        tally.acked[OPENER] += bytes;
                        self.unseen += bytes;
                        cx.answered(&self.ends.0);
                    } else {
                        self.relayed = request.asked;
                        self.fetching = Some((request, request.size));
                    }
                }
                _ => self.relayed = arrived,
            }
        }
        let more = arrived.min(self.relayed).saturating_sub(*handed);
        far.offer(more);
        *handed += more;
        let acked = far.acked_bytes() + self.unseen;
        near.read(acked - tally.acked[OPENER]);
        tally.acked[OPENER] = acked;
    }

    /// Passes an answer of the origin to the client, and keeps it when it is complete.
    fn fetch(&mut self, [near, far]: &mut [Connection; 2], tally: &mut Tally, store: &mut Store) {
        let more = far.counters().delivered_bytes - tally.handed[LISTENER];
        near.offer(more);
        tally.handed[LISTENER] += more;
        if more > 0 {
            self.given.push_back((true, more));
        }
        if let Some((request, left)) = &mut self.fetching {
            *left = left.saturating_sub(more);
            if *left == 0 {
                store.keep(request);
                self.fetching = None;
            }
        }
        let mut acked = near.acked_bytes() - self.acked;
        self.acked += acked;
        while let Some((is_relayed, bytes)) = self.given.front_mut().filter(|_| acked > 0) {
            let part = acked.min(*bytes);
            (acked, *bytes) = (acked - part, *bytes - part);
            if *is_relayed {
                far.read(part);
                tally.acked[LISTENER] += part;
            }
            if *bytes == 0 {
                self.given.pop_front();
            }
        }
    }
}

/// An object: its origin, and its number there.
type Object = (NodeId, u64);

/// Stored answers. The least recently used leaves first.
#[derive(Clone, Debug)]
pub(super) struct Store {
    room: u64,
    /// Largest request that it waits for, bytes.
    buffer: u64,
    used: u64,
    /// Size of each object and its last use, in `clock`.
    objects: BTreeMap<Object, (u64, u64)>,
    by_use: BTreeMap<u64, Object>,
    clock: u64,
    asked: Count,
    hits: Count,
}

/// Requests, and the bytes of their answers.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    requests: u64,
    bytes: u64,
}

impl Count {
    fn add(&mut self, bytes: u64) {
        self.requests += 1;
        self.bytes += bytes;
    }
}

impl Store {
    fn new(config: &CacheConfig) -> Self {
        let (objects, by_use) = (BTreeMap::new(), BTreeMap::new());
        let (asked, hits) = (Count::default(), Count::default());
        Self { room: config.room, buffer: config.buffer, used: 0, objects, by_use, clock: 0, asked, hits }
    }

    /// Processes a request. Returns whether the object is here.
    fn ask(&mut self, request: &Request) -> bool {
        self.asked.add(request.size);
        let is_here = self.objects.get(&request.object).is_some_and(|(size, _)| *size == request.size);
        if is_here {
            self.hits.add(request.size);
            self.touch(request.object, request.size);
        }
        is_here
    }

    /// Stores a complete answer.
    fn keep(&mut self, request: &Request) {
        if request.size > self.room {
            return;
        }
        self.touch(request.object, request.size);
        while self.used > self.room {
            let Some((_, oldest)) = self.by_use.pop_first() else { break };
            self.used -= self.objects.remove(&oldest).map_or(0, |(size, _)| size);
        }
    }

    /// Marks an object as used last, with this size.
    fn touch(&mut self, object: Object, size: u64) {
        self.clock += 1;
        if let Some((size, used)) = self.objects.insert(object, (size, self.clock)) {
            self.by_use.remove(&used);
            self.used -= size;
        }
        self.by_use.insert(self.clock, object);
        self.used += size;
    }

    fn note(&self) -> Option<String> {
        let Self { asked, hits, .. } = self;
        (asked.requests > 0).then(|| {
            format!(
                "answered {} of {} requests, {:.1} % of the bytes asked for",
                hits.requests,
                asked.requests,
                100.0 * hits.bytes as f64 / asked.bytes as f64
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(number: u64, size: u64) -> Request {
        Request { object: (NodeId::new(0), number), size, bytes: 350, asked: 350 }
    }

    /// Room for three of 100 B: the fourth drives out that which was asked for the longest time ago.
    #[test]
    fn what_was_used_the_longest_time_ago_leaves_first() {
        let mut store = Store::new(&CacheConfig { room: 300, ..CacheConfig::default() });
        let mut get = |number, size| {
            let request = request(number, size);
            let is_here = store.ask(&request);
            if !is_here {
                store.keep(&request);
            }
            is_here
        };
        assert_eq!(
            [1, 2, 3, 1, 4, 1, 3, 2].map(|number| get(number, 100)),
            [false, false, false, true, false, true, true, false]
        );
        assert!(!get(1, 90) && get(1, 90), "of another size it is another one");
        assert!(!get(9, 301) && !get(9, 301) && get(1, 90), "what has no room is not kept");
        let note = store.note().unwrap();
        assert_eq!(note, "answered 5 of 13 requests, 28.7 % of the bytes asked for", "480 of 1672");
    }
}

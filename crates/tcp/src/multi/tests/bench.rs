//! The test bench of multipath connections: two ends, a list of connections at each, over paths with delays, rates, queues and losses.

use crate::multi::{Meta, MultiConfig, MultiEvent, Plan, Subflows};
use crate::{AckPolicy, Config, Connection, Event, InitialWindow, Multipath, Role, RtoConfig, Segment};
use bentpipe_units::{Duration, Seq, Time};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

pub(super) const SMSS: u64 = 1000;
pub(super) const CLIENT: usize = 0;
pub(super) const SERVER: usize = 1;

pub(super) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(super) fn at(ms: u64) -> Time {
    Time::ZERO + self::ms(ms)
}

/// A path, the same in both directions. Only data from the client queue.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// One way.
    pub(super) delay: Duration,
    /// Time that a segment with data occupies it.
    pub(super) segment_time: Duration,
    /// Segments with data that wait.
    pub(super) queue: usize,
    /// Loss rate of segments with data, of 65,536: a segment with a smaller draw is lost.
    pub(super) loss: u64,
    /// Loss rate of all segments without data, of 65,536.
    pub(super) ack_loss: u64,
    /// Outages: a segment that would arrive in such an interval is lost.
    pub(super) down: Vec<(Time, Time)>,
    /// Someone on the path takes the multipath options away, from this time on; with the SYN if that is zero.
    pub(super) strips_from: Time,
    /// Only those of this end.
    pub(super) strips_of: Option<usize>,
    pub(super) free_at: Time,
    pub(super) leaving: VecDeque<Time>,
}

impl Path {
    /// A path without limits.
    pub(super) fn of(delay_ms: u64) -> Self {
        Self {
            delay: ms(delay_ms),
            segment_time: Duration::ZERO,
            queue: usize::MAX,
            loss: 0,
            ack_loss: 0,
            down: Vec::new(),
            strips_from: Time::NEVER,
            strips_of: None,
            free_at: Time::ZERO,
            leaving: VecDeque::new(),
        }
    }

    /// When a segment arrives that leaves now; `None`: lost.
    fn carry(&mut self, now: Time, end: usize, has_data: bool, draw: u64) -> Option<Time> {
        let mut left = now;
        if has_data && end == CLIENT && self.segment_time > Duration::ZERO {
            while self.leaving.front().is_some_and(|&at| at <= now) {
                self.leaving.pop_front();
            }
            if self.leaving.len() > self.queue {
                return None;
            }
            self.free_at = self.free_at.max(now) + self.segment_time;
            self.leaving.push_back(self.free_at);
            left = self.free_at;
        }
        let arrives = left + self.delay;
        let is_down = self.down.iter().any(|&(from, to)| from <= arrives && arrives < to);
        let is_lost = draw < if has_data { self.loss } else { self.ack_loss };
        (!is_lost && !is_down).then_some(arrives)
    }
}

/// One end.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) meta: Meta,
    pub(super) subflows: Vec<Connection>,
    /// Events with their times.
    pub(super) events: Vec<(Time, MultiEvent)>,
}

/// A segment that left an end: time, end, subflow, segment, whether it arrives.
pub(super) type Departure = (Time, usize, usize, Segment, bool);

/// Two ends and their paths.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) now: Time,
    pub(super) ends: [End; 2],
    pub(super) paths: Vec<Path>,
    pub(super) tcp: Config,
    /// Whether the server sends a signal when it is open, so that other subflows may join without data.
    pub(super) confirms: bool,
    /// On the way, by arrival and departure.
    flying: BTreeMap<(Time, u64), (usize, usize, Segment, u32)>,
    /// Connections before the present one, by end and subflow. A segment belongs to the connection with the number of its sender's.
    before: [Vec<u32>; 2],
    /// Segments that arrived for a former connection.
    pub(super) strays: Vec<(Time, usize, Segment)>,
    sent: u64,
    dice: u64,
    /// Kept if asked for.
    pub(super) log: Option<Vec<Departure>>,
}

/// A connection with SACK, full segments of [`SMSS`] bytes with the multipath option, and a timer without granularity.
pub(super) fn tcp() -> Config {
    Config {
        cc: bentpipe_cc::CcKind::Sack.into(),
        recovery: bentpipe_cc::CcKind::Sack.recovery(),
        smss: SMSS as u32 + 20,
        initial_window: InitialWindow::Segments(10),
        ack: AckPolicy { delay: ms(40), ..AckPolicy::default() },
        rto: RtoConfig { granularity: Duration::ZERO, min: ms(200), ..RtoConfig::default() },
        ..Config::default()
    }
}

impl World {
    pub(super) fn new(config: MultiConfig, tcp: &Config, paths: Vec<Path>) -> Self {
        Self::planned(config, tcp, paths.into_iter().map(|path| (path, Plan::default())).collect())
    }

    pub(super) fn planned(config: MultiConfig, tcp: &Config, paths: Vec<(Path, Plan)>) -> Self {
        let (paths, plans): (Vec<_>, Vec<_>) = paths.into_iter().unzip();
        let (tcp, config) = (config.of_subflow(tcp), Arc::new(config));
        let ends = [Role::Active, Role::Passive].map(|role| End {
            meta: Meta::new(Arc::clone(&config), role, &plans),
            subflows: (0..plans.len()).map(|i| fresh(&tcp, role, i)).collect(),
            events: Vec::new(),
        });
        let (flying, now) = (BTreeMap::new(), Time::ZERO);
        let (before, strays) = ([vec![0; plans.len()], vec![0; plans.len()]], Vec::new());
        Self { now, ends, paths, tcp, confirms: true, flying, before, strays, sent: 0, dice: 1, log: None }
    }

    pub(super) fn set_seed(&mut self, seed: u64) {
        self.dice = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    }

    /// Opens both ends.
    pub(super) fn open(&mut self) {
        let now = self.now;
        for end in [SERVER, CLIENT] {
            let End { meta, subflows, .. } = &mut self.ends[end];
            meta.open(now, subflows);
            self.settle(end);
        }
    }

    /// The client offers data.
    pub(super) fn offer(&mut self, bytes: u64) {
        self.ends[CLIENT].meta.offer(bytes);
        self.settle(CLIENT);
    }

    /// An end offers no more.
    pub(super) fn close(&mut self, end: usize) {
        let End { meta, subflows, .. } = &mut self.ends[end];
        meta.close(self.now, subflows);
        self.settle(end);
    }

    /// Something else happens at an end.
    pub(super) fn call(&mut self, end: usize, call: impl FnOnce(&mut Meta, Time, &mut Vec<Connection>)) {
        let now = self.now;
        let End { meta, subflows, .. } = &mut self.ends[end];
        call(meta, now, subflows);
        self.settle(end);
    }

    /// Both ends get a new connection for subflow `i`.
    pub(super) fn replace(&mut self, i: usize) {
        for (end, role) in self.ends.iter_mut().zip([Role::Active, Role::Passive]) {
            end.subflows[i] = fresh(&self.tcp, role, i + 16);
        }
    }

    /// Runs until `until`, or until nothing is left to happen.
    pub(super) fn run_until(&mut self, until: Time) {
        while self.step(until) {}
        self.now = self.now.max(until);
    }

    /// Runs until `bytes` bytes of the client's data are delivered. Returns the time of delivery.
    pub(super) fn run_until_delivered(&mut self, bytes: u64, until: Time) -> Option<Time> {
        while self.delivered() < bytes {
            if !self.step(until) {
                return None;
            }
        }
        Some(self.now)
    }

    pub(super) fn delivered(&self) -> u64 {
        self.ends[SERVER].meta.counters().delivered_bytes
    }

    /// The end at which a segment arrives next, and the segment, if nothing else happens before.
    pub(super) fn next_arrival(&self) -> Option<(usize, Segment)> {
        let wakeup =
            |end: &End| end.subflows.iter().map(Connection::next_wakeup).fold(end.meta.next_wakeup(), Time::min);
        let (key, (end, _, segment, _)) = self.flying.first_key_value()?;
        let is_next = self.ends.iter().all(|end| key.0 <= wakeup(end));
        is_next.then_some((*end, *segment))
    }

    /// The next thing happens, if it does before `until`.
    pub(super) fn step(&mut self, until: Time) -> bool {
        let wakeup =
            |end: &End| end.subflows.iter().map(Connection::next_wakeup).fold(end.meta.next_wakeup(), Time::min);
        let timers = [CLIENT, SERVER].map(|end| wakeup(&self.ends[end]));
        let arrival = self.flying.keys().next().map_or(Time::NEVER, |key| key.0);
        let next = arrival.min(timers[0]).min(timers[1]);
        if next > until || next == Time::NEVER {
            return false;
        }
        self.now = self.now.max(next);
        if arrival == next {
            let Some((_, (end, i, segment, of))) = self.flying.pop_first() else { return false };
            if of > self.before[end][i] && end == SERVER && self.ends[end].meta.is_wanted() {
                self.make_way(i, of);
            }
            if of != self.before[end][i] {
                self.strays.push((self.now, end, segment));
                return true;
            }
            let End { meta, subflows, .. } = &mut self.ends[end];
            meta.handle(self.now, i, &segment, subflows);
            self.drain(end, i);
            self.settle(end);
            return true;
        }
        for end in [CLIENT, SERVER].into_iter().filter(|end| timers[*end] <= next) {
            for i in 0..self.paths.len() {
                if self.ends[end].subflows[i].next_wakeup() <= self.now {
                    self.ends[end].subflows[i].handle_wakeup(self.now);
                    self.drain(end, i);
                    self.settle(end);
                    self.transmit(end, i);
                }
            }
            let End { meta, subflows, .. } = &mut self.ends[end];
            if meta.next_wakeup() <= self.now {
                meta.handle_wakeup(self.now, subflows);
            }
            self.settle(end);
        }
        true
    }

    /// A SYN for subflow `i` arrives at the server from another port: from there on it is connection `of`.
    fn make_way(&mut self, i: usize, of: u32) {
        let now = self.now;
        let End { meta, subflows, .. } = &mut self.ends[SERVER];
        meta.make_way(now, i, subflows);
        self.transmit(SERVER, i);
        self.before[SERVER][i] = of;
        let End { meta, subflows, .. } = &mut self.ends[SERVER];
        subflows[i] = fresh(&self.tcp, Role::Passive, i + 16 * of as usize);
        assert!(meta.await_join(now, i, subflows));
    }

    /// The client joins with subflow `i` over another connection.
    fn rejoin(&mut self, i: usize) {
        self.transmit(CLIENT, i);
        self.before[CLIENT][i] += 1;
        let (now, number) = (self.now, i + 16 * self.before[CLIENT][i] as usize);
        let End { meta, subflows, .. } = &mut self.ends[CLIENT];
        subflows[i] = fresh(&self.tcp, Role::Active, number);
        meta.join(now, i, subflows);
        self.settle(CLIENT);
    }

    /// Everything leaves that may.
    fn settle(&mut self, end: usize) {
        loop {
            let End { meta, subflows, .. } = &mut self.ends[end];
            let Some(i) = meta.next_subflow(self.now, subflows) else { break };
            self.transmit(end, i);
        }
        let now = self.now;
        let End { meta, events, subflows } = &mut self.ends[end];
        let before = events.len();
        events.extend(std::iter::from_fn(|| meta.poll()).map(|event| (now, event)));
        let is_open = events[before..].iter().any(|(_, event)| *event == MultiEvent::Established);
        if end == SERVER && self.confirms && is_open && !meta.fell_back() {
            subflows[0].announce_window();
            self.transmit(end, 0);
        }
        for at in before..self.ends[end].events.len() {
            if let (_, MultiEvent::Rejoins(i)) = self.ends[end].events[at] {
                self.rejoin(i);
            }
        }
    }

    fn transmit(&mut self, end: usize, i: usize) {
        let mut left = Vec::new();
        while self.ends[end].subflows[i].transmit(self.now, &mut |segment: Segment| left.push(segment)).is_some() {}
        for segment in left {
            self.send(end, i, segment);
        }
        self.drain(end, i);
    }

    fn send(&mut self, end: usize, i: usize, segment: Segment) {
        let draw = self.draw();
        let path = &mut self.paths[i];
        let arrives = path.carry(self.now, end, segment.len > 0, draw);
        if let Some(log) = &mut self.log {
            log.push((self.now, end, i, segment, arrives.is_some()));
        }
        self.sent += 1;
        if let Some(arrives) = arrives {
            let is_stripped = self.now >= path.strips_from && path.strips_of.is_none_or(|of| of == end);
            let multi = segment.multi.filter(|_| !is_stripped);
            let arriving = (1 - end, i, Segment { multi, ..segment }, self.before[end][i]);
            self.flying.insert((arrives, self.sent), arriving);
        }
    }

    fn drain(&mut self, end: usize, i: usize) {
        while let Some(event) = self.ends[end].subflows[i].poll() {
            let End { meta, subflows, .. } = &mut self.ends[end];
            meta.on_event(self.now, i, event, subflows);
        }
    }

    /// A draw of 16 bits.
    fn draw(&mut self) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice >> 40 & 0xffff
    }

    /// Payload that subflow `i` of an end had acknowledged.
    pub(super) fn acked(&mut self, end: usize, i: usize) -> u64 {
        self.ends[end].subflows.connection(i).acked_bytes()
    }

    /// The first event of an end for which `is` holds.
    pub(super) fn first(&self, end: usize, is: impl Fn(&MultiEvent) -> bool) -> Option<Time> {
        self.ends[end].events.iter().find(|(_, event)| is(event)).map(|(at, _)| *at)
    }
}

/// A connection that was never open.
pub(super) fn fresh(tcp: &Config, role: Role, i: usize) -> Connection {
    Connection::new(tcp.clone(), role, Seq::new(100_000 * (1 + i as u32) - 7))
}

/// Runs two connections of plain TCP over a path. Returns the segments that left, as in [`World::log`].
pub(super) fn plain(tcp: &Config, path: Path, seed: u64, offered: u64, until: Time) -> Vec<Departure> {
    let mut world = World::new(MultiConfig::default(), tcp, vec![path]);
    world.set_seed(seed);
    let mut ends = [Role::Active, Role::Passive].map(|role| fresh(tcp, role, 0));
    let mut log: Vec<Departure> = Vec::new();
    ends.iter_mut().for_each(|end| end.open(Time::ZERO));
    ends[CLIENT].offer(offered);
    ends[CLIENT].close();
    world.log = Some(Vec::new());
    loop {
        for end in [SERVER, SERVER, CLIENT] {
            let mut left = Vec::new();
            while ends[end].transmit(world.now, &mut |segment: Segment| left.push(segment)).is_some() {}
            left.into_iter().for_each(|segment| world.send(end, 0, segment));
            while let Some(event) = ends[end].poll() {
                if end == SERVER && event == Event::PeerFinished {
                    ends[end].close();
                }
            }
        }
        let timers = [0, 1].map(|end| ends[end].next_wakeup());
        let arrival = world.flying.keys().next().map_or(Time::NEVER, |key| key.0);
        let next = arrival.min(timers[0]).min(timers[1]);
        if next > until {
            break;
        }
        world.now = world.now.max(next);
        if arrival == next {
            let Some((_, (end, _, segment, _))) = world.flying.pop_first() else { break };
            ends[end].handle(world.now, &segment);
        } else {
            (0..2).filter(|end| timers[*end] <= next).for_each(|end| ends[end].handle_wakeup(world.now));
        }
    }
    log.append(world.log.as_mut().unwrap_or(&mut Vec::new()));
    log
}

/// The signal of a segment with a mapping: data offset, bytes.
pub(super) fn mapping(segment: &Segment) -> Option<(u64, u64)> {
    match segment.multi {
        Some(Multipath::Dss(dss)) if dss.len > 0 => Some((dss.dsn.value().into(), dss.len.into())),
        Some(Multipath::Capable) if segment.len > 0 => Some((0, segment.len.into())),
        _ => None,
    }
}

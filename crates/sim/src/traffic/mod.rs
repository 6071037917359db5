//! Who sends: flows, the connections that they open, and both ends of each.
//!
//! A flow is an application that opens one connection or many over its life. Each connection, a *session*, has a slot
//! with two ends; the pool of slots grows when it must. A slot is used again only when its application has left it, both
//! ends are done, and nothing of it is on its way: a late packet can never reach another connection.
//!
//! Like everything that lives in time this is told what happens and then asked what to do, through [`Task`]s. Slots
//! are seen by nobody: names, draws and the order of events depend on the flow and the ordinal of its session only.

mod arrivals;
mod bulk;
mod datagrams;
mod exchange;
mod flow;
mod host;
pub(crate) mod page;
mod send_times;
pub(crate) mod variate;

pub(crate) use flow::{FlowState, Totals};
pub(crate) use host::Host;
pub(crate) use send_times::SendTimes;

use crate::link::Downtime;
use crate::packet::Packet;
use crate::record::{Recorder, Transfer};
use crate::scenario::{App, Flow, Scenario};
use bentpipe_tcp::{Connection, Event, GiveUp, PathCache, Role};
use bentpipe_units::{Duration, Seq, Time};
use flow::Course;
use host::Goal;
use send_times::Stopwatch;
use std::collections::{BTreeMap, VecDeque};

/// More than any run can send.
const ENDLESS: u64 = u64::MAX >> 8;

/// Slots that are looked at before the pool grows.
const LOOKED_AT: usize = 16;

/// See the module.
#[derive(Debug)]
pub(crate) struct Traffic {
    pub(crate) flows: Vec<FlowState>,
    /// Two for each slot: the end that opens (endpoint 2 slot), the other (2 slot + 1).
    pub(crate) hosts: Vec<Host>,
    sessions: Vec<Session>,
    /// Slots that their applications have left, the longest ago first.
    left: VecDeque<usize>,
    tasks: VecDeque<Task>,
    /// Flows that have neither completed nor failed; endless ones count for ever.
    pub(crate) unfinished: usize,
    /// Whether some flow is sure to go on until the run ends.
    pub(crate) is_endless: bool,
    /// Whether slots are used again.
    reuses_slots: bool,
    /// Somebody wants to see rates of delivery.
    measures_rates: bool,
    /// What a node's connections have learnt of the way to another node, for the next ones (RFC 9040, RFC 7413).
    caches: BTreeMap<[usize; 2], PathCache>,
}

/// What the network has to do for the applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// A session begins in this slot: whatever was planned for its ends is void, and both can act.
    Begin(usize),
    /// This end may have something to send.
    Drive(usize),
    /// The timer of this flow has been set.
    Rearm(usize),
    /// This flow sends a datagram with so much payload.
    Send(usize, u16),
}

/// The use of a slot by one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Session {
    pub(crate) flow: usize,
    /// How many sessions its flow had opened before.
    pub(crate) ordinal: u64,
    /// Its application has no more use for it.
    is_left: bool,
    transfer: Current,
    /// Bytes that the end which opened was given to send so far, and the other.
    asked: u64,
    answered: u64,
    page: page::Errand,
}

/// The transfer that a connection is used for.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    index: u64,
    size: u64,
    start: Time,
    received: Option<Time>,
}

impl Traffic {
    /// The flows of `scenario` at the start of time. `first_hop` says where routes begin: number 2 i is that of flow i
    /// there, 2 i + 1 the one back. `reuses_slots`: false to give each session a slot of its own.
    pub(crate) fn new(scenario: &Scenario, seed: u64, first_hop: impl Fn(usize) -> u32, reuses_slots: bool) -> Self {
        let flows = scenario.flows.iter().enumerate();
        let flows = flows.map(|(index, flow)| {
            let first_hops = [2 * index, 2 * index + 1].map(&first_hop);
            FlowState::new(
                flow,
                seed,
                first_hops,
                flow::Path::of(flow, &scenario.links),
                downtime_of(scenario, flow, seed),
            )
        });
        let flows: Vec<FlowState> = flows.collect();
        let mut traffic = Self {
            hosts: Vec::with_capacity(2 * flows.len()),
            sessions: Vec::with_capacity(flows.len()),
            left: VecDeque::new(),
            tasks: VecDeque::new(),
            unfinished: flows.len(),
            is_endless: false,
            reuses_slots,
            measures_rates: scenario.record.series.iter().any(|name| name == "delivery_rate_bps"),
            caches: BTreeMap::new(),
            flows,
        };
        for flow in 0..traffic.flows.len() {
            traffic.set_up(flow);
        }
        traffic
    }

    /// What must be there before the run begins.
    fn set_up(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        if !state.app.is_single() {
            self.is_endless |= state.app.count().is_none();
            state.timer = state.first_wakeup();
            return;
        }
        let (app, start) = (state.app, state.start);
        let slot = self.open(Time::ZERO, flow);
        self.hosts[2 * slot].timer = start;
        if let App::File { size } = app {
            self.hosts[2 * slot].goal = Goal::Acked(size);
            self.hosts[2 * slot + 1].goal = Goal::Received(size);
        }
    }

    /// The session in a slot.
    #[cfg(test)]
    pub(crate) fn session(&self, slot: usize) -> Session {
        self.sessions[slot]
    }

    /// From what the ends of the session in a slot draw their lots.
    pub(crate) fn salts(&mut self, slot: usize) -> [u32; 2] {
        let Session { flow, ordinal, .. } = self.sessions[slot];
        self.flows[flow].salts(ordinal)
    }

    /// A flow has come to its wake-up.
    pub(crate) fn wake_flow(&mut self, now: Time, flow: usize) {
        let state = &mut self.flows[flow];
        state.timer = Time::NEVER;
        state.has_begun = true;
        match state.course {
            Course::Single => {}
            Course::Bulk(_) => self.begin_bulk(now, flow),
            Course::Arrivals(_) => self.begin_arrival(now, flow),
            Course::Exchange(_) => self.begin_exchange(now, flow),
            Course::Page(_) => self.turn_page(now, flow),
            Course::Datagrams(_) => self.send_datagram(now, flow),
        }
    }

    /// The next thing to do.
    pub(crate) fn next_task(&mut self) -> Option<Task> {
        self.tasks.pop_front()
    }

    /// An end has come to its wake-up.
    pub(crate) fn wake_endpoint(&mut self, now: Time, endpoint: usize) {
        let host = &mut self.hosts[endpoint];
        if host.timer <= now {
            host.timer = Time::NEVER;
            self.on_timer(now, endpoint);
        }
        self.hosts[endpoint].conn.handle_wakeup(now);
    }

    /// An end has sent all that it may.
    #[inline]
    pub(crate) fn note_limit(&mut self, now: Time, endpoint: usize) {
        let host = &mut self.hosts[endpoint];
        if let Some(stopwatch) = &mut host.stopwatch {
            if stopwatch.limit != host.conn.send_limit() {
                stopwatch.turn(now, &host.conn, &mut self.flows[host.flow as usize].downtime);
            }
        }
    }

    /// A connection has something to tell.
    pub(crate) fn on_event(&mut self, now: Time, endpoint: usize, event: Event) {
        let is_opener = endpoint % 2 == 0;
        match event {
            // Who has heard all closes too.
            Event::PeerFinished => self.hosts[endpoint].conn.close(),
            Event::Established if is_opener => {
                let state = &self.flows[self.hosts[endpoint].flow as usize];
                self.is_endless |= state.app == App::Greedy && state.configs[0].give_up == GiveUp::Never;
            }
            Event::Aborted(_) if self.hosts[endpoint].sends_data => self.on_abort(now, endpoint / 2),
            _ => {}
        }
    }

    /// What an application waited for at this end has come.
    pub(crate) fn on_goal(&mut self, now: Time, endpoint: usize, recorder: &mut Recorder) {
        let host = &mut self.hosts[endpoint];
        let (flow, slot) = (host.flow as usize, endpoint / 2);
        let goal = std::mem::replace(&mut host.goal, Goal::Nothing);
        let state = &mut self.flows[flow];
        match (&state.course, goal, endpoint % 2 == 0) {
            (_, Goal::Nothing, _) | (Course::Datagrams(_), ..) => {}
            (Course::Single, Goal::Received(_) | Goal::Read(_), _) => state.received = Some(now),
            (Course::Single, Goal::Acked(bytes), _) => {
                if recorder.wants_events {
                    recorder.on_event(now, flow, "completed", bytes);
                }
                state.completed = Some(now);
                // Else it was counted when it failed.
                self.unfinished -= usize::from(!state.has_failed);
            }
            (Course::Bulk(_) | Course::Arrivals(_), Goal::Received(_), _) => {
                self.sessions[slot].transfer.received = Some(now);
            }
            (Course::Bulk(_), ..) => self.end_bulk(now, slot, recorder),
            (Course::Arrivals(_), ..) => self.end_arrival(now, slot, recorder),
            (Course::Exchange(_), _, true) => self.end_exchange(now, slot, recorder),
            (Course::Exchange(_), _, false) => self.hear_request(now, slot),
            (Course::Page(_), _, true) => self.receive_objects(now, slot, recorder),
            (Course::Page(_), _, false) => self.answer_page(slot),
        }
    }

    /// An application acts at one end.
    fn on_timer(&mut self, now: Time, endpoint: usize) {
        let host = &mut self.hosts[endpoint];
        if host.reads_at(now) {
            return;
        }
        let state = &mut self.flows[host.flow as usize];
        match state.app {
            App::Greedy | App::File { .. } => {
                state.has_begun = true;
                match state.app {
                    App::File { size } => {
                        host.conn.offer(size);
                        host.conn.close();
                    }
                    _ => host.conn.offer(ENDLESS),
                }
                host.conn.open(now);
            }
            App::RequestResponse(_) => self.answer(endpoint / 2),
            App::Bulk(_) | App::Arrivals(_) | App::Page(_) | App::Datagrams(_) => {}
        }
    }

    /// A connection has failed, at an end that sends data.
    fn on_abort(&mut self, now: Time, slot: usize) {
        let Session { flow, is_left, .. } = self.sessions[slot];
        let state = &mut self.flows[flow];
        match state.course {
            Course::Single => {
                state.has_failed = true;
                // Else it was counted when it completed.
                self.unfinished -= usize::from(state.completed.is_none());
            }
            _ if is_left => {}
            Course::Bulk(_) => self.fail_bulk(now, slot),
            Course::Arrivals(_) => self.fail_arrival(now, slot),
            Course::Exchange(_) => self.fail_exchange(now, slot),
            Course::Page(_) => self.fail_page(now, slot),
            Course::Datagrams(_) => {}
        }
    }

    /// A transfer begins on a connection.
    fn begin_transfer(&mut self, now: Time, slot: usize, index: u64, size: u64) {
        self.sessions[slot].transfer = Current { index, size, start: now, received: None };
        self.flows[self.sessions[slot].flow].completions_mut().begun += 1;
    }

    /// The transfer of a connection is complete.
    fn end_transfer(&mut self, now: Time, slot: usize, ideal: Option<Duration>, recorder: &mut Recorder) {
        let Session { flow, transfer: Current { index, size, start, received }, .. } = self.sessions[slot];
        let received = received.unwrap_or(now);
        let transfer = Transfer { index, start, size, duration: now - start, received: received - start, ideal };
        let state = &mut self.flows[flow];
        state.received = Some(received);
        state.completions_mut().add(&transfer);
        recorder.on_transfer(now, flow, &transfer);
    }

    /// The end that opens has `bytes` more to send; it opens the connection if it has not yet.
    fn ask(&mut self, now: Time, slot: usize, bytes: u64) {
        self.sessions[slot].asked += bytes;
        let opener = &mut self.hosts[2 * slot].conn;
        opener.offer(bytes);
        opener.open(now);
        self.tasks.push_back(Task::Drive(2 * slot));
    }

    /// The application closes a connection and has no more use for it.
    fn close(&mut self, now: Time, slot: usize) {
        self.hosts[2 * slot].conn.close();
        self.tasks.push_back(Task::Drive(2 * slot));
        self.leave(now, slot);
    }

    /// All transfers of a flow are over.
    fn finish(&mut self, now: Time, flow: usize) {
        let state = &mut self.flows[flow];
        if state.completions_mut().failed == 0 {
            state.completed = Some(now);
        } else {
            state.has_failed = true;
            state.received = None;
        }
        self.unfinished -= 1;
    }

    /// The application of a flow acts after `pause`.
    fn pause(&mut self, now: Time, flow: usize, pause: Duration) {
        self.flows[flow].timer = now + pause;
        self.tasks.push_back(Task::Rearm(flow));
    }

    /// A new connection of `flow`, whose far end listens. Here and nowhere else connections are made.
    fn open(&mut self, now: Time, flow: usize) -> usize {
        let slot = self.free_slot();
        let state = &mut self.flows[flow];
        let session = Session { flow, ordinal: state.opened, ..Session::default() };
        let is_two_way = state.app.is_two_way();
        let seeds = [0, 1].map(|side| state.seeds.at(2 * state.opened + side));
        let ends = state.ends;
        let end = |side: usize, role| {
            let mut conn = Connection::new(state.configs[side].clone(), role, Seq::new(0));
            conn.set_random_seed(seeds[side]);
            if self.measures_rates {
                conn.measure_rates();
            }
            if let Some(cache) = self.caches.get(&[ends[side], ends[1 - side]]) {
                conn.prime(cache, now);
            }
            let reader = state.reader.filter(|_| is_two_way == (side == 0));
            let mut host =
                Host::new(conn, flow as u32, state.first_hops[side], state.class, side == 0 || is_two_way, reader);
            // At the end that answers, where both send.
            host.stopwatch = (is_two_way == (side == 1)).then(Stopwatch::default);
            host
        };
        let [mut opener, mut other] = [end(0, Role::Active), end(1, Role::Passive)];
        other.conn.open(now);
        opener.owner = Packet::owner(flow as u32, session.ordinal);
        other.owner = opener.owner;
        state.opened += 1;
        state.newest = slot;
        if slot == self.sessions.len() {
            self.sessions.push(session);
            self.hosts.extend([opener, other]);
        } else {
            self.sessions[slot] = session;
            self.hosts[2 * slot] = opener;
            self.hosts[2 * slot + 1] = other;
        }
        self.tasks.push_back(Task::Begin(slot));
        slot
    }

    /// The application has no more use for a connection, which has been closed or has failed. Here and nowhere else
    /// connections are given up.
    fn leave(&mut self, now: Time, slot: usize) {
        let state = &mut self.flows[self.sessions[slot].flow];
        for host in &mut self.hosts[2 * slot..2 * slot + 2] {
            // What an end does without an application is nobody's time.
            if let Some(stopwatch) = host.stopwatch.take() {
                state.totals.times += stopwatch.times_until(now, &mut state.downtime);
            }
        }
        if state.remembers() {
            let ends = state.ends;
            for side in [0, 1] {
                let cache = self.caches.entry([ends[side], ends[1 - side]]).or_default();
                self.hosts[2 * slot + side].conn.contribute(cache, now);
            }
        }
        self.sessions[slot].is_left = true;
        self.left.push_back(slot);
    }

    /// A slot in which nothing can happen any more, or a new one.
    fn free_slot(&mut self) -> usize {
        let looked_at = if self.reuses_slots { self.left.len().min(LOOKED_AT) } else { 0 };
        for _ in 0..looked_at {
            let Some(slot) = self.left.pop_front() else { break };
            if self.is_over(slot) {
                self.retire(slot);
                return slot;
            }
            self.left.push_back(slot);
        }
        self.sessions.len()
    }

    /// Whether nothing can come of this session: one end is done, the other waits for it, nothing is on its way.
    fn is_over(&self, slot: usize) -> bool {
        let [opener, other] = [&self.hosts[2 * slot], &self.hosts[2 * slot + 1]];
        opener.has_ended() && other.is_at_rest() && opener.launched == other.landed && other.launched == opener.landed
    }

    /// Adds what a session counted to its flow.
    fn retire(&mut self, slot: usize) {
        let state = &mut self.flows[self.sessions[slot].flow];
        let ends = [&self.hosts[2 * slot], &self.hosts[2 * slot + 1]];
        state.totals.add(self.sessions[slot].ordinal, ends);
        if state.newest == slot {
            state.newest = usize::MAX;
        }
    }

    /// A packet was lost.
    pub(crate) fn on_loss(&mut self, packet: &Packet) {
        if packet.is_datagram() {
            self.on_datagram_loss(packet);
        } else {
            self.hosts[packet.endpoint()].landed += 1;
        }
    }

    /// A packet arrived corrupted at its host, which does not look at it.
    pub(crate) fn on_corrupted(&mut self, packet: &Packet) {
        if !packet.is_datagram() {
            self.hosts[packet.endpoint()].conn.handle_corrupted();
        }
    }

    /// A packet was copied on its way.
    pub(crate) fn on_copy(&mut self, packet: &Packet) {
        if !packet.is_datagram() {
            self.hosts[packet.endpoint() ^ 1].launched += 1;
        }
    }

    /// Whether the time series of its flow are about this end.
    pub(crate) fn is_recorded(&self, endpoint: usize) -> bool {
        let state = &self.flows[self.hosts[endpoint].flow as usize];
        let side = usize::from(state.app.is_two_way());
        endpoint == state.newest.saturating_mul(2).saturating_add(side)
    }

    /// What each flow has counted until `now`, sessions under way included.
    pub(crate) fn totals(&self, now: Time) -> Vec<Totals> {
        let mut totals: Vec<_> = self.flows.iter().map(|flow| (flow.totals.clone(), flow.downtime.clone())).collect();
        for (session, ends) in self.sessions.iter().zip(self.hosts.chunks_exact(2)) {
            let (totals, path) = &mut totals[session.flow];
            totals.add(session.ordinal, [&ends[0], &ends[1]]);
            for stopwatch in ends.iter().filter_map(|host| host.stopwatch.as_ref()) {
                totals.times += stopwatch.times_until(now, path);
            }
        }
        totals.into_iter().map(|(totals, _)| totals).collect()
    }

    /// Payload bytes that each flow has delivered so far.
    pub(crate) fn delivered_bytes(&self) -> Vec<u64> {
        let mut bytes: Vec<u64> = self.flows.iter().map(|flow| flow.totals.delivered_bytes()).collect();
        for host in &self.hosts {
            bytes[host.flow as usize] += host.conn.counters().delivered_bytes;
        }
        bytes
    }
}

/// How long the path of a flow is down.
fn downtime_of(scenario: &Scenario, flow: &Flow, seed: u64) -> Downtime {
    let links = flow.route.iter().chain(&flow.reverse_route).map(|&link| &scenario.links[link]);
    Downtime::of(links, seed, Time::ZERO + scenario.duration)
}

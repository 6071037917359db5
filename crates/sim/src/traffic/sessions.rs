//! The pool of sessions, and the part of it that an application uses.
//!
//! A session has a slot with two endpoints. A slot is reused after its application has released it, if neither endpoint
//! can act and no packet is in flight: a late packet cannot reach another connection.

use super::flow::FlowState;
use super::host::{AppWait, Host, Hosts};
use crate::ids::{EndpointId, FlowId, NodeId, PathId};
use crate::packet::{Origin, Packet, Request};
use crate::record::{Recorder, Transfer};
use bentpipe_tcp::{Connection, Notice, PathCache, Role};
use bentpipe_units::{Duration, Seq, Time};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Slots that are tried before the pool grows.
const SLOTS_TRIED: usize = 16;

/// Request that an application has for the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// A session begins in this slot: earlier wake-ups of its endpoints are cancelled, and both can act.
    Begin(usize),
    /// This endpoint may have data to send.
    Drive(EndpointId),
    /// The timer of this flow has changed.
    Rearm(FlowId),
    /// A datagram with this many payload bytes leaves on this path. It is of this instant: an answer is of its probe's.
    Send(PathId, u16, Time),
    /// A packet that was given to this flow's port enters.
    Enter(FlowId),
}

/// Use of a slot by one connection.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) flow: FlowId,
    /// Earlier sessions of its flow, count.
    pub(crate) ordinal: u64,
    /// Whether its application has left it.
    pub(super) is_released: bool,
    pub(super) transfer: TransferUnderWay,
    /// Bytes that the opener was given to send.
    pub(super) asked: u64,
    /// Bytes that the listener, or a middlebox in its place, was given to send.
    pub(super) answered: u64,
    /// Bytes of requests that a middlebox has answered: the listener does not receive them.
    pub(super) unseen: u64,
    /// The last request, if it names an object.
    pub(super) request: Option<Box<Request>>,
}

/// Transfer that a connection carries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TransferUnderWay {
    pub(super) index: u64,
    pub(super) size: u64,
    pub(super) start: Time,
    /// Instant when the last byte was received, if that was before it was acknowledged.
    pub(super) received: Option<Time>,
    /// Instant when the last byte was acknowledged, if that was before it was received.
    pub(super) acked: Option<Time>,
}

/// State that the sessions of all flows share.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    /// Sessions by slot.
    pub(super) sessions: Vec<Session>,
    /// Slots that their applications have released, the oldest first.
    released: VecDeque<usize>,
    pub(super) tasks: VecDeque<Task>,
    /// Whether tasks are carried out now.
    pub(super) is_at_tasks: bool,
    /// Flows that have neither completed nor failed, endless flows included.
    pub(super) unfinished: usize,
    /// Whether slots are reused.
    reuses_slots: bool,
    /// Whether connections measure delivery rates.
    measures_rates: bool,
    /// Knowledge of the path from a node to another node, for later connections (RFC 9040, RFC 7413, RFC 1644).
    pub(super) caches: BTreeMap<[NodeId; 2], PathCache>,
    /// Connection count of the latest endpoint: one counter serves all hosts (RFC 1644 §2.1).
    counts: u32,
}

impl Pool {
    pub(super) fn new(flows: usize, reuses_slots: bool, measures_rates: bool) -> Self {
        Self {
            sessions: Vec::with_capacity(flows),
            released: VecDeque::new(),
            tasks: VecDeque::new(),
            is_at_tasks: false,
            unfinished: flows,
            reuses_slots,
            measures_rates,
            caches: BTreeMap::new(),
            counts: 1,
        }
    }
}

/// The sessions of one flow, as its application uses them at an instant.
pub(super) struct FlowSessions<'a> {
    pub(super) now: Time,
    pub(super) id: FlowId,
    pub(super) flows: &'a mut [FlowState],
    pub(super) hosts: &'a mut Hosts,
    pub(super) pool: &'a mut Pool,
}

impl FlowSessions<'_> {
    pub(super) fn flow(&mut self) -> &mut FlowState {
        &mut self.flows[self.id]
    }

    /// Opens a connection, whose far end listens. The only place that creates connections.
    pub(super) fn open(&mut self) -> usize {
        let slot = self.free_slot();
        let Self { now, id, flows, hosts, pool } = self;
        let flow = &mut flows[*id];
        let session = Session::new(*id, flow.opened);
        let is_two_way = flow.app.is_two_way();
        let seeds = flow.seeds(flow.opened);
        let ends = flow.ends;
        let owner = Packet::owner(*id, session.ordinal);
        let counts = [1, 2].map(|n| pool.counts.wrapping_add(n));
        pool.counts = counts[1];
        let end = |endpoint: EndpointId, role| {
            let side = endpoint.side();
            let mut conn = Connection::new(Arc::clone(&flow.config), role, Seq::new(0));
            let [retransmission, delayed_ack] = flow.clocks[side];
            conn.set_clocks(retransmission, delayed_ack);
            conn.set_random_seed(seeds[side]);
            conn.set_count(counts[side]);
            if pool.measures_rates {
                conn.measure_rates();
            }
            if let Some(cache) = pool.caches.get(&[ends[side], ends[1 - side]]) {
                conn.prime(cache, *now);
            }
            let reader = flow.reader.as_deref().filter(|_| is_two_way == (side == 0)).copied();
            let origin = Origin { endpoint, owner, first_hop: flow.first_hops[side], class: flow.class };
            let mut host = Host::new(conn, *id, origin, endpoint.is_opener() || is_two_way, reader);
            // If both ends send, the times of a flow are those of the end that answers.
            host.stopwatch = (is_two_way == (side == 1)).then(Box::default);
            host
        };
        let opener = end(EndpointId::opener(slot), Role::Active);
        let mut listener = end(EndpointId::listener(slot), Role::Passive);
        listener.conn.open(*now);
        flow.opened += 1;
        flow.newest = Some(EndpointId::opener(slot));
        if slot == pool.sessions.len() {
            pool.sessions.push(session);
            hosts.push([opener, listener]);
        } else {
            pool.sessions[slot] = session;
            hosts.replace(slot, [opener, listener]);
        }
        pool.tasks.push_back(Task::Begin(slot));
        slot
    }

    /// Leaves a connection that has been closed or has failed. The only place that releases slots.
    pub(super) fn release(&mut self, slot: usize) {
        let Self { now, id, flows, hosts, pool } = self;
        let flow = &mut flows[*id];
        for end in EndpointId::both(slot) {
            let host = &mut hosts[end];
            // The time of an end without an application counts for no cause.
            if let Some(times) = host.times_until(*now, &mut flow.downtime) {
                flow.totals_mut().times += times;
            }
            host.stopwatch = None;
        }
        if flow.remembers() {
            for end in EndpointId::both(slot) {
                let cache = pool.caches.entry(flow.path_from(end)).or_default();
                hosts[end].conn.contribute(cache, *now);
            }
        }
        pool.sessions[slot].is_released = true;
        pool.released.push_back(slot);
    }

    /// Closes and releases a connection.
    pub(super) fn close(&mut self, slot: usize) {
        self.end_data(slot);
        self.pool.tasks.push_back(Task::Drive(EndpointId::opener(slot)));
        self.release(slot);
    }

    /// Ends the data of the opener: its FIN follows the last byte.
    pub(super) fn end_data(&mut self, slot: usize) {
        self.hosts[EndpointId::opener(slot)].conn.close();
    }

    /// Opens the connection of a session from before the run. Notices of the network since then are repeated.
    pub(super) fn connect(&mut self, slot: usize) {
        let end = EndpointId::opener(slot);
        let known = self.pool.caches.get(&self.flows[self.id].path_from(end));
        let conn = &mut self.hosts[end].conn;
        if let Some(rate) = known.and_then(|cache| cache.error_rate) {
            conn.notify(self.now, Notice::ErrorRate(rate));
        }
        conn.open(self.now);
    }

    /// Gives the opener `bytes` more to send. It opens the connection if it is not open.
    pub(super) fn ask(&mut self, slot: usize, bytes: u64) {
        self.pool.sessions[slot].asked += bytes;
        let opener = &mut self.hosts[EndpointId::opener(slot)].conn;
        opener.offer(bytes);
        opener.open(self.now);
        self.pool.tasks.push_back(Task::Drive(EndpointId::opener(slot)));
    }

    /// Gives the listener `bytes` more to send, unless the session is released.
    pub(super) fn answer(&mut self, slot: usize, bytes: u64) {
        let session = &mut self.pool.sessions[slot];
        if !session.is_released {
            session.answered += bytes;
            self.hosts[EndpointId::listener(slot)].conn.offer(bytes);
            self.pool.tasks.push_back(Task::Drive(EndpointId::listener(slot)));
        }
    }

    /// Names the object of the last request: its number, the bytes of the request, the size of the object.
    pub(super) fn name_request(&mut self, slot: usize, [object, bytes, size]: [u64; 3]) {
        let object = (self.flows[self.id].ends[1], object);
        let session = &mut self.pool.sessions[slot];
        session.request = Some(Box::new(Request { object, size, bytes, asked: session.asked }));
    }

    pub(super) fn session(&self, slot: usize) -> &Session {
        &self.pool.sessions[slot]
    }

    /// Sets the wait of the opener and that of the listener.
    pub(super) fn wait(&mut self, slot: usize, [opener, listener]: [AppWait; 2]) {
        self.hosts[EndpointId::opener(slot)].awaits = opener;
        self.wait_at_listener(slot, listener);
    }

    /// Sets both waits. An endpoint with a wait that is over already acts at this instant, too: its data may have
    /// arrived together with that of the wait before.
    pub(super) fn wait_for_next(&mut self, slot: usize, waits: [AppWait; 2]) {
        self.wait(slot, waits);
        for end in EndpointId::both(slot) {
            if self.hosts[end].is_wait_over() {
                self.pool.tasks.push_back(Task::Drive(end));
            }
        }
    }

    pub(super) fn wait_at_listener(&mut self, slot: usize, wait: AppWait) {
        self.hosts[EndpointId::listener(slot)].awaits = wait;
    }

    /// Whether the opener waits for nothing.
    pub(super) fn is_idle(&self, slot: usize) -> bool {
        self.hosts[EndpointId::opener(slot)].awaits == AppWait::Nothing
    }

    /// Sets the timer of the flow.
    pub(super) fn wake_at(&mut self, at: Time) {
        self.flow().timer = at;
    }

    /// Wakes the flow after `pause`.
    pub(super) fn pause(&mut self, pause: Duration) {
        self.wake_at(self.now + pause);
        self.pool.tasks.push_back(Task::Rearm(self.id));
    }

    /// Begins a transfer on a connection.
    pub(super) fn begin_transfer(&mut self, slot: usize, index: u64, size: u64) {
        let start = self.now;
        self.pool.sessions[slot].transfer = TransferUnderWay { index, size, start, ..TransferUnderWay::default() };
        self.flow().completions_mut().begun += 1;
    }

    /// Whether a transfer is both received and acknowledged, now that the wait of one endpoint is over.
    pub(super) fn is_transfer_over(&mut self, slot: usize, goal: AppWait) -> bool {
        let is_on_the_way = self.is_on_the_way(slot);
        let transfer = &mut self.pool.sessions[slot].transfer;
        match goal {
            AppWait::Received(_) if transfer.acked.is_none() => transfer.received = Some(self.now),
            AppWait::Acked(_) if is_on_the_way => transfer.acked = Some(self.now),
            _ => return true,
        }
        false
    }

    /// Whether the listener still waits for data. A proxy may have acknowledged it.
    pub(super) fn is_on_the_way(&self, slot: usize) -> bool {
        matches!(self.hosts[EndpointId::listener(slot)].awaits, AppWait::Received(_))
    }

    /// Records the transfer of a connection, which is complete.
    pub(super) fn end_transfer(&mut self, slot: usize, ideal: Option<Duration>, recorder: &mut Recorder) {
        let transfer = self.pool.sessions[slot].transfer;
        self.record_whole(transfer, ideal, recorder);
    }

    /// Records a transfer that ends now.
    pub(super) fn record_whole(
        &mut self,
        transfer: TransferUnderWay,
        ideal: Option<Duration>,
        recorder: &mut Recorder,
    ) {
        let TransferUnderWay { index, size, start, received, acked } = transfer;
        let [received, acked] = [received, acked].map(|at| at.unwrap_or(self.now));
        let [duration, received_after, acked_after] = [self.now, received, acked].map(|at| at - start);
        let flow = self.flow();
        (flow.received, flow.acked) = (received, acked);
        let transfer = Transfer { index, start, size, duration, received: received_after, acked: acked_after, ideal };
        self.record(&transfer, recorder);
    }

    pub(super) fn record(&mut self, transfer: &Transfer, recorder: &mut Recorder) {
        self.flow().completions_mut().add(transfer);
        recorder.on_transfer(self.now, self.id, transfer);
    }

    /// Ends the flow after its last transfer.
    pub(super) fn finish(&mut self) {
        if self.flow().completions_mut().failed == 0 {
            return self.complete();
        }
        let flow = self.flow();
        (flow.acked, flow.received) = (Time::NEVER, Time::NEVER);
        self.fail();
    }

    /// Marks the flow as completed.
    pub(super) fn complete(&mut self) {
        self.flow().completed = Some(self.now);
        // A failed flow is counted already.
        self.pool.unfinished -= usize::from(!self.flows[self.id].has_failed);
    }

    /// Marks the flow as failed.
    pub(super) fn fail(&mut self) {
        self.flow().has_failed = true;
        // A completed flow is counted already.
        self.pool.unfinished -= usize::from(self.flows[self.id].completed.is_none());
    }

    /// Returns an unused slot, a new one if necessary.
    fn free_slot(&mut self) -> usize {
        let tried = if self.pool.reuses_slots { self.pool.released.len().min(SLOTS_TRIED) } else { 0 };
        for _ in 0..tried {
            let Some(slot) = self.pool.released.pop_front() else { break };
            if self.hosts.are_done(slot) {
                self.add_to_totals(slot);
                return slot;
            }
            self.pool.released.push_back(slot);
        }
        self.pool.sessions.len()
    }

    /// Adds the counts of a session, possibly of another flow, to its flow.
    fn add_to_totals(&mut self, slot: usize) {
        let Session { flow, ordinal, .. } = self.pool.sessions[slot];
        let flow = &mut self.flows[flow];
        flow.totals_mut().add(self.now, ordinal, self.hosts.pair(slot));
        if flow.newest_slot() == Some(slot) {
            flow.newest = None;
        }
    }
}

impl Session {
    fn new(flow: FlowId, ordinal: u64) -> Self {
        Self {
            flow,
            ordinal,
            is_released: false,
            transfer: TransferUnderWay::default(),
            asked: 0,
            answered: 0,
            unseen: 0,
            request: None,
        }
    }
}

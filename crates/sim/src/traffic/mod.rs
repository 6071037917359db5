//! Who sends: flows, the connections that they open, and both ends of each.
//!
//! A flow is an application that opens one connection or many over its life. Each connection, a *session*, has a slot
//! with two ends; the pool of slots grows when it must. A slot is used again only when its application has released it,
//! both ends are done, and nothing of it is in flight: a late packet can never reach another connection.
//!
//! Like everything that lives in time it is notified of what happens and then asked what to do, through [`Task`]s. Slots
//! are not visible outside: names, draws and the order of events depend on the flow and the ordinal of its session only.

mod arrivals;
mod bulk;
mod catalogue;
mod datagrams;
mod flow;
mod host;
mod loss_verdicts;
mod observe;
mod page;
mod port;
mod records;
mod request_response;
mod send_times;
mod ways;

#[cfg(test)]
pub(crate) use datagrams::send_times_of;
pub(crate) use flow::{FlowState, Totals};
pub(crate) use host::{Host, Hosts};
pub(crate) use observe::{event_kind, event_of_segment};
pub(crate) use send_times::SendTimes;

use crate::dictionary::{Cause, EventKind, SenderSeries};
use crate::ids::{EndpointId, FlowId, NodeId, PathId};
use crate::packet::{Label, Message, Origin, Packet, Recipient, Request, LOWEST};
use crate::record::{Recorder, Transfer};
use crate::spec::{App, Scenario};
use bentpipe_tcp::{Connection, Event, GiveUp, Notice, PathCache, Role};
use bentpipe_units::{Duration, Seq, Time};
use flow::AppState;
use host::AppWait;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use ways::Ways;

/// More than any run can send.
const ENDLESS: u64 = u64::MAX >> 8;

/// Slots that are tried before the pool grows.
const SLOTS_TRIED: usize = 16;

/// All flows of a run, with their sessions.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    pub(crate) flows: Vec<FlowState>,
    pub(crate) hosts: Hosts,
    sessions: Vec<Session>,
    /// Slots that their applications have released, the longest ago first.
    released: VecDeque<usize>,
    tasks: VecDeque<Task>,
    /// Flows that have neither completed nor failed; endless ones always count.
    pub(crate) unfinished: usize,
    /// Whether some flow is sure to go on until the run ends.
    pub(crate) is_endless: bool,
    /// Whether slots are used again.
    reuses_slots: bool,
    /// Rates of delivery are recorded.
    measures_rates: bool,
    /// What a node's connections know of the path to another node, for the next ones (RFC 9040, RFC 7413, RFC 1644).
    caches: BTreeMap<[NodeId; 2], PathCache>,
    /// The connection count of the latest end of a connection: one counter serves all hosts (RFC 1644 §2.1).
    counts: u32,
}

/// What the network has to do for the applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// A session begins in this slot: earlier wake-ups of its ends are cancelled, and both can act.
    Begin(usize),
    /// This end may have something to send.
    Drive(EndpointId),
    /// The timer of this flow has been set.
    Rearm(FlowId),
    /// This flow sends a datagram with this many payload bytes.
    Send(FlowId, u16),
    /// A packet that was given to this flow's port enters.
    Enter(FlowId),
}

/// The use of a slot by one connection.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) flow: FlowId,
    /// How many sessions its flow had opened before.
    pub(crate) ordinal: u64,
    /// Its application has no more use for it.
    is_released: bool,
    transfer: TransferUnderWay,
    /// Bytes that the opener was given to send so far.
    asked: u64,
    /// The same of the listener, or of a function that answered in its place.
    answered: u64,
    /// Bytes of requests that the listener does not see: a function has answered them.
    unseen: u64,
    /// The last request, if it is for an object with a name.
    request: Option<Box<Request>>,
    /// What a page has it for.
    page: Option<Box<page::PageConnection>>,
}

/// The transfer that a connection is used for.
#[derive(Clone, Copy, Debug, Default)]
struct TransferUnderWay {
    index: u64,
    size: u64,
    start: Time,
    received: Option<Time>,
    /// When the last byte was acknowledged, if that was before it was received.
    acked: Option<Time>,
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
            page: None,
        }
    }
}

impl Traffic {
    /// The flows of `scenario` at the start of time. `first_hop` says where the route of each path begins.
    /// `reuses_slots`: false to give each session a slot of its own.
    pub(crate) fn new(scenario: &Scenario, seed: u64, first_hop: impl Fn(PathId) -> u32, reuses_slots: bool) -> Self {
        let ways = Ways::of(scenario);
        let flows = FlowId::all(scenario.flows.len()).zip(&scenario.flows);
        let flows = flows.map(|(id, flow)| {
            let first_hops = PathId::both(id).map(&first_hop);
            let far = &scenario.nodes[flow.to].name;
            FlowState::new((flow, far), seed, first_hops, ways.ideal(id), ways.downtime(id, seed))
        });
        let flows: Vec<FlowState> = flows.collect();
        let mut traffic = Self {
            hosts: Hosts::with_capacity(flows.len()),
            sessions: Vec::with_capacity(flows.len()),
            released: VecDeque::new(),
            tasks: VecDeque::new(),
            unfinished: flows.len(),
            is_endless: false,
            reuses_slots,
            measures_rates: scenario.record.series.iter().any(|name| name == SenderSeries::DeliveryRate.name()),
            caches: BTreeMap::new(),
            counts: 1,
            flows,
        };
        for flow in FlowId::all(traffic.flows.len()) {
            traffic.set_up(flow);
        }
        traffic
    }

    /// What must be there before the run begins.
    fn set_up(&mut self, flow: FlowId) {
        let state = &mut self.flows[flow];
        if !state.app.is_single() {
            self.is_endless |= state.app.count().is_none();
            state.timer = state.first_wakeup();
            return;
        }
        let (app, start) = (*state.app, state.start);
        let slot = self.open(Time::ZERO, flow);
        self.hosts[EndpointId::opener(slot)].timer = start;
        if let App::File { size } = app {
            self.hosts[EndpointId::opener(slot)].awaits = AppWait::Acked(size);
            self.hosts[EndpointId::listener(slot)].awaits = AppWait::Received(size);
        }
    }

    /// The session in a slot.
    #[cfg(test)]
    pub(crate) fn session(&self, slot: usize) -> &Session {
        &self.sessions[slot]
    }

    /// What the tie-breakers of the ends of the session in a slot are made of.
    pub(crate) fn salts(&self, slot: usize) -> [u32; 2] {
        let Session { flow, ordinal, .. } = self.sessions[slot];
        self.flows[flow].salts(ordinal)
    }

    /// A flow wakes up.
    pub(crate) fn wake_flow(&mut self, now: Time, flow: FlowId) {
        let state = &mut self.flows[flow];
        state.timer = Time::NEVER;
        state.has_begun = true;
        match state.app_state {
            AppState::Single => {}
            AppState::Bulk(_) => self.begin_bulk(now, flow),
            AppState::Arrivals(_) => self.begin_arrival(now, flow),
            AppState::Records(_) => self.write_record(now, flow),
            AppState::RequestResponse(_) => self.begin_exchange(now, flow),
            AppState::Page(_) => self.next_page(now, flow),
            AppState::Datagrams(_) => self.send_datagram(now, flow),
            AppState::Port(_) => self.tasks.push_back(Task::Enter(flow)),
        }
    }

    /// The next thing to do.
    pub(crate) fn next_task(&mut self) -> Option<Task> {
        self.tasks.pop_front()
    }

    /// An end wakes up.
    pub(crate) fn wake_endpoint(&mut self, now: Time, endpoint: EndpointId) {
        let host = &mut self.hosts[endpoint];
        if host.timer <= now {
            host.timer = Time::NEVER;
            self.on_timer(now, endpoint);
        }
        self.hosts[endpoint].conn.handle_wakeup(now);
    }

    /// An end has sent all that it may.
    #[inline(always)]
    pub(crate) fn note_limit(&mut self, now: Time, endpoint: EndpointId) {
        let host = &mut self.hosts[endpoint];
        if let Some(stopwatch) = &host.stopwatch {
            if stopwatch.limit != host.conn.send_limit() {
                host.turn(now, &mut self.flows[host.flow].downtime);
            }
        }
    }

    /// A connection reports an event.
    pub(crate) fn on_event(&mut self, now: Time, endpoint: EndpointId, event: Event) {
        let is_opener = endpoint.is_opener();
        match event {
            // An end that has received all closes too.
            Event::PeerFinished => self.hosts[endpoint].conn.close(),
            Event::Established if is_opener => {
                let state = &self.flows[self.hosts[endpoint].flow];
                self.is_endless |= *state.app == App::Greedy && state.config.give_up == GiveUp::Never;
            }
            Event::Skipped(from, to) if !is_opener => self.on_gap(endpoint.slot(), from, to),
            Event::RecordEnd(offset) if !is_opener => self.on_boundary(endpoint.slot(), offset),
            Event::Reduction(until) => self.hosts[endpoint].on_decision(now, true, until),
            Event::NoReduction(until) => self.hosts[endpoint].on_decision(now, false, until),
            Event::ErrorReport(offset) => self.hosts[endpoint].on_report(now, offset),
            Event::Aborted(_) if self.hosts[endpoint].sends_data => self.on_abort(now, endpoint.slot()),
            _ => {}
        }
    }

    /// What an application waited for at this end has happened.
    pub(crate) fn on_wait_over(&mut self, now: Time, endpoint: EndpointId, recorder: &mut Recorder) {
        let host = &mut self.hosts[endpoint];
        let (flow, slot) = (host.flow, endpoint.slot());
        let goal = std::mem::replace(&mut host.awaits, AppWait::Nothing);
        let is_on_the_way = self.is_on_the_way(slot);
        let state = &mut self.flows[flow];
        match (&state.app_state, goal, endpoint.is_opener()) {
            (_, AppWait::Nothing, _) | (AppState::Datagrams(_) | AppState::Port(_), ..) => {}
            (AppState::Single, AppWait::Received(_) | AppWait::Read(_), _) => {
                state.received = now;
                if state.acked != Time::NEVER {
                    self.complete(now, flow);
                }
            }
            (AppState::Single, AppWait::Acked(bytes), _) => {
                if recorder.wants_decisions {
                    recorder.on_event(now, flow, EventKind::Completed, bytes);
                }
                state.acked = now;
                if !is_on_the_way {
                    self.complete(now, flow);
                }
            }
            (AppState::Bulk(_) | AppState::Arrivals(_), AppWait::Received(_), _)
                if self.sessions[slot].transfer.acked.is_none() =>
            {
                self.sessions[slot].transfer.received = Some(now);
            }
            (AppState::Bulk(_) | AppState::Arrivals(_), AppWait::Acked(_), _) if is_on_the_way => {
                self.sessions[slot].transfer.acked = Some(now);
            }
            (AppState::Records(_), ..) => self.end_records(now, slot, recorder),
            (AppState::Bulk(_), ..) => self.end_bulk(now, slot, recorder),
            (AppState::Arrivals(_), ..) => self.end_arrival(now, slot, recorder),
            (AppState::RequestResponse(_), _, true) => self.end_exchange(now, slot, recorder),
            (AppState::RequestResponse(_), _, false) => self.on_request(now, slot),
            (AppState::Page(_), _, true) => self.on_objects(now, slot, recorder),
            (AppState::Page(_), _, false) => self.answer_page(slot),
        }
    }

    /// The only transfer of a flow has been acknowledged, and has arrived.
    fn complete(&mut self, now: Time, flow: FlowId) {
        let state = &mut self.flows[flow];
        state.completed = Some(now);
        // Otherwise it was counted when it failed.
        self.unfinished -= usize::from(!state.has_failed);
    }

    /// Whether what the opener sent has not all arrived: a proxy may have acknowledged it.
    fn is_on_the_way(&self, slot: usize) -> bool {
        matches!(self.hosts[EndpointId::listener(slot)].awaits, AppWait::Received(_))
    }

    /// An application acts at one end.
    fn on_timer(&mut self, now: Time, endpoint: EndpointId) {
        let host = &mut self.hosts[endpoint];
        if host.reads_at(now) {
            return;
        }
        let state = &mut self.flows[host.flow];
        match *state.app {
            App::Greedy | App::File { .. } => {
                state.has_begun = true;
                match *state.app {
                    App::File { size } => {
                        host.conn.offer(size);
                        host.conn.close();
                    }
                    _ => host.conn.offer(ENDLESS),
                }
                // It was made when the run began: since then its host may have been notified.
                let ends = self.flows[host.flow].ends;
                let known = self.caches.get(&[ends[endpoint.side()], ends[endpoint.peer().side()]]);
                if let Some(rate) = known.and_then(|cache| cache.error_rate) {
                    host.conn.handle_notice(now, Notice::ErrorRate(rate));
                }
                host.conn.open(now);
            }
            App::RequestResponse(_) => self.respond(endpoint.slot()),
            App::Bulk(_) | App::Arrivals(_) | App::Records(_) | App::Page(_) | App::Datagrams(_) | App::Port => {}
        }
    }

    /// A connection has failed, at an end that sends data.
    fn on_abort(&mut self, now: Time, slot: usize) {
        let Session { flow, is_released, .. } = self.sessions[slot];
        let state = &mut self.flows[flow];
        match state.app_state {
            AppState::Single => {
                state.has_failed = true;
                // Otherwise it was counted when it completed.
                self.unfinished -= usize::from(state.completed.is_none());
            }
            _ if is_released => {}
            AppState::Bulk(_) => self.fail_bulk(now, slot),
            AppState::Arrivals(_) => self.fail_arrival(now, slot),
            AppState::Records(_) => self.fail_records(now, slot),
            AppState::RequestResponse(_) => self.fail_exchange(now, slot),
            AppState::Page(_) => self.fail_page(now, slot),
            AppState::Datagrams(_) | AppState::Port(_) => {}
        }
    }

    /// A transfer begins on a connection.
    fn begin_transfer(&mut self, now: Time, slot: usize, index: u64, size: u64) {
        self.sessions[slot].transfer = TransferUnderWay { index, size, start: now, ..TransferUnderWay::default() };
        self.flows[self.sessions[slot].flow].completions_mut().begun += 1;
    }

    /// The transfer of a connection is complete.
    fn end_transfer(&mut self, now: Time, slot: usize, ideal: Option<Duration>, recorder: &mut Recorder) {
        let Session { flow, transfer, .. } = self.sessions[slot];
        let TransferUnderWay { index, size, start, received, acked } = transfer;
        let [received, acked] = [received, acked].map(|at| at.unwrap_or(now));
        let [duration, received_after, acked_after] = [now, received, acked].map(|at| at - start);
        let transfer = Transfer { index, start, size, duration, received: received_after, acked: acked_after, ideal };
        let state = &mut self.flows[flow];
        (state.received, state.acked) = (received, acked);
        state.completions_mut().add(&transfer);
        recorder.on_transfer(now, flow, &transfer);
    }

    /// The end that opens has `bytes` more to send; it opens the connection if it has not yet.
    fn ask(&mut self, now: Time, slot: usize, bytes: u64) {
        self.sessions[slot].asked += bytes;
        let opener = &mut self.hosts[EndpointId::opener(slot)].conn;
        opener.offer(bytes);
        opener.open(now);
        self.tasks.push_back(Task::Drive(EndpointId::opener(slot)));
    }

    /// The application closes a connection and has no more use for it.
    fn close(&mut self, now: Time, slot: usize) {
        self.hosts[EndpointId::opener(slot)].conn.close();
        self.tasks.push_back(Task::Drive(EndpointId::opener(slot)));
        self.release(now, slot);
    }

    /// All transfers of a flow are over.
    fn finish(&mut self, now: Time, flow: FlowId) {
        let state = &mut self.flows[flow];
        if state.completions_mut().failed == 0 {
            state.completed = Some(now);
        } else {
            state.has_failed = true;
            (state.acked, state.received) = (Time::NEVER, Time::NEVER);
        }
        self.unfinished -= 1;
    }

    /// The application of a flow acts after `pause`.
    fn pause(&mut self, now: Time, flow: FlowId, pause: Duration) {
        self.flows[flow].timer = now + pause;
        self.tasks.push_back(Task::Rearm(flow));
    }

    /// A new connection of `flow`, whose far end listens. The only place that creates connections.
    fn open(&mut self, now: Time, flow: FlowId) -> usize {
        let slot = self.free_slot(now);
        let state = &mut self.flows[flow];
        let session = Session::new(flow, state.opened);
        let is_two_way = state.app.is_two_way();
        let seeds = state.seeds(state.opened);
        let ends = state.ends;
        let owner = Packet::owner(flow, session.ordinal);
        let counts = [1, 2].map(|n| self.counts.wrapping_add(n));
        self.counts = counts[1];
        let end = |endpoint: EndpointId, role| {
            let side = endpoint.side();
            let mut conn = Connection::new(Arc::clone(&state.config), role, Seq::new(0));
            let [retransmission, delayed_ack] = state.clocks[side];
            conn.set_clocks(retransmission, delayed_ack);
            conn.set_random_seed(seeds[side]);
            conn.set_count(counts[side]);
            if self.measures_rates {
                conn.measure_rates();
            }
            if let Some(cache) = self.caches.get(&[ends[side], ends[1 - side]]) {
                conn.prime(cache, now);
            }
            let reader = state.reader.as_deref().filter(|_| is_two_way == (side == 0)).copied();
            let origin = Origin { endpoint, owner, first_hop: state.first_hops[side], class: state.class };
            let mut host = Host::new(conn, flow, origin, endpoint.is_opener() || is_two_way, reader);
            // At the end that answers, where both send.
            host.stopwatch = (is_two_way == (side == 1)).then(Box::default);
            host
        };
        let opener = end(EndpointId::opener(slot), Role::Active);
        let mut listener = end(EndpointId::listener(slot), Role::Passive);
        listener.conn.open(now);
        state.opened += 1;
        state.newest = Some(slot);
        if slot == self.sessions.len() {
            self.sessions.push(session);
            self.hosts.push([opener, listener]);
        } else {
            self.sessions[slot] = session;
            self.hosts.replace(slot, [opener, listener]);
        }
        self.tasks.push_back(Task::Begin(slot));
        slot
    }

    /// The application has no more use for a connection, which has been closed or has failed. The only place that
    /// releases slots.
    fn release(&mut self, now: Time, slot: usize) {
        let state = &mut self.flows[self.sessions[slot].flow];
        for host in EndpointId::both(slot) {
            let host = &mut self.hosts[host];
            // The time of an end without an application counts for no cause.
            if let Some(times) = host.times_until(now, &mut state.downtime) {
                state.totals_mut().times += times;
            }
            host.stopwatch = None;
        }
        if state.remembers() {
            let ends = state.ends;
            for end in EndpointId::both(slot) {
                let cache = self.caches.entry([ends[end.side()], ends[end.peer().side()]]).or_default();
                self.hosts[end].conn.contribute(cache, now);
            }
        }
        self.sessions[slot].is_released = true;
        self.released.push_back(slot);
    }

    /// A slot in which nothing can happen any more, or a new one.
    fn free_slot(&mut self, now: Time) -> usize {
        let tried = if self.reuses_slots { self.released.len().min(SLOTS_TRIED) } else { 0 };
        for _ in 0..tried {
            let Some(slot) = self.released.pop_front() else { break };
            if self.can_reuse(slot) {
                self.add_to_totals(now, slot);
                return slot;
            }
            self.released.push_back(slot);
        }
        self.sessions.len()
    }

    /// Whether nothing can happen in this session any more: one end is done, the other waits for it, nothing is in flight.
    fn can_reuse(&self, slot: usize) -> bool {
        let [opener, other] = self.hosts.pair(slot);
        opener.has_ended()
            && other.is_at_rest()
            && opener.sent_packets == other.ended_packets
            && other.sent_packets == opener.ended_packets
    }

    /// Adds what a session counted to its flow.
    fn add_to_totals(&mut self, now: Time, slot: usize) {
        let state = &mut self.flows[self.sessions[slot].flow];
        state.totals_mut().add(now, self.sessions[slot].ordinal, self.hosts.pair(slot));
        if state.newest == Some(slot) {
            state.newest = None;
        }
    }

    /// Whether a message reaches the end that it is for: its connection is open, and its application has not left it.
    pub(crate) fn is_there(&self, recipient: Recipient) -> bool {
        let host = &self.hosts[recipient.endpoint];
        host.is(recipient) && host.is_listening() && !self.sessions[recipient.endpoint.slot()].is_released
    }

    /// Whether the end that a packet travels to is still that of its connection.
    pub(crate) fn takes(&self, packet: &Packet) -> bool {
        packet.is_datagram() || self.is_there(packet.recipient())
    }

    /// The end that a message is for, if that is still there.
    pub(crate) fn reader_of(&self, message: Message) -> Option<EndpointId> {
        message.recipient().filter(|recipient| self.is_there(*recipient)).map(|recipient| recipient.endpoint)
    }

    /// An end reads what functions of the network have written on a packet.
    #[cold]
    pub(crate) fn read_label(&mut self, now: Time, endpoint: EndpointId, label: Label) {
        let Some(notice) = label.notice() else { return };
        self.hosts[endpoint].conn.handle_notice(now, notice);
        if let Notice::ErrorRate(rate) = notice {
            // New connections begin with it.
            let ends = self.flows[self.hosts[endpoint].flow].ends;
            let path = [ends[endpoint.side()], ends[endpoint.peer().side()]];
            self.caches.entry(path).or_default().error_rate = Some(rate);
        }
    }

    /// A packet was lost at `at`; all that was lost before `known` has been notified. Returns the offset of its data, if it is a
    /// segment with data.
    pub(crate) fn on_loss(&mut self, at: Time, packet: &Packet, cause: Cause, known: Time) -> Option<u64> {
        if !packet.is_datagram() {
            self.on_end(packet);
            if packet.len > 0 && packet.class != LOWEST {
                let sender = &mut self.hosts[packet.endpoint().peer()];
                let offset = sender.conn.offset_of(packet.seq);
                sender.verdicts.get_or_insert_with(Box::default).on_loss(at, offset, cause, known);
                return Some(offset);
            }
        } else if !packet.is_message() {
            self.on_datagram_loss(packet);
        }
        None
    }

    /// A packet will reach no host any more.
    pub(crate) fn on_end(&mut self, packet: &Packet) {
        if !packet.is_datagram() {
            self.hosts[packet.endpoint()].ended_packets += 1;
        }
    }

    /// A packet arrived corrupted at its host, which discards it.
    pub(crate) fn on_corrupted(&mut self, packet: &Packet) {
        if !packet.is_datagram() {
            self.hosts[packet.endpoint()].conn.handle_corrupted();
        }
    }

    /// A function of the network has made a packet: for a connection it is as if the end had sent it.
    pub(crate) fn on_made(&mut self, packet: &Packet) {
        if !packet.is_datagram() {
            self.hosts[packet.endpoint().peer()].sent_packets += 1;
        }
    }

    /// Whether the time series of its flow are about this end.
    pub(crate) fn is_recorded(&self, endpoint: EndpointId) -> bool {
        let state = &self.flows[self.hosts[endpoint].flow];
        let side = usize::from(state.app.is_two_way());
        endpoint.side() == side && state.newest == Some(endpoint.slot())
    }
}

//! The part of the pool of sessions that an application uses.
//!
//! A session has a slot with two endpoints. A slot is reused after its application has released it, if neither endpoint
//! can act and no packet is in flight: a late packet cannot reach another connection.

use super::engines::EngineSession;
use super::flow::FlowState;
pub(super) use super::goal::Over;
use super::goal::{End, Goal, What};
use super::groups::{GroupPart, GroupSession, SubflowPlace};
use super::host::{Host, Hosts};
use super::pool::{group_of, Pool, Session, Task, TransferUnderWay};
use super::totals::OwnLane;
use crate::link::Downtime;
use crate::record::{FileReceived, Recorder, Transfer};
use bentpipe_model::ids::{EndpointId, FlowId, PathId};
use bentpipe_model::packet::{Origin, Packet, Request, DATAGRAM_HEADERS};
use bentpipe_model::spec::{Datagrams, Transport};
use bentpipe_model::stack::StreamNo;
use bentpipe_tcp::multi::Meta;
use bentpipe_tcp::{Config, Connection, Notice, Role};
use bentpipe_units::{Duration, Seq, Time};
use std::sync::Arc;

/// Distance between the random numbers of subflows: more than sessions of a flow.
const SUBFLOW_SEEDS: u64 = 1 << 40;
/// Slots that are tried before the pool grows.
const SLOTS_TRIED: usize = 16;

/// The sessions of one flow, as its application uses them at an instant. Applications reach hosts and their transports
/// only by these methods.
pub(super) struct FlowSessions<'a> {
    pub(super) now: Time,
    pub(super) id: FlowId,
    pub(super) flows: &'a mut [FlowState],
    pub(super) hosts: &'a mut Hosts,
    pub(super) pool: &'a mut Pool,
}

impl<'a> FlowSessions<'a> {
    pub(super) fn new(
        now: Time,
        id: FlowId,
        flows: &'a mut [FlowState],
        hosts: &'a mut Hosts,
        pool: &'a mut Pool,
    ) -> Self {
        Self { now, id, flows, hosts, pool }
    }

    pub(super) fn flow(&mut self) -> &mut FlowState {
        &mut self.flows[self.id]
    }

    /// Opens a session over the transport of the flow. Its far end listens.
    ///
    /// # Panics
    /// The flow has no transport: its application sends datagrams.
    pub(super) fn open(&mut self) -> Over {
        match self.flows[self.id].transport.clone() {
            Transport::Tcp(config) => Over::Tcp(self.open_slot(&config)),
            Transport::Multi(_) => Over::Group(self.open_group()),
            // Its TCP connection stays closed.
            Transport::Quic(_) => Over::Engine(self.open_slot(&Arc::default())),
            Transport::None => panic!("an application without a transport opens a session"),
        }
    }

    /// Opens a session over TCP, or over an engine.
    fn open_slot(&mut self, config: &Arc<Config>) -> usize {
        let lane = self.flows[self.id].lane;
        let slot = self.open_connection(config, lane, None);
        let flow = &mut self.flows[self.id];
        flow.opened += 1;
        flow.newest = Some(EndpointId::opener(slot));
        slot
    }

    /// Opens a session over several paths: a connection for each.
    fn open_group(&mut self) -> usize {
        let flow = &self.flows[self.id];
        let (ordinal, paths) = (flow.opened, flow.multi.as_ref().map_or(0, |multi| multi.paths.len()));
        let slots: Vec<usize> =
            (0..paths).map(|subflow| self.open_subflow(SubflowPlace { subflow, ordinal, earlier: 0 })).collect();
        let head = slots[0];
        let (now, flow) = (self.now, &mut self.flows[self.id]);
        flow.opened += 1;
        flow.newest = Some(EndpointId::opener(head));
        let counts = if flow.app.is_two_way() { End::Listener } else { End::Opener };
        for (subflow, slot) in slots.iter().enumerate().skip(1) {
            self.pool.sessions[*slot].group = Some(Box::new(GroupPart::Member { head, subflow }));
        }
        if let Some(multi) = &flow.multi {
            let mut group = GroupSession::new(slots, &multi.config, &multi.plans, counts);
            group.listen(now, self.hosts);
            self.pool.sessions[head].group = Some(Box::new(GroupPart::Head(group)));
        }
        head
    }

    /// Opens a connection on a lane, which may be that of a subflow. The only place that creates connections.
    pub(super) fn open_connection(&mut self, config: &Arc<Config>, lane: OwnLane, of: Option<SubflowPlace>) -> usize {
        let slot = self.free_slot();
        let Self { now, id, flows, hosts, pool } = self;
        let flow = &mut flows[*id];
        let SubflowPlace { ordinal, earlier, .. } =
            of.unwrap_or(SubflowPlace { subflow: 0, ordinal: flow.opened, earlier: 0 });
        let mut session = Session { earlier, ..Session::new(*id, ordinal) };
        let saved = flow.take_saved(*now, &mut pool.caches);
        let has_saved = saved.map(|saved| saved.is_some());
        session.engine =
            flow.make_engines(session.ordinal, saved).map(|ends| Box::new(EngineSession::new(ends, has_saved)));
        let is_two_way = flow.app.is_two_way();
        let rank = of.map_or(0, |of| of.subflow as u64 + of.earlier * Meta::SUBFLOWS_MAX as u64);
        let seeds = flow.seeds(ordinal + rank * SUBFLOW_SEEDS);
        let ends = flow.ends;
        let owner = Packet::owner(lane.id, if earlier > 0 { flow.number_of_return() } else { ordinal });
        let counts = [1, 2].map(|n| pool.counts.wrapping_add(n));
        pool.counts = counts[1];
        let mut end = |endpoint: EndpointId, role| {
            let side = endpoint.side();
            let mut conn = Connection::new(Arc::clone(config), role, Seq::new(0));
            let [retransmission, delayed_ack] = flow.clocks[side];
            conn.set_clocks(retransmission, delayed_ack);
            conn.set_random_seed(seeds[side]);
            conn.set_count(counts[side]);
            if pool.measures_rates {
                conn.measure_rates();
            }
            if let Some(cache) = pool.caches.get_mut(&[ends[side], ends[1 - side]]) {
                conn.prime(cache, *now);
                conn.take_path(cache, *now);
            }
            let reader = flow.reader.as_deref().filter(|_| is_two_way == (side == 0)).copied();
            let first_hop = lane.first_hops[side];
            let origin = Origin { endpoint, owner, first_hop, class: lane.class };
            let mut host = Host::new(conn, *id, origin, endpoint.is_opener() || is_two_way, reader);
            // If both ends send, the times of a flow are those of the end that answers.
            host.stopwatch = (is_two_way == (side == 1)).then(Box::default);
            host.in_group = of.is_some();
            host
        };
        let opener = end(EndpointId::opener(slot), Role::Active);
        let mut listener = end(EndpointId::listener(slot), Role::Passive);
        if session.engine.is_none() && of.is_none() {
            listener.conn.open(*now);
        }
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

    /// Leaves a session that has been closed or has failed.
    pub(super) fn release(&mut self, session: Over) {
        match session {
            Over::Tcp(slot) => self.release_slot(slot),
            Over::Engine(slot) => {
                let now = self.now;
                self.engine(slot).0.close(now);
                self.drive(session, End::Opener);
                self.release_slot(slot);
            }
            Over::Group(slot) => self.release_group(slot),
        }
    }

    /// Leaves a session over several paths.
    fn release_group(&mut self, slot: usize) {
        let now = self.now;
        let (group, hosts) = group_of(self.pool, self.hosts, slot);
        let flow = &mut self.flows[self.id];
        let stopwatches = group.ends.iter_mut().filter_map(|end| end.stopwatch.take());
        let times: Vec<_> = stopwatches.map(|own| own.times_until(now, &mut Downtime::never(), None)).collect();
        times.into_iter().for_each(|times| flow.totals_mut().times += times);
        for &(slot, subflow) in &group.connections {
            let Some(path) = flow.multi.as_mut().map(|multi| &mut multi.paths[subflow]) else { continue };
            for end in EndpointId::both(slot) {
                let host = &mut hosts[end];
                if let Some(times) = host.times_until(now, &mut path.downtime) {
                    path.totals.of_tcp.times += times;
                }
                host.stopwatch = None;
            }
        }
        group.ends.iter_mut().for_each(|end| end.leave(now));
        let connections = group.connections.clone();
        connections.into_iter().for_each(|(slot, _)| self.pool.sessions[slot].is_released = true);
        self.pool.released.push_back(slot);
    }

    /// Leaves a connection. The only place that releases slots.
    fn release_slot(&mut self, slot: usize) {
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
                match &pool.sessions[slot].engine {
                    Some(engine) => {
                        let side = end.side();
                        cache.return_saved(engine.has_saved[side], engine.ends[side].engine.path_lesson());
                    }
                    None => hosts[end].conn.contribute(cache, *now),
                }
            }
        }
        pool.sessions[slot].is_released = true;
        pool.released.push_back(slot);
    }

    /// Closes and releases a session.
    pub(super) fn close(&mut self, session: Over) {
        self.end_data(session);
        self.drive(session, End::Opener);
        self.release(session);
    }

    /// Ends the data of the opener: its FIN follows the last byte.
    pub(super) fn end_data(&mut self, session: Over) {
        match session {
            Over::Tcp(slot) => self.hosts[EndpointId::opener(slot)].conn.close(),
            // Each stream has ended.
            Over::Engine(_) => {}
            Over::Group(slot) => {
                let now = self.now;
                let (group, hosts) = self.group(slot);
                group.close(now, End::Opener, hosts);
            }
        }
    }

    /// Ends a record of the opener with the last byte so far.
    pub(super) fn end_record(&mut self, session: Over) {
        match session {
            Over::Tcp(slot) => self.hosts[EndpointId::opener(slot)].conn.end_record(),
            // A scenario with records over QUIC or several paths is refused.
            Over::Engine(_) | Over::Group(_) => {}
        }
    }

    /// Gives the opener of a session from before the run all its data, and opens the connection. Notices of the network
    /// since then are repeated.
    pub(super) fn begin(&mut self, session: Over, bytes: u64, is_all: bool) {
        match session {
            Over::Tcp(slot) => self.begin_connection(slot, bytes, is_all),
            Over::Engine(slot) => {
                let now = self.now;
                self.engine(slot).0.ask(now, bytes, is_all);
            }
            Over::Group(slot) => {
                let now = self.now;
                let (group, hosts) = self.group(slot);
                group.ask(now, bytes, hosts);
                if is_all {
                    group.close(now, End::Opener, hosts);
                }
            }
        }
    }

    fn begin_connection(&mut self, slot: usize, bytes: u64, is_all: bool) {
        let end = EndpointId::opener(slot);
        let conn = &mut self.hosts[end].conn;
        conn.offer(bytes);
        if is_all {
            conn.close();
        }
        let known = self.pool.caches.get(&self.flows[self.id].path_from(end));
        let conn = &mut self.hosts[end].conn;
        if let Some(rate) = known.and_then(|cache| cache.error_rate) {
            conn.notify(self.now, Notice::ErrorRate(rate));
        }
        conn.open(self.now);
    }

    /// Gives the opener `bytes` more to send. It opens the connection if it is not open. Returns the stream of these bytes, if the
    /// transport has several.
    pub(super) fn ask(&mut self, session: Over, bytes: u64) -> Option<StreamNo> {
        self.session_mut(session).asked += bytes;
        let stream = match session {
            Over::Tcp(slot) => {
                let opener = &mut self.hosts[EndpointId::opener(slot)].conn;
                opener.offer(bytes);
                opener.open(self.now);
                None
            }
            Over::Engine(slot) => {
                let now = self.now;
                Some(self.engine(slot).0.ask(now, bytes, true))
            }
            Over::Group(slot) => {
                let now = self.now;
                let (group, hosts) = self.group(slot);
                group.ask(now, bytes, hosts);
                None
            }
        };
        self.drive(session, End::Opener);
        stream
    }

    /// Gives the listener `bytes` more to send, unless the session is released.
    pub(super) fn answer(&mut self, session: Over, bytes: u64) {
        let state = self.session_mut(session);
        if state.is_released {
            return;
        }
        state.answered += bytes;
        match session {
            Over::Tcp(slot) => self.hosts[EndpointId::listener(slot)].conn.offer(bytes),
            Over::Engine(slot) => {
                let now = self.now;
                self.engine(slot).0.answer(now, bytes);
            }
            Over::Group(slot) => self.group(slot).0.ends[1].meta.offer(bytes),
        }
        self.drive(session, End::Listener);
    }

    /// Lets an end send its data, after the application.
    pub(super) fn drive(&mut self, session: Over, end: End) {
        match session {
            Over::Tcp(slot) | Over::Engine(slot) | Over::Group(slot) => {
                self.pool.tasks.push_back(Task::Drive(end.of_slot(slot)));
            }
        }
    }

    /// Returns a session over several paths, and the hosts.
    ///
    /// # Panics
    /// The session is over one path.
    fn group(&mut self, slot: usize) -> (&mut GroupSession, &mut Hosts) {
        group_of(self.pool, self.hosts, slot)
    }

    pub(super) fn session_mut(&mut self, session: Over) -> &mut Session {
        match session {
            Over::Tcp(slot) | Over::Engine(slot) | Over::Group(slot) => &mut self.pool.sessions[slot],
        }
    }

    /// Names the object of the last request: its number, the bytes of the request, the size of the object.
    pub(super) fn name_request(&mut self, session: Over, [object, bytes, size]: [u64; 3]) {
        let object = (self.flows[self.id].ends[1], object);
        let session = self.session_mut(session);
        session.request = Some(Box::new(Request { object, size, bytes, asked: session.asked }));
    }

    pub(super) fn session(&self, session: Over) -> &Session {
        match session {
            Over::Tcp(slot) | Over::Engine(slot) | Over::Group(slot) => &self.pool.sessions[slot],
        }
    }

    /// Sets the goals of the opener and of the listener.
    pub(super) fn wait(&mut self, session: Over, goals: [Option<Goal>; 2]) {
        for (end, goal) in End::BOTH.into_iter().zip(goals) {
            self.wait_at(session, end, goal);
        }
    }

    /// Sets both goals. An end that has reached its goal already acts at this instant, too: its data may have arrived
    /// together with that of the goal before.
    pub(super) fn wait_for_next(&mut self, session: Over, goals: [Option<Goal>; 2]) {
        self.wait(session, goals);
        for end in End::BOTH {
            if self.has_reached_goal(session, end) {
                self.drive(session, end);
            }
        }
    }

    /// Sets the goal of an end.
    pub(super) fn wait_at(&mut self, session: Over, end: End, goal: Option<Goal>) {
        match session {
            Over::Tcp(slot) | Over::Engine(slot) | Over::Group(slot) => self.hosts[end.of_slot(slot)].awaits = goal,
        }
    }

    /// Returns the goal of an end.
    fn goal(&self, session: Over, end: End) -> Option<Goal> {
        match session {
            Over::Tcp(slot) | Over::Engine(slot) | Over::Group(slot) => self.hosts[end.of_slot(slot)].awaits,
        }
    }

    /// Whether an end waits for a goal that is reached.
    pub(super) fn has_reached_goal(&self, session: Over, end: End) -> bool {
        match session {
            Over::Tcp(slot) => self.hosts[end.of_slot(slot)].is_wait_over(),
            Over::Engine(slot) => {
                let goal = self.hosts[end.of_slot(slot)].awaits;
                self.pool.sessions[slot].engine.as_ref().is_some_and(|engine| engine.has_reached(end, goal))
            }
            Over::Group(slot) => match self.pool.sessions[slot].group.as_deref() {
                Some(GroupPart::Head(group)) => group.has_reached(end, self.hosts[end.of_slot(slot)].awaits),
                _ => false,
            },
        }
    }

    /// Whether the opener waits for nothing.
    pub(super) fn is_idle(&self, session: Over) -> bool {
        self.goal(session, End::Opener).is_none()
    }

    /// Sets the timer of the application at an end.
    pub(super) fn set_timer(&mut self, session: Over, end: End, at: Time) {
        match session {
            Over::Tcp(slot) => self.hosts[end.of_slot(slot)].timer = at,
            Over::Engine(slot) => {
                let (engine, hosts) = self.engine(slot);
                hosts[end.of_slot(slot)].timer = engine.set_timer(end, at);
            }
            Over::Group(slot) => {
                let (group, hosts) = self.group(slot);
                hosts[end.of_slot(slot)].timer = group.set_timer(end, at);
            }
        }
    }

    /// Returns the instant when the flow starts.
    pub(super) fn start(&self) -> Time {
        self.flows[self.id].start
    }

    /// Lets the packet enter that was given to the flow's port for this instant.
    pub(super) fn enter(&mut self) {
        self.pool.tasks.push_back(Task::Enter(self.id));
    }

    /// Sends a datagram with this many payload bytes, to all receivers.
    pub(super) fn send(&mut self, size: u16) {
        let wire = u64::from(size) + u64::from(DATAGRAM_HEADERS);
        let itself = [self.id];
        for &flow in self.pool.receivers.get(&self.id).map_or(&itself[..], Vec::as_slice) {
            let state = &mut self.flows[flow];
            state.has_begun = true;
            state.totals_mut().on_datagram_sent(self.now, size.into(), wire);
        }
        self.pool.tasks.push_back(Task::Send(PathId::there(self.flows[self.id].lane.id), size, self.now));
    }

    /// Prepares the receivers of the flow for a file.
    pub(super) fn expect_file(&mut self, spec: &Datagrams) {
        let (itself, start) = ([self.id], self.start());
        for &flow in self.pool.receivers.get(&self.id).map_or(&itself[..], Vec::as_slice) {
            if let Some(arrived) = &mut self.flows[flow].arrived {
                arrived.file = FileReceived::new(spec, start).map(Box::new);
            }
        }
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
    pub(super) fn begin_transfer(&mut self, session: Over, index: u64, size: u64) {
        let start = self.now;
        self.session_mut(session).transfer = TransferUnderWay { index, size, start, ..TransferUnderWay::default() };
        self.flow().completions_mut().begun += 1;
    }

    /// Whether a transfer is both received and acknowledged, now that one end has reached its goal.
    pub(super) fn is_transfer_over(&mut self, session: Over, goal: Goal) -> bool {
        let (now, is_on_the_way) = (self.now, self.is_on_the_way(session));
        let transfer = &mut self.session_mut(session).transfer;
        match goal.what {
            What::Received if transfer.acked.is_none() => transfer.received = Some(now),
            What::Acked if is_on_the_way => transfer.acked = Some(now),
            _ => return true,
        }
        false
    }

    /// Whether the listener still waits for data. A proxy may have acknowledged it.
    pub(super) fn is_on_the_way(&self, session: Over) -> bool {
        self.goal(session, End::Listener).is_some_and(|goal| goal.what == What::Received)
    }

    /// Records the transfer of a connection, which is complete.
    pub(super) fn end_transfer(&mut self, session: Over, ideal: Option<Duration>, recorder: &mut Recorder) {
        let transfer = self.session(session).transfer;
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
        if let Some(slot) = self.pool.spare.pop() {
            return slot;
        }
        let tried = if self.pool.reuses_slots { self.pool.released.len().min(SLOTS_TRIED) } else { 0 };
        for _ in 0..tried {
            let Some(slot) = self.pool.released.pop_front() else { break };
            let is_at_rest = self.pool.sessions[slot].engine.as_ref().is_none_or(|engine| engine.is_at_rest());
            let is_done = match self.pool.sessions[slot].group.as_deref() {
                Some(GroupPart::Head(group)) => group.is_done(self.hosts),
                _ => self.hosts.are_done(slot),
            };
            if is_at_rest && is_done {
                self.add_to_totals(slot);
                return slot;
            }
            self.pool.released.push_back(slot);
        }
        self.pool.sessions.len()
    }

    /// Adds the counts of a session, possibly of another flow, to its flow.
    fn add_to_totals(&mut self, slot: usize) {
        let part = self.pool.sessions[slot].group.take();
        let session = &self.pool.sessions[slot];
        let flow = &mut self.flows[session.flow];
        match (part.as_deref(), &mut flow.multi) {
            (Some(GroupPart::Head(group)), Some(multi)) => {
                multi.add(self.now, (session.ordinal, group), self.hosts);
                for &(slot, _) in &group.connections[1..] {
                    self.pool.sessions[slot].group = Some(Box::new(GroupPart::Spare));
                    self.pool.spare.push(slot);
                }
            }
            _ => flow.add_to_totals(self.now, session.counted(), self.hosts.pair(slot)),
        }
        if flow.newest_slot() == Some(slot) {
            flow.newest = None;
        }
    }
}

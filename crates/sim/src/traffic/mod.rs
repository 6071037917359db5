//! Who sends: flows, the connections that they open, and both ends of each.
//!
//! A flow is an application that opens one connection or many over its life. Each connection, a *session*, has a slot
//! with two ends; the pool of slots grows when it must. A slot is used again only when its application has left it, both
//! ends are done, and nothing of it is on its way: a late packet can never reach another connection.
//!
//! Like everything that lives in time this is told what happens and then asked what to do, through [`Task`]s. Slots
//! are seen by nobody: names, draws and the order of events depend on the flow and the ordinal of its session only.

mod flow;
mod host;

pub(crate) use flow::{FlowState, Totals};
pub(crate) use host::Host;

use crate::packet::Packet;
use crate::record::Recorder;
use crate::scenario::{App, Scenario};
use bentpipe_tcp::{Connection, Event, GiveUp, Role};
use bentpipe_units::{Seq, Time};
use host::Goal;
use std::collections::VecDeque;

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
}

/// The use of a slot by one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session {
    pub(crate) flow: usize,
    /// How many sessions its flow had opened before.
    pub(crate) ordinal: u64,
}

impl Traffic {
    /// The flows of `scenario` at the start of time. `reuses_slots`: false to give each session a slot of its own.
    pub(crate) fn new(scenario: &Scenario, seed: u64, reuses_slots: bool) -> Self {
        let mut first_hop = 0;
        let mut state = |flow: &crate::scenario::Flow| {
            let there = first_hop;
            let back = there + flow.route.len() as u32 + 1;
            first_hop = back + flow.reverse_route.len() as u32 + 1;
            FlowState::new(flow, seed, [there, back])
        };
        let flows: Vec<FlowState> = scenario.flows.iter().map(&mut state).collect();
        let mut traffic = Self {
            hosts: Vec::with_capacity(2 * flows.len()),
            sessions: Vec::with_capacity(flows.len()),
            left: VecDeque::new(),
            tasks: VecDeque::new(),
            unfinished: flows.len(),
            is_endless: false,
            reuses_slots,
            flows,
        };
        for flow in 0..traffic.flows.len() {
            traffic.set_up(flow);
        }
        traffic
    }

    /// What must be there before the run begins.
    fn set_up(&mut self, flow: usize) {
        match self.flows[flow].app {
            App::Greedy | App::File { .. } => {
                let slot = self.open(Time::ZERO, flow);
                self.hosts[2 * slot].timer = self.flows[flow].start;
                if let App::File { size } = self.flows[flow].app {
                    self.hosts[2 * slot].goal = Goal::Acked(size);
                    self.hosts[2 * slot + 1].goal = Goal::Received(size);
                }
            }
        }
    }

    /// The session in a slot.
    #[cfg(test)]
    pub(crate) fn session(&self, slot: usize) -> Session {
        self.sessions[slot]
    }

    /// From what the ends of the session in a slot draw their lots.
    pub(crate) fn salts(&mut self, slot: usize) -> [u32; 2] {
        let Session { flow, ordinal } = self.sessions[slot];
        self.flows[flow].salts(ordinal)
    }

    /// A flow has come to its wake-up.
    pub(crate) fn wake_flow(&mut self, _now: Time, flow: usize) {
        let state = &mut self.flows[flow];
        state.timer = Time::NEVER;
        state.has_begun = true;
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
            return self.on_timer(now, endpoint);
        }
        host.conn.handle_wakeup(now);
    }

    /// A connection has something to tell.
    pub(crate) fn on_event(&mut self, endpoint: usize, event: Event) {
        let (flow, is_opener) = (self.hosts[endpoint].flow as usize, endpoint % 2 == 0);
        match event {
            // Who has heard all closes too.
            Event::PeerFinished => self.hosts[endpoint].conn.close(),
            Event::Established if is_opener => self.is_endless |= self.flows[flow].is_endless_once_established(),
            Event::Aborted(_) if is_opener => self.on_abort(flow),
            _ => {}
        }
    }

    /// What an application waited for at this end has come.
    pub(crate) fn on_goal(&mut self, now: Time, endpoint: usize, recorder: &mut Recorder) {
        let host = &mut self.hosts[endpoint];
        let flow = host.flow as usize;
        let goal = std::mem::replace(&mut host.goal, Goal::Nothing);
        let state = &mut self.flows[flow];
        match goal {
            Goal::Nothing => {}
            Goal::Received(_) => state.received = Some(now),
            Goal::Acked(bytes) => {
                if recorder.wants_events {
                    recorder.on_event(now, flow, "completed", bytes);
                }
                state.completed = Some(now);
                // Else it was counted when it failed.
                self.unfinished -= usize::from(!state.has_failed);
            }
        }
    }

    /// An application acts at one end.
    fn on_timer(&mut self, now: Time, endpoint: usize) {
        let host = &mut self.hosts[endpoint];
        let state = &mut self.flows[host.flow as usize];
        state.has_begun = true;
        match state.app {
            App::Greedy => host.conn.offer(ENDLESS),
            App::File { size } => {
                host.conn.offer(size);
                host.conn.close();
            }
        }
        host.conn.open(now);
    }

    fn on_abort(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        state.has_failed = true;
        // Else it was counted when it completed.
        self.unfinished -= usize::from(state.completed.is_none());
    }

    /// A new connection of `flow`, whose far end listens. Here and nowhere else connections are made.
    fn open(&mut self, now: Time, flow: usize) -> usize {
        let slot = self.free_slot();
        let state = &mut self.flows[flow];
        let session = Session { flow, ordinal: state.opened };
        let end = |side: usize, role| {
            let conn = Connection::new(state.configs[side].clone(), role, Seq::new(0));
            Host::new(conn, flow as u32, state.first_hops[side], side == 0)
        };
        let [opener, mut other] = [end(0, Role::Active), end(1, Role::Passive)];
        other.conn.open(now);
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
    #[allow(dead_code)]
    fn leave(&mut self, slot: usize) {
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
        state.totals.add(self.sessions[slot].ordinal, &self.hosts[2 * slot], &self.hosts[2 * slot + 1]);
        if state.newest == slot {
            state.newest = usize::MAX;
        }
    }

    /// A packet was lost.
    pub(crate) fn on_loss(&mut self, packet: &Packet) {
        self.hosts[packet.endpoint()].landed += 1;
    }

    /// A packet was copied on its way.
    pub(crate) fn on_copy(&mut self, packet: &Packet) {
        self.hosts[packet.endpoint() ^ 1].launched += 1;
    }

    /// Whether the time series of its flow are about this end.
    pub(crate) fn is_recorded(&self, endpoint: usize) -> bool {
        let host = &self.hosts[endpoint];
        host.sends_data && self.flows[host.flow as usize].newest == endpoint / 2
    }

    /// What each flow has counted, sessions under way included.
    pub(crate) fn totals(&self) -> Vec<Totals> {
        let mut totals: Vec<Totals> = self.flows.iter().map(|flow| flow.totals.clone()).collect();
        for (session, ends) in self.sessions.iter().zip(self.hosts.chunks_exact(2)) {
            totals[session.flow].add(session.ordinal, &ends[0], &ends[1]);
        }
        totals
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

impl FlowState {
    /// Whether it goes on until the run ends, once its connection is established.
    fn is_endless_once_established(&self) -> bool {
        self.app == App::Greedy && self.configs[0].give_up == GiveUp::Never
    }
}

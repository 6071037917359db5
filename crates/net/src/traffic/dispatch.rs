//! Flows of a run: wakes their applications, and passes the events of connections on to them.

use super::apps::{AnyApp, Draws};
use super::flow::FlowState;
use super::goal::{End, StreamRead};
use super::groups::{MultiState, PathState, PathTotals};
use super::host::Hosts;
use super::pool::{Pool, Task};
use super::sessions::FlowSessions;
use super::totals::OwnLane;
use super::ways::Ways;
use crate::record::{Histogram, Recorder};
use bentpipe_model::dictionary::SenderSeries;
use bentpipe_model::ids::{EndpointId, FlowId, LaneId, PathId};
use bentpipe_model::spec::{receivers_by_flow, Scenario, Subflow};
use bentpipe_tcp::multi::Plan;
use bentpipe_tcp::Event;
use bentpipe_units::Time;
use std::sync::Arc;

/// All flows of a run, with their applications and sessions.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    pub(crate) flows: Vec<FlowState>,
    /// The flow of each lane.
    pub(crate) flow_of: Vec<FlowId>,
    /// The entity of each lane in series and events: its flow, or its subflow, after all flows.
    pub(crate) entity_of: Vec<FlowId>,
    pub(crate) hosts: Hosts,
    pub(super) apps: Vec<AnyApp>,
    pub(super) pool: Pool,
}

impl Traffic {
    /// The flows of `scenario` at the start of time. `first_hop` returns the first hop of each path. With
    /// `reuses_slots`, a session may take the slot of an earlier one.
    pub(crate) fn new(scenario: &Scenario, seed: u64, first_hop: impl Fn(PathId) -> u32, reuses_slots: bool) -> Self {
        let ways = Ways::of(scenario);
        let measures_rates = scenario.record.series.iter().any(|name| name == SenderSeries::DeliveryRate.name());
        let count = scenario.flows.len();
        let mut traffic = Self {
            flows: Vec::with_capacity(count),
            flow_of: scenario.lanes.iter().map(|lane| lane.flow).collect(),
            entity_of: scenario.entities().1,
            hosts: Hosts::with_capacity(count),
            apps: Vec::with_capacity(count),
            pool: Pool::new(count, reuses_slots, measures_rates),
        };
        for (id, flow) in FlowId::all(count).zip(&scenario.flows) {
            let component = format!("flow/{}", flow.name);
            let own = |id: LaneId| {
                let first_hops = PathId::both(id).map(&first_hop);
                OwnLane { id, first_hops, class: scenario.lanes[id].class }
            };
            let (path, downtime) = (ways.ideal(id), ways.downtime(flow.lane, seed));
            let mut state = FlowState::new(flow, &component, seed, own(flow.lane), path, downtime);
            state.multi = flow.transport.multi().map(|multi| {
                let path = |(lane, subflow): (LaneId, &Subflow)| PathState {
                    lane: own(lane),
                    config: Arc::new(multi.config.of_subflow(&subflow.tcp)),
                    downtime: ways.downtime(lane, seed),
                    rtts: Histogram::default(),
                    totals: PathTotals::default(),
                    routes: PathId::both(lane).map(|path| Some(scenario.first_route(path).into())),
                };
                let plans =
                    multi.subflows.iter().map(|subflow| Plan { start: subflow.start, is_backup: subflow.is_backup });
                let paths = scenario.lanes_of(id).zip(&multi.subflows).map(path).collect();
                Box::new(MultiState::new(Arc::clone(&multi.config), plans.collect(), paths))
            });
            traffic.flows.push(state);
            let draws = Draws { seed, component: &component, far: &scenario.nodes[flow.to].name };
            traffic.apps.push(AnyApp::new(&flow.app, &draws));
        }
        traffic.pool.receivers = receivers_by_flow(&scenario.flows);
        for flow in FlowId::all(count).filter(|flow| scenario.flows[*flow].copy_of.is_none()) {
            let (app, mut sessions) = traffic.lend(Time::ZERO, flow);
            app.set_up(&mut sessions);
        }
        traffic
    }

    /// The application of a flow, and the sessions that it may use at `now`.
    pub(super) fn lend(&mut self, now: Time, flow: FlowId) -> (&mut AnyApp, FlowSessions<'_>) {
        let Self { flows, hosts, apps, pool, .. } = self;
        (&mut apps[flow], FlowSessions::new(now, flow, flows, hosts, pool))
    }

    /// Whether the caller carries out the tasks. Otherwise a call further up does, until there are no more.
    pub(crate) fn begin_tasks(&mut self) -> bool {
        !std::mem::replace(&mut self.pool.is_at_tasks, true)
    }

    /// Returns the next task of the network. Without one, the tasks are done.
    pub(crate) fn next_task(&mut self) -> Option<Task> {
        let task = self.pool.tasks.pop_front();
        self.pool.is_at_tasks = task.is_some();
        task
    }

    /// Whether all flows have completed or failed.
    pub(crate) fn is_over(&self) -> bool {
        self.pool.unfinished == 0
    }

    /// Wakes the application of a flow.
    pub(crate) fn wake_flow(&mut self, now: Time, flow: FlowId) {
        let state = &mut self.flows[flow];
        state.timer = Time::NEVER;
        state.has_begun = true;
        let (app, mut sessions) = self.lend(now, flow);
        app.wake(&mut sessions);
    }

    /// Wakes an endpoint: its application first, then its connection.
    pub(crate) fn wake_endpoint(&mut self, now: Time, endpoint: EndpointId) {
        let host = &mut self.hosts[endpoint];
        if host.timer <= now {
            host.timer = Time::NEVER;
            if !host.reads_at(now) {
                self.wake_application(now, endpoint);
            }
        }
        self.hosts[endpoint].conn.handle_wakeup(now);
    }

    /// Runs the application of an endpoint at its timer there.
    pub(super) fn wake_application(&mut self, now: Time, endpoint: EndpointId) {
        let (flow, session) = (self.hosts[endpoint].flow, self.pool.over(endpoint.slot()));
        let (app, mut sessions) = self.lend(now, flow);
        app.on_timer(&mut sessions, session);
    }

    /// Notes the limit of an endpoint that cannot send more.
    #[inline(always)]
    pub(crate) fn note_limit(&mut self, now: Time, endpoint: EndpointId) {
        let host = &mut self.hosts[endpoint];
        if let Some(stopwatch) = &host.stopwatch {
            if stopwatch.limit != host.conn.report().send_limit() {
                host.turn(now, &mut self.flows[host.flow].downtime);
            }
        }
    }

    /// Processes an event of a connection.
    pub(crate) fn on_event(&mut self, now: Time, endpoint: EndpointId, event: Event) {
        let is_opener = endpoint.is_opener();
        let host = &mut self.hosts[endpoint];
        match event {
            // An endpoint that has received all data closes, too.
            Event::PeerFinished => host.conn.close(),
            Event::Skipped(from, to) if !is_opener => self.apps[host.flow].on_gap(from, to),
            Event::RecordEnd(offset) if !is_opener => self.apps[host.flow].on_boundary(offset),
            Event::Reduction(until) => host.on_decision(now, true, until),
            Event::NoReduction(until) => host.on_decision(now, false, until),
            Event::ErrorReport(offset) => host.on_report(now, offset),
            Event::Aborted(_) if host.sends_data => self.on_abort(now, endpoint.slot()),
            _ => {}
        }
    }

    /// Ends the wait of an application at an endpoint.
    pub(crate) fn on_wait_over(&mut self, now: Time, endpoint: EndpointId, recorder: &mut Recorder) {
        let session = self.pool.over(endpoint.slot());
        let host = &mut self.hosts[endpoint];
        let flow = host.flow;
        if let Some(goal) = host.awaits.take() {
            let (app, mut sessions) = self.lend(now, flow);
            app.on_goal(&mut sessions, (session, End::of(endpoint)), goal, recorder);
        }
    }

    /// Reports data of a stream to the application that has read it, unless that has released the session.
    pub(super) fn on_stream(&mut self, now: Time, endpoint: EndpointId, read: StreamRead, recorder: &mut Recorder) {
        let session = &self.pool.sessions[endpoint.slot()];
        if !session.is_released {
            let (flow, over) = (session.flow, self.pool.over(endpoint.slot()));
            let (app, mut sessions) = self.lend(now, flow);
            app.on_stream(&mut sessions, (over, End::of(endpoint)), read, recorder);
        }
    }

    /// Reports a failed connection to its application, unless that has released it.
    pub(super) fn on_abort(&mut self, now: Time, slot: usize) {
        let session = &self.pool.sessions[slot];
        if !session.is_released {
            let (flow, over) = (session.flow, self.pool.over(slot));
            let (app, mut sessions) = self.lend(now, flow);
            app.on_abort(&mut sessions, over);
        }
    }

    /// Whether the time series of its flow are those of this endpoint.
    pub(crate) fn is_recorded(&self, endpoint: EndpointId) -> bool {
        let flow = &self.flows[self.hosts[endpoint].flow];
        let side = usize::from(flow.app.is_two_way());
        endpoint.side() == side && flow.newest_slot() == Some(endpoint.slot())
    }

    /// Returns the tie-breaker seeds of the endpoints of a slot.
    pub(crate) fn salts(&self, slot: usize) -> [u32; 2] {
        let session = &self.pool.sessions[slot];
        let salts = self.flows[session.flow].salts(session.ordinal);
        // Siblings have different seeds: none is always first at an instant.
        salts.map(|salt| salt.saturating_add(self.pool.rank_in_session(slot) as u32))
    }

    /// Returns the session in a slot.
    #[cfg(test)]
    pub(crate) fn session(&self, slot: usize) -> &super::Session {
        &self.pool.sessions[slot]
    }
}

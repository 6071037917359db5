//! Groups of subflows, as the network drives them: arrivals, wake-ups, events and departures. All of it is away from the path of
//! packets of other connections.

use super::dispatch::Traffic;
use super::goal::End;
use super::groups::{GroupPart, GroupSession};
use super::returning::{is_former, may_join, reopen, take_over};
use crate::record::Recorder;
use bentpipe_model::dictionary::{EventKind, SenderSeries};
use bentpipe_model::ids::{EndpointId, FlowId, LaneId};
use bentpipe_model::packet::{Bodies, Packet};
use bentpipe_model::spec::Change;
use bentpipe_tcp::multi::MultiEvent;
use bentpipe_tcp::Event;
use bentpipe_units::Time;

impl Traffic {
    /// Returns the entity of an endpoint in series and events: its flow, or its subflow.
    pub(crate) fn entity(&self, endpoint: EndpointId) -> FlowId {
        let host = &self.hosts[endpoint];
        match self.pool.place_in_group(endpoint.slot()) {
            Some((_, subflow)) => self.entity_of[LaneId::new(self.flows[host.flow].lane.id.index() + subflow)],
            None => host.flow,
        }
    }

    /// Returns the endpoint that keeps the goals and timers of the end of a group.
    pub(super) fn head_of(&self, endpoint: EndpointId) -> EndpointId {
        let head = self.pool.place_in_group(endpoint.slot()).map_or(endpoint.slot(), |(head, _)| head);
        End::of(endpoint).of_slot(head)
    }

    pub(super) fn group(&mut self, head: usize) -> Option<(&mut GroupSession, &mut super::host::Hosts)> {
        match self.pool.sessions[head].group.as_deref_mut() {
            Some(GroupPart::Head(group)) => Some((group, &mut self.hosts)),
            _ => None,
        }
    }

    /// Returns the endpoint of a subflow at an end of a group; `None`: it has fewer.
    pub(crate) fn sibling(&self, endpoint: EndpointId, subflow: usize) -> Option<EndpointId> {
        match self.pool.sessions[self.head_of(endpoint).slot()].group.as_deref() {
            Some(GroupPart::Head(group)) => {
                Some(End::of(endpoint).of_slot(*group.slots[endpoint.side()].get(subflow)?))
            }
            _ => Some(endpoint).filter(|_| subflow == 0),
        }
    }

    /// Returns the endpoints of all subflows at an end of a group, in order; the endpoint itself without a group.
    pub(crate) fn siblings(&self, endpoint: EndpointId) -> impl Iterator<Item = EndpointId> + '_ {
        (0..).map_while(move |subflow| self.sibling(endpoint, subflow))
    }

    /// Gives a subflow a segment that has arrived.
    pub(crate) fn group_receives(&mut self, now: Time, packet: &Packet, bodies: &mut Bodies) {
        let endpoint = packet.endpoint();
        let segment = packet.segment(bodies);
        if may_join(self, packet) {
            take_over(self, now, endpoint);
        }
        bodies.release(packet);
        let before = self.hosts[endpoint].conn.counters().duplicate_segments;
        self.hosts[endpoint].count_arrival();
        let Some((head, subflow)) = self.pool.place_in_group(endpoint.slot()) else {
            return self.hosts[endpoint].conn.handle(now, &segment);
        };
        if let Some((group, hosts)) = self.group(head) {
            let (end, mut connections) = group.at(End::of(endpoint), hosts);
            end.meta.handle(now, subflow, &segment, &mut connections);
            end.note_held(now);
        }
        let host = &mut self.hosts[endpoint];
        host.count_duplicate(packet, before);
        if !host.sends_data {
            return;
        }
        if let Some(rtt) = host.conn.take_rtt() {
            let flow = &mut self.flows[host.flow];
            flow.rtts.record_span(rtt);
            if let Some(multi) = &mut flow.multi {
                multi.paths[subflow].rtts.record_span(rtt);
            }
        }
    }

    /// Wakes an endpoint of a group: its application first, then what it hears of its paths, its meta and its connection.
    pub(crate) fn wake_in_group(&mut self, now: Time, endpoint: EndpointId) {
        if self.head_of(endpoint) == endpoint {
            self.wake_head(now, endpoint);
        }
        self.hosts[endpoint].conn.handle_wakeup(now);
    }

    fn wake_head(&mut self, now: Time, endpoint: EndpointId) {
        let end = End::of(endpoint);
        let Some((group, _)) = self.group(endpoint.slot()) else { return };
        let state = &mut group.ends[end as usize];
        if state.app_timer <= now {
            state.app_timer = Time::NEVER;
            self.wake_application(now, endpoint);
        }
        let Some((group, hosts)) = self.group(endpoint.slot()) else { return };
        let (state, mut connections) = group.at(end, hosts);
        while let Some(&(_, subflow, is_up)) = state.notices.front().filter(|notice| notice.0 <= now) {
            state.notices.pop_front();
            match is_up {
                true => state.meta.on_path_up(now, subflow, &mut connections),
                false => state.meta.on_path_down(now, subflow, &mut connections),
            }
        }
        if state.meta.next_wakeup() <= now {
            state.meta.handle_wakeup(now, &mut connections);
        }
    }

    /// Returns the endpoint of the subflow that shall send next at the end of a group.
    pub(crate) fn next_subflow(&mut self, now: Time, endpoint: EndpointId) -> Option<EndpointId> {
        let (head, end) = (self.head_of(endpoint).slot(), End::of(endpoint));
        let (group, hosts) = self.group(head)?;
        let (state, mut connections) = group.at(end, hosts);
        let subflow = state.meta.next_subflow(now, &mut connections)?;
        Some(end.of_slot(group.slots[end as usize][subflow]))
    }

    /// Passes an event of a subflow on to its meta.
    pub(crate) fn on_subflow_event(&mut self, now: Time, endpoint: EndpointId, event: Event) {
        let host = &mut self.hosts[endpoint];
        match event {
            Event::Reduction(until) => host.on_decision(now, true, until),
            Event::NoReduction(until) => host.on_decision(now, false, until),
            Event::ErrorReport(offset) => host.on_report(now, offset),
            _ => {}
        }
        let Some((head, subflow)) = self.pool.place_in_group(endpoint.slot()) else { return };
        if is_former(self, endpoint) {
            return;
        }
        if let Some((group, hosts)) = self.group(head) {
            let (state, mut connections) = group.at(End::of(endpoint), hosts);
            state.meta.on_event(now, subflow, event, &mut connections);
        }
    }

    /// Processes the events of the end of a group. Returns whether it is established now.
    pub(crate) fn group_events(&mut self, now: Time, endpoint: EndpointId, recorder: &mut Recorder) -> bool {
        let head = self.head_of(endpoint);
        let (end, mut is_new) = (End::of(endpoint), false);
        while let Some((group, hosts)) = self.group(head.slot()) {
            let Some(event) = group.ends[end as usize].meta.poll() else { break };
            match event {
                MultiEvent::Established => is_new = true,
                MultiEvent::Rejoins(subflow) => reopen(self, now, head, subflow),
                // An end that has received all data closes, too.
                MultiEvent::PeerFinished => group.close(now, end, hosts),
                MultiEvent::Aborted(_) if !std::mem::replace(&mut group.has_failed, true) => {
                    self.on_abort(now, head.slot());
                }
                _ => {}
            }
            self.record_group_event(now, head, event, recorder);
        }
        is_new
    }

    fn record_group_event(&self, now: Time, head: EndpointId, event: MultiEvent, recorder: &mut Recorder) {
        let host = &self.hosts[head];
        if !recorder.wants_decisions || !host.sends_data {
            return;
        }
        let first = self.flows[host.flow].lane.id.index();
        let of_path = |subflow: usize| self.entity_of[LaneId::new(first + subflow)];
        let earlier = |subflow| match self.pool.sessions[head.slot()].group.as_deref() {
            Some(GroupPart::Head(group)) => group.ends[head.side()].meta.subflow(subflow).joins.saturating_sub(1),
            _ => 0,
        };
        let (of, kind, value) = match event {
            MultiEvent::Established if head.is_opener() => (host.flow, EventKind::Established, 0),
            MultiEvent::Joined(subflow) => (of_path(subflow), EventKind::SubflowJoined, earlier(subflow)),
            MultiEvent::Failed(subflow) => (of_path(subflow), EventKind::SubflowFailed, 0),
            MultiEvent::Restored(subflow) => (of_path(subflow), EventKind::SubflowRestored, 0),
            MultiEvent::Reset(subflow, reset) => (of_path(subflow), EventKind::SubflowReset, reset.reason as u64),
            MultiEvent::Reinjected { dsn, to, .. } => (of_path(to), EventKind::Reinjected, dsn),
            MultiEvent::Penalised(subflow) => (of_path(subflow), EventKind::Penalised, 0),
            MultiEvent::ZeroWindow(offset) => (host.flow, EventKind::ZeroWindow, offset),
            MultiEvent::Aborted(offset) => (host.flow, EventKind::Aborted, offset),
            _ => return,
        };
        recorder.on_event(now, of, kind, value);
    }

    /// Ends the wait of the application at the end of a group, if its goal is reached. Returns whether it is.
    pub(crate) fn end_group_wait(&mut self, now: Time, endpoint: EndpointId, recorder: &mut Recorder) -> bool {
        let head = self.head_of(endpoint);
        let goal = self.hosts[head].awaits;
        let is_over = self.group(head.slot()).is_some_and(|(group, _)| group.has_reached(End::of(head), goal));
        if is_over {
            self.on_wait_over(now, head, recorder);
        }
        is_over
    }

    /// Notes the limits of the end of a group, and records the state of its senders and receiver. Sets the timer of its host.
    pub(crate) fn settle_group(&mut self, now: Time, endpoint: EndpointId, recorder: &mut Recorder) {
        let head = self.head_of(endpoint);
        self.note_limits(now, head);
        if recorder.wants_flow_series {
            self.record_group(now, head, recorder);
        }
        if let Some((group, _)) = self.group(head.slot()) {
            let at = group.ends[head.side()].next_wakeup();
            self.hosts[head].timer = at;
        }
    }

    fn note_limits(&mut self, now: Time, head: EndpointId) {
        let mut subflow = 0;
        while let Some(endpoint) = self.sibling(head, subflow) {
            let host = &mut self.hosts[endpoint];
            let multi = self.flows[host.flow].multi.as_deref_mut();
            if let (true, Some(multi)) = (host.has_new_limit(), multi) {
                host.turn(now, &mut multi.paths[subflow].downtime);
            }
            subflow += 1;
        }
        let Some((group, hosts)) = self.group(head.slot()) else { return };
        let (end, mut connections) = group.at(End::of(head), hosts);
        let limit = end.meta.send_limit(&mut connections).map(|(limit, _)| limit);
        if let Some(stopwatch) = end.stopwatch.as_mut().filter(|stopwatch| stopwatch.limit != limit) {
            stopwatch.turn_to(now, limit);
        }
    }

    /// Records the series of a flow over several paths, and of its subflows.
    fn record_group(&mut self, now: Time, head: EndpointId, recorder: &mut Recorder) {
        let flow = self.hosts[head].flow;
        if self.flows[flow].newest_slot().is_none_or(|slot| slot != head.slot()) {
            return;
        }
        let is_sender = self.is_recorded(head);
        let Some((group, _)) = self.group(head.slot()) else { return };
        let held = group.ends[head.side()].meta.held_bytes();
        if !is_sender {
            return recorder.on_sender(now, flow, |series| match series {
                SenderSeries::HeldBytes => Some(held as f64),
                _ => None,
            });
        }
        let limit = group.ends[head.side()].stopwatch.as_ref().and_then(|stopwatch| stopwatch.limit);
        let sum = |of: fn(&bentpipe_tcp::Connection) -> u64| -> f64 {
            self.siblings(head).map(|endpoint| of(&self.hosts[endpoint].conn)).sum::<u64>() as f64
        };
        recorder.on_sender(now, flow, |series| match series {
            SenderSeries::Cwnd => Some(sum(bentpipe_tcp::Connection::cwnd)),
            SenderSeries::FlightSize => Some(sum(bentpipe_tcp::Connection::flight_size)),
            SenderSeries::LimitedBy => Some(limit.map_or(0.0, |limit| f64::from(limit as u8 + 1))),
            _ => None,
        });
        let first = self.flows[flow].lane.id.index();
        for (subflow, endpoint) in self.siblings(head).enumerate() {
            let entity = self.entity_of[LaneId::new(first + subflow)];
            self.hosts[endpoint].record_as(now, entity, recorder);
        }
    }

    /// Notifies the ends of all groups of a change of their routes, after the start of the run. Returns the endpoints whose
    /// timers have changed. A session that opens later needs no notice: no subflow opens over a route that is down.
    pub(crate) fn tell_groups(&mut self, now: Time, change: &Change) -> Vec<EndpointId> {
        let mut told = Vec::new();
        for flow in FlowId::all(self.flows.len()) {
            let state = &mut self.flows[flow];
            let Some(multi) = state.multi.as_deref_mut() else { continue };
            let first = state.lane.id.index();
            let notices = multi.notices_of(first, change);
            if !multi.is_told() || notices.is_empty() || now == Time::ZERO {
                continue;
            }
            let at = now + multi.config.reinject.notice;
            for (slot, end) in
                self.pool.heads_of(flow, &self.hosts).into_iter().flat_map(|slot| End::BOTH.map(|end| (slot, end)))
            {
                let Some((group, hosts)) = self.group(slot) else { continue };
                let state = &mut group.ends[end as usize];
                state.notices.extend(notices.iter().map(|&(subflow, is_up)| (at, subflow, is_up)));
                let head = end.of_slot(slot);
                hosts[head].timer = state.next_wakeup();
                told.push(head);
            }
        }
        told
    }
}

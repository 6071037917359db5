//! Critical paths: the parts of the time of each transfer and datagram, recorded as the series `critical_path`.
//!
//! Each packet carries a [trail](trail::Trail), which goes back to the start of its transfer. A host sends because a packet
//! arrives, or because a timer expires that was set then: the new packet takes over the trail, and adds its own time. The
//! trail of the packet that completes a transfer is the critical path. Its shares add up to the time of the transfer (Barford
//! and Crovella, Critical Path Analysis of TCP Transactions, 2001).
//!
//! The subflows of a connection over several paths share its transfer: a subflow that has no trail of it, or sends because of an
//! arrival, takes over the newest one at its end.
//!
//! No link runs ahead of time then, and no result changes. A packet made by a middlebox has the trail of the last packet of
//! its connection that reached the node.

mod queues;
mod trail;

use super::witness::Scene;
use crate::link::Service;
use crate::record::{LossPlace, Names};
use crate::traffic::{EngineEnd, Traffic};
use bentpipe_model::dictionary::{CriticalPathRow, PathPart, Table};
use bentpipe_model::ids::{EndpointId, FlowId, LaneId, LinkId, NodeId};
use bentpipe_model::packet::{Packet, PacketKind};
use bentpipe_model::spec::{App, Scenario};
use bentpipe_tcp::{Flags, SendLimit};
use bentpipe_units::Time;
use queues::LinkTrails;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use trail::{PacketKey, PathShare, Spent, Story, Trail, DATAGRAM};

/// The series that enables critical paths.
pub(crate) const SERIES: &str = bentpipe_model::dictionary::CRITICAL_PATH_SERIES.0;

/// The trails of a run.
#[derive(Clone, Debug)]
pub(super) struct CriticalPaths {
    /// Trails of packets at nodes: they arrived, or left a host or an absent link, at this instant. Several may wait for
    /// their steps.
    in_hand: VecDeque<(PacketKey, Trail)>,
    links: Vec<LinkTrails>,
    /// The last arrival at each endpoint.
    ends: Vec<Option<EndTrail>>,
    /// The last arrival of each flow whose connections share one transfer.
    flows: Vec<Option<Trail>>,
    /// The last trail of each connection at a node with middleboxes.
    nodes: BTreeMap<(NodeId, LaneId, u32), Trail>,
    /// Whether each node has middleboxes.
    has_boxes: Vec<bool>,
    stories: Vec<StoryState>,
    acting: Acting,
    /// The first flow of each flow's entry.
    groups: Vec<FlowId>,
    sums: BTreeMap<(FlowId, PathShare), Spent>,
    /// Counted transfers and datagrams, by flow.
    counts: Vec<u64>,
}

/// The last arrival at an endpoint.
#[derive(Clone, Debug)]
struct EndTrail {
    trail: Trail,
    /// The limit of its sender before the arrival.
    limit: Option<SendLimit>,
    in_slow_start: bool,
    has_data: bool,
}

#[derive(Clone, Copy, Debug)]
struct StoryState {
    start: Time,
    is_over: bool,
}

/// The reason why an endpoint acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acting {
    OnArrival,
    OnTimer,
    ForApplication,
}

impl CriticalPaths {
    /// The trails of a run, if its record has the series. `has_boxes` tests whether a node has middleboxes.
    pub(super) fn of(scenario: &Scenario, has_boxes: impl Fn(NodeId) -> bool) -> Option<Box<Self>> {
        let is_asked = scenario.record.series.iter().any(|name| name == SERIES);
        is_asked.then(|| {
            let first = |flow: &bentpipe_model::spec::Flow| {
                let index = scenario.flows.iter().position(|other| Arc::ptr_eq(&other.app, &flow.app));
                FlowId::new(index.unwrap_or_default())
            };
            Box::new(Self {
                in_hand: VecDeque::new(),
                links: scenario.links.iter().map(|_| LinkTrails::default()).collect(),
                ends: Vec::new(),
                flows: vec![None; scenario.flows.len()],
                nodes: BTreeMap::new(),
                has_boxes: NodeId::all(scenario.nodes.len()).map(has_boxes).collect(),
                stories: Vec::new(),
                acting: Acting::OnArrival,
                groups: scenario.flows.iter().map(first).collect(),
                sums: BTreeMap::new(),
                counts: vec![0; scenario.flows.len()],
            })
        })
    }

    fn begin(&mut self, now: Time) -> Trail {
        self.stories.push(StoryState { start: now, is_over: false });
        Trail::new((self.stories.len() - 1) as Story, now)
    }

    fn is_over(&self, story: Story) -> bool {
        self.stories.get(story as usize).is_some_and(|story| story.is_over)
    }

    fn end(&self, endpoint: EndpointId) -> Option<&EndTrail> {
        self.ends.get(endpoint.index())?.as_ref()
    }

    /// Returns the endpoint with the newest trail of a transfer in progress, of those of all subflows of a connection at one end.
    fn newest(&self, siblings: impl Iterator<Item = EndpointId>) -> Option<EndpointId> {
        let in_progress = |end: EndpointId| Some(self.end(end)?.trail.at).filter(|_| !self.is_at_rest(end));
        siblings.filter_map(|end| Some((in_progress(end)?, end))).max_by_key(|(at, _)| *at).map(|(_, end)| end)
    }

    /// Whether no transfer is in progress at an endpoint.
    fn is_at_rest(&self, endpoint: EndpointId) -> bool {
        self.end(endpoint).is_none_or(|end| self.is_over(end.trail.story))
    }

    /// Clears the trails of a slot that another connection takes.
    pub(super) fn open(&mut self, slot: usize) {
        for end in EndpointId::both(slot) {
            if let Some(trail) = self.ends.get_mut(end.index()) {
                *trail = None;
            }
        }
    }

    /// Notes the trail of a packet at a node, at this instant. Trails of earlier instants belong to packets that ended there.
    fn hold(&mut self, key: PacketKey, trail: Trail) {
        while self.in_hand.front().is_some_and(|(_, earlier)| earlier.at < trail.at) {
            self.in_hand.pop_front();
        }
        self.in_hand.push_back((key, trail));
    }

    /// The trail of a packet at a node; otherwise the trail of the last packet of its connection at `node`.
    fn take(&mut self, now: Time, packet: &Packet, node: NodeId) -> Option<Trail> {
        let key = PacketKey::of(packet);
        if let Some(trail) = trail::take(&mut self.in_hand, key).filter(|trail| trail.at == now) {
            return Some(trail);
        }
        let mut trail = self.nodes.get(&(node, packet.lane(), packet.connection()))?.clone();
        trail.spend(now, PathShare::at(PathPart::Middlebox, node));
        Some(trail)
    }

    fn add(&mut self, flow: FlowId, trail: &Trail) {
        self.counts[flow] += 1;
        for &(share, spent) in trail.shares() {
            self.sums.entry((flow, share)).or_default().add(spent, 1.0);
        }
    }

    /// Adds a transfer that began at `start` and is complete at this endpoint.
    fn complete(&mut self, now: Time, flow: FlowId, endpoint: EndpointId, start: Time) {
        let story = self.end(endpoint).map(|end| end.trail.story);
        let known = story.and_then(|story| self.stories.get_mut(story as usize)).filter(|story| !story.is_over);
        let begins = known.map(|story| {
            story.is_over = true;
            story.start
        });
        let mut trail = match self.end(endpoint).filter(|_| begins == Some(start)) {
            Some(end) => end.trail.clone(),
            None => Trail::new(DATAGRAM, start),
        };
        trail.spend(now, PathShare::of(PathPart::Rest));
        self.add(flow, &trail);
        self.flows[flow] = None;
    }

    pub(super) fn table(&self, names: &Names<'_>) -> Table {
        CriticalPathRow::table(self.sums.iter().map(|(&(flow, share), spent)| CriticalPathRow {
            flow: names.flows[flow],
            part: share.part.name(),
            place: share.place.map_or("", |place| place.name(names)),
            by: share.by.map_or("", |flow| names.flows[flow]),
            total_s: spent.time_s,
            trips: spent.trips,
            transfers: self.counts[flow],
        }))
    }
}

/// Bytes of the shortest datagram of an engine that is taken for one with data: others acknowledge.
const LEAST_DATA: u16 = 100;

/// The part of the time for new data with this limit.
fn trip_of(end: &EndTrail) -> PathPart {
    match end.limit {
        Some(SendLimit::StartUp) => PathPart::SlowStart,
        Some(SendLimit::CongestionWindow) if end.in_slow_start => PathPart::SlowStart,
        Some(SendLimit::CongestionWindow) => PathPart::Window,
        Some(SendLimit::ReceiveWindow) => PathPart::ReceiveWindow,
        Some(SendLimit::SendBuffer) => PathPart::SendBuffer,
        Some(SendLimit::Recovery | SendLimit::Timeout) => PathPart::Repair,
        Some(SendLimit::Application) | None => PathPart::Exchange,
    }
}

impl CriticalPaths {
    /// Notes why an endpoint wakes up.
    #[cold]
    pub(super) fn on_wakeup(&mut self, scene: Scene<'_>, endpoint: EndpointId) {
        let is_application = scene.traffic.is_application_due(scene.now, endpoint);
        self.note_acting(if is_application { Acting::ForApplication } else { Acting::OnTimer });
    }

    /// Notes why an endpoint acts.
    pub(super) fn note_acting(&mut self, acting: Acting) {
        self.acting = acting;
    }

    /// Takes the trail of a packet that reaches the far end of a link, the node `node`.
    pub(super) fn on_delivery(&mut self, link: LinkId, node: NodeId, packet: &Packet) {
        let key = PacketKey::of(packet);
        let Some(trail) = self.links[link].arrive(key) else { return };
        if self.has_boxes[node] && !packet.is_damaged() {
            self.nodes.insert((node, packet.lane(), packet.connection()), trail.clone());
        }
        self.hold(key, trail);
    }

    /// Gives a link the trail of a packet that `node` offers to it.
    pub(super) fn on_offer(&mut self, at: Time, link: LinkId, node: NodeId, packet: &Packet) {
        if let Some(trail) = self.take(at, packet, node) {
            self.links[link].offer(PacketKey::of(packet), trail);
        }
    }

    /// Adds the services of a link to the trails of its packets.
    pub(super) fn on_services(&mut self, scenario: &Scenario, link: LinkId, services: Vec<Service>) {
        for service in services {
            let group = self.groups[scenario.lanes[service.packet.lane()].flow];
            self.links[link].serve(link, group, &service);
        }
    }

    /// Gives a copy of a packet, for another receiver, the trail of the packet.
    pub(super) fn on_copy(&mut self, packet: &Packet, copy: &Packet) {
        let key = PacketKey::of(packet);
        if let Some((_, trail)) = self.in_hand.iter().find(|(each, _)| *each == key) {
            let trail = trail.clone();
            self.in_hand.push_back((PacketKey::of(copy), trail));
        }
    }

    /// Takes the trails of packets that leave the queue of an absent link.
    pub(super) fn on_absence(&mut self, now: Time, link: LinkId) {
        for (key, trail) in self.links[link].leave(link, now) {
            self.hold(key, trail);
        }
    }

    /// Starts the trail of a packet that a host sends. The last arrival caused it, or a wait since then.
    pub(super) fn on_sent(&mut self, scene: Scene<'_>, packet: &Packet) {
        if packet.kind() == PacketKind::Engine {
            return self.on_sent_by_engine(scene, packet);
        }
        let Scene { now, scenario, traffic, .. } = scene;
        let flow = scenario.lanes[packet.lane()].flow;
        if !packet.is_segment() {
            self.hold(PacketKey::of(packet), Trail::new(DATAGRAM, now));
            return;
        }
        let endpoint = packet.endpoint().peer();
        let flags = packet.plain_segment().flags;
        let is_retransmission = packet.plain_segment().is_retransmission;
        // A retransmission for a finished transfer begins no other transfer.
        let begins = endpoint.is_opener() && !is_retransmission && (packet.len > 0 || flags.has(Flags::SYN));
        let is_new = self.is_at_rest(endpoint);
        let of_flow = self.flows[flow].clone().filter(|trail| !self.is_over(trail.story));
        let newest = self.newest(traffic.siblings(endpoint)).filter(|_| !is_new || !is_retransmission);
        // The arrival may be that of another subflow.
        let known = if is_new || self.acting == Acting::OnArrival { newest } else { Some(endpoint) };
        let mut trail = match (known.and_then(|known| self.end(known)), of_flow) {
            (Some(end), _) => end.trail.clone(),
            (None, Some(trail)) => trail,
            (None, None) if begins => self.begin(now),
            // No transfer waits for the answer.
            (None, None) => return,
        };
        let waited = match self.acting {
            Acting::OnArrival => PathPart::Rest,
            Acting::ForApplication => PathPart::Application,
            Acting::OnTimer if is_retransmission => PathPart::Timeout,
            Acting::OnTimer if packet.len == 0 => PathPart::DelayedAck,
            Acting::OnTimer => PathPart::Pacing,
        };
        trail.spend(now, PathShare::of(waited));
        let is_first = traffic.hosts[endpoint].conn.acked_bytes() == 0;
        let trip = match self.end(endpoint).filter(|_| !is_new) {
            _ if flags.has(Flags::SYN) => PathPart::Opening,
            _ if packet.len == 0 => trail.trip,
            _ if is_retransmission => PathPart::Repair,
            Some(end) if !end.has_data && !is_first && self.acting != Acting::ForApplication => trip_of(end),
            _ => PathPart::Exchange,
        };
        // It also leads to the next packet that this endpoint sends without an arrival.
        if is_new {
            self.set_end(endpoint, EndTrail { trail: trail.clone(), limit: None, in_slow_start: true, has_data: true });
        }
        trail.trip = trip;
        let [node, _] = scenario.ends(packet.path());
        if self.has_boxes[node] {
            self.nodes.insert((node, packet.lane(), packet.connection()), trail.clone());
        }
        self.hold(PacketKey::of(packet), trail);
    }

    /// Starts the trail of a datagram of an engine. The network cannot see which of them repeat data.
    fn on_sent_by_engine(&mut self, Scene { now, traffic, .. }: Scene<'_>, packet: &Packet) {
        let endpoint = packet.endpoint().peer();
        let is_open = traffic.engine_end(endpoint).is_some_and(EngineEnd::is_established);
        let sends_data = traffic.hosts[endpoint].sends_data;
        let known = self.end(endpoint).filter(|end| !self.is_over(end.trail.story)).cloned();
        let mut trail = match &known {
            Some(end) => end.trail.clone(),
            None if endpoint.is_opener() => self.begin(now),
            None => return,
        };
        let waited = match self.acting {
            Acting::OnArrival => PathPart::Rest,
            Acting::ForApplication => PathPart::Application,
            Acting::OnTimer => PathPart::Pacing,
        };
        trail.spend(now, PathShare::of(waited));
        let trip = match &known {
            _ if !is_open => PathPart::Opening,
            Some(_) if packet.len < LEAST_DATA => trail.trip,
            Some(end) if sends_data => trip_of(end),
            Some(_) => trail.trip,
            None => PathPart::Exchange,
        };
        if known.is_none() {
            let end = EndTrail { trail: trail.clone(), limit: None, in_slow_start: true, has_data: true };
            self.set_end(endpoint, end);
        }
        trail.trip = trip;
        self.hold(PacketKey::of(packet), trail);
    }

    /// Adds the trail of a packet to its host, before the host handles it.
    pub(super) fn on_arrival(&mut self, scene: Scene<'_>, node: NodeId, packet: &Packet) {
        let Scene { now, scenario, traffic, .. } = scene;
        let flow = scenario.lanes[packet.lane()].flow;
        self.acting = Acting::OnArrival;
        let Some(mut trail) = self.take(now, packet, node) else { return };
        trail.end_trip();
        if !packet.is_of_session() {
            if trail.story == DATAGRAM {
                self.add(flow, &trail);
            }
            return;
        }
        let endpoint = packet.endpoint();
        let is_older = self.end(endpoint).is_some_and(|end| end.trail.story > trail.story);
        if trail.story == DATAGRAM || self.is_over(trail.story) || is_older {
            return;
        }
        if let Some(engine) = traffic.engine_end(endpoint) {
            let state = engine.state();
            let in_slow_start = state.ssthresh.is_none_or(|ssthresh| state.cwnd < ssthresh);
            // Before this packet: data that was waiting then leaves because of it, and new data answers it.
            let limit = engine.has_more().then_some(SendLimit::CongestionWindow);
            return self.set_end(endpoint, EndTrail { trail, limit, in_slow_start, has_data: true });
        }
        let conn = &traffic.hosts[endpoint].conn;
        let in_slow_start = conn.ssthresh().is_none_or(|ssthresh| conn.cwnd() < ssthresh);
        if endpoint.is_opener() && matches!(*scenario.flows[flow].app, App::Page(_)) {
            self.flows[flow] = Some(trail.clone());
        }
        let limit = conn.report().send_limit();
        self.set_end(endpoint, EndTrail { trail, limit, in_slow_start, has_data: packet.len > 0 });
    }

    /// Removes the trail of a lost packet.
    pub(super) fn on_loss(&mut self, place: LossPlace, packet: &Packet, is_last: bool) {
        if let LossPlace::Link(link) = place {
            self.links[link].lose(PacketKey::of(packet), is_last);
        }
    }

    /// Adds transfers that are complete once the wait of the application is over, each given by its start.
    #[cold]
    pub(super) fn on_completions(&mut self, scene: Scene<'_>, endpoint: EndpointId, complete: Vec<Time>) {
        let Scene { now, scenario, traffic, .. } = scene;
        let flow = traffic.hosts[endpoint].flow;
        let endpoint = self.newest(traffic.siblings(endpoint)).unwrap_or(endpoint);
        for start in complete {
            self.complete(now, flow, endpoint, start);
        }
        let is_single = scenario.flows[flow].app.is_single();
        if is_single && traffic.flows[flow].completed.is_some() && self.counts[flow] == 0 {
            let start = self.end(endpoint).and_then(|end| self.stories.get(end.trail.story as usize));
            if let Some(start) = start.map(|story| story.start) {
                self.complete(now, flow, endpoint, start);
            }
        }
    }

    /// Ends the trail of a connection of a flow that gave up.
    pub(super) fn on_failure(&mut self, flow: FlowId) {
        self.flows[flow] = None;
    }

    /// Adds the trails of flows that never end.
    pub(super) fn end_all(&mut self, scenario: &Scenario, traffic: &Traffic) {
        for flow in FlowId::all(scenario.flows.len()) {
            let is_open = scenario.flows[flow].app.is_single() && self.counts[flow] == 0;
            let listener = traffic.flows[flow].newest_slot().filter(|_| is_open).map(EndpointId::listener);
            let newest = listener.map(|end| self.newest(traffic.siblings(end)).unwrap_or(end));
            if let Some(trail) = newest.and_then(|end| self.end(end)).map(|end| end.trail.clone()) {
                self.add(flow, &trail);
            }
        }
    }

    fn set_end(&mut self, endpoint: EndpointId, end: EndTrail) {
        let index = endpoint.index();
        if index >= self.ends.len() {
            self.ends.resize(index + 1, None);
        }
        self.ends[index] = Some(end);
    }
}

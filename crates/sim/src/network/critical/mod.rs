//! Critical paths: the time of each transfer and datagram by its use, kept with the series `critical_path`.
//!
//! Each packet carries a [trail](trail::Trail), which goes back to the start of its transfer. A host sends because a packet
//! arrives, or because a timer expires that was set then: the new packet takes over the trail, and adds its own time. The
//! trail of the packet that completes a transfer is the critical path. Its shares add up to the time of the transfer (Barford
//! and Crovella, Critical Path Analysis of TCP Transactions, 2001).
//!
//! The subflows of a connection over several paths share its transfer: a subflow that has no trail of it takes over the newest
//! one at its end.
//!
//! No link runs ahead of time then, and no result changes. A packet made by a middlebox has the trail of the last packet of
//! its connection that reached the node.

mod queues;
mod trail;

use super::Network;
use crate::dictionary::{CriticalPathRow, PathPart, Table};
use crate::ids::{EndpointId, FlowId, LaneId, LinkId, NodeId};
use crate::packet::{Packet, PacketKind};
use crate::record::{LossPlace, Names};
use crate::spec::{App, Scenario};
use crate::traffic::Traffic;
use bentpipe_tcp::{Flags, SendLimit};
use bentpipe_units::Time;
use queues::LinkTrails;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use trail::{PacketKey, PathShare, Spent, Story, Trail, DATAGRAM};

/// The series that enables critical paths.
pub(crate) const SERIES: &str = crate::dictionary::CRITICAL_PATH_SERIES.0;

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
    /// The trails of a run, if its record has the series.
    pub(super) fn of(scenario: &Scenario) -> Option<Box<Self>> {
        let is_asked = scenario.record.series.iter().any(|name| name == SERIES);
        is_asked.then(|| {
            let first = |flow: &crate::spec::Flow| {
                let index = scenario.flows.iter().position(|other| Arc::ptr_eq(&other.app, &flow.app));
                FlowId::new(index.unwrap_or_default())
            };
            Box::new(Self {
                in_hand: VecDeque::new(),
                links: scenario.links.iter().map(|_| LinkTrails::default()).collect(),
                ends: Vec::new(),
                flows: vec![None; scenario.flows.len()],
                nodes: BTreeMap::new(),
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

impl Network {
    /// Notes why an endpoint wakes up.
    #[cold]
    pub(super) fn trace_wakeup(&mut self, endpoint: EndpointId) {
        let is_application = self.traffic.is_application_due(self.now, endpoint);
        self.note_acting(if is_application { Acting::ForApplication } else { Acting::OnTimer });
    }

    /// Notes why an endpoint acts.
    pub(super) fn note_acting(&mut self, acting: Acting) {
        if let Some(paths) = &mut self.observers.critical {
            paths.acting = acting;
        }
    }

    /// Moves the head of a link's ring to the next node, with its trail.
    #[cold]
    #[inline(never)]
    pub(super) fn deliver_traced(&mut self, index: LinkId) {
        let far_end = self.far_ends[index];
        let link = &mut self.links[index];
        link.advance(self.now, &mut self.losses);
        let front = link.front(self.now).copied();
        if front.is_some() {
            link.drop_front();
        }
        self.schedule.set_next(self.links[index].next_event());
        self.trace_services(index);
        self.count_losses(index);
        let Some(mut packet) = front else { return };
        let has_boxes = !self.nodes[far_end.node].boxes.is_empty();
        if let Some(paths) = &mut self.observers.critical {
            let key = PacketKey::of(&packet);
            let trail = paths.links[index].arrive(key);
            if let (Some(trail), true) = (&trail, has_boxes && !packet.is_damaged()) {
                paths.nodes.insert((far_end.node, packet.lane(), packet.connection()), trail.clone());
            }
            if let Some(trail) = trail {
                paths.hold(key, trail);
            }
        }
        if packet.is_damaged() && self.ends_at(index, &packet) {
            return;
        }
        if far_end.is_asked {
            return self.enter_node(self.now, far_end.node, &mut packet);
        }
        self.forward(far_end.node, &mut packet);
    }

    /// Offers a packet to a link, with its trail.
    #[cold]
    #[inline(never)]
    pub(super) fn enter_traced(&mut self, at: Time, index: LinkId, packet: &mut Packet) {
        let node = self.scenario.links[index].from;
        packet.at = at;
        if let Some(paths) = &mut self.observers.critical {
            if let Some(trail) = paths.take(at, packet, node) {
                paths.links[index].offer(PacketKey::of(packet), trail);
            }
        }
        if let Some(at) = self.links[index].accept_any(at, packet, &mut self.losses) {
            self.schedule.set(crate::engine::Source::Link(index), at);
        }
        self.note_offered(index);
        self.trace_services(index);
        self.count_losses(index);
    }

    pub(super) fn trace_services(&mut self, index: LinkId) {
        let services = self.links[index].take_services();
        let Some(paths) = &mut self.observers.critical else { return };
        for service in services {
            let group = paths.groups[self.scenario.lanes[service.packet.lane()].flow];
            paths.links[index].serve(index, group, &service);
        }
    }

    /// Gives a copy of a packet, for another receiver, the trail of the packet.
    pub(super) fn trace_copy(&mut self, packet: &Packet, copy: &Packet) {
        let Some(paths) = &mut self.observers.critical else { return };
        let key = PacketKey::of(packet);
        if let Some((_, trail)) = paths.in_hand.iter().find(|(each, _)| *each == key) {
            let trail = trail.clone();
            paths.in_hand.push_back((PacketKey::of(copy), trail));
        }
    }

    /// Takes the trails of packets that leave the queue of an absent link.
    pub(super) fn trace_absence(&mut self, index: LinkId) {
        self.trace_services(index);
        let now = self.now;
        if let Some(paths) = &mut self.observers.critical {
            for (key, trail) in paths.links[index].leave(index, now) {
                paths.hold(key, trail);
            }
        }
    }

    /// Starts the trail of a packet that a host sends. The last arrival caused it, or a wait since then.
    pub(super) fn trace_sent(&mut self, packet: &Packet) {
        if packet.kind() == PacketKind::Engine {
            return self.trace_sent_by_engine(packet);
        }
        let (now, flow) = (self.now, self.flow_of(packet));
        let Some(paths) = &mut self.observers.critical else { return };
        if !packet.is_segment() {
            paths.hold(PacketKey::of(packet), Trail::new(DATAGRAM, now));
            return;
        }
        let endpoint = packet.endpoint().peer();
        let flags = packet.plain_segment().flags;
        let is_retransmission = packet.plain_segment().is_retransmission;
        // A retransmission for a finished transfer begins no other transfer.
        let begins = endpoint.is_opener() && !is_retransmission && (packet.len > 0 || flags.has(Flags::SYN));
        let is_new = paths.is_at_rest(endpoint);
        let of_flow = paths.flows[flow].clone().filter(|trail| !paths.is_over(trail.story));
        let newest = paths.newest(self.traffic.siblings(endpoint)).filter(|_| !is_new || !is_retransmission);
        let known = if is_new { newest } else { Some(endpoint) };
        let mut trail = match (known.and_then(|known| paths.end(known)), of_flow) {
            (Some(end), _) => end.trail.clone(),
            (None, Some(trail)) => trail,
            (None, None) if begins => paths.begin(now),
            // No transfer waits for the answer.
            (None, None) => return,
        };
        let waited = match paths.acting {
            Acting::OnArrival => PathPart::Rest,
            Acting::ForApplication => PathPart::Application,
            Acting::OnTimer if is_retransmission => PathPart::Timeout,
            Acting::OnTimer if packet.len == 0 => PathPart::DelayedAck,
            Acting::OnTimer => PathPart::Pacing,
        };
        trail.spend(now, PathShare::of(waited));
        let is_first = self.traffic.hosts[endpoint].conn.acked_bytes() == 0;
        let trip = match paths.end(endpoint).filter(|_| !is_new) {
            _ if flags.has(Flags::SYN) => PathPart::Opening,
            _ if packet.len == 0 => trail.trip,
            _ if is_retransmission => PathPart::Repair,
            Some(end) if !end.has_data && !is_first && paths.acting != Acting::ForApplication => trip_of(end),
            _ => PathPart::Exchange,
        };
        // It also leads to the next packet that this endpoint sends without an arrival.
        if is_new {
            paths
                .set_end(endpoint, EndTrail { trail: trail.clone(), limit: None, in_slow_start: true, has_data: true });
        }
        trail.trip = trip;
        let [node, _] = self.scenario.ends(packet.path());
        if !self.nodes[node].boxes.is_empty() {
            paths.nodes.insert((node, packet.lane(), packet.connection()), trail.clone());
        }
        paths.hold(PacketKey::of(packet), trail);
    }

    /// Starts the trail of a datagram of an engine. The network cannot see which of them repeat data.
    fn trace_sent_by_engine(&mut self, packet: &Packet) {
        let endpoint = packet.endpoint().peer();
        let is_open = self.traffic.is_engine_established(endpoint);
        let sends_data = self.traffic.hosts[endpoint].sends_data;
        let now = self.now;
        let Some(paths) = &mut self.observers.critical else { return };
        let known = paths.end(endpoint).filter(|end| !paths.is_over(end.trail.story)).cloned();
        let mut trail = match &known {
            Some(end) => end.trail.clone(),
            None if endpoint.is_opener() => paths.begin(now),
            None => return,
        };
        let waited = match paths.acting {
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
            paths.set_end(endpoint, end);
        }
        trail.trip = trip;
        paths.hold(PacketKey::of(packet), trail);
    }

    /// Adds the trail of a packet to its host, before the host handles it.
    pub(super) fn trace_arrival(&mut self, node: NodeId, packet: &Packet) {
        let (now, flow) = (self.now, self.flow_of(packet));
        let Some(paths) = &mut self.observers.critical else { return };
        paths.acting = Acting::OnArrival;
        let Some(mut trail) = paths.take(now, packet, node) else { return };
        trail.end_trip();
        if !packet.is_of_session() {
            if trail.story == DATAGRAM {
                paths.add(flow, &trail);
            }
            return;
        }
        let endpoint = packet.endpoint();
        let is_older = paths.end(endpoint).is_some_and(|end| end.trail.story > trail.story);
        if trail.story == DATAGRAM || paths.is_over(trail.story) || is_older {
            return;
        }
        if let Some(state) = self.traffic.engine_state(endpoint) {
            let in_slow_start = state.ssthresh.is_none_or(|ssthresh| state.cwnd < ssthresh);
            // Before this packet: data that was waiting then leaves because of it, and new data answers it.
            let limit = self.traffic.engine_has_more(endpoint).then_some(SendLimit::CongestionWindow);
            return paths.set_end(endpoint, EndTrail { trail, limit, in_slow_start, has_data: true });
        }
        let conn = &self.traffic.hosts[endpoint].conn;
        let in_slow_start = conn.ssthresh().is_none_or(|ssthresh| conn.cwnd() < ssthresh);
        if endpoint.is_opener() && matches!(*self.scenario.flows[flow].app, App::Page(_)) {
            paths.flows[flow] = Some(trail.clone());
        }
        let limit = conn.report().send_limit();
        paths.set_end(endpoint, EndTrail { trail, limit, in_slow_start, has_data: packet.len > 0 });
    }

    /// Removes the trail of a lost packet.
    pub(super) fn trace_loss(&mut self, place: LossPlace, packet: &Packet, is_last: bool) {
        let Some(paths) = &mut self.observers.critical else { return };
        let key = PacketKey::of(packet);
        if let LossPlace::Link(link) = place {
            paths.links[link].lose(key, is_last);
        }
    }

    /// Adds transfers that are complete once the wait of the application is over.
    #[cold]
    pub(super) fn trace_completions(&mut self, endpoint: EndpointId) {
        let flow = self.traffic.hosts[endpoint].flow;
        let complete = self.recorder.take_transfers();
        let Some(paths) = &mut self.observers.critical else { return };
        let endpoint = paths.newest(self.traffic.siblings(endpoint)).unwrap_or(endpoint);
        for start in complete {
            paths.complete(self.now, flow, endpoint, start);
        }
        let state = &self.traffic.flows[flow];
        let is_single = self.scenario.flows[flow].app.is_single();
        if is_single && state.completed.is_some() && paths.counts[flow] == 0 {
            let start = paths.end(endpoint).and_then(|end| paths.stories.get(end.trail.story as usize));
            if let Some(start) = start.map(|story| story.start) {
                paths.complete(self.now, flow, endpoint, start);
            }
        }
    }

    /// Ends the trail of a connection that gave up.
    pub(super) fn trace_failure(&mut self, endpoint: EndpointId) {
        let flow = self.traffic.hosts[endpoint].flow;
        if let Some(paths) = &mut self.observers.critical {
            paths.flows[flow] = None;
        }
    }

    /// Adds transfers without an end, up to the last packet that their receivers got.
    pub(super) fn trace_end(&mut self) {
        if let Some(paths) = &mut self.observers.critical {
            paths.end_all(&self.scenario, &self.traffic);
        }
    }
}

impl CriticalPaths {
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

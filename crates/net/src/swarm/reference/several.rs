//! Packets for several receivers, subflows over several paths, and losses, in the naive engine.

use super::Reference;
use crate::link::Losses;
use crate::record::{LossPlace, LossSize};
use crate::swarm::happening::Happening;
use crate::swarm::receivers::{heads, leaving, losing, Step};
use crate::swarm::routes::NaiveRoutes;
use crate::traffic::{event_kind, formers, is_former};
use bentpipe_model::dictionary::Cause;
use bentpipe_model::ids::{EndpointId, FlowId, LinkId, MediumId, NodeId};
use bentpipe_model::packet::{Packet, PacketKind};
use bentpipe_model::spec::Change;

impl Reference<'_> {
    /// Returns the flow of a packet.
    pub(super) fn flow_of(&self, packet: &Packet) -> FlowId {
        self.scenario.lanes[packet.lane()].flow
    }

    /// Whether a packet has one receiver.
    pub(super) fn is_for_one(&self, packet: &Packet) -> bool {
        let (flow, flows) = (self.flow_of(packet), &self.scenario.flows);
        let is_data = packet.kind() == PacketKind::Datagram && !packet.is_to_sender();
        !is_data || flows[flow].copy_of.is_none() && flows.iter().all(|other| other.copy_of != Some(flow))
    }

    /// Sends a packet that has crossed `links` to all its receivers: the packet itself comes last.
    pub(super) fn forward_to_several(&mut self, node: NodeId, packet: Packet, links: usize) {
        let mut parts = leaving(self.scenario, self.flow_of(&packet), links);
        let own = parts.remove(0);
        for (number, (step, of)) in parts.iter().chain([&own]).enumerate() {
            let mut copy = match number < parts.len() {
                true => {
                    self.ledger.sent += 1;
                    self.bodies.copy_of(&packet).on_lane(self.scenario.flows[of[0]].lane)
                }
                false => packet,
            };
            let next = NaiveRoutes::place(self.scenario.flows[of[0]].lane, links);
            match *step {
                Step::Way(_) => self.forward_one(node, copy, next),
                Step::Frames(id) => {
                    let heads = heads(self.scenario, of, links);
                    let is_it = |place: &usize| {
                        let receivers = &self.broadcasts[*place].receivers;
                        (receivers[0].0, receivers[0].2, self.broadcasts[*place].medium) == (heads[0].0, links, id)
                    };
                    let place = (0..self.broadcasts.len()).find(is_it).expect("a broadcast");
                    copy.next = next;
                    self.offer_to_all(id, place, copy);
                }
            }
        }
    }

    fn offer_to_all(&mut self, id: MediumId, place: usize, packet: Packet) {
        let (queue, mut losses) = (self.scenario.links.len() + place, Losses::new());
        let first = self.broadcasts[place].receivers[0].1;
        self.links[queue].offer_framed(self.now, packet, &mut losses);
        self.links[first].count_refused(losses.len());
        if self.links[queue].waits_for_frame() {
            let at = self.media[id].carrier().arrived(self.now, LinkId::new(queue));
            self.enter(at, Happening::Superframe(id));
        }
        self.lose_all(first, losses);
    }

    /// Returns a lost packet as those of all its receivers.
    fn lost_copies(&self, place: LossPlace, packet: &Packet) -> Vec<Packet> {
        if self.is_for_one(packet) {
            return vec![*packet];
        }
        let links = if packet.next == 0 { 0 } else { NaiveRoutes::links_before(packet.next) };
        let (flow, flows) = (self.flow_of(packet), &self.scenario.flows);
        let next = self.scenario.lane_of(flow).route.get(links);
        let waits = matches!(place, LossPlace::Link(link) if next == Some(&link));
        let all = losing(self.scenario, flow, links, waits);
        std::iter::once(*packet)
            .chain(all.into_iter().filter(|&other| other != flow).map(|other| packet.on_lane(flows[other].lane)))
            .collect()
    }

    pub(super) fn lose_all(&mut self, link: LinkId, losses: Losses) {
        losses.iter().for_each(|(packet, cause)| self.lose(LossPlace::Link(link), packet, *cause));
    }

    pub(super) fn lose(&mut self, place: LossPlace, packet: &Packet, cause: Cause) {
        self.ledger.lost += 1;
        self.bodies.release(packet);
        for packet in self.lost_copies(place, packet) {
            let flow = self.flow_of(&packet);
            self.drops.add(place, flow, cause, packet.size());
            let offset = self.traffic.on_loss(self.now, &packet, cause, self.now);
            let lost = LossSize { bytes: packet.size(), data_bytes: packet.len.into(), offset };
            let entity = self.traffic.entity_of[packet.lane()];
            self.recorder.on_loss(self.now, place, entity, cause, lost);
        }
    }

    /// A segment of a subflow has reached its host.
    pub(super) fn receive_in_group(&mut self, packet: &Packet) {
        self.traffic.group_receives(self.now, packet, &mut self.bodies);
        self.drive_group(packet.endpoint());
    }

    /// Wakes an endpoint of a group. It sends before its siblings get data.
    pub(super) fn act_in_group(&mut self, endpoint: EndpointId) {
        self.traffic.wake_in_group(self.now, endpoint);
        self.take_subflow_events(endpoint);
        self.transmit_by_turns(endpoint);
        self.transmit_subflow(endpoint);
        self.drive_group(endpoint);
    }

    /// Sends what an end of a group has to send, and enters its wake-ups.
    pub(super) fn drive_group(&mut self, endpoint: EndpointId) {
        if is_former(&self.traffic, endpoint) {
            self.transmit(endpoint);
        }
        self.take_subflow_events(endpoint);
        self.transmit_by_turns(endpoint);
        self.traffic.group_events(self.now, endpoint, &mut self.recorder);
        self.traffic.end_group_wait(self.now, endpoint, &mut self.recorder);
        self.transmit_by_turns(endpoint);
        self.traffic.settle_group(self.now, endpoint, &mut self.recorder);
        let siblings: Vec<EndpointId> = self.traffic.siblings(endpoint).collect();
        siblings
            .into_iter()
            .chain(formers(&self.traffic, endpoint).into_iter().flatten())
            .for_each(|sibling| self.enter_end(sibling));
        self.carry_out_tasks();
    }

    /// Notifies groups of a change of the network.
    pub(super) fn tell_groups(&mut self, change: &Change) {
        let told = self.traffic.tell_groups(self.now, change);
        told.into_iter().for_each(|endpoint| self.enter_end(endpoint));
    }

    fn transmit_by_turns(&mut self, endpoint: EndpointId) {
        while let Some(subflow) = self.traffic.next_subflow(self.now, endpoint) {
            self.transmit_subflow(subflow);
        }
    }

    fn transmit_subflow(&mut self, endpoint: EndpointId) {
        self.transmit(endpoint);
        self.take_subflow_events(endpoint);
    }

    fn take_subflow_events(&mut self, endpoint: EndpointId) {
        while let Some(event) = self.traffic.hosts[endpoint].conn.poll() {
            self.traffic.on_subflow_event(self.now, endpoint, event);
            if self.traffic.hosts[endpoint].sends_data {
                if let Some((kind, value)) = event_kind(event, endpoint.is_opener()) {
                    self.note(self.traffic.entity(endpoint), kind, value);
                }
            }
        }
    }
}

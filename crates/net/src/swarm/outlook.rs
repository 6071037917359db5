//! Queues and links out of a node as its middleboxes see them, in the executable specification.

use super::link::NaiveLink;
use super::routes::{end_of, NaiveRoutes};
use crate::traffic::Traffic;
use bentpipe_model::ids::{LinkId, NodeId, PathId};
use bentpipe_model::middlebox::{LinkView, Outlook, QueueView};
use bentpipe_model::packet::{Packet, Request};
use bentpipe_model::spec::Scenario;
use bentpipe_units::{Duration, Time};

/// Links out of a node.
pub(super) struct NaiveOutlook<'a> {
    pub(super) now: Time,
    pub(super) node: NodeId,
    pub(super) links: &'a mut [NaiveLink],
    pub(super) routes: &'a NaiveRoutes,
    pub(super) scenario: &'a Scenario,
    pub(super) traffic: &'a Traffic,
}

impl Outlook for NaiveOutlook<'_> {
    fn queue(&mut self, packet: &Packet) -> Option<QueueView> {
        let link = self.routes.link(self.routes.next(self.node, packet)?)?;
        Some(self.links[link].queue_view(self.now))
    }

    fn link_of(&mut self, packet: &Packet) -> Option<LinkId> {
        self.routes.link(self.routes.next(self.node, packet)?)
    }

    fn link(&mut self, link: LinkId) -> LinkView {
        let (now, spec) = (self.now, &self.scenario.links[link]);
        let link = &self.links[link];
        let (framing, room) = (spec.framing, spec.queue.room());
        LinkView { rate: link.rate_at(now), framing, room, queue: link.queue_view(self.now), up_at: link.up_at(now) }
    }

    fn round_trip(&mut self, packet: &Packet) -> Option<Duration> {
        let scenario = self.scenario;
        let mut sum = Duration::ZERO;
        for path in PathId::both(packet.lane()) {
            let (mut node, end) = (end_of(scenario, path.reverse()), end_of(scenario, path));
            for _ in 0..scenario.nodes.len() {
                let Some(link) = self.routes.link_at(path, node) else { break };
                sum += self.links[link].delay_at(self.now);
                node = scenario.links[link].to;
            }
            if node != end {
                return None;
            }
        }
        Some(sum)
    }

    fn next_node(&self, packet: &Packet) -> Option<NodeId> {
        let link = self.routes.link(self.routes.next(self.node, packet)?)?;
        Some(self.scenario.links[link].to)
    }

    fn request(&self, packet: &Packet) -> Option<Request> {
        self.traffic.request_of(packet)
    }

    fn extract(&mut self, packet: &Packet, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>) {
        let next = self.routes.next(self.node, packet);
        if let Some(link) = next.and_then(|next| self.routes.link(next)) {
            self.links[link].extract(is_meant, left);
        }
    }
}

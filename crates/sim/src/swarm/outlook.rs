//! Queues and links out of a node as its middleboxes see them, in the executable specification.

use super::reference::Reference;
use super::routes::end_of;
use crate::ids::{LinkId, NodeId, PathId};
use crate::middlebox::{Context, LinkView, Middlebox, Outlook, QueueView};
use crate::packet::{Packet, Request};
use bentpipe_units::Duration;

/// Links out of a node.
pub(super) struct NaiveOutlook<'a, 'b> {
    pub(super) node: NodeId,
    pub(super) reference: &'a mut Reference<'b>,
}

impl Outlook for NaiveOutlook<'_, '_> {
    fn queue(&mut self, packet: &Packet) -> Option<QueueView> {
        let link = self.reference.routes.link(self.reference.routes.next(self.node, packet)?)?;
        Some(self.reference.links[link].queue_view())
    }

    fn link_of(&mut self, packet: &Packet) -> Option<LinkId> {
        self.reference.routes.link(self.reference.routes.next(self.node, packet)?)
    }

    fn link(&mut self, link: LinkId) -> LinkView {
        let (now, spec) = (self.reference.now, &self.reference.scenario.links[link]);
        let link = &mut self.reference.links[link];
        let (framing, room) = (spec.framing, spec.queue.room());
        LinkView { rate: link.rate_at(now), framing, room, queue: link.queue_view(), up_at: link.up_at(now) }
    }

    fn round_trip(&mut self, packet: &Packet) -> Option<Duration> {
        let scenario = self.reference.scenario;
        let mut sum = Duration::ZERO;
        for path in [PathId::there(packet.flow()), PathId::back(packet.flow())] {
            let (mut node, end) = (end_of(scenario, path.reverse()), end_of(scenario, path));
            for _ in 0..scenario.nodes.len() {
                let Some(link) = self.reference.routes.link_at(path, node) else { break };
                sum += self.reference.links[link].delay_at(self.reference.now);
                node = scenario.links[link].to;
            }
            if node != end {
                return None;
            }
        }
        Some(sum)
    }

    fn next_node(&self, packet: &Packet) -> Option<NodeId> {
        let link = self.reference.routes.link(self.reference.routes.next(self.node, packet)?)?;
        Some(self.reference.scenario.links[link].to)
    }

    fn request(&self, packet: &Packet) -> Option<Request> {
        self.reference.traffic.request_of(packet)
    }

    fn extract(&mut self, packet: &Packet, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>) {
        let next = self.reference.routes.next(self.node, packet);
        if let Some(link) = next.and_then(|next| self.reference.routes.link(next)) {
            self.reference.links[link].extract(is_meant, left);
        }
    }
}

/// Placeholder for a middlebox in use.
#[derive(Debug)]
pub(super) struct Away;

impl Middlebox for Away {
    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        cx.forward(packet);
    }
}

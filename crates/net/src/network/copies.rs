//! Copies of packets for flows with several receivers, where their routes part.

use crate::record::LossPlace;
use bentpipe_model::ids::{FlowId, LaneId, LinkId, MediumId, NodeId, PathId};
use bentpipe_model::packet::{Packet, PacketKind};
use bentpipe_model::spec::{branches, Branch, Scenario};
use std::collections::{BTreeMap, BTreeSet};

/// Branches of all flows with several receivers. Empty without such flows.
#[derive(Debug, Default)]
pub(super) struct PacketCopies {
    /// Lane and next hop of each copy, by the next hop of the packet.
    at: BTreeMap<u32, Vec<(LaneId, u32)>>,
    /// Lanes of receivers that part from a lane, each with the stage of the packet there. A packet has stage 2n if n is its next hop,
    /// and 2n + 1 while it waits for this hop.
    parting: BTreeMap<LaneId, Vec<(u32, LaneId)>>,
    /// Packets for several links of a carrier, by next hop: the carrier, and the place among its broadcasts.
    broadcasts: BTreeMap<u32, (MediumId, usize)>,
    /// Nodes that copy packets.
    nodes: BTreeSet<NodeId>,
}

/// The links of a carrier that receive the same packets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Broadcast {
    /// The carrier.
    pub(crate) medium: MediumId,
    /// Flow, link and place of the link on the route, for each receiver. Packets come as those of the first.
    pub(crate) receivers: Vec<(FlowId, LinkId, usize)>,
}

/// Returns the broadcasts of all carriers, in the order of their first receivers.
pub(crate) fn broadcasts(scenario: &Scenario) -> Vec<Broadcast> {
    let mut found: BTreeMap<(FlowId, usize, MediumId), Broadcast> = BTreeMap::new();
    for Branch { after, to, frames_of, .. } in branches(scenario) {
        let Some((medium, first)) = frames_of else { continue };
        let link = |flow: FlowId| scenario.lane_of(flow).route[after];
        let of = Broadcast { medium, receivers: vec![(first, link(first), after)] };
        found.entry((first, after, medium)).or_insert(of).receivers.push((to, link(to), after));
    }
    found.into_values().collect()
}

/// Returns the nodes at which routes of receivers part.
pub(super) fn copying_nodes(scenario: &Scenario) -> BTreeSet<NodeId> {
    let node = |branch: &Branch| {
        let route = &scenario.lane_of(branch.to).route;
        match route.get(branch.after) {
            Some(&link) => scenario.links[link].from,
            None => scenario.flows[branch.to].to,
        }
    };
    branches(scenario).iter().map(node).collect()
}

impl PacketCopies {
    /// The copies of a scenario. `hop` returns the hop of a path behind some links.
    pub(super) fn of(scenario: &Scenario, hop: impl Fn(PathId, usize) -> u32) -> Self {
        let mut copies = Self { nodes: copying_nodes(scenario), ..Self::default() };
        let lane = |flow: FlowId| scenario.flows[flow].lane;
        let hop = |flow: FlowId, after: usize| hop(PathId::there(lane(flow)), after);
        for Branch { of, after, to, frames_of } in branches(scenario) {
            match frames_of {
                None => {
                    copies.parting.entry(lane(of)).or_default().push((2 * hop(of, after), lane(to)));
                    copies.at.entry(hop(of, after)).or_default().push((lane(to), hop(to, after)));
                }
                // Copies are made behind the queue.
                Some((_, first)) => {
                    copies.parting.entry(lane(first)).or_default().push((2 * hop(first, after) + 1, lane(to)));
                }
            }
        }
        let mut places: BTreeMap<MediumId, usize> = BTreeMap::new();
        for Broadcast { medium, receivers } in broadcasts(scenario) {
            let place = places.entry(medium).or_default();
            let (first, _, after) = receivers[0];
            copies.broadcasts.insert(hop(first, after), (medium, *place));
            *place += 1;
        }
        copies
    }

    /// Whether no flow has several receivers.
    pub(super) fn is_empty(&self) -> bool {
        self.parting.is_empty()
    }

    /// Whether a node copies packets.
    pub(super) fn are_made_at(&self, node: NodeId) -> bool {
        self.nodes.contains(&node)
    }

    /// Returns lane and next hop of each copy of a packet that leaves a node.
    pub(super) fn of_packet(&self, packet: &Packet) -> &[(LaneId, u32)] {
        self.at.get(&packet.next).map_or(&[], Vec::as_slice)
    }

    /// Returns the carrier and the broadcast of a packet that leaves a node, if it is for several links of a carrier.
    pub(super) fn broadcast(&self, packet: &Packet) -> Option<(MediumId, usize)> {
        self.broadcasts.get(&packet.next).copied()
    }

    /// Returns the lanes, besides its own, that lose a packet which is lost at `place`. `hops` are those of all routes.
    pub(super) fn lose_with(&self, packet: &Packet, place: LossPlace, hops: &[u32]) -> Vec<LaneId> {
        let mut all = Vec::new();
        if packet.kind() == PacketKind::Datagram && !packet.is_to_sender() {
            let waits = matches!(place, LossPlace::Link(link) if hops[packet.next as usize] as usize == link.index());
            self.add_parting(packet.lane(), 2 * packet.next + u32::from(waits), &mut all);
            all.sort_unstable();
        }
        all
    }

    /// Adds the lanes that part from `lane` at this stage or later, and those that part from them.
    fn add_parting(&self, lane: LaneId, from: u32, all: &mut Vec<LaneId>) {
        for &(_, to) in self.parting.get(&lane).into_iter().flatten().filter(|(stage, _)| *stage >= from) {
            all.push(to);
            self.add_parting(to, 0, all);
        }
    }
}

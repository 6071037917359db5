//! Routes in their simplest form: lists of all routes of the run, and a map of each node's knowledge.

use bentpipe_model::ids::{LaneId, LinkId, NodeId, PathId};
use bentpipe_model::packet::{Packet, UNROUTED};
use bentpipe_model::spec::{Forwarding, Scenario};
use std::collections::BTreeMap;

/// Places on a route that a packet can point to.
const PLACES: usize = 64;

pub(super) struct NaiveRoutes {
    ways: Vec<Vec<LinkId>>,
    /// Route and place where packets of a path continue, by path and node.
    known: BTreeMap<(PathId, NodeId), (usize, usize)>,
    newest: BTreeMap<PathId, usize>,
    is_by_node: bool,
}

impl NaiveRoutes {
    pub(super) fn of(scenario: &Scenario) -> Self {
        let is_by_node = scenario.timeline.forwarding == Forwarding::HopByHop;
        let mut routes = Self { ways: Vec::new(), known: BTreeMap::new(), newest: BTreeMap::new(), is_by_node };
        for path in PathId::all(2 * scenario.lanes.len()) {
            routes.install(scenario, path, scenario.first_route(path));
        }
        routes
    }

    pub(super) fn install(&mut self, scenario: &Scenario, path: PathId, route: &[LinkId]) {
        for (place, &link) in route.iter().enumerate() {
            self.known.insert((path, scenario.links[link].from), (self.ways.len(), place));
        }
        self.known.insert((path, end_of(scenario, path)), (self.ways.len(), route.len()));
        self.newest.insert(path, self.ways.len());
        self.ways.push(route.to_vec());
    }

    /// Returns the place of a packet on a lane behind this many links of its first route.
    pub(super) fn place(lane: LaneId, links: usize) -> u32 {
        (PathId::there(lane).index() * PLACES + links + 1) as u32
    }

    /// Returns the number of links before a place of a first route.
    pub(super) fn links_before(next: u32) -> usize {
        (next as usize - 1) % PLACES
    }

    /// Returns the newest route of a path.
    pub(super) fn newest(&self, path: PathId) -> &[LinkId] {
        &self.ways[self.newest[&path]]
    }

    pub(super) fn withdraw(&mut self, scenario: &Scenario, path: PathId) {
        let end = end_of(scenario, path);
        self.known.retain(|&(of, node), _| of != path || node == end);
    }

    /// Returns the place where a packet that leaves a node continues: as the packet carries it, or as the node knows
    /// it.
    pub(super) fn next(&self, node: NodeId, packet: &Packet) -> Option<u32> {
        if packet.next != UNROUTED && !self.is_by_node {
            return Some(packet.next);
        }
        let (way, place) = self.known.get(&(packet.path(), node))?;
        Some((way * PLACES + place + 1) as u32)
    }

    /// Returns the link that the node itself chooses for packets of a path.
    pub(super) fn link_at(&self, path: PathId, node: NodeId) -> Option<LinkId> {
        let &(way, place) = self.known.get(&(path, node))?;
        self.ways[way].get(place).copied()
    }

    /// Returns the link at a place. None: the packet is at its host's node.
    pub(super) fn link(&self, next: u32) -> Option<LinkId> {
        let place = next as usize - 1;
        self.ways[place / PLACES].get(place % PLACES).copied()
    }
}

/// Returns the node where a path ends.
pub(super) fn end_of(scenario: &Scenario, path: PathId) -> NodeId {
    let flow = &scenario.flows[scenario.lanes[path.lane()].flow];
    if path.is_back() {
        flow.from
    } else {
        flow.to
    }
}

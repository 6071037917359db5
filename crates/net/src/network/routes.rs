//! Routes of all paths: in packets, and in the tables of nodes.

use super::copies::PacketCopies;
use bentpipe_model::ids::{LinkId, NodeId, PathId};
use bentpipe_model::packet::{Packet, UNROUTED};
use bentpipe_model::spec::{Forwarding, Scenario};
use std::collections::BTreeSet;

/// The hop after the last link.
pub(super) const HOST: u32 = u32::MAX;

/// The hop of a packet whose node decides the next hop: index zero of all hops.
pub(super) const AT_NODE: u32 = u32::MAX - 1;

/// All routes, old and new, and the tables of nodes.
#[derive(Debug)]
pub(super) struct Routes {
    /// The links of each route, each route with [`HOST`] at its end. Packets carry an index.
    pub(super) hops: Vec<u32>,
    /// First index of each path's packets: their first link, or [`AT_NODE`] if the node decides.
    first: Vec<u32>,
    /// Per path, the next hop at each node of its routes, as an index into `hops`, sorted by node. Empty if no node ever
    /// decides.
    tables: Vec<Vec<(NodeId, u32)>>,
    /// Whether each node decides the next hop of packets under way.
    by_node: bool,
    /// First index in `hops` that is still valid, per path; packets before it ask their node.
    known: Vec<u32>,
    /// First index of each path's newest route.
    newest: Vec<u32>,
    ends: Vec<LinkEnds>,
    /// Copies for flows with several receivers.
    pub(super) copies: PacketCopies,
}

/// The two nodes of a link.
#[derive(Clone, Copy, Debug)]
struct LinkEnds {
    from: NodeId,
    to: NodeId,
}

impl Routes {
    /// The routes at the start of a run. `acts` tests whether a node has middleboxes.
    pub(super) fn new(scenario: &Scenario, acts: impl Fn(NodeId) -> bool) -> Self {
        let changing = scenario.timeline.routes();
        // An absent link may leave packets to its node, even if no route changes.
        let is_asked = !scenario.timeline.changes.is_empty() || NodeId::all(scenario.nodes.len()).any(&acts);
        let mut routes = Self {
            hops: vec![AT_NODE],
            first: Vec::with_capacity(2 * scenario.lanes.len()),
            tables: vec![Vec::new(); if is_asked { 2 * scenario.lanes.len() } else { 0 }],
            known: vec![UNROUTED + 1; if is_asked { 2 * scenario.lanes.len() } else { 0 }],
            newest: Vec::with_capacity(2 * scenario.lanes.len()),
            by_node: !changing.is_empty() && scenario.timeline.forwarding == Forwarding::HopByHop,
            ends: scenario.links.iter().map(|link| LinkEnds { from: link.from, to: link.to }).collect(),
            copies: PacketCopies::default(),
        };
        // Where a host decides for one path of a flow, it decides for all: no segment overtakes another segment that waits there.
        let of_flow = |path: PathId| (scenario.lanes[path.lane()].flow, path.is_back());
        let deciding: BTreeSet<_> = changing.keys().copied().map(of_flow).collect();
        for path in scenario.paths() {
            let (route, [source, _]) = (scenario.first_route(path), scenario.ends(path));
            let begin = routes.append(route);
            let asks = acts(source) || deciding.contains(&of_flow(path));
            routes.first.push(if asks { UNROUTED } else { begin });
            routes.newest.push(begin);
            if is_asked {
                routes.learn(path, route, begin);
            }
        }
        routes.copies = PacketCopies::of(scenario, |path, links| routes.place(path, links));
        routes
    }

    /// First index of a path's packets.
    pub(super) fn first(&self, path: PathId) -> u32 {
        self.first[path]
    }

    /// The hop behind this many links of a path's newest route.
    pub(super) fn place(&self, path: PathId, links: usize) -> u32 {
        self.newest[path] + links as u32
    }

    /// Whether the nodes decide the next hop of packets under way.
    #[inline]
    pub(super) fn is_by_node(&self) -> bool {
        self.by_node
    }

    /// Whether the route in the packet is still the route of its node.
    #[inline]
    pub(super) fn leads(&self, packet: &Packet) -> bool {
        packet.next >= self.known[packet.path()]
    }

    /// The link before the next hop of a packet, by which it came.
    #[inline]
    pub(super) fn before(&self, packet: &Packet) -> LinkId {
        LinkId::new(self.hops[packet.next as usize - 1] as usize)
    }

    /// The next link of a packet between two links.
    #[inline(always)]
    pub(super) fn next_link(&self, packet: &Packet) -> LinkId {
        LinkId::new(self.hops[packet.next as usize] as usize)
    }

    /// The next hop of `path` at `node`. `None`: the node knows no route.
    pub(super) fn at(&self, path: PathId, node: NodeId) -> Option<u32> {
        let table = &self.tables[path];
        let place = table.binary_search_by_key(&node, |entry| entry.0).ok()?;
        Some(table[place].1)
    }

    /// The link from `node` for a packet of `path` whose next hop is `next`. `None`: it stays there, or has no route.
    pub(super) fn link(&self, path: PathId, node: NodeId, next: u32) -> Option<LinkId> {
        let next = if next == UNROUTED || self.by_node { self.at(path, node)? } else { next };
        let hop = self.hops[next as usize];
        (hop < AT_NODE).then(|| LinkId::new(hop as usize))
    }

    /// The node before `node` on the newest route of a path.
    pub(super) fn node_before(&self, path: PathId, node: NodeId) -> Option<NodeId> {
        let route = self.hops[self.newest[path] as usize..].iter().take_while(|hop| **hop != HOST);
        let mut ends = route.map(|hop| self.ends[LinkId::new(*hop as usize)]);
        ends.find(|ends| ends.to == node).map(|ends| ends.from)
    }

    /// The node at the far end of a link.
    pub(super) fn far_end(&self, link: LinkId) -> NodeId {
        self.ends[link].to
    }

    /// Installs a new route in the tables of its nodes.
    pub(super) fn install(&mut self, path: PathId, route: &[LinkId]) {
        let begin = self.append(route);
        self.newest[path] = begin;
        self.learn(path, route, begin);
    }

    /// Removes the route of a path from the tables of all nodes but the last.
    pub(super) fn withdraw(&mut self, path: PathId) {
        let hops = &self.hops;
        self.tables[path].retain(|&(_, next)| hops[next as usize] == HOST);
        if self.by_node {
            self.known[path] = u32::MAX;
        }
    }

    fn append(&mut self, route: &[LinkId]) -> u32 {
        let begin = self.hops.len() as u32;
        self.hops.extend(route.iter().map(|link| link.index() as u32));
        self.hops.push(HOST);
        begin
    }

    fn learn(&mut self, path: PathId, route: &[LinkId], begin: u32) {
        let last = route.last().map(|&link| self.ends[link].to);
        let nodes = route.iter().map(|&link| self.ends[link].from).chain(last);
        let entries: Vec<_> = nodes.zip(begin..).collect();
        let table = &mut self.tables[path];
        for &(node, next) in &entries {
            match table.binary_search_by_key(&node, |entry| entry.0) {
                Ok(place) => table[place].1 = next,
                Err(place) => table.insert(place, (node, next)),
            }
        }
        if self.by_node {
            // If a route visits a node twice, the node's table has only one of its next hops.
            let is_known = entries.iter().all(|&(node, next)| self.at(path, node) == Some(next));
            self.known[path] = if is_known { begin } else { u32::MAX };
        }
    }
}

#[cfg(test)]
impl Routes {
    /// One route along `links` links, at the first of its hops.
    pub(super) fn along(links: u32) -> Self {
        Self {
            hops: (0..links).collect(),
            first: Vec::new(),
            tables: Vec::new(),
            by_node: false,
            known: Vec::new(),
            newest: Vec::new(),
            ends: Vec::new(),
            copies: PacketCopies::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_model::ids::LaneId;
    use bentpipe_units::Time;

    /// A packet on an older or withdrawn route is no longer sent by the route in it.
    #[test]
    fn packets_on_the_newest_route_need_not_ask() {
        let ends = [(0, 1), (1, 2), (0, 2)].map(|(from, to)| LinkEnds { from: NodeId::new(from), to: NodeId::new(to) });
        let mut routes = Routes {
            hops: vec![AT_NODE],
            first: vec![UNROUTED; 2],
            tables: vec![Vec::new(); 2],
            by_node: true,
            known: vec![u32::MAX; 2],
            newest: vec![0; 2],
            ends: ends.to_vec(),
            copies: PacketCopies::default(),
        };
        let lane = LaneId::new(0);
        let path = PathId::there(lane);
        let at = |next| Packet::datagram(Time::ZERO, lane, 100, next);
        routes.install(path, &[LinkId::new(0), LinkId::new(1)]);
        let old = routes.at(path, NodeId::new(0)).expect("the route begins there");
        assert!(routes.leads(&at(old)) && routes.leads(&at(old + 1)) && !routes.leads(&at(UNROUTED)));
        assert_eq!(routes.node_before(path, NodeId::new(2)), Some(NodeId::new(1)));
        routes.install(path, &[LinkId::new(2)]);
        assert_eq!(routes.node_before(path, NodeId::new(2)), Some(NodeId::new(0)));
        assert_eq!(routes.node_before(path, NodeId::new(1)), None);
        let new = routes.at(path, NodeId::new(0)).expect("the route begins there");
        assert!(new > old && routes.leads(&at(new)) && !routes.leads(&at(old + 1)));
        // The node in the middle still has the older route.
        assert_eq!(routes.at(path, NodeId::new(1)), Some(old + 1));
        routes.withdraw(path);
        assert!(!routes.leads(&at(new)) && routes.at(path, NodeId::new(0)).is_none());
    }
}

//! Finds routes through the network: as written, or with the shortest delay.

use super::report::Findings;
use bentpipe_model::ids::{LinkId, NodeId};
use bentpipe_model::spec::Link;
use bentpipe_units::Duration;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Links as a graph.
pub(super) struct Graph<'a> {
    links: &'a [Link],
    /// Links out of each node, in the order of their next nodes.
    out: Vec<Vec<LinkId>>,
}

/// Fault of a written route.
pub(super) enum Bad {
    /// No link or node has this name.
    Unknown(String),
    /// No link joins the two nodes.
    Apart(NodeId, String),
    /// Several links join the two nodes; the route must name one.
    Several(NodeId, NodeId),
    /// The route visits a node twice.
    Loop(NodeId),
    /// The route ends at this node.
    Ends(NodeId),
}

impl<'a> Graph<'a> {
    pub(super) fn new(nodes: usize, links: &'a [Link]) -> Self {
        let mut out = vec![Vec::new(); nodes];
        for (id, link) in LinkId::all(links.len()).zip(links) {
            out[link.from].push(id);
        }
        out.iter_mut().for_each(|out| out.sort_by_key(|&link| (links[link].to, link)));
        Self { links, out }
    }

    /// Returns the links of a written route. It consists of nodes, or of links if several join the same nodes.
    pub(super) fn follow(
        &self,
        (from, to): (NodeId, NodeId),
        names: &[String],
        nodes: &BTreeMap<&str, NodeId>,
    ) -> Result<Vec<LinkId>, Bad> {
        let mut here = from;
        let mut seen = std::collections::BTreeSet::from([from]);
        let mut route = Vec::new();
        let mut by_name = true;
        for name in names {
            let node = nodes.get(name.as_str()).copied();
            // The route may omit the start, and the node behind a named link.
            if node == Some(here) && std::mem::replace(&mut by_name, false) {
                continue;
            }
            let joining = node.map_or((None, None), |node| self.joining(here, node));
            let directions = || [self.named(name, "forward"), self.named(name, "reverse")];
            let named = || directions().into_iter().flatten().find(|&link| self.links[link].from == here);
            let link = match (joining, node) {
                ((Some(link), None), _) => link,
                (_, Some(node)) => named().ok_or_else(|| match joining {
                    (None, _) => Bad::Apart(here, name.clone()),
                    _ => Bad::Several(here, node),
                })?,
                (_, None) => named().ok_or_else(|| match directions()[0] {
                    None => Bad::Unknown(name.clone()),
                    Some(_) => Bad::Apart(here, name.clone()),
                })?,
            };
            by_name = !matches!((joining, node), ((Some(_), None), _));
            here = self.links[link].to;
            if !seen.insert(here) {
                return Err(Bad::Loop(here));
            }
            route.push(link);
        }
        if here == to {
            Ok(route)
        } else {
            Err(Bad::Ends(here))
        }
    }

    /// Returns the links out of a node.
    pub(super) fn out(&self, node: NodeId) -> &[LinkId] {
        &self.out[node]
    }

    /// Returns the first link from one node to another, and the second if there are several.
    pub(super) fn joining(&self, from: NodeId, to: NodeId) -> (Option<LinkId>, Option<LinkId>) {
        let first = self.out[from].partition_point(|&index| self.links[index].to < to);
        let mut fitting = self.out[from][first..].iter().take_while(|&&index| self.links[index].to == to);
        (fitting.next().copied(), fitting.next().copied())
    }

    /// Whether another link joins the same nodes in the same direction, so that a route must name this one.
    pub(super) fn is_parallel(&self, link: LinkId) -> bool {
        let Link { from, to, .. } = self.links[link];
        let first = self.out[from].partition_point(|&link| self.links[link].to < to);
        self.out[from].get(first + 1).is_some_and(|&next| self.links[next].to == to)
    }

    /// Returns the routes with the shortest delay at time zero between pairs of nodes, or `None` for pairs without a
    /// route. Ties go to the route with fewer links, then to the route whose links come first by name.
    ///
    /// Costs one search per distinct start. A node with a single link needs no search: its route begins with that link,
    /// so a star of 100,000 hosts costs one search.
    ///
    /// # Errors
    ///
    /// The number of steps of the search, if it exceeds [`STEPS_MAX`].
    pub(super) fn shortest(&self, pairs: &[(NodeId, NodeId)]) -> Result<Vec<Option<Vec<LinkId>>>, u64> {
        let leaf = |node: NodeId| self.out[node].len() == 1;
        let core: Vec<Vec<LinkId>> = self
            .out
            .iter()
            .map(|out| out.iter().copied().filter(|&link| !leaf(self.links[link].to)).collect())
            .collect();
        let mut by_start: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
        let mut found = vec![None; pairs.len()];
        let hub = |node: NodeId| if leaf(node) { self.links[self.out[node][0]].to } else { node };
        for (index, &(from, to)) in pairs.iter().enumerate() {
            match self.out[from].iter().find(|&&link| leaf(from) && self.links[link].to == to) {
                Some(&link) => found[index] = Some(vec![link]),
                None => by_start.entry(hub(from)).or_default().push(index),
            }
        }
        let size =
            NodeId::all(core.len()).zip(&core).filter(|(node, _)| !leaf(*node)).map(|(_, out)| 1 + out.len() as u64);
        let steps = size.sum::<u64>() * by_start.len() as u64;
        if steps > STEPS_MAX {
            return Err(steps);
        }
        for (start, queries) in by_start {
            if leaf(start) {
                continue;
            }
            let came = self.search(start, &core);
            for index in queries {
                let (from, to) = pairs[index];
                found[index] = self.trace(start, hub(to), &came).map(|middle| {
                    let first = leaf(from).then(|| self.out[from][0]);
                    let last = leaf(to).then(|| self.link_to_leaf(to));
                    first.into_iter().chain(middle).chain(last).collect()
                });
            }
        }
        Ok(found)
    }

    /// Returns the only link into a node with a single link: the other direction of the link out.
    fn link_to_leaf(&self, node: NodeId) -> LinkId {
        let out = &self.links[self.out[node][0]].name;
        let (base, direction) = out.rsplit_once('.').unwrap_or((out, ""));
        self.named(base, if direction == "forward" { "reverse" } else { "forward" }).unwrap_or(LinkId::new(0))
    }

    fn named(&self, base: &str, direction: &str) -> Option<LinkId> {
        let name = format!("{base}.{direction}");
        self.links.binary_search_by(|link| link.name.cmp(&name)).ok().map(LinkId::new)
    }

    /// Runs Dijkstra's algorithm. Returns the last link of the best route to each node.
    fn search(&self, start: NodeId, core: &[Vec<LinkId>]) -> BTreeMap<NodeId, LinkId> {
        let mut came: BTreeMap<NodeId, LinkId> = BTreeMap::new();
        let mut done = std::collections::BTreeSet::new();
        let mut heap = BinaryHeap::from([Reverse((Duration::ZERO, 0u32, None, start))]);
        while let Some(Reverse((delay, hops, by, node))) = heap.pop() {
            if !done.insert(node) {
                continue;
            }
            came.extend(by.map(|link| (node, link)));
            for &link in &core[node] {
                let to = self.links[link].to;
                if !done.contains(&to) {
                    let first = self.links[link].delay_at_start();
                    heap.push(Reverse((delay + first, hops + 1, Some(link), to)));
                }
            }
        }
        came
    }

    fn trace(&self, start: NodeId, end: NodeId, came: &BTreeMap<NodeId, LinkId>) -> Option<Vec<LinkId>> {
        let mut route = Vec::new();
        let mut node = end;
        while node != start {
            let link = *came.get(&node)?;
            route.push(link);
            node = self.links[link].from;
        }
        route.reverse();
        Some(route)
    }
}

/// Explains the fault of a route to `end`, with the name that was probably meant.
pub(super) fn explain(bad: &Bad, end: &str, names: &[&str], findings: &Findings) -> (String, String) {
    let message = match bad {
        Bad::Unknown(name) => {
            return (
                format!("names \"{name}\", which is not a node or a link"),
                findings.guess(name, names.iter().copied()),
            )
        }
        Bad::Apart(from, name) => format!("does not join up: no link leads from \"{}\" to \"{name}\"", names[*from]),
        Bad::Several(from, to) => {
            return (
                format!("is ambiguous: several links lead from \"{}\" to \"{}\"", names[*from], names[*to]),
                "expected the link instead of the node".into(),
            )
        }
        Bad::Loop(node) => format!("comes through \"{}\" twice", names[*node]),
        Bad::Ends(node) => format!("ends at \"{}\", not at \"{end}\"", names[*node]),
    };
    (message, String::new())
}

/// Largest number of steps in a route search: about a second.
const STEPS_MAX: u64 = 10_000_000;

/// Returns the largest propagation round trip.
pub(super) fn base_rtt(route: &[LinkId], back: &[LinkId], links: &[Link]) -> Duration {
    route.iter().chain(back).fold(Duration::ZERO, |sum, &link| sum + links[link].delay_max())
}

//! Links as a graph, and shortest paths that follow its changes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Link out of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arc {
    pub(crate) to: u32,
    pub(crate) cost: f64,
}

/// Links in both directions, by node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    /// The arcs of node n are `arcs[start[n]..start[n + 1]]`.
    start: Vec<u32>,
    arcs: Vec<Arc>,
}

impl Graph {
    /// Replaces the graph by one of `nodes` nodes and these links (costs above 0).
    pub(crate) fn rebuild(&mut self, nodes: usize, links: &[(u32, u32, f64)]) {
        self.start.clear();
        self.start.resize(nodes + 2, 0);
        for &(a, b, _) in links {
            self.start[a as usize + 2] += 1;
            self.start[b as usize + 2] += 1;
        }
        for n in 2..nodes + 2 {
            self.start[n] += self.start[n - 1];
        }
        self.arcs.resize(2 * links.len(), Arc { to: 0, cost: 0.0 });
        for &(a, b, cost) in links {
            for (from, to) in [(a, b), (b, a)] {
                let slot = &mut self.start[from as usize + 1];
                self.arcs[*slot as usize] = Arc { to, cost };
                *slot += 1;
            }
        }
        self.start.pop();
    }

    pub(crate) fn nodes(&self) -> usize {
        self.start.len() - 1
    }

    pub(crate) fn arcs(&self, node: usize) -> &[Arc] {
        &self.arcs[self.start[node] as usize..self.start[node + 1] as usize]
    }

    /// Returns the cost of the link from `a` to `b`.
    pub(crate) fn cost(&self, a: u32, b: u32) -> Option<f64> {
        self.arcs(a as usize).iter().find(|arc| arc.to == b).map(|arc| arc.cost)
    }
}

/// Origin of the shortest path to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin(u32);

impl Origin {
    const SOURCE: u32 = 1 << 31;
    const NOWHERE: Self = Self(u32::MAX);

    /// Creates the origin of a path from the source, through this node outside the graph.
    pub(crate) fn source(via: Option<u32>) -> Self {
        Self(Self::SOURCE | via.unwrap_or(Self::SOURCE - 2))
    }

    /// Returns the node before, unless it is the source.
    pub(crate) fn before(self) -> Option<u32> {
        (self.0 < Self::SOURCE).then_some(self.0)
    }
}

/// Shortest distances from one source to every node. Infinite without a path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distances {
    pub(crate) of: Vec<f64>,
    /// Nodes whose links may still shorten a path, by distance. Numbers from 0 on have the order of their bits.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
}

/// Shortest paths from one source, kept from graph to graph.
///
/// Visits nodes in the order of their distances in the previous graph. Each takes the best of the neighbours before it.
/// If the new distances have the same order, this is Dijkstra's algorithm without its queue. A node that is nearer than
/// one before it may shorten its path, and is queued if it does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    order: Vec<u32>,
    /// Origin of the shortest path to each node.
    pub(crate) origin: Vec<Origin>,
    /// Origins in the previous graph.
    pub(crate) old: Vec<Origin>,
}

impl Tree {
    /// Finds the shortest paths from a source that enters the graph at these nodes: (node, origin, cost).
    pub(crate) fn update(
        &mut self,
        graph: &Graph,
        entries: impl Iterator<Item = (u32, Origin, f64)>,
        distances: &mut Distances,
    ) {
        let n = graph.nodes();
        if self.order.len() != n {
            self.order = (0..n as u32).collect();
            self.origin = vec![Origin::NOWHERE; n];
            self.old = vec![Origin::NOWHERE; n];
        }
        std::mem::swap(&mut self.origin, &mut self.old);
        self.origin.fill(Origin::NOWHERE);
        let d = &mut distances.of;
        d.clear();
        d.resize(n, f64::INFINITY);
        for (node, origin, cost) in entries {
            if cost < d[node as usize] {
                d[node as usize] = cost;
                self.origin[node as usize] = origin;
            }
        }
        let mut farthest = 0.0;
        let mut late = 0;
        for &node in &self.order {
            let mut best = d[node as usize];
            let mut origin = self.origin[node as usize];
            for arc in graph.arcs(node as usize) {
                let through = d[arc.to as usize] + arc.cost;
                if through < best {
                    best = through;
                    origin = Origin(arc.to);
                }
            }
            d[node as usize] = best;
            self.origin[node as usize] = origin;
            if best < farthest {
                late += 1;
                // Neighbours that come later will check this one themselves.
                let shortens = |arc: &Arc| {
                    let there = d[arc.to as usize];
                    best + arc.cost < there && (there < f64::INFINITY || farthest == f64::INFINITY)
                };
                if graph.arcs(node as usize).iter().any(shortens) {
                    distances.queue.push(Reverse((best.to_bits(), node)));
                }
            } else {
                farthest = best;
            }
        }
        while let Some(Reverse((bits, node))) = distances.queue.pop() {
            let here = f64::from_bits(bits);
            if here > d[node as usize] {
                continue;
            }
            for arc in graph.arcs(node as usize) {
                let through = here + arc.cost;
                if through < d[arc.to as usize] {
                    d[arc.to as usize] = through;
                    self.origin[arc.to as usize] = Origin(node);
                    distances.queue.push(Reverse((through.to_bits(), arc.to)));
                }
            }
        }
        if late > n / 4 {
            self.order.sort_by(|a, b| d[*a as usize].total_cmp(&d[*b as usize]));
        } else {
            sort_nearly_sorted(&mut self.order, d);
        }
    }
}

/// Insertion sort: fast if few entries are misplaced.
fn sort_nearly_sorted(order: &mut [u32], d: &[f64]) {
    for k in 1..order.len() {
        let node = order[k];
        let mut at = k;
        while at > 0 && d[order[at - 1] as usize] > d[node as usize] {
            order[at] = order[at - 1];
            at -= 1;
        }
        order[at] = node;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Stream;

    /// Dijkstra's algorithm without a queue.
    fn dijkstra(n: usize, links: &[(u32, u32, f64)], entries: &[(u32, f64)]) -> Vec<f64> {
        let mut d = vec![f64::INFINITY; n];
        let mut done = vec![false; n];
        for &(node, cost) in entries {
            d[node as usize] = d[node as usize].min(cost);
        }
        while let Some(u) = (0..n).filter(|u| !done[*u] && d[*u].is_finite()).min_by(|a, b| d[*a].total_cmp(&d[*b])) {
            done[u] = true;
            for &(a, b, cost) in links {
                for (from, to) in [(a as usize, b as usize), (b as usize, a as usize)] {
                    if from == u && d[u] + cost < d[to] {
                        d[to] = d[u] + cost;
                    }
                }
            }
        }
        d
    }

    /// Graphs that change a little, and graphs that change completely: distances are Dijkstra's, and the origins lead
    /// back to the source along links that add up to them.
    #[test]
    fn distances_are_those_of_dijkstra() {
        let mut random = Stream::new(1, "graph", "test");
        let mut at = 0;
        let mut draw = |n: u64| {
            at += 1;
            random.below(at, n)
        };
        for _ in 0..100 {
            let n = 1 + draw(40) as usize;
            let mut tree = Tree::default();
            let mut links: Vec<(u32, u32, f64)> = Vec::new();
            let mut entries: Vec<(u32, f64)> = Vec::new();
            for step in 0..20 {
                if step % 5 == 0 {
                    links = (0..draw(90))
                        .map(|_| (draw(n as u64) as u32, draw(n as u64) as u32, 1.0 + draw(1000) as f64 / 7.0))
                        .filter(|(a, b, _)| a != b)
                        .collect();
                    entries = (0..draw(4)).map(|_| (draw(n as u64) as u32, draw(100) as f64 / 3.0)).collect();
                }
                for link in &mut links {
                    link.2 += draw(100) as f64 / 50.0;
                }
                let mut graph = Graph::default();
                graph.rebuild(n, &links);
                let mut distances = Distances::default();
                let sources = entries.iter().map(|&(node, cost)| (node, Origin::source(None), cost));
                tree.update(&graph, sources, &mut distances);
                assert_eq!(distances.of, dijkstra(n, &links, &entries));
                for node in 0..n {
                    let here = distances.of[node];
                    match tree.origin[node].before() {
                        Some(before) => {
                            let cost = graph.arcs(node).iter().filter(|arc| arc.to == before).map(|arc| arc.cost);
                            let cost = cost.fold(f64::INFINITY, f64::min);
                            assert_eq!(distances.of[before as usize] + cost, here);
                        }
                        None if here.is_finite() => assert!(entries.contains(&(node as u32, here))),
                        None => assert_eq!(tree.origin[node], Origin::NOWHERE),
                    }
                }
            }
        }
    }
}

//! Shortest distances from many sources at once.
//!
//! Instead of a queue for each source, the distances of eight sources are relaxed together, node by node in ascending and
//! descending order, until nothing changes; only nodes whose neighbours changed are looked at. The result is exact: at the
//! end every distance is the shortest, and equals that of some neighbour plus the link between, to the last bit.

/// Sources whose distances are computed together.
pub(crate) const LANES: usize = 8;

/// A link out of a node.
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
    /// Makes the graph of `nodes` nodes and these links (costs above 0) in place of the old one.
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

    /// Cost of the link from `a` to `b`.
    pub(crate) fn cost(&self, a: u32, b: u32) -> Option<f64> {
        self.arcs(a as usize).iter().find(|arc| arc.to == b).map(|arc| arc.cost)
    }
}

/// Shortest distances of up to `LANES` sources to every node; infinite where there is no way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distances {
    pub(crate) of: Vec<[f64; LANES]>,
    dirty: Vec<bool>,
}

impl Distances {
    /// Computes the distances of sources that enter the graph with these costs at these nodes: (lane, node, cost). `order` has
    /// every node once; it decides how long this takes, not what comes out.
    pub(crate) fn solve(&mut self, graph: &Graph, order: &[u32], entries: impl Iterator<Item = (usize, u32, f64)>) {
        let n = graph.nodes();
        self.of.clear();
        self.of.resize(n, [f64::INFINITY; LANES]);
        self.dirty.clear();
        self.dirty.resize(n, false);
        for (lane, node, cost) in entries {
            let here = &mut self.of[node as usize][lane];
            *here = here.min(cost);
            self.mark(graph, node as usize);
        }
        while self.sweep(graph, order.iter()) && self.sweep(graph, order.iter().rev()) {}
    }

    /// Brings `order` into that of the nodes' distances, which saves most work where sources are near each other and the next
    /// graph is like this one.
    pub(crate) fn sort(&self, order: &mut [u32]) {
        let sum = |node: &u32| self.of[*node as usize].iter().filter(|d| d.is_finite()).sum::<f64>();
        order.sort_by_cached_key(|node| sum(node) as u64);
    }

    fn mark(&mut self, graph: &Graph, node: usize) {
        for arc in graph.arcs(node) {
            self.dirty[arc.to as usize] = true;
        }
    }

    /// Relaxes the marked nodes in this order; whether there was one.
    fn sweep<'a>(&mut self, graph: &Graph, order: impl Iterator<Item = &'a u32>) -> bool {
        let mut any = false;
        for node in order.map(|node| *node as usize) {
            if !self.dirty[node] {
                continue;
            }
            self.dirty[node] = false;
            any = true;
            let old = self.of[node];
            let mut best = old;
            for arc in graph.arcs(node) {
                let from = &self.of[arc.to as usize];
                for lane in 0..LANES {
                    let through = from[lane] + arc.cost;
                    best[lane] = if through < best[lane] { through } else { best[lane] };
                }
            }
            if best != old {
                self.of[node] = best;
                self.mark(graph, node);
            }
        }
        any
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

    #[test]
    fn distances_are_those_of_dijkstra() {
        let mut random = Stream::new(1, "graph", "test");
        let mut at = 0;
        let mut draw = |n: u64| {
            at += 1;
            random.below(at, n)
        };
        for _ in 0..200 {
            let n = 1 + draw(40) as usize;
            let links: Vec<(u32, u32, f64)> = (0..draw(90))
                .map(|_| (draw(n as u64) as u32, draw(n as u64) as u32, 1.0 + draw(1000) as f64 / 7.0))
                .filter(|(a, b, _)| a != b)
                .collect();
            let sources: Vec<Vec<(u32, f64)>> = (0..LANES)
                .map(|_| (0..draw(4)).map(|_| (draw(n as u64) as u32, draw(100) as f64 / 3.0)).collect())
                .collect();
            let mut graph = Graph::default();
            graph.rebuild(n, &links);
            let mut distances = Distances::default();
            let entries = sources.iter().enumerate();
            let mut order: Vec<u32> = (0..n as u32).collect();
            distances.solve(&graph, &order, entries.clone().flat_map(|(lane, s)| s.iter().map(move |&(node, cost)| (lane, node, cost))));
            let before = distances.of.clone();
            distances.sort(&mut order);
            distances.solve(&graph, &order, entries.flat_map(|(lane, s)| s.iter().map(move |&(node, cost)| (lane, node, cost))));
            assert_eq!(distances.of, before);
            for (lane, source) in sources.iter().enumerate() {
                let found: Vec<f64> = distances.of.iter().map(|d| d[lane]).collect();
                assert_eq!(found, dijkstra(n, &links, source));
            }
        }
    }
}

//! Finds several disjoint paths: successive shortest paths in the remaining graph (J. Suurballe, "Disjoint paths in a
//! network", 1974), so that the sum of all delays is the least.

use super::super::earth::LIGHT_KM_S;
use super::super::error::SkyError;
use super::super::scene::Sky;
use super::super::span::{GoOn, Span};
use super::access::Entry;
use super::{Change, Metric, Over, Route, Router, Routing, Switch, HOP_KM};

/// Largest number of paths between two places.
pub const MOST_PATHS: usize = 16;

/// Elements that several paths must not share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disjoint {
    /// Satellites and gateways.
    Nodes,
    /// Links.
    Links,
}

/// One of several paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// Its nodes, from place to place.
    pub nodes: Vec<u32>,
    /// Its one-way delay, s.
    pub delay_s: f64,
}

/// A link with one direction, and its remaining uses. It is next to the link back.
#[derive(Clone, Copy)]
struct Arc {
    to: usize,
    left: u32,
    cost: f64,
}

#[derive(Default)]
struct Flow {
    arcs: Vec<Arc>,
    out: Vec<Vec<usize>>,
}

impl Flow {
    fn link(&mut self, from: usize, to: usize, uses: u32, cost: f64) {
        self.out[from].push(self.arcs.len());
        self.arcs.push(Arc { to, left: uses, cost });
        self.out[to].push(self.arcs.len());
        self.arcs.push(Arc { to: from, left: 0, cost: -cost });
    }

    /// Sends one more path from `source` to `sink`, if there is one (method of R. Bellman and L. Ford, for costs below
    /// 0).
    fn augment(&mut self, source: usize, sink: usize) -> bool {
        let mut cost = vec![f64::INFINITY; self.out.len()];
        let mut by = vec![usize::MAX; self.out.len()];
        let mut waiting = vec![false; self.out.len()];
        let mut queue = std::collections::VecDeque::from([source]);
        cost[source] = 0.0;
        while let Some(node) = queue.pop_front() {
            waiting[node] = false;
            for &number in &self.out[node] {
                let arc = self.arcs[number];
                let through = cost[node] + arc.cost;
                // A difference that is only rounding must not lead around a loop.
                if arc.left > 0 && through < cost[arc.to] - 1e-6 {
                    cost[arc.to] = through;
                    by[arc.to] = number;
                    if !waiting[arc.to] {
                        waiting[arc.to] = true;
                        queue.push_back(arc.to);
                    }
                }
            }
        }
        if cost[sink] == f64::INFINITY {
            return false;
        }
        let mut node = sink;
        while node != source {
            self.arcs[by[node]].left -= 1;
            self.arcs[by[node] ^ 1].left += 1;
            node = self.arcs[by[node] ^ 1].to;
        }
        true
    }
}

impl Router<'_> {
    /// Returns up to `count` paths of a pair at the last instant that share no node or no link, shortest first. The sum
    /// of their delays (or hops) is the smallest for this number of paths.
    pub fn disjoint(&self, pair: usize, count: usize, what: Disjoint) -> Vec<Alternative> {
        let nodes = self.graph.nodes();
        let (source, sink) = (2 * nodes, 2 * nodes + 1);
        let mut flow = Flow { arcs: Vec::new(), out: vec![Vec::new(); 2 * nodes + 2] };
        let uses = if what == Disjoint::Nodes { 1 } else { count as u32 };
        for node in 0..nodes {
            flow.link(2 * node, 2 * node + 1, uses, 0.0);
            for arc in self.graph.arcs(node) {
                flow.link(2 * node + 1, 2 * arc.to as usize, 1, arc.cost);
            }
        }
        let pair = &self.pairs[pair];
        // A gateway that is an end itself is entered as often as needed.
        let times = |entry: &Entry| if entry.cost == 0.0 { count as u32 } else { 1 };
        for entry in self.access.entries(pair.from) {
            flow.link(source, 2 * entry.node as usize, times(entry), entry.cost);
        }
        for entry in self.access.entries(pair.to) {
            flow.link(2 * entry.node as usize + 1, sink, times(entry), entry.cost);
        }
        for _ in 0..count {
            if !flow.augment(source, sink) {
                break;
            }
        }
        let mut found = Vec::new();
        while let Some(path) = self.take(&mut flow, source, sink, pair.from, pair.to) {
            found.push(path);
        }
        found.sort_by(|a, b| a.delay_s.total_cmp(&b.delay_s));
        found
    }

    /// Returns the present one-way delay of a path over satellites, s, or `None` if one of its links is no longer
    /// usable.
    fn measured(&self, pair: usize, nodes: &[u32]) -> Option<f64> {
        let pair = &self.pairs[pair];
        let is_relay = |place: usize| self.sky.places[place].relay;
        let mut ends = (pair.from, pair.to);
        if self.reversed {
            ends = (ends.1, ends.0);
        }
        let middle = &nodes[usize::from(!is_relay(ends.0))..nodes.len() - usize::from(!is_relay(ends.1))];
        let end = |place: usize, node: Option<&u32>| {
            let costs = self.access.entries(place).iter().filter(|entry| Some(&entry.node) == node);
            costs.map(|entry| entry.cost).min_by(f64::total_cmp)
        };
        let mut cost = end(ends.0, middle.first())? + end(ends.1, middle.last())?;
        for link in middle.windows(2) {
            cost += self.graph.cost(link[0], link[1])?;
        }
        Some((cost - self.counted_km(nodes)) / LIGHT_KM_S)
    }

    /// Returns the addition of the hop count to the cost of a path.
    fn counted_km(&self, nodes: &[u32]) -> f64 {
        if self.routing.metric == Metric::Hops {
            HOP_KM * (nodes.len() - 1) as f64
        } else {
            0.0
        }
    }

    /// Takes one of the paths out of a flow.
    fn take(&self, flow: &mut Flow, source: usize, sink: usize, from: usize, to: usize) -> Option<Alternative> {
        let (mut node, mut cost) = (source, 0.0);
        let mut nodes = vec![self.sky.node(from)];
        while node != sink {
            // Forward links have even numbers. The use of a link is stored at its link back.
            let used = |number: &&usize| **number % 2 == 0 && flow.arcs[**number ^ 1].left > 0;
            let number = *flow.out[node].iter().find(used)?;
            flow.arcs[number ^ 1].left -= 1;
            let arc = flow.arcs[number];
            let end = if node == source { Some(from) } else { (arc.to == sink).then_some(to) };
            if let Some(place) = end {
                let at = if node == source { arc.to / 2 } else { node / 2 } as u32;
                let entries = self.access.entries(place).iter();
                let entry = { entries }.find(|entry| entry.node == at && entry.cost == arc.cost);
                nodes.extend(entry.and_then(|entry| entry.via));
                nodes.push(if node == source { at } else { self.sky.node(to) });
            } else if arc.to % 2 == 0 {
                nodes.push((arc.to / 2) as u32);
            }
            cost += arc.cost;
            node = arc.to;
        }
        nodes.dedup();
        let delay_s = (cost - self.counted_km(&nodes)) / LIGHT_KM_S;
        if self.reversed {
            nodes.reverse();
        }
        Some(Alternative { nodes, delay_s })
    }
}

/// Finds, for each pair (from, to) of places, `count` disjoint paths over satellites at the instants of a span,
/// shortest first. If there are fewer, the last ones have no nodes. With [`Switch::WhenBroken`] all of them are kept
/// until a link of one of them is no longer usable.
///
/// # Errors
/// As [`Router::new`]. Bent pipes, where paths share only the choices of gateways. More than [`MOST_PATHS`]. The work
/// was ended.
pub fn disjoint_routes_while(
    sky: &Sky,
    pairs: &[(usize, usize)],
    routing: &Routing,
    span: Span,
    (count, what): (usize, Disjoint),
    go_on: GoOn,
) -> Result<Vec<Vec<Route>>, SkyError> {
    if routing.over == Over::Gateways {
        return Err(SkyError::new("disjoint paths", "use links between satellites, not gateways; expected no gateway"));
    }
    if !(1..=MOST_PATHS).contains(&count) {
        return Err(SkyError::new("disjoint paths", format!("{count}: expected 1 to {MOST_PATHS}")));
    }
    let mut router = Router::new(sky, pairs, routing, span.step_s)?;
    let empty = |&(from, to): &(usize, usize)| {
        let delays_s = Vec::with_capacity(span.count());
        vec![Route { from, to, changes: Vec::new(), delays_s }; count]
    };
    let mut found: Vec<Vec<Route>> = pairs.iter().map(empty).collect();
    for (t, is_regular) in sky.instants(span) {
        span.reach(t, go_on)?;
        router.step(t);
        for (pair, routes) in found.iter_mut().enumerate() {
            let kept = if routing.switch == Switch::WhenBroken { router.kept(pair, routes) } else { None };
            let paths = kept.unwrap_or_else(|| router.disjoint(pair, count, what));
            let none = Alternative { nodes: Vec::new(), delay_s: f64::NAN };
            for (route, path) in routes.iter_mut().zip(paths.into_iter().chain(std::iter::repeat(none))) {
                if is_regular {
                    route.delays_s.push(path.delay_s);
                }
                if route.changes.last().is_none_or(|last| last.nodes != path.nodes) {
                    route.changes.push(Change { at_s: t, nodes: path.nodes, delay_s: path.delay_s });
                }
            }
        }
    }
    Ok(found)
}

impl Router<'_> {
    /// Returns the paths in use, if all of them exist and are still usable.
    fn kept(&self, pair: usize, routes: &[Route]) -> Option<Vec<Alternative>> {
        let kept = |route: &Route| {
            let nodes = &route.changes.last()?.nodes;
            let delay_s = if nodes.is_empty() { None } else { self.measured(pair, nodes) }?;
            Some(Alternative { nodes: nodes.clone(), delay_s })
        };
        routes.iter().map(kept).collect()
    }
}

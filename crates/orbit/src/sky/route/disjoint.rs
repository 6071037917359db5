//! Several paths at once that share nothing: successive shortest paths through what earlier ones left (J. Suurballe,
//! "Disjoint paths in a network", 1974), so that the sum of all delays is the least.

use super::super::earth::LIGHT_KM_S;
use super::access::Entry;
use super::{Metric, Router, HOP_KM};

/// What several paths must not share.
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

/// A link with one direction and how often it can be used yet; it and the way back stand next to each other.
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

    /// Sends one more path from `source` to `sink`, if there is one (R. Bellman's and L. Ford's way, for costs below
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
                // A difference that is only rounding must not lead around a circle.
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
    /// Up to `count` paths of a pair at the last instant that share no node or no link, shortest first; the sum of
    /// their delays (or hops) is the least that so many can have.
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

    /// Takes one of the paths out of a flow.
    fn take(&self, flow: &mut Flow, source: usize, sink: usize, from: usize, to: usize) -> Option<Alternative> {
        let (mut node, mut cost) = (source, 0.0);
        let mut nodes = vec![self.sky.node(from)];
        while node != sink {
            // Links forth have even numbers; how often one was used stands at its way back.
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
        let counted = if self.routing.metric == Metric::Hops { HOP_KM * (nodes.len() - 1) as f64 } else { 0.0 };
        if self.reversed {
            nodes.reverse();
        }
        Some(Alternative { nodes, delay_s: (cost - counted) / LIGHT_KM_S })
    }
}

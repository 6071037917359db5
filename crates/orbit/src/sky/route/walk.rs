//! From shortest distances back to paths.

use super::super::graph::{Arc, Graph, LANES};
use super::access::Entry;

/// How each node that was asked for is reached from one source. Paths to many places share most of their nodes, and most of
/// them stay the same from instant to instant: both are found out once a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Walk {
    instant: u32,
    nodes: Vec<Step>,
    stack: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    /// When it was found.
    instant: u32,
    from: From,
    /// Whether the path up to here is that of the instant before.
    same: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum From {
    Node(u32),
    /// The source, over this bent pipe.
    Source(Option<u32>),
}

impl Walk {
    /// Begins an instant.
    pub(super) fn begin(&mut self, nodes: usize) {
        if self.nodes.len() != nodes || self.instant == u32::MAX {
            self.nodes = vec![Step { instant: 0, from: From::Source(None), same: false }; nodes];
            self.instant = 1;
        }
        self.instant += 1;
    }

    /// Finds the path to `node`, which can be reached; whether it is that of the instant before.
    pub(super) fn follow(
        &mut self, graph: &Graph, distances: &[[f64; LANES]], lane: usize, entries: &[Entry], node: u32,
    ) -> bool {
        let mut node = node;
        loop {
            let step = self.nodes[node as usize];
            if step.instant == self.instant {
                break;
            }
            let old = (step.instant == self.instant - 1).then_some(step.from);
            let from = origin(graph, distances, lane, entries, node, old);
            self.nodes[node as usize] = Step { instant: self.instant, from, same: old == Some(from) };
            self.stack.push(node);
            match from {
                From::Node(before) => node = before,
                From::Source(_) => break,
            }
        }
        // Where it met a path that was known, or the source.
        let mut same = match self.nodes[node as usize] {
            step if self.stack.last() != Some(&node) => step.same,
            _ => true,
        };
        while let Some(node) = self.stack.pop() {
            let step = &mut self.nodes[node as usize];
            step.same &= same;
            same = step.same;
        }
        same
    }

    /// Writes the nodes of the path to `node`, which was followed, into `path`; the entry by which it begins.
    pub(super) fn path(&self, node: u32, entries: &[Entry], path: &mut Vec<u32>) -> Entry {
        path.clear();
        path.push(node);
        let mut node = node;
        let via = loop {
            match self.nodes[node as usize].from {
                From::Node(before) => {
                    path.push(before);
                    node = before;
                }
                From::Source(via) => break via,
            }
        };
        path.reverse();
        let first = Entry { node, via, cost: f64::NAN };
        entries.iter().find(|entry| entry.is_like(&first)).copied().unwrap_or(first)
    }
}

/// From where the shortest path reaches `node`: of equal ones, as before.
fn origin(
    graph: &Graph, distances: &[[f64; LANES]], lane: usize, entries: &[Entry], node: u32, old: Option<From>,
) -> From {
    let here = distances[node as usize][lane];
    let along = |arc: &Arc| distances[arc.to as usize][lane] + arc.cost == here;
    // Nearly always.
    if let Some(From::Node(before)) = old {
        if graph.arcs(node as usize).iter().any(|arc| arc.to == before && along(arc)) {
            return From::Node(before);
        }
    }
    let mut found = None;
    for entry in entries.iter().filter(|entry| entry.node == node && entry.cost == here) {
        let from = From::Source(entry.via);
        if old == Some(from) {
            return from;
        }
        found = found.or(Some(from));
    }
    let found = found.or_else(|| graph.arcs(node as usize).iter().find(|arc| along(arc)).map(|arc| From::Node(arc.to)));
    debug_assert!(found.is_some(), "no shortest path ends at {node}");
    found.unwrap_or(From::Source(None))
}

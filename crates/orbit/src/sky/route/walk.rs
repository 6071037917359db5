//! Derives changes of paths from shortest paths.

use super::super::graph::{Distances, Graph, Origin, Tree};
use super::access::Entry;

/// Shortest paths from one place, with their changes. Paths to many places share most of their nodes, and most paths do
/// not change from instant to instant. Each node is therefore compared once per instant.
#[derive(Clone, Debug, Default)]
pub(super) struct Walk {
    tree: Tree,
    instant: u32,
    /// Per node: the time of the last query, and whether the path up to it was then that of the previous instant.
    asked: Vec<(u32, bool)>,
    stack: Vec<u32>,
}

impl Walk {
    /// Begins an instant: finds the shortest paths from a place with these entries into the graph.
    pub(super) fn begin(&mut self, graph: &Graph, entries: &[Entry], distances: &mut Distances) {
        let entries = entries.iter().map(|entry| (entry.node, Origin::source(entry.via), entry.cost));
        self.tree.update(graph, entries, distances);
        if self.asked.len() != graph.nodes() || self.instant == u32::MAX {
            self.asked = vec![(0, false); graph.nodes()];
            self.instant = 1;
        }
        self.instant += 1;
    }

    /// Whether the path to `node` is that of the instant before.
    pub(super) fn is_same(&mut self, node: u32) -> bool {
        let mut node = node;
        let mut same = loop {
            let (instant, same) = self.asked[node as usize];
            if instant == self.instant {
                break same;
            }
            self.stack.push(node);
            match self.tree.origin[node as usize].before() {
                Some(before) => node = before,
                None => break true,
            }
        };
        while let Some(node) = self.stack.pop() {
            let node = node as usize;
            same &= self.tree.origin[node] == self.tree.old[node];
            self.asked[node] = (self.instant, same);
        }
        same
    }

    /// Writes the nodes of the path to a reachable `node` into `path`. Returns the entry where it begins.
    pub(super) fn path(&self, node: u32, entries: &[Entry], path: &mut Vec<u32>) -> Option<Entry> {
        path.clear();
        path.push(node);
        let mut first = node;
        while let Some(before) = self.tree.origin[first as usize].before() {
            path.push(before);
            first = before;
        }
        path.reverse();
        let origin = self.tree.origin[first as usize];
        entries.iter().find(|entry| entry.node == first && Origin::source(entry.via) == origin).copied()
    }
}

//! Pairs of middleboxes at two nodes, by the routes: encoders and decoders, compressors and decompressors.

use super::Scenario;
use crate::ids::{LinkId, NodeId, PathId};
use crate::middlebox::{CodeRole, MiddleboxConfig, PackRole, Side, Way};
use std::collections::BTreeMap;

/// A node, and a place among its middleboxes.
pub type FunctionId = (NodeId, usize);

/// Two middleboxes, one behind the other on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionPair {
    /// The path.
    pub path: PathId,
    /// Kind of both.
    pub kind: &'static str,
    /// Packets meet this one first.
    pub first: FunctionId,
    /// The other.
    pub second: FunctionId,
    /// Stream, equal for all paths from the first to that node.
    pub stream: u32,
}

/// Needs of a middlebox that works in a pair.
#[derive(Clone, Copy, Debug)]
pub struct HalfOfPair {
    /// Kind of both.
    pub kind: &'static str,
    /// Whether packets meet it first.
    pub is_first: bool,
    /// Direction in which it acts.
    pub direction: Way,
    /// Its role, and that of the other.
    pub roles: [&'static str; 2],
}

impl HalfOfPair {
    /// Returns its needs; `None`: the middlebox works alone.
    pub fn of(function: &MiddleboxConfig) -> Option<Self> {
        let kind = function.name();
        let (is_first, direction, roles) = match function {
            MiddleboxConfig::Erasure(code) => (code.role == CodeRole::Encoder, code.direction, ["encoder", "decoder"]),
            MiddleboxConfig::Compress(end) => {
                (end.role == PackRole::Compressor, end.direction, ["compressor", "decompressor"])
            }
            _ => return None,
        };
        let [first, second] = roles;
        Some(Self { kind, is_first, direction, roles: if is_first { roles } else { [second, first] } })
    }
}

impl Scenario {
    /// Returns, for each path, each first middlebox that a second follows at another node, before any other first one
    /// of its kind. Where routes change, the first route with a second counts.
    pub fn function_pairs(&self) -> Vec<FunctionPair> {
        let mut pairs: Vec<FunctionPair> = Vec::new();
        let halves = self.nodes.iter().flat_map(|node| node.middleboxes.iter().filter_map(HalfOfPair::of));
        let mut kinds: Vec<&str> = halves.map(|half| half.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let (changing, mut streams) = (self.timeline.routes(), BTreeMap::new());
        for (kind, path) in kinds.iter().flat_map(|kind| self.paths().map(move |path| (kind, path))) {
            let later = changing.get(&path).into_iter().flatten().filter_map(|(_, route)| *route);
            let known = pairs.len();
            for route in std::iter::once(self.first_route(path)).chain(later) {
                for (first, second) in self.pairs_on(kind, path, route) {
                    if pairs[known..].iter().all(|pair| pair.first != first) {
                        let next = streams.len() as u32;
                        let stream = *streams.entry((first, second.0)).or_insert(next);
                        pairs.push(FunctionPair { path, kind, first, second, stream });
                    }
                }
            }
        }
        pairs
    }

    fn pairs_on(&self, kind: &str, path: PathId, route: &[LinkId]) -> Vec<(FunctionId, FunctionId)> {
        let side = if path.is_back() { Side::Receiver } else { Side::Sender };
        let start = route.first().map(|&link| self.links[link].from);
        let nodes = start.into_iter().chain(route.iter().map(|&link| self.links[link].to));
        let (mut pairs, mut open) = (Vec::new(), Vec::new());
        for node in nodes {
            let at = |is_first: bool| {
                let boxes = self.nodes[node].middleboxes.iter().enumerate();
                let halves = boxes.filter_map(|(index, function)| Some((index, HalfOfPair::of(function)?)));
                halves.filter(move |(_, half)| {
                    half.kind == kind && half.is_first == is_first && half.direction.is_from(side)
                })
            };
            let second = at(false).next();
            let mut firsts = at(true).peekable();
            if let Some((second, _)) = second {
                pairs.extend(open.drain(..).map(|first| (first, (node, second))));
            }
            if firsts.peek().is_some() {
                open = firsts.map(|(first, _)| (node, first)).collect();
            }
        }
        pairs
    }
}

//! Encoders and decoders of erasure codes that work together, as the routes have them.

use super::Scenario;
use crate::ids::{LinkId, NodeId, PathId};
use crate::middlebox::{CodeRole, ErasureConfig, MiddleboxConfig, Side};
use std::collections::BTreeMap;

/// An encoder and the decoder behind it on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ErasurePair {
    pub(crate) path: PathId,
    /// The node, and the place among its functions.
    pub(crate) encoder: (NodeId, usize),
    pub(crate) decoder: (NodeId, usize),
    /// Equal for all paths of this encoder to that node.
    pub(crate) stream: u32,
}

impl Scenario {
    /// For each path, each encoder on it behind which a decoder follows at another node, before any other encoder. Where routes
    /// change, the first of them that has one counts.
    pub(crate) fn erasure_pairs(&self) -> Vec<ErasurePair> {
        let mut pairs: Vec<ErasurePair> = Vec::new();
        let has_any = |role| self.nodes.iter().any(|node| codes(&node.middleboxes, role).next().is_some());
        if !has_any(CodeRole::Encoder) || !has_any(CodeRole::Decoder) {
            return pairs;
        }
        let (changing, mut streams) = (self.timeline.routes(), BTreeMap::new());
        for path in PathId::all(2 * self.flows.len()) {
            let later = changing.get(&path).into_iter().flatten().filter_map(|(_, route)| *route);
            let known = pairs.len();
            for route in std::iter::once(self.first_route(path)).chain(later) {
                for (encoder, decoder) in self.pairs_on(path, route) {
                    if pairs[known..].iter().all(|pair| pair.encoder != encoder) {
                        let next = streams.len() as u32;
                        let stream = *streams.entry((encoder, decoder.0)).or_insert(next);
                        pairs.push(ErasurePair { path, encoder, decoder, stream });
                    }
                }
            }
        }
        pairs
    }

    fn pairs_on(&self, path: PathId, route: &[LinkId]) -> Vec<((NodeId, usize), (NodeId, usize))> {
        let side = if path.is_back() { Side::Receiver } else { Side::Sender };
        let first = route.first().map(|&link| self.links[link].from);
        let nodes = first.into_iter().chain(route.iter().map(|&link| self.links[link].to));
        let (mut pairs, mut open) = (Vec::new(), Vec::new());
        for node in nodes {
            let at = |role| codes(&self.nodes[node].middleboxes, role).filter(|(_, code)| code.direction.is_from(side));
            let decoder = at(CodeRole::Decoder).next();
            let mut encoders = at(CodeRole::Encoder).peekable();
            if let Some((decoder, _)) = decoder {
                pairs.extend(open.drain(..).map(|encoder| (encoder, (node, decoder))));
            }
            if encoders.peek().is_some() {
                open = encoders.map(|(encoder, _)| (node, encoder)).collect();
            }
        }
        pairs
    }
}

/// The functions of this role among those of a node, with their places.
fn codes(boxes: &[MiddleboxConfig], role: CodeRole) -> impl Iterator<Item = (usize, &ErasureConfig)> {
    boxes.iter().enumerate().filter_map(move |(index, function)| match function {
        MiddleboxConfig::Erasure(code) if code.role == role => Some((index, code)),
        _ => None,
    })
}

//! Lost packets by place, flow and cause.

use super::Names;
use bentpipe_model::dictionary::{Cause, DropRow, Table};
use bentpipe_model::ids::{FlowId, LinkId, NodeId};
use std::collections::BTreeMap;

/// Place where packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LossPlace {
    Link(LinkId),
    Node(NodeId),
}

impl LossPlace {
    /// Returns its name in tables.
    pub(crate) fn name<'a>(self, names: &Names<'a>) -> &'a str {
        match self {
            Self::Link(link) => names.links[link],
            Self::Node(node) => names.nodes[node],
        }
    }
}

/// Packets and bytes lost, by place, flow and cause.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drops(BTreeMap<(LossPlace, FlowId, Cause), (u64, u64)>);

impl Drops {
    /// Counts a lost packet of `flow`, of `size` bytes.
    pub(crate) fn add(&mut self, place: LossPlace, flow: FlowId, cause: Cause, size: u64) {
        let (packets, bytes) = self.0.entry((place, flow, cause)).or_default();
        *packets += 1;
        *bytes += size;
    }

    /// Returns the place and cause that took most packets of a flow, with their number.
    pub(crate) fn most_of(&self, flow: FlowId) -> Option<(LossPlace, Cause, u64)> {
        let of_flow = self.0.iter().filter(|((_, of, _), _)| *of == flow);
        of_flow.map(|(&(place, _, cause), &(packets, _))| (place, cause, packets)).max_by_key(|loss| loss.2)
    }

    pub(crate) fn table(&self, names: &Names<'_>) -> Table {
        DropRow::table(self.0.iter().map(|(&(place, flow, cause), &(packets, bytes))| DropRow {
            place: place.name(names),
            flow: names.flows[flow],
            cause: cause.name(),
            packets,
            bytes,
        }))
    }
}

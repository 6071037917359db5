//! Routes of lanes over the course of a run.

use bentpipe_model::ids::{FlowId, LaneId, LinkId};
use bentpipe_model::spec::{shared_links, Lane, Users};
use bentpipe_units::Time;
use std::collections::BTreeMap;

/// Routes of lanes after the start.
#[derive(Default)]
pub(super) struct RoutesOverTime {
    /// Changes in order of time.
    pub(super) later: Vec<Rerouted>,
}

/// Routes of a lane from an instant on. An empty route leads nowhere.
pub(super) struct Rerouted {
    pub(super) at: Time,
    pub(super) lane: LaneId,
    /// Both directions.
    pub(super) ways: [Vec<LinkId>; 2],
}

impl RoutesOverTime {
    /// Returns the pairs of routes that each lane has at the same time.
    pub(super) fn each<'a>(&'a self, lanes: &'a [Lane]) -> impl Iterator<Item = (&'a Lane, [&'a [LinkId]; 2])> {
        let first = lanes.iter().map(|lane| (lane, [&*lane.route, &*lane.reverse_route]));
        first.chain(self.later.iter().map(|later| (&lanes[later.lane], later.ways.each_ref().map(Vec::as_slice))))
    }

    /// Returns the largest sum at each link over time, of the flows' contributions to the links of their forward
    /// routes. A flow contributes to each of its lanes as if it had no other. Receivers of the same datagrams share a link as one flow. `brings` returns the contribution of a flow and is called in the order of the links.
    pub(super) fn peaks<const N: usize, F: FnMut(LinkId) -> [f64; N]>(
        &self,
        users: Users<'_>,
        links: usize,
        brings: impl Fn(FlowId) -> F,
    ) -> Vec<[f64; N]> {
        let (mut now, shared) = (vec![[0.0; N]; links], shared_links(users));
        let add = |now: &mut Vec<[f64; N]>, sign: f64, flow: FlowId, way: &[LinkId]| {
            let mut brings = brings(flow);
            let shared = shared.get(&flow).copied().unwrap_or(0);
            for (place, &link) in way.iter().enumerate() {
                let brought = brings(link);
                if place >= shared {
                    now[link].iter_mut().zip(brought).for_each(|(sum, amount)| *sum += sign * amount);
                }
            }
        };
        users.lanes.iter().for_each(|lane| add(&mut now, 1.0, lane.flow, &lane.route));
        let mut peaks = now.clone();
        let mut current: BTreeMap<LaneId, &[LinkId]> = BTreeMap::new();
        for changed in self.later.chunk_by(|a, b| a.at == b.at) {
            for Rerouted { lane, ways: [way, _], .. } in changed {
                let of = &users.lanes[*lane];
                let before = current.insert(*lane, way).unwrap_or(&of.route);
                add(&mut now, -1.0, of.flow, before);
            }
            changed.iter().for_each(|later| add(&mut now, 1.0, users.lanes[later.lane].flow, &later.ways[0]));
            for &link in changed.iter().flat_map(|later| &later.ways[0]) {
                peaks[link].iter_mut().zip(now[link]).for_each(|(peak, sum)| *peak = peak.max(sum));
            }
        }
        peaks
    }
}

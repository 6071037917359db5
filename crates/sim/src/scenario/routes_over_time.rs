//! Routes of flows over the course of a run.

use crate::ids::{FlowId, LinkId};
use crate::spec::Flow;
use bentpipe_units::Time;
use std::collections::BTreeMap;

/// Routes of flows after the start.
#[derive(Default)]
pub(super) struct RoutesOverTime {
    /// Changes in order of time.
    pub(super) later: Vec<Rerouted>,
}

/// Routes of a flow from an instant on. An empty route leads nowhere.
pub(super) struct Rerouted {
    pub(super) at: Time,
    pub(super) flow: FlowId,
    /// Both directions.
    pub(super) ways: [Vec<LinkId>; 2],
}

impl RoutesOverTime {
    /// Returns the pairs of routes that each flow has at the same time.
    pub(super) fn each<'a>(&'a self, flows: &'a [Flow]) -> impl Iterator<Item = (FlowId, [&'a [LinkId]; 2])> {
        let first = FlowId::all(flows.len()).zip(flows);
        let first = first.map(|(id, flow)| (id, [flow.route.as_slice(), flow.reverse_route.as_slice()]));
        first.chain(self.later.iter().map(|later| (later.flow, later.ways.each_ref().map(Vec::as_slice))))
    }

    /// Returns the largest sum at each link over time, of the flows' contributions to the links of their forward
    /// routes. `brings` returns the contribution of a flow and is called in the order of the links.
    pub(super) fn peaks<const N: usize, F: FnMut(LinkId) -> [f64; N]>(
        &self,
        flows: &[Flow],
        links: usize,
        brings: impl Fn(FlowId) -> F,
    ) -> Vec<[f64; N]> {
        let mut now = vec![[0.0; N]; links];
        let add = |now: &mut Vec<[f64; N]>, sign: f64, flow: FlowId, way: &[LinkId]| {
            let mut brings = brings(flow);
            for &link in way {
                now[link].iter_mut().zip(brings(link)).for_each(|(sum, amount)| *sum += sign * amount);
            }
        };
        FlowId::all(flows.len()).for_each(|flow| add(&mut now, 1.0, flow, &flows[flow].route));
        let mut peaks = now.clone();
        let mut current: BTreeMap<FlowId, &[LinkId]> = BTreeMap::new();
        for changed in self.later.chunk_by(|a, b| a.at == b.at) {
            for Rerouted { flow, ways: [way, _], .. } in changed {
                let before = current.insert(*flow, way).unwrap_or(&flows[*flow].route);
                add(&mut now, -1.0, *flow, before);
            }
            changed.iter().for_each(|later| add(&mut now, 1.0, later.flow, &later.ways[0]));
            for &link in changed.iter().flat_map(|later| &later.ways[0]) {
                peaks[link].iter_mut().zip(now[link]).for_each(|(peak, sum)| *peak = peak.max(sum));
            }
        }
        peaks
    }
}

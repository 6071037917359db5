//! Flows with several receivers: the tree of their routes.
//!
//! Each receiver is a flow. All receive the datagrams of the first: a packet crosses each link of the tree once, and is
//! copied where routes part. On a forward carrier, one packet in a frame is for all receivers.

use super::{Flow, MediumKind, Scenario, Users};
use crate::ids::{FlowId, LinkId, MediumId};
use std::collections::BTreeMap;

/// The place where the route of a receiver parts from that of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The receiver whose packets are copied.
    pub of: FlowId,
    /// Links that both routes share, count.
    pub after: usize,
    /// The receiver of the copy.
    pub to: FlowId,
    /// The carrier, if `to` receives the frames of another receiver's packet, which is the first on this carrier.
    pub frames_of: Option<(MediumId, FlowId)>,
}

/// A node of the tree: the first receiver whose route leads here, and the next ones, by link.
struct Fork {
    owner: FlowId,
    next: BTreeMap<LinkId, usize>,
    /// The first receiver on each carrier from here.
    carriers: BTreeMap<MediumId, FlowId>,
}

impl Fork {
    fn of(owner: FlowId) -> Self {
        Self { owner, next: BTreeMap::new(), carriers: BTreeMap::new() }
    }
}

/// Returns the receivers of each flow with several, the flow itself first.
pub fn receivers_by_flow(flows: &[Flow]) -> BTreeMap<FlowId, Vec<FlowId>> {
    let mut all: BTreeMap<FlowId, Vec<FlowId>> = BTreeMap::new();
    for (id, flow) in FlowId::all(flows.len()).zip(flows) {
        if let Some(first) = flow.copy_of {
            all.entry(first).or_insert_with(|| vec![first]).push(id);
        }
    }
    all
}

/// Returns the number of links that each receiver shares with an earlier one, without those that share none.
pub fn shared_links(users: Users<'_>) -> BTreeMap<FlowId, usize> {
    let all = receivers_by_flow(users.flows);
    let branches = all.values().flat_map(|receivers| branches_of(users, receivers, |_| None));
    branches.map(|branch| (branch.to, branch.after)).collect()
}

fn branches_of(users: Users<'_>, receivers: &[FlowId], carrier_of: impl Fn(LinkId) -> Option<MediumId>) -> Vec<Branch> {
    let mut forks = vec![Fork::of(receivers[0])];
    let mut branches = Vec::new();
    for &to in receivers {
        let (mut at, mut is_own) = (0, to == receivers[0]);
        let route = &users.lanes[users.flows[to].lane].route;
        for (after, &link) in route.iter().enumerate() {
            if let Some(&next) = forks[at].next.get(&link) {
                at = next;
                continue;
            }
            let carrier = carrier_of(link);
            let first = carrier.map(|id| (id, *forks[at].carriers.entry(id).or_insert(to)));
            if !std::mem::replace(&mut is_own, true) {
                let frames_of = first.filter(|(_, first)| *first != to);
                branches.push(Branch { of: forks[at].owner, after, to, frames_of });
            }
            let next = forks.len();
            forks[at].next.insert(link, next);
            forks.push(Fork::of(to));
            at = next;
        }
        if !is_own {
            branches.push(Branch { of: forks[at].owner, after: route.len(), to, frames_of: None });
        }
    }
    branches
}

/// Returns the branches of all trees, by receiver in order.
pub fn branches(scenario: &Scenario) -> Vec<Branch> {
    // Frames of a forward carrier are for several links.
    let carrier_of = |link: LinkId| {
        let medium = scenario.links[link].terminal.as_ref()?.medium;
        matches!(scenario.media[medium].kind, MediumKind::Tdm(_)).then_some(medium)
    };
    let all = receivers_by_flow(&scenario.flows);
    all.values().flat_map(|receivers| branches_of(scenario.users(), receivers, carrier_of)).collect()
}

//! Flows with several receivers in the naive engine, from their definition: the routes of the receivers of a packet
//! begin with the links that it has crossed. They are divided by their next link.

use super::draw::Dice;
use crate::network::{queue_of, Broadcast};
use bentpipe_model::ids::{FlowId, LinkId, MediumId, NodeId};
use bentpipe_model::spec::{App, Datagrams, Flow, Gaps, Link, MediumKind, Scenario, Transport, Wait};
use bentpipe_units::{Duration, Rate};
use std::sync::Arc;

/// The next step of a packet at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A link, or the host at the end of the route.
    Way(Option<LinkId>),
    /// The frames of a carrier.
    Frames(MediumId),
}

/// Returns all receivers of the datagrams of a flow, the first one first.
fn all(scenario: &Scenario, flow: FlowId) -> Vec<FlowId> {
    let first = scenario.flows[flow].copy_of.unwrap_or(flow);
    let others = FlowId::all(scenario.flows.len()).filter(|&other| scenario.flows[other].copy_of == Some(first));
    std::iter::once(first).chain(others).collect()
}

/// Returns the receivers of a packet of `flow` that has crossed its first `links`: their routes begin so, and the flow is the
/// first of them. A middlebox may turn a packet twice, to a node before its own links: it stays that of its receivers.
fn receivers(scenario: &Scenario, flow: FlowId, links: usize) -> Vec<FlowId> {
    let route = |flow: FlowId| &scenario.lane_of(flow).route;
    let begin_so = |links: usize| -> Vec<FlowId> {
        let is_so = |other: &FlowId| route(*other).get(..links) == Some(&route(flow)[..links]);
        all(scenario, flow).into_iter().filter(is_so).collect()
    };
    let mut from_here = (links..=route(flow).len()).map(begin_so);
    from_here.find(|of| of[0] == flow).unwrap_or_else(|| vec![flow])
}

/// Returns the packets that leave a node for a packet that has crossed `links`: the step of each, and its receivers.
pub(super) fn leaving(scenario: &Scenario, flow: FlowId, links: usize) -> Vec<(Step, Vec<FlowId>)> {
    let mut parts: Vec<(Step, Vec<FlowId>)> = Vec::new();
    let next = |flow: FlowId| scenario.lane_of(flow).route.get(links).copied();
    let carrier = |link: Option<LinkId>| {
        let medium = scenario.links[link?].terminal.as_ref()?.medium;
        matches!(scenario.media[medium].kind, MediumKind::Tdm(_)).then_some(medium)
    };
    let of = receivers(scenario, flow, links);
    for &receiver in &of {
        let own = next(receiver);
        let is_shared = |id: MediumId| of.iter().any(|&other| next(other) != own && carrier(next(other)) == Some(id));
        let step = carrier(own).filter(|&id| is_shared(id)).map_or(Step::Way(own), Step::Frames);
        // Each receiver at this host has its own copy.
        match parts.iter_mut().find(|(known, _)| *known == step && step != Step::Way(None)) {
            Some((_, of)) => of.push(receiver),
            None => parts.push((step, vec![receiver])),
        }
    }
    parts
}

/// Returns the flows that lose a packet: `waits` for its next link, or has crossed `links`.
pub(super) fn losing(scenario: &Scenario, flow: FlowId, links: usize, waits: bool) -> Vec<FlowId> {
    if !waits {
        return receivers(scenario, flow, links);
    }
    // It parted from the first flow with these links, and may wait for the frames of several links.
    let route = |flow: FlowId| &scenario.lane_of(flow).route;
    let begins_so = |other: &FlowId| route(*other).get(..links) == Some(&route(flow)[..links]);
    let first = all(scenario, flow).into_iter().find(begins_so).unwrap_or(flow);
    let part = |of: FlowId| leaving(scenario, of, links).into_iter().map(|(_, of)| of).find(|of| of[0] == flow);
    part(first).or_else(|| part(flow)).unwrap_or_else(|| vec![flow])
}

/// Returns the first receiver on each link of a broadcast, with this link.
pub(super) fn heads(scenario: &Scenario, of: &[FlowId], links: usize) -> Vec<(FlowId, LinkId)> {
    let mut heads: Vec<(FlowId, LinkId)> = Vec::new();
    for &flow in of {
        let link = scenario.lane_of(flow).route[links];
        if heads.iter().all(|(_, known)| *known != link) {
            heads.push((flow, link));
        }
    }
    heads
}

/// Returns all broadcasts of the scenario, with the link that is their queue.
pub(super) fn broadcasts(scenario: &Scenario) -> Vec<(Broadcast, Link)> {
    let mut found: Vec<Broadcast> = Vec::new();
    for first in FlowId::all(scenario.flows.len()).filter(|&flow| all(scenario, flow).len() > 1) {
        for links in 0..scenario.lane_of(first).route.len() {
            for (step, of) in leaving(scenario, first, links) {
                let Step::Frames(medium) = step else { continue };
                let receivers =
                    heads(scenario, &of, links).into_iter().map(|(flow, link)| (flow, link, links)).collect();
                let broadcast = Broadcast { medium, receivers };
                if !found.contains(&broadcast) {
                    found.push(broadcast);
                }
            }
        }
    }
    found.sort_by_key(|of| (of.receivers[0].0, of.receivers[0].2, of.medium));
    found.into_iter().map(|of| (queue_of(scenario, &of), of)).map(|(queue, of)| (of, queue)).collect()
}

/// Makes some flows receivers of the datagrams of another one: their routes begin with its route, as far as both meet.
pub(super) fn join(scenario: &mut Scenario, dice: &mut Dice) {
    let first = FlowId::new(dice.below(scenario.flows.len() as u64) as usize);
    let peak = Rate::from_bps(*dice.pick(&[20_000, 500_000]));
    let on = Wait::Constant(dice.ms(&[300, 2500]));
    let off = Wait::Constant(Duration::from_secs(1_000_000));
    let gaps = Gaps::OnOff { peak, on, off };
    let app =
        Arc::new(App::Datagrams(Datagrams { size: *dice.pick(&[160, 1200]), gaps, content: dice.content(false) }));
    scenario.timeline = Default::default();
    scenario.flows[first].app = Arc::clone(&app);
    scenario.flows[first].transport = Transport::None;
    for other in FlowId::all(scenario.flows.len()).filter(|&other| other != first) {
        if dice.below(4) == 0 {
            continue;
        }
        let Some(route) = joined(scenario, &scenario.flows[first], &scenario.flows[other]) else { continue };
        let (Flow { from, start, .. }, class) = (&scenario.flows[first], scenario.lane_of(first).class);
        let (from, start) = (*from, *start);
        let flow = &mut scenario.flows[other];
        let lane = &mut scenario.lanes[flow.lane];
        lane.reverse_route = route.iter().rev().map(|link| LinkId::new(link.index() ^ 1)).collect();
        (flow.from, flow.start, lane.class, lane.route) = (from, start, class, route.into());
        (flow.app, flow.copy_of, flow.processing) = (Arc::clone(&app), Some(first), Default::default());
        flow.transport = Transport::None;
    }
    scenario.flows[first].processing = Default::default();
    for node in &mut scenario.nodes {
        node.middleboxes.retain(|function| function.name() != "erasure");
    }
}

/// Returns the route to the end of `other` that begins as that of `first`, without a node twice.
fn joined(scenario: &Scenario, first: &Flow, other: &Flow) -> Option<Vec<LinkId>> {
    let nodes = |from: NodeId, route: &[LinkId]| -> Vec<NodeId> {
        std::iter::once(from).chain(route.iter().map(|&link| scenario.links[link].to)).collect()
    };
    let [first_route, other_route] = [first, other].map(|flow| &scenario.lanes[flow.lane].route);
    let [ours, theirs] = [first, other].map(|flow| nodes(flow.from, &scenario.lanes[flow.lane].route));
    let (at, place) =
        theirs.iter().enumerate().find_map(|(at, node)| Some((at, ours.iter().position(|of| of == node)?)))?;
    let route: Vec<LinkId> = first_route[..place].iter().chain(&other_route[at..]).copied().collect();
    let mut visited = nodes(first.from, &route);
    visited.sort_unstable();
    visited.dedup();
    (visited.len() == route.len() + 1 && !route.is_empty()).then_some(route)
}

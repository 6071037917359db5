//! One medium of a run, with its links: the state that superframes and frames change.

use super::carriers::{opposites, ForwardCarrier};
use super::results::MediumGrants;
use super::routes::Routes;
use crate::link::{GrantCounts, LazyLink, LinkAtEnd, Losses};
use bentpipe_access::{Asked, Demand, SlottedMedium, Terminal};
use bentpipe_model::ids::{LinkId, MediumId, NodeId};
use bentpipe_model::spec::{LeoCell, MediumKind, MfTdma, Scenario};
use bentpipe_units::Time;
use std::collections::BTreeMap;

/// A medium that runs.
#[derive(Clone, Debug)]
pub(super) enum SharedMedium {
    /// Bursts in planned slots.
    Slots(Box<MediumState>),
    /// Frames of a forward carrier.
    Frames(Box<ForwardCarrier>),
}

/// Forward carriers to the terminals of a return link.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ForwardSide {
    /// Place of each terminal on a forward carrier, which reads its reports.
    pub(crate) reports: Vec<Option<(MediumId, usize)>>,
    /// The carrier of the plans, and the places of the terminals on it.
    pub(crate) plans: Option<(MediumId, Vec<Option<u32>>)>,
}

/// A medium of slots with its links.
#[derive(Clone, Debug)]
pub(super) struct MediumState {
    /// Plans, requests and windows.
    pub(super) plan: SlottedMedium,
    /// Links, by terminal.
    pub(super) links: Vec<LinkId>,
    /// Demands of the terminals at their last visits.
    pub(super) demands: Vec<Demand>,
    pub(super) forward: ForwardSide,
    /// Links of the same node in other media that hand requests over, by terminal. Empty without the key.
    before: Vec<Vec<Elsewhere>>,
    /// Whether each terminal had no capacity to come in the last superframe.
    pub(super) asking: Vec<bool>,
    /// Terminals of a plan, kept to reuse their memory.
    pub(super) told: Vec<u32>,
}

impl SharedMedium {
    /// Returns its grants to its links, among all links.
    pub(super) fn grants(&self, links: &[LazyLink], now: Time) -> MediumGrants {
        match self {
            Self::Slots(slots) => slots.grants(links, now),
            Self::Frames(carrier) => carrier.grants(links, now),
        }
    }

    /// Packets of its queues for several links, at the end of the run.
    pub(super) fn broadcasts_at_end(&self, now: Time) -> Vec<LinkAtEnd> {
        match self {
            Self::Slots(_) => Vec::new(),
            Self::Frames(carrier) => carrier.broadcasts_at_end(now),
        }
    }

    /// Packets in its queues for several links.
    pub(super) fn held(&self) -> usize {
        match self {
            Self::Slots(_) => 0,
            Self::Frames(carrier) => carrier.held(),
        }
    }

    /// The time of its next superframe or frame.
    pub(super) fn next_wakeup(&self) -> Time {
        match self {
            Self::Slots(slots) => slots.plan.next_wakeup(),
            Self::Frames(carrier) => carrier.next_wakeup(),
        }
    }
}

impl MediumState {
    /// Wakes up the terminal of a link before a packet is offered to it.
    pub(super) fn wake(&mut self, link: LinkId, links: &mut [LazyLink], losses: &mut Losses) {
        // Links rise with terminals.
        let Ok(terminal) = self.links.binary_search(&link) else { return };
        if let Some(began) = self.plan.wake(terminal) {
            links[link].open(began, self.plan.windows(terminal), losses);
        }
    }

    /// Lets superframes pass while all links lose what is offered to them, like those of a satellite out of reach.
    pub(super) fn rest(&mut self, now: Time, links: &mut [LazyLink]) {
        let mut until = Time::NEVER;
        for &link in &self.links {
            if links[link].gate.closed(now).is_none() {
                return;
            }
            until = until.min(links[link].gate.changes_at(now));
        }
        self.plan.rest(until);
    }

    fn grants(&self, links: &[LazyLink], now: Time) -> MediumGrants {
        let of = |(terminal, &link): (usize, &LinkId)| {
            let counts = links[link].layer2.grants(now)?;
            Some((link, GrantCounts { granted: self.plan.granted_bytes(terminal), ..counts }))
        };
        let of_links = MediumGrants::of(self.links.iter().enumerate().filter_map(of).collect());
        let log_ons = (self.plan.log_ons(), self.plan.grid().superframe().as_secs_f64());
        MediumGrants {
            counters: self.plan.counters(),
            log_ons,
            bursts: self.plan.granted_bursts().collect(),
            ..of_links
        }
    }
}

/// Returns the media at the start of a run.
pub(super) fn states(scenario: &Scenario, routes: &Routes, seed: u64) -> Vec<SharedMedium> {
    let slots = |id, (plan, links): (SlottedMedium, Vec<LinkId>), forward| {
        let demands = vec![Demand::of(0, 0, 0.0); links.len()];
        let (told, before) = (Vec::new(), elsewhere(scenario, id));
        let asking = vec![true; links.len()];
        SharedMedium::Slots(Box::new(MediumState { plan, demands, links, forward, before, asking, told }))
    };
    let state = |id: MediumId| match &scenario.media[id].kind {
        MediumKind::MfTdma(keys) => {
            let planned = planned(scenario, (id, keys), seed);
            let forward = forward_side(scenario, keys, &planned.1);
            slots(id, planned, forward)
        }
        MediumKind::LeoCell(keys) => slots(id, seen(scenario, (id, keys), seed), ForwardSide::default()),
        MediumKind::Tdm(keys) => SharedMedium::Frames(Box::new(ForwardCarrier::new(scenario, id, keys, routes, seed))),
    };
    MediumId::all(scenario.media.len()).map(state).collect()
}

/// A link in another medium: its place there.
#[derive(Clone, Copy, Debug)]
struct Elsewhere {
    medium: MediumId,
    terminal: usize,
    link: LinkId,
}

/// Returns the links of the same nodes in other media, by terminal of a medium, if all these media hand requests over.
fn elsewhere(scenario: &Scenario, id: MediumId) -> Vec<Vec<Elsewhere>> {
    if !scenario.media[id].kind.hands_over() {
        return Vec::new();
    }
    let mut count = vec![0; scenario.media.len()];
    let mut of_node: BTreeMap<NodeId, Vec<Elsewhere>> = BTreeMap::new();
    let mut own = Vec::new();
    for (link, spec) in LinkId::all(scenario.links.len()).zip(&scenario.links) {
        let Some(medium) = spec.terminal.as_ref().map(|terminal| terminal.medium) else { continue };
        let terminal = count[medium.index()];
        count[medium.index()] += 1;
        if medium == id {
            own.push(spec.from);
        } else if scenario.media[medium].kind.hands_over() {
            of_node.entry(spec.from).or_default().push(Elsewhere { medium, terminal, link });
        }
    }
    own.iter().map(|node| of_node.get(node).cloned().unwrap_or_default()).collect()
}

/// Returns the open requests of a terminal that comes up, in the medium that it left last. `own` is the time when it left
/// this medium, if its requests here have not lapsed.
fn handed(own: Option<Time>, left: impl Iterator<Item = (Time, Asked)>) -> Option<Asked> {
    let later = left.filter(|(at, _)| own.is_none_or(|own| *at > own));
    later.reduce(|first, next| if next.0 > first.0 { next } else { first }).map(|(_, asked)| asked)
}

/// Hands requests over to the terminals of a medium that come up.
pub(super) fn hand_over(media: &mut [SharedMedium], id: MediumId, now: Time, links: &[LazyLink]) {
    let plan = |medium: MediumId| match &media[medium] {
        SharedMedium::Slots(slots) => Some(&slots.plan),
        SharedMedium::Frames(_) => None,
    };
    let SharedMedium::Slots(slots) = &media[id] else { return };
    let mut found = Vec::new();
    if slots.before.is_empty() {
        return;
    }
    for n in slots.plan.visited().iter().map(|&n| n as usize) {
        let (before, demand) = (&slots.before[n], &slots.demands[n]);
        if demand.is_up && !slots.plan.was_up(n) {
            let left = before.iter().filter(|there| !links[there.link].gate.is_up(now));
            let left = left.filter_map(|there| plan(there.medium)?.left(now, there.terminal));
            found.push((n, handed(slots.plan.left(now, n).map(|own| own.0), left)));
        }
    }
    let SharedMedium::Slots(slots) = &mut media[id] else { return };
    for (n, asked) in found {
        slots.demands[n].handed = asked;
    }
}

/// Returns the part of forward carriers for a return link with these links.
pub(crate) fn forward_side(scenario: &Scenario, keys: &MfTdma, links: &[LinkId]) -> ForwardSide {
    let mut carriers: BTreeMap<MediumId, Vec<LinkId>> = BTreeMap::new();
    for (link, spec) in LinkId::all(scenario.links.len()).zip(&scenario.links) {
        let medium = spec.terminal.as_ref().map(|of| of.medium);
        if let Some(medium) = medium.filter(|&id| matches!(scenario.media[id].kind, MediumKind::Tdm(_))) {
            carriers.entry(medium).or_default().push(link);
        }
    }
    if carriers.is_empty() {
        return ForwardSide::default();
    }
    let opposites = opposites(scenario);
    let place = |back: &LinkId| {
        // The report is for the carrier that has this link as its way back.
        let forward = opposites[*back].filter(|&link| opposites[link] == Some(*back))?;
        let id = scenario.links[forward].terminal.as_ref()?.medium;
        Some((id, carriers.get(&id)?.binary_search(&forward).ok()?))
    };
    let over = keys.plan_over.as_ref().and_then(|name| scenario.media.iter().position(|of| of.name == *name));
    let plans = over.map(MediumId::new).and_then(|id| {
        let on = carriers.get(&id)?;
        let mut places = BTreeMap::new();
        for (place, &link) in (0..).zip(on) {
            places.entry(scenario.links[link].to).or_insert(place);
        }
        Some((id, links.iter().map(|&back| places.get(&scenario.links[back].from).copied()).collect()))
    });
    ForwardSide { reports: links.iter().map(place).collect(), plans }
}

/// Returns a return link at the start of a run, with its links in the order of its terminals.
pub(crate) fn planned(scenario: &Scenario, (id, keys): (MediumId, &MfTdma), seed: u64) -> (SlottedMedium, Vec<LinkId>) {
    let (terminals, links) = terminals(scenario, id);
    let medium = &scenario.media[id];
    (SlottedMedium::mf_tdma(&keys.parameters(medium.there, medium.back), &terminals, seed), links)
}

/// Returns a direction of a cell at the start of a run, with its links.
fn seen(scenario: &Scenario, (id, keys): (MediumId, &LeoCell), seed: u64) -> (SlottedMedium, Vec<LinkId>) {
    let (terminals, links) = terminals(scenario, id);
    let medium = &scenario.media[id];
    // A controller sees the queues of links that start at it.
    let asks = links.iter().any(|&link| scenario.links[link].from != medium.controller);
    let parameters = keys.parameters(medium.there, medium.back);
    let name = format!("medium/{}", medium.name);
    (SlottedMedium::leo_cell(&parameters, &terminals, asks, &name, seed), links)
}

/// Returns the terminals of a medium, and their links.
fn terminals(scenario: &Scenario, id: MediumId) -> (Vec<Terminal>, Vec<LinkId>) {
    let (mut links, mut terminals) = (Vec::new(), Vec::new());
    for (link, spec) in LinkId::all(scenario.links.len()).zip(&scenario.links) {
        let Some(terminal) = spec.terminal.as_ref().filter(|terminal| terminal.medium == id) else { continue };
        links.push(link);
        terminals.push(Terminal { name: spec.name.clone(), access: terminal.access.parameters() });
    }
    (terminals, links)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::{Duration, Rate};

    /// A terminal that was in three media has its requests from the one that it left last, whatever their order, unless it
    /// left the medium in which it comes up later.
    #[test]
    fn the_medium_left_last_hands_over() {
        let at = |s| Time::ZERO + Duration::from_secs(s);
        let asked = |volume| Asked { rate: Rate::from_bps(0), volume };
        let left = [2, 5, 3].map(|s| (at(s), asked(s)));
        for turn in 0..3 {
            let mut left = left;
            left.rotate_left(turn);
            assert_eq!(handed(None, left.into_iter()), Some(asked(5)));
            assert_eq!(handed(Some(at(4)), left.into_iter()), Some(asked(5)));
            assert_eq!(handed(Some(at(5)), left.into_iter()), None);
        }
    }
}

//! Media of a run: at the start of each superframe, [`Network`](super::Network) gives their links the windows in which they
//! may send.

use super::carriers::{on_forward, opposites, ForwardCarrier};
use super::results::MediumGrants;
use crate::ids::{LinkId, MediumId};
use crate::link::LazyLink;
use crate::spec::{LeoCell, MediumKind, MfTdma, Scenario};
use bentpipe_access::{Access, Demand, RandomUse, SlottedMedium, Terminal, Waveform};
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
    /// Demands of the terminals at the start of a superframe, kept to reuse their memory.
    pub(super) demands: Vec<Demand>,
    /// Bursts granted by waveform.
    pub(super) bursts: BTreeMap<Waveform, u64>,
    pub(super) forward: ForwardSide,
    /// Terminals of a plan, kept to reuse their memory.
    pub(super) told: Vec<u32>,
}

impl SharedMedium {
    /// Returns its grants up to `now` to its links, among all links.
    pub(super) fn grants(&self, now: Time, links: &[LazyLink]) -> MediumGrants {
        match self {
            Self::Slots(slots) => slots.grants(now, links),
            Self::Frames(carrier) => carrier.grants(links),
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
    /// Lets superframes pass while all links lose what is offered to them, like those of a satellite out of reach.
    pub(super) fn rest(&mut self, now: Time, links: &mut [LazyLink]) {
        // A carrier takes room for each plan.
        let is_told = self.forward.plans.is_some();
        let mut until = Time::NEVER;
        for &link in &self.links {
            if is_told || links[link].closed(now).is_none() {
                return;
            }
            until = until.min(links[link].changes_at(now));
        }
        self.plan.rest(until);
    }

    fn grants(&self, now: Time, links: &[LazyLink]) -> MediumGrants {
        let of = |&link: &LinkId| Some((link, links[link].grants()?));
        let of_links = MediumGrants::of(self.links.iter().filter_map(of).collect());
        MediumGrants { counters: self.plan.counters(now), bursts: self.bursts.clone(), ..of_links }
    }
}

/// Returns the media at the start of a run.
pub(super) fn states(scenario: &Scenario, seed: u64) -> Vec<SharedMedium> {
    let slots = |(plan, links): (SlottedMedium, Vec<LinkId>), forward| {
        let demands = Vec::with_capacity(links.len());
        let (bursts, told) = (BTreeMap::new(), Vec::new());
        SharedMedium::Slots(Box::new(MediumState { plan, demands, links, bursts, forward, told }))
    };
    let state = |id: MediumId| match &scenario.media[id].kind {
        MediumKind::MfTdma(keys) => {
            let planned = planned(scenario, (id, keys), seed);
            let forward = forward_side(scenario, keys, &planned.1);
            slots(planned, forward)
        }
        MediumKind::LeoCell(keys) => slots(seen(scenario, (id, keys), seed), ForwardSide::default()),
        MediumKind::Tdm(keys) => SharedMedium::Frames(Box::new(ForwardCarrier::new(scenario, id, keys, seed))),
    };
    MediumId::all(scenario.media.len()).map(state).collect()
}

/// Returns the part of forward carriers for a return link with these links.
pub(crate) fn forward_side(scenario: &Scenario, keys: &MfTdma, links: &[LinkId]) -> ForwardSide {
    let is_carrier = |id: &MediumId| matches!(scenario.media[*id].kind, MediumKind::Tdm(_));
    let carriers: BTreeMap<MediumId, Vec<LinkId>> = MediumId::all(scenario.media.len())
        .filter(is_carrier)
        .map(|id| (id, on_forward(scenario, id).into_iter().map(|of| of.link).collect()))
        .collect();
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
        let node = |back: &LinkId| scenario.links[*back].from;
        let to = |back: &LinkId| on.iter().position(|&link| scenario.links[link].to == node(back));
        Some((id, links.iter().map(|back| to(back).map(|place| place as u32)).collect()))
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
        let access = Access {
            constant: terminal.access.constant,
            rate_based: terminal.access.rate_based,
            volume_based: terminal.access.volume_based,
            random: terminal.access.random.unwrap_or(RandomUse::None),
            weight: terminal.access.weight,
        };
        links.push(link);
        terminals.push(Terminal { name: spec.name.clone(), access });
    }
    (terminals, links)
}

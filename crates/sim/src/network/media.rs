//! Media of a run: at the start of each superframe, [`Network`](super::Network) gives their links the windows in which they
//! may send.

use super::results::MediumGrants;
use crate::ids::{LinkId, MediumId};
use crate::link::LazyLink;
use crate::spec::{MediumKind, Scenario};
use bentpipe_access::{Access, Demand, RandomUse, SlottedMedium, Terminal, Waveform};
use std::collections::BTreeMap;

/// A medium with its links.
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
}

impl MediumState {
    /// Returns its grants to its links, among all links.
    pub(super) fn grants(&self, links: &[LazyLink]) -> MediumGrants {
        let of = |&link: &LinkId| Some((link, links[link].grants()?));
        let links = self.links.iter().filter_map(of).collect();
        MediumGrants { counters: self.plan.counters(), bursts: self.bursts.clone(), links }
    }
}

/// Returns the media at the start of a run.
pub(super) fn states(scenario: &Scenario, seed: u64) -> Vec<MediumState> {
    let state = |id: MediumId| {
        let (plan, links) = planned(scenario, id, seed);
        MediumState { plan, demands: Vec::with_capacity(links.len()), links, bursts: BTreeMap::new() }
    };
    MediumId::all(scenario.media.len()).map(state).collect()
}

/// Returns a medium at the start of a run, with its links in the order of its terminals.
pub(crate) fn planned(scenario: &Scenario, id: MediumId, seed: u64) -> (SlottedMedium, Vec<LinkId>) {
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
    let medium = &scenario.media[id];
    let plan = match &medium.kind {
        MediumKind::MfTdma(keys) => {
            SlottedMedium::mf_tdma(&keys.parameters(medium.there, medium.back), &terminals, seed)
        }
        MediumKind::LeoCell(keys) => {
            // A controller sees the queues of links that start at it.
            let asks = links.iter().any(|&link| scenario.links[link].from != medium.controller);
            let name = format!("medium/{}", medium.name);
            SlottedMedium::leo_cell(&keys.parameters(medium.there, medium.back), &terminals, asks, &name, seed)
        }
    };
    (plan, links)
}

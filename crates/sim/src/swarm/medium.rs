//! A medium of the naive engine: the plan of the access crate, and its links.

use super::link::NaiveLink;
use crate::ids::{LinkId, MediumId};
use crate::network::{planned, MediumGrants};
use crate::spec::Scenario;
use bentpipe_access::{Demand, SlottedMedium, Waveform, Window};
use bentpipe_units::Time;
use std::collections::BTreeMap;

/// A medium with its links.
#[derive(Debug)]
pub(super) struct NaiveMedium {
    plan: SlottedMedium,
    pub(super) links: Vec<LinkId>,
    bursts: BTreeMap<Waveform, u64>,
}

impl NaiveMedium {
    pub(super) fn all(scenario: &Scenario, seed: u64) -> Vec<Self> {
        let media = MediumId::all(scenario.media.len());
        let of = |id| {
            let (plan, links) = planned(scenario, id, seed);
            Self { plan, links, bursts: BTreeMap::new() }
        };
        media.map(of).collect()
    }

    /// Makes the plan of the superframe that starts now. Returns the start of the next.
    pub(super) fn advance(&mut self, demands: &[Demand]) -> Time {
        self.plan.advance(demands);
        for terminal in 0..self.links.len() {
            for window in self.plan.windows(terminal) {
                if let Some(waveform) = window.waveform() {
                    *self.bursts.entry(waveform).or_default() += u64::from(window.bursts());
                }
            }
        }
        self.plan.next_wakeup()
    }

    pub(super) fn windows(&self, terminal: usize) -> Vec<Window> {
        self.plan.windows(terminal).to_vec()
    }

    pub(super) fn note_plans(&self, links: &mut [NaiveLink]) {
        for (terminal, &link) in self.links.iter().enumerate() {
            links[link].note_plan(self.plan.waveform(terminal), self.plan.requested(terminal));
        }
    }

    pub(super) fn grants(&self, links: &[NaiveLink]) -> MediumGrants {
        let of = |&link: &LinkId| Some((link, links[link].grants()?));
        let links = self.links.iter().filter_map(of).collect();
        MediumGrants { counters: self.plan.counters(), bursts: self.bursts.clone(), links }
    }
}

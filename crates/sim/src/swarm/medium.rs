//! A medium of the naive engine, and its links: the plan of the access crate for return links, and a naive cell.

use super::cell::NaiveCell;
use super::link::{NaiveLink, NaiveWindow};
use crate::ids::{LinkId, MediumId};
use crate::network::{planned, MediumGrants};
use crate::spec::Scenario;
use bentpipe_access::{Demand, MediumCounters, SlottedMedium, Waveform};
use bentpipe_units::{Rate, Time};
use std::collections::BTreeMap;

/// A medium with its links.
#[derive(Debug)]
pub(super) struct NaiveMedium {
    plan: NaivePlan,
    pub(super) links: Vec<LinkId>,
    bursts: BTreeMap<Waveform, u64>,
}

#[derive(Debug)]
enum NaivePlan {
    Slotted(Box<SlottedMedium>),
    Cell(Box<NaiveCell>),
}

impl NaiveMedium {
    pub(super) fn all(scenario: &Scenario, seed: u64) -> Vec<Self> {
        let of = |id| {
            let (plan, links) = match NaiveCell::of(scenario, id, seed) {
                Some((cell, links)) => (NaivePlan::Cell(Box::new(cell)), links),
                None => {
                    let (plan, links) = planned(scenario, id, seed);
                    (NaivePlan::Slotted(Box::new(plan)), links)
                }
            };
            Self { plan, links, bursts: BTreeMap::new() }
        };
        MediumId::all(scenario.media.len()).map(of).collect()
    }

    /// Makes the plan of the superframe that starts now. Returns the start of the next.
    pub(super) fn advance(&mut self, demands: &[Demand]) -> Time {
        let plan = match &mut self.plan {
            NaivePlan::Cell(cell) => return cell.advance(demands),
            NaivePlan::Slotted(plan) => plan,
        };
        plan.advance(demands);
        for terminal in 0..self.links.len() {
            for window in plan.windows(terminal) {
                if let Some(waveform) = window.waveform() {
                    *self.bursts.entry(waveform).or_default() += u64::from(window.bursts());
                }
            }
        }
        plan.next_wakeup()
    }

    pub(super) fn windows(&self, terminal: usize) -> Vec<NaiveWindow> {
        match &self.plan {
            NaivePlan::Cell(cell) => cell.windows(terminal),
            NaivePlan::Slotted(plan) => plan.windows(terminal).iter().map(NaiveWindow::from).collect(),
        }
    }

    pub(super) fn note_plans(&self, links: &mut [NaiveLink]) {
        for (terminal, &link) in self.links.iter().enumerate() {
            let (waveform, requested) = match &self.plan {
                NaivePlan::Cell(_) => (None, Rate::from_bps(0)),
                NaivePlan::Slotted(plan) => (plan.waveform(terminal), plan.requested(terminal)),
            };
            links[link].note_plan(waveform, requested);
        }
    }

    fn counters(&self) -> MediumCounters {
        match &self.plan {
            NaivePlan::Cell(cell) => cell.counters,
            NaivePlan::Slotted(plan) => plan.counters(),
        }
    }

    pub(super) fn grants(&self, links: &[NaiveLink]) -> MediumGrants {
        let of = |&link: &LinkId| Some((link, links[link].grants()?));
        let links = self.links.iter().filter_map(of).collect();
        MediumGrants { counters: self.counters(), bursts: self.bursts.clone(), links }
    }
}

//! A medium of the naive engine: the plan of the access crate, and its links; or a forward carrier.

use super::carrier::NaiveCarrier;
use super::link::NaiveLink;
use crate::ids::{LinkId, MediumId};
use crate::network::{forward_side, planned, ForwardSide, MediumGrants};
use crate::spec::{MediumKind, Scenario};
use bentpipe_access::{Demand, SlottedMedium, Waveform, Window};
use bentpipe_units::Time;
use std::collections::BTreeMap;

/// A medium of any kind.
#[derive(Debug)]
pub(super) enum NaiveShared {
    Slots(Box<NaiveMedium>),
    Frames(NaiveCarrier),
}

impl NaiveShared {
    /// Returns the media, and the times when carriers look for a frame to fill.
    pub(super) fn all(scenario: &Scenario, links: &mut [NaiveLink], seed: u64) -> (Vec<Self>, Vec<(MediumId, Time)>) {
        let mut times = Vec::new();
        let mut of = |id: MediumId| match &scenario.media[id].kind {
            MediumKind::MfTdma(keys) => {
                let (plan, links) = planned(scenario, (id, keys), seed);
                let forward = forward_side(scenario, keys, &links);
                times.push((id, Time::ZERO));
                Self::Slots(Box::new(NaiveMedium { plan, links, bursts: BTreeMap::new(), forward }))
            }
            MediumKind::Tdm(_) => {
                let (carrier, uses) = NaiveCarrier::of(scenario, id, links);
                times.extend(uses.into_iter().map(|at| (id, at)));
                Self::Frames(carrier)
            }
        };
        (MediumId::all(scenario.media.len()).map(&mut of).collect(), times)
    }

    pub(super) fn slots(&mut self) -> &mut NaiveMedium {
        match self {
            Self::Slots(slots) => slots,
            Self::Frames(_) => panic!("a return link"),
        }
    }

    pub(super) fn carrier(&mut self) -> &mut NaiveCarrier {
        match self {
            Self::Slots(_) => panic!("a forward carrier"),
            Self::Frames(carrier) => carrier,
        }
    }

    pub(super) fn note_plans(&mut self, now: Time, links: &mut [NaiveLink]) {
        match self {
            Self::Slots(slots) => slots.note_plans(links),
            Self::Frames(carrier) => carrier.note_modcods(now, links),
        }
    }

    pub(super) fn grants(&self, links: &[NaiveLink]) -> MediumGrants {
        match self {
            Self::Slots(slots) => slots.grants(links),
            Self::Frames(carrier) => carrier.grants(links),
        }
    }
}

/// A medium of slots with its links.
#[derive(Debug)]
pub(super) struct NaiveMedium {
    pub(super) plan: SlottedMedium,
    pub(super) links: Vec<LinkId>,
    pub(super) forward: ForwardSide,
    bursts: BTreeMap<Waveform, u64>,
}

impl NaiveMedium {
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
        let of_links = MediumGrants::of(self.links.iter().filter_map(of).collect());
        MediumGrants { counters: self.plan.counters(), bursts: self.bursts.clone(), ..of_links }
    }
}

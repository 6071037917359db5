//! A medium of the naive engine, and its links: the plan of the access crate for return links, a naive forward carrier, and
//! a naive cell.

use super::carrier::NaiveCarrier;
use super::cell::NaiveCell;
use super::link::{NaiveLink, NaiveWindow};
use crate::network::{forward_side, planned, ForwardSide, MediumGrants};
use bentpipe_access::{Asked, Demand, LogOnCounters, MediumCounters, SlottedMedium, Waveform};
use bentpipe_model::ids::{LinkId, MediumId};
use bentpipe_model::spec::{MediumKind, Scenario};
use bentpipe_units::{Rate, Time};
use std::collections::BTreeMap;

/// A medium of any kind.
#[derive(Debug)]
pub(super) enum NaiveShared {
    Slots(Box<NaiveMedium>),
    Frames(Box<NaiveCarrier>),
}

impl NaiveShared {
    /// Returns the media, and the times when carriers look for a frame to fill.
    pub(super) fn all(scenario: &Scenario, links: &mut [NaiveLink], seed: u64) -> (Vec<Self>, Vec<(MediumId, Time)>) {
        let mut times = Vec::new();
        let mut of = |id: MediumId| match &scenario.media[id].kind {
            MediumKind::MfTdma(keys) => {
                let (plan, links) = planned(scenario, (id, keys), seed);
                let forward = forward_side(scenario, keys, &links);
                let plan = NaivePlan::Slotted(Box::new(plan));
                times.push((id, Time::ZERO));
                Self::Slots(Box::new(NaiveMedium { plan, links, bursts: BTreeMap::new(), forward }))
            }
            MediumKind::LeoCell(keys) => {
                let (cell, links) = NaiveCell::of(scenario, (id, keys), seed);
                let (plan, forward) = (NaivePlan::Cell(Box::new(cell)), ForwardSide::default());
                times.push((id, Time::ZERO));
                Self::Slots(Box::new(NaiveMedium { plan, links, bursts: BTreeMap::new(), forward }))
            }
            MediumKind::Tdm(_) => {
                let (carrier, uses) = NaiveCarrier::of(scenario, id, links);
                times.extend(uses.into_iter().map(|at| (id, at)));
                Self::Frames(Box::new(carrier))
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

    pub(super) fn grants(&self, links: &[NaiveLink], now: Time) -> MediumGrants {
        match self {
            Self::Slots(slots) => slots.grants(links, now),
            Self::Frames(carrier) => carrier.grants(links, now),
        }
    }
}

/// A medium of slots with its links.
#[derive(Debug)]
pub(super) struct NaiveMedium {
    plan: NaivePlan,
    pub(super) links: Vec<LinkId>,
    pub(super) forward: ForwardSide,
    bursts: BTreeMap<Waveform, u64>,
}

#[derive(Debug)]
enum NaivePlan {
    Slotted(Box<SlottedMedium>),
    Cell(Box<NaiveCell>),
}

impl NaiveMedium {
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

    /// Whether a link was up in the last superframe.
    pub(super) fn was_up(&self, terminal: usize) -> bool {
        match &self.plan {
            NaivePlan::Cell(cell) => cell.was_up(terminal),
            NaivePlan::Slotted(plan) => plan.was_up(terminal),
        }
    }

    /// The open requests of a link that is down at `now`, and the time when it went down.
    pub(super) fn left(&self, now: Time, terminal: usize) -> Option<(Time, Asked)> {
        match &self.plan {
            NaivePlan::Cell(cell) => cell.left(now, terminal),
            NaivePlan::Slotted(plan) => plan.left(now, terminal),
        }
    }

    /// The plan of a return link. None of a cell.
    pub(super) fn return_link(&self) -> Option<&SlottedMedium> {
        match &self.plan {
            NaivePlan::Slotted(plan) => Some(plan),
            NaivePlan::Cell(_) => None,
        }
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

    /// Whether capacity comes to a terminal without a new request. A cell promises no rate.
    pub(super) fn is_promised(&self, terminal: usize) -> bool {
        match &self.plan {
            NaivePlan::Cell(_) => false,
            NaivePlan::Slotted(plan) => plan.is_promised(terminal),
        }
    }

    pub(super) fn grants(&self, links: &[NaiveLink], now: Time) -> MediumGrants {
        let of = |&link: &LinkId| Some((link, links[link].grants(now)?));
        let of_links = MediumGrants::of(self.links.iter().filter_map(of).collect());
        let log_ons = match &self.plan {
            NaivePlan::Cell(_) => (LogOnCounters::default(), 0.0),
            NaivePlan::Slotted(plan) => (plan.log_ons(), plan.grid().superframe().as_secs_f64()),
        };
        MediumGrants { counters: self.counters(), log_ons, bursts: self.bursts.clone(), ..of_links }
    }
}

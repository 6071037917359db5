//! Media: a wake-up at the start of each superframe tells their links when they may send.

use super::far_ends::FarEnd;
use super::results::MediumGrants;
use super::Network;
use crate::engine::Source;
use crate::ids::{LinkId, MediumId};
use crate::link::LazyLink;
use crate::packet::Packet;
use crate::spec::{MediumKind, Scenario};
use bentpipe_access::{Access, Demand, RandomUse, SlottedMedium, Terminal, Waveform};
use bentpipe_units::Time;
use std::collections::BTreeMap;

/// A medium with its links.
#[derive(Clone, Debug)]
pub(super) struct MediumState {
    /// Who may send when.
    pub(super) plan: SlottedMedium,
    /// Links, by terminal.
    pub(super) links: Vec<LinkId>,
    /// Demands of the terminals at the start of a superframe, kept to reuse their memory.
    demands: Vec<Demand>,
    /// Bursts granted by waveform.
    bursts: BTreeMap<Waveform, u64>,
}

impl MediumState {
    /// What it granted to its links, among all links.
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
    let MediumKind::MfTdma(keys) = &medium.kind;
    (SlottedMedium::mf_tdma(&keys.parameters(medium.there, medium.back), &terminals, seed), links)
}

impl Network {
    /// Schedules the first superframe of each medium.
    pub(super) fn arm_media(&mut self) {
        for medium in MediumId::all(self.media.len()) {
            self.schedule.set(Source::Medium(medium), self.media[medium].plan.next_wakeup());
        }
    }

    /// Starts a superframe: reads the demand of each link, and opens the windows.
    #[cold]
    #[inline(never)]
    pub(super) fn wake_medium(&mut self, id: MediumId) {
        let mut demands = std::mem::take(&mut self.media[id].demands);
        demands.clear();
        for terminal in 0..self.media[id].links.len() {
            let link = self.media[id].links[terminal];
            let demand = self.links[link].demand(self.now, &mut self.losses);
            // A link that went down loses its packet in service.
            if demand.is_some_and(|demand| !demand.is_up) {
                self.schedule.set(Source::Link(link), self.links[link].next_event());
            }
            demands.extend(demand);
            self.note_served(link);
        }
        self.media[id].plan.advance(&demands);
        self.media[id].demands = demands;
        for number in 0..self.media[id].plan.opened().len() {
            let MediumState { plan, links, bursts, .. } = &mut self.media[id];
            let terminal = plan.opened()[number] as usize;
            let (link, windows) = (links[terminal], plan.windows(terminal));
            for window in windows {
                if let Some(waveform) = window.waveform() {
                    *bursts.entry(waveform).or_default() += u64::from(window.bursts());
                }
            }
            self.links[link].open(self.now, windows, &mut self.losses);
            self.schedule.set(Source::Link(link), self.links[link].next_event());
            self.note_served(link);
        }
        self.schedule.set(Source::Medium(id), self.media[id].plan.next_wakeup());
    }

    /// Notes the plans of the media for their links, before samples.
    pub(super) fn note_plans(&mut self) {
        for MediumState { plan, links, .. } in &self.media {
            for (terminal, &link) in links.iter().enumerate() {
                self.links[link].note_plan(plan.waveform(terminal), plan.requested(terminal));
            }
        }
    }

    /// Notes the services and losses of a link in a medium.
    fn note_served(&mut self, link: LinkId) {
        if self.observers.critical.is_some() {
            self.trace_services(link);
        }
        if !self.losses.is_empty() {
            self.count_losses(link);
        }
    }

    /// Moves the head of a link's ring to its node, or serves the queue of a link in a medium.
    #[cold]
    #[inline(never)]
    pub(super) fn deliver_granted(&mut self, index: LinkId, far_end: FarEnd) {
        let link = &mut self.links[index];
        link.advance(self.now, &mut self.losses);
        let front = link.front(self.now).copied();
        if front.is_some() {
            link.drop_front();
        }
        self.schedule.set_next(self.links[index].next_event());
        if !self.losses.is_empty() {
            self.count_losses(index);
        }
        let Some(mut packet) = front else { return };
        if packet.is_damaged() && self.ends_at(index, &packet) {
            return;
        }
        if far_end.is_asked {
            return self.enter_node(far_end.node, &mut packet);
        }
        self.forward(far_end.node, &mut packet);
    }

    /// Offers a packet to a link in a medium.
    #[cold]
    #[inline(never)]
    pub(super) fn enter_granted(&mut self, at: Time, link: LinkId, packet: &Packet) {
        if let Some(at) = self.links[link].accept_any(at, packet, &mut self.losses) {
            self.schedule.set(Source::Link(link), at);
        }
        if !self.losses.is_empty() {
            self.count_losses(link);
        }
    }
}

//! The media of a run: superframes read the demands of terminals and open their windows, frames are filled from the queues of
//! links. Media are given the links and the schedule, and reach nothing else: losses and services wait for the network.

use super::media::{hand_over, states, MediumState, SharedMedium};
use super::results::MediumGrants;
use super::routes::Routes;
use crate::engine::{Schedule, Source};
use crate::link::{LazyLink, LinkAtEnd, Losses, Planned, Service};
use bentpipe_model::dictionary::Cause;
use bentpipe_model::ids::{LinkId, MediumId};
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::Scenario;
use bentpipe_units::Time;

/// All media of a run.
#[derive(Debug)]
pub(super) struct SharedMedia {
    all: Vec<SharedMedium>,
    /// The medium of each link that is in one.
    of_links: Vec<Option<MediumId>>,
    /// Copies of packets that media made since they were last counted.
    copied: u64,
    /// Services and losses that are not reported yet, in order.
    reports: Vec<MediumReport>,
    /// Losses of the link that a medium asked last.
    losses: Losses,
}

/// A service or a loss on a link in a medium.
#[derive(Debug)]
pub(super) enum MediumReport {
    /// Services of a link with a journal.
    Served(LinkId, Vec<Service>),
    /// A lost packet.
    Lost(LinkId, Packet, Cause),
}

impl SharedMedia {
    /// The media at the start of a run.
    pub(super) fn of(scenario: &Scenario, routes: &Routes, seed: u64) -> Self {
        Self {
            all: states(scenario, routes, seed),
            of_links: scenario.links.iter().map(|link| Some(link.terminal.as_ref()?.medium)).collect(),
            copied: 0,
            reports: Vec::new(),
            losses: Losses::new(),
        }
    }

    /// Schedules the first superframe of each medium.
    pub(super) fn arm(&self, schedule: &mut Schedule) {
        for medium in MediumId::all(self.all.len()) {
            schedule.set(Source::Medium(medium), self.all[medium].next_wakeup());
        }
    }

    /// Starts a superframe, or fills a frame. Then call [`take_reports`](Self::take_reports).
    pub(super) fn wake(&mut self, id: MediumId, now: Time, links: &mut [LazyLink], schedule: &mut Schedule) {
        match &self.all[id] {
            SharedMedium::Slots(_) => {
                self.begin_superframe(id, now, links, schedule);
            }
            SharedMedium::Frames(_) => self.fill_frame(id, now, links, schedule),
        }
        schedule.set(Source::Medium(id), self.all[id].next_wakeup());
    }

    /// Takes the services and losses of a wake-up, in order, and the number of packets that it copied.
    pub(super) fn take_reports(&mut self) -> (Vec<MediumReport>, u64) {
        (std::mem::take(&mut self.reports), std::mem::take(&mut self.copied))
    }

    /// Returns an emptied list of reports, to reuse its memory.
    pub(super) fn give_back(&mut self, reports: Vec<MediumReport>) {
        self.reports = reports;
    }

    fn slots(&mut self, id: MediumId) -> Option<&mut MediumState> {
        match &mut self.all[id] {
            SharedMedium::Slots(slots) => Some(slots),
            SharedMedium::Frames(_) => None,
        }
    }

    /// Starts a superframe: reads the demand of each link, and opens the windows.
    fn begin_superframe(
        &mut self,
        id: MediumId,
        now: Time,
        links: &mut [LazyLink],
        schedule: &mut Schedule,
    ) -> Option<()> {
        let visits = self.slots(id)?.plan.visits().len();
        for visit in 0..visits {
            let slots = self.slots(id)?;
            let terminal = slots.plan.visited()[visit] as usize;
            let link = slots.links[terminal];
            let Some(mut demand) = links[link].demand(now, &mut self.losses) else { continue };
            let slots = self.slots(id)?;
            if slots.forward.reports.get(terminal).is_some_and(Option::is_some) {
                // A forward carrier reads its bursts, too.
                demand.steady = now;
            }
            slots.demands[terminal] = demand;
            // A link that went down loses its packet in service.
            if !demand.is_up {
                schedule.set(Source::Link(link), links[link].next_event());
            }
            self.report(link, &mut links[link]);
        }
        hand_over(&mut self.all, id, now, links);
        let MediumState { plan, demands, .. } = self.slots(id)?;
        plan.advance(demands);
        self.note_asking(id, now, links)?;
        for number in 0..self.slots(id)?.plan.opened().len() {
            let SharedMedium::Slots(slots) = &mut self.all[id] else { return None };
            let MediumState { plan, links: of, .. } = &mut **slots;
            let terminal = plan.opened()[number] as usize;
            let (link, windows) = (of[terminal], plan.windows(terminal));
            links[link].open(now, windows, &mut self.losses);
            schedule.update(link, links[link].next_event());
            self.report(link, &mut links[link]);
        }
        self.tell_carriers(id, now, links, schedule)?;
        self.slots(id)?.rest(now, links);
        Some(())
    }

    /// Notes for the links whether their terminals have capacity to come: windows in this superframe, or a promised rate.
    fn note_asking(&mut self, id: MediumId, now: Time, links: &mut [LazyLink]) -> Option<()> {
        let MediumState { plan, links: of, asking, .. } = self.slots(id)?;
        for terminal in plan.visited().iter().map(|&terminal| terminal as usize) {
            let asks = plan.windows(terminal).is_empty() && !plan.is_promised(terminal);
            if std::mem::replace(&mut asking[terminal], asks) != asks {
                links[of[terminal]].note_asking(now, asks);
            }
        }
        Some(())
    }

    /// Gives the reports and the plan of a superframe to the forward carriers.
    fn tell_carriers(
        &mut self,
        id: MediumId,
        now: Time,
        links: &mut [LazyLink],
        schedule: &mut Schedule,
    ) -> Option<()> {
        let forward = std::mem::take(&mut self.slots(id)?.forward);
        for visit in 0..self.slots(id)?.plan.visited().len() {
            let plan = &self.slots(id)?.plan;
            let terminal = plan.visited()[visit] as usize;
            let Some(&Some((carrier, place))) = forward.reports.get(terminal) else { continue };
            let Some(heard) = plan.heard(terminal) else { continue };
            let SharedMedium::Frames(carrier) = &mut self.all[carrier] else { continue };
            carrier.hear(now, place, heard, links);
        }
        if let Some((carrier, places)) = &forward.plans {
            // The plan leaves the medium, so that both may be borrowed.
            let mut told = std::mem::take(&mut self.slots(id)?.told);
            let plan = &self.slots(id)?.plan;
            let bytes = plan.plan_bytes();
            told.extend(plan.planned().filter_map(|terminal| places[terminal as usize]));
            if let (SharedMedium::Frames(carrier), 1..) = (&mut self.all[*carrier], bytes) {
                carrier.announce(now, bytes, told.drain(..), links);
            }
            self.slots(id)?.told = told;
        }
        let carriers = forward.reports.iter().flatten().map(|(carrier, _)| *carrier);
        let mut last = None;
        for carrier in carriers.chain(forward.plans.iter().map(|(carrier, _)| *carrier)) {
            if last.replace(carrier) != Some(carrier) {
                schedule.set(Source::Medium(carrier), self.all[carrier].next_wakeup());
            }
        }
        self.slots(id)?.forward = forward;
        Some(())
    }

    /// Fills the next frame of a forward carrier from the queues of its links.
    fn fill_frame(&mut self, id: MediumId, now: Time, links: &mut [LazyLink], schedule: &mut Schedule) {
        let SharedMedium::Frames(carrier) = &mut self.all[id] else { return };
        carrier.fill(now, links);
        self.copied += std::mem::take(&mut carrier.copied);
        let (mut sent, mut lost) = (std::mem::take(&mut carrier.sent), std::mem::take(&mut carrier.lost));
        for link in sent.drain(..) {
            schedule.set(Source::Link(link), links[link].next_event());
            self.report(link, &mut links[link]);
        }
        self.reports.extend(lost.drain(..).map(|(link, packet, cause)| MediumReport::Lost(link, packet, cause)));
        if let SharedMedium::Frames(carrier) = &mut self.all[id] {
            (carrier.sent, carrier.lost) = (sent, lost);
        }
    }

    /// Keeps the services and losses of a link for the network.
    fn report(&mut self, link: LinkId, state: &mut LazyLink) {
        let services = state.take_services();
        if !services.is_empty() {
            self.reports.push(MediumReport::Served(link, services));
        }
        while let Some((packet, cause)) = self.losses.pop() {
            self.reports.push(MediumReport::Lost(link, packet, cause));
        }
    }

    /// Prepares a link for the offer of a packet: its terminal may sleep.
    pub(super) fn before_offer(&mut self, link: LinkId, links: &mut [LazyLink], losses: &mut Losses) {
        let Some(id) = self.of_links[link.index()] else { return };
        if let Some(slots) = self.slots(id) {
            slots.wake(link, links, losses);
        }
    }

    /// Notes that a packet was offered to a link. A forward carrier may have waited for it.
    pub(super) fn on_offer(&mut self, now: Time, link: LinkId, links: &mut [LazyLink], schedule: &mut Schedule) {
        let Some(id) = self.of_links[link.index()] else { return };
        let SharedMedium::Frames(carrier) = &mut self.all[id] else { return };
        if links[link].on_carrier().is_some_and(|link| link.is_waiting()) {
            carrier.arrived(now, link);
            schedule.set(Source::Medium(id), carrier.next_wakeup());
        }
    }

    /// Offers a packet to a carrier that sends it to several links: the place of its queue there. Returns the link that counts
    /// the losses of this queue.
    pub(super) fn offer_broadcast(
        &mut self,
        now: Time,
        (id, place): (MediumId, usize),
        packet: &Packet,
        (links, losses): (&mut [LazyLink], &mut Losses),
        schedule: &mut Schedule,
    ) -> Option<LinkId> {
        let SharedMedium::Frames(carrier) = &mut self.all[id] else { return None };
        let link = carrier.offer(now, place, packet, links, losses);
        schedule.set(Source::Medium(id), carrier.next_wakeup());
        Some(link)
    }

    /// Notes the plans of the media for their links, before samples.
    pub(super) fn note_plans(&mut self, now: Time, links: &mut [LazyLink]) {
        for medium in &mut self.all {
            match medium {
                SharedMedium::Slots(slots) => {
                    for (terminal, &link) in slots.links.iter().enumerate() {
                        links[link].layer2.note_plan(Planned {
                            waveform: slots.plan.waveform(terminal),
                            requested: slots.plan.requested(terminal),
                            granted: slots.plan.granted_bytes(terminal),
                        });
                    }
                }
                SharedMedium::Frames(carrier) => carrier.note_modcods(now, links),
            }
        }
    }

    /// Packets in the queues of carriers for several links.
    pub(super) fn held(&self) -> usize {
        self.all.iter().map(SharedMedium::held).sum()
    }

    /// These packets, by queue, at the end of the run.
    pub(super) fn broadcasts_at_end(&self, now: Time) -> Vec<LinkAtEnd> {
        self.all.iter().flat_map(|medium| medium.broadcasts_at_end(now)).collect()
    }

    /// The grants of each medium to its links, among all links.
    pub(super) fn grants(&self, links: &[LazyLink], now: Time) -> Vec<MediumGrants> {
        self.all.iter().map(|medium| medium.grants(links, now)).collect()
    }
}

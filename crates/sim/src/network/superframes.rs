//! Superframes and frames of media: [`Network`] reads the demands of terminals, opens their windows, and fills frames.

use super::media::{hand_over, MediumState, SharedMedium};
use super::Network;
use crate::engine::Source;
use crate::ids::{LinkId, MediumId};
use crate::record::LossPlace;

impl Network {
    /// Schedules the first superframe of each medium.
    pub(super) fn arm_media(&mut self) {
        for medium in MediumId::all(self.media.len()) {
            self.schedule.set(Source::Medium(medium), self.media[medium].next_wakeup());
        }
    }

    /// Starts a superframe, or fills a frame.
    #[cold]
    #[inline(never)]
    pub(super) fn wake_medium(&mut self, id: MediumId) {
        match &self.media[id] {
            SharedMedium::Slots(_) => {
                self.begin_superframe(id);
            }
            SharedMedium::Frames(_) => self.fill_frame(id),
        }
        self.schedule.set(Source::Medium(id), self.media[id].next_wakeup());
    }

    fn slots(&mut self, id: MediumId) -> Option<&mut MediumState> {
        match &mut self.media[id] {
            SharedMedium::Slots(slots) => Some(slots),
            SharedMedium::Frames(_) => None,
        }
    }

    /// Starts a superframe: reads the demand of each link, and opens the windows.
    fn begin_superframe(&mut self, id: MediumId) -> Option<()> {
        let visits = self.slots(id)?.plan.visits().len();
        for visit in 0..visits {
            let slots = self.slots(id)?;
            let terminal = slots.plan.visited()[visit] as usize;
            let link = slots.links[terminal];
            let Some(demand) = self.links[link].demand(self.now, &mut self.losses) else { continue };
            self.slots(id)?.demands[terminal] = demand;
            // A link that went down loses its packet in service.
            if !demand.is_up {
                self.schedule.set(Source::Link(link), self.links[link].next_event());
            }
            self.note_served(link);
        }
        hand_over(&mut self.media, id, self.now, &self.links);
        let MediumState { plan, demands, .. } = self.slots(id)?;
        plan.advance(demands);
        self.note_asking(id)?;
        for number in 0..self.slots(id)?.plan.opened().len() {
            let SharedMedium::Slots(slots) = &mut self.media[id] else { return None };
            let MediumState { plan, links, bursts, .. } = &mut **slots;
            let terminal = plan.opened()[number] as usize;
            let (link, windows) = (links[terminal], plan.windows(terminal));
            for window in windows {
                if let Some(waveform) = window.waveform() {
                    *bursts.entry(waveform).or_default() += u64::from(window.bursts());
                }
            }
            self.links[link].open(self.now, windows, &mut self.losses);
            self.schedule.update(link, self.links[link].next_event());
            self.note_served(link);
        }
        self.tell_carriers(id)?;
        let SharedMedium::Slots(slots) = &mut self.media[id] else { return None };
        slots.rest(self.now, &mut self.links);
        Some(())
    }

    /// Notes for the links whether their terminals have capacity to come: windows in this superframe, or a promised rate.
    fn note_asking(&mut self, id: MediumId) -> Option<()> {
        let SharedMedium::Slots(slots) = &mut self.media[id] else { return None };
        let MediumState { plan, links, asking, .. } = &mut **slots;
        for terminal in plan.visited().iter().map(|&terminal| terminal as usize) {
            let asks = plan.windows(terminal).is_empty() && !plan.is_promised(terminal);
            if std::mem::replace(&mut asking[terminal], asks) != asks {
                self.links[links[terminal]].note_asking(self.now, asks);
            }
        }
        Some(())
    }

    /// Gives the reports and the plan of a superframe to the forward carriers.
    fn tell_carriers(&mut self, id: MediumId) -> Option<()> {
        let forward = std::mem::take(&mut self.slots(id)?.forward);
        for visit in 0..self.slots(id)?.plan.visited().len() {
            let plan = &self.slots(id)?.plan;
            let terminal = plan.visited()[visit] as usize;
            let Some(&Some((carrier, place))) = forward.reports.get(terminal) else { continue };
            let Some(heard) = plan.heard(terminal) else { continue };
            let SharedMedium::Frames(carrier) = &mut self.media[carrier] else { continue };
            carrier.hear(self.now, place, heard, &mut self.links);
        }
        if let Some((carrier, places)) = &forward.plans {
            // The plan leaves the medium, so that both may be borrowed.
            let mut told = std::mem::take(&mut self.slots(id)?.told);
            let plan = &self.slots(id)?.plan;
            let bytes = plan.plan_bytes();
            told.extend(plan.planned().filter_map(|terminal| places[terminal as usize]));
            if let (SharedMedium::Frames(carrier), 1..) = (&mut self.media[*carrier], bytes) {
                carrier.announce(self.now, bytes, told.drain(..), &mut self.links);
            }
            self.slots(id)?.told = told;
        }
        let carriers = forward.reports.iter().flatten().map(|(carrier, _)| *carrier);
        let mut last = None;
        for carrier in carriers.chain(forward.plans.iter().map(|(carrier, _)| *carrier)) {
            if last.replace(carrier) != Some(carrier) {
                self.schedule.set(Source::Medium(carrier), self.media[carrier].next_wakeup());
            }
        }
        self.slots(id)?.forward = forward;
        Some(())
    }

    /// Fills the next frame of a forward carrier from the queues of its links.
    fn fill_frame(&mut self, id: MediumId) {
        let SharedMedium::Frames(carrier) = &mut self.media[id] else { return };
        carrier.fill(self.now, &mut self.links);
        self.ledger.sent += std::mem::take(&mut carrier.copied);
        let (mut sent, mut lost) = (std::mem::take(&mut carrier.sent), std::mem::take(&mut carrier.lost));
        for link in sent.drain(..) {
            self.schedule.set(Source::Link(link), self.links[link].next_event());
            self.note_served(link);
        }
        for (link, packet, cause) in lost.drain(..) {
            self.lose(packet.at, LossPlace::Link(link), packet, cause);
        }
        if let SharedMedium::Frames(carrier) = &mut self.media[id] {
            (carrier.sent, carrier.lost) = (sent, lost);
        }
    }

    /// Notes that a packet was offered to a link in a medium. A forward carrier may have waited for it, or a terminal slept.
    pub(super) fn note_offered(&mut self, link: LinkId) {
        let Some(id) = self.scenario.links[link].terminal.as_ref().map(|terminal| terminal.medium) else { return };
        let carrier = match &mut self.media[id] {
            SharedMedium::Frames(carrier) => carrier,
            SharedMedium::Slots(slots) => return slots.wake(link),
        };
        if self.links[link].on_carrier().is_some_and(|link| link.is_waiting()) {
            carrier.arrived(self.now, link);
            self.schedule.set(Source::Medium(id), carrier.next_wakeup());
        }
    }

    /// Notes the plans of the media for their links, before samples.
    pub(super) fn note_plans(&mut self) {
        for medium in &mut self.media {
            match medium {
                SharedMedium::Slots(slots) => {
                    for (terminal, &link) in slots.links.iter().enumerate() {
                        let (waveform, requested) = (slots.plan.waveform(terminal), slots.plan.requested(terminal));
                        self.links[link].note_plan(waveform, requested);
                    }
                }
                SharedMedium::Frames(carrier) => carrier.note_modcods(self.now, &mut self.links),
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
}

//! Forward carriers of a run. A carrier wakes up when it can fill a frame, takes packets from the queues of its links, and
//! sleeps while nothing waits.

use super::broadcast::BroadcastQueue;
use super::results::{FramesSent, MediumGrants};
use super::routes::Routes;
use crate::link::{DelayCursor, LazyLink, LinkAtEnd, Losses, OnCarrier};
use bentpipe_access::{Backlog, Frame, Heard, Measurements, Part, Queues, TdmMedium, MODCODS};
use bentpipe_model::dictionary::Cause;
use bentpipe_model::ids::{LinkId, MediumId, NodeId};
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::{MediumKind, Scenario, Tdm};
use bentpipe_units::{Duration, Time};
use std::collections::BTreeMap;

/// A carrier with its links.
#[derive(Clone, Debug)]
pub(super) struct ForwardCarrier {
    medium: TdmMedium,
    /// Links, by terminal: rising.
    links: Vec<LinkId>,
    reports: Reports,
    /// Queues of packets for several links. Their turns follow those of the links.
    broadcasts: Vec<BroadcastQueue>,
    /// Copies of such packets since they were last counted.
    pub(super) copied: u64,
    /// End of the last frame.
    free_at: Time,
    /// The next time to fill a frame.
    wake: Time,
    /// Links that sent packets with the last frame.
    pub(super) sent: Vec<LinkId>,
    /// Losses of queues while the last frame was filled.
    pub(super) lost: Vec<(LinkId, Packet, Cause)>,
}

/// Reports of the signal on their way back.
#[derive(Clone, Debug)]
struct Reports {
    measurements: Measurements,
    /// Ways back, by terminal. Empty with a constant modulation and code.
    ways: Vec<WayBack>,
    /// Measurements of all terminals so far, over links with a rate.
    measured: u64,
}

/// The way of reports to the node that sends.
#[derive(Clone, Debug)]
struct WayBack {
    delay: DelayCursor,
    /// In a return link: the time between arrival and use, and the number of the next measurement to report.
    in_bursts: Option<(Duration, u64)>,
}

/// A terminal of a forward carrier.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OnForward {
    pub(crate) link: LinkId,
    pub(crate) weight: u32,
    /// Signal at the start.
    pub(crate) es_n0_db: f64,
    /// Its link back. If that is in a return link, also the time from the arrival of a report there to its use: the way
    /// from the end of the link to the controller and back, and the control delay.
    pub(crate) back: Option<(LinkId, Option<Duration>)>,
}

/// Returns the link in the opposite direction of each link. Of several, the one with the same name.
pub(crate) fn opposites(scenario: &Scenario) -> Vec<Option<LinkId>> {
    let mut between: BTreeMap<(NodeId, NodeId), Vec<LinkId>> = BTreeMap::new();
    for (id, link) in LinkId::all(scenario.links.len()).zip(&scenario.links) {
        between.entry((link.from, link.to)).or_default().push(id);
    }
    let entry = |name: &str| name.rsplit_once('.').map_or(name.to_owned(), |(entry, _)| entry.to_owned());
    let opposite = |link: &bentpipe_model::spec::Link| {
        let back = between.get(&(link.to, link.from))?;
        let of_entry = back.iter().find(|&&id| entry(&scenario.links[id].name) == entry(&link.name));
        of_entry.or(back.first()).copied()
    };
    scenario.links.iter().map(opposite).collect()
}

/// Returns the terminals of a forward carrier, in the order of their links.
pub(crate) fn on_forward(scenario: &Scenario, id: MediumId) -> Vec<OnForward> {
    let opposites = opposites(scenario);
    let terminal = |link: LinkId| {
        let of = scenario.links[link].terminal.as_ref().filter(|of| of.medium == id)?;
        let back = opposites[link];
        let back_terminal = back.and_then(|back| scenario.links[back].terminal.as_ref());
        let return_link = back_terminal.and_then(|of| match &scenario.media[of.medium].kind {
            MediumKind::MfTdma(keys) => Some((of.access.weight, scenario.media[of.medium].beyond + keys.control_delay)),
            // Over a cell, a report takes the propagation of its link.
            MediumKind::Tdm(_) | MediumKind::LeoCell(_) => None,
        });
        Some(OnForward {
            link,
            weight: return_link.map_or(1, |(weight, _)| weight),
            es_n0_db: of.signal().values().next().unwrap_or(f64::NEG_INFINITY),
            back: back.map(|back| (back, return_link.map(|(_, delay)| delay))),
        })
    };
    LinkId::all(scenario.links.len()).filter_map(terminal).collect()
}

impl ForwardCarrier {
    pub(super) fn new(scenario: &Scenario, id: MediumId, tdm: &Tdm, routes: &Routes, seed: u64) -> Self {
        let terminals = on_forward(scenario, id);
        let end = Time::ZERO + scenario.duration;
        let way = |terminal: &OnForward| {
            // Without a link back, a report takes the time of a packet.
            let (link, control) = terminal.back.unwrap_or((terminal.link, None));
            let delay = DelayCursor::new(&scenario.links[link], seed, end);
            WayBack { delay, in_bursts: control.map(|delay| (delay, 0)) }
        };
        let ways = if tdm.modcod.is_some() { Vec::new() } else { terminals.iter().map(way).collect() };
        let measurements = Measurements { every: tdm.acm.every, terminals: terminals.len() as u64 };
        let mut medium = TdmMedium::new(&tdm.parameters(), terminals.iter().map(|of| (of.weight, of.es_n0_db)));
        let broadcasts = BroadcastQueue::all(scenario, id, routes, seed);
        for queue in &broadcasts {
            let place = |link: LinkId| terminals.binary_search_by_key(&link, |of| of.link).ok();
            let members: Vec<usize> = queue.links().filter_map(place).collect();
            let weight = members.iter().map(|&n| terminals[n].weight.max(1)).sum();
            medium.add_broadcast(weight, members.iter().map(|&n| n as u32).collect());
        }
        Self {
            medium,
            broadcasts,
            copied: 0,
            links: terminals.into_iter().map(|of| of.link).collect(),
            reports: Reports { measurements, ways, measured: 0 },
            free_at: Time::ZERO,
            wake: Time::NEVER,
            sent: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// The next time to fill a frame.
    pub(super) fn next_wakeup(&self) -> Time {
        self.wake
    }

    /// The terminal of a link.
    pub(super) fn terminal(&self, link: LinkId) -> Option<usize> {
        self.links.binary_search(&link).ok()
    }

    /// Notes that packets wait for the carrier on a link.
    pub(super) fn arrived(&mut self, now: Time, link: LinkId) {
        if let Some(terminal) = self.terminal(link) {
            self.medium.arrived(now, terminal);
            self.wake = self.wake.min(self.free_at.max(now));
        }
    }

    /// Offers a packet for several links. Returns the link that counts its losses.
    pub(super) fn offer(
        &mut self,
        now: Time,
        place: usize,
        packet: &Packet,
        links: &mut [LazyLink],
        losses: &mut Losses,
    ) -> LinkId {
        let queue = &mut self.broadcasts[place];
        queue.accept(now, packet, losses);
        losses.iter().for_each(|_| links[queue.first()].counters.note_refused());
        if queue.len() > 0 {
            self.medium.arrived(now, self.links.len() + place);
            self.wake = self.wake.min(self.free_at.max(now));
        }
        queue.first()
    }

    /// Packets of its queues for several links, at the end of the run.
    pub(super) fn broadcasts_at_end(&self, now: Time) -> Vec<LinkAtEnd> {
        self.broadcasts.iter().map(|queue| queue.at_end(now)).collect()
    }

    /// Packets in its queues for several links.
    pub(super) fn held(&self) -> usize {
        self.broadcasts.iter().map(BroadcastQueue::len).sum()
    }

    /// Announces a plan of a return link to these terminals.
    pub(super) fn announce(
        &mut self,
        now: Time,
        bytes: u64,
        terminals: impl Iterator<Item = u32>,
        links: &mut [LazyLink],
    ) {
        self.measure_until(now, links);
        self.medium.announce(now, bytes, terminals);
        if self.medium.has_plans() {
            self.wake = self.wake.min(self.free_at.max(now));
        }
    }

    /// Notes the report of a terminal that the controller of a return link hears.
    pub(super) fn hear(&mut self, now: Time, terminal: usize, heard: Heard, links: &mut [LazyLink]) {
        let Self { reports: Reports { measurements, ways, .. }, .. } = self;
        let Some(WayBack { delay, in_bursts: Some((control, next)) }) = ways.get_mut(terminal) else { return };
        let last = measurements.last(terminal as u64, heard.begin);
        let is_new = last.is_some_and(|(number, _)| number >= *next);
        // A control slot and a request have the signal of the moment.
        let at = match (heard.has_request || heard.has_control, last.filter(|_| is_new)) {
            (true, _) => heard.begin,
            (false, Some((_, at))) => at,
            (false, None) => return,
        };
        *next = last.map_or(*next, |(number, _)| number + 1);
        let from = heard.end + delay.at(heard.end) + *control;
        self.report(now, terminal, (at, from), links);
        if self.medium.waiting_terminals().any(|waiting| waiting == terminal) {
            self.wake = self.wake.min(self.free_at.max(from));
        }
    }

    /// Reports the signal at `at`, for use from `from` on.
    fn report(&mut self, now: Time, terminal: usize, (at, from): (Time, Time), links: &mut [LazyLink]) {
        let Some(mut link) = links[self.links[terminal]].on_carrier() else { return };
        self.medium.report(terminal, now, from, link.measure(at));
    }

    /// Sends the reports of all measurements up to `now` that take links with a rate.
    fn measure_until(&mut self, now: Time, links: &mut [LazyLink]) {
        if self.reports.ways.iter().all(|way| way.in_bursts.is_some()) {
            return;
        }
        let terminals = self.links.len() as u64;
        loop {
            let (terminal, number) = (self.reports.measured % terminals, self.reports.measured / terminals);
            let at = self.reports.measurements.instant(terminal, number);
            if at > now {
                return;
            }
            self.reports.measured += 1;
            let way = &mut self.reports.ways[terminal as usize];
            if way.in_bursts.is_none() {
                let from = at + way.delay.at(at);
                self.report(at, terminal as usize, (at, from), links);
            }
        }
    }

    /// Fills the frame that starts now, if any.
    pub(super) fn fill(&mut self, now: Time, links: &mut [LazyLink]) {
        self.measure_until(now, links);
        let Self { medium, links: of, broadcasts, copied, sent, lost, .. } = self;
        let number = medium.counters().frames;
        let mut waiting = Waiting { links, of, broadcasts, copied, now, number, sent, lost, losses: Losses::new() };
        match self.medium.next_frame(now, &mut waiting) {
            Some(frame) => {
                self.free_at = frame.ends;
                self.wake = if self.medium.is_waiting() { frame.ends } else { Time::NEVER };
            }
            None => self.wake = self.reachable_at(now, links),
        }
    }

    /// The first instant after `now` when a terminal with packets may be reached, as far as known.
    fn reachable_at(&mut self, now: Time, links: &mut [LazyLink]) -> Time {
        let mut first = Time::NEVER;
        let waiting: Vec<usize> = self.medium.waiting_terminals().collect();
        for waits in waiting {
            let terminals: Vec<usize> = self.medium.members(waits).collect();
            for terminal in terminals {
                let at = match self.medium.choice(terminal, now) {
                    // An outage that follows an absence may flush what waited.
                    Some(_) => links[self.links[terminal]].gate.changes_at(now),
                    None => self.medium.next_report(terminal).unwrap_or_else(|| self.next_measured(terminal)),
                };
                first = first.min(at);
            }
        }
        first
    }

    /// The start of the use of the next measurement of a terminal, over a link with a rate.
    fn next_measured(&mut self, terminal: usize) -> Time {
        let Reports { measurements, ways, measured } = &mut self.reports;
        let Some(WayBack { delay, in_bursts: None }) = ways.get_mut(terminal) else { return Time::NEVER };
        let number = measured.saturating_sub(terminal as u64).div_ceil(self.links.len() as u64);
        let at = measurements.instant(terminal as u64, number);
        at + delay.at(at)
    }

    /// Notes the modulation and code of each terminal for samples.
    pub(super) fn note_modcods(&mut self, now: Time, links: &mut [LazyLink]) {
        self.measure_until(now, links);
        for terminal in 0..self.links.len() {
            let number = self.medium.choice(terminal, now).map(bentpipe_access::Modcod::id);
            if let Some(mut link) = links[self.links[terminal]].on_carrier() {
                link.note_modcod(number);
            }
        }
    }

    /// Returns its frames and the parts of its links, among all links.
    pub(super) fn grants(&self, links: &[LazyLink], now: Time) -> MediumGrants {
        let of = |&link: &LinkId| Some((link, links[link].layer2.grants(now)?));
        let by_modcod = MODCODS.iter().zip(self.medium.frames_by_modcod()).map(|(row, &frames)| (row.0, frames));
        let frames = FramesSent { counters: self.medium.counters(), by_modcod: by_modcod.collect() };
        let broadcasts = self.broadcasts.iter().filter_map(|of| of.grants(now)).collect();
        MediumGrants {
            frames: Some(frames),
            broadcasts,
            ..MediumGrants::of(self.links.iter().filter_map(of).collect())
        }
    }
}

/// The queues of the links, for a frame.
struct Waiting<'a> {
    links: &'a mut [LazyLink],
    of: &'a [LinkId],
    broadcasts: &'a mut [BroadcastQueue],
    copied: &'a mut u64,
    now: Time,
    /// Number of the frame.
    number: u64,
    sent: &'a mut Vec<LinkId>,
    lost: &'a mut Vec<(LinkId, Packet, Cause)>,
    losses: Losses,
}

impl Waiting<'_> {
    /// The queue of a terminal, or one for several.
    fn queue(&mut self, terminal: usize) -> Option<OnCarrier<'_>> {
        match self.of.get(terminal) {
            Some(&link) => self.links[link].on_carrier(),
            None => self.broadcasts[terminal - self.of.len()].on_carrier(),
        }
    }

    /// Asks a queue that may lose packets.
    fn ask<T>(&mut self, terminal: usize, ask: impl FnOnce(&mut OnCarrier<'_>, &mut Losses) -> T) -> Option<T> {
        let mut losses = std::mem::take(&mut self.losses);
        let answer = self.queue(terminal).map(|mut queue| ask(&mut queue, &mut losses));
        let id = match self.of.get(terminal) {
            Some(&link) => link,
            None => {
                let first = self.broadcasts[terminal - self.of.len()].first();
                losses.iter().for_each(|_| self.links[first].counters.note_refused());
                first
            }
        };
        self.lost.extend(losses.drain(..).map(|(packet, cause)| (id, packet, cause)));
        self.losses = losses;
        answer
    }
}

impl Queues for Waiting<'_> {
    fn is_up(&mut self, terminal: usize, now: Time) -> bool {
        self.ask(terminal, |link, losses| link.is_up(now, losses)) == Some(true)
    }

    fn next(&mut self, terminal: usize, now: Time) -> Option<u32> {
        self.ask(terminal, |link, losses| link.next(now, losses)).flatten()
    }

    fn backlog(&mut self, terminal: usize) -> Backlog {
        self.queue(terminal).map_or(Backlog::default(), |link| link.backlog())
    }

    fn take(&mut self, terminal: usize) {
        let now = self.now;
        if let Some(mut link) = self.queue(terminal) {
            link.take(now);
        }
    }

    fn put(&mut self, terminal: usize, frame: &Frame, part: Part) -> bool {
        let number = self.number;
        match self.of.get(terminal) {
            Some(&link) => self.links[link].on_carrier().is_some_and(|mut link| link.put(frame, number, part)),
            None => {
                self.broadcasts[terminal - self.of.len()].put(frame, number, part, self.links);
                false
            }
        }
    }

    fn sent(&mut self, terminal: usize, at: Time, _is_lost: bool) {
        match self.of.get(terminal) {
            Some(&link) => {
                if let Some(mut link) = self.links[link].on_carrier() {
                    link.send(at);
                }
                self.sent.push(link);
            }
            None => {
                let queue = &mut self.broadcasts[terminal - self.of.len()];
                *self.copied += queue.send(at, self.links);
                self.sent.extend(queue.links());
            }
        }
    }
}

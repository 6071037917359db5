//! The links of a network, with the packets on them: in their rings, and in the inboxes of links that merge. Links are given
//! packets, and return them where they stop.

use super::far_ends::{far_ends, inboxes, Behind, FarEnd};
use super::inbox::{Inbox, Order};
use super::routes::Routes;
use super::windows::Windows;
use crate::engine::{Schedule, Source};
use crate::link::{processing, Crossing, LazyLink, Losses, Processing};
use bentpipe_model::dictionary::Cause;
use bentpipe_model::ids::{EndpointId, LinkId, NodeId, PathId};
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::Scenario;
use bentpipe_units::Time;

/// The links of a network.
#[derive(Debug)]
pub(super) struct Links {
    pub(super) all: Vec<LazyLink>,
    /// Far ends, by link.
    pub(super) far_ends: Vec<FarEnd>,
    /// Packets on their way to links with several feeders.
    pub(super) inboxes: Vec<Inbox>,
    pub(super) windows: Windows,
    /// Losses that wait to be counted.
    pub(super) losses: Losses,
}

/// The end of a packet's way across links in one step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    /// It waits in front of this last link for a visit of its endpoint.
    Kept,
    /// It has reached the endpoint behind this link.
    AtEnd(NodeId),
    /// This link has damaged it.
    Damaged,
    /// The queue of this link is full.
    Full,
    /// It cannot cross this link in one step.
    Before(Behind),
}

impl Links {
    /// The links at the start of a run. `acts` tests whether a node has middleboxes; `is_traced`: packets have trails. `opener`
    /// returns the opener of a flow's only connection.
    pub(super) fn of(
        scenario: &Scenario,
        seed: u64,
        (acts, is_traced): (impl Fn(NodeId) -> bool, bool),
        routes: &Routes,
        opener: impl Fn(PathId) -> Option<EndpointId>,
    ) -> Self {
        let all = links(scenario, seed, &acts, is_traced);
        let mut far_ends = far_ends(scenario, routes, &acts);
        let mut inboxes = inboxes(scenario, &all, &mut far_ends);
        if is_traced {
            far_ends.iter_mut().for_each(|far_end| far_end.behind = Behind::Traced);
        }
        let windows = Windows::of(scenario, &all, &far_ends, &mut inboxes, opener);
        Self { all, far_ends, inboxes, windows, losses: Losses::new() }
    }

    /// Carries a packet across a chain of links in one step, and returns why it stops. `at` and `link` are then those of the stop.
    /// `ARRIVES` also carries it to an endpoint, unless it `moves_others`.
    #[inline(always)]
    pub(super) fn carry<const ARRIVES: bool>(
        &mut self,
        (at, link): (&mut Time, &mut LinkId),
        packet: &mut Packet,
        until: Time,
        routes: &Routes,
        moves_others: impl Fn(&Packet) -> bool,
    ) -> Stop {
        let size = packet.length();
        loop {
            let far_end = &self.far_ends[*link];
            let (behind, node) = (far_end.behind, far_end.node);
            let is_last = behind == Behind::End;
            if ARRIVES && is_last && self.windows.keeps {
                packet.at = *at;
                if self.windows.keep(*link, packet) {
                    return Stop::Kept;
                }
            }
            if !far_end.can_cross(ARRIVES) || is_last && moves_others(packet) {
                return Stop::Before(behind);
            }
            match self.all[*link].carry(*at, size, packet, until) {
                Crossing::No => return Stop::Before(behind),
                Crossing::Full => return Stop::Full,
                Crossing::At(arrival) | Crossing::Damaged(arrival) => *at = arrival,
            }
            if is_last {
                return Stop::AtEnd(node);
            }
            if packet.is_damaged() {
                return Stop::Damaged;
            }
            *link = routes.next_link(packet);
        }
    }

    /// Offers a packet to a link where it stays.
    #[inline(always)]
    pub(super) fn accept(&mut self, at: Time, link: LinkId, packet: &Packet, schedule: &mut Schedule) {
        if let Some(at) = self.all[link].accept(at, packet, &mut self.losses) {
            schedule.set(Source::Link(link), at);
            if self.windows.is_on {
                self.windows.note_waiting(link);
            }
        }
    }

    /// Offers a packet to a feeder of an inbox: computes its arrival and inserts it there. Returns false if the queue is full.
    #[inline]
    pub(super) fn accept_in_inbox(
        &mut self,
        now: Time,
        at: Time,
        (link, inbox): (LinkId, usize),
        packet: &mut Packet,
        (routes, schedule): (&Routes, &mut Schedule),
    ) -> bool {
        if self.all[link].carry(at, packet.length(), packet, Time::NEVER) == Crossing::Full {
            return false;
        }
        if self.inboxes[inbox].insert(now, packet, Order { routes, schedule }) {
            self.expect(inbox, Some((packet.at, link)), schedule);
        }
        true
    }

    /// Schedules an inbox: its only entry is that of the feeder of its first packet.
    pub(super) fn expect(&mut self, inbox: usize, next: Option<(Time, LinkId)>, schedule: &mut Schedule) {
        let Inbox { seat, head, .. } = &mut self.inboxes[inbox];
        *head = next;
        let (at, feeder) = next.unwrap_or((Time::NEVER, *seat));
        schedule.seat(*seat, feeder, at);
    }

    /// The cause of loss of a damaged packet that has left a link, which counts it. `None`: the packet is corrupted, and goes on
    /// to a node.
    pub(super) fn loses(&mut self, link: LinkId, packet: &Packet) -> Option<Cause> {
        let cause = if packet.is_cut_off() {
            Cause::Handover
        } else if packet.is_truncated() {
            Cause::Outage
        } else if packet.is_erased() {
            self.all[link].layer2.take_cause()
        } else {
            return None;
        };
        self.all[link].counters.note_lost();
        Some(cause)
    }
}

/// Builds the links. `acts` tests whether a node has middleboxes; `traced`: packets have trails.
fn links(scenario: &Scenario, seed: u64, acts: impl Fn(NodeId) -> bool, traced: bool) -> Vec<LazyLink> {
    let (end, mut absences) = (Time::ZERO + scenario.duration, scenario.timeline.absences());
    let links = LinkId::all(scenario.links.len()).zip(&scenario.links).zip(processing(scenario));
    let link = |((id, spec), time): ((LinkId, &bentpipe_model::spec::Link), _)| {
        let drawn = spec.slots.is_some().then(|| spec.in_slots(seed, end));
        let spec = drawn.as_ref().unwrap_or(spec);
        let link = LazyLink::new(spec, seed, end).toward_host(Processing::new(time, seed, &spec.name));
        let link = if traced { link.with_journal() } else { link };
        let link = match absences.remove(&id) {
            Some(absences) => link.with_absences(spec, &absences, seed, end),
            // Middleboxes read the queues of their node.
            None if acts(spec.from) || traced || spec.terminal.is_some() => link,
            None => link.simplified(spec),
        };
        match &spec.terminal {
            Some(terminal) => link.in_medium(spec, terminal, &scenario.media[terminal.medium], seed),
            None => link,
        }
    };
    links.map(link).collect()
}

//! Packets in motion: links, nodes and endpoints, and the schedule of their events. An event moves packets from part to part;
//! the parts do not know each other. The clock of changes, the ports of programs and the results are with the
//! [network](super).

use super::boxes::Boxes;
use super::ends::Endpoints;
use super::horizon::Bounds;
use super::links::Links;
use super::observers::Observers;
use super::ports::Ports;
use super::results::Ledger;
use super::routes::Routes;
use super::superframes::{MediumReport, SharedMedia};
use super::witness::Scene;
use crate::engine::{Schedule, Source};
use crate::link::LazyLink;
use crate::record::{Drops, LossPlace, LossSize, StopReason};
use bentpipe_model::dictionary::Cause;
use bentpipe_model::ids::{LinkId, MediumId, NodeId, PathId};
use bentpipe_model::middlebox::AnyMiddlebox;
use bentpipe_model::packet::Packet;
use bentpipe_model::spec::Scenario;
use bentpipe_units::Time;
use std::sync::Arc;

/// The packets of a network, and all that moves them.
#[derive(Debug)]
pub(super) struct Motion {
    pub(super) schedule: Schedule,
    /// The instant of the event. Links and endpoints that run ahead of time are given their own instants.
    pub(super) now: Time,
    pub(super) stop: Option<StopReason>,
    pub(super) bounds: Bounds,

    pub(super) links: Links,
    pub(super) boxes: Boxes,
    pub(super) media: SharedMedia,
    pub(super) ends: Endpoints,
    pub(super) routes: Routes,

    pub(super) ports: Ports,
    pub(super) drops: Drops,
    pub(super) ledger: Ledger,
    pub(super) observers: Observers,
    pub(super) scenario: Arc<Scenario>,
}

impl Motion {
    /// Builds the parts at time zero. `boxes` are the middleboxes of each node, `acts` tests whether a node has any or makes copies,
    /// `resets`: whether it has some that may reset connections. `are_real`: middleboxes act on real packets.
    pub(super) fn of(
        scenario: &Arc<Scenario>,
        seed: u64,
        boxes: Vec<Vec<AnyMiddlebox>>,
        acts: impl Fn(NodeId) -> bool,
        resets: impl Fn(NodeId) -> bool,
        are_real: bool,
    ) -> Self {
        let routes = Routes::new(scenario, &acts);
        let observers = Observers::of(scenario, |node| !boxes[node].is_empty());
        let is_traced = observers.critical.is_some();
        let ends = Endpoints::of(scenario, seed, |path| routes.first(path));
        let opener = |path: PathId| {
            let flow = scenario.lanes[path.lane()].flow;
            ends.traffic.flows[flow].newest.filter(|_| scenario.flows[flow].is_one_connection())
        };
        let links = Links::of(scenario, seed, (&acts, is_traced), &routes, opener);
        let bounds = Bounds::of(scenario, &acts, resets);
        Self {
            schedule: Schedule::new(
                scenario.links.iter().map(|link| link.name.as_str()),
                scenario.nodes.iter().zip(&boxes).map(|(node, boxes)| (node.name.as_str(), !boxes.is_empty())),
                scenario
                    .flows
                    .iter()
                    .zip(&ends.traffic.flows)
                    .map(|(flow, state)| (flow.name.as_str(), state.can_wake())),
                scenario.media.iter().map(|medium| medium.name.as_str()),
                ends.traffic.hosts.slots(),
            ),
            now: Time::ZERO,
            stop: None,
            bounds,
            links,
            boxes: Boxes::of(scenario, boxes),
            media: SharedMedia::of(scenario, &routes, seed),
            ends,
            routes,
            ports: Ports::of(scenario, are_real),
            drops: Drops::default(),
            ledger: Ledger::default(),
            observers,
            scenario: Arc::clone(scenario),
        }
    }

    /// Handles the event of a source at `at`.
    #[inline(always)]
    pub(super) fn step(&mut self, at: Time, source: Source) {
        self.now = at;
        match source {
            Source::Link(link) => self.deliver(link),
            Source::Node(node) => self.wake_node(node),
            Source::Medium(medium) => self.wake_medium(medium),
            Source::Flow(flow) => {
                self.ends.wake_flow(at, flow, &mut self.schedule);
                self.carry_out_tasks(at);
            }
            Source::Endpoint(endpoint) => {
                if self.ends.is_due(at, endpoint, &mut self.schedule) {
                    self.act(at, endpoint);
                }
            }
            Source::Sampler => self.sample(),
        }
    }

    /// Computes the horizon again. Nothing is due before `now`.
    pub(super) fn review(&mut self, now: Time) {
        let is_watched = !self.ports.is_empty() || self.observers.is_any;
        self.bounds.update(now, self.ends.recorder.next_wakeup(), is_watched, &self.ends.traffic);
    }

    // Not inlined: it would cost registers in the loop over events.
    #[inline(never)]
    fn sample(&mut self) {
        self.advance_links();
        let links = |series| self.links.all.iter().map(move |link| link.sample(series));
        self.ends.recorder.on_sample(self.now, |series| self.ends.traffic.report().samples(series), links);
        self.links.all.iter_mut().for_each(LazyLink::renew_levels);
        self.review(self.now);
        self.schedule.set(Source::Sampler, self.ends.recorder.next_wakeup());
    }

    /// Brings all links to the present instant, and notes the plans of media for them.
    pub(super) fn advance_links(&mut self) {
        for link in LinkId::all(self.links.all.len()) {
            self.links.all[link].advance(self.now, &mut self.links.losses);
            self.count_losses(link);
        }
        self.media.note_plans(self.now, &mut self.links.all);
    }

    /// Starts a superframe, or fills a frame.
    #[cold]
    #[inline(never)]
    fn wake_medium(&mut self, id: MediumId) {
        self.media.wake(id, self.now, &mut self.links.all, &mut self.schedule);
        let (mut reports, copied) = self.media.take_reports();
        self.ledger.sent += copied;
        for report in reports.drain(..) {
            match report {
                MediumReport::Served(link, services) => {
                    if let Some(paths) = &mut self.observers.critical {
                        paths.on_services(&self.scenario, link, services);
                    }
                }
                MediumReport::Lost(link, packet, cause) => self.lose(packet.at, LossPlace::Link(link), packet, cause),
            }
        }
        self.media.give_back(reports);
    }

    /// Reports the services of a link to critical paths, and counts its losses.
    pub(super) fn note_served(&mut self, link: LinkId) {
        if let Some(paths) = &mut self.observers.critical {
            paths.on_services(&self.scenario, link, self.links.all[link].take_services());
        }
        self.count_losses(link);
    }

    /// Counts the losses that a link has just had.
    pub(super) fn count_losses(&mut self, link: LinkId) {
        while let Some((packet, cause)) = self.links.losses.pop() {
            self.lose(packet.at, LossPlace::Link(link), packet, cause);
        }
    }

    /// The observers, and the network as they read it.
    pub(super) fn observe(&mut self) -> (&mut Observers, Scene<'_>) {
        let Self { now, scenario, ends: Endpoints { traffic, bodies, .. }, observers, .. } = self;
        (observers, Scene { now: *now, scenario, traffic, bodies })
    }

    /// Ends the path of a packet that is lost at `at`.
    #[cold]
    pub(super) fn lose(&mut self, at: Time, place: LossPlace, packet: Packet, cause: Cause) {
        self.ledger.lost += 1;
        if self.observers.is_any {
            let (observers, scene) = self.observe();
            observers.on_loss(scene, at, place, &packet, cause);
        }
        self.ports.on_loss(self.now, place, cause, &packet, &mut self.ends.bodies);
        self.ends.bodies.release(&packet);
        let Self { now, drops, ends: Endpoints { traffic, recorder, .. }, routes, scenario, .. } = self;
        let mut count = |packet: &Packet| {
            let flow = scenario.lanes[packet.lane()].flow;
            drops.add(place, flow, cause, packet.size());
            let offset = traffic.on_loss(at, packet, cause, *now);
            let lost = LossSize { bytes: packet.size(), data_bytes: packet.len.into(), offset };
            recorder.on_loss(at, place, traffic.entity_of[packet.lane()], cause, lost);
        };
        count(&packet);
        if !routes.copies.is_empty() {
            routes
                .copies
                .lose_with(&packet, place, &routes.hops)
                .into_iter()
                .for_each(|lane| count(&packet.on_lane(lane)));
        }
    }
}

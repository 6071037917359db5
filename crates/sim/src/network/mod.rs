//! A running network: links, nodes, traffic and the schedule, from a [`Scenario`]. It is a value: networks in one thread are
//! independent.

mod broadcast;
mod carriers;
mod changes;
mod copies;
mod critical;
mod ends;
mod engines;
mod far_ends;
mod groups;
mod horizon;
mod inbox;
mod links;
mod media;
mod mtu;
mod nodes;
mod ports;
mod real;
mod results;
mod routes;
mod silence;
mod so_far;
mod superframes;
mod trouble;
mod windows;
mod witness;

use crate::dictionary::Cause;
use crate::engine::{Schedule, Source};
use crate::ids::{FlowId, LinkId, NodeId, PathId};
use crate::link::{processing, LazyLink, LinkAtEnd, Losses, Processing};
use crate::middlebox::{AnyMiddlebox, Middlebox, MiddleboxConfig, Outbox, Own};
use crate::packet::{Bodies, Packet, UNROUTED};
use crate::record::{Drops, LossPlace, LossSize, Recorder, RunResult, StopReason};
use crate::spec::{Change, Scenario, Waiting};
use crate::traffic::Traffic;
use bentpipe_units::Time;
#[cfg(test)]
pub(crate) use broadcast::queue_of;
#[cfg(test)]
pub(crate) use carriers::{on_forward, OnForward};
use changes::Changes;
use copies::copying_nodes;
#[cfg(test)]
pub(crate) use copies::Broadcast;
use critical::CriticalPaths;
use far_ends::{far_ends, inboxes, Behind, FarEnd};
pub use horizon::Ahead;
use horizon::{Bound, Horizon};
use inbox::Inbox;
use media::SharedMedium;
#[cfg(test)]
pub(crate) use media::{forward_side, planned, ForwardSide};
pub(crate) use mtu::guards;
pub(crate) use nodes::introduce;
use nodes::{NodeState, Turns};
pub use ports::{Delivered, Lost, PortId, Refused, Taken};
pub use real::RealPackets;
pub(crate) use results::{add_media, assemble, names, notes_of_functions, Ledger, RunEnd};
#[cfg(test)]
pub(crate) use results::{FramesSent, MediumGrants};
use routes::Routes;
use std::sync::Arc;
pub use trouble::{Failure, Trouble};
use windows::Windows;
pub use witness::{ends, Fate, Sighting, Witness};

/// A network of a scenario at an instant of its run.
#[derive(Debug)]
pub struct Network {
    schedule: Schedule,
    /// The instant of the event. Links and endpoints that run ahead of time are given their own instants.
    now: Time,
    stop: Option<StopReason>,
    trouble: Option<Failure>,
    bounds: Bounds,

    links: Vec<LazyLink>,
    /// Far ends, by link.
    far_ends: Vec<FarEnd>,
    /// Packets on their way to links with several feeders.
    inboxes: Vec<Inbox>,
    windows: Windows,
    nodes: Vec<NodeState>,
    media: Vec<SharedMedium>,
    routes: Routes,
    /// Changes that are still due.
    changes: Changes,
    traffic: Traffic,

    bodies: Bodies,
    losses: Losses,
    outbox: Outbox,
    steps: Turns,
    ports: ports::Ports,
    drops: Drops,
    ledger: Ledger,
    recorder: Recorder,
    observers: Observers,
    scenario: Arc<Scenario>,
}

/// Observers of each packet at its own instant.
#[derive(Debug, Default)]
struct Observers {
    witness: Option<Box<dyn Witness>>,
    critical: Option<Box<CriticalPaths>>,
    /// Whether there is an observer.
    is_any: bool,
    /// Whether there is an observer, or a flow over several paths: some segments need more than the usual.
    looks_closer: bool,
}

/// Bounds of time.
#[derive(Debug)]
struct Bounds {
    end: Time,
    /// Events after this instant wait: a change, a review of the horizon, or the end of the run comes first.
    gate: Time,
    /// See [`Network::update_horizon`].
    horizon: Time,
    /// The flow that lasts longest, as far as known, and the work ahead so far.
    lasting: Horizon,
}

impl Network {
    /// Builds the network of `scenario` at time zero. All random streams come from `seed`.
    pub fn build(scenario: &Arc<Scenario>, seed: u64) -> Self {
        Self::build_with(scenario, seed, Vec::new())
    }

    /// As [`build`](Self::build); `real` adds middleboxes for packets with bytes from outside.
    pub fn build_real(scenario: &Arc<Scenario>, seed: u64, real: &Arc<dyn RealPackets>) -> Self {
        Self::build_all(scenario, seed, Vec::new(), Some(real))
    }

    /// As [`build`](Self::build), with custom middleboxes at nodes, after those of the scenario.
    pub fn build_with(
        scenario: &Arc<Scenario>,
        seed: u64,
        own: Vec<(NodeId, Box<dyn Middlebox + Send + Sync>)>,
    ) -> Self {
        Self::build_all(scenario, seed, own, None)
    }

    fn build_all(
        scenario: &Arc<Scenario>,
        seed: u64,
        own: Vec<(NodeId, Box<dyn Middlebox + Send + Sync>)>,
        real: Option<&Arc<dyn RealPackets>>,
    ) -> Self {
        assert!(!scenario.needs_engines(), "flows over QUIC need a stack, see Scenario::with_engines");
        let mut boxes: Vec<Vec<AnyMiddlebox>> = scenario
            .nodes
            .iter()
            .map(|node| (0..).zip(&node.middleboxes).map(|(i, m)| m.build(seed, &node.name, i)).collect())
            .collect();
        let given: Vec<NodeId> = own.iter().map(|(node, _)| *node).collect();
        let own = own.into_iter().chain(guards(scenario, real));
        own.for_each(|(node, middlebox)| boxes[node].push(AnyMiddlebox::Own(Own(middlebox))));
        introduce(scenario, &mut boxes);
        // After `introduce`: middleboxes find each other by their positions in the scenario.
        if let Some(real) = real {
            stand_beside(scenario, seed, real, &mut boxes);
        }
        let copying = copying_nodes(scenario);
        let acts = |node: NodeId| !boxes[node].is_empty() || copying.contains(&node);
        let routes = Routes::new(scenario, acts);
        let critical = CriticalPaths::of(scenario);
        let links = links(scenario, seed, acts, critical.is_some());
        let mut far_ends = far_ends(scenario, &routes, acts);
        let mut inboxes = inboxes(scenario, &links, &mut far_ends);
        if critical.is_some() {
            far_ends.iter_mut().for_each(|far_end| far_end.behind = Behind::Traced);
        }
        let traffic = Traffic::new(scenario, seed, |path| routes.first(path), true);
        let opener = |path: PathId| {
            let flow = scenario.lanes[path.lane()].flow;
            traffic.flows[flow].newest.filter(|_| scenario.flows[flow].is_one_connection())
        };
        let windows = Windows::of(scenario, &links, &far_ends, &mut inboxes, opener);
        let resets = |node: NodeId| {
            given.contains(&node) || scenario.nodes[node].middleboxes.iter().any(MiddleboxConfig::resets)
        };
        let horizon = Horizon::of(scenario, acts, resets);
        let end = Time::ZERO + scenario.duration;
        let mut network = Self {
            schedule: Schedule::new(
                scenario.links.iter().map(|link| link.name.as_str()),
                scenario.nodes.iter().zip(&boxes).map(|(node, boxes)| (node.name.as_str(), !boxes.is_empty())),
                scenario.flows.iter().zip(&traffic.flows).map(|(flow, state)| (flow.name.as_str(), state.can_wake())),
                scenario.media.iter().map(|medium| medium.name.as_str()),
                traffic.hosts.slots(),
            ),
            now: Time::ZERO,
            stop: None,
            trouble: None,
            bounds: Bounds { end, gate: end, horizon: Time::ZERO, lasting: horizon },
            links,
            far_ends,
            inboxes,
            windows,
            nodes: node_states(scenario, boxes),
            media: media::states(scenario, &routes, seed),
            routes,
            changes: Changes::of(scenario),
            traffic,
            bodies: Bodies::default(),
            losses: Losses::new(),
            outbox: Outbox::default(),
            steps: Turns::default(),
            ports: ports::Ports::of(scenario, real.is_some()),
            drops: Drops::default(),
            ledger: Ledger::default(),
            recorder: Recorder::new(&scenario.record, scenario.entities().0.len(), scenario.links.len()),
            observers: Observers {
                witness: None,
                is_any: critical.is_some(),
                looks_closer: critical.is_some() || scenario.flows.iter().any(|flow| flow.transport.multi().is_some()),
                critical,
            },
            scenario: Arc::clone(scenario),
        };
        if network.recorder.wants_levels() {
            network.links.iter_mut().for_each(LazyLink::observe_levels);
        }
        network.change();
        network.arm_media();
        network.carry_out_tasks(Time::ZERO);
        for flow in FlowId::all(network.traffic.flows.len()) {
            network.rearm_flow(flow);
        }
        network.update_horizon(Time::ZERO);
        network.schedule.set(Source::Sampler, network.recorder.next_wakeup());
        network
    }

    /// Handles up to `events` events. Returns whether the run is over.
    pub fn run(&mut self, events: u64) -> bool {
        for _ in 0..events {
            if self.stop.is_some() {
                break;
            }
            let (at, source) = self.schedule.next();
            if at > self.bounds.gate {
                self.pass_gate(at, self.bounds.end);
                continue;
            }
            debug_assert!(at >= self.now, "time ran backwards");
            self.step(at, source);
        }
        self.stop.is_some()
    }

    /// Reviews the horizon, if the next event, at `at`, waits for no more than that. Otherwise advances to the next change and
    /// carries it out; or advances to `until`, and ends the run if that is its end.
    #[cold]
    fn pass_gate(&mut self, at: Time, until: Time) {
        if at <= self.last_before_change() {
            return self.update_horizon(at);
        }
        let change = self.changes.next_at();
        if change <= until {
            self.come_to(change);
            self.change();
        } else {
            self.come_to(until);
            if until == self.bounds.end {
                self.stop.get_or_insert(StopReason::TimeLimit);
            }
        }
    }

    /// Carries out all changes that are due.
    #[cold]
    fn change(&mut self) {
        while let Some(change) = self.changes.take_due(self.now) {
            self.tell_groups(&change);
            match change {
                Change::Install { path, route } => {
                    self.routes.install(path, &route);
                    self.change_lane(path.lane());
                }
                Change::Withdraw(path) => self.routes.withdraw(path),
                Change::Down { link, waiting, .. } => {
                    let mut left = Vec::new();
                    self.links[link].take_away(self.now, waiting, &mut self.losses, &mut left);
                    if waiting != Waiting::Kept {
                        self.trace_absence(link);
                    }
                    self.count_losses(link);
                    self.reroute(link, waiting, left);
                }
                // The link knew its absences from the start.
                Change::Up(_) => {}
            }
        }
        self.update_horizon(self.now);
    }

    /// The last instant before the next change, or the end of the run.
    fn last_before_change(&self) -> Time {
        self.bounds.end.min(self.changes.before_next())
    }

    /// Sends packets of an absent link's queue from its node, or from the node that replaced it, by the present route of that
    /// node.
    fn reroute(&mut self, link: LinkId, waiting: Waiting, packets: Vec<Packet>) {
        let (from, to) = (self.scenario.links[link].from, self.scenario.links[link].to);
        for mut packet in packets {
            let successor = self.routes.node_before(packet.path(), to).filter(|_| waiting == Waiting::Moved);
            let node = successor.unwrap_or(from);
            packet.next = UNROUTED;
            self.leave_node(node, packet);
            self.rearm_node(node);
        }
        self.rearm_node(from);
    }

    /// Stops the run. [`finish`](Self::finish) returns the results so far.
    pub fn interrupt(&mut self) {
        self.stop.get_or_insert(StopReason::Interrupted);
    }

    /// The present instant of the run.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The share of the run that is done, 0 to 1, by simulated time.
    pub fn progress(&self) -> f64 {
        if self.stop.is_some() {
            return 1.0;
        }
        self.now.as_secs_f64() / self.bounds.end.as_secs_f64()
    }

    /// Ends the run and returns its results.
    ///
    /// # Errors
    /// A middlebox broke its contract: the run ended there.
    ///
    /// # Panics
    ///
    /// If packets were not conserved, which is a defect of the engine.
    pub fn finish(mut self) -> Result<RunResult, Failure> {
        if let Some(failure) = self.trouble {
            return Err(failure);
        }
        let now = self.now;
        self.advance_links();
        self.note_plans();
        for packet in self.inboxes.iter_mut().flat_map(Inbox::clear) {
            self.links[self.routes.before(&packet)].put_back(&packet);
        }
        let on_links: usize = self.links.iter().map(LazyLink::len).sum();
        let held = self.held();
        let of_carriers: Vec<LinkAtEnd> = self.media.iter().flat_map(|medium| medium.broadcasts_at_end(now)).collect();
        let of_links = self.links.iter().map(|link| link.at_end(now));
        self.ledger.set_in_flight(self.held_in_nodes(), of_links.chain(of_carriers));
        let Ledger { sent, delivered, lost, in_flight, .. } = self.ledger;
        assert_eq!(sent, delivered + lost + in_flight, "packets are conserved, at {now}, {}", self.scenario.title);
        assert!(
            self.bodies.in_use() <= on_links + held + self.traffic.entering(),
            "every ended packet returns its body"
        );
        let end = RunEnd { stop: self.stop.unwrap_or(StopReason::Interrupted), at: now, ledger: self.ledger };
        self.trace_end();
        let mut result = assemble(&self.scenario, end, &self.traffic, &self.links, &self.drops, self.recorder);
        let grants: Vec<_> = self.media.iter().map(|medium| medium.grants(&self.links, now)).collect();
        add_media(&mut result, &self.scenario, &grants, now);
        if let Some(paths) = &self.observers.critical {
            result.series.push((critical::SERIES.to_owned(), paths.table(&names(&self.scenario))));
        }
        result.notes.extend(notes_of_functions(&self.scenario, self.nodes.iter().map(|node| &node.boxes[..])));
        Ok(result)
    }

    /// The results up to now, as if the run were [interrupted](Self::interrupt) here.
    ///
    /// # Errors
    /// A middlebox broke its contract.
    pub fn so_far(&self) -> Result<RunResult, Failure> {
        so_far::so_far(self)
    }

    #[inline(always)]
    fn come_to(&mut self, at: Time) {
        self.now = at;
    }

    #[inline(always)]
    fn step(&mut self, at: Time, source: Source) {
        self.come_to(at);
        match source {
            Source::Link(link) => self.deliver(link),
            Source::Node(node) => self.wake_node(node),
            Source::Medium(medium) => self.wake_medium(medium),
            Source::Flow(flow) => self.wake_flow(flow),
            Source::Endpoint(endpoint) => self.wake_endpoint(endpoint),
            Source::Sampler => self.sample(),
        }
    }

    /// Sets the horizon: links and endpoints may run ahead up to the next sample, to the next change, and as long as a flow
    /// lasts. With ports or observers, nothing runs ahead; with media, other lanes than theirs do. Nothing is due before `now`.
    fn update_horizon(&mut self, now: Time) {
        let (change, sample) = (self.last_before_change(), self.recorder.next_wakeup());
        let known = change.min(sample);
        let is_watched = !self.ports.is_empty() || self.observers.is_any;
        let lasts = if is_watched { Time::ZERO } else { self.bounds.lasting.lasts_until(now, known, &self.traffic) };
        let bound = match known {
            _ if lasts <= known => Bound::Flow,
            _ if sample < change => Bound::Sample,
            _ => Bound::Change,
        };
        let until = if bound == Bound::Flow { Time::from_ps(lasts.as_ps().saturating_sub(1)) } else { known };
        self.bounds.lasting.turn(now, until, bound);
        self.bounds.horizon = until;
        let is_reviewed = bound == Bound::Flow && !is_watched;
        self.bounds.gate =
            if is_reviewed { change.min(self.bounds.lasting.review_at(now, &self.traffic)) } else { change };
    }

    /// Returns the work ahead of time so far.
    pub fn ahead(&self) -> Ahead {
        self.bounds.lasting.history(self.now)
    }

    /// The instant up to which links and endpoints may run ahead now.
    #[cfg(test)]
    pub(crate) fn runs_ahead_until(&self) -> Time {
        self.bounds.horizon
    }

    // Not inlined: it would cost registers in the loop over events.
    #[inline(never)]
    fn sample(&mut self) {
        self.advance_links();
        self.note_plans();
        let links = |series| self.links.iter().map(move |link| link.sample(series));
        self.recorder.on_sample(self.now, |series| self.traffic.samples(series), links);
        self.links.iter_mut().for_each(LazyLink::renew_levels);
        self.update_horizon(self.now);
        self.schedule.set(Source::Sampler, self.recorder.next_wakeup());
    }

    fn advance_links(&mut self) {
        for link in LinkId::all(self.links.len()) {
            self.links[link].advance(self.now, &mut self.losses);
            self.count_losses(link);
        }
    }

    /// Returns the flow of a packet.
    fn flow_of(&self, packet: &Packet) -> FlowId {
        self.scenario.lanes[packet.lane()].flow
    }

    fn count_losses(&mut self, link: LinkId) {
        while let Some((packet, cause)) = self.losses.pop() {
            self.lose(packet.at, LossPlace::Link(link), packet, cause);
        }
    }

    /// Packets that middleboxes and broadcasts hold.
    fn held(&self) -> usize {
        self.held_in_nodes() + self.media.iter().map(SharedMedium::held).sum::<usize>()
    }

    fn held_in_nodes(&self) -> usize {
        self.nodes.iter().map(NodeState::held).sum()
    }

    #[cold]
    fn lose(&mut self, at: Time, place: LossPlace, packet: Packet, cause: Cause) {
        self.ledger.lost += 1;
        if self.observers.is_any {
            self.see_lost(at, place, &packet, cause);
        }
        self.ports.on_loss(self.now, place, cause, &packet, &mut self.bodies);
        self.bodies.release(&packet);
        let Self { now, drops, traffic, recorder, routes, scenario, .. } = self;
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

/// Inserts the middleboxes for real packets, each after the middlebox that it accompanies.
fn stand_beside(scenario: &Scenario, seed: u64, real: &Arc<dyn RealPackets>, boxes: &mut [Vec<AnyMiddlebox>]) {
    for node in NodeId::all(boxes.len()) {
        let spec = &scenario.nodes[node];
        for (position, config) in spec.middleboxes.iter().enumerate().rev() {
            let component = format!("node/{}/{position}", spec.name);
            if let Some(function) = real.beside(config, node, seed, &component) {
                boxes[node].insert(position + 1, AnyMiddlebox::Own(Own(function)));
            }
        }
    }
}

/// Builds the links. `acts` tests whether a node has middleboxes; `traced`: packets have trails.
fn links(scenario: &Scenario, seed: u64, acts: impl Fn(NodeId) -> bool, traced: bool) -> Vec<LazyLink> {
    let (end, mut absences) = (Time::ZERO + scenario.duration, scenario.timeline.absences());
    let links = LinkId::all(scenario.links.len()).zip(&scenario.links).zip(processing(scenario));
    let link = |((id, spec), time): ((LinkId, &crate::spec::Link), _)| {
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

fn node_states(scenario: &Scenario, boxes: Vec<Vec<AnyMiddlebox>>) -> Vec<NodeState> {
    let mut out = vec![Vec::new(); scenario.nodes.len()];
    for (id, link) in LinkId::all(scenario.links.len()).zip(&scenario.links) {
        // A link in a medium has no departures one by one.
        if link.terminal.is_none() && boxes[link.from].iter().any(Middlebox::watches_queues) {
            out[link.from].push(id);
        }
    }
    boxes.into_iter().zip(out).map(|(boxes, out)| NodeState::new(boxes, out)).collect()
}

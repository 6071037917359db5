//! A running network: links, nodes, traffic and the schedule, from a [`Scenario`]. It is a value: networks in one thread are
//! independent.

mod boxes;
mod broadcast;
mod carriers;
mod changes;
mod copies;
mod critical;
mod drive;
mod ends;
mod far_ends;
mod horizon;
mod inbox;
mod links;
mod media;
mod motion;
mod moves;
mod mtu;
mod nodes;
mod observers;
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

use crate::engine::Source;
use crate::link::LazyLink;
use crate::record::{RunResult, StopReason};
use bentpipe_model::ids::{FlowId, LinkId, NodeId};
use bentpipe_model::middlebox::{AnyMiddlebox, Middlebox, MiddleboxConfig, Own};
use bentpipe_model::packet::UNROUTED;
use bentpipe_model::spec::{Change, Scenario, Waiting};
use bentpipe_units::Time;
pub(crate) use boxes::introduce;
#[cfg(test)]
pub(crate) use broadcast::queue_of;
#[cfg(test)]
pub(crate) use carriers::{on_forward, OnForward};
use changes::Changes;
use copies::copying_nodes;
#[cfg(test)]
pub(crate) use copies::Broadcast;
use ends::Endpoints;
pub use horizon::Ahead;
use inbox::Inbox;
use links::Links;
#[cfg(test)]
pub(crate) use media::{forward_side, planned, ForwardSide};
use motion::Motion;
pub(crate) use mtu::guards;
pub use ports::{Delivered, Lost, PortId, Refused, Taken};
pub use real::RealPackets;
pub(crate) use results::{add_media, assemble, names, notes_of_functions, Ledger, RunEnd};
#[cfg(test)]
pub(crate) use results::{FramesSent, MediumGrants};
use std::sync::Arc;
pub use trouble::{Failure, Trouble};
pub use witness::{ends, Fate, Sighting, Witness};

/// A network of a scenario at an instant of its run.
#[derive(Debug)]
pub struct Network {
    motion: Motion,
    /// Changes that are still due.
    changes: Changes,
    scenario: Arc<Scenario>,
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
        let resets = |node: NodeId| {
            given.contains(&node) || scenario.nodes[node].middleboxes.iter().any(MiddleboxConfig::resets)
        };
        let acting: Vec<bool> =
            NodeId::all(boxes.len()).map(|node| !boxes[node].is_empty() || copying.contains(&node)).collect();
        let motion = Motion::of(scenario, seed, boxes, |node| acting[node], resets, real.is_some());
        let mut network = Self { motion, changes: Changes::of(scenario), scenario: Arc::clone(scenario) };
        if network.motion.ends.recorder.wants_levels() {
            network.motion.links.all.iter_mut().for_each(LazyLink::observe_levels);
        }
        network.change();
        let motion = &mut network.motion;
        motion.media.arm(&mut motion.schedule);
        motion.carry_out_tasks(Time::ZERO);
        for flow in FlowId::all(scenario.flows.len()) {
            motion.ends.rearm_flow(flow, &mut motion.schedule);
        }
        motion.review(Time::ZERO);
        motion.schedule.set(Source::Sampler, motion.ends.recorder.next_wakeup());
        network
    }

    /// Handles up to `events` events. Returns whether the run is over.
    pub fn run(&mut self, events: u64) -> bool {
        for _ in 0..events {
            if self.motion.stop.is_some() {
                break;
            }
            let (at, source) = self.motion.schedule.next();
            if at > self.motion.bounds.gate {
                self.pass_gate(at, self.motion.bounds.end);
                continue;
            }
            debug_assert!(at >= self.motion.now, "time ran backwards");
            self.motion.step(at, source);
        }
        self.motion.stop.is_some()
    }

    /// Reviews the horizon, if the next event, at `at`, waits for no more than that. Otherwise advances to the next change and
    /// carries it out; or advances to `until`, and ends the run if that is its end.
    #[cold]
    fn pass_gate(&mut self, at: Time, until: Time) {
        if at <= self.motion.bounds.last_before_change() {
            return self.motion.review(at);
        }
        let change = self.changes.next_at();
        if change <= until {
            self.motion.now = change;
            self.change();
        } else {
            self.motion.now = until;
            if until == self.motion.bounds.end {
                self.motion.stop.get_or_insert(StopReason::TimeLimit);
            }
        }
    }

    /// Carries out all changes that are due.
    #[cold]
    fn change(&mut self) {
        while let Some(change) = self.changes.take_due(self.motion.now) {
            self.motion.bounds.expect_change(self.changes.next_at());
            let motion = &mut self.motion;
            for endpoint in motion.ends.traffic.tell_groups(motion.now, &change) {
                motion.ends.rearm_late(endpoint, &mut motion.schedule);
            }
            match change {
                Change::Install { path, route } => {
                    motion.routes.install(path, &route);
                    // The routes at the start of a run are no change.
                    let told = if motion.now == Time::ZERO {
                        None
                    } else {
                        motion.ends.traffic.change_lane(motion.now, path.lane())
                    };
                    if let Some(endpoint) = told {
                        motion.drive_any(motion.now, endpoint);
                    }
                }
                Change::Withdraw(path) => motion.routes.withdraw(path),
                Change::Down { link, waiting, .. } => self.take_away(link, waiting),
                // The link knew its absences from the start.
                Change::Up(_) => {}
            }
        }
        self.motion.bounds.expect_change(self.changes.next_at());
        self.motion.review(self.motion.now);
    }

    /// Takes a link away. Packets of its queue that are not lost leave from its node, or from the node that replaced it, by the
    /// present route of that node.
    fn take_away(&mut self, link: LinkId, waiting: Waiting) {
        let (motion, mut left) = (&mut self.motion, Vec::new());
        motion.links.all[link].take_away(motion.now, waiting, &mut motion.links.losses, &mut left);
        if let (Some(paths), true) = (&mut motion.observers.critical, waiting != Waiting::Kept) {
            paths.on_services(&self.scenario, link, motion.links.all[link].take_services());
            paths.on_absence(motion.now, link);
        }
        motion.count_losses(link);
        let (from, to) = (self.scenario.links[link].from, self.scenario.links[link].to);
        for mut packet in left {
            let successor = motion.routes.node_before(packet.path(), to).filter(|_| waiting == Waiting::Moved);
            let node = successor.unwrap_or(from);
            packet.next = UNROUTED;
            motion.leave_node(node, packet);
            motion.rearm_node(node);
        }
        motion.rearm_node(from);
    }

    /// Stops the run. [`finish`](Self::finish) returns the results so far.
    pub fn interrupt(&mut self) {
        self.motion.stop.get_or_insert(StopReason::Interrupted);
    }

    /// The present instant of the run.
    pub fn now(&self) -> Time {
        self.motion.now
    }

    /// The share of the run that is done, 0 to 1, by simulated time.
    pub fn progress(&self) -> f64 {
        if self.motion.stop.is_some() {
            return 1.0;
        }
        self.motion.now.as_secs_f64() / self.motion.bounds.end.as_secs_f64()
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
        if let Some(failure) = self.motion.boxes.trouble() {
            return Err(failure.clone());
        }
        self.motion.advance_links();
        let Motion { now, stop, links, boxes, media, ends, routes, drops, mut ledger, observers, .. } = self.motion;
        let Links { all: mut links, mut inboxes, .. } = links;
        let Endpoints { traffic, bodies, recorder } = ends;
        for packet in inboxes.iter_mut().flat_map(Inbox::clear) {
            links[routes.before(&packet)].put_back(&packet);
        }
        let on_links: usize = links.iter().map(LazyLink::len).sum();
        let of_links = links.iter().map(|link| link.at_end(now));
        ledger.set_in_flight(boxes.held(), of_links.chain(media.broadcasts_at_end(now)));
        let Ledger { sent, delivered, lost, in_flight, .. } = ledger;
        assert_eq!(sent, delivered + lost + in_flight, "packets are conserved, at {now}, {}", self.scenario.title);
        assert!(
            bodies.in_use() <= on_links + boxes.held() + media.held() + traffic.entering(),
            "every ended packet returns its body"
        );
        let end = RunEnd { stop: stop.unwrap_or(StopReason::Interrupted), at: now, ledger };
        let mut result = assemble(&self.scenario, end, &traffic, &links, &drops, recorder);
        add_media(&mut result, &self.scenario, &media.grants(&links, now), now);
        if let Some(mut paths) = observers.critical {
            paths.end_all(&self.scenario, &traffic);
            result.series.push((critical::SERIES.to_owned(), paths.table(&names(&self.scenario))));
        }
        result.notes.extend(notes_of_functions(&self.scenario, boxes.all()));
        Ok(result)
    }

    /// The results up to now, as if the run were [interrupted](Self::interrupt) here.
    ///
    /// # Errors
    /// A middlebox broke its contract.
    pub fn so_far(&self) -> Result<RunResult, Failure> {
        so_far::so_far(self)
    }

    /// Sets the witness of all packets from now on. Events then occur in order of time. No result changes.
    pub fn watch(&mut self, witness: Box<dyn Witness>) {
        self.motion.observers.watch(witness);
        self.motion.review(self.motion.now);
    }

    /// Returns the flows with state in middleboxes, plus blocks of packets in the pool; packets that middleboxes hold.
    pub fn kept_by_functions(&self) -> (usize, usize) {
        let flows: usize = self.motion.boxes.all().flatten().map(Middlebox::flows).sum();
        (flows + self.motion.ends.bodies.blocks(), self.motion.boxes.held())
    }

    /// Returns the work ahead of time so far.
    pub fn ahead(&self) -> Ahead {
        self.motion.bounds.history(self.motion.now)
    }

    /// The instant up to which links and endpoints may run ahead now.
    #[cfg(test)]
    pub(crate) fn runs_ahead_until(&self) -> Time {
        self.motion.bounds.horizon
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

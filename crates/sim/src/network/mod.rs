//! A network in motion: links, nodes, traffic and the schedule, from a [`Scenario`]. It is a value: two of them in one
//! thread are independent.

mod ends;
mod links;
mod nodes;
mod results;

use crate::dictionary::Cause;
use crate::engine::{Schedule, Source};
use crate::ids::{FlowId, LinkId};
use crate::link::{processing, LazyLink, Losses, Processing};
use crate::middlebox::{AnyMiddlebox, Middlebox, Outbox};
use crate::packet::{Bodies, Packet};
use crate::record::{Drops, LossPlace, Recorder, RunResult, StopReason};
use crate::spec::Scenario;
use crate::traffic::Traffic;
use bentpipe_units::Time;
use links::{far_ends, FarEnd};
pub(crate) use results::{assemble, Ledger, RunEnd};

/// A network of a scenario at an instant of its run.
#[derive(Debug)]
pub struct Network {
    schedule: Schedule,
    now: Time,
    end: Time,
    stop: Option<StopReason>,
    /// See [`Network::update_horizon`].
    horizon: Time,

    links: Vec<LazyLink>,
    /// What each link leads to.
    far_ends: Vec<FarEnd>,
    /// Each node's middleboxes, in order.
    nodes: Vec<Vec<AnyMiddlebox>>,
    traffic: Traffic,

    /// The routes of all flows one after the other, as links, each with [`HOST`] at its end; packets carry an
    /// index into this.
    hops: Vec<u32>,

    bodies: Bodies,
    losses: Losses,
    outbox: Outbox,
    drops: Drops,
    ledger: Ledger,
    recorder: Recorder,
    scenario: Scenario,
}

/// The hop after the last link.
const HOST: u32 = u32::MAX;

impl Network {
    /// The network of `scenario` at the start of time, with all random streams of `seed`.
    pub fn build(scenario: &Scenario, seed: u64) -> Self {
        let mut hops = Vec::new();
        let mut routes = Vec::new();
        for flow in &scenario.flows {
            for route in [&flow.route, &flow.reverse_route] {
                routes.push(hops.len() as u32);
                hops.extend(route.iter().map(|link| link.index() as u32));
                hops.push(HOST);
            }
        }
        let traffic = Traffic::new(scenario, seed, |path| routes[path], true);
        let end = Time::ZERO + scenario.duration;
        let mut network = Self {
            schedule: Schedule::new(
                scenario.links.iter().map(|link| link.name.as_str()),
                scenario.nodes.iter().map(|node| (node.name.as_str(), !node.middleboxes.is_empty())),
                scenario.flows.iter().zip(&traffic.flows).map(|(flow, state)| (flow.name.as_str(), state.can_wake())),
                traffic.hosts.slots(),
            ),
            now: Time::ZERO,
            end,
            stop: None,
            horizon: Time::ZERO,
            links: scenario
                .links
                .iter()
                .zip(processing(scenario))
                .map(|(link, time)| LazyLink::new(link, seed, end).toward_host(Processing::new(time, seed, &link.name)))
                .collect(),
            far_ends: far_ends(scenario),
            nodes: scenario
                .nodes
                .iter()
                .map(|node| (0..).zip(&node.middleboxes).map(|(i, m)| m.build(seed, &node.name, i)).collect())
                .collect(),
            traffic,
            hops,
            bodies: Bodies::default(),
            losses: Losses::new(),
            outbox: Outbox::default(),
            drops: Drops::default(),
            ledger: Ledger::default(),
            recorder: Recorder::new(&scenario.record, scenario.flows.len(), scenario.links.len()),
            scenario: scenario.clone(),
        };
        network.carry_out_tasks();
        for flow in FlowId::all(network.traffic.flows.len()) {
            network.rearm_flow(flow);
        }
        network.update_horizon();
        network.schedule.set(Source::Sampler, network.recorder.next_wakeup());
        network
    }

    /// Handle up to `events` events. True: the run is over.
    pub fn run(&mut self, events: u64) -> bool {
        for _ in 0..events {
            if self.stop.is_some() {
                break;
            }
            let (at, source) = self.schedule.next();
            if at > self.end {
                self.now = self.end;
                self.stop = Some(StopReason::TimeLimit);
                break;
            }
            debug_assert!(at >= self.now, "time ran backwards");
            self.now = at;
            self.step(source);
        }
        self.stop.is_some()
    }

    /// Stop here: [`finish`](Self::finish) gives what there is so far.
    pub fn interrupt(&mut self) {
        self.stop.get_or_insert(StopReason::Interrupted);
    }

    /// The instant up to which the run has come.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The share of the run that is done, 0 to 1, by simulated time.
    pub fn progress(&self) -> f64 {
        if self.stop.is_some() {
            return 1.0;
        }
        self.now.as_secs_f64() / self.end.as_secs_f64()
    }

    /// The results.
    ///
    /// # Panics
    ///
    /// If packets were not conserved, which is a defect of the engine.
    pub fn finish(mut self) -> RunResult {
        let now = self.now;
        for link in LinkId::all(self.links.len()) {
            self.links[link].advance(now, &mut self.losses);
            self.count_losses(link);
        }
        let on_links: usize = self.links.iter().map(LazyLink::len).sum();
        let held: usize = self.nodes.iter().flatten().map(Middlebox::held).sum();
        self.ledger.in_flight = (on_links + held) as u64;
        let Ledger { sent, delivered, lost, in_flight } = self.ledger;
        assert_eq!(sent, delivered + lost + in_flight, "packets are conserved, at {now}, {}", self.scenario.title);
        assert!(self.bodies.in_use() <= on_links + held, "every ended packet returns its body");
        let end = RunEnd { stop: self.stop.unwrap_or(StopReason::Interrupted), at: now, ledger: self.ledger };
        assemble(&self.scenario, end, &self.traffic, &self.links, &self.drops, self.recorder)
    }

    #[inline(always)]
    fn step(&mut self, source: Source) {
        match source {
            Source::Link(link) => self.deliver(link),
            Source::Node(node) => self.wake_node(node),
            Source::Flow(flow) => self.wake_flow(flow),
            Source::Endpoint(endpoint) => self.wake_endpoint(endpoint),
            Source::Sampler => self.sample(),
        }
    }

    /// How far links may be ahead of time: up to the next sample, and up to the end of the run where that is known, that
    /// is once a flow is established that neither completes nor gives up.
    fn update_horizon(&mut self) {
        self.horizon = if self.traffic.is_endless { self.end.min(self.recorder.next_wakeup()) } else { Time::ZERO };
    }

    // Apart from the loop over events, which it would cost registers.
    #[inline(never)]
    fn sample(&mut self) {
        for link in LinkId::all(self.links.len()) {
            self.links[link].advance(self.now, &mut self.losses);
            self.count_losses(link);
        }
        let links = |series| self.links.iter().map(move |link| link.sample(series));
        self.recorder.on_sample(self.now, |series| self.traffic.samples(series), links);
        self.update_horizon();
        self.schedule.set(Source::Sampler, self.recorder.next_wakeup());
    }

    fn count_losses(&mut self, link: LinkId) {
        while let Some((packet, cause)) = self.losses.pop() {
            self.lose(LossPlace::Link(link), packet, cause);
        }
    }

    #[cold]
    fn lose(&mut self, place: LossPlace, packet: Packet, cause: Cause) {
        self.ledger.lost += 1;
        self.drops.add(place, packet.flow(), cause, packet.size());
        self.bodies.release(&packet);
        self.traffic.on_loss(&packet);
    }
}

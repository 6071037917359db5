//! The executable specification of the engine: a heap with one event for each end of a sending, each arrival, each
//! change of a timer. Slow and plain. It shares
//! connections, applications, middleboxes and the recorder with [`Network`](crate::Network),
//! but neither the schedule nor the links.

use crate::dictionary::{Cause, EventKind};
use crate::ids::{EndpointId, FlowId, LinkId, NodeId};
use crate::link::{naive::NaiveLink, processing, LazyLink, Losses, Processing};
use crate::middlebox::{Action, AnyMiddlebox, Middlebox, Outbox, Side};
use crate::network::{assemble, Ledger, RunEnd};
use crate::packet::{Bodies, Packet};
use crate::record::{Drops, LossPlace, Recorder, RunResult, StopReason};
use crate::spec::{NodeKind, Scenario};
use crate::traffic::{event_kind, event_of_segment, Task, Traffic};
use bentpipe_units::{Seq, Stream, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens, in order of rank. Between equal tie-breakers flows come before ends of connections, and what has the
/// smaller index first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Sent(LinkId),
    Arrival(LinkId),
    Node(NodeId),
    Flow(FlowId),
    End(EndpointId),
    Sample,
}

impl Happening {
    /// The first has none: a sending that starts precedes all that happens at the same instant.
    fn rank(self) -> u32 {
        match self {
            Self::Sent(_) => 0,
            Self::Arrival(_) => 1,
            Self::Node(_) => 2,
            Self::Flow(_) | Self::End(_) => 3,
            Self::Sample => 4,
        }
    }
}

/// (instant, rank, tie-breaker, what happens, order in which it was entered).
type Entry = Reverse<(Time, u32, u64, Happening, u64)>;

/// Runs `scenario` to its end.
pub(crate) fn run(scenario: &Scenario, seed: u64) -> RunResult {
    let mut reference = Reference::new(scenario, seed);
    let end = Time::ZERO + scenario.duration;
    let stop = loop {
        match reference.heap.peek() {
            Some(&Reverse((at, _, _, happening, _))) if at <= end => {
                reference.now = at;
                reference.heap.pop();
                reference.step(happening);
            }
            _ => {
                reference.now = end;
                break StopReason::TimeLimit;
            }
        }
        if reference.traffic.unfinished == 0 {
            break StopReason::Completed;
        }
    };
    reference.finish(stop)
}

struct Reference<'a> {
    scenario: &'a Scenario,
    heap: BinaryHeap<Entry>,
    entered: u64,
    now: Time,
    links: Vec<NaiveLink>,
    nodes: Vec<Vec<AnyMiddlebox>>,
    traffic: Traffic,
    bodies: Bodies,
    drops: Drops,
    ledger: Ledger,
    recorder: Recorder,
}

impl<'a> Reference<'a> {
    fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let build_node = |node: &crate::spec::Node| {
            (0..).zip(&node.middleboxes).map(|(i, config)| config.build(seed, &node.name, i)).collect()
        };
        let mut reference = Self {
            scenario,
            heap: BinaryHeap::new(),
            entered: 0,
            now: Time::ZERO,
            links: scenario
                .links
                .iter()
                .zip(processing(scenario))
                .map(|(link, time)| {
                    let processing = Processing::new(time, seed, &link.name);
                    NaiveLink::new(link, seed, Time::ZERO + scenario.duration).toward_host(processing)
                })
                .collect(),
            nodes: scenario.nodes.iter().map(build_node).collect(),
            // A slot for each session: the reuse of slots must not change a result.
            traffic: Traffic::new(scenario, seed, |_| 0, false),
            bodies: Bodies::default(),
            drops: Drops::default(),
            ledger: Ledger::default(),
            recorder: Recorder::new(&scenario.record, scenario.flows.len(), scenario.links.len()),
        };
        FlowId::all(scenario.flows.len()).for_each(|flow| reference.enter_flow(flow));
        reference.carry_out_tasks();
        reference.enter(reference.recorder.next_wakeup(), Happening::Sample);
        reference
    }

    fn enter(&mut self, at: Time, happening: Happening) {
        let mut ordinal = 0;
        let (name, purpose) = match happening {
            Happening::Sent(link) | Happening::Arrival(link) => (&self.scenario.links[link].name, "link"),
            Happening::Node(node) => (&self.scenario.nodes[node].name, "node"),
            Happening::Flow(flow) => (&self.scenario.flows[flow].name, "flow"),
            Happening::End(end) => {
                let session = self.traffic.session(end.slot());
                ordinal = session.ordinal;
                (&self.scenario.flows[session.flow].name, ["sender", "receiver"][end.side()])
            }
            Happening::Sample => (&self.scenario.title, "sampler"),
        };
        if at != Time::NEVER {
            let tie = tie_breaker(name, purpose, ordinal, at);
            self.heap.push(Reverse((at, happening.rank(), tie, happening, self.entered)));
            self.entered += 1;
        }
    }

    fn step(&mut self, happening: Happening) {
        match happening {
            Happening::Sent(link) => {
                let mut losses = Losses::new();
                let (arrival, next) = self.links[link].finish_sending(self.now, &mut losses);
                self.enter(arrival, Happening::Arrival(link));
                self.enter(next.unwrap_or(Time::NEVER), Happening::Sent(link));
                self.lose_all(link, losses);
            }
            Happening::Arrival(link) => self.leave_link(link),
            Happening::Node(node) => {
                for position in 0..self.nodes[node].len() {
                    if self.nodes[node][position].next_wakeup() <= self.now {
                        let mut out = Outbox::default();
                        self.nodes[node][position].on_wakeup(self.now, &mut out);
                        self.carry_out(node, position, out);
                    }
                }
                self.rearm_node(node);
            }
            // Otherwise the deadline moved later, or was met.
            Happening::Flow(flow) if self.traffic.flows[flow].timer <= self.now => {
                self.traffic.wake_flow(self.now, flow);
                self.enter_flow(flow);
                self.carry_out_tasks();
            }
            Happening::End(end) if self.traffic.hosts[end].next_wakeup() <= self.now => {
                self.traffic.wake_endpoint(self.now, end);
                self.drive(end);
            }
            Happening::Flow(_) | Happening::End(_) => {}
            Happening::Sample => {
                let links = faces(&self.links, self.now);
                let links = |series| links.iter().map(move |link| link.sample(series));
                self.recorder.on_sample(self.now, |series| self.traffic.samples(series), links);
                self.enter(self.recorder.next_wakeup(), Happening::Sample);
            }
        }
    }

    fn leave_link(&mut self, link: LinkId) {
        let packet = self.links[link].deliver();
        let node = self.scenario.links[link].to;
        let must_be_whole = self.scenario.nodes[node].kind == NodeKind::Router || self.hop(&packet).is_none();
        if packet.is_truncated() {
            self.lose(LossPlace::Link(link), &packet, Cause::Outage);
        } else if packet.is_erased() {
            self.lose(LossPlace::Link(link), &packet, Cause::LinkLoss);
        } else if packet.is_corrupted() && must_be_whole {
            if self.hop(&packet).is_none() {
                self.traffic.on_corrupted(&packet);
            }
            self.lose(LossPlace::Node(node), &packet, Cause::BitError);
        } else {
            let last = self.nodes[node].len().wrapping_sub(1);
            self.pass(node, if packet.is_to_sender() { last } else { 0 }, packet);
            self.rearm_node(node);
        }
    }

    /// The packet's next link; none: it is at its host's node.
    fn hop(&self, packet: &Packet) -> Option<LinkId> {
        let flow = &self.scenario.flows[packet.flow()];
        let route = if packet.is_to_sender() { &flow.reverse_route } else { &flow.route };
        route.get(packet.next as usize).copied()
    }

    fn forward(&mut self, node: NodeId, mut packet: Packet) {
        let Some(link) = self.hop(&packet) else { return self.reach_host(node, packet) };
        packet.next += 1;
        let mut losses = Losses::new();
        let sent = self.links[link].offer(self.now, packet, &mut losses);
        self.enter(sent.unwrap_or(Time::NEVER), Happening::Sent(link));
        self.lose_all(link, losses);
    }

    fn reach_host(&mut self, node: NodeId, packet: Packet) {
        if packet.is_datagram() {
            self.ledger.delivered += 1;
            return self.traffic.on_datagram(self.now, &packet);
        }
        let endpoint = packet.endpoint();
        let host = &mut self.traffic.hosts[endpoint];
        if !host.is_listening() {
            return self.lose(LossPlace::Node(node), &packet, Cause::NoListener);
        }
        self.ledger.delivered += 1;
        let segment = packet.segment(&self.bodies);
        self.bodies.release(&packet);
        host.on_arrival(self.now, &segment);
        if host.sends_data {
            let flow = &mut self.traffic.flows[packet.flow()];
            host.conn.take_rtt().into_iter().for_each(|rtt| flow.rtts.record_span(rtt));
            let acked = host.conn.acked_bytes();
            if acked > 0 {
                self.note(packet.flow(), EventKind::Acked, acked);
            }
        }
        self.drive(endpoint);
    }

    fn transmit(&mut self, endpoint: EndpointId) {
        while let Some(segment) = self.traffic.hosts[endpoint].conn.poll_transmit(self.now) {
            let host = &mut self.traffic.hosts[endpoint];
            let (flow, is_receiver) = (host.flow, !endpoint.is_opener());
            let packet = host.send(self.now, &segment, &mut self.bodies);
            let offset = segment.data_seq().offset_near(Seq::new(1), host.conn.acked_bytes());
            if segment.len > 0 && host.sends_data {
                self.note(flow, event_of_segment(&segment), offset);
            }
            self.ledger.sent += 1;
            let ends = &self.scenario.flows[flow];
            self.forward(if is_receiver { ends.to } else { ends.from }, packet);
        }
    }

    fn carry_out_tasks(&mut self) {
        while let Some(task) = self.traffic.next_task() {
            match task {
                Task::Begin(slot) => {
                    for end in EndpointId::both(slot) {
                        self.enter_end(end);
                    }
                }
                Task::Drive(endpoint) => self.drive(endpoint),
                Task::Rearm(flow) => self.enter_flow(flow),
                Task::Send(flow, size) => {
                    self.ledger.sent += 1;
                    let ends = &self.scenario.flows[flow];
                    let packet = Packet::datagram(self.now, flow, size, 0).in_class(ends.class);
                    self.forward(ends.from, packet);
                }
            }
        }
    }

    fn enter_end(&mut self, endpoint: EndpointId) {
        let due = self.traffic.hosts[endpoint].next_wakeup();
        self.enter(due, Happening::End(endpoint));
    }

    fn enter_flow(&mut self, flow: FlowId) {
        self.enter(self.traffic.flows[flow].timer, Happening::Flow(flow));
    }

    fn drive(&mut self, endpoint: EndpointId) {
        self.transmit(endpoint);
        while let Some(event) = self.traffic.hosts[endpoint].conn.poll_event() {
            self.traffic.on_event(self.now, endpoint, event);
            let host = &self.traffic.hosts[endpoint];
            if host.sends_data {
                let flow = host.flow;
                event_kind(event, endpoint.is_opener())
                    .into_iter()
                    .for_each(|(kind, value)| self.note(flow, kind, value));
            }
            self.transmit(endpoint);
        }
        if self.traffic.hosts[endpoint].is_wait_over() {
            self.traffic.on_wait_over(self.now, endpoint, &mut self.recorder);
            self.transmit(endpoint);
        }
        self.traffic.hosts[endpoint].attend(self.now);
        if self.recorder.wants_flow_series && self.traffic.is_recorded(endpoint) {
            let host = &self.traffic.hosts[endpoint];
            self.recorder.on_sender(self.now, host.flow, |series| host.value_of(series));
        }
        self.carry_out_tasks();
        self.traffic.note_limit(self.now, endpoint);
        self.enter_end(endpoint);
    }

    fn note(&mut self, flow: FlowId, event: EventKind, value: u64) {
        if self.recorder.wants_events {
            self.recorder.on_event(self.now, flow, event, value);
        }
    }

    fn pass(&mut self, node: NodeId, position: usize, packet: Packet) {
        let Some(middlebox) = self.nodes[node].get_mut(position) else { return self.forward(node, packet) };
        let mut out = Outbox::default();
        middlebox.on_packet(self.now, Side::origin_of(&packet), packet, &mut out);
        self.carry_out(node, position, out);
    }

    fn carry_out(&mut self, node: NodeId, position: usize, mut out: Outbox) {
        for action in out.take() {
            let packet = match action {
                Action::Forward(packet) => packet,
                Action::Duplicate(packet) => {
                    self.ledger.sent += 1;
                    self.traffic.on_copy(&packet);
                    self.bodies.copy_of(&packet)
                }
                Action::Drop(packet, cause) => {
                    self.lose(LossPlace::Node(node), &packet, cause);
                    continue;
                }
            };
            let next = if packet.is_to_sender() { position.wrapping_sub(1) } else { position + 1 };
            self.pass(node, next, packet);
        }
    }

    fn rearm_node(&mut self, node: NodeId) {
        let due = self.nodes[node].iter().map(Middlebox::next_wakeup).min().unwrap_or(Time::NEVER);
        self.enter(due, Happening::Node(node));
    }

    fn lose_all(&mut self, link: LinkId, losses: Losses) {
        losses.iter().for_each(|(packet, cause)| self.lose(LossPlace::Link(link), packet, *cause));
    }

    fn lose(&mut self, place: LossPlace, packet: &Packet, cause: Cause) {
        self.ledger.lost += 1;
        self.drops.add(place, packet.flow(), cause, packet.size());
        self.bodies.release(packet);
        self.traffic.on_loss(packet);
    }

    fn finish(mut self, stop: StopReason) -> RunResult {
        let held: usize = self.nodes.iter().flatten().map(Middlebox::held).sum();
        self.ledger.in_flight = (self.links.iter().map(NaiveLink::len).sum::<usize>() + held) as u64;
        let end = RunEnd { stop, at: self.now, ledger: self.ledger };
        assemble(self.scenario, end, &self.traffic, &faces(&self.links, self.now), &self.drops, self.recorder)
    }
}

fn faces(links: &[NaiveLink], now: Time) -> Vec<LazyLink> {
    links.iter().map(|link| link.face(now)).collect()
}

/// The tie-breaker of sources of one rank at one instant, as `engine` and `traffic` define it.
fn tie_breaker(name: &str, purpose: &str, ordinal: u64, at: Time) -> u64 {
    let mut stream = Stream::new(0, name, purpose);
    let salt = if ordinal == 0 { stream.key()[0] } else { stream.at(ordinal) } & 0xffff_ffff;
    let x = (at.as_ps() ^ salt << 16).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ x >> 29).wrapping_mul(0x94d0_49bb_1331_11eb) >> 34
}

//! The executable specification of the engine: a heap with one event for each end of a sending, each arrival, each
//! change of a timer. Slow and plain. It shares connections, middleboxes and the recorder with [`Network`](crate::Network),
//! but neither the schedule nor the links.

use crate::host::Host;
use crate::link::{naive::NaiveLink, Link, Losses};
use crate::middlebox::{Action, AnyMiddlebox, Middlebox, Outbox, Side};
use crate::packet::{Bodies, Packet};
use crate::record::{assemble, Cause, Drops, End, Ledger, Place, Recorder, RunResult, StopReason};
use crate::scenario::{NodeKind, Scenario};
use bentpipe_tcp::Event;
use bentpipe_units::{Seq, Stream, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Declared in order of rank. The first has none: a sending that starts precedes all that happens at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Sent,
    Arrival,
    Node,
    Endpoint,
    Sample,
}

/// (instant, rank, lot, index, order in which it was entered).
type Entry = Reverse<(Time, Kind, u64, usize, u64)>;

/// Runs `scenario` to its end.
pub(crate) fn run(scenario: &Scenario, seed: u64) -> RunResult {
    let mut reference = Reference::new(scenario, seed);
    let end = Time::ZERO + scenario.duration;
    let stop = loop {
        match reference.heap.peek() {
            Some(Reverse((at, kind, _, index, _))) if *at <= end => {
                let (kind, index) = (*kind, *index);
                reference.now = *at;
                reference.heap.pop();
                reference.step(kind, index);
            }
            _ => {
                reference.now = end;
                break StopReason::TimeLimit;
            }
        }
        if reference.unfinished == 0 {
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
    hosts: Vec<Host>,
    bodies: Bodies,
    drops: Drops,
    ledger: Ledger,
    unfinished: usize,
    recorder: Recorder,
}

impl<'a> Reference<'a> {
    fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let build_node = |node: &crate::scenario::Node| {
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
                .map(|link| NaiveLink::new(link, seed, Time::ZERO + scenario.duration))
                .collect(),
            nodes: scenario.nodes.iter().map(build_node).collect(),
            hosts: scenario.flows.iter().flat_map(|flow| Host::pair(flow, seed)).collect(),
            bodies: Bodies::default(),
            drops: Drops::new(),
            ledger: Ledger::default(),
            unfinished: scenario.flows.len(),
            recorder: Recorder::new(&scenario.record, scenario.flows.len(), scenario.links.len()),
        };
        for endpoint in 0..reference.hosts.len() {
            reference.enter(reference.hosts[endpoint].next_wakeup(), Kind::Endpoint, endpoint);
        }
        reference.enter(reference.recorder.next_wakeup(), Kind::Sample, 0);
        reference
    }

    fn enter(&mut self, at: Time, kind: Kind, index: usize) {
        let (name, purpose) = match kind {
            Kind::Sent | Kind::Arrival => (&self.scenario.links[index].name, "link"),
            Kind::Node => (&self.scenario.nodes[index].name, "node"),
            Kind::Endpoint => (&self.scenario.flows[index / 2].name, ["sender", "receiver"][index % 2]),
            Kind::Sample => (&self.scenario.title, "sampler"),
        };
        if at != Time::NEVER {
            self.heap.push(Reverse((at, kind, lot(name, purpose, at), index, self.entered)));
            self.entered += 1;
        }
    }

    fn step(&mut self, kind: Kind, index: usize) {
        match kind {
            Kind::Sent => {
                let mut losses = Losses::new();
                let (arrival, next) = self.links[index].finish_sending(self.now, &mut losses);
                self.enter(arrival, Kind::Arrival, index);
                self.enter(next.unwrap_or(Time::NEVER), Kind::Sent, index);
                self.lose_all(index, losses);
            }
            Kind::Arrival => self.leave_link(index),
            Kind::Node => {
                for position in 0..self.nodes[index].len() {
                    if self.nodes[index][position].next_wakeup() <= self.now {
                        let mut out = Outbox::default();
                        self.nodes[index][position].on_wakeup(self.now, &mut out);
                        self.carry_out(index, position, out);
                    }
                }
                self.rearm_node(index);
            }
            Kind::Endpoint if self.hosts[index].next_wakeup() <= self.now => {
                self.hosts[index].handle_wakeup(self.now);
                self.drive(index);
            }
            // The deadline moved later, or was met.
            Kind::Endpoint => {}
            Kind::Sample => {
                self.recorder.on_sample(self.now, &self.hosts, &faces(&self.links, self.now));
                self.enter(self.recorder.next_wakeup(), Kind::Sample, 0);
            }
        }
    }

    fn leave_link(&mut self, link: usize) {
        let packet = self.links[link].deliver();
        let node = self.scenario.links[link].to;
        let must_be_whole = self.scenario.nodes[node].kind == NodeKind::Router || self.hop(&packet).is_none();
        if packet.is_cut() {
            self.lose(Place::Link(link), &packet, Cause::Outage);
        } else if packet.is_lost() {
            self.lose(Place::Link(link), &packet, Cause::LinkLoss);
        } else if packet.is_corrupted() && must_be_whole {
            self.lose(Place::Node(node), &packet, Cause::BitError);
        } else {
            let last = self.nodes[node].len().wrapping_sub(1);
            self.pass(node, if packet.is_to_sender() { last } else { 0 }, packet);
            self.rearm_node(node);
        }
    }

    /// The packet's next link; none: it is at its host's node.
    fn hop(&self, packet: &Packet) -> Option<usize> {
        let flow = &self.scenario.flows[packet.flow as usize];
        let route = if packet.is_to_sender() { &flow.reverse_route } else { &flow.route };
        route.get(packet.next as usize).copied()
    }

    fn forward(&mut self, node: usize, mut packet: Packet) {
        let Some(link) = self.hop(&packet) else { return self.reach_host(node, packet) };
        packet.next += 1;
        let mut losses = Losses::new();
        let sent = self.links[link].offer(self.now, packet, &mut losses);
        self.enter(sent.unwrap_or(Time::NEVER), Kind::Sent, link);
        self.lose_all(link, losses);
    }

    fn reach_host(&mut self, node: usize, packet: Packet) {
        let endpoint = packet.endpoint();
        let host = &mut self.hosts[endpoint];
        if !host.is_listening() {
            return self.lose(Place::Node(node), &packet, Cause::NoListener);
        }
        self.ledger.delivered += 1;
        let segment = packet.segment(&self.bodies);
        self.bodies.release(&packet);
        let needless = host.conn.counters().needless_segments;
        host.conn.handle_segment(self.now, &segment);
        host.needless += u64::from(segment.is_retransmission) * (host.conn.counters().needless_segments - needless);
        if packet.is_to_sender() {
            host.conn.take_rtt().into_iter().for_each(|rtt| host.rtts.record_span(rtt));
            let acked = host.conn.acked_bytes();
            if acked > 0 {
                self.note(packet.flow as usize, "acked", acked);
            }
        }
        self.drive(endpoint);
    }

    fn transmit(&mut self, endpoint: usize) {
        let (flow, is_receiver) = (endpoint / 2, endpoint % 2 == 1);
        while let Some(segment) = self.hosts[endpoint].conn.poll_transmit(self.now) {
            let packet = Packet::new(&segment, flow as u32, is_receiver, 0, &mut self.bodies);
            let packet = packet.in_class(self.scenario.flows[flow].class);
            let host = &mut self.hosts[endpoint];
            host.first_sent.get_or_insert(self.now);
            host.sent_wire_bytes += packet.size();
            let offset = segment.data_seq().offset_near(Seq::new(1), host.conn.acked_bytes());
            if segment.len > 0 && !is_receiver {
                self.note(flow, if segment.is_retransmission { "retransmission" } else { "sent" }, offset);
            }
            self.ledger.sent += 1;
            let ends = &self.scenario.flows[flow];
            self.forward(if is_receiver { ends.to } else { ends.from }, packet);
        }
    }

    fn drive(&mut self, endpoint: usize) {
        let (flow, is_receiver) = (endpoint / 2, endpoint % 2 == 1);
        self.transmit(endpoint);
        while let Some(event) = self.hosts[endpoint].conn.poll_event() {
            self.hosts[endpoint].on_event(event);
            if !is_receiver {
                self.on_sender_event(endpoint, event);
            }
            self.transmit(endpoint);
        }
        self.note_completion(endpoint);
        if !is_receiver && self.recorder.wants_flow_series {
            self.recorder.on_sender(self.now, flow, &self.hosts[endpoint].conn);
        }
        self.enter(self.hosts[endpoint].next_wakeup(), Kind::Endpoint, endpoint);
    }

    fn on_sender_event(&mut self, endpoint: usize, event: Event) {
        let (name, value) = match event {
            Event::Established => ("established", 0),
            Event::FastRetransmit(offset) => ("fast_retransmit", offset),
            Event::RecoveryExit(offset) => ("recovery_exit", offset),
            Event::SlowStartExit(cwnd) => ("slow_start_exit", cwnd),
            Event::Timeout(offset) => ("timeout", offset),
            Event::Undone(offset) => ("undone", offset),
            Event::MarkReduction(offset) => ("mark_reduction", offset),
            Event::ZeroWindow(offset) => ("zero_window", offset),
            Event::Aborted(offset) => ("aborted", offset),
            Event::PeerFinished | Event::Closed => return,
        };
        if name == "aborted" && self.hosts[endpoint].completed.is_none() {
            self.unfinished -= 1;
        }
        self.note(endpoint / 2, name, value);
    }

    fn note_completion(&mut self, endpoint: usize) {
        let is_sender = endpoint % 2 == 0;
        let host = &mut self.hosts[endpoint];
        let bytes = if is_sender { host.conn.acked_bytes() } else { host.conn.counters().delivered_bytes };
        let is_open = host.is_started() && (!is_sender || host.first_sent.is_some());
        let is_complete = bytes >= host.size && (host.size > 0 || host.conn.has_been_established());
        if host.completed.is_some() || !is_open || !is_complete {
            return;
        }
        host.completed = Some(self.now);
        if is_sender {
            self.note(endpoint / 2, "completed", bytes);
            self.unfinished -= usize::from(!self.hosts[endpoint].is_aborted);
        }
    }

    fn note(&mut self, flow: usize, event: &'static str, value: u64) {
        if self.recorder.wants_events {
            self.recorder.on_event(self.now, flow, event, value);
        }
    }

    fn pass(&mut self, node: usize, position: usize, packet: Packet) {
        let Some(middlebox) = self.nodes[node].get_mut(position) else { return self.forward(node, packet) };
        let mut out = Outbox::default();
        middlebox.on_packet(self.now, Side::origin_of(&packet), packet, &mut out);
        self.carry_out(node, position, out);
    }

    fn carry_out(&mut self, node: usize, position: usize, mut out: Outbox) {
        for action in out.take() {
            let packet = match action {
                Action::Forward(packet) => packet,
                Action::Duplicate(packet) => {
                    self.ledger.sent += 1;
                    self.bodies.copy_of(&packet)
                }
                Action::Drop(packet, cause) => {
                    self.lose(Place::Node(node), &packet, cause);
                    continue;
                }
            };
            let next = if packet.is_to_sender() { position.wrapping_sub(1) } else { position + 1 };
            self.pass(node, next, packet);
        }
    }

    fn rearm_node(&mut self, node: usize) {
        let due = self.nodes[node].iter().map(Middlebox::next_wakeup).min().unwrap_or(Time::NEVER);
        self.enter(due, Kind::Node, node);
    }

    fn lose_all(&mut self, link: usize, losses: Losses) {
        losses.iter().for_each(|(packet, cause)| self.lose(Place::Link(link), packet, *cause));
    }

    fn lose(&mut self, place: Place, packet: &Packet, cause: Cause) {
        self.ledger.lost += 1;
        let lost = self.drops.entry((place, packet.flow, cause)).or_default();
        *lost = (lost.0 + 1, lost.1 + packet.size());
        self.bodies.release(packet);
    }

    fn finish(mut self, stop: StopReason) -> RunResult {
        let held: usize = self.nodes.iter().flatten().map(Middlebox::held).sum();
        self.ledger.in_flight = (self.links.iter().map(NaiveLink::len).sum::<usize>() + held) as u64;
        let end = End { stop, at: self.now, ledger: self.ledger };
        assemble(self.scenario, end, &self.hosts, &faces(&self.links, self.now), &self.drops, self.recorder)
    }
}

fn faces(links: &[NaiveLink], now: Time) -> Vec<Link> {
    links.iter().map(|link| link.face(now)).collect()
}

/// What decides between sources of one rank at one instant, as `engine` defines it.
fn lot(name: &str, purpose: &str, at: Time) -> u64 {
    let salt = Stream::new(0, name, purpose).key()[0] & 0xffff_ffff;
    let x = (at.as_ps() ^ salt << 16).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ x >> 29).wrapping_mul(0x94d0_49bb_1331_11eb) >> 34
}

//! A network in motion: links, nodes, hosts and the schedule, from a [`Scenario`]. It is a value: two of them in one
//! thread do not know of each other.

use crate::engine::{Schedule, Source};
use crate::host::Host;
use crate::link::{Link, Losses};
use crate::middlebox::{Action, AnyMiddlebox, Middlebox, Outbox, Side};
use crate::packet::{Bodies, Packet};
use crate::record::{assemble, Cause, Drops, End, Ledger, Place, Recorder, RunResult, StopReason};
use crate::scenario::{NodeKind, Scenario};
use bentpipe_tcp::{Event, Segment};
use bentpipe_units::{Seq, Time};

/// See the module.
#[derive(Debug)]
pub struct Network {
    schedule: Schedule,
    now: Time,
    end: Time,
    stop: Option<StopReason>,
    /// See [`Network::update_horizon`].
    horizon: Time,
    is_endless: bool,

    links: Vec<Link>,
    /// What a link needs to know of the node that it leads to.
    arrivals: Vec<Arrival>,
    /// Each node's middleboxes, in order.
    nodes: Vec<Vec<AnyMiddlebox>>,
    hosts: Vec<Host>,

    /// The routes of all flows one after the other, as links, each with [`HOST`] at its end; packets carry an
    /// index into this.
    hops: Vec<u32>,
    /// Where each endpoint's route begins.
    routes: Vec<u32>,

    bodies: Bodies,
    losses: Losses,
    outbox: Outbox,
    drops: Drops,
    ledger: Ledger,
    /// Transfers that have neither completed nor failed; greedy flows count for ever.
    unfinished: usize,
    recorder: Recorder,
    scenario: Scenario,
}

/// The hop after the last link.
const HOST: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Arrival {
    node: u32,
    drops_corrupted: bool,
    has_middleboxes: bool,
    /// Every packet goes on to a link that only this one feeds.
    relays: bool,
}

impl Network {
    /// The network of `scenario` at the start of time, with all random streams of `seed`.
    pub fn build(scenario: &Scenario, seed: u64) -> Self {
        let mut hops = Vec::new();
        let mut routes = Vec::new();
        for flow in &scenario.flows {
            for route in [&flow.route, &flow.reverse_route] {
                routes.push(hops.len() as u32);
                hops.extend(route.iter().map(|&link| link as u32));
                hops.push(HOST);
            }
        }
        let hosts: Vec<Host> = scenario.flows.iter().flat_map(|flow| Host::pair(flow, seed)).collect();
        let end = Time::ZERO + scenario.duration;
        let mut network = Self {
            schedule: Schedule::new(
                scenario.links.iter().map(|link| link.name.as_str()),
                scenario.nodes.iter().map(|node| (node.name.as_str(), !node.middleboxes.is_empty())),
                scenario.flows.iter().map(|flow| flow.name.as_str()),
            ),
            now: Time::ZERO,
            end,
            stop: None,
            horizon: Time::ZERO,
            is_endless: false,
            links: scenario.links.iter().map(|link| Link::new(link, seed, end)).collect(),
            arrivals: arrivals(scenario),
            nodes: scenario
                .nodes
                .iter()
                .map(|node| (0..).zip(&node.middleboxes).map(|(i, m)| m.build(seed, &node.name, i)).collect())
                .collect(),
            hosts,
            hops,
            routes,
            bodies: Bodies::default(),
            losses: Losses::new(),
            outbox: Outbox::default(),
            drops: Drops::new(),
            ledger: Ledger::default(),
            unfinished: scenario.flows.len(),
            recorder: Recorder::new(&scenario.record, scenario.flows.len(), scenario.links.len()),
            scenario: scenario.clone(),
        };
        for endpoint in 0..network.hosts.len() {
            network.rearm(endpoint);
        }
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
        for link in 0..self.links.len() {
            self.links[link].advance(now, &mut self.losses);
            self.count_losses(link);
        }
        let on_links: usize = self.links.iter().map(Link::len).sum();
        let held: usize = self.nodes.iter().flatten().map(Middlebox::held).sum();
        self.ledger.in_flight = (on_links + held) as u64;
        let Ledger { sent, delivered, lost, in_flight } = self.ledger;
        assert_eq!(sent, delivered + lost + in_flight, "packets are conserved, at {now}, {}", self.scenario.title);
        assert!(self.bodies.in_use() <= on_links + held, "every ended packet returns its body");
        let end = End { stop: self.stop.unwrap_or(StopReason::Interrupted), at: now, ledger: self.ledger };
        assemble(&self.scenario, end, &self.hosts, &self.links, &self.drops, self.recorder)
    }

    #[inline(always)]
    fn step(&mut self, source: Source) {
        match source {
            Source::Link(link) => self.deliver(link),
            Source::Node(node) => self.wake_node(node),
            Source::Endpoint(endpoint) => self.wake_endpoint(endpoint),
            Source::Sampler => self.sample(),
        }
    }

    /// The head of a link's ring reaches the next node.
    #[inline(always)]
    fn deliver(&mut self, index: usize) {
        let arrival = self.arrivals[index];
        let link = &mut self.links[index];
        link.advance(self.now, &mut self.losses);
        if arrival.relays {
            return self.relay(index, arrival);
        }
        let packet = link.take(self.now);
        self.schedule.set_next(link.next_arrival());
        if !self.losses.is_empty() {
            self.count_losses(index);
        }
        let Some(packet) = packet else { return };
        if packet.is_marked() && self.ends_at(index, arrival, &packet) {
            return;
        }
        if arrival.has_middleboxes {
            return self.enter_node(arrival.node as usize, packet);
        }
        self.forward(arrival.node as usize, packet);
    }

    /// All that this link carries goes to links that no other feeds: they accept it ahead of time, each packet
    /// at its own instant, and there is one event for all packets that are on the link instead of one for each.
    /// Such a link sees the same packets at the same instants, and nobody else looks at it before the horizon.
    fn relay(&mut self, index: usize, arrival: Arrival) {
        if !self.losses.is_empty() {
            self.count_losses(index);
        }
        let until = self.horizon.max(self.now);
        while let Some(packet) = self.links[index].take_ahead(self.now, until) {
            if packet.is_marked() && self.ends_at(index, arrival, &packet) {
                continue;
            }
            let next = self.hops[packet.next as usize] as usize;
            self.accept(packet.at, next, &packet);
        }
        self.schedule.set(Source::Link(index), self.links[index].next_arrival());
    }

    /// How far links may be ahead of time: up to the next sample, and up to the end of the run where that is known, that
    /// is once a flow is established that neither completes nor gives up.
    fn update_horizon(&mut self) {
        self.horizon = if self.is_endless { self.end.min(self.recorder.next_wakeup()) } else { Time::ZERO };
    }

    /// Whether a packet that link `index` damaged is lost where it arrives.
    #[cold]
    fn ends_at(&mut self, index: usize, arrival: Arrival, packet: &Packet) -> bool {
        if packet.is_cut() || packet.is_lost() {
            self.links[index].count_lost();
            let cause = if packet.is_cut() { Cause::Outage } else { Cause::LinkLoss };
            self.lose(Place::Link(index), *packet, cause);
            return true;
        }
        let is_dropped = arrival.drops_corrupted || self.hops[packet.next as usize] == HOST;
        if is_dropped {
            self.lose(Place::Node(arrival.node as usize), *packet, Cause::BitError);
        }
        is_dropped
    }

    /// A packet leaves `node` for its next hop.
    #[inline(always)]
    fn forward(&mut self, node: usize, packet: Packet) {
        let hop = self.hops[packet.next as usize];
        if hop == HOST {
            return self.arrive(node, packet);
        }
        self.accept(self.now, hop as usize, &packet);
    }

    #[inline(always)]
    fn accept(&mut self, at: Time, link: usize, packet: &Packet) {
        if let Some(at) = self.links[link].accept(at, packet, &mut self.losses) {
            self.schedule.set(Source::Link(link), at);
        }
        if !self.losses.is_empty() {
            self.count_losses(link);
        }
    }

    /// A packet has reached its host.
    #[inline]
    fn arrive(&mut self, node: usize, packet: Packet) {
        let endpoint = packet.endpoint();
        let host = &mut self.hosts[endpoint];
        if !host.is_listening() {
            return self.lose(Place::Node(node), packet, Cause::NoListener);
        }
        self.ledger.delivered += 1;
        let segment = packet.segment(&self.bodies);
        self.bodies.release(&packet);
        let needless = host.conn.counters().needless_segments;
        host.conn.handle_segment(self.now, &segment);
        if segment.is_retransmission && host.conn.counters().needless_segments > needless {
            host.needless += 1;
        }
        if packet.is_to_sender() {
            if let Some(rtt) = host.conn.take_rtt() {
                host.rtts.record_span(rtt);
            }
            if self.recorder.wants_events && host.conn.acked_bytes() > 0 {
                self.recorder.on_event(self.now, packet.flow as usize, "acked", host.conn.acked_bytes());
            }
        }
        self.drive(endpoint);
    }

    fn wake_endpoint(&mut self, endpoint: usize) {
        let host = &mut self.hosts[endpoint];
        let due = host.next_wakeup();
        let is_due = due <= self.now;
        // Else the deadline has moved later since.
        host.armed = if is_due { Time::NEVER } else { due };
        self.schedule.set(Source::Endpoint(endpoint), host.armed);
        if is_due {
            host.handle_wakeup(self.now);
            self.drive(endpoint);
        }
    }

    /// Send all that an endpoint wants to send, hear what it has to say, note when it wakes up.
    #[inline]
    fn drive(&mut self, endpoint: usize) {
        self.transmit(endpoint);
        let host = &mut self.hosts[endpoint];
        if host.conn.has_events() || self.recorder.wants_flow_series || host.may_complete() {
            self.take_note(endpoint);
        }
        self.rearm(endpoint);
    }

    #[inline]
    fn transmit(&mut self, endpoint: usize) {
        while let Some(segment) = self.hosts[endpoint].conn.poll_transmit(self.now) {
            self.send(endpoint, &segment);
        }
    }

    /// What does not happen at every packet, or is not always asked for.
    #[inline(never)]
    fn take_note(&mut self, endpoint: usize) {
        while let Some(event) = self.hosts[endpoint].conn.poll_event() {
            self.on_event(endpoint, event);
            // The application may have closed.
            self.transmit(endpoint);
        }
        if self.hosts[endpoint].may_complete() {
            self.note_completion(endpoint);
        }
        if endpoint % 2 == 0 && self.recorder.wants_flow_series {
            self.recorder.on_sender(self.now, endpoint / 2, &self.hosts[endpoint].conn);
        }
    }

    #[inline]
    fn rearm(&mut self, endpoint: usize) {
        let host = &mut self.hosts[endpoint];
        let due = host.next_wakeup();
        if due < host.armed {
            host.armed = due;
            self.schedule.set(Source::Endpoint(endpoint), due);
        }
    }

    #[inline(always)]
    fn send(&mut self, endpoint: usize, segment: &Segment) {
        let (flow, to_sender) = (endpoint as u32 / 2, endpoint % 2 == 1);
        let host = &mut self.hosts[endpoint];
        let packet =
            Packet::new(segment, flow, to_sender, self.routes[endpoint], &mut self.bodies).in_class(host.class);
        host.first_sent.get_or_insert(self.now);
        host.sent_wire_bytes += packet.size();
        self.ledger.sent += 1;
        if self.recorder.wants_events && segment.len > 0 && !to_sender {
            let event = if segment.is_retransmission { "retransmission" } else { "sent" };
            let offset = segment.data_seq().offset_near(Seq::new(1), host.conn.acked_bytes());
            self.recorder.on_event(self.now, flow as usize, event, offset);
        }
        let hop = self.hops[packet.next as usize];
        if hop == HOST {
            return self.loop_back(packet);
        }
        self.accept(self.now, hop as usize, &packet);
    }

    /// A packet of a flow whose ends are on the same node.
    #[cold]
    fn loop_back(&mut self, packet: Packet) {
        let ends = &self.scenario.flows[packet.flow as usize];
        self.arrive(ends.to, packet);
    }

    fn on_event(&mut self, endpoint: usize, event: Event) {
        self.hosts[endpoint].on_event(event);
        let is_sender = endpoint % 2 == 0;
        if let (true, Event::Aborted(_)) = (is_sender, event) {
            self.finish_one(endpoint);
        }
        if is_sender && event == Event::Established && self.hosts[endpoint].is_endless() {
            self.is_endless = true;
            self.update_horizon();
        }
        if !is_sender || !self.recorder.wants_events {
            return;
        }
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
        self.recorder.on_event(self.now, endpoint / 2, name, value);
    }

    /// The sender is done when all is acknowledged, the receiver when all is received.
    fn note_completion(&mut self, endpoint: usize) {
        let is_sender = endpoint % 2 == 0;
        let host = &mut self.hosts[endpoint];
        let bytes = if is_sender { host.conn.acked_bytes() } else { host.conn.counters().delivered_bytes };
        let is_open = host.is_started() && (!is_sender || host.first_sent.is_some());
        if !is_open || bytes < host.size || (host.size == 0 && !host.conn.has_been_established()) {
            return;
        }
        host.completed = Some(self.now);
        if is_sender {
            if self.recorder.wants_events {
                self.recorder.on_event(self.now, endpoint / 2, "completed", bytes);
            }
            self.finish_one(endpoint);
        }
    }

    fn finish_one(&mut self, endpoint: usize) {
        let host = &self.hosts[endpoint];
        if host.completed.is_some() && host.is_aborted {
            // Counted when it completed.
            return;
        }
        self.unfinished -= 1;
        if self.unfinished == 0 {
            self.stop = Some(StopReason::Completed);
        }
    }

    /// A packet meets its node's middleboxes, in order along its flow.
    fn enter_node(&mut self, node: usize, packet: Packet) {
        let boxes = self.nodes[node].len();
        let first = if packet.is_to_sender() { boxes.wrapping_sub(1) } else { 0 };
        self.pass(node, first, packet);
        self.rearm_node(node);
    }

    /// A packet reaches position `position` of a node's middleboxes; past the last one it leaves the node.
    fn pass(&mut self, node: usize, position: usize, packet: Packet) {
        let Some(middlebox) = self.nodes[node].get_mut(position) else {
            return self.forward(node, packet);
        };
        middlebox.on_packet(self.now, Side::origin_of(&packet), packet, &mut self.outbox);
        self.carry_out(node, position);
    }

    fn carry_out(&mut self, node: usize, position: usize) {
        let mut actions = self.outbox.take();
        for action in actions.drain(..) {
            match action {
                Action::Forward(packet) => self.pass(node, beyond(position, &packet), packet),
                Action::Duplicate(packet) => {
                    let copy = self.bodies.copy_of(&packet);
                    self.ledger.sent += 1;
                    self.pass(node, beyond(position, &copy), copy);
                }
                Action::Drop(packet, cause) => self.lose(Place::Node(node), packet, cause),
            }
        }
        self.outbox.give_back(actions);
    }

    fn wake_node(&mut self, node: usize) {
        for position in 0..self.nodes[node].len() {
            let middlebox = &mut self.nodes[node][position];
            if middlebox.next_wakeup() <= self.now {
                middlebox.on_wakeup(self.now, &mut self.outbox);
                self.carry_out(node, position);
            }
        }
        self.rearm_node(node);
    }

    fn rearm_node(&mut self, node: usize) {
        let due = self.nodes[node].iter().map(Middlebox::next_wakeup).min().unwrap_or(Time::NEVER);
        self.schedule.set(Source::Node(node), due);
    }

    fn sample(&mut self) {
        for link in 0..self.links.len() {
            self.links[link].advance(self.now, &mut self.losses);
            self.count_losses(link);
        }
        self.recorder.on_sample(self.now, &self.hosts, &self.links);
        self.update_horizon();
        self.schedule.set(Source::Sampler, self.recorder.next_wakeup());
    }

    fn count_losses(&mut self, link: usize) {
        while let Some((packet, cause)) = self.losses.pop() {
            self.lose(Place::Link(link), packet, cause);
        }
    }

    #[cold]
    fn lose(&mut self, place: Place, packet: Packet, cause: Cause) {
        self.ledger.lost += 1;
        let (packets, bytes) = self.drops.entry((place, packet.flow, cause)).or_default();
        *packets += 1;
        *bytes += packet.size();
        self.bodies.release(&packet);
    }
}

/// The next position after `position`, in the direction of the packet. (Below zero wraps to "past the last".)
fn beyond(position: usize, packet: &Packet) -> usize {
    if packet.is_to_sender() {
        position.wrapping_sub(1)
    } else {
        position + 1
    }
}

/// What each link leads to.
fn arrivals(scenario: &Scenario) -> Vec<Arrival> {
    let feeders = Feeders::of(scenario);
    let mut arrivals: Vec<Arrival> = scenario
        .links
        .iter()
        .map(|link| {
            let node = &scenario.nodes[link.to];
            Arrival {
                node: link.to as u32,
                drops_corrupted: node.kind == NodeKind::Router,
                has_middleboxes: !node.middleboxes.is_empty(),
                relays: node.middleboxes.is_empty(),
            }
        })
        .collect();
    for route in routes(scenario) {
        for (at, &link) in route.iter().enumerate() {
            let is_followed_by_own = route.get(at + 1).is_some_and(|&next| feeders.0[next] == Feeder::Link(link));
            arrivals[link].relays &= is_followed_by_own;
        }
    }
    arrivals
}

/// Where each link's packets come from.
struct Feeders(Vec<Feeder>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeder {
    Nobody,
    Link(usize),
    /// A host, or several links.
    Many,
}

impl Feeders {
    fn of(scenario: &Scenario) -> Self {
        let mut feeders = vec![Feeder::Nobody; scenario.links.len()];
        for route in routes(scenario) {
            for (at, &link) in route.iter().enumerate() {
                let feeder = if at == 0 { Feeder::Many } else { Feeder::Link(route[at - 1]) };
                let known = &mut feeders[link];
                *known = if *known == Feeder::Nobody || *known == feeder { feeder } else { Feeder::Many };
            }
        }
        Self(feeders)
    }
}

fn routes(scenario: &Scenario) -> impl Iterator<Item = &Vec<usize>> {
    scenario.flows.iter().flat_map(|flow| [&flow.route, &flow.reverse_route])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three hops of which the second and third are fed by one link each; the third is the bottleneck. With errors,
    /// an outage, and losses of all kinds on links that run ahead of time.
    const CHAIN: &str = r#"
duration = "20.0123 s"
[tcp]
cc = "sack"
give_up = "never"
[link.up]
from = "a{n}"
to = "b"
count = 2
rate = "10 Mbit/s"
delay = "5 ms"
queue = "30 packets"
[link.one]
from = "b"
to = "c"
rate = "8 Mbit/s"
delay = "40 ms"
queue = "60 packets"
error = { kind = "packet", rate = "0.2 %" }
[link.two]
from = "c"
to = "d"
rate = { points = [["0 s", "6 Mbit/s"], ["5 s", "3 Mbit/s"]], every = "9 s" }
delay = "70 ms"
queue = "20 packets"
outage = { spans = [["12 s", "12.1 s"]], queue = "flush" }
[flow.f]
from = "a{n}"
to = "d"
count = 2
"#;

    #[test]
    fn relaying_ahead_of_time_changes_nothing() {
        let series = "[record]\nseries = [\"queue_packets\", \"carried_bps\", \"cwnd_bytes\"]\ninterval = \"7 ms\"\n";
        let red = r#"{ kind = "red", limit = "20 packets", min_th = 2, max_th = 6, weight = 0.1 }"#;
        let codel = r#"{ kind = "codel", limit = "20 packets" }"#;
        let pie = r#"{ kind = "pie", limit = "20 packets" }"#;
        let fq = r#"{ kind = "fq-codel", limit = "20 packets" }"#;
        let plain = "\"20 packets\"";
        for (queue, record) in [(plain, ""), (plain, series), (red, ""), (codel, series), (pie, ""), (fq, "")] {
            let text = format!("{}{record}", CHAIN.replace(plain, queue));
            let scenario = crate::scenario::from_toml(&text, "chain", &[]).unwrap().scenario;
            let run = |relays: bool| {
                let mut network = Network::build(&scenario, 3);
                assert!(network.arrivals.iter().any(|arrival| arrival.relays));
                network.arrivals.iter_mut().for_each(|arrival| arrival.relays &= relays);
                while !network.run(1000) {}
                network.finish()
            };
            let (with, without) = (run(true), run(false));
            assert_eq!(with, without);
            assert!(with.drops.len() >= 4, "{:?}", with.drops);
        }
    }
}

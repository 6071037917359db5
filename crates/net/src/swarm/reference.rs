//! Executable specification of the engine: a heap with one event for each end of a transmission, each arrival, and each
//! change of a timer.
//!
//! It is slow and plain. It shares connections, applications, middleboxes and the recorder with
//! [`Network`](crate::Network), but neither the schedule nor any part of a link.

mod planned;
mod several;

use super::happening::{tie_breaker, Happening};
use super::link::NaiveLink;
use super::medium::NaiveShared;
use super::outlook::NaiveOutlook;
use super::ports::{Entering, Left, HEADER_LEN};
use super::receivers;
use super::routes::{end_of, NaiveRoutes};
use crate::link::{LazyLink, Losses};
use crate::network::{add_media, assemble, guards, introduce, notes_of_functions, Broadcast, Ledger, RunEnd};
use crate::record::{Drops, LossPlace, Recorder, RunResult, StopReason};
use crate::traffic::{event_kind, event_of_segment, join_again, may_join, rank_in_session, Task, Traffic};
use bentpipe_model::dictionary::{Cause, EventKind, LinkRow};
use bentpipe_model::ids::{EndpointId, FlowId, LinkId, NodeId};
use bentpipe_model::middlebox::{Action, AnyMiddlebox, Context, Middlebox, Outbox, Own};
use bentpipe_model::packet::{Bodies, Carried, Message, Packet, UNROUTED};
use bentpipe_model::spec::{Link, NodeKind, Scenario};
use bentpipe_units::{Seq, Time};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// (instant, rank, tie-breaker, event, order of entry).
type Entry = Reverse<(Time, u32, u64, Happening, u64)>;

/// Runs `scenario` to its end, with custom middleboxes and packets that enter by ports.
pub(crate) fn run(
    scenario: &Scenario,
    seed: u64,
    own: Vec<(NodeId, Box<dyn Middlebox + Send + Sync>)>,
    entering: &[Entering],
) -> (RunResult, Vec<Left>) {
    let mut reference = Reference::new(scenario, seed);
    let own = own.into_iter().chain(guards(scenario, None));
    own.for_each(|(node, middlebox)| reference.nodes[node].push(AnyMiddlebox::Own(Own(middlebox))));
    for &(at, path, size) in entering {
        let carried = Carried::Bytes { entered: at, bytes: Box::default() };
        let body = reference.bodies.keep(carried);
        let len = size as u16 - u16::from(HEADER_LEN);
        let packet = Packet::foreign(path, len, HEADER_LEN, body).in_class(scenario.lanes[path.lane()].class);
        let flow = scenario.lanes[path.lane()].flow;
        reference.traffic.enter_later(at, flow, packet);
        reference.enter(at, Happening::Flow(flow));
    }
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
        if reference.traffic.is_over() {
            break StopReason::Completed;
        }
    };
    reference.finish(stop)
}

struct Reference<'a> {
    scenario: &'a Scenario,
    broadcasts: Vec<Broadcast>,
    heap: BinaryHeap<Entry>,
    entered: u64,
    now: Time,
    links: Vec<NaiveLink>,
    nodes: Vec<Vec<AnyMiddlebox>>,
    media: Vec<NaiveShared>,
    /// Links that have sent a packet, until the middleboxes that observe them are notified.
    departed: BTreeSet<LinkId>,
    routes: NaiveRoutes,
    left: Vec<Left>,
    steps: Vec<(NodeId, usize, Packet)>,
    takes_steps: bool,
    /// Next wake-up of each node.
    armed: Vec<Time>,
    traffic: Traffic,
    bodies: Bodies,
    drops: Drops,
    ledger: Ledger,
    recorder: Recorder,
}

impl<'a> Reference<'a> {
    fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let build_node = |node: &bentpipe_model::spec::Node| {
            (0..).zip(&node.middleboxes).map(|(i, config)| config.build(seed, &node.name, i)).collect()
        };
        let mut links: Vec<_> = LinkId::all(scenario.links.len()).map(|id| NaiveLink::of(scenario, id, seed)).collect();
        // Behind the links of the scenario.
        let broadcasts = receivers::broadcasts(scenario);
        let queue =
            |(of, spec): &(Broadcast, Link)| NaiveLink::broadcast(scenario, (of.receivers[0].1, spec.clone()), seed);
        links.extend(broadcasts.iter().map(queue));
        let (media, media_at) = NaiveShared::all(scenario, &mut links, seed);
        let mut reference = Self {
            scenario,
            broadcasts: broadcasts.into_iter().map(|(of, _)| of).collect(),
            heap: BinaryHeap::new(),
            entered: 0,
            now: Time::ZERO,
            links,
            nodes: scenario.nodes.iter().map(build_node).collect::<Vec<Vec<AnyMiddlebox>>>(),
            media,
            departed: BTreeSet::new(),
            routes: NaiveRoutes::of(scenario),
            left: Vec::new(),
            steps: Vec::new(),
            takes_steps: false,
            armed: vec![Time::NEVER; scenario.nodes.len()],
            // Each session has its own slot: the reuse of slots must not change a result.
            traffic: Traffic::new(scenario, seed, |_| 0, false),
            bodies: Bodies::default(),
            drops: Drops::default(),
            ledger: Ledger::default(),
            recorder: Recorder::new(&scenario.record, scenario.entities().0.len(), scenario.links.len()),
        };
        introduce(scenario, &mut reference.nodes);
        media_at.into_iter().for_each(|(id, at)| reference.enter(at, Happening::Superframe(id)));
        for (index, (at, _)) in scenario.timeline.changes.iter().enumerate() {
            reference.enter(*at, Happening::Change(index));
        }
        FlowId::all(scenario.flows.len()).for_each(|flow| reference.enter_flow(flow));
        reference.carry_out_tasks();
        reference.enter(reference.recorder.next_wakeup(), Happening::Sample);
        reference
    }

    fn enter(&mut self, at: Time, happening: Happening) {
        let (mut ordinal, mut subflow) = (0, 0);
        let (name, purpose) = match happening {
            Happening::Sent(link) | Happening::Burst(link) | Happening::Arrival(link) => {
                (&self.scenario.links[link].name, "link")
            }
            // In order, before all other events.
            Happening::Change(_) => (&self.scenario.title, "change"),
            Happening::Node(node) => (&self.scenario.nodes[node].name, "node"),
            Happening::Superframe(medium) => (&self.scenario.media[medium].name, "medium"),
            Happening::Flow(flow) => (&self.scenario.flows[flow].name, "flow"),
            Happening::End(end) => {
                let session = self.traffic.session(end.slot());
                (ordinal, subflow) = (session.ordinal, rank_in_session(&self.traffic, end.slot()));
                (&self.scenario.flows[session.flow].name, ["sender", "receiver"][end.side()])
            }
            Happening::Sample => (&self.scenario.title, "sampler"),
        };
        if at != Time::NEVER {
            let is_change = matches!(happening, Happening::Change(_));
            let tie = if is_change { 0 } else { tie_breaker(name, purpose, (ordinal, subflow), at) };
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
                let node = self.scenario.links[link].from;
                if self.nodes[node].iter().any(Middlebox::watches_queues) {
                    self.departed.insert(link);
                    self.enter(self.now, Happening::Node(node));
                }
            }
            Happening::Burst(link) => {
                let mut losses = Losses::new();
                let arrivals = self.links[link].pack(self.now, &mut losses);
                self.enter_arrivals(link, arrivals);
                self.lose_all(link, losses);
            }
            Happening::Superframe(medium) => match self.media[medium] {
                NaiveShared::Slots(_) => self.begin_superframe(medium),
                NaiveShared::Frames(_) => self.fill_frame(medium),
            },
            Happening::Change(index) => self.change(index),
            Happening::Arrival(link) => self.leave_link(link),
            Happening::Node(node) => {
                if self.armed[node] <= self.now {
                    self.armed[node] = Time::NEVER;
                }
                let departed: Vec<LinkId> = self.departed.iter().copied().collect();
                for link in departed.into_iter().filter(|&link| self.scenario.links[link].from == node) {
                    self.departed.remove(&link);
                    for position in 0..self.nodes[node].len() {
                        if self.nodes[node][position].watches_queues() {
                            let queue = self.links[link].queue_view(self.now);
                            self.call(node, position, |middlebox, cx| middlebox.on_departure(link, queue, cx));
                        }
                    }
                }
                for position in 0..self.nodes[node].len() {
                    if self.nodes[node][position].next_wakeup() <= self.now {
                        self.call(node, position, |middlebox, cx| middlebox.on_wakeup(cx));
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
            Happening::End(end) if self.traffic.hosts[end].next_wakeup() <= self.now => self.act(end),
            Happening::Flow(_) | Happening::End(_) => {}
            Happening::Sample => {
                self.media.iter_mut().for_each(|medium| medium.note_plans(self.now, &mut self.links));
                let of_scenario = &self.links[..self.scenario.links.len()];
                let links = |series| of_scenario.iter().map(move |link| link.sample(series));
                self.recorder.on_sample(self.now, |series| self.traffic.report().samples(series), links);
                self.links.iter_mut().for_each(NaiveLink::renew_levels);
                self.enter(self.recorder.next_wakeup(), Happening::Sample);
            }
        }
    }

    fn enter_arrivals(&mut self, link: LinkId, arrivals: Vec<Time>) {
        arrivals.into_iter().for_each(|at| self.enter(at, Happening::Arrival(link)));
    }

    fn leave_link(&mut self, link: LinkId) {
        let mut packet = self.links[link].deliver();
        packet.next += 1;
        let node = self.scenario.links[link].to;
        let kind = self.scenario.nodes[node].kind;
        let is_at_host = node == end_of(self.scenario, packet.path());
        if packet.is_cut_off() {
            self.lose(LossPlace::Link(link), &packet, Cause::Handover);
        } else if packet.is_truncated() {
            self.lose(LossPlace::Link(link), &packet, Cause::Outage);
        } else if packet.is_erased() {
            let cause = self.links[link].cause_of_erasure();
            self.lose(LossPlace::Link(link), &packet, cause);
        } else if packet.is_corrupted() && (kind != NodeKind::BentPipe || is_at_host) {
            if is_at_host {
                self.traffic.on_corrupted(self.now, &packet);
            } else if kind == NodeKind::Processing {
                for position in 0..self.nodes[node].len() {
                    self.call(node, position, |middlebox, cx| middlebox.on_corrupted(&packet, cx));
                }
                self.rearm_node(node);
            }
            self.lose(LossPlace::Node(node), &packet, Cause::BitError);
        } else {
            self.enter_node(node, packet);
        }
    }

    /// A packet arrives at a node, from a link or a host.
    fn enter_node(&mut self, node: NodeId, packet: Packet) {
        match self.bodies.message(&packet) {
            Some(Message::ToNode(recipient, words)) if recipient == node && !self.nodes[node].is_empty() => {
                let mut is_read = false;
                for position in 0..self.nodes[node].len() {
                    is_read =
                        is_read || self.call(node, position, |middlebox, cx| middlebox.on_message(words, &packet, cx));
                }
                if is_read {
                    self.consume(&packet);
                } else {
                    self.lose(LossPlace::Node(node), &packet, Cause::NoListener);
                }
            }
            _ => {
                let last = self.nodes[node].len().wrapping_sub(1);
                self.steps.push((node, if packet.is_to_sender() { last } else { 0 }, packet));
                self.take_steps();
            }
        }
        self.rearm_node(node);
    }

    fn consume(&mut self, packet: &Packet) {
        self.ledger.delivered += 1;
        self.bodies.release(packet);
        self.traffic.on_end(packet);
    }

    fn forward(&mut self, node: NodeId, packet: Packet) {
        let Some(next) = self.routes.next(node, &packet) else {
            return self.lose(LossPlace::Node(node), &packet, Cause::RouteMissing);
        };
        if !self.is_for_one(&packet) {
            return self.forward_to_several(node, packet, NaiveRoutes::links_before(next));
        }
        self.forward_one(node, packet, next);
    }

    fn forward_one(&mut self, node: NodeId, mut packet: Packet, next: u32) {
        let Some(link) = self.routes.link(next) else { return self.reach_host(node, packet) };
        // Waiting packets still point to the link: a middlebox may take them out again.
        packet.next = next;
        let mut losses = Losses::new();
        if self.links[link].is_framed() {
            self.links[link].offer_framed(self.now, packet, &mut losses);
            if self.links[link].waits_for_frame() {
                let id = self.scenario.links[link].terminal.as_ref().expect("it is in a medium").medium;
                let at = self.media[id].carrier().arrived(self.now, link);
                self.enter(at, Happening::Superframe(id));
            }
            return self.lose_all(link, losses);
        }
        if self.links[link].is_granted() {
            let arrivals = self.links[link].offer_granted(self.now, packet, &mut losses);
            self.enter_arrivals(link, arrivals);
            return self.lose_all(link, losses);
        }
        let sent = self.links[link].offer(self.now, packet, &mut losses);
        self.enter(sent.unwrap_or(Time::NEVER), Happening::Sent(link));
        self.lose_all(link, losses);
    }

    fn reach_host(&mut self, node: NodeId, packet: Packet) {
        if packet.is_message() {
            return self.receive_message(node, &packet);
        }
        if !packet.is_segment() {
            self.ledger.delivered += 1;
            self.traffic.on_datagram(self.now, &packet, self.bodies.sent_at(&packet), &mut self.recorder);
            if self.traffic.flows[self.flow_of(&packet)].is_port() {
                self.left.push((self.now, packet.path(), packet.size()));
            }
            self.bodies.release(&packet);
            return self.carry_out_tasks();
        }
        let endpoint = packet.endpoint();
        if let Some(label) = self.bodies.label(&packet) {
            self.traffic.read_label(self.now, endpoint, label);
        }
        let host = &self.traffic.hosts[endpoint];
        let is_heard = host.is_listening() || host.in_group && may_join(&self.traffic, &packet);
        if !is_heard {
            return self.lose(LossPlace::Node(node), &packet, Cause::NoListener);
        }
        let host = &mut self.traffic.hosts[endpoint];
        self.ledger.delivered += 1;
        if host.in_group {
            return self.receive_in_group(&packet);
        }
        host.on_arrival(self.now, &packet, &mut self.bodies);
        if host.sends_data {
            let flow = &mut self.traffic.flows[host.flow];
            host.conn.take_rtt().into_iter().for_each(|rtt| flow.rtts.record_span(rtt));
            let acked = host.conn.acked_bytes();
            if acked > 0 {
                let flow = host.flow;
                self.note(flow, EventKind::Acked, acked);
            }
        }
        self.drive(endpoint);
    }

    fn act(&mut self, endpoint: EndpointId) {
        if self.traffic.hosts[endpoint].in_group {
            return self.act_in_group(endpoint);
        }
        self.traffic.wake_endpoint(self.now, endpoint);
        self.drive(endpoint);
    }

    fn transmit(&mut self, endpoint: EndpointId) {
        while let Some(packet) = self.traffic.hosts[endpoint].next_packet(self.now, &mut self.bodies) {
            let host = &self.traffic.hosts[endpoint];
            let (flow, is_receiver) = (host.flow, !endpoint.is_opener());
            let segment = packet.plain_segment();
            let offset = segment.data_seq().offset_near(Seq::new(1), host.conn.acked_bytes());
            if segment.len > 0 && host.sends_data {
                self.note(self.traffic.entity(endpoint), event_of_segment(&segment), offset);
            }
            self.ledger.sent += 1;
            let ends = &self.scenario.flows[flow];
            self.launch(if is_receiver { ends.to } else { ends.from }, packet);
        }
    }

    /// A packet leaves its host at this node.
    fn launch(&mut self, node: NodeId, mut packet: Packet) {
        packet.next = UNROUTED;
        self.enter_node(node, packet);
    }

    fn receive_message(&mut self, node: NodeId, packet: &Packet) {
        let message = self.bodies.message(packet);
        match message.and_then(|message| Some((message, self.traffic.reader_of(message)?))) {
            Some((message, endpoint)) => {
                self.traffic.hosts[endpoint].on_message(self.now, message);
                self.consume(packet);
                self.drive(endpoint);
            }
            None => self.lose(LossPlace::Node(node), packet, Cause::NoListener),
        }
    }

    fn carry_out_tasks(&mut self) {
        // Each task at the top: ten thousand connections that open at an instant are no deeper than one.
        if !self.traffic.begin_tasks() {
            return;
        }
        while let Some(task) = self.traffic.next_task() {
            match task {
                Task::Begin(slot) => {
                    for end in EndpointId::both(slot) {
                        self.enter_end(end);
                    }
                }
                Task::Drive(endpoint) => self.drive(endpoint),
                Task::Join(endpoint) => {
                    join_again(&mut self.traffic, self.now, endpoint);
                    self.drive(endpoint);
                }
                Task::Rearm(flow) => self.enter_flow(flow),
                Task::Send(path, size, of) => {
                    self.ledger.sent += 1;
                    let class = self.scenario.lanes[path.lane()].class;
                    let packet = Packet::datagram(of, path.lane(), size, 0).towards(path).in_class(class);
                    self.launch(self.scenario.ends(path)[0], packet);
                }
                Task::Enter(flow) => {
                    if let Some(packet) = self.traffic.take_entering(self.now, flow) {
                        self.ledger.sent += 1;
                        self.launch(self.scenario.ends(packet.path())[0], packet);
                    }
                    self.enter_flow(flow);
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
        if self.traffic.hosts[endpoint].in_group {
            return self.drive_group(endpoint);
        }
        self.transmit(endpoint);
        while let Some(event) = self.traffic.hosts[endpoint].conn.poll() {
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
            self.traffic.hosts[endpoint].record_sender(self.now, &mut self.recorder);
        }
        self.carry_out_tasks();
        self.traffic.note_limit(self.now, endpoint);
        self.enter_end(endpoint);
    }

    fn note(&mut self, flow: FlowId, event: EventKind, value: u64) {
        self.recorder.on_event(self.now, flow, event, value);
    }

    /// Passes packets to middleboxes, or past the last one, each after all packets before it.
    fn take_steps(&mut self) {
        if std::mem::replace(&mut self.takes_steps, true) {
            return;
        }
        let mut step = 0;
        while step < self.steps.len() {
            let (node, position, packet) = self.steps[step];
            if position < self.nodes[node].len() {
                self.call(node, position, |middlebox, cx| middlebox.on_packet(packet, cx));
            } else {
                self.forward(node, packet);
            }
            self.rearm_node(node);
            step += 1;
        }
        self.steps.clear();
        self.takes_steps = false;
    }

    fn call<T>(
        &mut self,
        node: NodeId,
        position: usize,
        act: impl FnOnce(&mut AnyMiddlebox, &mut Context<'_>) -> T,
    ) -> T {
        let mut out = Outbox::default();
        let Self { now, nodes, links, routes, scenario, traffic, bodies, .. } = self;
        let mut outlook = NaiveOutlook { now: *now, node, links, routes, scenario, traffic };
        let mut context = Context::new(*now, bodies, &mut outlook, &mut out);
        let answer = act(&mut nodes[node][position], &mut context);
        self.carry_out(node, position, out);
        answer
    }

    fn carry_out(&mut self, node: NodeId, position: usize, mut out: Outbox) {
        for action in out.take() {
            let packet = match action {
                Action::Forward(packet) => packet,
                Action::Remake(packet) if !self.traffic.takes(&packet) => {
                    self.bodies.release(&packet);
                    continue;
                }
                Action::Emit(packet) | Action::Remake(packet) => {
                    self.ledger.sent += 1;
                    self.traffic.on_made(&packet);
                    packet
                }
                Action::SendBack(packet) => {
                    self.traffic.on_end(&packet);
                    self.traffic.on_made(&packet.turned());
                    packet.turned()
                }
                Action::Consume(packet) | Action::Accept(packet) => {
                    self.traffic.on_taken(&packet, matches!(action, Action::Accept(_)));
                    self.consume(&packet);
                    continue;
                }
                Action::Keep(_) | Action::LetGo(_) => continue,
                Action::Answered(packet) => {
                    self.traffic.on_answered(&packet);
                    continue;
                }
                Action::Drop(packet, cause) => {
                    self.lose(LossPlace::Node(node), &packet, cause);
                    continue;
                }
            };
            let next = if packet.is_to_sender() { position.wrapping_sub(1) } else { position + 1 };
            self.steps.push((node, next, packet));
        }
        self.take_steps();
    }

    fn rearm_node(&mut self, node: NodeId) {
        let due = self.nodes[node].iter().map(Middlebox::next_wakeup).min().unwrap_or(Time::NEVER);
        // Overdue work is due now.
        let due = due.max(self.now);
        // One event per instant: each would enter another one.
        if due != self.armed[node] {
            self.armed[node] = due;
            self.enter(due, Happening::Node(node));
        }
    }

    fn finish(mut self, stop: StopReason) -> (RunResult, Vec<Left>) {
        let held: usize = self.nodes.iter().flatten().map(Middlebox::held).sum();
        self.ledger.set_in_flight(held, self.links.iter().map(|link| link.at_end(self.now)));
        let end = RunEnd { stop, at: self.now, ledger: self.ledger };
        // The summary reads only their numbers of packets.
        let carried = |link: &NaiveLink| LazyLink::that_carried(link.carried_packets());
        self.media.iter_mut().for_each(|medium| medium.note_plans(self.now, &mut self.links));
        let of_scenario = &self.links[..self.scenario.links.len()];
        let samples = |series| of_scenario.iter().map(move |link| link.sample(series));
        self.recorder.on_end(self.now, |series| self.traffic.report().samples(series), samples);
        let idle: Vec<LazyLink> = of_scenario.iter().map(carried).collect();
        let mut result = assemble(self.scenario, end, &self.traffic, &idle, &self.drops, self.recorder);
        result.links = LinkRow::table(of_scenario.iter().map(|link| link.row(self.now)));
        let grants: Vec<_> = self.media.iter().map(|medium| medium.grants(&self.links, self.now)).collect();
        add_media(&mut result, self.scenario, &grants, self.now);
        let boxes = self.nodes.iter().map(|boxes| &boxes[..]);
        result.notes.extend(notes_of_functions(self.scenario, boxes));
        (result, self.left)
    }
}

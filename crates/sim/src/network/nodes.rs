//! Middleboxes of a node, and its choice of the next hop.

use super::routes::Routes;
use super::{Failure, Network, Trouble};
use crate::dictionary::Cause;
use crate::engine::Source;
use crate::ids::{LinkId, NodeId, PathId};
use crate::link::{LazyLink, Losses};
use crate::middlebox::{
    Action, AnyMiddlebox, Context, LinkView, Middlebox, MiddleboxConfig, Outlook, QueueView, HELD_MAX,
};
use crate::packet::{Message, Packet, PacketKind, Request, UNROUTED};
use crate::record::{LossPlace, StopReason};
use crate::spec::Scenario;
use crate::traffic::Traffic;
use bentpipe_units::{Duration, Time};
use std::collections::VecDeque;

/// Limit of wake-ups of a node at one instant. Above it, the middlebox fails.
const WAKE_UPS_MAX: u32 = 1_000_000;
/// Limit of rounds of steps at one instant, each caused by the round before. Above it, the middlebox fails.
const FOLLOWING_MAX: u32 = 100_000;
/// Limit of waiting steps at one instant. Above it, the middlebox fails. A sender may have a window of a gigabyte, and a
/// middlebox may double it.
const WAITING_MAX: usize = 4_000_000;

/// The state of a node.
#[derive(Debug, Default)]
pub(super) struct NodeState {
    /// In order along a flow.
    pub(super) boxes: Vec<AnyMiddlebox>,
    /// Links whose queues the middleboxes watch.
    pub(super) watches: Vec<Watch>,
    /// The instant of its schedule entry.
    armed: Time,
    /// The instant of the last wake-up; wake-ups at this instant before it.
    woken: (Time, u32),
}

/// A packet before one of its node's middleboxes, by position.
type Step = (NodeId, usize, Packet);

/// Packets between middleboxes at this instant.
#[derive(Debug, Default)]
pub(super) struct Turns {
    waiting: VecDeque<Step>,
    /// Whether `take_steps` runs: new steps wait their turn.
    are_taken: bool,
    /// The last middlebox that made or turned a packet since the steps began.
    maker: Option<(NodeId, usize)>,
}

/// A link whose departures middleboxes watch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    pub(super) link: LinkId,
    /// End of the current transmission, or [`Time::NEVER`].
    due: Time,
}

impl NodeState {
    /// A node with these middleboxes, which watch the queues of its outgoing links `out`.
    pub(super) fn new(boxes: Vec<AnyMiddlebox>, out: Vec<LinkId>) -> Self {
        let watches = out.into_iter().map(|link| Watch { link, due: Time::NEVER }).collect();
        Self { boxes, watches, armed: Time::NEVER, woken: (Time::ZERO, 0) }
    }

    /// Packets that its middleboxes hold.
    pub(super) fn held(&self) -> usize {
        self.boxes.iter().map(Middlebox::held).sum()
    }
}

/// Gives middleboxes their node and the satellites beside it. Of two paired middleboxes, the first gets the path and stream of the second,
/// and the second the stream.
pub(crate) fn introduce(scenario: &Scenario, boxes: &mut [Vec<AnyMiddlebox>]) {
    for node in NodeId::all(boxes.len()).filter(|&node| !scenario.nodes[node].middleboxes.is_empty()) {
        let satellites = scenario.satellites_beside(node);
        boxes[node].iter_mut().for_each(|middlebox| middlebox.meet(node, &satellites));
    }
    for pair in scenario.function_pairs() {
        boxes[pair.first.0][pair.first.1].serve(pair.path, pair.stream);
        boxes[pair.second.0][pair.second.1].expect(pair.stream);
    }
}

/// The outgoing links of a node, as its middleboxes see them.
struct NodeOutlook<'a> {
    now: Time,
    node: NodeId,
    links: &'a mut [LazyLink],
    routes: &'a Routes,
    scenario: &'a Scenario,
    traffic: &'a Traffic,
    /// Losses of the links while they were read.
    lost: Vec<(LinkId, Losses)>,
}

impl NodeOutlook<'_> {
    fn link_for(&mut self, packet: &Packet) -> Option<&mut LazyLink> {
        let id = self.link_of(packet)?;
        Some(self.advanced(id))
    }

    fn advanced(&mut self, id: LinkId) -> &mut LazyLink {
        let link = &mut self.links[id];
        let mut losses = Losses::new();
        link.advance(self.now, &mut losses);
        if !losses.is_empty() {
            self.lost.push((id, losses));
        }
        link
    }
}

impl Outlook for NodeOutlook<'_> {
    fn queue(&mut self, packet: &Packet) -> Option<QueueView> {
        let now = self.now;
        Some(self.link_for(packet)?.queue_view(now))
    }

    fn link_of(&mut self, packet: &Packet) -> Option<LinkId> {
        self.routes.link(packet.path(), self.node, packet.next)
    }

    fn link(&mut self, link: LinkId) -> LinkView {
        let (now, spec) = (self.now, &self.scenario.links[link]);
        let link = self.advanced(link);
        let (framing, room) = (spec.framing, spec.queue.room());
        LinkView { rate: link.rate_at(now), framing, room, queue: link.queue_view(now), up_at: link.up_at(now) }
    }

    fn round_trip(&mut self, packet: &Packet) -> Option<Duration> {
        let mut sum = Duration::ZERO;
        for path in PathId::both(packet.lane()) {
            let [mut node, end] = self.scenario.ends(path);
            // A changing route may form a loop for some time.
            for _ in 0..self.scenario.nodes.len() {
                let Some(link) = self.routes.link(path, node, UNROUTED) else { break };
                sum += self.links[link].delay_at(self.now);
                node = self.scenario.links[link].to;
            }
            if node != end {
                return None;
            }
        }
        Some(sum)
    }

    fn next_node(&self, packet: &Packet) -> Option<NodeId> {
        self.routes.link(packet.path(), self.node, packet.next).map(|link| self.routes.far_end(link))
    }

    fn request(&self, packet: &Packet) -> Option<Request> {
        self.traffic.request_of(packet)
    }

    fn extract(&mut self, packet: &Packet, is_meant: &mut dyn FnMut(&mut Packet) -> bool, left: &mut Vec<Packet>) {
        if let Some(link) = self.link_for(packet) {
            link.extract(is_meant, left);
        }
    }
}

impl Network {
    /// Passes a packet to its node's middleboxes, in order along its flow.
    #[inline]
    pub(super) fn enter_node(&mut self, at: Time, node: NodeId, packet: &mut Packet) {
        // A link never answers at this instant, so steps are not needed.
        let acts = !self.nodes[node].boxes.is_empty()
            || packet.kind() == PacketKind::Datagram && self.routes.copies.are_made_at(node);
        let takes_no_step = !acts && !self.steps.are_taken && !packet.is_message();
        if !takes_no_step || self.find_way(at, node, packet) && !self.take_link(at, packet) {
            debug_assert!(at == self.now, "nothing runs ahead of time at nodes that act");
            self.enter_in_steps(node, *packet);
        }
    }

    #[inline(never)]
    fn enter_in_steps(&mut self, node: NodeId, packet: Packet) {
        if packet.is_message() && self.read_message(node, &packet) {
            return self.rearm_node(node);
        }
        let boxes = self.nodes[node].boxes.len();
        let first = if packet.is_to_sender() { boxes.wrapping_sub(1) } else { 0 };
        if self.steps.are_taken {
            self.steps.waiting.push_back((node, first, packet));
        } else {
            self.take_steps(Some((node, first, packet)));
        }
    }

    /// Passes packets from middlebox to middlebox, first come, first served, until no step waits at this instant. New steps
    /// wait their turn, so the answer of a host follows the step that caused it.
    fn take_steps(&mut self, first: Option<Step>) {
        if std::mem::replace(&mut self.steps.are_taken, true) {
            return;
        }
        self.steps.maker = None;
        let mut next = first.or_else(|| self.steps.waiting.pop_front());
        // A round is the steps that the round before it caused.
        let (mut rounds, mut left_in_round) = (0, self.steps.waiting.len());
        while let Some((node, position, packet)) = next {
            let boxes = self.nodes[node].boxes.len();
            if self.trouble.is_some() {
                self.steps.waiting.clear();
            } else if position < boxes {
                if packet.kind() == PacketKind::Engine {
                    self.note_unread(node, position, &packet);
                }
                self.call(node, position, 1, |middlebox, cx| middlebox.on_packet(packet, cx));
            } else {
                self.leave_node(node, packet);
            }
            self.rearm_node(node);
            next = self.steps.waiting.pop_front();
            if next.is_none() {
                break;
            }
            if left_in_round > 0 {
                left_in_round -= 1;
                continue;
            }
            left_in_round = self.steps.waiting.len();
            rounds += 1;
            if let (true, Some(maker)) = (rounds > FOLLOWING_MAX || left_in_round > WAITING_MAX, self.steps.maker) {
                self.fail(maker.0, maker.1, Trouble::Endless);
            }
        }
        self.steps.are_taken = false;
    }

    /// Counts a packet that a proxy passes on because it cannot read it.
    #[cold]
    fn note_unread(&mut self, node: NodeId, position: usize, packet: &Packet) {
        let middlebox = self.scenario.nodes[node].middleboxes.get(position);
        if middlebox.is_some_and(MiddleboxConfig::acknowledges) {
            self.traffic.on_unread(packet);
        }
    }

    /// Sets the next hop of a packet if the node decides it. Returns false if the node knows no route: the packet is lost.
    pub(super) fn find_way(&mut self, at: Time, node: NodeId, packet: &mut Packet) -> bool {
        if self.routes.leads(packet) {
            return true;
        }
        let Some(next) = self.routes.at(packet.path(), node) else {
            self.lose(at, LossPlace::Node(node), *packet, Cause::RouteMissing);
            return false;
        };
        packet.next = next;
        true
    }

    /// Calls a middlebox with `given` packets, and carries out its actions.
    fn call<T>(
        &mut self,
        node: NodeId,
        position: usize,
        given: usize,
        act: impl FnOnce(&mut AnyMiddlebox, &mut Context<'_>) -> T,
    ) -> Option<T> {
        if self.trouble.is_some() {
            return None;
        }
        let Self { now, nodes, links, routes, scenario, traffic, bodies, outbox, .. } = self;
        let middlebox = &mut nodes[node].boxes[position];
        let mut outlook = NodeOutlook { now: *now, node, links, routes, scenario, traffic, lost: Vec::new() };
        let owed = (given + middlebox.held()) as i64;
        outbox.returned = 0;
        let answer = act(middlebox, &mut Context { now: *now, bodies, outlook: &mut outlook, out: outbox });
        let (held, lost) = (middlebox.held(), outlook.lost);
        let accounted = held as i64 + self.outbox.returned;
        for (link, mut losses) in lost {
            self.losses.append(&mut losses);
            self.count_losses(link);
        }
        if accounted != owed {
            self.fail(node, position, Trouble::Forgot { owed, accounted });
        } else if held > HELD_MAX {
            self.fail(node, position, Trouble::Hoards);
        }
        self.carry_out(node, position);
        self.take_steps(None);
        Some(answer)
    }

    /// Ends the run; the first failure counts.
    #[cold]
    fn fail(&mut self, node: NodeId, position: usize, what: Trouble) {
        self.stop.get_or_insert(StopReason::Interrupted);
        let failure = Failure {
            node: self.scenario.nodes[node].name.clone(),
            middlebox: self.nodes[node].boxes[position].name(),
            position,
            at: self.now,
            what,
        };
        self.trouble.get_or_insert(failure);
    }

    fn carry_out(&mut self, node: NodeId, position: usize) {
        let mut actions = self.outbox.take();
        for action in actions.drain(..) {
            if matches!(action, Action::Emit(_) | Action::Remake(_) | Action::SendBack(_)) {
                self.steps.maker = Some((node, position));
            }
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
                    self.ports.on_taken(self.now, node, &packet, &mut self.bodies);
                    self.consume(&packet);
                    continue;
                }
                // Counts as a packet under way, so the slot of its connection is not reused.
                Action::Keep(packet) => {
                    self.traffic.on_made(&packet);
                    continue;
                }
                Action::LetGo(packet) => {
                    self.traffic.on_end(&packet);
                    continue;
                }
                Action::Answered(packet) => {
                    self.traffic.on_answered(&packet);
                    continue;
                }
                Action::Drop(packet, cause) => {
                    self.lose(self.now, LossPlace::Node(node), packet, cause);
                    continue;
                }
            };
            // In the direction of the packet; below zero wraps to "past the last".
            let next = if packet.is_to_sender() { position.wrapping_sub(1) } else { position + 1 };
            self.steps.waiting.push_back((node, next, packet));
        }
        self.outbox.give_back(actions);
    }

    /// Flows with state in middleboxes, plus blocks of packets in the pool; packets that middleboxes hold.
    #[cfg(test)]
    pub(crate) fn kept_by_functions(&self) -> (usize, usize) {
        let flows: usize = self.nodes.iter().flat_map(|node| &node.boxes).map(Middlebox::flows).sum();
        (flows + self.bodies.blocks(), self.nodes.iter().map(NodeState::held).sum())
    }

    /// Counts a packet that has reached its end.
    pub(super) fn consume(&mut self, packet: &Packet) {
        self.ledger.delivered += 1;
        if self.observers.is_any {
            self.see_taken(packet);
        }
        self.bodies.release(packet);
        self.traffic.on_end(packet);
    }

    /// Passes a corrupted packet to a node's middleboxes.
    pub(super) fn show_corrupted(&mut self, node: NodeId, packet: &Packet) {
        for position in 0..self.nodes[node].boxes.len() {
            self.call(node, position, 0, |middlebox, cx| middlebox.on_corrupted(packet, cx));
        }
        self.rearm_node(node);
    }

    /// Passes a message to the middleboxes of its node. Returns whether this is its node.
    fn read_message(&mut self, node: NodeId, packet: &Packet) -> bool {
        let Some(Message::ToNode(recipient, words)) = self.bodies.message(packet) else { return false };
        // A message to a node without middleboxes is lost at the host where its path ends.
        if recipient != node || self.nodes[node].boxes.is_empty() {
            return false;
        }
        let boxes = self.nodes[node].boxes.len();
        let read = |network: &mut Self, position| {
            network.call(node, position, 0, |middlebox, cx| middlebox.on_message(words, packet, cx)) == Some(true)
        };
        if (0..boxes).any(|position| read(self, position)) {
            self.consume(packet);
        } else {
            self.lose(self.now, LossPlace::Node(node), *packet, Cause::NoListener);
        }
        true
    }

    pub(super) fn wake_node(&mut self, node: NodeId) {
        let state = &mut self.nodes[node];
        // The schedule still has the instant of this wake-up: `rearm_node` must replace it.
        self.schedule.set(Source::Node(node), Time::NEVER);
        state.armed = Time::NEVER;
        state.woken = (self.now, if state.woken.0 == self.now { state.woken.1 + 1 } else { 0 });
        let is_endless = state.woken.1 > WAKE_UPS_MAX;
        for watch in 0..self.nodes[node].watches.len() {
            self.notify_departure(node, watch);
        }
        for position in 0..self.nodes[node].boxes.len() {
            if self.nodes[node].boxes[position].next_wakeup() <= self.now {
                if is_endless {
                    self.fail(node, position, Trouble::Endless);
                }
                self.call(node, position, 0, |middlebox, cx| middlebox.on_wakeup(cx));
            }
        }
        self.rearm_node(node);
    }

    /// Notifies middleboxes of the departure of a packet from a watched link, if it is due.
    fn notify_departure(&mut self, node: NodeId, watch: usize) {
        let Watch { link, due } = self.nodes[node].watches[watch];
        if due > self.now {
            return;
        }
        self.links[link].advance(self.now, &mut self.losses);
        self.count_losses(link);
        let free_at = self.links[link].free_at();
        self.nodes[node].watches[watch].due = if free_at > self.now { free_at } else { Time::NEVER };
        for position in 0..self.nodes[node].boxes.len() {
            if self.nodes[node].boxes[position].watches_queues() {
                let queue = self.links[link].queue_view(self.now);
                self.call(node, position, 0, |middlebox, cx| middlebox.on_departure(link, queue, cx));
            }
        }
    }

    pub(super) fn rearm_node(&mut self, node: NodeId) {
        let state = &mut self.nodes[node];
        for watch in &mut state.watches {
            let free_at = self.links[watch.link].free_at();
            if watch.due == Time::NEVER && free_at > self.now {
                watch.due = free_at;
            }
        }
        if state.boxes.is_empty() {
            return;
        }
        let departure = state.watches.iter().map(|watch| watch.due).min().unwrap_or(Time::NEVER);
        let due = state.boxes.iter().map(Middlebox::next_wakeup).min().unwrap_or(Time::NEVER);
        let due = due.min(departure).max(self.now);
        if due != state.armed {
            state.armed = due;
            self.schedule.set(Source::Node(node), due);
        }
    }
}

//! Packets at nodes: they take their steps from middlebox to middlebox, and leave by the choice of the node.

use super::boxes::{BoxStep, NodeOutlook};
use super::ends::Endpoints;
use super::motion::Motion;
use super::trouble::Trouble;
use crate::record::{LossPlace, StopReason};
use bentpipe_model::dictionary::Cause;
use bentpipe_model::ids::NodeId;
use bentpipe_model::middlebox::{Action, AnyMiddlebox, Context, Middlebox, MiddleboxConfig};
use bentpipe_model::packet::{Message, Packet, PacketKind};
use bentpipe_units::Time;

impl Motion {
    /// Passes a packet to its node's middleboxes, in order along its flow.
    #[inline]
    pub(super) fn enter_node(&mut self, at: Time, node: NodeId, packet: &mut Packet) {
        // A link never answers at this instant, so steps are not needed.
        let acts =
            self.boxes.count(node) > 0 || packet.kind() == PacketKind::Datagram && self.routes.copies.are_made_at(node);
        let takes_no_step = !acts && !self.boxes.are_taking_steps() && !packet.is_message();
        if !takes_no_step || self.find_way(at, node, packet) && !self.take_link(at, packet) {
            debug_assert!(at == self.now, "nothing runs ahead of time at nodes that act");
            self.enter_in_steps(node, *packet);
        }
    }

    /// Passes a packet to the middleboxes of its node step by step. A message that is for this node ends here.
    #[inline(never)]
    fn enter_in_steps(&mut self, node: NodeId, packet: Packet) {
        let boxes = self.boxes.count(node);
        // A message to a node without middleboxes is lost at the host where its path ends.
        let message = if packet.is_message() { self.ends.bodies.message(&packet) } else { None };
        let words = match message {
            Some(Message::ToNode(recipient, words)) if recipient == node && boxes > 0 => words,
            _ => {
                if let Some(first) = self.boxes.enter(node, packet) {
                    self.take_steps(first);
                }
                return;
            }
        };
        let read = |motion: &mut Self, position| {
            motion.call(node, position, 0, |middlebox, cx| middlebox.on_message(words, &packet, cx)) == Some(true)
        };
        if (0..boxes).any(|position| read(self, position)) {
            self.consume(&packet);
        } else {
            self.lose(self.now, LossPlace::Node(node), packet, Cause::NoListener);
        }
        self.rearm_node(node);
    }

    /// Passes packets from middlebox to middlebox, first come, first served, until no step waits at this instant. New steps
    /// wait their turn, so the answer of a host follows the step that caused it.
    fn take_steps(&mut self, first: BoxStep) {
        let mut next = Some(first);
        while let Some((node, position, packet)) = next {
            if self.boxes.trouble().is_some() {
                self.boxes.clear();
            } else if position < self.boxes.count(node) {
                if packet.kind() == PacketKind::Engine {
                    // A proxy passes it on, because it cannot read it.
                    let middlebox = self.scenario.nodes[node].middleboxes.get(position);
                    if middlebox.is_some_and(MiddleboxConfig::acknowledges) {
                        self.ends.traffic.on_unread(&packet);
                    }
                }
                self.call(node, position, 1, |middlebox, cx| middlebox.on_packet(packet, cx));
            } else {
                self.leave_node(node, packet);
            }
            self.rearm_node(node);
            next = self.boxes.next_step(&self.scenario, self.now);
        }
        if self.boxes.trouble().is_some() {
            self.stop.get_or_insert(StopReason::Interrupted);
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
    pub(super) fn call<T>(
        &mut self,
        node: NodeId,
        position: usize,
        given: usize,
        act: impl FnOnce(&mut AnyMiddlebox, &mut Context<'_>) -> T,
    ) -> Option<T> {
        let Self { now, boxes, links, routes, scenario, ends: Endpoints { traffic, bodies, .. }, .. } = self;
        let mut outlook =
            NodeOutlook { now: *now, node, links: &mut links.all, routes, scenario, traffic, lost: Vec::new() };
        let answer = boxes.call(position, given, &mut outlook, bodies, act);
        for (link, mut losses) in outlook.lost {
            self.links.losses.append(&mut losses);
            self.count_losses(link);
        }
        if self.boxes.trouble().is_some() {
            self.stop.get_or_insert(StopReason::Interrupted);
        }
        if answer.is_some() {
            self.carry_out(node, position);
            if let Some(first) = self.boxes.begin_steps() {
                self.take_steps(first);
            }
        }
        answer
    }

    fn carry_out(&mut self, node: NodeId, position: usize) {
        let mut actions = self.boxes.take_actions();
        for action in actions.drain(..) {
            if matches!(action, Action::Emit(_) | Action::Remake(_) | Action::SendBack(_)) {
                self.boxes.note_maker(node, position);
            }
            let packet = match action {
                Action::Forward(packet) => packet,
                Action::Remake(packet) if !self.ends.traffic.takes(&packet) => {
                    self.ends.bodies.release(&packet);
                    continue;
                }
                Action::Emit(packet) | Action::Remake(packet) => {
                    self.ledger.sent += 1;
                    self.ends.traffic.on_made(&packet);
                    packet
                }
                Action::SendBack(packet) => {
                    self.ends.traffic.on_end(&packet);
                    self.ends.traffic.on_made(&packet.turned());
                    packet.turned()
                }
                Action::Consume(packet) | Action::Accept(packet) => {
                    self.ends.traffic.on_taken(&packet, matches!(action, Action::Accept(_)));
                    self.ports.on_taken(self.now, node, &packet, &mut self.ends.bodies);
                    self.consume(&packet);
                    continue;
                }
                // Counts as a packet under way, so the slot of its connection is not reused.
                Action::Keep(packet) => {
                    self.ends.traffic.on_made(&packet);
                    continue;
                }
                Action::LetGo(packet) => {
                    self.ends.traffic.on_end(&packet);
                    continue;
                }
                Action::Answered(packet) => {
                    self.ends.traffic.on_answered(&packet);
                    continue;
                }
                Action::Drop(packet, cause) => {
                    self.lose(self.now, LossPlace::Node(node), packet, cause);
                    continue;
                }
            };
            self.boxes.pass_on(node, position, packet);
        }
        self.boxes.give_back(actions);
    }

    /// Counts a packet that has reached its end.
    pub(super) fn consume(&mut self, packet: &Packet) {
        self.ledger.delivered += 1;
        if self.observers.is_any {
            let (observers, scene) = self.observe();
            observers.on_taken(scene, packet);
        }
        self.ends.bodies.release(packet);
        self.ends.traffic.on_end(packet);
    }

    /// Wakes the middleboxes of a node.
    pub(super) fn wake_node(&mut self, node: NodeId) {
        let is_endless = self.boxes.begin_wakeup(node, self.now, &mut self.schedule);
        for watch in 0..self.boxes.watches(node) {
            let Some(link) = self.boxes.departed(node, watch, self.now) else { continue };
            self.links.all[link].advance(self.now, &mut self.links.losses);
            self.count_losses(link);
            self.boxes.watch_next(node, watch, self.now, self.links.all[link].free_at());
            for position in 0..self.boxes.count(node) {
                if self.boxes.watches_queues(node, position) {
                    let queue = self.links.all[link].queue_view(self.now);
                    self.call(node, position, 0, |middlebox, cx| middlebox.on_departure(link, queue, cx));
                }
            }
        }
        for position in 0..self.boxes.count(node) {
            if self.boxes.is_due(node, position, self.now) {
                if is_endless {
                    self.boxes.fail(&self.scenario, (node, position), self.now, Trouble::Endless);
                }
                self.call(node, position, 0, |middlebox, cx| middlebox.on_wakeup(cx));
            }
        }
        self.rearm_node(node);
    }

    /// Schedules the next wake-up of a node.
    pub(super) fn rearm_node(&mut self, node: NodeId) {
        self.boxes.rearm(node, self.now, &self.links.all, &mut self.schedule);
    }
}

//! Through the middleboxes of a node.

use super::Network;
use crate::engine::Source;
use crate::ids::NodeId;
use crate::middlebox::{Action, Middlebox, Side};
use crate::packet::Packet;
use crate::record::LossPlace;
use bentpipe_units::Time;

impl Network {
    /// A packet meets its node's middleboxes, in order along its flow.
    pub(super) fn enter_node(&mut self, node: NodeId, packet: Packet) {
        let boxes = self.nodes[node].len();
        let first = if packet.is_to_sender() { boxes.wrapping_sub(1) } else { 0 };
        self.pass(node, first, packet);
        self.rearm_node(node);
    }

    /// A packet reaches position `position` of a node's middleboxes; past the last one it leaves the node.
    fn pass(&mut self, node: NodeId, position: usize, packet: Packet) {
        let Some(middlebox) = self.nodes[node].get_mut(position) else {
            return self.forward(node, &packet);
        };
        middlebox.on_packet(self.now, Side::origin_of(&packet), packet, &mut self.outbox);
        self.carry_out(node, position);
    }

    fn carry_out(&mut self, node: NodeId, position: usize) {
        let mut actions = self.outbox.take();
        for action in actions.drain(..) {
            match action {
                Action::Forward(packet) => self.pass(node, beyond(position, &packet), packet),
                Action::Duplicate(packet) => {
                    let copy = self.bodies.copy_of(&packet);
                    self.ledger.sent += 1;
                    self.traffic.on_copy(&packet);
                    self.pass(node, beyond(position, &copy), copy);
                }
                Action::Drop(packet, cause) => self.lose(LossPlace::Node(node), packet, cause),
            }
        }
        self.outbox.give_back(actions);
    }

    pub(super) fn wake_node(&mut self, node: NodeId) {
        for position in 0..self.nodes[node].len() {
            let middlebox = &mut self.nodes[node][position];
            if middlebox.next_wakeup() <= self.now {
                middlebox.on_wakeup(self.now, &mut self.outbox);
                self.carry_out(node, position);
            }
        }
        self.rearm_node(node);
    }

    fn rearm_node(&mut self, node: NodeId) {
        let due = self.nodes[node].iter().map(Middlebox::next_wakeup).min().unwrap_or(Time::NEVER);
        self.schedule.set(Source::Node(node), due);
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

//! Subflows of flows over several paths in the naive engine.

use super::Reference;
use crate::ids::EndpointId;
use crate::packet::Packet;
use crate::spec::Change;
use crate::traffic::event_kind;

impl Reference<'_> {
    /// A segment of a subflow has reached its host.
    pub(super) fn receive_in_group(&mut self, packet: &Packet) {
        self.traffic.group_receives(self.now, packet, &mut self.bodies);
        self.drive_group(packet.endpoint());
    }

    /// Wakes an endpoint of a group. It sends before its siblings get data.
    pub(super) fn act_in_group(&mut self, endpoint: EndpointId) {
        self.traffic.wake_in_group(self.now, endpoint);
        self.take_subflow_events(endpoint);
        self.transmit_by_turns(endpoint);
        self.transmit_subflow(endpoint);
        self.drive_group(endpoint);
    }

    /// Sends what an end of a group has to send, and enters its wake-ups.
    pub(super) fn drive_group(&mut self, endpoint: EndpointId) {
        self.take_subflow_events(endpoint);
        self.transmit_by_turns(endpoint);
        self.traffic.group_events(self.now, endpoint, &mut self.recorder);
        if self.traffic.has_group_goal(endpoint) {
            self.traffic.on_group_goal(self.now, endpoint, &mut self.recorder);
        }
        self.transmit_by_turns(endpoint);
        self.traffic.settle_group(self.now, endpoint, &mut self.recorder);
        let siblings: Vec<EndpointId> = self.traffic.siblings(endpoint).collect();
        siblings.into_iter().for_each(|sibling| self.enter_end(sibling));
        self.carry_out_tasks();
    }

    /// Notifies groups of a change of the network.
    pub(super) fn tell_groups(&mut self, change: &Change) {
        let told = self.traffic.tell_groups(self.now, change);
        told.into_iter().for_each(|endpoint| self.enter_end(endpoint));
    }

    fn transmit_by_turns(&mut self, endpoint: EndpointId) {
        while let Some(subflow) = self.traffic.next_subflow(self.now, endpoint) {
            self.transmit_subflow(subflow);
        }
    }

    fn transmit_subflow(&mut self, endpoint: EndpointId) {
        self.transmit(endpoint);
        self.take_subflow_events(endpoint);
    }

    fn take_subflow_events(&mut self, endpoint: EndpointId) {
        while let Some(event) = self.traffic.hosts[endpoint].conn.poll() {
            self.traffic.on_subflow_event(self.now, endpoint, event);
            if self.traffic.hosts[endpoint].sends_data {
                if let Some((kind, value)) = event_kind(event, endpoint.is_opener()) {
                    self.note(self.traffic.entity(endpoint), kind, value);
                }
            }
        }
    }
}

//! Endpoints of subflows: segments arrive, metas and connections act, each at its own instant `at`. All ends of a group act
//! after one another, never ahead of time.

use super::Network;
use crate::dictionary::Cause;
use crate::ids::{EndpointId, NodeId};
use crate::packet::Packet;
use crate::record::LossPlace;
use crate::spec::Change;
use bentpipe_units::Time;

impl Network {
    /// A segment of a subflow has reached its host.
    #[cold]
    pub(super) fn receive_in_group(&mut self, at: Time, node: NodeId, packet: &Packet) {
        let endpoint = packet.endpoint();
        if !self.traffic.hosts[endpoint].is_listening() {
            return self.lose(at, LossPlace::Node(node), *packet, Cause::NoListener);
        }
        self.ledger.delivered += 1;
        self.traffic.group_receives(at, packet, &mut self.bodies);
        self.drive_group(at, endpoint);
    }

    /// Wakes an endpoint of a group.
    pub(super) fn act_in_group(&mut self, at: Time, endpoint: EndpointId) {
        self.traffic.wake_in_group(at, endpoint);
        self.take_subflow_events(at, endpoint);
        // First, because a tail loss probe prefers new data to a copy.
        self.transmit_by_turns(at, endpoint);
        self.transmit_in_group(at, endpoint);
        self.drive_group(at, endpoint);
    }

    /// Sends what an end of a group has to send, takes its events, schedules its wake-ups. `endpoint` is that of the subflow that
    /// acted.
    pub(super) fn drive_group(&mut self, at: Time, endpoint: EndpointId) {
        self.take_subflow_events(at, endpoint);
        self.transmit_by_turns(at, endpoint);
        if self.traffic.group_events(at, endpoint, &mut self.recorder) {
            self.update_horizon(self.now);
        }
        if self.traffic.has_group_goal(endpoint) {
            self.traffic.on_group_goal(at, endpoint, &mut self.recorder);
            if self.observers.is_any {
                self.trace_completions(endpoint);
            }
        }
        // The application may have closed, or given more data.
        self.transmit_by_turns(at, endpoint);
        self.traffic.settle_group(at, endpoint, &mut self.recorder);
        let mut subflow = 0;
        while let Some(endpoint) = self.traffic.sibling(endpoint, subflow) {
            self.rearm_late(endpoint);
            subflow += 1;
        }
        self.carry_out_tasks(at);
    }

    /// Lets the subflows of an end send by the choice of its meta.
    fn transmit_by_turns(&mut self, at: Time, endpoint: EndpointId) {
        while let Some(subflow) = self.traffic.next_subflow(at, endpoint) {
            self.transmit_in_group(at, subflow);
        }
    }

    fn transmit_in_group(&mut self, at: Time, endpoint: EndpointId) {
        while let Some(mut packet) = self.traffic.hosts[endpoint].next_packet(at, &mut self.bodies) {
            self.depart(at, endpoint, &mut packet);
        }
        self.take_subflow_events(at, endpoint);
    }

    fn take_subflow_events(&mut self, at: Time, endpoint: EndpointId) {
        while let Some(event) = self.traffic.hosts[endpoint].conn.poll() {
            self.traffic.on_subflow_event(at, endpoint, event);
            self.record_event(at, endpoint, event);
        }
    }

    /// Notifies groups of a change of the network.
    pub(super) fn tell_groups(&mut self, change: &Change) {
        for endpoint in self.traffic.tell_groups(self.now, change) {
            self.rearm_late(endpoint);
        }
    }
}

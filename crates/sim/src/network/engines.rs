//! Endpoints with engines: datagrams arrive, engines act, each at its own instant `at`.

use super::Network;
use crate::dictionary::Cause;
use crate::ids::{EndpointId, LaneId, NodeId};
use crate::packet::Packet;
use crate::record::LossPlace;

use bentpipe_units::Time;

impl Network {
    /// A datagram of an engine has reached its host.
    pub(super) fn receive_engine(&mut self, at: Time, node: NodeId, packet: &Packet) {
        if self.observers.is_any {
            self.see_arrival(node, packet);
        }
        if !self.traffic.engine_receives(at, packet, &self.bodies) {
            return self.lose(at, LossPlace::Node(node), *packet, Cause::NoListener);
        }
        self.ledger.delivered += 1;
        self.bodies.release(packet);
        self.drive_engine(at, packet.endpoint());
    }

    /// Notifies the engine of a lane of its new links. The routes at the start of a run are no change.
    pub(super) fn change_lane(&mut self, lane: LaneId) {
        if self.now == Time::ZERO {
            return;
        }
        if let Some(endpoint) = self.traffic.change_lane(self.now, lane) {
            self.drive_engine(self.now, endpoint);
        }
    }

    /// Takes events of an engine, sends its datagrams, schedules its wake-up.
    pub(super) fn drive_engine(&mut self, at: Time, endpoint: EndpointId) {
        self.traffic.engine_events(at, endpoint, &mut self.recorder);
        if self.observers.is_any {
            self.trace_completions(endpoint);
        }
        while let Some(mut packet) = self.traffic.engine_packet(at, endpoint, &mut self.bodies) {
            self.ledger.sent += 1;
            if self.observers.is_any {
                self.see_sent(&packet);
            }
            self.launch(at, &mut packet);
        }
        self.traffic.settle_engine(at, endpoint, &mut self.recorder);
        self.rearm_late(endpoint);
        self.carry_out_tasks(at);
    }
}

//! Packets of strangers: given to the two ends of a flow from outside, each for an instant.

use super::flow::AppState;
use super::Traffic;
use crate::ids::FlowId;
use crate::packet::Packet;
use crate::record::Arrived;
use bentpipe_units::Time;
use std::collections::VecDeque;

/// What a flow of kind `port` waits for, and what became of its packets.
#[derive(Clone, Debug, Default)]
pub(super) struct PortState {
    /// In order of time; those for one instant in the order in which they were given.
    entering: VecDeque<(Time, Packet)>,
    pub(super) arrived: Arrived,
}

impl Traffic {
    /// A packet is going to enter at `at`.
    pub(crate) fn enter_later(&mut self, at: Time, flow: FlowId, packet: Packet) {
        let state = &mut self.flows[flow];
        state.timer = state.timer.min(at);
        if let AppState::Port(port) = &mut state.app_state {
            let place = port.entering.partition_point(|entering| entering.0 <= at);
            port.entering.insert(place, (at, packet));
        }
    }

    /// The packet that enters now, if there is one.
    pub(crate) fn take_entering(&mut self, now: Time, flow: FlowId) -> Option<Packet> {
        let state = &mut self.flows[flow];
        let AppState::Port(port) = &mut state.app_state else { return None };
        let (_, packet) = port.entering.front().copied().filter(|entering| entering.0 <= now)?;
        port.entering.pop_front();
        state.timer = port.entering.front().map_or(Time::NEVER, |entering| entering.0);
        state.totals_mut().on_datagram_sent(now, packet.len.into(), packet.size());
        Some(packet)
    }

    /// Packets that have been given for later.
    pub(crate) fn entering(&self) -> usize {
        let entering = |state: &super::FlowState| match &state.app_state {
            AppState::Port(port) => port.entering.len(),
            _ => 0,
        };
        self.flows.iter().map(entering).sum()
    }
}

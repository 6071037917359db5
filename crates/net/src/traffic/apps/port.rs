//! Packets from outside the simulator: given to the two ends of a flow, each for an instant.

use super::contract::{Application, Draws};
use crate::traffic::sessions::FlowSessions;
use bentpipe_model::packet::Packet;
use bentpipe_units::Time;
use std::collections::VecDeque;

/// Packets that enter later, in order of time. Packets for one instant keep the order in which they were given.
#[derive(Clone, Debug, Default)]
pub(in crate::traffic) struct PortState(VecDeque<(Time, Packet)>);

impl PortState {
    pub(in crate::traffic) fn insert(&mut self, at: Time, packet: Packet) {
        let place = self.0.partition_point(|entering| entering.0 <= at);
        self.0.insert(place, (at, packet));
    }

    /// Takes the packet that enters now, if any.
    pub(in crate::traffic) fn take(&mut self, now: Time) -> Option<Packet> {
        self.0.front().filter(|entering| entering.0 <= now)?;
        self.0.pop_front().map(|(_, packet)| packet)
    }

    /// Instant when the next packet enters.
    pub(in crate::traffic) fn next(&self) -> Time {
        self.0.front().map_or(Time::NEVER, |entering| entering.0)
    }

    pub(in crate::traffic) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Application for PortState {
    type Spec = ();

    fn new((): (), _draws: &Draws<'_>) -> Self {
        Self::default()
    }

    /// Leaves the timer alone: the first packet sets it.
    fn set_up(&mut self, _sessions: &mut FlowSessions<'_>) {}

    fn wake(&mut self, sessions: &mut FlowSessions<'_>) {
        sessions.enter();
    }
}

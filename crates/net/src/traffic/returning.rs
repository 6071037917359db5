//! Subflows that join again: each over a new connection, in a new slot. So a packet of the former connection finds the closed
//! connection, and never the new one. The opener changes over when it joins, the listener when the SYN arrives.

use super::dispatch::Traffic;
use super::goal::End;
use super::groups::{GroupPart, SubflowPlace};
use super::pool::{group_of, Task};
use super::sessions::FlowSessions;
use bentpipe_model::ids::EndpointId;
use bentpipe_model::packet::Packet;
use bentpipe_tcp::Flags;
use bentpipe_units::Time;
use std::sync::Arc;

impl FlowSessions<'_> {
    /// Opens a connection for a subflow.
    pub(super) fn open_subflow(&mut self, place: SubflowPlace) -> usize {
        let state = self.flows[self.id].multi.as_ref().map(|multi| &multi.paths[place.subflow]);
        let (config, lane) = state.map(|path| (Arc::clone(&path.config), path.lane)).unwrap_or_else(|| {
            let flow = &self.flows[self.id];
            (Arc::default(), flow.lane)
        });
        self.open_connection(&config, lane, Some(place))
    }

    /// Opens another slot for a subflow of the session in slot `head`.
    fn open_again(&mut self, head: usize, subflow: usize) {
        let session = &self.pool.sessions[head];
        let (ordinal, is_released) = (session.ordinal, session.is_released);
        let (group, _) = group_of(self.pool, self.hosts, head);
        let earlier = group.connections.iter().filter(|connection| connection.1 == subflow).count() as u64;
        let slot = self.open_subflow(SubflowPlace { subflow, ordinal, earlier });
        let session = &mut self.pool.sessions[slot];
        session.group = Some(Box::new(GroupPart::Member { head, subflow }));
        session.is_released = is_released;
        if is_released {
            // As in all connections of the session, its time counts for no cause any more.
            EndpointId::both(slot).into_iter().for_each(|end| self.hosts[end].stopwatch = None);
        }
        group_of(self.pool, self.hosts, head).0.connections.push((slot, subflow));
        self.pool.tasks.push_back(Task::Join(EndpointId::opener(slot)));
    }
}

/// A subflow of the session of this endpoint needs another connection.
pub(super) fn reopen(traffic: &mut Traffic, now: Time, head: EndpointId, subflow: usize) {
    let flow = traffic.hosts[head].flow;
    traffic.lend(now, flow).1.open_again(head.slot(), subflow);
}

/// The opener joins over the new connection of this endpoint.
pub(crate) fn join_again(traffic: &mut Traffic, now: Time, endpoint: EndpointId) {
    let Some((head, subflow)) = traffic.pool.place_in_group(endpoint.slot()) else { return };
    let Some((group, hosts)) = traffic.group(head) else { return };
    group.slots[End::Opener as usize][subflow] = endpoint.slot();
    let (end, mut connections) = group.at(End::Opener, hosts);
    end.meta.join(now, subflow, &mut connections);
}

/// Whether a packet is the SYN of a subflow that joins again, and its listener accepts it. A late one, of a former attempt, finds
/// no listener.
pub(crate) fn may_join(traffic: &Traffic, packet: &Packet) -> bool {
    let endpoint = packet.endpoint();
    let (sessions, slot) = (&traffic.pool.sessions, endpoint.slot());
    let Some((head, subflow)) = traffic.pool.place_in_group(slot) else { return false };
    let Some(GroupPart::Head(group)) = sessions[head].group.as_deref() else { return false };
    let present = group.slots[End::Listener as usize][subflow];
    let is_new = sessions[slot].earlier > sessions[present].earlier;
    !endpoint.is_opener()
        && is_new
        && packet.plain_segment().flags.has(Flags::SYN)
        && group.ends[End::Listener as usize].meta.is_wanted()
}

/// The listener of a subflow changes over to the connection of this endpoint. The former one may have a reset to send.
pub(super) fn take_over(traffic: &mut Traffic, now: Time, endpoint: EndpointId) {
    let Some((head, subflow)) = traffic.pool.place_in_group(endpoint.slot()) else { return };
    let Some((group, hosts)) = traffic.group(head) else { return };
    let former = End::Listener.of_slot(group.slots[End::Listener as usize][subflow]);
    let (end, mut connections) = group.at(End::Listener, hosts);
    end.meta.make_way(now, subflow, &mut connections);
    group.slots[End::Listener as usize][subflow] = endpoint.slot();
    let (end, mut connections) = group.at(End::Listener, hosts);
    end.meta.await_join(now, subflow, &mut connections);
    let host = &mut traffic.hosts[former];
    if let Some(multi) = traffic.flows[host.flow].multi.as_deref_mut() {
        host.turn(now, &mut multi.paths[subflow].downtime);
    }
    traffic.pool.tasks.push_back(Task::Drive(former));
}

/// Whether an endpoint was that of a subflow which has another connection now.
pub(crate) fn is_former(traffic: &Traffic, endpoint: EndpointId) -> bool {
    traffic
        .pool
        .place_in_group(endpoint.slot())
        .is_some_and(|(_, subflow)| traffic.sibling(endpoint, subflow).is_some_and(|present| present != endpoint))
}

/// Returns the former endpoints whose timers may have changed with those of a group: that which acted, and that which keeps the
/// timers of the group.
pub(crate) fn formers(traffic: &Traffic, endpoint: EndpointId) -> [Option<EndpointId>; 2] {
    [endpoint, traffic.head_of(endpoint)].map(|end| Some(end).filter(|end| is_former(traffic, *end)))
}

/// Returns the number of the session of a packet in its flow. That of its connection is another, if its subflow has joined again.
pub(crate) fn session_of(traffic: &Traffic, packet: &Packet) -> u32 {
    match traffic.pool.sessions.get(packet.endpoint().slot()) {
        Some(session) if session.earlier > 0 && packet.is_segment() => session.ordinal as u32,
        _ => packet.connection(),
    }
}

/// Returns the number of a connection among those of its session.
#[cfg(test)]
pub(crate) fn rank_in_session(traffic: &Traffic, slot: usize) -> usize {
    traffic.pool.rank_in_session(slot)
}

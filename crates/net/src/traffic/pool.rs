//! The pool of sessions, and the tasks that applications have for the network.

use super::engines::EngineSession;
use super::goal::Over;
use super::groups::{GroupPart, GroupSession};
use super::host::Hosts;
use super::totals::OneSession;
use bentpipe_model::ids::{EndpointId, FlowId, NodeId, PathId};
use bentpipe_model::packet::Request;
use bentpipe_tcp::multi::Meta;
use bentpipe_tcp::PathCache;
use bentpipe_units::Time;
use std::collections::{BTreeMap, VecDeque};

/// Request that an application has for the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// A session begins in this slot: earlier wake-ups of its endpoints are cancelled, and both can act.
    Begin(usize),
    /// This endpoint may have data to send.
    Drive(EndpointId),
    /// The timer of this flow has changed.
    Rearm(FlowId),
    /// A subflow joins again, over the connection of this endpoint.
    Join(EndpointId),
    /// A datagram with this many payload bytes leaves on this path. It is of this instant: an answer is of its probe's.
    Send(PathId, u16, Time),
    /// A packet that was given to this flow's port enters.
    Enter(FlowId),
}

/// Use of a slot by one connection.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) flow: FlowId,
    /// Earlier sessions of its flow, count.
    pub(crate) ordinal: u64,
    /// Earlier connections of its subflow in the same session over several paths, count.
    pub(super) earlier: u64,
    /// Whether its application has left it.
    pub(super) is_released: bool,
    pub(super) transfer: TransferUnderWay,
    /// Bytes that the opener was given to send.
    pub(super) asked: u64,
    /// Bytes that the listener, or a middlebox in its place, was given to send.
    pub(super) answered: u64,
    /// Bytes of requests that a middlebox has answered: the listener does not receive them.
    pub(super) unseen: u64,
    /// The last request, if it names an object.
    pub(super) request: Option<Box<Request>>,
    /// Its ends, if it is over another transport than TCP.
    pub(super) engine: Option<Box<EngineSession>>,
    /// Its part in a session over several paths.
    pub(super) group: Option<Box<GroupPart>>,
}

/// Transfer that a connection carries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TransferUnderWay {
    pub(super) index: u64,
    pub(super) size: u64,
    pub(super) start: Time,
    /// Instant when the last byte was received, if that was before it was acknowledged.
    pub(super) received: Option<Time>,
    /// Instant when the last byte was acknowledged, if that was before it was received.
    pub(super) acked: Option<Time>,
}

/// State that the sessions of all flows share.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    /// Sessions by slot.
    pub(super) sessions: Vec<Session>,
    /// Slots that their applications have released, the oldest first.
    pub(super) released: VecDeque<usize>,
    /// Slots of subflows that nothing uses.
    pub(super) spare: Vec<usize>,
    pub(super) tasks: VecDeque<Task>,
    /// Whether tasks are carried out now.
    pub(super) is_at_tasks: bool,
    /// Flows that have neither completed nor failed, endless flows included.
    pub(super) unfinished: usize,
    /// Whether slots are reused.
    pub(super) reuses_slots: bool,
    /// Whether connections measure delivery rates.
    pub(super) measures_rates: bool,
    /// Knowledge of the path from a node to another node, for later connections (RFC 9040, RFC 7413, RFC 1644).
    pub(super) caches: BTreeMap<[NodeId; 2], PathCache>,
    /// Receivers of the datagrams of each flow with several, the flow itself first.
    pub(super) receivers: BTreeMap<FlowId, Vec<FlowId>>,
    /// Connection count of the latest endpoint: one counter serves all hosts (RFC 1644 §2.1).
    pub(super) counts: u32,
}

impl Pool {
    pub(super) fn new(flows: usize, reuses_slots: bool, measures_rates: bool) -> Self {
        Self {
            sessions: Vec::with_capacity(flows),
            released: VecDeque::new(),
            spare: Vec::new(),
            tasks: VecDeque::new(),
            is_at_tasks: false,
            unfinished: flows,
            reuses_slots,
            measures_rates,
            receivers: BTreeMap::new(),
            caches: BTreeMap::new(),
            counts: 1,
        }
    }
}

impl Pool {
    /// Returns the session in a slot as its application names it.
    pub(super) fn over(&self, slot: usize) -> Over {
        let session = &self.sessions[slot];
        match session.engine {
            Some(_) => Over::Engine(slot),
            None if session.group.is_some() => Over::Group(slot),
            None => Over::Tcp(slot),
        }
    }

    /// Returns the slot of the session that a subflow belongs to, and the number of the subflow.
    pub(super) fn place_in_group(&self, slot: usize) -> Option<(usize, usize)> {
        match self.sessions[slot].group.as_deref()? {
            GroupPart::Head(_) => Some((slot, 0)),
            GroupPart::Member { head, subflow } => Some((*head, *subflow)),
            GroupPart::Spare => None,
        }
    }

    /// Returns the number of a connection among those of its session.
    pub(super) fn rank_in_session(&self, slot: usize) -> usize {
        let subflow = self.place_in_group(slot).map_or(0, |(_, subflow)| subflow);
        subflow + self.sessions[slot].earlier as usize * Meta::SUBFLOWS_MAX
    }

    /// Returns the slots of the groups of a flow in which something may happen, in the order of their opening.
    pub(super) fn heads_of(&self, flow: FlowId, hosts: &Hosts) -> Vec<usize> {
        let sessions = self.sessions.iter().enumerate().filter(|(_, session)| session.flow == flow);
        let may_act = |group: &GroupSession, is_released: bool| !is_released || !group.is_done(hosts);
        let mut heads: Vec<(u64, usize)> = sessions
            .filter_map(|(slot, session)| match session.group.as_deref()? {
                GroupPart::Head(group) => may_act(group, session.is_released).then_some((session.ordinal, slot)),
                _ => None,
            })
            .collect();
        heads.sort_unstable();
        heads.into_iter().map(|(_, slot)| slot).collect()
    }
}

impl Session {
    /// Returns what its counters need.
    pub(super) fn counted(&self) -> OneSession<'_> {
        OneSession { ordinal: self.ordinal, engine: self.engine.as_deref() }
    }

    pub(super) fn new(flow: FlowId, ordinal: u64) -> Self {
        Self {
            flow,
            ordinal,
            earlier: 0,
            is_released: false,
            transfer: TransferUnderWay::default(),
            asked: 0,
            answered: 0,
            unseen: 0,
            request: None,
            engine: None,
            group: None,
        }
    }
}

/// Returns the session over several paths in a slot, and the hosts.
///
/// # Panics
/// The session is over one path.
pub(super) fn group_of<'a>(
    pool: &'a mut Pool,
    hosts: &'a mut Hosts,
    slot: usize,
) -> (&'a mut GroupSession, &'a mut Hosts) {
    match pool.sessions[slot].group.as_deref_mut() {
        Some(GroupPart::Head(group)) => (group, hosts),
        _ => panic!("a session over several paths"),
    }
}

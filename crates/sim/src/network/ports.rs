//! The network as a component that lives in time: packets are given to ports from outside and taken out there, and whoever
//! drives it says how far time goes.

use super::Network;
use crate::dictionary::Cause;
use crate::ids::{FlowId, LinkId, NodeId, PathId};
use crate::packet::{Bodies, Carried, Packet};
use crate::record::{LossPlace, StopReason};
use crate::spec::{App, Scenario};
use bentpipe_tcp::Ecn;
use bentpipe_units::Time;
use std::fmt;

/// Where packets of strangers enter the network, and leave it: one end of a flow of kind `port`. What enters at one end leaves
/// at the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(PathId);

impl PortId {
    /// That by which the packets of a path enter.
    #[cfg(test)]
    pub(crate) fn of(path: PathId) -> Self {
        Self(path)
    }

    /// That of the packets which enter here.
    #[cfg(test)]
    pub(crate) fn path(self) -> PathId {
        self.0
    }
}

/// A packet that has left the network by a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// When.
    pub at: Time,
    /// Where.
    pub port: PortId,
    /// When it entered.
    pub entered: Time,
    /// Bytes on the wire.
    pub size: u64,
    /// Whether a queue marked it (CE).
    pub is_marked: bool,
    /// What it was given with.
    pub bytes: Box<[u8]>,
}

/// A packet that entered by a port and was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// When; of a packet that was lost on a link, when it would have arrived.
    pub at: Time,
    /// Where it entered.
    pub port: PortId,
    /// When it entered.
    pub entered: Time,
    /// The link, with its direction, or the node where it was lost.
    pub place: String,
    /// Why.
    pub cause: Cause,
    /// Bytes on the wire.
    pub size: u64,
    /// What it was given with.
    pub bytes: Box<[u8]>,
}

/// A packet that entered by a port and has reached its end at a function of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// When.
    pub at: Time,
    /// Where it entered.
    pub port: PortId,
    /// When it entered.
    pub entered: Time,
    /// The node of the function.
    pub place: String,
    /// Bytes on the wire.
    pub size: u64,
}

/// Why a packet was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The network has gone beyond that instant.
    Past {
        /// When it was to enter.
        at: Time,
        /// Where the network is.
        now: Time,
    },
    /// The run is over, or will be by then.
    Over,
    /// There is no such port.
    NoPort,
    /// It is larger than what a link or queue on the way ever takes, or than IP packets are, or smaller than its headers.
    Size {
        /// Bytes on the wire.
        size: u64,
        /// The smallest and the largest that can pass.
        takes: (u64, u64),
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Past { at, now } => {
                let (at, now) = (at.as_secs_f64(), now.as_secs_f64());
                write!(f, "a packet cannot enter at {at:.9} s: the network is at {now:.9} s already")
            }
            Self::Over => write!(f, "no packet can enter: the run has ended by then"),
            Self::NoPort => write!(f, "no such port: expected one of this network's"),
            Self::Size { size, takes: (least, most) } => {
                write!(f, "a packet of {size} B cannot pass: expected {least} to {most} B, headers included")
            }
        }
    }
}

impl std::error::Error for Refused {}

/// What has left by the ports and was not taken out yet.
#[derive(Debug, Default)]
pub(super) struct Ports {
    /// Flows of kind `port`, in order.
    flows: Vec<FlowId>,
    delivered: Vec<Delivered>,
    /// Their places are named when they are asked for.
    lost: Vec<(LossPlace, Lost)>,
    taken: Vec<(NodeId, Taken)>,
    /// Whether functions of the network act on real packets.
    are_real: bool,
}

impl Ports {
    pub(super) fn of(scenario: &Scenario, are_real: bool) -> Self {
        let flows = FlowId::all(scenario.flows.len()).zip(&scenario.flows);
        let flows = flows.filter(|(_, flow)| *flow.app == App::Port).map(|(id, _)| id).collect();
        Self { flows, are_real, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// A packet was lost; if it had entered by a port, it comes out of `drain_lost`.
    pub(super) fn on_loss(&mut self, now: Time, place: LossPlace, cause: Cause, packet: &Packet, bodies: &mut Bodies) {
        if self.flows.is_empty() {
            return;
        }
        if let Some((entered, bytes)) = bodies.take_bytes(packet) {
            let (port, size) = (PortId(packet.path()), packet.size());
            self.lost.push((place, Lost { at: now, port, entered, place: String::new(), cause, size, bytes }));
        }
    }
}

impl Ports {
    /// A function of the network has taken a packet; if it had entered by a port, it comes out of `drain_taken`.
    pub(super) fn on_taken(&mut self, now: Time, node: NodeId, packet: &Packet, bodies: &mut Bodies) {
        if !self.are_real {
            return;
        }
        if let Some((entered, _)) = bodies.take_bytes(packet) {
            let (port, size) = (PortId(packet.path()), packet.size());
            self.taken.push((node, Taken { at: now, port, entered, place: String::new(), size }));
        }
    }
}

impl Network {
    /// The ends of a flow of kind `port`: at the node that it comes from, and at that to which it goes.
    ///
    /// # Errors
    /// There is no such flow, or it is of another kind.
    pub fn ports(&self, flow: &str) -> Result<[PortId; 2], Refused> {
        let mut named = self.ports.flows.iter().filter(|&&id| self.scenario.flows[id].name == flow);
        named.next().map(|&id| PathId::both(id).map(PortId)).ok_or(Refused::NoPort)
    }

    /// A packet enters at `at`, not before [`now`](Self::now): `size` bytes with all headers, of which an IP header (and what
    /// follows, up to 255 B) are `header_len`; `bytes` come out as they went in, and may be none where only the size matters.
    ///
    /// # Errors
    /// Where it cannot be; then nothing has changed.
    pub fn inject(
        &mut self,
        at: Time,
        port: PortId,
        size: u64,
        header_len: u8,
        bytes: Box<[u8]>,
    ) -> Result<(), Refused> {
        let PortId(path) = port;
        let flow = path.flow();
        if !self.ports.flows.contains(&flow) {
            return Err(Refused::NoPort);
        }
        if self.stop.is_some() || at > self.bounds.end {
            return Err(Refused::Over);
        }
        if at < self.now {
            return Err(Refused::Past { at, now: self.now });
        }
        let takes = (u64::from(header_len).max(1), self.largest(path));
        let payload = u16::try_from(size.saturating_sub(header_len.into()));
        let (Ok(len), true) = (payload, (takes.0..=takes.1).contains(&size)) else {
            return Err(Refused::Size { size, takes });
        };
        let body = self.bodies.loads.insert(Carried::Bytes { entered: at, bytes }.into());
        let class = self.scenario.flows[flow].class;
        let packet = Packet::foreign(path, len, header_len, body).in_class(class);
        self.traffic.enter_later(at, flow, packet);
        self.rearm_flow(flow);
        Ok(())
    }

    /// The largest packet that all queues on a path ever take.
    fn largest(&self, path: PathId) -> u64 {
        let (route, class) = (self.scenario.first_route(path), self.scenario.flows[path.flow()].class);
        let limit = |link: &LinkId| self.scenario.links[*link].queue.largest_packet(class);
        route.iter().map(limit).min().unwrap_or(u64::MAX).min(u16::MAX.into())
    }

    /// The packet that is due enters at its port.
    pub(super) fn enter_from_port(&mut self, flow: FlowId) {
        if let Some(mut packet) = self.traffic.take_entering(self.now, flow) {
            self.ledger.sent += 1;
            packet.next = self.routes.first(packet.path());
            self.launch(&mut packet);
        }
        self.rearm_flow(flow);
    }

    /// A packet leaves the network.
    pub(super) fn deliver_to_port(&mut self, packet: &Packet) {
        if let Some((entered, bytes)) = self.bodies.take_bytes(packet) {
            self.ports.delivered.push(Delivered {
                at: self.now,
                port: PortId(packet.path().reverse()),
                entered,
                size: packet.size(),
                is_marked: packet.ecn() == Ecn::Ce,
                bytes,
            });
        }
    }

    /// All that happens up to `until`, that instant included; the network is at `until` then, or at the end of its run.
    pub fn run_until(&mut self, until: Time) {
        let until = until.min(self.bounds.end);
        while self.stop.is_none() && self.next_wakeup() <= until {
            let (at, source) = self.schedule.next();
            if at > self.bounds.gate {
                self.pass_gate(until);
            } else {
                self.step(at, source);
            }
        }
        if self.stop.is_none() && self.now < until {
            self.come_to(until);
        }
        if until == self.bounds.end {
            self.stop.get_or_insert(StopReason::TimeLimit);
        }
    }

    /// When something happens next, if nothing comes from outside; [`Time::NEVER`]: nothing does.
    pub fn next_wakeup(&self) -> Time {
        if self.stop.is_some() {
            return Time::NEVER;
        }
        self.schedule.next().0.min(self.next_change())
    }

    /// What has left by the ports since this was asked last, in order of time.
    pub fn drain(&mut self) -> Vec<Delivered> {
        std::mem::take(&mut self.ports.delivered)
    }

    /// What had entered by the ports and was lost since this was asked last.
    pub fn drain_lost(&mut self) -> Vec<Lost> {
        let lost = std::mem::take(&mut self.ports.lost);
        let name = |place: LossPlace| match place {
            LossPlace::Link(link) => self.scenario.links[link].name.clone(),
            LossPlace::Node(node) => self.scenario.nodes[node].name.clone(),
        };
        lost.into_iter().map(|(place, lost)| Lost { place: name(place), ..lost }).collect()
    }

    /// What had entered by the ports and functions of the network have taken since this was asked last, where these act on
    /// [real packets](crate::middlebox::RealPackets).
    pub fn drain_taken(&mut self) -> Vec<Taken> {
        let taken = std::mem::take(&mut self.ports.taken);
        let name = |node: NodeId| self.scenario.nodes[node].name.clone();
        taken.into_iter().map(|(node, taken)| Taken { place: name(node), ..taken }).collect()
    }
}

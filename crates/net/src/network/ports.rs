//! The network as a timed component: packets enter and leave by ports, and the caller drives the clock.

use super::Network;
use crate::record::{LossPlace, StopReason};
use bentpipe_model::dictionary::Cause;
use bentpipe_model::ids::{FlowId, LinkId, NodeId, PathId};
use bentpipe_model::packet::{Bodies, Carried, Packet};
use bentpipe_model::spec::{App, Lane, Scenario};
use bentpipe_tcp::Ecn;
use bentpipe_units::Time;
use std::fmt;

/// One end of a flow of kind `port`, for packets from outside. Packets that enter at one end leave at the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(PathId);

impl PortId {
    /// The port where the packets of a path enter.
    #[cfg(test)]
    pub(crate) fn of(path: PathId) -> Self {
        Self(path)
    }

    /// The path of packets that enter here.
    #[cfg(test)]
    pub(crate) fn path(self) -> PathId {
        self.0
    }
}

/// A packet that has left the network by a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Arrival.
    pub at: Time,
    /// The port where it left.
    pub port: PortId,
    /// Instant of entry.
    pub entered: Time,
    /// Bytes on the wire.
    pub size: u64,
    /// Whether a queue marked it (CE).
    pub is_marked: bool,
    /// Its bytes, as given.
    pub bytes: Box<[u8]>,
}

/// A packet that entered by a port and was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Instant of the loss. For losses on a link, the arrival.
    pub at: Time,
    /// The port where it entered.
    pub port: PortId,
    /// Instant of entry.
    pub entered: Time,
    /// The link, with its direction, or the node of the loss.
    pub place: String,
    /// Cause of the loss.
    pub cause: Cause,
    /// Bytes on the wire.
    pub size: u64,
    /// Its bytes, as given.
    pub bytes: Box<[u8]>,
}

/// A packet that entered by a port and was taken by a middlebox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Instant of its end.
    pub at: Time,
    /// The port where it entered.
    pub port: PortId,
    /// Instant of entry.
    pub entered: Time,
    /// The node of the middlebox.
    pub place: String,
    /// Bytes on the wire.
    pub size: u64,
}

/// The reason why a packet was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The network is past that instant.
    Past {
        /// Requested instant of entry.
        at: Time,
        /// Present instant of the network.
        now: Time,
    },
    /// The run is over, or will be by then.
    Over,
    /// No such port.
    NoPort,
    /// Larger than a link or queue on the path takes, larger than an IP packet, or smaller than its headers.
    Size {
        /// Bytes on the wire.
        size: u64,
        /// The smallest and the largest size that can pass.
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

/// Packets that left at ports and were not drained yet.
#[derive(Debug, Default)]
pub(super) struct Ports {
    /// Flows of kind `port`, in order.
    flows: Vec<FlowId>,
    delivered: Vec<Delivered>,
    /// Places are named by `drain_lost`.
    lost: Vec<(LossPlace, Lost)>,
    taken: Vec<(NodeId, Taken)>,
    /// Whether middleboxes act on real packets.
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

    /// Records the loss of a packet that entered by a port, for `drain_lost`.
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
    /// Takes a packet that has reached its port.
    pub(super) fn on_arrival(&mut self, now: Time, packet: &Packet, bodies: &mut Bodies) {
        if let Some((entered, bytes)) = bodies.take_bytes(packet) {
            self.delivered.push(Delivered {
                at: now,
                port: PortId(packet.path().reverse()),
                entered,
                size: packet.size(),
                is_marked: packet.ecn() == Ecn::Ce,
                bytes,
            });
        }
    }

    /// Records a packet that entered by a port and was taken by a middlebox, for `drain_taken`.
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
    /// The ports of a flow of kind `port`: at its first node, and at its last.
    ///
    /// # Errors
    /// No such flow, or it is of another kind.
    pub fn ports(&self, flow: &str) -> Result<[PortId; 2], Refused> {
        let mut named = self.motion.ports.flows.iter().filter(|&&id| self.scenario.flows[id].name == flow);
        named.next().map(|&id| PathId::both(self.scenario.flows[id].lane).map(PortId)).ok_or(Refused::NoPort)
    }

    /// Enters a packet at `at`, not before [`now`](Self::now). It has `size` bytes with all headers; the first `header_len`
    /// of them are the IP header and up to 255 B after it. `bytes` come out unchanged, and may be empty if their content is
    /// never read.
    ///
    /// # Errors
    /// The packet is refused. The network is unchanged.
    pub fn inject(
        &mut self,
        at: Time,
        port: PortId,
        size: u64,
        header_len: u8,
        bytes: Box<[u8]>,
    ) -> Result<(), Refused> {
        let PortId(path) = port;
        let Lane { flow, class, .. } = self.scenario.lanes[path.lane()];
        if !self.motion.ports.flows.contains(&flow) {
            return Err(Refused::NoPort);
        }
        if self.motion.stop.is_some() || at > self.motion.bounds.end {
            return Err(Refused::Over);
        }
        if at < self.motion.now {
            return Err(Refused::Past { at, now: self.motion.now });
        }
        let takes = (u64::from(header_len).max(1), largest(&self.scenario, path));
        let payload = u16::try_from(size.saturating_sub(header_len.into()));
        let (Ok(len), true) = (payload, (takes.0..=takes.1).contains(&size)) else {
            return Err(Refused::Size { size, takes });
        };
        let body = self.motion.ends.bodies.keep(Carried::Bytes { entered: at, bytes });
        let packet = Packet::foreign(path, len, header_len, body).in_class(class);
        self.motion.ends.traffic.enter_later(at, flow, packet);
        self.motion.ends.rearm_flow(flow, &mut self.motion.schedule);
        Ok(())
    }

    /// Runs up to and including `until`, or to the end of the run.
    pub fn run_until(&mut self, until: Time) {
        let until = until.min(self.motion.bounds.end);
        while self.motion.stop.is_none() && self.next_wakeup() <= until {
            let (at, source) = self.motion.schedule.next();
            if at > self.motion.bounds.gate {
                self.pass_gate(at, until);
            } else {
                self.motion.step(at, source);
            }
        }
        if self.motion.stop.is_none() && self.motion.now < until {
            self.motion.now = until;
        }
        if until == self.motion.bounds.end {
            self.motion.stop.get_or_insert(StopReason::TimeLimit);
        }
    }

    /// The instant of the next event without new packets, or [`Time::NEVER`].
    pub fn next_wakeup(&self) -> Time {
        if self.motion.stop.is_some() {
            return Time::NEVER;
        }
        self.motion.schedule.next().0.min(self.changes.next_at())
    }

    /// Packets that left by ports since the last call, in order of time.
    pub fn drain(&mut self) -> Vec<Delivered> {
        std::mem::take(&mut self.motion.ports.delivered)
    }

    /// Packets that entered by ports and were lost since the last call.
    pub fn drain_lost(&mut self) -> Vec<Lost> {
        let lost = std::mem::take(&mut self.motion.ports.lost);
        let name = |place: LossPlace| match place {
            LossPlace::Link(link) => self.scenario.links[link].name.clone(),
            LossPlace::Node(node) => self.scenario.nodes[node].name.clone(),
        };
        lost.into_iter().map(|(place, lost)| Lost { place: name(place), ..lost }).collect()
    }

    /// Packets that entered by ports and were taken since the last call, by middleboxes that act on [real
    /// packets](crate::RealPackets).
    pub fn drain_taken(&mut self) -> Vec<Taken> {
        let taken = std::mem::take(&mut self.motion.ports.taken);
        let name = |node: NodeId| self.scenario.nodes[node].name.clone();
        taken.into_iter().map(|(node, taken)| Taken { place: name(node), ..taken }).collect()
    }
}

/// The largest packet that all queues of a path can take.
fn largest(scenario: &Scenario, path: PathId) -> u64 {
    let (route, class) = (scenario.first_route(path), scenario.lanes[path.lane()].class);
    let limit = |link: &LinkId| scenario.links[*link].queue.largest_packet(class);
    route.iter().map(limit).min().unwrap_or(u64::MAX).min(u16::MAX.into())
}

//! Observers of packets at their first and last hosts, for captures.

use crate::traffic::{session_of, Traffic};
use bentpipe_model::dictionary::Cause;
use bentpipe_model::ids::{FlowId, LaneId, NodeId};
use bentpipe_model::packet::{Bodies, Packet};
use bentpipe_model::spec::Scenario;
use bentpipe_tcp::Segment;
use bentpipe_units::Time;

/// A packet at a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sighting {
    /// The instant of its departure, arrival or loss.
    pub at: Time,
    /// Its flow.
    pub flow: FlowId,
    /// The number of its session in the flow.
    pub session: u32,
    /// The number of its connection on its path. It is that of its session, except for a subflow that has joined again.
    pub connection: u32,
    /// The number of its subflow in the flow; 0 in a flow without subflows.
    pub subflow: u8,
    /// Whether it goes from the node where the flow ends to the node where it begins.
    pub is_back: bool,
    /// Payload bytes.
    pub len: u16,
    /// Bytes of IP and TCP or UDP header.
    pub header_len: u8,
    /// Its segment. `None`: a datagram.
    pub segment: Option<Segment>,
}

/// The end of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate<'a> {
    /// Reached its host.
    Arrived,
    /// Taken by a middlebox.
    Taken,
    /// Lost.
    Lost {
        /// The name of the link or node.
        place: &'a str,
        /// Cause of the loss.
        cause: Cause,
    },
}

/// Observes each packet when a host sends it, and at its end, in order of time. Packets that middleboxes make are observed at
/// their end only.
pub trait Witness: std::fmt::Debug + Send + Sync {
    /// A host sends a packet.
    fn on_sent(&mut self, packet: &Sighting);
    /// A packet reaches its end.
    fn on_end(&mut self, packet: &Sighting, fate: Fate);
}

/// The network around a packet, as its observers read it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'a> {
    pub(super) now: Time,
    pub(super) scenario: &'a Scenario,
    pub(super) traffic: &'a Traffic,
    pub(super) bodies: &'a Bodies,
}

impl Scene<'_> {
    /// A packet at a host at `at`.
    pub(super) fn sighting(&self, at: Time, packet: &Packet) -> Sighting {
        let (lanes, lane) = (&self.scenario.lanes, packet.lane());
        let flow = lanes[lane].flow;
        let subflow = (0..lane.index()).rev().take_while(|before| lanes[LaneId::new(*before)].flow == flow).count();
        Sighting {
            at,
            flow,
            subflow: subflow as u8,
            session: if packet.is_segment() { session_of(self.traffic, packet) } else { packet.connection() },
            connection: packet.connection(),
            is_back: packet.is_to_sender(),
            len: packet.len,
            header_len: packet.header_len,
            segment: packet.is_segment().then(|| packet.segment(self.bodies)),
        }
    }
}

/// The first and the last node of a packet's flow.
pub fn ends(scenario: &Scenario, packet: &Sighting) -> [NodeId; 2] {
    let flow = &scenario.flows[packet.flow];
    if packet.is_back {
        [flow.to, flow.from]
    } else {
        [flow.from, flow.to]
    }
}

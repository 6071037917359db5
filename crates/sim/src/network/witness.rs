//! Who sees packets at the hosts where they begin and end: for captures.

use super::Network;
use crate::dictionary::Cause;
use crate::ids::{FlowId, NodeId};
use crate::packet::Packet;
use crate::record::LossPlace;
use bentpipe_tcp::Segment;
use bentpipe_units::Time;

/// A packet, as a host sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sighting {
    /// When it was sent, arrived, or was lost.
    pub at: Time,
    /// Its flow.
    pub flow: FlowId,
    /// The number of its connection within the flow.
    pub connection: u32,
    /// Whether it is on the way from the node where the flow ends to that where it begins.
    pub is_back: bool,
    /// Payload bytes.
    pub len: u16,
    /// Bytes of IP and TCP or UDP header.
    pub header_len: u8,
    /// What it carries; none: a datagram.
    pub segment: Option<Segment>,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate<'a> {
    /// It reached its host.
    Arrived,
    /// A function of the network took it.
    Taken,
    /// It was lost.
    Lost {
        /// The name of the link or node.
        place: &'a str,
        /// Why.
        cause: Cause,
    },
}

/// Sees each packet at its host when it is sent, and again when its way ends, in order of time. What functions of the network
/// make, they do not send from a host: it is seen where it ends.
pub trait Witness: std::fmt::Debug + Send + Sync {
    /// A host sends a packet.
    fn on_sent(&mut self, packet: &Sighting);
    /// The way of a packet has ended.
    fn on_end(&mut self, packet: &Sighting, fate: Fate);
}

impl Network {
    /// From now on this one sees all packets. Nothing runs ahead of time then, and no result changes.
    pub fn watch(&mut self, witness: Box<dyn Witness>) {
        self.observers.witness = Some(witness);
        self.observers.is_any = true;
        self.update_horizon();
    }

    #[cold]
    #[inline(never)]
    pub(super) fn see_sent(&mut self, packet: &Packet) {
        self.trace_sent(packet);
        let sighting = self.sighting(self.now, packet);
        if let Some(witness) = &mut self.observers.witness {
            witness.on_sent(&sighting);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn see_arrival(&mut self, node: NodeId, packet: &Packet) {
        self.trace_arrival(node, packet);
        self.see_end(packet, Fate::Arrived);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn see_taken(&mut self, packet: &Packet) {
        self.see_end(packet, Fate::Taken);
    }

    fn see_end(&mut self, packet: &Packet, fate: Fate<'_>) {
        let sighting = self.sighting(self.now, packet);
        if let (Some(witness), false) = (&mut self.observers.witness, packet.is_message()) {
            witness.on_end(&sighting, fate);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn see_lost(&mut self, at: Time, place: LossPlace, packet: &Packet, cause: Cause) {
        self.trace_loss(place, packet, cause == Cause::QueueOverflow);
        let sighting = self.sighting(at, packet);
        let place = match place {
            LossPlace::Link(link) => &self.scenario.links[link].name,
            LossPlace::Node(node) => &self.scenario.nodes[node].name,
        };
        if let (Some(witness), false) = (&mut self.observers.witness, packet.is_message()) {
            witness.on_end(&sighting, Fate::Lost { place, cause });
        }
    }

    fn sighting(&self, at: Time, packet: &Packet) -> Sighting {
        Sighting {
            at,
            flow: packet.flow(),
            connection: packet.connection(),
            is_back: packet.is_to_sender(),
            len: packet.len,
            header_len: packet.header_len,
            segment: (!packet.is_datagram()).then(|| packet.segment(&self.bodies)),
        }
    }
}

/// The nodes at which a packet of a flow begins and ends.
pub fn ends(scenario: &crate::spec::Scenario, packet: &Sighting) -> [NodeId; 2] {
    let flow = &scenario.flows[packet.flow];
    if packet.is_back {
        [flow.to, flow.from]
    } else {
        [flow.from, flow.to]
    }
}

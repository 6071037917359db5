//! BEEN, backward explicit error notification (J. Govindarajan and G. Kousalya): the first satellite checks what comes up from a
//! gateway, and reports what was corrupted to the gateway, which reports it to the source and estimates the error rate of the
//! uplink. The source retransmits without reducing its window (`tcp.error_reports`), and chooses its packet size by the estimate
//! (`tcp.packet_size`). Each of the two works alone.
//!
//! The gateway gives each packet of a connection that goes up a number, writes it on the packet (IP option), and keeps in
//! a table what it needs to find the source again. The satellite takes the number off, records what became of the
//! packet, and writes records on the packets that come down. Where none waits it sends a packet of its own, of 28 bytes for one
//! record. The gateway takes the records off, notifies the source of each corrupted packet (a datagram of 76 bytes), and after
//! each window of records enters their estimate into its mean; that is written on each packet that comes down. Reports,
//! records and estimates take the way of all packets: they queue, and get lost.
//!
//! # Where it may stand
//!
//! A satellite with `role = "satellite"` has to be of kind `processing`; the gateway has to be a node next to it. With
//! `inter_satellite` the numbers stay on the packets for as long as they go to satellites that know BEEN, and those report what was
//! corrupted between satellites to the gateway by packets of their own: beyond the paper, as its conclusion asks. These losses
//! are reported to the source; the estimate remains that of the uplink.
//!
//! # Readings
//!
//! The paper adds a record for errors alone and counts records with and without error: all packets are recorded here,
//! or the estimate would be 1. A packet carries one record, or several where many wait. Records are written on a packet as it
//! enters the queue to the gateway.
//!
//! # What it helps, and what it harms
//!
//! It helps where the uplink corrupts packets and windows are small: losses are repaired in one round trip between gateway and
//! satellite, and no window is reduced for them. It does not make room: a path with congestion is used no better. Small packets
//! cost headers, and the estimate of ten packets is rough. It needs satellites that check, a table at the gateway, and TCP headers
//! that the gateway can read; most routers drop packets with unknown IP options. Encrypted headers (IPsec, QUIC) rule it out.
//! Datagrams pass untouched.

mod estimate;
mod gateway;
mod satellite;

pub(crate) use gateway::Gateway;
pub(crate) use satellite::Satellite;

use super::{Context, Middlebox, MiddleboxConfig, QueueView};
use crate::ids::{LinkId, NodeId};
use crate::packet::{Packet, Records};
use bentpipe_units::settings::Chance;
use bentpipe_units::{settings, words, Duration, Time};

settings! {
    /// Backward explicit error notification.
    pub struct BeenConfig {
        /// Which part of it.
        role: Role;
        /// Gateway: records that make an estimate.
        window: u32 = 10, [1, 1_000_000], "the paper, section 4.1.2";
        /// Gateway: what shares an estimate.
        scope: Scope = Scope::Uplink, "reading: errors are the link's, not a flow's";
        /// Gateway: the weight of a new estimate in the mean.
        beta: f64 as Chance = 0.2, "the paper, equation 5";
        /// Gateway: what the mean begins with.
        ewma_start: EwmaStart = EwmaStart::FirstSample, "reading: equation 5 needs a value before the first";
        /// Gateway: in what packets and the error rate are counted.
        mle_unit: MleUnit = MleUnit::Byte, "reading: the table has sizes in bytes (ns-2)";
        /// Gateway: take a window in which nothing arrived for one in which half a packet did. Without, its error rate is 1.
        mle_clamp: bool = false, "the paper, equation 2, taken literally";
        /// Gateway: what it says before its first window is full.
        cold: Cold = Cold::Literal, "the paper, Algorithm 1";
        /// Gateway: the estimate that earlier traffic has left; 0: none.
        prior: f64 as Chance = 0.0, "a gateway that has seen nothing";
        /// Gateway: how long it remembers a packet, and at most twice that.
        lifetime: Duration = Duration::from_secs(1), "reading: max(1 s, 4 round trips between gateway and satellite)";
        /// Satellite: records on a packet that goes to the gateway.
        records: u32 = 1, [1, 8], "the paper: one";
        /// Satellite: records on a packet where more than eight wait.
        records_when_long: u32 = 4, [1, 8], "reading: or the list grows where more goes up than comes down";
        /// Satellite: keep numbers on packets to satellites that know BEEN too, so that those report what the links between corrupt.
        inter_satellite: bool = false, "the paper reports the uplink alone";
        /// Let what is written on packets make them longer, by 8 B each: what goes up at a gateway, what comes down at a satellite.
        option_bytes: bool = false, "the paper: the header has 40 B";
    }
}

words! {
    /// The two parts of BEEN.
    pub enum Role {
        /// On board: checks and records.
        "satellite" => Satellite,
        /// On the ground, next to such a satellite: numbers, estimates, reports.
        "gateway" => Gateway,
    }
}

words! {
    /// What shares an estimate.
    pub enum Scope {
        /// All that goes up.
        "uplink" => Uplink,
        /// A connection.
        "flow" => Flow,
    }
}

words! {
    /// The first value of the mean.
    pub enum EwmaStart {
        /// The first estimate.
        "first-sample" => FirstSample,
        /// Zero, which the first estimate moves by its weight.
        "zero" => Zero,
    }
}

words! {
    /// The unit of sizes and rates.
    pub enum MleUnit {
        /// Errors per byte.
        "byte" => Byte,
        /// Errors per bit.
        "bit" => Bit,
    }
}

words! {
    /// A gateway whose first window is not full.
    pub enum Cold {
        /// Nothing.
        "literal" => Literal,
        /// An estimate from the records so far, clamped.
        "partial" => Partial,
    }
}

/// Bytes of an option on the wire.
const OPTION: u8 = 8;

impl BeenConfig {
    fn option_len(&self) -> u8 {
        if self.option_bytes {
            OPTION
        } else {
            0
        }
    }

    /// Whether a node next to another one has this part of it.
    pub(crate) fn is_at(middleboxes: &[MiddleboxConfig], role: Role) -> bool {
        middleboxes.iter().any(|middlebox| matches!(middlebox, MiddleboxConfig::Been(been) if been.role == role))
    }
}

/// Where the satellites are among the neighbours of a node.
fn satellites(neighbours: &[(NodeId, &[MiddleboxConfig])]) -> Vec<NodeId> {
    let satellite =
        |(node, boxes): &(NodeId, &[MiddleboxConfig])| BeenConfig::is_at(boxes, Role::Satellite).then_some(*node);
    neighbours.iter().filter_map(satellite).collect()
}

/// A message with records is told from those of other functions by this.
const TAG: u64 = 0xbee << 48;
/// The records are of a link between satellites.
const BETWEEN: u64 = 1 << 32;

fn to_words(records: Records, is_between: bool) -> [u64; 2] {
    let [first, rest] = records.to_words();
    [first, rest | TAG | if is_between { BETWEEN } else { 0 }]
}

/// Records, and whether they are of a link between satellites.
fn of_words(words: [u64; 2]) -> Option<(Records, bool)> {
    (words[1] & !0xffff_ffff_ffff == TAG).then(|| (Records::of_words(words), words[1] & BETWEEN != 0))
}

/// Either part.
#[derive(Clone, Debug)]
pub(crate) enum Been {
    Satellite(Satellite),
    Gateway(Gateway),
}

impl Been {
    pub(crate) fn new(config: &BeenConfig, _seed: u64, _component: &str) -> Self {
        match config.role {
            Role::Satellite => Self::Satellite(Satellite::new(*config)),
            Role::Gateway => Self::Gateway(Gateway::new(*config)),
        }
    }
}

impl Middlebox for Been {
    fn meet(&mut self, node: NodeId, neighbours: &[(NodeId, &[MiddleboxConfig])]) {
        let satellites = satellites(neighbours);
        match self {
            Self::Satellite(part) => part.next_satellites = satellites,
            Self::Gateway(part) => (part.node, part.satellites) = (node, satellites),
        }
    }

    fn on_packet(&mut self, packet: Packet, cx: &mut Context<'_>) {
        match self {
            Self::Satellite(part) => part.on_packet(packet, cx),
            Self::Gateway(part) => part.on_packet(packet, cx),
        }
    }

    fn on_corrupted(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        if let Self::Satellite(part) = self {
            part.on_corrupted(packet, cx);
        }
    }

    fn on_message(&mut self, words: [u64; 2], _: &Packet, cx: &mut Context<'_>) -> bool {
        match (self, of_words(words)) {
            (Self::Gateway(part), Some((records, is_between))) => {
                part.read(records, is_between, cx);
                true
            }
            _ => false,
        }
    }

    fn on_departure(&mut self, _: LinkId, queue: QueueView, cx: &mut Context<'_>) {
        if let (Self::Satellite(part), 0) = (self, queue.packets) {
            part.probe(cx);
        }
    }

    fn watches_queues(&self) -> bool {
        matches!(self, Self::Satellite(_))
    }

    fn on_wakeup(&mut self, cx: &mut Context<'_>) {
        if let Self::Gateway(part) = self {
            part.on_wakeup(cx);
        }
    }

    fn next_wakeup(&self) -> Time {
        match self {
            Self::Satellite(_) => Time::NEVER,
            Self::Gateway(part) => part.wakes_at,
        }
    }
}

#[cfg(test)]
mod tests;

//! BEEN, backward explicit error notification (J. Govindarajan and G. Kousalya). The first satellite checks packets
//! from a gateway and reports corrupted packets to the gateway. The gateway reports them to the source and estimates
//! the error rate of the uplink. The source retransmits without reducing its window (`tcp.error_reports`), and chooses
//! its packet size by the estimate (`tcp.packet_size`). Each of the two also works alone.
//!
//! # How it works
//!
//! - The gateway numbers each packet of a connection on the uplink (IP option), and keeps its source in a table.
//! - The satellite removes the number, records the fate of the packet, and writes records on packets of the downlink.
//!   If no packet waits, it sends a separate packet, of 28 bytes for one record.
//! - The gateway removes the records and notifies the source of each corrupted packet (a datagram of 76 bytes). After
//!   each window of records it adds their estimate to its mean, and writes the mean on each packet of the downlink.
//! - Reports, records and estimates take the path of all packets: they queue, and get lost.
//!
//! # Position on the path
//!
//! A satellite with `role = "satellite"` must be of kind `processing`. The gateway must be an adjacent node. With
//! `inter_satellite` the numbers stay on the packets while they travel between satellites that know BEEN. Those
//! satellites report packets corrupted between satellites to the gateway in separate packets: beyond the paper, as its
//! conclusion asks. These losses are reported to the source. The estimate remains that of the uplink.
//!
//! # When it helps
//!
//! BEEN helps where the uplink corrupts packets and windows are small. Losses are repaired in one round trip between
//! gateway and satellite, and no window is reduced for them.
//!
//! # When it hurts
//!
//! BEEN does not improve the use of a congested path. Small packets cost headers, and the estimate of ten packets is
//! rough. It needs satellites that check packets, a table at the gateway, and TCP headers that the gateway can read.
//! Most routers drop packets with unknown IP options. BEEN cannot work with encrypted headers (IPsec, QUIC). Datagrams
//! pass unchanged.
//!
//! # Differences from the source
//!
//! The paper adds a record for errors only, and counts records with and without error. Here all packets are recorded,
//! otherwise the estimate would be 1. A packet carries one record, or several if many wait. Records are written on a
//! packet when it enters the queue to the gateway.

mod estimate;
mod gateway;
mod satellite;

pub(crate) use gateway::Gateway;
pub(crate) use satellite::Satellite;

use crate::ids::{LinkId, NodeId};
use crate::middlebox::{Context, Middlebox, Need, QueueView};
use crate::packet::{Packet, Records};
use bentpipe_units::settings::Chance;
use bentpipe_units::{settings, words, Duration, Time};

settings! {
    /// Backward explicit error notification.
    pub struct BeenConfig {
        /// Part of BEEN at this node.
        role: Role;
        /// Gateway: records per estimate.
        window: u32 = 10, [1, 1_000_000], "the paper, section 4.1.2";
        /// Gateway: packets that share an estimate.
        scope: Scope = Scope::Uplink, "reading: errors are the link's, not a flow's";
        /// Gateway: weight of a new estimate in the mean.
        beta: f64 as Chance = 0.2, "the paper, equation 5";
        /// Gateway: first value of the mean.
        ewma_start: EwmaStart = EwmaStart::FirstSample, "reading: equation 5 needs a value before the first";
        /// Gateway: unit of packet sizes and of the error rate.
        mle_unit: MleUnit = MleUnit::Byte, "reading: the table has sizes in bytes (ns-2)";
        /// Gateway: whether a window without arrivals counts as a window with half a packet. Otherwise its error rate
        /// is 1.
        mle_clamp: bool = false, "the paper, equation 2, taken literally";
        /// Gateway: estimate before its first window is full.
        cold: Cold = Cold::Literal, "the paper, Algorithm 1";
        /// Gateway: estimate from earlier traffic; 0: none.
        prior: f64 as Chance = 0.0, "a gateway without earlier traffic";
        /// Gateway: time that it remembers a packet; at most twice that.
        lifetime: Duration = Duration::from_secs(1), "reading: max(1 s, 4 round trips between gateway and satellite)";
        /// Satellite: records on a packet to the gateway.
        records: u32 = 1, [1, 8], "the paper: one";
        /// Satellite: records on a packet if more than eight wait.
        records_when_long: u32 = 4, [1, 8], "reading: otherwise the list grows if the uplink carries more packets than the downlink";
        /// Satellite: whether numbers stay on packets to satellites that know BEEN, which then report corruption by the
        /// links in between.
        inter_satellite: bool = false, "the paper reports the uplink alone";
        /// Whether numbers and records make packets longer, by 8 B each: on the uplink of a gateway, on the downlink of
        /// a satellite.
        option_bytes: bool = false, "the paper: the header has 40 B";
    }
}

words! {
    /// Parts of BEEN.
    pub enum Role {
        /// On board: checks and records.
        "satellite" => Satellite,
        /// On the ground, next to such a satellite: numbers, estimates, reports.
        "gateway" => Gateway,
    }
}

words! {
    /// Packets that share an estimate.
    pub enum Scope {
        /// All packets on the uplink.
        "uplink" => Uplink,
        /// Packets of one connection.
        "flow" => Flow,
    }
}

words! {
    /// First value of the mean.
    pub enum EwmaStart {
        /// The first estimate.
        "first-sample" => FirstSample,
        /// Zero. The first estimate moves it by its weight.
        "zero" => Zero,
    }
}

words! {
    /// Unit of sizes and rates.
    pub enum MleUnit {
        /// Errors per byte.
        "byte" => Byte,
        /// Errors per bit.
        "bit" => Bit,
    }
}

words! {
    /// Estimate of a gateway whose first window is not full.
    pub enum Cold {
        /// No estimate.
        "literal" => Literal,
        /// An estimate from the records so far, clamped.
        "partial" => Partial,
    }
}

/// Bytes of an option on the wire.
const OPTION: u8 = 8;

impl BeenConfig {
    pub(in crate::middlebox) fn needs(&self) -> Vec<Need> {
        match self.role {
            Role::Satellite => vec![Need::Corrupted("role")],
            Role::Gateway => vec![Need::BeenSatellite],
        }
    }

    fn option_len(&self) -> u8 {
        if self.option_bytes {
            OPTION
        } else {
            0
        }
    }
}

/// Marks a message with records, to distinguish it from those of other middleboxes.
const TAG: u64 = 0xbee << 48;
/// Marks records of a link between satellites.
const BETWEEN: u64 = 1 << 32;

fn to_words(records: Records, is_between: bool) -> [u64; 2] {
    let [first, rest] = records.to_words();
    [first, rest | TAG | if is_between { BETWEEN } else { 0 }]
}

/// Returns the records, and whether they are of a link between satellites.
fn of_words(words: [u64; 2]) -> Option<(Records, bool)> {
    (words[1] & !0xffff_ffff_ffff == TAG).then(|| (Records::of_words(words), words[1] & BETWEEN != 0))
}

/// Either part at a node.
#[derive(Clone, Debug)]
pub enum Been {
    /// The satellite, which reports.
    Satellite(Satellite),
    /// Its gateway, which estimates.
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
    fn meet(&mut self, node: NodeId, satellites: &[NodeId]) {
        let satellites = satellites.to_vec();
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

//! Links as they are written.

use super::Queue;
use crate::scenario::registered::Named;
use crate::scenario::text::{Angle, BitRate, Chance, Distance, Span};
use crate::scenario::ErrorUnit;
use schemars::JsonSchema;
use serde::Deserialize;

/// A link between two nodes: forward is `from` to `to`, reverse the way back.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "what stands here reaches the resolver through the directions, which inherit it")]
pub(in crate::scenario) struct Link {
    /// The node at one end. May contain `{n}` if there is a `count`.
    pub(in crate::scenario) from: String,
    /// The node at the other end. May contain `{n}` if there is a `count`.
    pub(in crate::scenario) to: String,
    /// Make this many links from the entry, with 1, 2, ... for `{n}` in `from`, `to` and the name (appended if it has none).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(in crate::scenario) count: Option<u32>,
    /// Bit rate, constant or over time. Required, here or for each direction.
    pub(in crate::scenario) rate: Option<RateProfile>,
    /// Propagation delay one way, constant or over time. Required, here or for each direction.
    pub(in crate::scenario) delay: Option<DelayProfile>,
    /// The queue in front of the link. What is being sent does not count. A bdp is this link's largest rate times the largest propagation round trip of the flows that cross it; at least one full packet.
    #[schemars(extend("default" = "1 bdp", "x-origin" = "rule of thumb, Villamizar and Song 1994"))]
    pub(in crate::scenario) queue: Queue,
    /// What corrupts packets.
    #[schemars(extend("default" = "none"))]
    pub(in crate::scenario) error: ErrorModel,
    /// When the link carries nothing. Without it, it is never down.
    pub(in crate::scenario) outage: Option<Outage>,
    /// What differs from `from` to `to`.
    #[schemars(extend("default" = {}))]
    pub(in crate::scenario) forward: Direction,
    /// What differs from `to` to `from`.
    #[schemars(extend("default" = {}))]
    pub(in crate::scenario) reverse: Direction,
}

/// One direction of a link: what stands here goes before the link's own keys.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct Direction {
    /// Bit rate of this direction.
    pub(in crate::scenario) rate: Option<RateProfile>,
    /// Propagation delay of this direction.
    pub(in crate::scenario) delay: Option<DelayProfile>,
    /// The queue of this direction.
    pub(in crate::scenario) queue: Option<Queue>,
    /// What corrupts packets in this direction.
    pub(in crate::scenario) error: Option<ErrorModel>,
    /// When this direction is down.
    pub(in crate::scenario) outage: Option<Outage>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(in crate::scenario) enum RateProfile {
    Constant(BitRate),
    Points(RatePoints),
}

/// A bit rate that changes in steps.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct RatePoints {
    /// Pairs of instant and rate, increasing in time, the first at 0 s. Each holds until the next.
    #[schemars(length(min = 1))]
    pub(in crate::scenario) points: Vec<(Span, BitRate)>,
    /// Start again after this long. Without it, the last point holds.
    pub(in crate::scenario) every: Option<Span>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(in crate::scenario) enum DelayProfile {
    Constant(Span),
    Points(DelayPoints),
    Pass(DelayPass),
}

/// A delay that changes over time.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct DelayPoints {
    /// Pairs of instant and delay, increasing in time, the first at 0 s.
    #[schemars(length(min = 1))]
    pub(in crate::scenario) points: Vec<(Span, Span)>,
    /// What happens between points.
    #[schemars(extend("default" = "hold"))]
    pub(in crate::scenario) interpolate: Named<Interpolate>,
    /// Start again after this long. Without it, the last point holds.
    pub(in crate::scenario) every: Option<Span>,
}

/// The delay to a satellite that passes overhead.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct DelayPass {
    /// The orbit; at the end of each period of visibility the next satellite takes over.
    pub(in crate::scenario) pass: Pass,
}

/// A circular orbit seen from a station that it crosses overhead, Earth rotation ignored (E. Lutz et al. 2000).
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct Pass {
    /// Altitude of the orbit above the ground, 100 km to 100,000 km.
    pub(in crate::scenario) altitude: Distance,
    /// The satellite is used above this elevation; 0 to 89 degrees.
    pub(in crate::scenario) elevation_min: Angle,
    /// Slant ranges between the ends of the link: 1 to the satellite, 2 for up and down again.
    #[schemars(extend("default" = 2), range(min = 1, max = 100))]
    pub(in crate::scenario) hops: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::scenario) enum ErrorModel {
    /// No errors.
    None,
    /// Each bit of a packet, headers included, is wrong with this probability; one is enough.
    Bit {
        /// Bit error rate.
        rate: Chance,
    },
    /// Each byte of a packet, headers included, is wrong with this probability (ns-2: unit byte).
    Byte {
        /// Byte error rate.
        rate: Chance,
    },
    /// Each packet is corrupted with this probability, whatever its size (ns-2's default unit).
    Packet {
        /// Packet error rate.
        rate: Chance,
    },
    /// Good and bad states that last for exponential times, with errors in each (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// What the rates count.
        #[schemars(extend("default" = "packet", "x-origin" = "ns-2"))]
        unit: Named<ErrorUnit>,
        /// Mean duration of the good state.
        mean_good: Span,
        /// Mean duration of the bad state.
        mean_bad: Span,
        /// Error rate in the good state.
        #[schemars(extend("default" = 0, "x-origin" = "Gilbert 1960"))]
        rate_good: Chance,
        /// Error rate in the bad state.
        #[schemars(extend("default" = 1, "x-origin" = "Gilbert 1960"))]
        rate_bad: Chance,
    },
    /// Exactly these packets: for worked examples.
    Arrivals {
        /// Indices of the packets that are corrupted, increasing; 0 is the first that the link sends.
        #[schemars(length(max = 1_000_000))]
        list: Vec<u64>,
    },
}

/// When a link carries nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct Outage {
    /// Pairs of start and end, increasing, not overlapping.
    #[schemars(length(min = 1))]
    pub(in crate::scenario) spans: Vec<(Span, Span)>,
    /// Repeat after this long. Without it, the spans come once.
    pub(in crate::scenario) every: Option<Span>,
    /// What happens to packets that wait when the link goes down.
    #[schemars(extend("default" = "keep"))]
    pub(in crate::scenario) queue: Named<OutageQueue>,
}

bentpipe_units::words! {
    /// What happens between the points of a profile.
    pub(in crate::scenario) enum Interpolate {
        /// Each value holds until the next point.
        "hold" => Hold,
        /// A straight line to the next point.
        "linear" => Linear,
    }
}

bentpipe_units::words! {
    /// What happens to packets that wait when the link goes down.
    pub(in crate::scenario) enum OutageQueue {
        /// They wait for the end of the outage.
        "keep" => Keep,
        /// They are dropped.
        "flush" => Flush,
    }
}

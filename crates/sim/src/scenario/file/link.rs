//! Links as they are written.

use super::{DelayProfile, ErrorModel, Interleave, Outage, Queue, RateProfile};
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
    /// Spreads errors over time, and corrects some. Without it, nothing does.
    pub(in crate::scenario) interleave: Option<Interleave>,
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
    /// What spreads errors in this direction.
    pub(in crate::scenario) interleave: Option<Interleave>,
    /// When this direction is down.
    pub(in crate::scenario) outage: Option<Outage>,
}

//! What changes over time, as it is written: rates, delays, outages.

use crate::scenario::registered::Named;
use crate::scenario::text::{Angle, BitRate, Distance, Span};
use schemars::JsonSchema;
use serde::Deserialize;

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

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
    Trace(RateTrace),
}

/// A bit rate that was measured.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct RateTrace {
    /// A file beside the scenario or in a folder there. The resolved scenario has its content as points.
    pub(in crate::scenario) file: String,
    /// What is in it.
    #[schemars(extend("default" = "csv"))]
    pub(in crate::scenario) format: Named<RateFormat>,
    /// Name of the column to take; in `_bps`, `_kbps`, `_mbps` or `_gbps`. Not needed where there is only one beside the time.
    pub(in crate::scenario) column: Option<String>,
    /// Start again after this long. Without it, the last value holds. A Mahimahi trace starts again by itself.
    pub(in crate::scenario) every: Option<Span>,
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
    Trace(DelayTrace),
}

/// A delay that was measured.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct DelayTrace {
    /// A CSV file beside the scenario or in a folder there. The resolved scenario has its content as points.
    pub(in crate::scenario) file: String,
    /// Name of the column to take, in `_s`, `_ms`, `_us` or `_ns`; a round trip is not halved. Not needed where there is only one beside the time.
    pub(in crate::scenario) column: Option<String>,
    /// What happens between rows.
    #[schemars(extend("default" = "hold"))]
    pub(in crate::scenario) interpolate: Named<Interpolate>,
    /// Start again after this long. Without it, the last value holds.
    pub(in crate::scenario) every: Option<Span>,
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
#[serde(untagged)]
#[schemars(inline)]
pub(in crate::scenario) enum Outage {
    Spans(OutageSpans),
    Random(OutageRandom),
    Trace(OutageTrace),
}

/// A link is down at set times.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct OutageSpans {
    /// Pairs of start and end, increasing, not overlapping.
    #[schemars(length(min = 1))]
    pub(in crate::scenario) spans: Vec<(Span, Span)>,
    /// Repeat after this long. Without it, the spans come once.
    pub(in crate::scenario) every: Option<Span>,
    /// What happens to packets that wait when the link goes down.
    #[schemars(extend("default" = "keep"))]
    pub(in crate::scenario) queue: Named<OutageQueue>,
}

/// A link is up and down for exponential times, from a random stream of its own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct OutageRandom {
    /// Mean time up.
    pub(in crate::scenario) mean_up: Span,
    /// Mean time down.
    pub(in crate::scenario) mean_down: Span,
    /// What happens to packets that wait when the link goes down.
    #[schemars(extend("default" = "keep"))]
    pub(in crate::scenario) queue: Named<OutageQueue>,
}

/// A link is down when it was in a record.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct OutageTrace {
    /// A CSV file beside the scenario or in a folder there, whose first two columns are start and end (`start_s,end_s`), in times of the run.
    pub(in crate::scenario) file: String,
    /// Repeat after this long. Without it, the spans come once.
    pub(in crate::scenario) every: Option<Span>,
    /// What happens to packets that wait when the link goes down.
    #[schemars(extend("default" = "keep"))]
    pub(in crate::scenario) queue: Named<OutageQueue>,
}

bentpipe_units::words! {
    /// What is in the file of a rate.
    pub(in crate::scenario) enum RateFormat {
        /// Comma-separated values under a line of names: time, rate.
        "csv" => Csv,
        /// Mahimahi's opportunities: each line is a millisecond in which 1500 bytes may leave, the last one when it starts again.
        "mahimahi" => Mahimahi,
    }
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

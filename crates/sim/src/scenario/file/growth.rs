//! How the window starts and grows, as it is written.

use crate::scenario::registered::Named;
use crate::scenario::text::{Span, WindowSize};
use bentpipe_tcp::{HyStartBaseline, HyStartDetect};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::scenario) enum ByteCounting {
    /// Slow start: the bytes it acknowledges, at most one segment; congestion avoidance: each ACK alike (RFC 5681).
    Rfc5681,
    /// Each ACK alike, whatever it acknowledges.
    PerAck,
    /// Appropriate byte counting: the bytes it acknowledges, in slow start at most `limit` segments; at most one in the slow start after a timeout (RFC 3465).
    Abc {
        /// L, segments.
        #[schemars(extend("default" = 2, "x-origin" = "RFC 3465 §2.3"), range(min = 1, max = 2))]
        limit: u32,
    },
    /// Limited byte counting: the bytes it acknowledges, in slow start at most two segments; at most one after a timeout (RFC 2760 §3.2.3).
    Lbc,
    /// Unlimited byte counting: the bytes it acknowledges; in the slow start after a timeout at most one segment (RFC 2760 §3.2.3).
    Ubc,
    /// Unlimited byte counting, after a timeout as well: one ACK may let a burst as long as the window go.
    UbcPure,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::scenario) enum SlowStart {
    /// Until the threshold or the first loss (RFC 5681).
    Standard,
    /// Above a window, half of that window is added per round trip and no more (RFC 3742).
    Limited {
        /// The window (max_ssthresh), at least two segments.
        #[schemars(extend("default" = "100 segments", "x-origin" = "RFC 3742 §2"))]
        max_ssthresh: WindowSize,
    },
    /// The threshold is estimated once, from the spacing of the first ACKs: their rate times the round trip (Hoe 1996).
    Hoe {
        /// Pairs of consecutive ACKs of one round of which the median counts; 1 takes the first pair, as ns-2 does.
        #[schemars(extend("default" = 3, "x-origin" = "RFC 2760 §3.2.5 warns of a single pair"), range(min = 1, max = 9))]
        pairs: u32,
        /// ACKs that are not further apart than this show the sender's clock, not the path.
        #[schemars(extend("default" = "1 us", "x-origin" = "usual clocks"))]
        resolution: Span,
    },
    /// Ends when ACKs come in a long train, or late (Ha and Rhee 2008).
    #[serde(rename = "hystart")]
    HyStart {
        /// Smaller windows do not end slow start.
        #[schemars(extend("default" = "16 segments", "x-origin" = "Ha and Rhee 2008, Linux"))]
        low_window: WindowSize,
        /// Which signs end slow start.
        #[schemars(extend("default" = "both", "x-origin" = "Ha and Rhee 2008, Linux"))]
        detect: Named<HyStartDetect>,
        /// ACKs that are not further apart than this are one train.
        #[schemars(extend("default" = "2 ms", "x-origin" = "Linux"))]
        ack_spacing: Span,
        /// A train is long when it lasts longer than the smallest round trip divided by this; with pacing, 1.
        #[schemars(extend("default" = 2, "x-origin" = "Linux without pacing"), range(min = 1, max = 1000))]
        train_divisor: u32,
        /// What the delay of a round is compared with.
        #[schemars(extend("default" = "connection", "x-origin" = "Linux"))]
        baseline: Named<HyStartBaseline>,
        /// The delay of a round is the smallest of this many samples at its start.
        #[schemars(extend("default" = 8, "x-origin" = "Ha and Rhee 2008, Linux"), range(min = 1, max = 1000))]
        samples: u32,
        /// ACKs are late when the delay has risen by more than the round trip divided by this, within the bounds below.
        #[schemars(extend("default" = 8, "x-origin" = "Linux"), range(min = 1, max = 1000))]
        delay_divisor: u32,
        /// Smallest rise of delay that counts.
        #[schemars(extend("default" = "4 ms", "x-origin" = "Linux"))]
        delay_min: Span,
        /// Largest rise of delay that is waited for.
        #[schemars(extend("default" = "16 ms", "x-origin" = "Linux"))]
        delay_max: Span,
    },
    /// When ACKs come late the first slow start goes on slowly for some rounds, and back if that was a mistake (RFC 9406).
    #[serde(rename = "hystart++")]
    HyStartPlusPlus {
        /// Smallest rise of delay that counts (MIN_RTT_THRESH).
        #[schemars(extend("default" = "4 ms", "x-origin" = "RFC 9406 §4.3"))]
        min_rtt_threshold: Span,
        /// Largest rise of delay that is waited for (MAX_RTT_THRESH).
        #[schemars(extend("default" = "16 ms", "x-origin" = "RFC 9406 §4.3"))]
        max_rtt_threshold: Span,
        /// Between them, ACKs are late when the delay has risen by the round trip divided by this (MIN_RTT_DIVISOR).
        #[schemars(extend("default" = 8, "x-origin" = "RFC 9406 §4.3"), range(min = 1, max = 1000))]
        min_rtt_divisor: u32,
        /// Samples that a round needs to be judged (N_RTT_SAMPLE).
        #[schemars(extend("default" = 8, "x-origin" = "RFC 9406 §4.3"), range(min = 1, max = 1000))]
        rtt_samples: u32,
        /// How much slower the conservative slow start is (CSS_GROWTH_DIVISOR).
        #[schemars(extend("default" = 4, "x-origin" = "RFC 9406 §4.3"), range(min = 1, max = 1000))]
        css_growth_divisor: u32,
        /// How many rounds it lasts (CSS_ROUNDS).
        #[schemars(extend("default" = 5, "x-origin" = "RFC 9406 §4.3"), range(min = 1, max = 1000))]
        css_rounds: u32,
        /// Segments that an ACK counts for at most in the first slow start (L), instead of what `byte_counting` says; RFC 9406 sets no limit with pacing.
        #[schemars(extend("default" = 8, "x-origin" = "RFC 9406 §4.3, without pacing"), range(min = 1, max = 1_000_000))]
        limit: u32,
    },
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::scenario) enum Increase {
    /// One segment (RFC 5681).
    Standard,
    /// As many segments as (round trip / reference)^2, so that the rate rises alike on all paths; at most one for each ACK (Floyd 1991, RFC 2760 §3.6).
    ConstantRate {
        /// The round trip at which that is one segment.
        #[schemars(extend("default" = "100 ms", "x-origin" = "a long path on the ground"))]
        reference_rtt: Span,
    },
    /// `k` segments where the smoothed round trip is long, one elsewhere (Henderson et al. 1998, RFC 2760 §3.6).
    ByK {
        /// Segments per round trip.
        #[schemars(extend("default" = 4, "x-origin" = "Henderson et al. 1998"), range(min = 1, max = 16))]
        k: u32,
        /// Round trips above this are long.
        #[schemars(extend("default" = "300 ms", "x-origin" = "a geostationary path is above, others are below"))]
        above_rtt: Span,
    },
}

//! What the two ends of a connection agree on, as it is written: marks, pacing, opening, sharing, buffers.

use crate::scenario::registered::Named;
use crate::scenario::text::{BitRate, Bytes, Span, WindowSize};
use bentpipe_tcp::SharedCwnd;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::scenario) enum Ecn {
    /// No marks: queues drop.
    Off,
    /// The receiver echoes a mark until the sender says that it has reduced its window (RFC 3168).
    Classic {
        /// Share of the window that is left after a mark, 0.1 to 0.99; RFC 8511 recommends 0.8 for the window of RFC 5681. Without it, what a loss leaves.
        #[schemars(range(min = 0.1, max = 0.99))]
        beta: Option<f64>,
    },
    /// The receiver tells of each segment whether it was marked (RFC 8257 §3.2); negotiated as the classic feedback is.
    PerSegment {
        /// Share of the window that is left after a mark, 0.1 to 0.99. Without it, what a loss leaves.
        #[schemars(range(min = 0.1, max = 0.99))]
        beta: Option<f64>,
    },
    /// The receiver counts marks in three header bits (RFC 9768, without its option).
    Accurate {
        /// Share of the window that is left after a mark, 0.1 to 0.99. Without it, what a loss leaves.
        #[schemars(range(min = 0.1, max = 0.99))]
        beta: Option<f64>,
    },
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::scenario) enum Pacing {
    /// Segments leave as soon as the windows allow.
    Off,
    /// A window per smoothed round-trip time, times a gain; what leaves before the first sample is not paced (J. Kulik et al. 1999).
    Window {
        /// The gain while the congestion window is below half of the slow start threshold, 0.1 to 100.
        #[schemars(extend("default" = 2.0, "x-origin" = "Linux"), range(min = 0.1, max = 100))]
        gain_slow_start: f64,
        /// The gain otherwise, 0.1 to 100.
        #[schemars(extend("default" = 1.2, "x-origin" = "Linux"), range(min = 0.1, max = 100))]
        gain: f64,
        /// What may leave back to back after a pause.
        #[schemars(extend("default" = "2 segments", "x-origin" = "two segments per ACK is what slow start sends"))]
        burst: WindowSize,
    },
    /// A fixed rate, headers included.
    Rate {
        /// The rate; more than 0.
        rate: BitRate,
        /// What may leave back to back after a pause.
        #[schemars(extend("default" = "2 segments", "x-origin" = "two segments per ACK is what slow start sends"))]
        burst: WindowSize,
    },
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::scenario) enum FastOpen {
    /// Data follow the handshake.
    Off,
    /// TCP Fast Open: a SYN with the server's cookie takes data along (RFC 7413).
    On {
        /// Whether the opener has the cookie when the run begins.
        #[schemars(extend("default" = "none", "x-origin" = "RFC 7413 §3: the first connection asks for it"))]
        cookie: Named<Cookie>,
    },
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::scenario) enum Sharing {
    /// Every connection begins anew.
    Off,
    /// What earlier connections between the same two hosts learnt (RFC 9040).
    On {
        /// Begin with their slow start threshold.
        #[schemars(extend("default" = true, "x-origin" = "RFC 9040 §5.1"))]
        ssthresh: bool,
        /// Begin with a retransmission timeout from their round-trip times.
        #[schemars(extend("default" = true, "x-origin" = "RFC 9040 §5.1"))]
        rtt: bool,
        /// How their congestion window is used.
        #[schemars(extend("default" = "cautious", "x-origin" = "RFC 9040 §5.2"))]
        cwnd: Named<SharedCwnd>,
        /// What is older is forgotten; more than 0 s.
        #[schemars(extend("default" = "3600 s", "x-origin" = "as long as Linux keeps it; shorter where paths change"))]
        age_max: Span,
    },
}

/// The size of a receive buffer that is `auto`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct AutoBuffer {
    /// At the beginning; at least one segment.
    #[schemars(extend("default" = "65535 B", "x-origin" = "the largest window without scaling"))]
    pub(in crate::scenario) start: Bytes,
    /// It grows to twice what a round trip brings, but not beyond this; at most 1073725440 B.
    #[schemars(extend("default" = "4 MB", "x-origin" = "J. Semke et al. 1998"))]
    pub(in crate::scenario) limit: Bytes,
    /// The limit is this many bandwidth-delay products of the path, if that is more.
    #[schemars(extend("default" = 0), range(max = 1000))]
    pub(in crate::scenario) limit_bdp: u32,
}

/// The size of a send buffer that is `auto`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct AutoSendBuffer {
    /// At the beginning; at least one segment.
    #[schemars(extend("default" = "64 kB", "x-origin" = "reading: more than an initial window"))]
    pub(in crate::scenario) start: Bytes,
    /// It grows to twice the congestion window, but not beyond this.
    #[schemars(extend("default" = "4 MB", "x-origin" = "J. Semke et al. 1998: twice the window; the limit is Linux's"))]
    pub(in crate::scenario) limit: Bytes,
    /// The limit is this many bandwidth-delay products of the path, if that is more.
    #[schemars(extend("default" = 0), range(max = 1000))]
    pub(in crate::scenario) limit_bdp: u32,
}

bentpipe_units::words! {
    /// Whether a Fast Open cookie is known.
    pub(in crate::scenario) enum Cookie {
        /// No: the first connection asks for it and gains nothing.
        "none" => None,
        /// Yes, from a connection before the run; so one connection saves its round trip, as T/TCP would (RFC 1644).
        "cached" => Cached,
    }
}

//! Applications as they are written.

use crate::scenario::text::{BitRate, Bytes, Share, Span};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::scenario) enum App {
    /// As much as the window allows, until the run ends.
    Greedy,
    /// A number of bytes, then close.
    File {
        /// Bytes of application data, at least 1.
        size: Bytes,
    },
    /// Transfers with pauses between them, on one connection or a new one each time.
    Bulk {
        /// Bytes of each transfer.
        size: Size,
        /// Time from the last byte acknowledged to the next transfer.
        pause: Wait,
        /// Number of transfers. Without it, until the run ends.
        #[schemars(range(min = 1, max = 1_000_000_000))]
        count: Option<u64>,
        /// Whether each transfer has a new connection, or all share one that is idle in the pauses.
        #[schemars(extend("default" = false))]
        reconnect: bool,
    },
    /// Transfers that arrive as a Poisson process, each on a connection of its own. How often is said by `load` and `link`, or by `interval`.
    Arrivals {
        /// Bytes of each transfer.
        size: Size,
        /// Share of the link's largest rate that first transmissions take, on average.
        load: Option<Share>,
        /// The link and direction that `load` is of, such as `sat.forward`; it must be on the flow's route.
        link: Option<String>,
        /// Whether `load` counts headers.
        #[schemars(extend("default" = true))]
        load_headers: bool,
        /// Mean time between arrivals, instead of `load` and `link`.
        interval: Option<Span>,
        /// Number of arrivals. Without it, until the run ends.
        #[schemars(range(min = 1, max = 1_000_000_000))]
        count: Option<u64>,
        /// Whether the arrivals may offer a link as much as it carries or more. They then pile up without limit, and every number depends on when the run ends.
        #[schemars(extend("default" = false))]
        overload: bool,
    },
    /// The sending node asks, the other answers, again and again. Both directions of one connection carry data.
    RequestResponse {
        /// Bytes of each request.
        #[schemars(extend("default" = "350 B"))]
        request: Size,
        /// Bytes of each response.
        response: Size,
        /// Time from the last byte of a request to the response.
        #[schemars(extend("default" = "0 s"))]
        wait: Wait,
        /// Time from the last byte of a response to the next request.
        #[schemars(extend("default" = "0 s"))]
        think: Wait,
        /// Number of exchanges. Without it, until the run ends.
        #[schemars(range(min = 1, max = 1_000_000_000))]
        count: Option<u64>,
        /// Whether each exchange has a new connection, or all share one.
        #[schemars(extend("default" = false))]
        reconnect: bool,
    },
    /// Pages of a main object and embedded ones, fetched by the sending node from the other over new connections for each page. Main objects are lognormal with mean 10710 B, embedded ones with mean 7758 B; on average a page has 5.6 of them.
    Page {
        /// Connections at the same time. Each has one object on its way and asks for the next when it is complete.
        #[schemars(range(min = 1, max = 64), extend("default" = 6, "x-origin" = "what browsers open to one host under HTTP/1.1"))]
        connections: u32,
        /// Whether there is one connection instead, on which all requests go out at once and objects come in order.
        #[schemars(extend("default" = false))]
        multiplexed: bool,
        /// Factor of the size of all objects.
        #[schemars(range(min = 0.01, max = 1000.0), extend("default" = 1.0))]
        page_scale: f64,
        /// Bytes of each request.
        #[schemars(extend("default" = "350 B"))]
        request: Bytes,
        /// Round trips that securing a connection takes before its first request: as many exchanges of the size of a request, both ways.
        #[schemars(range(min = 0, max = 4), extend("default" = 0))]
        tls_rtts: u32,
        /// Time from the main object to the requests for the embedded ones.
        #[schemars(extend("default" = { "kind": "exponential", "mean": "130 ms" }))]
        parse: Wait,
        /// Time from the last object of a page to the next page.
        #[schemars(extend("default" = { "kind": "exponential", "mean": "30 s" }))]
        reading: Wait,
        /// Number of pages. Without it, until the run ends.
        #[schemars(range(min = 1, max = 1_000_000_000))]
        count: Option<u64>,
    },
    /// Datagrams at equal distances, without congestion control. Each has 28 B of headers (IPv4 and UDP) besides its payload.
    Cbr {
        /// Payload per time.
        rate: BitRate,
        /// Payload bytes of each datagram, 1 B to 65507 B.
        #[schemars(extend("default" = "1200 B"))]
        size: Bytes,
        /// Each datagram is sent up to twice this much later than its turn, uniformly; at most half the distance.
        #[schemars(extend("default" = "0 s"))]
        jitter: Span,
    },
    /// Datagrams as a Poisson process, without congestion control.
    Poisson {
        /// Mean payload per time.
        rate: BitRate,
        /// Payload bytes of each datagram, 1 B to 65507 B.
        #[schemars(extend("default" = "1200 B"))]
        size: Bytes,
    },
    /// Datagrams at equal distances in periods that alternate with silence, without congestion control. Many with Pareto periods of shape a make a self-similar sum with Hurst parameter (3 - a)/2.
    OnOff {
        /// Payload per time while on.
        peak: BitRate,
        /// Payload bytes of each datagram, 1 B to 65507 B.
        #[schemars(extend("default" = "1200 B"))]
        size: Bytes,
        /// How long it is on.
        on: Wait,
        /// How long it is off.
        off: Wait,
    },
}

/// A number of bytes, fixed or drawn for each.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(in crate::scenario) enum Size {
    Fixed(Bytes),
    Drawn(SizeDistribution),
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::scenario) enum SizeDistribution {
    /// Exponential.
    Exponential {
        /// Mean.
        mean: Bytes,
    },
    /// Pareto: a few are very large.
    Pareto {
        /// The smaller, the heavier the tail; above 1, so that there is a mean. At 2 and below the variance is infinite.
        #[schemars(range(min = 1.01, max = 100.0))]
        shape: f64,
        /// The least.
        min: Bytes,
    },
    /// Pareto between two bounds.
    BoundedPareto {
        /// The smaller, the heavier the tail.
        #[schemars(range(min = 0.01, max = 100.0))]
        shape: f64,
        /// The least.
        min: Bytes,
        /// The most.
        max: Bytes,
    },
    /// Lognormal.
    Lognormal {
        /// Mean.
        mean: Bytes,
        /// Standard deviation.
        sd: Bytes,
    },
}

/// A time, fixed or drawn for each.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(in crate::scenario) enum Wait {
    Constant(Span),
    Drawn(WaitDistribution),
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::scenario) enum WaitDistribution {
    /// Exponential.
    Exponential {
        /// Mean.
        mean: Span,
    },
    /// Pareto.
    Pareto {
        /// The smaller, the heavier the tail; above 1, so that there is a mean.
        #[schemars(range(min = 1.01, max = 100.0))]
        shape: f64,
        /// Mean.
        mean: Span,
    },
}

/// An application that reads more slowly than data may arrive: windows close, and open again.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct Reader {
    /// How much it reads on average, as long as there is something.
    pub(in crate::scenario) rate: BitRate,
    /// Time between two reads; each takes what `rate` gives in this time.
    #[schemars(extend("default" = "10 ms"))]
    pub(in crate::scenario) every: Span,
}

//! Applications, as the engine knows them.

use super::{Size, Wait};
use bentpipe_units::{Duration, Rate};

/// What a flow sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum App {
    /// As much as the window allows, until the run ends.
    Greedy,
    /// This many bytes, then close.
    File {
        /// Bytes of application data.
        size: u64,
    },
    /// Transfers with pauses between them.
    Bulk(Bulk),
    /// Transfers that arrive at random, each with a connection of its own.
    Arrivals(Arrivals),
    /// Questions and answers.
    RequestResponse(RequestResponse),
    /// Pages of objects.
    Page(Page),
    /// Datagrams, sent whatever becomes of them.
    Datagrams(Datagrams),
}

/// See [`App::Bulk`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bulk {
    /// Of each transfer.
    pub size: Size,
    /// From the last byte acknowledged to the next transfer.
    pub pause: Wait,
    /// Transfers; none: until the run ends.
    pub count: Option<u64>,
    /// Use a new connection for each transfer.
    pub reconnect: bool,
}

/// See [`App::Arrivals`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// Of each transfer.
    pub size: Size,
    /// Mean time between arrivals, which is exponential.
    pub interval: Duration,
    /// Arrivals; none: until the run ends.
    pub count: Option<u64>,
    /// More may be offered than a link carries.
    pub overload: bool,
}

/// See [`App::RequestResponse`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestResponse {
    /// Of each request, from `from` to `to`.
    pub request: Size,
    /// Of each response, from `to` to `from`.
    pub response: Size,
    /// From the last byte of the request to the first of the response.
    pub wait: Wait,
    /// From the last byte of the response to the next request.
    pub think: Wait,
    /// Exchanges; none: until the run ends.
    pub count: Option<u64>,
    /// Use a new connection for each exchange.
    pub reconnect: bool,
}

/// See [`App::Page`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Page {
    /// Connections at the same time, each with one object at a time.
    pub connections: u32,
    /// One connection instead, and all requests at once.
    pub multiplexed: bool,
    /// Factor of all sizes of objects.
    pub scale: f64,
    /// Bytes of a request.
    pub request: u64,
    /// Round trips that securing a connection takes before its first request.
    pub tls_rtts: u32,
    /// From the main object to the requests for the others.
    pub parse: Wait,
    /// From a page to the next.
    pub reading: Wait,
    /// Pages; none: until the run ends.
    pub count: Option<u64>,
}

/// See [`App::Datagrams`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Datagrams {
    /// Payload bytes of each.
    pub size: u16,
    /// When they are sent.
    pub gaps: Gaps,
}

/// When datagrams are sent. Rates are of payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gaps {
    /// At equal distances.
    Constant {
        /// Payload per time.
        rate: Rate,
        /// Each is this much earlier or later at most, uniformly.
        jitter: Duration,
    },
    /// At exponential distances.
    Poisson {
        /// Mean payload per time.
        rate: Rate,
    },
    /// At equal distances while on; nothing while off.
    OnOff {
        /// Payload per time while on.
        peak: Rate,
        /// How long it is on.
        on: Wait,
        /// How long it is off.
        off: Wait,
    },
}

/// How an application reads what has arrived: in equal steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    /// Bytes per time, as long as there is something to read.
    pub rate: Rate,
    /// Time between steps.
    pub every: Duration,
}

impl App {
    /// Whether both ends send data.
    pub(crate) fn is_two_way(&self) -> bool {
        matches!(self, Self::RequestResponse(_) | Self::Page(_))
    }

    /// Whether it is without a transport.
    pub(crate) fn is_datagrams(&self) -> bool {
        matches!(self, Self::Datagrams(_))
    }

    /// Whether it stops by itself, however long the run is.
    pub(crate) fn has_end(&self) -> bool {
        match self {
            Self::Greedy | Self::Datagrams(_) => false,
            Self::File { .. } => true,
            Self::Bulk(bulk) => bulk.count.is_some(),
            Self::Arrivals(arrivals) => arrivals.count.is_some(),
            Self::RequestResponse(exchanges) => exchanges.count.is_some(),
            Self::Page(page) => page.count.is_some(),
        }
    }

    /// Whether it is one connection from its start, with nothing to decide later.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self, Self::Greedy | Self::File { .. })
    }

    /// How many transfers it makes, if that is known and they are more than the one of a file.
    pub(crate) fn count(&self) -> Option<u64> {
        match *self {
            Self::Greedy | Self::File { .. } | Self::Datagrams(_) => None,
            Self::Bulk(Bulk { count, .. })
            | Self::Arrivals(Arrivals { count, .. })
            | Self::RequestResponse(RequestResponse { count, .. })
            | Self::Page(Page { count, .. }) => count,
        }
    }
}

impl Datagrams {
    /// Mean payload per second, bytes.
    pub(crate) fn bytes_per_second(&self) -> f64 {
        let bps = match self.gaps {
            Gaps::Constant { rate, .. } | Gaps::Poisson { rate } => rate.as_bps() as f64,
            Gaps::OnOff { peak, on, off } => {
                let (on, off) = (on.mean().as_secs_f64(), off.mean().as_secs_f64());
                peak.as_bps() as f64 * on / (on + off)
            }
        };
        bps / 8.0
    }
}

//! Applications of flows.

use super::{Size, Wait};
use bentpipe_units::settings::Bytes;
use bentpipe_units::{settings, Duration, Rate};

/// Application of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum App {
    /// Unlimited data, as the window allows, until the run ends.
    Greedy,
    /// This many bytes, then close.
    File {
        /// Bytes of application data.
        size: u64,
    },
    /// Transfers with pauses between them.
    Bulk(Bulk),
    /// Transfers that arrive at random, each with a separate connection.
    Arrivals(Arrivals),
    /// Records on one connection, one after the other.
    Records(WrittenRecords),
    /// Requests and responses.
    RequestResponse(RequestResponse),
    /// Pages of objects.
    Page(Page),
    /// Datagrams, sent without regard to losses.
    Datagrams(Datagrams),
    /// No data: packets are given to its two ends from outside, and taken out there (`Network`).
    Port,
}

settings! {
    /// Transfers with pauses between them, on one connection or a new one each time.
    pub struct Bulk {
        /// Bytes of each transfer.
        size: Size;
        /// Time from the last byte acknowledged to the next transfer.
        pause: Wait;
        /// Whether each transfer has a new connection. Otherwise all share one connection, which is idle in the pauses.
        reconnect: bool = false;
        /// Number of transfers. Default: no limit until the run ends.
        count: Option<u64>, [1, 1_000_000_000];
    }
}

/// Transfers that arrive at random, each with a separate connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// Bytes of each transfer.
    pub size: Size,
    /// Mean time between arrivals, which is exponential.
    pub interval: Duration,
    /// Number of arrivals; `None`: until the run ends.
    pub count: Option<u64>,
    /// Whether the offered load may exceed a link's rate.
    pub overload: bool,
}

settings! {
    /// Records on one connection, each written at its time.
    pub struct WrittenRecords {
        /// Bytes of each record.
        size: Size;
        /// Time from one record to the next, independent of its fate.
        interval: Wait;
        /// Number of records. Default: no limit until the run ends.
        count: Option<u64>, [1, 1_000_000_000];
    }
}

settings! {
    /// Requests and responses.
    pub struct RequestResponse {
        /// Bytes of each request.
        request: Size = Size::Fixed(350);
        /// Bytes of each response.
        response: Size;
        /// Time from the last byte of a request to the response.
        wait: Wait = Wait::Constant(Duration::ZERO);
        /// Time from the last byte of a response to the next request.
        think: Wait = Wait::Constant(Duration::ZERO);
        /// Whether each exchange has a new connection. Otherwise all share one.
        reconnect: bool = false;
        /// Objects that other flows request, too: all flows to this node share them. Default: each response is unique
        /// to its flow.
        catalogue: Option<Catalogue>;
        /// Number of exchanges. Default: no limit until the run ends.
        count: Option<u64>, [1, 1_000_000_000];
    }
}

settings! {
    /// Objects of the answering node, shared by all flows that request them: a cache on the path may have one already.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Catalogue {
        /// Number of objects.
        objects: u64 = 100, [1, 10_000];
        /// Exponent of Zipf's law: the kth object is requested in proportion to 1/k^zipf. 0 means equally often.
        /// Proxies saw 0.64 to 0.83 (Breslau et al. 1999). Default: objects are requested one after the other, as in a
        /// course.
        zipf: Option<f64>, [0.0, 10.0];
        /// Number of the first object: flows with other numbers request other objects.
        first: u64 = 1, [1, 1_000_000_000];
    }
}

settings! {
    /// Pages of objects.
    pub struct Page {
        /// Bytes of the main object. Default: lognormal with mean 10710 B.
        main: Option<Size>;
        /// Bytes of each embedded object. Default: lognormal with mean 7758 B.
        object: Option<Size>;
        /// Embedded objects per page. Default: random, 5.6 on average.
        objects: Option<u64>, [0, 10_000];
        /// Whether one connection carries all requests together, and objects in order.
        multiplexed: bool = false;
        /// Factor of the size of all objects.
        "page_scale" scale: f64 = 1.0, [0.01, 1000.0];
        /// Bytes of each request.
        request: u64 as Bytes = 350;
        /// Round trips that securing a connection takes before its first request: exchanges of the size of a request,
        /// in both directions.
        tls_rtts: u32 = 0, [0, 4];
        /// Time from the main object to the requests for the embedded ones.
        parse: Wait = Wait::Exponential { mean: Duration::from_millis(130) };
        /// Time from the last object of a page to the next page.
        reading: Wait = Wait::Exponential { mean: Duration::from_secs(30) };
        /// Parallel connections. Each fetches one object at a time.
        connections: u32 = 6, [1, 64], "usual number of browsers to one host under HTTP/1.1";
        /// Pages that other flows request, too, with their objects: all flows to this node share them. Default: pages
        /// are unique to the flow.
        catalogue: Option<Catalogue>;
        /// Number of pages. Default: no limit until the run ends.
        count: Option<u64>, [1, 1_000_000_000];
    }
}

impl Page {
    /// Returns the mean number of embedded objects.
    pub(crate) fn objects_mean(&self) -> f64 {
        self.objects.map_or(5.642, |count| count as f64)
    }

    /// Returns the approximate mean size of an object.
    pub(crate) fn object_bytes_mean(&self) -> f64 {
        self.scale * self.object.map_or(8500.0, |size| size.mean())
    }
}

/// Datagrams, sent without regard to losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Datagrams {
    /// Payload bytes of each.
    pub size: u16,
    /// Times of the datagrams.
    pub gaps: Gaps,
}

/// Times of datagrams. Rates are of payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gaps {
    /// Equal distances.
    Constant {
        /// Payload per time.
        rate: Rate,
        /// Largest deviation of each, earlier or later, uniform.
        jitter: Duration,
    },
    /// Exponential distances.
    Poisson {
        /// Mean payload per time.
        rate: Rate,
    },
    /// Equal distances while on, no datagrams while off.
    OnOff {
        /// Payload per time while on.
        peak: Rate,
        /// Time on.
        on: Wait,
        /// Time off.
        off: Wait,
    },
}

settings! {
    /// Application that may read more slowly than data arrives: windows close, and open again.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Reader {
        /// Mean rate of reading while data is available.
        rate: Rate;
        /// Time between two reads. Each read takes the data of this time at `rate`.
        every: Duration = Duration::from_millis(10);
    }
}

impl App {
    /// Whether both ends send data.
    pub(crate) fn is_two_way(&self) -> bool {
        matches!(self, Self::RequestResponse(_) | Self::Page(_))
    }

    /// Whether it uses connections.
    pub(crate) fn has_transport(&self) -> bool {
        !matches!(self, Self::Datagrams(_) | Self::Port)
    }

    /// Whether both ends send data.
    pub(crate) fn has_answers(&self) -> bool {
        matches!(self, Self::RequestResponse(_) | Self::Page(_))
    }

    /// Whether it ends by itself in a run of any length.
    pub(crate) fn has_end(&self) -> bool {
        match self {
            Self::Greedy | Self::Datagrams(_) | Self::Port => false,
            Self::File { .. } => true,
            Self::Bulk(bulk) => bulk.count.is_some(),
            Self::Arrivals(arrivals) => arrivals.count.is_some(),
            Self::Records(records) => records.count.is_some(),
            Self::RequestResponse(exchanges) => exchanges.count.is_some(),
            Self::Page(page) => page.count.is_some(),
        }
    }

    /// Whether it is one connection from its start, without later decisions.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self, Self::Greedy | Self::File { .. })
    }

    /// Returns the objects that it shares with others.
    pub(crate) fn catalogue(&self) -> Option<&Catalogue> {
        match self {
            Self::RequestResponse(exchanges) => exchanges.catalogue.as_ref(),
            Self::Page(page) => page.catalogue.as_ref(),
            _ => None,
        }
    }

    /// Returns its number of transfers, if it is known and is not the single one of a file.
    pub(crate) fn count(&self) -> Option<u64> {
        match *self {
            Self::Greedy | Self::File { .. } | Self::Datagrams(_) | Self::Port => None,
            Self::Bulk(Bulk { count, .. })
            | Self::Arrivals(Arrivals { count, .. })
            | Self::Records(WrittenRecords { count, .. })
            | Self::RequestResponse(RequestResponse { count, .. })
            | Self::Page(Page { count, .. }) => count,
        }
    }
}

impl Datagrams {
    /// Returns the mean payload per second, bytes.
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

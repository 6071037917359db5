//! What flows send.

use super::{Size, Wait};
use bentpipe_units::settings::Bytes;
use bentpipe_units::{settings, Duration, Rate};

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
    /// Records on one connection, one after the other.
    Records(WrittenRecords),
    /// Questions and answers.
    RequestResponse(RequestResponse),
    /// Pages of objects.
    Page(Page),
    /// Datagrams, sent whatever becomes of them.
    Datagrams(Datagrams),
    /// Nothing of its own: packets are given to its two ends from outside, and taken out there (`Network`).
    Port,
}

settings! {
    /// Transfers with pauses between them, on one connection or a new one each time.
    pub struct Bulk {
        /// Bytes of each transfer.
        size: Size;
        /// Time from the last byte acknowledged to the next transfer.
        pause: Wait;
        /// Whether each transfer has a new connection, or all share one that is idle in the pauses.
        reconnect: bool = false;
        /// Number of transfers. Without it, until the run ends.
        count: Option<u64>, [1, 1_000_000_000];
    }
}

/// Transfers that arrive at random, each with a connection of its own.
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

settings! {
    /// Records on one connection, each written at its time.
    pub struct WrittenRecords {
        /// Bytes of each record.
        size: Size;
        /// Time from one record to the next, whatever became of it.
        interval: Wait;
        /// Number of records. Without it, until the run ends.
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
        /// Whether each exchange has a new connection, or all share one.
        reconnect: bool = false;
        /// Objects that other flows ask for too: they are the same for all flows to this node. Without it, each response is one that nobody else asks for.
        catalogue: Option<Catalogue>;
        /// Number of exchanges. Without it, until the run ends.
        count: Option<u64>, [1, 1_000_000_000];
    }
}

settings! {
    /// Objects of the answering node, the same for all flows that ask it for them: a cache on the way may have one already.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Catalogue {
        /// How many there are.
        objects: u64 = 100, [1, 10_000];
        /// Exponent of Zipf's law: the kth is asked for as often as 1/k^zipf says, 0 being equally often. Proxies saw 0.64 to 0.83 (Breslau et al. 1999). Without it, one after the other, as in a course.
        zipf: Option<f64>, [0.0, 10.0];
        /// Number of the first one: flows with other numbers ask for other objects.
        first: u64 = 1, [1, 1_000_000_000];
    }
}

settings! {
    /// Pages of objects.
    pub struct Page {
        /// Bytes of the main object. Without it, lognormal with mean 10710 B.
        main: Option<Size>;
        /// Bytes of each embedded object. Without it, lognormal with mean 7758 B.
        object: Option<Size>;
        /// Embedded objects of each page. Without it, drawn: 5.6 on average.
        objects: Option<u64>, [0, 10_000];
        /// Whether there is one connection instead, on which all requests go out at once and objects come in order.
        multiplexed: bool = false;
        /// Factor of the size of all objects.
        "page_scale" scale: f64 = 1.0, [0.01, 1000.0];
        /// Bytes of each request.
        request: u64 as Bytes = 350;
        /// Round trips that securing a connection takes before its first request: as many exchanges of the size of a request, both ways.
        tls_rtts: u32 = 0, [0, 4];
        /// Time from the main object to the requests for the embedded ones.
        parse: Wait = Wait::Exponential { mean: Duration::from_millis(130) };
        /// Time from the last object of a page to the next page.
        reading: Wait = Wait::Exponential { mean: Duration::from_secs(30) };
        /// Connections at the same time. Each has one object on its way and asks for the next when it is complete.
        connections: u32 = 6, [1, 64], "what browsers open to one host under HTTP/1.1";
        /// Pages that other flows ask for too, with their objects: they are the same for all flows to this node. Without it, nobody else asks for them.
        catalogue: Option<Catalogue>;
        /// Number of pages. Without it, until the run ends.
        count: Option<u64>, [1, 1_000_000_000];
    }
}

impl Page {
    /// Mean number of embedded objects.
    pub(crate) fn objects_mean(&self) -> f64 {
        self.objects.map_or(5.642, |count| count as f64)
    }

    /// Roughly the mean size of an object.
    pub(crate) fn object_bytes_mean(&self) -> f64 {
        self.scale * self.object.map_or(8500.0, |size| size.mean())
    }
}

/// Datagrams, sent whatever becomes of them.
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

settings! {
    /// An application that reads more slowly than data may arrive: windows close, and open again.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Reader {
        /// How much it reads on average, as long as there is something.
        rate: Rate;
        /// Time between two reads; each takes what `rate` gives in this time.
        every: Duration = Duration::from_millis(10);
    }
}

impl App {
    /// Whether both ends send data.
    pub(crate) fn is_two_way(&self) -> bool {
        matches!(self, Self::RequestResponse(_) | Self::Page(_))
    }

    /// Whether it sends by connections.
    pub(crate) fn has_transport(&self) -> bool {
        !matches!(self, Self::Datagrams(_) | Self::Port)
    }

    /// Whether both ends send data.
    pub(crate) fn has_answers(&self) -> bool {
        matches!(self, Self::RequestResponse(_) | Self::Page(_))
    }

    /// Whether it stops by itself, however long the run is.
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

    /// Whether it is one connection from its start, with nothing to decide later.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self, Self::Greedy | Self::File { .. })
    }

    /// The objects that it shares with others.
    pub(crate) fn catalogue(&self) -> Option<&Catalogue> {
        match self {
            Self::RequestResponse(exchanges) => exchanges.catalogue.as_ref(),
            Self::Page(page) => page.catalogue.as_ref(),
            _ => None,
        }
    }

    /// How many transfers it makes, if that is known and they are more than the one of a file.
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

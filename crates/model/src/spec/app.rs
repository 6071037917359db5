//! Applications of flows.

mod carousel;
mod datagrams;
mod page;
mod probe;

pub use carousel::Carousel;
pub use carousel::Layout;
pub use datagrams::{Content, Datagrams, Gaps};
pub use datagrams::{ALC_HEADER, RTP_HEADER};
pub use page::{Page, PageModel, PageObject, PageRecord, Recorded};
pub use probe::{ProbeTimes, Probing};

use super::{Size, Wait};
use bentpipe_units::{settings, Duration, Rate};

/// Application of a flow.
#[derive(Clone, Debug, PartialEq)]
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
    /// Datagrams that the other end answers.
    Probe(Probing),
    /// No data: packets are given to its two ends from outside, and taken out there (`Network`).
    Port,
}

/// Evaluates an expression for the keys of an application of any kind.
macro_rules! each {
    ($app:expr, $keys:ident => $value:expr) => {
        match *$app {
            App::Greedy => {
                let $keys = Greedy;
                $value
            }
            App::File { size } => {
                let $keys = OneFile { size };
                $value
            }
            App::Bulk($keys) => $value,
            App::Arrivals($keys) => $value,
            App::Records($keys) => $value,
            App::RequestResponse($keys) => $value,
            App::Page(ref $keys) => $value,
            App::Datagrams($keys) => $value,
            App::Probe(ref $keys) => $value,
            App::Port => {
                let $keys = Port;
                $value
            }
        }
    };
}

impl App {
    /// Returns the name of its kind in results.
    pub fn kind(&self) -> &'static str {
        each!(self, keys => keys.kind())
    }

    /// Whether it may fail while its timer runs, or complete: its timer is no bound of the end of its flow.
    pub fn ends_in_pauses(&self) -> bool {
        each!(self, keys => keys.ends_in_pauses())
    }

    /// Whether both ends send data.
    pub fn is_two_way(&self) -> bool {
        each!(self, keys => keys.is_two_way())
    }

    /// Whether it uses connections.
    pub fn has_transport(&self) -> bool {
        each!(self, keys => keys.has_transport())
    }

    /// Whether its data may be for several receivers.
    pub fn is_for_many(&self) -> bool {
        each!(self, keys => keys.is_for_many())
    }

    /// Whether it is one connection from its start, without later decisions.
    pub fn is_single(&self) -> bool {
        each!(self, keys => keys.is_single())
    }

    /// Whether it ends by itself in a run of any length.
    pub fn has_end(&self) -> bool {
        each!(self, keys => keys.has_end())
    }

    /// Returns its number of transfers, if it is known and is not the single one of a file.
    pub fn count(&self) -> Option<u64> {
        each!(self, keys => keys.count())
    }

    /// Whether the seed decides its sizes or times.
    pub(crate) fn is_random(&self) -> bool {
        each!(self, keys => keys.is_random())
    }

    /// Returns the objects that it shares with others.
    pub fn catalogue(&self) -> Option<Catalogue> {
        each!(self, keys => keys.catalogue())
    }

    /// Returns the mean payload per second and the payload of each datagram, bytes, if it sends datagrams.
    pub fn datagrams(&self) -> Option<(f64, f64)> {
        each!(self, keys => keys.datagrams())
    }

    /// Returns the time from the first arrival to the playout of media, if it sends media.
    pub fn playout(&self) -> Option<Duration> {
        match self {
            Self::Datagrams(Datagrams { content: Content::Media { playout }, .. }) => Some(*playout),
            _ => None,
        }
    }

    /// Returns the division of the file that its datagrams carry, if they carry one.
    pub fn layout(&self) -> Option<Layout> {
        match self {
            Self::Datagrams(datagrams) => datagrams.layout(),
            _ => None,
        }
    }

    /// Estimates its packets in a run, at most.
    pub fn packets(&self, capacity: &Capacity) -> f64 {
        each!(self, keys => keys.packets(capacity))
    }
}

/// Facts that follow from the keys of an application.
trait Facts {
    const KIND: &'static str;
    /// Whether it may fail while its timer runs, or complete.
    const ENDS_IN_PAUSES: bool;
    const IS_TWO_WAY: bool = false;
    const HAS_TRANSPORT: bool = true;
    const IS_SINGLE: bool = false;
    const IS_FOR_MANY: bool = false;

    fn kind(&self) -> &'static str {
        Self::KIND
    }

    fn ends_in_pauses(&self) -> bool {
        Self::ENDS_IN_PAUSES
    }

    fn is_two_way(&self) -> bool {
        Self::IS_TWO_WAY
    }

    fn has_transport(&self) -> bool {
        Self::HAS_TRANSPORT
    }

    fn is_single(&self) -> bool {
        Self::IS_SINGLE
    }

    fn is_for_many(&self) -> bool {
        Self::IS_FOR_MANY
    }

    fn has_end(&self) -> bool {
        self.count().is_some()
    }

    fn count(&self) -> Option<u64> {
        None
    }

    fn is_random(&self) -> bool;

    fn catalogue(&self) -> Option<Catalogue> {
        None
    }

    fn datagrams(&self) -> Option<(f64, f64)> {
        None
    }

    fn packets(&self, capacity: &Capacity) -> f64;
}

/// Share of a flow in the capacity of its path, for the estimate of its packets.
pub struct Capacity {
    /// Duration of the run in seconds.
    pub seconds: f64,
    /// Least round-trip time in seconds.
    pub rtt_s: f64,
    /// Rate in bit/s.
    pub rate: f64,
    /// Full packets in the run, at most.
    pub packets: f64,
    /// Payload bytes of a full packet.
    pub smss: u32,
}

impl Capacity {
    /// Returns the transfers of `each_s` seconds, one after the other. A round trip precedes each.
    fn in_turn(&self, count: Option<u64>, each_s: f64) -> f64 {
        at_most(count, self.seconds / (each_s + self.rtt_s).max(1e-9))
    }

    /// Returns the transmission time of `bytes` in seconds.
    fn sending_s(&self, bytes: f64) -> f64 {
        8.0 * bytes / self.rate
    }

    fn segments(&self, size: Size) -> f64 {
        size.segments(self.smss)
    }
}

fn at_most(count: Option<u64>, in_time: f64) -> f64 {
    count.map_or(in_time, |count| in_time.min(count as f64))
}

/// Returns the packets of a connection. Each byte may be sent twice. Opening and closing take about ten packets.
fn packets_of(segments: f64) -> f64 {
    2.0 * segments + 10.0
}

fn is_random_size(size: Size) -> bool {
    !matches!(size, Size::Fixed(_))
}

fn is_random_wait(wait: Wait) -> bool {
    !matches!(wait, Wait::Constant(_))
}

struct Greedy;

impl Facts for Greedy {
    const KIND: &'static str = "greedy";
    const ENDS_IN_PAUSES: bool = false;
    const IS_SINGLE: bool = true;

    fn is_random(&self) -> bool {
        false
    }

    fn packets(&self, capacity: &Capacity) -> f64 {
        capacity.packets
    }
}

struct OneFile {
    size: u64,
}

impl Facts for OneFile {
    const KIND: &'static str = "file";
    const ENDS_IN_PAUSES: bool = false;
    const IS_SINGLE: bool = true;

    fn has_end(&self) -> bool {
        true
    }

    fn is_random(&self) -> bool {
        false
    }

    fn packets(&self, capacity: &Capacity) -> f64 {
        capacity.packets.min(2.0 * self.size as f64 / f64::from(capacity.smss))
    }
}

struct Port;

impl Facts for Port {
    const KIND: &'static str = "port";
    const ENDS_IN_PAUSES: bool = false;
    const HAS_TRANSPORT: bool = false;

    fn is_random(&self) -> bool {
        true
    }

    /// Unknown: packets come from outside.
    fn packets(&self, _capacity: &Capacity) -> f64 {
        0.0
    }
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

impl Facts for Bulk {
    const KIND: &'static str = "bulk";
    const ENDS_IN_PAUSES: bool = false;

    fn count(&self) -> Option<u64> {
        self.count
    }

    fn is_random(&self) -> bool {
        is_random_size(self.size) || is_random_wait(self.pause)
    }

    fn packets(&self, capacity: &Capacity) -> f64 {
        let each_s = self.pause.mean().as_secs_f64() + capacity.sending_s(self.size.mean());
        capacity.in_turn(self.count, each_s) * packets_of(capacity.segments(self.size))
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

impl Arrivals {
    /// Returns the number of transfers that arrive in a run.
    pub fn transfers(&self, seconds: f64) -> f64 {
        at_most(self.count, seconds / self.interval.as_secs_f64())
    }
}

impl Facts for Arrivals {
    const KIND: &'static str = "arrivals";
    const ENDS_IN_PAUSES: bool = false;

    fn count(&self) -> Option<u64> {
        self.count
    }

    fn is_random(&self) -> bool {
        true
    }

    fn packets(&self, capacity: &Capacity) -> f64 {
        self.transfers(capacity.seconds) * packets_of(capacity.segments(self.size))
    }
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

impl WrittenRecords {
    /// Returns the number of records that are written in a run.
    pub fn records(&self, seconds: f64) -> f64 {
        at_most(self.count, seconds / self.interval.mean().as_secs_f64())
    }
}

impl Facts for WrittenRecords {
    const KIND: &'static str = "records";
    const ENDS_IN_PAUSES: bool = false;

    fn count(&self) -> Option<u64> {
        self.count
    }

    fn is_random(&self) -> bool {
        is_random_size(self.size) || is_random_wait(self.interval)
    }

    fn packets(&self, capacity: &Capacity) -> f64 {
        self.records(capacity.seconds) * 2.0 * capacity.segments(self.size) + 10.0
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

impl Facts for RequestResponse {
    const KIND: &'static str = "request-response";
    const ENDS_IN_PAUSES: bool = false;
    const IS_TWO_WAY: bool = true;

    fn count(&self) -> Option<u64> {
        self.count
    }

    fn is_random(&self) -> bool {
        let is_random_time = is_random_wait(self.wait) || is_random_wait(self.think);
        is_random_size(self.request) || is_random_size(self.response) || is_random_time || self.catalogue.is_some()
    }

    fn catalogue(&self) -> Option<Catalogue> {
        self.catalogue
    }

    fn packets(&self, capacity: &Capacity) -> f64 {
        let think_s = self.wait.mean().as_secs_f64() + self.think.mean().as_secs_f64();
        let each_s = think_s + capacity.sending_s(self.request.mean().min(self.response.mean()));
        let segments = capacity.segments(self.request) + capacity.segments(self.response);
        capacity.in_turn(self.count, each_s) * packets_of(segments)
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
    /// Application that may read more slowly than data arrives: windows close, and open again.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Reader {
        /// Mean rate of reading while data is available.
        rate: Rate;
        /// Time between two reads. Each read takes the data of this time at `rate`.
        every: Duration = Duration::from_millis(10);
    }
}

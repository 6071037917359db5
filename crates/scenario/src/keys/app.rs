//! Applications of flows: their keys, and the checks of their values.

use crate::har;
use crate::report::{below, Report};
use crate::trace;
use bentpipe_model::spec::{
    App as Spec, Arrivals, Bulk, Carousel, Content, Datagrams, Gaps, Page, PageObject, PageRecord, ProbeTimes, Probing,
    Reader, Recorded, RequestResponse, Size, Wait, WrittenRecords, ALC_HEADER, RTP_HEADER,
};
use bentpipe_units::settings::{Bytes, Fields, Share, Typed, Value};
use bentpipe_units::{either, kinds, settings, Duration, Rate};

kinds! {
    /// Application of a flow, in every notation.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum App as "App", "an application" {
        /// Unlimited data: as much as the window allows, until the run ends.
        "greedy" => Greedy;
        /// One file. The connection closes after its last byte.
        "file" => File {
            /// Application data in bytes, at least 1.
            size: u64 as Bytes;
        };
        /// Transfers with pauses between them, on one connection or each on a new connection.
        "bulk" => Bulk(Bulk);
        /// Transfers that arrive as a Poisson process, each on its own connection. Either `load` and `link` or
        /// `interval` defines their rate.
        "arrivals" => Arrivals(ArrivalKeys);
        /// Records that the sending node writes on one connection, each at its time. The measure of a record is the
        /// time until all its bytes have arrived in order. A record is lost if best-effort transport
        /// (`tcp.best_effort`) skips a part of it.
        "records" => Records(WrittenRecords);
        /// Requests of the sending node and responses of the receiving node, in turn. Both directions of one connection
        /// carry data.
        "request-response" => RequestResponse(RequestResponse);
        /// Web pages: the sending node fetches a main object and embedded objects over new connections for each page.
        /// Keys without a value follow `model`: by default pages of 2025, with 77 requests and 2.47 MB in the median.
        "page" => Page(Page);
        /// Datagrams at a constant rate, without congestion control. Each has 28 B of headers (IPv4 and UDP) and its
        /// payload.
        "cbr" => Cbr {
            /// Payload rate.
            rate: Rate;
            /// Mean delay of a datagram against the regular schedule: uniform from 0 to twice this value, at most half
            /// the distance between datagrams.
            jitter: Duration = Duration::ZERO;
            /// Payload of each datagram in bytes, 1 B to 65507 B.
            size: u16 as Bytes = 1200;
        };
        /// Media at a constant rate over RTP (RFC 3550), without congestion control. Each packet has 12 B of RTP header
        /// beside the 28 B of datagrams. Packets that arrive after their playout count as late.
        "rtp" => Rtp {
            /// Rate of the media, without headers.
            rate: Rate;
            /// Media bytes of each packet, 1 B to 65495 B. Seven packets of an MPEG transport stream have 1316 B.
            size: u16 as Bytes = 1316;
            /// Time from the first arrival to its playout, for the delays of later packets to vary.
            playout: Duration = Duration::from_millis(200);
        };
        /// One file in rounds at a constant rate, in blocks with packets for repair, for receivers that answer nothing
        /// (ALC, RFC 5775). A block is complete with any `block` of its packets. Each packet has 16 B of
        /// headers beside the 28 B of datagrams.
        "carousel" => Carousel {
            /// Bytes of the file.
            file: u64 as Bytes;
            /// Rate of the file and of the packets for repair, without headers.
            rate: Rate;
            /// Bytes of the file in each packet, 1 B to 65491 B.
            size: u16 as Bytes = 1316;
            /// Packets of a block at most, without those for repair. All blocks have nearly as many (RFC 5052 §9.1), and
            /// their packets alternate.
            block: u32 = 200, [1, 56_403];
            /// Packets for repair of each block.
            repair: u32 = 0, [0, 56_403];
            /// Times that the file is sent. Default: no limit until the run ends.
            rounds: Option<u64>, [1, 1_000_000_000];
        };
        /// Datagrams as a Poisson process, without congestion control.
        "poisson" => Poisson {
            /// Mean payload rate.
            rate: Rate;
            /// Payload of each datagram in bytes, 1 B to 65507 B.
            size: u16 as Bytes = 1200;
        };
        /// Datagrams at a constant rate in on-periods that alternate with off-periods, without congestion control. The
        /// sum of many such flows is self-similar if the periods have a Pareto distribution: shape a gives the Hurst
        /// parameter (3 - a)/2.
        "on-off" => OnOff {
            /// Payload rate in on-periods.
            peak: Rate;
            /// Duration of an on-period.
            on: Wait;
            /// Duration of an off-period.
            off: Wait;
            /// Payload of each datagram in bytes, 1 B to 65507 B.
            size: u16 as Bytes = 1200;
        };
        /// Datagrams that the other end answers at once with a datagram of the same size, as of `ping` and `irtt`. They
        /// are sent at their times, without regard to answers and losses. The table `probes` has a row for each.
        "probe" => Probe {
            /// Time from one probe to the next. The first leaves at the start of the flow.
            interval: Duration = Duration::from_secs(1);
            /// Times of the probes after the start of the flow, in place of `interval`: a list, or a column of a file.
            times: Option<ProbeTimesKeys>;
            /// Payload of each probe and of each answer in bytes, 1 B to 65507 B.
            size: u16 as Bytes = 56;
            /// Number of probes. Default: no limit until the run ends.
            count: Option<u64>, [1, 1_000_000_000];
        };
        /// Packets from outside the simulator: a program passes them to the two ends and takes them out there
        /// (`Network`).
        "port" => Port;
    }
}

/// Kinds of applications that send datagrams.
pub(crate) const DATAGRAMS: [&str; 6] = ["cbr", "rtp", "carousel", "poisson", "on-off", "probe"];

either! {
    /// Times of probes.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) enum ProbeTimesKeys {
        /// Times after the start of the flow, increasing.
        Listed(Vec<Duration>);
        /// Times from a file.
        Trace(ProbeTrace);
    }
}

settings! {
    /// Times of a measurement.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct ProbeTrace {
        /// CSV file beside the scenario or in a folder there. Its first row is the start of the flow. The resolved
        /// scenario contains its times as a list.
        file: String;
        /// Name of the column with the times; it ends in `_s`, `_ms`, `_us` or `_ns`. Default: the first column.
        column: Option<String>;
    }
}

settings! {
    /// Transfers that arrive as a Poisson process.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct ArrivalKeys {
        /// Bytes of each transfer.
        size: Size;
        /// Mean share of the link's largest rate that first transmissions take.
        load: Option<Share>;
        /// Link and direction to which `load` refers, such as `sat.forward`. It must be on the flow's route.
        link: Option<String>;
        /// Whether `load` includes headers and the framing of the link.
        load_headers: bool = true;
        /// Mean time between arrivals, in place of `load` and `link`.
        interval: Option<Duration>;
        /// Whether the arrivals may offer a link as much as it carries, or more. The backlog then grows without limit,
        /// and every result depends on the duration of the run.
        overload: bool = false;
        /// Number of arrivals. Default: no limit until the run ends.
        count: Option<u64>, [1, 1_000_000_000];
    }
}

/// Packets of a carousel at most.
const ROUND_MAX: u64 = 4_000_000;

/// Largest payload of a datagram in bytes: a packet of 65,535 bytes less its headers.
const DATAGRAM_MAX: u16 = 65_507;

impl App {
    /// Converts the keys into the application of a run and reports invalid values.
    pub(crate) fn meaning(&self, report: &mut Report<'_>, path: &[String]) -> Spec {
        let key = |key| below(path, key);
        match *self {
            Self::Probe { interval, ref times, size, count } => {
                check_datagram(size, report, &key("size"));
                let times = probe_times(interval, times.as_ref(), report, path);
                Spec::Probe(Probing { size, times, count })
            }
            Self::Greedy => Spec::Greedy,
            Self::Port => Spec::Port,
            Self::File { size } => {
                some(size, report, &key("size"));
                Spec::File { size }
            }
            Self::Bulk(bulk) => {
                check_size(bulk.size, report, &key("size"));
                check_wait(bulk.pause, report, &key("pause"));
                Spec::Bulk(bulk)
            }
            Self::Arrivals(ref arrivals) => {
                check_frequency(arrivals, report, path);
                check_size(arrivals.size, report, &key("size"));
                let &ArrivalKeys { size, interval, count, overload, .. } = arrivals;
                Spec::Arrivals(Arrivals { size, interval: interval.unwrap_or(Duration::from_secs(1)), count, overload })
            }
            Self::Records(records) => {
                check_size(records.size, report, &key("size"));
                check_wait(records.interval, report, &key("interval"));
                positive(records.interval.mean(), report, &key("interval"), "is too small");
                Spec::Records(records)
            }
            Self::RequestResponse(exchanges) => {
                check_size(exchanges.request, report, &key("request"));
                check_size(exchanges.response, report, &key("response"));
                check_wait(exchanges.wait, report, &key("wait"));
                check_wait(exchanges.think, report, &key("think"));
                Spec::RequestResponse(exchanges)
            }
            Self::Page(ref page) => Spec::Page(page_of(page, report, path)),
            Self::Cbr { rate, jitter, size } => {
                flowing(rate, report, &key("rate"));
                check_datagram(size, report, &key("size"));
                let distance = rate.time_to_send(size.min(DATAGRAM_MAX).into());
                if jitter * 2 > distance {
                    let message = format!("is more than half the distance between datagrams, which is {distance}");
                    report.value(&key("jitter"), &message, "expected less, so that they stay in order");
                }
                Spec::Datagrams(Datagrams::new(size, Gaps::Constant { rate, jitter }))
            }
            Self::Rtp { rate, size, playout } => {
                flowing(rate, report, &key("rate"));
                if size == 0 || size > DATAGRAM_MAX - RTP_HEADER {
                    report.value(&key("size"), "is out of range", "expected 1 B to 65495 B");
                }
                let gaps = Gaps::Constant { rate, jitter: Duration::ZERO };
                Spec::Datagrams(Datagrams { size, gaps, content: Content::Media { playout } })
            }
            Self::Carousel { file, rate, size, block, repair, rounds } => {
                some(file, report, &key("file"));
                flowing(rate, report, &key("rate"));
                if size == 0 || size > DATAGRAM_MAX - ALC_HEADER {
                    report.value(&key("size"), "is out of range", "expected 1 B to 65491 B");
                }
                let gaps = Gaps::Constant { rate, jitter: Duration::ZERO };
                let carousel = Carousel { bytes: file, block, repair, rounds };
                let round = carousel.layout(size).round();
                if round > ROUND_MAX {
                    let message = format!("has {round} packets with those for repair");
                    report.value(
                        &key("file"),
                        &message,
                        &format!("expected at most {ROUND_MAX}: every receiver keeps which it has"),
                    );
                }
                Spec::Datagrams(Datagrams { size, gaps, content: Content::File(carousel) })
            }
            Self::Poisson { rate, size } => {
                flowing(rate, report, &key("rate"));
                check_datagram(size, report, &key("size"));
                Spec::Datagrams(Datagrams::new(size, Gaps::Poisson { rate }))
            }
            Self::OnOff { peak, on, off, size } => {
                flowing(peak, report, &key("peak"));
                check_datagram(size, report, &key("size"));
                check_wait(on, report, &key("on"));
                check_wait(off, report, &key("off"));
                positive(on.mean(), report, &key("on"), "is too small");
                Spec::Datagrams(Datagrams::new(size, Gaps::OnOff { peak, on, off }))
            }
        }
    }

    /// Returns the keys that describe an application.
    pub(crate) fn written(app: &Spec) -> Value {
        let (app, unwritten) = match *app {
            Spec::Greedy => (Self::Greedy, None),
            Spec::Port => (Self::Port, None),
            Spec::File { size } => (Self::File { size }, None),
            Spec::Bulk(bulk) => (Self::Bulk(bulk), None),
            Spec::Arrivals(Arrivals { size, interval, count, overload }) => {
                let interval = Some(interval);
                let keys = ArrivalKeys { size, load: None, link: None, load_headers: true, interval, count, overload };
                (Self::Arrivals(keys), Some("load_headers"))
            }
            Spec::Records(records) => (Self::Records(records), None),
            Spec::RequestResponse(exchanges) => (Self::RequestResponse(exchanges), None),
            Spec::Page(ref page) => {
                (Self::Page(page.clone()), (page.multiplexed == Some(true)).then_some("connections"))
            }
            Spec::Probe(Probing { size, ref times, count }) => match times {
                &ProbeTimes::Every(interval) => (Self::Probe { interval, times: None, size, count }, None),
                ProbeTimes::Listed(times) => {
                    let times = Some(ProbeTimesKeys::Listed(times.to_vec()));
                    (Self::Probe { interval: Duration::ZERO, times, size, count }, Some("interval"))
                }
            },
            Spec::Datagrams(Datagrams { size, gaps, content }) => match (gaps, content) {
                (Gaps::Constant { rate, jitter: _ }, Content::Media { playout }) => {
                    (Self::Rtp { rate, size, playout }, None)
                }
                (Gaps::Constant { rate, jitter: _ }, Content::File(carousel)) => {
                    let Carousel { bytes: file, block, repair, rounds } = carousel;
                    (Self::Carousel { file, rate, size, block, repair, rounds }, None)
                }
                (Gaps::Constant { rate, jitter }, _) => (Self::Cbr { rate, jitter, size }, None),
                (Gaps::Poisson { rate }, _) => (Self::Poisson { rate, size }, None),
                (Gaps::OnOff { peak, on, off }, _) => (Self::OnOff { peak, on, off, size }, None),
            },
        };
        let mut table: Fields = app.write().table().cloned().unwrap_or_default();
        unwritten.and_then(|key| table.take(key));
        Value::Table(table)
    }
}

/// Returns pages with the objects of their record, and with the connections of their model.
fn page_of(page: &Page, report: &mut Report<'_>, path: &[String]) -> Page {
    let key = |key| below(path, key);
    let mut page = page.clone();
    some(page.request, report, &key("request"));
    check_wait(page.parse, report, &key("parse"));
    check_wait(page.reading, report, &key("reading"));
    let mut modern = [page.is_multiplexed(), page.secured_after() > 0];
    if let Some(recorded) = page.recorded.take() {
        for (other, is_set) in [
            ("main", page.main.is_some()),
            ("object", page.object.is_some()),
            ("objects", page.objects.is_some()),
            ("parse", !report.is_default(&key("parse")) && page.parse != Page::PARSE),
            ("catalogue", page.catalogue.is_some()),
        ] {
            if is_set {
                report.value(&key(other), "has no effect on a recorded page", "expected one of the two");
            }
        }
        modern = [false; 2];
        let listed = match recorded {
            Recorded::File(PageRecord { file }) => har::page(&file, report, &key("recorded")).map(|har| {
                modern = [har.is_multiplexed, har.is_secured];
                har.objects
            }),
            Recorded::Listed(objects) => check_objects(&objects, report, &key("recorded")).then_some(objects),
        };
        page.recorded = listed.map(Recorded::Listed);
    }
    let [is_multiplexed, is_secured] = modern;
    let one_each = !report.is_default(&key("connections"));
    if page.multiplexed == Some(true) && one_each {
        let message = "has no effect: multiplexed means one connection";
        report.value(&key("connections"), message, "expected one of the two");
    }
    page.multiplexed.get_or_insert(is_multiplexed && !one_each);
    page.tls_rtts.get_or_insert(u32::from(is_secured));
    for (is_set, other) in [(page.is_multiplexed(), "multiplexed"), (page.secured_after() > 0, "tls_rtts")] {
        if is_set && page.catalogue.is_some() {
            let message = format!("has no effect with {other}: a cache cannot distinguish or read such requests");
            report.key(&key("catalogue"), &message, &format!("expected catalogue or {other}, not both"));
        }
    }
    page
}

/// Checks that each object is named by an earlier one. Returns whether it is.
fn check_objects(objects: &[PageObject], report: &mut Report<'_>, path: &[String]) -> bool {
    if objects.is_empty() {
        report.value(path, "is empty", "expected at least one object");
    }
    for (n, object) in objects.iter().enumerate() {
        let key = |key| below(&below(path, &n.to_string()), key);
        some(object.bytes, report, &key("bytes"));
        some(object.request, report, &key("request"));
    }
    let late = objects.iter().enumerate().skip(1).find(|(n, object)| object.after as usize >= *n);
    if let Some((n, _)) = late {
        let message = "is not an earlier object";
        let at = below(&below(path, &n.to_string()), "after");
        report.value(&at, message, &format!("expected 0 to {}", n - 1));
    }
    late.is_none() && !objects.is_empty()
}

/// Returns the times of probes.
fn probe_times(
    interval: Duration,
    times: Option<&ProbeTimesKeys>,
    report: &mut Report<'_>,
    path: &[String],
) -> ProbeTimes {
    let key = |key| below(path, key);
    let Some(times) = times else {
        positive(interval, report, &key("interval"), "is too small");
        return ProbeTimes::Every(interval.max(Duration::from_ps(1)));
    };
    if !report.is_default(&key("interval")) {
        report.key(path, "has both interval and times", "expected one of the two");
    }
    let listed = match times {
        ProbeTimesKeys::Trace(ProbeTrace { file, column }) => {
            trace::instants(file, column.as_deref(), report, &key("times"))
        }
        ProbeTimesKeys::Listed(times) => {
            if times.is_empty() {
                report.value(&key("times"), "is empty", "expected at least one time");
            }
            if let Some(pair) = times.windows(2).find(|pair| pair[0] >= pair[1]) {
                let message = format!("is not in order: {} does not come after {}", pair[1], pair[0]);
                report.value(&key("times"), &message, "expected times that increase");
            }
            times.clone()
        }
    };
    ProbeTimes::Listed(listed.into())
}

/// Checks that exactly one notation defines the rate of arrivals.
fn check_frequency(arrivals: &ArrivalKeys, report: &mut Report<'_>, path: &[String]) {
    match (arrivals.load, &arrivals.link, arrivals.interval) {
        (Some(_), Some(_), None) | (None, None, Some(_)) => {}
        (Some(_), None, None) => report.key(path, "has a load without a link", "expected link, like \"sat.forward\""),
        (None, Some(_), None) => report.key(path, "has a link without a load", "expected load, like \"60 %\""),
        (None, None, None) => {
            report.key(path, "has no rate of arrivals", "expected load and link, or interval");
        }
        _ => report.key(path, "has two rates of arrivals", "expected load and link, or interval"),
    }
    if let Some(load) = arrivals.load.filter(|load| load.0 == 0) {
        report.value(&below(path, "load"), &format!("is too small: {} %", load.0), "expected more than 0 %");
    }
    if let Some(interval) = arrivals.interval {
        positive(interval, report, &below(path, "interval"), "is too small");
    }
}

/// Checks the keys of a reader.
pub(crate) fn check_reader(reader: Reader, report: &mut Report<'_>, path: &[String]) {
    positive(reader.every, report, &below(path, "every"), "is too small");
    if reader.rate.bytes_in(reader.every) == 0 {
        let message = format!("is less than a byte in {}", reader.every);
        report.value(&below(path, "rate"), &message, "expected a higher rate, or a longer time between reads");
    }
}

fn check_size(size: Size, report: &mut Report<'_>, path: &[String]) {
    let key = |key| below(path, key);
    match size {
        Size::Fixed(bytes) => some(bytes, report, path),
        Size::Exponential { mean } => some(mean, report, &key("mean")),
        Size::Pareto { min, .. } => some(min, report, &key("min")),
        Size::BoundedPareto { min, max, .. } => {
            some(min, report, &key("min"));
            if max <= min {
                report.value(&key("max"), "is not above min", "expected more than min");
            }
        }
        Size::Lognormal { mean, sd } => {
            some(mean, report, &key("mean"));
            if sd == 0 {
                report.value(&key("sd"), "makes all sizes equal", "expected more than 0 B, or a fixed size");
            }
        }
    }
}

fn check_wait(wait: Wait, report: &mut Report<'_>, path: &[String]) {
    match wait {
        Wait::Constant(_) => {}
        Wait::Exponential { mean } | Wait::Pareto { mean, .. } => {
            positive(mean, report, &below(path, "mean"), "is too small");
        }
    }
}

/// Reports sizes of 0 bytes.
fn some(bytes: u64, report: &mut Report<'_>, path: &[String]) {
    if bytes == 0 {
        report.value(path, "is too small", "expected at least 1 B");
    }
}

fn positive(span: Duration, report: &mut Report<'_>, path: &[String], message: &str) {
    if span == Duration::ZERO {
        report.value(path, message, "expected more than 0 s");
    }
}

fn flowing(rate: Rate, report: &mut Report<'_>, path: &[String]) {
    if rate.as_bps() == 0 {
        report.value(path, "is too small", "expected more than 0 bit/s");
    }
}

fn check_datagram(size: u16, report: &mut Report<'_>, path: &[String]) {
    if size == 0 || size > DATAGRAM_MAX {
        report.value(path, "is out of range", "expected 1 B to 65507 B");
    }
}

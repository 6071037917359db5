//! Pages: their model, their objects, and the estimate of their packets.

use super::{at_most, is_random_wait, packets_of, Capacity, Catalogue, Facts};
use crate::spec::{Size, Wait};
use bentpipe_units::settings::Bytes;
use bentpipe_units::{either, settings, words, Duration};

words! {
    /// Distributions of pages.
    pub enum PageModel {
        /// Pages of July 2025 as desktop browsers load them: 77 requests and 2.47 MB in the median. Requests and bytes
        /// of a page follow the quantiles of the HTTP Archive (Web Almanac 2025, chapter Page Weight), both at the same
        /// rank. Their split is assumed. Objects are lognormal with a shape of 2, as scripts are. Half of them are at
        /// the first of 8 hosts. 60 %, 30 % and 10 % are at a depth of 1, 2 and 3.
        "web-2025" => Web2025,
        /// Pages of 2004, for cellular phones: 5.6 embedded objects and 51 kB on average, from one host (3GPP2
        /// C.R1002-0, HTTP traffic model). The main object names all of them.
        "3gpp2" => Cellular,
    }
}

settings! {
    /// Pages of objects.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Page {
        /// Number, bytes, hosts and depth of objects, where other keys do not give them. A page with `main`, `object`
        /// and `objects` is given whole: one host, and the main object names all others.
        model: PageModel = PageModel::Web2025;
        /// Recorded page in place of a model: a file, or a list of objects. The first object is the main one. Each page
        /// of the flow is this page.
        recorded: Option<Recorded>;
        /// Bytes of the main object. Default: of the model. `3gpp2` is lognormal with mean 10710 B, cut to 100 B to 2
        /// MB. `web-2025` is lognormal with median 22 KiB, at most a quarter of the page.
        main: Option<Size>;
        /// Bytes of each embedded object. Default: of the model. `3gpp2` is lognormal with mean 7758 B, cut to 50 B to
        /// 2 MB: then 7236 B. `web-2025` is a lognormal share of the page's bytes.
        object: Option<Size>;
        /// Embedded objects per page. Default: random, of the model.
        objects: Option<u64>, [0, 10_000];
        /// Whether one connection to each host carries all its requests together, and objects in order, as in HTTP/2.
        /// Default: true with `web-2025`, as recorded for a recorded page, and false with `3gpp2`, a page that is given
        /// whole, a catalogue or `connections`.
        multiplexed: Option<bool>;
        /// Factor of the size of all objects.
        "page_scale" scale: f64 = 1.0, [0.01, 1000.0];
        /// Bytes of each request. Recorded objects have their own.
        request: u64 as Bytes = 350;
        /// Round trips that securing a connection takes before its first request: exchanges of the size of a request,
        /// in both directions. Default: 1 with `web-2025` (TLS 1.3) and for a recorded page with TLS, and 0 with
        /// `3gpp2`, a page that is given whole, or a catalogue.
        tls_rtts: Option<u32>, [0, 4];
        /// Time from the last byte of an object to the requests for the objects that it names.
        parse: Wait = Page::PARSE;
        /// Time from the last object of a page to the next page.
        reading: Wait = Wait::Exponential { mean: Duration::from_secs(30) };
        /// Parallel connections to each host. Each fetches one object at a time.
        connections: u32 = 6, [1, 64], "usual number of browsers to one host under HTTP/1.1";
        /// Pages that other flows request, too, with their objects: all flows to this node share them. Default: pages
        /// are unique to the flow.
        catalogue: Option<Catalogue>;
        /// Number of pages. Default: no limit until the run ends.
        count: Option<u64>, [1, 1_000_000_000];
    }
}

either! {
    /// Recorded page.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Recorded {
        /// Objects in the order of their requests.
        Listed(Vec<PageObject>);
        /// Objects from a file.
        File(PageRecord);
    }
}

settings! {
    /// File with a recorded page.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PageRecord {
        /// HAR file of a browser beside the scenario or in a folder there. The resolved scenario contains its objects
        /// as a list.
        file: String;
    }
}

settings! {
    /// Object of a recorded page.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PageObject {
        /// Bytes of the response, with its headers.
        bytes: u64 as Bytes;
        /// Number of its host in the record, from 0. Each host has separate connections; all are at the node `to`.
        host: u32 = 0, [0, 9999];
        /// Number of the object that names it, in the order of the list, from 0: an earlier one. The first object is
        /// named by none.
        after: u32 = 0, [0, 9999];
        /// Whether the first bytes of that object cause the request, as markup does in browsers. Otherwise its last
        /// byte does.
        is_early: bool = false;
        /// Time from these bytes to the request.
        delay: Duration = Duration::ZERO;
        /// Time from the request at the server to the response.
        wait: Duration = Duration::ZERO;
        /// Bytes of the request, with its headers.
        request: u64 as Bytes = 350;
    }
}

impl Page {
    /// Default of [`parse`](Self::parse).
    pub const PARSE: Wait = Wait::Exponential { mean: Duration::from_millis(130) };

    /// Returns the model of the objects. A page that is given whole has the hosts and the depth of the older one.
    pub fn structure(&self) -> PageModel {
        let is_given = self.main.is_some() && self.object.is_some() && self.objects.is_some();
        if is_given {
            PageModel::Cellular
        } else {
            self.model
        }
    }

    /// Whether its connections are those of today by default.
    fn is_modern(&self) -> bool {
        self.structure() == PageModel::Web2025 && self.catalogue.is_none()
    }

    /// Whether one connection to each host carries all its requests.
    pub fn is_multiplexed(&self) -> bool {
        self.multiplexed.unwrap_or(self.is_modern())
    }

    /// Returns the round trips that secure a connection.
    pub fn secured_after(&self) -> u32 {
        self.tls_rtts.unwrap_or(u32::from(self.is_modern()))
    }

    /// Returns the objects of a recorded page.
    pub fn listed(&self) -> Option<&[PageObject]> {
        match &self.recorded {
            Some(Recorded::Listed(objects)) => Some(objects),
            _ => None,
        }
    }

    /// Returns the mean number of embedded objects.
    pub fn objects_mean(&self) -> f64 {
        let of_model = if self.model == PageModel::Web2025 { 95.0 } else { 5.642 };
        let listed = self.listed().map(|objects| objects.len() as f64 - 1.0);
        listed.unwrap_or_else(|| self.objects.map_or(of_model, |count| count as f64))
    }

    /// Returns the approximate mean size of an object.
    fn object_bytes_mean(&self) -> f64 {
        let of_model = if self.model == PageModel::Web2025 { 45_000.0 } else { 8500.0 };
        let listed = self
            .listed()
            .map(|objects| objects.iter().map(|object| object.bytes as f64).sum::<f64>() / objects.len().max(1) as f64);
        self.scale * listed.unwrap_or_else(|| self.object.map_or(of_model, |size| size.mean()))
    }
}

impl Facts for Page {
    const KIND: &'static str = "page";
    const ENDS_IN_PAUSES: bool = true;
    const IS_TWO_WAY: bool = true;

    fn count(&self) -> Option<u64> {
        self.count
    }

    fn is_random(&self) -> bool {
        self.listed().is_none() || is_random_wait(self.reading)
    }

    fn catalogue(&self) -> Option<Catalogue> {
        self.catalogue
    }

    fn packets(&self, capacity: &Capacity) -> f64 {
        let objects = 1.0 + self.objects_mean();
        let each_s = self.reading.mean().as_secs_f64() + self.parse.mean().as_secs_f64();
        let segments = 1.0 + self.object_bytes_mean() / f64::from(capacity.smss);
        let pages = if self.listed().is_some() {
            at_most(self.count, capacity.seconds / capacity.rtt_s.max(1e-9))
        } else {
            f64::INFINITY
        };
        capacity.in_turn(self.count, each_s).min(pages)
            * objects
            * packets_of(segments + f64::from(self.secured_after()))
    }
}

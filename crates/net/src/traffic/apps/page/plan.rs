//! Draws the objects of a page: their number, sizes, hosts, and the objects that name them.
//!
//! The model `3gpp2` is that of cellular system evaluation (3GPP2 C.R1002-0, HTTP traffic model). The model `web-2025`
//! has the quantiles of the HTTP Archive (Web Almanac 2025, chapter Page Weight, desktop, July 2025).

use crate::traffic::apps::contract::Draws;
use bentpipe_model::distribution::{normal, pareto, Size};
use bentpipe_model::spec::{Page, PageModel};
use bentpipe_units::{Duration, Stream};

/// Distributions of `3gpp2`.
const MAIN: Size = Size::Lognormal { mean: 10_710, sd: 25_032 };
const EMBEDDED: Size = Size::Lognormal { mean: 7758, sd: 126_168 };
/// Least sizes of main and embedded objects.
const LEAST: [u64; 2] = [100, 50];
/// Largest size of an object.
const MOST: u64 = 2_000_000;
/// Number of embedded objects: truncated Pareto with this shape and least value, minus the least value.
const OBJECTS_SHAPE: f64 = 1.1;
const OBJECTS_LEAST: f64 = 2.0;
const OBJECTS_CUT: f64 = 55.0;

/// Standard normal quantiles at 10, 25, 50, 75 and 90 %.
const SCORES: [f64; 5] = [-1.281_551_6, -0.674_489_75, 0.0, 0.674_489_75, 1.281_551_6];
/// Requests of a page of `web-2025` at these quantiles.
const REQUESTS: [f64; 5] = [27.0, 46.0, 77.0, 122.0, 185.0];
/// Bytes of a page of `web-2025` at these quantiles.
const WEIGHT: [f64; 5] = [607.0 * KIB, 1275.0 * KIB, 2412.0 * KIB, 4570.0 * KIB, 9179.0 * KIB];
const KIB: f64 = 1024.0;
/// Quantiles beyond 1 % and 99 % are those at 1 % and 99 %: the source ends at 10 % and 90 %.
const SCORE_MAX: f64 = 2.326_347_9;
/// Main object of `web-2025`: the median of HTML, and a shape from the 90 % quantile of HTML, 59 KiB.
const HTML_MEDIAN: f64 = 22.0 * KIB;
const HTML_SHAPE: f64 = 0.77;
/// Largest share of the main object in the page. Assumed.
const HTML_SHARE: f64 = 0.25;
/// Shape of the embedded objects: scripts have 1 KiB at 10 % and 165 KiB at 90 %.
const OBJECT_SHAPE: f64 = 2.0;
/// Number of hosts, share of the objects on the first, and shares of the objects at depth 1 and at depth 1 or 2. Assumed.
const HOSTS: u64 = 8;
const FIRST_HOST: f64 = 0.5;
const DEPTHS: [f64; 2] = [0.6, 0.9];

/// Largest number of objects of a page of each model, so that all objects have different indices.
const STRIDES: [u64; 2] = [512, 64];

/// Object of the present page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Object {
    pub(super) bytes: u64,
    pub(super) request: u64,
    pub(super) host: u32,
    /// Object that names it, an earlier one.
    pub(super) after: u32,
    /// Whether the first bytes of that object cause the request, and not the last.
    pub(super) is_early: bool,
    /// Time from these bytes to the request.
    pub(super) delay: Duration,
    /// Time from the request at the server to the response.
    pub(super) wait: Duration,
}

/// Random streams of the objects of all pages.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    mains: Stream,
    embedded: Stream,
    counts: Stream,
    parses: Stream,
    places: Stream,
}

impl Plan {
    pub(super) fn new(spec: &Page, draws: &Draws<'_>) -> Self {
        let of_objects = |purpose| draws.stream_of_objects(spec.catalogue.is_some(), purpose);
        Self {
            mains: of_objects("main"),
            embedded: of_objects("embedded"),
            counts: of_objects("objects"),
            parses: draws.stream("parse"),
            places: of_objects("places"),
        }
    }

    /// Draws the objects of the page `number`, the page `index` of its flow. The main object is the first.
    pub(super) fn draw(&mut self, spec: &Page, index: u64, number: u64, objects: &mut Vec<Object>) {
        objects.clear();
        if let Some(listed) = spec.listed() {
            objects.extend(listed.iter().map(|each| Object {
                bytes: scaled(each.bytes as f64, spec.scale),
                request: each.request,
                host: each.host,
                after: each.after,
                is_early: each.is_early,
                delay: each.delay,
                wait: each.wait,
            }));
            return;
        }
        match spec.structure() {
            PageModel::Cellular => self.cellular(spec, index, number, objects),
            PageModel::Web2025 => self.web(spec, number, objects),
        }
    }

    fn cellular(&mut self, spec: &Page, index: u64, number: u64, objects: &mut Vec<Object>) {
        let count = spec.objects.unwrap_or_else(|| {
            let u = self.counts.uniform_positive(number);
            libm::round(pareto(OBJECTS_SHAPE, OBJECTS_LEAST, u).min(OBJECTS_CUT) - OBJECTS_LEAST) as u64
        });
        let delay = spec.parse.draw(&mut self.parses, index);
        for object in 0..=count {
            let among_all = index_of(spec, number, object);
            let (given, model, stream, least, draw) = match object {
                0 => (spec.main, MAIN, &mut self.mains, LEAST[0], number),
                _ => (spec.object, EMBEDDED, &mut self.embedded, LEAST[1], among_all),
            };
            let bytes = match given {
                Some(size) => size.draw(stream, draw),
                None => model.draw(stream, draw).clamp(least, MOST),
            };
            let bytes = scaled(bytes as f64, spec.scale);
            objects.push(Object { bytes, request: spec.request, delay, ..Object::default() });
        }
    }

    fn web(&mut self, spec: &Page, number: u64, objects: &mut Vec<Object>) {
        let score = normal_of(&mut self.counts, number).clamp(-SCORE_MAX, SCORE_MAX);
        let count = spec.objects.unwrap_or_else(|| libm::round(quantile(REQUESTS, score)) as u64 - 1);
        let weight = quantile(WEIGHT, score);
        let html = HTML_MEDIAN * libm::exp(HTML_SHAPE * normal_of(&mut self.mains, number));
        let html = html.min(HTML_SHARE * weight);
        // Depths of the objects increase, as does their order: each is named by one of the depth before.
        let ends = DEPTHS.map(|share| 1 + libm::round(share * count as f64) as u64);
        let shares = |plan: &mut Self, object| {
            libm::exp(OBJECT_SHAPE * normal_of(&mut plan.embedded, index_of(spec, number, object)))
        };
        let all: f64 = (1..=count).map(|object| shares(self, object)).sum();
        for object in 0..=count {
            let among_all = index_of(spec, number, object);
            let bytes = match object {
                0 => spec.main.map_or(html, |size| size.draw(&mut self.mains, number) as f64),
                _ => match spec.object {
                    Some(size) => size.draw(&mut self.embedded, among_all) as f64,
                    None => (weight - html) * shares(self, object) / all,
                },
            };
            let before = match object {
                _ if object < ends[0] => [0, 1],
                _ if object < ends[1] => [1, ends[0]],
                _ => [ends[0].min(ends[1] - 1), ends[1]],
            };
            let [host, parent] = [0, 1].map(|draw| self.places.uniform(2 * among_all + draw));
            let after = before[0] + (parent * (before[1] - before[0]) as f64) as u64;
            let is_first = object == 0 || host < FIRST_HOST;
            let other = 1 + ((host - FIRST_HOST) / (1.0 - FIRST_HOST) * (HOSTS - 1) as f64) as u64;
            objects.push(Object {
                bytes: scaled(bytes, spec.scale),
                request: spec.request,
                host: if is_first { 0 } else { other as u32 },
                after: after as u32,
                is_early: false,
                delay: spec.parse.draw(&mut self.parses, index_of(spec, number, after)),
                wait: Duration::ZERO,
            });
        }
    }
}

/// Returns the index of an object among those of all pages.
pub(super) fn index_of(spec: &Page, number: u64, object: u64) -> u64 {
    let stride = STRIDES[usize::from(spec.structure() == PageModel::Cellular)];
    number * spec.objects.map_or(stride, |objects| stride.max(objects + 1)) + object
}

/// Draws a standard normal number.
fn normal_of(stream: &mut Stream, index: u64) -> f64 {
    normal(stream.uniform_positive(2 * index), stream.uniform(2 * index + 1))
}

/// Returns the value at a normal score: its logarithm is linear between the given quantiles, and beyond them.
fn quantile(values: [f64; 5], score: f64) -> f64 {
    let below = SCORES[1..4].iter().filter(|known| score > **known).count();
    let [low, high] = [values[below], values[below + 1]].map(libm::log);
    libm::exp(low + (high - low) * (score - SCORES[below]) / (SCORES[below + 1] - SCORES[below]))
}

fn scaled(bytes: f64, scale: f64) -> u64 {
    (libm::round(bytes * scale) as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_model::spec::{Recorded, Wait};

    const FLOW: Draws<'_> = Draws { seed: 1, component: "flow/web", far: "b" };

    fn page(model: PageModel) -> Page {
        Page {
            model,
            recorded: None,
            main: None,
            object: None,
            objects: None,
            connections: 6,
            multiplexed: None,
            scale: 1.0,
            request: 350,
            tls_rtts: None,
            parse: Wait::Constant(Duration::ZERO),
            reading: Wait::Constant(Duration::ZERO),
            catalogue: None,
            count: None,
        }
    }

    fn draw(spec: &Page, numbers: std::ops::Range<u64>) -> Vec<Vec<Object>> {
        let mut plan = Plan::new(spec, &FLOW);
        let draw = |number| {
            let mut objects = Vec::new();
            plan.draw(spec, number, number, &mut objects);
            objects
        };
        numbers.map(draw).collect()
    }

    /// The means that the model is published with: 5.64 embedded objects, 10 710 B and 7758 B before they are clipped.
    #[test]
    fn cellular_pages_have_the_published_means() {
        let spec = page(PageModel::Cellular);
        let pages = draw(&spec, 0..20_000);
        assert!(pages.iter().all(|objects| objects.len() <= 54));
        let mean = |of: &dyn Fn(&Vec<Object>) -> f64| pages.iter().map(of).sum::<f64>() / pages.len() as f64;
        let objects = mean(&|page| page.len() as f64 - 1.0);
        assert!((objects - spec.objects_mean()).abs() < 0.25, "{objects}");
        let main = mean(&|page| page[0].bytes as f64);
        assert!((main - 10_710.0).abs() < 700.0, "{main}");
        // The tail that is cut off at 2 MB held about a tenth of the mean.
        let embedded = pages.iter().flat_map(|page| &page[1..]).map(|object| object.bytes as f64);
        let embedded = embedded.sum::<f64>() / (objects * pages.len() as f64);
        assert!((5000.0..8000.0).contains(&embedded), "{embedded}");
    }

    /// The quantiles of the Web Almanac 2025, and one response in its published range.
    #[test]
    fn pages_of_2025_have_the_published_quantiles() {
        let spec = page(PageModel::Web2025);
        let pages = draw(&spec, 0..20_000);
        let at = |mut values: Vec<u64>, share: f64| {
            values.sort_unstable();
            values[(share * values.len() as f64) as usize] as f64
        };
        let near = |found: f64, published: f64| {
            assert!((found / published - 1.0).abs() < 0.04, "{found} instead of {published}");
        };
        let requests = || pages.iter().map(|page| page.len() as u64).collect();
        let bytes = || pages.iter().map(|page| page.iter().map(|object| object.bytes).sum()).collect();
        for (n, share) in [0.1, 0.25, 0.5, 0.75, 0.9].into_iter().enumerate() {
            near(at(requests(), share), [27.0, 46.0, 77.0, 122.0, 185.0][n]);
            near(at(bytes(), share), [607.0, 1275.0, 2412.0, 4570.0, 9179.0][n] * 1024.0);
        }
        near(at(pages.iter().map(|page| page[0].bytes).collect(), 0.5), 22.0 * 1024.0);
        near(pages.iter().map(|page| page.len() as f64 - 1.0).sum::<f64>() / 20_000.0, spec.objects_mean());
        // Images have a median of 8 KiB, scripts of 13.
        let median = at(pages.iter().flat_map(|page| &page[1..]).map(|object| object.bytes).collect(), 0.5) / 1024.0;
        assert!((3.0..13.0).contains(&median), "{median}");
    }

    #[test]
    fn objects_are_named_by_earlier_ones_of_the_depth_before() {
        for page in draw(&page(PageModel::Web2025), 0..200) {
            let mut depths = vec![0_u32; page.len()];
            for (n, object) in page.iter().enumerate().skip(1) {
                assert!((object.after as usize) < n && object.host < 8);
                depths[n] = depths[object.after as usize] + 1;
            }
            let share = |depth| depths.iter().filter(|each| **each == depth).count() as f64 / (page.len() - 1) as f64;
            assert!((share(1) - 0.6).abs() < 0.05 && (share(3) - 0.1).abs() < 0.06, "{depths:?}");
        }
        for objects in [0, 1, 2, 3] {
            let few = draw(&Page { objects: Some(objects), ..page(PageModel::Web2025) }, 0..20);
            assert!(few.iter().all(|page| page.iter().zip(0..).skip(1).all(|(object, n)| object.after < n)));
        }
    }

    #[test]
    fn a_page_has_the_objects_that_are_given() {
        for model in [PageModel::Cellular, PageModel::Web2025] {
            let spec = Page {
                main: Some(Size::Fixed(500)),
                object: Some(Size::Fixed(20_000)),
                objects: Some(200),
                ..page(model)
            };
            let given = &draw(&spec, 7..8)[0];
            assert_eq!((given.len(), given[0].bytes, given[200].bytes), (201, 500, 20_000));
            // Draws of one page are not those of the next, also where it has many objects.
            let drawn = draw(&Page { object: Some(Size::Exponential { mean: 10_000 }), ..spec }, 0..2);
            let mut sizes: Vec<u64> = drawn.iter().flat_map(|page| &page[1..]).map(|object| object.bytes).collect();
            sizes.sort_unstable();
            sizes.dedup();
            assert!(sizes.len() > 380, "{}", sizes.len());
        }
        let object = bentpipe_model::spec::PageObject {
            bytes: 9,
            host: 1,
            after: 0,
            delay: Duration::ZERO,
            wait: Duration::ZERO,
            request: 7,
            is_early: false,
        };
        let spec = Page { recorded: Some(Recorded::Listed(vec![object])), scale: 2.0, ..page(PageModel::Web2025) };
        assert_eq!(draw(&spec, 3..4)[0], [Object { bytes: 18, request: 7, host: 1, ..Object::default() }]);
    }
}

//! Sky for Python: constellations, places and their views, as arrays.

mod budget;
mod instants;
mod matrix;
mod of_run;
mod words;

pub(crate) use matrix::PyMatrix;
pub(crate) use of_run::of_run;

use crate::tables::bytes;
use bentpipe_orbit::sky::catalogue::{read_sky, Census, Request, AGE_MAX_S};
use bentpipe_orbit::sky::constellation::{Constellation, Pattern, Phasing, Shell};
use bentpipe_orbit::sky::earth::{Earth, Geodetic};
use bentpipe_orbit::sky::elements::BadRecords;
use bentpipe_orbit::sky::epoch::Epoch;
use bentpipe_orbit::sky::links::{SatelliteLinks, Topology};
use bentpipe_orbit::sky::matrix::matrix_while;
use bentpipe_orbit::sky::orbit::Orbit;
use bentpipe_orbit::sky::places::Access;
use bentpipe_orbit::sky::places::{self, Place};
use bentpipe_orbit::sky::presets::{self, of_shells, PRESETS};
use bentpipe_orbit::sky::route::{
    disjoint_routes_while, gaps, routes_while, servings_while, Disjoint, Metric, Over, Router, Routing, Switch,
};
use bentpipe_orbit::sky::scene::{Cable, Failed, Failure, Sky};
use bentpipe_orbit::sky::selection::Rule;
use bentpipe_orbit::sky::span::{GoOn, Span};
use bentpipe_orbit::sky::survey::{coverage_while, covered_area, passes_while};
use bentpipe_orbit::sky::{distance, SkyError as Wrong};
use bentpipe_sim::spec::Modcod;
use bentpipe_units::Word;
use budget::{Air, Budget, Way};
use instants::Instants;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::BTreeMap;
use words::{age, others, rule_of, start, Others};

pyo3::import_exception!(bentpipe.errors, SkyError);

/// Precision of the instants of path changes, as a share of a step.
const WITHIN: f64 = 0.01;
/// Positions of satellites between checks for Ctrl-C: hundredths of a second.
const POSITIONS_BETWEEN: usize = 200_000;

/// Array as (NumPy dtype, bytes).
type Array<'py> = (&'static str, Bound<'py, PyBytes>);

/// Name, degrees north and east, height in km, and whether it is a gateway.
type Given = (String, f64, f64, f64, bool);

fn wrong(error: Wrong) -> PyErr {
    SkyError::new_err(error.to_string())
}

fn reals<'py>(py: Python<'py>, values: &[f64]) -> PyResult<Array<'py>> {
    Ok(("<f8", bytes(py, values, |x| x.to_le_bytes())?))
}

fn wholes<'py>(py: Python<'py>, values: &[i64]) -> PyResult<Array<'py>> {
    Ok(("<i8", bytes(py, values, |x| x.to_le_bytes())?))
}

/// Works without the GIL. Regularly calls `progress` with the finished share, and checks for Ctrl-C.
fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    positions: usize,
    work: impl FnOnce(GoOn) -> Result<T, Wrong> + Send,
) -> PyResult<T> {
    let between = (POSITIONS_BETWEEN / positions.max(1)).max(1);
    let (mut count, mut raised) = (0, None);
    let done = py.detach(|| {
        work(&mut |share| {
            count += 1;
            if count % between != 0 {
                return true;
            }
            let asked = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (share,)).map(drop))
            });
            asked.map_err(|error| raised = Some(error)).is_ok()
        })
    });
    match raised {
        Some(error) => Err(error),
        None => done.map_err(wrong),
    }
}

/// Satellites, the Earth and places.
#[pyclass(name = "Sky", module = "bentpipe._core", frozen)]
pub(crate) struct PySky {
    sky: Sky,
    /// Whether gateways relay packets over satellites, without fibre between them.
    zigzags: bool,
    /// Counts of a file of elements. Empty for other constellations.
    census: Census,
}

impl PySky {
    fn new(sky: Sky) -> Self {
        Self { sky, zigzags: false, census: Census::default() }
    }
}

#[pymethods]
impl PySky {
    /// Returns a constellation by name, with other orbits if given.
    #[staticmethod]
    fn preset(name: &str, epoch: Option<&str>, orbits: Others) -> PyResult<Self> {
        let make = || presets::preset(name)?.sky_with(start(epoch)?, &others(orbits)?, Earth::WGS84);
        make().map(Self::new).map_err(wrong)
    }

    /// Returns Walker's i: T/P/F at a height in km, with a name for its satellites.
    #[staticmethod]
    fn walker(
        name: &str,
        is_star: bool,
        inclination_deg: f64,
        walker: (u32, u32, u32),
        altitude_km: f64,
        epoch: Option<&str>,
        orbits: Others,
    ) -> PyResult<Self> {
        let (total, planes, phasing) = walker;
        let make = || {
            let pattern = if is_star { Pattern::Star } else { Pattern::Delta };
            let per_plane = total.checked_div(planes).filter(|each| each * planes == total && *each > 0);
            let per_plane = per_plane.ok_or_else(|| Wrong {
                at: format!("{total}/{planes}/{phasing}"),
                what: "expected T satellites in P planes, as many in each: 1584/72/39".to_owned(),
            })?;
            let plain = Shell::walker(name, pattern, planes, per_plane, altitude_km, inclination_deg);
            let shell = Shell { phasing: Phasing::Walker(phasing), ..plain };
            of_shells(&others(orbits)?.of(vec![shell])?, start(epoch)?)
        };
        make().map(Self::new).map_err(wrong)
    }

    /// Returns one satellite over the equator.
    #[staticmethod]
    fn slot(longitude_deg: f64, epoch: Option<&str>) -> PyResult<Self> {
        let make = || {
            let mut constellation = Constellation::new(start(epoch)?);
            constellation.add("geo", Orbit::geo(longitude_deg, 0.0, 0.0)?)?;
            Ok(Sky::new(constellation, Earth::WGS84, Access::MinElevation(5.0)))
        };
        make().map(Self::new).map_err(wrong)
    }

    /// Returns the satellites of a file of elements that exist in a span (begin and end), up to a largest age.
    #[staticmethod]
    fn elements(
        py: Python<'_>,
        content: &[u8],
        skips: bool,
        epoch: Option<&str>,
        span: (f64, f64),
        age_max: Option<&str>,
    ) -> PyResult<Self> {
        let make = || {
            let request = Request {
                epoch: epoch.map(Epoch::parse).transpose()?,
                begin_s: span.0,
                duration_s: span.1 - span.0,
                age_max_s: age_max.map_or(Ok(AGE_MAX_S), age)?,
                bad: if skips { BadRecords::Skip } else { BadRecords::Refuse },
            };
            let (sky, census) = read_sky(content, &request)?;
            Ok(Self { sky, zigzags: false, census })
        };
        py.detach(make).map_err(wrong)
    }

    /// Adds places, and replaces the reach (least elevation or largest range, km) and the links between satellites
    /// (`none`, `grid`, `grid-and-seam`). `fibre` is the length of fibres between gateways relative to the great
    /// circle. Without it, gateways relay packets over satellites.
    fn with_places(
        &self,
        places: Vec<Given>,
        reach: (Option<f64>, Option<f64>),
        between: Option<&str>,
        fibre: Option<f64>,
    ) -> PyResult<Self> {
        let mut sky = self.sky.clone();
        let make = || {
            for (name, latitude_deg, longitude_deg, height_km, is_gateway) in places {
                let at = Geodetic::new(latitude_deg, longitude_deg, height_km)?;
                sky.places.push(Place { relay: is_gateway, ..Place::fixed(&name, at) });
            }
            let gateways: Vec<usize> = (0..sky.places.len()).filter(|k| sky.places[*k].relay).collect();
            for (number, &a) in gateways.iter().enumerate() {
                for (&b, fibre) in gateways[..number].iter().filter_map(|b| fibre.map(|fibre| (b, fibre))) {
                    sky.cables.push(Cable::fibre(&sky.places, a, b, fibre)?);
                }
            }
            match reach {
                (Some(deg), _) => sky.access = Access::MinElevation(deg),
                (None, Some(km)) => sky.access = Access::MaxRange(km),
                (None, None) => {}
            }
            sky.links = match between {
                None => sky.links,
                Some("none") => SatelliteLinks::NONE,
                Some("grid") => sky.links.as_grid(false),
                Some("grid-and-seam") => sky.links.as_grid(true),
                Some(name) => {
                    return Err(Wrong { at: format!("links {name:?}"), what: "there are no such links".into() })
                }
            };
            sky.check()?;
            Ok(Self { sky, zigzags: fibre.is_none(), census: self.census.clone() })
        };
        make().map_err(wrong)
    }

    /// Returns the sky without these satellites and places, and without the links between these two nodes, by number.
    fn without(&self, nodes: Vec<u32>, links: Vec<(u32, u32)>) -> PyResult<Self> {
        let mut sky = self.sky.clone();
        let fails = |what| Failure { what, from_s: f64::NEG_INFINITY, until_s: f64::INFINITY };
        sky.failures.extend(nodes.into_iter().map(|node| fails(Failed::Node(node))));
        sky.failures.extend(links.into_iter().map(|(a, b)| fails(Failed::Link(a, b))));
        sky.check().map_err(wrong)?;
        Ok(Self { sky, zigzags: self.zigzags, census: self.census.clone() })
    }

    /// Returns line and fault of each skipped record.
    #[getter]
    fn skipped(&self) -> Vec<(usize, &str)> {
        self.census.bad.iter().map(|bad| (bad.line, bad.what.as_str())).collect()
    }

    /// Returns the numbers of records and satellites of a file of elements, by name. Empty for other constellations.
    #[getter]
    fn counts(&self) -> BTreeMap<&'static str, usize> {
        let is_file = self.census.records > 0;
        self.census.counts().into_iter().filter(|_| is_file).collect()
    }

    /// Returns the largest age of elements in s.
    #[getter]
    fn elements_age_s(&self) -> f64 {
        self.census.age_s
    }

    /// Returns a line for each reason to skip records or satellites, and a line for old elements.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.census.notes()
    }

    #[getter]
    fn epoch(&self) -> String {
        self.sky.constellation.epoch.to_string()
    }

    #[getter]
    fn names(&self) -> Vec<&str> {
        self.sky.constellation.satellites.iter().map(|satellite| satellite.name.as_str()).collect()
    }

    /// Returns the least elevation. None: the sky limits the distance.
    #[getter]
    fn elevation_deg(&self) -> Option<f64> {
        match self.sky.access {
            Access::MinElevation(deg) => Some(deg),
            Access::MaxRange(_) => None,
        }
    }

    /// Returns the largest range of a satellite in use in km. None: the sky limits the elevation.
    #[getter]
    fn range_max_km(&self) -> Option<f64> {
        match self.sky.access {
            Access::MinElevation(_) => None,
            Access::MaxRange(km) => Some(km),
        }
    }

    /// Whether satellites have links to each other.
    #[getter]
    fn is_linked(&self) -> bool {
        self.sky.links.topology != Topology::None
    }

    /// Returns the link budget between places and satellites of the median height: of one direction, or of a link up
    /// and a link down through a transparent transponder.
    fn budget(&self, ways: Vec<Way>, symbols_per_s: f64, altitude_km: f64, air: Air) -> PyResult<Budget> {
        budget::of(&ways, symbols_per_s, altitude_km, air).map_err(wrong)
    }

    /// Returns the lowest and the highest elevation in degrees at which the first place uses a satellite within a day,
    /// or none without a satellite in view.
    fn elevations(&self) -> PyResult<Option<(f64, f64)>> {
        budget::elevations(&self.sky).map_err(wrong)
    }

    /// Returns the median height of the satellites at the epoch in km.
    #[getter]
    fn altitude_km(&self) -> f64 {
        let satellites = 0..self.sky.satellites() as u32;
        let at = satellites.filter_map(|k| self.sky.position(k, 0.0)).map(|at| distance(at, [0.0; 3]));
        let mut heights: Vec<f64> = at.collect();
        heights.sort_by(f64::total_cmp);
        heights.get(heights.len() / 2).map_or(0.0, |radius| radius - self.sky.earth.radius_km())
    }

    /// Returns the instant `seconds` after the epoch.
    fn instant(&self, seconds: f64) -> String {
        self.sky.constellation.epoch.after(seconds).to_string()
    }

    /// Returns the path from the first place to the second: at every instant, and its changes. `span` is begin, end and
    /// step. `choice` is the rule for satellites, its seed, whether hops are counted, and whether a path is kept until
    /// it breaks.
    #[pyo3(signature = (span, choice, progress=None))]
    fn path<'py>(
        &self,
        py: Python<'py>,
        span: (f64, f64, f64),
        choice: (&str, u64, bool, bool),
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let sky = &self.sky;
        let (rule, seed, by_hops, until_broken) = choice;
        let found = watched(py, progress, sky.satellites(), |go_on| {
            let span = Span::new(span.0, span.1, span.2)?;
            let mut routing = self.routing();
            routing.metric = if by_hops { Metric::Hops } else { Metric::Delay };
            routing.switch = if until_broken { Switch::WhenBroken } else { Switch::WhenBetter };
            let rule = rule_of(rule, seed)?;
            // Terminals wait for their satellites, a gateway uses any.
            let terminals = (0..2).filter(|place| !sky.places[*place].relay);
            let rules: Vec<(usize, Rule)> = terminals.filter_map(|place| Some((place, rule?))).collect();
            let parts = rules.len() as f64 + 1.0;
            let mut part = |share: f64| go_on(share * (parts - 1.0) / parts);
            routing.serving = servings_while(sky, routing.over, &[(0, 1)], &rules, span, &mut part)?;
            let mut part = |share: f64| go_on((parts - 1.0 + share) / parts);
            let routes =
                routes_while(sky, &[(0, 1)], &routing, span, Some((WITHIN * span.step_s).max(1e-6)), &mut part)?;
            let Some(route) = routes.into_iter().next() else { return Ok(None) };
            let gaps = gaps(sky, &routing, &route, span)?;
            Ok(Some((Instants::new(sky, span, route), gaps)))
        })?;
        let (found, gaps) = found.unwrap_or_default();
        let table = found.table(py)?;
        let gaps: Vec<(f64, String, String)> = gaps.into_iter().map(|gap| (gap.share, gap.why, gap.help)).collect();
        table.set_item("gaps", gaps)?;
        Ok(table)
    }

    /// Returns the paths of pairs of places over time, with the delays at every instant if `keeps`. `choice` is that of
    /// `path`.
    #[pyo3(signature = (pairs, span, choice, keeps, progress=None))]
    fn matrix(
        &self,
        py: Python<'_>,
        pairs: Vec<(usize, usize)>,
        span: (f64, f64, f64),
        choice: (&str, u64, bool, bool),
        keeps: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyMatrix> {
        let sky = &self.sky;
        let (rule, seed, by_hops, until_broken) = choice;
        let matrix = watched(py, progress, sky.satellites() + pairs.len(), |go_on| {
            let span = Span::new(span.0, span.1, span.2)?;
            let mut routing = self.routing();
            routing.metric = if by_hops { Metric::Hops } else { Metric::Delay };
            routing.switch = if until_broken { Switch::WhenBroken } else { Switch::WhenBetter };
            if let Some(rule) = rule_of(rule, seed)? {
                let mut ends: Vec<usize> = pairs.iter().flat_map(|&(from, to)| [from, to]).collect();
                ends.sort_unstable();
                ends.dedup();
                ends.retain(|place| !sky.places.get(*place).is_some_and(|place| place.relay));
                let rules: Vec<(usize, Rule)> = ends.into_iter().map(|place| (place, rule)).collect();
                // Each end waits for its satellites. The paths follow.
                let parts = rules.len() as f64 + 1.0;
                let mut part = |share: f64| go_on(share * (parts - 1.0) / parts);
                routing.serving = servings_while(sky, routing.over, &pairs, &rules, span, &mut part)?;
                return matrix_while(sky, &pairs, &routing, span, &mut |share| go_on((parts - 1.0 + share) / parts));
            }
            matrix_while(sky, &pairs, &routing, span, go_on)
        })?;
        Ok(PyMatrix { matrix: if keeps { matrix } else { matrix.without_delays() } })
    }

    /// Returns paths from the first place to the second that share no satellite, or no link if `by_links`, shortest
    /// first. Each has its delay and hops at every instant, and its changes. `choice` is that of `path`, without the
    /// rule.
    #[pyo3(signature = (span, choice, count, by_links, progress=None))]
    fn disjoint<'py>(
        &self,
        py: Python<'py>,
        span: (f64, f64, f64),
        choice: (bool, bool),
        count: usize,
        by_links: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let sky = &self.sky;
        // Each path needs a search of the whole graph.
        let found = watched(py, progress, 10 * count * sky.satellites(), |go_on| {
            let span = Span::new(span.0, span.1, span.2)?;
            let mut routing = self.routing();
            routing.metric = if choice.0 { Metric::Hops } else { Metric::Delay };
            routing.switch = if choice.1 { Switch::WhenBroken } else { Switch::WhenBetter };
            let what = if by_links { Disjoint::Links } else { Disjoint::Nodes };
            let routes = disjoint_routes_while(sky, &[(0, 1)], &routing, span, (count, what), go_on)?;
            Ok(routes.into_iter().flatten().map(|route| Instants::new(sky, span, route)).collect::<Vec<_>>())
        })?;
        let shown = |found: Instants| {
            let table = PyDict::new(py);
            table.set_item("delay_s", reals(py, &found.delay_s)?)?;
            table.set_item("hops", wholes(py, &found.hops)?)?;
            table.set_item("change_s", reals(py, &found.change_s)?)?;
            table.set_item("nodes", found.nodes)?;
            Ok(table)
        };
        found.into_iter().map(shown).collect()
    }

    /// Returns the passes over a place, by rise.
    #[pyo3(signature = (span, progress=None, place=0))]
    fn passes<'py>(
        &self,
        py: Python<'py>,
        span: (f64, f64, f64),
        progress: Option<Py<PyAny>>,
        place: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let sky = &self.sky;
        let found = watched(py, progress, sky.satellites(), |go_on| {
            passes_while(sky, place, Span::new(span.0, span.1, span.2)?, go_on)
        })?;
        let table = PyDict::new(py);
        let satellites: Vec<i64> = found.iter().map(|pass| i64::from(pass.satellite)).collect();
        table.set_item("satellite", wholes(py, &satellites)?)?;
        let put = |name: &str, pick: fn(&bentpipe_orbit::sky::survey::Pass) -> f64| {
            table.set_item(name, reals(py, &found.iter().map(pick).collect::<Vec<_>>())?)
        };
        put("rise_s", |pass| pass.rise_s)?;
        put("set_s", |pass| pass.set_s)?;
        put("highest_s", |pass| pass.highest_s)?;
        put("elevation_deg", |pass| pass.max_elevation_deg)?;
        put("range_min_km", |pass| pass.min_range_km)?;
        put("range_max_km", |pass| pass.max_range_km)?;
        Ok(table)
    }

    /// Returns the coverage of cells of the Earth, from south-west row by row, and the covered share of its surface.
    /// Delays are those to a place, by number, or without it to the nearest satellite.
    #[pyo3(signature = (cell_deg, span, to=None, progress=None))]
    fn coverage<'py>(
        &self,
        py: Python<'py>,
        cell_deg: f64,
        span: (f64, f64, f64),
        to: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyDict>, f64)> {
        // Every cell samples the satellites near it.
        let cells = (64_800.0 / (cell_deg * cell_deg).max(0.01)) as usize;
        let found = watched(py, progress, self.sky.satellites() + 20 * cells, |go_on| {
            let to = to.map(|place| (place, self.routing().over));
            coverage_while(&self.sky, cell_deg, to, Span::new(span.0, span.1, span.2)?, go_on)
        })?;
        let table = PyDict::new(py);
        let put = |name: &str, pick: fn(&bentpipe_orbit::sky::survey::Cell) -> f64| {
            table.set_item(name, reals(py, &found.iter().map(pick).collect::<Vec<_>>())?)
        };
        put("latitude_deg", |cell| cell.latitude_deg)?;
        put("longitude_deg", |cell| cell.longitude_deg)?;
        put("covered", |cell| cell.covered)?;
        put("mean", |cell| cell.mean)?;
        put("delay_s", |cell| cell.delay_s)?;
        let least: Vec<i64> = found.iter().map(|cell| i64::from(cell.min)).collect();
        table.set_item("min", wholes(py, &least)?)?;
        Ok((table, covered_area(&found)))
    }

    /// Returns the positions of satellites and then places in the frame of the Earth in km: for each instant a row of
    /// nodes, each with three numbers.
    #[pyo3(signature = (span, progress=None))]
    fn positions<'py>(
        &self,
        py: Python<'py>,
        span: (f64, f64, f64),
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Array<'py>> {
        let nodes = (self.sky.satellites() + self.sky.places.len()) as u32;
        let found = watched(py, progress, nodes as usize, |go_on| {
            let span = Span::new(span.0, span.1, span.2)?;
            let mut found = Vec::with_capacity(span.count() * nodes as usize * 3);
            for (number, t) in span.times().enumerate() {
                found.extend((0..nodes).flat_map(|node| self.sky.position(node, t).unwrap_or([f64::NAN; 3])));
                if !go_on(number as f64 / span.count() as f64) {
                    break;
                }
            }
            Ok(found)
        })?;
        reals(py, &found)
    }

    /// Returns the state at an instant: positions of the satellites, links between them, satellites in view of each
    /// place, and the path between the first two places.
    fn moment<'py>(&self, py: Python<'py>, at_s: f64, has_path: bool) -> PyResult<Bound<'py, PyDict>> {
        let sky = &self.sky;
        let look = || {
            Span::new(at_s, at_s, 1.0)?;
            let at: Vec<Geodetic> = (0..sky.satellites() as u32)
                .map(|k| sky.position(k, at_s).map_or(NOWHERE, |p| sky.earth.geodetic(p)))
                .collect();
            let links = sky.satellite_links(at_s)?;
            let seen = (0..sky.places.len()).map(|place| sky.visible(place, at_s)).collect::<Result<Vec<_>, _>>()?;
            let routing = self.routing();
            let mut path = (Vec::new(), f64::NAN);
            if has_path {
                let mut router = Router::new(sky, &[(0, 1)], &routing, f64::INFINITY)?;
                router.step(at_s);
                path = (router.path(0).to_vec(), router.delay_s(0));
            }
            Ok((at, links, seen, path))
        };
        let (at, links, seen, (path, delay_s)) = py.detach(look).map_err(wrong)?;
        let table = PyDict::new(py);
        let pick = |pick: fn(&Geodetic) -> f64| reals(py, &at.iter().map(pick).collect::<Vec<_>>());
        table.set_item("latitude_deg", pick(|at| at.latitude_deg)?)?;
        table.set_item("longitude_deg", pick(|at| at.longitude_deg)?)?;
        table.set_item("height_km", pick(|at| at.height_km)?)?;
        table.set_item("link_from", wholes(py, &links.iter().map(|link| i64::from(link.a)).collect::<Vec<_>>())?)?;
        table.set_item("link_to", wholes(py, &links.iter().map(|link| i64::from(link.b)).collect::<Vec<_>>())?)?;
        let numbers =
            |seen: &Vec<bentpipe_orbit::sky::view::Sighting>| seen.iter().map(|s| s.satellite).collect::<Vec<_>>();
        table.set_item("seen", seen.iter().map(numbers).collect::<Vec<_>>())?;
        table.set_item("nodes", path)?;
        table.set_item("delay_s", delay_s)?;
        Ok(table)
    }
}

impl PySky {
    /// Returns the rules for the path with the shortest delay under this sky.
    fn routing(&self) -> Routing {
        let over = if self.zigzags { Over::Satellites } else { Over::of(&self.sky) };
        Routing { over, ..Routing::default() }
    }
}

/// Position of a satellite without one.
const NOWHERE: Geodetic = Geodetic { latitude_deg: f64::NAN, longitude_deg: f64::NAN, height_km: f64::NAN };

/// Returns name, description and source of every constellation.
#[pyfunction]
pub(crate) fn constellations() -> Vec<(&'static str, &'static str, &'static str)> {
    PRESETS.iter().map(|preset| (preset.name, preset.about, preset.source)).collect()
}

/// Returns name, degrees north and degrees east of every known place.
#[pyfunction]
pub(crate) fn cities() -> Vec<(&'static str, f64, f64)> {
    places::cities().map(|(name, at)| (name, at.latitude_deg, at.longitude_deg)).collect()
}

/// Returns the modulations and codes of DVB-S2 that are the most efficient at some Es/N0: name, required Es/N0 in dB,
/// bits per symbol.
#[pyfunction]
pub(crate) fn modcods() -> Vec<(&'static str, f64, f64)> {
    Modcod::useful().map(|(modcod, threshold, bits)| (modcod.name(), threshold, bits)).collect()
}

/// Returns degrees north and east of a city.
#[pyfunction]
pub(crate) fn city(name: &str) -> PyResult<(f64, f64)> {
    let at = places::city(name).map_err(wrong)?;
    Ok((at.latitude_deg, at.longitude_deg))
}

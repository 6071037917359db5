//! The sky of a scenario for the globe: positions at keyframes, places, and the paths of flows during a run.
//!
//! Nodes are numbers: the satellites of all constellations in order, then all places.

use bentpipe_orbit::sky::earth::TURN_RAD_S;
use bentpipe_orbit::sky::links::Topology;
use bentpipe_orbit::sky::places::{Access, Site};
use bentpipe_orbit::sky::route::Over;
use bentpipe_orbit::sky::scene::Sky;
use bentpipe_orbit::sky::span::Span;
use bentpipe_orbit::sky::survey::{coverage, passes};
use bentpipe_orbit::sky::SkyError;
use bentpipe_sim::scenario::{ConstellationOfRun, PairOfPlaces, Resolved, SkyOfRun};
use serde::Deserialize;
use serde_json::{json, Map, Value};

/// Times between keyframes in s, the shortest first. A short one suits any orbit, a long one a circular orbit only.
const STEPS_S: [f64; 3] = [60.0, 300.0, 900.0];
/// Largest number of keyframes, if a longer step exists.
const KEYFRAMES: f64 = 60.0;
/// Number of looks at passes and moving places in a run.
const LOOKS: f64 = 240.0;
/// Shortest time between two looks, s.
const LOOK_MIN_S: f64 = 1.0;
/// Size of a cell of the coverage, degrees.
const CELL_DEG: f64 = 2.0;
/// Largest coordinate in `frames`.
const COORDINATE_MAX: f64 = 32_767.0;

/// Returns facts, and the positions of satellites in `frames`: x, y, z by constellation, keyframe and satellite, in
/// multiples of `scale_km`, in the frame of the Earth at time 0 that does not turn.
pub(crate) fn of_run(resolved: &Resolved, found: &SkyOfRun) -> Result<Value, SkyError> {
    let numbers = Numbers::new(&found.constellations);
    let duration_s = found.duration_s;
    let mut frames = Vec::new();
    let mut constellations = Vec::new();
    let mut all_passes = Vec::new();
    for (number, each) in found.constellations.iter().enumerate() {
        constellations.push(constellation(each, duration_s, &mut frames)?);
        for place in 0..each.sky.places.len() {
            let span = Span::new(0.0, duration_s, look_s(duration_s).min(duration_s))?;
            all_passes.extend(passes(&each.sky, place, span)?.into_iter().map(|pass| {
                json!({
                    "place": each.sky.places[place].name,
                    "satellite": numbers.first[number] + pass.satellite as usize,
                    "rise_s": pass.rise_s,
                    "set_s": pass.set_s,
                    "elevation_deg": pass.max_elevation_deg,
                })
            }));
        }
    }
    let flows = found.pairs.iter().flat_map(|pair| {
        let ends = &pair.ends;
        pair.flows.iter().map(move |(flow, _)| (flow.clone(), json!(ends)))
    });
    let paths = found.pairs.iter().enumerate().flat_map(|(pair, ends)| {
        uses(ends, duration_s)
            .flat_map(|used| paths(&found.constellations, pair, ends, used, &numbers))
            .collect::<Vec<_>>()
    });
    let delays =
        found.pairs.iter().enumerate().map(|(pair, ends)| delays(&found.constellations, pair, ends, duration_s));
    Ok(json!({
        "epoch": found.constellations[0].sky.constellation.epoch.to_string(),
        "duration_s": duration_s,
        "has_day": !resolved.has_days(),
        "earth_rad_s": TURN_RAD_S,
        "constellations": constellations,
        "places": numbers.places.iter().map(|(name, place)| place_row(name, place, duration_s)).collect::<Vec<_>>(),
        "flows": flows.collect::<Map<String, Value>>(),
        "paths": paths.collect::<Vec<_>>(),
        "delays": delays.collect::<Vec<_>>(),
        "passes": all_passes,
        "frames": frames,
    }))
}

/// A question for the cells of the Earth's surface at an instant.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cells {
    constellation: String,
    time_s: f64,
    /// Delays, or the number of satellites in view.
    is_delay: bool,
    /// End of the delays, by name of the place. Without it, the nearest satellite.
    to: Option<String>,
}

impl Cells {
    /// Returns `cell_deg`, and `counts` or `delays_ms` by cell from the south-west, row by row; null without a path.
    pub(crate) fn under(&self, found: &SkyOfRun) -> Result<Value, String> {
        let known = found.constellations.iter().find(|each| each.name == self.constellation);
        let of = known.ok_or_else(|| format!("{:?} is not a constellation of this scenario", self.constellation))?;
        let over = if of.zigzags { Over::Satellites } else { Over::of(&of.sky) };
        let place = |name: &String| {
            let number = of.sky.places.iter().position(|place| place.name == *name);
            number.ok_or_else(|| format!("{name:?} is not a place of this scenario"))
        };
        let to = self.to.as_ref().map(place).transpose()?.map(|number| (number, over));
        let span = Span::new(self.time_s, self.time_s + 1.0, 1.0);
        let cells = span.and_then(|span| coverage(&of.sky, CELL_DEG, to, span)).map_err(|error| error.to_string())?;
        Ok(if self.is_delay {
            // In hundredths of a millisecond.
            let delays_ms: Vec<f64> = cells.iter().map(|cell| libm::round(cell.delay_s * 1e5) / 100.0).collect();
            json!({ "cell_deg": CELL_DEG, "delays_ms": delays_ms })
        } else {
            json!({ "cell_deg": CELL_DEG, "counts": cells.iter().map(|cell| cell.min).collect::<Vec<_>>() })
        })
    }
}

/// A place: the first sky that has it, its number there, and whether any constellation has it as a gateway.
struct PlaceOfRun<'a> {
    sky: &'a Sky,
    number: usize,
    is_gateway: bool,
}

/// Numbers of nodes over all constellations.
struct Numbers<'a> {
    /// First satellite of each constellation.
    first: Vec<usize>,
    satellites: usize,
    places: Vec<(&'a str, PlaceOfRun<'a>)>,
}

impl<'a> Numbers<'a> {
    fn new(constellations: &'a [ConstellationOfRun]) -> Self {
        let mut found = Self { first: Vec::new(), satellites: 0, places: Vec::new() };
        for each in constellations {
            found.first.push(found.satellites);
            found.satellites += each.sky.satellites();
            for (number, place) in each.sky.places.iter().enumerate() {
                match found.places.iter_mut().find(|(name, _)| *name == place.name) {
                    Some((_, known)) => known.is_gateway |= place.relay,
                    None => {
                        let about = PlaceOfRun { sky: &each.sky, number, is_gateway: place.relay };
                        found.places.push((&place.name, about));
                    }
                }
            }
        }
        found
    }

    /// The number of a node of a constellation.
    fn of(&self, constellation: usize, sky: &Sky, node: u32) -> usize {
        let node = node as usize;
        match node.checked_sub(sky.satellites()) {
            None => self.first[constellation] + node,
            Some(place) => {
                let name = &sky.places[place].name;
                self.satellites + self.places.iter().position(|(known, _)| known == name).unwrap_or_default()
            }
        }
    }
}

fn look_s(duration_s: f64) -> f64 {
    (duration_s / LOOKS).max(LOOK_MIN_S)
}

fn constellation(of: &ConstellationOfRun, duration_s: f64, frames: &mut Vec<i16>) -> Result<Value, SkyError> {
    let sky = &of.sky;
    let step_s = STEPS_S.into_iter().find(|step_s| duration_s / step_s <= KEYFRAMES).unwrap_or(STEPS_S[2]);
    // The last keyframe is at the end of the run or behind it.
    let keyframes = (duration_s / step_s).ceil().max(1.0) as usize + 1;
    let positions: Vec<[f64; 3]> = (0..keyframes)
        .flat_map(|frame| {
            let time_s = frame as f64 * step_s;
            (0..sky.satellites() as u32).map(move |satellite| fixed(sky.position(satellite, time_s), time_s))
        })
        .collect();
    let largest = positions.iter().flatten().fold(1.0_f64, |most, value| most.max(value.abs()));
    let scale_km = largest / COORDINATE_MAX;
    frames.extend(positions.iter().flatten().map(|value| libm::round(value / scale_km) as i16));
    let links = match sky.links.topology {
        Topology::None => Vec::new(),
        _ => sky.satellite_links(0.0)?.iter().flat_map(|link| [link.a, link.b]).collect(),
    };
    let (elevation_min_deg, range_max_km) = match sky.access {
        Access::MinElevation(deg) => (Some(deg), None),
        Access::MaxRange(km) => (None, Some(km)),
    };
    Ok(json!({
        "name": of.name,
        "names": sky.constellation.satellites.iter().map(|satellite| satellite.name.as_str()).collect::<Vec<_>>(),
        "step_s": step_s,
        "keyframes": keyframes,
        "scale_km": scale_km,
        "links": links,
        "places": sky.places.iter().map(|place| place.name.as_str()).collect::<Vec<_>>(),
        "elevation_min_deg": elevation_min_deg,
        "range_max_km": range_max_km,
    }))
}

/// A position in the frame that does not turn. A satellite without one is in the middle of the Earth.
fn fixed(position: Option<[f64; 3]>, time_s: f64) -> [f64; 3] {
    let [x, y, z] = position.unwrap_or_default();
    let (sin, cos) = libm::sincos(TURN_RAD_S * time_s);
    [x * cos - y * sin, x * sin + y * cos, z]
}

/// A place at the start. `way` has longitude and latitude in degrees at each look at a place that moves.
fn place_row(name: &str, place: &PlaceOfRun<'_>, duration_s: f64) -> Value {
    let site = &place.sky.places[place.number].site;
    let at = site.at(0.0);
    let mut row = json!({
        "place": name,
        "latitude_deg": at.latitude_deg,
        "longitude_deg": at.longitude_deg,
        "height_km": at.height_km,
        "is_gateway": place.is_gateway,
        "moves": matches!(site, Site::Moving(_)),
    });
    if matches!(site, Site::Moving(_)) {
        let step_s = look_s(duration_s);
        let node = (place.sky.satellites() + place.number) as u32;
        let way: Vec<f64> = (0..=(duration_s / step_s).ceil() as usize)
            .filter_map(|look| place.sky.position(node, look as f64 * step_s))
            .flat_map(|[x, y, z]| [libm::atan2(y, x).to_degrees(), libm::atan2(z, libm::hypot(x, y)).to_degrees()])
            .collect();
        row["way"] = json!(way);
        row["way_step_s"] = json!(step_s);
    }
    row
}

/// Begin, end and constellation of each stretch of time of a pair.
fn uses(pair: &PairOfPlaces, duration_s: f64) -> impl Iterator<Item = (f64, f64, usize)> + '_ {
    let ends = pair.uses.iter().skip(1).map(|(at_s, _)| *at_s).chain([duration_s]);
    pair.uses
        .iter()
        .zip(ends)
        .map(|(&(at_s, number), end_s)| (at_s, end_s, number))
        .filter(|(at_s, end_s, _)| at_s < end_s)
}

/// Paths of a pair within a stretch of time.
fn paths(
    constellations: &[ConstellationOfRun],
    pair: usize,
    ends: &PairOfPlaces,
    (begin_s, end_s, number): (f64, f64, usize),
    numbers: &Numbers<'_>,
) -> Vec<Value> {
    let of = &constellations[number];
    let changes = &of.paths[pair].changes;
    let until = changes.iter().skip(1).map(|change| change.at_s).chain([f64::INFINITY]);
    let name = |node: Option<&u32>| {
        let satellites = &of.sky.constellation.satellites;
        node.and_then(|&node| satellites.get(node as usize)).map(|satellite| satellite.name.as_str())
    };
    changes
        .iter()
        .zip(until)
        .filter(|(change, until)| change.at_s < end_s && *until > begin_s)
        .map(|(change, until)| {
            let nodes = &change.nodes;
            json!({
                "from": ends.ends[0],
                "to": ends.ends[1],
                "constellation": of.name,
                "time_s": change.at_s.max(begin_s),
                "end_s": until.min(end_s),
                "delay_s": change.delay_s,
                "nodes": nodes.iter().map(|&node| numbers.of(number, &of.sky, node)).collect::<Vec<_>>(),
                "from_satellite": name(nodes.get(1)),
                "to_satellite": name(nodes.len().checked_sub(2).and_then(|place| nodes.get(place))),
            })
        })
        .collect()
}

/// One-way delay of a pair at each look of the scenario; null without a path.
fn delays(constellations: &[ConstellationOfRun], pair: usize, ends: &PairOfPlaces, duration_s: f64) -> Value {
    let looks = uses(ends, duration_s).flat_map(|(begin_s, end_s, number)| {
        let of = &constellations[number];
        of.span
            .times()
            .zip(of.paths[pair].delays_s.iter().copied())
            .filter(move |(time_s, _)| (begin_s..end_s).contains(time_s))
    });
    let (times, delays): (Vec<f64>, Vec<f64>) = looks.unzip();
    json!({ "from": ends.ends[0], "to": ends.ends[1], "time_s": times, "delay_s": delays })
}

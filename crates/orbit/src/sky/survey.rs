//! Tables of a sky: passes over a place, and the coverage of the Earth.

use super::earth::{Geodetic, LIGHT_KM_S, RAD};
use super::error::SkyError;
use super::motion::Motion;
use super::places::Site;
use super::route::{Over, Routing, Toward};
use super::scene::Sky;
use super::span::{GoOn, Span};
use super::view::{Sighting, Watch};

/// Precision of the instants of a pass, s.
const WITHIN_S: f64 = 1e-3;

/// Time for which a satellite is in view of a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// Number of the satellite.
    pub satellite: u32,
    /// Rise, seconds after the epoch, or the start of the span.
    pub rise_s: f64,
    /// Set, or the end of the span.
    pub set_s: f64,
    /// Time of the highest elevation.
    pub highest_s: f64,
    /// Highest elevation, degrees.
    pub max_elevation_deg: f64,
    /// Least distance, km: that of the highest point.
    pub min_range_km: f64,
    /// Larger one of the distances at rise and set, km.
    pub max_range_km: f64,
}

/// Finds the passes of satellites over a place, by rise. Passes shorter than the span's step may be missed.
///
/// # Errors
/// An unknown place, or an invalid sky.
pub fn passes(sky: &Sky, place: usize, span: Span) -> Result<Vec<Pass>, SkyError> {
    passes_while(sky, place, span, &mut |_| true)
}

/// Finds passes as [`passes`] does, and reports progress.
///
/// # Errors
///
/// As [`passes`]; the caller cancelled.
pub fn passes_while(sky: &Sky, place: usize, span: Span, go_on: GoOn) -> Result<Vec<Pass>, SkyError> {
    sky.check()?;
    let place = sky.place(place)?;
    let mut motion = Motion::new(span.step_s);
    let mut watch = sky.watch(place, span.step_s);
    let rule = sky.watch(place, 0.0);
    let seek = Seek { sky, place, rule };
    let mut open: Vec<(u32, f64)> = Vec::new();
    let mut found = Vec::new();
    let mut before = span.from_s;
    let ends = span.times().skip(1).chain([span.until_s]);
    for t in std::iter::once(span.from_s).chain(ends) {
        span.reach(t, go_on)?;
        let seen = watch.at(&sky.earth, motion.at(&sky.constellation, &sky.earth, t), t);
        let mut still = Vec::with_capacity(seen.len());
        for sighting in seen {
            let k = sighting.satellite;
            let rise = match open.binary_search_by_key(&k, |(satellite, _)| *satellite) {
                Ok(at) => open[at].1,
                Err(_) if t > span.from_s => seek.edge(k, before, t, true),
                Err(_) => t,
            };
            still.push((k, rise));
        }
        for &(k, rise) in &open {
            if still.binary_search_by_key(&k, |(satellite, _)| *satellite).is_err() {
                found.push(seek.pass(k, rise, seek.edge(k, before, t, false)));
            }
        }
        open = still;
        before = t;
    }
    found.extend(
        open.iter().filter(|(_, rise)| *rise < span.until_s).map(|&(k, rise)| seek.pass(k, rise, span.until_s)),
    );
    found.sort_by(|a, b| a.rise_s.total_cmp(&b.rise_s).then(a.satellite.cmp(&b.satellite)));
    Ok(found)
}

struct Seek<'a> {
    sky: &'a Sky,
    place: usize,
    rule: Watch,
}

impl Seek<'_> {
    fn sighting(&self, satellite: u32, t: f64) -> Sighting {
        let nothing = Sighting { satellite, range_km: f64::NAN, sin_elevation: f64::NAN };
        self.sky.sighting(self.place, satellite, t).unwrap_or(nothing)
    }

    /// Returns the instant between two instants when a satellite rises or sets.
    fn edge(&self, satellite: u32, from: f64, to: f64, rises: bool) -> f64 {
        let (mut low, mut high) = (from, to);
        while high - low > WITHIN_S {
            let middle = 0.5 * (low + high);
            if self.rule.sees(&self.sighting(satellite, middle)) == rises {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }

    fn pass(&self, satellite: u32, rise_s: f64, set_s: f64) -> Pass {
        // The elevation has one maximum in a pass: drop the third of the span that cannot contain it.
        let (mut low, mut high) = (rise_s, set_s);
        while high - low > WITHIN_S {
            let third = (high - low) / 3.0;
            if self.sighting(satellite, low + third).sin_elevation
                < self.sighting(satellite, high - third).sin_elevation
            {
                low += third;
            } else {
                high -= third;
            }
        }
        let highest_s = 0.5 * (low + high);
        let top = self.sighting(satellite, highest_s);
        let range = |t: f64| self.sighting(satellite, t).range_km;
        Pass {
            satellite,
            rise_s,
            set_s,
            highest_s,
            max_elevation_deg: top.elevation_deg(),
            min_range_km: top.range_km,
            max_range_km: range(rise_s).max(range(set_s)),
        }
    }
}

/// Coverage of a cell of latitude and longitude over a span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Latitude of its centre, degrees north.
    pub latitude_deg: f64,
    /// Longitude of its centre, degrees east.
    pub longitude_deg: f64,
    /// Share of the instants with a satellite in view of the centre.
    pub covered: f64,
    /// Mean number of satellites in view.
    pub mean: f64,
    /// Least number of satellites in view.
    pub min: u32,
    /// Mean one-way delay over the instants with a path, s. NaN without a path.
    pub delay_s: f64,
}

/// Finds the coverage of the cells of a grid over a span, from south-west row by row. Delays are those to the nearest
/// satellite, or those of the shortest paths `to` a place.
///
/// # Errors
/// A cell size outside 0.25 to 90 degrees, an unknown place, or an invalid sky.
pub fn coverage(sky: &Sky, cell_deg: f64, to: Option<(usize, Over)>, span: Span) -> Result<Vec<Cell>, SkyError> {
    coverage_while(sky, cell_deg, to, span, &mut |_| true)
}

/// Finds the coverage as [`coverage`] does, and reports progress.
///
/// # Errors
///
/// As [`coverage`]; the caller cancelled.
pub fn coverage_while(
    sky: &Sky,
    cell_deg: f64,
    to: Option<(usize, Over)>,
    span: Span,
    go_on: GoOn,
) -> Result<Vec<Cell>, SkyError> {
    sky.check()?;
    let (mut cells, mut watches) = grid(sky, cell_deg, span.step_s)?;
    let routing = Routing { over: to.map_or(Over::Satellites, |(_, over)| over), ..Routing::default() };
    let mut toward = to.map(|(place, _)| Toward::new(sky, place, &routing, span.step_s)).transpose()?;
    let mut motion = Motion::new(span.step_s);
    let mut connected = vec![0_u32; cells.len()];
    for t in span.times() {
        span.reach(t, go_on)?;
        let positions = motion.at(&sky.constellation, &sky.earth, t);
        let beyond_s = toward.as_mut().map(|toward| toward.at(t));
        for ((cell, watch), connected) in cells.iter_mut().zip(&mut watches).zip(&mut connected) {
            let seen = watch.at(&sky.earth, positions, t);
            let count = seen.len() as u32;
            cell.covered += f64::from(count.min(1));
            cell.mean += f64::from(count);
            cell.min = cell.min.min(count);
            let delay_s = |s: &Sighting| s.range_km / LIGHT_KM_S + beyond_s.map_or(0.0, |to| to[s.satellite as usize]);
            let least_s = seen.iter().map(delay_s).fold(f64::INFINITY, f64::min);
            if least_s.is_finite() {
                cell.delay_s += least_s;
                *connected += 1;
            }
        }
    }
    let instants = span.count().max(1) as f64;
    for (cell, connected) in cells.iter_mut().zip(connected) {
        cell.covered /= instants;
        cell.mean /= instants;
        cell.min = if span.count() == 0 { 0 } else { cell.min };
        // 0/0 is NaN: there was no path.
        cell.delay_s /= f64::from(connected);
    }
    Ok(cells)
}

/// Returns the cells of a grid, from south-west row by row, with the views of their centres.
fn grid(sky: &Sky, cell_deg: f64, step_s: f64) -> Result<(Vec<Cell>, Vec<Watch>), SkyError> {
    SkyError::within("size of a cell (degrees)", cell_deg, 0.25, 90.0)?;
    let rows = (180.0 / cell_deg).ceil() as u32;
    let columns = (360.0 / cell_deg).ceil() as u32;
    let middle = |k: u32, count: u32, whole: f64| (f64::from(k) + 0.5) * whole / f64::from(count) - 0.5 * whole;
    let mut cells = Vec::new();
    let mut watches = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            let at = Geodetic {
                latitude_deg: middle(row, rows, 180.0),
                longitude_deg: middle(column, columns, 360.0),
                height_km: 0.0,
            };
            watches.push(Watch::new(Site::Fixed(at), sky.access, &sky.earth, step_s));
            let (latitude_deg, longitude_deg) = (at.latitude_deg, at.longitude_deg);
            cells.push(Cell { latitude_deg, longitude_deg, covered: 0.0, mean: 0.0, min: u32::MAX, delay_s: 0.0 });
        }
    }
    Ok((cells, watches))
}

/// Returns the covered share of the Earth's surface, over the span of the cells.
pub fn covered_area(cells: &[Cell]) -> f64 {
    let area = |cell: &Cell| libm::cos(cell.latitude_deg * RAD);
    cells.iter().map(|cell| area(cell) * cell.covered).sum::<f64>() / cells.iter().map(area).sum::<f64>()
}

#[cfg(test)]
mod tests;

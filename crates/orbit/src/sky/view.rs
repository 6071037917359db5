//! Satellites in view of a place.

use super::earth::{slant_range_km, Earth, RAD};
use super::motion::Positions;
use super::places::{Access, Site};
use super::vector::{dot, norm, sub, Vector};
use libm::{asin, sin};

/// Satellite in view of a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sighting {
    /// Number of the satellite.
    pub satellite: u32,
    /// Slant range, km.
    pub range_km: f64,
    /// Sine of the elevation above the horizon.
    pub sin_elevation: f64,
}

impl Sighting {
    /// Returns the elevation above the horizon, degrees.
    pub fn elevation_deg(&self) -> f64 {
        asin(self.sin_elevation.clamp(-1.0, 1.0)) / RAD
    }
}

/// Returns range and elevation of a satellite from a place with this zenith.
pub(crate) fn sight(satellite: u32, at: Vector, place: Vector, up: Vector) -> Sighting {
    let to = sub(at, place);
    let range_km = norm(to);
    Sighting { satellite, range_km, sin_elevation: dot(to, up) / range_km }
}

/// Largest relative speed of satellites and places, km/s (escape velocity, and the Earth's rotation).
const FASTEST_KM_S: f64 = 12.0;
/// Half of the time between two searches for candidates.
const HALF_WINDOW_S: f64 = 10.0;
/// Largest angle between the zenith of the ellipsoid and the direction from the Earth's centre: 0.19°.
const ZENITH_DEG: f64 = 0.25;

/// View of one place at consecutive instants. Only satellites that can come into view within a window of time are
/// evaluated more than once in it.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    site: Site,
    access: Access,
    sin_mask: f64,
    /// Middle of the window in which `candidates` is valid.
    middle: f64,
    half_window: f64,
    candidates: Vec<u32>,
    stand: (Vector, Vector),
    seen: Vec<Sighting>,
}

impl Watch {
    pub(crate) fn new(site: Site, access: Access, earth: &Earth, step_s: f64) -> Self {
        let sin_mask = match access {
            Access::MinElevation(deg) => sin(deg * RAD),
            Access::MaxRange(_) => -1.0,
        };
        Self {
            stand: site.stand(earth, 0.0),
            site,
            access,
            sin_mask,
            middle: f64::NAN,
            half_window: if step_s < HALF_WINDOW_S { HALF_WINDOW_S } else { 0.0 },
            candidates: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// Position and zenith at the last instant.
    pub(crate) fn stand(&self) -> (Vector, Vector) {
        self.stand
    }

    /// Whether a satellite is in view.
    pub(crate) fn sees(&self, sighting: &Sighting) -> bool {
        let longest = match self.access {
            Access::MinElevation(_) => f64::INFINITY,
            Access::MaxRange(km) => km,
        };
        sighting.range_km <= longest && sighting.sin_elevation >= self.sin_mask
    }

    /// Returns range and elevation of one satellite, in view or not, or `None` if it has no position.
    pub(crate) fn one(&mut self, earth: &Earth, positions: &Positions, t: f64, satellite: u32) -> Option<Sighting> {
        self.stand_at(earth, t);
        let sighting = sight(satellite, positions.get(satellite as usize), self.stand.0, self.stand.1);
        sighting.range_km.is_finite().then_some(sighting)
    }

    fn stand_at(&mut self, earth: &Earth, t: f64) {
        if let Site::Moving(_) = self.site {
            self.stand = self.site.stand(earth, t);
        }
    }

    /// Returns the satellites in view, by number.
    pub(crate) fn at(&mut self, earth: &Earth, positions: &Positions, t: f64) -> &[Sighting] {
        self.stand_at(earth, t);
        let (place, up) = self.stand;
        if self.middle.is_nan() || (t - self.middle).abs() > self.half_window {
            self.look_around(positions, t);
        }
        let mut seen = std::mem::take(&mut self.seen);
        seen.clear();
        let sights = self.candidates.iter().map(|k| sight(*k, positions.get(*k as usize), place, up));
        seen.extend(sights.filter(|sighting| self.sees(sighting)));
        self.seen = seen;
        &self.seen
    }

    fn look_around(&mut self, positions: &Positions, t: f64) {
        self.middle = t + self.half_window;
        // From `t` to the end of the window.
        let margin = 2.0 * self.half_window * FASTEST_KM_S;
        let [px, py, pz] = self.stand.0;
        let reach = match self.access {
            Access::MaxRange(km) => km,
            Access::MinElevation(deg) => {
                let square = |k: usize| dot(positions.get(k), positions.get(k));
                let highest = (0..positions.len()).map(square).fold(0.0, f64::max).sqrt();
                slant_range_km(norm(self.stand.0), highest + margin, deg - ZENITH_DEG)
            }
        } + margin;
        let square = reach * reach;
        self.candidates.clear();
        for (k, ((x, y), z)) in positions.x.iter().zip(&positions.y).zip(&positions.z).enumerate() {
            let (dx, dy, dz) = (x - px, y - py, z - pz);
            if dx * dx + dy * dy + dz * dz <= square {
                self.candidates.push(k as u32);
            }
        }
    }
}

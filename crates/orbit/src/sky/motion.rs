//! Positions of all satellites at consecutive instants.
//!
//! SGP4 takes most of a microsecond per satellite. For close instants it is evaluated only every [`KNOT_S`] seconds.
//! The polynomial through six such positions interpolates between them. Its error is below 0.0049·h⁶·r·ω⁶: a hundredth
//! of a millimetre on the fastest circles, and half a millimetre where ellipses are fastest. The result depends only on
//! the instant, not on earlier calls.

use super::constellation::Constellation;
use super::earth::Earth;
use super::vector::Vector;

/// Seconds between positions that the orbits compute.
pub(crate) const KNOT_S: f64 = 20.0;
/// Number of positions per polynomial.
const KNOTS: usize = 6;

/// Positions of all satellites in the fixed frame, km, by coordinate. NaN for a satellite without one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Positions {
    /// Coordinate towards the equator at Greenwich.
    pub x: Vec<f64>,
    /// Coordinate towards the equator at 90° east.
    pub y: Vec<f64>,
    /// Coordinate towards the north pole.
    pub z: Vec<f64>,
}

impl Positions {
    /// Returns the position of satellite `k`.
    pub fn get(&self, k: usize) -> Vector {
        [self.x[k], self.y[k], self.z[k]]
    }

    /// Returns the number of satellites.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Whether there is no satellite.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    fn fill(&mut self, sky: &Constellation, earth: &Earth, t: f64) {
        let angle = earth.angle(sky.epoch, t);
        for list in [&mut self.x, &mut self.y, &mut self.z] {
            list.clear();
        }
        for satellite in &sky.satellites {
            let [x, y, z] = satellite.orbit.fixed_at(earth, sky.epoch, t, angle);
            self.x.push(x);
            self.y.push(y);
            self.z.push(z);
        }
    }
}

/// Returns the positions of all satellites `t` seconds after the epoch, from the orbits themselves.
pub fn positions(constellation: &Constellation, earth: &Earth, t: f64) -> Positions {
    let mut all = Positions::default();
    all.fill(constellation, earth, t);
    all
}

/// Positions at consecutive instants.
#[derive(Clone, Debug)]
pub(crate) struct Motion {
    between: bool,
    /// Number of the first knot in `knots`: its time in units of `KNOT_S`.
    first: Option<i64>,
    knots: Vec<Positions>,
    now: Positions,
}

impl Motion {
    /// Prepares for instants about `step_s` apart.
    pub(crate) fn new(step_s: f64) -> Self {
        let between = step_s < KNOT_S;
        Self { between, first: None, knots: vec![Positions::default(); KNOTS], now: Positions::default() }
    }

    pub(crate) fn at(&mut self, sky: &Constellation, earth: &Earth, t: f64) -> &Positions {
        if !self.between {
            self.now.fill(sky, earth, t);
            return &self.now;
        }
        let first = (t / KNOT_S).floor() as i64 - 2;
        self.move_to(first, sky, earth);
        let weights = weights(t / KNOT_S - first as f64);
        let [a, b, c, d, e, f] = &self.knots[..] else { return &self.now };
        let lists = |pick: fn(&Positions) -> &[f64]| [a, b, c, d, e, f].map(pick);
        combine(&mut self.now.x, lists(|p| &p.x), weights);
        combine(&mut self.now.y, lists(|p| &p.y), weights);
        combine(&mut self.now.z, lists(|p| &p.z), weights);
        &self.now
    }

    /// Makes `first` the number of the first knot. Keeps the knots that remain.
    fn move_to(&mut self, first: i64, sky: &Constellation, earth: &Earth) {
        let shift = self.first.map_or(i64::MAX, |old| first.saturating_sub(old));
        let size = KNOTS as i64;
        let wanted: std::ops::Range<i64> = match shift {
            0 => return,
            1.. if shift < size => {
                self.knots.rotate_left(shift as usize);
                size - shift..size
            }
            _ if shift < 0 && -shift < size => {
                self.knots.rotate_right(-shift as usize);
                0..-shift
            }
            _ => 0..size,
        };
        for k in wanted {
            self.knots[k as usize].fill(sky, earth, (first + k) as f64 * KNOT_S);
        }
        self.first = Some(first);
    }
}

/// Returns Lagrange's weights of the knots 0 to 5 for a point at `u` (between knots 2 and 3).
fn weights(u: f64) -> [f64; KNOTS] {
    std::array::from_fn(|k| (0..KNOTS).filter(|j| *j != k).map(|j| (u - j as f64) / (k as f64 - j as f64)).product())
}

fn combine(out: &mut Vec<f64>, knots: [&[f64]; KNOTS], w: [f64; KNOTS]) {
    let n = knots[0].len();
    let [a, b, c, d, e, f] = knots.map(|knot| &knot[..n]);
    out.clear();
    out.extend((0..n).map(|i| (w[0] * a[i] + w[1] * b[i]) + (w[2] * c[i] + w[3] * d[i]) + (w[4] * e[i] + w[5] * f[i])));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sky::constellation::{Pattern, Propagation, Shell};
    use crate::sky::epoch::Epoch;
    use crate::sky::orbit::{Kepler, Orbit};
    use crate::sky::vector::distance;

    fn sky() -> Constellation {
        let mut sky = Constellation::new(Epoch::Y2000);
        for propagation in [Propagation::J2, Propagation::Sgp4] {
            let shell = Shell { propagation, ..Shell::walker("s", Pattern::Delta, 3, 4, 300.0, 53.0) };
            sky.add_shell(&shell).unwrap();
        }
        let molniya = Kepler {
            semi_major_axis_km: 26_560.0,
            eccentricity: 0.74,
            inclination_deg: 63.4,
            raan_deg: 0.0,
            perigee_deg: 270.0,
            mean_anomaly_deg: 359.0,
            j2: true,
        };
        sky.add("molniya", Orbit::kepler(molniya).unwrap()).unwrap();
        sky
    }

    #[test]
    fn positions_between_knots_are_those_of_the_orbits() {
        let sky = sky();
        let mut motion = Motion::new(0.1);
        for t in [0.0, 0.1, 9.9, 20.0, 33.3, 119.0, 60.0, -50.0, 3000.7, 3001.0] {
            let exact = positions(&sky, &Earth::WGS84, t);
            let near = motion.at(&sky, &Earth::WGS84, t);
            for k in 0..exact.len() {
                let error = distance(near.get(k), exact.get(k));
                let most = if k == 24 { 5e-7 } else { 2e-8 };
                assert!(error < most, "satellite {k} at {t}: {error} km");
            }
        }
    }

    #[test]
    fn positions_do_not_depend_on_what_was_asked_before() {
        let sky = sky();
        let fresh = Motion::new(0.1).at(&sky, &Earth::WGS84, 47.0).clone();
        let mut motion = Motion::new(0.1);
        for t in [1000.0, 0.0, 30.0, 100.0] {
            motion.at(&sky, &Earth::WGS84, t);
        }
        assert_eq!(*motion.at(&sky, &Earth::WGS84, 47.0), fresh);
    }
}

//! Many satellites: shells by Walker's parameters, element sets, and slots over the equator.

use super::earth::{MU_KM3_S2, RADIUS_KM};
use super::elements::ElementSet;
use super::epoch::Epoch;
use super::error::SkyError;
use super::orbit::{semi_major_axis_km, Kepler, Orbit};
use std::f64::consts::PI;

/// Largest number of satellites of a sky.
pub const MOST_SATELLITES: usize = 100_000;

/// Spread of the planes of a shell around the equator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Half circle: all satellites of neighbouring planes move in the same direction except at the seam (polar orbits).
    Star,
    /// Full circle (inclined orbits).
    Delta,
}

/// Shift between satellites of neighbouring planes along their orbits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phasing {
    /// Walker's F: from plane to plane by F·360°/T for T satellites (J. Walker, "Satellite constellations", 1984).
    Walker(u32),
    /// Every other plane by this many degrees, as for Iridium.
    OddPlanes(f64),
}

/// Size of the orbits of a shell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// Height above a sphere of the equatorial radius, km. For ellipses, the height of the semi-major axis.
    AltitudeKm(f64),
    /// Revolutions per day.
    RevsPerDay(f64),
}

/// Orbit model of the satellites of a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// Fixed ellipses.
    Kepler,
    /// Ellipses that drift by the secular terms of J2.
    J2,
    /// SGP4 without drag. The shell's parameters are used as mean elements, as in Hypatia.
    Sgp4,
}

/// Planes of equal orbits, evenly spread.
#[derive(Clone, Debug, PartialEq)]
pub struct Shell {
    /// Prefix of its satellites' names: name, plane and place in the plane, from 0.
    pub name: String,
    /// Number of planes.
    pub planes: u32,
    /// Satellites per plane.
    pub per_plane: u32,
    /// Size of the orbits.
    pub size: Size,
    /// Eccentricity; 0 for circles.
    pub eccentricity: f64,
    /// Argument of the perigee, degrees.
    pub perigee_deg: f64,
    /// Inclination, degrees.
    pub inclination_deg: f64,
    /// Spread of the planes.
    pub pattern: Pattern,
    /// Degrees between neighbouring planes that are not evenly spread: Iridium's 31.6, which leaves 22 at the seam.
    pub raan_spacing_deg: Option<f64>,
    /// Right ascension of the first plane's node at the epoch, degrees.
    pub first_raan_deg: f64,
    /// Mean anomaly of the first satellite at the epoch, degrees.
    pub first_anomaly_deg: f64,
    /// Shift of neighbouring planes.
    pub phasing: Phasing,
    /// Orbit model.
    pub propagation: Propagation,
}

impl Shell {
    /// Returns circular orbits of `planes` × `per_plane` satellites that drift by J2, with the first node and the first
    /// satellite at 0°.
    pub fn walker(
        name: &str,
        pattern: Pattern,
        planes: u32,
        per_plane: u32,
        altitude_km: f64,
        inclination_deg: f64,
    ) -> Self {
        Self {
            name: name.to_owned(),
            planes,
            per_plane,
            size: Size::AltitudeKm(altitude_km),
            eccentricity: 0.0,
            perigee_deg: 0.0,
            inclination_deg,
            pattern,
            raan_spacing_deg: None,
            first_raan_deg: 0.0,
            first_anomaly_deg: 0.0,
            phasing: Phasing::Walker(0),
            propagation: Propagation::J2,
        }
    }

    /// Returns the degrees between the nodes of neighbouring planes.
    pub fn raan_step_deg(&self) -> f64 {
        let spread = if self.pattern == Pattern::Star { 180.0 } else { 360.0 };
        self.raan_spacing_deg.unwrap_or(spread / f64::from(self.planes))
    }

    /// Returns the lead of satellite 0 of a plane over satellite 0 of the first plane, degrees.
    pub fn phase_deg(&self, plane: u32) -> f64 {
        match self.phasing {
            Phasing::Walker(f) => {
                let total = u64::from(self.planes) * u64::from(self.per_plane);
                360.0 * (u64::from(plane) * u64::from(f) % total) as f64 / total as f64
            }
            Phasing::OddPlanes(deg) => f64::from(plane % 2) * deg,
        }
    }

    fn orbit(&self, plane: u32, slot: u32, epoch: Epoch) -> Result<Orbit, SkyError> {
        let semi_major = match self.size {
            Size::AltitudeKm(h) => RADIUS_KM + h,
            Size::RevsPerDay(n) => semi_major_axis_km(SkyError::within("revs_per_day", n, 0.1, 17.0)?),
        };
        let raan_deg = self.first_raan_deg + f64::from(plane) * self.raan_step_deg();
        let anomaly =
            self.first_anomaly_deg + 360.0 * f64::from(slot) / f64::from(self.per_plane) + self.phase_deg(plane);
        let kepler = Kepler {
            semi_major_axis_km: semi_major,
            eccentricity: self.eccentricity,
            inclination_deg: self.inclination_deg,
            raan_deg,
            perigee_deg: self.perigee_deg,
            mean_anomaly_deg: anomaly,
            j2: self.propagation == Propagation::J2,
        };
        let orbit = Orbit::kepler(kepler)?;
        if self.propagation != Propagation::Sgp4 {
            return Ok(orbit);
        }
        let revs_per_day = match self.size {
            Size::RevsPerDay(n) => n,
            Size::AltitudeKm(_) => (MU_KM3_S2 / semi_major).sqrt() / semi_major * 86_400.0 / (2.0 * PI),
        };
        Orbit::elements(&ElementSet {
            name: self.name.clone(),
            catalogue_number: 0,
            epoch,
            inclination_deg: self.inclination_deg,
            raan_deg: raan_deg % 360.0,
            eccentricity: self.eccentricity,
            perigee_deg: self.perigee_deg % 360.0,
            mean_anomaly_deg: anomaly % 360.0,
            revs_per_day,
            bstar: 0.0,
        })
    }

    fn check(&self) -> Result<(), SkyError> {
        if self.planes == 0 || self.per_plane == 0 {
            return Err(SkyError::new("shell", "expected at least one plane and one satellite in it"));
        }
        if let Phasing::OddPlanes(deg) = self.phasing {
            SkyError::within("phase of odd planes", deg, -360.0, 360.0)?;
        }
        if let Some(deg) = self.raan_spacing_deg {
            SkyError::within("raan_spacing_deg", deg, 0.0, 360.0)?;
        }
        Ok(())
    }
}

/// A satellite of a sky.
#[derive(Clone, Debug)]
pub struct Satellite {
    /// Name of the satellite.
    pub name: String,
    /// Orbit.
    pub orbit: Orbit,
}

/// Planes of a shell, by number of satellite: plane p has `per_plane` satellites from `first + p·per_plane` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Number of the first satellite.
    pub first: u32,
    /// Number of planes.
    pub planes: u32,
    /// Satellites per plane.
    pub per_plane: u32,
    /// Spread of the planes.
    pub pattern: Pattern,
    /// Lead of the last plane over its continuation in the first (delta), in places: Walker's F.
    pub wrap: u32,
}

/// Satellites of a sky, numbered in the order in which they were added.
#[derive(Clone, Debug)]
pub struct Constellation {
    /// Instant of t = 0.
    pub epoch: Epoch,
    /// The satellites.
    pub satellites: Vec<Satellite>,
    /// Shells among the satellites.
    pub grids: Vec<Grid>,
}

impl Constellation {
    /// Returns a constellation without satellites.
    pub fn new(epoch: Epoch) -> Self {
        Self { epoch, satellites: Vec::new(), grids: Vec::new() }
    }

    /// Moves the epoch by `seconds`, with all satellites: the new t = 0 is this much later.
    pub fn advance(&mut self, seconds: f64) {
        self.epoch = self.epoch.after(seconds);
        self.satellites.iter_mut().for_each(|satellite| satellite.orbit.advance(seconds));
    }

    fn room(&self, more: usize) -> Result<(), SkyError> {
        if self.satellites.len().saturating_add(more) > MOST_SATELLITES {
            return Err(SkyError::new("satellites", format!("expected at most {MOST_SATELLITES}")));
        }
        Ok(())
    }

    /// Adds a shell.
    ///
    /// # Errors
    /// Parameters out of range, by field; more satellites than a sky may have.
    pub fn add_shell(&mut self, shell: &Shell) -> Result<(), SkyError> {
        shell.check()?;
        self.room((shell.planes as usize).saturating_mul(shell.per_plane as usize))?;
        let first = self.satellites.len() as u32;
        for plane in 0..shell.planes {
            for slot in 0..shell.per_plane {
                let orbit = shell.orbit(plane, slot, self.epoch)?;
                self.satellites.push(Satellite { name: format!("{}-{plane}-{slot}", shell.name), orbit });
            }
        }
        let (planes, per_plane, pattern) = (shell.planes, shell.per_plane, shell.pattern);
        let wrap = match shell.phasing {
            Phasing::Walker(f) => f % per_plane,
            Phasing::OddPlanes(_) => 0,
        };
        self.grids.push(Grid { first, planes, per_plane, pattern, wrap });
        Ok(())
    }

    /// Adds satellites by their element sets.
    ///
    /// # Errors
    /// Elements that SGP4 rejects, by satellite; more satellites than a sky may have.
    pub fn add_elements(&mut self, sets: &[ElementSet]) -> Result<(), SkyError> {
        self.room(sets.len())?;
        for set in sets {
            let orbit = Orbit::elements(set)?;
            let name = if set.name.is_empty() { set.catalogue_number.to_string() } else { set.name.clone() };
            self.satellites.push(Satellite { name, orbit });
        }
        Ok(())
    }

    /// Adds one satellite.
    pub fn add(&mut self, name: &str, orbit: Orbit) -> Result<(), SkyError> {
        self.room(1)?;
        self.satellites.push(Satellite { name: name.to_owned(), orbit });
        Ok(())
    }
}

/// Returns the median epoch of element sets, a good start for their sky.
pub fn median_epoch(sets: &[ElementSet]) -> Option<Epoch> {
    median(sets.iter().map(|set| set.epoch).collect())
}

/// Returns the median of instants, or none without any.
pub(crate) fn median(mut epochs: Vec<Epoch>) -> Option<Epoch> {
    epochs.sort_by(Epoch::order);
    epochs.get(epochs.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sky::earth::{Earth, RAD};
    use crate::sky::vector::{distance, norm, Vector};
    use libm::{cos, sin};

    fn positions(shell: &Shell, t: f64) -> Vec<Vector> {
        let mut c = Constellation::new(Epoch::Y2000);
        c.add_shell(shell).unwrap();
        c.satellites.iter().map(|s| s.orbit.inertial(&Earth::AT_REST, c.epoch, t)).collect()
    }

    fn iridium() -> Shell {
        Shell {
            raan_spacing_deg: Some(31.6),
            phasing: Phasing::OddPlanes(360.0 / 22.0),
            propagation: Propagation::Kepler,
            ..Shell::walker("iridium", Pattern::Star, 6, 11, 780.0, 86.4)
        }
    }

    /// `docs/specs/constellation.md`, tests 1 and 3.
    #[test]
    fn iridium_is_phased_as_specified() {
        let shell = iridium();
        assert!((shell.phase_deg(1) - 16.3636).abs() < 1e-4);
        assert!((180.0 - 5.0 * shell.raan_step_deg() - 22.0).abs() < 1e-9);
        let p = positions(&shell, 1234.0);
        assert_eq!(p.len(), 66);
        assert!((distance(p[0], p[1]) - 4033.4).abs() < 0.05, "{}", distance(p[0], p[1]));
    }

    /// Walker's formula: satellite (p, s) of i: T/P/F at Ω = p·spacing, u = s·360/S + p·F·360/T.
    #[test]
    fn a_delta_is_walkers() {
        let shell = Shell {
            phasing: Phasing::Walker(39),
            propagation: Propagation::Kepler,
            ..Shell::walker("d", Pattern::Delta, 72, 22, 550.0, 53.0)
        };
        assert_eq!(shell.raan_step_deg(), 5.0);
        let p = positions(&shell, 0.0);
        let r = RADIUS_KM + 550.0;
        for (plane, slot) in [(0, 0), (1, 0), (5, 21), (71, 3)] {
            let node = 5.0 * f64::from(plane) * RAD;
            let u = (f64::from(slot) * 360.0 / 22.0 + f64::from(plane) * 39.0 * 360.0 / 1584.0) * RAD;
            let i = 53.0 * RAD;
            let expected = [
                r * (cos(node) * cos(u) - sin(node) * sin(u) * cos(i)),
                r * (sin(node) * cos(u) + cos(node) * sin(u) * cos(i)),
                r * sin(u) * sin(i),
            ];
            assert!(distance(p[(plane * 22 + slot) as usize], expected) < 1e-8, "{plane} {slot}");
        }
        // The first plane continues the last, shifted by F places.
        let mut c = Constellation::new(Epoch::Y2000);
        c.add_shell(&shell).unwrap();
        assert_eq!(c.grids[0].wrap, 39 % 22);
        let next = 72.0 * 39.0 * 360.0 / 1584.0;
        let turns = (next - f64::from(c.grids[0].wrap) * 360.0 / 22.0) / 360.0;
        assert!((turns - turns.round()).abs() < 1e-12);
    }

    /// SGP4 without drag stays near Kepler with J2: periodic terms of about 10 km, and no larger drift in a day.
    #[test]
    fn the_three_propagations_agree() {
        let at = |propagation, t| positions(&Shell { propagation, ..iridium() }, t);
        for t in [0.0, 6000.0] {
            for (a, b) in at(Propagation::J2, t).iter().zip(at(Propagation::Sgp4, t)) {
                assert!(distance(*a, b) < 60.0, "{t}: {}", distance(*a, b));
            }
            for (a, b) in at(Propagation::J2, t).iter().zip(at(Propagation::Kepler, t)) {
                assert!(distance(*a, b) < 1e-6 + t * 0.02, "{t}: {}", distance(*a, b));
                assert!((norm(*a) - norm(b)).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn impossible_shells_are_refused() {
        let mut c = Constellation::new(Epoch::Y2000);
        for shell in [
            Shell { planes: 0, ..iridium() },
            Shell { per_plane: u32::MAX, ..iridium() },
            Shell { inclination_deg: 200.0, ..iridium() },
            Shell { size: Size::AltitudeKm(-10.0), ..iridium() },
            Shell { size: Size::RevsPerDay(f64::NAN), ..iridium() },
            Shell { phasing: Phasing::OddPlanes(f64::INFINITY), ..iridium() },
        ] {
            assert!(c.add_shell(&shell).is_err(), "{shell:?}");
        }
    }
}

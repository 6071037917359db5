//! Earth: its figure, its rotation, and the frames of positions.
//!
//! *Inertial* is the frame of element sets (true equator, mean equinox: TEME); synthetic constellations use it, too.
//! *Fixed* is the frame of places: turned from the inertial one about the pole by Greenwich mean sidereal time, without
//! polar motion, as in D. Vallado's SGP4.

use super::epoch::Epoch;
use super::error::SkyError;
use super::vector::{turn, Vector};
use libm::{asin, atan2, cos, sin};
use std::f64::consts::PI;

/// Speed of light in vacuum, km/s.
pub const LIGHT_KM_S: f64 = 299_792.458;
/// Equatorial radius of the Earth, km (WGS-84).
pub const RADIUS_KM: f64 = 6378.137;
/// Gravitational parameter of the Earth, km³/s² (WGS-84).
pub const MU_KM3_S2: f64 = 398_600.441_8;
/// Second zonal harmonic of the Earth's gravity (WGS-84).
pub const J2: f64 = 0.001_082_629_989_05;
/// Rate of the Earth's rotation, rad/s (WGS-84).
pub const TURN_RAD_S: f64 = 7.292_115e-5;
/// Flattening of the Earth (WGS-84).
const FLATTENING: f64 = 1.0 / 298.257_223_563;

pub(crate) const RAD: f64 = PI / 180.0;

/// Figure of the Earth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// Ellipsoid of WGS-84: latitudes are geodetic, heights are above the ellipsoid.
    Wgs84,
    /// Sphere of this radius in km, as in textbooks and ns-2.
    Sphere(f64),
}

/// Rotation of the Earth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rotation {
    /// Greenwich mean sidereal time.
    Sidereal,
    /// Constant rate from an angle at the epoch. A rate of 0 leaves the Earth at rest, as formulas for passes assume.
    /// With angle 0, the longitude of a node at the epoch equals its right ascension.
    Uniform {
        /// Longitude of the vernal equinox at the epoch, counted westwards: Greenwich's angle from it, degrees.
        at_epoch_deg: f64,
        /// Degrees per second. The Earth has 0.004 178.
        deg_per_s: f64,
    },
}

/// Earth, as places and frames use it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Earth {
    /// Its figure.
    pub figure: Figure,
    /// Rotation.
    pub rotation: Rotation,
}

/// A position by latitude, longitude and height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geodetic {
    /// Degrees north of the equator.
    pub latitude_deg: f64,
    /// Degrees east of Greenwich, -180 to 180.
    pub longitude_deg: f64,
    /// km above the figure of the Earth.
    pub height_km: f64,
}

impl Geodetic {
    /// Returns a position with latitude within ±90, longitude within ±360, and height within -12 to 1 000 000.
    pub fn new(latitude_deg: f64, longitude_deg: f64, height_km: f64) -> Result<Self, SkyError> {
        SkyError::within("latitude_deg", latitude_deg, -90.0, 90.0)?;
        SkyError::within("longitude_deg", longitude_deg, -360.0, 360.0)?;
        SkyError::within("height_km", height_km, -12.0, 1e6)?;
        Ok(Self { latitude_deg, longitude_deg: wrap_deg(longitude_deg), height_km })
    }

    /// Returns the direction to the zenith: the normal of the figure, in the fixed frame.
    pub fn up(&self) -> Vector {
        let (lat, lon) = (self.latitude_deg * RAD, self.longitude_deg * RAD);
        [cos(lat) * cos(lon), cos(lat) * sin(lon), sin(lat)]
    }
}

/// Returns an angle converted to -180..180.
pub(crate) fn wrap_deg(deg: f64) -> f64 {
    if (-180.0..=180.0).contains(&deg) {
        return deg;
    }
    let turns = (deg + 180.0) / 360.0;
    (turns - turns.floor()) * 360.0 - 180.0
}

impl Earth {
    /// Ellipsoid of WGS-84, turning by sidereal time.
    pub const WGS84: Self = Self { figure: Figure::Wgs84, rotation: Rotation::Sidereal };
    /// Sphere of the equatorial radius at rest, as the closed forms of passes assume.
    pub const AT_REST: Self =
        Self { figure: Figure::Sphere(RADIUS_KM), rotation: Rotation::Uniform { at_epoch_deg: 0.0, deg_per_s: 0.0 } };

    /// Returns the angle of Greenwich from the vernal equinox, radians, `t` seconds after `epoch`.
    pub fn angle(&self, epoch: Epoch, t: f64) -> f64 {
        match self.rotation {
            Rotation::Sidereal => epoch.after(t).gmst(),
            Rotation::Uniform { at_epoch_deg, deg_per_s } => (at_epoch_deg + deg_per_s * t) * RAD,
        }
    }

    /// Converts a position of the inertial frame to the fixed frame, for the `angle` of Greenwich.
    pub fn to_fixed(inertial: Vector, angle: f64) -> Vector {
        turn(inertial, -angle)
    }

    /// Converts a position of the fixed frame to the inertial frame, for the `angle` of Greenwich.
    pub fn to_inertial(fixed: Vector, angle: f64) -> Vector {
        turn(fixed, angle)
    }

    /// Returns the equatorial radius, km.
    pub fn radius_km(&self) -> f64 {
        match self.figure {
            Figure::Wgs84 => RADIUS_KM,
            Figure::Sphere(radius) => radius,
        }
    }

    /// Returns the square of the eccentricity of the meridians.
    fn e2(&self) -> f64 {
        match self.figure {
            Figure::Wgs84 => FLATTENING * (2.0 - FLATTENING),
            Figure::Sphere(_) => 0.0,
        }
    }

    /// Returns a position in the fixed frame, km.
    pub fn position(&self, place: Geodetic) -> Vector {
        let up = place.up();
        let e2 = self.e2();
        let n = self.radius_km() / (1.0 - e2 * up[2] * up[2]).sqrt();
        [(n + place.height_km) * up[0], (n + place.height_km) * up[1], (n * (1.0 - e2) + place.height_km) * up[2]]
    }

    /// Returns latitude, longitude and height of a point of the fixed frame.
    pub fn geodetic(&self, point: Vector) -> Geodetic {
        let e2 = self.e2();
        let p = (point[0] * point[0] + point[1] * point[1]).sqrt();
        // Fixed point of tan φ = (z + N e² sin φ)/p; each turn gains a factor of 1/e² = 150.
        let mut lat = atan2(point[2], p * (1.0 - e2));
        let mut n = self.radius_km();
        for _ in 0..8 {
            let s = sin(lat);
            n = self.radius_km() / (1.0 - e2 * s * s).sqrt();
            lat = atan2(point[2] + n * e2 * s, p);
        }
        let (s, c) = (sin(lat), cos(lat));
        // Measured along the normal, which stays exact at the poles.
        let height = p * c + point[2] * s - n * (1.0 - e2 * s * s);
        Geodetic { latitude_deg: lat / RAD, longitude_deg: atan2(point[1], point[0]) / RAD, height_km: height }
    }
}

/// Returns the slant range to a satellite of radius `orbit_km` (from the centre of the Earth) at an elevation, over a
/// sphere; km.
pub fn slant_range_km(radius_km: f64, orbit_km: f64, elevation_deg: f64) -> f64 {
    let e = elevation_deg * RAD;
    let c = radius_km * cos(e);
    (orbit_km * orbit_km - c * c).max(0.0).sqrt() - radius_km * sin(e)
}

/// Returns the distance of two points of the Earth along a great circle, as an angle in radians.
pub fn central_angle(a: Geodetic, b: Geodetic) -> f64 {
    let (a, b) = (a.up(), b.up());
    let half = super::vector::distance(a, b) / 2.0;
    2.0 * asin(half.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sky::vector::{distance, dot, norm, sub};

    /// D. Vallado, "Fundamentals of Astrodynamics", example 3-3: the point (6524.834, 6862.875, 6448.296) km has
    /// geodetic latitude 34.352 496°, longitude 46.4464°, height 5085.22 km.
    #[test]
    fn geodetic_coordinates_are_those_of_the_textbook() {
        let g = Earth::WGS84.geodetic([6524.834, 6862.875, 6448.296]);
        assert!((g.latitude_deg - 34.352_496).abs() < 1e-6, "{g:?}");
        assert!((g.longitude_deg - 46.4464).abs() < 1e-4, "{g:?}");
        assert!((g.height_km - 5085.22).abs() < 5e-3, "{g:?}");
    }

    #[test]
    fn positions_and_coordinates_are_inverse() {
        for earth in [Earth::WGS84, Earth::AT_REST] {
            for lat in [-90.0, -89.9, -45.0, 0.0, 1e-9, 30.0, 89.999, 90.0] {
                for lon in [-180.0, -122.3, 0.0, 71.1, 179.9] {
                    for h in [-0.4, 0.0, 10.0, 780.0, 35_786.0] {
                        let point = earth.position(Geodetic::new(lat, lon, h).unwrap());
                        let back = earth.geodetic(point);
                        assert!(distance(earth.position(back), point) < 1e-8, "{lat} {lon} {h}: {back:?}");
                        assert!((back.latitude_deg - lat).abs() < 1e-9 && (back.height_km - h).abs() < 1e-8);
                    }
                }
            }
        }
    }

    /// The zenith is normal to the surface: two near points of the same height differ across it.
    #[test]
    fn the_zenith_is_normal_to_the_ellipsoid() {
        let at = |lat: f64, lon: f64| Earth::WGS84.position(Geodetic::new(lat, lon, 0.0).unwrap());
        let up = Geodetic::new(40.0, 20.0, 0.0).unwrap().up();
        for along in [sub(at(40.001, 20.0), at(39.999, 20.0)), sub(at(40.0, 20.001), at(40.0, 19.999))] {
            assert!(dot(up, along).abs() / norm(along) < 1e-9);
        }
        // WGS-84: polar radius 6356.752 314 245 km.
        assert!((norm(at(90.0, 0.0)) - 6_356.752_314_245).abs() < 1e-9);
    }

    #[test]
    fn frames_turn_east_and_back() {
        let fixed = Earth::to_fixed([7000.0, 0.0, 100.0], 0.5 * PI);
        assert!(distance(fixed, [0.0, -7000.0, 100.0]) < 1e-9);
        assert!(distance(Earth::to_inertial(fixed, 0.5 * PI), [7000.0, 0.0, 100.0]) < 1e-9);
        assert_eq!(Earth::AT_REST.angle(Epoch::Y2000, 5000.0), 0.0);
    }

    /// `docs/specs/geometry-delay.md`, values.
    #[test]
    fn slant_ranges_and_delays() {
        for (h, e, d, ms) in [
            (1350.0, 90.0, 1350.0, 4.503),
            (1350.0, 20.0, 2697.30, 8.997),
            (1350.0, 10.0, 3394.69, 11.32),
            (780.0, 90.0, 780.0, 2.602),
            (780.0, 8.2, 2464.59, 8.221),
            (550.0, 90.0, 550.0, 1.835),
            (550.0, 25.0, 1123.42, 3.747),
            (35_786.0, 90.0, 35_786.0, 119.37),
            (35_786.0, 30.0, 38_611.7, 128.79),
            (35_786.0, 0.0, 41_678.9, 139.03),
        ] {
            let range = slant_range_km(RADIUS_KM, RADIUS_KM + h, e);
            assert!((range / d - 1.0).abs() < 1e-4, "{h} {e}: {range}");
            assert!((range / LIGHT_KM_S * 1e3 / ms - 1.0).abs() < 5e-4);
        }
    }

    #[test]
    fn coordinates_out_of_range_are_refused() {
        for (lat, lon, h) in [(90.1, 0.0, 0.0), (f64::NAN, 0.0, 0.0), (0.0, 361.0, 0.0), (0.0, 0.0, -20.0)] {
            assert!(Geodetic::new(lat, lon, h).is_err());
        }
        assert!((Geodetic::new(0.0, 190.0, 0.0).unwrap().longitude_deg + 170.0).abs() < 1e-12);
    }
}

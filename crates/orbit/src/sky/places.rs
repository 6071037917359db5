//! Places on Earth and in the air: cities by name, coordinates, and moving places.

use super::earth::{wrap_deg, Earth, Geodetic, RAD};
use super::error::SkyError;
use super::vector::{dot, Vector};
use libm::{acos, atan2, sin};

/// Names and coordinates; see the file for its origin.
const CITIES: &str = include_str!("cities.csv");
/// Letters with marks, and their plain English form. Other letters stay.
const PLAIN: [(&str, char); 9] = [
    ("àáâãäåā", 'a'),
    ("çč", 'c'),
    ("èéêëě", 'e'),
    ("ìíîïī", 'i'),
    ("ñń", 'n'),
    ("òóôõöøō", 'o'),
    ("șšş", 's'),
    ("ùúûüū", 'u'),
    ("ýÿ", 'y'),
];

/// Returns the known cities, with their coordinates in degrees north and east, at height 0. Most are from Natural
/// Earth's list (public domain). The others were written for this list and compared with GeoNames: none differs by more
/// than 0.12 degrees. The last are the towns of large earth stations.
pub fn cities() -> impl Iterator<Item = (&'static str, Geodetic)> {
    CITIES.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut parts = line.rsplitn(3, ',');
        let longitude_deg = parts.next()?.parse().ok()?;
        let latitude_deg = parts.next()?.parse().ok()?;
        Some((parts.next()?, Geodetic { latitude_deg, longitude_deg, height_km: 0.0 }))
    })
}

/// Returns the coordinates of a city. Case, marks on letters and other characters do not count.
///
/// # Errors
///
/// An unknown name, with similar names.
pub fn city(name: &str) -> Result<Geodetic, SkyError> {
    let wanted = plain(name);
    if let Some((_, place)) = cities().find(|(known, _)| plain(known) == wanted) {
        return Ok(place);
    }
    let mut near: Vec<(usize, &str)> = cities().map(|(known, _)| (edits(&wanted, &plain(known)), known)).collect();
    // A name that shares less than two thirds of its letters is another place, not a mistake.
    near.retain(|(edits, _)| 3 * edits <= wanted.chars().count());
    near.sort_unstable();
    let guess = near.first().map_or_else(String::new, |(_, known)| format!("; did you mean {known}?"));
    Err(SkyError::new(
        format!("place {name:?}"),
        format!("not a known place{guess}\n  expected a city (bentpipe list places), or degrees north and east, such as 51.5N 0.12W"),
    ))
}

fn plain(name: &str) -> String {
    let simple = |c: char| PLAIN.iter().find(|(marked, _)| marked.contains(c)).map_or(c, |(_, plain)| *plain);
    name.chars().flat_map(char::to_lowercase).map(simple).filter(|c| c.is_alphanumeric()).collect()
}

/// Returns the number of letters to insert, remove or exchange to turn `a` into `b`.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(60).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, c) in a.chars().take(60).enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, d) in b.iter().enumerate() {
            let here = (corner + usize::from(c != *d)).min(row[j] + 1).min(row[j + 1] + 1);
            corner = std::mem::replace(&mut row[j + 1], here);
        }
    }
    row[b.len()]
}

/// Point that a moving place passes at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WayPoint {
    /// Position.
    pub at: Geodetic,
    /// Time, seconds after the sky's epoch.
    pub time_s: f64,
}

/// Way of a ship, aircraft or vehicle: along great circles from point to point at constant speed. It waits at the first
/// point before its times and at the last point after them.
#[derive(Clone, Debug, PartialEq)]
pub struct Track(Vec<WayPoint>);

impl Track {
    /// Returns a way by the times at its points, which increase.
    pub fn timed(points: Vec<WayPoint>) -> Result<Self, SkyError> {
        if points.is_empty() {
            return Err(SkyError::new("way-points", "expected at least one"));
        }
        for (k, point) in points.iter().enumerate() {
            Geodetic::new(point.at.latitude_deg, point.at.longitude_deg, point.at.height_km)
                .map_err(|e| SkyError::new(format!("way-point {}", k + 1), e.to_string()))?;
            let before = if k == 0 { f64::NEG_INFINITY } else { points[k - 1].time_s };
            if !(point.time_s > before && point.time_s.abs() < 1e9) {
                return Err(SkyError::new(
                    format!("way-point {}", k + 1),
                    "its time is not after the previous one; expected times that increase",
                ));
            }
            if k > 0 && dot(points[k - 1].at.up(), point.at.up()) < -0.999_999_9 {
                let what = "it is opposite to the previous point, so the direction is open; add a point between";
                return Err(SkyError::new(format!("way-point {}", k + 1), what));
            }
        }
        Ok(Self(points))
    }

    /// Returns the position of the mover `t` seconds after the epoch.
    pub fn at(&self, t: f64) -> Geodetic {
        let next = self.0.partition_point(|point| point.time_s <= t);
        if next == 0 || next == self.0.len() {
            return self.0[next.saturating_sub(1)].at;
        }
        let (a, b) = (self.0[next - 1], self.0[next]);
        let f = (t - a.time_s) / (b.time_s - a.time_s);
        let (ua, ub) = (a.at.up(), b.at.up());
        let angle = acos(dot(ua, ub).clamp(-1.0, 1.0));
        let (wa, wb) = if angle < 1e-9 {
            (1.0 - f, f)
        } else {
            (sin((1.0 - f) * angle) / sin(angle), sin(f * angle) / sin(angle))
        };
        let u: Vector = [0, 1, 2].map(|k| wa * ua[k] + wb * ub[k]);
        Geodetic {
            latitude_deg: atan2(u[2], (u[0] * u[0] + u[1] * u[1]).sqrt()) / RAD,
            longitude_deg: wrap_deg(atan2(u[1], u[0]) / RAD),
            height_km: a.at.height_km + f * (b.at.height_km - a.at.height_km),
        }
    }
}

/// Position of a place over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Site {
    /// Fixed coordinates.
    Fixed(Geodetic),
    /// Moving.
    Moving(Track),
}

impl Site {
    /// Returns the coordinates `t` seconds after the epoch.
    pub fn at(&self, t: f64) -> Geodetic {
        match self {
            Self::Fixed(place) => *place,
            Self::Moving(track) => track.at(t),
        }
    }

    /// Returns the position in the fixed frame and the direction of the zenith.
    pub(crate) fn stand(&self, earth: &Earth, t: f64) -> (Vector, Vector) {
        let at = self.at(t);
        (earth.position(at), at.up())
    }
}

/// Condition of a link between a place and a satellite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Access {
    /// Smallest elevation of the satellite, degrees.
    MinElevation(f64),
    /// Largest distance of the satellite, km.
    MaxRange(f64),
}

impl Access {
    pub(crate) fn check(&self) -> Result<(), SkyError> {
        match *self {
            Self::MinElevation(deg) => SkyError::within("minimum elevation (degrees)", deg, -10.0, 90.0),
            Self::MaxRange(km) => SkyError::within("maximum range (km)", km, 1.0, 1e6),
        }
        .map(drop)
    }
}

/// Terminal, gateway, ship or aircraft.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Name of the place.
    pub name: String,
    /// Position.
    pub site: Site,
    /// Whether other packets may pass through it: a gateway.
    pub relay: bool,
    /// Visibility rule of the place, if it differs from the sky's.
    pub access: Option<Access>,
}

impl Place {
    /// Returns a terminal at coordinates.
    pub fn fixed(name: &str, at: Geodetic) -> Self {
        Self { name: name.to_owned(), site: Site::Fixed(at), relay: false, access: None }
    }

    /// Returns a terminal in a city.
    pub fn city(name: &str) -> Result<Self, SkyError> {
        Ok(Self::fixed(name, city(name)?))
    }

    /// Returns the place as a gateway.
    #[must_use]
    pub fn gateway(self) -> Self {
        Self { relay: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sky::earth::{central_angle, RADIUS_KM};
    use crate::sky::vector::distance;

    #[test]
    fn every_city_has_a_name_of_its_own_and_coordinates() {
        let lines = CITIES.lines().filter(|line| !line.starts_with('#')).count();
        let mut names: Vec<String> = cities().map(|(name, _)| plain(name)).collect();
        assert!(names.len() == lines && lines > 300);
        names.sort();
        names.dedup();
        assert_eq!(names.len(), lines);
        assert!(cities()
            .all(|(name, at)| !name.is_empty() && Geodetic::new(at.latitude_deg, at.longitude_deg, 0.0).is_ok()));
    }

    /// Compares with the coordinates of the United Nations and of the ns-2 example.
    #[test]
    fn cities_are_where_they_are() {
        for (name, lat, lon) in [
            ("London", 51.51, -0.13),
            ("new york", 40.71, -74.01),
            ("São Paulo", -23.55, -46.63),
            ("MANILA", 14.60, 120.98),
            ("Sydney", -33.87, 151.21),
            ("Berkeley", 37.9, -122.3),
            ("Boston", 42.3, -71.1),
            ("Dalian", 38.91, 121.60),
        ] {
            let at = city(name).unwrap();
            let there = Geodetic::new(lat, lon, 0.0).unwrap();
            assert!(central_angle(at, there) * RADIUS_KM < 25.0, "{name}: {at:?}");
        }
        let error = city("Londno").unwrap_err().to_string();
        assert!(error.contains("did you mean London?") && error.contains("51.5N 0.12W"), "{error}");
        assert!(!city("Xanadu-on-Sea").unwrap_err().to_string().contains("did you mean"));
    }

    /// Frankfurt to New York is 6200 km over the North Atlantic. Halfway, the aircraft is north of both.
    #[test]
    fn movers_follow_great_circles() {
        let (a, b) = (city("Frankfurt").unwrap(), city("New York").unwrap());
        let high = |g: Geodetic| Geodetic { height_km: 11.0, ..g };
        let km = central_angle(a, b) * RADIUS_KM;
        assert!((km - 6200.0).abs() < 30.0);
        let end = 600.0 + km / 900.0 * 3600.0;
        let timed = |at, time_s| WayPoint { at: high(at), time_s };
        let track = Track::timed(vec![timed(a, 600.0), timed(b, end)]).unwrap();
        assert_eq!((track.at(0.0), track.at(end + 1.0)), (high(a), high(b)));
        let middle = track.at((600.0 + end) / 2.0);
        assert!(middle.latitude_deg > 52.0 && (middle.height_km - 11.0).abs() < 1e-12, "{middle:?}");
        assert!((central_angle(a, middle) - central_angle(middle, b)).abs() < 1e-9);
        // 900 km/h over a sphere of the equatorial radius.
        let (p, q) = (track.at(5000.0).up(), track.at(5001.0).up());
        assert!((distance(p, q) * RADIUS_KM - 0.25).abs() < 1e-6);
    }

    #[test]
    fn ways_cross_the_date_line_the_short_way() {
        let points = [Geodetic::new(0.0, 179.0, 0.0).unwrap(), Geodetic::new(0.0, -179.0, 0.0).unwrap()];
        let timed = |k: usize| WayPoint { at: points[k], time_s: 100.0 * k as f64 };
        let track = Track::timed(vec![timed(0), timed(1)]).unwrap();
        assert!((track.at(50.0).longitude_deg.abs() - 180.0).abs() < 1e-9);
        assert!(Track::timed(vec![timed(1), timed(0)]).is_err() && Track::timed(vec![]).is_err());
        let antipode = WayPoint { at: Geodetic::new(0.0, -1.0, 0.0).unwrap(), time_s: 100.0 };
        assert!(Track::timed(vec![timed(0), antipode]).is_err());
        assert!(Track::timed(vec![WayPoint { time_s: f64::NAN, ..timed(0) }]).is_err());
    }
}

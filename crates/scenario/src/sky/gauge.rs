//! Rain over places as series: measured, or of a rain cell that passes.

use super::ground::{track, Ground};
use super::say;
use crate::files::Files;
use crate::keys::{Gauge as Keys, Rain, Sky};
use crate::report::Findings;
use crate::trace::{rain, Wet};
use crate::tree::{quoted, Tree};
use bentpipe_orbit::budget::rain::{scaled_db, RainClimate};
use bentpipe_orbit::budget::Ray;
use bentpipe_orbit::sky::earth::{central_angle, RADIUS_KM};
use bentpipe_orbit::sky::places::{Place, Track};
use bentpipe_orbit::sky::SkyError;
use bentpipe_units::{Duration, Time};
use std::collections::BTreeMap;

/// Least rain of a cell in mm/h. Less has no effect.
const DRIZZLE: f64 = 0.01;

/// Rain over one place.
#[derive(Clone, Debug)]
pub(super) struct Gauge {
    /// Values from the start of the series on.
    points: Vec<(Time, Wet)>,
    begin: Duration,
    every: Option<Duration>,
    frequency_ghz: Option<f64>,
}

/// Returns the gauges of the keys, by place, for a run of this duration. Returns `None` if one is invalid.
pub(super) fn read(
    (keys, duration): (&Sky, Duration),
    raw: &Tree,
    ground: &Ground,
    files: &dyn Files,
    findings: &mut Findings,
) -> Option<BTreeMap<usize, Gauge>> {
    let place = match &keys.rain {
        Rain::Files { place } => place,
        Rain::Cell { rate_mm_h, radius_km, way } => match track(way) {
            Ok(way) => return Some(passing((*rate_mm_h, *radius_km), &way, ground, duration)),
            Err(error) => {
                say(raw, findings, &["sky", "rain", "way"], &format!("cannot be: {error}"), "");
                return None;
            }
        },
        Rain::Off | Rain::Exceeded { .. } | Rain::Series { .. } => return Some(BTreeMap::new()),
    };
    let mut gauges = BTreeMap::new();
    let before = findings.found.len();
    for (name, keys) in place {
        let path = ["sky", "rain", "place", name];
        let Some(number) = ground.places.iter().position(|place| place.name == *name) else {
            let names = ground.places.iter().map(|place| place.name.as_str());
            let guess = findings.guess(name, names);
            let shown = path.join(".");
            let place = &raw.at(path[1..].iter().copied()).key;
            let message = format!("{shown} is not a place of a flow or gateway");
            findings.add(place, &shown, message, "expected a place where flows begin, end or pass", guess);
            continue;
        };
        match points(keys, files) {
            Ok(points) => {
                let last = points.last().map_or(Duration::ZERO, |last| last.0 - Time::ZERO);
                if keys.every.is_some_and(|every| every <= last) {
                    let path = ["sky", "rain", "place", name, "every"];
                    let expected = format!("expected more than {last}, the last row");
                    say(raw, findings, &path, "is too short for the series", &expected);
                }
                let (begin, every) = (keys.begin, keys.every);
                gauges.insert(number, Gauge { points, begin, every, frequency_ghz: keys.frequency_ghz });
            }
            Err((message, expected)) => {
                let path = ["sky", "rain", "place", name, "file"];
                let message = format!("= {} {message}", quoted(&keys.file));
                say(raw, findings, &path, &message, &expected);
            }
        }
    }
    (findings.found.len() == before).then_some(gauges)
}

/// Returns the rain of a cell over each place: a rate in mm/h, and the distance in km at which it has fallen to 1/e.
fn passing((rate, radius): (f64, f64), way: &Track, ground: &Ground, duration: Duration) -> BTreeMap<usize, Gauge> {
    let seconds = duration.as_secs_f64().ceil() as u64;
    let over = |place: &Place| {
        let mut points: Vec<(Time, Wet)> = Vec::new();
        for second in 0..seconds.max(1) {
            let t = second as f64;
            let km = RADIUS_KM * central_angle(way.at(t), place.site.at(t));
            let now = Some(rate * libm::exp(-km / radius)).filter(|rate| *rate >= DRIZZLE).unwrap_or(0.0);
            if !matches!(points.last(), Some((_, Wet::Rate(before))) if *before == now) {
                points.push((Time::ZERO + Duration::from_secs(second), Wet::Rate(now)));
            }
        }
        Gauge { points, begin: Duration::ZERO, every: None, frequency_ghz: None }
    };
    ground.places.iter().map(over).enumerate().collect()
}

fn points(keys: &Keys, files: &dyn Files) -> Result<Vec<(Time, Wet)>, (String, String)> {
    let content = files.read(&keys.file)?;
    rain(&content, keys.column.as_deref()).map_err(|fault| (fault.said(), fault.expected))
}

impl Gauge {
    /// Returns the attenuation of a ray by rain at an instant of the run, in dB.
    pub(super) fn attenuation_db(&self, climate: &RainClimate, ray: &Ray, t: f64) -> Result<f64, SkyError> {
        let mut at = Duration::from_secs_f64(t.max(0.0)) + self.begin;
        if let Some(every) = self.every {
            at = Duration::from_ps(at.as_ps() % every.as_ps());
        }
        let next = self.points.partition_point(|point| point.0 <= Time::ZERO + at);
        match self.points[next.max(1) - 1].1 {
            Wet::Rate(rate_001_mm_h) => RainClimate { rate_001_mm_h, ..*climate }.attenuation_001_db(ray),
            Wet::Attenuation(db) => match self.frequency_ghz {
                Some(measured) => scaled_db(db, measured, ray.frequency_ghz),
                None => Ok(db),
            },
        }
    }
}

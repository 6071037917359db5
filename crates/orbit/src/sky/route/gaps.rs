//! Reasons why two places have no path, their shares of the time, and remedies.

use super::super::earth::{central_angle, RAD};
use super::super::error::SkyError;
use super::super::links::Topology;
use super::super::motion::Positions;
use super::super::places::Access;
use super::super::scene::Sky;
use super::super::selection::Look;
use super::super::span::Span;
use super::super::vector::norm;
use super::reach::{Reach, Seer};
use super::{Over, Route, Routing};
use libm::{acos, cos};
use std::collections::BTreeMap;

/// Largest number of samples for one pair. More do not reveal other causes.
const LOOKS_MAX: usize = 100;
/// Mean radius of the Earth in km, for distances along the ground.
const EARTH_KM: f64 = 6371.009;

/// Reason why there is no path at times.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// Share of the span.
    pub share: f64,
    /// The reason.
    pub why: String,
    /// Remedy.
    pub help: String,
}

/// Reason why a pair has no path at an instant. Places are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// No satellite is in view of this place.
    Unseen(usize),
    /// No gateway sees a satellite of this place.
    Ungated(usize),
    /// No links or gateways join the satellites of the two places.
    Apart,
    /// Rules have chosen satellites that nothing joins; others would be joined.
    Chosen,
    /// The links that would join them are not usable.
    Broken,
}

/// Returns the reasons why a route has no path at some instants of its span, the most frequent first. Empty if it
/// always has one.
///
/// # Errors
///
/// Faults of the sky that [`Sky::check`] finds.
pub fn gaps(sky: &Sky, routing: &Routing, route: &Route, span: Span) -> Result<Vec<Gap>, SkyError> {
    let without: Vec<f64> =
        span.times().zip(&route.delays_s).filter(|(_, delay)| delay.is_nan()).map(|at| at.0).collect();
    let every = without.len().div_ceil(LOOKS_MAX).max(1);
    let mut reach = Reach::new(sky, routing.over, &routing.serving, None)?;
    let mut found: BTreeMap<Cause, (usize, f64)> = BTreeMap::new();
    for &t in without.iter().step_by(every) {
        let cause = cause(sky, &mut reach, [route.from, route.to], &sky.positions(t), t);
        found.entry(cause).or_insert((0, t)).0 += 1;
    }
    let looks = without.len().div_ceil(every) as f64;
    let all = without.len() as f64 / route.delays_s.len().max(1) as f64;
    let told = |(cause, (count, t)): (Cause, (usize, f64))| {
        let (why, help) = Told { sky, routing, from: route.from, to: route.to, t }.of(cause);
        Gap { share: all * count as f64 / looks, why, help }
    };
    let mut gaps: Vec<Gap> = found.into_iter().map(told).collect();
    gaps.sort_by(|a, b| b.share.total_cmp(&a.share));
    Ok(gaps)
}

fn cause(sky: &Sky, reach: &mut Reach, ends: [usize; 2], positions: &Positions, t: f64) -> Cause {
    let look = Look { at_s: t, chosen_s: t };
    let at_gateways = reach.at_gateways(positions, look);
    let above = |chosen| ends.map(|end| reach.above(&mut Seer::new(sky, end), positions, look, &at_gateways, chosen));
    let [from, to] = above(false);
    for (end, above) in ends.iter().zip([&from, &to]) {
        if above.meshes.is_empty() && !above.is_at_gateway {
            return Cause::Unseen(*end);
        }
    }
    if !reach.joins(&from, &to) {
        let is_apart = reach.over() == Over::Satellites;
        let ungated = ends.into_iter().zip([&from, &to]).find(|(_, above)| !is_apart && !above.is_at_gateway);
        return ungated.map_or(Cause::Apart, |(end, _)| Cause::Ungated(end));
    }
    let [from, to] = above(true);
    match reach.joins(&from, &to) {
        true => Cause::Broken,
        false => Cause::Chosen,
    }
}

/// Words for a pair at an instant.
struct Told<'a> {
    sky: &'a Sky,
    routing: &'a Routing,
    from: usize,
    to: usize,
    t: f64,
}

impl Told<'_> {
    /// Returns the reason why there is no path, and a remedy.
    fn of(&self, cause: Cause) -> (String, String) {
        let [from, to] = [self.from, self.to].map(|place| self.sky.places[place].name.as_str());
        match cause {
            Cause::Unseen(place) if self.sky.node_fails(self.sky.node(place), self.t) => {
                (format!("{} is out of use", self.sky.places[place].name), "fewer failures".to_owned())
            }
            Cause::Unseen(place) => (
                format!("no satellite is in view of {}", self.sky.places[place].name),
                "other satellites, a lower minimum elevation, or another start".to_owned(),
            ),
            Cause::Ungated(place) => {
                let (name, reach) = (&self.sky.places[place].name, self.joined_km(place, place));
                let near = self.nearest_gateway(place);
                (
                    format!("no gateway sees a satellite that {name} sees{}", far(near, reach)),
                    format!("a gateway within {} of {name}, or links between satellites", km(reach)),
                )
            }
            Cause::Apart if self.sky.links.topology == Topology::None => {
                let (away, reach) = (self.ground_km(self.from, self.to), self.joined_km(self.from, self.to));
                (
                    format!(
                        "no satellite is in view of both {from} and {to}: they are {} apart, and one satellite joins places up to {} apart",
                        km(away), km(reach)
                    ),
                    format!("gateways within {} of {from} and of {to}, or links between satellites", km(reach)),
                )
            }
            Cause::Apart => (
                format!("no links lead from the satellites in view of {from} to those in view of {to}"),
                "gateways that see the satellites of both, or other links between satellites".to_owned(),
            ),
            Cause::Chosen => {
                let is_ruled = |place: usize| self.routing.serving.iter().any(|(served, _)| *served == place);
                let chosen = match (is_ruled(self.from), is_ruled(self.to)) {
                    (true, false) => format!("the satellite chosen for {from} has no path to {to}"),
                    (false, true) => format!("the satellite chosen for {to} has no path to {from}"),
                    _ => format!("the satellites chosen for {from} and {to} have no path between them"),
                };
                (
                    format!("{chosen} until the next choice, but other satellites in view have one"),
                    "any satellite in view instead of the rule".to_owned(),
                )
            }
            Cause::Broken => (
                format!("the links between the satellites of {from} and {to} are interrupted"),
                "other links between satellites, or fewer failures".to_owned(),
            ),
        }
    }

    fn nearest_gateway(&self, place: usize) -> Option<(&str, f64)> {
        let places = self.sky.places.iter().enumerate();
        let gateways = places.filter(|(number, gateway)| gateway.relay && *number != place);
        gateways
            .map(|(number, gateway)| (gateway.name.as_str(), self.ground_km(place, number)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn ground_km(&self, a: usize, b: usize) -> f64 {
        let at = |place: usize| self.sky.places[place].site.at(self.t);
        central_angle(at(a), at(b)) * EARTH_KM
    }

    /// Returns the largest distance of two places that see the same satellite of the median height.
    fn joined_km(&self, a: usize, b: usize) -> f64 {
        let positions = self.sky.positions(self.t);
        let radii = (0..positions.len()).map(|k| norm(positions.get(k))).filter(|radius| radius.is_finite());
        let mut radii: Vec<f64> = radii.collect();
        radii.sort_by(f64::total_cmp);
        let orbit = radii.get(radii.len() / 2).copied().unwrap_or(EARTH_KM);
        let angle = |place: usize| match self.sky.places[place].access.unwrap_or(self.sky.access) {
            Access::MinElevation(deg) => acos((EARTH_KM / orbit * cos(deg * RAD)).clamp(-1.0, 1.0)) - deg * RAD,
            Access::MaxRange(km) => {
                acos(((EARTH_KM * EARTH_KM + orbit * orbit - km * km) / (2.0 * EARTH_KM * orbit)).clamp(-1.0, 1.0))
            }
        };
        (angle(a) + angle(b)).max(0.0) * EARTH_KM
    }
}

fn far(nearest: Option<(&str, f64)>, reach: f64) -> String {
    nearest.map_or_else(String::new, |(name, away)| {
        format!(": {name}, the nearest, is {} away, and one satellite joins places up to {} apart", km(away), km(reach))
    })
}

/// Rounds kilometres to tens.
fn km(exact: f64) -> String {
    let tens = (exact / 10.0).round() as u64 * 10;
    match tens / 1000 {
        0 => format!("{tens} km"),
        thousands => format!("{thousands},{:03} km", tens % 1000),
    }
}

#[cfg(test)]
mod tests;

//! The sky of a scenario and its flows, for views beside a run.

use super::{several, Part, Skies};
use crate::keys::{Over, Relay};
use bentpipe_orbit::sky::route::Route;
use bentpipe_orbit::sky::scene::Sky;
use bentpipe_orbit::sky::span::Span;

/// Constellations over a scenario's places, and the paths of its flows during a run.
#[derive(Debug)]
pub struct SkyOfRun {
    /// Constellations in the order in which flows use them.
    pub constellations: Vec<ConstellationOfRun>,
    /// Pairs of places with flows between them.
    pub pairs: Vec<PairOfPlaces>,
    /// Duration of the run in s.
    pub duration_s: f64,
}

/// Constellation, with the path of each pair of places.
#[derive(Debug)]
pub struct ConstellationOfRun {
    /// Name in the scenario.
    pub name: String,
    /// Satellites, places and links. Time 0 is the start of the run.
    pub sky: Sky,
    /// Whether gateways relay packets over satellites, without fibre between them.
    pub zigzags: bool,
    /// Instants at which paths are computed.
    pub span: Span,
    /// Path of each pair. A pair that does not use the constellation has none.
    pub paths: Vec<Route>,
}

/// Two places, and the flows between them.
#[derive(Debug)]
pub struct PairOfPlaces {
    /// Names of the two places.
    pub ends: [String; 2],
    /// Names of the flows, and whether each goes from the second place to the first.
    pub flows: Vec<(String, bool)>,
    /// Constellation in use: start in s, and number.
    pub uses: Vec<(f64, usize)>,
}

impl SkyOfRun {
    pub(super) fn new(skies: Skies) -> Self {
        let Skies { parts, uses, duration, .. } = skies;
        let pairs = uses.into_iter().enumerate().map(|(number, uses)| pair(&parts, number, uses)).collect();
        Self {
            pairs,
            constellations: parts.into_iter().map(constellation).collect(),
            duration_s: duration.as_secs_f64(),
        }
    }
}

fn pair(parts: &[Part], number: usize, uses: Vec<(f64, usize)>) -> PairOfPlaces {
    // All constellations have the pairs in the same order.
    let Part { ground, sky, paths, .. } = &parts[0];
    let ends = [paths[number].from, paths[number].to].map(|place| sky.places[place].name.clone());
    let flows = ground.flows.iter().filter(|flow| flow.pair == number);
    PairOfPlaces { ends, flows: flows.map(|flow| (flow.flow.clone(), flow.is_turned)).collect(), uses }
}

fn constellation(part: Part) -> ConstellationOfRun {
    let Part { of: several::Constellation { name, keys, .. }, sky, span, paths, .. } = part;
    let name = match (name.is_empty(), &keys.over) {
        (false, _) => name,
        (true, Over::Named(name)) => name.clone(),
        (true, Over::Slot(slot)) => format!("geo:{}", slot.geo),
        (true, Over::File(file)) => file.elements.clone(),
        (true, Over::Shells(_) | Over::Several(_)) => "shells".to_owned(),
    };
    ConstellationOfRun { name, sky, zigzags: keys.relay == Relay::Ground, span, paths }
}

//! The sky of a scenario as its flows use it, for looks at it beside a run.

use super::{several, Part, Skies};
use crate::scenario::keys::{Over, Relay};
use bentpipe_orbit::sky::route::Route;
use bentpipe_orbit::sky::scene::Sky;
use bentpipe_orbit::sky::span::Span;

/// The constellations over a scenario's places, and the paths of its flows during a run.
#[derive(Debug)]
pub struct SkyOfRun {
    /// In the order in which flows use them.
    pub constellations: Vec<ConstellationOfRun>,
    /// The pairs of places with flows between them.
    pub pairs: Vec<PairOfPlaces>,
    /// Length of the run, s.
    pub duration_s: f64,
}

/// A constellation, and the path of each pair of places over it.
#[derive(Debug)]
pub struct ConstellationOfRun {
    /// Its name in the scenario.
    pub name: String,
    /// Satellites, places and links; its time 0 is the start of the run.
    pub sky: Sky,
    /// Whether gateways pass packets up again, without fibres between them.
    pub zigzags: bool,
    /// Instants at which paths are looked at.
    pub span: Span,
    /// Path of each pair. A pair that does not use the constellation has none.
    pub paths: Vec<Route>,
}

/// Two places, and the flows between them.
#[derive(Debug)]
pub struct PairOfPlaces {
    /// Names of the two.
    pub ends: [String; 2],
    /// Names of the flows, and whether each goes from the second place to the first.
    pub flows: Vec<(String, bool)>,
    /// The constellation in use: from when on, s, and its number.
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

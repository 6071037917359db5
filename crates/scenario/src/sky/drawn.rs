//! A constellation to be written: its nodes, links and ways by name.

use super::gauge::Gauge;
use super::ground::{Ground, OverSky};
use super::media::Media;
use crate::keys::Sky as Keys;
use crate::tree::{Place, Tree};
use bentpipe_model::spec::Waiting;
use bentpipe_orbit::sky::route::Route;
use bentpipe_orbit::sky::scene::Sky;
use bentpipe_units::{Duration, Word};
use serde_json::{json, Value as Json};
use std::collections::BTreeMap;

/// Constellation to be written.
pub(super) struct Drawn<'a> {
    /// Name. Empty if it is the only constellation.
    pub(super) constellation: &'a str,
    pub(super) keys: &'a Keys,
    pub(super) raw: &'a Tree,
    pub(super) ground: &'a Ground,
    pub(super) sky: &'a Sky,
    /// Measured rain, by place.
    pub(super) gauges: &'a BTreeMap<usize, Gauge>,
    pub(super) media: &'a Media,
    /// Path of each pair.
    pub(super) paths: &'a [Route],
    /// Rule for packets that wait at a satellite for its link to a place.
    pub(super) waiting: Waiting,
    pub(super) duration: Duration,
}

/// Two nodes of the sky: a place before a satellite, otherwise the lower number before the higher.
pub(super) type Ends = (u32, u32);

/// Times in s, in order, for each link.
pub(super) type Spans = BTreeMap<Ends, Vec<(f64, f64)>>;

/// Returns a value that follows from `[sky]`.
pub(super) fn made(value: &Json) -> Tree {
    Tree::of_json(value, &Place::Default(Some("sky".into())))
}

impl Drawn<'_> {
    pub(super) fn is_satellite(&self, node: u32) -> bool {
        (node as usize) < self.sky.satellites()
    }

    pub(super) fn is_gateway(&self, node: u32) -> bool {
        let place = (node as usize).checked_sub(self.sky.satellites());
        place.is_some_and(|place| self.ground.places[place].relay)
    }

    /// Whether the link is between a satellite and a place that is not a gateway.
    pub(super) fn is_user(&self, (a, b): Ends) -> bool {
        !self.is_satellite(a) && !self.is_gateway(a) && self.is_satellite(b)
    }

    /// Whether the link leads through a beam that the places share.
    pub(super) fn is_shared(&self, ends: Ends) -> bool {
        self.keys.shared && self.is_user(ends)
    }

    /// Whether packets wait for the next satellite during an interruption.
    pub(super) fn keeps(&self) -> bool {
        matches!(self.waiting, Waiting::Kept | Waiting::Moved)
    }

    pub(super) fn ends(&self, a: u32, b: u32) -> Ends {
        match (self.is_satellite(a), self.is_satellite(b)) {
            (true, false) => (b, a),
            (false, true) => (a, b),
            _ => (a.min(b), a.max(b)),
        }
    }

    /// Returns the name of a link, or of the link between a place and a beam.
    pub(super) fn link_name(&self, names: &[String], ends: Ends) -> String {
        let [from, to] = [ends.0, ends.1].map(|node| names[node as usize].as_str());
        let is_fibre = !self.is_satellite(ends.1);
        match self.is_shared(ends) {
            true => format!("{from}~{}", beam(to)),
            // Each operator has its own fibre.
            false if is_fibre && !self.constellation.is_empty() => format!("{from}~{to} {}", self.constellation),
            false => format!("{from}~{to}"),
        }
    }

    /// Returns the names of the nodes on a flow's route.
    pub(super) fn way(&self, names: &[String], over: &OverSky, nodes: &[u32]) -> Vec<String> {
        let mut nodes = nodes.to_vec();
        if over.is_turned {
            nodes.reverse();
        }
        let mut way = over.head.clone();
        way.extend(self.named(names, &nodes));
        way.extend(over.tail.iter().cloned());
        way
    }

    /// Returns the names of nodes in a row, with the beams between them.
    pub(super) fn named(&self, names: &[String], nodes: &[u32]) -> Vec<String> {
        let mut way = Vec::new();
        for (number, node) in nodes.iter().enumerate() {
            if let Some(before) = number.checked_sub(1).map(|before| nodes[before]) {
                let ends = self.ends(before, *node);
                if self.is_shared(ends) {
                    way.push(beam(&names[ends.1 as usize]));
                }
            }
            way.push(names[*node as usize].clone());
        }
        way
    }

    /// Returns a table that takes links down.
    pub(super) fn down(&self, time: Duration, links: Json, waiting: Waiting) -> Json {
        let mut table = json!({ "time": time.to_string(), "down": links });
        table["waiting"] = waiting.name().into();
        table["in_flight"] = self.keys.in_flight.name().into();
        table
    }

    /// Returns the end in s of the path of a pair that begins with change `number`.
    pub(super) fn until(&self, path: &Route, number: usize) -> f64 {
        path.changes.get(number + 1).map_or(self.duration.as_secs_f64(), |next| next.at_s)
    }
}

/// Returns the name of the beam of a satellite.
pub(super) fn beam(satellite: &str) -> String {
    format!("{satellite} beam")
}

/// Returns a time in the notation of a file.
pub(super) fn seconds(seconds: f64) -> String {
    Duration::from_secs_f64(seconds).to_string()
}

//! Ways of packets from satellites that have left a path, over links between satellites.

use super::drawn::{Drawn, Ends};
use super::ground::OverSky;
use bentpipe_model::spec::Waiting;
use bentpipe_orbit::sky::links::Topology;
use bentpipe_orbit::sky::route::{Detours, Route};
use bentpipe_units::Duration;
use serde_json::{json, Value as Json};

/// Time in s for which the links of a detour have a delay that follows the geometry: packets on the old path are there
/// long before.
const USED_S: f64 = 5.0;

/// Way of packets that a satellite has for a place when its link to this place ends.
pub(super) struct Detour {
    /// Link that ends, and the instant.
    pub(super) left: Ends,
    pub(super) at: Duration,
    /// Times in s when packets may use the detour.
    pub(super) span_s: (f64, f64),
    /// Pair of places, and whether the packets are for its second place.
    pub(super) pair: usize,
    is_forward: bool,
    /// Nodes from the satellite to the end of the path.
    nodes: Vec<u32>,
}

impl Detour {
    /// Returns the links between its nodes.
    pub(super) fn links<'a>(&'a self, drawn: &'a Drawn<'_>) -> impl Iterator<Item = Ends> + 'a {
        self.nodes.windows(2).map(|pair| drawn.ends(pair[0], pair[1]))
    }

    /// Returns the routes of the pair's flows from the satellite on.
    pub(super) fn installed(&self, drawn: &Drawn<'_>, names: &[String]) -> Vec<Json> {
        let route = |over: &OverSky| {
            let mut way = drawn.named(names, &self.nodes);
            // A turned flow goes from the second place to the first.
            match self.is_forward != over.is_turned {
                true => {
                    way.extend(over.tail.iter().cloned());
                    json!({ "flow": over.flow, "route": way })
                }
                false => {
                    way.extend(over.head.iter().rev().cloned());
                    json!({ "flow": over.flow, "reverse_route": way })
                }
            }
        };
        drawn.ground.flows.iter().filter(|over| over.pair == self.pair).map(route).collect()
    }
}

/// Returns the detours of all changes of paths, if the satellites forward packets that wait for a place.
pub(super) fn detours(drawn: &Drawn<'_>) -> Vec<Detour> {
    let has_gap = drawn.keys.break_before_make.is_some_and(|gap| gap > Duration::ZERO);
    // Rerouted packets have no route during an interruption.
    let forwards = drawn.waiting == Waiting::Kept || drawn.waiting == Waiting::Rerouted && !has_gap;
    if !forwards || drawn.sky.links.topology == Topology::None {
        return Vec::new();
    }
    // The sky and the step have made paths already.
    let Ok(mut ways) = Detours::new(drawn.sky, drawn.keys.step.as_secs_f64()) else { return Vec::new() };
    let mut found = Vec::new();
    for (pair, path) in drawn.paths.iter().enumerate() {
        for number in 1..path.changes.len() {
            found.extend(of_change(drawn, &mut ways, (pair, path), number));
        }
    }
    found
}

/// Returns the detours from the satellites that the change `number` of a path leaves.
fn of_change(drawn: &Drawn<'_>, ways: &mut Detours<'_>, (pair, path): (usize, &Route), number: usize) -> Vec<Detour> {
    let overlap = drawn.keys.make_before_break.unwrap_or(Duration::ZERO);
    let at = Duration::from_secs_f64(path.changes[number].at_s) + overlap;
    let at_s = at.as_secs_f64();
    // At the end of an overlap, the path may have changed again.
    let present = path.changes.iter().rev().find(|change| change.at_s <= at_s);
    let Some(present) = present.map(|change| &change.nodes).filter(|nodes| !nodes.is_empty()) else {
        return Vec::new();
    };
    let links = |nodes: &[u32]| -> Vec<Ends> { nodes.windows(2).map(|of| drawn.ends(of[0], of[1])).collect() };
    let used = links(present);
    let back: Vec<u32> = present.iter().rev().copied().collect();
    let mut found = Vec::new();
    for hop in path.changes[number - 1].nodes.windows(2) {
        let left = drawn.ends(hop[0], hop[1]);
        if drawn.is_satellite(left.0) || !drawn.is_satellite(left.1) || used.contains(&left) {
            continue;
        }
        // Packets for the second place go down from the first node of the hop, others from the second.
        let is_forward = hop[0] == left.1;
        let onto = if is_forward { present } else { &back };
        if let Some(nodes) = ways.onto(at_s, left.1, onto) {
            let span_s = (at_s, (at_s + USED_S).min(drawn.duration.as_secs_f64()));
            found.push(Detour { left, at, span_s, pair, is_forward, nodes });
        }
    }
    found.retain(|detour| detour.span_s.0 < detour.span_s.1);
    found
}

//! Ways of packets from a satellite that has left their path.

use super::super::error::SkyError;
use super::super::graph::{Distances, Graph};
use super::super::links::{Link, LinkPlan};
use super::super::motion::Motion;
use super::super::scene::Sky;
use super::super::vector::distance;
use super::access::Entry;
use super::walk::Walk;

/// Shortest ways over links between satellites from a satellite onto a path. Each hop costs its length only.
#[derive(Clone, Debug)]
pub struct Detours<'a> {
    sky: &'a Sky,
    plan: LinkPlan,
    motion: Motion,
    links: Vec<Link>,
    graph: Graph,
    walk: Walk,
    distances: Distances,
    /// Instant of the graph.
    at_s: Option<f64>,
}

impl<'a> Detours<'a> {
    /// Returns the ways under a sky. `step_s` is the approximate distance of the instants.
    ///
    /// # Errors
    ///
    /// An invalid sky.
    pub fn new(sky: &'a Sky, step_s: f64) -> Result<Self, SkyError> {
        Ok(Self {
            plan: sky.plan()?,
            motion: Motion::new(step_s),
            links: Vec::new(),
            graph: Graph::default(),
            walk: Walk::default(),
            distances: Distances::default(),
            at_s: None,
            sky,
        })
    }

    /// Returns the nodes from `satellite` onto a path and along it to its end, `t` seconds after the epoch, so that
    /// packets arrive as early as possible. `None`: no links lead from the satellite to the path.
    pub fn onto(&mut self, t: f64, satellite: u32, path: &[u32]) -> Option<Vec<u32>> {
        self.step(t);
        let entries = [Entry { node: satellite, via: None, cost: 0.0 }];
        self.walk.begin(&self.graph, &entries, &mut self.distances);
        let km = |pair: &[u32]| Some(distance(self.sky.position(pair[0], t)?, self.sky.position(pair[1], t)?));
        let rests: Option<Vec<f64>> = path.windows(2).map(km).collect();
        // The length of the path from each of its nodes on.
        let mut rest: f64 = rests.as_ref()?.iter().sum();
        let mut best: Option<(f64, usize)> = None;
        for (place, node) in path.iter().enumerate() {
            if let Some(onto) = self.distances.of.get(*node as usize).filter(|onto| onto.is_finite()) {
                if best.is_none_or(|(least, _)| onto + rest < least) {
                    best = Some((onto + rest, place));
                }
            }
            rest -= rests.as_ref()?.get(place).copied().unwrap_or(0.0);
        }
        let (_, place) = best?;
        let mut nodes = Vec::new();
        self.walk.path(path[place], &entries, &mut nodes)?;
        nodes.extend(&path[place + 1..]);
        Some(nodes)
    }

    fn step(&mut self, t: f64) {
        if self.at_s == Some(t) {
            return;
        }
        let sky = self.sky;
        let positions = self.motion.at(&sky.constellation, &sky.earth, t);
        self.links.clear();
        self.plan.usable(positions, &mut self.links);
        let usable = self.links.iter().filter(|link| !sky.link_fails(link.a, link.b, t));
        let arcs: Vec<(u32, u32, f64)> = usable.map(|link| (link.a, link.b, link.km.max(1e-6))).collect();
        self.graph.rebuild(sky.satellites(), &arcs);
        self.at_s = Some(t);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sky::epoch::Epoch;
    use crate::sky::presets::preset;

    /// Kilometres along these nodes.
    fn length(sky: &Sky, nodes: &[u32], t: f64) -> f64 {
        let pairs = nodes.windows(2);
        pairs.map(|pair| distance(sky.position(pair[0], t).unwrap(), sky.position(pair[1], t).unwrap())).sum()
    }

    /// From each satellite of Iridium to a path along a plane: the shortest way by R. Bellman and L. Ford to each node of the
    /// path, with the rest of the path behind it. The nearest node is the best one for some only.
    #[test]
    fn packets_that_left_their_path_arrive_as_early_as_they_can() {
        let sky = preset("iridium").unwrap().sky(Epoch::Y2000).unwrap();
        let mut ways = Detours::new(&sky, 10.0).unwrap();
        let path: Vec<u32> = (0..5).collect();
        for t in [0.0, 300.0] {
            let mut links = Vec::new();
            sky.plan().unwrap().usable(&sky.positions(t), &mut links);
            for satellite in 0..66 {
                let mut km = vec![f64::INFINITY; 66];
                km[satellite as usize] = 0.0;
                for link in links.iter().cycle().take(66 * links.len()) {
                    let [a, b] = [link.a, link.b].map(|end| end as usize);
                    (km[a], km[b]) = (km[a].min(km[b] + link.km), km[b].min(km[a] + link.km));
                }
                let over = |place: usize| km[path[place] as usize] + length(&sky, &path[place..], t);
                let least = (0..path.len()).map(over).fold(f64::INFINITY, f64::min);
                let onto = ways.onto(t, satellite, &path).unwrap();
                assert_eq!((onto.first(), onto.last()), (Some(&satellite), path.last()));
                assert!((length(&sky, &onto, t) - least).abs() < 1e-3, "{satellite} at {t} s: {onto:?}");
            }
        }
    }
}

//! Sky: satellites, places and the rules of their links.

use super::constellation::Constellation;
use super::earth::{central_angle, Earth, LIGHT_KM_S, RADIUS_KM};
use super::error::SkyError;
use super::links::{Link, LinkPlan, SatelliteLinks};
use super::motion::{positions, Positions};
use super::places::Access;
use super::places::{Place, Site};
use super::span::Span;
use super::vector::{distance, Vector};
use super::view::{sight, Sighting, Watch};

/// Largest number of places of a sky.
const MOST_PLACES: usize = 10_000;

/// Link on the ground between two places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cable {
    /// One end, by number of place.
    pub a: usize,
    /// The other end.
    pub b: usize,
    /// One-way delay, s.
    pub delay_s: f64,
}

impl Cable {
    /// Returns a glass fibre (light travels at c/1.468 in it, as in silica at 1550 nm) that is `stretch` times as long
    /// as the great circle between its ends.
    pub fn fibre(places: &[Place], a: usize, b: usize, stretch: f64) -> Result<Self, SkyError> {
        SkyError::within("stretch of a fibre", stretch, 1.0, 10.0)?;
        let end = |k: usize| match places.get(k).map(|place| &place.site) {
            Some(Site::Fixed(at)) => Ok(*at),
            Some(Site::Moving(_)) => Err(SkyError::new("cable", format!("place {k} moves"))),
            None => Err(SkyError::new("cable", format!("there is no place {k}; expected a place of the sky"))),
        };
        let km = central_angle(end(a)?, end(b)?) * RADIUS_KM * stretch;
        Ok(Self { a, b, delay_s: km * 1.468 / LIGHT_KM_S })
    }
}

/// Element that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// Satellite or place with all its links, by number of node.
    Node(u32),
    /// Link between two nodes.
    Link(u32, u32),
}

/// Failure over a span of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Failure {
    /// Element that fails.
    pub what: Failed,
    /// Start of the failure, seconds after the epoch.
    pub from_s: f64,
    /// End of the failure, seconds after the epoch.
    pub until_s: f64,
}

/// Satellites, places, and the rules of links between them. Nodes are numbered: the satellites first, then the places.
#[derive(Clone, Debug)]
pub struct Sky {
    /// Satellites and epoch.
    pub constellation: Constellation,
    /// Earth under them.
    pub earth: Earth,
    /// Terminals and gateways.
    pub places: Vec<Place>,
    /// Condition of links between places and satellites, unless the place has its own.
    pub access: Access,
    /// Links between satellites.
    pub links: SatelliteLinks,
    /// Links between places on the ground.
    pub cables: Vec<Cable>,
    /// Failures over time.
    pub failures: Vec<Failure>,
}

impl Sky {
    /// Returns a sky without places and links between satellites.
    pub fn new(constellation: Constellation, earth: Earth, access: Access) -> Self {
        let (places, cables, failures) = (Vec::new(), Vec::new(), Vec::new());
        Self { constellation, earth, places, access, links: SatelliteLinks::NONE, cables, failures }
    }

    /// Returns the number of satellites.
    pub fn satellites(&self) -> usize {
        self.constellation.satellites.len()
    }

    /// Returns the number of the node of place `k`.
    pub fn node(&self, place: usize) -> u32 {
        (self.satellites() + place) as u32
    }

    /// Returns the name of a satellite or place. Empty without a name.
    pub fn name(&self, node: u32) -> &str {
        let (node, satellites) = (node as usize, self.satellites());
        match self.constellation.satellites.get(node) {
            Some(satellite) => &satellite.name,
            None => self.places.get(node.wrapping_sub(satellites)).map_or("", |place| &place.name),
        }
    }

    /// Checks the sky for faults.
    pub fn check(&self) -> Result<(), SkyError> {
        self.access.check()?;
        if self.places.len() > MOST_PLACES {
            return Err(SkyError::new("places", format!("expected at most {MOST_PLACES}")));
        }
        for place in &self.places {
            if let Some(access) = place.access {
                access.check().map_err(|e| SkyError::new(format!("place {}", place.name), e.to_string()))?;
            }
        }
        for cable in &self.cables {
            if cable.a == cable.b || cable.a.max(cable.b) >= self.places.len() {
                return Err(SkyError::new("cable", format!("{} to {}: expected two places", cable.a, cable.b)));
            }
            SkyError::within("delay of a cable (s)", cable.delay_s, 0.0, 10.0)?;
        }
        for failure in &self.failures {
            let ends = match failure.what {
                Failed::Node(a) => [a, a],
                Failed::Link(a, b) => [a, b],
            };
            if let Some(node) = ends.iter().find(|node| **node as usize >= self.satellites() + self.places.len()) {
                return Err(SkyError::new("failure", format!("there is no node {node}; expected a node of the sky")));
            }
            if failure.from_s.is_nan() || failure.until_s.is_nan() || failure.from_s >= failure.until_s {
                return Err(SkyError::new("failure", "expected that it begins before it ends"));
            }
        }
        LinkPlan::new(&self.links, &self.constellation, &self.earth).map(drop)
    }

    /// Whether two satellites are linked at some time, if they come into sight of each other. False for pairs that
    /// [`check`](Self::check) rejects.
    pub fn may_link(&self, a: u32, b: u32) -> bool {
        self.plan().is_ok_and(|plan| plan.may_link(a, b))
    }

    /// Whether two satellites, or a place and a satellite, are linked at any of these times, without failures.
    ///
    /// # Errors
    ///
    /// Impossible links, which [`check`](Self::check) finds.
    pub fn is_ever_linked(&self, a: u32, b: u32, times: impl Iterator<Item = f64>) -> Result<bool, SkyError> {
        let (low, high) = (a.min(b), a.max(b));
        if let Some(place) = (high as usize).checked_sub(self.satellites()) {
            let watch = self.watch(self.place(place)?, f64::INFINITY);
            return Ok(times.into_iter().any(|t| {
                let seen = watch.clone().at(&self.earth, &self.positions(t), t).to_vec();
                seen.iter().any(|sighting| sighting.satellite == low)
            }));
        }
        let plan = self.plan()?;
        let mut links = Vec::new();
        Ok(times.into_iter().any(|t| {
            links.clear();
            plan.usable(&self.positions(t), &mut links);
            links.iter().any(|link| (link.a.min(link.b), link.a.max(link.b)) == (low, high))
        }))
    }

    pub(crate) fn plan(&self) -> Result<LinkPlan, SkyError> {
        LinkPlan::new(&self.links, &self.constellation, &self.earth)
    }

    pub(crate) fn watch(&self, place: usize, step_s: f64) -> Watch {
        let place = &self.places[place];
        Watch::new(place.site.clone(), place.access.unwrap_or(self.access), &self.earth, step_s)
    }

    /// Returns the number of a place, checked.
    pub(crate) fn place(&self, place: usize) -> Result<usize, SkyError> {
        if place < self.places.len() {
            return Ok(place);
        }
        Err(SkyError::new("place", format!("there is no place {place}; expected one of {}", self.places.len())))
    }

    /// Returns the positions of all satellites in the fixed frame `t` seconds after the epoch.
    pub fn positions(&self, t: f64) -> Positions {
        positions(&self.constellation, &self.earth, t)
    }

    /// Returns the position of a satellite or place in the fixed frame, or `None` if the node does not exist or has no
    /// position.
    pub fn position(&self, node: u32, t: f64) -> Option<Vector> {
        let at = match self.constellation.satellites.get(node as usize) {
            Some(satellite) => satellite.orbit.fixed(&self.earth, self.constellation.epoch, t),
            None => self.places.get(node as usize - self.satellites())?.site.stand(&self.earth, t).0,
        };
        at.iter().all(|x| x.is_finite()).then_some(at)
    }

    /// Returns the satellites in view of a place, by number, without failures.
    pub fn visible(&self, place: usize, t: f64) -> Result<Vec<Sighting>, SkyError> {
        let place = self.place(place)?;
        Ok(self.watch(place, f64::INFINITY).at(&self.earth, &self.positions(t), t).to_vec())
    }

    /// Returns range and elevation of one satellite from a place, even below the least elevation.
    pub fn sighting(&self, place: usize, satellite: u32, t: f64) -> Result<Sighting, SkyError> {
        let place = self.place(place)?;
        let at = self.position(satellite, t).filter(|_| (satellite as usize) < self.satellites());
        let at = at.ok_or_else(|| {
            SkyError::new(
                "satellite",
                format!("{satellite} has no position at {t} s; expected other elements, or a shorter time"),
            )
        })?;
        let (stand, up) = self.places[place].site.stand(&self.earth, t);
        Ok(sight(satellite, at, stand, up))
    }

    /// Returns the usable links between satellites, without failed ones.
    pub fn satellite_links(&self, t: f64) -> Result<Vec<Link>, SkyError> {
        let mut links = Vec::new();
        self.plan()?.usable(&self.positions(t), &mut links);
        links.retain(|link| !self.link_fails(link.a, link.b, t));
        Ok(links)
    }

    /// Returns the instants of a span and the instants of failures and repairs in between, with a flag for those of the
    /// span.
    pub(crate) fn instants(&self, span: Span) -> Vec<(f64, bool)> {
        let mut all: Vec<(f64, bool)> = span.times().map(|t| (t, true)).collect();
        let edges = self.failures.iter().flat_map(|failure| [failure.from_s, failure.until_s]);
        all.extend(edges.filter(|t| span.from_s < *t && *t < span.until_s).map(|t| (t, false)));
        // Of two at the same time, that of the span is first.
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        all.dedup_by_key(|instant| instant.0);
        all
    }

    pub(crate) fn node_fails(&self, node: u32, t: f64) -> bool {
        self.failures.iter().any(|f| f.from_s <= t && t < f.until_s && f.what == Failed::Node(node))
    }

    pub(crate) fn link_fails(&self, a: u32, b: u32, t: f64) -> bool {
        self.failures.iter().any(|f| {
            f.from_s <= t
                && t < f.until_s
                && match f.what {
                    Failed::Node(node) => node == a || node == b,
                    Failed::Link(c, d) => (c, d) == (a, b) || (d, c) == (a, b),
                }
        })
    }

    /// Returns the one-way propagation delay along nodes, s: links at the speed of light, cables with their delay.
    /// `None` if a node has no position. Does not check that the links are usable: the result is the delay of a path
    /// between two of its changes.
    pub fn path_delay_s(&self, nodes: &[u32], t: f64) -> Option<f64> {
        let mut delay = 0.0;
        for pair in nodes.windows(2) {
            let cable = self.cables.iter().find(|c| {
                let ends = (self.node(c.a), self.node(c.b));
                ends == (pair[0], pair[1]) || ends == (pair[1], pair[0])
            });
            delay += match cable {
                Some(cable) => cable.delay_s,
                None => distance(self.position(pair[0], t)?, self.position(pair[1], t)?) / LIGHT_KM_S,
            };
        }
        Some(delay)
    }
}

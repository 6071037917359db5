//! Finds the places that a satellite can reach: over satellites with links between them, and over gateways.

use super::super::error::SkyError;
use super::super::motion::Positions;
use super::super::scene::Sky;
use super::super::selection::{serving_at, Handover, Look};
use super::super::view::Watch;
use super::Over;
use std::collections::BTreeSet;

/// Satellites of each place with a rule.
pub(super) type Servings = [(usize, Vec<Handover>)];

/// Places of a sky, with the places that its satellites can join.
pub(super) struct Reach<'a> {
    sky: &'a Sky,
    over: Over,
    servings: &'a Servings,
    /// Mesh of each satellite. Links connect all satellites of a mesh.
    meshes: Vec<u32>,
    gateways: Vec<Seer>,
}

/// Satellites of a place at an instant.
#[derive(Clone, Debug, Default)]
pub(super) struct Above {
    /// Meshes of the usable satellites.
    pub(super) meshes: BTreeSet<u32>,
    /// Whether it is a gateway, has a cable to one, or a gateway sees satellites of the same mesh.
    pub(super) is_at_gateway: bool,
}

/// Place with its view.
#[derive(Clone, Debug)]
pub(super) struct Seer {
    pub(super) place: usize,
    watch: Watch,
}

impl<'a> Reach<'a> {
    /// Reach over all gateways except one.
    pub(super) fn new(
        sky: &'a Sky,
        over: Over,
        servings: &'a Servings,
        without: Option<usize>,
    ) -> Result<Self, SkyError> {
        let plan = sky.plan()?;
        let meshes = match over {
            Over::Satellites => plan.meshes(sky.satellites()),
            Over::Gateways => (0..sky.satellites() as u32).collect(),
        };
        let relays = (0..sky.places.len()).filter(|place| sky.places[*place].relay && Some(*place) != without);
        let gateways = relays.map(|place| Seer::new(sky, place)).collect();
        Ok(Self { sky, over, servings, meshes, gateways })
    }

    pub(super) fn over(&self) -> Over {
        self.over
    }

    /// Whether any two places with satellites in view can be joined over any of these satellites.
    pub(super) fn is_whole(&self) -> bool {
        self.over == Over::Satellites && self.meshes.iter().all(|mesh| *mesh == self.meshes[0])
    }

    pub(super) fn mesh(&self, satellite: u32) -> u32 {
        self.meshes[satellite as usize]
    }

    /// Returns the meshes that gateways see.
    pub(super) fn at_gateways(&mut self, positions: &Positions, look: Look) -> BTreeSet<u32> {
        let mut gateways = std::mem::take(&mut self.gateways);
        let seen = gateways.iter_mut().flat_map(|gateway| self.seen(gateway, positions, look, true)).collect();
        self.gateways = gateways;
        seen
    }

    /// Returns the satellites of a place: those in view, or, if `chosen`, the satellite of its rule.
    pub(super) fn above(
        &self,
        seer: &mut Seer,
        positions: &Positions,
        look: Look,
        at_gateways: &BTreeSet<u32>,
        chosen: bool,
    ) -> Above {
        let meshes = self.seen(seer, positions, look, chosen);
        let is_at_gateway = self.is_on_ground(seer.place) || !meshes.is_disjoint(at_gateways);
        Above { meshes, is_at_gateway }
    }

    /// Whether a place reaches gateways without a satellite.
    pub(super) fn is_on_ground(&self, place: usize) -> bool {
        let relay = |place: usize| self.sky.places[place].relay;
        let mut cables = self.sky.cables.iter();
        relay(place) || cables.any(|cable| cable.a == place && relay(cable.b) || cable.b == place && relay(cable.a))
    }

    /// Whether packets get from the satellites of one place to those of the other.
    pub(super) fn joins(&self, a: &Above, b: &Above) -> bool {
        let is_joined_above = self.over == Over::Satellites && !a.meshes.is_disjoint(&b.meshes);
        is_joined_above || a.is_at_gateway && b.is_at_gateway
    }

    fn seen(&self, seer: &mut Seer, positions: &Positions, look: Look, chosen: bool) -> BTreeSet<u32> {
        let serving = self.servings.iter().find(|(place, _)| chosen && *place == seer.place);
        let node = self.sky.node(seer.place);
        let works = |satellite: &u32| !self.sky.link_fails(node, *satellite, look.chosen_s);
        let mesh = |satellite: u32| self.mesh(satellite);
        match serving {
            Some((_, handovers)) => serving_at(handovers, look.chosen_s).into_iter().filter(works).map(mesh).collect(),
            None => {
                let seen = seer.watch.at(&self.sky.earth, positions, look.at_s).iter().map(|s| s.satellite);
                seen.filter(works).map(mesh).collect()
            }
        }
    }
}

impl Seer {
    pub(super) fn new(sky: &Sky, place: usize) -> Self {
        Self { place, watch: sky.watch(place, 0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sky::epoch::Epoch;
    use crate::sky::places::Place;
    use crate::sky::presets::preset;
    use crate::sky::scene::Cable;

    /// A cable to a gateway counts at either end of it, and a cable to another place does not.
    #[test]
    fn a_cable_reaches_a_gateway() {
        let mut sky = preset("iridium").unwrap().sky(Epoch::Y2000).unwrap();
        sky.places = ["London", "Lisbon", "Madrid", "Paris"].map(|name| Place::city(name).unwrap()).to_vec();
        sky.places[2].relay = true;
        sky.cables = [(1, 2), (2, 3), (0, 3)].map(|(a, b)| Cable::fibre(&sky.places, a, b, 1.5).unwrap()).to_vec();
        let reach = Reach::new(&sky, Over::Satellites, &[], None).unwrap();
        assert_eq!([0, 1, 2, 3].map(|place| reach.is_on_ground(place)), [false, true, true, true]);
    }
}

//! Delays from all satellites to one place.

use super::super::earth::LIGHT_KM_S;
use super::super::error::SkyError;
use super::super::scene::Sky;
use super::access::Access;
use super::walk::Walk;
use super::{Over, Router, Routing};

/// Shortest delays from all satellites to a place, instant by instant.
#[derive(Clone, Debug)]
pub(crate) struct Toward<'a> {
    router: Router<'a>,
    place: usize,
    walk: Walk,
    delays_s: Vec<f64>,
}

impl<'a> Toward<'a> {
    pub(crate) fn new(sky: &'a Sky, place: usize, routing: &'a Routing, step_s: f64) -> Result<Self, SkyError> {
        let access = Access::new(sky, routing, std::iter::once(sky.place(place)?), step_s)?;
        let router = Router { access, ..Router::new(sky, &[], routing, step_s)? };
        Ok(Self { router, place, walk: Walk::default(), delays_s: Vec::new() })
    }

    /// Returns the one-way delay from each satellite at an instant, s. Infinite without a path.
    pub(crate) fn at(&mut self, t: f64) -> &[f64] {
        let router = &mut self.router;
        router.step(t);
        self.walk.begin(&router.graph, router.access.entries(self.place), &mut router.distances);
        let from = &router.distances.of;
        self.delays_s.clear();
        self.delays_s.extend(&from[..router.sky.satellites()]);
        if router.routing.over == Over::Gateways {
            // Bent pipes are not in the graph. Each uses the best gateway that it sees.
            for (gateway, seen) in router.access.relays() {
                for sighting in seen {
                    let delay = &mut self.delays_s[sighting.satellite as usize];
                    *delay = delay.min(from[gateway as usize] + sighting.range_km + router.hop_km());
                }
            }
        }
        self.delays_s.iter_mut().for_each(|km| *km /= LIGHT_KM_S);
        &self.delays_s
    }
}

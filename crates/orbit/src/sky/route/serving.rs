//! Satellites that serve the places with a rule. Each place chooses among the satellites that reach the other ends of its paths: an
//! operator gives a terminal only satellites that a gateway sees.

use super::super::error::SkyError;
use super::super::motion::Positions;
use super::super::scene::Sky;
use super::super::selection::{handovers_among, Handover, Look, Rule};
use super::super::span::{GoOn, Span};
use super::super::view::Sighting;
use super::reach::{Above, Reach, Seer, Servings};
use super::Over;

/// Returns the handovers of places with a rule, for paths between these pairs of places.
///
/// A place chooses among the satellites that reach most of the other ends. Gateways choose first, then the other places
/// in their order. Each respects the choices before it.
///
/// # Errors
///
/// An unknown place, a rule with values out of range, faults of the sky, or a cancelled run.
pub fn servings_while(
    sky: &Sky,
    over: Over,
    pairs: &[(usize, usize)],
    rules: &[(usize, Rule)],
    span: Span,
    go_on: GoOn,
) -> Result<Vec<(usize, Vec<Handover>)>, SkyError> {
    sky.check()?;
    let places = pairs.iter().flat_map(|(a, b)| [*a, *b]).chain(rules.iter().map(|(place, _)| *place));
    places.into_iter().try_for_each(|place| sky.place(place).map(drop))?;
    let mut rules = rules.to_vec();
    rules.sort_by_key(|(place, _)| (!sky.places[*place].relay, *place));
    let mut servings: Vec<(usize, Vec<Handover>)> = Vec::new();
    for (number, (place, rule)) in rules.iter().enumerate() {
        let mut part = |share: f64| go_on((number as f64 + share) / rules.len() as f64);
        let mut others = Others::of(sky, over, *place, pairs, &servings)?;
        let among = &mut |seen: &mut Vec<Sighting>, positions: &Positions, look: Look| {
            others.keep_best(seen, positions, look);
        };
        let found = handovers_among(sky, *place, *rule, span, &mut part, among)?;
        servings.push((*place, found));
    }
    Ok(servings)
}

/// Other ends of a place's paths.
struct Others<'a> {
    /// Reach over other gateways, if the place is a gateway.
    reach: Reach<'a>,
    ends: Vec<Seer>,
    is_gateway: bool,
}

impl<'a> Others<'a> {
    fn of(
        sky: &'a Sky,
        over: Over,
        place: usize,
        pairs: &[(usize, usize)],
        servings: &'a Servings,
    ) -> Result<Self, SkyError> {
        let is_gateway = sky.places[place].relay;
        let reach = Reach::new(sky, over, servings, is_gateway.then_some(place))?;
        let mut ends: Vec<usize> = pairs
            .iter()
            .filter_map(|&(a, b)| if a == place { Some(b) } else { (b == place).then_some(a) })
            .filter(|_| !reach.is_whole())
            .collect();
        ends.sort_unstable();
        ends.dedup();
        Ok(Self { reach, ends: ends.into_iter().map(|end| Seer::new(sky, end)).collect(), is_gateway })
    }

    /// Keeps the satellites that reach most of the ends: all, if none reaches any.
    fn keep_best(&mut self, seen: &mut Vec<Sighting>, positions: &Positions, look: Look) {
        if self.ends.is_empty() || seen.len() < 2 {
            return;
        }
        let at_gateways = self.reach.at_gateways(positions, look);
        let reach = &self.reach;
        let ends = self.ends.iter_mut().map(|end| reach.above(end, positions, look, &at_gateways, true));
        let ends: Vec<Above> = ends.collect();
        let is_gateway = self.is_gateway;
        let reached = |sighting: &Sighting| {
            let mesh = reach.mesh(sighting.satellite);
            let above = Above { meshes: [mesh].into(), is_at_gateway: is_gateway || at_gateways.contains(&mesh) };
            let leads_to = |end: &&Above| is_gateway && end.meshes.contains(&mesh) || reach.joins(&above, end);
            ends.iter().filter(leads_to).count()
        };
        let most = seen.iter().map(reached).max();
        seen.retain(|sighting| Some(reached(sighting)) == most);
    }
}

#[cfg(test)]
mod tests;

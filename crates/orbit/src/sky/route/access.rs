//! Links between the places of a sky and the graph of its satellites and gateways.

use super::super::earth::LIGHT_KM_S;
use super::super::error::SkyError;
use super::super::motion::Positions;
use super::super::scene::Sky;
use super::super::selection::{serving_at, Handover};
use super::super::view::{Sighting, Watch};
use super::{Over, Routing};

/// Entry from a place into the graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    /// Node where it enters.
    pub(super) node: u32,
    /// Bent pipe before the entry.
    pub(super) via: Option<u32>,
    /// Cost, km.
    pub(super) cost: f64,
}

impl Entry {
    pub(super) fn is_like(&self, other: &Entry) -> bool {
        (self.node, self.via) == (other.node, other.via)
    }
}

/// Places where paths begin, end or pass.
#[derive(Clone, Debug)]
pub(super) struct Access {
    over: Over,
    stations: Vec<Station>,
    /// Station of each place.
    of_place: Vec<Option<usize>>,
}

#[derive(Clone, Debug)]
struct Station {
    place: usize,
    node: u32,
    relay: bool,
    watch: Watch,
    serving: Option<Vec<Handover>>,
    /// Satellites in view that it may use.
    seen: Vec<Sighting>,
    entries: Vec<Entry>,
}

impl Access {
    pub(super) fn new(
        sky: &Sky,
        routing: &Routing,
        ends: impl Iterator<Item = usize>,
        step_s: f64,
    ) -> Result<Self, SkyError> {
        let mut wanted: Vec<bool> = sky.places.iter().map(|place| place.relay).collect();
        for place in ends {
            wanted[sky.place(place)?] = true;
        }
        let mut access = Self { over: routing.over, stations: Vec::new(), of_place: vec![None; wanted.len()] };
        for place in (0..wanted.len()).filter(|place| wanted[*place]) {
            access.of_place[place] = Some(access.stations.len());
            let serving = routing.serving.iter().find(|(served, _)| *served == place);
            access.stations.push(Station {
                place,
                node: sky.node(place),
                relay: sky.places[place].relay,
                watch: sky.watch(place, step_s),
                serving: serving.map(|(_, handovers)| handovers.clone()),
                seen: Vec::new(),
                entries: Vec::new(),
            });
        }
        for (place, handovers) in &routing.serving {
            sky.place(*place)?;
            let known = |satellite: u32| (satellite as usize) < sky.satellites();
            if !handovers.iter().filter_map(|handover| handover.to).all(known) {
                return Err(SkyError::new(
                    "serving",
                    format!("place {place} is served by an unknown satellite; expected a satellite of the sky"),
                ));
            }
        }
        Ok(access)
    }

    /// Returns the entries of a place into the graph.
    pub(super) fn entries(&self, place: usize) -> &[Entry] {
        self.of_place[place].map_or(&[], |station| &self.stations[station].entries)
    }

    /// Returns the node of each gateway, and the satellites in view that it may use.
    pub(super) fn relays(&self) -> impl Iterator<Item = (u32, &[Sighting])> {
        self.stations.iter().filter(|station| station.relay).map(|station| (station.node, station.seen.as_slice()))
    }

    /// Returns the present cost of an entry that was used before.
    pub(super) fn cost(&self, place: usize, entry: Entry) -> Option<f64> {
        self.entries(place).iter().find(|now| now.is_like(&entry)).map(|now| now.cost)
    }

    /// Brings the entries to an instant, and adds the links of gateways to the graph's.
    pub(super) fn at(
        &mut self,
        sky: &Sky,
        positions: &Positions,
        t: f64,
        hop_km: f64,
        arcs: &mut Vec<(u32, u32, f64)>,
    ) {
        for station in &mut self.stations {
            station.see(sky, positions, t);
            station.entries.clear();
            if station.relay {
                if !sky.node_fails(station.node, t) {
                    station.entries.push(Entry { node: station.node, via: None, cost: 0.0 });
                }
                if self.over == Over::Satellites {
                    arcs.extend(station.seen.iter().map(|s| (station.node, s.satellite, s.range_km + hop_km)));
                }
            } else if self.over == Over::Satellites {
                let up = |s: &Sighting| Entry { node: s.satellite, via: None, cost: s.range_km + hop_km };
                station.entries.extend(station.seen.iter().map(up));
            }
        }
        if self.over == Over::Gateways {
            self.bend(hop_km);
        }
        for cable in &sky.cables {
            let cost = (cable.delay_s * LIGHT_KM_S).max(1e-6) + hop_km;
            let (a, b) = (sky.node(cable.a), sky.node(cable.b));
            if sky.link_fails(a, b, t) {
                continue;
            }
            match (sky.places[cable.a].relay, sky.places[cable.b].relay) {
                (true, true) => arcs.push((a, b, cost)),
                (false, true) => self.enter(cable.a, b, cost),
                (true, false) => self.enter(cable.b, a, cost),
                (false, false) => {}
            }
        }
    }

    fn enter(&mut self, place: usize, node: u32, cost: f64) {
        if let Some(station) = self.of_place[place] {
            self.stations[station].entries.push(Entry { node, via: None, cost });
        }
    }

    /// Returns the entries of terminals at gateways over satellites that both see: for each gateway the shortest.
    fn bend(&mut self, hop_km: f64) {
        let (relays, terminals): (Vec<usize>, Vec<usize>) =
            (0..self.stations.len()).partition(|station| self.stations[*station].relay);
        for terminal in terminals {
            let mut entries = std::mem::take(&mut self.stations[terminal].entries);
            for &relay in &relays {
                let relay = &self.stations[relay];
                let both = self.stations[terminal].seen.iter().filter_map(|up| {
                    let down = relay.seen.binary_search_by_key(&up.satellite, |s| s.satellite).ok()?;
                    let cost = up.range_km + relay.seen[down].range_km + 2.0 * hop_km;
                    Some(Entry { node: relay.node, via: Some(up.satellite), cost })
                });
                entries.extend(both.min_by(|a, b| a.cost.total_cmp(&b.cost)));
            }
            self.stations[terminal].entries = entries;
        }
    }
}

impl Station {
    fn see(&mut self, sky: &Sky, positions: &Positions, t: f64) {
        let node = self.node;
        let works = |s: &&Sighting| sky.failures.is_empty() || !sky.link_fails(node, s.satellite, t);
        self.seen.clear();
        match &self.serving {
            // The rule that chose the satellite defines the end of its use.
            Some(handovers) => {
                let serving = serving_at(handovers, t);
                let sighting = serving.and_then(|satellite| self.watch.one(&sky.earth, positions, t, satellite));
                self.seen.extend(sighting.as_ref().filter(works));
            }
            None => self.seen.extend(self.watch.at(&sky.earth, positions, t).iter().filter(works)),
        }
        debug_assert!(self.seen.windows(2).all(|pair| pair[0].satellite < pair[1].satellite), "place {}", self.place);
    }
}

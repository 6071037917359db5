//! Nodes on the ground under the sky: the flows over it, and their pairs of places.

use super::say;
use crate::keys::{Position, Sky as Keys, WayPoint as Point};
use crate::report::Findings;
use crate::tree::{quoted, Place as At, Tree, Value};
use bentpipe_orbit::sky::earth::Geodetic;
use bentpipe_orbit::sky::places::{cities, city, Place, Site, Track, WayPoint};
use bentpipe_orbit::sky::SkyError;
use bentpipe_units::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Places, and the flows between them.
#[derive(Default)]
pub(super) struct Ground {
    pub(super) places: Vec<Place>,
    /// Pairs of places with flows between them.
    pub(super) pairs: Vec<(usize, usize)>,
    /// Disjoint path of each pair, from 0. A pair is listed once for each path that flows use.
    pub(super) ranks: Vec<usize>,
    pub(super) flows: Vec<OverSky>,
}

/// Entry of flows that go over the sky.
pub(super) struct OverSky {
    /// Name of the flow, or `FLOW.SUBFLOW`.
    pub(super) flow: String,
    /// Keys of its table below `flow`.
    pub(super) at: Vec<String>,
    /// Pair, and whether the flow goes from the second place to the first.
    pub(super) pair: usize,
    pub(super) is_turned: bool,
    /// Nodes before the first place and behind the last one.
    pub(super) head: Vec<String>,
    pub(super) tail: Vec<String>,
}

/// Neighbours of each node over the links of a file.
type Neighbours = BTreeMap<String, Vec<String>>;

impl Ground {
    /// Reads places and flows from the file. Returns `None` if they are invalid.
    pub(super) fn read(tree: &Tree, keys: &Keys, raw: &Tree, findings: &mut Findings) -> Option<Self> {
        let before = findings.found.len();
        let mut ground = Self::default();
        for (index, name) in keys.gateway.iter().enumerate() {
            let Some(number) = ground.number(name, keys, raw, findings) else {
                // A place with an invalid position has its own message.
                if !keys.place.contains_key(name) {
                    let message = format!("sky.gateway: {} is not a known place", quoted(name));
                    let place = &raw.at(["gateway", &index.to_string()]).place;
                    unknown(place, "sky.gateway", message, name, keys, findings);
                }
                continue;
            };
            ground.places[number].relay = true;
        }
        let neighbours = neighbours(tree);
        let flows = tree.get("flow").and_then(Tree::table);
        for (name, flow) in flows.into_iter().flatten() {
            let [Some(from), Some(to)] = ["from", "to"].map(|end| text(flow, end)) else { continue };
            let written = own_ways(name, flow);
            if written.is_empty() {
                continue;
            }
            let ends = [("from", from), ("to", to)].map(|(key, end)| {
                let found = ground.attached(end, &neighbours, keys, raw, findings);
                // A place with an invalid position is reported only for its position.
                if found.is_none() && !neighbours.contains_key(end) && !keys.place.contains_key(end) {
                    let path = format!("flow.{name}.{key}");
                    let message = format!("{path} = {} is neither a known place nor the end of a link", quoted(end));
                    unknown(&flow.at([key]).place, &path, message, end, keys, findings);
                }
                found
            });
            let [Some((head, from)), Some((mut tail, to))] = ends else { continue };
            if from != to {
                tail.reverse();
                for at in written {
                    let flow = match &at[..] {
                        [flow, .., subflow] => format!("{flow}.{subflow}"),
                        _ => name.clone(),
                    };
                    let (pair, is_turned) = ground.pair(from, to, rank(keys, &flow));
                    ground.flows.push(OverSky { flow, at, pair, is_turned, head: head.clone(), tail: tail.clone() });
                }
            }
        }
        if ground.flows.is_empty() && findings.found.len() == before {
            let expected = "expected cities (bentpipe list places) or names of sky.place";
            say(raw, findings, &["sky"], "has no flow between two places", expected);
        }
        (findings.found.len() == before).then_some(ground)
    }

    fn pair(&mut self, from: usize, to: usize, rank: usize) -> (usize, bool) {
        let known = |pair| self.pairs.iter().zip(&self.ranks).position(|(known, at)| (*known, *at) == (pair, rank));
        if let Some(known) = known((from, to)) {
            return (known, false);
        }
        if let Some(known) = known((to, from)) {
            return (known, true);
        }
        self.pairs.push((from, to));
        self.ranks.push(rank);
        (self.pairs.len() - 1, false)
    }

    /// Returns the nodes from `end` to the nearest place, without the place, and the place.
    fn attached(
        &mut self,
        end: &str,
        neighbours: &Neighbours,
        keys: &Keys,
        raw: &Tree,
        findings: &mut Findings,
    ) -> Option<(Vec<String>, usize)> {
        let mut ways = BTreeMap::from([(end.to_owned(), Vec::new())]);
        let mut next = VecDeque::from([end.to_owned()]);
        while let Some(node) = next.pop_front() {
            let way = ways[&node].clone();
            if let Some(place) = self.number(&node, keys, raw, findings) {
                return Some((way, place));
            }
            let onwards: Vec<String> = way.into_iter().chain([node.clone()]).collect();
            for neighbour in neighbours.get(&node).into_iter().flatten() {
                if !ways.contains_key(neighbour) {
                    ways.insert(neighbour.clone(), onwards.clone());
                    next.push_back(neighbour.clone());
                }
            }
        }
        None
    }

    /// Returns the number of the place with this name, if it exists.
    fn number(&mut self, name: &str, keys: &Keys, raw: &Tree, findings: &mut Findings) -> Option<usize> {
        if let Some(known) = self.places.iter().position(|place| place.name == name) {
            return Some(known);
        }
        let is_city = |position: &&Position| {
            position.way.is_empty()
                && position.latitude.is_none()
                && position.longitude.is_none()
                && !position.over.is_empty()
                && city(name).is_ok()
        };
        let site = match keys.place.get(name).filter(|position| !is_city(position)) {
            Some(position) => match site(position) {
                Ok(site) => site,
                Err(error) => {
                    say(raw, findings, &["sky", "place", name], &format!("is nowhere: {error}"), "");
                    return None;
                }
            },
            None => Site::Fixed(city(name).ok()?),
        };
        self.places.push(Place {
            site,
            ..Place::fixed(name, Geodetic { latitude_deg: 0.0, longitude_deg: 0.0, height_km: 0.0 })
        });
        Some(self.places.len() - 1)
    }
}

/// Returns the tables of a flow below `flow` that need a route: its own, or those of its subflows.
fn own_ways(name: &str, flow: &Tree) -> Vec<Vec<String>> {
    let Some(subflows) = flow.get("subflow").and_then(Tree::table) else {
        return if flow.get("route").is_some() { Vec::new() } else { vec![vec![name.to_owned()]] };
    };
    let open = subflows.iter().filter(|(_, subflow)| subflow.get("route").is_none());
    open.map(|(subflow, _)| [name, "subflow", subflow].map(str::to_owned).to_vec()).collect()
}

/// Returns the disjoint path of a flow or subflow, from 0.
fn rank(keys: &Keys, flow: &str) -> usize {
    let path = keys.disjoint.as_ref().and_then(|disjoint| disjoint.flow.get(flow));
    path.map_or(0, |path| (*path).max(1) as usize - 1)
}

/// Reports an unknown name, with the nearest known one and the key for coordinates.
fn unknown(at: &At, path: &str, message: String, name: &str, keys: &Keys, findings: &mut Findings) {
    let known = keys.place.keys().map(String::as_str).chain(cities().map(|(name, _)| name));
    let guess = findings.guess(name, known);
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let key = if name.chars().all(is_bare) && !name.is_empty() { name.to_owned() } else { quoted(name) };
    let expected = format!(
        "expected a city (bentpipe list places), or its coordinates: [sky.place.{key}] with latitude and longitude"
    );
    findings.add(at, path, message, expected, guess);
}

fn site(position: &Position) -> Result<Site, SkyError> {
    if !position.way.is_empty() {
        return Ok(Site::Moving(track(&position.way)?));
    }
    let (Some(latitude), Some(longitude)) = (position.latitude, position.longitude) else {
        let what = "expected latitude and longitude, or a way".to_owned();
        return Err(SkyError { at: "position".into(), what });
    };
    Ok(Site::Fixed(Geodetic::new(latitude, longitude, position.height_km)?))
}

/// Returns the way through these points.
pub(super) fn track(way: &[Point]) -> Result<Track, SkyError> {
    let point = |point: &Point| {
        Ok(WayPoint {
            at: Geodetic::new(point.latitude, point.longitude, point.height_km)?,
            time_s: (point.time - Time::ZERO).as_secs_f64(),
        })
    };
    Track::timed(way.iter().map(point).collect::<Result<_, _>>()?)
}

/// Returns the ends of the links of the file.
pub(super) fn ends(tree: &Tree) -> BTreeSet<String> {
    neighbours(tree).into_keys().collect()
}

fn neighbours(tree: &Tree) -> Neighbours {
    let mut neighbours = Neighbours::new();
    for link in tree.get("link").and_then(Tree::table).into_iter().flat_map(BTreeMap::values) {
        if let [Some(from), Some(to)] = ["from", "to"].map(|end| text(link, end)) {
            // A flow with a count names the ends as they are written, other flows name one of each.
            for n in std::iter::once(None).chain((1..=count(link)).map(Some)) {
                let [from, to] =
                    [from, to].map(|end| n.map_or_else(|| end.to_owned(), |n| end.replace("{n}", &n.to_string())));
                neighbours.entry(from.clone()).or_default().push(to.clone());
                neighbours.entry(to).or_default().push(from);
            }
        }
    }
    neighbours
}

/// Returns the number of links that an entry numbers. An invalid number is reported later.
fn count(link: &Tree) -> i128 {
    match link.get("count").map(|value| &value.value) {
        Some(Value::Int(count @ 1..=1_000_000)) => *count,
        _ => 0,
    }
}

fn text<'a>(tree: &'a Tree, key: &str) -> Option<&'a str> {
    match tree.get(key).map(|value| &value.value) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

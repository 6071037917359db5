//! Routes over time: the best path at each instant.
//!
//! A [`Router`] moves from instant to instant and returns the path and delay of every pair of places. [`routes`]
//! collects them over a span of time. Changes are reported unchanged: where a new path is shorter, packets may overtake
//! those on the old one.

mod access;
mod detour;
mod disjoint;
mod gaps;
mod reach;
mod serving;
mod toward;
mod walk;

use super::earth::LIGHT_KM_S;
use super::error::SkyError;
use super::graph::{Distances, Graph};
use super::links::{Link, LinkPlan, Topology};
use super::motion::Motion;
use super::scene::Sky;
use super::selection::Handover;
use super::span::{GoOn, Span};
use access::{Access, Entry};
pub use detour::Detours;
pub use disjoint::{disjoint_routes_while, Alternative, Disjoint, MOST_PATHS};
pub use gaps::{gaps, Gap};
pub use serving::servings_while;
pub(crate) use toward::Toward;
use walk::Walk;

/// Cost of every hop if hops are counted, km: more than any path is long.
const HOP_KM: f64 = 1e7;

/// Carriers of packets between the places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Satellites forward packets to each other over their links, and down to any place.
    Satellites,
    /// Bent pipes: one satellite passes every packet of a terminal up and down to a gateway. From there packets use
    /// cables between gateways, and another satellite if the other end is a terminal, too.
    Gateways,
}

impl Over {
    /// Returns the kind of network under this sky. At a gateway, a path may leave the satellites. Satellites with links
    /// between them still use these. Satellites without such links are bent pipes if there are gateways.
    pub fn of(sky: &Sky) -> Self {
        let is_bent = sky.links.topology == Topology::None && sky.places.iter().any(|place| place.relay);
        if is_bent {
            Self::Gateways
        } else {
            Self::Satellites
        }
    }
}

/// Criterion for the best path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Shortest delay.
    Delay,
    /// Fewest hops. Ties go to the shortest delay.
    Hops,
}

/// Condition for a change to another path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Another path is better.
    WhenBetter,
    /// A link of the path in use is no longer usable.
    WhenBroken,
}

/// Choice of paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Routing {
    /// Carriers of packets.
    pub over: Over,
    /// Criterion for the best path.
    pub metric: Metric,
    /// Condition for a change to another path.
    pub switch: Switch,
    /// Time that each hop costs besides propagation, s.
    pub hop_delay_s: f64,
    /// Places that use one satellite at a time, with their handovers (see `selection`). Other places use any satellite
    /// in view.
    pub serving: Vec<(usize, Vec<Handover>)>,
}

impl Default for Routing {
    /// Returns the choice of the shortest delay over satellites, at every instant, by any satellite in view.
    fn default() -> Self {
        Self {
            over: Over::Satellites,
            metric: Metric::Delay,
            switch: Switch::WhenBetter,
            hop_delay_s: 0.0,
            serving: Vec::new(),
        }
    }
}

/// Path of one pair at the last instant.
#[derive(Clone, Debug, Default)]
struct Way {
    /// Entries at the `from` place and at the `to` place; `None`: no path.
    ends: Option<(Entry, Entry)>,
    /// Nodes of the graph between the entries, both included.
    middle: Vec<u32>,
    /// All nodes, from place to place.
    nodes: Vec<u32>,
    delay_s: f64,
}

#[derive(Clone, Debug)]
struct Pair {
    from: usize,
    to: usize,
    way: Way,
}

/// Paths between pairs of places, instant by instant.
#[derive(Clone, Debug)]
pub struct Router<'a> {
    sky: &'a Sky,
    routing: &'a Routing,
    /// Whether paths are computed from `to` to `from`, because there are fewer starts.
    reversed: bool,
    plan: LinkPlan,
    motion: Motion,
    access: Access,
    links: Vec<Link>,
    arcs: Vec<(u32, u32, f64)>,
    graph: Graph,
    distances: Distances,
    /// Start places of paths.
    sources: Vec<Source>,
    pairs: Vec<Pair>,
    changed: Vec<u32>,
}

/// Start place of paths, with its shortest paths and its pairs.
#[derive(Clone, Debug)]
struct Source {
    place: usize,
    walk: Walk,
    pairs: Vec<u32>,
}

impl<'a> Router<'a> {
    /// Returns a router for pairs (from, to) of places. `step_s` is the approximate distance of its instants.
    ///
    /// # Errors
    ///
    /// An invalid sky; pairs of unknown places or of a place with itself.
    pub fn new(sky: &'a Sky, pairs: &[(usize, usize)], routing: &'a Routing, step_s: f64) -> Result<Self, SkyError> {
        let ends = |pick: fn(&(usize, usize)) -> usize| distinct(pairs, pick).len();
        Self::sought(sky, pairs, routing, step_s, ends(|pair| pair.1) < ends(|pair| pair.0))
    }

    fn sought(
        sky: &'a Sky,
        pairs: &[(usize, usize)],
        routing: &'a Routing,
        step_s: f64,
        reversed: bool,
    ) -> Result<Self, SkyError> {
        sky.check()?;
        SkyError::within("hop_delay_s", routing.hop_delay_s, 0.0, 10.0)?;
        for &(from, to) in pairs {
            if sky.place(from)? == sky.place(to)? {
                return Err(SkyError::new("pair", format!("from place {from} to itself; expected two places")));
            }
        }
        let (froms, tos) = (distinct(pairs, |pair| pair.0), distinct(pairs, |pair| pair.1));
        let turned = |&(from, to): &(usize, usize)| if reversed { (to, from) } else { (from, to) };
        let mut sources: Vec<Source> = (if reversed { &tos } else { &froms })
            .iter()
            .map(|place| Source { place: *place, walk: Walk::default(), pairs: Vec::new() })
            .collect();
        for (number, pair) in pairs.iter().enumerate() {
            let source = sources.binary_search_by_key(&turned(pair).0, |source| source.place);
            if let Ok(source) = source {
                sources[source].pairs.push(number as u32);
            }
        }
        let ends = froms.into_iter().chain(tos);
        Ok(Self {
            plan: sky.plan()?,
            motion: Motion::new(step_s),
            access: Access::new(sky, routing, ends, step_s)?,
            links: Vec::new(),
            arcs: Vec::new(),
            graph: Graph::default(),
            distances: Distances::default(),
            sources,
            pairs: pairs
                .iter()
                .map(|pair| Pair { from: turned(pair).0, to: turned(pair).1, way: Way::default() })
                .collect(),
            changed: Vec::new(),
            sky,
            routing,
            reversed,
        })
    }

    /// Moves to the instant `t` seconds after the epoch.
    pub fn step(&mut self, t: f64) {
        let sky = self.sky;
        let hop_km = self.hop_km();
        let positions = self.motion.at(&sky.constellation, &sky.earth, t);
        self.arcs.clear();
        if self.routing.over == Over::Satellites {
            self.links.clear();
            self.plan.usable(positions, &mut self.links);
            self.arcs.extend(self.links.iter().map(|link| (link.a, link.b, link.km.max(1e-6) + hop_km)));
        }
        self.access.at(sky, positions, t, hop_km, &mut self.arcs);
        if !sky.failures.is_empty() {
            self.arcs.retain(|&(a, b, _)| !sky.link_fails(a, b, t));
        }
        self.graph.rebuild(sky.satellites() + sky.places.len(), &self.arcs);
        self.changed.clear();
        match self.routing.switch {
            Switch::WhenBetter => {}
            Switch::WhenBroken => self.keep_unbroken(),
        }
        for source in 0..self.sources.len() {
            self.step_source(source);
        }
        self.changed.sort_unstable();
    }

    fn hop_km(&self) -> f64 {
        let counted = if self.routing.metric == Metric::Hops { HOP_KM } else { 0.0 };
        self.routing.hop_delay_s * LIGHT_KM_S + counted
    }

    /// Measures the paths in use again, and drops the broken ones.
    fn keep_unbroken(&mut self) {
        let counted = if self.routing.metric == Metric::Hops { HOP_KM } else { 0.0 };
        for pair in &mut self.pairs {
            let way = &mut pair.way;
            let Some((first, last)) = way.ends else { continue };
            let cost = || {
                let up = self.access.cost(pair.from, first)?;
                let down = self.access.cost(pair.to, last)?;
                let between = way.middle.windows(2).try_fold(up, |sum, n| Some(sum + self.graph.cost(n[0], n[1])?));
                Some(between? + down)
            };
            match cost() {
                Some(cost) => way.delay_s = (cost - counted * (way.nodes.len() - 1) as f64) / LIGHT_KM_S,
                None => way.ends = None,
            }
        }
    }

    fn step_source(&mut self, source: usize) {
        let keeps = self.routing.switch == Switch::WhenBroken;
        let counted = if self.routing.metric == Metric::Hops { HOP_KM } else { 0.0 };
        let source = &mut self.sources[source];
        let keep = |pair: &Pair| keeps && pair.way.ends.is_some();
        if source.pairs.iter().all(|number| keep(&self.pairs[*number as usize])) {
            return;
        }
        let entries = self.access.entries(source.place);
        source.walk.begin(&self.graph, entries, &mut self.distances);
        for number in &source.pairs {
            let pair = &mut self.pairs[*number as usize];
            if keep(pair) {
                continue;
            }
            let old = pair.way.ends;
            let Some((last, cost)) = best_end(self.access.entries(pair.to), &self.distances, old) else {
                if !pair.way.nodes.is_empty() {
                    self.changed.push(*number);
                }
                pair.way = Way { delay_s: f64::NAN, ..Way::default() };
                continue;
            };
            let stays = !keeps && old.is_some_and(|(_, old)| old.is_like(&last)) && source.walk.is_same(last.node);
            if !stays {
                let first = source.walk.path(last.node, entries, &mut pair.way.middle);
                pair.way.ends = first.map(|first| (first, last));
                let nodes = nodes(self.sky, pair, self.reversed);
                if nodes != pair.way.nodes {
                    pair.way.nodes = nodes;
                    self.changed.push(*number);
                }
            }
            pair.way.delay_s = (cost - counted * (pair.way.nodes.len() - 1) as f64) / LIGHT_KM_S;
        }
    }

    /// Returns the pairs, by their number in the given order, whose path the last step changed.
    pub fn changed(&self) -> &[u32] {
        &self.changed
    }

    /// Returns the nodes of a pair's path, from place to place. Empty without a path.
    pub fn path(&self, pair: usize) -> &[u32] {
        &self.pairs[pair].way.nodes
    }

    /// Returns the one-way delay of a pair's path, s: propagation, cables and hops. NaN without a path.
    pub fn delay_s(&self, pair: usize) -> f64 {
        self.pairs[pair].way.delay_s
    }
}

fn distinct(pairs: &[(usize, usize)], pick: fn(&(usize, usize)) -> usize) -> Vec<usize> {
    let mut places: Vec<usize> = pairs.iter().map(pick).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// Returns the best entry at a place: that of the lowest cost. Ties go to the one in use.
fn best_end(entries: &[Entry], distances: &Distances, old: Option<(Entry, Entry)>) -> Option<(Entry, f64)> {
    let mut best: Option<(Entry, f64)> = None;
    for entry in entries {
        let cost = distances.of[entry.node as usize] + entry.cost;
        let better = match best {
            None => cost < f64::INFINITY,
            Some((_, least)) => cost < least || cost == least && old.is_some_and(|(_, old)| old.is_like(entry)),
        };
        if better {
            best = Some((*entry, cost));
        }
    }
    best
}

/// Returns all nodes of a pair's path, from place to place.
fn nodes(sky: &Sky, pair: &Pair, reversed: bool) -> Vec<u32> {
    let mut nodes = vec![sky.node(pair.from)];
    nodes.extend(pair.way.ends.and_then(|(first, _)| first.via));
    nodes.extend(&pair.way.middle);
    nodes.extend(pair.way.ends.and_then(|(_, last)| last.via));
    nodes.push(sky.node(pair.to));
    // A gateway is a node of the graph itself.
    nodes.dedup();
    if reversed {
        nodes.reverse();
    }
    nodes
}

/// New path of a pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// First instant, seconds after the epoch.
    pub at_s: f64,
    /// Nodes from place to place. Empty without a path.
    pub nodes: Vec<u32>,
    /// One-way delay at that instant, s. NaN without a path.
    pub delay_s: f64,
}

/// Paths of a pair over a span.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Start place.
    pub from: usize,
    /// End place.
    pub to: usize,
    /// Path at the start, then every other one.
    pub changes: Vec<Change>,
    /// Delay at every instant of the span, s. NaN without a path.
    pub delays_s: Vec<f64>,
}

/// Finds the routes of pairs (from, to) of places over a span. With `within_s` the instant of each change is located
/// between the two instants that enclose it, to that precision. Without, changes are at the span's instants, and at the
/// instants of failures and repairs.
///
/// # Errors
/// As [`Router::new`].
pub fn routes(
    sky: &Sky,
    pairs: &[(usize, usize)],
    routing: &Routing,
    span: Span,
    within_s: Option<f64>,
) -> Result<Vec<Route>, SkyError> {
    routes_while(sky, pairs, routing, span, within_s, &mut |_| true)
}

/// Finds routes as [`routes`] does, and reports progress.
///
/// # Errors
///
/// As [`Router::new`]; the caller cancelled.
pub fn routes_while(
    sky: &Sky,
    pairs: &[(usize, usize)],
    routing: &Routing,
    span: Span,
    within_s: Option<f64>,
    go_on: GoOn,
) -> Result<Vec<Route>, SkyError> {
    let mut router = Router::new(sky, pairs, routing, span.step_s)?;
    let tolerance = within_s.map(|s| SkyError::within("within_s", s, 1e-6, 1e6)).transpose()?;
    let empty = |&(from, to): &(usize, usize)| Route {
        from,
        to,
        changes: Vec::new(),
        delays_s: Vec::with_capacity(span.count()),
    };
    let mut found: Vec<Route> = pairs.iter().map(empty).collect();
    let mut fine: Vec<Option<Router>> = vec![None; if tolerance.is_some() { pairs.len() } else { 0 }];
    let mut before = f64::NAN;
    for (t, is_regular) in sky.instants(span) {
        span.reach(t, go_on)?;
        let old = tolerance.map(|_| router.pairs.clone());
        router.step(t);
        for (number, route) in found.iter_mut().enumerate() {
            if is_regular {
                route.delays_s.push(router.delay_s(number));
            }
            if route.changes.is_empty() {
                route.changes.push(change(&router.pairs[number].way, t));
            }
        }
        for &number in &router.changed {
            let k = number as usize;
            match (&old, tolerance) {
                (Some(old), Some(tolerance)) if before < t => {
                    if fine[k].is_none() {
                        let reversed = router.reversed;
                        fine[k] = Some(Router::sought(sky, &pairs[k..=k], routing, span.step_s, reversed)?);
                    }
                    let Some(fine) = &mut fine[k] else { continue };
                    let ends = [(before, &old[k].way), (t, &router.pairs[k].way)];
                    refine(fine, ends, tolerance, &mut found[k].changes);
                }
                _ if before < t => found[k].changes.push(change(&router.pairs[k].way, t)),
                _ => {}
            }
        }
        before = t;
    }
    Ok(found)
}

fn change(way: &Way, at_s: f64) -> Change {
    Change { at_s, nodes: way.nodes.clone(), delay_s: way.delay_s }
}

/// Finds the changes between two instants by bisection.
fn refine(router: &mut Router, ends: [(f64, &Way); 2], within_s: f64, changes: &mut Vec<Change>) {
    let [(from, old), (to, new)] = ends;
    let middle = 0.5 * (from + to);
    if to - from <= within_s || middle <= from || middle >= to {
        changes.push(change(new, to));
        return;
    }
    // Its trees are not those of the instant before, so a path that may change is compared node by node.
    let ends = if router.routing.switch == Switch::WhenBroken { old.ends } else { None };
    router.pairs[0].way = Way { ends, ..old.clone() };
    router.step(middle);
    let between = router.pairs[0].way.clone();
    if between.nodes != old.nodes {
        refine(router, [(from, old), (middle, &between)], within_s, changes);
    }
    if between.nodes != new.nodes {
        refine(router, [(middle, &between), (to, new)], within_s, changes);
    }
}

#[cfg(test)]
mod tests;

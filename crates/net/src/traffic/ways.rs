//! Routes of each flow during the run, from the timeline: least delays and downtimes.

use super::flow::IdealPath;
use crate::link::Downtime;
use bentpipe_model::ids::{FlowId, LaneId, LinkId, PathId};
use bentpipe_model::spec::{Absence, Link, RouteSince, Scenario};
use bentpipe_units::{Duration, Rate, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Routes from the source of each path. Routes that begin at later nodes are not included.
pub(super) struct Ways<'a> {
    scenario: &'a Scenario,
    later: BTreeMap<PathId, Vec<RouteSince<'a>>>,
    absences: BTreeMap<LinkId, Vec<Absence>>,
}

impl<'a> Ways<'a> {
    pub(super) fn of(scenario: &'a Scenario) -> Self {
        let mut later = scenario.timeline.routes();
        for (path, routes) in &mut later {
            let first = scenario.first_route(*path).first();
            let source = first.map(|&link| scenario.links[link].from);
            routes.retain(|(_, route)| {
                route.is_none_or(|route| route.first().map(|&link| scenario.links[link].from) == source)
            });
        }
        Self { scenario, later, absences: scenario.timeline.absences() }
    }

    /// Returns the path of a flow with the least delays and largest rates of its routes. That of a flow over several paths has
    /// the least round trip of all, and the sum of the rates.
    pub(super) fn ideal(&self, flow: FlowId) -> IdealPath {
        let of_lanes = self.scenario.lanes_of(flow).map(|lane| PathId::both(lane).map(|path| self.over(path)));
        let sum = |a: Rate, b: Rate| Rate::from_bps(a.as_bps().saturating_add(b.as_bps()));
        let all = of_lanes.reduce(|a, b| {
            let delays = if a[0].0 + a[1].0 <= b[0].0 + b[1].0 { a } else { b };
            [0, 1].map(|side| (delays[side].0, sum(a[side].1, b[side].1)))
        });
        let best = all.unwrap_or([(Duration::ZERO, Rate::from_bps(u64::MAX)); 2]);
        let is_fixed = self.scenario.lanes_of(flow).all(|lane| !self.later.contains_key(&PathId::there(lane)));
        IdealPath::of(&self.scenario.flows[flow], best[0].0 + best[1].0, best.map(|(_, rate)| rate), is_fixed)
    }

    /// Returns the least delay of a path, and its largest rate.
    fn over(&self, path: PathId) -> (Duration, Rate) {
        match self.later.get(&path) {
            None => self.along(path, self.scenario.first_route(path)),
            Some(_) => self.best(path),
        }
    }

    /// Returns the least delay of a route, and its largest rate for packets of the flow.
    fn along(&self, path: PathId, route: &[LinkId]) -> (Duration, Rate) {
        let flow = self.scenario.lanes[path.lane()].flow;
        let packet = self.scenario.flows[flow].transport.full_packet();
        let unlimited = (Duration::ZERO, Rate::from_bps(u64::MAX));
        route.iter().fold(unlimited, |(delay, rate), &link| {
            let link = &self.scenario.links[link];
            (delay + link.delay.least(), rate.min(link.framing.most_of_rate(link.rate.largest(), packet)))
        })
    }

    /// Returns the least delay and largest rate if routes change: a packet may follow one route and then another.
    fn best(&self, path: PathId) -> (Duration, Rate) {
        let learnt = self.scenario.routes(path).flatten().copied();
        let links: BTreeSet<LinkId> = learnt.collect();
        let [from, to] = self.scenario.ends(path);
        let mut reached = BTreeMap::from([(from, self.along(path, &[]))]);
        let mut is_settled = false;
        while !std::mem::replace(&mut is_settled, true) {
            for &link in &links {
                let ends = (self.scenario.links[link].from, self.scenario.links[link].to);
                let Some(&(delay, rate)) = reached.get(&ends.0) else { continue };
                let (more, limit) = self.along(path, &[link]);
                let known = reached.get(&ends.1).copied();
                let (least, most) = known.unwrap_or((Duration::from_ps(u64::MAX), Rate::from_bps(0)));
                let better = (least.min(delay + more), most.max(rate.min(limit)));
                if known != Some(better) {
                    reached.insert(ends.1, better);
                    is_settled = false;
                }
            }
        }
        reached.get(&to).copied().unwrap_or_else(|| self.along(path, self.scenario.first_route(path)))
    }

    /// Returns the downtime of a lane, in either direction.
    pub(super) fn downtime(&self, lane: LaneId, seed: u64) -> Downtime {
        let end = Time::ZERO + self.scenario.duration;
        if !self.is_changing(lane) {
            let of = &self.scenario.lanes[lane];
            let links = self.ever_down(of.route.iter().chain(&of.reverse_route));
            return Downtime::of([(Time::ZERO, Some(links))], seed, end);
        }
        let [there, back] = PathId::both(lane).map(|path| self.over_time(path));
        let mut instants: Vec<Time> = there.iter().chain(&back).map(|(at, _)| *at).collect();
        instants.sort_unstable();
        instants.dedup();
        let stages = instants.into_iter().map(|at| {
            let both = [&there, &back].map(|routes| routes.iter().rev().find(|(since, _)| *since <= at));
            let routes = both.into_iter().flatten().map(|(_, route)| *route).collect::<Option<Vec<_>>>();
            (at, routes.map(|routes| self.ever_down(routes.into_iter().flatten())))
        });
        Downtime::of(stages, seed, end)
    }

    fn is_changing(&self, lane: LaneId) -> bool {
        !self.later.is_empty() && PathId::both(lane).iter().any(|path| self.later.contains_key(path))
    }

    /// Returns the links that have outages or absences, with their absences.
    fn ever_down<'b>(&self, links: impl Iterator<Item = &'b LinkId>) -> Vec<(&'a Link, &[Absence])> {
        let known =
            links.map(|link| (&self.scenario.links[*link], self.absences.get(link).map_or(&[][..], Vec::as_slice)));
        known.filter(|(link, absences)| link.outage.is_some() || !absences.is_empty()).collect()
    }

    /// Returns the routes of a path in order, each with the instant of its start.
    fn over_time(&self, path: PathId) -> Vec<RouteSince<'a>> {
        let first = (Time::ZERO, Some(self.scenario.first_route(path)));
        [first].into_iter().chain(self.later.get(&path).into_iter().flatten().copied()).collect()
    }
}
